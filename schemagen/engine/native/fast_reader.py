"""The short way into the core for the ordinary part of a schema (`core/python/schema_reader.hpp`).

The core reads objects, arrays, leaves, unions of these and local references from the dicts themselves, with the meaning that
`schemagen.schema` gives them, and hands back what else it meets. Both ways define the same language; the long way is taken for
errors, reports and explanations, and the tests compare the two.
"""

from __future__ import annotations

import marshal
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.schema.document import DIALECTS, draft_of, mentions_ids
from schemagen.schema.ir import SchemaRef
from schemagen.schema.keyword_table import OTHER_KEYWORDS, SELF_CONTAINED
from schemagen.schema.normalise import Normaliser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen import _core
    from schemagen.engine.options import Limits
    from schemagen.schema.formats.table import Dialect
    from schemagen.schema.ir import Expression, ValueSet

#: What a table of leaves begins with, in the order of the core.
BASICS = ("null", "boolean", "integer", "number", "string")


@lru_cache(maxsize=1)
def _words() -> _core.KeywordTable:
    from schemagen import _core

    return _core.KeywordTable(sorted(SELF_CONTAINED), sorted(OTHER_KEYWORDS))


def basic_values(draft: int, dialect: Dialect) -> Iterator[ValueSet]:
    """Yield what the `BASICS` allow."""
    for name in BASICS:
        normaliser = Normaliser({"$schema": DIALECTS[draft], "type": name}, dialect=dialect)
        yield normaliser.value(normaliser.root)


class PrimitiveNodes(NamedTuple):
    """What the core has to know before it reads a schema, the same for all of a draft and style.

    Attributes:
        leaves: What leaves became, the `BASICS` to begin with.
        anything: The node of all numbers and literals.
    """

    leaves: _core.Leaves
    anything: int


def primitive_nodes(basics: list[tuple[int, list[tuple[int, int, int]]]], anything: int) -> PrimitiveNodes:
    """Return what the core has to know: the `BASICS`, each a node and strings, and the node of anything."""
    from schemagen import _core

    return PrimitiveNodes(_core.Leaves(basics), anything)


class CorePass:
    """A schema that the core has read as far as it goes.

    Args:
        builder: Where the values are defined.
        start: The part that is known already.
        schema: The root schema.
        draft: Its draft.
        limits: Of the compilation.
        gives_way: Whether other threads may run meanwhile, because none of them can change the schema.

    Raises:
        LimitError: It took too long.
    """

    __slots__ = ("_most", "builder", "core", "left")

    def __init__(
        self,
        builder: _core.Builder,
        start: PrimitiveNodes,
        schema: dict[str, Any],
        draft: int,
        limits: Limits,
        *,
        gives_way: bool,
    ) -> None:
        make: type[_core.SchemaReader] = sys.modules["schemagen._core"].SchemaReader
        self.builder = builder
        self.core = make(builder, _words(), start.leaves, schema, draft, start.anything, limits.max_depth, gives_way)
        self._most = limits.max_states
        self.left = self.core.read(self.core.root, schema, self._most)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to do, and no limit stopped the core."""
        return not self.left and self.builder.value_count <= self._most


def plain_draft(schema: Any, marshalled: bytes | None) -> int | None:
    """Return the draft of a document of plain dicts and lists without base URIs, None for any other.

    Args:
        schema: The root schema.
        marshalled: As for `Document`.
    """
    if schema.__class__ is not dict:
        return None
    if marshalled is None:
        try:
            marshalled = marshal.dumps(schema, 2)
        except ValueError:  # nested very deep; or subclasses, which may run Python code where the core must not
            return None
    return None if mentions_ids(schema, marshalled) else draft_of(schema)


class Deferred(NamedTuple):
    """A value that the core did not define.

    Attributes:
        value: Its number.
        expression: The values that it allows.
        is_strange: Whether the core has looked at this very schema; else it may still read it.
        key: What the core knows a leaf by.
    """

    value: int
    expression: Expression
    is_unsupported: bool
    key: bytes | None


class Reading:
    """One schema, read by the core and by the front end in turns.

    Args:
        normaliser: Of the schema.
        begun: What the core has made of it.
        most: Values after which the core stops; the caller finds that there are too many.
    """

    def __init__(self, normaliser: Normaliser, begun: CorePass, most: int) -> None:
        self._normaliser = normaliser
        self._core = begun.core
        self._most = most

    def value_of(self, place: SchemaRef) -> int:
        """Return the value of a place that was read or noted, 0 for none."""
        schema = place.schema
        return self._core.find(schema) if schema.__class__ is dict else 0  # True is one object wherever it stands

    def note(self, place: SchemaRef, value: int) -> None:
        """Tell the core which value a place has."""
        schema = place.schema
        if schema.__class__ is dict:
            self._core.note(schema, value)

    def read(self, place: SchemaRef, value: int) -> list[Deferred]:
        """Define a value as what a place allows, and all that is below; return what the core left over."""
        schema = place.schema
        if schema.__class__ is not dict:
            return [Deferred(value, place, is_unsupported=True, key=None)]
        return self.left(place, self._core.read(value, schema, self._most))

    def left(self, place: SchemaRef, told: list[Any]) -> list[Deferred]:
        """Return what the core left over as expressions; the ways that it tells begin at a place."""
        left = []
        for value, schema, reference, tokens, key in told:
            expression = self._normaliser.subschemas.below(place, schema, reference, tokens)
            left.append(Deferred(value, expression, not tokens or self._is(expression, schema), key))
        return left

    def _is(self, expression: Expression, schema: Any) -> bool:
        return not isinstance(expression, SchemaRef) or expression.schema is schema

    def keep(self, key: bytes, literal: int, strings: list[tuple[int, int, int]]) -> None:
        """Remember what a leaf became."""
        self._core.keep(key, literal, strings)

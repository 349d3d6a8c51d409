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
from schemagen.schema.ir import ANYTHING, SchemaRef
from schemagen.schema.keyword_table import OTHER_KEYWORDS, SELF_CONTAINED
from schemagen.schema.normalise import Normaliser

if TYPE_CHECKING:
    from typing import TypeGuard

    from schemagen import _core
    from schemagen.engine.native.scalars import ScalarLowering
    from schemagen.engine.options import Limits
    from schemagen.schema.formats.table import Dialect
    from schemagen.schema.ir import Expression

#: What a table of leaves begins with, in the order of the core.
BASICS = ("null", "boolean", "integer", "number", "string")


@lru_cache(maxsize=1)
def _words() -> _core.KeywordTable:
    from schemagen import _core

    return _core.KeywordTable(sorted(SELF_CONTAINED), sorted(OTHER_KEYWORDS))


class PrimitiveNodes(NamedTuple):
    """What the core has to know before it reads a schema, the same for all of a draft and style.

    Attributes:
        leaves: What leaves became, the `BASICS` to begin with.
        anything: The node of all numbers and literals.
    """

    leaves: _core.Leaves
    anything: int


def primitive_nodes(scalars: ScalarLowering, draft: int, dialect: Dialect) -> PrimitiveNodes:
    """Return what the core has to know before it reads a schema of a draft."""
    from schemagen import _core

    basics = []
    for name in BASICS:
        normaliser = Normaliser({"$schema": DIALECTS[draft], "type": name}, dialect=dialect)
        basics.append(scalars.lower(normaliser.value(normaliser.root)))
    return PrimitiveNodes(_core.Leaves(basics), scalars.lower(ANYTHING)[0])


def plain_draft(schema: Any, marshalled: bytes | None) -> int | None:
    """Return the draft of a document of plain dicts and lists without base URIs, None for any other.

    Args:
        schema: The root schema.
        marshalled: As for `mentions_ids`.
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
        is_unsupported: Whether the core has looked at this very schema; else it may still read it.
        key: What the core knows a leaf by.
    """

    value: int
    expression: Expression
    is_unsupported: bool
    key: bytes | None


class CorePass:
    """A schema that the core has read as far as it goes, and that it and the front end go on reading in turns.

    Args:
        builder: Where the values are defined.
        start: The part that is known already.
        schema: The root schema.
        draft: Its draft.
        limits: Of the compilation. After so many values the core stops, and the caller finds that there are too many.
        gives_way: Whether other threads may run meanwhile, because none of them can change the schema.

    Attributes:
        builder: As given.
        core: The reader in the core.

    Raises:
        LimitError: It took too long.
    """

    __slots__ = ("_left", "_most", "builder", "core")

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
        self._left = self.core.read(self.core.root, schema, self._most)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to do, and no limit stopped the core."""
        return not self._left and self.builder.value_count <= self._most

    def value_of(self, expression: Expression) -> int:
        """Return the value of a place that was read or noted, 0 for none."""
        return self.core.find(expression.schema) if _is_object(expression) else 0

    def note(self, expression: Expression, value: int) -> None:
        """Tell the core which value an expression has, if it is a place."""
        if _is_object(expression):
            self.core.note(expression.schema, value)

    def left(self, normaliser: Normaliser) -> list[Deferred]:
        """Return what the core left over of the root."""
        root = normaliser.root
        assert isinstance(root, SchemaRef), "the core reads the schema at a place"
        return self._deferred(normaliser, root, self._left)

    def read(self, normaliser: Normaliser, place: SchemaRef, value: int) -> list[Deferred]:
        """Define a value as what a place allows, and all that is below; return what the core left over."""
        if not _is_object(place):
            return [Deferred(value, place, is_unsupported=True, key=None)]
        return self._deferred(normaliser, place, self.core.read(value, place.schema, self._most))

    def _deferred(self, normaliser: Normaliser, place: SchemaRef, told: list[Any]) -> list[Deferred]:
        """Return what the core left over as expressions; the ways that it tells begin at a place."""
        left = []
        for value, schema, reference, tokens, key in told:
            found = normaliser.subschemas.below(place, schema, reference, tokens)
            was_seen = not tokens or not isinstance(found, SchemaRef) or found.schema is schema
            left.append(Deferred(value, found, was_seen, key))
        return left


def _is_object(expression: Expression) -> TypeGuard[SchemaRef]:
    """Whether an expression is the place of a schema that the core can tell by its object: True is one wherever it stands."""
    return isinstance(expression, SchemaRef) and expression.schema.__class__ is dict

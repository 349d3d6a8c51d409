"""The short way into the core for the ordinary part of a schema (`core/schema_reader.hpp`).

The core reads objects, arrays, leaves, unions of these and local references from the dicts themselves, with the meaning that
`schemagen.schema` gives them, and hands back what else it meets. Both ways define the same language; the long way is taken for
recordings, reports and explanations, and the tests compare the two.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.schema.document import DIALECTS
from schemagen.schema.leaves import OTHER_WORDS, OWN_WORDS
from schemagen.schema.nodes import Place
from schemagen.schema.normalise import Normaliser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen import _core
    from schemagen.schema.formats import Dialect
    from schemagen.schema.nodes import Expression, Value

#: What a table of leaves begins with, in the order of the core.
BASICS = ("null", "boolean", "integer", "number", "string")


@lru_cache(maxsize=1)
def _words() -> _core.SchemaWords:
    from schemagen import _core

    return _core.SchemaWords(sorted(OWN_WORDS), sorted(OTHER_WORDS))


def basic_values(draft: int, dialect: Dialect) -> Iterator[Value]:
    """Yield what the `BASICS` allow."""
    for name in BASICS:
        normaliser = Normaliser({"$schema": DIALECTS[draft], "type": name}, dialect=dialect)
        yield normaliser.value(normaliser.root)


def leaf_table(basics: list[tuple[int, list[tuple[int, int, int]]]]) -> _core.Leaves:
    """Return a table that knows the basics: the node of their literals and numbers, and their strings."""
    from schemagen import _core

    return _core.Leaves(basics)


class Left(NamedTuple):
    """A value that the core did not define.

    Attributes:
        value: Its number.
        expression: What it allows.
        is_strange: Whether the core has looked at this very schema; else it may still read it.
        key: What the core knows a leaf by.
    """

    value: int
    expression: Expression
    is_strange: bool
    key: bytes | None


class Reading:
    """One schema, read by the core as far as it goes.

    Args:
        normaliser: Of the schema.
        builder: Where the values are defined.
        leaves: What leaves became before.
        any_value: The value of anything at all.
        most: Values after which the core stops; the caller finds that there are too many.
    """

    def __init__(
        self, normaliser: Normaliser, builder: _core.Builder, leaves: _core.Leaves, any_value: int, most: int
    ) -> None:
        core = sys.modules["schemagen._core"]
        draft = normaliser.record(normaliser.root).draft
        self._normaliser = normaliser
        self._most = most
        self._core: _core.SchemaReader = core.SchemaReader(
            builder, _words(), leaves, normaliser.document.root, draft, any_value, normaliser.max_depth
        )

    @staticmethod
    def serves(normaliser: Normaliser) -> bool:
        """Whether the core may read a schema: no base URIs, and nothing is left to a check afterwards."""
        record = normaliser.record(normaliser.root)
        return normaliser.strict and record.base is None and normaliser.document.root.__class__ is dict

    def value_of(self, place: Place) -> int:
        """Return the value of a place that was read or noted, 0 for none."""
        schema = self._normaliser.record(place).schema
        return self._core.find(schema) if schema.__class__ is dict else 0  # True is one object wherever it stands

    def note(self, place: Place, value: int) -> None:
        """Tell the core which value a place has."""
        schema = self._normaliser.record(place).schema
        if schema.__class__ is dict:
            self._core.note(schema, value)

    def read(self, place: Place, value: int) -> list[Left]:
        """Define a value as what a place allows, and all that is below; return what the core left over."""
        schema = self._normaliser.record(place).schema
        if schema.__class__ is not dict:
            return [Left(value, place, is_strange=True, key=None)]
        left = []
        for known, below, reference, tokens, key in self._core.read(value, schema, self._most):
            expression = self._normaliser.below(place, below, reference, tokens)
            left.append(Left(known, expression, not tokens or self._is(expression, below), key))
        return left

    def _is(self, expression: Expression, schema: Any) -> bool:
        return not isinstance(expression, Place) or self._normaliser.record(expression).schema is schema

    def keep(self, key: bytes, bare: int, strings: list[tuple[int, int, int]]) -> None:
        """Remember what a leaf became."""
        self._core.keep(key, bare, strings)

"""Expressions that plainly have no value: a careful look along required parts, and never a long one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.language import is_empty
from schemagen.schema.algebra import undeclared
from schemagen.schema.ir import intersection_of, meanings
from schemagen.schema.numbers.rules import span_of
from schemagen.schema.scalars import string_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.schema.ir import (
        ArrayDisjunct,
        Expression,
        ItemCount,
        NumberDisjunct,
        ObjectDisjunct,
        StringDisjunct,
        ValueSet,
    )

#: How deep required parts are followed to see that nothing can satisfy them.
MAX_LOOK = 6

Evaluate: TypeAlias = "Callable[[Expression], ValueSet]"


class InProgressError(Exception):
    """A look ahead met an expression whose value is being worked out."""


class PlainEmptiness:
    """The parts of one schema that are known to be empty.

    Each question brings what evaluates expressions: an object that kept it would be one half of a cycle, which waits for the
    garbage collector.
    """

    def __init__(self) -> None:
        self._known: dict[Expression, bool] = {}
        self._depth = 0

    @property
    def is_looking(self) -> bool:
        """Whether a look is under way, which `InProgressError` ends."""
        return self._depth > 0

    def is_empty(self, expression: Expression, value_of: Evaluate) -> bool:
        """Whether no value is in the expression, as far as a look along required parts shows.

        What is still being evaluated further up, and what is met again below, counts as not empty.
        """
        known = self._known.get(expression)
        if known is not None:
            return known
        if self._depth > MAX_LOOK:
            return False
        self._known[expression] = False
        self._depth += 1
        try:
            if _contradicts_itself(expression):
                self._known[expression] = True
                return True
            value = value_of(expression)
            empty = not (value.null or value.true or value.false)
            empty = empty and all(map(_no_number, value.numbers))
            empty = empty and all(map(_no_string, value.strings))
            empty = empty and all(self.has_no_array(disjunct, value_of) for disjunct in value.arrays)
            empty = empty and all(self.has_no_object(disjunct, value_of) for disjunct in value.objects)
        except InProgressError:
            del self._known[expression]
            return False
        finally:
            self._depth -= 1
        self._known[expression] = empty
        return empty

    def look(self, expression: Expression, value_of: Evaluate) -> ValueSet | None:
        """Return the value of an expression; None if it is still being worked out, or lies too deep."""
        if self._depth > MAX_LOOK:
            return None
        self._depth += 1
        try:
            return value_of(expression)
        except InProgressError:
            return None
        finally:
            self._depth -= 1

    def has_no_array(self, disjunct: ArrayDisjunct, value_of: Evaluate) -> bool:
        """Whether a required item plainly has no value, or has no room."""
        if disjunct.max_items is not None and any(count.low > disjunct.max_items for count in disjunct.counts):
            return True
        required = map(disjunct.item, range(min(disjunct.min_items, len(disjunct.prefix) + 1)))
        return any(self.is_empty(item, value_of) for item in required) or any(
            self._has_none_to_count(disjunct, count, value_of) for count in disjunct.counts if count.low
        )

    def _has_none_to_count(self, disjunct: ArrayDisjunct, count: ItemCount, value_of: Evaluate) -> bool:
        """Whether plainly no item of an array is one of those that are counted."""
        items = *disjunct.prefix[count.start :], disjunct.items
        return all(self.is_empty(intersection_of(item, count.value), value_of) for item in items)

    def has_no_object(self, disjunct: ObjectDisjunct, value_of: Evaluate) -> bool:
        """Whether a required member plainly has no value."""
        if not disjunct.required:
            return False
        declared = dict(disjunct.properties)
        return any(
            self.is_empty(declared[key] if key in declared else undeclared(disjunct, key), value_of)
            for key in disjunct.required
        )


def _no_number(disjunct: NumberDisjunct) -> bool:
    """Whether a disjunct plainly has no number."""
    return not disjunct.values if disjunct.values is not None else span_of(disjunct).is_empty()


@lru_cache(maxsize=1024)
def _no_string(disjunct: StringDisjunct) -> bool:
    """Whether a disjunct plainly has no string; cached, for the same patterns return in most alternatives."""
    if disjunct.values is not None or (disjunct.pattern == ast.ANY_STRING and not disjunct.formats):
        return False
    try:
        return is_empty(string_pattern(disjunct), max_states=500)
    except LimitError:
        return False  # not plainly: the caller takes the careful way


def _contradicts_itself(expression: Expression) -> bool:
    """Whether one of its parts is the complement of another one, or of a place whose schema reads the same."""
    found = meanings(expression)
    return any(("not", each) in found for each in found)

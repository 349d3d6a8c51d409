"""`const` and `enum`: single JSON values as expressions, and as sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schemagen.schema.algebra import plain_rule
from schemagen.schema.ir import (
    NEVER,
    ArrayDisjunct,
    Const,
    NumberDisjunct,
    ObjectDisjunct,
    StringDisjunct,
    ValueSet,
)
from schemagen.schema.keywords import exact

if TYPE_CHECKING:
    from schemagen.schema.formats.table import Dialect


class Constants:
    """The values that one schema lists.

    Args:
        dialect: Of a Python type the constant 1.0 has more texts than 1.
    """

    def __init__(self, dialect: Dialect) -> None:
        self._is_python = dialect == "python"
        self._values: dict[str, Any] = {}

    def expression(self, value: Any) -> Const:
        """Return the expression of one JSON value; numbers are compared by value, booleans are not numbers.

        Of a Python type the constant 1.0 has more texts than 1, which validation may want without a fraction.
        """
        canonical = value if self._is_python else _canonical(value)
        text = json.dumps(canonical, sort_keys=True, ensure_ascii=True)
        self._values.setdefault(text, value)
        return Const(text)

    def value(self, constant: Const) -> ValueSet:
        """Return the set of one JSON value."""
        return self._set_of(self._values[constant.text])

    def _set_of(self, value: Any) -> ValueSet:
        if value is None:
            return ValueSet(null=True)
        if isinstance(value, bool):
            return ValueSet(true=value, false=not value)
        if isinstance(value, float) and self._is_python and value.is_integer():
            return ValueSet(numbers=(NumberDisjunct(low=exact(value), high=exact(value)),))
        if isinstance(value, int | float):
            return ValueSet(numbers=(NumberDisjunct(values=frozenset({exact(value)})),))
        if isinstance(value, str):
            return ValueSet(strings=(StringDisjunct(values=frozenset({value})),))
        if isinstance(value, list):
            length = len(value)
            disjunct = ArrayDisjunct(tuple(self.expression(item) for item in value), NEVER, length, length)
            return ValueSet(arrays=(disjunct,))
        members = tuple((key, self.expression(item)) for key, item in value.items())
        return ValueSet(objects=(ObjectDisjunct(members, frozenset(value), plain_rule(NEVER)),))


def _canonical(value: Any) -> Any:
    """Make equal JSON values equal texts: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value

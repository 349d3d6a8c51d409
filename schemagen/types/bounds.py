"""Bounds that pydantic checks by a function, because the type that they are put on has none of its own: unions.

`Annotated[Union[int, float], Ge(2)]` is a union inside of a function that compares the value. The function is pydantic's own
and says in its arguments what it compares with, so that keywords can say the same, as long as nothing between the JSON
value and the function changes the value.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

Json = dict[str, Any]

#: Functions by which pydantic checks bounds on types that have none of their own.
_VALIDATORS = (
    "greater_than_validator",
    "greater_than_or_equal_validator",
    "less_than_validator",
    "less_than_or_equal_validator",
    "multiple_of_validator",
    "min_length_validator",
    "max_length_validator",
)
#: Argument -> keyword. A remainder is left to the check: Python computes it of floats.
_NUMBERS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
#: Argument -> keywords for strings and for lists.
_LENGTHS = {"min_length": ("minLength", "minItems"), "max_length": ("maxLength", "maxItems")}
_WORDS = {
    "gt": "value >",
    "ge": "value >=",
    "lt": "value <",
    "le": "value <=",
    "multiple_of": "multiple of",
    "min_length": "length >=",
    "max_length": "length <=",
}
#: Types whose value is the JSON value, as far as comparing and measuring go.
_COMPARED = frozenset({"int", "float", "bool", "str", "none"})
_MEASURED = frozenset({"int", "float", "bool", "str", "none", "list"})


def is_bound_validator(function: Any) -> bool:
    """Whether a function is one of those by which pydantic checks bounds."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
    return module == "pydantic._internal._validators" and name.endswith(_VALIDATORS)


def bound_keywords(schema: Any, *, strings_change: bool) -> Json | None:
    """Return the JSON Schema of what a function-after schema asks for; None if keywords cannot say it.

    A value that cannot be compared or measured is refused by validation, hence the type.

    Args:
        schema: A core schema of pydantic.
        strings_change: Whether the configuration strips strings or changes their case.
    """
    limits = _limits(schema)
    if len(limits) != 1:
        return None
    ((argument, limit),) = limits.items()
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not math.isfinite(limit):
        return None
    if argument in _NUMBERS and _is_plain(schema["schema"], _COMPARED):
        return {"type": "number", _NUMBERS[argument]: limit}
    if argument in _LENGTHS and not strings_change and _is_plain(schema["schema"], _MEASURED):
        return {"type": ["string", "array"], **dict.fromkeys(_LENGTHS[argument], limit)}
    return None


def bound_words(schema: Any) -> str:
    """Return in words what a function-after schema asks for that `is_bound_validator`."""
    return ", ".join(f"{_WORDS[argument]} {limit}" for argument, limit in _limits(schema).items()) or "a bound"


def _limits(schema: Any) -> dict[str, Any]:
    """The arguments of a validator that checks a bound; none for any other validator."""
    function = schema["function"]["function"]
    return function.keywords if isinstance(function, partial) and is_bound_validator(function.func) else {}


def _is_plain(schema: Any, types: frozenset[str]) -> bool:
    """Whether validation by a core schema gives back the JSON value itself, one of some types."""
    kind = schema["type"]
    if kind == "union":
        return all(_is_plain(choice[0] if isinstance(choice, tuple) else choice, types) for choice in schema["choices"])
    if kind == "nullable":
        return _is_plain(schema["schema"], types)
    if kind == "function-after":
        return bool(_limits(schema)) and _is_plain(schema["schema"], types)
    trimmed = kind == "str" and any(schema.get(change) for change in ("strip_whitespace", "to_lower", "to_upper"))
    return kind in types and not trimmed

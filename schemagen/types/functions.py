"""Functions that pydantic runs while it validates: those of the user, pydantic's own bounds, and their schemas.

No keyword can express the refusals of a function of the user, so each is named. pydantic checks bounds by functions of its own
where the type that they are put on has none: `Annotated[Union[int, float], Ge(2)]` is a union inside a function that
compares the value. The function says in its arguments what it compares with, so keywords can say the same, as long as nothing
between the JSON value and the function changes the value.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from schemagen.types.notes import NotedSchemas, noted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.types.notes import Json


#: What of a core schema holds no part by which JSON is validated.
ASIDE = frozenset(
    {
        "serialization",
        "metadata",
        "config",
        "function",
        "python_schema",
        "default",
        "expected",
        "members",
        "computed_fields",
    }
)
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
_FILES = {
    "validate_file": "an existing file",
    "validate_directory": "an existing directory",
    "validate_new": "a path that does not exist yet",
    "validate_socket": "an existing socket",
}


# --- functions of the user ---------------------------------------------------------------------------------------------


def validator_words(function: Any) -> str | None:
    """Name a validator of the user; None for one of pydantic's own."""
    return None if _is_pydantic(function) else f"validator {function_name(function)}"


def discriminator_words(discriminator: Any) -> str | None:
    """Name a discriminator that is a function of the user; None for any other."""
    if not callable(discriminator) or _is_pydantic(discriminator):
        return None
    return f"discriminator {function_name(discriminator)}"


def construction_words(schema: Any) -> list[str]:
    """Name the methods of a model or dataclass that pydantic calls to make an instance, and that the user wrote."""
    cls, after = schema["cls"], schema.get("post_init")
    methods = ["__init__"] if schema.get("custom_init") else []
    if schema["type"] == "dataclass":
        methods += ["__post_init__"] if after else []
    elif after and getattr(cls, after).__name__ != "init_private_attributes":
        methods += ["model_post_init"]
    return [f"method {name}" for name in methods]


def demands(core: Any) -> Iterator[str]:
    """Yield the words of every function of the user that validation of JSON by a core schema runs."""
    if isinstance(core, list | tuple):
        for part in core:
            yield from demands(part)
    elif isinstance(core, dict):
        yield from filter(None, _own_words(core))
        for key, part in core.items():
            if key not in ASIDE:
                yield from demands(part)


def _own_words(schema: dict[str, Any]) -> list[str | None]:
    kind = schema.get("type")
    if isinstance(kind, str) and kind.startswith("function-"):
        return [validator_words(schema["function"]["function"])]
    if kind == "tagged-union":
        return [discriminator_words(schema["discriminator"])]
    return [*construction_words(schema)] if kind in {"model", "dataclass"} else []


def function_name(function: Any) -> str:
    """Return how messages call a function: with its class, where that is a type with a core schema of its own."""
    function = _unwrapped(function)
    name = getattr(function, "__name__", type(function).__name__).strip("_")
    owner = getattr(function, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) and _writes_core_schema(owner) else name


def _writes_core_schema(cls: type) -> bool:
    record = issubclass(cls, BaseModel) or dataclasses.is_dataclass(cls)
    return not record and hasattr(cls, "__get_pydantic_core_schema__")


def _is_pydantic(function: Any) -> bool:
    """Whether a function is pydantic's own, or a class of `ipaddress` in place of one, and runs none of the user's."""
    function = _unwrapped(function)
    # An `EncodedStr` or `EncodedBytes` calls the encoder that it was given.
    encoder = getattr(getattr(function, "__self__", None), "encoder", None)
    modules = (str(getattr(each, "__module__", "")) for each in (function, encoder) if each is not None)
    return all(module.partition(".")[0] in {"pydantic", "ipaddress"} for module in modules)


def _unwrapped(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


# --- bounds ------------------------------------------------------------------------------------------------------------


def is_bound_validator(function: Any) -> bool:
    """Whether a function is one of those by which pydantic checks bounds."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__name__", "")
    return module == "pydantic._internal._validators" and name.endswith(_VALIDATORS)


def bound_keywords(schema: Any, *, strings_change: bool) -> Json | None:
    """Return the JSON Schema of what a function-after schema asks for; None if keywords cannot say it.

    A value that cannot be compared or measured is refused by validation, hence the type.
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


# --- their schemas -----------------------------------------------------------------------------------------------------


class FunctionSchemas(NotedSchemas):
    """Schemas with functions: a bound becomes its keyword, a validator of the user a note."""

    def generate_inner(self, schema: Any) -> Json:
        """Any schema; where a class wrote the JSON Schema of a validator itself, the note of the validator is added."""
        before = len(self.unsaid)
        result = super().generate_inner(schema)
        if (
            not schema["type"].startswith("function-")
            or "$ref" in result
            or bound_keywords(schema, strings_change=False)
        ):
            return result
        lost = [what for what in self._words(schema) if what not in self.unsaid[before:]]
        return noted(result, self.note(lost))

    def function_after_schema(self, schema: Any) -> Json:
        """A validator run on the finished value; where it is a bound that pydantic found no schema for, the bound."""
        bound = bound_keywords(schema, strings_change=self.strings_change)
        if bound is None:
            return noted(super().function_after_schema(schema), self.name_validator(schema))
        return {"allOf": [super().function_after_schema(schema), bound]}

    def function_before_schema(self, schema: Any) -> Json:
        """A validator run on the JSON value."""
        return noted(super().function_before_schema(schema), self.name_validator(schema))

    def function_wrap_schema(self, schema: Any) -> Json:
        """A validator run around another."""
        return noted(super().function_wrap_schema(schema), self.name_validator(schema))

    def function_plain_schema(self, schema: Any) -> Json:
        """A validator instead of a schema."""
        return noted(super().function_plain_schema(schema), self.name_validator(schema))

    def name_validator(self, schema: Any) -> list[str]:
        """Name a validator of the user, or a bound that pydantic checks by a function because no schema holds it."""
        return self.note(self._words(schema))

    def _words(self, schema: Any) -> list[str]:
        function = schema["function"]["function"]
        words = validator_words(function)
        if words is not None:
            return [words]
        bound = getattr(function, "func", function)
        if is_bound_validator(bound):
            return [bound_words(schema)]
        name = getattr(function, "__name__", "")
        return [_FILES[name]] if name in _FILES else []

"""`FunctionSchemas`: validators that are functions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from schemagen.types.bounds import bound_keywords, bound_words, is_bound_validator
from schemagen.types.schemas.notes import NotedSchemas, noted

if TYPE_CHECKING:
    from schemagen.types.schemas.notes import Json

_FILES = {
    "validate_file": "an existing file",
    "validate_directory": "an existing directory",
    "validate_new": "a path that does not exist yet",
    "validate_socket": "an existing socket",
}


class FunctionSchemas(NotedSchemas):
    """Schemas with functions: a bound becomes its keyword, a validator of the user a note."""

    def function_after_schema(self, schema: Any) -> Json:
        """A validator run on the finished value; where it is a bound that pydantic found no schema for, the bound."""
        bound = bound_keywords(schema, strings_change=self.strings_change)
        if bound is None:
            return noted(super().function_after_schema(schema), self.name_validator(schema))
        return {"allOf": [super().function_after_schema(schema), bound]}

    def function_wrap_schema(self, schema: Any) -> Json:
        """A validator run around another."""
        return noted(super().function_wrap_schema(schema), self.name_validator(schema))

    def function_plain_schema(self, schema: Any) -> Json:
        """A validator instead of a schema."""
        return noted(super().function_plain_schema(schema), self.name_validator(schema))

    def name_validator(self, schema: Any) -> list[str]:
        """Name a validator of the user, or a bound that pydantic checks by a function because no schema holds it."""
        function = schema["function"]["function"]
        while isinstance(function, partial):
            function = function.func
        module, name = getattr(function, "__module__", ""), getattr(function, "__name__", repr(function))
        if is_bound_validator(function):
            return self.note([bound_words(schema)])
        if name in _FILES:
            return self.note([_FILES[name]])
        return [] if str(module).startswith("pydantic") else self.note([f"validator {name.strip('_')}"])

"""`FunctionSchemas`: validators that are functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.types.bounds import bound_keywords, bound_words, is_bound_validator
from schemagen.types.schemas.notes import NotedSchemas, noted
from schemagen.types.user_code import validator_words

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

    def generate_inner(self, schema: Any) -> Json:
        """Any schema; where a class wrote the JSON Schema of a validator itself, the note of the validator stands beside it."""
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

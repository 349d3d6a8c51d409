"""Notes of checks that no keyword expresses, in the schema itself; and the base of the generator, which makes them.

The key of a note is one that no JSON Schema has, so that a note is found again where it belongs however pydantic moves parts
into definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from schemagen.errors.pointers import escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


Json = dict[str, Any]

#: Where a schema notes what validation demands and no keyword says.
NOTE = "\0checked"
#: Where a schema notes that it takes less than validation does.
CAP = "\0capped"
#: Of numbers and times, as pydantic's core schema calls them.
BOUNDS = ("ge", "gt", "le", "lt")


def notes_taken(part: Any, key: str, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Take the notes under a key out of a part of a schema, and yield them with their pointers."""
    if isinstance(part, dict):
        yield from ((pointer, what) for what in part.pop(key, ()))
        for name, below in part.items():
            yield from notes_taken(below, key, f"{pointer}/{escape(str(name))}")
    elif isinstance(part, list):
        for index, below in enumerate(part):
            yield from notes_taken(below, key, f"{pointer}/{index}")


def noted(schema: Json, words: Sequence[str]) -> Json:
    """Return a schema with notes of the checks that it does not express."""
    return {**schema, NOTE: [*schema.get(NOTE, ()), *words]} if words else schema


def without_notes(part: Any) -> Any:
    """Return a part of a schema as a reader may see it."""
    if isinstance(part, dict):
        return {key: without_notes(below) for key, below in part.items() if key not in {NOTE, CAP}}
    return [without_notes(below) for below in part] if isinstance(part, list) else part


class NotedSchemas(GenerateJsonSchema):
    """What the parts of the generator share; `unsaid` collects what no keyword says."""

    unsaid: list[str]

    def emit_warning(self, kind: Any, detail: str) -> None:
        """Stay silent: defaults without JSON form and members of unions without JSON form narrow nothing."""

    def note(self, words: list[str]) -> list[str]:
        """Keep what no keyword says, and return it."""
        self.unsaid.extend(words)
        return words

    def inlined(self, value: Json) -> Json:
        """Follow a reference, so that the type of a key can be seen."""
        return self.resolve_ref_schema(value) if "$ref" in value else value

    @property
    def configuration(self) -> Any:
        """The configuration of the class that the schema belongs to."""
        return self._config

    @property
    def strings_change(self) -> bool:
        """Whether the configuration changes the strings that are read."""
        config = self.configuration
        return bool(config.str_strip_whitespace or config.str_to_lower or config.str_to_upper)


class RefusedTypeError(PydanticInvalidForJsonSchema):
    """A part of a type that has no schema, with what to do about it; pydantic leaves such a part out of unions.

    Attributes:
        fix: What to do about it.
        step: The way from the part to where the trouble is, as in ``.field``.
    """

    def __init__(self, message: str, *, fix: str, step: str = "") -> None:
        super().__init__(message)
        self.fix = fix
        self.step = step

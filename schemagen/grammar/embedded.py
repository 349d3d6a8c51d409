"""Immutable forms of the specs inside of grammars: a JSON Schema with the layout of its texts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.errors import InvalidSchemaError

if TYPE_CHECKING:
    from schemagen.engine.options import Options, PropertyOrder, WhitespacePolicy


@dataclass(frozen=True)
class JsonSchema:
    """An immutable JSON Schema, and how its texts are written, unless the compilation decides that.

    Attributes:
        text: The schema, written as JSON.
        whitespace: As for `schemagen.compile`; None if the compilation decides.
        property_order: The same.
        max_gap: Of whitespace "any": most characters in one place; None to keep that of the compilation.
        around: Of whitespace "any": whether it may also be before and after the whole text.
        place: A JSON pointer to the schema in its document, for errors.
    """

    text: str
    whitespace: WhitespacePolicy | None = None
    property_order: PropertyOrder | None = None
    max_gap: int | None = None
    around: bool = True
    place: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """Return the schema."""
        return self.text

    def written(self, options: Options) -> Options:
        """Return the options of a compilation, overridden by this schema's own."""
        return options._replace(
            whitespace=options.whitespace if self.whitespace is None else self.whitespace,
            property_order=options.property_order if self.property_order is None else self.property_order,
            max_gap=options.max_gap if self.max_gap is None else self.max_gap,
            around=self.around,
        )


def frozen_spec(spec: Any) -> Any:
    """Return a spec that can be compared and hashed: a JSON Schema as its text, a list of texts as a tuple.

    Raises:
        InvalidSchemaError: A dict is no JSON.
    """
    if isinstance(spec, list):
        return tuple(spec)
    if not isinstance(spec, dict | bool):
        return spec
    try:
        return JsonSchema(json.dumps(spec))
    except (TypeError, ValueError) as error:
        raise InvalidSchemaError(
            f"{spec!r:.80} is no JSON: {error}", fix="give a JSON Schema as a dict of plain values"
        ) from error


def given_spec(spec: Any) -> Any:
    """Return a frozen spec as `schemagen.compile` takes it."""
    return json.loads(spec.text) if isinstance(spec, JsonSchema) else spec

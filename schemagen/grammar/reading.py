"""Specs as users write them, read: other names for specs, the options of their texts, types and their schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.engine.options import DEFAULT_STYLE
from schemagen.errors import OptionError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.json_texts import Json
from schemagen.grammar.specs import Choice, Regex, list_of_others, no_spec, pattern_text, type_of_adapter
from schemagen.schema.layouts import POLICIES, Layout
from schemagen.threads.clock import Deadline

if TYPE_CHECKING:
    from schemagen.engine.options import Options
    from schemagen.schema.normalise import Dialect, Normaliser
    from schemagen.types.reflection import Target

_ORDERS = ("schema", "any")


def understood(spec: Any) -> Any:
    """Return a spec in the form that is compiled: lists of texts and patterns of `re` are other names for ours.

    Raises:
        SchemagenError: It is no spec, or one with parts that would be lost.
    """
    if isinstance(spec, dict):
        return _without_envelope(spec)
    if isinstance(spec, (type, Regex, Choice, ContextFree)):
        return spec
    if isinstance(spec, re.Pattern):
        return Regex(pattern_text(spec))
    if isinstance(spec, Json):
        return spec.as_spec()
    if isinstance(spec, (list, tuple)):
        if not all(isinstance(text, str) for text in spec):
            raise list_of_others(spec)
        return Choice(spec)
    return type_of_adapter(spec)


def _without_envelope(spec: dict[str, Any]) -> Any:
    """Return the schema in a ``response_format`` of OpenAI, whose type is none of JSON Schema; any other dict as it is."""
    if spec.get("type") != "json_schema":
        return spec
    inner = spec.get("json_schema", spec)
    return inner["schema"] if isinstance(inner, Mapping) and isinstance(inner.get("schema"), dict | bool) else spec


def check_layout(property_order: Any, whitespace: Any) -> None:
    """Refuse a mistyped layout: taken for its default it would change the language without a word.

    Raises:
        OptionError: One is not known.
    """
    check_property_order(property_order)
    check_whitespace(whitespace)


def check_property_order(property_order: Any) -> None:
    """Refuse a value that is not the name of an order."""
    if property_order not in _ORDERS:
        raise mistyped("property_order", property_order, _ORDERS)


def check_whitespace(whitespace: Any) -> None:
    """Refuse a value that is neither a policy nor a layout."""
    if isinstance(whitespace, Layout) or whitespace in POLICIES:
        return
    choices = ", ".join(map(repr, POLICIES))
    raise OptionError(f"whitespace={whitespace!r:.80}", fix=f"choose one of {choices}, or give a schemagen.Layout")


def mistyped(name: str, value: Any, choices: tuple[Any, ...]) -> OptionError:
    """Return the error for an argument that is none of some words."""
    return OptionError(f"{name}={value!r:.80}", fix=f"choose one of {', '.join(map(repr, choices))}")


def target_of(spec: Any) -> Target[Any] | None:
    """Return what pydantic knows of a type; None for a JSON Schema, which needs no pydantic."""
    if isinstance(spec, dict | bool):
        return None
    from schemagen.types.reflection import is_type, reflect

    if not is_type(spec):
        raise no_spec(spec)
    return reflect(spec)


class Source(NamedTuple):
    """A schema and how it is read.

    Attributes:
        schema: The JSON Schema.
        dialect: Whose reading of patterns and formats counts.
        strict: As for `compile`.
        resources: As for `compile`.
        marshalled: What `marshal` makes of the schema, if that is at hand.
    """

    schema: Any
    dialect: Dialect
    strict: bool
    resources: Any
    marshalled: bytes | None

    def normaliser(self, options: Options, *, is_plain: bool = False) -> Normaliser:
        """Return a fresh one within the limits of the options; `is_plain`: as for `Document`."""
        from schemagen.schema.normalise import Normaliser

        return Normaliser(
            self.schema,
            resources=self.resources,
            strict=self.strict,
            dialect=self.dialect,
            max_depth=options.limits.max_depth,
            max_alternatives=options.limits.max_alternatives,
            check_time=Deadline(options.limits.max_seconds).check,
            is_plain=is_plain,
        )


def read_source(
    schema: Any, arguments: dict[str, Any], target: Target[Any] | None, marshalled: bytes | None = None
) -> Source:
    """Return a schema with how it is read: as pydantic reads it where a type made it."""
    return Source(schema, dialect_of(target), arguments["strict"], arguments["resources"], marshalled)


def dialect_of(target: Target[Any] | None) -> Dialect:
    """Return whose reading of patterns counts: Python's where a type made the schema."""
    return "json-schema" if target is None else "python"


_PYTHON_STYLE = replace(DEFAULT_STYLE, integer_fraction=False)


def styled(options: Options, target: Target[Any] | None) -> Options:
    """Python's int is written without a fraction; a JSON Schema integer may be 1.0, as is the default."""
    return options if target is None else options._replace(number_style=_PYTHON_STYLE)


def described_json(spec: Any) -> str:
    """Return what the JSON texts of a type or a JSON Schema are, as a prompt says it."""
    target = target_of(spec)
    return f"JSON of the schema {json.dumps(spec if target is None else target.schema, ensure_ascii=False)}"

"""The older form of structural tags: structures with a begin, a schema and an end, and the triggers that they begin with.

It means ``triggered_tags`` with JSON in each tag.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schemagen.errors import GrammarSyntaxError, OptionError
from schemagen.structural_tags.fields import Fields


def is_legacy(tag: Any) -> bool:
    """Whether something is a structural tag of the older form: structures and triggers, or a list of structures."""
    return isinstance(tag, list | tuple) or (isinstance(tag, Mapping) and "structures" in tag)


def converted(tag: Any, triggers: Any) -> dict[str, Any]:
    """Return a structural tag of the older form in that of today.

    Args:
        tag: The tag.
        triggers: Of a list of structures.

    Raises:
        GrammarSyntaxError: It has parts of another kind.
        OptionError: There are no triggers, or two lists of them.
    """
    if isinstance(tag, list | tuple):
        if triggers is None:
            raise OptionError(
                "a list of structures without triggers=",
                why="nothing says where a structure begins",
                fix='give triggers=["<function="]',
            )
        tag = {"structures": list(tag), "triggers": list(triggers)}
    elif triggers is not None:
        raise OptionError("triggers= beside a whole structural tag", why="it has its own", fix="leave triggers= out")
    fields = Fields(dict(tag), "")
    fields.check_names("a structural tag with structures", "type", "structures", "triggers")
    tags = fields.some("structures", _tag)
    return {
        "type": fields.text("type", "structural_tag"),
        "format": {"type": "triggered_tags", "triggers": fields.value("triggers"), "tags": tags},
    }


def _tag(value: Any, at: str) -> dict[str, Any]:
    """Return a structure as a tag."""
    if callable(getattr(value, "model_dump", None)):
        value = {"begin": value.begin, "schema": getattr(value, "schema_", None), "end": value.end}
    fields = Fields(value, at)
    fields.check_names("a structure", "begin", "schema", "end")
    schema = fields.value("schema")
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as error:
            raise GrammarSyntaxError(
                f"the schema is no JSON: {error}", at=fields.place("schema"), fix="give a JSON Schema"
            ) from error
    elif isinstance(schema, type):
        from schemagen.grammar.reading import target_of

        target = target_of(schema)
        schema = schema if target is None else target.schema
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": fields.value("begin"), "content": content, "end": fields.value("end")}

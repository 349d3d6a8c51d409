r"""The schemas in structural tags: closed unless they say otherwise, and without some texts in their strings.

A closed schema is read as the engines that share structural tags read one: an object with ``properties`` or
``patternProperties`` has no other keys, an array with ``prefixItems`` no other items, and a schema that speaks only of objects
or of arrays allows nothing else. Schemas that apply to one value together (``allOf``, ``if``, and ``anyOf`` beside
``properties``) are closed as one, by ``unevaluatedProperties``; a schema under ``not`` stays as it is.

JSON Schema itself leaves all of that open; `schemagen.compile` and types are read as it says.

Texts are left out by one more schema that every value inside has to follow; it refers to itself for items and members. The
value counts, so an escape (`\u003c`) is no way around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.errors import UnsupportedGrammarError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Schemas by names, and schemas of items and of other keys, one or a list.
_NAMED = {"properties", "patternProperties", "$defs", "definitions"}
_INNER = {
    "prefixItems", "items", "additionalItems", "contains", "unevaluatedItems",
    "additionalProperties", "unevaluatedProperties",
}  # fmt: skip
_KEYS = ("properties", "patternProperties")
_OF_OBJECTS = {*_KEYS, "additionalProperties", "required"}
_OF_ARRAYS = {"prefixItems", "items"}
#: Schemas for the same value, of which each says a part.
_TOGETHER = ("allOf", "if", "then", "else", "dependentSchemas")
#: Schemas for the same value, of which one is enough.
_EITHER = ("anyOf", "oneOf")


def closed(schema: Any, *, within: bool = False) -> Any:
    """Return a schema with closed objects and tuples; the given one is left as it is.

    Args:
        schema: The schema.
        within: Whether another schema closes the objects that it applies to.
    """
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    for name in schema.keys() & _NAMED:
        if isinstance(schema[name], dict):
            found[name] = {key: closed(inner) for key, inner in schema[name].items()}
    for name in schema.keys() & _INNER:
        inner = schema[name]
        found[name] = [closed(each) for each in inner] if isinstance(inner, list) else closed(inner)
    _infer_type(found)
    has_keys = any(name in schema for name in _KEYS)
    together = any(name in schema for name in _TOGETHER) or (has_keys and any(name in schema for name in _EITHER))
    for name in (*_TOGETHER, *_EITHER):
        if name in schema:
            found[name] = _inside(schema[name], within=within or together)
    if not within:
        _close(found, together=together and (has_keys or _declares(schema)))
    return found


def _inside(value: Any, *, within: bool) -> Any:
    """Return the schemas of a keyword, closed unless they are within one that is."""
    if isinstance(value, list):
        return [closed(each, within=within) for each in value]
    if (
        isinstance(value, dict)
        and "type" not in value
        and all(isinstance(each, dict | bool) for each in value.values())
    ):
        return {key: closed(each, within=within) for key, each in value.items()}  # dependentSchemas
    return closed(value, within=within)


def _declares(schema: dict[str, Any]) -> bool:
    """Whether a schema that applies to the same value declares keys."""
    parts = [each for name in ("allOf", *_EITHER) if isinstance(schema.get(name), list) for each in schema[name]]
    return any(isinstance(part, dict) and (any(name in part for name in _KEYS) or _declares(part)) for part in parts)


def _infer_type(schema: dict[str, Any]) -> None:
    if any(name in schema for name in ("type", "enum", "const", "$ref", "allOf", *_EITHER)):
        return
    if not _OF_OBJECTS.isdisjoint(schema):
        schema["type"] = "object"
    elif not _OF_ARRAYS.isdisjoint(schema):
        schema["type"] = "array"


def _close(schema: dict[str, Any], *, together: bool) -> None:
    if "additionalProperties" not in schema and "unevaluatedProperties" not in schema:
        if together:
            schema["unevaluatedProperties"] = False
        elif any(name in schema for name in _KEYS):
            schema["additionalProperties"] = False
    if "prefixItems" in schema and "items" not in schema and "unevaluatedItems" not in schema:
        schema["items"] = False


#: The name of the schema that every value inside follows.
EXCLUDED = "excluded texts"
_REFERENCE = {"$ref": f"#/$defs/{EXCLUDED.replace(' ', '%20')}"}


def check_excludes(excludes: Sequence[str], at: str) -> None:
    """Refuse texts that stand in JSON only with an escape, or in an escape.

    Raises:
        UnsupportedGrammarError: One has such a character.
    """
    for index, text in enumerate(excludes):
        if any(char in '"\\' or char < " " for char in text):
            raise UnsupportedGrammarError(
                f"{text!r:.60} among the texts that strings of JSON must not hold",
                at=f"{at}/{index}",
                why="JSON writes quotes, backslashes and control characters as escapes, so text and value are not the same",
                fix="give texts without them",
            )


def without_texts(schema: dict[str, Any] | bool, excludes: Sequence[str], at: str) -> dict[str, Any] | bool:
    """Return a schema whose values are those of another one without some texts in strings and keys.

    Args:
        schema: The other one.
        excludes: The texts, as `check_excludes` lets them through.
        at: Where the schema stands.

    Raises:
        UnsupportedGrammarError: It asks for members or items that no other keyword speaks of: ours would.
    """
    if not excludes or schema is False:
        return schema
    given: dict[str, Any] = {} if schema is True else dict(schema)
    if "'unevaluated" in str(given):
        raise UnsupportedGrammarError(
            "texts that strings of JSON must not hold, with unevaluatedProperties or unevaluatedItems",
            at=at,
            why="what leaves them out speaks of all members and items",
            fix="use additionalProperties, or leave excludes out",
        )
    parts = [*given.pop("allOf", []), *([{"$ref": given.pop("$ref")}] if "$ref" in given else []), _REFERENCE]
    return {**given, "allOf": parts, "$defs": {**given.get("$defs", {}), EXCLUDED: clean_values(excludes)}}


def clean_values(excludes: Sequence[str]) -> dict[str, Any]:
    """Return the schema of values without some texts in strings and keys, for the definition `EXCLUDED`."""
    found = {"pattern": "|".join("".join(f"\\u{{{ord(char):x}}}" for char in text) for text in excludes)}
    return {
        "not": {"type": "string", **found},
        "items": _REFERENCE,
        "additionalProperties": _REFERENCE,
        "propertyNames": {"not": found},
    }

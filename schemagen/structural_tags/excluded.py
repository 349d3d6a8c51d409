r"""Texts that no string and no key of a JSON value may hold, said as a schema.

Idea: beside what a schema asks, every value inside has to follow one more schema, which refers to itself for items and
members. What is left out is told by the value, so an escape (`\u003c`) is no way around it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.errors import UnsupportedGrammarError

if TYPE_CHECKING:
    from collections.abc import Sequence

_NAME = "excluded texts"
_REFERENCE = {"$ref": f"#/$defs/{_NAME.replace(' ', '%20')}"}


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
    found = {"pattern": "|".join("".join(f"\\u{{{ord(char):x}}}" for char in text) for text in excludes)}
    clean = {
        "not": {"type": "string", **found},
        "items": _REFERENCE,
        "additionalProperties": _REFERENCE,
        "propertyNames": {"not": found},
    }
    parts = [*given.pop("allOf", []), *([{"$ref": given.pop("$ref")}] if "$ref" in given else []), _REFERENCE]
    return {**given, "allOf": parts, "$defs": {**given.get("$defs", {}), _NAME: clean}}

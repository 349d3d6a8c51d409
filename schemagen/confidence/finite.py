"""Types with few values: which, and the values that they have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.errors.pointers import resolved
from schemagen.grammar.specs import Choice

if TYPE_CHECKING:
    from schemagen.grammar.grammar import Grammar

#: Most values of a type with few.
MOST = 1000


def texts_of(grammar: Grammar[Any]) -> list[str]:
    """Return the values of a type with few, as texts: JSON, or the options of a `Choice`.

    Raises:
        OptionError: The type has too many, or it is not known how many.
    """
    if isinstance(grammar.spec, Choice):
        return list(grammar.spec.options)
    values = None if grammar.schema is None else _values(grammar.schema, grammar.schema)
    if values is None or not 0 < len(values) <= MOST:
        raise OptionError(
            f"the type has {'too many values' if values is None else f'{len(values):,} values'} to classify by",
            why=f"every option has a probability, and there may be {MOST:,} of them",
            fix="give Literal[...], an Enum, bool, an int with bounds, a Choice or a list of texts; for a field of a larger "
            "answer lm.run(prompt, T, confidence=True)",
        )
    return list(dict.fromkeys(json.dumps(value, ensure_ascii=False, sort_keys=True) for value in values))


def _values(schema: Any, document: Any) -> list[Any] | None:
    """Return the values that a schema of a scalar can have, in order; None if they are many or unknown."""
    schema = resolved(schema, document)
    if not isinstance(schema, Mapping):
        return None
    if "const" in schema:
        return [schema["const"]]
    if isinstance(schema.get("enum"), (list, tuple)):
        return list(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            parts = [_values(part, document) for part in schema[keyword]]
            return None if any(part is None for part in parts) else [value for part in parts for value in part or ()]
    return _of_kind(schema)


def _of_kind(schema: Mapping[str, Any]) -> list[Any] | None:
    kind = schema.get("type")
    if kind == "boolean":
        return [True, False]
    if kind == "null":
        return [None]
    if kind != "integer":
        return None
    low = schema.get("minimum", schema.get("exclusiveMinimum", float("-inf") - 1) + 1)
    high = schema.get("maximum", schema.get("exclusiveMaximum", float("inf")) - 1)
    if not high - low < MOST:
        return None
    step = schema.get("multipleOf", 1)
    return [value for value in range(int(-(-low // 1)), int(high // 1) + 1) if value % step == 0]

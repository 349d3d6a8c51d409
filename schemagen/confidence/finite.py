"""Types with few values: which, and the values that they have."""

from __future__ import annotations

import json
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.errors.pointers import resolved
from schemagen.grammar.specs import Choice
from schemagen.streaming.json_spans import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.grammar.grammar import Grammar

#: Most values of a type with few.
MOST = 1000
#: Most schemas within one another.
MOST_DEPTH = 16


def texts_of(grammar: Grammar[Any]) -> list[str]:
    """Return the values of a type with few, as texts: JSON, or the options of a `Choice`.

    Raises:
        OptionError: The type has too many, or it is not known how many.

    Cost: a matcher for each value.
    """
    if isinstance(grammar.spec, Choice):
        texts = list(grammar.spec.options)
    else:
        values = None if grammar.schema is None else values_of(grammar.schema, grammar.schema)
        if values is None or not 0 < len(values) <= MOST:
            raise _too_many(None if values is None else len(values))
        texts = [canonical(json.dumps(value)) for value in values]
    return [text for text in dict.fromkeys(texts) if _writes(grammar, text)]


def _too_many(count: int | None) -> OptionError:
    known = "too many, or not known" if count is None else f"{count:,}"
    return OptionError(
        f"the values to classify by are {known}",
        why=f"every option has a probability, and there may be {MOST:,} of them",
        fix="give Literal[...], an Enum, bool, an int with bounds, a Choice or a list of texts; for a field of a larger answer "
        "lm.run(prompt, T, confidence=True)",
    )


def _writes(grammar: Grammar[Any], text: str) -> bool:
    """Whether a text is one of a grammar: other keywords of a schema may exclude some of its values."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def values_of(schema: Any, document: Any, depth: int = MOST_DEPTH) -> list[Any] | None:
    """Return the values that a schema of a scalar can have, in order, and perhaps others; None if they are many or unknown.

    Args:
        schema: A part of a document.
        document: What its references lead into.
        depth: How many schemas may be within one another.
    """
    schema = resolved(schema, document)
    if "const" in schema:
        return [schema["const"]]
    if isinstance(schema.get("enum"), (list, tuple)):
        return list(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        parts = [values_of(part, document, depth - 1) for part in schema.get(keyword, ())] if depth else []
        if parts and None not in parts:
            return [value for part in parts for value in part or ()]
    for part in schema.get("allOf", ()) if depth else ():
        if (found := values_of(part, document, depth - 1)) is not None:
            return found
    return _of_kinds(schema)


def _of_kinds(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values of a schema by its types; None if they are many or unknown."""
    kinds = schema.get("type")
    found: list[Any] = []
    for kind in [kinds] if isinstance(kinds, str) else kinds or [None]:
        known: dict[Any, list[Any] | None] = {"boolean": [True, False], "null": [None], "integer": _integers(schema)}
        values = known.get(kind)
        if values is None:
            return None
        found += values
    return found


def _integers(schema: Mapping[str, Any]) -> list[int] | None:
    """Return the whole numbers within the bounds of a schema; None if there are too many, or only one bound."""
    lows = [schema[name] for name in ("minimum", "exclusiveMinimum") if name in schema]
    highs = [schema[name] for name in ("maximum", "exclusiveMaximum") if name in schema]
    if not lows or not highs:
        return None
    low, high = ceil(max(lows)), floor(min(highs))
    step = schema.get("multipleOf", 1)
    step = 1 if step % 1 else int(step)  # the matcher knows the multiples of a fraction
    return list(range(ceil(low / step) * step, high + 1, step)) if (high - low) / step < MOST else None

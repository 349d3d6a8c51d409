"""The distribution over the options of a type, and over the values of a field of an answer."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemagen.confidence.distribution import distribution_of
from schemagen.confidence.finite import texts_of
from schemagen.confidence.walk import ValueText, walk
from schemagen.decode.token_tree import TokenTree
from schemagen.errors import ValidationFailed
from schemagen.streaming.json_spans import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.confidence.distribution import Distribution
    from schemagen.engine.protocol import Constraint
    from schemagen.grammar.grammar import Grammar


def options_after(
    model: Any, prompt: Sequence[int], grammar: Grammar[Any], *, max_nodes: int = 1024
) -> Distribution[Any]:
    """Return the distribution over the values of a type with few.

    Args:
        model: A causal model of transformers.
        prompt: The tokens of the prompt.
        grammar: The grammar of the type.
        max_nodes: As for `schemagen.confidence.walk.walk`.

    Raises:
        OptionError: The type has too many values, validators refuse all of them, or the model is an encoder-decoder.
        BudgetError: An option is longer than the context of the model.
    """
    options = texts_of(grammar)
    is_json = grammar.schema is not None
    tree = TokenTree(model, prompt)
    text = ValueText("" if is_json else None)
    walked = walk(tree, 0, grammar.matcher(), text, grammar.vocabulary, max_nodes=max_nodes)
    found = _by_value(walked.values) if is_json else walked.values
    values: dict[Any, Any] = {}
    chances: dict[Any, tuple[float, float]] = {}
    for each in dict.fromkeys([*found, *options]):
        try:
            value = grammar.validate(each)
        except ValidationFailed:  # a validator refuses this option
            continue
        key = (type(value), value if isinstance(value, Hashable) else each)  # 1 and True are equal
        known, more = chances.get(key, (0.0, 0.0)), found.get(each, (0.0, 0.0))
        values[key], chances[key] = value, (known[0] + more[0], known[1] + more[1])
    made = distribution_of(chances, unread=walked.unread, unread_masked=walked.unread_masked)
    return replace(made, options=tuple(values[key] for key in made.options))


def values_at(  # noqa: PLR0913 - a place in a text, and how far to go from it
    model: Any,
    prompt: Sequence[int],
    constraint: Constraint,
    before: Sequence[int],
    text: str,
    path: str | None,
    *,
    max_nodes: int = 256,
    tolerance: float = 1e-3,
) -> Distribution[Any]:
    """Return the distribution over the values that could have come at a place of an answer, as far as they are likely.

    Args:
        model: A causal model of transformers.
        prompt: The tokens of the prompt.
        constraint: The grammar of the whole generation.
        before: The tokens of the generation before the place.
        text: The text of the answer that they write.
        path: The JSON pointer of the field; None if the answer is no JSON.
        max_nodes: As for `schemagen.confidence.walk.walk`.
        tolerance: As for `schemagen.confidence.walk.walk`.
    """
    tree, matcher = TokenTree(model, prompt), constraint.matcher()
    for token_id in before:
        matcher.accept_token(token_id)
    start, _ = ValueText(path).after(text.encode())
    walked = walk(
        tree, tree.node(before), matcher, start, constraint.vocabulary, max_nodes=max_nodes, tolerance=tolerance
    )
    found = walked.values if path is None else _by_value(walked.values)
    made = distribution_of(found, unread=walked.unread, unread_masked=walked.unread_masked)
    return made if path is None else replace(made, options=tuple(map(json.loads, made.options)))


def _by_value(values: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Add up the probabilities of JSON texts of equal values."""
    found: dict[str, tuple[float, float]] = {}
    for text, (chance, masked) in values.items():
        key = canonical(text)
        known = found.get(key, (0.0, 0.0))
        found[key] = known[0] + chance, known[1] + masked
    return found

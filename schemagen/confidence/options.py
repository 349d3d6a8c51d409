"""The distribution over the options of a type, and over the values of a field of an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schemagen.confidence.distribution import Distribution, distribution_of
from schemagen.confidence.finite import texts_of
from schemagen.confidence.walk import ValueText, walk
from schemagen.decode.token_tree import TokenTree
from schemagen.errors import ValidationFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        OptionError: The type has too many values.
    """
    options = texts_of(grammar)
    is_json = grammar.schema is not None
    tree = TokenTree(model, prompt)
    text = ValueText("" if is_json else None)
    walked = walk(tree, 0, grammar.matcher(), text, grammar.vocabulary, max_nodes=max_nodes)
    found = _by_value(walked.values) if is_json else walked.values
    values: dict[Any, tuple[float, float]] = {}
    kept: list[Any] = []  # values need not be hashable, and 1 and True are equal
    for each in dict.fromkeys([*found, *options]):
        try:
            kept.append(grammar.validate(each))
        except ValidationFailed:  # a validator refuses this option
            continue
        values[len(kept) - 1] = found.get(each, (0.0, 0.0))
    made = distribution_of(values, unread=walked.unread, unread_masked=walked.unread_masked)
    return _with_options(made, [kept[place] for place in made.options])


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
    return made if path is None else _with_options(made, [json.loads(each) for each in made.options])


def _by_value(values: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Add up the probabilities of JSON texts of equal values."""
    found: dict[str, tuple[float, float]] = {}
    for text, (chance, masked) in values.items():
        value = json.loads(text)
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        key = json.dumps(value, ensure_ascii=False, sort_keys=True)
        known = found.get(key, (0.0, 0.0))
        found[key] = known[0] + chance, known[1] + masked
    return found


def _with_options(made: Distribution[Any], options: list[Any]) -> Distribution[Any]:
    return Distribution(tuple(options), made.probabilities, made.masked_probabilities, made.mass, made.error)

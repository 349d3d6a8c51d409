"""Labelled rules: the bodies with marks that tell where the texts of rules are (core/context_free/captures.hpp).

A label is the name of a capture, or the temperature at which tokens are drawn in the texts of the rule.

A rule that calls itself as the first of its symbols would begin any number of times at one place. Of such a rule, and of those
that it calls itself through, the outermost call at a place has the label: where its texts begin, copies without labels are
called. So all of them need the same temperature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.simplify import left_recursive_groups, nullable_rules, with_beginning
from schemagen.context_free.syntax import Expression, Rule, labelled
from schemagen.errors import UnsupportedGrammarError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Label = str | float


def marked_rules(rules: dict[str, Expression], labels: Mapping[str, Iterable[Label]]) -> dict[str, Expression]:
    """Return the bodies with marks around the texts of some rules.

    Args:
        rules: All rules.
        labels: The labels of each rule, by the names of rules.

    Raises:
        UnsupportedGrammarError: Rules that begin with one another have several temperatures.
    """
    if not labels:
        return {}
    found = {name: _marked(rules[name], each) for name, each in labels.items()}
    empty = nullable_rules(rules)
    for group in left_recursive_groups(rules, empty):
        own = [name for name in group if name in labels]
        _check_temperatures({name: _temperature(labels[name]) for name in own})
        inside: dict[Expression, Expression] = {Rule(name): Rule(_inside(name)) for name in group if own}
        found |= {name: _marked(inside[Rule(name)], labels[name]) for name in own}
        found |= {_inside(name): with_beginning(rules[name], inside, empty) for name in group if own}
    return found


def _marked(body: Expression, labels: Iterable[Label]) -> Expression:
    for label in labels:
        body = labelled(body, label)
    return body


def _temperature(labels: Iterable[Label]) -> float | None:
    return next((each for each in labels if isinstance(each, float)), None)


def _check_temperatures(given: Mapping[str, float | None]) -> None:
    if len({*given.values()}) > 1 and any(each is not None for each in given.values()):
        shown = ", ".join(f"{name} has {'none' if each is None else each}" for name, each in given.items())
        raise UnsupportedGrammarError(
            f"rules that begin with one another have several temperatures: {shown}",
            why="which of them is the innermost is known only after the text",
            fix="give them the same temperature",
        )


def _inside(name: str) -> str:
    """Return the name of a rule as the rules that it begins with itself through call it."""
    return f"{name} inside"

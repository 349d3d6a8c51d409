"""Labelled rules: the bodies with marks that tell where the texts of rules are (core/context_free/captures.hpp).

A label is the name of a capture, or the temperature at which tokens are drawn in the texts of the rule.

A rule that calls itself as the first of its symbols would begin any number of times at one place. Of such a rule, and of those
that it calls itself through, the outermost call has the label: inside of it copies without labels are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.simplify import components, recursion_of
from schemagen.context_free.syntax import Expression, Rule, labelled, substituted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Label = str | float


def marked_rules(rules: dict[str, Expression], labels: Mapping[str, Iterable[Label]]) -> dict[str, Expression]:
    """Return the bodies with marks around the texts of some rules.

    Args:
        rules: All rules.
        labels: The labels of each rule, by the names of rules.
    """
    left = labels.keys() & recursion_of(rules).left
    found = {name: _marked(rules[name], each, name) for name, each in labels.items()}
    for group in components(rules) if left else ():
        if left.isdisjoint(group):
            continue
        inside: dict[Expression, Expression] = {Rule(name): Rule(_inside(name)) for name in group}
        found |= {_inside(name): substituted(rules[name], inside) for name in group}
        found |= {name: _marked(inside[Rule(name)], labels[name], name) for name in group if name in labels}
    return found


def _marked(body: Expression, labels: Iterable[Label], rule: str) -> Expression:
    for label in labels:
        body = labelled(body, label, rule)
    return body


def _inside(name: str) -> str:
    """Return the name of a rule as the rules that it calls itself through call it."""
    return f"{name} inside"

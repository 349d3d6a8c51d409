"""Which sets of objects may hold another one, told by their constraints: so that few pairs are compared one with the other.

An object disjunct lies inside another one only if it asks everything that the other one asks: each required key, each rule,
each conjunct for the value of a key. So its constraints are kept as a set of features, and one with a feature that the
inner disjunct lacks cannot hold that (`algebra.object_inside` would say so, at twenty times the cost).

Where the inner disjunct has rules for undeclared keys, or forbids a key, it may ask more of a key than it declares; then
only the features of required keys, which are always declared, are compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.regex import ast
from schemagen.schema.ir import NEVER, ObjectDisjunct, meanings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Among so few all are compared.
FEW = 6


class Features(NamedTuple):
    """The constraints of a disjunct.

    Attributes:
        always: Required keys and the conjuncts of their values, rules, and counts.
        every: The conjuncts of the values of other keys, too.
        says_all: Whether nothing is asked of a value beside ``every``.
        is_void: Whether a required key has no value.
    """

    always: frozenset[Any]
    every: frozenset[Any]
    says_all: bool
    is_void: bool


def features(disjunct: ObjectDisjunct) -> Features:
    """Return the constraints of an object disjunct; worked out once, and not looked up by equality, which is deep."""
    try:
        found: Features = disjunct.features
    except AttributeError:
        found = disjunct.features = _features(disjunct)
    return found


def _features(disjunct: ObjectDisjunct) -> Features:
    asked = {key: meanings(value) for key, value in disjunct.properties}
    forbidden = {key for key, value in disjunct.properties if value is NEVER}
    always: set[Any] = {(key, each) for key in disjunct.required for each in asked.get(key, ())}
    always.update(disjunct.required, disjunct.rules, disjunct.counts)
    every = always.union((key, each) for key, found in asked.items() for each in found)
    says_all = not (disjunct.rules or forbidden) and disjunct.names == ast.ANY_STRING
    return Features(frozenset(always), frozenset(every), says_all, not forbidden.isdisjoint(disjunct.required))


class Holders:
    """Disjuncts of one type, to be asked which of them may hold another one.

    Args:
        disjuncts: Of any type; those of objects are told apart.
    """

    def __init__(self, disjuncts: Sequence[Any]) -> None:
        self._all = range(len(disjuncts))
        self._features: list[Features] | None = None
        if len(disjuncts) > FEW and isinstance(disjuncts[0], ObjectDisjunct):
            self._features = [features(each) for each in disjuncts]

    def of(self, inner: Any) -> Iterable[int]:
        """Return the positions of the disjuncts that may hold another one; never leaves one out that does."""
        if self._features is None:
            return self._all
        given = features(inner)
        if given.is_void:
            return self._all
        if given.says_all:
            return [k for k, asked in enumerate(self._features) if asked.every <= given.every]
        return [k for k, asked in enumerate(self._features) if asked.always <= given.always]

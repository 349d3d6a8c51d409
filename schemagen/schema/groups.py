"""Objects that combine independent alternatives: side by side instead of multiplied out.

``allOf`` of n ``anyOf``s over different keys is a product of 2^n disjuncts. Where alternatives constrain declared keys and
nothing else, and the keys of one ``anyOf`` are not those of another one, the product is kept as its factors: one disjunct
for the constraints that all objects share, and a group of alternatives for each set of factors that have keys in common
(`ObjectDisjunct.groups`). Within such a set alternatives are multiplied, as everywhere else. The core follows each group by
itself (``core/json/groups.hpp``), so states add up.

Invariants: a disjunct with groups declares every key of theirs. Few alternatives are multiplied out, so that groups are met
only where they make a difference.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.schema.algebra import both_objects, components, too_many, undeclared
from schemagen.schema.ir import ANY, ANY_OBJECT, ObjectDisjunct, intersection_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from schemagen.schema.algebra import Group
    from schemagen.schema.ir import Expression

    Product = Callable[[Group, Group], Group]

#: So many disjuncts are multiplied out.
FEW = 16
#: Alternatives of one factor: one that has more by itself is better worked out within the others.
MOST_OF_ONE = 16
ANY_OBJECTS: tuple[ObjectDisjunct, ...] = (ANY_OBJECT,)


def grouped(factors: Sequence[Group], product: Product) -> Group | None:
    """Return the objects that are in a disjunct of each factor, in groups; None where these do not help.

    Args:
        factors: Sets of disjuncts, in the order in which their keys are declared.
        product: Multiplies two sets of disjuncts.
    """
    clauses: list[Group] = []
    others: list[Group] = []
    for factor in factors:
        (clauses if len(factor) > 1 and all(map(_is_plain, factor)) else others).append(factor)
    parts = components(clauses)
    if len(parts) < 2:
        return None
    bases = reduce(product, others, ANY_OBJECTS)
    groups = [_within(bases, part, product) for part in parts]
    if not all((bases, *groups)):
        return ()
    bases = reduce(product, (group for group in groups if len(group) == 1), bases)
    groups = [group for group in groups if len(group) > 1]
    if len(groups) < 2 or prod(map(len, (bases, *groups))) <= FEW:
        return None
    keys = dict.fromkeys(key for factor in factors for each in factor for key, _ in each.properties)
    return tuple(found for base in bases if (found := _with_groups(base, groups, keys)) is not None)


def _is_plain(disjunct: ObjectDisjunct) -> bool:
    """Whether a disjunct constrains declared keys and nothing else."""
    asked = disjunct.rules or disjunct.min_properties or disjunct.counts or disjunct.groups
    return not asked and disjunct.max_properties is None and disjunct.names == ast.ANY_STRING


def _within(bases: Group, part: list[Group], product: Product) -> Group:
    """Multiply factors that have keys in common, within what a single base asks of these keys."""
    if len(bases) != 1:
        return reduce(product, part)
    keys = dict.fromkeys(key for factor in part for each in factor for key, _ in each.properties)
    asked = _asked(bases[0], keys)
    return reduce(product, part, (ObjectDisjunct(tuple(asked.items()), bases[0].required.intersection(asked)),))


def _asked(disjunct: ObjectDisjunct, keys: Iterable[str]) -> dict[str, Expression]:
    declared = dict(disjunct.properties)
    return {key: declared[key] if key in declared else undeclared(disjunct, key) for key in keys}


def _with_groups(base: ObjectDisjunct, groups: list[Group], keys: Iterable[str]) -> ObjectDisjunct | None:
    """Return a disjunct with groups besides its own, and with their keys declared."""
    return both_objects(ObjectDisjunct(tuple(_asked(base, keys).items()), groups=tuple(groups)), base)


def members_of(disjunct: ObjectDisjunct) -> Iterator[list[dict[str, tuple[Expression, bool]]]]:
    """Yield for each group what its alternatives ask of its keys, as they are declared: the value, and whether it must be."""
    values = dict(disjunct.properties)
    ranks = {key: rank for rank, key in enumerate(values)}
    for group in disjunct.groups:
        keys = sorted({key for each in group for key, _ in each.properties}, key=ranks.__getitem__)
        owns = [(dict(each.properties), each.required | disjunct.required) for each in group]
        yield [
            {key: (intersection_of(values[key], own.get(key, ANY)), key in required) for key in keys}
            for own, required in owns
        ]


def multiplied_out(disjunct: ObjectDisjunct, max_disjuncts: int) -> Group:
    """Return the same objects without groups.

    Raises:
        LimitError: There are more disjuncts than that.
    """
    found = [replace(disjunct, groups=())]
    for group in disjunct.groups:
        if len(found) * len(group) > max_disjuncts:
            raise too_many(len(found) * len(group), max_disjuncts)
        found = [met for each in found for other in group if (met := both_objects(each, other)) is not None]
    return tuple(found)

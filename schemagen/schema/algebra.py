"""Union, intersection and difference of `ValueSet`s, disjunct by disjunct.

Union concatenates disjuncts. Intersection multiplies them: (A | B) & (C | D) has up to four disjuncts, of which the empty
ones are dropped at once, and identical ones merge; A alone is left if it lies inside C or D. Difference follows De Morgan: a
disjunct is a conjunction, so outside of it each disjunct breaks one of its constraints. A disjunct apart from the one taken
out stays as it is, so branches that a required property tells apart are not multiplied. Those over different keys need not
be, either: a disjunct may have groups of alternatives (`groups.py`). That some item or some member breaks a rule is itself a
constraint, a count of at least one (`ItemCount`, `MemberCount`), so nothing is approximated. For one constraint there is no
such thing, that all items differ; `NotExpressibleError` is raised for it.

Inside disjuncts, intersection and complement build expressions, not values, so recursion is never followed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.language import matches
from schemagen.schema.formats.table import known_format, known_superset
from schemagen.schema.holders import Holders
from schemagen.schema.ir import (
    ANY,
    ANY_STRINGS,
    ANYTHING,
    NEVER,
    ArrayDisjunct,
    Const,
    Intersection,
    ItemCount,
    KeyRule,
    MemberCount,
    NumberDisjunct,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    StringDisjunct,
    ValueSet,
    closed_keys,
    complement_of,
    intersection_of,
    meanings,
)
from schemagen.schema.numbers.rules import has_fractions_only, step_of
from schemagen.schema.numbers.spans import EXACT_INTEGERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from schemagen.schema.ir import Expression

#: Disjuncts of one type in one value; beyond it a schema is refused instead of being compiled for minutes.
MAX_DISJUNCTS = 1024

#: So many disjuncts of a product have their members chosen by name; where it would be more, members are counted.
MAX_CHOSEN = 16

#: Why there are too many disjuncts; within a smaller set there may be fewer.
MULTIPLIED = "combining anyOf, oneOf, not and if multiplies their alternatives"

Disjunct = TypeVar("Disjunct")
Count = TypeVar("Count", ItemCount, MemberCount)
Group = tuple[ObjectDisjunct, ...]
Viable = Callable[[ObjectDisjunct], bool]


class NotExpressibleError(Exception):
    """The complement of a constraint that no disjunct can state; `keyword` names it."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self.keyword = keyword


def union(values: Iterable[ValueSet]) -> ValueSet:
    """The values that are in some part."""
    parts = [value for value in values if not value.is_nothing()]
    if len(parts) == 1:
        return parts[0]
    return ValueSet(
        null=any(v.null for v in parts),
        true=any(v.true for v in parts),
        false=any(v.false for v in parts),
        numbers=_merge_numbers(_distinct(a for v in parts for a in v.numbers)),
        strings=_merge_strings(_distinct(a for v in parts for a in v.strings)),
        arrays=_absorb(_distinct(a for v in parts for a in v.arrays), array_inside),
        objects=_absorb(_distinct(a for v in parts for a in v.objects), object_inside),
    )


class Algebra:
    """Intersection and difference under a bound.

    Args:
        viable: Tells whether an object disjunct may have an instance; disjuncts that plainly have none are dropped.
        max_disjuncts: Most disjuncts of one type in one value.
    """

    def __init__(self, viable: Viable | None = None, max_disjuncts: int = MAX_DISJUNCTS) -> None:
        self.max_disjuncts = max_disjuncts
        self._objects = _viably(both_objects, viable)

    def intersection(self, left: ValueSet, right: ValueSet) -> ValueSet:
        """Return the values that are in both."""
        if left == ANYTHING:
            return right
        if right == ANYTHING:
            return left
        return ValueSet(
            null=left.null and right.null,
            true=left.true and right.true,
            false=left.false and right.false,
            numbers=self._product(left.numbers, right.numbers, both_numbers),
            strings=self._product(left.strings, right.strings, both_strings),
            arrays=self._product(left.arrays, right.arrays, both_arrays, array_inside),
            objects=self.objects(left.objects, right.objects),
        )

    def difference(self, left: ValueSet, right: ValueSet) -> ValueSet:
        """Return the values of ``left`` that are not in ``right``.

        Raises:
            NotExpressibleError: ``right`` asks for unique items.
        """
        return ValueSet(
            null=left.null and not right.null,
            true=left.true and not right.true,
            false=left.false and not right.false,
            numbers=self._without(left.numbers, right.numbers, not_number, both_numbers),
            strings=self._without(left.strings, right.strings, not_string, both_strings),
            arrays=self._without(left.arrays, right.arrays, not_array, both_arrays, array_inside),
            objects=self._without(left.objects, right.objects, not_object, self._objects, object_inside),
        )

    def _without(
        self,
        have: tuple[Disjunct, ...],
        disjuncts: tuple[Disjunct, ...],
        negate: Callable[[Disjunct], tuple[Disjunct, ...]],
        meet: Callable[[Disjunct, Disjunct], Disjunct | None],
        inside: Callable[[Disjunct, Disjunct], bool] | None = None,
    ) -> tuple[Disjunct, ...]:
        """Take disjuncts out of others one by one; a disjunct apart from the one taken out stays as it is."""

        def without(have: tuple[Disjunct, ...], disjunct: Disjunct) -> tuple[Disjunct, ...]:
            if not have:
                return ()
            left, others = list[Disjunct](), list[Disjunct]()
            for each in have:
                (left if meet(each, disjunct) is None else others).append(each)
            if others:
                left.extend(self._product(tuple(others), negate(disjunct), meet, inside))
            return _distinct(left) if inside is None else _absorb(_distinct(left), inside)

        return reduce(without, disjuncts, have)

    def objects(self, left: Group, right: Group) -> Group:
        """Return the objects that are in a disjunct of either side."""
        return self._product(left, right, self._objects, object_inside)

    def _product(
        self,
        left: tuple[Disjunct, ...],
        right: tuple[Disjunct, ...],
        meet: Callable[[Disjunct, Disjunct], Disjunct | None],
        inside: Callable[[Disjunct, Disjunct], bool] | None = None,
    ) -> tuple[Disjunct, ...]:
        """Return the values in a disjunct of either side; one that lies inside one of the other side stays as it is."""
        if len(left) * len(right) > self.max_disjuncts * 16:
            raise too_many(len(left) * len(right), self.max_disjuncts)
        whole: dict[Disjunct, None] = {}
        if inside is not None and len(left) > 1 and len(right) > 1:
            kept, also = _held(left, right, inside), _held(right, left, inside)
            whole = dict.fromkeys(each for each in kept | also if meet(each, each) is not None)
            left = tuple(a for a in left if a not in kept)
            right = tuple(b for b in right if b not in also)
        met = dict.fromkeys(disjunct for a in left for b in right if (disjunct := meet(a, b)) is not None)
        disjuncts = tuple(whole | _by_keys(met))
        if inside is not None:
            disjuncts = _absorb(disjuncts, inside)
        if len(disjuncts) > self.max_disjuncts:
            raise too_many(len(disjuncts), self.max_disjuncts)
        return disjuncts


def _viably(
    meet: Callable[[ObjectDisjunct, ObjectDisjunct], ObjectDisjunct | None], viable: Viable | None
) -> Callable[[ObjectDisjunct, ObjectDisjunct], ObjectDisjunct | None]:
    if viable is None:
        return meet

    def checked(a: ObjectDisjunct, b: ObjectDisjunct) -> ObjectDisjunct | None:
        disjunct = meet(a, b)
        return disjunct if disjunct is not None and viable(disjunct) else None

    return checked


def _held(
    inner: tuple[Disjunct, ...], outer: tuple[Disjunct, ...], inside: Callable[[Disjunct, Disjunct], bool]
) -> dict[Disjunct, None]:
    """Return the disjuncts of one side that lie inside one of the other side."""
    holders = Holders(outer)
    return dict.fromkeys(each for each in inner if any(inside(each, outer[k]) for k in holders.of(each)))


def _absorb(disjuncts: tuple[Disjunct, ...], inside: Callable[[Disjunct, Disjunct], bool]) -> tuple[Disjunct, ...]:
    """Drop every disjunct that lies inside another one; O(n^2), so only while that is cheap."""
    if not 1 < len(disjuncts) <= 256:
        return disjuncts
    holders = Holders(disjuncts)
    held: list[list[int]] = [[] for _ in disjuncts]  # for each the earlier ones that it may hold
    kept: dict[int, Disjunct] = {}
    above = [holders.of(each) for each in disjuncts]
    for k, others in enumerate(above):
        for other in others:
            if k < other:
                held[other].append(k)
    for k, disjunct in enumerate(disjuncts):
        if any(other in kept and inside(disjunct, kept[other]) for other in above[k]):
            continue
        for other in held[k]:
            if other in kept and inside(kept[other], disjunct):
                del kept[other]
        kept[k] = disjunct
    return tuple(kept.values())


def _distinct(disjuncts: Iterable[Disjunct]) -> tuple[Disjunct, ...]:
    return tuple(dict.fromkeys(disjuncts))


def too_many(count: int, limit: int) -> LimitError:
    """Return the error for a product that is refused."""
    return LimitError(
        f"{count} alternatives of one JSON type, limit {limit}",
        why=MULTIPLIED,
        fix="tell the alternatives apart by a required property with a const, or raise Limits(max_alternatives=...)",
    )


# --- numbers -----------------------------------------------------------------------------------------------------------


def both_numbers(a: NumberDisjunct, b: NumberDisjunct) -> NumberDisjunct | None:
    """The numbers in both disjuncts, None if that is plainly empty."""
    low, low_open = max((a.low, a.low_open), (b.low, b.low_open), key=_low_key)
    high, high_open = min((a.high, a.high_open), (b.high, b.high_open), key=_high_key)
    if a.integer is not None and b.integer is not None and a.integer != b.integer:
        return None
    values = a.values if b.values is None else b.values if a.values is None else a.values & b.values
    disjunct = NumberDisjunct(
        low=low,
        low_open=low_open,
        high=high,
        high_open=high_open,
        integer=a.integer if a.integer is not None else b.integer,
        multiples=a.multiples | b.multiples,
        not_multiples=a.not_multiples | b.not_multiples,
        values=values,
        not_values=a.not_values | b.not_values,
        plain=a.plain or b.plain,
    )
    return _settle_number(disjunct)


def _low_key(end: tuple[Fraction | None, bool]) -> tuple[bool, Fraction, bool]:
    return (end[0] is not None, end[0] or Fraction(0), end[1])


def _high_key(end: tuple[Fraction | None, bool]) -> tuple[bool, Fraction, bool]:
    return (end[0] is None, end[0] or Fraction(0), not end[1])


def _settle_number(disjunct: NumberDisjunct) -> NumberDisjunct | None:
    if disjunct.values is not None:
        others = replace(disjunct, values=None)
        kept = frozenset(v for v in disjunct.values if number_allows(others, v))
        return _listing(kept, disjunct) if kept else None
    if disjunct.not_multiples or has_fractions_only(disjunct):
        step = step_of(disjunct)
        if step is not None and step.denominator == 1 and has_fractions_only(disjunct):
            return None
        if step is not None and any((step / other).denominator == 1 for other in disjunct.not_multiples):
            return None
    if disjunct.low is not None and disjunct.high is not None:
        if disjunct.low > disjunct.high or (
            disjunct.low == disjunct.high and (disjunct.low_open or disjunct.high_open)
        ):
            return None
        if disjunct.low == disjunct.high:
            return _listing(frozenset({disjunct.low}), disjunct) if number_allows(disjunct, disjunct.low) else None
    return disjunct


def _listing(values: frozenset[Fraction], disjunct: NumberDisjunct) -> NumberDisjunct:
    """Return the disjunct of listed values, which keeps of the other one how integers are written."""
    if disjunct.plain and disjunct.integer is not None:
        return NumberDisjunct(values=values, integer=disjunct.integer, plain=True)
    return NumberDisjunct(values=values)


def number_allows(disjunct: NumberDisjunct, value: Fraction) -> bool:
    """Whether a number satisfies the disjunct."""
    below = disjunct.low is not None and (value < disjunct.low or (value == disjunct.low and disjunct.low_open))
    above = disjunct.high is not None and (value > disjunct.high or (value == disjunct.high and disjunct.high_open))
    if below or above or value in disjunct.not_values or (disjunct.values is not None and value not in disjunct.values):
        return False
    is_integer = value.denominator == 1
    if disjunct.integer is not None and is_integer != disjunct.integer and not (disjunct.plain and is_integer):
        return False
    divisible = all(_divides(m, value) for m in disjunct.multiples)
    return divisible and not any(_divides(m, value) for m in disjunct.not_multiples)


def _divides(divisor: Fraction, value: Fraction) -> bool:
    """Whether a value is a multiple: a float64 too large for a fraction, as the decimal that it is written as, too."""
    if (value / divisor).denominator == 1:
        return True
    if value.denominator != 1 or not EXACT_INTEGERS <= abs(value) < 2**1023:
        return False
    if divisor.denominator == 1 and divisor < EXACT_INTEGERS:  # the remainder is worked out exactly
        return False
    nearest = float(value)
    return Fraction(nearest) == value and (Fraction(Decimal(repr(nearest))) / divisor).denominator == 1


def not_number(disjunct: NumberDisjunct) -> tuple[NumberDisjunct, ...]:
    """Disjuncts that each break one constraint of ``disjunct``."""
    broken: list[NumberDisjunct] = []
    if disjunct.integer is not None:
        broken.append(NumberDisjunct(integer=not disjunct.integer, plain=disjunct.plain))
    if disjunct.values is not None:
        return (*broken, NumberDisjunct(not_values=disjunct.values))
    if disjunct.low is not None:
        broken.append(NumberDisjunct(high=disjunct.low, high_open=not disjunct.low_open))
    if disjunct.high is not None:
        broken.append(NumberDisjunct(low=disjunct.high, low_open=not disjunct.high_open))
    broken.extend(NumberDisjunct(not_multiples=frozenset({m})) for m in sorted(disjunct.multiples))
    broken.extend(NumberDisjunct(multiples=frozenset({m})) for m in sorted(disjunct.not_multiples))
    if disjunct.not_values:
        broken.append(NumberDisjunct(values=disjunct.not_values))
    return tuple(broken)


def _merge_numbers(disjuncts: tuple[NumberDisjunct, ...]) -> tuple[NumberDisjunct, ...]:
    if NumberDisjunct() in disjuncts:
        return (NumberDisjunct(),)
    listed = [disjunct.values for disjunct in disjuncts if disjunct.values is not None and not disjunct.plain]
    others = tuple(disjunct for disjunct in disjuncts if disjunct.values is None or disjunct.plain)
    return (*others, NumberDisjunct(values=frozenset().union(*listed))) if listed else others


# --- strings -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def both_strings(a: StringDisjunct, b: StringDisjunct) -> StringDisjunct | None:
    """The strings in both disjuncts, None if that is plainly empty; cached, for a product meets the same pairs many times."""
    lengths = [m for m in (a.max_length, b.max_length) if m is not None]
    disjunct = StringDisjunct(
        pattern=a.pattern if a.pattern is b.pattern else ast.conjunction(a.pattern, b.pattern),
        formats=a.formats | b.formats,
        min_length=max(a.min_length, b.min_length),
        max_length=min(lengths) if lengths else None,
    )
    values = a.values if b.values is None else b.values if a.values is None else a.values & b.values
    if values is not None:
        kept = values if disjunct == ANY_STRINGS else frozenset(v for v in values if string_allows(disjunct, v))
        return StringDisjunct(values=kept) if kept else None
    if disjunct.pattern == ast.EMPTY or (disjunct.max_length is not None and disjunct.min_length > disjunct.max_length):
        return None
    return disjunct


def string_allows(disjunct: StringDisjunct, value: str) -> bool:
    """Whether a string satisfies the disjunct."""
    if disjunct.values is not None and value not in disjunct.values:
        return False
    if len(value) < disjunct.min_length or (disjunct.max_length is not None and len(value) > disjunct.max_length):
        return False
    if disjunct.pattern != ast.ANY_STRING and not matches(disjunct.pattern, value):
        return False
    return all(matches(known_format(name), value) for name in disjunct.formats)


def not_string(disjunct: StringDisjunct) -> tuple[StringDisjunct, ...]:
    """Disjuncts that each break one constraint of ``disjunct``."""
    broken: list[StringDisjunct] = []
    if disjunct.values is not None:
        listed = ast.union(*(ast.literal(v) for v in sorted(disjunct.values)))
        return (StringDisjunct(pattern=ast.complement(listed)),)
    if disjunct.pattern != ast.ANY_STRING:
        broken.append(StringDisjunct(pattern=ast.complement(disjunct.pattern)))
    # A format is enforced by a language that may be smaller than its own; outside it means outside the larger one.
    broken.extend(StringDisjunct(pattern=ast.complement(known_superset(name))) for name in sorted(disjunct.formats))
    if disjunct.min_length > 0:
        broken.append(StringDisjunct(max_length=disjunct.min_length - 1))
    if disjunct.max_length is not None:
        broken.append(StringDisjunct(min_length=disjunct.max_length + 1))
    return tuple(broken)


def _merge_strings(disjuncts: tuple[StringDisjunct, ...]) -> tuple[StringDisjunct, ...]:
    if StringDisjunct() in disjuncts:
        return (StringDisjunct(),)
    listed = [disjunct.values for disjunct in disjuncts if disjunct.values is not None]
    others = tuple(disjunct for disjunct in disjuncts if disjunct.values is None)
    return (*others, StringDisjunct(values=frozenset().union(*listed))) if listed else others


# --- arrays ------------------------------------------------------------------------------------------------------------


def both_arrays(a: ArrayDisjunct, b: ArrayDisjunct) -> ArrayDisjunct | None:
    """The arrays in both disjuncts, None if that is plainly empty."""
    length = max(len(a.prefix), len(b.prefix))
    bounds = [m for m in (a.max_items, b.max_items) if m is not None]
    disjunct = ArrayDisjunct(
        prefix=tuple(intersection_of(a.item(k), b.item(k)) for k in range(length)),
        items=intersection_of(a.items, b.items),
        min_items=max(a.min_items, b.min_items),
        max_items=min(bounds) if bounds else None,
        counts=tuple(dict.fromkeys(a.counts + b.counts)),
        unique=a.unique or b.unique,
    )
    return settle_array(disjunct)


def settle_array(disjunct: ArrayDisjunct) -> ArrayDisjunct | None:
    """The disjunct with its bound lowered to the items that can exist; None if that is below its minimum."""
    if any(count.high is not None and count.low > count.high for count in disjunct.counts):
        return None
    possible = disjunct.max_items
    for index, item in enumerate((*disjunct.prefix, disjunct.items)):
        if item is NEVER and (possible is None or index < possible):
            possible = index
    if possible is not None and disjunct.min_items > possible:
        return None
    if possible == disjunct.max_items and (possible is None or len(disjunct.prefix) <= possible):
        return disjunct
    return replace(disjunct, prefix=disjunct.prefix[:possible], max_items=possible)


def array_inside(inner: ArrayDisjunct, outer: ArrayDisjunct) -> bool:
    """Whether every array of ``inner`` is plainly in ``outer``."""
    if outer.min_items > inner.min_items or not _no_looser(inner.max_items, outer.max_items):
        return False
    if not _among(outer.counts, inner.counts) or (outer.unique and not inner.unique):
        return False
    length = max(len(inner.prefix), len(outer.prefix))
    pairs = [(inner.item(k), outer.item(k)) for k in range(length)] + [(inner.items, outer.items)]
    return all(expression_inside(a, b) for a, b in pairs)


def expression_inside(inner: Expression, outer: Expression) -> bool:
    """Whether ``inner`` is plainly a part of ``outer``: equal, or with more conjuncts."""
    if inner is outer or inner is NEVER or outer is ANY:
        return True
    return meanings(outer) <= meanings(inner)


def _among(asked: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Whether every one of the constraints is among the given ones."""
    return not asked or asked == given or set(asked) <= set(given)


def _no_looser(inner: int | None, outer: int | None) -> bool:
    return outer is None or (inner is not None and inner <= outer)


def not_array(disjunct: ArrayDisjunct) -> tuple[ArrayDisjunct, ...]:
    """Disjuncts that each break one constraint of ``disjunct``."""
    if disjunct.unique:
        raise NotExpressibleError("uniqueItems")
    broken: list[ArrayDisjunct] = []
    if disjunct.min_items > 0:
        broken.append(ArrayDisjunct(max_items=disjunct.min_items - 1))
    if disjunct.max_items is not None:
        broken.append(ArrayDisjunct(min_items=disjunct.max_items + 1))
    for index, item in enumerate(disjunct.prefix):
        if item is not ANY:
            broken.append(ArrayDisjunct(prefix=(ANY,) * index + (complement_of(item),), min_items=index + 1))
    if disjunct.items is NEVER:
        broken.append(ArrayDisjunct(min_items=len(disjunct.prefix) + 1))
    elif disjunct.items is not ANY:
        broken.append(ArrayDisjunct(counts=(ItemCount(complement_of(disjunct.items), 1, start=len(disjunct.prefix)),)))
    broken.extend(ArrayDisjunct(counts=(count,)) for given in disjunct.counts for count in _other_counts(given))
    return tuple(broken)


def _other_counts(count: Count) -> list[Count]:
    """Return the counts that a count forbids: fewer than its lower bound, more than its upper one."""
    others: list[Count] = []
    if count.low > 0:
        others.append(replace(count, low=0, high=count.low - 1))
    if count.high is not None:
        others.append(replace(count, low=count.high + 1, high=None))
    return others


# --- objects -----------------------------------------------------------------------------------------------------------


def _is_open(disjunct: ObjectDisjunct) -> bool:
    """Whether nothing is asked of keys that are not declared."""
    return not disjunct.rules and (disjunct.names is ast.ANY_STRING or disjunct.names == ast.ANY_STRING)


def undeclared(disjunct: ObjectDisjunct, key: str) -> Expression:
    """What the disjunct asks of the value of a key that it does not declare; `NEVER` if it forbids the key."""
    if _is_open(disjunct):
        return ANY
    if disjunct.names != ast.ANY_STRING and not matches(disjunct.names, key):
        return NEVER
    parts: list[Expression] = []
    for rule in disjunct.rules:
        hits = [value for pattern, value in rule.patterns if matches(pattern, key)]
        parts.extend(hits or [rule.additional])
    return intersection_of(*parts)


def both_objects(a: ObjectDisjunct, b: ObjectDisjunct) -> ObjectDisjunct | None:
    """The objects in both disjuncts, None if that is plainly empty."""
    merged, others = dict(a.properties), dict(b.properties)
    for key in merged.keys() & others.keys() if _is_open(b) else merged:
        merged[key] = intersection_of(merged[key], others.pop(key) if key in others else undeclared(b, key))
    merged.update(others if _is_open(a) else {k: intersection_of(undeclared(a, k), v) for k, v in others.items()})
    bounds = [m for m in (a.max_properties, b.max_properties) if m is not None]
    disjunct = ObjectDisjunct(
        properties=tuple(merged.items()),
        required=a.required | b.required,
        rules=tuple(dict.fromkeys(a.rules + b.rules)),
        names=a.names if a.names is b.names else ast.conjunction(a.names, b.names),
        min_properties=max(a.min_properties, b.min_properties),
        max_properties=min(bounds) if bounds else None,
        counts=tuple(dict.fromkeys(a.counts + b.counts)),
        groups=joined(a.groups + b.groups) if a.groups or b.groups else (),
    )
    return settle_object(disjunct)


def joined(groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Multiply the groups that have keys in common."""
    return tuple(reduce(_both_groups, part) for part in components(groups))


def _both_groups(left: Group, right: Group) -> Group:
    met = dict.fromkeys(disjunct for a in left for b in right if (disjunct := both_objects(a, b)) is not None)
    if len(met) > MAX_DISJUNCTS:
        raise too_many(len(met), MAX_DISJUNCTS)
    return _absorb(tuple(met), object_inside)


def components(factors: Sequence[Group]) -> list[list[Group]]:
    """Return sets of alternatives in lists, so that no key is declared in two lists; in their order."""
    leads = list(range(len(factors)))

    def lead(index: int) -> int:
        while leads[index] != index:
            leads[index] = index = leads[leads[index]]
        return index

    first_with: dict[str, int] = {}
    for index, factor in enumerate(factors):
        for key in {key: None for each in factor for key, _ in each.properties}:
            other, own = lead(first_with.setdefault(key, index)), lead(index)
            leads[max(own, other)] = min(own, other)
    parts: dict[int, list[Group]] = {}
    for index, factor in enumerate(factors):
        parts.setdefault(lead(index), []).append(factor)
    return list(parts.values())


def settle_object(disjunct: ObjectDisjunct) -> ObjectDisjunct | None:
    """The disjunct, or None if a required key cannot have a value or there is no room for the required ones."""
    required, least, most = disjunct.required, disjunct.min_properties, disjunct.max_properties
    if required and any(value is NEVER for key, value in disjunct.properties if key in required):
        return None
    if most is not None and max(len(required), least) > most:
        return None
    if not least:
        return disjunct
    keys = closed_keys(disjunct)
    return None if keys is not None and len(keys) < least else disjunct


def object_inside(inner: ObjectDisjunct, outer: ObjectDisjunct) -> bool:
    """Whether every object of ``inner`` is plainly in ``outer``."""
    if not outer.required <= inner.required or outer.min_properties > max(inner.min_properties, len(inner.required)):
        return False
    if not _no_looser(inner.max_properties, outer.max_properties):
        return False
    if outer.names not in (ast.ANY_STRING, inner.names) or not _among(outer.counts, inner.counts):
        return False
    if not _among(outer.rules, inner.rules):
        return False
    if outer.groups and not all(_is_met(inner, group) for group in outer.groups):
        return False
    # Alternatives mostly declare the same keys and differ in one of them: no table of the keys is needed to see that.
    for (key, value), (other, wanted) in zip(inner.properties, outer.properties, strict=False):
        if key == other and not expression_inside(value, wanted):
            return False
    mine = dict(inner.properties)
    for key, value in outer.properties:
        have = mine.pop(key, None)
        if not expression_inside(undeclared(inner, key) if have is None else have, value):
            return False
    # A key that only the inner disjunct declares is an undeclared key of the outer one.
    return not outer.rules or all(expression_inside(value, undeclared(outer, key)) for key, value in mine.items())


def _is_met(disjunct: ObjectDisjunct, group: Group) -> bool:
    """Whether every object of a disjunct plainly is in an alternative of the group."""
    return any(object_inside(disjunct, each) for each in group) or any(
        all(any(object_inside(a, b) for b in group) for a in own) for own in disjunct.groups
    )


def not_object(disjunct: ObjectDisjunct) -> tuple[ObjectDisjunct, ...]:
    """Disjuncts that each break one constraint of ``disjunct``; that a required key is there and its value is one.

    A key with listed values tells branches apart: where another constraint is broken, its own holds, so that the next
    branch has nothing in common with these disjuncts.
    """
    values = dict(disjunct.properties)
    listed = [key for key, value in values.items() if _is_listed(value)]
    others = (_broken_key(disjunct, key, value) for key, value in values.items() if key not in listed)
    broken = [*(each for each in others if each is not None), *_broken_as_a_whole(disjunct)]
    for key in reversed(listed):
        holds = ObjectDisjunct(((key, values[key]),), disjunct.required & {key})
        met = [both_objects(holds, each) for each in broken]
        broken = [each for each in (_broken_key(disjunct, key, values[key]), *met) if each is not None]
    return tuple(broken)


def _is_listed(value: Expression) -> bool:
    """Whether the values of an expression are plainly listed."""
    if isinstance(value, Intersection):
        return any(map(_is_listed, value.parts))
    if isinstance(value, SchemaRef):
        return isinstance(value.schema, dict) and ("const" in value.schema or "enum" in value.schema)
    if isinstance(value, Resolved):
        known = value.value
        scalars: tuple[StringDisjunct | NumberDisjunct, ...] = (*known.strings, *known.numbers)
        return not (known.arrays or known.objects) and all(each.values is not None for each in scalars)
    return isinstance(value, Const)


def _broken_key(disjunct: ObjectDisjunct, key: str, value: Expression) -> ObjectDisjunct | None:
    """Return the objects in which a key breaks its constraint; None if it has none."""
    is_required = key in disjunct.required
    if not is_required and value is ANY:
        return None
    return ObjectDisjunct(((key, complement_of(value)),), frozenset() if is_required else frozenset({key}))


def _broken_as_a_whole(disjunct: ObjectDisjunct) -> list[ObjectDisjunct]:
    """Return the objects that break another constraint than those of declared keys."""
    broken: list[ObjectDisjunct] = []
    if disjunct.min_properties > 0:
        broken.append(ObjectDisjunct(max_properties=disjunct.min_properties - 1))
    if disjunct.max_properties is not None:
        broken.append(ObjectDisjunct(min_properties=disjunct.max_properties + 1))
    counts = [ObjectDisjunct(counts=(count,)) for given in disjunct.counts for count in _other_counts(given)]
    refuted = [each for group in disjunct.groups for each in reduce(_both_groups, map(not_object, group))]
    return [*broken, *_broken_rules(disjunct), *counts, *refuted]


def _broken_rules(disjunct: ObjectDisjunct) -> list[ObjectDisjunct]:
    broken: list[ObjectDisjunct] = []
    if disjunct.names != ast.ANY_STRING:
        broken.append(_some_member(ast.complement(disjunct.names), ANY))
    declared = ast.union(*(ast.literal(key) for key, _ in disjunct.properties))
    for rule in disjunct.rules:
        broken.extend(
            _some_member(pattern, complement_of(value)) for pattern, value in rule.patterns if value is not ANY
        )
        if rule.additional is not ANY:
            named = ast.union(declared, *(pattern for pattern, _ in rule.patterns))
            broken.append(_some_member(ast.complement(named), complement_of(rule.additional)))
    return broken


def _by_keys(disjuncts: dict[Any, None]) -> dict[Any, None]:
    """Return disjuncts with some members chosen by name, where their keys are known; as they were if those are too many."""
    chosen = dict(disjuncts)
    pending = [each for each in disjuncts if isinstance(each, ObjectDisjunct) and each.counts]
    while pending:
        disjunct = pending.pop()
        ways = _ways(disjunct)
        if ways is None:
            continue
        del chosen[disjunct]
        chosen.update(dict.fromkeys(ways))
        pending.extend(each for each in ways if each.counts)
        if len(chosen) > MAX_CHOSEN:
            return disjuncts
    return chosen


def _ways(disjunct: ObjectDisjunct) -> list[ObjectDisjunct] | None:
    """Return one disjunct for each key that the first count of some member can mean; None if they are not few."""
    count = next((count for count in disjunct.counts if count.low == 1 and count.high is None), None)
    keys = None if count is None else closed_keys(disjunct)
    if count is None or keys is None:
        return None
    meant = [key for key in keys if matches(count.names, key)]
    if len(meant) > MAX_CHOSEN:
        return None
    others = tuple(other for other in disjunct.counts if other is not count)
    ways: list[ObjectDisjunct] = []
    for key in meant:
        properties = tuple(
            (name, intersection_of(value, count.value) if name == key else value) for name, value in disjunct.properties
        )
        chosen = replace(disjunct, properties=properties, required=disjunct.required | {key}, counts=others)
        if (settled := settle_object(chosen)) is not None:
            ways.append(settled)
    return ways


def _some_member(names: ast.Regex, value: Expression) -> ObjectDisjunct:
    return ObjectDisjunct(counts=(MemberCount(names, value, 1),))


def plain_rule(additional: Expression) -> tuple[KeyRule, ...]:
    """The rules of a schema without patterns."""
    return () if additional is ANY else (KeyRule((), additional),)

"""Union, intersection and complement of `Value`s, arm by arm.

Union concatenates arms. Intersection multiplies them: (A | B) & (C | D) has up to four arms, of which the empty ones are
dropped at once, and identical ones merge. Complement follows De Morgan: an arm is a conjunction, so its complement is a
union of arms that each break one of its constraints. That some item or some member breaks a rule is itself a constraint,
a count of at least one (`ItemCount`, `MemberCount`), so nothing is approximated. One constraint has no complement here, that
all items differ; `NotExpressibleError` is raised for it.

Inside arms, intersection and complement build expressions, not values, so recursion is never followed here.
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
from schemagen.regex.derivatives import matches
from schemagen.schema.nodes import (
    ANY,
    ANY_STRINGS,
    ANYTHING,
    NEVER,
    ArrayArm,
    Both,
    ItemCount,
    KeyRule,
    MemberCount,
    NumberArm,
    ObjectArm,
    StringArm,
    Value,
    both,
    neither,
)
from schemagen.schema.numbers.rules import step_of
from schemagen.schema.numbers.spans import EXACT_INTEGERS
from schemagen.schema.strings import known_format, known_superset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.schema.nodes import Expression

#: Arms of one type in one value; beyond it a schema is refused instead of being compiled for minutes.
MAX_ARMS = 1024

Arm = TypeVar("Arm")
Count = TypeVar("Count", ItemCount, MemberCount)
Viable = Callable[[ObjectArm], bool]


class NotExpressibleError(Exception):
    """The complement of a constraint that no arm can state; `keyword` names it."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self.keyword = keyword


def union(values: Iterable[Value]) -> Value:
    """The values that are in some part."""
    parts = [value for value in values if not value.is_nothing()]
    if len(parts) == 1:
        return parts[0]
    return Value(
        null=any(v.null for v in parts),
        true=any(v.true for v in parts),
        false=any(v.false for v in parts),
        numbers=_merge_numbers(_distinct(a for v in parts for a in v.numbers)),
        strings=_merge_strings(_distinct(a for v in parts for a in v.strings)),
        arrays=_absorb(_distinct(a for v in parts for a in v.arrays), array_inside),
        objects=_absorb(_distinct(a for v in parts for a in v.objects), object_inside),
    )


class Algebra:
    """Intersection and complement under a bound.

    Args:
        viable: Tells whether an object arm may have an instance; arms that plainly have none are dropped.
        max_arms: Most arms of one type in one value.
    """

    def __init__(self, viable: Viable | None = None, max_arms: int = MAX_ARMS) -> None:
        self.max_arms = max_arms
        self._objects = _viably(both_objects, viable)

    def intersection(self, left: Value, right: Value) -> Value:
        """Return the values that are in both."""
        if left == ANYTHING:
            return right
        if right == ANYTHING:
            return left
        return Value(
            null=left.null and right.null,
            true=left.true and right.true,
            false=left.false and right.false,
            numbers=self._product(left.numbers, right.numbers, both_numbers),
            strings=self._product(left.strings, right.strings, both_strings),
            arrays=_absorb(self._product(left.arrays, right.arrays, both_arrays), array_inside),
            objects=_absorb(self._product(left.objects, right.objects, self._objects), object_inside),
        )

    def complement(self, value: Value) -> Value:
        """Return the values that are not in ``value``.

        Raises:
            NotExpressibleError: It asks for unique items.
        """
        return Value(
            null=not value.null,
            true=not value.true,
            false=not value.false,
            numbers=self._none_of(value.numbers, (NumberArm(),), not_number, both_numbers),
            strings=self._none_of(value.strings, (StringArm(),), not_string, both_strings),
            arrays=self._none_of(value.arrays, (ArrayArm(),), not_array, both_arrays, array_inside),
            objects=self._none_of(value.objects, (ObjectArm(),), not_object, self._objects, object_inside),
        )

    def _none_of(
        self,
        arms: tuple[Arm, ...],
        free: tuple[Arm, ...],
        negate: Callable[[Arm], tuple[Arm, ...]],
        meet: Callable[[Arm, Arm], Arm | None],
        inside: Callable[[Arm, Arm], bool] | None = None,
    ) -> tuple[Arm, ...]:
        if free[0] in arms:
            return ()

        def without(have: tuple[Arm, ...], arm: Arm) -> tuple[Arm, ...]:
            left = self._product(have, negate(arm), meet)
            return left if inside is None else _absorb(left, inside)

        return reduce(without, arms, free)

    def _product(
        self, left: tuple[Arm, ...], right: tuple[Arm, ...], meet: Callable[[Arm, Arm], Arm | None]
    ) -> tuple[Arm, ...]:
        if len(left) * len(right) > self.max_arms * 16:
            raise _too_many(len(left) * len(right), self.max_arms)
        arms = dict.fromkeys(arm for a in left for b in right if (arm := meet(a, b)) is not None)
        if len(arms) > self.max_arms:
            raise _too_many(len(arms), self.max_arms)
        return tuple(arms)


def _viably(
    meet: Callable[[ObjectArm, ObjectArm], ObjectArm | None], viable: Viable | None
) -> Callable[[ObjectArm, ObjectArm], ObjectArm | None]:
    if viable is None:
        return meet

    def checked(a: ObjectArm, b: ObjectArm) -> ObjectArm | None:
        arm = meet(a, b)
        return arm if arm is not None and viable(arm) else None

    return checked


def _absorb(arms: tuple[Arm, ...], inside: Callable[[Arm, Arm], bool]) -> tuple[Arm, ...]:
    """Drop every arm that lies inside another one; O(n^2), so only while that is cheap."""
    if not 1 < len(arms) <= 256:
        return arms
    kept: list[Arm] = []
    for arm in arms:
        if any(inside(arm, other) for other in kept):
            continue
        kept = [other for other in kept if not inside(other, arm)]
        kept.append(arm)
    return tuple(kept)


def _distinct(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    return tuple(dict.fromkeys(arms))


def _too_many(count: int, limit: int) -> LimitError:
    return LimitError(
        f"{count} alternatives of one JSON type, limit {limit}",
        why="combining anyOf, oneOf, not and if multiplies their alternatives",
        fix="tell the alternatives apart by a required property with a const, or raise Limits(max_alternatives=...)",
    )


# --- numbers -----------------------------------------------------------------------------------------------------------


def both_numbers(a: NumberArm, b: NumberArm) -> NumberArm | None:
    """The numbers in both arms, None if that is plainly empty."""
    low, low_open = max((a.low, a.low_open), (b.low, b.low_open), key=_low_key)
    high, high_open = min((a.high, a.high_open), (b.high, b.high_open), key=_high_key)
    if a.integer is not None and b.integer is not None and a.integer != b.integer:
        return None
    values = a.values if b.values is None else b.values if a.values is None else a.values & b.values
    arm = NumberArm(
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
    return _settle_number(arm)


def _low_key(end: tuple[Fraction | None, bool]) -> tuple[bool, Fraction, bool]:
    return (end[0] is not None, end[0] or Fraction(0), end[1])


def _high_key(end: tuple[Fraction | None, bool]) -> tuple[bool, Fraction, bool]:
    return (end[0] is None, end[0] or Fraction(0), not end[1])


def _settle_number(arm: NumberArm) -> NumberArm | None:
    if arm.values is not None:
        others = replace(arm, values=None)
        kept = frozenset(v for v in arm.values if number_allows(others, v))
        return NumberArm(values=kept, plain=arm.plain and arm.integer is not False) if kept else None
    if arm.not_multiples:
        step = step_of(arm)
        if step is not None and any((step / other).denominator == 1 for other in arm.not_multiples):
            return None
    if arm.low is not None and arm.high is not None:
        if arm.low > arm.high or (arm.low == arm.high and (arm.low_open or arm.high_open)):
            return None
        if arm.low == arm.high:
            only = NumberArm(values=frozenset({arm.low}), plain=arm.plain and arm.integer is True)
            return only if number_allows(arm, arm.low) else None
    return arm


def number_allows(arm: NumberArm, value: Fraction) -> bool:
    """Whether a number satisfies the arm."""
    below = arm.low is not None and (value < arm.low or (value == arm.low and arm.low_open))
    above = arm.high is not None and (value > arm.high or (value == arm.high and arm.high_open))
    if below or above or value in arm.not_values or (arm.values is not None and value not in arm.values):
        return False
    if arm.integer is not None and (value.denominator == 1) != arm.integer:
        return False
    divisible = all(_divides(m, value) for m in arm.multiples)
    return divisible and not any(_divides(m, value) for m in arm.not_multiples)


def _divides(divisor: Fraction, value: Fraction) -> bool:
    """Whether a value is a multiple: a float64 too large for a fraction, as the decimal that it is written as, too."""
    if (value / divisor).denominator == 1:
        return True
    if value.denominator != 1 or not EXACT_INTEGERS <= abs(value) < 2**1023:
        return False
    nearest = float(value)
    return Fraction(nearest) == value and (Fraction(Decimal(repr(nearest))) / divisor).denominator == 1


def not_number(arm: NumberArm) -> tuple[NumberArm, ...]:
    """Arms that each break one constraint of ``arm``."""
    broken: list[NumberArm] = []
    if arm.values is not None:
        return (NumberArm(not_values=arm.values),)
    if arm.low is not None:
        broken.append(NumberArm(high=arm.low, high_open=not arm.low_open))
    if arm.high is not None:
        broken.append(NumberArm(low=arm.high, low_open=not arm.high_open))
    if arm.integer is not None:
        broken.append(NumberArm(integer=not arm.integer, plain=arm.plain))
    broken.extend(NumberArm(not_multiples=frozenset({m})) for m in sorted(arm.multiples))
    broken.extend(NumberArm(multiples=frozenset({m})) for m in sorted(arm.not_multiples))
    if arm.not_values:
        broken.append(NumberArm(values=arm.not_values))
    return tuple(broken)


def _merge_numbers(arms: tuple[NumberArm, ...]) -> tuple[NumberArm, ...]:
    if NumberArm() in arms:
        return (NumberArm(),)
    listed = [arm.values for arm in arms if arm.values is not None and not arm.plain]
    others = tuple(arm for arm in arms if arm.values is None or arm.plain)
    return (*others, NumberArm(values=frozenset().union(*listed))) if listed else others


# --- strings -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2048)
def both_strings(a: StringArm, b: StringArm) -> StringArm | None:
    """The strings in both arms, None if that is plainly empty; cached, for a product meets the same pairs many times."""
    lengths = [m for m in (a.max_length, b.max_length) if m is not None]
    arm = StringArm(
        pattern=a.pattern if a.pattern is b.pattern else ast.conjunction(a.pattern, b.pattern),
        formats=a.formats | b.formats,
        min_length=max(a.min_length, b.min_length),
        max_length=min(lengths) if lengths else None,
    )
    values = a.values if b.values is None else b.values if a.values is None else a.values & b.values
    if values is not None:
        kept = values if arm == ANY_STRINGS else frozenset(v for v in values if string_allows(arm, v))
        return StringArm(values=kept) if kept else None
    if arm.pattern == ast.EMPTY or (arm.max_length is not None and arm.min_length > arm.max_length):
        return None
    return arm


def string_allows(arm: StringArm, value: str) -> bool:
    """Whether a string satisfies the arm."""
    if arm.values is not None and value not in arm.values:
        return False
    if len(value) < arm.min_length or (arm.max_length is not None and len(value) > arm.max_length):
        return False
    if arm.pattern != ast.ANY_STRING and not matches(arm.pattern, value):
        return False
    return all(matches(known_format(name), value) for name in arm.formats)


def not_string(arm: StringArm) -> tuple[StringArm, ...]:
    """Arms that each break one constraint of ``arm``."""
    broken: list[StringArm] = []
    if arm.values is not None:
        listed = ast.union(*(ast.literal(v) for v in sorted(arm.values)))
        return (StringArm(pattern=ast.complement(listed)),)
    if arm.pattern != ast.ANY_STRING:
        broken.append(StringArm(pattern=ast.complement(arm.pattern)))
    # A format is enforced by a language that may be smaller than its own; outside it means outside the larger one.
    broken.extend(StringArm(pattern=ast.complement(known_superset(name))) for name in sorted(arm.formats))
    if arm.min_length > 0:
        broken.append(StringArm(max_length=arm.min_length - 1))
    if arm.max_length is not None:
        broken.append(StringArm(min_length=arm.max_length + 1))
    return tuple(broken)


def _merge_strings(arms: tuple[StringArm, ...]) -> tuple[StringArm, ...]:
    if StringArm() in arms:
        return (StringArm(),)
    listed = [arm.values for arm in arms if arm.values is not None]
    others = tuple(arm for arm in arms if arm.values is None)
    return (*others, StringArm(values=frozenset().union(*listed))) if listed else others


# --- arrays ------------------------------------------------------------------------------------------------------------


def both_arrays(a: ArrayArm, b: ArrayArm) -> ArrayArm | None:
    """The arrays in both arms, None if that is plainly empty."""
    length = max(len(a.prefix), len(b.prefix))
    bounds = [m for m in (a.max_items, b.max_items) if m is not None]
    arm = ArrayArm(
        prefix=tuple(both(a.item(k), b.item(k)) for k in range(length)),
        items=both(a.items, b.items),
        min_items=max(a.min_items, b.min_items),
        max_items=min(bounds) if bounds else None,
        counts=tuple(dict.fromkeys(a.counts + b.counts)),
        unique=a.unique or b.unique,
    )
    return settle_array(arm)


def settle_array(arm: ArrayArm) -> ArrayArm | None:
    """The arm with its bound lowered to the items that can exist; None if that is below its minimum."""
    if any(count.high is not None and count.low > count.high for count in arm.counts):
        return None
    possible = arm.max_items
    for index, item in enumerate((*arm.prefix, arm.items)):
        if item is NEVER and (possible is None or index < possible):
            possible = index
    if possible is not None and arm.min_items > possible:
        return None
    if possible == arm.max_items and (possible is None or len(arm.prefix) <= possible):
        return arm
    return replace(arm, prefix=arm.prefix[:possible], max_items=possible)


def array_inside(inner: ArrayArm, outer: ArrayArm) -> bool:
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
    if not isinstance(inner, Both):
        return inner == outer
    return outer.parts <= inner.parts if isinstance(outer, Both) else outer in inner.parts


def _among(asked: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
    """Whether every one of the constraints is among the given ones."""
    return not asked or asked == given or set(asked) <= set(given)


def _no_looser(inner: int | None, outer: int | None) -> bool:
    return outer is None or (inner is not None and inner <= outer)


def not_array(arm: ArrayArm) -> tuple[ArrayArm, ...]:
    """Arms that each break one constraint of ``arm``."""
    if arm.unique:
        raise NotExpressibleError("uniqueItems")
    broken: list[ArrayArm] = []
    if arm.min_items > 0:
        broken.append(ArrayArm(max_items=arm.min_items - 1))
    if arm.max_items is not None:
        broken.append(ArrayArm(min_items=arm.max_items + 1))
    for index, item in enumerate(arm.prefix):
        if item is not ANY:
            broken.append(ArrayArm(prefix=(ANY,) * index + (neither(item),), min_items=index + 1))
    if arm.items is NEVER:
        broken.append(ArrayArm(min_items=len(arm.prefix) + 1))
    elif arm.items is not ANY:
        broken.append(ArrayArm(counts=(ItemCount(neither(arm.items), 1, start=len(arm.prefix)),)))
    broken.extend(ArrayArm(counts=(count,)) for given in arm.counts for count in _other_counts(given))
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


def undeclared(arm: ObjectArm, key: str) -> Expression:
    """What the arm asks of the value of a key that it does not declare; `NEVER` if it forbids the key."""
    if arm.names != ast.ANY_STRING and not matches(arm.names, key):
        return NEVER
    if not arm.rules:
        return ANY
    parts: list[Expression] = []
    for rule in arm.rules:
        hits = [value for pattern, value in rule.patterns if matches(pattern, key)]
        parts.extend(hits or [rule.additional])
    return both(*parts)


def both_objects(a: ObjectArm, b: ObjectArm) -> ObjectArm | None:
    """The objects in both arms, None if that is plainly empty."""
    left, right = dict(a.properties), dict(b.properties)
    merged = {k: both(v, right[k] if k in right else undeclared(b, k)) for k, v in left.items()}
    for key, value in right.items():
        if key not in left:
            merged[key] = both(undeclared(a, key), value)
    bounds = [m for m in (a.max_properties, b.max_properties) if m is not None]
    arm = ObjectArm(
        properties=tuple(merged.items()),
        required=a.required | b.required,
        rules=tuple(dict.fromkeys(a.rules + b.rules)),
        names=a.names if a.names is b.names else ast.conjunction(a.names, b.names),
        min_properties=max(a.min_properties, b.min_properties),
        max_properties=min(bounds) if bounds else None,
        counts=tuple(dict.fromkeys(a.counts + b.counts)),
    )
    return settle_object(arm)


def settle_object(arm: ObjectArm) -> ObjectArm | None:
    """The arm, or None if a required key cannot have a value or there is no room for the required ones."""
    if any(value is NEVER for key, value in arm.properties if key in arm.required):
        return None
    if arm.max_properties is not None and max(len(arm.required), arm.min_properties) > arm.max_properties:
        return None
    closed = any(not rule.patterns and rule.additional is NEVER for rule in arm.rules)
    if closed and sum(value is not NEVER for _, value in arm.properties) < arm.min_properties:
        return None
    return arm


def object_inside(inner: ObjectArm, outer: ObjectArm) -> bool:
    """Whether every object of ``inner`` is plainly in ``outer``."""
    if not outer.required <= inner.required or outer.min_properties > max(inner.min_properties, len(inner.required)):
        return False
    if not _no_looser(inner.max_properties, outer.max_properties):
        return False
    if outer.names not in (ast.ANY_STRING, inner.names) or not _among(outer.counts, inner.counts):
        return False
    if not _among(outer.rules, inner.rules):
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
    # A key that only the inner arm declares is an undeclared key of the outer one.
    return not outer.rules or all(expression_inside(value, undeclared(outer, key)) for key, value in mine.items())


def not_object(arm: ObjectArm) -> tuple[ObjectArm, ...]:
    """Arms that each break one constraint of ``arm``."""
    broken = [ObjectArm(properties=((key, NEVER),)) for key in sorted(arm.required)]
    broken += [
        ObjectArm(properties=((key, neither(value)),), required=frozenset({key}))
        for key, value in arm.properties
        if value is not ANY
    ]
    if arm.min_properties > 0:
        broken.append(ObjectArm(max_properties=arm.min_properties - 1))
    if arm.max_properties is not None:
        broken.append(ObjectArm(min_properties=arm.max_properties + 1))
    counts = [ObjectArm(counts=(count,)) for given in arm.counts for count in _other_counts(given)]
    return (*broken, *_broken_rules(arm), *counts)


def _broken_rules(arm: ObjectArm) -> list[ObjectArm]:
    broken: list[ObjectArm] = []
    if arm.names != ast.ANY_STRING:
        broken.append(_some_member(ast.complement(arm.names), ANY))
    declared = ast.union(*(ast.literal(key) for key, _ in arm.properties))
    for rule in arm.rules:
        broken.extend(_some_member(pattern, neither(value)) for pattern, value in rule.patterns if value is not ANY)
        if rule.additional is not ANY:
            named = ast.union(declared, *(pattern for pattern, _ in rule.patterns))
            broken.append(_some_member(ast.complement(named), neither(rule.additional)))
    return broken


def _some_member(names: ast.Regex, value: Expression) -> ObjectArm:
    return ObjectArm(counts=(MemberCount(names, value, 1),))


def plain_rule(additional: Expression) -> tuple[KeyRule, ...]:
    """The rules of a schema without patterns."""
    return () if additional is ANY else (KeyRule((), additional),)

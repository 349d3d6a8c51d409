"""How many different values the items of an array have, for `uniqueItems`.

Idea: where different items run out, an array ends there or never began, so its length is bounded by how many there are.
Values are counted as languages, the union of all alternatives at once, so that a value that two alternatives share counts
once: strings by their canonical spelling, numbers by the multiples between two ends (or the listed values) of which the
language of the numbers has the plain decimal. After an item the core may write numbers without exponents
(`core/json/unique_items.cpp`), so a number that only an exponent can write does not count. Decimals that are read as the same
float64 count once.

Of objects there are at least as many as their keys have values together, which tells that some cannot run out.

Invariant: the count is never more than the values that are there, so no array is asked for an item that does not exist. What
cannot be counted is `UncountedError`: few different arrays and objects, numbers that only exponents write, items that are
counted by several rules at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING

from schemagen.engine.native.key_classes import KeyClass, KeyClasses
from schemagen.engine.native.scalars import canonical
from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.lowering import CANONICAL, EMPTY_NODE, has_surrogates
from schemagen.schema.algebra import number_allows
from schemagen.schema.groups import members_of
from schemagen.schema.ir import (
    NEVER,
    ArrayDisjunct,
    Expression,
    ItemCount,
    NumberDisjunct,
    ObjectDisjunct,
    complement_of,
    intersection_of,
)
from schemagen.schema.numbers.expressions import decimal_text
from schemagen.schema.numbers.rules import EXACT_DIGITS, caps_of, fitting, span_of, step_of
from schemagen.schema.scalars import string_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.engine.native.scalars import ScalarLowering
    from schemagen.schema.ir import StringDisjunct
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.numbers.expressions import NumberStyle

#: Arrays and objects inside items are looked into so deep; what is deeper counts as endless.
MAX_LOOK = 8
#: No array is asked for so many different items: from here on values count as endless where they are not the multiples
#: between two ends, and these from the other number on.
MAX_COUNTED_STRINGS, MOST = 10_000, 2**31 - 1
#: Of so many numbers each one is looked up in the language, of more those with many digits, and these if they are no more
#: than that: it takes some 30 us for each.
FEW, MOST_LOOKED_UP = 50, 1_000
MIN_COUNTED_LENGTH: int = 10**EXACT_DIGITS


class UncountedError(Exception):
    """Different items could run out in a way that is not counted."""


class DistinctItems:
    """Bounds on the length of arrays whose items differ.

    Args:
        normaliser: Of the schema.
        scalars: Spells scalars for the core.
    """

    def __init__(self, normaliser: Normaliser, scalars: ScalarLowering) -> None:
        self._normaliser = normaliser
        self._scalars = scalars
        self._builder = scalars.builder
        self._enough = MAX_COUNTED_STRINGS  # so many different objects cannot run out
        self._inside: dict[tuple[Expression, int], int | None] = {}  # see `_count_inside`

    def most(self, disjunct: ArrayDisjunct) -> int | None:
        """Return how many items an array may have, None for no end.

        Raises:
            UncountedError: They could run out before that.
        """
        if disjunct.max_items is not None and disjunct.max_items < 2:
            return disjunct.max_items
        if disjunct.max_items is not None:
            self._enough = min(max(disjunct.max_items, len(disjunct.prefix) + 1), MAX_COUNTED_STRINGS)
        for index, item in enumerate(disjunct.prefix):
            # A place with more values than there are places before it cannot run out.
            if item is not NEVER and _is_at_most(self.count(item), index):
                raise UncountedError
        different = None if disjunct.items is NEVER else self._counted(disjunct)
        if different is None:
            return disjunct.max_items
        if disjunct.prefix and (disjunct.max_items is None or disjunct.max_items > different):
            raise UncountedError
        return different if disjunct.max_items is None else min(disjunct.max_items, different)

    def _counted(self, disjunct: ArrayDisjunct) -> int | None:
        """Return how many different items there are to choose from where some of them are counted (`contains`)."""
        strict = [count for count in disjunct.counts if count.low > 1 or count.high is not None]
        if not strict:  # an item that is still asked for was not used before
            return self.count(disjunct.items)
        if len(disjunct.counts) > 1 or disjunct.prefix or strict[0].start:
            if any(self._may_run_out(disjunct.items, count) for count in strict):
                raise UncountedError
            return None
        (count,) = strict
        inside = self.count(intersection_of(disjunct.items, count.value))
        if _is_at_most(inside, count.low - 1):
            return count.low - 1
        if count.high is None:
            return self.count(disjunct.items)
        outside = self.count(intersection_of(disjunct.items, complement_of(count.value)))
        return None if outside is None else outside + (count.high if inside is None else min(inside, count.high))

    def _may_run_out(self, items: Expression, count: ItemCount) -> bool:
        if self.count(intersection_of(items, count.value)) is not None:
            return True
        return count.high is not None and self.count(intersection_of(items, complement_of(count.value))) is not None

    def scarce(self, disjunct: ArrayDisjunct) -> frozenset[int]:
        """Return which counts of an array count values of which there are finitely many."""
        return frozenset(
            k
            for k, count in enumerate(disjunct.counts)
            if any(
                self._is_few(intersection_of(item, count.value), 0)
                for item in (*disjunct.prefix, disjunct.items)
                if item is not NEVER
            )
        )

    # --- values ------------------------------------------------------------------------------------------------------

    def count(self, expression: Expression, depth: int = 0) -> int | None:
        """Return how many different values there are, None where there is no end.

        Raises:
            UncountedError: There are finitely many arrays or objects: once one begins, others than these do not help.
        """
        value = self._normaliser.value(expression)
        containers = self._normaliser.containers_in(value)
        if any(self._is_finite(disjunct, depth) for disjunct in containers):
            raise UncountedError
        strings = None if containers else self._strings(value.strings)
        numbers = None if strings is None else self._numbers(value.numbers)
        if strings is None or numbers is None:
            return None
        return value.null + value.true + value.false + strings + numbers

    def _is_finite(self, disjunct: ArrayDisjunct | ObjectDisjunct, depth: int) -> bool:
        """Whether there are plainly few arrays or objects of a disjunct; deep ones count as endless."""
        if isinstance(disjunct, ArrayDisjunct):
            is_empty = self._normaliser.is_plainly_empty
            inside = list(takewhile(lambda item: not is_empty(item), disjunct.prefix))
            if len(inside) == len(disjunct.prefix) and not is_empty(disjunct.items):
                if disjunct.max_items is None:
                    return False
                if len(inside) < disjunct.max_items:
                    inside.append(disjunct.items)
            return self._are_few(inside, depth)
        has_room = disjunct.max_properties is None or disjunct.max_properties > len(disjunct.required)
        others = self._other_keys(disjunct) if has_room else []
        if others is None:
            return False
        values = _values_of(disjunct, only_required=not has_room)
        if not self._are_few((*values, *(keys.value for keys in others)), depth):
            return False
        return self._least_objects(disjunct, others, depth) < self._enough

    def _other_keys(self, disjunct: ObjectDisjunct) -> list[KeyClass] | None:
        """Return the keys that are not declared and have values, None where there is no end of them."""
        declared = [spelled for key, _ in disjunct.properties if (spelled := canonical(key)) is not None]
        classes = KeyClasses(self._builder, self._scalars.patterns, self._normaliser.check_time).of(disjunct, declared)
        used = [keys for keys in classes if not self._normaliser.is_plainly_empty(keys.value)]
        return None if any(keys.is_open or self._words(keys) >= MAX_COUNTED_STRINGS for keys in used) else used

    def _words(self, keys: KeyClass) -> int:
        return self._builder.count_words(keys.node, MAX_COUNTED_STRINGS)

    def _least_objects(self, disjunct: ObjectDisjunct, others: list[KeyClass], depth: int) -> int:
        """Return a number of objects that there are at least, for a disjunct whose values are few."""
        bounds = disjunct.max_properties is not None or disjunct.min_properties > len(disjunct.required)
        if bounds or disjunct.groups or disjunct.counts:
            return 1
        least = 1
        for key, value in disjunct.properties:
            least *= self._least(value, depth) + (key not in disjunct.required)
        for keys in others:
            ways = self._least(keys.value, depth) + 1
            least *= ways ** min(self._words(keys), MAX_COUNTED_STRINGS.bit_length())
        return least

    def _least(self, expression: Expression, depth: int) -> int:
        return 0 if expression is NEVER else self._count_inside(expression, depth + 1) or 0

    def _are_few(self, expressions: Iterable[Expression], depth: int) -> bool:
        return depth < MAX_LOOK and all(part is NEVER or self._is_few(part, depth + 1) for part in expressions)

    def _is_few(self, expression: Expression, depth: int) -> bool:
        return self._count_inside(expression, depth) is not None

    def _count_inside(self, expression: Expression, depth: int) -> int | None:
        """Return `count` of a part, 0 where it is not counted. Parts that many share are looked at once."""
        key = expression, depth
        if key not in self._inside:
            try:
                self._inside[key] = self.count(expression, depth)
            except UncountedError:
                self._inside[key] = 0
        return self._inside[key]

    # --- strings -----------------------------------------------------------------------------------------------------

    def _strings(self, disjuncts: tuple[StringDisjunct, ...]) -> int | None:
        if any(_is_free(disjunct) for disjunct in disjuncts):
            return None
        if all(disjunct.values is not None for disjunct in disjuncts):
            return len({text for disjunct in disjuncts for text in disjunct.values or () if not has_surrogates(text)})
        nodes = [self._scalars.patterns.lower(string_pattern(disjunct), CANONICAL) for disjunct in disjuncts]
        found = self._builder.count_words(self._scalars.any_of(nodes), MAX_COUNTED_STRINGS)
        return found if found < MAX_COUNTED_STRINGS else None

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _numbers(self, disjuncts: tuple[NumberDisjunct, ...]) -> int | None:
        """Return how many numbers the disjuncts have together."""
        plain = replace(self._scalars.style, exponents=False)
        if len(disjuncts) == 1 and (many := _many_multiples(disjuncts[0], plain)) is not None:
            return many if many <= MOST else None
        found: set[Fraction] = set()
        nodes: list[int] = []
        for disjunct in disjuncts:
            node, listed = self._plain_node(disjunct, plain), self._listed(disjunct, plain)
            if listed is None and not self._builder.is_empty(node):
                return None
            found |= listed or set()
            nodes.append(node)
        if any(self._hides(disjunct, plain) for disjunct in disjuncts):
            raise UncountedError
        if len(found) >= MAX_COUNTED_STRINGS:
            return None
        found = _read_apart(found)
        doubtful = found if len(found) <= FEW else {number for number in found if _is_long(number)}
        if not doubtful or len(doubtful) > MOST_LOOKED_UP:
            return len(found)
        texts = self._builder.literals([decimal_text(number).encode() for number in sorted(doubtful)])
        written = self._builder.count_words(
            self._builder.conjunction([self._scalars.any_of(nodes), texts]), MAX_COUNTED_STRINGS
        )
        return len(found) - len(doubtful) + written

    def _plain_node(self, disjunct: NumberDisjunct, plain: NumberStyle) -> int:
        try:
            return self._scalars.number(disjunct, plain)
        except LimitError:  # there are numbers, but only exponents write them
            return EMPTY_NODE

    def _listed(self, disjunct: NumberDisjunct, plain: NumberStyle) -> set[Fraction] | None:
        """Return the numbers of a disjunct that have a plain decimal, None where there is no end."""
        if disjunct.values is not None:
            return set(disjunct.values)
        step = step_of(disjunct)
        if step is None:
            return None
        multiples = _multiples(disjunct, step, plain)
        if multiples.stop - multiples.start > MAX_COUNTED_STRINGS:
            return None
        return {step * k for k in multiples if number_allows(disjunct, step * k)}

    def _hides(self, disjunct: NumberDisjunct, plain: NumberStyle) -> bool:
        """Whether there may be numbers that only an exponent can write."""
        styled = fitting(disjunct, self._scalars.style)
        if disjunct.values is not None or not styled.exponents or (disjunct.integer and not styled.integer_fraction):
            return False
        step, span = step_of(disjunct), span_of(disjunct)
        if step is None:
            return True
        reach = 10 ** caps_of(span, step, fitting(disjunct, plain)).integer
        return any(end is None or abs(end) >= reach for end in (span.low, span.high))


def _read_apart(numbers: set[Fraction]) -> set[Fraction]:
    """Return one number for each that readers tell apart: integers, and other decimals as float64."""
    return set({number if number.denominator == 1 else float(number): number for number in sorted(numbers)}.values())


def _is_free(disjunct: StringDisjunct) -> bool:
    """Whether a disjunct has all the strings of some length."""
    return (
        disjunct.values is None
        and disjunct.pattern == ast.ANY_STRING
        and not disjunct.formats
        and disjunct.max_length != 0
    )


def _is_long(number: Fraction) -> bool:
    """Whether a number may have more digits than float64 surely keeps."""
    return max(abs(number.numerator), number.denominator) >= MIN_COUNTED_LENGTH


def _many_multiples(disjunct: NumberDisjunct, plain: NumberStyle) -> int | None:
    """Return how many numbers of ordinary size a disjunct has, with few exceptions, without a look at each; else None."""
    step, span = step_of(disjunct), span_of(disjunct)
    if step is None or span.low is None or span.high is None or disjunct.values is not None:
        return None
    if (
        disjunct.not_multiples
        or disjunct.integer is False
        or any(_is_long(part) for part in (span.low, span.high, step))
    ):
        return None
    multiples = _multiples(disjunct, step, plain)
    if multiples.stop - multiples.start <= FEW or any(_is_long(step * k) for k in (multiples.start, multiples.stop)):
        return None
    places = {value / step for value in (*disjunct.not_values, span.low, span.high)}
    missing = [
        k for k in places if k.denominator == 1 and k.numerator in multiples and not number_allows(disjunct, step * k)
    ]
    return multiples.stop - multiples.start - len(missing)


def _multiples(disjunct: NumberDisjunct, step: Fraction, plain: NumberStyle) -> range:
    """Return which multiples of a step are in the range of a disjunct and short enough for a plain decimal."""
    span = span_of(disjunct)
    reach = Fraction(10 ** caps_of(span, step, fitting(disjunct, plain)).integer)
    low = -reach if span.low is None else max(span.low, -reach)
    high = reach if span.high is None else min(span.high, reach)
    return range(math.ceil(low / step), math.floor(high / step) + 1)


def _values_of(disjunct: ObjectDisjunct, *, only_required: bool) -> list[Expression]:
    """Return what the declared keys may be, in each alternative of their group."""
    members = [each for alternatives in members_of(disjunct) for each in alternatives]
    among = {key for each in members for key in each}
    alone = [
        value
        for key, value in disjunct.properties
        if key not in among and not (only_required and key not in disjunct.required)
    ]
    return [*alone, *(value for each in members for value, _ in each.values())]


def _is_at_most(count: int | None, limit: int) -> bool:
    return count is not None and count <= limit

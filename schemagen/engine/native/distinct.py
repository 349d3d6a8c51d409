"""How many different values the items of an array have, for `uniqueItems`.

Idea: where different items run out, an array ends there or never began, so its length is bounded by how many there are.
Values are counted as languages, the union of all alternatives at once, so that a value that two alternatives share counts
once: strings by their canonical spelling, numbers by the multiples between two ends (or the listed values) of which the
language of the numbers has the plain decimal. Behind an item the core writes numbers without exponents
(`core/json_unique.cpp`), so a number that only an exponent can write does not count.

Invariant: the count is never more than the values that are there, so no array is asked for an item that does not exist. What
cannot be counted is `UncountedError`: different arrays and objects, numbers that only exponents write, items that are counted
by several rules at once.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from schemagen.engine.native.program import CANONICAL, EMPTY_NODE
from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.surrogates import has_surrogates
from schemagen.schema.algebra import number_allows
from schemagen.schema.nodes import NEVER, ArrayArm, Expression, ItemCount, NumberArm, ObjectArm, both, neither
from schemagen.schema.numbers.expressions import decimal_text
from schemagen.schema.numbers.rules import EXACT_DIGITS, caps_of, fitting, span_of, step_of
from schemagen.schema.strings import string_pattern

if TYPE_CHECKING:
    from schemagen.engine.native.lowering import JsonLowering
    from schemagen.schema.nodes import StringArm
    from schemagen.schema.numbers.expressions import NumberStyle

#: Arrays and objects inside items are looked into so deep; what is deeper counts as endless.
MAX_LOOK = 8
#: No array is asked for so many different items: from here on values count as endless where they are not the multiples
#: between two ends, and these from the other number on.
MANY, MOST = 10_000, 2**31 - 1
#: Of so many numbers each one is looked up in the language, of more those with many digits, and these if they are no more
#: than that: it takes some 30 us for each.
FEW, MOST_LOOKED_UP = 50, 1_000
LONG: int = 10**EXACT_DIGITS


class UncountedError(Exception):
    """Different items could run out in a way that is not counted."""


class DistinctItems:
    """Bounds on the length of arrays whose items differ.

    Args:
        lowering: Of the schema; it spells scalars for the core.
    """

    def __init__(self, lowering: JsonLowering) -> None:
        self._lowering = lowering
        self._builder = lowering.builder

    def most(self, arm: ArrayArm) -> int | None:
        """Return how many items an array may have, None for no end.

        Raises:
            UncountedError: They could run out before that.
        """
        if arm.max_items is not None and arm.max_items < 2:
            return arm.max_items
        for index, item in enumerate(arm.prefix):
            # A place with more values than there are places before it cannot run out.
            if item is not NEVER and _is_at_most(self.count(item), index):
                raise UncountedError
        different = None if arm.items is NEVER else self._counted(arm)
        if different is None:
            return arm.max_items
        if arm.prefix and (arm.max_items is None or arm.max_items > different):
            raise UncountedError
        return different if arm.max_items is None else min(arm.max_items, different)

    def _counted(self, arm: ArrayArm) -> int | None:
        """Return how many different items there are to choose from where some of them are counted (`contains`)."""
        strict = [count for count in arm.counts if count.low > 1 or count.high is not None]
        if not strict:  # an item that is still asked for was not used before
            return self.count(arm.items)
        if len(arm.counts) > 1 or arm.prefix or strict[0].start:
            if any(self._may_run_out(arm.items, count) for count in strict):
                raise UncountedError
            return None
        (count,) = strict
        inside = self.count(both(arm.items, count.value))
        if _is_at_most(inside, count.low - 1):
            return count.low - 1
        if count.high is None:
            return self.count(arm.items)
        outside = self.count(both(arm.items, neither(count.value)))
        return None if outside is None else outside + (count.high if inside is None else min(inside, count.high))

    def _may_run_out(self, items: Expression, count: ItemCount) -> bool:
        if self.count(both(items, count.value)) is not None:
            return True
        return count.high is not None and self.count(both(items, neither(count.value))) is not None

    def scarce(self, arm: ArrayArm) -> frozenset[int]:
        """Return which counts of an array count values of which there are finitely many."""
        return frozenset(
            k
            for k, count in enumerate(arm.counts)
            if any(self._is_few(both(item, count.value), 0) for item in (*arm.prefix, arm.items) if item is not NEVER)
        )

    # --- values ------------------------------------------------------------------------------------------------------

    def count(self, expression: Expression, depth: int = 0) -> int | None:
        """Return how many different values there are, None where there is no end.

        Raises:
            UncountedError: There are finitely many, arrays or objects among them.
        """
        value = self._lowering.normaliser.value(expression)
        strings = self._strings(value.strings)
        numbers = None if strings is None else self._numbers(value.numbers)
        if strings is None or numbers is None:
            return None
        if value.arrays or value.objects:
            containers: tuple[ArrayArm | ObjectArm, ...] = (*value.arrays, *value.objects)
            if all(self._is_finite(arm, depth) for arm in containers):
                raise UncountedError
            return None
        return value.null + value.true + value.false + strings + numbers

    def _is_finite(self, arm: ArrayArm | ObjectArm, depth: int) -> bool:
        """Whether an array or object plainly has finitely many values; what is deep counts as endless."""
        if isinstance(arm, ArrayArm):
            if arm.max_items is None and arm.items is not NEVER:
                return False
            inside = (*arm.prefix, arm.items) if len(arm.prefix) < (arm.max_items or 0) else arm.prefix
        else:
            if arm.names != ast.EMPTY and not any(not r.patterns and r.additional is NEVER for r in arm.rules):
                return False
            inside = tuple(value for _, value in arm.properties)
        return depth < MAX_LOOK and all(part is NEVER or self._is_few(part, depth + 1) for part in inside)

    def _is_few(self, expression: Expression, depth: int) -> bool:
        try:
            return self.count(expression, depth) is not None
        except UncountedError:
            return True

    # --- strings -----------------------------------------------------------------------------------------------------

    def _strings(self, arms: tuple[StringArm, ...]) -> int | None:
        if any(_is_free(arm) for arm in arms):
            return None
        if all(arm.values is not None for arm in arms):
            return len({text for arm in arms for text in arm.values or () if not has_surrogates(text)})
        nodes = [self._lowering.patterns.lower(string_pattern(arm), CANONICAL) for arm in arms]
        found = self._builder.count_words(self._lowering.any_of(nodes), MANY)
        return found if found < MANY else None

    # --- numbers -----------------------------------------------------------------------------------------------------

    def _numbers(self, arms: tuple[NumberArm, ...]) -> int | None:
        """Return how many numbers the arms have together."""
        plain = replace(self._lowering.options.number_style, exponents=False)
        if len(arms) == 1 and (many := _many_multiples(arms[0], plain)) is not None:
            return many if many <= MOST else None
        found: set[Fraction] = set()
        nodes: list[int] = []
        for arm in arms:
            node, listed = self._plain_node(arm, plain), self._listed(arm, plain)
            if listed is None and not self._builder.is_empty(node):
                return None
            found |= listed or set()
            nodes.append(node)
        if any(self._hides(arm, plain) for arm in arms):
            raise UncountedError
        if len(found) >= MANY:
            return None
        doubtful = found if len(found) <= FEW else {number for number in found if _is_long(number)}
        if not doubtful or len(doubtful) > MOST_LOOKED_UP:
            return len(found)
        texts = self._builder.literals([decimal_text(number).encode() for number in sorted(doubtful)])
        written = self._builder.count_words(self._builder.conjunction([self._lowering.any_of(nodes), texts]), MANY)
        return len(found) - len(doubtful) + written

    def _plain_node(self, arm: NumberArm, plain: NumberStyle) -> int:
        try:
            return self._lowering.number(arm, plain)
        except LimitError:  # there are numbers, but only exponents write them
            return EMPTY_NODE

    def _listed(self, arm: NumberArm, plain: NumberStyle) -> set[Fraction] | None:
        """Return the numbers of an arm that have a plain decimal, None where there is no end."""
        if arm.values is not None:
            return set(arm.values)
        step = step_of(arm)
        if step is None:
            return None
        multiples = _multiples(arm, step, plain)
        if multiples.stop - multiples.start > MANY:
            return None
        return {step * k for k in multiples if number_allows(arm, step * k)}

    def _hides(self, arm: NumberArm, plain: NumberStyle) -> bool:
        """Whether there may be numbers that only an exponent can write."""
        styled = fitting(arm, self._lowering.options.number_style)
        if arm.values is not None or not styled.exponents or (arm.integer and not styled.integer_fraction):
            return False
        step, span = step_of(arm), span_of(arm)
        if step is None:
            return True
        reach = 10 ** caps_of(span, step, fitting(arm, plain)).integer
        return any(end is None or abs(end) >= reach for end in (span.low, span.high))


def _is_free(arm: StringArm) -> bool:
    """Whether an arm has all the strings of some length."""
    return arm.values is None and arm.pattern == ast.ANY_STRING and not arm.formats and arm.max_length != 0


def _is_long(number: Fraction) -> bool:
    """Whether a number may have more digits than float64 surely keeps."""
    return max(abs(number.numerator), number.denominator) >= LONG


def _many_multiples(arm: NumberArm, plain: NumberStyle) -> int | None:
    """Return how many numbers an arm has without a look at each: of ordinary size, with few exceptions; None for another."""
    step, span = step_of(arm), span_of(arm)
    if step is None or span.low is None or span.high is None or arm.values is not None:
        return None
    if arm.not_multiples or arm.integer is False or any(_is_long(part) for part in (span.low, span.high, step)):
        return None
    multiples = _multiples(arm, step, plain)
    if multiples.stop - multiples.start <= FEW or any(_is_long(step * k) for k in (multiples.start, multiples.stop)):
        return None
    places = {value / step for value in (*arm.not_values, span.low, span.high)}
    missing = [
        k for k in places if k.denominator == 1 and k.numerator in multiples and not number_allows(arm, step * k)
    ]
    return multiples.stop - multiples.start - len(missing)


def _multiples(arm: NumberArm, step: Fraction, plain: NumberStyle) -> range:
    """Return which multiples of a step are in the range of an arm and short enough for a plain decimal."""
    span = span_of(arm)
    reach = Fraction(10 ** caps_of(span, step, fitting(arm, plain)).integer)
    low = -reach if span.low is None else max(span.low, -reach)
    high = reach if span.high is None else min(span.high, reach)
    return range(math.ceil(low / step), math.floor(high / step) + 1)


def _is_at_most(count: int | None, limit: int) -> bool:
    return count is not None and count <= limit

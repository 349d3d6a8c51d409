"""What a disjunct counts (contains, negated members) as states of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.schema.ir import complement_of

if TYPE_CHECKING:
    from schemagen.schema.ir import Expression

MAX_COUNT_STATES = 64


class Counters:
    """The states of a disjunct that counts: one number per count, no higher than matters, in mixed radix.

    A count without an upper bound stops at its lower one, and what it leaves uncounted need not be told apart; with an
    upper bound what is not counted must be outside.

    Args:
        bounds: The least and the most of each count.
        scarce: Counts by number whose values could be used up without being counted, by a spelling that only the language
            of all items has (items that differ): while more is asked for, what is not counted must be outside.
    """

    def __init__(self, bounds: list[tuple[int, int | None]], scarce: frozenset[int] = frozenset()) -> None:
        self.bounds = bounds
        self.scarce = scarce
        self.tops = [low if high is None else high for low, high in bounds]
        self.size = 1
        for top in self.tops:
            self.size *= top + 1
        if self.size > MAX_COUNT_STATES:
            raise LimitError(
                f"{self.size} combinations of counts, limit {MAX_COUNT_STATES}",
                why="contains with minContains or maxContains, and negated members, are counted one by one",
                fix="lower minContains or maxContains",
            )

    def numbers(self, state: int) -> list[int]:
        """Return the counts of a state."""
        out: list[int] = []
        for top in self.tops:
            out.append(state % (top + 1))
            state //= top + 1
        return out

    def state(self, numbers: list[int]) -> int:
        """Return the state of the counts."""
        state = 0
        for number, top in zip(reversed(numbers), reversed(self.tops), strict=True):
            state = state * (top + 1) + number
        return state

    def final(self) -> list[bool]:
        """Return which states satisfy the lower bounds."""
        return [
            all(n >= low for n, (low, _) in zip(self.numbers(s), self.bounds, strict=True)) for s in range(self.size)
        ]

    def moves(self, state: int, counted: list[Expression | None]) -> list[tuple[list[Expression], int]]:
        """Return what else a value must be, and the state afterwards, for each way to count it; None is not counted."""
        ways: list[tuple[list[Expression], list[int]]] = [([], [])]
        for k, (number, top, value) in enumerate(zip(self.numbers(state), self.tops, counted, strict=True)):
            is_told_apart = self.bounds[k][1] is not None or (k in self.scarce and number < top)
            choices: list[tuple[list[Expression], int]] = []
            choices.append(([complement_of(value)] if value is not None and is_told_apart else [], number))
            if value is not None and number < top:
                choices.append(([value], number + 1))
            ways = [(asked + more, [*numbers, n]) for asked, numbers in ways for more, n in choices]
        return [(asked, self.state(numbers)) for asked, numbers in ways]


#: Of a disjunct that counts nothing.
NO_COUNTS = Counters([])

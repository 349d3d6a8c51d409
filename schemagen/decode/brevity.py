"""`Brevity`: penalties on tokens that keep an answer from its end, against loops and beyond a wished length.

A small model may repeat itself in a string or a list until its budget ends the answer, and a list without a bound may be as
long as the budget. The mask cannot help: repetition is valid. So tokens lose logits, as with the DRY penalty
(https://github.com/oobabooga/text-generation-webui/pull/5677). The language does not change.

Idea: let *m* be the number of tokens that the shortest completion takes (`Matcher.tokens_to_finish`). A token *ends* if fewer
are needed after it, as after the quotation mark that closes a string; it *stays* if *m* are, as within a string; it *opens* if
more are, as after the comma before another item. A mask with a budget of *m* has the tokens that end, one with *m* + 1 those
that do not open. Keys and forced text end, so they are never penalised; an option that is longer than the shortest
may be, after a loop.

- **Loops.** A text is in a loop if its last `FIRST` tokens, and at least two whole copies, are those that stood one copy
  before. Within one value, the token that goes on with the copy is penalised if it stays or opens, and the penalty doubles with
  each token. Where the copies are items of a list, the token that opens another one is, and the penalty doubles with each
  copy: equal records are likelier to be meant than equal words. After one loop of the text, `AGAIN` tokens make another, and
  then everything that stays or opens is penalised, not only the copy.
- **Length.** Beyond the wished length, all tokens that stay are penalised, and those that open twice as much; the penalty
  grows with the length.

Invariant: the penalties follow from the tokens of the text alone, so a text is the same alone, in a batch and in a stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from schemagen.masks.bitmask import allocate_token_bitmask

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from schemagen.engine.protocol import Matcher

#: Repeated tokens that make the first loop of a text, and a later one.
FIRST, AGAIN = 24, 8
#: The longest copy, in tokens.
_LONGEST = 128
#: How often a penalty doubles; float16 holds the largest one.
_DOUBLINGS = 13
#: The penalty of a token that stays, at twice the wished length.
_SLOPE = 20.0
#: The options that ask for it.
NAMES = ("loop_guard", "prefer_length")


class Loop(NamedTuple):
    """A repetition at the end of a text.

    Attributes:
        period: Tokens of a copy.
        surplus: Repeated tokens beyond those that make a loop.
        is_first: Whether there was no loop before it.
    """

    period: int
    surplus: int
    is_first: bool


@dataclass(frozen=True, slots=True)
class Brevity:
    """The penalties of a call.

    Attributes:
        loop_guard: Whether repetition is penalised.
        prefer_length: Tokens beyond which an answer is to end; None if it may be of any length.
    """

    loop_guard: bool = False
    prefer_length: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Brevity | None:
        """Return what options of a call ask for; None if they ask for nothing."""
        found = cls(bool(options.get("loop_guard")), options.get("prefer_length"))
        return None if found == cls() else found

    def applies(self, generated: list[int]) -> bool:
        """Whether tokens may lose anything after a text; cost as for `penalise` without a loop."""
        return self._excess(generated) > 0 or (self.loop_guard and loop_of(generated) is not None)

    def penalise(self, masked: torch.Tensor, generated: list[int], matcher: Matcher, size: int) -> None:
        """Lower the scores of tokens that keep a text from its end.

        Args:
            masked: float [V], under the mask; it is changed.
            generated: The tokens of the text.
            matcher: Its matcher; it is left as it was.
            size: The number of tokens of the vocabulary, at most V.

        Cost: without a loop, and up to the wished length, a few comparisons of short lists; otherwise one or two masks near a
            bound, and for a loop a step of a matcher for each token of a copy.
        """
        excess = self._excess(generated)
        if excess > 0:
            for slack in (0, 1):
                masked[_beyond(matcher, slack, size).to(masked.device)] -= min(_SLOPE * excess, 2.0**_DOUBLINGS)
        loop = loop_of(generated) if self.loop_guard else None
        if loop is None:
            return
        needed = _needed(matcher, loop.period)
        if not needed or needed[0] > min(needed):  # inside an item, which is to be whole
            return
        is_item = max(needed) > needed[0]
        refused = _beyond(matcher, 1 if is_item else 0, size)
        if loop.is_first:
            refused = refused[refused == generated[-loop.period]]
        doublings = loop.surplus // loop.period if is_item else loop.surplus
        masked[refused.to(masked.device)] -= 2.0 ** min(doublings, _DOUBLINGS)

    def _excess(self, generated: list[int]) -> float:
        """Return by how much a text is longer than is wished, as a share of that."""
        return 0.0 if self.prefer_length is None else len(generated) / self.prefer_length - 1


def loop_of(tokens: list[int]) -> Loop | None:
    """Return the loop at the end of a text; None if there is none.

    Cost: a comparison of short lists for each of the last `_LONGEST` tokens that equals the last one. If `AGAIN` tokens are
        repeated, a search of the text for an earlier loop.
    """
    for period in _distances(tokens):
        least = max(2 * period, AGAIN)
        if least + period > len(tokens) or tokens[-least:] != tokens[-least - period : -period]:
            continue
        run = least
        while run + period < len(tokens) and tokens[-1 - run] == tokens[-1 - run - period]:
            run += 1
        is_first = not had_loop(tokens[:-run])
        surplus = run - (max(2 * period, FIRST) if is_first else least)
        if surplus >= 0:
            return Loop(period, surplus, is_first)
    return None


def _distances(tokens: list[int]) -> Iterator[int]:
    """Yield how far before the last token the same one stands, the nearest first."""
    before = tokens[-2 : -2 - _LONGEST : -1]
    distance = 0
    for _ in range(before.count(tokens[-1]) if before else 0):
        distance = before.index(tokens[-1], distance) + 1
        yield distance


def had_loop(tokens: list[int]) -> bool:
    """Whether a text has a loop of `FIRST` repeated tokens anywhere."""
    text = np.asarray(tokens)
    for period in range(1, min(_LONGEST, len(text) - FIRST) + 1):
        breaks = np.flatnonzero(text[period:] != text[:-period])
        edges = np.concatenate(([-1], breaks, [len(text) - period]))
        if np.diff(edges).max() > max(2 * period, FIRST):
            return True
    return False


def _needed(matcher: Matcher, count: int) -> list[int]:
    """Return how many tokens the shortest completion takes after each of the last tokens of a text, the last one first.

    Empty if the matcher has not accepted as many, or cannot say it.
    """
    if matcher.steps < count:
        return []
    probe = matcher.fork()
    found: list[int] = []
    for back in range(count + 1):
        probe.rollback(min(back, 1))
        needed = probe.tokens_to_finish()
        if needed is None:
            return []
        found.append(needed)
    return found


def _beyond(matcher: Matcher, slack: int, size: int) -> torch.Tensor:
    """Return the tokens that do not end, int64 [n], or those that open if `slack` is 1; forbidden ones are among them."""
    needed = matcher.tokens_to_finish()
    if needed is None:
        return torch.empty(0, dtype=torch.int64)
    words = allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(words, 0, budget=needed + slack)
    bits = np.unpackbits(words[0].numpy().view(np.uint8), bitorder="little")[:size]
    return torch.from_numpy(np.flatnonzero(bits == 0))

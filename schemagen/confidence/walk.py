"""The exact probability of each value at a place of a text: the sum over all texts, and all their tokens, that write it.

Idea: the tokens that may follow form a tree, in which each path is a way to write a value. Its probability is the product of
those of its tokens, so a best-first search reads the likeliest paths first (`TokenTree`: many in one pass of the model, each
token once). Where a path completes a value, its probability is added to that of the value. The probability of the paths that
were not read bounds the error, so the search may stop early and say how far off it can be.

A value counts with everything up to the byte that ends it. A string of JSON ends with its quotation mark, a number with the
next byte, whatever that is, and a text that is no JSON with EOS. A token may reach beyond the end; it counts for the value that
it completes.

Two laws come out of one walk: that of the model, with the probabilities of tokens as they are, and that of decoding under the
mask, where the allowed tokens at each place are scaled to add up to 1. The mask settles a value as soon as its text has no
choice left: all of the masked probability of the path then belongs to the value, and the path is read further for the model's
law alone.

Invariants: at any time the probabilities of the values, of the paths that wait and of those given up add up to no more than 1
by the model, and to exactly 1 under the mask.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING

import torch

from schemagen.streaming.json_reader import JsonReader

if TYPE_CHECKING:
    from schemagen.decode.token_tree import TokenTree
    from schemagen.engine.protocol import Matcher
    from schemagen.vocabulary import Vocabulary

#: Places that the model is asked about in one pass.
_TOGETHER = 16
#: Where more tokens than this are allowed, which no type with few values has, paths that are less likely than this share of
#: the tolerance are given up.
_MANY, _LEAST = 512, 1e-3


@dataclass(frozen=True, slots=True)
class ValueText:
    """The text of an answer up to a place, and whether a value in it is complete.

    Attributes:
        path: The JSON pointer of the value; "" for the whole. None for texts that are no JSON, whose value is the text.
        text: The whole characters.
        begun: The bytes of a character that is not complete.
        reader: The reader of the JSON text.
    """

    path: str | None
    text: str = ""
    begun: bytes = b""
    reader: JsonReader = field(default_factory=lambda: JsonReader(lambda *_: None))

    def after(self, data: bytes | None) -> tuple[ValueText, str | None]:
        """Return the text with some bytes more, None for its end, and the text of the value if it is complete then."""
        whole = self.begun + (data or b"")
        piece, length = codecs.utf_8_decode(whole, "replace")
        reader, complete = self.reader, list[str]()
        if self.path is not None:
            reader = reader.copy()
            reader.complete = lambda path, text, _: complete.append(text) if str(path) == self.path else None
            reader.feed(piece)
        found = ValueText(self.path, self.text + piece, whole[length:], reader)
        if self.path is None:
            return found, found.text if data is None else None
        is_over = reader.is_over or (data is None and not reader.frames)
        if self.path == "" and is_over:
            return found, found.text.strip()
        return found, complete[0] if complete else None


@dataclass(slots=True)
class Walked:
    """The result of a walk.

    Attributes:
        values: Text of a value, the same for equal values -> its probability by the model, and under the mask.
        unread: The probability of the paths that were not read to their end, by the model.
        unread_masked: The same under the mask.
        nodes: The places that were looked at.
    """

    values: dict[str, tuple[float, float]] = field(default_factory=dict)
    unread: float = 0.0
    unread_masked: float = 0.0
    nodes: int = 0

    def add(self, value: str, chance: float, masked: float) -> None:
        """Add the probabilities of a path to those of a value."""
        known = self.values.get(value, (0.0, 0.0))
        self.values[value] = known[0] + chance, known[1] + masked

    def give_up(self, chance: float, masked: float) -> None:
        """Add the probabilities of paths that are not read further."""
        self.unread += chance
        self.unread_masked += masked


@dataclass(frozen=True, slots=True)
class _Place:
    """The end of a path that waits to be read.

    Attributes:
        node: In the tree.
        matcher: At the place.
        text: The text of the answer up to the place.
        chance: The probability of the path by the model.
        masked: The same under the mask; 0 once it is settled.
    """

    node: int
    matcher: Matcher
    text: ValueText
    chance: float
    masked: float


def walk(
    tree: TokenTree,
    node: int,
    matcher: Matcher,
    text: ValueText,
    vocabulary: Vocabulary,
    *,
    max_nodes: int = 1024,
    tolerance: float = 1e-6,
) -> Walked:
    """Return the probabilities of the values that may come at a place.

    Args:
        tree: The continuations of the prompt.
        node: The place.
        matcher: At the place; it is left as it is.
        text: The text of the answer up to the place.
        vocabulary: The tokens.
        max_nodes: Places to look at, at most.
        tolerance: The walk is over when the paths that wait have this share of the probability, by either law.

    Raises:
        LogitsError: The model computes NaN or inf.

    Cost: a pass of the model for up to 16 places, and a mask for each.
    """
    found, waiting = Walked(), [_Place(node, matcher.fork(), text, 1.0, 1.0)]
    while waiting and found.nodes < max_nodes:
        total = sum(chance for chance, _ in found.values.values()) + sum(place.chance for place in waiting)
        some = _next(waiting, total, min(_TOGETHER, max_nodes - found.nodes), tolerance)
        if not some:
            break
        found.nodes += len(some)
        for place, logs in zip(some, tree.log_probabilities([place.node for place in some]), strict=True):
            least = (tolerance * _LEAST * total, tolerance * _LEAST)
            waiting += _follow(tree, place, logs, vocabulary, found, least)
    for place in waiting:
        found.give_up(place.chance, place.masked)
    return found


def _next(waiting: list[_Place], total: float, most: int, tolerance: float) -> list[_Place]:
    """Take the likeliest places, so many that the others are within the tolerance; none if all are.

    Args:
        waiting: The places, from which they are taken.
        total: What the model gives to all values and waiting places.
        most: How many to take, at most.
        tolerance: As for `walk`.
    """

    def share(place: _Place) -> float:
        return max(place.chance / total if total else 0.0, place.masked)

    waiting.sort(key=share)
    rest = sum(map(share, waiting))
    wanted = tolerance if rest <= tolerance else tolerance / 2  # room for what the places taken lead to
    some: list[_Place] = []
    while waiting and len(some) < most and rest > wanted:
        some.append(waiting.pop())
        rest -= share(some[-1])
    return some


def _follow(
    tree: TokenTree,
    place: _Place,
    logs: torch.Tensor,
    vocabulary: Vocabulary,
    found: Walked,
    least: tuple[float, float],
) -> list[_Place]:
    """Add the values that the next token completes or settles; return the places after tokens that complete none.

    Args:
        tree: As for `walk`.
        place: The place.
        logs: The logarithm of the probability of each token there, float64 [V].
        vocabulary: As for `walk`.
        found: What values are added to.
        least: If there are many tokens, paths below both of these probabilities, by the two laws, are given up.

    Raises:
        LogitsError: As `walk`.
    """
    allowed = torch.tensor(place.matcher.allowed_tokens())
    chances = logs[allowed].exp()
    total = float(chances.sum())
    if not isfinite(total):
        from schemagen.decode.broken_logits import logits_error

        scores = tree.scores([place.node])[0]
        raise logits_error(scores, row=0, generated=tree.path(place.node), vocabulary=vocabulary)
    if total <= 0:
        found.give_up(0.0, place.masked)
        return []
    raw, masked = chances * place.chance, chances * (place.masked / total)
    followed = (raw >= least[0]) | (masked >= least[1]) | (len(allowed) <= _MANY)
    found.give_up(float(raw[~followed].sum()), float(masked[~followed].sum()))
    going_on = []
    for token_id, *chance in zip(*(each[followed].tolist() for each in (allowed, raw, masked)), strict=True):
        is_end = token_id in vocabulary.eos_token_ids
        text, value = place.text.after(None if is_end else vocabulary.decode([token_id]))
        if value is not None:
            found.add(value, *chance)
            continue
        matcher = place.matcher.fork()
        matcher.accept_token(token_id)
        following = _Place(tree.child(place.node, token_id), matcher, text, *chance)
        going_on.append(_settled(following, vocabulary, found) if following.masked else following)
    return going_on


def _settled(place: _Place, vocabulary: Vocabulary, found: Walked) -> _Place:
    """Add the masked probability of a path to its value if its text has no choice left; return the place without it then."""
    probe = place.matcher.fork()
    run = probe.forced_run()
    for token_id in run:
        probe.accept_token(token_id)
    text, value = place.text.after(vocabulary.decode(run))
    if value is None and probe.is_accepting() and set(probe.allowed_tokens()) <= set(vocabulary.eos_token_ids):
        value = text.after(None)[1]
    if value is None:
        return place
    found.add(value, 0.0, place.masked)
    return replace(place, masked=0.0)

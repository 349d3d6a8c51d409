"""The exact probability of each value at a place of a text: the sum over all texts, and all their tokens, that write it.

Idea: the tokens that may follow form a tree, in which each path is a way to write a value. Its probability is the product of
those of its tokens, so a best-first search reads the likeliest paths first (`TokenTree`: many in one pass of the model, each
token once). Where a path completes a value, its probability is added to that of the value. The probability of the paths that
were not read bounds the error, so the search may stop early and say how far off it can be.

A value counts with everything up to the byte that ends it. A string of JSON ends with its quotation mark, a number with the
next byte, whatever that is, and a text that is no JSON with EOS. A token may reach beyond the end; it counts for the value that
it completes.

Two laws come out of one walk: that of the model, with the probabilities of tokens as they are, and that of decoding under the
mask, where the allowed tokens at each place are scaled to add up to 1.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

import torch

from schemagen.streaming.json_reader import JsonReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.token_tree import TokenTree
    from schemagen.engine.protocol import Matcher
    from schemagen.vocabulary import Vocabulary

#: Places that the model is asked about in one pass.
_TOGETHER = 16
#: Paths less likely than this share of the tolerance are not followed.
_LEAST = 1e-3


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
        unread: The probability of the paths that were not read, by the model.
        unread_masked: The same under the mask.
        nodes: The places that were looked at.
    """

    values: dict[str, tuple[float, float]] = field(default_factory=dict)
    unread: float = 0.0
    unread_masked: float = 0.0
    nodes: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
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
    tolerance: float = 1e-9,
) -> Walked:
    """Return the probabilities of the values that may come at a place.

    Args:
        tree: The continuations of the prompt.
        node: The place.
        matcher: At the place; it is left as it is.
        text: The text of the answer up to the place.
        vocabulary: The tokens.
        max_nodes: Places to look at, at most.
        tolerance: The walk is over when the paths that are left have this share of the probability.

    Cost: a pass of the model for up to 16 places, and a mask for each.
    """
    found, order = Walked(), count()
    waiting: list[tuple[float, int, _Place]] = []
    heappush(waiting, (-1.0, next(order), _Place(node, matcher.fork(), text, 1.0, 1.0)))
    while waiting and found.nodes < max_nodes:
        if _is_enough(found, [place for *_, place in waiting], tolerance):
            break
        some = [heappop(waiting)[2] for _ in range(min(_TOGETHER, len(waiting), max_nodes - found.nodes))]
        scores = tree.log_probabilities([place.node for place in some])
        found.nodes += len(some)
        for place, logs in zip(some, scores, strict=True):
            for following in _follow(tree, place, logs, vocabulary, found, tolerance * _LEAST):
                heappush(waiting, (-max(following.chance, following.masked), next(order), following))
    found.unread += sum(place.chance for *_, place in waiting)
    found.unread_masked += sum(place.masked for *_, place in waiting)
    return found


def _is_enough(found: Walked, waiting: Sequence[_Place], tolerance: float) -> bool:
    """Whether the paths that are left have a small share of the probability, by the model and under the mask."""
    left = sum(place.chance for place in waiting), sum(place.masked for place in waiting)
    sums = (sum(pair[law] for pair in found.values.values()) for law in (0, 1))
    return all(rest <= tolerance * total for rest, total in zip(left, sums, strict=True))


def _follow(
    tree: TokenTree, place: _Place, logs: torch.Tensor, vocabulary: Vocabulary, found: Walked, least: float
) -> Sequence[_Place]:
    """Add the values that the next token completes; return the places after tokens that complete none.

    Tokens with which a path is less likely than `least` are not followed.
    """
    allowed = torch.tensor(place.matcher.allowed_tokens())
    chances = logs[allowed].exp()
    total = float(chances.sum())
    if total <= 0:
        found.unread_masked += place.masked
        return []
    shares = chances / total
    followed = torch.maximum(chances * place.chance, shares * place.masked) >= least
    found.unread += float(chances[~followed].sum()) * place.chance
    found.unread_masked += float(shares[~followed].sum()) * place.masked
    going_on = []
    for token_id, chance, share in zip(
        allowed[followed].tolist(), chances[followed].tolist(), shares[followed].tolist(), strict=True
    ):
        is_end = token_id in vocabulary.eos_token_ids
        text, value = place.text.after(None if is_end else vocabulary.decode([token_id]))
        raw, masked = place.chance * chance, place.masked * share
        if value is not None:
            known = found.values.get(value, (0.0, 0.0))
            found.values[value] = (known[0] + raw, known[1] + masked)
        elif not is_end:
            matcher = place.matcher.fork()
            matcher.accept_token(token_id)
            going_on.append(_Place(tree.child(place.node, token_id), matcher, text, raw, masked))
    return going_on

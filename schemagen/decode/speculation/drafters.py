"""The drafters: forced text, tokens that came here before, copies of the prompt, and a small model.

Forced text: the text on which the grammar leaves no choice, in as few tokens as possible.

Counting: a text of a grammar repeats itself, within one answer and across answers. Count how often each token was
chosen in each situation, and propose the commonest one (DOMINO, Beurer-Kellner et al. 2024, section 3.6, where the
situation is the state of scanner and parser). Here there are five views of the situation, from the finest to the
coarsest: the place in the grammar and the last two tokens, the place and the last token, the place, the last two
tokens, the last token. The last two views do not depend on the grammar, so that a new grammar profits from the texts of
others: a space and a quote after a colon, say. At most `MOST` keys are kept, the ones updated last; a key remembers at
most `CHOICES` tokens.

Copying: answers repeat the prompt: names, numbers and places of a text that they extract from. Search the prompt for
the end of the text so far, and propose the text after it (prompt lookup decoding, Saxena 2023, there with runs of
tokens). The search is by bytes, not tokens, and ignores case: a word after a quote has other tokens than one after a
space. The grammar decides how a copy ends: with a quote and a comma, with a brace. So the token at which the text left
a copy is counted by the place in the grammar and by the kind of byte that followed in the prompt. A match is the
longest one of at most `LONGEST` bytes, and begins at a word in the prompt if it begins at one in the text.

A small model: it decodes ahead under the masks of the grammar, so that it never proposes a forbidden token, and the
large model reuses these masks (Koo et al. 2024, section 5.3, "sharing the penalties with the target model"). In
sampling the drafts are sampled too, and carry the distribution q that they were drawn from: the large model accepts a
token with the probability min(1, p / q), else draws from the part of p that exceeds q, so that the result is
distributed as p (Leviathan et al. 2023, arXiv:2211.17192). Its cache holds a prefix of prompt and text; before it
grows, it is cropped to the prefix that it shares with them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.speculation.drafts import Draft
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.masks.logits import mask_rows
from schemagen.masks.rows import BITS
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemagen.decode.row_sampling import RowSampler
    from schemagen.decode.speculation.drafts import Context
    from schemagen.engine.protocol import Constraint, Matcher

#: Bytes of fixed text that are read in one pass.
MOST_FORCED = 4096
#: Keys of one memory, and tokens of one key.
MOST, CHOICES = 50_000, 4
#: Counts above this are treated alike.
_MANY = 3
Key = tuple[Any, ...]
#: Maximum number of bytes to search for; longer matches are not told apart.
LONGEST = 32
#: A match of at least this many bytes may begin inside a word of the prompt.
_SURE = 4
#: Maximum number of places in the prompt to check for a match that begins at a word.
_MOST_PLACES = 16
#: Maximum number of bytes of a prompt to search.
_MOST_SOURCE = 1 << 17


class ForcedText:
    """Proposes the forced text that is next: the rest of a key, a quote, a colon."""

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the tokens of the forced text; see `Drafter`."""
        run = matcher.forced_run()
        return Draft(run[:n], evidence="forced") if run else None

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""


def forced_next(grammar: Constraint, matcher: Matcher, left: int) -> list[int]:
    """Return the tokens of the forced text that is next, except the last one, which may be a part of another token.

    Args:
        grammar: The constraint; most do not force text, and leave its tokens to the model.
        matcher: Its matcher.
        left: The tokens that the text may still have. No token is forced that would leave too few for the rest of it.
    """
    if not grammar.forces_text or matcher.is_terminated():
        return []
    tokens = matcher.forced_run(MOST_FORCED)[:-1]
    if not tokens:
        return []
    ahead = matcher.fork()
    if not all(map(ahead.accept_token, tokens)):
        return []
    needed = ahead.tokens_to_finish()
    return [] if needed is None or needed > left - len(tokens) else tokens


class Counts:
    """How often tokens were chosen; safe for concurrent use.

    Args:
        size: Maximum number of keys.
    """

    def __init__(self, size: int = MOST) -> None:
        self._lock = brief_lock()
        self._counts: OrderedDict[Key, dict[int, int]] = OrderedDict()
        self._size = size

    def learn(self, key: Key, token: int) -> None:
        """Count a token."""
        with self._lock:
            counts = self._counts.setdefault(key, {})
            if token not in counts and len(counts) == CHOICES:
                del counts[min(counts, key=lambda known: counts[known])]
            counts[token] = counts.get(token, 0) + 1
            self._counts.move_to_end(key)
            if len(self._counts) > self._size:
                self._counts.popitem(last=False)

    def commonest(self, key: Key) -> tuple[int, int, int] | None:
        """Return the commonest token of a key, how often it came, and how often others did; None if the key is unknown."""
        with self._lock:
            counts = self._counts.get(key)
            if not counts:
                return None
            token = max(counts, key=lambda known: counts[known])
            return token, counts[token], sum(counts.values()) - counts[token]


class CountedTokens:
    """Proposes the token that came here before.

    Args:
        of_grammar: The counts of the grammar.
        of_model: The counts of all grammars.
    """

    def __init__(self, of_grammar: Counts, of_model: Counts) -> None:
        self._of_grammar, self._of_model = of_grammar, of_model

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the commonest token of the finest view that knows one; see `Drafter`."""
        for view, (counts, key) in enumerate(self._views(context, matcher)):
            found = counts.commonest(key)
            if found is not None:
                token, times, others = found
                return Draft((token,), evidence=("count", view, min(times, _MANY), _share(times, others)))
        return None

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Count the token under every view; see `Drafter`."""
        for counts, key in self._views(context, matcher):
            counts.learn(key, token)

    def _views(self, context: Context, matcher: Any) -> Iterator[tuple[Counts, Key]]:
        """Yield the counts and the keys to look up in them, the finest first."""
        place, (before, last) = matcher.place(), (-1, -1, *context.tokens)[-2:]
        if place:
            yield self._of_grammar, (place, before, last)
            yield self._of_grammar, (place, last)
            yield self._of_grammar, (place,)
        yield self._of_model, (before, last)
        yield self._of_model, (last,)


def _share(times: int, others: int) -> int:
    """The share of this choice among all choices: 2 for all of them, 1 for most."""
    return 2 if not others else int(times > others)


@dataclass(frozen=True, slots=True)
class Match:
    """Where the prompt contains the end of the text.

    Attributes:
        position: The position of the byte after the match.
        length: The length of the match in bytes.
        following: The kind of the byte that follows in the prompt.
    """

    position: int
    length: int
    following: str


class PromptMatches:
    """Finds the end of a text in its prompt, once for each text."""

    def __init__(self) -> None:
        self._known: tuple[Any, bytes, Match | None] | None = None

    def of(self, context: Context) -> Match | None:
        """Return the longest match; None if none is useful.

        Cost: some searches of the prompt, 10 us for 2,000 bytes.
        """
        end = bytes(context.text[-LONGEST - 1 :]).lower()
        if self._known is None or self._known[0] is not context or self._known[1] != end:
            self._known = (context, end, _find(context.folded_source[:_MOST_SOURCE], end))
        return self._known[2]


def _find(source: bytes, end: bytes) -> Match | None:
    """Return the longest match of the end of a text; its first byte only tells whether a word begins."""
    low, high = 0, min(LONGEST, len(end))
    while low < high:  # if a text occurs, so do its suffixes
        middle = (low + high + 1) // 2
        low, high = (middle, high) if end[len(end) - middle :] in source else (low, middle - 1)
    if not low:
        return None
    suffix = end[len(end) - low :]
    at_word = not _is_word(end[len(end) - low - 1 : len(end) - low]) or not _is_word(suffix[:1])
    start = -1
    for _ in range(_MOST_PLACES):
        start = source.find(suffix, start + 1)
        if start < 0:
            break
        if low >= _SURE or not at_word or not _is_word(source[max(start - 1, 0) : start]):
            position = start + low
            return Match(position, low, _kind(source[position : position + 1]))
    return None


def _is_word(byte: bytes) -> bool:
    return byte.isalnum() or byte >= b"\x80"


def _kind(byte: bytes) -> str:
    """Return the kind of a byte: a letter, a digit, or itself."""
    if byte.isdigit():
        return "0"
    return "a" if _is_word(byte) else byte.decode()


class PromptLookup:
    """Proposes the token that continues a copy of the prompt.

    Args:
        matches: Finds the copies.
        ids: The bytes of a token -> its id.
    """

    def __init__(self, matches: PromptMatches, ids: Mapping[bytes, int]) -> None:
        self._matches, self._ids = matches, ids

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the next token of the copy; see `Drafter`."""
        match = self._matches.of(context)
        token = None if match is None else self._continuation(context, match.position)
        if match is None or token is None:
            return None
        return Draft((token,), evidence=("copy", match.following, min(match.length, 6)))

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""

    def _continuation(self, context: Context, position: int) -> int | None:
        """Return the token of the prompt at a byte; within a token, the token of its remaining bytes."""
        index = context.starts.get(position)
        if index is not None:
            return context.prompt[index]
        end = next((start for start in range(position + 1, position + LONGEST) if start in context.starts), None)
        return None if end is None else self._ids.get(context.source[position:end])


class CopyEnds:
    """Proposes the token that ends a copy.

    Args:
        matches: Finds the copies.
        counts: The tokens that ended copies before.
    """

    def __init__(self, matches: PromptMatches, counts: Counts) -> None:
        self._matches, self._counts = matches, counts

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the token that ended copies here; see `Drafter`."""
        match = self._matches.of(context)
        if match is None:
            return None
        for view, key in enumerate(self._views(match, matcher)):
            found = self._counts.commonest(key)
            if found is not None:
                return Draft((found[0],), evidence=("end", view, match.following, min(match.length, 3)))
        return None

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Count the token that ends a copy; see `Drafter`."""
        match = self._matches.of(context)
        if match is None:
            return
        data = context.vocabulary.tokens[token].lower()
        if not data or not context.folded_source.startswith(data, match.position):
            for key in self._views(match, matcher):
                self._counts.learn(key, token)

    def _views(self, match: Match, matcher: Any) -> tuple[tuple[Any, ...], ...]:
        return (("end", matcher.place(), match.following), ("end", match.following))


class ModelDrafter:
    """Proposes the tokens of a small model.

    Args:
        model: A decoder of transformers with the same tokens as the large one.
        budget: Maps a text to the number of tokens that may follow it, for the mask; to None if unlimited.
        sampler: Draws the drafts; None for the likeliest token.
    """

    #: The evidence of all its guesses. It is fixed, so that the model is called only if no cheaper guess is as good.
    evidence = "model"

    def __init__(
        self, model: Any, *, budget: Callable[[Context], int | None], sampler: RowSampler | None = None
    ) -> None:
        from transformers import DynamicCache

        self._model, self._budget, self._sampler = model, budget, sampler
        self._cache = DynamicCache(config=model.config)
        self._read: list[int] = []

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return one token, with its mask; see `Drafter`. Cost: a pass of the small model."""
        scores = self._scores([*context.prompt, *context.tokens])
        words = allocate_token_bitmask(1, context.vocabulary.size)
        matcher.fill_next_token_bitmask(words, 0, budget=self._budget(context))
        masked = mask_rows(scores, words, [0], min(words.shape[1] * BITS, scores.shape[1]))
        sampler = None if self._sampler is None else self._sampler.at(matcher.temperature())
        if sampler is None:
            return Draft((int(masked.argmax()),), evidence=self.evidence, mask=words)
        probabilities = sampler.probabilities(masked)
        token = sampler.draw(probabilities)
        return Draft((token,), evidence=self.evidence, mask=words, probabilities=probabilities)

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""

    def _scores(self, tokens: list[int]) -> torch.Tensor:
        """Return the scores float [1, V] after some tokens, on the CPU."""
        shared = 0
        for known, token in zip(self._read, tokens[:-1], strict=False):
            if known != token:
                break
            shared += 1
        if surplus := len(self._read) - shared:
            self._cache.crop(-surplus)
        step = torch.tensor([tokens[shared:]], device=self._model.device)
        output = self._model(input_ids=step, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        self._read = list(tokens)
        scores: torch.Tensor = output.logits[0, -1:].float().cpu()
        return scores

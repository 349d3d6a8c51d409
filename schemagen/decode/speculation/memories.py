"""Statistics that are kept from answer to answer, per grammar and per model, as long as these live.

A draft of n tokens is read in a pass over n + 1 tokens, which takes longer than one over a single token: hardly so on a
GPU, twice as long for sixteen tokens on a CPU. Another token pays depending on the chance that it and all tokens before
it are chosen. Both are measured during decoding, so that users need not tune anything: how often guesses are right
(`HitRates`), and how long passes of the model take (`PassTimes`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from schemagen.decode.speculation.drafters import Counts
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from schemagen.engine.protocol import Constraint
    from schemagen.vocabulary import Vocabulary

#: Widths of passes that are measured separately: up to this many tokens.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128)
#: The cost of a token of a pass, as a share of a pass over one, until it is measured.
_ASSUMED = 0.03
#: The weight of a new measurement, and of the old ones.
_NEW, _KEPT = 0.25, 0.98
#: The assumed rate of the first guesses, and how many guesses this assumption counts for.
_PRIOR, _WEIGHT = 0.6, 1.5
#: How models write JSON, as pairs of tokens: a space after colons and commas. The grammar still filters proposals.
_JSON_STYLE = ((b'":', b' "'), (b'",', b' "'), (b",", b' "'), (b'":', b" "))
#: The token that ends a string copied from a text, and the kinds of bytes before which it does.
_JSON_END, _WORD_ENDS = b'",', (",", ".", ";", "\n", ")", "")


class HitRates:
    """How often guesses of each evidence were chosen; recent guesses weigh most."""

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._rates: dict[Hashable, tuple[float, float]] = {}  # evidence -> chosen, proposed

    def of(self, evidence: Hashable, *, prior: float = _PRIOR) -> float:
        """Return the chance that a guess is chosen, between 0 and 1; the prior is the assumption before any guess."""
        chosen, proposed = self._rates.get(evidence, (0.0, 0.0))
        return (chosen + prior * _WEIGHT) / (proposed + _WEIGHT)

    def learn(self, evidence: Hashable, *, chosen: bool) -> None:
        """Record whether a guess was chosen after all guesses before it had been."""
        with self._lock:
            hits, proposed = self._rates.get(evidence, (0.0, 0.0))
            self._rates[evidence] = (hits * _KEPT + chosen, proposed * _KEPT + 1)


class PassTimes:
    """How long a model takes for a pass, by the number of its tokens."""

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._seconds: dict[int, float] = {}  # width -> seconds

    def learn(self, tokens: int, seconds: float) -> None:
        """Record the time of a pass. The first passes of a process are slow, so a slow time needs confirmation."""
        if tokens > WIDTHS[-1]:
            return
        width = _width(tokens)
        with self._lock:
            known = self._seconds.get(width)
            if known is None:
                self._seconds[width] = seconds
            else:
                self._seconds[width] = known + _NEW * (min(seconds, 2 * known) - known)

    def of(self, tokens: int) -> float:
        """Return the time of a pass over this many tokens, in units that are the same for all numbers of tokens."""
        known = sorted(self._seconds.items())
        if not known:
            return 1 + _ASSUMED * (tokens - 1)
        width = _width(tokens)
        below = [(w, s) for w, s in known if w <= width]
        above = [(w, s) for w, s in known if w > width]
        if below and below[-1][0] == width:
            return below[-1][1]
        if below and above:
            (low, least), (high, most) = below[-1], above[0]
            return least + (most - least) * (width - low) / (high - low)
        nearest, seconds = below[-1] if below else above[0]
        return seconds * (1 + _ASSUMED * (width - 1)) / (1 + _ASSUMED * (nearest - 1))


def _width(tokens: int) -> int:
    return next((width for width in WIDTHS if tokens <= width), WIDTHS[-1])


def best_count(reach: Sequence[float], times: PassTimes, pending: int = 1) -> int:
    """Return the number of draft tokens that maximises the chosen tokens per second.

    Args:
        reach: The chance that each token is chosen, with all tokens before it, in descending order.
        times: How long passes take.
        pending: Tokens that are read before these in any case.
    """
    best, most, expected = 0, 0.0, 1.0
    for count in range(len(reach) + 1):
        if count:
            expected += reach[count - 1]
        if (speed := expected / times.of(pending + count)) > most:
            best, most = count, speed
    return best


class ModelMemory:
    """The statistics shared by all grammars of a model, starting with the usual style of JSON.

    Args:
        vocabulary: The vocabulary of the model.

    Attributes:
        counts: Which tokens followed which.
        ends: Which tokens ended copies of a prompt.
        rates: How often guesses were right, for greedy texts and for sampled ones.
        times: How long passes take.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.counts, self.ends = Counts(), Counts()
        self.rates = {False: HitRates(), True: HitRates()}
        self.times = PassTimes()
        for before, after in _JSON_STYLE:
            if before in self.ids and after in self.ids:
                self.counts.learn((self.ids[before],), self.ids[after])
        for kind in _WORD_ENDS if _JSON_END in self.ids else ():
            self.ends.learn(("end", kind), self.ids[_JSON_END])

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """The id of the bytes of each token; of several with the same bytes the first one."""
        special = self.vocabulary.special_token_ids
        found: dict[bytes, int] = {}
        for token, data in enumerate(self.vocabulary.tokens):
            if data and token not in special:
                found.setdefault(data, token)
        return found


_of_models: WeakKeyDictionary[Any, ModelMemory] = WeakKeyDictionary()
_of_grammars: WeakKeyDictionary[Constraint, Counts] = WeakKeyDictionary()


def memory_of_model(model: Any, vocabulary: Vocabulary) -> ModelMemory:
    """Return the memory of a model."""
    found = _of_models.get(model)
    if found is None or found.vocabulary != vocabulary:
        found = _of_models[model] = ModelMemory(vocabulary)
    return found


def counts_of(grammar: Constraint) -> Counts:
    """Return the counts of a grammar."""
    return _of_grammars.setdefault(grammar, Counts())

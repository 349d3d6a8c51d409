"""`Counts`: which token came at a place of a grammar before, by counting.

Idea: a text of a grammar repeats itself, within one answer and across answers. Count how often each token was chosen in
each situation, and propose the commonest one (DOMINO, Beurer-Kellner et al. 2024, section 3.6, where the situation is
the state of scanner and parser). Here there are five views of the situation, from the finest to the coarsest: the place
in the grammar and the last two tokens, the place and the last token, the place, the last two tokens, the last token.
The last two views do not depend on the grammar, so that a new grammar profits from the texts of others: a space and a
quote after a colon, say.

Invariants: at most `MOST` keys are kept, the ones updated last; a key remembers at most `CHOICES` tokens.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.drafts import Draft
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.decode.speculation.context import Context

#: Keys of one memory, and tokens of one key.
MOST, CHOICES = 50_000, 4
#: Counts above this are treated alike.
_MANY = 3
Key = tuple[Any, ...]


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

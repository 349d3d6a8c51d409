"""Statistics that are kept from answer to answer, per grammar and per model, as long as these live."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from schemagen.decode.speculation.calibration import HitRates, PassTimes
from schemagen.decode.speculation.counts import CountedTokens, Counts
from schemagen.decode.speculation.forced_text import ForcedText
from schemagen.decode.speculation.planner import DraftPlanner
from schemagen.decode.speculation.prompt_lookup import CopyEnds, PromptLookup, PromptMatches

if TYPE_CHECKING:
    from schemagen.decode.speculation.drafts import Drafter
    from schemagen.engine.protocol import Constraint
    from schemagen.options.speculation import Speculation
    from schemagen.vocabulary import Vocabulary


#: How models write JSON, as pairs of tokens: a space after colons and commas. The grammar still filters proposals.
_JSON_STYLE = ((b'":', b' "'), (b'",', b' "'), (b",", b' "'), (b'":', b" "))
#: The token that ends a string copied from a text, and the kinds of bytes before which it does.
_JSON_END, _WORD_ENDS = b'",', (",", ".", ";", "\n", ")", "")


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


def planner_of(
    model: Any,
    grammar: Constraint,
    speculation: Speculation,
    *,
    sampled: bool = False,
    slow: tuple[Drafter, ...] = (),
    branches: bool = False,
) -> DraftPlanner:
    """Return the planner for one text.

    Args:
        model: The model that decides.
        grammar: The grammar of the text.
        speculation: The drafters to use.
        sampled: Whether tokens are drawn at random; guesses are right less often then.
        slow: Drafters that take a pass of a model.
        branches: Whether the model can read several continuations in one pass.
    """
    memory = memory_of_model(model, grammar.vocabulary)
    drafters: list[Drafter] = [ForcedText()]
    if speculation.counts:
        drafters.append(CountedTokens(counts_of(grammar), memory.counts))
    if speculation.prompt_lookup:
        matches = PromptMatches()
        drafters += [
            PromptLookup(matches, memory.ids),
            CopyEnds(matches, memory.ends),
        ]
    drafters += [*speculation.drafters, *slow]
    both = branches and speculation.branches
    return DraftPlanner(drafters, memory.rates[sampled], memory.times, speculation.max_draft, branches=both)

"""The draft tree of a pass: the combined guesses of all drafters, as far as reading them pays.

Idea: each drafter states its guess and the evidence for it; `HitRates` measures how often guesses with that
evidence were right. From the likeliest guess the tree grows token by token, each allowed by the grammar; where the
first guess is unsure the second one becomes a branch. The chance of a node is the product of the chances on its path.
The likeliest nodes are kept, as many as give the most expected tokens for the time of a pass of that width
(`best_count`): the choice of Sequoia (Chen et al. 2024, arXiv:2402.12374), with measured chances and times.

Invariants: the grammar allows every node after its parent; a node is kept only with its parent; the matcher and the
context of the text are left unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.draft_tree import DraftTree, Guess
from schemagen.decode.speculation.drafters import (
    CopyEnds,
    CountedTokens,
    ForcedText,
    PromptLookup,
    PromptMatches,
)
from schemagen.decode.speculation.memories import HitRates, PassTimes, best_count, counts_of, memory_of_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.speculation.drafts import Context, Drafter
    from schemagen.engine.protocol import Constraint
    from schemagen.options.speculation import Speculation

#: A draft ends where the chance that all of it is chosen falls below this.
_LEAST = 0.02
#: A second guess is followed if its chance to be reached and chosen is this high, and at most at this many places.
_WORTH, _MOST_BRANCHES = 0.08, 4
#: The assumed rate of the first second guesses.
_SECOND = 0.2


@dataclass(frozen=True, slots=True)
class _Branch:
    """A place where a tree continues.

    Attributes:
        parent: The parent node.
        reach: The chance that it is chosen, with all nodes before it.
        ahead: A matcher after it.
        guess: The guess to begin with; None to ask the drafters.
    """

    parent: int
    reach: float
    ahead: Any
    guess: Guess | None = None


def _first_allowed(guesses: Sequence[Guess], ahead: Any, most: int) -> tuple[int, list[int]]:
    """Return the likeliest guess that begins with an allowed token, and as many of its tokens as are allowed.

    Args:
        guesses: The likeliest first.
        ahead: A matcher of the text so far; it is advanced.
        most: Maximum number of tokens.
    """
    for rank, guess in enumerate(guesses):
        allowed = list(takewhile(ahead.accept_token, guess.draft.tokens[:most]))
        if allowed:
            return rank, allowed
    return 0, []


class DraftPlanner:
    """Makes draft trees, and learns which of their guesses were right.

    Args:
        drafters: The drafters, the quick ones first.
        rates: How often guesses were right.
        times: How long passes take.
        max_draft: Maximum number of tokens in a draft.
        branches: Whether to follow a second guess, too, where the first one is unsure.
    """

    def __init__(
        self,
        drafters: Sequence[Drafter],
        rates: HitRates,
        times: PassTimes,
        max_draft: int,
        *,
        branches: bool = False,
    ) -> None:
        self._drafters, self._rates, self._times, self._max_draft = drafters, rates, times, max_draft
        self._branches = branches

    def plan(self, context: Context, matcher: Any, most: int, pending: int) -> DraftTree:
        """Return the tree of likely tokens, all of them allowed by the grammar.

        Args:
            context: The text so far.
            matcher: The matcher of the text so far; it is not advanced.
            most: Maximum depth, in tokens.
            pending: Tokens that the model has to read in any case.
        """
        tree, start = DraftTree(), len(context.tokens)
        most = min(most, self._max_draft)
        if most <= 0:
            return tree
        others: list[_Branch] | None = [] if self._branches else None
        self._grow(tree, context, _Branch(-1, 1.0, matcher.fork()), most, others)
        for branch in sorted(others or (), key=lambda other: -other.reach)[:_MOST_BRANCHES]:
            context.cut(start)
            path = tree.path(branch.parent)
            for node in path:
                context.append(tree.tokens[node])
            self._grow(tree, context, branch, most - len(path), None)
        context.cut(start)
        likeliest = sorted(range(len(tree.tokens)), key=lambda node: (-tree.reach[node], node))
        count = best_count([tree.reach[node] for node in likeliest], self._times, pending)
        return tree.kept(sorted(likeliest[:count]))

    def _grow(
        self, tree: DraftTree, context: Context, branch: _Branch, most: int, others: list[_Branch] | None
    ) -> None:
        """Add the likely tokens after a node, and note where there is a second guess."""
        parent, reach, ahead = branch.parent, branch.reach, branch.ahead
        end = len(context.tokens) + most
        guesses = [] if branch.guess is None else [branch.guess]
        while len(context.tokens) < end and reach > _LEAST and not ahead.is_terminated():
            guesses = guesses or self._guesses(context, ahead, end - len(context.tokens))
            before = ahead.fork() if others is not None and len(guesses) > 1 else None
            rank, tokens = _first_allowed(guesses, ahead, end - len(context.tokens))
            if not tokens:
                return
            here = _Branch(parent, reach, before)
            for token in tokens:
                context.append(token)
                reach *= guesses[rank].chance
                parent = tree.add(token, parent, guesses[rank], reach)
            if before is not None and others is not None:
                others += self._second(here, guesses[rank], guesses[rank + 1 :])
            guesses = []

    def _second(self, here: _Branch, first: Guess, guesses: list[Guess]) -> list[_Branch]:
        """Return the branch of the next best guess at the next token, if it differs and is worth it."""
        drawn = first.draft.probabilities is not None
        for guess in () if drawn else guesses:
            if guess.draft.tokens[0] != first.draft.tokens[0] and guess.draft.probabilities is None:
                evidence = ("second", guess.evidence)
                chance = min(self._rates.of(evidence, prior=_SECOND), 1 - first.chance)
                worth = here.reach * chance >= _WORTH
                return [replace(here, guess=Guess(chance, guess.draft, evidence))] if worth else []
        return []

    def _guesses(self, context: Context, ahead: Any, most: int) -> list[Guess]:
        """Return the guesses of the drafters, the likeliest first."""
        found: list[Guess] = []
        best = 0.0
        for drafter in self._drafters:
            stated = getattr(drafter, "evidence", None)
            if stated is not None and best >= self._rates.of(stated):
                continue
            draft = drafter.propose(context, ahead, most)
            if draft is not None and draft.tokens:
                found.append(Guess(self._rates.of(draft.evidence), draft, draft.evidence))
                best = max(best, found[-1].chance)
        return sorted(found, key=lambda guess: -guess.chance)

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Tell the drafters the chosen token, before the matcher and the context advance."""
        for drafter in self._drafters:
            drafter.observe(context, matcher, token)

    def judge(self, tree: DraftTree, node: int, *, chosen: bool) -> None:
        """Record whether the token of a node was chosen after all tokens before it had been."""
        self._rates.learn(tree.evidence[node], chosen=chosen)

    def measure(self, tokens: int, seconds: float) -> None:
        """Record the time of a pass over this many tokens."""
        self._times.learn(tokens, seconds)


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

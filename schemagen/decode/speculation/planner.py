"""`Planner`: puts the guesses of all drafters together into one draft, as long as it is worth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.calibration import HitRates, PassTimes, best_count

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from schemagen.decode.speculation.context import Context
    from schemagen.decode.speculation.drafts import Draft, Drafter

#: A draft ends where it is less likely than this that all of it is chosen.
_LEAST = 0.02
#: A second guess is followed where it is this likely to be reached and chosen, and in so many places at most.
_WORTH, _MOST_BRANCHES = 0.08, 4
#: What the first second guesses are taken for.
_SECOND = 0.2


@dataclass(frozen=True, slots=True)
class _Branch:
    """Where a plan goes on.

    Attributes:
        parent: The node before.
        reach: The chance that it is chosen, with all before it.
        ahead: A matcher behind it.
        guess: What comes first; None: what the drafters propose.
    """

    parent: int
    reach: float
    ahead: Any
    guess: Guess | None = None


@dataclass(slots=True)
class Plan:
    """Tokens that the model is asked about in one pass: a tree, most often without branches.

    A node comes after its parent; the nodes behind one parent are guesses at the same token.

    Attributes:
        tokens: What is expected, one for each node.
        parents: The node before, -1: the text itself.
        drafts: Of which draft each node is.
        evidence: What each guess rests on.
        reach: The chance that each node and all before it are chosen.
    """

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    evidence: list[Hashable] = field(default_factory=list)
    reach: list[float] = field(default_factory=list)

    def add(self, token: int, parent: int, guess: Guess, reach: float) -> int:
        """Add a node; return it."""
        self.tokens.append(token)
        self.parents.append(parent)
        self.drafts.append(guess.draft)
        self.evidence.append(guess.evidence)
        self.reach.append(reach)
        return len(self.tokens) - 1

    def children(self, node: int) -> list[int]:
        """Return the guesses at the token behind a node, the likeliest first."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def path(self, node: int) -> list[int]:
        """Return a node and those before it, the first one first."""
        nodes: list[int] = []
        while node >= 0:
            nodes.append(node)
            node = self.parents[node]
        return nodes[::-1]

    @property
    def is_chain(self) -> bool:
        """Whether there are no branches."""
        return self.parents == list(range(-1, len(self.parents) - 1))

    def kept(self, nodes: Sequence[int]) -> Plan:
        """Return the plan of some nodes, ascending; none is kept without its parent."""
        places = {-1: -1, **{node: place for place, node in enumerate(nodes)}}
        found = Plan()
        for node in nodes:
            guess = Guess(0.0, self.drafts[node], self.evidence[node])
            found.add(self.tokens[node], places[self.parents[node]], guess, self.reach[node])
        return found


@dataclass(frozen=True, slots=True)
class Guess:
    """A draft, and the chance that its tokens are chosen."""

    chance: float
    draft: Draft
    evidence: Hashable


def _first_allowed(guesses: Sequence[Guess], ahead: Any, most: int) -> tuple[int, list[int]]:
    """Return the likeliest guess that begins with a token of the grammar, and as many of its tokens as are allowed.

    Args:
        guesses: The likeliest first.
        ahead: Where the text stands; it is moved.
        most: Tokens, at most.
    """
    for rank, guess in enumerate(guesses):
        allowed = list(takewhile(ahead.accept_token, guess.draft.tokens[:most]))
        if allowed:
            return rank, allowed
    return 0, []


class Planner:
    """Makes drafts, and learns from what became of them.

    Args:
        drafters: Whom to ask, the quick ones first.
        rates: How often guesses were right.
        times: How long passes take.
        max_draft: Tokens of a draft, at most.
        branches: Whether a second guess is followed as well where the first one is unsure.
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

    def plan(self, context: Context, matcher: Any, most: int, pending: int) -> Plan:
        """Return what is likely to come, all of it allowed by the grammar.

        Args:
            context: The text so far.
            matcher: Where it stands; it is not moved.
            most: Tokens behind one another, at most.
            pending: Tokens that the model has to read in any case.
        """
        plan, start = Plan(), len(context.tokens)
        most = min(most, self._max_draft)
        if most <= 0:
            return plan
        others: list[_Branch] | None = [] if self._branches else None
        self._grow(plan, context, _Branch(-1, 1.0, ahead_of(matcher)), most, others)
        for branch in sorted(others or (), key=lambda other: -other.reach)[:_MOST_BRANCHES]:
            context.cut(start)
            path = plan.path(branch.parent)
            for node in path:
                context.append(plan.tokens[node])
            self._grow(plan, context, branch, most - len(path), None)
        context.cut(start)
        likeliest = sorted(range(len(plan.tokens)), key=lambda node: (-plan.reach[node], node))
        count = best_count([plan.reach[node] for node in likeliest], self._times, pending)
        return plan.kept(sorted(likeliest[:count]))

    def _grow(self, plan: Plan, context: Context, branch: _Branch, most: int, others: list[_Branch] | None) -> None:
        """Add what is likely to come behind a node, and note where there is a second guess."""
        parent, reach, ahead = branch.parent, branch.reach, branch.ahead
        end = len(context.tokens) + most
        guesses = [] if branch.guess is None else [branch.guess]
        while len(context.tokens) < end and reach > _LEAST and not ahead.is_terminated():
            guesses = guesses or self._guesses(context, ahead, end - len(context.tokens))
            before = ahead_of(ahead) if others is not None and len(guesses) > 1 else None
            rank, tokens = _first_allowed(guesses, ahead, end - len(context.tokens))
            if not tokens:
                return
            here = _Branch(parent, reach, before)
            for token in tokens:
                context.append(token)
                reach *= guesses[rank].chance
                parent = plan.add(token, parent, guesses[rank], reach)
            if before is not None and others is not None:
                others += self._second(here, guesses[rank], guesses[rank + 1 :])
            guesses = []

    def _second(self, here: _Branch, first: Guess, guesses: list[Guess]) -> list[_Branch]:
        """Return the branch of the next best guess at the next token, if it is another one and worth it."""
        drawn = first.draft.probabilities is not None
        for guess in () if drawn else guesses:
            if guess.draft.tokens[0] != first.draft.tokens[0] and guess.draft.probabilities is None:
                evidence = ("second", guess.evidence)
                chance = min(self._rates.of(evidence, prior=_SECOND), 1 - first.chance)
                worth = here.reach * chance >= _WORTH
                return [replace(here, guess=Guess(chance, guess.draft, evidence))] if worth else []
        return []

    def _guesses(self, context: Context, ahead: Any, most: int) -> list[Guess]:
        """Return what the drafters propose, the likeliest first."""
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
        """Tell the drafters what was chosen, before the matcher and the context move on."""
        for drafter in self._drafters:
            drafter.observe(context, matcher, token)

    def judge(self, plan: Plan, node: int, *, chosen: bool) -> None:
        """Note whether the token of a node was chosen, all before it having been."""
        self._rates.learn(plan.evidence[node], chosen=chosen)

    def measure(self, tokens: int, seconds: float) -> None:
        """Note how long a pass over so many tokens took."""
        self._times.learn(tokens, seconds)


def ahead_of(matcher: Any) -> Any:
    """Return a copy of a matcher to read ahead with; copying the way that led here would cost more with every token."""
    copy = getattr(matcher, "ahead", matcher.fork)
    return copy()

"""`Planner`: puts the guesses of all drafters together into one draft, as long as it is worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.calibration import HitRates, PassTimes, best_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.speculation.context import Context
    from schemagen.decode.speculation.drafts import Draft, Drafter

#: A draft ends where it is less likely than this that all of it is chosen.
_LEAST = 0.02


@dataclass(slots=True)
class Plan:
    """Tokens that the model is asked about in one pass.

    Attributes:
        tokens: What is expected.
        drafts: Which draft each of them begins, or is within.
        chances: That each is chosen if all before it are.
    """

    tokens: list[int] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)
    chances: list[float] = field(default_factory=list)

    def add(self, token: int, draft: Draft, chance: float) -> None:
        """Add a token."""
        self.tokens.append(token)
        self.drafts.append(draft)
        self.chances.append(chance)

    def cut(self, length: int) -> None:
        """Keep the first tokens."""
        del self.tokens[length:], self.drafts[length:], self.chances[length:]


class Planner:
    """Makes drafts, and learns from what became of them.

    Args:
        drafters: Whom to ask, the quick ones first.
        rates: How often guesses were right.
        times: How long passes take.
        max_draft: Tokens of a draft, at most.
    """

    def __init__(self, drafters: Sequence[Drafter], rates: HitRates, times: PassTimes, max_draft: int) -> None:
        self._drafters, self._rates, self._times, self._max_draft = drafters, rates, times, max_draft

    def plan(self, context: Context, matcher: Any, most: int, pending: int) -> Plan:
        """Return what is likely to come, all of it allowed by the grammar.

        Args:
            context: The text so far.
            matcher: Where it stands; it is not moved.
            most: Tokens, at most.
            pending: Tokens that the model has to read in any case.
        """
        plan, start, reached = Plan(), len(context.tokens), 1.0
        most = min(most, self._max_draft)
        ahead = ahead_of(matcher) if most > 0 else matcher
        while len(plan.tokens) < most and reached > _LEAST and not ahead.is_terminated():
            before = len(plan.tokens)
            for chance, draft in self._guesses(context, ahead, most - before):
                for token in draft.tokens[: most - before]:
                    if not ahead.accept_token(token):
                        break
                    context.append(token)
                    plan.add(token, draft, chance)
                    reached *= chance
                if len(plan.tokens) > before:
                    break
            else:
                break
        context.cut(start)
        plan.cut(best_length(plan.chances, self._times, pending))
        return plan

    def _guesses(self, context: Context, ahead: Any, most: int) -> list[tuple[float, Draft]]:
        """Return what the drafters propose, the likeliest first."""
        found: list[tuple[float, Draft]] = []
        best = 0.0
        for drafter in self._drafters:
            if getattr(drafter, "is_slow", False) and best >= self._rates.of("model"):
                continue
            draft = drafter.propose(context, ahead, most)
            if draft is not None and draft.tokens:
                found.append((self._rates.of(draft.evidence), draft))
                best = max(best, found[-1][0])
        return sorted(found, key=lambda pair: -pair[0])

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Tell the drafters what was chosen, before the matcher and the context move on."""
        for drafter in self._drafters:
            drafter.observe(context, matcher, token)

    def judge(self, draft: Draft, *, chosen: bool) -> None:
        """Note whether a token of a draft was chosen, all before it having been."""
        self._rates.learn(draft.evidence, chosen=chosen)

    def measure(self, tokens: int, seconds: float) -> None:
        """Note how long a pass over so many tokens took."""
        self._times.learn(tokens, seconds)


def ahead_of(matcher: Any) -> Any:
    """Return a copy of a matcher to read ahead with; copying the way that led here would cost more with every token."""
    copy = getattr(matcher, "ahead", matcher.fork)
    return copy()

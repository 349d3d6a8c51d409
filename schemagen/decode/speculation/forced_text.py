"""`ForcedText`: text on which the grammar leaves no choice, in as few tokens as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.drafts import Draft
from schemagen.decode.speculation.planner import ahead_of

if TYPE_CHECKING:
    from schemagen.decode.speculation.context import Context
    from schemagen.engine.protocol import Constraint, Matcher

#: Bytes of fixed text that are read in one pass.
MOST_FORCED = 4096


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
    ahead = ahead_of(matcher)
    if not all(map(ahead.accept_token, tokens)):
        return []
    needed = ahead.tokens_to_finish()
    return [] if needed is None or needed > left - len(tokens) else tokens

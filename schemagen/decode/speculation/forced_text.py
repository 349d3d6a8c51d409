"""`ForcedText`: text on which the grammar leaves no choice, in as few tokens as possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.decode.speculation.drafts import Draft

if TYPE_CHECKING:
    from schemagen.decode.speculation.context import Context


class ForcedText:
    """Proposes the forced text that is next: the rest of a key, a quote, a colon."""

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return the tokens of the forced text; see `Drafter`."""
        run = matcher.forced_run()
        return Draft(run[:n], evidence="forced") if run else None

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""

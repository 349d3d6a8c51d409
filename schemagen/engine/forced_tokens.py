"""Tokens that follow without any choice, found by the masks of a matcher: for matchers that know no quicker way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemagen.engine.protocol import Matcher

#: A run of forced tokens longer than this is handed out in pieces: a regex like ``a*`` over one token forces without end.
MAX_FORCED = 1024


def forced_by_masks(matcher: Matcher) -> list[int]:
    """Return the tokens that follow without any choice, an EOS id among them. The matcher is left as it was.

    Cost: a fork, and a mask for each token.
    """
    probe, forced = matcher.fork(), list[int]()
    while len(forced) < MAX_FORCED and not probe.is_terminated():
        only = only_token(probe)
        if not only or not probe.accept_token(only[0]):
            break
        forced += only
    return forced


def only_token(matcher: Matcher) -> list[int]:
    """Return the token that is allowed next if it is the only one, else nothing."""
    allowed = matcher.allowed_tokens()
    return allowed if len(allowed) == 1 else []

"""Walks under the masks of a grammar, with everything checked that has to hold at each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.testing import brute_force_mask, mask_of

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from schemagen import Grammar, Matcher, Vocabulary

#: Signs that open and divide: drawn often, or texts would be flat.
_SIGNS = frozenset(b'{}[](),:"+-')
#: In which share of places a token is explained.
EXPLAINED = 0.05


class NothingToCheckError(Exception):
    """A case says nothing: its spec is refused, or a limit was reached."""


def require(holds: object, label: str, detail: object = "") -> None:
    """Raise an error unless something holds.

    Args:
        holds: Whether it does.
        label: Which rule is broken; a case is made smaller as long as it breaks the same one.
        detail: The values.

    Raises:
        AssertionError: It does not hold; the message begins with the label and a colon.
    """
    if not holds:
        raise AssertionError(f"{label}: {detail!r}")


def takes(grammar: Grammar, data: bytes) -> bool:
    """Whether bytes are a text of a grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(data) and matcher.is_accepting()


def takes_tokens(grammar: Grammar, data: bytes, rng: random.Random) -> bool:
    """Whether bytes are a text of a grammar, read as the tokens of a random split."""
    matcher, tokens, at = grammar.matcher(), grammar.vocabulary.tokens, 0
    while at < len(data):
        fitting = [i for i, token in enumerate(tokens) if token and data.startswith(token, at)]
        longer = [i for i in fitting if len(tokens[i]) > 1]
        token_id = rng.choice(longer if longer and rng.random() < 0.7 else fitting)
        if not matcher.accept_token(token_id):
            return False
        at += len(tokens[token_id])
    return matcher.is_accepting()


def walk(grammar: Grammar, rng: random.Random, *, free: int, slack: int) -> bytes:
    """Write a random text, and check each place of it.

    Args:
        grammar: The grammar.
        rng: Where chance comes from.
        free: How many tokens are drawn from masks without a budget; then the budget begins.
        slack: How many tokens the budget has beside those that the shortest completion takes.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: The search for an end was given up.
    """
    matcher, vocabulary, written, masks = grammar.matcher(), grammar.vocabulary, b"", list[set[int]]()
    left, at_place = None, dict[int, set[int]]()
    while True:
        masks.append(check_place(matcher, vocabulary, rng, written))
        if place := matcher.place():
            require(at_place.setdefault(place, masks[-1]) == masks[-1], "one place, two masks", (written, place))
        if left is None and len(masks) > free:
            left = _needed(matcher) + slack
        allowed = mask_of(matcher, vocabulary, budget=left) if left is not None else masks[-1]
        if left == 0:
            allowed = {0}
        require(allowed, "a dead end", (written, left))
        token = drawn(allowed, vocabulary, rng)
        if token in vocabulary.eos_token_ids:
            require(matcher.is_accepting(), "a text ends too early, or its budget is used up", (written, left))
            _check_rollback(matcher, vocabulary, rng, masks)
            return written
        require(matcher.accept_token(token), "a token of the mask is refused", (written, vocabulary.tokens[token]))
        written += vocabulary.tokens[token]
        left = None if left is None else left - 1


def check_place(matcher: Matcher, vocabulary: Vocabulary, rng: random.Random, written: bytes) -> set[int]:
    """Check the masks at one place, without and with a budget, and the shortest completion; return the former.

    Args:
        matcher: Where the text stands; it is left as it was.
        vocabulary: The vocabulary.
        rng: Where chance comes from.
        written: The text so far, for messages.

    Raises:
        AssertionError: A rule is broken.
    """
    mask, expected = mask_of(matcher, vocabulary), brute_force_mask(matcher.fork(), vocabulary)
    wrong = sorted(mask ^ expected)[:5]
    require(not wrong, "a mask is not brute force", (written, [vocabulary.tokens[i] for i in wrong]))
    require(mask, "a dead end", written)
    require(matcher.allowed_tokens() == sorted(mask), "allowed tokens are not those of the mask", written)
    forced = matcher.forced_tokens()  # the end is never one of them
    expected_first = sorted(mask) if len(mask) == 1 and mask.isdisjoint(vocabulary.eos_token_ids) else []
    require(forced[:1] == expected_first, "forced tokens differ", (written, forced))
    if rng.random() < EXPLAINED:
        require(matcher.explain(rng.randrange(vocabulary.size)), "no explanation", written)
    needed = matcher.tokens_to_finish()
    if needed is None:
        return mask
    require((needed == 0) == matcher.is_accepting(), "0 tokens to finish, but no end", (written, needed))
    end = matcher.fork()
    rest = end.shortest_completion()
    require(end.accept_bytes(rest) and end.is_accepting(), "the shortest completion is none", (written, rest))
    _check_budget(matcher, vocabulary, rng, (written, mask, needed))
    return mask


def drawn(allowed: Iterable[int], vocabulary: Vocabulary, rng: random.Random) -> int:
    """Return a random token: the end, a sign, a token of several bytes, or any."""
    tokens, ids, kind = vocabulary.tokens, sorted(allowed), rng.random()
    if rng.random() < 0.8:  # or most texts would be short
        ids = [i for i in ids if i not in vocabulary.eos_token_ids] or ids
    if kind < 0.3:
        ids = [i for i in ids if tokens[i][:1] and tokens[i][0] in _SIGNS] or ids
    elif kind < 0.6:
        ids = [i for i in ids if len(tokens[i]) > 1] or ids
    elif kind < 0.75:
        ids = [i for i in ids if tokens[i] and tokens[i].isalnum()] or ids
    return rng.choice(ids)


def _needed(matcher: Matcher) -> int:
    needed = matcher.tokens_to_finish()
    if needed is None:
        raise NothingToCheckError("no end is found")
    return needed


def _check_budget(
    matcher: Matcher, vocabulary: Vocabulary, rng: random.Random, place: tuple[bytes, set[int], int]
) -> None:
    """Check that a mask with a budget has tokens, all of them of the mask without one, and that the rest fits after some."""
    written, mask, needed = place
    budget = max(1, needed + rng.choice([0, 0, 1, 3]))
    within = mask_of(matcher, vocabulary, budget=budget)
    require(within, "a budget is a dead end", (written, needed, budget))
    require(within <= mask, "a budget allows more", (written, budget, sorted(within - mask)[:5]))
    for token in rng.sample(sorted(within - {0}), min(3, len(within - {0}))):
        after = matcher.fork()
        after.accept_token(token)
        left = after.tokens_to_finish()
        place_after = (written, vocabulary.tokens[token], budget, left)
        require(left is not None, "a token of a budget leads where no end is found", place_after)
        require(left is not None and left < budget, "a token of a budget leads too far", place_after)


def _check_rollback(matcher: Matcher, vocabulary: Vocabulary, rng: random.Random, masks: list[set[int]]) -> None:
    """Go back to a place of the walk, where the mask has to be the one from before."""
    count = rng.randint(0, len(masks) - 1)
    matcher.rollback(count)
    same = mask_of(matcher, vocabulary) == masks[len(masks) - 1 - count]
    require(same, "a mask differs after a rollback", (count, len(masks)))

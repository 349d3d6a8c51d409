"""A delimited text cut into its items: of all ways to cut it the one whose first item is the longest, then the second, ...

The items that may come next depend on a state, a count or an index. The search tries in each state the specs in their order, of
each the longest item first, and no position twice in one state; mostly it goes straight through. How long an item can be is
asked of a matcher, character by character.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.grammar.compiler import compile as compile_spec
from schemagen.grammar.embedded import given_spec
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemagen.grammar.grammar import Grammar


class Item(NamedTuple):
    """One item of a text.

    Attributes:
        spec: The frozen spec that it is of.
        text: The text.
    """

    spec: Any
    text: str

    def value(self) -> Any:
        """Return its value.

        Raises:
            ValidationFailed: A validator of its type refuses it.
        """
        return _grammar(self.spec).validate(self.text)


def items_of(
    text: str,
    delimiter: str,
    following: Callable[[int], list[tuple[Any, int]]],
    is_end: Callable[[int], bool],
) -> list[Item] | None:
    """Return the items of a text, beginning in state 0; None if it cannot be cut.

    Args:
        text: The text.
        delimiter: The text between two items.
        following: From a state to the specs of the items that may come next, each with the state after it.
        is_end: Whether a text may end in a state.

    Cost: at worst, for items that could hold delimiters, the product of positions, states and the length of the text.
    """
    if not text and is_end(0):
        return []
    ends = _Ends(text)
    failed = {(0, 0)}
    found: list[Item] = []
    ways = [_ways(0, 0, following, ends)]
    while ways:
        step = next(ways[-1], None)
        if step is None:
            ways.pop()
            del found[-1:]
            continue
        begin, end, spec, state = step
        item = Item(spec, text[begin:end])
        if end == len(text) and is_end(state):
            return [*found, item]
        after = end + len(delimiter)
        if text.startswith(delimiter, end) and (after, state) not in failed:
            failed.add((after, state))
            found.append(item)
            ways.append(_ways(after, state, following, ends))
    return None


def _ways(
    begin: int, state: int, following: Callable[[int], list[tuple[Any, int]]], ends: _Ends
) -> Iterator[tuple[int, int, Any, int]]:
    """Yield the items that may begin somewhere: begin, end, spec, and the state after it."""
    for spec, after in following(state):
        for end in reversed(ends.of(spec, begin)):
            yield begin, end, spec, after


class _Ends:
    """Where items of a text end, by their spec and where they begin; each is asked for once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: dict[tuple[Any, int], list[int]] = {}

    def of(self, spec: Any, begin: int) -> list[int]:
        """Return the ends, the nearest first."""
        key = (spec, begin)
        if key not in self._known:
            self._known[key] = list(self._search(spec, begin))
        return self._known[key]

    def _search(self, spec: Any, begin: int) -> Iterator[int]:
        matcher = _grammar(spec).matcher()
        if matcher.is_accepting():
            yield begin
        for at in range(begin, len(self._text)):
            if not matcher.accept_bytes(self._text[at].encode("utf-8", "surrogatepass")):
                return
            if matcher.is_accepting():
                yield at + 1


def _grammar(spec: Any) -> Grammar:
    """Return the grammar of an item in the widest layout, whichever it was written in."""
    return compile_spec(given_spec(spec), _byte_vocabulary(), whitespace="any", property_order="any")


@lru_cache(maxsize=1)
def _byte_vocabulary() -> Vocabulary:
    return Vocabulary.byte_vocabulary()

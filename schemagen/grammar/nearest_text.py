"""`nearest_text`: the text of a grammar to which the cheapest edits of a given text lead.

Idea: a shortest path (Dijkstra 1959) through pairs of a position in the given text and a place of the grammar. From each pair a
path may go on by

- keeping the next character, at no cost,
- deleting it, at a cost of 1,
- inserting a character, and any number of characters after it that have no alternative, at a cost of 1,
- one of the `Respelling`s that begin there, for its own cost.

A character has no alternative if the text may not end before it, and no other may stand there, whitespace aside.

Optimum: no sequence of these steps to a text of the grammar costs less, and none that costs as much deletes fewer characters.
Among equals the choice is arbitrary, but always the same.

Invariants: texts that go on alike share a place (`Matcher.place`), so that the pairs are few: some places for each string of a
schema, whatever its text. The grammar is asked once for each place which characters may follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from schemagen.errors import LimitError
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schemagen.engine.protocol import Matcher
    from schemagen.grammar.grammar import Grammar

#: Most characters of the given text, and most pairs of the search.
MAX_CHARACTERS, MAX_PAIRS = 20_000, 400_000
#: Most characters that are inserted at once.
_MAX_RUN = 256
#: A cost of 1 and one of 0.01, as against one deleted character.
_ONE = 100 << 20
_HUNDREDTH = 1 << 20
_WHITESPACE = frozenset(b" \t\n\r")
_DEAD = -1


@dataclass(frozen=True, slots=True)
class Respelling:
    """Another way to write a part of a text.

    Attributes:
        end: Where the part ends.
        text: The text in its place; empty to delete it.
        cost: In steps of 0.01.
    """

    end: int
    text: str
    cost: float = 1


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the given text, and the new text in its place.

    Attributes:
        start: Where the part begins.
        end: Where it ends; the same for text that was inserted.
        text: The new text; empty if the part was deleted.
        kind: "kept", "deleted", "inserted" or "respelt".
    """

    start: int
    end: int
    text: str
    kind: str


@dataclass(frozen=True, slots=True)
class NearestText:
    """The text of a grammar that is nearest to another.

    Attributes:
        steps: From the first character to the last one.
        cost: Of all of them.
    """

    steps: tuple[Step, ...]
    cost: float

    @property
    def text(self) -> str:
        """The text."""
        return "".join(step.text for step in self.steps)


def nearest_text(
    grammar: Grammar, text: str, respellings: Mapping[int, Sequence[Respelling]] | None = None
) -> NearestText:
    """Return the text of a grammar to which the cheapest edits of a given text lead; see the module.

    Args:
        grammar: Over any vocabulary; that of the bytes is taken.
        text: The given text.
        respellings: Where a part begins -> other ways to write it.

    Raises:
        LimitError: The text is too long, or too far from the grammar.
        VocabularyError: The grammar names tokens.
    """
    if len(text) > MAX_CHARACTERS:
        raise LimitError(
            f"the text has {len(text):,} characters, the limit is {MAX_CHARACTERS:,}",
            why="the search for the nearest text looks at each of them in many places of the grammar",
            fix="give a shorter text, or the part with the value",
        )
    return _Search(_Places(grammar.over(Vocabulary.byte_vocabulary())), text, respellings or {}).run()


@dataclass(slots=True)
class _Place:
    """The continuations of a place.

    Attributes:
        matcher: A cursor there; it never moves.
        steps: Character -> the place after it.
        insertions: The texts that may be inserted, and the places after them; None if they are not known yet.
    """

    matcher: Matcher
    steps: dict[str, int] = field(default_factory=dict)
    insertions: list[tuple[str, int]] | None = None


class _Places:
    """The places of a grammar over the vocabulary of the bytes, by number, in the order in which they were found."""

    def __init__(self, grammar: Grammar) -> None:
        self._end = grammar.vocabulary.eos_token_ids[0]
        self._places: list[_Place] = []
        self._numbers: dict[int, int] = {}
        self.start = self._number(grammar.matcher())

    def is_end(self, place: int) -> bool:
        """Whether a text may end there."""
        return self._places[place].matcher.is_accepting()

    def after(self, place: int, text: str) -> int:
        """Return the place after some characters; `_DEAD` if they may not follow."""
        for character in text:
            known = self._places[place].steps
            if character not in known:
                known[character] = self._moved(place, character.encode("utf-8", "surrogatepass"))
            place = known[character]
            if place == _DEAD:
                break
        return place

    def insertions(self, place: int) -> list[tuple[str, int]]:
        """Return the texts that may be inserted for one edit, one for each place after them."""
        found = self._places[place].insertions
        if found is None:
            runs: dict[int, str] = {}
            for first, after in self._characters(place).items():
                for text, end in self._run(first, after):
                    runs.setdefault(end, text)
            found = self._places[place].insertions = [(text, end) for end, text in runs.items()]
        return found

    def _run(self, text: str, place: int) -> Iterator[tuple[str, int]]:
        """Yield a text, then the same with each character after it that has no alternative."""
        yield text, place
        while len(text) < _MAX_RUN and not self.is_end(place):
            allowed = self._allowed(place)
            visible = [byte for byte in allowed if byte not in _WHITESPACE] or allowed
            only = self._characters(place, visible) if len(visible) == 1 else {}
            if len(only) != 1:
                return
            ((character, place),) = only.items()
            text += character
            yield text, place

    def _characters(self, place: int, first: Sequence[int] | None = None) -> dict[str, int]:
        """Return the characters that may follow, one for each place after them."""
        found: dict[int, str] = {}
        waiting = [(bytes([byte]), self._moved(place, bytes([byte]))) for byte in first or self._allowed(place)]
        seen: set[tuple[int, int]] = set()
        while waiting:
            data, after = waiting.pop(0)
            if _is_whole(data):
                found.setdefault(after, data.decode())
            elif (len(data), after) not in seen:  # other beginnings of a character that go on alike
                seen.add((len(data), after))
                waiting += [(data + bytes([b]), self._moved(after, bytes([b]))) for b in self._allowed(after)]
        return {character: after for after, character in found.items()}

    def _allowed(self, place: int) -> list[int]:
        """Return the bytes that may follow, whitespace last: of two that lead to one place the first is inserted."""
        allowed = self._places[place].matcher.allowed_tokens()
        return sorted((byte for byte in allowed if byte != self._end), key=lambda byte: (byte in _WHITESPACE, byte))

    def _moved(self, place: int, data: bytes) -> int:
        matcher = self._places[place].matcher.fork()
        return self._number(matcher) if matcher.accept_bytes(data) else _DEAD

    def _number(self, matcher: Matcher) -> int:
        identity = matcher.place()
        if identity and identity in self._numbers:
            return self._numbers[identity]
        self._places.append(_Place(matcher))
        number = len(self._places) - 1
        if identity:
            self._numbers[identity] = number
        return number


def _shown(cost: int) -> float:
    return cost // _HUNDREDTH / 100


def _is_whole(data: bytes) -> bool:
    """Whether the bytes of a character are complete; its first byte says how many there are."""
    first = data[0]
    return len(data) == (1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4)


class _Search:
    """One search. Pairs are a position in the text and a place."""

    def __init__(self, places: _Places, text: str, respellings: Mapping[int, Sequence[Respelling]]) -> None:
        self._places, self._text, self._respellings = places, text, respellings
        self._costs: dict[tuple[int, int], int] = {(0, places.start): 0}
        #: Pair -> the pair before it, and the text and the kind of the step between them.
        self._origins: dict[tuple[int, int], tuple[tuple[int, int], str, str]] = {}

    def run(self) -> NearestText:
        """Return the nearest text.

        Raises:
            LimitError: It is too far away.
        """
        costs, origins, done = self._costs, self._origins, set[tuple[int, int]]()
        waiting = [(0, 0, self._places.start)]
        while waiting:
            cost, behind, place = heappop(waiting)
            pair = -behind, place
            if pair in done:
                continue
            done.add(pair)
            if pair[0] == len(self._text) and self._places.is_end(place):
                return NearestText(self._path(pair), _shown(cost))
            if len(costs) > MAX_PAIRS:
                raise self._too_far(_shown(cost))
            for end, after, more, text, kind in self._steps(*pair):
                reached, total = (end, after), cost + more
                if total < costs.get(reached, total + 1):
                    costs[reached] = total
                    origins[reached] = pair, text, kind
                    heappush(waiting, (total, -end, after))
        raise AssertionError("a grammar has a text")

    def _steps(self, position: int, place: int) -> Iterator[tuple[int, int, int, str, str]]:
        """Yield the ways to go on: the position and the place after it, its cost, its text and its kind."""
        if position < len(self._text):
            character = self._text[position]
            after = self._places.after(place, character)
            if after != _DEAD:
                yield position + 1, after, 0, character, "kept"
            yield position + 1, place, _ONE + 1, "", "deleted"
        for text, after in self._places.insertions(place):
            yield position, after, _ONE, text, "inserted"
        for other in self._respellings.get(position, ()):
            after = self._places.after(place, other.text)
            if after != _DEAD:
                cost = round(other.cost * 100) * _HUNDREDTH
                if other.text:
                    yield other.end, after, cost, other.text, "respelt"
                else:
                    yield other.end, after, cost + other.end - position, "", "deleted"

    def _path(self, pair: tuple[int, int]) -> tuple[Step, ...]:
        steps = list[Step]()
        while pair in self._origins:
            end = pair[0]
            pair, text, kind = self._origins[pair]
            steps.append(Step(pair[0], end, text, kind))
        return tuple(reversed(steps))

    def _too_far(self, cost: float) -> LimitError:
        return LimitError(
            f"the nearest text was not found among {MAX_PAIRS:,} places",
            why=f"the edits of the {len(self._text):,} characters cost more than {cost:g}",
            fix="give the part of the text with the value, or ask the model for a new answer: lm(prompt, spec)",
        )

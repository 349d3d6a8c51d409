"""`nearest_text`: the text of a grammar to which the cheapest edits of a given text lead.

Idea: a shortest path (Dijkstra 1959) through pairs of a position in the given text and a place of the grammar. From each pair a
path may go on by

- keeping the next character, at no cost,
- deleting it, at a cost of 1,
- inserting a character, and any number of characters after it that have no alternative, at a cost of 1,
- one of the `Respelling`s that begin there, for its own cost.

A character has no alternative if the text may not end before it, and no other may stand there, whitespace aside. After the
last character of the given text, the shortest way to an end is inserted (`Matcher.shortest_completion`), at a cost of 1, or
of 1.02 with letters or digits in it: that a text was cut off is one mistake, however much is missing. Keeping a character
costs 0.05 in a string whose opening quote was inserted: otherwise the cheapest way to read anything would be as the content
of a string.

Inserted characters are ASCII wherever ASCII may stand. In free text, where more than 20 bytes may follow, they are a quote, a
backslash, the letter a, or the first character of the shortest way to an end: any other leads nowhere else, unless texts have
to differ, as the keys of a dict do.

Optimum: no sequence of these steps to a text of the grammar costs less, and none that costs as much has less of this:
characters that are deleted, and twice the letters and digits that are inserted. Among equals the choice is arbitrary, but
always the same.

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
MAX_CHARACTERS, MAX_PAIRS = 20_000, 300_000
#: Most places of the grammar that are looked at: each takes some hundredths of a millisecond.
MAX_PLACES = 60_000
#: Most characters that are inserted at once.
_MAX_RUN = 256
#: A cost of 1 and one of 0.01, as against one deleted character, which decides between equals.
_ONE = 100 << 20
_HUNDREDTH = 1 << 20
_WHITESPACE = frozenset(b" \t\n\r")
_DEAD = -1
#: Added to a place in a string whose opening quote was inserted.
_INVENTED = 1 << 40
#: From so many bytes on that may follow, a text is free.
_FREE = 20
_LIKELY = frozenset(b'"\\a')
#: Most beginnings of characters of several bytes that lead to different places.
_MAX_BEGINNINGS = 40


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

    def __len__(self) -> int:
        """Return the number of places that were found."""
        return len(self._places)

    def is_end(self, place: int) -> bool:
        """Whether a text may end there."""
        return self._places[place].matcher.is_accepting()

    def is_free(self, place: int) -> bool:
        """Whether almost anything may follow there, as in a string."""
        return len(self._allowed(place)) > _FREE

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

    def completion(self, place: int) -> str:
        """Return the shortest way to an end."""
        return self._places[place].matcher.shortest_completion().decode()

    def _only_byte(self, place: int) -> int | None:
        """Return the byte that has no alternative; None if there are several, or if the text may end."""
        if self.is_end(place):
            return None
        allowed = self._allowed(place)
        visible = [byte for byte in allowed if byte not in _WHITESPACE] or allowed
        return visible[0] if len(visible) == 1 else None

    def _run(self, text: str, place: int) -> Iterator[tuple[str, int]]:
        """Yield a text, then the same with each character after it that has no alternative."""
        yield text, place
        while len(text) < _MAX_RUN and (byte := self._only_byte(place)) is not None:
            only = self._characters(place, [byte])
            if len(only) != 1:
                return
            ((character, place),) = only.items()
            text += character
            yield text, place

    def _characters(self, place: int, first: Sequence[int] | None = None) -> dict[str, int]:
        """Return the characters to insert, with the places after them, which all differ; see the module."""
        allowed = first or self._allowed(place)
        tried = [byte for byte in allowed if byte < 0x80] or allowed
        if len(tried) > _FREE:
            likely = {*_LIKELY, *self._places[place].matcher.shortest_completion()[:1]}
            tried = [byte for byte in tried if byte in likely] or tried
        found: dict[int, str] = {}
        for data, after in self._expanded([(b"", place)], tried):
            found.setdefault(after, data.decode())
        return {character: after for after, character in found.items()}

    def _expanded(self, waiting: list[tuple[bytes, int]], first: Sequence[int]) -> list[tuple[bytes, int]]:
        """Return the characters that begin with some bytes, each with the place after it."""
        whole = list[tuple[bytes, int]]()
        allowed: Sequence[int] | None = first
        while waiting:
            longer: dict[tuple[int, int], tuple[bytes, int]] = {}
            for data, place in waiting:
                for byte in allowed or self._allowed(place):
                    after = self._moved(place, bytes([byte]))
                    more = data + bytes([byte])
                    if _is_whole(more):
                        whole.append((more, after))
                    else:  # other beginnings of a character that go on alike are left out
                        longer.setdefault((_size(more), after), (more, after))
            waiting, allowed = list(longer.values())[:_MAX_BEGINNINGS], None
        return whole

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


def _size(data: bytes) -> int:
    """Return how many bytes a character has, by its first one."""
    return 1 if data[0] < 0x80 else 2 if data[0] < 0xE0 else 3 if data[0] < 0xF0 else 4


def _is_whole(data: bytes) -> bool:
    return len(data) == _size(data)


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
            if pair[0] > len(self._text):
                return NearestText(self._path(pair), _shown(cost))
            if len(costs) > MAX_PAIRS or len(self._places) > MAX_PLACES:
                raise self._too_far(_shown(cost))
            for end, after, more, text, kind in self._steps(*pair):
                reached, total = (end, after), cost + more
                if total < costs.get(reached, total + 1):
                    costs[reached] = total
                    origins[reached] = pair, text, kind
                    heappush(waiting, (total, -end, after))
        raise AssertionError("a grammar has a text")

    def _steps(self, position: int, place: int) -> Iterator[tuple[int, int, int, str, str]]:
        """Yield the ways to go on: the position and the place after it, its cost, its text and its kind.

        After the end of the text the position is one more.
        """
        invented, place = place & _INVENTED, place & ~_INVENTED
        if position == len(self._text):
            text = self._places.completion(place)
            invents = any(map(str.isalnum, text))
            yield position + 1, place, (_ONE + 2 * invents * _HUNDREDTH) * bool(text), text, "inserted"
            return
        character = self._text[position]
        after = self._places.after(place, character)
        if after != _DEAD:
            cost = 5 * _HUNDREDTH if invented else 0
            yield position + 1, after | (0 if character == '"' else invented), cost, character, "kept"
        yield position + 1, place | invented, _ONE + 1, "", "deleted"
        for text, after in self._places.insertions(place):
            opened = _INVENTED if text[-1] == '"' and self._places.is_free(after) else 0
            yield position, after | opened, _ONE + 2 * sum(map(str.isalnum, text)), text, "inserted"
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
            end = min(pair[0], len(self._text))
            pair, text, kind = self._origins[pair]
            if text or end > pair[0]:
                steps.append(Step(pair[0], end, text, kind))
        return tuple(reversed(steps))

    def _too_far(self, cost: float) -> LimitError:
        return LimitError(
            f"the nearest text was not found in {len(self._costs):,} steps through {len(self._places):,} places",
            why=f"the limits are {MAX_PAIRS:,} and {MAX_PLACES:,}; the edits of the {len(self._text):,} characters cost more "
            f"than {cost:g}",
            fix="give the part of the text with the value, or ask the model for a new answer: lm(prompt, spec)",
        )

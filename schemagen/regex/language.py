"""Questions about regular languages, which the compiled core answers: matching, emptiness, inclusion, derivatives.

The core's kernel has an expression as a node, and its derivative by a byte as another one (Brzozowski 1964; see
core/regex/nodes.hpp), so intersection and complement cost nothing extra. The questions have a kernel of their own: what they
leave there has no effect on the limits of grammars. It is replaced by a new one when it has grown large.

Invariant: a node belongs to one `_Place`; whatever keeps a node keeps its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from schemagen.errors import LimitError
from schemagen.regex.alphabet import Alphabet, character_sets
from schemagen.regex.ast import (
    Alternation,
    Chars,
    Complement,
    Conjunction,
    Ranges,
    Regex,
    Repeat,
    Substring,
    complement,
    conjunction,
)
from schemagen.regex.edges import nullable
from schemagen.regex.lowering import EMPTY_NODE, TEXT, PatternLowering
from schemagen.threads.clock import poll, seconds_left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_T = TypeVar("_T")

#: Of a place, and expressions whose nodes it knows, before a new one is begun.
MAX_BYTES, MAX_EXPRESSIONS = 32_000_000, 50_000
#: The core counts derivatives by bytes, of which a character has up to four, and many sets of them several intervals.
_PER_CHARACTER = 8


class _Place:
    """A kernel of the core, and the nodes of expressions in it."""

    __slots__ = ("_known", "core", "patterns")

    def __init__(self) -> None:
        from schemagen import _core

        self.core = _core.Languages()
        self._known: dict[tuple[int, Regex], int] = {}
        self.patterns = PatternLowering(self.core, self._known)

    @property
    def is_full(self) -> bool:
        return self.core.memory_bytes > MAX_BYTES or len(self._known) > MAX_EXPRESSIONS


_places: list[_Place] = []


def _place() -> _Place:
    """Return the place for new questions."""
    if not _places or _places[0].is_full:
        _places[:] = [_Place()]
    return _places[0]


def _ask(question: Callable[..., _T], *arguments: object) -> _T:
    """Return the answer of the core within the time that the current call has left."""
    try:
        return question(*arguments, seconds_left())
    except LimitError:
        poll()  # raises the error with the limit of the call
        raise


class Language:
    """A regular language, for questions about texts. Results of earlier texts are kept.

    Attributes:
        place: The kernel that answers, with the languages of others.
    """

    __slots__ = ("_node", "_regex", "_states", "place")

    def __init__(self, regex: Regex) -> None:
        self.place = _place()
        self._node = self.place.patterns.lower(regex, TEXT)
        self._regex = regex
        self._states: States | None = None

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches. Cost: one look-up per character seen before."""
        return _ask(self.place.core.matches, self._node, text)

    def matches_and_goes_on(self, text: str) -> tuple[bool, bool]:
        """Return whether a text matches, and whether a longer text does that begins with it. Cost: as `matches`."""
        return _ask(self.place.core.matches_and_goes_on, self._node, text)

    def ends(self, text: str, start: int) -> list[int]:
        """Return where a match that begins at ``start`` may end, in order. Cost: as `matches`, to the last place it can get."""
        return _ask(self.place.core.ends, self._node, text, start)

    def ends_before(self, text: str, start: int, mark: str) -> list[int]:
        """Return where a part may end that begins at ``start``, so that it, ``mark`` and the rest of the text match together.

        Args:
            text: All of it.
            start: Where the part begins.
            mark: A character that the expression names by itself.

        Cost: for each place up to the last one that the part can get to, the rest of the text, up to where nothing that follows
            can make a difference.
        """
        if self._states is None:
            self._states = States(character_sets(self._regex))
        states, state = self._states, self._states.build(self._regex)
        class_of_mark = states.alphabet.class_of(ord(mark))
        is_marked = mark in text
        classes = [states.alphabet.class_of(ord(character)) for character in text]
        found = []
        for at in range(start, len(text) + 1):
            after = states.derivative(state, class_of_mark)
            place = at
            while place < len(text) and (is_marked or not states.is_settled(after, class_of_mark)):
                after = states.derivative(after, classes[place])
                place += 1
            if states.is_nullable(after):
                found.append(at)
            if at < len(text):
                state = states.derivative(state, classes[at])
            if state == EMPTY_NODE:
                break
        return found


class States:
    """Languages as the numbers of nodes, and their derivatives by characters that some sets do not tell apart.

    Args:
        sets: All sets of characters that the languages name.

    Attributes:
        alphabet: Of these sets.
        top: Any text; `EMPTY_NODE` is no text, and `EPSILON_NODE` the empty one.
    """

    def __init__(self, sets: Iterable[Ranges]) -> None:
        self.alphabet = Alphabet(sets)
        self._place = _place()
        self._characters = self.alphabet.first_of_each()
        self._rows: dict[int, list[int]] = {}
        self._nullable: dict[int, bool] = {}
        self._settled: dict[int, bool] = {}
        self.top = self._place.core.any_string(TEXT)
        self.concat = self._place.core.concat
        self.union = self._place.core.alternation
        self.intersection = self._place.core.conjunction

    def build(self, regex: Regex) -> int:
        """Return the state of an expression whose sets are all known to the alphabet."""
        return self._place.patterns.lower(regex, TEXT)

    def row(self, state: int) -> list[int]:
        """Return the derivatives by each class of characters."""
        row = self._rows.get(state)
        if row is None:
            row = self._rows[state] = _ask(self._place.core.after, state, self._characters)
        return row

    def derivative(self, state: int, number: int) -> int:
        """Return the derivative by a character of class ``number``."""
        return self.row(state)[number]

    def is_nullable(self, state: int) -> bool:
        """Whether a state has the empty text."""
        known = self._nullable.get(state)
        if known is None:
            known = self._nullable[state] = self._place.core.is_nullable(state)
        return known

    def is_settled(self, state: int, but: int) -> bool:
        """Whether every character of another class than ``but`` leads back to a state."""
        known = self._settled.get(state)
        if known is None:
            row = self.row(state)
            known = self._settled[state] = all(to == state for number, to in enumerate(row) if number != but)
        return known

    def successors(self, state: int) -> Iterator[tuple[int, int]]:
        """Yield (set of classes, derivative) for all classes; the sets are disjoint and cover the alphabet."""
        found: dict[int, int] = {}
        for number, target in enumerate(self.row(state)):
            found[target] = found.get(target, 0) | 1 << number
        return ((bits, target) for target, bits in found.items())


def matches(regex: Regex, text: str) -> bool:
    """Return whether the whole of ``text`` matches ``regex``. Cost: linear in the text once the derivatives are known."""
    return Language(regex).matches(text)


def is_empty(regex: Regex, max_states: int = 10_000) -> bool:
    """Return whether no string at all matches.

    Args:
        regex: The language.
        max_states: How many derivatives may be visited.

    Raises:
        LimitError: More derivatives would have to be visited. An expression without intersection and complement is
            answered at once, however large its counters.
    """
    plainly = _has_texts(regex)
    if plainly is not None:
        return not plainly
    place = _place()
    found = _ask(place.core.is_empty_within, place.patterns.lower(regex, TEXT), max_states * _PER_CHARACTER)
    if found is None:
        raise LimitError(
            f"emptiness of a regular expression still unknown after {max_states} derivatives",
            why="intersections of long counted repetitions have many states",
            fix="shorten the repetitions of the patterns that are combined",
        )
    return found


def _has_texts(regex: Regex) -> bool | None:
    """Return whether some string matches, as far as that is seen without derivatives."""
    if isinstance(regex, Chars):
        return bool(regex.ranges)
    if isinstance(regex, Substring):
        return bool(regex.text)
    if isinstance(regex, (Conjunction, Complement)):
        return None
    if isinstance(regex, Repeat):
        return True if regex.low == 0 else _has_texts(regex.inner)
    wanted = isinstance(regex, Alternation)  # of alternatives one will do, of a sequence all are needed
    seen = [_has_texts(part) for part in regex.parts]
    if wanted in seen:
        return wanted
    return None if None in seen else not wanted


def has_longest_text(regex: Regex) -> bool:
    """Return whether the expression alone shows that its texts have a greatest length.

    Of an intersection one bounded part is enough. A complement counts as unbounded, and so does an intersection of unbounded
    parts, although it may have no long text. Cost: linear in the expression.
    """
    if isinstance(regex, Complement):
        return False
    if isinstance(regex, Conjunction):
        return any(map(has_longest_text, regex.parts))
    if isinstance(regex, Repeat):
        return regex.high is not None and has_longest_text(regex.inner)
    return isinstance(regex, (Chars, Substring)) or all(map(has_longest_text, regex.parts))


def is_subset(left: Regex, right: Regex, max_states: int = 10_000) -> bool:
    """Return whether ``right`` matches everything that ``left`` matches; raises as `is_empty` does."""
    if left == right:
        return True
    if nullable(left) and not nullable(right):
        return False
    return is_empty(conjunction(left, complement(right)), max_states)

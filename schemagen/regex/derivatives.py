"""Matching, emptiness and automata by derivatives: slow, small, and right for every operator.

Idea: the derivative of a language by a character is what may follow it (Brzozowski 1964); a text matches when the
derivative by all its characters accepts the empty string. Intersection and complement cost nothing extra. Nodes are
hash-consed and unions and intersections are sets, so that similar derivatives are one object and only finitely many
exist (Brzozowski, theorem 5.2). Characters are first mapped to classes that no set of the expression tells apart, and a
state is only expanded on its own, coarser classes (Owens, Reppy & Turon 2009, section 4.2).

A repetition keeps its counters: the derivative of r{m,n} is d(r) r{m-1,n-1}. That is only true when r is not nullable,
or when m is 0; r{m,n} with a nullable r is therefore rewritten to r{0,n} first, which is the same language.

Invariant: `State` objects are compared by identity and belong to one `Algebra`. Interning is a single `setdefault`, so
two threads may share an algebra.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from schemagen.errors import LimitError
from schemagen.regex.ast import (
    MAX_CODE_POINT,
    Alternation,
    Chars,
    Complement,
    Concat,
    Conjunction,
    Ranges,
    Regex,
    Repeat,
    Substring,
    char_set,
    complement,
    conjunction,
    normalise_ranges,
)
from schemagen.regex.edges import nullable
from schemagen.regex.substrings import substring_automaton
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: States an `Algebra` may intern before the cached matcher of `matches` starts afresh.
_CACHE_LIMIT = 50_000

Kind = Literal["chars", "empty", "concat", "or", "and", "not", "repeat", "substring"]


class State:
    """A language: hash-consed, with its derivatives remembered by character class."""

    __slots__ = ("args", "counts", "derivatives", "kind", "nullable", "obvious")

    def __init__(self, kind: Kind, args: tuple[State, ...], counts: tuple[int, int | None], *, nullable: bool) -> None:
        self.kind = kind
        self.args = args
        #: chars: (bit set of classes, None); repeat: (low, high); substring: (state, number of the text); otherwise (0, None).
        self.counts = counts
        self.nullable = nullable
        #: Built without intersection and complement, hence never empty unless it is the empty set itself.
        self.obvious: bool = kind not in {"and", "not"} and all(arg.obvious for arg in args)
        self.derivatives: dict[int, State] = {}


class Alphabet:
    """Classes of code points that none of the given sets tells apart."""

    def __init__(self, sets: Iterable[Ranges]) -> None:
        distinct = list(dict.fromkeys(sets))
        events: dict[int, int] = {0: 0}
        for index, ranges in enumerate(distinct):
            for low, high in ranges:
                events[low] = events.get(low, 0) ^ (1 << index)
                events[high + 1] = events.get(high + 1, 0) ^ (1 << index)
        self.starts = sorted(point for point in events if point <= MAX_CODE_POINT)
        self.class_at: list[int] = []
        known: dict[int, int] = {}
        signature = 0
        for point in self.starts:
            signature ^= events[point]
            self.class_at.append(known.setdefault(signature, len(known)))
        self.size = len(known)
        self.everything = (1 << self.size) - 1
        self._bits = dict.fromkeys(distinct, 0)
        for number, signature in enumerate(known):
            for index in _bits_of(signature):
                self._bits[distinct[index]] |= 1 << number

    def bits(self, ranges: Ranges) -> int:
        """Return the classes that make up one of the sets given at construction."""
        return self._bits[ranges]

    def class_of(self, code_point: int) -> int:
        """Return the class of a code point."""
        return self.class_at[bisect_right(self.starts, code_point) - 1]

    def ranges(self, bits: int) -> Ranges:
        """Return the code points of a set of classes."""
        ends = [*(start - 1 for start in self.starts[1:]), MAX_CODE_POINT]
        spans = zip(self.starts, ends, self.class_at, strict=True)
        return normalise_ranges((low, high) for low, high, number in spans if bits >> number & 1)


def _bits_of(bits: int) -> Iterator[int]:
    """Yield the positions of the bits that are set."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def character_sets(regex: Regex) -> Iterator[Ranges]:
    """Yield the set of every `Chars` inside, and each character of every `Substring`."""
    stack: list[Regex] = [regex]
    while stack:
        node = stack.pop()
        if isinstance(node, Chars):
            yield node.ranges
        elif isinstance(node, Substring):
            yield from (char_set(character).ranges for character in set(node.text))
        elif isinstance(node, (Concat, Alternation, Conjunction)):
            stack.extend(node.parts)
        else:
            stack.append(node.inner)


class Algebra:
    """The states over one alphabet, and the operations on them."""

    def __init__(self, sets: Iterable[Ranges]) -> None:
        self.alphabet = Alphabet(sets)
        self._interned: dict[object, State] = {}
        self.bottom = self.chars(0)
        self.empty = self._intern("empty", (), (0, None), nullable=True)
        self.top = self._intern("repeat", (self.chars(self.alphabet.everything),), (0, None), nullable=True)
        self._partitions: dict[State, tuple[int, ...]] = {}
        #: Texts of substrings by number, and the moves of their automata by class, made when they are asked for.
        self._texts: list[str] = []
        self._moves: dict[int, list[dict[int, int]]] = {}

    def __len__(self) -> int:
        """Return how many states are known."""
        return len(self._interned)

    def _intern(self, kind: Kind, args: tuple[State, ...], counts: tuple[int, int | None], *, nullable: bool) -> State:
        key = (kind, frozenset(args) if kind in {"or", "and"} else args, counts)
        found = self._interned.get(key)
        if found is None:
            found = self._interned.setdefault(key, State(kind, args, counts, nullable=nullable))
        return found

    def build(self, regex: Regex) -> State:
        """Return the state of an expression whose sets are all known to the alphabet."""
        poll()
        if isinstance(regex, Chars):
            return self.chars(self.alphabet.bits(regex.ranges))
        if isinstance(regex, Concat):
            state = self.empty
            for part in reversed(regex.parts):
                state = self.concat(self.build(part), state)
            return state
        if isinstance(regex, Alternation):
            return self.union([self.build(part) for part in regex.parts])
        if isinstance(regex, Conjunction):
            return self.intersection([self.build(part) for part in regex.parts])
        if isinstance(regex, Complement):
            return self.complement(self.build(regex.inner))
        if isinstance(regex, Substring):
            return self.substring(regex.text)
        return self.repeat(self.build(regex.inner), regex.low, regex.high)

    def chars(self, bits: int) -> State:
        """One character out of the classes ``bits``."""
        return self._intern("chars", (), (bits, None), nullable=False)

    def substring(self, text: str) -> State:
        """Any run of characters of a text but the empty one."""
        if text not in self._texts:
            self._texts.append(text)
        return self._in_substring(0, self._texts.index(text))

    def _in_substring(self, at: int, text: int | None) -> State:
        return self._intern("substring", (), (at, text), nullable=at > 0)

    def _moves_of(self, state: State) -> dict[int, int]:
        at, text = state.counts
        assert text is not None, "it has the number of its text"
        moves = self._moves.get(text)
        if moves is None:
            numbers = {character: self.alphabet.class_of(ord(character)) for character in set(self._texts[text])}
            automaton = substring_automaton(self._texts[text])
            moves = [{numbers[character]: to for character, to in targets.items()} for targets in automaton]
            self._moves[text] = moves
        return moves[at]

    def concat(self, head: State, tail: State) -> State:
        """``head`` then ``tail``; kept nested to the right."""
        if head is self.bottom or tail is self.bottom:
            return self.bottom
        heads = []
        while head.kind == "concat":
            heads.append(head.args[0])
            head = head.args[1]
        heads.append(head)
        for part in reversed(heads):
            if part is self.empty or (part is self.top and tail is self.top):
                continue
            if tail is self.empty:
                tail = part
            else:
                tail = self._intern("concat", (part, tail), (0, None), nullable=part.nullable and tail.nullable)
        return tail

    def union(self, states: Iterable[State]) -> State:
        """Any of the states."""
        parts: dict[State, None] = {}
        bits = 0
        for state in states:
            for part in state.args if state.kind == "or" else (state,):
                if part is self.top:
                    return self.top
                if part.kind == "chars":
                    bits |= part.counts[0]
                else:
                    parts[part] = None
        if bits:
            parts[self.chars(bits)] = None
        if self.empty in parts and any(part.nullable for part in parts if part is not self.empty):
            del parts[self.empty]
        if len(parts) <= 1:
            return next(iter(parts), self.bottom)
        return self._intern("or", tuple(parts), (0, None), nullable=any(part.nullable for part in parts))

    def intersection(self, states: Iterable[State]) -> State:
        """All of the states at once."""
        parts: dict[State, None] = {}
        bits: int | None = None
        for state in states:
            for part in state.args if state.kind == "and" else (state,):
                if part.kind == "chars":
                    bits = part.counts[0] if bits is None else bits & part.counts[0]
                elif part is not self.top:
                    parts[part] = None
        if bits is not None:
            parts[self.chars(bits)] = None
        if self.bottom in parts:
            return self.bottom
        if len(parts) <= 1:
            return next(iter(parts), self.top)
        is_nullable = all(part.nullable for part in parts)
        if self.empty in parts:
            return self.empty if is_nullable else self.bottom
        return self._intern("and", tuple(parts), (0, None), nullable=is_nullable)

    def complement(self, state: State) -> State:
        """Every other string."""
        if state.kind == "not":
            return state.args[0]
        if state in (self.bottom, self.top):
            return self.top if state is self.bottom else self.bottom
        return self._intern("not", (state,), (0, None), nullable=not state.nullable)

    def repeat(self, state: State, low: int, high: int | None) -> State:
        """``state`` from ``low`` to ``high`` times."""
        if state.nullable:
            low = 0
        if high == 0 or state is self.empty:
            return self.empty
        if state is self.bottom:
            return self.empty if low == 0 else self.bottom
        if (low, high) == (1, 1):
            return state
        if high is None and state is self.top:
            return self.top
        return self._intern("repeat", (state,), (low, high), nullable=low == 0)

    def derivative(self, state: State, number: int) -> State:
        """Return what may follow a character of class ``number``."""
        found = state.derivatives.get(number)
        if found is None:
            poll()
            found = state.derivatives[number] = self._derive(state, number)
        return found

    def _derive(self, state: State, number: int) -> State:
        kind = state.kind
        if kind == "chars":
            return self.empty if state.counts[0] >> number & 1 else self.bottom
        if kind == "empty":
            return self.bottom
        if kind == "substring":
            target = self._moves_of(state).get(number)
            return self.bottom if target is None else self._in_substring(target, state.counts[1])
        if kind == "concat":
            return self._derive_concat(state, number)
        if kind == "repeat":
            low, high = state.counts
            rest = self.repeat(state.args[0], max(low - 1, 0), None if high is None else high - 1)
            return self.concat(self.derivative(state.args[0], number), rest)
        derived = [self.derivative(arg, number) for arg in state.args]
        if kind == "or":
            return self.union(derived)
        return self.intersection(derived) if kind == "and" else self.complement(derived[0])

    def _derive_concat(self, state: State, number: int) -> State:
        """Walk the parts up to the first that cannot be empty; a loop, since literals are thousands of parts long."""
        options = []
        while state.kind == "concat":
            head, tail = state.args
            options.append(self.concat(self.derivative(head, number), tail))
            if not head.nullable:
                return self.union(options)
            state = tail
        options.append(self.derivative(state, number))
        return self.union(options)

    def partition(self, state: State) -> tuple[int, ...]:
        """Return disjoint sets of classes on each of which the derivative is the same."""
        found = self._partitions.get(state)
        if found is None:
            poll()
            found = self._partitions[state] = tuple(self._partition(state))
        return found

    def _partition(self, state: State) -> Iterable[int]:
        everything = self.alphabet.everything
        if state.kind == "chars":
            return [part for part in (state.counts[0], everything & ~state.counts[0]) if part]
        if state.kind == "concat":
            return self._partition_concat(state)
        if state.kind == "substring":
            singles = [1 << number for number in self._moves_of(state)]
            return [part for part in (*singles, everything & ~sum(singles)) if part]
        cells = [everything]
        for arg in state.args:
            cells = _refine(cells, self.partition(arg))
        return cells

    def _partition_concat(self, state: State) -> Iterable[int]:
        """Refine over the parts up to the first that cannot be empty."""
        head, tail = state.args
        cells: Iterable[int] = self.partition(head)
        while head.nullable and tail.kind == "concat":
            head, tail = tail.args
            cells = _refine(cells, self.partition(head))
        return _refine(cells, self.partition(tail)) if head.nullable else cells

    def successors(self, state: State) -> Iterator[tuple[int, State]]:
        """Yield (set of classes, derivative) for all classes; the sets are disjoint and cover the alphabet."""
        for cell in self.partition(state):
            yield cell, self.derivative(state, (cell & -cell).bit_length() - 1)


def _refine(left: Iterable[int], right: Iterable[int]) -> list[int]:
    """Return the non-empty intersections of two partitions."""
    poll()
    return [both for a in left for b in right if (both := a & b)]


class Recogniser:
    """A matcher for many texts against one expression; the derivatives of earlier texts are reused."""

    def __init__(self, regex: Regex) -> None:
        self._algebra = Algebra(character_sets(regex))
        self._start = self._algebra.build(regex)
        self._settled: dict[State, bool] = {}

    def __len__(self) -> int:
        """Return how many states are remembered."""
        return len(self._algebra)

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches. Cost: one dictionary look-up per character seen before."""
        algebra, state = self._algebra, self._start
        for character in text:
            state = algebra.derivative(state, algebra.alphabet.class_of(ord(character)))
            if state is algebra.bottom or state is algebra.top:
                return state is algebra.top
        return state.nullable

    def ends(self, text: str, start: int) -> list[int]:
        """Return where a match that begins at ``start`` may end, in order. Cost: as `matches`, to the last place it can get."""
        algebra, state = self._algebra, self._start
        found = [start] if state.nullable else []
        for at in range(start, len(text)):
            state = algebra.derivative(state, algebra.alphabet.class_of(ord(text[at])))
            if state is algebra.bottom:
                break
            if state.nullable:
                found.append(at + 1)
        return found

    def ends_before(self, text: str, start: int, mark: str) -> list[int]:
        """Return where a part may end that begins at ``start``, so that it, ``mark`` and the rest of the text match together.

        Args:
            text: All of it.
            start: Where the part begins.
            mark: A character that the expression names by itself.

        Cost: for each place up to the last one that the part can get to, the rest of the text, up to where nothing that follows
            can make a difference.
        """
        algebra, state = self._algebra, self._start
        class_of_mark = algebra.alphabet.class_of(ord(mark))
        is_marked = mark in text
        found = []
        for at in range(start, len(text) + 1):
            after = algebra.derivative(state, class_of_mark)
            place = at
            while place < len(text) and (is_marked or not self._is_settled(after, class_of_mark)):
                after = algebra.derivative(after, algebra.alphabet.class_of(ord(text[place])))
                place += 1
            if after.nullable:
                found.append(at)
            if at < len(text):
                state = algebra.derivative(state, algebra.alphabet.class_of(ord(text[at])))
            if state is algebra.bottom:
                break
        return found

    def _is_settled(self, state: State, class_of_mark: int) -> bool:
        """Whether every character but the mark leads back to a state."""
        if state not in self._settled:
            ways = self._algebra.successors(state)
            self._settled[state] = all(after is state or classes == 1 << class_of_mark for classes, after in ways)
        return self._settled[state]


@lru_cache(maxsize=64)
def _recogniser(regex: Regex) -> list[Recogniser]:
    """Return the cached matcher in a cell, so that one which grew too large can be replaced."""
    return [Recogniser(regex)]


def matches(regex: Regex, text: str) -> bool:
    """Return whether the whole of ``text`` matches ``regex``.

    Cost: linear in the text once the derivatives are known; the last 64 expressions are remembered. To match one
    expression many times, hold a `Recogniser`.
    """
    cell = _recogniser(regex)
    if len(cell[0]) > _CACHE_LIMIT:
        cell[0] = Recogniser(regex)
    return cell[0].matches(text)


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
    algebra = Algebra(character_sets(regex))
    start = algebra.build(regex)
    seen, todo = {start}, [start]
    while todo:
        state = todo.pop()
        if state.nullable or _surely_some(state, algebra):
            return False
        for _, target in algebra.successors(state):
            if target is not algebra.bottom and target not in seen:
                seen.add(target)
                todo.append(target)
        if len(seen) > max_states:
            raise LimitError(
                f"{len(seen)} derivatives of a regular expression visited, limit {max_states}, emptiness still unknown",
                why="intersections of long counted repetitions have many states",
                fix="raise max_states, or bound the repetitions of the patterns that are combined",
            )
    return True


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


def _surely_some(state: State, algebra: Algebra) -> bool:
    """Return whether a state is known to match something without looking at its derivatives."""
    if state is algebra.bottom:
        return False
    return state.obvious or (state.kind == "or" and any(_surely_some(arg, algebra) for arg in state.args))


def is_subset(left: Regex, right: Regex, max_states: int = 10_000) -> bool:
    """Return whether ``right`` matches everything that ``left`` matches; raises as `is_empty` does."""
    if left == right:
        return True
    if nullable(left) and not nullable(right):
        return False
    return is_empty(conjunction(left, complement(right)), max_states)

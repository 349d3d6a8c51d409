"""From a regular expression over code points to a finite-state machine over bytes, for the reference engine.

The result is an `interegular.fsm.FSM` whose symbols are the latin-1 characters U+0000 to U+00FF, one for each byte. It
is made by the textbook: each class of code points becomes the byte ranges of its UTF-8 encoding (Thompson's idea for
grep, as in Cox, "Regular Expression Matching in the Wild", 2010), the expression an automaton with epsilon moves
(Thompson 1968), that a deterministic one by the subset construction (Rabin & Scott 1959), reduced by partition
refinement (Hopcroft 1971). Conjunction and complement are products of deterministic machines; complement is taken
within valid UTF-8. The 256 bytes are cut into the intervals that the ranges of an expression tell apart: automata have
tens of symbols and not 256.

Why not interegular's own operators: its `crawl` looks new states up in a list and each operator crawls again, which is
quadratic in the number of states several times over. On small expressions the two are compared by the tests.

Invariants of the result: every state is reachable and live (a final state can be reached from it), no two states are
equivalent, and the start state is 0. The empty language is the one exception: a start state and nothing else.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from interegular.fsm import FSM, Alphabet

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.graphs import blocks_of, reached
from schemagen.regex.substrings import suffix_automaton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_SURROGATES = ((0xD800, 0xDFFF),)
_SAME_LENGTH = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, ast.MAX_CODE_POINT))
#: Inclusive ranges, one for each byte of an encoding.
ByteRanges = tuple[tuple[int, int], ...]


def utf8_ranges(ranges: ast.Ranges) -> Iterator[ByteRanges]:
    """Yield sequences of byte ranges that together are the UTF-8 encodings of the code points; surrogates have none."""
    for low, high in ast.intersect_ranges(ranges, ast.invert_ranges(_SURROGATES)):
        for first, last in _SAME_LENGTH:
            if low <= last and first <= high:
                yield from _split(chr(max(low, first)).encode(), chr(min(high, last)).encode())


def _split(low: bytes, high: bytes) -> Iterator[ByteRanges]:
    """Yield byte ranges for all encodings of one length between `low` and `high`, by their first byte."""
    if len(low) == 1:
        yield ((low[0], high[0]),)
        return
    rest = len(low) - 1
    if low[0] == high[0]:
        yield from (((low[0], low[0]), *tail) for tail in _split(low[1:], high[1:]))
        return
    first, last = low[0], high[0]
    if low[1:] != b"\x80" * rest:
        yield from (((first, first), *tail) for tail in _split(low[1:], b"\xbf" * rest))
        first += 1
    if high[1:] != b"\xbf" * rest:
        yield from (((last, last), *tail) for tail in _split(b"\x80" * rest, high[1:]))
        last -= 1
    if first <= last:
        yield ((first, last), *(((0x80, 0xBF),) * rest))


class ByteAlphabet:
    """The 256 bytes cut into the coarsest intervals that an expression cannot tell apart."""

    def __init__(self, regex: ast.Regex) -> None:
        cuts = {0, 256}
        for chars in _char_classes(regex):
            for sequence in utf8_ranges(chars.ranges):
                for low, high in sequence:
                    cuts.update((low, high + 1))
        self.starts = sorted(cuts)

    def classes(self, low: int, high: int) -> range:
        """Return the classes of a range of bytes that lies on the cuts."""
        return range(bisect_left(self.starts, low), bisect_left(self.starts, high + 1))

    def groups(self) -> list[list[str]]:
        """Return the latin-1 characters of each class."""
        return [[chr(byte) for byte in range(a, b)] for a, b in zip(self.starts, self.starts[1:], strict=False)]


def _char_classes(regex: ast.Regex) -> Iterator[ast.Chars]:
    """Yield the classes of code points in an expression, and the one that complement is taken within."""
    yield ast.ANY_CHAR
    stack, seen = [regex], set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Chars):
            yield node
        elif isinstance(node, ast.Substring):
            yield from map(ast.char_set, set(node.text))
        elif id(node) not in seen:
            seen.add(id(node))
            stack.extend((node.inner,) if isinstance(node, ast.Repeat | ast.Complement) else node.parts)


DEAD = -1
#: Characters of a text whose substrings are taken.
MAX_TEXT = 20_000
#: An automaton with epsilon moves has a few times more states than the deterministic one of the same expression.
_NFA_FACTOR = 40

_S = TypeVar("_S")


@dataclass(slots=True)
class Budget:
    """What the construction may use; hostile expressions are input.

    Attributes:
        max_states: Most states of any deterministic automaton on the way.
        max_seconds: Most wall-clock seconds.
    """

    max_states: int
    max_seconds: float
    _started: float = field(default_factory=time.monotonic)
    _ticks: int = 0

    def spend(self, states: int, factor: int = 1) -> None:
        """Count a step of work of an automaton that has so many states now.

        Raises:
            LimitError: There are too many states, or the time is over.
        """
        if states > self.max_states * factor:
            raise LimitError(
                f"the automaton of the reference engine has {states} states, limit {self.max_states * factor}",
                why="it builds every state before the first token"
                + ("; repetitions are written out first" if factor > 1 else ""),
                fix="raise `max_states`, lower the bounds of repetitions and lengths, or use the compiled engine",
            )
        self._ticks += 1
        if self._ticks % 1024 == 0 and time.monotonic() - self._started > self.max_seconds:
            raise LimitError(
                f"the reference engine built its automaton for more than {self.max_seconds} s and has {states} states",
                fix="raise `max_seconds`, simplify the expression, or use the compiled engine",
            )


@dataclass(slots=True)
class Dfa:
    """A deterministic automaton: for each state the next one by byte class, missing if dead. State 0 is the start."""

    rows: list[dict[int, int]]
    finals: set[int]


@dataclass(slots=True)
class Nfa:
    """An automaton with epsilon moves, under construction."""

    moves: list[list[tuple[int, int]]] = field(default_factory=list)
    epsilon: list[list[int]] = field(default_factory=list)

    def new_state(self) -> int:
        """Add a state."""
        self.moves.append([])
        self.epsilon.append([])
        return len(self.moves) - 1

    def closure(self, state: int) -> frozenset[int]:
        """Return the states that matter among those reachable by epsilon moves: all but mere junctions."""
        return frozenset(s for s in reached([state], self.epsilon.__getitem__) if self.moves[s] or not self.epsilon[s])


class Construction:
    """The construction for one expression: everything shares one byte alphabet and one budget."""

    def __init__(self, regex: ast.Regex, budget: Budget) -> None:
        self.alphabet = ByteAlphabet(regex)
        self.budget = budget
        self._sequences: dict[ast.Chars, list[list[range]]] = {}
        self._boolean: dict[int, Dfa] = {}

    # --- deterministic automata --------------------------------------------------------------------------------------

    def dfa(self, regex: ast.Regex) -> Dfa:
        """Return the minimal automaton of an expression."""
        if isinstance(regex, ast.Conjunction):
            return self._product([self.dfa(part) for part in regex.parts], all)
        if isinstance(regex, ast.Complement):
            both = [self.dfa(ast.ANY_STRING), self.dfa(regex.inner)]
            return self._product(both, lambda accepts: accepts[0] and not accepts[1])
        nfa = Nfa()
        start = nfa.new_state()
        # A state of its own for the end: one without moves of any kind is in every closure that reaches it.
        end = nfa.new_state()
        nfa.epsilon[self._thread(nfa, regex, start)].append(end)
        return self._minimal(self._determinise(nfa, start, end))

    def _determinise(self, nfa: Nfa, start: int, end: int) -> Dfa:
        """Rabin & Scott: a state is the set of states that the automaton may be in."""
        closures: dict[int, frozenset[int]] = {}

        def closure(state: int) -> frozenset[int]:
            if state not in closures:
                closures[state] = nfa.closure(state)
            return closures[state]

        def follow(subset: frozenset[int]) -> dict[int, frozenset[int]]:
            targets: defaultdict[int, set[int]] = defaultdict(set)
            for state in subset:
                for symbol, target in nfa.moves[state]:
                    targets[symbol] |= closure(target)
            return {symbol: frozenset(states) for symbol, states in targets.items()}

        return self._crawl(closure(start), follow, lambda subset: end in subset)

    def _product(self, machines: list[Dfa], test: Callable[[list[bool]], bool]) -> Dfa:
        """Run machines side by side; final is what `test` says of their verdicts.

        `test` must be false if the first machine is dead, which is what stops the product.
        """
        rows = [machine.rows for machine in machines]

        def follow(states: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
            first = rows[0][states[0]]
            others = [table[s] if s != DEAD else {} for table, s in zip(rows[1:], states[1:], strict=True)]
            return {c: (target, *(row.get(c, DEAD) for row in others)) for c, target in first.items()}

        def final(states: tuple[int, ...]) -> bool:
            return test([s in machine.finals for s, machine in zip(states, machines, strict=True)])

        return self._minimal(self._crawl((0,) * len(machines), follow, final))

    def _crawl(self, start: _S, follow: Callable[[_S], dict[int, _S]], final: Callable[[_S], bool]) -> Dfa:
        """Number the states reachable from `start` in the order they are found."""
        number = {start: 0}
        waiting = [start]
        dfa = Dfa([], set())
        for state in waiting:  # grows as it is walked
            self.budget.spend(len(waiting))
            row: dict[int, int] = {}
            for symbol, target in follow(state).items():
                if target not in number:
                    number[target] = len(waiting)
                    waiting.append(target)
                row[symbol] = number[target]
            if final(state):
                dfa.finals.add(len(dfa.rows))
            dfa.rows.append(row)
        return dfa

    def _minimal(self, dfa: Dfa) -> Dfa:
        """Drop the states from which nothing can be finished and merge the equivalent ones (Hopcroft)."""
        inverse: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in dfa.rows]
        for state, row in enumerate(dfa.rows):
            for symbol, target in row.items():
                inverse[target][symbol].append(state)
        live = reached(dfa.finals, lambda s: (p for sources in inverse[s].values() for p in sources))
        block_of = blocks_of(inverse, live, dfa.finals, lambda: self.budget.spend(0))
        if 0 not in live:
            return Dfa([{}], set())

        def follow(block: int) -> dict[int, int]:
            row = dfa.rows[member[block]]
            return {symbol: block_of[target] for symbol, target in row.items() if target in live}

        member = {block: state for state, block in block_of.items()}
        return self._crawl(block_of[0], follow, lambda block: member[block] in dfa.finals)

    # --- automata with epsilon moves ---------------------------------------------------------------------------------

    def _thread(self, nfa: Nfa, regex: ast.Regex, start: int) -> int:
        """Add an expression after the state `start`; return the state after the expression."""
        self.budget.spend(len(nfa.moves), _NFA_FACTOR)
        if isinstance(regex, ast.Concat):
            for part in regex.parts:
                start = self._thread(nfa, part, start)
            return start
        if isinstance(regex, ast.Repeat):
            return self._repeat(nfa, regex, start)
        end = nfa.new_state()
        if isinstance(regex, ast.Chars):
            self._characters(nfa, regex, start, end)
        elif isinstance(regex, ast.Substring):
            self._substring(nfa, regex, start, end)
        elif isinstance(regex, ast.Alternation):
            for part in regex.parts:
                branch = nfa.new_state()
                nfa.epsilon[start].append(branch)
                nfa.epsilon[self._thread(nfa, part, branch)].append(end)
        else:
            self._embed(nfa, regex, start, end)
        return end

    def _repeat(self, nfa: Nfa, regex: ast.Repeat, start: int) -> int:
        """Write the repetitions out; those that may be left out can all leave to the same end."""
        for _ in range(regex.low):
            start = self._thread(nfa, regex.inner, start)
        end = nfa.new_state()
        nfa.epsilon[start].append(end)
        if regex.high is None:
            nfa.epsilon[self._thread(nfa, regex.inner, end)].append(end)
            return end
        for _ in range(regex.high - regex.low):
            start = self._thread(nfa, regex.inner, start)
            nfa.epsilon[start].append(end)
        return end

    def _characters(self, nfa: Nfa, regex: ast.Chars, start: int, end: int) -> None:
        """Add the encodings of a class of code points; equal tails share their states."""
        if regex not in self._sequences:
            self._sequences[regex] = [
                [self.alphabet.classes(low, high) for low, high in sequence] for sequence in utf8_ranges(regex.ranges)
            ]
        tails: dict[tuple[range, ...], int] = {(): end}
        for sequence in self._sequences[regex]:
            target = end
            for i in range(len(sequence) - 1, 0, -1):
                tail = tuple(sequence[i:])
                if tail not in tails:
                    tails[tail] = nfa.new_state()
                    nfa.moves[tails[tail]].extend((symbol, target) for symbol in sequence[i])
                target = tails[tail]
            nfa.moves[start].extend((symbol, target) for symbol in sequence[0])

    def _substring(self, nfa: Nfa, regex: ast.Substring, start: int, end: int) -> None:
        """Add the substrings of a text; each of them may end."""
        if len(regex.text) > MAX_TEXT:
            raise LimitError(
                f"the substrings of a text of {len(regex.text):,} characters in pure Python, limit {MAX_TEXT:,}",
                why="each of their states is a dictionary here",
                fix="use the compiled engine, which takes some MB of text",
            )
        moves = suffix_automaton(regex.text)
        states = [start, *(nfa.new_state() for _ in moves[1:])]
        for state, targets in zip(states, moves, strict=True):
            self.budget.spend(len(nfa.moves), _NFA_FACTOR)
            if state != start:
                nfa.epsilon[state].append(end)
            for character, target in targets.items():
                self._characters(nfa, ast.char_set(character), state, states[target])

    def _embed(self, nfa: Nfa, regex: ast.Regex, start: int, end: int) -> None:
        """Add a conjunction or complement as the deterministic automaton that it is."""
        if id(regex) not in self._boolean:
            self._boolean[id(regex)] = self.dfa(regex)
        dfa = self._boolean[id(regex)]
        self.budget.spend(len(nfa.moves) + len(dfa.rows), _NFA_FACTOR)
        states = [nfa.new_state() for _ in dfa.rows]
        nfa.epsilon[start].append(states[0])
        for state, row in zip(states, dfa.rows, strict=True):
            nfa.moves[state].extend((symbol, states[target]) for symbol, target in row.items())
        for final in dfa.finals:
            nfa.epsilon[states[final]].append(end)


def byte_fsm(regex: ast.Regex, *, max_states: int = 20_000, max_seconds: float = 30.0) -> FSM:
    """Return the minimal FSM of an expression over bytes (as latin-1 characters), live states only.

    Args:
        regex: An expression over code points.
        max_states: Most states of any deterministic automaton on the way.
        max_seconds: Most wall-clock seconds.

    Raises:
        LimitError: A limit stopped the work, or the expression is nested too deep for Python's stack.
    """
    try:
        construction = Construction(regex, Budget(max_states, max_seconds))
        dfa = construction.dfa(regex)
    except RecursionError as error:
        raise LimitError(
            "the expression is nested too deep for the reference engine",
            why="it walks the expression by recursion",
            fix="raise `sys.setrecursionlimit`, or use the compiled engine",
        ) from error
    alphabet = Alphabet.from_groups(*construction.alphabet.groups())
    return FSM(
        alphabet=alphabet, states=set(range(len(dfa.rows))), initial=0, finals=dfa.finals, map=dict(enumerate(dfa.rows))
    )


def rows_of(fsm: Any) -> dict[int, dict[int, int]]:
    """Return the transitions of an FSM: state -> symbol -> state, where a missing one is dead."""
    rows: dict[int, dict[int, int]] = fsm.map
    return rows


def start_of(fsm: Any) -> int:
    """Return the state that an FSM starts in."""
    state: int = fsm.initial
    return state


def final_states(fsm: Any) -> set[int]:
    """Return the states of an FSM that a text may end in."""
    return set(fsm.finals)


def symbols_of(fsm: Any, data: Iterable[int]) -> list[int]:
    """Return the symbol that each byte is for an FSM of `byte_fsm`; bytes without one get -1, which no state reads."""
    symbols: list[int | None] = [fsm.alphabet[chr(byte)] for byte in data]
    return [DEAD if symbol is None else symbol for symbol in symbols]

r"""Assertions anywhere, by a deterministic automaton that is turned back into a regular expression.

Idea: run all ways to match the pattern at once. A thread is what remains of the pattern (a leaf that is being matched,
and a stack of the syntax after it) together with its obligation, one language to which the rest of the text has to belong:
`$`, `\b` and look-aheads are intersected into it where they are met, and both are replaced by their derivatives at each
character (alternating automata; Chandra, Kozen & Stockmeyer 1981). The languages of look-behinds are tracked beside the
threads, as the derivatives of (anything x) by the text so far. Threads that differ in their obligation only are
merged by its union, so there are finitely many states. The automaton is minimised (Moore) and its states are eliminated
one by one, the cheapest first, until one expression is left (Kleene; Brzozowski & McCluskey 1963).

This covers every regular pattern, but the expressions are larger than those of `assertions.py`, which is tried first;
`MAX_STATES` and `MAX_NODES` stop the work where they would be too large to be of use. `eliminate_booleans` uses the
same machinery to write an intersection or complement without these operators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemagen.errors import LimitError, UnsupportedPatternError
from schemagen.regex.assertions import NotAlgebraicError, Translator, prefix_language
from schemagen.regex.ast import ANY_STRING, EPSILON, Concat, Ranges, Regex
from schemagen.regex.derivatives import Algebra, State, character_sets
from schemagen.regex.elimination import Automaton, automaton_regex
from schemagen.regex.syntax import (
    PLAIN,
    After,
    Ahead,
    Before,
    Choice,
    LookAhead,
    LookBehind,
    Loop,
    Named,
    Sequence,
    Syntax,
    sequence,
)
from schemagen.threads.clock import poll

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_STATES = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class _Rest:
    """The rest of a pattern: ``node`` (or a leaf that is being matched), then ``then``. Interned, so eq is `is`."""

    node: Syntax | State
    then: _Rest | None


#: (leaf that is being matched, syntax after it) -> obligation; (None, None) is a finished thread.
_Threads = dict[tuple[State | None, _Rest | None], State]
_Key = tuple[tuple[State, ...], frozenset[tuple[tuple[State | None, _Rest | None], State]]]


def _parts(syntax: Syntax) -> Iterator[Syntax]:
    """Yield every node outside of look-arounds, and the look-arounds themselves."""
    stack = [syntax]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, (Sequence, Choice)):
            stack.extend(node.parts)
        elif isinstance(node, Loop):
            stack.append(node.inner)


class _Machine:
    """The automaton of one pattern; states are made on demand by `successor`."""

    def __init__(self, syntax: Syntax) -> None:
        translator = Translator(syntax)
        nodes = list(_parts(syntax))
        self._claims = {id(node): _claims(node, translator) for node in nodes if isinstance(node, LookAhead)}
        behinds = [node for node in nodes if isinstance(node, LookBehind)]
        self._behind_index = {id(node): index for index, node in enumerate(behinds)}
        behind_languages = [_before(node) for node in behinds]
        self.algebra = Algebra(self._sets(nodes, behind_languages, translator.kinds))
        self.behinds = tuple(map(self.algebra.build, behind_languages))
        kind_bits = [self.algebra.alphabet.bits(ranges) for ranges in translator.kinds]
        numbers = range(self.algebra.alphabet.size)
        self.kind_of = [next(k for k, bits in enumerate(kind_bits) if bits >> number & 1) for number in numbers]
        self._kind_bits = kind_bits
        self._rests: dict[tuple[int, int], _Rest] = {}
        self._loops: dict[tuple[int, int, int | None], Loop] = {}
        #: Keeps the nodes alive whose ids are keys above.
        self._syntax = syntax
        self._leaves: dict[int, State] = {}
        self._sets_by_node: dict[int, int] = {}

    def _sets(self, nodes: Iterable[Syntax], behinds: Iterable[Regex], kinds: Iterable[Ranges]) -> Iterator[Ranges]:
        """Yield every character set that a state can depend on."""
        yield from kinds
        yield from character_sets(ANY_STRING)
        for language in (*behinds, *(claim for claims in self._claims.values() for claim in claims)):
            yield from character_sets(language)
        for node in nodes:
            if isinstance(node, (After, Before)):
                yield node.ranges
            elif isinstance(node, Ahead):
                yield from character_sets(node.language)
            elif isinstance(node, PLAIN):
                yield from character_sets(node)

    def _rest(self, node: Syntax | State, then: _Rest | None) -> _Rest:
        return self._rests.setdefault((id(node), id(then)), _Rest(node, then))

    def start(self) -> _Key:
        """Return the state at the start of the text."""
        return self._expand(0, self.behinds, [(self._rest(self._syntax, None), self.algebra.top)])

    def successor(self, key: _Key, number: int) -> _Key:
        """Return the state after a character of class ``number``."""
        algebra = self.algebra
        behinds = tuple(algebra.derivative(state, number) for state in key[0])
        seeds: list[tuple[_Rest | None, State]] = []
        for (leaf, then), obligation in key[1]:
            if leaf is not None:
                remains = self._rest(algebra.derivative(leaf, number), then)
                seeds.append((remains, algebra.derivative(obligation, number)))
        return self._expand(self.kind_of[number], behinds, seeds)

    @staticmethod
    def accepting(key: _Key) -> bool:
        """Return whether the text may end in this state."""
        return any(leaf is None and obligation.nullable for (leaf, _), obligation in key[1])

    def _expand(self, kind: int, behinds: tuple[State, ...], seeds: Iterable[tuple[_Rest | None, State]]) -> _Key:
        """Follow everything that consumes no character, at a position whose left side is known."""
        algebra, threads = self.algebra, _Threads()
        stack, seen = list(seeds), set()
        while stack:
            poll()
            entry = stack.pop()
            rest, obligation = entry
            if entry in seen or obligation is algebra.bottom:
                continue
            seen.add(entry)
            if rest is None or isinstance(rest.node, State):
                self._add(threads, rest, obligation)
            if rest is not None:
                stack.extend(self._step(rest, obligation, kind, behinds))
        return behinds, frozenset(threads.items())

    def _add(self, threads: _Threads, rest: _Rest | None, obligation: State) -> None:
        """Add a thread, merged with one that differs in its obligation only."""
        key: tuple[State | None, _Rest | None] = (None, None)
        if rest is not None:
            assert isinstance(rest.node, State), "only leaves wait for a character"
            if rest.node in (self.algebra.bottom, self.algebra.empty):
                return
            key = (rest.node, rest.then)
        threads[key] = self.algebra.union([obligation, threads.get(key, self.algebra.bottom)])

    def _step(
        self, rest: _Rest, obligation: State, kind: int, behinds: tuple[State, ...]
    ) -> Iterable[tuple[_Rest | None, State]]:
        """Return the steps from the head of ``rest`` that read no character."""
        node, then = rest.node, rest.then
        if isinstance(node, State):
            return [(then, obligation)] if node.nullable else []
        if isinstance(node, PLAIN):
            return [(self._rest(self._leaf(node), then), obligation)]
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                then = self._rest(part, then)
            return [(then, obligation)]
        if isinstance(node, Choice):
            return [(self._rest(part, then), obligation) for part in node.parts]
        if isinstance(node, Named):
            return [(self._rest(node.inner, then), obligation)]
        if isinstance(node, Loop):
            return self._rounds(node, then, obligation)
        if isinstance(node, Before):
            holds = node.edge if kind == 0 else self._kind_bits[kind] & self._bits(node) != 0
            return [(then, obligation)] if holds else []
        if isinstance(node, LookBehind):
            holds = behinds[self._behind_index[id(node)]].nullable != node.negative
            return [(then, obligation)] if holds else []
        return [(then, self.algebra.intersection([obligation, self._claim(node, kind)]))]

    def _rounds(self, node: Loop, then: _Rest | None, obligation: State) -> list[tuple[_Rest | None, State]]:
        """Return leaving a loop, and one more round of it."""
        options: list[tuple[_Rest | None, State]] = [(then, obligation)] if node.low == 0 else []
        if node.high != 0:
            low, high = max(node.low - 1, 0), None if node.high is None else node.high - 1
            key = (id(node.inner), low, high)
            again = self._loops.setdefault(key, Loop(node.inner, low, high, node.position))
            options.append((self._rest(node.inner, self._rest(again, then)), obligation))
        return options

    def _bits(self, node: After | Before) -> int:
        """Return the classes of a set. Cached: finding it by its ranges takes long."""
        known = self._sets_by_node.get(id(node))
        if known is None:
            known = self._sets_by_node[id(node)] = self.algebra.alphabet.bits(node.ranges)
        return known

    def _leaf(self, node: Regex) -> State:
        if id(node) not in self._leaves:
            self._leaves[id(node)] = self.algebra.build(node)
        return self._leaves[id(node)]

    def _claim(self, node: After | Ahead | LookAhead, kind: int) -> State:
        """Return the condition of an assertion on the rest of the text."""
        if isinstance(node, LookAhead):
            return self._leaf(self._claims[id(node)][kind])
        if isinstance(node, Ahead):
            return self._leaf(node.language)
        some = self.algebra.concat(self.algebra.chars(self._bits(node)), self.algebra.top)
        return self.algebra.union([self.algebra.empty, some]) if node.edge else some


def _claims(node: LookAhead, translator: Translator) -> tuple[Regex, ...]:
    """Return the condition of a look-ahead on the rest of the text, per kind of previous character."""
    try:
        return translator.translate(
            sequence((EPSILON, LookAhead(node.inner, node.negative, node.position))), translator.same(ANY_STRING)
        )
    except NotAlgebraicError:
        raise UnsupportedPatternError(
            "look-ahead with this kind of look-around inside it cannot be compiled",
            position=node.position,
            why="inside a look-ahead, a look-behind may have one character, and an unbounded repetition no look-around",
            fix="move the inner look-around out of the look-ahead",
        ) from None


def _before(node: LookBehind) -> Regex:
    """Return the texts that end with a match of the look-behind's inside."""
    try:
        found = prefix_language(sequence((ANY_STRING, node.inner)))
    except NotAlgebraicError:
        found = None
    if found is None:
        raise UnsupportedPatternError(
            "look-behind that itself looks at the text after it cannot be compiled",
            position=node.position,
            why="its inside has an anchor '$', a word boundary or a look-ahead",
            fix="move that assertion out of the look-behind",
        )
    return found


def pattern_language(syntax: Syntax, end: Regex) -> Regex:
    """Return the texts in which ``syntax``, then ``end``, matches from the start to the end.

    Raises:
        UnsupportedPatternError: A look-behind that looks ahead, or look-arounds nested in repetitions of look-aheads.
        LimitError: More than `MAX_STATES` states, or an expression of more than `MAX_NODES` nodes.
    """
    machine = _Machine(Sequence((syntax, end)) if end != Concat(()) else syntax)
    keys = [machine.start()]
    index = {keys[0]: 0}
    edges: list[dict[int, int]] = []
    for key in keys:
        targets: dict[int, int] = {}
        for number in range(machine.algebra.alphabet.size):
            target = machine.successor(key, number)
            if target not in index:
                index[target] = len(keys)
                keys.append(target)
            targets[index[target]] = targets.get(index[target], 0) | 1 << number
        edges.append(targets)
        _check(len(keys))
    accepting = {number for number, key in enumerate(keys) if machine.accepting(key)}
    return automaton_regex(Automaton(edges, accepting), machine.algebra.alphabet)


def eliminate_booleans(regex: Regex) -> Regex:
    """Return the same language without Conjunction and Complement.

    Raises:
        LimitError: More than `MAX_STATES` derivatives, or an expression of more than `MAX_NODES` nodes.
    """
    algebra = Algebra((*character_sets(regex), *character_sets(ANY_STRING)))
    states = [algebra.build(regex)]
    index = {states[0]: 0}
    edges: list[dict[int, int]] = []
    for state in states:
        poll()
        targets: dict[int, int] = {}
        for bits, target in algebra.successors(state):
            if target not in index:
                index[target] = len(states)
                states.append(target)
            targets[index[target]] = targets.get(index[target], 0) | bits
        edges.append(targets)
        _check(len(states))
    accepting = {number for number, state in enumerate(states) if state.nullable}
    return automaton_regex(Automaton(edges, accepting), algebra.alphabet)


def _check(count: int) -> None:
    if count > MAX_STATES:
        raise LimitError(
            f"{count} states are needed for the look-arounds or intersections of a pattern, limit {MAX_STATES}",
            fix="state the rule without look-arounds inside repetitions, or with smaller counters",
        )

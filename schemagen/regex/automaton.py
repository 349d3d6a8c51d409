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
from schemagen.regex.alphabet import character_sets
from schemagen.regex.assertions import NotAlgebraicError, Translator, prefix_language
from schemagen.regex.ast import ANY_STRING, EPSILON, Chars, Concat, Ranges, Regex
from schemagen.regex.elimination import Automaton, automaton_regex
from schemagen.regex.language import States
from schemagen.regex.lowering import EMPTY_NODE, EPSILON_NODE
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
    """The rest of a pattern: ``node`` (or a leaf that is being matched, a state), then ``then``. Interned, so eq is `is`."""

    node: Syntax | int
    then: _Rest | None


#: (leaf that is being matched, syntax after it) -> obligation; (None, None) is a finished thread.
_Threads = dict[tuple[int | None, _Rest | None], int]
_Key = tuple[tuple[int, ...], frozenset[tuple[tuple[int | None, _Rest | None], int]]]


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
        self.states = States(self._sets(nodes, behind_languages, translator.kinds))
        self.behinds = tuple(map(self.states.build, behind_languages))
        kind_bits = [self.states.alphabet.bits(ranges) for ranges in translator.kinds]
        numbers = range(self.states.alphabet.size)
        self.kind_of = [next(k for k, bits in enumerate(kind_bits) if bits >> number & 1) for number in numbers]
        self._kind_bits = kind_bits
        self._rests: dict[tuple[int, int], _Rest] = {}
        self._loops: dict[tuple[int, int, int | None], Loop] = {}
        #: Keeps the nodes alive whose ids are keys above.
        self._syntax = syntax
        self._leaves: dict[int, int] = {}
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

    def _rest(self, node: Syntax | int, then: _Rest | None) -> _Rest:
        key = -node if isinstance(node, int) else id(node)
        return self._rests.setdefault((key, id(then)), _Rest(node, then))

    def start(self) -> _Key:
        """Return the state at the start of the text."""
        return self._expand(0, self.behinds, [(self._rest(self._syntax, None), self.states.top)])

    def successor(self, key: _Key, number: int) -> _Key:
        """Return the state after a character of class ``number``."""
        states = self.states
        behinds = tuple(states.derivative(state, number) for state in key[0])
        seeds: list[tuple[_Rest | None, int]] = []
        for (leaf, then), obligation in key[1]:
            if leaf is not None:
                remains = self._rest(states.derivative(leaf, number), then)
                seeds.append((remains, states.derivative(obligation, number)))
        return self._expand(self.kind_of[number], behinds, seeds)

    def accepting(self, key: _Key) -> bool:
        """Return whether the text may end in this state."""
        return any(leaf is None and self.states.is_nullable(obligation) for (leaf, _), obligation in key[1])

    def _expand(self, kind: int, behinds: tuple[int, ...], seeds: Iterable[tuple[_Rest | None, int]]) -> _Key:
        """Follow everything that consumes no character, at a position whose left side is known."""
        threads = _Threads()
        stack, seen = list(seeds), set()
        while stack:
            poll()
            entry = stack.pop()
            rest, obligation = entry
            if entry in seen or obligation == EMPTY_NODE:
                continue
            seen.add(entry)
            if rest is None or isinstance(rest.node, int):
                self._add(threads, rest, obligation)
            if rest is not None:
                stack.extend(self._step(rest, obligation, kind, behinds))
        return behinds, frozenset(threads.items())

    def _add(self, threads: _Threads, rest: _Rest | None, obligation: int) -> None:
        """Add a thread, merged with one that differs in its obligation only."""
        key: tuple[int | None, _Rest | None] = (None, None)
        if rest is not None:
            assert isinstance(rest.node, int), "only leaves wait for a character"
            if rest.node in (EMPTY_NODE, EPSILON_NODE):
                return
            key = (rest.node, rest.then)
        threads[key] = self.states.union([obligation, threads.get(key, EMPTY_NODE)])

    def _step(
        self, rest: _Rest, obligation: int, kind: int, behinds: tuple[int, ...]
    ) -> Iterable[tuple[_Rest | None, int]]:
        """Return the steps from the head of ``rest`` that read no character."""
        node, then = rest.node, rest.then
        if isinstance(node, int):
            return [(then, obligation)] if self.states.is_nullable(node) else []
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
            holds = self.states.is_nullable(behinds[self._behind_index[id(node)]]) != node.negative
            return [(then, obligation)] if holds else []
        return [(then, self.states.intersection([obligation, self._claim(node, kind)]))]

    def _rounds(self, node: Loop, then: _Rest | None, obligation: int) -> list[tuple[_Rest | None, int]]:
        """Return leaving a loop, and one more round of it."""
        options: list[tuple[_Rest | None, int]] = [(then, obligation)] if node.low == 0 else []
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
            known = self._sets_by_node[id(node)] = self.states.alphabet.bits(node.ranges)
        return known

    def _leaf(self, node: Regex) -> int:
        if id(node) not in self._leaves:
            self._leaves[id(node)] = self.states.build(node)
        return self._leaves[id(node)]

    def _claim(self, node: After | Ahead | LookAhead, kind: int) -> int:
        """Return the condition of an assertion on the rest of the text."""
        if isinstance(node, LookAhead):
            return self._leaf(self._claims[id(node)][kind])
        if isinstance(node, Ahead):
            return self._leaf(node.language)
        some = self.states.concat([self.states.build(Chars(node.ranges)), self.states.top])
        return self.states.union([EPSILON_NODE, some]) if node.edge else some


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
        for number in range(machine.states.alphabet.size):
            target = machine.successor(key, number)
            if target not in index:
                index[target] = len(keys)
                keys.append(target)
            targets[index[target]] = targets.get(index[target], 0) | 1 << number
        edges.append(targets)
        _check(len(keys))
    accepting = {number for number, key in enumerate(keys) if machine.accepting(key)}
    return automaton_regex(Automaton(edges, accepting), machine.states.alphabet)


def eliminate_booleans(regex: Regex) -> Regex:
    """Return the same language without Conjunction and Complement.

    Raises:
        LimitError: More than `MAX_STATES` derivatives, or an expression of more than `MAX_NODES` nodes.
    """
    states = States((*character_sets(regex), *character_sets(ANY_STRING)))
    found = [states.build(regex)]
    index = {found[0]: 0}
    edges: list[dict[int, int]] = []
    for state in found:
        poll()
        targets: dict[int, int] = {}
        for bits, target in states.successors(state):
            if target not in index:
                index[target] = len(found)
                found.append(target)
            targets[index[target]] = bits
        edges.append(targets)
        _check(len(found))
    accepting = {number for number, state in enumerate(found) if states.is_nullable(state)}
    return automaton_regex(Automaton(edges, accepting), states.alphabet)


def _check(count: int) -> None:
    if count > MAX_STATES:
        raise LimitError(
            f"{count} states are needed for the look-arounds or intersections of a pattern, limit {MAX_STATES}",
            fix="state the rule without look-arounds inside repetitions, or with smaller counters",
        )

"""Koo, Liu & He (2024, arXiv:2407.08103), section 3: pushdown automata of grammars, and their composition with T_V.

A rule is an automaton. To call another one is to push a return address, the item after the call, and to go to its
first item; a rule that may end pops the address and goes there (Allauzen & Riley 2012, section 4.5). Composition with
the detokenizing transducer follows both character by character and leaves the stack to the grammar, so a token may push
and pop several addresses.

Where the paper needs care:

- Acceptance is by state, whatever the stack holds. The initial stack symbol S is therefore popped by an edge to the one
  final state, which is how a text that leaves rules open is refused.
- The paper wants a deterministic automaton and reports an error for grammars without one. Here all configurations are
  followed, so only left recursion is refused, which would push without end and read nothing.
- An address at which a rule would do nothing but end is not pushed. Then the stack does not grow with right recursion.

Characters are bytes. Stacks are tuples with the top last, as in the paper.

Invariants: an edge pops and pushes at most one symbol, so this is the automaton of Willard & Louf's Definition 2, too;
from each configuration that is reached a text comes to its end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from schemagen.context_free.items import Items, Readable, items_of
from schemagen.context_free.simplify import nullable_rules
from schemagen.context_free.syntax import ContextFreeGrammar, Rule
from schemagen.errors import UnsupportedGrammarError
from schemagen.reference.frames import fsms_of, without_dead_rules
from schemagen.reference.fsm import final_states, rows_of, start_of, symbols_of
from schemagen.reference.transducers import EPSILON, Fst, Label, State
from schemagen.regex.graphs import reached

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

Stack: TypeAlias = "tuple[State, ...]"
#: Source, input label or `EPSILON`, popped symbols, target, pushed symbols.
Edge: TypeAlias = "tuple[State, Label, Stack, State, Stack]"
#: A state and the stack.
Configuration: TypeAlias = "tuple[State, Stack]"

#: S, the initial stack symbol, and the state after the whole text.
BOTTOM = "bottom"
FINISH = "finish"


@dataclass(frozen=True)
class Pda:
    """A pushdown automaton (section 3.1) whose initial stack is `BOTTOM`.

    Attributes:
        edges: As `Edge`.
        initial: I.
        finals: F.
    """

    edges: frozenset[Edge]
    initial: State
    finals: frozenset[State]

    @cached_property
    def outbound(self) -> Mapping[State, Sequence[Edge]]:
        """The edges of each state."""
        edges: defaultdict[State, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            edges[edge[0]].append(edge)
        return edges

    def start(self) -> frozenset[Configuration]:
        """Return the configurations before the first symbol."""
        return self._closure([(self.initial, (BOTTOM,))])

    def read(self, configurations: Iterable[Configuration], symbol: Label) -> frozenset[Configuration]:
        """Return the configurations after a symbol; none if it cannot follow."""
        return self._closure(after for each in configurations for label, after in self._moves(each) if label == symbol)

    def readable(self, configurations: Iterable[Configuration]) -> set[Label]:
        """Return the symbols that can follow: for a composition with T_V the mask, EOS apart."""
        return {label for each in configurations for label, _ in self._moves(each)} - {EPSILON}

    def may_end(self, configurations: Iterable[Configuration]) -> bool:
        """Whether the text may end."""
        return any(state in self.finals for state, _ in configurations)

    def accepts(self, word: Iterable[Label]) -> bool:
        """Whether a sequence of symbols is of the language."""
        configurations = self.start()
        for symbol in word:
            configurations = self.read(configurations, symbol)
        return self.may_end(configurations)

    def _moves(self, configuration: Configuration) -> Iterator[tuple[Label, Configuration]]:
        """Yield the labels of edges and where they lead, if the symbols that they pop are on top of the stack."""
        state, stack = configuration
        for _, label, pops, target, pushes in self.outbound.get(state, ()):
            kept = len(stack) - len(pops)
            if kept >= 0 and stack[kept:] == pops:
                yield label, (target, stack[:kept] + pushes)

    def _closure(self, configurations: Iterable[Configuration]) -> frozenset[Configuration]:
        def empty_moves(configuration: Configuration) -> Iterable[Configuration]:
            return (after for label, after in self._moves(configuration) if label == EPSILON)

        return frozenset(reached(configurations, empty_moves))


def composed(automaton: Pda, transducer: Fst) -> Pda:
    """Return P o T: the automaton that reads what T reads, where P reads what T writes (section 3.2)."""
    initial = (transducer.initial, automaton.initial)
    edges: set[Edge] = set()
    seen, todo = {initial}, [initial]
    while todo:
        here = todo.pop()
        for read, pops, target, pushes in _composed_moves(automaton, transducer, here):
            edges.add((here, read, pops, target, pushes))
            if target not in seen:
                seen.add(target)
                todo.append(target)
    finals = frozenset(pair for pair in seen if pair[0] in transducer.finals and pair[1] in automaton.finals)
    return Pda(frozenset(edges), initial, finals)


def _composed_moves(
    automaton: Pda, transducer: Fst, here: tuple[State, State]
) -> Iterator[tuple[Label, Stack, tuple[State, State], Stack]]:
    outer, inner = here
    for _, label, pops, target, pushes in automaton.outbound.get(inner, ()):
        if label == EPSILON:
            yield EPSILON, pops, (outer, target), pushes
            continue
        for read, written, following in transducer.outbound.get(outer, ()):
            if written == label:
                yield read, pops, (following, target), pushes


def pda_of(grammar: ContextFreeGrammar, alphabet: Collection[int] = range(256)) -> Pda:
    """Return the pushdown automaton of a grammar over bytes.

    Args:
        grammar: Rules over texts and terminals.
        alphabet: The bytes that matter; edges over others are left out.

    Raises:
        UnsatisfiableSchemaError: It derives no text.
        UnsupportedGrammarError: It is left recursive, or needs a lexer, tables or indentation.
    """
    return _Construction(without_dead_rules(grammar), alphabet).made()


class _Construction:
    """The automaton of one grammar, edge by edge. States are a rule and an item, and within a text also how far it is read."""

    def __init__(self, grammar: ContextFreeGrammar, alphabet: Collection[int]) -> None:
        if grammar.ignored:
            raise UnsupportedGrammarError(
                "a grammar with ignored terminals",
                why="a pushdown automaton reads rules only",
                fix="write the terminals into the rules",
            )
        self._start = grammar.start
        self._alphabet = alphabet
        self._items = {name: items_of(body) for name, body in grammar.rules.items()}
        self._nullable = nullable_rules(grammar.rules)
        self._fsms = fsms_of(grammar, self._items)
        self._edges: set[Edge] = set()

    def made(self) -> Pda:
        for name in self._items:
            self._refuse_left_recursion(name)
        for name, items in self._items.items():
            for item in range(len(items.edges)):
                self._add_item(name, items, item)
        self._add_returns()
        return Pda(frozenset(self._edges), (self._start, 0), frozenset([FINISH]))

    def _refuse_left_recursion(self, name: str) -> None:
        seen, todo = set[str](), [name]
        while todo:
            for callee in first_calls(self._items[todo.pop()], self._nullable) - seen:
                if callee == name:
                    raise UnsupportedGrammarError(
                        f"the rule {name!r} is left recursive",
                        why="its pushdown automaton would push return addresses without reading",
                        fix="write it with a repetition, or use schemagen.reference.compile",
                    )
                seen.add(callee)
                todo.append(callee)

    def _add_item(self, name: str, items: Items, item: int) -> None:
        for number, (symbol, to) in enumerate(items.edges[item]):
            if isinstance(symbol, Rule):
                pushes = () if _only_ends(items, to) else ((name, to),)
                self._edges.add(((name, item), EPSILON, (), (symbol.name, 0), pushes))
            else:
                self._add_text((name, item), (name, item, number), symbol, (name, to))

    def _add_text(self, source: State, within: tuple[State, ...], symbol: Readable, target: State) -> None:
        """Add the states within a text, named by the edge that it is."""
        fsm = self._fsms[symbol]
        symbols = dict(zip(self._alphabet, symbols_of(fsm, self._alphabet), strict=True))
        for state, row in rows_of(fsm).items():
            for byte, reading in symbols.items():
                following = row.get(reading)
                if following is None:
                    continue
                begins: list[State] = [(*within, state)]
                begins += [source] if state == start_of(fsm) else []
                ends: list[State] = [(*within, following)] if rows_of(fsm)[following] else []
                ends += [target] if following in final_states(fsm) else []
                self._edges |= {(begin, byte, (), end, ()) for begin in begins for end in ends}

    def _add_returns(self) -> None:
        """Add the edges that pop: from the ends of a rule to the addresses that may be on top of the stack there."""
        for name, addresses in self._addresses().items():
            for item in self._items[name].accepting:
                for address in addresses:
                    target = FINISH if address == BOTTOM else address
                    self._edges.add(((name, item), EPSILON, (address,), target, ()))

    def _addresses(self) -> dict[str, set[State]]:
        """Return the return addresses that may be on top of the stack in each rule; calls in last place hand theirs on."""
        above: dict[str, set[State]] = {name: set() for name in self._items}
        above[self._start].add(BOTTOM)
        before = -1
        while before != (before := sum(map(len, above.values()))):
            for name, items in self._items.items():
                for symbol, to in (edge for edges in items.edges for edge in edges):
                    if isinstance(symbol, Rule):
                        above[symbol.name] |= above[name] if _only_ends(items, to) else {(name, to)}
        return above


def _only_ends(items: Items, item: int) -> bool:
    """Whether nothing can be done at an item but to end the rule."""
    return item in items.accepting and not items.edges[item]


def first_calls(items: Items, nullable: Collection[str]) -> set[str]:
    """Return the rules that a rule may call before anything is read."""
    found, seen, todo = set[str](), {0}, [0]
    while todo:
        for symbol, to in items.edges[todo.pop()]:
            if isinstance(symbol, Rule):
                found.add(symbol.name)
                if symbol.name in nullable and to not in seen:
                    seen.add(to)
                    todo.append(to)
    return found

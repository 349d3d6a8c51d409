"""Koo, Liu & He (2024, arXiv:2407.08103), sections 2.1 to 2.4: detokenization as a transducer, automata over tokens.

To detokenize is to read tokens and write characters, which a finite-state transducer T_V does: a loop for each token.
An automaton A over characters, composed with it, is an automaton A o T_V over tokens: it reads a token where A reads
the characters that T_V writes for it. Nothing in that knows of tokens that cross the border of two parts of an
expression; they come out right because composition follows both automata character by character.

The determinized composition and the index of Willard & Louf (2023, `index.py`) are the same automaton: a state of the
one is a state of A between two tokens, and its outbound edges are what sigma has for that state. A test says so.

What the paper leaves out: a token may lead to a state from which no sequence of tokens comes to an end. `Fsa.trimmed`
drops such states; the paper's tokens cover all characters, and then there are none if A has none.

Symbols are what Python compares: characters of a str or bytes on the one side, tokens by id on the other.

Invariants: no automaton has an edge twice; states are hashable and keep their names, so those of a composition are pairs
(of T_V, of A).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.reference.fsm import final_states, rows_of, start_of, symbols_of
from schemagen.regex.graphs import reached

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from interegular.fsm import FSM

State: TypeAlias = "Hashable"
#: The label of an edge that reads, or writes, nothing. (A symbol of its own: None may be a label of users.)
EPSILON = "epsilon"
Label: TypeAlias = "Hashable"


@dataclass(frozen=True)
class Fsa:
    """A finite-state automaton (section 2.1): its edges, the initial state I and the final states F.

    Attributes:
        edges: (source, input label or `EPSILON`, target).
        initial: I.
        finals: F.
    """

    edges: frozenset[tuple[State, Label, State]]
    initial: State
    finals: frozenset[State]

    @cached_property
    def outbound(self) -> Mapping[State, Sequence[tuple[Label, State]]]:
        """Labels and targets of the edges of each state."""
        edges: defaultdict[State, list[tuple[Label, State]]] = defaultdict(list)
        for source, label, target in self.edges:
            edges[source].append((label, target))
        return edges

    def accepts(self, word: Iterable[Label]) -> bool:
        """Whether a sequence of symbols is of the language."""
        states = self._closure([self.initial])
        for symbol in word:
            states = self._closure(t for s in states for label, t in self.outbound.get(s, ()) if label == symbol)
        return not states.isdisjoint(self.finals)

    def determinized(self) -> Fsa:
        """Return the deterministic automaton of the same language, whose states are sets of states (Rabin & Scott 1959)."""
        initial = self._closure([self.initial])
        edges: set[tuple[State, Label, State]] = set()
        seen, todo = {initial}, [initial]
        while todo:
            states = todo.pop()
            targets: defaultdict[Label, set[State]] = defaultdict(set)
            for state in states:
                for label, target in self.outbound.get(state, ()):
                    if label != EPSILON:
                        targets[label].add(target)
            for label, reading in targets.items():
                following = self._closure(reading)
                edges.add((states, label, following))
                if following not in seen:
                    seen.add(following)
                    todo.append(following)
        return Fsa(frozenset(edges), initial, frozenset(s for s in seen if not s.isdisjoint(self.finals)))

    def trimmed(self) -> Fsa:
        """Return the automaton without the edges to states from which no final one is reached."""
        before: defaultdict[State, set[State]] = defaultdict(set)
        for source, _, target in self.edges:
            before[target].add(source)
        live = reached(self.finals, before.__getitem__)
        return Fsa(frozenset(edge for edge in self.edges if edge[2] in live), self.initial, self.finals)

    def _closure(self, states: Iterable[State]) -> frozenset[State]:
        """Return the states that are reached without reading."""

        def after(state: State) -> Iterable[State]:
            return (target for label, target in self.outbound.get(state, ()) if label == EPSILON)

        return frozenset(reached(states, after))


@dataclass(frozen=True)
class Fst:
    """A finite-state transducer (section 2.2): an automaton whose edges write, too.

    Attributes:
        edges: (source, input label, output label, target); each label may be `EPSILON`.
        initial: I.
        finals: F.
    """

    edges: frozenset[tuple[State, Label, Label, State]]
    initial: State
    finals: frozenset[State]

    @cached_property
    def outbound(self) -> Mapping[State, Sequence[tuple[Label, Label, State]]]:
        """Labels and targets of the edges of each state."""
        edges: defaultdict[State, list[tuple[Label, Label, State]]] = defaultdict(list)
        for source, read, written, target in self.edges:
            edges[source].append((read, written, target))
        return edges

    def transduce(self, word: Sequence[Label]) -> set[tuple[Label, ...]]:
        """Return the output for a sequence of symbols: T(w). The transducer writes only finitely much without reading."""
        seen: set[tuple[State, int, tuple[Label, ...]]] = {(self.initial, 0, ())}
        todo = list(seen)
        while todo:
            state, at, output = todo.pop()
            for read, written, target in self.outbound.get(state, ()):
                if read != EPSILON and (at == len(word) or word[at] != read):
                    continue
                new = (target, at + (read != EPSILON), output if written == EPSILON else (*output, written))
                if new not in seen:
                    seen.add(new)
                    todo.append(new)
        return {output for state, at, output in seen if at == len(word) and state in self.finals}


#: The state of a detokenizer between two tokens; those within are the characters so far.
ROOT: tuple[Any, ...] = ()


def detokenizer(vocabulary: Mapping[Any, Sequence[Any]]) -> Fst:
    """Return T_V, which reads tokens and writes their characters (section 2.3).

    A token's characters are written on the way down a trie, whose edges read nothing; the last one reads the token and
    leads back to the root. (For a prefix code this is a decoder; for tokens it guesses which one is meant, and is
    non-deterministic.)

    Args:
        vocabulary: The tokens and their characters; those without characters are left out.
    """
    edges: set[tuple[State, Label, Label, State]] = set()
    for token, spelling in vocabulary.items():
        characters = tuple(spelling)
        for at in range(len(characters) - 1):
            edges.add((characters[:at], EPSILON, characters[at], characters[: at + 1]))
        if characters:
            edges.add((characters[:-1], token, characters[-1], ROOT))
    return Fst(frozenset(edges), ROOT, frozenset([ROOT]))


def composed(automaton: Fsa, transducer: Fst) -> Fsa:
    """Return A o T: the automaton that reads what T reads, where A reads what T writes (section 2.2).

    Its states are pairs; an edge that writes nothing leaves A where it is, one of A that reads nothing leaves T.
    """
    initial = (transducer.initial, automaton.initial)
    edges: set[tuple[State, Label, State]] = set()
    seen, todo = {initial}, [initial]
    while todo:
        here = todo.pop()
        for read, target in _moves(automaton, transducer, here):
            edges.add((here, read, target))
            if target not in seen:
                seen.add(target)
                todo.append(target)
    finals = frozenset(pair for pair in seen if pair[0] in transducer.finals and pair[1] in automaton.finals)
    return Fsa(frozenset(edges), initial, finals)


def _moves(automaton: Fsa, transducer: Fst, here: tuple[State, State]) -> Iterable[tuple[Label, tuple[State, State]]]:
    outer, inner = here
    for label, target in automaton.outbound.get(inner, ()):
        if label == EPSILON:
            yield EPSILON, (outer, target)
    for read, written, target in transducer.outbound.get(outer, ()):
        if written == EPSILON:
            yield read, (target, inner)
            continue
        for label, following in automaton.outbound.get(inner, ()):
            if label == written:
                yield read, (target, following)


def adapted(automaton: Fsa, vocabulary: Mapping[Any, Sequence[Any]]) -> Fsa:
    """Return the deterministic automaton over tokens of an automaton over characters: the method of section 2.4."""
    return composed(automaton, detokenizer(vocabulary)).trimmed().determinized()


def valid_tokens(automaton: Fsa, state: State) -> set[Label]:
    """Return the labels of the outbound edges of a state: the mask, EOS apart (step 1 of decoding in section 2.4)."""
    return {label for label, _ in automaton.outbound.get(state, ())}


def fsa_of(fsm: FSM, alphabet: Collection[int]) -> Fsa:
    """Return a machine of `byte_fsm` over those of the bytes that matter, as the paper writes an automaton."""
    symbols = dict(zip(alphabet, symbols_of(fsm, alphabet), strict=True))
    edges = {
        (state, byte, row[symbol])
        for state, row in rows_of(fsm).items()
        for byte, symbol in symbols.items()
        if symbol in row
    }
    return Fsa(frozenset(edges), start_of(fsm), frozenset(final_states(fsm)))

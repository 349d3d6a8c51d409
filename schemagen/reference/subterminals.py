"""DOMINO (Beurer-Kellner, Fischer & Vechev 2024, arXiv:2403.06988, section 3), as it is printed, in pure Python.

A scanner reads characters and says which terminals they may be parts of; a parser reads terminals. Before generation,
each token is read from each state of the scanner, and gives the sequences of *subterminals* that it may be there: the
end of the terminal that is open, whole ones, the beginning of the last. These sequences are a tree (Algorithm 2). At
each step the parser walks the tree of the scanner's state, and the tokens at the nodes that it comes to are the mask.
It goes `lookahead + 1` subterminals deep; without a bound the mask is exact.

Where the print needs care:

- Section 3.2 adds a transition "from q0 to qa, to allow for the chaining of multiple tokens". It has to lead from qa,
  where a terminal has ended, to q0, where the next one begins; then the language is R = r+ as in Lemma 3.1. It is so
  here.
- A terminal that may end without a further character leaves no subterminal in a sequence. From within an int, "+" is
  the sequence (full +), as in Figure 3 (d), though the int ends there: the parser reads the int first.
- Section 3.4 has the token "1 (" enter the mask after "(12" with k = 2. No text of the printed grammar has an int
  before a bracket, and with the algorithm as printed the token stays masked. The masks of Figure 3 (e) name the token
  "1 +" in its place, which the vocabulary of Figure 3 (c) does not have; that one enters the mask with k = 2, as end of
  int, whitespace and plus.
- Whitespace is a terminal of the scanner in Figure 3 (b) and stands in no rule of Figure 3 (a); it is `ignored` here:
  the parser stays where it is. It counts as a subterminal, which is what makes "1 +" three.
- The automaton of a terminal is any. Here it is the minimal one, where Figure 4 has one state for each place in the
  expression.

Characters are bytes. A lexer's longest match is no part of the paper: a terminal may end wherever one of its texts
does.

Invariants: a pair of scanner state and parser frame is kept only if the parser expects the terminal that the
scanner is in; the frame is the one in front of that terminal.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from schemagen.context_free.syntax import Terminal
from schemagen.reference.frames import Frame, Parser, fsms_of
from schemagen.reference.fsm import final_states, rows_of, start_of, symbols_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from interegular.fsm import FSM

    from schemagen.context_free.items import Readable
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.vocabulary import Vocabulary

Kind = Literal["full", "start", "end", "continuation"]
Symbol: TypeAlias = "Readable"

#: The terminal that the end-of-sequence token is, ``$`` in Lemma 3.1.
EOS = Terminal("$")


@dataclass(frozen=True, slots=True)
class Subterminal:
    """A part of a terminal that a token reads (section 3.3).

    Attributes:
        kind: "full" from before the terminal to an accepting state, "start" to another one; "end" from within the
            terminal to an accepting state, "continuation" to another one.
        terminal: The terminal.
    """

    kind: Kind
    terminal: Symbol


@dataclass(frozen=True, slots=True)
class ScannerState:
    """A state of the scanner: one of the automaton of a terminal, or without a terminal q0."""

    terminal: Symbol | None = None
    state: int = 0


#: q0, between terminals.
BORDER = ScannerState()


class Scanner:
    """The automaton of all sequences of terminals (section 3.2).

    Args:
        fsms: The automaton of each terminal over bytes, live states only.
    """

    def __init__(self, fsms: Mapping[Symbol, FSM]) -> None:
        self._fsms = dict(fsms)

    def states(self) -> Iterator[ScannerState]:
        """Yield every state: q0, and those of the terminals."""
        yield BORDER
        for terminal, fsm in self._fsms.items():
            for state in sorted(rows_of(fsm)):
                yield ScannerState(terminal, state)

    def may_end(self, at: ScannerState) -> bool:
        """Whether no terminal is open, or the one that is may end."""
        return at.terminal is None or at.state in final_states(self._fsms[at.terminal])

    def traverse(self, at: ScannerState, token: bytes) -> Iterator[tuple[tuple[Subterminal, ...], ScannerState]]:
        """Yield the sequences of subterminals that a token may be in a state, each with the state after it.

        Cost: the number of sequences, which may be exponential in the token where terminals can be cut anywhere.
        """
        if at.terminal is not None:
            yield from self._parts(at.terminal, at.state, token, ("end", "continuation"))
        if self.may_end(at):
            yield from self._from_border(token)

    def _from_border(self, token: bytes) -> Iterator[tuple[tuple[Subterminal, ...], ScannerState]]:
        for terminal, fsm in self._fsms.items():
            yield from self._parts(terminal, start_of(fsm), token, ("full", "start"))

    def _parts(
        self, terminal: Symbol, state: int, token: bytes, kinds: tuple[Kind, Kind]
    ) -> Iterator[tuple[tuple[Subterminal, ...], ScannerState]]:
        """Yield the sequences that begin in a terminal; the kinds are those of a part that ends, and of one that does not."""
        fsm = self._fsms[terminal]
        for read, symbol in enumerate(symbols_of(fsm, token), start=1):
            following = rows_of(fsm)[state].get(symbol)
            if following is None:
                return
            state = following
            ends = state in final_states(fsm)
            if read == len(token):
                yield (Subterminal(kinds[0] if ends else kinds[1], terminal),), ScannerState(terminal, state)
            elif ends:
                for rest, beyond in self._from_border(token[read:]):
                    yield (Subterminal(kinds[0], terminal), *rest), beyond


@dataclass(slots=True)
class SubterminalTree:
    """Sequences of subterminals by their prefixes: T_q of Algorithm 2.

    Attributes:
        children: The tree after each subterminal.
        tokens: The tokens whose sequence ends here.
    """

    children: defaultdict[Subterminal, SubterminalTree] = field(default_factory=lambda: defaultdict(SubterminalTree))
    tokens: set[int] = field(default_factory=set)

    def add(self, sequence: Sequence[Subterminal], token_id: int) -> None:
        """Put a token at the end of its sequence."""
        node = self
        for subterminal in sequence:
            node = node.children[subterminal]
        node.tokens.add(token_id)


def construct_trees(scanner: Scanner, vocabulary: Vocabulary) -> dict[ScannerState, SubterminalTree]:
    """Return the subterminal tree of each state of a scanner: Algorithm 2.

    Cost: O(states V), times the sequences of a token.
    """
    trees: dict[ScannerState, SubterminalTree] = {}
    for state in scanner.states():
        tree = trees[state] = SubterminalTree()
        for token_id, token in enumerate(vocabulary.tokens):
            if token and token_id not in vocabulary.eos_token_ids:
                for sequence, _ in scanner.traverse(state, token):
                    tree.add(sequence, token_id)
        for token_id in vocabulary.eos_token_ids if scanner.may_end(state) else ():
            tree.add((Subterminal("full", EOS),), token_id)
    return trees


class Domino:
    """A grammar over a vocabulary with its scanner and trees, all made offline.

    Args:
        grammar: Rules over terminals and texts; terminals in `ContextFreeGrammar.ignored` may stand anywhere between
            others.
        vocabulary: The tokens.

    Raises:
        UnsatisfiableSchemaError: The grammar derives no text.
        UnsupportedGrammarError: It needs a lexer, tables or indentation.
    """

    def __init__(self, grammar: ContextFreeGrammar, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.parser = Parser(grammar)
        self.scanner = Scanner(fsms_of(self.parser.grammar, self.parser.items))
        self.trees = construct_trees(self.scanner, vocabulary)
        self._ignored = {Terminal(name) for name in grammar.ignored}

    def checker(self, lookahead: int | None = None) -> Checker:
        """Return a checker at the start: ``C.init()`` of Algorithm 1.

        Args:
            lookahead: The paper's k: how deep masks go into the trees, ``k + 1`` subterminals. None for all of them.
        """
        return Checker(self, lookahead)

    def beyond(self, frame: Frame | None, terminal: Symbol | None) -> Frame | None:
        """Return the frame after a terminal; None if the parser does not expect it."""
        if frame is None or terminal is None or terminal in self._ignored:
            return frame
        return self.parser.advance([(frame, terminal)])

    def follow(self, frame: Frame | None, beyond: Frame | None, part: Subterminal) -> tuple[Frame | None, Frame | None]:
        """Return the frames in front of a subterminal's terminal and after it, the second None if it is not expected.

        Args:
            frame: The one in front of the terminal that is open.
            beyond: The one after that terminal.
            part: The subterminal that is read.
        """
        if part.kind in ("end", "continuation"):
            return frame, beyond
        return beyond, self.beyond(beyond, part.terminal)


class Checker:
    """The scanner and the parser of one text: C of Algorithm 1."""

    def __init__(self, domino: Domino, lookahead: int | None) -> None:
        self._domino = domino
        self._depth = None if lookahead is None else lookahead + 1
        self._active: set[tuple[ScannerState, Frame]] = {(BORDER, domino.parser.start)}

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids that end a text."""
        return self._domino.vocabulary.eos_token_ids

    def states(self) -> set[ScannerState]:
        """Return the states that the scanner may be in."""
        return {state for state, _ in self._active}

    def update(self, token_id: int) -> bool:
        """Read a token, which crosses any number of borders; return False, and change nothing, if it cannot follow."""
        domino = self._domino
        active = set()
        for state, frame in self._active:
            for sequence, reached in domino.scanner.traverse(state, domino.vocabulary.tokens[token_id]):
                before: Frame | None = frame
                beyond = domino.beyond(frame, state.terminal)
                for part in sequence:
                    before, beyond = domino.follow(before, beyond, part)
                if before is not None and beyond is not None:
                    active.add((reached, before))
        self._active = active or self._active
        return bool(active)

    def mask(self) -> set[int]:
        """Return the tokens that may follow, as far as the lookahead goes."""
        allowed: set[int] = set()
        for state, frame in self._active:
            beyond = self._domino.beyond(frame, state.terminal)
            self._collect(self._domino.trees[state], frame, beyond, self._depth, allowed)
        return allowed

    def _collect(
        self, tree: SubterminalTree, frame: Frame | None, beyond: Frame | None, depth: int | None, allowed: set[int]
    ) -> None:
        """Add the tokens at the nodes of a tree that the parser comes to."""
        allowed |= tree.tokens
        if depth == 0:
            return
        for part, child in tree.children.items():
            if part.terminal == EOS:
                if beyond is not None and beyond.is_complete:
                    allowed |= child.tokens
                continue
            before, after = self._domino.follow(frame, beyond, part)
            if after is not None:
                self._collect(child, before, after, None if depth is None else depth - 1, allowed)


def constrained_decoding(checker: Checker, choose: Callable[[list[int], set[int]], int | None]) -> list[int]:
    """Return the tokens of a text: Algorithm 1.

    Args:
        checker: A checker at the start.
        choose: Stands for the model and the choice of a token (lines 6 to 8): the tokens so far and the mask to one of
            the mask, or None to stop.
    """
    output: list[int] = []
    while True:
        token_id = choose(output, checker.mask())
        if token_id is None or token_id in checker.eos_token_ids:
            return output
        if not checker.update(token_id):
            raise AssertionError("the token is not of the mask")
        output.append(token_id)

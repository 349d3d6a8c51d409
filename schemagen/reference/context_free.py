"""Any context-free grammar in pure Python: frames for rules, a machine over bytes for each text, every token tried.

After some bytes of a text, texts and terminals of the grammar are open, each with the frame in front of it and the
state of its machine. A byte moves all of them on. Those that may end there are read by the parser (`frames.py`), all at
once, which gives the frame that ends here; what may begin there is open from then on. That is Earley's algorithm with
characters for symbols. The mask walks the tokens along a trie, and asks only for the state after each byte.

It is the oracle of the compiled core: other data structures, no simplified grammar, no lexer, no tails.

Invariants: machines have live states only and the parser keeps the viable prefix property, so a configuration that is
reached has an end. A lexer's longest match would break that, because the text after it could rule out every end; such terminals
are refused.

Cost: of a byte O(n^2) for a text of n bytes, as in Earley's algorithm; of a mask that for each node of the trie.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import Rule, Terminal, tokens_in
from schemagen.engine.tokens import ids_of
from schemagen.reference.frames import Frame, Parser, fsms_of
from schemagen.reference.fsm import final_states, rows_of, start_of, symbols_of
from schemagen.reference.matcher import ByteEngine, Mask
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from interegular.fsm import FSM

    from schemagen.context_free.items import Items, Readable, Symbol
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where a text is after some bytes.

    Attributes:
        frames: Those that end here.
        open: The symbols that are being read: the frame in front, the symbol, and the state of its machine.
    """

    frames: frozenset[Frame]
    open: frozenset[tuple[Frame, Readable, int]]


class _Machine:
    """The machine of one symbol, by bytes.

    Args:
        start: Its first state.
        finals: States in which a text may end.
        rows: Where each byte leads from each state; live states only.
        tokens: The bytes that are tokens.
    """

    def __init__(self, start: int, finals: set[int], rows: dict[int, dict[int, int]], tokens: frozenset[int]) -> None:
        self.start = start
        self.finals = finals
        self.rows = rows
        self.to_end = self._distances(tokens)

    @classmethod
    def of(cls, fsm: FSM, tokens: frozenset[int]) -> _Machine:
        symbols = symbols_of(fsm, range(256))
        rows = {
            state: {byte: row[symbol] for byte, symbol in enumerate(symbols) if symbol in row}
            for state, row in rows_of(fsm).items()
        }
        return cls(start_of(fsm), final_states(fsm), rows, tokens)

    @classmethod
    def of_texts(cls, texts: Iterable[bytes], tokens: frozenset[int]) -> _Machine:
        """Return that of some texts, none of which begins with another: a trie."""
        rows: dict[int, dict[int, int]] = {0: {}}
        finals: set[int] = set()
        for text in texts:
            state = 0
            for byte in text:
                state = rows[state].setdefault(byte, len(rows))
                rows.setdefault(state, {})
            finals.add(state)
        return cls(0, finals, rows, tokens)

    def _distances(self, tokens: frozenset[int]) -> dict[int, int]:
        """Return how many bytes that are tokens it takes from each state to an end, where that is possible."""
        found, distance = dict.fromkeys(self.finals, 0), 0
        layer = set(found)
        while layer:
            distance += 1
            layer = {
                state
                for state, row in self.rows.items()
                if state not in found and any(byte in tokens and to in layer for byte, to in row.items())
            }
            found.update(dict.fromkeys(layer, distance))
        return found


@without_property_locks
class ContextFreeEngine(ByteEngine):
    """A context-free grammar over a vocabulary.

    Args:
        grammar: Rules over texts and terminals; terminals in `ContextFreeGrammar.ignored` may stand anywhere between
            others.
        vocabulary: The tokens of the model, with marks for those that the grammar names.
        max_states: Most states of the machine of a text.
        max_seconds: Most seconds for building one.

    Raises:
        UnsatisfiableSchemaError: It derives no text.
        UnsupportedGrammarError: It needs a lexer, LR tables or indentation.
        LimitError: A limit stopped the work.
    """

    def __init__(
        self,
        grammar: ContextFreeGrammar,
        vocabulary: Vocabulary,
        *,
        max_states: int = 20_000,
        max_seconds: float = 30.0,
    ) -> None:
        self.vocabulary = vocabulary
        self._parser = Parser(grammar)
        named = tokens_in(self._parser.grammar)
        items = self._parser.items
        fsms = fsms_of(self._parser.grammar, items, but=named, max_states=max_states, max_seconds=max_seconds)
        self._machines = {symbol: _Machine.of(fsm, self.byte_tokens) for symbol, fsm in fsms.items()}
        for token in named:
            marks = (vocabulary.tokens[token_id] for token_id in ids_of(token, vocabulary))
            self._machines[token] = _Machine.of_texts(marks, self.byte_tokens)
        self._ignored = tuple(Terminal(name) for name in sorted(grammar.ignored))
        self.start = Configuration(frozenset([self._parser.start]), frozenset())

    def after(self, state: Configuration, byte: int) -> Configuration | None:
        """Return the configuration after a byte; None if the byte cannot follow."""
        opened: set[tuple[Frame, Readable, int]] = set()
        reads: list[tuple[Frame, Symbol]] = []
        frames: set[Frame] = set()
        for frame, symbol, at in self._readable(state):
            machine = self._machines[symbol]
            following = machine.rows[at].get(byte)
            if following is None:
                continue
            if machine.rows[following]:
                opened.add((frame, symbol, following))
            if following in machine.finals:
                reads.append((frame, symbol))
                frames |= {frame} if symbol in self._ignored else set()
        advanced = self._parser.advance(reads)
        frames |= {advanced} if advanced is not None else set()
        return Configuration(frozenset(frames), frozenset(opened)) if frames or opened else None

    def _readable(self, state: Configuration) -> Iterator[tuple[Frame, Readable, int]]:
        """Yield the open symbols, and those that may begin there."""
        yield from state.open
        for frame in state.frames:
            for symbol in (*frame.expected(), *self._ignored):
                yield frame, symbol, self._machines[symbol].start

    def bytes_after(self, state: Configuration) -> list[int]:
        """Return the bytes that can follow, ascending."""
        return sorted({byte for _, symbol, at in self._readable(state) for byte in self._machines[symbol].rows[at]})

    def is_final(self, state: Configuration) -> bool:
        """Whether the text may end."""
        return any(frame.is_complete for frame in state.frames)

    def mask(self, state: Configuration) -> Mask:
        """Return the tokens allowed next, EOS ids included if the text may end."""
        ids = set(self.vocabulary.eos_token_ids) if self.is_final(state) else set()
        todo: list[tuple[Any, Configuration]] = [(self._trie, state)]
        while todo:
            node, at = todo.pop()
            ids.update(node[1])
            for byte, child in node[0].items():
                following = self.after(at, byte)
                if following is not None:
                    todo.append((child, following))
        return Mask.of(sorted(ids), self.vocabulary.size)

    @cached_property
    def _trie(self) -> Any:
        """The tokens by their bytes: children by byte, and the ids that end here."""
        root: Any = ({}, [])
        for token_id, token in enumerate(self.vocabulary.tokens):
            node = root
            for byte in token:
                node = node[0].setdefault(byte, ({}, []))
            if token:
                node[1].append(token_id)
        return root

    # --- the shortest way to an end ----------------------------------------------------------------------------------

    def bytes_to_end(self, state: Configuration) -> int | None:
        """Return how many bytes that are tokens it takes to the nearest end; None if these do not suffice.

        It is the shortest path from rule to calling rule (Dijkstra 1959): what a rule still needs is known for each
        item.
        """
        order = count()
        queue: list[tuple[int, int, str, Frame]] = []

        def add(cost: int, place: Any) -> None:
            rest = self._rests[place.rule].get(place.item)
            if rest is not None:
                heapq.heappush(queue, (cost + rest, next(order), place.rule, place.caller))

        for frame in state.frames:
            for place in frame.places:
                add(0, place)
        for frame, symbol, at in state.open:
            self._add_open(frame, symbol, at, add)
        seen: set[tuple[str, Frame]] = set()
        while queue:
            cost, _, rule, caller = heapq.heappop(queue)
            if caller is self._parser.outside:
                return cost
            if (rule, caller) not in seen:
                seen.add((rule, caller))
                for place in caller.waiting[Rule(rule)]:
                    add(cost, place)
        return None

    def _add_open(self, frame: Frame, symbol: Readable, at: int, add: Any) -> None:
        """Add the symbols that may follow an open one."""
        left = self._machines[symbol].to_end.get(at)
        if left is None:
            return
        for place in frame.waiting.get(symbol, ()) if symbol not in self._ignored else frame.places:
            add(left, place)

    @cached_property
    def _rests(self) -> dict[str, dict[int, int]]:
        """For each rule and item the fewest bytes that are tokens to the end of the rule, where that is possible."""
        rests: dict[str, dict[int, int]] = {
            name: dict.fromkeys(items.accepting, 0) for name, items in self._parser.items.items()
        }
        changed = True
        while changed:
            changed = False
            for name, items in self._parser.items.items():
                changed = self._shorten(items, rests[name], rests) or changed
        return rests

    def _shorten(self, items: Items, rest: dict[int, int], rests: Mapping[str, Mapping[int, int]]) -> bool:
        """Lower the rests of one rule by its edges; return whether one became less."""
        changed = False
        for item, edges in enumerate(items.edges):
            for symbol, to in edges:
                cost = rests[symbol.name].get(0) if isinstance(symbol, Rule) else self._least(symbol)
                if cost is not None and to in rest and cost + rest[to] < rest.get(item, cost + rest[to] + 1):
                    rest[item] = cost + rest[to]
                    changed = True
        return changed

    def _least(self, symbol: Readable) -> int | None:
        machine = self._machines[symbol]
        return machine.to_end.get(machine.start)

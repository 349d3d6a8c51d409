"""Grammars that count tokens of text (`TokenRun`), as a graph of runs and of the text between them.

The body is turned into its position automaton (Glushkov 1961), which follows every way at once. The text from one run, or
from the start, to another run, or to the end, without a run on the way, has a grammar of its own: the positions between them,
a rule each. So there are as many grammars as pairs of a run and the next one, and tokens move over each as over any other.

Source: TEXT_TOKEN and PARAGRAPH_TOKEN of Koo, Liu & He 2024, section 2.5.1, there labels of edges with a mask of tokens.

Invariants: the rules do not call themselves. A token of a run is text of whole characters.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.context_free.items import positions_of
from schemagen.context_free.simplify import called, simplified
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    ContextFreeGrammar,
    Guest,
    Rule,
    Text,
    Token,
    TokenRun,
    alternatives,
    sequence,
    substituted,
    tokens_in,
)
from schemagen.engine.counting import CountingEngine, Node, TokenCount
from schemagen.engine.tokens import any_ids_of, ids_of, unsupported
from schemagen.errors import UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.masks.rows import BITS, words_of
from schemagen.regex.wildcards import LINE_ENDS
from schemagen.vocabulary.marks import is_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from schemagen.context_free.items import Items, Symbol
    from schemagen.context_free.syntax import Expression
    from schemagen.engine.protocol import Engine
    from schemagen.regex import ast
    from schemagen.vocabulary import Vocabulary


def counting_engine(
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    compiled: Callable[[ContextFreeGrammar], Engine],
    check_time: Callable[[], None],
) -> CountingEngine:
    """Return the engine of a grammar that counts tokens.

    Args:
        grammar: Its rules, without lexer.
        vocabulary: Of the model, with marks for the tokens that the grammar names.
        compiled: Compiles the rules of the text between two runs.
        check_time: Raises when the time is over.

    Raises:
        UnsupportedGrammarError: A rule calls itself, there is a lexer, or a token is named that ends a text.
        UnsatisfiableSchemaError: It derives no text, or the vocabulary has no token for a run.
        LimitError: Repetitions are too long to be written out, or the time is over.

    Cost: a grammar for each pair of a run and one that may be the next: of n runs that may all be empty, n^2.
    """
    _refuse_ends(grammar, vocabulary)
    items = positions_of(_written_out(grammar))
    if not items.edges[0] and 0 not in items.accepting:
        raise UnsatisfiableSchemaError("no text can be derived", why="each alternative needs what derives none")
    stretches = _Stretches(items)
    counts = {at: _count(symbol, vocabulary) for at, symbol in stretches.runs.items()}
    indices = {at: index for index, at in enumerate([0, *counts])}
    texts = []
    for entry in indices:
        check_time()
        texts += [(entry, leaving, rules) for leaving, rules in stretches.after(entry)]
    nodes = []
    for entry in indices:
        following = [indices[to] for to in _targets(items.edges[entry]) if to in counts]
        following += [len(indices) + at for at, (before, _, _) in enumerate(texts) if before == entry]
        within = stretches.within(entry)
        engine = None if within is None else compiled(ContextFreeGrammar("run", {"run": Text(within)}))
        nodes.append(Node(engine, counts.get(entry), tuple(following), final=entry in items.accepting))
    for _, leaving, rules in texts:
        check_time()
        following = [] if leaving is None else [indices[leaving]]
        nodes.append(Node(compiled(rules), None, tuple(following), final=leaving is None))
    return CountingEngine(nodes, vocabulary)


def _refuse_ends(grammar: ContextFreeGrammar, vocabulary: Vocabulary) -> None:
    """Refuse tokens that are named and end a text: they end the whole here, and cannot stand in it."""
    for token in tokens_in(grammar):
        if not set(vocabulary.eos_token_ids).isdisjoint(ids_of(token, vocabulary)):
            raise unsupported(
                token,
                f"the token {token} in a grammar that counts tokens",
                why="it ends every text of this model, and is no part of it",
                fix="leave it out: the text ends where the grammar does",
            )


class _Stretches:
    """The texts that can be read between two runs.

    Attributes:
        runs: The positions at which tokens are counted.
    """

    def __init__(self, items: Items) -> None:
        self._items = items
        self._symbols: dict[int, Symbol] = {to: symbol for edges in items.edges for symbol, to in edges}
        self.runs = {at: symbol for at, symbol in self._symbols.items() if isinstance(symbol, TokenRun)}
        if not all(isinstance(symbol, TokenRun | Text | Guest | Token) for symbol in self._symbols.values()):
            raise _unsupported("a lexer in a grammar that counts tokens", "write it in GBNF or EBNF, which have none")

    def within(self, entry: int) -> ast.Regex | None:
        """Return the texts that a run may be; None if its tokens decide."""
        run = self.runs.get(entry)
        return None if run is None else run.within

    def after(self, entry: int) -> list[tuple[int | None, ContextFreeGrammar]]:
        """Return the texts from a run, or from the start, to each run, and to the end (None), as grammars."""
        reached = _closure([entry], self._texts_after)
        before: dict[int, set[int]] = {at: set() for at in reached}
        for at in reached:
            for to in self._texts_after(at):
                before[to].add(at)
        found: list[tuple[int | None, ContextFreeGrammar]] = []
        for leaving in (*self.runs, None):
            last = {at for at in reached if self._leads(at, leaving)}
            if last:
                between = last | _closure(last, before.__getitem__)
                found.append((leaving, self._rules(entry, between, last)))
        return found

    def _leads(self, at: int, leaving: int | None) -> bool:
        items = self._items
        return at in items.accepting if leaving is None else leaving in _targets(items.edges[at])

    def _texts_after(self, at: int) -> set[int]:
        return {to for to in _targets(self._items.edges[at]) if to not in self.runs}

    def _rules(self, entry: int, between: set[int], last: set[int]) -> ContextFreeGrammar:
        """Return the grammar of the ways over some positions, a rule for each."""

        def calls(at: int) -> list[Expression]:
            return [Rule(str(to)) for to in _targets(self._items.edges[at]) if to in between]

        rules = {
            str(at): sequence(self._symbols[at], alternatives(*calls(at), *([EMPTY_TEXT] if at in last else [])))
            for at in sorted(between)
        }
        return ContextFreeGrammar("text", {"text": alternatives(*calls(entry)), **rules})


def _closure(starts: Iterable[int], after: Callable[[int], set[int]]) -> set[int]:
    found: set[int] = set()
    waiting = [*starts]
    while waiting:
        new = after(waiting.pop()) - found
        found |= new
        waiting += new
    return found


def _count(run: TokenRun, vocabulary: Vocabulary) -> TokenCount:
    """Return how many tokens a run has, and which."""
    left_out = {token_id for token in run.but for token_id in any_ids_of(token, vocabulary)}
    found = [each for each in _members(vocabulary, run.has_lines, run.within is None) if each not in left_out]
    if run.only is not None:
        found = _only(run.only, found, vocabulary)
    if not found:
        raise UnsatisfiableSchemaError(
            f"{vocabulary!r} has no token of text", why="a run of tokens needs some", fix="use another vocabulary"
        )
    return TokenCount(run.low, run.high, words_of(found, -(-vocabulary.size // BITS)))


def _only(token: Token, members: list[int], vocabulary: Vocabulary) -> list[int]:
    """Return the tokens that a grammar names by id, which have to be among those of a run."""
    wanted = any_ids_of(token, vocabulary)
    for token_id in sorted(set(wanted).difference(members)):
        raise unsupported(
            token,
            f"the token id {token_id} is a part of a character: {vocabulary.tokens[token_id]!r}",
            why="tokens are counted as text of whole characters",
            fix="write the character as a literal",
        )
    return wanted


def _targets(edges: Iterable[tuple[object, int]]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(to for _, to in edges))


def _written_out(grammar: ContextFreeGrammar) -> Expression:
    """Return the body of the start with every rule in the place of its call."""
    simple = simplified(grammar)
    bodies: dict[Expression, Expression] = {}
    open_rules: set[str] = set()

    def written(name: str) -> Expression:
        if name in open_rules:
            raise _unsupported(
                f"the rule {name!r} calls itself in a grammar that counts tokens", "bound the repetition"
            )
        if Rule(name) not in bodies:
            open_rules.add(name)
            body = simple.rules[name]
            for inner in sorted(called(body)):
                written(inner)
            bodies[Rule(name)] = substituted(body, bodies)
            open_rules.discard(name)
        return bodies[Rule(name)]

    return written(simple.start)


def _unsupported(fact: str, fix: str) -> UnsupportedGrammarError:
    return UnsupportedGrammarError(
        fact, why="tokens are counted beside finite automata, and no parser knows where tokens end", fix=fix
    )


@lru_cache(maxsize=8)
def _members(vocabulary: Vocabulary, has_lines: bool, are_whole: bool) -> tuple[int, ...]:
    """Return the tokens of text: with or without those that have line breaks, of whole characters or not."""
    ends = set(LINE_ENDS)
    found = []
    for token_id, token in enumerate(vocabulary.tokens):
        if not token or is_marked(token) or token_id in vocabulary.eos_token_ids:
            continue
        try:
            text = token.decode(errors="strict" if are_whole else "replace")
        except UnicodeDecodeError:
            continue
        if has_lines or ends.isdisjoint(text):
            found.append(token_id)
    return tuple(found)

"""Grammars that count tokens of text (`TokenRun`), as a graph of parts.

A text says nothing of its tokens, so no automaton over bytes can count them: the parts between runs of tokens have automata,
and the runs are parts of the graph that take whole tokens (`schemagen.graph`). A run begins and ends where tokens do;
what stands before and behind it is split into tokens in any way. The body is turned into the graph by its position automaton
(Glushkov 1961), which follows every way at once: no order of preference is needed where a token is text and a member of a run.

Source: TEXT_TOKEN and PARAGRAPH_TOKEN of Koo, Liu & He 2024, section 2.5.1, there labels of edges with a mask of tokens.

Invariants: the rules do not call themselves. A token of a run is text of whole characters.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.context_free.items import positions_of
from schemagen.context_free.simplify import called, simplified
from schemagen.context_free.syntax import Guest, Rule, Text, TokenRun, refuse_tokens, substituted
from schemagen.errors import UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.parts import Part, TokenCount
from schemagen.masks.bitmask import BITS, words_of
from schemagen.regex.wildcards import LINE_ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.engine.protocol import Engine
    from schemagen.vocabulary import Vocabulary


def graph_of(
    grammar: ContextFreeGrammar, vocabulary: Vocabulary, engine_of: Callable[[Text | Guest], Engine]
) -> GrammarGraph:
    """Return the graph of a grammar that counts tokens.

    Args:
        grammar: Its rules, without lexer.
        vocabulary: Of the model.
        engine_of: Compiles a text, or what is embedded.

    Raises:
        UnsupportedGrammarError: A rule calls itself, or there are a lexer or named tokens.
        UnsatisfiableSchemaError: It derives no text, or the vocabulary has no token for a run.
        LimitError: Repetitions are too long to be written out.
    """
    refuse_tokens(grammar, "a grammar that counts tokens")
    items = positions_of(_written_out(grammar))
    if not items.edges[0] and 0 not in items.accepting:
        raise UnsatisfiableSchemaError("no text can be derived", why="each alternative needs what derives none")
    symbols = {to: symbol for edges in items.edges for symbol, to in edges}
    parts = [Part(None, following=_targets(items.edges[0]), final=0 in items.accepting)]
    for at in range(1, len(items.edges)):
        symbol = symbols[at]
        following, final = _targets(items.edges[at]), at in items.accepting
        if isinstance(symbol, TokenRun):
            count = TokenCount(symbol.low, symbol.high, _members(vocabulary, symbol.has_lines))
            label = "a run of tokens"
            parts.append(Part(None, following=following, final=final, count=count, label=label))
        else:
            parts.append(Part(_engine(symbol, engine_of), following=following, final=final))
    return GrammarGraph(parts, [0], vocabulary)


def _engine(symbol: object, engine_of: Callable[[Text | Guest], Engine]) -> Engine:
    if isinstance(symbol, Text | Guest):
        return engine_of(symbol)
    raise _unsupported("a lexer in a grammar that counts tokens", "write it in GBNF or EBNF, which have none")


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
def _members(vocabulary: Vocabulary, has_lines: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Return the tokens of text of whole characters as a mask, with or without those that have line breaks."""
    ends = set(LINE_ENDS)
    found = []
    for token_id, token in enumerate(vocabulary.tokens):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue
        if text and token_id not in vocabulary.eos_token_ids and (has_lines or ends.isdisjoint(text)):
            found.append(token_id)
    if not found:
        raise UnsatisfiableSchemaError(
            f"{vocabulary!r} has no token of text", why="a run of tokens needs some", fix="use another vocabulary"
        )
    return words_of(found, -(-vocabulary.size // BITS))

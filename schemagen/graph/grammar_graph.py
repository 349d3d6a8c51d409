"""Grammars one after another, each starting at any byte: free text, markers and calls, thoughts and an answer.

A tool call in a model's answer is not one language but several: free text, a marker, the name, JSON arguments, a closing
marker, perhaps the next call. Each of them is a *part*; a `GrammarGraph` is a graph of parts. A `GraphReader`, the
nondeterministic automaton of the graph itself, splits an answer into its parts.

For decoding the graph is compiled into one context-free grammar with a rule for each part: its text, then the rule of any part
that may follow, after a special token or directly. Regular expressions are texts of the grammar, JSON values are embedded in
it, special tokens are tokens that it names. So a graph needs no code of its own for tokens that end one part and begin the
next, for budgets and for forced text.

Source: answers with tool calls as one pushdown automaton, after Koo, Liu & He 2024, section 3.

Invariant: a rule calls others only in its last place, so the parser needs no more stack for a hundred calls than for one
(Leo 1991).

Alternative rejected: one JSON Schema for the envelope (``anyOf`` over tools). It covers only formats that are JSON from end to
end, and neither names outside of the JSON (DeepSeek, newer Mistral) nor Python syntax.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from schemagen.context_free.pattern_groups import rules_of_pattern
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    Guest,
    Rule,
    Text,
    Token,
    alternatives,
    bounded,
    guests_in,
    refuse_tokens,
    sequence,
    substituted,
)
from schemagen.engine.native.lowering import compile_language
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.engine.tokens import marked_for, with_text_tokens
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.languages import Assembly, has_no_lexer
from schemagen.grammar.pipeline import engine_of_rules
from schemagen.grammar.specs import Regex
from schemagen.graph.reader import GraphReader
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.graph.reader import Part
    from schemagen.vocabulary import Vocabulary


@without_property_locks
class GrammarGraph:
    """Parts in the order that their edges allow; immutable except for its tables, which threads may share.

    It is a `Constraint` and decodes like a `Grammar`.

    Args:
        parts: The graph.
        starts: Indices of the parts that a text may begin with.
        vocabulary: The tokens of the model; grammars among the parts must use the same vocabulary.
        limits: Bounds on the work, as for `schemagen.compile`.

    Cost: the first matcher compiles each grammar of the graph once more.
    """

    thought_tokens = 0
    forces_text = False

    def __init__(
        self, parts: Iterable[Part], starts: Iterable[int], vocabulary: Vocabulary, limits: Limits | None = None
    ) -> None:
        self.parts = tuple(parts)
        self.starts = tuple(starts)
        self.vocabulary = vocabulary
        self.limits = limits or DEFAULT_LIMITS

    def __repr__(self) -> str:
        """Show how large it is."""
        return f"{type(self).__name__}(parts={len(self.parts)}, vocabulary={self.vocabulary.size})"

    def matcher(self) -> Matcher:
        """Return a cursor at the start of a text.

        Raises:
            LimitError: A limit stopped the work.
        """
        return self._engine.matcher()

    def reader(self) -> GraphReader:
        """Return a cursor at the start of a text, which finds the bytes of each part.

        It reads bytes, so grammars among the parts must neither name nor count tokens.
        """
        return GraphReader(self.parts, self._engines, self.starts, self.vocabulary)

    @cached_property
    def token_table(self) -> _core.TokenTable | None:
        """The graph as a table over tokens, for `schemagen.device`; None if it counts tokens."""
        from schemagen import _core

        return None if self._engine.counts_tokens else _core.TokenTable(self._engine)

    @property
    def least_new_tokens(self) -> int:
        """Equal to `min_new_tokens`, which a graph always knows."""
        return self.min_new_tokens

    @cached_property
    def min_new_tokens(self) -> int:
        """The smallest budget of tokens that always suffices for a whole text: see `schemagen.Grammar.min_new_tokens`."""
        return self._engine.matcher().tokens_to_finish() or 0

    @cached_property
    def _engine(self) -> _core.Constraint:
        """The graph as one automaton."""
        rules = with_text_tokens(rules_of(self.parts, self.starts), self.vocabulary)
        over, options = marked_for(rules, self.vocabulary), Options(limits=self.limits)
        return engine_of_rules(rules, over, options, embed=lambda inner: _embedded(inner, over))

    @cached_property
    def _engines(self) -> list[Engine | None]:
        """The engine of each part."""
        languages = (part.language for part in self.parts)
        return [
            cast("Engine | None", each)
            if each is None or isinstance(each, Grammar)
            else compile_language(each, self.vocabulary)
            for each in languages
        ]


def _embedded(spec: Grammar | Inside, vocabulary: Vocabulary) -> _core.Constraint:
    """Return the automaton of a part, or of a grammar embedded in one."""
    made = spec.grammar.engine_inside(spec.spec, vocabulary) if isinstance(spec, Inside) else spec.compiled_again()
    return cast("_core.Constraint", made)


@dataclass(frozen=True)
class Inside:
    """A language embedded in the rules of a part, to be compiled with the options of that part.

    Attributes:
        spec: The language, as in a `Guest`.
        grammar: The part.
    """

    spec: Any
    grammar: Grammar


def rules_of(parts: tuple[Part, ...], starts: Iterable[int]) -> ContextFreeGrammar:
    """Return the rules of a graph.

    Args:
        parts: The graph.
        starts: Indices of the parts that a text may begin with.

    Raises:
        UnsupportedGrammarError: A part with a lexer names tokens.
    """
    assembly = Assembly()
    calls = [assembly.new_rule(str(part.label)) for part in parts]
    for part, call in zip(parts, calls, strict=True):
        text = bounded(_text(part, assembly), part.most_tokens, str(part.label))
        assembly.rules[call.name] = sequence(text, _rest(part, calls))
    return assembly.grammar(alternatives(*(calls[index] for index in starts)), "the answer")


def _rest(part: Part, calls: list[Rule]) -> Expression:
    """Return the expression for everything after the text of a part."""
    following: list[Expression] = [calls[index] for index in part.following]
    for token_id, indices in part.special.items():
        token = Token(((token_id, token_id),), line=None, column=None)
        following.append(sequence(token, alternatives(*(calls[index] for index in indices))))
    return alternatives(*following, *([EMPTY_TEXT] if part.final else []))


def _text(part: Part, assembly: Assembly) -> Expression:
    """Return the texts of a part as an expression of the grammar."""
    language = part.language
    if not isinstance(language, Grammar):
        return EMPTY_TEXT if language is None else Text(language)
    rules = _rules_of(language)
    if rules is not None and has_no_lexer(rules):
        return assembly.taken_over(rules)
    if isinstance(language.spec, Regex):
        return assembly.expression(language.spec)
    if rules is not None:
        refuse_tokens(rules, f"{part.label} with a lexer, among other parts")
    return Guest(language, str(part.label))


def _rules_of(grammar: Grammar) -> ContextFreeGrammar | None:
    """Return the rules of a grammar text, or of a pattern that counts tokens; None for other specs."""
    if isinstance(grammar.spec, Regex) and grammar.counts_tokens:
        return rules_of_pattern(grammar.spec.pattern)
    if not isinstance(grammar.spec, ContextFree):
        return None
    rules = grammar.spec.rules()
    inside: dict[Expression, Expression] = {
        guest: Guest(Inside(guest.spec, grammar), guest.name) for guest in guests_in(rules)
    }
    return replace(rules, rules={name: substituted(body, inside) for name, body in rules.rules.items()})

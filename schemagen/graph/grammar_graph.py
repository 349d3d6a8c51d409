"""Grammars one after another, each starting at any byte: free text, markers and calls, thoughts and an answer.

A tool call in a model's answer is not one language but several: free text, a marker, the name, JSON arguments, a closing
marker, perhaps the next call. Each of them is a *part*; a `GrammarGraph` is a graph of parts, and a `PartReader` tells which
part of an answer is where.

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
from typing import TYPE_CHECKING, Any

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
    labelled,
    marks_in,
    refuse_tokens,
    sequence,
    substituted,
)
from schemagen.engine.native.context_free import Labelable, compile_to_label, label
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.engine.tokens import has_inner_ends, marked_for, with_text_tokens
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.languages import Assembly, has_no_lexer
from schemagen.grammar.specs import Regex
from schemagen.graph.reader import PartReader
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Matcher
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

    Cost: the first matcher compiles each grammar of the graph once more, and the first reader the rules.
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
        return (self._labelled if self.has_temperatures else self._engine).matcher()

    def reader(self) -> PartReader:
        """Return a cursor at the start of a text, which finds the bytes of each part."""
        return PartReader(self._labelled.matcher(), self._preferred, self._over)

    @property
    def has_temperatures(self) -> bool:
        """Whether a rule of a part has a temperature: see `Matcher.temperature`."""
        return self._has_temperatures

    @property
    def has_inner_ends(self) -> bool:
        """Whether an EOS token may stand inside a text: see `Constraint.has_inner_ends`."""
        return self._has_inner_ends

    @cached_property
    def _has_inner_ends(self) -> bool:
        return has_inner_ends(self._rules, self.vocabulary)

    @cached_property
    def token_table(self) -> _core.TokenTable | None:
        """The graph as a table over tokens, for `schemagen.device`; None if it counts tokens."""
        from schemagen import _core

        return None if self._engine.counts_tokens else _core.TokenTable(self._engine)

    @property
    def least_new_tokens(self) -> int:
        """Equal to `min_new_tokens`, which a graph always knows."""
        return self.min_new_tokens

    @property
    def min_new_tokens(self) -> int:
        """The smallest budget of tokens that always suffices for a whole text: see `schemagen.Grammar.min_new_tokens`."""
        return self._min_new_tokens

    @cached_property
    def _min_new_tokens(self) -> int:
        return self._engine.matcher().tokens_to_finish() or 0

    @cached_property
    def _has_temperatures(self) -> bool:
        return any(isinstance(mark.label, float) for mark in marks_in(self._rules))

    @cached_property
    def _rules(self) -> ContextFreeGrammar:
        return with_text_tokens(rules_of(self.parts, self.starts), self.vocabulary)

    @cached_property
    def _over(self) -> Vocabulary:
        return marked_for(self._rules, self.vocabulary)

    @cached_property
    def _compiled(self) -> Labelable:
        """The graph as one automaton."""
        options = Options(limits=self.limits)
        return compile_to_label(self._rules, self._over, options, lambda inner: _embedded(inner, self._over))

    @property
    def _engine(self) -> _core.Constraint:
        return self._compiled.constraint

    @cached_property
    def _labelled(self) -> _core.Constraint:
        """It, once its parts are labelled."""
        label(self._compiled, self._rules, self._over, Options(limits=self.limits))
        return self._engine

    @cached_property
    def _preferred(self) -> list[Part]:
        """The parts that are reached, in the order of `_by_preference`."""
        return [self.parts[index] for index in _by_preference(self.parts, self.starts)]


def _embedded(spec: Grammar | Inside, vocabulary: Vocabulary) -> _core.Constraint:
    """Return the automaton of a part, or of a grammar embedded in one."""
    return spec.grammar.engine_inside(spec.spec, vocabulary) if isinstance(spec, Inside) else spec.compiled_again()


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
    starts = tuple(starts)
    bodies: list[tuple[Expression, Expression]] = []
    calls = [assembly.new_rule(str(part.label)) for part in parts]
    for part, call in zip(parts, calls, strict=True):
        text = bounded(_text(part, assembly), part.most_tokens, str(part.label))
        bodies.append((text, _rest(part, calls)))
        assembly.rules[call.name] = sequence(*bodies[-1])
    grammar = assembly.grammar(alternatives(*(calls[index] for index in starts)), "the answer")
    marked: dict[str, Expression] = {}
    for index in _by_preference(parts, starts):
        text, rest = bodies[index]
        temperature = parts[index].temperature
        text = text if temperature is None else labelled(text, float(temperature))
        marked[calls[index].name] = sequence(labelled(text, str(index)), rest)
    return replace(grammar, marked=_temperatures(grammar) | marked)


def _temperatures(grammar: ContextFreeGrammar) -> dict[str, Expression]:
    """Return the marked bodies of rules without their captures: a graph labels its parts alone."""
    marks = marks_in(grammar)
    captures: dict[Expression, Expression] = {mark: EMPTY_TEXT for mark in marks if isinstance(mark.label, str)}
    if len(captures) == len(marks):
        return {}
    return {name: substituted(body, captures) for name, body in grammar.marked.items()}


def _by_preference(parts: tuple[Part, ...], starts: Iterable[int]) -> list[int]:
    """Return the indices of the parts that are reached; of two that a text could begin with the first one counts."""
    found: dict[int, None] = {}
    waiting = [*starts]
    for index in waiting:
        if index not in found:
            found[index] = None
            part = parts[index]
            waiting += [*part.following, *(each for indices in part.special.values() for each in indices)]
    return [*found]


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

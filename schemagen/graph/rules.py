"""A graph of parts as one context-free grammar: a rule for each part.

The rule of a part is its text, then the rule of any part that may follow, after a special token or directly. Regular
expressions are texts of the grammar, JSON values are embedded in it, special tokens are tokens that it names. So a graph needs
no code of its own for tokens that end one part and begin the next, for budgets and for forced text.

Source: answers with tool calls as one pushdown automaton, after Koo, Liu & He 2024, section 3.

Invariant: a rule calls others only in its last place, so the parser needs no more stack for a hundred calls than for one
(Leo 1991).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemagen.context_free.pattern_groups import rules_of_pattern
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    Guest,
    Rule,
    Text,
    Token,
    alternatives,
    guests_in,
    refuse_tokens,
    sequence,
    substituted,
)
from schemagen.grammar.assembly import Assembly, has_no_lexer
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.grammar import Grammar
from schemagen.grammar.specs import Regex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.graph.parts import Part


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
        assembly.rules[call.name] = sequence(_text(part, assembly), _rest(part, calls))
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

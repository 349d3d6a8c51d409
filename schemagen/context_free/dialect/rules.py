"""Grammars in the Lark dialect of llguidance and xgrammar, read to rules.

The core reads them (core/rules/dialect_rules.hpp says how): the notation, the terminals, which compete for the longest match
where the parser expects several at once, and the rules. It asks a `Host` for patterns, JSON Schemas and tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from schemagen import _core
from schemagen.context_free.captures import marked_rules
from schemagen.context_free.dialect.host import Host, text_of
from schemagen.context_free.syntax import ContextFreeGrammar, Text, labelled, sequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.context_free.dialect.host import JsonReader, Other
    from schemagen.context_free.syntax import Expression
    from schemagen.regex import ast

    #: Rule, names of captures of its text and its end, temperature, and of one that is one terminal its text, end and blanks.
    _Labels = tuple[str, str, str, float | None, tuple[Expression, ast.Regex, ast.Regex] | None]

#: How the lexer chooses between terminals: by the longest match, or any.
Lexer = Literal["longest", "any"]


def read_dialect(
    text: str,
    *,
    start: str = "start",
    value: JsonReader,
    lexer: Lexer = "longest",
    others: Mapping[str, Other] | None = None,
) -> ContextFreeGrammar:
    """Return the rules of a grammar in the Lark dialect of llguidance and xgrammar.

    Args:
        text: The grammar.
        start: The start rule.
        value: Returns the expression for ``%json {...}``, given its schema and layout.
        lexer: "longest": of the terminals that are expected at once the longest match is taken, as llguidance does, and
            patterns are in the syntax of Rust. "any": a terminal takes any of its texts, as in xgrammar, and patterns are
            in that of ECMA-262.
        others: What ``@name`` stands for, by name: a grammar of the same dialect, a JSON Schema, or what makes an expression.

    Raises:
        GrammarError: It cannot be read, or a part of it cannot be enforced; ``line`` and ``column`` say where.
        UnsatisfiableSchemaError: It derives no text.
        LimitError: It is too long, nested too deep, or counts too far.
    """
    return _grammar_of(*_read(_core.Languages(), text, start, value, lexer, others))


def rules_or_grammar(
    languages: _core.Languages,
    text: str,
    *,
    start: str = "start",
    value: JsonReader,
    lexer: Lexer = "longest",
    others: Mapping[str, Other] | None = None,
) -> _core.Rules | ContextFreeGrammar:
    """Return the rules as the core has them, or as `read_dialect` does where it cannot compile them by itself.

    That is so of labels and JSON Schemas. Arguments and errors as for `read_dialect`, after the place where expressions have
    nodes.
    """
    rules, labels = _read(languages, text, start, value, lexer, others)
    return rules if rules.is_plain and not labels else _grammar_of(rules, labels)


def _read(
    languages: _core.Languages,
    text: str,
    start: str,
    value: JsonReader,
    lexer: Lexer,
    others: Mapping[str, Other] | None,
) -> tuple[_core.Rules, list[_Labels]]:
    host = Host(text_of(text), value, "ecma-262" if lexer == "any" else "rust", others or {})
    return _core.rules_of_dialect(languages, text, start, lexer == "longest", host)


def _grammar_of(rules: _core.Rules, labels: list[_Labels]) -> ContextFreeGrammar:
    bodies = rules.bodies()
    return ContextFreeGrammar(rules.start, bodies, rules.terminals(), marked=_marked(bodies, labels))


def _marked(rules: dict[str, Expression], labels: list[_Labels]) -> dict[str, Expression]:
    """Return the bodies with marks of the rules with ``capture``, ``stop_capture=`` or ``temperature=``.

    The captured text of a rule that is one terminal ends before its ``stop=`` or ``suffix=``, and before ignored text.
    """
    whole: dict[str, list[Any]] = {}
    terminals = {}
    for name, capture, stop_capture, temperature, terminal in labels:
        own = [*([capture] if capture else []), *([] if temperature is None else [temperature])]
        if terminal is None:
            whole[name] = own
            continue
        text, end, ignored = terminal
        parts = [
            labelled(text, capture) if capture else text,
            labelled(Text(end), stop_capture) if stop_capture else Text(end),
        ]
        body = sequence(*parts) if temperature is None else labelled(sequence(*parts), temperature)
        terminals[name] = sequence(body, Text(ignored))
    return {**marked_rules(rules, whole), **terminals}

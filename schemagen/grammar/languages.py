"""The languages of specs as regular expressions, where they are regular; and specs as expressions of grammars.

Patterns and choices become a part of a grammar. A grammar without lexer is read character by character wherever it stands, so
its rules are taken over under names that are still free (`Assembly`). A grammar with a lexer, and JSON, has an automaton of its
own (`Guest`): an embedded spec is read as it is when it is compiled alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    Alternatives,
    ContextFreeGrammar,
    Guest,
    Repeat,
    Rule,
    Sequence,
    Text,
    counts_tokens,
    guests_in,
    refuse_tokens,
    substituted,
)
from schemagen.engine.options import Options
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedGrammarError, UnsupportedSchemaError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.memory_cache import freeze
from schemagen.grammar.reading import check_whitespace, styled, target_of, understood
from schemagen.grammar.specs import Choice, JsonPart, JsonSchema, Regex, frozen_spec, given_spec
from schemagen.regex import ast, parse_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.context_free.syntax import Expression, Token
    from schemagen.engine.options import WhitespacePolicy
    from schemagen.schema.normalise import Normaliser

_SPACE = ast.char_set(" \t\n\r")
#: Texts without whitespace at their two ends.
_NOT_SPACED = ast.conjunction(
    ast.complement(ast.concat(_SPACE, ast.ANY_STRING)), ast.complement(ast.concat(ast.ANY_STRING, _SPACE))
)


def to_regex(
    spec: Any,
    *,
    whitespace: WhitespacePolicy = "flexible",
    resources: Mapping[str, Any] | None = None,
    depth: int | None = None,
) -> str:
    """Return a pattern for Python's `re.fullmatch` with the same language as the constraint, keys in schema order.

    Args:
        spec: As for `compile`.
        whitespace: As for `compile`.
        resources: As for `compile`.
        depth: How often a recursive schema may contain itself; without it recursion is an error.

    Raises:
        UnsupportedSchemaError: The schema is recursive and no depth was given.
        UnsupportedGrammarError: The grammar is recursive.
        LimitError: The pattern would be nested too deep.
    """
    from schemagen.regex.printing import to_python_re

    try:
        return to_python_re(language_of(spec, whitespace=whitespace, resources=resources, depth=depth))
    except RecursionError as error:
        raise LimitError(
            "the pattern is nested deeper than Python's recursion limit",
            why="a bound of hundreds of digits is spelled out digit by digit",
            fix="lower the bounds, or raise sys.setrecursionlimit; compile() needs no such pattern",
        ) from error


def language_of(
    spec: Any,
    *,
    whitespace: WhitespacePolicy = "flexible",
    resources: Mapping[str, Any] | None = None,
    depth: int | None = None,
) -> ast.Regex:
    """Return the texts of a constraint as one regular expression; see `to_regex`."""
    spec = understood(spec)
    if isinstance(spec, Regex | Choice | ContextFree):
        return pattern_of(spec)
    from schemagen.schema.normalise import Normaliser

    target = target_of(spec)
    normaliser = Normaliser(
        freeze(spec).value if target is None else target.schema,
        resources=resources,
        dialect="json-schema" if target is None else "python",
    )
    check_whitespace(whitespace)
    return json_regex(normaliser, styled(Options(whitespace=whitespace), target), depth=depth)


def json_regex(normaliser: Normaliser, options: Options, *, depth: int | None = None) -> ast.Regex:
    """Return the JSON texts of a schema as one regular expression, a recursive one up to a depth."""
    from schemagen.schema.to_regex import json_text, page_of

    page = page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style)
    return json_text(normaliser, page, depth=depth)


def unordered(fact: str, instead: str) -> UnsupportedSchemaError:
    """Return the error for an order of keys that an engine cannot give."""
    return UnsupportedSchemaError(
        fact,
        why="it would have to remember which keys there were, in a state for each set of them",
        fix=f"compile with property_order='schema', or {instead}",
        code="not-regular",
    )


def pattern_of(spec: Regex | Choice[Any] | ContextFree[Any]) -> ast.Regex:
    """Return the language of a pattern, a list of choices or a grammar without recursion."""
    if isinstance(spec, ContextFree):
        return _regex_of_grammar(spec)
    if isinstance(spec, Regex):
        return parse_pattern(spec.pattern, spec.dialect, search=False, text_groups=True)
    if not spec.options:
        raise UnsatisfiableSchemaError(
            "a Choice without options", why="there is nothing to choose", fix="give at least one text"
        )
    return ast.union(*(ast.literal(option) for option in spec.options))


def _regex_of_grammar(spec: ContextFree[Any]) -> ast.Regex:
    """Return the language of a grammar whose rules can be written out as one expression."""
    from schemagen.context_free.simplify import simplified

    spec.check_regular()
    grammar = simplified(without_guests(spec.rules()))
    refuse_tokens(grammar, "a regular expression")
    if counts_tokens(grammar):
        raise UnsupportedGrammarError(
            "the grammar counts tokens",
            why="a regular expression reads characters, and does not see where tokens end",
            fix="compile the grammar itself",
        )
    body = grammar.rules[grammar.start]
    if isinstance(body, Text) or body == EMPTY_TEXT:
        return body.regex if isinstance(body, Text) else ast.EPSILON
    raise UnsupportedGrammarError(
        "the grammar is no regular expression",
        why="its rules call themselves, or are too large to be written out",
        fix="compile the grammar itself, and draw 'mask'",
    )


def unwritable(spec: Regex | Choice[Any]) -> UnsatisfiableSchemaError | None:
    """Return the error of a pattern or choice that no text matches because it asks for what no text contains."""
    from schemagen.regex.lowering import surrogate_words

    why = surrogate_words(*((spec.pattern,) if isinstance(spec, Regex) else spec.options))
    if not why:
        return None
    fix = "write the character that the pair stands for, or leave it out"
    return UnsatisfiableSchemaError("no text can match the pattern", why=why, fix=fix)


def expression_of(spec: Any) -> Expression:
    """Return the texts of a spec as an expression of a grammar.

    Args:
        spec: As for `schemagen.compile`.
    """
    spec = understood(given_spec(spec))
    return Text(regex_of(spec)) if isinstance(spec, Regex | Choice) else Guest(frozen_spec(spec))


def without_guests(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar with regular expressions for embedded specs; JSON in its own layout, or in "flexible".

    Raises:
        UnsupportedGrammarError: Something embedded is no regular language.
    """
    known: dict[Expression, Expression] = {guest: Text(regex_of(guest.spec)) for guest in guests_in(grammar)}
    if not known:
        return grammar
    return replace(grammar, rules={name: substituted(body, known) for name, body in grammar.rules.items()})


def regex_of(spec: Any) -> ast.Regex:
    """Return the texts of a frozen spec as a regular expression.

    Raises:
        UnsupportedGrammarError: It is recursive, or does not have a regular language for another reason.
        SchemagenError: As `schemagen.compile` does.
    """
    try:
        if isinstance(spec, JsonPart):
            found = json_regex(*spec.reader(Options()))
            return found if spec.written.around else ast.conjunction(found, _NOT_SPACED)
        if isinstance(spec, JsonSchema) and spec.whitespace is not None:
            found = language_of(given_spec(spec), whitespace=spec.whitespace)
            return found if spec.around else ast.conjunction(found, _NOT_SPACED)
        return language_of(given_spec(spec))
    except (UnsupportedSchemaError, UnsupportedGrammarError) as error:
        raise UnsupportedGrammarError(
            f"{spec!r:.80} cannot stand for a terminal: {error.fact}",
            why="there is no regular expression for it",
            fix="compile the grammar as it is; Lark.parse needs a pattern, choices, or a type without recursion",
        ) from error
    except RecursionError:
        raise LimitError(
            f"{spec!r:.80} is too large to stand for a terminal", fix="lower the bounds of numbers, lengths and counts"
        ) from None


class Assembly:
    """Rules that are put together.

    Attributes:
        rules: The bodies so far.
        left_out: Tokens that no text has.
        marked: Bodies with marks, of rules with labelled parts.
    """

    def __init__(self) -> None:
        self.rules: dict[str, Expression] = {}
        self.left_out: list[Token] = []
        self.marked: dict[str, Expression] = {}
        self._taken_over: dict[ContextFree[Any], Expression] = {}

    def expression(self, spec: Any) -> Expression:
        """Return the texts of a spec as an expression over these rules.

        Args:
            spec: As for `schemagen.compile`.

        Raises:
            SchemagenError: As `schemagen.compile` raises for a value that is not a spec, and for a grammar that cannot be read.
        """
        spec = understood(given_spec(spec))
        if not isinstance(spec, ContextFree):
            return expression_of(spec)
        if spec not in self._taken_over:
            grammar = spec.rules()
            self._taken_over[spec] = self.taken_over(grammar) if has_no_lexer(grammar) else expression_of(spec)
        return self._taken_over[spec]

    def taken_over(self, grammar: ContextFreeGrammar) -> Expression:
        """Take over the rules of a grammar without lexer, and return the call of its start."""
        self.left_out += grammar.left_out
        names = {name: self.new_rule(name) for name in grammar.rules}
        calls: dict[Expression, Expression] = {Rule(name): new for name, new in names.items()}
        for name, body in grammar.rules.items():
            self.rules[names[name].name] = substituted(body, calls)
        for name in grammar.marked.keys() - names.keys():
            names[name] = calls[Rule(name)] = Rule(self.free_name(name))
            self.marked[names[name].name] = EMPTY_TEXT
        self.marked |= {names[name].name: substituted(body, calls) for name, body in grammar.marked.items()}
        return names[grammar.start]

    def new_rule(self, name: str) -> Rule:
        """Return the call of a new rule, whose body is still to be given."""
        rule = Rule(self.free_name(name))
        self.rules[rule.name] = EMPTY_TEXT  # taken, so that no other rule has this name
        return rule

    def shared(self, body: Expression, name: str) -> Expression:
        """Return an expression for use in several places: a text itself, or the call of a new rule."""
        if not isinstance(body, Sequence | Alternatives | Repeat) or body == EMPTY_TEXT:
            return body
        rule = self.new_rule(name)
        self.rules[rule.name] = body
        return rule

    def free_name(self, name: str) -> str:
        """Return a name for a rule that none has yet."""
        taken = self.rules.keys() | self.marked.keys()
        if name not in taken:
            return name
        number = 2
        while f"{name} {number}" in taken:
            number += 1
        return f"{name} {number}"

    def grammar(self, body: Expression, start: str = "root") -> ContextFreeGrammar:
        """Return the grammar of an expression over these rules."""
        start = self.free_name(start)
        rules = {start: body, **self.rules}
        return ContextFreeGrammar(start, rules, left_out=tuple(self.left_out), marked=self.marked)


def has_no_lexer(grammar: ContextFreeGrammar) -> bool:
    """Whether a grammar is read character by character."""
    return not grammar.terminals and not grammar.ignored and grammar.tables is None and grammar.indentation is None

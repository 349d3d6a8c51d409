r"""Grammars in the Lark dialect of llguidance and xgrammar, read to rules.

The notation is lark's with more in it (`parser`): JSON Schemas, grammars within the grammar, regular operators on
terminals, rules that are read as one terminal, rules with a parameter.

Terminals that the parser expects at once are run side by side, and the longest match of any of them is taken; a rule with
``[lazy]``, ``stop=`` or ``suffix=`` is a terminal whose first match ends it, and whatever runs beside it (`competition`).
Ignored texts are allowed after every terminal. Where llguidance and xgrammar differ:

- The longest match is the longest in the text. llguidance goes on as long as any match might get longer, and gives up where it
  does not: ``/[0-9]+(\.[0-9]+)?/ "."`` does not match ``1.`` there. xgrammar takes any match (``lexer="any"``), and a
  lazy rule ends itself alone there; only in free text with tools (`_dispatched`) does it end others, too.
- Ignored texts are allowed after the last terminal, and before ``%json``, as in xgrammar.
- The text of ``stop=`` is a part of the text. llguidance takes it away again where a rule follows that begins with it.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from schemagen.context_free.captures import marked_rules
from schemagen.context_free.dialect import nodes
from schemagen.context_free.dialect.competition import Kind, Places, resolved
from schemagen.context_free.dialect.guidance import without_guidance
from schemagen.context_free.dialect.nodes import is_terminal_name
from schemagen.context_free.dialect.parameters import holds, needs_parameter, value_of
from schemagen.context_free.dialect.parser import DialectParser
from schemagen.context_free.dialect.terminals import Terminals, names
from schemagen.context_free.regular import is_nullable, nonempty, only_text
from schemagen.context_free.regular_rules import (
    Derived,
    NotRegularError,
    RegularRules,
    at_most,
    difference,
    no_short_text,
    shortest,
)
from schemagen.context_free.scanner import any_token_of, token_of
from schemagen.context_free.simplify import productive
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Rule,
    Text,
    alternatives,
    bounded,
    labelled,
    repeat,
    sequence,
)
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.regex.language import is_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.checks import PatternDialect
    from schemagen.context_free.dialect.guidance import JsonLayout
    from schemagen.context_free.scanner import Scanner

    JsonReader = Callable[[dict[str, object] | bool, JsonLayout | None], Expression]
    #: A grammar that another one refers to: a text, a JSON Schema, or what makes an expression.
    Other = str | dict[str, object] | bool | Callable[[], Expression]

#: How the lexer chooses between terminals: by the longest match, or any.
Lexer = Literal["longest", "any"]

#: Rules, one with a parameter counted for each of its values.
MAX_RULES = 50_000

#: Parts of a choice that does not become a rule of its own.
MAX_ALTERNATIVES = 50


class _Scope:
    """One grammar: the whole text, or one within it.

    Attributes:
        scanner: Its text, for errors.
        grammar: Its definitions.
        prefix: The prefix of its rules' names, which makes them unique.
        terminals: The languages of its terminals.
        ignored: The ignored text between its terminals.
    """

    def __init__(
        self, scanner: Scanner, grammar: nodes.Grammar, prefix: str, places: Places, patterns: PatternDialect
    ) -> None:
        self.grammar = grammar
        self.prefix = prefix
        self.scanner = scanner
        self._patterns = patterns
        for definition in (*grammar.rules.values(), *grammar.terminals.values()):
            self._check_names(definition)
        self.terminals = Terminals(scanner, grammar, patterns)
        self.terminals.resolve()
        for node in grammar.ignored:
            self._check_all(node)
        languages = (nonempty(self.terminals.language(node)) for node in grammar.ignored)
        self.ignored = [places.kind(each, "%ignore") for each in dict.fromkeys(languages) if each != ast.EMPTY]

    def _check_names(self, definition: nodes.Definition) -> None:
        self._check_all(definition.body)
        if self._patterns != "ecma-262" and definition.attributes.max_chars is not None:
            raise self.scanner.error(
                "the attribute 'max_chars' is not known in the dialect of llguidance",
                definition.attributes.max_chars_at,
                fix='read the grammar with dialect="xgrammar", or bound the repetitions',
            )
        ending = definition.attributes.ending
        if ending is None:
            return
        self._check_all(ending)
        if self._patterns == "ecma-262" and isinstance(ending, nodes.Literal) and not ending.text:
            raise self.scanner.error(
                'stop=""', ending.at, why="the empty text ends nothing", fix="write the text that ends the rule"
            )

    def _check_all(self, node: nodes.Node) -> None:
        for name in names(node):
            known = self.grammar.terminals if is_terminal_name(name.name) else self.grammar.rules
            if name.name not in known:
                what = "terminal" if is_terminal_name(name.name) else "rule"
                close = difflib.get_close_matches(name.name, known, 1)
                fix = f"did you mean {close[0]!r}?" if close else "define it"
                if what == "terminal" and not close:
                    fix = f"define it, or import it: %import common.{name.name}"
                raise self.scanner.error(f"the {what} {name.name!r} is not defined", name.at, fix=fix)


class _Rules:
    """Rules that are made of definitions, those that are reached from the start.

    Attributes:
        rules: Their bodies.
        places: The places of terminals in them.
    """

    def __init__(self, value: JsonReader, lexer: Lexer, others: Mapping[str, Other]) -> None:
        self.rules: dict[str, Expression] = {}
        self.places = Places()
        self._value = value
        self._lexer = lexer
        self._patterns: PatternDialect = "ecma-262" if lexer == "any" else "rust"
        self._todo: list[tuple[_Scope, str, int | None]] = []
        self._calls: dict[str, Rule] = {}  # one object each: equal ones are found at once in dictionaries
        self._scopes = 0
        self._bounded: dict[str, tuple[_Scope, nodes.Definition]] = {}  # those that are no terminals
        self._labelled: dict[str, tuple[_Scope, nodes.Definition]] = {}
        self._others = others
        self._read_others: dict[str, Expression] = {}

    def start_of(self, scanner: Scanner, grammar: nodes.Grammar, start: str) -> Expression:
        """Return the call of the start rule of a grammar in a text."""
        prefix = f"{self._scopes}." if self._scopes else ""
        self._scopes += 1
        if start not in grammar.rules:
            raise scanner.no_start(start, grammar.rules, grammar.at, f"write {start}: ...")
        scope = _Scope(scanner, grammar, prefix, self.places, self._patterns)
        if not prefix and self._lexer == "any":
            self._dispatch(scope, grammar.rules[start].body)
        call = self._call(scope, nodes.Name(start, grammar.rules[start].at), None)
        return sequence(self._ignored(scope), call) if grammar.skips_first else call

    def _dispatch(self, scope: _Scope, body: nodes.Node) -> None:
        """Note the terminals of free text with tools, which have no bounds: xgrammar ignores them there."""
        kinds = _dispatched(scope, body)
        self.places.dispatched.update(kinds)
        rules = scope.grammar.rules
        parts = [rules[each.name] for each in names(body) if each.name in rules]
        heads = [rules[each.name] for part in parts for each in names(part.body) if each.name in rules]
        for part in (*parts, *heads) if kinds else ():
            if part.attributes.max_chars is not None:
                raise self._not_bounded(
                    scope, part, "is a part of free text with tools", "the first tool ends the text, at any length"
                )

    def write_out(self) -> None:
        """Make the bodies of all rules that are called."""
        while self._todo:
            scope, name, parameter = self._todo.pop()
            key = _key(scope, name, parameter)
            if key in self.rules:
                continue
            definition = scope.grammar.rules[name]
            if len(self.rules) == MAX_RULES:
                raise scope.scanner.limit(
                    f"more than {MAX_RULES:,} rules",
                    definition.at,
                    why="a rule with a parameter is one for each value",
                    fix="use fewer values",
                )
            self.rules[key] = self._definition(scope, definition, parameter)
            if definition.attributes.is_labelled:
                self._labelled[key] = scope, definition
            if definition.attributes.max_chars is not None and not _makes_terminal(definition):
                self._bounded[key] = scope, definition
        if self._bounded:
            self._write_out_bounded()

    def _write_out_bounded(self) -> None:
        """Write the rules with ``max_chars=`` as terminals, with the ignored texts in them: these count, too."""
        derived = {
            key: Derived((self.rules[key],), partial(at_most, most=definition.attributes.max_chars or 0))
            for key, (_, definition) in self._bounded.items()
        }
        known = RegularRules(self.rules, derived, self.places.languages())
        for key, (scope, definition) in self._bounded.items():
            try:
                regex = known.rule(key)
            except NotRegularError as error:
                raise self._not_bounded(scope, definition, "is not a regular expression", error.why) from None
            self.rules[key] = self._lexeme(self._within(scope, regex, definition), definition.name)

    def marked(self, rules: dict[str, Expression]) -> dict[str, Expression]:
        """Return the bodies with marks of the rules with ``capture``, ``stop_capture=`` or ``temperature=``.

        The captured text of a rule that is one terminal ends before its ``stop=`` or ``suffix=``, and before ignored text.
        """
        whole = {
            key: definition.attributes.labels
            for key, (_, definition) in self._labelled.items()
            if definition.attributes.labels and not _is_one_terminal(definition)
        }
        found = marked_rules(rules, whole)
        for key, (scope, definition) in self._labelled.items():
            if key not in whole:
                found[key] = self._marked_terminal(scope, definition)
        return found

    def _marked_terminal(self, scope: _Scope, definition: nodes.Definition) -> Expression:
        attributes = definition.attributes
        ends: ast.Regex = ast.EPSILON
        text = self._bounded_text(scope, definition, attributes.max_tokens)
        if attributes.ending is not None and (ending := scope.terminals.language(attributes.ending)) != ast.EPSILON:
            ends = ending
            body = scope.terminals.language(definition.body)
            text = Text(difference(body, ast.concat(ast.ANY_STRING, ends, ast.ANY_STRING)))
        if attributes.capture:
            text = labelled(text, attributes.capture)
        end: Expression = Text(ends)
        if attributes.stop_capture:
            end = labelled(end, attributes.stop_capture)
        whole = sequence(text, end)
        if attributes.temperature is not None:
            whole = labelled(whole, attributes.temperature)
        ignored = ast.union(*(kind.text for kind in scope.ignored))
        return sequence(whole, Text(ast.repeat(ignored, 0, 1 if scope.grammar.skips_once else None)))

    def _bounded_text(self, scope: _Scope, definition: nodes.Definition, most: int | None) -> Expression:
        """Return the texts of at most some tokens, or of any number, of a rule that is one terminal."""
        regex, lazy = _terminal_of(scope, definition)
        regex = self._within(scope, regex, definition)
        return bounded(Text(shortest(regex) if lazy else regex), most, definition.name)

    def _not_bounded(self, scope: _Scope, definition: nodes.Definition, what: str, why: str) -> Exception:
        return scope.scanner.unsupported(
            f"the rule {definition.name!r} with max_chars={definition.attributes.max_chars}, which {what}",
            definition.attributes.max_chars_at,
            why=why,
            fix="bound a rule of terminals, and of rules that call themselves at their end or not at all",
        )

    def _within(self, scope: _Scope, regex: ast.Regex, definition: nodes.Definition) -> ast.Regex:
        """Return the texts of a bounded rule, of which there has to be one."""
        most = definition.attributes.max_chars
        if most is None:
            return regex
        short = at_most(regex, most)
        if is_empty(short):
            raise no_short_text(scope.scanner, definition.name, most, definition.attributes.max_chars_at)
        return short

    def _definition(self, scope: _Scope, definition: nodes.Definition, parameter: int | None) -> Expression:
        attributes = definition.attributes
        if attributes.max_tokens is not None:
            return self._bounded_in_tokens(scope, definition, attributes.max_tokens, parameter)
        is_lazy_alone = attributes.lazy and attributes.ending is None
        if self._patterns == "ecma-262" and is_lazy_alone and _ends_with_token(definition.body):
            return self._up_to_token(scope, definition)
        if _makes_terminal(definition):
            regex, lazy = _terminal_of(scope, definition)
            return self._place(scope, self._within(scope, regex, definition), definition.name, lazy=lazy)
        return self._expression(scope, definition.body, parameter)

    def _bounded_in_tokens(
        self, scope: _Scope, definition: nodes.Definition, most: int, parameter: int | None
    ) -> Expression:
        """Return a rule of at most some tokens; a terminal ends at any match there, or at its first one if it is lazy."""
        if _is_regular(definition.body):
            return sequence(self._bounded_text(scope, definition, most), self._ignored(scope))
        if self._lexer == "longest":
            raise scope.scanner.unsupported(
                f"max_tokens={most} of the rule {definition.name!r}",
                definition.at,
                why="llguidance bounds rules that are one terminal, and this one calls rules or embeds a grammar",
                fix="bound the rules that it calls",
            )
        body = replace(definition, attributes=replace(definition.attributes, max_tokens=None))
        return bounded(self._definition(scope, body, parameter), most, definition.name)

    def _up_to_token(self, scope: _Scope, definition: nodes.Definition) -> Expression:
        """Return a lazy rule of xgrammar that ends with a token: the first one ends it, since no text holds a token."""
        assert isinstance(definition.body, nodes.Series)
        if definition.attributes.max_chars is not None:
            raise self._not_bounded(scope, definition, "ends with a token", "a token of the vocabulary is not text")
        *before, token = definition.body.parts
        regex = scope.terminals.language(nodes.Series(tuple(before)))
        assert isinstance(token, nodes.Token)
        end = token_of(scope.scanner, token.text, token.at)
        return sequence(self._lexeme(regex, definition.name), end, self._ignored(scope))

    def _call(self, scope: _Scope, name: nodes.Name, parameter: int | None) -> Expression:
        definition = scope.grammar.rules[name.name]
        if definition.has_parameter != (name.argument is not None):
            fact = "needs a parameter" if definition.has_parameter else "has no parameter"
            fix = f"write {name.name}::0" if definition.has_parameter else f"define it as {name.name}::_ : ..."
            raise scope.scanner.error(f"the rule {name.name!r} {fact}", name.at, fix=fix)
        given: int | None = None
        if name.argument is not None:
            self._check_parameter(scope, name.argument.name, name.at, parameter)
            given = value_of(name.argument, parameter or 0)
        self._todo.append((scope, name.name, given))
        key = _key(scope, name.name, given)
        return self._calls.setdefault(key, Rule(key))

    def _check_parameter(self, scope: _Scope, function: str, at: int, parameter: int | None) -> None:
        if function and parameter is None:
            raise scope.scanner.error(
                "a function of a parameter in a rule without one", at, fix="write a number, or name::_ at the rule"
            )

    def _expression(self, scope: _Scope, node: nodes.Node, parameter: int | None) -> Expression:
        if isinstance(node, nodes.Name) and not is_terminal_name(node.name):
            return self._call(scope, node, parameter)
        if isinstance(node, nodes.Series):
            return self._series(scope, node, parameter)
        if isinstance(node, nodes.Choice):
            return self._choice(scope, node, parameter)
        if isinstance(node, nodes.Repetition):
            return self._repeated(scope, node, parameter)
        return self._leaf(scope, node)

    def _choice(self, scope: _Scope, node: nodes.Choice, parameter: int | None) -> Expression:
        """Return a choice; after terminals alone the ignored text is written once, which keeps long lists of keywords small."""
        if not all(isinstance(part, nodes.Name | nodes.Literal) and _is_regular(part) for part in node.parts):
            body = alternatives(*(self._expression(scope, part, parameter) for part in node.parts))
            return self._named(scope, body, len(body.parts) if isinstance(body, Alternatives) else 1)
        words = [part for part in node.parts if not (isinstance(part, nodes.Literal) and not part.text)]
        empty = [EMPTY_TEXT] if len(words) < len(node.parts) else []
        languages = [(scope.terminals.language(part), self._label(part)) for part in words]
        read = self._named(scope, *self._words(languages))
        return alternatives(*empty, sequence(read, self._ignored(scope)))

    def _words(self, languages: list[tuple[ast.Regex, str]]) -> tuple[Expression, int]:
        """Return a choice of terminals, and the number of its parts: one place if no terminal is optional."""
        if any(is_nullable(regex) for regex, _ in languages):
            read = alternatives(*(self._lexeme(regex, label) for regex, label in languages))
            return read, len(read.parts) if isinstance(read, Alternatives) else 1
        kinds = [self.places.kind(regex, label) for regex, label in languages if regex != ast.EMPTY]
        return self.places.add(*kinds), len(kinds)

    def _named(self, scope: _Scope, body: Expression, size: int) -> Expression:
        """Return a choice as a rule if it is long: in a loop each part of it would be a neighbour of each."""
        if size <= MAX_ALTERNATIVES:
            return body
        name = f"{scope.prefix}choice {len(self.rules)}"
        self.rules[name] = body
        return Rule(name)

    def _leaf(self, scope: _Scope, node: nodes.Node) -> Expression:
        """Return the expression for a node that calls no rules of its grammar."""
        if isinstance(node, nodes.Json):
            return sequence(self._json(scope, node), self._ignored(scope))
        if isinstance(node, nodes.Embedded):
            return sequence(self.start_of(scope.scanner, node.grammar, "start"), self._ignored(scope))
        if isinstance(node, nodes.Reference):
            return sequence(self._other(scope, node), self._ignored(scope))
        if isinstance(node, nodes.Token):
            return sequence(any_token_of(scope.scanner, node.text, node.at), self._ignored(scope))
        if isinstance(node, nodes.Literal) and not node.text:
            return EMPTY_TEXT
        return self._place(scope, scope.terminals.language(node), self._label(node))

    def _other(self, scope: _Scope, node: nodes.Reference) -> Expression:
        """Return the texts of a grammar that is given by its name; it may refer to itself."""
        if node.name not in self._others:
            close = difflib.get_close_matches(node.name, self._others, 1)
            fix = f"did you mean @{close[0]}?" if close else f'give it: Lark(..., grammars={{"{node.name}": ...}})'
            raise scope.scanner.error(f"the grammar @{node.name} is not defined", node.at, fix=fix)
        if node.name not in self._read_others:
            other = self._others[node.name]
            if isinstance(other, str):
                parser = DialectParser(other, node.name)
                self._read_others[node.name] = self.start_of(parser.scanner, parser.read(), "start")
            elif callable(other):
                self._read_others[node.name] = other()
            else:
                self._read_others[node.name] = self._json(scope, nodes.Json(other, node.at))
        return self._read_others[node.name]

    def _series(self, scope: _Scope, node: nodes.Series, parameter: int | None) -> Expression:
        if node.condition is not None:
            if needs_parameter(node.condition):
                self._check_parameter(scope, node.condition.name, node.condition.at, parameter)
            if not holds(node.condition, parameter or 0):
                return NOTHING
        return sequence(*(self._expression(scope, part, parameter) for part in node.parts))

    def _repeated(self, scope: _Scope, node: nodes.Repetition, parameter: int | None) -> Expression:
        """Return a repetition, the first round of a loop apart: other terminals are expected beside it."""
        low, high = node.low, node.high
        first = self._expression(scope, node.part, parameter)
        if high is not None or _has_loop(node.part):
            return repeat(first, low, high)
        again = sequence(first, repeat(self._expression(scope, node.part, parameter), max(low - 1, 0), None))
        return repeat(again, min(low, 1), 1)

    def _json(self, scope: _Scope, node: nodes.Json) -> Expression:
        if not isinstance(node.schema, dict | bool):
            raise scope.scanner.error(
                "%json with something else than a JSON Schema", node.at, fix="write an object, true or false"
            )
        schema, layout = without_guidance(scope.scanner, node.schema, node.at)
        return self._value(schema, layout)

    def _place(self, scope: _Scope, regex: ast.Regex, label: str, *, lazy: bool = False) -> Expression:
        """Return a terminal, empty or not, and the ignored text after it."""
        return sequence(self._lexeme(regex, label, lazy=lazy), self._ignored(scope))

    def _lexeme(self, regex: ast.Regex, label: str, *, lazy: bool = False) -> Expression:
        """Return a terminal without ignored text."""
        is_optional = is_nullable(regex)
        if nonempty(regex) == ast.EMPTY or (lazy and is_optional):
            return EMPTY_TEXT if is_optional else NOTHING
        read = self.places.add(self.places.kind(regex, label, lazy=lazy))
        return alternatives(EMPTY_TEXT, read) if is_optional else read

    def _ignored(self, scope: _Scope) -> Expression:
        return repeat(self.places.add(*scope.ignored), 0, 1 if scope.grammar.skips_once else None)

    def _label(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Name):
            return node.name
        if isinstance(node, nodes.Literal):
            return f"{node.text!r:.40}"
        return f"/{node.regex:.40}/" if isinstance(node, nodes.Pattern) else "a terminal"


def _makes_terminal(definition: nodes.Definition) -> bool:
    """Whether a rule is read as one terminal."""
    attributes = definition.attributes
    return attributes.is_shortest or (attributes.temperature is not None and _is_regular(definition.body))


def _is_one_terminal(definition: nodes.Definition) -> bool:
    """Whether a rule has no ignored text between its terminals."""
    parts = definition.body.parts if isinstance(definition.body, nodes.Choice) else (definition.body,)
    is_counted = definition.attributes.max_tokens is not None and _is_regular(definition.body)
    is_single = all(_is_regular(each) and not isinstance(each, nodes.Series | nodes.Repetition) for each in parts)
    return is_single or is_counted or _makes_terminal(definition)


def _key(scope: _Scope, name: str, parameter: int | None) -> str:
    return f"{scope.prefix}{name}" if parameter is None else f"{scope.prefix}{name}::{parameter:#x}"


def _is_regular(node: nodes.Node) -> bool:
    """Whether an expression has nothing that no terminal can have."""
    if isinstance(node, nodes.Name):
        return is_terminal_name(node.name)
    if isinstance(node, nodes.Series | nodes.Choice | nodes.Conjunction):
        return (not isinstance(node, nodes.Series) or node.condition is None) and all(map(_is_regular, node.parts))
    if isinstance(node, nodes.Negation | nodes.Repetition):
        return _is_regular(node.part)
    return not isinstance(node, nodes.Json | nodes.Embedded | nodes.Reference | nodes.Token)


def _terminal_of(scope: _Scope, definition: nodes.Definition) -> tuple[ast.Regex, bool]:
    """Return the language of a rule that is read as one terminal, and whether its first match ends it."""
    ending = definition.attributes.ending
    ends = ast.EPSILON if ending is None else scope.terminals.language(ending)
    regex = ast.concat(scope.terminals.language(definition.body), ends)
    return regex, definition.attributes.lazy or ends != ast.EPSILON


def _dispatched(scope: _Scope, body: nodes.Node) -> list[Kind]:
    """Return the terminals of free text with tools in it: of ``start: (a | b)* rest``, as xgrammar dispatches them.

    ``rest`` is any text, and each of the others a rule that begins with a lazy one: any text up to a literal. So no ``rest``
    holds one of these literals, and of several the first that comes counts. None are returned of another grammar.
    """
    if not isinstance(body, nodes.Series) or body.condition is not None or len(body.parts) != 2:
        return []
    loop, rest = body.parts
    if not isinstance(loop, nodes.Repetition) or (loop.low, loop.high) != (0, None):
        return []
    tools = loop.part.parts if isinstance(loop.part, nodes.Choice) else (loop.part,)
    heads = [_head_of(scope, tool) for tool in tools]
    if not _is_any_text(scope, rest) or None in heads:
        return []
    return [Kind(nonempty(ast.ANY_STRING)), *(head for head in heads if head is not None)]


def _head_of(scope: _Scope, tool: nodes.Node) -> Kind | None:
    """Return the lazy terminal that a tool begins with, if that is any text up to a literal."""
    rules = scope.grammar.rules
    body = rules[tool.name].body if isinstance(tool, nodes.Name) and tool.name in rules else tool
    first = body.parts[0] if isinstance(body, nodes.Series) and body.parts else body
    definition = rules.get(first.name) if isinstance(first, nodes.Name) else None
    if definition is None or not definition.attributes.is_shortest or not _is_regular(definition.body):
        return None
    regex, lazy = _terminal_of(scope, definition)
    is_head = isinstance(regex, ast.Concat) and regex.parts[0] == ast.ANY_STRING
    if not (lazy and is_head and isinstance(regex, ast.Concat) and only_text(ast.concat(*regex.parts[1:]))):
        return None
    return Kind(nonempty(regex), lazy=True)


def _is_any_text(scope: _Scope, node: nodes.Node) -> bool:
    """Whether an expression, or the rule that it calls, takes every text."""
    if isinstance(node, nodes.Name) and not is_terminal_name(node.name):
        definition = scope.grammar.rules[node.name]
        node = definition.body
        if definition.attributes.is_shortest or definition.has_parameter:
            return False
    return _is_regular(node) and scope.terminals.language(node) == ast.ANY_STRING


def _ends_with_token(node: nodes.Node) -> bool:
    """Whether an expression is a series whose last part is a token."""
    if not isinstance(node, nodes.Series) or node.condition is not None:
        return False
    return bool(node.parts) and isinstance(node.parts[-1], nodes.Token)


def _has_loop(node: nodes.Node) -> bool:
    """Whether an expression has a repetition without an end; an embedded grammar may have one."""
    if isinstance(node, nodes.Repetition):
        return node.high is None or _has_loop(node.part)
    return isinstance(node, nodes.Embedded | nodes.Reference) or (
        isinstance(node, nodes.Series | nodes.Choice) and any(map(_has_loop, node.parts))
    )


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
    parser = DialectParser(text)
    grammar = parser.read()
    made = _Rules(value, lexer, others or {})
    first = made.start_of(parser.scanner, grammar, start)
    name = "the text"
    made.rules[name] = first
    made.write_out()
    rules, terminals = resolved(name, made.rules, made.places, longest=lexer == "longest")
    if name not in productive(rules):
        raise UnsatisfiableSchemaError(
            f"no text can be derived from {start!r}",
            at=parser.scanner.where(grammar.rules[start].at),
            why="each of its alternatives needs a rule or terminal that has none either",
            fix="give the rule an alternative that ends",
        )
    return ContextFreeGrammar(name, rules, terminals, marked=made.marked(rules))

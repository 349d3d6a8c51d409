"""What the core asks while it reads a grammar in the Lark dialect of llguidance and xgrammar."""

from __future__ import annotations

import difflib
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from schemagen.context_free.dialect.common import COMMON
from schemagen.context_free.dialect.guidance import without_guidance
from schemagen.context_free.dialect.patterns import in_any_case, language_of
from schemagen.context_free.regular_rules import Derived, NotRegularError, RegularRules, at_most
from schemagen.context_free.scanner import Scanner, any_token_of, fix_of_start, token_of
from schemagen.context_free.syntax import repeat
from schemagen.errors import (
    GrammarSyntaxError,
    LimitError,
    SchemagenError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
)
from schemagen.regex.language import is_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.checks import PatternDialect
    from schemagen.context_free.dialect.guidance import JsonLayout
    from schemagen.context_free.syntax import Expression
    from schemagen.regex import ast

    JsonReader = Callable[[dict[str, object] | bool, JsonLayout | None], Expression]
    #: A grammar that another one refers to: a text, a JSON Schema, or what makes an expression.
    Other = str | dict[str, object] | bool | Callable[[], Expression]

_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")
_WORD = re.compile(r"\w")
#: Of something that is asked for: it is not there, it is a grammar, it is an expression (core/rules/dialect_rules_host.hpp).
_MISSING, _TEXT, _EXPRESSION = 0, 1, 2
_SYNTAX, _UNSUPPORTED, _LIMIT = 0, 1, 2


class Host:
    """What the core asks about one grammar. Places in texts are offsets in characters, or in bytes of UTF-8 (``offset``).

    Args:
        text: The grammar.
        value: Returns the expression for ``%json {...}``, given its schema and layout.
        patterns: The dialect of patterns.
        others: What ``@name`` stands for, by name.
    """

    def __init__(self, text: str, value: JsonReader, patterns: PatternDialect, others: Mapping[str, Other]) -> None:
        self._texts = [(text, "")]  # and their names
        self._known: dict[int, tuple[int, int]] = {}  # by text the last place asked for, in bytes and in characters
        self._value = value
        self._patterns: PatternDialect = patterns
        self._others = others
        self._values: list[Any] = []

    def _scanner(self, text: int) -> Scanner:
        return Scanner(*self._texts[text])

    def _place(self, text: int, offset: int) -> int:
        """Return an offset in bytes as one in characters. Cost: of places in order, linear in the text for all of them."""
        written = self._texts[text][0]
        if written.isascii():
            return offset
        known, characters = self._known.get(text, (0, 0))
        if offset < known:
            known, characters = 0, 0
        while known < offset:
            known += len(written[characters].encode())
            characters += 1
        self._known[text] = known, characters
        return characters

    @staticmethod
    def error(kind: int, fact: str, line: int | None, column: int | None, why: str, fix: str) -> SchemagenError:
        """Return an error of the core as one of ours; kinds as in core/notation/mistakes.hpp."""
        if kind == _SYNTAX:
            return GrammarSyntaxError(fact, line=line, column=column, why=why, fix=fix)
        if kind == _UNSUPPORTED:
            return UnsupportedGrammarError(fact, line=line, column=column, why=why, fix=fix)
        made = LimitError if kind == _LIMIT else UnsatisfiableSchemaError
        return made(fact, at="" if line is None else f"line {line}, column {column}", why=why, fix=fix)

    # --- the parser -------------------------------------------------------------------------------------------------

    def json_at(self, text: int, at: int) -> tuple[int, int, str, str, bool]:
        """Read a JSON value: its number, its end, and a mistake with the place, the way out and whether it is a limit."""
        try:
            value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(self._texts[text][0], at)
        except json.JSONDecodeError as error:
            return 0, error.pos, f"no JSON: {error.msg}", "write a JSON value", False
        except ValueError as error:
            return 0, at, f"no JSON: {error}", "write a JSON value", False
        except RecursionError:
            return 0, at, "a JSON value that is nested too deep", "nest it less", True
        self._values.append(value)
        return len(self._values) - 1, end, "", "", False

    def options(self, number: int) -> list[tuple[str, bool | None]] | None:
        """Return the members of an object, the names as they are shown; None of other values."""
        value = self._values[number]
        if not isinstance(value, dict):
            return None
        return [(repr(name), each if isinstance(each, bool) else None) for name, each in value.items()]

    def substring(self, number: int) -> list[bytes] | None:
        """Return the chunks that ``%regex`` tells the substrings of; None if it does not."""
        value = self._values[number]
        if not isinstance(value, dict) or len(value) != 1:
            return None
        ((kind, given),) = value.items()
        if kind == "substring_chars" and isinstance(given, str):
            chunks = list(given)
        elif kind == "substring_words" and isinstance(given, str):
            chunks = _WORDS.findall(given)
        elif kind == "substring_chunks" and isinstance(given, list) and all(isinstance(each, str) for each in given):
            chunks = given
        else:
            return None
        return [chunk.encode(errors="surrogatepass") for chunk in chunks]

    @staticmethod
    def common() -> list[tuple[str, str]]:
        """Return the terminals of the library ``common``."""
        return list(COMMON.items())

    @staticmethod
    def is_word(character: str) -> bool:
        r"""Whether `\w` matches a character."""
        return _WORD.match(character) is not None

    # --- the rules --------------------------------------------------------------------------------------------------

    def pattern(self, pattern: str, flags: str, text: int, offset: int) -> ast.Regex:
        """Return the texts of a pattern."""
        return language_of(pattern, flags, self._scanner(text), self._place(text, offset), self._patterns)

    @staticmethod
    def in_any_case(text: str) -> ast.Regex:
        """Return a literal in upper and lower case."""
        return in_any_case(text)

    def json(self, number: int, text: int, offset: int) -> Expression:
        """Return what a value stands for as a JSON Schema."""
        return self._json(self._values[number], text, offset)

    def _json(self, value: Any, text: int, offset: int) -> Expression:
        scanner, at = self._scanner(text), self._place(text, offset)
        if not isinstance(value, dict | bool):
            fix = "write an object, true or false"
            raise scanner.error("%json with something else than a JSON Schema", at, fix=fix)
        schema, layout = without_guidance(scanner, value, at)
        return self._value(schema, layout)

    def token(self, written: str, is_any: bool, text: int, offset: int) -> Expression:
        """Return a token in angle brackets."""
        return (any_token_of if is_any else token_of)(self._scanner(text), written, self._place(text, offset))

    @staticmethod
    def repeated(other: Expression, low: int, high: int | None) -> Expression:
        """Return something as often as that."""
        return repeat(other, low, high)

    def other(self, name: str, text: int, offset: int) -> tuple[int, str | Expression]:
        """Return what ``@name`` stands for: its kind, and the fix, the grammar or the expression."""
        if name not in self._others:
            close = difflib.get_close_matches(name, self._others, 1)
            fix = f"did you mean @{close[0]}?" if close else f'give it: Lark(..., grammars={{"{name}": ...}})'
            return _MISSING, fix
        other = self._others[name]
        if isinstance(other, str):
            self._texts.append((other, f"@{name}"))
            written = text_of(other, f"@{name}")
            return _TEXT, written
        return _EXPRESSION, other() if callable(other) else self._json(other, text, offset)

    @staticmethod
    def fix_of_missing(name: str, is_terminal: bool, defined: list[str]) -> str:
        """Return the way to define a name."""
        close = difflib.get_close_matches(name, defined, 1)
        if close:
            return f"did you mean {close[0]!r}?"
        return f"define it, or import it: %import common.{name}" if is_terminal else "define it"

    @staticmethod
    def fix_of_start(start: str, rules: list[str]) -> str:
        """Return the way to have a start rule."""
        return fix_of_start(start, rules, f"write {start}: ...")

    @staticmethod
    def is_empty(regex: ast.Regex) -> bool:
        """Whether no text is in a language."""
        return is_empty(regex)

    @staticmethod
    def regular_rules(
        rules: dict[str, Expression], bounds: list[tuple[str, int]], languages: list[ast.Regex]
    ) -> _Bounded:
        """Return the texts of rules that have bounds, given those of the places of terminals."""
        derived = {name: Derived((rules[name],), partial(at_most, most=most)) for name, most in bounds}
        places = {f"place {number}": language for number, language in enumerate(languages)}
        return _Bounded(RegularRules(rules, derived, places))


class _Bounded:
    def __init__(self, rules: RegularRules) -> None:
        self._rules = rules

    def of(self, name: str) -> ast.Regex | str:
        """Return the texts of a rule, or why it is not regular."""
        try:
            return self._rules.rule(name)
        except NotRegularError as error:
            return error.why


def text_of(text: str, name: str = "") -> str:
    """Return a grammar that the core can read.

    Raises:
        LimitError: It is too long.
        GrammarSyntaxError: It has half of a surrogate pair.
    """
    scanner = Scanner(text, name)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = f"U+{ord(text[error.start]):04X}"
        why = "half of a surrogate pair has no UTF-8"
        raise scanner.error(
            f"{shown} is not a character", error.start, why=why, fix="write the character itself"
        ) from None
    return text


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")

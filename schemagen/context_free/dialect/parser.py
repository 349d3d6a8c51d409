"""The notation of Lark grammars as llguidance and xgrammar write it, read to `dialect_syntax`.

A definition ends with its line, except within brackets and where the next line begins with ``|``.

Invariant: groups and grammars inside one another are at most `MAX_NESTING` deep, so that later passes may recurse.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from typing import Any

from schemagen.context_free.dialect import nodes
from schemagen.context_free.dialect.common import COMMON
from schemagen.context_free.dialect.nodes import is_terminal_name
from schemagen.context_free.dialect.parameters import read_condition, read_value
from schemagen.context_free.scanner import Escapes, Scanner, quoted
from schemagen.errors import LimitError

_BLANKS = re.compile(r"(?:[ \t\f]|(?:#|//)[^\r\n]*|\\\r?\n)+")
_LINES = re.compile(r"(?:\s|(?:#|//)[^\r\n]*)+")
_NAME = re.compile(r"_*[a-zA-Z](?:[\w-]*\w)?", re.ASCII)
_PREFIX = re.compile(r"!?\??")
_DIRECTIVE = re.compile(r"%[a-z_]+")
_PATTERN = re.compile(r"/((?:\\.|[^/\\\n])+)/([a-z]*)|/((?:\\.|[^/\\])+)/([a-z]*x[a-z]*)", re.DOTALL)
_COUNTS = re.compile(r"\{\s*([0-9]*)\s*(?:(,)\s*([0-9]*)\s*)?\}")
_TILDE = re.compile(r"~[ \t]*([0-9]+)(?:[ \t]*\.\.[ \t]*([0-9]+))?")
_OPERATORS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_TOKEN = re.compile(r"<[^<>\s]+>")
_REFERENCE = re.compile(r"@([\w-]+)", re.ASCII)
_PRIORITY = re.compile(r"\.[+-]?[0-9]+")
_DIGITS = re.compile(r"[0-9]+(?![.eE\w])")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_IF = re.compile(r"%if\b")
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_CHARACTERS = {**{each: each for each in '"\\/'}, **_CONTROLS}
_SURROGATES = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")

#: The attributes of rules that have a value; ``capture`` may be without.
_WITH_VALUE = ("stop", "suffix", "stop_capture", "capture", "temperature", "max_chars", "max_tokens")

#: Alternatives in one place.
MAX_ALTERNATIVES = 50_000
#: The options of a grammar, and whether an option that is true changes its texts.
_OPTIONS = {"allow_initial_skip": False, "ignore_once": False, "no_forcing": False, "allow_invalid_utf8": True}


class DialectParser:
    """A reader of one text.

    Args:
        text: The grammar.
        name: Its name, if another one refers to it.
    """

    def __init__(self, text: str, name: str = "") -> None:
        self.scanner = Scanner(text, f"@{name}" if name else "")

    def read(self) -> nodes.Grammar:
        """Return the grammar of the whole text.

        Raises:
            GrammarError: It cannot be read; ``line`` and ``column`` say where.
            LimitError: It is nested too deep, or counts too far.
        """
        grammar = self._grammar(0)
        if not self.scanner.at_end:
            raise self.scanner.unexpected("a rule, a terminal or a directive")
        return grammar

    def _grammar(self, depth: int) -> nodes.Grammar:
        """Read definitions up to the end of the text, or a ``}``."""
        grammar = nodes.Grammar(self.scanner.at)
        while True:
            self.scanner.match(_LINES)
            if self.scanner.at_end or (depth and self.scanner.sees("}")):
                return grammar
            directive = self.scanner.match(_DIRECTIVE)
            if directive:
                self._directive(grammar, directive[0], directive.start(), depth)
            else:
                self._define(grammar, self._definition(depth))
            self.scanner.match(_BLANKS)
            following = self.scanner.text[self.scanner.at : self.scanner.at + 1]
            if following not in ("", "\r", "\n") and not (depth and following == "}"):
                raise self.scanner.unexpected("a symbol or the end of the line")

    def _define(self, grammar: nodes.Grammar, definition: nodes.Definition) -> None:
        name = definition.name
        known = grammar.terminals if is_terminal_name(name) else grammar.rules
        if name in known:
            raise self.scanner.defined_twice(repr(name), definition.at, known[name].at)
        known[name] = definition

    def _expect(self, sign: str, fix: str = "") -> None:
        self.scanner.match(_BLANKS)
        if not self.scanner.take(sign):
            raise self.scanner.unexpected(repr(sign), fix)

    def _name(self, wanted: str) -> re.Match[str]:
        self.scanner.match(_BLANKS)
        found = self.scanner.match(_NAME)
        if found is None:
            raise self.scanner.unexpected(wanted)
        return found

    # --- directives -------------------------------------------------------------------------------------------------

    def _directive(self, grammar: nodes.Grammar, name: str, at: int, depth: int) -> None:
        if name == "%ignore":
            grammar.ignored.append(self._choice(depth))
        elif name == "%import":
            self._import(grammar)
        elif name in ("%llguidance", "%grammar_options"):
            self._options(grammar, name)
        elif name in ("%declare", "%override", "%extend"):
            raise self.scanner.unsupported(
                f"the directive {name}",
                at,
                why="it is about terminals of another lexer, or definitions of another file",
                fix="write the definition itself",
            )
        else:
            known = "%ignore, %import, %llguidance, %grammar_options"
            raise self.scanner.error(f"the directive {name} is not known", at, fix=f"use one of {known}")

    def _import(self, grammar: nodes.Grammar) -> None:
        """Read ``common.NAME``, ``common.NAME -> OTHER`` or ``common (NAME, ...)``."""
        library = self._name("the name of a library")
        if library[0] != "common":
            raise self.scanner.unsupported(
                f"an import from {library[0]!r}",
                library.start(),
                why="a grammar is one text: no files are read",
                fix="write the definition here, or import it from common",
            )
        self.scanner.match(_BLANKS)
        if self.scanner.take("."):
            imported = self._name("the name of a terminal")
            self.scanner.match(_BLANKS)
            alias = self._name("the name of a terminal") if self.scanner.take("->") else imported
            self._imported(grammar, imported, alias)
            return
        self._expect("(", fix="write %import common.NAME or %import common (NAME, NAME)")
        while True:
            self.scanner.match(_LINES)
            imported = self._name("the name of a terminal")
            self._imported(grammar, imported, imported)
            self.scanner.match(_LINES)
            if self.scanner.take(")"):
                return
            self._expect(",")

    def _imported(self, grammar: nodes.Grammar, imported: re.Match[str], alias: re.Match[str]) -> None:
        if imported[0] not in COMMON:
            known = ", ".join(COMMON)
            raise self.scanner.error(
                f"the library common has no {imported[0]!r}", imported.start(), fix=f"use one of {known}"
            )
        if not is_terminal_name(alias[0]):
            grammar.imported.add(alias[0])
        body = nodes.Pattern(COMMON[imported[0]], "", imported.start())
        self._define(grammar, nodes.Definition(alias[0], body, alias.start()))

    def _options(self, grammar: nodes.Grammar, name: str) -> None:
        at = self.scanner.at
        options = self._json()
        if not isinstance(options, dict):
            raise self.scanner.error(f"{name} takes an object", at, fix=f'write {name} {{"no_forcing": true}}')
        for option, value in options.items():
            if option not in _OPTIONS or not isinstance(value, bool):
                known = ", ".join(_OPTIONS)
                raise self.scanner.error(
                    f"the option {option!r} is not known, or not with this value", at, fix=f"the options are {known}"
                )
            if value and _OPTIONS[option]:
                raise self.scanner.unsupported(
                    f"the option {option}", at, why="the grammar reads text, in UTF-8", fix="leave it out"
                )
            if option == "allow_initial_skip":
                grammar.skips_first = value
            elif option == "ignore_once":
                grammar.skips_once = value

    def _json(self) -> Any:
        self.scanner.match(_LINES)
        at = self.scanner.at
        try:
            value, self.scanner.at = json.JSONDecoder(parse_constant=_refuse).raw_decode(self.scanner.text, at)
        except json.JSONDecodeError as error:
            raise self.scanner.error(f"no JSON: {error.msg}", error.pos, fix="write a JSON value") from None
        except ValueError as error:
            raise self.scanner.error(f"no JSON: {error}", at, fix="write a JSON value") from None
        except RecursionError:
            raise self.scanner.limit("a JSON value that is nested too deep", at, fix="nest it less") from None
        return value

    # --- definitions ------------------------------------------------------------------------------------------------

    def _definition(self, depth: int) -> nodes.Definition:
        """Read ``name: ...``."""
        self.scanner.match(_PREFIX)
        found = self._name("a rule, a terminal or a directive")
        name, at = found[0], found.start()
        if self.scanner.sees("{"):
            raise self._template(at)
        has_parameter = self.scanner.take("::")
        if has_parameter:
            self._expect("_", fix=f"write {name}::_ : ...")
        self._priority(name)
        self.scanner.match(_BLANKS)
        attributes = self._attributes(name) if self.scanner.take("[") else nodes.Attributes()
        if is_terminal_name(name) and (has_parameter or attributes != nodes.Attributes()):
            raise self.scanner.error(
                f"the terminal {name!r} has a parameter or attributes", at, fix="write them at a rule"
            )
        self._expect(":", fix=f"write {name}: ...")
        return nodes.Definition(name, self._choice(depth), at, attributes, has_parameter)

    def _priority(self, name: str) -> None:
        priority = self.scanner.match(_PRIORITY)
        if priority and is_terminal_name(name):
            raise self.scanner.unsupported(
                f"a priority of the terminal {name!r}",
                priority.start(),
                why="terminals compete by length alone",
                fix="leave it out, or take the texts of the other terminal away: NAME & ~OTHER",
            )

    def _template(self, at: int) -> Exception:
        return self.scanner.unsupported(
            "a template", at, why="neither llguidance nor xgrammar has them", fix="write out its expansion"
        )

    def _attributes(self, name: str) -> nodes.Attributes:
        """Read the rest of ``[lazy, stop="...", ...]``."""
        given = nodes.Attributes()
        seen: set[str] = set()
        for _ in self.scanner.listed("]", _BLANKS, f'write {name}[lazy, suffix="..."]: ...'):
            key = self._name("an attribute")
            if key[0] in seen and key[0] != "lazy":  # which both peers read
                raise self.scanner.error(f"the attribute {key[0]!r} is given twice", key.start(), fix="leave one out")
            seen.add(key[0])
            self.scanner.match(_BLANKS)
            given = self._attribute(given, name, key[0], key.start(), has_value=self.scanner.take("="))
        if given.stop_capture and given.ending is None:
            raise self.scanner.error(
                "stop_capture= without stop= or suffix=",
                given.stop_capture_at,
                why="it names the text that ends the rule",
                fix='add stop="...", or leave it out',
            )
        return given

    def _attribute(self, given: nodes.Attributes, rule: str, key: str, at: int, *, has_value: bool) -> nodes.Attributes:
        """Return the attributes with one more, whose value is next."""
        self.scanner.match(_BLANKS)
        if key == "lazy" and not has_value:
            return replace(given, lazy=True)
        if key == "capture" and not has_value:
            return replace(given, capture=rule)
        if not has_value or key not in _WITH_VALUE:
            known = f"lazy, capture, {', '.join(f'{each}=' for each in _WITH_VALUE)}"
            raise self.scanner.error(f"the attribute {key!r} is not known", at, fix=f"the attributes are {known}")
        if key in ("max_chars", "max_tokens", "temperature"):
            return self._number(given, key, at)
        if key in ("capture", "stop_capture"):
            name = self._symbol(0)
            if not isinstance(name, nodes.Literal) or not name.text:
                fact = f"the value of {key!r} is {'empty' if isinstance(name, nodes.Literal) else 'not a string'}"
                raise self.scanner.error(fact, at, fix=f'write {key}="name"')
            if key == "capture":
                return replace(given, capture=name.text)
            return replace(given, stop_capture=name.text, stop_capture_at=at)
        if given.ending is not None:
            raise self.scanner.error("two of stop= and suffix=", at, why="one of them ends it", fix="leave one out")
        begin = self.scanner.at
        ending = self._symbol(0)
        if key == "suffix" and isinstance(ending, nodes.Literal) and not ending.text:
            raise self.scanner.error('suffix=""', begin, why="the empty text ends nothing", fix="leave it out")
        return replace(given, ending=ending)

    def _number(self, given: nodes.Attributes, key: str, at: int) -> nodes.Attributes:
        counts = key != "temperature"
        number = self.scanner.match(_DIGITS if counts else _NUMBER)
        if number is None:
            of = {"max_chars": " of characters", "max_tokens": " of tokens"}.get(key, "")
            raise self.scanner.unexpected(f"a number{of}")
        if key == "max_chars":
            return replace(given, max_chars=self.scanner.count(number[0], at), max_chars_at=at)
        if key == "max_tokens":
            return replace(given, max_tokens=self.scanner.count(number[0], at))
        if not 0 <= float(number[0]) < math.inf:
            fix = "write a finite number that is not negative"
            raise self.scanner.error(f"temperature={number[0]}", number.start(), fix=fix)
        return replace(given, temperature=float(number[0]))

    # --- expressions ------------------------------------------------------------------------------------------------

    def _skip(self, *, in_group: bool) -> None:
        """Skip blanks, and line breaks in a group or before a ``|``."""
        if in_group:
            self.scanner.match(_LINES)
            return
        self.scanner.match(_BLANKS)
        before = self.scanner.at
        if not self.scanner.text[before : before + 1].isspace():
            return
        self.scanner.match(_LINES)
        if not self.scanner.sees("|"):
            self.scanner.at = before

    def _choice(self, depth: int, *, in_group: bool = False) -> nodes.Node:
        """Read series with ``|`` between them."""
        found = [self._both(depth, in_group=in_group)]
        while self.scanner.take("|"):
            if len(found) == MAX_ALTERNATIVES:
                raise LimitError(
                    f"a rule of more than {MAX_ALTERNATIVES:,} alternatives",
                    why="a grammar of strangers must not take long to read",
                    fix="use rules for parts of them",
                )
            found.append(self._both(depth, in_group=in_group))
        return found[0] if len(found) == 1 else nodes.Choice(tuple(found))

    def _both(self, depth: int, *, in_group: bool) -> nodes.Node:
        """Read series with ``&`` between them."""
        at = self.scanner.at
        found = [self._series(depth, in_group=in_group)]
        while self.scanner.take("&"):
            found.append(self._series(depth, in_group=in_group))
        return found[0] if len(found) == 1 else nodes.Conjunction(tuple(found), at)

    def _series(self, depth: int, *, in_group: bool) -> nodes.Node:
        """Read symbols up to the next operator, the end of the group or that of the line."""
        parts: list[nodes.Node] = []
        while True:
            self._skip(in_group=in_group)
            if self.scanner.take("->"):
                self._name("an alias")
                self._skip(in_group=in_group)
            if _IF.match(self.scanner.text, self.scanner.at):
                self.scanner.at += len("%if")
                condition = read_condition(self.scanner)
                self._skip(in_group=in_group)
                return nodes.Series(tuple(parts), condition)
            if self.scanner.at_end or self.scanner.text[self.scanner.at] in "|&)]}\r\n":
                return parts[0] if len(parts) == 1 else nodes.Series(tuple(parts))
            parts.append(self._item(depth, in_group=in_group))

    def _item(self, depth: int, *, in_group: bool) -> nodes.Node:
        at = self.scanner.at
        if self.scanner.take("~"):
            self._skip(in_group=in_group)
            return self._repeated(nodes.Negation(self._symbol(depth), at))
        return self._repeated(self._symbol(depth))

    def _repeated(self, part: nodes.Node) -> nodes.Node:
        self.scanner.match(_BLANKS)
        at = self.scanner.at
        sign = self.scanner.text[at : at + 1]
        if sign in _OPERATORS:
            self.scanner.at += 1
            return nodes.Repetition(part, *_OPERATORS[sign])
        if sign not in ("~", "{"):
            return part
        tilde = self.scanner.match(_TILDE)
        if tilde:
            return nodes.Repetition(part, *self.scanner.bounds(tilde[1], tilde[2] or tilde[1], at))
        found = self.scanner.match(_COUNTS)
        if found is None or not (found[1] or found[3]):
            if isinstance(part, nodes.Name):
                raise self._template(at)
            raise self.scanner.error(
                "a repetition that cannot be read", at, fix="write {m}, {m,}, {,n}, {m,n}, ~m or ~m..n"
            )
        counts = self.scanner.bounds(found[1] or "0", found[3] if found[2] else found[1], at)
        return nodes.Repetition(part, *counts)

    def _symbol(self, depth: int) -> nodes.Node:
        """Read a group, a name, a literal, a pattern, a token or a directive that is one of them."""
        at = self.scanner.at
        name = self.scanner.match(_NAME)
        if name:
            return nodes.Name(name[0], at, read_value(self.scanner) if self.scanner.take("::") else None)
        if self.scanner.take("("):
            return self._group(at, ")", depth)
        if self.scanner.take("["):
            return nodes.Repetition(self._group(at, "]", depth), 0, 1)
        if self.scanner.take('"'):
            return self._literal(at)
        if self.scanner.sees("/"):
            return self._pattern(at)
        token = self.scanner.match(_TOKEN)
        if token:
            return nodes.Token(token[0], at)
        reference = self.scanner.match(_REFERENCE)
        if reference:
            return nodes.Reference(reference[1], at)
        directive = self.scanner.match(_DIRECTIVE)
        if directive:
            return self._inline(directive[0], at, depth)
        raise self.scanner.unexpected("a symbol")

    def _group(self, at: int, closing: str, depth: int) -> nodes.Node:
        self.scanner.check_depth(at, depth)
        part = self._choice(depth + 1, in_group=True)
        if not self.scanner.take(closing):
            raise self.scanner.error("a group is never closed", at, fix=f"write {closing!r} at its end")
        return part

    def _literal(self, at: int) -> nodes.Node:
        text = self._quoted(at)
        before = self.scanner.at
        if self.scanner.take("i") and not _NAME.match(self.scanner.text, self.scanner.at):
            return nodes.Literal(text, ignore_case=True, at=at)
        self.scanner.at = before
        self.scanner.match(_BLANKS)
        if not self.scanner.take(".."):
            self.scanner.at = before
            return nodes.Literal(text, ignore_case=False, at=at)
        self._expect('"', fix='write "a".."z"')
        high = self._quoted(self.scanner.at - 1)
        if len(text) != 1 or len(high) != 1 or high < text:
            raise self.scanner.error(
                f"the range {text!r}..{high!r:.40}", at, why="its ends are one character each, the lower one first"
            )
        return nodes.Range(text, high, at)

    def _quoted(self, at: int) -> str:
        return quoted(self.scanner, '"', at, _StringEscapes())

    def _pattern(self, at: int) -> nodes.Node:
        found = self.scanner.match(_PATTERN)
        if found is None:
            raise self.scanner.error("a pattern is never closed", at, fix="write '/' at its end; a slash in it is \\/")
        return nodes.Pattern(found[1] or found[3], found[2] or found[4] or "", at)

    def _inline(self, directive: str, at: int, depth: int) -> nodes.Node:
        """Read the rest of ``%json {...}``, ``%regex {...}`` or ``%lark {...}``."""
        if directive == "%json":
            return nodes.Json(self._json(), at)
        if directive == "%regex":
            return _substring(self.scanner, self._json(), at)
        if directive != "%lark":
            raise self.scanner.error(
                f"the directive {directive} within a rule", at, fix="use %json, %regex or %lark there"
            )
        self.scanner.check_depth(at, depth)
        self._expect("{")
        grammar = self._grammar(depth + 1)
        if not self.scanner.take("}"):
            raise self.scanner.error("a grammar within the grammar is never closed", at, fix="write '}' at its end")
        return nodes.Embedded(grammar, at)


class _StringEscapes(Escapes):
    r"""The escapes of JSON, halves of a character side by side (``\ud83d\ude00``) among them, and ``\xNN``."""

    def __init__(self) -> None:
        super().__init__(_CHARACTERS, {"x": 2, "u": 4})

    def read(self, scanner: Scanner) -> str:
        pair = scanner.match(_SURROGATES)
        if pair:
            return (bytes.fromhex(pair[1]) + bytes.fromhex(pair[2])).decode("utf-16-be")
        return super().read(scanner)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _substring(scanner: Scanner, given: object, at: int) -> nodes.Substring:
    if isinstance(given, dict) and len(given) == 1:
        (kind, value), *_ = given.items()
        if kind == "substring_chars" and isinstance(value, str):
            return nodes.Substring(tuple(value), at)
        if kind == "substring_words" and isinstance(value, str):
            return nodes.Substring(tuple(_WORDS.findall(value)), at)
        if kind == "substring_chunks" and isinstance(value, list) and all(isinstance(v, str) for v in value):
            return nodes.Substring(tuple(value), at)
    raise scanner.error(
        "%regex with something else than one kind of substring",
        at,
        fix='write {"substring_chunks": ["one", "two"]}, {"substring_words": "..."} or {"substring_chars": "..."}',
    )

r"""EBNF of two kinds, read to rules: that of xgrammar, and that of the W3C's specifications.

xgrammar (its page "EBNF Grammar"): GBNF's rules, which end where the next line begins with ``name ::=``; macros; a lookahead
assertion ``(= ...)`` at the end of a rule. An assertion repeats what the grammar allows after the rule, so that xgrammar
can prepare its masks: it is read, its rules have to be there, and it does not change the language. Of the options of a rule
``temperature`` and ``capture`` label its texts; a lazy one ends at its first match, so that its texts are those that begin with
no other one; ``max_chars`` and ``max_tokens`` bound the characters and tokens of each call.

W3C (XML 1.0, section 6): ``#x20``, ``[a-z#x20]``, ``[^...]``, literals in either quotes and without escapes, ``A - B``,
``/* comments */``. Both sides of ``A - B`` have to be regular: then they have a complement. Numbers of productions
(``[12]``, where a line begins) are skipped, constraints (``[ wfc: ... ]``) are refused.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from schemagen.context_free.bnf.macros import MACROS, Arguments, Name, expand
from schemagen.context_free.bnf.notation import Notation
from schemagen.context_free.regular import text_of
from schemagen.context_free.regular_rules import (
    Derived,
    NotRegularError,
    RegularRules,
    at_most,
    difference,
    no_short_text,
    shortest,
)
from schemagen.context_free.scanner import CharacterSet, Escapes, quoted
from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Expression, Rule, Text, bounded
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen.context_free.captures import Label
    from schemagen.context_free.scanner import Scanner
    from schemagen.context_free.syntax import ContextFreeGrammar

EbnfDialect = Literal["xgrammar", "w3c"]

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0", "e": "\x1b"}
_HEXADECIMAL = {"x": None, "u": 4, "U": 8}
_ESCAPES = Escapes({**{each: each for each in "\"\\/'?"}, **_CONTROLS}, hexadecimal=_HEXADECIMAL)
_SET_ESCAPES = Escapes({**_ESCAPES.characters, **{each: each for each in "^$.*+()[]{}|-"}}, hexadecimal=_HEXADECIMAL)
_SET = CharacterSet(_SET_ESCAPES, has_anything=True)
_OPTION = re.compile(
    r"(?:lazy|capture)(?![\w=])|(?:stop_)?capture=\"(?:[^\"\\\n]|\\.)*\"|max_(?:chars|tokens)=[0-9]+(?![.eE\w])"
    r"|capture_hidden_(?:(?:stop|suffix)_bytes|(?:body|marker)_rule_id)=[0-9]+"
    r"|temperature=[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
)
_OPTION_NAME = re.compile(r"[^\s,\]=]*")
#: ``{2, -1}``, as xgrammar prints it, has no upper end.
_COUNTS = re.compile(r"\{\s*([0-9]*)\s*(?:(,)\s*(?:([0-9]*)|-1)\s*)?\}")
_INTEGER = re.compile(r"[0-9]{1,18}(?![0-9])")


class _ByHeads(Notation):
    """A notation whose rules end where the next line begins with ``name ::=``."""

    #: A name, with the text allowed before ``::=``.
    rule_head: ClassVar[re.Pattern[str]]

    def skip(self, depth: int) -> None:  # noqa: ARG002 - line breaks are blanks everywhere
        self.scanner.match(self.blank)

    def rule_ends(self, depth: int) -> bool:  # noqa: ARG002 - a group that is still open is an error there
        """A rule ends where the next one begins."""
        text, at = self.scanner.text, self.scanner.at
        head = self.rule_head.match(text, at)
        if head is None or not text.startswith("::=", self._after_blanks(head.end())):
            return self.scanner.at_end
        return self._after_blanks(text.rfind("\n", 0, at) + 1, at) == at

    def write_out(self, known: RegularRules, name: str, at: int, *, fact: str, fix: str) -> None:
        """Write a rule as the texts that it has, or refuse it if they are no regular language."""
        try:
            self.rules[name] = text_of(known.rule(name))
        except NotRegularError as error:
            raise self.scanner.unsupported(fact, at, why=error.why, fix=fix) from None

    def _after_blanks(self, at: int, end: int | None = None) -> int:
        text = self.scanner.text
        found = self.blank.match(text, at, len(text) if end is None else end)
        return at if found is None else found.end()


class _Restriction(NamedTuple):
    """The options of a rule that change its texts.

    Attributes:
        at: The place of the bound, or of all options.
        is_lazy: Whether its first match ends it.
        most: The most characters that it may have, or None.
    """

    at: int
    is_lazy: bool = False
    most: int | None = None

    def language(self, body: ast.Regex) -> ast.Regex:
        """Return the texts of a body that are left."""
        short = body if self.most is None else at_most(body, self.most)
        return shortest(short) if self.is_lazy else short


class _Xgrammar(_ByHeads):
    """A reader of xgrammar's EBNF."""

    rule_name = re.compile(r"[a-zA-Z_.-][a-zA-Z0-9_.-]*")
    rule_head = re.compile(r"[a-zA-Z_.-][a-zA-Z0-9_.-]*(?:\[(?:[^\]\"\n]|\"(?:[^\"\\\n]|\\.)*\")*\](?=\s*::=))?")
    blank = re.compile(r"(?:\s|#[^\r\n]*)*")
    counts = _COUNTS

    def __init__(self, text: str) -> None:
        super().__init__(text)
        #: The rules that are lazy or bounded.
        self._restricted: dict[str, _Restriction] = {}
        self._most_tokens: dict[str, int] = {}
        self._labels: defaultdict[str, list[Label]] = defaultdict(list)

    def options(self, name: str) -> None:
        """Read ``[lazy, temperature=0.7]``."""
        begin = self.scanner.at
        if not self.scanner.take("["):
            return
        seen: set[str] = set()
        while True:
            self.scanner.match(self.blank)
            at = self.scanner.at
            option = self.scanner.match(_OPTION)
            if option is None:
                raise self._unread_option(name)
            key, _, value = option[0].partition("=")
            if key in seen:
                raise self.scanner.error(f"the option {key!r} is given twice", at, fix="leave one out")
            seen.add(key)
            self._check_option(key, value, at)
            self._take_option(name, key, value, at if key == "max_chars" else begin)
            self.scanner.match(self.blank)
            if self.scanner.take("]"):
                return
            if not self.scanner.take(","):
                raise self.scanner.unexpected("',' or ']'")

    def _take_option(self, name: str, key: str, value: str, at: int) -> None:
        before = self._restricted.get(name, _Restriction(at))
        if key == "lazy":
            self._restricted[name] = before._replace(is_lazy=True)
        if key == "max_chars":
            self._restricted[name] = before._replace(most=self.scanner.count(value, at), at=at)
        if key == "max_tokens":
            self._most_tokens[name] = self.scanner.count(value, at)
        if key == "capture":
            self._labels[name].append(value[1:-1] or name)
        if key == "temperature":
            self._labels[name].append(float(value))

    def _check_option(self, key: str, value: str, at: int) -> None:
        if value == '""' or (key == "temperature" and float(value) == math.inf):
            raise self.scanner.error(f"the option {key}={value}", at, fix="write a name, or a finite number")

    def _unread_option(self, name: str) -> Exception:
        at = self.scanner.at
        found = self.scanner.match(_OPTION_NAME)
        what = f"the option {found[0]!r} of a rule" if found and found[0] else "an option of a rule"
        fix = f"write {name}[temperature=0.7, capture, lazy, max_chars=100] ::= ..."
        return self.scanner.error(f"{what} that cannot be read", at, fix=fix)

    def resolve(self) -> None:
        known = RegularRules(
            self.rules,
            {name: Derived((self.rules[name],), each.language) for name, each in self._restricted.items()},
        )
        for name, (at, _, most) in self._restricted.items():
            what = f"the lazy rule {name!r}" if most is None else f"the rule {name!r} with max_chars={most}"
            fix = "let it, and the rules inside it, call themselves at their end or not at all"
            self.write_out(known, name, at, fact=f"{what}, which is not a regular expression", fix=fix)
            if most is not None and self.rules[name] == NOTHING:
                raise no_short_text(self.scanner, name, most, at)
        for name, most in self._most_tokens.items():
            self.rules[name] = bounded(self.rules[name], most, name)

    def labels(self) -> Mapping[str, Sequence[Label]]:
        return self._labels

    def symbol(self, depth: int) -> Expression:
        """Read a symbol, or the assertion at the end of a rule."""
        at = self.scanner.at
        if not self.scanner.take("(="):
            return super().symbol(depth)
        self.group(at, depth)
        self.skip(depth)
        if depth or not self.rule_ends(depth):
            raise self.scanner.error(
                "a lookahead assertion that does not end a rule",
                at,
                why="it is about the text after the rule",
                fix="move it",
            )
        return EMPTY_TEXT

    def terminal(self) -> Expression | None:
        at = self.scanner.at
        if self.scanner.take('"'):
            return Text(ast.literal(quoted(self.scanner, '"', at, _ESCAPES)))
        return Text(_SET.read(self.scanner, at)) if self.scanner.take("[") else None

    def call(self, name: str, at: int) -> Expression:
        if name not in MACROS:
            return super().call(name, at)
        after = self.scanner.at
        self.scanner.match(self.blank)
        if not self.scanner.take("("):
            self.scanner.at = after
            return super().call(name, at)
        expression, rules, left_out = expand(self.scanner, self._arguments(name, at), prefix=f"{name} at {at}")
        self.rules.update(rules)
        self.left_out += left_out
        return expression

    def _arguments(self, macro: str, at: int) -> Arguments:
        found = Arguments(macro, at)
        for _ in self.scanner.listed(")", self.blank):
            value = self._value()
            self.scanner.match(self.blank)
            if isinstance(value, Name) and self.scanner.take("="):
                self.scanner.match(self.blank)
                found.named[value.text] = self._value()
            else:
                found.positional.append(value)
        for value in found.positional:
            for each in value if isinstance(value, tuple) else ():
                if isinstance(each, Name):
                    self.called.setdefault(each.text, each.at)
        return found

    def _value(self, *, in_tuple: bool = False) -> object:
        """Read a literal, an integer, true, false, the name of a rule or a tuple of them."""
        at = self.scanner.at
        if self.scanner.take('"'):
            return quoted(self.scanner, '"', at, _ESCAPES)
        if self.scanner.take("(") and not in_tuple:
            return tuple(self._value(in_tuple=True) for _ in self.scanner.listed(")", self.blank))
        digits = self.scanner.match(_INTEGER)
        if digits:
            return int(digits[0])
        name = self.scanner.match(self.rule_name)
        if name is None:
            self.scanner.at = at
            raise self.scanner.unexpected("a literal, an integer, true, false, a name or a tuple of them")
        return name[0] == "true" if name[0] in ("true", "false") else Name(name[0], at)


_CODE = re.compile(r"#x([0-9a-fA-F]+)")
_NUMBER = re.compile(r"\[[0-9]+[a-z]?\]\s*")
_CONSTRAINT = re.compile(r"\[\s*(?:wfc|vc)\s*:[^\]]*\]?", re.IGNORECASE)


class _CodedSet(CharacterSet):
    """A set in which ``#x20`` is a character and a backslash is itself."""

    def __init__(self) -> None:
        super().__init__(Escapes({}))

    def member(self, scanner: Scanner) -> str:
        at = scanner.at
        code = scanner.match(_CODE)
        if code:
            return chr(scanner.code_point(code[1], at))
        return scanner.character()


_CODED_SET = _CodedSet()


class _W3c(_ByHeads):
    """A reader of the notation of the W3C's specifications."""

    rule_name = re.compile(r"[^\W\d](?:[\w.-]*\w)?")
    rule_head = re.compile(r"(?:\[[0-9]+[a-z]?\]\s*)?[^\W\d][\w.-]*")
    blank = re.compile(r"(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*")
    has_counts = False

    def __init__(self, text: str) -> None:
        super().__init__(text)
        #: The hidden rule of each difference -> its two sides, and its place.
        self._differences: dict[str, tuple[Expression, Expression, int]] = {}

    def head(self) -> str:
        """Read the number of a production, if it has one, its name and ``::=``."""
        self.scanner.match(_NUMBER)
        return super().head()

    def item(self, depth: int) -> Expression:
        """Read a symbol, its repetition, and the texts subtracted from it."""
        left = super().item(depth)
        while True:
            at = self.scanner.at
            if not self.scanner.take("-"):
                return left
            self.skip(depth)
            name = f"difference at {at}"
            self._differences[name] = (left, super().item(depth), at)
            left = Rule(name)
            self.rules[name] = NOTHING

    def terminal(self) -> Expression | None:
        at = self.scanner.at
        for quote in "\"'":
            if self.scanner.take(quote):
                return Text(ast.literal(quoted(self.scanner, quote, at, None)))
        constraint = self.scanner.match(_CONSTRAINT)
        if constraint:
            raise self.scanner.unsupported(
                f"the constraint {constraint[0]!r:.60}",
                at,
                why="it is not a rule but a text about one",
                fix="leave it out",
            )
        if self.scanner.take("["):
            return Text(_CODED_SET.read(self.scanner, at))
        code = self.scanner.match(_CODE)
        return Text(ast.literal(chr(self.scanner.code_point(code[1], at)))) if code else None

    def resolve(self) -> None:
        derived = {name: Derived((*sides,), difference) for name, (*sides, _) in self._differences.items()}
        known = RegularRules(self.rules, derived)
        for name, (_, _, at) in self._differences.items():
            fix = "take texts away from rules that call themselves at their end or not at all"
            self.write_out(known, name, at, fact="a difference of rules that call themselves", fix=fix)


def read_ebnf(text: str, dialect: EbnfDialect, start: str) -> ContextFreeGrammar:
    """Return the rules of a grammar in EBNF.

    Args:
        text: The grammar.
        dialect: Whose notation it is in.
        start: The start rule.

    Raises:
        GrammarError: It cannot be read, or a part of it cannot be enforced; ``line`` and ``column`` say where.
        UnsatisfiableSchemaError: It derives no text.
        LimitError: It is too long, nested too deep, or counts too far.
    """
    return (_Xgrammar if dialect == "xgrammar" else _W3c)(text).read(start)

r"""GBNF, the format of llama.cpp (its `grammars/README.md`), read to rules.

A rule ends with its line, except within parentheses and after ``|`` or ``::=``. Beyond llama.cpp a line may also begin with
``|``, rules may be left recursive, and ``\-`` is a dash in a set, as llama.cpp itself writes it for JSON Schemas. A token is a
special or added one (``<think>``), or any by its id (``<[1000]>``), and any token but one (``!<think>``) is one of text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from schemagen.context_free.bnf.notation import Notation
from schemagen.context_free.scanner import CharacterSet, Escapes, quoted, token_of
from schemagen.context_free.syntax import Text, TokenRun, literal
from schemagen.regex import ast

if TYPE_CHECKING:
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression

_ESCAPES = Escapes(
    {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "[": "[", "]": "]"}, hexadecimal={"x": 2, "u": 4, "U": 8}
)
_SET_ESCAPES = Escapes({**_ESCAPES.characters, "-": "-"}, hexadecimal=_ESCAPES.hexadecimal)
_SET = CharacterSet(_SET_ESCAPES)
_SAME_LINE = re.compile(r"(?:[ \t]|#[^\r\n]*)+")
_TOKEN = re.compile(r"!?<[^<>\s]*>")


class _Gbnf(Notation):
    """A reader of GBNF."""

    rule_name = re.compile(r"[a-zA-Z0-9_-]+")
    blank = re.compile(r"(?:\s|#[^\r\n]*)*")
    stacks_operators = True
    has_empty_alternatives = True
    has_open_low = True

    def skip(self, depth: int) -> None:
        """Skip blanks; line breaks only in a group, or before an alternative."""
        begin = self.scanner.at
        self.scanner.match(self.blank)
        if depth == 0 and not self.scanner.sees("|"):
            self.scanner.at = begin
            self.scanner.match(_SAME_LINE)

    def rule_ends(self, depth: int) -> bool:
        """A rule ends with its line."""
        return self.scanner.at_end or (depth == 0 and (self.scanner.sees("\n") or self.scanner.sees("\r")))

    def terminal(self) -> Expression | None:
        at = self.scanner.at
        if self.scanner.take('"'):
            return literal(quoted(self.scanner, '"', at, _ESCAPES))
        if self.scanner.take("["):
            return Text(_SET.read(self.scanner, at))
        if self.scanner.take("."):
            return Text(ast.ANY_CHAR)
        token = self.scanner.match(_TOKEN)
        if token and token[0].startswith("!"):
            return TokenRun(1, 1, but=(token_of(self.scanner, token[0][1:], at),))
        return token_of(self.scanner, token[0], at, may_be_text=True) if token else None


def read_gbnf(text: str, start: str) -> ContextFreeGrammar:
    """Return the rules of a grammar in GBNF.

    Args:
        text: The grammar.
        start: The start rule.

    Raises:
        GrammarError: It cannot be read, or a part of it cannot be enforced; ``line`` and ``column`` say where.
        UnsatisfiableSchemaError: It derives no text.
        LimitError: It is too long, nested too deep, or counts too far.
    """
    return _Gbnf(text).read(start)

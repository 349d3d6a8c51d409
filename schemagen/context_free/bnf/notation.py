"""The common parts of notations of rules: names, alternatives, groups and repetitions.

A subclass defines the end of a rule and the form of a terminal. All of them are scannerless: a literal or a set of characters
is a `Text`, and texts side by side become one.

Invariant: groups are at most `MAX_NESTING` deep, so that later passes may recurse over the rules.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from schemagen.context_free.captures import marked_rules
from schemagen.context_free.scanner import Scanner
from schemagen.context_free.simplify import productive
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    ContextFreeGrammar,
    Expression,
    Rule,
    alternatives,
    repeat,
    sequence,
)
from schemagen.errors import UnsatisfiableSchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemagen.context_free.captures import Label
    from schemagen.context_free.syntax import Token

_COUNTS = re.compile(r"\{\s*([0-9]*)\s*(?:(,)\s*([0-9]*)\s*)?\}")
_BLANKS = re.compile(r"[ \t]*")
_OPERATORS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Notation(ABC):
    """A reader of one grammar.

    Attributes:
        scanner: The text and how far it has been read.
        rules: The bodies that have been read.
        defined: Where each rule is defined.
        called: Where each rule is first called.
        left_out: Tokens that no text has.
    """

    rule_name: ClassVar[re.Pattern[str]]
    #: White space and comments, line breaks among them.
    blank: ClassVar[re.Pattern[str]]
    #: Whether ``x*?`` is a repetition of a repetition.
    stacks_operators: ClassVar[bool] = False
    #: Whether ``{m,n}`` is a repetition, how it is written, and whether m may be left out.
    has_counts: ClassVar[bool] = True
    counts: ClassVar[re.Pattern[str]] = _COUNTS
    has_open_low: ClassVar[bool] = False
    #: Whether the empty text may be written as nothing at all.
    has_empty_alternatives: ClassVar[bool] = False

    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)
        self.rules: dict[str, Expression] = {}
        self.defined: dict[str, int] = {}
        self.called: dict[str, int] = {}
        self.left_out: list[Token] = []

    @abstractmethod
    def skip(self, depth: int) -> None:
        """Skip blanks and comments between two symbols, ``depth`` groups deep."""

    @abstractmethod
    def rule_ends(self, depth: int) -> bool:
        """Whether a body ends here, ``depth`` groups deep."""

    @abstractmethod
    def terminal(self) -> Expression | None:
        """Read a terminal, if one begins here."""

    def call(self, name: str, at: int) -> Expression:
        """Return the expression for a name in a body."""
        self.called.setdefault(name, at)
        return Rule(name)

    def options(self, name: str) -> None:  # noqa: B027 - few notations have any
        """Read the options directly after the name of a rule that is defined."""

    def head(self) -> str:
        """Read the name of a rule and ``::=``."""
        found = self.scanner.match(self.rule_name)
        if found is None:
            raise self.scanner.unexpected("the name of a rule")
        self.options(found[0])
        self.scanner.match(_BLANKS)
        after = self.scanner.at
        self.scanner.match(self.blank)
        if not self.scanner.take("::="):
            self.scanner.at = after
            raise self.scanner.unexpected("'::='", fix=f"write the rule as {found[0]} ::= ...")
        return found[0]

    def read(self, start: str) -> ContextFreeGrammar:
        """Return the grammar whose texts are those of the rule ``start``.

        Raises:
            GrammarError: It cannot be read, or a part of it cannot be enforced.
            UnsatisfiableSchemaError: It derives no text.
            LimitError: It is too long, nested too deep, or counts too far.
        """
        self.scanner.match(self.blank)
        while not self.scanner.at_end:
            at = self.scanner.at
            name = self.head()
            if name in self.defined:
                raise self.scanner.defined_twice(f"the rule {name!r}", at, self.defined[name])
            self.defined[name] = at
            self.scanner.match(self.blank)
            self.rules[name] = self.alternatives(0)
            if not self.rule_ends(0):
                raise self.scanner.unexpected("a symbol or the end of the rule")
            self.scanner.match(self.blank)
        self.finish(start)
        marked = marked_rules(self.rules, self.labels())
        return ContextFreeGrammar(start, self.rules, left_out=tuple(self.left_out), marked=marked)

    def labels(self) -> Mapping[str, Sequence[Label]]:
        """Return the labels of rules: their captures and temperatures."""
        return {}

    def finish(self, start: str) -> None:
        """Refuse rules that are missing, and a start that derives nothing."""
        known = ", ".join(list(self.defined)[:8])
        if start not in self.defined:
            raise self.scanner.no_start(start, self.defined, len(self.scanner.text), "write a rule")
        for name, at in self.called.items():
            if name not in self.defined:
                close = difflib.get_close_matches(name, self.defined, 1)
                fix = f"did you mean {close[0]!r}?" if close else f"define it, or use one of {known}"
                raise self.scanner.error(f"the rule {name!r} is not defined", at, fix=fix)
        self.resolve()
        if start not in productive(self.rules):
            raise UnsatisfiableSchemaError(
                f"no text can be derived from {start!r}",
                at=self.scanner.where(self.defined[start]),
                why="each of its alternatives needs a rule that derives none either",
                fix="give the rule an alternative that ends",
            )

    def resolve(self) -> None:  # noqa: B027 - few notations have anything to do here
        """Write out what could not be before all rules were known."""

    def alternatives(self, depth: int) -> Expression:
        """Read sequences with ``|`` between them."""
        found = [self.sequence(depth)]
        while self.scanner.take("|"):
            self.scanner.match(self.blank)
            found.append(self.sequence(depth))
        return found[0] if len(found) == 1 else alternatives(*found)

    def sequence(self, depth: int) -> Expression:
        """Read symbols up to a ``|``, the end of the group or that of the rule."""
        parts: list[Expression] = []
        while True:
            self.skip(depth)
            if self.rule_ends(depth) or self.scanner.sees("|") or self.scanner.sees(")"):
                if not parts and not self.has_empty_alternatives:
                    raise self.scanner.unexpected("a symbol", fix='write "" for the empty text')
                return sequence(*parts)
            parts.append(self.item(depth))

    def item(self, depth: int) -> Expression:
        """Read a symbol and its repetition."""
        part = self.symbol(depth)
        repeated = False
        while True:
            at = self.scanner.at
            self.skip(depth)
            bounds = self.bounds()
            if bounds is None:
                return part
            if repeated and not self.stacks_operators:
                raise self.scanner.error("a repetition of a repetition", at, fix="put the inner one in parentheses")
            part, repeated = repeat(part, *bounds), True

    def bounds(self) -> tuple[int, int | None] | None:
        """Read the operator of a repetition, if there is one."""
        for sign, bounds in _OPERATORS.items():
            if self.scanner.take(sign):
                return bounds
        at = self.scanner.at
        if not self.has_counts or not self.scanner.sees("{"):
            return None
        found = self.scanner.match(self.counts)
        if found is None or not (found[1] or (self.has_open_low and found[3])):
            wanted = "{m}, {m,}, {,n} or {m,n}" if self.has_open_low else "{m}, {m,} or {m,n}"
            raise self.scanner.error("a repetition that cannot be read", at, fix=f"write {wanted}")
        return self.scanner.bounds(found[1] or "0", found[3] if found[2] else found[1], at)

    def symbol(self, depth: int) -> Expression:
        """Read a group, a name or a terminal."""
        at = self.scanner.at
        if self.scanner.take("("):
            return self.group(at, depth)
        found = self.scanner.match(self.rule_name)
        if found:
            return self.call(found[0], at)
        part = self.terminal()
        if part is None:
            raise self.scanner.unexpected("a symbol")
        return part

    def group(self, at: int, depth: int) -> Expression:
        """Read the rest of a group that began at ``at``."""
        self.scanner.check_depth(at, depth, "give the inner ones names, as rules")
        self.scanner.match(self.blank)
        if self.scanner.take(")"):
            return EMPTY_TEXT
        part = self.alternatives(depth + 1)
        if not self.scanner.take(")"):
            raise self.scanner.error("a group is never closed", at, fix="write ')' at its end")
        return part

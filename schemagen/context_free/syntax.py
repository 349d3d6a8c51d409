"""Context-free grammars as values: the one representation between every grammar language and every engine.

A grammar is a set of rules. The body of a rule is an expression over rules and terminals; a terminal is a regular language
(`schemagen.regex.ast`) together with how a lexer takes texts of it: any of them, or only one that does not go on as another.

Invariants: expressions are frozen; the lower-case constructors apply the cheap identities; the language of a terminal is never
empty and never holds the empty text.

Source: the regular right parts of LaLonde 1977, with which repetitions and alternatives inside a rule need no new rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Union as _Union

from schemagen.errors import UnsupportedGrammarError
from schemagen.regex import ast
from schemagen.regex.ast import HashedOnce, hashed_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


@hashed_once
@dataclass(frozen=True, slots=True)
class Rule(HashedOnce):
    """A call of the rule ``name``."""

    name: str


@hashed_once
@dataclass(frozen=True, slots=True)
class Terminal(HashedOnce):
    """A lexeme of the terminal ``name``."""

    name: str


@hashed_once
@dataclass(frozen=True, slots=True)
class Text(HashedOnce):
    """A text of a regular language, read character by character, without a lexer that looks for its end."""

    regex: ast.Regex


@hashed_once
@dataclass(frozen=True, slots=True)
class Guest(HashedOnce):
    """A text of another spec, such as a JSON value of a schema, read by an automaton of its own.

    Attributes:
        spec: As for `schemagen.compile`, frozen.
        name: Its name in the grammar, if it has one.
    """

    spec: Any
    name: str = field(default="", compare=False)


@hashed_once
@dataclass(frozen=True, slots=True)
class Token(HashedOnce):
    """One token of the vocabulary, whatever its text: one of those that are wanted. Which they are, the vocabulary says.

    Attributes:
        wanted: Names, and ranges of ids (first, last).
        may_be_text: Whether ids of ordinary tokens, which are text, may be among them.
        line: Its line in the grammar, from 1.
        column: Its column, from 1.
        place: Its place in a grammar that is not a text: a JSON pointer.
    """

    wanted: tuple[str | tuple[int, int], ...]
    may_be_text: bool = field(default=False, kw_only=True)
    line: int | None = field(default=1, compare=False)
    column: int | None = field(default=1, compare=False)
    place: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Return it as it is written in most notations."""
        ids = ",".join(
            str(first) if first == last else f"{first}-{last}"
            for first, last in (each for each in self.wanted if not isinstance(each, str))
        )
        return "|".join([*(each for each in self.wanted if isinstance(each, str)), *([f"<[{ids}]>"] if ids else [])])


@hashed_once
@dataclass(frozen=True, slots=True)
class TokenRun(HashedOnce):
    """Whole tokens of text from the vocabulary: the run begins and ends at token boundaries.

    Attributes:
        low: How many at least, 1 or more.
        high: How many at most, or None for any number.
        has_lines: Whether tokens with line breaks are among them.
        within: The texts that it may be, or None if each token is text of whole characters.
        but: Tokens that are not among them, ordinary ones or not.
        only: The ordinary tokens that are among them, or None for all.
    """

    low: int
    high: int | None
    has_lines: bool = True
    within: ast.Regex | None = None
    but: tuple[Token, ...] = ()
    only: Token | None = None


@hashed_once
@dataclass(frozen=True, slots=True)
class TokenBound(HashedOnce):
    """A text of ``inner`` of at most ``most`` tokens; a token that ends it and goes on counts, too.

    Attributes:
        inner: Its texts, over the rules of the same grammar.
        most: How many tokens at most, 1 or more.
        name: The name of its rule, for messages.
    """

    inner: Expression
    most: int
    name: str = field(default="", compare=False)


@hashed_once
@dataclass(frozen=True, slots=True)
class Mark(HashedOnce):
    """The beginning or the end of a labelled part: a place in the text, without a text of its own.

    Attributes:
        label: The label of the part; or the temperature at which its tokens are drawn.
        opens: Whether the part begins here; else it ends.
        most: How many tokens the part may have, if it has a bound in place of a label.
    """

    label: str | float
    opens: bool
    most: int | None = None


@hashed_once
@dataclass(frozen=True, slots=True)
class Sequence(HashedOnce):
    """The parts one after the other; no parts at all is the empty text."""

    parts: tuple[Expression, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Alternatives(HashedOnce):
    """Any of the parts; no parts at all is nothing."""

    parts: tuple[Expression, ...]


@hashed_once
@dataclass(frozen=True, slots=True)
class Repeat(HashedOnce):
    """``inner`` at least ``low`` and at most ``high`` times; ``high=None`` is unbounded."""

    inner: Expression
    low: int
    high: int | None


Expression = _Union[  # noqa: UP007 - a runtime alias of forward names
    Rule, Terminal, Text, Guest, Token, TokenRun, TokenBound, Mark, Sequence, Alternatives, Repeat
]

_LEAVES = (Terminal, Rule, Text, Guest, Token, TokenRun, Mark)

NOTHING = Alternatives(())
EMPTY_TEXT = Sequence(())


def literal(text: str) -> Expression:
    """A fixed text."""
    return Text(ast.literal(text))


def sequence(*parts: Expression) -> Expression:
    """The parts one after the other; neighbouring texts become one."""
    flat: list[Expression] = []
    texts: list[ast.Regex] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Sequence) else (part,):
            if isinstance(piece, Alternatives) and not piece.parts:
                return NOTHING
            if isinstance(piece, Text):
                texts.append(piece.regex)
                continue
            if texts:
                flat.append(Text(ast.concat(*texts)))
                texts = []
            flat.append(piece)
    if texts:
        flat.append(Text(ast.concat(*texts)))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def alternatives(*parts: Expression) -> Expression:
    """Any of the parts; texts among them become one, the empty text with them."""
    texts: list[ast.Regex] = []
    others: dict[Expression, None] = {}
    for part in parts:
        for piece in part.parts if isinstance(part, Alternatives) else (part,):
            if isinstance(piece, Text):
                texts.append(piece.regex)
            else:
                others[piece] = None
    if texts and EMPTY_TEXT in others:
        del others[EMPTY_TEXT]
        texts.append(ast.EPSILON)
    pieces: list[Expression] = [Text(ast.union(*texts)), *others] if texts else list(others)
    return pieces[0] if len(pieces) == 1 else Alternatives(tuple(pieces))


def repeat(inner: Expression, low: int, high: int | None) -> Expression:
    """``inner`` from ``low`` to ``high`` times (`None`: without end)."""
    if high == 0 or inner == EMPTY_TEXT or (inner == NOTHING and low == 0):
        return EMPTY_TEXT
    if inner == NOTHING:
        return NOTHING
    if low == high == 1:
        return inner
    if isinstance(inner, Text):
        return Text(ast.repeat(inner.regex, low, high))
    if (
        isinstance(inner, TokenRun)
        and inner.low == inner.high == 1
        and inner.within is None
        and not (inner.but and low > 1)
    ):
        run = replace(inner, low=max(low, 1), high=high)
        return run if low else alternatives(run, EMPTY_TEXT)
    return Repeat(inner, low, high)


def separated(item: Expression, separator: Expression, low: int, high: int | None) -> Expression:
    """``item`` from ``low`` to ``high`` times (`None`: without end), and ``separator`` between each two of them."""
    if high == 0 or separator in (EMPTY_TEXT, Text(ast.EPSILON)):
        return repeat(item, low, high)
    more = repeat(sequence(separator, item), max(low - 1, 0), None if high is None else high - 1)
    return repeat(sequence(item, more), min(low, 1), 1)


#: The mark between a lexeme and the text after it, a noncharacter.
MARK = chr(ast.MAX_CODE_POINT)


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One way to read a terminal.

    Attributes:
        text: Its texts.
        longer: The texts that it must not go on as: it ends only where no text of ``longer`` begins with it and goes on as the
            rest of the whole text does. With the empty language it ends anywhere; with ``text`` itself, at the longest match.
        marked: Whether ``text`` has the lexeme, `MARK`, and then every text that may follow it; ``longer`` is empty.
    """

    text: ast.Regex
    longer: ast.Regex = ast.EMPTY
    marked: bool = False


@dataclass(frozen=True, slots=True)
class LrTables:
    """How an LR parser reads: states are numbered from 0.

    Attributes:
        actions: For each state and symbol whether it reduces, and by which production, or else which state is next. A symbol is
            a terminal, a rule that was just complete, or None at the end of the text.
        productions: Their rules and how many symbols they have.
        expected: For each state the terminals that its lexer looks for, and how they are read there.
        start: The state at the start.
        end: The state in which the text is complete.
    """

    actions: tuple[dict[Terminal | Rule | None, tuple[bool, int]], ...]
    productions: tuple[tuple[Rule, int], ...]
    expected: tuple[tuple[tuple[Terminal, Lexeme], ...], ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Indentation:
    """How the indentation of lines opens and closes blocks, as lark's `Indenter` has it.

    Attributes:
        newline: The terminal of a line break in the rules.
        indent: The terminal in the rules that begins a block.
        dedent: The one that ends it.
        widths: The terminals of line breaks as they are written, with the indentation of the next line, or None for the
            one between brackets.
        opening: Brackets between which line breaks have no meaning.
        closing: The terminals that close them.
        tab: How many blanks a tabulator counts for.
    """

    newline: Terminal
    indent: Terminal
    dedent: Terminal
    widths: dict[Terminal, int | None]
    opening: tuple[Terminal, ...]
    closing: tuple[Terminal, ...]
    tab: int = 8


@dataclass(frozen=True, slots=True)
class ContextFreeGrammar:
    """A grammar whose texts are those of its start rule.

    Attributes:
        start: The name of the start rule.
        rules: The body of each rule.
        terminals: The ways to read each terminal.
        ignored: Terminals that may stand before, between and after all others.
        tables: The tables of a parser that does not read all of it, or None if every text that it derives is read.
        indentation: How lines make blocks, or None if they do not.
        left_out: Tokens that no text of it has, and that the rules do not name: special or added ones.
        marked: Bodies with marks, of rules with labelled parts: they derive the texts of the rules, or more, and tell the parts
            of a text that was accepted.
        written: The patterns of terminals as they are written, for messages about those that have no name.
    """

    start: str
    rules: dict[str, Expression]
    terminals: dict[str, tuple[Lexeme, ...]] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    tables: LrTables | None = None
    indentation: Indentation | None = None
    left_out: tuple[Token, ...] = ()
    marked: dict[str, Expression] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)


def substituted(expression: Expression, known: Mapping[Expression, Expression]) -> Expression:
    """Return an expression with some of its parts replaced, simplified where that allows it."""
    if expression in known:
        return known[expression]
    if isinstance(expression, Sequence):
        return sequence(*(substituted(part, known) for part in expression.parts))
    if isinstance(expression, Alternatives):
        return alternatives(*(substituted(part, known) for part in expression.parts))
    if isinstance(expression, Repeat):
        return repeat(substituted(expression.inner, known), expression.low, expression.high)
    if isinstance(expression, TokenBound):
        return bounded(substituted(expression.inner, known), expression.most, expression.name)
    return expression


def bounded(inner: Expression, most: int | None, name: str = "") -> Expression:
    """``inner`` with at most ``most`` tokens (`None`: any number)."""
    if most is None or inner in (EMPTY_TEXT, NOTHING):
        return inner
    return TokenBound(inner, most, name) if most else EMPTY_TEXT


def labelled(inner: Expression, label: str | float, most: int | None = None) -> Expression:
    """``inner`` as a part that `Matcher.captures` finds, or that has a temperature or a bound: see `Mark`."""
    return sequence(Mark(label, opens=True, most=most), inner, Mark(label, opens=False, most=most))


def marks_in(grammar: ContextFreeGrammar) -> list[Mark]:
    """Return the marks of a grammar, in the order of its rules."""
    return list(dict.fromkeys(each for each in leaves(grammar.marked) if isinstance(each, Mark)))


def guests_in(grammar: ContextFreeGrammar) -> list[Guest]:
    """Return the specs embedded in a grammar, in the order of its rules."""
    return list(dict.fromkeys(each for each in leaves(grammar.rules) if isinstance(each, Guest)))


def tokens_in(grammar: ContextFreeGrammar) -> list[Token]:
    """Return the tokens that a grammar names, in the order of its rules, and those that it leaves out."""
    named = (each for each in leaves(grammar.rules) if isinstance(each, Token))
    return list(dict.fromkeys([*named, *grammar.left_out]))


def refuse_tokens(grammar: ContextFreeGrammar, where: str) -> None:
    """Refuse the tokens that a grammar names, where only text can be read.

    Raises:
        UnsupportedGrammarError: It names one.
    """
    for token in tokens_in(grammar):
        raise UnsupportedGrammarError(
            f"the token {token} in {where}",
            line=token.line,
            column=token.column,
            at=token.place,
            why="a named token is not text",
            fix="compile a grammar that names tokens by itself",
        )


def counts_tokens(grammar: ContextFreeGrammar) -> bool:
    """Whether a grammar counts tokens of text."""
    return bool(counted_in(grammar))


def counted_in(grammar: ContextFreeGrammar) -> list[TokenRun | TokenBound]:
    """Return the outermost texts of a grammar whose tokens are counted, in the order of its rules."""
    return counted_among(grammar.rules.values())


def counted_among(bodies: Iterable[Expression]) -> list[TokenRun | TokenBound]:
    """Return the outermost texts of some rules whose tokens are counted, in order."""
    found: dict[TokenRun | TokenBound, None] = {}
    todo = [*bodies][::-1]
    while todo:
        expression = todo.pop()
        if isinstance(expression, TokenRun | TokenBound):
            found[expression] = None
        elif isinstance(expression, Repeat):
            todo.append(expression.inner)
        elif isinstance(expression, Sequence | Alternatives):
            todo.extend(reversed(expression.parts))
    return list(found)


def without_bounds(rules: dict[str, Expression]) -> dict[str, Expression]:
    """Return rules without the bounds of their tokens."""
    while bounds := [each for each in counted_among(rules.values()) if isinstance(each, TokenBound)]:
        known: dict[Expression, Expression] = {each: each.inner for each in bounds}
        rules = {name: substituted(body, known) for name, body in rules.items()}
    return rules


def leaves(rules: Mapping[str, Expression]) -> Iterator[Expression]:
    """Yield what rules are made of, in their order."""
    todo = list(rules.values())[::-1]
    while todo:
        expression = todo.pop()
        if isinstance(expression, _LEAVES):  # most are
            yield expression
        elif isinstance(expression, Repeat | TokenBound):
            todo.append(expression.inner)
        else:
            todo.extend(reversed(expression.parts))

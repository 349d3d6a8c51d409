"""Free text of a kind: quoted, unquoted, up to a stop, a paragraph; a line or passage of a given text; some tokens."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schemagen.checks import check_bounds, check_flag, kind_of
from schemagen.context_free.syntax import Text, TokenRun, repeat
from schemagen.errors import LimitError, OptionError, OptionTypeError
from schemagen.grammar.specs import Choice
from schemagen.regex import ast, wildcards
from schemagen.text.base import TextGroup, Wildcard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from schemagen.context_free.syntax import Expression


_KINDS: Mapping[str, tuple[Callable[[], ast.Regex], str]] = {
    "quoted": (wildcards.quoted_text, "a text in double quotes, with the escapes of JSON"),
    "unquoted": (wildcards.unquoted_text, "a plain string of YAML on one line, without quotes"),
    "paragraph": (wildcards.paragraph_text, "a text on one line"),
}


@dataclass(frozen=True)
class Plain(Wildcard):
    """What `quoted`, `unquoted` and `paragraph` return.

    Attributes:
        format: Which of them.
    """

    format: Literal["quoted", "unquoted", "paragraph"]

    def language(self) -> ast.Regex:
        """Return the texts."""
        return _KINDS[self.format][0]()

    def value_of(self, text: str) -> str:
        """Return the text, of a quoted one without its quotes, the escapes read.

        Raises:
            ValidationFailed: It is none of this kind.
        """
        found = super().value_of(text)
        return str(json.loads(found)) if self.format == "quoted" else found

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        return _KINDS[self.format][1]

    def __repr__(self) -> str:
        """Return the call that makes it."""
        return f"{self.format}()"


@dataclass(frozen=True)
class Until(Wildcard):
    """What `until` returns.

    Attributes:
        stop: What ends the text.
        include: Whether the text has it.
        greedy: Whether it may stand in the text before.
    """

    stop: str
    include: bool = False
    greedy: bool = False

    def __post_init__(self) -> None:
        """Refuse a value that is not a stop."""
        if not isinstance(self.stop, str):
            raise OptionTypeError(f"stop={self.stop!r:.80}", why=f"it is {kind_of(self.stop)}", fix="give a str")
        if not self.stop:
            raise OptionError("stop=''", why="it would end every text at once", fix="give the text that ends it")
        check_flag("include", self.include)
        check_flag("greedy", self.greedy)

    def language(self) -> ast.Regex:
        """Return the texts."""
        before = ast.ANY_STRING if self.greedy else wildcards.text_before(self.stop)
        return ast.concat(before, ast.literal(self.stop)) if self.include else before

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        stop = json.dumps(self.stop, ensure_ascii=False)
        if self.greedy:
            return f"a text that ends with {stop}" if self.include else "any text"
        return f"a text that ends with the first {stop}" if self.include else f"a text without {stop}"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        said = [f"{name}=True" for name in ("include", "greedy") if getattr(self, name)]
        return f"until({', '.join([repr(self.stop), *said])})"


def quoted() -> Plain:
    r"""Return the spec of a text in double quotes with backslash escapes, as JSON has it; its value has neither.

    ``"say \"hi\""`` has the value ``say "hi"``. Line breaks and other control characters are escaped, and half of a surrogate
    pair has no escape. It is what ``str`` as a spec writes.
    """
    return Plain("quoted")


def unquoted() -> Plain:
    r"""Return the spec of a text without quotes that YAML reads as the same text: a plain scalar on one line.

    It has a character or more, all of them printable, and blanks only within. It does not begin with an indicator (any of
    ``-?:,[]{}#&*!|>'"%@`` and the backtick), has no ``": "`` and no ``" #"``, and does not end with a colon. Words that
    YAML 1.1 or 1.2 takes for something else are left out: ``null``, ``yes``, ``off``, ``y``, numbers, dates, ``~``, ``<<``.
    It may stand alone, in a list, as a value and as a key (of up to 1,024 characters), but not within brackets, where commas
    and brackets end it.
    """
    return Plain("unquoted")


def until(stop: str, include: bool = False, greedy: bool = False) -> Until:
    r"""Return the spec of a text that ends before the first occurrence of another one, or with it.

    The texts of ``until(stop)`` are those after which ``stop`` is its first occurrence: they do not hold it, and do not end
    with the beginning of one that ``stop`` would complete. Any characters may stand in them, line breaks too, or none.

    Args:
        stop: What ends it.
        include: Whether the text, and so the value, ends with it.
        greedy: Whether the last occurrence counts, and not the first: ``stop`` may then occur in the text before. What makes
            an occurrence the last one is after it, so ``until(stop, greedy=True)`` alone is any text.
    """
    return Until(stop, include, greedy)


def paragraph() -> Plain:
    r"""Return the spec of a text on one line, of one character or more.

    All characters but those at which `str.splitlines` ends a line: ``\n``, ``\r``, ``\v``, ``\f``, U+001C to U+001E, U+0085,
    U+2028 and U+2029.
    """
    return Plain("paragraph")


def one_of_lines(text: str | Iterable[str]) -> Choice[str]:
    """Return the choice of one line of a text, as `str.splitlines` has them, without the line break.

    Lines of whitespace alone are left out; others are taken as they are, with blanks at their ends.

    Args:
        text: The text, or its lines.

    Raises:
        OptionError: There is no line, or something given as a line has a line break.
        OptionTypeError: It is no text, and holds something else than texts.
    """
    lines = _lines(text)
    for line in lines:
        if not isinstance(line, str):
            raise OptionTypeError(f"the line {line!r:.80} is {kind_of(line)}", why="lines are texts", fix="give a str")
        if len(line.splitlines()) > 1 or line.splitlines() not in ([line], []):
            raise OptionError(
                f"the line {line!r:.80} has a line break", why="a line is one", fix="give the whole text as one str"
            )
    kept = tuple(dict.fromkeys(line for line in lines if line.strip()))
    if not kept:
        raise OptionError("the text has no line", why="there is nothing to choose", fix="give a text that is not blank")
    return Choice(kept)


def _lines(text: str | Iterable[str]) -> list[str]:
    if isinstance(text, str):
        return text.splitlines()
    try:
        return list(text)
    except TypeError:
        raise OptionTypeError(
            f"the text of one_of_lines is {kind_of(text)}", why="it has lines", fix="give a str, or a list of lines"
        ) from None


@dataclass(frozen=True, repr=False)
class Tokens(TextGroup[str]):
    """So many tokens of text; made by `text_tokens` and `paragraph_tokens`.

    Args:
        min: At least so many.
        max: The most; None if there is no bound.
        has_lines: Whether there may be line breaks.
    """

    min: int
    max: int | None
    has_lines: bool

    def __post_init__(self) -> None:
        """Refuse values that are not numbers.

        Raises:
            OptionError: One is none, or they are in the wrong order.
        """
        check_bounds(self.min, self.max, least_high=1)

    def expression(self) -> Expression:
        """Return the run as an expression of a grammar."""
        return repeat(TokenRun(1, 1, self.has_lines), self.min, self.max)

    def value_of(self, text: str) -> str:
        """Return the text, whose tokens are not known any more."""
        return text

    def shown(self) -> str:
        """Return how long it is."""
        often = f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"
        return f"{'a text' if self.has_lines else 'one line'} of {often} tokens"

    def __repr__(self) -> str:
        """Return the call."""
        return f"{'text' if self.has_lines else 'paragraph'}_tokens(min={self.min}, max={self.max})"


def text_tokens(min: int = 1, max: int | None = None) -> Tokens:  # noqa: A002 - as list_of has them
    """Return a spec of free text that takes so many tokens.

    It begins and ends where tokens do, and each of its tokens is text of whole characters. It goes into a `Template`, into
    `schemagen.concat` and `schemagen.union`, and stands by itself; a matcher of it is fed with tokens, not with bytes.

    Args:
        min: At least so many.
        max: The most; None if there is no bound.

    Raises:
        OptionError: One is no number, or they are in the wrong order.
    """
    return Tokens(min, max, has_lines=True)


def paragraph_tokens(min: int = 1, max: int | None = None) -> Tokens:  # noqa: A002 - the same
    """Return a spec of free text on one line that takes so many tokens; see `text_tokens`."""
    return Tokens(min, max, has_lines=False)


#: Bytes in UTF-8 of a text; the compiled core has the same limit.
MAX_BYTES = 8 * 2**20
#: Characters of a text that a prompt repeats, and of the two ends of a longer one.
_SHOWN = 2000
_ENDS = 80


@dataclass(frozen=True, repr=False)
class SubstringOf(TextGroup[str]):
    """Any passage of a text, at least one character long; made by `substring_of`.

    Args:
        text: The quoted text.
    """

    text: str

    instruction = "Answer only with a passage of this text, copied character by character:"

    def expression(self) -> Expression:
        """Return the passages as an expression of a grammar."""
        return Text(ast.substring(self.text))

    def value_of(self, text: str) -> str:
        """Return the passage."""
        return text

    def shown(self) -> str:
        """Return the text, or of a long one, which the conversation has to hold elsewhere, how it begins and ends."""
        if len(self.text) <= _SHOWN:
            return self.text
        begin, end = self.text[:_ENDS], self.text[-_ENDS:]
        return f"the text of {len(self.text):,} characters above, which begins with {begin!r} and ends with {end!r}"

    def __repr__(self) -> str:
        """Return the call, with the beginning of a long text."""
        shown = repr(self.text) if len(self.text) <= _ENDS else f"{self.text[:_ENDS]!r}..."
        return f"substring_of({shown})"


def substring_of(text: str) -> SubstringOf:
    """Return a spec of any passage of a text, word for word: a quotation that is one.

    The passage is a run of whole characters, at least one. A prompt repeats a text of up to 2,000 characters; a longer one has
    to stand in the conversation anyway, and is named there by how it begins and ends.

    Cost: linear in the text (Blumer et al. 1985): 1 MB of English compiles in 0.2 to 0.5 s, takes 65 MB meanwhile and 13 MB
    from then on. A mask takes some microseconds; the first ones of a passage, where thousands of tokens may follow, 0.1 us for
    each of these when they are asked for the first time. The reference engine is for texts of a few thousand characters.

    Args:
        text: The quoted text, up to 8 MiB in UTF-8.

    Raises:
        OptionTypeError: It is no str.
        OptionError: It is empty, or has half of a surrogate pair, which no tokenizer writes.
        LimitError: It is too long.
    """
    if not isinstance(text, str):
        raise OptionTypeError(
            f"substring_of() was given {kind_of(text)}",
            why="a passage is quoted from a str",
            fix="read a file first: Path(file).read_text()",
        )
    if not text:
        raise OptionError(
            "substring_of() was given an empty text",
            why="it has no passage",
            fix="leave the call out where nothing is quoted",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the text of substring_of() has {text[error.start]!r} at {error.start}",
            why="that is half of a surrogate pair, which UTF-8 text cannot contain",
            fix="read the text with the encoding that it has",
        ) from None
    if size > MAX_BYTES:
        raise LimitError(
            f"the text of substring_of() has {size:,} bytes, limit {MAX_BYTES:,}",
            why="every place in it where a passage may begin is kept in memory",
            fix="split it, and let one call choose the part",
        )
    return SubstringOf(text)

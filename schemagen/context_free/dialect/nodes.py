"""Lark grammars as they are written: the parser makes these nodes, and `rules` gives them a meaning.

Every node keeps the offset in the text at which it begins, for errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union as _Union


@dataclass(frozen=True, slots=True)
class Literal:
    """``"text"`` or ``"text"i``."""

    text: str
    ignore_case: bool
    at: int


@dataclass(frozen=True, slots=True)
class Range:
    """``"a".."z"``: one character."""

    low: str
    high: str
    at: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """``/regex/flags``."""

    regex: str
    flags: str
    at: int


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the parameter of a rule, or a condition on it.

    Attributes:
        name: ``set_bit``, ``and``, ...; empty for a number or ``_``.
        arguments: Numbers, ranges of bits (first, end), and conditions.
        at: Where it begins.
    """

    name: str
    arguments: tuple[int | tuple[int, int] | Function, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Name:
    """A rule or a terminal, a rule perhaps with a value for its parameter."""

    name: str
    at: int
    argument: Function | None = None


@dataclass(frozen=True, slots=True)
class Json:
    """``%json {...}``: a value of a JSON Schema."""

    schema: object
    at: int


@dataclass(frozen=True, slots=True)
class Substring:
    """``%regex {"substring_...": ...}``: any run of the chunks."""

    chunks: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """``%lark {...}``: a text of another grammar."""

    grammar: Grammar
    at: int


@dataclass(frozen=True, slots=True)
class Reference:
    """``@name``: a text of a grammar that is given beside this one."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Token:
    """``<|name|>`` or ``<[1-3]>``: a token of the vocabulary."""

    text: str
    at: int


@dataclass(frozen=True, slots=True)
class Series:
    """The parts one after the other, if a condition holds."""

    parts: tuple[Node, ...]
    condition: Function | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``A & B``: the texts that all parts have."""

    parts: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Negation:
    """``~A``: every text but those of the part."""

    part: Node
    at: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """``part`` from ``low`` to ``high`` times, without a limit if ``high`` is None."""

    part: Node
    low: int
    high: int | None


Node = _Union[  # noqa: UP007 - a runtime alias of forward names
    Literal,
    Range,
    Pattern,
    Name,
    Json,
    Substring,
    Embedded,
    Reference,
    Token,
    Series,
    Choice,
    Conjunction,
    Negation,
    Repetition,
]


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes in brackets after the name of a rule.

    Attributes:
        lazy: Whether its first match ends it.
        ending: Its end: ``stop=`` or ``suffix=``.
        max_chars: The most characters of its texts, or None, of xgrammar alone.
        max_chars_at: The place of ``max_chars=``.
        max_tokens: The most tokens of its texts, or None.
        temperature: That of its texts, or None.
        capture: The name under which its text is captured; empty if it is not.
        stop_capture: The name under which the text of its end is captured, likewise.
        stop_capture_at: The place of ``stop_capture=``.
    """

    lazy: bool = False
    ending: Node | None = None
    max_chars: int | None = None
    max_chars_at: int = 0
    max_tokens: int | None = None
    temperature: float | None = None
    capture: str = ""
    stop_capture: str = ""
    stop_capture_at: int = 0

    @property
    def labels(self) -> tuple[str | float, ...]:
        """The labels of its texts: its capture and its temperature, if it has them."""
        return (*([self.capture] if self.capture else []), *([] if self.temperature is None else [self.temperature]))

    @property
    def is_labelled(self) -> bool:
        """Whether its texts, or their ends, have labels."""
        return bool(self.labels or self.stop_capture)

    @property
    def is_shortest(self) -> bool:
        """Whether the rule is read as one terminal that is not just its body."""
        return self.lazy or self.ending is not None


@dataclass(frozen=True, slots=True)
class Definition:
    """A rule or a terminal.

    Attributes:
        name: Its name, without ``?`` and ``!``.
        body: Its definition.
        at: Where its name begins.
        attributes: The attributes in brackets after the name.
        has_parameter: Whether it is ``name::_``.
    """

    name: str
    body: Node
    at: int
    attributes: Attributes = Attributes()
    has_parameter: bool = False


@dataclass(slots=True)
class Grammar:
    """One grammar, the whole text or a part of it in ``%lark {...}``.

    Attributes:
        at: Where it begins.
        rules: By name.
        terminals: By name, those that are imported too.
        imported: Terminals of the library under names of rules, which are in ``rules``.
        ignored: The ignored text between terminals.
        skips_first: Whether it is allowed before the first terminal.
        skips_once: Whether it is read once between two terminals, and not any number of times.
    """

    at: int = 0
    rules: dict[str, Definition] = field(default_factory=dict)
    terminals: dict[str, Definition] = field(default_factory=dict)
    imported: set[str] = field(default_factory=set)
    ignored: list[Node] = field(default_factory=list)
    skips_first: bool = False
    skips_once: bool = False


def is_terminal_name(name: str) -> bool:
    """Whether a name is that of a terminal: its first letter is a capital."""
    return name.lstrip("_")[:1].isupper()

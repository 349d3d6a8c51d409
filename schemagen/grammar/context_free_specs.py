"""Specs that are read to rules when they are compiled: `ContextFree`, and the grammar languages among them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from schemagen.checks import kind_of
from schemagen.errors import OptionError, OptionTypeError

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.context_free.bnf.ebnf import EbnfDialect
    from schemagen.context_free.syntax import ContextFreeGrammar

_DIALECTS = ("xgrammar", "w3c")

T_co = TypeVar("T_co", covariant=True)


class ContextFree(ABC, Generic[T_co]):
    """A spec whose texts a context-free grammar derives, and whose values are of type T: the base of all that is not JSON.

    A subclass is immutable and hashable: grammars are remembered by it.

    Attributes:
        instruction: What a prompt says before `shown`.
        forces_text: Whether the author of the spec, and not the model, writes text without a choice: it is not asked how to
            split it into tokens either.
    """

    instruction: ClassVar[str]
    forces_text: ClassVar[bool] = False

    @abstractmethod
    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the spec is read as.

        Raises:
            GrammarError: It cannot be read, or a part of it cannot be enforced; ``line`` and ``column`` say where.
            UnsatisfiableSchemaError: It derives no text.
            LimitError: It is too long, nested too deep, or counts too far.
        """

    def read(self, languages: _core.Languages) -> _core.Rules | ContextFreeGrammar:  # noqa: ARG002 - for others
        """Return the rules to compile: as the core has them, which takes less time, or as `rules` does.

        Args:
            languages: The place where languages are compared.

        Errors as for `rules`.
        """
        return self.rules()

    @abstractmethod
    def value_of(self, text: str) -> T_co:
        """Return what a complete text stands for.

        Raises:
            ValidationFailed: It stands for no value.
        """

    @abstractmethod
    def shown(self) -> str:
        """Return what a prompt says of the texts, below the instruction."""

    def checked(self) -> tuple[tuple[str, str], ...]:
        """Return what `value_of` checks and the rules do not say: JSON pointers, with words."""
        return ()

    def check_regular(self) -> None:
        """Refuse to be written as one regular expression, whatever the rules are.

        Raises:
            UnsupportedGrammarError: Its texts depend on more than its rules.
        """


@dataclass(frozen=True)
class GrammarText(ContextFree[str]):
    """Text that a grammar derives which is written in a grammar language; the base of each of them.

    Args:
        text: The grammar.
    """

    text: str

    instruction = "Answer only with a text that this grammar derives:"

    def __post_init__(self) -> None:
        """Refuse a value that is not text at once."""
        if not isinstance(self.text, str):
            raise OptionTypeError(
                f"the text of a {type(self).__name__} is {kind_of(self.text)}",
                why="a grammar is a str",
                fix="read a file first: Path(file).read_text()",
            )

    def value_of(self, text: str) -> str:
        """Return the text."""
        return text

    def shown(self) -> str:
        """Return the grammar."""
        return self.text.strip()


def _check_start(start: object) -> None:
    if not isinstance(start, str):
        raise OptionTypeError(f"start={start!r:.80}", why=f"it is {kind_of(start)}", fix="give a name")


@dataclass(frozen=True)
class GBNF(GrammarText):
    r"""Text that a grammar in GBNF derives, the format of llama.cpp.

    ``GBNF('root ::= "(" root ")" | [0-9]+')``. Literals and sets are over characters. Rules may be left recursive. A token
    by its name (``<think>``) is a special or added one of the vocabulary, one by its id (``<[1000]>``) any.

    Args:
        text: The grammar.
        start: The rule whose texts are meant; for llama.cpp it is always ``root``.
    """

    start: str = "root"

    def __post_init__(self) -> None:
        """Refuse a value that is not text at once."""
        super().__post_init__()
        _check_start(self.start)

    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the text is read as; see `ContextFree.rules`."""
        from schemagen.context_free.bnf.gbnf import read_gbnf

        return read_gbnf(self.text, self.start)


@dataclass(frozen=True)
class EBNF(GrammarText):
    """Text that a grammar in EBNF derives.

    A lookahead assertion ``(= ...)`` of xgrammar does not change the language: it repeats the rules around it. The macro
    ``Token("<|python_tag|>")`` is a special or added token of the vocabulary, and ``Token(128010)`` any token. Of the options
    of rules ``lazy``, ``max_chars=`` and ``max_tokens=`` change the texts, and ``capture`` labels them for `Matcher.captures`.

    Args:
        text: The grammar.
        dialect: "xgrammar", or "w3c" for the notation of the XML specification.
        start: The rule whose texts are meant.
    """

    dialect: EbnfDialect = "xgrammar"
    start: str = "root"

    def __post_init__(self) -> None:
        """Refuse a value that is not text, and unknown dialects, at once."""
        super().__post_init__()
        if self.dialect not in _DIALECTS:
            choices = ", ".join(map(repr, _DIALECTS))
            raise OptionError(f"dialect={self.dialect!r:.80}", fix=f"choose one of {choices}")
        _check_start(self.start)

    def rules(self) -> ContextFreeGrammar:
        """Return the rules that the text is read as; see `ContextFree.rules`."""
        from schemagen.context_free.bnf.ebnf import read_ebnf

        return read_ebnf(self.text, self.dialect, self.start)

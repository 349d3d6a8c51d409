"""Annotations with which a type steers the text of a field: `Check` judges its value, `Checker` its beginnings.

Both only ever narrow what the schema allows.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Literal

from pydantic_core import core_schema, to_json

from schemagen.checks import as_text
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import GetCoreSchemaHandler

#: Whether the text of the value is still being written.
_IS_WRITTEN: ContextVar[bool] = ContextVar("schemagen_is_written", default=False)


@contextmanager
def while_written() -> Iterator[None]:
    """Skip checks of the end in this block."""
    token = _IS_WRITTEN.set(True)
    try:
        yield
    finally:
        _IS_WRITTEN.reset(token)


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a value, as an annotation of its type: ``Annotated[str, Check(is_iban)]``.

    pydantic runs it wherever it validates the type. With ``tries=``, `schemagen.LanguageModel` runs it as soon as the model has
    closed the field, and has the model write the field again if the value is refused.

    Args:
        function: Takes the validated value. It returns False, or a text that says why, to refuse the value; anything else, such
            as True or None, accepts it. A ValueError refuses the value, too.
        when: "close": as soon as the field is closed, and again with the values around it. "end": once, when the whole value
            is there, for checks that are slow or count their calls.
        message: Why a value is refused, if the function does not say; for the error, and for the model with ``retries=``.

    Raises:
        OptionError: An argument is invalid.
    """

    function: Callable[[Any], Any]
    when: Literal["close", "end"] = "close"
    message: str = ""

    def __post_init__(self) -> None:
        """Refuse invalid arguments."""
        function: Any = self.function
        if isinstance(function, type) or not callable(function):
            raise OptionError(
                f"Check({as_text(function)})",
                why="nothing that can be called with a value",
                fix="give a function that takes the value: Check(is_iban)",
            )
        _refuse_coroutine("Check", function)
        if self.when not in ("close", "end"):
            raise OptionError(
                f"Check(when={self.when!r:.80})",
                why='there are "close" and "end"',
                fix='give when="close" or when="end"',
            )

    def __call__(self, value: Any) -> Any:
        """Return the value.

        Raises:
            ValueError: It is refused.
        """
        if self.when == "end" and _IS_WRITTEN.get():
            return value
        told = self.function(value)
        if refusal(told) is not None:
            name = getattr(self.function, "__name__", "the check")
            reason = told if isinstance(told, str) else ""
            raise ValueError(reason or self.message or f"{name} refuses {as_text(value)}")
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validate the type, then check the value."""
        return core_schema.no_info_after_validator_function(self, handler(source))


class Checker:
    """Steers a text while it is written: ``Annotated[str, Checker(in_dictionary)]``, or ``lm(prompt, grammar, checker=...)``.

    Each token that the model proposes is shown to the checker, with the text before it. A token that it refuses is not written:
    the model chooses among the others, with its own probabilities. This is for rules that no schema or grammar expresses, such
    as names that must have been declared.

    Args:
        function: As `next`; a subclass may define `next` instead.

    Raises:
        OptionError: The function cannot be called.
    """

    def __init__(self, function: Callable[[str], str | bool | None] | None = None) -> None:
        if function is not None and not callable(function):
            raise OptionError(
                f"Checker({as_text(function)})",
                why="nothing that can be called with a text",
                fix="give a function of the text so far, or a subclass with a method `next`",
            )
        _refuse_coroutine("Checker", function)
        self._function = function

    def next(self, prefix: str) -> str | bool | None:
        """Judge the beginning of a text.

        It is called for every proposed token, and must give the same answer for the same text. The beginning may end anywhere,
        as within a word.

        Args:
            prefix: The text of the field so far, the proposed token included: of a string its characters without quotes and
                escapes, of other values the JSON text. For ``checker=``, the text of the whole answer.

        Returns:
            A text that says why nothing acceptable can begin so, or False; anything else if it may.
        """
        return None if self._function is None else self._function(prefix)

    def end(self, text: str) -> str | bool | None:
        """Judge the complete text, in the same way; by default as `next` does."""
        return self.next(text)

    def _validate(self, value: Any) -> Any:
        told = refusal(self.end(value if isinstance(value, str) else to_json(value).decode()))
        if told is not None:
            raise ValueError(told)
        return value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Validate the type, then judge the complete text, for texts that were written without the checker."""
        return core_schema.no_info_after_validator_function(self._validate, handler(source))


def refusal(told: Any) -> str | None:
    """Return why a checker refuses a text; None if it does not. False of numpy refuses, too."""
    if isinstance(told, str):
        return told or "the checker refuses it"
    is_flag = isinstance(told, bool) or type(told).__name__ in ("bool", "bool_")
    return "the checker refuses it" if is_flag and not told else None


def _refuse_coroutine(name: str, function: Any) -> None:
    """Refuse a function that answers later.

    Raises:
        OptionError: It is a coroutine function.
    """
    if iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - is *that* one
        raise OptionError(
            f"{name}({as_text(function)})",
            why="it is a coroutine function, and the answer is needed before the next token",
            fix="give a plain function",
        )

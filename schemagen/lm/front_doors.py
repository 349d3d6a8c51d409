"""`FrontDoors`: what the four parts of a `LanguageModel` share, and the types of prompts and specs that all of them take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias, TypeVar

    from pydantic import TypeAdapter

    from schemagen.grammar.context_free_specs import ContextFree
    from schemagen.grammar.grammar import Grammar
    from schemagen.grammar.specs import Choice, Regex
    from schemagen.lm.language_model import LanguageModel
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.reasoning_grammar import ReasoningFormat

    T = TypeVar("T")
    Message: TypeAlias = Mapping[str, Any]
    #: A text, or a chat.
    Prompt: TypeAlias = str | Sequence[Message]
    #: Specs whose values are of type T; other type expressions are a `TypeForm[T]`.
    TypedSpec: TypeAlias = type[T] | Choice[T] | TypeAdapter[T]
    #: Specs whose values are texts; in a batch a list is no choice.
    PatternSpec: TypeAlias = Regex | re.Pattern[str] | ContextFree
    TextSpec: TypeAlias = PatternSpec | list[str] | tuple[str, ...]
    #: Specs whose values no type checker knows.
    OtherSpec: TypeAlias = Mapping[str, Any] | bool | Grammar


class FrontDoors(ABC):
    """Front doors of a `LanguageModel` that belong together, and what they need of it."""

    model: Any
    tokenizer: Any

    @property
    def _model(self) -> LanguageModel:
        """The model that this is a part of."""
        return cast("LanguageModel", self)

    @abstractmethod
    def _grammar(self, spec: Any, **options: Any) -> Grammar:
        """Return the grammar of a spec, which may be one already."""

    @abstractmethod
    def _thinker(self, reasoning: bool | int | Reasoning) -> ReasoningFormat | None:
        """Return how the model is to think before it answers; None: not at all."""

    @abstractmethod
    def _messages(self, prompt: Prompt, grammar: Grammar, *, show_schema: bool) -> list[dict[str, Any]]:
        """Return the chat to render, with what the answer has to be."""

    @abstractmethod
    def _encode(self, text: str, templated: bool) -> dict[str, Any]:
        """Return the tokens of a rendered prompt, on the device of the model."""

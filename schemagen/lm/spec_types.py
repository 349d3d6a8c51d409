"""The types of prompts and specs that the front doors of a `LanguageModel` take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias, TypeVar

    from pydantic import TypeAdapter

    from schemagen.generation import Failure, Generation
    from schemagen.grammar.context_free_specs import ContextFree
    from schemagen.grammar.grammar import Grammar
    from schemagen.grammar.json_texts import Json
    from schemagen.grammar.specs import Choice, Regex

    T = TypeVar("T")
    Message: TypeAlias = Mapping[str, Any]
    #: A text, or a chat.
    Prompt: TypeAlias = str | Sequence[Message]
    Prompts: TypeAlias = Iterable[Prompt]
    #: A row of a batch.
    Outcome: TypeAlias = Generation[T] | Failure
    #: Specs whose values are of type T; other type expressions are a `TypeForm[T]`.
    TypedSpec: TypeAlias = type[T] | Choice[T] | TypeAdapter[T] | ContextFree[T] | Grammar[T]
    #: Specs whose values are texts; in a batch a list is not a choice.
    PatternSpec: TypeAlias = Regex | re.Pattern[str]
    TextSpec: TypeAlias = PatternSpec | list[str] | tuple[str, ...]
    #: Specs whose values type checkers cannot know.
    OtherSpec: TypeAlias = Mapping[str, Any] | bool | Json

"""What streams yield.

`LanguageModel.stream` tells of thoughts, of fields that begin, grow and are complete, of snapshots, and of the value at the
end; `LanguageModel.stream_call` of words, and of calls with their arguments; `LanguageModel.stream_chat` of these for every
answer of a chat, and of results.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from schemagen.calling import Tool, ToolCall, ToolResult
    from schemagen.generation import FinishReason, Generation
    from schemagen.streaming.partial import Partial

T = TypeVar("T")


class Path(tuple["str | int", ...]):
    """Where a field is: the keys and indices that lead to it; `str` gives its JSON pointer (RFC 6901).

    A field is anything but the value as a whole, whose path is empty.
    """

    __slots__ = ()

    def __str__(self) -> str:
        """Return the JSON pointer."""
        return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in self)


@dataclass(frozen=True, slots=True)
class FieldStarted:
    """A field begins: its key is complete, or the first character of an item is there.

    Attributes:
        path: Its place.
    """

    path: Path


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of a value that is no container.

    Attributes:
        path: Its place; empty for text outside of JSON (`Regex`, `Choice`) and for a value that is not in a container.
        text: For strings what they grew by, escapes resolved, whole characters only; numbers, ``true``, ``false`` and
            ``null`` come at once, as they are written.
    """

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class FieldCompleted:
    """A field is complete.

    Attributes:
        path: Its place.
        value: Validated by the type of the field, where that is known: through pydantic models, dataclasses, TypedDicts,
            NamedTuples, lists, tuples, sets and dicts. Otherwise parsed JSON: in schemas, below a union whose members
            disagree, and where validators of the class around the field see it first.
    """

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """All there is so far; only with ``partials=True``.

    Attributes:
        value: For a pydantic model an instance of `Partial` of it, with None for what is missing. Otherwise the JSON value
            as far as it goes. Later snapshots do not change earlier ones.
    """

    value: Partial[T]


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """The end, always the last event.

    Of a stream of calls, too: its value is what `LanguageModel.call` returns; and of a chat: its value is the `Chat`.

    Attributes:
        generation: The value and how it came about.
    """

    generation: Generation[T]

    @property
    def value(self) -> T:
        """The validated instance."""
        return self.generation.value

    @property
    def text(self) -> str:
        """The text that it was read from."""
        return self.generation.text

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The generated tokens, EOS included if it was generated."""
        return self.generation.token_ids

    @property
    def finish_reason(self) -> FinishReason:
        """Whether the value is complete, or was closed by its budget: `Generation.finish_reason`."""
        return self.generation.finish_reason


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks before it answers; only with ``reasoning``, before all other events of the answer.

    Attributes:
        text: What the thoughts grew by, whole characters only. Together these are `Generation.reasoning`, with the whitespace
            around it.
    """

    text: str


Event: TypeAlias = ReasoningDelta | FieldStarted | Delta | FieldCompleted | Snapshot[T] | Completed[T]
FieldEvent: TypeAlias = FieldStarted | Delta | FieldCompleted


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of an answer, before, between or behind calls.

    Attributes:
        text: What they grew by, whole characters only. Together these are the text of the answer, without whitespace around it.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call begins: what was written so far leaves only one tool.

    Attributes:
        index: Of the call in the answer, from 0.
        tool: The tool that is called.
    """

    index: int
    tool: Tool[..., Any]

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name


@dataclass(frozen=True, slots=True)
class ArgumentStarted:
    """An argument of a call, or a field of one, begins.

    Attributes:
        index: Of the call.
        path: Its place in the arguments.
    """

    index: int
    path: Path


@dataclass(frozen=True, slots=True)
class ArgumentDelta:
    """More text of an argument that is no container, as in `Delta`.

    Attributes:
        index: Of the call.
        path: Its place in the arguments.
        text: For strings what they grew by; where a format cannot tell a string from other values before its end, all of it
            at once.
    """

    index: int
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class ArgumentCompleted:
    """An argument of a call, or a field of one, is complete.

    Attributes:
        index: Of the call.
        path: Its place in the arguments.
        value: As in `FieldCompleted`: validated by the type of the parameter, where that is known.
    """

    index: int
    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class CallCompleted:
    """A call is complete and its arguments are valid; it has not run.

    Attributes:
        index: Of the call.
        call: The call. Its ``content`` is the text so far; text that follows is known to the calls of `Completed` only.
    """

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class StepStarted:
    """In a chat the model is asked; the indices of calls begin at 0 again.

    Attributes:
        step: Of the chat, from 0.
    """

    step: int


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """In a chat a call has run, or was refused or declined.

    Attributes:
        index: Of the call in the answer.
        result: What came of it.
    """

    index: int
    result: ToolResult


CallEvent: TypeAlias = (
    ReasoningDelta
    | TextDelta
    | CallStarted
    | ArgumentStarted
    | ArgumentDelta
    | ArgumentCompleted
    | CallCompleted
    | Completed[T]
)
ArgumentEvent: TypeAlias = ArgumentStarted | ArgumentDelta | ArgumentCompleted
ChatEvent: TypeAlias = StepStarted | ToolReturned | CallEvent[T]

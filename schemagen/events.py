"""The events of streams.

`LanguageModel.stream` yields thoughts, fields that begin, grow and are complete, snapshots, and the value at the
end; `LanguageModel.stream_call` yields words, and calls with their arguments; `LanguageModel.stream_chat` yields these
for every answer of a chat, and the results of calls. A typed answer beside tools has the events of its fields, not words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from schemagen.errors.pointers import pointer_of

if TYPE_CHECKING:
    from schemagen.calling import Tool, ToolCall, ToolResult
    from schemagen.generation import FinishReason, Generation, Refused
    from schemagen.streaming.partial import Partial

T = TypeVar("T")


class Path(tuple["str | int", ...]):
    """The place of a field: the keys and indices that lead to it; `str` gives its JSON pointer (RFC 6901).

    A field is anything but the value as a whole, whose path is empty.
    """

    __slots__ = ()

    def __str__(self) -> str:
        """Return the JSON pointer."""
        return pointer_of(self)


@dataclass(frozen=True, slots=True)
class FieldStarted:
    """A field begins: its key is complete, or the first character of an item has arrived.

    Attributes:
        path: Its place.
    """

    path: Path


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of a value that is not a container.

    Attributes:
        path: Its place; empty for text outside of JSON (`Regex`, `Choice`) and for a value that is not in a container.
        text: For strings the new part, escapes resolved, whole characters only; numbers, ``true``, ``false`` and
            ``null`` come in one piece, as they are written.
    """

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class FieldCompleted:
    """A field is complete.

    Attributes:
        path: Its place.
        value: Validated by the type of the field, if it is known: through pydantic models, dataclasses, TypedDicts,
            NamedTuples, lists, tuples, sets and dicts. Otherwise parsed JSON: in schemas, below a union whose members
            disagree, and if validators of the class around the field see it first.
    """

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class FieldTakenBack:
    """A validator refused a value, and the model writes a field again; only with ``tries=``.

    The events of this field, and all events after its first one, are void. Those of the beginning that is kept come again.

    Attributes:
        path: The field; empty for the whole value.
        refused: The refused value: of this field, or of one in it.
    """

    path: Path
    refused: Refused


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[T]):
    """The value so far; only with ``partials=True``.

    Attributes:
        value: For a pydantic model an instance of its `Partial`, with None for missing fields. Otherwise the JSON value
            so far. Later snapshots do not change earlier ones.
    """

    value: Partial[T]


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """The end, always the last event.

    In a stream of calls its value is the result of `LanguageModel.call`; in a chat its value is the `Chat`.

    Attributes:
        generation: The value with its text, tokens and time.
    """

    generation: Generation[T]

    @property
    def value(self) -> T:
        """The validated instance."""
        return self.generation.value

    @property
    def text(self) -> str:
        """The text of the value."""
        return self.generation.text

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The generated tokens, EOS included if it was generated."""
        return self.generation.token_ids

    @property
    def finish_reason(self) -> FinishReason:
        """Whether the value is complete, or its budget closed it: `Generation.finish_reason`."""
        return self.generation.finish_reason


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More thoughts, or more of the draft, before an answer; with ``reasoning`` or ``draft``, before all its other events.

    Attributes:
        text: The new part, whole characters only. All parts together are `Generation.reasoning`, with the whitespace
            around it.
    """

    text: str


Event: TypeAlias = ReasoningDelta | FieldStarted | Delta | FieldCompleted | FieldTakenBack | Snapshot[T] | Completed[T]
FieldEvent: TypeAlias = FieldStarted | Delta | FieldCompleted


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of an answer, before, between or after calls.

    Attributes:
        text: The new part, whole characters only. All parts together are the text of the answer, without whitespace
            around it.
    """

    text: str


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call begins: the text so far leaves only one tool.

    Attributes:
        index: The index of the call in the answer, from 0.
        tool: The called tool.
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
        index: The index of the call.
        path: Its place in the arguments.
    """

    index: int
    path: Path


@dataclass(frozen=True, slots=True)
class ArgumentDelta:
    """More text of an argument that is not a container, as in `Delta`.

    Attributes:
        index: The index of the call.
        path: Its place in the arguments.
        text: For strings the new part; if a format cannot distinguish a string from other values before its end, the
            whole string.
    """

    index: int
    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class ArgumentCompleted:
    """An argument of a call, or a field of one, is complete.

    Attributes:
        index: The index of the call.
        path: Its place in the arguments.
        value: As in `FieldCompleted`: validated by the type of the parameter, if it is known.
    """

    index: int
    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class CallCompleted:
    """A call is complete and its arguments are valid; it has not run.

    Attributes:
        index: The index of the call.
        call: The call. Its ``content`` is the text so far; only the calls of `Completed` include later text.
    """

    index: int
    call: ToolCall


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A step of a chat begins; the indices of calls begin at 0 again.

    Attributes:
        step: The number of the step in the chat, from 0.
    """

    step: int


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """In a chat a call has run, or was refused or declined.

    Attributes:
        index: Of the call in the answer.
        result: The result of the call.
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
    | FieldEvent
    | Completed[T]
)
ArgumentEvent: TypeAlias = ArgumentStarted | ArgumentDelta | ArgumentCompleted
ChatEvent: TypeAlias = StepStarted | ToolReturned | CallEvent[T]

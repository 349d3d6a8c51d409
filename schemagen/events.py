"""What `LanguageModel.stream` yields: fields that begin, grow and are complete, snapshots, and the value at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from schemagen.lm.generation import Generation
    from schemagen.lm.partial import Partial

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


Event: TypeAlias = FieldStarted | Delta | FieldCompleted | Snapshot[T] | Completed[T]
FieldEvent: TypeAlias = FieldStarted | Delta | FieldCompleted

"""How sure the model was of its calls: the fields of an answer, found by the labels of its parts.

A call has the pointers of its JSON, after its index: ``/0/name``, ``/0/arguments``, ``/0/arguments/city``. JSON arguments have
all fields; tagged ones have a field for each parameter, since the text of its value need not be JSON; keyword arguments in
Python's syntax have only the whole. The format `kimi` has the name of the tool inside an id, so there the name is no field.
A typed answer has the fields of its type.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.labels import Arguments, Begin, TaggedValue, ToolName, Value
from schemagen.confidence.fields import Confidence, confidence_at, json_spans, spans_of
from schemagen.events import Path
from schemagen.streaming.answer_text import AnswerText
from schemagen.vocabulary.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from schemagen.calling.answer_format import Wire
    from schemagen.decode.generate import Decoded
    from schemagen.graph.reader import PartReader
    from schemagen.prompts.reasoning_grammar import ReasoningGrammar

Place = tuple[int, int]


@dataclass(slots=True)
class _Places:
    """Where a call is in the text.

    Attributes:
        name: Its name; None if the format has it in another part.
        arguments: Its arguments; None if it has none between tags.
        fields: The fields inside its arguments: pointer, start, end.
    """

    name: Place | None
    arguments: Place | None = None
    fields: list[tuple[str, int, int]] = field(default_factory=list)

    def spans(self, index: int) -> Iterator[tuple[str, int, int]]:
        """Yield its fields, outer ones first."""
        known = [each for each in (self.name, self.arguments) if each is not None]
        if known:
            yield f"/{index}", known[0][0], known[-1][1]
        if self.name is not None:
            yield f"/{index}/name", *self.name
        if self.arguments is not None:
            yield f"/{index}/arguments", *self.arguments
        yield from ((f"/{index}/arguments{path}", start, end) for path, start, end in self.fields)


def confidence_of_calls(wire: Wire, thinking: ReasoningGrammar | None, decoded: Decoded) -> Confidence:
    """Return how sure the model was of the fields of an answer that may have calls.

    Args:
        wire: The grammar of the answer, thoughts included.
        thinking: The same, to read the thoughts; None without thoughts.
        decoded: The answer, with records.
    """
    thoughts = None if thinking is None else thinking.thought_reader()
    answer = AnswerText(wire.graph.vocabulary, thoughts)
    reader = wire.graph.reader()
    for token_id in decoded.token_ids:
        reader.accept_token(token_id)

    def spans(text: str) -> Iterator[tuple[str, int, int]]:
        begin = 0 if thoughts is None else thoughts.answer_start or 0

        def offset(place: int) -> int:
            """Return the number of characters of the answer before a byte of the tokens."""
            return len(without_marks(bytes(reader.data[:place]))[begin:].decode())

        yield "", 0, len(text)
        yield from _fields(reader, text, offset)

    return confidence_at(wire.graph.vocabulary, answer, decoded.token_ids, decoded.records or (), spans)


def _fields(reader: PartReader, text: str, offset: Callable[[int], int]) -> Iterator[tuple[str, int, int]]:
    """Yield the fields of an answer."""
    calls: list[_Places] = []
    name: Place | None = None
    for part, first, last in reader.spans():
        label: Any = part.label
        if not isinstance(label, ToolName | Arguments | Begin | TaggedValue | Value):
            continue
        start, end = offset(first), offset(last)
        if isinstance(label, ToolName):
            name = (start, end)
        elif isinstance(label, Value):
            inner = spans_of(label.grammar, text[start:end])
            yield from ((path, start + low, start + high) for path, low, high in inner if path)
        elif isinstance(label, Begin | Arguments):
            calls.append(_Places(name))
            name = None
        if isinstance(label, Arguments):
            end -= label.is_python  # the parenthesis
            calls[-1].arguments = (start, end)
            inner = [] if label.is_python else json_spans(text[start:end])
            calls[-1].fields = [(path, start + low, start + high) for path, low, high in inner if path]
        elif isinstance(label, TaggedValue):
            end -= len(label.end)
            calls[-1].fields.append((str(Path((label.key,))), start, end))
            calls[-1].arguments = (calls[-1].fields[0][1], end)
    for index, call in enumerate(calls):
        yield from call.spans(index)


def with_confidence(found: ToolCall | ToolResult, index: int, confidence: Confidence) -> ToolCall | ToolResult:
    """Return a call, or the refusal of one, with its confidence."""
    if isinstance(found, ToolResult):
        call = with_confidence(found.call, index, confidence)
        assert isinstance(call, ToolCall), "as it came"
        return replace(found, call=call)
    return replace(found, confidence=confidence.within(f"/{index}"))

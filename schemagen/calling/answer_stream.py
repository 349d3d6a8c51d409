"""An answer read while the model writes it: events for everything that is decided.

The matcher of an answer may read it in several ways at once: in words that could also end in a marker, or after the last
required argument. `AnswerReader` reports only the parts that all ways agree on. Fixed text carries no content, so each way is
reduced to its *landmarks*, the parts with a label of `schemagen.calling.labels`. Where every way has the same landmark at the
same place, its text is reported as far as it goes; once all ways have left it, it is over. The graph tells which landmarks can
come next (`_next`), so a tool, or the key of a tagged argument, is known as soon as it is the only one.

Every format becomes pieces of one JSON object for each call, which `JsonReader` turns into events; so does a typed answer.

Invariant: words that could begin a marker, and whitespace that could be at the end, are held back. So no event is ever
retracted, and all events together give the result of `Wire.read` for the whole answer.
"""

from __future__ import annotations

import codecs
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.calling.calls import ToolCall
from schemagen.calling.labels import Arguments, Begin, CallId, RawCall, TaggedValue, Text, Value
from schemagen.calling.parameters import ArgumentsReader
from schemagen.errors import ValidationFailed
from schemagen.events import (
    ArgumentCompleted,
    ArgumentDelta,
    ArgumentStarted,
    CallCompleted,
    CallStarted,
    FieldCompleted,
    FieldStarted,
    TextDelta,
)
from schemagen.graph.reader import Span
from schemagen.streaming.field_reader import reader_of, types_of
from schemagen.streaming.field_types import FieldTypes
from schemagen.streaming.json_reader import JsonReader
from schemagen.types.reflection import is_type
from schemagen.vocabulary.marks import without_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.calling.calls import ToolResult
    from schemagen.calling.tools import Tool
    from schemagen.events import ArgumentEvent, CallEvent, FieldEvent, Path
    from schemagen.graph.grammar_graph import GrammarGraph
    from schemagen.graph.reader import Part
    from schemagen.streaming.field_reader import FieldReader

    Chain = list[Span]

_LANDMARKS = (Text, Value, Arguments, Begin, TaggedValue)


@dataclass(frozen=True, slots=True)
class _Landmark:
    """A part with content, in one way to read the text.

    Attributes:
        label: The label of the part.
        start: Offset of its first byte.
        end: Offset after its last byte; None while it is open.
        id: Where the id of the call begins and ends, if one precedes the arguments.
    """

    label: Any
    start: int
    end: int | None
    id: tuple[int, int] | None = None

    def is_like(self, other: _Landmark) -> bool:
        """Whether both have the same content; words do, whatever marker ends them."""
        alike = isinstance(other.label, Text) if isinstance(self.label, Text) else self.label == other.label
        return alike and self.start == other.start

    @property
    def marker(self) -> str:
        """The marker that ends it, if its text includes the marker."""
        if isinstance(self.label, Text):
            return self.label.marker
        return self.label.end if isinstance(self.label, TaggedValue) else ""


class _Partial:
    """The text of a landmark so far, in whole characters."""

    def __init__(self, start: int) -> None:
        self.text = ""
        self._upto = start
        self._characters = codecs.getincrementaldecoder("utf-8")()

    def read(self, data: bytearray, upto: int) -> None:
        """Read up to an offset."""
        self.text += self._characters.decode(bytes(data[self._upto : upto]))
        self._upto = upto

    def before(self, marker: str) -> int:
        """Return the number of characters that certainly do not belong to a marker."""
        longest = range(min(len(marker), len(self.text)), 0, -1)
        return len(self.text) - next((n for n in longest if self.text.endswith(marker[:n])), 0)


class _Value:
    """A tagged value while it is written, as pieces of JSON."""

    def __init__(self, label: TaggedValue) -> None:
        self._label = label
        #: Whether it is a string; None while that is open.
        self._is_string: bool | None = None if label.has_strings and label.others is not None else label.has_strings
        self._others = label.others.matcher() if self._is_string is None and label.others is not None else None
        self._read = 0
        self._said = ""

    def grow(self, text: str) -> str:
        """Return the next piece of the JSON that is certain."""
        if self._others is not None and not self._others.accept_bytes(text[self._read :].encode()):
            self._others, self._is_string = None, True
        self._read = len(text)
        if self._is_string:
            bare = text.removeprefix("\n").removesuffix("\n") if self._label.set_apart else text
            certain = json.dumps(bare, ensure_ascii=False)[:-1]
        else:  # Python's three constants are translated only when they are complete
            certain = "" if self._is_string is None or text.lstrip()[:1] in "TFN" else text.strip(" \t\n\r")
        return self._rest(certain)

    def end(self, text: str) -> str:
        """Return the rest of the JSON."""
        return self._rest(self._label.json(text))

    @property
    def member(self) -> str:
        """Key and value, as far as they are known, in JSON."""
        return f"{json.dumps(self._label.key, ensure_ascii=False)}: {self._said}"

    def _rest(self, certain: str) -> str:
        rest = certain[len(self._said) :]
        self._said += rest
        return rest


@dataclass(slots=True)
class _Call:
    """A call that is being written.

    Attributes:
        index: Its index in the answer.
        tool: The tool.
        reader: The reader of its arguments as JSON.
        python: The translator of its arguments to JSON; None unless they are in Python's syntax.
        label: The label of its arguments; None if each argument is a part of its own.
        id: The id that the model wrote; empty if it wrote none.
        is_tagged: Whether its tagged arguments are being read.
        members: The complete tagged arguments, as members of a JSON object.
        key: The key of the last tagged argument.
        is_over: Whether it is complete.
    """

    index: int
    tool: Tool[..., Any]
    reader: JsonReader
    python: ArgumentsReader | None = None
    label: Arguments | None = None
    id: str = ""
    is_tagged: bool = False
    members: list[str] = field(default_factory=list)
    key: str | None = None
    is_over: bool = False

    def opening(self, key: str) -> str:
        """Begin a tagged argument; return the JSON before its value."""
        self.key = key
        return (", " if self.members else "") + f"{json.dumps(key, ensure_ascii=False)}: "


class AnswerReader:
    """Turns the tokens of an answer into events.

    Args:
        graph: The grammar of the answer.
        judge: Makes a call from the written one and the text before it. If a validator refuses the arguments, it raises, or
            returns a result with the reasons.
        strict: Whether a value that its type refuses is an error at once. If not, the value is kept as written.

    Attributes:
        text: The words of the answer so far, or the text of its value.
        pieces: Where the text is in the bytes of the tokens, piece by piece: offsets of its first byte and after its last.
        found: The complete calls.
    """

    def __init__(
        self, graph: GrammarGraph, judge: Callable[[RawCall, str], ToolCall | ToolResult], *, strict: bool = True
    ) -> None:
        self.text = ""
        self.pieces: list[tuple[int, int]] = []
        self.found: list[ToolCall | ToolResult] = []
        self._graph = graph
        self._reader = graph.reader()
        self._judge = judge
        self._strict = strict
        self._skip = 0  # parts that are over in every way
        self._done = 0  # landmarks after them that are over
        self._grown: _Partial | None = None  # of the one that is open
        self._value: _Value | None = None
        self._said = 0  # characters of the words in it
        self._spaces = ""  # whitespace after words, reported if more words follow
        self._gaps: list[tuple[int, int]] = []  # where it is
        self._at = 0  # offset of the first byte of the open landmark that is not reported yet
        self._call: _Call | None = None
        self._fields: FieldReader | None = None  # of a typed answer
        self._events: list[CallEvent[Any]] = []
        self._ahead: dict[Part, frozenset[Any]] = {}

    def read(self, token_ids: Sequence[int]) -> None:
        """Read more tokens; `events` returns the new events.

        Raises:
            ValidationFailed: A value is refused; `events` returns the events before it.
        """
        read = 0
        for token_id in token_ids:
            if not self._reader.accept_token(token_id):
                break
            read += 1
        if read:
            self._advance(self._reader.readings(self._skip))

    def finish(self) -> None:
        """Read the parts that are decided only by the end of the answer.

        Raises:
            ValidationFailed: As `read`.
            MatcherError: The answer is not complete.
        """
        self._advance([[Span(*each) for each in self._reader.spans()[self._skip :]]])
        self._emit_certain(frozenset([None]))
        self._events += [] if self._fields is None else self._fields.finish()

    def events(self) -> list[CallEvent[Any]]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    @property
    def data(self) -> bytes:
        """The bytes of the text so far, without special tokens."""
        return without_marks(bytes(self._reader.data))

    @property
    def length(self) -> int:
        """How many bytes the tokens so far have, marks of special tokens included."""
        return len(self._reader.data)

    @property
    def open_arguments(self) -> tuple[int, str]:
        """The index of the last call that was begun (-1 if none was), and its arguments so far, as JSON."""
        return (-1, "") if self._call is None else (self._call.index, self._call.reader.text)

    # --- ways to read ------------------------------------------------------------------------------------------------

    def _advance(self, chains: list[Chain]) -> None:
        """Report what all ways agree on, landmark by landmark, then the parts that must come next."""
        ways = [_landmarks(chain) for chain in chains]
        while all(len(way) > self._done for way in ways):
            first, *others = (way[self._done] for way in ways)
            if not all(first.is_like(other) for other in others):
                break
            self._read_landmark([first, *others])
            ends = {landmark.end for landmark in (first, *others)}
            if None in ends or len(ends) > 1:
                break
            self._end_landmark(first)
        if self._grown is None:  # the next part depends on the end of an open landmark
            each = zip(ways, chains, strict=True)
            comes = [
                {way[self._done].label} if len(way) > self._done else self._next(chain[-1][0]) for way, chain in each
            ]
            self._emit_certain(frozenset[Any]().union(*comes))
        self._skip_decided(chains)

    def _skip_decided(self, chains: list[Chain]) -> None:
        """Leave out the parts from now on that all ways have in common, up to the last landmark that is over."""
        decided = landmarks = 0
        first, *others = chains
        for number, span in enumerate(first):
            is_landmark = isinstance(span.part.label, _LANDMARKS)
            if landmarks + is_landmark > self._done or any(way[number : number + 1] != [span] for way in others):
                break
            landmarks += is_landmark
            decided = number + 1 if is_landmark else decided
        self._skip += decided
        self._done -= sum(isinstance(span.part.label, _LANDMARKS) for span in first[:decided])

    def _next(self, part: Part) -> frozenset[Any]:
        """The labels of the landmarks that can come next after a part; None for the end."""
        if part not in self._ahead:
            found: set[Any] = set()
            seen, waiting = {part}, [part]
            while waiting:
                each = waiting.pop()
                if isinstance(each.label, _LANDMARKS):
                    found.add(each.label)
                    continue
                if each.final:
                    found.add(None)
                following = [*each.following, *(index for indices in each.special.values() for index in indices)]
                new = {self._graph.parts[index] for index in following} - seen
                seen |= new
                waiting += new
            self._ahead[part] = frozenset(found)
        return self._ahead[part]

    def _emit_certain(self, labels: frozenset[Any]) -> None:
        """Report a tool, the key of an argument, or the end of the arguments, if nothing else can come next."""
        call = self._call
        if call is not None and call.is_tagged and not call.is_over:
            keys = {label.key if isinstance(label, TaggedValue) else None for label in labels}
            key = keys.pop()
            if not keys and (key is None or key != call.key):
                self._feed(call, "}" if key is None else call.opening(key))
        if call is None or call.is_over:
            tools = {label.tool if isinstance(label, (Arguments, Begin)) else None for label in labels}
            tool = tools.pop()
            if tool is not None and not tools:
                self._start_call(tool)

    # --- landmarks ---------------------------------------------------------------------------------------------------

    def _read_landmark(self, ways: Sequence[_Landmark]) -> None:
        """Read a landmark as far as all ways agree on it."""
        landmark = ways[0]
        if self._grown is None:
            self._emit_certain(frozenset([landmark.label]))
            self._grown, self._at = _Partial(landmark.start), landmark.start
            if isinstance(landmark.label, (Arguments, Begin)):
                self._begin_arguments(landmark)
            elif isinstance(landmark.label, TaggedValue):
                self._value = _Value(landmark.label)
            elif isinstance(landmark.label, Value):
                self._fields = reader_of(landmark.label.grammar, self._complete(types_of(landmark.label.grammar)))
        grown, before = self._grown, len(self._grown.text)
        grown.read(self._reader.data, min(len(self._reader.data) if way.end is None else way.end for way in ways))
        certain = min(grown.before(way.marker) for way in ways)
        if isinstance(landmark.label, Text):
            self._say_words(grown.text[self._said : certain])
            self._said = max(self._said, certain)
        elif isinstance(landmark.label, Arguments) and self._call is not None:
            piece = grown.text[before:]
            self._feed(self._call, piece if self._call.python is None else self._call.python.feed(piece))
        elif self._value is not None and self._call is not None:
            self._feed(self._call, self._value.grow(grown.text[:certain]))
        elif self._fields is not None:
            self._read_fields(self._fields, grown.text[before:])

    def _end_landmark(self, landmark: _Landmark) -> None:
        if isinstance(landmark.label, Begin) and self._call is not None:
            self._call.is_tagged = True
            self._feed(self._call, "{")
        elif self._value is not None and self._call is not None and self._grown is not None:
            # The space tells the reader that a number is complete.
            self._feed(self._call, self._value.end(self._grown.text) + " ")
            self._call.members.append(self._value.member)
        self._done += 1
        self._grown = self._value = None
        self._said = 0

    def _say_words(self, piece: str) -> None:
        """Report words, without whitespace around the text as a whole."""
        start, self._at = self._at, self._at + len(piece.encode())
        piece = self._spaces + piece
        words = piece.rstrip()
        self._spaces = piece[len(words) :] if self.text or words else ""
        if words:
            end = self._at - len(self._spaces.encode())
            bare = words if self.text else words.lstrip()
            start += len(words.encode()) - len(bare.encode())
            self.pieces += [*self._gaps, (start, end)]
            self.text += bare
            self._events.append(TextDelta(bare))
            self._gaps = [(end, self._at)] if self._spaces else []
        elif self._spaces and start < self._at:
            self._gaps.append((start, self._at))

    def _read_fields(self, fields: FieldReader, piece: str) -> None:
        """Read more of a typed answer.

        Raises:
            ValidationFailed: A field is refused.
        """
        self.text += piece
        start, self._at = self._at, self._at + len(piece.encode())
        self.pieces += [(start, self._at)] if piece else []
        try:
            self._events += fields.feed(piece)
        except ValidationFailed as error:
            self._events += fields.feed("")
            error.text = self.text
            raise

    def _complete(self, types: FieldTypes) -> Callable[[Path, str, Any], Any]:
        """Return the function that makes values of fields."""
        return types.complete if self._strict else _lenient(types)

    # --- calls -------------------------------------------------------------------------------------------------------

    def _start_call(self, tool: Tool[..., Any]) -> None:
        types = FieldTypes(tool.spec if is_type(tool.spec) else None)
        self._call = _Call(len(self.found), tool, JsonReader(self._complete(types)))
        self._events.append(CallStarted(self._call.index, tool))

    def _begin_arguments(self, landmark: _Landmark) -> None:
        call = self._call
        assert call is not None, "its tool was certain before"
        if landmark.id is not None:
            call.id = self._reader.data[slice(*landmark.id)].decode()
        if isinstance(landmark.label, Arguments):
            call.label = landmark.label
            call.python = ArgumentsReader() if landmark.label.is_python else None

    def _feed(self, call: _Call, piece: str) -> None:
        """Read more of the JSON of a call; finish the call if its JSON is complete.

        Raises:
            ValidationFailed: Its arguments are refused.
        """
        try:
            found = call.reader.feed(piece)
        except ValidationFailed as error:
            self._events += (_of_call(call.index, event) for event in call.reader.feed(""))
            error.at = f"{call.tool.name}{error.at}"
            raise error from error.error
        self._events += (_of_call(call.index, event) for event in found)
        if call.reader.is_over and not call.is_over:
            call.is_over = True
            self._end_call(call)

    def _end_call(self, call: _Call) -> None:
        if call.label is None:
            text = "{" + ", ".join(call.members) + "}"
        else:
            assert self._grown is not None, "the arguments are being read"
            text = call.label.json(self._grown.text)
        validate_call = self._judge(RawCall(call.tool, text, call.id), self.text if call.index == 0 else "")
        self.found.append(validate_call)
        if isinstance(validate_call, ToolCall):
            self._events.append(CallCompleted(call.index, validate_call))


def _landmarks(chain: Chain) -> list[_Landmark]:
    """Return the parts with content; an id becomes part of the arguments after it."""
    found: list[_Landmark] = []
    id_at: tuple[int, int] | None = None
    for part, start, end in chain:
        if isinstance(part.label, CallId) and end is not None:
            id_at = (start, end)
        elif isinstance(part.label, _LANDMARKS):
            found.append(_Landmark(part.label, start, end, id_at))
            id_at = None
    return found


def _lenient(types: FieldTypes) -> Callable[[Path, str, Any], Any]:
    """Return a function that completes a value, or parses it as JSON if its type refuses it."""

    def complete(path: Path, text: str, parts: Any) -> Any:
        try:
            return types.complete(path, text, parts)
        except ValidationFailed:
            return json.loads(text)

    return complete


def _of_call(index: int, event: FieldEvent) -> ArgumentEvent:
    if isinstance(event, FieldStarted):
        return ArgumentStarted(index, event.path)
    if isinstance(event, FieldCompleted):
        return ArgumentCompleted(index, event.path, event.value)
    return ArgumentDelta(index, event.path, event.text)

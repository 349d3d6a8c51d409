"""Labels of the parts of an answer, and a complete answer read from its parts.

The graph of an answer (`schemagen.calling.answer_format`) labels its parts; a part with any other label is fixed text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemagen.calling.parameters import keywords_as_json, value_as_json

if TYPE_CHECKING:
    from schemagen.calling.tools import Tool
    from schemagen.engine.protocol import Engine
    from schemagen.grammar.grammar import Grammar


@dataclass(frozen=True, slots=True)
class RawCall:
    """A call as the model wrote it.

    Attributes:
        tool: The tool that it names.
        json: Its arguments, as JSON.
        id: Its id, if the format has one; else empty.
    """

    tool: Tool[..., Any]
    json: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, split into text and calls.

    Attributes:
        text: The text before, between and after the calls; or the text of a typed answer.
        calls: The calls, in order.
    """

    text: str
    calls: tuple[RawCall, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """The label of free text, with the marker that it ends in."""

    marker: str = ""

    def __str__(self) -> str:
        """Say what this part is."""
        return "free text"


@dataclass(frozen=True, slots=True)
class Value:
    """The label of a typed answer."""

    grammar: Grammar

    def __str__(self) -> str:
        """Say what this part is."""
        return "the answer"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The label of the arguments of a tool.

    Attributes:
        tool: The tool.
        is_python: Whether they are keyword arguments in Python's syntax, including the closing parenthesis; else JSON.
    """

    tool: Tool[..., Any]
    is_python: bool

    def __str__(self) -> str:
        """Say what this part is."""
        return f"the arguments of {self.tool.name}"

    def json(self, text: str) -> str:
        """Return the arguments as JSON."""
        return keywords_as_json(text[:-1]) if self.is_python else text


@dataclass(frozen=True, slots=True)
class ToolName:
    """The label of the name of a tool."""

    name: str

    def __str__(self) -> str:
        """Say what this part is."""
        return repr(self.name)


@dataclass(frozen=True, slots=True)
class CallId:
    """The label of the id of a call."""

    def __str__(self) -> str:
        """Say what this part is."""
        return "the id of a call"


@dataclass(frozen=True, slots=True)
class Begin:
    """The label of the place before the tagged parameters of a tool."""

    tool: Tool[..., Any]

    def __str__(self) -> str:
        """Say what this part is."""
        return f"the arguments of {self.tool.name}"


@dataclass(frozen=True, slots=True)
class TaggedValue:
    """The label of the value of a tagged parameter.

    Attributes:
        key: The parameter.
        others: The engine or grammar of the values that are not strings, if some are and others are not; else None.
        has_strings: Whether any other text is a string.
        end: The end tag, if the text includes it; else empty.
        set_apart: Whether line breaks around a string belong to the format.
    """

    key: str
    others: Engine | Grammar | None
    has_strings: bool
    end: str
    set_apart: bool

    def __str__(self) -> str:
        """Say what this part is."""
        return f"the value of {self.key}"

    def json(self, text: str) -> str:
        """Return the value as JSON."""
        bare = text.removesuffix(self.end)
        is_string = self.has_strings and (self.others is None or not _reads(self.others, bare))
        return value_as_json(bare, is_string=is_string, set_apart=self.set_apart)


class Reading:
    """An answer while its parts are read."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.value: str | None = None
        self.calls: list[RawCall] = []
        self.id = ""
        self.members: list[str] = []

    def add(self, label: Any, text: str) -> None:
        """Read the text of a part."""
        if isinstance(label, Text):
            self.texts.append(text.removesuffix(label.marker))
        elif isinstance(label, Value):
            self.value = text
        elif isinstance(label, CallId):
            self.id = text
        elif isinstance(label, Arguments):
            self._call(label.tool, label.json(text))
        elif isinstance(label, Begin):
            self.members = []
            self._call(label.tool, "{}")
        elif isinstance(label, TaggedValue):
            self.members.append(f"{json.dumps(label.key, ensure_ascii=False)}: {label.json(text)}")
            self.calls[-1] = replace(self.calls[-1], json="{" + ", ".join(self.members) + "}")

    def answer(self) -> Answer:
        """Return the answer."""
        text = "".join(self.texts).strip() if self.value is None else self.value
        return Answer(text, tuple(self.calls))

    def _call(self, tool: Tool[..., Any], text: str) -> None:
        self.calls.append(RawCall(tool, text, self.id))
        self.id = ""


def _reads(engine: Engine | Grammar, text: str) -> bool:
    matcher = engine.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()

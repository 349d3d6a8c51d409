"""The body of ``POST /v1/responses``, OpenAI's Responses API, and the chat that it asks for.

The API has other names for the fields of a chat, and items in place of messages. So a request becomes a `ChatRequest`, which
has its plan; `schemagen.serve.response_items` writes the answer. The server keeps no responses, and runs no tools.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, StrictInt, Tag, field_validator, model_validator

from schemagen.serve.errors import RequestError, unsupported
from schemagen.serve.requests import (
    MOST_LIKELIEST,
    ChatRequest,
    Effort,
    Extension,
    Function,
    Harmless,
    Meaningless,
    NamedFunction,
    Open,
    Part,
    Schema,
    is_object,
)

_KEEPS_NOTHING = "leave it out, and send the whole conversation as input: this server keeps no responses"
#: The value of ``include`` that asks for log-probabilities.
_LOGPROBS = "message.output_text.logprobs"
_NO_SUMMARY = "leave it out: the thoughts themselves are in the answer"
_ONLY: Meaningless = {
    "store": ((None, False), _KEEPS_NOTHING),
    "previous_response_id": ((None,), _KEEPS_NOTHING),
    "conversation": ((None,), _KEEPS_NOTHING),
    "background": ((None, False), "leave it out, and read the stream"),
    "max_tool_calls": ((None,), "leave it out: it counts calls of hosted tools, and there are none"),
    "prompt": ((None,), "send its text as instructions or input"),
    "truncation": ((None, "disabled"), "leave it out, and shorten the input yourself"),
}
#: Fields of chats -> their names in this API, for errors.
IN_RESPONSES = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "response_format.json_schema.schema": "text.format.schema",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
}


class TextPart(Open):
    """A part of a content; its other keys (annotations, say) have no meaning for the model."""

    type: Literal["input_text", "output_text", "text"]
    text: str


Content = str | list[TextPart]


def _text_of(content: Content) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)


class MessageItem(Open):
    """A message."""

    role: Literal["user", "assistant", "system", "developer"]
    content: Content


class CallItem(Open):
    """A call of a function."""

    call_id: str
    name: str
    arguments: Annotated[str, BeforeValidator(is_object)]


class ResultItem(Open):
    """The result of a call."""

    call_id: str
    output: Content


class ReasoningItem(Open):
    """Thoughts of an answer before; the model does not read them again."""


def _kind_of(item: Any) -> Any:
    return item.get("type") or "message" if isinstance(item, dict) else getattr(item, "type", None)


Item = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[CallItem, Tag("function_call")]
    | Annotated[ResultItem, Tag("function_call_output")]
    | Annotated[ReasoningItem, Tag("reasoning")],
    Discriminator(_kind_of),
]


class PlainFormat(Part):
    """An answer that may be any text, or any object."""

    type: Literal["text", "json_object"]


class SchemaFormat(Part):
    """An answer that is an instance of a schema."""

    type: Literal["json_schema"]
    name: str = ""
    description: str | None = None
    schema_: Schema = Field(alias="schema")
    strict: bool | None = None


class TextOptions(Part):
    """The form of the answer."""

    at: ClassVar[str] = "text."
    only: ClassVar[Meaningless] = {
        "verbosity": ((None, "medium"), "say in the prompt how long the answer should be"),
    }
    format: Annotated[PlainFormat | SchemaFormat, Field(discriminator="type")] | None = None


class ReasoningOptions(Part):
    """Thoughts before the answer."""

    at: ClassVar[str] = "reasoning."
    only: ClassVar[Meaningless] = {"summary": ((None,), _NO_SUMMARY), "generate_summary": ((None,), _NO_SUMMARY)}
    effort: Effort | None = None


class ResponseTool(Function):
    """A function that may be called."""

    type: Literal["function"]


class NamedResponseTool(NamedFunction):
    """The function that must be called."""

    type: Literal["function"]


class ObfuscationOptions(Part):
    """Options of a stream."""

    include_obfuscation: bool | None = None


class ResponsesRequest(Harmless):
    """The body of ``POST /v1/responses``."""

    only: ClassVar[Meaningless] = _ONLY
    model: str = ""
    input: str | list[Item]
    instructions: str | None = None
    text: TextOptions | None = None
    tools: list[ResponseTool] | None = None
    tool_choice: Literal["auto", "required", "none"] | NamedResponseTool | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0, le=100)
    top_p: float | None = Field(None, ge=0, le=1)
    seed: int | None = Field(None, ge=0, lt=2**63)
    stream: bool = False
    stream_options: ObfuscationOptions | None = None
    reasoning: ReasoningOptions | None = None
    include: list[str] | None = None
    top_logprobs: StrictInt | None = Field(None, ge=0, le=MOST_LIKELIEST)
    extension: Extension = Field(default_factory=Extension, alias="schemagen")

    @field_validator("tools", mode="before")
    @classmethod
    def _without_hosted(cls, given: Any) -> Any:
        for index, tool in enumerate(given if isinstance(given, list) else ()):
            kind = tool.get("type", "function") if isinstance(tool, dict) else "function"
            if kind != "function":
                raise unsupported(
                    f"tools.{index}.type", f"a tool of type {kind!r:.40}", "pass a function, and run its calls"
                )
        return given

    @field_validator("include")
    @classmethod
    def _with_logprobs_alone(cls, given: list[str] | None) -> list[str] | None:
        other = next((name for name in given or () if name != _LOGPROBS), None)
        if other is not None:
            raise unsupported(
                "include",
                f'"include": ["{other:.40}"]',
                f'leave it out: thoughts are always in the answer, and only "{_LOGPROBS}" can be added',
            )
        return given

    @model_validator(mode="after")
    def _with_logprobs(self) -> ResponsesRequest:
        if self.top_logprobs and not self.include:
            raise RequestError(
                f"top_logprobs is only allowed when {_LOGPROBS} is included",
                param="top_logprobs",
                fix=f'add "include": ["{_LOGPROBS}"], or leave it out',
                code="invalid-field",
            )
        return self

    @cached_property
    def chat(self) -> ChatRequest:
        """The chat that it asks for.

        Raises:
            RequestError: It asks for a trace.
        """
        if self.extension.trace:
            raise unsupported("schemagen.trace", "a trace of a response", "ask in a chat")
        choice: Any = self.tool_choice
        if isinstance(choice, NamedResponseTool):
            choice = {"type": "function", "function": {"name": choice.name}}
        given = {
            "messages": self._messages(),
            "response_format": self._format(),
            "tools": None if self.tools is None else [_as_chat_tool(tool) for tool in self.tools],
            "tool_choice": choice,
            "max_completion_tokens": self.max_output_tokens,
            "reasoning_effort": self.reasoning and self.reasoning.effort,
            "logprobs": True if self.include else None,
            "top_logprobs": self.top_logprobs,
            "schemagen": self.extension,
        }
        same = ("model", "parallel_tool_calls", "temperature", "top_p", "seed", "stream")
        given |= {name: getattr(self, name) for name in same}
        return ChatRequest.model_validate({name: value for name, value in given.items() if value is not None})

    def _format(self) -> dict[str, Any] | None:
        found = None if self.text is None else self.text.format
        if found is None or isinstance(found, PlainFormat):
            return None if found is None else found.model_dump()
        return {"type": found.type, "json_schema": found.model_dump(by_alias=True, exclude={"type"})}

    def _messages(self) -> list[dict[str, Any]]:
        """Return the messages; the items of one answer, such as text and calls, are one message."""
        found: list[dict[str, Any]] = []
        if self.instructions:
            found.append({"role": "system", "content": self.instructions})
        items = [MessageItem(role="user", content=self.input)] if isinstance(self.input, str) else self.input
        for item in items:
            if isinstance(item, MessageItem) and item.role == "assistant" and found and "tool_calls" in found[-1]:
                found[-1]["content"] += _text_of(item.content)
            elif isinstance(item, MessageItem):
                found.append({"role": item.role, "content": _text_of(item.content)})
            elif isinstance(item, ResultItem):
                found.append({"role": "tool", "tool_call_id": item.call_id, "content": _text_of(item.output)})
            elif isinstance(item, CallItem):
                if not found or found[-1]["role"] != "assistant":
                    found.append({"role": "assistant", "content": ""})
                function = {"name": item.name, "arguments": item.arguments}
                found[-1].setdefault("tool_calls", []).append({"id": item.call_id, "function": function})
        return found


def _as_chat_tool(tool: ResponseTool) -> dict[str, Any]:
    return {"type": "function", "function": tool.model_dump(exclude={"type"}, exclude_unset=True)}


def echoed(request: ResponsesRequest) -> dict[str, Any]:
    """Return the fields of a request that its response repeats."""
    names = ("instructions", "max_output_tokens", "temperature", "top_p", "metadata")
    tools = request.tools or []
    return {
        **{name: getattr(request, name) for name in names},
        "text": {"format": _dumped(request.text and request.text.format) or {"type": "text"}},
        "tools": [_dumped(tool) for tool in tools],
        "tool_choice": _dumped(request.tool_choice) or "auto",
        "parallel_tool_calls": request.parallel_tool_calls is not False,
        "reasoning": {"effort": request.reasoning and request.reasoning.effort, "summary": None},
        "previous_response_id": None,
        "store": False,
        "truncation": "disabled",
        "top_logprobs": request.top_logprobs or 0,
    }


def _dumped(value: Any) -> Any:
    return value.model_dump(by_alias=True, exclude_unset=True) if isinstance(value, BaseModel) else value

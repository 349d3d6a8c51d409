"""The bodies of responses and the chunks of streams, as OpenAI's API writes them: `Shape`, and that of completions.

`schemagen.serve.response_items` has the other one, of ``/v1/responses``.
"""

from __future__ import annotations

import json
import time
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.serve.errors import body_of
from schemagen.serve.logprobs import in_chat, in_completion
from schemagen.serve.readers import joined
from schemagen.serve.requests import ChatRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.serve.readers import Delta
    from schemagen.serve.requests import CommonRequest


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a request.

    Attributes:
        prompt: Of the prompts.
        completion: Of the answers, thoughts included.
        reasoning: Of the thoughts; None if there are none.
    """

    prompt: int
    completion: int
    reasoning: int | None


class Shape(ABC):
    """The form of a response."""

    @abstractmethod
    def body(self, choices: Sequence[tuple[list[Delta], str]], usage: Usage) -> dict[str, Any]:
        """Return the body of a response.

        Args:
            choices: The deltas of each answer, and its ``finish_reason``.
            usage: The tokens of the request.
        """

    @abstractmethod
    def opening(self, count: int) -> Iterator[bytes]:
        """Yield the first events of a stream of ``count`` answers."""

    @abstractmethod
    def step(
        self, index: int, delta: Delta, reason: str | None = None, extension: dict[str, Any] | None = None
    ) -> Iterator[bytes]:
        """Yield the events of a new part of an answer.

        Args:
            index: The index of the answer.
            delta: The new part of the answer.
            reason: Why the answer is over; None if it is not.
            extension: Fields that only this server has.
        """

    @abstractmethod
    def closing(self, usage: Usage) -> Iterator[bytes]:
        """Yield the events after the last answer is over."""

    @abstractmethod
    def failure(self, error: Exception) -> bytes:
        """Return the event of an error."""


class CompletionShape(Shape):
    """The form of responses to chats and completions.

    Args:
        request: The request.
        model: The name of the model.
    """

    def __init__(self, request: CommonRequest, model: str) -> None:
        self._is_chat = isinstance(request, ChatRequest)
        self._logprobs = in_chat if self._is_chat else in_completion
        self._has_logprobs = request.likeliest is not None
        self._wants_usage = request.wants_usage
        self._model = model
        self._id = new_id("chatcmpl" if self._is_chat else "cmpl", "-")
        self._created = int(time.time())

    def _head(self, *, chunk: bool) -> dict[str, Any]:
        kind = ("chat.completion.chunk" if chunk else "chat.completion") if self._is_chat else "text_completion"
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model}

    def body(self, choices: Sequence[tuple[list[Delta], str]], usage: Usage) -> dict[str, Any]:
        """Return the body of a response; see `Shape.body`."""
        written = []
        for index, (deltas, reason) in enumerate(choices):
            message = joined(deltas)
            answer = {"message": {**message, "refusal": None}} if self._is_chat else {"text": message["content"] or ""}
            logprobs = [each for delta in deltas for each in delta.get("logprobs", ())]
            told = self._logprobs(logprobs) if self._has_logprobs else None
            written.append({"index": index, **answer, "logprobs": told, "finish_reason": reason})
        return {**self._head(chunk=False), "choices": written, "usage": _counted(usage)}

    def opening(self, count: int) -> Iterator[bytes]:
        """Yield the role of each answer."""
        for index in range(count if self._is_chat else 0):
            yield from self.step(index, {"role": "assistant", "content": ""})

    def step(
        self, index: int, delta: Delta, reason: str | None = None, extension: dict[str, Any] | None = None
    ) -> Iterator[bytes]:
        """Yield a chunk; see `Shape.step`."""
        logprobs = self._logprobs(delta["logprobs"]) if "logprobs" in delta else None
        delta = {name: value for name, value in delta.items() if name != "logprobs"}
        answer = {"delta": delta} if self._is_chat else {"text": delta.get("content", "")}
        choice = {"index": index, **answer, "logprobs": logprobs, "finish_reason": reason}
        told = {} if extension is None else {"schemagen": extension}
        yield event({**self._head(chunk=True), "choices": [choice], **told})

    def closing(self, usage: Usage) -> Iterator[bytes]:
        """Yield the chunk that counts the tokens, if the client wants it."""
        if self._wants_usage:
            yield event({**self._head(chunk=True), "choices": [], "usage": _counted(usage)})

    def failure(self, error: Exception) -> bytes:
        """Return the event of an error."""
        return event(body_of(error))


def _counted(usage: Usage) -> dict[str, Any]:
    """Return the tokens of a request by the names of completions."""
    found: dict[str, Any] = {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
    }
    if usage.reasoning is not None:
        found["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return found


def new_id(kind: str, sign: str = "_") -> str:
    """Return an id."""
    return f"{kind}{sign}{uuid.uuid4().hex}"


def event(data: dict[str, Any]) -> bytes:
    """Return an event of a stream (SSE); a type in the data is also that of the event."""
    head = f"event: {data['type']}\n".encode() if "type" in data else b""
    return (
        head
        + b"data: "
        + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n\n"
    )


#: The last event of a stream.
DONE = b"data: [DONE]\n\n"

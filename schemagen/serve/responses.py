"""The bodies of responses and the chunks of streams, as OpenAI's API writes them."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.serve.readers import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.serve.readers import Delta


@dataclass(frozen=True, slots=True)
class Shape:
    """The common parts of all responses to one request.

    Attributes:
        is_chat: Whether the responses are to a chat, rather than to a completion.
        model: The name of the model.
        id: The id of the response.
        created: The time of creation, in seconds since the epoch.
    """

    is_chat: bool
    model: str
    id: str = ""
    created: int = field(default_factory=lambda: int(time.time()))

    @classmethod
    def of(cls, model: str, *, is_chat: bool) -> Shape:
        """Return the shape of the response to a request that came just now."""
        return cls(is_chat, model, f"{'chatcmpl' if is_chat else 'cmpl'}-{uuid.uuid4().hex}")

    def _head(self, *, chunk: bool) -> dict[str, Any]:
        kind = ("chat.completion.chunk" if chunk else "chat.completion") if self.is_chat else "text_completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def body(self, choices: Sequence[tuple[list[Delta], str]], usage: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a response.

        Args:
            choices: The deltas of each answer, and its ``finish_reason``.
            usage: As `usage_of` returns it.
        """
        written = []
        for index, (deltas, reason) in enumerate(choices):
            message = joined(deltas)
            answer = {"message": {**message, "refusal": None}} if self.is_chat else {"text": message["content"] or ""}
            written.append({"index": index, **answer, "logprobs": None, "finish_reason": reason})
        return {**self._head(chunk=False), "choices": written, "usage": usage}

    def chunk(
        self, index: int, delta: Delta, reason: str | None = None, extension: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return a chunk of a stream.

        Args:
            index: The index of the answer.
            delta: The new part of the answer.
            reason: Why the answer is over.
            extension: Fields that only this server has.
        """
        answer = {"delta": delta} if self.is_chat else {"text": delta.get("content", "")}
        choice = {"index": index, **answer, "logprobs": None, "finish_reason": reason}
        told = {} if extension is None else {"schemagen": extension}
        return {**self._head(chunk=True), "choices": [choice], **told}

    def usage_chunk(self, usage: dict[str, Any]) -> dict[str, Any]:
        """Return the chunk that counts the tokens."""
        return {**self._head(chunk=True), "choices": [], "usage": usage}


def usage_of(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    """Return the token usage of a request."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def event(data: dict[str, Any]) -> bytes:
    """Return an event of a stream (SSE)."""
    return b"data: " + json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n\n"


#: The last event of a stream.
DONE = b"data: [DONE]\n\n"

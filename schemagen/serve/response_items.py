"""The responses of ``POST /v1/responses``, OpenAI's Responses API: the deltas of an answer as items, and as events.

An answer is a list of items: thoughts, messages, calls. Each delta opens an item of its kind, unless one is open, and adds to
it; the item is done when another one opens. A response that is not streamed is made of the same items, so both are equal.
"""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING, Any

from schemagen.serve.errors import body_of
from schemagen.serve.response_requests import IN_RESPONSES, echoed
from schemagen.serve.shapes import Shape, event, new_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.serve.logprobs import Logprob
    from schemagen.serve.readers import Delta
    from schemagen.serve.response_requests import ResponsesRequest
    from schemagen.serve.shapes import Usage

    Event = dict[str, Any]

#: The key of a delta -> the prefix of an item's id, the item, its part, and the prefix of the events of its text.
_TEXTS: dict[str, tuple[str, dict[str, Any], dict[str, Any], str]] = {
    "reasoning": ("rs", {"type": "reasoning", "summary": []}, {"type": "reasoning_text"}, "response.reasoning_text"),
    "content": (
        "msg",
        {"type": "message", "role": "assistant"},
        {"type": "output_text", "annotations": []},
        "response.output_text",
    ),
}


class _TextItem:
    """A message, or thoughts: an item with one part, a text.

    Args:
        kind: The key of its deltas.
        index: Its index in the output.
    """

    def __init__(self, kind: str, index: int) -> None:
        prefix, item, self._part, self._event = _TEXTS[kind]
        self._item = {"id": new_id(prefix), **item}
        self._at = {"item_id": self._item["id"], "output_index": index, "content_index": 0}
        self._logprobs: list[dict[str, Any]] = []
        self._text = ""
        self.kind = kind

    @property
    def item(self) -> dict[str, Any]:
        """The item, complete."""
        return {**self._item, "status": "completed", "content": [self._whole(**self._part)]}

    def _whole(self, **told: Any) -> dict[str, Any]:
        """Return the text so far; that of a message with log-probabilities."""
        return {**told, "text": self._text, **self._with(self._logprobs)}

    def _with(self, logprobs: list[dict[str, Any]]) -> dict[str, Any]:
        return {"logprobs": [*logprobs]} if self.kind == "content" else {}

    def begin(self) -> Iterator[Event]:
        """Yield the events of its beginning."""
        index = self._at["output_index"]
        item = {**self._item, "status": "in_progress", "content": []}
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.content_part.added", **self._at, "part": self._whole(**self._part)}

    def grow(self, piece: str, logprobs: Sequence[Logprob] = ()) -> Iterator[Event]:
        """Yield the event of more text, and of its tokens."""
        self._text += piece
        new = [each.told for each in logprobs]
        self._logprobs += new
        yield {"type": f"{self._event}.delta", **self._at, "delta": piece, **self._with(new)}

    def end(self) -> Iterator[Event]:
        """Yield the events of its end."""
        yield self._whole(type=f"{self._event}.done", **self._at)
        yield {"type": "response.content_part.done", **self._at, "part": self._whole(**self._part)}


class _CallItem:
    """A call of a function.

    Args:
        call: The call as the first delta gives it.
        index: Its index in the output.
    """

    kind = "tool_calls"

    def __init__(self, call: dict[str, Any], index: int) -> None:
        self._item = {
            "id": new_id("fc"),
            "type": "function_call",
            "call_id": call["id"],
            "name": call["function"]["name"],
        }
        self._at = {"item_id": self._item["id"], "output_index": index}
        self._arguments = ""

    @property
    def item(self) -> dict[str, Any]:
        """The item, complete."""
        return {**self._item, "status": "completed", "arguments": self._arguments}

    def begin(self) -> Iterator[Event]:
        """Yield the event of its beginning."""
        item = {**self._item, "status": "in_progress", "arguments": ""}
        yield {"type": "response.output_item.added", "output_index": self._at["output_index"], "item": item}

    def grow(self, piece: str, _: Sequence[Logprob] = ()) -> Iterator[Event]:
        """Yield the event of more arguments."""
        self._arguments += piece
        yield {"type": "response.function_call_arguments.delta", **self._at, "delta": piece}

    def end(self) -> Iterator[Event]:
        """Yield the event of its end."""
        told = {"name": self._item["name"], "arguments": self._arguments}
        yield {"type": "response.function_call_arguments.done", **self._at, **told}


class _Output:
    """The items of an answer.

    Attributes:
        items: Those that are done.
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self._open: _TextItem | _CallItem | None = None

    def feed(self, delta: Delta) -> Iterator[Event]:
        """Yield the events of a delta."""
        for kind in _TEXTS:
            if kind in delta:
                if self._open is None or self._open.kind != kind:
                    yield from self._begin(_TextItem(kind, len(self.items) + (self._open is not None)))
                yield from self._grow(delta[kind], delta.get("logprobs", ()) if kind == "content" else ())
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                yield from self._begin(_CallItem(call, len(self.items) + (self._open is not None)))
            if call["function"]["arguments"]:
                yield from self._grow(call["function"]["arguments"])

    def close(self) -> Iterator[Event]:
        """Yield the events of the end; an answer without items has an empty message."""
        if self._open is None and not self.items:
            yield from self._begin(_TextItem("content", 0))
        yield from self._end()

    def _begin(self, item: _TextItem | _CallItem) -> Iterator[Event]:
        yield from self._end()
        self._open = item
        yield from item.begin()

    def _grow(self, piece: str, logprobs: Sequence[Logprob] = ()) -> Iterator[Event]:
        assert self._open is not None, "an item was begun"
        yield from self._open.grow(piece, logprobs)

    def _end(self) -> Iterator[Event]:
        if self._open is not None:
            yield from self._open.end()
            item, index = self._open.item, len(self.items)
            self._open = None
            self.items.append(item)
            yield {"type": "response.output_item.done", "output_index": index, "item": item}


class ResponseShape(Shape):
    """The form of the response to one request.

    Args:
        request: The request.
        model: The name of the model.
    """

    def __init__(self, request: ResponsesRequest, model: str) -> None:
        self._head = {
            "id": new_id("resp"),
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
            "error": None,
            **echoed(request),
        }
        self._output = _Output()
        self._is_cut = False
        self._numbers = count()

    def body(self, choices: Sequence[tuple[list[Delta], str]], usage: Usage) -> dict[str, Any]:
        """Return the body of a response; see `Shape.body`."""
        for index, (deltas, reason) in enumerate(choices):
            for delta in deltas:
                self._events(index, delta)
            self._events(index, {}, reason)
        return self._response(usage)

    def opening(self, count: int) -> Iterator[bytes]:
        """Yield the events of the beginning."""
        del count
        response = self._response(None)
        yield self._written({"type": "response.created", "response": response})
        yield self._written({"type": "response.in_progress", "response": response})

    def step(
        self, index: int, delta: Delta, reason: str | None = None, extension: dict[str, Any] | None = None
    ) -> Iterator[bytes]:
        """Return the events of a new part; see `Shape.step`."""
        del extension
        return map(self._written, self._events(index, delta, reason))

    def closing(self, usage: Usage) -> Iterator[bytes]:
        """Yield the event of the whole response."""
        response = self._response(usage)
        yield self._written({"type": f"response.{response['status']}", "response": response})

    def failure(self, error: Exception) -> bytes:
        """Return the event of an error."""
        told = body_of(error, IN_RESPONSES)["error"]
        parts = {name: told[name] for name in ("code", "message", "param")}
        return self._written({"type": "error", **parts, "error": told})

    def _events(self, index: int, delta: Delta, reason: str | None = None) -> list[Event]:
        """Add a part of the answer to the output, and return its events."""
        assert index == 0, "a response has one answer"
        found = [*self._output.feed(delta)]
        if reason is not None:
            self._is_cut = reason == "length"
            found += self._output.close()
        return found

    def _response(self, usage: Usage | None) -> dict[str, Any]:
        """Return the response as it is now; it is over if its tokens are counted."""
        status = "in_progress" if usage is None else "incomplete" if self._is_cut else "completed"
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        counted = None if usage is None else _counted(usage)
        return {
            **self._head,
            "status": status,
            "incomplete_details": details,
            "output": [*self._output.items],
            "usage": counted,
        }

    def _written(self, told: Event) -> bytes:
        return event({**told, "sequence_number": next(self._numbers)})


def _counted(usage: Usage) -> dict[str, Any]:
    """Return the tokens of a request by the names of this API."""
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": usage.prompt + usage.completion,
    }

"""`ToolCall`, a call that a model wrote, and `ToolResult`, its outcome."""

from __future__ import annotations

import asyncio
import json
import secrets
import string
from concurrent.futures import ThreadPoolExecutor, TimeoutError as FutureTimeoutError
from contextvars import copy_context
from dataclasses import dataclass, field
from inspect import isgenerator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from schemagen.errors import ToolError, ToolRetry

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from schemagen.calling.tools import Tool
    from schemagen.confidence.fields import Confidence

_ALPHABET = string.ascii_letters + string.digits
#: Characters of an id; the templates of Mistral require this length.
ID_LENGTH = 9


def new_id() -> str:
    """Return an id for a call: nine letters and digits."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ID_LENGTH))


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model has written: the tool and its validated arguments. The function has not run yet.

    ``call()`` runs the function, ``await call.acall()`` does so in an event loop, `run` and `arun` return a `ToolResult`
    instead of raising.

    Attributes:
        tool: The tool.
        arguments: An instance of the model of the arguments, with the parameters as attributes; a dict for tools that
            were made from a JSON Schema.
        json: The arguments as the model wrote them, JSON.
        content: The text before the call, or before the first of several.
        id: The id by which a result refers to the call.
        confidence: How sure the model was of the name and the arguments, by pointers into the JSON of the call (``/name``,
            ``/arguments/city``); None without ``confidence=True``.
    """

    tool: Tool[..., Any]
    arguments: Any
    json: str
    content: str = ""
    id: str = field(default_factory=new_id)
    confidence: Confidence | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    def __call__(self, *, timeout_s: float | None = None) -> Any:
        """Run the function and return its result; a coroutine function runs in an event loop of its own.

        Args:
            timeout_s: Seconds to wait. A function that takes longer keeps running, because Python cannot stop a thread.

        Raises:
            ToolError: The tool has no function, or it is a coroutine function and an event loop is running.
            TimeoutError: The function took longer.
            Exception: As the function raises it.
        """
        if self.tool.is_async:
            _refuse_running_loop(self.name)
            return asyncio.run(self.acall(timeout_s=timeout_s))
        if timeout_s is None:
            return self.tool.invoke(self.arguments)
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self.name)
        try:
            return pool.submit(copy_context().run, self.tool.invoke, self.arguments).result(timeout_s)
        except FutureTimeoutError as error:
            raise _timeout(self.name, timeout_s, error) from None
        finally:
            pool.shutdown(wait=False)

    async def acall(self, *, timeout_s: float | None = None) -> Any:
        """Run the function without blocking the event loop: a coroutine function in it, another one in a thread.

        Args:
            timeout_s: As `__call__`; a coroutine is cancelled.

        Raises:
            ToolError: The tool has no function.
            TimeoutError: The function took longer.
            Exception: As the function raises it.
        """
        running: Coroutine[Any, Any, Any] = (
            self.tool.invoke(self.arguments)
            if self.tool.is_async
            else asyncio.to_thread(self.tool.invoke, self.arguments)
        )
        try:
            return await asyncio.wait_for(running, timeout_s)
        except asyncio.TimeoutError as error:
            raise _timeout(self.name, timeout_s, error) from None

    def run(self, *, timeout_s: float | None = None) -> ToolResult:
        """Run the function and return its value or its exception as a `ToolResult`.

        Args:
            timeout_s: As `__call__`.
        """
        try:
            value = self(timeout_s=timeout_s)
            # A generator can be read only once, and may raise while it is read.
            return ToolResult(self, [*value] if isgenerator(value) else value)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is data for the model
            return ToolResult(self, None, error)

    async def arun(self, *, timeout_s: float | None = None) -> ToolResult:
        """Run the function in an event loop, as `acall`, and return a `ToolResult`, as `run`."""
        try:
            value = await self.acall(timeout_s=timeout_s)
            return ToolResult(self, await asyncio.to_thread(list, value) if isgenerator(value) else value)
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is data for the model
            return ToolResult(self, None, error)

    def __str__(self) -> str:
        """Show the call as JSON."""
        return json.dumps({"name": self.name, "arguments": json.loads(self.json)}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of a call.

    Attributes:
        call: The call.
        value: The return value of the function.
        error: The exception that the function raised; None if it raised none. If a validator refused the arguments, its error:
            the function has not run, and `ToolCall.arguments` is parsed JSON.
    """

    call: ToolCall
    value: Any
    error: Exception | None = None

    @property
    def text(self) -> str:
        """The text for the model: a text as it is, another value as JSON, an exception as a sentence.

        Tokenizers reject half of a surrogate pair, so it is written as its escape.
        """
        return self._text().encode("utf-8", "backslashreplace").decode()

    def _text(self) -> str:
        if isinstance(self.error, ToolRetry):
            return f"Error: {self.error.fact}\nCorrect the call and try again."
        if isinstance(self.error, ValidationError):
            return f"Error: the arguments are not valid:\n{reasons(self.error)}\nCorrect the call and try again."
        if self.error is not None:
            return f"Error: {type(self.error).__name__}: {_said(self.error)}"
        return as_text(self.value)

    def to_message(self) -> dict[str, Any]:
        """Return the message with the result, to append to the chat."""
        return {"role": "tool", "name": self.call.name, "tool_call_id": self.call.id, "content": self.text}


def reasons(error: ValidationError) -> str:
    """Return one line per refused part, in a form that helps a model."""
    lines = (f"- {'.'.join(map(str, part['loc'])) or 'arguments'}: {part['msg']}" for part in error.errors())
    return "\n".join(lines)


def as_text(value: Any) -> str:
    """Return a value as text for the model: a text as it is, others as JSON if they have a JSON form, else by `str`."""
    if isinstance(value, str):
        return value
    try:
        return value.model_dump_json() if isinstance(value, BaseModel) else to_json(value, fallback=_said).decode()
    except ValueError:  # it holds itself, or a serializer of a class raises
        return _said(value)


def _said(value: Any) -> str:
    """Return ``str(value)``, or the name of its class if `str` raises."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - `__str__` is code of the user
        return type(value).__name__


def _refuse_running_loop(name: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ToolError(
        f"tool {name} is a coroutine function, and an event loop is running",
        why="it can only be waited for there",
        fix="use `await call.acall()`, or `await lm.achat(...)`",
        code="running-loop",
    )


def _timeout(name: str, seconds: float | None, error: BaseException) -> Exception:
    """Return the error of a function that took too long; a timeout that the function raised itself stays unchanged."""
    if seconds is None:
        return error if isinstance(error, Exception) else TimeoutError(str(error))
    return TimeoutError(f"{name} took longer than {seconds} s")

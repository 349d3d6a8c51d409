"""`LanguageModel.chat`: call tools until the model answers; and the meaning of the argument ``tool_choice``."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from inspect import iscoroutine, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.request import CallRequest, ToolChoice, messages_of, resolve
from schemagen.checks import check_count, check_seconds, kind_of
from schemagen.errors import OptionError, ToolError
from schemagen.prompts.messages import as_messages
from schemagen.request.attempts import Refusal, complete_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from schemagen.calling.request import CallForm, ModelTurn
    from schemagen.request.settings import Settings

    Message = Mapping[str, Any]

T = TypeVar("T")

_APPROVE = "give a plain function of a ToolCall that returns True or False; it may ask a person and wait"


@dataclass(frozen=True, slots=True)
class Chat(Generic[T]):
    """A chat that has reached an answer.

    Attributes:
        text: The answer.
        value: The answer as a value of ``returns``; the text if no type was given.
        messages: All messages, including calls, results and the answer. To continue the chat, append the next message of the
            user and pass them to `LanguageModel.chat`.
        results: The results of the calls, in order.
    """

    text: str
    value: T
    messages: tuple[dict[str, Any], ...]
    results: tuple[ToolResult, ...] = ()


class Conversation:
    """A chat that has not reached its answer yet; the last step must not call, so there always is an answer.

    Args:
        settings: The model and the options.
        form: The tools, and the format of calls.
        prompt: A text, or the messages so far.
        choice: The tools for the first step, as for `LanguageModel.call`; later the model decides.
        max_steps: The maximum number of answers of the model.
        timeout_s: Seconds that a tool may take.
        approve: Called with each call before it runs; refuses the call by returning False.

    Attributes:
        messages: The messages so far.
        calls: The calls to run now.
        timeout_s: As given.

    Raises:
        OptionError: ``max_steps`` is below 1, or ``timeout_s`` not above 0.
    """

    def __init__(
        self,
        settings: Settings,
        form: CallForm,
        prompt: str | Sequence[Message],
        *,
        choice: ToolChoice,
        max_steps: int,
        timeout_s: float | None,
        approve: Callable[[ToolCall], bool] | None,
    ) -> None:
        check_seconds("timeout_s", timeout_s)
        _check_approve(approve)
        self.messages: list[Any] = as_messages(prompt)
        self.calls: list[ToolCall] = []
        self.timeout_s = timeout_s
        self._settings = settings
        self._form = form
        self._left = check_count("max_steps", max_steps)
        self._choice = choice
        self._approve = approve
        self._said = ""
        self._found: list[ToolCall | ToolResult] = []
        self._results: list[ToolResult] = []

    def request(self) -> CallRequest:
        """Return the next request to the model.

        Raises:
            SchemaError: The arguments of a tool cannot be compiled.
            ToolError: A tool cannot be written in the wire format, or the choice is not among the tools.
        """
        choice = "none" if self._left == 1 else self._choice
        return CallRequest.of(self._settings, self._form, self.messages, resolve(self._form.tools, choice))

    def ask(self) -> Chat[Any] | None:
        """Ask for an answer and take it.

        Raises:
            GenerationError: As `LanguageModel.run`.
            ValidationFailed: As `take`.
        """
        return self.take(complete_request(self.request()).value)

    def take(self, turn: ModelTurn) -> Chat[Any] | None:
        """Take an answer; return the chat if it calls nothing. A refused value is told to the model, which answers again.

        Raises:
            ValidationFailed: A validator refuses the value of the last step.
        """
        self._left -= 1
        self._choice, self._said = "auto", turn.text
        self._found = [_declined(entry, self._approve) for entry in turn.found]
        self.calls = [entry for entry in self._found if isinstance(entry, ToolCall)]
        if self._found:
            return None
        if isinstance(turn.value, Refusal):
            if not self._left:
                raise turn.value.error from turn.value.error.error
            self.messages = turn.value.messages
            return None
        self.messages.append({"role": "assistant", "content": turn.text})
        return Chat(turn.text, turn.value, tuple(self.messages), tuple(self._results))

    def give(self, ran: Iterable[ToolResult]) -> list[ToolResult]:
        """Append the results of `calls`, given in order; return all results of the answer, including refusals."""
        if not self._found:
            return []
        each = iter(ran)
        finished = [entry if isinstance(entry, ToolResult) else next(each) for entry in self._found]
        self.messages += messages_of(self._said, self._found, finished)
        self._results += finished
        return finished


def run(conversation: Conversation) -> Chat[Any]:
    """Run a chat to its answer, its calls one after another."""
    while (chat := conversation.ask()) is None:
        conversation.give([call.run(timeout_s=conversation.timeout_s) for call in conversation.calls])
    return chat


async def arun(conversation: Conversation) -> Chat[Any]:
    """Run a chat to its answer, the calls of one step at the same time, and the model in a thread."""
    while (chat := await asyncio.to_thread(conversation.ask)) is None:
        running = [call.arun(timeout_s=conversation.timeout_s) for call in conversation.calls]
        conversation.give(await asyncio.gather(*running))
    return chat


def _check_approve(approve: Any) -> None:
    if approve is not None and (not callable(approve) or iscoroutinefunction(approve)):
        raise OptionError(f"approve={approve!r:.80}", why="the answer is needed before the tool runs", fix=_APPROVE)


def _declined(entry: ToolCall | ToolResult, approve: Callable[[ToolCall], bool] | None) -> ToolCall | ToolResult:
    """Return a call that may run, or a refusal. Only True lets a tool run: any other object could be true by accident."""
    if isinstance(entry, ToolResult) or approve is None:
        return entry
    allowed: Any = approve(entry)
    if iscoroutine(allowed):
        allowed.close()
    if not isinstance(allowed, bool):
        raise OptionError(f"approve returned {kind_of(allowed)}", why="only True lets a tool run", fix=_APPROVE)
    return entry if allowed else ToolResult(entry, None, ToolError("the call was declined", code="declined"))

"""`LanguageModel.chat`: go on until there is an answer; and what the argument ``tool_choice`` means."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_count, check_seconds
from schemagen.calling.calls import ToolCall, ToolResult
from schemagen.calling.request import CallRequest, Choice, messages_of
from schemagen.calling.tools import Tool, select
from schemagen.errors import ToolError
from schemagen.prompts.messages import as_messages
from schemagen.request.pipeline import complete_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from schemagen.calling.request import CallForm, ModelTurn
    from schemagen.request.settings import Settings

    Message = Mapping[str, Any]

#: "auto": the model decides; "required": it must call; "none": it must not; else: it must call this, or one of these.
ToolChoice = Any
_MODES = ("auto", "required", "none")


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat that has come to an answer.

    Attributes:
        text: The answer.
        messages: Everything that was said, calls, results and the answer included; give it to `LanguageModel.chat` with the
            next message of the user to go on.
        results: The calls that were made, in order, with what came of them.
    """

    text: str
    messages: tuple[dict[str, Any], ...]
    results: tuple[ToolResult, ...] = ()


def resolve(tools: tuple[Tool[..., Any], ...], choice: ToolChoice) -> Choice:
    """Return what an answer may be.

    Raises:
        ToolError: The choice is none of the tools.
    """
    if choice == "none" or (choice == "auto" and not tools):
        return Choice((), may_answer=True, may_call=False)
    if isinstance(choice, str) and choice in _MODES:
        return Choice(tools, may_answer=choice == "auto", may_call=True)
    if choice == "any" and not any(tool.name == "any" for tool in tools):
        raise ToolError(
            "tool_choice='any'",
            why='some APIs call so what is "required" here: one of the tools must be called',
            fix="give tool_choice='required'",
        )
    several = choice if isinstance(choice, (list, tuple, set, frozenset)) else [choice]
    return Choice(select(tools, several), may_answer=False, may_call=True)


class Conversation:
    """A chat on its way to an answer; the last step may not call, so there always is one.

    Args:
        settings: Whom to ask, and the options.
        form: The tools, and how calls are written.
        prompt: A text, or the messages so far.
        choice: What may be called in the first step, as for `LanguageModel.call`; then the model decides.
        max_steps: Answers of the model, at most.
        timeout_s: Seconds that a tool may take.
        approve: Asked before a call is handed out.

    Attributes:
        messages: What was said so far.
        calls: What is to be run now.
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
        """Return what the model is asked next.

        Raises:
            SchemaError: The arguments of a tool cannot be compiled.
            ToolError: A tool cannot be written in the wire format, or the choice is none of the tools.
        """
        choice = "none" if self._left == 1 else self._choice
        return CallRequest.of(self._settings, self._form, self.messages, resolve(self._form.tools, choice))

    def ask(self) -> Chat | None:
        """Ask for an answer and take it.

        Raises:
            GenerationError: As `LanguageModel.run`.
        """
        return self.take(complete_request(self.request()).value)

    def take(self, turn: ModelTurn) -> Chat | None:
        """Take an answer; return the chat if it calls nothing."""
        self._left -= 1
        self._choice, self._said = "auto", turn.text
        self._found = [_declined(entry, self._approve) for entry in turn.found]
        self.calls = [entry for entry in self._found if isinstance(entry, ToolCall)]
        if self._found:
            return None
        self.messages.append({"role": "assistant", "content": turn.text})
        return Chat(turn.text, tuple(self.messages), tuple(self._results))

    def give(self, ran: Iterable[ToolResult]) -> list[ToolResult]:
        """Tell the model the results of `calls`, in order; return those of the whole answer, refusals included."""
        each = iter(ran)
        finished = [entry if isinstance(entry, ToolResult) else next(each) for entry in self._found]
        self.messages += messages_of(self._said, self._found, finished)
        self._results += finished
        return finished


def run(conversation: Conversation) -> Chat:
    """Return the chat, its calls run one after another."""
    while (chat := conversation.ask()) is None:
        conversation.give([call.run(timeout_s=conversation.timeout_s) for call in conversation.calls])
    return chat


async def arun(conversation: Conversation) -> Chat:
    """Return the chat, the calls of an answer run at the same time, and the model in a thread."""
    while (chat := await asyncio.to_thread(conversation.ask)) is None:
        running = [call.arun(timeout_s=conversation.timeout_s) for call in conversation.calls]
        conversation.give(await asyncio.gather(*running))
    return chat


def _declined(entry: ToolCall | ToolResult, approve: Callable[[ToolCall], bool] | None) -> ToolCall | ToolResult:
    """Turn a call that is not approved into a result that says so."""
    if isinstance(entry, ToolResult) or approve is None or approve(entry):
        return entry
    return ToolResult(entry, None, ToolError("the call was declined", code="declined"))

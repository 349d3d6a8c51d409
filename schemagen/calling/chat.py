"""`LanguageModel.call` and `LanguageModel.chat`: ask for a call, or go on until there is an answer."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from schemagen.arguments import check_count, check_flag
from schemagen.calling.calls import ToolCall, ToolResult, new_id, reasons
from schemagen.calling.history import call_message, render_chat
from schemagen.calling.tools import Tool, as_tools, select
from schemagen.calling.wire import build, special_markers
from schemagen.calling.wire_profiles import Profile, detect_profile, find_profile
from schemagen.errors import ToolError, ValidationFailed
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.options import ChatOptions, names_of
from schemagen.prompts.messages import as_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from schemagen.calling.reading import RawCall
    from schemagen.calling.wire import Wire
    from schemagen.engine.protocol import Constraint
    from schemagen.lm.language_model import LanguageModel
    from schemagen.prompts.reasoning_grammar import ReasoningFormat

    Message = Mapping[str, Any]

#: "auto": the model decides; "required": it must call; "none": it must not; else: it must call this, or one of these.
ToolChoice = Any
_MODES = ("auto", "required", "none")
#: What the methods of `schemagen.lm.tool_caller` take by name.
_BY_NAME = ("tool_choice", "parallel", "retries", "profile", "max_steps", "timeout_s", "approve")


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


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of the model: text, and calls whose arguments are not validated yet."""

    text: str
    calls: tuple[RawCall, ...]


@dataclass(frozen=True, slots=True)
class CallRequest:
    """Everything that stays the same while a model is asked.

    Attributes:
        lm: The model.
        tools: All tools; the prompt describes them.
        parallel: Whether an answer may hold several calls.
        profile: The wire format.
        generate_kwargs: For ``model.generate``.
        thinker: How the model thinks before it answers; None: not at all.
    """

    lm: LanguageModel
    tools: tuple[Tool[..., Any], ...]
    parallel: bool
    profile: Profile
    generate_kwargs: dict[str, Any] = field(default_factory=dict)
    thinker: ReasoningFormat | None = None

    @classmethod
    def of(
        cls,
        lm: LanguageModel,
        tools: Iterable[Any],
        *,
        parallel: bool,
        profile: str | Profile | None,
        generate_kwargs: dict[str, Any],
    ) -> CallRequest:
        """Read the arguments of `LanguageModel.call`.

        Raises:
            ToolError: Something is no tool, or the profile is not known.
            OptionError: A number among the options cannot be meant, or the model cannot be asked to think.
        """
        from schemagen.decode.loop import check_options
        from schemagen.decode.option_names import check_names

        found = find_profile(profile) if isinstance(profile, str) else profile
        check_names(generate_kwargs, lm.model, names_of(ChatOptions), beside=_BY_NAME)
        check_flag("parallel", parallel)
        options = check_options(generate_kwargs, lm.tokenizer)
        thinker = lm._thinker(options.pop("reasoning", False))  # noqa: SLF001 - the front door of the same model
        return cls(lm, as_tools(tools), parallel, found or detect_profile(lm.tokenizer), options, thinker)

    def ask(self, messages: Sequence[Message], choice: ToolChoice) -> ModelTurn:
        """Return one answer.

        Raises:
            SchemaError: The arguments of a tool cannot be compiled.
            GenerationError: As `LanguageModel.run`.
        """
        from schemagen.decode.loop import decode

        wire, inputs = self.prepare(messages, choice)
        grammar: Constraint = wire.sequence
        found = decode(self.lm.model, inputs, grammar, **self.generate_kwargs)
        answer = wire.read(found.token_ids)
        return ModelTurn(answer.text, answer.calls)

    def prepare(self, messages: Sequence[Message], choice: ToolChoice) -> tuple[Wire, dict[str, Any]]:
        """Return what may be answered, and the prompt for ``model.generate``.

        Raises:
            SchemaError: The arguments of a tool cannot be compiled.
            ToolError: A tool cannot be written in the wire format, or the choice is none of the tools.
        """
        chosen, may_answer, may_call = resolve(self.tools, choice)
        vocabulary = self.lm.vocabulary
        specials = special_markers(self.profile, self.lm.tokenizer, vocabulary)
        flags = {"may_answer": may_answer, "may_call": may_call, "parallel": self.parallel}
        wire = build(self.profile, chosen, vocabulary, specials, **flags)
        if self.thinker is not None:
            wire = replace(wire, sequence=self.thinker.before_parts(wire.sequence))
        rendered = render_chat(
            self.lm.tokenizer, messages, self.tools, self.profile, must_call=not may_answer, thinker=self.thinker
        )
        return wire, self.lm._encode(*rendered)  # noqa: SLF001 - the front door of the same model

    def validated(self, said: ModelTurn) -> list[ToolCall | ToolResult]:
        """Return the calls of an answer; a result with the reasons where a validator refuses the arguments."""
        return [
            self.validate_call(written, said.text if index == 0 else "") for index, written in enumerate(said.calls)
        ]

    def validate_call(self, written: RawCall, content: str) -> ToolCall | ToolResult:
        """Return a call; a result with the reasons if a validator refuses its arguments."""
        tool, text, call_id = written.tool, written.json, written.id or new_id()
        try:
            arguments = compile_grammar(tool.spec, self.lm.vocabulary).validate(text)
        except ValidationFailed as refusal:
            return ToolResult(ToolCall(tool, json.loads(text), text, content, call_id), None, refusal.error)
        return ToolCall(tool, arguments, text, content, call_id)


def resolve(tools: tuple[Tool[..., Any], ...], choice: ToolChoice) -> tuple[tuple[Tool[..., Any], ...], bool, bool]:
    """Return the tools that may be called, whether there may be an answer without a call, and whether there may be calls.

    Raises:
        ToolError: The choice is none of the tools.
    """
    if choice == "none" or (choice == "auto" and not tools):
        return (), True, False
    if isinstance(choice, str) and choice in _MODES:
        return tools, choice == "auto", True
    if choice == "any" and not any(tool.name == "any" for tool in tools):
        raise ToolError(
            "tool_choice='any'",
            why='some APIs call so what is "required" here: one of the tools must be called',
            fix="give tool_choice='required'",
        )
    several = choice if isinstance(choice, (list, tuple, set, frozenset)) else [choice]
    return select(tools, several), False, True


def call(request: CallRequest, prompt: str | Sequence[Message], choice: ToolChoice, *, retries: int) -> Any:
    """Return what `LanguageModel.call` returns.

    Raises:
        ValidationFailed: A validator refused the arguments, also after some retries.
    """
    check_count("retries", retries, least=0)
    messages: list[Any] = as_messages(prompt)
    for attempt in range(retries + 1):
        said = request.ask(messages, choice)
        found = request.validated(said)
        if not found:
            return said.text
        refused = [entry for entry in found if isinstance(entry, ToolResult)]
        if not refused:
            return found if request.parallel else found[0]
        if attempt == retries:
            raise refusal_of(refused[0], retries + 1)
        messages = [*messages, *_messages_of(said.text, found, refused)]
    raise AssertionError("the last attempt returns or raises")


class Conversation:
    """A chat on its way to an answer; the last step may not call, so there always is one.

    Args:
        prompt: A text, or the messages so far.
        choice: What may be called in the first step, as for `LanguageModel.call`; then the model decides.
        max_steps: Answers of the model, at most.
        approve: Asked before a call is handed out.

    Attributes:
        messages: What was said so far.
        calls: What is to be run now.

    Raises:
        OptionError: ``max_steps`` is below 1.
    """

    def __init__(
        self,
        prompt: str | Sequence[Message],
        *,
        choice: ToolChoice,
        max_steps: int,
        approve: Callable[[ToolCall], bool] | None,
    ) -> None:
        self.messages: list[Any] = as_messages(prompt)
        self.calls: list[ToolCall] = []
        self._left = check_count("max_steps", max_steps)
        self._choice = choice
        self._approve = approve
        self._said = ""
        self._found: list[ToolCall | ToolResult] = []
        self._results: list[ToolResult] = []

    @property
    def choice(self) -> ToolChoice:
        """What may be called in the next answer."""
        return "none" if self._left == 1 else self._choice

    def ask(self, request: CallRequest) -> Chat | None:
        """Ask for an answer and take it.

        Raises:
            GenerationError: As `LanguageModel.run`.
        """
        said = request.ask(self.messages, self.choice)
        return self.take(said.text, request.validated(said))

    def take(self, text: str, found: Sequence[ToolCall | ToolResult]) -> Chat | None:
        """Take an answer: words, and calls, with the reasons where they are refused. Return the chat if there is no call."""
        self._left -= 1
        self._choice, self._said = "auto", text
        self._found = [_declined(entry, self._approve) for entry in found]
        self.calls = [entry for entry in self._found if isinstance(entry, ToolCall)]
        if self._found:
            return None
        self.messages.append({"role": "assistant", "content": text})
        return Chat(text, tuple(self.messages), tuple(self._results))

    def give(self, ran: Iterable[ToolResult]) -> list[ToolResult]:
        """Tell the model the results of `calls`, in order; return those of the whole answer, refusals included."""
        each = iter(ran)
        finished = [entry if isinstance(entry, ToolResult) else next(each) for entry in self._found]
        self.messages += _messages_of(self._said, self._found, finished)
        self._results += finished
        return finished


def run(request: CallRequest, conversation: Conversation, *, timeout_s: float | None) -> Chat:
    """Return the chat, its calls run one after another."""
    while (chat := conversation.ask(request)) is None:
        conversation.give([call.run(timeout_s=timeout_s) for call in conversation.calls])
    return chat


async def arun(request: CallRequest, conversation: Conversation, *, timeout_s: float | None) -> Chat:
    """Return the chat, the calls of an answer run at the same time, and the model in a thread."""
    while (chat := await asyncio.to_thread(conversation.ask, request)) is None:
        conversation.give(await asyncio.gather(*(call.arun(timeout_s=timeout_s) for call in conversation.calls)))
    return chat


def _declined(entry: ToolCall | ToolResult, approve: Callable[[ToolCall], bool] | None) -> ToolCall | ToolResult:
    """Turn a call that is not approved into a result that says so."""
    if isinstance(entry, ToolResult) or approve is None or approve(entry):
        return entry
    return ToolResult(entry, None, ToolError("the call was declined", code="declined"))


def _messages_of(
    text: str, found: Sequence[ToolCall | ToolResult], results: Iterable[ToolResult]
) -> list[dict[str, Any]]:
    """Return the message with the calls, and those with their results."""
    calls = [entry.call if isinstance(entry, ToolResult) else entry for entry in found]
    asked = call_message([(entry.id, entry.name, entry.json) for entry in calls], text)
    return [asked, *(result.to_message() for result in results)]


def refusal_of(result: ToolResult, attempts: int) -> ValidationFailed:
    """Return the error of a call whose arguments a validator refused."""
    error = result.error
    assert isinstance(error, ValidationError), "only validators refuse arguments"
    return ValidationFailed(
        f"a validator refused the arguments of {result.call.name}: {reasons(error)}",
        text=result.call.json,
        error=error,
        attempts=attempts,
        at=result.call.name,
        why=f"the text satisfies the schema; {attempts} attempt(s), {error.error_count()} complaint(s)",
        fix="state the rule in the types of the parameters (bounds, pattern, Literal), or allow more retries",
    )

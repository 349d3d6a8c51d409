"""`CallRequest`: a prompt, and the tools that the answer may call. Each turn of a chat is one."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from schemagen.calling.answer_format import build, special_markers
from schemagen.calling.calls import ToolCall, ToolResult, new_id, reasons
from schemagen.calling.families import detect_profile, find_profile
from schemagen.calling.history import call_message, render_chat
from schemagen.calling.tools import Tool, as_tools, select
from schemagen.checks import check_flag
from schemagen.errors import OptionError, ToolError, ValidationFailed
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.grammar.refusals import counted
from schemagen.request.answer_request import AnswerForm, validated
from schemagen.request.attempts import Refusal, Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from schemagen.calling.answer_format import Wire
    from schemagen.calling.call_guide import CallGuide
    from schemagen.calling.labels import RawCall
    from schemagen.calling.wire_profiles import Profile
    from schemagen.confidence.fields import Confidence
    from schemagen.decode.generate import Decoded
    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Constraint
    from schemagen.generation import Generation
    from schemagen.grammar.grammar import Grammar
    from schemagen.request.attempts import Output, Prepared
    from schemagen.request.settings import ModelAccess, Settings


class Choice(NamedTuple):
    """The allowed kinds of answers.

    Attributes:
        tools: The tools that the model may call.
        may_answer: Whether the model may answer without a call.
        may_call: Whether the model may call tools.
    """

    tools: tuple[Tool[..., Any], ...]
    may_answer: bool
    may_call: bool


#: "auto" lets the model decide, "required" makes it call a tool, "none" forbids calls; a tool, or a list of tools, makes it
#: call one of these.
ToolChoice = Any
_MODES = ("auto", "required", "none")
_DEFAULT = AnswerForm()


def resolve(tools: tuple[Tool[..., Any], ...], choice: ToolChoice) -> Choice:
    """Return the allowed kinds of answers.

    Raises:
        ToolError: The choice is not among the tools.
    """
    if choice == "none" or (choice == "auto" and not tools):
        return Choice((), may_answer=True, may_call=False)
    if isinstance(choice, str) and choice in _MODES:
        return Choice(tools, may_answer=choice == "auto", may_call=True)
    if choice == "any" and not any(tool.name == "any" for tool in tools):
        raise ToolError(
            "tool_choice='any'",
            why='some APIs use "any" for "required": one of the tools must be called',
            fix="give tool_choice='required'",
        )
    several = choice if isinstance(choice, (list, tuple, set, frozenset)) else [choice]
    return Choice(select(tools, several), may_answer=False, may_call=True)


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer of the model.

    Attributes:
        text: Its words, or the text of its value.
        found: Its calls. A call with refused arguments is a `ToolResult` with the reasons.
        value: Its value if it has no calls: the words, or a value of the requested type; a `Refusal` if a validator refuses it.
    """

    text: str
    found: tuple[ToolCall | ToolResult, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class CallForm:
    """The tools, and the format of calls.

    Attributes:
        tools: All tools; the prompt describes them.
        parallel: Whether an answer may hold several calls.
        profile: The wire format.
        strict: Whether the value of an answer is its calls, so that refused arguments refuse the answer. If not, the value is
            the `ModelTurn`, and the chat goes on.
        limits: Bounds on the grammars of arguments, as for `schemagen.compile`.
        returns: The grammar of an answer without calls; None for words.
        answer: How the prompt describes such an answer.
    """

    tools: tuple[Tool[..., Any], ...]
    parallel: bool
    profile: Profile
    strict: bool = True
    limits: Limits | None = None
    returns: Grammar | None = None
    answer: AnswerForm = _DEFAULT

    @classmethod
    def of(  # noqa: PLR0913 - the arguments of `LanguageModel.call`
        cls,
        lm: ModelAccess,
        tools: Iterable[Any],
        *,
        parallel: bool,
        profile: str | Profile | None,
        strict: bool = True,
        limits: Limits | None = None,
        returns: Any = None,
        answer: AnswerForm = _DEFAULT,
    ) -> CallForm:
        """Read the arguments of `LanguageModel.call`.

        Raises:
            ToolError: An entry is not a tool, or the profile is not known.
            SchemaError: The type of the answer cannot be compiled.
            OptionError: ``parallel`` is neither True nor False, or the answer cannot be read beside calls.
        """
        found = find_profile(profile) if isinstance(profile, str) else profile
        check_flag("parallel", parallel)
        grammar = None if returns is None else _beside_calls(answer.grammar(lm, returns))
        profile = found or detect_profile(lm.tokenizer)
        return cls(as_tools(tools), parallel, profile, strict, limits, grammar, answer)

    def wire(self, settings: Settings, choice: Choice) -> Wire:
        """Return the grammar of the allowed answers.

        Raises:
            SchemaError: The arguments of a tool cannot be compiled.
            ToolError: A tool cannot be written in the wire format.
        """
        vocabulary = settings.lm.vocabulary
        specials = special_markers(self.profile, settings.lm.tokenizer, vocabulary)
        flags = {"may_answer": choice.may_answer, "may_call": choice.may_call, "parallel": self.parallel}
        return build(
            self.profile, choice.tools, vocabulary, specials, **flags, returns=self.returns, limits=self.limits
        )

    def described(self, messages: list[Any], *, must_call: bool) -> list[Any]:
        """Return the messages with the description of a typed answer, unless the answer must be a call."""
        return messages if self.returns is None or must_call else self.answer.messages(messages, self.returns)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest(Request):
    """One attempt at an answer that may call tools.

    Attributes:
        form: The tools, and the format of calls.
        wire: The grammar of the allowed answers, including thoughts.
        must_call: Whether the answer must be a call.
    """

    form: CallForm
    wire: Wire
    must_call: bool

    @classmethod
    def of(cls, settings: Settings, form: CallForm, messages: Sequence[Any], choice: Choice) -> CallRequest:
        """Return the first attempt; errors as for `CallForm.wire`.

        Raises:
            OptionError: Validators are to run in the loop, and the format of calls has no JSON arguments.
        """
        if settings.tries > 1 and form.profile.arguments != "json":
            raise OptionError(
                f"tries={settings.tries} with the format {form.profile.name!r}",
                why="validators run in the loop where arguments are JSON, as in the formats hermes, llama and plain",
                fix="leave tries out and give retries=, or choose another profile=",
            )
        wire, thinking = form.wire(settings, choice), None
        if settings.thinker is not None:
            thinking = settings.thinker.before_opening(form.profile.words[0]).before_parts(wire.graph)
            wire = replace(wire, graph=thinking)
        return cls(
            settings=settings,
            messages=[*messages],
            thinking=thinking,
            form=form,
            wire=wire,
            must_call=not choice.may_answer,
        )

    @property
    def constraint(self) -> Constraint:
        """The grammar of the answer, including thoughts."""
        return self.wire.graph

    def prepare(self) -> Prepared:
        """Return the prompt in tokens; see `Request.prepare`. If the value is the calls, their arguments are steered."""
        prepared = super(CallRequest, self).prepare()
        return replace(prepared, guide=self._guide) if self.form.strict else prepared

    def _guide(self) -> CallGuide | None:
        """Return a guide for one attempt; None if the grammar alone has a say."""
        if self.form.profile.arguments != "json":
            return None
        from schemagen.calling.call_guide import call_guide

        return call_guide(self.wire.graph, self.form.tools, self._grammar_of, self.settings.tries)

    def _grammar_of(self, tool: Tool[..., Any]) -> Grammar:
        return compile_grammar(tool.spec, self.settings.lm.vocabulary, limits=self.form.limits)

    def render(self) -> tuple[str, bool]:
        """Return the text that the model reads, and whether a chat template wrote it."""
        tokenizer, form = self.settings.lm.tokenizer, self.form
        messages = form.described(self.messages, must_call=self.must_call)
        options: dict[str, Any] = {"must_call": self.must_call, "thinker": self.settings.thinker}
        options["parallel"] = form.parallel
        options["typed"] = form.returns is not None
        return render_chat(tokenizer, messages, form.tools, form.profile, **options)

    def confidence(self, decoded: Decoded) -> Confidence | None:
        """Return how sure the model was of the fields of its calls, or of a typed answer; None if that was not recorded."""
        if decoded.records is None:
            return None
        from schemagen.calling.call_confidence import confidence_of_calls

        return confidence_of_calls(self.wire, self.thinking, decoded)

    def generation(self, value: Any, output: Output) -> Generation[Any]:
        """Return a value with its circumstances; its calls know how sure the model was of them."""
        found = super(CallRequest, self).generation(value, output)
        if found.confidence is None:
            return found
        calls = value.found if isinstance(value, ModelTurn) else value if isinstance(value, list) else [value]
        if not any(isinstance(call, ToolCall | ToolResult) for call in calls):
            return found
        from schemagen.calling.call_confidence import with_confidence

        sure = [with_confidence(call, index, found.confidence) for index, call in enumerate(calls)]
        if isinstance(value, ModelTurn):
            return replace(found, value=replace(value, found=tuple(sure)))
        return replace(found, value=sure if isinstance(value, list) else sure[0])

    def read(self, output: Output) -> Any:
        """Return the value of an answer, or a `Refusal`."""
        return self.value_of(self.turn(output.decoded))

    def turn(self, decoded: Decoded) -> ModelTurn:
        """Return the words and calls of an answer."""
        answer = self.wire.read(decoded.token_ids)
        found = [
            self.validate_call(written, "" if index else answer.text) for index, written in enumerate(answer.calls)
        ]
        return self.turn_of(answer.text, found)

    def turn_of(self, text: str, found: Sequence[ToolCall | ToolResult]) -> ModelTurn:
        """Return an answer with its value."""
        returns = None if found else self.form.returns
        return ModelTurn(text, tuple(found), text if returns is None else validated(returns, text, self))

    def value_of(self, turn: ModelTurn) -> Any:
        """Return the value of an answer: its calls, its own value if it has none, or a `Refusal`."""
        if not self.form.strict:
            return turn
        refused = [entry for entry in turn.found if isinstance(entry, ToolResult)]
        if refused:
            told = messages_of(turn.text, turn.found, refused)
            return Refusal([*self.messages, *told], refusal_of(refused[0], self.attempt))
        if not turn.found:
            return turn.value
        return [*turn.found] if self.form.parallel else turn.found[0]

    def validate_call(self, written: RawCall, content: str) -> ToolCall | ToolResult:
        """Return a call; a result with the reasons if a validator refuses its arguments."""
        tool, text, call_id = written.tool, written.json, written.id or new_id()
        try:
            arguments = self._grammar_of(tool).validate(text)
        except ValidationFailed as refusal:
            return ToolResult(ToolCall(tool, json.loads(text), text, content, call_id), None, refusal.error)
        return ToolCall(tool, arguments, text, content, call_id)


def _beside_calls(grammar: Grammar) -> Grammar:
    """Refuse a grammar over tokens: text and calls are told apart by their bytes.

    Raises:
        OptionError: The grammar names or counts tokens.
    """
    if grammar.names_tokens or grammar.counts_tokens:
        raise OptionError(
            "the answer is a text of a grammar that names or counts tokens",
            why="an answer with tools is split into calls and text byte by byte",
            fix="give a type, a schema or a pattern, or ask without tools",
        )
    return grammar


def messages_of(
    text: str, found: Iterable[ToolCall | ToolResult], results: Iterable[ToolResult]
) -> list[dict[str, Any]]:
    """Return the message with the calls, and the messages with their results."""
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
        why=f"the text satisfies the schema; {counted(attempts, 'attempt')}, {counted(error.error_count(), 'error')}",
        fix="state the rule in the types of the parameters (bounds, pattern, Literal), or allow more attempts by retries=",
    )

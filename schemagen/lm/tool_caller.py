"""`ToolCaller`: the part of `LanguageModel` that calls functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from typing_extensions import TypeVar

from schemagen.lm.asking import in_thread
from schemagen.options import CallOptions, ChatOptions, StreamCallOptions, names_of
from schemagen.options.required import requires
from schemagen.prompts.messages import as_messages
from schemagen.request.attempts import complete_request
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Mapping

    from typing_extensions import TypeForm, Unpack

    from schemagen.calling import ToolCall
    from schemagen.calling.chat import Chat, Conversation
    from schemagen.calling.request import CallRequest
    from schemagen.calling.stream import CallStream
    from schemagen.events import CallEvent, ChatEvent
    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.options import Forced, ToolChoice, ToolLike

    Tools: TypeAlias = Iterable[ToolLike]
    Auto: TypeAlias = Literal["auto"]
    No: TypeAlias = Literal[False]
    Yes: TypeAlias = Literal[True]

#: mypy infers an empty type for a list of several types; it is then Any.
T = TypeVar("T", default=Any)

#: The parameters of the methods below, which users may misspell.
_BY_NAME = names_of(ChatOptions) | {"retries", "returns"}


class ToolCaller(ModelAccess):
    """The methods of a `LanguageModel` that call tools."""

    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: Auto = "auto",
        parallel: No = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | str: ...
    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self, prompt: Prompt, tools: Tools, *, tool_choice: Auto = "auto", parallel: Yes, **options: Unpack[CallOptions]
    ) -> list[ToolCall] | str: ...
    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self, prompt: Prompt, tools: Tools, *, tool_choice: Literal["none"], **options: Unpack[CallOptions]
    ) -> str: ...
    @overload
    def call(
        self, prompt: Prompt, tools: Tools, *, tool_choice: Forced, parallel: No = False, **options: Unpack[CallOptions]
    ) -> ToolCall: ...
    @overload
    def call(
        self, prompt: Prompt, tools: Tools, *, tool_choice: Forced, parallel: Yes, **options: Unpack[CallOptions]
    ) -> list[ToolCall]: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | str: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypedSpec[T],
        parallel: No = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | T: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypeForm[T],
        parallel: No = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | T: ...
    @overload
    def call(
        self, prompt: Prompt, tools: Tools, *, returns: TypedSpec[T], parallel: Yes, **options: Unpack[CallOptions]
    ) -> list[ToolCall] | T: ...
    @overload
    def call(
        self, prompt: Prompt, tools: Tools, *, returns: TypeForm[T], parallel: Yes, **options: Unpack[CallOptions]
    ) -> list[ToolCall] | T: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> Any: ...
    @requires("prompt", "tools", call="lm.call(prompt, [function])")
    def call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any = None,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Return the call of a tool that the model makes of the prompt, its arguments validated; nothing runs yet.

        The model's chat template renders the prompt with the tools, and the constraint of the answer is the format of
        the template's family: free text until a call begins, then a call of one of the tools, exactly.

        Args:
            prompt: A text, or a chat.
            tools: The tools that may be called: functions, tools, pydantic models, dicts as in OpenAI's API.
            returns: The spec of an answer without calls, as for `run`; None for words. With it, the answer is calls or a
                value, without other text. Where the text of a value is also a call, as it can be in a format without
                markers (llama, plain), it is the call.
            tool_choice: "auto": a call or an answer in words; "required": a call; "none": words; a tool, or a list of
                tools or of their names: a call of one of these.
            parallel: Whether the answer may have several calls; they come as a list.
            options: Those of `schemagen.options.CallOptions`, as for `run`. ``profile`` is the wire format, a name or a
                `Profile`, unless the chat template determines it. Only `stream_call` reports the thoughts.

        Returns:
            A call, or with ``parallel`` the calls; the text, or the value, if the model made none.

        Raises:
            ToolError: A tool is invalid, or cannot be written in the wire format.
            SchemaError: A parameter, or the answer, cannot be constrained.
            OptionError: The answer is of a grammar that names or counts tokens, or an option is invalid.
            GenerationError: As `run`.
        """
        request = self._call_request(
            prompt, tools, tool_choice, options, names_of(CallOptions), returns=returns, parallel=parallel
        )
        return complete_request(request).value

    @overload
    async def acall(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: None = None,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | str: ...
    @overload
    async def acall(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypedSpec[T],
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | T: ...
    @overload
    async def acall(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypeForm[T],
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | T: ...
    @overload
    async def acall(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> Any: ...
    @requires("prompt", "tools", call="await lm.acall(prompt, [function])")
    async def acall(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any = None,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> Any:
        """Like `call`, in a thread, without blocking the event loop."""
        return await in_thread(
            self.call, prompt, tools, returns=returns, tool_choice=tool_choice, parallel=parallel, **options
        )

    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: Auto = "auto",
        parallel: No = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | str]: ...
    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: Auto = "auto",
        parallel: Yes,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[list[ToolCall] | str]: ...
    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self, prompt: Prompt, tools: Tools, *, tool_choice: Literal["none"], **options: Unpack[StreamCallOptions]
    ) -> CallStream[str]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: Forced,
        parallel: No = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall]: ...
    @overload
    def stream_call(
        self, prompt: Prompt, tools: Tools, *, tool_choice: Forced, parallel: Yes, **options: Unpack[StreamCallOptions]
    ) -> CallStream[list[ToolCall]]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | list[ToolCall] | str]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypedSpec[T],
        parallel: No = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | T]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypeForm[T],
        parallel: No = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | T]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: TypedSpec[T],
        parallel: Yes,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[list[ToolCall] | T]: ...
    @overload
    def stream_call(
        self, prompt: Prompt, tools: Tools, *, returns: TypeForm[T], parallel: Yes, **options: Unpack[StreamCallOptions]
    ) -> CallStream[list[ToolCall] | T]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[Any]: ...
    @requires("prompt", "tools", call="lm.stream_call(prompt, [function])")
    def stream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any = None,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[Any]:
        """Return the events of an answer while it is written: words, and calls with their arguments; nothing runs.

        The events are `TextDelta`, `CallStarted`, `ArgumentStarted`, `ArgumentDelta`, `ArgumentCompleted`,
        `CallCompleted`, and at the end `Completed` with the result of `call`. With ``returns`` an answer without calls
        has the events of `stream`. A tool is known as soon as the text
        leaves no other; strings grow by whole characters with their escapes resolved; an argument is validated by its
        own type when it is complete, and the arguments of a call by all of their validators at its end.

        Args:
            prompt: A text, or a chat.
            tools: As for `call`.
            returns: As for `call`.
            tool_choice: As for `call`.
            parallel: As for `call`.
            options: Those of `schemagen.options.StreamCallOptions`, as for `call`; beams cannot be streamed.

        Returns:
            An iterator. The model works while you wait for an event, and stops when the stream is closed or
            dropped.

        Raises:
            ToolError: As `call`; here, not at the first event.
            SchemaError: A parameter cannot be constrained; here, not at the first event.

        Example:
            for event in lm.stream_call("Weather in Paris?", [get_weather]):
                match event:
                    case TextDelta(text):
                        print(text, end="")
                    case ArgumentCompleted(index, path, value):
                        print(index, path, value)
                    case CallCompleted(index, call):
                        print(call())
        """
        from schemagen.calling.stream import CallStream

        names = names_of(StreamCallOptions)
        return CallStream(
            self._call_request(
                prompt, tools, tool_choice, options, names, returns=returns, parallel=parallel, streamed=True
            )
        )

    @requires("prompt", "tools", call="lm.astream_call(prompt, [function])")
    def astream_call(
        self,
        prompt: Prompt,
        tools: Tools,
        *,
        returns: Any = None,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> AsyncGenerator[CallEvent[Any], None]:
        """Like `stream_call`, without blocking the event loop; same arguments and errors.

        Cancelling the task that iterates, or ``aclose()``, stops the model at its next token.
        """
        from schemagen.decode.event_stream import events_of

        def start() -> CallStream[Any]:
            found: CallStream[Any] = self.stream_call(
                prompt, tools, returns=returns, tool_choice=tool_choice, parallel=parallel, **options
            )
            return found

        return events_of(start)

    @overload
    def chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TextSpec | None = None, **options: Unpack[ChatOptions]
    ) -> Chat[str]: ...
    @overload
    def chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypedSpec[T], **options: Unpack[ChatOptions]
    ) -> Chat[T]: ...
    @overload
    def chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: OtherSpec, **options: Unpack[ChatOptions]
    ) -> Chat[Any]: ...
    @overload
    def chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypeForm[T], **options: Unpack[ChatOptions]
    ) -> Chat[T]: ...
    @requires("prompt", call="lm.chat(prompt, [function])")
    def chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: Any = None, **options: Unpack[ChatOptions]
    ) -> Chat[Any]:
        """Call tools until there is an answer: ask, run, send the result to the model, ask again.

        The model gets the errors of tools and of invalid arguments as messages; no error of a tool ends the chat.
        The last step may not call, so that there is always an answer. If a validator refuses a value of ``returns``, the
        model is told and answers again, as long as there are steps.

        Args:
            prompt: A text, or a chat.
            tools: As for `call`. They run in this thread, one after another (in `achat` at the same time).
            returns: The spec of the answer, as for `call`: `Chat.value` is a value of it.
            options: Those of `schemagen.options.ChatOptions`, as for `call`. ``tool_choice`` is for the first step; then
                the model decides.

        Raises:
            ToolError: As `call`.
            SchemaError: As `call`.
            GenerationError: As `run`.
            OptionError: ``max_steps`` is below 1, or ``timeout_s`` not above 0; or as `call`.
        """
        from schemagen.calling import chat

        return chat.run(self._conversation(prompt, tools, options, returns=returns))

    @overload
    async def achat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TextSpec | None = None, **options: Unpack[ChatOptions]
    ) -> Chat[str]: ...
    @overload
    async def achat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypedSpec[T], **options: Unpack[ChatOptions]
    ) -> Chat[T]: ...
    @overload
    async def achat(
        self, prompt: Prompt, tools: Tools = (), *, returns: OtherSpec, **options: Unpack[ChatOptions]
    ) -> Chat[Any]: ...
    @overload
    async def achat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypeForm[T], **options: Unpack[ChatOptions]
    ) -> Chat[T]: ...
    @requires("prompt", call="await lm.achat(prompt, [function])")
    async def achat(
        self, prompt: Prompt, tools: Tools = (), *, returns: Any = None, **options: Unpack[ChatOptions]
    ) -> Chat[Any]:
        """Like `chat`, without blocking the event loop.

        Coroutine functions run in the event loop, other tools and the model in threads, the calls of one answer at the
        same time.
        """
        from schemagen.calling import chat

        return await chat.arun(self._conversation(prompt, tools, options, returns=returns))

    @overload
    def stream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TextSpec | None = None, **options: Unpack[ChatOptions]
    ) -> Generator[ChatEvent[Chat[str]], None, None]: ...
    @overload
    def stream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypedSpec[T], **options: Unpack[ChatOptions]
    ) -> Generator[ChatEvent[Chat[T]], None, None]: ...
    @overload
    def stream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: OtherSpec, **options: Unpack[ChatOptions]
    ) -> Generator[ChatEvent[Chat[Any]], None, None]: ...
    @overload
    def stream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypeForm[T], **options: Unpack[ChatOptions]
    ) -> Generator[ChatEvent[Chat[T]], None, None]: ...
    @requires("prompt", call="lm.stream_chat(prompt, [function])")
    def stream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: Any = None, **options: Unpack[ChatOptions]
    ) -> Generator[ChatEvent[Chat[Any]], None, None]:
        """Yield the events of a `chat`: those of every answer, as in `stream_call`, and the results of calls.

        A `StepStarted` precedes every answer, and a `ToolReturned` follows it for each call; the last event is
        `Completed` with the `Chat`. The model gets refused arguments as messages. Closing the generator stops the model
        at its next token. Arguments and errors as for `chat`.
        """
        from schemagen.calling.stream import chat_events

        return chat_events(self._conversation(prompt, tools, options, returns=returns, streamed=True))

    @overload
    def astream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TextSpec | None = None, **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[ChatEvent[Chat[str]], None]: ...
    @overload
    def astream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypedSpec[T], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[ChatEvent[Chat[T]], None]: ...
    @overload
    def astream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: OtherSpec, **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[ChatEvent[Chat[Any]], None]: ...
    @overload
    def astream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: TypeForm[T], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[ChatEvent[Chat[T]], None]: ...
    @requires("prompt", call="lm.astream_chat(prompt, [function])")
    def astream_chat(
        self, prompt: Prompt, tools: Tools = (), *, returns: Any = None, **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[ChatEvent[Chat[Any]], None]:
        """Like `stream_chat`, without blocking the event loop; calls run as in `achat`."""
        from schemagen.calling.stream import achat_events

        return achat_events(self._conversation(prompt, tools, options, returns=returns, streamed=True))

    def _call_request(  # noqa: PLR0913 - the arguments of `call`, read
        self,
        prompt: Prompt,
        tools: Tools,
        tool_choice: ToolChoice,
        options: Mapping[str, Any],
        names: frozenset[str],
        *,
        returns: Any,
        parallel: bool,
        streamed: bool = False,
    ) -> CallRequest:
        from schemagen.calling.request import CallForm, CallRequest, resolve

        rest = {name: value for name, value in options.items() if name != "profile"}
        settings = Settings.of(self, rest, names, beside=_BY_NAME, streamed=streamed)
        form = CallForm.of(self, tools, parallel=parallel, profile=options.get("profile"), returns=returns)
        return CallRequest.of(settings, form, as_messages(prompt), resolve(form.tools, tool_choice))

    def _conversation(
        self, prompt: Prompt, tools: Tools, options: Mapping[str, Any], *, returns: Any, streamed: bool = False
    ) -> Conversation:
        from schemagen.calling.chat import Conversation
        from schemagen.calling.request import CallForm

        given = {**_CHAT_DEFAULTS, **options}
        choice, parallel, profile = given.pop("tool_choice"), given.pop("parallel"), given.pop("profile")
        limits = {name: given.pop(name) for name in ("max_steps", "timeout_s", "approve")}
        settings = Settings.of(self, given, names_of(ChatOptions), beside=_BY_NAME, streamed=streamed)
        form = CallForm.of(self, tools, parallel=parallel, profile=profile, strict=False, returns=returns)
        return Conversation(settings, form, prompt, choice=choice, **limits)


_CHAT_DEFAULTS: ChatOptions = {
    "tool_choice": "auto", "parallel": False, "profile": None, "max_steps": 8, "timeout_s": None, "approve": None,
}  # fmt: skip

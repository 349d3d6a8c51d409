"""`ToolCaller`: the part of `LanguageModel` that calls functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from schemagen.lm.threads import in_thread
from schemagen.options import CallOptions, ChatOptions, StreamCallOptions, names_of
from schemagen.options.required import requires
from schemagen.prompts.messages import as_messages
from schemagen.request.pipeline import complete_request
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence

    from typing_extensions import Unpack

    from schemagen.calling import Profile, Tool, ToolCall
    from schemagen.calling.chat import Chat, Conversation
    from schemagen.calling.stream import CallStream
    from schemagen.events import CallEvent, ChatEvent
    from schemagen.lm.front_doors import Prompt

    #: A tool, a function, a pydantic model, or a dict as in OpenAI's API.
    ToolLike: TypeAlias = Tool[..., Any] | Callable[..., Any] | Mapping[str, Any]
    #: The last form names tools, by themselves or by name: one of them must be called.
    ToolChoice: TypeAlias = Literal["auto", "required", "none"] | ToolLike | Sequence[ToolLike | str]


class ChatArguments(ChatOptions, total=False):
    """The keyword arguments of `stream_chat` and `astream_chat`, as in `chat`.

    Attributes:
        tool_choice: The tools that may be called in the first step.
        parallel: Whether one answer may have several calls.
        max_steps: Maximum number of answers of the model, the last one included.
        timeout_s: Seconds that a tool may take.
        approve: Called before a tool runs, to allow it.
        profile: The wire format, unless the chat template determines it.
    """

    tool_choice: ToolChoice
    parallel: bool
    max_steps: int
    timeout_s: float | None
    approve: Callable[[ToolCall], bool] | None
    profile: str | Profile | None


#: The keyword parameters of the methods below, which users may misspell.
_BY_NAME = names_of(ChatArguments) | {"retries"}


class ToolCaller(ModelAccess):
    """The methods of a `LanguageModel` that call tools."""

    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["auto"] = "auto",
        parallel: Literal[False] = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | str: ...
    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["auto"] = "auto",
        parallel: Literal[True],
        **options: Unpack[CallOptions],
    ) -> list[ToolCall] | str: ...
    @overload
    def call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self, prompt: Prompt, tools: Iterable[ToolLike], *, tool_choice: Literal["none"], **options: Unpack[CallOptions]
    ) -> str: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["required"] | ToolLike | Sequence[ToolLike | str],
        parallel: Literal[False] = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["required"] | ToolLike | Sequence[ToolLike | str],
        parallel: Literal[True],
        **options: Unpack[CallOptions],
    ) -> list[ToolCall]: ...
    @overload
    def call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | str: ...
    @requires("prompt", "tools", call="lm.call(prompt, [function])")
    def call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        retries: int = 0,
        profile: str | Profile | None = None,
        **options: Unpack[ChatOptions],
    ) -> ToolCall | list[ToolCall] | str:
        """Return the call of a tool that the model makes of the prompt, its arguments validated; nothing runs yet.

        The model's chat template renders the prompt with the tools, and the constraint of the answer is the format of
        the template's family: free text until a call begins, then a call of one of the tools, exactly.

        Args:
            prompt: A text, or a chat.
            tools: The tools that may be called: functions, tools, pydantic models, dicts as in OpenAI's API.
            tool_choice: "auto": a call or an answer in words; "required": a call; "none": words; a tool, or a list of
                tools or of their names: a call of one of these.
            parallel: Whether the answer may have several calls; they come as a list.
            retries: How often to ask again, with the reasons, when a validator refuses the arguments.
            profile: The wire format, unless the chat template determines it: a name or a `Profile`.
            options: ``seed``, ``reasoning`` and options of ``model.generate``, as for `run`. Only `stream_call` reports
                the thoughts.

        Returns:
            A call, or with ``parallel`` the calls; the text if the model made none.

        Raises:
            ToolError: A tool is invalid, or cannot be written in the wire format.
            SchemaError: A parameter cannot be constrained.
            GenerationError: As `run`.
        """
        from schemagen.calling.chat import resolve
        from schemagen.calling.request import CallForm, CallRequest

        settings = Settings.of(self, {"retries": retries, **options}, names_of(CallOptions), beside=_BY_NAME)
        form = CallForm.of(self, tools, parallel=parallel, profile=profile)
        request = CallRequest.of(settings, form, as_messages(prompt), resolve(form.tools, tool_choice))
        found: ToolCall | list[ToolCall] | str = complete_request(request).value
        return found

    @requires("prompt", "tools", call="await lm.acall(prompt, [function])")
    async def acall(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[CallOptions],
    ) -> ToolCall | list[ToolCall] | str:
        """Like `call`, in a thread, without blocking the event loop."""
        found: ToolCall | list[ToolCall] | str = await in_thread(
            self.call, prompt, tools, tool_choice=tool_choice, parallel=parallel, **options
        )
        return found

    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["auto"] = "auto",
        parallel: Literal[False] = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | str]: ...
    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["auto"] = "auto",
        parallel: Literal[True],
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[list[ToolCall] | str]: ...
    @overload
    def stream_call(  # type: ignore[overload-overlap]  # a str is a sequence, too
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["none"],
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[str]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["required"] | ToolLike | Sequence[ToolLike | str],
        parallel: Literal[False] = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: Literal["required"] | ToolLike | Sequence[ToolLike | str],
        parallel: Literal[True],
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[list[ToolCall]]: ...
    @overload
    def stream_call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> CallStream[ToolCall | list[ToolCall] | str]: ...
    @requires("prompt", "tools", call="lm.stream_call(prompt, [function])")
    def stream_call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        profile: str | Profile | None = None,
        **options: Unpack[ChatOptions],
    ) -> CallStream[Any]:
        """Return the events of an answer while it is written: words, and calls with their arguments; nothing runs.

        The events are `TextDelta`, `CallStarted`, `ArgumentStarted`, `ArgumentDelta`, `ArgumentCompleted`,
        `CallCompleted`, and at the end `Completed` with the result of `call`. A tool is known as soon as the text
        leaves no other; strings grow by whole characters with their escapes resolved; an argument is validated by its
        own type when it is complete, and the arguments of a call by all of their validators at its end.

        Args:
            prompt: A text, or a chat.
            tools: As for `call`.
            tool_choice: As for `call`.
            parallel: As for `call`.
            profile: As for `call`.
            options: ``seed``, ``reasoning`` and options of ``model.generate``, as for `run`; beams cannot be streamed.

        Returns:
            An iterator. The model works in a thread from the first event on and stops when the stream is closed or
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
        from schemagen.calling.chat import resolve
        from schemagen.calling.request import CallForm, CallRequest
        from schemagen.calling.stream import CallStream

        settings = Settings.of(self, options, names_of(StreamCallOptions), beside=_BY_NAME, streamed=True)
        form = CallForm.of(self, tools, parallel=parallel, profile=profile)
        return CallStream(CallRequest.of(settings, form, as_messages(prompt), resolve(form.tools, tool_choice)))

    @requires("prompt", "tools", call="lm.astream_call(prompt, [function])")
    def astream_call(
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike],
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        **options: Unpack[StreamCallOptions],
    ) -> AsyncGenerator[CallEvent[Any], None]:
        """Like `stream_call`, without blocking the event loop; same arguments and errors.

        Cancelling the task that iterates, or ``aclose()``, stops the model at its next token.
        """
        from schemagen.decode.event_stream import events_of

        def start() -> CallStream[Any]:
            return self.stream_call(prompt, tools, tool_choice=tool_choice, parallel=parallel, **options)

        return events_of(start)

    @requires("prompt", call="lm.chat(prompt, [function])")
    def chat(  # noqa: PLR0913 - a front door: all but the first are keywords
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike] = (),
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        max_steps: int = 8,
        timeout_s: float | None = None,
        approve: Callable[[ToolCall], bool] | None = None,
        profile: str | Profile | None = None,
        **options: Unpack[ChatOptions],
    ) -> Chat:
        """Call tools until there is an answer: ask, run, send the result to the model, ask again.

        The model gets the errors of tools and of invalid arguments as messages; no error of a tool ends the chat.
        The last step may not call, so that there is always an answer.

        Args:
            prompt: A text, or a chat.
            tools: As for `call`. They run in this thread, one after another (in `achat` at the same time).
            tool_choice: For the first step, as for `call`; then the model decides.
            parallel: Whether one answer may have several calls.
            max_steps: Maximum number of answers of the model, the last one included.
            timeout_s: Seconds that a tool may take.
            approve: Called before a tool runs; if it returns False, the model gets a refusal.
            profile: As for `call`.
            options: As for `call`.

        Raises:
            ToolError: As `call`.
            SchemaError: As `call`.
            GenerationError: As `run`.
            OptionError: ``max_steps`` is below 1, or ``timeout_s`` not above 0.
        """
        from schemagen.calling import chat

        conversation = self._conversation(
            prompt,
            tools,
            tool_choice=tool_choice,
            parallel=parallel,
            max_steps=max_steps,
            timeout_s=timeout_s,
            approve=approve,
            profile=profile,
            **options,
        )
        return chat.run(conversation)

    @requires("prompt", call="await lm.achat(prompt, [function])")
    async def achat(  # noqa: PLR0913 - as `chat`
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike] = (),
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        max_steps: int = 8,
        timeout_s: float | None = None,
        approve: Callable[[ToolCall], bool] | None = None,
        profile: str | Profile | None = None,
        **options: Unpack[ChatOptions],
    ) -> Chat:
        """Like `chat`, without blocking the event loop.

        Coroutine functions run in the event loop, other tools and the model in threads, the calls of one answer at the
        same time.
        """
        from schemagen.calling import chat

        conversation = self._conversation(
            prompt,
            tools,
            tool_choice=tool_choice,
            parallel=parallel,
            max_steps=max_steps,
            timeout_s=timeout_s,
            approve=approve,
            profile=profile,
            **options,
        )
        return await chat.arun(conversation)

    @requires("prompt", call="lm.stream_chat(prompt, [function])")
    def stream_chat(
        self, prompt: Prompt, tools: Iterable[ToolLike] = (), **options: Unpack[ChatArguments]
    ) -> Generator[ChatEvent[Chat], None, None]:
        """Yield the events of a `chat`: those of every answer, as in `stream_call`, and the results of calls.

        A `StepStarted` precedes every answer, and a `ToolReturned` follows it for each call; the last event is
        `Completed` with the `Chat`. The model gets refused arguments as messages. Closing the generator stops the model
        at its next token. Arguments and errors as for `chat`.
        """
        from schemagen.calling.stream import chat_events

        return chat_events(self._conversation(prompt, tools, streamed=True, **options))

    @requires("prompt", call="lm.astream_chat(prompt, [function])")
    def astream_chat(
        self, prompt: Prompt, tools: Iterable[ToolLike] = (), **options: Unpack[ChatArguments]
    ) -> AsyncGenerator[ChatEvent[Chat], None]:
        """Like `stream_chat`, without blocking the event loop; calls run as in `achat`."""
        from schemagen.calling.stream import achat_events

        return achat_events(self._conversation(prompt, tools, streamed=True, **options))

    def _conversation(  # noqa: PLR0913 - as `chat`
        self,
        prompt: Prompt,
        tools: Iterable[ToolLike] = (),
        *,
        tool_choice: ToolChoice = "auto",
        parallel: bool = False,
        max_steps: int = 8,
        timeout_s: float | None = None,
        approve: Callable[[ToolCall], bool] | None = None,
        profile: str | Profile | None = None,
        streamed: bool = False,
        **options: Unpack[ChatOptions],
    ) -> Conversation:
        """Read the arguments of `chat`."""
        from schemagen.calling.chat import Conversation
        from schemagen.calling.request import CallForm

        settings = Settings.of(self, options, names_of(ChatOptions), beside=_BY_NAME, streamed=streamed)
        form = CallForm.of(self, tools, parallel=parallel, profile=profile, strict=False)
        return Conversation(
            settings, form, prompt, choice=tool_choice, max_steps=max_steps, timeout_s=timeout_s, approve=approve
        )

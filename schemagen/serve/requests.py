"""The bodies of requests: the fields of OpenAI's API and of vLLM's, each with its type, read by pydantic.

There are four kinds of fields: supported; harmless, which are accepted and have no effect (`Harmless`); accepted only
with a value that has no effect (`_ONLY`); and unknown, which are an error. Nothing that would change an answer is
ignored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json

from schemagen.options.draft import Draft
from schemagen.options.reasoning import DEFAULT_MAX_TOKENS, Reasoning
from schemagen.serve.errors import RequestError, unsupported

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: Field -> the values that have no effect, and the advice about others.
Meaningless = dict[str, tuple[tuple[Any, ...], str]]
#: The fields of completions that may only have values without effect.
_ONLY: Meaningless = {
    "top_logprobs": ((None, 0), 'write "logprobs" with a number, or ask in a chat'),
    "prompt_logprobs": ((None,), "leave it out"),
    "frequency_penalty": ((None, 0, 0.0), "leave it out, or set repetition_penalty in the model's generation_config"),
    "presence_penalty": ((None, 0, 0.0), "leave it out, or set repetition_penalty in the model's generation_config"),
    "repetition_penalty": ((None, 1, 1.0), "leave it out, or set it in the model's generation_config"),
    "logit_bias": ((None, {}), "leave it out; constrain the answer by a schema, a pattern or a grammar"),
    "functions": ((None,), 'write "tools": [{"type": "function", "function": {...}}]'),
    "function_call": ((None,), 'write "tool_choice"'),
    "modalities": ((None, ["text"]), 'leave it out, or write ["text"]'),
    "audio": ((None,), "leave it out: models here write text"),
    "web_search_options": ((None,), "leave it out, and pass a tool of your own"),
    "reasoning_effort": ((None, "none"), "leave it out, or ask in a chat, whose template knows how a model thinks"),
    "verbosity": ((None, "medium"), "say in the prompt how long the answer should be"),
    "best_of": ((None, 1), "leave it out, or ask for several with n"),
    "echo": ((None, False), "leave it out: the prompt is known to you"),
    "suffix": ((None, ""), "leave it out"),
    "use_beam_search": ((None, False), "leave it out"),
    "ignore_eos": ((None, False), "leave it out"),
    "min_tokens": ((None, 0), "state minLength or minItems in the schema"),
    "guided_whitespace_pattern": ((None,), 'leave it out, or write "schemagen": {"whitespace": "compact"}'),
}


#: The names of efforts -> the most tokens of thoughts; 0 for none.
EFFORTS = {"none": 0, "minimal": 128, "low": 512, "medium": DEFAULT_MAX_TOKENS, "high": 2048, "xhigh": 4096}
#: Most of the likeliest tokens of a chat; completions give 5. Both are OpenAI's limits.
MOST_LIKELIEST = 20
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class Part(BaseModel):
    """An object in which unknown keys are an error.

    Attributes:
        at: The path of the object in the body, with a dot at its end.
        only: Keys that may only have values without effect, which are removed; other values of them are refused.
    """

    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=True)
    at: ClassVar[str] = ""
    only: ClassVar[Meaningless] = {}

    @model_validator(mode="before")
    @classmethod
    def _without_meaningless(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kept = {}
        for name, value in given.items():
            if name in cls.only:
                meaningless, fix = cls.only[name]
                if not any(value == each and type(value) is type(each) for each in meaningless):
                    raise unsupported(cls.at + name, f'"{name}": {json.dumps(value):.80}', fix)
                continue
            kept[name] = value
        return kept


class Open(BaseModel):
    """An object that keeps unknown keys, for the chat template or the reader of structural tags."""

    model_config = ConfigDict(extra="allow")


def _parsed(value: Any) -> Any:
    """Return a schema that is given as JSON text, as vLLM takes it.

    Raises:
        ValueError: The text is not JSON.
    """
    try:
        return from_json(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"the text is not JSON: {error}") from None


#: A JSON Schema.
Schema = dict[str, Any] | StrictBool
SchemaOrText = Annotated[Schema, BeforeValidator(_parsed)]


class StreamOptions(Part):
    """Options of a stream."""

    include_usage: bool = False
    include_obfuscation: bool | None = None
    continuous_usage_stats: Literal[False] | None = None


class StructuredOutputs(Part):
    """The field ``structured_outputs`` of vLLM: one constraint."""

    json_: SchemaOrText | None = Field(None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: str | dict[str, Any] | list[dict[str, Any]] | None = None
    disable_any_whitespace: bool = False
    disable_fallback: bool | None = None


class Thoughts(Part):
    """Thoughts in a format of the client's own, as `schemagen.lm.Reasoning`."""

    max_tokens: int = Field(DEFAULT_MAX_TOKENS, ge=1)
    begin: str = Field("", max_length=200)
    end: str = Field("", max_length=200)


class DraftOptions(Part):
    """A draft, as `schemagen.lm.Draft`; a stream could not choose among several."""

    max_tokens: int = Field(Draft().max_tokens, ge=1)
    prompt: str = Field(Draft().prompt, max_length=2000)
    answer: str = Field(Draft().answer, min_length=1, max_length=2000)
    temperature: float | None = Field(None, ge=0, le=100)


class Extension(Part):
    """The field ``schemagen``: options that only this server has.

    Attributes:
        trace: Whether the chunks of a stream include the tokens, how many the mask allowed, and the complete fields.
        show_schema: Whether the shape of the answer is appended to the prompt; None for the setting of the server.
        whitespace: Where JSON may contain whitespace, as for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
        reasoning: Whether the model thinks before it answers, in how many tokens, or in which format.
        draft: Whether the model writes a free draft before it answers, in how many tokens, or how it is asked for.
        loop_guard: As for `LanguageModel.run`.
        prefer_length: As for `LanguageModel.run`; not with thoughts or a draft.
    """

    trace: bool = False
    show_schema: bool | None = None
    whitespace: Literal["flexible", "compact", "spaced", "any"] = "flexible"
    property_order: Literal["schema", "any"] = "schema"
    reasoning: StrictBool | Annotated[StrictInt, Field(ge=1)] | Thoughts | None = None
    draft: StrictBool | Annotated[StrictInt, Field(ge=1)] | DraftOptions | None = None
    loop_guard: StrictBool | None = None
    prefer_length: Annotated[StrictInt, Field(ge=1)] | None = None


class Harmless(Part):
    """Fields that do not change an answer: who asks, where it is billed, how it is cached, which engine masks."""

    user: str | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    prediction: dict[str, Any] | None = None
    guided_decoding_backend: str | None = None
    structured_outputs_backend: str | None = None
    request_id: str | None = None
    priority: int | None = None


class TextFormat(Part):
    """An answer that may be any text, or any object."""

    type: Literal["text", "json_object"]
    json_schema: None = None


class JsonSchema(Part):
    """The schema of a response format."""

    name: str = ""
    description: str | None = None
    schema_: Schema = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Part):
    """An answer that is an instance of a schema."""

    type: Literal["json_schema"]
    json_schema: JsonSchema


class StructuralTagFormat(Open):
    """An answer that is a text of a structural tag, whose keys its own reader checks."""

    type: Literal["structural_tag"]
    format: dict[str, Any] | None = None
    structures: list[dict[str, Any]] | None = None
    triggers: list[str] | None = None


ResponseFormat = Annotated[TextFormat | JsonSchemaFormat | StructuralTagFormat, Field(discriminator="type")]


class CommonRequest(Harmless):
    """The fields that both kinds of completions share."""

    only: ClassVar[Meaningless] = _ONLY
    model: str = ""
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = Field(1, ge=1)
    seed: int | None = Field(None, ge=0, lt=2**63)
    temperature: float | None = Field(None, ge=0, le=100)
    top_p: float | None = Field(None, ge=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    min_p: float | None = Field(None, ge=0, le=1)
    stop: str | list[str] | None = None
    max_tokens: int | None = Field(None, ge=1)
    guided_json: SchemaOrText | None = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    response_format: ResponseFormat | None = None
    structured_outputs: StructuredOutputs | None = None
    extension: Extension = Field(default_factory=Extension, alias="schemagen")

    @property
    def stops(self) -> tuple[str, ...]:
        """Texts at which to stop."""
        given = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(text for text in given if text)

    @property
    def wants_usage(self) -> bool:
        """Whether the last chunk of a stream counts the tokens."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def most_tokens(self) -> int | None:
        """The requested number of tokens; None for as many as the server gives."""
        return self.max_tokens

    @property
    def reasoning(self) -> bool | int | Reasoning:
        """How the model thinks before it answers, as `LanguageModel.run` takes it.

        Raises:
            RequestError: Fields contradict each other.
            OptionError: A format of thoughts is incomplete.
        """
        given = self.extension.reasoning
        own = Reasoning(given.max_tokens, given.begin, given.end) if isinstance(given, Thoughts) else given
        stated = {"schemagen.reasoning": own, **self._thinking()}
        found = {name: value for name, value in stated.items() if value is not None}
        if len({bool(value) for value in found.values()}) > 1:
            raise RequestError(
                f"{' and '.join(found)} disagree about thoughts",
                param=[*found][1],
                fix="give one of them",
                code="several-constraints",
            )
        return next(iter(found.values()), False)

    @property
    def draft(self) -> bool | int | Draft:
        """The draft before the answer, as `LanguageModel.run` takes it.

        Raises:
            OptionError: The answer after it is not asked for.
        """
        given = self.extension.draft
        return Draft(**given.model_dump()) if isinstance(given, DraftOptions) else given or False

    @property
    def likeliest(self) -> int | None:
        """How many of the likeliest tokens the log-probabilities of each token include; None without log-probabilities."""
        return None

    def _thinking(self) -> dict[str, bool | int | None]:
        """The other fields that ask for thoughts, by name."""
        return {}


class ContentPart(Open):
    """A part of the content of a message."""

    type: str
    text: str | None = None


def is_object(value: Any) -> Any:
    """Refuse arguments that are neither a JSON object, or the text of one, nor empty.

    Raises:
        ValueError: They are something else.
    """
    meant = from_json(value) if isinstance(value, str) and value else value
    if meant and not isinstance(meant, dict):
        raise ValueError("the arguments of a call are a JSON object, as text: send the message back as it came")
    return value


class CalledFunction(Open):
    """The called tool, and its arguments."""

    name: str
    arguments: Annotated[str | dict[str, Any] | None, BeforeValidator(is_object)] = None


class MessageCall(Open):
    """A call in a message of the assistant."""

    id: str | None = None
    type: Literal["function"] = "function"
    function: CalledFunction


class Message(Open):
    """A message of a chat; its other keys are for the chat template."""

    role: str
    content: str | list[ContentPart] | None = None
    name: str | None = None
    tool_calls: list[MessageCall] | None = None
    tool_call_id: str | None = None


class Function(Open):
    """A function that may be called."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionTool(Open):
    """A tool; the function may be given without the object around it."""

    type: Literal["function"] = "function"
    function: Function

    @model_validator(mode="before")
    @classmethod
    def _wrapped(cls, given: Any) -> Any:
        return {"function": given} if isinstance(given, dict) and "name" in given and "function" not in given else given


class NamedFunction(Part):
    """A tool by name."""

    name: str


class NamedTool(Part):
    """The tool that must be called."""

    type: Literal["function"] = "function"
    function: NamedFunction


class TemplateOptions(Part):
    """The options of chat templates that switch thoughts on."""

    enable_thinking: StrictBool | None = None
    thinking: StrictBool | None = None


class ChatRequest(CommonRequest):
    """The body of ``POST /v1/chat/completions``."""

    only: ClassVar[Meaningless] = {
        name: row for name, row in _ONLY.items() if name not in ("reasoning_effort", "top_logprobs")
    }
    messages: list[Message]
    max_completion_tokens: int | None = Field(None, ge=1)
    tools: list[FunctionTool] | None = None
    tool_choice: Literal["auto", "required", "none"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Effort | None = None
    chat_template_kwargs: TemplateOptions | None = None
    logprobs: StrictBool | None = None
    top_logprobs: StrictInt | None = Field(None, ge=0, le=MOST_LIKELIEST)

    @model_validator(mode="after")
    def _with_logprobs(self) -> ChatRequest:
        if self.top_logprobs and not self.logprobs:
            raise RequestError(
                "top_logprobs is only allowed when logprobs is enabled",
                param="top_logprobs",
                fix='add "logprobs": true, or leave it out',
                code="invalid-field",
            )
        return self

    @property
    def likeliest(self) -> int | None:
        """As for `CommonRequest.likeliest`."""
        return (self.top_logprobs or 0) if self.logprobs else None

    def _thinking(self) -> dict[str, bool | int | None]:
        options = self.chat_template_kwargs or TemplateOptions()
        return {
            "reasoning_effort": None if self.reasoning_effort is None else EFFORTS[self.reasoning_effort],
            "chat_template_kwargs.enable_thinking": options.enable_thinking,
            "chat_template_kwargs.thinking": options.thinking,
        }

    @property
    def most_tokens(self) -> int | None:
        """The requested number of tokens; None for as many as the server gives."""
        return self.max_completion_tokens if self.max_completion_tokens is not None else self.max_tokens


class CompletionRequest(CommonRequest):
    """The body of ``POST /v1/completions``; a prompt may be a text, tokens, or a list of either."""

    prompt: str | list[StrictInt] | list[str] | list[list[StrictInt]]
    logprobs: Annotated[StrictInt | None, BeforeValidator(lambda given: None if given is False else given)] = Field(
        None, ge=0, le=5
    )

    @property
    def likeliest(self) -> int | None:
        """As for `CommonRequest.likeliest`."""
        return self.logprobs

    @property
    def prompts(self) -> list[str | list[int]]:
        """The prompts, as texts or tokens."""
        given: Any = self.prompt
        one = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
        return [given] if one else list(given)


def read_body(body: bytes, kind: type[BaseModel]) -> Any:
    """Return a request.

    Args:
        body: JSON.
        kind: The class of the request.

    Raises:
        RequestError: The body is not JSON, or not such a request.
    """
    try:
        given = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError(
            f"the body is not JSON: {error}", fix="send a JSON object in UTF-8", code="invalid-json"
        ) from None
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        raise _refused(error, given) from None


def _refused(error: ValidationError, given: Any) -> RequestError:
    """Return the complaint of pydantic that is deepest in the body, as an error that names the field."""
    found = [(_field_of(each, given), each) for each in error.errors(include_url=False, include_input=False)]
    field, first = max(found, key=lambda each: len(each[0]))
    param = ".".join(map(str, field))
    if first["type"] == "extra_forbidden":
        return RequestError(
            f"{param} is not a field of this request",
            param=param,
            why="unknown fields are refused, since one that was meant and ignored would give another answer",
            fix="leave it out, or check its spelling",
            code="unknown-field",
        )
    told = dict.fromkeys(each["msg"] for place, each in found if place == field)  # one per form of the field
    said = (
        ", or ".join(told)
        .replace(", or Input should be", ", or")
        .replace("a valid dictionary", "an object")
        .removeprefix("Value error, ")
    )
    fix = "add it" if first["type"] == "missing" else "correct it"
    return RequestError(f"{param or 'the body'}: {said}", param=param, fix=fix, code="invalid-field")


def _field_of(complaint: ErrorDetails, given: Any) -> list[int | str]:
    """Return the path of a complaint in the body, without the steps that name the alternative forms of a value."""
    found: list[int | str] = []
    inside: Any = given
    for index, step in enumerate(complaint["loc"]):
        is_there = step in inside if isinstance(inside, dict) else isinstance(inside, list) and isinstance(step, int)
        if is_there:
            inside = cast("Any", inside)[step]
        if is_there or (complaint["type"] == "missing" and index + 1 == len(complaint["loc"])):
            found.append(step)
    return found

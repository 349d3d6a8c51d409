"""The bodies of requests: what OpenAI's API and vLLM's name, read by pydantic.

A field is one of these: acted on; harmless, so that it is taken and has no effect (`HARMLESS`); taken only with the value that
means nothing (`_ONLY`); or unknown, which is an error. Nothing that would change an answer is ignored.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator
from pydantic_core import from_json

from schemagen.serve.errors import RequestError, unsupported

#: Fields that change nothing in an answer: who asks, where it is billed, how it is cached, which engine masks.
HARMLESS = frozenset({
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention",
    "prediction", "guided_decoding_backend", "structured_outputs_backend", "request_id", "priority",
})  # fmt: skip

#: Field -> the values with which it means nothing, and what to do about others.
_ONLY: dict[str, tuple[tuple[Any, ...], str]] = {
    "logprobs": ((None, False), "leave it out; lm.run(...) in Python has masked_mass"),
    "top_logprobs": ((None, 0), "leave it out"),
    "prompt_logprobs": ((None,), "leave it out"),
    "frequency_penalty": ((None, 0, 0.0), "leave it out, or set repetition_penalty in the model's generation_config"),
    "presence_penalty": ((None, 0, 0.0), "leave it out, or set repetition_penalty in the model's generation_config"),
    "repetition_penalty": ((None, 1, 1.0), "leave it out, or set it in the model's generation_config"),
    "logit_bias": ((None, {}), "leave it out; what may be written is said by a schema, a pattern or a grammar"),
    "functions": ((None,), 'write tools=[{"type": "function", "function": {...}}]'),
    "function_call": ((None,), "write tool_choice"),
    "modalities": ((None, ["text"]), 'leave it out, or write ["text"]'),
    "audio": ((None,), "leave it out: models here write text"),
    "web_search_options": ((None,), "leave it out, and pass a tool of your own"),
    "reasoning_effort": ((None, "none"), "leave it out"),
    "verbosity": ((None, "medium"), "say in the prompt how long the answer should be"),
    "best_of": ((None, 1), "leave it out, or ask for several with n"),
    "echo": ((None, False), "leave it out: the prompt is known to you"),
    "suffix": ((None, ""), "leave it out"),
    "use_beam_search": ((None, False), "leave it out"),
    "ignore_eos": ((None, False), "leave it out"),
    "min_tokens": ((None, 0), "state minLength or minItems in the schema"),
    "guided_whitespace_pattern": ((None,), 'leave it out, or write "schemagen": {"whitespace": "compact"}'),
}


class _Part(BaseModel):
    """An object in which unknown keys are an error."""

    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=True)


class StreamOptions(_Part):
    """What a stream tells beside the text."""

    include_usage: bool = False
    include_obfuscation: bool | None = None
    continuous_usage_stats: Literal[False] | None = None


class StructuredOutputs(_Part):
    """The field ``structured_outputs`` of vLLM: one constraint."""

    json_: Any = Field(None, alias="json")
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    structural_tag: Any = None
    disable_any_whitespace: bool = False
    disable_fallback: bool | None = None


class Extension(_Part):
    """The field ``schemagen``: what only this server knows.

    Attributes:
        trace: Whether the chunks of a stream tell the tokens, how many the mask allowed, and the fields that are complete.
        show_schema: Whether the shape of the answer is appended to the prompt; None: as the server is set.
        whitespace: Where whitespace may stand in JSON, as for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
    """

    trace: bool = False
    show_schema: bool | None = None
    whitespace: Literal["flexible", "compact", "spaced", "any"] = "flexible"
    property_order: Literal["schema", "any"] = "schema"


class CommonRequest(_Part):
    """What both kinds of completions take."""

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
    guided_json: Any = None
    guided_regex: str | None = None
    guided_choice: list[str] | None = None
    guided_grammar: str | None = None
    structured_outputs: StructuredOutputs | None = None
    extension: Extension = Field(default_factory=Extension, alias="schemagen")

    @model_validator(mode="before")
    @classmethod
    def _without_harmless(cls, given: Any) -> Any:
        """Take out what changes nothing, and refuse what would."""
        if not isinstance(given, dict):
            return given
        kept = {}
        for name, value in given.items():
            if name in HARMLESS:
                continue
            if name in _ONLY and name not in cls.model_fields:
                meaningless, fix = _ONLY[name]
                if not any(value == each and type(value) is type(each) for each in meaningless):
                    raise unsupported(name, value, fix)
                continue
            kept[name] = value
        return kept

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
        """How many tokens are asked for; None: as many as the server gives."""
        return self.max_tokens


class JsonSchema(_Part):
    """The schema of a response format."""

    name: str = ""
    description: str | None = None
    schema_: Any = Field(None, alias="schema")
    strict: bool | None = None


class ResponseFormat(BaseModel):
    """What an answer has to be; a structural tag keeps its other keys."""

    model_config = ConfigDict(extra="allow")

    type: Literal["text", "json_object", "json_schema", "structural_tag"]
    json_schema: JsonSchema | None = None


class NamedFunction(_Part):
    """A tool by name."""

    name: str


class NamedTool(_Part):
    """The tool that has to be called."""

    type: Literal["function"] = "function"
    function: NamedFunction


class ChatRequest(CommonRequest):
    """The body of ``POST /v1/chat/completions``."""

    messages: list[dict[str, Any]]
    max_completion_tokens: int | None = Field(None, ge=1)
    response_format: ResponseFormat | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Literal["auto", "required", "none"] | NamedTool | None = None
    parallel_tool_calls: bool | None = None

    @property
    def most_tokens(self) -> int | None:
        """How many tokens are asked for; None: as many as the server gives."""
        return self.max_completion_tokens if self.max_completion_tokens is not None else self.max_tokens


class CompletionRequest(CommonRequest):
    """The body of ``POST /v1/completions``; a prompt may be a text, tokens, or a list of either."""

    prompt: str | list[StrictInt] | list[str] | list[list[StrictInt]]
    response_format: ResponseFormat | None = None

    @property
    def prompts(self) -> list[str | list[int]]:
        """The prompts, as texts or tokens."""
        given: Any = self.prompt
        one = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
        return [given] if one else list(given)


def read_body(body: bytes, kind: type[CommonRequest]) -> Any:
    """Return a request.

    Args:
        body: JSON.
        kind: Of request.

    Raises:
        RequestError: It is no JSON, or no such request.
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
        raise _refused(error) from None


def _refused(error: ValidationError) -> RequestError:
    """Return the first complaint of pydantic, as an error that names the field."""
    first = error.errors(include_url=False, include_input=False)[0]
    param = ".".join(str(step) for step in first["loc"])
    if first["type"] == "extra_forbidden":
        return RequestError(
            f"{param} is no field of this request",
            param=param,
            why="unknown fields are refused, since one that was meant and ignored would give another answer",
            fix="leave it out, or check its spelling",
            code="unknown-field",
        )
    return RequestError(f"{param or 'the body'}: {first['msg']}", param=param, fix="correct it", code="invalid-field")

"""The options of the front doors as types, so that editors complete them and type checkers know their names.

Each class is for one family of methods: ``def run(self, prompt, spec, **options: Unpack[GenerateOptions])``. The classes
say which method takes which option, and its type. `schemagen.options.table` has a row for each option, with its meaning,
its default, its valid values and its names in other libraries; ``docs/options.md`` is that table.

Other options of transformers work as well, by name or in a ``generation_config``: `schemagen.decode.options` knows
their names at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen.calling import Profile, Tool, ToolCall
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.options.draft import Draft
    from schemagen.options.reasoning import Reasoning
    from schemagen.types.checks import Checker
    from schemagen.writers import TextFormat

    #: A tool, a function, a pydantic model, or a dict as in OpenAI's API.
    ToolLike: TypeAlias = Tool[..., Any] | Callable[..., Any] | Mapping[str, Any]
    #: One of these tools must be called; they are given themselves, or by name.
    Forced: TypeAlias = Literal["required"] | ToolLike | Sequence[ToolLike | str]
    ToolChoice: TypeAlias = Literal["auto", "none"] | Forced

#: How the answer is described in the prompt, and whether it is.
Rendering = Literal["shape", "json_schema", "example", "placeholders", "typescript"]
ShowSchema: TypeAlias = "bool | Rendering"
#: Which tokens may spell an answer.
Tokenization: TypeAlias = Literal["any", "canonical"]


class DecodingOptions(TypedDict, total=False):
    """Options of transformers' ``generate``; an option that is None is left out.

    Decoding is greedy unless ``do_sample=True`` or a sampling option (``temperature``, ``top_k``, ``top_p``, ``min_p``,
    ``typical_p``, ``epsilon_cutoff``, ``eta_cutoff``) is given; ``temperature=0`` is greedy, too.
    """

    max_new_tokens: int | None
    max_length: int | None
    min_new_tokens: int | None
    max_time: float | None
    do_sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    min_p: float | None
    typical_p: float | None
    epsilon_cutoff: float | None
    eta_cutoff: float | None
    num_beams: int | None
    length_penalty: float | None
    early_stopping: bool | str | None
    repetition_penalty: float | None
    no_repeat_ngram_size: int | None
    bad_words_ids: Sequence[Sequence[int]] | None
    sequence_bias: Any
    suppress_tokens: Sequence[int] | None
    penalty_alpha: float | None
    guidance_scale: float | None
    assistant_model: Any
    prompt_lookup_num_tokens: int | None
    stop_strings: str | Sequence[str] | None
    tokenizer: Any
    assistant_tokenizer: Any
    use_cache: bool | None
    cache_implementation: str | None
    generation_config: Any
    logits_processor: Sequence[Callable[..., Any]] | None
    stopping_criteria: Any
    streamer: Any


class ConstrainedOptions(DecodingOptions, total=False):
    """Options of all methods that constrain the text."""

    reasoning: bool | int | Reasoning
    draft: bool | int | Draft
    loop_guard: bool | None
    prefer_length: int | None
    confidence: bool


class AnswerOptions(ConstrainedOptions, total=False):
    """Options of all methods that answer with a value."""

    whitespace: WhitespacePolicy
    property_order: PropertyOrder
    as_: TextFormat
    show_schema: ShowSchema
    chat_template: bool
    tries: int
    checker: Checker | Callable[[str], str | bool | None] | None
    tokenization: Tokenization


class GenerateOptions(AnswerOptions, total=False):
    """Options of ``lm(...)``, `generate`, `run`, and of their async forms."""

    retries: int
    seed: int | None
    heal: bool


class MapOptions(GenerateOptions, total=False):
    """Options of `map` and `run_map`."""

    batch_size: int | None
    window: int | None
    progress: bool | None


class BatchOptions(AnswerOptions, total=False):
    """Options of `batch`, `run_batch`, and of their async forms."""

    retries: int
    seed: int | Sequence[int] | None
    heal: bool
    batch_size: int | None
    progress: bool | None


class StreamOptions(AnswerOptions, total=False):
    """Options of `stream` and `astream`."""

    seed: int | None
    partials: bool


class StreamCallOptions(ConstrainedOptions, total=False):
    """Options of `stream_call`, besides those that the method names itself."""

    seed: int | None
    profile: str | Profile | None


class CallOptions(StreamCallOptions, total=False):
    """Options of `call`, besides those that the method names itself."""

    retries: int
    tries: int


class ChatOptions(StreamCallOptions, total=False):
    """Options of `chat`, `stream_chat`, and of their async forms."""

    tool_choice: ToolChoice
    parallel: bool
    max_steps: int
    timeout_s: float | None
    approve: Callable[[ToolCall], bool] | None


def names_of(options: Any) -> frozenset[str]:
    """Return the names that one of these classes has."""
    return frozenset(options.__optional_keys__)

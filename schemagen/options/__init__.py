"""The options of the front doors as types, so that editors complete them and type checkers know their names.

Each class is for one family of methods: ``def run(self, prompt, spec, **options: Unpack[GenerateOptions])``. At run
time `schemagen.decode.option_names` knows the other options of transformers, too; they are given by name, or in a
``generation_config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.renderings import ShowSchema
    from schemagen.writers.formats import TextFormat


class DecodingOptions(TypedDict, total=False):
    """Options of transformers' ``generate``; an option that is None is left out.

    Decoding is greedy unless ``do_sample=True`` or a sampling option (``temperature``, ``top_k``, ``top_p``, ``min_p``,
    ``typical_p``, ``epsilon_cutoff``, ``eta_cutoff``) is given; ``temperature=0`` is greedy, too.

    Attributes:
        max_new_tokens: Maximum number of tokens of an answer; 512 by default.
        max_length: Maximum number of tokens of prompt and answer together.
        min_new_tokens: Minimum number of tokens of an answer.
        max_time: Seconds after which the answer is cut off, which is an error.
        do_sample: Whether tokens are drawn at random.
        temperature: Divides the logits before sampling; 0 is greedy.
        top_k: Sample from this many of the likeliest tokens.
        top_p: Sample from the likeliest tokens that together have this probability.
        min_p: Sample from tokens with at least this share of the highest probability.
        typical_p: Sample from tokens of typical information that together have this probability.
        epsilon_cutoff: Sample from tokens of at least this probability.
        eta_cutoff: The same, with a bound that follows the entropy.
        num_beams: Beams of beam search.
        length_penalty: Above 0, beams prefer long texts, below 0 short ones.
        early_stopping: When beam search ends.
        repetition_penalty: Above 1, tokens that are in the text already become unlikely.
        no_repeat_ngram_size: Runs of this many tokens occur at most once.
        bad_words_ids: Sequences of tokens that must not occur.
        sequence_bias: Sequences of tokens, and the numbers to add to their logits.
        suppress_tokens: Tokens that must not occur.
        penalty_alpha: Contrastive search.
        guidance_scale: Classifier-free guidance.
        assistant_model: A smaller model that proposes tokens.
        prompt_lookup_num_tokens: Tokens that are proposed from the prompt at a time.
        stop_strings: Texts that end the answer; an error, unless the type lets it end there.
        tokenizer: The tokenizer of the model, if not that of ``lm``, for the options that need one.
        assistant_tokenizer: The tokenizer of the assistant, if it has another.
        use_cache: Whether keys and values are kept.
        cache_implementation: How they are kept.
        generation_config: An object with any of these options, and all others that transformers has.
        logits_processor: Further processors; the constraint comes after them.
        stopping_criteria: Further reasons to cut the answer off.
        streamer: An object that receives the tokens.
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


class AnswerOptions(DecodingOptions, total=False):
    """Options of all methods that answer with a value.

    Attributes:
        whitespace: As for `schemagen.compile`; of no effect on a compiled grammar.
        property_order: As for `schemagen.compile`; of no effect on a compiled grammar.
        as_: How the value is written, as for `schemagen.compile`; a compiled grammar has its own.
        reasoning: Whether the model thinks before it answers, and in how many tokens.
        show_schema: The answer in the prompt: True or "shape", "json_schema", "example", "typescript"; or False.
        chat_template: Whether the chat template of the tokenizer is used, if there is one.
    """

    whitespace: WhitespacePolicy
    property_order: PropertyOrder
    as_: TextFormat
    reasoning: bool | int | Reasoning
    show_schema: ShowSchema
    chat_template: bool


class GenerateOptions(AnswerOptions, total=False):
    """Options of ``lm(...)``, `generate`, `run`, and of their async forms.

    Attributes:
        retries: How often to ask again, with the reasons, when a validator refuses the value.
        seed: Makes sampling reproducible.
        heal: Whether the answer may share a token with the end of the prompt.
    """

    retries: int
    seed: int | None
    heal: bool


class BatchOptions(AnswerOptions, total=False):
    """Options of `batch`, `run_batch`, and of their async forms.

    Attributes:
        retries: How often a row is asked again, with the reasons, when a validator refuses its value.
        seed: One number for each row, or one number that is counted up.
        heal: Whether the answers may share a token with the ends of their prompts.
        batch_size: Rows that the model works on at a time, at most.
        progress: Whether there is a progress bar.
    """

    retries: int
    seed: int | Sequence[int] | None
    heal: bool
    batch_size: int | None
    progress: bool | None


class MapOptions(AnswerOptions, total=False):
    """Options of `map` and `run_map`.

    Attributes:
        retries: How often a row is asked again, with the reasons, when a validator refuses its value.
        seed: A number that is counted up.
        batch_size: Rows that the model works on at a time, at most.
        window: Prompts that are read, and answered, before the next ones are.
        progress: Whether there is a progress bar.
        heal: Whether the answers may share a token with the ends of their prompts.
    """

    retries: int
    seed: int | None
    batch_size: int | None
    window: int | None
    progress: bool | None
    heal: bool


class StreamOptions(AnswerOptions, total=False):
    """Options of `stream` and `astream`.

    Attributes:
        seed: Makes sampling reproducible.
        partials: Whether to yield a `Snapshot` after each step with a change.
    """

    seed: int | None
    partials: bool


class ChatOptions(DecodingOptions, total=False):
    """Options of `chat` and of `achat`, beside those that the methods name themselves.

    Attributes:
        seed: Makes sampling reproducible.
        reasoning: Whether the model thinks before it answers, and in how many tokens.
    """

    seed: int | None
    reasoning: bool | int | Reasoning


class StreamCallOptions(ChatOptions, total=False):
    """Options of `stream_call`, beside those that the method names itself.

    Attributes:
        profile: The wire format, unless the chat template determines it.
    """

    profile: Any


class CallOptions(StreamCallOptions, total=False):
    """Options of `call`, beside those that the method names itself.

    Attributes:
        retries: How often to ask again, with the reasons, when a validator refuses the arguments.
    """

    retries: int


def names_of(options: Any) -> frozenset[str]:
    """Return the names that one of these classes has."""
    return frozenset(options.__optional_keys__)

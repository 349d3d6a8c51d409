"""One constrained generation: from a rendered prompt and a grammar to a complete text.

The loop is ``model.generate`` of transformers, so that its search strategies, caches and options all work, or, for
plain greedy search and sampling, our own loop that reads ahead (`schemagen.decode.speculation`). This module adds the
parts that make the result trustworthy: EOS ids, budget, seed, completeness.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from schemagen.arguments import check_count, check_seed
from schemagen.decode.broken_logits import LogitsCheck
from schemagen.decode.finish_reason import finish_reason
from schemagen.decode.logits_processor import LogitsProcessor
from schemagen.decode.row_sampling import SAMPLING, can_sample_rows, row_sampler, samples
from schemagen.decode.speculation import Run, can_read_ahead, decode_ahead
from schemagen.errors import BudgetError, GenerationError, OptionError, SchemagenError
from schemagen.options.speculation import DEFAULT as READ_AHEAD
from schemagen.options.table import checked_values
from schemagen.threads.forking import settle_threads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from schemagen.engine.protocol import Constraint
    from schemagen.generation import FinishReason
    from schemagen.options.speculation import Speculation

#: The budget if neither `max_new_tokens` nor `max_length` is given.
DEFAULT_MAX_NEW_TOKENS = 512
#: transformers warns of these if a generation_config has them without sampling.
_WARNED_ABOUT = frozenset({"temperature", "top_k", "top_p"})


#: Options that become token biases in transformers.
_BIASES = ("bad_words_ids", "sequence_bias")


@dataclass(frozen=True, slots=True)
class Decoded:
    """The result of one call of ``model.generate``.

    Attributes:
        text: The generated text, without EOS.
        token_ids: Its tokens, EOS included if it was generated.
        prompt_tokens: Length of the prompt.
        seconds: Wall-clock time of ``generate``.
        masked_mass: Mean probability that the constraint removed per token; None if it was not measured.
        interventions: Tokens where the constraint forbade the model's likeliest one; None if not counted.
        passes: How often the model was called; None if not counted.
        finish_reason: As `schemagen.decode.finish_reason` has it.
    """

    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    seconds: float
    masked_mass: float | None
    interventions: int | None = None
    passes: int | None = None
    finish_reason: FinishReason = "complete"


def decode(
    model: Any,
    inputs: dict[str, torch.Tensor],
    grammar: Constraint,
    *,
    seed: int | None = None,
    speculation: Speculation = READ_AHEAD,
    **generate_kwargs: Any,
) -> Decoded:
    """Generate a text of the grammar.

    Args:
        model: With the ``generate`` of transformers.
        inputs: ``input_ids`` int64 [1, T] and ``attention_mask``, on the device of the model.
        grammar: The grammar of the text.
        seed: The seed of sampling; the global random state is restored.
        speculation: The source of draft tokens, if the loop that reads ahead may write the text.
        generate_kwargs: Options of ``generate``. Greedy unless ``do_sample`` or a sampling option is given.

    Raises:
        BudgetError: The budget is below the length of the shortest text; or something else, such as ``max_time``, ended
            the text too early.
        OptionError: As `check_options`, or transformers refuses an option.
        LogitsError: The model gives logits from which no token can be chosen.
        GenerationError: The text is not in the grammar.
    """
    settle_threads()
    seed = check_seed(seed)
    prompt_tokens = inputs["input_ids"].shape[1]
    options = complete_options(model, prompt_tokens, generate_kwargs, default=default_budget(grammar))
    budget = budget_of(model, options, prompt_tokens)
    check_budget(grammar, budget)
    started = time.perf_counter()
    if budget is not None and can_read_ahead(model, inputs, options):
        run = read_ahead(model, inputs["input_ids"], grammar, budget, options, seed=seed, speculation=speculation)
        text, used = finish(grammar, run.token_ids, options)
        seconds = time.perf_counter() - started
        token_ids, tally = tuple(run.token_ids[:used]), run.tally
        reason = finish_reason(grammar, token_ids, budget, was_left_out=tally.left_out > 0)
        return Decoded(
            text, token_ids, prompt_tokens, seconds, run.masked_mass, tally.interventions, run.passes, reason
        )
    processor = LogitsProcessor(grammar, max_new_tokens=budget, measure_mass=True)
    sequences = generate_rows(model, inputs, options, processor, ends=grammar.vocabulary.eos_token_ids, seeds=[seed])
    seconds = time.perf_counter() - started
    generated = sequences[0, prompt_tokens:].tolist()
    text, used = finish(grammar, generated, options)
    token_ids = tuple(generated[:used])
    reason = finish_reason(grammar, token_ids, budget, was_left_out=processor.has_left_out(token_ids))
    return Decoded(text, token_ids, prompt_tokens, seconds, processor.masked_mass, finish_reason=reason)


def read_ahead(
    model: Any,
    input_ids: torch.Tensor,
    grammar: Constraint,
    budget: int,
    options: dict[str, Any],
    *,
    seed: int | None,
    speculation: Speculation,
) -> Run:
    """Write one text with the loop that reads ahead, which `can_read_ahead` allows.

    Args:
        model: A decoder of transformers.
        input_ids: int64 [1, T], on its device.
        grammar: The grammar of the text.
        budget: The maximum number of tokens.
        options: As `complete_options` returns them.
        seed: The seed of sampling; None to draw one from torch's own random numbers.
        speculation: The source of draft tokens.
    """
    sampler = None
    if samples(model, options):
        drawn = int(torch.randint(1 << 62, (1,))) if seed is None else seed
        sampler = row_sampler(model, options, [drawn], device="cpu")  # the loop copies the logits there
    streamer = options.get("streamer")
    return decode_ahead(model, input_ids, grammar, budget, speculation=speculation, sampler=sampler, streamer=streamer)


def inputs_of(prompts: Sequence[tuple[int, ...]], pad: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Put prompts into one tensor, padded on the left; ``generate`` derives the positions from the attention mask."""
    width = max(len(prompt) for prompt in prompts)
    input_ids = [[pad] * (width - len(prompt)) + list(prompt) for prompt in prompts]
    attention_mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts]
    return {
        "input_ids": torch.tensor(input_ids, dtype=torch.int64, device=device),
        "attention_mask": torch.tensor(attention_mask, dtype=torch.int64, device=device),
    }


def generate_rows(
    model: Any,
    inputs: dict[str, torch.Tensor],
    options: dict[str, Any],
    processor: LogitsProcessor,
    *,
    ends: Sequence[int],
    seeds: Sequence[int | None],
) -> torch.Tensor:
    """Run ``model.generate``; return its sequences, int64 [B, T + new].

    Args:
        model: With the ``generate`` of transformers.
        inputs: ``input_ids`` int64 [B, T], padded on the left, and ``attention_mask``.
        options: As `complete_options` returns them.
        processor: The mask; it comes after the processors of the user.
        ends: The EOS ids.
        seeds: One per row; None if the row need not be reproducible.
    """
    options = {"eos_token_id": list(ends), "pad_token_id": ends[0], **options}
    processors = [*(options.pop("logits_processor", None) or []), processor]
    known = [seed for seed in seeds if seed is not None]
    by_row = len(known) == len(seeds) and samples(model, options) and can_sample_rows(model, options)
    if by_row:
        with _refusals_of(options):
            processors.append(row_sampler(model, options, known))
        options = {**options, "do_sample": False, **dict.fromkeys((SAMPLING & options.keys()) | _WARNED_ABOUT)}
    with _seeded(known[0] if known and not by_row else None, inputs["input_ids"].device), _refusals_of(options):
        output = model.generate(**inputs, **options, logits_processor=processors)
    sequences: torch.Tensor = getattr(output, "sequences", output)
    return sequences


def decode_freely(
    model: Any, inputs: dict[str, torch.Tensor], *, seed: int | None = None, **generate_kwargs: Any
) -> list[int]:
    """Generate without a constraint; return the new tokens. Arguments and errors as for `decode`."""
    settle_threads()
    prompt_tokens = inputs["input_ids"].shape[1]
    options = complete_options(model, prompt_tokens, generate_kwargs)
    processors = [*(options.pop("logits_processor", None) or []), LogitsCheck()]
    with _seeded(check_seed(seed), inputs["input_ids"].device), _refusals_of(options):
        output = model.generate(**inputs, **options, logits_processor=processors)
    sequences = getattr(output, "sequences", output)
    return [int(token_id) for token_id in sequences[0, prompt_tokens:].tolist()]


def default_budget(grammar: Constraint) -> int:
    """Return the budget of calls that state none: the default plus the tokens of thoughts."""
    return DEFAULT_MAX_NEW_TOKENS + grammar.thought_tokens


def complete_options(
    model: Any, prompt_tokens: int, given: dict[str, Any], *, default: int = DEFAULT_MAX_NEW_TOKENS
) -> dict[str, Any]:
    """Complete the options of ``generate``: greedy, and a budget that fits the model.

    Args:
        model: With the ``generate`` of transformers.
        prompt_tokens: Length of the prompt.
        given: The options of the user; those that are None are left out.
        default: The budget if the user gives none and the model has room for it.

    Raises:
        BudgetError: The prompt fills the context.
        OptionError: As `check_options`.
        GenerationError: The prompt has no tokens.
    """
    given = check_options(given)
    if not prompt_tokens:
        raise GenerationError(
            "the prompt has no tokens",
            why="a model reads at least one before it writes",
            fix="give a text, or a chat template that writes something",
            code="empty-prompt",
        )
    room = _room(model, prompt_tokens)
    options = {key: value for key, value in given.items() if value is not None}
    if options.get("temperature") == 0:
        # The limit of sampling at ever lower temperatures; transformers refuses to divide by it.
        options = {**{key: value for key, value in options.items() if key not in SAMPLING}, "do_sample": False}
    if "do_sample" not in options and "generation_config" not in options:
        options["do_sample"] = not SAMPLING.isdisjoint(options)
    if options.get("do_sample") is False:
        # The sampling defaults of a model's generation_config would only cause warnings.
        options = {**dict.fromkeys(_WARNED_ABOUT), **options}
    given_config = options.get("generation_config")
    # Without this generate would stop after 20 tokens.
    if not {"max_new_tokens", "max_length"} & options.keys() and (
        given_config is None or budget_of(model, options, prompt_tokens) is None
    ):
        options["max_new_tokens"] = default if room is None else min(default, room)
    return options


def budget_of(model: Any, options: Mapping[str, Any], prompt_tokens: int) -> int | None:
    """Return how many tokens ``generate`` will write at most with completed options; None if nothing limits them.

    Options that are not given come from the ``generation_config`` that is given, then from the model's own, as in
    ``generate``.
    """
    configs = [options.get("generation_config"), getattr(model, "generation_config", None)]

    def given(name: str) -> Any:
        found = [options.get(name), *(getattr(config, name, None) for config in configs)]
        return next((value for value in found if value is not None), None)

    new_tokens, length = given("max_new_tokens"), given("max_length")
    if new_tokens is not None:
        return int(new_tokens)
    is_decoder_only = not getattr(model.config, "is_encoder_decoder", False)
    return None if length is None else max(0, int(length) - (prompt_tokens if is_decoder_only else 1))


def check_budget(grammar: Constraint, budget: int | None) -> None:
    """Refuse a budget in which no text can be guaranteed to end.

    Raises:
        BudgetError: It is below `Grammar.min_new_tokens` or, if this is unknown, below a length that no text can go
            under, even if each of its tokens is the longest one.
    """
    if budget is None:
        return
    needed = grammar.min_new_tokens
    if needed is not None and budget < needed:
        raise BudgetError(
            f"a budget of {budget} tokens, and the shortest text takes {needed}",
            why="the text would be cut off whatever the model writes",
            fix=f"give max_new_tokens={needed} or more",
        )
    if needed is None and budget < grammar.least_new_tokens:
        raise BudgetError(
            f"a budget of {budget} tokens, and no text takes fewer than {grammar.least_new_tokens}",
            why="the text would be cut off whatever the model writes; the length of the shortest text was not computed",
            fix="give many more tokens than these, or lower minItems, minLength or the like",
        )


def check_options(given: Mapping[str, Any], tokenizer: Any = None) -> dict[str, Any]:
    """Return options of ``generate`` as transformers takes them; refuse invalid values.

    Args:
        given: The options of the user.
        tokenizer: Added if another option needs it and none is given.

    Raises:
        OptionError: A value is invalid, or the options ask for several results.
    """
    found = checked_values(given)
    if tokenizer is not None and found.get("tokenizer") is None and _needs_tokenizer(found):
        found["tokenizer"] = tokenizer
    wanted = given.get("num_return_sequences")
    if wanted is not None and check_count("num_return_sequences", wanted) != 1:
        raise OptionError(
            f"num_return_sequences={wanted!r:.80}",
            why="it asks for several results, and a call returns one",
            fix=f"give the prompt several times, with seeds: lm.batch([prompt] * {wanted}, spec, temperature=1.0, seed=0)",
            code="one-result",
        )
    return found


def _needs_tokenizer(options: Mapping[str, Any]) -> bool:
    """Whether ``generate`` needs the texts of tokens."""
    config = options.get("generation_config")
    named = ("stop_strings", "assistant_tokenizer")
    return any(options.get(name) is not None for name in named) or getattr(config, "stop_strings", None) is not None


#: Option -> why a stream cannot have it.
_NOT_STREAMED = {
    "num_beams": "which beam is the answer is known at the end alone",
    "retries": "text that was sent cannot be taken back",
    "streamer": "a stream has its own",
}


def check_streamed(given: Mapping[str, Any]) -> None:
    """Refuse options that a stream cannot have.

    Raises:
        OptionError: There is one.
    """
    for name, why in _NOT_STREAMED.items():
        harmless = {"num_beams": 1, "retries": 0}.get(name)
        if given.get(name) is not None and given[name] != harmless:
            raise OptionError(f"{name}={given[name]!r:.80} in a stream", why=why, fix="leave it out, or do not stream")


def context_of(model: Any) -> int | None:
    """Return how many tokens the model can read; None if its configuration does not say."""
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    context = getattr(config, "max_position_embeddings", None)
    return context if isinstance(context, int) else None


def _room(model: Any, prompt_tokens: int) -> int | None:
    """How many tokens fit into the context of the model after the prompt; None if unknown."""
    context = context_of(model)
    if context is None:
        return None
    if prompt_tokens >= context:
        raise BudgetError(
            f"the prompt has {prompt_tokens} tokens, the context of the model {context}",
            why="there is no room for an answer",
            fix="shorten the prompt, or leave out the schema with show_schema=False",
        )
    return context - prompt_tokens


def finish(grammar: Constraint, generated: list[int], options: dict[str, Any]) -> tuple[str, int]:
    """Return the text and how many tokens it took, EOS included; raise if it is not complete.

    The check does not rely on the processor: a fresh matcher reads the tokens once more.
    """
    matcher = grammar.matcher()
    used = 0
    while used < len(generated) and not matcher.is_terminated() and matcher.accept_token(generated[used]):
        used += 1
    body = generated[: used - 1] if matcher.is_terminated() else generated[:used]
    data = grammar.vocabulary.decode(body)
    if matcher.is_terminated() or (matcher.is_accepting() and used == len(generated)):
        return data.decode("utf-8"), used
    partial = data.decode("utf-8", errors="replace")
    if used < len(generated):
        raise GenerationError(
            f"token {generated[used]} after {used} tokens is not in the grammar",
            text=partial,
            why="another processor or generate option changed the scores after the mask",
            fix="remove options that force tokens",
            code="foreign-token",
        )
    raise BudgetError(
        f"the text is not complete after {used} tokens",
        text=partial,
        at=f"...{partial[-40:]}",
        **_what_ran_out(options, used),
    )


def _what_ran_out(options: Mapping[str, Any], used: int) -> dict[str, str]:
    """Describe why a text ended too early, and the remedy."""
    budget = options.get("max_new_tokens", options.get("max_length"))
    others = [name for name in ("max_time", "stop_strings", "stopping_criteria") if options.get(name) is not None]
    if used == budget or not others:
        return {
            "why": f"the budget was {budget} tokens",
            "fix": "raise max_new_tokens, or bound the strings and lists of the type",
        }
    causes = " or ".join(f"max_time={options['max_time']} (seconds)" if name == "max_time" else name for name in others)
    return {
        "why": f"{causes} ended it, before the budget of {budget} tokens did",
        "fix": f"raise or leave out {' or '.join(others)}: half a text is not an instance",
    }


@contextmanager
def _refusals_of(options: Mapping[str, Any]) -> Iterator[None]:
    """Say which option transformers refuses; its own error is the cause.

    Raises:
        OptionError: transformers raised a ValueError that names an option.
    """
    try:
        yield
    except ValueError as error:
        told = str(error).strip()
        # Of token ids beyond the vocabulary the error does not say which option has them.
        suspects = _BIASES if "being biased" in told else [name for name in options if re.search(rf"\b{name}\b", told)]
        named = [name for name in suspects if options.get(name) is not None]
        if not named or isinstance(error, SchemagenError):
            raise
        raise OptionError(
            f"{', '.join(f'{name}={options[name]!r:.80}' for name in named)}: {told.splitlines()[0]}",
            why="the generate of transformers refuses it",
            fix=f"correct {' or '.join(named)}, or leave it out",
        ) from error


@contextmanager
def _seeded(seed: int | None, device: torch.device) -> Iterator[None]:
    """Seed torch for a block and restore its state afterwards."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield

"""One constrained generation: from a prompt in tokens and a grammar to a complete text.

``model.generate`` of transformers writes the text, so that its search strategies, caches and options all work, or, for
plain greedy search and sampling, our own loop that reads ahead (`schemagen.decode.speculation`). This module adds the
parts that make the result trustworthy: EOS ids, budget, seed, completeness.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from schemagen.checks import check_seed
from schemagen.decode.brevity import NAMES, Brevity
from schemagen.decode.broken_logits import LogitsCheck
from schemagen.decode.budget import budget_of, check_budget, default_budget
from schemagen.decode.finish_reason import finish_reason
from schemagen.decode.guide import refused_in
from schemagen.decode.logits_processor import LogitsProcessor
from schemagen.decode.options import WARNED_ABOUT, complete_options
from schemagen.decode.row_sampling import (
    SAMPLING,
    RowSampler,
    can_sample_rows,
    effective_option,
    samples,
    seed_of,
    way_of,
)
from schemagen.decode.speculation import Loop, Run, can_read_ahead, decode_ahead
from schemagen.decode.text import is_drawn
from schemagen.decode.token_records import Records, records_of
from schemagen.errors import BudgetError, GenerationError, OptionError, SchemagenError
from schemagen.options.speculation import DEFAULT as READ_AHEAD
from schemagen.threads.forking import settle_threads

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from schemagen.decode.guide import Guide, TakenBack
    from schemagen.decode.token_records import TokenRecord
    from schemagen.engine.protocol import Constraint
    from schemagen.generation import FinishReason, Refused
    from schemagen.options.speculation import Speculation

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
        records: The distribution at each token; None if not recorded.
        refused: The values that a guide had written again.
        log_weight: As in `schemagen.generation.Generation`.
        reopened: Bytes of the end of the prompt that the tokens repeat; the text is without them.
    """

    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    seconds: float
    masked_mass: float | None
    interventions: int | None = None
    passes: int | None = None
    finish_reason: FinishReason = "complete"
    records: tuple[TokenRecord, ...] | None = None
    refused: tuple[Refused, ...] = ()
    reopened: int = 0
    log_weight: float | None = None


def decode(model: Any, inputs: dict[str, torch.Tensor], grammar: Constraint, **options: Any) -> Decoded:
    """Generate a text of the grammar; arguments and errors as for `Writer`."""
    return Writer(model, inputs, grammar, **options).write()


class Writer:
    """Generates one text of a grammar, at once or step by step.

    Args:
        model: With the ``generate`` of transformers.
        inputs: ``input_ids`` int64 [1, T] and ``attention_mask``, on the device of the model.
        grammar: The grammar of the text.
        seed: The seed of sampling; the global random state is restored.
        speculation: The source of draft tokens, if the loop that reads ahead may write the text.
        notes: Whether to record the distribution at each token.
        guide: Bans tokens beyond the grammar; None for none.
        generate_kwargs: Options of ``generate``. Greedy unless ``do_sample`` or a sampling option is given.

    Attributes:
        has_steps: Whether the loop that reads ahead writes the text; else ``generate`` does.

    Raises:
        BudgetError: The budget is below the length of the shortest text; or something else, such as ``max_time``, ended
            the text too early.
        OptionError: As `check_options`, or transformers refuses an option, or ``generate`` would have to obey a guide.
        LogitsError: The model gives logits from which no token can be chosen.
        GenerationError: The text is not in the grammar.
    """

    def __init__(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        grammar: Constraint,
        *,
        seed: int | None = None,
        speculation: Speculation = READ_AHEAD,
        notes: bool = False,
        guide: Guide | None = None,
        **generate_kwargs: Any,
    ) -> None:
        settle_threads()
        self._model, self._inputs, self._grammar = model, inputs, grammar
        self._seed = check_seed(seed)
        self._extras: dict[str, Any] = {
            "speculation": speculation,
            "records": Records() if notes else None,
            "guide": guide,
        }
        self._prompt_tokens = inputs["input_ids"].shape[1]
        self._options = complete_options(model, self._prompt_tokens, generate_kwargs, default=default_budget(grammar))
        self._budget = budget_of(model, self._options, self._prompt_tokens)
        check_budget(grammar, self._budget)
        self.has_steps = self._budget is not None and can_read_ahead(model, inputs, self._options)
        if guide is not None and not self.has_steps:
            raise cannot_guide()

    def write(self) -> Decoded:
        """Return the text."""
        if not self.has_steps:
            return self.generate()
        began = time.perf_counter()
        ids, budget, seed = self._inputs["input_ids"], self._budget or 0, self._seed
        run = read_ahead(self._model, ids, self._grammar, budget, self._options, seed=seed, **self._extras)
        return self._result_of(run, began)

    def steps(self) -> Generator[list[int] | TakenBack | Decoded, None, None]:
        """Yield the tokens of each step of the loop that reads ahead, then the result; its seconds are those of the steps."""
        began, seconds = time.perf_counter(), 0.0
        ids, budget = self._inputs["input_ids"], self._budget or 0
        ways = _ways_of(self._model, self._grammar, self._options, self._seed, self._extras["guide"])
        loop = Loop(self._model, ids, self._grammar, budget, **self._extras, **ways)
        for step in loop.steps():
            seconds += time.perf_counter() - began
            yield step
            began = time.perf_counter()
        yield self._result_of(loop.run, began - seconds)

    def generate(self, streamer: Any = None) -> Decoded:
        """Return the text that ``generate`` writes; a streamer gets its tokens as they come."""
        began = time.perf_counter()
        options = self._options if streamer is None else {**self._options, "streamer": streamer}
        processor = LogitsProcessor(self._grammar, max_new_tokens=self._budget, measure_mass=True)
        ends = self._grammar.vocabulary.eos_token_ids
        sequences = generate_rows(self._model, self._inputs, options, processor, ends=ends, seeds=[self._seed])
        generated = sequences[0, self._prompt_tokens :].tolist()
        found = self._result(generated, began, was_left_out=processor.has_left_out(generated))
        found = replace(found, masked_mass=processor.masked_mass)
        if self._extras["records"] is None:
            return found
        prompt = self._inputs["input_ids"][0].tolist()
        records = records_of(self._model, prompt, found.token_ids, self._grammar, self._budget)
        return replace(found, records=tuple(records))

    def _result_of(self, run: Run, began: float) -> Decoded:
        found = self._result(run.token_ids, began, was_left_out=bool(run.tally.cut_short))
        records = None if run.records is None else tuple(run.records.tokens[: len(found.token_ids)])
        effects: dict[str, Any] = {
            "masked_mass": run.masked_mass,
            "interventions": len(run.tally.overruled),
            "passes": run.passes,
            "log_weight": run.tally.log_kept,
            "refused": refused_in(self._extras["guide"]),
        }
        return replace(found, records=records, **effects)

    def _result(self, generated: list[int], began: float, *, was_left_out: bool) -> Decoded:
        seconds = time.perf_counter() - began
        return result_of(
            self._grammar,
            generated,
            self._options,
            prompt_tokens=self._prompt_tokens,
            budget=self._budget,
            seconds=seconds,
            was_left_out=was_left_out,
        )


def read_ahead(
    model: Any,
    input_ids: torch.Tensor,
    grammar: Constraint,
    budget: int,
    options: dict[str, Any],
    *,
    seed: int | None,
    **extras: Any,
) -> Run:
    """Write one text with the loop that reads ahead, which `can_read_ahead` allows.

    Args:
        model: A decoder of transformers.
        input_ids: int64 [1, T], on its device.
        grammar: The grammar of the text.
        budget: The maximum number of tokens.
        options: As `complete_options` returns them.
        seed: The seed of sampling; None to draw one from torch's own random numbers.
        extras: ``speculation``, ``records`` and ``guide``, as for `schemagen.decode.speculation.Loop`.
    """
    ways = _ways_of(model, grammar, options, seed, extras.get("guide"))
    return decode_ahead(model, input_ids, grammar, budget, streamer=options.get("streamer"), **extras, **ways)


def _ways_of(
    model: Any, grammar: Constraint, options: Mapping[str, Any], seed: int | None, guide: Guide | None
) -> dict[str, Any]:
    """Return how the tokens of a text that is read ahead are chosen, as for `Loop`."""
    sampling = way_of(model, options)
    sampler = RowSampler([seed_of(seed)], sampling) if is_drawn(sampling, grammar, guide) else None
    return {"sampler": sampler, "brevity": Brevity.of(options)}


def cannot_guide() -> OptionError:
    """Return the error for a guide where ``generate`` of transformers has to write the text."""
    return OptionError(
        "validators, checkers, canonical tokens or ways to draw a field, beside an option or a model that needs generate of "
        "transformers",
        why="they take back tokens while a text is written, and generate cannot go back",
        fix="leave out beams, an assistant model and further processors; or tries=1, so that the value is validated at its end",
    )


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
    processor.brevity = Brevity.of(options)
    options = {name: value for name, value in options.items() if name not in NAMES}
    options = {"eos_token_id": list(ends), "pad_token_id": ends[0], **options}
    if processor.has_inner_ends:
        options |= _ends_of_rows(model, options, processor, inputs["input_ids"].device)
    processors = [*(options.pop("logits_processor", None) or []), processor]
    known = [seed for seed in seeds if seed is not None]
    has_temperatures = processor.has_temperatures
    by_row = (has_temperatures or (len(known) == len(seeds) and samples(model, options))) and can_sample_rows(
        model, options
    )
    if by_row:
        temperatures = processor.temperatures if has_temperatures else None
        own = [seed_of(seed) for seed in seeds]
        with _refusals_of(options):
            processors.append(RowSampler(own, way_of(model, options), str(model.device), temperatures))
        options = {**options, "do_sample": False, **dict.fromkeys((SAMPLING & options.keys()) | WARNED_ABOUT)}
    with _seeded(known[0] if known and not by_row else None, inputs["input_ids"].device), _refusals_of(options):
        output = model.generate(**inputs, **options, logits_processor=processors)
    sequences: torch.Tensor = getattr(output, "sequences", output)
    return sequences


class _RowsOver:
    """Ends the rows of ``generate`` whose matchers have read their last token; a stopping criterion of transformers.

    Attributes:
        eos_token_id: Tells ``generate`` that rows end on their own, so that it pads them.
    """

    def __init__(self, processor: LogitsProcessor, eos_token_id: torch.Tensor) -> None:
        self._processor = processor
        self.eos_token_id = eos_token_id

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Return bool [B]: which rows of int64 [B, T] are over."""
        del scores
        return torch.tensor(self._processor.ended(input_ids), device=input_ids.device)


def _ends_of_rows(
    model: Any, options: Mapping[str, Any], processor: LogitsProcessor, device: torch.device
) -> dict[str, Any]:
    """Return the options under which an EOS token ends a row only where the grammar says so.

    Raises:
        OptionError: There is a draft, and the search does not read one token of each row at a time.
    """
    beams = effective_option(model, options, "num_beams", 1)
    others = ("assistant_model", "prompt_lookup_num_tokens", "penalty_alpha")
    if beams > 1 or any(options.get(name) for name in others):
        if not processor.has_drafts:
            return {}  # a grammar may name EOS at its end alone
        raise OptionError(
            "a draft beside beams, an assistant model or contrastive search",
            why="these end a text at its first EOS token, which ends the draft",
            fix="leave them out; lm.assistant = model proposes tokens for any text",
        )
    never = model.config.get_text_config().vocab_size  # an id that no token has
    over = _RowsOver(processor, torch.tensor(options["eos_token_id"], device=device))
    return {"eos_token_id": [never], "stopping_criteria": [*(options.get("stopping_criteria") or []), over]}


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


def result_of(
    grammar: Constraint,
    generated: list[int],
    options: Mapping[str, Any],
    *,
    prompt_tokens: int,
    budget: int | None,
    seconds: float,
    was_left_out: bool,
) -> Decoded:
    """Return a text with why it ended; arguments and errors as for `finish` and `finish_reason`, and those of `Decoded`."""
    text, used = finish(grammar, generated, options)
    token_ids = tuple(generated[:used])
    reason = finish_reason(grammar, token_ids, budget, was_left_out=was_left_out)
    return Decoded(text, token_ids, prompt_tokens, seconds, None, finish_reason=reason)


def finish(grammar: Constraint, generated: list[int], options: Mapping[str, Any]) -> tuple[str, int]:
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

"""Tokens per second of ``model.generate`` with a constraint and without.

    python benchmarks/decode_overhead.py --tokenizer llama3

Models: a Llama with random weights and the vocabulary of the tokenizer, and the bundled model. Batches: 1, 8 and 32 rows, all
over one schema, each with its own prompt. Greedy, without an end: every generation has the same number of steps.

Compared with ours: a processor that only copies the logits, those of xgrammar and outlines, and for llguidance, which has
none, the few lines from its documentation. Each gets compact whitespace.

How it is measured: the generations of all contenders are under way at once, each in its own thread, but only one runs at
a time: after each step the next one has its turn. So a step with a constraint is compared with the step without
that ran a few milliseconds before or after it, and a ratio is the median over these pairs. The order changes
from step to step; the first steps, which warm up, do not count.

    ratio       seconds of a step without a constraint / seconds of a step with it
    processor   milliseconds of a step that the processor itself takes, median
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import harness
import torch
from harness import clock
from rich.progress import Progress
from transformers import LlamaConfig, LlamaForCausalLM, LogitsProcessor, StoppingCriteria

import schemagen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCHES = (1, 8, 32)
FREE = "unconstrained"
#: Steps of every generation that are not counted: the prompt, and whatever is done once.
WARM_UP = 4
PROMPT_TOKENS = 16


def schema() -> dict[str, Any]:
    """Return a schema that takes more steps than are measured: strings, numbers, choices and nested objects."""
    kinds: list[dict[str, Any]] = [
        {"type": "string", "maxLength": 24},
        {"type": "integer"},
        {"enum": ["small", "medium", "large"]},
        {"type": "boolean"},
    ]
    names = ["title", "count", "size", "active", "author", "year", "format", "open", "comment", "price"]
    inner = {name: kinds[place % 4] for place, name in enumerate(names)}
    part = {"type": "object", "properties": inner, "required": names, "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"first": part, "second": part},
        "required": ["first", "second"],
        "additionalProperties": False,
    }


#: Takes at least 31 tokens with the vocabulary of Llama 3, about as many as are measured.
TAGS: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}, "minItems": 50}},
    "required": ["name", "tags"],
    "additionalProperties": False,
}


# --- the contenders --------------------------------------------------------------------------------------------------


def _schemagen(tokenizer: Any, width: int, spec: dict[str, Any] | None = None, **options: Any) -> Callable[[], Any]:
    vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=width)
    grammar = schemagen.compile(spec or schema(), vocabulary, whitespace="compact")
    return lambda: schemagen.LogitsProcessor(grammar, **options)


def _inplace(tokenizer: Any, width: int) -> Callable[[], Any]:
    return _schemagen(tokenizer, width, inplace=True)


def _measured(tokenizer: Any, width: int) -> Callable[[], Any]:
    return _schemagen(tokenizer, width, measure_mass=True)


def _tight(tokenizer: Any, width: int) -> Callable[[], Any]:
    return _schemagen(tokenizer, width, TAGS)  # within the budget of `generate`


def _roomy(tokenizer: Any, width: int) -> Callable[[], Any]:
    return _schemagen(tokenizer, width, TAGS, max_new_tokens=None)


class Copy(LogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Copies the logits and masks nothing: the least cost of a processor that does not overwrite them."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return a copy."""
        del input_ids
        return scores.clone()


def _copy(tokenizer: Any, width: int) -> Callable[[], Any]:
    del tokenizer, width
    return Copy


def _xgrammar(tokenizer: Any, width: int) -> Callable[[], Any]:
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor as Theirs

    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=width)
    compiled = xgrammar.GrammarCompiler(info, max_threads=1).compile_json_schema(
        json.dumps(schema()), any_whitespace=False, separators=(",", ":")
    )
    return lambda: Theirs(compiled)


def _outlines(tokenizer: Any, width: int) -> Callable[[], Any]:
    import outlines_core
    from outlines.backends.outlines_core import OutlinesCoreLogitsProcessor
    from outlines_core.json_schema import build_regex_from_schema

    # Its own reader asks the hub for the tokenizer by name; the bytes of the tokens are the same.
    ids: dict[bytes, list[int]] = {}
    tokens = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size=width).tokens
    for token_id, data in enumerate(tokens):
        if data:
            ids.setdefault(data, []).append(token_id)
    vocabulary = outlines_core.Vocabulary(tokenizer.eos_token_id, ids)
    index = outlines_core.Index(build_regex_from_schema(json.dumps(schema()), ""), vocabulary)
    return lambda: OutlinesCoreLogitsProcessor(index, "torch")


class LlguidanceProcessor(LogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """llguidance in ``generate``: a matcher for each row, one mask for the batch.

    Args:
        tokenizer: An LLTokenizer.
        grammar: From ``LLMatcher.grammar_from_json_schema``.
    """

    def __init__(self, tokenizer: Any, grammar: str) -> None:
        self._tokenizer, self._grammar = tokenizer, grammar
        self._matchers: list[Any] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Take the last tokens, and mask in place."""
        import llguidance.torch as kernels
        from llguidance import LLMatcher

        if not self._matchers:
            start = LLMatcher(self._tokenizer, self._grammar, log_level=0)
            self._matchers = [start.deep_copy() for _ in range(len(input_ids))]
            self._bitmask = kernels.allocate_token_bitmask(len(input_ids), self._tokenizer.vocab_size)
        else:
            for matcher, token_id in zip(self._matchers, input_ids[:, -1].tolist(), strict=True):
                matcher.consume_token(token_id)
        for row, matcher in enumerate(self._matchers):
            kernels.fill_next_token_bitmask(matcher, self._bitmask, row)
        kernels.apply_token_bitmask_inplace(scores, self._bitmask.to(scores.device))
        return scores


def _llguidance(tokenizer: Any, width: int) -> Callable[[], Any]:
    import llguidance.hf

    made = llguidance.hf.from_tokenizer(tokenizer, n_vocab=width)
    compact = {"x-guidance": {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}}
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps({**schema(), **compact}))
    return lambda: LlguidanceProcessor(made, grammar)


#: Name -> what makes processors of a compiled grammar, and the modules it needs.
CONTENDERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "schemagen": (_schemagen, ()),
    "schemagen, inplace": (_inplace, ()),
    "schemagen, measure_mass": (_measured, ()),
    "schemagen, tight budget": (_tight, ()),
    "schemagen, the same without": (_roomy, ()),
    "copy": (_copy, ()),
    "llguidance": (_llguidance, ("llguidance",)),
    "xgrammar": (_xgrammar, ("xgrammar",)),
    "outlines": (_outlines, ("outlines", "outlines_core")),
}


def contenders(
    tokenizer: Any, width: int, asked: list[str] | None
) -> tuple[dict[str, Callable[[], Any]], dict[str, str]]:
    """Return those that can be measured, and why the others cannot."""
    found: dict[str, Callable[[], Any]] = {}
    skipped: dict[str, str] = {}
    for name in asked or CONTENDERS:
        make, modules = CONTENDERS[name]
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            skipped[name] = f"{' and '.join(missing)} not installed"
            continue
        try:
            found[name] = make(tokenizer, width)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
            skipped[name] = f"{type(error).__name__}: {error}"[:200]
    return found, skipped


# --- one step each in turn -------------------------------------------------------------------------------------------


@dataclass
class Runner:
    """A generation of one contender.

    Attributes:
        name: Of the contender.
        step_s: Seconds of each step.
        processor_s: Seconds of the processor in each step.
    """

    name: str
    step_s: list[float] = field(default_factory=list)
    processor_s: list[float] = field(default_factory=list)


class Turns:
    """Lets one of several threads run at a time, and the next one after each step.

    Args:
        names: The contenders.
        synchronise: Waits for the device.
    """

    def __init__(self, names: list[str], synchronise: Callable[[], Any]) -> None:
        self._condition = threading.Condition()
        self._synchronise = synchronise
        self._waiting = set(names)
        self._all = list(names)
        self._order = list(names)
        self._round = 0

    def take(self, name: str) -> None:
        """Wait for the turn of a contender."""
        with self._condition:
            self._condition.wait_for(lambda: bool(self._order) and self._order[0] == name)

    def give(self, name: str, *, last: bool = False) -> None:
        """End the turn of a contender; after its last one it gets no more."""
        self._synchronise()
        with self._condition:
            if last:
                self._all.remove(name)
            self._order.remove(name)
            if not self._order and self._all:
                self._round += 1
                shift = self._round % len(self._all)
                self._order = [*self._all[shift:], *self._all[:shift]]
            self._condition.notify_all()


class StepEnd(StoppingCriteria):  # type: ignore[misc]  # transformers publishes no types
    """Ends a step: notes its time, and waits for the next turn. It never stops the generation."""

    def __init__(self, turns: Turns, runner: Runner, synchronise: Callable[[], Any]) -> None:
        self._turns, self._runner, self._synchronise = turns, runner, synchronise
        self._started = clock()

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        """Return False for each row."""
        del scores
        self._synchronise()
        self._runner.step_s.append(clock() - self._started)
        self._turns.give(self._runner.name)
        self._turns.take(self._runner.name)
        self._started = clock()
        return torch.zeros(len(input_ids), dtype=torch.bool, device=input_ids.device)


class Timed(LogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """A processor, and its time."""

    def __init__(self, inner: Any, runner: Runner, synchronise: Callable[[], Any]) -> None:
        self._inner, self._runner, self._synchronise = inner, runner, synchronise

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Call it."""
        self._synchronise()
        started = clock()
        masked: torch.Tensor = self._inner(input_ids, scores)
        self._synchronise()
        self._runner.processor_s.append(clock() - started)
        return masked


def race(model: Any, prompts: torch.Tensor, makers: dict[str, Callable[[], Any] | None], steps: int) -> list[Runner]:
    """Run the generations of all contenders, a step of each in turn.

    Args:
        model: For all of them.
        prompts: int64 [B, T].
        makers: Processors by name; None for the generation without.
        steps: Of each generation, those of the warm-up included.
    """
    synchronise = torch.cuda.synchronize if prompts.device.type == "cuda" else _nothing
    turns = Turns(list(makers), synchronise)
    failures: list[BaseException] = []

    def run(runner: Runner, make: Callable[[], Any] | None) -> None:
        processors = [] if make is None else [Timed(make(), runner, synchronise)]
        turns.take(runner.name)
        try:
            model.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                max_new_tokens=steps,
                do_sample=False,
                eos_token_id=None,
                pad_token_id=0,
                logits_processor=processors,
                stopping_criteria=[StepEnd(turns, runner, synchronise)],
            )
        except BaseException as error:  # noqa: BLE001 - raised again below, the others must get their turns
            failures.append(error)
        finally:
            turns.give(runner.name, last=True)

    runners = [Runner(name) for name in makers]
    threads = [threading.Thread(target=run, args=(runner, makers[runner.name])) for runner in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return runners


def _nothing() -> None:
    """There is no device to wait for."""


# --- results ---------------------------------------------------------------------------------------------------------


def compare(runners: list[list[Runner]], batch: int) -> list[dict[str, Any]]:
    """Return a row for each contender: medians over the steps of all races."""
    rows = []
    for place, first in enumerate(runners[0]):
        steps = [runner for race_ in runners for runner in race_[place].step_s[WARM_UP:]]
        free = [runner for race_ in runners for runner in race_[0].step_s[WARM_UP:]]
        spent = [seconds for race_ in runners for seconds in race_[place].processor_s[WARM_UP:]]
        pairs = [without / with_ for without, with_ in zip(free, steps, strict=True)]
        processor = statistics.median(spent) if spent else 0.0
        rows.append(
            {
                "batch": batch,
                "processor": first.name,
                "steps": len(steps),
                "tokens_per_s": round(batch / statistics.median(steps), 2),
                "step_ms": round(statistics.median(steps) * 1e3, 3),
                "processor_ms": round(processor * 1e3, 3),
                "ratio": round(statistics.median(pairs), 4),
                "ratio_quartiles": [round(harness.percentile(pairs, percent), 4) for percent in (25, 75)],
            }
        )
    return rows


def measure(
    model: Any, tokenizer: Any, options: Any, progress: Progress, name: str
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the rows of one model, and who was skipped."""
    width = model.get_output_embeddings().out_features
    found, skipped = contenders(tokenizer, width, options.processors)
    for who, why in skipped.items():
        progress.console.print(f"skipped: {who}: {why}")
    makers: dict[str, Callable[[], Any] | None] = {FREE: None, **found}
    rows = []
    generator = torch.Generator().manual_seed(options.seed)
    task = progress.add_task(name, total=len(options.batches) * options.repeats)
    for batch in options.batches:
        races = []
        for _ in range(options.repeats):
            prompts = torch.randint(0, len(tokenizer), (batch, PROMPT_TOKENS), generator=generator)
            races.append(race(model, prompts.to(options.device), makers, options.steps + WARM_UP))
            progress.advance(task)
        rows += compare(races, batch)
    return rows, skipped


def random_llama(width: int, options: Any) -> Any:
    """Return a Llama with random weights; embeddings and head share theirs."""
    torch.manual_seed(options.seed)
    config = LlamaConfig(
        vocab_size=width,
        hidden_size=options.hidden,
        intermediate_size=options.hidden * 3,
        num_hidden_layers=options.layers,
        num_attention_heads=options.hidden // 64 or 1,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval().to(options.device)


def bundled(options: Any) -> tuple[Any, Any]:
    """Return the bundled model and its tokenizer."""
    lm = schemagen.load_bundled()
    return lm.model.to(options.device), lm.tokenizer


def _folder_name(path: Path) -> str:
    return path.name


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark with the given options."""
    made = harness.parser(__doc__, "decode_overhead")
    made.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    made.add_argument("--steps", type=int, default=32, help="steps of a generation that count")
    made.add_argument("--repeats", type=int, default=3, help="generations of each contender")
    made.add_argument("--hidden", type=int, default=1024, help="width of the random model")
    made.add_argument("--layers", type=int, default=8, help="layers of the random model")
    made.add_argument("--threads", type=int, default=1, help="threads of torch")
    made.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    made.add_argument("--processors", nargs="+", choices=CONTENDERS)
    options = made.parse_args(arguments)
    torch.set_num_threads(options.threads)
    tokenizer = harness.load_tokenizer(options.tokenizer)
    random, small = random_llama(len(tokenizer), options), bundled(options)
    models = {
        f"random Llama, {_folder_name(options.tokenizer)} vocabulary": (random, tokenizer),
        "bundled": small,
    }
    results: dict[str, Any] = {}
    with Progress() as progress:
        for name, (model, its_tokenizer) in models.items():
            rows, skipped = measure(model, its_tokenizer, options, progress, name)
            results[name] = {
                "parameters": sum(weight.numel() for weight in model.parameters()),
                "vocabulary": model.get_output_embeddings().out_features,
                "rows": rows,
                "skipped": skipped,
            }
            for row in rows:
                progress.console.print(
                    f"{name}, batch {row['batch']}, {row['processor']}: {row['tokens_per_s']:.1f} tokens/s, "
                    f"ratio {row['ratio']:.3f}, processor {row['processor_ms']:.3f} ms"
                )
    settings = {
        "tokenizer": options.tokenizer.name,
        "steps": options.steps,
        "repeats": options.repeats,
        "seed": options.seed,
        "threads": options.threads,
        "device": torch.cuda.get_device_name() if options.device == "cuda" else options.device,
        "hidden": options.hidden,
        "layers": options.layers,
    }
    harness.write_result(options.out, "decode_overhead", settings, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())

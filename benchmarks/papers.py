"""The tables and figures of the papers again, with a small model.

    make real-model
    python benchmarks/papers.py --count 20 --threads 2                    # all parts, about 40 minutes on two cores
    python benchmarks/papers.py --parts speculation constant --count 5
    PYTHONPATH=path/to/peers python benchmarks/papers.py                  # with xgrammar and llguidance

    accuracy      DOMINO, table 2: right answers, well-formed texts, perplexity and throughput by method, k = 0, 1, infinity
    throughput    DOMINO, table 3: five grammars, with and without speculation and masks on refusal
    speculation   DOMINO, figure 5: throughput by the number of proposed tokens, with a schema and without
    constant      Willard & Louf, figure 2: time of a mask by the length of the text, and of trying every token from the start
    compiling     Koo et al.: how long their expressions take to compile, and how many states JSON without a schema has

The compared methods take turns, prompt by prompt. The papers used models of 7 and 13 billion parameters on data-centre GPUs;
here it is a model of 0.1 billion on a CPU, so compare the order of the numbers, not their size.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import harness
from harness import clock
from lookahead import LookaheadGrammar
from real_methods import METHODS as PEERS
from tasks import TASKS

import schemagen
from schemagen import Template, gen
from schemagen.decode.generate import decode, finish, inputs_of
from schemagen.decode.speculation.memories import counts_of, memory_of_model
from schemagen.evaluation.scoring import fields_right, wilson
from schemagen.grammar.lenient_json import first_object
from schemagen.lm import Speculation
from schemagen.lm.scoring import perplexity
from schemagen.prompts.messages import as_messages, render, with_shape
from schemagen.request.settings import token_ids_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from tasks import Example, Task

TOKEN_BY_TOKEN = Speculation(max_draft=0)
COUNTS = Speculation(prompt_lookup=False)
OPPORTUNISTIC = Speculation(max_draft=0, opportunistic=True)


@dataclass(slots=True)
class Answer:
    """A written text.

    Attributes:
        text: Without EOS.
        token_ids: EOS included if it was written.
        seconds: The time it took.
    """

    text: str
    token_ids: list[int]
    seconds: float


class Ways:
    """Ways to write a text after a prompt.

    Args:
        lm: The model.
    """

    def __init__(self, lm: Any) -> None:
        self.lm = lm

    def free(self, prompt: tuple[int, ...], most: int, processors: Sequence[Any] = (), **options: Any) -> Answer:
        """``generate`` of transformers, with logits processors or without."""
        ends = list(self.lm.vocabulary.eos_token_ids)
        inputs = inputs_of([prompt], ends[0], self.lm.model.device)
        options = {"do_sample": False, "max_new_tokens": most, "eos_token_id": ends, "pad_token_id": ends[0], **options}
        started = clock()
        output = self.lm.model.generate(**inputs, logits_processor=list(processors), **options)
        seconds = clock() - started
        token_ids = output[0, len(prompt) :].tolist()
        return Answer(self.lm.tokenizer.decode(token_ids, skip_special_tokens=True), token_ids, seconds)

    def processor(self, grammar: Any, prompt: tuple[int, ...], most: int, **options: Any) -> Answer:
        """Our logits processor."""
        answer = self.free(prompt, most, [schemagen.LogitsProcessor(grammar)], **options)
        return replace(answer, text=finish(grammar, answer.token_ids, {})[0]) if not options else answer

    def ahead(
        self, grammar: Any, speculation: Speculation, prompt: tuple[int, ...], most: int, **options: Any
    ) -> Answer:
        """Our own loop."""
        inputs = inputs_of([prompt], 0, self.lm.model.device)
        started = clock()
        found = decode(self.lm.model, inputs, grammar, speculation=speculation, max_new_tokens=most, **options)
        return Answer(found.text, list(found.token_ids), clock() - started)

    def peer(self, name: str, task: Task) -> Callable[[tuple[int, ...], int], Answer]:
        """The processor of another library."""
        made = PEERS[name][0](name, self.lm)
        maker = made._compiler(self.lm, task.schema)  # noqa: SLF001 - of this folder
        return lambda prompt, most: self.free(prompt, most, [maker()])


def prompt_of(lm: Any, question: str | list[dict[str, str]], schema: Any = None) -> tuple[int, ...]:
    """Return the tokens of a question, with the shape of the answer."""
    messages = as_messages(question) if schema is None else with_shape(as_messages(question), schema)
    text, templated = render(lm.tokenizer, messages, chat_template=True)
    return token_ids_of(lm, text, templated=templated)


# --- DOMINO, table 2 -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Row:
    """The answers of a method."""

    right: list[float] = field(default_factory=list)
    formed: int = 0
    perplexities: list[float] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0


def template_of(task: Task) -> Template:
    """Return the JSON of a type as fixed text with holes, as a program of Guidance has it."""
    parts, holes = [], {}
    for name, field_ in task.spec.model_fields.items():
        is_text = field_.annotation not in (int, float, bool)
        parts.append(f'"{name}": "{{{name}}}"' if is_text else f'"{name}": {{{name}}}')
        holes[name] = gen(regex=r'[^"\\\n]{0,200}') if is_text else field_.annotation
    return Template("{{" + ", ".join(parts) + "}}", **holes)


def accuracy(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return table 2 for the tasks."""
    found: dict[str, Any] = {}
    for name in options.tasks:
        task, ways = TASKS[name], Ways(lm)
        exact = lm.compile(task.schema)
        methods: dict[str, Any] = {
            "unconstrained": ways.free,
            "template": partial(ways.ahead, lm.compile(template_of(task)), Speculation()),
            **{f"k = {k}": partial(ways.processor, LookaheadGrammar(exact, k)) for k in (0, 1)},
            "k = inf": partial(ways.processor, exact),
            "k = inf, speculation": partial(ways.ahead, exact, Speculation()),
            **{peer: ways.peer(peer, task) for peer in options.peers},
        }
        rows = {method: Row() for method in methods}
        for turn, example in enumerate(task.examples("test", options.count, seed=options.seed)):
            prompt = prompt_of(lm, task.chat(example.prompt), task.schema)
            order = list(methods)[turn % len(methods) :] + list(methods)[: turn % len(methods)]
            for method in order:
                _count(lm, rows[method], task, example, prompt, methods[method](prompt, task.max_new_tokens))
        base = rows["unconstrained"]
        found[name] = {method: _row(row, base) for method, row in rows.items()}
        for method, row in found[name].items():
            print(name, method, {key: value for key, value in row.items() if key != "right_interval"}, flush=True)
    return found


def _count(lm: Any, row: Row, task: Task, example: Example, prompt: tuple[int, ...], answer: Answer) -> None:
    """Add an answer."""
    try:
        value, formed = json.loads(answer.text), True
    except ValueError:
        value, formed = first_object(answer.text), False
    shares = fields_right(value, example.answer, task.uncounted)
    row.right.append(sum(shares.values()) / len(shares))
    row.formed += formed
    row.tokens += len(answer.token_ids)
    row.seconds += answer.seconds
    if answer.token_ids:
        row.perplexities.append(perplexity(lm.model, prompt, answer.token_ids))


def _row(row: Row, base: Row) -> dict[str, Any]:
    count = len(row.right)
    return {
        "right": statistics.mean(row.right),
        "right_interval": list(wilson(sum(row.right), count)),
        "well_formed": row.formed / count,
        "perplexity": statistics.mean(row.perplexities),
        "tokens": row.tokens / count,
        "throughput": (row.tokens / row.seconds) / (base.tokens / base.seconds),
        "seconds_per_answer": row.seconds / count,
    }


# --- DOMINO, table 3 and figure 5 ------------------------------------------------------------------------------------

#: The requests, for as many things as there are turns.
_QUESTIONS = {
    "JSON (no schema)": "Describe {} as JSON.",
    "C": "Write a C function that works with {}.",
    "XML (schema)": "Solve: {} and 4 more.",
}
_THINGS = (
    *(
        "a person",
        "a book",
        "a car",
        "a house",
        "a city",
        "a song",
        "a river",
        "a tree",
        "a shop",
        "a flight",
        "a recipe",
    ),
    *(
        "an editor",
        "an order",
        "an animal",
        "a planet",
        "a game",
        "a film",
        "a lamp",
        "a school",
        "a train",
        "a garden",
    ),
)


def grammars(lm: Any, turns: int) -> dict[str, tuple[Any, list[tuple[int, ...]]]]:
    """Return the five grammars, with a prompt for each turn."""
    arithmetic = TASKS["arithmetic"]
    problems = [example.prompt for example in arithmetic.examples("test", turns)]
    specs: dict[str, Any] = {
        "JSON (no schema)": lm.compile(schemagen.Json()),
        "JSON (schema)": lm.compile(arithmetic.schema),
        "C": lm.compile(schemagen.Lark(harness.ROOT / "examples" / "grammars" / "c.lark")),
        "XML (schema)": lm.compile(arithmetic.spec, as_="xml"),
        "template": lm.compile(template_of(arithmetic)),
    }
    found = {}
    for name, grammar in specs.items():
        question = _QUESTIONS.get(name)
        asked = problems if question is None else [question.format(_THINGS[t % len(_THINGS)]) for t in range(turns)]
        found[name] = (
            grammar,
            [prompt_of(lm, each, arithmetic.schema if question is None else None) for each in asked],
        )
    return found


class Prior:
    """The counts that drafts learnt before the measurement; no measurement teaches the next one anything.

    Args:
        lm: The model.
        grammar: The grammar of its texts.
    """

    def __init__(self, lm: Any, grammar: Any) -> None:
        self._lm, self._grammar = lm, grammar
        self._saved = [dict(each) for each in self._kept()]

    def _kept(self) -> list[Any]:
        model = memory_of_model(self._lm.model, self._grammar.vocabulary)
        return [each._counts for each in (model.counts, model.ends, counts_of(self._grammar))]  # noqa: SLF001

    def restore(self) -> None:
        """Forget everything learnt since."""
        for kept, saved in zip(self._kept(), self._saved, strict=True):
            kept.clear()
            kept.update({key: dict(counts) for key, counts in saved.items()})


def _rates(
    lm: Any, options: argparse.Namespace, grammar: Any, prompts: Any, methods: Any, free: Any
) -> dict[str, float]:
    """Return tokens per second of each method to those without a constraint; drafts are learnt from the first prompts."""
    sums: dict[str, list[float]] = {method: [0.0, 0.0] for method in ("unconstrained", *methods)}
    for prompt in prompts[: options.warm]:
        list(methods.values())[-1](prompt, options.tokens, -1)
    prior = Prior(lm, grammar)
    for turn, prompt in enumerate(prompts[options.warm :]):
        for method, write in {"unconstrained": free, **methods}.items():
            prior.restore()
            answer = write(prompt, options.tokens, turn)
            sums[method][0] += len(answer.token_ids)
            sums[method][1] += answer.seconds
    speeds = {method: tokens / seconds for method, (tokens, seconds) in sums.items()}
    return {method: round(speed / speeds["unconstrained"], 3) for method, speed in speeds.items()}


def throughput(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return table 3: tokens per second to those of ``generate`` without a constraint, sampled at temperature 1."""
    ways, found = Ways(lm), {}
    sampled = {"do_sample": True, "temperature": 1.0, "top_k": 0}
    for name, (grammar, prompts) in grammars(lm, options.warm + options.count).items():
        chosen = {
            "token by token": TOKEN_BY_TOKEN,
            "masks on refusal": OPPORTUNISTIC,
            "counts": COUNTS,
            "all drafts": Speculation(),
        }
        methods: dict[str, Any] = {
            "processor": lambda prompt, most, _, grammar=grammar: ways.processor(grammar, prompt, most, **sampled),
            **{
                method: lambda prompt, most, turn, grammar=grammar, speculation=speculation: ways.ahead(
                    grammar, speculation, prompt, most, seed=turn + 1, **sampled
                )
                for method, speculation in chosen.items()
            },
        }
        free = partial(_ignoring_turn, ways.free, **sampled)
        found[name] = _rates(lm, options, grammar, prompts, methods, free)
        print(name, found[name], flush=True)
    return found


def _ignoring_turn(write: Any, prompt: tuple[int, ...], most: int, _: int, **options: Any) -> Answer:
    answer: Answer = write(prompt, most, **options)
    return answer


def speculation(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return figure 5: throughput by s, the most tokens that are proposed at a time from counts alone."""
    ways, found = Ways(lm), {}
    for name, (grammar, prompts) in grammars(lm, options.warm + options.count).items():
        if not name.startswith("JSON"):
            continue
        methods: dict[str, Any] = {
            str(s): partial(_ignoring_turn, partial(ways.ahead, grammar, replace(COUNTS, max_draft=s)))
            for s in options.lengths
        }
        free = partial(_ignoring_turn, ways.free)
        found[name] = _rates(lm, options, grammar, prompts, methods, free)
        print(name, found[name], flush=True)
    return found


# --- Willard & Louf, figure 2; Koo et al. ----------------------------------------------------------------------------


def constant(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return microseconds of a mask after texts of some lengths, by the index and by trying all tokens from the start."""
    import interegular

    pattern = r"[a-z ]{1,2000}\."
    vocabulary = lm.vocabulary
    grammar = schemagen.compile(schemagen.Regex(pattern), vocabulary, cache=None)
    fsm = interegular.parse_pattern(pattern.replace("2000", "300")).to_fsm()
    words = schemagen.allocate_token_bitmask(1, vocabulary.size)
    tokens = [data.decode("utf-8", "replace") for data in vocabulary.tokens if data]
    found: dict[str, Any] = {}
    for length in options.positions:
        text = ("all good things " * 200)[:length]
        matcher = grammar.matcher()
        matcher.accept_bytes(text.encode())
        indexed = min(harness.seconds(partial(matcher.fill_next_token_bitmask, words, 0)) for _ in range(20))
        naive = harness.seconds(partial(_try_all, fsm, text, tokens[:: options.every]))
        found[str(length)] = {"index_us": indexed * 1e6, "from_the_start_us": naive * options.every * 1e6}
        print(length, found[str(length)], flush=True)
    return found


def _try_all(fsm: Any, text: str, tokens: Sequence[str]) -> int:
    """Return how many tokens may follow a text, each tried from the start of it."""
    return sum(_lives(fsm, text + token) for token in tokens)


def _lives(fsm: Any, text: str) -> bool:
    """Whether some text of an automaton begins so."""
    state = fsm.initial
    for character in text:
        symbol = fsm.alphabet[character]
        state = fsm.map.get(state, {}).get(symbol)
        if state is None:
            return False
    return bool(fsm.islive(state))


#: Expressions that Koo et al. name, and others of their kinds.
_EXPRESSIONS = {
    "a multiple-choice answer": "(A|B|C|D)",
    "an ISO 8601 date": r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d([+-][0-2]\d:[0-5]\d|Z)",
    "quoted text": "(?P<QUOTED_TEXT>)",
    "a list": "(?P<DELIMITED_LIST>, |[0-9]+)",
    "text up to a stop": "(?P<TEXT_UNTIL>END)",
}


def compiling(lm: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Return milliseconds of compiling, with the first mask, on the vocabulary of the model."""
    specs: dict[str, Any] = {name: schemagen.Regex(pattern) for name, pattern in _EXPRESSIONS.items()}
    specs |= {f"JSON of depth {depth}": schemagen.Json(max_depth=depth, unique_keys=False) for depth in (0, 1, 2)}
    specs["JSON"] = schemagen.Json()
    words, found = schemagen.allocate_token_bitmask(1, lm.vocabulary.size), {}
    schemagen.compile(schemagen.Regex("warm|up"), lm.vocabulary, cache=None).matcher().allowed_tokens()
    for name, spec in specs.items():
        times = []
        for _ in range(max(3, options.count // 4)):
            started = clock()
            grammar = schemagen.compile(spec, lm.vocabulary, cache=None)
            grammar.matcher().fill_next_token_bitmask(words, 0)
            times.append(clock() - started)
        found[name] = {"first_ms": times[0] * 1e3, "ms": statistics.median(times) * 1e3}
        print(name, found[name], flush=True)
    return found


PARTS: dict[str, Any] = {
    "accuracy": accuracy,
    "throughput": throughput,
    "speculation": speculation,
    "constant": constant,
    "compiling": compiling,
}


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    made = harness.parser(__doc__, "papers")
    harness.model_options(made)
    made.add_argument("--parts", nargs="*", choices=list(PARTS), default=list(PARTS))
    made.add_argument("--tasks", nargs="*", choices=list(TASKS), default=["arithmetic", "extraction_5"])
    made.add_argument("--peers", nargs="*", choices=["xgrammar", "llguidance", "outlines"], default=[])
    made.add_argument("--count", type=int, default=12, help="prompts of each part")
    made.add_argument("--warm", type=int, default=3, help="prompts before, from which drafts are learnt")
    made.add_argument("--tokens", type=int, default=64, help="maximum tokens of a text for the throughput")
    made.add_argument("--lengths", nargs="*", type=int, default=[0, 1, 2, 4, 6, 8, 10, 12])
    made.add_argument("--positions", nargs="*", type=int, default=[10, 30, 100, 200, 290])
    made.add_argument("--every", type=int, default=50, help="the slow way tries one token out of this many")
    return made.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Measure the parts, and write the result after each."""
    options = parsed(arguments)
    lm = harness.load_model(options)
    lm.generate_text("Hello", max_new_tokens=8)
    before = json.loads(options.out.read_text(encoding="utf-8"))["results"] if options.out.is_file() else {}
    settings = {"model": options.label, "count": options.count, "threads": options.threads, "seed": options.seed}
    for part in options.parts:
        before[part] = PARTS[part](lm, options)
        before.setdefault("counts", {})[part] = options.count
        before.setdefault("commits", {})[part] = harness.commit()
        harness.write_result(options.out, "papers", settings, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())

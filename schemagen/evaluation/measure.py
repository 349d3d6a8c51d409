"""Answering examples with the constraint and without it, and counting the right fields.

Both ways send the model the same text: the question with the rendering of the schema. Answers without the constraint are read
leniently (`schemagen.grammar.lenient_json`), so that the comparison is about answers and not about punctuation. The ways take
turns, example by example, and alternate in which goes first.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.errors import GenerationError
from schemagen.evaluation.scoring import fields_right, paired, wilson
from schemagen.grammar.lenient_json import first_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.language_model import LanguageModel

CONSTRAINED, FREE = "constrained", "unconstrained"


@dataclass(frozen=True, slots=True)
class Example:
    """A question and its right answer.

    Attributes:
        prompt: A text, or a chat.
        expected: The answer as JSON; a text if the spec is not one of JSON.
    """

    prompt: Any
    expected: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a model.

    Attributes:
        text: The whole answer.
        value: The value read from it as JSON; None if it has none.
        valid: Whether the unchanged text is a value of the spec.
        tokens: The number of its tokens.
        seconds: The time it took.
        masked_mass: As in `Generation`; None without a constraint.
        distortion: As in `Generation`; None without a constraint.
    """

    text: str
    value: Any
    valid: bool
    tokens: int
    seconds: float
    masked_mass: float | None = None
    distortion: float | None = None


@dataclass(slots=True)
class WayResult:
    """The answers of one way.

    Attributes:
        answers: One for each example.
        right: For each example, whether each field of its right answer is right.
    """

    answers: list[Answer] = field(default_factory=list)
    right: list[dict[str, bool]] = field(default_factory=list)

    def add(self, answer: Answer, right: dict[str, bool]) -> None:
        """Count an answer."""
        self.answers.append(answer)
        self.right.append(right)

    @property
    def count(self) -> int:
        """The number of answers."""
        return len(self.answers)

    @property
    def valid(self) -> int:
        """The number of answers whose unchanged text is a value of the spec."""
        return sum(answer.valid for answer in self.answers)

    @property
    def exact(self) -> int:
        """The number of answers with every field right."""
        return sum(all(fields.values()) for fields in self.right)

    @property
    def shares(self) -> list[float]:
        """The share of right fields, by example."""
        return [sum(fields.values()) / len(fields) for fields in self.right]

    @property
    def masked_mass(self) -> float | None:
        """The mean probability that the constraint took away per token; None if no answer has one."""
        return _mean([answer.masked_mass for answer in self.answers])

    @property
    def distortion(self) -> float | None:
        """The mean distortion of an answer in nats; None if no answer has one."""
        return _mean([answer.distortion for answer in self.answers])

    @property
    def tokens_per_second(self) -> float:
        """Tokens per second over all answers except the first, which includes one-time work."""
        counted = self.answers[1:] or self.answers
        seconds = sum(answer.seconds for answer in counted)
        return sum(answer.tokens for answer in counted) / seconds if seconds else 0.0

    @property
    def seconds_per_answer(self) -> float:
        """Seconds per answer over all answers except the first."""
        counted = self.answers[1:] or self.answers
        return sum(answer.seconds for answer in counted) / len(counted)

    def summary(self) -> dict[str, Any]:
        """Return the figures; shares have their intervals."""
        shares = self.shares
        return {
            "count": self.count,
            "valid": [self.valid / self.count, *wilson(self.valid, self.count)],
            "fields": [sum(shares) / self.count, *wilson(sum(shares), self.count)],
            "exact": [self.exact / self.count, *wilson(self.exact, self.count)],
            "masked_mass": self.masked_mass,
            "distortion": self.distortion,
            "tokens_per_second": self.tokens_per_second,
            "seconds_per_answer": self.seconds_per_answer,
            "first_seconds": self.answers[0].seconds,
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of `evaluate`.

    Attributes:
        examples: The examples.
        ways: The results by way: "constrained", and "unconstrained" if requested.
    """

    examples: Sequence[Example]
    ways: Mapping[str, WayResult]

    def difference(self) -> tuple[float, float, float] | None:
        """Return the gain in the share of right fields by the constraint, and its 95 % interval; None if only one way ran."""
        if len(self.ways) < 2:
            return None
        with_it, without = (dict(enumerate(self.ways[name].shares)) for name in (CONSTRAINED, FREE))
        return paired(with_it, without)


def evaluate(
    lm: LanguageModel,
    spec: Any,
    examples: Iterable[Example],
    *,
    unconstrained: bool = True,
    ignored: Iterable[str] = (),
    told: Callable[[], object] = lambda: None,
    **options: Any,
) -> Evaluation:
    """Have a model answer examples, one by one, and count the right fields.

    Args:
        lm: The model.
        spec: As for `LanguageModel.run`.
        examples: Questions with right answers.
        unconstrained: Whether to ask the model without the constraint, too.
        ignored: Fields that do not count, such as ``reasoning``.
        told: Called after each example.
        options: As for `LanguageModel.run`: ``max_new_tokens``, ``show_schema``, ...

    Raises:
        SchemaError: The spec cannot be compiled.
        OptionError: An option has a value that it cannot have.
    """
    grammar = lm.compile(spec)
    asked = list(examples)
    ways: dict[str, Callable[[Any], Answer]] = {CONSTRAINED: lambda prompt: _constrained(lm, prompt, grammar, options)}
    if unconstrained:
        ways[FREE] = lambda prompt: _free(lm, prompt, grammar, options)
    names = list(ways)
    results = {name: WayResult() for name in names}
    for number, example in enumerate(asked):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            answer = ways[name](example.prompt)
            results[name].add(answer, fields_right(answer.value, example.expected, frozenset(ignored)))
        told()
    return Evaluation(asked, results)


def _constrained(lm: LanguageModel, prompt: Any, grammar: Grammar, options: Mapping[str, Any]) -> Answer:
    started = time.perf_counter()
    try:
        found = lm.run(prompt, grammar, **options)
    except GenerationError as error:
        return Answer(
            error.text, _read(error.text, grammar), valid=False, tokens=0, seconds=time.perf_counter() - started
        )
    seconds = time.perf_counter() - started
    return Answer(
        found.text,
        _read(found.text, grammar),
        valid=True,
        tokens=found.new_tokens,
        seconds=seconds,
        masked_mass=found.masked_mass,
        distortion=found.distortion,
    )


def _free(lm: LanguageModel, prompt: Any, grammar: Grammar, options: Mapping[str, Any]) -> Answer:
    from schemagen.decode.generate import decode_freely, inputs_of
    from schemagen.request.settings import token_ids_of

    shown = {name: options[name] for name in ("show_schema", "chat_template") if name in options}
    decoding = {name: value for name, value in options.items() if name not in {*shown, "retries", "draft", "reasoning"}}
    started = time.perf_counter()
    text = lm.render(prompt, grammar, **shown)
    templated = bool(shown.get("chat_template", True) and getattr(lm.tokenizer, "chat_template", None))
    inputs = inputs_of([token_ids_of(lm, text, templated=templated)], 0, lm.model.device)
    token_ids = decode_freely(lm.model, inputs, **decoding)
    written = str(lm.tokenizer.decode(token_ids, skip_special_tokens=True))
    seconds = time.perf_counter() - started
    return Answer(written, _read(written, grammar), _is_valid(written, grammar), len(token_ids), seconds)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _is_valid(text: str, grammar: Grammar) -> bool:
    """Whether a text is a value of the spec; surrounding whitespace is ignored, and any layout that JSON allows is valid."""
    from jsonschema.validators import validator_for

    try:
        grammar.validate(text.strip())
        if grammar.schema is None:
            return _is_text_of(grammar, text.strip())
        value = json.loads(text)
    except (GenerationError, ValueError, RecursionError):
        return False
    return bool(validator_for(grammar.schema)(grammar.schema).is_valid(value))


def _is_text_of(grammar: Grammar, text: str) -> bool:
    matcher = grammar.matcher()
    return all(matcher.accept_bytes(bytes([byte])) for byte in text.encode()) and matcher.is_accepting()


def _read(text: str, grammar: Grammar) -> Any:
    """Return the value of a text: JSON, leniently, or the text itself if the spec is not one of JSON."""
    if grammar.schema is None:
        return text.strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return first_object(text)

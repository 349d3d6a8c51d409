"""Many prompts, with a value or a failure for each: all at once for `batch`, one window after the other for `map`.

Within a window rows are sorted by length and share batches, so a window should be several batches. An interrupted job
loses one window, so a window should be short. The first window is small. Each later one has as many rows as should take
about twenty seconds, estimated from the window before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import index as index_of
from typing import TYPE_CHECKING, Any, SupportsIndex

from schemagen.checks import check_count, check_seed, kind_of
from schemagen.errors import GenerationError, LogitsError, OptionError, SchemagenError, ValidationFailed
from schemagen.generation import Failure, Generation
from schemagen.lm.progress import ProgressBar
from schemagen.request.answer_request import AnswerForm, AnswerRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.decode.batch import Row
    from schemagen.decode.generate import Decoded
    from schemagen.grammar.grammar import Grammar
    from schemagen.request.attempts import Prepared
    from schemagen.request.settings import ModelAccess, Settings

#: Batches in the first window of `map`: enough rows to sort by length.
_BATCHES = 8
#: Rows of the first window of `map`, and of the largest, if no batch size is given.
_FIRST, _MOST = 64, 4096
#: Seconds that a window should take: less than half a minute even if its rows are half as long again.
_GOAL_S = 20.0
#: A window is at most this many times as large as the one before.
_GROWTH = 4


@dataclass(frozen=True, slots=True)
class Batch:
    """The settings that the rows of a batch share.

    Attributes:
        settings: The model and the options; each row has its own seed.
        form: The layout of the answers, and their description in the prompts.
        batch_size: Rows that the model works on at a time; None for as many as fit.
        told: Called with the number of rows that the model works on at a time, once it is chosen.

    Raises:
        OptionError: The size is not a whole number above 0.
    """

    settings: Settings
    form: AnswerForm = field(default_factory=AnswerForm)
    batch_size: int | None = None
    told: Callable[[int], object] | None = None

    def __post_init__(self) -> None:
        """Refuse an invalid size."""
        if self.batch_size is not None:
            check_count("batch_size", self.batch_size)

    @classmethod
    def of_call(
        cls, lm: ModelAccess, options: Mapping[str, Any], names: frozenset[str]
    ) -> tuple[Batch, dict[str, Any]]:
        """Read the options of a call: a batch, and the options of its rows (``seed``, ``window``, ``progress``).

        Raises:
            OptionError: As `AnswerForm.of_call`, or the size is invalid.
        """
        own: dict[str, Any] = {
            name: options[name] for name in ("seed", "window", "progress") if name in names and name in options
        }
        rest = {name: value for name, value in options.items() if name not in own and name != "batch_size"}
        settings, form = AnswerForm.of_call(lm, rest, names)
        return cls(settings, form, options.get("batch_size")), own


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a batch.

    Attributes:
        index: The index of the row, from 0.
        prompt: The prompt as it was given.
        seed: The seed of sampling.
    """

    index: int
    prompt: Any
    seed: int | None


class WindowSize:
    """How many rows the next window has: as many as take about twenty seconds, by the time of the last one.

    Args:
        batch_size: Rows that the model works on at a time, and the fewest of a window; None for the default.
        rows: Rows of every window, whatever it takes; None for a size by time.
        first: Rows of the first window; None for the fewest.

    Attributes:
        rows: Rows of the next window.

    Raises:
        OptionError: A number is not a whole number above 0.
    """

    def __init__(self, batch_size: int | None = None, rows: int | None = None, *, first: int | None = None) -> None:
        self._fixed = rows is not None
        self._fewest = batch_size or 1
        self.rows = check_count("window", rows) if rows is not None else first or self._fewest
        self._most = max(_MOST, self.rows)

    def took(self, seconds: float) -> None:
        """Choose the size of the next window from the time of this one."""
        if not self._fixed:
            growth = min(_GROWTH, _GOAL_S / max(seconds, 0.001))
            self.rows = max(self._fewest, min(int(self.rows * growth), self._most))


def generate_batch(
    batch: Batch,
    prompts: Iterable[Any],
    spec: Any,
    *,
    seed: int | Sequence[int] | None = None,
    progress: bool | None = None,
    first: int = 0,
) -> list[Generation[Any] | Failure]:
    """Return the generation or failure of every row, in the order of the prompts.

    Args:
        batch: The settings of the batch.
        prompts: As for `LanguageModel.batch`.
        spec: As for `LanguageModel.batch`.
        seed: As for `LanguageModel.batch`.
        progress: As for `LanguageModel.batch`.
        first: The number of the first row in failures.

    Raises:
        SchemagenError: As `LanguageModel.batch`.
    """
    given = prompts_of(prompts)
    grammars = _grammars(batch, spec, len(given))
    rows = [_Row(first + index, *row) for index, row in enumerate(zip(given, _seeds(seed, len(given)), strict=True))]
    found: dict[int, Generation[Any] | Failure] = {}
    with ProgressBar(len(rows), wanted=progress) as bar:
        for row, outcome in _outcomes(batch, rows, grammars):
            found[row.index] = outcome
            bar.advance(failed=int(isinstance(outcome, Failure)))
    return [found[row.index] for row in rows]


def prompts_of(prompts: Iterable[Any]) -> list[Any]:
    """Return the prompts of a batch.

    Raises:
        OptionError: It is a single prompt, or a mapping, whose keys would be treated as prompts.
    """
    found = list(check_prompts(prompts))
    if any(hasattr(prompt, "keys") for prompt in found):
        raise OptionError(
            "the prompts of a batch are messages of a single chat",
            why="a batch takes a list of prompts",
            fix="put the chat into a list of its own, or call lm(messages, spec)",
        )
    return found


def check_prompts(prompts: Any) -> Iterable[Any]:
    """Return the prompts unless they are a single prompt.

    Raises:
        OptionError: They are a single prompt, or a mapping, whose keys would be treated as prompts, or cannot be
            iterated over.
    """
    if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Iterable):
        raise OptionError(
            f"the prompts of a batch are a single {type(prompts).__name__}",
            why="a batch takes a list of prompts",
            fix="put it into a list, or call lm(prompt, spec)",
        )
    return prompts


def _grammars(batch: Batch, spec: Any, rows: int) -> list[Grammar | Exception]:
    """Return the grammar of every row, or the error of its spec.

    Args:
        batch: The settings of the batch.
        spec: One for all rows, or a list with one for each.
        rows: The number of rows.

    Raises:
        SchemagenError: The single spec cannot be compiled.
        OptionError: The list has another length, or it is one of texts, which is not a choice in a batch.
    """
    form, lm = batch.form, batch.settings.lm
    if not isinstance(spec, (list, tuple)):
        return [form.grammar(lm, spec)] * rows
    if spec and all(isinstance(each, str) for each in spec):
        raise OptionError(
            f"the specs of a batch are texts: {spec!r:.80}",
            why="in a batch a list is always one spec for each row",
            fix="for a choice in every row give schemagen.Choice([...]) or Literal[...]",
        )
    if len(spec) != rows:
        raise _uneven("specs", len(spec), rows)
    known: dict[int, Grammar | Exception] = {}
    for each in spec:
        if id(each) in known:
            continue
        try:
            known[id(each)] = form.grammar(lm, each)
        except Exception as error:  # noqa: BLE001 - types are code of the user, and there are few of them
            known[id(each)] = error
    return [known[id(each)] for each in spec]


def _seeds(seed: int | Sequence[int] | None, rows: int) -> list[int | None]:
    """Return the seed of every row: a list as it is, a number counted up.

    Raises:
        OptionError: The list has another length, or it is not a list of numbers.
    """
    if seed is None:
        return [None] * rows
    if isinstance(seed, SupportsIndex):
        first = index_of(seed)  # an int, or one of numpy
        return [check_seed(first + row) for row in range(rows)]
    if isinstance(seed, (str, bytes)) or not hasattr(seed, "__len__"):
        raise OptionError(
            f"seed={seed!r:.80}",
            why=f"it is {kind_of(seed)}",
            fix="give a whole number, or a list with one for each prompt",
        )
    if len(seed) != rows:
        raise _uneven("seeds", len(seed), rows)
    return [check_seed(each) for each in seed]


def _uneven(what: str, given: int, rows: int) -> OptionError:
    return OptionError(f"{given} {what} for {rows} prompts", fix=f"give one for all rows, or a list of {rows}")


def _outcomes(
    batch: Batch, rows: Sequence[_Row], grammars: Sequence[Grammar | Exception]
) -> Iterator[tuple[_Row, Generation[Any] | Failure]]:
    """Yield the rows with their generations or failures, as they are done."""
    asked: list[tuple[_Row, AnswerRequest]] = []
    for row, grammar in zip(rows, grammars, strict=True):
        first = _first_request(batch, row, grammar)
        if isinstance(first, Failure):
            yield row, first
        else:
            asked.append((row, first))
    while asked:
        again: list[tuple[_Row, AnswerRequest]] = []
        for row, request, decoded in _decoded(batch, asked):
            outcome = _completed(row, request, decoded)
            if isinstance(outcome, AnswerRequest):
                again.append((row, outcome))
            else:
                yield row, outcome
        asked = again


def _first_request(batch: Batch, row: _Row, grammar: Grammar | Exception) -> AnswerRequest | Failure:
    """Return the first request of a row; its failure if its type has no grammar, or its prompt is invalid."""
    if isinstance(grammar, Exception):
        return failure_of(row.index, row.prompt, grammar)
    try:
        return AnswerRequest.of(replace(batch.settings, seed=row.seed), batch.form, row.prompt, grammar)
    except Exception as error:  # noqa: BLE001 - a prompt can be wrong in any way
        return failure_of(row.index, row.prompt, error)


def _decoded(
    batch: Batch, asked: Sequence[tuple[_Row, AnswerRequest]]
) -> Iterator[tuple[_Row, AnswerRequest, Decoded | Exception]]:
    """Call the model once per row; yield the rows with their texts or errors, as they come."""
    from schemagen.decode.batch import decode_batch
    from schemagen.request.best_of import chosen, rows_of

    ready: list[tuple[_Row, AnswerRequest, Prepared]] = []
    prompts: list[Row] = []
    written: dict[int, list[Decoded | Exception]] = {}
    for row, request in asked:
        prepared = _prepared(request)
        if isinstance(prepared, Exception):
            yield row, request, prepared
        else:
            ready += [(row, request, prepared)] * request.best_of
            prompts += rows_of(request, prepared, row.seed)
    lm = batch.settings.lm
    options = {"pad_token_id": lm.tokenizer.pad_token_id, **batch.settings.generate_kwargs}
    options |= {"batch_size": batch.batch_size, "speculation": lm.speculation, "told": batch.told}
    for index, outcome in decode_batch(lm.model, prompts, **options):
        row, request, prepared = ready[index]
        written.setdefault(row.index, []).append(outcome)
        if len(written[row.index]) == request.best_of:
            yield row, request, chosen(request, prepared, written.pop(row.index))


def _prepared(request: AnswerRequest) -> Prepared | Exception:
    """Return a prompt in tokens, or the error of the template or the tokenizer."""
    try:
        return request.prepare()
    except Exception as error:  # noqa: BLE001 - templates may raise anything
        return error


def _completed(
    row: _Row, request: AnswerRequest, decoded: Decoded | Exception
) -> Generation[Any] | Failure | AnswerRequest:
    """Return the generation of an answer, the failure of its row, or the next request of the row."""
    if isinstance(decoded, ValidationFailed):  # nothing was left to try
        try:
            return request.after(decoded)
        except ValidationFailed as error:
            return Failure(row.index, row.prompt, error)
    if isinstance(decoded, Exception):
        return failure_of(row.index, row.prompt, decoded)
    output = request.split(decoded)
    try:
        return request.judge(output)
    except SchemagenError as error:
        return Failure(row.index, row.prompt, error)
    except Exception as error:  # noqa: BLE001 - validators are code of the user
        return Failure(row.index, row.prompt, _raised_by_validator(error, row, output.text))


def failure_of(index: int, prompt: Any, error: Exception) -> Failure:
    """Return the failure of a row; a foreign error is wrapped in one of ours, as its cause."""
    if isinstance(error, LogitsError):  # its row number is that of a chunk
        error = LogitsError(
            error.fact, row=index, step=error.step, text=error.text, why=error.why, fix=error.fix, code=error.code
        ).with_traceback(error.__traceback__)
    if isinstance(error, SchemagenError):
        return Failure(index, prompt, error)
    wrapped = GenerationError(
        f"{type(error).__name__}: {error}",
        at=f"row {index}",
        why="the prompt or the model raised it; the other rows are not affected",
        fix="generate with this row alone to see where it comes from",
        code="row-failed",
    )
    wrapped.__cause__ = error
    return Failure(index, prompt, wrapped)


def _raised_by_validator(error: Exception, row: _Row, text: str) -> GenerationError:
    """Return the error of a row whose validator raised an error that is not a refusal."""
    wrapped = GenerationError(
        f"{type(error).__name__}: {error}",
        text=text,
        at=f"row {row.index}",
        why="a validator of the type raised it; pydantic treats only ValueError and AssertionError as refusals",
        fix="let the validator raise ValueError for values that it refuses",
        code="validator-raised",
    )
    wrapped.__cause__ = error
    return wrapped


def raise_misuse(found: Iterable[object]) -> None:
    """Raise the error that every row failed with, if it points to wrong options.

    Raises:
        OptionError: Every row failed with an OptionError.
        ValueError: The prompt or the model raised a ValueError or TypeError in every row.
        TypeError: Likewise.
    """
    rows = list(found)
    errors = [outcome.error if isinstance(outcome, Failure) else None for outcome in rows]
    if errors and all(isinstance(error, OptionError) for error in errors):
        raise next(error for error in errors if error is not None)
    causes = [error.__cause__ if error is not None and error.code == "row-failed" else None for error in errors]
    if causes and all(isinstance(cause, (TypeError, ValueError)) for cause in causes):
        raise next(cause for cause in causes if cause is not None)


def map_prompts(
    batch: Batch,
    prompts: Iterable[Any],
    grammar: Grammar,
    *,
    seed: int | None = None,
    window: int | None = None,
    progress: bool | None = None,
) -> Iterator[Generation[Any] | Failure]:
    """Return an iterator over the generations and failures of prompts, in order; arguments are checked immediately.

    Args:
        batch: The settings of the batch.
        prompts: Texts or chats; read one window at a time.
        grammar: The grammar of all values.
        seed: The seed of the first row, counted up; None for none.
        window: Rows of a window; None for `WindowSize`.
        progress: As for `LanguageModel.batch`.

    Raises:
        OptionError: An argument is invalid; in the first window, as for `raise_misuse`.
    """
    total = len(prompts) if isinstance(prompts, Sized) else None
    given = iter(check_prompts(prompts))
    size = WindowSize(batch.batch_size, window, first=_BATCHES * (batch.batch_size or _FIRST // _BATCHES))
    check_seed(seed)
    return _mapped(batch, given, grammar, seed, size, ProgressBar(total, wanted=progress))


def _mapped(
    batch: Batch, prompts: Iterator[Any], grammar: Grammar, seed: int | None, size: WindowSize, bar: ProgressBar
) -> Iterator[Generation[Any] | Failure]:
    first = 0
    with bar:
        while window := list(islice(prompts, size.rows)):
            began = time.monotonic()
            seeds = None if seed is None else seed + first
            found = generate_batch(batch, window, grammar, seed=seeds, progress=False, first=first)
            if first == 0:
                raise_misuse(found)
            size.took(time.monotonic() - began)
            bar.advance(len(found), failed=sum(isinstance(outcome, Failure) for outcome in found))
            first += len(found)
            yield from found

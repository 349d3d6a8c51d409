"""`LanguageModel.batch`: many prompts, and for every one its value or what went wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import index as index_of
from typing import TYPE_CHECKING, Any, SupportsIndex

from schemagen.arguments import check_count, check_seed, kind_of
from schemagen.errors import GenerationError, LogitsError, OptionError, SchemagenError, ValidationFailed
from schemagen.generation import Failure, Generation
from schemagen.grammar.refusals import after_attempts, reasons
from schemagen.lm.progress import ProgressBar
from schemagen.prompts.messages import check_flags, render, with_correction
from schemagen.prompts.reasoning import split_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.decode.batch import Row
    from schemagen.decode.loop import Decoded
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.engine.protocol import Constraint
    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.language_model import LanguageModel
    from schemagen.prompts.reasoning_grammar import ReasoningFormat, ReasoningGrammar


@dataclass(frozen=True, slots=True)
class Options:
    """How the rows of a batch are generated.

    Attributes:
        batch_size: Rows that the model works on at a time; None: as many as fit.
        retries: How often a row is asked again when a validator refuses its value.
        whitespace: As for `schemagen.compile`.
        property_order: As for `schemagen.compile`.
        show_schema: Whether the shape of the schema is appended to the prompts.
        chat_template: Whether the chat template of the tokenizer is used.
        thinker: How the model thinks before it answers; None: not at all.
        generate_kwargs: For ``model.generate``.
    """

    batch_size: int | None = None
    retries: int = 0
    whitespace: WhitespacePolicy = "flexible"
    property_order: PropertyOrder = "schema"
    show_schema: bool = True
    chat_template: bool = True
    thinker: ReasoningFormat | None = None
    generate_kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Request:
    """The rows of a batch.

    Attributes:
        prompts: One per row.
        specs: One per row; an exception stands where one did not compile.
        seeds: One per row; None where nothing need be reproducible.
        options: For all rows.
    """

    prompts: Sequence[Any]
    specs: Sequence[Grammar | Exception]
    seeds: Sequence[int | None]
    options: Options


@dataclass(frozen=True, slots=True)
class _Asked:
    """A row that the model is asked.

    Attributes:
        index: Of the row in the batch.
        grammar: What its text must be.
        messages: The chat.
        seconds: Spent on it before.
        attempt: From 1.
    """

    index: int
    grammar: Grammar
    messages: list[dict[str, Any]]
    seconds: float = 0.0
    attempt: int = 1


def generate_batch(
    lm: LanguageModel,
    prompts: Iterable[Any],
    spec: Any,
    *,
    options: Options,
    seed: int | Sequence[int] | None = None,
    progress: bool | None = None,
) -> list[Generation[Any] | Failure]:
    """Return what came of every row, in the order of the prompts; arguments and errors as for `LanguageModel.batch`.

    Raises:
        OptionError: A number among the options cannot be meant.
    """
    from schemagen.decode.loop import check_options

    if options.batch_size is not None:
        check_count("batch_size", options.batch_size)
    check_count("retries", options.retries, least=0)
    check_flags(show_schema=options.show_schema, chat_template=options.chat_template)
    options = replace(options, generate_kwargs=check_options(options.generate_kwargs, lm.tokenizer))
    rows = _prompts(prompts)
    request = _Request(rows, _grammars(lm, spec, len(rows), options), _seeds(seed, len(rows)), options)
    found: dict[int, Generation[Any] | Failure] = {}
    with ProgressBar(len(rows), wanted=progress) as bar:
        for index, outcome in _outcomes(lm, request):
            found[index] = outcome
            bar.advance(failed=isinstance(outcome, Failure))
    return [found[index] for index in range(len(rows))]


def _prompts(prompts: Iterable[Any]) -> list[Any]:
    """Return the prompts of a batch.

    Raises:
        OptionError: It is a single prompt, or a mapping, whose keys would be taken for prompts.
    """
    if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Iterable):
        raise OptionError(
            f"the prompts of a batch are a single {type(prompts).__name__}",
            why="a batch takes a list of prompts",
            fix="put it into a list, or call lm(prompt, spec)",
        )
    found = list(prompts)
    if any(hasattr(prompt, "keys") for prompt in found):
        raise OptionError(
            "the prompts of a batch are messages of a single chat",
            why="a batch takes a list of prompts",
            fix="put the chat into a list of its own, or call lm(messages, spec)",
        )
    return found


def _grammars(lm: LanguageModel, spec: Any, rows: int, options: Options) -> list[Grammar | Exception]:
    """Return the grammar of every row, or why there is none.

    Args:
        lm: Whose vocabulary it is.
        spec: One for all rows, or a list with one for each.
        rows: How many there are.
        options: What to compile it with.

    Raises:
        SchemagenError: The one for all rows cannot be compiled.
        OptionError: The list has another length, or is one of texts, which in a batch is no choice.
    """
    compiled = {"whitespace": options.whitespace, "property_order": options.property_order}
    if not isinstance(spec, (list, tuple)):
        return [lm._grammar(spec, **compiled)] * rows  # noqa: SLF001 - the front door of the same model
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
            known[id(each)] = lm._grammar(each, **compiled)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - types are code of the user, and there are few of them
            known[id(each)] = error
    return [known[id(each)] for each in spec]


def _seeds(seed: int | Sequence[int] | None, rows: int) -> list[int | None]:
    """Return the seed of every row: a list as it is, a number counted up.

    Raises:
        OptionError: The list has another length, or it is no list of numbers.
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


def _outcomes(lm: LanguageModel, request: _Request) -> Iterator[tuple[int, Generation[Any] | Failure]]:
    """Yield the index of a row and what came of it, as they are done."""
    asked: list[_Asked] = []
    for index in range(len(request.prompts)):
        first = _first_question(lm, request, index)
        if isinstance(first, _Asked):
            asked.append(first)
        else:
            yield index, first
    while asked:
        again: list[_Asked] = []
        for row, outcome in _ask(lm, request, asked):
            judged = _judge(request, row, outcome)
            if isinstance(judged, _Asked):
                again.append(judged)
            else:
                yield row.index, judged
        asked = again


def _first_question(lm: LanguageModel, request: _Request, index: int) -> _Asked | Failure:
    """Return what a row is asked first; its failure if its type has no grammar, or its prompt is none."""
    grammar = request.specs[index]
    if isinstance(grammar, Exception):
        return _failure(request, index, grammar)
    try:
        messages = lm._messages(request.prompts[index], grammar, show_schema=request.options.show_schema)  # noqa: SLF001
    except Exception as error:  # noqa: BLE001 - a prompt can be wrong in any way
        return _failure(request, index, error)
    return _Asked(index, grammar, messages)


def _ask(lm: LanguageModel, request: _Request, asked: Sequence[_Asked]) -> Iterator[tuple[_Asked, Decoded | Exception]]:
    """Ask the model once per row; yield the rows and its answers as they come."""
    from schemagen.decode.batch import decode_batch

    ready: list[_Asked] = []
    rows: list[Row] = []
    for row in asked:
        encoded = _encoded(lm, request, row)
        if isinstance(encoded, Exception):
            yield row, encoded
        else:
            ready.append(row)
            rows.append(encoded)
    generate_kwargs = {"pad_token_id": lm.tokenizer.pad_token_id, **request.options.generate_kwargs}
    for index, outcome in decode_batch(lm.model, rows, batch_size=request.options.batch_size, **generate_kwargs):
        yield ready[index], outcome


def _encoded(lm: LanguageModel, request: _Request, row: _Asked) -> Row | Exception:
    """Return what is generated for a row, or what the template or the tokenizer raised."""
    from schemagen.decode.batch import Row

    try:
        options = request.options
        text, templated = render(
            lm.tokenizer, row.messages, chat_template=options.chat_template, thinker=options.thinker
        )
        token_ids = lm.tokenizer(text, add_special_tokens=not templated, **lm._tokenizer_kwargs)["input_ids"]  # noqa: SLF001
        constraint: Constraint = _thinking(request, row) or row.grammar
    except Exception as error:  # noqa: BLE001 - templates raise what they like
        return error
    return Row(tuple(token_ids), constraint, request.seeds[row.index])


def _thinking(request: _Request, row: _Asked) -> ReasoningGrammar | None:
    """Return the thoughts and the answer of a row as a grammar; None: no thoughts."""
    thinker = request.options.thinker
    return None if thinker is None else thinker.before(row.grammar)


def _judge(request: _Request, row: _Asked, outcome: Decoded | Exception) -> Generation[Any] | Failure | _Asked:
    """Return the value of an answer, the failure of its row, or what the row is asked next."""
    if isinstance(outcome, Exception):
        return _failure(request, row.index, outcome)
    seconds = row.seconds + outcome.seconds
    text, thoughts, thought_tokens = split_reasoning(outcome, _thinking(request, row))
    try:
        value = row.grammar.validate(text)
    except ValidationFailed as error:
        if row.attempt > request.options.retries:
            return _failure(request, row.index, after_attempts(error, text, row.attempt))
        messages = with_correction(row.messages, text, reasons(error))
        return replace(row, messages=messages, seconds=seconds, attempt=row.attempt + 1)
    except Exception as error:  # noqa: BLE001 - validators are code of the user
        return Failure(row.index, request.prompts[row.index], _raised_by_validator(error, row.index, text))
    facts = (text, outcome.token_ids, outcome.prompt_tokens, seconds, outcome.masked_mass, row.attempt)
    return Generation(value, *facts, thoughts, thought_tokens)


def _failure(request: _Request, index: int, error: Exception) -> Failure:
    """Return the failure of a row; what is none of our errors becomes one, with the other as its cause."""
    if isinstance(error, LogitsError):  # it was found in a chunk, of which this row was another one
        error = LogitsError(
            error.fact, row=index, step=error.step, text=error.text, why=error.why, fix=error.fix, code=error.code
        ).with_traceback(error.__traceback__)
    if isinstance(error, SchemagenError):
        return Failure(index, request.prompts[index], error)
    wrapped = GenerationError(
        f"{type(error).__name__}: {error}",
        at=f"row {index}",
        why="the prompt or the model raised it; the other rows are not affected",
        fix="generate with this row alone to see where it comes from",
        code="row-failed",
    )
    wrapped.__cause__ = error
    return Failure(index, request.prompts[index], wrapped)


def _raised_by_validator(error: Exception, index: int, text: str) -> SchemagenError:
    """Return the error of a row whose validator raised what is no refusal."""
    if isinstance(error, SchemagenError):
        return error
    wrapped = GenerationError(
        f"{type(error).__name__}: {error}",
        text=text,
        at=f"row {index}",
        why="a validator of the type raised it; pydantic takes a ValueError or AssertionError for a refusal, and nothing else",
        fix="let the validator raise ValueError for values that it refuses",
        code="validator-raised",
    )
    wrapped.__cause__ = error
    return wrapped


def raise_misuse(found: Iterable[Generation[Any] | Failure]) -> None:
    """Raise what every row failed with, if it is what wrong options are answered with.

    Raises:
        OptionError: Every row failed with one.
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

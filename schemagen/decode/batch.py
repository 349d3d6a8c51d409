"""Many constrained generations: rows are generated together, and each ends or fails by itself.

If the cache of the model is known and the options only say how tokens are drawn, rows join and leave between two steps
(`schemagen.decode.rows`), so no row waits for a longer one. All other batches are chunks, one call of ``generate`` each.

Rows of chunks with the same budget are sorted by length. The longest come first, so that running out of memory shows early.
Rows are padded on the left. A chunk whose generation raises is halved until the failing row is alone; the others are not
affected. A row that is alone in its chunk goes through the loop that reads ahead, if its options allow it.

A row whose logits are broken (NaN) is given up, and the others of its chunk go on. Then it is generated once more
alone: with some kernels in half precision its padding is all that was wrong.

Rejected: one row at a time after a failure, which for a single bad row of B costs B calls of ``generate`` instead of 2
log2 B.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.batch_size import cut, rows_that_fit
from schemagen.decode.brevity import Brevity
from schemagen.decode.budget import budget_of, check_budget, default_budget
from schemagen.decode.generate import Decoded, cannot_guide, generate_rows, inputs_of, read_ahead, result_of
from schemagen.decode.guide import refused_in
from schemagen.decode.logits_processor import BatchProcessor
from schemagen.decode.options import complete_options
from schemagen.decode.row_sampling import can_sample_rows, effective_option, samples, seed_of, way_of
from schemagen.decode.rows import can_queue, written
from schemagen.decode.speculation import can_read_ahead
from schemagen.decode.text import Text, is_drawn
from schemagen.decode.token_records import Records, records_of
from schemagen.errors import GenerationError, LogitsError
from schemagen.options.speculation import DEFAULT as READ_AHEAD
from schemagen.options.table import DEFAULT_MAX_NEW_TOKENS
from schemagen.threads.forking import settle_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from schemagen.decode.guide import Guide
    from schemagen.decode.token_records import TokenRecord
    from schemagen.engine.protocol import Constraint
    from schemagen.generation import Refused
    from schemagen.options.speculation import Speculation

#: They count the prompt, padding included, so only prompts of one length may share a chunk.
_COUNT_THE_PROMPT = frozenset({"max_length", "min_length", "generation_config"})


@dataclass(frozen=True, slots=True)
class Row:
    """One generation of a batch.

    Attributes:
        token_ids: The prompt.
        grammar: The grammar of the text.
        seed: For sampling.
        notes: As for `schemagen.decode.generate.Writer`.
        guide: Makes what `schemagen.decode.generate.Writer` takes; called again where the row is generated again.
    """

    token_ids: tuple[int, ...]
    grammar: Constraint
    seed: int | None = None
    notes: bool = False
    guide: Callable[[], Guide | None] = lambda: None


def decode_batch(
    model: Any,
    rows: Sequence[Row],
    *,
    batch_size: int | None,
    pad_token_id: int | None = None,
    speculation: Speculation = READ_AHEAD,
    told: Callable[[int], object] | None = None,
    **generate_kwargs: Any,
) -> Iterator[tuple[int, Decoded | Exception]]:
    """Generate a text for every row; yield the index of a row and its result or error, chunk by chunk.

    The seconds of a row are its share of the time of its chunk; the mass that the mask removes is not measured.

    Args:
        model: With the ``generate`` of transformers.
        rows: The generations.
        batch_size: Maximum number of rows at a time. None if the memory of the device decides, for prompts of similar
            length (`schemagen.decode.batch_size`).
        pad_token_id: The token that pads prompts; an EOS id by default.
        speculation: The draft tokens for a row that is alone.
        told: Called with the number of rows at a time, before they are generated.
        generate_kwargs: Options of ``generate``, as for `schemagen.decode.generate.Writer`.
    """
    settle_threads()
    told = told or (lambda _: None)
    ready: dict[int, dict[str, Any]] = {}
    for index, row in enumerate(rows):
        completed = _completed(model, row, generate_kwargs)
        if isinstance(completed, GenerationError):
            yield index, completed
        else:
            ready[index] = completed
    if can_queue(model, ready.values(), batch_size):
        texts = {index: _text_of(model, rows[index], options) for index, options in ready.items()}
        most = min(len(texts), batch_size or _most_that_fit(model, texts.values()))
        told(most)
        yield from _written(model, rows, ready, texts, most, pad_token_id, speculation)
        return
    for chunk in _chunks(model, rows, ready, batch_size):
        told(len(chunk))
        options = ready[chunk[0]]
        seeded = any(rows[index].seed is not None for index in chunk)
        alone = seeded and samples(model, options) and not can_sample_rows(model, options)
        for part in [[index] for index in chunk] if alone else [chunk]:
            found = _decode_chunk(model, [rows[index] for index in part], options, pad_token_id, speculation)
            yield from zip(part, found, strict=True)


def _text_of(model: Any, row: Row, options: Mapping[str, Any]) -> Text:
    """Return a row as a text of the queue; without a seed its random numbers follow from torch's own."""
    sampling = way_of(model, options)
    guide = row.guide()
    is_random = is_drawn(sampling, row.grammar, guide)
    generator = torch.Generator().manual_seed(seed_of(row.seed)) if is_random else None
    budget = budget_of(model, options, len(row.token_ids))
    assert budget is not None, "can_queue looked"
    extras: dict[str, Any] = {"records": Records() if row.notes or guide is not None else None, "guide": guide}
    extras["brevity"] = Brevity.of(options)
    return Text(row.token_ids, row.grammar, row.grammar.vocabulary, budget, sampling, generator, **extras)


def _written(
    model: Any,
    rows: Sequence[Row],
    ready: Mapping[int, dict[str, Any]],
    texts: dict[int, Text],
    most: int,
    pad_token_id: int | None,
    speculation: Speculation,
) -> Iterator[tuple[int, Decoded | Exception]]:
    """Write texts as a queue of rows, so many at a time; yield each as it ends."""
    index_of = {id(text): index for index, text in texts.items()}
    pad = next(iter(texts.values())).vocabulary.eos_token_ids[0] if pad_token_id is None else pad_token_id
    for text, seconds in written(model, texts.values(), most, pad):
        index = index_of[id(text)]
        row, options = rows[index], ready[index]
        if isinstance(text.error, LogitsError) and len(texts) > 1:
            yield index, _decode_chunk(model, [row], options, pad_token_id, speculation)[0]
        elif text.error is not None:
            yield index, text.error
        else:
            budget, closed = text.max_new_tokens, text.was_left_out
            found = _result(row, text.generated, options, seconds, budget, was_left_out=closed)
            records = None if text.records is None or not row.notes else text.records.tokens
            yield index, _noted(model, row, found, records, budget, refused_in(text.guide))


def _most_that_fit(model: Any, texts: Collection[Text]) -> int:
    """Return how many texts fit into the memory of the device at a time, if all are as long as the longest may be."""
    return max(1, rows_that_fit(model, max(len(text.token_ids) + text.max_new_tokens for text in texts)))


def _completed(model: Any, row: Row, given: dict[str, Any]) -> dict[str, Any] | GenerationError:
    """Return the options of ``generate`` for a row, or why it cannot be generated."""
    try:
        options = complete_options(model, len(row.token_ids), given, default=default_budget(row.grammar))
        check_budget(row.grammar, budget_of(model, options, len(row.token_ids)))
    except GenerationError as error:
        return error
    return options


def _chunks(model: Any, rows: Sequence[Row], ready: dict[int, dict[str, Any]], size: int | None) -> Iterator[list[int]]:
    """Cut the rows into chunks of one budget, long prompts first."""
    groups: dict[Any, list[int]] = {}
    for index in sorted(ready, key=lambda index: -len(rows[index].token_ids)):
        options = ready[index]
        length = 0 if _COUNT_THE_PROMPT.isdisjoint(options) else len(rows[index].token_ids)
        groups.setdefault((options.get("max_new_tokens"), length), []).append(index)
    for group in groups.values():
        if size is None:
            lengths = [len(rows[index].token_ids) for index in group]
            sizes = cut(lengths, _most_rows(model, ready[group[0]], lengths[0]))
        else:
            sizes = [size] * -(-len(group) // size)
        start = 0
        for count in sizes:
            yield group[start : start + count]
            start += count


def _most_rows(model: Any, options: Mapping[str, Any], prompt_tokens: int) -> int:
    """How many prompts fit into the memory of the device at a time; each beam of a prompt is a row."""
    new_tokens = budget_of(model, options, prompt_tokens) or DEFAULT_MAX_NEW_TOKENS
    beams = max(1, int(effective_option(model, options, "num_beams", 1)))
    return max(1, rows_that_fit(model, prompt_tokens + new_tokens) // beams)


def _decode_chunk(
    model: Any, rows: Sequence[Row], options: dict[str, Any], pad_token_id: int | None, speculation: Speculation
) -> list[Decoded | Exception]:
    """Generate some rows together; in halves, where that raises."""
    try:
        found = _generate(model, rows, options, pad_token_id, speculation)
    except Exception as error:  # noqa: BLE001 - out of memory, a dead end, any failure of the model: of one row
        if len(rows) == 1:
            # The frames hold the tensors of the failed generation, perhaps all of the memory.
            traceback.clear_frames(error.__traceback__)
            return [error]
    else:
        return [
            _decode_chunk(model, [row], options, pad_token_id, speculation)[0]
            if isinstance(outcome, LogitsError) and len(rows) > 1
            else outcome
            for row, outcome in zip(rows, found, strict=True)
        ]
    half = len(rows) // 2
    parts = (rows[:half], rows[half:])
    return [found for part in parts for found in _decode_chunk(model, part, options, pad_token_id, speculation)]


def _generate(
    model: Any, rows: Sequence[Row], options: dict[str, Any], pad_token_id: int | None, speculation: Speculation
) -> list[Decoded | Exception]:
    """Generate some rows in one call."""
    grammars = [row.grammar for row in rows]
    ends = sorted({end for grammar in grammars for end in grammar.vocabulary.eos_token_ids})
    pad = ends[0] if pad_token_id is None else pad_token_id
    inputs = inputs_of([row.token_ids for row in rows], pad, model.device)
    records: Sequence[TokenRecord] | None = None
    refused: tuple[Refused, ...] = ()
    width = inputs["input_ids"].shape[1]
    budget = budget_of(model, options, width)
    started = time.perf_counter()
    if budget is not None and _may_read_ahead(model, inputs, options, grammars):
        guide = rows[0].guide()
        notes = Records() if rows[0].notes else None
        extras: dict[str, Any] = {"speculation": speculation, "records": notes, "guide": guide}
        run = read_ahead(model, inputs["input_ids"], grammars[0], budget, options, seed=rows[0].seed, **extras)
        generated, broken, closed = [run.token_ids], {}, [bool(run.tally.cut_short)]
        records, refused = None if notes is None else notes.tokens, refused_in(guide)
    else:
        if any(row.guide() is not None for row in rows):
            raise cannot_guide()
        processor = BatchProcessor(grammars, max_new_tokens=budget, pad_token_id=pad)
        seeds = [row.seed for row in rows]
        sequences = generate_rows(model, inputs, {**options, "pad_token_id": pad}, processor, ends=ends, seeds=seeds)
        generated, broken = sequences[:, width:].tolist(), processor.errors
        closed = [processor.has_left_out(tokens, row) for row, tokens in enumerate(generated)]
    seconds = (time.perf_counter() - started) / len(rows)
    found = [
        broken[index]
        if index in broken
        else _result(row, generated[index], options, seconds, budget, was_left_out=closed[index])
        for index, row in enumerate(rows)
    ]
    return [_noted(model, row, each, records, budget, refused) for row, each in zip(rows, found, strict=True)]


def _noted(
    model: Any,
    row: Row,
    found: Decoded | Exception,
    records: Sequence[TokenRecord] | None,
    budget: int | None,
    refused: tuple[Refused, ...],
) -> Decoded | Exception:
    """Return a result with its refused values, and with what the model expected at its tokens, if its row asks for that."""
    if isinstance(found, Exception):
        return found
    found = replace(found, refused=refused)
    if not row.notes:
        return found
    if records is None:
        records = records_of(model, row.token_ids, found.token_ids, row.grammar, budget)
    return replace(found, records=tuple(records[: len(found.token_ids)]))


def _may_read_ahead(
    model: Any, inputs: dict[str, torch.Tensor], options: dict[str, Any], grammars: Sequence[Constraint]
) -> bool:
    """Whether a row is alone, so that nothing is padded, and the loop that reads ahead can replace ``generate``.

    For one row it halves the time. It does not pay for several rows one after the other: eight rows of the bundled
    model take twice as long as one batch of ``generate``, and longer still with a large model, whose weights a batch
    reads once for all rows. Reading ahead within a batch does not pay either: a pass of eight rows over five tokens
    takes 2.2 times as long as one over a single token, and saves at most half of the passes.
    """
    return len(grammars) == 1 and can_read_ahead(model, inputs, options)


def _result(
    row: Row, generated: list[int], options: dict[str, Any], seconds: float, budget: int | None, *, was_left_out: bool
) -> Decoded | Exception:
    """Read one row of the output."""
    try:
        return result_of(
            row.grammar,
            generated,
            options,
            prompt_tokens=len(row.token_ids),
            budget=budget,
            seconds=seconds,
            was_left_out=was_left_out,
        )
    except GenerationError as error:
        return error

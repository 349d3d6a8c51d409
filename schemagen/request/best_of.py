"""The best of several drafts: each is followed by its answer, and the answer that the model finds likeliest counts.

Likeliest is the sum of the logarithms of the probabilities that the model itself, without the mask, gives the tokens of an
answer after its own draft: a draft that leads somewhere makes its answer likely. Answers that a validator refuses come last.

Source: draft-conditioned constrained decoding, arXiv:2603.03305.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from schemagen.decode.batch import decode_batch
from schemagen.decode.generate import Decoded
from schemagen.decode.likelihood import log_likelihoods
from schemagen.request.attempts import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.decode.batch import Row
    from schemagen.request.attempts import Output, Prepared, Request

#: The distance between the seeds of the drafts of one answer: further apart than the rows of most batches. torch's generators
#: on the CPU read the lower 32 bits alone.
SEEDS_APART = 1_000_003


def rows_of(request: Request, prepared: Prepared, seed: int | None) -> Iterator[Row]:
    """Yield the rows of the drafts of an answer."""
    for index in range(request.best_of):
        own = seed if seed is None or not index else (seed + index * SEEDS_APART) % 2**63
        yield prepared.row(own)


def decode_best(request: Request) -> Decoded:
    """Have the model write the drafts and answers of a request; return the best text: see `chosen`.

    Raises:
        GenerationError: As `Prepared.decode`, if no text could be written.
    """
    prepared, settings = request.prepare(), request.settings
    lm = settings.lm
    rows = list(rows_of(request, prepared, settings.seed))
    options = {"pad_token_id": lm.tokenizer.pad_token_id, **settings.generate_kwargs}
    written = decode_batch(lm.model, rows, batch_size=None, speculation=lm.speculation, **options)
    found = chosen(request, prepared, [outcome for _, outcome in sorted(written, key=lambda each: each[0])])
    if isinstance(found, Exception):
        raise found
    return found


def chosen(request: Request, prepared: Prepared, outcomes: Sequence[Decoded | Exception]) -> Decoded | Exception:
    """Return the best of some texts of a request, with the seconds of all; an error if all are errors.

    Cost: with several texts, one pass of the model over all of them.
    """
    texts = [prepared.answer_of(outcome) for outcome in outcomes if isinstance(outcome, Decoded)]
    if len(texts) < 2:
        return texts[0] if texts else outcomes[0]
    outputs = [request.split(text) for text in texts]
    rows = [(*prepared.token_ids, *text.token_ids) for text in texts]
    counts = [len(output.decoded.token_ids) - output.reasoning_tokens for output in outputs]
    likelihoods = log_likelihoods(request.settings.lm.model, rows, counts)
    ranks = [(not _is_refused(request, output), each) for output, each in zip(outputs, likelihoods, strict=True)]
    best = texts[max(range(len(texts)), key=ranks.__getitem__)]
    return replace(best, seconds=sum(text.seconds for text in texts))


def _is_refused(request: Request, output: Output) -> bool:
    """Whether a validator refuses an answer, or fails at it."""
    try:
        return isinstance(request.read(output), Refusal)
    except Exception:  # noqa: BLE001 - validators are code of the user; the chosen answer is read again
        return True

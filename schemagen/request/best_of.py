"""The best of several drafts: each is followed by its answer, and the answer that the model finds likeliest counts.

Likeliest is the sum of the logarithms of the probabilities that the model itself, without the mask, gives the tokens of an
answer after its own draft: a draft that leads somewhere makes its answer likely. Answers that a validator refuses come last.

Source: draft-conditioned constrained decoding, arXiv:2603.03305, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.decode.batch import Row, decode_batch
from schemagen.decode.generate import Decoded
from schemagen.decode.likelihood import log_likelihoods
from schemagen.request.attempts import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.request.attempts import Prepared, Request

#: The distance between the seeds of the drafts of one answer: further apart than the rows of most batches. torch's generators
#: on the CPU read the lower 32 bits alone.
SEEDS_APART = 1_000_003


def rows_of(request: Request, prepared: Prepared, seed: int | None) -> Iterator[Row]:
    """Yield the rows of the drafts of an answer."""
    for index in range(request.best_of):
        own = seed if seed is None or not index else (seed + index * SEEDS_APART) % 2**63
        yield Row(prepared.token_ids, prepared.constraint, own)


def decode_best(request: Request) -> Decoded:
    """Have the model write the drafts and answers of a request; return the best text, with the seconds of all.

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
    """Return the best of some texts of a request; an error if all are errors.

    Cost: with several texts, one pass of the model over all of them.
    """
    texts = [prepared.answer_of(outcome) for outcome in outcomes if isinstance(outcome, Decoded)]
    if len(texts) < 2:
        return texts[0] if texts else outcomes[0]
    likelihoods = _likelihoods(request, prepared, texts)
    ranks = [(not _is_refused(request, text), likelihood) for text, likelihood in zip(texts, likelihoods, strict=True)]
    return texts[max(range(len(texts)), key=ranks.__getitem__)]


def _is_refused(request: Request, text: Decoded) -> bool:
    """Whether a validator refuses the answer in a text, or fails at it."""
    try:
        return isinstance(request.read(request.split(text)), Refusal)
    except Exception:  # noqa: BLE001 - validators are code of the user; the chosen answer is read again
        return True


def _likelihoods(request: Request, prepared: Prepared, texts: Sequence[Decoded]) -> list[float]:
    """Return the logarithm of the probability of the answer in each text, its EOS included."""
    rows = [(*prepared.token_ids, *text.token_ids) for text in texts]
    counts = [len(text.token_ids) - request.split(text).reasoning_tokens for text in texts]
    return log_likelihoods(request.settings.lm.model, rows, counts)

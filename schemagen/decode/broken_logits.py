"""Errors for logits from which no token can be chosen.

A model that overflows in half precision, or that was quantised badly, computes NaN or ``inf``. A mask alone would hide
that: some allowed token would still have the highest score, and the result would be a valid instance made of noise. A
single ``inf`` is no better: the softmax of the row is NaN. The processors of transformers that force a token put all
others at ``-inf``; but ``exponential_decay_length_penalty`` makes the logit of EOS grow until it is ``inf``, which
therefore is let through.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from transformers import LogitsProcessor as TransformersLogitsProcessor

from schemagen.errors import LogitsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

_LOW = float("-inf")
_DAMAGED = {
    "why": "numbers of the model overflow (float16 is the usual reason), or its weights are damaged or badly quantised",
    "fix": "load the model with dtype=torch.bfloat16 or torch.float32, or load its original weights",
}
_NO_TOKEN_LEFT = {
    "why": "the model, or another logits processor, leaves no token at all",
    "fix": "remove other processors and options of generate that forbid tokens; if that does not help, the model is damaged",
}
_FORBIDDEN = {
    "why": "another logits processor or an option of generate (suppress_tokens, min_new_tokens, no_repeat_ngram_size, ...) "
    "forbids what the grammar needs here",
    "fix": "remove that processor or option, or let the type allow more",
}


def logits_error(
    scores: torch.Tensor | None,
    *,
    row: int,
    generated: Sequence[int],
    vocabulary: Any = None,
    allowed: int | None = None,
    overflows: bool | None = None,
) -> LogitsError:
    """Return the error of a row from which no token can be chosen.

    Args:
        scores: float [V], before they were masked; None if they are not there any more.
        row: Of the batch.
        generated: The tokens of the row so far.
        vocabulary: The vocabulary of the tokens; None if the error cannot show their text.
        allowed: How many tokens the grammar allows here, if that is known.
        overflows: Whether there is NaN or ``inf``, if that is known without the scores.

    Cost: a few passes over the scores, which wait for their device.
    """
    ends = () if vocabulary is None else vocabulary.eos_token_ids
    fact, parts = _what_is_wrong(scores, "" if allowed is None else f"{allowed} ", overflows, ends)
    text = "" if vocabulary is None else vocabulary.decode(generated).decode("utf-8", errors="replace")
    return LogitsError(fact, row=row, step=len(generated), text=text, **parts)


def _what_is_wrong(
    scores: torch.Tensor | None, allowed: str, overflows: bool | None, ends: Sequence[int]
) -> tuple[str, dict[str, str]]:
    """Return the fact, and why it is so."""
    forbidden = f"the logits of the {allowed}tokens that the grammar allows are all -inf"
    if scores is None:
        if overflows is None:
            return f"some logits are NaN or inf, or {forbidden}", {
                **_DAMAGED,
                "why": f"{_DAMAGED['why']}; or {_FORBIDDEN['why']}",
            }
        return ("some logits are NaN or inf", _DAMAGED) if overflows else (forbidden, _FORBIDDEN)
    if missing := int(scores.isnan().sum()):
        return f"{missing} of {len(scores)} logits are NaN", _DAMAGED
    infinite = scores.isposinf()
    infinite[list(ends)] = False  # which is not an error
    if count := int(infinite.sum()):
        return f"{count} of {len(scores)} logits are inf", _DAMAGED
    if bool((scores == _LOW).all()):
        return f"all {len(scores)} logits are -inf", _NO_TOKEN_LEFT
    return forbidden, _FORBIDDEN


class LogitsCheck(TransformersLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
    """Changes nothing, and refuses logits from which no token can be chosen: for one generation without a grammar."""

    def __init__(self) -> None:
        self._first: int | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores, float [B, V].

        Raises:
            LogitsError: A logit is NaN or ``inf``, or all of a row are ``-inf``.

        Cost: a maximum over the scores, and one wait for their device.
        """
        if self._first is None:
            self._first = input_ids.shape[1]
        for row, highest in enumerate(scores.amax(dim=-1).tolist()):
            if not math.isfinite(highest):
                generated = input_ids[row, self._first :].tolist()
                raise logits_error(scores[row], row=row, generated=generated)
        return scores

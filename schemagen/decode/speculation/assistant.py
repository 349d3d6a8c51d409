"""`ModelDrafter`: a small model proposes, under the same constraint.

Idea: the small model decodes ahead under the masks of the grammar, so that it never proposes a forbidden token, and the
large model reuses these masks (Koo et al. 2024, section 5.3, "sharing the penalties with the target model"). In
sampling the drafts are sampled too, and carry the distribution q that they were drawn from: the large model accepts a
token with the probability min(1, p / q), else draws from the part of p that exceeds q, so that the result is
distributed as p (Leviathan et al. 2023, arXiv:2211.17192).

Invariants: the cache holds a prefix of prompt and text; before it grows, it is cropped to the prefix that it shares
with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.speculation.drafts import Draft
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.masks.logits import mask_rows
from schemagen.masks.rows import BITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.decode.row_sampling import RowSampler
    from schemagen.decode.speculation.context import Context


class ModelDrafter:
    """Proposes the tokens of a small model.

    Args:
        model: A decoder of transformers with the same tokens as the large one.
        budget: Maps a text to the number of tokens that may follow it, for the mask; to None if unlimited.
        sampler: Draws the drafts; None for the likeliest token.
    """

    #: The evidence of all its guesses. It is fixed, so that the model is called only if no cheaper guess is as good.
    evidence = "model"

    def __init__(
        self, model: Any, *, budget: Callable[[Context], int | None], sampler: RowSampler | None = None
    ) -> None:
        from transformers import DynamicCache

        self._model, self._budget, self._sampler = model, budget, sampler
        self._cache = DynamicCache(config=model.config)
        self._read: list[int] = []

    def propose(self, context: Context, matcher: Any, n: int) -> Draft | None:  # noqa: ARG002 - the interface
        """Return one token, with its mask; see `Drafter`. Cost: a pass of the small model."""
        scores = self._scores([*context.prompt, *context.tokens])
        words = allocate_token_bitmask(1, context.vocabulary.size)
        matcher.fill_next_token_bitmask(words, 0, budget=self._budget(context))
        masked = mask_rows(scores, words, [0], min(words.shape[1] * BITS, scores.shape[1]))
        if self._sampler is None:
            return Draft((int(masked.argmax()),), evidence=self.evidence, mask=words)
        probabilities = self._sampler.probabilities(masked)
        token = self._sampler.draw(probabilities)
        return Draft((token,), evidence=self.evidence, mask=words, probabilities=probabilities)

    def observe(self, context: Context, matcher: Any, token: int) -> None:
        """Learn nothing."""

    def _scores(self, tokens: list[int]) -> torch.Tensor:
        """Return the scores float [1, V] after some tokens, on the CPU."""
        shared = 0
        for known, token in zip(self._read, tokens[:-1], strict=False):
            if known != token:
                break
            shared += 1
        if surplus := len(self._read) - shared:
            self._cache.crop(-surplus)
        step = torch.tensor([tokens[shared:]], device=self._model.device)
        output = self._model(input_ids=step, past_key_values=self._cache, use_cache=True, logits_to_keep=1)
        self._read = list(tokens)
        scores: torch.Tensor = output.logits[0, -1:].float().cpu()
        return scores

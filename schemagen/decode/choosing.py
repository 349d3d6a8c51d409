"""One step for independent rows: each is masked by its own grammar, and sampled in its own way.

A loop over the rows of a cache takes the tokens (`choose`). Loops of transformers take scores: 0 for the chosen token, ``-inf``
for all others (`scores_of_choice`). A row that fails for any reason ends with its error, and the others
continue.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import torch

from schemagen.decode.broken_logits import logits_error
from schemagen.decode.guide import leave_out
from schemagen.decode.logits_processor import BatchProcessor
from schemagen.decode.row_sampling import chosen
from schemagen.decode.token_records import expectation
from schemagen.errors import MatcherError
from schemagen.masks.bitmask import allocate_token_bitmask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from schemagen.decode.sequences import Cursor
    from schemagen.decode.text import Text
    from schemagen.options.sampling import Sampling

_LOW = float("-inf")


class Chooser:
    """Chooses the next token of each row, and gives it to the row's text.

    Args:
        device: The device of the model, as a str: some warpers keep tensors there.
        pad: The token for rows that are over.
        together: Around the tokens of one step: a context for some texts.
    """

    def __init__(
        self, device: str, pad: int, together: Callable[[Sequence[Any]], AbstractContextManager[Any]] = nullcontext
    ) -> None:
        self._device = device
        self._pad = pad
        self._together = together

    def scores_of_choice(self, texts: Sequence[Text], scores: torch.Tensor) -> torch.Tensor:
        """Return scores that are 0 at the chosen token of each row, and ``-inf`` elsewhere; arguments as for `choose`."""
        chosen = torch.tensor(self.choose(texts, scores), device=scores.device).unsqueeze(-1)
        return torch.full_like(scores, _LOW).scatter_(1, chosen, 0.0)

    def choose(self, texts: Sequence[Text], scores: torch.Tensor) -> list[int]:
        """Return the chosen token of each row.

        Args:
            texts: One per row; those that are over or cancelled get padding.
            scores: float [B, V].

        Cost: as `LogitsProcessor.__call__`; one more softmax and sort over the rows that are sampled, for each way of
            sampling.
        """
        live = [row for row, text in enumerate(texts) if text.is_wanted]
        masked = self._masked(texts, scores, live)
        self._refuse_broken(texts, masked, live)
        free = [row for row in live if texts[row].constraint is None and not texts[row].is_over]
        _note(texts, scores, None, scores.shape[1], free)
        tokens = [self._pad] * len(texts)
        before = {row: masked[row].clone() for row in live if texts[row].guide is not None}
        while live:
            for row in before.keys() & live:
                masked[row] = before[row]
            live = [row for row in live if _may_choose(texts[row], masked[row])]
            forced = {row: token for row in live if (token := texts[row].forced_token()) is not None}
            chosen = self._tokens(texts, masked, [row for row in live if row not in forced])
            for row in live:
                tokens[row] = forced.get(row, chosen[row])
            with self._together(texts):
                live = [row for row in live if _is_refused(texts[row], tokens[row])]
        return tokens

    def _masked(self, texts: Sequence[Text], scores: torch.Tensor, live: Sequence[int]) -> torch.Tensor:
        """Return the scores, with forbidden tokens at ``-inf``."""
        cursors: list[Cursor | None] = [None] * len(texts)
        for row in live:
            cursors[row] = self._cursor(texts[row])
        grammars: Any = [cursor and cursor.grammar for cursor in cursors]
        processor = BatchProcessor(grammars, pad_token_id=self._pad)
        if any(texts[row].records is not None for row in live):
            processor.observe = partial(_note, texts)
        try:
            masked = processor.mask(scores, cursors)
        except Exception as error:  # noqa: BLE001 - of one row; which one is found by asking each
            if not _fail_guilty(texts, cursors):
                for row in live:
                    texts[row].fail(error)
            return self._masked(texts, scores, [row for row in live if not texts[row].is_over])
        for row, broken in processor.errors.items():
            texts[row].fail(broken)
        for row in live:
            cursor = cursors[row]
            texts[row].was_left_out |= cursor is not None and processor.has_left_out(cursor.generated, row)
        return masked

    @staticmethod
    def _cursor(text: Text) -> Cursor | None:
        """Return the cursor of a text; on failure end the text and return None."""
        try:
            return text.stand()
        except Exception as error:  # noqa: BLE001 - a limit of its grammar
            text.fail(error)
            return None

    @staticmethod
    def _refuse_broken(texts: Sequence[Text], masked: torch.Tensor, live: Sequence[int]) -> None:
        """End the rows without a grammar whose logits are broken; the mask has checked the others."""
        free = [row for row in live if texts[row].constraint is None]
        if not free:
            return
        fine = torch.isfinite(masked[free].amax(dim=-1)).tolist()
        for row, is_fine in zip(free, fine, strict=True):
            if not is_fine:
                text = texts[row]
                error = logits_error(masked[row], row=row, generated=text.generated, vocabulary=text.vocabulary)
                text.fail(error)

    def _tokens(self, texts: Sequence[Text], masked: torch.Tensor, live: Sequence[int]) -> list[int]:
        """Return a token for each row; padding for those that are over."""
        tokens = [self._pad] * len(texts)
        ways: dict[int, Sampling | None] = {}
        for row in live:
            if not texts[row].is_over:
                try:
                    ways[row] = texts[row].way()
                except Exception as error:  # noqa: BLE001 - a limit of its grammar
                    texts[row].fail(error)
        if ways:
            some = masked[list(ways)] if len(ways) < len(texts) else masked
            generators = [texts[row].generator for row in ways]
            found = chosen(some, list(ways.values()), generators, self._device).tolist()
            for row, token in zip(ways, found, strict=True):
                tokens[row] = token
        return tokens


def _note(
    texts: Sequence[Text], scores: torch.Tensor, words: torch.Tensor | None, covered: int, live: Sequence[int]
) -> None:
    """Record the distribution of the next token in the texts that ask; arguments as for `LogitsProcessor.observe`.

    Without a mask every token is allowed.
    """
    for row in live:
        if (records := texts[row].records) is not None:
            mask = None if words is None else words[row]
            records.expected = expectation(scores[row], mask, covered, records.alternatives)


def _may_choose(text: Text, masked: torch.Tensor) -> bool:
    """Whether a text has a token left; without one its guide takes back others.

    Args:
        text: The text.
        masked: float [V], its scores; those of banned tokens become ``-inf``.
    """
    if text.is_over:
        return False
    text.begin()
    if text.guide is None or leave_out(masked, text.guide):
        return True
    try:
        text.cut(text.guide.exhausted().length)
    except Exception as error:  # noqa: BLE001 - nothing is left to try, or a fault of a validator
        text.fail(error)
    return False


def _is_refused(text: Text, token_id: int) -> bool:
    """Give a token to a text; return whether another one is to be chosen in its place."""
    if text.is_over:
        return False
    place = len(text.generated)
    try:
        taken = text.take(token_id)
    except Exception as error:  # noqa: BLE001 - a limit of its grammar, or a fault of ours: it is one row's
        text.fail(error)
        return False
    return taken is not None and taken.length == place


def _fail_guilty(texts: Sequence[Text], cursors: Sequence[Cursor | None]) -> bool:
    """End the rows whose masks cannot be computed; return whether there was one."""
    found = False
    for text, cursor in zip(texts, cursors, strict=True):
        if cursor is None or cursor.is_over or text.is_over:
            continue
        words = allocate_token_bitmask(1, cursor.grammar.vocabulary.size)
        try:
            cursor.matcher.fill_next_token_bitmask(words, 0)
            if not words.any():
                raise MatcherError("no token is allowed", code="dead-end")  # noqa: TRY301 - the row's, as any other
        except Exception as error:  # noqa: BLE001 - any error is this row's
            text.fail(error)
            found = True
    return found

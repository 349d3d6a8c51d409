"""Rows that join and leave one batch: each step is a pass over a token of every row; rows may change between two steps.

Idea: the keys and values of the rows are in slots of buffers (`CacheSlots`). Joining rows are read in their own passes,
padded on the left to the same length, and then written into free slots. Positions count each row's own tokens, as in
``generate``, so the logits of a row do not depend on its neighbours (but for rounding).

Invariants: the cache holds the prompt and every token of a row but the last; `texts` are the rows, in the order of the
slots.

Rejected: reading a batch again whenever its rows change, for which ``generate`` suffices: with prompts of sixty tokens
and answers of twenty it cost a third of the throughput.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.cache_slots import CacheSlots, empty_cache
from schemagen.decode.generate import inputs_of
from schemagen.decode.speculation.eligibility import is_plain_decoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from schemagen.decode.choosing import Chooser
    from schemagen.decode.text import Text


#: This many positions of padding cost as much as another pass: measured with the bundled model on a CPU.
_PASS = 64


def can_cache_rows(model: Any) -> bool:
    """Whether rows can join and leave a batch of this model: its cache is known, and it accepts positions and a mask."""
    if not is_plain_decoder(model):
        return False
    layers = getattr(empty_cache(model.config), "layers", None)
    takes = inspect.signature(model.forward).parameters
    return (
        layers is not None
        and all(type(layer).__name__ == "DynamicLayer" for layer in layers)
        and {"position_ids", "attention_mask"} <= takes.keys()
    )


def _alike(joining: Sequence[Text]) -> list[list[Text]]:
    """Put joining texts into groups that one pass reads: of similar length, if padding would cost more than a pass."""
    found: list[list[Text]] = []
    longest = 0
    ordered = sorted(joining, key=_tokens_of, reverse=True)
    for place, text in enumerate(ordered):
        if not found or (longest - _tokens_of(text)) * (len(ordered) - place) > _PASS:
            longest = _tokens_of(text)
            found.append([])
        found[-1].append(text)
    return found


def _tokens_of(text: Text) -> int:
    return len(text.token_ids) + len(text.generated)


class CachedRows:
    """The rows of a batch.

    Args:
        model: A model for which `can_cache_rows` holds.
        pad: The token that pads prompts.
        chooser: Chooses the tokens.

    Attributes:
        texts: The rows.
    """

    def __init__(self, model: Any, pad: int, chooser: Chooser) -> None:
        self._model = model
        self._pad = pad
        self._chooser = chooser
        self._slots = CacheSlots(model.config, model.device)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.texts: list[Text] = []
        self._slots.clear()
        self._last: list[int] = []  # the chosen token of each row, not read yet

    def advance(self, texts: Sequence[Text]) -> None:
        """Make one step: every text gets a token.

        Args:
            texts: The rows from now on. New texts join, with the token that follows them. Texts that are missing leave the
                batch.

        Raises:
            Exception: Any error of the model; call `clear` then.

        Cost: a pass of the model over one token of each row; if rows join, a pass over their texts.
        """
        known, staying = set(self.texts), set(texts)
        joining = [text for text in texts if text not in known]
        kept = [row for row, text in enumerate(self.texts) if text in staying]
        if not kept:
            self.clear()
        elif len(kept) < len(self.texts):
            order = self._slots.keep(kept)
            self.texts = [self.texts[row] for row in order]
            self._last = [self._last[row] for row in order]
        if self.texts:
            self._step()
        for some in _alike(joining):
            self._join(some)

    def _step(self) -> None:
        """Read the last token of each row, and choose the next."""
        mask, positions = self._slots.step()
        last = torch.tensor(self._last, device=mask.device).unsqueeze(-1)
        self._last = self._read(self.texts, last, mask, positions, self._slots.cache)
        self._slots.stepped()
        self._take_back(range(len(self.texts)))

    def _join(self, joining: list[Text]) -> None:
        """Read the texts of new rows."""
        read = [(*text.token_ids, *text.generated) for text in joining]
        inputs = inputs_of(read, self._pad, self._model.device)
        mask = inputs["attention_mask"]
        positions = (mask.cumsum(dim=-1) - 1).clamp(min=0)
        cache = empty_cache(self._model.config)
        last = self._read(joining, inputs["input_ids"], mask, positions, cache)
        self._slots.add(cache, [len(each) for each in read])
        self._last += last
        self.texts += joining
        self._take_back(range(len(self.texts) - len(joining), len(self.texts)))

    def _take_back(self, rows: Iterable[int]) -> None:
        """Remove the tokens from the cache that guides took back, and read the last remaining one of each text again."""
        for row in rows:
            text = self.texts[row]
            if text.guide is not None and not text.is_over and self._slots.crop(row, _tokens_of(text) - 1):
                self._last[row] = (text.generated or text.token_ids)[-1]

    def _read(
        self, texts: Sequence[Text], input_ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any
    ) -> list[int]:
        """Read some tokens of each row; return the chosen token after them."""
        logits = self._model(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        return self._chooser.choose(texts, logits.float())

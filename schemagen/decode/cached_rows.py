"""Rows that come and go in one batch: each step is a pass over a token of every row, and between two steps rows may change.

Idea: the keys and values of the rows stand in slots of buffers (`CacheSlots`). Rows that join are read in passes of their
own, padded on the left like each other, and then written into free slots. Positions are those of each row's own tokens, as
``generate`` counts them, so what a row is given does not depend on its neighbours (but for rounding).

Invariants: the cache holds the prompt and every token of a row but the last; `texts` are its rows, in the order of the slots.

Rejected: reading a batch again whenever its rows change, which only needs ``generate``: with prompts of sixty tokens and
answers of twenty it cost a third of the throughput.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.cache_slots import CacheSlots, empty_cache
from schemagen.decode.loop import inputs_of
from schemagen.decode.speculation.eligibility import is_plain_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.decode.choosing import Chooser
    from schemagen.decode.text import Text


#: So many positions of padding cost as much as another pass: of the bundled model on a CPU.
_PASS = 64


def can_cache_rows(model: Any) -> bool:
    """Whether the rows of a batch of this model can come and go: its cache is known, and it is told positions and a mask."""
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
    """Put texts that join into groups that are read in one pass each: of like length, where padding would cost more."""
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
        model: Of which `can_cache_rows` holds.
        pad: What prompts are padded with.
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
        self._last: list[int] = []  # of each row: chosen, and not read yet

    def advance(self, texts: Sequence[Text]) -> None:
        """Make one step: every one of some texts gets a token.

        Args:
            texts: The rows from now on. Those that are no rows yet join, with the token that follows their text. Those that are
                no longer among them are taken out.

        Raises:
            Exception: Whatever the model raises; call `clear` then.

        Cost: a pass of the model over one token of each row; where rows join, a pass over their texts.
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

    def _read(
        self, texts: Sequence[Text], input_ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, cache: Any
    ) -> list[int]:
        """Read some tokens of each row, and return the token that was chosen behind them."""
        logits = self._model(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]
        return self._chooser.choose(texts, logits.float())

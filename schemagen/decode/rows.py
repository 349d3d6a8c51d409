"""Texts as a queue of rows: where a text ends another one takes its row, so that no text waits for the longest of a batch.

Idea: the batch of `CachedRows` has a row for each text that is being written. Reading the prompt of a new row is a pass of its
own, so rows join a few at a time: when there is one for every `_JOINING` rows, or after `_LEAST_STEPS` steps.

A step that raises, as without memory, is tried again with half of the texts; they go on from their prompts and the tokens that
they have. A text that is alone and raises has failed.

Invariants: a text that was written by itself and one that was written among others have the same tokens, but for rounding of
the model; a text is yielded once.
"""

from __future__ import annotations

import time
import traceback
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.cached_rows import CachedRows, can_cache_rows
from schemagen.decode.choosing import Chooser
from schemagen.decode.speculation.eligibility import chooses_by_scores

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from schemagen.decode.text import Text

#: Rows join if there is one for so many that are being written,
_JOINING = 8
#: or after so many steps.
_LEAST_STEPS = 8


def can_queue(model: Any, options: Collection[Mapping[str, Any]], batch_size: int | None) -> bool:
    """Whether texts can be written as a queue of rows.

    Args:
        model: With the ``generate`` of transformers.
        options: Of each text, as `schemagen.decode.budget.complete_options` returns them.
        batch_size: Rows at a time, at most; one row at a time is faster read ahead.
    """
    if len(options) < 2 or batch_size == 1 or not can_cache_rows(model):
        return False
    return all(
        chooses_by_scores(model, each)
        and each.get("streamer") is None
        and (each.get("max_new_tokens") is not None or each.get("max_length") is not None)
        for each in options
    )


def written(model: Any, texts: Iterable[Text], most: int, pad: int) -> Iterator[tuple[Text, float]]:
    """Write texts; yield each when it is over, with its share of the seconds of its steps.

    Args:
        model: Of which `can_queue` holds.
        texts: Those with the longest prompts first, so that a lack of memory shows early.
        most: Rows at a time.
        pad: The token that prompts are padded with.
    """
    rows = CachedRows(model, pad, Chooser(str(model.device), pad))
    waiting = deque(sorted(texts, key=lambda text: -len(text.token_ids)))
    seconds: defaultdict[int, float] = defaultdict(float)
    live: list[Text] = []
    steps = 0
    while live or waiting:
        if min(len(waiting), most - len(live)) * _JOINING >= len(live) or steps >= _LEAST_STEPS:
            while waiting and len(live) < most:
                live.append(waiting.popleft())
            steps = 0
        began = time.perf_counter()
        try:
            with torch.inference_mode():
                rows.advance(live)
            steps += 1
        except Exception as error:  # noqa: BLE001 - out of memory, or whatever the model does
            rows.clear()
            # The frames hold the tensors of the failed step, perhaps all the memory that there was.
            traceback.clear_frames(error.__traceback__)
            if len(live) == 1:
                live[0].fail(error)
            most = max(1, len(live) // 2)
            waiting.extendleft(reversed(live[most:]))
            del live[most:]
            steps = 0
        share = (time.perf_counter() - began) / max(1, len(live))
        for text in live:
            seconds[id(text)] += share
        for text in live:
            if text.is_over:
                yield text, seconds[id(text)]
        live = [text for text in live if not text.is_over]

"""The size of the mask at each token of a text, and the complete fields: read again, beside the model.

The tokens are sufficient: a separate matcher reads them once more, so that the thread of the model has no extra work.
"""

from __future__ import annotations

import codecs
import json
from typing import TYPE_CHECKING, Any

from schemagen.events import FieldCompleted
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.streaming.json_reader import JsonReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.events import Path
    from schemagen.grammar.grammar import Grammar


class Trace:
    """Reads a text once more to report its masks and fields.

    Args:
        grammar: The grammar of the text.
        budget: Maximum number of tokens of the text.
    """

    def __init__(self, grammar: Grammar, budget: int) -> None:
        self._matcher: Any = grammar.matcher()
        self._vocabulary = grammar.vocabulary
        self._words = allocate_token_bitmask(1, grammar.vocabulary.size)
        self._left = budget
        self._reader = JsonReader(_value) if grammar.schema is not None else None
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, token_ids: Sequence[int]) -> dict[str, Any]:
        """Return the steps of some tokens, and the fields that they complete.

        Returns:
            ``steps``: for each token its ``id``, its ``text``, how many tokens were ``allowed`` there, and whether it
            was ``forced``; ``fields``: for each field its ``path``, a JSON pointer, and its ``value``.
        """
        fields: list[dict[str, Any]] = []
        steps = [self._step(token_id, fields) for token_id in token_ids if not self._matcher.is_terminated()]
        return {"steps": steps, "fields": fields}

    def _step(self, token_id: int, fields: list[dict[str, Any]]) -> dict[str, Any]:
        self._words.zero_()
        if self._matcher.fill_next_token_bitmask(self._words, 0, budget=self._left):
            allowed = int(sum(int(word & 0xFFFFFFFF).bit_count() for word in self._words[0].tolist()))
        else:
            allowed = self._vocabulary.size
        forced = allowed == 1 or token_id in self._matcher.forced_tokens()[:1]
        self._matcher.accept_token(token_id)
        self._left = max(0, self._left - 1)
        is_end = token_id in self._vocabulary.eos_token_ids
        text = "" if is_end else self._characters.decode(self._vocabulary.decode([token_id]))
        if self._reader is not None and text:
            fields += [_told(event) for event in self._reader.feed(text) if isinstance(event, FieldCompleted)]
        return {"id": token_id, "text": text, "allowed": allowed, "forced": forced}

    def end(self) -> dict[str, Any]:
        """Return the size of the vocabulary, for comparison with the counts of `feed`."""
        return {"vocabulary": self._vocabulary.size}


def _value(path: Path, text: str, parts: Any) -> Any:
    """Return the value of a field, as in JSON."""
    del path
    return json.loads(text) if parts is None else parts


def _told(event: FieldCompleted) -> dict[str, Any]:
    return {"path": str(event.path), "value": event.value}

"""The vocabulary of a model, once for each set of tokens that end a text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import schemagen

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Maximum number of cached sets of stop tokens. Requests of one model mostly have the same.
MOST = 4


class Vocabularies:
    """Reads a tokenizer once, and adds the stop tokens of a request to its EOS ids.

    Threads of vLLM compile side by side: each vocabulary is made once.

    Args:
        tokenizer: As for `schemagen.Vocabulary.from_tokenizer`.
        vocab_size: Width of the model's logits.

    Raises:
        VocabularyError: The bytes of the tokens cannot be known.

    Cost: that of `schemagen.Vocabulary.from_tokenizer`, once; for another set of stop tokens that of the tables of the
        core.
    """

    def __init__(self, tokenizer: Any, vocab_size: int) -> None:
        self.plain = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size)
        self._known: OrderedDict[frozenset[int], schemagen.Vocabulary] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, stop_token_ids: Iterable[int] | None) -> schemagen.Vocabulary:
        """Return the vocabulary in which these tokens end a text, too.

        Args:
            stop_token_ids: The stop tokens of the request; ids beyond the logits of the model are left out.

        A stop token that is text, as a request may name it, is not text in this vocabulary: it only ends a text.
        """
        own = self.plain.eos_token_ids
        more = frozenset(i for i in stop_token_ids or () if 0 <= i < self.plain.size and i not in own)
        if not more:
            return self.plain
        with self._lock:
            found = self._known.get(more)
            if found is None:
                found = self._known[more] = self.plain.with_eos(more)
                if len(self._known) > MOST:
                    self._known.popitem(last=False)
            self._known.move_to_end(more)
            return found

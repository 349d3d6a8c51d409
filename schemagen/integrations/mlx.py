"""mlx-lm: a logits processor for ``mlx_lm.generate`` and its streams, on Apple silicon, or on a CPU.

mlx-lm calls a processor before each token with all tokens so far, which begin with (the end of) the prompt, and the
logits, of shape [1, V]. So the first call shows where the answer begins; the matcher reads the later tokens, and its
mask, one bit per token, goes to the device. mlx is imported where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.checks import check_count
from schemagen.errors import BitmaskShapeError, MatcherError
from schemagen.masks.bitmask import allocate_token_bitmask
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from schemagen.engine.protocol import Constraint


def vocabulary_of(tokenizer: Any, model: Any = None) -> Vocabulary:
    """Return the vocabulary of a model that ``mlx_lm.load`` has loaded, with all its EOS ids.

    Args:
        tokenizer: The second result of ``mlx_lm.load``.
        model: The first result; its logits may be wider than the tokenizer. None if they are not.

    Raises:
        VocabularyError: As `Vocabulary.from_tokenizer`.
    """
    inner = getattr(tokenizer, "_tokenizer", tokenizer)
    arguments = getattr(model, "args", None)
    nested = getattr(arguments, "text_config", None)
    width = getattr(arguments, "vocab_size", None)
    width = nested.get("vocab_size") if width is None and isinstance(nested, dict) else width
    size = None if width is None else max(int(width), len(inner))
    ends = getattr(tokenizer, "eos_token_ids", None)
    return Vocabulary.from_tokenizer(inner, size, eos_token_ids=None if ends is None else {int(end) for end in ends})


class LogitsProcessor:
    """Masks the logits of one text; ``mlx_lm.generate(..., logits_processors=[LogitsProcessor(grammar)])``.

    Args:
        grammar: The grammar of the text, over the vocabulary that `vocabulary_of` returns.
        max_new_tokens: The budget of the call, within which the text will be complete; None if unlimited.

    Raises:
        OptionError: The budget is not a whole number above 0.
    """

    def __init__(self, grammar: Constraint, *, max_new_tokens: int | None = None) -> None:
        self._budget = None if max_new_tokens is None else check_count("max_new_tokens", max_new_tokens)
        self._matcher = grammar.matcher()
        self._words = allocate_token_bitmask(1, grammar.vocabulary.size)
        self._size = grammar.vocabulary.size
        self._seen: int | None = None
        self._written = 0

    def __call__(self, tokens: Any, logits: Any) -> Any:
        """Return the logits with every forbidden token at ``-inf``.

        Args:
            tokens: ``mx.array`` int [T], all tokens so far.
            logits: ``mx.array`` float [1, V] or [V].

        Raises:
            MatcherError: The text holds a token that the grammar forbids, or it is another text.
            BitmaskShapeError: V is smaller than the vocabulary.
        """
        import mlx.core as mx  # pyright: ignore[reportMissingImports]

        self._read(tokens)
        if self._matcher.is_terminated():
            return logits
        width = logits.shape[-1]
        if width < self._size:
            raise BitmaskShapeError(
                f"logits of width {width} for a vocabulary of {self._size} tokens",
                fix="compile the grammar for vocabulary_of(tokenizer, model)",
            )
        left = None if self._budget is None else max(0, self._budget - self._written)
        self._matcher.fill_next_token_bitmask(self._words, 0, budget=left)
        bits = np.unpackbits(self._words.numpy().view(np.uint8)[0], bitorder="little")[: self._size]
        allowed = np.zeros(width, dtype=np.bool_)
        allowed[: self._size] = bits
        return mx.where(mx.array(allowed), logits, mx.array(-np.inf, dtype=logits.dtype))

    def _read(self, tokens: Any) -> None:
        length = tokens.shape[0]
        if self._seen is None:
            self._seen = length
            return
        if length < self._seen:
            raise MatcherError("this processor has begun another text", fix="make a new one for each text")
        for token_id in tokens[self._seen :].tolist():
            if not self._matcher.is_terminated() and not self._matcher.accept_token(token_id):
                raise MatcherError(
                    f"token {token_id} after {self._written} tokens is not in the grammar",
                    why="something else changed the logits after the mask, or this processor has begun another text",
                    fix="put it last, and make a new one for each text",
                    code="foreign-token",
                )
            self._written += 1
        self._seen = length

"""The grammar of one request: SGLang's verbs over a matcher of schemagen, without importing SGLang.

`RequestGrammar` has the methods of SGLang's ``BaseGrammarObject``; `schemagen_sglang.backend` makes it a subclass. A
token that is not allowed is a `ValueError`, as SGLang expects it: it ends the request of the token, and no other.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

import schemagen
from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

_logger = logging.getLogger(__name__)

#: Threads that fill the rows of one step, at least 8 rows each.
FILL_THREADS = 4


class RequestGrammar:
    """The cursor of one request.

    Args:
        grammar: The grammar of the request.
    """

    def __init__(self, grammar: schemagen.Grammar) -> None:
        super().__init__()
        self.grammar = grammar
        self.matcher = grammar.matcher()
        self.current_token: int | None = None

    def accept_token(self, token: int) -> None:
        """Advance by a token; after the end nothing changes.

        Args:
            token: Its id.

        Raises:
            ValueError: It is not allowed.
        """
        if self.matcher.is_terminated():
            return
        self.current_token = token
        if not self.matcher.accept_token(token):
            raise ValueError(f"token {token} is not allowed: {self.matcher.explain(token)}")

    def rollback(self, k: int) -> None:
        """Undo the last ``k`` tokens."""
        if k > 0:
            self.matcher.rollback(k)

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self.matcher.is_terminated()

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:  # noqa: ARG002 - SGLang's
        """Return a bitmask on the CPU in which every token is allowed."""
        return schemagen.allocate_token_bitmask(batch_size, vocab_size)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Write the tokens allowed next into a row; EOS alone after the end, and after a limit stopped the work."""
        _fill([self.matcher], vocab_mask.numpy(), [idx])

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Fill the rows of a batch in one call; other rows are unchanged.

        Args:
            entries: Pairs of a ``row`` and a ``grammar``, which may be one of SGLang's wrappers around ours.
            vocab_mask: The bitmask.
        """
        ours = [entry for entry in entries if isinstance(entry.grammar, RequestGrammar)]
        for entry in entries:
            if not isinstance(entry.grammar, RequestGrammar):
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)
        if ours:
            _fill([entry.grammar.matcher for entry in ours], vocab_mask.numpy(), [entry.row for entry in ours])

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Allow every token in every row."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """Return the bitmask on the device of the logits; the copy does not wait."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Set the logits of tokens that are not allowed to -inf."""
        schemagen.apply_token_bitmask_inplace(logits, vocab_mask)

    def copy(self) -> RequestGrammar:
        """Return a cursor at the start of the same grammar, for another request."""
        return type(self)(self.grammar)

    def try_jump_forward(self, tokenizer: Any) -> tuple[list[int], str] | None:  # noqa: ARG002 - SGLang's
        """Return the text that follows here without any choice, for SGLang to write without asking the model.

        Returns:
            No tokens and the text, which SGLang tokenizes together with the text around it; None if there is a choice.
        """
        if self.matcher.is_terminated():
            return None
        text = _forced_text(self.matcher, self.grammar.vocabulary)
        return ([], text) if text else None

    def jump_forward_str_state(self, helper: tuple[list[int], str]) -> tuple[str, int]:
        """Return the text of `try_jump_forward`, and no state: the matcher knows its own."""
        return helper[1], -1

    def jump_and_retokenize(self, old_output_ids: list[int], new_output_ids: list[int], next_state: int) -> None:  # noqa: ARG002
        """Replace the tokens that were accepted by those of the text with the jump.

        Args:
            old_output_ids: The tokens that were accepted.
            new_output_ids: The tokens of the same text and the jump.
            next_state: Not used.

        Raises:
            ValueError: The new tokens are not a text of the grammar.
        """
        same = 0
        while same < min(len(old_output_ids), len(new_output_ids)) and old_output_ids[same] == new_output_ids[same]:
            same += 1
        self.rollback(len(old_output_ids) - same)
        for token in new_output_ids[same:]:
            self.accept_token(token)

    def __repr__(self) -> str:
        """Show the grammar and the last token."""
        return f"{type(self).__name__}({self.grammar!r}, current_token={self.current_token})"


def _forced_text(matcher: Any, vocabulary: schemagen.Vocabulary) -> str:
    """Return the characters that follow without any choice; half of a character is left to the model."""
    run = getattr(matcher, "forced_run", None)  # of the compiled core: by bytes, where many tokens begin the same text
    return vocabulary.decode(matcher.forced_tokens() if run is None else run()).decode("utf-8", "ignore")


def _fill(matchers: list[Any], bitmask: Any, rows: list[int]) -> None:
    """Fill rows; a grammar stopped by a limit gets EOS alone, and the others are filled.

    SGLang calls this in its scheduler; an exception there would end the requests of all users.
    """
    try:
        schemagen.fill_next_token_bitmasks(matchers, bitmask, rows=rows, threads=FILL_THREADS)
    except SchemagenError as error:
        if len(matchers) > 1:
            for matcher, row in zip(matchers, rows, strict=True):
                _fill([matcher], bitmask, [row])
            return
        _logger.error("a grammar cannot go on, its text ends here: %s", error)  # noqa: TRY400 - the words say where
        words = bitmask[rows[0]].view(np.uint32)
        words[:] = 0
        for token_id in matchers[0].eos_token_ids:
            words[token_id // 32] |= np.uint32(1 << token_id % 32)

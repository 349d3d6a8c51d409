"""The grammar of one request: vLLM's verbs over a matcher of schemagen, without importing vLLM.

`RequestGrammar` has the methods of vLLM's ``StructuredOutputGrammar``; `schemagen_vllm.backend` makes it a subclass.
They are called in the process of the scheduler, where an exception ends the engine with the requests of all users. So
an error in one grammar ends only its own request: its tokens are no longer accepted, which vLLM reports as an error of
that request.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    import schemagen

_logger = logging.getLogger("vllm.schemagen")


class BitmaskView:
    """The bitmask that vLLM allocated, as numpy: a row is filled in 1 us through it, in 20 us through the tensor."""

    def __init__(self) -> None:
        self._last: tuple[Any, Any] = (None, None)

    def of(self, bitmask: torch.Tensor) -> Any:
        """Return the same memory as numpy."""
        tensor, rows = self._last
        if tensor is not bitmask:
            rows = bitmask.numpy()
            self._last = (bitmask, rows)
        return rows


class RequestGrammar:
    """The cursor of one request.

    Args:
        grammar: The grammar of the request.
        view: The bitmask of the engine.
    """

    def __init__(self, grammar: schemagen.Grammar, view: BitmaskView) -> None:
        self._matcher = grammar.matcher()
        self._view = view
        self._left: Callable[[], int | None] | None = None
        self._error: SchemagenError | None = None

    def limit(self, left: Callable[[], int | None]) -> None:
        """End the text within a budget.

        Args:
            left: Returns how many tokens may still come; None if unlimited.
        """
        self._left = left

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Advance by tokens, and return whether all of them are allowed; tokens after the end are ignored.

        Args:
            request_id: For the log.
            tokens: The tokens of the model, or a draft of them.
        """
        if self._error is not None:
            return False
        matcher = self._matcher
        try:
            for place, token in enumerate(tokens):
                if matcher.is_terminated():
                    break
                if not matcher.accept_token(token):
                    matcher.rollback(place)
                    return False
        except SchemagenError as error:
            self._fail(error, request_id)
            return False
        return True

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """Return the longest allowed prefix of some tokens, without moving the cursor.

        Args:
            tokens: A draft; -1 marks a missing token.
        """
        if self._error is not None or self._matcher.is_terminated():
            return []
        ahead = self._matcher.fork()
        try:
            for place, token in enumerate(tokens):
                if ahead.is_terminated() or not ahead.accept_token(token):
                    return tokens[:place]
        except SchemagenError as error:
            self._fail(error)
            return []
        return list(tokens)

    def rollback(self, num_tokens: int) -> None:
        """Undo the last tokens.

        Args:
            num_tokens: How many; those that were accepted after the end do not count.
        """
        if num_tokens > 0:
            self._matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Write the tokens allowed next into a row; after the end, and for a grammar that failed, EOS alone.

        Args:
            bitmask: int32, as `schemagen.allocate_token_bitmask` returns it.
            batch_index: The row.
        """
        rows = self._view.of(bitmask)
        try:
            if self._error is not None or self._matcher.is_terminated():
                self._fill_with_end(rows, batch_index)
            elif self._left is None:
                self._matcher.fill_next_token_bitmask(rows, batch_index)
            else:
                self._matcher.fill_next_token_bitmask(rows, batch_index, budget=self._left())
        except SchemagenError as error:
            self._fail(error)
            self._fill_with_end(rows, batch_index)

    def is_terminated(self) -> bool:
        """Whether EOS was accepted."""
        return self._matcher.is_terminated()

    def reset(self) -> None:
        """Go back to the start."""
        self._matcher.reset()
        self._error = None

    def _fail(self, error: SchemagenError, request_id: str = "") -> None:
        """Keep the first error: the request ends with its next token."""
        if self._error is None:
            self._error = error
            _logger.error("the grammar of request %s cannot go on: %s", request_id or "(unknown)", error)

    def _fill_with_end(self, rows: Any, row: int) -> None:
        """Allow EOS alone in a row."""
        words = rows[row].view(np.uint32)
        words[:] = 0
        for token_id in self._matcher.eos_token_ids:
            words[token_id // 32] |= np.uint32(1 << token_id % 32)

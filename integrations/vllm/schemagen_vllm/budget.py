"""How many tokens a request may still write: so the last of them end a whole text.

Counted from the request, not from the grammar: thoughts before an answer are tokens of the request, and the grammar
never sees them. Only without speculation. There a token is taken from a row that was filled for exactly its place; with
drafts vLLM has been seen to return tokens that are not in that row, so nothing is promised.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from schemagen.errors import BudgetError

if TYPE_CHECKING:
    import schemagen


class Budget:
    """The tokens left to one request, asked for at each step.

    Args:
        request: vLLM's ``Request``; not kept alive.
        max_model_len: How many tokens prompt and text may have together.
    """

    def __init__(self, request: Any, max_model_len: int) -> None:
        self._request = weakref.ref(request)
        self._max_model_len = max_model_len

    def __call__(self) -> int | None:
        """Return how many tokens may still come; None where the request is gone."""
        request = self._request()
        if request is None:
            return None
        of_answer = request.max_tokens - request.num_output_tokens
        of_context = self._max_model_len - request.num_tokens
        return int(max(0, min(of_answer, of_context)))


def budget_of(request: Any, vllm_config: Any) -> Budget | None:
    """Return the budget of a request; None where none is kept: with speculation, or if the request has no bound.

    Args:
        request: vLLM's ``Request``.
        vllm_config: That of the engine.
    """
    if vllm_config.speculative_config is not None or getattr(request, "max_tokens", None) is None:
        return None
    return Budget(request, vllm_config.model_config.max_model_len)


def check_budget(grammar: schemagen.Grammar, max_tokens: int | None) -> None:
    """Refuse a request whose text cannot end within its tokens.

    Args:
        grammar: The grammar of the request.
        max_tokens: Its bound; None if unlimited.

    Raises:
        BudgetError: The shortest text takes more.
    """
    needed = grammar.min_new_tokens or grammar.least_new_tokens
    if max_tokens is not None and max_tokens < needed:
        raise BudgetError(
            f"max_tokens={max_tokens}, and the shortest text takes {needed}",
            why="the text would be cut off whatever the model writes",
            fix=f"give max_tokens={needed} or more",
        )

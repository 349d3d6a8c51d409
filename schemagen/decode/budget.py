"""The token budget of a text: its default, its bounds, and the refusal of one in which no text can end.

The default is 512 tokens plus those of thoughts, and never more than the context of the model holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.decode.row_sampling import effective_option
from schemagen.errors import BudgetError
from schemagen.options.table import DEFAULT_MAX_NEW_TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.protocol import Constraint


def default_budget(grammar: Constraint) -> int:
    """Return the budget of calls that state none: the default plus the tokens of thoughts."""
    return DEFAULT_MAX_NEW_TOKENS + grammar.thought_tokens


def budget_of(model: Any, options: Mapping[str, Any], prompt_tokens: int) -> int | None:
    """Return how many tokens ``generate`` will write at most with completed options; None if nothing limits them.

    Options that are not given come from the ``generation_config`` that is given, then from the model's own, as in
    ``generate``.
    """
    new_tokens, length = (effective_option(model, options, name) for name in ("max_new_tokens", "max_length"))
    if new_tokens is not None:
        return int(new_tokens)
    is_decoder_only = not getattr(model.config, "is_encoder_decoder", False)
    return None if length is None else max(0, int(length) - (prompt_tokens if is_decoder_only else 1))


def check_budget(grammar: Constraint, budget: int | None) -> None:
    """Refuse a budget in which no text can be guaranteed to end.

    Raises:
        BudgetError: It is below `Grammar.min_new_tokens` or, if this is unknown, below a length that no text can go
            under, even if each of its tokens is the longest one.
    """
    if budget is None:
        return
    needed = grammar.min_new_tokens
    if needed is not None and budget < needed:
        raise BudgetError(
            f"a budget of {budget} tokens, and the shortest text takes {needed}",
            why="the text would be cut off whatever the model writes",
            fix=f"give max_new_tokens={needed} or more",
        )
    if needed is None and budget < grammar.least_new_tokens:
        raise BudgetError(
            f"a budget of {budget} tokens, and no text takes fewer than {grammar.least_new_tokens}",
            why="the text would be cut off whatever the model writes; the length of the shortest text was not computed",
            fix="give many more tokens than these, or lower minItems, minLength or the like",
        )


def context_of(model: Any) -> int | None:
    """Return how many tokens the model can read; None if its configuration does not say."""
    config = model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    context = getattr(config, "max_position_embeddings", None)
    return context if isinstance(context, int) else None


def room_of(model: Any, prompt_tokens: int) -> int | None:
    """How many tokens fit into the context of the model after the prompt; None if unknown."""
    context = context_of(model)
    if context is None:
        return None
    if prompt_tokens >= context:
        raise BudgetError(
            f"the prompt has {prompt_tokens} tokens, the context of the model {context}",
            why="there is no room for an answer",
            fix="shorten the prompt: drop earlier messages, tools or their descriptions; for a type, show_schema=False leaves "
            "out its schema",
        )
    return context - prompt_tokens

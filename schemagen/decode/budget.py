"""The token budget of a text, and the options of ``generate`` that it takes: completed and checked before the model works.

Greedy unless the options sample; 512 tokens, plus those of thoughts, unless the options, or a configuration, say
otherwise; never more than the context of the model holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_count
from schemagen.decode.row_sampling import SAMPLING, effective_option
from schemagen.errors import BudgetError, GenerationError, OptionError
from schemagen.options.table import checked_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.protocol import Constraint

#: The budget if neither `max_new_tokens` nor `max_length` is given.
DEFAULT_MAX_NEW_TOKENS = 512
#: transformers warns of these if a generation_config has them without sampling.
WARNED_ABOUT = frozenset({"temperature", "top_k", "top_p"})


def complete_options(
    model: Any, prompt_tokens: int, given: dict[str, Any], *, default: int = DEFAULT_MAX_NEW_TOKENS
) -> dict[str, Any]:
    """Complete the options of ``generate``: greedy, and a budget that fits the model.

    Args:
        model: With the ``generate`` of transformers.
        prompt_tokens: Length of the prompt.
        given: The options of the user; those that are None are left out.
        default: The budget if the user gives none and the model has room for it.

    Raises:
        BudgetError: The prompt fills the context.
        OptionError: As `check_options`.
        GenerationError: The prompt has no tokens.
    """
    given = check_options(given)
    if not prompt_tokens:
        raise GenerationError(
            "the prompt has no tokens",
            why="a model reads at least one before it writes",
            fix="give a text, or a chat template that writes something",
            code="empty-prompt",
        )
    room = _room(model, prompt_tokens)
    options = {key: value for key, value in given.items() if value is not None}
    if options.get("temperature") == 0:
        # The limit of sampling at ever lower temperatures; transformers refuses to divide by it.
        options = {**{key: value for key, value in options.items() if key not in SAMPLING}, "do_sample": False}
    if "do_sample" not in options and "generation_config" not in options:
        options["do_sample"] = not SAMPLING.isdisjoint(options)
    if options.get("do_sample") is False:
        # The sampling defaults of a model's generation_config would only cause warnings.
        options = {**dict.fromkeys(WARNED_ABOUT), **options}
    given_config = options.get("generation_config")
    # Without this generate would stop after 20 tokens.
    if not {"max_new_tokens", "max_length"} & options.keys() and (
        given_config is None or budget_of(model, options, prompt_tokens) is None
    ):
        options["max_new_tokens"] = default if room is None else min(default, room)
    return options


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


def _room(model: Any, prompt_tokens: int) -> int | None:
    """How many tokens fit into the context of the model after the prompt; None if unknown."""
    context = context_of(model)
    if context is None:
        return None
    if prompt_tokens >= context:
        raise BudgetError(
            f"the prompt has {prompt_tokens} tokens, the context of the model {context}",
            why="there is no room for an answer",
            fix="shorten the prompt, or leave out the schema with show_schema=False",
        )
    return context - prompt_tokens


def check_options(given: Mapping[str, Any], tokenizer: Any = None) -> dict[str, Any]:
    """Return options of ``generate`` as transformers takes them; refuse invalid values.

    Args:
        given: The options of the user.
        tokenizer: Added if another option needs it and none is given.

    Raises:
        OptionError: A value is invalid, or the options ask for several results.
    """
    found = checked_values(given)
    if tokenizer is not None and found.get("tokenizer") is None and _needs_tokenizer(found):
        found["tokenizer"] = tokenizer
    wanted = given.get("num_return_sequences")
    if wanted is not None and check_count("num_return_sequences", wanted) != 1:
        raise OptionError(
            f"num_return_sequences={wanted!r:.80}",
            why="it asks for several results, and a call returns one",
            fix=f"give the prompt several times, with seeds: lm.batch([prompt] * {wanted}, spec, temperature=1.0, seed=0)",
            code="one-result",
        )
    return found


def _needs_tokenizer(options: Mapping[str, Any]) -> bool:
    """Whether ``generate`` needs the texts of tokens."""
    config = options.get("generation_config")
    named = ("stop_strings", "assistant_tokenizer")
    return any(options.get(name) is not None for name in named) or getattr(config, "stop_strings", None) is not None


#: Option -> why a stream cannot have it.
_NOT_STREAMED = {
    "num_beams": "which beam is the answer is known at the end alone",
    "retries": "text that was sent cannot be taken back",
    "streamer": "a stream has its own",
}


def check_streamed(given: Mapping[str, Any]) -> None:
    """Refuse options that a stream cannot have.

    Raises:
        OptionError: There is one.
    """
    for name, why in _NOT_STREAMED.items():
        harmless = {"num_beams": 1, "retries": 0}.get(name)
        if given.get(name) is not None and given[name] != harmless:
            raise OptionError(f"{name}={given[name]!r:.80} in a stream", why=why, fix="leave it out, or do not stream")

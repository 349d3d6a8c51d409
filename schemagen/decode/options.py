"""The options of ``generate``, read before the model does any work: their names, their values and the consequences.

Decoding is greedy unless the options sample. An unknown name is refused, with the name that was probably meant.
"""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_count
from schemagen.decode.budget import budget_of, room_of
from schemagen.decode.row_sampling import SAMPLING
from schemagen.errors import GenerationError, OptionError
from schemagen.options import (
    AnswerOptions,
    BatchOptions,
    CallOptions,
    ChatOptions,
    GenerateOptions,
    MapOptions,
    StreamOptions,
    names_of,
)
from schemagen.options.table import DEFAULT_MAX_NEW_TOKENS, FOREIGN, checked_values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_PAGE = "https://huggingface.co/docs/transformers/main_classes/text_generation"

#: Options of one family of methods -> the family.
_ELSEWHERE = {
    **dict.fromkeys(names_of(AnswerOptions), "of methods that return a value, such as lm(...)"),
    **dict.fromkeys(names_of(ChatOptions) - names_of(GenerateOptions), "of lm.chat"),
    **dict.fromkeys(("tool_choice", "parallel"), "of lm.call and lm.chat"),
    **dict.fromkeys(names_of(CallOptions) - names_of(GenerateOptions), "of lm.call"),
    **dict.fromkeys(names_of(MapOptions) - names_of(GenerateOptions), "of lm.map"),
    **dict.fromkeys(names_of(BatchOptions) - names_of(GenerateOptions), "of lm.batch"),
    **dict.fromkeys(names_of(StreamOptions) - names_of(GenerateOptions), "of lm.stream"),
    **dict.fromkeys(("retries", "seed"), "of lm(...), lm.batch and lm.call"),
}


#: transformers warns of these if a generation_config has them without sampling.
WARNED_ABOUT = frozenset({"temperature", "top_k", "top_p"})


def check_names(given: Iterable[str], model: Any, own: Collection[str], *, beside: Collection[str] = ()) -> None:
    """Refuse options that neither a method nor transformers knows.

    Args:
        given: Names of options that are to go to ``model.generate``.
        model: The model whose ``generate`` is called. One that is not transformers' own may accept unknown names.
        own: The names that the method allows among them.
        beside: Other parameters of the method, which the user may have misspelt.

    Raises:
        OptionError: A name is misspelt, or belongs to another library.
    """
    for name in given:
        if name in own or (name not in FOREIGN and (name in _known_to_transformers() or name in _known_to(model))):
            continue
        fix = _fix(name, {*own, *beside}, model)
        if fix:
            raise OptionError(
                f"{name}= is not an option here",
                why="neither this method nor the generate of transformers knows it",
                fix=fix,
            )


def _fix(name: str, own: Collection[str], model: Any) -> str:
    """Return the correction of a name; "" if a foreign ``generate`` may know it."""
    if name in FOREIGN:
        return FOREIGN[name]
    if name in _ELSEWHERE:
        return f"leave it out: it is an option {_ELSEWHERE[name]}"
    foreign = _is_foreign(model)
    close = get_close_matches(name, sorted({*own, *_known_to_transformers()}), n=1, cutoff=0.85 if foreign else 0.6)
    if close:
        return f"did you mean {close[0]}=?"
    return "" if foreign else f"{_PAGE} lists the names"


@lru_cache(maxsize=1)
def _known_to_transformers() -> frozenset[str]:
    """The options of a `GenerationConfig` and the arguments of ``generate``."""
    from transformers import GenerationConfig, GenerationMixin

    of_config = (name for name in vars(GenerationConfig()) if not name.startswith("_"))
    # Taken from the options by name, although not parameters.
    by_name = ("tokenizer", "assistant_tokenizer", "trust_remote_code", "use_model_defaults", "attention_mask")
    return frozenset({*of_config, *by_name, *_arguments(vars(GenerationMixin)["generate"])} - {"inputs"})


def _known_to(model: Any) -> set[str]:
    """The arguments of a model's own methods that options of ``generate`` may reach."""
    methods = ("generate", "forward", "prepare_inputs_for_generation")
    return {argument for name in methods for argument in _arguments(getattr(model, name, None))}


def _arguments(method: Any) -> list[str]:
    """The names of a method's parameters; empty if they cannot be inspected."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(method).parameters
    except (TypeError, ValueError):
        return []
    catching = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    return [name for name, parameter in parameters.items() if parameter.kind not in catching and name != "self"]


def _is_foreign(model: Any) -> bool:
    """Whether the ``generate`` of a model is not that of transformers."""
    from transformers import GenerationMixin

    return getattr(model.generate, "__func__", None) is not vars(GenerationMixin)["generate"]


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
    room = room_of(model, prompt_tokens)
    options = _with_way(given)
    given_config = options.get("generation_config")
    # Without this generate would stop after 20 tokens.
    if not {"max_new_tokens", "max_length"} & options.keys() and (
        given_config is None or budget_of(model, options, prompt_tokens) is None
    ):
        options["max_new_tokens"] = default if room is None else min(default, room)
    return options


def _with_way(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given, with ``do_sample``, unless a ``generation_config`` says how tokens are drawn."""
    options = {key: value for key, value in given.items() if value is not None}
    if options.get("temperature") == 0:
        # The limit of sampling at ever lower temperatures; transformers refuses to divide by it.
        options = {**{key: value for key, value in options.items() if key not in SAMPLING}, "do_sample": False}
    if "do_sample" not in options and "generation_config" not in options:
        options["do_sample"] = not SAMPLING.isdisjoint(options)
    if options.get("do_sample") is False:
        # The sampling defaults of a model's generation_config would only cause warnings.
        options = {**dict.fromkeys(WARNED_ABOUT), **options}
    return options


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
    config = given.get("generation_config")
    for name, why in _NOT_STREAMED.items():
        harmless = {"num_beams": 1, "retries": 0}.get(name)
        value = given.get(name, getattr(config, name, None))
        if value is not None and value != harmless:
            raise OptionError(f"{name}={value!r:.80} in a stream", why=why, fix="leave it out, or do not stream")

"""Check the names of options, and suggest replacements for unknown ones, before the model does any work."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
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
from schemagen.options.table import FOREIGN

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
        if name in _known_to_transformers() or name in own or name in _known_to(model):
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

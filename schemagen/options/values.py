"""The valid values of options of ``generate``, and their form for transformers.

transformers checks some values where they are used, some not at all, and does not accept an ``int`` as a ``float``. So
each value is checked here, before the model works: numbers of any type become those of Python, sequences become lists,
and an invalid value is an error that names the option. Names are checked elsewhere (`schemagen.decode.option_names`);
None means that the option is not given.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any

from schemagen.arguments import as_text, check_count, check_flag, check_number, kind_of
from schemagen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    #: From the name of an option and its value to the value for transformers.
    Reader = Callable[[str, Any], Any]

#: The constraint counts tokens in 64 bits.
_MOST_TOKENS = 2**62


def checked_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with their values in the form for transformers.

    Args:
        given: Options by name. Unknown options, and None, are left unchanged.

    Raises:
        OptionError: A value is invalid, even one of a ``generation_config``.
    """
    found = {name: _checked(name, value) for name, value in given.items()}
    config = found.get("generation_config")
    for name in _READERS if config is not None else ():
        value = getattr(config, name, None)
        if value is not None:
            _READERS[name](f"generation_config.{name}", value)
    return found


def _checked(name: str, value: Any) -> Any:
    reader = _READERS.get(name)
    return value if value is None or reader is None else reader(name, value)


def _wrong(name: str, value: Any, why: str, fix: str) -> OptionError:
    return OptionError(f"{name}={as_text(value)}", why=why, fix=fix)


def _count(least: int) -> Reader:
    return lambda name, value: check_count(name, value, least=least, most=_MOST_TOKENS)


def _number(**bounds: Any) -> Reader:
    return lambda name, value: check_number(name, value, **bounds)


def _temperature(name: str, value: Any) -> float:
    fix = "give a number above 0, or 0 for greedy"
    found = check_number(name, value, least=0, why="it divides the logits", fix=fix)
    why = f"only 0 and numbers from {_COLDEST} to {_HOTTEST:.0f} make sense: others overflow"
    return found and check_number(name, value, least=_COLDEST, most=_HOTTEST, why=why, fix=fix)


def _early_stopping(name: str, value: Any) -> bool | str:
    if isinstance(value, str) and value == "never":
        return value
    return check_flag(name, value, fix="give True, False or 'never'")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, f"it is {kind_of(value)}", "give one of the names that transformers has")
    return value


def _texts(name: str, value: Any) -> list[str]:
    """Read texts at which to stop; a single text is allowed, too."""
    texts = [value] if isinstance(value, str) else _items(value)
    if not texts or not all(isinstance(text, str) and text for text in texts):
        why = "an empty text is everywhere" if texts and "" in texts else "a text is a str"
        raise _wrong(name, value, why, "give a text, or a list of texts, that are not empty")
    return list(texts)


def _token_ids(name: str, value: Any) -> list[int]:
    """Read token ids from a list, a tuple, or an array."""
    items = _items(value)
    numbers = None if items is None else [_token_id(item) for item in items]
    if numbers is None or None in numbers:
        raise _wrong(name, value, "a token is a whole number, 0 or more", "give a list of token ids, as [5, 17]")
    return [number for number in numbers if number is not None]


def _token_id(value: Any) -> int | None:
    """Return a token id as an int; None if it is not one."""
    try:
        number = -1 if isinstance(value, bool) else index(value)
    except TypeError:
        return None
    return number if number >= 0 else None


def _items(value: Any) -> list[Any] | None:
    """Return the items of an ordered iterable; None for anything else."""
    if isinstance(value, (str, bytes, Mapping, set, frozenset)) or not isinstance(value, Iterable):
        return None
    try:
        return list(value)
    except TypeError:  # an array without dimensions
        return None


def _sequences(name: str, value: Any) -> list[list[int]]:
    items = _items(value)
    if not items:
        why = "there is none in it" if items is not None else f"it is {kind_of(value)}"
        raise _wrong(name, value, why, "give a list of lists of token ids, as [[5], [17, 3]]; or leave it out")
    found = [_token_ids(name, item) for item in items]
    if not all(found):
        raise _wrong(name, value, "a sequence of no tokens is everywhere", "leave empty lists out")
    return found


def _biases(name: str, value: Any) -> dict[tuple[int, ...], float]:
    """Read biases of token ids from a dict, or from a list of pairs, as files have them."""
    pairs = list(value.items()) if isinstance(value, Mapping) else _items(value)
    fix = "give a dict from tuples of token ids to numbers, as {(5,): -2.0}; or leave it out"
    if not pairs or not all(len(_items(pair) or ()) == 2 for pair in pairs):
        raise _wrong(name, value, "it has no pairs of token ids and a number", fix)
    found = {
        tuple(_token_ids(name, ids)): check_number(name, bias, finite=False, below=math.inf, fix=fix)
        for ids, bias in pairs
    }
    if () in found:
        raise _wrong(name, value, "a sequence of no tokens is everywhere", fix)
    return found


def _callables(instead: str) -> Reader:
    """Return a reader of lists of functions or objects that can be called."""

    def read(name: str, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            why = "there may be several" if callable(value) else f"it is {kind_of(value)}"
            raise _wrong(name, value, why, f"give a list: {name}=[{instead}]")
        wrong = next((item for item in value if isinstance(item, type) or not callable(item)), None)
        if wrong is not None:
            why = f"{as_text(wrong)} is {'a class' if isinstance(wrong, type) else 'nothing that can be called'}"
            raise _wrong(name, value, why, f"give objects: {name}=[{instead}]")
        return value if isinstance(value, list) else list(value)

    return read


def _object(methods: tuple[str, ...], fix: str) -> Reader:
    """Return a reader of objects that have some attributes."""

    def read(name: str, value: Any) -> Any:
        missing = next((method for method in methods if not hasattr(value, method)), None)
        if missing is not None or isinstance(value, type):
            why = "it is a class" if isinstance(value, type) else f"{kind_of(value)} has no {missing!r}"
            raise _wrong(name, value, why, fix)
        return value

    return read


_CONFIG = "give each option by its name, lm(prompt, spec, **options), or give transformers.GenerationConfig(**options)"
_TOKENIZER = _object(
    ("get_vocab", "decode"), "give a tokenizer of transformers, as AutoTokenizer.from_pretrained returns"
)
_SHARE = {"least": 0, "most": 1}
#: Beyond them float32 overflows.
_COLDEST, _HOTTEST, _LONGEST = 1e-6, 1e6, 50

#: Option -> how its value is read.
_READERS: dict[str, Reader] = {
    **dict.fromkeys(("max_new_tokens", "max_length", "num_beams", "prompt_lookup_num_tokens"), _count(1)),
    **dict.fromkeys(("min_new_tokens", "min_length", "no_repeat_ngram_size", "top_k"), _count(0)),
    **dict.fromkeys(("do_sample", "use_cache"), check_flag),
    **dict.fromkeys(("top_p", "min_p"), _number(**_SHARE)),
    **dict.fromkeys(("typical_p", "top_h"), _number(above=0, most=1)),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), _number(least=0, below=1)),
    "max_time": _number(above=0, finite=False),
    "temperature": _temperature,
    "length_penalty": _number(least=-_LONGEST, most=_LONGEST),
    "early_stopping": _early_stopping,
    "repetition_penalty": _number(above=0),
    "penalty_alpha": _number(**_SHARE),
    "guidance_scale": _number(),
    "bad_words_ids": _sequences,
    "sequence_bias": _biases,
    "suppress_tokens": _token_ids,
    "stop_strings": _texts,
    "cache_implementation": _text,
    "assistant_model": _object(
        ("generate", "config"),
        "give a model of transformers, as AutoModelForCausalLM.from_pretrained returns, or lm.model",
    ),
    "tokenizer": _TOKENIZER,
    "assistant_tokenizer": _TOKENIZER,
    "generation_config": _object(("from_model_config", "max_length"), _CONFIG),
    "logits_processor": _callables("processor"),
    "stopping_criteria": _callables("criterion"),
    "streamer": _object(("put", "end"), "give an object with put(tokens) and end(), as transformers.TextStreamer"),
}

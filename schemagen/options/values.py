"""The kinds of values that options have: each reads a value, or refuses it by the name of the option."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any, get_args

from schemagen.checks import as_text, check_count, check_flag, check_number, kind_of
from schemagen.errors import OptionError
from schemagen.options import Rendering, Tokenization

if TYPE_CHECKING:
    from collections.abc import Callable

    #: From the name of an option and its value to the value for transformers.
    Reader = Callable[[str, Any], Any]

#: The constraint counts tokens in 64 bits.
_MOST_TOKENS = 2**62
#: Temperatures beyond them overflow float32.
COLDEST, HOTTEST = 1e-6, 1e6


def _wrong(name: str, value: Any, why: str, fix: str) -> OptionError:
    return OptionError(f"{name}={as_text(value)}", why=why, fix=fix)


def as_count(least: int, most: int | None = _MOST_TOKENS) -> Reader:
    """Return a reader of whole numbers between two bounds."""
    return lambda name, value: check_count(name, value, least=least, most=most)


def a_number(**bounds: Any) -> Reader:
    """Return a reader of numbers within bounds, as for `schemagen.checks.check_number`."""
    return lambda name, value: check_number(name, value, **bounds)


def as_temperature(name: str, value: Any) -> float:
    """Read a temperature."""
    fix = "give a number above 0, or 0 for greedy"
    found = check_number(name, value, least=0, why="it divides the logits", fix=fix)
    why = f"only 0 and numbers from {COLDEST} to {HOTTEST:.0f} make sense: others overflow"
    return found and check_number(name, value, least=COLDEST, most=HOTTEST, why=why, fix=fix)


#: Readers of a probability, of one below 1, and of one above 0.
SHARE, CUTOFF, POSITIVE_SHARE = a_number(least=0, most=1), a_number(least=0, below=1), a_number(above=0, most=1)


def as_early_stopping(name: str, value: Any) -> bool | str:
    """Read a flag, or "never"."""
    if isinstance(value, str) and value == "never":
        return value
    return check_flag(name, value, fix="give True, False or 'never'")


def as_name(name: str, value: Any) -> str:
    """Read a name that transformers checks."""
    if not isinstance(value, str):
        raise _wrong(name, value, f"it is {kind_of(value)}", "give one of the names that transformers has")
    return value


def as_texts(name: str, value: Any) -> list[str]:
    """Read texts at which to stop; a single text is allowed, too."""
    texts = [value] if isinstance(value, str) else _items(value)
    if not texts or not all(isinstance(text, str) and text for text in texts):
        why = "an empty text is everywhere" if texts and "" in texts else "a text is a str"
        raise _wrong(name, value, why, "give a text, or a list of texts, that are not empty")
    return list(texts)


def as_token_ids(name: str, value: Any) -> list[int]:
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


def as_sequences(name: str, value: Any) -> list[list[int]]:
    """Read sequences of token ids."""
    items = _items(value)
    if not items:
        why = "there is none in it" if items is not None else f"it is {kind_of(value)}"
        raise _wrong(name, value, why, "give a list of lists of token ids, as [[5], [17, 3]]; or leave it out")
    found = [as_token_ids(name, item) for item in items]
    if not all(found):
        raise _wrong(name, value, "a sequence of no tokens is everywhere", "leave empty lists out")
    return found


def as_biases(name: str, value: Any) -> dict[tuple[int, ...], float]:
    """Read biases of token ids from a dict, or from a list of pairs, as files have them."""
    pairs = list(value.items()) if isinstance(value, Mapping) else _items(value)
    fix = "give a dict from tuples of token ids to numbers, as {(5,): -2.0}; or leave it out"
    if not pairs or not all(len(_items(pair) or ()) == 2 for pair in pairs):
        raise _wrong(name, value, "it has no pairs of token ids and a number", fix)
    found = {
        tuple(as_token_ids(name, ids)): check_number(name, bias, finite=False, below=math.inf, fix=fix)
        for ids, bias in pairs
    }
    if () in found:
        raise _wrong(name, value, "a sequence of no tokens is everywhere", fix)
    return found


def as_callables(instead: str) -> Reader:
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


def an_object(methods: tuple[str, ...], fix: str) -> Reader:
    """Return a reader of objects that have some attributes."""

    def read(name: str, value: Any) -> Any:
        missing = next((method for method in methods if not hasattr(value, method)), None)
        if missing is not None or isinstance(value, type):
            why = "it is a class" if isinstance(value, type) else f"{kind_of(value)} has no {missing!r}"
            raise _wrong(name, value, why, fix)
        return value

    return read


def check_tokenization(value: Any) -> None:
    """Refuse a wrong ``tokenization``.

    Raises:
        OptionError: The value is none of the two words.
    """
    if not isinstance(value, str) or value not in get_args(Tokenization):
        raise OptionError(
            f"tokenization={value!r:.80}",
            why="an answer may be spelt by any tokens, or by those that the tokenizer writes",
            fix='give "any" or "canonical"',
        )


def check_show_schema(value: Any) -> None:
    """Refuse a wrong ``show_schema``.

    Raises:
        OptionError: The value is neither True nor False, nor the name of a rendering.
    """
    if isinstance(value, bool) or (isinstance(value, str) and value in get_args(Rendering)):
        return
    names = ", ".join(map(repr, get_args(Rendering)))
    raise OptionError(
        f"show_schema={value!r:.80}",
        why=f"it is neither True nor False, nor one of {names}",
        fix="give True or False, or one of these names; words of your own about the answer go into the prompt",
    )

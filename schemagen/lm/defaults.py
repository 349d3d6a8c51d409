"""Options that are given in advance of a call: to a `Generator`, or to a structured class."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError
from schemagen.options import BatchOptions, GenerateOptions, StreamOptions, names_of
from schemagen.options.table import FOREIGN, checked_values

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Options of batches and streams apply to batches and streams; other calls refuse them.
_OWN = names_of(GenerateOptions) | names_of(BatchOptions) | names_of(StreamOptions)
#: Below this similarity, names of transformers' options would count as misspelt ones of ours.
_ALIKE = 0.85


def check_defaults(options: Mapping[str, Any], lm: Any) -> None:
    """Refuse options that every call would refuse.

    Args:
        options: As for `LanguageModel.generate`, `batch` or `stream`.
        lm: The model; None if it is not known yet. Then the options of transformers are not checked, because that would
            import it.

    Raises:
        OptionError: An option is unknown, or its value is invalid.
    """
    model = getattr(lm, "model", None)
    if model is None:
        _check_names(options)
    else:
        from schemagen.decode.option_names import check_names

        check_names(options, model, _OWN)
    checked_values(options)


def _check_names(options: Mapping[str, Any]) -> None:
    for name in options:
        close = get_close_matches(name, _OWN, n=1, cutoff=_ALIKE)
        if name in _OWN or (name not in FOREIGN and not close):
            continue
        raise OptionError(
            f"{name}= is not an option here",
            why="no method takes it",
            fix=FOREIGN.get(name) or f"did you mean {close[0]}=?",
        )

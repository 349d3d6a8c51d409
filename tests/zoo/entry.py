"""One animal of the zoo: a type, valid values of it, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import TypeAdapter

Values = SearchStrategy[Any]


def dump(adapter: TypeAdapter[Any], value: Any) -> bytes:
    """Write a value as pydantic does."""
    return adapter.dump_json(value, by_alias=True)


@dataclass(frozen=True)
class Entry:
    """A type of pydantic's documentation.

    `values` are Python values of the type (Hypothesis finds them by the type if there are none); `write` is how they
    become JSON; `departure` says why that is not what `TypeAdapter.dump_json` writes, or what is left out of `values`.
    """

    type: Any
    values: Values | None = None
    write: Callable[[TypeAdapter[Any], Any], bytes] = dump
    departure: str = ""

    @property
    def strategy(self) -> Values:
        """The values to try."""
        return st.from_type(self.type) if self.values is None else self.values


def texts_of(*texts: str) -> Values:
    """A few values by hand."""
    return st.sampled_from(texts)


def raw(_: TypeAdapter[Any], value: Any) -> bytes:
    """Write a value whose own dump is something else (a secret, a number as a string)."""
    return value if isinstance(value, bytes) else str(value).encode()


#: 20 digits before the point are the soft cap, and Python's float reads 15 without loss.
INTS = st.integers(-(10**20) + 1, 10**20 - 1)
TEXT = st.text(max_size=12)
KEYS = st.text(max_size=6)
_SIZES = st.floats(1e-200, 1e-3) | st.floats(1e-4, 1e200)
#: Exponents stay where a text is certainly a finite float64.
FLOATS = st.one_of(st.just(0.0), _SIZES, _SIZES.map(lambda x: -x))

"""Frozen values that work out their hash once.

Expressions are trees that serve as keys of many dictionaries, and the hash of a frozen dataclass is computed anew,
down to the leaves, at each look-up: half the time of a compilation went there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Mark a decorator for type checkers only: Python 3.10 does not have it."""
        return lambda decorator: decorator


T = TypeVar("T")


class HashedOnce:
    """Base of a slotted dataclass under `hashed_once`: the place where the hash is kept.

    It is not a field: neither compared nor shown, nor pickled, since the hashes of texts differ between processes.
    """

    __slots__ = ("_hash",)
    _hash: int


def hashed_once(cls: type[T]) -> type[T]:
    """Let a frozen dataclass remember the hash that its generated `__hash__` gives.

    Args:
        cls: A frozen, slotted dataclass derived from `HashedOnce`.
    """
    compute = cls.__hash__

    def remembered(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            value = compute(self)
            object.__setattr__(self, "_hash", value)
            return value

    cls.__hash__ = remembered  # type: ignore[method-assign]
    return cls


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(cls: type[T]) -> type[T]:
    """Make a slotted dataclass that is frozen for type checkers alone: so it is made in less than half the time."""
    return hashed_once(dataclass(slots=True, unsafe_hash=True)(cls))

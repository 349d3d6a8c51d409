"""Flag enumerations: the integers that stand for combinations of their members.

``Permission(3)`` is ``READ | WRITE``, and pydantic reads 3 as that. The boundary of a flag may allow other integers as well
(``KEEP`` any, ``CONFORM`` those whose extra bits are dropped); they are not offered.
"""

from __future__ import annotations

from enum import Flag
from typing import TYPE_CHECKING, Any

from schemagen.types.refusals import RefusedTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Combinations that are listed one by one: those of 12 members.
_MAX_LISTED = 4096


def combinations(cls: Any, values: Sequence[Any]) -> dict[str, Any] | None:
    """Return the schema of the combinations of a flag; None if the enumeration is no flag of non-negative integers.

    Args:
        cls: The enumeration.
        values: The values of its members.

    Raises:
        RefusedTypeError: There are too many combinations to list, and they are not simply all integers up to a largest one.
    """
    if not (isinstance(cls, type) and issubclass(cls, Flag)):
        return None
    if not all(isinstance(value, int) and value >= 0 for value in values):
        return None
    found = {0}
    for value in values:
        found |= {other | value for other in found}
        if len(found) > _MAX_LISTED:
            return _range(cls, values)
    return {"enum": sorted(found)}


def _range(cls: type[Flag], values: Sequence[int]) -> dict[str, Any]:
    """All integers up to the combination of all members; each is a combination if every one of its bits is a member."""
    largest = 0
    for value in values:
        largest |= value
    bits = [1 << k for k in range(largest.bit_length())]
    if not set(bits) <= set(values):
        raise RefusedTypeError(
            f"the flag {cls.__name__} has more than {_MAX_LISTED} combinations of its {len(values)} members, "
            "and they are not all integers from 0 up",
            fix="use a list of an Enum with these members",
        )
    return {"type": "integer", "minimum": 0, "maximum": largest}

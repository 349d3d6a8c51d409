"""The score of an answer: its right fields, and confidence intervals for shares."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

K = TypeVar("K")
#: 95 % of a normal distribution lie within this many standard deviations.
_Z = 1.959963984540054
_NOTHING = {"", "null", "none", "n/a", "na", "unknown", "not provided", "not specified", "not mentioned", "not given"}


def fields_right(answer: Any, right: Any, uncounted: Collection[str] = ()) -> dict[str, bool]:
    """Return for each field of the right answer whether an answer has it right.

    Texts are compared without case and surrounding whitespace, numbers and booleans by value, also if they were written as
    texts. A missing field, and a text such as "unknown", count as null. Fields that the right answer does not have are ignored.
    """
    given = dict(_leaves(answer, ""))
    wanted = {path: value for path, value in _leaves(right, "") if path.removeprefix("/") not in uncounted}
    if isinstance(right, dict) and not isinstance(answer, dict):
        return dict.fromkeys(wanted, False)
    return {path: same(given.get(path), value) for path, value in wanted.items()}


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}/{key}")]
    return [(path, value)]


def same(given: Any, right: Any) -> bool:
    """Whether a value is the right one, leniently."""
    if right is None:
        return given is None or (isinstance(given, str) and given.strip().lower() in _NOTHING)
    if isinstance(right, bool):
        return given is right or (isinstance(given, str) and given.strip().lower() == str(right).lower())
    if isinstance(right, (int, float)):
        number = _number(given)
        return number is not None and math.isclose(number, right, rel_tol=1e-9)
    if isinstance(right, str):
        return isinstance(given, (str, int, float)) and not isinstance(given, bool) and _plain(given) == _plain(right)
    return bool(given == right)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"\W*(-?\d[\d,]*(?:\.\d+)?)\W*[A-Za-z]*\W*", value.strip())
        return float(match.group(1).replace(",", "")) if match else None
    return float(value)


def _plain(value: Any) -> str:
    return " ".join(str(value).casefold().split()).strip(" .\"'")


def wilson(hits: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson (1927) for a share; (0, 1) if ``count`` is 0.

    The hits may be a sum of shares, for which the interval is wider than necessary.
    """
    if not count:
        return 0.0, 1.0
    share, z2 = hits / count, _Z * _Z
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def paired(first: Mapping[K, float], second: Mapping[K, float]) -> tuple[float, float, float]:
    """Return the mean difference of two scores of the same examples, first minus second, and its 95 % interval.

    The differences are taken per example, because both ways answered the same examples: the interval is narrower than that of
    two separate shares.
    """
    differences = [first[key] - second[key] for key in first if key in second]
    count = len(differences)
    if not count:
        return 0.0, -1.0, 1.0
    mean = sum(differences) / count
    if count == 1:
        return mean, -1.0, 1.0
    deviation = math.sqrt(sum((value - mean) ** 2 for value in differences) / (count - 1) / count)
    return mean, mean - _Z * deviation, mean + _Z * deviation

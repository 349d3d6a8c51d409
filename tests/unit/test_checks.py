"""Numbers that users pass."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from schemagen.checks import check_bounds, check_count, check_flag, check_number, check_seconds, check_seed, kind_of
from schemagen.errors import OptionError


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_whole_numbers_pass(value: Any) -> None:
    """Also those of numpy; what comes back is an int."""
    assert type(check_count("retries", value)) is int


@pytest.mark.parametrize("value", [0, -1, 1.5, "9", True, None])
def test_other_counts_are_refused(value: Any) -> None:
    """The error names the argument and what was given."""
    with pytest.raises(OptionError) as caught:
        check_count("retries", value)
    assert caught.value.fact == f"retries={value!r}"
    assert caught.value.fix == "give a whole number, 1 or more"


def test_counts_may_have_a_largest_value() -> None:
    """A number that nobody could print is named by its length."""
    assert check_count("top_k", 9, most=9) == 9
    with pytest.raises(OptionError, match="top_k=a number of 16610 bits"):
        check_count("top_k", 10**5000, most=9)


@pytest.mark.parametrize(
    ("low", "high", "least_high"), [(0, None, 0), (0, 0, 0), (2, 2, 1), (np.int64(1), np.int8(3), 1)]
)
def test_bounds_of_a_count(low: Any, high: Any, least_high: int) -> None:
    """Some number is within them."""
    check_bounds(low, high, least_high=least_high)


@pytest.mark.parametrize(
    ("low", "high", "least_high", "fact"),
    [
        (-1, None, 0, "min=-1"),
        (None, 1, 0, "min=None"),
        (0, 1.5, 0, "max=1.5"),
        (0, 0, 1, "max=0"),
        (3, 2, 0, "min=3, max=2"),
    ],
)
def test_other_bounds_are_refused(low: Any, high: Any, least_high: int, fact: str) -> None:
    """The error names the one that is wrong, or both."""
    with pytest.raises(OptionError) as caught:
        check_bounds(low, high, least_high=least_high)
    assert caught.value.fact == fact


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int8(1), Decimal("0.5"), Fraction(1, 2)])
def test_real_numbers_become_floats(value: Any) -> None:
    """Whatever their type."""
    assert type(check_number("top_p", value, above=0, most=1)) is float


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("0.5", "it is a str"),
        (True, "it is a bool"),
        (1j, "it is a complex"),
        (math.nan, "it is not a finite number"),
        (Decimal("sNaN"), "it is not a finite number"),
        (math.inf, "it is not a finite number"),
        (10**400, "it is not a finite number"),
        (0, "only numbers above 0 and at most 1 make sense"),
        (1.5, "only numbers above 0 and at most 1 make sense"),
    ],
)
def test_other_numbers_are_refused(value: Any, why: str) -> None:
    """The error names the bounds, and says what to give."""
    with pytest.raises(OptionError, match="top_p=") as caught:
        check_number("top_p", value, above=0, most=1)
    assert caught.value.why == why
    assert caught.value.fix == "give a number above 0 and at most 1"


@pytest.mark.parametrize("value", ["no", None, 0, 1, [], np.array([True])])
def test_flags_are_true_or_false(value: Any) -> None:
    """Nothing else counts as one of them; numpy has its own."""
    assert check_flag("strict", np.False_) is False
    with pytest.raises(OptionError, match="strict="):
        check_flag("strict", value)


def test_seeds_are_whole_numbers_or_none() -> None:
    """Negative ones are as good as others."""
    assert [check_seed(seed) for seed in (None, -1, np.uint8(3))] == [None, -1, 3]
    with pytest.raises(OptionError, match="seed='x'"):
        check_seed("x")


@pytest.mark.parametrize("value", [0, -1, "1", True, float("nan")])
def test_times_are_above_zero(value: Any) -> None:
    """A time that has run out before it begins is refused, and so is what is no number."""
    check_seconds("timeout_s", None)
    check_seconds("timeout_s", 0.1)
    with pytest.raises(OptionError, match="timeout_s="):
        check_seconds("timeout_s", value)


def test_old_handlers_catch_them() -> None:
    """Whoever catches ValueError catches these."""
    with pytest.raises(ValueError, match="batch_size=0"):
        check_count("batch_size", 0)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(3, "an int"), ("x", "a str"), (None, "None"), (object(), "an object"), (int, "a type"), ([], "a list")],
)
def test_kinds_have_their_article(value, kind):
    """As a sentence needs them."""
    assert kind_of(value) == kind

"""Numbers that users pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from schemagen.arguments import check_count, check_seconds, check_seed
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

"""`Limits(max_seconds=...)` stops a compilation, whatever the spec: the processor's time is measured."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import pytest

import schemagen
from schemagen import Limits, errors
from tests.property.hostile_specs import Hostile, warm_up

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES = schemagen.Vocabulary.byte_vocabulary()
#: What a compilation may take beyond its limit: between two looks at the clock, and for what is no loop.
FACTOR, SLACK = 1.5, 0.1


def seconds_of(make: Callable[[], Any], max_seconds: float) -> float:
    """Return the time of the processor that a compilation takes, whether it ends well or in an error of ours."""
    seconds = 0.0
    limits = Limits(max_seconds=max_seconds)
    with contextlib.suppress(errors.SchemagenError):
        spec = make()
        began = time.process_time()
        try:
            schemagen.compile(spec, BYTES, cache=None, limits=limits)
        finally:
            seconds = time.process_time() - began
    return seconds


@pytest.mark.parametrize(
    ("max_seconds", "count", "largest"),
    [(0.2, 22, 0.3), pytest.param(1.0, 200, 1.0, marks=pytest.mark.slow)],
)
def test_no_compilation_misses_the_clock(max_seconds: float, count: int, largest: float) -> None:
    """Specs of every kind that ask for much work end in time."""
    warm_up(BYTES)
    slow = {}
    for name, spec in Hostile(20, largest).draw(count):
        seconds = seconds_of(spec, max_seconds)
        if seconds > FACTOR * max_seconds + SLACK:
            slow[name] = round(seconds, 2)
    assert not slow

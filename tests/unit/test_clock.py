"""The clock of a call."""

from __future__ import annotations

import sys
import threading
import time

import pytest

import schemagen
from schemagen import Lark, Limits, Regex
from schemagen.errors import LimitError
from schemagen.threads.clock import Deadline, poll, seconds_left, spent

BYTES = schemagen.Vocabulary.byte_vocabulary()


def test_nothing_limits_what_is_no_call():
    """Outside of a deadline a poll does nothing."""
    poll()
    assert (spent(), seconds_left()) == (0.0, float("inf"))


def test_the_nearest_end_counts():
    """A deadline within another one ends no later, and what was before counts again afterwards."""
    with Deadline(0.001):
        time.sleep(0.002)
        with Deadline(100), pytest.raises(LimitError, match=r"limit 0\.001 s"):
            poll()
        with pytest.raises(LimitError):
            Deadline(100).check()
    poll()
    with Deadline(100):
        with Deadline(0.001):
            time.sleep(0.002)
            with pytest.raises(LimitError):
                poll()
        poll()
        assert 0 < seconds_left() < 100
        assert spent() > 0


def test_each_thread_has_its_own():
    """The deadline of one thread is none of another's."""
    seen = []
    with Deadline(100):
        thread = threading.Thread(target=lambda: seen.append(seconds_left()))
        thread.start()
        thread.join()
    assert seen == [float("inf")]


WORDS = " | ".join(f'"kw{number}"' for number in range(1000))


@pytest.mark.parametrize(
    "spec",
    [
        Regex(r"\b\w+\b.*" * 250),
        Lark(f"start: (KW NAME)+\nKW: {WORDS}\nNAME: /[a-z]+/\n%ignore / +/"),
    ],
    ids=["word boundaries", "a terminal of many literals"],
)
def test_boundaries_and_keywords_are_read_in_time(spec):
    """They took 31 and 55 seconds, and now take less than one: within the default limit."""
    assert schemagen.compile(spec, BYTES, cache=None).matcher().allowed_tokens()


@pytest.mark.parametrize(
    "pattern",
    ["(" + "ab|" * 100_000 + ")", "|".join(["ab"] * 333_000), r"(?:\b\w+\b.?){30}" * 30],
    ids=lambda text: text[:12],
)
def test_patterns_end_in_time(pattern):
    """A pattern that takes long is stopped, wherever the time is spent."""
    began = time.process_time()
    with pytest.raises(LimitError, match=r"0\.2 s"):
        schemagen.compile(Regex(pattern), BYTES, cache=None, limits=Limits(max_seconds=0.2))
    assert time.process_time() - began < 2  # a collection of garbage may come in between


def test_tables_of_lark_end_in_time():
    """A short grammar whose LALR tables have states without end: lark, which knows no clock, is stopped."""
    steps = "\n".join(f'r{number}: "a" r{number + 1} | "b" r{number + 1}' for number in range(1, 20))
    grammar = Lark(f'start: "a" start | "b" start | "a" r1\n{steps}\nr20: "c"', parser="lalr")
    began = time.process_time()
    with pytest.raises(LimitError, match=r"0\.3 s"):
        schemagen.compile(grammar, BYTES, cache=None, limits=Limits(max_seconds=0.3))
    assert time.process_time() - began < 1
    assert sys.gettrace() is None

"""`lm.map`: any number of prompts, read a window at a time, answered in order."""

import itertools

import pytest

import schemagen
from schemagen import Failure, OptionError, Regex
from schemagen.lm.batch import WindowSize
from schemagen.lm.progress import ProgressBar, left_of, speed_of

SPEC = Regex("[a-c]{2,3}")


def test_it_yields_what_a_batch_returns(lm):
    """Values and failures are those of `batch`, with the numbers and seeds of their rows, whatever the windows are."""
    prompts = ["one", "x" * 5000, "three", [], "five", "six", "seven"]
    expected = lm.batch(prompts, SPEC, seed=3, temperature=2.0)
    for window in (1, 2, 3, 100):
        found = list(lm.map(iter(prompts), SPEC, seed=3, temperature=2.0, window=window))
        assert [each for each in found if isinstance(each, str)] == [e for e in expected if isinstance(e, str)]
        failures = [(at, each.index, each.error.code) for at, each in enumerate(found) if isinstance(each, Failure)]
        assert failures == [(1, 1, "budget-exhausted"), (3, 3, "empty-prompt")]
    texts = [each.text for each in lm.run_map(prompts[4:], SPEC, seed=7, temperature=2.0)]
    assert texts == expected[4:]


def test_prompts_are_read_when_their_window_comes(lm):
    """Nothing is read before the first value is asked for, and then one window; prompts may go on for ever."""
    read = []

    def prompts():
        for number in itertools.count():
            read.append(number)
            yield f"prompt {number}"

    found = schemagen.Generator(lm, SPEC).map(prompts(), window=3)
    assert read == []
    next(found)
    assert read == [0, 1, 2]
    assert len(list(itertools.islice(found, 2))) == 2
    assert read == [0, 1, 2]
    next(found)
    assert read == list(range(6))


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (("a prompt", SPEC), {}, "single str"),
        (({"role": "user"}, SPEC), {}, "single dict"),
        ((["x"], ["a", "b"]), {}, "spec of a map is a list"),
        ((["x"], SPEC), {"window": 0}, "window=0"),
        ((["x"], SPEC), {"seed": "1"}, "seed"),
        ((["x"], SPEC), {"windw": 3}, "windw"),
        ((["x"],), {}, "needs a type or schema"),
    ],
)
def test_misuse_is_refused_at_once(lm, given, options, words):
    """The call raises it, not the first value."""
    with pytest.raises(OptionError, match=words):
        lm.map(*given, **options)


def test_other_doors_name_the_door_of_a_window(lm):
    """`window` is an option of `map` alone."""
    with pytest.raises(OptionError, match="window") as refused:
        lm("x", SPEC, window=3)
    assert "lm.map" in str(refused.value)


def test_windows_take_about_twenty_seconds():
    """By the time of the last one, and at most four times its size; never less than a batch. A stated size stays."""
    size = WindowSize()
    assert size.rows == 1
    for seconds, rows in ((1.0, 4), (10.0, 8), (40.0, 4), (200.0, 1), (90.0, 1), (0.1, 4)):
        size.took(seconds)
        assert size.rows == rows
    for _ in range(9):
        size.took(0.0)
    assert size.rows == 4096
    assert WindowSize(first=64).rows == 64
    batches = WindowSize(100)
    assert batches.rows == 100
    batches.took(200.0)
    assert batches.rows == 100
    fixed = WindowSize(None, 5)
    fixed.took(0.0)
    assert fixed.rows == 5


@pytest.mark.parametrize(
    ("rows", "seconds", "words"),
    [(0, 5.0, ""), (5, 0.0, ""), (50_000, 1.0, "50,000 rows/s"), (3, 2.0, "1.5 rows/s"), (1, 4.0, "15.0 rows/min")],
)
def test_speed_in_words(rows, seconds, words):
    """Rows per second, or per minute when they are slow."""
    assert speed_of(rows, seconds) == words


def test_a_line_a_minute_without_a_terminal(capsys):
    """A log of a long job shows how far it is, and that of a short one nothing."""
    times = [0.0]
    with ProgressBar(160, wanted=None, kept=10, lines=True, clock=lambda: times[-1]) as bar:
        for now in (20.0, 61.0, 90.0, 125.0):
            times.append(now)
            bar.advance(30)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["generating 70/160 59.0 rows/min 1:31 left", "generating 130/160 57.6 rows/min 0:31 left"]


@pytest.mark.parametrize(
    ("total", "done", "seconds", "words"),
    [
        (None, 5, 1.0, ""),
        (5, 0, 1.0, ""),
        (10, 5, 61.0, "1:01 left"),
        (10, 5, 7260.0, "2 h 01 min left"),
        (4, 1, 86400.0, "3 d 0 h left"),
        (5, 5, 9.0, "0:00 left"),
    ],
)
def test_time_left_in_words(total, done, seconds, words):
    """What the other rows take at the speed so far."""
    assert left_of(total, done, seconds) == words

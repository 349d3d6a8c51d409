"""Where text groups are in texts that are put together of known parts, with every group of Koo's Table 1 that is a language."""

import json
import random
from collections.abc import Callable

import pytest

import schemagen
from tests.grammars import BYTES

WORDS = ["a", "to be", "x-1", "it's", "über", "\U0001f600", "END", "EN", "3rd", "a:b", "c#", 'q"q', "b\\s"]
SOURCE = "the quick brown fox jumps over the lazy dog"


def words(rng: random.Random) -> str:
    """Return a few words."""
    return " ".join(rng.choices(WORDS[:6], k=rng.randint(1, 3)))


def quoted(rng: random.Random) -> str:
    """Return a string of JSON."""
    return json.dumps("".join(rng.choices(WORDS, k=rng.randint(0, 3))), ensure_ascii=rng.random() < 0.5)


def substring(rng: random.Random) -> str:
    """Return a passage of the source."""
    start = rng.randrange(len(SOURCE))
    return SOURCE[start : start + rng.randint(1, 9)]


def listed(rng: random.Random) -> str:
    """Return numbers with commas between them."""
    return ", ".join(str(rng.randrange(100)) for _ in range(rng.randint(1, 4)))


def chosen(rng: random.Random) -> str:
    """Return some of three words in their order."""
    return "/".join(word for word in ("red", "green", "blue") if rng.random() < 0.6) or "green"


#: Group as it is written -> a text of it, and what stands behind it: a text that ends no shorter and no longer one.
GROUPS: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "(?P<QUOTED_TEXT>)": (quoted, "; "),
    "(?P<UNQUOTED_TEXT>)": (words, "\n"),
    "(?P<TEXT_UNTIL>END)": (lambda rng: "".join(rng.choices(WORDS[7:], k=3)).replace("END", ""), "END"),
    f"(?P<SUBSTRING_OF>{SOURCE})": (substring, "!"),
    "(?P<DELIMITED_LIST>, |[0-9]+)": (listed, "."),
    "(?P<DELIMITED_SUBSEQUENCE_OF>/|red|green|blue)": (chosen, "\t"),
    "(?P<year>[0-9]{4})": (lambda rng: str(rng.randint(1000, 9999)), "-"),
}


def compare(seeds: range) -> None:
    """Put some groups together, several times the same one, and compare their places."""
    for seed in seeds:
        rng = random.Random(seed)
        groups = rng.sample([*GROUPS], k=rng.randint(1, 4))
        groups += [group for group in groups[:1] if "year" not in group]
        pattern, text, expected = "", "", []
        for group in groups:
            make, behind = GROUPS[group]
            part = make(rng)
            expected.append((group[4:].partition(">")[0], len(text), len(text) + len(part), 0))
            pattern += group + behind
            text += part + behind
        assert schemagen.compile(schemagen.Regex(pattern), BYTES, cache=None).spans(text) == expected, (pattern, text)


def test_spans_of_text_groups() -> None:
    """Several hundred."""
    compare(range(300))


@pytest.mark.slow
def test_spans_of_ten_thousand_texts() -> None:
    """All of them."""
    compare(range(1_000, 11_000))

"""Random patterns and the patterns of real schemas, against Python's `re`."""

from __future__ import annotations

import contextlib
import random
import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from schemagen.errors import LimitError, PatternError, UnsupportedPatternError
from schemagen.regex import Language, parse_ecma, parse_python, to_python_re
from tests import corpora

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATOMS = st.sampled_from(
    [
        *[
            "a",
            "b",
            "-",
            "\n",
            "[ab]",
            "[^a]",
            ".",
            r"\w",
            r"\W",
            "a{2}",
            "(?:ab|a)",
            "^",
            "$",
            r"\b",
            "(?=a)",
            "(?!a)",
        ],
        *["(?=ab)", "(?!-)", "(?!ab)", "(?=.*b)", r"(?!.*\ba)", "(?<=a)", "(?<!a)", "(?<=ab)", "(?<!b-)", "(?=a$)"],
    ]
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,3}"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
        inner.map(lambda text: f"(?={text})"),
        inner.map(lambda text: f"(?!{text})"),
    )


PATTERNS = st.recursive(_ATOMS, _compound, max_leaves=6)
TEXTS = st.lists(st.text("ab-\n", max_size=6), min_size=8, max_size=8)


@settings(max_examples=150, derandomize=True)
@given(PATTERNS, TEXTS, st.booleans())
def test_language_is_that_of_re(pattern: str, texts: list[str], search: bool) -> None:
    """A random pattern, look-arounds and all, matches what `re` matches; so does the text printed from it."""
    try:
        compiled = re.compile(pattern)
        language = parse_python(pattern, search=search)
        printed = re.compile(to_python_re(language))
    except (re.error, LimitError, UnsupportedPatternError):
        return
    recogniser = Language(language)
    for text in texts:
        expected = bool((compiled.search if search else compiled.fullmatch)(text))
        assert recogniser.matches(text) == expected, (pattern, text)
        assert bool(printed.fullmatch(text)) == expected, (pattern, text, printed.pattern)


@settings(max_examples=200, derandomize=True)
@given(st.text("ab()[]{}?*+|^$\\<=!-:,1Pdx.", max_size=12))
def test_any_text_parses_or_raises_a_pattern_error(pattern: str) -> None:
    """No text makes the parsers fail in another way, however it is broken."""
    for parse in (parse_ecma, parse_python):
        with contextlib.suppress(PatternError, LimitError):
            parse(pattern)


def _patterns(node: Any) -> Iterator[str]:
    """Yield the strings under `pattern` and the keys of `patternProperties`."""
    if isinstance(node, list):
        for item in node:
            yield from _patterns(item)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("pattern"), str):
        yield node["pattern"]
    if isinstance(node.get("patternProperties"), dict):
        yield from node["patternProperties"]
    for value in node.values():
        yield from _patterns(value)


def _samples(rng: random.Random, pattern: str) -> list[str]:
    """Return short random texts of the pattern's own characters and some others, all ASCII."""
    pool = "".join(c for c in pattern if c.isascii() and c.isprintable()) + "aZ09-_./ "
    return ["".join(rng.choice(pool) for _ in range(rng.randint(0, 12))) for _ in range(12)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("part", range(4))
def test_every_pattern_of_real_schemas_is_compiled(record_property: Any, part: int) -> None:
    """All patterns of the corpus are compiled, and agree with `re.search` on random ASCII texts."""
    groups = corpora.groups("maskbench")
    patterns = sorted({pattern for group in groups for pattern in _patterns(group["schema"])})[part::4]
    rng = random.Random(0)
    compared = refused = 0
    for pattern in patterns:
        try:
            recogniser = Language(parse_ecma(pattern))
        except UnsupportedPatternError as error:
            if "back-reference" not in error.fact:
                raise
            refused += 1
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                compiled = re.compile(pattern, re.ASCII)
        except re.error:
            continue
        compared += 1
        for text in _samples(rng, pattern):
            assert recogniser.matches(text) == bool(compiled.search(text)), (pattern, text)
    record_property("patterns", f"{len(patterns)} parsed, {refused} refused, {compared} compared with re")
    assert compared > 0.9 * len(patterns)

"""`nearest_text` finds the cheapest edits: those that brute force finds in tiny languages."""

from __future__ import annotations

import random
import re
from functools import lru_cache
from itertools import product

import pytest

import schemagen
from schemagen.errors import LimitError
from schemagen.grammar.misspelt_json import respellings
from schemagen.grammar.nearest_text import MAX_CHARACTERS, Respelling, nearest_text

LETTERS = "abc"
#: Words are known up to the first length, and edited into up to the second one.
KNOWN, TRIED = 10, 8

PATTERNS = (
    "abc",
    "a|bc|cab",
    "(ab|ba)*c",
    "(abc)*",
    "a{2,4}(b|cc)",
    "(a|b)*c(a|b)",
    "a(b(c|a))?",
    "(aab|aac)+",
    "[ab]{3}c?",
    "c*(ab)?",
    "(a|ab)(c|bcc)",
    "b(a|c){0,2}b",
)


def words(length: int) -> list[str]:
    """All texts of the letters up to a length."""
    return ["".join(word) for size in range(length + 1) for word in product(LETTERS, repeat=size)]


class Language:
    """A tiny language, by enumeration."""

    def __init__(self, pattern: str) -> None:
        self.words = {word for word in words(KNOWN) if re.fullmatch(pattern, word)}
        self.prefixes = {word[:end] for word in self.words for end in range(len(word) + 1)}

    @lru_cache  # noqa: B019 - the tests end
    def has_no_choice(self, prefix: str) -> bool:
        """Whether a single letter may follow a prefix, and the text may not end there."""
        return prefix not in self.words and sum(prefix + letter in self.prefixes for letter in LETTERS) == 1

    @lru_cache  # noqa: B019 - the tests end
    def completion(self, prefix: str) -> str:
        """Return the shortest text after a prefix, the first of them in the order of the letters."""
        return min((word for word in self.words if word.startswith(prefix)), key=lambda word: (len(word), word))

    def cost(self, text: str, word: str) -> float:
        """Return the cost of the cheapest edits from a text to a word; infinite if its end is not the shortest one."""

        @lru_cache
        def rest(i: int, j: int, inserting: bool) -> float:
            ways: list[float] = [float("inf")]
            if i < len(text):
                ways.append(1 + rest(i + 1, j, False))
                if j < len(word) and text[i] == word[j]:
                    ways.append(rest(i + 1, j + 1, False))
            else:
                return 1.02 * (j < len(word)) if not inserting and self.completion(word[:j]) == word else float("inf")
            if j < len(word):
                free = inserting and self.has_no_choice(word[:j])
                ways.append((0 if free else 1) + rest(i, j + 1, True))
            return min(ways)

        return rest(0, 0, False)


def texts() -> list[str]:
    """Texts of up to six letters."""
    rng = random.Random(0)
    return ["", "c", "abc", "cccccc", *("".join(rng.choices(LETTERS, k=rng.randint(1, 6))) for _ in range(12))]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_cost_is_that_of_brute_force(pattern):
    """No word of the language is cheaper, and the edits lead from the text to the word at the cost."""
    language = Language(pattern)
    grammar = schemagen.compile(schemagen.Regex(pattern), schemagen.Vocabulary.byte_vocabulary())
    for text in texts():
        found = nearest_text(grammar, text)
        assert re.fullmatch(pattern, found.text), (text, found.text)
        least = min(language.cost(text, word) for word in language.words if len(word) <= TRIED)
        assert found.cost <= least + 1e-9, (text, found.text)
        if len(found.text) <= KNOWN:
            assert found.cost == pytest.approx(language.cost(text, found.text)), (text, found.text)
        assert "".join(text[step.start : step.end] for step in found.steps) == text
        assert all(step.kind != "kept" or text[step.start : step.end] == step.text for step in found.steps)


def test_fewer_deletions_win():
    """Of two texts of the same cost the one that keeps more of the given text is chosen."""
    grammar = schemagen.compile(schemagen.Regex("[0-9]+(,[0-9]+)?"), schemagen.Vocabulary.byte_vocabulary())
    assert nearest_text(grammar, "1 2").text in ("1,2", "12")
    assert nearest_text(grammar, "12;").text == "12"
    schema = {"type": "array", "items": {"type": "integer"}}
    numbers = schemagen.compile(schema, schemagen.Vocabulary.byte_vocabulary(), whitespace="any")
    assert nearest_text(numbers, "[1 2]").text == "[1 ,2]"


def test_characters_are_whole():
    """A character of several bytes is inserted, kept or deleted as a whole."""
    grammar = schemagen.compile(schemagen.Regex("[é€]{2}x|😀"), schemagen.Vocabulary.byte_vocabulary())
    for text, cost in (("é€", 1), ("x", 2), ("😀😀", 1), ("éé", 1), ("", 1)):
        found = nearest_text(grammar, text)
        assert re.fullmatch("[é€]{2}x|😀", found.text), found.text
        assert found.cost == pytest.approx(cost, abs=0.03), (text, found)


def test_half_of_a_surrogate_pair_is_deleted():
    """It is no character, so no text of a grammar has it."""
    grammar = schemagen.compile(schemagen.Regex("ab"), schemagen.Vocabulary.byte_vocabulary())
    assert nearest_text(grammar, "a\ud800b").text == "ab"


def test_respellings_have_their_own_cost():
    """A part may be written otherwise as a whole, where the grammar allows it."""
    grammar = schemagen.compile(schemagen.Regex("a(xyz|b)c"), schemagen.Vocabulary.byte_vocabulary())
    found = nearest_text(grammar, "aQQQc", {1: [Respelling(4, "xyz", 0.5), Respelling(4, "nope", 0.1)]})
    assert (found.text, found.cost) == ("axyzc", 0.5)
    assert [step.kind for step in found.steps] == ["kept", "respelt", "kept"]


def test_limits():
    """A long text, and one that is too far away, are errors with both numbers."""
    grammar = schemagen.compile(schemagen.Regex("a*"), schemagen.Vocabulary.byte_vocabulary())
    with pytest.raises(LimitError, match=f"the limit is {MAX_CHARACTERS:,}"):
        nearest_text(grammar, "a" * (MAX_CHARACTERS + 1))
    assert nearest_text(grammar, "a" * MAX_CHARACTERS).cost == 0
    far = schemagen.compile(schemagen.Regex("[ab]{40}c[ab]{40}"), schemagen.Vocabulary.byte_vocabulary())
    with pytest.raises(LimitError, match="not found"):
        nearest_text(far, "d" * MAX_CHARACTERS)


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("{'a': 1}", 1, (4, '"a"')),
        ("{a: 1}", 1, (2, '"a"')),
        ("[True]", 1, (5, "true")),
        ("[None]", 1, (5, "null")),
        ('["36"]', 1, (5, "36")),
        ('["1,200.50"]', 1, (11, "1200.50")),
        ("[36]", 1, (3, '"36"')),
        ("[36 years]", 1, (9, "36")),
        ("[1 // one\n]", 3, (10, "")),
        ('{"a": 1, "b": 2}', 7, (15, "")),
        ('{"a": 1, "b": 2}', 1, (9, "")),
        ("Well: [1]", 0, (6, "")),
        ("[1] well", 3, (8, "")),
        ('["a "b" c"]', 1, (10, '"a \\"b\\" c"')),
        ('["a\nb"]', 1, (6, '"a\\nb"')),
        ('{"x": {"a": 1}}', 0, (6, "")),
        ("[yes]", 1, (4, "true")),
        ("\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}", 0, (3, '"a"')),
    ],
)
def test_usual_mistakes_in_json(text, start, expected):
    """Each has the correct form among its respellings."""
    assert expected in [(other.end, other.text) for other in respellings(text)[start]]

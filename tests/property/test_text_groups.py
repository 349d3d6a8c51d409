"""Table 1 of Koo et al. 2024: each kind of text against a definition in plain Python, as a spec and as a named group of a `Regex`."""

import io
import json
import random
import re
from collections.abc import Callable
from itertools import combinations, product
from typing import Any, NamedTuple

import pytest
import yaml
from ruamel.yaml import YAML

import schemagen
from schemagen import Regex, text
from schemagen.testing import check_masks, mask_of, random_text
from tests.grammars import BYTES, PIECES, check_masks_along, compiled_by, derives

pytestmark = pytest.mark.sampled(5)

MOBY = "Call me Ishmael. Call me maybe."
ITEMS = ["a", "a,b", "b", "ca", "c"]


class Kind(NamedTuple):
    """A kind of text.

    Attributes:
        spec: The spec.
        holds: What its texts are.
        pieces: What texts near it are made of.
        length: Up to how many pieces all texts are tried.
    """

    spec: Any
    holds: Callable[[str], bool]
    pieces: tuple[str, ...]
    length: int


def is_quoted(given: str) -> bool:
    """Whether the json module reads it as a str, without blanks around it, that has an encoding."""
    try:
        value = json.loads(given)
        return isinstance(value, str) and given[0] == given[-1] == '"' and bool(value.encode()) is not None
    except (ValueError, UnicodeEncodeError):
        return False


def is_paragraph(given: str) -> bool:
    """Whether `str.splitlines` finds one line, and that is all of it."""
    return given.splitlines() == [given]


def is_list(given: str) -> bool:
    """Whether some items, joined, are the text."""
    return given in {",".join(some) for count in range(1, 8) for some in product("ab", repeat=count)}


def is_subsequence(given: str) -> bool:
    """Whether some of the items in their order, joined, are the text."""
    return given in {",".join(some) for count in range(1, 6) for some in combinations(ITEMS, count)}


QUOTES = ('"', "\\", "u", "\\u", "d83d", "DE00", "00e9", "n", "\n", "é")
KINDS = {
    "QUOTED_TEXT": Kind(Regex("(?P<QUOTED_TEXT>)"), is_quoted, QUOTES, 5),
    "quoted": Kind(text.quoted(), is_quoted, QUOTES, 5),
    "PARAGRAPH": Kind(text.paragraph(), is_paragraph, (*"\n\r\v\f\x1c\x1d\x1e\x1f\t\x85\u2028\u2029 a😀",), 3),
    "TEXT_UNTIL": Kind(
        Regex(r"(?P<TEXT_UNTIL>ab\.ab)"),
        lambda given: (given + "ab.ab").find("ab.ab") == len(given),
        ("ab.ab", *"ab."),
        6,
    ),
    "until": Kind(text.until("aa"), lambda given: (given + "aa").find("aa") == len(given), (*"ab\n",), 6),
    "until, included": Kind(
        text.until("aba", include=True), lambda given: 0 <= given.find("aba") == len(given) - 3, (*"ab",), 10
    ),
    "until, greedy": Kind(text.until("ab", greedy=True), lambda _: True, (*"ab",), 5),
    "until, included and greedy": Kind(
        text.until("ab", include=True, greedy=True), lambda given: given.endswith("ab"), (*"ab",), 10
    ),
    "SUBSTRING_OF": Kind(
        Regex(f"(?P<SUBSTRING_OF>{re.escape(MOBY)})"),
        lambda given: given in MOBY,
        ("Call", " ", "me", "m", "a", "Ishmael.", ".", "x"),
        5,
    ),
    "one_of_lines": Kind(
        text.one_of_lines("a\r\n\nab \n \nb\na"), lambda given: given in {"a", "ab ", "b"}, (*"ab\n\r ",), 4
    ),
    "DELIMITED_LIST": Kind(Regex("(?P<DELIMITED_LIST>,|a|b)"), is_list, (*"ab,",), 7),
    "list_of": Kind(text.list_of(["a", "b"], sep=","), is_list, (*"ab,",), 7),
    "list_of, counted": Kind(
        text.list_of(Regex("a*"), sep=";", min=2, max=3), lambda given: given.count(";") in {1, 2}, (*"a;",), 7
    ),
    "list_of, none": Kind(
        text.list_of(["a", "b"], sep=",", min=0), lambda given: not given or is_list(given), (*"ab,",), 5
    ),
    "DELIMITED_SUBSEQUENCE_OF": Kind(
        Regex("(?P<DELIMITED_SUBSEQUENCE_OF>,|a|a,b|b|ca|c)"), is_subsequence, ("a", "b", "ca", "c", ","), 6
    ),
    "subsequence_of": Kind(text.subsequence_of(ITEMS, sep=","), is_subsequence, ("a", "b", "ca", "c", ","), 6),
}
NAMES = sorted(KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_all_short_texts(name: str) -> None:
    """Of all texts of few pieces exactly those that the definition says are accepted."""
    kind = KINDS[name]
    grammar = schemagen.compile(kind.spec, BYTES)
    assert accepted_of(grammar, kind.pieces, kind.length) == {
        each for each in texts_of(kind.pieces, kind.length) if kind.holds(each)
    }


def texts_of(pieces: tuple[str, ...], length: int) -> set[str]:
    """Return all texts of up to some pieces."""
    return {"".join(some) for count in range(length + 1) for some in product(pieces, repeat=count)}


def accepted_of(grammar: schemagen.Grammar, pieces: tuple[str, ...], length: int) -> set[str]:
    """Return those of all texts of up to some pieces that a grammar accepts."""
    found, matcher = set[str](), grammar.matcher()

    def walk(written: str, left: int) -> None:
        if matcher.is_accepting():
            found.add(written)
        for piece in pieces if left else ():
            if matcher.accept_bytes(piece.encode()):
                walk(written + piece, left - 1)
                matcher.rollback()

    walk("", length)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_longer_texts(name: str) -> None:
    """Random texts of a kind are what the definition says, and with a change they are accepted where it says so."""
    kind = KINDS[name]
    grammar, rng = schemagen.compile(kind.spec, BYTES), random.Random(3)
    verdicts = set()
    for seed in range(30):
        written = random_text(grammar, seed=seed, max_tokens=13)
        assert kind.holds(written), written
        assert grammar.validate(written) is not None
        for _ in range(5):
            at, piece = rng.randint(0, len(written)), rng.choice(kind.pieces)
            changed = written[:at] + piece + written[at + rng.randint(0, 1) :]
            if len(changed) <= 13:  # as far as the definitions of lists reach
                assert derives_it(grammar, changed) == kind.holds(changed), changed
                verdicts.add(kind.holds(changed))
    assert False in verdicts or name == "until, greedy"


def derives_it(grammar: schemagen.Grammar, given: str) -> bool:
    """Whether a grammar accepts a text."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(given.encode()) and matcher.is_accepting()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_masks(name: str, engine: Any) -> None:
    """Masks are those of brute force, over tokens that hold several pieces."""
    vocabulary = schemagen.Vocabulary(
        [b"", *(bytes([byte]) for byte in range(256)), b"ab", b"a,b", b'\\"', b'"a', b"aa", b"ba.", b"Call m", b"\n\n"],
        eos_token_ids=[0],
    )
    grammar = compiled_by(engine, KINDS[name].spec, vocabulary)
    assert check_masks(grammar, walks=4, max_tokens=12) > 4


@pytest.mark.parametrize("name", NAMES)
def test_the_engines_agree(name: str) -> None:
    """The reference engine has the same masks along random texts, and `to_regex` the same texts."""
    spec = KINDS[name].spec
    native, reference = (compiled_by(engine, spec, PIECES) for engine in ("native", "reference"))
    pattern = schemagen.to_regex(spec)
    for seed in range(5):
        written = random_text(native, seed=seed, max_tokens=10)
        assert re.fullmatch(pattern, written)
        one, other = native.matcher(), reference.matcher()
        for byte in written.encode():
            assert mask_of(one, PIECES) == mask_of(other, PIECES)
            assert one.accept_bytes(bytes([byte])) == other.accept_bytes(bytes([byte])) == True  # noqa: E712
        assert one.is_accepting() == other.is_accepting()


# ---- unquoted texts: two readers of YAML are the definition -----------------------------------------------------------

INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
UNQUOTED = [text.unquoted(), Regex("(?P<UNQUOTED_TEXT>)")]


def readers() -> list[Callable[[str], Any]]:
    """Return readers of YAML: PyYAML is of version 1.1, ruamel.yaml of both."""

    def read(given: str, version: tuple[int, int]) -> Any:
        reader = YAML(typ="safe", pure=True)
        reader.version = version
        return reader.load(io.StringIO(given))

    return [yaml.safe_load, lambda given: read(given, (1, 1)), lambda given: read(given, (1, 2))]


def reads_back(given: str) -> bool:
    """Whether every reader reads the same text alone, in a list, as a value and as a key."""
    places = [(given, given), (f"- {given}", [given]), (f"k: {given}", {"k": given}), (f"{given}: 1", {given: 1})]
    try:
        return all(read(document) == value for document, value in places for read in readers())
    except Exception:  # noqa: BLE001 - each reader has its own errors, and a few that it does not mean
        return False


@pytest.mark.parametrize(
    ("pieces", "length"),
    [
        ((*"a: #-.",), 4),
        (("0", ".", "e", "-", "+", "_"), 3),
        (("~", "=", "<<", "y", "n", "No", "TRUE", "null", "on", " "), 2),
        (("0", "x", "b", "1", "o", ":"), 3),
        ((".", "+", "inf", "Inf", "INF", "nan", "NaN", "NAN", "Nan"), 3),
        ((*"'\"%!,[]{}&*@`|>?a",), 2),
        ((*"\t\n\x85\u2028\ufffe\x7f é😀",), 3),
        (("2001-12-14", "-1", " ", "T21:59:43", "21:59:43.1", "Z", " +5"), 3),
    ],
)
def test_unquoted_texts_are_what_yaml_reads(pieces: tuple[str, ...], length: int) -> None:
    """What is accepted reads back; what reads back, is no number by its first character and begins with no indicator is accepted."""
    accepted = accepted_of(schemagen.compile(text.unquoted(), BYTES), pieces, length)
    for given in texts_of(pieces, length):
        reads = reads_back(given)
        assert reads or given not in accepted, given
        is_left_out = given[:1] in INDICATORS or given[:1] in "0123456789+." or given in {"y", "n"}
        assert given in accepted or not reads or is_left_out, given
    assert accepted


@pytest.mark.parametrize(
    "given",
    ["2 apples", "3rd", "1.2.3", "192.168.1.1", "+1 555", "...more", ".gitignore", "2001-12-14 at noon", "0xg", "12:"],
)
def test_unquoted_texts_may_begin_with_a_digit(given: str) -> None:
    """A text is a number only as a whole."""
    assert derives(text.unquoted(), given) == reads_back(given) == (given != "12:")


def test_random_unquoted_texts_read_back() -> None:
    """Texts of the grammar, written at random, are read as they are."""
    grammar = schemagen.compile(text.unquoted(), BYTES)
    for seed in range(60):
        written = random_text(grammar, seed=seed, max_tokens=14)
        assert reads_back(written), written
        assert grammar.validate(written) == written


@pytest.mark.parametrize("spec", UNQUOTED, ids=["spec", "group"])
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_masks_of_unquoted_texts(spec: Any, engine: Any) -> None:
    """Masks are those of brute force."""
    assert check_masks(compiled_by(engine, spec, PIECES), walks=3, max_tokens=10) > 4


# ---- lists of what has an automaton of its own ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "given"),
    [
        (text.list_of(int), "1, -20, 3"),
        (text.list_of(dict, sep="\n"), '{"a": 1}\n{}'),
        (text.list_of(schemagen.GBNF('root ::= "(" root* ")"'), sep=","), "(()),()"),
        (text.list_of(text.list_of(bool, sep="&"), sep="|", max=3), "true&false|true"),
        (text.subsequence_of(["a", int, {"type": "array"}], sep="-"), "a-7-[1]"),
    ],
    ids=repr,
)
def test_masks_of_lists_of_anything(spec: Any, given: str) -> None:
    """Masks across the borders of items are those of brute force."""
    check_masks_along(spec, given)
    assert derives(spec, given)
    assert not derives(spec, given + ",")


# ---- how lists are cut ------------------------------------------------------------------------------------------------


def cuts_of(given: str, sep: str, items: list[str], low: int, high: int) -> list[list[str]]:
    """Return all ways to cut a text into items that match one of the patterns, best first: the longest first items."""
    ways = [[]] if not given and not low else []

    def walk(rest: str, found: list[str]) -> None:
        for end in range(len(rest) + 1):
            if any(re.fullmatch(item, rest[:end]) for item in items) and len(found) < high:
                some = [*found, rest[:end]]
                if end == len(rest) and len(some) >= low:
                    ways.append(some)
                if rest.startswith(sep, end) and (sep or end):
                    walk(rest[end + len(sep) :], some)

    walk(given, [])
    return sorted(ways, key=lambda way: [len(item) for item in way], reverse=True)


#: Delimiters with items; without a delimiter and with empty items a text would have infinitely many cuts.
CUT = [
    (sep, item)
    for sep in (",", ",a", "")
    for item in ("a*", "a|a,|,", "[a,]+", "a,a|aa|,b", "b?(?:a,)*")
    if sep or not re.fullmatch(item, "")
]


@pytest.mark.parametrize(("sep", "item"), CUT)
@pytest.mark.parametrize(("low", "high"), [(1, None), (0, None), (2, 3), (3, None), (0, 1)])
def test_the_first_items_are_the_longest(sep: str, item: str, low: int, high: int | None) -> None:
    """The value of a list is the best of all cuts, and there is one exactly where the grammar derives the text."""
    spec = text.list_of(Regex(item), sep=sep, min=low, max=high)
    derived = accepted_of(schemagen.compile(spec, BYTES), (*"ab,",), 5)
    for given in texts_of((*"ab,",), 5):
        cuts = cuts_of(given, sep, [item], low, high or 9)
        assert (given in derived) == bool(cuts), given
        if cuts:
            assert spec.value_of(given) == ([] if not given and not low else cuts[0])
        else:
            with pytest.raises(schemagen.ValidationFailed):
                spec.value_of(given)


def test_earlier_items_come_first() -> None:
    """The value of a subsequence is made of the earliest items that there can be."""
    spec = text.subsequence_of(["a", "a,b", "b", "", "b,a", "a"], sep=",")
    best: dict[str, tuple[int, ...]] = {}
    for count in range(1, 7):
        for some in combinations(range(6), count):
            joined = ",".join(spec.items[index].options[0] for index in some)
            best[joined] = min(best.get(joined, some), some)
    for joined, some in best.items():
        assert spec.value_of(joined) == [spec.items[index].options[0] for index in some]
    assert accepted_of(schemagen.compile(spec, BYTES), ("a", "b", ","), 9) == {each for each in best if len(each) <= 9}

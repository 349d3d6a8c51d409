r"""Plain patterns, which the core reads itself, are the same expressions as the readers in Python make of them."""

from __future__ import annotations

import functools
import itertools
import random
import warnings
from typing import Literal

import pytest

from schemagen import _core
from schemagen.context_free.lark import python_re
from schemagen.regex import ast
from schemagen.regex.dialects import parse_any

_parser = vars(python_re)["parser"]  # of the standard library, under another name before Python 3.11

Dialect = Literal["python", "rust", "ecma-262"]
DIALECTS: tuple[Dialect, ...] = ("python", "rust", "ecma-262")

_CHARACTERS: list[str] = [
    *"ab" * 8,
    *"cz019 _-/,:=\"'<>#&~@%!;`",
    "\n",
    "\t",
    "\0",
    "\x7f",
    "\x80",
    "é",
    "ß",
    "€",
    "\ud7ff",
    "😀",
    "\U0010ffff",
]
_RARE = ["\ue000", "\u2028", "\ufeff", "\uffff", "]", "{", "}", "{}", "{,2}", "{a", "\ud800", "\udfff"]
_ESCAPES = [
    *(f"\\{sign}" for sign in r"\^$.*+?()[]{}|/-"),
    r"\n",
    r"\t",
    r"\r",
    r"\f",
    r"\v",
    r"\x41",
    r"\x7f",
    r"\x00",
    r"\x2D",
]
_SIGNS = [f"\\{sign}" for sign in "!\"#%&',:;=@_`~<>"]
_OTHERS = [
    r"\d",
    r"\W",
    r"\b",
    r"\B",
    r"\A",
    r"\z",
    r"\Z",
    r"\1",
    r"\0",
    r"\x",
    r"\x8",
    r"\x80",
    r"\u0041",
    r"\é",
    r"\ ",
    r"\a",
    "\\",
]
_QUANTIFIERS: list[str] = [
    *"*+?" * 6,
    "{2}",
    "{1}",
    "{0}",
    "{0,1}",
    "{1,3}",
    "{0,2}",
    "{2,}",
    "{0,}",
    "{07}",
    "{1,1}",
    "{5,9}",
]
_ODD_QUANTIFIERS = [
    "*?",
    "+?",
    "??",
    "*+",
    "**",
    "{2}{2}",
    "{2}?",
    "{101}",
    "{100}",
    "{3,2}",
    "{ 1}",
    "{,2}",
    "{1,2",
    "{1;2}",
    "{0100}",
]
_CLASSES = [
    "[a-z]",
    "[A-Za-z_]",
    "[0-9]",
    "[ab]",
    "[ba]",
    "[^a]",
    '[^"\\\\]',
    "[^\\n]",
    "[aa]",
    "[a-a]",
    "[^*/]",
    "[+-]",
    "[-+]",
    "[^-]",
]
_ODD_CLASSES = [
    "[]",
    "[^]",
    "[]a]",
    "[^]a]",
    "[[a]]",
    "[a&&b]",
    "[a--b]",
    "[--]",
    "[a~~]",
    "[a||b]",
    "[a-z-9]",
    "[\\d]",
    "[z-a]",
    "[:alpha:]",
    "[",
    "[a",
]
_GROUPS = ["(", "(?:", "(", "(?:"]
_ODD_GROUPS = ["(?", "(?i:", "(?=", "(?!", "(?P<n>", "(?<n>", "(?i)", "(?#", "(?>"]


class _Patterns:
    """Random patterns; how many of their pieces are odd is drawn for each of them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._oddness = 0.0

    def draw(self) -> str:
        rng = self._rng
        self._oddness = rng.choice((0, 0, 0.02, 0.15))
        pattern = self._choice(rng.choice((0, 1, 2, 3, 4)))
        begin = rng.choice(("", "", "", "^", "^")) if rng.random() < 0.9 else rng.choice(("^^", "^*", "$", "(?i)"))
        end = (
            rng.choice(("", "", "$", "$"))
            if rng.random() < 0.9
            else rng.choice(("$$", "\\$", "\\\\$", "$*", "^", "\\"))
        )
        return begin + pattern + end

    def _is_odd(self) -> bool:
        return self._rng.random() < self._oddness

    def _choice(self, depth: int) -> str:
        count = self._rng.choice((1, 1, 1, 2, 2, 3))
        return "|".join(self._sequence(depth) for _ in range(count))

    def _sequence(self, depth: int) -> str:
        return "".join(self._item(depth) for _ in range(self._rng.choice((0, 1, 1, 1, 2, 2, 3, 5))))

    def _item(self, depth: int) -> str:
        rng = self._rng
        chosen = rng.random()
        if depth and chosen < 0.4:
            atom = rng.choice(_ODD_GROUPS if self._is_odd() else _GROUPS) + self._choice(depth - 1) + ")"
        elif chosen < 0.6:
            atom = self._class()
        elif chosen < 0.65:
            atom = "."
        else:
            atom = self._character()
        if rng.random() < 0.65:
            return atom
        return atom + rng.choice(_ODD_QUANTIFIERS if self._is_odd() else _QUANTIFIERS)

    def _character(self) -> str:
        rng = self._rng
        if self._is_odd():
            return rng.choice([*_RARE, *_OTHERS])
        return rng.choice(_CHARACTERS if rng.random() < 0.8 else [*_ESCAPES, *_SIGNS])

    def _class(self) -> str:
        rng = self._rng
        if self._is_odd():
            return rng.choice(_ODD_CLASSES)
        if rng.random() < 0.4:
            return rng.choice(_CLASSES)
        members = [rng.choice(("", "", "", "", "-"))]
        count = rng.choice((1, 1, 2, 3, 6))
        members += [self._range() if rng.random() < 0.3 else self._member() for _ in range(count)]
        members.append(rng.choice(("", "", "", "-")))
        return rng.choice(("[", "[^")) + "".join(members) + "]"

    def _range(self) -> str:
        ends = [self._member(), self._member()]
        if not self._is_odd():
            ends = sorted(self._rng.choices("!+-.09AZ^abmz|~", k=2))
        return "-".join("\\-" if end == "-" else end for end in ends)

    def _member(self) -> str:
        rng = self._rng
        return rng.choice(".*+?()|$^{}&~") if rng.random() < 0.2 else self._character()


#: The positions that a part begins and ends with, and whether it may be empty.
_Part = tuple[set[int], set[int], bool]
_NOTHING: _Part = set(), set(), True


class _Positions:
    """The positions of an expression by their textbook definition: first, last and follow (Glushkov 1961)."""

    _MOST = 400  # and rounds of a repetition

    def __init__(self, regex: ast.Regex) -> None:
        self.characters: list[ast.Ranges] = []
        self.after: list[set[int]] = []
        self.first, _, _ = self._read(regex)

    def _read(self, regex: ast.Regex) -> _Part:
        if isinstance(regex, ast.Chars):
            return self._position(regex.ranges)
        if isinstance(regex, ast.Alternation):
            firsts, lasts, empty = zip(*map(self._read, regex.parts), strict=True)
            return set().union(*firsts), set().union(*lasts), any(empty)
        if isinstance(regex, ast.Concat):
            return functools.reduce(self._joined, map(self._read, regex.parts), _NOTHING)
        if isinstance(regex, ast.Repeat):
            rounds = [self._read(regex.inner) for _ in range(min(regex.low, self._MOST))]
            return functools.reduce(self._joined, [*rounds[:-1], self._end(regex, rounds[-1:])], _NOTHING)
        raise TypeError  # an operator without positions

    def _end(self, regex: ast.Repeat, last_round: list[_Part]) -> _Part:
        """Return the last round that has to be, and those that may follow: a loop, or one inside the other."""
        if regex.high is None:
            first, last, empty = last_round[0] if last_round else self._read(regex.inner)
            self._follow(last, first)
            return first, last, empty or not last_round
        rest = _NOTHING
        for part in reversed([self._read(regex.inner) for _ in range(min(regex.high - regex.low, self._MOST))]):
            first, last, _ = self._joined(part, rest)
            rest = first, last, True
        return self._joined(last_round[0], rest) if last_round else rest

    def _position(self, ranges: ast.Ranges) -> _Part:
        if len(self.characters) == self._MOST:
            raise OverflowError
        self.characters.append(ranges)
        self.after.append(set())
        return {len(self.after) - 1}, {len(self.after) - 1}, False

    def _follow(self, last: set[int], first: set[int]) -> None:
        for position in last:
            self.after[position] |= first

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._follow(left[1], right[0])
        first = left[0] | right[0] if left[2] else left[0]
        last = left[1] | right[1] if right[2] else right[1]
        return first, last, left[2] and right[2]


def _is_deterministic(regex: ast.Regex) -> bool:
    """Whether the next character alone tells the next position of an expression."""
    try:
        positions = _Positions(regex)
    except (OverflowError, TypeError):
        return False
    for places in (positions.first, *positions.after):
        ranges = sorted(each for place in places for each in positions.characters[place])
        if any(left[1] >= right[0] for left, right in itertools.pairwise(ranges)):
            return False
    return True


def _readings(trees: _core.RegexTrees, pattern: str, dialect: Dialect) -> int:
    """Compare all answers about a pattern; return how many of its two readings the core has: as a whole, and a search."""
    readings = 0
    whole = trees.plain_pattern(pattern, dialect)
    if whole is not None:
        tree, prefers_nothing = whole
        expected = parse_any(pattern, dialect, search=False)
        assert trees.ast_of(tree) == expected, (pattern, dialect)
        assert trees.is_deterministic(tree) == _is_deterministic(expected), pattern
        if dialect == "python":
            assert prefers_nothing == python_re._prefers_nothing(_parser.parse(pattern)), pattern
        readings += 1
    search = trees.plain_search(pattern, dialect)
    if search is not None:
        assert trees.ast_of(search) == parse_any(pattern, dialect, search=True), (pattern, dialect)
        readings += 1
    return readings


def compare(seed: int, count: int) -> tuple[int, int]:
    """Compare random patterns; return how many readings there were, and how many there could be."""
    rng = random.Random(seed)
    patterns = _Patterns(rng)
    trees = _core.RegexTrees()
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)  # `re` may read such a pattern in another way one day
        for _ in range(count):
            pattern = patterns.draw()
            read += sum(_readings(trees, pattern, dialect) for dialect in DIALECTS)
    return read, 2 * len(DIALECTS) * count


@pytest.mark.parametrize("seed", range(6))
def test_random_patterns(seed: int) -> None:
    """Each pattern that the core reads is accepted in Python, as the same expression."""
    read, possible = compare(seed, 250)
    assert possible * 0.2 < read < possible * 0.9


_PLAIN = [
    "",
    "a",
    "true|false|null",
    "[a-zA-Z_][a-zA-Z0-9_]*",
    "-?(0|[1-9][0-9]*)",
    r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    r"/\*([^*]|\*+[^*/])*\*+/",
    "//[^\n]*",
    r"//[^\n]*",
    r'"(\\.|[^"\\\n])*"',
    r"'(?:[^'\\]|\\.)*'",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,6})?)?",
    "[ \t\r\n]+",
    r"[ \t\f\v]*",
    r"\$\{[^}]+\}",
    "(|a)(b||c)()(?:)",
    "[a-z]{1,10}",
    "(a{2})*",
    r"[-+*/^]|[<>]=?|[!=]=",
    "[-a-z.\\-\\]]+@[^@^|&-]",
    r"\x41[\x00-\x1f\x7f]",
    "ü€😀[éa-f]",
    "." * 2_000,
    "(" * 49 + "a" + "|b)*" * 49,
]
_PLAIN_SEARCHES = [
    *_PLAIN,
    "^",
    "^a",
    "^[a-z]{1,10}",
    "^(a|b)*c?",
]
_ANCHORED_SEARCHES = [
    "^[a-z]{1,10}$",
    "^$",
    "$",
    "a$",
    "^[a-z]*$",
    "[a-z]*$",
    "^(a+)?$",
    "^(a|b|)$",
    "^a?b*c?$",
    "^(a?b*)*$",
    r"^\\$",
    "^[A-Z]{2}[0-9]{1,8}(-[A-Z])?$",
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("pattern", _PLAIN)
def test_plain_patterns_are_read(pattern: str, dialect: Dialect) -> None:
    """So are all the usual ones without named sets."""
    assert _readings(_core.RegexTrees(), pattern, dialect) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("pattern", [*_PLAIN_SEARCHES, *_ANCHORED_SEARCHES])
def test_plain_searches_are_read(pattern: str, dialect: Dialect) -> None:
    """Anchors at the ends, but `$` of Python, which is also in front of a line feed."""
    trees = _core.RegexTrees()
    is_plain = dialect != "python" or pattern not in _ANCHORED_SEARCHES
    assert (trees.plain_search(pattern, dialect) is not None) == is_plain
    _readings(trees, pattern, dialect)


_NOT_PLAIN = [
    *(r"\d", r"\w+", r"[\s]", r"\bif\b", r"(a)\1", r"\é", r"\ ", r"\<", r"\x", r"\x80", r"\u0041", r"\0", "\\", "a\\"),
    *(
        "a*?",
        "a**",
        "a*+",
        "a{2}{3}",
        "a{2,1}",
        "a{101}",
        "a{0100}",
        "a{,2}",
        "a{",
        "{",
        "a}",
        "]",
        "*a",
        "(*a)",
        "|*",
        "a{1,2",
    ),
    *("(a{2}){3}", "((a{2})b){0,1}", "(a", "a)", "(?i:a)", "(?=a)", "(?P<n>a)", "(?i)a", "(?#a)", "(?", "(?:"),
    *(
        "[]",
        "[^]",
        "[]a]",
        "[[a]]",
        "[a&&b]",
        "[a--b]",
        "[--a]",
        "[a~~b]",
        "[a||b]",
        "[a-z-9]",
        "[z-a]",
        "[a",
        "[é-ü]",
        "[a-é]",
        "[a-",
    ),
    *("(^a)", "a^", "(a$)", "^^a", "^*", "$a", "a|$|b", "^a|b", "a|b$", "\ud800", "[\udfff]"),
    *("a" * 2_001, "é" * 1_001, "(" * 51 + ")" * 51),
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("pattern", _NOT_PLAIN)
def test_others_are_left_to_python(pattern: str, dialect: Dialect) -> None:
    """The core gives up where the dialects differ, or a pattern is large or wrong."""
    trees = _core.RegexTrees()
    assert trees.plain_pattern(pattern, dialect) is None
    assert trees.plain_search(pattern, dialect) is None


def test_dialects_differ() -> None:
    """In the dot, in escaped signs, and for Rust in the character after the surrogates and in the size."""
    trees = _core.RegexTrees()
    assert (
        trees.plain_pattern(".", "python") == trees.plain_pattern(".", "rust") != trees.plain_pattern(".", "ecma-262")
    )
    for pattern, dialects in (
        (r"\#", {"python", "rust"}),
        (r"\-", {"python", "rust"}),
        (r"[\-]", set(DIALECTS)),
        ("\ue000", {"python", "ecma-262"}),
        (".{100}" * 60, {"python", "ecma-262"}),
        (".{100}" * 20, set(DIALECTS)),
    ):
        assert {dialect for dialect in DIALECTS if trees.plain_pattern(pattern, dialect)} == dialects
    with pytest.raises(ValueError, match="no such dialect"):
        trees.plain_pattern("a", "pcre")


_LARGE = ["a", "[a-z]", ".", "[^a-zé€😀]", "é", "(?:a|)", "a?", "(a)", "(?:a*|b+)?", "(?:)", "(|||||)", "[éß€ñ]"]


@pytest.mark.parametrize("atom", _LARGE)
@pytest.mark.parametrize("count", ["{100}", "{0,100}", "{100,}"])
def test_large_patterns_are_no_larger_than_the_crate_takes(atom: str, count: str) -> None:
    """Rust's crate refuses patterns by their size: the largest ones that the core reads are still accepted."""
    trees = _core.RegexTrees()
    for wide in (1, 5, 25):
        piece = f"(?:{atom * wide}){count}"
        pieces = 2_000 // len(piece.encode())
        while pieces and trees.plain_pattern(piece * pieces, "rust") is None:
            pieces -= 1
        parse_any(piece * pieces, "rust", search=False)


_DETERMINISTIC = [
    "(a|b)*c",
    "a{400}",
    "a{401}",
    "(a?){3}",
    "(a{0,20}){0,20}",
    "a*a",
    "(a|ab)",
    "a{2,2147483647}",
    "[ab]|bc",
]


@pytest.mark.parametrize("pattern", _DETERMINISTIC)
def test_positions_of_repetitions(pattern: str) -> None:
    """The answers of both, also where repetitions are long, or there are operators without positions."""
    trees = _core.RegexTrees()
    regex = parse_any(pattern, "python", search=False)
    assert trees.is_deterministic(trees.tree_of(regex)) == _is_deterministic(regex)


def test_no_positions() -> None:
    """Nothing is deterministic that has no positions."""
    trees = _core.RegexTrees()
    for regex in (
        ast.conjunction(ast.literal("a"), ast.literal("b")),
        ast.substring("ab"),
        ast.complement(ast.literal("a")),
    ):
        assert not trees.is_deterministic(trees.tree_of(regex))
        assert not _is_deterministic(regex)
    for constant in range(5):
        assert trees.is_deterministic(constant) == _is_deterministic(trees.ast_of(constant))

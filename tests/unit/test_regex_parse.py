"""Pattern text in both dialects, against Python's `re` where the dialects agree, and against ECMA-262 where not."""

# ruff: noqa: RUF001 - letters that look alike are the point
from __future__ import annotations

import re

import pytest

from schemagen.errors import InvalidPatternError, LimitError, PatternError, UnsupportedPatternError
from schemagen.regex import Language, matches, parse_ecma, parse_python, to_python_re
from schemagen.regex.ast import ANY_STRING, Chars, Repeat, concat, literal

pytestmark = pytest.mark.sampled(2)

ASCII_TEXTS = [
    *[
        "",
        "a",
        "b",
        "ab",
        "ba",
        "aa",
        "abc",
        "aab",
        "aaa",
        "abab",
        "foo",
        "foobar",
        "barfoo",
        "a foo b",
        "food",
        "xfoo",
    ],
    *[
        "0",
        "12",
        "12.5",
        "-1",
        "a1",
        "1a",
        "a_b",
        "a-b",
        "a b",
        " ",
        "\t",
        "a\n",
        "\n",
        "a\nb",
        "A",
        "AB",
        "Foo",
        "FOO",
    ],
    *["]", "[", "{", "}", "{2}", "a{", "/", "\\", "^", "$", "a$b", "a.b", "(", ")", ":", ",a", "a,", "x,y", "a@b.co"],
    *["password1", "Passw0rd", "2024-01-31", "127.0.0.1", "--", "a--b", "org.x", "foo.bar", "#fff", "\x0b", "\x00"],
]

#: Patterns that mean the same in both dialects for texts without exotic characters.
SHARED_PATTERNS = [
    *["", "a", "abc", "foo", "a|b", "ab|", "|", "a|b|c", "(a)(b)", "(?:ab)+", "a*", "a+", "a?", "a*?", "a+?", "a??"],
    *["a{2}", "a{2,}", "a{1,2}", "a{0}", "a{0,0}", "(ab){2}", "(a*)*", "(a|b*)*", "(a?){3}", "((a)|(b))*c", "a{2}?"],
    *["[abc]", "[^abc]", "[a-z]", "[a-z0-9_-]", "[-a]", "[a-]", "[.]", "[\\]]", "[\\[]", "[\\\\]", "[^\\n]", "[\\t ]"],
    *[
        "[\\d]",
        "[\\D]",
        "[\\w-]",
        "[^\\w]",
        "[\\s\\S]",
        "[^\\s]",
        "[a\\-z]",
        "[\\b]",
        "[*+?.]",
        "[$^]",
        "[\\x41-\\x43]",
    ],
    *[
        "\\d",
        "\\D",
        "\\w",
        "\\W",
        "\\s",
        "\\S",
        "\\n",
        "\\t",
        "\\x41",
        "\\u0041",
        "\\.",
        "\\/",
        "\\-",
        "\\@",
        "\\_",
        "\\'",
    ],
    *["\\$", "\\^", "\\(", "\\)", "\\[", "\\]", "\\{", "\\}", "\\|", "\\*", "\\+", "\\?", "\\\\", "\\,", "\\:", "\\#"],
    *[
        "^abc",
        "^abc",
        "^a",
        "^",
        "^^a",
        "a|^b",
        "^a|b",
        "(^|,)a",
        "(?:^)a",
        "a^",
        "a^b",
        "x*^a",
        "(?:^a|b)c",
        "(?:^|a)+b",
    ],
    *[
        "(?:(?:^x|a)b)+",
        "(?:^a)*b",
        "\\bfoo",
        "foo\\b",
        "\\bfoo\\b",
        "\\Bfoo",
        "foo\\B",
        "a\\bb",
        "a\\b-",
        "\\b",
        "\\w+\\b.",
    ],
    *[
        "(?:\\bfoo\\b ?)+",
        "(?:a\\b)*b",
        "(?:a\\b-?)+b",
        "\\b\\d+\\b",
        "(\\b|a)b",
        "\\B.\\B",
        "(?:\\b[a-z]+\\b.?)*$(?!\n)",
    ],
    *[
        "a(?=b)",
        "a(?!b)",
        "(?=a)a",
        "(?=ab)a",
        "(?!a).",
        "(?!ab)a",
        "^(?!foo)[a-z]+",
        "^(?!foo|bar).*",
        "^(?!.*--)[a-z-]+",
    ],
    *["^(?=.*\\d)(?=.*[a-z]).{8,}", "^(?=.{3})a", "(?=(?=a)a.)a", "(?!(?!a))a", "(?=a|b)[bc]", "(?:(?!a)[ab])*-"],
    *["(?<=a)b", "(?<!a)b", "(?<=foo)bar", "(?<!foo)bar", "^(?<!a)b", "(?<=a|b)c", "(?<=^)a", "(?<![\\w.])a"],
    *["(?:(?<=a)b|a)+", "(?<=\\b)a", "a(?<=a)b", "a(?<!b)b", "(?=a)*b", "(?=a)?b", "(?=a)+.", "(?:(?=a)){2}a"],
    *[
        "(?:(?!--)[^\n])*x",
        "^((?!foo)[a-z])*-",
        "(?:a(?=b)|b)+",
        "(?:[ab](?!c))+c",
        "(?:a|b(?=a)){2,3}",
        "(?:(?!a{2})a?b?)+-",
    ],
    *[
        "a{",
        "a{b",
        "a{1",
        "a{1,",
        "x{a}",
        "]",
        "a]",
        "}",
        "a}",
        "[a]]",
        "{",
        "(?P<n>a)b",
        "(?P<n>a)(?P<m>b)",
        "(?i:foo)",
    ],
    *["(?i)foo", "(?i)[a-c]b", "(?i:f)oo", "(?s).", "(?s:a.b)", "(?m)^b", "(?m)^a$", "(?m:^a)$(?!\n)", "(?i-s:FOO)"],
    *["^[a-z]+\\.[a-z]{2,}", "^\\d{4}-\\d{2}-\\d{2}", "^(\\d{1,3}\\.){3}\\d{1,3}", "^#?([a-f0-9]{6}|[a-f0-9]{3})"],
    *[
        "^/(([a-z]|%[0-9a-f]{2})+(/[a-z]*)*)?",
        "[\\w.+-]+@\\w+\\.\\w{2,}",
        "\\A\\d+\\Z",
        "\\Aab|b\\Z",
        "a{,2}b",
        "^a{,2}\\Z",
    ],
]


@pytest.mark.parametrize("pattern", SHARED_PATTERNS)
def test_both_dialects_agree_with_re_search(pattern: str) -> None:
    """A pattern that means the same in both dialects matches exactly where `re.search` finds it."""
    compiled = re.compile(pattern)
    ecma, python = Language(parse_ecma(pattern)), Language(parse_python(pattern, search=True))
    for text in ASCII_TEXTS:
        expected = bool(compiled.search(text))
        assert python.matches(text) == expected, (pattern, text)
        if not text and "\\B" in pattern:
            continue  # `\B` matches in the empty text, in Python since 3.14
        if not ("." in pattern and ("\n" in text or "\r" in text)):
            assert ecma.matches(text) == expected, (pattern, text)


@pytest.mark.parametrize(
    "pattern", [*SHARED_PATTERNS, "a$", "^a$", "$", "^$|a", "a$\n", "(?m)a$", "(?m)a$\nb", "(a$)|b", "a(?=$)"]
)
def test_python_dialect_agrees_with_re_fullmatch(pattern: str) -> None:
    """`parse_python` accepts what `re.fullmatch` accepts, and so does the text made from it."""
    compiled = re.compile(pattern)
    language = parse_python(pattern)
    recogniser, again = Language(language), re.compile(to_python_re(language))
    for text in ASCII_TEXTS:
        expected = bool(compiled.fullmatch(text))
        assert recogniser.matches(text) == expected, (pattern, text)
        assert bool(again.fullmatch(text)) == expected, (pattern, text, again.pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *[
            "\\d+",
            "\\w+",
            "\\s",
            "\\W",
            ".",
            "(?i)k",
            "(?i)s",
            "(?i)ß",
            "(?i)[à-ý]",
            "(?i)σ",
            "(?a)\\w",
            "(?a)\\d",
            "(?ai)k",
        ],
        *[
            "\\101",
            "\\0",
            "\\012",
            "[\\101]",
            "\\a",
            "\\U0001F600",
            "\\N{DIGIT ONE}",
            "[]a]",
            "[^]a]",
            "(?x) a b # c",
            "(?#c)a",
        ],
        *[
            "(?x)a {2}",
            "(?x)[ a]",
            "(?a:\\w)\\w",
            "(?s-i:.)",
            "\\Z",
            "a\\Z",
            "a$",
            "(?m)a$",
            "[[]",
            "x{,2}",
            "x{,}",
            "x{}",
        ],
    ],
)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_python_only_constructs_agree_with_re(pattern: str) -> None:
    """Python's own constructs, Unicode classes included, mean what they mean in `re`."""
    compiled, recogniser = re.compile(pattern), Language(parse_python(pattern))
    texts = [
        "a",
        "b",
        " ",
        "ab",
        "aa",
        "a ",
        "a\n",
        "]",
        "[",
        "A",
        "k",
        "K",
        "\u212a",
        "s",
        "S",
        "ſ",
        "ß",
        "ẞ",
        "É",
        "é",
        "Σ",
    ]
    texts += [
        "ς",
        "σ",
        "٣",
        "1",
        "é_",
        "\x00",
        "\n",
        "\x07",
        "😀",
        "x",
        "xx",
        "xxx",
        "x{}",
        "\u2028",
        "\xa0",
        "\x1c",
        "İ",
        "ı",
    ]
    for text in texts:
        assert recogniser.matches(text) == bool(compiled.fullmatch(text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "accepted", "rejected"),
    [
        ("^.$", ["a", "é", "😀", "\x0b", "\x85"], ["", "\n", "\r", "\u2028", "\u2029", "ab"]),
        ("^\\d$", ["0", "9"], ["٣", "a"]),
        ("^\\w$", ["_", "Z"], ["é", "-"]),
        ("^\\s$", [" ", "\ufeff", "\xa0", "\u2028", "\u3000", "\x0b"], ["\x1c", "\x85", "a"]),
        ("^a$", ["a"], ["a\n", "\na"]),
        ("(?<=^|,)a$", ["a", "x,a"], ["ba", "a,"]),
        ("^x(?<!\\b)y$", ["xy"], ["x", "x-y"]),
        ("\\bé", ["aé"], ["é"]),
        ("^\\cJ$", ["\n"], ["J"]),
        ("^[\\cA-\\cC]$", ["\x02"], ["\x04"]),
        ("^\\0$", ["\0"], ["0"]),
        ("^\\u{1F600}$", ["😀"], [""]),
        ("^\\uD83D\\uDE00$", ["😀"], ["\ud83d"]),
        ("^[\\uD83D\\uDE00-\\uD83D\\uDE02]$", ["😁"], ["😃"]),
        ("^[]$", [], ["", "]", "a"]),
        ("^[^]$", ["a", "\n"], ["", "ab"]),
        ("^[\\w-.]+$", ["a-b.c"], ["a b"]),
        ("^\\p{Lu}$", ["A", "É"], ["a", "1"]),
        ("^\\p{Lowercase_Letter}$", ["a", "é"], ["A"]),
        ("^\\P{L}$", ["1", " "], ["a", "é"]),
        ("^[\\p{L}\\p{Nd}_]+$", ["é1_", "٣"], ["a-b"]),
        ("^\\p{gc=Nd}+$", ["1٣"], ["a"]),
        ("^\\p{General_Category=Letter}$", ["a", "한"], ["1"]),
        ("^\\p{Script=Greek}+$", ["αβ"], ["a"]),
        ("^\\p{sc=Cyrl}+$", ["я"], ["a"]),
        ("^[\\p{Script=Han}\\p{Script=Hiragana}]+$", ["漢か"], ["カ", "a"]),
        ("^\\p{Alphabetic}$", ["a", "ⓐ", "Ⅷ", "\u0345"], ["1", "-"]),
        ("^\\p{ASCII}$", ["a", "\x7f"], ["é"]),
        ("^\\p{Any}$", ["a", "😀"], [""]),
        ("^\\p{Uppercase}$", ["A", "Ⅷ"], ["a"]),
        ("^\\p{White_Space}$", [" ", "\x85"], ["a"]),
        ("^(?<year>\\d{4})$", ["2024"], ["24"]),
        ("^(?<a>x)|(?<a>y)$", ["x", "y"], ["z"]),
        ("(?i)^straße$", ["STRAẞE", "straße"], ["strasse"]),
        ("(?i)^i$", ["i", "I"], ["ı", "İ"]),
        ("^(?i)ab$", ["AB", "aB"], ["abc"]),
        ("^(?:(?i)a)b$", ["Ab", "ab"], ["aB"]),
        ("(?m)a$", ["a\rb", "a\u2028b", "a"], ["ab"]),
        ("^\\/\\-\\%é\\é$", ["/-%éé"], ["/-%é"]),
    ],
)
def test_ecma_dialect(pattern: str, accepted: list[str], rejected: list[str]) -> None:
    """What ECMA-262 with the u flag means differently from Python, and what is read leniently."""
    language = parse_ecma(pattern)
    again = re.compile(to_python_re(language))
    for text in accepted:
        assert matches(language, text), text
        assert again.fullmatch(text), (text, again.pattern)
    for text in rejected:
        assert not matches(language, text), text
        assert not again.fullmatch(text), (text, again.pattern)


def test_simple_patterns_stay_small() -> None:
    """The patterns that schemas are full of become the obvious expressions."""
    a_to_z = Chars(((97, 122),))
    assert parse_ecma("^[a-z]+$") == Repeat(a_to_z, 1, None)
    assert parse_ecma("foo") == concat(ANY_STRING, literal("foo"), ANY_STRING)
    assert parse_ecma("^abc$") == literal("abc")
    assert parse_ecma("^foo") == concat(literal("foo"), ANY_STRING)
    assert parse_ecma("foo$") == concat(ANY_STRING, literal("foo"))
    assert parse_ecma("") == parse_ecma(".*") == parse_ecma("a*|b") == ANY_STRING
    assert parse_ecma("[a-z]+") == concat(ANY_STRING, a_to_z, ANY_STRING)
    assert parse_ecma("abc", search=False) == parse_python("abc") == parse_python("^abc\\Z") == literal("abc")


@pytest.mark.parametrize(
    ("pattern", "error", "fact", "position"),
    [
        ("a(b", InvalidPatternError, "group '(' is never closed", 1),
        ("ab)", InvalidPatternError, "')' closes no group", 2),
        ("a[bc", InvalidPatternError, "character class '[' is never closed", 1),
        ("*a", InvalidPatternError, "nothing to repeat before '*'", 0),
        ("a|+", InvalidPatternError, "nothing to repeat before '+'", 2),
        ("^*", InvalidPatternError, "nothing to repeat before '*'", 1),
        ("a{2}{3}", InvalidPatternError, "multiple repeat '{3}'", 4),
        ("a**", InvalidPatternError, "multiple repeat '*'", 2),
        ("xa{3,2}", InvalidPatternError, "repetition '{3,2}' is out of order", 2),
        ("[z-a]", InvalidPatternError, "character range 'z-a' is out of order", 1),
        ("[ab]x[z-a]", InvalidPatternError, "character range 'z-a' is out of order", 6),
        ("ab\\", InvalidPatternError, "a backslash ends the pattern", 2),
        ("a\\q", InvalidPatternError, "escape '\\q' is not part of this dialect", 1),
        ("\\x4", InvalidPatternError, "escape '\\x4' needs 2 hexadecimal digits of a code point", 0),
        ("\\u12", InvalidPatternError, "escape '\\u12' needs 4 hexadecimal digits of a code point", 0),
        ("\\u{110000}", InvalidPatternError, "code point 110000 is above 10FFFF", 0),
        ("\\pL", InvalidPatternError, "property escape without '{...}'", 0),
        ("(?<1>a)", InvalidPatternError, "group name is not an identifier followed by '>'", 0),
        ("(?~a)", InvalidPatternError, "unknown group '(?~a'", 0),
        ("(a)\\1", UnsupportedPatternError, "back-reference '\\1' cannot be compiled", 3),
        ("(?<n>a)\\k<n>", UnsupportedPatternError, "back-reference '\\k' cannot be compiled", 7),
        ("(?P<n>a)(?P=n)", UnsupportedPatternError, "back-reference '(?P=' cannot be compiled", 8),
        ("x(?>a)", UnsupportedPatternError, "atomic group '(?>' cannot be compiled", 1),
        ("a*+", UnsupportedPatternError, "possessive quantifier '*+' cannot be compiled", 1),
        ("[[:alpha:]]", UnsupportedPatternError, "POSIX class '[:alpha:]' is not part of this dialect", 1),
        ("\\p{Script=Klingon}", UnsupportedPatternError, "Unicode property 'Script=Klingon' is not known", 0),
        ("a(?x)b", UnsupportedPatternError, "inline flag 'x' is not known", 1),
        ("\\01", UnsupportedPatternError, "octal escapes are not part of ECMA-262 with the u flag", 0),
        (
            "ab(?<=a$|b\\b)",
            UnsupportedPatternError,
            "look-behind that itself looks at the text after it cannot be compiled",
            2,
        ),
        (
            "(?=x(?<=ax))",
            UnsupportedPatternError,
            "look-ahead with this kind of look-around inside it cannot be compiled",
            0,
        ),
    ],
)
def test_ecma_errors_name_the_position(pattern: str, error: type[PatternError], fact: str, position: int) -> None:
    """An unusable ECMA-262 pattern says what is wrong, at which character of which pattern, and is not guessed at."""
    with pytest.raises(error) as caught:
        parse_ecma(pattern)
    assert (caught.value.fact, caught.value.position, caught.value.pattern) == (fact, position, pattern)
    assert caught.value.at == f"position {position} of pattern {pattern!r}"


@pytest.mark.parametrize(
    ("pattern", "error", "position"),
    [
        *[("(a)(?(1)b|c)", UnsupportedPatternError, 3), ("(a)\\1", UnsupportedPatternError, 3)],
        *[("a(?i)b", InvalidPatternError, 1), ("(?<n>a)", InvalidPatternError, 0), ("\\p{L}", InvalidPatternError, 0)],
        *[
            ("(?P<n>a)(?P<n>b)", InvalidPatternError, 8),
            ("[\\w-a]", InvalidPatternError, 3),
            ("\\400", InvalidPatternError, 0),
        ],
        *[("\\N{nope}", InvalidPatternError, 0), ("(?#a", InvalidPatternError, 0), ("[]", InvalidPatternError, 0)],
    ],
)
def test_python_errors_name_the_position(pattern: str, error: type[PatternError], position: int) -> None:
    """The Python dialect refuses what `re` refuses, and what no automaton can do."""
    with pytest.raises(error) as caught:
        parse_python(pattern)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "pattern",
    [
        *["(?:" * 3000 + "a" + ")*" * 3000, "(a|" * 5000 + "b" + ")" * 5000, "(?=" * 1000 + "a" + ")" * 1000],
        *["a{99999999999999999999}", "a{1," + "9" * 5000 + "}", "(?!" * 140 + "a" + ")" * 140],
    ],
    ids=["stars", "alternatives", "look-aheads", "counter", "long counter", "negated look-aheads"],
)
def test_hostile_patterns_hit_a_limit(pattern: str) -> None:
    """Nesting and counters beyond the limits are a `LimitError` with a way out, whatever the recursion limit is."""
    with pytest.raises(LimitError, match="limit") as caught:
        parse_ecma(pattern)
    assert caught.value.fix
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^" + "(" * 10_000 + "a" + ")" * 10_000 + "$", "a"),
        ("^a{100000}$", "a" * 100_000),
        ("^(a{100}){100}$", "a" * 10_000),
        ("^" + "a?" * 2000 + "b$", "aab"),
        ("^" + "(?:a\\b|b)" * 200 + "$", "b" * 199 + "a"),
        ("^(?:" + "|".join(f"w{n}" for n in range(3000)) + ")$", "w7"),
        ("^" + "".join(f"(?!.*x{n}$)" for n in range(100)) + ".*$", "x100"),
        ("^(?:(?:a\\b)*-?){20}$", "a-a"),
        ("^" + "[a-z]" * 3000 + "$", "q" * 3000),
    ],
    ids=["brackets", "counter", "nested counter", "optionals", "boundaries", "words", "claims", "loops", "classes"],
)
def test_large_patterns_work(pattern: str, text: str) -> None:
    """Large patterns that denote something reasonable are compiled, not refused."""
    recogniser = Language(parse_ecma(pattern))
    assert recogniser.matches(text)
    assert not recogniser.matches(text + "\n!")


def test_unclosed_brackets_are_an_error_not_a_recursion() -> None:
    """Ten thousand opening brackets are reported as unclosed."""
    with pytest.raises(InvalidPatternError, match="never closed"):
        parse_ecma("(" * 10_000)


@pytest.mark.parametrize("written", ["[a-cé]", "[^a-cé]", "[a^]", "[-a]", "[a-]", "[a #]", "[^^]"])
@pytest.mark.parametrize("flags", ["", "i", "x", "ia"])
def test_a_class_means_the_same_with_an_escape_in_it(written: str, flags: str) -> None:
    """A class without escapes is read once and remembered, with its flags; one with escapes is not."""
    escaped = written.replace("a", "\\x61") if "a" in written else f"{written[:-1]}\\x5e]"
    prefix = f"(?{flags})" if flags else ""
    assert parse_python(prefix + written) == parse_python(prefix + escaped)

"""Patterns in the syntax of Rust's `regex` crate: pydantic itself says what each means."""

# ruff: noqa: RUF001 - letters that look alike are the point
from __future__ import annotations

import json
import pickle
import random
import re
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

import schemagen
from schemagen.errors import InvalidPatternError, LimitError, OptionError, PatternError, UnsupportedPatternError
from schemagen.regex import Language, is_empty, parse_ecma, parse_python, parse_rust, rust_sets
from schemagen.regex.ast import invert_ranges, normalise_ranges
from schemagen.types.reflection import reflect
from schemagen.types.value_patterns import _PLAINLY_PORTABLE
from tests.suite.cases import load_cases

BYTES = schemagen.Vocabulary.byte_vocabulary()

TEXTS = [
    *[
        "",
        "a",
        "A",
        "b",
        "z",
        "z]",
        "ae",
        "ab",
        "b1",
        "a b",
        "a\nb",
        "a\r\nb",
        "a\rb",
        "\r",
        "\n",
        "\r\n",
        "aa",
        "aaaa",
    ],
    *[
        "-",
        "[",
        "]",
        "^",
        "&",
        "~",
        "x",
        "5",
        "9",
        "_",
        ":",
        ",",
        "<",
        ">",
        "{",
        "}",
        "#",
        " ",
        "k",
        "K",
        "s",
        "S",
        "\x07",
    ],
    *[
        "é",
        "é ",
        "É",
        "ſ",
        "\u212a",
        "αβγ",
        "Α",
        "я",
        "中",
        "😀",
        "٣",
        "²",
        "a-b",
        " a ",
        "<a>",
        "\u2028",
        "\x85",
        "\u200c",
        "İ",
        "ß",
    ],
    *["\u0ece", "\u05c8", "\U00010ef3", "\ufeff", "aé", "éa", "12", "1a", "a1", "abc"],
]

PATTERNS = [
    # Classes: nested, with operators, with POSIX classes, with what is a character only because of its place.
    *[
        r"^[a-z&&[aeiou]]+$",
        r"[a-z--[aeiou]]",
        r"[a-g~~b-h]",
        r"[[a-z][0-9]]",
        r"[x[^xyz]]",
        r"[\d&&[^5]]",
        r"[a&&]",
        r"[^a&&]",
    ],
    *[
        r"[]a]",
        r"[^]a]",
        r"[--a]",
        r"[a-]",
        r"[-]",
        r"[!-[b]]",
        r"[a&b]",
        r"[a~b]",
        r"[[^]a]]",
        r"[a-c--b&&a-c]",
        r"[^[^a]]",
    ],
    *[
        r"[[:alpha:]]",
        r"[[:^alpha:]]",
        r"[[:foo:]]",
        r"[:alpha:]",
        r"[[:word:]--[:digit:]]",
        r"[[:punct:]&&[^_]]",
        r"[\x{61}-\u0063]",
    ],
    # Escapes, tables.
    *[
        r"\x{41}",
        r"\x41\u{62}?",
        r"\U0001F600",
        r"\a",
        r"\p{Greek}",
        r"\p{sc=Greek}",
        r"\p{scx=Greek}",
        r"\pL",
        r"\PN",
        r"\p{gc=Lu}",
    ],
    *[
        r"\p{Letter}",
        r"\P{Letter}",
        r"\p{White_Space}",
        r"\p{greek}",
        r"\p{sc!=Greek}",
        r"^\d$",
        r"^\w$",
        r"^\s$",
        r"^\W$",
        r"^\D$",
    ],
    *[r"\#\ \&\~\-", r"\%"],
    # Assertions.
    *[
        r"\<a\>",
        r"\b{start}a",
        r"a\b{end}",
        r"\b{start-half}a",
        r"a\b{end-half}",
        r"a\b{2}",
        r"\Ba",
        r"^$",
        r"\A\z",
        r"^*a",
        r"(?:\b)+a",
    ],
    *[r"(?m)^b$", r"(?mR)^b$", r"(?mR)a$", r"(?mR)^$", r"(?R)^.$", r"(?s)^.$", r"^.$"],
    # Flags, groups, quantifiers.
    *[
        r"(?i)k",
        r"(?i)[^s]",
        r"(?i)[a-z&&[^k]]",
        r"(?i)\p{Lu}",
        r"(?i)^\P{Lu}$",
        r"(?i)ß",
        r"(?i)i",
        r"(?i-u)é",
        r"(?i-u)k",
        r"a(?i)b|A",
    ],
    *[
        r"(?-u:\w)",
        r"(?-u:\b)é",
        r"(?-u:\d)\D",
        r"(?U)a+?",
        r"(?i)a(?-i)b",
        r"(?i:a)b",
        r"(?P<n>a)|(?<m.o[0]>b)",
        r"()",
        r"a||b",
    ],
    *[
        r"^a**$",
        r"^a{2}{2}$",
        r"^a{ 1 , 2 }$",
        r"^a{1,}+$",
        r"^(?:a|b)*?$",
        r"^a{0}$",
        "(?x) a b # the rest\n",
        r"(?x)a\ b",
        r"(?x)[ a b ]",
    ],
    *[
        r"(?x)( ?i: a )",
        r"(?x)\x{ 6 1 }",
        r"(?x)\p { Greek }",
        "(?x)[ a # x ]\n b ]",
        "(?x)a \u2003 {2}",
        r"(?x)[a - c]",
        r"(?x)\x 4 1",
    ],
]


def judge(pattern: str) -> Any:
    """Return pydantic's own answer to whether a text matches."""
    schema: Any = {"type": "str", "pattern": pattern}
    return SchemaValidator(schema).isinstance_python


@pytest.mark.parametrize("pattern", PATTERNS)
def test_meaning_is_that_of_pydantic(pattern: str) -> None:
    """A text is in the language exactly if pydantic finds the pattern in it; so for the whole text."""
    found, whole = Language(parse_rust(pattern)), Language(parse_rust(pattern, search=False))
    finds = judge(pattern)
    matches = None if pattern.startswith("(?x)") else judge(rf"\A(?:{pattern})\z")
    for text in TEXTS:
        assert found.matches(text) == finds(text), (pattern, text)
        if matches is not None:
            assert whole.matches(text) == matches(text), (pattern, text)


@pytest.mark.parametrize(
    "case", [case for case in load_cases() if "rust" in (case.schema or "")], ids=lambda case: case.id
)
def test_pydantic_confirms_the_labels_of_the_suite(case: Any) -> None:
    """What the suite calls accepted or rejected, pydantic does."""
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[str, Field(pattern=json.loads(case.schema)["pattern"])])

    def accepts(text: str) -> bool:
        try:
            adapter.validate_json(text)
        except ValidationError:
            return False
        return True

    assert [text for text in case.accepted if not accepts(text)] == []
    assert [text for text in case.rejected if accepts(text)] == []


@pytest.mark.parametrize(
    ("pattern", "kind", "fact", "position"),
    [
        ("ab(", InvalidPatternError, "unclosed group", 2),
        ("a{,3}", InvalidPatternError, "repetition quantifier expects a valid decimal", 2),
        (r"[a-\d]", InvalidPatternError, "invalid range boundary", 3),
        (r"a\Z", InvalidPatternError, "unrecognized escape sequence", 1),
        (r"\p{Klingon}", InvalidPatternError, "Unicode property not found", 0),
        ("a(?=b)", UnsupportedPatternError, "look-around", 1),
        (r"(a)\1", UnsupportedPatternError, "backreferences", 3),
        ("a\ud800", InvalidPatternError, "lone surrogate", 1),
    ],
)
def test_what_the_crate_refuses_is_refused(pattern: str, kind: type[PatternError], fact: str, position: int) -> None:
    """The error has the crate's words, the position and a way out."""
    with pytest.raises(kind) as caught:
        parse_rust(pattern)
    assert fact in caught.value.fact
    assert caught.value.position == position
    assert caught.value.fix


def test_too_large_patterns_are_a_matter_of_limits() -> None:
    """A pattern that the crate finds too large is no wrong pattern."""
    with pytest.raises(LimitError, match="size limit"):
        parse_rust(r"\w{1000}")


@pytest.mark.parametrize("item", [r"\d", r"\s", r"\w"])
def test_shipped_tables_are_those_of_the_crate(item: str) -> None:
    """The tables in the package are what the crate says; if not, run tools/rust_tables.py."""
    if rust_sets.unicode_version().startswith("pydantic-core"):
        pytest.skip("the package has no tables of this version; the crate is asked")
    assert rust_sets.rust_set(item) == rust_sets._asked(item)


@pytest.mark.parametrize("item", [r"\w", r"\p{scx=Arab}", r"\P{L}", r"\p{emoji}"])
def test_asked_sets_are_right_for_every_character(item: str) -> None:
    """The halving loses no code point of the first planes, nor the noncharacters of the last."""
    found = Language(parse_rust(f"^[{item}]$"))
    matches = judge(rf"\A[{item}]\z")
    points = [*range(0, 0xD800, 7), *range(0xE000, 0x3FFFF, 61), *range(0x3FFFE, 0x110000, 0x1111), 0x10FFFE, 0x10FFFF]
    assert [point for point in points if found.matches(chr(point)) != matches(chr(point))] == []


def test_complements_of_everything_are_empty() -> None:
    """Surrogates are no way out of a class that no text matches."""
    for pattern in (r"^[^\p{any}]$", r"^[^\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]$", r"^[\W&&\w]$"):
        assert is_empty(parse_rust(pattern)), pattern


@pytest.mark.slow
def test_every_set_holds_for_every_scalar_value() -> None:
    """Also where planes are taken to be alike."""
    for item in (
        r"\w",
        r"\p{L}",
        r"\p{Cn}",
        r"\p{Noncharacter_Code_Point}",
        r"\p{Default_Ignorable_Code_Point}",
        r"\p{age=6.0}",
    ):
        matches, known = judge(rf"\A[{item}]\z"), Language(parse_rust(f"^[{item}]$"))
        wrong = [p for p in range(0x110000) if not 0xD800 <= p <= 0xDFFF and matches(chr(p)) != known.matches(chr(p))]
        assert wrong == [], item


def test_nothing_folds_outside_of_the_cased_characters() -> None:
    """No character that is taken to have no case matches another under the flag i."""
    cased = rust_sets._cased()
    others = rust_sets._scalars(invert_ranges(normalise_ranges(cased.ranges or ())))
    listed = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in others)
    assert not judge(rf"(?i:[{listed}])")(cased.text)


def test_ascii_letters_fold_as_the_crate_says() -> None:
    """What is known about ASCII without asking is what the crate would have said."""
    for letter in "aAkKsSzZ09_":
        assert rust_sets.rust_fold(((ord(letter), ord(letter)),)) == rust_sets._folded(((ord(letter), ord(letter)),))
    assert rust_sets.rust_fold(((0x30, 0x6A),)) == rust_sets._folded(((0x30, 0x6A),))


def test_versions_without_tables_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the crate of another Unicode version the sets are the crate's, too."""
    expected = rust_sets.rust_set(r"\d")
    with monkeypatch.context() as patched:
        patched.setattr("schemagen.regex.rust_tables.VERSIONS", {})
        rust_sets.unicode_version.cache_clear()
        rust_sets._shipped.cache_clear()
        assert rust_sets.unicode_version().startswith("pydantic-core ")
        assert rust_sets._shipped() == {}
        assert rust_sets.rust_set(r"\d") == expected
    rust_sets.unicode_version.cache_clear()
    rust_sets._shipped.cache_clear()


# --- how patterns of types come in ---------------------------------------------------------------------------------------


class Strict(BaseModel):
    """A model whose patterns `re` checks."""

    model_config = ConfigDict(regex_engine="python-re")
    code: Annotated[str, Field(pattern=r"^(?!0)[0-9]{2}$")]


def accepts(spec: Any, text: str) -> bool:
    """Return whether a text is a complete one of a grammar."""
    matcher = schemagen.compile(spec, BYTES).matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_regex_engine_decides_the_dialect() -> None:
    """With python-re there are look-aheads, and `$` stands before a last line feed; pydantic agrees."""
    for text in ('{"code":"12"}', '{"code":"02"}', '{"code":"12\\n"}', '{"code":"123"}'):
        try:
            expected = bool(Strict.model_validate_json(text))
        except ValidationError:
            expected = False
        assert accepts(Strict, text) == expected, text


def test_compiled_patterns_keep_their_flags() -> None:
    """What `re.compile` made is read with its flags, in Python's dialect."""
    spec = Annotated[str, Field(pattern=re.compile(r"^ a \d $", re.IGNORECASE | re.VERBOSE | re.ASCII))]
    assert accepts(spec, '"A1"')
    assert not accepts(spec, '"A٣"')
    assert not accepts(spec, '" A1"')
    assert reflect(spec).schema["x-pattern-dialect"] == "python"


def test_portable_patterns_stay_plain() -> None:
    """A pattern that means the same in ECMA-262 carries no mark, so the schema is what it was."""
    assert dict(reflect(Annotated[str, Field(pattern="^[A-Z]{3}$")]).schema) == {
        "pattern": "^[A-Z]{3}$",
        "type": "string",
    }
    assert reflect(Annotated[str, Field(pattern=r"^\d$")]).schema["x-pattern-dialect"] == "rust"


def test_what_is_plainly_portable_is_read_alike() -> None:
    """What is taken for portable without reading it is the same language in both dialects."""
    rng = random.Random(3)
    parts = [
        *"ab-&~[]^$|()?*+{},.é# <",
        "(?:",
        "{2}",
        "{1,3}",
        r"\.",
        r"\-",
        r"\/",
        "a-z",
        "[a-z]",
        "[^a-c]",
        "[a-]",
        "[b",
        "]+",
    ]
    seen = 0
    while seen < 300:
        pattern = "".join(rng.choice(parts) for _ in range(rng.randint(1, 7)))
        if _PLAINLY_PORTABLE.fullmatch(pattern) and rust_sets.refusal(pattern) is None:
            assert parse_rust(pattern) == parse_ecma(pattern), pattern
            seen += 1


def test_keys_of_dicts_are_read_likewise() -> None:
    """The pattern of a key type is Rust's as well."""
    spec = dict[Annotated[str, Field(pattern="^[a-z--b]$")], int]
    assert accepts(spec, '{"a":1}')
    assert not accepts(spec, '{"b":1}')
    assert not accepts(spec, '{"-":1}')


@pytest.mark.parametrize("dialect", ["python", "rust", "ecma-262"])
def test_a_regex_is_its_pattern_and_its_dialect(dialect: Any) -> None:
    """Equality, hash, pickle and repr tell dialects apart, and the same pattern compiles to what each of them means."""
    spec = schemagen.Regex(r"\d", dialect)
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - our own
    assert repr(spec) == rf"Regex(pattern='\\d'{'' if dialect == 'python' else f', dialect={dialect!r}'})"
    assert (spec == schemagen.Regex(r"\d")) == (dialect == "python")
    assert accepts(spec, "٣") == (dialect != "ecma-262")
    assert re.compile(schemagen.to_regex(spec)).fullmatch("٣") is not None or dialect == "ecma-262"


def test_unknown_dialects_are_refused() -> None:
    """A dialect that there is not is refused where it is given."""
    with pytest.raises(OptionError, match="dialect='perl'"):
        schemagen.Regex("a", "perl")  # type: ignore[arg-type]
    with pytest.raises(schemagen.InvalidSchemaError, match="x-pattern-dialect"):
        schemagen.compile({"type": "string", "pattern": "a", "x-pattern-dialect": "perl"}, BYTES)


def test_posix_classes_of_python_name_a_way_out_that_exists() -> None:
    r"""The fix does not recommend `\p{L}`, which the same dialect refuses."""
    with pytest.raises(UnsupportedPatternError) as caught:
        parse_python("[[:alpha:]]")
    assert "\\p" not in caught.value.fix
    assert accepts(schemagen.Regex("[[:alpha:]]+", "rust"), "abc")

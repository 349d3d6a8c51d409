"""Specs made of specs: one after the other, any of them, the same again; and of compiled grammars, over their vocabulary."""

import pickle
import re
from itertools import product
from typing import Any

import pytest
from pydantic import BaseModel

import schemagen
from schemagen import EBNF, GBNF, Choice, Grammar, Lark, Regex, StructuralTag
from schemagen.errors import OptionError, OptionTypeError, UnsatisfiableSchemaError
from tests.grammars import BYTES, PIECES, check_masks_along, derives

NESTED = GBNF('root ::= "(" root ")" | "x"')
FLAGS = {"type": "boolean"}


class Point(BaseModel):
    """A type."""

    x: int


def takes(grammar: Grammar, text: str) -> bool:
    """Whether a compiled grammar takes a text as a whole."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_concat_takes_one_of_each() -> None:
    """Patterns, choices, JSON, types and grammars, with and without a lexer, follow one another."""
    lark = Lark("start: WORD+\nWORD: /[a-z]+;/")
    spec = schemagen.concat(Regex("a+"), NESTED, FLAGS, ["p", "q"], Point, lark, EBNF('root ::= "z" root | "."'))
    assert derives(spec, 'aa((x))trueq{"x":1}ab;c;zz.')
    for text in (
        'aa((x))trueq{"x":1}ab;c;zz',
        '((x))trueq{"x":1}ab;c;.',
        'aa((x)trueq{"x":1}ab;.',
        'a x falsep{"x":1}b;.',
    ):
        assert not derives(spec, text)


def test_union_takes_any() -> None:
    """A text of one part is enough."""
    spec = schemagen.union(Regex("a+"), NESTED, FLAGS)
    for text in ("aa", "(x)", "x", "false"):
        assert derives(spec, text)
    for text in ("", "a(x)", "truefalse"):
        assert not derives(spec, text)


@pytest.mark.parametrize(
    ("low", "high", "counts"), [(0, None, {0, 1, 2, 3}), (1, None, {1, 2, 3}), (0, 1, {0, 1}), (2, 2, {2})]
)
def test_repeat_counts(low: int, high: int | None, counts: set[int]) -> None:
    """Of the part there are as many as said, whatever it is."""
    for part, text in ((Regex("ab"), "ab"), (NESTED, "(x)"), (FLAGS, "true")):
        spec = schemagen.repeat(part, low, high)
        assert {count for count in range(4) if derives(spec, count * text)} == counts


def test_nothing_and_nothing_more() -> None:
    """Without parts concat takes the empty text; a union has to have one."""
    assert derives(schemagen.concat(), "")
    assert not derives(schemagen.concat(), "a")
    with pytest.raises(OptionError, match="no parts"):
        schemagen.union()


def test_rules_of_the_same_name_stay_apart() -> None:
    """Every part has its own rules, also where a part is a combination of others with such names."""
    first = EBNF('root ::= a "," a\na ::= "1"')
    second = EBNF('root ::= a ";" a\na ::= "2"')
    third = schemagen.union(second, first)
    spec = schemagen.concat(first, second, third, third)
    assert derives(spec, "1,12;21,12;2")
    for text in ("1,12;21;12;2", "1,11;11,12;2", "2,21;12,12;2", "1,12;21,12,2"):
        assert not derives(spec, text)


def test_combinations_of_languages() -> None:
    """Of all short texts those are taken that the languages of the parts make."""
    parts: list[tuple[Any, set[str]]] = [
        (Choice("a", "ab"), {"a", "ab"}),
        (Regex("b?"), {"", "b"}),
        (NESTED, {"x", "(x)"}),
    ]
    texts = ["".join(letters) for length in range(6) for letters in product("abx()", repeat=length)]
    for (one, these), (other, those) in product(parts, repeat=2):
        pairs = {a + b for a in these for b in those}
        assert {text for text in texts if len(text) < 5 and derives_fast(schemagen.concat(one, other), text)} == {
            text for text in pairs if len(text) < 5
        }
        assert {
            text for text in texts if len(text) < 4 and derives_fast(schemagen.union(one, other), text)
        } == these | those


def derives_fast(spec: Any, text: str) -> bool:
    """Whether a spec takes a text; nesting of brackets is bounded by its length."""
    return derives(spec, text) and text.count("(") < 2


def test_masks_are_exact() -> None:
    """In front of each byte of a text of a combination, by trying every token."""
    check_masks_along(schemagen.concat(Regex("a+"), FLAGS, NESTED), "aatrue((x))")
    check_masks_along(schemagen.repeat(schemagen.union(NESTED, Regex("[0-9]+-")), 2), "(x)12-x")


def test_combinations_are_specs() -> None:
    """They compare, hash, pickle, nest, stand in prompts, and become regular expressions."""
    spec = schemagen.concat(Regex("a"), schemagen.repeat({"const": 1}, 1, 2))
    assert spec == schemagen.concat(Regex("a"), schemagen.repeat({"const": 1}, 1, 2))
    assert spec != schemagen.concat(Regex("a"), schemagen.repeat({"const": 1}, 1, 3))
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301 - our own bytes
    assert len({spec, schemagen.concat(Regex("a"))}) == 2
    assert schemagen.compile(spec, BYTES) is schemagen.compile(spec, BYTES)
    assert schemagen.compile(spec, BYTES).validate("a11") == "a11"
    shown = schemagen.union(spec, NESTED, ["p"], Point).shown()
    for part in ("expression a", '{"const": 1}', "1 to 2", 'root ::= "("', "'p'", '"x"'):
        assert part in shown
    shown = schemagen.concat(re.compile("b+"), schemagen.Json(max_depth=0), True).shown()
    for part in ("expression b+", '"boolean"', "JSON of the schema true"):
        assert part in shown
    assert schemagen.to_regex(schemagen.concat(Regex("a"), ["b", "c"])) == "a[bc]"
    tag = {"type": "structural_tag", "format": {"type": "const_string", "value": "t"}}
    assert derives(schemagen.concat(StructuralTag(tag), Regex("a")), "ta")


def test_a_dict_may_be_changed_afterwards() -> None:
    """A combination keeps copies."""
    schema = {"const": 1}
    spec = schemagen.concat(schema)
    schema["const"] = 2
    assert derives(spec, "1")


def test_compiled_grammars_give_compiled_ones() -> None:
    """Over the same vocabulary and with the same options; specs may stand among them."""
    word = schemagen.compile(Regex("[a-z]+"), BYTES)
    both = Grammar.concat(word, FLAGS, schemagen.compile(NESTED, BYTES))
    assert both.vocabulary is BYTES
    assert takes(both, "abtrue(x)")
    assert not takes(both, "abx")
    assert both.validate("atruex") == "atruex"
    either = Grammar.union(NESTED, word)
    assert takes(either, "(x)")
    assert takes(either, "abc")
    compact = schemagen.compile({"type": "array"}, BYTES, whitespace="compact")
    assert takes(Grammar.concat(compact, Regex("!")), "[1,2]!")
    assert not takes(Grammar.concat(compact, Regex("!")), "[1, 2]!")


def test_compiled_grammars_repeat() -> None:
    """star, plus, optional and repeat are the usual operators."""
    pair = schemagen.compile(NESTED, BYTES)
    found = {
        name: {count for count in range(4) if takes(grammar, count * "(x)")}
        for name, grammar in (
            ("star", pair.star()),
            ("plus", pair.plus()),
            ("optional", pair.optional()),
            ("repeat", pair.repeat(2, 3)),
        )
    }
    assert found == {"star": {0, 1, 2, 3}, "plus": {1, 2, 3}, "optional": {0, 1}, "repeat": {2, 3}}


def test_what_cannot_be_combined() -> None:
    """Two vocabularies, two ways to compile, grammars among specs, and no grammar at all."""
    word = schemagen.compile(Regex("a"), BYTES)
    with pytest.raises(OptionError, match="grammars over"):
        Grammar.concat(word, schemagen.compile(Regex("a"), PIECES))
    with pytest.raises(OptionError, match="whitespace="):
        Grammar.union(word, schemagen.compile(FLAGS, BYTES, whitespace="any"))
    with pytest.raises(OptionError, match="no part is a compiled grammar"):
        Grammar.concat(Regex("a"))
    with pytest.raises(OptionTypeError, match="a compiled grammar"):
        schemagen.concat(word)
    lenient = schemagen.compile({"type": "integer"}, BYTES, strict=False)
    with pytest.raises(OptionError, match="strict=False"):
        lenient.star()
    with pytest.raises(UnsatisfiableSchemaError):
        schemagen.compile(schemagen.concat(Regex("a"), False), BYTES)


@pytest.mark.parametrize(("low", "high"), [(-1, None), (2, 1), (0, -1), (2**31, None)])
def test_counts_that_cannot_be_meant(low: int, high: int | None) -> None:
    """They are refused at once."""
    with pytest.raises(OptionError):
        schemagen.repeat(Regex("a"), low, high)


def test_counts_of_another_type() -> None:
    """Neither floats nor booleans count."""
    for low in (1.0, True, "1"):
        with pytest.raises(OptionTypeError):
            schemagen.repeat(Regex("a"), low)  # type: ignore[arg-type]


def test_combinations_within_one_another_have_a_limit() -> None:
    """So that nothing behind them recurses without end."""
    deep: Any = Regex("a")
    for _ in range(60):
        deep = schemagen.concat(deep)
    assert derives(deep, "a")
    with pytest.raises(OptionError, match="61 within one another"):
        schemagen.concat(deep)
    wide: Any = Regex("a")
    for _ in range(12):
        wide = schemagen.concat(wide, wide)
    assert derives(wide, "a" * 2**12)
    with pytest.raises(OptionError, match="parts"):
        schemagen.concat(wide, wide)


@pytest.mark.parametrize(
    ("wrap", "text", "expected"),
    [
        (lambda spec: schemagen.concat(spec, Regex("!"), spec), "1+2!3", [("sum", 0, 3), ("sum", 4, 5)]),
        (lambda spec: schemagen.union(spec, Regex("[a-z]")), "1+2", [("sum", 0, 3)]),
        (
            lambda spec: schemagen.Template("<{a}|{b}>", a=spec, b=int),
            "<1+2|3>",
            [("a", 1, 4), ("sum", 1, 4), ("b", 5, 6)],
        ),
    ],
)
def test_labels_are_kept(wrap: Any, text: str, expected: list[tuple[str, int, int]]) -> None:
    """A rule that begins with itself has a copy without a label, which is taken over as well."""
    sums = EBNF('root ::= sum\nsum[capture] ::= sum "+" [0-9] | [0-9]')
    matcher = schemagen.compile(wrap(sums), BYTES).matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.captures(complete=True) == expected

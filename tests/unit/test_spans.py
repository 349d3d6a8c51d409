"""Spans: which rule or group is where in a text."""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import schemagen
from schemagen.context_free import spans
from schemagen.context_free.lark.python_re import matched
from schemagen.context_free.syntax import MARK, Lexeme
from schemagen.errors import LimitError, OptionError, OptionTypeError, UnsupportedGrammarError, ValidationFailed
from schemagen.regex.language import Language, States
from schemagen.text import paragraph_tokens, text_tokens
from tests.grammars import BYTES


def named(spec: object, text: str) -> list[tuple[str, str]]:
    """Return the name and the text of each span."""
    found = schemagen.compile(spec, BYTES).spans(text)
    for at, span in enumerate(found):
        around = [other for other in found[:at] if other.start <= span.start and span.end <= other.end]
        assert span.depth <= len(around)
    return [(span.name, text[span.start : span.end]) for span in found]


def test_rules_of_gbnf() -> None:
    """Outer ones first, in the order of the text."""
    spec = schemagen.GBNF('root ::= pair ("," pair)*\npair ::= name "=" num\nname ::= [a-z]+\nnum ::= "-"? [0-9]+')
    assert named(spec, "ab=12,c=-3") == [
        ("root", "ab=12,c=-3"),
        ("pair", "ab=12"),
        ("name", "ab"),
        ("num", "12"),
        ("pair", "c=-3"),
        ("name", "c"),
        ("num", "-3"),
    ]


def test_the_leftmost_longest() -> None:
    """The first part takes what it can, also where that is all of the text but what the rest needs."""
    spec = schemagen.GBNF("root ::= a b c\na ::= [a-z]*\nb ::= [a-z]+\nc ::= [a-z]?")
    assert named(spec, "wxyz")[1:] == [("a", "wxy"), ("b", "z"), ("c", "")]
    assert named(spec, "w")[1:] == [("a", ""), ("b", "w"), ("c", "")]


def test_of_two_the_first_that_is_written() -> None:
    """Both rules derive the word."""
    rules = {"keyword": '"if"', "name": "[a-z]+"}
    for first, second in (("keyword", "name"), ("name", "keyword")):
        body = "\n".join(f"{name} ::= {rule}" for name, rule in rules.items())
        assert named(schemagen.GBNF(f"root ::= {first} | {second}\n{body}"), "if")[1] == (first, "if")


def test_recursion_on_every_side() -> None:
    """Left, right, hidden, and rules that derive one another."""
    spec = schemagen.GBNF(
        'root ::= e\ne ::= e "+" t | t\nt ::= "(" e ")" | [0-9] | none "-" t | u\nu ::= t | "x"\nnone ::= ""'
    )
    assert [text for name, text in named(spec, "1+-(2)+x") if name == "t"] == ["1", "-(2)", "(2)", "2", "x"]


def test_a_long_list_of_either_recursion() -> None:
    """No recursion of Python's."""
    for body in ('list "," item | item', 'item "," list | item'):
        spec = schemagen.GBNF(f"root ::= list\nlist ::= {body}\nitem ::= [0-9]+")
        text = ",".join(map(str, range(300)))
        assert [part for name, part in named(spec, text) if name == "item"] == text.split(",")


def test_a_long_text_of_a_left_recursive_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the places where the rule may end, one is looked at for each level, and not all of them."""
    looked: list[int] = []
    ends_within = spans._Chart._ends_within

    def counted(*arguments: Any) -> Iterator[tuple[int, int]]:
        for found in ends_within(*arguments):
            looked.append(found[0])
            yield found

    monkeypatch.setattr(spans._Chart, "_ends_within", counted)
    found = named(schemagen.GBNF('root ::= root [0-9] | [0-9] | ""'), "1" * 500)
    assert len(found) == 500
    assert len(looked) < 5 * len(found)


def test_what_is_ignored_belongs_to_no_rule_at_the_end() -> None:
    """Rules of lark, without those that it makes of repetitions."""
    pytest.importorskip("lark")
    spec = schemagen.Lark('start: (pair ";")*\npair: NAME "=" NAME\nNAME: /[a-z]+/\n%ignore " "')
    assert named(spec, " ab = c ;d=e; ") == [("start", "ab = c ;d=e;"), ("pair", "ab = c"), ("pair", "d=e")]


def test_places_are_those_of_lark() -> None:
    """Of a grammar that reads a text in one way."""
    lark = pytest.importorskip("lark")
    text = (
        'start: value\nvalue: list | pair | WORD\nlist: "[" (value ("," value)*)? "]"\npair: "(" value ":" value ")"\n'
    )
    text += 'WORD: /[a-z]+/\n%ignore " "'
    parser = lark.Lark(text, parser="lalr", propagate_positions=True)
    grammar = schemagen.compile(schemagen.Lark(text), BYTES)
    rng = random.Random(1)

    def value(depth: int) -> str:
        kind = rng.choice("wlp" if depth else "w")
        gap = " " * rng.randrange(2)
        if kind == "w":
            return rng.choice(["a", "bc", "def"]) + gap
        inner = [value(depth - 1) for _ in range(2 if kind == "p" else rng.randrange(3))]
        return f"({gap}{':'.join(inner)})" if kind == "p" else f"[{gap}{','.join(inner)}]{gap}"

    for _ in range(200):
        written = value(3)
        tree = parser.parse(written)
        expected = [
            (node.data, node.meta.start_pos, node.meta.end_pos)
            for node in tree.iter_subtrees_topdown()
            if not node.meta.empty
        ]
        spans = [(span.name, span.start, span.end) for span in grammar.spans(written)]
        assert sorted(spans) == sorted((str(name), start, end) for name, start, end in expected)


@pytest.mark.parametrize(
    "lexeme",
    [
        matched("a+(?=b)"),
        matched("a.*?b"),
        matched("[ab]+", before=["ab(?!a)"]),
        matched("[ab]*?b", only="a+b+", but_not=["aab"]),
        matched("(?!ba)[ab]+(?<!a)"),
    ],
)
def test_ends_of_a_terminal_that_looks_ahead(lexeme: Lexeme) -> None:
    """They are those by definition: with a mark there the whole matches."""
    assert lexeme.marked
    recogniser, found = Language(lexeme.text), 0
    for length in range(6):
        for text in map("".join, product(f"ab{MARK}" if length < 4 else "abc", repeat=length)):
            for start in range(length + 1):
                ends = [
                    end
                    for end in range(start, length + 1)
                    if recogniser.matches(f"{text[start:end]}{MARK}{text[end:]}")
                ]
                assert recogniser.ends_before(text, start, MARK) == ends, (text, start)
                found += len(ends)
    assert found > 100


def test_the_rest_of_a_text_is_not_read_for_each_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A string is looked at up to its end, and not all that follows."""
    pytest.importorskip("lark")
    spec = schemagen.Lark('start: (STRING ",")*\n%import common.ESCAPED_STRING -> STRING\n%ignore / +/')
    grammar = schemagen.compile(spec, BYTES)
    steps: list[int] = []
    derivative = States.derivative

    def counted(*arguments: Any) -> Any:
        steps.append(1)
        return derivative(*arguments)

    monkeypatch.setattr(States, "derivative", counted)
    assert len(grammar.spans('"abc",   ' * 200)) == 1
    assert len(steps) < 50 * 200


def test_values_inside_of_grammars() -> None:
    """What is embedded has the length that it can have."""
    pytest.importorskip("lark")
    spec = schemagen.Lark(
        'start: (name "=" value ";")+\nname: /[a-z]+/\nvalue: JSON\n%declare JSON',
        bind={"JSON": {"type": "array", "items": {"type": "integer"}}},
    )
    assert [part for name, part in named(spec, "a=[1, 2];b=[];") if name == "value"] == ["[1, 2]", "[]"]


def test_groups_of_a_pattern() -> None:
    """Those that took part, by their places."""
    spec = schemagen.Regex(r"(?P<date>(?P<year>\d{4})-(?P<month>\d\d))(?P<time>T\d\d)?")
    assert named(spec, "2026-11") == [("date", "2026-11"), ("year", "2026"), ("month", "11")]


@pytest.mark.parametrize("line_end", "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_tokens_of_one_line_end_with_the_line(line_end: str) -> None:
    """At whatever `str.splitlines` ends one."""
    spec = schemagen.Template("{line}{rest}", line=paragraph_tokens(), rest=text_tokens())
    found = named(spec, f"ab{line_end}cd")
    assert [span for span in found if span[0] in ("line", "rest")] == [("line", "ab"), ("rest", f"{line_end}cd")]
    with pytest.raises(ValidationFailed):
        schemagen.compile(schemagen.Template("{line}", line=paragraph_tokens()), BYTES).validate(f"a{line_end}b")


def test_a_choice_has_no_parts() -> None:
    """It is one text."""
    assert schemagen.compile(schemagen.Choice("a", "b"), BYTES).spans("a") == []


@pytest.mark.parametrize(
    "spec", [schemagen.GBNF("root ::= [a-z]+"), schemagen.Regex("[a-z]+"), schemagen.Choice("ab", "c")]
)
def test_other_texts_have_none(spec: object) -> None:
    """Half of a text, too."""
    with pytest.raises(ValidationFailed):
        schemagen.compile(spec, BYTES).spans("1")


def test_what_has_no_spans() -> None:
    """Each error says what to do instead."""
    with pytest.raises(OptionError, match="validate"):
        schemagen.compile(int, BYTES).spans("1")
    with pytest.raises(UnsupportedGrammarError):
        schemagen.compile(schemagen.GBNF('root ::= "a" | <|x|>'), named_vocabulary()).spans("a")
    pytest.importorskip("lark")
    with pytest.raises(UnsupportedGrammarError, match=r"Lark\.parse"):
        schemagen.compile(schemagen.Lark('start: "a"', parser="lalr"), BYTES).spans("a")


def named_vocabulary() -> schemagen.Vocabulary:
    """A vocabulary with a token that has a name."""
    from tests.unit.test_named_tokens import VOCABULARY

    return VOCABULARY


def test_bounds_in_tokens() -> None:
    """A text does not tell its tokens, so its parts are those of the rules without bounds."""
    spec = schemagen.EBNF('root ::= word "!"\nword[max_tokens=2] ::= part [0-9]*\npart[max_tokens=1] ::= [a-z]*')
    assert named(spec, "abc12!") == [("root", "abc12!"), ("word", "abc12"), ("part", "abc")]
    with pytest.raises(UnsupportedGrammarError, match="counts tokens"):
        schemagen.to_regex(spec)


def test_a_very_ambiguous_text_hits_the_limit() -> None:
    """Not the patience of the user."""
    rules = " | ".join(f"x{number} x{number}" for number in range(30))
    spec = schemagen.GBNF(f"root ::= {rules}\n" + "\n".join(f'x{number} ::= root | "a"*' for number in range(30)))
    with pytest.raises(LimitError):
        schemagen.compile(spec, BYTES).spans("a" * 400)


@pytest.mark.parametrize("given", [None, b"1", 1])
@pytest.mark.parametrize("spec", [schemagen.Template("{a}", a=int), int, schemagen.Regex("[0-9]"), {"type": "integer"}])
def test_what_is_no_text(spec: object, given: Any) -> None:
    """Neither spans nor a value."""
    grammar = schemagen.compile(spec, BYTES)
    for method in (grammar.spans, grammar.validate):
        with pytest.raises(OptionTypeError, match="got") as caught:
            method(given)
        assert caught.value.fix

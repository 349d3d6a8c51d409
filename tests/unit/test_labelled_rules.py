"""Labelled rules: the temperature is that of the innermost rule, and of several readings the highest; captures are all found."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import schemagen
from schemagen import EBNF, Lark, StructuralTag, Template
from schemagen.errors import UnsupportedGrammarError
from schemagen.graph.grammar_graph import GrammarGraph
from schemagen.graph.reader import Part
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

BYTES = schemagen.Vocabulary.byte_vocabulary()


def temperatures(spec, text: str) -> list[float | None]:
    """Return the temperature before each character of a text, and after it."""
    matcher = schemagen.compile(spec, BYTES, cache=None).matcher()
    found = [matcher.temperature()]
    for byte in text.encode():
        assert matcher.accept_token(byte), (text, byte)
        found.append(matcher.temperature())
    return found


NESTED = 'root ::= "ab" a "cd"\na[temperature=0.7] ::= "x" b "y"\nb[temperature=0] ::= "zz"'
GRAMMAR = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [{"type": "const_string", "value": "A"}, {"type": "grammar", "grammar": NESTED}],
    },
}
PLACES = {
    "nested": (EBNF(NESTED), "abxzzycd", [None, None, 0.7, 0, 0, 0.7, None, None, None]),
    "a rule that calls itself at its end": (
        EBNF('root ::= a ";"\na[temperature=0.5, capture] ::= "x" a | "x"'),
        "xxx;",
        [0.5, 0.5, 0.5, 0.5, None],
    ),
    "two rules that begin and end at once": (
        EBNF('root ::= a ";"\na[temperature=0.5] ::= b\nb[temperature=0.5] ::= "xx"'),
        "xx;",
        [0.5, 0.5, None, None],
    ),
    "with a bound in characters": (
        EBNF('root ::= a ";"\na[temperature=1, max_chars=2] ::= "x"*'),
        "xx;",
        [1, 1, None, None],
    ),
    "with a bound in tokens": (
        EBNF('root ::= a ";"\na[temperature=1, max_tokens=2] ::= "x"*'),
        "xx;",
        [1, 1, None, None],
    ),
    "inside of a bound in tokens": (
        EBNF('root ::= a ";"\na[max_tokens=3] ::= "x" b "y"\nb[temperature=1] ::= "z"'),
        "xzy;",
        [None, 1, None, None, None],
    ),
    "beside a whole token in a bound": (
        EBNF('root ::= a ";"\na[max_tokens=3] ::= b ExcludeToken(59)\nb[temperature=1] ::= "z"'),
        "zq;",
        [1, None, None, None],
    ),
    "a terminal": (
        Lark('start: n ";"\nn[temperature=0.7]: /[0-9]{2}/\n%ignore / /', dialect="xgrammar"),
        "12 ; ",
        [0.7, 0.7, None, None, None, None],
    ),
    "a lazy terminal": (
        Lark('start: n ";"\nn[lazy, temperature=0.7, capture]: /.*q/', dialect="llguidance"),
        "aq;",
        [0.7, 0.7, None, None],
    ),
    "up to a text": (
        Lark('start: n ";"\nn[temperature=0.7, capture, stop="q"]: /.*/', dialect="llguidance"),
        "aq;",
        [0.7, 0.7, None, None],
    ),
    "several terminals": (
        Lark('start: n ";"\nn[temperature=0.7]: m m\nm: /[0-9]/\n%ignore / /', dialect="xgrammar"),
        "1 2;",
        [0.7, 0.7, 0.7, 0.7, None],
    ),
    "in a structural tag": (StructuralTag(GRAMMAR), "Aabxzzycd", [None, None, None, 0.7, 0, 0, 0.7, None, None, None]),
    "in a template": (
        Template("<{a}>", a=EBNF(NESTED)),
        "<abxzzycd>",
        [None, None, None, 0.7, 0, 0, 0.7, None, None, None, None],
    ),
    "none": (EBNF('root ::= a\na[capture] ::= "x"'), "x", [None, None]),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_innermost_rule_counts(name):
    """Wherever the rules stand, and whatever else is said of them."""
    spec, text, expected = PLACES[name]
    assert temperatures(spec, text) == expected
    assert schemagen.compile(spec, BYTES, cache=None).has_temperatures == any(each is not None for each in expected)


def test_the_highest_of_several_readings():
    """Readings without a temperature do not count."""
    spec = EBNF('root ::= a | b | "xy"\na[temperature=0.2] ::= "xyz"\nb[temperature=0.9] ::= "xw"')
    assert temperatures(spec, "xyz") == [0.9, 0.9, 0.2, None]


def test_captures_do_not_show_temperatures():
    """A temperature is no name."""
    matcher = schemagen.compile(
        EBNF('root ::= a a\na[temperature=0.5, capture] ::= "x" b\nb[temperature=0] ::= "y"'), BYTES
    ).matcher()
    matcher.accept_bytes(b"xyxy")
    assert matcher.captures(True) == [("a", 0, 2), ("a", 2, 4)]


def test_rollback_and_forks():
    """Each matcher has its own place."""
    matcher = schemagen.compile(EBNF(NESTED), BYTES).matcher()
    for byte in b"abx":
        matcher.accept_token(byte)
    other = matcher.fork()
    assert matcher.temperature() == other.temperature() == 0
    matcher.rollback(2)
    assert (matcher.temperature(), other.temperature()) == (None, 0)


def test_a_grammar_that_is_renewed():
    """Its matchers read their texts again."""
    grammar = schemagen.compile(EBNF(NESTED), BYTES, cache=None)
    matcher = grammar.matcher()
    for byte, expected in zip(b"abxzzycd", [None, 0.7, 0, 0, 0.7, None, None, None], strict=True):
        assert matcher.accept_token(byte)
        assert matcher.temperature() == expected
        grammar._implementation.begin_anew()
        assert matcher.temperature() == expected


def test_parts_of_a_graph_keep_their_temperatures():
    """And the graph still finds its parts, and no captures."""
    answer = schemagen.compile(EBNF(NESTED.replace("=0]", "=0, capture]")), BYTES, cache=None)
    parts = (Part(ast.literal("think:"), (1,)), Part(answer, final=True))
    graph = GrammarGraph(parts, (0,), BYTES)
    assert graph.has_temperatures
    matcher, reader = graph.matcher(), graph.reader()
    text = b"think:abxzzycd"
    expected = [*[None] * 8, 0.7, 0, 0, 0.7, None, None, None]
    for byte, temperature in zip(text, expected, strict=False):
        assert matcher.temperature() == temperature
        assert matcher.accept_token(byte)
        assert reader.accept_token(byte)
    assert reader.spans() == [(parts[0], 0, 6), (parts[1], 6, 14)]
    assert not GrammarGraph((Part(ast.literal("a"), final=True),), (0,), BYTES).has_temperatures


def test_rules_that_begin_with_one_another_have_one_temperature():
    """Another would be known only after the text."""
    text = 'root ::= a\na[temperature={0}] ::= b "x" | "x"\nb[temperature=0.5] ::= a "y"'
    with pytest.raises(UnsupportedGrammarError, match="several temperatures: "):
        schemagen.compile(EBNF(text.format(0.7)), BYTES)
    assert temperatures(EBNF(text.format(0.5)), "xyx") == [0.5, 0.5, 0.5, 0.5]


CAPTURES = {
    "a rule that calls itself at its end": (
        EBNF('root ::= a\na[capture] ::= "x" a | "x"'),
        "xxx",
        [("a", 0, 3), ("a", 1, 3), ("a", 2, 3)],
    ),
    "two rules of one name that begin at once": (
        EBNF('root ::= a\na[capture="n"] ::= b "x"\nb[capture="n"] ::= "y"'),
        "yx",
        [("n", 0, 2), ("n", 0, 1)],
    ),
    "inside of a rule that begins with itself": (
        EBNF('root ::= sum\nsum[capture] ::= sum "+" one | one\none[capture] ::= "1" | "(" sum ")"'),
        "1+(1)",
        [("sum", 0, 5), ("one", 0, 1), ("one", 2, 5), ("sum", 3, 4), ("one", 3, 4)],
    ),
    "several terminals, and ignored text": (
        Lark('start: a ";"\na[capture]: "x" "y"\n%ignore / /', dialect="xgrammar"),
        "x y;",
        [("a", 0, 3)],
    ),
    "a lazy terminal": (
        Lark("start: a b\na[lazy, capture]: /.*q/\nb: /.*/", dialect="llguidance"),
        "aqbq",
        [("a", 0, 2)],
    ),
    "inside of a rule with a bound in tokens": (
        EBNF('root ::= a ";"\na[max_tokens=3, capture] ::= "x" b "y"\nb[capture] ::= "z"'),
        "xzy;",
        [("a", 0, 3), ("b", 1, 2)],
    ),
    "many that may be empty": (
        EBNF('root ::= m{0,30} n{0,30}\nm[temperature=0.4] ::= "" | "y" m\nn[capture] ::= "n"'),
        "yyn",
        [("n", 2, 3)],
    ),
}


@pytest.mark.parametrize("name", CAPTURES)
def test_all_captures_are_found(name):
    """Of rules that begin or end at one place, too."""
    spec, text, expected = CAPTURES[name]
    matcher = schemagen.compile(spec, BYTES, cache=None).matcher()
    assert all(map(matcher.accept_token, text.encode()))
    assert matcher.captures(complete=True) == expected


# --- against all derivations -------------------------------------------------------------------------------------------

LONGEST = 4
Written = tuple[tuple[str, float | None], ...]  # each character, and the temperature around it


def random_rules(source: random.Random) -> tuple[list[list[list[str]]], list[float | None]]:
    """Return alternatives of symbols for each rule, and their temperatures; rule i calls those after it, and itself at its end."""
    count = source.randint(2, 4)
    rules = []
    for number in range(count):
        calls = [str(each) for each in range(number + 1, count)] * 2
        bodies = [
            [source.choice([*"abab", *calls]) for _ in range(source.randint(0, 3))] for _ in range(source.randint(1, 3))
        ]
        bodies.append([source.choice("abc"), *([str(number)] if source.random() < 0.4 else [])])
        if source.random() < 0.3:
            bodies.append([str(number), source.choice("abc")])
        rules.append(bodies)
    return rules, [source.choice([None, 0.0, 0.3, 0.6, 0.9]) for _ in rules]


def ebnf(rules, own) -> EBNF:
    """Return the grammar of some rules."""
    lines = []
    for number, bodies in enumerate(rules):
        option = "" if own[number] is None else f"[temperature={own[number]}]"
        written = [" ".join(f"r{each}" if each.isdigit() else f'"{each}"' for each in body) or '""' for body in bodies]
        lines.append(f"r{number}{option} ::= {' | '.join(written)}")
    return EBNF("root ::= r0\n" + "\n".join(lines))


def derivations(rules, own) -> set[Written]:
    """Return how all texts begin, with the temperature of each character, by growing the sets of all rules while they grow."""
    known: list[set[Written]] = [set() for _ in rules]
    while True:
        grown = [set(each) for each in known]
        for number, bodies in enumerate(rules):
            for body in bodies:
                for text in _of_body(body, known):
                    inside = tuple((char, own[number] if heat is None else heat) for char, heat in text)
                    grown[number].add(inside)
        if grown == known:
            return known[0]
        known = grown


def _of_body(body: list[str], known: list[set[Written]]) -> Iterator[Written]:
    texts: set[Written] = {()}
    for symbol in body:
        parts = known[int(symbol)] if symbol.isdigit() else {((symbol, None),)}
        texts = {(*text, *part)[:LONGEST] for text in texts for part in parts}
    yield from texts


def test_all_derivations_agree():
    """At each prefix of a text the temperature is the highest that any derivation has for the next character."""
    source, checked, refused = random.Random(5), 0, 0
    for _ in range(120):
        rules, own = random_rules(source)
        texts = derivations(rules, own)
        try:
            grammar = schemagen.compile(ebnf(rules, own), BYTES, cache=None)
        except UnsupportedGrammarError:
            refused += 1
            continue
        heats: dict[str, list[float]] = {}
        for text in texts:
            for length, (_, heat) in enumerate(text):
                before = heats.setdefault("".join(char for char, _ in text[:length]), [])
                before += [] if heat is None else [heat]
        for prefix, found in heats.items():
            matcher = grammar.matcher()
            assert matcher.accept_bytes(prefix.encode()) or not prefix
            assert matcher.temperature() == max(found, default=None), (ebnf(rules, own).text, prefix, found)
            checked += 1
    assert checked > 1000
    assert refused < 10

"""Random grammars with labels, against an enumeration of all their readings."""

import random
from contextlib import suppress
from dataclasses import replace
from functools import cmp_to_key
from typing import Any

import pytest

import schemagen
from schemagen.context_free.captures import marked_rules
from schemagen.context_free.simplify import left_recursive_groups, nullable_rules, reachable
from schemagen.context_free.syntax import (
    Alternatives,
    ContextFreeGrammar,
    Expression,
    Mark,
    Repeat,
    Rule,
    Sequence,
    TokenBound,
    marks_in,
)
from schemagen.errors import UnsatisfiableSchemaError
from schemagen.grammar.pipeline import engine_of_rules
from tests.property import counted_grammars, small_grammars
from tests.property.counted_grammars import EOS, SEQUENCES, VOCABULARY, Reading, is_nested, languages_of, read
from tests.property.small_grammars import OPTIONS

pytestmark = pytest.mark.sampled(50)

#: An opening or a closing: the number of its label, whether it opens, the byte.
Event = tuple[int, bool, int]
#: The ends of an expression, and the events on the ways there.
Ways = dict[int, set[tuple[Event, ...]]]

#: Grammars in a case.
BLOCK = 10
#: Readings of one text, at most; a grammar with more is left out.
MOST_READINGS = 3_000


class TooManyError(Exception):
    """A text has too many readings."""


class Readings:
    """All readings of one sequence of tokens.

    Args:
        grammar: The rules, with marked bodies.
        reading: The sequence as the rules without marks derive it.
        labels: The labels, in the order of their numbers.
    """

    def __init__(self, grammar: ContextFreeGrammar, reading: Reading, labels: list[str]) -> None:
        self.reading = reading
        self.labels = labels
        self.size = len(reading.text)
        rules = reachable({**grammar.rules, **grammar.marked}, grammar.start)
        self.known: dict[tuple[str, int], Ways] = {}
        before = None
        while self.known != before:
            before = dict(self.known)
            for name, body in rules.items():
                for start in range(self.size + 1):
                    self.known[name, start] = self.ways(body, start)
        self.whole = self.known[grammar.start, 0].get(self.size, set())

    def ways(self, expression: Expression, start: int) -> Ways:
        """Return where an expression ends, and with which events."""
        if isinstance(expression, Mark):
            return {start: {((self.labels.index(expression.label), expression.opens, start),)}}
        if isinstance(expression, Rule):
            return self.known.get((expression.name, start), {})
        if isinstance(expression, Sequence):
            found: Ways = {start: {()}}
            for part in expression.parts:
                found = self.followed(found, part)
            return found
        if isinstance(expression, Alternatives):
            return joined(*(self.ways(part, start) for part in expression.parts))
        if isinstance(expression, Repeat):
            return self.repeated(expression, start)
        if isinstance(expression, TokenBound):
            return {
                end: ways
                for end, ways in self.ways(expression.inner, start).items()
                if self.reading.is_within(expression, start, end)
            }
        return {end: {()} for end in self.reading.ends(expression, start)}

    def followed(self, before: Ways, expression: Expression) -> Ways:
        """Return the ways that go on through an expression."""
        return joined(
            *(
                {
                    end: {way + more for way in ways for more in after}
                    for end, after in self.ways(expression, at).items()
                }
                for at, ways in before.items()
            )
        )

    def repeated(self, expression: Repeat, start: int) -> Ways:
        """Return the ways through repetitions."""
        layer: Ways = {start: {()}}
        for _ in range(expression.low):
            layer = self.followed(layer, expression.inner)
        found = layer
        for _ in range(self.size + 1 if expression.high is None else expression.high - expression.low):
            layer = self.followed(layer, expression.inner)
            found = joined(found, layer)
        return found


def joined(*several: Ways) -> Ways:
    """Return the ways of several."""
    found: Ways = {}
    for ways in several:
        for end, events in ways.items():
            found.setdefault(end, set()).update(events)
            if len(found[end]) > MOST_READINGS:
                raise TooManyError
    return found


def best(readings: set[tuple[Event, ...]]) -> tuple[Event, ...]:
    """Return the reading that is preferred: the first difference decides."""
    return min(readings, key=cmp_to_key(compare))


def compare(one: tuple[Event, ...], other: tuple[Event, ...]) -> int:
    """Return less than zero if the first of two readings is preferred."""
    for (label, opens, at), (other_label, other_opens, other_at) in zip(one, other, strict=False):
        if opens != other_opens:
            return -1 if opens else 1
        if at != other_at:
            return at - other_at if opens else other_at - at
        if label != other_label:
            return label - other_label
    return len(other) - len(one)


def captures_of(events: tuple[Event, ...], labels: list[str]) -> list[tuple[str, int, int | None]]:
    """Return the parts of a reading, in the order in which they open."""
    found: list[tuple[str, int, int | None]] = []
    todo = []
    for label, opens, at in events:
        if opens:
            todo.append(len(found))
            found.append((labels[label], at, None))
        else:
            opened = todo.pop()
            found[opened] = (*found[opened][:2], at)
    return found


def random_grammar(seed: int) -> ContextFreeGrammar:
    """Return rules with labels, every third time with texts whose tokens are counted. None of these parts can be empty without end."""
    source = random.Random(seed)
    grammar = (small_grammars if seed % 3 else counted_grammars).random_grammar(seed)
    empty = nullable_rules(grammar.rules)
    if not seed % 3 and (
        is_nested(grammar) or any(empty & {*group} for group in left_recursive_groups(grammar.rules, empty))
    ):
        grammar = small_grammars.random_grammar(seed)
    rules = reachable(grammar.rules, "S")
    names = sorted(rules.keys() - nullable_rules(rules))
    labels = {
        name: (source.choice(["one", "two", name]),)
        for name in source.sample(names, source.randint(min(1, len(names)), len(names)))
    }
    return replace(grammar, rules=rules, marked=marked_rules(rules, labels))


def begins_as(captures: list[tuple[str, int, int | None]], whole: list[tuple[str, int, int | None]]) -> bool:
    """Whether captures of an open text are those of a whole one, as far as it goes."""
    return len(captures) <= len(whole) and all(
        one[:2] == other[:2] and one[2] in (None, other[2]) for one, other in zip(captures, whole, strict=False)
    )


def check_grammar(seed: int) -> None:
    """Check the captures of all short sequences of tokens, and of their beginnings."""
    grammar = random_grammar(seed)
    labels = list(dict.fromkeys(mark.label for mark in marks_in(grammar)))
    languages = languages_of(grammar)
    try:
        engine = engine_of_rules(grammar, VOCABULARY, OPTIONS)
    except UnsatisfiableSchemaError:
        return
    source = random.Random(seed)
    for tokens in SEQUENCES:
        is_complete = Reading(grammar, tokens, languages).is_complete
        # For the readings of a complete text, the tokens of the parts are enough: how else they could have ended is not asked.
        whole = Readings(grammar, Reading(grammar, tokens, None), labels).whole
        assert whole or not is_complete, (seed, tokens)
        if labels and is_complete:
            check_text(engine, tokens, captures_of(best(whole), labels), source)


def check_text(
    engine: Any, tokens: tuple[int, ...], expected: list[tuple[str, int, int | None]], source: random.Random
) -> None:
    """Check one text: what is certain of its beginnings, the whole, and both again after a detour."""
    detour, matcher = source.randint(0, 5), engine.matcher()
    for token in tokens:
        assert begins_as(matcher.captures(), expected), (tokens, matcher.captures(), expected)
        assert matcher.accept_token(token)
        if detour == 0:
            engine.begin_anew()
        elif detour == 1:
            matcher = matcher.fork()
        elif detour == 2 and matcher.steps > 1:
            matcher.rollback(2)
            assert read(matcher, tokens[matcher.steps : matcher.steps + 2])
    assert matcher.captures(complete=True) == expected, (tokens, matcher.captures(complete=True), expected)
    assert begins_as(matcher.captures(), expected)
    assert matcher.accept_token(EOS)
    assert matcher.captures() == expected


@pytest.mark.parametrize("block", range(100))
def test_grammars_with_labels(block: int) -> None:
    """Captures are those of the best reading, and those of an open text are certain."""
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        with suppress(TooManyError):
            check_grammar(seed)


@pytest.mark.parametrize(
    ("grammar", "text", "expected"),
    [
        ('root[capture] ::= "a" root | "b"', "ab", [("root", 0, 2), ("root", 1, 2)]),
        ('root[capture="n"] ::= a "x"?\na[capture="n"] ::= "y"', "y", [("n", 0, 1), ("n", 0, 1)]),
        ('root ::= a a\na[capture] ::= "x"?', "x", [("a", 0, 1), ("a", 1, 1)]),
        ('root ::= a root | a\na[capture] ::= "x"+', "xx", [("a", 0, 2)]),
        ('root ::= "a"', "a", []),
    ],
)
def test_readings(grammar: str, text: str, expected: list[tuple[str, int, int]]) -> None:
    """Parts that begin or end together, parts that grow, and grammars without parts."""
    matcher = schemagen.compile(schemagen.EBNF(grammar), schemagen.Vocabulary.byte_vocabulary()).matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.captures(complete=True) == expected


def test_parts_around_the_same_embedded_texts() -> None:
    """Those that begin the same one are one reading while it is read, however many follow each other."""
    rules = """
root ::= item+
item ::= a | b
a[capture] ::= pair
b[capture] ::= pair
pair[max_tokens=5] ::= open close
open[max_tokens=3] ::= "[1"
close[max_tokens=2] ::= "]"
"""
    matcher = schemagen.compile(schemagen.EBNF(rules), schemagen.Vocabulary.byte_vocabulary()).matcher()
    for _ in range(20):
        assert all(matcher.accept_bytes(each) for each in (b"[", b"1", b"]"))
    assert matcher.captures(complete=True) == [("a", at, at + 3) for at in range(0, 60, 3)]
    assert len(matcher.readings()) == 6


def test_many_parts_that_end_together() -> None:
    """A rule that calls itself last has as many open parts as calls."""
    matcher = schemagen.compile(
        schemagen.EBNF('root[capture] ::= "a" root | "a"'), schemagen.Vocabulary.byte_vocabulary()
    ).matcher()
    assert matcher.accept_bytes(b"a" * 1500)
    assert matcher.captures(complete=True) == [("root", at, 1500) for at in range(1500)]


def test_many_parts_that_may_be_empty() -> None:
    """They are not tried in every order."""
    rules = 'root ::= (a | b | c | d | e | f | g | h)* "!"\n' + "\n".join(
        f'{x}[capture] ::= "{x}"?' for x in "abcdefgh"
    )
    matcher = schemagen.compile(schemagen.EBNF(rules), schemagen.Vocabulary.byte_vocabulary()).matcher()
    assert matcher.accept_bytes(b"hb!")
    parts = [(label, start, end) for label, start, end in matcher.captures(complete=True) if start != end]
    assert parts == [("h", 0, 1), ("b", 1, 2)]


def test_labels_within_bounds_in_tokens() -> None:
    """A part ends where the bound around it does, also where the text could go on in it."""
    rules = "root ::= x y\nx[capture, max_tokens=2] ::= w\nw[capture] ::= [ab]*\ny[capture] ::= [ab]*"
    matcher = schemagen.compile(schemagen.EBNF(rules), schemagen.Vocabulary.byte_vocabulary()).matcher()
    assert all(matcher.accept_bytes(each) for each in (b"a", b"b", b"a", b"b", b"a"))
    assert matcher.captures() == [("x", 0, 2), ("w", 0, 2), ("y", 2, None)]
    assert matcher.captures(complete=True) == [("x", 0, 2), ("w", 0, 2), ("y", 2, 5)]


def test_embedded_json_within_a_bound() -> None:
    """The value has its label there, too."""
    rules = 'start: a ";"\na[capture, max_tokens=12]: "v=" v\nv[capture]: %json {"type": "integer"}'
    spec = schemagen.Lark(rules, dialect="xgrammar")
    matcher = schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary()).matcher()
    assert all(matcher.accept_bytes(bytes([each])) for each in b"v=12;")
    assert matcher.captures(complete=True) == [("a", 0, 4), ("v", 2, 4)]

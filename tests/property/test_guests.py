"""Specs inside grammars: masks against every token tried, texts against the parts on their own."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import schemagen
from schemagen import Vocabulary
from schemagen.context_free.lark.python_re import matched
from schemagen.context_free.syntax import (
    ContextFreeGrammar,
    Expression,
    Guest,
    Rule,
    Terminal,
    Text,
    alternatives,
    repeat as repeated,
    sequence,
)
from schemagen.engine.native.context_free import compile_context_free
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.regex import ast
from schemagen.testing import brute_force_mask, mask_of

WORDS = [
    '{"',
    '":',
    '": ',
    '"}',
    '"}\n',
    "}}",
    "}\n",
    '"name',
    "true",
    "false}",
    ' {"',
    'call {"',
    "1}",
    "12",
    " 1",
    ', "',
]
WORDS += ['"}]', "}]", "]}", "</tool>", "}</", "null,", '"}; ', "-1", " {", "a {}", "{}", "{}}", "((", ")}", "a1"]
VOCABULARY = Vocabulary(
    [b"", *(bytes([byte]) for byte in range(256)), *(word.encode() for word in WORDS)], eos_token_ids=[0]
)
LONG, STEPS = 1200, 40
OPENING = {token for token, text in enumerate(VOCABULARY.tokens) if text.startswith(b"(")}

SCHEMAS: list[Any] = [
    True,
    {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}, "required": ["name"]},
    {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    {"type": "array", "items": {"enum": ["x", "y", 1]}, "uniqueItems": True},
    {"type": "array", "items": {"$ref": "#"}},
    {"type": ["integer", "null"]},
    {"type": "string", "pattern": "^a+b?$"},
]


def literal(text: str) -> Expression:
    """Characters that no lexer reads."""
    return Text(ast.literal(text))


class Grammars:
    """Random grammars with JSON in them."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.guests = [Guest(number) for number in self.choose.sample(range(len(SCHEMAS)), 2)]

    def part(self, depth: int) -> Expression:
        kind = self.choose.choice("gglltsar" if depth else "glt")
        if kind == "g":
            return self.choose.choice(self.guests)
        if kind == "l":
            return literal(self.choose.choice(["(", ")", "a", ";", "{", "}", "1", " "]))
        if kind == "t":
            return Terminal(self.choose.choice("NI"))
        if kind == "r":
            return sequence(literal("("), Rule("s"), literal(")"))
        parts = [self.part(depth - 1) for _ in range(self.choose.randint(2, 3))]
        if kind == "s":
            return sequence(*parts)
        return alternatives(*parts) if self.choose.random() < 0.7 else repeated(parts[0], 0, None)

    def grammar(self) -> ContextFreeGrammar:
        body = alternatives(sequence(self.part(2), self.part(1)), self.part(1), self.choose.choice(self.guests))
        terminals = {"N": (matched("[a-z]+"),), "I": (matched(r"[0-9]+(\.[0-9]+)?"),), "W": (matched(r"\s+"),)}
        ignored = frozenset("W") if self.choose.random() < 0.5 else frozenset()
        return ContextFreeGrammar("s", {"s": body}, terminals, ignored)


def compiled(grammar: ContextFreeGrammar) -> Any:
    """The constraint, each guest being the number of a schema."""
    return compile_context_free(
        grammar,
        VOCABULARY,
        Options(limits=DEFAULT_LIMITS),
        lambda number: schemagen.compile(SCHEMAS[number], VOCABULARY, cache=None)._implementation,
    )


def walk(constraint: Any, seed: int) -> bytes:
    """Any token that is allowed, then the shortest end; every mask is compared."""
    choose, matcher, text = random.Random(seed), constraint.matcher(), b""
    for _ in range(STEPS):
        allowed = matcher.allowed_tokens()
        assert set(allowed) == brute_force_mask(matcher, VOCABULARY), text
        assert allowed, text
        words = [token for token in allowed if token > 256 or token == 0]
        token = choose.choice(words if words and choose.random() < 0.7 else allowed)
        if token == 0:
            return text
        assert matcher.accept_token(token)
        text += VOCABULARY.tokens[token]
    end = matcher.shortest_completion()
    return text + (end if isinstance(end, bytes) else end.encode())


def check(seed: int) -> None:
    """Walks through one grammar."""
    try:
        constraint = compiled(Grammars(seed).grammar())
    except schemagen.UnsupportedGrammarError:
        return  # a longest match takes what follows
    for number in range(3):
        text = walk(constraint, seed + number)
        matcher = constraint.matcher()
        assert matcher.accept_bytes(text), text
        assert matcher.is_accepting(), text


@pytest.mark.parametrize("seeds", [range(start, start + 30) for start in range(0, 150, 30)], ids=str)
def test_masks_are_those_of_brute_force(seeds: range) -> None:
    """In front of a guest, within it, behind it, and where it may go on or end."""
    for seed in seeds:
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(start, start + 100) for start in range(1000, 1000 + LONG, 100)], ids=str)
def test_more_masks_are_those_of_brute_force(seeds: range) -> None:
    """The same for many more grammars."""
    test_masks_are_those_of_brute_force(seeds)


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_a_guest_alone_has_the_masks_of_its_spec(number: int) -> None:
    """Mask for mask, up to the end of the text."""
    alone = compiled(
        ContextFreeGrammar("s", {"s": alternatives(Guest(number), sequence(literal("("), Rule("s"), literal(")")))})
    )
    apart = schemagen.compile(SCHEMAS[number], VOCABULARY)
    for seed in range(20):
        choose, one, other = random.Random(seed), alone.matcher(), apart.matcher()
        for step in range(60):
            allowed = other.allowed_tokens()
            assert {token for token in one.allowed_tokens() if step or token not in OPENING} == set(allowed)
            token = choose.choice(allowed)
            if token == 0:
                break
            assert one.accept_token(token)
            assert other.accept_token(token)


def test_what_follows_a_value_needs_no_room() -> None:
    """The value ends where its schema says, and the rest is the grammar's."""
    spec = schemagen.Lark('start: ("<" J ">")+\n%declare J\n%ignore " "', bind={"J": SCHEMAS[1]})
    constraint = schemagen.compile(spec, VOCABULARY)
    value = json.dumps({"name": "><", "n": 1})
    matcher = constraint.matcher()
    assert matcher.accept_bytes(f"<{value}>< {value} >".encode())
    assert matcher.is_accepting()
    assert not constraint.matcher().accept_bytes(b'<{"n": 1')


BYTES = Vocabulary.byte_vocabulary()


@pytest.mark.parametrize("budget", [5, 30, 60])
@pytest.mark.parametrize("grammar", ["start: J", 'start: ("<" J ">")+'])
def test_a_budget_is_kept_within_strings_of_a_guest(grammar: str, budget: int) -> None:
    """Wherever a budget runs out, in the middle of a character for one, the text has come to an end."""
    constraint = schemagen.compile(schemagen.Lark(f"{grammar}\n%declare J", bind={"J": True}), BYTES, cache=None)
    for seed in range(40):
        choose, matcher = random.Random(seed), constraint.matcher()
        for left in range(budget, 0, -1):
            token = choose.choice(sorted(mask_of(matcher, BYTES, budget=left)))
            if token in BYTES.eos_token_ids:
                break
            assert matcher.accept_token(token)
        assert matcher.is_accepting(), f"seed {seed}"


def test_behind_a_value_it_is_said_what_may_follow() -> None:
    """Not that the text is complete, which only the value is."""
    spec = schemagen.Lark('start: "<" J ">"\n%declare J', bind={"J": {"type": ["object", "integer"]}})
    matcher = schemagen.compile(spec, BYTES, cache=None).matcher()
    before = matcher.fork()
    assert before.accept_bytes(b"<")
    assert 'J (JSON of {"type": ["object", "integer"]}) is expected' in str(before.explain(ord("x")))
    for text in (b"<{}", b"<1"):
        inside = matcher.fork()
        assert inside.accept_bytes(text)
        assert '">" is expected' in str(inside.explain(ord("x")))
        assert "is allowed" in str(inside.explain(ord(">")))


def test_threads_share_a_grammar_with_guests() -> None:
    """Each matcher has the masks that it has alone."""
    spec = schemagen.Lark('start: ("<" J ">")+\n%declare J', bind={"J": SCHEMAS[1]})

    def masks(grammar: schemagen.Grammar, seed: int) -> list[Any]:
        choose, matcher, found = random.Random(seed), grammar.matcher(), list[Any]()
        for step in range(40):
            found.append(tuple(matcher.allowed_tokens()) if step % 9 else matcher.shortest_completion())
            if not matcher.accept_token(choose.choice(matcher.allowed_tokens())) or matcher.is_terminated():
                break
        return found

    alone = schemagen.compile(spec, BYTES, cache=None)
    expected = [masks(alone, seed) for seed in range(12)]
    shared = schemagen.compile(spec, BYTES, cache=None)
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda seed: masks(shared, seed), range(12))) == expected

"""The grammars that users copy: what they derive, and what they do not."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

import schemagen
from schemagen.cli.specs import read_spec
from schemagen.testing import random_text
from tests.grammars import BYTES, check_masks_along, derives

FOLDER = Path(__file__).parents[2] / "examples" / "grammars"
NAMES = sorted(path.name for path in FOLDER.iterdir())

C = """
int counter = 0, table[10];
// the greatest common divisor
int gcd(int a, int b) {
  while (b != 0) {
    int rest = a % b; a = b;
    b = rest;
  }
  return a;
}
char* name(void) { for (int i = 0; i < 3; i++) print("%d\\n", i); return ("x"); }
"""
TOML = """# A package
title = "TOML \\"example\\""
[owner]
name.first = 'Tom'
born = 1979-05-27T07:32:00Z
[[servers]]
ports = [ 8000, 8001, # two
  0x1f,
]
weights = {low = -0.5, high = 1_000e3}
on = true
"""
ACCEPTED: dict[str, list[str]] = {
    "arithmetic.gbnf": ["1+2=3\n", "(a + 2)*3 = 12 \n-x=0\n", "((7))= --b_1 / 10\n"],
    "json.gbnf": ['{"a": [1, -2.5e+3, true, null, {}], "b": "\\u00e9\\n/"}', "[]", '""', "0", "[ [ ] , { } ]"],
    "chess.gbnf": ["1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O Nf6!?", "1. f3 e5 2. g4 Qh4# 0-1", "40. exd8=Q+ R1xd8 *"],
    "list.gbnf": ["- a\n- b\n", "1. first\n  - below\n  - more\n2. second\n"],
    "toml.gbnf": ["", "\n\n", TOML, 'a = "é"\n"b c".d = []\n'],
    "c.gbnf": [C, "int main(){}", "float f(float x){if(x>0)return x;else return -x;}"],
    "sql.ebnf": [
        "SELECT * FROM users;",
        (
            "SELECT u.name, COUNT(*) AS n FROM users AS u LEFT JOIN orders AS o ON o.user_id = u.id "
            "WHERE (u.age >= 18 OR u.name LIKE 'O''%') AND o.id IS NOT NULL GROUP BY u.name HAVING COUNT(*) > 3 "
            "ORDER BY n DESC, u.name LIMIT 10 OFFSET 20;"
        ),
        "SELECT a FROM (SELECT b FROM c WHERE b IN (1, -2.5, (SELECT MAX(d) FROM e))) AS f WHERE NOT EXISTS (SELECT * FROM g);",
    ],
}  # fmt: skip
REJECTED: dict[str, list[str]] = {
    "arithmetic.gbnf": ["", "1+2=3", "1+=3\n", "(1=2\n", "01=1\n", "1 +  2=3\n", "A=1\n"],
    "json.gbnf": ["", "{'a': 1}", '{"a": 1,}', "[1 2]", "01", "1.", '"\n"', '"\\x"', "NaN", " 1", '{"a"}', "[", "TRUE"],
    "chess.gbnf": ["", "1. e9", "1.e4", "e4", "1. e4 e5 e6", "1. O-O-O-O", "1. Ne", "01. e4", "1. e8=K"],
    "list.gbnf": ["", "- a\n", "- a\n1. b\n", "- a\n- b", "- \n- b\n", "1. a\n- b\n", "- a\n-b\n"],
    "toml.gbnf": ["a", "a = \n", "a = 01\n", "[a\n", "a = 'b\n", "a = 1 2\n", "a = {b = 1,}\n", 'a = "\\x"\n', "a = 1"],
    "c.gbnf": ["", "int", "int f() { return 1 }", "int f() { x = ; }", "int f() { if x y; }", "int f( { }", "int a = 1", "f() {}", "int f() { returnx; 1 }"],
    "sql.ebnf": ["", "SELECT * FROM users", "select * from users;", "SELECT FROM users;", "SELECT a, FROM b;", "SELECT a FROM b WHERE c;", "SELECT a FROM b WHERE c = 'x;", "SELECT a FROM b LIMIT 01;", "DROP TABLE users;"],
}  # fmt: skip


def test_each_grammar_has_texts() -> None:
    """No grammar is shown that nobody tried."""
    assert sorted(ACCEPTED) == sorted(REJECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_an_example_derives(name: str) -> None:
    """Texts of the language, and texts that miss it by a little."""
    spec = read_spec(str(FOLDER / name))
    assert [text for text in ACCEPTED[name] if not derives(spec, text)] == []
    assert [text for text in REJECTED[name] if derives(spec, text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_masks_of_an_example_are_exact(name: str) -> None:
    """Along the first of its texts that has some, every token is tried."""
    check_masks_along(read_spec(str(FOLDER / name)), next(text for text in ACCEPTED[name] if text)[:120])


@pytest.mark.parametrize("name", NAMES)
def test_random_texts_of_an_example_are_derived(name: str) -> None:
    """A text that is ended within a budget is one of the grammar."""
    grammar = schemagen.compile(read_spec(str(FOLDER / name)), BYTES)
    for seed in range(10):
        text = random_text(grammar, seed=seed, max_tokens=60)
        assert derives(grammar.spec, text), text


def random_value(source: random.Random, depth: int) -> Any:
    """A value of JSON."""
    kind = source.randrange(6 if depth else 4)
    if kind == 0:
        return source.choice([None, True, False])
    if kind == 1:
        return source.choice([0, -1, 17, 10**20, 0.5, -1e-7, 1.5e300])
    if kind in (2, 3):
        return "".join(source.choice('ab "\\/\n\x00\x1fé😀\u2028') for _ in range(source.randrange(6)))
    if kind == 4:
        return [random_value(source, depth - 1) for _ in range(source.randrange(4))]
    return {random_value(source, 0).__repr__(): random_value(source, depth - 1) for _ in range(source.randrange(4))}


def test_json_of_pythons_encoder_is_derived() -> None:
    """Random values, compact, spaced and indented, escaped or not; cut or changed, they are what `json` says."""
    spec = read_spec(str(FOLDER / "json.gbnf"))
    source = random.Random(5)
    for _ in range(150):
        value = random_value(source, 3)
        layout = source.choice([{"separators": (",", ":")}, {}, {"indent": 2}, {"ensure_ascii": False}])
        text = json.dumps(value, **layout)
        assert derives(spec, text), text
        at = source.randrange(len(text))
        for other in (text[:at], text[:at] + source.choice('",:[]{}0e-.\\ x') + text[at + 1 :]):
            assert derives(spec, other) == is_json(other), other


def is_json(text: str) -> bool:
    """Whether Python reads it as JSON; its NaN is none, and blanks around the whole are not in the grammar."""
    try:
        json.loads(text, parse_constant=pytest.fail)
    except ValueError:
        return False
    return text == text.strip(" \t\n\r")


def test_texts_of_the_json_grammar_are_json() -> None:
    """What the grammar generates, `json` reads."""
    grammar = schemagen.compile(read_spec(str(FOLDER / "json.gbnf")), BYTES)
    for seed in range(40):
        json.loads(random_text(grammar, seed=seed, max_tokens=80))

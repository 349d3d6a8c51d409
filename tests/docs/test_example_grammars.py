"""The grammars that users copy: what they derive, and what they do not."""

import ast
import json
import random
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest

import schemagen
from schemagen.cli.specs import read_spec
from schemagen.testing import random_text
from tests.grammars import BYTES, check_masks_along, derives

FOLDER = Path(__file__).parents[2] / "examples" / "grammars"
NAMES = sorted(path.name for path in FOLDER.iterdir())
LARK = [name for name in NAMES if name.endswith(".lark")]
ASCII = schemagen.Vocabulary([b"", b"\n", *(bytes([byte]) for byte in range(32, 127))], eos_token_ids=[0])
#: How the comments of the files say that they are read.
OPTIONS: dict[str, dict[str, Any]] = {
    "c.lark": {"parser": "lalr"},
    "go.lark": {"keywords": "reserved"},
    "java.lark": {"keywords": "reserved"},
    "sql_select.lark": {"keywords": "reserved"},
    "toml.lark": {"parser": "lalr"},
}

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
GO = """
package main

import ("fmt"; "strings")

type point struct {
    x, y int
    names map[string][]*point
}
// the sum of some numbers
func (p *point) sum(rest ...int) (total int) {
    total = p.x + p.y
    for i, each := range rest { total += each * i }
    for n := 0; n < 3; n++ { if total > 10 { return -total } else { continue } }
    switch total { case 1, 2: return 0; default: fmt.Println("none", []int{1, 2}, a[1:], point{x: 1}) }
    defer func() { p.names["a"] = nil }()
    return total
}
"""
JAVA = (
    """package a.b;
import java.util.*;
/* a class */
public class Counter<T> extends Base implements A, B { }
""".replace("<T>", "")
    + """
class Other {
    private final int[] table = {1, 2, 3};
    static Map<String, List<int[]>> names;
    Other(int size) throws Error { this.size = size; }
    public int next(final String name, char[] letters) {
        for (int i = 0, n = 3; i < n; i++) { if (i % 2 == 0) continue; else total += table[i]; }
        for (String each : names.keySet()) System.out.println(each + 'x');
        try { return (int) compute(new int[4], null)[0]; } catch (Exception e) { throw e; } finally { }
        do { x = y ? a instanceof B : !c; } while (true);
        switch (x) { case 1: break; default: return -1; }
    }
}
"""
)
XML = """<?xml version="1.0" encoding="UTF-8"?>
<!-- a - b --><a b="c" d = "&lt;e"><f/>text &amp; more<![CDATA[<&>]]><g >é</g></a>
"""
PGN = """[Event "A game"]
[Result "1-0"]

1. e4 {best by test} e5 2. Nf3 Nc6 3. Bb5 a6! 4. O-O Nf6 $2 5. dxe8=Q+ Kxe8 1-0"""
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
    "arithmetic.lark": ["1", "2 * (x + 3) ^ 2", "-max(a, -0.5)/4 - 1"],
    "json.lark": [' {"a": [1, -2.5e+3, true, null, {}], "b" : "\\u00e9\\n/"}\n', "[]", '""', "0", "[ [ ] , { } ]"],
    "sql_select.lark": [
        "SELECT * FROM users;",
        (
            "SELECT u.name, COUNT(*) AS n FROM users AS u LEFT JOIN orders AS o ON o.user_id = u.id -- all\n"
            "WHERE (u.age >= 18 OR u.name NOT LIKE 'O''%') AND o.id IS NOT NULL GROUP BY u.name HAVING COUNT(*) > 3 "
            "UNION ALL SELECT a, b FROM c ORDER BY n DESC, u.name LIMIT 10 OFFSET 20;"
        ),
        "SELECT a FROM (SELECT b || 'x' FROM c) AS f WHERE NOT EXISTS (SELECT * FROM g) AND a BETWEEN 1 AND 2.5;",
    ],
    "toml.lark": ["", "\n\n", TOML, 'a = "é"\n"b c".d = []\n', "a = 1"],
    "chess.lark": [PGN, "*", "1. f3 e5 2. g4 Qh4# 0-1"],
    "xml.lark": [XML, "<a/>", "<a></b>"],
    "c.lark": [C, "int main(){}", "float f(float x){if(x>0)return x;else return -x;}"],
    "go.lark": [GO, "package a\n", "package a; var x, y = 1, f(`a`)\n"],
    "java.lark": [JAVA, "class A {}", "interface A extends B { void f(); }", "public enum A { B, C }"],
}  # fmt: skip
REJECTED: dict[str, list[str]] = {
    "arithmetic.gbnf": ["", "1+2=3", "1+=3\n", "(1=2\n", "01=1\n", "1 +  2=3\n", "A=1\n"],
    "json.gbnf": ["", "{'a': 1}", '{"a": 1,}', "[1 2]", "01", "1.", '"\n"', '"\\x"', "NaN", " 1", '{"a"}', "[", "TRUE"],
    "chess.gbnf": ["", "1. e9", "1.e4", "e4", "1. e4 e5 e6", "1. O-O-O-O", "1. Ne", "01. e4", "1. e8=K"],
    "list.gbnf": ["", "- a\n", "- a\n1. b\n", "- a\n- b", "- \n- b\n", "1. a\n- b\n", "- a\n-b\n"],
    "toml.gbnf": ["a", "a = \n", "a = 01\n", "[a\n", "a = 'b\n", "a = 1 2\n", "a = {b = 1,}\n", 'a = "\\x"\n', "a = 1"],
    "c.gbnf": ["", "int", "int f() { return 1 }", "int f() { x = ; }", "int f() { if x y; }", "int f( { }", "int a = 1", "f() {}", "int f() { returnx; 1 }"],
    "sql.ebnf": ["", "SELECT * FROM users", "select * from users;", "SELECT FROM users;", "SELECT a, FROM b;", "SELECT a FROM b WHERE c;", "SELECT a FROM b WHERE c = 'x;", "SELECT a FROM b LIMIT 01;", "DROP TABLE users;"],
    "arithmetic.lark": ["", "1 +", "(1", "01", "f()", "2 3", "A", "1 + * 2"],
    "json.lark": ["", "{'a': 1}", '{"a": 1,}', "[1 2]", "01", "1.", '"\n"', '"\\x"', "NaN", '{"a"}', "[", "TRUE"],
    "sql_select.lark": ["", "SELECT * FROM users", "SELECT FROM users;", "SELECT a, FROM b;", "SELECT a FROM b WHERE c;", "SELECT a FROM b WHERE c = 'x;", "SELECT a FROM b LIMIT 01;", "DROP TABLE users;", "SELECT SELECT FROM b;", "SELECTa FROM b;", "SELECT 3FROM b;"],
    "toml.lark": ["a", "a = \n", "a = 01\n", "[a\n", "a = 'b\n", "a = 1 2\n", "a = {b = 1,}\n", 'a = "\\x"\n', 'a = "\\uD800"'],
    "chess.lark": ["", "1. e9 *", "1. e4", "e4 *", "1. e4 e5 e6 *", "1. O-O-O-O *", "1. Ne *", "01. e4 *", "1. e8=K *", '[event "x"] *'],
    "xml.lark": ["", "<a>", "<a b=c/>", "<a b='c'/>", "<a>&x;</a>", "<a/><b/>", "<a><</a>", "<!-- -- --><a/>", "< a/>", '<a b="1"c="2"/>'],
    "c.lark": ["", "int", "int f() { return 1 }", "int f() { x = ; }", "int f() { if x y; }", "int f( { }", "int a = 1", "f() {}"],
    "go.lark": ["", "package\n", "package func\n", "package a", "package a\nfunc f() { return 1 2 }\n", "package a\nfunc f() { if x { }\n", "package a\nfunc f() { for i := range x }\n", "package a\nfunc f() { if a == b{1} { } }\n", "packagea\n"],
    "java.lark": ["", "class A", "class class {}", "class A { int f() { return 1 } }", "class A { x = 1; }", "class A { void f() { if x y; } }", "int x;", "classA {}", "class A { void f() { int if = 1; } }"],
}  # fmt: skip


def spec_of(name: str) -> Any:
    """The grammar of a file, read as the file says."""
    if name.endswith(".lark"):
        pytest.importorskip("lark")
        return schemagen.Lark(FOLDER / name, **OPTIONS.get(name, {}))
    return read_spec(str(FOLDER / name))


def texts_of(name: str, *, count: int, max_tokens: int) -> list[str]:
    """Random texts of a grammar."""
    grammar = schemagen.compile(spec_of(name), BYTES)
    return [random_text(grammar, seed=seed, max_tokens=max_tokens) for seed in range(count)]


def error_of(read: Callable[[str], object], text: str) -> Exception | None:
    """What a reader raises for a text."""
    try:
        read(text)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def test_each_grammar_has_texts() -> None:
    """No grammar is shown that nobody tried."""
    assert sorted(ACCEPTED) == sorted(REJECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_an_example_derives(name: str) -> None:
    """Texts of the language, and texts that miss it by a little."""
    spec = spec_of(name)
    assert [text for text in ACCEPTED[name] if not derives(spec, text)] == []
    assert [text for text in REJECTED[name] if derives(spec, text)] == []


@pytest.mark.parametrize("name", NAMES)
def test_masks_of_an_example_are_exact(name: str) -> None:
    """Along the first of its texts that has some, every token is tried."""
    check_masks_along(spec_of(name), next(text for text in ACCEPTED[name] if text)[:120])


@pytest.mark.parametrize("name", NAMES)
def test_random_texts_of_an_example_are_derived(name: str) -> None:
    """A text that is ended within a budget is one of the grammar."""
    grammar = schemagen.compile(spec_of(name), BYTES)
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


# --- grammars of lark, against lark and whatever else reads such texts -----------------------------------------------------


@pytest.mark.parametrize("name", LARK)
def test_lark_parses_what_its_grammars_generate(name: str) -> None:
    """To a tree, with the same options; reserved words only leave texts out."""
    spec = spec_of(name)
    for text in texts_of(name, count=10, max_tokens=60):
        assert spec.parse(text) is not None


def test_texts_of_the_json_grammar_of_lark_are_json() -> None:
    """What it generates, `json` reads."""
    for text in texts_of("json.lark", count=40, max_tokens=80):
        json.loads(text)


def test_texts_of_the_sql_grammar_are_sql() -> None:
    """SQLite's parser takes them. What it says of names, aggregates and numbers of columns comes after parsing."""
    syntax = re.compile("syntax error|incomplete input|unrecognized token")
    database = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError, match=syntax):
        database.execute("EXPLAIN SELECT a FROM WHERE;")
    for text in texts_of("sql_select.lark", count=60, max_tokens=150):
        error = error_of(lambda text: database.execute(f"EXPLAIN {text}"), text)
        assert not syntax.search(str(error)), (text, error)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in Python 3.11")
def test_texts_of_the_toml_grammar_are_toml() -> None:
    """But for keys that stand twice, and days that do not exist, which no grammar tells."""
    import tomllib

    errors = [(text, error_of(tomllib.loads, text)) for text in texts_of("toml.lark", count=60, max_tokens=80)]
    wrong = [(text, error) for text, error in errors if not re.match("None|Cannot|Invalid date|Duplicate", str(error))]
    assert wrong == []
    assert [error for _, error in errors].count(None) > 40


def test_texts_of_the_xml_grammar_are_xml_but_for_the_names_of_tags() -> None:
    """Expat's errors 7 and 8 are a tag that does not match, and an attribute that stands twice."""
    errors = [
        (text, error_of(lambda text: expat.ParserCreate().Parse(text.encode(), True), text))
        for text in texts_of("xml.lark", count=60, max_tokens=60)
    ]
    assert [(text, error) for text, error in errors if getattr(error, "code", 0) not in (0, 7, 8)] == []
    assert {0, 7} <= {getattr(error, "code", 0) for _, error in errors}


def test_texts_of_larks_grammar_of_python_are_python() -> None:
    """Programs of the standard library are texts of the grammar that comes with lark, and its texts are parsed by lark.

    Python itself reads about half of the random ones. The grammar of lark leaves to others that a call is not assigned to, that
    nothing stands behind a backslash at the end of a line, that the first line is not indented, and more.
    """
    lark = pytest.importorskip("lark")
    from lark.indenter import PythonIndenter

    parser = lark.Lark.open_from_package(
        "lark", "python.lark", ("grammars",), parser="lalr", start="file_input", postlex=PythonIndenter()
    )
    spec = schemagen.Lark(parser)
    grammar = schemagen.compile(spec, ASCII)
    texts = [random_text(grammar, seed=seed, max_tokens=50) for seed in range(30)]
    assert None not in [spec.parse(text) for text in texts]
    assert [error_of(ast.parse, text) for text in texts].count(None) > 10
    for path in (Path(json.__file__), Path(random.__file__)):
        assert derives(spec, path.read_text(encoding="utf-8"))

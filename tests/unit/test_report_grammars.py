"""`Grammar.report` of grammar texts: what is said is true, and what is not known is not said."""

import itertools
import typing as t

import lark
import pytest

import schemagen
from schemagen import GBNF, Lark, Regex
from schemagen.context_free.ambiguity import find_ambiguity
from tests.grammars import check_masks_along

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
UNKNOWN = "; longer ones, and texts of several sequences, were not looked at"
TO_12 = f"no sequence of up to 12 terminals has two derivations{UNKNOWN}"
DANGLING = 'start: "if" start ["else" start] | "x"'


def facts(spec: t.Any, **options: t.Any) -> dict[str, str]:
    """Return the facts of a report by what they are about."""
    report = schemagen.compile(spec, VOCABULARY, cache=None, **options).report
    assert report.is_exact
    assert [entry.status for entry in report] == ["enforced", *["fact"] * (len(report) - 1)]
    return {entry.keyword: entry.note for entry in report.of_status("fact")}


#: Specification, what is said, and what nothing is said about.
CASES: list[tuple[t.Any, dict[str, str], set[str]]] = [
    (
        GBNF('root ::= "(" root ")" | item\nitem ::= [0-9]+'),
        {
            "rules": "2 rules, 1 of them compiled; 4 items",
            "terminals": "3 terminals, read as 3 lexemes",
            "parser": "every text that the rules derive (Earley)",
            "lexer": "none: character by character",
            "folded": "item: written out where they are called",
            "recursion": "root",
            "ambiguity": TO_12,
        },
        {"left recursion", "unreachable", "without texts", "ignored", "liveness", "embedded", "indentation"},
    ),
    (
        GBNF('root ::= "a" | "b" x\nx ::= [0-9]'),
        {"rules": "2 rules, written out as one regular expression", "parser": "none: a finite automaton"},
        {"terminals", "lexer", "folded", "recursion"},
    ),
    (
        GBNF('root ::= a | root "x"\na ::= "y" | c\nb ::= "u"\nc ::= c "x"'),
        {"unreachable": "b", "without texts": "c", "left recursion": "root, c"},
        {"hidden left recursion"},
    ),
    (GBNF('root ::= "-"? root "+" [0-9] | [0-9]'), {"hidden left recursion": "root"}, {"left recursion", "recursion"}),
    (GBNF('root ::= a | "x"\na ::= a | "y"'), {"ambiguity": "the rule a derives itself alone: texts have any number of trees"}, set()),
    (GBNF('root ::= root "+" root | [0-9]'), {"ambiguity": 'two derivations of /[0-9]/ "+" /[0-9]/ "+" /[0-9]/'}, set()),
    (
        Lark(DANGLING, parser="lalr"),
        {
            "parser": "LALR(1), by the tables of lark",
            "lexer": "contextual: the longest terminal that the parser's state expects",
            "ambiguity": 'two derivations of "if" "if" "x" "else" "x"; the tables take one at most',
        },
        set(),
    ),
    (Lark(DANGLING), {"ambiguity": 'two derivations of "if" "if" "x" "else" "x"'}, set()),
    (
        Lark('start: "x" start "y" | "z"*\n%ignore " "', parser="lalr"),
        {"ambiguity": "none: LALR(1) without conflicts", "ignored": '" "', "rules": "1 rule and 1 that lark made of repetitions; 7 items"},
        set(),
    ),
    (
        Lark("start: VALUE start?\n%declare VALUE", bind={"VALUE": int}),
        {"embedded": "VALUE (JSON of int): an automaton of its own"},
        {"liveness"},
    ),
    (Lark('start: NAME "!"\nNAME: /[a-z]+/', keywords="reserved"), {"lexer": "dynamic: what `re` matches of a terminal, wherever the parser expects it, keywords reserved"}, set()),
    (Lark('start: A start | "b"\nA: "a"', dialect="llguidance"), {"lexer": "a terminal takes its longest match"}, set()),
    (Lark('start: A start "a" | "b"\nA: "a"+', parser="lalr", lexer="basic"), {"parser": "LALR(1), by the tables of lark"}, set()),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case[0])[:50])
def test_facts(case: tuple[t.Any, dict[str, str], set[str]]) -> None:
    """Each is said in full, and those that do not apply are left out."""
    spec, said, unsaid = case
    found = facts(spec)
    assert {about: found.get(about) for about in said} == said
    assert not found.keys() & unsaid


def test_a_grammar_that_may_not_end_says_so() -> None:
    """What a lexer can lose is searched for an end."""
    pytest.importorskip("schemagen._core")
    spec = Lark('start: A "a"?\nA: /a+/', parser="earley", lexer="basic")
    assert "dead end" in facts(spec)["liveness"]


LINES = r"""
start: (value NL)+
value: A | "(" value* ")"
A: /a+/
NL: /n+/
"""


@pytest.mark.parametrize("ignored", ["/#[^n]*/", "/ +/\n%ignore /#[^n]*/", "/ +/\n%ignore /;+/\n%ignore /#[^n]*/"])
def test_comments_up_to_the_end_of_the_line_are_no_dead_end(ignored: str) -> None:
    """Where no line may end no comment is read, though the dialect's rules have one behind each terminal."""
    pytest.importorskip("schemagen._core")
    spec = Lark(f"{LINES}%ignore {ignored}\n", dialect="llguidance")
    assert "liveness" not in facts(spec)
    matcher = schemagen.compile(spec, VOCABULARY, cache=None).matcher()
    assert matcher.accept_bytes(b"(a(a")
    assert not matcher.fork().accept_bytes(b"#")
    assert matcher.accept_bytes(b")a)#a(nn")
    check_masks_along(spec, "(aa(a)a)#a(nan")


def test_named_tokens_are_listed() -> None:
    """A token that is no text is named."""
    vocabulary = schemagen.Vocabulary.from_tokens([b"a", b"b", None, None], eos_token_ids=[3], token_names={2: "<x>"})
    report = schemagen.compile(GBNF('root ::= "a" <x> root | "b"'), vocabulary, cache=None).report
    assert [entry.note for entry in report if entry.keyword == "named token"] == ["<x>"]


def test_a_pattern_has_no_facts() -> None:
    """It is enforced, and that is all."""
    assert repr(schemagen.compile(Regex("a"), VOCABULARY).report) == "Report(1 enforced)"


#: Over the letters a and b, in lark's notation.
SMALL = [
    "start: start start | A", "start: A start | A", "start: A start B | A B", "start: x | y\nx: A B\ny: A b\nb: B",
    "start: A? start B | A", "start: x* B\nx: A", "start: x* B\nx: A A | A", "start: A start A | B start B | A | B",
    "start: x y\nx: A | A B\ny: B | B B", "start: x y\nx: A+\ny: B+", "start: A [start] B [start]",
]  # fmt: skip


@pytest.mark.parametrize("text", SMALL)
def test_ambiguity_is_that_of_lark(text: str) -> None:
    """The shortest text of which lark's Earley parser has two trees is as long as the sequence that is found."""
    grammar = f'{text}\nA: "a"\nB: "b"'
    parser = lark.Lark(grammar, ambiguity="explicit")
    shortest = None
    for length in range(1, 7):
        for letters in itertools.product("ab", repeat=length):
            try:
                tree = parser.parse("".join(letters))
            except lark.UnexpectedInput:
                continue
            if any(tree.find_data("_ambig")):
                shortest = shortest or length
    found = find_ambiguity(Lark(grammar).rules())
    if shortest is None:
        assert found.sequence is None
        assert found.cycle is None
        assert found.searched >= 6
    else:
        assert found.sequence is not None
        assert len(found.sequence) == shortest

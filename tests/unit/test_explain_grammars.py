"""`Matcher.explain` for context-free grammars: what is expected, in which rules, what was read of it, and where."""

import typing as t

import lark
import pytest
from lark.indenter import Indenter

import schemagen
from schemagen import GBNF, Lark

pytest.importorskip("schemagen._core")

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()

CALCULATOR = r"""
start: sum
sum: product | sum "+" product
product: atom | product "*" atom
atom: NUMBER | "(" sum ")" | NAME "(" sum ("," sum)* ")"
NUMBER: /[0-9]+(\.[0-9]+)?/
NAME: /[a-z]+/
COMMENT: /#[^\n]*/
%ignore /[ \t\n]+/
%ignore COMMENT
"""
LINES = r"""
start: statement*
statement: "pass" _NL | "if" NAME ":" _NL _INDENT statement+ _DEDENT
NAME: /[A-Z]+/
_NL: /(\r?\n[\t ]*)+/
%declare _INDENT _DEDENT
%ignore " "
"""


class Indents(Indenter):
    """Blocks of lines."""

    NL_type = "_NL"
    OPEN_PAREN_types: t.ClassVar[list[str]] = []  # type: ignore[misc]
    CLOSE_PAREN_types: t.ClassVar[list[str]] = []  # type: ignore[misc]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8


LALR = Lark(CALCULATOR, parser="lalr")
EARLEY = Lark(CALCULATOR)
PYTHON = Lark(lark.Lark(LINES, parser="lalr", postlex=Indents()))
VALUE: dict[str, t.Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
BOUND = Lark('start: "say " VALUE ";" NAME?\nNAME: /[a-z]+/\n%declare VALUE', bind={"VALUE": VALUE})
INLINE = Lark('start: "a" (X | %json {"type": "integer"}) "b"\nX: "x"', dialect="llguidance")
LIST = GBNF('root ::= "(" item ("," item)* ")"\nitem ::= root | [0-9]+ | "nil"')
WORDS = Lark('start: NAME "!"\nNAME: /[a-z]+/\n%ignore " "')
TOUCHING = Lark('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "', parser="lalr", lexer="basic")

OPERANDS = '"(", NAME or NUMBER'
BLANKS = r"; /[ \t\n]+/ or COMMENT may stand here, too"
DECLARED = 'VALUE (JSON of {"type": "object", "properties":...)'

#: Specification, what was read, the byte that is refused, where, why.
CASES: list[tuple[t.Any, str, str, str, str]] = [
    (LALR, "", ")", "line 1, column 1", f"{OPERANDS} is expected in the rule start{BLANKS}"),
    (LALR, "1+", ")", "line 1, column 3", f"{OPERANDS} is expected in the rule sum within start{BLANKS}"),
    (LALR, "1+\n 2*", ")", "line 2, column 4", f"{OPERANDS} is expected in the rule product within sum, start{BLANKS}"),
    (LALR, "(1.", ")", "line 1, column 4", 'more of NUMBER (so far "1.") is expected in the rule atom within product, sum, start'),
    (LALR, "f", "+", "line 1, column 2", f'more of NAME (so far "f") or "(" is expected in the rule atom within product, sum, start{BLANKS}'),
    (EARLEY, "", ")", "line 1, column 1", f"{OPERANDS} is expected in the rule start{BLANKS}"),
    (EARLEY, "1+", ")", "line 1, column 3", f"{OPERANDS} is expected in the rule sum within start{BLANKS}"),
    (EARLEY, "f(1.", ",", "line 1, column 5", 'more of NUMBER (so far "1.") is expected in the rule atom within product, sum, start'),
    (PYTHON, "if A:", "p", "line 1, column 6", 'a line that is indented by at least 1 is expected in the rule statement within start; " " may stand here, too'),
    (PYTHON, "if A:\n", "p", "line 2, column 1", r'a line that is indented by at least 1 (so far "\n") is expected in the rule statement within start'),
    (
        PYTHON, "if A:\n  if B:\n     pass\n   ", "p", "line 4, column 4",
        r'a line that is indented by 0, 2 or 5 (so far "\n   ") is expected in the rule statement within start',
    ),
    (BOUND, "say ", "x", "line 1, column 5", f"{DECLARED} is expected in the rule start"),
    (BOUND, 'say {"a": ', "x", "line 1, column 11", f"in {DECLARED}: a number is expected at /a"),
    (BOUND, 'say {"a": 1}', "x", "line 1, column 13", '";" is expected in the rule start'),
    (INLINE, "a", "b", "line 1, column 2", '"x" or JSON of {"type": "integer"} is expected in the rule start within the text'),
    (LIST, "", "1", "line 1, column 1", '"(" is expected in the rule root'),
    (LIST, "(ni", "t", "line 1, column 4", 'more of /[0-9]+|nil/ (so far "ni") is expected in the rule item within root'),
    (LIST, "((1),", ")", "line 1, column 6", '"(" or /[0-9]+|nil/ is expected in the rule root'),
    (LIST, "(1)", ")", "line 1, column 4", "the text is complete and can only end"),
    (WORDS, "ab c"[:2], "1", "line 1, column 3", 'more of NAME (so far "ab") or "!" is expected in the rule start; " " may stand here, too'),
    (WORDS, "ab!", "!", "line 1, column 4", 'the end of the text is expected; " " may stand here, too'),
]  # fmt: skip


def explanation(spec: t.Any, read: bytes, byte: int) -> tuple[str, str]:
    """Return where a byte after a text is refused, and what is said of it."""
    matcher = schemagen.compile(spec, VOCABULARY, cache=None).matcher()
    for each in read:
        assert matcher.accept_token(each)
    start, said = matcher.explain(byte).split("bytes, at ", 1)
    assert start == f"token {byte} {bytes([byte])!r} is not allowed: after 0 of its 1 "
    line, column, why = said.split(", ", 2)
    return f"{line}, {column}", why


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1][-12:]!r}|{case[2]}")
def test_the_reason_names_terminals_rules_and_the_place(case: tuple[t.Any, str, str, str, str]) -> None:
    """Rules are named from the innermost one outwards, terminals with what was read of them."""
    spec, read, byte, place, why = case
    assert explanation(spec, read.encode(), ord(byte)) == (place, why)


def test_what_is_embedded_goes_on_or_what_is_behind_it() -> None:
    """Where a number may have ended, both are said."""
    place, why = explanation(INLINE, b"a12", ord("x"))
    assert place == "line 1, column 4"
    assert (
        why == 'more of JSON of {"type": "integer"} (so far "12") or "b" is expected in the rule start within the text'
    )


def test_a_lexer_that_reads_on_is_named() -> None:
    """A byte that a terminal could begin with is refused where the lexer would have to end the one before."""
    _, why = explanation(TOUCHING, b"if", ord("x"))
    assert why == (
        "NAME is expected in the rule start; \" \" may stand here, too; 'x' would begin NAME, "
        "but the lexer does not end the lexeme before it here"
    )


def test_columns_count_characters_and_lines_begin_anew() -> None:
    """A character of several bytes is one column."""
    spec = Lark('start: /[äöü\\n]+/ "x"')
    assert explanation(spec, "ä\nöü".encode(), ord("y"))[0] == "line 2, column 3"


def test_the_place_follows_undo_fork_and_reset() -> None:
    """The text behind a step that was undone is not counted."""
    matcher = schemagen.compile(LALR, VOCABULARY, cache=None).matcher()
    assert matcher.accept_bytes(b"1+")
    fork = matcher.fork()
    assert fork.accept_bytes(b"\n(")
    assert "line 2, column 2," in fork.explain(ord(")"))
    matcher.rollback(1)
    assert "line 1, column 1," in matcher.explain(ord(")"))


def test_a_long_terminal_is_cut() -> None:
    """The end of what was read is shown."""
    _, why = explanation(WORDS, b"a" * 300, ord("1"))
    assert f'more of NAME (so far "...{"a" * 24}")' in why


def test_each_expected_terminal_can_come() -> None:
    """What is named as beginning here does begin here: each text of one goes on."""
    samples = {"NUMBER": "1", "NAME": "f", '"("': "(", '"+"': "+", '"*"': "*", '")"': ")", '","': ","}
    grammar = schemagen.compile(EARLEY, VOCABULARY, cache=None)
    for text in ("", "1", "(1", "f(1", "f(1,", "1+", "(1)*"):
        matcher = grammar.matcher()
        assert matcher.accept_bytes(text.encode())
        said = matcher.explain(ord("!")).split("column", 1)[1].split(" is expected")[0]
        for name, sample in samples.items():
            begins = name in said.replace(f"more of {name}", "")
            assert matcher.fork().accept_bytes(sample.encode()) >= begins, (text, name, said)


def test_another_way_to_read_is_said_behind_the_value() -> None:
    """Where a value has to go on, or something else is read in its place, both are named."""
    spec = Lark('start: (%json {"type": "string"} | QUOTE "a") "b"\nQUOTE: "\\""', dialect="xgrammar")
    assert explanation(spec, b'"', ord("\n"))[1] == (
        'in JSON of {"type": "string"}: control characters are written as escapes inside a string; '
        'or else more of "\\"a" (so far "\\"") is expected in the rule start within the text'
    )

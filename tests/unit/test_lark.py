"""Lark as a spec: options, files, what is bound, reserved words, trees, and the errors of mistakes."""

import gc
import itertools
import json
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

lark = pytest.importorskip("lark")
indenter = pytest.importorskip("lark.indenter")

import schemagen  # noqa: E402 - below the import of what may be missing
from schemagen import EBNF, GBNF, Choice, Lark, Regex, reference  # noqa: E402
from schemagen.context_free.lark.python_re import alike  # noqa: E402
from schemagen.context_free.scanner import MAX_LENGTH  # noqa: E402
from schemagen.context_free.syntax import ContextFreeGrammar  # noqa: E402
from schemagen.errors import (  # noqa: E402
    GrammarError,
    GrammarSyntaxError,
    LimitError,
    OptionError,
    OptionTypeError,
    SchemagenError,
    UnsupportedGrammarError,
    ValidationFailed,
)
from tests.grammars import BYTES, check_masks_along, derives, parses  # noqa: E402

pytestmark = pytest.mark.sampled(2)

STATEMENTS = r"""
start: stmt+
stmt: "if" NAME ":" | NAME "=" NAME ";"
NAME: /[a-z]+/
%ignore " "
"""
WAYS: list[tuple[Any, Any]] = [
    ("earley", "dynamic"),
    ("earley", "dynamic_complete"),
    ("earley", "basic"),
    ("lalr", "contextual"),
    ("lalr", "basic"),
]


# --- what it reads, and by which lexer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("parser", "lexer"), WAYS)
def test_each_way_to_read_is_larks(parser: Any, lexer: Any) -> None:
    """Texts with keywords in the place of names, and masks along one of them."""
    spec = Lark(STATEMENTS, parser=parser, lexer=lexer)
    theirs = lark.Lark(STATEMENTS, parser=parser, lexer=lexer)
    for text in (
        "a = b;",
        "if x:",
        "ifx:",
        "if = x;",
        "x = if;",
        "if if:",
        "iffy = x; if a:",
        "a=",
        "",
        "ab = c ;if d :",
    ):
        assert derives(spec, text) == parses(theirs, text), text
    check_masks_along(spec, "ab = c;")


def test_lexers_are_larks_defaults() -> None:
    """Earley is dynamic, LALR contextual, and said or not they are the same."""
    assert (Lark("start:").parser, Lark("start:").lexer) == ("earley", "dynamic")
    assert Lark("start:", parser="lalr").lexer == "contextual"
    assert Lark("start:") == Lark("start:", start="start", parser="earley", lexer="dynamic")
    assert Lark("start:") != Lark("start:", parser="lalr")


def test_any_rule_may_be_the_start() -> None:
    """As lark's `start`."""
    grammar = 'start: "a" rest\nrest: "b"*'
    assert derives(Lark(grammar, start="rest"), "bb")
    assert not derives(Lark(grammar, start="rest"), "abb")


@pytest.mark.parametrize(
    "spec",
    [
        Lark(STATEMENTS),
        Lark(STATEMENTS, parser="lalr", lexer="basic"),
        Lark(STATEMENTS, keywords="reserved"),
        Lark("start: X\n%declare X", bind={"X": {"type": "integer"}}),
        Lark("start: X Y\n%declare X Y", bind={"X": ["a", "b"], "Y": int}),
        Lark("start: X", dialect="llguidance"),
        Lark("start: X", dialect="xgrammar"),
        Lark(lark.Lark(STATEMENTS, parser="lalr", maybe_placeholders=False, g_regex_flags=re.IGNORECASE)),
    ],
    ids=repr,
)
def test_a_spec_is_a_value(spec: Lark) -> None:
    """It is equal to its copies, has their hash, and comes back from a pickle."""
    again = pickle.loads(pickle.dumps(spec))  # noqa: S301
    assert (again, hash(again), repr(again)) == (spec, hash(spec), repr(spec))
    assert spec != Lark(STATEMENTS + "\n")
    with pytest.raises(AttributeError):
        spec.text = ""  # type: ignore[misc]


def test_compiled_grammars_are_remembered_and_pickled() -> None:
    """As those of all other specs."""
    grammar = schemagen.compile(Lark(STATEMENTS), BYTES)
    assert schemagen.compile(Lark(STATEMENTS), BYTES) is grammar
    matcher = pickle.loads(pickle.dumps(grammar)).matcher()  # noqa: S301
    assert matcher.accept_bytes(b"if x:")
    assert grammar.validate("if x:") == "if x:"
    assert [entry.keyword for entry in grammar.report.of_status("enforced")] == ["lark"]


# --- instances and files -------------------------------------------------------------------------------------------------


def test_an_instance_brings_its_options() -> None:
    """Parser, lexer, start, and flags of patterns."""
    theirs = lark.Lark('begin: "a" B\nB: /b+/', start="begin", parser="lalr", g_regex_flags=re.IGNORECASE)
    spec = pickle.loads(pickle.dumps(Lark(theirs)))  # noqa: S301
    assert (spec.start, spec.parser, spec.lexer) == ("begin", "lalr", "contextual")
    for text in ("ab", "aBb", "AB", "a"):
        assert derives(spec, text) == parses(theirs, text), text
    assert spec.parse("aBB") == theirs.parse("aBB")


@pytest.mark.parametrize("name", ["start", "parser", "lexer"])
def test_options_beside_an_instance_are_refused(name: str) -> None:
    """They would be two answers to one question."""
    given: dict[str, Any] = {name: {"start": "start", "parser": "lalr", "lexer": "basic"}[name]}
    with pytest.raises(OptionError, match=f"{name}=.* beside a lark.Lark"):
        Lark(lark.Lark('start: "a"'), **given)


class Indents(indenter.Indenter):
    """Blocks of two blanks."""

    NL_type = "_NL"
    OPEN_PAREN_types: list[str] = []  # noqa: RUF012 - as lark has it
    CLOSE_PAREN_types: list[str] = []  # noqa: RUF012
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 4


class OwnIndents(Indents):
    """Does more than an `Indenter`."""

    def handle_NL(self, token: Any) -> Any:  # noqa: N802 - lark's name
        yield from super().handle_NL(token)


TREE = "start: item+\nitem: NAME _NL [_INDENT item+ _DEDENT]\nNAME: /[a-z]+/\n_NL: /(\\n *)+/\n%declare _INDENT _DEDENT"


def test_an_indenter_is_kept() -> None:
    """Also by a pickle, and equal ones make equal specs."""
    specs = [Lark(lark.Lark(TREE, parser="lalr", postlex=Indents())) for _ in range(2)]
    assert specs[0] == specs[1]
    spec = pickle.loads(pickle.dumps(specs[0]))  # noqa: S301
    assert derives(spec, "a\n  b\n  c\nd\n")
    assert not derives(spec, "a\n  b\n c\n")
    assert [item.data for item in spec.parse("a\n  b\nc\n").children] == ["item", "item"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"postlex": OwnIndents(), "parser": "lalr"}, "postlex"),
        ({"parser": "cyk"}, "parser='cyk'"),
        ({"parser": "lalr", "lexer_callbacks": {"NAME": str}}, "lexer_callbacks"),
        ({"use_bytes": True}, "use_bytes"),
    ],
)
def test_what_only_lark_can_know_is_refused(options: dict[str, Any], words: str) -> None:
    """Options that change tokens by functions, or read no characters."""
    grammar = TREE if "postlex" in options else "start: NAME\nNAME: /[a-z]+/"
    with pytest.raises(UnsupportedGrammarError, match=words):
        Lark(lark.Lark(grammar, **options))


def test_instances_without_one_text_or_start_are_refused() -> None:
    """What is meant could not be told."""
    with pytest.raises(OptionError, match="starts from a, b"):
        Lark(lark.Lark('a: "x"\nb: "y"', start=["a", "b"]))


def test_relative_imports_are_found_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From any folder, and after a pickle."""
    (tmp_path / "words.lark").write_text("WORD: /[a-z]+/\n")
    (tmp_path / "main.lark").write_text('%import .words.WORD\nstart: WORD ("," WORD)*\n')
    spec = Lark(tmp_path / "main.lark")
    monkeypatch.chdir("/")
    assert derives(pickle.loads(pickle.dumps(spec)), "ab,c")  # noqa: S301
    assert spec.parse("ab,c").children == ["ab", "c"]
    assert Lark(lark.Lark.open(str(tmp_path / "main.lark"))).path == spec.path


def test_a_file_that_is_not_there() -> None:
    """Is an error at once."""
    with pytest.raises(OptionError, match="cannot read"):
        Lark(Path("nowhere.lark"))


# --- trees ---------------------------------------------------------------------------------------------------------------


def test_parse_returns_larks_tree() -> None:
    """The same as lark's own."""
    spec = Lark('start: NAME "=" NAME\nNAME: /[a-z]+/', parser="lalr")
    assert spec.parse("a=b") == lark.Lark(spec.text, parser="lalr").parse("a=b")
    assert schemagen.compile(spec, BYTES).spec.parse("a=b").data == "start"


def test_parse_says_why_not() -> None:
    """With lark's exception."""
    with pytest.raises(ValidationFailed, match="lark does not parse the text: No terminal matches '='") as caught:
        Lark(STATEMENTS).parse("a = = b;")
    assert isinstance(caught.value.error, lark.exceptions.UnexpectedInput)
    with pytest.raises(OptionTypeError, match="a bytes"):
        Lark(STATEMENTS).parse(b"a = b;")  # type: ignore[arg-type]


# --- terminals that something is bound to --------------------------------------------------------------------------------


class Point(BaseModel):
    """A type whose JSON is regular."""

    x: int
    name: str


class Tree(BaseModel):
    """A type whose JSON is not."""

    below: list["Tree"]


CALL = 'start: NAME "(" [ARG ("," ARG)*] ")"\nNAME: /[a-z]+/\n%declare ARG\n%ignore " "'


@pytest.mark.parametrize(
    ("bound", "accepted", "rejected"),
    [
        (Regex("[0-9]+"), "f( 12 , 3)", "f(1 2)"),
        (re.compile("[ab]c", re.IGNORECASE), "f(AC)", "f(A C)"),
        (Choice("on", "off"), "f(on,off)", "f(of)"),
        (["on", "off"], "f (on)", "f(o n)"),
        (GBNF('root ::= "<" [a-z]* ">"'), "f(<x>,<>)", "f(<X>)"),
        (EBNF("root ::= [0-9]+"), "f(1)", "f(x)"),
        (Point, 'f({"x": 1, "name": "a b"})', 'f({"x": "1"})'),
        (int, "f(-1)", "f(1.5)"),
        ({"enum": ["a", 1]}, 'f("a", 1)', "f(a)"),
    ],
    ids=repr,
)
def test_a_declared_terminal_is_a_text_of_another_spec(bound: Any, accepted: str, rejected: str) -> None:
    """What is ignored may stand around it, not within; lark finds it in the text."""
    spec = Lark(CALL, bind={"ARG": bound})
    assert derives(spec, accepted)
    assert derives(spec, "f()")
    assert not derives(spec, rejected)
    assert spec.parse(accepted).children[0] == "f"
    with pytest.raises(ValidationFailed):
        spec.parse(rejected)


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
def test_masks_around_something_bound_are_exact(lexer: Any) -> None:
    """Behind, within and in front of it."""
    spec = Lark(CALL, lexer=lexer, bind={"ARG": Regex("(ab|-)*")})
    check_masks_along(spec, "a( ab--ab , -)")
    assert derives(spec, "f( , ab,)")  # the empty text is one of the pattern, too


def test_something_bound_has_no_end_of_its_own() -> None:
    """The parser reads it, so that what follows may begin like it; to lark it is a pattern, which takes the longest match."""
    spec = Lark('start: N "0"\n%declare N', bind={"N": Regex("[0-9]+")})
    for text in ("10", "1", "100", "0"):
        assert derives(spec, text) == bool(re.fullmatch("[0-9]+0", text)), text
    with pytest.raises(ValidationFailed, match="lexer='dynamic_complete' takes any"):
        spec.parse("10")
    complete = Lark(spec.text, lexer="dynamic_complete", bind={"N": Regex("[0-9]+")})
    assert complete.parse("10").children == ["1"]


def test_lark_finds_the_longest_of_some_choices() -> None:
    """Also where a shorter one comes first; texts that are written with slashes and line breaks are found, too."""
    spec = Lark('start: X ";"\n%declare X', bind={"X": Choice("1", "100", "a/b\\", "\n")})
    for text in ("1;", "100;", "a/b\\;", "\n;"):
        assert derives(spec, text)
        assert spec.parse(text).children == [text[:-1]]
    empty = Lark('start: X ";"\n%declare X', bind={"X": Choice("", "a")})
    with pytest.raises(UnsupportedGrammarError, match="lark cannot read the value bound to X"):
        empty.parse("a;")
    pattern = Lark('start: X ";"\n%declare X', bind={"X": Regex("[/\n]+")})
    assert pattern.parse("/\n/;").children == ["/\n/"]


@pytest.mark.parametrize("text", ["", "a", "b", "ab"])
def test_something_bound_may_be_empty(text: str) -> None:
    """It may then be left out, and a text of nothing but the empty one is left out always."""
    spec = Lark('start: FIRST SECOND "b"?\n%declare FIRST SECOND', bind={"FIRST": Regex("a?"), "SECOND": Choice("")})
    assert derives(spec, text)


@pytest.mark.parametrize("way", WAYS[2:], ids=str)
def test_lexers_that_look_for_terminals_take_nothing_bound(way: tuple[Any, Any]) -> None:
    """They would need to know where it ends."""
    with pytest.raises(UnsupportedGrammarError, match="bind= with parser="):
        schemagen.compile(Lark(CALL, parser=way[0], lexer=way[1], bind={"ARG": int}), BYTES)


@pytest.mark.parametrize(
    ("bound", "accepted", "rejected"),
    [
        (True, 'f( {"a": [null, {}]} , 1)', "f(nul)"),
        (Tree, 'f({"below":[{"below":[]}]} )', "f([])"),
        ({"type": "array", "items": {"$ref": "#"}}, "f([[],[ [] ]])", "f([[)"),
        (GBNF('root ::= "(" root? ")"'), "f((()),())", "f(( ))"),
        (GBNF('root ::= "(" root ")" | ""'), "f((()),)", "f(()"),
        (Lark('start: "a" /b+/\n%ignore " "'), "f(ab, a b)", "f(a)"),
    ],
    ids=repr,
)
def test_what_needs_a_stack_is_read_by_its_own(bound: Any, accepted: str, rejected: str) -> None:
    """What lark needs is a pattern, which there is none for."""
    spec = Lark(CALL, bind={"ARG": bound})
    assert derives(spec, accepted)
    assert not derives(spec, rejected)
    check_masks_along(spec, accepted)
    with pytest.raises(UnsupportedGrammarError, match="there is no regular expression"):
        spec.parse(accepted)
    with pytest.raises(UnsupportedGrammarError, match="there is no regular expression"):
        reference.engine(spec, BYTES)


def test_names_that_are_not_declared_are_refused() -> None:
    """What is bound to them would be lost."""
    with pytest.raises(OptionError, match="it has a definition"):
        schemagen.compile(Lark(CALL, bind={"ARG": int, "NAME": int}), BYTES)
    with pytest.raises(OptionError, match="does not declare it"):
        schemagen.compile(Lark(CALL, bind={"ARG": int, "OTHER": int}), BYTES)
    with pytest.raises(OptionError, match="lark gives a literal this name"):
        schemagen.compile(Lark('start: B "b"\n%declare B', bind={"B": int}), BYTES)


# --- reserved words ------------------------------------------------------------------------------------------------------


def test_the_table_of_reserved_words() -> None:
    """As the guide has it."""
    ways = [
        Lark(STATEMENTS),
        Lark(STATEMENTS, keywords="reserved"),
        Lark(STATEMENTS, parser="lalr"),
        Lark(STATEMENTS, parser="lalr", lexer="basic"),
    ]
    table = {
        "if x:": "1111",
        "x = y;": "1111",
        "if = x;": "1000",
        "x = if;": "1010",
        "ifx:": "1000",
        "ifx = y;": "1111",
    }
    found = {text: "".join(str(int(derives(spec, text))) for spec in ways) for text in table}
    assert found == table


def test_reserved_words_are_what_assertions_would_say() -> None:
    """Every short text, read by lark with the reserved words written into the patterns by hand; and masks."""
    spec = Lark(STATEMENTS, keywords="reserved")
    by_hand = lark.Lark(
        STATEMENTS.replace('"if"', "IF").replace("NAME: /[a-z]+/", "NAME: /(?!if(?![a-z]))[a-z]+/\nIF: /if(?![a-z])/")
    )
    for length in range(1, 6):
        for characters in itertools.product("if=;: ", repeat=length):
            text = "".join(characters)
            assert derives(spec, text) == parses(by_hand, text), text
    check_masks_along(spec, "if iffy: f = i;")


def test_only_words_are_reserved() -> None:
    """A terminal that takes blanks, or has no longer texts, is none of names; a literal of any case is a keyword in each."""
    line = Lark('start: "say" LINE\nLINE: /[^;]+/', keywords="reserved")
    assert derives(line, "say say")
    kinds = Lark('start: KIND | "int" "!"\nKIND: /int|char/', keywords="reserved")
    assert derives(kinds, "int")
    case = Lark('start: ("if"i | NAME) ";"\nNAME: /[a-z]+/ | "IF"\n', keywords="reserved")
    assert [text for text in ("if;", "IF;", "iF;", "iff;") if derives(case, text)] == ["if;", "IF;", "iF;", "iff;"]
    assert case.parse("iF;").children == []


@pytest.mark.parametrize("options", [{"parser": "lalr"}, {"lexer": "dynamic_complete"}, {"lexer": "basic"}], ids=repr)
def test_reserved_words_are_for_the_dynamic_lexer(options: Any) -> None:
    """The others have their own way."""
    with pytest.raises(OptionError, match="keywords='reserved' with lexer="):
        Lark(STATEMENTS, keywords="reserved", **options)


# --- the other dialect ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dialect", "match"), [("llguidance", "longest"), ("xgrammar", "any")])
def test_the_other_dialects_are_read_by_their_reader(monkeypatch: pytest.MonkeyPatch, dialect: Any, match: str) -> None:
    """Which is told what the texts of a JSON Schema are."""
    module = ModuleType("schemagen.context_free.dialect.rules")

    def read(*arguments: Any, start: str, value: Any, lexer: str, others: Any) -> ContextFreeGrammar:
        text = arguments[-1]
        assert (text, start, lexer, others) == ("s: x", "s", match, {"f": {"const": 1}, "g": "s: y"})
        return ContextFreeGrammar(start, {start: value({"const": "a"}, None)})

    module.read_dialect = module.rules_or_grammar = read  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "schemagen.context_free.dialect.rules", module)
    spec = Lark("s: x", start="s", dialect=dialect, grammars={"f": {"const": 1}, "g": "s: y"})
    assert derives(spec, '"a"')
    assert schemagen.to_regex(spec) == '"a"'
    with pytest.raises(UnsupportedGrammarError, match=f"dialect='{dialect}'"):
        spec.parse('"a"')


@pytest.mark.parametrize(
    "options", [{"parser": "lalr"}, {"lexer": "basic"}, {"bind": {"X": int}}, {"keywords": "reserved"}]
)
@pytest.mark.parametrize("dialect", ["llguidance", "xgrammar"])
def test_the_other_dialects_have_no_such_options(dialect: Any, options: Any) -> None:
    """There is one way to read each of them."""
    with pytest.raises(OptionError, match=f"dialect='{dialect}' with"):
        Lark("start: X", dialect=dialect, **options)


def test_the_dialects_differ_in_which_match_is_taken() -> None:
    """The longest for llguidance, any for xgrammar; what is compiled of the one is not taken for the other."""
    text = 'start: A "b" | "c"\nA: /[ab]+/'
    assert [derives(Lark(text, dialect=dialect), "abb") for dialect in ("llguidance", "xgrammar")] == [False, True]
    assert [derives(Lark(text, dialect=dialect), "c") for dialect in ("llguidance", "xgrammar")] == [True, True]
    assert Lark(text, dialect="llguidance") != Lark(text, dialect="xgrammar")


# --- mistakes ------------------------------------------------------------------------------------------------------------

MISTAKES = [
    ('start: "a" b', 1, 12, "the rule 'b' is not defined"),
    ('// b\nstart: "b"\n  | b', 3, 5, "the rule 'b' is not defined"),
    ("start: B", 1, 8, "the terminal 'B' is not defined"),
    ('start: "a" b{x}', 1, 12, "the rule 'b' is not defined"),
    ('start: "a" $', 1, 12, "unexpected input: '\\$'"),
    ('start: "a" (\n\nx: "b"', 1, 13, "'\\)' is missing"),
    ('start: "a"\nx: [', 2, 5, "'\\]' is missing"),
    ('start: "a" )', 1, 12, "unexpected '\\)'"),
    ('start "a"', 1, 7, "unexpected '\"a\"'"),
    ('start: "é" "a', 1, 12, "a literal without an end"),
    ("start: /a\nb", 1, 8, "a pattern without an end"),
    ('start: "a"\n"b": start', 2, 1, "unexpected '\"b\"'"),
    ('start: A "b"\n%declare A', 1, 8, "the terminal 'A' is declared and has no texts"),
    ('begin: "a"', None, None, "the rule 'start' is not defined"),
    ("", None, None, "the rule 'start' is not defined"),
    ('start: "a"\nstart: "b"', 2, 1, "the rule 'start' is defined more than once"),
    ('%override start: "b"', 1, 11, "the rule 'start' is overridden and not defined before"),
    ('%extend start: "b"', 1, 9, "the rule 'start' is extended and not defined before"),
    ('A: "a"\n%extend A: "b"\nstart: A\nt{x}: x\n%extend t: "b"', 5, 9, "another kind"),
    ("start: /a(/", 1, 8, "bad pattern /a\\(/: missing \\)|unterminated subpattern"),
    ('start: A\nA: "a" | /(/', 2, 10, "bad pattern"),
    ("start: /(?<=a+)b/", 1, 8, "bad pattern .*look-behind"),
    ("start: /a*/", 1, 8, "the terminal '__ANON_0' matches the empty text"),
    ('start: A\nA: "a"?', 2, 1, "the terminal 'A' matches the empty text"),
    ("start: A\nA:", 2, 1, "the terminal 'A' is empty"),
    ('start: ""', 1, 8, "an empty literal"),
    ('start: "\\x1"', 1, 8, "\\\\x1 is no character"),
    ('start: "a".."bc"', 1, 8, "more or less than one character"),
    ("start: A\nA: A", 2, 4, "the terminal 'A' is made of itself"),
    ('start: A\nA: B "x"\nB: "b" A', 3, 8, "the terminal 'B' is made of itself|the terminal 'A' is made of itself"),
    ("start: A\nA: start", 2, 4, "the rule 'start' in a terminal"),
    ('start: A\nA: "a" -> b', 2, 11, "'->' in a terminal"),
    ('start: A\nA: B "x"\n%declare B', 2, 4, "the terminal 'B' is declared, and part of another one"),
    ('start: "a"\n%declare b', 2, 10, "the rule 'b' is declared"),
    ('start: t{"a", "b"}\nt{x}: x', 1, 8, "the template 't' with 2 values"),
    ('start: t\nt{x}: x "a"', 1, 1, "the template 't' stands in a rule like a rule"),
    ('start: t{"a"}\nt{x, x}: x', 2, 1, "two parameters have the name 'x'"),
    ('start: t{"a"}\nt{start}: start', 2, 1, "the parameter 'start' has the name of a rule"),
    ('start: ("a" -> b) "c"', 1, 16, "'->' inside of parentheses"),
    ('start: _x\n_x: "a" -> b', 2, 9, "'->' in the rule '_x'"),
    ("start: x -> y | x -> z\nx: A\nA: /a/", 1, 1, "two alternatives of the rule 'start' are the same"),
    ('start: ["a"] ["a"]', 1, 1, "two alternatives of the rule 'start' are the same"),
    ('start: "a"~3..1', 1, 11, "a repetition of at least 3 and at most 1"),
    ('start: "a"\n%ignore X', 2, 9, "the terminal 'X' is not defined"),
    ("%import nowhere.X\nstart: X", 1, 9, "the grammar 'nowhere.lark' cannot be imported"),
    ("%import common\nstart: INT", 1, 9, "nothing is imported from 'common'"),
    (
        "%import common.INT\n%import common.NOTHING\nstart: NOTHING",
        2,
        9,
        "'NOTHING' is imported, and not defined there",
    ),
    ('%import common.INT\nINT: "1"\nstart: INT', 2, 1, "the terminal 'INT' is defined more than once"),
    ("%import common.INT -> int\nstart: int", 2, 1, "stands for a rule and for a terminal"),
]


@pytest.mark.parametrize(("grammar", "line", "column", "words"), MISTAKES, ids=[mistake[3] for mistake in MISTAKES])
def test_a_mistake_has_its_place(grammar: str, line: int | None, column: int | None, words: str) -> None:
    """Where there is one."""
    with pytest.raises(GrammarSyntaxError, match=words) as caught:
        schemagen.compile(Lark(grammar), BYTES)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("grammar", "fix"),
    [
        ("start = foo", "write ':' instead of '=': start: ..."),
        ('start: foo\n\n?foo.2 ::= "a"', "write ':' instead of '::=': foo: ..."),
        ('start: "a" $', ""),
        ("start: 'a'", "write literals in double quotes"),
        ("Start: A", "write names in small letters for rules, in capital ones for terminals"),
        ("start: FOO", "define it: FOO: /.../"),
        ("start: INT", "define it: INT: /.../, or import it: %import common.INT"),
        ('start: NAMES\nNAME: "a"', "did you mean 'NAME'?"),
        ("start: foo", "define it: foo: ..."),
    ],
)
def test_a_mistake_has_its_fix(grammar: str, fix: str) -> None:
    """Of a sign of another notation, and of what is not defined."""
    with pytest.raises(GrammarSyntaxError) as caught:
        schemagen.compile(Lark(grammar), BYTES)
    assert caught.value.fix == fix


def test_a_file_elsewhere_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One in the working directory, to which lark does not look, is told like one that is nowhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.lark").write_text("X: /x/", encoding="utf-8")
    with pytest.raises(GrammarSyntaxError, match=r"the grammar 'there.lark' cannot be imported") as caught:
        schemagen.compile(Lark("start: X\n%import there.X"), BYTES)
    assert caught.value.why == "there is no such file where lark looks"


@pytest.mark.parametrize("name", [".there", "there", ".x.there", "x.there", "nowhere", ".nowhere"])
def test_a_grammar_of_a_stranger_imports_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """With imports="library" the error is the same whatever files there are, and the library can be imported from."""
    spec = Lark(f"start: X\n%import {name} (X)", imports="library")

    def said() -> str:
        with pytest.raises(GrammarSyntaxError, match="not in lark's library") as caught:
            schemagen.compile(spec, BYTES, cache=None)
        return str(caught.value)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(tmp_path / "main.py"), raising=False)
    before = said()
    for folder in (tmp_path, tmp_path / "x"):
        folder.mkdir(exist_ok=True)
        (folder / "there.lark").write_text("X: /x/", encoding="utf-8")
    assert said() == before
    common = Lark("start: DIGIT\n%import common.DIGIT", imports="library")
    assert derives(common, "7")
    assert not derives(common, "x")


def test_conflicts_are_no_mistakes() -> None:
    """Earley reads what LALR cannot."""
    grammar = 'start: a | b\na: "x"\nb: "x"'
    with pytest.raises(UnsupportedGrammarError, match="LALR cannot read the grammar: Reduce/Reduce collision"):
        schemagen.compile(Lark(grammar, parser="lalr"), BYTES)
    assert derives(Lark(grammar), "x")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"parser": "cyk"}, "parser='cyk'"),
        ({"lexer": "contextual"}, "does not work with it"),
        ({"parser": "lalr", "lexer": "dynamic"}, "does not work with it"),
        ({"start": 1}, "start=1"),
        ({"dialect": "ebnf"}, "dialect='ebnf'"),
        ({"keywords": "all"}, "keywords='all'"),
        ({"bind": [int]}, "give a dict"),
        ({"bind": {"name": int}}, "capital letters"),
    ],
)
def test_options_are_checked_at_once(options: Any, words: str) -> None:
    """Before anything is compiled."""
    with pytest.raises(OptionError, match=words):
        Lark("start: X", **options)


def test_what_is_no_grammar_is_refused_at_once() -> None:
    """A number, bytes."""
    with pytest.raises(OptionTypeError, match="a grammar is a str, a pathlib"):
        Lark(b"start: X")  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{"parser": "lalr"}, {"lexer": "basic"}], ids=repr)
def test_a_missing_lark_is_told_at_once(monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    """Where its tables or lexers are needed, with what to install."""
    monkeypatch.setitem(sys.modules, "lark", None)
    with pytest.raises(SchemagenError, match=r'pip install "lark>=1\.2,<2"') as caught:
        Lark('start: "a"', **options)
    assert caught.value.code == "no-lark"


def test_without_lark_grammars_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the default lexer; not parsed, and nothing is imported from lark's library."""
    monkeypatch.setitem(sys.modules, "lark", None)
    spec = Lark(STATEMENTS)
    assert derives(spec, "if x:")
    for use in (lambda: spec.parse("if x:"), Lark("start: INT\n%import common.INT").rules):
        with pytest.raises(SchemagenError, match="lark is not installed") as caught:
            use()
        assert caught.value.code == "no-lark"


@pytest.mark.parametrize("lexer", ["dynamic", "dynamic_complete"])
def test_compiling_does_not_import_lark(lexer: str) -> None:
    """Not even for imports from its library: that took longer than all the rest."""
    script = f"""
import sys, schemagen
spec = schemagen.Lark("start: INT [WS]\\n%import common (INT, WS)", lexer={lexer!r})
matcher = schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary()).matcher()
assert matcher.accept_bytes(b"12 ") and matcher.is_accepting()
print(sorted(name for name in sys.modules if name.partition(".")[0] == "lark"))
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_grammar_of_lark_has_no_pattern() -> None:
    """Its terminals end where a lexer says."""
    with pytest.raises(UnsupportedGrammarError, match="no regular expression"):
        schemagen.to_regex(Lark('start: "a"'))


def test_a_terminal_with_a_back_reference_is_refused() -> None:
    """As patterns are."""
    with pytest.raises(schemagen.UnsupportedPatternError):
        schemagen.compile(Lark(r"start: /(a|b)\1/"), BYTES)


# --- grammars of strangers -----------------------------------------------------------------------------------------------


def test_a_grammar_has_a_length() -> None:
    """It is refused before lark sees it."""
    with pytest.raises(LimitError, match="characters"):
        schemagen.compile(Lark("start: " + '"a" ' * (MAX_LENGTH // 4)), BYTES)


def _chain(body: str, count: int) -> str:
    """Return lines of which each uses the next."""
    return "\n".join(body.format(here=number, next=number + 1) for number in range(count))


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ("start: " + " ".join(f'["w{n}"]' for n in range(18)), "262,144 alternatives"),
        ("start: " + " ".join(f'["w{n}"]' for n in range(300)), "or more alternatives"),
        ('start: ("a" | "b")~0..40', "alternatives"),
        ("start: " + "(" * 20 + '"a"' + ")~0..49" * 20, "or more alternatives"),
        ("start: " + '"a"~0..49 ' * 200, "repeats its parts too often"),
        ("start: [" + "x~0..49 " * 90 + ']\nx: "a"', "or more alternatives"),
        ('start: "a"~' + "9" * 5000, "counts too far"),
        ("start: " + "(" * 101 + '"a"' + ")" * 101, "nested more than 100 deep"),
        ("start: A0\n" + _chain("A{here}: A{next} A{next}", 60) + '\nA60: "a"', "patterns of the terminals are longer"),
        ("start: A0\n" + _chain("A{here}: A{next}", 2000) + '\nA2000: "a"', "made of others"),
        (
            "\n".join(["start: A0", 'A2000: "a"', *reversed(_chain("A{here}: A{next}", 2000).split("\n"))]),
            "made of others",
        ),
        ('start: a{"x"}\na{x}: x a{b{x}} | x\nb{x}: x "b"', "longer names"),
        (
            'start: t0{"x"}\na{x}: x\nb{x}: x\n'
            + _chain("t{here}{{x}}: t{next}{{a{{x}}}} t{next}{{b{{x}}}}", 30)
            + "\nt30{x}: x",
            "again",
        ),
        ("start: " + " ".join(f't{{"{n}"}}' for n in range(1500)) + "\nt{x}: " + "x " * 1500, "1,500 symbols"),
        ('start: "a"' + "\n" * 100_000, "blank lines"),
        ('start: "a"\n' + _chain('r{here}: "w"', 50_000), "words and signs"),
    ],
)
@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_what_grows_too_far_is_refused(grammar: str, said: str, parser: Any) -> None:
    """In time and memory for all of it."""
    began = time.process_time()
    with pytest.raises(LimitError, match=said):
        Lark(grammar, parser=parser).rules()
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ("start: " + " ".join(f'"w{n}"' for n in range(400)), "400 symbols"),
        ("start: r0\n" + _chain('r{here}: r{next} "a"', 2000) + '\nr2000: "b"', "a long way"),
        ("start: /" + "|".join(f"w{n}" for n in range(50_000)) + "/", "are long"),
        ('start: "' + "a" * 500_000 + '"', "are long"),
    ],
)
@pytest.mark.parametrize("options", [{"parser": "lalr"}, {"lexer": "basic"}], ids=repr)
def test_what_lark_would_take_long_over_is_refused(grammar: str, said: str, options: Any) -> None:
    """Where lark is needed, before it begins; without it these are read."""
    with pytest.raises(LimitError, match=said):
        Lark(grammar, **options).rules()
    with pytest.raises(LimitError, match=said):
        Lark(grammar).parse("a")
    assert Lark(grammar)._source.rules().start == "start"


def test_a_grammar_that_imports_itself_is_refused(tmp_path: Path) -> None:
    """As often as it may."""
    (tmp_path / "main.lark").write_text("%import .main.start -> x\nstart: x", encoding="utf-8")
    with pytest.raises(LimitError, match="100 grammars are imported") as caught:
        Lark(tmp_path / "main.lark").rules()
    assert "in the imported grammar main" in str(caught.value)


def test_rules_that_begin_alike_are_many_for_tables_only() -> None:
    """Each set of items of an LALR parser holds all of them, and lark goes through it for each."""
    names = [f"r{n}" for n in range(2000)]
    grammar = "\n".join([f"start: {' | '.join(names)}", *(f'{name}: "{name}"' for name in names)])
    with pytest.raises(LimitError, match="begin where one does"):
        Lark(grammar, parser="lalr").rules()


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + " ".join(f'["w{n}"]' for n in range(10)),
        "start: " + " ".join(f'"w{n}"' for n in range(100)),
        'start: "a"~100000',
        'start: list{"a"} list{"b"}\nlist{x}: x ("," x)*',
        "start: A0\n// A0: A0 A0\n" + _chain('A{here}: A{next} "A0"', 20) + '\nA20: "a"',
    ],
)
def test_what_lark_reads_in_a_moment_is_not_refused(grammar: str) -> None:
    """Names in comments and literals count for nothing."""
    assert Lark(grammar).rules().start == "start"


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + "(" * 3000 + '"a"' + ")" * 3000,
        "start: " + '["a" ' * 30 + "]" * 30,
        'start: "a"~1000000..2000000',
        "start: /a{1000000}/",
        "start: /((a{100}){100}){100}/",
    ],
    ids=["nested deep", "optional parts", "counted far", "a long pattern", "a longer pattern"],
)
def test_hostile_grammars_end(grammar: str) -> None:
    """In a result, or an error of ours."""
    try:
        schemagen.compile(Lark(grammar), BYTES).matcher().allowed_tokens()
    except (GrammarError, LimitError, schemagen.PatternError) as error:
        assert error.fact  # noqa: PT017 - either is right


def test_a_pattern_of_nested_loops_is_read() -> None:
    """Which makes `re` try for hours."""
    spec = Lark("start: /(a*)*b/")
    assert derives(spec, "a" * 500 + "b")
    assert not derives(spec, "a" * 500)


# --- what is ignored, and used by rules --------------------------------------------------------------------------------


@pytest.mark.parametrize(("parser", "lexer"), WAYS)
@pytest.mark.parametrize(
    "text",
    [
        'start: " " "b" | "a"\n%ignore " "',
        'start: "a" "b" | "a" W "a" | W\nW: / /\n%ignore W',
        'start: " " "b" | "a" "b"*\nW: / +/\n%ignore W',
        'start: N "a"* " "\nN: /[ab]/\n%ignore "a"',
    ],
)
def test_a_terminal_may_be_ignored_and_stand_in_rules(parser: Any, lexer: Any, text: str) -> None:
    """Dynamic lexers read it either way; the others never give it to a rule, nor a literal that it holds."""
    read = lark.Lark(text, parser=parser, lexer=lexer)
    words = ["".join(word) for length in range(5) for word in itertools.product("ab ", repeat=length)]
    derived = {word for word in words if parses(read, word)}
    if not derived:
        with pytest.raises(schemagen.UnsatisfiableSchemaError):
            schemagen.compile(Lark(read), BYTES)
        return
    assert {word for word in words if derives(Lark(read), word)} == derived
    for word in derived:
        check_masks_along(Lark(read), word)


def test_what_is_ignored_is_no_spec() -> None:
    """A pattern can be; a type is refused where %ignore has it, and not left out."""
    text = 'start: "a" "b"\n%declare J\n%ignore J'
    assert derives(Lark(text, bind={"J": Regex("[0-9]*")}), "a1b")
    with pytest.raises(UnsupportedGrammarError, match="%ignore J") as caught:
        schemagen.compile(Lark(text, bind={"J": int}), BYTES)
    assert "line 2" in str(caught.value)


def test_patterns_that_may_match_at_the_same_place_are_those_of_pairs() -> None:
    """Literals by their beginnings, others by their first characters, and whatever is not seen at once by all."""
    patterns = ["a", "ab", "abc", "b", "ab", "[a-c]x", "(?=a)a", "\\d+", "1", "ba?"]
    for number, together in enumerate(alike(patterns)):
        apart = [alike([patterns[number], other])[0] >> 1 & 1 for other in patterns]
        apart[number] = 1
        assert [together >> other & 1 for other in range(len(patterns))] == apart


@pytest.mark.parametrize("options", [{}, {"parser": "lalr"}, {"dialect": "llguidance"}], ids=repr)
def test_a_rule_may_have_thousands_of_literals(options: Any) -> None:
    """What compiling them takes does not grow with their pairs."""
    words = [f"{number * 7919 % 100_003:x}" for number in range(1500)]
    spec = Lark(f"start: {' | '.join(map(json.dumps, words))}", **options)
    matcher = schemagen.compile(
        spec, BYTES, cache=None, limits=schemagen.Limits(max_seconds=1000)
    ).matcher()  # busy machines
    assert matcher.accept_bytes(words[-1].encode())
    assert matcher.is_accepting()


def parsers_of_lark() -> set[int]:
    """Say which parsers are alive."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if issubclass(type(each), lark.Lark)}


def test_a_compiled_grammar_keeps_no_parser_of_lark() -> None:
    """It took as much memory as the grammar; one that was given stays, for `parse`."""
    before = parsers_of_lark()
    text = 'start: "a" other\nother: "b" | "(" other ")"'
    grammar = schemagen.compile(Lark(text), BYTES, cache=None)
    assert parsers_of_lark() == before
    assert grammar.matcher().accept_bytes(b"a(b)")
    given = lark.Lark(text)
    spec = Lark(given)
    assert schemagen.compile(spec, BYTES, cache=None).spec.parse("a(b)") == given.parse("a(b)")
    assert parsers_of_lark() - before == {id(given)}


def test_as_many_reductions_as_a_long_text_has_parts_take_no_stack() -> None:
    """A right-recursive rule is reduced as often when it ends; conflicts keep the tables."""
    rules = 'start: block\nblock: "i" block | "i" block "e" block | "x"'
    grammar = schemagen.compile(
        schemagen.Lark(rules, parser="lalr"), schemagen.Vocabulary.byte_vocabulary(), cache=None
    )
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b"i" * 40_000 + b"x")
    assert matcher.is_accepting()
    assert b"e"[0] in matcher.allowed_tokens()

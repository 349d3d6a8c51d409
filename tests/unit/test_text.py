"""Kinds of text: their values, what prompts say of them, what is refused, and why they need no order of precedence."""

import copy
import pickle
import re
from enum import Enum
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from pydantic import BaseModel

import schemagen
from schemagen import Regex, text
from schemagen.prompts.messages import with_shape
from schemagen.testing import brute_force_mask, mask_of
from tests.grammars import BYTES, derives


class Mood(Enum):
    """Two texts."""

    GOOD = "fine, thanks"
    BAD = "bad"


class Point(BaseModel):
    """An object."""

    x: int


def value_of(spec: Any, given: str) -> Any:
    """Return what a text of a spec stands for."""
    assert derives(spec, given)
    return schemagen.compile(spec, BYTES).validate(given)


@pytest.mark.parametrize(
    ("spec", "given", "value"),
    [
        (text.quoted(), r'"a \"b\" \u00e9\ud83d\ude00\n"', 'a "b" é😀\n'),
        (text.unquoted(), "it's: not", None),
        (text.unquoted(), "Ada Lovelace, 1815 (London)", "Ada Lovelace, 1815 (London)"),
        (text.until("\n\n"), "a\nb", "a\nb"),
        (text.until(".", include=True), "a.", "a."),
        (text.until(".", include=True, greedy=True), "a.b.", "a.b."),
        (text.paragraph(), "a b", "a b"),
        (text.one_of_lines("one\ntwo"), "two", "two"),
        (text.list_of(int), "1, -2, 30", [1, -2, 30]),
        (text.list_of(int, sep=","), "1", [1]),
        (text.list_of(int, min=0), "", []),
        (text.list_of(schemagen.Choice(Mood)), "fine, thanks, bad", [Mood.GOOD, Mood.BAD]),
        (text.list_of(re.compile("a+")), "a, aa", ["a", "aa"]),
        (text.list_of(["a", "a, b", "b"]), "a, b, a", ["a, b", "a"]),
        (text.list_of(Point, sep="\n"), '{"x": 1}\n{"x": 2}', [Point(x=1), Point(x=2)]),
        (text.list_of({"type": "array", "items": {"type": "boolean"}}, sep=","), "[true],[]", [[True], []]),
        (text.list_of(schemagen.GBNF('root ::= "(" root* ")"'), sep=""), "()(())", ["()", "(())"]),
        (text.list_of(text.quoted(), sep=" | "), r'"a | b" | "\""', ["a | b", '"']),
        (text.list_of(text.list_of(int, sep=" "), sep="; "), "1 2; 3", [[1, 2], [3]]),
        (text.list_of(Regex("[a-z,]*"), sep=",", min=2, max=3), "a,b,c,d", ["a,b,c", "d"]),
        (text.list_of(Regex("[a-z]*"), sep=",", min=2), ",", ["", ""]),
        (text.list_of(Regex("a*"), sep="", min=2), "aaa", ["aaa", ""]),
        (text.list_of(text.paragraph(), sep="\n"), "é, ü\n😀", ["é, ü", "😀"]),
        (text.subsequence_of(["a", "b", "c"]), "a, c", ["a", "c"]),
        (text.subsequence_of(["a", "a, b", "b"]), "a, b", ["a", "b"]),
        (text.subsequence_of(["a", "b"], min=0), "", []),
        (text.subsequence_of([int, "none", bool], sep="/"), "7/true", [7, True]),
    ],
)
def test_values(spec: Any, given: str, value: Any) -> None:
    """A text stands for what is quoted, for itself, or for the list of its items; of several ways to cut it the first items are longest."""
    if value is None:
        assert not derives(spec, given)
        with pytest.raises(schemagen.ValidationFailed):
            schemagen.compile(spec, BYTES).validate(given)
    else:
        assert value_of(spec, given) == value


def test_items_in_any_layout() -> None:
    """Items that were written in a layout of the caller are cut all the same, and validators of types are heard."""
    spec = text.list_of(list[int], sep="|")
    grammar = schemagen.compile(spec, BYTES, whitespace="any")
    matcher = grammar.matcher()
    assert matcher.accept_bytes(b" [ 1,\t2 ]|[]")
    assert grammar.validate(" [ 1,\t2 ]|[]") == [[1, 2], []]
    assert value_of(text.list_of(Annotated[int, Ge(3)]), "3, 4") == [3, 4]


def test_a_long_list_is_cut_in_time() -> None:
    """Items are cut one after the other, and where an item may hold delimiters, the first of them takes all."""
    numbers = ", ".join(map(str, range(3000)))
    assert value_of(text.list_of(int), numbers) == list(range(3000))
    assert value_of(text.list_of(text.paragraph()), numbers) == [numbers]


def test_failed_ways_are_not_tried_again() -> None:
    """A text that could be cut in exponentially many ways up to its end, and cannot be cut, is refused at once."""
    grammar = schemagen.compile(text.list_of(Regex("[a,]*"), sep=",", min=2), BYTES)
    with pytest.raises(schemagen.ValidationFailed):
        grammar.validate("a," * 60 + "b")


ALL = [
    text.quoted(),
    text.unquoted(),
    text.until("\n", include=True),
    text.until("a", greedy=True),
    text.paragraph(),
    text.one_of_lines("a\nb"),
    text.list_of(int, sep="; ", min=2, max=4),
    text.list_of({"type": "integer"}),
    text.subsequence_of(["a", int], min=0),
]


@pytest.mark.parametrize("spec", ALL, ids=repr)
def test_specs_are_values(spec: Any) -> None:
    """They are equal when they are made alike, hashable, and can be pickled and copied."""
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec  # noqa: S301 - our own bytes
    assert len({spec, copy.deepcopy(spec)}) == 1
    assert schemagen.compile(spec, BYTES) is schemagen.compile(copy.deepcopy(spec), BYTES)
    assert len({*ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("spec", "said", "shown"),
    [
        (text.quoted(), "quoted()", "a text in double quotes, with the escapes of JSON"),
        (text.unquoted(), "unquoted()", "a plain string of YAML on one line, without quotes"),
        (text.until("\n"), r"until('\n')", r'a text without "\n"'),
        (text.until("a", True), "until('a', include=True)", 'a text that ends with the first "a"'),
        (text.until("a", True, True), "until('a', include=True, greedy=True)", 'a text that ends with "a"'),
        (text.until("a", greedy=True), "until('a', greedy=True)", "any text"),
        (text.paragraph(), "paragraph()", "a text on one line"),
        (
            text.list_of(int, max=3),
            "list_of(int, sep=', ', max=3)",
            '1 to 3 items, separated by ", ". Item: JSON of the schema {"type": "integer"}',
        ),
        (
            text.list_of(text.list_of(["a", "b"], min=0), sep="\n", min=2),
            "list_of(list_of(Choice(options=('a', 'b'), enum=None), sep=', ', min=0), sep='\\n', min=2)",
            r'2 or more items, separated by "\n". Item: any number of items, separated by ", ". Item: "a" | "b"',
        ),
        (
            text.list_of(Regex("a+"), sep="", min=2, max=2),
            "list_of(Regex(pattern='a+'), sep='', min=2, max=2)",
            "2 items, one directly after the other. Item: a text that matches as a whole the pattern a+",
        ),
        (
            text.subsequence_of(["a", schemagen.GBNF('root ::= "a"')], min=0),
            """subsequence_of(['a', GBNF(text='root ::= "a"', start='root')], sep=', ', min=0)""",
            'some or none of these items, in this order, separated by ", ". Items: "a"; a text that this grammar derives: root ::= "a"',
        ),
    ],
)
def test_what_is_said_of_them(spec: Any, said: str, shown: str) -> None:
    """A spec is shown as the call that makes it, and in a prompt in words."""
    assert repr(spec) == said
    assert spec.shown() == shown
    (message,) = with_shape([{"role": "user", "content": "Go"}], spec)
    assert message["content"] == f"Go\n\nAnswer only with this:\n{shown}"


def test_lines() -> None:
    """Lines are those of `str.splitlines`, each once; blank ones are left out, and an iterable of lines is taken as well."""
    assert text.one_of_lines("b\r\n \n a \n\nb\u2028c").options == ("b", " a ", "c")
    assert text.one_of_lines(iter(["x", "", "y"])) == schemagen.Choice("x", "y")


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: text.until(""), "stop=''"),
        (lambda: text.until(3), "stop=3"),
        (lambda: text.until("a", include=1), "include=1"),
        (lambda: text.list_of("a"), "the item 'a' is a str"),
        (lambda: text.list_of([1]), r"\[1\] is no list of texts"),
        (lambda: text.list_of(int, sep=3), "sep=3"),
        (lambda: text.list_of(int, min=-1), "min=-1, max=None"),
        (lambda: text.list_of(int, min=0, max=0), "min=0, max=0"),
        (lambda: text.list_of(int, min=3, max=2), "min=3, max=2"),
        (lambda: text.list_of(int, min=None), "min=None"),
        (lambda: text.list_of(int, max="2"), "max='2'"),
        (lambda: text.subsequence_of([]), r"subsequence_of\(\[\]\)"),
        (lambda: text.subsequence_of("ab"), "the items are a str"),
        (lambda: text.subsequence_of(["a"], min=2), "min=2"),
        (lambda: text.one_of_lines(" \n"), "the text has no line"),
        (lambda: text.one_of_lines(["a\n"]), r"the line 'a\\n' has a line break"),
        (lambda: text.one_of_lines([1]), "the line 1 is an int"),
        (lambda: text.one_of_lines(1), "the text of one_of_lines is an int"),
    ],
)
def test_what_cannot_be_meant(make: Any, fact: str) -> None:
    """Arguments that make no kind of text are refused at once."""
    with pytest.raises(schemagen.SchemagenError, match=f"^{fact}"):
        make()


# ---- parts of others ------------------------------------------------------------------------------------------------


def test_bound_to_terminals() -> None:
    """A terminal of lark may be any kind of text."""
    grammar = schemagen.Lark(
        'start: KEY ": " VALUE ("; " LIST)?\n%declare KEY VALUE LIST',
        bind={"KEY": Regex("(?P<UNQUOTED_TEXT>)"), "VALUE": text.quoted(), "LIST": text.list_of(int)},
    )
    assert derives(grammar, 'a b: "c"; 1, 2')
    assert not derives(grammar, 'no: "c"')
    quotes = schemagen.Lark('start: "say " QUOTED\n%declare QUOTED', bind={"QUOTED": text.quoted()})
    assert quotes.parse('say "b"').children == ['"b"']


def test_regular_ones_are_expressions() -> None:
    """Lists of kinds of text are written out as one expression, so that both engines and `to_regex` have them."""
    pattern = re.compile(schemagen.to_regex(text.list_of(text.list_of(text.quoted(), sep="|"), sep="\n", max=2)))
    assert pattern.fullmatch('"a"|"b"\n"c"')
    assert not pattern.fullmatch('"a"\n"c"\n"d"')
    with pytest.raises(schemagen.UnsupportedGrammarError):
        schemagen.to_regex(text.list_of(schemagen.GBNF('root ::= "(" root* ")"')))


# ---- named groups of a Regex ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "error", "fact", "position"),
    [
        ("a(?P<IMAGE>)", "UnsupportedPatternError", "the text group IMAGE cannot be compiled", 1),
        (
            "(?P<DELIMITED_LIST>,|(?P<TEXT_TOKEN>))",
            "UnsupportedPatternError",
            "the text group TEXT_TOKEN cannot be compiled",
            21,
        ),
        ("(?P<QUOTED_TEXT>a)", "InvalidPatternError", "the text group QUOTED_TEXT takes no argument", 0),
        ("(?P<UNQUOTED_TEXT>|)", "InvalidPatternError", "the text group UNQUOTED_TEXT takes no argument", 0),
        ("(?P<TEXT_UNTIL>)", "InvalidPatternError", "the text group TEXT_UNTIL has no stop", 0),
        ("(?P<TEXT_UNTIL>a|b)", "InvalidPatternError", "the text group TEXT_UNTIL takes one fixed text", 0),
        ("(?P<TEXT_UNTIL>a+)", "InvalidPatternError", "the text group TEXT_UNTIL takes one fixed text", 0),
        ("(?P<TEXT_UNTIL>a$)", "InvalidPatternError", "the text group TEXT_UNTIL takes one fixed text", 0),
        ("(?i)(?P<SUBSTRING_OF>a)", "InvalidPatternError", "the text group SUBSTRING_OF takes one fixed text", 4),
        ("(?P<SUBSTRING_OF>a.b)", "InvalidPatternError", "the text group SUBSTRING_OF takes one fixed text", 0),
        ("(?P<DELIMITED_LIST>a)", "InvalidPatternError", "the text group DELIMITED_LIST has no item", 0),
        (
            "(?P<DELIMITED_LIST>,|^a)",
            "UnsupportedPatternError",
            "an anchor or a look-around in the group DELIMITED_LIST",
            0,
        ),
        (
            "(?P<QUOTED_TEXT>)(?P=QUOTED_TEXT)",
            "UnsupportedPatternError",
            "back-reference '(?P=' cannot be compiled",
            17,
        ),
        ("(?P<TEXT>a)(?P<TEXT>a)", "InvalidPatternError", "group name 'TEXT' is used twice", 11),
    ],
)
def test_groups_that_are_refused(pattern: str, error: str, fact: str, position: int) -> None:
    """An error names the group, and where it is; what counts tokens is never taken for what counts none."""
    with pytest.raises(getattr(schemagen, error)) as caught:
        schemagen.compile(Regex(pattern), BYTES)
    assert (caught.value.fact, caught.value.position) == (fact, position)


def test_substrings_of_a_long_text() -> None:
    """They are not written out."""
    matcher = schemagen.compile(Regex(f"(?P<SUBSTRING_OF>{'ab' * 10_000})"), BYTES).matcher()
    assert matcher.accept_bytes(b"ba" * 9_999 + b"b")
    assert matcher.is_accepting()
    assert matcher.accept_bytes(b"b") is False


def test_nested_lists_have_a_limit() -> None:
    """A list within a list is written out twice; what becomes too large is refused, and at once."""
    pattern = "[0-9]"
    for depth in range(60):
        pattern = f"(?P<DELIMITED_LIST>{'abcdef'[depth % 6]}|{pattern})"
    with pytest.raises(schemagen.LimitError, match="stands for an expression of"):
        schemagen.compile(Regex(pattern), BYTES)
    assert derives(
        Regex("(?P<DELIMITED_LIST>;|(?P<DELIMITED_SUBSEQUENCE_OF>,|a|(?P<DELIMITED_LIST>-|b)|c))"), "b-b,c;a"
    )


def test_escapes_in_arguments() -> None:
    """A fixed text is written as in any pattern: escapes, and under (?x) without blanks."""
    assert derives(Regex(r"(?P<SUBSTRING_OF>\(\x41\|\n)"), "A|\n")
    assert derives(Regex(r"(?x) (?P<TEXT_UNTIL> a [ ] b ) $"), "ab")
    assert not derives(Regex(r"(?x) (?P<TEXT_UNTIL> a [ ] b )"), "a b")


def test_other_dialects_have_no_text_groups() -> None:
    """Only a `Regex` in Python's dialect has them; for `re` itself, schemas and types the group is an ordinary one."""
    assert derives(Regex("(?P<IMAGE>a)", dialect="rust"), "a")
    assert derives(Regex("(?<QUOTED_TEXT>a)", dialect="ecma-262"), "a")
    schema = {"type": "string", "pattern": "^(?P<TEXT_TOKEN>a)$", "x-pattern-dialect": "python"}
    assert schemagen.compile(schema, BYTES).matcher().accept_bytes(b'"a"')
    assert derives(re.compile("(?P<TOKEN>a)"), "a")
    with pytest.raises(schemagen.UnsupportedPatternError, match="a group with the name QUOTED_TEXT"):
        schemagen.compile(re.compile("(?P<QUOTED_TEXT>a)"), BYTES)


def test_pictures_and_reports() -> None:
    """A pattern with text groups is drawn and reported as others are."""
    grammar = schemagen.compile(Regex("(?P<TEXT_UNTIL>ab)ab"), BYTES)
    assert len(grammar.draw().nodes) == 4  # that of the start is none of the states
    assert grammar.report.entries[0].status == "enforced"
    assert schemagen.compile(text.list_of(text.paragraph()), BYTES).draw("rules").nodes


# ---- no order of precedence -------------------------------------------------------------------------------------------

#: An automaton over tokens for /(?P<PARAGRAPH_TOKEN>)+!|none/: edges by token, the edges of wildcards, and where a text may end.
EDGES = {(0, "none"): 1, (2, "!"): 3}
WILDCARDS = {0: 2, 2: 2}
ENDS = {1, 3}
#: What it stands for, over characters.
PATTERN = Regex(r"[^\n]+!|none")
TOKENS = ["none", "!", " of", " it", "no", "a", "!\n", "it!"]


def reads_by_precedence(tokens: list[str]) -> bool:
    """Whether the automaton reads some tokens when those of an edge come before wildcards (Koo et al. 2024, section 2.5.1)."""
    state: int | None = 0
    for token in tokens:
        wildcard = None if state is None or "\n" in token else WILDCARDS.get(state)
        state = EDGES.get((-1 if state is None else state, token), wildcard)
    return state in ENDS


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        (["none"], True),
        (["a", "!"], True),
        (["none", " of", " it", "!"], False),
        (["none", "!"], False),
        (["a", "!", " it", "!"], False),
        (["a", "it!"], False),
    ],
)
def test_no_text_is_lost_to_precedence(tokens: list[str], kept: bool) -> None:
    """Where an edge and a wildcard both read a token the heuristic loses texts of the pattern; exact masks lose none."""
    vocabulary = schemagen.Vocabulary([b"", *(token.encode() for token in TOKENS)], eos_token_ids=[0])
    matcher = schemagen.compile(PATTERN, vocabulary).matcher()
    assert re.fullmatch(PATTERN.pattern, "".join(tokens))
    assert reads_by_precedence(tokens) == kept
    for token in tokens:
        allowed = mask_of(matcher, vocabulary)
        assert allowed == brute_force_mask(matcher, vocabulary)
        assert 1 + TOKENS.index(token) in allowed
        assert matcher.accept_token(1 + TOKENS.index(token))
    assert matcher.is_accepting()

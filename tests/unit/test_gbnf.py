"""GBNF: what each construct derives, and the error of each mistake with its line and column."""

import pickle
from typing import NamedTuple

import pytest

import schemagen
from schemagen import GBNF, reference
from schemagen.context_free.scanner import MAX_LENGTH, MAX_NESTING
from schemagen.errors import (
    GrammarSyntaxError,
    LimitError,
    OptionTypeError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
)
from schemagen.prompts.messages import with_shape
from schemagen.schema.report import Entry
from tests.grammars import BYTES, check_masks_along, derives


def test_the_start_is_named() -> None:
    """It is `root`, as in llama.cpp, or the rule that is given, as the error of a missing one says."""
    assert derives(GBNF("start ::= [a-z]", start="start"), "x")
    with pytest.raises(GrammarSyntaxError, match="no rule 'root'") as caught:
        schemagen.compile(GBNF("start ::= [a-z]"), BYTES)
    assert caught.value.fix == "rename one of its rules to root, or give its name as start=: start"
    with pytest.raises(OptionTypeError, match="start=1"):
        GBNF("root ::= [a-z]", start=1)  # type: ignore[arg-type]


class Case(NamedTuple):
    """A grammar, texts that it derives, and texts that it does not."""

    name: str
    grammar: str
    accepted: list[str]
    rejected: list[str]


CASES = [
    Case("a literal", 'root ::= "abc"', ["abc"], ["", "ab", "abcd", "ABC"]),
    Case("an empty literal", 'root ::= "" "a"', ["a"], ["", "aa"]),
    Case("nothing but the empty text", 'root ::= ""', [""], ["a"]),
    Case("an empty rule", "root ::=", [""], ["a"]),
    Case("escapes", r'root ::= "\n\r\t\\\"\[\]"', ['\n\r\t\\"[]'], ["nrt"]),
    Case("codes", r'root ::= "\x41\u00e9\U0001F600"', ["Aé😀"], ["A"]),
    Case("a code has its digits only", r'root ::= "\x414"', ["A4"], ["\u0414"]),
    Case("characters as they are", 'root ::= "日本" [ぁ-ゟ]', ["日本あ"], ["日本ア", "あ"]),
    Case("a hash in a literal", 'root ::= "#a"', ["#a"], [""]),
    Case("a set", "root ::= [a-cx]", ["a", "b", "c", "x"], ["", "d", "-", "ab"]),
    Case("a negated set", r"root ::= [^\n]+", ["a b", "é"], ["", "a\n"]),
    Case("a dash at the end of a set", "root ::= [a-]+", ["a-a"], ["b"]),
    Case("a dash at the start of a set", "root ::= [-a]+", ["a-a"], ["b"]),
    Case("an escaped dash", r"root ::= [a\-z]+", ["a-z"], ["b"]),
    Case("escapes in a set", r"root ::= [\]\[\\]+", ["[\\]"], ["a"]),
    Case("a caret in a set", "root ::= [a^]", ["a", "^"], ["b"]),
    Case("codes in a set", r"root ::= [\x30-\x39]+", ["09"], ["x"]),
    Case("a range beyond ASCII", r"root ::= [\u4e00-\u9fff]", ["中"], ["a", "あ"]),
    Case("any character", "root ::= . .", ["ab", "\n😀"], ["a", "abc"]),
    Case("a sequence", 'root ::= "a" "b" [c]', ["abc"], ["ab", "acb"]),
    Case("alternatives", 'root ::= "a" | "bc" | [d]', ["a", "bc", "d"], ["b", "abc"]),
    Case("an empty alternative", 'root ::= "a" ( | "b")', ["a", "ab"], ["b"]),
    Case("an empty alternative first", 'root ::= | "b"', ["", "b"], ["bb"]),
    Case("alternatives bind less than sequences", 'root ::= "a" "b" | "c" "d"', ["ab", "cd"], ["ad", "abd"]),
    Case("alternatives over lines", 'root ::= "a" |\n  "b" |\n\n  "c"', ["a", "b", "c"], ["ab"]),
    Case("a line that begins with a bar", 'root ::= "a"\n  | "b"\n  # why not\n  | "c"\n', ["a", "b", "c"], ["ab"]),
    Case("a group over lines", 'root ::= (\n  "a" # one\n  "b"\n)\n', ["ab"], ["a"]),
    Case("a body on the next line", 'root ::=\n  "a"', ["a"], [""]),
    Case("star", 'root ::= "ab"*', ["", "abab"], ["aba"]),
    Case("plus", 'root ::= "ab"+', ["ab", "abab"], ["", "aba"]),
    Case("question mark", 'root ::= "ab"?', ["", "ab"], ["abab"]),
    Case("an operator behind a blank", 'root ::= "a" *', ["", "aa"], ["b"]),
    Case("an operator binds to one symbol", 'root ::= "a" [b]* "c"', ["ac", "abbc"], ["aac"]),
    Case("a group repeated", 'root ::= ("a" | "b")+ "c"', ["abac"], ["c"]),
    Case("exactly", "root ::= [a]{3}", ["aaa"], ["aa", "aaaa"]),
    Case("at least", "root ::= [a]{2,}", ["aa", "aaaaa"], ["a"]),
    Case("at most", "root ::= [a]{,2}", ["", "a", "aa"], ["aaa"]),
    Case("between", "root ::= [a]{2,3}", ["aa", "aaa"], ["a", "aaaa"]),
    Case("counts with blanks", "root ::= [a]{ 2 , 3 }", ["aa", "aaa"], ["a", "aaaa"]),
    Case("never", 'root ::= "b" "a"{0}', ["b"], ["ba"]),
    Case("a rule counted", 'root ::= r{2}\nr ::= "(" r ")" | "x"', ["xx", "(x)((x))"], ["x", "xxx"]),
    Case("an operator on an operator", 'root ::= "a"{2}{2}', ["aaaa"], ["aa", "aaa"]),
    Case("rules", 'root ::= a-b "," dataType_1\na-b ::= "x"\ndataType_1 ::= "y"', ["x,y"], ["x"]),
    Case("comments", '# first\nroot ::= "a" # behind\n# last', ["a"], ["b"]),
    Case("rules in any order", "digit ::= [0-9]\nroot ::= digit+", ["07"], ["", "a"]),
    Case("line ends of other systems", 'root ::= a\r\na ::= "x"\r\n', ["x"], ["x\r"]),
    Case("right recursion", 'root ::= "a" root | "b"', ["b", "aab"], ["a", "bb"]),
    Case("left recursion", 'root ::= root "a" | "b"', ["b", "baa"], ["a", "ab"]),
    Case("recursion in the middle", 'root ::= "(" root ")" | ""', ["", "(())"], ["(()", ")("]),
    Case("recursion around", 'root ::= a\na ::= "x" b | "."\nb ::= "y" a', [".", "xyxy."], ["x", "xy", "xx."]),
    Case("ambiguity", "root ::= root root | [a] | ", ["", "a", "aaaaa"], ["b"]),
    Case("a rule without texts is no alternative", 'root ::= "a" | loop\nloop ::= "b" loop', ["a"], ["b"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_grammar_derives(case: Case) -> None:
    """Each text is read as a whole, or is not."""
    spec = GBNF(case.grammar)
    assert [text for text in case.accepted if not derives(spec, text)] == []
    assert [text for text in case.rejected if derives(spec, text)] == []


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('root ::= term ("+" term)*\nterm ::= [0-9]+ | "(" root ")"', "12+((3)+4)"),
        ('root ::= root root | "a" | "b" | "(" root ")"', "ab(ba)a"),
        ('root ::= [^"]{1,4} | "é" root', "éaé"),
        ('root ::= "abc"{2,3} | "ab" root "ba"', "ababcabcba"),
    ],
)
def test_masks_are_exact(grammar: str, text: str) -> None:
    """Each mask along a text is what is found by trying every token."""
    check_masks_along(GBNF(grammar), text)


class Mistake(NamedTuple):
    """A grammar that cannot be read, the place of the mistake, and words of the message."""

    grammar: str
    line: int
    column: int
    words: str


MISTAKES = [
    Mistake('root ::= "abc', 1, 10, "a literal is never closed"),
    Mistake('root ::= "abc\nx ::= "b"', 1, 10, "a literal is never closed"),
    Mistake("root ::= [abc", 1, 10, "a set of characters is never closed"),
    Mistake("root ::= [a-", 1, 10, "a set of characters is never closed"),
    Mistake("root ::= []", 1, 10, "a set without characters"),
    Mistake("root ::= [^]", 1, 10, "a set without characters"),
    Mistake("root ::= [z-a]", 1, 11, "the range 'z-a' runs backwards"),
    Mistake(r'root ::= "\q"', 1, 11, r"the escape '\q' is not known"),
    Mistake('root ::= "\\', 1, 11, "the escape '\\' is not known"),
    Mistake(r'root ::= "\x4"', 1, 11, "has too few digits"),
    Mistake(r'root ::= "\ud800"', 1, 11, "U+D800 is not a character"),
    Mistake(r'root ::= "\U00110000"', 1, 11, "U+00110000 is not a character"),
    Mistake(r"root ::= [\x3", 1, 11, "has too few digits"),
    Mistake('root ::= ("a"', 1, 10, "a group is never closed"),
    Mistake('root ::= "a")', 1, 13, "')' stands where"),
    Mistake('root ::= "a" *\n* "b"', 2, 1, "where the name of a rule is expected"),
    Mistake("root ::= +", 1, 10, "'+' stands where a symbol is expected"),
    Mistake('root ::= "a"{3,2}', 1, 13, "at least 3 and at most 2"),
    Mistake('root ::= "a"{}', 1, 13, "a repetition that cannot be read"),
    Mistake('root ::= "a"{x}', 1, 13, "a repetition that cannot be read"),
    Mistake('root ::= "a"{1', 1, 13, "a repetition that cannot be read"),
    Mistake('root ::= "a"\nb\n', 2, 2, "the line ends where '::=' is expected"),
    Mistake('root = "a"', 1, 6, "stands where '::=' is expected"),
    Mistake('root ::= a\na ::= "x" b', 2, 11, "the rule 'b' is not defined"),
    Mistake('root ::= "a"\nroot ::= "b"', 2, 1, "the rule 'root' is defined twice"),
    Mistake('start ::= "a"', 1, 14, "the grammar has no rule 'root'"),
    Mistake("", 1, 1, "the grammar has no rule 'root'"),
    Mistake('root ::= "a" "b" ::= "c"', 1, 18, "stands where a symbol"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: f"{mistake.grammar!a:.30}")
def test_mistakes_have_a_place(mistake: Mistake) -> None:
    """The error says what is wrong, and at which line and column."""
    with pytest.raises(GrammarSyntaxError) as caught:
        schemagen.compile(GBNF(mistake.grammar), BYTES)
    error = caught.value
    assert mistake.words in error.fact
    assert (error.line, error.column) == (mistake.line, mistake.column)
    assert error.at == f"line {mistake.line}, column {mistake.column}"


def test_an_unknown_rule_says_which_was_meant() -> None:
    """The closest name is in the fix."""
    with pytest.raises(GrammarSyntaxError, match="did you mean 'digits'"):
        schemagen.compile(GBNF("root ::= digit\ndigits ::= [0-9]+"), BYTES)


@pytest.mark.parametrize(
    ("grammar", "column", "words"),
    [
        ("root ::= <think>", 10, "no special or added token <think>"),
        ('root ::= "a" <[1000]>', 14, "the token id 1000 is outside the vocabulary of 257 ids"),
        ('root ::= "a" <[200]>', 14, "the token id 200 is a part of a character"),
        ("root ::= !</think>*", 10, "no special or added token </think>"),
    ],
)
def test_tokens_that_are_refused(grammar: str, column: int, words: str) -> None:
    """A token is never taken for its text, and tokens are counted in grammars without recursion only."""
    with pytest.raises(UnsupportedGrammarError) as caught:
        schemagen.compile(GBNF(grammar), BYTES)
    assert words in caught.value.fact
    assert (caught.value.line, caught.value.column) == (1, column)


@pytest.mark.parametrize(
    "grammar",
    [
        "root ::= root",
        'x ::= "b"\nroot ::= "a" root',
        "root ::= a\na ::= b\nb ::= a",
        'root ::= "(" (root | x)+\nx ::= root "a"',
    ],
)
def test_a_start_that_derives_nothing_is_an_error(grammar: str) -> None:
    """The place is that of the rule."""
    with pytest.raises(UnsatisfiableSchemaError, match="no text can be derived from 'root'") as caught:
        schemagen.compile(GBNF(grammar), BYTES)
    assert caught.value.at == f"line {2 if grammar.startswith('x') else 1}, column 1"


NESTED = 'root ::= r\nr ::= "(" r ")" | "x"\n'


@pytest.mark.parametrize(
    ("grammar", "words"),
    [
        ("root ::= " + "(" * 10_000 + '"a"' + ")" * 10_000, f"groups are nested {MAX_NESTING + 1} deep"),
        ("root ::= " + "(" * 10_000, f"groups are nested {MAX_NESTING + 1} deep"),
        ('root ::= "' + "a" * MAX_LENGTH + '"', "a grammar of 1,000,011 characters"),
        ('root ::= "a"{99999999999999999999}', "a repetition counts to 99999999999999999999"),
        ('root ::= "a"{4294967296}', "a repetition counts to 4294967296"),
        (NESTED.replace("::= r\n", "::= r{60000}\n"), "a rule of more than 50,000 symbols"),
        (NESTED.replace("::= r\n", "::= " + "r? " * 20_000 + "\n"), "more than 1,000,000 pairs of symbols"),
    ],
    ids=["closed groups", "open groups", "length", "count", "count of 33 bits", "count of a rule", "optional symbols"],
)
def test_limits(grammar: str, words: str) -> None:
    """What is too large is an error, and soon."""
    with pytest.raises(LimitError, match=words):
        schemagen.compile(GBNF(grammar), BYTES)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("root ::= " + "(" * MAX_NESTING + '"a"' + ")*" * MAX_NESTING, "aaa"),
        ("root ::= " + '("a" | root "b" ' * MAX_NESTING + ")" * MAX_NESTING, "aba"),
        (
            "root ::= r0\n" + "".join(f'r{i} ::= "a" r{i + 1}?\n' for i in range(3000)) + 'r3000 ::= "x"',
            "a" * 3000 + "x",
        ),
        ("root ::= r0\n" + "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(12)) + 'r12 ::= "x"', "x" * 4096),
        ('root ::= ((("a"{1000}){1000}){1000}){0,1000}', ""),
        ("root ::= # # # # # # # # # # # # # # # # # # # # # # # # # # # #\n", ""),
    ],
    ids=["groups", "groups and recursion", "a chain", "doubling", "counts", "comments"],
)
def test_large_grammars_are_read(grammar: str, text: str) -> None:
    """Deep groups, long chains of rules and texts that would double with each rule."""
    assert derives(GBNF(grammar), text)
    assert not derives(GBNF(grammar), text + "y")


def test_a_text_of_more_bytes_than_there_are_atoms() -> None:
    """Texts that double with each rule are not written out."""
    rules = "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(300))
    matcher = schemagen.compile(GBNF(f'root ::= r0\n{rules}r300 ::= "x"'), BYTES).matcher()
    assert matcher.accept_bytes(b"x" * 1000)
    assert not matcher.is_accepting()
    assert matcher.allowed_tokens() == [ord("x")]


def test_what_a_grammar_is() -> None:
    """It is a value: equal, hashable, pickled, printed as its call, and kept in memory."""
    spec = GBNF('root ::= "(" root ")" | "x"')
    assert spec == GBNF(spec.text)
    assert len({spec, GBNF(spec.text)}) == 1
    assert pickle.loads(pickle.dumps(spec)) == spec  # noqa: S301
    assert repr(GBNF("root ::= [a]")) == "GBNF(text='root ::= [a]', start='root')"
    grammar = schemagen.compile(spec, BYTES)
    assert schemagen.compile(GBNF(spec.text), BYTES) is grammar
    assert grammar.spec == spec
    assert grammar.schema is None
    assert grammar.validate("(x)") == "(x)"
    assert grammar.report.entries[0] == Entry("", "gbnf", "enforced")
    again = pickle.loads(pickle.dumps(grammar)).matcher()  # noqa: S301
    assert again.accept_bytes(b"((x))")
    assert again.is_accepting()


def test_the_prompt_holds_the_grammar() -> None:
    """A model that is asked is told the grammar."""
    messages = with_shape([{"role": "user", "content": "Calculate."}], GBNF("root ::= [0-9]+\n"))
    assert messages[-1]["content"].endswith("this grammar derives:\nroot ::= [0-9]+")


def test_what_is_no_text_is_refused_at_once() -> None:
    """A path is not read."""
    with pytest.raises(schemagen.OptionTypeError, match="the text of a GBNF is"):
        GBNF(b"root ::= [a]")  # type: ignore[arg-type]


def test_grammars_without_recursion_are_patterns() -> None:
    """They have a regular expression and pictures of automata; others say that they have none."""
    plain = GBNF('root ::= "a" r*\nr ::= [0-9] | "x"')
    assert schemagen.to_regex(plain) == "a[0-9x]*"
    slow = reference.compile(plain, BYTES)
    assert slow.accept_bytes(b"a0x")
    assert "->" in schemagen.compile(plain, BYTES).draw().mermaid()
    recursive = GBNF('root ::= "(" root ")" | "x"')
    for call in (
        lambda: schemagen.to_regex(recursive),
        lambda: schemagen.compile(recursive, BYTES).draw("automaton"),
    ):
        with pytest.raises(UnsupportedGrammarError, match="is no regular expression"):
            call()

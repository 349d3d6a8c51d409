"""The Lark dialect of llguidance and xgrammar: what each construct derives, and the error of each mistake with its place."""

import itertools
import json
import pickle
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import schemagen
from schemagen.context_free.dialect.common import COMMON
from schemagen.context_free.dialect.rules import Lexer, read_dialect
from schemagen.context_free.simplify import simplified
from schemagen.context_free.syntax import ContextFreeGrammar, Text
from schemagen.errors import (
    GrammarError,
    GrammarSyntaxError,
    LimitError,
    OptionError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
)
from schemagen.grammar.context_free_specs import GrammarText
from schemagen.regex import matches, parse_python, parse_rust
from tests.grammars import BYTES, check_masks_along, derives


def value_of_schema(schema: Any, _layout: object) -> Text:
    """What %json stands for: here a regular expression."""
    return Text(parse_python(schemagen.to_regex(schema)))


@dataclass(frozen=True)
class Dialect(GrammarText):
    """A grammar of the dialect."""

    lexer: Lexer = "longest"

    def rules(self) -> ContextFreeGrammar:
        return read_dialect(self.text, value=value_of_schema, lexer=self.lexer)


class Case(NamedTuple):
    """A grammar, texts that it derives, and texts that it does not."""

    name: str
    grammar: str
    accepted: list[str]
    rejected: list[str]


TOOLS = r"""
start: (foo | bar)* end
end: TEXT
foo_head[lazy]: TEXT "<f"
foo: foo_head "=" /[0-9]+/ ";"
bar_head[suffix="<f"]: TEXT
bar: bar_head "-" ";"
TEXT: /(.|\n)*/
"""
PERMUTATION = """
start: p::0x0
p::_ : "" %if is_ones([0:3])
     | "a" p::set_bit(0) %if bit_clear(0)
     | "b" p::set_bit(1) %if bit_clear(1)
     | "c" p::set_bit(2) %if bit_clear(2)
"""
CASES = [
    Case("a literal", 'start: "abc"', ["abc"], ["", "ab"]),
    Case("escapes of JSON", r'start: "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\x41"', ['"\\/\b\f\n\r\té😀A'], ["n"]),
    Case("a literal in either case", 'start: "aß+"i', ["Aß+", "aß+", "Aẞ+"], ["aa", "aß"]),
    Case("a range", 'start: "a".."c" "ä" .. "ü"', ["aö", "cü"], ["dö", "ay"]),
    Case("a pattern", r"start: /[0-9]+\/\d/", ["12/3"], ["12/", "/3"]),
    Case("flags of a pattern", "start: /a . # x\n/isx", ["A\n", "ax"], ["a . # x"]),
    Case("a dot is no line break", "start: /a.b/", ["axb", "aéb"], ["a\nb"]),
    Case("anchors are the ends of the terminal", "start: /^a$/ /b/", ["ab"], ["a", "a\nb"]),
    Case("rules with signs and priorities", '?start.2: a -> one\n!a: "x" -> two\n | "y"', ["x", "y"], ["xy"]),
    Case("names with dashes, digits and underscores", 'start: a-b _c1 _D\na-b: "x"\n_c1: "y"\n_D: "z"', ["xyz"], ["xy"]),
    Case("comments", 'start: "a" // "b"\n # c\n  | "//" # "d"\n', ["a", "//"], ["ab", "b"]),
    Case("bodies over lines", 'start: ("a"\n "b" |\n "c")\n  | "d"\n\n  | [\n"e"\n] "f"', ["ab", "c", "d", "ef", "f"], ["e", "a"]),
    Case("empty alternatives", 'start: "a" ("b" |) x\nx:', ["ab", "a"], ["b"]),
    Case("repetitions", 'start: "a"? "b"* "c"+ "d"~2 "e"~1..2 "f"{2} "g"{1,} "h"{,1} "i"{1,2}', ["cddeffgi", "abcddeeffgghii"], ["cddefgi", "cddeffgiii"]),
    Case("zero times", 'start: "a"{0} "b"~0..1', ["", "b"], ["a"]),
    Case("left recursion", 'start: start "+" N | N\nN: /[0-9]+/', ["1", "1+22+3"], ["", "1+"]),
    Case("terminals of terminals", 'start: A\nA: B (C | "-") ~ 2\nB: "<"i\nC: /[a-c]/ | "x".."z"', ["<a-", "<zz"], ["<a", "<", "<ad"]),
    Case("imports", "%import common.INT\n%import common.WORD -> W\n%import common (CNAME, \n WS_INLINE)\nstart: INT W WS_INLINE CNAME", ["1a _x9"], ["a1 x", "1ab"]),
    Case("an import under the name of a rule", '%import common.INT -> int\n%import common.WS -> ws\n%ignore ws\nstart: int V int?\nV: "v" int ("." int)~1..2', ["1v2.3", "12 v0.1.2 3"], ["1v2", "1v 2.3"]),
    Case("what is ignored", 'start: "a" B+\nB: "b" "c"\n%ignore / /\n%ignore "_"+', ["abc", "a bc_ _bc ", "a__bc"], [" abc", "ab c"]),
    Case("what is ignored behind nothing", 'start: A b "c"\nA: "a"?\nb: "b"?\n%ignore /_/', ["c", "_c", "a_b_c_"], ["_ac"]),
    Case("an ignored text at the start", '%llguidance {"allow_initial_skip": true}\n%ignore / /\nstart: "a"', ["a", "  a "], ["b"]),
    Case("options of xgrammar", '%grammar_options {"allow_initial_skip": true, "no_forcing": false}\n%ignore / /\nstart: "a"', [" a"], [""]),
    Case("an ignored text once", '%llguidance {"ignore_once": true}\n%ignore /[ ]{1,2}/\nstart: "a" "b"', ["a b", "a  b", "ab"], ["a   b"]),
    Case("the longest match of a terminal", 'start: A "b" | "c"\nA: /[ab]+/', ["c"], ["ab", "abb"]),
    Case("the longest match beside others", 'start: (A | B "!")*\nA: /a+/\nB: /a+b/', ["aa", "aab!", "aab!a"], ["ab", "aab"]),
    Case("the longest match goes back", 'start: N "." N?\nN: /[0-9]+(\\.[0-9]+)?/', ["1.", "1.5.", "1.5.2"], ["1.5"]),
    Case("a word only where it is expected", 'start: "if" N\nN: /[a-z]+/', ["iffy", "ifa"], ["if", "i"]),
    Case("a word and a name at once", 'start: ("if" "!" | N)\nN: /[a-z]+/', ["if", "if!", "iffy"], ["iffy!"]),
    Case("two ways to go on", 'start: A "b" | B "c"\nA: /a+/\nB: /a+b?/', ["abc", "ac"], ["ab"]),
    Case("a loop that begins otherwise", 'start: "ab"* A+\nA: /[ab]/', ["aba", "b", "ba"], ["ab", ""]),
    Case("a pattern that may be empty", 'start: A "b"\nA: /a*/', ["b", "aab"], ["a", ""]),
    Case("the shortest match", 'start: s "b"\ns[lazy]: /.*e/', ["xeb", "eb"], ["xeeb", "xb"]),
    Case("the shortest match is empty", 'start: s "b"\ns[lazy]: /a*/', ["b"], ["ab"]),
    Case("a suffix", 'start: s "b"\ns[suffix="<e>", capture]: /.*/', ["<e>b", "x<e>b", "x<eb<e>b"], ["xb", "<e>x<e>b"]),
    Case("a stop", 'start: s "b"\ns[stop=/[;.]/, stop_capture="end", capture="s"]: /[^b]*/', ["x;b", ".b"], ["x;;b", "xb"]),
    Case("a stop at the end of the text", 'start: s\ns[stop=""]: /[a-z]+/', ["x", "xyz"], ["", "x1"]),
    Case("a stop that is a terminal", 'start: s+\ns[stop=END]: /[a-z]*/\nEND: "." | "!"', ["a.", "a.b!"], ["a", "a.b"]),
    Case("a rule that is a terminal", 'start: s "b"\ns[temperature=0.5]: "a" "c"\n%ignore / /', ["acb", "ac b"], ["a cb"]),
    Case("tools", TOOLS, ["", "x", "x<f=12;y", "<f-;", "a<f-;b<f=1;", "<"], ["<f", "x<f=;", "<f=1", "<f-", "<f<f-;"]),
    Case("what is in all of them", "start: A\nA: /[a-c]+/ & /.{2}/ | /d/ /e/ & /de?/", ["ab", "cc", "de"], ["a", "abc", "d"]),
    Case("what is not", "start: A\nA: /[ab]*/ & ~/(?s:.*)bb(?s:.*)/", ["", "abab"], ["abb", "c"]),
    Case("the complement binds first", 'start: A\nA: ~"a"+ & /[a-b]{1,2}/', ["b", "aa", "ab"], ["a", "aaa"]),
    Case("operators in a rule", 'start: (/[a-c]+/ & ~"ab") "!"', ["c!", "abc!"], ["ab!", "ab"]),
    Case("schemas", 'start: "<" %json {\n  "type": "integer"\n} ">" %json {"enum": [null, "x"]}', ["<12>null", '<0>"x"'], ["<>null", "<1.5>null"]),
    Case("schemas behind a rule that ends with comments", 'start: s+ (";" | V) %json {"const": 1}\ns: "int" | "long"\nV: /[a-z]+/\n%ignore /[ \\n]+/\n%ignore /#[^\\n]*/', ["int;1", "int #\nlong; # ;\n1", "int #\nv 1"], ["int # 1", "int # v 1"]),
    Case("schemas and what is ignored", 'start: "a" %json {"const": 1} "b"\n%ignore / +/', ["a1b", "a 1 b"], [" a1b"]),
    Case("runs of chunks", 'start: %regex {"substring_chunks": ["abc", "de", "fg"]}', ["", "abc", "abcde", "defg"], ["ab", "abcfg"]),
    Case("runs of words", 'start: W "!"\nW: %regex {"substring_words": "foo bar. baz"}', ["foo bar!", ". baz!", "!"], ["fo!", "foo.!"]),
    Case("runs of characters", 'start: %regex {"substring_chars": "abca"}', ["bca", "a", ""], ["ac", "aa"]),
    Case("a grammar within", 'start: %lark { start: "a" b\n b: X "c"\n X: /x*/ } b "e"\nb: "d"', ["acde", "axxcde"], ["ade", "acce"]),
    Case("each grammar ignores its own", 'start: "(" %lark {\n %ignore /_/\n start: "a" "b"\n} ")" "."\n%ignore / /', ["( a_b ) .", "(ab_)."], ["(a b).", "(ab)_."]),
    Case("permutations", PERMUTATION, ["abc", "cab", "bca"], ["", "ab", "aba", "abca"]),
    Case("conditions without a parameter", 'start: "a" %if true | "b" %if not(true) | "c" %if and(true, true)', ["a", "c"], ["b", ""]),
    Case("counters", 'start: n::0\nn::_ : "a" n::incr([0:2]) %if lt(_, 3) | "b" n::decr([0:2]) %if not(is_zeros(_)) | "" %if eq([0:2], 0)', ["", "ab", "aabbab"], ["a", "b", "aaaabbbb"]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_grammar_derives(case: Case) -> None:
    """Each text is read as a whole, or is not."""
    spec = Dialect(case.grammar)
    assert [text for text in case.accepted if not derives(spec, text)] == []
    assert [text for text in case.rejected if derives(spec, text)] == []


ANY = [
    Case("any match of a terminal", 'start: A "b"\nA: /[ab]+/', ["ab", "abb"], ["a"]),
    Case("lazy repetitions are others", 'start: /"(.*?)"/ "!"', ['"a"!', '"a"b"!'], ['"a"']),
    Case("free text with tools", TOOLS, ["x<f=12;y", "<", "a<f-;b<f=1;"], ["<f", "x<f=;", "<f<f-;"]),
    Case("free text with one tool", 'start: tool* /(?:.|\\n)*/\n%ignore / /\ntool: head "="\nhead[stop="<f"]: /.*/s', ["x<f=y", "<"], ["<f", "x<f"]),
    Case("no free text with tools", 'start: tool | T\ntool: head "="\nhead[lazy]: T "<f"\nT: /.*/s', ["<f", "x<f=", "x"], []),
    Case("free text with tools and an end", 'start: tool* T "!"\ntool: head "="\nhead[lazy]: T "<f"\nT: /.*/s', ["<f!", "x<f=!"], ["x"]),
    Case("a loop of tools before other text", 'start: tool* /[^<]*/\ntool: head "="\nhead[suffix="<f"]: /.*/s', ["<f=x", "x<f=<f="], ["<f"]),
    Case("the shortest match", "start: a*\na[lazy]: /[ab]+b/", ["ab", "abab", "aab", "bb"], ["abb", "bbb"]),
    Case("a lazy terminal beside another", 'start: a | b\na[lazy]: /x/\nb: "xy"', ["x", "xy"], ["y", "xyy"]),
    Case("a lazy terminal ends itself", 'start: a "1" | b "2"\na[lazy]: /x/\nb: /xy?/', ["x1", "x2", "xy2"], ["xy1", "x"]),
    Case("a suffix beside another", 'start: a | b\na[suffix="!"]: /[a-z]*/\nb: /[a-z]!!/', ["!", "a!", "a!!"], ["!!", "a"]),
    Case("a stop beside another", 'start: a "1" | b "2"\na[stop="!"]: /[a-z!]*/\nb: /[a-z]!!?/', ["a!1", "a!2", "a!!2"], ["a!!1"]),
    Case("lazy terminals beside each other", 'start: a "b" | c "b"\na[lazy]: /.*e/\nc[lazy]: /.*ee/', ["xeb", "xeeb"], ["xeeeb"]),
    Case("what is ignored", 'start: A "b"\nA: /a+/\n%ignore /a/', ["aab"], ["b"]),
    Case("a bound", 'start: a ">"\na[max_chars=2]: /[^>]*/', [">", "a>", "é😀>"], ["abc>", ">>"]),
    Case("a bound for each call", 'start: a "-" a\na[max_chars=2]: "x"*', ["-", "xx-xx"], ["xxx-", "x-xxx"]),
    Case("an empty head of a tool", 'start: tool* T\ntool: head "x"\nhead[lazy]: ""\nT: /y*/', ["xxy", ""], ["yx"]),
    Case("a label that no text reaches", 'start: x | "z"\nx: b N\nb[capture]: "q" "r"\nN: "a" & "b"', ["z"], ["qr"]),
    Case("a bound of nothing", 'start: a ">"\na[max_chars=0]: /x*/', [">"], ["x>"]),
    Case("a bound of a lazy rule", 'start: a ">"\na[max_chars=3, lazy]: /[a-z]*;/', [";>", "ab;>"], ["abc;>", ";;>"]),
    Case("a bound with a stop", 'start: a ">"\na[max_chars=3, stop="bb"]: /[a-z]*/', ["bb>", "abb>"], ["aabb>", "aaa>", "a>"]),
    Case("a bound of a rule that is a terminal", 'start: a ">"\na[temperature=0.5, max_chars=2]: /x*/', ["xx>"], ["xxx>"]),
    Case("a bound of rules", 'start: a ">"\na[max_chars=4]: b+\nb: "x" "y" | "z" c?\nc: "-"', ["xyxy>", "zz-z>"], ["xyxyz>", ">", "z-z-z>"]),
    Case("a bound of rules that call themselves at their end", 'start: a ">"\na[max_chars=4]: b\nb: "x" b | c\nc: "y" b?', ["y>", "xxxy>", "xyxy>"], ["x>", "xxxxy>"]),
    Case("a bound counts what is ignored", 'start: a ">"\na[max_chars=3]: "x" "y"\n%ignore " "', ["xy>", "x y>", "xy >"], ["x  y>", "x y >"]),
    Case("a bound of lazy rules", 'start: a ">"\na[max_chars=5]: b*\nb[lazy]: /[a-z;]*;/', [">", "a;b;>", ";;;>"], ["ab;cd;>", "a>"]),
    Case("bounds inside one another", 'start: a ">"\na[max_chars=3]: b /z*/\nb[max_chars=2]: /x*/', ["xxz>", "zzz>"], ["xxx>", "xxzz>"]),
    Case("classes of patterns are ASCII", r"start: /\w\d\W\D/", ["a1é\u0661", "_0-x"], ["é1--", "a\u0661--", "a1a-"]),
    Case("blanks of patterns", r"start: /\s\S/", ["\u00a0a", "\vé"], ["aa", "  "]),
    Case("a dot is no line feed", "start: /a.[.]/", ["a\r.", "a\u2028.", "aé."], ["a\n.", "aaa"]),
    Case("flags of patterns", r"start: /a.\./s /[^b]/i /c/u", ["a\n.ac", "aa.Cc"], ["a\n.Bc", "aaaac"]),
    Case("escapes of patterns", r"start: /\cA\0[\b]\u{1F600}\x41\/\_/", ["\x01\0\b\U0001F600A/_"], ["cA0b"]),
    Case("sets of patterns", r"start: /[^][[a][a&&b][\]\^-]/", ["\n[&-", "xab]", "aab^"], ["x]ab", "aac]"]),
    Case("anchors are the ends of the terminal", "start: /^a|b$/ /c/", ["ac", "bc"], ["c", "abc"]),
]  # fmt: skip


@pytest.mark.parametrize("case", ANY, ids=lambda case: case.name)
def test_what_a_grammar_derives_without_the_longest_match(case: Case) -> None:
    """A terminal takes any of its texts."""
    spec = Dialect(case.grammar, lexer="any")
    assert [text for text in case.accepted if not derives(spec, text)] == []
    assert [text for text in case.rejected if derives(spec, text)] == []


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('start: e\ne: e "+" e | "(" e ")" | N\nN: /[0-9]+/\n%ignore /-+/', "(1+--21)"),
        (TOOLS, "ab<f=1;<f-;é"),
        ('start: (A | B "!")*\nA: /a+/\nB: /a+b/', "aab!a"),
        (PERMUTATION, "cab"),
    ],
)
def test_masks_are_exact(grammar: str, text: str) -> None:
    """Each mask along a text is what is found by trying every token."""
    check_masks_along(Dialect(grammar), text)


def lexed(text: str, kinds: dict[str, tuple[str, bool]]) -> bool:
    """Whether a text is cut into terminals that are all expected at once, by the definition: the shortest lazy or the longest."""
    at = 0
    while at < len(text):
        lazy = [
            end
            for pattern, is_lazy in kinds.values()
            if is_lazy
            for end in range(at + 1, len(text) + 1)
            if re.fullmatch(pattern, text[at:end])
        ]
        before = min(lazy, default=len(text) + 1)
        longest = [
            end
            for pattern, is_lazy in kinds.values()
            if not is_lazy
            for end in range(at + 1, min(before, len(text) + 1))
            if re.fullmatch(pattern, text[at:end])
        ]
        if not lazy and not longest:
            return False
        at = before if lazy else max(longest)
    return True


def cut(text: str, kinds: dict[str, tuple[str, bool]]) -> bool:
    """Whether there is any way to cut a text into terminals, of which a lazy one ends itself at its first match."""
    ways = {0}
    for at in range(len(text)):
        for pattern, is_lazy in kinds.values() if at in ways else ():
            ends = [end for end in range(at + 1, len(text) + 1) if re.fullmatch(pattern, text[at:end])]
            ways |= {*(ends[:1] if is_lazy else ends)}
    return len(text) in ways


@pytest.mark.parametrize(("lexer", "reads"), [("longest", lexed), ("any", cut)])
@pytest.mark.parametrize(
    "kinds",
    [
        {"A": ("aa", False), "B": ("aab|b", False)},
        {"A": ("a|ab", False), "B": ("b+c", False), "C": ("abb", False)},
        {"A": ("[ab]+", False), "s": ("c", True)},
        {"A": ("[abc]+", False), "s": ("[ab]*c", True)},
        {"A": ("ab|b", False), "s": ("aa?b", True), "t": ("a|bc", True)},
        {"A": ("ab", False), "B": ("abc", False), "C": ("b", False), "s": ("ab", True), "t": ("ca", True)},
        {"A": ("ab", False), "B": ("a", False), "C": ("abcb", False), "s": ("b", True)},
        {"A": ("abc", False), "B": ("ca", False), "s": ("a", True), "t": ("ca*b", True)},
        {"A": ("a*b", False), "B": ("a", False), "C": ("ab+c", False)},
    ],
)
def test_terminals_that_are_expected_at_once(
    kinds: dict[str, tuple[str, bool]], lexer: Lexer, reads: Callable[[str, dict[str, tuple[str, bool]]], bool]
) -> None:
    """Of all texts up to five characters those are read that can be cut up by the definition."""
    rules = "".join(f"{name}{'[lazy]' * lazy}: /{pattern}/\n" for name, (pattern, lazy) in kinds.items())
    grammar = schemagen.compile(Dialect(f"start: ({' | '.join(kinds)})*\n{rules}", lexer=lexer), BYTES)
    for length in range(6):
        for letters in itertools.product("abc", repeat=length):
            text = "".join(letters)
            matcher = grammar.matcher()
            read = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            assert read == reads(text, kinds), text


# --- the library -----------------------------------------------------------------------------------------------------

#: Characters that the terminals of the library are about.
SAMPLES = {
    "numbers": ("1.e+-", 6),
    "strings": ('"\\a\n', 6),
    "comments": ("/*#-\n", 6),
    "names": ("aZ_9 \t", 4),
    "breaks": ("\r\n\f ", 5),
}


@pytest.mark.parametrize("name", COMMON)
def test_terminals_of_the_library(name: str) -> None:
    """Each terminal takes of a text what lark's own takes."""
    lark = pytest.importorskip("lark")
    grammar = f"start: {name}\n%import common.{name}"
    (terminal,) = lark.Lark(grammar).terminals
    theirs, ours = re.compile(terminal.pattern.to_regexp()), parse_rust(COMMON[name], search=False)
    for letters, longest in SAMPLES.values():
        for length in range(1, longest):
            for text in map("".join, itertools.product(letters, repeat=length)):
                found = theirs.match(text)
                ends = [end for end in range(len(text) + 1) if matches(ours, text[:end])]
                assert max(ends, default=None) == (found and found.end()), text


def test_runs_of_chunks() -> None:
    """All runs are found, and nothing else."""
    chunks = ["a", "ab", "", "b", "a", "c", "ab"]
    grammar = f'start: %regex {{"substring_chunks": {json.dumps(chunks)}}}'
    simple = simplified(read_dialect(grammar, value=value_of_schema, lexer="any"))
    body = simple.rules[simple.start]
    assert isinstance(body, Text)
    language = body.regex
    expected = {"".join(chunks[i:j]) for i in range(len(chunks) + 1) for j in range(i, len(chunks) + 1)}
    found = {"".join(t) for n in range(9) for t in itertools.product("abc", repeat=n) if matches(language, "".join(t))}
    assert found == {each for each in expected if len(each) < 9}


# --- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "parameter", "result"),
    [
        ("7", 1, 7),
        ("0xFf", 1, 255),
        ("_", 9, 9),
        ("set_bit(3)", 1, 9),
        ("clear_bit(0)", 9, 8),
        ("bit_and(6)", 3, 2),
        ("bit_or( 6 )", 3, 7),
        ("incr([1:3])", 3, 5),
        ("incr([1:3])", 6, 6),
        ("decr([1:3])", 4, 2),
        ("decr([1:3])", 1, 1),
        ("incr(_)", 2**64 - 1, 2**64 - 1),
    ],
)
def test_functions_of_a_parameter(function: str, parameter: int, result: int) -> None:
    """Each function is what llguidance's page says."""
    rules = f'b::_: "yes" %if eq(_, {result}) | "no" %if ne(_, {result})'
    spec = Dialect(f"start: a::{parameter}\na::_: b::{function}\n{rules}")
    assert derives(spec, "yes")
    assert not derives(spec, "no")


@pytest.mark.parametrize(
    ("condition", "those_that_hold"),
    [
        ("true", {0, 1, 2, 3, 4, 5, 6, 7}),
        ("true()", {0, 1, 2, 3, 4, 5, 6, 7}),
        ("bit_clear(1)", {0, 1, 4, 5}),
        ("bit_set(1)", {2, 3, 6, 7}),
        ("is_ones([0:2])", {3, 7}),
        ("is_zeros([1:3])", {0, 1}),
        ("eq([1:3], 2)", {4, 5}),
        ("ne(_, 2)", {0, 1, 3, 4, 5, 6, 7}),
        ("lt(_, 3)", {0, 1, 2}),
        ("le(_, 3)", {0, 1, 2, 3}),
        ("gt([0:2], 2)", {3, 7}),
        ("ge([0:2], 2)", {2, 3, 6, 7}),
        ("bit_count_eq(_, 2)", {3, 5, 6}),
        ("bit_count_ne(_, 1)", {0, 3, 5, 6, 7}),
        ("bit_count_lt(_, 1)", {0}),
        ("bit_count_le(_, 1)", {0, 1, 2, 4}),
        ("bit_count_gt(_, 2)", {7}),
        ("bit_count_ge(_, 2)", {3, 5, 6, 7}),
        ("and(bit_set(0), bit_set(1))", {3, 7}),
        ("or(bit_set(0), not(bit_set(1)))", {0, 1, 3, 4, 5, 7}),
    ],
)
def test_conditions_on_a_parameter(condition: str, those_that_hold: set[int]) -> None:
    """Each condition is what llguidance's page says."""
    rule = f'a::_: "yes" %if {condition} | "no" %if not({condition})'
    specs = [Dialect(f"start: a::{parameter}\n{rule}") for parameter in range(8)]
    assert {parameter for parameter, spec in enumerate(specs) if derives(spec, "yes")} == those_that_hold
    assert all(derives(spec, "yes") != derives(spec, "no") for spec in specs)


# --- errors ----------------------------------------------------------------------------------------------------------

ERRORS: list[tuple[str, type[GrammarError], int, int, str]] = [
    ('start "a"', GrammarSyntaxError, 1, 7, "':' is expected"),
    ('start: "a', GrammarSyntaxError, 1, 8, "never closed"),
    (r'start: "\q"', GrammarSyntaxError, 1, 9, "escape"),
    (r'start: "\ud800"', GrammarSyntaxError, 1, 9, "not a character"),
    ("start: /a", GrammarSyntaxError, 1, 8, "never closed"),
    ("start: /a(b/", GrammarSyntaxError, 1, 10, "cannot be read"),
    ("start: /a(b/i", GrammarSyntaxError, 1, 10, "cannot be read"),
    ("start: /a/l", GrammarSyntaxError, 1, 8, "flag 'l'"),
    ("start: /ab+?c/", UnsupportedGrammarError, 1, 11, "lazy repetition"),
    (r"start: /[?]\bab/", UnsupportedGrammarError, 1, 12, "word boundary"),
    ("start: /a(?=b)/", UnsupportedGrammarError, 1, 10, "look-around"),
    ('start: ("a"', GrammarSyntaxError, 1, 8, "never closed"),
    ('start: "a")', GrammarSyntaxError, 1, 11, "stands where"),
    ('start: ["a")', GrammarSyntaxError, 1, 8, "never closed"),
    ('start: "b".."a"', GrammarSyntaxError, 1, 8, "range"),
    ('start: "a".."bc"', GrammarSyntaxError, 1, 8, "range"),
    ('start: "a"{2,1}', GrammarSyntaxError, 1, 11, "at least 2"),
    ('start: "a"{x}', GrammarSyntaxError, 1, 11, "cannot be read"),
    ('start: "a"**', GrammarSyntaxError, 1, 12, "stands where"),
    ("start: item\nitems: /a/", GrammarSyntaxError, 1, 8, "'item' is not defined"),
    ("start: INT", GrammarSyntaxError, 1, 8, "'INT' is not defined"),
    ("start: A\nA: b\nb: /x/", GrammarSyntaxError, 2, 4, "the rule 'b'"),
    ("start: A\nA: B\nB: /x/ A", GrammarSyntaxError, 3, 8, "calls itself"),
    ('start: "a"\nstart: "b"', GrammarSyntaxError, 2, 1, "defined twice"),
    ("%import common.INT\nINT: /x/\nstart: INT", GrammarSyntaxError, 2, 1, "defined twice"),
    ("%import common.NOPE", GrammarSyntaxError, 1, 16, "NOPE"),
    ("%import common.INT -> int\nint: /x/", GrammarSyntaxError, 2, 1, "defined twice"),
    ("%import common.INT -> 1", GrammarSyntaxError, 1, 23, "the name of a terminal"),
    ("%import .other.X", GrammarSyntaxError, 1, 9, "library"),
    ("%import python.NAME", UnsupportedGrammarError, 1, 9, "import from"),
    ("root: /a/", GrammarSyntaxError, 1, 1, "no rule 'start'"),
    ("", GrammarSyntaxError, 1, 1, "no rule 'start'"),
    ("%declare X", UnsupportedGrammarError, 1, 1, "%declare"),
    ("start: /a/\n%override start: /b/", UnsupportedGrammarError, 2, 1, "%override"),
    ("start: /a/\n%extend start: /b/", UnsupportedGrammarError, 2, 1, "%extend"),
    ("%nope", GrammarSyntaxError, 1, 1, "not known"),
    ("start: %nope {}", GrammarSyntaxError, 1, 8, "within a rule"),
    ("start: x{/a/}\nx{p}: p", UnsupportedGrammarError, 1, 9, "template"),
    ("x{p}: p", UnsupportedGrammarError, 1, 1, "template"),
    ("start: A\nA.2: /a/", UnsupportedGrammarError, 2, 2, "priority"),
    ("start[lazi]: /a/", GrammarSyntaxError, 1, 7, "'lazi'"),
    ("start[lazy=1]: /a/", GrammarSyntaxError, 1, 7, "'lazy'"),
    ("start[lazy stop]: /a/", GrammarSyntaxError, 1, 12, "',' or ']'"),
    ("start[max_tokens=x]: /a/", GrammarSyntaxError, 1, 18, "a number of tokens"),
    ("start[max_tokens=3]: a\na: /a/", UnsupportedGrammarError, 1, 1, "max_tokens=3 of the rule 'start'"),
    ("start[max_chars=3]: /a/", GrammarSyntaxError, 1, 7, "'max_chars' is not known in the dialect of llguidance"),
    ("start[max_chars=x]: /a/", GrammarSyntaxError, 1, 17, "a number of characters"),
    ("start[max_chars]: /a/", GrammarSyntaxError, 1, 7, "'max_chars' is not known"),
    ("start[capture=x]: /a/", GrammarSyntaxError, 1, 7, "not a string"),
    ('start[capture=""]: /a/', GrammarSyntaxError, 1, 7, "'capture' is empty"),
    ('start[stop="a", stop_capture=""]: /a/', GrammarSyntaxError, 1, 17, "'stop_capture' is empty"),
    ("start[capture, capture]: /a/", GrammarSyntaxError, 1, 16, "'capture' is given twice"),
    ('start[capture, capture="a"]: /a/', GrammarSyntaxError, 1, 16, "'capture' is given twice"),
    ("start[temperature=1, temperature=1]: /a/", GrammarSyntaxError, 1, 22, "'temperature' is given twice"),
    ("start[temperature=-0.1]: /a/", GrammarSyntaxError, 1, 19, "temperature=-0.1"),
    ("start[temperature=1e999]: /a/", GrammarSyntaxError, 1, 19, "temperature=1e999"),
    ('start[suffix=""]: /a/', GrammarSyntaxError, 1, 14, 'suffix=""'),
    ('start[stop_capture="x"]: /a/', GrammarSyntaxError, 1, 7, "stop_capture= without stop="),
    ('start: BAR\nBAR: "b" %if and(true,true)', GrammarSyntaxError, 2, 14, "a condition in a terminal"),
    ('start: b\nb[lazy]: "b" %if true', GrammarSyntaxError, 2, 18, "a condition in a terminal, or in a rule"),
    ('start[stop="a", suffix="b"]: /a/', GrammarSyntaxError, 1, 17, "two of"),
    ("A[lazy]: /a/", GrammarSyntaxError, 1, 1, "attributes"),
    ("start[lazy]: x\nx: /a/", GrammarSyntaxError, 1, 14, "the rule 'x'"),
    ("start[lazy]: %json {}", GrammarSyntaxError, 1, 14, "%json"),
    ("start[lazy]: %lark {start: /a/}", GrammarSyntaxError, 1, 14, "%lark"),
    ("start: A\nA: <|x|>", GrammarSyntaxError, 2, 4, "a token"),
    ("start: /a/ & <|x|>", GrammarSyntaxError, 1, 14, "a token"),
    ("start[lazy]: /a/ <|x|>", GrammarSyntaxError, 1, 18, "a token"),
    ("start: <[]>", GrammarSyntaxError, 1, 8, "not a list of ids"),
    ("start: <[1 2]>", GrammarSyntaxError, 1, 8, "a symbol"),
    ("start: <[1,x]>", GrammarSyntaxError, 1, 8, "not a list of ids"),
    ("start: <[1]", GrammarSyntaxError, 1, 8, "a symbol"),
    ("start: /a/ <[3-1]>", GrammarSyntaxError, 1, 12, "the ids 3-1"),
    ("start: <[*,1]>", GrammarSyntaxError, 1, 8, "not a list of ids"),
    ("start: <[^*]>", GrammarSyntaxError, 1, 8, "not a list of ids"),
    ("start: <[^]>", GrammarSyntaxError, 1, 8, "not a list of ids"),
    ("start: /a/ <[^3-1]>", GrammarSyntaxError, 1, 12, "the ids 3-1"),
    ("start: @other", GrammarSyntaxError, 1, 8, "the grammar @other is not defined"),
    ("start: A\nA: @other", GrammarSyntaxError, 2, 4, "@name in a terminal"),
    ("start[lazy]: @other", GrammarSyntaxError, 1, 14, "@name in a terminal, or in a rule that is one"),
    ("start: %json [1]", GrammarSyntaxError, 1, 8, "%json"),
    ('start: %json {"a" 1}', GrammarSyntaxError, 1, 19, "no JSON"),
    ('start: %json {"a": NaN}', GrammarSyntaxError, 1, 14, "NaN"),
    ('start: %regex {"x": 1}', GrammarSyntaxError, 1, 8, "%regex"),
    ('start: %lark { start: "a"', GrammarSyntaxError, 1, 8, "never closed"),
    ('start: %lark { a: "a" }', GrammarSyntaxError, 1, 15, "no rule 'start'"),
    ('start: "a" }', GrammarSyntaxError, 1, 12, "stands where"),
    ('%llguidance {"skip_repetition": "once"}', GrammarSyntaxError, 1, 12, "'skip_repetition'"),
    ('%llguidance {"ignore_once": 1}', GrammarSyntaxError, 1, 12, "'ignore_once'"),
    ('%llguidance {"nope": true}', GrammarSyntaxError, 1, 12, "'nope'"),
    ("%llguidance []", GrammarSyntaxError, 1, 12, "object"),
    ('%llguidance {"allow_invalid_utf8": true}', UnsupportedGrammarError, 1, 12, "allow_invalid_utf8"),
    ('start: p::0\np: "a"', GrammarSyntaxError, 1, 8, "no parameter"),
    ('start: p\np::_ : "a"', GrammarSyntaxError, 1, 8, "needs a parameter"),
    ('start: p::_\np::_ : "a"', GrammarSyntaxError, 1, 8, "without one"),
    ('start: "a" %if bit_set(0)', GrammarSyntaxError, 1, 16, "without one"),
    ('start: "a" %if or(true, bit_set(0))', GrammarSyntaxError, 1, 16, "without one"),
    ('start: p::0\np::_ : "a" %if nope(0)', GrammarSyntaxError, 2, 16, "'nope'"),
    ('start: p::0\np::_ : "a" %if eq([2:1], 0)', GrammarSyntaxError, 2, 19, "bits"),
    ('start: p::0\np::_ : "a" %if bit_set(64)', GrammarSyntaxError, 2, 24, "bit 64"),
    ("start: p::18446744073709551616\np::_ : ", GrammarSyntaxError, 1, 11, "too large"),
]  # fmt: skip


@pytest.mark.parametrize(("grammar", "kind", "line", "column", "fact"), ERRORS, ids=[each[0] for each in ERRORS])
def test_mistakes(grammar: str, kind: type[GrammarError], line: int, column: int, fact: str) -> None:
    """Each mistake is told with its place and a way out."""
    with pytest.raises(kind) as caught:
        Dialect(grammar).rules()
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert fact in caught.value.fact


GUIDANCE_ERRORS = [
    ("[]", GrammarSyntaxError, "x-guidance is not an object"),
    ('{"whitespace": 1}', GrammarSyntaxError, "the option 'whitespace' of x-guidance is not known"),
    ('{"whitespace_flexible": 0}', GrammarSyntaxError, "the option 'whitespace_flexible' of x-guidance is 0"),
    ('{"key_separator": "="}', GrammarSyntaxError, "the option 'key_separator' of x-guidance is '='"),
    ('{"item_separator": ", "}', UnsupportedGrammarError, "the option 'item_separator' of x-guidance"),
    ('{"whitespace_pattern": " ?"}', UnsupportedGrammarError, "the option 'whitespace_pattern' of x-guidance"),
    ('{"coerce_one_of": true}', UnsupportedGrammarError, "the option 'coerce_one_of' of x-guidance"),
    ('{"lenient": true}', UnsupportedGrammarError, "the option 'lenient' of x-guidance"),
    ('{"json_allowed_escapes": "n"}', UnsupportedGrammarError, "the option 'json_allowed_escapes' of x-guidance"),
    (
        '{"json_allow_general_unicode_escapes": false}',
        UnsupportedGrammarError,
        "the option 'json_allow_general_unicode_escapes' of x-guidance",
    ),
]


@pytest.mark.parametrize(("options", "kind", "fact"), GUIDANCE_ERRORS, ids=[each[0] for each in GUIDANCE_ERRORS])
@pytest.mark.parametrize("dialect", ["llguidance", "xgrammar"])
def test_options_of_llguidance_that_are_refused(
    dialect: Any, options: str, kind: type[GrammarError], fact: str
) -> None:
    """Each by its name and place."""
    with pytest.raises(kind) as caught:
        schemagen.Lark(f'start: "<" %json {{"x-guidance": {options}}}', dialect=dialect).rules()
    assert (caught.value.line, caught.value.column) == (1, 12)
    assert fact in caught.value.fact


@pytest.mark.parametrize(
    ("options", "accepted", "rejected"),
    [
        ({"whitespace_flexible": False}, ['{"a":[1,2]}'], ['{"a": [1,2]}', '{"a":[1, 2]}']),
        ({"whitespace_flexible": False, "item_separator": ", "}, ['{"a":[1, 2]}'], ['{"a":[1,2]}']),
        ({"whitespace_flexible": False, "key_separator": ": "}, ['{"a": [1,2]}'], ['{"a":[1,2]}', '{"a": [1, 2]}']),
        ({"whitespace_flexible": True}, ['{\n"a" :[1 ,  2]}', '{"a":[1]}'], ['{"a":[1]} ', ' {"a":[1]}']),
        ({"coerce_one_of": False, "lenient": False, "item_separator": ","}, ['{"a": [1, 2]}'], ['{"a":[1 , 2]}']),
    ],
)
def test_options_of_llguidance_that_are_kept(options: dict[str, Any], accepted: list[str], rejected: list[str]) -> None:
    """Those of the layout; without them it is that of the compilation."""
    schema = {"type": "object", "required": ["a"], "additionalProperties": False}
    schema["properties"] = {"a": {"type": "array", "items": {"type": "integer"}}}
    spec = schemagen.Lark(f"start: %json {json.dumps({**schema, 'x-guidance': options})}", dialect="llguidance")
    assert [text for text in accepted if not derives(spec, text)] == []
    assert [text for text in rejected if derives(spec, text)] == []


def test_terminals_whose_names_differ_after_a_nul() -> None:
    """A schema in the grammar takes the terminals through Python."""
    spec = schemagen.Lark('start: (/a\0b+/ | /a\0c+/) %json {"const": 1}', dialect="llguidance")
    assert [text for text in ["a\0bb1", "a\0c1", "a\0d1", "a1"] if derives(spec, text)] == ["a\0bb1", "a\0c1"]
    assert list(spec.rules().terminals) == ["/a\0b+/", "/a\0c+/"]


@pytest.mark.parametrize("dialect", ["llguidance", "xgrammar"])
def test_any_whitespace_is_inside_the_value(dialect: Any) -> None:
    """As in both peers: around it, the grammar says what there may be."""
    text = 'start: "<" %json {"type": "array", "items": {"type": "integer"}} ">"'
    grammar = schemagen.compile(schemagen.Lark(text, dialect=dialect), BYTES, whitespace="any")
    for text, is_accepted in [("<[ 1\n,2 ]>", True), ("<[]>", True), ("< [1]>", False), ("<[1] >", False)]:
        matcher = grammar.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) == is_accepted, text


# --- grammars that refer to others -----------------------------------------------------------------------------------


def in_json(**others: Any) -> str:
    """The JSON form of a grammar that refers to others."""
    bodies = [{"lark_grammar": 'start: "<" @f ">"\n%ignore / /'}]
    for name, body in others.items():
        bodies.append({"name": name, "lark_grammar" if isinstance(body, str) else "json_schema": body})
    return json.dumps({"grammars": bodies, "max_tokens": None})


#: What ``@f`` and ``@g`` stand for, texts of ``"<" @f ">"`` with ignored blanks, and texts that are none.
REFERENCES: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"f": {"type": "integer", "x-guidance": {"whitespace_flexible": False}}}, ["<12>", "<0 >"], ["<>", "<a>", "<1 2>"]),
    ({"f": 'start: "x" "y"'}, ["<xy>", "< xy >"], ["<x y>", "<x>"]),
    ({"f": 'start: "x" "y"\n%ignore /_/'}, ["<x_y>", "<x__y >"], ["<x y>", "<x_y_"]),
    ({"f": 'start: "(" @f ")" | "x"'}, ["<x>", "<((x))>"], ["<(x>", "<>"]),
    ({"f": 'start: "(" @g ")" | "x"', "g": 'start: "[" @f "]" | @g ";" | "y"'}, ["<([(y;)];;)>", "<x>"], ["<[x]>", "<y>"]),
    ({"f": "start: @g @g", "g": {"enum": [1, "a"]}}, ['<1"a">', '<"a"1>'], ["<1>", '<"a">', "<111>"]),
]  # fmt: skip


@pytest.mark.parametrize("dialect", ["llguidance", "xgrammar"])
@pytest.mark.parametrize(("others", "accepted", "rejected"), REFERENCES)
def test_grammars_that_refer_to_others(
    others: dict[str, Any], accepted: list[str], rejected: list[str], dialect: Any
) -> None:
    """By names, to texts and schemas, themselves among them."""
    spec = schemagen.Lark('start: "<" @f ">"\n%ignore / /', dialect=dialect, grammars=others)
    assert [text for text in accepted if not derives(spec, text)] == []
    assert [text for text in rejected if derives(spec, text)] == []
    check_masks_along(spec, accepted[0])
    if dialect == "llguidance":
        written = schemagen.Lark(in_json(**others), dialect="llguidance")
        assert [derives(written, text) for text in (*accepted, *rejected)] == [True] * len(accepted) + [False] * len(
            rejected
        )


@pytest.mark.parametrize(("others", "accepted", "rejected"), REFERENCES)
def test_references_as_llguidance_reads_them(others: dict[str, Any], accepted: list[str], rejected: list[str]) -> None:
    """In its JSON form; there nothing is ignored before another grammar, nor after the text."""
    peer = pytest.importorskip("llguidance")

    class Tokens:
        def __init__(self) -> None:
            self.eos_token_id, self.bos_token_id, self.special_token_ids = 256, None, [256]
            self.tokens = [*(bytes([byte]) for byte in range(256)), b"<eos>"]

        def __call__(self, text: str | bytes) -> list[int]:
            return list(text.encode() if isinstance(text, str) else text)

    tokenizer = peer.LLTokenizer(peer.TokenizerWrapper(Tokens()))
    for text in (*accepted, *rejected):
        matcher = peer.LLMatcher(tokenizer, in_json(**others), log_level=0)
        is_read = all(matcher.consume_token(byte) for byte in text.encode()) and matcher.is_accepting()
        assert is_read == (text in accepted and not text.startswith("< ")), text


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (schemagen.Regex("[a-z]+"), "<abc>"),
        (schemagen.Choice("yes", "no"), "<no>"),
        (["yes", "no"], "<yes>"),
        (list[int], "<[1, 2]>"),
        (schemagen.GBNF('root ::= "(" root ")" | "x"'), "<((x))>"),
        (schemagen.Lark('start: @f "!"', dialect="xgrammar", grammars={"f": bool}), "<true!>"),
    ],
)
def test_references_to_other_specs(other: Any, text: str) -> None:
    """As wherever a spec is embedded."""
    spec = schemagen.Lark('start: "<" @f ">"', dialect="llguidance", grammars={"f": other})
    assert derives(spec, text)
    assert not derives(spec, "<>")
    assert hash(spec) == hash(pickle.loads(pickle.dumps(spec)))  # noqa: S301 - its own


def test_mistakes_in_a_grammar_that_is_referred_to_name_it() -> None:
    """Line and column are those in its text."""
    for other, place, fact in (
        ('start: "x"\n  | y', (2, 5), "the rule 'y' is not defined, in the grammar @f"),
        ('root: "x"', (1, 1), "no rule 'start' to start from, in the grammar @f"),
        ("start: @h", (1, 8), "the grammar @h is not defined, in the grammar @f"),
    ):
        with pytest.raises(GrammarError) as caught:
            schemagen.Lark("start: @f", dialect="llguidance", grammars={"f": other}).rules()
        assert fact in caught.value.fact
        assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("text", "at", "fact"),
    [
        ('{"grammars": ', "", "is no JSON"),
        ("{}", "/grammars", "without a list of grammars"),
        ('{"grammars": []}', "/grammars", "without a list of grammars"),
        ('{"grammars": [1]}', "/grammars/0", "1 where an object is expected"),
        ('{"grammars": [{"rx": "a"}]}', "/grammars/0/rx", "the key 'rx' of a grammar is not known"),
        ('{"grammars": [{"name": "a"}]}', "/grammars/0", "not one text of Lark or one JSON Schema"),
        ('{"grammars": [{"json_schema": 1}]}', "/grammars/0", "not one text of Lark or one JSON Schema"),
        ('{"grammars": [{"json_schema": {}, "lark_grammar": ""}]}', "/grammars/0", "not one text of Lark"),
        ('{"grammars": [{"json_schema": {}, "max_tokens": 3}]}', "/grammars/0/max_tokens", "the key 'max_tokens'"),
        ('{"grammars": [{"json_schema": {}, "name": "a b"}]}', "/grammars/0/name", "the name 'a b'"),
        (
            '{"grammars": [{"json_schema": {}, "name": "a"}, {"json_schema": {}, "name": "a"}]}',
            "/grammars/1/name",
            "'a' is defined twice",
        ),
    ],
)
def test_mistakes_in_the_json_form(text: str, at: str, fact: str) -> None:
    """Each with its JSON pointer."""
    with pytest.raises(GrammarError) as caught:
        schemagen.Lark(text, dialect="llguidance").rules()
    assert fact in caught.value.fact
    assert caught.value.at == at


def test_a_schema_alone_in_the_json_form() -> None:
    """The first grammar is the text."""
    spec = schemagen.Lark('{"grammars": [{"json_schema": {"type": "integer"}}]}', dialect="llguidance")
    assert derives(spec, "12")
    assert not derives(spec, "")


def test_names_of_grammars_are_checked_at_once() -> None:
    """Those that cannot be written, and those that are defined twice."""
    with pytest.raises(OptionError, match="lark has no @name"):
        schemagen.Lark("start: /a/", grammars={"f": int})
    with pytest.raises(OptionError, match="it is no name"):
        schemagen.Lark("start: @f", dialect="llguidance", grammars={"a b": int})
    with pytest.raises(OptionError, match="give a dict"):
        schemagen.Lark("start: @f", dialect="llguidance", grammars=[int])  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="the grammar defines it, too"):
        schemagen.Lark(in_json(f={}), dialect="llguidance", grammars={"f": int}).rules()


ANY_ERRORS = [
    ('start[stop=""]: /a/', GrammarSyntaxError, 12, 'stop=""'),
    ("start[max_chars=2.5]: /a/", GrammarSyntaxError, 17, "a number of characters"),
    ("start[max_chars=-1]: /a/", GrammarSyntaxError, 17, "a number of characters"),
    ("start[max_chars=1, max_chars=1]: /a/", GrammarSyntaxError, 20, "'max_chars' is given twice"),
    (
        'start[max_chars=9]: "(" start ")" | /a/',
        UnsupportedGrammarError,
        7,
        "'start' with max_chars=9, which is not a regular",
    ),
    ("start[max_chars=9]: <|x|>", UnsupportedGrammarError, 7, "'start' with max_chars=9, which is not a regular"),
    ("start[lazy, max_chars=9]: /a/ <|x|>", UnsupportedGrammarError, 13, "max_chars=9, which ends with a token"),
    (r"start: /a\b/", UnsupportedGrammarError, 10, "word boundary"),
    ("start: /a(?=b)/", UnsupportedGrammarError, 10, "look-around"),
    ("start: /a(?<!b)/", UnsupportedGrammarError, 10, "look-around"),
    (r"start: /a.(b)\1/", UnsupportedGrammarError, 14, "a pattern: "),
    ("start: /a.)(/", GrammarSyntaxError, 11, "cannot be read"),
    ("start: /a/x", GrammarSyntaxError, 8, "flag 'x'"),
]


def test_labels_within_a_bound_are_refused() -> None:
    """A rule with a bound is one terminal, whose parts are not told apart."""
    with pytest.raises(UnsupportedGrammarError, match="the rule 'a' with a label, within a rule with max_chars="):
        Dialect('start[max_chars=3]: a ";"\na[capture]: "x" "y"', lexer="any").rules()


@pytest.mark.parametrize(("grammar", "kind", "column", "fact"), ANY_ERRORS, ids=[each[0] for each in ANY_ERRORS])
def test_mistakes_in_patterns_of_xgrammar(grammar: str, kind: type[GrammarError], column: int, fact: str) -> None:
    """Places are those in the pattern as it is written."""
    with pytest.raises(kind) as caught:
        Dialect(grammar, lexer="any").rules()
    assert (caught.value.line, caught.value.column) == (1, column), str(caught.value)
    assert fact in caught.value.fact


@pytest.mark.parametrize("rule", ["head[lazy]", "rest", "tool"])
def test_bounds_of_free_text_with_tools_are_refused(rule: str) -> None:
    """xgrammar ignores them there."""
    text = 'start: tool* rest\ntool: head "="\nhead[lazy]: T "<f"\nrest: T\nT: /.*/s'
    bounded = f"{rule[:-1]}, max_chars=9]" if "[" in rule else f"{rule}[max_chars=9]"
    with pytest.raises(UnsupportedGrammarError, match="max_chars=9, which is a part of free text with tools"):
        Dialect(text.replace(f"{rule}:", f"{bounded}:"), lexer="any").rules()


def random_rules(seed: int) -> str:
    """Rules of terminals, some of them lazy, that call each other at their ends alone."""
    draw = random.Random(seed)
    names = [f"x{number}" for number in range(draw.randint(1, 4))]
    terminals = ['"a"', '"b"', "/[ab]+/", "/a?/", '("a" | "bb")', "s", "s", "t"]
    lines = ["s[lazy]: /[ab]*b/", 't[suffix="b"]: /a*/']
    for name in names:
        ways = [
            " ".join([*draw.choices(terminals, k=draw.randint(1, 2)), *draw.choices([*names, ""], k=1)])
            for _ in range(draw.randint(1, 3))
        ]
        lines.append(f"{name}: {' | '.join([*ways, draw.choice(terminals)])}")
    return "\n".join([*lines, *draw.choices(["%ignore /-/", ""], k=1)])


@pytest.mark.parametrize("seed", range(30))
def test_bounded_rules_have_the_short_texts_of_others(seed: int) -> None:
    """As a parser reads the same rules without a bound."""
    rules = random_rules(seed)
    parsed = schemagen.compile(Dialect(f"start: x0\n{rules}", lexer="any"), BYTES)
    bounded = schemagen.compile(Dialect(f"start: r\nr[max_chars=3]: x0\n{rules}", lexer="any"), BYTES)
    for text in map("".join, itertools.chain.from_iterable(itertools.product("ab-", repeat=n) for n in range(6))):
        one, other = parsed.matcher(), bounded.matcher()
        is_derived = one.accept_bytes(text.encode()) and one.is_accepting() and len(text) <= 3
        assert is_derived == (other.accept_bytes(text.encode()) and other.is_accepting()), (rules, text)


def test_a_bound_of_a_schema_is_refused() -> None:
    """JSON has an automaton of its own."""
    with pytest.raises(UnsupportedGrammarError, match="'a' with max_chars=9, which is not a regular") as caught:
        schemagen.Lark('start: a\na[max_chars=9]: "x" %json {"type": "integer"}', dialect="xgrammar").rules()
    assert "automaton of its own" in caught.value.why


def test_a_bound_that_no_text_keeps_is_refused() -> None:
    """With its place, also beside other alternatives."""
    for body in ("/[a-z]{3,9}/", '"x" "y" "z"', '"xy" b\nb: /[a-z]/'):
        with pytest.raises(UnsatisfiableSchemaError, match="'a' has no text of at most 2 characters") as caught:
            Dialect(f'start: a | "bcd"\na[max_chars=2]: {body}', lexer="any").rules()
        assert caught.value.at == "line 2, column 3"


@pytest.mark.parametrize(
    ("grammar", "texts"),
    [
        ('start: a ">"\na[max_chars=2]: /[^>]*/', [">", "a>", "é😀>", "abc>", ">>"]),
        ('start: a ">"\na[max_chars=3]: /x*/\n%ignore " "', ["xx >", "xxx>", "xxx >", "xxxx>", "xx  >"]),
        ('start: a ">"\na[max_chars=3]: b*\nb: "x" "y"? | "z"\n%ignore " "', ["xy >", "x y>", "x yz>", "zzz>", "zzzz>", "xyxy>"]),
        ('start: a ">"\na[max_chars=2, suffix="b"]: /[a-z]*/', ["b>", "ab>", "aab>", "aaab>", "a>"]),
    ],
)  # fmt: skip
def test_bounds_as_xgrammar_reads_them(grammar: str, texts: list[str]) -> None:
    """Where every text of a rule fits into its bound, or the rule can end there."""
    xgrammar = pytest.importorskip("xgrammar")
    accepts = pytest.importorskip("xgrammar.testing")._is_grammar_accept_string
    read = xgrammar.Grammar.from_lark(grammar)
    for text in texts:
        assert derives(Dialect(grammar, lexer="any"), text) == accepts(read, text), text


def test_what_derives_nothing() -> None:
    """A grammar without any text is refused with the place of its start."""
    for grammar in ('start: a\na: a "b"', "start: A\nA: /a/ & /b/", "start: p::1\np::_ : /a/ %if is_zeros(_)"):
        with pytest.raises(UnsatisfiableSchemaError, match="no text can be derived from 'start'"):
            Dialect(grammar).rules()


@pytest.mark.parametrize(
    "grammar",
    [
        "start: " + "(" * 10_000 + '"a"' + ")" * 10_000,
        "start: " + "[" * 10_000,
        "start: " + "%lark { start: " * 10_000,
        "start: %json " + "[" * 100_000,
        "start: %json " + '{"items":' * 20_000 + "true" + "}" * 20_000,
        "start: T0\n" + "".join(f"T{i}: T{i + 1} T{i + 1}\n" for i in range(60)) + "T60: /a/",
        "start: T0\n" + "".join(f'T{i}: T{i + 1} "b"\n' for i in range(5_000)) + "T5000: /a/",
        'start: p::0\np::_ : "a" %if ' + "not(" * 10_000 + "true" + ")" * 10_000,
        "start: (A{1,1000}){1,1000}\nA: /a+/",
        'start: "a"{1,99999999999999999999}',
        "#" * 1_000_001,
    ],
    ids=lambda grammar: grammar[:20],
)
def test_what_is_too_large(grammar: str) -> None:
    """Hostile grammars end with an error."""
    with pytest.raises(LimitError):
        schemagen.compile(Dialect(grammar), BYTES)


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ('start: "a"{1,1000000}', "aaa"),
        ("start: r0\n" + "".join(f"r{i}: r{i + 1}\n" for i in range(3_000)) + "r3000: /a/", "a"),
        (
            "start: (" + " | ".join(f'"kw{i:x}"' for i in range(500)) + " | N)*\nN: /[a-z0-9]+/\n%ignore / +/",
            "kw1 kw1f x",
        ),
        ("start: " + "|" * 10_000, ""),
        ("start: " + "(%lark {start: " * 25 + '"a"' + "})+" * 25, "aa"),
    ],
    ids=lambda grammar: grammar[:20],
)
def test_what_is_large(grammar: str, text: str) -> None:
    """Large grammars are read."""
    assert derives(Dialect(grammar), text)


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ('start: x{1,1000000}\nx: "(" x ")" | "a"', "50,000 symbols"),
        ('start: "a"' + "|" * 900_000, "50,000 alternatives"),
    ],
)
def test_what_would_be_written_out_for_long_is_refused(grammar: str, said: str) -> None:
    """As soon as its size is known."""
    with pytest.raises(LimitError, match=said):
        schemagen.compile(schemagen.Lark(grammar, dialect="llguidance"), BYTES)


def test_many_parts_in_a_row_may_be_empty() -> None:
    """Neither the stack nor the memory of the process ends."""
    matcher = schemagen.compile(schemagen.Regex("(a|b*)" * 49_000), BYTES, cache=None).matcher()
    assert matcher.accept_bytes(b"a")
    assert matcher.is_accepting()
    grammar = "start: " + "x " * 2_000 + '\nx: "a" | "b" x | ""'
    with pytest.raises(LimitError, match="pairs of symbols may be neighbours"):
        schemagen.compile(schemagen.Lark(grammar, dialect="xgrammar"), BYTES, cache=None)

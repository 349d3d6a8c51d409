"""EBNF of xgrammar and of the W3C: what each construct derives, and the error of each mistake with its place."""

import itertools
import random
from typing import NamedTuple

import pytest

import schemagen
from schemagen import EBNF
from schemagen.context_free.bnf.macros import MAX_CHUNKS, MAX_TAGS
from schemagen.errors import (
    GrammarSyntaxError,
    LimitError,
    OptionError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
)
from tests.grammars import BYTES, check_masks_along, derives


class Case(NamedTuple):
    """A grammar, texts that it derives, and texts that it does not."""

    name: str
    grammar: str
    accepted: list[str]
    rejected: list[str]


CALL = 't ::= "{" t? "}"\n'
XGRAMMAR = [
    Case("a literal", 'root ::= "abc"', ["abc"], ["", "ab"]),
    Case("escapes", r'''root ::= "\"\\\/\'\?\n\r\t\b\f\a\v\0\e"''', ["\"\\/'?\n\r\t\b\f\a\v\0\x1b"], ["n"]),
    Case("codes of any length", r'root ::= "\x41\x1F600" "\u00e9" "\U0001F601"', ["A😀é😁"], ["A"]),
    Case("a set", r"root ::= [a-c\-\]\u00e9]+", ["a-]é"], ["d", "\\"]),
    Case("escapes in a set", r"root ::= [\^\$\.\*\+\?\(\)\[\]\{\}\|\/\n]+", ["^$.*+?()[]{}|/\n"], ["n", "\\"]),
    Case("any character", "root ::= [^] [^]", ["a\n", "é😀"], ["a"]),
    Case("a negated set", "root ::= [^0-9]+", ["a\n"], ["1"]),
    Case("an empty group", 'root ::= "a" ( ) "b"', ["ab"], ["a b"]),
    Case("names with dots and dashes", 'root ::= a.b a-b .c\na.b ::= "x"\na-b ::= "y"\n.c ::= "z"', ["xyz"], ["xy"]),
    Case("a body over lines", 'root ::= "a"\n  "b"\n  | "c"\nx ::= "d"', ["ab", "c"], ["a", "abd"]),
    Case("rules in any order", 'x ::= "d"\nroot ::= x+ # more\n', ["dd"], [""]),
    Case("repetitions", 'root ::= "a"? "b"* "c"+ "d"{2} "e"{1,2} "f"{1,}', ["cddef", "abbccddeeff"], ["cdef", "cddeeef"]),
    Case("zero times", 'root ::= "a" "b"{0}', ["a"], ["ab"]),
    Case("left recursion", 'root ::= root "a" | "a"', ["a", "aaa"], [""]),
    Case("an assertion is no constraint", 'root ::= a "x"\na ::= ("b" | "c") (= "x")', ["bx", "cx"], ["b", "bxx"]),
    Case("an assertion over rules", 'root ::= a ";" | a "."\na ::= [a-z]+ (=([;.] | end))\nend ::= ";"', ["ab;", "a."], ["a"]),
    Case("a pattern", r'root ::= "ID-" Regex("[0-9]{2}|\\d\\.")', ["ID-12", "ID-1."], ["ID-1", "12"]),
    Case("a dot is any character", 'root ::= Regex("a.b")', ["a\nb", "axb"], ["ab"]),
    Case("a dot with flags is none of a line break", 'root ::= Regex("a.b", flags="u")', ["axb"], ["a\nb", "Axb"]),
    Case("flags", 'root ::= Regex("a.[k]", flags="is")', ["A\nK", "axk"], ["a\n\u212a"]),
    Case("the body of a JSON string", r'root ::= Regex("[^a]+", json_string=true)', ["bc", "é"], ['b"', "b\\n", "b\n", "a", ""]),
    Case("no body of a JSON string", r'root ::= Regex("[^a]+", json_string=false)', ['b"'], ["a"]),
    Case("arguments in any order", 'root ::= Regex(json_string=true, "a*")', ["aa"], ["b"]),
    Case("comments to the end of a line", 'root ::= "a" # x\r "b" # y\r\n # z ::= "', ["ab"], ["a"]),
    Case("runs of chunks", 'root ::= "<" Substring("abc", "de", "fg") ">"', ["<>", "<abc>", "<de>", "<defg>", "<abcdefg>"], ["<ab>", "<cde>", "<abcfg>"]),
    Case("runs of chunks that return", 'root ::= Substring("a", "b", "a", "b", "c")', ["abab", "babc", "c", "abc"], ["ba" * 2, "cc"]),
    Case("runs of no chunks", "root ::= Substring()", [""], ["a"]),
    Case("runs of empty chunks", 'root ::= Substring("", "a", "")', ["", "a"], ["aa"]),
    Case("free text and tags", f'root ::= TagDispatch(("<t>", t))\n{CALL}', ["", "hi", "<t>{}", "a<t>{{}}b<t>{}", "<t", "<t>{}<t"], ["<t>", "<t>x", "a<t>{}<t>"]),
    Case("tags once", f'root ::= TagDispatch(("<t>", t), loop_after_dispatch=false) "."\n{CALL}', [".", "a.b.", "a<t>{}."], ["a<t>{}b."]),
    Case("two tags", f'root ::= TagDispatch(("<t>", t), ("<u>", u))\n{CALL}u ::= [0-9]', ["<u>1<t>{}", "<u", "x<u>2y"], ["<u>{}", "<t>1"]),
    Case("a tag within a tag", f'root ::= TagDispatch(("<t>", t), ("t>", u))\n{CALL}u ::= [0-9]', ["<t>{}", "t>1"], ["t>{}", "<t>1", "<t>"]),
    Case("a tag that begins with a tag", f'root ::= TagDispatch(("ab", t), ("a", u))\n{CALL}u ::= [0-9]', ["a1", "xa1", "ab{}"], ["ab1", "a", "ab", "ac"]),
    Case("a tag that is begun twice", f'root ::= TagDispatch(("aab", t))\n{CALL}', ["aaab{}", "aa", "aaab{}aa"], ["aaab"]),
    Case("excludes", f'root ::= TagDispatch(("<t>", t), excludes=("bad", "</end>",)) "</end>"\n{CALL}', ["x</end>", "ba<t>{}d</end>"], ["bad</end>", "x</end></end>", "<t>{}bad</end>"]),
    Case("no tags", 'root ::= TagDispatch(excludes=("b"))', ["", "aca"], ["b", "ab"]),
    Case("stop strings of older versions", f'root ::= TagDispatch(("<t>", t), stop_eos=false, stop_str=("end", "."))\n{CALL}', ["end", "a.", "<t>{}."], ["", "a", "a.b", "..", "<t>{}"]),
    Case("stop strings beside an end anywhere", f'root ::= TagDispatch(("<t>", t), stop_eos=true, stop_str=("."))\n{CALL}', ["", "a", "a.", "<t>{}"], ["a.b"]),
    Case("a macro within a sequence", 'root ::= "[" TagDispatch(("<t>", t), excludes=("]")) "]"\nt ::= "x"', ["[]", "[a<t>x]"], ["[a]]", "[<t>]"]),
    Case("a repetition as xgrammar prints it", 'root ::= "a"{1, -1} ("b"){0,-1} "c"{2, 2}', ["acc", "aabcc"], ["cc", "ac"]),
    Case("options that change no text", 'root ::= a a\na[temperature=0.699999988, capture="]"] ::= "x"{1,2}', ["xx", "xxxx"], ["x"]),
    Case("a lazy rule", 'root ::= a "z"\na[lazy] ::= [a-z]* ";" | "no"', ["a;z", ";z", "noz"], ["a;b;z", "no;z", "z"]),
    Case("a lazy rule that may be empty", 'root ::= a "z"\na[ lazy ] ::= "x"*', ["z"], ["xz"]),
    Case("a lazy rule beside another one", 'root ::= (a | b) "z"\na[capture,lazy] ::= "x"+\nb ::= "xx"', ["xz", "xxz"], ["xxxz"]),
    Case("a lazy rule that goes on at its end", "root ::= r\nr[lazy] ::= ((x))\nx ::= (([a-z] x) | ([a-z]))", ["a"], ["ab", ""]),
    Case("a lazy rule with a loop in it", 'root ::= r "!"\nr[lazy] ::= ((x "b"))\nx ::= ("" | ([a-z] x))', ["b!", "ab!", "acb!"], ["abb!"]),
    Case("a lazy rule over rules that call each other", 'root ::= r "!"\nr[lazy] ::= x ";"\nx ::= "a" y | ""\ny ::= ("b" x | "c" y)?', [";!", "ab;!", "acb;!", "acbab;!"], ["b;!", "abb;!", "ab;;!"]),
    Case("a lazy rule over left recursion", 'root ::= r "!"\nr[lazy] ::= x ";"\nx ::= y "a" | "a"\ny ::= x "b" | y "c"', ["a;!", "aba;!", "abcca;!"], [";!", "ab;!", "aa;!"]),
    Case("a bound", 'root ::= a ">"\na[max_chars=2] ::= [^>]*', [">", "a>", "é😀>"], ["abc>", "éé😀>", ">>"]),
    Case("a bound for each call", 'root ::= a "-" a\na[capture, max_chars=2] ::= "x"*', ["-", "xx-xx"], ["xxx-", "x-xxx"]),
    Case("a bound of nothing", 'root ::= a ">"\na[max_chars=0] ::= [^>]*', [">"], ["a>"]),
    Case("a bound of a lazy rule", 'root ::= a ">"\na[max_chars=3, lazy] ::= [a-z]* ";" | "no"', ["ab;>", "no>", ";>"], ["abc;>", "a;;>", "no;>"]),
    Case("bounds inside one another", 'root ::= a ">"\na[max_chars=3] ::= b "z"*\nb[max_chars=2] ::= "x"*', ["xxz>", "zzz>", "x>"], ["xxx>", "xxzz>"]),
    Case("a bound of rules that call themselves", 'root ::= a ">"\na[max_chars=4] ::= x\nx ::= "ab" x | "" | "c" y\ny ::= "d" x', [">", "abab>", "cdab>"], ["ababab>", "cd" * 3 + ">"]),
    Case("a long bound", 'root ::= a ">"\na[max_chars=100000] ::= [^>]*', ["a" * 100 + ">"], [">>"]),
    Case("a bound of free text with tags", 'root ::= a "!"\na[max_chars=9] ::= TagDispatch(("<t>", t), excludes=("!"))\nt ::= "x"', ["abc<t>xde!", "a" * 9 + "!"], ["a" * 10 + "!", "<t>x<t>xab!", "<t>!"]),
    Case("captures that xgrammar prints", 'root ::= r\nr[stop_capture="m", capture_hidden_stop_bytes=1, lazy] ::= Regex("(\\?:[a-z]*)(\\?:!)")', ["a!", "!"], ["a", "a!!"]),
    Case("flags in a pattern and beside it", 'root ::= Regex("(?s)a.c", flags="i")', ["A\nc", "abC"], ["ac"]),
    Case("a lazy rule in a lazy rule", 'root ::= a "z"\na[lazy] ::= b b "y"?\nb[lazy] ::= [a-x]+ "e"', ["aebez", "eeaez"], ["aez", "aebeyz", "aebeez"]),
    Case("an operator between dashes", "root ::= [-+*/] [+--]", ["-+", "/,"], ["a-"]),
    Case("a range, a dash and a letter", "root ::= [a-c-e]+", ["b-e"], ["d"]),
    Case("a set with a quote and a hash", 'root ::= ["#[]+ # more', ['"#['], ["m"]),
    Case("a head over lines", 'root\n::= a # ::=\na::="x"', ["x"], ["a"]),
    Case("a repetition of what may be empty", 'root ::= ("a"?){2,3} "b"', ["b", "aaab"], ["aaaab"]),
    Case("flags in a pattern", 'root ::= Regex("(?i)a[b]") Regex("")', ["AB", "ab"], ["a"]),
    Case("classes of a pattern are ASCII", r'root ::= Regex("\\w\\d") Regex("\\W")', ["a1é"], ["é1é", "a1a", "a\u0661-"]),
    Case("signs of a pattern", r'root ::= Regex("\\cA[\\b]\\u{4e2d}\\x41[\\]\\-\\^]")', ["\x01\b中A]", "\x01\b中A^"], ["cA"]),
    Case("a rule whose name is that of a macro", 'root ::= Token "b"\nToken ::= "a"', ["ab"], ["a"]),
]  # fmt: skip


@pytest.mark.parametrize("case", XGRAMMAR, ids=lambda case: case.name)
def test_what_a_grammar_of_xgrammar_derives(case: Case) -> None:
    """Each text is read as a whole, or is not."""
    spec = EBNF(case.grammar)
    assert [text for text in case.accepted if not derives(spec, text)] == []
    assert [text for text in case.rejected if derives(spec, text)] == []


COMMENT = "root ::= '<!--' ((Char - '-') | ('-' (Char - '-')))* '-->'\nChar ::= #x9 | [#x20-#xD7FF]"
W3C = [
    Case("literals in either quotes", """root ::= 'a"' "b'" '\\n' """, ["a\"b'\\n"], ["a\"b'\n"]),
    Case("codes of characters", "root ::= #x41 #x1F600+", ["A😀😀"], ["A"]),
    Case("sets", "root ::= [a-zA-Z#x20-#x21]+", ["aZ !"], ['"', "#"]),
    Case("a negated set", "root ::= [^a-c#x20]+", ["xé\n"], ["a", " "]),
    Case("a backslash is itself", r"root ::= [\n]+", ["\\n"], ["\n"]),
    Case("signs in a set", "root ::= [-'()+,./:=?;!*#@$_%]+", ["-'()", "#@%"], ["&", "x"]),
    Case("repetitions", "root ::= 'a'? 'b'* ('c' | 'd')+", ["acd", "bbc"], ["a", "aac"]),
    Case("comments", "/* a * b */ root /* c */ ::= 'a' /* 'b' */ 'c' /**/", ["ac"], ["abc"]),
    Case("comments within heads", "root ::= a\na /* b\n */ ::= 'x'\nb\n::= 'y'", ["x"], ["xy"]),
    Case("numbers of productions", "[1] root ::= a+\n[2]   a ::= 'x'\n[2a]  b ::= 'y'", ["xx"], ["xx2", "y"]),
    Case("a set of digits at the end of a body", "root ::= 'a' [1]\na ::= 'x'", ["a1"], ["a"]),
    Case("names that end before a dash", "root ::= A-b- A\nA-b ::= [ab]\nA ::= 'a'", ["b"], ["a", "ba"]),
    Case("characters but one", "root ::= A - 'b'\nA ::= [a-c]", ["a", "c"], ["b", "ab"]),
    Case("differences group from the left", "root ::= [a-d] - 'a' - 'b'", ["c", "d"], ["a", "b"]),
    Case("repetition binds before difference", "root ::= [ab]* - ([ab]* 'bb' [ab]*)", ["", "ab", "abab"], ["abb", "bb"]),
    Case("differences of texts", "root ::= Name - (('X' | 'x') ('M' | 'm'))\nName ::= [a-zA-Z]+", ["xmm", "x", "mx"], ["xm", "XM", ""]),
    Case("a difference within a sequence", "root ::= '<' ([a-z]* - 'no') '>'", ["<>", "<not>", "<n>"], ["<no>"]),
    Case("a difference of differences", "root ::= A - B\nA ::= [a-z] - 'x'\nB ::= [a-d] - 'a'", ["a", "e"], ["x", "b"]),
    Case("comments of XML", COMMENT, ["<!---->", "<!--a-b-->", "<!-- declarations for <head> -->"], ["<!--a--->", "<!--a--b-->", "<!---"]),
    Case("recursion beside a difference", "root ::= '(' (root | [a-z] - 'q')* ')'", ["()", "(a(b))"], ["(q)", "(()"]),
    Case("nothing is left", "root ::= 'b' | ('a' - [a-z])", ["b"], ["a"]),
    Case("the empty text", "root ::= 'a' ''", ["a"], [""]),
]  # fmt: skip


@pytest.mark.parametrize("case", W3C, ids=lambda case: case.name)
def test_what_a_grammar_of_the_w3c_derives(case: Case) -> None:
    """Each text is read as a whole, or is not."""
    spec = EBNF(case.grammar, dialect="w3c")
    assert [text for text in case.accepted if not derives(spec, text)] == []
    assert [text for text in case.rejected if derives(spec, text)] == []


def test_the_start_is_given() -> None:
    """Any rule can be the start; a name that is not there tells those that are."""
    grammar = "document ::= item+\nitem ::= 'x'"
    assert derives(EBNF(grammar, "w3c", "document"), "xx")
    assert not derives(EBNF(grammar, "w3c", start="item"), "xx")
    with pytest.raises(GrammarSyntaxError, match="no rule 'root' to start from") as caught:
        schemagen.compile(EBNF(grammar, "w3c"), BYTES)
    assert "document, item" in caught.value.fix


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (EBNF(f'root ::= TagDispatch(("(1+", t), ("ab", t), excludes=("ba"))\n{CALL}'), "a((1+{{}}b"),
        (EBNF('root ::= "(" Substring("ab", "c", "ab", "a") root? ")"'), "(abc(aba))"),
        (EBNF("root ::= '(' (root | [a-z]* - ([a-z]* 'ba' [a-z]*)) ')'", "w3c"), "((ab))"),
        (EBNF(COMMENT, "w3c"), "<!--->-->"[:4] + "é -->"),
    ],
)
def test_masks_are_exact(spec: EBNF, text: str) -> None:
    """Each mask along a text is what is found by trying every token."""
    check_masks_along(spec, text)


def random_linear_rules(seed: int) -> str:
    """Rules that call each other at one end only, here and there in groups and options."""
    draw = random.Random(seed)
    at_end = draw.random() < 0.6
    names = [f"x{number}" for number in range(draw.randint(1, 4))]
    lines = []
    for name in names:
        ways = []
        for _ in range(draw.randint(1, 3)):
            text, call = draw.choice(['"a"', '"b"', "[ab]", '"ab"', '""', '("a" | "bb")']), draw.choice(names)
            call = draw.choice([call, f"{call}?", f'({call} | "b")'])
            ways.append(draw.choice([text, f"{text} {call}" if at_end else f"{call} {text}"]))
        ways.append(draw.choice([ways[0], '"a"', '""']))
        lines.append(f"{name} ::= {' | '.join(ways)}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_rules_that_call_each_other_at_one_end_are_written_out(seed: int) -> None:
    """With a bound they have the short texts that the same rules have without it, as a parser reads them."""
    rules = random_linear_rules(seed)
    try:
        parsed = schemagen.compile(EBNF(f"root ::= x0\n{rules}"), BYTES)
    except UnsatisfiableSchemaError:
        return
    bounded = EBNF(f'root ::= r | "c"\nr[max_chars=4] ::= x0\n{rules}')
    try:
        written = schemagen.compile(bounded, BYTES)
    except UnsatisfiableSchemaError:
        written = schemagen.compile(EBNF('root ::= "c"'), BYTES)
    for text in map("".join, itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(7))):
        one, other = parsed.matcher(), written.matcher()
        is_derived = one.accept_bytes(text.encode()) and one.is_accepting() and len(text) <= 4
        assert is_derived == (other.accept_bytes(text.encode()) and other.is_accepting()), (rules, text)


@pytest.mark.parametrize(
    ("grammar", "texts"),
    [
        ('root ::= a ">"\na[max_chars=2] ::= [^>]*', [">", "a>", "é😀>", "abc>", ">>"]),
        ('root ::= a ">"\na[max_chars=3] ::= ("ab")* | "aba"', [">", "ab>", "aba>", "abab>"]),
        ('root ::= a "-" a\na[max_chars=2] ::= "x"*', ["-", "xx-xx", "xxx-", "x-xxx"]),
        ('root ::= a ">"\na[max_chars=3] ::= b "z"*\nb[max_chars=2] ::= "x"*', ["xxz>", "zzz>", "xxx>", "xxzz>"]),
        ('root ::= a ">"\na[max_chars=4] ::= "a" b | ""\nb ::= "b" a2\na2 ::= "a" b | ""', [">", "ab>", "abab>", "ababab>"]),
        ("root ::= r\nr[lazy] ::= ((x))\nx ::= (([a-z] x) | ([a-z]))", ["a", "ab", ""]),
    ],
)  # fmt: skip
def test_what_xgrammar_reads_alike(grammar: str, texts: list[str]) -> None:
    """Bounds and lazy rules, and the same grammar as xgrammar prints it, where every text of a rule fits into its bound."""
    xgrammar = pytest.importorskip("xgrammar")
    accepts = pytest.importorskip("xgrammar.testing")._is_grammar_accept_string
    read = xgrammar.Grammar.from_ebnf(grammar)
    printed = EBNF(str(read))
    for text in texts:
        expected = accepts(read, text)
        assert (derives(EBNF(grammar), text), derives(printed, text)) == (expected, expected), text


def occurrences(text: str, words: list[str]) -> list[tuple[int, int]]:
    """Where each of the words stands."""
    return [(at, at + len(word)) for word in words for at in range(len(text)) if text.startswith(word, at)]


def dispatches(text: str, tags: list[str], excludes: list[str]) -> bool:
    """The definition of TagDispatch, whose rules are the text "1"."""
    found, excluded = occurrences(text, tags), occurrences(text, excludes)
    if not found and not excluded:
        return True
    return any(
        text.startswith("1", end)
        and not any(other < begin and there <= end for other, there in found)
        and not any(there <= end for _, there in excluded)
        and dispatches(text[end + 1 :], tags, excludes)
        for begin, end in found
    )


@pytest.mark.parametrize(
    ("tags", "excludes"),
    [
        (["ab"], []),
        (["aab", "b1"], ["bb"]),
        (["aba", "ba"], ["11"]),
        (["a", "ab", "bab"], []),
        (["aa", "ab", "bb"], ["b1"]),
        (["ab", "a1a"], ["b1b", "aaa"]),
        (["ab", "a1a"], ["b"]),
        (["aab", "ba"], ["ab", "11"]),
    ],
)
def test_tags_are_dispatched_as_defined(tags: list[str], excludes: list[str]) -> None:
    """All short texts."""
    pairs = ", ".join(f'("{tag}", t)' for tag in tags)
    quoted = ", ".join(f'"{exclude}"' for exclude in excludes)
    grammar = schemagen.compile(EBNF(f'root ::= TagDispatch({pairs}, excludes=({quoted}))\nt ::= "1"'), BYTES)
    for word in itertools.chain.from_iterable(itertools.product("ab1", repeat=length) for length in range(8)):
        text = "".join(word)
        matcher = grammar.matcher()
        read = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
        assert read == dispatches(text, tags, excludes), text


def test_long_lists_of_chunks() -> None:
    """A run of thousands of chunks."""
    chunks = [f"word{at % 700} " for at in range(3000)]
    spec = EBNF(f"root ::= Substring({', '.join(map(repr, chunks))})".replace("'", '"'))
    assert derives(spec, "".join(chunks[100:2900]))
    assert not derives(spec, "".join(chunks[100:700] + chunks[101:105]))


class Mistake(NamedTuple):
    """A grammar that cannot be used, the place of the mistake, and words of the message."""

    grammar: str
    line: int
    column: int
    words: str


XGRAMMAR_MISTAKES = [
    Mistake('root ::= "abc', 1, 10, "a literal is never closed"),
    Mistake('root ::= "a\nb"', 1, 10, "a literal is never closed"),
    Mistake(r'root ::= "\d"', 1, 11, r"the escape '\d' is not known"),
    Mistake(r"root ::= [\d]", 1, 11, r"the escape '\d' is not known"),
    Mistake(r'root ::= "\x110000"', 1, 11, "U+110000 is not a character"),
    Mistake("root ::= []", 1, 10, "a set without characters"),
    Mistake("root ::= [b-a]", 1, 11, "runs backwards"),
    Mistake("root ::= .", 1, 10, "the rule '.' is not defined"),
    Mistake('root ::= "a"++', 1, 14, "a repetition of a repetition"),
    Mistake('root ::= "a"{,2}', 1, 13, "a repetition that cannot be read"),
    Mistake('root ::= "a"{2,1}', 1, 13, "at least 2 and at most 1"),
    Mistake('root ::= "a"{2,-2}', 1, 13, "a repetition that cannot be read"),
    Mistake('root ::= "a"{-1}', 1, 13, "a repetition that cannot be read"),
    Mistake('root[lazi] ::= "a"', 1, 6, "the option 'lazi' of a rule that cannot be read"),
    Mistake('root[] ::= "a"', 1, 6, "an option of a rule that cannot be read"),
    Mistake('root[lazy=true] ::= "a"', 1, 6, "the option 'lazy' of a rule that cannot be read"),
    Mistake('root[max_chars=2.5] ::= "a"', 1, 6, "the option 'max_chars' of a rule that cannot be read"),
    Mistake('root[max_chars=-1] ::= "a"', 1, 6, "the option 'max_chars' of a rule that cannot be read"),
    Mistake('root[lazy, max_chars] ::= "a"', 1, 12, "the option 'max_chars' of a rule that cannot be read"),
    Mistake('root[max_chars=1, max_chars=2] ::= "a"', 1, 19, "the option 'max_chars' is given twice"),
    Mistake('root[capture, capture="b"] ::= "a"', 1, 15, "the option 'capture' is given twice"),
    Mistake('root[capture=""] ::= "a"', 1, 6, 'the option capture=""'),
    Mistake('root[temperature=1e999] ::= "a"', 1, 6, "the option temperature=1e999"),
    Mistake("root ::= TokenTagDispatch((1, root), (2, root), excludes=(2))", 1, 10, "excludes the token 2, which it names"),
    Mistake('root[lazy capture] ::= "a"', 1, 11, "where ',' or ']' is expected"),
    Mistake('root ::= "a" |', 1, 15, "the grammar ends where a symbol is expected"),
    Mistake('root ::= ("a" | | "b")', 1, 17, "where a symbol is expected"),
    Mistake('root ::=\na ::= "b"', 2, 1, "where a symbol is expected"),
    Mistake('root ::= ("a"\nb ::= "c"', 1, 10, "a group is never closed"),
    Mistake('root ::= "a" b ::= "c"', 1, 16, "where a symbol is expected"),
    Mistake('1a ::= "a"', 1, 1, "where the name of a rule is expected"),
    Mistake("root ::= Token()", 1, 10, "Token(...) takes names and ids of tokens"),
    Mistake('root ::= Token("")', 1, 10, "Token(...) takes names and ids of tokens"),
    Mistake('root ::= "a" Token(true)', 1, 14, "Token(...) takes names and ids of tokens"),
    Mistake("root ::= ExcludeToken()", 1, 10, "takes names and ids of tokens"),
    Mistake("root ::= ExcludeToken(true)", 1, 10, "takes names and ids of tokens"),
    Mistake('root ::= TokenTagDispatch("a")', 1, 10, "not a pair of a token and a rule"),
    Mistake("root ::= TokenTagDispatch((root, root))", 1, 10, "takes names and ids of tokens"),
    Mistake("root ::= TokenTagDispatch((3, b))", 1, 31, "the rule 'b' is not defined"),
    Mistake("root ::= TokenTagDispatch(excludes=(root,))", 1, 10, "takes names and ids of tokens in excludes"),
    Mistake("root ::= Token(x=1)", 1, 10, "has no argument 'x'"),
    Mistake('root ::= (= "a") "b"', 1, 10, "a lookahead assertion that does not end a rule"),
    Mistake('root ::= ("b" (= "a"))', 1, 15, "a lookahead assertion that does not end a rule"),
    Mistake('root ::= "b" (= x)', 1, 17, "the rule 'x' is not defined"),
    Mistake('root ::= "b"\nb ::= Regex()', 2, 7, "takes one pattern"),
    Mistake('root ::= Regex("a", "b")', 1, 10, "takes one pattern"),
    Mistake('root ::= Regex("(a")', 1, 10, "cannot be read"),
    Mistake('root ::= Regex("a", flags="x")', 1, 10, "flags that are not known"),
    Mistake('root ::= Regex("a", json_string=1)', 1, 10, "neither true nor false"),
    Mistake('root ::= Regex("a", case=true)', 1, 10, "has no argument 'case'"),
    Mistake("root ::= Regex([a])", 1, 16, "where a literal, an integer"),
    Mistake('root ::= Regex("a"', 1, 19, "the grammar ends where ',' or ')' is expected"),
    Mistake('root ::= Substring("a", 1)', 1, 10, "a chunk that is not a literal"),
    Mistake('root ::= Substring("a", x=1)', 1, 10, "has no argument 'x'"),
    Mistake('root ::= TagDispatch("a")', 1, 10, "not a pair of a tag and a rule"),
    Mistake('root ::= TagDispatch(("", root))', 1, 10, "not a pair of a tag and a rule"),
    Mistake('root ::= TagDispatch(("a", b))', 1, 28, "the rule 'b' is not defined"),
    Mistake('root ::= TagDispatch(("ab", root), excludes=("a"))', 1, 10, "excludes 'a', with which 'ab' begins"),
    Mistake("root ::= TagDispatch(excludes=(1))", 1, 10, "not a tuple of literals"),
    Mistake('root ::= TagDispatch(stop="a")', 1, 10, "has no argument 'stop'"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", XGRAMMAR_MISTAKES, ids=lambda mistake: f"{mistake.grammar!a:.40}")
def test_mistakes_in_xgrammars_notation_have_a_place(mistake: Mistake) -> None:
    """The error says what is wrong, and at which line and column."""
    with pytest.raises(GrammarSyntaxError) as caught:
        schemagen.compile(EBNF(mistake.grammar), BYTES)
    assert mistake.words in caught.value.fact
    assert (caught.value.line, caught.value.column) == (mistake.line, mistake.column)


W3C_MISTAKES = [
    Mistake("root ::= 'abc", 1, 10, "a literal is never closed"),
    Mistake("root ::= [a", 1, 10, "a set of characters is never closed"),
    Mistake("root ::= [#x41-#x40]", 1, 11, "the range '#x41-#x40' runs backwards"),
    Mistake("root ::= #xD800", 1, 10, "U+D800 is not a character"),
    Mistake("root ::= #41", 1, 10, "'#41' stands where a symbol is expected"),
    Mistake("root ::= 'a'{2}", 1, 13, "'{2}' stands where"),
    Mistake("root ::= 'a'*+", 1, 14, "a repetition of a repetition"),
    Mistake("root ::= 'a' -", 1, 15, "the grammar ends where a symbol is expected"),
    Mistake("root ::= 'a' | \nb ::= 'c'", 2, 1, "where a symbol is expected"),
    Mistake("root ::= - 'a'", 1, 10, "where a symbol is expected"),
    Mistake("root ::= 'a' - b", 1, 16, "the rule 'b' is not defined"),
    Mistake("root ::= /* 'a'", 1, 10, "where a symbol is expected"),
]  # fmt: skip


@pytest.mark.parametrize("mistake", W3C_MISTAKES, ids=lambda mistake: f"{mistake.grammar!a:.40}")
def test_mistakes_in_the_w3cs_notation_have_a_place(mistake: Mistake) -> None:
    """The error says what is wrong, and at which line and column."""
    with pytest.raises(GrammarSyntaxError) as caught:
        schemagen.compile(EBNF(mistake.grammar, "w3c"), BYTES)
    assert mistake.words in caught.value.fact
    assert (caught.value.line, caught.value.column) == (mistake.line, mistake.column)


@pytest.mark.parametrize(
    ("spec", "place", "words"),
    [
        (EBNF('root ::= "a" | Token("<t>")'), (1, 16), "no special or added token <t>"),
        (EBNF('root ::= "a" TokenTagDispatch((3, root))'), (1, 14), "the token id 3 is an ordinary token"),
        (EBNF("root ::= TokenTagDispatch(excludes=(3,))"), (1, 10), "the token id 3 is an ordinary token"),
        (
            EBNF('root ::= a\na[lazy] ::= "(" a ")" | "x"'),
            (2, 2),
            "the lazy rule 'a', which is not a regular expression",
        ),
        (
            EBNF('root ::= a\na[max_chars=9] ::= "(" a ")" | "x"'),
            (2, 3),
            "the rule 'a' with max_chars=9, which is not a regular expression",
        ),
        (EBNF('root ::= a\na[max_chars=9] ::= b\nb ::= b "x" b | "y"'), (2, 3), "with max_chars=9, which is not"),
        (EBNF('root ::= a\na[max_chars=9] ::= "x" a | "y"'), (2, 3), "with max_chars=9, which is not"),
        (EBNF("root ::= a\na[max_chars=9] ::= Token(300)"), (2, 3), "with max_chars=9, which is not"),
        (EBNF(r'root ::= Regex("(a)\\1")'), (1, 10), "back-reference"),
        (EBNF("root ::= A - 'x'\nA ::= '(' A ')' | 'x'", "w3c"), (1, 12), "a difference of rules that call themselves"),
        (EBNF("root ::= 'a' | 'b' - root", "w3c"), (1, 20), "a difference of rules that call themselves"),
        (EBNF("root ::= Name [ wfc: Unique ]\nName ::= 'a'", "w3c"), (1, 15), "the constraint '[ wfc: Unique ]'"),
    ],
)
def test_what_cannot_be_enforced_is_refused(spec: EBNF, place: tuple[int, int], words: str) -> None:
    """Nothing is left out without a word."""
    with pytest.raises(UnsupportedGrammarError) as caught:
        schemagen.compile(spec, BYTES)
    assert words in caught.value.fact
    assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (EBNF("root ::= Substring(" + ", ".join(['"a"'] * (MAX_CHUNKS + 1)) + ")"), "has 10,001 chunks"),
        (
            EBNF("root ::= TagDispatch(" + ", ".join(f'("{at}", root)' for at in range(MAX_TAGS + 1)) + ")"),
            "has 201 literals",
        ),
        (EBNF("root ::= " + "(" * 5000, "w3c"), "groups are nested 61 deep"),
        (EBNF("root ::= Regex(" + "(" * 5000), "where a literal"),
        (
            EBNF(
                "root ::= r0 - 'x'\n" + "".join(f"r{i} ::= r{i + 1} r{i + 1}\n" for i in range(40)) + "r40 ::= 'x'",
                "w3c",
            ),
            "the texts of the rule",
        ),
    ],
    ids=["chunks", "tags", "groups", "tuples", "differences"],
)
def test_limits(spec: EBNF, words: str) -> None:
    """What is too large is an error, and soon."""
    with pytest.raises((LimitError, GrammarSyntaxError), match=words):
        schemagen.compile(spec, BYTES)


def test_a_bound_that_no_text_keeps_is_refused() -> None:
    """With its place, also beside other alternatives."""
    for body, most in (('"abc" | [a-z]{4,9}', 2), ("[a-z]", 0)):
        with pytest.raises(UnsatisfiableSchemaError, match=f"'a' has no text of at most {most} characters") as caught:
            schemagen.compile(EBNF(f'root ::= a | "b"\na[max_chars={most}] ::= {body}'), BYTES)
        assert caught.value.at == "line 2, column 3"


def test_arguments_are_checked_at_once() -> None:
    """A dialect that is not known, and a start that is no name."""
    with pytest.raises(OptionError, match="dialect='iso'"):
        EBNF("root ::= 'a'", dialect="iso")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="start=3"):
        EBNF("root ::= 'a'", start=3)  # type: ignore[arg-type]

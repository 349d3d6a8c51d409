"""Grammars of lark, read by the core and by lark: the same terminals, rules, names, order, and what is ignored.

What is knowingly different, and left out here:

* lark writes several flags of a pattern in the order of a hash table, which is another one in each process;
* half of a surrogate pair, in a literal or written in a pattern, which no text has: the core refuses it in literals, and
  leaves its escape in patterns;
* digits beyond ASCII in numbers, which lark takes and nobody writes;
* a literal or pattern without an end, and a bad look-behind, in a part of an imported text or template that is not
  used: lark reads no further there;
* what grows too far: the core stops at limits of its own, and lark, after a while, at none.
"""

import ast
import contextlib
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

lark = pytest.importorskip("lark")

from schemagen import _core  # noqa: E402 - below the import of what may be missing
from schemagen.context_free.lark.host import Host  # noqa: E402
from schemagen.errors import LimitError, SchemagenError  # noqa: E402
from tests.property.random_lark import random_grammar, random_ignoring_grammar  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # of re, about sets in patterns

ROOT = Path(__file__).parents[2]
LIBRARY = Path(lark.__file__).parent / "grammars"
FILES = [
    *sorted((ROOT / "examples" / "grammars").glob("*.lark")),
    *sorted((ROOT / "benchmarks" / "texts").glob("*.lark")),
    *sorted(LIBRARY.glob("*.lark")),
]
STARTS = {"python.lark": "file_input"}
#: Seeds of a run, and of the slow one.
SEEDS, MORE_SEEDS = 150, 6_000


class Read(NamedTuple):
    """What a grammar says."""

    terminals: list[tuple[str, str, bool, int]]
    rules: list[tuple[str, list[tuple[str, bool]]]]
    ignored: list[str]


def read_here(text: str, start: str = "start", path: Any = None, *, keeps_all: bool = False) -> Read:
    """As the core does."""
    terminals, symbols, rules, ignored, _ = _core.read_lark(text, start, Host(path), keeps_all, [], 0)
    return Read(
        terminals,
        [(symbols[origin][0], [symbols[each] for each in body]) for origin, body in rules],
        ignored,
    )


def read_by_lark(text: str, start: str = "start", path: Any = None, *, keeps_all: bool = False) -> Read | None:
    """As lark does, which refuses some grammars only while it makes the parser; None if it does."""
    try:
        parser: Any = lark.Lark(text, start=start, source_path=path, keep_all_tokens=keeps_all)
    except Exception:  # noqa: BLE001 - bugs of lark, too
        return None
    return Read(
        [(each.name, pattern_of(each.pattern), each.pattern.type == "str", each.priority) for each in parser.terminals],
        [(str(rule.origin.name), [(each.name, each.is_term) for each in rule.expansion]) for rule in parser.rules],
        parser.ignore_tokens,
    )


def pattern_of(pattern: Any) -> str:
    """`to_regexp`, with flags in the order of the alphabet."""
    text = re.escape(pattern.value) if pattern.type == "str" else pattern.value
    for flag in sorted(pattern.flags):
        text = f"(?{flag}:{text})"
    return text


def compare(text: str, start: str = "start", path: Any = None, **options: Any) -> bool:
    """Both read a text and find the same, or both refuse it; return whether they read it."""
    here = None
    try:
        here = read_here(text, start, path, **options)
    except LimitError:  # lark would work on it for long
        return False
    except SchemagenError:
        pass
    assert here == read_by_lark(text, start, path, **options), text
    return here is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_grammars_of_files(path: Path) -> None:
    """The examples, those of the benchmarks, and lark's own, of which some have no start."""
    text = path.read_text(encoding="utf-8")
    read = compare(text, STARTS.get(path.name, "start"), str(path))
    assert read or path.name in ("common.lark", "unicode.lark")
    with contextlib.suppress(SchemagenError):
        compare(text, STARTS.get(path.name, "start"), str(path), keeps_all=True)


#: What is easily read otherwise.
TRICKY = [
    # names of terminals without one
    'start: "if" "IF" "if"i "a1" "1a" "é" "É" "ß" "_" "." "\\r\\n" ".." "a b" IF\nIF: "x"',
    'start: "a" A\nA: "a"\nB: "a"',
    'start: "a" "a"i /a/ /a/i A\nA: /a/i',
    'start: "b" "B" /b/\n%declare B',
    "start: /a/ims /b/sim /c/x",
    # terminals of terminals
    'start: A\nA: "a" | "bc" | /d+/ | "e".."g" | B C\nB: "x"~2..3 | "y"~2\nC: ["u"] "v"* "w"?',
    'start: A\nA: ("a" | "b")+\n  | "c"i "d"\n\n  | ("e")',
    'start: A\nA: "a" |\nstart2: A',
    'start: A B\nA: "a"~-1 B\nB.-3: "x" | "xy" | /x.z/',
    'start: A\nA.2: "\\"" | "\\\\" | "\\n" | "\\x41\\u00e9\\U0001F600" | "\\d"',
    "start: /\\\"/ /\\\\\"x/ /'/ /\\'/ /\\n/ /\\x41/ /\\// /[\\/]/",
    'start: /a\n b/x "c\\td"',
    'start: "\\\\\\\\" "\\"\\"" "a\\\\n"',
    # repetitions and optional parts
    "start: x~3 x~0..2 x~49 x~50 x~50..60 x~0..77 x~123..456\nx: A\nA: /a/",
    "start: (A B)~2 (A | B)~1..2 (A | B)~51\nA: /a/\nB: /b/",
    "start: A+ A* (A B)+ (A B)* x\nx: A+ (A B)+ (A | B)*\nA: /a/\nB: /b/",
    'start: [A] [B "c"] [x | "d" A]\nx: [A [B]] ["c"]\nA: /a/\nB: /b/',
    '!start: [A "b"] ["c" "d"]\n_x: "e"\nA: /a/',
    "start: [(A | B C)~2] (((A)))\nA: /a/\nB: /b/\nC: /c/",
    "start: (A | B | A) (A | (B) | C?)\nA: /a/\nB: /b/\nC: /c/",
    "start: A? B? | x -> y\nx: | A | -> z\nA: /a/\nB: /b/",
    "start: a+\na: (b | c)~2..3 -> d\n  | [c] b A?\nb: A\nc: B\nA: /a/\nB: /b/",
    # templates
    'start: list{"a", ","} list{x, "b"} list{list{x, "-"}, ";"}\nlist{i, s}: i (s i)*\nx: "x"',
    'start: t{u, "a"}\nt{f, x}: f{x} f{"b"}\nu{x}: "(" x ")"',
    'start: t{/a+/} t{"a".."c"} t{A}\n!t{x}: x ["k" x]\nA: "q"',
    'start: t{"a"}\nt{x}: x t{x} | "b"\nunused{x}: x "\\x"',
    'start: t{"a"}\nt{x}: u{x, x} [x]\nu{x, y}: x+ y+ v{y, x}\nv{x, y}: x y',
    # statements
    'start: A b\nA: "a"\nb: "b"\n%override A: "c"\n%extend A: "d" | "e"\n%extend b: "f" -> g\n | A',
    '%import common.INT\n%import common (WORD, WS)\n%import common.CNAME -> NAME\nstart: INT WORD NAME\n%ignore WS\n%ignore "x" /y/',
    "%import common.SIGNED_NUMBER\n%import common.DIGIT\n%override DIGIT: /[01]/\nstart: SIGNED_NUMBER DIGIT",
    '%import common.SIGNED_INT\n%import common.INT\n%extend INT: "zero"\nstart: SIGNED_INT INT',
    "%import common.INT -> A\n%import common.INT -> B\nstart: A B",
    "%import python.var\n%import python (funcdef, lambdef)\nstart: var funcdef",
    "start: A B\n%declare A\n%declare B\n%ignore A\n%ignore A",
    'start: used\nused: A | unused2\nunused: unused\nunused2: "b"\nother: unused\nA: /a/\nC: /c/',
    "start: _A _b a\n_A: /a/\n_b: /b/\n?a: /c/\n!?x: /d/",
    # layout
    'start:"a"|"b"//c\n# d\n\n  \n  | "c" // e\n\n\n|"d"\\\n "e"\r\n\r\nx: "f" #g',
    '\n\n  start: "a"\n\t\n \u00a0\u2028\n|"b"',
    'start : "a"\n  x . 2 : "b"\n  Y .+3: "c"',
    'start: "a" /b/ // /c/\n  "d"',
    "start: (A\n | B)\nA: /a/\nB: /b/",
    'start: "a" -> b | -> c',
    'start: "a"?b',
    "start: a ?\na: B\nB: /b/",
    'start: "a"\\',
    "start: A\nA: /a/ \r",
    'start: "//" /[\\/][\\/]/ "#"',
    'start: "a" ; b',
    "a: b\n  c: d",
    "start: A..B",
    'start: "a"i.."b"',
    'start: "a"+?',
    "start: (a|)\n%ignore",
    "%import .x.y\n%import x.z\nstart: y z",
    "%importcommon.INT\nstart: INT",
    "start: (A -> b)\nA: /a/",
    'start: A\nA: t{"a"}\nt{x}: x',
]


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_grammars(text: str) -> None:
    """Each kind of statement, part and layout."""
    compare(text)


def test_most_tricky_grammars_are_read() -> None:
    """And not refused by both."""
    assert sum(map(compare, TRICKY)) > len(TRICKY) * 0.7


def test_imports_of_files(tmp_path: Path) -> None:
    """Names get prefixes, of which there are two for an import of an import; what is not needed is left out."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "words.lark").write_text(
        '%import .deep.more (x, _Y)\n%import common.INT\nw: x _Y "w" _v INT\n_v: W+ | w\nW: "w"i _Y\nunused: "u"\n'
        "%ignore W\n%declare D\n%extend x: W\nt{p}: p x p\n",
        encoding="utf-8",
    )
    (tmp_path / "deep" / "more.lark").write_text('x: y+ "m"\ny: Z [_Y]\n_Y: "y" Z\nZ: /z/', encoding="utf-8")
    main = '%import .words (w, t)\n%import .words.W -> V\n%import .words.D\nstart: w t{"a"} V [W] D\nW: /q/\n%override V: "v"'
    assert compare(main, path=str(tmp_path / "main.lark"))


def texts_of_tests() -> list[str]:
    """Every text in a test about lark that may be a grammar."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "lark" in source.lower():
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and "start:" in node.value:
                    found[node.value] = None
    return [text for text in found if len(text) < 3000 and "\\ud" not in text]


def test_grammars_of_tests() -> None:
    """Those that are literals in them."""
    assert sum(map(compare, texts_of_tests())) > 100


SIGNS = [
    *'abAB_:|()[]{}?*+~.,-> \n\t"/\\!%#0123i=$',
    *('"a"', "/b/", "->", "..", "~2..3", "%ignore", "%declare", "%import common.INT\n", "\n ", "\n|", "a{b}", "[x]"),
    *("//c\n", "\\\n", "\r\n", "\u00a0", "é", '"é"', "\f", "\x1c", "%override ", "%extend "),
]


def mutated(text: str, choose: random.Random) -> str:
    """A text with up to three small changes, of characters, parts or lines."""
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        at, length, lines = choose.randrange(len(text) + 1), choose.randrange(1, 20), text.split("\n")
        one, other = choose.randrange(len(lines)), choose.randrange(len(lines))
        swapped = [lines[{one: other, other: one}.get(number, number)] for number in range(len(lines))]
        text = choose.choice(
            [
                text[:at] + choose.choice(SIGNS) + text[at:],
                text[:at] + text[at + length % 4 :],
                text[:at] + choose.choice(SIGNS) + text[at + 1 :],
                text[: at + length] + text[at:],
                "\n".join(swapped),
                "\n".join([*lines[:one], lines[other], *lines[one:]]),
            ]
        )
    return text


def texts(seeds: range) -> Iterator[str]:
    """Random grammars, and grammars that were right before they were changed."""
    right = [text for text in [*TRICKY, *texts_of_tests()] if len(text) < 1500]
    for seed in seeds:
        choose = random.Random(seed)
        yield random_grammar(seed)
        yield random_ignoring_grammar(seed)
        for _ in range(4):
            yield mutated(choose.choice(right), choose)


def test_changed_grammars() -> None:
    """Both refuse them, or find the same in them."""
    read = [compare(text) for text in texts(range(SEEDS))]
    assert sum(read) > len(read) / 4


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_all_changed_grammars(chunk: int) -> None:
    """Many more of them."""
    size = MORE_SEEDS // 10
    for text in texts(range(1000 + chunk * size, 1000 + (chunk + 1) * size)):
        compare(text)

"""LALR tables that lose texts to conflicts and lexers: no mask leads where no text ends, told by lark itself."""

import itertools
import random

import pytest

lark = pytest.importorskip("lark")

import schemagen  # noqa: E402 - below the import of what may be missing
from schemagen.errors import LimitError  # noqa: E402
from tests.grammars import parses  # noqa: E402

BYTES = schemagen.Vocabulary.byte_vocabulary()
#: Length of the texts that are tried.
LONGEST = 5

GRAMMARS = {
    "a lexer that takes all": ('start: "ab"\nN: /[a ]+/\n%ignore N', "ab "),
    "a terminal that nothing reads": ('start: W " " "b"?\nW: / +/\n%ignore " "\n%ignore "a"', "ab "),
    "a lost reduction": ('start: s "a"\ns: "a" s | "a"', "ab"),
    "a lost branch": ('start: s "a" | "c" "d"\ns: "a" s | "a"', "acd"),
    "a lost way out": ('start: s "a" | s "b"\ns: "a" s | "a"', "ab"),
    "lost between some brackets": ('start: x\nx: "(" x ")" | "[" s "a" "]" | "."\ns: "a" s | "a"', "()[]a."),
    "lost behind some brackets": ('start: ("(" x "a" | "[" x "b")+\nx: "." | "(" x ")" | s\ns: "a" s | "a"', "()[.ab"),
    "an else that dangles": ('start: s+\ns: "i" s "e" s | "i" s | "x"', "iex"),
    "an ignored text that another takes": (
        'start: "(" x Y | "[" x W\nx: X\nX: /a+/\nY: /a+b/\nW.2: /[ ]/\nI: / /\n%ignore I',
        "([ab ",
    ),
    "an ignored text that another takes in one state": (
        'start: "(" x Y | "[" x W | "c" X Y\nx: X\nX: /a+/\nY: /a+b/\nW.2: /[ ]/\nI: / /\n%ignore I',
        "([cab ",
    ),
    "an ignored text that takes more": ('start: "a" "b" | "b"\n%ignore /a+c/\n%ignore /[ac]+/', "abc"),
}


def compare(parser: "lark.Lark", characters: str) -> None:
    """Every short text: whether it may end, and whether it goes on, to an end that lark reads where it is longer."""
    texts = ["".join(text) for length in range(LONGEST + 1) for text in itertools.product(characters, repeat=length)]
    read = {text for text in texts if parses(parser, text)}
    begun = {text[:length] for text in read for length in range(len(text) + 1)}
    try:
        grammar = schemagen.compile(schemagen.Lark(parser), BYTES, cache=None)
    except schemagen.UnsatisfiableSchemaError:
        assert not read
        return
    for text in texts:
        matcher = grammar.matcher()
        if not matcher.accept_bytes(text.encode()):
            assert text not in begun, text
            continue
        assert matcher.is_accepting() == (text in read), text
        if text not in begun:
            assert parses(parser, text + matcher.shortest_completion().decode()), text


@pytest.mark.parametrize("lexer", ["basic", "contextual"])
@pytest.mark.parametrize("name", GRAMMARS)
def test_what_is_allowed_has_an_end(name: str, lexer: str) -> None:
    """Whatever the tables and the lexers have lost."""
    source, characters = GRAMMARS[name]
    compare(lark.Lark(source, parser="lalr", lexer=lexer), characters)


def random_grammar(seed: int) -> str:
    """Short rules over two letters: most have conflicts."""
    choose = random.Random(seed)
    names = ["start", "x", "y"][: choose.randint(2, 3)]

    def alternative() -> str:
        symbols = [*names, '"a"', '"b"', '"a"', '"b"', "W", "x?", '("a"|x)']
        return " ".join(choose.choice(symbols) for _ in range(choose.choice([0, 1, 1, 2, 2, 3])))

    rules = [f"{name}: {' | '.join(alternative() for _ in range(choose.randint(1, 3)))}" for name in names]
    terminal = choose.choice(["a+b", "b+", "c", "ab?", "[ab]c"])
    ignored = choose.choice(["", "", '%ignore " "', "%ignore /a/", "%ignore / +/", "%ignore /[ b]+/"])
    return "\n".join([*rules, f"W: /{terminal}/", ignored])


@pytest.mark.parametrize(
    "seeds",
    [range(60), *(pytest.param(range(at, at + 100), marks=pytest.mark.slow) for at in range(100, 1100, 100))],
    ids=str,
)
def test_random_tables_have_no_dead_ends(seeds: range) -> None:
    """Those that lark makes tables of. One in a thousand has ends that are not found within the limits, which is said."""
    compared = given_up = 0
    for seed in seeds:
        for lexer in ("basic", "contextual"):
            try:
                parser = lark.Lark(random_grammar(seed), parser="lalr", lexer=lexer)
            except lark.exceptions.LarkError:
                continue
            try:
                compare(parser, "abc ")
                compared += 1
            except LimitError:
                given_up += 1
    assert compared > len(seeds) / 2
    assert given_up <= len(seeds) / 50

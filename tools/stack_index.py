"""The picture of an index for a pushdown automaton, by Willard & Louf (2023, section 4), beside what this package keeps.

Both are of their example, a function definition, and made from what the code finds: the trie of a state from
`schemagen.reference.pushdown_index`, and the verdicts on each token from the masks of the compiled engine, for the
same texts with a terminal for names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import schemagen
from schemagen import GBNF, Lark, Vocabulary
from schemagen.draw.drawing import token_label
from schemagen.draw.railroad import Chart, Part, svg_of, text, track, width_of
from schemagen.reference.pushdown import pda_of
from schemagen.reference.pushdown_index import map_states_to_vocab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.reference.pushdown_index import StackTrie
    from schemagen.reference.transducers import State

PYTHON = GBNF(r"""
root ::= "def " name " "* "(" list "):" " pass"
name ::= [a-z_] [a-z0-9_]*
list ::= (name ("," list)?)?
""")
#: The same with a terminal for names, which a lexer finds.
WITH_LEXER = Lark(
    r"""
start: "def " NAME " "* "(" [list] "):" " pass"
list: NAME ["," list]
NAME: /[a-z_][a-z0-9_]*/
""",
    parser="lalr",
)
PIECES = ["d", "ef", " f", "oo(", "):", " ", "pass"]
LETTERS = b"abcdefghijklmnopqrstuvwxyz_0123456789(),: "
NAME = ("name", 0, 0, 1)
PREFIXES = ("def f", "def f(x")
TITLE = "An index of a state within a name as a trie over stack values; beside it what stays in a name, and classes of tails"
LINE, PADDING = 16, 10


class Table(Part):
    """Lines of words in columns, in a frame, with a heading."""

    def __init__(self, heading: str, lines: list[tuple[str, ...]]) -> None:
        self._heading, self._lines = heading, lines
        columns = zip(*lines, strict=True)
        self._widths = [max(map(width_of, column)) + 2 * PADDING for column in columns]
        self.width = max(sum(self._widths), width_of(heading) + PADDING)
        self.up, self.down = 0, LINE * (len(lines) + 1) + PADDING

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the heading, the frame and the words."""
        yield text(self._heading, x, y + LINE - 6, anchor="start", bold=True)
        yield track(f"M{x:g},{y + LINE:g}h{self.width:g}v{LINE * len(self._lines) + PADDING:g}h{-self.width:g}z")
        for number, line in enumerate(self._lines):
            at = x + PADDING
            for word, width in zip(line, self._widths, strict=True):
                yield text(word, at, y + LINE * (number + 2), anchor="start")
                at += width


class Beside(Part):
    """Two columns of tables."""

    def __init__(self, left: list[Table], right: list[Table]) -> None:
        self._columns = (left, right)
        self._widths = [max(table.width for table in column) for column in self._columns]
        self.width = sum(self._widths) + 4 * PADDING
        self.up = 0
        self.down = max(sum(table.down + 2 * PADDING for table in column) for column in self._columns)

    def draw(self, x: float, y: float) -> Iterator[str]:
        """Yield the tables of each column, one below the other."""
        for column, width in zip(self._columns, self._widths, strict=True):
            at = y
            for table in column:
                yield from table.draw(x, at)
                at += table.down + 2 * PADDING
            x += width + 4 * PADDING


def drawing() -> str:
    """Return the picture as an SVG element to stand in a page."""
    svg = svg_of([Chart("", Beside(paper(), ours()))], TITLE, rails=False)
    return svg.replace('<svg class="schemagen"', '<svg class="schemagen" role="img"', 1).rstrip()


def paper() -> list[Table]:
    """Return the trie of a state within a name, and the nodes found in it after each text."""
    pda = pda_of(PYTHON.rules(), LETTERS)
    sigma = map_states_to_vocab(pda, [piece.encode() for piece in PIECES])
    trie = Table("Willard & Louf: the index of the state within name", list(levels(sigma[NAME])))
    looked_up = []
    for prefix in PREFIXES:
        configurations = pda.start()
        for byte in prefix.encode():
            configurations = pda.read(configurations, byte)
        (stack,) = (stack for state, stack in configurations if state == NAME)
        shown = ", ".join(address(value) for value in reversed(stack[1:]))
        looked_up.append((prefix, f"stack {shown}", pieces(sigma[NAME].readable(stack))))
    return [trie, Table("looked up from there", looked_up)]


def levels(trie: StackTrie, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the stack values on the way down a trie, and the tokens there."""
    yield (f"pops {above}" if above else "pops nothing", pieces(trie.tokens))
    for value, below in trie.children.items():
        yield from levels(below, ", ".join(filter(None, (above, address(value)))))


def address(value: State) -> str:
    """Return a stack value: the rule and the item to return to."""
    rule, item = value
    return f"{rule}·{item}"


def ours() -> list[Table]:
    """Return the tokens by the part of a name that they leave, and the verdicts of the masks on each class."""
    vocabulary = Vocabulary.from_tokens([*PIECES, None], eos_token_ids=[len(PIECES)])
    grammar = schemagen.compile(WITH_LEXER, vocabulary)
    allowed = []
    for prefix in PREFIXES:
        matcher = grammar.matcher()
        assert matcher.accept_bytes(prefix.encode())
        allowed.append(set(matcher.allowed_tokens()))
    classes: dict[str, set[int]] = {}
    for token_id, piece in enumerate(PIECES):
        classes.setdefault(re.sub("^[a-z0-9_]+", "", piece), set()).add(token_id)
    staying = classes.pop("")
    assert all(staying <= each for each in allowed)
    verdicts = [("tail", "tokens", *(f"after {prefix}" for prefix in PREFIXES))]
    for tail, tokens in classes.items():
        assert all(tokens <= each or not tokens & each for each in allowed)
        words = ("allowed" if tokens <= each else "masked" for each in allowed)
        verdicts.append((token_label(tail.encode()), pieces(tokens), *words))
    kept = Table("here: tokens that stay within NAME, wherever it is read", [(pieces(staying),)])
    return [kept, Table("classes of tails: whether one may follow, the parser says", verdicts)]


def pieces(token_ids: set[int]) -> str:
    """Return tokens in the order of the vocabulary."""
    return "  ".join(token_label(PIECES[token_id].encode()) for token_id in sorted(token_ids)) or "none"

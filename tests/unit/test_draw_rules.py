"""`Grammar.draw("rules")`: what stands in a diagram is what the rules say, and the SVG is well made."""

import re
import typing as t
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import schemagen
from schemagen import GBNF, Lark, Regex
from schemagen.context_free.syntax import Alternatives, Expression, Repeat, Rule, Sequence, Text
from schemagen.draw import Drawing
from schemagen.draw.railroad import MAX_WIDTH, Box, Chart, Fork, Loop, Part, Row, Skip, row, svg_of
from schemagen.draw.rules import with_loops

BYTES = schemagen.Vocabulary.byte_vocabulary()
SUMS = r"""
start: sum
sum: atom ("+" atom)*
atom: NUMBER | "(" sum ")" | NAME "(" [sum ("," sum)*] ")"
NUMBER: /[0-9]+/
NAME: /[a-z]+/
COMMENT: /#[^\n]*/
%ignore COMMENT
"""
LIST = 'root ::= "(" item ("," item)* ")"\nitem ::= root | [0-9]+'


def drawn(spec: object, **options: object) -> Drawing:
    """Draw the rules of a grammar."""
    return schemagen.compile(spec, BYTES, cache=None).draw(**options)  # type: ignore[arg-type]


def labels(drawing: Drawing) -> list[str]:
    """Return what is written, from top to bottom."""
    return re.findall(r"<text [^>]*>([^<]*)</text>", drawing.svg().replace("&quot;", '"'))


def test_rules_come_first_and_terminals_behind_them() -> None:
    """A repetition is a loop of the rule that it stands in, not the rule that lark made of it."""
    written = labels(drawn(Lark(SUMS)))
    assert written[: written.index("NAME", written.index("COMMENT (ignored)"))][-2:] == [
        "COMMENT (ignored)",
        r"/#[^\n]*/",
    ]
    assert written[:3] == ["start", "sum", "sum"]
    assert written[3:6] == ["atom", '"+"', "atom"]
    assert not any("__" in each for each in written)


def test_both_parsers_of_lark_have_the_same_picture() -> None:
    """The rules are the same."""
    one, other = (drawn(Lark(SUMS, parser=parser)) for parser in ("earley", "lalr"))
    assert sorted(labels(one)) == sorted(labels(other))


def test_the_graph_is_that_of_the_position_automaton() -> None:
    """In Mermaid and DOT an edge stands wherever one symbol may follow another."""
    drawing = drawn(GBNF(LIST))
    names = {node.name: node.label for node in drawing.nodes}
    edges = {(names[edge.source], names[edge.target]) for edge in drawing.edges}
    assert edges == {
        ("root", '"("'), ('"("', "item"), ("item", '","'), ('","', "item"), ("item", '")"'), ('")"', ""),
        ("item", "/[0-9]+/"), ("item", "root"), ("/[0-9]+/", ""), ("root", ""),
    }  # fmt: skip
    assert "digraph" in drawing.dot()
    assert "flowchart LR" in drawing.mermaid()


def test_svg_needs_no_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run; what is saved is XML in the colour of the text around it, with a title."""
    monkeypatch.setenv("PATH", "")
    path = tmp_path / "rules.svg"
    drawn(GBNF(LIST)).save(path)
    root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - of our own
    assert root.tag.endswith("svg")
    assert [each.text for each in root if each.tag.endswith("title")] == ["2 rules; terminals are round"]
    assert {each.get("stroke") for each in root.iter() if each.get("stroke")} == {"currentColor"}


def test_many_rules_are_cut_and_counted() -> None:
    """The nearest to the start are drawn."""
    rules = [f'r{at} ::= "a" r{at + 1} | r{at + 1} "b"' for at in range(9)]
    text = "\n".join(["root ::= r0", *rules, 'r9 ::= "c"'])
    drawing = drawn(GBNF(text), max_states=3)
    assert drawing.caption == "3 rules; terminals are round; 8 more rules not drawn"


def test_what_is_no_grammar_text_has_no_rules() -> None:
    """A pattern and a schema are refused with what to do."""
    for spec in (Regex("a"), {"type": "integer"}):
        with pytest.raises(schemagen.OptionError, match="what='rules'"):
            drawn(spec, what="rules")


def test_counts_are_written_at_the_way_back() -> None:
    """Bounds of repetitions are not lost."""
    written = labels(drawn(GBNF('root ::= "<" x{2,5} x{3} y{2,} ">"\nx ::= "a" root?\ny ::= "b" root?')))
    assert [each for each in written if "times" in each or "least" in each] == ["2 to 5 times", "3 times", "at least 2"]


WORD = Box("word", "terminal")
PARTS: list[Part] = [
    WORD, Skip(), Row([WORD, WORD]), Fork([Skip(), WORD, Row([WORD, WORD])]), Loop(WORD), Loop(Fork([WORD, WORD]), "3 times"),
    Fork([Skip(), Loop(Row([WORD, Fork([Skip(), WORD])]))]), row([WORD] * 40), row([Loop(Fork([WORD, WORD, WORD]))] * 20),
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_part_ends_where_it_says_and_stays_within(part: Part) -> None:
    """The pieces of track are walked: they lie within the bounds, and one ends at the right end, on the track."""
    ends: set[tuple[float, float]] = {(100.0, 100.0)} if not part.width else set()
    for element in part.draw(100, 100):
        for x, y in walked(element):
            assert 100 - 0.01 <= x <= 100 + part.width + 0.01
            assert 100 - max(part.up, 0) - 0.01 <= y <= 100 + part.down + 0.01
            ends.add((round(x, 2), round(y, 2)))
    assert (round(100 + part.width, 2), 100.0) in ends
    assert part.width <= MAX_WIDTH + 200


def walked(element: str) -> list[tuple[float, float]]:
    """Return the points of an element: of a path its corners, of a box those of its sides."""
    box = re.match(r'<rect .*?x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)"', element)
    if box:
        x, y, width, height = map(float, box.groups())
        return [(x, y), (x + width, y + height), (x + width, y + height / 2)]
    path = re.search(r' d="([^"]+)"', element)
    if not path:
        return []
    x = y = 0.0
    points = []
    for letter, numbers in re.findall(r"([a-zA-Z])([^a-zA-Z]*)", path[1]):
        values = [float(each) for each in re.findall(r"-?[\d.]+", numbers)]
        if letter in "hv":
            x, y = (x + values[0], y) if letter == "h" else (x, y + values[0])
        elif letter in "HV":
            x, y = (values[0], y) if letter == "H" else (x, values[0])
        elif letter == "M":
            x, y = values
        elif letter in "al":
            steps = values[-2:] if letter == "a" else [sum(values[::2]), sum(values[1::2])]
            x, y = x + steps[0], y + steps[1]
        points.append((x, y))
    return points


def test_an_expression_of_each_kind_has_its_part() -> None:
    """No symbol is lost on the way."""
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.draw.rules import draw_rules
    from schemagen.regex import ast

    body = Sequence((Text(ast.literal("a")), Alternatives((Rule("root"), Sequence(()))), Repeat(Rule("root"), 0, None)))
    drawing = draw_rules(ContextFreeGrammar("root", {"root": body}), max_rules=9)
    assert labels(drawing) == ["root", '"a"', "root", "root"]
    assert svg_of([Chart("x", Skip())], "empty").count("<path") == 2


@pytest.mark.parametrize(
    "text",
    [
        SUMS,
        'start: A [B] [C C] [A B C] C\nA: "a"\nB: "b"\nC: "c"',
        'start: A | start B A | [A B] C+ (A | B)* | B? C? A?\nA: "a"\nB: "b"\nC: "c"',
        'start: (A | B C*)+ x?\nx: [A] start?\nA: "a"\nB: "b"\nC: "c"',
    ],
    ids=range(4),
)
@pytest.mark.parametrize("parser", ["earley", "lalr"])
def test_what_is_drawn_derives_the_same(text: str, parser: t.Any) -> None:
    """Loops and options in place of lark's alternatives change no sequence of terminals."""
    try:
        rules = Lark(text, parser=parser).rules().rules
    except schemagen.UnsupportedGrammarError:
        pytest.skip("LALR cannot read it")
    drawn_rules = with_loops(rules)
    assert len(drawn_rules) <= len(rules)
    assert derived(drawn_rules) == derived(rules)


def derived(rules: dict[str, Expression]) -> set[tuple[str, ...]]:
    """Return the sequences of up to five terminals that the start derives, by brute force."""

    def of(expression: Expression, known: dict[str, set[tuple[str, ...]]]) -> set[tuple[str, ...]]:
        if isinstance(expression, Rule):
            return known[expression.name]
        if isinstance(expression, Alternatives):
            return set().union(*(of(part, known) for part in expression.parts))
        if isinstance(expression, Sequence):
            found: set[tuple[str, ...]] = {()}
            for part in expression.parts:
                found = {one + other for one in found for other in of(part, known) if len(one + other) <= 5}
            return found
        if isinstance(expression, Repeat):
            high = 5 if expression.high is None else expression.high
            copies = range(expression.low, max(high, expression.low) + 1)
            return set().union(*(of(Sequence((expression.inner,) * count), known) for count in copies))
        return {(repr(expression),)}

    known: dict[str, set[tuple[str, ...]]] = {name: set() for name in rules}
    while True:
        more = {name: of(body, known) for name, body in rules.items()}
        if more == known:
            return known["start"]
        known = more

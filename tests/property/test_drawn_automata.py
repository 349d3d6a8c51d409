"""A drawn automaton is the automaton: reading texts along its edges accepts what the engine and Python's `re` accept."""

import importlib.util
import re
import sys
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st

import schemagen
from schemagen import Regex, Vocabulary, reference
from schemagen.draw import Drawing, automaton

_SPEC = importlib.util.spec_from_file_location(
    "schemagen_drawn_cases", Path(__file__).parents[1] / "suite" / "cases.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
suite = importlib.util.module_from_spec(_SPEC)
sys.modules["schemagen_drawn_cases"] = suite
_SPEC.loader.exec_module(suite)

CASES = [case for case in suite.load_cases() if case.schema is not None and "native" in case.engines]
BYTES = Vocabulary.byte_vocabulary()
ATOMS = st.sampled_from(["a", "b", "ab", "é", "€", "😀", "[ab]", "[^a]", ".", "[0-9]", " ", r"\.", "[é-€]"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "?", "{2}", "{1,3}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=5,
)
TEXTS = st.text(alphabet="ab é€😀.1\n", max_size=8)


def accepts(drawing: Drawing, text: str) -> bool:
    """Read a text along the edges; a label is an expression that says what its edge reads."""
    ends = {node.name for node in drawing.nodes if node.kind == "accepting"}
    moves = [(e.source, re.compile(e.label.replace("␣", " ")), e.target) for e in drawing.edges if e.source != "start"]
    reached = {("s0", 0)}
    waiting = list(reached)
    for name, position in waiting:
        for source, label, target in moves:
            read = label.match(text, position) if source == name else None
            if read and (target, read.end()) not in reached:
                reached.add((target, read.end()))
                waiting.append((target, read.end()))
    return any(name in ends and position == len(text) for name, position in reached)


@settings(max_examples=150)
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=5, max_size=5), data=st.data())
def test_a_drawing_reads_what_the_engine_reads(pattern: str, texts: list[str], data: st.DataObject) -> None:
    """Any text, and one of the language, is accepted by all three or by none.

    A class of very many ranges is abbreviated, so that there is no such class among the patterns; so are long texts.
    """
    grammar = schemagen.compile(Regex(pattern), BYTES)
    with mock.patch.object(automaton, "MAX_LABEL", 10_000):
        drawing = grammar.draw(max_states=10_000)
    assert "more" not in {node.name for node in drawing.nodes}
    inside = data.draw(st.from_regex(f"(?s:{pattern})", fullmatch=True, alphabet=st.characters(codec="utf-8")))
    for text in [*texts, inside]:
        matcher = grammar.matcher()
        expected = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
        assert accepts(drawing, text) == expected
        assert bool(re.fullmatch(pattern, text)) == expected


def test_a_long_text_is_abbreviated_and_read_in_full():
    """A label longer than `MAX_LABEL` shows its ends; the automaton behind it is the same."""
    pattern = "(?:€){2}(?:(?:😀){2}){2}"
    grammar = schemagen.compile(Regex(pattern), BYTES)
    assert any("…" in edge.label for edge in grammar.draw().edges)
    with mock.patch.object(automaton, "MAX_LABEL", 10_000):
        assert accepts(grammar.draw(), "€€😀😀😀😀")


@settings(max_examples=60)
@given(pattern=PATTERNS)
def test_every_edge_of_an_index_is_a_token_that_is_allowed(pattern: str) -> None:
    """The tokens on the edges are those of Algorithm 4, each at the state that it leaves."""
    engine = reference.engine(Regex(pattern), BYTES)
    drawing = schemagen.compile(Regex(pattern), BYTES).draw("index", max_states=10_000, max_tokens=1_000)
    drawn: dict[str, int] = {}
    for edge in drawing.edges:
        if edge.source != "start":
            drawn[edge.source] = drawn.get(edge.source, 0) + len(edge.label.replace("\n", "  ").split("  "))
    states = {node.name: node for node in drawing.nodes if node.kind in {"state", "accepting"}}
    assert len(states) == engine.state_count
    expected = sorted(len(tokens) for tokens in engine.token_index.values())
    assert sorted(drawn.get(name, 0) for name in states) == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_schema_of_the_suite_is_drawn(case) -> None:
    """The pushdown of any schema has nodes of different names, all of them reached, and says what it leaves out."""
    drawing = case.compile(BYTES, "native").draw(max_states=6)
    names = [node.name for node in drawing.nodes]
    assert len(names) == len(set(names)) <= 9
    assert {"start", *(edge.target for edge in drawing.edges)} == set(names)
    assert {edge.source for edge in drawing.edges} <= set(names)
    assert ("more" in names) == drawing.caption.endswith("not drawn")
    assert drawing.mermaid()
    assert drawing.dot()

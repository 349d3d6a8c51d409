"""Pictures: what is drawn, how it is written, and what is said where something is left out."""

import re
import shutil
import subprocess
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import schemagen
from schemagen import Choice, Regex, Vocabulary
from schemagen.draw import Drawing, Edge, Node
from schemagen.draw.drawing import MAX_SECONDS, class_label, text_label, token_label, token_list

BYTES = Vocabulary.byte_vocabulary()
PAPER = Vocabulary.from_tokens(["A", ".", "42", ".2", "1", None], eos_token_ids=[5])
FLOAT = Regex(r"([0-9]*)?\.?[0-9]*")
PAIR = Drawing((Node("a", "A"), Node("b", "B")), (Edge("a", "b", "x"),), "a pair")


class Leaf(BaseModel):
    word: str


class Tree(BaseModel):
    kind: Literal["oak", "fir"]
    leaves: list[Leaf]
    twin: "Tree | None" = None


def nodes_of(drawing: Drawing) -> dict[str, str]:
    """Label by name."""
    return {node.name: node.label for node in drawing.nodes}


def edges_of(drawing: Drawing) -> set[tuple[str, str, str]]:
    """Source, label, target."""
    return {(edge.source, edge.label, edge.target) for edge in drawing.edges}


class TestAutomaton:
    def test_example_1_of_the_paper(self):
        """The minimal machine of Example 1 has two states, before and after the point, and may end in both."""
        drawing = schemagen.compile(FLOAT, PAPER).draw()
        assert edges_of(drawing) == {
            ("start", "", "s0"),
            ("s0", "[0-9]", "s0"),
            ("s0", r"\.", "s1"),
            ("s1", "[0-9]", "s1"),
        }
        assert [node.kind for node in drawing.nodes] == ["start", "accepting", "accepting"]

    def test_choices_share_their_beginning(self):
        """A text without a choice in it is one edge."""
        drawing = schemagen.compile(Choice(["never", "new"]), BYTES).draw()
        assert edges_of(drawing) == {("start", "", "s0"), ("s0", "ne", "s1"), ("s1", "ver", "s2"), ("s1", "w", "s2")}

    def test_characters_are_one_step(self):
        """The bytes of a character are no states of the drawing, and classes are written by what they leave out."""
        drawing = schemagen.compile(Regex(r'é[^"\\]'), BYTES).draw()
        assert edges_of(drawing) == {("start", "", "s0"), ("s0", "é", "s1"), ("s1", r'[^"\\]', "s2")}

    def test_a_type_that_is_not_recursive_has_one(self):
        """On request a type is drawn by its characters, too."""
        grammar = schemagen.compile({"enum": [True, None]}, BYTES)
        assert edges_of(grammar.draw("automaton")) == {
            ("start", "", "s0"),
            ("s0", "true", "s1"),
            ("s0", "null", "s1"),
        }

    def test_a_large_one_is_cut_and_says_so(self):
        """The states nearest to the start are drawn, the others counted."""
        drawing = schemagen.compile(Regex("[ab]{1000}"), BYTES).draw(max_states=5)
        assert len(drawing.nodes) == 7  # the start, five states, the rest
        assert nodes_of(drawing)["more"] == "… 996 more states"
        assert "996 more states not drawn" in drawing.caption

    def test_a_huge_one_is_not_explored_to_its_end(self):
        """What is far beyond the drawing is not even counted."""
        drawing = schemagen.compile(Regex("[ab]{9000}"), BYTES).draw(max_states=5)
        assert nodes_of(drawing)["more"] == "… at least 3,996 more states"

    def test_one_that_is_too_large_is_refused(self):
        """What cannot be built whole is not drawn, and the error names other pictures."""
        grammar = schemagen.compile(Regex("[ab]{9000}"), BYTES, limits=schemagen.Limits(max_states=100))
        with pytest.raises(schemagen.LimitError) as caught:
            grammar.draw("automaton")
        assert "draw 'mask'" in caught.value.fix

    def test_recursion_has_none(self):
        """No finite automaton counts brackets; the error says so."""
        with pytest.raises(schemagen.UnsupportedSchemaError) as caught:
            schemagen.compile(Tree, BYTES).draw("automaton")
        assert caught.value.code == "not-regular"

    def test_keys_in_any_order_have_none(self):
        """The automaton of one order is not that of the grammar, so it is not drawn for it."""
        grammar = schemagen.compile(Leaf, BYTES, property_order="any")
        with pytest.raises(schemagen.UnsupportedSchemaError) as caught:
            grammar.draw("index")
        assert caught.value.code == "not-regular"
        assert nodes_of(grammar.draw())["n0"] == 'Leaf\n"word": string'


class TestPushdown:
    def test_a_recursive_type(self):
        """Objects and arrays are nodes, brackets push and pop, and recursion is a cycle."""
        drawing = schemagen.compile(Tree, BYTES).draw()
        assert nodes_of(drawing) == {
            "start": "",
            "n0": 'Tree\n"kind": "fir" | "oak"\n"leaves": [ ]\n"twin"?: null | { }',
            "n1": "Leaves\nitems: { }",
            "n2": 'Leaf\n"word": string',
        }
        assert edges_of(drawing) == {
            ("start", "{", "n0"),
            ("n0", '"leaves": [', "n1"),
            ("n1", "]", "n0"),
            ("n0", '"twin": { }', "n0"),
            ("n1", "items: {", "n2"),
            ("n2", "}", "n1"),
        }

    def test_what_values_may_be_is_written_in_a_node(self):
        """Bounds, formats, lengths and lists of values are said in a few words."""
        schema = {
            "properties": {
                "a": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
                "b": {"type": "string", "format": "date", "maxLength": 10},
                "c": {"type": ["boolean", "null"]},
                "d": {"enum": [1, 2, 3, 4, 5]},
                "e": {"type": "number", "multipleOf": 0.5},
                "f": {"type": "string", "pattern": "^x"},
            },
            "additionalProperties": False,
            "type": "object",
            "minProperties": 2,
        }
        assert nodes_of(schemagen.compile(schema, BYTES).draw())["n0"].split("\n") == [
            "object",
            '"a"?: integer ≥ 1 < 9',
            '"b"?: string (date, 0 to 10 characters)',
            '"c"?: null | boolean',
            '"d"?: 1 | 2 | 3 | … 5 values',
            '"e"?: number, multiple of 0.5',
            '"f"?: string (pattern)',
            "2 members or more",
        ]

    def test_tuples_and_open_objects(self):
        """Items by place, keys that are not declared, and `any` for everything."""
        schema = {
            "type": "array",
            "prefixItems": [{"type": "object"}],
            "items": {"type": "null"},
            "maxItems": 3,
        }
        drawing = schemagen.compile(schema, BYTES).draw()
        assert nodes_of(drawing)["n0"] == "array\nitem 0: { }\nother items: null\n0 to 3 items"
        assert nodes_of(drawing)["n1"] == "object\nother keys: any"
        drawing = schemagen.compile({"items": {"type": "integer"}, "type": "array", "uniqueItems": True}, BYTES).draw()
        assert nodes_of(drawing)["n0"] == "array\nitems: integer\nall different"

    def test_values_beside_containers_are_drawn(self):
        """A schema of a scalar, and one that allows a scalar or an object, say so."""
        assert nodes_of(schemagen.compile({"type": "string"}, BYTES).draw())["scalars"] == "string"
        drawing = schemagen.compile({"type": ["null", "object"], "additionalProperties": False}, BYTES).draw()
        assert nodes_of(drawing) == {"start": "", "scalars": "null | { }", "n0": "object"}

    def test_any_value_at_all(self):
        """The schema `true` is an object or array of anything."""
        assert set(nodes_of(schemagen.compile(True, BYTES).draw())) == {"start", "scalars", "n0", "n1"}

    def test_a_large_one_is_cut_and_says_so(self):
        """Objects beyond the limit are one node."""
        schema: Any = {"type": "null"}
        for _ in range(10):
            schema = {"type": "object", "properties": {"a": schema}, "additionalProperties": False}
        drawing = schemagen.compile(schema, BYTES).draw(max_states=3)
        assert len(drawing.nodes) == 5
        assert ("n2", '"a": {', "more") in edges_of(drawing)
        assert drawing.caption.endswith("not drawn")

    def test_many_members_are_cut(self):
        """An object with hundreds of members stays a picture."""
        schema = {"type": "object", "properties": {f"k{i}": {"type": "null"} for i in range(300)}}
        assert len(nodes_of(schemagen.compile(schema, BYTES).draw())["n0"].split("\n")) < 20

    def test_patterns_have_none(self):
        """A pattern is regular; asking for its stack is a mistake."""
        with pytest.raises(ValueError, match="choose 'automaton'"):
            schemagen.compile(FLOAT, PAPER).draw("pushdown")


class TestIndex:
    def test_example_1_of_the_paper(self):
        """Behind the point "42" and "1" are left, before it everything but "A"."""
        drawing = schemagen.compile(FLOAT, PAPER).draw("index")
        assert edges_of(drawing) == {
            ("start", "", "s0"),
            ("s0", "42  1", "s0"),
            ("s0", ".  .2", "s1"),
            ("s1", "42  1", "s1"),
        }
        assert nodes_of(drawing) == {"start": "", "s0": "0\n4 tokens", "s1": "1\n2 tokens"}

    def test_tokens_are_counted_where_they_are_not_listed(self):
        """The first are listed, all are counted."""
        drawing = schemagen.compile(Regex("[a-z]"), BYTES).draw("index", max_tokens=3)
        assert ("s0", "a  b  c\n… 26 tokens", "s1") in edges_of(drawing)

    def test_it_is_cut_and_says_so(self):
        """States beyond the limit are one node."""
        drawing = schemagen.compile(Regex("a{50}"), BYTES).draw("index", max_states=3)
        assert ("s2", "a", "more") in edges_of(drawing)
        assert "51 states, 3 of them are drawn" in drawing.caption


class TestMask:
    def test_figure_1_of_the_paper(self):
        """Each token of a small vocabulary is a node, allowed or masked."""
        drawing = schemagen.compile(FLOAT, PAPER).draw("mask", after=".2")
        assert [(node.label, node.kind) for node in drawing.nodes] == [
            (".2", "text"),
            ("A", "masked"),
            (".", "masked"),
            ("42", "allowed"),
            (".2", "masked"),
            ("1", "allowed"),
            ("the end of the text", "allowed"),
        ]
        assert drawing.caption == "3 of 6 tokens are allowed, 3 are masked"

    def test_a_large_vocabulary_is_counted(self):
        """Allowed tokens by what they begin with; the others as a number."""
        drawing = schemagen.compile(dict[str, int], BYTES).draw("mask", after=b'{"a": 1', max_tokens=4)
        assert [node.label for node in drawing.nodes] == [
            '{"a":␣1',
            "digits\n0  1  2  3\n… 10 tokens",
            "spaces\n\\n  ␣",
            "signs\n,  }",
            "243 tokens are masked",
        ]

    def test_the_end_of_the_text_is_drawn(self):
        """Where a text may end, that is one of the things that may follow."""
        drawing = schemagen.compile({"enum": [1, 12]}, BYTES).draw("mask", after="1")
        assert "the end of the text" in nodes_of(drawing).values()

    def test_no_such_text(self):
        """Behind a text that cannot begin there is no mask."""
        with pytest.raises(schemagen.MatcherError, match="no text begins with 'A'"):
            schemagen.compile(FLOAT, PAPER).draw("mask", after="A")


class TestTexts:
    def test_labels_are_expressions(self):
        """A label matches what it stands for; a space is seen."""
        for text in ["a.b", "[x]", "{1}", '{"a": 2}', "a|b?", "\\", "\n\t", "naïve", "…"]:
            assert re.fullmatch(text_label(text).replace("␣", " "), text)
        assert class_label(((0x30, 0x39),)) == "[0-9]"
        assert class_label(((0x2D, 0x2D), (0x5D, 0x5E))) == r"[\-\]\^]"
        assert class_label(((0, 0x21), (0x23, 0x10FFFF))) == '[^"]'
        assert class_label(((0, 0x10FFFF),)) == r"[\s\S]"
        assert class_label(tuple((point, point) for point in range(0x41, 0x5B, 2))) == "[ACEGIKMO…]"

    def test_tokens(self):
        """Bytes that are no text are numbers; lists are cut."""
        assert token_label("é ".encode() + b"\xff") == "é␣\\xff"
        assert token_list([b"a", b"b", b"c"], 2) == "a  b\n… 3 tokens"

    def test_mermaid_has_nothing_to_misread(self):
        """Quotes, brackets and Markdown in a label are written by number."""
        drawing = Drawing((Node("a", '1. "`x`" <b>#;|[\n2'),), (), "two\nlines")
        text = drawing.mermaid()
        assert text.splitlines()[0] == "%% two lines"
        (label,) = re.findall(r'"([^"]*)"', text)
        assert re.fullmatch(r"[\w =,…␣-]+", re.sub(r"#\d+;|<br>", "", label))
        assert Drawing((Node("a", r"[\n]"),), ()).mermaid().endswith('a(("#91;#92;#8203;n#93;"))\n')

    def test_dot_escapes(self):
        """Quotes and backslashes of a label reach DOT as they are, lines are centred, those of a value a list."""
        text = Drawing((Node("a", 'x"\\n\ny', "state"), Node("b", "B\nc\nd", "value")), ()).dot()
        assert r'a [shape=circle margin=0.02 label="x\"\\n\ny"]' in text
        assert r'b [shape=box label="B\nc\ld\l"]' in text

    def test_notebooks_show_it(self):
        """Markdown with Mermaid in it, which is also what a file of Markdown gets."""
        assert PAIR._repr_markdown_() == f"```mermaid\n{PAIR.mermaid()}```\n"
        assert str(PAIR) == PAIR.mermaid()

    def test_files(self, tmp_path):
        """The suffix says what is written."""
        for suffix, text in {".mmd": PAIR.mermaid(), ".dot": PAIR.dot(), ".md": PAIR._repr_markdown_()}.items():
            PAIR.save(tmp_path / f"pair{suffix}")
            assert (tmp_path / f"pair{suffix}").read_text(encoding="utf-8") == text
        with pytest.raises(ValueError, match=r"'pair\.png' ends with none of"):
            PAIR.save(tmp_path / "pair.png")

    def test_a_misspelt_picture(self):
        """The kinds are named."""
        with pytest.raises(ValueError, match="'automaton', 'pushdown', 'rules', 'index', 'mask'"):
            schemagen.compile(FLOAT, PAPER).draw("dfa")


class TestSvg:
    def test_without_graphviz(self, monkeypatch):
        """The error says what is missing and what does without it."""
        monkeypatch.setattr(shutil, "which", lambda _: None)
        with pytest.raises(schemagen.SchemagenError) as caught:
            PAIR.svg()
        assert caught.value.code == "no-graphviz"
        assert "mermaid()" in caught.value.fix

    @pytest.mark.parametrize(
        "error",
        [subprocess.TimeoutExpired("dot", MAX_SECONDS), subprocess.CalledProcessError(1, "dot", stderr=b"syntax")],
        ids=["slow", "broken"],
    )
    def test_a_layout_that_fails(self, monkeypatch, error):
        """A layout that takes forever is stopped, and what went wrong is said."""

        def run(*_arguments, **_options):
            raise error

        monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/dot")
        monkeypatch.setattr(subprocess, "run", run)
        with pytest.raises(schemagen.SchemagenError, match="made no picture") as caught:
            PAIR.svg()
        assert caught.value.why in {"syntax", f"it took longer than {MAX_SECONDS} s"}

    def test_what_graphviz_makes_is_adapted(self, monkeypatch):
        """The picture takes the colour of the text around it, and has no identifiers that another picture may have."""
        made = (
            '<?xml?>\n<svg width="8pt"\n xmlns="x">\n<g id="n1"><text x="1">A</text><path stroke="black"/></g></svg>\n'
        )
        monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/dot")
        monkeypatch.setattr(
            subprocess, "run", lambda *_a, **_k: subprocess.CompletedProcess([], 0, stdout=made.encode())
        )
        svg = PAIR.svg()
        assert svg.startswith('<svg class="schemagen" width="8pt"')
        assert '<text fill="currentColor" x="1">' in svg
        assert 'stroke="currentColor"' in svg
        assert "id=" not in svg

    @pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
    def test_with_graphviz(self, tmp_path):
        """Every kind of picture is laid out."""
        PAIR.save(tmp_path / "pair.svg")
        assert "</svg>" in (tmp_path / "pair.svg").read_text(encoding="utf-8")
        for what in ("automaton", "index", "mask"):
            assert "</svg>" in schemagen.compile(FLOAT, PAPER).draw(what).svg()
        assert ">Leaf</text>" in schemagen.compile(Tree, BYTES).draw().svg()

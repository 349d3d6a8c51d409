"""Make the pictures of the documentation, docs/pictures/*.svg, from the code that they show.

    python tools/pictures.py            all of them (needs `dot` of Graphviz)
    python tools/pictures.py demo help  only these

Pictures of automata are laid out by `dot`; what it is given is noted in each file by its digest, so that a test sees an
outdated picture without `dot`. They are made to stand in a page: drawn in the colour of the text, whatever that is.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, TypeAdapter

import schemagen
from schemagen import Choice, Regex, Vocabulary
from schemagen.draw import Drawing, Edge, Node

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"

FLOAT = Regex(r"([0-9]*)?\.?[0-9]*")
WORDS = Choice(["high", "low"])
PAPER = Vocabulary.from_tokens(["A", ".", "42", ".2", "1", None], eos_token_ids=[5])


class Answer(BaseModel):
    """A class whose automaton is small enough to be seen whole."""

    ok: bool


class Point(BaseModel):
    """The class of the page How it works."""

    x: int
    label: str | None = None


class Tree(BaseModel):
    """A recursive type."""

    value: int
    children: list[Tree] = []


@lru_cache(maxsize=1)
def bundled() -> Vocabulary:
    """Return the vocabulary of the bundled model."""
    return schemagen.load_bundled().vocabulary


def from_a_class_to_a_mask() -> Drawing:
    """The whole way: the class, its JSON Schema, its automaton, and the mask in one state."""
    vocabulary = bundled()
    grammar = schemagen.compile(Answer, vocabulary, whitespace="compact")
    automaton = grammar.draw("automaton")
    schema = TypeAdapter(Answer).json_schema()
    kind = schema["properties"]["ok"]["type"]
    behind = '{"ok":'
    mask = grammar.draw("mask", after=behind)
    (allowed,) = (node for node in mask.nodes if node.kind == "allowed")
    (masked,) = (node for node in mask.nodes if node.kind == "masked")
    tokens = allowed.label.partition("\n")[2]
    nodes = (
        Node("class", "class Answer(BaseModel):\n    ok: bool", "value"),
        Node("schema", f'JSON Schema\n"type": "{schema["type"]}"\n"ok": "{kind}"\n"required": ["ok"]', "value"),
        *(node for node in automaton.nodes if node.kind != "start"),
        Node("allowed", f"allowed behind {behind}\n{tokens}", "allowed"),
        masked,
    )
    edges = (
        Edge("class", "schema", "pydantic"),
        Edge("schema", "s0", "compile"),
        *(edge for edge in automaton.edges if edge.source != "start"),
        Edge("s1", "allowed", kind="more"),
        Edge("s1", "masked", kind="beside"),
    )
    return Drawing(nodes, edges, "From a class to a mask: JSON Schema, automaton, tokens", sideways=False)


def titled(drawing: Drawing, caption: str) -> Drawing:
    """Return a drawing with another caption, the title that readers of the page hear."""
    return replace(drawing, caption=caption)


def pushdown_of_a_tree() -> Drawing:
    """A type that contains itself."""
    return titled(schemagen.compile(Tree, bundled()).draw(), "The pushdown automaton of a tree")


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "from-a-class-to-a-mask": from_a_class_to_a_mask,
    "example-1-automaton": lambda: schemagen.compile(FLOAT, PAPER).draw(),
    "example-1-index": lambda: schemagen.compile(FLOAT, PAPER).draw("index"),
    "example-1-mask": lambda: schemagen.compile(FLOAT, PAPER).draw("mask", after=".2"),
    "choice-index": lambda: schemagen.compile(WORDS, bundled()).draw("index"),
    "point-mask": lambda: schemagen.compile(Point, bundled()).draw("mask", after='{"x": 1'),
    "tree-pushdown": pushdown_of_a_tree,
}


ALL = (*DRAWINGS,)


def digest(text: str) -> str:
    """Return what a picture is recognised by."""
    return sha256(text.encode()).hexdigest()[:16]


def drawn(drawing: Drawing) -> str:
    """Return a drawing as an SVG element to stand in a page: the page says the colour, not the reader's system."""
    svg = re.sub(r"<style>.*?</style>\n?", "", drawing.svg())
    svg = re.sub(r"<!--.*?-->\n?", "", svg)
    svg = svg.replace('<svg class="schemagen"', '<svg class="schemagen" role="img"', 1)
    return f"<!-- tools/pictures.py {digest(drawing.dot())} -->\n{svg.rstrip()}\n"


def main() -> None:
    """Write the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)}; all without a name")
    names = parser.parse_args().names or ALL
    unknown = set(names) - set(ALL)
    if unknown:
        parser.error(f"there is no picture {', '.join(sorted(unknown))}")
    FOLDER.mkdir(exist_ok=True)
    for name in names:
        (FOLDER / f"{name}.svg").write_text(drawn(DRAWINGS[name]()), encoding="utf-8")
        sys.stderr.write(f"docs/pictures/{name}.svg\n")


if __name__ == "__main__":
    main()

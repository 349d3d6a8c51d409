"""Make the pictures of the documentation, docs/pictures/*.svg, from the code that they show.

    python tools/pictures.py            all of them (needs `dot` of Graphviz)
    python tools/pictures.py NAME ...   only these

Pictures of automata are laid out by `dot`; the digest of its input is noted in each file, so that a test sees an
outdated picture without `dot`. The picture of the architecture (architecture.py), that of an index by stack values
(stack_index.py) and railroad diagrams need none. They are made to stand in a
page: drawn in the colour of the text, whatever that is.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from unittest.mock import patch

from pydantic import BaseModel, TypeAdapter
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

import schemagen
from schemagen import GBNF, Choice, Regex, Vocabulary
from schemagen.cli import compilation, demo
from schemagen.cli.commands import app
from schemagen.cli.console import cost_of, error_panel
from schemagen.draw import Drawing, Edge, Node
from schemagen.events import Completed, Delta, FieldTakenBack

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import architecture
import stack_index

FOLDER = ROOT / "docs" / "pictures"

FLOAT = Regex(r"([0-9]*)?\.?[0-9]*")
WORDS = Choice(["high", "low"])
EXPRESSION = r"""
root   ::= term ([-+] term)*
term   ::= factor ([*/] factor)*
factor ::= [0-9]+ | "(" root ")"
"""
PAPER = Vocabulary.from_tokens(["A", ".", "42", ".2", "1", None], eos_token_ids=[5])


class Answer(BaseModel):
    """A class whose automaton is small enough to be seen whole."""

    ok: Literal["yes", "no"]


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
    schema = TypeAdapter(Answer).json_schema()
    choices = json.dumps(schema["properties"]["ok"]["enum"])
    shown = f'JSON Schema\n"type": "{schema["type"]}"\n"ok": {{"enum": {choices}}}\n"required": ["ok"]'
    way = class_and_mask()
    _class, *nodes = way.nodes
    edges = (Edge("class", "schema", "pydantic"), Edge("schema", "s0", "compile"), *way.edges[1:])
    caption = "From a class to a mask: JSON Schema, automaton, tokens"
    return Drawing((_class, Node("schema", shown, "value"), *nodes), edges, caption, sideways=False)


def class_and_mask() -> Drawing:
    """The way in short: the class, its automaton, and the mask in one state."""
    grammar = schemagen.compile(Answer, bundled(), whitespace="compact")
    automaton = grammar.draw("automaton")
    prefix = '{"ok":"'
    mask = grammar.draw("mask", after=prefix)
    (allowed,) = (node for node in mask.nodes if node.kind == "allowed")
    (masked,) = (node for node in mask.nodes if node.kind == "masked")
    tokens = allowed.label.partition("\n")[2]
    nodes = (
        Node("class", 'class Answer(BaseModel):\n\u00a0\u00a0ok: Literal["yes", "no"]', "value"),
        *(node for node in automaton.nodes if node.kind != "start"),
        Node("allowed", f"allowed after {prefix}\n{tokens}", "allowed"),
        masked,
    )
    edges = (
        Edge("class", "s0"),
        *(edge for edge in automaton.edges if edge.source != "start"),
        Edge("s1", "allowed", kind="more"),
        Edge("s1", "masked", kind="beside"),
    )
    return Drawing(nodes, edges, "A class, its automaton, and the tokens that are allowed after its first key")


def titled(drawing: Drawing, caption: str) -> Drawing:
    """Return a drawing with another caption, the title that readers of the page hear."""
    return replace(drawing, caption=caption)


def pushdown_of_a_tree() -> Drawing:
    """A type that contains itself."""
    return titled(schemagen.compile(Tree, bundled()).draw(), "The pushdown automaton of a tree")


DRAWINGS: dict[str, Callable[[], Drawing]] = {
    "from-a-class-to-a-mask": from_a_class_to_a_mask,
    "class-and-mask": class_and_mask,
    "example-1-automaton": lambda: schemagen.compile(FLOAT, PAPER).draw(),
    "example-1-index": lambda: schemagen.compile(FLOAT, PAPER).draw("index"),
    "example-1-mask": lambda: schemagen.compile(FLOAT, PAPER).draw("mask", after=".2"),
    "choice-index": lambda: schemagen.compile(WORDS, bundled()).draw("index"),
    "point-mask": lambda: schemagen.compile(Point, bundled()).draw("mask", after='{"x": 1'),
    "tree-pushdown": pushdown_of_a_tree,
}


# --- the terminal ----------------------------------------------------------------------------------------------------

COLUMNS = 92
#: That of rich without its fonts, which are fetched from elsewhere.
TERMINAL = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def terminal() -> Console:
    """Return a terminal of a fixed width that remembers its text."""
    return Console(width=COLUMNS, record=True, file=StringIO(), force_terminal=True, color_system="truecolor")


def typed(console: Console, command: str) -> None:
    """Write a command as if somebody had typed it."""
    console.print(Text.assemble(("$ ", "dim"), command))


def help_in_terminal() -> Console:
    """All commands."""
    console = terminal()
    typed(console, "schemagen --help")
    run = CliRunner().invoke(app, ["--help"], terminal_width=COLUMNS, max_content_width=COLUMNS)
    console.print(run.output.rstrip(), markup=False, highlight=False)
    return console


def demo_in_terminal() -> Console:
    """The first cases of the demo; what takes how long is left out, as it is different everywhere."""
    console = terminal()
    typed(console, "schemagen demo")
    with patch.object(demo, "output", lambda: console), patch.object(demo, "cost_of", removed):
        for number, case in enumerate(demo.CASES[:3], start=1):
            demo.run_case(schemagen.load_bundled(), number, case)
    console.print("…", style="dim")
    return console


def removed(generation: schemagen.Generation[object]) -> str:
    """Return what a generation cost, without its speed."""
    return f"{generation.new_tokens} tokens, {cost_of(generation).partition(', ')[2].partition(', ')[2]}"


def report_in_terminal() -> Console:
    """What became of every keyword of a type, without the times."""
    console = terminal()
    typed(console, "schemagen compile schemagen.cli.demo:Booking --report")
    grammar = schemagen.compile(demo.Booking, bundled())
    facts = Table.grid(padding=(0, 2))
    for fact in compilation.facts_of(grammar, len(grammar.matcher().allowed_tokens())):
        facts.add_row(*fact)
    console.print(facts)
    console.print(compilation.report_table(grammar))
    return console


def error_in_terminal() -> Console:
    """An error with all of its parts."""
    console = terminal()
    schema = r'{"properties": {"id": {"pattern": "^(a)\\1$", "type": "string"}}}'
    typed(console, f"schemagen compile '{schema}'")
    try:
        schemagen.compile(json.loads(schema), bundled())
    except schemagen.SchemagenError as error:
        console.print(error_panel(error))
    return console


class Booking(BaseModel):
    """The class of the page about confidence."""

    name: str
    age: int
    mood: Literal["happy", "sad"]


def confidence_in_terminal() -> Console:
    """An answer coloured by the probability of its tokens, and its fields."""
    console = terminal()
    found = schemagen.load_bundled().run("Ada Lovelace, 36, London", Booking, confidence=True)
    typed(console, "print(found.confidence)")
    console.print(found.confidence)
    return console


def refused_in_terminal() -> Console:
    """The events of a stream in which a validator refuses a name."""
    console = terminal()

    def short(name: str) -> str | bool:
        return True if len(name) <= 8 else f"{len(name)} letters are too many"

    class Card(BaseModel):
        name: Annotated[str, schemagen.Check(short)]

    typed(console, "for event in lm.stream(text, Card, tries=8): print(event)")
    for event in schemagen.load_bundled().stream("Ada Lovelace, 36, London", Card, tries=8):
        if isinstance(event, Delta):
            console.print(Text(f"Delta           {event.text!r}"))
        elif isinstance(event, FieldTakenBack):
            console.print(
                Text(f"FieldTakenBack  {event.path}: {event.refused.text}, {event.refused.reason}"[:COLUMNS], "red")
            )
        elif isinstance(event, Completed):
            console.print(Text(f"Completed       {event.value!r}", "green"))
    return console


def laws_in_terminal() -> Console:
    """The two texts of the toy language under the law of the mask and the model's own."""
    console = terminal()
    for name, chances in (("mask", (0.9, 0.1)), ("rejection, awrs, smc", (0.009 / 0.059, 0.05 / 0.059))):
        console.print(Text(name, "bold"))
        for text, chance in zip(("01", "11"), chances, strict=True):
            console.print(Text(f"  {text}  {chance:.3f}  "), Text("█" * round(chance * 50), "cyan"), sep="", end="\n")
    return console


TERMINALS: dict[str, Callable[[], Console]] = {
    "terminal-help": help_in_terminal,
    "terminal-demo": demo_in_terminal,
    "terminal-compile": report_in_terminal,
    "terminal-error": error_in_terminal,
    "terminal-confidence": confidence_in_terminal,
    "terminal-refused": refused_in_terminal,
    "terminal-laws": laws_in_terminal,
}


def recorded(name: str) -> str:
    """Return a terminal as SVG."""
    console = TERMINALS[name]()
    written = console.export_text(clear=False, styles=True)
    svg = console.export_svg(title="schemagen", code_format=TERMINAL, unique_id=name)
    return f"<!-- tools/pictures.py {digest(written)} -->\n{svg}"


# --- without Graphviz ------------------------------------------------------------------------------------------------


def expression_rules() -> str:
    """The rules of the first grammar of the guide, as railroad diagrams."""
    return in_page(schemagen.compile(GBNF(EXPRESSION), bundled()).draw().svg())


MAPS: dict[str, Callable[[], str]] = {
    "architecture": architecture.drawing,
    "stack-index": stack_index.drawing,
    "expression-rules": expression_rules,
}


# --- all of them -----------------------------------------------------------------------------------------------------

ALL = (*DRAWINGS, *TERMINALS, *MAPS)


def digest_of(name: str) -> str:
    """Return what a picture of what the code does now is recognised by."""
    if name in DRAWINGS:
        return digest(DRAWINGS[name]().dot())
    if name in MAPS:
        return digest(MAPS[name]())
    return digest(TERMINALS[name]().export_text(styles=True))


def digest(text: str) -> str:
    """Return what a picture is recognised by."""
    return sha256(text.encode()).hexdigest()[:16]


def drawn(drawing: Drawing) -> str:
    """Return a drawing as an SVG element to stand in a page: the page says the colour, not the reader's system."""
    return f"<!-- tools/pictures.py {digest(drawing.dot())} -->\n{in_page(drawing.svg())}\n"


def in_page(svg: str) -> str:
    """Return an SVG element to stand in a page."""
    svg = re.sub(r"<style>.*?</style>\n?", "", svg)
    svg = re.sub(r"<!--.*?-->\n?", "", svg)
    return svg.replace('<svg class="schemagen"', '<svg class="schemagen" role="img"', 1).rstrip()


def made(name: str) -> str:
    """Return a picture as it stands in its file."""
    if name in DRAWINGS:
        return drawn(DRAWINGS[name]())
    if name in TERMINALS:
        return recorded(name)
    svg = MAPS[name]()
    return f"<!-- tools/pictures.py {digest(svg)} -->\n{svg}\n"


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
        (FOLDER / f"{name}.svg").write_text(made(name), encoding="utf-8")
        sys.stderr.write(f"docs/pictures/{name}.svg\n")


if __name__ == "__main__":
    main()

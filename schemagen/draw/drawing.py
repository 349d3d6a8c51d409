"""`Drawing`: nodes and edges, and the texts that draw them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from schemagen.draw.graphviz import svg_of

if TYPE_CHECKING:
    import os

#: The kind of a node, which alone decides its outline.
NodeKind: TypeAlias = Literal["start", "state", "accepting", "value", "text", "allowed", "masked", "more"]
#: The kind of an edge: it reads text or tokens, a bracket that pushes or pops, leads to the node for everything not drawn, or
#: is invisible and only places a node beside another.
EdgeKind: TypeAlias = Literal["reads", "push", "pop", "more", "beside"]

_DOT_NODES: dict[NodeKind, str] = {
    "start": "shape=point width=0.08",
    "state": "shape=circle margin=0.02",
    "accepting": "shape=doublecircle margin=0.02",
    "value": "shape=box",
    "text": "shape=box style=rounded",
    "allowed": "shape=box style=rounded",
    "masked": 'shape=box style="rounded,filled,dashed" fillcolor="#00000022"',
    "more": "shape=plaintext",
}
_DOT_EDGES: dict[EdgeKind, str] = {
    "reads": "",
    "push": "",
    "pop": "style=dashed",
    "more": "style=dotted",
    "beside": "style=invis",
}
_MERMAID_NODES: dict[NodeKind, str] = {
    "start": "(( ))",
    "state": "(({}))",
    "accepting": "((({})))",
    "value": "[{}]",
    "text": "({})",
    "allowed": "({})",
    "masked": "({})",
    "more": "[{}]",
}
_MERMAID_EDGES: dict[EdgeKind, str] = {"reads": "-->", "push": "-->", "pop": "-.->", "more": "-.->", "beside": "~~~"}
_MERMAID_CLASSES: dict[NodeKind, str] = {
    "masked": "fill:#8883,stroke-dasharray:4",
    "more": "fill:none,stroke:none",
}
#: Characters that Mermaid may interpret even inside of quotes.
_MERMAID_SPECIAL = re.compile(r"[^\w =,…␣-]")
_FONT = 'fontname="monospace" fontsize=12'


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    Attributes:
        name: The name by which edges refer to it: letters and digits.
        label: The text in it, its lines separated by newline characters.
        kind: Its kind.
    """

    name: str
    label: str
    kind: NodeKind = "state"


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge.

    Attributes:
        source: Name of the node it leaves.
        target: Name of the node it enters.
        label: The text at it, for example the characters that it reads.
        kind: Its kind.
    """

    source: str
    target: str
    label: str = ""
    kind: EdgeKind = "reads"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of a grammar, as `Grammar.draw` returns it. Notebooks show it.

    Attributes:
        nodes: The nodes, in the order of their discovery.
        edges: The edges, in the same order.
        caption: A line about the content, and about the parts that were left out.
        sideways: Whether it is read from left to right instead of downwards.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    caption: str = ""
    sideways: bool = True

    def mermaid(self) -> str:
        """Return a Mermaid flowchart, which GitHub, MkDocs and notebooks render."""
        lines = [f"flowchart {'LR' if self.sideways else 'TB'}"]
        if self.caption:
            lines.insert(0, f"%% {' '.join(self.caption.split())}")
        lines += [f"    {node.name}{_mermaid_node(node)}" for node in self.nodes]
        lines += [f"    {edge.source} {_mermaid_arrow(edge)} {edge.target}" for edge in self.edges]
        for kind, style in _MERMAID_CLASSES.items():
            names = [node.name for node in self.nodes if node.kind == kind]
            if names:
                lines += [f"    classDef {kind} {style}", f"    class {','.join(names)} {kind}"]
        return "\n".join(lines) + "\n"

    def dot(self) -> str:
        """Return the graph in DOT, the language of Graphviz."""
        lines = [
            f"digraph {_quoted(self.caption)} {{",
            f'    graph [rankdir={"LR" if self.sideways else "TB"} bgcolor="transparent"]',
            f"    node [{_FONT}]",
            f"    edge [{_FONT}]",
        ]
        lines += [f"    {node.name}{_dot_node(node)}" for node in self.nodes]
        lines += [f"    {edge.source} -> {edge.target}{_dot_edge(edge)}" for edge in self.edges]
        return "\n".join([*lines, "}"]) + "\n"

    def svg(self) -> str:
        """Return the picture as SVG on a transparent ground, its lines in the colour of the text around it.

        Raises:
            SchemagenError: The program `dot` of Graphviz is not installed, or cannot lay the graph out.

        Cost: a process, about 20 ms; seconds for hundreds of nodes.
        """
        return svg_of(self.dot())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: ``.svg``, ``.dot`` or ``.gv``, ``.mmd`` for Mermaid, or ``.md`` with Mermaid in it.

        Raises:
            ValueError: The name has another suffix.
            SchemagenError: As for `svg`.
        """
        file = Path(path)
        writers = {
            ".svg": self.svg,
            ".dot": self.dot,
            ".gv": self.dot,
            ".mmd": self.mermaid,
            ".md": self._repr_markdown_,
        }
        if file.suffix not in writers:
            raise ValueError(f"{file.name!r} ends with none of {', '.join(writers)}")
        file.write_text(writers[file.suffix](), encoding="utf-8")

    def _repr_markdown_(self) -> str:
        """Return Mermaid in Markdown, for notebooks."""
        return f"```mermaid\n{self.mermaid()}```\n"

    def __str__(self) -> str:
        """Return the Mermaid text."""
        return self.mermaid()


def _quoted(text: str, *, is_list: bool = False) -> str:
    """Return a text as a string of DOT, its lines centred; in a list only the title."""
    title, *members = (line.replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    if is_list and members:
        return '"' + f"{title}\\n" + "".join(f"{member}\\l" for member in members) + '"'
    return '"' + "\\n".join((title, *members)) + '"'


def _dot_node(node: Node) -> str:
    return f" [{_DOT_NODES[node.kind]} label={_quoted(node.label, is_list=node.kind == 'value')}]"


def _dot_edge(edge: Edge) -> str:
    """Return the attributes of an edge; spaces keep its label off the line."""
    label = f"label={_quoted(f' {edge.label} ')}" if edge.label else ""
    attributes = " ".join(part for part in (_DOT_EDGES[edge.kind], label) if part)
    return f" [{attributes}]" if attributes else ""


def _mermaid_text(text: str) -> str:
    r"""Return a text in quotes, with a numeric entity for each character that Mermaid might read as Markdown, HTML or syntax.

    Mermaid still reads ``\n`` as a line break, so a zero-width space separates the two characters.
    """
    lines = text.replace("\\n", "\\\u200bn").split("\n")
    lines = [_MERMAID_SPECIAL.sub(lambda match: f"#{ord(match[0])};", line) for line in lines]
    return f'"{"<br>".join(lines)}"'


def _mermaid_node(node: Node) -> str:
    return _MERMAID_NODES[node.kind].format(_mermaid_text(node.label))


def _mermaid_arrow(edge: Edge) -> str:
    arrow = _MERMAID_EDGES[edge.kind]
    return f"{arrow}|{_mermaid_text(edge.label)}|" if edge.label else arrow

r"""`Drawing`: nodes and edges, their labels, and the texts that draw them; SVG is made by the program `dot` of Graphviz.

A label is text in the syntax of Python's `re`, made for reading: an expression that matches the text or characters it shows,
but for a space, which is written `␣` to be visible.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from schemagen.errors import SchemagenError
from schemagen.regex.ast import MAX_CODE_POINT, invert_ranges, normalise_ranges

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from schemagen.regex.ast import Ranges

SPACE = "␣"
#: Most ranges written for one class of characters; the digits of all scripts are 70.
MAX_RANGES = 8
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", " ": SPACE}
_SPECIAL = frozenset(r"\.^$*+?()[|")
_SPECIAL_IN_CLASS = frozenset(r"\]^-")
_STARTS_COUNT = frozenset("0123456789,")
_SURROGATES = ((0xD800, 0xDFFF),)


def class_label(ranges: Ranges) -> str:
    """Return a set of characters as one of them, or as a class such as ``[0-9]`` or ``[^"]``."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return text_label(chr(ranges[0][0]))
    # No text has surrogates, so either side of the class may have them.
    rest = invert_ranges(normalise_ranges((*ranges, *_SURROGATES)))
    if ranges[-1][1] == MAX_CODE_POINT and len(rest) <= len(ranges):
        return f"[^{_members(rest)}]" if rest else r"[\s\S]"
    return f"[{_members(ranges)}]"


def text_label(text: str) -> str:
    """Return an expression for a text."""
    parts = []
    for i, character in enumerate(text):
        starts_count = character == "{" and text[i + 1 : i + 2] in _STARTS_COUNT
        escaped = character in _SPECIAL or starts_count
        parts.append("\\" + character if escaped else visible(character))
    return "".join(parts)


def visible(character: str) -> str:
    """Return a character, or a visible name or escape for it."""
    if character in _SHORT:
        return _SHORT[character]
    if character.isalnum() or (character.isascii() and character.isprintable()):
        return character
    point = ord(character)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def token_label(token: bytes) -> str:
    """Return the text of a token, not as an expression; bytes that are not valid UTF-8 as hexadecimal escapes."""
    text = token.decode("utf-8", "surrogateescape")
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else visible(c) for c in text)


def token_list(tokens: Sequence[bytes], most: int, per_line: int = 4) -> str:
    """Return the first ``most`` tokens in short lines, followed by the number of all tokens if some are missing."""
    shown = [token_label(token) for token in tokens[:most]]
    lines = ["  ".join(shown[i : i + per_line]) for i in range(0, len(shown), per_line)]
    if len(tokens) > most:
        lines.append(f"… {len(tokens):,} tokens")
    return "\n".join(lines)


def _members(ranges: Ranges) -> str:
    texts = []
    for low, high in ranges[:MAX_RANGES]:
        dash = "-" if high > low + 1 else ""
        texts.append(_member(low) if low == high else _member(low) + dash + _member(high))
    return "".join(texts) + ("…" if len(ranges) > MAX_RANGES else "")


def _member(point: int) -> str:
    character = chr(point)
    return "\\" + character if character in _SPECIAL_IN_CLASS else visible(character)


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
_MERMAID_CLASSES: dict[NodeKind, str] = {"masked": "fill:#8883,stroke-dasharray:4", "more": "fill:none,stroke:none"}
#: Characters that Mermaid may interpret even inside quotes.
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
        lines += [
            f"    {node.name}{_MERMAID_NODES[node.kind].format(_mermaid_text(node.label))}" for node in self.nodes
        ]
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


def _mermaid_arrow(edge: Edge) -> str:
    arrow = _MERMAID_EDGES[edge.kind]
    return f"{arrow}|{_mermaid_text(edge.label)}|" if edge.label else arrow


#: A graph whose layout takes longer is too large to read.
MAX_SECONDS = 60
#: An image does not inherit the colour of the text around it, so it follows the colour scheme of the reader's system.
STYLE = "<style>@media (prefers-color-scheme: dark) { svg.schemagen { color: #dddddd } }</style>"


def svg_of(dot: str) -> str:
    """Return a graph in DOT as an SVG element.

    Raises:
        SchemagenError: `dot` is not installed, fails, or takes longer than `MAX_SECONDS`.
    """
    program = shutil.which("dot")
    if program is None:
        raise SchemagenError(
            "the program `dot` is not installed",
            why="it lays out drawings for SVG",
            fix="install Graphviz (apt install graphviz, brew install graphviz), or use `mermaid()` or `dot()`",
            code="no-graphviz",
        )
    try:
        run = subprocess.run(  # noqa: S603 - a fixed command
            [program, "-Tsvg"], input=dot.encode(), capture_output=True, timeout=MAX_SECONDS, check=True
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(f"it took longer than {MAX_SECONDS} s") from error
    except (subprocess.CalledProcessError, OSError) as error:
        raise _failed(getattr(error, "stderr", b"").decode(errors="replace").strip() or str(error)) from error
    return _adapted(run.stdout.decode())


def _failed(why: str) -> SchemagenError:
    return SchemagenError(
        "`dot` made no picture", why=why, fix="draw less: lower `max_states` or `max_tokens`", code="no-graphviz"
    )


def _adapted(svg: str) -> str:
    """Keep only the element, and draw in the colour of the text instead of black.

    Identifiers are removed, because several pictures in one page would share them.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r' id="[^"]*"', "", svg)
    svg = re.sub(r'="(?:black|#000000)"', '="currentColor"', svg)
    svg = svg.replace("<text ", '<text fill="currentColor" ')
    return svg.replace("<svg ", '<svg class="schemagen" ', 1).replace(">", f">\n{STYLE}", 1)

"""Automata, their token index and masks as pictures: Mermaid and DOT text, SVG where Graphviz is installed.

`schemagen.Grammar.draw` and the command `schemagen draw` are the doors. Each module makes one kind of `Drawing`, and
`drawing.py` writes it; the layout is left to the programs that read these languages.
"""

from schemagen.draw.drawing import Drawing, Edge, Node

__all__ = ["Drawing", "Edge", "Node"]

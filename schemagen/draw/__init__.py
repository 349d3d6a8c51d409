"""Automata, their token index and masks as pictures: Mermaid and DOT text, SVG where Graphviz is installed.

Users call `schemagen.Grammar.draw` or the command `schemagen draw`. Each module makes one kind of `Drawing`, and `drawing.py`
writes it; the programs that read Mermaid and DOT do the layout.
"""

from schemagen.draw.drawing import Drawing, Edge, Node

__all__ = ["Drawing", "Edge", "Node"]

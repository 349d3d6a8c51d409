"""The engine of grammars that count tokens: automata for the text between runs of tokens, and counters for the runs."""

from schemagen.engine.counting.engine import CountingEngine
from schemagen.engine.counting.nodes import Node, TokenCount

__all__ = ["CountingEngine", "Node", "TokenCount"]

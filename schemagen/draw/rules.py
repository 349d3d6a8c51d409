"""The rules of a grammar, as railroad diagrams; in Mermaid and DOT as graphs of the same boxes.

Each rule that the start reaches has a diagram, in the order in which they are met, and then each named terminal that is a
pattern. lark turns repetitions into rules; the diagrams show them as loops again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from schemagen.context_free.names import is_made, language_name, languages_of, rule_name, symbol_name
from schemagen.context_free.regular import is_plain, only_text
from schemagen.context_free.simplify import called
from schemagen.context_free.syntax import EMPTY_TEXT, Alternatives, Repeat, Rule, Sequence, Terminal, sequence
from schemagen.draw.drawing import STYLE, Drawing, Edge, Node, NodeKind
from schemagen.draw.railroad import Box, Chart, Fork, Loop, Part, Skip, row, svg_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.regex import ast

    _Languages: TypeAlias = "dict[str, set[ast.Regex]]"


@dataclass(frozen=True, slots=True)
class Railroad(Drawing):
    """A picture of rules: as SVG railroad diagrams, which need no other program.

    Attributes:
        charts: One for each rule and terminal.
    """

    charts: tuple[Chart, ...] = ()

    def svg(self) -> str:
        """Return the diagrams as SVG on a transparent ground, their lines in the colour of the text around them."""
        return svg_of(self.charts, self.caption, STYLE)


def draw_rules(grammar: ContextFreeGrammar, *, max_rules: int) -> Railroad:
    """Return the diagrams of a grammar.

    Args:
        grammar: Its rules.
        max_rules: Most rules to draw, those nearest to the start; the caption gives the number of the others.
    """
    rules = with_loops(grammar.rules)
    order = _order(rules, grammar.start)
    languages = languages_of(grammar)
    drawn = order[:max_rules]
    bodies = {name: rules[name] for name in drawn}
    used = {symbol.name for body in bodies.values() for symbol in _symbols(body) if isinstance(symbol, Terminal)}
    patterns = {name: pattern for name in sorted(used | grammar.ignored) if (pattern := _pattern(name, languages))}
    charts = [Chart(name, _part(body, languages)) for name, body in bodies.items()]
    charts += [
        Chart(f"{name} (ignored)" if name in grammar.ignored else name, Box(pattern, "terminal"))
        for name, pattern in patterns.items()
    ]
    left = len(order) - len(drawn)
    caption = f"{len(drawn)} {'rule' if len(drawn) == 1 else 'rules'}; terminals are round"
    caption += f"; {left:,} more {'rule' if left == 1 else 'rules'} not drawn" if left else ""
    graph = _Graph(languages)
    for name, body in bodies.items():
        graph.add(name, body)
    return Railroad(tuple(graph.nodes), tuple(graph.edges), caption, charts=tuple(charts))


# --- the rules as they were written ----------------------------------------------------------------------------------


def with_loops(rules: dict[str, Expression]) -> dict[str, Expression]:
    """Return the rules with loops in place of calls of the rules that lark made from repetitions."""
    loops: dict[str, Expression] = {}
    for name, body in rules.items():
        if is_made(name) and isinstance(body, Alternatives):
            once = [part for part in body.parts if name not in called(part)]
            inner = once[0] if len(once) == 1 else Alternatives(tuple(once))
            loops[name] = Repeat(inner, 1, None)
    return {name: _replaced(body, loops) for name, body in rules.items() if name not in loops}


def _replaced(expression: Expression, loops: dict[str, Expression]) -> Expression:
    """Return an expression with loops written out; a loop from 1, or the empty text, becomes a loop from 0."""
    if isinstance(expression, Rule):
        return _replaced(loops[expression.name], loops) if expression.name in loops else expression
    if isinstance(expression, Repeat):
        return Repeat(_replaced(expression.inner, loops), expression.low, expression.high)
    if isinstance(expression, Sequence):
        return sequence(*(_replaced(part, loops) for part in expression.parts))
    if not isinstance(expression, Alternatives):
        return expression
    parts = _joined([_replaced(part, loops) for part in expression.parts])
    if EMPTY_TEXT in parts and len(parts) == 2:
        (other,) = (part for part in parts if part != EMPTY_TEXT)
        if isinstance(other, Repeat) and other.low == 1 and other.high is None:
            return Repeat(other.inner, 0, None)
        return Repeat(other, 0, 1)
    return parts[0] if len(parts) == 1 else Alternatives(tuple(parts))


def _joined(parts: list[Expression]) -> list[Expression]:
    """Join two alternatives if the second is the first without a piece: lark expands ``[x]`` and ``x*`` to such pairs.

    A single symbol stays an alternative: the author wrote ``product | sum "+" product`` as it is.
    """
    while True:
        known = set(parts)
        found = next(((part, *pair) for part in parts for pair in _shorter(part) if pair[0] in known), None)
        if found is None:
            return parts
        part, without, joined = found
        parts = [joined if each is part else each for each in parts if each != without]


def _shorter(expression: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Yield a sequence without some neighbouring pieces, and the sequence with these pieces as optional."""
    pieces = list(expression.parts) if isinstance(expression, Sequence) else []
    for size in range(1, len(pieces)):
        for at in range(len(pieces) - size + 1):
            before, middle, after = pieces[:at], pieces[at : at + size], pieces[at + size :]
            only = middle[0]
            if size == 1 and isinstance(only, Repeat) and (only.low, only.high) == (1, None):
                optional = Repeat(only.inner, 0, None)
            elif len(before) + len(after) > 1:
                optional = Repeat(sequence(*middle), 0, 1)
            else:
                continue
            yield sequence(*before, *after), sequence(*before, optional, *after)


def _order(rules: dict[str, Expression], start: str) -> list[str]:
    """Return the rules that the start reaches, the nearest first."""
    found = {start: None}
    waiting = [start]
    for name in waiting:
        for symbol in _symbols(rules[name]):
            if isinstance(symbol, Rule) and symbol.name not in found and symbol.name in rules:
                found[symbol.name] = None
                waiting.append(symbol.name)
    return list(found)


def _symbols(expression: Expression) -> list[Expression]:
    """Return the symbols of an expression, from the left to the right."""
    if isinstance(expression, Repeat):
        return _symbols(expression.inner)
    if isinstance(expression, Sequence | Alternatives):
        return [symbol for part in expression.parts for symbol in _symbols(part)]
    return [expression]


def _pattern(name: str, languages: _Languages) -> str | None:
    """Return the pattern of a terminal that is drawn by its name."""
    own = languages.get(name, set())
    if len(own) != 1:
        return None
    (language,) = own
    if symbol_name(Terminal(name), languages) != name or only_text(language) is not None or not is_plain(language):
        return None
    return language_name(language, shorten=False)


# --- diagrams --------------------------------------------------------------------------------------------------------


def _part(expression: Expression, languages: _Languages) -> Part:
    if isinstance(expression, Sequence):
        return row([_part(part, languages) for part in expression.parts])
    if isinstance(expression, Alternatives):
        parts = [_part(part, languages) for part in expression.parts if part != EMPTY_TEXT]
        return Fork([Skip(), *parts] if EMPTY_TEXT in expression.parts else parts)
    if isinstance(expression, Repeat):
        return _loop(_part(expression.inner, languages), expression.low, expression.high)
    if isinstance(expression, Rule):
        return Box(rule_name(expression.name), "rule")
    return Box(symbol_name(expression, languages), "terminal")


def _loop(inner: Part, low: int, high: int | None) -> Part:
    if high == 1:
        return Fork([Skip(), inner])
    if high is None:
        loop = Loop(inner, f"at least {low}" if low > 1 else "")
    else:
        loop = Loop(inner, f"{low} times" if low == high else f"{max(low, 1)} to {high} times")
    return loop if low else Fork([Skip(), loop])


# --- graphs ----------------------------------------------------------------------------------------------------------


class _Graph:
    """The boxes of the rules as nodes, and an edge wherever one may follow another."""

    def __init__(self, languages: _Languages) -> None:
        self.nodes: list[Node] = []
        self.edges: dict[Edge, None] = {}
        self._languages = languages

    def add(self, name: str, body: Expression) -> None:
        """Add a rule: a node for its name, its boxes, and a node for its end."""
        start = self._node(rule_name(name), "more")
        ends = self._link(body, [start])
        end = self._node("", "start")
        self._connect(ends, end)

    def _node(self, label: str, kind: NodeKind) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(Node(name, label, kind))
        return name

    def _connect(self, sources: list[str], target: str) -> None:
        for source in sources:
            self.edges[Edge(source, target)] = None

    def _link(self, body: Expression, before: list[str]) -> list[str]:
        """Add an expression after the nodes ``before``; return the nodes that it may end with."""
        if isinstance(body, Sequence):
            for part in body.parts:
                before = self._link(part, before)
            return before
        if isinstance(body, Alternatives):
            ends = [end for part in body.parts for end in self._link(part, before)]
            return list(dict.fromkeys(ends))
        if isinstance(body, Repeat):
            first = len(self.nodes)
            ends = self._link(body.inner, before)
            if body.high != 1:
                self._repeat(first, before, ends)
            return list(dict.fromkeys([*before, *ends])) if body.low == 0 else ends
        label = rule_name(body.name) if isinstance(body, Rule) else symbol_name(body, self._languages)
        node = self._node(label, "value" if isinstance(body, Rule) else "text")
        self._connect(before, node)
        return [node]

    def _repeat(self, first: int, before: list[str], ends: list[str]) -> None:
        """Connect the last nodes of a loop to its first ones."""
        own = {node.name for node in self.nodes[first:]}
        begins = [edge.target for edge in self.edges if edge.source in before and edge.target in own]
        for target in dict.fromkeys(begins):
            self._connect([end for end in ends if end in own], target)

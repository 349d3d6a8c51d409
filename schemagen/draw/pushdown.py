"""The pushdown automaton of a schema, as a drawing of its objects and arrays.

Each kind of object and array is a node, which lists its members or items. Reading the opening bracket pushes the place to
return to (a solid edge); reading the closing bracket pops that place (a dashed one). A schema that contains itself is a cycle.
Two places of a schema that allow the same values share a node, because they are one state of the automaton.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemagen.draw.drawing import Drawing, Edge, Node
from schemagen.regex import ast
from schemagen.schema.ir import ANY, NEVER, ArrayDisjunct, NumberDisjunct, ObjectDisjunct, SchemaRef, StringDisjunct
from schemagen.schema.keyword_table import DEFINITIONS

if TYPE_CHECKING:
    from fractions import Fraction

    from schemagen.schema.ir import Expression, ValueSet
    from schemagen.schema.normalise import Normaliser

#: Most lines of members or items in one node, and most values of an enumeration.
MAX_LINES = 12
MAX_VALUES = 4
_BRACKETS = {ObjectDisjunct: ("{", "}"), ArrayDisjunct: ("[", "]")}


@dataclass(slots=True)
class _Box:
    """A node being made: its lines, and the containers that it holds, each with the label before it."""

    name: str
    lines: list[str]
    holds: list[tuple[str, Expression]] = field(default_factory=list)


def draw_pushdown(normaliser: Normaliser, *, max_states: int) -> Drawing:
    """Return the objects and arrays of a schema and how they nest.

    Args:
        normaliser: The normaliser of the schema.
        max_states: Most objects and arrays to draw, those nearest to the root; one node replaces all others.
    """
    return _Pushdown(normaliser, max_states).drawing()


class _Pushdown:
    def __init__(self, normaliser: Normaliser, max_states: int) -> None:
        self.normaliser = normaliser
        self.max_states = max_states
        self.names: dict[ObjectDisjunct | ArrayDisjunct, str] = {}
        self.waiting: deque[tuple[ObjectDisjunct | ArrayDisjunct, str]] = deque()
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []

    def drawing(self) -> Drawing:
        root = self.normaliser.root
        text = self.describe(root)
        self.nodes.append(Node("start", "", "start"))
        if not self.containers(root) or text != _brackets_of(self.normaliser.value(root)):
            self.nodes.append(Node("scalars", text, "text"))
            self.edges.append(Edge("start", "scalars"))
        self.enter("start", "", root)
        while self.waiting:
            disjunct, title = self.waiting.popleft()
            box = self.box(disjunct, title)
            self.nodes.append(Node(box.name, "\n".join(box.lines), "value"))
            for label, expression in box.holds:
                self.enter(box.name, label, expression)
        drawn = len(self.names)
        caption = f"{drawn} kinds of objects and arrays" if drawn != 1 else "one kind of object or array"
        if any(edge.target == "more" for edge in self.edges):
            self.nodes.append(Node("more", "…", "more"))
            caption += "; deeper ones are not drawn"
        return Drawing(tuple(self.nodes), tuple(self.edges), caption, sideways=False)

    def enter(self, source: str, label: str, expression: Expression) -> None:
        """Draw the edges from a node to the containers that an expression allows, and back."""
        for disjunct in self.containers(expression):
            opening, closing = _BRACKETS[type(disjunct)]
            if disjunct not in self.names and len(self.names) < self.max_states:
                self.names[disjunct] = f"n{len(self.names)}"
                self.waiting.append((disjunct, self.title(expression, disjunct)))
            target = self.names.get(disjunct, "more")
            if target == "more":
                self.edges.append(Edge(source, target, label + opening, "more"))
            elif target == source:
                self.edges.append(Edge(source, target, f"{label}{opening} {closing}", "push"))
            else:
                self.edges.append(Edge(source, target, label + opening, "push"))
                if source != "start":
                    self.edges.append(Edge(target, source, closing, "pop"))

    def containers(self, expression: Expression) -> list[ObjectDisjunct | ArrayDisjunct]:
        if expression is ANY and expression is not self.normaliser.root:
            return []
        value = self.normaliser.value(expression)
        return [*value.objects, *value.arrays]

    def title(self, expression: Expression, disjunct: ObjectDisjunct | ArrayDisjunct) -> str:
        """Return the name that the schema gives a container, or else "object" or "array"."""
        kind = "object" if isinstance(disjunct, ObjectDisjunct) else "array"
        if not isinstance(expression, SchemaRef):
            return kind
        above, _, last = expression.pointer.rpartition("/")
        if above.rpartition("/")[2] in DEFINITIONS:
            return last
        schema = expression.schema if isinstance(expression.schema, dict) else {}
        for part in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
            if isinstance(part, dict) and "$ref" in part:
                place = self.normaliser.subschemas.reference(expression, part["$ref"])
                if disjunct in self.containers(place):
                    return self.title(place, disjunct)
        title = schema.get("title")
        return title if isinstance(title, str) else kind

    # --- the lines of a node -----------------------------------------------------------------------------------------

    def box(self, disjunct: ObjectDisjunct | ArrayDisjunct, title: str) -> _Box:
        box = _Box(self.names[disjunct], [title])
        if isinstance(disjunct, ObjectDisjunct):
            self.members(box, disjunct)
        else:
            self.items(box, disjunct)
        return box

    def members(self, box: _Box, disjunct: ObjectDisjunct) -> None:
        shown = [(key, value) for key, value in disjunct.properties if not self.normaliser.is_plainly_empty(value)]
        for key, value in shown:
            self.add(box, json.dumps(key, ensure_ascii=False), value, "" if key in disjunct.required else "?")
        for keys, value in self.others(disjunct):
            self.add(box, keys, value)
        _note(box, "members", disjunct.min_properties, disjunct.max_properties)

    def others(self, disjunct: ObjectDisjunct) -> list[tuple[str, Expression]]:
        """Return the values of undeclared keys, by a label for the keys, if a single rule gives them."""
        if disjunct.names == ast.EMPTY:
            return []
        if len(disjunct.rules) != 1:
            return [("other keys", ANY)] if not disjunct.rules else []
        (rule,) = disjunct.rules
        patterns = [(f"keys like {i}", value) for i, (_, value) in enumerate(rule.patterns, 1)]
        more = [] if rule.additional is NEVER else [("other keys", rule.additional)]
        return patterns + more

    def items(self, box: _Box, disjunct: ArrayDisjunct) -> None:
        for index, value in enumerate(disjunct.prefix):
            self.add(box, f"item {index}", value)
        if disjunct.items is not NEVER and disjunct.max_items != len(disjunct.prefix):
            self.add(box, "other items" if disjunct.prefix else "items", disjunct.items)
        _note(box, "items", disjunct.min_items, disjunct.max_items)
        if disjunct.unique:
            box.lines.append("all different")

    def add(self, box: _Box, label: str, expression: Expression, mark: str = "") -> None:
        if self.containers(expression):
            box.holds.append((f"{label}: ", expression))
        if len(box.lines) < MAX_LINES:
            box.lines.append(f"{label}{mark}: {self.describe(expression)}")
        elif box.lines[-1] != "…":
            box.lines.append("…")

    def describe(self, expression: Expression) -> str:
        """Return a short description of the values that an expression allows."""
        if expression is ANY:
            return "any"
        value = self.normaliser.value(expression)
        parts = [_literals(value), *map(_number, value.numbers), *map(_string, value.strings), _brackets_of(value)]
        return " | ".join(dict.fromkeys(part for part in parts if part)) or "nothing"


def _literals(value: ValueSet) -> str:
    names = (("null", value.null), ("boolean", value.true and value.false))
    single = (("true", value.true and not value.false), ("false", value.false and not value.true))
    return " | ".join(name for name, there in (*names, *single) if there)


def _brackets_of(value: ValueSet) -> str:
    return " | ".join([*(["{ }"] if value.objects else []), *(["[ ]"] if value.arrays else [])])


def _number(disjunct: NumberDisjunct) -> str:
    if disjunct.values is not None:
        return _listed([_decimal(value) for value in sorted(disjunct.values)])
    name = "integer" if disjunct.integer else "number"
    low = "" if disjunct.low is None else f" {'>' if disjunct.low_open else '≥'} {_decimal(disjunct.low)}"
    high = "" if disjunct.high is None else f" {'<' if disjunct.high_open else '≤'} {_decimal(disjunct.high)}"
    multiples = "".join(f", multiple of {_decimal(divisor)}" for divisor in sorted(disjunct.multiples))
    return name + low + high + multiples


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


def _string(disjunct: StringDisjunct) -> str:
    if disjunct.values is not None:
        return _listed([json.dumps(value, ensure_ascii=False) for value in sorted(disjunct.values)])
    formats = " ".join(sorted(disjunct.formats))
    is_any = (
        StringDisjunct(formats=disjunct.formats, min_length=disjunct.min_length, max_length=disjunct.max_length)
        == disjunct
    )
    notes = [formats, "" if is_any else "pattern", _bounds("characters", disjunct.min_length, disjunct.max_length)]
    note = ", ".join(filter(None, notes))
    return f"string ({note})" if note else "string"


def _listed(texts: list[str]) -> str:
    shown = texts if len(texts) <= MAX_VALUES else [*texts[: MAX_VALUES - 1], f"… {len(texts):,} values"]
    return " | ".join(shown)


def _bounds(what: str, low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} {what} or more" if low else ""
    return f"{low:,} {what}" if low == high else f"{low:,} to {high:,} {what}"


def _note(box: _Box, what: str, low: int, high: int | None) -> None:
    note = _bounds(what, low, high)
    if note:
        box.lines.append(note)

"""The JSON texts of a schema as one regular expression: what `to_regex` prints and the reference engine runs.

A regular language has no stack and no memory, so three things are refused that the pushdown automaton can do: recursion
(unless a depth is asked for), objects whose undeclared keys must not repeat, and keys in any order. Everything else is
the same language, in schema order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.errors import LimitError, UnsupportedSchemaError
from schemagen.regex import ast
from schemagen.regex.spellings import contains, hex_range, spelled
from schemagen.schema.ir import NEVER, ArrayDisjunct, Expression, ObjectDisjunct, StringDisjunct, ValueSet
from schemagen.schema.layouts import Layout
from schemagen.schema.scalars import number_pattern, string_pattern

if TYPE_CHECKING:
    from schemagen.schema.layouts import WhitespacePolicy
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.numbers.expressions import NumberStyle

MAX_NODES = 20_000
_SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_RAW = ast.invert_ranges(ast.normalise_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), (0xD800, 0xDFFF)]))
_BMP = ((0, 0xD7FF), (0xE000, 0xFFFF))
_ASTRAL = ((0x10000, 0x10FFFF),)


@dataclass(frozen=True, slots=True)
class Page:
    """How JSON is laid out in a regular expression: gaps, and the style of numbers.

    Attributes:
        numbers: The soft caps on digits.
        before_comma: Between an item or member and its comma.
        after_comma: After a comma, line breaks of a fixed layout apart.
        before_colon: Between a key and its colon.
        after_colon: Between a colon and its value.
        inside: After an opening bracket and before a closing one, line breaks of a fixed layout apart.
        around: Before and after the whole text.
        step: Of a fixed layout with line breaks: the indentation of one level.
    """

    numbers: NumberStyle
    before_comma: ast.Regex = ast.EPSILON
    after_comma: ast.Regex = ast.EPSILON
    before_colon: ast.Regex = ast.EPSILON
    after_colon: ast.Regex = ast.EPSILON
    inside: ast.Regex = ast.EPSILON
    around: ast.Regex = ast.EPSILON
    step: str | None = None

    def line(self, depth: int) -> ast.Regex:
        """Return the line break before the text inside this many containers, with its indentation; nothing without lines."""
        return ast.EPSILON if self.step is None else ast.literal("\n" + depth * self.step)

    def first_gap(self, depth: int) -> ast.Regex:
        """Return the gap before the first item or member of a container, which is the ``depth``-th one that is open."""
        return ast.concat(self.inside, self.line(depth))

    def comma(self, depth: int) -> ast.Regex:
        """Return a comma with the gaps around it."""
        return ast.concat(self.before_comma, ast.literal(","), self.after_comma, self.line(depth))

    def colon(self) -> ast.Regex:
        """Return a colon with the gaps around it."""
        return ast.concat(self.before_colon, ast.literal(":"), self.after_colon)

    def last_gap(self, depth: int) -> ast.Regex:
        """Return the gap between the last item or member and the closing bracket."""
        return ast.concat(self.inside, self.line(depth - 1))


def page_of(whitespace: WhitespacePolicy, max_indent: int, max_gap: int, numbers: NumberStyle) -> Page:
    """Return the gaps of a whitespace policy.

    Args:
        whitespace: The policy.
        max_indent: Of "flexible": most spaces and tabs after a line break.
        max_gap: Of "any": most characters in one gap.
        numbers: The style of numbers.
    """
    if whitespace == "compact":
        return Page(numbers)
    if whitespace == "any":
        gap = ast.repeat(ast.char_set(" \t\n\r"), 0, max_gap)
        return Page(numbers, gap, gap, gap, gap, inside=gap, around=gap)
    if whitespace == "flexible":
        space = ast.literal(" ")
        line = ast.concat(ast.literal("\n"), ast.repeat(ast.char_set(" \t"), 0, max_indent))
        gap = ast.optional(ast.union(space, line))
        return Page(numbers, after_comma=gap, after_colon=ast.optional(space), inside=gap)
    layout = Layout() if whitespace == "spaced" else whitespace
    before_comma, after_comma, before_colon, after_colon = map(ast.literal, layout.gaps)
    return Page(numbers, before_comma, after_comma, before_colon, after_colon, step=layout.step)


# --- string content ----------------------------------------------------------------------------------------------------


def json_content(regex: ast.Regex) -> ast.Regex:
    """Return every JSON spelling of the strings of a regex, between the quotes: raw, or with any legal escape."""
    return spelled(regex, _spellings)


@lru_cache(maxsize=512)
def _spellings(ranges: ast.Ranges) -> ast.Regex:
    raw = ast.Chars(ast.intersect_ranges(ranges, _RAW))
    short = ast.char_set("".join(_SHORT_ESCAPES[c] for c in _SHORT_ESCAPES if contains(ranges, ord(c))))
    bmp = [hex_range(low, high, 4) for low, high in ast.intersect_ranges(ranges, _BMP)]
    coded = ast.union(*bmp, *(_surrogates(low, high) for low, high in ast.intersect_ranges(ranges, _ASTRAL)))
    return ast.union(raw, ast.concat(ast.literal("\\"), ast.union(short, ast.concat(ast.literal("u"), coded))))


def _surrogates(low: int, high: int) -> ast.Regex:
    """Return the pairs of escapes, without the first backslash-u, of the code points of a range above U+FFFF."""
    first, last = (low - 0x10000) >> 10, (high - 0x10000) >> 10
    parts: list[ast.Regex] = []

    def pair(high_from: int, high_to: int, low_from: int, low_to: int) -> ast.Regex:
        return ast.concat(
            hex_range(0xD800 + high_from, 0xD800 + high_to, 4),
            ast.literal("\\u"),
            hex_range(0xDC00 + low_from, 0xDC00 + low_to, 4),
        )

    low_rest, high_rest = (low - 0x10000) & 0x3FF, (high - 0x10000) & 0x3FF
    if first == last:
        return pair(first, last, low_rest, high_rest)
    if low_rest:
        parts.append(pair(first, first, low_rest, 0x3FF))
        first += 1
    if high_rest != 0x3FF:
        parts.append(pair(last, last, 0, high_rest))
        last -= 1
    if first <= last:
        parts.append(pair(first, last, 0, 0x3FF))
    return ast.union(*parts)


# --- values ------------------------------------------------------------------------------------------------------------


def json_text(normaliser: Normaliser, page: Page, *, depth: int | None = None) -> ast.Regex:
    """Return the JSON texts of a schema.

    Args:
        normaliser: The schema.
        page: The layout.
        depth: How often a schema may occur inside itself; None if recursion is an error.

    Raises:
        UnsupportedSchemaError: The language is not regular.
        LimitError: The expression has more than `MAX_NODES` parts.
    """
    return ast.concat(page.around, Writer(normaliser, page, depth).text(normaliser.root), page.around)


class Writer:
    """Writes values as regular expressions of their JSON texts.

    Args:
        normaliser: Of the schema.
        page: Where whitespace may be.
        depth: How often a definition may occur within itself; None if it may not.
    """

    def __init__(self, normaliser: Normaliser, page: Page, depth: int | None) -> None:
        self.normaliser = normaliser
        self.page = page
        self.depth = depth
        self.open: list[Expression] = []
        self.level = 0  # open containers
        self.written = 0

    def text(self, expression: Expression) -> ast.Regex:
        """Return the texts of the values of an expression."""
        inside = self.open.count(expression)
        if inside and self.depth is None:
            raise _not_regular("the schema is recursive", "ask for a depth: to_regex(spec, depth=3)")
        if self.depth is not None and inside > self.depth:
            return ast.EMPTY
        self.written += 1
        if self.written > MAX_NODES:
            raise LimitError(
                f"a regular expression of more than {MAX_NODES} parts", fix="compile the schema instead of printing it"
            )
        self.open.append(expression)
        try:
            return self.value(self.normaliser.value(expression))
        finally:
            self.open.pop()

    def value(self, value: ValueSet) -> ast.Regex:
        """Return the texts of a value of any kind."""
        names = [
            ast.literal(n) for n, there in (("null", value.null), ("true", value.true), ("false", value.false)) if there
        ]
        return ast.union(
            *names,
            *(number_pattern(disjunct, self.page.numbers) for disjunct in value.numbers),
            *(_string(disjunct) for disjunct in value.strings),
            *self.containers(value),
        )

    def containers(self, value: ValueSet) -> list[ast.Regex]:
        """Return the texts of the arrays and objects that a value may be."""
        self.level += 1
        try:
            return [*map(self.array, value.arrays), *map(self.object, value.objects)]
        finally:
            self.level -= 1

    # --- arrays ------------------------------------------------------------------------------------------------------

    def array(self, disjunct: ArrayDisjunct) -> ast.Regex:
        """Return the texts of a list."""
        if disjunct.counts:
            raise _not_regular("items are counted by their kind", "drop contains and negated items")
        if disjunct.unique and (disjunct.max_items is None or disjunct.max_items > 1):
            raise _not_regular("items are compared with each other", "drop uniqueItems")
        inner: ast.Regex = ast.union(*([self.page.inside] if disjunct.min_items == 0 else []), self.items(disjunct))
        return ast.concat(ast.literal("["), inner, ast.literal("]"))

    def items(self, disjunct: ArrayDisjunct) -> ast.Regex:
        """Return one item or more, built from the last prefix item backwards."""
        page = self.page
        separator = page.comma(self.level)
        prefix = len(disjunct.prefix)
        tail = self.tail(disjunct, separator)
        for index in reversed(range(prefix or 1)):
            if disjunct.max_items is not None and index >= disjunct.max_items:
                tail = ast.EPSILON
                continue
            item = self.text(disjunct.item(index))
            head = ast.concat(page.first_gap(self.level) if index == 0 else separator, item)
            may_stop = index > 0 and disjunct.min_items <= index
            tail = ast.union(*([ast.EPSILON] if may_stop else []), ast.concat(head, tail))
        if disjunct.max_items == 0:
            return ast.EMPTY
        return ast.concat(tail, page.last_gap(self.level))

    def tail(self, disjunct: ArrayDisjunct, separator: ast.Regex) -> ast.Regex:
        """Return the texts of the items after the first ones."""
        done = max(len(disjunct.prefix), 1)
        most = None if disjunct.max_items is None else max(disjunct.max_items - done, 0)
        if disjunct.items is NEVER or most == 0:
            return ast.EPSILON if disjunct.min_items <= done else ast.EMPTY
        item = ast.concat(separator, self.text(disjunct.items))
        return ast.repeat(item, max(disjunct.min_items - done, 0), most)

    # --- objects -----------------------------------------------------------------------------------------------------

    def object(self, disjunct: ObjectDisjunct) -> ast.Regex:
        """Return the texts of an object."""
        if disjunct.counts:
            raise _not_regular("members are counted by their kind", "drop negated members")
        if not self.closed(disjunct):
            raise _not_regular(
                "undeclared keys may not repeat", "declare the keys and set additionalProperties to false"
            )
        members = [
            (key, text, key in disjunct.required)
            for key, value in disjunct.properties
            if (text := self.text(value)) != ast.EMPTY
        ]
        if {key for key, _, needed in members if needed} != disjunct.required:
            return ast.EMPTY
        counted = disjunct.min_properties > 0 or disjunct.max_properties is not None
        body = self.members(members, disjunct, counted)
        empty = [self.page.inside] if not disjunct.required and disjunct.min_properties == 0 else []
        filled = ast.concat(body, self.page.last_gap(self.level))
        return ast.concat(ast.literal("{"), ast.union(*empty, filled), ast.literal("}"))

    def closed(self, disjunct: ObjectDisjunct) -> bool:
        """Whether an object has no keys but the declared ones."""
        if disjunct.names == ast.EMPTY or (disjunct.max_properties is not None and disjunct.max_properties <= 0):
            return True
        return any(not rule.patterns and rule.additional is NEVER for rule in disjunct.rules)

    def members(self, members: list[tuple[str, ast.Regex, bool]], disjunct: ObjectDisjunct, counted: bool) -> ast.Regex:
        """Return one member or more, in order: rest[c] is the text after c members (or just some) were written."""
        page = self.page
        top = len(members) if counted else 1
        most = len(members) if disjunct.max_properties is None else disjunct.max_properties
        rest: list[ast.Regex] = [
            ast.EPSILON if c > 0 and (not counted or disjunct.min_properties <= c <= most) else ast.EMPTY
            for c in range(top + 2)
        ]
        for key, text, needed in reversed(members):
            spelled = ast.literal(json.dumps(key, ensure_ascii=False))
            member = ast.concat(spelled, page.colon(), text)
            following: list[ast.Regex] = []
            for c in range(top + 1):
                lead = page.first_gap(self.level) if c == 0 else page.comma(self.level)
                taken = ast.concat(lead, member, rest[c + 1 if counted else 1])
                following.append(taken if needed else ast.union(taken, rest[c]))
            rest = [*following, ast.EMPTY]
        return rest[0]


def _string(disjunct: StringDisjunct) -> ast.Regex:
    if disjunct.values is not None:
        texts = [text for text in sorted(disjunct.values) if not any(0xD800 <= ord(c) <= 0xDFFF for c in text)]
        return ast.union(*(ast.literal(json.dumps(text, ensure_ascii=False)) for text in texts))
    return ast.concat(ast.literal('"'), json_content(string_pattern(disjunct)), ast.literal('"'))


def _not_regular(fact: str, fix: str) -> UnsupportedSchemaError:
    return UnsupportedSchemaError(
        f"no regular expression has this language: {fact}",
        why="a regular expression has neither a stack nor a memory",
        fix=f"{fix}, or use the compiled engine, which can do it",
        code="not-regular",
    )

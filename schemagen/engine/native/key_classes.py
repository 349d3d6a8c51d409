"""Keys that are not declared, split into disjoint classes by the schemas of their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.lowering import CANONICAL
from schemagen.schema.ir import NEVER, intersection_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen import _core
    from schemagen.regex.lowering import PatternLowering
    from schemagen.schema.ir import Expression, ObjectDisjunct

MAX_KEY_CLASSES = 64


def check_key_classes(count: int) -> None:
    """Stop where patterns overlap too much.

    Raises:
        LimitError: More than `MAX_KEY_CLASSES`.
    """
    if count > MAX_KEY_CLASSES:
        raise LimitError(
            f"{count} classes of keys by the patterns they match, limit {MAX_KEY_CLASSES}",
            why="every combination of patternProperties that a key may match is a class of its own",
            fix="use patterns that exclude each other",
        )


class KeyClass(NamedTuple):
    """Keys of which the same is asked.

    Attributes:
        node: Their language.
        value: What their members are.
        is_open: Whether there are always more of them, whatever keys were used.
        counted: For each count of the object, what a member is that counts; None where these keys do not.
    """

    node: int
    value: Expression
    is_open: bool
    counted: list[Expression | None]


class KeyClasses:
    """The classes of the keys of objects.

    Args:
        builder: Of the grammar.
        patterns: Spells patterns with the same builder.
        check_time: Called now and then; raises when the work takes too long.
    """

    def __init__(self, builder: _core.Builder, patterns: PatternLowering, check_time: Callable[[], None]) -> None:
        self._builder = builder
        self._patterns = patterns
        self._check_time = check_time

    def of(self, disjunct: ObjectDisjunct, declared: list[bytes]) -> list[KeyClass]:
        """Split the keys that are not declared into disjoint classes by the patterns and counts they belong to."""
        if any(not rule.patterns and rule.additional is NEVER for rule in disjunct.rules):
            return []  # a closed object
        build = self._builder
        start = build.any_string(CANONICAL)
        if disjunct.names != ast.ANY_STRING:
            start = build.conjunction([start, self._patterns.lower(disjunct.names, CANONICAL)])
        classes: list[tuple[int, tuple[Expression, ...]]] = [(start, ())]
        for rule in disjunct.rules:
            split: list[tuple[int, tuple[Expression, ...]]] = []
            for regex, values in classes:
                split.extend(self._by_patterns(regex, values, rule.patterns, rule.additional))
            classes = split
            check_key_classes(len(classes))
        done: list[KeyClass] = []
        for regex, values in classes:
            value = intersection_of(*values)
            if value is NEVER:
                continue
            for node, counted in self._by_counts(regex, disjunct):
                is_open = build.is_open(node)
                rest = node
                if (
                    declared and not is_open
                ):  # it may run out of keys; elsewhere the automaton tells the declared ones apart
                    rest = build.conjunction([node, build.complement(build.literals(declared))])
                if is_open or not build.is_empty(rest):
                    done.append(KeyClass(rest, value, is_open, counted))
        return done

    def _by_counts(self, regex: int, disjunct: ObjectDisjunct) -> list[tuple[int, list[Expression | None]]]:
        pieces: list[tuple[int, list[Expression | None]]] = [(regex, [])]
        for count in disjunct.counts:
            if count.names == ast.ANY_STRING:
                pieces = [(node, [*counted, count.value]) for node, counted in pieces]
                continue
            pieces = [
                (part, [*counted, count.value if hit else None])
                for node, counted in pieces
                for part, hit in self._halves(node, count.names)
            ]
        return pieces

    def _by_patterns(
        self,
        regex: int,
        values: tuple[Expression, ...],
        patterns: tuple[tuple[ast.Regex, Expression], ...],
        additional: Expression,
    ) -> list[tuple[int, tuple[Expression, ...]]]:
        pieces: list[tuple[int, tuple[Expression, ...]]] = [(regex, ())]
        for pattern, value in patterns:
            pieces = [
                (part, (*hits, value) if hit else hits)
                for node, hits in pieces
                for part, hit in self._halves(node, pattern)
            ]
            check_key_classes(len(pieces))
            self._check_time()
        return [(node, values + (hits or (additional,))) for node, hits in pieces]

    def _halves(self, regex: int, pattern: ast.Regex) -> list[tuple[int, bool]]:
        """Split keys into those that a pattern matches and the others; a half without keys is left out."""
        build = self._builder
        inside = self._patterns.lower(pattern, CANONICAL)
        halves = (
            (build.conjunction([regex, inside]), True),
            (build.conjunction([regex, build.complement(inside)]), False),
        )
        return [(part, hit) for part, hit in halves if not build.is_empty(part)]

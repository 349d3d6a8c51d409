"""The compiled engine: expressions and regexes handed to `schemagen._core`, one value at a time.

Everything that has a meaning is decided above (`schemagen.schema`); here it is only spelled for the core: patterns become
kernel nodes in the encoding they are read in, values become arms of the pushdown automaton, keys that are not declared
become disjoint classes of keys.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from schemagen.errors import LimitError, UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.schema.nodes import NEVER, Expression, ObjectArm, StringArm, both
from schemagen.schema.strings import string_pattern
from schemagen.schema.scalars import number_pattern

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.options import Limits, Options
    from schemagen.schema.normalise import Normaliser
    from schemagen.vocabulary import Vocabulary

UTF8, JSON, CANONICAL = 0, 1, 2
WHITESPACE = {"flexible": 0, "compact": 1, "spaced": 2}
EMPTY_NODE, EPSILON_NODE = 0, 1


def canonical(text: str) -> bytes | None:
    """Return the bytes between the quotes of a string as json.dumps writes it; None for lone surrogates."""
    try:
        return json.dumps(text, ensure_ascii=False)[1:-1].encode()
    except UnicodeEncodeError:
        return None


class PatternLowering:
    """Regex values to kernel nodes, memoised per encoding."""

    def __init__(self, builder: _core.Builder) -> None:
        self.builder = builder
        self._memo: dict[tuple[int, ast.Regex], int] = {}

    def lower(self, regex: ast.Regex, encoding: int) -> int:
        """Return the kernel node of a regex over code points, spelled in an encoding."""
        key = (encoding, regex)
        node = self._memo.get(key)
        if node is None:
            node = self._memo[key] = self._lower(regex, encoding)
        return node

    def _lower(self, regex: ast.Regex, encoding: int) -> int:
        if isinstance(regex, ast.Chars):
            return self.builder.chars(encoding, [end for pair in regex.ranges for end in pair])
        if isinstance(regex, ast.Repeat):
            return self.builder.repeat(self.lower(regex.inner, encoding), regex.low, -1 if regex.high is None else regex.high)
        if isinstance(regex, ast.Complement):
            inner = self.builder.complement(self.lower(regex.inner, encoding))
            return self.builder.conjunction([self.builder.any_string(encoding), inner])
        parts = [self.lower(part, encoding) for part in regex.parts]
        if isinstance(regex, ast.Concat):
            return self.builder.concat(parts)
        return self.builder.alternation(parts) if isinstance(regex, ast.Alternation) else self.builder.conjunction(parts)


class JsonLowering:
    """Expressions to values of the core's JSON automaton."""

    def __init__(self, normaliser: Normaliser, options: Options) -> None:
        from schemagen import _core

        self.normaliser = normaliser
        self.options = options
        limits = options.limits
        self.builder = _core.Builder(
            any_order=options.property_order == "any",
            whitespace=WHITESPACE[options.whitespace],
            max_indent=options.max_indent,
            max_states=limits.max_states,
        )
        self.patterns = PatternLowering(self.builder)
        self._values: dict[Expression, int] = {NEVER: 0}
        self._waiting: list[Expression] = []

    def compile(self, vocabulary: Vocabulary) -> _core.Constraint:
        """Return the constraint of the whole schema.

        Raises:
            UnsatisfiableSchemaError: No value satisfies it.
            LimitError: A limit stopped the work.
        """
        root = self._value(self.normaliser.root)
        while self._waiting:
            expression = self._waiting.pop()
            self._define(expression)
            self._check_limits()
        self.builder.settle(root)
        if not self.builder.productive(root):
            raise unsatisfiable()
        return self.builder.json(vocabulary.tables)

    def _check_limits(self) -> None:
        limits: Limits = self.options.limits
        if len(self._values) > limits.max_states:
            raise LimitError(
                f"{len(self._values)} different sub-schemas, limit {limits.max_states}",
                fix="raise schemagen.Limits(max_states=...)",
            )
        self.options.check_time()

    def _value(self, expression: Expression) -> int:
        known = self._values.get(expression)
        if known is None:
            known = self._values[expression] = self.builder.declare_value()
            self._waiting.append(expression)
        return known

    def _define(self, expression: Expression) -> None:
        value = self.normaliser.value(expression)
        names = [name for name, there in ((b"null", value.null), (b"true", value.true), (b"false", value.false)) if there]
        bare = [self.builder.literals(names)] if names else []
        bare.extend(self.patterns.lower(number_pattern(arm, self.options.number_style), UTF8) for arm in value.numbers)
        arrays = [
            self.builder.add_array(
                [self._value(item) for item in arm.prefix],
                self._value(arm.items),
                arm.min_items,
                -1 if arm.max_items is None else arm.max_items,
            )
            for arm in value.arrays
        ]
        objects = [self._object(arm) for arm in value.objects]
        self.builder.define_value(
            self._values[expression],
            self.builder.alternation(bare) if bare else EMPTY_NODE,
            self._strings(value.strings),
            arrays,
            objects,
        )

    # --- strings -----------------------------------------------------------------------------------------------------

    def _strings(self, arms: tuple[StringArm, ...]) -> list[tuple[int, int, int]]:
        counted = [self._counted(arm) for arm in arms if self._is_free(arm)]
        nodes = [self._string(arm) for arm in arms if not self._is_free(arm)]
        merged = self.builder.alternation(nodes) if nodes else EMPTY_NODE
        return counted if merged == EMPTY_NODE else [*counted, (merged, 0, -1)]

    @staticmethod
    def _is_free(arm: StringArm) -> bool:
        return arm.values is None and arm.pattern == ast.ANY_STRING and not arm.formats

    def _counted(self, arm: StringArm) -> tuple[int, int, int]:
        return (self.builder.any_string(JSON), arm.min_length, -1 if arm.max_length is None else arm.max_length)

    def _string(self, arm: StringArm) -> int:
        if arm.values is not None:
            texts = [spelled for v in sorted(arm.values) if (spelled := canonical(v)) is not None]
            return self.builder.literals(texts)
        return self.patterns.lower(string_pattern(arm), JSON)

    # --- objects -----------------------------------------------------------------------------------------------------

    def _object(self, arm: ObjectArm) -> int:
        properties: list[tuple[bytes, int, bool]] = []
        for key, value in arm.properties:
            spelled = canonical(key)
            if spelled is not None:
                properties.append((spelled, self._value(value), key in arm.required))
            elif key in arm.required:
                return self.builder.add_object([(b"", 0, True)], [], 0, -1)
        declared = [key for key, _, _ in properties]
        extras = [(regex, self._value(value), is_open) for regex, value, is_open in self._extra_keys(arm, declared)]
        return self.builder.add_object(
            properties, extras, arm.min_properties, -1 if arm.max_properties is None else arm.max_properties
        )

    def _extra_keys(self, arm: ObjectArm, declared: list[bytes]) -> list[tuple[int, Expression, bool]]:
        """Split the keys that are not declared into disjoint classes by the patterns they match."""
        build = self.builder
        start = build.any_string(CANONICAL)
        if declared:
            start = build.conjunction([start, build.complement(build.literals(declared))])
        is_open = arm.names == ast.ANY_STRING
        if not is_open:
            start = build.conjunction([start, self.patterns.lower(arm.names, CANONICAL)])
        classes: list[tuple[int, tuple[Expression, ...], bool]] = [(start, (), is_open)]
        for rule in arm.rules:
            split: list[tuple[int, tuple[Expression, ...], bool]] = []
            for regex, values, free in classes:
                split.extend(self._split(regex, values, free, rule.patterns, rule.additional))
            classes = split
            if len(classes) > 64:
                raise LimitError(
                    f"{len(classes)} classes of keys by the patterns they match, limit 64",
                    why="every combination of patternProperties that a key may match is a class of its own",
                    fix="use patterns that exclude each other",
                )
        done = [(regex, both(*values), free) for regex, values, free in classes]
        return [(regex, value, free) for regex, value, free in done if value != NEVER]

    def _split(
        self,
        regex: int,
        values: tuple[Expression, ...],
        free: bool,
        patterns: tuple[tuple[ast.Regex, Expression], ...],
        additional: Expression,
    ) -> list[tuple[int, tuple[Expression, ...], bool]]:
        build = self.builder
        pieces: list[tuple[int, tuple[Expression, ...]]] = [(regex, ())]
        for pattern, value in patterns:
            inside = self.patterns.lower(pattern, CANONICAL)
            outside = build.complement(inside)
            split: list[tuple[int, tuple[Expression, ...]]] = []
            for node, hits in pieces:
                for part, more in ((build.conjunction([node, inside]), (*hits, value)), (build.conjunction([node, outside]), hits)):
                    if not build.is_empty(part):
                        split.append((part, more))
            pieces = split
        free = free and not patterns
        return [(node, values + (hits or (additional,)), free) for node, hits in pieces]


def unsatisfiable() -> UnsatisfiableSchemaError:
    """Return the error for a schema without instances."""
    return UnsatisfiableSchemaError(
        "no value can satisfy the schema",
        why="its keywords contradict each other, or a required value can never be finished",
        fix="look for bounds that cross, an enum outside its type, or a recursion without an end",
    )


def compile_pattern(regex: ast.Regex, vocabulary: Vocabulary, options: Options) -> _core.Constraint:
    """Return the constraint of a regular expression over the whole text.

    Raises:
        UnsatisfiableSchemaError: It matches no text.
    """
    from schemagen import _core

    builder = _core.Builder(max_states=options.limits.max_states)
    node = PatternLowering(builder).lower(regex, UTF8)
    if builder.is_empty(node):
        raise UnsatisfiableSchemaError("no text can match the pattern", why="its parts exclude each other", fix="correct the pattern")
    return builder.regex(node, vocabulary.tables)

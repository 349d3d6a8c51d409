"""Numbers, literals and strings as nodes of the kernel: what of a value is no container."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from json.encoder import encode_basestring
from typing import TYPE_CHECKING

from schemagen.regex import ast
from schemagen.regex.lowering import EMPTY_NODE, JSON, UTF8, PatternLowering
from schemagen.schema.numbers.expressions import fraction_regex
from schemagen.schema.numbers.rules import (
    NumberRule,
    caps_of,
    certain_rules,
    fitting,
    has_fractions_only,
    nothing_between,
    range_rules,
    span_of,
    step_of,
    step_rules,
    takes_fractions,
    value_rules,
)
from schemagen.schema.scalars import listed_numbers, plain_texts, string_pattern

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.native.node_cache import NodeCache, Strings
    from schemagen.schema.ir import NumberDisjunct, StringDisjunct, ValueSet
    from schemagen.schema.numbers.expressions import NumberStyle

#: From this length on the characters of a pattern are counted beside its automaton; those of a format, whose own lengths (of a
#: label, of a local part) make most of its states, only from the other one on.
MIN_COUNTED_LENGTH, LONG_FORMAT = 12, 48


def canonical(text: str) -> bytes | None:
    """Return the bytes between the quotes of a string as json.dumps writes it; None for lone surrogates."""
    try:
        return encode_basestring(text)[1:-1].encode()  # json.dumps(text, ensure_ascii=False), without its set-up
    except UnicodeEncodeError:
        return None


class ScalarLowering:
    """Scalars to nodes.

    Args:
        builder: Of the grammar.
        cache: Nodes of its kernel that were made before.
        style: How numbers are written.

    Attributes:
        builder: As given.
        patterns: Spells patterns with the same builder.
        style: As given.
    """

    def __init__(self, builder: _core.Builder, cache: NodeCache, style: NumberStyle) -> None:
        self.builder = builder
        self.patterns = PatternLowering(builder, cache.patterns)
        self.style = style
        self._numbers = cache.numbers

    def lower(self, value: ValueSet) -> tuple[int, Strings]:
        """Return the node of the numbers and literals of a value, and its strings."""
        return (self._literal(value), self._strings(value.strings))

    def _literal(self, value: ValueSet) -> int:
        if not (value.null or value.true or value.false or value.numbers):
            return EMPTY_NODE
        nodes: list[int] = []
        if value.null or value.true or value.false:
            there = ((b"null", value.null), (b"true", value.true), (b"false", value.false))
            nodes.append(self.builder.literals([name for name, is_there in there if is_there]))
        nodes.extend(self.number(disjunct, self.style) for disjunct in value.numbers)
        return self.any_of(nodes)

    def any_of(self, nodes: list[int]) -> int:
        """Return the union of nodes."""
        if len(nodes) == 1:
            return nodes[0]
        return self.builder.alternation(nodes) if nodes else EMPTY_NODE

    def number(self, disjunct: NumberDisjunct, style: NumberStyle) -> int:
        """Return the node of a disjunct's texts in a style."""
        if disjunct.values is not None:  # an enum, seldom seen twice
            texts, others = plain_texts(disjunct, style)
            nodes = [self.builder.literals([text.encode() for text in texts])] if texts else []
            if others or not texts:
                nodes.append(self.patterns.lower(listed_numbers(replace(disjunct, values=others), style), UTF8))
            return self.any_of(nodes)
        node = self._numbers.get((style, disjunct))
        if node is None:
            node = self._numbers[style, disjunct] = self._range(disjunct, style)
        return node

    def _range(self, disjunct: NumberDisjunct, style: NumberStyle) -> int:
        short = fitting(disjunct, style)
        caps = caps_of(span_of(disjunct), step_of(disjunct), short)
        steps = sorted(disjunct.not_multiples | ({Fraction(1)} if has_fractions_only(disjunct) else frozenset()))
        texts = self._rules(range_rules(disjunct, style if steps and takes_fractions(disjunct) else short, caps))
        if texts == EMPTY_NODE and has_fractions_only(disjunct):
            return EMPTY_NODE
        if texts == EMPTY_NODE and (error := nothing_between(span_of(disjunct), step_of(disjunct))) is not None:
            raise error
        outside = [step_rules(step, style, caps) for step in steps]
        outside += [value_rules(value, style, caps) for value in sorted(disjunct.not_values)]
        if not outside:
            return texts
        parts = [texts, *(self.builder.complement(self._rules(rules)) for rules in outside)]
        if steps:
            certain = [self._rules(certain_rules(disjunct, style, caps))]
            if takes_fractions(disjunct):
                certain.append(self.patterns.lower(fraction_regex(), UTF8))
            parts.append(self.any_of(certain))
        return self.builder.conjunction(parts)

    def _rules(self, rules: list[NumberRule]) -> int:
        return self.any_of(
            [
                self.builder.number(
                    list(rule.ends),
                    rule.inside,
                    (rule.divisor, rule.power),
                    (rule.integer_digits, rule.fraction_digits, rule.exact_digits),
                    rule.forms,
                )
                for rule in rules
            ]
        )

    def _strings(self, disjuncts: tuple[StringDisjunct, ...]) -> Strings:
        if not disjuncts:
            return []
        counted = [self._counted(disjunct) for disjunct in disjuncts if self._is_free(disjunct)]
        if len(counted) == len(disjuncts):
            return counted
        only = disjuncts[0]
        long = LONG_FORMAT if only.formats else MIN_COUNTED_LENGTH
        if len(disjuncts) == 1 and only.values is None and (only.max_length or 0) >= long and only.min_length <= 1:
            # A register counts, where folded into the language each length would be a state for each of the pattern. The
            # shortest way to an end tells what still fits; with a least length, gaps between the lengths could matter.
            return [(self._string(replace(only, max_length=None)), 0, only.max_length or 0)]
        merged = self.any_of([self._string(disjunct) for disjunct in disjuncts if not self._is_free(disjunct)])
        return counted if merged == EMPTY_NODE else [*counted, (merged, 0, -1)]

    @staticmethod
    def _is_free(disjunct: StringDisjunct) -> bool:
        return disjunct.values is None and disjunct.pattern == ast.ANY_STRING and not disjunct.formats

    def _counted(self, disjunct: StringDisjunct) -> tuple[int, int, int]:
        return (
            self.builder.any_string(JSON),
            disjunct.min_length,
            -1 if disjunct.max_length is None else disjunct.max_length,
        )

    def _string(self, disjunct: StringDisjunct) -> int:
        if disjunct.values is not None:
            texts = [spelled for v in sorted(disjunct.values) if (spelled := canonical(v)) is not None]
            return self.builder.literals(texts)
        return self.patterns.lower(string_pattern(disjunct), JSON)

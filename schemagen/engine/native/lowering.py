"""The compiled engine: expressions and regexes handed to `schemagen._core`, one value at a time.

Everything that has a meaning is decided above (`schemagen.schema`); here it is only spelled for the core: patterns become
kernel nodes in the encoding they are read in, values become disjuncts of the pushdown automaton, keys that are not declared
become disjoint classes of keys.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

from schemagen.engine.native.builder import CANONICAL, EMPTY_NODE, JSON, UTF8, builder_of
from schemagen.engine.native.counters import NO_COUNTS, Counters
from schemagen.engine.native.distinct import DistinctItems, UncountedError
from schemagen.engine.native.fast_reader import CorePass, Deferred, Reading, basic_values, plain_draft, primitive_nodes
from schemagen.engine.native.node_cache import NODE_CACHES, PatternLowering, Strings
from schemagen.errors import LimitError, UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.regex.derivatives import matches
from schemagen.schema.nodes import (
    ANY,
    ANYTHING,
    NEVER,
    ArrayDisjunct,
    Expression,
    KeyRule,
    NumberDisjunct,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    StringDisjunct,
    ValueSet,
    intersection_of,
)
from schemagen.schema.normalise import Normaliser
from schemagen.schema.numbers.rules import (
    NumberRule,
    caps_of,
    fitting,
    nothing_between,
    range_rules,
    span_of,
    step_of,
    step_rules,
    value_rules,
)
from schemagen.schema.scalars import listed_numbers, plain_texts
from schemagen.schema.strings import string_pattern
from schemagen.threads.free_threading import LARGE

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.options import Limits, Options
    from schemagen.schema.formats.table import Dialect
    from schemagen.schema.numbers.expressions import NumberStyle
    from schemagen.vocabulary import Vocabulary

#: From this length on the characters of a pattern are counted beside its automaton; those of a format, whose own lengths (of a
#: label, of a local part) make most of its states, only from the other one on.
MIN_COUNTED_LENGTH, LONG_FORMAT = 12, 48
MAX_KEY_CLASSES = 64
NOT_COUNTED = (
    "the items are arrays or objects of which there are finitely many, or each place has its own few values, or contains "
    "counts some of a few values, or numbers are so large that only an exponent writes them; whether enough different ones "
    "are left is not worked out"
)
OptionLists = list[list[tuple[int, int]]]
#: Bytes of one text that the core takes as it is.
MAX_LITERAL = 4096
#: Values between two looks at the clock.
CHECK_EVERY = 8


def canonical(text: str) -> bytes | None:
    """Return the bytes between the quotes of a string as json.dumps writes it; None for lone surrogates."""
    try:
        return encode_basestring(text)[1:-1].encode()  # json.dumps(text, ensure_ascii=False), without its set-up
    except UnicodeEncodeError:
        return None


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


def begin(schema: Any, marshalled: bytes | None, dialect: Dialect, options: Options) -> CorePass | None:
    """Let the core read a schema as far as it goes, with all of that enforced; None for one that it is not to read."""
    draft = plain_draft(schema, marshalled)
    if draft is None:
        return None
    builder = builder_of(options)
    starts = NODE_CACHES.of(builder).starts_of(options.number_style, dialect)
    start = starts.get(draft)
    if start is None:
        lowering = JsonLowering(Normaliser({}), options, builder)
        basics = [lowering.scalars(value) for value in basic_values(draft, dialect)]
        start = starts.setdefault(draft, primitive_nodes(basics, lowering.scalars(ANYTHING)[0]))
    # A schema without bytes is that of a type: nobody changes it. Of a large one the compiler has made a copy.
    gives_way = marshalled is None or len(marshalled) > LARGE
    return CorePass(builder, start, schema, draft, options.limits, gives_way=gives_way)


def constraint_of(begun: CorePass, vocabulary: Vocabulary) -> _core.Constraint:
    """Return the constraint of a schema that the core has read to the end.

    Raises:
        UnsatisfiableSchemaError: No value satisfies it.
    """
    builder, root = begun.builder, begun.core.root
    builder.settle(root)
    if not builder.productive(root):
        raise unsatisfiable()
    return builder.json(vocabulary.tables)


class JsonLowering:
    """Expressions to values of the core's JSON automaton.

    Args:
        normaliser: Of the schema.
        options: Of the compilation.
        builder: A fresh one for these options, if there is one.
        begun: What the core has made of the schema, if it has begun.
    """

    def __init__(
        self,
        normaliser: Normaliser,
        options: Options,
        builder: _core.Builder | None = None,
        begun: CorePass | None = None,
    ) -> None:
        self.normaliser = normaliser
        self.options = options
        self.builder = begun.builder if begun is not None else builder_of(options) if builder is None else builder
        self._lowered = NODE_CACHES.of(self.builder)
        self.patterns = PatternLowering(self.builder, self._lowered)
        self._leaves = self._lowered.scalars.setdefault(options.number_style, {})
        self._values: dict[Expression, int] = {NEVER: 0}
        self._always: dict[Expression, OptionLists] = {NEVER: [[]]}  # without counters: the value, wherever it stands
        self._waiting: list[tuple[Expression, int]] = []
        self._at: Expression = NEVER  # what is being defined, for errors
        self._reading: Reading | None = None
        self._strange: set[Expression] = set()  # places that the core has looked at
        self._keys: dict[int, bytes] = {}  # what the core knows the leaves by that are waiting
        if begun is not None:
            root = normaliser.root
            self._values[ANY], self._values[root] = begun.core.any, begun.core.root
            self._reading = Reading(normaliser, begun, options.limits.max_states)
            self._note(self._reading.left(root, begun.left))

    def compile(self, vocabulary: Vocabulary) -> _core.Constraint:
        """Return the constraint of the whole schema.

        Raises:
            UnsatisfiableSchemaError: No value satisfies it.
            LimitError: A limit stopped the work.
        """
        root = self._settled()
        if not self.builder.productive(root):
            raise unsatisfiable()
        return self.builder.json(vocabulary.tables)

    def has_values(self) -> bool:
        """Whether some value satisfies the schema; for an object that is not used any further."""
        return self.builder.productive(self._settled())

    def _settled(self) -> int:
        root = self._value(self.normaliser.root)
        defined = 0
        while self._waiting:
            self._at, known = self._waiting.pop()
            try:
                self._define(self._at, known)
            except OverflowError as error:
                raise LimitError("a number of the schema is larger than float64 can hold", why=str(error)) from error
            defined += 1
            if defined % CHECK_EVERY == 0:
                self._check_limits()
        self._check_limits()
        self.builder.settle(root)
        return root

    def _check_limits(self) -> None:
        limits: Limits = self.options.limits
        if self.builder.value_count > limits.max_states:
            raise LimitError(
                f"{self.builder.value_count} different sub-schemas, limit {limits.max_states}",
                fix="raise schemagen.Limits(max_states=...)",
            )
        self.normaliser.check_time()

    def _value(self, expression: Expression) -> int:
        known = self._values.get(expression)
        if known is None and self._reading is not None and isinstance(expression, SchemaRef):
            known = self._reading.value_of(expression) or None
            if known is not None:
                self._values[expression] = known
        if known is None:
            known = self._values[expression] = self.builder.declare_value()
            leaf = self._leaves.get(expression) if isinstance(expression, Resolved) else None
            if leaf is not None:
                self.builder.define_value(known, *leaf, [], [])
                return known
            self._waiting.append((expression, known))
            if self._reading is not None and isinstance(expression, SchemaRef):
                self._reading.note(expression, known)
        return known

    def _define(self, expression: Expression, known: int) -> None:
        if expression is ANY:
            self._define_any(known)
            return
        if self._reading is not None and isinstance(expression, SchemaRef) and expression not in self._strange:
            self._note(self._reading.read(expression, known))
            return
        value = self.normaliser.value(expression)
        scalars = self.scalars(value)
        if not value.arrays and not value.objects:
            self._remember(expression, known, scalars)
        self.builder.define_value(
            known,
            *scalars,
            [self._array(disjunct) for disjunct in value.arrays],
            [self._object(disjunct) for disjunct in value.objects],
        )

    def _remember(self, expression: Expression, known: int, scalars: tuple[int, Strings]) -> None:
        """Keep what a leaf became: other schemas have it too (`schema.leaves`)."""
        if isinstance(expression, Resolved):
            self._leaves[expression] = scalars
        key = self._keys.get(known)
        if key is not None and self._reading is not None and self.normaliser.is_exact:
            self._reading.keep(key, *scalars)

    def _note(self, leftovers: list[Deferred]) -> None:
        """Note what the core left over."""
        for left in leftovers:
            self._values.setdefault(left.expression, left.value)
            self._waiting.append((left.expression, left.value))
            if left.is_unsupported:
                self._strange.add(left.expression)
            if left.key is not None:
                self._keys[left.value] = left.key

    def _define_any(self, known: int) -> None:
        """Spell any value at all: the undeclared members of most objects."""
        scalars = self._leaves.get(ANY)
        if scalars is None:
            scalars = self._leaves[ANY] = self.scalars(ANYTHING)
        self.builder.define_any(known, scalars[0])

    # --- scalars -----------------------------------------------------------------------------------------------------

    def scalars(self, value: ValueSet) -> tuple[int, Strings]:
        """Return the node of the numbers and literals of a value, and its strings."""
        return (self._bare(value), self._strings(value.strings))

    def _bare(self, value: ValueSet) -> int:
        if not (value.null or value.true or value.false or value.numbers):
            return EMPTY_NODE
        nodes: list[int] = []
        if value.null or value.true or value.false:
            there = ((b"null", value.null), (b"true", value.true), (b"false", value.false))
            nodes.append(self.builder.literals([name for name, is_there in there if is_there]))
        nodes.extend(self.number(disjunct, self.options.number_style) for disjunct in value.numbers)
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
        node = self._lowered.numbers.get((style, disjunct))
        if node is None:
            node = self._lowered.numbers[style, disjunct] = self._range(disjunct, style)
        return node

    def _range(self, disjunct: NumberDisjunct, style: NumberStyle) -> int:
        style = fitting(disjunct, style)
        caps = caps_of(span_of(disjunct), step_of(disjunct), style)
        texts = self._rules(range_rules(disjunct, style, caps))
        if texts == EMPTY_NODE and (error := nothing_between(span_of(disjunct), step_of(disjunct))) is not None:
            raise error
        steps = sorted(disjunct.not_multiples | ({Fraction(1)} if disjunct.integer is False else frozenset()))
        outside = [step_rules(step, style, caps) for step in steps]
        outside += [value_rules(value, style, caps) for value in sorted(disjunct.not_values)]
        if not outside:
            return texts
        return self.builder.conjunction([texts, *(self.builder.complement(self._rules(rules)) for rules in outside)])

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

    # --- arrays ------------------------------------------------------------------------------------------------------

    def _array(self, disjunct: ArrayDisjunct) -> int:
        if not disjunct.counts and not disjunct.unique:
            prefix = [self._option(item) for item in disjunct.prefix]
            high = -1 if disjunct.max_items is None else disjunct.max_items
            return self.builder.add_array(
                prefix, self._option(disjunct.items), disjunct.min_items, high, [True], disjunct.unique
            )
        most, unique, scarce = disjunct.max_items, disjunct.unique, frozenset[int]()
        if unique:
            different = DistinctItems(self)
            try:
                most, scarce = different.most(disjunct), different.scarce(disjunct)
            except UncountedError:
                unique = False
                self.normaliser.refuse(self._at, "uniqueItems", NOT_COUNTED)
        counters = (
            Counters([(count.low, count.high) for count in disjunct.counts], scarce) if disjunct.counts else NO_COUNTS
        )
        length = max([len(disjunct.prefix), *(count.start for count in disjunct.counts)])

        def options(index: int) -> OptionLists:
            counted = [count.value if index >= count.start else None for count in disjunct.counts]
            return self._options(counters, disjunct.item(index), counted)

        return self.builder.add_array(
            [options(index) for index in range(length)],
            options(length),
            disjunct.min_items,
            -1 if most is None else most,
            counters.final(),
            unique,
        )

    def _option(self, value: Expression) -> OptionLists:
        """Return the options of an item or member where nothing is counted: one state, and at most this value."""
        known = self._always.get(value)
        if known is None:
            known = self._always[value] = [[(self._value(value), 0)]]
        return known

    def _options(self, counters: Counters, value: Expression, counted: list[Expression | None]) -> OptionLists:
        """Return, for each state of the counters, the values an item or member may have and the state they lead to."""
        if not counted:
            return self._option(value)
        return [
            [
                (self._value(what), target)
                for extra, target in counters.moves(state, counted)
                if (what := intersection_of(value, *extra)) is not NEVER
            ]
            for state in range(counters.size)
        ]

    # --- objects -----------------------------------------------------------------------------------------------------

    def _object(self, disjunct: ObjectDisjunct) -> int:
        counters = Counters([(count.low, count.high) for count in disjunct.counts]) if disjunct.counts else NO_COUNTS
        required = disjunct.required
        properties: list[tuple[bytes, bool, OptionLists]] = []
        for key, value in disjunct.properties:
            spelled = canonical(key)
            if spelled is not None:
                if disjunct.counts:
                    counted = [count.value if matches(count.names, key) else None for count in disjunct.counts]
                    options = self._options(counters, value, counted)
                else:
                    options = self._option(value)
                properties.append((spelled, key in required, options))
            elif key in required:
                return self.builder.add_object([(b"", True, [[]])], [], 0, -1, [True])
        high = -1 if disjunct.max_properties is None else disjunct.max_properties
        if not disjunct.counts and disjunct.names is ast.ANY_STRING and _is_plain(disjunct.rules):
            extras = self._one_class(disjunct.rules)
            return self.builder.add_object(properties, extras, disjunct.min_properties, high, [True])
        extras = [
            (regex, is_open, self._options(counters, value, counted))
            for regex, value, is_open, counted in self._extra_keys(disjunct, properties)
        ]
        return self.builder.add_object(properties, extras, disjunct.min_properties, high, counters.final())

    def _one_class(self, rules: tuple[KeyRule, ...]) -> list[tuple[int, bool, OptionLists]]:
        """Return the keys that are not declared where no pattern tells them apart: one open class, or none."""
        value = rules[0].additional if rules else ANY
        return [] if value is NEVER else [(self.builder.any_string(CANONICAL), True, self._option(value))]

    def _extra_keys(
        self, disjunct: ObjectDisjunct, properties: list[tuple[bytes, bool, OptionLists]]
    ) -> list[tuple[int, Expression, bool, list[Expression | None]]]:
        """Split the keys that are not declared into disjoint classes by the patterns and counts they belong to."""
        if any(not rule.patterns and rule.additional is NEVER for rule in disjunct.rules):
            return []  # a closed object
        build = self.builder
        start = build.any_string(CANONICAL)
        if disjunct.names != ast.ANY_STRING:
            start = build.conjunction([start, self.patterns.lower(disjunct.names, CANONICAL)])
        classes: list[tuple[int, tuple[Expression, ...]]] = [(start, ())]
        for rule in disjunct.rules:
            split: list[tuple[int, tuple[Expression, ...]]] = []
            for regex, values in classes:
                split.extend(self._split(regex, values, rule.patterns, rule.additional))
            classes = split
            check_key_classes(len(classes))
        done: list[tuple[int, Expression, bool, list[Expression | None]]] = []
        for regex, values in classes:
            value = intersection_of(*values)
            if value is NEVER:
                continue
            for node, counted in self._split_counts(regex, disjunct):
                is_open = build.is_open(node)
                rest = node if is_open else self._without(node, [spelled for spelled, _, _ in properties])
                if is_open or not build.is_empty(rest):
                    done.append((rest, value, is_open, counted))
        return done

    def _without(self, regex: int, keys: list[bytes]) -> int:
        """Take the declared keys out of a class that may run out of keys; elsewhere the automaton tells them apart."""
        build = self.builder
        return build.conjunction([regex, build.complement(build.literals(keys))]) if keys else regex

    def _split_counts(self, regex: int, disjunct: ObjectDisjunct) -> list[tuple[int, list[Expression | None]]]:
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

    def _split(
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
            self.normaliser.check_time()
        return [(node, values + (hits or (additional,))) for node, hits in pieces]

    def _halves(self, regex: int, pattern: ast.Regex) -> list[tuple[int, bool]]:
        """Split keys into those that a pattern matches and the others; a half without keys is left out."""
        build = self.builder
        inside = self.patterns.lower(pattern, CANONICAL)
        halves = (
            (build.conjunction([regex, inside]), True),
            (build.conjunction([regex, build.complement(inside)]), False),
        )
        return [(part, hit) for part, hit in halves if not build.is_empty(part)]


def _is_plain(rules: tuple[KeyRule, ...]) -> bool:
    """Whether all undeclared keys are alike."""
    return not rules or (len(rules) == 1 and not rules[0].patterns)


def unsatisfiable() -> UnsatisfiableSchemaError:
    """Return the error for a schema without instances."""
    return UnsatisfiableSchemaError(
        "no value can satisfy the schema",
        why="its keywords contradict each other, or a required value can never be finished",
        fix="look for bounds that cross, an enum outside its type, or a recursion without an end",
    )


def compile_choices(texts: tuple[str, ...], vocabulary: Vocabulary, options: Options) -> _core.Constraint | None:
    """Return the constraint of one of many texts, made by the core at once; None where one is too long for that or no text.

    Cost: about 1 us a text; as expressions they would take 20 times as long.
    """
    try:
        spelled = [text.encode() for text in texts]
    except UnicodeEncodeError:
        return None
    if max(map(len, spelled)) > MAX_LITERAL:
        return None
    builder = builder_of(options)
    return builder.regex(builder.literals(spelled), vocabulary.tables)


def compile_pattern(regex: ast.Regex, vocabulary: Vocabulary, options: Options) -> _core.Constraint:
    """Return the constraint of a regular expression over the whole text.

    Raises:
        UnsatisfiableSchemaError: It matches no text.
    """
    builder = builder_of(options)
    node = PatternLowering(builder).lower(regex, UTF8)
    if builder.is_empty(node):
        raise UnsatisfiableSchemaError(
            "no text can match the pattern", why="its parts exclude each other", fix="correct the pattern"
        )
    return builder.regex(node, vocabulary.tables)

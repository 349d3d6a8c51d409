"""The compiled engine: expressions and regexes handed to `schemagen._core`, one value at a time.

Everything that has a meaning is decided above (`schemagen.schema`); here it is only spelled for the core: values become
disjuncts of the pushdown automaton, scalars (`scalars`) and patterns (`regex.lowering`) kernel nodes in the encoding they are
read in, keys that are not declared disjoint classes of keys (`key_classes`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.engine.native.builder import builder_of
from schemagen.engine.native.counters import NO_COUNTS, Counters
from schemagen.engine.native.distinct import DistinctItems, UncountedError
from schemagen.engine.native.fast_reader import CorePass, plain_draft, primitive_nodes
from schemagen.engine.native.key_classes import KeyClasses
from schemagen.engine.native.node_cache import NODE_CACHES, Strings
from schemagen.engine.native.scalars import ScalarLowering, canonical
from schemagen.engine.options import Options
from schemagen.errors import LimitError, UnsatisfiableSchemaError
from schemagen.regex import ast
from schemagen.regex.language import matches
from schemagen.regex.lowering import CANONICAL, UTF8, PatternLowering
from schemagen.schema.groups import members_of, multiplied_out
from schemagen.schema.ir import (
    ANY,
    ANYTHING,
    NEVER,
    ArrayDisjunct,
    Expression,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    intersection_of,
)
from schemagen.threads.free_threading import LARGE

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.native.fast_reader import Deferred
    from schemagen.engine.options import Limits
    from schemagen.schema.formats.table import Dialect
    from schemagen.schema.normalise import Normaliser
    from schemagen.vocabulary import Vocabulary

NOT_COUNTED = (
    "the items are arrays or objects of which there are finitely many, or each place has its own few values, or contains "
    "counts some of a few values, or numbers are so large that only an exponent writes them; whether enough different ones "
    "are left is not worked out"
)
#: Of a group: the places of its keys, and of each alternative the value of each key, and whether it must be there.
GroupLists = tuple[list[int], list[list[tuple[int, bool]]]]
OptionLists = list[list[tuple[int, int]]]
#: Bytes of one text that the core takes as it is.
MAX_LITERAL = 4096
#: Values between two looks at the clock.
CHECK_EVERY = 8


def begin(schema: Any, marshalled: bytes | None, dialect: Dialect, options: Options) -> CorePass | None:
    """Let the core read a schema as far as it goes, with all of that enforced; None for one that it is not to read."""
    draft = plain_draft(schema, marshalled)
    if draft is None:
        return None
    builder = builder_of(options)
    cache = NODE_CACHES.of(builder)
    starts = cache.starts_of(options.number_style, dialect)
    start = starts.get(draft)
    if start is None:
        scalars = ScalarLowering(builder, cache, options.number_style)
        start = starts.setdefault(draft, primitive_nodes(scalars, draft, dialect))
    # A schema without bytes is that of a type, and does not change. Of a large one the compiler has made a copy.
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
        begun: What the core has made of the schema, if it has begun.
    """

    def __init__(self, normaliser: Normaliser, options: Options, begun: CorePass | None = None) -> None:
        self.normaliser = normaliser
        normaliser.in_groups = True
        self.options = options
        self.builder = builder_of(options) if begun is None else begun.builder
        cache = NODE_CACHES.of(self.builder)
        self.scalars = ScalarLowering(self.builder, cache, options.number_style)
        self._leaves = cache.scalars.setdefault(options.number_style, {})
        self._values: dict[Expression, int] = {NEVER: 0}
        self._waiting: list[tuple[Expression, int]] = []
        self._at: Expression = NEVER  # the name being defined, for errors
        self._begun = begun
        self._unsupported: set[Expression] = set()  # places that the core has looked at
        self._keys: dict[int, bytes] = {}  # what the core knows the leaves by that are waiting
        if begun is not None:
            self._values[ANY], self._values[normaliser.root] = begun.core.any, begun.core.root
            self._note(begun.left(normaliser))

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
        if known is None and self._begun is not None and (found := self._begun.value_of(expression)):
            known = self._values[expression] = found
        if known is None:
            known = self._values[expression] = self.builder.declare_value()
            leaf = self._leaves.get(expression) if isinstance(expression, Resolved) else None
            if leaf is not None:
                self.builder.define_value(known, *leaf, [], [])
                return known
            self._waiting.append((expression, known))
            if self._begun is not None:
                self._begun.note(expression, known)
        return known

    def _define(self, expression: Expression, known: int) -> None:
        if expression is ANY:
            self._define_any(known)
            return
        if self._begun is not None and isinstance(expression, SchemaRef) and expression not in self._unsupported:
            self._note(self._begun.read(self.normaliser, expression, known))
            return
        value = self.normaliser.value(expression)
        scalars = self.scalars.lower(value)
        if not value.arrays and not value.objects:
            self._remember(expression, known, scalars)
        self.builder.define_value(
            known,
            *scalars,
            [self._array(disjunct) for disjunct in value.arrays],
            [made for disjunct in value.objects for made in self._objects(disjunct)],
        )

    def _remember(self, expression: Expression, known: int, scalars: tuple[int, Strings]) -> None:
        """Keep what a leaf became: other schemas have it too (`schema.subschemas`)."""
        if isinstance(expression, Resolved):
            self._leaves[expression] = scalars
        key = self._keys.get(known)
        if key is not None and self._begun is not None and self.normaliser.is_exact:
            self._begun.core.keep(key, *scalars)

    def _note(self, leftovers: list[Deferred]) -> None:
        """Note what the core left over."""
        for left in leftovers:
            self._values.setdefault(left.expression, left.value)
            self._waiting.append((left.expression, left.value))
            if left.is_unsupported:
                self._unsupported.add(left.expression)
            if left.key is not None:
                self._keys[left.value] = left.key

    def _define_any(self, known: int) -> None:
        """Spell any value at all: the undeclared members of most objects."""
        scalars = self._leaves.get(ANY)
        if scalars is None:
            scalars = self._leaves[ANY] = self.scalars.lower(ANYTHING)
        self.builder.define_any(known, scalars[0])

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
            different = DistinctItems(self.normaliser, self.scalars)
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
        return [[]] if value is NEVER else [[(self._value(value), 0)]]

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

    def _objects(self, disjunct: ObjectDisjunct) -> list[int]:
        """Return the disjuncts of an object: one, unless it has groups beside a bound that concerns all of them."""
        bounded = disjunct.min_properties > 0 or disjunct.max_properties is not None or disjunct.counts
        if disjunct.groups and bounded:
            return list(map(self._object, multiplied_out(disjunct, self.options.limits.max_alternatives)))
        return [self._object(disjunct)]

    def _groups(self, disjunct: ObjectDisjunct, places: dict[str, int]) -> list[GroupLists]:
        """Return the groups of alternatives, with keys by their places; an alternative whose keys cannot be written is none."""
        made: list[GroupLists] = []
        for members in members_of(disjunct):
            keys = [key for key in members[0] if key in places]
            possible = [each for each in members if all(key in places or not must for key, (_, must) in each.items())]
            alternatives = [[(self._value(each[key][0]), each[key][1]) for key in keys] for each in possible]
            if keys or not possible:
                made.append(([places[key] for key in keys], alternatives))
        return made

    def _object(self, disjunct: ObjectDisjunct) -> int:
        counters = Counters([(count.low, count.high) for count in disjunct.counts]) if disjunct.counts else NO_COUNTS
        required = disjunct.required
        properties: list[tuple[bytes, bool, OptionLists]] = []
        places: dict[str, int] = {}
        for key, value in disjunct.properties:
            spelled = canonical(key)
            if spelled is not None:
                if disjunct.counts:
                    counted = [count.value if matches(count.names, key) else None for count in disjunct.counts]
                    options = self._options(counters, value, counted)
                else:
                    options = self._option(value)
                places[key] = len(properties)
                properties.append((spelled, key in required, options))
            elif key in required:
                return self.builder.add_object([(b"", True, [[]])], [], 0, -1, [True], [])
        groups = self._groups(disjunct, places) if disjunct.groups else []
        for among, alternatives in groups:
            for k, place in enumerate(among):
                options = [[(value, 0) for value in dict.fromkeys(each[k][0] for each in alternatives) if value]]
                properties[place] = (properties[place][0], False, options)
        high = -1 if disjunct.max_properties is None else disjunct.max_properties
        rules = disjunct.rules
        if (
            not disjunct.counts
            and disjunct.names is ast.ANY_STRING
            and (not rules or (len(rules) == 1 and not rules[0].patterns))
        ):
            # No pattern tells the undeclared keys apart: they are one open class, or none.
            value = rules[0].additional if rules else ANY
            any_key = self.builder.any_string(CANONICAL)
            extras = [] if value is NEVER else [(any_key, True, self._option(value))]
            return self.builder.add_object(properties, extras, disjunct.min_properties, high, [True], groups)
        classes = KeyClasses(self.builder, self.scalars.patterns, self.normaliser.check_time)
        extras = [
            (keys.node, keys.is_open, self._options(counters, keys.value, keys.counted))
            for keys in classes.of(disjunct, [spelled for spelled, _, _ in properties])
        ]
        return self.builder.add_object(properties, extras, disjunct.min_properties, high, counters.final(), groups)


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
    node = PatternLowering(builder, NODE_CACHES.of(builder).patterns).lower(regex, UTF8)
    if builder.is_empty(node):
        raise UnsatisfiableSchemaError(
            "no text can match the pattern", why="its parts exclude each other", fix="correct the pattern"
        )
    return builder.regex(node, vocabulary.tables)


@lru_cache(maxsize=512)
def compile_language(regex: ast.Regex, vocabulary: Vocabulary) -> _core.Constraint:
    """Return the engine of a regular expression.

    Raises:
        UnsatisfiableSchemaError: It has no text.
        LimitError: A limit stopped the work.
        SchemagenError: The compiled core is not installed.
    """
    return compile_pattern(regex, vocabulary, Options())

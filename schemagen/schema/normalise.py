"""Expressions to values: the lazy heart of the front end.

`Normaliser.value` looks one level deep: a place becomes the `ValueSet` of its own keywords, intersected with the values of
the expressions that apply to the same instance (`allOf`, `$ref`, ...). Children stay expressions, so a recursive schema
is visited once per distinct expression and never unrolled. Results are memoised.

Invariant: an expression that needs its own value to be known (`{"$ref": "#"}`) has no meaning and is an error.
"""

from __future__ import annotations

import contextlib
import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from schemagen.errors import InvalidSchemaError, LimitError, UnsupportedSchemaError
from schemagen.regex import ast
from schemagen.schema import groups, unevaluated
from schemagen.schema.algebra import (
    MAX_DISJUNCTS,
    MULTIPLIED,
    Algebra,
    NotExpressibleError,
    not_object,
    plain_rule,
    union,
)
from schemagen.schema.document import Document
from schemagen.schema.emptiness import InProgressError, PlainEmptiness
from schemagen.schema.ir import (
    ANY_OBJECT,
    ANYTHING,
    NEVER,
    NOTHING,
    ArrayDisjunct,
    Complement,
    Const,
    Expression,
    Intersection,
    NumberDisjunct,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    StringDisjunct,
    Union,
    ValueSet,
    intersection_of,
)
from schemagen.schema.keyword_table import NEGATING, READERS, SCHEMA_MAPS, asserted
from schemagen.schema.keywords import Node, exact, exactly_one, shown
from schemagen.schema.overlaps import may_meet
from schemagen.schema.report_log import ReportLog
from schemagen.schema.scalars import string_pattern
from schemagen.schema.subschemas import Subschemas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen.schema.report import Report

Dialect = Literal["json-schema", "python"]


class Normaliser:
    """The values of the expressions over one schema.

    Args:
        schema: The root schema, a dict or a bool.
        resources: Documents by URI that references may lead to.
        strict: Whether a keyword that cannot be enforced is an error, or checked afterwards.
        dialect: Which reading of formats is wanted: the RFCs', or what Python's types parse.
        max_depth: Most nested evaluations; a deeper schema is refused.
        max_alternatives: Most alternatives of one JSON type in one place.
        check_time: Called now and then; raises when the work takes too long.
        is_plain: As for `Document`.

    Attributes:
        in_groups: Whether objects may have groups of alternatives (`groups.py`), for a caller who reads them.
    """

    def __init__(  # noqa: PLR0913 - bounds and readings, each with a default
        self,
        schema: Any,
        *,
        resources: Mapping[str, Any] | None = None,
        strict: bool = True,
        dialect: Dialect = "json-schema",
        max_depth: int = 200,
        max_alternatives: int = MAX_DISJUNCTS,
        check_time: Callable[[], None] = lambda: None,
        is_plain: bool = False,
    ) -> None:
        self.document = Document(schema, resources, is_plain=is_plain)
        self.root: Expression = self.document.start
        self.strict = strict
        self.in_groups = False
        self.dialect: Dialect = dialect
        self.max_depth = max_depth
        self._max_alternatives = max_alternatives
        self.check_time = check_time
        self._memo: dict[Expression, ValueSet] = {}
        self._open: list[Expression] = []
        self._large: set[Expression] = set()  # places that are worked out within their surroundings
        self._nodes: dict[SchemaRef, Node] = {}
        self._log = ReportLog(dialect)
        self.subschemas = Subschemas(self.document, self._log, dialect, strict=strict)
        self._constants: dict[str, Any] = {}
        self._emptiness = PlainEmptiness()
        self._reads_names = False
        self._of_names: Normaliser | None = None

    # --- what keywords ask for ---------------------------------------------------------------------------------------

    def const(self, value: Any) -> Const:
        """Return the expression of one JSON value; numbers are compared by value, booleans are not numbers.

        Of a Python type the constant 1.0 has more texts than 1, which validation may want without a fraction.
        """
        canonical = value if self.dialect == "python" else _canonical(value)
        text = json.dumps(canonical, sort_keys=True, ensure_ascii=True)
        self._constants.setdefault(text, value)
        return Const(text)

    def disjoint(self, parts: list[Expression]) -> bool:
        """Whether no value is plainly in all of the parts; False where that is not obvious."""
        return self.is_plainly_empty(intersection_of(*parts))

    def may_meet(self, parts: Sequence[Expression], context: Sequence[Expression]) -> list[list[int]]:
        """Return for each part the others from which it is not plainly apart, where the first of the context holds."""
        within = context[0].value if context and isinstance(context[0], Resolved) else ANYTHING
        return may_meet([self._looked_at(part) for part in parts], within)

    def _looked_at(self, expression: Expression) -> ValueSet | None:
        """Return the value of an expression; None if that is not known by itself."""
        try:
            return None if expression in self._large else self._emptiness.look(expression, self.value)
        except LimitError as error:
            if error.why != MULTIPLIED:
                raise
            return None

    def name_pattern(self, names: Expression) -> ast.Regex:
        """Return the strings that a schema allows, as a pattern.

        A schema may be that of its own names: what it says of the names of objects does not matter, as names are strings.
        """
        if self._reads_names:
            return ast.ANY_STRING
        if self._of_names is None:
            self._of_names = self._for_names()
        return ast.union(*(string_pattern(disjunct) for disjunct in self._of_names.value(names).strings))

    def _for_names(self) -> Normaliser:
        """Return a reader of the same document that leaves out the keywords about the names of objects."""
        reader = self.over(self.root)
        reader._reads_names = True  # noqa: SLF001 - of this class
        return reader

    def over(self, root: Expression, check_time: Callable[[], None] | None = None) -> Normaliser:
        """Return a reader of the same document with memory of its own, so that another thread may have it.

        Args:
            root: Its root: any expression over the document.
            check_time: As for the class; None for that of this one.
        """
        reader = copy.copy(self)
        reader.root = root
        reader.check_time = check_time or self.check_time
        reader._memo, reader._open, reader._nodes, reader._large = {}, [], {}, set()  # noqa: SLF001 - of this class
        reader._emptiness, reader._of_names = PlainEmptiness(), None  # noqa: SLF001 - of this class
        return reader

    def unsupported(self, pointer: str, keyword: str, why: str, inside: str = "") -> None:
        """Refuse the keyword of a schema (strict), or note that it is checked afterwards."""
        if self.strict:
            raise UnsupportedSchemaError(
                f"the keyword {keyword!r} cannot be enforced here",
                at=pointer + inside,
                why=why,
                fix="leave it out, or compile with strict=False to have it checked on the finished value",
            )
        self._log.mark_unchecked(pointer, keyword, why)

    @property
    def is_exact(self) -> bool:
        """Whether nothing so far was left to a check afterwards."""
        return self._log.is_exact

    def report(self) -> Report:
        """Return what became of every keyword that was reached."""
        return self._log.report()

    def forget(self) -> None:
        """Drop what the keywords said: it refers back to here, and a cycle would wait for the garbage collector."""
        self._nodes.clear()
        if self._of_names is not None:
            self._of_names.forget()

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, expression: Expression) -> ValueSet:
        """Return the set of values that an expression denotes, one level deep."""
        known = self._memo.get(expression)
        if known is not None:
            return known
        if expression in self._open:
            if self._emptiness.is_looking:
                raise InProgressError
            raise self._endless(expression)
        if len(self._open) >= self.max_depth:
            raise LimitError(
                f"{len(self._open)} schemas nested in one another without a value between them, limit {self.max_depth}",
                at=self._pointer(expression),
                fix="raise schemagen.Limits(max_depth=...)",
            )
        self._open.append(expression)
        try:
            value = self._evaluate(expression)
        finally:
            self._open.pop()
        self._memo[expression] = value
        return value

    def _evaluate(self, expression: Expression) -> ValueSet:
        if isinstance(expression, SchemaRef):
            return self._place(expression)
        if isinstance(expression, Resolved):
            return expression.value
        if isinstance(expression, Const):
            return self._constant(self._constants[expression.text])
        if isinstance(expression, Union):
            return union(self.value(part) for part in expression.parts)
        if isinstance(expression, Intersection) and len(expression.order) > 2:
            *others, last = expression.order
            known = self._memo.get(intersection_of(*others)) if isinstance(last, Complement) else None
            if known is not None:  # as along a chain of conditions, each of which excludes one more value
                return self._within(known, last)
        return self._within(ANYTHING, expression)

    def _within(self, value: ValueSet, expression: Expression) -> ValueSet:
        """Return the values of a set that are in an expression: parts that the set excludes are not multiplied out."""
        parts = expression.order if isinstance(expression, Intersection) else (expression,)
        for part in sorted(parts, key=lambda part: isinstance(part, Complement)):
            if isinstance(part, Complement):
                value = self._outside(value, part.inner)
            elif isinstance(part, Union) and value != ANYTHING:
                value = union(self._within(value, each) for each in part.parts)
            elif part in self._large:
                value = self._within_large(value, part)
            else:
                try:
                    value = self._algebra().intersection(value, self.value(part))
                except LimitError as error:
                    if error.why != MULTIPLIED:
                        raise
                    value = self._within_large(value, part)
        return value

    def _within_large(self, value: ValueSet, expression: Expression) -> ValueSet:
        """Return the values of a set that are in a place of which there are too many alternatives without the set."""
        if value == ANYTHING or not isinstance(expression, SchemaRef) or not isinstance(expression.schema, dict):
            return self._algebra().intersection(value, self.value(expression))
        self._large.add(expression)
        if expression in self._open or len(self._open) >= self.max_depth:
            return self._algebra().intersection(value, self.value(expression))
        self._open.append(expression)
        try:
            return self._combined(expression, self.node(expression), value)
        finally:
            self._open.pop()

    def _outside(self, value: ValueSet, expression: Expression) -> ValueSet:
        """Return the values of a set that are not in an expression."""
        if isinstance(expression, Intersection):
            return union(self._outside(value, part) for part in expression.order)
        if isinstance(expression, Union):
            for part in expression.parts:
                value = self._outside(value, part)
            return value
        if isinstance(expression, Complement):
            return self._within(value, expression.inner)
        try:
            return self._difference(value, self.value(expression))
        except NotExpressibleError as error:
            return self._algebra().intersection(value, self._uncomplemented(expression, error.keyword))

    def _difference(self, value: ValueSet, other: ValueSet) -> ValueSet:
        """Return the values of a set that are not in another one, in groups where these help."""
        if value.is_nothing():
            return value
        if self.in_groups and len(other.objects) > 1:
            with contextlib.suppress(LimitError):
                factors = [value.objects, *map(not_object, other.objects)]
                objects = groups.grouped(factors, self._algebra().objects)
                if objects is not None:
                    return replace(self._algebra().difference(replace(value, objects=()), other), objects=objects)
        return self._algebra().difference(value, other)

    def _constant(self, value: Any) -> ValueSet:
        """Return the set of one JSON value."""
        if value is None:
            return ValueSet(null=True)
        if isinstance(value, bool):
            return ValueSet(true=value, false=not value)
        if isinstance(value, float) and self.dialect == "python" and value.is_integer():
            return ValueSet(numbers=(NumberDisjunct(low=exact(value), high=exact(value)),))
        if isinstance(value, int | float):
            return ValueSet(numbers=(NumberDisjunct(values=frozenset({exact(value)})),))
        if isinstance(value, str):
            return ValueSet(strings=(StringDisjunct(values=frozenset({value})),))
        if isinstance(value, list):
            length = len(value)
            return ValueSet(arrays=(ArrayDisjunct(tuple(map(self.const, value)), NEVER, length, length),))
        members = tuple((key, self.const(item)) for key, item in value.items())
        return ValueSet(objects=(ObjectDisjunct(members, frozenset(value), plain_rule(NEVER)),))

    def _algebra(self) -> Algebra:
        # Not kept: it refers back to here, and a cycle waits for the garbage collector.
        return Algebra(self._viable, self._max_alternatives)

    def refuse(self, expression: Expression, keyword: str, why: str) -> None:
        """Refuse a keyword found too hard after its value was worked out (strict), or leave it to the check afterwards."""
        self.unsupported(self._pointer(expression), keyword, why)

    def _uncomplemented(self, inner: Expression, keyword: str) -> ValueSet:
        pointer = self._pointer(inner)
        why = f"that {keyword!r} is broken cannot be stated by an automaton here"
        if self.strict:
            raise UnsupportedSchemaError(
                "a negated schema (under not, oneOf or if) cannot be enforced here",
                at=pointer,
                why=why,
                fix="tell the alternatives apart by a required property with a const, or compile with strict=False",
            )
        self._log.mark_unchecked(*self._negation_of(inner, keyword), why)
        return ANYTHING

    def _negation_of(self, inner: Expression, keyword: str) -> tuple[str, str]:
        """Return the schema and the keyword that negate an expression, as far as its pointer or what is open tells."""
        pointer = self._pointer(inner)
        tokens = pointer.split("/")
        for k in reversed(range(1, len(tokens))):
            if tokens[k - 1] not in SCHEMA_MAPS and tokens[k] in NEGATING:
                return "/".join(tokens[:k]), tokens[k]
        for place in reversed([e for e in self._open if isinstance(e, SchemaRef)]):
            for name in place.schema if isinstance(place.schema, dict) else ():
                if name in NEGATING:
                    return place.pointer, name
        return pointer, keyword

    def _place(self, place: SchemaRef) -> ValueSet:
        schema = place.schema
        if isinstance(schema, bool):
            return ANYTHING if schema else NOTHING
        if not isinstance(schema, dict):
            raise InvalidSchemaError(f"a schema is {shown(schema)}, expected an object or a boolean", at=place.pointer)
        value = self._combined(place, self.node(place))
        if not self._reads_names:
            self.subschemas.remember(place, value)
        return value

    def _combined(self, place: SchemaRef, node: Node, within: ValueSet = ANYTHING) -> ValueSet:
        """Return the set of a schema object by all of its keywords, and within another one."""
        local = self._algebra().intersection(within, node.local_value())
        value, may_group = local, self.in_groups and len(node.conjuncts) > 1
        for expression in node.conjuncts:
            met: ValueSet | None = None
            try:
                if not isinstance(expression, SchemaRef) or expression in self._large:
                    met = self._within(value, expression)
                else:  # here, as references may be nested deep
                    met = self._algebra().intersection(value, self.value(expression))
            except LimitError as error:
                if error.why != MULTIPLIED:
                    raise
            if may_group and (met is None or len(met.objects) > groups.FEW):
                grouped, may_group = self._grouped(local, node.conjuncts), False
                if grouped is not None:
                    value = grouped
                    break
            value = self._within_large(value, expression) if met is None else met
        if node.exclusive:
            context: list[Expression] = [Resolved(local), *node.conjuncts]
            for parts in node.exclusive:
                chosen = exactly_one(node, parts, context)
                value = self._within(value, chosen)
                context.append(chosen)
        if node.unevaluated_keys is not None or node.unevaluated_items is not None:
            ways = unevaluated.alternatives(self, place)
            rule = unevaluated.restricted(ways, node.unevaluated_keys, node.unevaluated_items)
            value = self._algebra().intersection(value, self.value(rule))
        return value

    def _grouped(self, local: ValueSet, conjuncts: list[Expression]) -> ValueSet | None:
        """Return the values of a set that are in all expressions, with objects in groups; None where these do not help."""
        product, large, most = self._algebra().objects, set(self._large), self._max_alternatives
        factors, others = [local.objects], replace(local, objects=())
        self._max_alternatives = min(most, groups.MOST_OF_ONE)
        try:
            for expression in conjuncts:
                found = self._within(replace(others, objects=(ANY_OBJECT,)), expression)
                factors.append(found.objects)
                others = replace(found, objects=())
            objects = groups.grouped(factors, product)
        except LimitError as error:
            if error.why != MULTIPLIED:
                raise
            self._large = large
            return None
        finally:
            self._max_alternatives = most
        return None if objects is None else replace(others, objects=objects)

    def node(self, place: SchemaRef) -> Node:
        """Return what the keywords of a schema say."""
        known = self._nodes.get(place)
        if known is not None:
            return known
        schema = place.schema
        node = Node(self, self.subschemas, place, schema)
        self._log.read(place)
        for name in asserted(schema, place.draft):
            READERS[name](node, schema[name])
        self._nodes[place] = node
        return node

    # --- obvious emptiness ---------------------------------------------------------------------------------------------

    def _viable(self, disjunct: ObjectDisjunct) -> bool:
        self.check_time()
        return not self._emptiness.has_no_object(disjunct, self.value)

    def containers_in(self, value: ValueSet) -> list[ArrayDisjunct | ObjectDisjunct]:
        """Return the arrays and objects of a value, except those that plainly have no instance."""
        look = self._emptiness
        arrays = [each for each in value.arrays if not look.has_no_array(each, self.value)]
        return [*arrays, *(each for each in value.objects if not look.has_no_object(each, self.value))]

    def is_plainly_empty(self, expression: Expression) -> bool:
        """Whether no value is in the expression, as far as a look along required parts shows."""
        return self._emptiness.is_empty(expression, self.value)

    # --- errors ------------------------------------------------------------------------------------------------------

    def _pointer(self, expression: Expression) -> str:
        if isinstance(expression, SchemaRef):
            return expression.pointer
        places = [e for e in self._open if isinstance(e, SchemaRef)]
        return self._pointer(places[-1]) if places else ""

    def _endless(self, expression: Expression) -> InvalidSchemaError:
        return InvalidSchemaError(
            "the schema refers to itself before any value is read",
            at=self._pointer(expression),
            why="such a reference has no meaning: the values that it allows are defined by themselves",
            fix="let the reference stand below properties or items",
            code="endless-reference",
        )


def _canonical(value: Any) -> Any:
    """Make equal JSON values equal texts: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value

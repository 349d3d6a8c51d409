"""Expressions to values: the lazy heart of the front end.

`Normaliser.value` looks one level deep: a place becomes the `ValueSet` of its own keywords, intersected with the values of
the expressions that apply to the same instance (`allOf`, `$ref`, ...). Children stay expressions, so a recursive schema
is visited once per distinct expression and never unrolled. Results are memoised.

Invariant: an expression that needs its own value to be known (`{"$ref": "#"}`) has no meaning and is an error.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from schemagen.errors import InvalidSchemaError, LimitError, UnsupportedSchemaError
from schemagen.regex import ast
from schemagen.regex.derivatives import is_empty
from schemagen.schema import unevaluated
from schemagen.schema.algebra import MAX_DISJUNCTS, Algebra, NotExpressibleError, plain_rule, union
from schemagen.schema.document import Document, Subschema, check_keywords
from schemagen.schema.keyword_table import NEGATING, READERS, SCHEMA_MAPS, asserted
from schemagen.schema.keywords import Node, branches_alone, exact, exactly_one, shown
from schemagen.schema.leaves import LEAVES, LeafKey, leaf_key, sole_reference
from schemagen.schema.nodes import (
    ANYTHING,
    NEVER,
    NOTHING,
    ArrayDisjunct,
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
    complement_of,
    intersection_of,
)
from schemagen.schema.report_log import ReportLog
from schemagen.schema.strings import string_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.schema.report import Report

Dialect = Literal["json-schema", "python"]

#: How deep required parts are followed to see that nothing can satisfy them.
MAX_LOOK = 6


class _InProgressError(Exception):
    """A look ahead met an expression whose value is being worked out."""


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
        marshalled: What `marshal` makes of the schema, if that is at hand (see `Document`).
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
        marshalled: bytes | None = None,
    ) -> None:
        self.document = Document(schema, resources, marshalled)
        self.root = self.document.start
        self.strict = strict
        self.dialect: Dialect = dialect
        self.max_depth = max_depth
        self._max_alternatives = max_alternatives
        self.check_time = check_time
        self._memo: dict[Expression, ValueSet] = {}
        self._open: list[Expression] = []
        self._constants: dict[str, Any] = {}
        self._nodes: dict[SchemaRef, Node] = {}
        self._leaves: dict[LeafKey, SchemaRef] = {}
        self._leaf_keys: dict[SchemaRef, LeafKey] = {}
        self._account = ReportLog(dialect)
        self._empty: dict[Expression, bool] = {}
        self._looking = 0

    # --- what keywords ask for ---------------------------------------------------------------------------------------

    def place(self, parent: Subschema, schema: Any, *tokens: str) -> SchemaRef:
        """Return the place of a sub-schema."""
        if not isinstance(schema, dict | bool):
            pointer = parent.pointer + "".join(f"/{t}" for t in tokens)
            raise InvalidSchemaError(f"a schema is {shown(schema)}, expected an object or a boolean", at=pointer)
        return self.document.child(parent, schema, *tokens)

    def expression(self, parent: Subschema, schema: Any, *tokens: str) -> Expression:
        """Return what a sub-schema allows: its place, or that of what it refers to; for a leaf, what its like became."""
        found = self._below(parent, schema, *tokens)
        if isinstance(found, Resolved) or found in self._leaf_keys or self.document[found].schema is not schema:
            self._account.note_inline(parent, tokens, schema)
        return found

    def _below(self, parent: Subschema, schema: Any, *tokens: str) -> SchemaRef | Resolved:
        if parent.base is None and isinstance(schema, dict):
            check_keywords(schema, parent, tokens)
            uri = sole_reference(schema, parent.draft) if "$ref" in schema else None
            target = None if uri is None else self.document.find(uri)
            if target is not None:
                return self._shared(target)
            key = self._leaf_key(schema, parent.draft)
            if key is not None:
                return self._leaf(key) or self._first(key, self.place(parent, schema, *tokens))
        return self.place(parent, schema, *tokens)

    def _shared(self, target: SchemaRef) -> SchemaRef | Resolved:
        """Return the place that a reference leads to or, for a leaf, what the first of its kind became."""
        record = self.document[target]
        key = self._leaf_key(record.schema, record.draft) if isinstance(record.schema, dict) else None
        if key is None:
            return target
        self._account.read(record)
        return self._leaf(key) or self._first(key, target)

    def below(self, place: SchemaRef, schema: Any, reference: str | None, tokens: tuple[str, ...]) -> Expression:
        """Return what a sub-schema allows that somebody else came upon, in a document without base URIs.

        Args:
            place: Where the way to it starts.
            schema: The sub-schema.
            reference: Whose target the way leads through, if any: then the tokens lead on from there.
            tokens: The way.
        """
        if reference is not None:
            place = self.reference(self.document[self.root], reference)
            if not tokens:
                return self._shared(place)
        return self._below(self.document[place], schema, *tokens) if tokens else place

    def _leaf_key(self, schema: dict[str, Any], draft: int) -> LeafKey | None:
        # A pattern may be left to the check afterwards, which the report tells of each place.
        words = leaf_key(schema) if self.strict or "pattern" not in schema else None
        return None if words is None else (draft, self.dialect, *words)

    def _leaf(self, key: LeafKey) -> SchemaRef | Resolved | None:
        return LEAVES.get(key) or self._leaves.get(key)

    def _first(self, key: LeafKey, place: SchemaRef) -> SchemaRef:
        self._leaves[key] = place
        self._leaf_keys[place] = key
        return place

    def reference(self, parent: Subschema, uri: str) -> SchemaRef:
        """Return the place that a reference leads to."""
        return self.document.follow(parent, uri)

    def dynamic_reference(self, parent: Subschema, uri: str) -> SchemaRef:
        """Return the place that a dynamic reference leads to from here."""
        return self.document.follow_dynamic(parent, uri)

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

    def name_pattern(self, names: Expression) -> ast.Regex:
        """Return the strings that a schema allows, as a pattern."""
        return ast.union(*(string_pattern(disjunct) for disjunct in self.value(names).strings))

    def unsupported(self, node: Node, keyword: str, why: str) -> None:
        """Refuse the keyword (strict), or note that it is checked afterwards."""
        if self.strict:
            raise UnsupportedSchemaError(
                f"the keyword {keyword!r} cannot be enforced here",
                at=f"{node.record.pointer}/{keyword}",
                why=why,
                fix="leave it out, or compile with strict=False to have it checked on the finished value",
            )
        self._account.mark_unchecked(node.record.pointer, keyword, why)

    @property
    def is_exact(self) -> bool:
        """Whether nothing so far was left to a check afterwards."""
        return self._account.is_exact

    def report(self) -> Report:
        """Return what became of every keyword that was reached."""
        return self._account.report()

    def forget(self) -> None:
        """Drop what the keywords said: it refers back to here, and a cycle would wait for the garbage collector."""
        self._nodes.clear()

    # --- values ------------------------------------------------------------------------------------------------------

    def value(self, expression: Expression) -> ValueSet:
        """Return the set of values that an expression denotes, one level deep."""
        known = self._memo.get(expression)
        if known is not None:
            return known
        if expression in self._open:
            if self._looking:
                raise _InProgressError
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
            return self._const(self._constants[expression.text])
        if isinstance(expression, Intersection):
            value = ANYTHING
            for part in expression.order:
                value = self._algebra().intersection(value, self.value(part))
            return value
        if isinstance(expression, Union):
            return union(self.value(part) for part in expression.parts)
        return self._complement(expression.inner)

    def _algebra(self) -> Algebra:
        # Not kept: it refers back to here, and a cycle waits for the garbage collector.
        return Algebra(self._viable, self._max_alternatives)

    def _complement(self, inner: Expression) -> ValueSet:
        if isinstance(inner, Intersection):
            return union(self.value(complement_of(part)) for part in inner.order)
        if isinstance(inner, Union):
            return self.value(intersection_of(*(complement_of(part) for part in inner.parts)))
        try:
            return self._algebra().complement(self.value(inner))
        except NotExpressibleError as error:
            return self._uncomplemented(inner, error.keyword)

    def refuse(self, expression: Expression, keyword: str, why: str) -> None:
        """Refuse a keyword found too hard after its value was worked out (strict), or leave it to the check afterwards."""
        pointer = self._pointer(expression)
        if self.strict:
            raise UnsupportedSchemaError(
                f"the keyword {keyword!r} cannot be enforced here",
                at=pointer,
                why=why,
                fix="leave it out, or compile with strict=False to have it checked on the finished value",
            )
        self._account.mark_unchecked(pointer, keyword, why)

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
        self._account.mark_unchecked(*self._negation_of(inner, keyword), why)
        return ANYTHING

    def _negation_of(self, inner: Expression, keyword: str) -> tuple[str, str]:
        """Return the schema and the keyword that negate an expression, as far as its pointer or what is open tells."""
        pointer = self._pointer(inner)
        tokens = pointer.split("/")
        for k in reversed(range(1, len(tokens))):
            if tokens[k - 1] not in SCHEMA_MAPS and tokens[k] in NEGATING:
                return "/".join(tokens[:k]), tokens[k]
        for place in reversed([e for e in self._open if isinstance(e, SchemaRef)]):
            schema = self.document[place].schema
            for name in schema if isinstance(schema, dict) else ():
                if name in NEGATING:
                    return self.document[place].pointer, name
        return pointer, keyword

    def _place(self, place: SchemaRef) -> ValueSet:
        record = self.document[place]
        if isinstance(record.schema, bool):
            return ANYTHING if record.schema else NOTHING
        if not isinstance(record.schema, dict):
            raise InvalidSchemaError(
                f"a schema is {shown(record.schema)}, expected an object or a boolean", at=record.pointer
            )
        value = self._combined(place, self._node(place))
        if place in self._leaf_keys:
            LEAVES.put(self._leaf_keys[place], Resolved(value))
        return value

    def _combined(self, place: SchemaRef, node: Node) -> ValueSet:
        """Return the set of a schema object by all of its keywords."""
        value = local = node.local_value()
        for expression in node.conjuncts:
            value = self._algebra().intersection(value, self.value(expression))
        if node.exclusive:
            context: list[Expression] = [Resolved(local), *node.conjuncts]
            for parts in node.exclusive:
                chosen = exactly_one(node, parts, context)
                value = self._algebra().intersection(value, self.value(chosen))
                context.append(chosen)
        if node.unevaluated_keys is not None or node.unevaluated_items is not None:
            ways = unevaluated.alternatives(self, place)
            rule = unevaluated.restricted(ways, node.unevaluated_keys, node.unevaluated_items)
            value = self._algebra().intersection(value, self.value(rule))
        return value

    # --- what unevaluated keywords ask for (unevaluated.Source) ------------------------------------------------------

    def record(self, place: SchemaRef) -> Subschema:
        """Return a place's schema and surroundings."""
        return self.document[place]

    def references(self, place: SchemaRef) -> list[SchemaRef]:
        """Return the places that the references of a schema lead to."""
        return list(self._node(place).references)

    def key_pattern(self, place: SchemaRef, text: str) -> ast.Regex:
        """Return the keys that a pattern of `patternProperties` matches."""
        return self._node(place).key_patterns[text]

    def one_of(self, place: SchemaRef) -> list[Expression]:
        """Return the branches of `oneOf`, each without the others."""
        return branches_alone(self._node(place), self._node(place).exclusive[0], [])

    def _node(self, place: SchemaRef) -> Node:
        known = self._nodes.get(place)
        if known is not None:
            return known
        record = self.document[place]
        schema, draft = record.schema, record.draft
        node = Node(self, record, schema)
        self._account.read(record)
        for name in asserted(schema, draft):
            READERS[name](node, schema[name])
        self._nodes[place] = node
        return node

    def _const(self, value: Any) -> ValueSet:
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
            disjunct = ArrayDisjunct(tuple(self.const(item) for item in value), NEVER, length, length)
            return ValueSet(arrays=(disjunct,))
        members = tuple((key, self.const(item)) for key, item in value.items())
        return ValueSet(objects=(ObjectDisjunct(members, frozenset(value), plain_rule(NEVER)),))

    # --- obvious emptiness ---------------------------------------------------------------------------------------------

    def _viable(self, disjunct: ObjectDisjunct) -> bool:
        self.check_time()
        return not self._no_object(disjunct)

    def is_plainly_empty(self, expression: Expression) -> bool:
        """Whether no value is in the expression, as far as a look along required parts shows.

        What is still being evaluated further up, and what is met again below, counts as not empty.
        """
        known = self._empty.get(expression)
        if known is not None:
            return known
        if self._looking > MAX_LOOK:
            return False
        self._empty[expression] = False
        self._looking += 1
        try:
            value = self.value(expression)
            empty = not (value.null or value.true or value.false or value.numbers)
            empty = empty and all(map(_no_string, value.strings))
            empty = empty and all(self._no_array(disjunct) for disjunct in value.arrays)
            empty = empty and all(self._no_object(disjunct) for disjunct in value.objects)
        except _InProgressError:
            del self._empty[expression]
            return False
        finally:
            self._looking -= 1
        self._empty[expression] = empty
        return empty

    def _no_array(self, disjunct: ArrayDisjunct) -> bool:
        return any(
            self.is_plainly_empty(disjunct.item(k)) for k in range(min(disjunct.min_items, len(disjunct.prefix) + 1))
        )

    def _no_object(self, disjunct: ObjectDisjunct) -> bool:
        return any(self.is_plainly_empty(value) for key, value in disjunct.properties if key in disjunct.required)

    # --- errors ------------------------------------------------------------------------------------------------------

    def _pointer(self, expression: Expression) -> str:
        if isinstance(expression, SchemaRef):
            return self.document[expression].pointer
        places = [e for e in self._open if isinstance(e, SchemaRef)]
        return self._pointer(places[-1]) if places else ""

    def _endless(self, expression: Expression) -> InvalidSchemaError:
        return InvalidSchemaError(
            "the schema refers to itself before any value is read",
            at=self._pointer(expression),
            why="such a reference says nothing: to know what it allows one has to know what it allows",
            fix="let the reference stand below properties or items",
            code="endless-reference",
        )


@lru_cache(maxsize=1024)
def _no_string(disjunct: StringDisjunct) -> bool:
    """Whether a disjunct plainly has no string; cached, for the same patterns return in most alternatives."""
    if disjunct.values is not None or (disjunct.pattern == ast.ANY_STRING and not disjunct.formats):
        return False
    try:
        return is_empty(string_pattern(disjunct), max_states=500)
    except LimitError:
        return False  # not plainly: the caller takes the careful way


def _canonical(value: Any) -> Any:
    """Make equal JSON values equal texts: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value

"""The intermediate representation: what a JSON value may be, by type.

A schema denotes a set of JSON values. Every such set used here is a `ValueSet`: for each JSON type a list of *disjuncts*, and a
value belongs to the set if it satisfies some disjunct of its type. A disjunct is a conjunction of constraints that concern one
type only, so intersection works type by type, disjunct by disjunct (`algebra.py`). What disjuncts say about the values
inside them is an *expression* over places in the schema document, which is only looked into when it is needed; that is how
recursive schemas stay finite.

Invariants: nothing changes any of these, and a hash is worked out once. Equal expressions denote equal sets (the converse
need not hold).
"""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.errors.pointers import pointer_of
from schemagen.regex import ast
from schemagen.regex.ast import HashedOnce, value_class

if TYPE_CHECKING:
    from fractions import Fraction

# --- expressions: sets of JSON values, by name -----------------------------------------------------------------------


#: Name of a dynamic anchor -> base URI of the outermost resource passed through that has it, outermost first.
Scope = tuple[tuple[str, str], ...]


@dataclass(slots=True, eq=False)
class SchemaRef:
    """What the schema at a place of the document allows, and its surroundings; never changed.

    The document keeps one object for each place (`document.py`), so identity is equality.

    Attributes:
        schema: The schema.
        start: The place that ``tokens`` lead on from; where a reference led to, the JSON pointer that it names.
        tokens: The steps from there, unescaped.
        draft: 4, 6, 7, 2019 or 2020.
        base: Base URI of its resource; None where local pointers are all there is.
        scope: Where dynamic references lead to from here.
    """

    schema: Any
    start: SchemaRef | str
    tokens: tuple[str, ...]
    draft: int
    base: str | None = None
    scope: Scope = ()
    _meaning: tuple[object, ...] | None = field(default=None, init=False, repr=False)

    @property
    def meaning(self) -> tuple[object, ...]:
        """A key that is the same only for places with the same values: those whose schemas read the same."""
        if self._meaning is None:
            self._meaning = json.dumps(self.schema, sort_keys=True), self.draft, self.base, self.scope
        return self._meaning

    @property
    def pointer(self) -> str:
        """Where it is; put together when it is asked for, because only errors and reports are interested."""
        steps: list[str] = []
        here: SchemaRef | str = self
        while isinstance(here, SchemaRef):
            steps.append(pointer_of(here.tokens))
            here = here.start
        return here + "".join(reversed(steps))


@value_class
class Const(HashedOnce):
    """One JSON value, by its canonical text (sorted keys, so that equal values are equal texts)."""

    text: str


@value_class
class Intersection(HashedOnce):
    """Values that are in every part; no parts: any value."""

    parts: frozenset[Expression]
    order: tuple[Expression, ...] = field(compare=False)  # keys keep the order of the schemas they come from


@value_class
class Union(HashedOnce):
    """Values that are in some part; no parts: none."""

    parts: tuple[Expression, ...]


@value_class
class Complement(HashedOnce):
    """Values that are not in ``inner``."""

    inner: Expression


@value_class
class Resolved(HashedOnce):
    """A set of values that was worked out already."""

    value: ValueSet


Expression = typing.Union[SchemaRef, Const, Intersection, Union, Complement, Resolved]  # noqa: UP007 - a runtime alias of forward names

#: Single objects, so that `is` tells them: the constructors below build no others of their kind.
ANY: Expression = Intersection(frozenset(), ())
NEVER: Expression = Union(())


def intersection_of(*parts: Expression) -> Expression:
    """The intersection of the parts."""
    if len(parts) == 2 and (parts[0] is ANY or parts[1] is ANY):  # most often
        return parts[1] if parts[0] is ANY else parts[0]
    flat: dict[Expression, None] = {}
    for part in parts:
        if part is NEVER:
            return NEVER
        if isinstance(part, Intersection):
            flat.update(dict.fromkeys(part.order))
        else:
            flat[part] = None
    if len(flat) > 1:
        return Intersection(frozenset(flat), tuple(flat))
    return next(iter(flat), ANY)


@lru_cache(maxsize=4096)
def meanings(expression: Expression) -> frozenset[Any]:
    """Return a key for each conjunct, the same for places whose schemas read the same; cached, as most are met often."""
    parts = expression.parts if isinstance(expression, Intersection) else (expression,)
    return frozenset(map(_meaning, parts))


def _meaning(part: Expression) -> Any:
    if isinstance(part, Complement):
        return "not", _meaning(part.inner)
    return part.meaning if isinstance(part, SchemaRef) else part


def union_of(*parts: Expression) -> Expression:
    """The union of the parts."""
    flat: dict[Expression, None] = {}
    for part in parts:
        if part is ANY:
            return ANY
        if isinstance(part, Union):
            flat.update(dict.fromkeys(part.parts))
        else:
            flat[part] = None
    if len(flat) > 1:
        return Union(tuple(flat))
    return next(iter(flat), NEVER)


def complement_of(inner: Expression) -> Expression:
    """The complement."""
    if inner is ANY:
        return NEVER
    if inner is NEVER:
        return ANY
    return inner.inner if isinstance(inner, Complement) else Complement(inner)


# --- disjuncts: conjunctions that concern one JSON type ---------------------------------------------------------------------


@value_class
class NumberDisjunct(HashedOnce):
    """Numbers by value.

    Attributes:
        low: Lower end, None for none.
        low_open: Whether ``low`` itself is outside.
        high: Upper end, None for none.
        high_open: Whether ``high`` itself is outside.
        integer: True for integers only, False for other numbers only, None for both.
        multiples: Divisors that must divide the value.
        not_multiples: Divisors that must not.
        values: If not None, the value is one of these.
        not_values: The value is none of these.
        plain: Whether an integer is a number written without a point and without an exponent, as in draft 4. There
            5.0 is not an integer, though it equals 5.
    """

    low: Fraction | None = None
    low_open: bool = False
    high: Fraction | None = None
    high_open: bool = False
    integer: bool | None = None
    multiples: frozenset[Fraction] = frozenset()
    not_multiples: frozenset[Fraction] = frozenset()
    values: frozenset[Fraction] | None = None
    not_values: frozenset[Fraction] = frozenset()
    plain: bool = False


@value_class
class StringDisjunct(HashedOnce):
    """Strings by code points: in ``pattern`` and every format, between the lengths, one of ``values`` if given."""

    pattern: ast.Regex = ast.ANY_STRING
    formats: frozenset[str] = frozenset()
    min_length: int = 0
    max_length: int | None = None
    values: frozenset[str] | None = None


@value_class
class ItemCount(HashedOnce):
    """How many of the items from ``start`` on are in ``value``: at least ``low``, at most ``high``."""

    value: Expression
    low: int
    high: int | None = None
    start: int = 0


@value_class
class ArrayDisjunct(HashedOnce):
    """Arrays: ``prefix`` for the first items, ``items`` for the others, how many, the counted ones, whether all differ."""

    prefix: tuple[Expression, ...] = ()
    items: Expression = ANY
    min_items: int = 0
    max_items: int | None = None
    counts: tuple[ItemCount, ...] = ()
    unique: bool = False

    def item(self, index: int) -> Expression:
        """What the item at ``index`` must be."""
        return self.prefix[index] if index < len(self.prefix) else self.items


@value_class
class KeyRule(HashedOnce):
    """What one schema asks of keys it does not declare: every matching pattern's value, else ``additional``."""

    patterns: tuple[tuple[ast.Regex, Expression], ...]
    additional: Expression


@value_class
class MemberCount(HashedOnce):
    """How many members whose key matches ``names`` have a value in ``value``: at least ``low``, at most ``high``."""

    names: ast.Regex
    value: Expression
    low: int
    high: int | None = None


class _FeaturesOnce(HashedOnce):
    """The place where `holders.features` keeps its result; not a field, like the hash."""

    __slots__ = ("features",)
    features: Any


@value_class
class ObjectDisjunct(_FeaturesOnce):
    """Objects.

    Attributes:
        properties: Declared keys in order, with all that is asked of their values (patterns and names included).
        required: Keys that must be present; every one of them is declared.
        rules: The rules for keys that are not declared, one rule per source schema.
        names: What every undeclared key must match, as a whole.
        min_properties: Least number of members.
        max_properties: Most, None for no bound.
        counts: Members that are counted.
        groups: Sets of alternatives, one of which holds in each set (`groups.py`). An alternative constrains declared keys
            and nothing else, besides what ``properties`` and ``required`` ask of them, and no key is in two groups.
    """

    properties: tuple[tuple[str, Expression], ...] = ()
    required: frozenset[str] = frozenset()
    rules: tuple[KeyRule, ...] = ()
    names: ast.Regex = ast.ANY_STRING
    min_properties: int = 0
    max_properties: int | None = None
    counts: tuple[MemberCount, ...] = ()
    groups: tuple[tuple[ObjectDisjunct, ...], ...] = ()


def closed_keys(disjunct: ObjectDisjunct) -> list[str] | None:
    """Return the keys that an object may have, if no others are allowed."""
    if not any(not rule.patterns and rule.additional is NEVER for rule in disjunct.rules):
        return None
    return [key for key, value in disjunct.properties if value is not NEVER]


@value_class
class ValueSet(HashedOnce):
    """A set of JSON values: a union of disjuncts for each type."""

    null: bool = False
    true: bool = False
    false: bool = False
    numbers: tuple[NumberDisjunct, ...] = ()
    strings: tuple[StringDisjunct, ...] = ()
    arrays: tuple[ArrayDisjunct, ...] = ()
    objects: tuple[ObjectDisjunct, ...] = ()

    def is_nothing(self) -> bool:
        """Whether there is no disjunct at all."""
        return not (self.null or self.true or self.false or self.numbers or self.strings or self.arrays or self.objects)


#: Disjuncts without a constraint, and that of the integers: shared, so that most schemas make none of their own.
ANY_NUMBER = NumberDisjunct()
INTEGERS = NumberDisjunct(integer=True)
#: Draft 4: 1.0 is none.
PLAIN_INTEGERS = NumberDisjunct(integer=True, plain=True)
ANY_STRINGS = StringDisjunct()
ANY_ARRAY = ArrayDisjunct()
ANY_OBJECT = ObjectDisjunct()

NOTHING = ValueSet()
ANYTHING = ValueSet(
    null=True,
    true=True,
    false=True,
    numbers=(ANY_NUMBER,),
    strings=(ANY_STRINGS,),
    arrays=(ANY_ARRAY,),
    objects=(ANY_OBJECT,),
)

"""Which of many sets of values may have a value in common, by an index: so that most pairs need no comparison.

Branches of a `oneOf` are mostly apart for a plain reason: a key that one requires is forbidden by the other, or the values
that both list for it differ, or their JSON types do. So the values of a place are reduced to *kinds*: whole JSON types and
single scalars. For each key that some branch requires, an index tells which branches allow which kinds of its value. Sets of
branches are integers, a bit for each, so that n branches cost about n steps.

Invariants: kinds are a superset of the values, and nothing is evaluated for them, so no error and no report depends on them.
Branches that the index takes apart have no value in common; of the others it says nothing.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.regex.alphabet import bits_of
from schemagen.schema.ir import Const, Intersection, Resolved, SchemaRef, Union, ValueSet, closed_keys
from schemagen.schema.keyword_table import asserted
from schemagen.schema.keywords import exact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from schemagen.schema.ir import Expression, ObjectDisjunct

#: A JSON type and a scalar of it, or None for all of them; integers are numbers.
Kind: TypeAlias = "tuple[str, object]"
Kinds: TypeAlias = "frozenset[Kind]"
NO_KINDS: Kinds = frozenset()


def may_meet(parts: Sequence[ValueSet | None], within: ValueSet) -> list[list[int]]:
    """Return for each part the others that may have a value in common with it, within another set.

    Args:
        parts: Sets of values; None for one that is not known.
        within: A set that they are all intersected with.
    """
    everyone, types = (1 << len(parts)) - 1, {name for name, _ in _kinds_in(within)}
    known = {k: part for k, part in enumerate(parts) if part is not None}
    unknown = everyone - sum(1 << k for k in known)
    scalars = _Kinds()
    kinds = {
        k: frozenset(kind for kind in _kinds_in(part) if kind[0] in types - {"object"}) for k, part in known.items()
    }
    for k, found in kinds.items():
        scalars.add(1 << k, found)
    objects = _Objects({k: part.objects for k, part in known.items() if "object" in types}, within)
    meets = [
        (scalars.meeting(kinds[k]) | objects.meeting(k) | unknown if k in known else everyone) & ~(1 << k)
        for k in range(len(parts))
    ]
    return [[other for other in bits_of(others) if meets[other] >> k & 1] for k, others in enumerate(meets)]


class _Kinds:
    """Which sets have values of which kinds."""

    def __init__(self) -> None:
        self._whole: dict[str, int] = defaultdict(int)
        self._some: dict[str, int] = defaultdict(int)
        self._listed: dict[Kind, int] = defaultdict(int)
        self.any = 0

    def add(self, bit: int, kinds: Kinds) -> None:
        """Let a set have these kinds."""
        for kind in kinds:
            self.any |= bit
            self._some[kind[0]] |= bit
            if kind[1] is None:
                self._whole[kind[0]] |= bit
            else:
                self._listed[kind] |= bit

    def meeting(self, kinds: Kinds) -> int:
        """Return the sets that have one of the kinds."""
        found = 0
        for kind in kinds:
            name, value = kind
            found |= self._some.get(name, 0) if value is None else self._whole.get(name, 0) | self._listed.get(kind, 0)
        return found


class _Objects:
    """Which branches may have an object in common: by the keys that one of them requires.

    A branch of several disjuncts counts as allowing everything, unless they are all closed.
    """

    def __init__(self, branches: dict[int, tuple[ObjectDisjunct, ...]], within: ValueSet) -> None:
        self._branches = {k: objects for k, objects in branches.items() if objects}
        self._asked = within.objects[0].required if len(within.objects) == 1 else frozenset()
        self._keys = self._asked.union(*(each.required for objects in branches.values() for each in objects))
        self._closed = 0  # branches that allow no keys but their own
        self._narrowed: dict[str, int] = defaultdict(int)  # those that allow a key some kinds of values
        self._loose: dict[str, int] = defaultdict(int)  # those that may allow it any value
        self._kinds: dict[str, _Kinds] = defaultdict(_Kinds)
        for k, objects in self._branches.items():
            self._add(1 << k, objects)
        self._all = sum(1 << k for k in self._branches)

    def _add(self, bit: int, objects: tuple[ObjectDisjunct, ...]) -> None:
        if all(closed_keys(each) is not None for each in objects):
            self._closed |= bit
        elif len(objects) > 1:
            return
        for each in objects:
            for key, value in each.properties:
                if key not in self._keys:
                    continue
                kinds = _kinds_of(value)
                if kinds is None:
                    self._loose[key] |= bit
                else:
                    self._narrowed[key] |= bit
                    self._kinds[key].add(bit, kinds)

    def meeting(self, branch: int) -> int:
        """Return the branches that may have an object in common with one of them."""
        found = 0
        for each in self._branches.get(branch, ()):
            found |= self._of_one(each)
        return found

    def _of_one(self, disjunct: ObjectDisjunct) -> int:
        values, found = dict(disjunct.properties), self._all
        is_closed = closed_keys(disjunct) is not None
        for key in disjunct.required | self._asked:
            kinds = _kinds_of(values[key]) if key in values else NO_KINDS if is_closed else None
            open_ones = self._all & ~(self._closed | self._narrowed[key])
            listed = self._kinds[key].any if kinds is None else self._kinds[key].meeting(kinds)
            found &= self._loose[key] | open_ones | listed
        return found


def _kinds_of(expression: Expression) -> Kinds | None:
    """Return kinds that hold all values of an expression, as far as its text tells; None where it does not."""
    if isinstance(expression, SchemaRef):
        return _kinds_of_schema(expression)
    if isinstance(expression, Intersection):
        return _narrowest(map(_kinds_of, expression.order))
    if isinstance(expression, Resolved):
        return _kinds_in(expression.value)
    if isinstance(expression, Const):
        return frozenset({_kind(json.loads(expression.text))})
    if isinstance(expression, Union):
        return _together(map(_kinds_of, expression.parts))
    return None


def _kinds_of_schema(place: SchemaRef) -> Kinds | None:
    schema = place.schema
    if not isinstance(schema, dict):
        return NO_KINDS if schema is False else None
    if schema.keys().isdisjoint(("const", "enum", "type")):
        return None
    given = {name: schema[name] for name in asserted(schema, place.draft)}
    found: list[Kinds | None] = []
    if "const" in given:
        found.append(frozenset({_kind(given["const"])}))
    if isinstance(given.get("enum"), list):
        found.append(frozenset(map(_kind, given["enum"])))
    names = given.get("type")
    if names is not None:
        listed = names if isinstance(names, list) else [names]
        found.append(frozenset(("number" if name == "integer" else str(name), None) for name in listed))
    return _narrowest(found)


def _narrowest(found: Iterable[Kinds | None]) -> Kinds | None:
    """Return of several supersets that with the fewest whole types, then the smallest."""
    known = [kinds for kinds in found if kinds is not None]
    return min(known, key=lambda kinds: (sum(value is None for _, value in kinds), len(kinds)), default=None)


def _together(found: Iterable[Kinds | None]) -> Kinds | None:
    together: set[Kind] = set()
    for kinds in found:
        if kinds is None:
            return None
        together |= kinds
    return frozenset(together)


def _kind(value: Any) -> Kind:
    """Return the kind of one JSON value."""
    if value is None:
        return ("null", None)
    if isinstance(value, bool):
        return ("boolean", value)
    if isinstance(value, str):
        return ("string", value)
    if isinstance(value, int | float):
        return ("number", exact(value) if math.isfinite(value) else None)
    return ("array" if isinstance(value, list) else "object", None)


def _kinds_in(value: ValueSet) -> Kinds:
    """Return kinds that hold all of a set's values."""
    kinds: set[Kind] = {("boolean", flag) for flag in (True, False) if (value.true if flag else value.false)}
    if value.null:
        kinds.add(("null", None))
    for name, scalars in (("number", value.numbers), ("string", value.strings)):
        for each in scalars:
            kinds.update([(name, None)] if each.values is None else ((name, one) for one in each.values))
    kinds.update((name, None) for name, found in (("array", value.arrays), ("object", value.objects)) if found)
    return frozenset(kinds)

"""`unevaluatedProperties` and `unevaluatedItems`: what the other schemas of a place looked at, alternative by alternative.

Which members count as evaluated depends on which of the schemas applied in place were satisfied. So the place is split
into alternatives, one for each way its `anyOf`, `oneOf`, `if` and dependencies can be satisfied, and each alternative
carries what its schemas evaluate. For `anyOf` every non-empty subset of its branches is an alternative; none of them has
to deny the other branches, because evaluating less only asks for more, and the larger subset is an alternative too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from schemagen.errors import LimitError
from schemagen.schema.ir import (
    ANY,
    ANYTHING,
    ArrayDisjunct,
    Expression,
    KeyRule,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    ValueSet,
    complement_of,
    intersection_of,
    union_of,
)
from schemagen.schema.keywords import branches_alone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.regex import ast
    from schemagen.schema.normalise import Normaliser

MAX_ALTERNATIVES = 256
MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a satisfied schema has looked at.

    Attributes:
        names: Keys.
        patterns: Patterns of keys.
        every_key: All keys.
        items: Number of leading items.
        every_item: All items.
        matching: Items that satisfy one of these.
    """

    names: frozenset[str] = frozenset()
    patterns: frozenset[ast.Regex] = frozenset()
    every_key: bool = False
    items: int = 0
    every_item: bool = False
    matching: frozenset[Expression] = frozenset()

    def __or__(self, other: Evaluated) -> Evaluated:
        """Return what either has looked at."""
        return Evaluated(
            self.names | other.names,
            self.patterns | other.patterns,
            self.every_key or other.every_key,
            max(self.items, other.items),
            self.every_item or other.every_item,
            self.matching | other.matching,
        )


Alternative = tuple[Expression, Evaluated]
_NOTHING: Alternative = (ANY, Evaluated())


def alternatives(source: Normaliser, place: SchemaRef, depth: int = 0) -> list[Alternative]:
    """Return the ways to satisfy what is applied in place at ``place``, each with what it evaluates.

    The expressions do not repeat the constraints of ``place`` itself.
    """
    schema = place.schema
    if not isinstance(schema, dict):
        return [_NOTHING]
    _check_depth(depth, place)

    def inner(sub: SchemaRef) -> list[Alternative]:
        return [(intersection_of(sub, expression), seen) for expression, seen in alternatives(source, sub, depth + 1)]

    def child(value: Any, *tokens: str) -> list[Alternative]:
        return inner(source.subschemas.place(place, value, *tokens))

    ways: list[Alternative] = [(ANY, own(source, place, nested=depth > 0))]
    for target in source.node(place).references:
        ways = _product(ways, inner(target))
    for index, branch in enumerate(schema.get("allOf", [])):
        ways = _product(ways, child(branch, "allOf", str(index)))
    if "anyOf" in schema:
        ways = _product(ways, _any([child(b, "anyOf", str(k)) for k, b in enumerate(schema["anyOf"])]))
    if "oneOf" in schema:
        alone = branches_alone(source.node(place), source.node(place).exclusive[0], [])
        branches = [child(b, "oneOf", str(k)) for k, b in enumerate(schema["oneOf"])]
        ways = _product(
            ways, [(intersection_of(e, w), s) for e, branch in zip(alone, branches, strict=True) for w, s in branch]
        )
    if "if" in schema:
        ways = _product(ways, _conditional(schema, child))
    for key, value in (schema.get("dependentSchemas") or {}).items():
        ways = _product(ways, _dependent(source, place, key, child(value, "dependentSchemas", key)))
    return ways


def _dependent(source: Normaliser, place: SchemaRef, key: str, consequence: list[Alternative]) -> list[Alternative]:
    absent = source.subschemas.place(place, {"properties": {key: False}}, "dependentSchemas", key, "absent")
    present = source.subschemas.place(place, {"required": [key]}, "dependentSchemas", key, "present")
    return [(absent, Evaluated()), *((intersection_of(present, e), s) for e, s in consequence)]


def _check_depth(depth: int, place: SchemaRef) -> None:
    if depth > MAX_DEPTH:
        raise LimitError(
            f"more than {MAX_DEPTH} schemas applied in place of one another", at=place.pointer, fix="flatten them"
        )


def _conditional(schema: dict[str, Any], child: Any) -> list[Alternative]:
    condition = child(schema["if"], "if")
    then = child(schema.get("then", True), "then")
    otherwise = child(schema.get("else", True), "else")
    failed = intersection_of(*(complement_of(e) for e, _ in condition))
    return [*_product(condition, then), *((intersection_of(failed, e), s) for e, s in otherwise)]


def _any(branches: list[list[Alternative]]) -> list[Alternative]:
    ways: list[Alternative] = []
    for size in range(1, len(branches) + 1):
        for chosen in combinations(branches, size):
            combined = [_NOTHING]
            for branch in chosen:
                combined = _product(combined, branch)
            ways.extend(combined)
            _check(len(ways))
    return ways


def _product(left: list[Alternative], right: list[Alternative]) -> list[Alternative]:
    _check(len(left) * len(right))
    return [(intersection_of(a, b), seen | more) for a, seen in left for b, more in right]


def _check(count: int) -> None:
    if count > MAX_ALTERNATIVES:
        raise LimitError(
            f"{count} ways to satisfy the schemas beside an unevaluated keyword, limit {MAX_ALTERNATIVES}",
            fix="use additionalProperties, or fewer branches",
        )


def own(source: Normaliser, place: SchemaRef, *, nested: bool) -> Evaluated:
    """Return what the keywords of a schema evaluate by themselves; its unevaluated ones only where it is nested."""
    schema, draft = place.schema, place.draft
    items = schema.get("items")
    prefix = schema.get("prefixItems", []) if draft >= 2020 else items if isinstance(items, list) else []
    rest = "items" in schema if draft >= 2020 else isinstance(items, dict | bool) or "additionalItems" in schema
    matching: frozenset[Expression] = frozenset()
    if draft >= 2020 and "contains" in schema:
        matching = frozenset({source.subschemas.place(place, schema["contains"], "contains")})
    return Evaluated(
        names=frozenset(schema.get("properties", ())),
        patterns=frozenset(source.node(place).key_patterns[text] for text in schema.get("patternProperties", ())),
        every_key="additionalProperties" in schema or (nested and "unevaluatedProperties" in schema),
        items=len(prefix),
        every_item=rest or (nested and "unevaluatedItems" in schema),
        matching=matching,
    )


def restricted(ways: Iterable[Alternative], keys: Expression | None, items: Expression | None) -> Expression:
    """Return the alternatives with the rule for what they left unevaluated.

    Args:
        ways: The alternatives of the place, without its unevaluated keywords.
        keys: What unevaluated members must be, None without `unevaluatedProperties`.
        items: What unevaluated items must be, None without `unevaluatedItems`.
    """
    return union_of(*(intersection_of(expression, Resolved(_rule(seen, keys, items))) for expression, seen in ways))


def _rule(seen: Evaluated, keys: Expression | None, items: Expression | None) -> ValueSet:
    obj, array = ObjectDisjunct(), ArrayDisjunct()
    if keys is not None and not seen.every_key:
        rule = KeyRule(tuple((pattern, ANY) for pattern in sorted(seen.patterns, key=repr)), keys)
        obj = ObjectDisjunct(properties=tuple((name, ANY) for name in sorted(seen.names)), rules=(rule,))
    if items is not None and not seen.every_item:
        array = ArrayDisjunct(prefix=(ANY,) * seen.items, items=union_of(*sorted(seen.matching, key=repr), items))
    return replace(ANYTHING, arrays=(array,), objects=(obj,))

"""The keywords of JSON Schema, one function each, named after it.

A function reads one keyword of one schema object and adds what it says to a `Node`: constraints on one JSON type go into
the arm of that type, everything that applies to the whole value (`allOf`, `$ref`, `enum`, ...) is added as an expression.
Keywords that need each other (`properties` with `patternProperties` and `additionalProperties`) are only stored here and
combined by `Node.local_value`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from schemagen.errors import InvalidSchemaError, LimitError, PatternError, UnsupportedPatternError
from schemagen.regex import ast
from schemagen.schema.algebra import both_numbers, plain_rule, settle_array, settle_object, undeclared
from schemagen.schema.nodes import (
    ANY,
    NEVER,
    ArrayArm,
    Const,
    Expression,
    ItemCount,
    KeyRule,
    NumberArm,
    ObjectArm,
    Place,
    StringArm,
    Value,
    both,
    either,
    neither,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.schema.document import PlaceRecord

#: About a thousand decimal digits.
MAX_NUMBER_BITS = 3322
#: Higher counts are as good as this one: no text is that long.
MAX_COUNT = 2**31 - 1
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


class Reader(Protocol):
    """What keywords need from the normaliser."""

    @property
    def dialect(self) -> str:
        """Which reading of formats is wanted."""
        ...

    def place(self, parent: PlaceRecord, schema: Any, *tokens: str) -> Place:
        """Return the place of a sub-schema."""
        ...

    def reference(self, parent: PlaceRecord, uri: str) -> Place:
        """Return the place that a reference leads to."""
        ...

    def dynamic_reference(self, parent: PlaceRecord, uri: str) -> Place:
        """Return the place that a dynamic reference leads to from here."""
        ...

    def const(self, value: Any) -> Const:
        """Return the expression of one JSON value."""
        ...

    def disjoint(self, parts: list[Expression]) -> bool:
        """Whether no value is plainly in all of the parts."""
        ...

    def name_pattern(self, names: Place) -> ast.Regex:
        """Return the strings that a schema allows, as a pattern."""
        ...

    def unsupported(self, node: Node, keyword: str, why: str) -> None:
        """Refuse the keyword (strict), or note that it is checked afterwards."""
        ...

    def note(self, node: Node, keyword: str, status: str, note: str = "") -> None:
        """Record what became of a keyword."""
        ...


@dataclass(slots=True)
class Node:
    """What the keywords of one schema object have said so far."""

    reader: Reader
    record: PlaceRecord
    schema: Mapping[str, Any]
    place: Place
    types: frozenset[str] = TYPES
    number: NumberArm = field(default_factory=NumberArm)
    string: StringArm = field(default_factory=StringArm)
    array: ArrayArm = field(default_factory=ArrayArm)
    required: tuple[str, ...] = ()
    properties: dict[str, Expression] = field(default_factory=dict)
    patterns: list[tuple[ast.Regex, Expression]] = field(default_factory=list)
    additional: Expression = ANY
    names: ast.Regex = ast.ANY_STRING
    min_properties: int = 0
    max_properties: int | None = None
    conjuncts: list[Expression] = field(default_factory=list)
    exclusive: list[tuple[Expression, ...]] = field(default_factory=list)
    references: list[Place] = field(default_factory=list)
    key_patterns: dict[str, ast.Regex] = field(default_factory=dict)
    unevaluated_keys: Expression | None = None
    unevaluated_items: Expression | None = None

    @property
    def local(self) -> Place:
        """The expression of this node without its applicators."""
        return Place(-1 - self.place.index)

    def child(self, schema: Any, *tokens: str) -> Expression:
        """Return the expression of a sub-schema."""
        if schema is True or schema == {}:
            return ANY
        if schema is False:
            return NEVER
        return self.reader.place(self.record, schema, *tokens)

    def invalid(self, keyword: str, value: Any, expected: str) -> InvalidSchemaError:
        """Return the error for a keyword with a value of the wrong kind."""
        return InvalidSchemaError(
            f"{keyword} is {shown(value)}, expected {expected}", at=f"{self.record.pointer}/{keyword}"
        )

    def local_value(self) -> Value:
        """Return the set of values that the type keywords allow, applicators left aside."""
        number = self.number
        if "number" not in self.types:
            number = replace(number, integer=True)
        has_numbers = "number" in self.types or "integer" in self.types
        array, obj = settle_array(self.array), settle_object(self._object())
        string = self.string
        fits = string.max_length is None or string.min_length <= string.max_length
        return Value(
            null="null" in self.types,
            true="boolean" in self.types,
            false="boolean" in self.types,
            numbers=(number,) if has_numbers else (),
            strings=(string,) if "string" in self.types and fits else (),
            arrays=(array,) if "array" in self.types and array is not None else (),
            objects=(obj,) if "object" in self.types and obj is not None else (),
        )

    def _object(self) -> ObjectArm:
        rule = KeyRule(tuple(self.patterns), self.additional)
        rules = (rule,) if rule.patterns else plain_rule(self.additional)
        arm = ObjectArm(
            rules=rules, names=self.names, min_properties=self.min_properties, max_properties=self.max_properties
        )
        declared = replace(arm, rules=(replace(rule, additional=ANY),))
        properties = {key: both(value, undeclared(declared, key)) for key, value in self.properties.items()}
        for key in self.required:
            if key not in properties:
                properties[key] = undeclared(arm, key)
        return replace(arm, properties=tuple(properties.items()), required=frozenset(self.required))


def shown(value: Any) -> str:
    """Return the start of a value as JSON, for error texts."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)[:80]
    except (ValueError, TypeError, RecursionError):  # numbers of thousands of digits, keys that are no names, depth
        return f"a {type(value).__name__} that cannot be written as JSON"


# --- reading values ----------------------------------------------------------------------------------------------------


def exact(value: float) -> Fraction:
    """Return the number that a JSON text meant: 0.1 is a tenth, not its nearest float."""
    return Fraction(value) if isinstance(value, int) else Fraction(Decimal(repr(value)))


def _number(node: Node, keyword: str, value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise node.invalid(keyword, value, "a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise node.invalid(keyword, value, "a finite number")
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise LimitError(
            f"{keyword} has some {value.bit_length() * 3 // 10} digits", at=f"{node.record.pointer}/{keyword}"
        )
    return exact(value)


def _count(node: Node, keyword: str, value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 0:
        raise node.invalid(keyword, value, "a non-negative integer")
    return min(int(value), MAX_COUNT)


def _schemas(node: Node, keyword: str, value: Any) -> list[Expression]:
    if not isinstance(value, list) or not value:
        raise node.invalid(keyword, value, "a non-empty list of schemas")
    return [node.child(schema, keyword, str(k)) for k, schema in enumerate(value)]


def _mapping(node: Node, keyword: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise node.invalid(keyword, value, "an object with names as keys")
    return value


def _names(node: Node, keyword: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise node.invalid(keyword, value, "a list of property names")
    return value


def _pattern(node: Node, keyword: str, text: Any) -> ast.Regex | None:
    """Return the strings in which the pattern occurs; None if it had to be left to the check afterwards."""
    from schemagen.regex import parse_ecma

    if not isinstance(text, str):
        raise node.invalid(keyword, text, "a regular expression")
    try:
        return parse_ecma(text)
    except UnsupportedPatternError as error:
        node.reader.unsupported(node, keyword, error.fact)
        return None
    except (PatternError, LimitError) as error:
        error.at = f"{node.record.pointer}/{keyword}" + (f", {error.at}" if error.at else "")
        raise


# --- any type ----------------------------------------------------------------------------------------------------------


def type_(node: Node, value: Any) -> None:
    """`type`: a name or a list of names."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or any(not isinstance(n, str) or n not in TYPES for n in names):
        raise node.invalid("type", value, "a JSON type or a list of them")
    node.types = frozenset(names)


def enum(node: Node, value: Any) -> None:
    """`enum`: one of the listed values."""
    if not isinstance(value, list):
        raise node.invalid("enum", value, "a list of values")
    node.conjuncts.append(either(*(_constant(node, "enum", item) for item in value)))


def const(node: Node, value: Any) -> None:
    """`const`: this value."""
    node.conjuncts.append(_constant(node, "const", value))


def _constant(node: Node, keyword: str, value: Any) -> Const:
    if not _is_json(value):
        raise node.invalid(keyword, value, "a JSON value (no NaN or infinity, names as keys)")
    return node.reader.const(value)


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        return False
    return value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


def all_of(node: Node, value: Any) -> None:
    """`allOf`: all of the schemas."""
    node.conjuncts.extend(_schemas(node, "allOf", value))


def any_of(node: Node, value: Any) -> None:
    """`anyOf`: at least one of the schemas."""
    node.conjuncts.append(either(*_schemas(node, "anyOf", value)))


def one_of(node: Node, value: Any) -> None:
    """`oneOf`: exactly one of the schemas; resolved once the other keywords are known (`exactly_one`)."""
    node.exclusive.append(tuple(_schemas(node, "oneOf", value)))


def exactly_one(node: Node, parts: tuple[Expression, ...], context: list[Expression]) -> Expression:
    """Return the values in exactly one part."""
    return either(*branches_alone(node, parts, context))


def branches_alone(node: Node, parts: tuple[Expression, ...], context: list[Expression]) -> list[Expression]:
    """Return each part without those of the others that it is not already disjoint from, in the given context."""
    if len(parts) == 1:
        return [parts[0]]
    apart = [[True] * len(parts) for _ in parts]
    for i, left in enumerate(parts):
        for j in range(i + 1, len(parts)):
            apart[i][j] = apart[j][i] = node.reader.disjoint([*context, left, parts[j]])
    return [
        both(part, *(neither(parts[j]) for j in range(len(parts)) if j != i and not apart[i][j]))
        for i, part in enumerate(parts)
    ]


def not_(node: Node, value: Any) -> None:
    """`not`: none of what the schema allows."""
    node.conjuncts.append(neither(node.child(value, "not")))


def if_(node: Node, value: Any) -> None:
    """`if`, `then`, `else`."""
    then, otherwise = node.schema.get("then", True), node.schema.get("else", True)
    if then is True and otherwise is True:
        return
    condition = node.child(value, "if")
    node.conjuncts.append(
        either(
            both(condition, node.child(then, "then")),
            both(neither(condition), node.child(otherwise, "else")),
        )
    )


def ref(node: Node, value: Any) -> None:
    """`$ref`: the schema that the reference leads to."""
    if not isinstance(value, str):
        raise node.invalid("$ref", value, "a URI reference")
    target = node.reader.reference(node.record, value)
    node.references.append(target)
    node.conjuncts.append(target)


# --- numbers -----------------------------------------------------------------------------------------------------------


def _bound(node: Node, **changes: Any) -> None:
    node.number = both_numbers(node.number, NumberArm(**changes)) or NumberArm(values=frozenset())


def minimum(node: Node, value: Any) -> None:
    """`minimum`; draft 4 may make it exclusive."""
    _bound(
        node,
        low=_number(node, "minimum", value),
        low_open=node.record.draft == 4 and node.schema.get("exclusiveMinimum") is True,
    )


def maximum(node: Node, value: Any) -> None:
    """`maximum`; draft 4 may make it exclusive."""
    _bound(
        node,
        high=_number(node, "maximum", value),
        high_open=node.record.draft == 4 and node.schema.get("exclusiveMaximum") is True,
    )


def exclusive_minimum(node: Node, value: Any) -> None:
    """`exclusiveMinimum`: a bound of its own since draft 6."""
    if not isinstance(value, bool):
        _bound(node, low=_number(node, "exclusiveMinimum", value), low_open=True)
    elif node.record.draft != 4 and value:
        raise node.invalid("exclusiveMinimum", value, 'a number (a boolean needs "$schema" of draft 4)')


def exclusive_maximum(node: Node, value: Any) -> None:
    """`exclusiveMaximum`: a bound of its own since draft 6."""
    if not isinstance(value, bool):
        _bound(node, high=_number(node, "exclusiveMaximum", value), high_open=True)
    elif node.record.draft != 4 and value:
        raise node.invalid("exclusiveMaximum", value, 'a number (a boolean needs "$schema" of draft 4)')


def multiple_of(node: Node, value: Any) -> None:
    """`multipleOf`: the quotient is an integer."""
    divisor = _number(node, "multipleOf", value)
    if divisor <= 0:
        raise node.invalid("multipleOf", value, "a number above 0")
    _bound(node, multiples=frozenset({divisor}))


# --- strings -----------------------------------------------------------------------------------------------------------


def _narrow(node: Node, pattern: ast.Regex) -> None:
    old = node.string
    node.string = replace(old, pattern=ast.conjunction(old.pattern, pattern))


def min_length(node: Node, value: Any) -> None:
    """`minLength`, in code points."""
    node.string = replace(node.string, min_length=_count(node, "minLength", value))


def max_length(node: Node, value: Any) -> None:
    """`maxLength`, in code points."""
    node.string = replace(node.string, max_length=_count(node, "maxLength", value))


def pattern(node: Node, value: Any) -> None:
    """`pattern`: ECMA-262, found anywhere in the string."""
    found = _pattern(node, "pattern", value)
    if found is not None:
        _narrow(node, found)


def format_(node: Node, value: Any) -> None:
    """`format`: asserted where it is known, an annotation otherwise."""
    from schemagen.schema.formats import format_regex

    if not isinstance(value, str):
        raise node.invalid("format", value, "a name")
    python = node.reader.dialect == "python"
    name = f"python:{value}" if python else value
    if format_regex(value, dialect="python" if python else "json-schema") is not None:
        node.string = replace(node.string, formats=node.string.formats | {name})
        node.reader.note(node, "format", "enforced", value)
    else:
        node.reader.note(node, "format", "annotation", f"{value!r} asserts nothing here")


# --- arrays ------------------------------------------------------------------------------------------------------------


def _array(node: Node, **changes: Any) -> None:
    node.array = replace(node.array, **changes)


def items(node: Node, value: Any) -> None:
    """`items`: every item after the prefix; a list of schemas is the prefix itself (before 2020-12)."""
    if isinstance(value, list):
        _array(node, prefix=tuple(node.child(schema, "items", str(k)) for k, schema in enumerate(value)))
        if "additionalItems" in node.schema:
            _array(node, items=node.child(node.schema["additionalItems"], "additionalItems"))
        return
    _array(node, items=node.child(value, "items"))


def prefix_items(node: Node, value: Any) -> None:
    """`prefixItems`: a schema for each of the first items."""
    if not isinstance(value, list):
        raise node.invalid("prefixItems", value, "a list of schemas")
    _array(node, prefix=tuple(node.child(schema, "prefixItems", str(k)) for k, schema in enumerate(value)))


def min_items(node: Node, value: Any) -> None:
    """`minItems`."""
    _array(node, min_items=_count(node, "minItems", value))


def max_items(node: Node, value: Any) -> None:
    """`maxItems`."""
    _array(node, max_items=_count(node, "maxItems", value))


def unique_items(node: Node, value: Any) -> None:
    """`uniqueItems`: items that differ as JSON values (1 is 1.0, the order of keys is nothing)."""
    if value is True:
        _array(node, unique=True)


def contains(node: Node, value: Any) -> None:
    """`contains` with `minContains` and `maxContains`: how many items a schema allows."""
    new = node.record.draft >= 2019
    low = _count(node, "minContains", node.schema.get("minContains", 1)) if new else 1
    high = _count(node, "maxContains", node.schema["maxContains"]) if new and "maxContains" in node.schema else None
    _array(node, counts=(ItemCount(node.child(value, "contains"), low, high),))


# --- objects -----------------------------------------------------------------------------------------------------------


def properties(node: Node, value: Any) -> None:
    """`properties`: schemas by key, in the order of generation."""
    for key, schema in _mapping(node, "properties", value).items():
        node.properties[key] = node.child(schema, "properties", key)


def pattern_properties(node: Node, value: Any) -> None:
    """`patternProperties`: schemas for all keys in which a pattern occurs."""
    for text, schema in _mapping(node, "patternProperties", value).items():
        found = _pattern(node, "patternProperties", text)
        node.key_patterns[text] = ast.EMPTY if found is None else found
        if found is not None:
            node.patterns.append((found, node.child(schema, "patternProperties", text)))


def additional_properties(node: Node, value: Any) -> None:
    """`additionalProperties`: the keys that neither `properties` nor a pattern names."""
    node.additional = node.child(value, "additionalProperties")


def property_names(node: Node, value: Any) -> None:
    """`propertyNames`: every key, as a string."""
    child = node.child(value, "propertyNames")
    if child is NEVER:
        node.names = ast.EMPTY
    elif isinstance(child, Place):
        node.names = node.reader.name_pattern(child)


def required(node: Node, value: Any) -> None:
    """`required`: keys that must be there; draft 3 style booleans mean nothing."""
    if isinstance(value, bool):
        node.reader.note(node, "required", "annotation", "a boolean, as in draft 3")
        return
    node.required = tuple(dict.fromkeys(_names(node, "required", value)))


def min_properties(node: Node, value: Any) -> None:
    """`minProperties`."""
    node.min_properties = _count(node, "minProperties", value)


def max_properties(node: Node, value: Any) -> None:
    """`maxProperties`."""
    node.max_properties = _count(node, "maxProperties", value)


def _when_present(node: Node, key: str, consequence: Expression) -> None:
    absent = node.reader.place(node.record, {"properties": {key: False}}, "dependencies", key, "absent")
    present = node.reader.place(node.record, {"required": [key]}, "dependencies", key, "present")
    node.conjuncts.append(either(absent, both(present, consequence)))


def dependent_required(node: Node, value: Any) -> None:
    """`dependentRequired`: keys that other keys call for."""
    for key, names in _mapping(node, "dependentRequired", value).items():
        demanded = _names(node, "dependentRequired", names)
        consequence = node.reader.place(node.record, {"required": demanded}, "dependentRequired", key)
        _when_present(node, key, consequence)


def dependent_schemas(node: Node, value: Any) -> None:
    """`dependentSchemas`: schemas that keys call for."""
    for key, schema in _mapping(node, "dependentSchemas", value).items():
        _when_present(node, key, node.child(schema, "dependentSchemas", key))


def dependencies(node: Node, value: Any) -> None:
    """`dependencies`: the older form of both."""
    for key, what in _mapping(node, "dependencies", value).items():
        names = [what] if isinstance(what, str) else what
        if isinstance(names, list):
            demanded = _names(node, "dependencies", names)
            _when_present(node, key, node.reader.place(node.record, {"required": demanded}, "dependencies", key))
        else:
            _when_present(node, key, node.child(what, "dependencies", key))


def unevaluated_properties(node: Node, value: Any) -> None:
    """`unevaluatedProperties`: the keys that no satisfied schema of this place looked at."""
    if value is not True and "additionalProperties" not in node.schema:
        node.unevaluated_keys = node.child(value, "unevaluatedProperties")


def unevaluated_items(node: Node, value: Any) -> None:
    """`unevaluatedItems`: the items that no satisfied schema of this place looked at."""
    if value is not True:
        node.unevaluated_items = node.child(value, "unevaluatedItems")


def dynamic_ref(node: Node, value: Any) -> None:
    """`$dynamicRef`: the outermost schema that was passed through and has the same dynamic anchor."""
    if not isinstance(value, str):
        raise node.invalid("$dynamicRef", value, "a URI reference")
    target = node.reader.dynamic_reference(node.record, value)
    node.references.append(target)
    node.conjuncts.append(target)


def recursive_ref(node: Node, value: Any) -> None:
    """`$recursiveRef`: the same for draft 2019-09, where the anchor has no name."""
    if value != "#":
        raise node.invalid("$recursiveRef", value, '"#"')
    dynamic_ref(node, value)


#: keyword -> (function, first draft that has it). The order is that of application: `properties` before `required`.
KEYWORDS: dict[str, tuple[Callable[[Node, Any], None], int]] = {
    "type": (type_, 4),
    "enum": (enum, 4),
    "const": (const, 6),
    "$ref": (ref, 4),
    "allOf": (all_of, 4),
    "anyOf": (any_of, 4),
    "oneOf": (one_of, 4),
    "not": (not_, 4),
    "if": (if_, 7),
    "minimum": (minimum, 4),
    "maximum": (maximum, 4),
    "exclusiveMinimum": (exclusive_minimum, 4),
    "exclusiveMaximum": (exclusive_maximum, 4),
    "multipleOf": (multiple_of, 4),
    "minLength": (min_length, 4),
    "maxLength": (max_length, 4),
    "pattern": (pattern, 4),
    "format": (format_, 4),
    "prefixItems": (prefix_items, 2020),
    "items": (items, 4),
    "minItems": (min_items, 4),
    "maxItems": (max_items, 4),
    "uniqueItems": (unique_items, 4),
    "contains": (contains, 6),
    "properties": (properties, 4),
    "patternProperties": (pattern_properties, 4),
    "additionalProperties": (additional_properties, 4),
    "propertyNames": (property_names, 6),
    "required": (required, 4),
    "minProperties": (min_properties, 4),
    "maxProperties": (max_properties, 4),
    "dependencies": (dependencies, 4),
    "dependentRequired": (dependent_required, 2019),
    "dependentSchemas": (dependent_schemas, 2019),
    "unevaluatedProperties": (unevaluated_properties, 2019),
    "unevaluatedItems": (unevaluated_items, 2019),
    "$dynamicRef": (dynamic_ref, 2020),
    "$recursiveRef": (recursive_ref, 2019),
}
#: Read together with the keyword they belong to.
COMPANIONS = frozenset({"then", "else", "additionalItems", "minContains", "maxContains"})

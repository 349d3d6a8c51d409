"""The keywords of JSON Schema, one function each, named after it.

A function reads one keyword of one schema object and adds its rules to a `Node`: constraints on one JSON type go into
the disjunct of that type, everything that applies to the whole value (`allOf`, `$ref`, `enum`, ...) is added as an expression.
Which keywords there are, and all that is not their meaning, is in `schemagen.schema.keyword_table`.
Keywords that need each other (`properties` with `patternProperties` and `additionalProperties`) are only stored here and
combined by `Node.local_value`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from schemagen.checks import PATTERN_DIALECTS, kind_of
from schemagen.errors import InvalidSchemaError, LimitError, PatternError, UnsupportedPatternError
from schemagen.regex import ast
from schemagen.schema.algebra import both_numbers, plain_rule, settle_array, settle_object, undeclared
from schemagen.schema.formats.table import PYTHON_PREFIX, is_asserted
from schemagen.schema.ir import (
    ANY,
    ANY_NUMBER,
    ANY_STRINGS,
    INTEGERS,
    NEVER,
    PLAIN_INTEGERS,
    ArrayDisjunct,
    Const,
    Expression,
    ItemCount,
    KeyRule,
    NumberDisjunct,
    ObjectDisjunct,
    Resolved,
    SchemaRef,
    StringDisjunct,
    ValueSet,
    complement_of,
    intersection_of,
    union_of,
)
from schemagen.schema.numbers.spans import EXACT_INTEGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.subschemas import Subschemas

#: An extension: whose syntax the `pattern` beside it is in. The schemas of types carry it where it is not ECMA-262.
PATTERN_DIALECT = "x-pattern-dialect"
MAX_NUMBER_DIGITS = 1000
#: Where 1.0 is no integer.
OLDEST_DRAFT = 4
#: Bits of such a number.
MAX_NUMBER_BITS = 3322
#: Higher counts are as good as this one: no text is that long.
MAX_COUNT = 2**31 - 1
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
#: What other languages call them, in lower case.
_OTHER_NAMES = {
    **dict.fromkeys(("str", "text", "char", "varchar"), "string"),
    **dict.fromkeys(("int", "long", "int32", "int64"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "real"), "number"),
    **dict.fromkeys(("dict", "map", "struct", "record", "json"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "sequence"), "array"),
    **dict.fromkeys(("none", "nil", "undefined"), "null"),
    "bool": "boolean",
}


@dataclass(slots=True)
class Node:
    """What the keywords of one schema object have said so far."""

    reader: Normaliser
    places: Subschemas
    record: SchemaRef
    schema: Mapping[str, Any]
    types: frozenset[str] = TYPES
    number: NumberDisjunct = ANY_NUMBER
    pattern: ast.Regex = ast.ANY_STRING
    formats: frozenset[str] = frozenset()
    min_length: int = 0
    max_length: int | None = None
    prefix: tuple[Expression, ...] = ()
    items: Expression = ANY
    min_items: int = 0
    max_items: int | None = None
    counts: tuple[ItemCount, ...] = ()
    unique: bool = False
    required: tuple[str, ...] = ()
    properties: dict[str, Expression] = field(default_factory=dict)
    patterns: list[tuple[ast.Regex, Expression]] = field(default_factory=list)
    additional: Expression = ANY
    names: ast.Regex = ast.ANY_STRING
    min_properties: int = 0
    max_properties: int | None = None
    conjuncts: list[Expression] = field(default_factory=list)
    exclusive: list[tuple[Expression, ...]] = field(default_factory=list)
    references: list[SchemaRef] = field(default_factory=list)
    key_patterns: dict[str, ast.Regex] = field(default_factory=dict)
    unevaluated_keys: Expression | None = None
    unevaluated_items: Expression | None = None

    def child(self, schema: Any, *tokens: str) -> Expression:
        """Return the expression of a sub-schema."""
        if schema is True or schema == {}:
            return ANY
        if schema is False:
            return NEVER
        return self.places.expression(self.record, schema, *tokens)

    def invalid(self, keyword: str, value: Any, expected: str, fix: str = "") -> InvalidSchemaError:
        """Return the error for a keyword with a value of the wrong kind."""
        return InvalidSchemaError(
            f"{keyword} is {shown(value)}, expected {expected}", at=f"{self.record.pointer}/{keyword}", fix=fix
        )

    def local_value(self) -> ValueSet:
        """Return the set of values that the type keywords allow, applicators left aside."""
        types = self.types
        boolean = "boolean" in types
        return ValueSet(
            null="null" in types,
            true=boolean,
            false=boolean,
            numbers=self._numbers() if "number" in types or "integer" in types else (),
            strings=self._strings() if "string" in types else (),
            arrays=self._arrays() if "array" in types else (),
            objects=self._objects() if "object" in types else (),
        )

    def _numbers(self) -> tuple[NumberDisjunct, ...]:
        if "number" in self.types:
            return (self.number,)
        integers = PLAIN_INTEGERS if self.record.draft == OLDEST_DRAFT else INTEGERS
        if self.number is ANY_NUMBER:
            return (integers,)
        disjunct = both_numbers(self.number, integers)
        return () if disjunct is None else (disjunct,)

    def _strings(self) -> tuple[StringDisjunct, ...]:
        if self.max_length is not None and self.min_length > self.max_length:
            return ()
        disjunct = StringDisjunct(self.pattern, self.formats, self.min_length, self.max_length)
        return (ANY_STRINGS if disjunct == ANY_STRINGS else disjunct,)

    def _arrays(self) -> tuple[ArrayDisjunct, ...]:
        disjunct = settle_array(
            ArrayDisjunct(self.prefix, self.items, self.min_items, self.max_items, self.counts, unique=self.unique)
        )
        return () if disjunct is None else (disjunct,)

    def _objects(self) -> tuple[ObjectDisjunct, ...]:
        patterns = tuple(self.patterns)
        rules = (KeyRule(patterns, self.additional),) if patterns else plain_rule(self.additional)
        disjunct = settle_object(
            ObjectDisjunct(
                tuple(self._declared(rules).items()),
                frozenset(self.required),
                rules,
                self.names,
                self.min_properties,
                self.max_properties,
            )
        )
        return () if disjunct is None else (disjunct,)

    def _declared(self, rules: tuple[KeyRule, ...]) -> dict[str, Expression]:
        """Return all that is asked of each key of `properties`, then of each that is only required."""
        declared = self.properties
        if self.patterns or self.names != ast.ANY_STRING:
            others = ObjectDisjunct(rules=(KeyRule(tuple(self.patterns), ANY),), names=self.names)
            declared = {key: intersection_of(value, undeclared(others, key)) for key, value in declared.items()}
        missing = [key for key in self.required if key not in declared]
        if missing:
            disjunct = ObjectDisjunct(rules=rules, names=self.names)
            declared = declared | {key: undeclared(disjunct, key) for key in missing}
        return declared


def shown(value: Any) -> str:
    """Return the start of a value as JSON, for error texts."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)[:80]
    except (ValueError, TypeError, RecursionError):  # numbers of thousands of digits, keys that are no names, depth
        return f"{kind_of(value)} that cannot be written as JSON"


# --- reading values ----------------------------------------------------------------------------------------------------


def exact(value: float) -> Fraction:
    """Return the number that a JSON text meant: 0.1 is a tenth, not its nearest float.

    A float from 2**53 on is an integer, with which integers are compared exactly: 1e23 is 99999999999999991611392.
    """
    if isinstance(value, int) or abs(value) >= EXACT_INTEGERS:
        return Fraction(value)
    return Fraction(Decimal(repr(value)))


def _number(node: Node, keyword: str, value: Any) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise node.invalid(keyword, value, "a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise node.invalid(keyword, value, "a finite number")
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise LimitError(
            f"{keyword} has about {value.bit_length() * 301 // 1000} digits, limit {MAX_NUMBER_DIGITS}",
            at=f"{node.record.pointer}/{keyword}",
            why="numbers are compared digit by digit, and no float64 has more than 309 before the point",
            fix=f"use a smaller number, or leave {keyword} out",
        )
    return exact(value)


def _count(node: Node, keyword: str, value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 0:
        raise node.invalid(keyword, value, "a non-negative integer")
    return min(int(value), MAX_COUNT)


def _bound_of(keyword: str, field_name: str) -> Callable[[Node, Any], None]:
    """Return the reading of a keyword whose value is a length, or a number of items or members."""

    def read(node: Node, value: Any) -> None:
        setattr(node, field_name, _count(node, keyword, value))

    read.__doc__ = f"`{keyword}`."
    return read


def _schemas(node: Node, keyword: str, value: Any) -> list[Expression]:
    if not isinstance(value, list) or not value:
        raise node.invalid(keyword, value, "a non-empty list of schemas")
    return [node.child(schema, keyword, str(k)) for k, schema in enumerate(value)]


def _all_text(values: Collection[Any]) -> bool:
    return set(map(type, values)) <= {str} or all(isinstance(value, str) for value in values)  # the first is faster


def _mapping(node: Node, keyword: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not _all_text(value):
        raise node.invalid(keyword, value, "an object with names as keys")
    return value


def _names(node: Node, keyword: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not _all_text(value):
        raise node.invalid(keyword, value, "a list of property names")
    return value


def _pattern(node: Node, keyword: str, text: Any, dialect: Any = "ecma-262") -> ast.Regex | None:
    """Return the strings in which the pattern occurs; None if it had to be left to the check afterwards."""
    from schemagen.regex import parse_pattern

    if not isinstance(text, str):
        raise node.invalid(keyword, text, "a regular expression")
    if dialect not in PATTERN_DIALECTS:
        raise node.invalid(PATTERN_DIALECT, dialect, "one of " + ", ".join(PATTERN_DIALECTS))
    try:
        return parse_pattern(text, dialect, search=True)
    except UnsupportedPatternError as error:
        node.reader.unsupported(node.record.pointer, keyword, f"{error.fact}, {error.at}", f"/{keyword}")
        return None
    except (PatternError, LimitError) as error:
        error.why = "; ".join(part for part in (error.at, error.why) if part)
        error.at = f"{node.record.pointer}/{keyword}"
        raise


# --- any type ----------------------------------------------------------------------------------------------------------


def type_(node: Node, value: Any) -> None:
    """`type`: a name or a list of names."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or any(not isinstance(n, str) or n not in TYPES for n in names):
        raise node.invalid("type", value, "a JSON type or a list of them", _fix_of_type(names))
    node.types = frozenset(names)


def _fix_of_type(names: Any) -> str:
    """Say which type is meant by the first name that is none, or which there are."""
    given = names if isinstance(names, list) else []
    wrong = next((name for name in given if isinstance(name, str) and name not in TYPES), "")
    meant = _OTHER_NAMES.get(wrong.lower()) or next(iter(get_close_matches(wrong.lower(), sorted(TYPES), n=1)), None)
    return f"the types are {', '.join(sorted(TYPES))}" if meant is None else f"write {meant!r} for {shown(wrong)}"


def enum(node: Node, value: Any) -> None:
    """`enum`: one of the listed values."""
    if not isinstance(value, list):
        raise node.invalid("enum", value, "a list of values")
    # Of texts and integers there may be thousands.
    texts = frozenset(item for item in value if isinstance(item, str))
    integers = frozenset(exact(item) for item in value if item.__class__ is int)
    listed = [Resolved(ValueSet(strings=(StringDisjunct(values=texts),)))] if texts else []
    listed += [Resolved(ValueSet(numbers=(NumberDisjunct(values=integers),)))] if integers else []
    others = [
        _constant(node, "enum", item) for item in value if not isinstance(item, str) and item.__class__ is not int
    ]
    node.conjuncts.append(union_of(*listed, *others))


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
    node.conjuncts.append(union_of(*_schemas(node, "anyOf", value)))


def one_of(node: Node, value: Any) -> None:
    """`oneOf`: exactly one of the schemas; resolved once the other keywords are known (`exactly_one`)."""
    node.exclusive.append(tuple(_schemas(node, "oneOf", value)))


def exactly_one(node: Node, parts: tuple[Expression, ...], context: list[Expression]) -> Expression:
    """Return the values in exactly one part."""
    return union_of(*branches_alone(node, parts, context))


def branches_alone(node: Node, parts: tuple[Expression, ...], context: list[Expression]) -> list[Expression]:
    """Return each part without those of the others that it is not already disjoint from, in the given context."""
    if len(parts) == 1:
        return [parts[0]]
    meets: list[list[int]] = [[] for _ in parts]
    for i, others in enumerate(node.reader.may_meet(parts, context)):
        for j in others:
            if i < j and not node.reader.disjoint([*context, parts[i], parts[j]]):
                meets[i].append(j)
                meets[j].append(i)
    return [intersection_of(part, *(complement_of(parts[j]) for j in meets[i])) for i, part in enumerate(parts)]


def not_(node: Node, value: Any) -> None:
    """`not`: none of what the schema allows."""
    node.conjuncts.append(complement_of(node.child(value, "not")))


def if_(node: Node, value: Any) -> None:
    """`if`, `then`, `else`."""
    then, otherwise = node.schema.get("then", True), node.schema.get("else", True)
    if then is True and otherwise is True:
        return
    condition = node.child(value, "if")
    node.conjuncts.append(
        union_of(
            intersection_of(condition, node.child(then, "then")),
            intersection_of(complement_of(condition), node.child(otherwise, "else")),
        )
    )


def ref(node: Node, value: Any) -> None:
    """`$ref`: the schema that the reference leads to."""
    _refer(node, "$ref", value, node.places.reference)


def _refer(node: Node, keyword: str, value: Any, follow: Callable[[SchemaRef, str], SchemaRef]) -> None:
    if not isinstance(value, str):
        raise node.invalid(keyword, value, "a URI reference")
    target = follow(node.record, value)
    node.references.append(target)
    node.conjuncts.append(target)


# --- numbers -----------------------------------------------------------------------------------------------------------


def _bound(node: Node, **changes: Any) -> None:
    disjunct = NumberDisjunct(**changes)
    if node.number is not ANY_NUMBER:
        disjunct = both_numbers(node.number, disjunct) or NumberDisjunct(values=frozenset())
    node.number = disjunct


def minimum(node: Node, value: Any) -> None:
    """`minimum`; draft 4 may make it exclusive."""
    is_open = node.record.draft == 4 and node.schema.get("exclusiveMinimum") is True
    _bound(node, low=_number(node, "minimum", value), low_open=is_open)


def maximum(node: Node, value: Any) -> None:
    """`maximum`; draft 4 may make it exclusive."""
    is_open = node.record.draft == 4 and node.schema.get("exclusiveMaximum") is True
    _bound(node, high=_number(node, "maximum", value), high_open=is_open)


def exclusive_minimum(node: Node, value: Any) -> None:
    """`exclusiveMinimum`: a bound of its own since draft 6."""
    if _is_bound(node, "exclusiveMinimum", value):
        _bound(node, low=_number(node, "exclusiveMinimum", value), low_open=True)


def exclusive_maximum(node: Node, value: Any) -> None:
    """`exclusiveMaximum`: a bound of its own since draft 6."""
    if _is_bound(node, "exclusiveMaximum", value):
        _bound(node, high=_number(node, "exclusiveMaximum", value), high_open=True)


def _is_bound(node: Node, keyword: str, value: Any) -> bool:
    if value is True and node.record.draft != 4:
        raise node.invalid(keyword, value, 'a number (a boolean needs "$schema" of draft 4)')
    return not isinstance(value, bool)


def multiple_of(node: Node, value: Any) -> None:
    """`multipleOf`: the quotient is an integer."""
    _number(node, "multipleOf", value)
    divisor = Fraction(Decimal(repr(value)))
    if divisor <= 0:
        raise node.invalid("multipleOf", value, "a number above 0")
    _bound(node, multiples=frozenset({divisor}))


# --- lengths and sizes -------------------------------------------------------------------------------------------------

#: In code points.
min_length, max_length = _bound_of("minLength", "min_length"), _bound_of("maxLength", "max_length")
min_items, max_items = _bound_of("minItems", "min_items"), _bound_of("maxItems", "max_items")
min_properties = _bound_of("minProperties", "min_properties")
max_properties = _bound_of("maxProperties", "max_properties")

# --- strings -----------------------------------------------------------------------------------------------------------


def pattern(node: Node, value: Any) -> None:
    """`pattern`: found anywhere in the string; ECMA-262 unless `PATTERN_DIALECT` says otherwise."""
    found = _pattern(node, "pattern", value, node.schema.get(PATTERN_DIALECT, "ecma-262"))
    if found is not None:
        node.pattern = found


def format_(node: Node, value: Any) -> None:
    """`format`: asserted where it is known, an annotation otherwise."""
    if not isinstance(value, str):
        raise node.invalid("format", value, "a name")
    if is_asserted(value, node.reader.dialect):
        node.formats = frozenset({f"{PYTHON_PREFIX}{value}" if node.reader.dialect == "python" else value})


# --- arrays ------------------------------------------------------------------------------------------------------------


def items(node: Node, value: Any) -> None:
    """`items`: every item after the prefix; a list of schemas is the prefix itself (before 2020-12)."""
    if isinstance(value, list):
        prefix_items(node, value, "items")
        if "additionalItems" in node.schema:
            node.items = node.child(node.schema["additionalItems"], "additionalItems")
    else:
        node.items = node.child(value, "items")


def prefix_items(node: Node, value: Any, keyword: str = "prefixItems") -> None:
    """`prefixItems`: a schema for each of the first items."""
    if not isinstance(value, list):
        raise node.invalid(keyword, value, "a list of schemas")
    node.prefix = tuple(node.child(schema, keyword, str(k)) for k, schema in enumerate(value))


def unique_items(node: Node, value: Any) -> None:
    """`uniqueItems`: items that differ as JSON values (1 is 1.0, the order of keys is nothing)."""
    node.unique = value is True


def contains(node: Node, value: Any) -> None:
    """`contains` with `minContains` and `maxContains`: how many items a schema allows."""
    new = node.record.draft >= 2019
    low = _count(node, "minContains", node.schema.get("minContains", 1)) if new else 1
    high = _count(node, "maxContains", node.schema["maxContains"]) if new and "maxContains" in node.schema else None
    node.counts = (ItemCount(node.child(value, "contains"), low, high),)


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
    elif child is not ANY:
        node.names = node.reader.name_pattern(child)


def required(node: Node, value: Any) -> None:
    """`required`: keys that must be there; draft 3 style booleans mean nothing."""
    if not isinstance(value, bool):
        node.required = tuple(dict.fromkeys(_names(node, "required", value)))


def _when_present(node: Node, key: str, consequence: Expression) -> None:
    absent = node.places.place(node.record, {"properties": {key: False}}, "dependencies", key, "absent")
    present = node.places.place(node.record, {"required": [key]}, "dependencies", key, "present")
    node.conjuncts.append(union_of(absent, intersection_of(present, consequence)))


def dependent_required(node: Node, value: Any, keyword: str = "dependentRequired") -> None:
    """`dependentRequired`: keys that other keys call for."""
    for key, names in _mapping(node, keyword, value).items():
        demanded = {"required": _names(node, keyword, names)}
        _when_present(node, key, node.places.place(node.record, demanded, keyword, key))


def dependent_schemas(node: Node, value: Any, keyword: str = "dependentSchemas") -> None:
    """`dependentSchemas`: schemas that keys call for."""
    for key, schema in _mapping(node, keyword, value).items():
        _when_present(node, key, node.child(schema, keyword, key))


def dependencies(node: Node, value: Any) -> None:
    """`dependencies`: the older form of both."""
    for key, what in _mapping(node, "dependencies", value).items():
        names = [what] if isinstance(what, str) else what
        read = dependent_required if isinstance(names, list) else dependent_schemas
        read(node, {key: names}, "dependencies")


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
    _refer(node, "$dynamicRef", value, node.places.dynamic_reference)


def recursive_ref(node: Node, value: Any) -> None:
    """`$recursiveRef`: the same for draft 2019-09, where the anchor has no name."""
    if value != "#":
        raise node.invalid("$recursiveRef", value, '"#"')
    dynamic_ref(node, value)

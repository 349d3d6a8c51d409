"""The keywords of JSON Schema: one row for each, with all that the package has to know of it but its meaning.

What a keyword means is the function of `schemagen.schema.keywords` that its row names. Code that needs keywords of some kind
takes them from here, so that a new one is a function and a row. The core has a table of the few that it reads itself
(`core/python/schema_shape.hpp`), which a test holds against this one.
"""

from __future__ import annotations

import enum
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from schemagen.schema import keywords as read
from schemagen.schema.keywords import OLDEST_DRAFT, PATTERN_DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from schemagen.schema.keywords import Node


class Holds(enum.Flag):
    """What the value of a keyword is made of; some may be one of two things."""

    VALUE = 0
    SCHEMA = enum.auto()
    SCHEMA_LIST = enum.auto()
    SCHEMA_MAP = enum.auto()
    #: Any JSON, which no schema is looked for in.
    DATA = enum.auto()


@dataclass(frozen=True, slots=True)
class Keyword:
    """A name that has a meaning in schemas.

    Attributes:
        name: As it is written.
        read: Adds its rules to a `Node`; None if it asserts nothing by itself.
        since: The first draft that has it.
        of: The JSON type that it speaks about, "" for any.
        holds: What its value is made of.
        companion_of: The keyword that it is read with.
        in_place: Whether the schemas in it apply to the same instance as the schema that it stands in.
        negates: Whether it asks for the opposite of a schema.
        unevaluated: Whether it asks what the schemas around it looked at.
        self_contained: Whether it looks at nothing but its own value.
        names_base: Whether it gives a schema a URI or an anchor, or refers to one by these, and not by a pointer.
    """

    name: str
    read: Callable[[Node, Any], None] | None = None
    _: KW_ONLY
    since: int = OLDEST_DRAFT
    of: str = ""
    holds: Holds = Holds.VALUE
    companion_of: str = ""
    in_place: bool = False
    negates: bool = False
    unevaluated: bool = False
    self_contained: bool = False
    names_base: bool = False

    @property
    def is_annotation(self) -> bool:
        """Whether it asserts nothing: a name, a place of definitions, or a note to readers."""
        return self.read is None and not self.companion_of


_SAID_TO_READERS = (
    *("$schema", "$recursiveAnchor", "$vocabulary", "$comment"),
    *("title", "description", "deprecated", "readOnly", "writeOnly"),
    *("contentEncoding", "contentMediaType", "contentSchema", "discriminator", "externalDocs", "xml"),
)
#: In the order of application (`properties` before `required`), then what asserts nothing, by JSON Schema or by OpenAPI.
ROWS: tuple[Keyword, ...] = (
    Keyword("type", read.type_, self_contained=True),
    Keyword("enum", read.enum, holds=Holds.DATA, self_contained=True),
    Keyword("const", read.const, since=6, holds=Holds.DATA, self_contained=True),
    Keyword("$ref", read.ref, in_place=True),
    Keyword("allOf", read.all_of, holds=Holds.SCHEMA_LIST, in_place=True),
    Keyword("anyOf", read.any_of, holds=Holds.SCHEMA_LIST, in_place=True),
    Keyword("oneOf", read.one_of, holds=Holds.SCHEMA_LIST, in_place=True, negates=True),
    Keyword("not", read.not_, holds=Holds.SCHEMA, in_place=True, negates=True),
    Keyword("if", read.if_, since=7, holds=Holds.SCHEMA, in_place=True, negates=True),
    Keyword("then", holds=Holds.SCHEMA, companion_of="if", in_place=True),
    Keyword("else", holds=Holds.SCHEMA, companion_of="if", in_place=True),
    Keyword("minimum", read.minimum, of="number", self_contained=True),
    Keyword("maximum", read.maximum, of="number", self_contained=True),
    Keyword("exclusiveMinimum", read.exclusive_minimum, of="number", self_contained=True),
    Keyword("exclusiveMaximum", read.exclusive_maximum, of="number", self_contained=True),
    Keyword("multipleOf", read.multiple_of, of="number", self_contained=True),
    Keyword("minLength", read.min_length, of="string", self_contained=True),
    Keyword("maxLength", read.max_length, of="string", self_contained=True),
    Keyword("pattern", read.pattern, of="string", self_contained=True),
    Keyword(PATTERN_DIALECT, of="string", companion_of="pattern", self_contained=True),
    Keyword("format", read.format_, of="string", self_contained=True),
    Keyword("prefixItems", read.prefix_items, since=2020, of="array", holds=Holds.SCHEMA_LIST),
    Keyword("items", read.items, of="array", holds=Holds.SCHEMA | Holds.SCHEMA_LIST),
    Keyword("additionalItems", of="array", holds=Holds.SCHEMA, companion_of="items"),
    Keyword("minItems", read.min_items, of="array", self_contained=True),
    Keyword("maxItems", read.max_items, of="array", self_contained=True),
    Keyword("uniqueItems", read.unique_items, of="array"),
    Keyword("contains", read.contains, since=6, of="array", holds=Holds.SCHEMA),
    Keyword("minContains", of="array", companion_of="contains"),
    Keyword("maxContains", of="array", companion_of="contains"),
    Keyword("properties", read.properties, of="object", holds=Holds.SCHEMA_MAP),
    Keyword("patternProperties", read.pattern_properties, of="object", holds=Holds.SCHEMA_MAP),
    Keyword("additionalProperties", read.additional_properties, of="object", holds=Holds.SCHEMA),
    Keyword("propertyNames", read.property_names, since=6, of="object", holds=Holds.SCHEMA),
    Keyword("required", read.required, of="object"),
    Keyword("minProperties", read.min_properties, of="object", self_contained=True),
    Keyword("maxProperties", read.max_properties, of="object", self_contained=True),
    Keyword("dependencies", read.dependencies, of="object", holds=Holds.SCHEMA_MAP, in_place=True),
    Keyword("dependentRequired", read.dependent_required, since=2019, of="object"),
    Keyword("dependentSchemas", read.dependent_schemas, since=2019, of="object", holds=Holds.SCHEMA_MAP, in_place=True),
    Keyword(
        "unevaluatedProperties",
        read.unevaluated_properties,
        since=2019,
        of="object",
        holds=Holds.SCHEMA,
        unevaluated=True,
    ),
    Keyword("unevaluatedItems", read.unevaluated_items, since=2019, of="array", holds=Holds.SCHEMA, unevaluated=True),
    Keyword("$dynamicRef", read.dynamic_ref, since=2020, in_place=True, names_base=True),
    Keyword("$recursiveRef", read.recursive_ref, since=2019, in_place=True, names_base=True),
    Keyword("$id", names_base=True),
    Keyword("id", names_base=True),
    Keyword("$anchor", names_base=True),
    Keyword("$dynamicAnchor", names_base=True),
    Keyword("$defs", holds=Holds.SCHEMA_MAP),
    Keyword("definitions", holds=Holds.SCHEMA_MAP),
    Keyword("default", holds=Holds.DATA),
    Keyword("examples", holds=Holds.DATA),
    Keyword("example", holds=Holds.DATA),
    *map(Keyword, _SAID_TO_READERS),
)
TABLE = {row.name: row for row in ROWS}
READERS = {row.name: row.read for row in ROWS if row.read is not None}


def named(is_meant: Callable[[Keyword], bool]) -> frozenset[str]:
    """Return the names of the keywords of some kind."""
    return frozenset(row.name for row in ROWS if is_meant(row))


COMPANIONS = named(lambda row: bool(row.companion_of))
ANNOTATIONS = named(lambda row: row.is_annotation)
SELF_CONTAINED = named(lambda row: row.self_contained)
#: All else that means something.
OTHER_KEYWORDS = (READERS.keys() | COMPANIONS) - SELF_CONTAINED
NEGATING = named(lambda row: row.negates)
DATA = named(lambda row: Holds.DATA in row.holds)
#: Below them are names, which may look like keywords.
SCHEMA_MAPS = named(lambda row: Holds.SCHEMA_MAP in row.holds)
DEFINITIONS = SCHEMA_MAPS & ANNOTATIONS
_ORDER = {name: index for index, name in enumerate(READERS)}
_SINCE = {draft: frozenset(name for name in READERS if TABLE[name].since <= draft) for draft in (4, 6, 7, 2019, 2020)}


def asserted(schema: Mapping[str, Any], draft: int) -> list[str]:
    """Return the keywords of a schema that its draft has, in the order of application."""
    if draft <= 7 and "$ref" in schema:  # before 2019-09 a reference hides its siblings
        return ["$ref"]
    return sorted(_SINCE[draft] & schema.keys(), key=_ORDER.__getitem__)

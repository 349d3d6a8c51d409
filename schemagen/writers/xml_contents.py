"""What an element of XML may hold, and whether a reader can tell it apart.

XML has elements and text, and no types: whether ``12`` is a number or a string, and no element at all a null or an empty list,
is told by the type alone. Where it does not tell, the type is refused, so that what is read is what was written:

- text: strings, numbers and booleans of one place have no text in common;
- an element without content: at most one of null, the empty string, an empty list and an empty object;
- no element: null where the member is needed or its default is null, the empty list where it is needed or its default is empty,
  and otherwise that the member was left out. Only one of these may be meant;
- a list stands alone: beside it there is at most null, and then it is not empty;
- objects of a union: a member that several of them have is read the same in each.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

from schemagen.regex import matches
from schemagen.schema.ir import ANYTHING, Resolved, SchemaRef, intersection_of, union_of

if TYPE_CHECKING:
    from schemagen.errors import SchemaError
    from schemagen.regex import ast
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct, ValueSet
    from schemagen.writers.walk import Member, RuleWriter

#: The meaning of a member without an element.
Absent = Literal["impossible", "left out", "null", "empty"]

_NAME = re.compile(r"(?!xml)[^\W\d][\w.-]*", re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: The null of a member is no element.
_NOT_NULL = Resolved(replace(ANYTHING, null=False))
_BOOLEANS = {"true": True, "false": False}


class Child(NamedTuple):
    """A member of an object as elements.

    Attributes:
        key: Its key, and the name of its elements.
        values: Its values; of the items, if it is a list.
        array: The list, if it is one: an element for each item.
        absent: The meaning of a missing element.
    """

    key: str
    values: Values
    array: ArrayDisjunct | None
    absent: Absent


class Content(NamedTuple):
    """What an element may hold.

    Attributes:
        value: The values.
        strings: The strings.
        numbers: The texts of the numbers.
        array: The list, an element for each item.
        objects: The children of each object.
        children: The children of all objects by key.
    """

    value: ValueSet
    strings: ast.Regex
    numbers: ast.Regex
    array: ArrayDisjunct | None
    objects: tuple[tuple[Child, ...], ...]
    children: dict[str, Child]

    def scalar(self, text: str) -> str | bool | None:
        """Return what a text is: "string", "number", a boolean; None if it is none of the texts."""
        if text in _BOOLEANS and (self.value.true if text == "true" else self.value.false):
            return _BOOLEANS[text]
        if self.value.numbers and matches(self.numbers, text):
            return "number"
        return "string" if self.value.strings else None


class Contents:
    """The contents of the values of a schema.

    Args:
        writer: Of the schema.
    """

    def __init__(self, writer: RuleWriter) -> None:
        self._writer = writer
        self._known: dict[Values, Content] = {}

    def of(self, values: Values) -> Content:
        """Return what an element of some values may hold.

        Raises:
            UnsupportedTypeError: It could not be told apart; of a schema `UnsupportedSchemaError`.
        """
        known = self._known.get(values)
        if known is None:
            known = self._known[values] = self._made(self._writer.normaliser.value(values))
        return known

    def _made(self, value: ValueSet) -> Content:
        writer = self._writer
        objects = tuple(tuple(found) for each in value.objects if (found := self._children(each)) is not None)
        strings, numbers = writer.strings(value), writer.number_texts(value)
        array = value.arrays[0] if value.arrays else None
        if array is not None:
            writer.check_array(array)
        content = Content(value, strings, numbers, array, objects, self._merged(objects))
        others = (value.null, value.true, value.false, value.numbers, value.strings, value.objects)
        if len(value.arrays) > 1 or (array is not None and any(others)):
            raise self._ambiguous("a list or something else", "one item is read like a value that is no list")
        writer.check_texts(value)
        self._check_empty(content)
        return content

    def _check_empty(self, content: Content) -> None:
        """Refuse several values that are an element without content."""
        value = content.value
        empty = [
            *(["null"] if value.null else []),
            *(["an empty string"] if value.strings and matches(content.strings, "") else []),
            *(["an empty list"] if content.array is not None and content.array.min_items == 0 else []),
            *(
                "an empty object"
                for children in content.objects
                if all(each.absent != "impossible" for each in children)
            ),
        ]
        if len(empty) > 1:
            raise self._ambiguous(" or ".join(empty), "each is an element without content")

    def _ambiguous(self, fact: str, why: str) -> SchemaError:
        fix = "choose types that differ in their text (a pattern, a Literal, a bound on lengths), or another format"
        return self._writer.refuse(fact, why, fix)

    # --- children ------------------------------------------------------------------------------------------------------

    def _children(self, disjunct: ObjectDisjunct) -> list[Child] | None:
        """Return the members of an object as elements; None if it has no value."""
        members = self._writer.declared(self._writer.closed(disjunct, "the name of an element is no value"))
        return None if members is None else [self._child(member) for member in members]

    def _child(self, member: Member) -> Child:
        with self._writer.inside("properties", member.key):
            if not is_name(member.key):
                fix = "give it a name of letters, digits, underscores, dots and hyphens"
                raise self._writer.refuse(f"the member {member.key!r:.80}", "it is no name of an element", fix)
            value = self._writer.normaliser.value(member.values)
            if not value.arrays:
                values = intersection_of(member.values, _NOT_NULL) if value.null else member.values
                return Child(member.key, values, None, self._absence_of_null(member, value))
            array = value.arrays[0]
            self._writer.check_array(array)
            others = (value.true, value.false, value.numbers, value.strings, value.objects)
            if len(value.arrays) > 1 or any(others) or (value.null and array.min_items == 0):
                raise self._ambiguous("a list or something else", "as elements they look alike")
            return Child(member.key, member.values, array, self._absence_of_list(member, array, is_null=value.null))

    def _absence_of_null(self, member: Member, value: ValueSet) -> Absent:
        """Return the meaning of a missing element of a member that is not a list."""
        if not value.null:
            return "impossible" if member.needed else "left out"
        if member.needed:
            return "null"
        if self._default(member) is not None:
            fix = "give the member the default None, or no default"
            raise self._writer.refuse(
                "null in a member that may be left out", "no element stands for both, and they differ", fix
            )
        return "left out"

    def _absence_of_list(self, member: Member, array: ArrayDisjunct, *, is_null: bool) -> Absent:
        """Return the meaning of a list without elements."""
        if is_null:
            return self._absence_of_null(member, self._writer.normaliser.value(member.values))
        if array.min_items > 0:
            return "impossible" if member.needed else "left out"
        if member.needed:
            return "empty"
        if self._default(member) != []:
            fix = "give the member the default [], or no default, or at least one item"
            raise self._writer.refuse(
                "an empty list in a member that may be left out", "no element stands for both, and they differ", fix
            )
        return "left out"

    def _default(self, member: Member) -> Any:
        """Return the default of a member of a type; something else than any default where there is none."""
        values = member.values
        schema = values.schema if isinstance(values, SchemaRef) else {}
        return schema.get("default", Ellipsis) if isinstance(schema, dict) else Ellipsis

    def _merged(self, objects: tuple[tuple[Child, ...], ...]) -> dict[str, Child]:
        """Return the children of several objects by key.

        Raises:
            UnsupportedTypeError: One is read in several ways; of a schema `UnsupportedSchemaError`.
        """
        found: dict[str, Child] = {}
        for key in dict.fromkeys(child.key for children in objects for child in children):
            same = [child for children in objects for child in children if child.key == key]
            told: set[Absent] = {child.absent for child in same if child.absent != "impossible"}
            if len(same) < len(objects):
                told.add("left out")
            lists = {child.array for child in same}
            if len(told) > 1 or len(lists) > 1:
                with self._writer.inside("properties", key):
                    raise self._ambiguous("a member of several classes", "it is read in another way in each of them")
            absent: Absent = next(iter(told)) if told else "impossible"
            found[key] = Child(key, union_of(*(child.values for child in same)), same[0].array, absent)
        return found


def element_name(wish: str) -> str:
    """Return the name of an element from that of a class: ``UserProfile`` is ``user_profile``; "" if it can be none."""
    name = _HUMP.sub("_", wish.partition("[")[0]).lower()
    return name if is_name(name) else ""


def is_name(text: str) -> bool:
    """Whether elements may be called so: letters, digits, underscores, dots and hyphens, as the reader knows them."""
    if not _NAME.fullmatch(text):
        return False
    try:
        return text.isascii() or ET.fromstring(f"<{text}/>").tag == text  # noqa: S314 - a name alone
    except ET.ParseError:
        return False

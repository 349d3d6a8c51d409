"""XML: ``<person><name>Ada</name><tag>a</tag><tag>b</tag></person>``, each element on its own line, indented by two spaces.

A member is an element of its name, and a list is an element for each item; inside a list, and as the whole value, a list is
one element with an element ``<item>`` for each item, or with the name of the class of the items. The root has the name of the
class, as words (``user_profile``), or is ``<value>``. Booleans are ``true`` and ``false``, numbers those of JSON, and null is
no element, or one without content where there has to be one. In text, ``<``, ``>`` and ``&`` are written ``&lt;``, ``&gt;`` and
``&amp;``; strings with characters that XML 1.0 does not have, or with a carriage return, which readers change, are not written.
There are no attributes, namespaces, comments, and no empty-element tags. A value that may be in itself has no indentation
that is known in advance: from the second time on it is on one line.

XML has elements and text, and no types: the type alone tells whether ``12`` is a number or a string, and no element at all a
null or an empty list. Where it does not tell, the type is refused, so that a value is read as it was written:

- text: strings, numbers and booleans of one place have no text in common;
- an element without content: at most one of null, the empty string, an empty list and an empty object;
- no element: null where the member is needed or its default is null, the empty list where it is needed or its default is empty,
  and otherwise that the member was left out. Only one of these may be meant;
- a list stands alone: beside it there is at most null, and then it is not empty;
- objects of a union: a member that several of them have is read the same in each.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from xml.etree import ElementTree as ET

from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, alternatives, literal, sequence
from schemagen.regex import ast, matches
from schemagen.regex.spellings import contains, spelled
from schemagen.schema.ir import ANYTHING, Resolved, SchemaRef, intersection_of, union_of
from schemagen.writers.walk import RuleWriter

if TYPE_CHECKING:
    from collections.abc import Hashable
    from xml.etree.ElementTree import Element

    from schemagen.context_free.syntax import Expression
    from schemagen.errors import SchemaError
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct, ValueSet
    from schemagen.writers.walk import Member

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
        self._known: dict[Hashable, Content] = {}

    def of(self, values: Values) -> Content:
        """Return what an element of some values may hold.

        Raises:
            UnsupportedTypeError: It could not be told apart; of a schema `UnsupportedSchemaError`.
        """
        key = self._writer.key_of(values)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._made(self._writer.value_set(values))
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
        members = self._writer.declared(self._writer.closed(disjunct, "the name of an element is no value"))
        return None if members is None else [self._child(member) for member in members]

    def _child(self, member: Member) -> Child:
        with self._writer.inside("properties", member.key):
            if not is_name(member.key):
                fix = "give it a name of letters, digits, underscores, dots and hyphens"
                raise self._writer.refuse(f"the member {member.key!r:.80}", "it is no name of an element", fix)
            value = self._writer.value_set(member.values)
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
            return self._absence_of_null(member, self._writer.value_set(member.values))
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
        """Return the children of several objects by key."""
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


#: The characters of XML 1.0 but for the carriage return.
_CHARACTERS: ast.Ranges = ((9, 10), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, ast.MAX_CODE_POINT))
_ESCAPES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_RAW = ast.intersect_ranges(_CHARACTERS, ast.invert_ranges(ast.char_set("".join(_ESCAPES)).ranges))
_STEP = 2


def text_of(strings: ast.Regex) -> ast.Regex:
    """Return strings as the text of an element."""

    def spellings(ranges: ast.Ranges) -> ast.Regex:
        escaped = [ast.literal(text) for sign, text in _ESCAPES.items() if contains(ranges, ord(sign))]
        return ast.union(ast.Chars(ast.intersect_ranges(ranges, _RAW)), *escaped)

    return spelled(strings, spellings)


class XmlWriter(RuleWriter):
    """Writes values as XML."""

    format = "XML"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.contents = Contents(self)

    @property
    def root_name(self) -> str:
        """The name of the root element."""
        return self._named(self.normaliser.root) or "value"

    def root(self) -> Expression:
        """Return the whole document."""
        return self._element(self.root_name, self.normaliser.root, 0)

    def value(self, values: Values) -> Expression:
        """Return the content of an element, on one line."""
        return self._content(values, None)

    def item_name(self, array: ArrayDisjunct) -> str:
        """Return what the elements of the items of a list are called."""
        return self._named(array.items) if not array.prefix and self._named(array.items) else "item"

    def _named(self, values: Values) -> str:
        """Return the name of an element from that of a class; empty if there is none."""
        if not isinstance(values, SchemaRef):
            return ""
        schema = values.schema
        if isinstance(schema, dict) and "$ref" in schema:
            return next(iter(map(self._named, self.normaliser.node(values).references)), "")
        is_object = isinstance(schema, dict) and schema.get("type") == "object"
        return element_name(str(schema.get("title", ""))) if is_object else ""

    # --- elements ------------------------------------------------------------------------------------------------------

    def _element(self, name: str, values: Values, depth: int | None) -> Expression:
        """Write an element.

        Args:
            name: Its name.
            values: Of its content.
            depth: Its indentation; None if all is on one line.
        """
        content = self._content(values, None if self.is_open(values) else depth)
        return sequence(literal(f"<{name}>"), content, literal(f"</{name}>"))

    def _content(self, values: Values, depth: int | None) -> Expression:
        return self.rule(values, depth, lambda: self._written(self.contents.of(values), depth))

    def _written(self, content: Content, depth: int | None) -> Expression:
        value = content.value
        empty = EMPTY_TEXT if value.null else NOTHING
        scalars = self.text(ast.union(content.numbers, text_of(content.strings), self.words(value)))
        objects = [self._object(children, depth) for children in content.objects]
        lists = [] if content.array is None else [self._list(content.array, depth)]
        return alternatives(empty, scalars, *objects, *lists)

    def _list(self, array: ArrayDisjunct, depth: int | None) -> Expression:
        body = self._items(array, self.item_name(array), depth)
        empty = EMPTY_TEXT if array.min_items == 0 else NOTHING
        return alternatives(empty, sequence(_line(depth, _STEP), body, _line(depth)))

    def _items(self, array: ArrayDisjunct, name: str, depth: int | None) -> Expression:
        """Write one element or more for the items of a list, inside an element with an indentation."""
        below = None if depth is None else depth + _STEP
        return self.items(array, _line(below), write=lambda values: self._element(name, values, below))

    def _object(self, children: tuple[Child, ...], depth: int | None) -> Expression:
        below = None if depth is None else depth + _STEP
        parts = []
        for child in children:
            with self.inside("properties", child.key):
                if child.array is None:
                    part = self._element(child.key, child.values, below)
                else:
                    part = self._items(child.array, child.key, depth)
            parts.append((part, child.absent == "impossible"))
        empty = NOTHING if any(needed for _, needed in parts) else EMPTY_TEXT
        return alternatives(empty, sequence(_line(below), self.members(parts, _line(below)), _line(depth)))


def _line(depth: int | None, more: int = 0) -> Expression:
    return EMPTY_TEXT if depth is None else literal("\n" + " " * (depth + more))


# --- reading -----------------------------------------------------------------------------------------------------------


def read_xml(text: str, writer: XmlWriter) -> str:
    """Return a document as JSON.

    Args:
        text: One of those that the writer writes.
        writer: Of the type.

    Raises:
        ValueError: It is no XML, or not of the type.
    """
    if "<!" in text or "<?" in text:
        raise ValueError("the document has a declaration, a comment or an instruction")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without declarations there are no entities to expand
    except ET.ParseError as error:
        raise ValueError(str(error)) from error
    if root.tag != writer.root_name:
        raise ValueError(f"the root is <{root.tag}>, not <{writer.root_name}>")
    return _read(root, writer.normaliser.root, writer)


def _read(element: Element, values: Values, writer: XmlWriter) -> str:
    content = writer.contents.of(values)
    if element.attrib:
        raise ValueError(f"<{element.tag}> has attributes")
    if not len(element):
        return _read_text(element.text or "", element, content)
    if (element.text or "").strip() or any((child.tail or "").strip() for child in element):
        raise ValueError(f"<{element.tag}> has text between its elements")
    if content.array is not None:
        name = writer.item_name(content.array)
        if any(child.tag != name for child in element):
            raise ValueError(f"<{element.tag}> has an element that is no <{name}>")
        return _read_list(list(element), content.array, writer)
    return _read_object(element, content, writer)


def _read_text(text: str, element: Element, content: Content) -> str:
    if not text and content.value.null:
        return "null"
    if not text and content.array is not None:
        return "[]"
    if not text and content.objects and not (content.value.strings and content.scalar("")):
        return _object_text({}, content)
    found = content.scalar(text)
    if found == "string":
        return json.dumps(text, ensure_ascii=False)
    if found is None:
        raise ValueError(f"<{element.tag}> has the text {text!r:.80}")
    return text


def _read_list(elements: list[Element], array: ArrayDisjunct, writer: XmlWriter) -> str:
    return f"[{', '.join(_read(each, array.item(index), writer) for index, each in enumerate(elements))}]"


def _read_object(element: Element, content: Content, writer: XmlWriter) -> str:
    found: dict[str, list[Element]] = {}
    for each in element:
        found.setdefault(each.tag, []).append(each)
    members = {}
    for key, elements in found.items():
        child = content.children.get(key)
        if child is None or (child.array is None and len(elements) > 1):
            raise ValueError(f"<{key}> in <{element.tag}> is not expected, or repeated")
        if child.array is None:
            members[key] = _read(elements[0], child.values, writer)
        else:
            members[key] = _read_list(elements, child.array, writer)
    return _object_text(members, content)


def _object_text(members: dict[str, str], content: Content) -> str:
    absent = {"null": "null", "empty": "[]"}
    missing = {key: absent[child.absent] for key, child in content.children.items() if child.absent in absent}
    return "{" + ", ".join(f"{json.dumps(key)}: {text}" for key, text in {**missing, **members}.items()) + "}"

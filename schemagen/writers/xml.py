"""XML: ``<person><name>Ada</name><tag>a</tag><tag>b</tag></person>``, each element on its own line, indented by two spaces.

A member is an element of its name, and a list is an element for each item; inside of a list, and as the whole value, a list is
one element with an element ``<item>`` for each item, or with the name of the class of the items. The root has the name of the
class, as words (``user_profile``), or is ``<value>``. Booleans are ``true`` and ``false``, numbers those of JSON, and null is
no element, or one without content where there has to be one. In text, ``<``, ``>`` and ``&`` are written ``&lt;``, ``&gt;`` and
``&amp;``; strings with characters that XML 1.0 does not have, or with a carriage return, which readers change, are not written.
There are no attributes, namespaces, comments, and no empty-element tags. A value that may be in itself has no indentation
known beforehand: from the second time on it is on one line.

What a reader could not tell apart is refused: see `schemagen.writers.xml_contents`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Text, alternatives, sequence
from schemagen.regex import ast
from schemagen.regex.spellings import contains, spelled
from schemagen.schema.ir import SchemaRef
from schemagen.writers.walk import RuleWriter
from schemagen.writers.xml_contents import Contents, element_name

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from schemagen.context_free.syntax import Expression
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values
    from schemagen.writers.xml_contents import Child, Content

#: The characters of XML 1.0 but for the carriage return.
_CHARACTERS: ast.Ranges = ((9, 10), (0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, ast.MAX_CODE_POINT))
_ESCAPES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_RAW = ast.intersect_ranges(_CHARACTERS, ast.invert_ranges(ast.char_set("".join(_ESCAPES)).ranges))
_STEP = 2


def _literal(text: str) -> Expression:
    return Text(ast.literal(text))


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
        return sequence(_literal(f"<{name}>"), content, _literal(f"</{name}>"))

    def _content(self, values: Values, depth: int | None) -> Expression:
        return self.rule(values, depth, lambda: self._written(self.contents.of(values), depth))

    def _written(self, content: Content, depth: int | None) -> Expression:
        value = content.value
        words = [ast.literal(word) for word, is_there in (("true", value.true), ("false", value.false)) if is_there]
        empty = EMPTY_TEXT if value.null else NOTHING
        scalars = self.text(ast.union(content.numbers, text_of(content.strings), *words))
        objects = [self._object(children, depth) for children in content.objects]
        lists = [] if content.array is None else [self._list(content.array, depth)]
        return alternatives(empty, scalars, *objects, *lists)

    def _list(self, array: ArrayDisjunct, depth: int | None) -> Expression:
        body = self._items(array, self.item_name(array), depth)
        empty = EMPTY_TEXT if array.min_items == 0 else NOTHING
        return alternatives(empty, sequence(_line(depth, _STEP), body, _line(depth)))

    def _items(self, array: ArrayDisjunct, name: str, depth: int | None) -> Expression:
        """Write one element or more for the items of a list, inside of an element with an indentation."""
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
    return EMPTY_TEXT if depth is None else _literal("\n" + " " * (depth + more))


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

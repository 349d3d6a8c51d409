"""The shape of an answer in each format, short enough for a small model: signatures, skeletons, headers of tables; or a value.

Constraints stand where they are short: ``age: int >= 0``. Nothing raises: what cannot be described is ``any``.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from schemagen.errors.pointers import steps_of
from schemagen.writers.classes import FORM
from schemagen.writers.xml import element_name
from schemagen.writers.yaml import scalar_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}
_BOUNDS = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
#: Nested references that are written out.
_MAX_DEPTH = 12
#: Values inside one another that an example shows: a recursive type has no end.
_MAX_SHOWN = 4


class Shapes:
    """The parts of a schema in words.

    Args:
        schema: A JSON Schema.
        names: JSON's names of types -> those to use.
        is_example: Whether values stand in the place of types, without notes on optional and repeated parts.
    """

    #: Whether strings that are listed are shown in quotes.
    has_quotes = True

    def __init__(
        self, schema: Mapping[str, Any], names: Mapping[str, str] | None = None, *, is_example: bool = False
    ) -> None:
        self.root = schema
        self.is_example = is_example
        self._names = _NAMES if names is None else names

    def resolved(self, schema: Any) -> Mapping[str, Any]:
        """Return a schema, references followed."""
        for _ in range(_MAX_DEPTH):
            if not isinstance(schema, dict) or "$ref" not in schema:
                break
            found: Any = self.root
            for step in steps_of(str(schema["$ref"])):
                found = found.get(step, {}) if isinstance(found, dict) else {}
            schema = found
        return schema if isinstance(schema, dict) else {}

    def scalar(self, schema: Mapping[str, Any]) -> str:
        """Return what a schema of a scalar says; "any" where that is not known."""
        if self.is_example:
            return self.literal(example_of(schema))
        if "const" in schema or "enum" in schema:
            values = schema.get("enum", [schema.get("const")])
            plain = (value if isinstance(value, str) and not self.has_quotes else None for value in values)
            shown = (json.dumps(value, ensure_ascii=False, default=str) for value in values)
            return " | ".join(text if word is None else word for word, text in zip(plain, shown, strict=True))
        kind = schema.get("type")
        if isinstance(kind, list):
            return " | ".join(self.scalar({**schema, "type": each}) for each in kind)
        name = self._names.get(str(kind), "any")
        if kind == "string" and "format" in schema:
            name = str(schema["format"])
        bounds = [f"{sign} {schema[key]}" for key, sign in _BOUNDS if schema.get(key) is not None]
        if kind == "string":
            bounds = [
                f"of {word} {schema[key]}" for key, word in (("minLength", ">="), ("maxLength", "<=")) if key in schema
            ]
            bounds += [f"like {schema['pattern']}"] if "pattern" in schema and "format" not in schema else []
        return " ".join([name, *bounds])

    def literal(self, value: Any) -> str:
        """Return a scalar as the format writes it."""
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)

    def note(self, text: str) -> str:
        """Return a note after a value, which an example has not."""
        return "" if self.is_example else text


def example_of(schema: Mapping[str, Any]) -> Any:
    """Return a value that shows what a scalar is; not always a valid one."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        values = schema["enum"]
        return " | ".join(values) if all(isinstance(value, str) for value in values) else values[0]
    kinds = schema.get("type") or "string"
    kind = next((each for each in kinds if each != "null"), "null") if isinstance(kinds, list) else kinds
    if kind == "string":
        return schema.get("format") or schema.get("description") or "..."
    number = schema.get("minimum", 0)
    return {"integer": number, "number": number, "boolean": True}.get(str(kind))


def shown_branches(branches: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the alternative that an example shows: the first that is not null."""
    return [each for each in branches if each.get("type") != "null"][:1] or branches[:1]


def python_shape(schema: Mapping[str, Any]) -> str:
    """Return the signatures of the classes of a type, that of the answer first.

    Args:
        schema: A JSON Schema with the notes of `schemagen.writers.classes`.
    """
    writer = _Signatures(schema)
    text = writer.write(schema)
    signatures = [signature for name, signature in writer.signatures.items() if name != text]
    if text in writer.signatures:
        return "\n".join([writer.signatures[text], *signatures])
    return "\n".join([text, *signatures])


class _Signatures(Shapes):
    """Python's annotations of a schema, and the signatures of the classes in it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(schema)
        self.signatures: dict[str, str] = {}

    def write(self, schema: Any) -> str:
        schema = self.resolved(schema)
        form = str(schema.get(FORM, ""))
        if form.startswith("call "):
            return self._called(form.removeprefix("call "), schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return " | ".join(dict.fromkeys(map(self.write, schema[key])))
        if schema.get("allOf"):
            return self.write(schema["allOf"][0])
        if schema.get("type") == "array":
            return self._array(schema, form)
        if schema.get("type") == "object":
            return self._object(schema)
        return self.scalar(schema)

    def _called(self, name: str, schema: Mapping[str, Any]) -> str:
        if name not in self.signatures:
            self.signatures[name] = name  # it may be in itself
            named = _fields(schema)
            is_tuple = schema.get("type") == "array"
            first = [key for key, _ in named[: schema.get("minItems", 0)]]
            needed = first if is_tuple else schema.get("required", ())
            fields = [f"{key}: {self.write(part)}{'' if key in needed else ' = ...'}" for key, part in named]
            self.signatures[name] = f"{name}({', '.join(fields)})"
        return name

    def _array(self, schema: Mapping[str, Any], form: str) -> str:
        if "prefixItems" in schema:
            return f"tuple[{', '.join(map(self.write, schema['prefixItems']))}]"
        item = self.write(schema.get("items", {}))
        if schema.get("maxItems") == 0:
            return "()" if form == "tuple" else "[]"
        return {"tuple": f"tuple[{item}, ...]", "set": f"set[{item}]"}.get(form, f"list[{item}]")

    def _object(self, schema: Mapping[str, Any]) -> str:
        needed = {*schema.get("required", ())}
        members = [
            f"{json.dumps(key, ensure_ascii=False)}{'' if key in needed else '?'}: {self.write(part)}"
            for key, part in schema.get("properties", {}).items()
        ]
        more = schema.get("additionalProperties", True)
        if more is not False and not members:
            return f"dict[str, {self.write(more)}]"
        return "{" + ", ".join(members) + "}"


def _fields(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the names and the schemas of the fields of a class, a named tuple or another."""
    if schema.get("type") == "array":
        return [(part.get("title", "").lower(), part) for part in schema.get("prefixItems", ())]
    return [*schema.get("properties", {}).items()]


def python_example(schema: Mapping[str, Any]) -> str:
    """Return a constructor call with values.

    Args:
        schema: As for `python_shape`.
    """
    return _PythonExample(schema, is_example=True).write(schema, 0)


class _PythonExample(Shapes):
    """An expression of Python."""

    def literal(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)

    def write(self, schema: Any, depth: int) -> str:
        schema = self.resolved(schema)
        form = str(schema.get(FORM, ""))
        if form.startswith("call "):
            return f"{form.removeprefix('call ')}({', '.join(self._arguments(schema, depth))})"
        branches = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if branches:
            return self.write(shown_branches([self.resolved(each) for each in branches])[0], depth)
        if schema.get("type") == "array":
            parts = schema.get("prefixItems") or [schema.get("items", {})]
            items = ", ".join(self.write(part, depth + 1) for part in parts) if depth < _MAX_SHOWN else ""
            if form == "tuple" or "prefixItems" in schema:
                return f"({items}{',' * (items != '' and len(parts) == 1)})"
            return f"{{{items}}}" if form == "set" and items else f"[{items}]"
        if schema.get("type") == "object":
            properties = schema.get("properties", {}) if depth < _MAX_SHOWN else {}
            members = (f"{json.dumps(key)}: {self.write(part, depth + 1)}" for key, part in properties.items())
            return f"{{{', '.join(members)}}}"
        return self.scalar(schema)

    def _arguments(self, schema: Mapping[str, Any], depth: int) -> list[str]:
        if depth > _MAX_SHOWN:
            return ["..."]
        return [f"{key}={self.write(part, depth + 1)}" for key, part in _fields(schema)]


class Skeleton(Shapes):
    """The lines of a value with types in place of scalars; what a format looks like is the business of a subclass."""

    def __init__(self, schema: Mapping[str, Any], *, is_example: bool = False) -> None:
        super().__init__(schema, {**_NAMES, "boolean": "true | false", "null": "null"}, is_example=is_example)
        self._open: list[Any] = []

    def branches(self, schema: Any) -> list[Mapping[str, Any]]:
        """Return the alternatives of a schema, references followed."""
        schema = self.resolved(schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                found = [branch for part in schema[key] for branch in self.branches(part)]
                return shown_branches(found) if self.is_example else found
        if schema.get("allOf"):
            return self.branches(schema["allOf"][0])
        return [schema]

    def words(self, schema: Any) -> str:
        """Return a schema on one line."""
        return " | ".join(dict.fromkeys(map(self._word, self.branches(schema))))

    def _word(self, schema: Mapping[str, Any]) -> str:
        kind = schema.get("type")
        if kind == "array":
            parts = schema.get("prefixItems") or [schema.get("items", {})]
            return f"[{', '.join(map(self.words, parts))}{'' if 'prefixItems' in schema else self.note(', ...')}]"
        if kind == "object":
            if any(schema is each for each in self._open):
                return str(schema.get("title", "the same again"))
            self._open.append(schema)
            members = [f"{key}: {self.words(part)}" for key, part in schema.get("properties", {}).items()]
            self._open.pop()
            return "{" + ", ".join(members) + "}"
        return self.scalar(schema)

    def container(self, schema: Any) -> Mapping[str, Any] | None:
        """Return the one list or object that a schema allows beside scalars, to be written in lines; None if it is not one."""
        branches = self.branches(schema)
        found = [each for each in branches if each.get("type") in ("array", "object")]
        others = [each for each in branches if each.get("type") != "null" and each not in found]
        if len(found) != 1 or others or any(found[0] is each for each in self._open):
            return None
        is_written = found[0].get("properties") if found[0]["type"] == "object" else "prefixItems" not in found[0]
        return found[0] if is_written else None


def yaml_shape(schema: Mapping[str, Any], *, is_example: bool = False) -> str:
    """Return a document of YAML with types in place of values, or with examples of them."""
    writer = _YamlSkeleton(schema, is_example=is_example)
    return "\n".join(writer.lines(schema))


class _YamlSkeleton(Skeleton):
    """A document of YAML; a comment marks optional members."""

    def literal(self, value: Any) -> str:
        plain = scalar_text(value, in_flow=False) if isinstance(value, str) else None
        return json.dumps(value, ensure_ascii=False, default=str) if plain is None else plain

    def lines(self, schema: Any) -> list[str]:
        found = self.container(schema)
        if found is None:
            return [self.words(schema)]
        self._open.append(found)
        try:
            return self._members(found) if found["type"] == "object" else self._items(found)
        finally:
            self._open.pop()

    def _items(self, schema: Mapping[str, Any]) -> list[str]:
        first, *others = self.lines(schema.get("items", {}))
        found = [f"- {first}", *(f"  {line}" for line in others)]
        return found if self.is_example else [*found, "- ..."]

    def _members(self, schema: Mapping[str, Any]) -> list[str]:
        needed, found = {*schema.get("required", ())}, []
        for key, part in schema["properties"].items():
            note = "" if key in needed else self.note("  # optional")
            if self.container(part) is None:
                found.append(f"{scalar_text(key, in_flow=True)}: {self.words(part)}{note}")
            else:
                found += [f"{scalar_text(key, in_flow=True)}:{note}", *(f"  {line}" for line in self.lines(part))]
        return found


def xml_shape(schema: Mapping[str, Any], root: str, *, is_example: bool = False) -> str:
    """Return a document of XML with types in place of values.

    Args:
        schema: The schema.
        root: The name of the root element.
        is_example: Whether examples stand there instead.
    """
    return "\n".join(_XmlSkeleton(schema, is_example=is_example).element(root, schema))


class _XmlSkeleton(Skeleton):
    """A document of XML; the note after an element says how often it may be there."""

    has_quotes = False

    def literal(self, value: Any) -> str:
        return super().literal(value).replace("&", "&amp;").replace("<", "&lt;")

    def element(self, name: str, schema: Any, note: str = "") -> list[str]:
        note = self.note(note)
        found = self.container(schema)
        if found is None:
            return [f"<{name}>{self._text(schema)}</{name}>{note}"]
        self._open.append(found)
        inner = self._members(found) if found["type"] == "object" else self._items("", found)
        self._open.pop()
        return [f"<{name}>", *(f"  {line}" for line in inner), f"</{name}>{note}"]

    def _text(self, schema: Any) -> str:
        """Return the words of the values except null, which is no element."""
        return self.words({"anyOf": [each for each in self.branches(schema) if each.get("type") != "null"]}) or "null"

    def _items(self, name: str, schema: Mapping[str, Any]) -> list[str]:
        item = schema.get("items", {})
        title = self.resolved(item).get("title", "") if self.resolved(item).get("type") == "object" else ""
        return self.element(name or element_name(str(title)) or "item", item, " (any number)")

    def _members(self, schema: Mapping[str, Any]) -> list[str]:
        needed, found = {*schema.get("required", ())}, []
        for key, part in schema["properties"].items():
            branches = self.branches(part)
            is_optional = key not in needed or any(each.get("type") == "null" for each in branches)
            lists = [each for each in branches if each.get("type") == "array"]
            if lists and "prefixItems" not in lists[0]:
                found += self._items(key, lists[0])
            else:
                found += self.element(key, part, " (optional)" if is_optional else "")
        return found


def table_shape(schema: Mapping[str, Any], separator: str, *, is_example: bool = False) -> str:
    """Return the names of the columns of a table, and a row of types.

    Args:
        schema: Of the list of rows.
        separator: "," for CSV, "|" for Markdown.
        is_example: Whether the row has examples instead.
    """
    writer = _TableSkeleton(schema, is_example=is_example)
    row = writer.resolved(writer.resolved(schema).get("items", {}))
    columns = row.get("properties", {})
    cells = [writer.cell(part, is_needed=key in row.get("required", ())) for key, part in columns.items()]
    more = [] if is_example else ["..."]
    if separator == ",":
        row_text = _csv_line(cells) if is_example else ",".join(cells)
        return "\n".join([",".join(columns), row_text, *more])
    lines = [f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}"]
    return "\n".join([*lines, f"| {' | '.join(cell.replace('|', 'or') for cell in cells)} |", *more])


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


class _TableSkeleton(Skeleton):
    """A row of types."""

    has_quotes = False

    def cell(self, schema: Any, *, is_needed: bool) -> str:
        branches = self.branches(schema)
        kinds = [each for each in branches if each.get("type") != "null"]
        note = "" if is_needed and len(kinds) == len(branches) else self.note(" or nothing")
        return f"{self.words({'anyOf': kinds})}{note}"

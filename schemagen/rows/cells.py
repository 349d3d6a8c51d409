"""The columns of a CSV for the values of a schema: one for each field, so that pandas and spreadsheets can read them.

A model that is nested and always there has columns of its own, named as ``address.city``. Everything else has one column:
a text as it is, numbers and booleans as in JSON, and lists, dictionaries, unions and models that may be missing as JSON.
An empty cell is null or a field that was left out.

A row can be read back to the value that it was made of, which `--resume` needs. So a text that would be read as something
else, such as ``null`` for a nullable text, is a JSON string in its cell.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.errors.pointers import resolved
from schemagen.rows.record import is_text
from schemagen.rows.row import json_text
from schemagen.types.reflection import is_type, reflect

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

#: Numbers stay texts, whatever their length.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_BLANKS = " \t\r\n,"
#: References in a row, and models in models, that are followed.
_DEEPEST = 8
#: The JSON types of texts that may be missing.
_TEXTS = frozenset({"string", "null"})
#: The JSON types of a schema that does not say which.
_ANY = frozenset({"any", "null"})


@dataclass(frozen=True, slots=True)
class Cell:
    """One column.

    Attributes:
        kinds: The JSON types of its values (`_kinds`). If all are texts, a cell such as ``12`` is a text; if none is one,
            ``TRUE``, as spreadsheets write it, is a boolean.
        empty: The JSON text that an empty cell stands for; None for a field that was left out.
        null: How null is written.
    """

    kinds: frozenset[str]
    empty: str | None = None
    null: str = ""

    def written(self, value: str | None) -> str:
        """Return the cell of a JSON text; of None for a field that was left out."""
        if value is None:
            return ""
        if value == "null":
            return self.null
        if not value.startswith('"'):
            return value
        said = json_text(json.loads(value))
        plain = json.loads(value).encode("utf-8", "backslashreplace").decode()
        return plain if "\0" not in plain and self.read(plain) == said else said

    def read(self, cell: str) -> str | None:
        """Return the JSON text of a cell."""
        if cell == "":
            return self.empty
        if cell == self.null:
            return "null"
        if self.kinds <= _TEXTS and not cell.startswith('"'):
            return json_text(cell)
        if not self.kinds & {"string", "any"} and cell.lower() in ("true", "false"):
            return cell.lower()
        try:
            json.loads(cell)
        except (ValueError, RecursionError):
            return json_text(cell)
        return cell


class Fields:
    """The columns of an object, in the order of its properties.

    Args:
        parts: Each property with its column, or the columns of a nested object.
    """

    def __init__(self, parts: Mapping[str, Cell | Fields]) -> None:
        self._parts = parts

    def names(self) -> list[str]:
        """Return the names of the columns."""
        found: list[str] = []
        for name, part in self._parts.items():
            found += [name] if isinstance(part, Cell) else [f"{name}.{inner}" for inner in part.names()]
        return found

    def written(self, value: str) -> list[str]:
        """Return the cells of a JSON object."""
        given = dict(_members(value))
        found: list[str] = []
        for name, part in self._parts.items():
            found += [part.written(given.get(name))] if isinstance(part, Cell) else part.written(given[name])
        return found

    def read(self, cells: Iterator[str], left_out: str | None = None) -> str:
        """Return the JSON object of some cells; `left_out` is the JSON text of a field that was left out, None to omit it."""
        found = []
        for name, part in self._parts.items():
            value = (part.read(next(cells)) or left_out) if isinstance(part, Cell) else part.read(cells, left_out)
            found += [] if value is None else [f"{json_text(name)}: {value}"]
        return f"{{{', '.join(found)}}}"


class CellTable:
    """The columns of the values of a spec.

    Args:
        spec: The spec.
        taken: Names of other columns; a field with one of them is in the column ``value.NAME``. If two columns would have the
            same name, nested models are JSON in one cell; if that does not help, the whole value is.

    Attributes:
        names: The names of the columns: of the fields, or ``value`` if the values are not objects with known fields.
    """

    def __init__(self, spec: Any, taken: Collection[str] = ()) -> None:
        self._schema = schema = _schema_of(spec)
        self._wrapped = False
        for flat in (True, False):
            fields = _fields(schema, schema, flat=flat)
            names = [] if fields is None else fields.names()
            only = names == ["value"]  # it would be read as the whole value
            self.names = [f"value.{name}" if only or name in taken else name for name in names]
            if fields is not None and len(set(self.names)) == len(self.names):
                self._fields = fields
                return
        self._fields = Fields({"value": _cell(schema, schema, is_required=True)})
        self._wrapped, self.names = True, ["value"]

    def is_text(self, *path: str) -> bool:
        """Whether the field at a path, or the whole value, is always a text or null."""
        found = self._schema
        for name in path:
            found = resolved(found, self._schema).get("properties", {}).get(name, {})
        return _kinds(found, self._schema) <= _TEXTS

    def written(self, value: str) -> list[str]:
        """Return the cells of a value."""
        return self._fields.written(f'{{"value": {value}}}' if self._wrapped else value)

    def read(self, cells: Iterator[str], left_out: str | None = None) -> str:
        """Return the value of some cells; see `Fields.read`."""
        found = self._fields.read(cells, left_out)
        return found.removeprefix('{"value": ')[:-1] if self._wrapped else found


def _schema_of(spec: Any) -> Mapping[str, Any]:
    if is_text(spec):
        return {"type": "string"}
    found = reflect(spec).schema if is_type(spec) else spec
    return found if isinstance(found, Mapping) else {}


def _fields(schema: Any, document: Mapping[str, Any], depth: int = 0, *, flat: bool) -> Fields | None:
    """Return the columns of the objects of a schema; None if it has other values, or objects with further keys."""
    found = resolved(schema, document)
    properties = found.get("properties")
    closed = found.get("type") == "object" and found.get("additionalProperties") is False
    if not properties or not closed or "patternProperties" in found or depth > _DEEPEST:
        return None
    required = set(found.get("required", ()))
    parts: dict[str, Cell | Fields] = {}
    for name, inner in properties.items():
        nested = _fields(inner, document, depth + 1, flat=flat) if flat and name in required else None
        parts[name] = nested or _cell(resolved(inner, document), document, is_required=name in required)
    return Fields(parts)


def _cell(schema: Mapping[str, Any], document: Mapping[str, Any], *, is_required: bool) -> Cell:
    kinds = _kinds(schema, document)
    if is_required:
        return Cell(kinds, '""' if kinds == {"string"} else "null")
    # A field that is null by default may be left out instead.
    same = "null" not in kinds or schema.get("default", ...) is None
    return Cell(kinds, None, "" if same else "null")


def _kinds(schema: Any, document: Mapping[str, Any], depth: int = 0) -> frozenset[str]:
    """Return the JSON types that the values of a schema may have: only as far as "string" and "null" can be told."""
    found = resolved(schema, document)
    if "const" in found or "enum" in found:
        values = [found["const"]] if "const" in found else found["enum"]
        return frozenset("null" if each is None else "string" if isinstance(each, str) else "other" for each in values)
    kinds = found.get("type")
    if kinds is not None:
        return frozenset([kinds] if isinstance(kinds, str) else kinds)
    members = found.get("anyOf") or found.get("oneOf")
    if not members or depth > _DEEPEST:
        return _ANY
    return frozenset().union(*(_kinds(each, document, depth + 1) for each in members))


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the keys of a JSON object, each with the text of its value."""
    at = _after_blanks(text, text.index("{") + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        begin = _after_blanks(text, text.index(":", at) + 1)
        _, at = _DECODER.raw_decode(text, begin)
        yield key, text[begin:at]
        at = _after_blanks(text, at)


def _after_blanks(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at

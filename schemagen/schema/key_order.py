"""`in_order_of`: a schema whose properties are declared in the order in which a text has them.

With keys in any order a grammar has a place for each set of keys that are left. A search through its places would take long;
the order of the text is the only one that it needs. Each object of the schema takes the order of the object of the text with
which it shares most keys. A key that the text does not have stays after the one that is declared before it, and one that is
misspelt takes the place of the misspelt one.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from schemagen.schema.keyword_table import DATA, SCHEMA_MAPS

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKEN = re.compile(r"""[{}]|"((?:[^"\\]|\\.)*)"\s*:|'((?:[^'\\]|\\.)*)'\s*:|(?<![\w$-])([A-Za-z_$][\w$-]*)["']?\s*:""")
#: With it a declared key means something else than an undeclared one.
_READS_DECLARED = ("unevaluatedProperties", "patternProperties")


def keys_of_objects(text: str) -> list[tuple[str, ...]]:
    """Return the keys of each object of a text that is nearly JSON, as far as its brackets tell."""
    done: list[tuple[str, ...]] = []
    open_ones: list[dict[str, None]] = [{}]
    for match in _TOKEN.finditer(text):
        if match.group() == "{":
            open_ones.append({})
        elif match.group() == "}":
            done.append(tuple(open_ones.pop()))
            open_ones = open_ones or [{}]
        else:
            open_ones[-1].setdefault(next(key for key in match.groups() if key is not None))
    return [keys for keys in (*done, *map(tuple, reversed(open_ones))) if keys]


def in_order_of(objects: Sequence[Sequence[str]], schema: Any) -> Any:
    """Return a schema of the same values, with properties in the order of the keys of a text.

    An open object also declares the keys of its text, so that they may stand between others.

    Args:
        objects: As `keys_of_objects` returns them.
        schema: A JSON Schema.
    """
    return _Reordering(objects, is_plain=not any(name in repr(schema) for name in _READS_DECLARED)).schema(schema)


class _Reordering:
    def __init__(self, objects: Sequence[Sequence[str]], *, is_plain: bool) -> None:
        self._objects, self._is_plain = objects, is_plain

    def schema(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self.schema(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        found = {name: self._value(name, value) for name, value in schema.items()}
        if isinstance(schema.get("properties"), dict) and self._objects:
            found["properties"] = self._ordered(found["properties"], schema.get("additionalProperties", True))
        return found

    def _value(self, name: str, value: Any) -> Any:
        if name in DATA:
            return value
        if name in SCHEMA_MAPS and isinstance(value, dict):
            return {key: self.schema(each) for key, each in value.items()}
        return self.schema(value)

    def _ordered(self, properties: dict[str, Any], others: Any) -> dict[str, Any]:
        keys = max(self._objects, key=lambda keys: len(properties.keys() & set(keys)))
        unknown = [key for key in keys if key not in properties]
        ranks: dict[str, tuple[int, int]] = {}
        before = -1
        for index, key in enumerate(properties):
            alike = [key] if key in keys else get_close_matches(key, unknown, 1)
            before = keys.index(alike[0]) if alike else before
            ranks[key] = before, index if alike == [] else -1
        known = dict(properties)
        if self._is_plain and others is not False and properties.keys() & set(keys):
            known |= dict.fromkeys(unknown, others)
            ranks |= {key: (keys.index(key), -1) for key in unknown}
        return {key: known[key] for key in sorted(known, key=ranks.__getitem__)}

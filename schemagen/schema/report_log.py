"""Which sub-schemas were read, so that the report can be written when it is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from schemagen.errors.pointers import escape
from schemagen.schema.formats.table import is_asserted
from schemagen.schema.ir import SchemaRef
from schemagen.schema.keyword_table import ANNOTATIONS, COMPANIONS, READERS, TABLE, asserted
from schemagen.schema.report import Entry, Report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ReportLog:
    """The sub-schemas that were read, and what had to be left to a check of the finished value.

    A compilation only notes what it reads; most reports are never looked at. Leaves and references count as read with the
    schema that they stand in.

    Args:
        dialect: Whose reading of formats counts.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._read: list[SchemaRef | tuple[SchemaRef, tuple[str, ...], Any]] = []
        self._left: dict[tuple[str, str], Entry] = {}

    def read(self, record: SchemaRef) -> None:
        """Note that a sub-schema was read."""
        self._read.append(record)

    def note_inline(self, parent: SchemaRef, tokens: tuple[str, ...], schema: Any) -> None:
        """Note that a leaf or a reference was read, which has no place of its own."""
        self._read.append((parent, tokens, schema))

    def mark_unchecked(self, pointer: str, keyword: str, why: str) -> None:
        """Note that a keyword is only checked on the finished value."""
        self._left.setdefault((pointer, keyword), Entry(pointer, keyword, "checked_after", why))

    @property
    def is_exact(self) -> bool:
        """Whether nothing was left to a check."""
        return not self._left

    def report(self) -> Report:
        """Return what became of every keyword that was read, in the order of reading."""
        records = [
            read if isinstance(read, SchemaRef) else SchemaRef(read[2], read[0], read[1], read[0].draft)
            for read in self._read
        ]
        targets = _targets(records)
        entries: dict[tuple[str, str], Entry] = {}
        for record in records:
            for entry in _entries(record, self._dialect, targets):
                entries.setdefault((entry.pointer, entry.keyword), entry)
        return Report(tuple((entries | self._left).values()))


def _targets(records: Iterable[SchemaRef]) -> frozenset[str]:
    """Return the pointers that local references lead to or pass through."""
    found: set[str] = set()
    for record in records:
        reference = record.schema.get("$ref") if isinstance(record.schema, dict) else None
        if isinstance(reference, str) and reference.startswith("#/"):
            steps = unquote(reference[1:]).split("/")
            found.update("/".join(steps[: count + 1]) for count in range(1, len(steps)))
    return frozenset(found)


def _entries(record: SchemaRef, dialect: str, targets: frozenset[str]) -> Iterator[Entry]:
    """Yield an entry for each keyword of a sub-schema, those that assert something first."""
    pointer, schema = record.pointer, record.schema
    named = asserted(schema, record.draft)
    for name in named:
        yield _asserting(pointer, name, schema[name], dialect)
    hidden = "beside $ref in an old draft" if named == ["$ref"] and record.draft <= 7 else ""
    for name in schema:
        if name in named:
            continue
        if hidden or name in ANNOTATIONS or name.startswith("x-") or f"{pointer}/{escape(name)}" in targets:
            yield Entry(pointer, name, "annotation", hidden)
        elif name in COMPANIONS:
            yield Entry(pointer, name, "enforced")
        else:
            yield Entry(pointer, name, "unknown", unknown_keyword(name))


@lru_cache(maxsize=1024)
def unknown_keyword(name: str) -> str:
    """Say why a keyword means nothing, and which one may be meant."""
    if name in READERS:
        return "a keyword of later drafts"
    alike = get_close_matches(name, TABLE, n=1, cutoff=0.75)
    return "not a keyword of JSON Schema" + (f": did you mean {alike[0]!r}?" if alike else "")


def _asserting(pointer: str, name: str, value: Any, dialect: str) -> Entry:
    if name == "format" and isinstance(value, str):
        if is_asserted(value, dialect):
            return Entry(pointer, name, "enforced", value)
        return Entry(pointer, name, "annotation", f"{value!r} asserts nothing here")
    if name == "required" and isinstance(value, bool):
        return Entry(pointer, name, "annotation", "a boolean, as in draft 3")
    return Entry(pointer, name, "enforced")

"""Which sub-schemas were read, so that the report can be written once somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.schema.document import PlaceRecord
from schemagen.schema.keywords import COMPANIONS, asserted
from schemagen.schema.leaves import leaf_key, sole_reference
from schemagen.schema.ordinary import children, is_ordinary
from schemagen.schema.report import Entry, Report
from schemagen.schema.strings import is_asserted

if TYPE_CHECKING:
    from collections.abc import Iterator


class Account:
    """The sub-schemas that were read, and what had to be left to a check of the finished value.

    A compilation only notes what it reads; most reports are never looked at. Leaves and references count as read with the
    schema that they stand in; those of an ordinary schema are not even noted, for they are found again.

    Args:
        dialect: Whose reading of formats counts.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._read: list[PlaceRecord | tuple[PlaceRecord, tuple[str, ...], Any]] = []
        self._left: dict[tuple[str, str], Entry] = {}

    def read(self, record: PlaceRecord) -> None:
        """Note that a sub-schema was read."""
        self._read.append(record)

    def read_in(self, parent: PlaceRecord, tokens: tuple[str, ...], schema: Any) -> None:
        """Note that a leaf or a reference was read, which has no place of its own."""
        self._read.append((parent, tokens, schema))

    def leave(self, pointer: str, keyword: str, why: str) -> None:
        """Note that a keyword is only checked on the finished value."""
        self._left.setdefault((pointer, keyword), Entry(pointer, keyword, "checked_after", why))

    @property
    def is_exact(self) -> bool:
        """Whether nothing was left to a check."""
        return not self._left

    def report(self) -> Report:
        """Return what became of every keyword that was read, in the order of reading."""
        entries: dict[tuple[str, str], Entry] = {}
        for read in self._read:
            record = read if isinstance(read, PlaceRecord) else PlaceRecord(read[2], read[0], read[1], read[0].draft)
            for below in (record, *_leaves(record)):
                for entry in _entries(below, self._dialect):
                    entries.setdefault((entry.pointer, entry.keyword), entry)
        return Report(tuple((entries | self._left).values()))


def _leaves(record: PlaceRecord) -> Iterator[PlaceRecord]:
    """Yield the leaves and references in an ordinary schema."""
    if record.base is None and is_ordinary(record.schema):
        for steps, child in children(record.schema):
            if leaf_key(child) is not None or sole_reference(child, record.draft) is not None:
                yield PlaceRecord(child, record, steps, record.draft)


def _entries(record: PlaceRecord, dialect: str) -> Iterator[Entry]:
    """Yield an entry for each keyword of a sub-schema, those that assert something first."""
    pointer, schema = record.pointer, record.schema
    named = asserted(schema, record.draft)
    for name in named:
        yield _asserting(pointer, name, schema[name], dialect)
    hidden = "beside $ref in an old draft" if named == ["$ref"] and record.draft <= 7 else ""
    for name in schema:
        if name not in named:
            yield Entry(pointer, name, "enforced" if name in COMPANIONS and not hidden else "annotation", hidden)


def _asserting(pointer: str, name: str, value: Any, dialect: str) -> Entry:
    if name == "format" and isinstance(value, str):
        if is_asserted(value, dialect):
            return Entry(pointer, name, "enforced", value)
        return Entry(pointer, name, "annotation", f"{value!r} asserts nothing here")
    if name == "required" and isinstance(value, bool):
        return Entry(pointer, name, "annotation", "a boolean, as in draft 3")
    return Entry(pointer, name, "enforced")

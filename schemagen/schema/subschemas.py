"""Sub-schemas as expressions: places, what references lead to, and leaves that were read before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.errors import InvalidSchemaError
from schemagen.schema.document import check_keywords
from schemagen.schema.ir import Resolved
from schemagen.schema.keywords import shown
from schemagen.schema.leaf_cache import LEAVES, leaf_key, sole_reference

if TYPE_CHECKING:
    from schemagen.schema.document import Document, Subschema
    from schemagen.schema.ir import Expression, SchemaRef, ValueSet
    from schemagen.schema.leaf_cache import LeafKey
    from schemagen.schema.report_log import ReportLog


class Subschemas:
    """The sub-schemas of one document.

    Args:
        document: Where they are.
        log: Told of each leaf and reference that is read.
        dialect: Whose reading of formats counts.
        strict: Whether a keyword that cannot be enforced is an error.
    """

    def __init__(self, document: Document, log: ReportLog, dialect: str, *, strict: bool) -> None:
        self._document = document
        self._log = log
        self._dialect = dialect
        self._strict = strict
        self._leaves: dict[LeafKey, SchemaRef] = {}
        self._leaf_keys: dict[SchemaRef, LeafKey] = {}

    def place(self, parent: Subschema, schema: Any, *tokens: str) -> SchemaRef:
        """Return the place of a sub-schema."""
        if not isinstance(schema, dict | bool):
            pointer = parent.pointer + "".join(f"/{t}" for t in tokens)
            raise InvalidSchemaError(f"a schema is {shown(schema)}, expected an object or a boolean", at=pointer)
        return self._document.child(parent, schema, *tokens)

    def expression(self, parent: Subschema, schema: Any, *tokens: str) -> SchemaRef | Resolved:
        """Return what a sub-schema allows: its place, or that of what it refers to; for a leaf, what its like became."""
        if parent.base is None and isinstance(schema, dict):
            check_keywords(schema, parent, tokens)
            uri = sole_reference(schema, parent.draft) if "$ref" in schema else None
            target = None if uri is None else self._document.find(uri)
            if target is not None:
                found = self._shared(target)
                self._log.note_inline(parent, tokens, schema)
                return found
            key = self._leaf_key(schema, parent.draft)
            if key is not None:
                self._log.note_inline(parent, tokens, schema)
                return self._leaf(key) or self._first(key, self.place(parent, schema, *tokens))
        return self.place(parent, schema, *tokens)

    def _shared(self, target: SchemaRef) -> SchemaRef | Resolved:
        """Return the place that a reference leads to or, for a leaf, what the first of its kind became."""
        record = self._document[target]
        key = self._leaf_key(record.schema, record.draft) if isinstance(record.schema, dict) else None
        if key is None:
            return target
        self._log.read(record)
        return self._leaf(key) or self._first(key, target)

    def below(self, place: SchemaRef, schema: Any, reference: str | None, tokens: tuple[str, ...]) -> Expression:
        """Return what a sub-schema allows that somebody else came upon, in a document without base URIs.

        Args:
            place: Where the way to it starts.
            schema: The sub-schema.
            reference: Whose target the way leads through, if any: then the tokens lead on from there.
            tokens: The way.
        """
        if reference is not None:
            place = self.reference(self._document[self._document.start], reference)
            if not tokens:
                return self._shared(place)
        return self.expression(self._document[place], schema, *tokens) if tokens else place

    def _leaf_key(self, schema: dict[str, Any], draft: int) -> LeafKey | None:
        # A pattern may be left to the check afterwards, which the report tells of each place.
        words = leaf_key(schema) if self._strict or "pattern" not in schema else None
        return None if words is None else (draft, self._dialect, *words)

    def _leaf(self, key: LeafKey) -> SchemaRef | Resolved | None:
        return LEAVES.get(key) or self._leaves.get(key)

    def _first(self, key: LeafKey, place: SchemaRef) -> SchemaRef:
        self._leaves[key] = place
        self._leaf_keys[place] = key
        return place

    def reference(self, parent: Subschema, uri: str) -> SchemaRef:
        """Return the place that a reference leads to."""
        return self._document.follow(parent, uri)

    def dynamic_reference(self, parent: Subschema, uri: str) -> SchemaRef:
        """Return the place that a dynamic reference leads to from here."""
        return self._document.follow_dynamic(parent, uri)

    def remember(self, place: SchemaRef, value: ValueSet) -> None:
        """Keep what a leaf allows, for this schema and others; nothing for other schemas."""
        key = self._leaf_keys.get(place)
        if key is not None:
            LEAVES.put(key, Resolved(value))

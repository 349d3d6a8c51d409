"""Sub-schemas as expressions: places, what references lead to, and leaves that were read before.

A leaf contains no other schema. Leaves are most of every document, and the same few over and over: ``{"type": "string"}``,
whatever its description, means the same wherever it stands. So its set of values is worked out once for the process and
handed over as `Resolved`. The key is what the keywords say, in a form that tells 1, 1.0 and true apart.
``{"$ref": "#/$defs/name"}`` is the schema that it names.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from schemagen.errors import InvalidSchemaError
from schemagen.errors.pointers import pointer_of
from schemagen.schema.document import check_keywords
from schemagen.schema.ir import Resolved
from schemagen.schema.keyword_table import COMPANIONS, OTHER_KEYWORDS, READERS, SELF_CONTAINED
from schemagen.schema.keywords import shown
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from schemagen.schema.document import Document
    from schemagen.schema.ir import Expression, SchemaRef, ValueSet
    from schemagen.schema.report_log import ReportLog

LeafKey = tuple[Any, ...]

_LISTS = ("type", "enum")
#: Longest value of a keyword in a key, in bytes: a large enum is seldom seen twice.
_MAX_BYTES = 512
_MAX_LEAVES = 4096
#: The sets of leaves, shared by all threads; the oldest of too many are forgotten.
_known_leaves: OrderedDict[LeafKey, Resolved] = OrderedDict()
_lock = brief_lock()


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

    def place(self, parent: SchemaRef, schema: Any, *tokens: str) -> SchemaRef:
        """Return the place of a sub-schema."""
        if not isinstance(schema, dict | bool):
            at = parent.pointer + pointer_of(tokens)
            raise InvalidSchemaError(f"a schema is {shown(schema)}, expected an object or a boolean", at=at)
        return self._document.child(parent, schema, *tokens)

    def expression(self, parent: SchemaRef, schema: Any, *tokens: str) -> SchemaRef | Resolved:
        """Return what a sub-schema allows: its place, or that of what it refers to; for a leaf, what its like became."""
        if parent.base is None and isinstance(schema, dict):
            check_keywords(schema, parent, tokens)
            uri = _sole_reference(schema, parent.draft) if "$ref" in schema else None
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
        schema = target.schema
        key = self._leaf_key(schema, target.draft) if isinstance(schema, dict) else None
        if key is None:
            return target
        self._log.read(target)
        return self._leaf(key) or self._first(key, target)

    def below(self, place: SchemaRef, schema: Any, reference: str | None, tokens: tuple[str, ...]) -> Expression:
        """Return what a sub-schema allows that the core came upon, in a document without base URIs.

        Args:
            place: Where the way to it starts.
            schema: The sub-schema.
            reference: Whose target the way leads through, if any: then the tokens lead on from there.
            tokens: The way.
        """
        if reference is not None:
            place = self.reference(self._document.start, reference)
            if not tokens:
                return self._shared(place)
        return self.expression(place, schema, *tokens) if tokens else place

    def _leaf_key(self, schema: dict[str, Any], draft: int) -> LeafKey | None:
        """Return what identifies the meaning of a leaf; None if the schema is none, or not worth remembering."""
        # A pattern may be left to the check afterwards, which the report tells of each place.
        if not OTHER_KEYWORDS.isdisjoint(schema) or not (self._strict or "pattern" not in schema):
            return None
        key: list[Any] = [draft, self._dialect]
        for name, value in schema.items():
            if name in SELF_CONTAINED:
                word = value if value.__class__ is str else _frozen(value, may_be_list=name in _LISTS)
                if word is None:
                    return None
                key += (name, word)
        return tuple(key)

    def _leaf(self, key: LeafKey) -> SchemaRef | Resolved | None:
        return _known_leaves.get(key) or self._leaves.get(key)

    def _first(self, key: LeafKey, place: SchemaRef) -> SchemaRef:
        self._leaves[key] = place
        self._leaf_keys[place] = key
        return place

    def reference(self, parent: SchemaRef, uri: str) -> SchemaRef:
        """Return the place that a reference leads to."""
        return self._document.follow(parent, uri)

    def dynamic_reference(self, parent: SchemaRef, uri: str) -> SchemaRef:
        """Return the place that a dynamic reference leads to from here."""
        return self._document.follow_dynamic(parent, uri)

    def remember(self, place: SchemaRef, value: ValueSet) -> None:
        """Keep what a leaf allows, for this schema and others; nothing for other schemas."""
        key = self._leaf_keys.get(place)
        if key is not None:
            with _lock:
                _known_leaves[key] = Resolved(value)
                if len(_known_leaves) > _MAX_LEAVES:
                    _known_leaves.popitem(last=False)


def _sole_reference(schema: dict[str, Any], draft: int) -> str | None:
    """Return the reference of a schema that says nothing else; before 2019-09 a reference hides the keywords beside it."""
    if draft > 7 and (len(READERS.keys() & schema) > 1 or not COMPANIONS.isdisjoint(schema)):
        return None
    reference = schema.get("$ref")
    return reference if isinstance(reference, str) else None


def _frozen(value: Any, *, may_be_list: bool) -> tuple[str, bytes] | None:
    """Return a number, a boolean, null or a list of them and texts as something hashable that tells them apart.

    An array or object among them is a value with places of its own, which belong to one compilation.
    """
    if isinstance(value, dict):
        return None
    if isinstance(value, list) and not (may_be_list and not any(isinstance(item, list | dict) for item in value)):
        return None
    try:
        text = marshal.dumps(value, 2)
    except ValueError:  # no JSON: the keyword will say so
        return None
    return (value.__class__.__name__, text) if len(text) <= _MAX_BYTES else None

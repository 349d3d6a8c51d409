"""Places in schema documents: drafts, base URIs, references.

A place is a sub-schema together with what is needed to read it: its JSON pointer (for error texts), its draft and the
resolver of its base URI. Local references (`#/$defs/X`) are followed here; everything else (`$id`, `$anchor`, documents
from ``resources``) is left to the `referencing` library, which never fetches anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from schemagen.errors import InvalidSchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from referencing import Registry
    from referencing._core import Resolver

#: By the last path segment but one of `$schema`; anything else is read as 2020-12.
_DRAFTS = {"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": 2020}
_DIALECTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
LATEST_DRAFT = 2020


@dataclass(frozen=True, slots=True, eq=False)
class PlaceRecord:
    """A sub-schema and its surroundings."""

    schema: Any
    pointer: str
    draft: int
    resolver: Resolver[Any] | None


def draft_of(schema: Any, default: int = LATEST_DRAFT) -> int:
    """Return the draft that `$schema` names: 4, 6, 7, 2019 or 2020."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(uri, str):
        return default
    return next((draft for name, draft in _DRAFTS.items() if name in uri), default)


def escape(token: str) -> str:
    """Escape one reference token of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


class Document:
    """The places of a root schema and of the documents given with it.

    Args:
        schema: The root schema.
        resources: Documents by URI that references may lead to.
    """

    def __init__(self, schema: Any, resources: Mapping[str, Any] | None = None) -> None:
        self.root = schema
        self._resources = dict(resources or {})
        self._records: list[PlaceRecord] = []
        self._index: dict[tuple[int, str], int] = {}
        self._registry: Registry[Any] | None = None
        self._plain = not self._resources and not _mentions_ids(schema)
        draft = draft_of(schema)
        self._draft = draft
        resolver = None if self._plain else self._root_resolver()
        self.add(PlaceRecord(schema, "", draft, resolver))

    def __getitem__(self, index: int) -> PlaceRecord:
        """Return the place with this index; 0 is the root."""
        return self._records[index]

    def add(self, record: PlaceRecord) -> int:
        """Return the index of a place, the same for the same object under the same base."""
        base = "" if record.resolver is None else record.resolver._base_uri  # noqa: SLF001 - not exposed otherwise
        key = (id(record.schema), base)
        if not isinstance(record.schema, dict):
            key = (id(record.schema), f"{base} {record.pointer}")
        index = self._index.get(key)
        if index is None:
            index = self._index[key] = len(self._records)
            self._records.append(record)
        return index

    def child(self, parent: PlaceRecord, schema: Any, *tokens: str) -> int:
        """Return the place of a sub-schema of ``parent``; ``tokens`` lead to it."""
        pointer = parent.pointer + "".join(f"/{escape(token)}" for token in tokens)
        resolver, draft = parent.resolver, parent.draft
        if isinstance(schema, dict) and resolver is not None and _own_id(schema, draft):
            resolver = resolver.in_subresource(self._resource(schema, draft))
            draft = draft_of(schema, draft)
        return self.add(PlaceRecord(schema, pointer, draft, resolver))

    def follow(self, place: PlaceRecord, reference: str) -> int:
        """Return the place that a `$ref` leads to.

        Raises:
            InvalidSchemaError: It leads nowhere.
        """
        if place.resolver is None:
            if reference == "#":
                return 0
            if reference.startswith("#/"):
                return self._follow_pointer(place, reference)
            raise self._unresolvable(place, reference)
        return self._follow_uri(place, reference)

    def _follow_pointer(self, place: PlaceRecord, reference: str) -> int:
        target: Any = self.root
        pointer = ""
        for raw in unquote(reference[2:]).split("/"):
            token = raw.replace("~1", "/").replace("~0", "~")
            try:
                target = target[int(token)] if isinstance(target, list) else target[token]
            except (KeyError, IndexError, ValueError, TypeError):
                raise self._unresolvable(place, reference) from None
            pointer += f"/{escape(token)}"
        return self.add(PlaceRecord(target, pointer, place.draft, None))

    def _follow_uri(self, place: PlaceRecord, reference: str) -> int:
        from referencing.exceptions import Unresolvable

        assert place.resolver is not None
        try:
            found = place.resolver.lookup(reference)
        except (Unresolvable, ValueError, KeyError, TypeError, AttributeError):
            raise self._unresolvable(place, reference) from None
        draft = draft_of(found.contents, place.draft)
        pointer = reference if not reference.startswith("#/") else unquote(reference[1:])
        return self.add(PlaceRecord(found.contents, pointer, draft, found.resolver))

    @staticmethod
    def _unresolvable(place: PlaceRecord, reference: str) -> InvalidSchemaError:
        return InvalidSchemaError(
            f"the reference {reference!r} leads nowhere",
            at=f"{place.pointer}/$ref",
            why="references are looked up in the schema itself and in resources=, and never fetched",
            fix="correct the pointer, or pass the document: compile(schema, vocab, resources={uri: document})",
            code="unresolvable-reference",
        )

    def _resource(self, schema: Any, draft: int) -> Any:
        from referencing import Resource
        from referencing.jsonschema import specification_with

        return Resource.from_contents(schema, default_specification=specification_with(_DIALECTS[draft]))

    def _root_resolver(self) -> Resolver[Any]:
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # the metaschemas

        resources = {uri: self._resource(doc, draft_of(doc, self._draft)) for uri, doc in self._resources.items()}
        root = self._resource(self.root, self._draft)
        registry: Registry[Any] = REGISTRY.with_resources(resources.items())
        base = root.id() or ""
        self._registry = registry.with_resource(base, root).crawl()
        return self._registry.resolver(base)


def _own_id(schema: dict[str, Any], draft: int) -> bool:
    return isinstance(schema.get("id" if draft == 4 else "$id"), str)


_ID_KEYS = frozenset({"$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"})
_DATA_KEYS = frozenset({"enum", "const", "default", "examples", "example"})


def _mentions_ids(schema: Any) -> bool:
    """Whether the document may need more than local pointers; cheap, and wrong only on the careful side."""
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if any(isinstance(node.get(k), str) for k in _ID_KEYS):
                return True
            reference = node.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                return True
            stack.extend(value for key, value in node.items() if key not in _DATA_KEYS)
    return False

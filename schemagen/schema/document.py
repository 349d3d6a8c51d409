"""Places in schema documents: drafts, base URIs, references.

A place is a sub-schema together with the data needed to read it: its JSON pointer (for error texts), its draft and the
resolver of its base URI. Local references (`#/$defs/X`) are followed here; everything else (`$id`, `$anchor`, documents
from ``resources``) is left to the `referencing` library, which never fetches anything.
"""

from __future__ import annotations

import marshal
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from schemagen.checks import kind_of
from schemagen.errors import InvalidSchemaError
from schemagen.errors.pointers import pointer_of, steps_of
from schemagen.schema.ir import SchemaRef
from schemagen.schema.keyword_table import DATA, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from referencing import Registry

    from schemagen.schema.ir import Scope

#: By the last path segment but one of `$schema`; anything else is read as 2020-12.
_DRAFTS = {"draft-03": 4, "draft-04": 4, "draft-06": 6, "draft-07": 7, "2019-09": 2019, "2020-12": 2020}
DIALECTS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
LATEST_DRAFT = 2020


_TEXTS = frozenset({str})


def check_keywords(schema: Mapping[Any, Any], place: SchemaRef, tokens: tuple[str, ...] = ()) -> None:
    """Refuse a schema with a keyword that is no text.

    Args:
        schema: A sub-schema.
        place: Its place, or that from which the tokens lead to it.
        tokens: The steps, unescaped.

    Raises:
        InvalidSchemaError: There is one.
    """
    if _TEXTS.issuperset(map(type, schema)):
        return
    wrong = next((name for name in schema if not isinstance(name, str)), "")
    if wrong != "":
        raise InvalidSchemaError(
            f"a keyword is {wrong!r:.80}, {kind_of(wrong)}",
            at=place.pointer + pointer_of(tokens),
            why="keys of JSON are texts",
            fix=f"write {str(wrong)!r:.80} for a text, or leave it out",
        )


def draft_of(schema: Any, default: int = LATEST_DRAFT) -> int:
    """Return the draft that `$schema` names: 4, 6, 7, 2019 or 2020."""
    uri = schema.get("$schema") if isinstance(schema, dict) else None
    return _draft_named(uri, default) if isinstance(uri, str) else default


@lru_cache(maxsize=256)
def _draft_named(uri: str, default: int) -> int:
    return next((draft for name, draft in _DRAFTS.items() if name in uri), default)


def _index(token: str) -> int:
    """Read an array index as RFC 6901 has it: no sign, no leading zero."""
    if not token.isascii() or not token.isdigit() or (token.startswith("0") and len(token) > 1):
        raise ValueError(token)
    return int(token)


class Document:
    """The places of a root schema and of the documents given with it.

    Args:
        schema: The root schema.
        resources: Documents by URI that references may lead to.
        is_plain: Whether the schema is known to need no more than local pointers (`mentions_ids`), and no resources are given.
    """

    def __init__(self, schema: Any, resources: Mapping[str, Any] | None = None, *, is_plain: bool = False) -> None:
        self.root = schema
        self._places: dict[tuple[Any, ...] | int, SchemaRef] = {}
        self._found: dict[str, SchemaRef] = {}
        self._anchors: dict[str, tuple[str, ...]] = {}
        self._draft = draft_of(schema)
        self._registry: Registry[Any] | None = None
        base: str | None = None
        scope: Scope = ()
        if not is_plain and (resources or mentions_ids(schema)):
            try:
                base = self._register(dict(resources or {}))
                scope = self._entered(base, ())
            except (ValueError, TypeError, AttributeError) as error:
                raise InvalidSchemaError(
                    "an $id, $anchor or resource of the schema is no URI", at="/$id", why=str(error), fix="correct it"
                ) from error
        self.start = self.add(SchemaRef(schema, "", (), self._draft, base, scope))

    def add(self, place: SchemaRef) -> SchemaRef:
        """Return the place that was made first for the same object under the same base and scope."""
        schema = place.schema
        key: tuple[Any, ...] | int = id(schema)
        if place.base is not None:
            key = (key, place.base, place.scope)
        if isinstance(schema, dict):
            check_keywords(schema, place)
        else:  # True is one object wherever it stands
            key = (key, place.pointer)
        return self._places.setdefault(key, place)

    def child(self, parent: SchemaRef, schema: Any, *tokens: str) -> SchemaRef:
        """Return the place of a sub-schema of ``parent``; ``tokens`` lead to it."""
        base, draft, scope = parent.base, parent.draft, parent.scope
        if isinstance(schema, dict) and base is not None and (own := _own_id(schema, draft)) is not None:
            try:
                base, draft = urljoin(base, own.rstrip("#")), draft_of(schema, draft)
            except ValueError as error:
                at = f"{parent.pointer}{pointer_of(tokens)}/$id"
                raise InvalidSchemaError(f"$id {own!r} is no URI", at=at, why=str(error)) from error
            scope = self._entered(base, scope)
        return self.add(SchemaRef(schema, parent, tokens, draft, base, scope))

    def follow(self, place: SchemaRef, reference: str) -> SchemaRef:
        """Return the place that a `$ref` leads to.

        Raises:
            InvalidSchemaError: It leads nowhere.
        """
        if place.base is None:
            if reference == "#":
                return self.start
            if reference.startswith("#/"):
                return self._follow_pointer(place, reference)
            raise self._unresolvable(place, reference)
        return self._follow_uri(place, place.base, reference)

    def find(self, reference: str) -> SchemaRef | None:
        """Return the place that a local `$ref` of a document without base URIs leads to; None if it leads nowhere."""
        known = self._found.get(reference)
        if known is None:
            try:
                known = self._found[reference] = self.follow(self.start, reference)
            except InvalidSchemaError:  # to be told once the place of the reference is needed
                return None
        return known

    def follow_dynamic(self, place: SchemaRef, reference: str) -> SchemaRef:
        """Return the place that a `$dynamicRef` or `$recursiveRef` leads to.

        It is that of a `$ref`, unless it has a dynamic anchor of that name: then that of the outermost resource passed
        through that has one.
        """
        target = self.follow(place, reference)
        name = reference.rpartition("#")[2]
        anchored = isinstance(target.schema, dict) and (
            target.schema.get("$dynamicAnchor") == name if name else target.schema.get("$recursiveAnchor") is True
        )
        base = dict(place.scope).get(name)
        if not anchored or base is None:
            return target
        return self._follow_uri(place, base, f"#{name}")

    def _follow_pointer(self, place: SchemaRef, reference: str) -> SchemaRef:
        target: Any = self.root
        tokens = steps_of(unquote(reference))
        try:
            for token in tokens:
                target = target[_index(token)] if isinstance(target, list) else target[token]
        except (KeyError, IndexError, ValueError, TypeError):
            raise self._unresolvable(place, reference) from None
        return self.add(SchemaRef(target, "", tokens, place.draft))

    def _follow_uri(self, place: SchemaRef, base: str, reference: str) -> SchemaRef:
        from referencing.exceptions import Unresolvable

        assert self._registry is not None, "places with a base have a registry"
        try:
            found = self._registry.resolver(base).lookup(reference)
        except (Unresolvable, ValueError, KeyError, TypeError, AttributeError):
            raise self._unresolvable(place, reference) from None
        draft = draft_of(found.contents, place.draft)
        pointer = reference if not reference.startswith("#/") else unquote(reference[1:])
        entered = found.resolver._base_uri  # noqa: SLF001 - not exposed otherwise
        return self.add(SchemaRef(found.contents, pointer, (), draft, entered, self._entered(entered, place.scope)))

    def _entered(self, base: str, scope: Scope) -> Scope:
        """Return the scope inside a resource: its dynamic anchors join, those already bound stay."""
        bound = {name for name, _ in scope}
        return scope + tuple((name, base) for name in self._dynamic_anchors(base) if name not in bound)

    def _dynamic_anchors(self, base: str) -> tuple[str, ...]:
        known = self._anchors.get(base)
        if known is None:
            from referencing.exceptions import Unresolvable

            assert self._registry is not None, "resources have a registry"
            try:
                contents = self._registry.resolver(base).lookup("").contents
            except (Unresolvable, LookupError, ValueError):
                contents = None
            known = self._anchors[base] = tuple(dict.fromkeys(_anchors_of(contents)))
        return known

    @staticmethod
    def _unresolvable(place: SchemaRef, reference: str) -> InvalidSchemaError:
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

        return Resource.from_contents(schema, default_specification=specification_with(DIALECTS[draft]))

    def _register(self, resources: Mapping[str, Any]) -> str:
        """Make the registry of all documents; return the base URI of the root."""
        from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # the metaschemas

        known = {uri: self._resource(doc, draft_of(doc, self._draft)) for uri, doc in resources.items()}
        root = self._resource(self.root, self._draft)
        base: str = root.id() or ""
        registry: Registry[Any] = REGISTRY.with_resources(known.items()).with_resource(base, root)
        self._registry = registry.crawl()
        return base


def _own_id(schema: dict[str, Any], draft: int) -> str | None:
    value = schema.get("id" if draft == 4 else "$id")
    if not isinstance(value, str) or (draft <= 7 and "$ref" in schema):
        return None
    return value if not value.rstrip("#").count("#") and value != "#" else None  # with a fragment it names an anchor


def _anchors_of(contents: Any) -> Iterator[str]:
    """Yield the names of the dynamic anchors of a resource, embedded resources left out; "" for `$recursiveAnchor`."""
    stack, seen = [(contents, True)], set[int]()  # a Python object may contain itself
    while stack:
        node, is_root = stack.pop()
        if not isinstance(node, list | dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, list):
            stack.extend((item, False) for item in node)
        elif is_root or not isinstance(node.get("$id"), str):
            if isinstance(name := node.get("$dynamicAnchor"), str):
                yield name
            if is_root and node.get("$recursiveAnchor") is True:
                yield ""
            stack.extend((value, False) for key, value in node.items() if key not in DATA)


_ID_KEYS = named(lambda row: row.names_base)
#: In what marshal makes of a schema (a text is "u", four bytes of length, UTF-8; a value follows its key): one of the keys
#: above before a text, or a `$ref` that is no local pointer. Not to find them is proof that `mentions_ids` need not look;
#: a search instead of a walk, and a fast one because all begin with the same byte, but for the "id" of draft 4.
_SUSPECT = re.compile(
    rb"\$(?:(?:%s)u|refu....(?!#/))" % "|".join(key[1:] for key in sorted(_ID_KEYS) if key[0] == "$").encode(),
    re.DOTALL,
)
_OLD_ID = b"\x02\0\0\0idu"


def mentions_ids(schema: Any, marshalled: bytes | None = None) -> bool:
    """Whether the document may need more than local pointers; cheap, and wrong only on the careful side.

    Args:
        schema: The root schema.
        marshalled: What ``marshal.dumps(schema, 2)`` returns, if that is at hand.
    """
    try:
        text = marshal.dumps(schema, 2) if marshalled is None else marshalled
    except ValueError:  # nested very deep, or something that is no JSON
        return _needs_registry(schema)
    suspects = text.count(_OLD_ID) + len(_SUSPECT.findall(text))
    if suspects == 1 and isinstance(schema, dict) and any(isinstance(schema.get(key), str) for key in _ID_KEYS):
        return not _only_named(schema)  # it was the name of the document itself
    return suspects > 0 and _needs_registry(schema)


def _needs_registry(schema: Any) -> bool:
    """Whether the base URI of some place matters: there are anchors, references elsewhere, or references beside names.

    Names alone mean nothing, unless one is no URI (an error) or its resource has a draft of its own.
    """
    stack, seen = [schema], set[int]()  # a Python object may contain itself
    is_named = refers = False
    while stack:
        node = stack.pop()
        if not isinstance(node, list | dict) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, list):
            stack.extend(node)
        else:
            if not _ID_KEYS.isdisjoint(node) and any(isinstance(node.get(key), str) for key in _ID_KEYS):
                if not _only_named(node) or (node is not schema and "$schema" in node):
                    return True
                is_named = is_named or node is not schema
            reference = node.get("$ref")
            if isinstance(reference, str):
                if reference != "#" and not reference.startswith("#/"):
                    return True
                refers = True
            stack += [value for key, value in node.items() if value.__class__ is not str and key not in DATA]
    return is_named and refers


def _only_named(schema: dict[str, Any]) -> bool:
    """Whether a schema has a URI and nothing else of the kind: for the root, that changes nothing for local pointers."""
    given = [key for key in _ID_KEYS if isinstance(schema.get(key), str)]
    try:
        return set(given) <= {"id", "$id"} and all(urlsplit(schema[key]) for key in given)
    except ValueError:
        return False

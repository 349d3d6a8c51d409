"""Sub-schemas that contain no other or only name one: most of every document, and the same few over and over.

``{"type": "string"}``, whatever its description, means the same wherever it stands: nothing in it refers to the document.
So its set of values is worked out once for the process and handed over as `Resolved`. The key is what the keywords say, in a
form that tells 1, 1.0 and true apart. ``{"$ref": "#/$defs/name"}`` is the schema that it names.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from schemagen.schema.keyword_table import COMPANIONS, OTHER_KEYWORDS, READERS, SELF_CONTAINED
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from schemagen.schema.ir import Resolved

LeafKey = tuple[Any, ...]

_LISTS = ("type", "enum")
#: Longest value of a keyword in a key, in bytes: a large enum is seldom seen twice.
_MAX_BYTES = 512
_MAX_LEAVES = 4096


def leaf_key(schema: dict[str, Any]) -> LeafKey | None:
    """Return what identifies the meaning of a leaf; None if the schema is none, or not worth remembering."""
    if not OTHER_KEYWORDS.isdisjoint(schema):
        return None
    key: list[Any] = []
    for name, value in schema.items():
        if name in SELF_CONTAINED:
            word = value if value.__class__ is str else _frozen(value, may_be_list=name in _LISTS)
            if word is None:
                return None
            key += (name, word)
    return tuple(key)


def sole_reference(schema: dict[str, Any], draft: int) -> str | None:
    """Return the reference of a schema that says nothing else; before 2019-09 a reference hides the keywords beside it."""
    if draft > 7 and (len(READERS.keys() & schema) > 1 or not COMPANIONS.isdisjoint(schema)):
        return None
    reference = schema.get("$ref")
    return reference if isinstance(reference, str) else None


def _frozen(value: Any, *, may_be_list: bool) -> tuple[str, bytes] | None:
    """Return a number, a boolean, null or a list of them and texts as something hashable that tells them apart.

    An array or object among them is a value with places of its own, which belong to one compilation.
    """
    if isinstance(value, list):
        if not may_be_list or any(isinstance(item, list | dict) for item in value):
            return None
    elif isinstance(value, dict):
        return None
    try:
        text = marshal.dumps(value, 2)
    except ValueError:  # no JSON: the keyword will say so
        return None
    return (value.__class__.__name__, text) if len(text) <= _MAX_BYTES else None


class LeafTable:
    """The sets of leaves, the least recently made of too many forgotten; shared by all threads."""

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._known: OrderedDict[LeafKey, Resolved] = OrderedDict()

    def get(self, key: LeafKey) -> Resolved | None:
        """Return the set of a leaf that was met before."""
        return self._known.get(key)

    def put(self, key: LeafKey, leaf: Resolved) -> None:
        """Remember the set of a leaf."""
        with self._lock:
            self._known[key] = leaf
            if len(self._known) > _MAX_LEAVES:
                self._known.popitem(last=False)


LEAVES = LeafTable()

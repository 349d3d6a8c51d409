"""The grammars that a process compiled last, bounded by the bytes that they hold.

A grammar grows while it is used, so its size is no property of the entry: it is asked again whenever the grammar is found,
and for all of them now and then (`RECOUNT_EVERY`), which keeps the cost of an insertion constant on average.
"""

from __future__ import annotations

import ctypes
import marshal
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.schema_values import check_size, check_values
from schemagen.grammar.specs import Choice, Regex
from schemagen.threads.forking import brief_lock
from schemagen.threads.free_threading import HAS_LOCK, snapshot

if TYPE_CHECKING:
    from collections.abc import Hashable

    from schemagen.grammar.grammar import Grammar

#: Of automata and masks, as `Grammar.memory_bytes` counts them.
MAX_BYTES = 256 * 2**20
#: The specs themselves are kept, too, as objects of Python that are not counted: some 1 to 100 KB each.
MAX_COUNT = 1024
#: Insertions between two counts of everything: a count of 1024 grammars takes about as long as compiling one.
RECOUNT_EVERY = 32


class CacheInfo(NamedTuple):
    """What the memory of `schemagen.compile` holds, after the example of `functools.lru_cache`.

    Attributes:
        hits: Calls that found their grammar.
        misses: Calls that did not.
        max_grammars: Most grammars.
        grammars: Grammars now.
        max_bytes: Most bytes of `Grammar.memory_bytes`, all grammars together.
        bytes: Bytes now.
        shared_bytes: Bytes of the automata that grammars share, about; they are not among `bytes`.
        generations: Of the shared automata: the newest, the one before, and those that their last grammars are leaving.
    """

    hits: int
    misses: int
    max_grammars: int
    grammars: int
    max_bytes: int
    bytes: int
    shared_bytes: int = 0
    generations: int = 0


def _trim() -> None:
    """Return free pages to the system: glibc keeps those between pages in use, which is most of what grammars leave."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(ctypes.c_size_t(0))


class _Entry:
    """A grammar, and its bytes when they were counted last."""

    __slots__ = ("grammar", "size")

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.size = 0


class GrammarMemory:
    """Grammars by key; the one that was not asked for the longest time goes first. Safe to share between threads.

    Args:
        max_bytes: Most bytes of all grammars together; the one that came last stays, whatever its size.
        max_grammars: Most grammars.
    """

    def __init__(self, max_bytes: int = MAX_BYTES, max_grammars: int = MAX_COUNT) -> None:
        self.max_bytes = max_bytes
        self.max_grammars = max_grammars
        self._lock = brief_lock()
        self._forget()

    def _forget(self) -> None:
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._bytes = self._hits = self._misses = self._insertions = 0

    def get(self, key: Hashable) -> Grammar | None:
        """Return the grammar of a key, None if there is none."""
        with self._lock:
            known = self._entries.get(key)
            if known is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            self._measure(known)
            return known.grammar

    def put(self, key: Hashable, grammar: Grammar) -> Grammar:
        """Keep a grammar; return it, or the one that another thread put there meanwhile."""
        with self._lock:
            known = self._entries.get(key)
            if known is not None:
                return known.grammar
            self._entries[key] = made = _Entry(grammar)
            self._measure(made)
            self._insertions += 1
            if self._insertions % RECOUNT_EVERY == 0:
                self._recount()
            while len(self._entries) > self.max_grammars or (self._bytes > self.max_bytes and len(self._entries) > 1):
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.size
            return grammar

    def clear(self) -> None:
        """Forget all grammars and counts, and give their memory back; those in use elsewhere are not changed."""
        with self._lock:
            self._forget()
        _trim()

    def info(self) -> CacheInfo:
        """Return the counts, with the bytes of this moment."""
        generations, shared = _shared_memory()
        with self._lock:
            self._recount()
            return CacheInfo(
                self._hits,
                self._misses,
                self.max_grammars,
                len(self._entries),
                self.max_bytes,
                self._bytes,
                shared,
                generations,
            )

    def _measure(self, entry: _Entry) -> None:
        before, entry.size = entry.size, entry.grammar.memory_bytes
        self._bytes += entry.size - before

    def _recount(self) -> None:
        # Those of an OrderedDict look each key up: an interrupt while a key is hashed becomes a KeyError there.
        for entry in list(dict.values(self._entries)):
            self._measure(entry)


def _shared_memory() -> tuple[int, int]:
    """Return how many generations of the shared automata there are, and their bytes; none without the compiled core."""
    measure = getattr(sys.modules.get("schemagen._core"), "shared_memory", None)
    return (0, 0) if measure is None else measure()


class FrozenSpec(NamedTuple):
    """A value that the caller gave, and the part of it that the caller cannot change any more.

    Attributes:
        value: The thing itself, to be read while the call lasts.
        key: The key under which it is cached; None if it is not.
        marshalled: What `marshal` makes of it, if it is a dict.
    """

    value: Any
    key: Any
    marshalled: bytes | None = None

    def copy(self) -> Any:
        """Return the thing, or a copy of it if the caller can change it."""
        return self.value if self.marshalled is None else marshal.loads(self.marshalled)  # noqa: S302 - see _freeze


def freeze(spec: Any) -> FrozenSpec:
    """Return a value with a copy that the caller cannot change any more.

    `marshal` copies plain JSON values faster than anything else and, unlike JSON, tells 1 from "1" and lists from tuples. The
    copy stays what `marshal` made of it until somebody asks: few schemas are read again once they are compiled.
    """
    if isinstance(spec, dict):
        if not HAS_LOCK:
            spec = snapshot(spec)
        check_size(spec)
        try:
            text = marshal.dumps(spec, 2)
            return FrozenSpec(spec, ("schema", text), text)
        except ValueError:  # something that is no JSON, or nested very deep: compile names the fault
            check_values(spec)
            return FrozenSpec(spec, None)
    if isinstance(spec, bool | Regex | Choice | ContextFree) or spec is None:
        key: Any = (type(spec), spec, _arguments_of(getattr(spec, "type", None)))
    else:
        key = ("type", spec, _arguments_of(spec))
    try:
        hash(key)
    except TypeError:
        return FrozenSpec(spec, None)
    return FrozenSpec(spec, key)


def _arguments_of(tp: Any) -> tuple[Any, ...] | None:
    """Return the arguments of a type, and theirs, in order: ``A | B`` equals ``B | A``, but pydantic tries them in turn."""
    given = getattr(tp, "__args__", None)
    return tuple((each, _arguments_of(each)) for each in given) if isinstance(given, tuple) else None

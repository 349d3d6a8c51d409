"""Kernel nodes that were made before: regexes and numbers come back in schema after schema, and so do their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.native.fast_reader import PrimitiveNodes
    from schemagen.regex import ast
    from schemagen.schema.formats.table import Dialect
    from schemagen.schema.ir import Expression, NumberDisjunct
    from schemagen.schema.numbers.expressions import NumberStyle

#: Regexes of strings: kernel node, least and most characters (-1: no end).
Strings = list[tuple[int, int, int]]
#: Kernel nodes remembered for the process; they live as long as the kernel does, the expressions that name them here.
MAX_CACHED_NODES = 20_000
#: Compilations between two counts of them.
COUNT_EVERY = 32


class NodeCache:
    """The kernel nodes that were lowered before, valid for one generation of the kernel.

    Attributes:
        generation: Of the kernel that the nodes belong to.
        patterns: Nodes by encoding and expression.
        numbers: Nodes by style and disjunct.
        scalars: By style and leaf (`schema.subschemas`) or any value: the node of its literals and numbers, and its strings.
        starts: What the core knows before it reads a schema, by style, dialect and draft; dicts in dicts, because a key that is
            the very object is found without a lock where threads run at once, and a tuple made for the question is not.
    """

    __slots__ = ("generation", "numbers", "patterns", "scalars", "starts")

    def __init__(self, generation: int | None = None) -> None:
        self.generation = generation
        self.starts: dict[NumberStyle, dict[Dialect, dict[int, PrimitiveNodes]]] = {}
        self.patterns: dict[tuple[int, ast.Regex], int] = {}
        self.numbers: dict[tuple[NumberStyle, NumberDisjunct], int] = {}
        self.scalars: dict[NumberStyle, dict[Expression, tuple[int, Strings]]] = {}

    def starts_of(self, style: NumberStyle, dialect: Dialect) -> dict[int, PrimitiveNodes]:
        """Return `starts` of a style and dialect, by draft."""
        dialects = self.starts.get(style)
        if dialects is None:
            dialects = self.starts.setdefault(style, {"json-schema": {}, "python": {}})
        return dialects[dialect]

    def __len__(self) -> int:
        """Return how many nodes are remembered."""
        # Lists, because another thread may add to the dicts meanwhile.
        scalars = sum(map(len, list(self.scalars.values())))
        starts = [drafts for dialects in list(self.starts.values()) for drafts in dialects.values()]
        scalars += sum(len(start.leaves) for drafts in starts for start in list(drafts.values()))
        return len(self.patterns) + len(self.numbers) + scalars


class NodeCaches:
    """The nodes lowered for the shared kernel of the process; started afresh with the kernel, or when it is large."""

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._lowered = NodeCache()
        self._asked = 0

    def of(self, builder: _core.Builder) -> NodeCache:
        """Return the nodes of a builder's kernel; a compilation asks once, and its nodes stay valid for it."""
        generation: int | None = getattr(builder, "generation", None)
        if generation is None:  # a kernel of its own
            return NodeCache()
        lowered = self._lowered
        self._asked += 1  # about: a number that two threads count once does no harm
        if lowered.generation == generation and self._asked % COUNT_EVERY:
            return lowered
        with self._lock:
            if self._lowered.generation != generation or len(self._lowered) > MAX_CACHED_NODES:
                self._lowered = NodeCache(generation)
            return self._lowered


NODE_CACHES = NodeCaches()

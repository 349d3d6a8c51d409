"""Compiled grammars as programs: the calls that made one, to be made again without the work that led to them.

Compiling is mostly deciding what to ask the core for: reading the schema, normalising it, asking which languages are empty.
What is decided is a short list of calls, and making them takes a small part of the time. `Recorder` notes them while a
grammar is compiled; `replay` makes them again, in another process or over another vocabulary.

A program is lines of JSON, so that reading it can execute nothing, and `replay` checks every number that the core would use as
an index. The first line holds values, arrays and objects; its fields are those of `Recorder.program`. Each other line holds the
calls that make one language (of numbers, strings or keys), which the first line names by its number, 0 being the empty one.
Kernel nodes have no names that last: in a line they are numbered in the order in which they are made. Most schemas share most
of their languages, so a line that was replayed before in a process is looked up, and not even read.
"""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

from schemagen.errors import SchemagenError
from schemagen.threads.forking import brief_lock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen import _core
    from schemagen.engine.native.node_cache import NodeCache
    from schemagen.engine.options import Options
    from schemagen.vocabulary import Vocabulary

    OptionLists = list[list[tuple[int, int]]]

#: Of the program; the format of the file around it has its own (see `schemagen.grammar.file_cache`).
VERSION = 2
EMPTY_NODE = 0
UTF8, JSON, CANONICAL = 0, 1, 2
WHITESPACE = {"flexible": 0, "compact": 1, "spaced": 2, "any": 3}
FIXED, NO_GAPS = 4, ("", "", "", "")
#: When a node was made (what it is made of has a lower number), by which method, of which nodes, and the other arguments.
Call: TypeAlias = "tuple[int, str, list[int], tuple[Any, ...]]"
ENCODINGS = 3
#: Languages remembered for the process; a line has some 100 bytes, those of numbers some 1000.
MAX_LANGUAGES = 5_000


def as_text(data: bytes) -> str:
    """Return bytes as text that JSON can hold, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def as_bytes(text: str) -> bytes:
    """Undo `as_text`."""
    return text.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=1)
def _builder_class() -> type[_core.Builder]:
    """Import the core when it is first needed; the package runs without it."""
    from schemagen import _core

    return _core.Builder


def builder_of(options: Options) -> _core.Builder:
    """Return the builder of one grammar."""
    whitespace = options.whitespace
    return _builder_class()(
        any_order=options.property_order == "any",
        whitespace=WHITESPACE[whitespace] if isinstance(whitespace, str) else FIXED,
        max_indent=options.max_indent,
        max_states=options.limits.max_states,
        max_seconds=options.limits.max_seconds,
        max_gap=options.max_gap,
        separators=NO_GAPS if isinstance(whitespace, str) else whitespace.gaps,
        indent=None if isinstance(whitespace, str) else whitespace.step,
    )


_clock = count()
_clock_lock = brief_lock()  # a counter of itertools may go back where threads run at once


def _now() -> int:
    with _clock_lock:
        return next(_clock)


class Recorder:
    """A `_core.Builder` that notes what is made with it; questions are answered and forgotten.

    Nodes outlive a compilation, and so do the calls that made them: a node that was recorded once is found with its calls.

    Args:
        builder: What the calls go to.
        lowered: The nodes whose calls are known.
    """

    def __init__(self, builder: _core.Builder, lowered: NodeCache) -> None:
        self.lowered = lowered
        self._builder = builder
        self._calls = lowered.calls
        self._options: dict[str, int] = {}
        self._arrays: list[list[Any]] = []
        self._objects: list[list[Any]] = []
        self._declared = 0
        self._values: list[list[Any]] = []
        self._root: int | None = None
        self._root_node: int | None = None

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _made(self, node: int, method: str, parts: list[int], *arguments: Any) -> int:
        if node not in self._calls and node != EMPTY_NODE:
            self._calls.setdefault(node, (_now(), method, list(parts), arguments))
        return node

    def chars(self, encoding: int, ranges: list[int]) -> int:
        """As `_core.Builder.chars`."""
        return self._made(self._builder.chars(encoding, ranges), "chars", [], encoding, ranges)

    def concat(self, parts: list[int]) -> int:
        """As `_core.Builder.concat`."""
        return self._made(self._builder.concat(parts), "concat", parts)

    def alternation(self, parts: list[int]) -> int:
        """As `_core.Builder.alternation`."""
        return self._made(self._builder.alternation(parts), "alternation", parts)

    def conjunction(self, parts: list[int]) -> int:
        """As `_core.Builder.conjunction`."""
        return self._made(self._builder.conjunction(parts), "conjunction", parts)

    def complement(self, inner: int) -> int:
        """As `_core.Builder.complement`."""
        return self._made(self._builder.complement(inner), "complement", [inner])

    def repeat(self, inner: int, low: int, high: int) -> int:
        """As `_core.Builder.repeat`."""
        return self._made(self._builder.repeat(inner, low, high), "repeat", [inner], low, high)

    def literals(self, texts: list[bytes]) -> int:
        """As `_core.Builder.literals`."""
        return self._made(self._builder.literals(texts), "literals", [], [as_text(text) for text in texts])

    def number(
        self,
        ends: list[tuple[str, int, bool]],
        inside: int,
        step: tuple[int, int],
        most: tuple[int, int, int],
        forms: int,
    ) -> int:
        """As `_core.Builder.number`."""
        arguments = (ends, inside, step, most, forms)
        return self._made(self._builder.number(*arguments), "number", [], *arguments)

    def any_string(self, encoding: int) -> int:
        """As `_core.Builder.any_string`."""
        return self._made(self._builder.any_string(encoding), "any_string", [], encoding)

    # --- questions ---------------------------------------------------------------------------------------------------

    def count_words(self, node: int, limit: int) -> int:
        """As `_core.Builder.count_words`."""
        return self._builder.count_words(node, limit)

    def is_empty(self, node: int) -> bool:
        """As `_core.Builder.is_empty`."""
        return self._builder.is_empty(node)

    def is_open(self, node: int) -> bool:
        """As `_core.Builder.is_open`."""
        return self._builder.is_open(node)

    def productive(self, value: int) -> bool:
        """As `_core.Builder.productive`."""
        return self._builder.productive(value)

    # --- values ------------------------------------------------------------------------------------------------------

    def _option(self, lists: OptionLists) -> int:
        return self._options.setdefault(json.dumps(lists), len(self._options))

    def declare_value(self) -> int:
        """As `_core.Builder.declare_value`."""
        self._declared += 1
        return self._builder.declare_value()

    def define_value(
        self, value: int, literal: int, strings: list[tuple[int, int, int]], arrays: list[int], objects: list[int]
    ) -> None:
        """As `_core.Builder.define_value`."""
        self._builder.define_value(value, literal, strings, arrays, objects)
        self._values.append([value, literal, strings, arrays, objects])

    def add_object(
        self,
        properties: list[tuple[bytes, bool, OptionLists]],
        extras: list[tuple[int, bool, OptionLists]],
        low: int,
        high: int,
        final: list[bool],
    ) -> int:
        """As `_core.Builder.add_object`."""
        keys = [[as_text(key), required, self._option(lists)] for key, required, lists in properties]
        others = [[node, is_open, self._option(lists)] for node, is_open, lists in extras]
        self._objects.append([keys, others, low, high, list(final)])
        return self._builder.add_object(properties, extras, low, high, final)

    def add_array(
        self,
        prefix: list[OptionLists],
        items: OptionLists,
        low: int,
        high: int,
        final: list[bool],
        unique: bool,
    ) -> int:
        """As `_core.Builder.add_array`."""
        places = [self._option(lists) for lists in prefix]
        self._arrays.append([places, self._option(items), low, high, list(final), unique])
        return self._builder.add_array(prefix, items, low, high, final, unique)

    def define_object(self, value: int, properties: list[tuple[bytes, bool, int]], extra: int) -> None:
        """As `_core.Builder.define_object`, in the calls that say more."""
        keys = [(key, required, [[(member, 0)]]) for key, required, member in properties]
        others = [(self.any_string(CANONICAL), True, [[(extra, 0)]])] if extra else []
        self.define_value(value, EMPTY_NODE, [], [], [self.add_object(keys, others, 0, -1, [True])])

    def define_array(self, value: int, items: int, high: int) -> None:
        """As `_core.Builder.define_array`, in the calls that say more."""
        disjunct = self.add_array([], [[(items, 0)]], 0, high, [True], unique=False)
        self.define_value(value, EMPTY_NODE, [], [disjunct], [])

    def define_any(self, value: int, literal: int) -> None:
        """As `_core.Builder.define_any`, in the calls that say more."""
        itself = [[(value, 0)]]
        array = self.add_array([], itself, 0, -1, [True], unique=False)
        member = self.add_object([], [(self.any_string(CANONICAL), True, itself)], 0, -1, [True])
        self.define_value(value, literal, [(self.any_string(JSON), 0, -1)], [array], [member])

    def settle(self, root: int) -> None:
        """As `_core.Builder.settle`."""
        self._root = root
        self._builder.settle(root)

    def json(self, tables: _core.VocabularyTables) -> _core.Constraint:
        """As `_core.Builder.json`."""
        return self._builder.json(tables)

    def regex(self, node: int, tables: _core.VocabularyTables) -> _core.Constraint:
        """As `_core.Builder.regex`."""
        self._root_node = node
        return self._builder.regex(node, tables)

    # --- the program -------------------------------------------------------------------------------------------------

    def program(self, *, is_exact: bool) -> bytes:
        """Return the calls that the grammar needs; nodes that were only asked about are left out.

        Args:
            is_exact: Whether nothing is left to a check of the finished value; it comes back from `replay`.
        """
        numbers = {EMPTY_NODE: 0}  # of the languages

        def number(node: int) -> int:
            return numbers.setdefault(node, len(numbers))

        fields = {
            "version": VERSION,
            "is_exact": is_exact,
            "options": [json.loads(lists) for lists in self._options],
            "declared": self._declared,
            "arrays": self._arrays,
            "objects": [
                [keys, [[number(node), *rest] for node, *rest in others], *bounds]
                for keys, others, *bounds in self._objects
            ],
            "values": [
                [value, number(literal), [[number(node), *counts] for node, *counts in strings], *disjuncts]
                for value, literal, strings, *disjuncts in self._values
            ],
            "root": self._root,
            "root_node": None if self._root_node is None else number(self._root_node),
        }
        return b"\n".join((_line(fields), *(_line(self._language(node)) for node in numbers if node != EMPTY_NODE)))

    def _language(self, node: int) -> list[list[Any]]:
        """Return the calls that make a node, itself last."""
        reached: set[int] = set()
        waiting = [node]
        while waiting:
            part = waiting.pop()
            if part not in reached and part != EMPTY_NODE:
                reached.add(part)
                waiting += self._calls[part][2]
        ordered = sorted(reached, key=lambda part: self._calls[part][0])
        new = {EMPTY_NODE: 0, **{part: i for i, part in enumerate(ordered, 1)}}
        calls = [self._calls[part] for part in ordered]
        return [[method, [new[part] for part in parts], *arguments] for _, method, parts, arguments in calls]


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


class _Languages:
    """The nodes of the lines that were replayed, valid for one generation of the kernel."""

    def __init__(self) -> None:
        self._lock = brief_lock()
        self._generation = -1
        self._nodes: dict[bytes, int] = {}

    def of(self, builder: _core.Builder) -> dict[bytes, int]:
        """Return the nodes of a builder's kernel; what a replay got stays valid for it."""
        with self._lock:
            if self._generation != builder.generation or len(self._nodes) > MAX_LANGUAGES:
                self._generation, self._nodes = builder.generation, {}
            return self._nodes


_languages = _Languages()


def replay(program: bytes, builder: _core.Builder, vocabulary: Vocabulary) -> tuple[_core.Constraint, bool] | None:
    """Return the constraint of a program and whether it is exact; None if it is no program, or a limit stops it.

    Args:
        program: What `Recorder.program` returned.
        builder: A fresh one, made with the options of the recorded compilation.
        vocabulary: Any; a program is about bytes.
    """
    try:
        first, *lines = program.split(b"\n")
        fields = json.loads(first)
        if fields["version"] != VERSION:
            return None
        nodes = _nodes(lines, builder)
        if fields["root_node"] is not None:
            constraint = builder.regex(nodes[fields["root_node"]], vocabulary.tables)
        else:
            _values(fields, nodes, builder)
            root = _within(fields["root"], fields["declared"] + 1)
            builder.settle(root)
            if not builder.productive(root):
                return None
            constraint = builder.json(vocabulary.tables)
        return constraint, bool(fields["is_exact"])
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError, SchemagenError):
        return None  # whoever wrote it did not record it here


def _within(number: Any, size: int) -> int:
    """Return an index, for the core does not check those that it is given."""
    if not isinstance(number, int) or not 0 <= number < size:
        raise ValueError(f"{number!r} is no index below {size}")
    return number


def _nodes(lines: list[bytes], builder: _core.Builder) -> list[int]:
    """Return the nodes of all languages, that of the empty one first."""
    known, nodes = _languages.of(builder), [EMPTY_NODE]
    for line in lines:
        node = known.get(line)
        if node is None:
            node = known[line] = _language(json.loads(line), builder)
        nodes.append(node)
    return nodes


def _language(calls: list[list[Any]], builder: _core.Builder) -> int:
    nodes = [EMPTY_NODE]
    make = {name: getattr(builder, name) for name in ("concat", "alternation", "conjunction")}
    for name, places, *rest in calls:
        if name in make:
            node = make[name]([nodes[place] for place in places])
        elif name == "literals":
            node = builder.literals([as_bytes(text) for text in rest[0]])
        elif name == "chars":
            node = builder.chars(_within(rest[0], ENCODINGS), rest[1])
        elif name == "any_string":
            node = builder.any_string(_within(rest[0], ENCODINGS))
        elif name == "repeat":
            node = builder.repeat(nodes[places[0]], *rest)
        elif name == "complement":
            node = builder.complement(nodes[places[0]])
        elif name == "number":
            ends, inside, step, most, forms = rest
            node = builder.number([tuple(end) for end in ends], inside, tuple(step), tuple(most), forms)
        else:
            raise ValueError(f"unknown call {name!r}")
        nodes.append(node)
    return nodes[-1]


def _values(fields: dict[str, Any], nodes: list[int], builder: _core.Builder) -> None:
    size = fields["declared"] + 1
    for value in range(1, size):
        if builder.declare_value() != value:
            raise ValueError("the values of the core are numbered otherwise")
    options = [
        [[(_within(value, size), target) for value, target in moves] for moves in lists] for lists in fields["options"]
    ]

    def option(index: int, states: Sequence[bool]) -> OptionLists:
        """Return option lists that lead from and to the states of a disjunct."""
        lists = options[index]
        if len(lists) != len(states) or any(not 0 <= to < len(states) for moves in lists for _, to in moves):
            raise ValueError("an option leads nowhere")
        return lists

    for prefix, items, low, high, final, unique in fields["arrays"]:
        places = [option(index, final) for index in prefix]
        builder.add_array(places, option(items, final), low, high, final, unique)
    for keys, others, low, high, final in fields["objects"]:
        properties = [(as_bytes(key), required, option(index, final)) for key, required, index in keys]
        extras = [(nodes[node], is_open, option(index, final)) for node, is_open, index in others]
        builder.add_object(properties, extras, low, high, final)
    for value, literal, strings, arrays, objects in fields["values"]:
        builder.define_value(
            _within(value, size),
            nodes[literal],
            [(nodes[node], low, high) for node, low, high in strings],
            [_within(index, len(fields["arrays"])) for index in arrays],
            [_within(index, len(fields["objects"])) for index in objects],
        )

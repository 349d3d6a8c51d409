"""The values of a schema as rules of a context-free grammar: what the writers of all formats have in common.

Idea: a set of values becomes a rule, its body made of the rules of the sets inside. Every set is written once for each place of
the text in which it looks different (an indentation, say), so a recursive schema becomes rules that call one another. How a
scalar, a list or an object is written is the business of a subclass.

A grammar has a stack, and no memory of the text before. So rules that compare parts of a value are refused: items that differ,
members that are counted, keys in any order; so are values that a format has no way to write.

Source: `schemagen.schema.normalise` looks into a schema one level at a time, which is what a rule needs.

Invariants: the rules derive texts of values of the schema only, and all that the format can write; a set without values is
`NOTHING`, so that no rule leads into a dead end.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate, product
from typing import TYPE_CHECKING, Literal, NamedTuple

from schemagen.context_free.regular import size_of
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    ContextFreeGrammar,
    Rule,
    Text,
    alternatives,
    repeat,
    separated,
    sequence,
)
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedSchemaError, UnsupportedTypeError
from schemagen.errors.pointers import pointer_of
from schemagen.regex import ast, is_empty
from schemagen.regex.language import matches
from schemagen.regex.spellings import quoted, quoted_text
from schemagen.schema.ir import ANY_OBJECT, NEVER, SchemaRef, intersection_of
from schemagen.schema.scalars import number_pattern, string_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from schemagen.context_free.syntax import Expression
    from schemagen.errors import SchemaError
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct, ValueSet
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.numbers.expressions import NumberStyle
    from schemagen.writers.examples import Narrowing

#: Rules of one grammar.
MAX_RULES = 20_000
#: Operators of a text that is written out where its rule is called; a class in many places of others is one rule.
MAX_WRITTEN_OUT = 2_000
#: Undeclared keys that are written as if they were declared, such as those of an enum.
MAX_LISTED_KEYS = 64
#: Sets of keys that patterns of keys tell apart.
MAX_KEY_CLASSES = 64
#: A number as JSON writes it, for the readers.
JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NO_NAME = re.compile(r"[^A-Za-z0-9_]+")


class Member(NamedTuple):
    """A declared member of an object.

    Attributes:
        key: Its key.
        values: Its values.
        needed: Whether it must be there.
    """

    key: str
    values: Values
    needed: bool


class RuleWriter(ABC):
    """Writes values as rules; for one thread.

    Args:
        normaliser: Of the schema.
        numbers: The style of numbers.
        name: Of the type, if there is one: how errors say where something is.
    """

    #: How errors name the format.
    format: str

    def __init__(self, normaliser: Normaliser, numbers: NumberStyle, name: str = "") -> None:
        self.normaliser = normaliser
        self.numbers = numbers
        self._name = name
        self._rules: dict[str, Expression] = {}
        self._known: dict[Hashable, Expression] = {}
        self._open: list[Values] = []
        self._place = ""
        #: Narrows each set of values to one of them, where an example is written.
        self.narrowing: Narrowing | None = None

    def grammar(self) -> ContextFreeGrammar:
        """Return the rules; the start is ``root``.

        Raises:
            UnsupportedTypeError: The format cannot say a part of the type; ``at`` is where.
            UnsupportedSchemaError: The same of a schema.
            UnsatisfiableSchemaError: Nothing can be written.
        """
        return self.grammar_of(self.root())

    def grammar_of(self, body: Expression) -> ContextFreeGrammar:
        """Return the rules of texts that were written; errors as for `grammar`."""
        if body == NOTHING:
            raise UnsatisfiableSchemaError(f"no value can be written as {self.format}", why="the schema has none")
        return ContextFreeGrammar("root", {"root": body, **self._rules})

    def root(self) -> Expression:
        """Return the whole text."""
        return self.value(self.normaliser.root)

    @abstractmethod
    def value(self, values: Values) -> Expression:
        """Return the texts of a set of values."""

    def value_set(self, values: Values) -> ValueSet:
        """Return what a set of values consists of."""
        value = self.normaliser.value(values)
        return value if self.narrowing is None else self.narrowing.one_of(value)

    def key_of(self, values: Values) -> Hashable:
        """Return what a set of values is remembered by: an example of scalars depends on their place as well."""
        if self.narrowing is None:
            return values
        value = self.normaliser.value(values)
        return values if value.arrays or value.objects else (values, self._place)

    # --- rules and places ----------------------------------------------------------------------------------------------

    def rule(self, values: Values, context: Hashable, write: Callable[[], Expression]) -> Expression:
        """Return a set of values in a context as the rule that is made when it is first asked for."""
        known_by = self.key_of(values)
        key = (known_by, context)
        known = self._known.get(key)
        if known is not None:
            return known
        if len(self._rules) >= MAX_RULES:
            raise LimitError(f"more than {MAX_RULES} rules", fix="make the type smaller, or nest it less deep")
        place = self._place
        if isinstance(values, SchemaRef) and known_by is values:
            self._place = values.pointer
        name = self._free_name()
        self._known[key] = Rule(name)
        self._rules[name] = NOTHING
        self._open.append(values)
        try:
            body = write()
        finally:
            self._open.pop()
            self._place = place
        self._rules[name] = body
        if _is_written_out(body):
            self._known[key] = body
        return self._known[key]

    def part(self, body: Expression) -> Expression:
        """Return an expression as a rule of its own, so that it can stand in several places."""
        if isinstance(body, Rule) or _is_written_out(body):
            return body
        name = self._free_name("part")
        self._rules[name] = body
        return Rule(name)

    @property
    def place(self) -> str:
        """A pointer to the schema that is being written."""
        return self._place

    @property
    def opened(self) -> list[Values]:
        """The sets of values that are being written."""
        return self._open

    def is_open(self, values: Values) -> bool:
        """Whether a set of values is being written, so that it would stand in itself."""
        return values in self._open

    def _free_name(self, wish: str = "") -> str:
        name = wish or _NO_NAME.sub("_", self._place.rpartition("/")[2]) or "value"
        number, found = 2, name
        while found in self._rules or found == "root":
            found = f"{name}_{number}"
            number += 1
        return found

    @contextmanager
    def inside(self, *tokens: str) -> Iterator[None]:
        """Go into a part of the schema, for errors to say where they are."""
        place = self._place
        self._place += pointer_of(tokens)
        try:
            yield
        finally:
            self._place = place

    def refuse(self, fact: str, why: str, fix: str) -> SchemaError:
        """Return the error of what the format cannot say."""
        told = f"{fact} cannot be written as {self.format}"
        if self._name:
            return UnsupportedTypeError(told, at=f"{self._name}: {self._place}".rstrip(": "), why=why, fix=fix)
        return UnsupportedSchemaError(told, at=self._place, why=why, fix=fix)

    # --- scalars -------------------------------------------------------------------------------------------------------

    def text(self, regex: ast.Regex) -> Expression:
        """Return the texts of a regular language, `NOTHING` if there are none."""
        if regex == ast.EPSILON:
            return EMPTY_TEXT
        return NOTHING if regex == ast.EMPTY or is_empty(regex) else Text(regex)

    def number_texts(self, value: ValueSet) -> ast.Regex:
        """Return the JSON texts of the numbers of a value."""
        return ast.union(*(number_pattern(disjunct, self.numbers) for disjunct in value.numbers))

    def words(self, value: ValueSet, true: str = "true", false: str = "false", null: str | None = None) -> ast.Regex:
        """Return the words for the booleans of a value, and for null if there is one."""
        words = ((true, value.true), (false, value.false), (null, value.null))
        return ast.union(*(ast.literal(word) for word, is_there in words if is_there and word is not None))

    def strings(self, value: ValueSet) -> ast.Regex:
        """Return the strings of a value, as they are."""
        return ast.union(*(string_pattern(disjunct) for disjunct in value.strings))

    def quoted_strings(self, value: ValueSet, raw: ast.Ranges) -> ast.Regex:
        """Return the strings of a value in double quotes; those that are listed in one spelling each.

        Args:
            value: The value.
            raw: The characters that stand for themselves.
        """
        free = (string_pattern(disjunct) for disjunct in value.strings if disjunct.values is None)
        listed = (text for disjunct in value.strings for text in sorted(disjunct.values or ()))
        spelled = (quoted_text(text, raw) for text in listed)
        return ast.union(*(quoted(each, raw) for each in free), *(ast.literal(each) for each in spelled if each))

    def check_texts(self, value: ValueSet) -> None:
        """Refuse scalars that look alike without quotes: strings beside numbers or booleans.

        Raises:
            UnsupportedTypeError: They have a text in common; of a schema `UnsupportedSchemaError`.
        """
        known = ast.union(self.number_texts(value), self.words(value))
        if value.strings and known != ast.EMPTY and not is_empty(ast.conjunction(known, self.strings(value))):
            fix = "use a pattern or a Literal for the string, or another format"
            raise self.refuse("a string or a number or boolean", "a string may look like the other", fix)

    # --- lists ---------------------------------------------------------------------------------------------------------

    def check_array(self, disjunct: ArrayDisjunct) -> None:
        """Refuse a list whose items are compared or counted.

        Raises:
            UnsupportedSchemaError: It is one; of a type `UnsupportedTypeError`.
        """
        if disjunct.unique and (disjunct.max_items is None or disjunct.max_items > 1):
            fix = "drop uniqueItems, or a set's bound on its size"
            raise self.refuse("a list of different items", "rules of a grammar do not remember items", fix)
        if disjunct.counts:
            fix = "drop contains and negated items"
            raise self.refuse("a list with items counted by their kind", "rules of a grammar do not count", fix)

    def items(
        self,
        disjunct: ArrayDisjunct,
        separator: Expression,
        *,
        least: int = 1,
        most: int | None = None,
        write: Callable[[Values], Expression] | None = None,
    ) -> Expression:
        """Return the items of a list, at least one, built from the last prefix item backwards.

        Args:
            disjunct: The list.
            separator: Between items.
            least: Fewest items, 1 or more.
            most: Most items.
            write: Of one item; None: `value`.
        """
        prefix, low = len(disjunct.prefix), max(disjunct.min_items, least)
        bounds = [bound for bound in (disjunct.max_items, most) if bound is not None]
        if disjunct.items is NEVER:
            bounds.append(prefix)
        high = min(bounds, default=None)
        if high is not None and high < low:
            return NOTHING
        rest: Expression = EMPTY_TEXT
        if high is None or high > prefix:
            with self.inside("items"):
                item = (write or self.value)(disjunct.items)
            most = None if high is None else high - prefix
            if prefix:
                rest = repeat(sequence(separator, item), max(low - prefix, 0), most)
            else:
                rest = separated(item, separator, low, most)
        for index in reversed(range(prefix)):
            if high is not None and index >= high:
                rest = EMPTY_TEXT
                continue
            with self.inside("prefixItems", str(index)):
                item = (write or self.value)(disjunct.prefix[index])
            head = sequence(separator if index else EMPTY_TEXT, item, rest)
            rest = alternatives(EMPTY_TEXT, head) if index >= low else head
        return rest

    # --- objects -------------------------------------------------------------------------------------------------------

    def declared(
        self, disjunct: ObjectDisjunct, counted: Literal["none", "once", "all"] = "none"
    ) -> list[Member] | None:
        """Return the members that are declared and may be there, in order; None if one that is needed has no value.

        Args:
            disjunct: The object.
            counted: Whether `members` counts them: "all" if an undeclared key may count twice that is written twice.

        Raises:
            UnsupportedSchemaError: Members are counted by their kind; of a type `UnsupportedTypeError`.
        """
        if any(count.low and not self._may_have(disjunct, count.names) for count in disjunct.counts):
            return None
        if disjunct.counts:
            fix = "drop negated members"
            raise self.refuse("an object with members counted by their kind", "rules of a grammar do not count", fix)
        found = [
            Member(key, values, key in disjunct.required)
            for key, values in disjunct.properties
            if values is not NEVER and not self.normaliser.is_plainly_empty(values)
        ]
        if not disjunct.required <= {member.key for member in found}:
            return None
        least, most = disjunct.min_properties, disjunct.max_properties
        is_closed = counted == "all" or not self.key_classes(disjunct)
        few = least > max(len(disjunct.required), 1 if not is_closed or not found else 0)
        many = most is not None and (most < len(found) or (found and not is_closed))
        if (few or many) if counted == "none" else (few and not is_closed):
            fix = "drop minProperties and maxProperties, or say by required which members there are"
            raise self.refuse("an object of so many members", "rules of a grammar do not count different keys", fix)
        return found

    def _may_have(self, disjunct: ObjectDisjunct, names: ast.Regex) -> bool:
        """Whether an object may have a member with one of some keys."""
        if any(values is not NEVER and matches(names, key) for key, values in disjunct.properties):
            return True
        return any(not is_empty(ast.conjunction(keys, names)) for keys, _ in self.key_classes(disjunct))

    def parts(self, members: list[Member], write: Callable[[Member], Expression]) -> list[tuple[Expression, bool]]:
        """Return members as they are written, each with whether it is needed."""
        found = []
        for member in members:
            with self.inside("properties", member.key):
                found.append((write(member), member.needed))
        return found

    def members(
        self,
        parts: Sequence[tuple[Expression, bool]],
        separator: Expression,
        bounds: ObjectDisjunct = ANY_OBJECT,
        rest: Callable[[int, int | None], Expression] | None = None,
        *,
        least: int = 1,
    ) -> Expression:
        """Return members in order: for each part and number of members before it the text from there on, made backwards.

        Args:
            parts: Each with whether it is needed.
            separator: Between members.
            bounds: The object, which says how many members there are at least and at most.
            rest: Writes undeclared members, at least and at most so many, with separators between them; None if there are none.
            least: Fewest members in any case.

        Raises:
            LimitError: Too many numbers of members are to be told apart.
        """
        size, there = len(parts), [0, *accumulate(int(is_needed) for _, is_needed in parts)]
        low, high = max(bounds.min_properties, least), bounds.max_properties
        low = low if low > there[-1] else 0
        is_capped = high is not None and (high < size or rest is not None)
        top = size if is_capped else max(min(low, size), int(separator != EMPTY_TEXT))
        if top > 1 and top * size > MAX_RULES:
            fact = f"{size} members of which {top} are counted, more than {MAX_RULES} rules"
            raise LimitError(fact, at=self._place, fix="drop minProperties and maxProperties")
        after = [
            self._undeclared_after(count, separator, rest, low, high if is_capped else None) for count in range(top + 1)
        ]
        for index in reversed(range(size)):
            part, is_needed = parts[index]
            counts = range(min(there[index], top), min(index, top) + 1)
            is_last = {count: count == top and not is_needed and not is_capped for count in counts}
            uses = Counter(min(count + 1, top) for count in counts)
            uses.update(count for count in counts if not is_needed and not is_last[count])
            before = [self.part(each) if uses[count] > 1 else each for count, each in enumerate(after)]
            here: list[Expression] = [NOTHING] * (top + 1)
            for count in counts:
                taken = sequence(separator, part) if count else part
                following = before[min(count + 1, top)] if high is None or count < high else NOTHING
                if is_last[count]:
                    here[count] = sequence(alternatives(EMPTY_TEXT, taken), following)
                else:
                    skipped = NOTHING if is_needed else before[count]
                    here[count] = alternatives(sequence(taken, following), skipped)
            after = here
        return after[0]

    @staticmethod
    def _undeclared_after(
        count: int,
        separator: Expression,
        rest: Callable[[int, int | None], Expression] | None,
        low: int,
        high: int | None,
    ) -> Expression:
        """Return the undeclared members after so many declared ones."""
        least, most = max(low - count, 0), None if high is None else high - count
        if most is not None and most < least:
            return NOTHING
        if rest is None or most == 0:
            return NOTHING if least else EMPTY_TEXT
        if not count:
            return rest(least, most)
        some = sequence(separator, rest(max(least, 1), most))
        return some if least else alternatives(EMPTY_TEXT, some)

    def key_classes(self, disjunct: ObjectDisjunct) -> list[tuple[ast.Regex, Values]]:
        """Return the undeclared keys of an object, in sets whose values are the same, none of them empty.

        Raises:
            LimitError: Too many patterns overlap.
        """
        if disjunct.names == ast.EMPTY or disjunct.max_properties == 0:
            return []
        declared = ast.union(*(ast.literal(key) for key, _ in disjunct.properties))
        whole: Values = intersection_of()
        classes = [(ast.conjunction(disjunct.names, ast.complement(declared)), whole)]
        for rule in disjunct.rules:
            groups = [(keys, values, False) for keys, values in classes]
            for pattern, asked in rule.patterns:
                groups = [
                    group
                    for keys, values, is_matched in groups
                    for group in (
                        (ast.conjunction(keys, pattern), intersection_of(values, asked), True),
                        (ast.conjunction(keys, ast.complement(pattern)), values, is_matched),
                    )
                ]
            split = [(k, v if is_matched else intersection_of(v, rule.additional)) for k, v, is_matched in groups]
            classes = [
                (keys, values)
                for keys, values in split
                if values is not NEVER and not self.normaliser.is_plainly_empty(values) and not is_empty(keys)
            ]
            if len(classes) > MAX_KEY_CLASSES:
                raise LimitError(f"more than {MAX_KEY_CLASSES} sets of keys", fix="use fewer patterns of keys")
        return [(keys, values) for keys, values in classes if not is_empty(keys)]

    def closed(self, disjunct: ObjectDisjunct, why: str) -> ObjectDisjunct:
        """Return an object all of whose keys are declared: those that are listed come after the others.

        Args:
            disjunct: The object.
            why: The format knows no other keys.

        Raises:
            UnsupportedSchemaError: It has other keys; of a type `UnsupportedTypeError`.
        """
        listed: dict[str, Values] = {}
        for keys, values in self.key_classes(disjunct):
            texts = few_texts(keys, MAX_LISTED_KEYS)
            if texts is not None:
                listed.update(dict.fromkeys(sorted(texts), values))
                continue
            fix = "declare the keys (a class, a TypedDict; additionalProperties: false), or use a list of pairs"
            raise self.refuse("an object with undeclared keys", why, fix)
        properties = (*disjunct.properties, *listed.items())
        return replace(disjunct, properties=properties, names=ast.EMPTY) if listed else disjunct


def _is_written_out(body: Expression) -> bool:
    """Whether a body stands for itself where its rule is called: nothing, and texts that are not large."""
    if isinstance(body, Text):
        return size_of(body.regex)[0] <= MAX_WRITTEN_OUT
    return body in (NOTHING, EMPTY_TEXT)


def may_be_empty(disjunct: ObjectDisjunct) -> bool:
    """Whether an object may have no members."""
    return not disjunct.required and disjunct.min_properties == 0


def few_texts(regex: ast.Regex, most: int) -> list[str] | None:
    """Return the texts of a language; None if there are more than ``most``, or that is not plain to see.

    Args:
        regex: The language. Of an intersection one part has to be a list, and the others are asked for each text of it.
        most: How many texts there may be, also of a part.
    """
    if isinstance(regex, ast.Chars):
        size = sum(high - low + 1 for low, high in regex.ranges)
        return None if size > most else [chr(code) for low, high in regex.ranges for code in range(low, high + 1)]
    if isinstance(regex, ast.Concat):
        return _joined([few_texts(part, most) for part in regex.parts], most)
    if isinstance(regex, ast.Repeat):
        if regex.high is None or regex.high > most:
            return None
        inner = few_texts(regex.inner, most)
        counts = [_joined([inner] * count, most) for count in range(regex.low, regex.high + 1)]
        return _united(counts, most)
    if isinstance(regex, ast.Alternation):
        return _united([few_texts(part, most) for part in regex.parts], most)
    if isinstance(regex, ast.Conjunction):
        listed = next((texts for part in regex.parts if (texts := few_texts(part, most)) is not None), None)
        return None if listed is None else [text for text in listed if matches(regex, text)]
    return None


def _joined(parts: list[list[str] | None], most: int) -> list[str] | None:
    found = [""]
    for part in parts:
        if part is None or len(found) * len(part) > most:
            return None
        found = list(dict.fromkeys(map("".join, product(found, part))))
    return found


def _united(parts: list[list[str] | None], most: int) -> list[str] | None:
    if any(part is None for part in parts):
        return None
    found = list(dict.fromkeys(text for part in parts for text in part or ()))
    return None if len(found) > most else found

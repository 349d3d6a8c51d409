"""An example of the values of a schema, as a format writes it.

A format writes a set of values as rules. Here every set is narrowed to one value before it is written, so the rules derive that
value only, in its spellings, and the shortest of these is the example. Therefore the grammar of the format accepts it.

Which value: objects and lists before strings, strings before numbers, null last; all members, and one item or as many as a list
needs. A string is an example or an option that the schema names, its description, "...", or a well-known text that fits the
pattern, else the shortest that does. Values inside themselves end with null, an empty list or no member.
"""

from __future__ import annotations

import string
from collections import deque
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import Alternatives, Guest, Repeat, Rule, Sequence, Text
from schemagen.errors.pointers import resolved, steps_of
from schemagen.regex import ast
from schemagen.regex.alphabet import character_sets
from schemagen.regex.language import States, matches
from schemagen.regex.spellings import contains
from schemagen.schema.ir import ANYTHING, NumberDisjunct, Resolved, SchemaRef, StringDisjunct, ValueSet
from schemagen.schema.scalars import number_pattern, string_pattern
from schemagen.writers.walk import MAX_LISTED_KEYS, few_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct
    from schemagen.writers.walk import RuleWriter

#: Stands for a string without a description.
ANY_TEXT = "..."
_TEXTS = (
    ANY_TEXT, "2024-05-17", "2024-05-17T12:30:00Z", "12:30:00Z", "12:30:00", "PT1H", "name@example.com", "https://example.com/",
    "example.com", "123e4567-e89b-12d3-a456-426614174000", "192.0.2.1", "2001:db8::1", "path/to/file",
)  # fmt: skip
_INTEGERS, _NUMBERS = ("1", "10", "0", "100"), ("1.5", "0.5", "1", "10", "0")
#: States of a pattern that are looked at for its shortest text.
_MAX_STATES = 3_000
#: Characters of an example.
_MAX_LENGTH = 20_000
#: Characters that patterns had best be filled with.
_READABLE = "aA0" + string.ascii_letters + string.digits + " -_.,:;/+*()" + string.punctuation
_NULL = Resolved(ValueSet(null=True))
_EMPTY_LIST = Resolved(ValueSet(arrays=(replace(ANYTHING.arrays[0], max_items=0),)))


def example_of(writer: RuleWriter, *, has_values: bool = True) -> str | None:
    """Return an example of what a writer writes; None if no short one is found.

    Args:
        writer: A new one; it is of no use afterwards.
        has_values: Whether scalars are values; else all of them are placeholders, so that the text is no example.

    Raises:
        SchemaError: The format cannot write the schema.
    """
    writer.narrowing = Narrowing(writer, has_values=has_values)
    return text_of(writer.grammar(), {})


def placeholder(name: str) -> str:
    """Return the text in place of a value: its name, or words about it, in angle brackets."""
    return f"<{name}>"


def text_of(grammar: ContextFreeGrammar, wishes: Mapping[str, str]) -> str | None:
    """Return a short text of a grammar; None if it has a lexer, or none is found.

    Args:
        grammar: The grammar.
        wishes: The texts that some rules had best have, by name; of those of other specs, such as a schema, the text.
    """
    known: dict[str, str] = {}
    todo = [*reversed(grammar.rules)]  # a rule is most often made before those that it calls
    while todo:
        size = len(known)
        for name in todo:
            text = _derived(grammar.rules[name], known, wishes.get(name))
            if text is not None:
                known[name] = text
        todo = [name for name in todo if name not in known] if len(known) > size else []
    return known.get(grammar.start)


class Narrowing:
    """Narrows sets of values to one value each, while they are written.

    Args:
        writer: What writes them.
        has_values: As for `example_of`.
    """

    def __init__(self, writer: RuleWriter, *, has_values: bool) -> None:
        self._writer, self._has_values = writer, has_values
        root = writer.normaliser.root
        self._document = root.schema if isinstance(root, SchemaRef) else {}

    def first(self, parts: list[Values]) -> list[Values]:
        """Return the first alternative that is not null and comes to an end, in a list."""
        null = ValueSet(null=True)
        rank = {part: (self._is_open(part), self._writer.normaliser.value(part) == null) for part in parts}
        return sorted(parts, key=rank.__getitem__)[:1]

    def one_of(self, value: ValueSet) -> ValueSet:
        """Return one value of a set."""
        if value.objects:
            return ValueSet(objects=(self._object(value.objects[0]),))
        if value.arrays:
            return ValueSet(arrays=(self._array(value.arrays[0]),))
        said = self._said()
        if not self._has_values:
            return _string_set(placeholder(next(_descriptions(said), self._key())))
        for disjunct in value.strings:
            text = _string(disjunct, said)
            if text is not None:
                return _string_set(text)
        for number in value.numbers:
            found = self._number(number, said)
            if found is not None:
                return ValueSet(numbers=(replace(number, values=frozenset((Fraction(found),))),))
        return ValueSet(true=value.true, false=value.false and not value.true) if value.true or value.false else value

    def _object(self, disjunct: ObjectDisjunct) -> ObjectDisjunct:
        members = dict(disjunct.properties)
        for keys, values in self._writer.key_classes(disjunct):
            listed = few_texts(keys, MAX_LISTED_KEYS)
            if listed is not None:
                members.update(dict.fromkeys(sorted(listed), values))
            elif not members and (key := _sample(keys, (ANY_TEXT,))) is not None:
                members[key] = values
        found = []
        for key, values in members.items():
            ended = self._ended(values)
            if ended is not values and key not in disjunct.required:
                continue
            found.append((key, ended))
        names = frozenset(key for key, values in found if not self._writer.normaliser.is_plainly_empty(values))
        return replace(
            disjunct, properties=tuple(found), required=names | disjunct.required, rules=(), names=ast.EMPTY,
            min_properties=0, max_properties=None, counts=(),
        )  # fmt: skip

    def _array(self, disjunct: ArrayDisjunct) -> ArrayDisjunct:
        least = max(disjunct.min_items, len(disjunct.prefix))
        can_grow = not self._is_open(disjunct.items) and not self._writer.normaliser.is_plainly_empty(disjunct.items)
        count = max(least, 1) if can_grow else least
        count = count if disjunct.max_items is None else min(count, disjunct.max_items)
        return replace(disjunct, min_items=count, max_items=count, counts=())

    def _ended(self, values: Values) -> Values:
        """Return what ends values that are being written: null or an empty list. Others are as they are."""
        if not self._is_open(values):
            return values
        value = self._writer.normaliser.value(values)
        if value.null:
            return _NULL
        return _EMPTY_LIST if any(array.min_items == 0 for array in value.arrays) else values

    def _is_open(self, values: Values) -> bool:
        """Whether values are being written, themselves, by reference, or without some that they have elsewhere."""
        named: tuple[Values, ...] = ()
        if isinstance(values, SchemaRef) and isinstance(values.schema, dict) and "$ref" in values.schema:
            named = tuple(self._writer.normaliser.node(values).references)
        opened = {part for each in self._writer.opened for part in (each, *getattr(each, "order", ()))}
        return not opened.isdisjoint((values, *named))

    def _key(self) -> str:
        """Return the key of the member that is written, or whose items are; "value" if there is none."""
        steps = steps_of(self._writer.place)
        keys = [key for before, key in pairwise(steps) if before == "properties"]
        return keys[-1] if keys else "value"

    def _said(self) -> list[Mapping[str, Any]]:
        """Return the schemas of the place that is written, with the alternatives in it."""
        found = self._branches(self._document)
        for step in steps_of(self._writer.place):
            found = self._branches(next((schema[step] for schema in found if step in schema), None))
        return found

    def _branches(self, schema: Any) -> list[Mapping[str, Any]]:
        """Return a part of a schema, references followed, and the alternatives in it."""
        if isinstance(schema, list):
            return [{str(index): each for index, each in enumerate(schema)}]
        found = resolved(schema, self._document)
        inner = [each for key in ("anyOf", "oneOf", "allOf") for each in found.get(key, ())]
        return [found, *(resolved(each, self._document) for each in inner)]

    def _number(self, disjunct: NumberDisjunct, said: list[Mapping[str, Any]]) -> str | None:
        pattern = number_pattern(disjunct, self._writer.numbers)
        named = [*_named(said), disjunct.low, disjunct.high, *sorted(disjunct.values or ())]
        texts = [_decimal(each) for each in named if isinstance(each, int | float | Fraction)]
        return _sample(pattern, (*texts, *(_INTEGERS if disjunct.integer else _NUMBERS)))


def _string_set(text: str) -> ValueSet:
    return ValueSet(strings=(StringDisjunct(values=frozenset((text,))),))


def _named(said: list[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield the values that schemas name: examples, then options in their order."""
    for key in ("examples", "enum"):
        for schema in said:
            named = schema.get(key)
            yield from named if isinstance(named, list) else ()


def _descriptions(said: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what schemas say in words, each on one line."""
    texts = (schema.get("description") for schema in said)
    return (" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip())


def _string(disjunct: StringDisjunct, said: list[Mapping[str, Any]]) -> str | None:
    named = [each for each in _named(said) if isinstance(each, str)]
    listed = sorted(disjunct.values or ())[:1]
    wishes = (*named, *listed, *_descriptions(said), *_TEXTS, "." * max(disjunct.min_length, 1))
    return _sample(string_pattern(disjunct), wishes)


def _decimal(number: Any) -> str:
    value = Fraction(number)
    return str(value.numerator) if value.denominator == 1 else str(float(value))


# --- the shortest text ---------------------------------------------------------------------------------------------------


def _sample(regex: ast.Regex, wishes: tuple[str, ...]) -> str | None:
    """Return the first wish that matches, else the shortest text that does; None if it is not found."""
    return next((wish for wish in wishes if matches(regex, wish)), None) or _first_text(regex)


def _first_text(regex: ast.Regex) -> str | None:
    """Return a shortest text of a language, as readable as may be, by breadth first search over its derivatives."""
    states = States(character_sets(regex))
    signs: dict[int, str] = {}  # of each class of characters one, those that are read best first
    for sign in (*_READABLE, *map(chr, states.alphabet.first_of_each())):
        signs.setdefault(states.alphabet.class_of(ord(sign)), sign)
    start = states.build(regex)
    todo, seen = deque([(start, "")]), {start}
    while todo and len(seen) < _MAX_STATES:
        state, text = todo.popleft()
        if states.is_nullable(state):
            return text
        for number, sign in signs.items():
            following = states.derivative(state, number)
            if following not in seen:
                seen.add(following)
                todo.append((following, text + sign))
    return None


def _derived(body: Expression, known: Mapping[str, str], wish: str | None) -> str | None:
    """Return a short text of an expression; None if there is none yet.

    Args:
        body: The expression.
        known: Texts of rules.
        wish: The text that it had best have.
    """
    if isinstance(body, Rule):
        return known.get(body.name)
    if isinstance(body, Text):
        is_granted = wish is not None and matches(body.regex, wish)
        return wish if is_granted else _spelled(body.regex) or _sample(body.regex, _TEXTS)
    if isinstance(body, Repeat):
        inner = _derived(body.inner, known, None)
        return _joined([inner] * max(body.low, 1)) if inner is not None else None if body.low else ""
    if isinstance(body, Sequence | Alternatives):
        parts = [_derived(part, known, None) for part in body.parts]
        return _joined(parts) if isinstance(body, Sequence) else _shortest(parts)
    return wish if isinstance(body, Guest) else None


def _joined(parts: list[str | None]) -> str | None:
    """Return texts one after the other; None if one of them is missing, or all together are too long."""
    texts = [part for part in parts if part is not None]
    return "".join(texts) if len(texts) == len(parts) and sum(map(len, texts)) <= _MAX_LENGTH else None


def _shortest(parts: list[str | None]) -> str | None:
    return min((part for part in parts if part is not None), key=len, default=None)


def _spelled(regex: ast.Regex) -> str | None:
    """Return a shortest text of an expression that spells one value."""
    if isinstance(regex, ast.Chars) and regex.ranges:
        return next((sign for sign in _READABLE if contains(regex.ranges, ord(sign))), chr(regex.ranges[0][0]))
    if isinstance(regex, ast.Repeat):
        inner = _spelled(regex.inner) if regex.low else ""
        return None if inner is None else _joined([inner] * regex.low)
    if isinstance(regex, ast.Concat):
        return _joined([*map(_spelled, regex.parts)])
    if isinstance(regex, ast.Alternation):
        return _shortest([*map(_spelled, regex.parts)])
    return min(few_texts(regex, MAX_LISTED_KEYS) or (), key=len, default=None)

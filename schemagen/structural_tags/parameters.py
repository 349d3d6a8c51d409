"""The members of an object as parameters between tags, in the styles of families of models.

``<parameter=city>Paris</parameter>``: a string stands there as it is, without quotes and escapes, and ends at the first
end of a parameter; any other value is JSON. Patterns, lengths and enums hold for strings as they do in JSON. Some styles say
in the beginning of a parameter what its value is. Whitespace around parameters and values is free. Some styles write objects
and lists as tags, too, at any depth: then each of their schemas is a rule, and a schema that refers to itself a recursive one.

Parameters stand in the order of the schema, each at most once; then come those that the schema does not declare. Where such
keys can be listed, each is there at most once. Others may be written twice, and count twice: no rule remembers them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as escape_xml

from schemagen.context_free.scanner import MAX_NESTING
from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Guest, Text, alternatives, literal, repeat, sequence
from schemagen.engine.options import DEFAULT_STYLE
from schemagen.errors import LimitError
from schemagen.grammar.specs import JsonPart
from schemagen.regex import ast, is_empty
from schemagen.regex.spellings import SURROGATES, contains, spelled
from schemagen.regex.wildcards import text_before, text_without
from schemagen.schema.ir import (
    ANY_STRINGS,
    ANYTHING,
    INTEGERS,
    Resolved,
    SchemaRef,
    ValueSet,
    intersection_of,
)
from schemagen.schema.normalise import Normaliser
from schemagen.structural_tags.schemas import EXCLUDED, clean_values
from schemagen.writers.walk import RuleWriter, few_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from schemagen.context_free.syntax import Expression
    from schemagen.grammar.specs import JsonSchema
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct
    from schemagen.schema.normalise import Dialect
    from schemagen.schema.numbers.expressions import NumberStyle
    from schemagen.writers.walk import Member

#: With the keys in any order there is a rule for each set of parameters that are still to come.
MAX_ANY_ORDER = 8
#: The same for each number of parameters so far, if that matters.
MAX_COUNTED = 100

#: The JSON types, with the fields of a `ValueSet` that hold their values.
KINDS: Mapping[str, tuple[str, ...]] = {
    "null": ("null",),
    "boolean": ("true", "false"),
    "number": ("numbers",),
    "string": ("strings",),
    "array": ("arrays",),
    "object": ("objects",),
}
_SPACE = ast.char_set(" \n\r\t")
_LINE = ast.literal("\n")
_NOT_EMPTY = ast.repeat(ast.ANY_CHAR, 1, None)
_FIRST = [(ord("A"), ord("Z")), (ord("a"), ord("z")), (ord("_"), ord("_"))]
_NAME = ast.concat(
    ast.Chars(ast.normalise_ranges(_FIRST)), ast.star(ast.Chars(ast.normalise_ranges([*_FIRST, (ord("0"), ord("9"))])))
)

_QUOTE = {'"': "&quot;"}
_RAW = ast.invert_ranges(ast.normalise_ranges([*ast.char_set('&<>"\0').ranges, *SURROGATES]))


def _escaped(ranges: ast.Ranges) -> ast.Regex:
    """Return the characters of a set as XML writes them."""
    signs = (ast.literal(escape_xml(sign, _QUOTE)) for sign in '&<>"' if contains(ranges, ord(sign)))
    return ast.union(ast.Chars(ast.intersect_ranges(ranges, _RAW)), *signs)


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of models writes a parameter.

    Attributes:
        head: The text before the name.
        tail: The text after the name, but for items of a list.
        string: The text between that and a string: texts with whitespace between them.
        other: The same before other values; ``{kind}`` is the JSON type.
        end: What ends the parameter; ``{name}`` is its name.
        inner: The same as ``other`` before lists and objects that are written as tags; None if they are JSON.
        item: The text in place of head, name and tail where the value is the item of a list.
        forbidden: What a string must not hold; the end, if that is empty.
        is_spaced: Whether there may be whitespace around values.
        is_escaped: Whether names are written as XML writes them, so that any text may be one; else undeclared ones of which no
            pattern speaks are letters, digits and underscores.
        has_exact_strings: Whether whitespace around a string always belongs to it, except that of `is_set_apart`.
        is_set_apart: Whether values stand on lines of their own, so that a line break on each side may be left out.
        has_python_words: Whether a value that is no string may also be ``True``, ``False`` or ``None``.
    """

    head: str
    string: tuple[str, ...]
    other: tuple[str, ...]
    end: str
    inner: dict[str, tuple[str, ...]] | None = None
    item: str = ""
    forbidden: str = ""
    tail: str = ""
    is_spaced: bool = True
    is_escaped: bool = False
    has_exact_strings: bool = False
    is_set_apart: bool = False
    has_python_words: bool = False

    @property
    def says_kind(self) -> bool:
        """Whether the JSON type of a value stands before it."""
        return any("{kind}" in text for text in self.other)

    def texts_after_name(self, kind: str) -> tuple[str, ...]:
        """Return the texts between the name and a value of a JSON type; whitespace may be between them."""
        texts = self.string if kind == "string" else (self.inner or {}).get(kind, self.other)
        return tuple(each.replace("{kind}", kind) for each in texts)

    def after_name(self, kind: str, gap: ast.Regex) -> ast.Regex:
        """Return the text between the name and a value of a JSON type."""
        first, *more = map(ast.literal, self.texts_after_name(kind))
        return ast.concat(first, *(ast.concat(gap, each) for each in more))

    def before(self, name: str, kind: str) -> str:
        """Return the text before a value of a JSON type, whether or not the name can be read back."""
        return f"{self.head}{self._spelled(name)}{self.tail}" + "\n".join(self.texts_after_name(kind))

    @property
    def name_end(self) -> str:
        """What ends a name, so that none holds it."""
        return '"' if self.head.endswith('"') else self.string[0]

    def names(self, keys: ast.Regex, *, is_told: bool) -> ast.Regex:
        """Return keys as they are written, those that can be.

        Args:
            keys: The keys.
            is_told: Whether a pattern or `propertyNames` speaks of them.
        """
        if self.is_escaped:
            return spelled(ast.conjunction(keys, _NOT_EMPTY), _escaped)
        return ast.conjunction(keys, *((text_without([self.name_end]), _NOT_EMPTY) if is_told else (_NAME,)))

    def written_name(self, name: str) -> str | None:
        """Return a name as it is written; None if it cannot be."""
        if any(contains(SURROGATES, ord(char)) for char in name):
            return None
        return self._spelled(name) if self.is_escaped or self.name_end not in name else None

    def _spelled(self, name: str) -> str:
        return escape_xml(name, _QUOTE) if self.is_escaped else name


#: A token of DeepSeek's, with full-width bars; and what tags of MiniMax begin with.
_DSML = "\uff5cDSML\uff5c"
_MARK = "]<]minimax[>["
STYLES = {
    "qwen_xml": Style("<parameter=", (">",), (">",), "</parameter>"),
    "minimax_xml": Style('<parameter name="', ('">',), ('">',), "</parameter>"),
    "minimax_m3_xml": Style(
        f"{_MARK}<",
        (">",),
        (">",),
        f"{_MARK}</{{name}}>",
        inner={},
        item=f"{_MARK}<item",
        forbidden=_MARK,
        is_spaced=False,
    ),
    "deepseek_xml": Style(
        f'<{_DSML}parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML}parameter>"
    ),
    "deepseek_v4_1_xml": Style(
        f'<{_DSML} parameter name="', ('" string="true">',), ('" string="false">',), f"</{_DSML} parameter>"
    ),
    "glm_xml": Style("<arg_key>", ("</arg_key>", "<arg_value>"), ("</arg_key>", "<arg_value>"), "</arg_value>"),
    "cohere_xml": Style(
        '<cofl:value name="',
        (' type="raw">',),
        (' type="json">',),
        "</cofl:value>",
        inner={"object": (' type="dict">',), "array": (' type="list">',)},
        item="<cofl:value",
        tail='"',
        is_escaped=True,
    ),
    "kimi_k3_xml": Style(
        '<|open|>argument key="',
        ('" type="string"<|sep|>',),
        ('" type="{kind}"<|sep|>',),
        "<|close|>argument<|sep|>",
        is_escaped=True,
    ),
}


class Parameters(RuleWriter):
    """Writes an object as parameters.

    Args:
        written: Its schema, and how JSON in it is written.
        style: How a parameter is written.
        excludes: Texts that no string holds.
        max_gap: Most characters of whitespace in one place, None for any number.
        dialect: Whose reading of patterns and formats counts.
        numbers: How numbers are written.
    """

    format = "parameters between tags"

    def __init__(
        self,
        written: JsonSchema,
        style: Style,
        *,
        excludes: Sequence[str] = (),
        max_gap: int | None = None,
        dialect: Dialect = "json-schema",
        numbers: NumberStyle = DEFAULT_STYLE,
    ) -> None:
        document = json.loads(written.text)
        if excludes:
            document = {} if document is True else document
            document = {**document, "$defs": {**document.get("$defs", {}), EXCLUDED: clean_values(excludes)}}
        super().__init__(Normaliser(document, dialect=dialect), numbers)
        self.written = written
        self.style = style
        self.gap = ast.repeat(_SPACE, 0, max_gap)
        self._around = self.gap if style.is_spaced else ast.EPSILON
        self._excludes = [*excludes]
        self._depth = 0
        clean = f"#/$defs/{EXCLUDED.replace(' ', '%20')}"
        self._clean = self.normaliser.subschemas.reference(self.normaliser.document.start, clean) if excludes else None

    def root(self) -> Expression:
        """Return all parameters."""
        root = self.normaliser.root
        value = self.normaliser.value(root)
        if not value.objects and not value.is_nothing():
            with self.inside("type"):
                raise self.refuse("a value that is no object", "parameters have names", "write 'type': 'object'")
        return alternatives(*(self._object(disjunct, root) for disjunct in value.objects))

    # --- objects and lists -------------------------------------------------------------------------------------------

    def _object(self, disjunct: ObjectDisjunct, values: Values) -> Expression:
        members = self.declared(disjunct, "all")
        if members is None:
            return NOTHING
        parts = self.parts(members, self._member)
        undeclared, more = self._undeclared(disjunct, values)
        listed = [(each, False) for each in undeclared]
        if self.written.property_order != "any":

            def rest(low: int, high: int | None) -> Expression:
                return self._in_any_order(disjunct, listed, more, low, high)

            has_more = bool(listed) or more != NOTHING
            found = self.members(parts, EMPTY_TEXT, disjunct, rest if has_more else None, least=0)
        elif len(parts) + len(listed) > MAX_ANY_ORDER:
            fact = f"{len(parts) + len(listed)} parameters in any order, limit {MAX_ANY_ORDER},"
            with self.inside("properties"):
                raise self.refuse(fact, "each set is a rule", "leave any_order out, or declare fewer parameters")
        else:
            low, high = disjunct.min_properties, disjunct.max_properties
            found = self._in_any_order(disjunct, [*parts, *listed], more, low, high)
        return sequence(found, Text(self.gap))

    def _in_any_order(
        self,
        disjunct: ObjectDisjunct,
        parts: list[tuple[Expression, bool]],
        more: Expression,
        low: int,
        high: int | None,
    ) -> Expression:
        """Return members in any order, each at most once, and any number of ``more``: a rule for each set of those to come."""
        if not parts:
            return repeat(more, low, high)
        parts = [(self.part(each), is_needed) for each, is_needed in parts]
        needed = frozenset(index for index, (_, is_needed) in enumerate(parts) if is_needed)
        top = max(low, high or 0) if more != NOTHING or low > len(needed) or high is not None else 0
        if top > MAX_COUNTED:
            fact = f"minProperties or maxProperties of {top}, with parameters in any order"
            raise self.refuse(fact, f"each number is a rule; the limit is {MAX_COUNTED}", "lower it, or leave it out")
        place = Resolved(ValueSet(objects=(disjunct,)))

        def rest(left: frozenset[int], count: int) -> Expression:
            """Return the members after so many, or ``top`` and more."""
            following = min(count + 1, top)

            def ways() -> Expression:
                done = EMPTY_TEXT if not left & needed and count >= low else NOTHING
                if high is not None and count >= high:
                    return done
                chosen = [sequence(parts[index][0], rest(left - {index}, following)) for index in sorted(left)]
                again = NOTHING if more == NOTHING else sequence(more, rest(left, following))
                return alternatives(*chosen, again, done)

            return self.rule(place, ("left", left, count, low, high), ways)

        return rest(frozenset(range(len(parts))), 0)

    def _member(self, member: Member) -> Expression:
        """Return a declared parameter with whitespace before it."""
        name = self.style.written_name(member.key)
        if name is None:
            fact = f"the key {member.key!r:.80}"
            raise self.refuse(fact, f"it holds {self.style.name_end!r}, or half of a character", "rename it")
        return self._parameter(ast.literal(name), member.values, member.key)

    def _undeclared(self, disjunct: ObjectDisjunct, values: Values) -> tuple[list[Expression], Expression]:
        """Return the parameters that are not declared: one by one if there are few, and what all others look like."""
        listed: list[Expression] = []
        more: list[Expression] = []
        for keys, inner in self.key_classes(disjunct):
            texts = few_texts(keys, MAX_ANY_ORDER - len(listed))
            is_told = disjunct.names != ast.ANY_STRING or any(
                not is_empty(ast.conjunction(keys, pattern)) for rule in disjunct.rules for pattern, _ in rule.patterns
            )
            with self.inside("additionalProperties"):
                if texts is not None:
                    written = ((key, self.style.written_name(key)) for key in texts)
                    listed += [self._parameter(ast.literal(name), inner, key) for key, name in written if name]
                elif "{name}" not in self.style.end:
                    names = ast.conjunction(self.style.names(keys, is_told=is_told), text_without(self._excludes))
                    more.append(self._parameter(names, inner))
                elif disjunct.rules or is_told or _says_more(values):
                    why = "their names stand in their ends, too, and no rule remembers a name"
                    raise self.refuse("parameters that are not declared", why, "declare them as properties")
        return listed, self.part(alternatives(*more))

    def _parameter(self, name: ast.Regex, values: Values, key: str = "") -> Expression:
        head = ast.concat(self.gap, ast.literal(self.style.head), name, ast.literal(self.style.tail))
        return NOTHING if is_empty(name) else sequence(Text(head), self._ended(values, key))

    def _array(self, disjunct: ArrayDisjunct) -> Expression:
        self.check_array(disjunct)
        head = Text(ast.concat(self.gap, ast.literal(self.style.item)))
        some = self.items(disjunct, EMPTY_TEXT, write=lambda values: sequence(head, self._ended(values, "item")))
        return sequence(alternatives(NOTHING if disjunct.min_items else EMPTY_TEXT, some), Text(self.gap))

    # --- values ------------------------------------------------------------------------------------------------------

    def _ended(self, values: Values, key: str) -> Expression:
        """Return values with the text between the name and them, and with the end of a parameter."""
        end = self.style.end.replace("{name}", key)
        return self.rule(values, end, lambda: self._body(values, literal(end)))

    def _body(self, values: Values, end: Expression) -> Expression:
        self._depth += 1
        if self._depth > MAX_NESTING:
            fix = "nest fewer objects and lists"
            raise LimitError(f"values nested more than {MAX_NESTING} deep", at=self.place, fix=fix)
        value = self.normaliser.value(values)
        groups: dict[ast.Regex, list[str]] = {}
        for kind in kinds_of(value):
            groups.setdefault(self.style.after_name(kind, self.gap), []).append(kind)
        ways = [sequence(Text(after), self.texts(values, kinds), end) for after, kinds in groups.items()]
        if value == ANYTHING and self.style.says_kind:  # an undeclared value may be 1 and called an integer
            after = self.style.after_name("integer", self.gap)
            ways.append(sequence(Text(after), self.json(_INTEGERS, ["number"]), end))
        self._depth -= 1
        return alternatives(*ways)

    def value(self, values: Values) -> Expression:
        """Return the texts of values where nothing says of which type they are."""
        return self.texts(values, KINDS)

    def texts(self, values: Values, kinds: Collection[str]) -> Expression:
        """Return the texts of those values that are of some types."""
        value = _only(self.normaliser.value(values), kinds)
        ways = [self.text(self.string_texts(value))]
        if self.style.inner is not None:
            around, kinds = Text(self._around), [kind for kind in kinds if kind not in ("array", "object")]
            tags = [*map(self._array, value.arrays), *(self._object(each, values) for each in value.objects)]
            ways += [sequence(around, each, around) for each in tags]
        if ANY_STRINGS not in value.strings:
            ways.append(self.json(values, kinds))
        return alternatives(*ways)

    def string_texts(self, value: ValueSet) -> ast.Regex:
        """Return the texts of the strings of a value."""
        plain = self.strings(value)
        if self.style.is_set_apart:
            before = ast.conjunction(plain, ast.complement(ast.concat(_LINE, ast.ANY_STRING)))
            after = ast.conjunction(plain, ast.complement(ast.concat(ast.ANY_STRING, _LINE)))
            around = ast.concat(_LINE, plain, _LINE)
            plain = ast.union(
                around, ast.concat(_LINE, after), ast.concat(before, _LINE), ast.conjunction(before, after)
            )
        elif not self.style.has_exact_strings and ANY_STRINGS not in value.strings:
            plain = ast.concat(self._around, plain, self._around)
        return ast.conjunction(plain, text_before(self.style.forbidden or self.style.end, self._excludes))

    def json(self, values: Values, kinds: Collection[str]) -> Expression:
        """Return those values as JSON that are of some types, but for strings, with whitespace around them."""
        whole = self.normaliser.value(values)
        kinds = [kind for kind in kinds_of(whole) if kind in kinds and kind != "string"]
        value, around = _only(whole, kinds), Text(self._around)
        if value.is_nothing():
            return NOTHING
        words = self.words(value, "True", "False", "None") if self._has_python_words(whole) else ast.EMPTY
        if not value.arrays and not value.objects and not any(n.multiples or n.not_multiples for n in value.numbers):
            scalars = ast.union(words, self.words(value, null="null"), self.number_texts(value))
            return sequence(around, self.text(scalars), around)
        parts = [values, *([] if value == whole else [Resolved(_only(ANYTHING, kinds))])]
        parts += [] if self._clean is None else [self._clean]
        guest = Guest(JsonPart(intersection_of(*parts), self.numbers, self.written, self.normaliser))
        return sequence(around, alternatives(guest, self.text(words)), around)

    def _has_python_words(self, value: ValueSet) -> bool:
        return self.style.has_python_words and not value.strings


_INTEGERS = Resolved(ValueSet(numbers=(INTEGERS,)))


def _says_more(values: Values) -> bool:
    """Whether a schema says that there may be members which it does not declare."""
    schema = values.schema if isinstance(values, SchemaRef) else None
    return isinstance(schema, dict) and schema.get("additionalProperties", False) is not False


def _only(value: ValueSet, kinds: Collection[str]) -> ValueSet:
    """Return those of some values that are of some types."""
    return ValueSet(**{name: getattr(value, name) for kind in kinds for name in KINDS[kind]})


def kinds_of(value: ValueSet) -> list[str]:
    """Return the types of some values."""
    return [kind for kind, names in KINDS.items() if any(getattr(value, name) for name in names)]

"""Structural tags, read to rules: one function for each type of format.

Idea: a format is an expression of a grammar. Free text is a regular language: it holds no text that ends it, and it ends at
the first trigger (`dispatched`). What ends it is what the format leaves out, and the end of the nearest tag
around it; where it is left, the grammar decides, so free text with nothing to end it may go on for ever.

Source: the format's documentation by the xgrammar project ("Structural Tag"); the code is our own.

Invariant: formats are at most `MAX_NESTING` deep, so that everything after the reader may recurse over the rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.context_free.regular import dispatched, dispatched_tokens, text_of
from schemagen.context_free.scanner import MAX_NESTING
from schemagen.context_free.syntax import (
    EMPTY_TEXT,
    NOTHING,
    Guest,
    Text,
    TokenRun,
    alternatives,
    bounded,
    literal,
    repeat,
    separated,
    sequence,
)
from schemagen.engine.native.unsatisfiable import explained
from schemagen.engine.options import Options
from schemagen.errors import GrammarSyntaxError, LimitError, SchemaError, SchemagenError, UnsatisfiableSchemaError
from schemagen.grammar.context_free_specs import EBNF
from schemagen.grammar.languages import Assembly
from schemagen.grammar.specs import JsonSchema
from schemagen.regex import ast
from schemagen.regex.dialects import parse_pattern
from schemagen.regex.wildcards import text_without
from schemagen.structural_tags.fields import Fields, shown
from schemagen.structural_tags.parameters import STYLES, Parameters
from schemagen.structural_tags.schemas import check_excludes, closed, without_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.context_free.syntax import ContextFreeGrammar, Expression, Token
    from schemagen.engine.options import WhitespacePolicy

T = TypeVar("T")

#: Characters of whitespace in one place of JSON.
MAX_WHITESPACE = 10_000

#: Literals of one dispatch: triggers, and excluded texts.
MAX_LITERALS = 200


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of a format.

    Attributes:
        ends: The texts that end the nearest tag: free text holds none of them.
        never_ends: Whether there is a tag, and nothing ends it.
        depth: How many formats.
    """

    ends: tuple[str, ...] = ()
    never_ends: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag that a trigger or a list may take.

    Attributes:
        begin: How it begins.
        rest: The rest of the text.
        at: Where it stands.
    """

    begin: Expression
    begin_text: str
    rest: Expression
    at: str

    @property
    def whole(self) -> Expression:
        """Its texts."""
        return sequence(self.begin, self.rest)


class Reader:
    """Reads one structural tag.

    Args:
        whitespace: How JSON in it is laid out.
        closes: Whether objects have declared keys alone, unless their schema says otherwise.
    """

    def __init__(self, whitespace: WhitespacePolicy, *, closes: bool = True) -> None:
        self.assembly = Assembly()
        self.closes = closes
        self.whitespace: WhitespacePolicy = whitespace

    def grammar(self, value: dict[str, Any]) -> ContextFreeGrammar:
        """Return the rules of a whole structural tag."""
        fields = Fields(value, "")
        fields.check_names("a structural tag", "type", "format")
        if fields.text("type", "structural_tag") != "structural_tag":
            fix = 'write {"type": "structural_tag", "format": ...}'
            raise GrammarSyntaxError(
                f"{shown(value['type'])} is no type of a structural tag", at=fields.place("type"), fix=fix
            )
        body = self.format(fields.value("format"), fields.place("format"), Around())
        return self.assembly.grammar(body)

    def format(self, value: Any, at: str, around: Around) -> Expression:
        """Return the texts of a format."""
        if around.depth >= MAX_NESTING:
            raise LimitError(f"formats nested more than {MAX_NESTING} deep", at=at, fix="nest fewer formats")
        fields = Fields(value, at)
        kind = fields.text("type", next((told for name, told in TOLD_BY.items() if name in fields), ""))
        if kind not in FORMATS:
            fix = f"choose one of {', '.join(FORMATS)}"
            raise GrammarSyntaxError(f"{shown(kind)} is no type of a format", at=fields.place("type"), fix=fix)
        names, read = FORMATS[kind]
        fields.check_names(f"the format {kind}", "type", *names)
        return read(self, fields, replace(around, depth=around.depth + 1))

    def inner(self, fields: Fields, name: str, around: Around) -> Expression:
        """Return the texts of a format in a field."""
        return self.format(fields.value(name), fields.place(name), around)

    def elements(self, fields: Fields, around: Around) -> list[Expression]:
        """Return the texts of each format in the field ``elements``."""
        return fields.some("elements", lambda value, at: self.format(value, at, around))

    def tags(self, fields: Fields, around: Around) -> list[Tag]:
        """Return the tags in the field ``tags``."""
        return fields.some("tags", lambda value, at: self.tag(value, at, around))

    def tag(self, value: Any, at: str, around: Around) -> Tag:
        """Return a tag, whose type need not be said."""
        fields = Fields(value, at)
        if fields.text("type", "tag") != "tag":
            raise GrammarSyntaxError(
                f"{shown(value['type'])} where a tag is expected", at=fields.place("type"), fix="give a tag"
            )
        fields.check_names("a tag", "type", "begin", "content", "end")
        begin = fields.value("begin")
        begins = fields.token_format("begin") if isinstance(begin, dict) else literal(fields.text("begin"))
        ends, end = _end_of(fields)
        inside = Around(tuple(filter(None, ends)), never_ends=ends != [] and not any(ends), depth=around.depth)
        content = self.inner(fields, "content", inside)
        rest = self.assembly.shared(sequence(content, end), "tag")
        return Tag(begins, begin if isinstance(begin, str) else "", rest, at)


def _end_of(fields: Fields) -> tuple[list[str], Expression]:
    end = fields.value("end")
    if isinstance(end, dict):
        return [], fields.token_format("end")
    if isinstance(end, str):
        return [end], literal(end)
    if not isinstance(end, list):
        raise GrammarSyntaxError(
            f"{shown(end)} is no end of a tag", at=fields.place("end"), fix="give a text, a list of them, or a token"
        )
    ends = fields.some("end", fields.plain_text)
    return ends, alternatives(*(literal(each) for each in ends))


# --- formats of one text ---------------------------------------------------------------------------------------------


def _const_string(_reader: Reader, fields: Fields, _around: Around) -> Expression:
    text = fields.text("value")
    return literal(text) if text else EMPTY_TEXT


def _any_text(_reader: Reader, fields: Fields, around: Around) -> Expression:
    excludes = fields.texts("excludes", ())
    most, tokens = fields.count("max_chars", None), fields.count("max_tokens", None)
    _check_end(fields, around, excludes, most if tokens is None else tokens)
    free = text_without(_few(fields, [*excludes, *around.ends]))
    if most is not None:
        free = ast.conjunction(free, ast.repeat(ast.ANY_CHAR, 0, most))
    return bounded(Text(free), tokens, "any_text")


def _check_end(fields: Fields, around: Around, excludes: list[str], most: int | None = None) -> None:
    """Refuse free text in a tag which has no end, so that nothing says where the tag is over."""
    if around.never_ends and not excludes and most is None:
        raise GrammarSyntaxError(
            "free text in a tag whose end is empty",
            at=fields.at,
            why="nothing says where it ends",
            fix="give the tag an end, or exclude a text",
        )


def _few(fields: Fields, literals: list[str]) -> list[str]:
    """Return some literals, each of them once."""
    different = list(dict.fromkeys(literals))
    if len(different) > MAX_LITERALS:
        raise LimitError(
            f"{len(different)} texts that free text must not hold, limit {MAX_LITERALS}",
            at=fields.at,
            fix="give fewer triggers, ends and excludes",
        )
    return different


def _json_schema(reader: Reader, fields: Fields, _around: Around) -> Expression:
    """Return JSON of a schema, or its members as the parameters of a family of models."""
    schema = fields.value("json_schema")
    if not isinstance(schema, dict | bool):
        raise GrammarSyntaxError(
            f"{shown(schema)} is no JSON Schema", at=fields.place("json_schema"), fix="give an object, true or false"
        )
    if reader.closes:
        schema = closed(schema)
    excludes = fields.texts("excludes", ())
    check_excludes(excludes, fields.place("excludes"))
    style, any_order = fields.text("style", "json"), fields.flag("any_order")
    most = fields.count("max_whitespace_cnt", None, low=1)
    if most is not None and most > MAX_WHITESPACE:
        raise LimitError(
            f"{most:,} characters of whitespace in one place, limit {MAX_WHITESPACE:,}",
            at=fields.place("max_whitespace_cnt"),
            fix="lower it, or leave it out for 64",
        )
    whitespace: WhitespacePolicy = "any" if most is not None else reader.whitespace
    written = JsonSchema(
        json.dumps(without_texts(schema, excludes, fields.at) if style == "json" else schema),
        whitespace=whitespace,
        property_order="any" if any_order else "schema",
        max_gap=most,
        around=False,
        place=fields.place("json_schema"),
    )
    if style == "json":
        return Guest(written)
    if style not in STYLES:
        fix = f"choose one of json, {', '.join(STYLES)}"
        raise GrammarSyntaxError(f"{shown(style)} is no style", at=fields.place("style"), fix=fix)
    try:
        found = Parameters(written, STYLES[style], excludes=excludes, max_gap=most).grammar()
    except (SchemaError, LimitError) as given:
        error: SchemagenError = given
        if isinstance(given, UnsatisfiableSchemaError):
            error = explained(given, schema, Options(), "json-schema", None)
        error.at = f"{written.place}{error.at}"
        raise error from None
    return reader.assembly.taken_over(found)


def _qwen_xml_parameter(reader: Reader, fields: Fields, around: Around) -> Expression:
    """Return the older name of a style."""
    value = {"json_schema": fields.value("json_schema"), "style": "qwen_xml"}
    return _json_schema(reader, Fields(value, fields.at), around)


def _grammar(reader: Reader, fields: Fields, _around: Around) -> Expression:
    text = fields.text("grammar", nonempty=True)
    try:
        return reader.assembly.expression(EBNF(text))
    except SchemagenError as error:
        raise _placed(error, fields.place("grammar")) from None


def _regex(_reader: Reader, fields: Fields, _around: Around) -> Expression:
    """Return the texts that a pattern matches as a whole; a dot is any character."""
    pattern = fields.text("pattern", nonempty=True)
    try:
        parse_pattern(pattern, "ecma-262", search=False)  # by itself: a bracket too many must not close ours
        language = parse_pattern(f"(?s:{pattern})", "ecma-262", search=False)
    except SchemagenError as error:
        raise _placed(error, fields.place("pattern")) from None
    found = text_of(ast.conjunction(language, text_without(_few(fields, fields.texts("excludes", ())))))
    if found == NOTHING:
        raise UnsatisfiableSchemaError("no text matches the pattern", at=fields.place("pattern"), fix="correct it")
    return found


def _placed(error: SchemagenError, at: str) -> SchemagenError:
    """Return an error of a part with the place of the part before its own."""
    error.at = f"{at}: {error.at}" if error.at else at
    return error


# --- formats of other formats ----------------------------------------------------------------------------------------


def _sequence(reader: Reader, fields: Fields, around: Around) -> Expression:
    return sequence(*reader.elements(fields, around))


def _or(reader: Reader, fields: Fields, around: Around) -> Expression:
    return alternatives(*reader.elements(fields, around))


def _optional(reader: Reader, fields: Fields, around: Around) -> Expression:
    return alternatives(reader.inner(fields, "content", around), EMPTY_TEXT)


def _star(reader: Reader, fields: Fields, around: Around) -> Expression:
    return repeat(reader.inner(fields, "content", around), 0, None)


def _plus(reader: Reader, fields: Fields, around: Around) -> Expression:
    return repeat(reader.inner(fields, "content", around), 1, None)


def _repeat(reader: Reader, fields: Fields, around: Around) -> Expression:
    """Return the content a number of times; -1 is no upper bound."""
    low, high = fields.count("min"), fields.count("max", low=-1)
    assert low is not None
    assert high is not None
    if 0 <= high < low:
        raise GrammarSyntaxError(
            f"min {low} is above max {high}", at=fields.place("min"), fix="give the smaller number as min"
        )
    return repeat(reader.inner(fields, "content", around), low, None if high < 0 else high)


# --- tags ------------------------------------------------------------------------------------------------------------


def _tag(reader: Reader, fields: Fields, around: Around) -> Expression:
    return reader.tag(fields.whole, fields.at, around).whole


def _tags_with_separator(reader: Reader, fields: Fields, around: Around) -> Expression:
    tags = reader.tags(fields, around)
    separator = literal(fields.text("separator"))
    one = reader.assembly.shared(alternatives(*(tag.whole for tag in tags)), "tags")
    low, high = int(fields.flag("at_least_one")), 1 if fields.flag("stop_after_first") else None
    return separated(one, separator, low, high)


def _triggered_tags(reader: Reader, fields: Fields, around: Around) -> Expression:
    """Return free text with tags in it, each of which begins with a trigger."""
    triggers = fields.some("triggers", fields.nonempty_text)
    excludes = fields.texts("excludes", ())
    tags = reader.tags(fields, around)
    taken = [_trigger_of(tag, triggers) for tag in tags]
    for index, trigger in enumerate(triggers):
        if trigger not in taken:
            raise GrammarSyntaxError(
                f"no tag begins with the trigger {shown(trigger)}",
                at=fields.place("triggers", index),
                why="free text could not go on after it",
                fix="drop it, or give a tag that begins with it",
            )
    after: dict[str, list[Expression]] = {trigger: [] for trigger in triggers}
    for tag, trigger in zip(tags, taken, strict=True):
        after[trigger].append(sequence(literal(tag.begin_text[len(trigger) :]), tag.rest))
    rules = [(trigger, alternatives(*rests)) for trigger, rests in after.items()]
    stop, needed = fields.flag("stop_after_first"), fields.flag("at_least_one")
    first = alternatives(*(tag.whole for tag in tags))
    if stop and needed:
        return first
    _check_end(fields, around, excludes)
    free = _dispatched(fields, rules, [*excludes, *around.ends], loop=not stop)
    return sequence(first, free) if needed else free


def _trigger_of(tag: Tag, triggers: list[str]) -> str:
    """Return the one trigger that a tag begins with."""
    found = [trigger for trigger in triggers if tag.begin_text.startswith(trigger)]
    if len(found) == 1 and isinstance(tag.begin, Text):
        return found[0]
    begin = shown(tag.begin_text)
    why, fix = "each tag is told by its trigger", "give one trigger for it"
    fact = f"the tag {begin} begins with {'no trigger' if not found else ' and '.join(map(shown, found))}"
    if not isinstance(tag.begin, Text):
        fact, fix = "a tag that begins with a token", "give its begin as a text"
    raise GrammarSyntaxError(fact, at=f"{tag.at}/begin", why=why, fix=fix)


def _dispatch(reader: Reader, fields: Fields, around: Around) -> Expression:
    """Return free text in which a pattern is followed by its format; of the end of a tag around it nothing is known."""
    pairs = fields.some("rules", lambda value, at: _pair(reader, value, at, around, fields.nonempty_text))
    excludes = fields.texts("excludes", ())
    _check_end(fields, around, excludes)
    return _dispatched(fields, pairs, excludes, loop=fields.flag("loop", default=True))


def _pair(reader: Reader, value: Any, at: str, around: Around, read: Callable[[Any, str], T]) -> tuple[T, Expression]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise GrammarSyntaxError(
            f"{shown(value)} is no pair of a pattern and a format", at=at, fix='write ["<tag>", {"type": ...}]'
        )
    return read(value[0], f"{at}/0"), reader.format(value[1], f"{at}/1", around)


def _dispatched(fields: Fields, rules: list[tuple[str, Expression]], excludes: list[str], *, loop: bool) -> Expression:
    """Return free text in which each trigger is followed by its expression.

    A trigger that holds a text which is left out never comes: that text is complete no later than it.

    Args:
        fields: Of the format.
        rules: Triggers and the rest of their tags.
        excludes: The texts that free text must not hold.
        loop: Whether free text goes on after a tag.
    """
    literals = _few(fields, [*(trigger for trigger, _ in rules), *excludes])
    taken = [(trigger, rest) for trigger, rest in rules if not any(exclude in trigger for exclude in excludes)]
    return dispatched(taken, literals, Text(text_without(literals)), loop=loop)


# --- tokens ----------------------------------------------------------------------------------------------------------


def _token(_reader: Reader, fields: Fields, _around: Around) -> Expression:
    return replace(fields.token(fields.value("token"), fields.place("token")), may_be_text=True)


def _any_tokens(reader: Reader, fields: Fields, _around: Around) -> Expression:
    """Return text of any tokens but special ones."""
    most = fields.count("max_tokens", None)
    if most is not None:
        but = tuple(fields.each("exclude_tokens", fields.token, ()))
        return alternatives(TokenRun(1, most, within=ast.ANY_STRING, but=but), EMPTY_TEXT) if most else EMPTY_TEXT
    _leave_out(reader, fields)
    return Text(ast.ANY_STRING)


def _leave_out(reader: Reader, fields: Fields, taken: Sequence[Token] = ()) -> None:
    """Note the tokens that no text has, and none is taken of; that they are special ones is seen with the vocabulary."""
    excluded = fields.each("exclude_tokens", fields.token, ())
    for index, token in enumerate(excluded):
        if token in taken:
            at = fields.place("exclude_tokens", index)
            raise GrammarSyntaxError(f"the token {token} begins a tag and is excluded", at=at, fix="drop one of both")
    reader.assembly.left_out += excluded


def _token_triggered_tags(reader: Reader, fields: Fields, around: Around) -> Expression:
    """Return text with tags in it, each of which begins with a token."""
    triggers = fields.some("trigger_tokens", fields.token)
    tags = reader.tags(fields, around)
    for tag in tags:
        if tag.begin not in triggers:
            raise GrammarSyntaxError(
                "a tag that begins with none of the trigger tokens",
                at=f"{tag.at}/begin",
                fix="begin it with one, and name both in the same way: by a name, or by an id",
            )
    for index, trigger in enumerate(triggers):
        if all(tag.begin != trigger for tag in tags):
            raise GrammarSyntaxError(
                f"no tag begins with the token {trigger}", at=fields.place("trigger_tokens", index), fix="drop it"
            )
    stop, needed = fields.flag("stop_after_first"), fields.flag("at_least_one")
    _leave_out(reader, fields, triggers)
    first = reader.assembly.shared(alternatives(*(tag.whole for tag in tags)), "tags")
    if stop and needed:
        return first
    free = dispatched_tokens(first, loop=not stop)
    return sequence(first, free) if needed else free


def _token_dispatch(reader: Reader, fields: Fields, around: Around) -> Expression:
    pairs = fields.some("rules", lambda value, at: _pair(reader, value, at, around, fields.token))
    _leave_out(reader, fields, [token for token, _ in pairs])
    taken = alternatives(*(sequence(token, rest) for token, rest in pairs))
    return dispatched_tokens(taken, loop=fields.flag("loop", default=True))


def _any_token_but(_reader: Reader, fields: Fields, _around: Around) -> Expression:
    """Return a single token of text which is any but some."""
    return TokenRun(1, 1, but=tuple(fields.each("exclude_tokens", fields.token, ())))


#: Fields that tell a format which does not say its type.
TOLD_BY = {
    "begin": "tag",
    "value": "const_string",
    "json_schema": "json_schema",
    "pattern": "regex",
    "grammar": "grammar",
    "elements": "sequence",
    "triggers": "triggered_tags",
    "separator": "tags_with_separator",
    "rules": "dispatch",
}
_TAGS = ("tags", "at_least_one", "stop_after_first")
_SCHEMA = ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes")
#: The types of formats: their fields, and what reads them.
FORMATS: dict[str, tuple[tuple[str, ...], Callable[[Reader, Fields, Around], Expression]]] = {
    "const_string": (("value",), _const_string),
    "json_schema": (_SCHEMA, _json_schema),
    "qwen_xml_parameter": (("json_schema",), _qwen_xml_parameter),
    "grammar": (("grammar",), _grammar),
    "regex": (("pattern", "excludes"), _regex),
    "any_text": (("excludes", "max_tokens", "max_chars"), _any_text),
    "sequence": (("elements",), _sequence),
    "or": (("elements",), _or),
    "optional": (("content",), _optional),
    "plus": (("content",), _plus),
    "star": (("content",), _star),
    "repeat": (("min", "max", "content"), _repeat),
    "tag": (("begin", "content", "end"), _tag),
    "triggered_tags": (("triggers", "excludes", *_TAGS), _triggered_tags),
    "tags_with_separator": (("separator", *_TAGS), _tags_with_separator),
    "dispatch": (("rules", "loop", "excludes"), _dispatch),
    "token": (("token",), _token),
    "exclude_token": (("exclude_tokens",), _any_token_but),
    "any_tokens": (("exclude_tokens", "max_tokens"), _any_tokens),
    "token_triggered_tags": (("trigger_tokens", "exclude_tokens", *_TAGS), _token_triggered_tags),
    "token_dispatch": (("rules", "loop", "exclude_tokens"), _token_dispatch),
}

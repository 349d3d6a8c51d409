"""YAML: block style, two spaces for each level, no line break at the end.

    name: Ada
    tags:
      - "first: of all"
    home:
      x: 1.0

All is written so that YAML 1.1 and YAML 1.2 read the same. A string is in double quotes with JSON's escapes, or plain on one
line where both versions see that string in it: as `schemagen.text.unquoted` has it, in keys and between brackets without the
characters of `_NOT_IN_FLOW`. Numbers are JSON's; one with an exponent has a point and the sign of the exponent. ``[]``
and ``{}`` are the empty list and object. The indentation of a value that may be in itself is not known in advance; it is
written in flow style from the second time on: ``{value: true, left: null}``. Anchors, tags, comments and folded lines are not
written.

A key must not be repeated in YAML, and no rule remembers keys: objects with undeclared keys are refused, unless the keys can be
listed, as those of an enum; then they come in one order.

PyYAML reads it back, to nodes and not to values: numbers stay as they were written.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemagen.context_free.syntax import NOTHING, alternatives, literal, sequence
from schemagen.errors import SchemagenError
from schemagen.errors.installing import install_command
from schemagen.regex import ast, matches
from schemagen.regex.spellings import quoted, quoted_text
from schemagen.regex.wildcards import unquoted_text
from schemagen.schema.scalars import string_pattern
from schemagen.writers.walk import JSON_NUMBER, RuleWriter, may_be_empty

if TYPE_CHECKING:
    from schemagen.context_free.syntax import Expression
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct, ValueSet
    from schemagen.writers.walk import Member

#: Raw in double quotes: what both versions print as it is, without line breaks, the byte order mark, quote and backslash.
_RAW: ast.Ranges = (
    (0x20, 0x21),
    (0x23, 0x5B),
    (0x5D, 0x7E),
    (0xA0, 0x2027),
    (0x202A, 0xD7FF),
    (0xE000, 0xFEFE),
    (0xFF00, 0xFFFD),
    (0x10000, ast.MAX_CODE_POINT),
)
#: Characters that are not in a plain scalar between brackets, nor in a plain key. Readers disagree on colons and question
#: marks; a key has one spelling, which is in quotes if it has quotes or backslashes, as most would write it.
_NOT_IN_FLOW = ',[]{}:?"\\'
#: A simple key has at most 1024 characters; longer ones would need a question mark before them.
_MAX_KEY = 500
_STEP = 2


@lru_cache(maxsize=2)
def plain_scalars(*, in_flow: bool) -> ast.Regex:
    """Return the strings that are plain scalars of one line and mean themselves in YAML 1.1 and 1.2.

    Args:
        in_flow: Whether they stand between brackets.
    """
    if not in_flow:
        return unquoted_text()
    inside = ast.Chars(ast.invert_ranges(ast.char_set(_NOT_IN_FLOW).ranges))
    return ast.conjunction(unquoted_text(), ast.star(inside))


def agreed_numbers() -> ast.Regex:
    """Return the texts of JSON numbers that YAML 1.1 and 1.2 read as that number."""
    digits = ast.repeat(ast.chars((0x30, 0x39)), 1, None)
    exponent = ast.concat(ast.char_set("eE"), ast.char_set("+-"), digits)
    fraction = ast.concat(ast.literal("."), digits, ast.optional(exponent))
    return ast.concat(ast.optional(ast.literal("-")), digits, ast.optional(fraction))


class YamlWriter(RuleWriter):
    """Writes values as YAML."""

    format = "YAML"

    def root(self) -> Expression:
        """Return the whole document."""
        return self._at(self.normaliser.root, 0, literal(""), literal(""))

    def value(self, values: Values) -> Expression:
        """Return the texts of a set of values in flow style."""
        return self.rule(values, "flow", lambda: self._flow(self.value_set(values)))

    def _at(self, values: Values, depth: int, before_inline: Expression, before_block: Expression) -> Expression:
        """Write values at a place.

        Args:
            values: The values.
            depth: The indentation of the lines of a block, in spaces.
            before_inline: The text before a value on the line.
            before_block: The text before a block.
        """
        if self.is_open(values):
            return sequence(before_inline, self.value(values))
        inline = self.rule(values, "inline", lambda: self._inline(self.value_set(values)))
        block = self.rule(values, depth, lambda: self._block(self.value_set(values), depth))
        return alternatives(sequence(before_inline, inline), sequence(before_block, block))

    # --- scalars -------------------------------------------------------------------------------------------------------

    def _scalar(self, value: ValueSet, *, in_flow: bool) -> ast.Regex:
        numbers = ast.conjunction(self.number_texts(value), agreed_numbers()) if value.numbers else ast.EMPTY
        plain = plain_scalars(in_flow=in_flow)
        strings: list[ast.Regex] = []
        for disjunct in value.strings:
            if disjunct.values is None:
                free = string_pattern(disjunct)
                strings += [ast.conjunction(free, plain), quoted(free, _RAW)]
            else:
                for text in sorted(disjunct.values):
                    spelled = (scalar_text(text, in_flow=in_flow), quoted_text(text, _RAW))
                    strings += [ast.literal(each) for each in spelled if each is not None]
        return ast.union(self.words(value, null="null"), numbers, *strings)

    def _inline(self, value: ValueSet) -> Expression:
        empty = [literal("[]") for disjunct in value.arrays if disjunct.min_items == 0]
        empty += [literal("{}") for disjunct in value.objects if may_be_empty(disjunct)]
        return alternatives(self.text(self._scalar(value, in_flow=False)), *empty)

    # --- block style ---------------------------------------------------------------------------------------------------

    def _block(self, value: ValueSet, depth: int) -> Expression:
        """Write lists and objects that are not empty, from where their first line begins."""
        line = literal("\n" + " " * depth)
        lists = [self._list(disjunct, line, depth) for disjunct in value.arrays]
        return alternatives(*lists, *(self._mapping(disjunct, line, depth) for disjunct in value.objects))

    def _list(self, disjunct: ArrayDisjunct, line: Expression, depth: int) -> Expression:
        self.check_array(disjunct)
        dash = literal("- ")
        return self.items(disjunct, line, write=lambda values: self._at(values, depth + _STEP, dash, dash))

    def _mapping(self, disjunct: ObjectDisjunct, line: Expression, depth: int) -> Expression:
        members = self._members(disjunct)
        if members is None:
            return NOTHING
        below, inner = depth + _STEP, literal("\n" + " " * (depth + _STEP))

        def written(member: Member) -> Expression:
            key = literal(f"{self._key(member.key)}:")
            return sequence(key, self._at(member.values, below, literal(" "), inner))

        return self.members(self.parts(members, written), line, disjunct)

    def _members(self, disjunct: ObjectDisjunct) -> list[Member] | None:
        why = "YAML does not let a key repeat, and no rule remembers keys"
        return self.declared(self.closed(disjunct, why), "once")

    def _key(self, key: str) -> str:
        text = scalar_text(key, in_flow=True)
        if text is None or len(text) > _MAX_KEY:
            raise self.refuse(f"the key {key!r:.80}", "it is too long for one line, or no text", "give it another name")
        return text

    # --- flow style ----------------------------------------------------------------------------------------------------

    def _flow(self, value: ValueSet) -> Expression:
        lists = [self._flow_list(disjunct) for disjunct in value.arrays]
        mappings = [self._flow_mapping(disjunct) for disjunct in value.objects]
        return alternatives(self.text(self._scalar(value, in_flow=True)), *lists, *mappings)

    def _flow_list(self, disjunct: ArrayDisjunct) -> Expression:
        self.check_array(disjunct)
        empty = literal("[]") if disjunct.min_items == 0 else NOTHING
        return alternatives(empty, sequence(literal("["), self.items(disjunct, literal(", ")), literal("]")))

    def _flow_mapping(self, disjunct: ObjectDisjunct) -> Expression:
        members = self._members(disjunct)
        if members is None:
            return NOTHING
        parts = self.parts(members, lambda each: sequence(literal(f"{self._key(each.key)}: "), self.value(each.values)))
        body = sequence(literal("{"), self.members(parts, literal(", "), disjunct), literal("}"))
        return alternatives(literal("{}") if may_be_empty(disjunct) else NOTHING, body)


def scalar_text(text: str, *, in_flow: bool) -> str | None:
    """Return how one string is written: plain if it may be, else in double quotes; None if it is no text."""
    if matches(plain_scalars(in_flow=in_flow), text):
        return text
    return quoted_text(text, _RAW)


# --- reading -----------------------------------------------------------------------------------------------------------


def imported_yaml() -> Any:
    """Return PyYAML.

    Raises:
        SchemagenError: It is not installed.
    """
    try:
        import yaml
    except ImportError as error:
        raise SchemagenError(
            "PyYAML is not installed",
            why="it reads what a model wrote as YAML",
            fix=install_command("yaml"),
            code="no-yaml",
        ) from error
    return yaml


def read_yaml(text: str) -> str:
    """Return a document as JSON.

    Args:
        text: One of those that a `YamlWriter` writes.

    Raises:
        ValueError: It is no YAML, or has something that is never written.
    """
    yaml = imported_yaml()
    try:
        _refuse_aliases(yaml, text)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    if node is None:
        raise ValueError("the document is empty")
    return _json(yaml, node)


def _refuse_aliases(yaml: Any, text: str) -> None:
    """Refuse what could stand for much more than it says."""
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise ValueError("the document has an anchor or an alias")


def _json(yaml: Any, node: Any) -> str:
    if isinstance(node, yaml.SequenceNode):
        return f"[{', '.join(_json(yaml, item) for item in node.value)}]"
    if isinstance(node, yaml.MappingNode):
        members: dict[str, str] = {}
        for key, value in node.value:
            if key.tag != "tag:yaml.org,2002:str" or key.value in members:
                raise ValueError(f"the key {key.value!r:.80} is no string, or repeated")
            members[key.value] = _json(yaml, value)
        return "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in members.items()) + "}"
    kind = node.tag.removeprefix("tag:yaml.org,2002:")
    if kind == "str":
        return json.dumps(node.value, ensure_ascii=False)
    if kind in ("int", "float") and JSON_NUMBER.fullmatch(node.value):
        return str(node.value)
    if node.value in ("null", "true", "false"):
        return str(node.value)
    raise ValueError(f"{node.value!r:.80} is neither a string nor a number of JSON")

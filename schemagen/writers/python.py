"""Python: ``Person(name="Ada", age=36, tags=["a"], home=Point(x=1.0, y=2.0))``.

Models, dataclasses and named tuples are calls with keyword arguments in the order of declaration, by the names that pydantic
reads them by (an alias, where there is one); those with a default may be left out. TypedDicts and dicts are dict displays,
lists, tuples and sets what Python has for them. Members of an enum are written by their values, dates and the like as strings,
a RootModel as its root. A string is in double quotes, with the escapes that JSON and Python share. All is on one line.

The reader parses the text with `ast`, walks over it and evaluates nothing. It makes JSON of it, numbers as they were written,
so that the type is as strict as it is with JSON. JSON has no names of classes: where several would take the same members, and
pydantic makes another one of them, the instances are made one by one.
"""

from __future__ import annotations

import ast as python_ast
import json
import keyword
import sys
import unicodedata
from collections import Counter, deque
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, Text, alternatives, literal, separated, sequence
from schemagen.regex import ast
from schemagen.regex.spellings import SURROGATES, quoted, quoted_text
from schemagen.schema.ir import Intersection, SchemaRef, intersection_of
from schemagen.schema.keyword_table import asserted
from schemagen.schema.to_regex import page_of
from schemagen.threads.forking import long_lock
from schemagen.writers.classes import FORM
from schemagen.writers.walk import JSON_NUMBER, RuleWriter, may_be_empty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemagen.context_free.syntax import Expression
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ObjectDisjunct, ValueSet
    from schemagen.schema.to_regex import Page
    from schemagen.types.reflection import Target
    from schemagen.writers.walk import Member

_RAW = ast.invert_ranges(ast.normalise_ranges([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), *SURROGATES]))
_CONSTANTS = {True: "true", False: "false", None: "null"}


# --- writing -----------------------------------------------------------------------------------------------------------


class PythonWriter(RuleWriter):
    """Writes values as Python expressions.

    Args:
        named: The classes of the type by name.
        arguments: As `RuleWriter`.
        page: Where whitespace may be, as between brackets of JSON; None for one blank after commas and colons.
    """

    format = "Python"

    def __init__(self, named: Mapping[str, Any], *arguments: Any, page: Page | None = None) -> None:
        super().__init__(*arguments)
        self._named = named
        self.page = page or page_of("spaced", 0, 0, self.numbers)
        self._comma = Text(self.page.comma(0))
        self._colon = Text(self.page.colon())

    def value(self, values: Values) -> Expression:
        """Return the texts of a set of values."""
        return self.rule(values, None, lambda: self._body(values))

    def _body(self, values: Values) -> Expression:
        parts = self._split(values)
        if self.narrowing is not None:
            parts = self.narrowing.first(parts)
        if parts:
            return alternatives(*map(self.value, parts))
        form = self._form(values)
        self._check_class(form.removeprefix("call "))
        value = self.value_set(values)
        return alternatives(
            self._scalar(value),
            *(self._array(disjunct, form) for disjunct in value.arrays),
            *(self._object(disjunct, form) for disjunct in value.objects),
        )

    def _split(self, values: Values) -> list[Values]:
        """Return the sets that make up a union or a reference as the schema has it, each of which may be of a class."""
        if not isinstance(values, SchemaRef):
            return []
        if not isinstance(values.schema, dict):
            return []
        names = asserted(values.schema, values.draft)
        if names == ["$ref"]:
            return [*self.normaliser.node(values).references]
        if "anyOf" not in names:
            return []
        branches = [
            self.normaliser.subschemas.place(values, schema, "anyOf", str(index))
            for index, schema in enumerate(values.schema["anyOf"])
        ]
        return [*branches] if names == ["anyOf"] else [intersection_of(branch, values) for branch in branches]

    def _form(self, values: Values) -> str:
        """Return what a set of values was made of; empty if it is not known."""
        if isinstance(values, Intersection):
            return next(filter(None, map(self._form, values.order)), "")
        if not isinstance(values, SchemaRef):
            return ""
        schema = values.schema
        if isinstance(schema, dict) and FORM not in schema and "$ref" in schema:
            return next(filter(None, map(self._form, self.normaliser.node(values).references)), "")
        return str(schema.get(FORM, "")) if isinstance(schema, dict) else ""

    def _scalar(self, value: ValueSet) -> Expression:
        words = self.words(value, "True", "False", "None")
        return self.text(ast.union(words, self.number_texts(value), self.quoted_strings(value, _RAW)))

    def _array(self, disjunct: ArrayDisjunct, form: str) -> Expression:
        self.check_array(disjunct)
        if form.startswith("call "):
            return self._named_tuple(disjunct, form.removeprefix("call "))
        opening, closing = map(literal, {"tuple": ("(", ")"), "set": ("{", "}")}.get(form, ("[", "]")))
        inside = Text(self.page.inside)
        empty = literal("set()") if form == "set" else sequence(opening, inside, closing)
        one: Expression = NOTHING
        least = 1
        if form == "tuple":
            one = sequence(opening, self.items(disjunct, self._comma, most=1), literal(",)"))
            least = 2
        several = sequence(opening, inside, self.items(disjunct, self._comma, least=least), inside, closing)
        return alternatives(NOTHING if disjunct.min_items else empty, one, several)

    def _named_tuple(self, disjunct: ArrayDisjunct, name: str) -> Expression:
        """Write a call of a named tuple; only the last of its fields may be left out."""
        body: Expression = literal(")")
        fields = _fields_of(self._named[name])
        for index in reversed(range(len(fields))):
            with self.inside("prefixItems", str(index)):
                self._check_name(fields[index])
                argument = sequence(
                    literal(f"{', ' if index else ''}{fields[index]}="), self.value(disjunct.item(index))
                )
            body = sequence(argument, body)
            if disjunct.min_items <= index:
                body = alternatives(body, literal(")"))
        return sequence(literal(f"{name}("), body)

    def _object(self, disjunct: ObjectDisjunct, form: str) -> Expression:
        is_call = form.startswith("call ")
        if is_call:
            disjunct = self.closed(disjunct, "a call must not repeat a keyword, and no rule remembers keywords")
        members = self.declared(disjunct, "once")
        if members is None:
            return NOTHING
        opening, closing = (f"{form.removeprefix('call ')}(", ")") if is_call else ("{", "}")
        body = self._members(members, disjunct, is_call=is_call)
        inside = Text(self.page.inside)
        empty = sequence(literal(opening), inside, literal(closing)) if may_be_empty(disjunct) else NOTHING
        return alternatives(empty, sequence(literal(opening), inside, body, inside, literal(closing)))

    def keywords(self, disjunct: ObjectDisjunct) -> Expression:
        """Return the declared members of an object as keyword arguments, without parentheses: perhaps none of them."""
        members = self.declared(replace(disjunct, names=ast.EMPTY), "once")
        if members is None:
            return NOTHING
        body = self._members(members, replace(disjunct, names=ast.EMPTY), is_call=True)
        return alternatives(EMPTY_TEXT if may_be_empty(disjunct) else NOTHING, body)

    def _members(self, members: list[Member], disjunct: ObjectDisjunct, *, is_call: bool) -> Expression:
        """Write members, at least one."""
        parts = self.parts(members, lambda member: self._member(member, is_call=is_call))
        return self.members(parts, self._comma, disjunct, self._undeclared(disjunct))

    def _member(self, member: Member, *, is_call: bool) -> Expression:
        if is_call:
            self._check_name(member.key)
            return sequence(literal(f"{member.key}="), self.value(member.values))
        key = quoted_text(member.key, _RAW)
        return NOTHING if key is None else sequence(literal(key), self._colon, self.value(member.values))

    def _undeclared(self, disjunct: ObjectDisjunct) -> Callable[[int, int | None], Expression] | None:
        """Return what writes members of a dict display whose keys are not declared, if there are such keys.

        A key that is written twice counts by its last value.
        """
        classes = self.key_classes(disjunct)
        if not classes:
            return None
        with self.inside("additionalProperties"):
            keys = [(self.text(quoted(keys, _RAW)), self.value(values)) for keys, values in classes]
        member = self.part(alternatives(*(sequence(key, self._colon, value) for key, value in keys)))
        return lambda low, high: separated(member, self._comma, low, high)

    def _check_class(self, name: str) -> None:
        if name in self._named and (name == "set" or not is_name(name)):
            raise self.refuse(f"the class {name!r:.80}", "its name is no name that can be called", "rename it")

    def _check_name(self, name: str) -> None:
        if is_name(name):
            return
        fix = "give the field an alias that is a name, or choose another format"
        raise self.refuse(f"the argument {name!r}", "it is no name of a keyword argument", fix)


# --- reading -----------------------------------------------------------------------------------------------------------


class PythonSyntaxError(ValueError):
    """A text that is none of those that are written."""


#: CPython 3.11 before 3.11.8 counts how deep a tree is in one place for all threads: where one is interrupted in
#: `ast.parse`, it may end in "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905).
HAS_AST_FAULT = sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 11, 8)

_parsing: AbstractContextManager[object] = long_lock() if HAS_AST_FAULT else nullcontext()


class _Source(NamedTuple):
    """A text that was parsed.

    Attributes:
        line: Its bytes.
        tree: Its expression.
        named: The classes that it may call, by name.
    """

    line: bytes
    tree: python_ast.expr
    named: Mapping[str, Any]

    @classmethod
    def of(cls, text: str, named: Mapping[str, Any]) -> _Source:
        """Parse a text."""
        if "\n" in text or "\r" in text:
            raise PythonSyntaxError("the text has more than one line")
        try:
            with _parsing:
                tree = python_ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise PythonSyntaxError(f"the text is no Python expression: {error}") from error
        return cls(text.encode(), tree, named)

    def json(self, node: python_ast.expr) -> str:
        """Return an expression as JSON."""
        if isinstance(node, python_ast.Constant) and isinstance(node.value, str):
            return json.dumps(node.value, ensure_ascii=False)
        if isinstance(node, python_ast.Constant) and (node.value is None or isinstance(node.value, bool)):
            return _CONSTANTS[node.value]
        if _is_number(node):
            return self._number(node)
        if isinstance(node, python_ast.List | python_ast.Tuple | python_ast.Set):
            return f"[{', '.join(map(self.json, node.elts))}]"
        if isinstance(node, python_ast.Dict):
            return _object_text(
                {self._key(key): self.json(value) for key, value in zip(node.keys, node.values, strict=True)}
            )
        if isinstance(node, python_ast.Call):
            return self._called(node)
        raise PythonSyntaxError(f"{python_ast.unparse(node):.80} is neither a value nor a call of a class")

    def _number(self, node: python_ast.expr) -> str:
        text = self.line[node.col_offset : node.end_col_offset].decode()
        if not JSON_NUMBER.fullmatch(text):
            raise PythonSyntaxError(f"{text:.80} is not written as a number of JSON")
        return text

    def _key(self, node: python_ast.expr | None) -> str:
        if isinstance(node, python_ast.Constant) and isinstance(node.value, str):
            return node.value
        raise PythonSyntaxError("a key of a dict is no string")

    def _called(self, node: python_ast.Call) -> str:
        name, arguments = self.called(node)
        if name == "set":
            return "[]"
        parts = {key: self.json(value) for key, value in arguments.items()}
        cls: Any = self.named[name]
        if issubclass(cls, tuple):
            return f"[{', '.join(parts[field] for field in _fields_of(cls) if field in parts)}]"
        return _object_text(parts)

    def called(self, node: python_ast.Call) -> tuple[str, dict[str, python_ast.expr]]:
        """Return the name and the arguments of a call."""
        name = node.func.id if isinstance(node.func, python_ast.Name) else ""
        is_set = name == "set" and not node.keywords
        if node.args or not (is_set or name in self.named):
            raise PythonSyntaxError(f"{python_ast.unparse(node):.80} is no call of a class with keyword arguments")
        arguments = {argument.arg: argument.value for argument in node.keywords if argument.arg is not None}
        if len(arguments) != len(node.keywords):
            raise PythonSyntaxError("a call has arguments that are not spelled out")
        return name, arguments

    def calls(self) -> Counter[str]:
        found = (node for node in python_ast.walk(self.tree) if isinstance(node, python_ast.Call))
        return Counter(
            node.func.id for node in found if isinstance(node.func, python_ast.Name) and node.func.id != "set"
        )

    def made(self, node: python_ast.expr) -> Any:
        """Return what an expression stands for, instances of classes made one by one, from the inside out."""
        if isinstance(node, python_ast.Dict):
            return {self._key(key): self.made(value) for key, value in zip(node.keys, node.values, strict=True)}
        if isinstance(node, python_ast.List | python_ast.Tuple | python_ast.Set):
            made = [self.made(part) for part in node.elts]
            return (
                tuple(made)
                if isinstance(node, python_ast.Tuple)
                else set(made)
                if isinstance(node, python_ast.Set)
                else made
            )
        if not isinstance(node, python_ast.Call) or not isinstance(node.func, python_ast.Name) or node.func.id == "set":
            return json.loads(self.json(node))
        from pydantic import TypeAdapter

        cls, inner = self.named[node.func.id], [argument.value for argument in node.keywords]
        adapter: TypeAdapter[Any] = TypeAdapter(cls)
        has_calls = any(isinstance(each, python_ast.Call) for part in inner for each in python_ast.walk(part))
        if not has_calls:
            return adapter.validate_json(self.json(node))
        arguments = {key: self.made(value) for key, value in self.called(node)[1].items()}
        return adapter.validate_python(tuple(arguments.values()) if issubclass(cls, tuple) else arguments)


def _fields_of(named_tuple: Any) -> tuple[str, ...]:
    fields: tuple[str, ...] = named_tuple._fields
    return fields


def is_name(text: str) -> bool:
    """Whether Python reads a text as a name, and as the same: it takes some letters for others."""
    return text.isidentifier() and not keyword.iskeyword(text) and unicodedata.normalize("NFKC", text) == text


def _is_number(node: python_ast.expr) -> bool:
    if isinstance(node, python_ast.UnaryOp) and isinstance(node.op, python_ast.USub):
        node = node.operand
    return isinstance(node, python_ast.Constant) and type(node.value) in (int, float)


def _object_text(members: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(key, ensure_ascii=False)}: {text}" for key, text in members.items()) + "}"


class ReadPython(NamedTuple):
    """What a text stands for.

    Attributes:
        json: The same in JSON.
        source: The text.
    """

    json: str
    source: _Source

    def value(self, target: Target[Any]) -> Any:
        """Return the instance.

        Raises:
            pydantic.ValidationError: The type refuses it.
        """
        value = target.validate(self.json)
        calls = self.source.calls()
        surplus = {_count(value, cls) - calls[name] for name, cls in self.source.named.items()}
        if min(surplus, default=0) >= 0 or max(surplus) <= 0:  # a validator may well make something else of an instance
            return value
        return target.adapter.validate_python(self.source.made(self.source.tree))


def read_python(text: str, named: Mapping[str, Any]) -> ReadPython:
    """Read a text.

    Args:
        text: One of those that a `PythonWriter` writes.
        named: The classes that may be called.

    Raises:
        PythonSyntaxError: It is none.
    """
    source = _Source.of(text, named)
    return ReadPython(source.json(source.tree), source)


def _count(value: Any, cls: Any) -> int:
    return sum(type(each) is cls for each in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, list | tuple | set | frozenset | deque):
            todo += part
        elif isinstance(part, dict):
            todo += part.values()
        elif hasattr(part, "__dict__") and not isinstance(part, type):
            todo += vars(part).values()

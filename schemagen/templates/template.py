"""`Template`: a text with holes as a spec, and the values of the holes as its value.

The rules are the pieces one after the other: fixed text, and a rule for each hole, named by it. A hole that is a template
itself, repeated or not, calls the rule of that one. To read a text is to ask for its spans: what the rule of a hole derived is
the text of its value.

Source: the templates of Guidance, as Beurer-Kellner et al. 2024 (DOMINO, section 2) describe them, without control flow.

Invariants: a rule has the path of its hole for a name, such as ``steps[].name``; the start rule is `START`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, overload

from typing_extensions import is_typeddict

from schemagen.checks import check_bounds, kind_of
from schemagen.context_free.captures import marked_rules
from schemagen.context_free.spans import Span, spans_of
from schemagen.context_free.syntax import EMPTY_TEXT, ContextFreeGrammar, Expression, Rule, Text, separated, sequence
from schemagen.errors import OptionError, OptionTypeError, ValidationFailed
from schemagen.grammar.compiler import compile as compile_spec
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import Assembly
from schemagen.grammar.spans import LAYOUTS, guest_ends
from schemagen.regex import ast
from schemagen.templates.fields import Fields, fields_of, instance_of, instance_of_json
from schemagen.templates.holes import Filled, Piece, Scalar, check_fixed, hole_of, pieces_of, shown_text
from schemagen.writers.examples import placeholder, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")

START = "template"
#: Holes of a template and of those in it, and templates within one another.
MAX_HOLES = 10_000
MAX_NESTING = 60


@dataclass(frozen=True, slots=True)
class Repeated:
    """A template as a hole, so many times.

    Attributes:
        template: The repeated template.
        low: How often at least.
        high: How often at most; None if there is no bound.
        separator: The text between two of them.
        is_list: Whether the value is a list; else it is the one value, or None.
    """

    template: Template[Any]
    low: int
    high: int | None
    separator: str = ""
    is_list: bool = True


@dataclass(frozen=True, init=False, repr=False)
class Template(ContextFree[T_co]):
    r"""Fixed text with holes: ``Template("Name: {name}\nAge: {age}", name=str, age=Annotated[int, Ge(0)])``.

    The fixed text is forced: the model reads it, and does not choose it. The value has an attribute for each hole; or it is an
    instance of a class whose fields are the holes: ``Template("Name: {name}\nAge: {age}", Person)``.

    A hole takes what `schemagen.compile` takes, a `gen`, or another template, also ``template.many(...)`` and
    ``template.optional()``. A type whose values are strings (``str``, dates, enums of texts) is written as it is, without
    quotes; a plain ``str`` is one line in which the fixed text after the hole does not occur. Other types are JSON.
    ``{age:int}`` says the type in its place (str, int, float, bool, and text for several lines). Braces that are text are
    doubled.

    Args:
        text: The template, or a t-string, ``t"Age: {int:age}"``: each interpolation a type, after the colon its name.
        into: The class of the value; holes without a type of their own have that of its field.
        holes: What each hole takes.

    Attributes:
        text: The template.
        holes: What each hole takes, by name.
        into: The class of the value, or None.
        size: How many holes there are, with those of templates among them.
        height: How many templates are within one another.
        is_of_class: Whether all holes are fields of the class, in its types.

    Raises:
        OptionError: The braces do not match; a hole has no name or type, or two have the same name; a keyword names no hole; a
            field without a default has no hole, or a hole names no field; or there are too many.
        OptionTypeError: The template is no text, or ``into`` has no fields.
        SchemagenError: As `schemagen.compile`, for what a hole takes.
    """

    text: str
    holes: tuple[tuple[str, Scalar | Template[Any] | Repeated], ...]
    into: Any
    size: int = field(compare=False)
    height: int = field(compare=False)
    is_of_class: bool

    instruction = "Answer only with this text, with each {...} filled in:"
    forces_text = True

    @overload
    def __init__(self: Template[Filled], text: Any, /, **holes: Any) -> None: ...
    @overload
    def __init__(self: Template[T], text: Any, into: type[T], /, **holes: Any) -> None: ...
    def __init__(self, text: Any, into: Any = None, /, *others: Any, **holes: Any) -> None:
        if others:
            raise OptionTypeError(
                f"a template with {1 + len(others)} classes",
                why="what a hole takes is said by its name, and not by its position",
                fix='name the holes: Template("{a} {b}", a=str, b=int)',
            )
        pieces = pieces_of(text)
        given = _specs_of(pieces, into, holes)
        object.__setattr__(self, "text", _rewritten(pieces))
        found = tuple(
            (name, spec if isinstance(spec, Template | Repeated) else hole_of(spec)) for name, spec in given.items()
        )
        object.__setattr__(self, "holes", found)
        object.__setattr__(self, "into", into)
        own = into is not None and not is_typeddict(into) and not holes and all(said is None for _, _, said in pieces)
        schemas = all(isinstance(hole, Scalar) and hole.value_set is not None for _, hole in found)
        object.__setattr__(self, "is_of_class", own and schemas)
        self._measure([hole for _, hole in found])

    def _measure(self, holes: list[Scalar | Template[Any] | Repeated]) -> None:
        """Note how large the template is, and refuse more than can be put together."""
        inner = [
            hole.template if isinstance(hole, Repeated) else hole for hole in holes if not isinstance(hole, Scalar)
        ]
        size = len(holes) + sum(each.size for each in inner)
        height = 1 + max((each.height for each in inner), default=0)
        if size > MAX_HOLES or height > MAX_NESTING:
            raise OptionError(
                f"{size:,} holes, {height} templates within one another",
                why=f"the limits are {MAX_HOLES:,} and {MAX_NESTING}",
                fix="give parts to the model one after the other, or write a grammar: GBNF, EBNF or Lark",
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "height", height)

    def many(self, min: int = 0, max: int | None = None, *, sep: str = "") -> Repeated:  # noqa: A002 - as list_of has them
        """Return this template several times, for a hole whose value is a list.

        Args:
            min: How often at least.
            max: How often at most; None if there is no bound.
            sep: The text between two of them.

        Raises:
            OptionError: The numbers are none, or in the wrong order.
            OptionTypeError: The separator is no text.
        """
        if not isinstance(sep, str):
            raise OptionTypeError(f"sep={sep!r:.80}", why=f"it is {kind_of(sep)}", fix="give a str")
        check_fixed(sep)
        check_bounds(min, max)
        return Repeated(self, min, max, sep)

    def optional(self) -> Repeated:
        """Return this template once or not at all, for a hole whose value is None if it is left out."""
        return Repeated(self, 0, 1, is_list=False)

    def rules(self) -> ContextFreeGrammar:
        """Return the rules of the template: one for each hole."""
        return _Rules().whole(self)

    def value_of(self, text: str) -> T_co:
        """Return the values of the holes.

        Raises:
            ValidationFailed: The text does not fit the template, or a validator refuses a value.
        """
        rules = self.rules()
        for layout in LAYOUTS:
            spans = spans_of(rules, text, guest_ends(text, partial(compile_spec, **layout)))
            if spans is not None:
                return cast("T_co", _read(self, _tree(spans), text))
        raise ValidationFailed(
            f"{text!r:.80} does not fit the template",
            text=text,
            why="it was not written under this grammar, or cut off",
            fix="validate whole texts",
        )

    def shown(self) -> str:
        """Return the template with what its holes take."""
        return self.described()

    def described(self, render: Callable[[Any], str] | None = None) -> str:
        """Return the template with the types of its holes: their names, or their schemas as a rendering writes them."""
        return shown_text(pieces_of(self.text), {name: _shown(hole, render) for name, hole in self.holes})

    def example(self) -> str | None:
        """Return a text that fits; None if no short one is found."""
        return text_of(self.rules(), dict(_wishes(self, "")))

    def placeholders(self) -> str:
        """Return the template with ``<name>`` in each hole, once for a template that is repeated."""
        holes = {name: hole.template if isinstance(hole, Repeated) else hole for name, hole in self.holes}
        inner = {
            name: hole.placeholders() if isinstance(hole, Template) else placeholder(name)
            for name, hole in holes.items()
        }
        return "".join(piece.text + inner.get(piece.hole or "", "") for piece in pieces_of(self.text))

    def __repr__(self) -> str:
        """Return the call that makes it, holes as a prompt shows them."""
        holes = "".join(f", {name}={_shown(hole)}" for name, hole in self.holes)
        into = "" if self.into is None else f", {getattr(self.into, '__name__', '...')}"
        return f"Template({self.text!r}{into}{holes})"


# --- arguments -----------------------------------------------------------------------------------------------------------


def _specs_of(pieces: list[Piece], into: Any, holes: dict[str, Any]) -> dict[str, Any]:
    """Return what each hole takes: by its keyword, by the word in its braces, or by the field of its name."""
    names = [name for _, name, _ in pieces if name is not None]
    if unknown := [name for name in holes if name not in names]:
        close = difflib.get_close_matches(unknown[0], names, 1)
        fix = f"did you mean {close[0]}=?" if close else f"write {{{unknown[0]}}} in it, or leave {unknown[0]}= out"
        why = f"the holes are {', '.join(names) or 'none'}"
        raise OptionError(f"{unknown[0]}= names no hole", why=why, fix=fix)
    fields = None if into is None else fields_of(into)
    if fields is not None:
        _check_fields(names, fields, into)
    found: dict[str, Any] = {}
    for _, name, said in pieces:
        if name is None:
            continue
        spec = holes.get(name, said)
        if spec is None and name not in holes:
            if fields is None:
                raise OptionError(
                    f"the hole {{{name}}} has no type",
                    why="neither the text nor an argument gives a type",
                    fix=f"give it: {name}=str",
                )
            spec = fields.types[name]
        found[name] = spec
    return found


def _check_fields(names: list[str], fields: Fields, into: Any) -> None:
    """Refuse holes that do not fill a class."""
    if others := [name for name in names if name not in fields.types]:
        close = difflib.get_close_matches(others[0], fields.types, 1)
        fix = "leave out the hole, or the class: the value then has an attribute for each hole"
        raise OptionError(
            f"the hole {{{others[0]}}} is not a field of {into.__name__}",
            why=f"its fields are {', '.join(fields.types) or 'none'}",
            fix=f"did you mean {{{close[0]}}}?" if close else fix,
        )
    if missing := sorted(fields.required - {*names}):
        raise OptionError(
            f"the template has no hole for {missing[0]!r}",
            why=f"it is a field of {into.__name__} without a default",
            fix=f"write {{{missing[0]}}} in it",
        )


def _rewritten(pieces: list[Piece]) -> str:
    """Return the template as a str whose holes have names alone."""
    return "".join(
        text.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{name}}}") for text, name, _ in pieces
    )


def _shown(hole: Scalar | Template[Any] | Repeated, render: Callable[[Any], str] | None = None) -> str:
    if isinstance(hole, Scalar):
        return hole.shown(render)
    if isinstance(hole, Template):
        return repr(hole.described(render))
    often = f"{hole.low} to {hole.high}" if hole.high is not None else f"{hole.low} or more"
    between = f", {hole.separator!r} between them" if hole.separator else ""
    return f"{hole.template.described(render)!r} {f'{often} times' if hole.is_list else 'or nothing'}{between}"


def _wishes(template: Template[Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the rules of holes, each with an example of its texts."""
    for name, hole in template.holes:
        if isinstance(hole, Template):
            yield from _wishes(hole, f"{prefix}{name}.")
        elif isinstance(hole, Repeated):
            yield from _wishes(hole.template, f"{prefix}{name}[].")
        elif (example := hole.example()) is not None:
            yield f"{prefix}{name}", example


# --- rules ---------------------------------------------------------------------------------------------------------------


class _Rules:
    """The rules of a template and of those in its holes."""

    def __init__(self) -> None:
        self._assembly = Assembly()
        self._rules = self._assembly.rules
        self._grammars: list[tuple[str, Scalar]] = []
        self._labels: dict[str, tuple[str, ...]] = {}  # of the holes

    def whole(self, template: Template[Any]) -> ContextFreeGrammar:
        """Return the rules of a template."""
        self.add(START, template, frozenset())
        for path, hole in self._grammars:
            self._rules[path] = self._assembly.expression(hole.spec)
        marked = {**self._assembly.marked, **marked_rules(self._rules, self._labels)}
        return ContextFreeGrammar(START, self._rules, left_out=tuple(self._assembly.left_out), marked=marked)

    def add(self, path: str, template: Template[Any], after: frozenset[str]) -> None:
        """Add the rule of a template, and those of its holes.

        Args:
            path: Its name.
            template: The template.
            after: The fixed texts that may come after it.
        """
        holes = dict(template.holes)
        pieces = pieces_of(template.text)
        prefix = "" if path == START else f"{path}."
        body: list[Expression] = []
        for at, piece in enumerate(pieces):
            body.append(Text(ast.literal(piece.text)))
            if piece.hole is not None:
                name = f"{prefix}{piece.hole}"
                self._hole(name, holes[piece.hole], _first(pieces[at + 1 :], holes, after))
                body.append(Rule(name))
        self._rules[path] = sequence(*body)

    def _hole(self, path: str, hole: Scalar | Template[Any] | Repeated, after: frozenset[str]) -> None:
        self._labels[path] = (path,)
        if isinstance(hole, Scalar) and hole.is_grammar:
            self._rules[path] = EMPTY_TEXT  # the name is taken; rules of grammars come after those of holes
            self._grammars.append((path, hole))
        elif isinstance(hole, Scalar):
            self._rules[path] = hole.expression(after)
        elif isinstance(hole, Template):
            self.add(path, hole, after)
        else:
            item = f"{path}[]"
            begin = frozenset((hole.separator,)) if hole.separator else _first_of(hole.template, after)
            self.add(item, hole.template, after if hole.high == 1 else after | begin)
            self._rules[path] = separated(Rule(item), Text(ast.literal(hole.separator)), hole.low, hole.high)


def _first(
    pieces: list[Piece], holes: dict[str, Scalar | Template[Any] | Repeated], after: frozenset[str]
) -> frozenset[str]:
    """Return the fixed texts that pieces may begin with; a hole whose text may be anything has none."""
    found: set[str] = set()
    for piece in pieces:
        if piece.text:
            return frozenset((*found, piece.text))
        if piece.hole is None:
            break
        hole = holes[piece.hole]
        if isinstance(hole, Scalar):
            return frozenset(found)
        inner = hole if isinstance(hole, Template) else hole.template
        found |= _first_of(inner, frozenset())
        if not (isinstance(hole, Repeated) and hole.low == 0):
            return frozenset(found)
    return frozenset(found) | after


def _first_of(template: Template[Any], after: frozenset[str]) -> frozenset[str]:
    return _first(pieces_of(template.text), dict(template.holes), after)


# --- values --------------------------------------------------------------------------------------------------------------


class _Node(NamedTuple):
    """A span and those inside it."""

    span: Span
    inner: list[_Node]


def _tree(spans: list[Span]) -> _Node:
    """Return the first span with all others inside it."""
    open_nodes: list[_Node] = []
    for span in spans:
        node = _Node(span, [])
        del open_nodes[span.depth :]
        if open_nodes:
            open_nodes[-1].inner.append(node)
        open_nodes.append(node)
    return open_nodes[0]


def _read(template: Template[Any], node: _Node, text: str) -> Any:
    """Return the value of a template. Spans inside an empty one are not told: they are all empty."""
    nodes = node.inner or [_Node(node.span, [])] * len(template.holes)
    if template.is_of_class:
        members = {
            name: hole.written(text[inner.span.start : inner.span.end])
            for (name, hole), inner in zip(template.holes, nodes, strict=True)
            if isinstance(hole, Scalar)  # the type of a field is nothing else
        }
        return instance_of_json(template.into, members, text)
    values = {name: _value(hole, inner, text) for (name, hole), inner in zip(template.holes, nodes, strict=True)}
    return Filled(**values) if template.into is None else instance_of(template.into, values, text)


def _value(hole: Scalar | Template[Any] | Repeated, node: _Node, text: str) -> Any:
    if isinstance(hole, Scalar):
        return hole.read(text[node.span.start : node.span.end])
    if isinstance(hole, Template):
        return _read(hole, node, text)
    values = [_read(hole.template, inner, text) for inner in node.inner or [_Node(node.span, [])] * hole.low]
    return values if hole.is_list else next(iter(values), None)

"""`Grammar`: a compiled constraint over a vocabulary."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Literal, cast

from typing_extensions import TypeVar

from schemagen.checks import check_text
from schemagen.engine.tokens import has_inner_ends
from schemagen.errors import OptionError, SchemagenError, UnsatisfiableSchemaError, ValidationFailed
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import json_regex, pattern_of, unordered
from schemagen.grammar.pipeline import guest_engine, has_values, options_of, report_of
from schemagen.grammar.reading import mistyped, read_source, styled, target_of
from schemagen.grammar.refusals import parsed, validated
from schemagen.grammar.specs import Choice, Regex, frozen_spec, given_spec
from schemagen.grammar.written import Written
from schemagen.notebook import html_table
from schemagen.schema.report import Entry, Report
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from schemagen import _core
    from schemagen.context_free.spans import Span
    from schemagen.draw import Drawing
    from schemagen.engine.options import Options
    from schemagen.engine.protocol import Matcher
    from schemagen.grammar.lint import Advice
    from schemagen.grammar.memory_cache import FrozenSpec
    from schemagen.regex import ast
    from schemagen.schema.normalise import Normaliser
    from schemagen.types.reflection import Target
    from schemagen.vocabulary import Vocabulary


T = TypeVar("T", default=Any)
Picture = Literal["automaton", "pushdown", "rules", "index", "mask"]


@without_property_locks
class Grammar(Generic[T]):
    """A compiled constraint over a vocabulary: immutable, without any per-sequence state, shared between threads.

    For a type checker the grammar of ``Person`` is a ``Grammar[Person]``; without brackets it is a ``Grammar[Any]``.

    Attributes:
        vocabulary: The vocabulary it is a mask over.
        thought_tokens: 0: there are no thoughts before its texts.
    """

    thought_tokens = 0

    def __init__(  # noqa: PLR0913 - what a grammar is, once; `compile` alone makes them
        self,
        frozen: FrozenSpec,
        vocabulary: Vocabulary,
        arguments: dict[str, Any],
        *,
        compiler: Callable[[Any, Vocabulary, dict[str, Any]], Grammar[Any]],
        implementation: _core.Constraint,
        target: Target[Any] | None = None,
        is_exact: bool = True,
        over: Vocabulary | None = None,
    ) -> None:
        # A schema is kept as bytes: few need it again, and for the garbage collector it would be hundreds of objects.
        self._frozen = frozen if frozen.marshalled is None else frozen._replace(value=None)
        self.vocabulary = vocabulary
        self._arguments = arguments
        #: `recompile`, which makes grammars of other specs with arguments like these.
        self._compile = compiler
        self._implementation = implementation
        self._target = target
        self._is_exact = is_exact
        #: The vocabulary with marks for the tokens that the grammar names, if it names any.
        self._over = over or vocabulary

    @property
    def names_tokens(self) -> bool:
        """Whether it is a grammar that names tokens of the vocabulary, which are no text: ``<|python_tag|>``."""
        return self._over is not self.vocabulary

    @cached_property
    def spec(self) -> Any:
        """The spec that was compiled; a copy of it if it is a JSON Schema."""
        return self._frozen.copy()

    @property
    def target(self) -> Target[T] | None:
        """The type with its reader; None for other specs."""
        return self._target

    @property
    def schema(self) -> Any:
        """The JSON Schema, None for patterns, choices and grammar texts."""
        if self._target is not None:
            return self._target.schema
        return None if isinstance(self.spec, Regex | Choice | ContextFree) else self.spec

    def __deepcopy__(self, memo: dict[int, Any]) -> Grammar:
        """Return this grammar: nothing in it ever changes (transformers copies the options of a request)."""
        return self

    def matcher(self) -> Matcher:
        """Return a cursor at the start of a text."""
        return self._implementation.matcher()

    @cached_property
    def report(self) -> Report:
        """How every keyword at every node is enforced; of a grammar text the facts about its rules.

        Cost: when it is first asked for, that of compiling; nothing is noted for it before.
        """
        if isinstance(self.spec, ContextFree):
            from schemagen.grammar.context_free_report import report_of_rules

            return report_of_rules(self.spec, self._implementation)
        if isinstance(self.spec, Regex | Choice):
            return Report((Entry("", type(self.spec).__name__.lower(), "enforced"),))
        return report_of(self.schema, self._arguments, self._target)

    def lint(self, max_new_tokens: int | None = None) -> tuple[Advice, ...]:
        """Return advice about the type: choices that are valid, but make answers worse, longer or dearer.

        Args:
            max_new_tokens: The budget that answers will have.

        Returns:
            The advice, rule by rule. Of patterns, choices and grammar texts only the budget is considered. `print` shows each
            with its reason and remedy.

        Cost: that of `report`, and some milliseconds for the tokens of keys.
        """
        from schemagen.grammar.lint import lint

        return lint(self, max_new_tokens)

    @property
    def min_new_tokens(self) -> int | None:
        """The smallest budget of tokens that always suffices for a whole text: see `Matcher.tokens_to_finish`.

        None where the vocabulary has no token for some byte of every text, or where the shortest text is not found in
        reasonable time (above 200,000 bytes it is not looked for).
        """
        return self._min_new_tokens

    @cached_property
    def _min_new_tokens(self) -> int | None:
        return self.matcher().tokens_to_finish()

    @property
    def least_new_tokens(self) -> int:
        """A lower bound of the tokens of a text, known also where `min_new_tokens` is not."""
        return self._least_new_tokens

    @cached_property
    def _least_new_tokens(self) -> int:
        return -(-self._implementation.matcher().least_bytes() // max(1, *map(len, self._over.tokens)))

    @property
    def forces_text(self) -> bool:
        """Whether text without a choice is written without asking the model for its tokens, as in a template."""
        return isinstance(self.spec, ContextFree) and self.spec.forces_text

    @property
    def has_temperatures(self) -> bool:
        """Whether a rule has a temperature: see `Matcher.temperature`."""
        return self._implementation.has_temperatures

    @property
    def has_inner_ends(self) -> bool:
        """Whether an EOS token may stand inside a text, as in a grammar that names one."""
        return self._has_inner_ends

    @cached_property
    def _has_inner_ends(self) -> bool:
        return self.names_tokens and has_inner_ends(cast("ContextFree[Any]", self.spec).rules(), self.vocabulary)

    @property
    def counts_tokens(self) -> bool:
        """Whether it is a grammar that counts tokens: its texts alone do not say what may follow."""
        return self._implementation.counts_tokens

    @property
    def token_table(self) -> _core.TokenTable | None:
        """This grammar as a table over tokens, for `schemagen.device`; None if it counts tokens."""
        return self._token_table

    @cached_property
    def _token_table(self) -> _core.TokenTable | None:
        if self.counts_tokens:
            return None
        from schemagen import _core

        return _core.TokenTable(self._implementation)

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the automaton now; it grows a little while it is used, up to `Limits`."""
        return self._implementation.memory_bytes

    def draw(
        self, what: Picture | None = None, *, after: str | bytes = "", max_states: int = 40, max_tokens: int = 8
    ) -> Drawing:
        """Return a picture of this grammar: Mermaid or DOT text, SVG where Graphviz is installed. Notebooks show it.

        Args:
            what: "automaton" is the finite automaton of the language, over characters; "pushdown" the objects and arrays of a
                schema and how they nest; "rules" the rules of a grammar text as railroad diagrams, whose SVG needs no
                Graphviz; "index" the tokens that lead from state to state; "mask" the tokens that are allowed
                after a text. By default the automaton of a pattern or choice, the pushdown of a schema or type, the rules of a
                grammar text.
            after: The text before the mask.
            max_states: Most states, rules, or objects and arrays, to draw; the caption names the rest.
            max_tokens: Most tokens to list in one place; there and in the caption they are counted.

        Raises:
            UnsupportedSchemaError: Of a recursive schema, or with keys in any order, there is no finite automaton and no index.
            LimitError: The automaton is too large to be built whole.
            MatcherError: No text begins with ``after``.
            OptionError: ``what`` is none of these, "pushdown" of a pattern or choice, or "rules" of no grammar text.

        Cost: of "automaton" and "index", building the whole automaton, seconds at worst; an index O(V) for each state.
        """
        is_pattern = isinstance(self.spec, Regex | Choice | ContextFree)
        is_text = isinstance(self.spec, ContextFree)
        kind = what or ("rules" if is_text else "automaton" if is_pattern else "pushdown")
        if kind not in _PICTURES:
            raise mistyped("what", what, _PICTURES)
        if kind == "mask":
            from schemagen.draw.tokens import draw_mask

            text = after if isinstance(after, bytes) else after.encode()
            return draw_mask(self.matcher(), self.vocabulary, text, max_tokens=max_tokens)
        if kind == "pushdown":
            if is_pattern:
                raise OptionError("what='pushdown'", why="a pattern or choice needs no stack", fix="choose 'automaton'")
            return self._pushdown(max_states)
        if kind == "rules":
            if not is_text:
                raise OptionError("what='rules'", why="only a grammar text has rules", fix="leave what= out")
            from schemagen.draw.rules import draw_rules

            return draw_rules(self.spec.rules(), max_rules=max_states)
        if self.schema is not None and self._arguments["property_order"] == "any":
            raise unordered("no finite automaton of a picture has keys in any order", "draw 'pushdown' or 'mask'")
        from schemagen.draw.byte_automaton import byte_automaton

        machine = byte_automaton(self.regex(), self._arguments["limits"])
        if kind == "automaton":
            from schemagen.draw.automaton import draw_automaton

            return draw_automaton(machine, max_states=max_states)
        from schemagen.draw.tokens import draw_index

        return draw_index(machine, self.vocabulary, max_states=max_states, max_tokens=max_tokens)

    def validate(self, text: str) -> T:
        """Return the value that a complete text denotes: an instance of the type, parsed JSON, or the text itself.

        Raises:
            ValidationFailed: A validator of the type refuses it, or a keyword left to this check (``strict=False``); or the
                text is none of this grammar, such as half of one. ``error`` is the exception of pydantic, jsonschema or json.
            OptionTypeError: It is no text.
        """
        check_text("validate", text)
        if self._target is not None:
            return cast("T", validated(self._target, text))
        if self.schema is None:
            return cast("T", self.spec.value_of(text) if isinstance(self.spec, Choice | ContextFree) else text)
        value = parsed(text)
        if not self._is_exact:
            _check_afterwards(self.schema, value, text, self._arguments["resources"])
        return cast("T", value)

    def spans(self, text: str) -> list[Span]:
        """Return which part of a complete text is what: of each rule, hole or named group where it begins and ends.

        A text of the rules ``start`` and ``pair`` has a span for ``start`` and one for each ``pair`` in it. Outer ones come
        first. Where a text can be read in several ways the leftmost longest one counts.

        Args:
            text: One of this grammar.

        Raises:
            ValidationFailed: It is none of this grammar.
            OptionTypeError: It is no text.
            OptionError: Nothing has a name: of a type or schema, and of patterns that are not Python's.
            UnsupportedGrammarError: The parser of the grammar is LALR, it has blocks by indentation, or it names tokens.
            LimitError: It is too ambiguous there.

        Cost: a chart parser in Python, some microseconds for each character and rule.
        """
        from schemagen.grammar.spans import spans_in

        check_text("spans", text)
        arguments = {name: self._arguments[name] for name in ("whitespace", "property_order", "limits")}
        return spans_in(self.spec, text, lambda spec, over: self._compile(spec, over, arguments))

    @staticmethod
    def concat(*parts: Any) -> Grammar:
        """Return the grammar of texts that are one of each part, one directly after the other; values are texts.

        Args:
            parts: Compiled grammars over one vocabulary, compiled with the same options, and specs; one grammar at least.

        Raises:
            OptionError: There is no compiled grammar among them, or two do not go together.
            SchemagenError: As `schemagen.compile` does.
        """
        from schemagen.grammar.combinators import concat

        return _combined(parts, concat)

    @staticmethod
    def union(*parts: Any) -> Grammar:
        """Return the grammar of texts that are a text of any of the parts; arguments and errors as for `concat`."""
        from schemagen.grammar.combinators import union

        return _combined(parts, union)

    def repeat(self, low: int = 0, high: int | None = None) -> Grammar:
        """Return the grammar of ``low`` to ``high`` of these texts (None sets no bound), one directly after the other."""
        from schemagen.grammar.combinators import repeat

        return _combined((self,), lambda part: repeat(part, low, high))

    def star(self) -> Grammar:
        """Return the grammar of any number of these texts, one directly after the other."""
        return self.repeat()

    def plus(self) -> Grammar:
        """Return the grammar of one or more of these texts, one directly after the other."""
        return self.repeat(1)

    def optional(self) -> Grammar:
        """Return the grammar of these texts and the empty one."""
        return self.repeat(0, 1)

    def check_combines(self, other: Grammar) -> None:
        """Refuse a grammar that was compiled otherwise than this one, so that one grammar cannot be made of both.

        Raises:
            OptionError: Its vocabulary or an option is another one.
        """
        if other.vocabulary.fingerprint != self.vocabulary.fingerprint:
            raise OptionError(
                f"grammars over {self.vocabulary!r} and {other.vocabulary!r}",
                why="a mask is over one vocabulary",
                fix="compile all parts over the same vocabulary",
            )
        for name, value in self._arguments.items():
            if other._arguments[name] != value:
                raise OptionError(
                    f"grammars with {name}={value!r:.80} and {name}={other._arguments[name]!r:.80}",
                    why="one grammar is compiled in one way",
                    fix="compile all parts with the same options",
                )

    def arguments_inside(self) -> dict[str, Any]:
        """Return the options to compile a grammar with that has this one inside.

        Raises:
            OptionError: It was compiled with ``strict=False`` or ``resources=``, of which nothing inside a grammar knows.
        """
        if self._arguments["resources"] is not None or not self._arguments["strict"]:
            raise OptionError(
                "a part was compiled with strict=False or resources=",
                why="inside another grammar every keyword is enforced, and only the schema itself is known",
                fix="compile it without them",
            )
        return dict(self._arguments)

    def compiled_again(self) -> _core.Constraint:
        """Return an engine like its own, to be embedded and not shared: an automaton belongs to one constraint.

        Raises:
            LimitError: A limit stopped the work.
        """
        again = {**self._arguments, "cache": None}
        return self._compile(self.spec, self.vocabulary, again)._implementation  # noqa: SLF001 - of its own class

    def engine_inside(self, spec: Any, vocabulary: Vocabulary) -> _core.Constraint:
        """Return the engine of something that its rules embed, compiled with the options of this grammar.

        Args:
            spec: As in a `Guest` of its rules.
            vocabulary: The tokens, with marks for those that are named around it.
        """
        return guest_engine(spec, vocabulary, options_of(self._arguments))

    @property
    def resources(self) -> Mapping[str, Any] | None:
        """The documents that references of the schema may lead to; as for `schemagen.compile`."""
        found: Mapping[str, Any] | None = self._arguments["resources"]
        return found

    def over(self, vocabulary: Vocabulary) -> Grammar[T]:
        """Return the same grammar over another vocabulary; errors as for `schemagen.compile`."""
        return cast("Grammar[T]", self._compile(self.spec, vocabulary, self._arguments))

    @property
    def value_schema(self) -> Any:
        """The JSON Schema of the values, in whatever format they are written; None if they are texts."""
        return self.spec.schema if isinstance(self.spec, Written) else self.schema

    def narrowed(self, schema: dict[str, Any]) -> Grammar[T]:
        """Return the grammar of the values that a further JSON Schema allows, too, compiled and written as these.

        Args:
            schema: Of the draft of `value_schema`, without references.

        Raises:
            OptionError: The values are texts: this is the grammar of a pattern, of choices or of rules. Or they are written as
                Python or as tables, whose layout follows from the type itself.
            SchemagenError: As `schemagen.compile` does.
        """
        spec = self._narrowed_spec(schema)
        if isinstance(self.spec, Written):
            if self.spec.format not in ("yaml", "xml"):
                raise OptionError(
                    f"parts of a value are given, and as_={self.spec.format!r}",
                    why="the layout of this format follows from the type, and not from the schema of its given parts",
                    fix="leave as_ out, or choose 'yaml' or 'xml'",
                )
            spec = type(self.spec)(frozen_spec(spec))
        return cast("Grammar[T]", self._compile(spec, self.vocabulary, self._arguments))

    def reordered(self, objects: Sequence[Sequence[str]]) -> Grammar[T]:
        """Return the grammar of the same values, with keys in the order of those objects.

        Args:
            objects: As `schemagen.schema.key_order.keys_of_objects` returns them.
        """
        from schemagen.types.narrowed import reordered

        return cast("Grammar[T]", self._compile(reordered(self.spec, objects), self.vocabulary, self._arguments))

    def has_values(self, schema: dict[str, Any]) -> bool:
        """Whether a further JSON Schema allows any of the values; arguments and errors as for `narrowed`.

        Cost: that of a compilation without masks.
        """
        spec = self._narrowed_spec(schema)
        target = target_of(spec)
        source = read_source(spec if target is None else target.schema, self._arguments, target)
        return has_values(source, styled(options_of(self._arguments), target))

    def reason_against(self, schema: dict[str, Any]) -> str:
        """Return why a further JSON Schema allows none of the values; empty if it is not known, or allows some."""
        try:
            self._compile(self._narrowed_spec(schema), self.vocabulary, {**self._arguments, "cache": None})
        except UnsatisfiableSchemaError as error:
            return error.why
        return ""

    def _narrowed_spec(self, schema: dict[str, Any]) -> Any:
        from schemagen.types.narrowed import narrowed

        if self.value_schema is None:
            raise OptionError(
                f"{self.spec!r:.80} has no parts",
                why="its values are texts, and parts are those of a value of JSON",
                fix="give a type, or a JSON Schema",
            )
        spec = self.spec
        return narrowed(given_spec(spec.type) if isinstance(spec, Written) else spec, schema)

    def regex(self) -> ast.Regex:
        """Return the language as a regular expression over characters.

        Raises:
            UnsupportedSchemaError: It is recursive, or keys may come in any order.
            UnsupportedGrammarError: The rules call themselves.
        """
        if isinstance(self.spec, Regex | Choice | ContextFree):
            return pattern_of(self.spec)
        return json_regex(*self._read_again())

    def _read_again(self) -> tuple[Normaliser, Options]:
        """Return the schema, ready to be looked into, and the options that its texts were compiled with."""
        options = styled(options_of(self._arguments), self._target)
        return read_source(self.schema, self._arguments, self._target).normaliser(options), options

    def _pushdown(self, max_states: int) -> Drawing:
        from schemagen.draw.pushdown import draw_pushdown

        return draw_pushdown(self._read_again()[0], max_states=max_states)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the spec and the options: the grammar is compiled again where it is unpickled."""
        return (self._compile, (self.spec, self.vocabulary, self._arguments))

    def __repr__(self) -> str:
        """Show the spec and the size of the vocabulary."""
        return f"Grammar({self.spec!r:.80}, vocabulary={self.vocabulary.size})"

    def _repr_html_(self) -> str:
        """Show the spec and the figures as a table in a notebook, and a small picture below it.

        Cost: the first time, that of the report and of the picture: 20 to 40 ms for a type.
        """
        shown: dict[str, object] = {
            "kind": self._kind,
            "spec": getattr(self.spec, "__qualname__", f"{self.spec!r:.200}"),
            "vocabulary": f"{self.vocabulary.size:,} tokens",
            "memory": f"{self.memory_bytes / 1000:,.1f} kB, {self._implementation.state_count:,} states so far",
            "min_new_tokens": "not known" if self.min_new_tokens is None else self.min_new_tokens,
        }
        if not isinstance(self.spec, ContextFree):  # there the report has facts, which take up to a second to find
            shown["report"] = self.report.summary
        return html_table(shown.items()) + self._picture

    @property
    def _kind(self) -> str:
        if self.schema is None:
            return type(self.spec).__name__
        return "JSON Schema" if self._target is None else "type"

    @cached_property
    def _picture(self) -> str:
        """A picture of the rules, or of how objects nest; empty if it is large, or if there is no Graphviz to make it."""
        if isinstance(self.spec, Regex | Choice):  # a whole automaton may take seconds
            return ""
        from schemagen.draw.drawing import STYLE

        try:
            drawing = self.draw(max_states=_DRAWN)
            svg = drawing.svg()
        except SchemagenError:
            return ""
        if len(svg) >= _LARGE:
            return ""
        # Within a page the picture inherits the colour of the text.
        return f"<div>{svg.replace(STYLE, '')}<div>{escape(drawing.caption)}</div></div>"


def _check_afterwards(schema: Any, value: Any, text: str, resources: Mapping[str, Any] | None) -> None:
    """Check a finished value by jsonschema, with the given documents only and patterns read as ECMA-262."""
    from jsonschema import ValidationError

    from schemagen.errors.pointers import pointer_of
    from schemagen.schema.checks import validator

    try:
        validator(schema, resources).validate(value)
    except ValidationError as error:
        raise ValidationFailed(
            f"the text breaks a keyword that is only checked afterwards: {error.message}",
            at=pointer_of(tuple(error.absolute_path)),
            text=text,
            error=error,
        ) from error


#: Most rules, or objects and arrays, in the picture of a notebook; from this length of its SVG on it is too large to be read.
_DRAWN, _LARGE = 6, 20_000
_PICTURES = ("automaton", "pushdown", "rules", "index", "mask")


def _combined(parts: tuple[Any, ...], combination: Callable[..., Any]) -> Grammar:
    """Return a combination of specs and compiled grammars, compiled as these were.

    Args:
        parts: One compiled grammar at least, all of them over the same vocabulary.
        combination: Makes the spec of the parts, which are specs only.
    """
    grammars = [part for part in parts if isinstance(part, Grammar)]
    if not grammars:
        raise OptionError(
            "no part is a compiled grammar",
            why="nothing says over which vocabulary to compile",
            fix="use schemagen.concat, schemagen.union or schemagen.repeat, which make a spec",
        )
    first = grammars[0]
    for other in grammars[1:]:
        first.check_combines(other)
    spec = combination(*(part.spec if isinstance(part, Grammar) else part for part in parts))
    return first._compile(spec, first.vocabulary, first.arguments_inside())  # noqa: SLF001 - of its own class

"""From a spec to an engine: the ways there are, in the order in which they are tried.

A schema comes to an engine by the first of these ways that is open: the core alone, where it can read the whole schema; the
core and the front end in turns; the front end alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.engine.options import DEFAULT_STYLE, Options
from schemagen.errors import (
    InvalidSchemaError,
    PatternError,
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedGrammarError,
    UnsupportedSchemaError,
)
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex, no_spec
from schemagen.schema.numbers.rules import MAX_EXPONENT, MAX_SHORT_DIGITS
from schemagen.schema.report import Entry, Report
from schemagen.threads.clock import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.native.fast_reader import CorePass
    from schemagen.engine.native.lowering import JsonLowering
    from schemagen.engine.protocol import Engine
    from schemagen.regex import ast
    from schemagen.schema.normalise import Dialect, Normaliser
    from schemagen.types.reflection import Target
    from schemagen.vocabulary import Vocabulary


#: From so many texts on, those of a Choice are no expressions.
MANY_CHOICES = 1_000


def target_of(spec: Any) -> Target[Any] | None:
    """Return what pydantic knows of a type; None for a JSON Schema, which needs no pydantic."""
    if isinstance(spec, dict | bool):
        return None
    from schemagen.types.reflection import is_type, reflect

    if not is_type(spec):
        raise no_spec(spec)
    return reflect(spec)


class _Source(NamedTuple):
    """A schema and how it is read.

    Attributes:
        schema: The JSON Schema.
        dialect: Whose reading of patterns and formats counts.
        strict: As for `compile`.
        resources: As for `compile`.
        marshalled: What `marshal` makes of the schema, if that is at hand.
    """

    schema: Any
    dialect: Dialect
    strict: bool
    resources: Any
    marshalled: bytes | None

    def normaliser(self, options: Options) -> Normaliser:
        """Return a fresh one within the limits of the options."""
        return _front_end().Normaliser(
            self.schema,
            resources=self.resources,
            strict=self.strict,
            dialect=self.dialect,
            max_depth=options.limits.max_depth,
            max_alternatives=options.limits.max_alternatives,
            check_time=Deadline(options.limits.max_seconds).check,
            marshalled=self.marshalled,
        )


def read_source(
    schema: Any, arguments: dict[str, Any], target: Target[Any] | None, marshalled: bytes | None = None
) -> _Source:
    """Return a schema with how it is read: as pydantic reads it where a type made it."""
    return _Source(schema, _dialect_of(target), arguments["strict"], arguments["resources"], marshalled)


def _dialect_of(target: Target[Any] | None) -> Dialect:
    return "json-schema" if target is None else "python"


class _FrontEnd(NamedTuple):
    """What reads a schema and spells it for the core."""

    Normaliser: type[Normaliser]
    JsonLowering: type[JsonLowering]
    begin: Callable[..., CorePass | None]
    constraint_of: Callable[[CorePass, Vocabulary], Engine]


@lru_cache(maxsize=1)
def _front_end() -> _FrontEnd:
    """Import it when it is first needed, for a pattern does without; once, for importing has its price, too."""
    from schemagen.engine.native.lowering import JsonLowering, begin, constraint_of
    from schemagen.schema.normalise import Normaliser

    return _FrontEnd(Normaliser, JsonLowering, begin, constraint_of)


def json_engine(source: _Source, options: Options, vocabulary: Vocabulary) -> tuple[Engine, bool]:
    """Return the engine of a schema, and whether nothing is left to a check of the finished value."""
    try:
        if source.resources is None:
            begun = _compile_in_core(source, options, vocabulary)
            if begun is not None:
                return begun
        return _compile_by_front_end(source, options, vocabulary)
    except UnsatisfiableSchemaError as error:
        from schemagen.engine.native.unsatisfiable import explained

        raise explained(error, source.schema, options, source.dialect, source.resources) from None


def _compile_in_core(source: _Source, options: Options, vocabulary: Vocabulary) -> tuple[Engine, bool] | None:
    """Return the engine of a schema that the core begins to read, None where the front end has to read all of it.

    The front end drops alternatives that lie inside others, with all that is below, before the core would know. So what is
    wrong with a schema, what has to be left to a check, and whether anything is or has, only the front end can tell.
    """
    begun = _front_end().begin(source.schema, source.marshalled, source.dialect, options)
    if begun is None:
        return None
    if begun.is_whole:
        return _front_end().constraint_of(begun, vocabulary), True
    try:
        made, is_exact = _compile_by_front_end(source, options, vocabulary, begun)
    except (InvalidSchemaError, UnsupportedSchemaError, PatternError):
        return None
    return (made, True) if is_exact else None


def _compile_by_front_end(
    source: _Source, options: Options, vocabulary: Vocabulary, begun: CorePass | None = None
) -> tuple[Engine, bool]:
    normaliser = source.normaliser(options)
    try:
        return _front_end().JsonLowering(normaliser, options, begun).compile(vocabulary), normaliser.is_exact
    finally:
        normaliser.forget()


def unordered(fact: str, instead: str) -> UnsupportedSchemaError:
    """Return the error for an order of keys that an engine cannot give."""
    return UnsupportedSchemaError(
        fact,
        why="it would have to remember which keys there were, in a state for each set of them",
        fix=f"compile with property_order='schema', or {instead}",
        code="not-regular",
    )


def json_regex(normaliser: Normaliser, options: Options) -> ast.Regex:
    """Return the JSON texts of a schema without recursion as one regular expression."""
    from schemagen.schema.to_regex import json_text, page_of

    return json_text(normaliser, page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style))


_PYTHON_STYLE = replace(DEFAULT_STYLE, integer_fraction=False)


def styled(options: Options, target: Target[Any] | None) -> Options:
    """Python's int is written without a fraction; a JSON Schema integer may be 1.0, as is the default."""
    return options if target is None else options._replace(number_style=_PYTHON_STYLE)


def report_of(schema: Any, arguments: dict[str, Any], target: Target[Any] | None) -> Report:
    """Return the report of the keywords, then what pydantic checks, then the soft caps: the schema is read for it."""
    options = Options(arguments["property_order"], arguments["whitespace"], limits=arguments["limits"])
    options = styled(options, target)
    normaliser = read_source(schema, arguments, target).normaliser(options)
    _front_end().JsonLowering(normaliser, options).has_values()
    style = options.number_style
    checked, capped = ((), ()) if target is None else (target.checked, target.capped)
    return Report(
        (
            *normaliser.report().entries,
            *(Entry(at, what, "checked_after", "by pydantic, on the finished value") for at, what in checked),
            *(Entry(at, "depth", "enforced", f"soft cap: {what}") for at, what in capped),
            Entry(
                "",
                "whitespace",
                "enforced",
                options.layout_note,
            ),
            Entry(
                "",
                "digits",
                "enforced",
                f"soft cap: {style.max_integer_digits} before and {style.max_fraction_digits} after the point, or what "
                f"the bounds need; exponents up to {MAX_EXPONENT:,}; where multiples are excluded {MAX_SHORT_DIGITS} before "
                "the point, and exponents near zero alone; fewer digits in a number with a point or an exponent that must be "
                "an integer or a multiple, and none that is one by rounding alone",
            ),
        )
    )


def pattern_of(spec: Regex | Choice[Any] | ContextFree[Any]) -> ast.Regex:
    """Return the language of a pattern, a list of choices or a grammar without recursion."""
    if isinstance(spec, ContextFree):
        return spec.regex()
    from schemagen.regex import ast, parse_pattern

    if isinstance(spec, Regex):
        return parse_pattern(spec.pattern, spec.dialect, search=False, text_groups=True)
    if not spec.options:
        raise UnsatisfiableSchemaError(
            "a Choice without options", why="there is nothing to choose", fix="give at least one text"
        )
    return ast.union(*(ast.literal(option) for option in spec.options))


def unwritable(spec: Regex | Choice[Any]) -> UnsatisfiableSchemaError | None:
    """Return the error of a pattern or choice that no text matches because it asks for what no text contains."""
    from schemagen.regex.surrogates import surrogate_words

    why = surrogate_words(*((spec.pattern,) if isinstance(spec, Regex) else spec.options))
    if not why:
        return None
    fix = "write the character that the pair stands for, or leave it out"
    return UnsatisfiableSchemaError("no text can match the pattern", why=why, fix=fix)


def pattern_engine(spec: Regex | Choice[Any], vocabulary: Vocabulary, options: Options) -> Engine:
    """Return the engine of a pattern or of choices."""
    rules = counting_rules(spec)
    if rules is not None:
        return engine_of_rules(rules, vocabulary, options)
    from schemagen.engine.native.lowering import compile_choices, compile_pattern

    if isinstance(spec, Choice) and len(spec.options) > MANY_CHOICES:
        made = compile_choices(spec.options, vocabulary, options)
        if made is not None:
            return made
    return compile_pattern(pattern_of(spec), vocabulary, options)


def counting_rules(spec: Regex | Choice[Any]) -> ContextFreeGrammar | None:
    """Return the rules of a pattern that counts tokens; None of any other."""
    if not (isinstance(spec, Regex) and spec.dialect == "python" and "_TOKEN>" in spec.pattern):
        return None
    from schemagen.context_free.pattern_groups import rules_of_pattern
    from schemagen.context_free.syntax import counts_tokens

    rules = rules_of_pattern(spec.pattern)
    return rules if rules is not None and counts_tokens(rules) else None


def context_free_engine(spec: ContextFree[Any], vocabulary: Vocabulary, options: Options) -> tuple[Engine, Vocabulary]:
    """Return the engine of a grammar text, and the vocabulary that it is over: with marks for the tokens that are named."""
    from schemagen.engine.tokens import marked_for

    rules = spec.rules()
    over = marked_for(rules, vocabulary)
    return engine_of_rules(rules, over, options), over


def engine_of_rules(
    rules: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    *,
    embed: Callable[[Any], Any] | None = None,
) -> Engine:
    """Return the engine of rules: one automaton, or if they count tokens, one for the text between two runs each.

    Args:
        rules: Of a grammar.
        vocabulary: With marks for the tokens that they name.
        options: Of the compilation.
        embed: Compiles what is embedded, for these rules alone; None: as `guest_engine` does.
    """
    from schemagen.context_free.syntax import counts_tokens
    from schemagen.grammar.token_runs import counting_engine

    def compiled(given: ContextFreeGrammar) -> Engine:
        from schemagen.engine.native.context_free import compile_context_free

        return compile_context_free(
            given, vocabulary, options, embed or (lambda inner: guest_engine(inner, vocabulary, options))
        )

    if not counts_tokens(rules):
        return compiled(rules)
    return counting_engine(rules, vocabulary, compiled, Deadline(options.limits.max_seconds).check)


def guest_engine(spec: Any, vocabulary: Vocabulary, options: Options) -> Any:
    """Return the engine of something that is embedded in a grammar."""
    from schemagen.context_free.syntax import counts_tokens, refuse_tokens
    from schemagen.grammar.embedded import JsonSchema, given_spec

    place = ""
    if isinstance(spec, JsonSchema):
        options, place = spec.written(options), spec.place
    spec = given_spec(spec)
    if isinstance(spec, ContextFree):
        rules = spec.rules()
        refuse_tokens(rules, "a grammar inside of another")
        if counts_tokens(rules):
            raise UnsupportedGrammarError(
                f"{spec!r:.80} inside of another grammar",
                why="it counts tokens, and what has an automaton of its own there is read byte by byte",
                fix="put it into a Template, schemagen.concat or schemagen.union",
            )
        return context_free_engine(spec, vocabulary, options)[0]
    target = target_of(spec)
    source = _Source(
        spec if target is None else target.schema, _dialect_of(target), strict=True, resources=None, marshalled=None
    )
    try:
        return json_engine(source, styled(options, target), vocabulary)[0]
    except SchemaError as error:
        error.at = f"{place}{error.at}"
        raise

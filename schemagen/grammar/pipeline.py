"""From a spec to an engine: the ways there are, in the order in which they are tried.

A schema comes to an engine by the first of these ways that is open: the core alone, where it can read the whole schema; the
core and the front end in turns; the front end alone.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.engine.options import Options
from schemagen.errors import (
    InvalidSchemaError,
    PatternError,
    SchemaError,
    UnsatisfiableSchemaError,
    UnsupportedSchemaError,
)
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import pattern_of
from schemagen.grammar.reading import read_source, styled, target_of
from schemagen.grammar.specs import Choice, Regex
from schemagen.schema.numbers.rules import MAX_EXPONENT, MAX_SHORT_DIGITS
from schemagen.schema.report import Entry, Report

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.native.fast_reader import CorePass
    from schemagen.engine.native.lowering import JsonLowering
    from schemagen.grammar.reading import Source
    from schemagen.grammar.specs import JsonPart
    from schemagen.types.reflection import Target
    from schemagen.vocabulary import Vocabulary


#: From so many texts on, those of a Choice are no expressions.
MANY_CHOICES = 1_000


class _FrontEnd(NamedTuple):
    """What reads a schema and spells it for the core."""

    JsonLowering: type[JsonLowering]
    begin: Callable[..., CorePass | None]
    constraint_of: Callable[[CorePass, Vocabulary], _core.Constraint]


@lru_cache(maxsize=1)
def _front_end() -> _FrontEnd:
    """Import it when it is first needed, for a pattern does without; once, for importing has its price, too."""
    from schemagen.engine.native.lowering import JsonLowering, begin, constraint_of

    return _FrontEnd(JsonLowering, begin, constraint_of)


def json_engine(source: Source, options: Options, vocabulary: Vocabulary) -> tuple[_core.Constraint, bool]:
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


def _compile_in_core(source: Source, options: Options, vocabulary: Vocabulary) -> tuple[_core.Constraint, bool] | None:
    """Return the engine of a schema that the core begins to read, None where the front end has to read all of it.

    The front end drops alternatives that lie inside others, with all that is below, before the core would know. So only
    the front end can tell the faults of a schema, and the parts of it that are left to a check.
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
    source: Source, options: Options, vocabulary: Vocabulary, begun: CorePass | None = None
) -> tuple[_core.Constraint, bool]:
    normaliser = source.normaliser(options, is_plain=begun is not None)
    try:
        return _front_end().JsonLowering(normaliser, options, begun).compile(vocabulary), normaliser.is_exact
    finally:
        normaliser.forget()


def has_values(source: Source, options: Options) -> bool:
    """Whether a schema has an instance. Cost: that of its engine without masks."""
    normaliser = source.normaliser(options)
    try:
        return _front_end().JsonLowering(normaliser, options).has_values()
    finally:
        normaliser.forget()


def options_of(arguments: dict[str, Any]) -> Options:
    """Return the options of a compilation with these arguments."""
    return Options(arguments["property_order"], arguments["whitespace"], limits=arguments["limits"])


def report_of(schema: Any, arguments: dict[str, Any], target: Target[Any] | None) -> Report:
    """Return the report of the keywords, then what pydantic checks, then the soft caps: the schema is read for it."""
    options = styled(options_of(arguments), target)
    normaliser = read_source(schema, arguments, target).normaliser(options)
    _front_end().JsonLowering(normaliser, options).has_values()
    style = options.number_style
    checked, capped = ((), ()) if target is None else (target.checked, target.capped)
    return Report(
        (
            *normaliser.report().entries,
            *(Entry(at, what, "checked_after", "by pydantic, on the finished value") for at, what in checked),
            *(Entry(at, "depth", "enforced", f"soft cap: {what}") for at, what in capped),
            Entry("", "whitespace", "enforced", options.layout_note),
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


def pattern_engine(spec: Regex | Choice[Any], vocabulary: Vocabulary, options: Options) -> _core.Constraint:
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


def context_free_engine(
    spec: ContextFree[Any], vocabulary: Vocabulary, options: Options
) -> tuple[_core.Constraint, Vocabulary]:
    """Return the engine of a grammar text, and the vocabulary that it is over: with marks for the tokens that are named."""
    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.native.builder import builder_of
    from schemagen.engine.native.context_free import compile_core_rules
    from schemagen.engine.tokens import marked_for, with_text_tokens

    builder = builder_of(options)
    read = spec.read(builder)
    if not isinstance(read, ContextFreeGrammar):
        return compile_core_rules(read, builder, vocabulary, options), vocabulary
    rules = with_text_tokens(read, vocabulary)
    over = marked_for(rules, vocabulary)
    return engine_of_rules(rules, over, options), over


def engine_of_rules(
    rules: ContextFreeGrammar, vocabulary: Vocabulary, options: Options, *, embed: Callable[[Any], Any] | None = None
) -> _core.Constraint:
    """Return the engine of rules.

    Args:
        rules: Of a grammar.
        vocabulary: With marks for the tokens that they name.
        options: Of the compilation.
        embed: Compiles embedded specs, for these rules alone; None to use `guest_engine`.
    """
    from schemagen.engine.native.context_free import compile_context_free

    return compile_context_free(
        rules, vocabulary, options, embed or (lambda inner: guest_engine(inner, vocabulary, options))
    )


def guest_engine(spec: Any, vocabulary: Vocabulary, options: Options) -> _core.Constraint:
    """Return the engine of something that is embedded in a grammar."""
    from schemagen.context_free.syntax import refuse_tokens
    from schemagen.grammar.specs import JsonPart, JsonSchema, given_spec

    if isinstance(spec, JsonPart):
        return _placed(lambda: _part_engine(spec, options, vocabulary), spec.written.place)
    place = ""
    if isinstance(spec, JsonSchema):
        options, place = spec.written(options), spec.place
    spec = given_spec(spec)
    if isinstance(spec, ContextFree):
        rules = spec.rules()
        refuse_tokens(rules, "a grammar inside another")
        return context_free_engine(spec, vocabulary, options)[0]
    target = target_of(spec)
    schema = spec if target is None else target.schema
    source = read_source(schema, {"strict": True, "resources": None}, target)
    return _placed(lambda: json_engine(source, styled(options, target), vocabulary)[0], place)


def _part_engine(part: JsonPart, options: Options, vocabulary: Vocabulary) -> _core.Constraint:
    reader, own_options = part.reader(options)
    try:
        return _front_end().JsonLowering(reader, own_options).compile(vocabulary)
    finally:
        reader.forget()


def _placed(compiled: Callable[[], _core.Constraint], place: str) -> _core.Constraint:
    """Return an engine; errors about its schema say where that stands."""
    try:
        return compiled()
    except SchemaError as error:
        error.at = f"{place}{error.at}"
        raise

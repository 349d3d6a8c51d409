"""From a spec to the engine in pure Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemagen.context_free.simplify import simplified
from schemagen.context_free.syntax import EMPTY_TEXT, Text, counts_tokens
from schemagen.engine.options import DEFAULT_LIMITS, Options
from schemagen.engine.tokens import marked_for, with_text_tokens
from schemagen.errors import UnsupportedGrammarError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import json_regex, pattern_of, without_guests
from schemagen.grammar.pipeline import counting_rules
from schemagen.grammar.reading import read_source, styled, target_of, understood
from schemagen.grammar.specs import Choice, Regex
from schemagen.grammar.written import written
from schemagen.reference.context_free import ContextFreeEngine
from schemagen.reference.index import ReferenceEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Engine, Matcher
    from schemagen.regex import ast
    from schemagen.schema.layouts import WhitespacePolicy
    from schemagen.vocabulary import Vocabulary
    from schemagen.writers import TextFormat

#: Every state is built in Python, in advance; more would take minutes.
MAX_STATES = 20_000


def compile(spec: Any, vocabulary: Vocabulary, **options: Any) -> Matcher:  # noqa: A001 - as in re.compile
    """Return a matcher of a spec in pure Python, at the start of a text; arguments, errors and cost are those of `engine`."""
    return engine(spec, vocabulary, **options).matcher()


def engine(
    spec: Any,
    vocabulary: Vocabulary,
    *,
    whitespace: WhitespacePolicy = "flexible",
    strict: bool = True,
    resources: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    as_: TextFormat = "json",
) -> Engine:
    """Return the engine of a spec in pure Python, whose matchers allow the tokens that the compiled core allows.

    Args:
        spec: As for `schemagen.compile`; types and schemas without recursion. Keys have the order of the schema.
        vocabulary: The tokens of the model.
        whitespace: As for `schemagen.compile`.
        strict: As for `schemagen.compile`.
        resources: As for `schemagen.compile`.
        limits: As for `schemagen.compile`; never more than `MAX_STATES` states.
        as_: As for `schemagen.compile`.

    Raises:
        UnsupportedSchemaError: A schema is recursive.
        SchemagenError: As `schemagen.compile` does.

    Cost: 1,000 states take about 0.2 s. A mask reads the tokens whose first byte may follow.
    """
    given = understood(spec)
    if as_ != "json":
        given = written(given, as_)
    options = Options(whitespace=whitespace, limits=limits or DEFAULT_LIMITS)
    if isinstance(given, ContextFree):
        return _of_grammar(given, vocabulary, options.limits)
    if isinstance(given, Regex | Choice):
        rules = counting_rules(given)
        if rules is not None:
            _refuse_counts(rules)
        return _of_regex(pattern_of(given), vocabulary, options.limits)
    target = target_of(given)
    options = styled(options, target)
    source = read_source(given if target is None else target.schema, {"strict": strict, "resources": resources}, target)
    normaliser = source.normaliser(options)
    try:
        return _of_regex(json_regex(normaliser, options), vocabulary, options.limits)
    finally:
        normaliser.forget()


def _of_regex(regex: ast.Regex, vocabulary: Vocabulary, limits: Limits) -> Engine:
    states = min(limits.max_states, MAX_STATES)
    return ReferenceEngine(regex, vocabulary, max_states=states, max_seconds=limits.max_seconds)


def _of_grammar(spec: ContextFree[Any], vocabulary: Vocabulary, limits: Limits) -> Engine:
    """Return the engine of a grammar text: the index if its rules are one expression, frames if not."""
    rules = with_text_tokens(spec.rules(), vocabulary)
    over = marked_for(rules, vocabulary)
    _refuse_counts(rules)
    grammar = without_guests(rules)
    if grammar.tables is None:
        simple = simplified(grammar)
        body = simple.rules[simple.start]
        if isinstance(body, Text) or body == EMPTY_TEXT:
            return _of_regex(pattern_of(spec), vocabulary, limits)
    states = min(limits.max_states, MAX_STATES)
    return ContextFreeEngine(grammar, over, max_states=states, max_seconds=limits.max_seconds)


def _refuse_counts(rules: ContextFreeGrammar) -> None:
    if counts_tokens(rules):
        raise UnsupportedGrammarError(
            "a grammar that counts tokens",
            why="the constructions in pure Python read texts, which do not say where tokens end",
            fix="compile the grammar with schemagen.compile",
        )

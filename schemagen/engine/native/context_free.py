"""Context-free grammars compiled by the core: embedded specs, counted tokens, labelled parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemagen.context_free.simplify import live_rules, reachable
from schemagen.context_free.syntax import (
    NOTHING,
    Guest,
    Mark,
    Text,
    Token,
    TokenBound,
    TokenRun,
    counted_in,
    labelled,
    marks_in,
    substituted,
)
from schemagen.engine.native.builder import builder_of
from schemagen.engine.native.lowering import compile_pattern
from schemagen.engine.native.lr_tables import lines_in_numbers, names_of_lines, tables_in_numbers
from schemagen.engine.tokens import ids_of, members_of, texts_of
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedGrammarError
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen import _core
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression
    from schemagen.engine.options import Options
    from schemagen.vocabulary import Vocabulary

#: In the core, of a guest that does not occur.
ABSENT = 2**32 - 1

#: How often the automata that all grammars share are replaced while one grammar is compiled, at most.
MOST_GENERATIONS = 8


def compile_context_free(
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    embed: Callable[[Any], _core.Constraint] | None = None,
) -> _core.Constraint:
    """Return the constraint of a context-free grammar.

    Args:
        grammar: Its rules.
        vocabulary: Of the model, with marks for the tokens that the grammar names.
        options: Of the compilation.
        embed: Compiles a spec that is embedded, for this grammar alone.

    Raises:
        UnsatisfiableSchemaError: It derives no text.
    """
    made = compile_to_label(grammar, vocabulary, options, embed)
    if grammar.marked:
        label(made, grammar, vocabulary, options)
    return made.constraint


@dataclass(frozen=True, slots=True)
class Labelable:
    """A compiled grammar whose parts can be labelled.

    Attributes:
        constraint: Its constraint.
        guests: Its guests, in the order of the core.
        empty: Those of them whose text may be empty.
    """

    constraint: _core.Constraint
    guests: tuple[Guest, ...] = ()
    empty: frozenset[Guest] = frozenset()


def compile_to_label(
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    embed: Callable[[Any], _core.Constraint] | None = None,
) -> Labelable:
    """Compile a grammar without its labels; arguments and errors as for `compile_context_free`."""
    if grammar.tables is not None or not counted_in(grammar):
        return _compile(grammar, vocabulary, options, embed)
    return _compile_counting(grammar, vocabulary, options, embed)


def label(made: Labelable, grammar: ContextFreeGrammar, vocabulary: Vocabulary, options: Options) -> None:
    """Label the parts of a compiled grammar, for `Matcher.captures`, `Matcher.readings` and `Matcher.temperature`.

    Labels get numbers in the order of `marks_in`.

    Args:
        made: The grammar, compiled.
        grammar: It, with `marked` bodies.
        vocabulary: As in its compilation.
        options: As in its compilation.

    Raises:
        UnsupportedGrammarError: Tables of a parser, or indentation, decide how it is read.
    """
    if grammar.tables is not None or grammar.indentation is not None:
        raise UnsupportedGrammarError(
            "captures in a grammar with an LALR parser or with blocks by indentation",
            why="lark's own parser decides there which rule derives which text",
            fix="use Lark.parse(text), or a grammar without tables",
        )
    marks = marks_in(grammar)
    labels = list(dict.fromkeys(each.label for each in marks if isinstance(each.label, str)))
    marked = replace(grammar, rules=live_rules({**grammar.rules, **grammar.marked}))
    rules = _core_rules(_with_marked_bounds(marked, frozenset(made.guests)))
    rules.simplify()
    rules.make_optional([number for number, other in rules.others() if other in made.empty])
    rules.number()
    builder = builder_of(options)
    numbers = dict(rules.numbered_others())
    builder.label(
        made.constraint,
        rules,
        options.limits.max_alternatives,
        _tokens(numbers, builder, vocabulary),
        [numbers.get(guest, ABSENT) for guest in made.guests],
        [
            (
                number,
                labels.index(mark.label) if isinstance(mark.label, str) and mark.most is None else 0,
                mark.opens,
                None if isinstance(mark.label, str) else mark.label,
                mark.most,
            )
            for mark, number in numbers.items()
            if isinstance(mark, Mark)
        ],
        labels,
    )


def _compile(
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    embed: Callable[[Any], _core.Constraint] | None,
) -> Labelable:
    """Compile a grammar whose counted texts are embedded."""
    rules = _core_rules(grammar)
    if grammar.tables is None:
        text = _simplified_text(rules)
        if text is not None:
            return Labelable(compile_pattern(text, vocabulary, options))
    others = rules.others()
    builder, guests = _with_guests([other for _, other in others if isinstance(other, Guest)], options, embed)
    empty = frozenset(guest for guest, inner in guests.items() if _may_be_empty(guest, inner))
    rules.make_optional([number for number, other in others if other in empty])
    rules.number([] if grammar.indentation is None else names_of_lines(grammar.indentation))
    numbers = dict(rules.numbered_others())
    constraint = builder.context_free(
        rules,
        options.limits.max_alternatives,
        vocabulary.tables,
        _tokens(numbers, builder, vocabulary),
        None if grammar.tables is None else tables_in_numbers(grammar.tables, rules),
        None if grammar.indentation is None else lines_in_numbers(grammar.indentation, rules),
        [(numbers[guest], inner) for guest, inner in guests.items()],
        [
            (numbers[guest], *_count(guest.spec, vocabulary))
            for guest in guests
            if isinstance(guest.spec, TokenRun | TokenBound)
        ],
    )
    if constraint is None:
        raise _unreadable(rules, "" if grammar.tables is None else "; or LALR took the wrong side of a conflict")
    return Labelable(constraint, tuple(guests), empty)


def compile_core_rules(
    rules: _core.Rules, builder: _core.Builder, vocabulary: Vocabulary, options: Options
) -> _core.Constraint:
    """Return the constraint of rules without tokens, guests and tables; errors as for `compile_context_free`."""
    text = _simplified_text(rules)
    if text is not None:
        return compile_pattern(text, vocabulary, options)
    rules.number()
    constraint = builder.context_free(rules, options.limits.max_alternatives, vocabulary.tables, [])
    if constraint is None:
        raise _unreadable(rules)
    return constraint


def _simplified_text(rules: _core.Rules) -> ast.Regex | None:
    """Simplify rules, and return their texts if these are no more than a regular language."""
    rules.simplify()
    if rules.derives_nothing:
        raise _without_texts(rules.start, "each of its alternatives needs a rule that derives none either")
    return rules.text()


def _unreadable(rules: _core.Rules, otherwise: str = "") -> UnsatisfiableSchemaError:
    return _without_texts(
        rules.start, f"its lexer takes what the rules need: the longest match of a terminal comes first{otherwise}"
    )


def _compile_counting(
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    embed: Callable[[Any], _core.Constraint] | None,
) -> Labelable:
    """Compile a grammar that counts tokens: texts whose tokens are counted are embedded in it.

    A grammar with bounds is compiled without them, too: while they are far away, masks come from there.

    Raises:
        UnsupportedGrammarError: A text with a bound calls itself.
        UnsatisfiableSchemaError: The shortest text of a bounded rule has too many tokens.
    """
    grammar = replace(grammar, rules=reachable(live_rules(grammar.rules), grammar.start))
    compiled = _shared(lambda spec: _embedded(spec, grammar, vocabulary, options, embed), options)
    for _ in range(MOST_GENERATIONS):
        counted = _compile(_replaced(grammar, Guest), vocabulary, options, compiled)
        if not any(isinstance(each, TokenBound) for each in counted_in(grammar)):
            return counted
        free = _compile(_replaced(_without_bounds(grammar), Guest), vocabulary, options, compiled)
        builder = builder_of(options)
        if builder.shares(counted.constraint) and builder.shares(free.constraint):
            return replace(free, constraint=builder.counting(free.constraint, counted.constraint))
    raise _replaced_too_often()


def _without_bounds(grammar: ContextFreeGrammar) -> ContextFreeGrammar:
    """Return a grammar without its bounds of tokens; runs of whole tokens stay."""
    while any(isinstance(each, TokenBound) for each in counted_in(grammar)):
        grammar = _replaced(grammar, lambda each: each.inner if isinstance(each, TokenBound) else each)
    return grammar


def _replaced(grammar: ContextFreeGrammar, by: Callable[[TokenRun | TokenBound], Expression]) -> ContextFreeGrammar:
    """Return a grammar in which the texts whose tokens are counted are replaced, with the rules that it calls then."""
    known: dict[Expression, Expression] = {each: by(each) for each in counted_in(grammar)}
    rules = {name: substituted(body, known) for name, body in grammar.rules.items()}
    return replace(grammar, rules=reachable(rules, grammar.start))


def _with_marked_bounds(grammar: ContextFreeGrammar, guests: frozenset[Guest]) -> ContextFreeGrammar:
    """Return a marked grammar with marks around the texts with a bound, and guests for runs of whole tokens.

    Args:
        grammar: With marks in its rules; it only reads texts that were accepted.
        guests: Those of the grammar without marks and bounds.
    """

    def replacement(each: TokenRun | TokenBound) -> Expression:
        if isinstance(each, TokenBound):
            return labelled(each.inner, "", each.most)
        if Guest(each) in guests:
            return Guest(each)
        return Text(ast.ANY_STRING if each.within is None else each.within)

    while counted_in(grammar):
        grammar = _replaced(grammar, replacement)
    return grammar


def _shared(embed: Callable[[Any], _core.Constraint], options: Options) -> Callable[[Any], _core.Constraint]:
    """Return a compiler of specs that compiles each once, as long as all grammars share the same automata."""
    known: dict[Any, _core.Constraint] = {}

    def compiled(spec: Any) -> _core.Constraint:
        found = known.get(spec)
        if found is None or not builder_of(options).shares(found):
            found = known[spec] = embed(spec)
        return found

    return compiled


def _embedded(
    spec: Any,
    grammar: ContextFreeGrammar,
    vocabulary: Vocabulary,
    options: Options,
    embed: Callable[[Any], _core.Constraint] | None,
) -> _core.Constraint:
    """Return the constraint of something embedded in a grammar: a text whose tokens are counted, or another spec."""
    if isinstance(spec, TokenRun):
        return compile_pattern(texts_of(spec, vocabulary), vocabulary, options)
    if not isinstance(spec, TokenBound):
        assert embed is not None, "only grammars of a caller with a compiler of specs embed any"
        return embed(spec)
    start = f"{spec.name} within its bound"
    rules = live_rules({**grammar.rules, start: spec.inner})
    bounded = replace(grammar, start=start, rules=reachable({start: NOTHING, **rules}, start), marked={})
    if spec in counted_in(bounded):
        raise UnsupportedGrammarError(
            f"the rule {spec.name!r}, of at most {spec.most} tokens, calls itself",
            why="each of its calls would count the tokens of those inside it",
            fix="bound another rule, which calls this one",
        )
    inner = compile_context_free(bounded, vocabulary, options, embed)
    _check_bound(spec, inner)
    return inner


def _check_bound(bound: TokenBound, inner: _core.Constraint) -> None:
    """Refuse a bound within which the shortest text cannot be written: the rule would be a dead end.

    Raises:
        UnsatisfiableSchemaError: It has more tokens.
    """
    matcher = inner.matcher()
    least = matcher.tokens_to_finish()
    if least is not None and least > bound.most:
        raise UnsatisfiableSchemaError(
            f"the shortest text of the rule {bound.name!r} takes {least} tokens, limit {bound.most}",
            why=f"that text is {matcher.shortest_completion()!r:.80}",
            fix="raise the bound, or give the rule a shorter text",
        )


def _count(spec: TokenRun | TokenBound, vocabulary: Vocabulary) -> tuple[int, int | None, bool, list[int]]:
    """Return the fewest and most tokens of a text, whether it consists of whole tokens, and which; all if there are none."""
    if isinstance(spec, TokenBound):
        return 0, spec.most, False, []
    members = members_of(spec, vocabulary)
    if not members:
        raise UnsatisfiableSchemaError(
            f"{vocabulary!r} has no token of text", why="a run of tokens needs some", fix="use another vocabulary"
        )
    return spec.low, spec.high, True, members


def _with_guests(
    specs: list[Guest], options: Options, embed: Callable[[Any], _core.Constraint] | None
) -> tuple[_core.Builder, dict[Guest, _core.Constraint]]:
    """Return a builder, and the embedded constraints over the same automata."""
    for _ in range(MOST_GENERATIONS):
        guests = {} if embed is None else {guest: embed(guest.spec) for guest in specs}
        builder = builder_of(options)
        if all(map(builder.shares, guests.values())):
            return builder, guests
    raise _replaced_too_often()


def _replaced_too_often() -> LimitError:
    return LimitError(
        "the automata that all grammars share were replaced again and again",
        why="other threads compile so much meanwhile that what is embedded never lies beside its grammar",
        fix="compile fewer grammars at once",
    )


def _may_be_empty(guest: Guest, inner: _core.Constraint) -> bool:
    return not isinstance(guest.spec, TokenRun) and inner.matcher().is_accepting()


def _core_rules(grammar: ContextFreeGrammar) -> _core.Rules:
    from schemagen import _core

    return _core.Rules(grammar)


def _tokens(numbers: dict[Any, int], builder: _core.Builder, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Return for each token that rules name its number, and the texts that mark it as a node."""
    return [
        (number, builder.literals([vocabulary.tokens[each] for each in ids_of(token, vocabulary)]))
        for token, number in numbers.items()
        if isinstance(token, Token)
    ]


def _without_texts(start: str, why: str) -> UnsatisfiableSchemaError:
    return UnsatisfiableSchemaError(
        f"no text can be derived from {start!r}", why=why, fix="give the rule an alternative that ends"
    )

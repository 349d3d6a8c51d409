"""The targets of fuzzing: how a case of each is drawn, and the rules that have to hold for it.

The oracles are jsonschema, Python's `re` and lark; the reference engine; and brute force over the vocabulary.
"""

from __future__ import annotations

import json
import math
import random
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError as NotASchemaError

import schemagen
from schemagen import reference
from schemagen.errors import (
    GrammarError,
    InvalidSchemaError,
    LimitError,
    PatternError,
    SchemaError,
    UnsatisfiableSchemaError,
)
from schemagen.regex import parse_python
from schemagen.testing import mask_of
from tests.property.pattern_texts import members, neighbours
from tools.fuzz.cases import Case, grammar_case, json_case, regex_case, vocabulary_of
from tools.fuzz.schemas import Schemas
from tools.fuzz.walks import NothingToCheckError, drawn, require, takes, takes_tokens, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    import lark

#: No case may stop the others for long.
LIMITS = schemagen.Limits(max_seconds=4)
#: Of grammars: past the readings that are followed side by side, no search for an end finds all that bounds promise.
GRAMMAR_LIMITS = schemagen.Limits(max_seconds=4, max_alternatives=100_000, max_states=1_000_000)
#: The reference engine makes all states at once, in Python.
SMALL = schemagen.Limits(max_seconds=2, max_states=1500)
#: How often the reference engine is asked.
REFERENCE_SHARE = 0.15


@dataclass(frozen=True)
class Target:
    """Something to fuzz.

    Attributes:
        case: Draws a case.
        check: Raises an `AssertionError` if a rule is broken for a case, and `NothingToCheckError` if it says nothing.
    """

    case: Callable[[random.Random], Case]
    check: Callable[[Case], None]


def compiled(spec: Any, case: Case, **options: Any) -> schemagen.Grammar:
    """Compile the spec of a case over its vocabulary.

    Args:
        spec: The spec.
        case: The case.
        options: As for `schemagen.compile`.

    Raises:
        UnsatisfiableSchemaError: It has no text.
        NothingToCheckError: It is refused for another reason that is documented.
    """
    try:
        limits = GRAMMAR_LIMITS if isinstance(spec, schemagen.Lark) else LIMITS
        return schemagen.compile(spec, vocabulary_of(case), cache=None, limits=limits, **options)
    except UnsatisfiableSchemaError:
        raise
    except (SchemaError, PatternError, GrammarError, LimitError) as error:
        # The meta-schema accepts references that lead to themselves and nowhere else.
        if isinstance(error, InvalidSchemaError) and error.code != "endless-reference":
            raise
        raise NothingToCheckError(f"refused: {error.code}") from error


def walked(grammar: schemagen.Grammar, rng: random.Random, count: int) -> list[bytes]:
    """Return random texts, with each place of them checked.

    Args:
        grammar: The grammar.
        rng: Where chance comes from.
        count: How many.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: A limit was reached.
    """
    try:
        return [walk(grammar, rng, free=rng.choice([0, 5, 15, 30]), slack=rng.choice([0, 1, 4])) for _ in range(count)]
    except LimitError as error:
        raise NothingToCheckError(f"in a walk: {error.code}") from error


# --- JSON --------------------------------------------------------------------------------------------------------------


def complaints(schema: Any, value: Any) -> list[str]:
    """Return what jsonschema says against a value.

    Raises:
        NothingToCheckError: It does not come to an end.
    """
    try:
        return [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    except BaseException as error:
        # A library of jsonschema panics where another one raises a RecursionError; that is no Exception.
        if isinstance(error, RecursionError) or type(error).__name__ == "PanicException":
            raise NothingToCheckError("jsonschema recurses without an end") from None
        raise


def check_json(case: Case) -> None:
    """Compare the texts of a schema with jsonschema.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: The schema is refused.
    """
    schema, rng = case["schema"], random.Random(case["seed"])
    try:
        Draft202012Validator.check_schema(schema)
    except NotASchemaError as error:  # a case that was made too small
        raise NothingToCheckError("no schema") from error
    try:
        grammar = compiled(schema, case, property_order=case["order"], whitespace=case["whitespace"])
    except UnsatisfiableSchemaError:
        for value in case["instances"]:
            require(complaints(schema, value), "unsatisfiable, but there is an instance", value)
        return
    values = [_read(schema, text) for text in walked(grammar, rng, 2)]
    schemas = Schemas(rng)
    near = [schemas.changed(value) for value in values for _ in range(4)]
    any_order = compiled(schema, case, property_order="any")
    for value in [*case["instances"], *values, *near]:
        _check_instance(schema, value, any_order, rng)
    if rng.random() < REFERENCE_SHARE:
        _compare_json_with_reference(case, grammar, [*case["instances"], *values, *near])


def _read(schema: Any, text: bytes) -> Any:
    """Return the value of a text that was written under the masks; it has to be JSON, and valid."""
    pairs: list[list[str]] = []

    def keys(found: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.append([key for key, _ in found])
        return dict(found)

    try:
        value = json.loads(text, object_pairs_hook=keys)
    except ValueError as error:
        raise AssertionError(f"a text is no JSON: {text!r}") from error
    require(all(len(each) == len(set(each)) for each in pairs), "a key repeats", text)
    wrong = complaints(schema, value)
    require(not wrong, "a text is no instance", (text, wrong))
    return value


def _check_instance(schema: Any, value: Any, grammar: schemagen.Grammar, rng: random.Random) -> None:
    layout: dict[str, Any] = rng.choice([{}, {"separators": (",", ":")}, {"indent": 2}])
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout).encode()
    except ValueError:  # infinite, as 1e400 is read; or half of a surrogate pair
        return
    wrong = complaints(schema, value)
    try:
        by_bytes, by_tokens = takes(grammar, text), takes_tokens(grammar, text, rng)
    except LimitError:
        return
    require(by_bytes == by_tokens, "bytes and tokens differ", (text, by_bytes, by_tokens))
    require(not (by_bytes and wrong), "a value is accepted, and no instance", (text, wrong))
    # Where multiples of a fraction are excluded, no exponent is written.
    has_exponents = "multipleOf" not in json.dumps(schema)
    require(by_bytes or wrong or not _has_few_digits(value, has_exponents), "an instance is refused", text)


def _has_few_digits(value: Any, has_exponents: bool) -> bool:
    """Whether all numbers are far from the caps of digits, beyond which instances may be refused (docs/supported-schema.md).

    Args:
        value: An instance.
        has_exponents: Whether numbers may have an exponent.
    """
    if isinstance(value, list):
        return all(_has_few_digits(each, has_exponents) for each in value)
    if isinstance(value, dict):
        return all(_has_few_digits(each, has_exponents) for each in value.values())
    if isinstance(value, float):
        written = repr(value)
        is_short = abs(value) < 1e15 and sum(map(str.isdigit, written)) <= 15
        return math.isfinite(value) and is_short and (has_exponents or "e" not in written)
    return not isinstance(value, int) or abs(value) < 10**18


def _compare_json_with_reference(case: Case, grammar: schemagen.Grammar, values: list[Any]) -> None:
    """Compare verdicts on what json.dumps writes: spellings of numbers in masks are not all the same in the two engines."""
    if case["order"] != "schema":
        return
    try:
        engine = reference.engine(case["schema"], grammar.vocabulary, whitespace=case["whitespace"], limits=SMALL)
    except schemagen.SchemagenError:
        return
    for value in values:
        try:
            text = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except ValueError:
            continue
        matcher = engine.matcher()
        theirs = matcher.accept_bytes(text) and matcher.is_accepting()
        ours = takes(grammar, text)
        # The reference writes fewer numbers with an exponent.
        is_plain = _has_few_digits(value, has_exponents=not ours)
        require(ours == theirs or not is_plain, "the engines differ", (text, ours, theirs))


# --- regular expressions -----------------------------------------------------------------------------------------------


def check_regex(case: Case) -> None:
    """Compare the texts of a pattern with those that `re.fullmatch` matches.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: The pattern is refused.
    """
    pattern, rng = case["pattern"], random.Random(case["seed"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sets that look nested
        try:
            oracle = re.compile(pattern)
        except re.error as error:
            raise NothingToCheckError("re refuses it") from error
    try:
        grammar = compiled(schemagen.Regex(pattern), case)
    except UnsatisfiableSchemaError:
        for text in case["texts"]:
            require(not oracle.fullmatch(text), "unsatisfiable, but re matches", text)
        return
    for data in walked(grammar, rng, 2):
        require(oracle.fullmatch(data.decode()), "re does not match a text", data)
    try:
        drawn_texts = members(rng, parse_python(pattern, search=False), 5)
    except (PatternError, LimitError):
        drawn_texts = []
    for text in [*case["texts"], *drawn_texts, *neighbours(rng, [*drawn_texts, *case["texts"]], 10)]:
        data, matched = text.encode(), bool(oracle.fullmatch(text))
        require(takes(grammar, data) == matched, "re has another verdict", (text, matched))
        require(takes_tokens(grammar, data, rng) == matched, "re has another verdict on tokens", (text, matched))
    if rng.random() < REFERENCE_SHARE:
        _compare_masks_with_reference(schemagen.Regex(pattern), grammar, rng)


def _compare_masks_with_reference(spec: Any, grammar: schemagen.Grammar, rng: random.Random) -> None:
    vocabulary, written = grammar.vocabulary, b""
    try:
        theirs = reference.engine(spec, vocabulary, limits=SMALL).matcher()
    except schemagen.SchemagenError:
        return
    ours = grammar.matcher()
    for _ in range(8):
        allowed, expected = mask_of(ours, vocabulary), mask_of(theirs, vocabulary)
        wrong = [vocabulary.tokens[i] for i in sorted(allowed ^ expected)[:5]]
        require(not wrong, "the masks of the engines differ", (written, wrong))
        ends = (ours.shortest_completion(), theirs.shortest_completion())
        require(ends[0] == ends[1], "the completions of the engines differ", (written, ends))
        token = drawn(allowed, vocabulary, rng)
        ours.accept_token(token)
        theirs.accept_token(token)
        written += vocabulary.tokens[token]
        if ours.is_terminated():
            break


# --- grammars ----------------------------------------------------------------------------------------------------------


def check_grammar(case: Case) -> None:
    """Compare the texts of a grammar with those that lark parses.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: Lark or schemagen refuses the grammar.
    """
    import lark

    source, (parser, lexer), rng = case["grammar"], case["way"], random.Random(case["seed"])
    try:
        oracle = lark.Lark(source, parser=parser, lexer=lexer)
    except lark.exceptions.LarkError as error:
        raise NothingToCheckError("lark refuses it") from error
    spec = schemagen.Lark(source, parser=parser, lexer=lexer)
    try:
        grammar = compiled(spec, case)
    except UnsatisfiableSchemaError:
        for text in case["texts"]:
            require(not _parses(oracle, text), "unsatisfiable, but lark parses", text)
        return
    for data in walked(grammar, rng, 2):
        require(_parses(oracle, data.decode()) is not False, "lark does not parse a text", data)
    for text in case["texts"]:
        _check_text(grammar, oracle, text, rng)
    if rng.random() < REFERENCE_SHARE:
        try:
            _compare_masks_with_reference(spec, grammar, rng)
        except LimitError as error:
            raise NothingToCheckError(f"in a comparison: {error.code}") from error


def _check_text(grammar: schemagen.Grammar, oracle: lark.Lark, text: str, rng: random.Random) -> None:
    parsed = _parses(oracle, text)
    try:
        ours = takes(grammar, text.encode())
        same = takes_tokens(grammar, text.encode(), rng) == ours
    except LimitError:  # too many readings, which is never guessed about
        return
    require(parsed in {ours, None}, "lark has another verdict", (text, parsed))
    require(same, "bytes and tokens differ", (text, ours))


def _parses(oracle: lark.Lark, text: str) -> bool | None:
    """Whether lark reads a text; None if lark fails on it."""
    import lark

    try:
        oracle.parse(text)
    except lark.exceptions.LarkError:
        return False
    except (AssertionError, RuntimeError):  # "Please report this bug", RecursionError
        return None
    return True


# --- budgets -----------------------------------------------------------------------------------------------------------

_KINDS = {"json": json_case, "regex": regex_case, "grammar": grammar_case}


def budget_case(rng: random.Random) -> Case:
    """Return a case of another target, whose masks are asked with budgets."""
    kind = rng.choice(sorted(_KINDS))
    return {"kind": kind, **_KINDS[kind](rng)}


def check_budget(case: Case) -> None:
    """Write texts that want to go on for ever, within budgets from the minimum to twice that.

    Raises:
        AssertionError: A rule is broken.
        NothingToCheckError: The spec is refused, has no text, or no end of it is found.
    """
    rng = random.Random(case["seed"])
    try:
        grammar = _compiled_kind(case)
        needed = grammar.min_new_tokens
        if needed is None:
            raise NothingToCheckError("no end is found")
        for budget in {needed, needed + 1, rng.randint(needed, 2 * needed + 1), 2 * needed}:
            _run_out(grammar, budget, rng)
    except UnsatisfiableSchemaError as error:
        raise NothingToCheckError("no text") from error
    except LimitError as error:
        raise NothingToCheckError(f"in a walk: {error.code}") from error


def _compiled_kind(case: Case) -> schemagen.Grammar:
    if case["kind"] == "json":
        return compiled(case["schema"], case, property_order=case["order"], whitespace=case["whitespace"])
    if case["kind"] == "regex":
        return compiled(schemagen.Regex(case["pattern"]), case)
    parser, lexer = case["way"]
    return compiled(schemagen.Lark(case["grammar"], parser=parser, lexer=lexer), case)


def _run_out(grammar: schemagen.Grammar, budget: int, rng: random.Random) -> None:
    """Write a text within a budget, never ending it by choice."""
    matcher, vocabulary, written = grammar.matcher(), grammar.vocabulary, b""
    for left in range(budget, 0, -1):
        needed = matcher.tokens_to_finish()
        require(needed is not None and needed <= left, "a budget is not kept", (written, budget, left, needed))
        allowed = mask_of(matcher, vocabulary, budget=left)
        require(allowed, "a budget is a dead end", (written, budget, left))
        going_on = allowed - set(vocabulary.eos_token_ids)
        if not going_on:
            break
        token = drawn(going_on, vocabulary, rng)
        require(matcher.accept_token(token), "a token of the mask is refused", (written, vocabulary.tokens[token]))
        written += vocabulary.tokens[token]
    require(matcher.is_accepting(), "a text does not end within its budget", (written, budget))


TARGETS = {
    "json": Target(json_case, check_json),
    "regex": Target(regex_case, check_regex),
    "grammar": Target(grammar_case, check_grammar),
    "budget": Target(budget_case, check_budget),
}

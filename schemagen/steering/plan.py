"""Which guide a type needs: none, unless code of the user has a say in its text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.options.sampling import SAMPLED
from schemagen.steering.field_guide import FieldGuide
from schemagen.steering.text_guide import TextGuide
from schemagen.streaming.answer_text import AnswerText
from schemagen.streaming.field_reader import types_of
from schemagen.streaming.field_types import function_of, may_refuse, parts_of_core
from schemagen.types.checks import Checker

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from schemagen.grammar.grammar import Grammar
    from schemagen.prompts.reasoning_grammar import ThoughtReader
    from schemagen.vocabulary.canonical import CanonicalText


def guide_of(
    grammar: Grammar[Any],
    *,
    tries: int = 1,
    checker: Checker | None = None,
    canonical: CanonicalText | None = None,
    thoughts: ThoughtReader | None = None,
    skipped: int = 0,
) -> TextGuide | None:
    """Return a guide for one text of a grammar; None if nothing but the grammar has a say in it.

    Args:
        grammar: The grammar of the answer.
        tries: How many values validators may refuse in one field; 1 to validate the whole at its end only.
        checker: Judges the beginnings of the whole text; None for none.
        canonical: An empty text of canonical tokens; None if any tokens will do.
        thoughts: Reads the thoughts before the answer.
        skipped: Bytes before the answer that are part of the prompt.

    Cost: a walk over the schema of the validator, once for each type.
    """
    steers = is_steered(grammar, tries)
    if not steers and checker is None and canonical is None:
        return None
    text, ends = AnswerText(grammar.vocabulary, thoughts, skipped), grammar.vocabulary.eos_token_ids
    if not steers:
        return TextGuide(text, ends, checker, canonical)
    kinds = _kinds_of(grammar)
    steering = {"draws": kinds.draws, "has_checkers": kinds.has_checkers}
    return FieldGuide(text, types_of(grammar), grammar.validate, tries, ends, checker, canonical, **steering)


def is_steered(grammar: Grammar[Any], tries: int) -> bool:
    """Whether the type of a grammar has checkers or ways to draw a field, or validators that are to run in the loop."""
    kinds = _kinds_of(grammar)
    return kinds.has_checkers or kinds.draws or (kinds.has_validators and tries > 1)


def draws_fields(grammar: Grammar[Any]) -> bool:
    """Whether the type of a grammar says how fields are drawn."""
    return _kinds_of(grammar).draws


class _Kinds(NamedTuple):
    """Whether a type has checkers, ways to draw fields, and validators."""

    has_checkers: bool = False
    draws: bool = False
    has_validators: bool = False


def _kinds_of(grammar: Grammar[Any]) -> _Kinds:
    return _Kinds() if grammar.target is None else _kinds(grammar.target.adapter)


@lru_cache(maxsize=256)
def _kinds(adapter: TypeAdapter[Any]) -> _Kinds:
    parts = list(parts_of_core(adapter.core_schema))
    functions = [function for function in map(function_of, parts) if function is not None]
    return _Kinds(
        any(isinstance(getattr(function, "__self__", None), Checker) for function in functions),
        any(SAMPLED in part.get("metadata", ()) for part in parts),
        any(map(may_refuse, parts)),
    )

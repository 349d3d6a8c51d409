"""The constraints of vLLM's requests as specs of schemagen, and how they are compiled.

A request has a kind, by the name of a member of vLLM's ``StructuredOutputOptions``, and a text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import schemagen
from schemagen.errors import GrammarError, InvalidSchemaError, OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen_vllm.settings import Settings

#: Comments of grammar languages, to the end of the line.
_COMMENT = re.compile(r"(#|//).*$")


def is_lark(text: str) -> bool:
    """Whether a grammar text is meant to be one of lark: no line of it, comments apart, has ``::=``.

    vLLM makes the same distinction in ``grammar_is_likely_lark``.
    """
    return all("::=" not in _COMMENT.sub("", line) for line in text.split("\n"))


def specs_of(kind: str, text: str) -> Sequence[Any]:
    """Return the specs that a request may mean, the likeliest first; only for a grammar text there are two.

    Args:
        kind: Name of a member of ``StructuredOutputOptions``.
        text: The schema, pattern, JSON list of choices, grammar or structural tag.

    Raises:
        SchemagenError: The text is not of its kind.
    """
    if kind == "JSON":
        return [_json(text, "the schema")]
    if kind == "JSON_OBJECT":
        return [{"type": "object"}]
    if kind == "REGEX":
        return [schemagen.Regex(text)]
    if kind == "CHOICE":
        return [schemagen.Choice(_json(text, "the list of choices"))]
    if kind == "STRUCTURAL_TAG":
        return [schemagen.StructuralTag(text)]
    if kind == "GRAMMAR":
        if is_lark(text):
            return [schemagen.Lark(text, dialect="llguidance"), schemagen.Lark(text)]
        return [schemagen.EBNF(text), schemagen.GBNF(text)]
    raise OptionError(
        f"a structured output of the kind {kind}",
        why="this version of schemagen-vllm does not know it",
        fix="ask for JSON, a regular expression, choices, a grammar or a structural tag",
    )


def compile_request(kind: str, text: str, vocabulary: schemagen.Vocabulary, settings: Settings) -> schemagen.Grammar:
    """Return the grammar of a request.

    A grammar text is read in the dialect that engines share (xgrammar's EBNF, llguidance's lark); if that fails, as
    GBNF, or as lark reads it. The error is that of the first.

    Args:
        kind: As for `specs_of`.
        text: As for `specs_of`.
        vocabulary: The tokens of the model.
        settings: Layout and limits.

    Raises:
        SchemagenError: `schemagen.compile` refuses it.

    Cost: as `schemagen.compile`, whose cache is used.
    """
    first: GrammarError | None = None
    for spec in specs_of(kind, text):
        try:
            return schemagen.compile(spec, vocabulary, whitespace=settings.whitespace, limits=settings.limits)
        except GrammarError as error:  # noqa: PERF203 - two at most
            first = first or error
    assert first is not None, "there is a spec for each kind"
    raise first


def _json(text: str, what: str) -> Any:
    """Read JSON text.

    Raises:
        InvalidSchemaError: It is not JSON, or nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchemaError(f"{what} is not JSON: {error}", fix="give JSON text") from error

"""What a request of SGLang asks for, as specs of schemagen, by the name of its key: json, regex, ebnf, structural_tag."""

from __future__ import annotations

import json
from typing import Any

import schemagen
from schemagen.errors import GrammarError, InvalidSchemaError

#: What SGLang writes in place of a schema where any object will do.
ANY_OBJECT = "$$ANY$$"


def specs_of(kind: str, text: str) -> list[Any]:
    """Return the specs that a request may mean, the likeliest first; only of a grammar there are two.

    Args:
        kind: "json", "regex", "ebnf" or "structural_tag".
        text: The schema, pattern, grammar or tag.

    Raises:
        SchemagenError: It is nothing of its kind.
    """
    if kind == "json":
        return [{"type": "object"} if text == ANY_OBJECT else _json(text)]
    if kind == "regex":
        return [schemagen.Regex(text)]
    if kind == "structural_tag":
        return [schemagen.StructuralTag(text)]
    return [schemagen.EBNF(text), schemagen.GBNF(text)]


def compile_request(kind: str, text: str, vocabulary: schemagen.Vocabulary, **options: Any) -> schemagen.Grammar:
    """Return the grammar of a request; a grammar text that is no EBNF of xgrammar is read as GBNF.

    Args:
        kind: As for `specs_of`.
        text: As for `specs_of`.
        vocabulary: The tokens of the model.
        options: Of `schemagen.compile`.

    Raises:
        SchemagenError: What `schemagen.compile` raises, of the first spec.
    """
    first: GrammarError | None = None
    for spec in specs_of(kind, text):
        try:
            return schemagen.compile(spec, vocabulary, **options)
        except GrammarError as error:  # noqa: PERF203 - two at most
            first = first or error
    assert first is not None, "there is a spec for each kind"
    raise first


def _json(text: str) -> Any:
    """Read JSON text.

    Raises:
        InvalidSchemaError: It is none, or nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchemaError(f"the schema is no JSON: {error}", fix="give JSON text") from error

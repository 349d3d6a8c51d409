"""The constraints of SGLang's requests as specs, by the name of their key: json, regex, ebnf, structural_tag."""

from __future__ import annotations

import json
from typing import Any

import schemagen
from schemagen.errors import GrammarError, InvalidSchemaError

#: SGLang's placeholder for a schema that allows any object.
ANY_OBJECT = "$$ANY$$"


def specs_of(kind: str, text: str) -> list[Any]:
    """Return the specs that a request may mean, the likeliest first; only for a grammar there are two.

    Args:
        kind: "json", "regex", "ebnf" or "structural_tag".
        text: The schema, pattern, grammar or tag.

    Raises:
        SchemagenError: The text is not of its kind.
    """
    if kind == "json":
        return [{"type": "object"} if text == ANY_OBJECT else _json(text)]
    if kind == "regex":
        return [schemagen.Regex(text)]
    if kind == "structural_tag":
        return [schemagen.StructuralTag(text)]
    return [schemagen.EBNF(text), schemagen.GBNF(text)]


def compile_request(kind: str, text: str, vocabulary: schemagen.Vocabulary, **options: Any) -> schemagen.Grammar:
    """Return the grammar of a request; a grammar text that is not EBNF of xgrammar is read as GBNF.

    Args:
        kind: As for `specs_of`.
        text: As for `specs_of`.
        vocabulary: The tokens of the model.
        options: Of `schemagen.compile`.

    Raises:
        SchemagenError: `schemagen.compile` refuses the first spec.
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
        InvalidSchemaError: It is not JSON, or nested too deep.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSchemaError(f"the schema is not JSON: {error}", fix="give JSON text") from error

"""Error texts, compared in full: what users read is part of the interface.

`make golden` rewrites `error_texts.txt`; the diff is for a human to review.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import schemagen

GOLDEN = Path(__file__).with_name("error_texts.txt")
VOCABULARY = schemagen.Vocabulary.byte_vocabulary()


def compiling(spec: Any) -> Callable[[], object]:
    """Return a call that compiles the spec."""
    return lambda: schemagen.compile(spec, VOCABULARY)


CASES: dict[str, Callable[[], object]] = {
    "a bound that is no number": compiling({"type": "object", "properties": {"age": {"minimum": "eighteen"}}}),
    "an unknown type": compiling({"items": {"type": "float"}}),
    "a reference into nowhere": compiling({"$ref": "#/$defs/Persn", "$defs": {"Person": {}}}),
    "a reference to itself": compiling({"$ref": "#"}),
    "a back-reference": compiling(schemagen.Regex(r"(a)\1")),
    "an open group": compiling(schemagen.Regex("(a")),
    "a pattern in a schema": compiling({"properties": {"id": {"type": "string", "pattern": r"^(\w)\1$"}}}),
    "negated uniqueItems": compiling({"type": "array", "not": {"uniqueItems": True}}),
    "nothing to choose": compiling(schemagen.Choice([])),
    "no value at all": compiling({"type": "integer", "minimum": 3, "maximum": 2}),
    "no value for a property": compiling(
        {
            "type": "object",
            "properties": {"size": {"type": "string", "enum": ["s", "m"], "minLength": 2}},
            "required": ["size"],
        }
    ),
    "a recursion without an end": compiling(
        {
            "$ref": "#/$defs/node",
            "$defs": {
                "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next"]}
            },
        }
    ),
    "a type without a JSON form": compiling(Callable[[int], int]),
    "a rule that is not there": compiling(schemagen.GBNF("root ::= itme+\nitem ::= [a-z]+")),
    "a token in a grammar": compiling(schemagen.GBNF('root ::= "a"\n  | <think>')),
    "a grammar of no text": compiling(schemagen.GBNF('root ::= "(" root ")"')),
    "a decoded end": lambda: VOCABULARY.decode([10_000]),
}


def rendered() -> str:
    """Every case: its name, the class of its error, the text."""
    parts = []
    for name, call in CASES.items():
        with pytest.raises(schemagen.SchemagenError) as caught:
            call()
        parts.append(f"# {name}\n{type(caught.value).__name__}: {caught.value}\n")
    return "\n".join(parts)


def test_error_texts() -> None:
    """Each error reads as it was reviewed."""
    text = rendered()
    if os.environ.get("SCHEMAGEN_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")

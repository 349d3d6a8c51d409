"""Check the values that an output already has: they may have been changed since."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from schemagen.errors import SchemagenError
from schemagen.grammar.compiler import compile as compile_spec
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable


def value_check(spec: Any) -> Callable[[str], bool]:
    """Return a function that tells whether a JSON text could have been generated, and is a value of a spec.

    Args:
        spec: A type, a JSON Schema or a grammar; compiled here, over bytes, so that no model is needed.

    SchemaError: The spec cannot be compiled.
        SchemaError: It cannot be compiled.

    Cost: reading the text twice, at most some microseconds per byte.
    """
    is_text = isinstance(spec, ContextFree)
    # Values are written on one line, even if they were generated with line breaks.
    grammar = compile_spec(spec, Vocabulary.byte_vocabulary(), whitespace="flexible" if is_text else "any")

    def accepts(text: str) -> bool:
        matcher = grammar.matcher()
        try:
            written = json.loads(text) if is_text else text
            if not (matcher.accept_bytes(written.encode()) and matcher.is_accepting()):
                return False
            grammar.validate(written)
        except (SchemagenError, ValueError, TypeError, AttributeError):
            return False
        return True

    return accepts

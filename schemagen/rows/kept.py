"""Whether values that an output has are values of its spec: somebody may have changed them since."""

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
    """Return what tells whether a JSON text is one that could have been generated, and is a value of a spec.

    Args:
        spec: A type, a JSON Schema or a grammar; compiled here, over bytes, so that no model is needed.

    Raises:
        SchemaError: It cannot be compiled.

    Cost: that of reading the text twice, some microseconds for each of its bytes at most.
    """
    is_text = isinstance(spec, ContextFree)
    # Values stand on one line, whatever whitespace they were generated with.
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

"""Engines of regular languages: the compiled core, or pure Python where that is not installed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.engine.options import Options

if TYPE_CHECKING:
    from schemagen.engine.protocol import Engine
    from schemagen.regex import ast
    from schemagen.vocabulary import Vocabulary


def has_core() -> bool:
    """Whether the compiled core is installed."""
    try:
        import schemagen._core  # noqa: F401 - the question is whether it can be
    except ImportError:
        return False
    return True


@lru_cache(maxsize=512)
def compile_language(regex: ast.Regex, vocabulary: Vocabulary) -> Engine:
    """Return the engine of a regular expression.

    Raises:
        UnsatisfiableSchemaError: It has no text.
        LimitError: A limit stopped the work.
    """
    if has_core():
        from schemagen.engine.native.lowering import compile_pattern

        return compile_pattern(regex, vocabulary, Options())
    from schemagen.engine.reference.index import ReferenceEngine

    return ReferenceEngine(regex, vocabulary)

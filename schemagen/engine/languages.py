"""The compiled core as an import that explains itself, and its engines of regular languages."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from schemagen.engine.options import Options
from schemagen.errors import SchemagenError
from schemagen.installing import install_command

if TYPE_CHECKING:
    from schemagen.engine.protocol import Engine
    from schemagen.regex import ast
    from schemagen.vocabulary import Vocabulary

#: What the sources of the core have, and no installed package.
SOURCE_OF_CORE = "core/python/module.cpp"


def require_core() -> None:
    """Import the compiled core.

    Raises:
        SchemagenError: It is not installed.
    """
    try:
        import schemagen._core  # noqa: F401 - the question is whether it can be
    except ImportError as error:
        why, fix = _core_missing(str(error))
        raise SchemagenError("the compiled core is not installed", why=why, fix=fix, code="no-compiled-core") from error


def _core_missing(reason: str) -> tuple[str, str]:
    """Return why there is no compiled core, and what to do: sources that were never built are not a broken installation."""
    tree = Path(__file__).resolve().parents[2]
    if not (tree / SOURCE_OF_CORE).is_file():
        return (
            reason,
            f"install a C++20 compiler, then {install_command()}; or install a wheel that was built elsewhere",
        )
    return (
        f"Python imports it from the sources in {tree}, where the core has not been built",
        "run `make core` there, or start Python in another folder if schemagen is installed as well",
    )


@lru_cache(maxsize=512)
def compile_language(regex: ast.Regex, vocabulary: Vocabulary) -> Engine:
    """Return the engine of a regular expression.

    Raises:
        UnsatisfiableSchemaError: It has no text.
        LimitError: A limit stopped the work.
        SchemagenError: The compiled core is not installed.
    """
    from schemagen.engine.native.lowering import compile_pattern

    return compile_pattern(regex, vocabulary, Options())

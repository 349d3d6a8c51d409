"""The builder of one grammar in the compiled core, the numbers that it takes, and the error where there is no core."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from schemagen.errors import SchemagenError
from schemagen.errors.installing import install_command
from schemagen.threads.clock import spent

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.options import Options

WHITESPACE = {"flexible": 0, "compact": 1, "spaced": 2, "any": 3}
FIXED, NO_GAPS = 4, ("", "", "", "")


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
    tree = Path(__file__).resolve().parents[3]
    if not (tree / SOURCE_OF_CORE).is_file():
        return (
            reason,
            f"install a C++20 compiler, then {install_command()}; or install a wheel that was built elsewhere",
        )
    return (
        f"Python imports it from the sources in {tree}, where the core has not been built",
        "run `make core` there, or start Python in another folder if schemagen is installed as well",
    )


@lru_cache(maxsize=1)
def _builder_class() -> type[_core.Builder]:
    """Import the core when it is first needed."""
    require_core()
    from schemagen import _core

    return _core.Builder


def builder_of(options: Options) -> _core.Builder:
    """Return the builder of one grammar."""
    whitespace = options.whitespace
    return _builder_class()(
        any_order=options.property_order == "any",
        whitespace=WHITESPACE[whitespace] if isinstance(whitespace, str) else FIXED,
        max_indent=options.max_indent,
        max_states=options.limits.max_states,
        max_seconds=options.limits.max_seconds,
        max_gap=options.max_gap,
        around=options.around,
        spent=spent(),
        separators=NO_GAPS if isinstance(whitespace, str) else whitespace.gaps,
        indent=None if isinstance(whitespace, str) else whitespace.step,
    )

"""What makes one grammar in the core, and the numbers that it is spoken to in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from schemagen.engine.languages import require_core
from schemagen.threads.clock import spent

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.engine.options import Options

EMPTY_NODE = 0
#: The ways in which the characters of a language are spelled.
UTF8, JSON, CANONICAL = 0, 1, 2
WHITESPACE = {"flexible": 0, "compact": 1, "spaced": 2, "any": 3}
FIXED, NO_GAPS = 4, ("", "", "", "")


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

"""What is done otherwise where Python runs threads at once (PEP 703).

With the interpreter's lock nothing changes while a schema is marshalled or read by the core. Without it another thread may
change the caller's dicts in the meantime, so they are copied first, and nothing else looks at them.

A large schema is copied first everywhere, because the core lets other threads run while it reads one.
"""

from __future__ import annotations

import sys
from typing import Any

#: Whether threads take turns. The lock may still be turned on by an import, but never off again.
HAS_LOCK: bool = getattr(sys, "_is_gil_enabled", lambda: True)()

#: Bytes of a marshalled schema from which on it is large: reading it takes some milliseconds.
LARGE = 50_000


def snapshot(value: Any) -> Any:
    """Return JSON values with dicts and lists of their own; what contains itself or stands twice does so in the copy, too.

    Each dict and list is copied at once. If another thread changes several meanwhile, the copy may have one change and not
    another.

    Args:
        value: Anything; what is neither a dict nor a list (their subclasses are not), is taken as it is.

    Cost: about 0.4 us a value.
    """
    top = [value]
    waiting: list[Any] = [top]
    copies: dict[int, tuple[Any, Any]] = {}  # by identity; an original that lives has an identity of its own
    while waiting:
        parent = waiting.pop()
        for at, part in parent.items() if parent.__class__ is dict else enumerate(parent):
            if part.__class__ is not dict and part.__class__ is not list:
                continue
            known = copies.get(id(part))
            if known is None:
                known = copies[id(part)] = (part, part.copy())
                waiting.append(known[1])
            parent[at] = known[1]
    return top[0]

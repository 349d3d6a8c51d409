"""What events of streams add up to."""

from __future__ import annotations

from schemagen.events import Delta


def deltas(events):
    """Return the texts of the deltas, joined by path."""
    found = {}
    for event in events:
        if isinstance(event, Delta):
            found[event.path] = found.get(event.path, "") + event.text
    return found

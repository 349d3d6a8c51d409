"""Blocking work beside an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


async def in_thread(method: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call a method in a thread and return its result, without blocking the event loop.

    Overloaded methods have no single signature that `asyncio.to_thread` could carry, so the caller names the result.
    """
    from asyncio import to_thread  # not needed without asyncio

    return await to_thread(method, *args, **options)

"""`schemagen call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from schemagen.calling import ToolCall
from schemagen.cli.console import busy, notes, show_data
from schemagen.cli.generation import load_model
from schemagen.events import ArgumentCompleted, CallStarted, Completed, TextDelta

if TYPE_CHECKING:
    from collections.abc import Sequence


def call_one(
    functions: Sequence[Any], prompt: str, *, words: bool, model: str | None, max_new_tokens: int | None
) -> ToolCall | str:
    """Return the call that a model makes for a prompt, or, if `words` allows it, its words."""
    lm = load_model(model)
    budget: dict[str, Any] = {} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}
    with busy("calling"):
        found: ToolCall | str = (
            lm.call(prompt, functions, **budget)
            if words
            else lm.call(prompt, functions, tool_choice="required", **budget)
        )
    return found


def stream_one_call(
    functions: Sequence[Any], prompt: str, *, words: bool, model: str | None, max_new_tokens: int | None
) -> ToolCall | str:
    """Print words while they are written, and the growing call on the side; return the result of `call_one`."""
    lm = load_model(model)
    budget: dict[str, Any] = {} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}
    found: ToolCall | str = ""
    with lm.stream_call(prompt, functions, tool_choice="auto" if words else "required", **budget) as stream:
        for event in stream:
            if isinstance(event, TextDelta):
                typer.echo(event.text, nl=False)
            elif isinstance(event, CallStarted):
                notes().print(Text(f"{event.name} ...", style="dim"))
            elif isinstance(event, ArgumentCompleted) and len(event.path) == 1:
                notes().print(Text(f"  {event.path[0]} = {event.value!r}", style="dim"))
            elif isinstance(event, Completed):
                found = event.value
    if isinstance(found, str):
        typer.echo()
    return found


def show_call(found: ToolCall | str, *, run: bool) -> bool:
    """Print a call, or words; with `run` also run the call and print its result. Return False if it raised."""
    if not isinstance(found, ToolCall) or not run:
        show_data(str(found))
        return True
    notes().print(Text(str(found), style="dim"))
    result = found.run()
    if result.error is not None:
        notes().print(Text(result.text, style="red"))
        return False
    show_data(result.text)
    return True

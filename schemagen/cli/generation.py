"""`schemagen generate`, `schemagen repair` and `schemagen call`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

import schemagen
from schemagen.calling import ToolCall
from schemagen.cli.console import busy, notes, show_data, show_note
from schemagen.events import ArgumentCompleted, CallStarted, Completed, TextDelta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen import LanguageModel


def load_model(name: str | None, device: str | None = None) -> LanguageModel:
    """Return the bundled model, or a transformers model by name or folder, on a device if one is named."""
    with busy(f"loading {name or 'the bundled model'}"):
        if name is None:
            return schemagen.load_bundled()
        try:
            return schemagen.load(name) if device is None else schemagen.load(name, device_map=device)
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"cannot load {name!r}: {error}", param_hint="--model") from error


def generate_one(target: Any, prompt: str, *, model: str | None, options: dict[str, Any]) -> Any:
    """Return the `Generation` of one prompt.

    Options that are None are left out.
    """
    lm = load_model(model)
    with busy("generating"):
        return lm.run(prompt, target, **_given(options))


def stream_one(target: Any, prompt: str, *, model: str | None, options: dict[str, Any]) -> Any:
    """Print the text of one prompt while it is generated; return its `Generation`. Arguments as for `generate_one`."""
    lm = load_model(model)
    shown = 0
    generation = None
    with lm.stream(prompt, target, **_given(options)) as stream:
        try:
            for event in stream:
                typer.echo(stream.text[shown:], nl=False)
                shown = len(stream.text)
                generation = getattr(event, "generation", None)
        finally:
            typer.echo(stream.text[shown:])
    return generation


def repair_one(target: Any, text: str, prompt: str | None, *, model: str | None, options: dict[str, Any]) -> str:
    """Return a text after its repair, and tell the number of edits; options as for `schemagen.LanguageModel.repair`."""
    lm = load_model(model)
    with busy("repairing"):
        found = lm.run_repair(text, target, prompt, **_given(options))
    notes().print(Text(f"{len(found.edits)} edits, cost {found.cost:g}", style="dim"))
    if found.generation is not None:
        show_note(found.generation)
    return found.text


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def call_one(functions: Sequence[Any], prompt: str, *, model: str | None, options: dict[str, Any]) -> ToolCall | str:
    """Return the call that a model makes for a prompt, or its words; options as for `schemagen.LanguageModel.call`."""
    lm = load_model(model)
    with busy("calling"):
        found: ToolCall | str = lm.call(prompt, functions, **_given(options))
    return found


def stream_one_call(
    functions: Sequence[Any], prompt: str, *, model: str | None, options: dict[str, Any]
) -> ToolCall | str:
    """Print words while they are written, and the growing call on the side; return the result of `call_one`."""
    lm = load_model(model)
    found: ToolCall | str = ""
    with lm.stream_call(prompt, functions, **_given(options)) as stream:
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

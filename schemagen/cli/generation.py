"""`schemagen generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.cli.console import busy

if TYPE_CHECKING:
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


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}

"""`schemagen draw`: the automaton, the stack, the index or the mask of a spec as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.cli.compilation import load_vocabulary
from schemagen.cli.console import busy, notes, show_text

if TYPE_CHECKING:
    from pathlib import Path


def draw_one(target: Any, *, tokenizer: str | None, output: Path | None, **options: Any) -> None:
    """Compile and draw; print Mermaid, or write a file whose suffix selects the format."""
    with busy("loading the tokenizer"):
        vocabulary = load_vocabulary(tokenizer)
    with busy("drawing"):
        grammar = schemagen.compile(target, vocabulary)
        try:
            drawing = grammar.draw(**options)
            if output is not None:
                drawing.save(output)
        except (ValueError, OSError) as error:
            raise typer.BadParameter(str(error)) from error
    if output is None:
        show_text(drawing.mermaid().rstrip("\n"))
    notes().print(drawing.caption, style="dim", markup=False, highlight=False)

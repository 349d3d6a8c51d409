"""All output to the terminal: results to stdout, the rest to stderr.

Results stay machine-readable: JSON or plain text, coloured on a terminal only. Numbers, progress and errors go to
stderr. rich is imported only if needed: a command that prints text into a pipe works without it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import typer

from schemagen.errors import GenerationError, SchemagenError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType
    from rich.panel import Panel
    from rich.table import Table

#: Variables that make rich treat a file or pipe as a terminal.
_FORCES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")


def output() -> Console:
    """Return the console of results."""
    from rich.console import Console

    return Console()


def notes() -> Console:
    """Return the console of everything else."""
    from rich.console import Console

    return Console(stderr=True)


def is_plain(stream: TextIO) -> bool:
    """Whether a stream is not a terminal, by the rules of rich."""
    return not stream.isatty() and not any(os.environ.get(name) for name in _FORCES)


def show_text(text: str) -> None:
    """Write one line of text as it is: no markup, no wrapping; half a surrogate pair as its escape."""
    typer.echo(text.encode("utf-8", "backslashreplace").decode())


def show_data(text: str) -> None:
    """Write JSON text, laid out and coloured if it goes to a terminal; other text as it is."""
    if is_plain(sys.stdout) or text.lstrip()[:1] not in {"{", "["} or not output().is_terminal:
        show_text(text)
        return
    from rich.json import JSON

    try:
        data = JSON(text, ensure_ascii=False)
    except ValueError:
        show_text(text)
        return
    output().print(data)


def show_facts(facts: list[tuple[str, str]]) -> None:
    """Write names and texts in two columns."""
    width = max(len(name) for name, _ in facts)
    for name, text in facts:
        show_text(f"{name:<{width}}  {text}")


def show_table(table: Table) -> None:
    """Write a table; into a file or a log, without a terminal, each row is one line, as long as it needs."""
    _print_whole(output(), table)


def show_confidence(generation: Any) -> None:
    """Write the text of a generation, coloured by the probability of each token, and a table of its fields; as `show_table`."""
    _print_whole(notes(), generation.confidence.__rich__())


def _print_whole(console: Console, shown: RenderableType) -> None:
    """Print without wrapping lines, unless it is on a terminal."""
    if not console.is_terminal:
        unbounded = console.options.update(max_width=sys.maxsize)
        console.width = max(console.width, console.measure(shown, options=unbounded).maximum)
    console.print(shown)


def show_note(generation: Any) -> None:
    """Write the cost of a generation."""
    from rich.text import Text

    notes().print(Text(cost_of(generation), style="dim"))


def cost_of(generation: Any) -> str:
    """Return tokens, tokens/s and the share of the probability mass that the constraint removed, as a sentence."""
    speed = generation.new_tokens / generation.seconds if generation.seconds > 0 else 0.0
    text = f"{generation.new_tokens} tokens, {speed:.0f} tokens/s"
    if generation.masked_mass is None:
        return text
    return f"{text}, the constraint removed {generation.masked_mass:.2%} of the probability mass"


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Show a spinner with the current activity on a terminal; nothing elsewhere."""
    if is_plain(sys.stderr):
        yield
        return
    with notes().status(f"{what} ..."):
        yield


@contextmanager
def render_errors() -> Iterator[None]:
    """Show a schemagen error and leave with status 1."""
    try:
        yield
    except SchemagenError as error:
        show_error(error)
        raise typer.Exit(1) from None


def show_error(error: SchemagenError) -> None:
    """Write the parts of an error: in a panel on a terminal, elsewhere on one line, however long."""
    if not is_plain(sys.stderr) and notes().is_terminal:
        notes().print(error_panel(error))
        return
    text = f"\n  text: {error.text}" if isinstance(error, GenerationError) and error.text else ""
    line = f"{type(error).__name__}: {error}{text}"
    typer.echo(line.encode("utf-8", "backslashreplace").decode(), err=True)


def error_panel(error: SchemagenError) -> Panel:
    """Return the parts of an error, one labelled row each."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    parts = Table.grid(padding=(0, 1))
    labelled = [("at", error.at), ("why", error.why), ("fix", error.fix), ("code", error.code)]
    if isinstance(error, GenerationError):
        labelled.append(("text", error.text))
    for label, text in labelled:
        if text:
            parts.add_row(Text(f"{label}:", style="dim"), Text(text))
    body = Group(Text(error.fact, style="bold"), parts)
    return Panel(body, title=Text(type(error).__name__), title_align="left", border_style="red")

"""`schemagen compile`: the cost of a spec, and which of its keywords are enforced; `schemagen draw`: a picture of it."""

from __future__ import annotations

import json
from importlib.resources import files
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.cli.console import busy, notes, show_facts, show_table, show_text

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from schemagen import Grammar, Vocabulary

_STYLES = {"enforced": "green", "checked_after": "yellow", "annotation": "dim", "unknown": "red", "fact": "none"}


def load_vocabulary(name: str | None) -> Vocabulary:
    """Return the vocabulary of a tokenizer by name or folder; the bundled one without a name.

    Raises:
        typer.BadParameter: transformers finds no such tokenizer, or cannot read it.
        VocabularyError: The bytes of its tokens cannot be known.
    """
    if name is None:
        return bundled_vocabulary()
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"cannot load {name!r}: {error}", param_hint="--tokenizer") from error
    return schemagen.Vocabulary.from_tokenizer(tokenizer)


def bundled_vocabulary() -> Vocabulary:
    """Return the vocabulary of the bundled model, read without transformers and torch, which take seconds to import.

    Cost: about 50 ms.
    """
    from tokenizers import Tokenizer

    folder = files("schemagen") / "lm" / "bundled"  # not files("schemagen.lm"), which would import that package
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_str((folder / "tokenizer.json").read_text(encoding="utf-8"))
    return schemagen.Vocabulary.from_tokenizer(tokenizer, eos_token_ids=tokenizer.token_to_id(settings["eos_token"]))


def compile_one(target: Any, *, tokenizer: str | None, with_report: bool, options: dict[str, Any]) -> None:
    """Compile, then print the cost and, on request, the report."""
    with busy("loading the tokenizer"):
        vocabulary = load_vocabulary(tokenizer)
    start = perf_counter()
    with busy("compiling"):
        grammar = schemagen.compile(target, vocabulary, **options)
        compiled = perf_counter()
        first = grammar.matcher().allowed_tokens()
    done = perf_counter()
    times = [
        ("compiled in", f"{(compiled - start) * 1e3:.2f} ms"),
        ("first mask in", f"{(done - compiled) * 1e3:.2f} ms"),
    ]
    show_facts(times + facts_of(grammar, len(first)))
    if with_report:
        show_table(report_table(grammar))


def facts_of(grammar: Grammar, allowed: int) -> list[tuple[str, str]]:
    """Return the facts that are the same on every machine."""
    return [
        ("vocabulary", f"{grammar.vocabulary.size} tokens"),
        ("allowed first", f"{allowed} tokens"),
        ("keywords", summary(grammar)),
    ]


def summary(grammar: Grammar) -> str:
    """Return the number of keywords of each status."""
    return ", ".join(f"{count} {status}" for status, count in grammar.report.counts.items()) or "none"


def report_table(grammar: Grammar) -> Table:
    """Return the report of a grammar, one row for each keyword."""
    from rich.table import Column, Table
    from rich.text import Text

    # On a narrow terminal a long pointer continues on the next line; it is never cut off.
    columns = [Column(name, overflow="fold") for name in ("where", "keyword", "status", "note")]
    table = Table(*columns)
    for entry in grammar.report:
        status = Text(entry.status, style=_STYLES[entry.status])
        table.add_row(Text(entry.pointer or "(root)"), Text(entry.keyword), status, Text(entry.note))
    return table


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

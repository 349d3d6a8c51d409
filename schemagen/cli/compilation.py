"""`schemagen compile`: the cost of a spec, and its enforced keywords; `schemagen lint`: advice; `schemagen draw`: a picture."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.cli.console import busy, notes, show_data, show_facts, show_table, show_text
from schemagen.errors.installing import check_packages

if TYPE_CHECKING:
    from rich.table import Table

    from schemagen import Grammar, Vocabulary

_STYLES = {"enforced": "green", "checked_after": "yellow", "annotation": "dim", "unknown": "red", "fact": "none"}


def load_vocabulary(name: str | None) -> Vocabulary:
    """Return the vocabulary of a tokenizer by name or folder; the bundled one without a name.

    Raises:
        typer.BadParameter: transformers finds no such tokenizer, or cannot read it.
        VocabularyError: The bytes of its tokens cannot be known.
        MissingPackageError: It is no file or folder, and transformers is not installed.
    """
    if name is None:
        return bundled_vocabulary()
    if find_spec("transformers") is None and Path(name).exists():
        return schemagen.Vocabulary.from_tokenizer_json(name)
    check_packages("loading a tokenizer by its name", "transformers")
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"cannot load {name!r}: {error}", param_hint="--tokenizer") from error
    return schemagen.Vocabulary.from_tokenizer(tokenizer)


def bundled_vocabulary() -> Vocabulary:
    """Return the vocabulary of the bundled model, read without transformers and torch, which take seconds to import.

    Cost: about 10 ms, and 100 ms more for the imports of the first call.
    """
    # Not files("schemagen.lm"), which would import that package.
    with as_file(files("schemagen") / "lm" / "bundled") as folder:
        return schemagen.Vocabulary.from_tokenizer_json(folder)


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


def lint_one(target: Any, *, tokenizer: str | None, max_new_tokens: int | None, as_json: bool) -> int:
    """Print the advice about a type; return how much there is."""
    from schemagen.grammar.lint import RULES

    with busy("loading the tokenizer"):
        vocabulary = load_vocabulary(tokenizer)
    grammar = schemagen.compile(target, vocabulary)
    found = grammar.lint(max_new_tokens)
    if tokenizer is None:  # the tokens of the bundled model say nothing about another
        found = tuple(each for each in found if not RULES[each.rule].counts_tokens)
    if as_json:
        show_data(json.dumps([each.as_dict() for each in found], ensure_ascii=False))
    elif found:
        show_text("\n\n".join(map(str, found)))
    else:
        beside = "" if grammar.schema is not None else ": most rules are about fields, and this grammar has none"
        show_text(f"no advice{beside}")
    return len(found)


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

"""Questions to a database, answered by a model alone and with `schemagen.sql`: which statements run, and which are right.

    make real-model
    python benchmarks/sql.py

100 questions of our own about a small shop (`tasks/shop.sql`, `tasks/shop.jsonl`), each with a query that has the right rows.
Both ways get the same prompt, four worked examples and the question with the tables, and decode greedily. Of the text of the
model alone, the first statement counts, without code fences.

    runs     SQLite executes the statement
    right    it has the rows of the query, in any order, and in this order where the query orders them; types and names of
             columns do not count
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness

from schemagen.databases import sql
from schemagen.evaluation.scoring import paired, wilson
from schemagen.prompts.messages import with_shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    import schemagen

TASKS = Path(__file__).parent / "tasks"
ALONE, OURS = "alone", "schemagen"
BUDGET = 96
#: Worked examples, which are none of the questions.
SHOTS = (
    ("How many different departments are there?", "SELECT COUNT(DISTINCT department) FROM employees"),
    ("Which employees are in storage? List their names.", "SELECT name FROM employees WHERE department = 'storage'"),
    ("Which customer joined first? Give the name.", "SELECT name FROM customers ORDER BY joined LIMIT 1"),
    (
        "List the names of the products of order 7.",
        "SELECT products.name FROM products JOIN items ON items.product_id = products.id WHERE items.order_id = 7",
    ),
)
#: Steps of SQLite's machine after which a statement is stopped: a query may count to no end.
MOST_STEPS = 100


def rows_of(database: sqlite3.Connection, statement: str) -> list[tuple[Any, ...]] | None:
    """Return the rows of a statement; None if it does not run."""
    steps = iter(range(MOST_STEPS))
    database.set_progress_handler(lambda: next(steps, None) is None, 10_000)
    try:
        return database.execute(statement).fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return None
    finally:
        database.rollback()


def is_right(found: list[tuple[Any, ...]] | None, wanted: list[tuple[Any, ...]], *, ordered: bool) -> bool:
    """Whether rows are the right ones."""
    if found is None:
        return False
    rounded = [
        [tuple(round(v, 6) if isinstance(v, float) else v for v in row) for row in rows] for rows in (found, wanted)
    ]
    first, second = rounded if ordered else (sorted(rows, key=repr) for rows in rounded)
    return first == second


def statement_in(text: str) -> str:
    """Return the first statement in a text: that of the first code fence, if there is one, up to its semicolon."""
    fenced = re.search(r"```(?:\w+\n)?(.*?)(```|$)", text, re.DOTALL)
    found = fenced[1] if fenced else text
    begin = re.search(r"\b(select|with)\b", found, re.IGNORECASE)
    return found[begin.start() if begin else 0 :].split(";")[0].strip()


def answers(lm: schemagen.LanguageModel, spec: Any, question: str) -> dict[str, str]:
    """Return the statements of both ways."""
    chat = [
        {"role": role, "content": text}
        for shot in (*SHOTS, (question,))
        for role, text in zip(("user", "assistant"), shot, strict=False)
    ]
    alone = lm.generate_text(with_shape(chat, spec), max_new_tokens=BUDGET)
    return {ALONE: statement_in(alone), OURS: lm(chat, spec, max_new_tokens=BUDGET)}


def summary(rows: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row of the table for each way."""
    found = []
    for way in (ALONE, OURS):
        shares = [(sum(row[way][mark] for row in rows), len(rows)) for mark in ("runs", "right")]
        told = ["{:.0%} ({:.0%} to {:.0%})".format(hits / count, *wilson(hits, count)) for hits, count in shares]
        found.append((way, *told))
    return found


def difference(rows: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Return by how much more statements are right with the constraint, and the interval."""
    scores: list[Mapping[int, float]] = [
        {number: float(row[way]["right"]) for number, row in enumerate(rows)} for way in (OURS, ALONE)
    ]
    return paired(*scores)


def main(arguments: list[str] | None = None) -> int:
    """Ask, count, print, write."""
    made = harness.parser(__doc__, "sql")
    harness.model_options(made)
    made.add_argument("--count", type=int, default=100, help="the first questions")
    options = made.parse_args(arguments)
    lm = harness.load_model(options)
    database = sqlite3.connect(":memory:")
    database.executescript((TASKS / "shop.sql").read_text(encoding="utf-8"))
    spec = sql(database)
    rows = []
    for line in (TASKS / "shop.jsonl").read_text(encoding="utf-8").splitlines()[: options.count]:
        asked = json.loads(line)
        wanted = rows_of(database, asked["query"])
        assert wanted is not None, asked
        row: dict[str, Any] = {**asked}
        for way, statement in answers(lm, spec, asked["question"]).items():
            found = rows_of(database, statement)
            right = is_right(found, wanted, ordered="ORDER BY" in asked["query"])
            row[way] = {"statement": statement, "runs": found is not None, "right": right}
        rows.append(row)
    for way, *told in summary(rows):
        print(way, *told, sep="  ")
    print("difference", *difference(rows))
    settings = {"model": options.label, "count": len(rows), "threads": options.threads, "budget": BUDGET}
    harness.write_result(options.out, "sql", settings, {"rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())

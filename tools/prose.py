"""Counts habits of prose that readers stumble over, and fails if there are more of them than the record says.

    python tools/prose.py              # exits with 1 if a count rose, and names the places
    python tools/prose.py --update     # lowers the record to today's counts; it never raises one

Read are comments, docstrings and strings of the sources, and the pages but for their programs. Names in code are not prose. The
record is tools/prose.json: a count for each habit and area.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tools" / "prose.json"
AREAS = ("schemagen", "core", "integrations", "tools", "benchmarks", "examples", "docs")
#: The sentences that the bundled model learns from are data, and this file quotes the habits.
LEFT_OUT = re.compile(r"tools/(bundled_\w+|prose)\.py|benchmarks/tasks/\w+\.py")

HABITS = {
    "behind": re.compile(r"(?<!look-)\bbehind\b", re.IGNORECASE),
    # "What is a mask?" is a question, so a sentence that ends with a question mark is not counted.
    "what is": re.compile(
        r"\bwhat\s+(is|are|was|were|comes?|has|have|stands?|may|can|it|they|follows|needs?)\b(?![^.;!]*\?)",
        re.IGNORECASE,
    ),
    "None: fragment": re.compile(r"(?<!-> )(?<!is )(?<!not )\b(None|True|False): [a-z]"),
    "nobody, whoever": re.compile(r"\b(nobody|whoever)\b", re.IGNORECASE),
    "beforehand": re.compile(r"\bbeforehand\b", re.IGNORECASE),
}
_CPP_PROSE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
#: The programs of a page are not prose.
_FENCED = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_PYTHON_PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a file that people read, each with the number of its first line."""
    text = path.read_text(encoding="utf-8") if path.suffix in {".py", ".cpp", ".hpp", ".md"} else ""
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _PYTHON_PROSE:
                yield token.start[0], token.string
    elif path.suffix in {".cpp", ".hpp"}:
        for found in _CPP_PROSE.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, found[0]
    elif path.suffix == ".md":
        yield 1, _FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)


def places(root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield habit, area and place (`path:line: text of the line`) of everything found below a folder."""
    for area in AREAS:
        for path in sorted((root / area).rglob("*")):
            name = path.relative_to(root).as_posix()
            if not path.is_file() or LEFT_OUT.fullmatch(name):
                continue
            for first, text in prose(path):
                for habit, pattern in HABITS.items():
                    for found in pattern.finditer(text):
                        at = text.count("\n", 0, found.start())
                        yield habit, area, f"{name}:{first + at}: {text.splitlines()[at].strip()}"


def main(arguments: list[str] | None = None, root: Path = ROOT, record: Path = RECORD) -> int:
    """Compare the counts with the record; return the exit status."""
    parser = argparse.ArgumentParser(description="Count habits of prose, and compare with the record.")
    parser.add_argument("--update", action="store_true", help="lower the record to the counts of today")
    update = parser.parse_args(arguments).update
    found = list(places(root))
    counts = Counter((habit, area) for habit, area, _ in found)
    recorded = json.loads(record.read_text(encoding="utf-8"))
    allowed = {(habit, area): recorded.get(habit, {}).get(area, 0) for habit in HABITS for area in AREAS}
    risen = [key for key, limit in allowed.items() if counts[key] > limit]
    for habit, area in risen:
        print(f"{area}: {counts[habit, area]} of the habit {habit!r}, {allowed[habit, area]} in the record:")
        print(*(f"  {place}" for *key, place in found if key == [habit, area]), sep="\n")
    if update:
        least = {habit: {a: n for a in AREAS if (n := min(counts[habit, a], allowed[habit, a]))} for habit in HABITS}
        record.write_text(json.dumps(least, indent=2) + "\n", encoding="utf-8")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())

"""The recipe for CSV shows what its commands really printed: each line is in the result file or in the input."""

import json
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cookbook" / "csv.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "benchmarks" / "results" / "csv_rows.json").read_text(encoding="utf-8"))["results"]


def test_every_line_shown_is_a_real_one() -> None:
    """Blocks of text have lines of the input, of the terminal and of the outputs."""
    real, bundled = RESULTS["real"], RESULTS["bundled"]
    known = {*(ROOT / "examples" / "data" / "listings.csv").read_text(encoding="utf-8").splitlines(), *real["table"]}
    known |= {*real["batch"]["terminal"], bundled["killed"]["bar"], *bundled["resumed"]["terminal"]}
    blocks = re.findall(r"^```text[^\n]*\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line != "..."]
    assert len(lines) > 12
    assert [line for line in lines if line not in known] == []


def test_its_figures_and_commands_are_those_of_the_run(monkeypatch) -> None:
    """Dates, loads and rows; and the template, the system message and the files of each command."""
    for run in RESULTS.values():
        assert run["date"][:10] in PAGE
        assert f"load {run['machine']['load_average']}" in PAGE
    real = RESULTS["real"]
    for name, right in real["right"].items():
        assert f"| `{name}` | {right} of {real['checked_rows']} |" in PAGE
    assert f"{RESULTS['bundled']['killed']['rows_kept']} of {RESULTS['bundled']['rows']} rows" in PAGE
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    for name in ("csv_rows", "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    from csv_rows import BATCH

    shell = "".join(re.findall(r"^```bash\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)).replace("\\\n", " ")
    commands = [shlex.split(line)[1:] for line in shell.splitlines() if line.startswith("schemagen batch")]
    assert len(commands) == 2
    assert all(tuple(words[: len(BATCH)]) == BATCH for words in commands)

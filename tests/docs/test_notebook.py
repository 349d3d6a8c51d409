"""The notebook of the examples runs from top to bottom, offline, and its stored outputs are those of today.

`make golden` stores the outputs of today.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "first_steps.ipynb"
#: Differs from run to run and from machine to machine: times, passes, whose number follows from times, the last digits of
#: probabilities, memory, and a picture, which only machines with Graphviz have.
VARIES = re.compile(
    r"passes(=|</th><td[^>]*>)\d+|[\d,.]+ kB, \d+ states|\d+(\.\d+)?e-\d+|\d+\.\d+|<div><svg.*</div>", re.DOTALL
)


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The notebook after a run in a kernel of this Python."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    # As where ipywidgets is installed; the first cell says what the warning means.
    monkeypatch.setenv("PYTHONWARNINGS", "ignore:IProgress not found")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, startup_timeout=300, record_timing=False)
    client.execute(cwd=str(tmp_path), cleanup_kc=True)
    notebook.metadata.language_info = {"name": "python"}  # without the version of this Python
    return notebook


def outputs(notebook: Any) -> list[list[dict[str, str]]]:
    """The outputs of each code cell: text by MIME type or stream, without the parts that vary."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = [output.get("data") or {output.name: output.text} for output in cell.outputs]
            found.append([{kind: VARIES.sub("", text) for kind, text in each.items()} for each in shown])
    return found


def test_notebook_runs_and_shows_what_is_stored(executed: Any) -> None:
    """A cell that raises fails the run; `stderr`, which would hold a warning, is an output like any other."""
    if os.environ.get("SCHEMAGEN_GOLDEN"):
        nbformat.write(executed, NOTEBOOK)
    stored = nbformat.read(NOTEBOOK, as_version=4)
    assert outputs(executed) == outputs(stored)
    assert [cell.execution_count for cell in stored.cells if cell.cell_type == "code"] == list(range(1, 11))


def test_links_of_the_notebook_lead_somewhere() -> None:
    """They are relative to its folder."""
    text = NOTEBOOK.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert targets
    assert [target for target in targets if not (NOTEBOOK.parent / target).exists()] == []


def test_stored_outputs_are_the_right_ones() -> None:
    """The values are those of the texts, each table of a result, grammar or report is there, and nothing went to stderr."""
    shown = "\n".join(str(output) for cell in outputs(nbformat.read(NOTEBOOK, as_version=4)) for output in cell)
    assert "Person(name='Ada Lovelace', age=36, city='London')" in shown
    assert "set_timer minutes=10\\na timer of 10 minutes is set" in shown
    assert shown.count("'text/html': '") == 5
    assert "stderr" not in shown
    assert "<script" not in shown

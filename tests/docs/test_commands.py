"""The commands in the README and the documentation run in the folder of the examples, as somebody would paste them."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from schemagen.cli.commands import app

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/command-line.md", "docs/tutorials/batches-and-streams.md")
#: What they name is somewhere else: models on the network, programs that may not be installed.
_ELSEWHERE = ("--model", "--tokenizer", ".svg", "serve")


def commands_of(page: str) -> list[list[str]]:
    """Return the words of each `schemagen` command of a page, in order; what it is piped into is left out."""
    text = (ROOT / page).read_text(encoding="utf-8")
    lines = (
        "\n".join(re.findall(r"^```bash\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL))
        .replace("\\\n", "")
        .splitlines()
    )
    found = [shlex.split(line.split(" | ")[0], comments=True) for line in lines if line.startswith("schemagen ")]
    return [words[1:] for words in found if words != ["schemagen", "demo"] and not any(map(is_elsewhere, words))]


def is_elsewhere(word: str) -> bool:
    """Whether a word of a command names something that a test does not have."""
    return any(part in word for part in _ELSEWHERE)


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends with status 0 in the folder that the page names, one after the other, with the bundled model."""
    assert "cd examples" in (ROOT / page).read_text(encoding="utf-8")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for module in ("shop", "weather"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    commands = commands_of(page)
    assert len(commands) >= 2
    for words in commands:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{words}: {result.output}"

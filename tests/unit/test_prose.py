"""The counter of habits of prose: what it counts, what it fails for, and that this tree is within its record."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The module tools/prose.py."""
    spec = importlib.util.spec_from_file_location("prose_tool", ROOT / "tools" / "prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(root: Path, name: str, text: str) -> None:
    """Write a file of a tree."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_this_tree_is_within_its_record(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise `make check` fails, too."""
    assert tool.main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "habits"),
    [
        ("schemagen/a.py", "behind = 1  # the token behind it\n", ["behind"]),
        ("schemagen/a.py", "look = 'a look-behind'\n", []),
        ("schemagen/a.py", 'def f() -> None:\n    """Return what\n    is left. None: all."""\n', ["what is", "None: fragment"]),
        ("schemagen/a.py", "x = 'What is a mask?'\n", []),
        ("schemagen/a.py", "x = f'{1} nobody'\n", ["nobody, whoever"]),
        ("core/a.cpp", "int behind;  // worked out Beforehand\n", ["beforehand"]),
        ("core/a.hpp", '/* whoever\n asks */ auto a = "what comes";\n', ["nobody, whoever", "what is"]),
        ("docs/guides/a.md", "# Title\n\nWhat follows.\n", ["what is"]),
        ("docs/a.svg", "behind", []),
        ("tools/bundled_words.py", "x = 'behind'\n", []),
    ],
)  # fmt: skip
def test_what_is_counted(tool: ModuleType, tmp_path: Path, name: str, text: str, habits: list[str]) -> None:
    """Comments, docstrings, strings and pages are; names in code, questions and data are not."""
    write(tmp_path, name, text)
    assert [habit for habit, _, _ in tool.places(tmp_path)] == habits


def test_a_rise_fails_with_the_places_and_a_fall_is_recorded(
    tool: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--update` lowers a count and never raises one."""
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"behind": {"core": 3}}), encoding="utf-8")
    write(tmp_path, "core/a.hpp", "\n// the text behind it\n")
    assert tool.main([], tmp_path, record) == 0
    assert tool.main(["--update"], tmp_path, record) == 0
    assert json.loads(record.read_text(encoding="utf-8"))["behind"] == {"core": 1}
    write(tmp_path, "core/b.hpp", "// behind\n")
    capsys.readouterr()
    assert tool.main(["--update"], tmp_path, record) == 1
    assert "core/a.hpp:2: // the text behind it\n  core/b.hpp:1: // behind" in capsys.readouterr().out
    assert json.loads(record.read_text(encoding="utf-8"))["behind"] == {"core": 1}

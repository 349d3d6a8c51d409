"""Files that comments and docstrings name are there: a name that was left behind by a move leads nowhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("schemagen", "core", "tests", "tools", "benchmarks", "examples")
ENDINGS = (".py", ".cpp", ".hpp")
#: Names of projects that look like files.
PROJECTS = {"llama.cpp"}
#: In a text: `path/file.py`, also with a part of the path or none. In C++ an include has its own check, the compiler.
_NAMED = re.compile(r"(?<![\w./{}*<-])((?:[\w.-]+/)*[a-z_]\w*\.(?:py|cpp|hpp))\b(?![\w/])")


def _sources() -> list[Path]:
    found = [
        path for folder in ("schemagen", "core") for ending in ENDINGS for path in (ROOT / folder).rglob(f"*{ending}")
    ]
    return sorted(found)


def _all_files() -> list[str]:
    found = (path for folder in FOLDERS for ending in ENDINGS for path in (ROOT / folder).rglob(f"*{ending}"))
    return ["/" + path.relative_to(ROOT).as_posix() for path in found]


def names_in(text: str) -> set[str]:
    """Every name of a file in a source, wherever it stands but in an include."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#include"))
    return {name for line in lines for name in _NAMED.findall(line)} - PROJECTS


def test_every_file_that_a_source_names_is_there() -> None:
    """A name is that of a file, or the end of its path."""
    files = _all_files()
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in _sources()
        for name in sorted(names_in(path.read_text(encoding="utf-8")))
        if not any(file.endswith(f"/{name}") for file in files)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("# as in `kernel.py`, and core/json/parts.hpp.", {"kernel.py", "core/json/parts.hpp"}),
        ('#include "gone.hpp"', set()),
        ("a.python, {name}.py, *.cpp", set()),
    ],
)
def test_names_are_found(text: str, names: set[str]) -> None:
    """Bare ones and those with folders; patterns are none."""
    assert names_in(text) == names

"""The programs in examples/ run as they are, offline, and print something."""

import runpy
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))

#: What the values must be: the bundled model has to be right here, not only well-formed.
EXPECTED = {
    "01_person.py": "Ada Lovelace will be 37 next year",
    "02_nested_order.py": "5 pieces for Maria Silva, paid",
    "03_choice_and_regex.py": "category: billing",
    "04_own_loop_with_matcher.py": "{'name': 'Ada Lovelace', 'age': 36}",
    "05_plain_transformers_processor.py": "Lena Fischer arrives on 2024-05-03 and stays 4 nights",
    "06_tools.py": "  RJX 61 costs 59.9 and RJX 65 costs 39.9.",
    "07_batch_and_stream.py": "/items/0 = Item(product='lamps', quantity=2)",
}


def test_every_example_has_an_expectation() -> None:
    """A new example comes with the line that it must print, and with a place in the documentation."""
    assert [path.name for path in EXAMPLES] == sorted(EXPECTED)
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert all(f'--8<-- "examples/{path.name}"' in page for path in EXAMPLES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An example runs to its end as a program, without a network, and prints its line."""
    monkeypatch.setattr(socket.socket, "connect", no_network)
    runpy.run_path(str(path), run_name="__main__")
    assert EXPECTED[path.name] in capsys.readouterr().out.splitlines()


def no_network(*_arguments: object) -> None:
    """Stand in for `socket.connect`."""
    raise AssertionError("an example opened a connection")

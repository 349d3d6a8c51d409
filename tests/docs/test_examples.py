"""The programs in examples/ run as they are, offline, and print the right values."""

import ast
import importlib.util
import json
import os
import re
import runpy
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
SERVER = "11_fastapi_app.py"

#: What the values must be: the bundled model has to be right here, not only well-formed.
EXPECTED = {
    "01_person.py": "Ada Lovelace will be 37 next year",
    "02_extract_to_csv.py": "Alan Turing,41,Manchester,logician",
    "03_classify.py": "feature  low   2",
    "04_own_loop_with_matcher.py": "{'name': 'Ada Lovelace', 'age': 36}",
    "05_plain_transformers_processor.py": "Lena Fischer arrives on 2024-05-03 and stays 4 nights",
    "06_tools.py": "  RJX 61 costs 59.9 and RJX 65 costs 39.9.",
    "07_stream_to_terminal.py": "18 pieces to send",
    "08_batch_with_resume.py": "0 kept, 4 new, 1 failed",
    "09_invoices.py": "together: 219.40 EUR, 1250.00 USD",
    "10_org_chart.py": "20 of 20 random answers of at most 60 tokens are charts",
    "13_many_gpus.py": "contacts.jsonl: 0 kept, 4 new, 1 failed",
    "12_formats.py": "Ada Lovelace is 36 years old and lives in London.",
}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The recorder of the outputs."""
    spec = importlib.util.spec_from_file_location("example_outputs", ROOT / "tools" / "example_outputs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def as_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing on the command line, an empty folder to work in, and no network."""
    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(sys, "argv", ["example"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_every_example_has_an_expectation() -> None:
    """A new example comes with the line that it must print, and with a place in the documentation."""
    assert [path.name for path in EXAMPLES] == sorted([*EXPECTED, SERVER])
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert all(f'--8<-- "examples/{path.name}"' in page for path in EXAMPLES)


def test_every_data_file_is_read() -> None:
    """The files in examples/data belong to examples, or to the commands of the documentation."""
    sources = [path.read_text(encoding="utf-8") for path in EXAMPLES]
    pages = [ROOT / "docs" / "command-line.md", *sorted((ROOT / "docs" / "cookbook").glob("*.md"))]
    page = "".join(path.read_text(encoding="utf-8") for path in pages)
    for data in (ROOT / "examples" / "data").iterdir():
        assert sum(f'"{data.name}"' in source for source in sources) + (f" data/{data.name} " in page) >= 1, data.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_is_short(path: Path) -> None:
    """An example fits on a screen and opens by saying what it shows."""
    source = path.read_text(encoding="utf-8")
    assert len(source.splitlines()) < 65
    assert ast.get_docstring(ast.parse(source))


@pytest.mark.parametrize("name", EXPECTED)
def test_example_runs(name: str, tool: ModuleType) -> None:
    """An example runs to its end as a program, without a network, prints its line, and all that the page shows."""
    found = tool.outputs(Path(name).stem)
    assert EXPECTED[name] in found[".txt"].splitlines()
    assert found == tool.recorded(Path(name).stem), f"run python tools/example_outputs.py {Path(name).stem}"


def test_every_output_is_shown(tool: ModuleType) -> None:
    """The page has each recorded output, below its program, and no output is left of a program that is gone."""
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    shown = [
        Path(name).stem for name in re.findall(r'^--8<-- "examples/(\d.*\.py|outputs/.*)"', page, flags=re.MULTILINE)
    ]
    assert shown == [each for name in tool.names() for each in [name] * (1 + len(tool.recorded(name)))]
    assert {path.stem for path in tool.OUTPUTS.iterdir()} == {*tool.names()}


def test_table_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    """The table has a header and one right row for each line of its file."""
    run("02_extract_to_csv.py")
    assert capsys.readouterr().out.splitlines() == [
        "name,age,city,job",
        "Grace Hopper,85,Arlington,programmer",
        "Alan Turing,41,Manchester,logician",
        "Marie Curie,66,Paris,chemist",
        "Maria Silva,29,Porto,nurse",
        "Tom Baker,42,Dublin,teacher",
    ]


def test_arguments(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program reads the file and uses the model that are named on its command line."""
    lines = tmp_path / "lines.txt"
    lines.write_text("Tom Baker, 42, is a teacher from Dublin\n", encoding="utf-8")
    model = ROOT / "schemagen" / "lm" / "bundled"
    monkeypatch.setattr(sys, "argv", ["example", str(lines), "--model", str(model)])
    run("02_extract_to_csv.py")
    assert capsys.readouterr().out.splitlines() == ["name,age,city,job", "Tom Baker,42,Dublin,teacher"]


def test_tickets_are_sorted(capsys: pytest.CaptureFixture[str]) -> None:
    """Every ticket is in its right class."""
    run("03_classify.py")
    assert capsys.readouterr().out.splitlines() == [
        "billing  high  2",
        "bug      high  2",
        "feature  low   2",
        "mood: negative",
    ]


def test_chart_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    """Everybody is below the boss whom the sentences name."""
    run("10_org_chart.py")
    lines = capsys.readouterr().out.splitlines()
    assert [line.lstrip("├└│─ \N{NO-BREAK SPACE}") for line in lines[:6]] == [
        "Ann Miller",
        "Bob Stone",
        "Dan Lee",
        "Eva Novak",
        "Omar Haddad",
        "Carla Weiss",
    ]


def test_formats_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    """The person that was found is written in each format, and what is quoted stands in the review."""
    run("12_formats.py")
    found = capsys.readouterr().out
    assert '{"name": "Ada Lovelace", "age": 36, "city": "London"}\n' in found
    assert "name: Ada Lovelace\nage: 36\ncity: London\n" in found
    assert 'Person(name="Ada Lovelace", age=36, city="London")\n' in found
    assert "<person>\n  <name>Ada Lovelace</name>\n  <age>36</age>\n  <city>London</city>\n</person>\n" in found
    assert found.endswith('The review says "I want my money back." Word for word: True\n')


def test_batch_goes_on_where_it_was(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """After a crash in the middle of a line, only what has no value is generated again."""
    output = tmp_path / "schemagen-examples" / "batch-with-resume" / "contacts.jsonl"
    run("08_batch_with_resume.py")
    first = output.read_text(encoding="utf-8").splitlines()
    output.write_text("\n".join(first[:2]) + "\n" + first[3][:20], encoding="utf-8")
    run("08_batch_with_resume.py")
    assert capsys.readouterr().out.splitlines()[-1] == "2 kept, 2 new, 1 failed"
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows if "error" in row] == ["m3"]
    assert {row["id"]: row["value"] for row in rows if "value" in row} == {
        "m1": {"name": "Tom Baker", "email": "tom@example.org", "phone": None},
        "m2": {"name": "Maria Silva", "email": None, "phone": "0176 5551 234"},
        "m4": {"name": "Lena Fischer", "email": "lena.fischer@example.com", "phone": "+49 30 1234"},
        "m5": {"name": "Omar Haddad", "email": None, "phone": None},
    }


def test_examples_keep_out_of_the_way_of_others(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One after another in one folder, in either order, and nothing of theirs is left in it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("08_batch_with_resume.py", "13_many_gpus.py", "08_batch_with_resume.py"):
        run(name)
    lines = [line for line in capsys.readouterr().out.splitlines() if "kept" in line]
    assert lines == ["0 kept, 4 new, 1 failed", EXPECTED["13_many_gpus.py"], "4 kept, 0 new, 1 failed"]
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_two_processes_share_the_rows(tmp_path: Path) -> None:
    """Under torchrun each process does its rows and no others; started again, they do what failed and nothing else."""
    program = str(ROOT / "examples" / "13_many_gpus.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", program]
    ended = []
    for _ in range(2):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        ended.append(sorted(line for line in run.stdout.splitlines() if line.startswith("contacts")))
    assert ended == [
        [
            "contacts-00001-of-00002.jsonl: 0 kept, 2 new, 1 failed",
            "contacts-00002-of-00002.jsonl: 0 kept, 2 new, 0 failed",
        ],
        [
            "contacts-00001-of-00002.jsonl: 2 kept, 0 new, 1 failed",
            "contacts-00002-of-00002.jsonl: 2 kept, 0 new, 0 failed",
        ],
    ]
    files = sorted(tmp_path.rglob("contacts-*.jsonl"))
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(row["index"], row["id"]) for row in rows] == [(0, "m1"), (2, "m3"), (4, "m5"), (1, "m2"), (3, "m4")]
    assert [row["id"] for row in rows if "error" in row] == ["m3"]


@pytest.mark.parametrize("change", ["another type", "nothing known"])
def test_batch_mixes_nothing(tmp_path: Path, change: str) -> None:
    """An output of another type is left alone, and so is one of which it is not known."""
    folder = tmp_path / "schemagen-examples" / "batch-with-resume"
    folder.mkdir(parents=True)
    output, record = folder / "contacts.jsonl", folder / "contacts.meta.json"
    output.write_text('{"id": "m1", "value": 1}\n', encoding="utf-8")
    if change == "another type":
        record.write_text(json.dumps({"schema": {"type": "integer"}, "model": None}), encoding="utf-8")
    with pytest.raises(SystemExit, match="choose another --output"):
        run("08_batch_with_resume.py")
    assert output.read_text(encoding="utf-8") == '{"id": "m1", "value": 1}\n'


@pytest.mark.skipif(find_spec("fastapi") is None, reason="fastapi is not installed (pip install '.[examples]')")
def test_endpoint_answers_with_the_object(tool: ModuleType) -> None:
    """The endpoint returns a booking, describes it in its schema, and refuses what is too long; the page shows the booking."""
    from fastapi.testclient import TestClient

    with TestClient(run(SERVER, as_main=False)["app"]) as client:
        assert tool.TEXT in str(ast.get_docstring(ast.parse((ROOT / "examples" / SERVER).read_text(encoding="utf-8"))))
        answer = client.post("/bookings", json={"text": tool.TEXT})
        assert answer.status_code == 200
        assert {".json": answer.text + "\n"} == tool.recorded(Path(SERVER).stem)
        assert answer.json() == {
            "guest": "Tom Baker", "guests": 1, "check_in": "2024-06-12", "nights": 2, "price": 89.0,
        }  # fmt: skip
        assert client.post("/bookings", json={"text": "x" * 501}).status_code == 422
        fields = client.get("/openapi.json").json()["components"]["schemas"]["Booking"]["properties"]
        assert fields["nights"]["maximum"] == 30


def run(name: str, *, as_main: bool = True) -> dict[str, object]:
    """Run an example and return its names."""
    path = ROOT / "examples" / name
    return runpy.run_path(str(path), run_name="__main__" if as_main else path.stem)


def no_network(*_arguments: object) -> None:
    """Stand in for `socket.connect`."""
    raise AssertionError("an example opened a connection")

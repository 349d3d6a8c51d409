"""The command line: arguments, output, exit status, errors."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from typer.testing import CliRunner, Result

import schemagen
from schemagen.cli.commands import Format, app
from schemagen.cli.compilation import bundled_vocabulary
from schemagen.cli.console import cost_of, show_data, show_text
from schemagen.cli.demo import CASES, CHOSEN
from schemagen.evaluation import Evaluation, Example
from schemagen.evaluation.measure import Answer, WayResult
from schemagen.rows import RunKey
from schemagen.writers import TEXT_FORMATS

ROOT = Path(__file__).parents[2]
AGE = '{"type": "integer", "minimum": 3, "maximum": 17}'


def run(*arguments: str, text: str | None = None) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(app, list(arguments), input=text)


class FakeModel:
    """A language model that answers every prompt with 7, and remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def run(self, prompt: str, spec: Any, **options: Any) -> Any:
        self.calls.append((prompt, spec, options))
        return SimpleNamespace(value=7, text="7", new_tokens=2, seconds=0.5, masked_mass=0.25)


@pytest.fixture
def fake_model(monkeypatch: pytest.MonkeyPatch) -> FakeModel:
    """The bundled model, replaced."""
    model = FakeModel()
    monkeypatch.setattr(schemagen, "load_bundled", lambda: model)
    return model


@pytest.mark.parametrize("text", ["{'a': 3,", '{"a": 3}'])
def test_repair(text: str) -> None:
    """`repair` prints the corrected text, and what it took on standard error."""
    spec = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    for given, piped in ((text, None), ("-", text)):
        result = run("repair", spec, given, text=piped)
        assert (result.exit_code, json.loads(result.stdout)) == (0, {"a": 3})
        assert ("0 edits, cost 0" in result.stderr) == (text == '{"a": 3}')
    assert run("repair", "-", "-").exit_code == 2


def test_version() -> None:
    """`--version` prints the version of the package."""
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"schemagen {schemagen.__version__}\n")


def test_no_arguments_shows_the_commands() -> None:
    """Without arguments the commands are listed."""
    assert all(name in run().output for name in ("demo", "generate", "batch", "call", "compile", "regex", "draw"))


@pytest.mark.parametrize("spec", ["nowhere.json", "nowhere:Class", "schemagen:nothing", "not a spec"])
def test_a_spec_that_is_nothing_is_wrong_usage(spec: str) -> None:
    """A spec that is no file, JSON or importable name ends with status 2."""
    result = run("regex", spec)
    assert result.exit_code == 2
    assert "Invalid value" in result.stderr


def test_broken_json_is_an_error_with_its_place() -> None:
    """Text that starts like JSON and is not ends with status 1, and says where."""
    result = run("regex", '{"type": ')
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "InvalidSchemaError" in result.stderr
    assert "line 1, column 10" in result.stderr


def test_an_error_shows_its_parts_literally() -> None:
    """Where, why, fix and code are shown; square brackets in a schema are not taken for markup."""
    result = run("regex", '{"type": "[bold]"}')
    assert result.exit_code == 1
    assert "[bold]" in result.stderr
    assert "code: invalid-schema" in result.stderr


@pytest.mark.parametrize("source", ["inline", "file", "stdin", "class"])
def test_regex_reads_every_kind_of_spec(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pattern on stdout matches what the schema allows, wherever the schema came from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("age.json").write_text(AGE, encoding="utf-8")
    module = f"ages_{source}"
    Path(f"{module}.py").write_text(
        "from typing import Annotated\nfrom pydantic import Field\nclass Types:\n    Age = Annotated[int, Field(ge=3, le=17)]\n",
        encoding="utf-8",
    )
    spec = {"inline": AGE, "file": "age.json", "stdin": "-", "class": f"{module}:Types.Age"}[source]
    result = run("regex", spec, text=AGE)
    assert result.exit_code == 0, result.output
    pattern = result.stdout.removesuffix("\n")
    assert [n for n in range(30) if re.fullmatch(pattern, str(n))] == list(range(3, 18))


def test_generate_prints_json_and_nothing_else_on_stdout(fake_model: FakeModel) -> None:
    """The value goes to stdout, its cost to stderr."""
    result = run("generate", AGE, "How old?", "--max-new-tokens", "9")
    assert result.exit_code == 0, result.output
    assert result.stdout == "7\n"
    assert "2 tokens, 4 tokens/s" in result.stderr
    assert fake_model.calls == [("How old?", json.loads(AGE), {"max_new_tokens": 9})]


def test_generate_leaves_the_budget_to_the_model(fake_model: FakeModel) -> None:
    """Without the option no budget is passed on."""
    run("generate", "true", "Anything")
    assert fake_model.calls == [("Anything", True, {})]


def test_generate_passes_a_draft_on(fake_model: FakeModel) -> None:
    """`--draft N` is the option of the library."""
    run("generate", "true", "Anything", "--draft", "40")
    assert fake_model.calls == [("Anything", True, {"draft": 40})]


def test_generate_names_a_model_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a model ends with status 2 and names it."""

    def fail(name: str) -> None:
        raise OSError(f"{name} has no config.json")

    monkeypatch.setattr(schemagen, "load", fail)
    result = run("generate", "true", "Anything", "--model", str(tmp_path))
    assert result.exit_code == 2
    assert "--model" in result.stderr


def test_a_failed_generation_shows_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the budget ends too early the partial text is shown."""

    def fail(*_arguments: Any, **_options: Any) -> None:
        raise schemagen.BudgetError("stopped", text='{"name": "Ad')

    monkeypatch.setattr(schemagen, "load_bundled", lambda: SimpleNamespace(run=fail))
    result = run("generate", "true", "Anything")
    assert result.exit_code == 1
    assert '{"name": "Ad' in result.stderr


def test_a_file_may_hold_a_grammar(tmp_path: Path) -> None:
    """What its name ends with says in which notation."""
    for name, grammar in (("sum.gbnf", 'root ::= "1" ("+" root)?'), ("one.ebnf", 'root ::= Substring("a", "b")')):
        (tmp_path / name).write_text(grammar)
    result = run("regex", str(tmp_path / "one.ebnf"))
    assert result.exit_code == 0
    assert re.fullmatch(result.stdout.strip(), "ab")
    failed = run("regex", str(tmp_path / "sum.gbnf"))
    assert "the grammar is no regular expression" in failed.stderr


def test_generate_says_how_sure_it_is() -> None:
    """With --confidence the text and a table of its fields follow on stderr, streamed or not; stdout has the value alone."""
    schema = '{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}'
    arguments = ("generate", schema, "Ada Lovelace is 36.")
    plain = run(*arguments)
    assert "probability  removed" not in plain.stderr
    (confidence,) = [schemagen.load_bundled().run(arguments[2], json.loads(schema), confidence=True).confidence]
    for more in ((), ("--stream",)):
        found = run(*arguments, "--confidence", *more)
        assert (found.exit_code, found.stdout) == (0, plain.stdout)
        lines = [line.split() for line in found.stderr.splitlines()]
        assert plain.stdout.strip().split() in lines
        rows = {line[0]: float(line[-2]) for line in lines if line and line[0] in ("(all)", "/name", "/age")}
        assert rows == {
            path or "(all)": pytest.approx(field.probability, abs=1e-3) for path, field in confidence.items()
        }


def test_batch_says_how_sure_it_is(tmp_path: Path) -> None:
    """With --confidence each value has the probabilities that `run` gives; resuming needs the option again."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"I am 12."\n"I am 9."\n', encoding="utf-8")
    command = ("batch", AGE, str(source), "--output", str(output))
    assert run(*command, "--confidence").exit_code == 0
    lm = schemagen.load_bundled()
    for row, prompt in zip(rows_of(output.read_text(encoding="utf-8")), ("I am 12.", "I am 9."), strict=True):
        sure = lm.run(prompt, json.loads(AGE), confidence=True).confidence[""].probability
        assert row["confidence"] == {"": pytest.approx(sure, rel=1e-3)}
        assert row["least_confidence"] == row["confidence"][""]
    assert "0 values, 0 failed, 2 kept" in run(*command, "--confidence", "--resume").stderr
    assert "--confidence True, now unset" in " ".join(run(*command, "--resume").stderr.split())


def test_generate_streams() -> None:
    """With --stream the same text is printed in pieces; within a small budget it is short, and below the least one refused."""
    schema = '{"type": "object", "properties": {"name": {"type": "string", "maxLength": 40}}, "required": ["name"]}'
    arguments = ("generate", schema, "Ada Lovelace is 36.")
    whole, streamed = run(*arguments), run(*arguments, "--stream")
    assert (streamed.exit_code, streamed.stdout) == (0, whole.stdout)
    assert "tokens/s" in streamed.stderr
    result = run(*arguments, "--stream", "--max-new-tokens", "4")
    assert result.exit_code == 1
    assert result.stdout.strip() == ""
    assert "the shortest text takes" in result.stderr
    short = run(*arguments, "--stream", "--max-new-tokens", "9")
    assert short.exit_code == 0
    assert len(json.loads(short.stdout)["name"]) < len(json.loads(whole.stdout)["name"])


@pytest.mark.parametrize("more", [(), ("--stream",)])
@pytest.mark.parametrize(
    ("as_", "text"),
    [
        ("python", r"Line\(item=.*, count=\d+\)"),
        ("yaml", r"item: .+\ncount: \d+"),
        ("xml", r"<line>\n  <item>.*</item>\n  <count>\d+</count>\n</line>"),
        ("json", r"\{.*\}"),
    ],
)
def test_generate_writes_formats(
    as_: str, text: str, more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--as` says how the value is written, streamed or not."""
    (tmp_path / "lines_of_orders.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Line:\n    item: str\n    count: int\n"
    )
    monkeypatch.chdir(tmp_path)
    result = run("generate", "lines_of_orders:Line", "Two lamps", "--as", as_, "--max-new-tokens", "60", *more)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(text, result.stdout.removesuffix("\n"), re.DOTALL), result.stdout
    table = run("generate", "lines_of_orders:Line", "Two lamps", "--as", "csv", *more)
    assert table.exit_code == 1
    assert "CSV" in table.stderr


def test_formats_of_the_command_line_are_those_of_the_package() -> None:
    """No more, and no fewer; anything else is wrong usage."""
    assert tuple(each.value for each in Format) == TEXT_FORMATS
    for command in ("generate", "compile"):
        assert run(command, AGE, *(["x"] if command == "generate" else []), "--as", "toml").exit_code == 2


@pytest.mark.parametrize("text", ["[Person(age=7)]", '{"a": 1}', "{value: true}"])
def test_only_json_is_laid_out_on_a_terminal(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What begins like JSON and is none is shown as it is."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    show_data(text)
    shown = capsys.readouterr().out
    assert ("\x1b[" in shown) == (text == '{"a": 1}')
    assert "\x1b[" in shown or shown == f"{text}\n"


LINES = ["How old?", {"prompt": "And you?", "id": "b"}, [{"role": "user", "content": "Hi"}], {"messages": []}]
INPUT = "\n".join([*map(json.dumps, LINES), "", "not json", json.dumps({"id": 7}), json.dumps("Last")])


def rows_of(text: str) -> list[Any]:
    """Parse JSON Lines."""
    return [json.loads(line) for line in text.splitlines()]


def test_batch_reads_every_kind_of_line() -> None:
    """Texts, chats and objects are rows, in order; what is no prompt fails its row, and the status says so."""
    result = run("batch", AGE, "-", "--batch-size", "3", text=INPUT)
    assert result.exit_code == 1
    rows = rows_of(result.stdout)
    assert [row["index"] for row in rows] == list(range(7))
    assert [3 <= row["value"] <= 17 if "value" in row else row["error"]["code"] for row in rows] == [
        *[True] * 3,
        *["empty-prompt", "invalid-line", "empty-prompt"],
        True,
    ]
    # Lines are counted in the file, where one is empty.
    assert rows[4]["error"]["message"] == "line 6 is not JSON: Expecting value, column 1"
    assert rows[5]["error"]["message"] == "line 7 has no prompt"
    assert (rows[1]["id"], rows[5]["id"]) == ("b", 7)
    assert "4 values, 3 failed" in result.stderr
    alone = run("generate", AGE, "Last")
    assert alone.stdout == f"{rows[6]['value']}\n"


def test_batch_survives_every_line(tmp_path: Path) -> None:
    """A byte order mark, half of a surrogate pair and a number without an end spoil no other row."""
    source, output = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    lines = ['\ufeff{"prompt": "a"}', '{"id": "\\ud800", "prompt": "b"}', "1" * 5000, "{bad", "[" * 100_000]
    source.write_text("\r\n".join(lines), encoding="utf-8")
    result = run("batch", '{"const": 1}', str(source), "--output", str(output))
    assert result.exit_code == 1
    first, second, *others = rows_of(output.read_text(encoding="utf-8"))
    assert (first, second) == (
        {"index": 0, "value": 1, "finish_reason": "complete"},
        {"index": 1, "id": "\ud800", "value": 1, "finish_reason": "complete"},
    )
    assert [other["error"]["code"] for other in others] == ["invalid-line"] * 3
    assert [other["error"]["message"][: len("line 3 is not JSON: ")] for other in others] == [
        f"line {number} is not JSON: " for number in (3, 4, 5)
    ]


def test_batch_goes_on_where_it_was(tmp_path: Path) -> None:
    """--resume keeps values, drops a half line, tries failures again, and refuses the output of another input."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"a"\n{"prompt": "b", "id": 1}\n"c"\n"d"\n', encoding="utf-8")
    command = ("batch", AGE, str(source), "--output", str(output))
    assert run(*command).exit_code == 0
    first = rows_of(output.read_text(encoding="utf-8"))
    assert run(*command).exit_code == 2
    done = '{"index": 1, "id": 1, "value": 11, "finish_reason": "complete"}'
    failed = '{"index": 0, "error": {"code": "budget-exhausted"}}'
    output.write_text(f'{failed}\n{done}\n{{"index": 2, "val', encoding="utf-8")
    result = run(*command, "--resume")
    assert result.exit_code == 0, result.output
    assert "3 values, 0 failed, 1 kept from before" in result.stderr
    rows = rows_of(output.read_text(encoding="utf-8"))
    assert rows == [first[0], json.loads(done), first[2], first[3]]
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []
    output.write_text('{"index": 1, "id": 2, "value": 3}\n', encoding="utf-8")
    result = run(*command, "--resume")
    assert result.exit_code == 2
    assert "not of this input" in " ".join(result.stderr.replace("│", " ").split())


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The command that made an output with one value, no model loaded from here on."""
    (tmp_path / "in.jsonl").write_text('"a"\n', encoding="utf-8")
    command = ("batch", AGE, str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out.jsonl"))
    assert run(*command).exit_code == 0
    monkeypatch.setattr(schemagen, "load_bundled", lambda: pytest.fail("a model was loaded"))
    return command


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--max-new-tokens", "90"), "--max-new-tokens unset, now 90"),
        (("--draft", "40"), "--draft unset, now 40"),
        (("--seed", "1"), "--seed unset, now 1"),
        (("--model", "some/model"), "now some/model"),
    ],
)
def test_batch_does_not_mix_models_and_options(made: tuple[str, ...], changed: tuple[str, ...], words: str) -> None:
    """--resume refuses an output that was made with other options, and changes nothing."""
    output = Path(made[-1])
    before = output.read_bytes()
    result = run(*made, "--resume", *changed)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.replace("│", " ").split())
    assert output.read_bytes() == before


def test_batch_does_not_mix_types(made: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--resume refuses an output of another schema, or of a class of that name before it was changed."""
    result = run(made[0], '{"type": "integer"}', *made[2:], "--resume")
    assert result.exit_code == 2
    assert "was made with something else" in " ".join(result.stderr.replace("│", " ").split())
    monkeypatch.syspath_prepend(tmp_path)
    record = tmp_path / "out.jsonl.meta.json"
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["spec"] == AGE
    record.write_text(json.dumps({**found, "spec_sha256": "0" * 64}), encoding="utf-8")
    result = run(*made, "--resume")
    assert result.exit_code == 2
    assert "has changed" in " ".join(result.stderr.replace("│", " ").split())


@pytest.mark.parametrize("text", [None, "", "{}", "[]"])
def test_batch_does_not_go_on_with_the_unknown(made: tuple[str, ...], text: str | None) -> None:
    """Values of which nobody knows what they were made with are not kept; an output without any is fine."""
    output = Path(made[-1])
    record = output.with_name("out.jsonl.meta.json")
    if text is None:
        record.unlink()
    else:
        record.write_text(text, encoding="utf-8")
    result = run(*made, "--resume")
    assert result.exit_code == 2
    assert "out.jsonl.meta.json" in result.stderr


def test_batch_starts_where_there_is_no_value(tmp_path: Path) -> None:
    """An empty output needs no record, and gets one; the output has nothing but rows."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"a"\n"b"\n', encoding="utf-8")
    output.touch()
    assert run("batch", AGE, str(source), "--output", str(output), "--resume").exit_code == 0
    assert [row["index"] for row in rows_of(output.read_text(encoding="utf-8"))] == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "out.jsonl.meta.json"]


def test_batch_reads_and_writes_tables(tmp_path: Path) -> None:
    """From CSV to Parquet and CSV, with columns that are named, and failures in a file that can be an input."""
    pq = pytest.importorskip("pyarrow.parquet")
    source = tmp_path / "in.csv"
    source.write_text(f"name,text\na,How old?\nb,{'x' * 4000}\nc,And you?\n", encoding="utf-8")
    failures = tmp_path / "bad.jsonl"
    columns = ("--prompt-column", "text", "--id-column", "name")
    for ending in (".parquet", ".csv"):
        output = tmp_path / f"out{ending}"
        result = run("batch", AGE, str(source), "--output", str(output), "--failures", str(failures), *columns)
        assert result.exit_code == 1, result.output
        assert "2 values, 1 failed" in result.stderr
    found = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(row["index"], row["id"], row["error"] and row["error"]["code"]) for row in found] == [
        (0, "a", None), (1, "b", "budget-exhausted"), (2, "c", None),
    ]  # fmt: skip
    assert [isinstance(row["value"], int) for row in found] == [True, False, True]
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "index,id,value,error,error_message,error_text,finish_reason"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        [str(row["index"]), row["id"], str(row["value"] or "")] for row in found
    ]
    (bad,) = rows_of(failures.read_text(encoding="utf-8"))
    assert (bad["id"], bad["prompt"], bad["error"]["code"]) == ("b", "x" * 4000, "budget-exhausted")
    assert "1 failed" in run("batch", AGE, str(failures)).stderr


def test_batch_fills_a_template(tmp_path: Path) -> None:
    """With columns of a table or keys of an object; a system message goes before it, and both belong to the output."""
    source, output = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("who,text\nAda,is 36\nBob\nEve,is {9}\n", encoding="utf-8")
    failures = tmp_path / "bad.jsonl"
    command = ("batch", AGE, str(source), "--template", "{{}} {who}: {text}", "--output", str(output))
    result = run(*command, "--failures", str(failures), "--system", "Be brief.")
    assert result.exit_code == 1, result.output
    assert re.search(r"2 values, 1 failed; \d+:\d\d at .* rows/(s|min), up to \d+ rows? at a time", result.stderr)
    (bad,) = rows_of(failures.read_text(encoding="utf-8"))
    assert bad["error"]["message"] == "row 2 of the table, line 3 does not fill the template, which needs 'who', 'text'"
    refused = run(*command, "--failures", str(failures), "--resume")
    assert "--system Be brief., now unset" in " ".join(refused.stderr.split())
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"prompt": "Ada"}\n"Ada"\n{"text": "Ada"}\n', encoding="utf-8")
    found = rows_of(run("batch", AGE, str(lines), "--template", "How old is {prompt}?").stdout)
    alone = json.loads(run("generate", AGE, "How old is Ada?").stdout)
    assert [row.get("value") for row in found] == [alone, alone, None]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--template", "{txt}"), "no column 'txt', which the template names"),
        (("--template", "text"), "it names no column"),
        (("--template", "{} and {text}"), "a pair of braces names no column"),
        (("--template", "{text}", "--prompt-column", "text"), "each gives the prompts"),
        (("--prompt-column", "text", "--sample", "2"), "--output FILE.csv"),
    ],
)
def test_templates_and_samples_that_cannot_be(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    """They are refused before a model is loaded."""
    source = tmp_path / "in.csv"
    source.write_text("text\nx\n", encoding="utf-8")
    result = run("batch", AGE, str(source), *arguments)
    assert result.exit_code != 0
    assert words in " ".join(result.output.replace("│", " ").split())


def test_a_sample_is_checked_by_eval(tmp_path: Path) -> None:
    """It has some rows with their prompts, the same ones each time; once corrected it is an input of eval."""
    source, output = tmp_path / "in.csv", tmp_path / "check.csv"
    source.write_text("text\n" + "".join(f"Person {number}\n" for number in range(50)), encoding="utf-8")
    schema = json.dumps({"type": "object", "properties": {"age": json.loads(AGE)}, "additionalProperties": False})
    command = ("batch", schema, str(source), "--prompt-column", "text", "--sample", "3", "--output", str(output))
    assert run(*command).exit_code == 0
    table = list(csv.DictReader(io.StringIO(output.read_text(encoding="utf-8"))))
    assert len(table) == 3
    assert all(row["prompt"] == f"Person {row['index']}" for row in table)
    assert "3 kept from before" in run(*command, "--resume").stderr
    found = json.loads(run("eval", schema, str(output), "--constrained-only").stdout)
    assert found["constrained"]["exact"][0] == 1


def test_another_header_is_refused(tmp_path: Path) -> None:
    """Rows of an earlier version of this program, or of a table that was edited, do not mix with others."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.csv"
    source.write_text('"a"\n"b"\n', encoding="utf-8")
    command = ("batch", AGE, str(source), "--output", str(output))
    assert run(*command).exit_code == 0
    output.write_text(output.read_text(encoding="utf-8").replace("value", "json"), encoding="utf-8")
    before = output.read_bytes()
    refused = run(*command, "--resume")
    assert refused.exit_code == 2
    assert "has the columns index, id, json" in " ".join(refused.stderr.replace("│", " ").split())
    assert output.read_bytes() == before


def test_batch_works_on_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each shard has its file and its rows; together they are what one run writes. Ranks are those of the launcher."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(f'"prompt {number}"\n' for number in range(5)), encoding="utf-8")
    command = ("batch", AGE, str(source), "--seed", "4", "--output", str(output))
    assert run(*command).exit_code == 0
    assert run(*command, "--shard", "1/2").exit_code == 0
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = run(*command[:-1], str(tmp_path / "other.jsonl"))
    assert (refused.exit_code, (tmp_path / "other.jsonl").exists()) == (2, False)
    assert "--shard auto" in " ".join(refused.stderr.replace("│", " ").split())
    assert run(*command, "--shard", "auto").exit_code == 0
    parts = [tmp_path / f"out-0000{number}-of-00002.jsonl" for number in (1, 2)]
    rows = [rows_of(path.read_text(encoding="utf-8")) for path in parts]
    assert [[row["index"] for row in part] for part in rows] == [[0, 2, 4], [1, 3]]
    assert sorted(rows[0] + rows[1], key=lambda row: row["index"]) == rows_of(output.read_text(encoding="utf-8"))


def test_batch_goes_on_with_standard_input(tmp_path: Path) -> None:
    """Lines of a pipe are compared and skipped as those of a file are; a grammar's texts are JSON strings."""
    grammar, output = tmp_path / "g.gbnf", tmp_path / "out.jsonl"
    grammar.write_text('root ::= "yes" | "no"', encoding="utf-8")
    command = ("batch", str(grammar), "-", "--output", str(output))
    assert run(*command, text='"a"\n"b"\n').exit_code == 0
    assert run(*command, "--resume", text='"a"\n"b"\n"c"\n').exit_code == 0
    rows = rows_of(output.read_text(encoding="utf-8"))
    assert [row["index"] for row in rows] == [0, 1, 2]
    assert {row["value"] for row in rows} <= {"yes", "no"}
    assert run(*command, "--resume", text='"z"\n"b"\n"c"\n').exit_code == 2


def test_specifications_are_told_apart() -> None:
    """Validators, key order and the kind of a specification count; how it was written does not."""
    from pydantic import AfterValidator, BaseModel, create_model

    def checked(value: int) -> int:
        return value

    specs: list[Any] = [
        {"type": "integer"},
        int,
        Annotated[int, AfterValidator(checked)],
        {"properties": {"a": {}, "b": {}}},
        {"properties": {"b": {}, "a": {}}},
        schemagen.Regex("a"),
        schemagen.Choice(["a"]),
        schemagen.GBNF("root ::= [a]"),
        schemagen.EBNF("root ::= [a]"),
        create_model("A", a=(int, ...)),
    ]
    prints = [RunKey.of("x", spec, model=None).spec_sha256 for spec in specs]
    assert len(set(prints)) == len(specs)
    again: type[BaseModel] = create_model("A", a=(int, ...))
    assert RunKey.of("y", again, model=None).spec_sha256 == prints[-1]


def test_batch_samples_with_seeds(tmp_path: Path) -> None:
    """A row depends on its number and the seed, not on what was done before."""
    schema = '{"type": "string", "maxLength": 12}'
    text = '"x"\n' * 6
    rows = rows_of(run("batch", schema, "-", "--seed", "3", text=text).stdout)
    assert len({row["value"] for row in rows}) > 1
    assert rows == rows_of(run("batch", schema, "-", "--seed", "3", "--batch-size", "2", text=text).stdout)
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(text, encoding="utf-8")
    command = ("batch", schema, str(source), "--seed", "3", "--output", str(output))
    run(*command)
    output.write_text("".join(f"{json.dumps(row)}\n" for row in rows[:4]), encoding="utf-8")
    assert run(*command, "--resume", "--batch-size", "2", "--retries", "1").exit_code == 0
    assert rows_of(output.read_text(encoding="utf-8")) == rows


def test_batch_writes_one_line_for_each_row() -> None:
    """Values laid out over several lines come on one, and are not changed."""
    from schemagen.generation import Generation
    from schemagen.rows import Result, Row
    from schemagen.rows.formats import line_of

    text = '{\n  "a": 1.0e-5,\r\n  "b": "\\n\u2028"\n}'
    line = line_of(Result.of(Row(3, "x", "é"), Generation(None, text, (), 0, 0.0, None)))
    assert "1.0e-5" in line
    assert not {"\n", "\r"} & set(line)
    assert json.loads(line) == {
        "index": 3,
        "id": "é",
        "value": json.loads(text),
        "finish_reason": "complete",
    }


@pytest.mark.parametrize("arguments", [("-", "-"), (AGE, "nowhere.jsonl"), (AGE, "-", "--batch-size", "0")])
def test_batch_wrong_usage(arguments: tuple[str, ...]) -> None:
    """Standard input twice, a file that is not there, and no rows at a time end with status 2."""
    assert run("batch", *arguments, text="").exit_code == 2


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with functions, in the current directory; its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    name = f"shop_{tmp_path.name}"
    Path(f"{name}.py").write_text(
        "def get_weather(city: str) -> str:\n    return f'sunny in {city}'\n"
        "def set_timer(minutes: int) -> int:\n    if minutes > 5:\n        raise ValueError('too long')\n    return minutes\n"
        "everything = [get_weather, set_timer]\n",
        encoding="utf-8",
    )
    return name


@pytest.mark.parametrize("names", ["everything", "get_weather,set_timer"])
def test_call_prints_the_call_and_runs_nothing(shop: str, names: str) -> None:
    """The call goes to stdout as JSON; the function, which would raise, has not run."""
    result = run("call", f"{shop}:{names}", "Set a timer for 10 minutes")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"name": "set_timer", "arguments": {"minutes": 10}}


def test_types_and_functions_in_a_file_of_another_folder(
    shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path of the file stands for the module, which may import its neighbours."""
    (tmp_path / "elsewhere").mkdir()
    name = f"types_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(f"from typing import Literal\nimport {shop}\nAnswer = Literal['a', 'b']\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    for path in (tmp_path / f"{name}.py", f"../{name}.py"):
        assert run("regex", f"{path}:Answer").exit_code == 0
    result = run("call", f"{tmp_path / shop}.py:get_weather,set_timer", "Set a timer for 10 minutes")
    assert json.loads(result.stdout)["name"] == "set_timer"


def test_files_without_a_type_say_how_types_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file alone, one that is not there, one that hides another module, and one that no import can name."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in ("json.py", "a-b.py"):
        (tmp_path / name).write_text("Answer = int")
    for spec, told in {
        f"{tmp_path}/json.py": "FILE.py:Class",
        "nowhere": "FILE.py:Class",
        f"{tmp_path}/nowhere.py:Answer": "no such file",
        f"{tmp_path}/json.py:Answer": "the name of another module",
        f"{tmp_path}/a-b.py:Answer": "name it like a variable",
        f"{tmp_path}/a-b.py:": "FILE.py:Class",
    }.items():
        result = run("regex", spec)
        assert result.exit_code == 2
        assert told in re.sub(r"[\s│]+", " ", result.stderr)


def test_call_runs_if_it_is_asked_to(shop: str) -> None:
    """With --run the result goes to stdout and the call to stderr; what the function raises ends with status 1."""
    result = run("call", f"{shop}:everything", "What is the weather in Paris?", "--run")
    assert (result.exit_code, result.stdout) == (0, "sunny in Paris\n")
    assert "get_weather" in result.stderr
    result = run("call", f"{shop}:everything", "Set a timer for 10 minutes", "--run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "ValueError: too long" in result.stderr


def test_half_of_a_surrogate_pair_is_shown_as_its_escape(capsys: pytest.CaptureFixture[str]) -> None:
    """A function may return one, no encoding has it."""
    show_text("a\ud800")
    assert capsys.readouterr().out == "a\\ud800\n"


def test_call_takes_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """With --words an answer without a call is printed as it is."""
    asked = []

    def answer(*arguments: Any, **options: Any) -> str:
        asked.append((arguments, options))
        return "Hello."

    monkeypatch.setattr(schemagen, "load_bundled", lambda: SimpleNamespace(call=answer))
    result = run("call", "json:dumps", "Hi", "--words", "--max-new-tokens", "9")
    assert (result.exit_code, result.stdout) == (0, "Hello.\n")
    assert asked == [(("Hi", [json.dumps]), {"max_new_tokens": 9})]


def test_call_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --stream the same call is printed, and its arguments on standard error; words come in pieces."""
    (tmp_path / "timers.py").write_text(
        'def set_timer(minutes: int) -> int:\n    """Set a timer."""\n    return minutes\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    arguments = ("call", "timers:set_timer", "Set a timer for 10 minutes")
    whole, streamed = run(*arguments), run(*arguments, "--stream")
    assert (streamed.exit_code, streamed.stdout) == (0, whole.stdout)
    assert streamed.stderr.split() == ["set_timer", "...", "minutes", "=", "10"]
    words = ("call", "timers:set_timer", "Hello, I am Ada.", "--words")
    assert run(*words, "--stream").stdout == run(*words).stdout


def test_eval_measures_both_ways(tmp_path: Path) -> None:
    """The numbers go to stdout as JSON, what they mean to stderr, and all answers into the file that is named."""
    schema = '{"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}'
    rows = tmp_path / "rows.csv"
    rows.write_text("question,age,thoughts\nAda Lovelace is 36.,36,long\nBob is 5.,6,short\n")
    arguments = ("--prompt-column", "question", "--ignore", "thoughts", "--max-new-tokens", "40")
    result = run("eval", schema, str(rows), *arguments, "--output", str(tmp_path / "answers.jsonl"))
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert list(found) == ["constrained", "unconstrained"]
    assert found["constrained"]["valid"][0] == 1
    assert found["constrained"]["exact"][0] == 0.5
    assert "2 rows, each asked both ways" in result.stderr
    assert "too few rows" in result.stderr
    answers = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert [answer["constrained"]["wrong"] for answer in answers] == [[], ["/age"]]
    alone = run("eval", schema, str(rows), *arguments, "--constrained-only", "--count", "1")
    assert list(json.loads(alone.stdout)) == ["constrained"]
    assert json.loads(alone.stdout)["constrained"]["count"] == 1


@pytest.mark.parametrize(
    ("count", "hits", "said"),
    [
        (2, 0, "+50.0% of the fields are right: too few rows to compare; no intervals for fewer than 20 rows"),
        (
            20,
            10,
            "+0.0% of the fields are right, the same in each row: no difference that this many rows show; intervals",
        ),
        (20, 0, "+50.0% of the fields are right (+27.5% to +72.5%): it helps; intervals are those of 95 %"),
    ],
)
def test_eval_shows_intervals_that_say_something(
    count: int, hits: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those of a few rows, and no difference without width; the table follows."""
    ways = {"constrained": WayResult(), "unconstrained": WayResult()}
    for row in range(count):
        for name, right in (("constrained", row % 2 == 0), ("unconstrained", row % 2 == 0 and row < 2 * hits)):
            ways[name].add(Answer("", None, valid=True, tokens=1, seconds=1.0), {"/age": right})
    found = Evaluation([Example("", {})] * count, ways)
    monkeypatch.setattr("schemagen.cli.evaluation.evaluate", lambda *_, **__: found)
    monkeypatch.setattr("schemagen.cli.evaluation.is_plain", lambda _: False)
    (tmp_path / "rows.jsonl").write_text('{"prompt": "x", "expected": {}}')
    result = run("eval", "true", str(tmp_path / "rows.jsonl"))
    assert f"{count} rows, each asked both ways: with the constraint {said}" in result.stderr
    assert (" to " in result.stdout) == (count == 20)


@pytest.mark.parametrize(
    ("name", "text", "status", "words"),
    [
        ("rows.txt", "x", 2, "neither .csv nor .jsonl"),
        ("rows.csv", "text,a\nx,1\n", 1, "no prompt"),
        ("rows.jsonl", "{", 1, "not JSON"),
        ("missing.csv", None, 2, "cannot read"),
    ],
)
def test_eval_wrong_usage(name: str, text: str | None, status: int, words: str, tmp_path: Path) -> None:
    """A file that cannot be used is named before a model is loaded."""
    if text is not None:
        (tmp_path / name).write_text(text)
    result = run("eval", "true", str(tmp_path / name))
    assert result.exit_code == status
    assert words in result.stderr


@pytest.mark.parametrize("functions", ["nowhere:f", "json:nothing", "json", "json:dumps,", ""])
def test_call_needs_functions(functions: str) -> None:
    """What names no function is wrong usage."""
    assert run("call", functions, "Hi").exit_code == 2


def test_compile_reports_every_keyword() -> None:
    """`compile --report` lists keywords with their status; without it only the cost."""
    schema = '{"type": "string", "maxLength": 8, "title": "Name"}'
    result = run("compile", schema, "--report")
    assert result.exit_code == 0, result.output
    for keyword, status in (("maxLength", "enforced"), ("title", "annotation")):
        assert re.search(rf"{keyword}\W+{status}", result.stdout), result.stdout
    assert "annotation │" not in run("compile", schema).stdout


def test_compile_takes_a_layout() -> None:
    """`--whitespace` and `--indent` choose the layout; both at once are wrong usage."""
    schema = '{"type": "array"}'
    assert "64 characters" in run("compile", schema, "--report", "--whitespace", "any").stdout
    assert "Layout(indent=2)" in run("compile", schema, "--report", "--indent", "2").stdout
    assert run("compile", schema, "--indent", "2", "--whitespace", "any").exit_code == 2
    assert run("compile", schema, "--whitespace", "tight").exit_code == 2


def test_compile_takes_a_format() -> None:
    """`--as` compiles the rules of the format; a layout of JSON does not go with it."""
    one_way = [as_ for as_ in ("json", "yaml", "xml") if "first  1 tokens" in run("compile", AGE, "--as", as_).stdout]
    assert one_way == ["xml"]
    failed = run("compile", AGE, "--as", "yaml", "--whitespace", "any")
    assert failed.exit_code == 1
    assert "as_='yaml'" in failed.stderr


def test_a_report_for_a_file_cuts_nothing_off() -> None:
    """Where the output is no terminal each keyword is on one line with its whole pointer, and so are the parts of an error."""
    names = [f"a_property_with_a_long_name_{number}" for number in range(4)]
    schema: dict[str, Any] = {"type": "integer", "note": "x"}
    for name in names:
        schema = {"type": "object", "properties": {name: schema}}
    result = run("compile", json.dumps(schema), "--report")
    pointer = "".join(f"/properties/{name}" for name in reversed(names))
    lines = [line for line in result.stdout.splitlines() if f"{pointer} " in line]
    assert [line.replace("│", " ").split()[1] for line in lines] == ["type", "note"]
    assert "…" not in result.stdout
    broken = json.dumps(schema).replace('"integer"', '"no type"')
    assert f"at:   {pointer}/type" in run("compile", broken).stderr


def test_the_bundled_vocabulary_is_that_of_its_model() -> None:
    """Read without transformers, it is what transformers makes of the same files, and what the model is given."""
    from transformers import AutoTokenizer

    found = bundled_vocabulary()
    folder = ROOT / "schemagen" / "lm" / "bundled"
    assert found == schemagen.Vocabulary.from_tokenizer(AutoTokenizer.from_pretrained(folder))
    assert found == schemagen.load_bundled().vocabulary


def test_draw_prints_mermaid() -> None:
    """The picture is on standard output as text, what is seen on standard error."""
    result = run("draw", "--regex", "yes|no")
    assert (result.exit_code, result.stderr) == (0, "2 states, those that may end the text are double\n")
    assert result.stdout.splitlines()[1] == "flowchart LR"
    assert '-->|"yes"|' in result.stdout


def test_draw_writes_the_file_that_is_named(tmp_path: Path) -> None:
    """The name of the file says in which language."""
    file = tmp_path / "mask.dot"
    result = run("draw", AGE, "--what", "mask", "--after", "1", "--output", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert file.read_text(encoding="utf-8").startswith("digraph")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--what", "dfa"),
        ("--regex", "--what", "pushdown"),
        ("--output", "picture.png"),
        ("--output", "no/such/folder/picture.dot"),
        ("--max-states", "0"),
    ],
    ids=["what", "no stack", "suffix", "folder", "number"],
)
def test_draw_wrong_usage(arguments: tuple[str, ...]) -> None:
    """What cannot be drawn, or not there, is said."""
    assert run("draw", "true", *arguments).exit_code == 2


def test_the_page_has_every_command() -> None:
    """Each command has a section, and options of the page are options of the command line."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    for name in commands:
        assert f"\n## {name}\n" in page
    assert "\n## grammar check\n" in page
    known = "".join(run(name, "--help").output for name in commands) + run("--help").output
    known += run("grammar", "check", "--help").output
    assert {option for option in re.findall(r"--[a-z][a-z-]*", page) if option not in known} == set()


def test_resume_refuses_an_input_that_has_changed(tmp_path: Path) -> None:
    """Values belong to prompts: another first line is refused, lines that are added are not."""
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"Ada, 36"\n"Bob, 4"\n', encoding="utf-8")
    assert run("batch", AGE, str(source), "--output", str(output)).exit_code == 0
    source.write_text('"Zoe, 9"\n"Ada, 36"\n"Bob, 4"\n', encoding="utf-8")
    refused = run("batch", AGE, str(source), "--output", str(output), "--resume")
    assert refused.exit_code == 2
    assert "prompts of the input have changed" in " ".join(refused.stderr.replace("│", " ").split())
    source.write_text('"Ada, 36"\n"Bob, 4"\n"Zoe, 9"\n', encoding="utf-8")
    assert run("batch", AGE, str(source), "--output", str(output), "--resume").exit_code == 0
    assert [json.loads(line)["index"] for line in output.read_text(encoding="utf-8").splitlines()] == [0, 1, 2]


def test_cost_without_measured_mass() -> None:
    """The mass is left out when it was not measured, and no time is no division by zero."""
    assert cost_of(SimpleNamespace(new_tokens=3, seconds=0.0, masked_mass=None)) == "3 tokens, 0 tokens/s"


def test_demo_gives_the_right_values() -> None:
    """The first command of the README: instances with the values of their sentences, and where the model alone fails."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "schemagen", "demo"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    shown = " ".join(run.stdout.replace("│", " ").split())
    for instance in (
        "Person(name='Ada Lovelace', age=36, city='London')",
        "customer='Maria Silva'",
        "Item(product='lamp",
        "quantity=2",
        "Item(product='chair",
        "quantity=3",
        "paid=True",
        "Ticket(category='bug', priority='high')",
        "Contact(name='Tom Baker', email='tom@example.org', phone=None)",
        "Booking(guest='Lena Fischer', guests=2, check_in=datetime.date(2024, 5, 3), nights=4, price=129.5)",
        "Review(sentiment='negative', stars=1)",
    ):
        assert instance in shown, shown
    ordinary, chosen = shown.split("chosen because the model alone does not write an instance here.")
    assert "not an instance" not in ordinary
    assert chosen.count("not an instance:") == len(CHOSEN)
    cases = len(CASES) + len(CHOSEN)
    assert f"{cases} of {cases} are validated instances" in shown
    assert f"Without the constraint, {len(CASES)} of {cases} are." in shown
    assert shown.count("of the probability mass") == cases
    assert shown.count("unconstrained") == cases


# --- grammars ------------------------------------------------------------------------------------------------------------


def test_grammar_check_says_what_a_grammar_is(tmp_path: Path) -> None:
    """Rules, recursion, what is odd, and its shortest texts."""
    (tmp_path / "sum.gbnf").write_text('root ::= "1" ("+" root)?\nother ::= "x"\nloop ::= loop "y"\n')
    result = run("grammar", "check", str(tmp_path / "sum.gbnf"))
    assert result.exit_code == 0, result.output
    lines = [line.split(None, 1) for line in result.stdout.splitlines()]
    found = {line[0]: line[1] for line in lines if len(line) == 2}
    assert found["notation"] == "GBNF, read character by character"
    assert (found["rules"], found["recursive"]) == ("3", "root, loop")
    assert found["problems"] == "no text can be derived from loop; root does not need other, loop"
    assert found["texts"] == '"1"'


def test_grammar_check_shows_named_tokens_by_their_names(tmp_path: Path) -> None:
    """In texts, too, unless they are ids, which are of one vocabulary alone."""
    (tmp_path / "a.ebnf").write_text('root ::= "a"* Token("<|x|>", "<|y|>") "b" | Token("<|x|>") root "c"\n')
    result = run("grammar", "check", str(tmp_path / "a.ebnf"))
    assert result.exit_code == 0, result.output
    assert re.search(r"tokens +<\|x\|>\|<\|y\|>, <\|x\|>\n", result.stdout)
    assert re.search(r'texts +"<\|[xy]\|>b"\n', result.stdout)
    (tmp_path / "b.gbnf").write_text('root ::= "a" <[12]>\n')
    result = run("grammar", "check", str(tmp_path / "b.gbnf"))
    assert result.exit_code == 0, result.output
    assert re.search(r"tokens +<\[12\]>\n", result.stdout)
    assert "texts" not in result.stdout
    (tmp_path / "c.gbnf").write_text('root ::= "a" !<[12]> "b"\n')
    result = run("grammar", "check", str(tmp_path / "c.gbnf"))
    assert result.exit_code == 0, result.output
    assert re.search(r'texts +"a.b"\n', result.stdout)


def test_grammar_check_has_lark_parse_its_texts(tmp_path: Path) -> None:
    """With the options that are given."""
    pytest.importorskip("lark")
    (tmp_path / "list.lark").write_text('list: "[" [item ("," item)*] "]"\nitem: list | /[a-z]/+\n%ignore " "\n')
    result = run("grammar", "check", str(tmp_path / "list.lark"), "--start", "list", "--parser", "lalr")
    assert result.exit_code == 0, result.output
    assert "notation     lark, parser lalr, lexer contextual\n" in result.stdout
    assert re.search(r"recursive +item, list\n", result.stdout)
    assert re.search(r"lark parses +5 of 5 texts\n", result.stdout)


def test_grammar_check_says_where_a_mistake_is(tmp_path: Path) -> None:
    """Of each notation."""
    pytest.importorskip("lark")
    (tmp_path / "a.gbnf").write_text('root ::= "a" b')
    (tmp_path / "a.lark").write_text('start: "a" b')
    for name, place in (("a.gbnf", "line 1, column 14"), ("a.lark", "line 1, column 12")):
        result = run("grammar", "check", str(tmp_path / name))
        assert result.exit_code == 1
        assert place in result.stderr


def test_grammar_check_is_for_files_of_grammars(tmp_path: Path) -> None:
    """Others, and options of lark for another notation, are wrong usage."""
    (tmp_path / "a.gbnf").write_text('root ::= "a"')
    (tmp_path / "a.json").write_text("{}")
    assert run("grammar", "check", str(tmp_path / "a.json")).exit_code == 2
    assert run("grammar", "check", str(tmp_path / "none.lark")).exit_code == 2
    assert run("grammar", "check", str(tmp_path / "a.gbnf"), "--parser", "lalr").exit_code == 2


def test_grammar_check_says_what_a_file_is_instead(tmp_path: Path) -> None:
    """Wrong usage where there is no text, a mistake in the grammar where there is one without rules."""
    pytest.importorskip("lark")
    (tmp_path / "folder.lark").mkdir()
    for notation in ("gbnf", "lark"):
        (tmp_path / f"binary.{notation}").write_bytes(b"\0\xff\xfe")
        (tmp_path / f"empty.{notation}").write_text("")
    for name, code, words in (
        ("none.lark", 2, "is not there"),
        ("folder.lark", 2, "is not a file"),
        ("binary.gbnf", 2, "cannot read"),
        ("binary.lark", 2, "cannot read"),
        ("empty.gbnf", 1, "no rule 'root'"),
        ("empty.lark", 1, "'start' is not defined"),
    ):
        result = run("grammar", "check", str(tmp_path / name))
        assert (result.exit_code, words in " ".join(result.stderr.split())) == (code, True), name


def test_a_lark_file_is_a_spec(tmp_path: Path, fake_model: FakeModel) -> None:
    """With the imports beside it."""
    pytest.importorskip("lark")
    (tmp_path / "a.lark").write_text('start: "a"')
    result = run("generate", str(tmp_path / "a.lark"), "Which?")
    assert result.exit_code == 0, result.output
    assert fake_model.calls == [("Which?", schemagen.Lark(tmp_path / "a.lark"), {})]

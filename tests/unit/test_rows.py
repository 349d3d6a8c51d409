"""`schemagen.rows`: sources, shards, formats, and outputs that are whole whenever a run is cut off."""

import csv
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from schemagen import GBNF
from schemagen.confidence.fields import Confidence, FieldConfidence
from schemagen.decode.token_records import Alternative, TokenRecord
from schemagen.errors import GenerationError, OptionError, SchemagenError
from schemagen.generation import Failure, Generation
from schemagen.rows import (
    Columns,
    Output,
    PromptTemplate,
    Result,
    Row,
    RowsRun,
    RunKey,
    Shard,
    StandardOutput,
    format_of,
    open_source,
    output as output_module,
    value_check,
)
from schemagen.rows.output import Window
from schemagen.rows.record import Record
from schemagen.rows.row import PromptDigest

SPEC = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "word": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
ROOT = Path(__file__).parents[2]


class Killed(BaseException):
    """Stands in for the end of the process."""


def value_of(row: Row) -> str:
    """What the stand-in for a model writes for a row."""
    return json.dumps({"n": row.index, "word": f'é"{row.prompt},\n'})


class Answers:
    """Stands in for a model: rows in `bad` fail, once they are not in it any more they have a value."""

    def __init__(self, bad: set[int] | None = None) -> None:
        self.bad = set() if bad is None else bad
        self.asked: list[int] = []

    def __call__(self, rows: Any) -> list[Any]:
        self.asked += [row.index for row in rows]
        return [self.of(row) for row in rows]

    def of(self, row: Row) -> Any:
        if row.prompt is None:
            return row.failure()
        if row.index in self.bad:
            return Failure(row.index, row.prompt, GenerationError('bad, "luck"\nhere', text="{", code="row-failed"))
        return Generation(None, value_of(row), (1,), 1, 0.0, None)


class Job:
    """An input of some rows, and runs over it."""

    def __init__(self, folder: Path, ending: str, rows: int = 25) -> None:
        self.source = folder / "in.jsonl"
        self.output = folder / f"out{ending}"
        self.failures = folder / "failures.jsonl"
        self.write(rows)

    def write(self, rows: int) -> None:
        lines = [json.dumps({"id": f"id {number}", "prompt": f"prompt {number}"}) for number in range(rows)]
        self.source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def run(
        self, answers: Answers, *, resume: bool = True, window: int | None = 4, accepts: Any = None, **options: Any
    ) -> Any:
        clock = options.pop("clock", time.monotonic)
        key = RunKey.of("spec", options.pop("spec", SPEC), model=None, **options)
        shape = format_of(self.output, SPEC, confidence=options.get("confidence", False))
        sink = Output(self.output, shape, key, failures=self.failures, resume=resume, accepts=accepts)
        source = open_source(str(self.source), Columns())
        run = RowsRun(
            source, sink, lambda: answers, Shard(), window=window, with_failures=True, progress=False, clock=clock
        )
        return run.run(self.output)

    def rows(self) -> list[tuple[int, Any, Any, Any]]:
        """Index, id, value and code of each row of the output."""
        if self.output.suffix == ".parquet":
            pq = pytest.importorskip("pyarrow.parquet")
            found = pq.read_table(self.output).to_pylist()
            return [(row["index"], row["id"], row["value"], row["error"] and row["error"]["code"]) for row in found]
        text = self.output.read_text(encoding="utf-8")
        if self.output.suffix == ".csv":
            table = csv.DictReader(io.StringIO(text))
            return [
                (
                    int(row["index"]),
                    row["id"],
                    None if row["error"] else {"n": int(row["n"]), "word": row["word"]},
                    row["error"] or None,
                )
                for row in table
            ]
        lines = [json.loads(line) for line in text.splitlines()]
        return [(row["index"], row["id"], row.get("value"), row.get("error", {}).get("code")) for row in lines]

    def check(self, rows: int, bad: set[int]) -> None:
        """Each row is there once, in order, with its value or its error, and the file of failures has the others."""
        expected = []
        for number in range(rows):
            value = json.loads(value_of(Row(number, f"prompt {number}")))
            failed = number in bad
            expected.append((number, f"id {number}", None if failed else value, "row-failed" if failed else None))
        assert self.rows() == expected
        failures = [json.loads(line) for line in self.failures.read_text(encoding="utf-8").splitlines()]
        assert [(row["index"], row["prompt"]) for row in failures] == [(n, f"prompt {n}") for n in sorted(bad)]
        names = {path.name for path in self.output.parent.iterdir()}
        assert names == {"in.jsonl", self.output.name, f"{self.output.name}.meta.json", "failures.jsonl"}


@pytest.fixture(params=[".jsonl", ".csv", ".parquet"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    """A job with an output of each format."""
    if request.param == ".parquet":
        pytest.importorskip("pyarrow")
    return Job(tmp_path, request.param)


def test_a_run_writes_each_row(job: Job) -> None:
    """Values and failures are there in order; a second run finds nothing to do, and loads no model."""
    summary = job.run(Answers({3, 24}), resume=False)
    assert (summary.values, summary.failed, summary.kept) == (23, 2, 0)
    job.check(25, {3, 24})
    with pytest.raises(OptionError, match="is there already"):
        job.run(Answers(), resume=False)
    again = Answers()
    assert job.run(again).values == 2
    assert again.asked == [3, 24]
    job.check(25, set())
    nothing = Answers()
    assert (job.run(nothing).kept, nothing.asked) == (25, [])


def test_rows_are_added_behind(job: Job) -> None:
    """An input that has grown is gone on with; one that begins with something else is refused, and nothing changes."""
    job.run(Answers(), resume=False)
    job.write(31)
    more = Answers()
    job.run(more)
    assert more.asked == list(range(25, 31))
    job.check(31, set())
    before = job.output.read_bytes()
    job.source.write_text(job.source.read_text(encoding="utf-8").replace("prompt 7", "prompt 8"), encoding="utf-8")
    with pytest.raises(OptionError, match="the first 31 prompts of the input have changed"):
        job.run(Answers())
    assert job.output.read_bytes() == before


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> list[int]:
    """End the process at the nth thing that is done to files, before it or half way through it; return a counter of them."""
    steps = [0]

    def passed() -> bool:
        steps[0] += 1
        return steps[0] == step

    def wrap(owner: Any, name: str, *, half: bool = False) -> None:
        done = getattr(owner, name)

        def instead(self: Any, *args: Any, **options: Any) -> Any:
            if passed():
                if half:
                    done(self, args[0][: len(args[0]) // 2])
                raise Killed
            found = done(self, *args, **options)
            if passed():
                raise Killed
            return found

        monkeypatch.setattr(owner, name, instead)

    wrap(output_module.Journal, "append", half=True)
    wrap(Record, "write")
    wrap(Path, "replace")
    wrap(Path, "unlink")
    return steps


@pytest.mark.parametrize("kind", ["first", "retry", "grown"])
def test_an_end_at_any_moment_loses_at_most_a_window(job: Job, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is done to files last: the next run goes on, and each row is there once at the end."""
    monkeypatch.setattr("os.fsync", lambda _: None)  # this is no test of disks, and waits for none
    rows = 13
    bad = {2, 9}
    step = 0
    while True:
        step += 1
        for path in job.output.parent.iterdir():
            path.unlink()
        job.write(rows - 5 if kind == "grown" else rows)
        if kind != "first":
            job.run(Answers(bad if kind == "retry" else set()), resume=False)
        job.write(rows)
        cut_off = Answers({11})
        with monkeypatch.context() as patch:
            counted = kill_at(patch, step)
            try:
                job.run(cut_off)
            except Killed:
                killed = True
            else:
                killed = False
        after = Answers()
        if killed:
            job.run(after)
        if 11 in after.asked or not killed:
            assert len(set(cut_off.asked) & set(after.asked)) <= 2 * 4
        if job_failed(job):
            job.run(Answers())
        job.check(rows, set())
        if not killed:
            break
    assert step > 10
    assert counted[0] < step


def job_failed(job: Job) -> bool:
    """Whether a row has an error."""
    return any(code for *_, code in job.rows())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spec": {"type": "integer"}}, "spec has changed"),
        ({"seed": 3}, "--seed unset, now 3"),
        ({"max_new_tokens": 9}, "--max-new-tokens unset, now 9"),
    ],
)
def test_another_run_is_refused(job: Job, change: dict[str, Any], words: str) -> None:
    """An output of another spec or other options is left alone."""
    job.run(Answers(), resume=False)
    before = job.output.read_bytes()
    with pytest.raises(OptionError, match=words):
        job.run(Answers(), **change)
    assert job.output.read_bytes() == before


def test_another_version_is_refused(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of two versions do not mix: what a version enforces may differ."""
    job.run(Answers(), resume=False)
    monkeypatch.setattr("schemagen.__version__", "0.0.9")
    with pytest.raises(OptionError, match=r"schemagen 0\.1\.0, now 0\.0\.9"):
        job.run(Answers())


def test_a_value_that_fits_no_column_is_a_failure(tmp_path: Path) -> None:
    """An integer of more than 64 bits is no int64 of Parquet; its row says so, and the others are written."""
    pytest.importorskip("pyarrow")
    job = Job(tmp_path, ".parquet", 3)
    answers = Answers()
    answers.of = lambda row: Generation(None, f'{{"n": {10 ** (30 * row.index)}}}', (1,), 1, 0.0, None)  # type: ignore[method-assign]
    assert job.run(answers, resume=False).failed == 2
    assert [(value, code) for _, _, value, code in job.rows()] == [
        ({"n": 1, "word": None}, None),
        *[(None, "no-such-column-value")] * 2,
    ]


def test_two_processes_do_not_write_one_file(job: Job) -> None:
    """The second is refused while the first writes, and the output is that of the first."""
    pytest.importorskip("fcntl")
    refused = []

    class Interfering(Answers):
        def __call__(self, rows: Any) -> list[Any]:
            with pytest.raises(OptionError, match="another process is writing it") as error:
                job.run(Answers())
            refused.append(error)
            return super().__call__(rows)

    job.run(Interfering(), resume=False)
    assert refused
    job.check(25, set())


# ---- killed for real ------------------------------------------------------------------------------------------------

CHILD = """
import sys, time
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.unit.test_rows import Answers, Job

class Slow(Answers):
    def __call__(self, rows):
        time.sleep(0.02)
        return super().__call__(rows)

job = Job.__new__(Job)
job.source, job.output, job.failures = (Path(name) for name in sys.argv[1:4])
job.run(Slow(), window=50)
"""


@pytest.mark.sampled(3)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_and_gone_on_with(job: Job) -> None:
    """SIGKILL when the output has some rows, three times; then each row is there once."""
    rows = 3000
    job.write(rows)
    command = [sys.executable, "-c", CHILD.format(root=str(ROOT)), str(job.source), str(job.output), str(job.failures)]
    growing = job.output.with_name(job.output.name + (".part" if job.output.suffix == ".parquet" else ""))
    for part in (0.2, 0.45, 0.8):
        process = subprocess.Popen(command)
        while process.poll() is None and not (growing.exists() and growing.stat().st_size > part * rows * 60):
            time.sleep(0.005)
        assert process.poll() is None, "it ended before it was killed"
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert subprocess.run(command, check=False).returncode == 0
    job.check(rows, set())


DYING = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.unit.test_rows import Answers, Job

now, seconds = [0.0], float(sys.argv[4])

class Slow(Answers):
    def __call__(self, rows):
        for _ in rows:
            now[0] += seconds
            if now[0] >= 90:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(rows)

job = Job.__new__(Job)
job.source, job.output, job.failures = (Path(name) for name in sys.argv[1:4])
job.run(Slow(), window=None, clock=lambda: now[0])
"""


@pytest.mark.parametrize("seconds", [0.05, 3, 7, 25])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_kill_after_90_seconds_loses_at_most_30(seconds: float, tmp_path: Path) -> None:
    """However slow the model is: windows are sized by time from the first one on. The clock is that of the model."""
    rows = int(120 / seconds) + 3
    job = Job(tmp_path, ".csv", rows)
    arguments = [str(job.source), str(job.output), str(job.failures), str(seconds)]
    killed = subprocess.run([sys.executable, "-c", DYING.format(root=str(ROOT)), *arguments], check=False)
    assert killed.returncode == -signal.SIGKILL
    after = Answers()
    kept = job.run(after).kept
    assert kept * seconds >= 90 - 30
    assert after.asked == list(range(kept, rows))
    job.check(rows, set())


# ---- sources --------------------------------------------------------------------------------------------------------


def tables(folder: Path) -> dict[str, str]:
    """The same three rows in each format."""
    rows = [{"id": "a", "prompt": 'é, "x"\ny'}, {"id": "b", "prompt": "two"}, {"id": "c", "prompt": "three"}]
    (folder / "t.jsonl").write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)), encoding="utf-8")
    with (folder / "t.csv").open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "prompt"])
        writer.writeheader()
        writer.writerows(rows)
    names = {"jsonl": "t.jsonl", "csv": "t.csv"}
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return names
    pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet", row_group_size=2)
    (folder / "parts").mkdir()
    pq.write_table(pa.Table.from_pylist(rows[:2]), folder / "parts" / "1.parquet")
    pq.write_table(pa.Table.from_pylist(rows[2:]), folder / "parts" / "2.parquet")
    return {**names, "parquet": "t.parquet", "folder": "parts"}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "folder"])
def test_every_format_has_the_same_rows(kind: str, tmp_path: Path) -> None:
    """Rows, their number and those of each shard are the same, whatever they are written in."""
    names = tables(tmp_path)
    if kind not in names:
        pytest.skip("pyarrow is not installed")
    source = open_source(str(tmp_path / names[kind]), Columns())
    rows = [(row.index, row.prompt, row.id) for row in source.rows(Shard())]
    assert rows == [(0, 'é, "x"\ny', "a"), (1, "two", "b"), (2, "three", "c")]
    assert source.count() == 3
    shards = [[row.index for row in source.rows(Shard(number, 2))] for number in (1, 2)]
    assert shards == [[0, 2], [1]]
    assert [Shard(number, 2).rows_of(3) for number in (1, 2)] == [2, 1]


def test_chats_are_read_from_tables(tmp_path: Path) -> None:
    """A column of messages is JSON in CSV and a list of structs in Parquet, without the fields that are empty."""
    chat = [{"role": "user", "content": "Hi"}]
    path = tmp_path / "t.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["messages"], [json.dumps(chat)], ["{"]])
    assert [row.prompt for row in open_source(str(path), Columns()).rows(Shard())] == [chat, None]
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.Table.from_pylist(
        [{"messages": [{**chat[0], "name": None}, {"role": "user", "content": "x", "name": "y"}]}]
    )
    pq.write_table(table, tmp_path / "t.parquet")
    (row,) = open_source(str(tmp_path / "t.parquet"), Columns()).rows(Shard())
    assert row.prompt == [*chat, {"role": "user", "content": "x", "name": "y"}]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_without_prompts_names_its_columns(name: str, tmp_path: Path) -> None:
    """The error says which columns there are, and which option names one."""
    (tmp_path / "t.csv").write_text("text,id\nx,1\n", encoding="utf-8")
    if name.endswith("parquet"):
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": ["x"], "id": [1]}), tmp_path / name)
    with pytest.raises(OptionError, match="no column 'prompt' or 'messages'") as refused:
        open_source(str(tmp_path / name), Columns())
    assert "'text', 'id'" in refused.value.why
    (row,) = open_source(str(tmp_path / name), Columns("text")).rows(Shard())
    assert (row.prompt, str(row.id)) == ("x", "1")


@pytest.mark.parametrize(
    "name", ["nowhere.jsonl", "nowhere.csv", "nowhere.parquet", "latin.csv", "no.parquet", "empty"]
)
def test_what_cannot_be_read_is_an_error(name: str, tmp_path: Path) -> None:
    """Files that are not there, or are something else, and folders without a table are named."""
    pytest.importorskip("pyarrow")
    (tmp_path / "latin.csv").write_bytes(b"prompt\n\xe9\n")
    (tmp_path / "no.parquet").write_bytes(b"prompt")
    (tmp_path / "empty").mkdir()
    with pytest.raises(OptionError, match=name):
        list(open_source(str(tmp_path / name), Columns()).rows(Shard()))


def test_reading_does_not_wait_for_the_end() -> None:
    """Rows of a pipe come as they are written: the first is there before the last is."""
    from schemagen.rows.sources import rows_of_lines

    def lines() -> Any:
        yield b'"a"\n'
        raise AssertionError("it was read to its end")

    assert next(rows_of_lines(lines(), Shard(), Columns())).prompt == "a"


# ---- shards ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "environment", "found"),
    [
        ("3/8", {}, Shard(3, 8)),
        (None, {}, Shard(1, 1)),
        ("auto", {"RANK": "2", "WORLD_SIZE": "4"}, Shard(3, 4)),
        ("auto", {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, Shard(1, 2)),
        ("1/2", {"RANK": "1", "WORLD_SIZE": "2"}, Shard(1, 2)),
        (None, {"RANK": "0", "WORLD_SIZE": "1"}, Shard(1, 1)),
    ],
)
def test_shards_are_named(text: str | None, environment: dict[str, str], found: Shard) -> None:
    """By number, or by the rank that a launcher gave."""
    assert Shard.parse(text, environment) == found


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("0/8", {}, "shard 0 of 8"),
        ("9/8", {}, "shard 9 of 8"),
        ("1/0", {}, "shard 1 of 0"),
        ("half", {}, "--shard half"),
        ("auto", {}, "outside torchrun"),
        (None, {"RANK": "0", "WORLD_SIZE": "2"}, "2 processes were started"),
    ],
)
def test_shards_that_there_are_not(text: str | None, environment: dict[str, str], words: str) -> None:
    """They are refused, and so are processes that would all do the same."""
    with pytest.raises(OptionError, match=words):
        Shard.parse(text, environment)


def test_shards_share_all_rows() -> None:
    """Each row is in one shard, and what a shard says of its length is true."""
    for of in range(1, 6):
        for total in range(12):
            shards = [[index for index in range(total) if Shard(number, of).has(index)] for number in range(1, of + 1)]
            assert sorted(index for shard in shards for index in shard) == list(range(total))
            assert [len(shard) for shard in shards] == [Shard(number, of).rows_of(total) for number in range(1, of + 1)]


def test_digests_tell_prompts_apart() -> None:
    """The order, ids, and where a text ends count; the same rows have the same digest."""

    def digest(*rows: Row) -> str:
        found = PromptDigest()
        for row in rows:
            found.add(row)
        return found.text()

    a, b = Row(0, "a"), Row(1, "b")
    digests = [digest(a, b), digest(b, a), digest(a), digest(Row(0, "a", 1), b), digest(Row(0, "ab")), digest()]
    assert len(set(digests)) == len(digests)
    assert digest(Row(5, "a"), b) == digests[0]


def test_a_lone_carriage_return_stays_in_its_cell():
    """A reader takes it for the end of a row unless it is quoted."""
    from schemagen.rows.formats import CsvFormat
    from schemagen.rows.row import Result

    results = [Result(0, "a\rb", "1", None), Result(1, "c", None, {"code": "x", "message": "m\r", "text": "t\r\nu"})]
    text = CsvFormat(int).encode(results, first=True).decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [row[1] for row in rows[1:]] == ["a\rb", "c"]
    assert rows[2][-3:] == ["m\r", "t\r\nu", ""]


def found_in(source: Path) -> list[Row]:
    """The rows of a source."""
    return list(open_source(str(source)).rows(Shard()))


def test_rows_of_parquet_that_cannot_be_read_are_failures(tmp_path):
    """Prompts that are lists of texts, and ids that JSON cannot hold; other rows are read."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"prompt": [["a", "b"], ["c"]]}), path)
    assert [row.failure().error.code for row in found_in(path) if row.prompt is None] == ["empty-prompt"] * 2
    pq.write_table(pa.table({"prompt": ["a", "b"], "id": pa.array([b"x", None])}), path)
    first, second = found_in(path)
    assert first.prompt is None
    assert "id of the type bytes" in first.failure().error.fact
    assert second.prompt == "b"


def test_each_file_of_a_folder_has_the_column(tmp_path):
    """A file without it is named before anything is generated; one without ids has none."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"prompt": ["a"], "id": ["x"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"prompt": ["b"]}), tmp_path / "2.parquet")
    assert [(row.prompt, row.id) for row in found_in(tmp_path)] == [("a", "x"), ("b", None)]
    pq.write_table(pa.table({"text": ["c"]}), tmp_path / "3.parquet")
    with pytest.raises(OptionError, match=r"3\.parquet' has no column"):
        open_source(str(tmp_path))
    pq.write_table(pa.table({"messages": [[{"role": "user", "content": "c"}]]}), tmp_path / "3.parquet")
    with pytest.raises(OptionError, match="'prompt' and 'messages'"):
        open_source(str(tmp_path))


def test_csv_that_does_not_fit_its_header(tmp_path):
    """Surplus cells are a failure of their row, which names the line; a column that is there twice is an error."""
    path = tmp_path / "in.csv"
    path.write_text('id,prompt\n4,"two\nlines"\n5,a,b,c\n6,d\n', encoding="utf-8")
    first, second, third = found_in(path)
    assert (first.prompt, third.prompt) == ("two\nlines", "d")
    assert second.failure().error.fact == "row 2 of the table, line 4 has 4 cells, and the header 2"
    for header, told in [("prompt,prompt", r"'prompt' 2 times, line 1"), ("prompt,id,id", "'id' 2 times")]:
        path.write_text(f"{header}\na,b\n", encoding="utf-8")
        with pytest.raises(OptionError, match=told):
            open_source(str(path))
    path.write_text("", encoding="utf-8")
    with pytest.raises(OptionError) as caught:
        open_source(str(path))
    assert caught.value.why == "it has no columns at all"


def test_a_full_disk_stops_the_run_and_it_goes_on_later(tmp_path, monkeypatch):
    """With a message; what is counted stays, and the next run writes the rest."""
    job, written = Job(tmp_path, ".jsonl"), []
    sync = os.fsync

    def full(descriptor):
        written.append(descriptor)
        if len(written) > 7:
            raise OSError(28, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(SchemagenError, match="No space left") as caught:
        job.run(Answers())
    assert caught.value.code == "cannot-write"
    monkeypatch.setattr("os.fsync", sync)
    answers = Answers()
    job.run(answers)
    assert 0 < len(answers.asked) < 25
    job.check(25, set())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_standard_output_stops_the_run(monkeypatch):
    """With a message, and Python has nothing to complain about when it exits."""
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        window = Window([Result(0, None, "1")], "")
        with pytest.raises(SchemagenError, match="standard output: No space left"):
            StandardOutput().write(window)


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
@pytest.mark.parametrize("bad", [set(), {7}])
def test_values_that_were_edited_are_generated_again(bad, ending, tmp_path):
    """A key that the type does not have; the others are kept, and failures are tried again as well."""
    job, accepts = Job(tmp_path, ending), value_check(SPEC)
    job.run(Answers(bad), accepts=accepts)
    untouched = Answers(bad)
    job.run(untouched, accepts=accepts)
    assert untouched.asked == sorted(bad)
    text = job.output.read_text(encoding="utf-8")
    name = '"n": 3,' if ending == ".jsonl" else "id 3,3,"
    assert text.count(name) == 1
    job.output.write_text(text.replace(name, name.replace("n", "m").replace("3,3", "3,x")), encoding="utf-8")
    answers = Answers()
    assert job.run(answers, accepts=accepts).kept == 24 - len(bad)
    assert answers.asked == sorted({3} | bad)
    job.check(25, set())


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
@pytest.mark.parametrize("old", [b"\n", b"prompt 3"])
@pytest.mark.parametrize("check", [None, value_check(SPEC)])
def test_nothing_is_written_into_a_line(old, check, ending, tmp_path):
    """After another program has made lines longer; CSV is refused, because its last row could be a part of one."""
    job = Job(tmp_path, ending, rows=8)
    job.run(Answers(), accepts=check)
    job.write(25)
    text = job.output.read_bytes()
    changed = text.replace(old, b"\r\n" if old == b"\n" else b"prompt 3, and more")
    assert changed != text
    job.output.write_bytes(changed)
    if ending == ".csv":
        with pytest.raises(OptionError, match="which is now inside a line") as caught:
            job.run(Answers(), accepts=check)
        assert caught.value.fix
        assert job.output.read_bytes() == changed
    else:
        job.run(Answers(), accepts=check)
        assert [row[0] for row in job.rows()] == [*range(25)]


def test_a_row_without_its_end_is_not_read(tmp_path):
    """A file that is shorter than recorded may end inside a row that has all its cells."""
    job = Job(tmp_path, ".csv")
    job.run(Answers())
    with job.output.open("r+b") as stream:
        stream.truncate(job.output.stat().st_size - 3)
    answers = Answers()
    job.run(answers)
    assert answers.asked == [24]
    job.check(25, set())


@pytest.mark.parametrize("ending", [".jsonl", ".csv"])
@pytest.mark.parametrize("order", [[0, 2, 1, 3], [0, 1, 1, 3]])
def test_rows_that_are_not_in_order_are_refused(order, ending, tmp_path):
    """Swapped, or twice: their values would be those of other rows."""
    job = Job(tmp_path, ending, rows=4)
    job.run(Answers())
    head, *rows = re.split(r"(?m)^(?=\d|\{)", job.output.read_text(encoding="utf-8"))
    job.output.write_text(head + "".join(rows[at] for at in order), encoding="utf-8")
    with pytest.raises(OptionError, match="has the row with index") as caught:
        job.run(Answers())
    assert "sort the rows" in caught.value.fix


def test_a_table_in_another_encoding_is_refused(tmp_path):
    """With the name of the file; a byte order mark is no part of the first column."""
    job = Job(tmp_path, ".csv")
    job.run(Answers())
    text = job.output.read_bytes()
    job.output.write_bytes(text.replace("é".encode(), b"\xe9\xe9"))
    with pytest.raises(OptionError, match=r"cannot read .*out\.csv") as caught:
        job.run(Answers())
    assert caught.value.why == "it is not CSV in UTF-8"
    marked = b"\xef\xbb\xbf" + text
    job.output.write_bytes(marked)
    shape = format_of(job.output, SPEC)
    shape.check(job.output)
    assert [result.index for result in shape.read(job.output, len(marked))] == [*range(25)]


def test_an_index_of_thousands_of_digits_is_no_row(tmp_path):
    """Python would not read the number."""
    job = Job(tmp_path, ".csv")
    job.run(Answers())
    text = job.output.read_text(encoding="utf-8").replace("\n3,", f"\n{'9' * 5000},")
    job.output.write_text(text, encoding="utf-8")
    assert 3 not in [result.index for result in format_of(job.output, SPEC).read(job.output, None)]


@pytest.mark.parametrize("name", ['"\\ud800"', '"\\u0000"', "1.5", "[1]", "null"])
def test_every_id_is_found_again(name, tmp_path):
    """Half a surrogate pair is an escape in a CSV."""
    job = Job(tmp_path, ".csv")
    job.source.write_text(f'{{"id": {name}, "prompt": "x"}}\n' * 3, encoding="utf-8")
    job.run(Answers({1}))
    answers = Answers()
    assert job.run(answers).kept == 2
    assert answers.asked == [1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{n:99999999999999}", "more than four digits"),
        ("{n:.99999}", "more than four digits"),
        ("{n!z}", "conversion !z"),
        ("{n:{w}}", "braces inside the braces"),
        ('{"a": {a}}', "braces inside the braces"),
        ("{a}{", "'{'"),
        ("{:>5}", "names no column"),
    ],
)
def test_templates_that_cannot_be(text, why):
    """They are refused before the first row, with a word about doubled braces."""
    with pytest.raises(OptionError) as caught:
        PromptTemplate(text)
    assert why in str(caught.value.why)
    assert "double the braces" in str(caught.value.fix)


@pytest.mark.parametrize(
    ("text", "cells", "prompt"),
    [
        ("{contact.name}: {a[0]}, {b[x][1]}", {"contact.name": "Ada", "a": [1], "b": {"x": [2, 3]}}, "Ada: 1, 3"),
        ("{a[0].real}", {"a": [1]}, None),
        ("{a[1]}", {"a": [1]}, None),
        ("{a.__class__}", {"a": "x"}, None),
        ("{a[0]}", {"a": "x"}, None),
        ("{n:c}", {"n": 10**20}, None),
        ("{n:.3f}", {"n": 10**400}, None),
        ("{n:>5}|{n!r}|{{}}", {"n": "x"}, "    x|'x'|{}"),
        ("<{n}>", {"n": None}, "<>"),
        ("{0}", {"0": "x"}, "x"),
    ],
)
def test_templates_take_whole_names(text, cells, prompt):
    """And elements of lists and dictionaries, but no attribute; a cell that does not fit is a row that fails."""
    assert PromptTemplate(text).fill(cells) == prompt


def evenly(value):
    """Refuse lists whose sum is odd."""
    if sum(value) % 2:
        raise ValueError("an odd sum")
    return value


def test_the_values_of_other_specs_are_checked():
    """By the grammar and by the validators of a type; whitespace does not count, and texts of grammars are strings."""
    even = value_check(Annotated[list[int], AfterValidator(evenly)])
    assert even("[1,   1]")
    assert not even("[1, true]")
    assert not even("[1")
    digits = value_check(GBNF("root ::= [0-9]+"))
    assert digits('"12"')
    assert not digits("12")
    assert not digits('"x"')


def test_the_reason_is_written_with_the_value(job):
    """In every format, and it stays when failures are tried again."""

    class Short(Answers):
        def of(self, row):
            found = super().of(row)
            return replace(found, finish_reason="budget") if row.index == 5 else found

    job.run(Short({2}))
    job.run(Short())
    if job.output.suffix == ".parquet":
        found = pytest.importorskip("pyarrow.parquet").read_table(job.output).to_pylist()
    elif job.output.suffix == ".csv":
        found = list(csv.DictReader(io.StringIO(job.output.read_text(encoding="utf-8"))))
    else:
        found = [json.loads(line) for line in job.output.read_text(encoding="utf-8").splitlines()]
    reasons = [row["finish_reason"] for row in found]
    assert reasons == ["budget" if index == 5 else "complete" for index in range(25)]


def shares_of(number):
    """Return the confidence of a row."""
    return {"": 0.5 / (number + 1), "/n": 0.75, "/word": 0.625 if number else 1.0}


class Sure(Answers):
    """Answers whose fields have probabilities."""

    def of(self, row):
        found = super().of(row)
        if not isinstance(found, Generation):
            return found
        fields = [
            FieldConfidence(path, "", 0, (TokenRecord(0, math.log(share), 0.0, (Alternative(1, -9.0, True),)),))
            for path, share in shares_of(row.index).items()
        ]
        return replace(found, confidence=Confidence((), (), fields, None))


def test_the_confidence_is_written_with_the_value(job):
    """In every format, and it stays when failures are tried again; a run without it does not go on with the output."""
    job.run(Sure({2, 7}), confidence=True)
    job.run(Sure({7}), confidence=True)
    if job.output.suffix == ".parquet":
        found = pytest.importorskip("pyarrow.parquet").read_table(job.output).to_pylist()
        found = [{**row, "confidence": row["confidence"] and dict(row["confidence"])} for row in found]
    elif job.output.suffix == ".csv":
        found = list(csv.DictReader(io.StringIO(job.output.read_text(encoding="utf-8"))))
        found = [
            {**row, **{name: json.loads(row[name] or "null") for name in ("confidence", "least_confidence")}}
            for row in found
        ]
    else:
        found = [json.loads(line) for line in job.output.read_text(encoding="utf-8").splitlines()]
    for number, row in enumerate(found):
        expected = None if number == 7 else shares_of(number)
        assert row.get("confidence") == (None if expected is None else pytest.approx(expected, rel=1e-5))
        assert row.get("least_confidence") == (None if expected is None else min(0.75, expected["/word"]))
    read = [*format_of(job.output, SPEC, confidence=True).read(job.output, None)]
    assert [result.confidence for result in read] == [row.get("confidence") for row in found]
    with pytest.raises(OptionError, match="--confidence True, now unset"):
        job.run(Answers())


def test_the_least_confidence_is_of_a_field_without_fields():
    """The whole is as sure as all of its fields together, which says nothing about one of them."""
    for confidence, least in [
        ({"": 0.1, "/a": 0.2, "/a/0": 0.5, "/a/1": 0.4, "/b": 0.3}, 0.3),
        ({"": 0.25}, 0.25),
        ({"": 0.1, "year": 0.5}, 0.5),
        (None, None),
    ]:
        assert Result(0, None, "1", confidence=confidence).least_confidence == least


def test_parquet_without_pyarrow_has_one_message(tmp_path, monkeypatch):
    """That it is not installed, and nothing about the file."""
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "in.parquet").write_bytes(b"")
    with pytest.raises(OptionError) as caught:
        open_source(str(tmp_path / "in.parquet"))
    assert caught.value.code == "no-pyarrow"

"""Corpora are fetched by git and checked by content; what is missing is skipped, counted, and may be made to fail."""

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import corpora

ROOT = Path(__file__).parents[2]
GROUP = {
    "description": "a made-up group",
    "comment": "not kept",
    "schema": {"type": "string", "const": "é"},
    "tests": [{"description": "one", "comment": "not kept", "data": "é", "valid": True}],
}
CASE = {"meta": {}, "schema": {"type": "null"}, "tests": [{"description": "x", "valid": False, "data": 1}]}
FILES = {
    "tests/draft7/kind.json": [GROUP, {**GROUP, "description": "another"}],
    "tests/draft7/optional/format/date.json": [GROUP],
    "tests/draft7/optional/bignum.json": [GROUP],
    "tests/draft4/kind.json": [GROUP],
    "tests/draft2020-12/format.json": [GROUP],
    "tests/draft2020-12/kind.json": [GROUP],
    "remotes/b.json": {"type": "integer"},
    "remotes/a/b.json": {"type": "string"},
    "remotes/draft7/b.json": {"type": "null"},
    "remotes/draft6/b.json": True,
}


@pytest.fixture(scope="module")
def tool():
    """The tool as a module."""
    spec = importlib.util.spec_from_file_location("fetch_corpora", ROOT / "tools" / "corpora.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fetch_corpora"] = module
    spec.loader.exec_module(module)
    return module


class Place:
    """A repository to fetch from, pins of its own, and a folder to write to."""

    def __init__(self, folder):
        self.repository, self.pins, self.folder = folder / "upstream", folder / "pins.json", folder / "corpora"
        self.repository.mkdir()
        self.git("init", "--quiet")
        nothing = {"commit": None, "sha256": {}}
        self.pins.write_text(json.dumps({"json-schema-test-suite": nothing, "maskbench": nothing}), encoding="utf-8")

    def git(self, *arguments):
        """Run git in the repository."""
        who = ["-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", *who, "-C", str(self.repository), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files):
        """Write files and commit them; return the commit."""
        for name, content in files.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(content, indent=2), encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")
        return self.git("rev-parse", "HEAD")

    def options(self, name, *more):
        """Return the arguments of the tool."""
        url = self.repository.as_uri()
        return [name, "--url", url, "--folder", str(self.folder), "--pins", str(self.pins), *more]

    def pin(self, name):
        """Return what is pinned."""
        return json.loads(self.pins.read_text(encoding="utf-8"))[name]

    def lines(self, name):
        """Return what was written."""
        with gzip.open(self.folder / corpora.FILES[name], "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]


@pytest.fixture
def place(tmp_path):
    """An empty repository."""
    return Place(tmp_path)


def test_the_suite_is_brought_into_lines(place, tool):
    """Ids are draft, folders, file and index; other drafts, optional tests and what we do not read stay out."""
    place.commit(FILES)
    assert tool.main(place.options("json-schema-test-suite", "--accept")) == 0
    names = [
        "draft2020-12---kind---0",
        "draft7---kind---0",
        "draft7---kind---1",
        "draft7---optional---format---date---0",
    ]
    lines = place.lines("json-schema-test-suite")
    assert [line["id"] for line in lines] == names
    assert lines[1] == {
        "id": names[1],
        "description": "a made-up group",
        "schema": GROUP["schema"],
        "tests": [{"description": "one", "valid": True, "data": "é"}],
    }
    uris = [f"http://localhost:1234/{name}.json" for name in ("b", "a/b", "draft7/b")]
    assert [line["uri"] for line in place.lines("json-schema-test-suite-remotes")] == uris


def test_maskbench_is_brought_into_lines(place, tool):
    """Each listed file is a line under its name, the held-back ones are not read, and both places of the folder are known."""
    first, second = corpora.ROOT.joinpath("tests/conformance/maskbench-ids.txt").read_text(encoding="utf-8").split()[:2]
    place.commit({f"maskbench/data/{first}.json": CASE, f"data/{second}.json": CASE, "data/somebody-else.json": CASE})
    assert tool.main(place.options("maskbench", "--accept")) == 0
    tests = [{"valid": False, "data": 1}]
    assert place.lines("maskbench") == [{"id": i, "schema": CASE["schema"], "tests": tests} for i in (first, second)]


def test_the_history_is_searched_for_the_pinned_content(place, tool, capsys):
    """Without a commit the newest one with the content is found, also behind files of another form; with one, it is fetched."""
    place.commit({"tests/draft7/kind.json": {"cases": []}, "remotes/b.json": 1})
    wanted = place.commit(FILES)
    assert tool.main(place.options("json-schema-test-suite", "--accept")) == 0
    pins = json.loads(place.pins.read_text(encoding="utf-8"))
    assert pins["json-schema-test-suite"]["commit"] == wanted
    place.commit({"tests/draft7/kind.json": [{"schema": True}]})
    place.commit({"tests/draft7/kind.json": [GROUP]})
    for commit in (None, wanted):
        pins["json-schema-test-suite"]["commit"] = commit
        (place.folder / corpora.FILES["json-schema-test-suite"]).unlink()
        place.pins.write_text(json.dumps(pins), encoding="utf-8")
        capsys.readouterr()
        assert tool.main(place.options("json-schema-test-suite")) == 0
        assert f"commit {wanted}" in capsys.readouterr().out
        assert len(place.lines("json-schema-test-suite")) == 4
        assert tool.main(place.options("json-schema-test-suite")) == 0
        assert "is there already, as pinned" in capsys.readouterr().out


def test_other_content_is_refused_with_both_sums(place, tool, capsys):
    """Nothing is written; what was found and what is pinned are shown, with the way out."""
    place.commit(FILES)
    assert tool.main(place.options("json-schema-test-suite", "--accept")) == 0
    before = place.pin("json-schema-test-suite")["sha256"]["json-schema-test-suite"]
    place.pins.write_text(place.pins.read_text(encoding="utf-8").replace(before, "0" * 64), encoding="utf-8")
    (place.folder / corpora.FILES["json-schema-test-suite"]).unlink()
    capsys.readouterr()
    assert tool.main(place.options("json-schema-test-suite")) == 1
    said = capsys.readouterr().out
    assert f"json-schema-test-suite: {before}, {'0' * 64} is pinned" in said
    assert "--accept takes that one instead" in said
    assert not (place.folder / corpora.FILES["json-schema-test-suite"]).exists()


def test_failures_say_what_is_missing(place, tool, capsys, monkeypatch):
    """A repository that is not there, one of something else, files of another form, and a machine without git."""
    nowhere = [
        "maskbench",
        "--url",
        str(place.folder / "nowhere"),
        "--pins",
        str(place.pins),
        "--folder",
        str(place.folder),
    ]
    assert tool.main(nowhere) == 1
    assert "is there a network? --url names another place" in capsys.readouterr().out
    place.commit({"README.json": {}})
    assert tool.main(place.options("maskbench")) == 1
    assert "none of the files that are expected" in capsys.readouterr().out
    place.commit({"tests/draft7/kind.json": [{"schema": True}]})
    assert tool.main(place.options("json-schema-test-suite", "--accept")) == 1
    assert "tests/draft7/kind.json is not of the form" in capsys.readouterr().out
    monkeypatch.setenv("PATH", str(place.folder))
    assert tool.main(place.options("maskbench")) == 1
    assert "there is no `git` on this machine" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["maskbank"], ["--url", "x"], ["maskbench", "gpt2", "--commit", "x"]])
def test_wrong_arguments_are_refused(tool, arguments):
    """An unknown name; an option for one name with several."""
    with pytest.raises(SystemExit):
        tool.main(arguments)


@pytest.mark.parametrize("name", ["json-schema-test-suite", "json-schema-test-suite-remotes", "maskbench"])
def test_what_is_at_hand_is_what_is_pinned(tool, name):
    """The committed verdicts are those of these lines."""
    with gzip.open(corpora.need(name), "rt", encoding="utf-8", newline="") as file:
        found = tool.sum_of(file.read())
    pins = json.loads(tool.PINS.read_text(encoding="utf-8"))
    assert found in {pin["sha256"].get(name) for pin in pins.values()}


def test_the_pins_name_what_the_tool_makes(tool):
    """Each file has a sum, and each is one that tests ask for."""
    pins = json.loads(tool.PINS.read_text(encoding="utf-8"))
    parts = {name: {part.name for part in corpus.parts} for name, corpus in tool.CORPORA.items()}
    assert {name: set(pin["sha256"]) for name, pin in pins.items()} == parts
    assert set(corpora.FILES) == set.union(*parts.values(), tool.TOKENIZERS, tool.WHEELS)


def test_folders(monkeypatch, tmp_path):
    """The environment names the only folder; without it, the repository's own comes before the one beside it."""
    monkeypatch.setenv("SCHEMAGEN_CORPORA", str(tmp_path))
    assert corpora.folders() == [tmp_path]
    assert corpora.path("gpt2") == tmp_path / "tokenizers" / "gpt2" / "tokenizer.json"
    monkeypatch.delenv("SCHEMAGEN_CORPORA")
    assert corpora.folders() == [ROOT / "corpora", ROOT.parent / "shared"]


def test_what_is_missing_is_skipped_or_fails(monkeypatch, tmp_path):
    """The reason names the corpus; nothing may be left out where that is asked for."""
    monkeypatch.setenv("SCHEMAGEN_CORPORA", str(tmp_path))
    monkeypatch.delenv("SCHEMAGEN_REQUIRE_CORPORA", raising=False)
    with pytest.raises(pytest.skip.Exception, match="left out for want of maskbench: run `make corpora`"):
        corpora.need("maskbench")
    assert corpora.kinds() == ["own_gpt2", "own_llama3", "own_mistral"]
    monkeypatch.setenv("SCHEMAGEN_REQUIRE_CORPORA", "1")
    with pytest.raises(pytest.fail.Exception, match="left out for want of maskbench"):
        corpora.need("maskbench")
    assert corpora.kinds() == ["gpt2", "llama3", "mistral"]


def test_the_last_line_counts_what_was_left_out(tmp_path):
    """One line at the end of a run says how many tests were skipped for want of what."""
    environment = {"SCHEMAGEN_CORPORA": str(tmp_path), "PATH": "", "GITHUB_ACTIONS": "true"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "tests/unit/test_corpora.py",
        "-k",
        "is_pinned",
    ]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    wanted = "LEFT OUT: 3 tests for want of corpora (json-schema-test-suite, json-schema-test-suite-remotes, maskbench)"
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{wanted}: run `make corpora`" in run.stdout
    assert f"::warning::{wanted}" in run.stdout
    assert corpora.left_out(["no chromium on this machine"]) == ""

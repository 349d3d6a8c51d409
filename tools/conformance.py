r"""Run the JSON-Schema-Test-Suite and MaskBench through the mask, and keep the verdicts.

    python tools/conformance.py                  compare with the committed verdicts; exits with 1 if one is worse
    python tools/conformance.py maskbench        one of them
    python tools/conformance.py --update         write the verdicts, and docs/supported-schema.md

`make corpora` brings both (`tests/corpora.py` says where they lie); a missing one is left out, with a line that says so.

A file holds one group of tests per line: ``{"id", "schema", "tests": [{"valid", "data"}]}``. Each instance is written as
`json.dumps` writes it and fed to a matcher over bytes (any order of keys); it counts as accepted if every byte was
allowed and the text may end. The verdict of a group:

    pass            every instance was judged right
    unsatisfiable   the schema was refused because it has no instance, and the tests say the same: right
    slow            `Limits.max_seconds` was over: another machine may say otherwise, so this is never a regression
    refused         another error of the package, which is named: nothing can be generated, nothing wrong either
    false_reject    a valid instance was not accepted; the indices of these tests are kept
    false_accept    an invalid instance was accepted: never to happen
    error, timeout  any other exception; more than `TIMEOUT_S` seconds

No text of the suite is copied: the verdict files hold ids, indices and names of errors.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import signal
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import schemagen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import corpora

VERDICTS = ROOT / "tests" / "conformance" / "verdicts.json"
MASKBENCH_VERDICTS = ROOT / "tests" / "conformance" / "maskbench.json"
TIMEOUT_S = 20

#: Best first; "unsatisfiable" is as right as "pass".
RANKS = {
    name: rank for rank, name in enumerate(("pass", "refused", "false_reject", "timeout", "error", "false_accept"))
}
RIGHT = frozenset({"pass", "unsatisfiable"})


class CaseTimeoutError(BaseException):
    """A case took longer than `TIMEOUT_S`; not an Exception, so that no handler on the way catches it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one group.

    Attributes:
        name: See the module.
        tests: Indices of the tests that were judged wrong.
        error: Class and code of the exception, if there was one; a limit also says which.
    """

    name: str
    tests: tuple[int, ...] = ()
    error: str = ""

    @property
    def is_right(self) -> bool:
        """Whether nothing is to be said against it."""
        return self.name in RIGHT

    def is_worse_than(self, other: Verdict) -> bool:
        """Whether this is a step back: a worse verdict, or more tests with the same one."""
        if "slow" in {self.name, other.name}:
            return self.name in {"false_accept", "error"}
        ranks = (RANKS[v.name if v.name in RANKS else "pass"] for v in (self, other))
        mine, theirs = ranks
        return mine > theirs or (mine == theirs and not set(self.tests) <= set(other.tests))

    def to_json(self) -> Any:
        """Return the compact form: the name alone where there is no more to say."""
        if not self.tests and not self.error:
            return self.name
        return [self.name, list(self.tests), *([self.error] if self.error else [])]

    @classmethod
    def from_json(cls, value: Any) -> Verdict:
        """Read what `to_json` wrote."""
        if isinstance(value, str):
            return cls(value)
        return cls(value[0], tuple(value[1]), value[2] if len(value) > 2 else "")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the groups of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def judge(case: Mapping[str, Any], resources: Mapping[str, Any] | None = None) -> Verdict:
    """Return the verdict of one group; stops it after `TIMEOUT_S` seconds where the platform has alarms."""
    try:
        with _alarm(TIMEOUT_S):
            return _judge(case, resources)
    except CaseTimeoutError:
        return Verdict("timeout")
    except Exception as error:  # noqa: BLE001 - a verdict, whatever it is
        return Verdict("error", error=type(error).__name__)


def _judge(case: Mapping[str, Any], resources: Mapping[str, Any] | None) -> Verdict:
    tests = case["tests"]
    try:
        vocabulary = schemagen.Vocabulary.byte_vocabulary()
        grammar = schemagen.compile(case["schema"], vocabulary, property_order="any", resources=resources, cache=None)
        matcher = grammar.matcher()
        accepted = [_accepts(matcher, test["data"]) for test in tests]
    except schemagen.UnsatisfiableSchemaError:
        wrong = tuple(index for index, test in enumerate(tests) if test["valid"])
        return Verdict("false_reject", wrong, "UnsatisfiableSchemaError") if wrong else Verdict("unsatisfiable")
    except schemagen.SchemagenError as error:
        return Verdict("slow" if "max_seconds" in error.fix else "refused", error=_named(error))
    too_wide, too_narrow = (
        tuple(index for index, test in enumerate(tests) if accepted[index] is kind and test["valid"] is not kind)
        for kind in (True, False)
    )
    if too_wide:
        return Verdict("false_accept", too_wide)
    return Verdict("false_reject", too_narrow) if too_narrow else Verdict("pass")


def _named(error: schemagen.SchemagenError) -> str:
    """Class and code; for a limit also which one, without the numbers."""
    name = f"{type(error).__name__} {error.code}"
    if not isinstance(error, schemagen.LimitError):
        return name
    return f"{name}: {re.sub('[0-9][0-9,.]*', 'N', error.fact)}"


def _accepts(matcher: Any, value: Any) -> bool:
    matcher.reset()
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return bool(matcher.accept_bytes(text) and matcher.is_accepting())


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raise `CaseTimeoutError` in this thread after so many seconds; does nothing where there are no alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: Any) -> None:
        raise CaseTimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(cases: Iterable[Mapping[str, Any]], resources: Mapping[str, Any] | None, jobs: int = 1) -> dict[str, Verdict]:
    """Return the verdicts by id, sorted; with several jobs in as many processes."""
    cases = list(cases)
    if jobs == 1:
        found = {case["id"]: judge(case, resources) for case in cases}
    else:
        with ProcessPoolExecutor(jobs) as pool:
            verdicts = pool.map(judge, cases, [resources] * len(cases), chunksize=16)
            found = dict(zip((case["id"] for case in cases), verdicts, strict=True))
    return dict(sorted(found.items()))


def compare(new: Mapping[str, Verdict], old: Mapping[str, Verdict]) -> tuple[list[str], list[str]]:
    """Return the regressions and the improvements, a line each; an id without an old verdict must be right."""
    worse, better = [], []
    for case, verdict in new.items():
        known = old.get(case, Verdict("pass"))
        line = f"{case}: {known.to_json()} -> {verdict.to_json()}"
        if verdict.is_worse_than(known):
            worse.append(line)
        elif known.is_worse_than(verdict):
            better.append(line)
    return worse, better


def load_verdicts(path: Path = VERDICTS) -> dict[str, Verdict]:
    """Return the committed verdicts of the test suite, one per group."""
    return {case: Verdict.from_json(value) for case, value in json.loads(path.read_text(encoding="utf-8")).items()}


def load_maskbench(path: Path = MASKBENCH_VERDICTS) -> tuple[dict[str, int], dict[str, Verdict]]:
    """Return the counts of all verdicts, and every verdict that is not "pass" by id."""
    table = json.loads(path.read_text(encoding="utf-8"))
    return table["counts"], {case: Verdict.from_json(value) for case, value in table["not_pass"].items()}


def _lines(table: Mapping[str, Any]) -> str:
    """One entry per line, so that a difference can be read."""
    return ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items())


def save_verdicts(verdicts: Mapping[str, Verdict], path: Path = VERDICTS) -> None:
    """Write the verdicts of the test suite."""
    path.write_text(f"{{\n{_lines({k: v.to_json() for k, v in verdicts.items()})}\n}}\n", encoding="utf-8")


def save_maskbench(verdicts: Mapping[str, Verdict], path: Path = MASKBENCH_VERDICTS) -> None:
    """Write the counts of MaskBench, and what did not pass."""
    counts = dict(sorted(Counter(verdict.name for verdict in verdicts.values()).items()))
    others = {case: verdict.to_json() for case, verdict in verdicts.items() if verdict.name != "pass"}
    text = f'{{\n"counts": {json.dumps(counts)},\n"not_pass": {{\n{_lines(others)}\n}}\n}}\n'
    path.write_text(text, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where the verdicts of a corpus are kept.

    Attributes:
        load: Returns the committed ones; an id that is not among them passed.
        save: Writes new ones.
        remotes: The documents that its schemas refer to, a name of `tests/corpora.py`.
    """

    load: Callable[[], Mapping[str, Verdict]]
    save: Callable[[Mapping[str, Verdict]], None]
    remotes: str = ""

    def run(self, name: str, jobs: int) -> dict[str, Verdict]:
        """Return the verdicts of today."""
        resources = (
            {entry["uri"]: entry["schema"] for entry in read(corpora.path(self.remotes))} if self.remotes else None
        )
        return run(read(corpora.path(name)), resources, jobs)

    def is_there(self, name: str) -> bool:
        """Whether every file of it is."""
        return all(corpora.path(file).is_file() for file in (name, self.remotes) if file)


CORPORA = {
    "json-schema-test-suite": Corpus(load_verdicts, save_verdicts, "json-schema-test-suite-remotes"),
    "maskbench": Corpus(lambda: load_maskbench()[1], save_maskbench),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the corpora that were asked for; the exit status is 1 after a regression, 2 if there was nothing to run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("corpora", nargs="*", default=list(CORPORA), metavar="CORPUS", help=f"of {', '.join(CORPORA)}")
    parser.add_argument("--update", action="store_true", help="write the verdicts and the pages made from them")
    parser.add_argument("--pages", action="store_true", help="only write the pages, from the committed verdicts")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.corpora if name not in CORPORA]:
        parser.error(f"there is no corpus {unknown[0]!r}, only {', '.join(CORPORA)}")
    if options.pages:
        return _write_pages()
    here = [name for name in options.corpora if CORPORA[name].is_there(name)]
    regressions = [_compare_one(name, options.jobs, update=options.update) for name in here]
    for name in [name for name in options.corpora if name not in here]:
        print(f"LEFT OUT: {name}, for want of {corpora.path(name)}: run `make corpora`")
    if options.update and here:
        return _write_pages()
    return int(any(regressions)) if here else 2


def _compare_one(name: str, jobs: int, *, update: bool) -> int:
    """Judge a corpus and print its table; return how many groups are worse than committed."""
    corpus = CORPORA[name]
    new = corpus.run(name, jobs)
    worse, better = compare(new, corpus.load())
    right = sum(verdict.is_right for verdict in new.values())
    print(
        f"{name}: {right:,} of {len(new):,} groups are judged right, {len(worse)} worse than committed, {len(better)} better"
    )
    for verdict, count in Counter(verdict.name for verdict in new.values()).most_common():
        print(f"  {verdict:14} {count:6,}")
    for line in [*(f"  worse   {line}" for line in worse), *(f"  better  {line}" for line in better)]:
        print(line)
    if update:
        corpus.save(new)
    return len(worse)


def _write_pages() -> int:
    """Write the pages of the documentation that are made from the verdicts."""
    sys.path.insert(0, str(Path(__file__).parent))
    import conformance_pages

    conformance_pages.write(load_verdicts(), load_maskbench())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The fuzzer of tools/fuzz: what it once found stays repaired, a few of its cases run each time, and it reports what fails."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import schemagen
from schemagen.testing import mask_of
from tools.fuzz import session, targets
from tools.fuzz.shrinking import shrunk

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).with_name("fuzz_corpus.jsonl")
ENTRIES = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]
#: How many cases of a target run each time.
CASES = {"json": 25, "regex": 60, "grammar": 20, "budget": 40}


@pytest.fixture(autouse=True)
def _without_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine changes nothing."""
    monkeypatch.setattr(session, "CASE_SECONDS", 600.0)


def need_lark(target: str, case: dict[str, Any]) -> None:
    """Skip a test that needs lark where it is not installed."""
    if (target == "grammar" or case.get("kind") == "grammar") and importlib.util.find_spec("lark") is None:
        pytest.skip("lark is not installed")


def _parameter(entry: dict[str, Any]) -> Any:
    """Return an entry; one that is known to fail has to fail until it is repaired, and then loses its mark."""
    marks = [pytest.mark.xfail(reason="known, not repaired yet", strict=True)] if entry.get("known") else []
    return pytest.param(entry, id=entry["note"], marks=marks)


@pytest.mark.parametrize("entry", [*map(_parameter, ENTRIES)])
def test_a_kept_case_passes(entry: dict[str, Any]) -> None:
    """It failed once, or could easily."""
    case = entry["case"] if "case" in entry else session.case_of(entry["target"], entry["seed"])
    need_lark(entry["target"], case)
    assert session.outcome_of(entry["target"], case).failure is None


@pytest.mark.parametrize(
    ("rules", "begun", "rest"),
    [
        ({"contains": {"type": "boolean"}}, b"[[1", b"],true]"),
        ({"contains": {"type": "boolean"}, "uniqueItems": True}, b"[[[1", b"]],true]"),
        ({"contains": {"const": {"c": 1}}, "maxContains": 1}, b"[", b'{"c":1}]'),
        ({"contains": {"const": {"c": 1}}, "maxContains": 1}, b"[{", b'"c":1}]'),
        (
            {"contains": {"required": ["a"], "properties": {"a": {"const": 5}}, "type": "object"}, "minContains": 3},
            b"",
            b'[{"a":5},{"a":5},{"a":5}]',
        ),
        (
            {"allOf": [{"contains": {"const": "x"}}, {"contains": {"contains": {"const": None}, "type": "array"}}]},
            b"[[1,",
            b'null],"x"]',
        ),
    ],
)
def test_an_end_is_found_beside_contains(rules: dict[str, Any], begun: bytes, rest: bytes) -> None:
    """The bytes that are needed are known exactly, so that the search goes straight to the end."""
    schema = {"type": "array", **rules}
    grammar = schemagen.compile(schema, schemagen.Vocabulary.byte_vocabulary(), whitespace="compact", cache=None)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(begun)
    assert matcher.tokens_to_finish() == len(rest)
    assert matcher.shortest_completion() == rest


@pytest.mark.parametrize(
    "extra", [{"const": "a"}, {"type": "string", "pattern": "^(a|bb)+$"}], ids=["const", "pattern"]
)
@pytest.mark.parametrize("forks", [0, 64])
def test_a_budget_is_kept_where_keys_run_out(extra: dict[str, Any], forks: int) -> None:
    """Whatever else was asked, the number of tokens that suffices does suffice, along the first token of each mask."""
    short = {"const": "aaa"} if "const" in extra else {**extra, "minLength": 3, "maxLength": 5}
    schema = {"type": "object", "additionalProperties": extra, "patternProperties": {"^.$": short}, "minProperties": 4}
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    matcher = schemagen.compile(schema, vocabulary, whitespace="compact", cache=None).matcher()
    assert matcher.accept_bytes(b'{"[')
    left = matcher.tokens_to_finish()
    assert left is not None
    for token in range(forks):
        fork = matcher.fork()
        if fork.accept_token(token):
            fork.tokens_to_finish()
    while not matcher.is_accepting():
        within = mask_of(matcher, vocabulary, budget=left) - set(vocabulary.eos_token_ids)
        assert matcher.accept_token(min(within))
        left -= 1
        needed = matcher.tokens_to_finish()
        assert needed is not None
        assert needed <= left


@pytest.mark.parametrize("target", CASES)
def test_a_few_random_cases_pass(target: str) -> None:
    """And most of them have something to check."""
    checked = 0
    for number in range(CASES[target]):
        case = session.case_of(target, f"test/{number}")
        need_lark(target, case)
        outcome = session.outcome_of(target, case)
        assert outcome.failure is None, (number, outcome)
        checked += not outcome.label
    assert checked > CASES[target] / 3


@pytest.mark.parametrize("target", targets.TARGETS)
def test_a_seed_draws_one_case(target: str) -> None:
    """Of JSON, so that it can be kept."""
    case = session.case_of(target, "7/1")
    assert session.case_of(target, "7/1") == case == json.loads(json.dumps(case))
    assert session.case_of(target, "7/2") != case


def test_a_finding_is_reported_made_smaller_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status tells, a replay fails as long as the mistake is there, and then passes."""
    record, right = tmp_path / "findings.jsonl", targets.complaints
    monkeypatch.setattr(session, "SHRINKING_SECONDS", 1.0)
    monkeypatch.setattr(targets, "complaints", lambda schema, value: ["wrong"] if value else right(schema, value))
    few = ["--only", "json", "--seconds", "600", "--cases", "12", "--seed", "1"]
    assert session.main([*few, "--record", str(record)]) == 1
    assert "FINDING in json, seed 1/" in capsys.readouterr().out
    found = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    assert "a text is no instance" in {entry["message"].partition(":")[0] for entry in found}
    assert session.main(["--replay", str(record)]) == 1
    monkeypatch.setattr(targets, "complaints", right)
    assert session.main(["--replay", str(record)]) == 0


@pytest.mark.parametrize(
    ("case", "fails", "smallest"),
    [
        ({"a": [1, 22, 3], "b": "x"}, lambda case: 22 in case.get("a", ()), {"a": [22]}),
        ({"a": "some words here"}, lambda case: "or" in case.get("a", ""), {"a": "or"}),
        ({"a": {"deep": {"not": {"x": 1}}}}, lambda case: "not" in json.dumps(case), {"not": {}}),
        ({"a": 1000}, lambda case: case.get("a", 0) > 5, {"a": 10}),
    ],
)
def test_a_case_is_made_smaller(case: dict[str, Any], fails: Callable[[dict[str, Any]], bool], smallest: Any) -> None:
    """Until no part can be left out."""
    assert shrunk(case, fails, 60) == smallest

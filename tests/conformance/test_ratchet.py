"""The committed verdicts hold: what was right stays right, nothing invalid is ever accepted, and the page says so."""

import importlib.util
import random
import sys
import time
from pathlib import Path

import pytest

from tests import corpora

ROOT = Path(__file__).parents[2]
SAMPLE, SEED = 250, 7


def _load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


conformance = _load("conformance")
pages = _load("conformance_pages")
V = conformance.Verdict


def check(new, old, capsys):
    """Fail with the list of regressions; print the improvements."""
    worse, better = conformance.compare(new, old)
    if better:
        with capsys.disabled():
            sys.stdout.write(
                "\n  ".join(["\nbetter than committed (python tools/conformance.py --update):", *better, ""])
            )
    assert not worse, "worse than committed:\n" + "\n".join(worse)
    assert {case: v for case, v in new.items() if v.name in {"false_accept", "error", "timeout"}} == {}


def test_json_schema_test_suite(capsys):
    """No group of the official suite is judged worse than committed."""
    cases = corpora.groups("json-schema-test-suite")
    remotes = {entry["uri"]: entry["schema"] for entry in corpora.groups("json-schema-test-suite-remotes")}
    verdicts = conformance.load_verdicts()
    assert {case["id"] for case in cases} == verdicts.keys()
    check(conformance.run(cases, remotes), verdicts, capsys)


def test_sample_of_maskbench(capsys):
    """No schema of a seeded sample of MaskBench is judged worse than committed."""
    cases = random.Random(SEED).sample(corpora.groups("maskbench"), SAMPLE)
    check(conformance.run(cases, None), conformance.load_maskbench()[1], capsys)


@pytest.mark.filterwarnings("ignore:the schema has no keyword of JSON Schema:UserWarning")  # about two schemas
@pytest.mark.slow
def test_all_of_maskbench(capsys):
    """No schema of MaskBench is judged worse than committed, and the committed counts are those of the whole set."""
    new = conformance.run(corpora.groups("maskbench"), None)
    counts, not_pass = conformance.load_maskbench()
    check(new, not_pass, capsys)
    assert sum(counts.values()) == len(new)


def test_nothing_invalid_is_accepted():
    """The committed verdicts hold no false accept, no crash and no timeout."""
    verdicts = [*conformance.load_verdicts().values(), *conformance.load_maskbench()[1].values()]
    assert {v.name for v in verdicts} <= {"pass", "unsatisfiable", "refused", "slow", "false_reject"}


def test_enough_is_right():
    """At least 645 groups of the suite are judged right, and 99.3 % of MaskBench."""
    assert sum(v.is_right for v in conformance.load_verdicts().values()) >= 645
    counts = conformance.load_maskbench()[0]
    assert counts["pass"] >= 0.993 * sum(counts.values())


def test_every_departure_has_a_reason():
    """Whatever is not right is explained on the page."""
    departures = {**conformance.load_verdicts(), **conformance.load_maskbench()[1]}
    unexplained = [c for c, v in departures.items() if not v.is_right and not pages.reason_for(c, v)]
    assert unexplained == []


def test_counts_and_list_agree():
    """The counts of MaskBench are those of the list of what did not pass."""
    counts, not_pass = conformance.load_maskbench()
    names = [v.name for v in not_pass.values()]
    assert {name: names.count(name) for name in names} == {k: n for k, n in counts.items() if k != "pass"}


def test_page_is_made_from_the_verdicts():
    """docs/supported-schema.md is what `tools/conformance.py --pages` writes."""
    rendered = pages.render(conformance.load_verdicts(), conformance.load_maskbench())
    assert pages.PAGE.read_text(encoding="utf-8") == rendered, "run python tools/conformance.py --pages"
    assert "{{" not in rendered


@pytest.mark.parametrize(
    ("tests", "schema", "expected"),
    [
        ([(1, True), ("a", False)], {"type": "integer"}, V("pass")),
        ([(1, False)], {"type": "integer"}, V("false_accept", (0,))),
        ([(1, True), ("a", True)], {"type": "integer"}, V("false_reject", (1,))),
        ([("a", True), (1, False)], {"type": "integer"}, V("false_accept", (1,))),
        ([(1, False)], False, V("unsatisfiable")),
        ([(1, False), (2, True)], False, V("false_reject", (1,), "UnsatisfiableSchemaError")),
        ([(1, True)], {"type": "number", "pattern": 1}, V("refused", (), "InvalidSchemaError invalid-schema")),
    ],
)
def test_judge(tests, schema, expected):
    """A judge that sees nothing would be worse than none: each verdict can happen."""
    case = {"schema": schema, "tests": [{"data": data, "valid": valid} for data, valid in tests]}
    assert conformance.judge(case) == expected
    assert V.from_json(expected.to_json()) == expected


@pytest.mark.parametrize(
    ("new", "old", "worse", "better"),
    [
        (V("pass"), V("pass"), 0, 0),
        (V("unsatisfiable"), V("pass"), 0, 0),
        (V("refused"), V("pass"), 1, 0),
        (V("false_reject", (1,)), V("refused"), 1, 0),
        (V("false_reject", (1, 2)), V("false_reject", (1,)), 1, 0),
        (V("false_reject", (1,)), V("false_reject", (1, 2)), 0, 1),
        (V("pass"), V("false_reject", (1,)), 0, 1),
        (V("false_accept", (0,)), V("error"), 1, 0),
        (V("slow"), V("pass"), 0, 0),
        (V("pass"), V("slow"), 0, 0),
        (V("error"), V("slow"), 1, 0),
    ],
)
def test_compare(new, old, worse, better):
    """A worse verdict or one more wrong test is a regression, the opposite is an improvement."""
    assert [len(lines) for lines in conformance.compare({"a": new}, {"a": old})] == [worse, better]


def test_a_slow_case_is_stopped(monkeypatch):
    """A case that hangs becomes a verdict."""
    if not hasattr(conformance.signal, "SIGALRM"):
        pytest.skip("this platform has no alarms")
    monkeypatch.setattr(conformance, "TIMEOUT_S", 1)
    monkeypatch.setattr(conformance, "_judge", lambda *_: time.sleep(600))
    assert conformance.judge({}).name == "timeout"

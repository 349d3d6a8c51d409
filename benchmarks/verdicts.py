"""The verdicts, and an argument for each wrong one.

    python benchmarks/verdicts.py maskbench.json suite.json      keep the verdicts of two results of masks.py

The lists of refused and misjudged schemas come from the committed verdicts in `tests/conformance/`; the arguments are
here, one for each group of the official suite. A test fails where one is missing.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness

sys.path.insert(0, str(harness.ROOT / "tools"))
import conformance

if TYPE_CHECKING:
    from collections.abc import Mapping

COVERAGE = harness.RESULTS / "coverage.json"

_PUNYCODE = (
    "The label is right, and this is a gap. An ASCII label `xn--...` is a host name if it decodes to a valid "
    "international label; the same groups call labels that decode to anything else invalid. Only the Punycode decoder "
    "(RFC 3492) tells them apart, and each of its steps depends on all earlier ones. Labels have at most 63 characters, so "
    "an automaton exists, but it is too large to build. The mask can only allow all `xn--` labels or none. With all, "
    "invalid texts would come out, so it allows none. "
)
#: Group without its draft -> who is wrong, and why. All labels were checked by hand against the RFC or the standard.
ARGUMENTS = {
    "optional---format---ecmascript-regex---3": "The label is right, and this is a gap. `(?<n>a)\\k<n>` is a valid "
    "pattern because the name after `\\k` is the name of a group. Names can be any identifier, and no automaton can tell "
    "that two places have the same word. The mask for the format `regex` writes patterns without "
    "back-references, named or numbered.",
    "optional---format---hostname---1": _PUNYCODE
    + "The 15 instances are the A-labels of valid names such as `실례.테스트` or `l·l`; all decode as the suite says.",
    "optional---format---idn-hostname---0": _PUNYCODE
    + "The one instance is the A-label of `他们为什么不说中文`. In this format the model can write the name itself.",
    "optional---format---idn-hostname---1": "The label is right, and this is a gap. The four instances are one label of "
    "52 Greek letters before four kinds of dot. In Punycode it takes 61 of the 63 allowed characters. The length in Punycode "
    "depends on the letters and their order, so the mask counts letters instead and stops at a number that is safe "
    "in the worst case: 30 for modern Greek. The model cannot write longer labels, even if they would fit.",
    "vocabulary---0": "The label is right, and this is a gap, by choice. The `$schema` is a meta-schema whose "
    "`$vocabulary` leaves out validation, so `minimum` is an annotation there (draft 2020-12 core, 8.1.2). Here keywords "
    "always assert: people who write `minimum` do not expect another document to switch the constraint off. "
    "There is no technical obstacle.",
}

#: Start of an error, or a verdict -> the reason for the refusal.
REFUSALS = {
    "LimitError limit-reached: N alternatives": "combining `anyOf`, `oneOf`, `not` and `if` multiplies alternatives "
    "beyond `Limits.max_alternatives`; you can raise that limit, at the price of memory and time",
    "LimitError limit-reached: N combinations of counts": "`contains` and negated members are counted together, and the "
    "product of the counts is too large",
    "LimitError limit-reached: N automaton states": "too many alternatives are open at one place of the text",
    "UnsupportedSchemaError": "`uniqueItems` under `oneOf` or `not`: the automaton cannot state that *some* two items "
    "are equal",
    "unsatisfiable": "right: the schema contradicts itself (exactly one of several `required` lists, while all keys are "
    "required), and the set has no instance for it",
}


def argument_for(case: str) -> str:
    """Return the argument for a group of the suite, whatever its draft; "" if there is none."""
    return ARGUMENTS.get(case.split("---", 1)[1], "")


def refusal_for(verdict: Any) -> str:
    """Return why a schema of MaskBench has this verdict; "" if no reason is given yet."""
    named = (text for start, text in REFUSALS.items() if verdict.error.startswith(start) or verdict.name == start)
    return next(named, "")


def collect(results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the part of results of masks.py that the page needs: verdicts, no times."""
    sets = []
    for record in results:
        engines = record["results"]["engines"]
        sets.append(
            {
                "data": record["settings"]["data"],
                "schemas": record["settings"]["schemas"],
                "order": record["settings"]["order"],
                "tokenizer": record["settings"]["tokenizer"],
                "date": record["date"],
                "commit": record["commit"],
                "versions": {name: record["versions"].get(name) for name in engines},
                "verdicts": {name: found["verdicts"] for name, found in engines.items()},
                "not_pass": engines.get("schemagen", {}).get("not_pass", {}),
            }
        )
    return {"benchmark": "coverage", "sets": sets}


def departures() -> tuple[dict[str, Any], dict[str, int], dict[str, Any]]:
    """Return the suite's verdicts that are not right, the counts of MaskBench, and its verdicts that are not "pass"."""
    suite = {case: verdict for case, verdict in conformance.load_verdicts().items() if not verdict.is_right}
    return suite, *conformance.load_maskbench()


def main(arguments: list[str] | None = None) -> int:
    """Write the verdicts of results of masks.py."""
    made = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    made.add_argument("results", nargs="+", type=Path, help="result files of masks.py")
    made.add_argument("--out", type=Path, default=COVERAGE)
    options = made.parse_args(arguments)
    found = collect([json.loads(path.read_text(encoding="utf-8")) for path in options.results])
    options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

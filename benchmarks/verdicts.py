"""What is judged right, and an argument for whatever is not.

    python benchmarks/verdicts.py maskbench.json suite.json      keep the verdicts of two results of masks.py

The lists of what is refused or judged wrong come from the committed verdicts in `tests/conformance/`; the arguments are
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
    "The label is right, and this is a gap. An ASCII label `xn--...` is a host name if what it decodes to is a valid "
    "international label; the same groups call the ones invalid that decode to anything else. To tell them apart is to "
    "run the Punycode decoder (RFC 3492), whose steps depend on everything before. Labels have at most 63 characters, so "
    "an automaton exists, but none of a size that can be built. The mask could take all `xn--` labels or none; with all, "
    "text would come out that is invalid, so it takes none. "
)
#: Group without its draft -> whose mistake it is, and why. All labels were checked by hand against the RFC or the standard.
ARGUMENTS = {
    "optional---format---ecmascript-regex---3": "The label is right, and this is a gap. `(?<n>a)\\k<n>` is a valid "
    "pattern because the name behind `\\k` is the name of a group. Names can be any identifier, and that the same word "
    "stands in two places is what no automaton can tell. The mask for the format `regex` writes patterns without "
    "back-references, named or numbered.",
    "optional---format---hostname---1": _PUNYCODE
    + "The 15 instances are the A-labels of valid names such as `실례.테스트` or `l·l`; all decode as the suite says.",
    "optional---format---idn-hostname---0": _PUNYCODE
    + "The one instance is the A-label of `他们为什么不说中文`. In this format the name itself can be written.",
    "optional---format---idn-hostname---1": "The label is right, and this is a gap. The four instances are one label of "
    "52 Greek letters before four kinds of dot. In Punycode it takes 61 characters of the 63 allowed. How many a label "
    "takes depends on which letters stand where, so the mask counts letters instead and stops at a number that is safe "
    "for the worst of them: 30 for modern Greek. Longer labels that would fit cannot be written.",
    "vocabulary---0": "The label is right, and this is a gap, by choice. The `$schema` is a meta-schema whose "
    "`$vocabulary` leaves out validation, so `minimum` is an annotation there (draft 2020-12 core, 8.1.2). Here keywords "
    "always assert: a constraint that vanishes because of what another document says is not what people who write "
    "`minimum` expect. Nothing technical stands in the way.",
}

#: Start of an error, or a verdict -> why that is refused.
REFUSALS = {
    "LimitError limit-reached: N alternatives": "combining `anyOf`, `oneOf`, `not` and `if` multiplies alternatives "
    "beyond `Limits.max_alternatives`; each could be raised, at the price of memory and seconds",
    "LimitError limit-reached: N combinations of counts": "`contains` and negated members are counted together, and the "
    "product of the counts is too large",
    "LimitError limit-reached: N automaton states": "too many alternatives are open at one place of the text",
    "UnsupportedSchemaError": "`uniqueItems` under `oneOf` or `not`: that *some* two items are equal cannot be stated "
    "by the automaton",
    "unsatisfiable": "right: the schema contradicts itself (exactly one of several `required` lists, while all keys are "
    "required), and the set has no instance of it",
}


def argument_for(case: str) -> str:
    """Return the argument for a group of the suite, whatever its draft; "" if there is none."""
    return ARGUMENTS.get(case.split("---", 1)[1], "")


def refusal_for(verdict: Any) -> str:
    """Return why a schema of MaskBench has this verdict; "" if nobody has said so yet."""
    named = (text for start, text in REFUSALS.items() if verdict.error.startswith(start) or verdict.name == start)
    return next(named, "")


def collect(results: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the page keeps of results of masks.py: verdicts, no times."""
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

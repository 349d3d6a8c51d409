"""docs/supported-schema.md from the verdicts: a template of prose, with tables of the measurements."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from schemagen.engine.options import Limits
from schemagen.schema.keyword_table import READERS
from schemagen.schema.numbers.expressions import NumberStyle
from schemagen.schema.numbers.rules import MAX_SHORT_DIGITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance import Verdict

ROOT = Path(__file__).resolve().parents[1]
TEMPLATE = ROOT / "tests" / "conformance" / "supported-schema.template.md"
PAGE = ROOT / "docs" / "supported-schema.md"
DRAFTS = {"draft7": "draft 7", "draft2020-12": "draft 2020-12"}

#: Keyword -> what a reader has to know besides "enforced"; one row each.
REMARKS = {
    "type": "lists of types, too; 1.0 is an integer in JSON Schema, and is never written for Python's `int`",
    "enum": "any JSON values; written as `json.dumps(..., ensure_ascii=False)` writes them",
    "const": "as `enum`",
    "$ref": "true recursion, `$defs`, `definitions`, `$id`, `$anchor`, siblings; other documents from `resources=`",
    "$dynamicRef": "with `$dynamicAnchor`, resolved along the path that led there",
    "$recursiveRef": "draft 2019-09, with `$recursiveAnchor`",
    "allOf": "by intersection",
    "anyOf": "by union",
    "oneOf": "exactly one: by intersection with the negation of the others, unless they exclude each other; as `not`",
    "not": "by complement; raises where `uniqueItems` is negated",
    "if": "with `then` and `else`; as `not`",
    "minimum": "compared as decimals: 0.1 is a tenth",
    "exclusiveMinimum": "a number, or a boolean in draft 4",
    "exclusiveMaximum": "as `exclusiveMinimum`",
    "multipleOf": "decimals, too",
    "minLength": "in code points",
    "maxLength": "counted, not unrolled",
    "pattern": "ECMA-262 with the `u` flag, found anywhere in the string; look-arounds by intersection and complement; "
    "back-references raise",
    "format": "for the names below; an unknown name is an annotation, as the standard says",
    "items": "a list of schemas and `additionalItems` before 2020-12",
    "uniqueItems": "by value: 1 is 1.0, and the order of keys is nothing; refused where arrays, fewer than 10,000 objects or "
    "numbers of 61 digits could run out",
    "contains": "with `minContains`, `maxContains`",
    "properties": "keys in the order of declaration by default",
    "patternProperties": "overlapping patterns, too",
    "additionalProperties": "keys never repeat",
    "required": "keys that `properties` does not name, too",
    "dependencies": "drafts before 2019-09",
    "unevaluatedProperties": "through every applicator beside it",
    "unevaluatedItems": "through every applicator beside it",
}

#: Keywords with a form that no automaton can enforce, which raises.
IN_PART = frozenset({"oneOf", "not", "if", "pattern"})

#: File of the suite -> why its groups do not pass.
REASONS = {
    "optional/format/ecmascript-regex": "a back-reference inside the text of a pattern: the format `regex` offers a subset",
    "optional/format/hostname": "labels in Punycode (`xn--`): whether one decodes to a valid label is not regular, "
    "so none is written",
    "optional/format/idn-hostname": "a label in Punycode; a label that only stays within 63 bytes once it is "
    "encoded: the mask stops at a length that is safe",
    "vocabulary": "a meta-schema of one's own that switches a vocabulary off: keywords always assert here",
}

#: Class of an error -> its cause.
ERRORS = {
    "LimitError": "a limit stopped the work",
    "UnsupportedSchemaError": "the negation of `uniqueItems`",
    "UnsatisfiableSchemaError": "no instance exists: every test that is called valid contradicts the schema",
}


def write(verdicts: Mapping[str, Verdict], maskbench: tuple[Mapping[str, int], Mapping[str, Verdict]]) -> None:
    """Write the page."""
    PAGE.write_text(render(verdicts, maskbench), encoding="utf-8")


def render(verdicts: Mapping[str, Verdict], maskbench: tuple[Mapping[str, int], Mapping[str, Verdict]]) -> str:
    """Return the page.

    Args:
        verdicts: Of the JSON-Schema-Test-Suite, by id.
        maskbench: The counts of the verdicts of MaskBench, and those that are not "pass" by id.
    """
    style, limits, counts = NumberStyle(), Limits(), Counter(verdict.name for verdict in verdicts.values())
    right = sum(verdict.is_right for verdict in verdicts.values())
    parts = {
        "keywords": _keywords(),
        "summary": f"{right} of {len(verdicts)} groups are judged right ({_counted(counts)}); {_hits(counts)}",
        "suite": _suite(verdicts),
        "departures": _not_pass(verdicts),
        "maskbench": _maskbench(*maskbench),
        "integer_digits": str(style.max_integer_digits),
        "short_digits": str(MAX_SHORT_DIGITS),
        "fraction_digits": str(style.max_fraction_digits),
        "max_states": f"{limits.max_states:,}",
        "max_alternatives": f"{limits.max_alternatives:,}",
        "max_seconds": f"{limits.max_seconds:g}",
        "max_depth": str(limits.max_depth),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in parts.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _keywords() -> str:
    rows = [
        f"| `{keyword}` | enforced{', in part' * (keyword in IN_PART)} | {REMARKS.get(keyword, '')} |"
        for keyword in READERS
    ]
    return "\n".join(["| keyword | status | remark |", "|---|---|---|", *rows]).replace("|  |", "| |")


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda pair: -pair[1]))


def _hits(counts: Mapping[str, int]) -> str:
    wrong = counts.get("false_accept", 0)
    return "no invalid instance is accepted." if not wrong else f"**{wrong} accept an invalid instance.**"


def file_of(case: str) -> tuple[str, str]:
    """Return the draft and the file of a group: ``draft7---optional---format---date---0`` is in optional/format/date."""
    draft, *path, _ = case.split("---")
    return draft, "/".join(path)


def _suite(verdicts: Mapping[str, Verdict]) -> str:
    cells: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for case, verdict in verdicts.items():
        draft, file = file_of(case)
        cells[file][draft][verdict.name] += 1
    rows = [
        f"| {file} | " + " | ".join(_counted(drafts[draft]) for draft in DRAFTS) + " |"
        for file, drafts in sorted(cells.items())
    ]
    heads = ["| file of the suite | " + " | ".join(DRAFTS.values()) + " |", "|---|" + "---|" * len(DRAFTS)]
    return "\n".join([*heads, *rows]).replace("|  |", "| |")


def _not_pass(verdicts: Mapping[str, Verdict]) -> str:
    rows = [
        f"| `{case}` | {verdict.name} | {', '.join(map(str, verdict.tests))} | {reason_for(case, verdict)} |"
        for case, verdict in verdicts.items()
        if not verdict.is_right
    ]
    return "\n".join(["| group | verdict | tests | reason |", "|---|---|---|---|", *rows])


def reason_for(case: str, verdict: Verdict) -> str:
    """Return why a group does not pass; "" if no reason is recorded yet."""
    if verdict.name == "unsatisfiable":
        return "right: it has no instance, and its tests call none valid"
    return ERRORS.get(verdict.error.partition(" ")[0]) or REASONS.get(file_of(case)[1], "")


def _maskbench_reason(case: str, verdict: Verdict) -> str:
    """Return why a schema does not pass; of a limit, which one."""
    _, _, fact = verdict.error.partition("limit-reached: N ")
    limit = f"too many {fact.removesuffix(' were needed, the limit is N').removesuffix(', limit N')}"
    return limit if fact else reason_for(case, verdict)


def _maskbench(counts: Mapping[str, int], not_pass: Mapping[str, Verdict]) -> str:
    total, passed = sum(counts.values()), counts.get("pass", 0)
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for case, verdict in not_pass.items():
        alike[verdict.name, _maskbench_reason(case, verdict)].append(f"`{case}`")
    rows = [
        f"| {len(cases)} | {name} | {reason} | {', '.join(cases)} |"
        for (name, reason), cases in sorted(alike.items(), key=lambda pair: -len(pair[1]))
    ]
    heads = ["| schemas | verdict | reason | which |", "|---|---|---|---|"]
    share = f"{passed:,} of {total:,} schemas pass, {100 * passed / total:.2f} % ({_counted(counts)})."
    return "\n".join([f"{share} {_hits(counts).capitalize()}", "", *heads, *rows])

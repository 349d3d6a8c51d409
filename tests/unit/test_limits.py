"""Hostile schemas compile, or are refused with both numbers and the knob: no recursion error, no hang, no gigabytes.

Each case runs in a process of its own, `python test_limits.py NAME`: what hangs or crashes there is seen here, and the
memory that it takes is its own. The 20 seconds are a detector of hangs, not a measure of speed.
"""

import dataclasses
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.sampled(3)

HANG_S = 20
MEMORY_LIMIT_MB = 200
END = 256


def nested_one_of(depth):
    """Alternatives that a validator has to try all of, at each level."""
    schema = {"type": "integer", "multipleOf": 3}
    for level in range(depth):
        inner = {"type": "object", "properties": {f"k{level}": schema}, "required": [f"k{level}"]}
        schema = {"oneOf": [inner, {"type": "integer", "minimum": level}, {"type": "string", "maxLength": level}]}
    return schema


def pairs_in_all_of(count, *, dependent=False):
    """Optional properties, two by two in parts of an allOf; the first one of each may need the second."""
    names = [f"p{index}" for index in range(count)]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    parts = [{"properties": {a: {"type": "integer"}, b: {"type": "string"}}} for a, b in pairs]
    if dependent:
        parts = [{**part, "dependentRequired": {a: [b]}} for part, (a, b) in zip(parts, pairs, strict=True)]
    return {"type": "object", "allOf": parts}


def optional_properties(count):
    """Many optional properties."""
    return {
        "type": "object",
        "properties": {f"property_{index}": {"type": "integer"} for index in range(count)},
        "additionalProperties": False,
    }


def six_strings():
    """An object of strings with long bounds, which engines that unroll lengths cannot hold."""
    text = {"type": "string", "minLength": 1, "maxLength": 3000}
    names = ["title", "summary", "analysis", "evidence", "caveats", "conclusion"]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, text),
        "required": names,
        "additionalProperties": False,
    }


def nested_arrays(depth):
    """Arrays of arrays of arrays."""
    schema = {"type": "integer"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def reference_chain(length):
    """A definition that refers to the next one, and so on."""
    definitions = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{length}": {"type": "integer"}}}


def overlapping_patterns(count):
    """Keys may match any combination of the patterns."""
    return {
        "type": "object",
        "patternProperties": {f"[{chr(97 + n % 26)}{n}]": {"minimum": n} for n in range(count)},
    }


MUTUAL = {
    "$ref": "#/$defs/a",
    "$defs": {
        "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "additionalProperties": False},
        "b": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/c"}]}},
        "c": {"oneOf": [{"type": "null"}, {"$ref": "#/$defs/b"}]},
    },
}
MONEY = {"type": "number", "multipleOf": 0.01, "minimum": -1234.56, "maximum": 98765.43}
ANY_ORDER = {"property_order": "any"}

#: Name -> how to make the schema, options of `compile`, texts that are accepted and texts that are not.
CASES = {
    "oneOf nested 8 deep": (lambda: nested_one_of(8), {}, ['{"k7": 6}', "9", '"abc"'], ["-1", "null"]),
    "40 optional properties in pairs of allOf": (
        lambda: pairs_in_all_of(40), {}, ["{}", '{"p0": 1, "p39": ""}'], ['{"p0": ""}', '{"p38": ""}'],
    ),
    "40 optional properties in pairs of allOf, any order": (
        lambda: pairs_in_all_of(40), ANY_ORDER, ["{}", '{"p39": "", "p0": 1}'], ['{"p0": ""}', '{"p38": ""}'],
    ),
    "40 optional properties in dependent pairs of allOf": (
        lambda: pairs_in_all_of(40, dependent=True), ANY_ORDER, ["{}", '{"p1": "", "p0": 1}'], ['{"p0": 1}', '{"p38": 1}'],
    ),
    "enum of 5,000 strings": (lambda: {"enum": [f"value {n * n}" for n in range(5000)]}, {}, ['"value 400"'], ['"value 401"']),
    "300 optional properties, any order": (
        lambda: optional_properties(300), ANY_ORDER, ["{}", '{"property_299": 1, "property_0": 2}'], ['{"property_300": 1}'],
    ),
    "maxLength 1,000,000": (lambda: {"type": "string", "maxLength": 1_000_000}, {}, [f'"{"a" * 1_000_000}"'], [f'"{"a" * 1_000_001}"']),
    "minLength 1,000,000": (lambda: {"type": "string", "minLength": 1_000_000}, {}, [f'"{"a" * 1_000_000}"'], [f'"{"a" * 999_999}"']),
    "maxItems 10,000": (
        lambda: {"type": "array", "items": {"type": "integer"}, "maxItems": 10_000}, {}, [json.dumps([1] * 10_000)], [json.dumps([1] * 10_001)],
    ),
    "maxItems 10,000 of objects": (
        lambda: {"type": "array", "items": optional_properties(20), "maxItems": 10_000}, {}, [json.dumps([{}] * 10_000)], [json.dumps([{}] * 10_001)],
    ),
    "multipleOf 0.01 with bounds": (lambda: MONEY, {}, ["98765.43", "-1234.56", "0.07"], ["98765.44", "0.071", "-1234.57"]),
    "mutual recursion": (lambda: MUTUAL, {}, ['{"b": [[{}], null, {"b": []}]}'], ['{"b": [1]}', '{"b": {}}']),
    "six strings of bounded length": (
        six_strings, {}, [json.dumps(dict.fromkeys(six_strings()["required"], "x" * 3000))], [json.dumps(dict.fromkeys(six_strings()["required"], ""))],
    ),
    "a repeated pair and minLength 10,000": (
        lambda: {"type": "string", "pattern": "^([a-z][0-9])+$", "minLength": 10_000}, {}, [f'"{"a1" * 5000}"'], [f'"{"a1" * 4999}"', f'"{"a1" * 5000}a"'],
    ),
    "a million letters by nested repetition": (
        lambda: {"type": "string", "pattern": "^(a{1000}){1000}$"}, {}, [f'"{"a" * 1_000_000}"'], [f'"{"a" * 999_999}"'],
    ),
    "nested repetition with choices": (lambda: {"type": "string", "pattern": "^((a|ab){1,1000}c?){1,1000}$"}, {}, ['"abac"'], ['"b"']),
    "nth letter from the end": (lambda: {"type": "string", "pattern": "^[ab]*a[ab]{30}$"}, {}, [f'"a{"b" * 30}"'], [f'"b{"b" * 30}"']),
    "arrays nested 1,000 deep": (lambda: nested_arrays(1000), {}, ["[[[]]]"], ["1"]),
    "arrays nested 10,000 deep": (lambda: nested_arrays(10_000), {}, ["[[[]]]"], ["1"]),
    "a chain of 1,000 references": (lambda: reference_chain(1000), {}, ["1"], ['"a"']),
    "a chain of 100,000 references": (lambda: reference_chain(100_000), {}, ["1"], ['"a"']),
    "a reference to itself": (lambda: {"$ref": "#"}, {}, [], []),
    "two references to each other": (
        lambda: {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}, {}, [], [],
    ),
    "a negated reference to itself": (lambda: {"not": {"$ref": "#"}}, {}, [], []),
    "30 overlapping patternProperties": (lambda: overlapping_patterns(30), {}, [], []),
    "anyOf of 2,000 objects": (
        lambda: {"anyOf": [{"type": "object", "properties": {"t": {"const": n}, f"v{n}": True}, "required": ["t"], "additionalProperties": False} for n in range(2000)]},
        {}, ['{"t": 7, "v7": 1}'], ['{"t": 7, "v8": 1}'],
    ),
    "oneOf of 60 objects without a tag": (
        lambda: {"oneOf": [{"type": "object", "properties": {f"v{n}": {"type": "integer"}}} for n in range(60)]}, {}, [], [],
    ),
    "uniqueItems of 1,000 objects": (
        lambda: {"type": "array", "items": optional_properties(5), "uniqueItems": True, "maxItems": 1000}, {}, ["[{}]"], ["[{}, {}]"],
    ),
    "contains between 20 and 50 times": (
        lambda: {"type": "array", "contains": {"minimum": 5}, "minContains": 20, "maxContains": 50}, {}, [json.dumps([5] * 20)], [json.dumps([5] * 19), json.dumps([5] * 51)],
    ),
    "integers of 5,000 digits": (lambda: {"type": "integer", "minimum": 10**4000, "maximum": 10**4000 + 7}, {}, [], []),
    "multipleOf with a large prime": (lambda: {"type": "integer", "multipleOf": 2_147_483_647}, {}, ["4294967294"], ["4294967295"]),
}  # fmt: skip


def memory_mb(field):
    """Resident memory of this process: VmRSS now, VmHWM at most; 0.0 where the platform does not tell."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0.0
    found = re.search(rf"{field}:\s+(\d+) kB", status.read_text(encoding="ascii"))
    return int(found.group(1)) / 1024 if found else 0.0


def walk(grammar, seed, steps):
    """Random steps, so that lazy states are made, too; a mask on the way is never empty."""
    choose, matcher = random.Random(seed), grammar.matcher()
    for _ in range(steps):
        allowed = matcher.allowed_tokens()
        assert allowed
        if not matcher.accept_token(choose.choice(allowed)) or matcher.is_terminated():
            return


def accepts(grammar, text):
    """Whether the grammar takes the whole text."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def run_case(name):
    """Compile a case and use it; return what happened."""
    import schemagen

    make, options, accepted, rejected = CASES[name]
    schema = make()
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    schemagen.compile({"type": "object"}, vocabulary)
    before, started = memory_mb("VmRSS"), time.perf_counter()
    result = {"outcome": "compiled", "wrong": [], "memory_bytes": 0}
    try:
        grammar = schemagen.compile(schema, vocabulary, **options)
        result["compile_s"] = time.perf_counter() - started
        result["wrong"] += [f"rejects {text[:60]}" for text in accepted if not accepts(grammar, text)]
        result["wrong"] += [f"accepts {text[:60]}" for text in rejected if accepts(grammar, text)]
        for seed in range(3):
            walk(grammar, seed, 100)
        result["memory_bytes"] = grammar.memory_bytes
    except Exception as error:  # noqa: BLE001 - reported to the test
        known = isinstance(error, (schemagen.LimitError, schemagen.SchemaError))
        result["outcome"] = "refused" if known else "failed"
        result["error"] = type(error).__name__
        result["text"] = str(error)[:2000]
        result["fact"] = getattr(error, "fact", "")
    result["seconds"] = time.perf_counter() - started
    result["memory_mb"] = memory_mb("VmHWM") - before
    return result


def run_apart(name):
    """Run a case in a process of its own."""
    command = [sys.executable, str(Path(__file__)), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, f"{name}: exit status {done.returncode}\n{done.stderr[-2000:]}"
    return json.loads(done.stdout)


#: Defects: a case that is repaired makes its test fail, so that the line is taken out.
KNOWN = {}


def _params():
    for name in CASES:
        marks = [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(_params()))
def test_hostile_schemas_compile_or_name_their_limit(name):
    """A hostile schema compiles and is exact, or an error names both numbers and what to do; memory stays below 200 MB."""
    result = run_apart(name)
    assert result["outcome"] in {"compiled", "refused"}, (result["error"], result["text"])
    assert result["wrong"] == []
    assert result["memory_mb"] < MEMORY_LIMIT_MB
    assert result["memory_bytes"] < MEMORY_LIMIT_MB * 2**20
    if result["outcome"] == "refused":
        check_refusal(result)


def check_refusal(result):
    """A limit names two numbers and a way out; a knob that it names exists; another refusal says why."""
    from schemagen import Limits

    knobs = re.findall(r"Limits\((\w+)=", result["text"])
    assert set(knobs) <= {field.name for field in dataclasses.fields(Limits)}, result["text"]
    assert "  fix:" in result["text"]
    if result["error"] == "LimitError":
        assert len(re.findall(r"[0-9][0-9,.]*", result["fact"])) >= 2, result["fact"]
        assert "limit" in result["fact"]
    else:
        assert "  why:" in result["text"]


@pytest.mark.parametrize(
    ("knob", "value", "schema"),
    [
        ("max_seconds", 0.0001, optional_properties(10_000)),
        ("max_seconds", 0.0001, {"allOf": [{"pattern": f"(a|b{n})*c{{{n}}}$"} for n in range(2, 40)]}),
        ("max_states", 20, {"properties": {f"property_{n}": {"type": "string", "maxLength": n} for n in range(300)}}),
        ("max_states", 20, {"type": "string", "pattern": "^(ab|cd|ef|gh){7,90}$", "minLength": 40}),
        ("max_depth", 3, reference_chain(5)),
        ("max_depth", 3, {"allOf": [{"allOf": [{"allOf": [{"allOf": [{"type": "string"}]}]}]}]}),
    ],
)
def test_limits_are_respected(knob, value, schema):
    """Each limit stops the work, and its error names the limit and the knob."""
    import schemagen

    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    with pytest.raises(schemagen.LimitError) as caught:  # noqa: PT012 - a limit may also stop a later step
        grammar = schemagen.compile(schema, vocabulary, limits=schemagen.Limits(**{knob: value}), cache=None)
        for seed in range(20):
            walk(grammar, seed, 200)
    assert knob in caught.value.fix
    assert re.search(rf"limit (is )?{value}", caught.value.fact)
    schemagen.compile(schema, vocabulary, cache=None)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_case(sys.argv[1])))

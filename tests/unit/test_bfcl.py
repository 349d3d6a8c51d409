"""The Berkeley Function-Calling benchmark: all its functions compile, and its right calls can be written."""

import importlib
import json
import sys
from pathlib import Path

import jsonschema
import pytest

import schemagen
from schemagen.errors import SchemaError
from tests import corpora

FOLDER = Path(__file__).parents[2] / "benchmarks"
#: Functions whose arguments no value satisfies, by the question: an array or a number with texts as options.
IMPOSSIBLE = {
    "live_simple_71-35-0": "extract_parameters_v1",
    "live_irrelevance_428-103-0": "get_response",
    "live_relevance_8-8-0": "Events_3_BuyEventTickets",
}


@pytest.fixture(scope="module")
def bfcl():
    """Import the script of the benchmark."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module("bfcl")
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def package(bfcl):
    """Return the unpacked wheel, or skip the test."""
    return bfcl.Package(corpora.need("bfcl").parents[2])


def test_descriptions_become_schemas(bfcl):
    """Names of types are mapped at every depth, but not in examples, and properties may have any name."""
    described = {
        "type": "dict",
        "properties": {
            "type": {"type": "float", "optional": True, "description": "A share."},
            "rows": {"type": "tuple", "items": {"type": "dict", "properties": {"at": {"type": "any"}}}},
        },
        "required": ["type"],
    }
    kinds = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
    assert bfcl.as_schema(described, kinds) == {
        "type": "object",
        "properties": {
            "type": {"type": "number", "description": "A share."},
            "rows": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "string"}}, "additionalProperties": False},
            },
        },
        "required": ["type"],
        "additionalProperties": False,
    }


def test_right_values(bfcl):
    """The first that is accepted; an optional one is left out if none is, and so are optional keys of objects."""
    gold = {
        "city": ["Paris", "Paris, France"],
        "unit": ["", "metric"],
        "count": ["two", 2],
        "where": [{"x": [1, 2], "y": ["", 3]}],
        "rows": [[{"n": [4]}, {"n": [5]}]],
        "deep": [{"a": {"b": 6.5}}],
        "note": [""],
        "wrong": ["x"],
    }
    kinds = {"count": {"type": "integer"}, "unit": {"enum": ["imperial"]}, "wrong": {"type": "null"}}
    schema = {"properties": {name: kinds.get(name, True) for name in gold}, "required": ["count", "note"]}
    assert bfcl.right_values(gold, schema) == {
        "city": "Paris",
        "count": 2,
        "where": {"x": 1},
        "rows": [{"n": 4}, {"n": 5}],
        "deep": {"a": {"b": 6.5}},
        "note": "",
        "wrong": "x",
    }


def test_functions_compile_and_right_calls_can_be_written(bfcl, package, byte_vocabulary):
    """8,723 of 8,726 functions; a right call is refused where it breaks the description, as the package jsonschema says."""
    functions, calls, refused, impossible = 0, 0, [], 0
    for category in bfcl.CATEGORIES:
        for question in package.questions(category):
            tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in package.tools(question)}
            functions += len(tools)
            grammars = {}
            for name, schema in tools.items():
                if name == IMPOSSIBLE.get(question.id):
                    with pytest.raises(SchemaError):
                        schemagen.compile(schema, byte_vocabulary)
                    impossible += 1
                else:
                    grammars[name] = schemagen.compile(schema, byte_vocabulary, property_order="any")
            if category in ("simple_java", "simple_javascript"):
                continue  # models write texts in the syntax of the language, and the right calls are read values
            for gold in question.gold:
                ((name, values),) = gold.items()
                call = bfcl.right_values(values, tools[name])
                calls += 1
                text = json.dumps(call, ensure_ascii=False).encode()
                is_written = name in grammars and grammars[name].matcher().accept_bytes(text)
                assert is_written == (
                    name in grammars and jsonschema.Draft202012Validator(tools[name]).is_valid(call)
                ), (question.id, call)
                if not is_written:
                    refused.append(question.id)
    assert (functions, calls) == (8726, 3152)
    assert impossible == len(IMPOSSIBLE)
    assert len(refused) == 23


def test_the_checker_finds_right_calls_right(bfcl, package):
    """What we make of a right answer is right for the package, but where the answer breaks the description of its function."""
    wrong = 0
    for category in bfcl.CATEGORIES:
        for question in package.questions(category):
            if question.gold and category not in ("simple_java", "simple_javascript"):
                tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in package.tools(question)}
                gold = [pair for each in question.gold for pair in each.items()]
                calls = [{name: bfcl.right_values(values, tools[name])} for name, values in gold]
                decoded, same, right = package.judge(question, calls)
                assert decoded
                assert same
                wrong += not right
    assert wrong == 4


@pytest.mark.parametrize(
    ("category", "calls", "marks"),
    [
        ("irrelevance", [], (False, True, True)),
        ("irrelevance", [{"f": {}}], (True, False, False)),
        ("live_relevance", [], (False, False, False)),
        ("live_relevance", [{"f": {}}], (True, True, True)),
        ("simple_python", [], (False, False, False)),
        ("simple_python", [{"f": {"x": 1}}], (True, True, True)),
        ("simple_python", [{"f": {"x": 2}}], (True, True, False)),
        ("simple_python", [{"g": {"x": 1}}], (True, False, False)),
        ("parallel", [{"f": {"x": 1}}], (True, False, False)),
    ],
)
def test_marks(bfcl, package, category, calls, marks):
    """Whether there are calls, of the right functions, and right."""
    function = {
        "name": "f",
        "parameters": {"type": "dict", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    }
    gold = [{"f": {"x": [1]}}] * (2 if category == "parallel" else 1)
    question = bfcl.Question("1", category, [], [function], [function], [] if "relevance" in category else gold)
    assert package.judge(question, calls) == marks

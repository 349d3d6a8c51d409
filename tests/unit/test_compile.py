"""What `compile` leaves behind: the collector as it was, copies, and a report that is written when it is asked for."""

import gc
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Union

import pytest
from pydantic import BaseModel

import schemagen
from schemagen.engine.native import builder
from schemagen.engine.protocol import Constraint
from schemagen.errors.installing import install_command
from schemagen.grammar.schema_values import _is_larger
from schemagen.schema import ir
from schemagen.schema.document import Document
from schemagen.schema.normalise import Normaliser

ENDLESS = {"$ref": "#"}
LINKED: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/tree", "description": "one"}, "b": {"$ref": "#/$defs/tree"}},
    "anyOf": [{"$ref": "#/$defs/name"}, {"$ref": "#/$defs/tree", "minProperties": 1}],
    "$defs": {"tree": {"type": "object", "properties": {"c": {"$ref": "#/$defs/tree"}}}, "name": {"type": "string"}},
}


@pytest.mark.parametrize("collecting", [True, False])
@pytest.mark.parametrize("schema", [{"type": "string"}, ENDLESS], ids=["compiled", "refused"])
def test_the_collector_is_left_as_it_was(byte_vocabulary, schema, collecting) -> None:
    """Whether the garbage collector runs is the user's choice, also after an error."""
    was_collecting = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        if schema is ENDLESS:
            with pytest.raises(schemagen.InvalidSchemaError):
                schemagen.compile(schema, byte_vocabulary, cache=None)
        else:
            schemagen.compile(schema, byte_vocabulary, cache=None)
        assert gc.isenabled() is collecting
    finally:
        (gc.enable if was_collecting else gc.disable)()


def _within_itself(kind: type) -> Any:
    """Return a container that contains itself."""
    made = kind()
    if isinstance(made, list):
        made.append(made)
    else:
        made["x"] = made
    return made


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("named", [{"type": "string"}, {"type": "string", "$dynamicAnchor": "a"}])
def test_an_object_may_contain_itself(byte_vocabulary, kind, named) -> None:
    """What no keyword reads may be any object of Python, also one that has no end."""
    grammar = schemagen.compile({**named, "x": _within_itself(kind)}, byte_vocabulary)
    assert grammar.matcher().accept_token(ord('"'))


class _Left(BaseModel):
    x: int


class _Right(BaseModel):
    x: int


@pytest.mark.parametrize("around", [lambda tp: tp, lambda tp: tuple[tp]], ids=["alone", "within"])
def test_unions_in_another_order_are_other_types(byte_vocabulary, around) -> None:
    """They are equal, but of two members that fit as well pydantic takes the first."""
    text = '[{"x":1}]' if around(int) == tuple[int] else '{"x":1}'
    for first, second in [(_Left, _Right), (_Right, _Left)]:
        found = schemagen.compile(around(Union[first, second]), byte_vocabulary).validate(text)
        assert isinstance(found[0] if isinstance(found, tuple) else found, first)


def test_a_grammar_keeps_its_schema_as_it_was(byte_vocabulary) -> None:
    """What the caller does to the dict afterwards changes neither the schema nor the report."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    grammar = schemagen.compile(schema, byte_vocabulary, cache=None)
    schema["properties"] = {}
    assert grammar.spec == grammar.schema == {"type": "object", "properties": {"a": {"type": "string"}}}
    assert grammar.spec is grammar.spec
    assert ("/properties/a", "type") in [(entry.pointer, entry.keyword) for entry in grammar.report]


def test_the_report_names_every_keyword(byte_vocabulary) -> None:
    """The schema is read again for it."""
    grammar = schemagen.compile({"type": "string", "maxLength": 2}, byte_vocabulary, cache=None)
    assert [entry.keyword for entry in grammar.report] == ["type", "maxLength", "whitespace", "digits"]


def test_a_reference_is_the_place_that_it_names() -> None:
    """Whatever refers to a schema shares its place, unless something stands beside the reference."""
    normaliser = Normaliser(LINKED)
    (disjunct,) = normaliser.value(normaliser.root).objects
    first, second = (dict(disjunct.properties)[key] for key in "ab")
    assert first is second
    assert normaliser.value(first).objects[0].properties == (("c", first),)


@pytest.mark.parametrize("is_source", [True, False])
def test_a_missing_core_is_told_from_sources_that_were_not_built(
    byte_vocabulary, tmp_path, monkeypatch, is_source
) -> None:
    """In a fresh clone nothing is broken: the core has to be built, or the installed package imported."""
    source = tmp_path / builder.SOURCE_OF_CORE
    source.parent.mkdir(parents=True)
    if is_source:
        source.touch()
    monkeypatch.setattr(builder, "__file__", str(tmp_path / "schemagen" / "engine" / "native" / "builder.py"))
    monkeypatch.setitem(sys.modules, "schemagen._core", None)
    with pytest.raises(schemagen.SchemagenError, match="is not installed") as caught:
        schemagen.compile({"type": "null"}, byte_vocabulary, cache=None)
    assert caught.value.code == "no-compiled-core"
    assert ("make core" in caught.value.fix) == is_source
    assert (install_command() in caught.value.fix) == (not is_source)


WITHOUT_CORE = """
import sys, warnings
warnings.simplefilter("error")
sys.modules["schemagen._core"] = None  # an import of it is an ImportError
import schemagen
from schemagen import reference
from schemagen.engine.native.lowering import compile_language
from schemagen.regex import parse_pattern
vocabulary = schemagen.Vocabulary.byte_vocabulary()
for make in (
    lambda: schemagen.compile({"type": "integer"}, vocabulary),
    lambda: schemagen.compile(schemagen.Regex("a+"), vocabulary),
    lambda: schemagen.compile(schemagen.GBNF('root ::= "a"'), vocabulary),
    lambda: schemagen.compile(int, vocabulary),
    lambda: schemagen.text.list_of(int).shown() and schemagen.compile(schemagen.text.list_of(int), vocabulary),
    lambda: compile_language(parse_pattern("a+", "python", search=False), vocabulary),
):
    try:
        make()
    except schemagen.SchemagenError as error:
        assert error.code == "no-compiled-core" and error.fix, error
    else:
        raise AssertionError("something else answered")
for spec in (int, schemagen.Regex("[0-9]+"), schemagen.text.list_of(int), ["1", "2"]):
    matcher = reference.compile(spec, vocabulary)
    assert matcher.accept_bytes(b"1") and matcher.is_accepting()
"""


def test_without_its_core_the_package_is_imported_and_compiles_nothing_by_itself() -> None:
    """No engine takes the place of the compiled core; the reference needs none."""
    run = subprocess.run([sys.executable, "-c", WITHOUT_CORE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_sources_are_known_by_a_file_that_they_have() -> None:
    """If the file is moved, a clone that was never built would pass for a broken installation."""
    assert (Path(__file__).parents[2] / builder.SOURCE_OF_CORE).is_file()


def test_references_are_in_the_report(byte_vocabulary) -> None:
    """Sharing a place hides neither the reference nor what it leads to."""
    pytest.importorskip("schemagen._core", reason="only the compiled core knows recursion")
    grammar = schemagen.compile(LINKED, byte_vocabulary, cache=None)
    found = {(entry.pointer, entry.keyword) for entry in grammar.report}
    assert {("/properties/a", "$ref"), ("/properties/a", "description"), ("/properties/b", "$ref")} <= found
    assert {("/anyOf/0", "$ref"), ("/anyOf/1", "minProperties"), ("/$defs/name", "type")} <= found
    assert ("/$defs/tree", "properties") in found


def test_a_reference_to_nowhere_is_an_error_at_its_place(byte_vocabulary) -> None:
    """The error names the reference, not what it was to lead to."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/missing"}}}
    with pytest.raises(schemagen.InvalidSchemaError, match="leads nowhere") as caught:
        schemagen.compile(schema, byte_vocabulary, cache=None)
    assert caught.value.at == "/properties/a/$ref"


@pytest.mark.parametrize(
    ("beside", "needs_uris"),
    [
        ({}, False),
        ({"b": {"$ref": "#/properties/a"}}, True),
        ({"b": {"$ref": "http://example.com/a"}}, True),
        ({"b": {"$anchor": "here"}}, True),
        ({"b": {"$id": "http://example.com/b", "$schema": "http://json-schema.org/draft-04/schema#"}}, True),
    ],
)
def test_names_matter_where_something_refers(beside, needs_uris) -> None:
    """A part that has an $id makes base URIs necessary only if a reference, an anchor or another draft is there, too."""
    document = Document({"properties": {"a": {"$id": "http://example.com/a", "type": "string"}, **beside}})
    assert (document.start.base is not None) is needs_uris


def shared(levels: int, step) -> Any:
    """Return a schema in which each level holds the one below it twice: as one object."""
    schema: Any = {"type": "integer"}
    for _ in range(levels):
        schema = step(schema)
    return schema


STEPS = {
    "objects": lambda part: {"type": "object", "properties": {"a": part, "b": part}, "additionalProperties": False},
    "alternatives": lambda part: {"anyOf": [part, part]},
    "texts": lambda part: {"enum": [part, part]},
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_shared_parts_are_written_out_or_refused(byte_vocabulary, step) -> None:
    """A few levels are compiled; forty would be 2 ** 40 parts, and end at once, whatever remembers the grammar."""
    schemagen.compile(shared(6, step), byte_vocabulary, cache=None)
    wide = shared(40, step)
    for cache in (None, "memory"):
        with pytest.raises(schemagen.LimitError, match="more than 50 MB when it is written out") as caught:
            schemagen.compile(wide, byte_vocabulary, cache=cache)
        assert "$defs" in caught.value.fix
    with pytest.raises(schemagen.LimitError, match="more than 50 MB"):
        schemagen.compile({"$ref": "urn:x"}, byte_vocabulary, resources={"urn:x": wide})
    with pytest.raises(schemagen.LimitError, match="more than 50 MB"):
        schemagen.to_regex(wide)


def test_a_tool_with_shared_parts_is_refused() -> None:
    """Before its schema is written into a prompt."""
    tool = {"name": "send", "parameters": shared(40, STEPS["objects"])}
    with pytest.raises(schemagen.LimitError, match="more than 50 MB"):
        schemagen.Tool.from_dict(tool)


CYCLE: dict[str, Any] = {"type": "array"}
CYCLE["items"] = CYCLE


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({}, 8),
        ({"type": "integer"}, 8 + 12 + 15),
        ({"enum": [1, None, "a", 2.5]}, 8 + 12 + 8 + 8 + 8 + 9 + 8),
        (shared(3, STEPS["alternatives"]), 7 * (8 + 13 + 8) + 8 * (8 + 12 + 15)),
        ([[]] * 3, 8 + 3 * 8),
        (shared(40, lambda part: [part, part]), 2**40 * (8 + 12 + 15) + (2**40 - 1) * 8),
    ],
)
def test_the_size_of_a_schema(value, size) -> None:
    """Shared parts count wherever they stand."""
    assert _is_larger()(value, min(size, 10**6) - 1)
    assert size > 10**6 or not _is_larger()(value, size)


def test_what_contains_itself_has_no_size() -> None:
    """It is no schema that is too large; the front end says what is wrong, if anything is."""
    assert not _is_larger()(CYCLE, 10**6)


def test_a_grammar_is_a_constraint(byte_vocabulary):
    """So is the grammar of several parts that tools and thoughts are made of (`tests/calling`)."""
    grammar = schemagen.compile(bool, byte_vocabulary)
    assert isinstance(grammar, Constraint)
    assert (grammar.thought_tokens, grammar.min_new_tokens, grammar.least_new_tokens) == (0, 4, 4)


def test_without_a_vocabulary_the_error_says_what_to_give():
    """It is no TypeError of Python."""
    with pytest.raises(schemagen.VocabularyError, match="None instead of a Vocabulary") as caught:
        schemagen.compile(int)
    assert "lm.vocabulary" in caught.value.fix


@pytest.mark.parametrize(
    "envelope",
    [
        lambda schema: {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}},
        lambda schema: {"type": "json_schema", "name": "x", "schema": schema},
    ],
)
def test_the_schema_of_a_response_format_is_taken(envelope):
    """Those of the two APIs of OpenAI; no type of JSON Schema is called so."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    vocabulary = schemagen.Vocabulary.byte_vocabulary()
    grammar = schemagen.compile(envelope(schema), vocabulary)
    assert grammar.spec == schema
    assert grammar.report.is_exact
    with pytest.raises(schemagen.InvalidSchemaError):
        schemagen.compile({"type": "json_schema"}, vocabulary)


@pytest.mark.parametrize("engine", ["auto", "native", "reference"])
def test_an_engine_is_deprecated(byte_vocabulary, engine) -> None:
    """The warning names the reference, and the core compiles as ever; the caller's line is the one that is told."""
    with pytest.warns(DeprecationWarning, match=r"schemagen\.reference\.compile") as caught:
        grammar = schemagen.compile(int, byte_vocabulary, engine=engine)
    assert caught[0].filename == __file__
    assert grammar is schemagen.compile(int, byte_vocabulary)


def test_a_pickled_value_set_has_no_hash_of_this_process():
    """Hashes of texts differ between processes; an equal value found in a dictionary there has to be found here."""
    value = ir.Const("abc")
    assert hash(value) == hash(ir.Const("abc"))
    written = pickle.dumps(value)
    assert b"_hash" not in written
    assert pickle.loads(written) == value  # noqa: S301 - our own

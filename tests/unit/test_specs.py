"""What may stand for a spec, and what is said of what may not."""

from __future__ import annotations

import json
import re
from enum import Enum, IntEnum
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

import schemagen
from schemagen.checks import kind_of
from schemagen.errors import (
    InvalidSchemaError,
    OptionError,
    UnsupportedPatternError,
    UnsupportedTypeError,
    ValidationFailed,
    VocabularyError,
)
from tests.grammars import compiled_by


class Mood(Enum):
    GOOD = "good"
    BAD = "bad"


class Person(BaseModel):
    name: str


def accepts(grammar, text):
    """Whether a text is one of the grammar."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


# --- texts to choose from ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "fix"), [((), 'Choice("yes", "no")'), ((None,), "Literal[None]")])
def test_a_choice_of_nothing_is_refused_at_once(options, fix):
    """There are no options, or None among them."""
    with pytest.raises(OptionError) as caught:
        schemagen.Choice(*options)
    assert fix in caught.value.fix


@pytest.mark.parametrize("spec", [["good", "bad"], ("good", "bad"), schemagen.Choice("good", "bad")])
def test_a_list_of_texts_is_a_choice(spec, byte_vocabulary):
    """A list, a tuple and the arguments of a Choice mean the same."""
    grammar = schemagen.compile(spec, byte_vocabulary)
    assert grammar.spec == schemagen.Choice(["good", "bad"])
    assert [accepts(grammar, text) for text in ("good", "bad", "ugly", '"good"')] == [True, True, False, False]
    assert grammar.validate("bad") == "bad"
    assert schemagen.to_regex(spec) == schemagen.to_regex(schemagen.Choice(["good", "bad"]))


def test_a_choice_of_an_enum_gives_its_members(byte_vocabulary):
    """The text is the value without quotes; the result is the member."""
    grammar = schemagen.compile(schemagen.Choice(Mood), byte_vocabulary)
    assert accepts(grammar, "good")
    assert not accepts(grammar, "GOOD")
    assert grammar.validate("good") is Mood.GOOD
    assert schemagen.compile(Mood, byte_vocabulary).validate('"bad"') is Mood.BAD
    # It is another thing than the choice of its texts, also for the cache.
    assert schemagen.compile(["good", "bad"], byte_vocabulary).validate("good") == "good"
    with pytest.raises(ValidationFailed, match="none of the options"):
        grammar.validate("ugly")


def test_a_single_text_is_a_choice_of_one(byte_vocabulary):
    """So that `Choice(*texts)` works for any number of them."""
    assert accepts(schemagen.compile(schemagen.Choice("yes"), byte_vocabulary), "yes")


def test_options_that_are_no_texts_are_refused():
    """The error names the type that says it."""
    with pytest.raises(OptionError) as caught:
        schemagen.Choice([1, 2])
    assert "Literal[1, 2]" in caught.value.fix
    with pytest.raises(OptionError) as caught:
        schemagen.Choice(IntEnum("Level", {"LOW": 1}))
    assert "lm(prompt, Level)" in caught.value.fix
    with pytest.raises(OptionError, match="is 3"):
        schemagen.Choice(3)


# --- compiled patterns and adapters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "text", "other"),
    [
        (0, "a1", "A1"),
        (re.IGNORECASE, "A1", "b1"),
        (re.ASCII, "a1", "a٣"),
        (re.VERBOSE | re.IGNORECASE, "A1", "a 1"),
        (re.DOTALL | re.MULTILINE, "a1", "a"),
    ],
)
def test_a_compiled_pattern_keeps_its_flags(flags, text, other, byte_vocabulary):
    """It means what `fullmatch` of it says."""
    pattern = re.compile(r"a \d" if flags & re.VERBOSE else r"a\d", flags)
    grammar = schemagen.compile(pattern, byte_vocabulary)
    assert [accepts(grammar, each) for each in (text, other)] == [True, False]
    assert [bool(pattern.fullmatch(each)) for each in (text, other)] == [True, False]
    assert grammar.validate(text) == text


def test_a_pattern_over_bytes_is_refused(byte_vocabulary):
    """Texts are characters."""
    with pytest.raises(UnsupportedPatternError, match="over bytes"):
        schemagen.compile(re.compile(b"a"), byte_vocabulary)


def test_the_pattern_of_a_regex_is_text():
    """A compiled one is a spec as it is."""
    with pytest.raises(OptionError, match="is a Pattern"):
        schemagen.Regex(re.compile("a"))


def test_an_adapter_is_its_type(byte_vocabulary):
    """A configuration of the adapter's own would be lost, so it is refused."""
    grammar = schemagen.compile(TypeAdapter(list[int]), byte_vocabulary)
    assert grammar.spec == list[int]
    assert grammar.validate("[1, 2]") == [1, 2]
    with pytest.raises(UnsupportedTypeError, match="configuration of its own"):
        schemagen.compile(TypeAdapter(list[int], config=ConfigDict(strict=True)), byte_vocabulary)


# --- what is no spec ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "fix"),
    [
        (json.dumps({"type": "integer"}), "json.loads"),
        ("Ada Lovelace, 36", "the prompt comes first"),
        ([1, 2], "Literal[1, 2]"),
        ([int, str], "int | str"),
        ([{"role": "user", "content": "hi"}], "the prompt comes first"),
        ([{"type": "integer"}], "lm.batch"),
        ({"a", "b"}, "list of texts"),
        (Person(name="Ada"), "Person"),
        (3, "a type"),
        (lambda text: len(text) > 3, "a spec says what the value is, not how to check it"),
        (accepts, "lm.call(prompt, [accepts])"),
        (json, "a class of this module"),
        (schemagen.Vocabulary.byte_vocabulary(), "schemagen.compile(Person, vocabulary)"),
    ],
)
def test_what_is_no_spec_is_told_with_the_way_out(spec, fix, byte_vocabulary):
    """Every place that takes a spec says the same."""
    for use in (lambda: schemagen.compile(spec, byte_vocabulary), lambda: schemagen.to_regex(spec)):
        with pytest.raises(InvalidSchemaError) as caught:
            use()
        assert fix in caught.value.fix


def test_a_grammar_is_no_spec_to_compile(byte_vocabulary):
    """It is compiled already."""
    with pytest.raises(InvalidSchemaError) as caught:
        schemagen.compile(schemagen.compile(int, byte_vocabulary), byte_vocabulary)
    assert "compiled grammar" in caught.value.fix


class HasVocabulary:
    """Something like a language model."""

    vocabulary = None


class HasTokens:
    """Something like a tokenizer."""

    def get_vocab(self):
        """Return its tokens."""
        return {}


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (HasVocabulary(), "schemagen.compile(spec, lm.vocabulary)"),
        (HasTokens(), "from_tokenizer(tokenizer"),
        (Person, "the spec comes first"),
        ({"type": "integer"}, "the spec comes first"),
        (None, "lm.vocabulary"),
    ],
)
def test_what_is_no_vocabulary_is_told_with_the_way_out(given, fix):
    """A model has one, a tokenizer is read, and arguments may be swapped."""
    with pytest.raises(VocabularyError, match="instead of a Vocabulary") as caught:
        schemagen.compile(int, given)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"limits": {"max_states": 3}}, "schemagen.Limits(max_states=3)"),
        ({"limits": 3}, "schemagen.Limits(max_states=...)"),
        ({"strict": "no"}, "True or False"),
        ({"strict": None}, "True or False"),
        ({"resources": 3}, "a dict from URIs"),
    ],
)
def test_arguments_of_compile_have_their_types(options, fix, byte_vocabulary):
    """A text as `strict` would be taken for True."""
    with pytest.raises(OptionError, match=f"{next(iter(options))}=") as caught:
        schemagen.compile(int, byte_vocabulary, **options)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("schema", "at"),
    [
        ({1: 2}, ""),
        ({None: {}}, ""),
        ({"type": "object", 1: 2}, ""),
        ({"properties": {"a": {1: 2}}}, "/properties/a"),
        ({"type": "object", "properties": {"a": {"type": "integer", 1: 2}}}, "/properties/a"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"items": {True: 1}}}}, "/$defs/a/items"),
    ],
)
def test_keywords_are_texts(schema, at, byte_vocabulary):
    """Keys of JSON are; a report of other ones could not be written."""
    with pytest.raises(InvalidSchemaError, match="a keyword is") as caught:
        schemagen.compile(schema, byte_vocabulary, cache=None)
    assert caught.value.at == at
    assert "for a text" in caught.value.fix


# --- refusals of finished texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [Person, {"type": "object"}])
def test_half_a_text_is_a_refusal_of_the_family(spec, byte_vocabulary):
    """`validate` raises ValidationFailed for a type and for a schema, with the exception below as its cause."""
    with pytest.raises(ValidationFailed, match="is no JSON") as caught:
        schemagen.compile(spec, byte_vocabulary).validate('{"name": "A')
    assert caught.value.error is caught.value.__cause__ is not None
    assert "max_new_tokens" in caught.value.fix


# --- arguments of compile and matchers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("cache", ["memry", "", "./made", Path("there"), b"memory", 3, True, ["memory"]])
def test_grammars_are_kept_in_memory_alone(cache, byte_vocabulary, tmp_path, monkeypatch):
    """A mistyped "memory" is refused, and so is a folder, which only vocabularies are kept in."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionError, match="cache=") as caught:
        schemagen.compile(int, byte_vocabulary, cache=cache)
    assert "'memory'" in caught.value.fix
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_arguments_of_a_matcher(engine, byte_vocabulary):
    """No vocabulary has an id of thirty digits; a str is told to be encoded; the repr is short."""
    matcher = compiled_by(engine, int, byte_vocabulary).matcher()
    assert not matcher.accept_token(10**30)
    assert not matcher.accept_token(-(10**30))
    with pytest.raises(OptionError) as caught:
        matcher.accept_bytes("1")
    assert "encode" in caught.value.fix
    assert "0x" not in repr(matcher)
    with pytest.raises(OptionError, match="budget=-1"):
        matcher.fill_next_token_bitmask(schemagen.allocate_token_bitmask(1, byte_vocabulary.size), budget=-1)


def test_the_repr_of_a_report_counts(byte_vocabulary):
    """`print` has the lines."""
    report = schemagen.compile(Person, byte_vocabulary).report
    assert re.fullmatch(r"Report\(\d+ enforced, \d+ annotation\)", repr(report))


# --- dicts that are hardly schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "at", "fact", "fix"),
    [
        (
            {"name": str, "age": int},
            "/name",
            "'name' is the type str",
            "create_model('Answer', name=(str, ...), age=(int, ...))",
        ),
        ({"tags": list[str]}, "/tags", "'tags' is list[str]", "TypedDict"),
        ({"size": int | None}, "/size", "'size' is int | None", "create_model"),
        ({"type": str}, "/type", "'type' is the type str", "'type': 'string'"),
        ({"type": "object", "properties": {"a": int}}, "/properties/a", "'a' is the type int", "{'type': 'integer'}"),
        (
            {"type": "string", "x-deep": [{"a/b": len}]},
            "/x-deep/0/a~1b",
            "'a/b' is <built-in function len>",
            "JSON Schema",
        ),
        ({"age": Field(gt=3)}, "/age", "'age' is FieldInfo", "create_model"),
    ],
)
def test_python_types_are_no_values_of_a_schema(byte_vocabulary, schema, at, fact, fix) -> None:
    """JSON Schema ignores keywords that it does not know: without an error, anything would be allowed."""
    for use in (lambda: schemagen.compile(schema, byte_vocabulary), lambda: schemagen.to_regex(schema)):
        with pytest.raises(InvalidSchemaError) as caught:
            use()
        assert caught.value.at == at
        assert fact in caught.value.fact
        assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"name": "string", "age": 3}, "its names are 'name', 'age'. A schema of an object with members is"),
        ({"typ": "string"}, "Did you mean 'type'?"),
        ({"name": "p", "schema": {"type": "null"}}, "Give the part below 'schema', if that is the schema."),
    ],
)
def test_a_schema_without_any_keyword_is_told(byte_vocabulary, schema, told) -> None:
    """It is a valid one, and allows any value."""
    with pytest.warns(UserWarning, match="has no keyword of JSON Schema and allows any value") as caught:
        schemagen.compile(schema, byte_vocabulary, cache=None)
    assert told in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    "schema", [{}, {"description": "anything"}, {"x-own": 1}, {"$comment": "c", "foo": 1}, {"then": {}}]
)
def test_known_keywords_are_no_reason_to_warn(byte_vocabulary, schema) -> None:
    """Whoever writes one knows what a schema is."""
    schemagen.compile(schema, byte_vocabulary, cache=None)


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("strings", "write 'string' for \"strings\""),
        (["null", "Int"], "write 'integer' for \"Int\""),
        ("Boolean", "write 'boolean' for \"Boolean\""),
        ("qqq", "the types are array, boolean, integer, null, number, object, string"),
        (5, "the types are array"),
        ([], "the types are array"),
        ([["null"]], "the types are array"),
    ],
)
def test_a_misspelt_type_is_told(byte_vocabulary, name, fix) -> None:
    """With the nearest of the seven, or all of them."""
    with pytest.raises(InvalidSchemaError, match="expected a JSON type") as caught:
        schemagen.compile({"type": name}, byte_vocabulary, cache=None)
    assert caught.value.fix.startswith(fix)


@pytest.mark.parametrize("spec", [3, 2.5, b"x", object()])
def test_a_wrong_spec_is_told_what_it_is_and_what_to_give(spec) -> None:
    """The reason is not the advice over again."""
    with pytest.raises(InvalidSchemaError, match="is neither a type nor a schema") as caught:
        schemagen.compile(spec, schemagen.Vocabulary.byte_vocabulary())
    assert caught.value.why == f"it is {kind_of(spec)}"
    assert caught.value.fix.startswith("give ")
    assert caught.value.why not in caught.value.fix

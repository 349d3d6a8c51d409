"""Values of the zoo in every format: what is generated reads back and validates, and what others write is in the language."""

import json
import typing as t
import xml.etree.ElementTree as ET
from functools import lru_cache

import pytest
import yaml
from pydantic import TypeAdapter
from ruamel.yaml import YAML

import schemagen
from schemagen.errors import UnsupportedTypeError
from schemagen.testing import random_text
from tests.zoo import extra, fields, standard

pytestmark = pytest.mark.sampled(4)

PAGES = {"standard": standard.ENTRIES, "extra": extra.ENTRIES, "fields": fields.ENTRIES}
ZOO = {f"{page}: {name}": entry for page, entries in PAGES.items() for name, entry in entries.items()}
BYTES = schemagen.Vocabulary.byte_vocabulary()
FORMATS = ("python", "yaml", "xml")
FEW, MANY = 1, 200
MOST_TOKENS = 80
LONG = schemagen.Limits(max_seconds=600)  # a machine may be slow

#: What a format does not say, besides objects with undeclared keys.
REFUSED = {
    "python": {
        "standard: set of ints, at least two": "different items",
        "fields: aliases": "the argument",
        "fields: extra allowed": "undeclared keys",
        "fields: generic of generic": "two classes",
    },
    "yaml": {"standard: set of ints, at least two": "different items"},
    "xml": {
        "standard: set of ints, at least two": "different items",
        "standard: typed dict, not total": "an empty list in a member",
        "standard: union": "a string or a number",
        "standard: union left to right": "a string or a number",
        "standard: hashable": "a string or a number",
        "standard: union with pipe": "a list or something else",
        "standard: optional list": "a list or something else",
        "fields: generic, unbound": "a list or something else",
        "fields: callable discriminator": "a list or something else",
        "fields: lengths of a union": "a list or something else",
        "fields: aliases": "the member",
        "fields: a bit of everything": "the member",
        "standard: dict with int enum keys": "the member",
        "fields: annotated optional": "null or an empty string",
    },
}
#: Of these, YAML and XML refuse each: keys must not repeat, and no rule remembers them.
OPEN = {
    "standard": [
        "list", "tuple", "named tuple untyped", "dict", "dict of float", "dict with int keys",
        "dict with date keys",
        "dict with UUID keys", "dict with pattern keys", "dict bounded", "dict of lists", "mapping", "ordered dict",
        "default dict", "counter", "typed dict, open", "typed dict, nested", "union nested", "any", "object", "type variable",
        "recursive alias",
    ],
    "extra": ["JsonValue"],
    "fields": [
        "extra allowed", "nested models", "generic, unbound", "root model of dict", "dict of models",
    ],
}  # fmt: skip


@lru_cache(maxsize=1024)
def compiled(name: str, as_: t.Any) -> schemagen.Grammar | UnsupportedTypeError:
    """The grammar of a type in a format, or why there is none."""
    try:
        return schemagen.compile(ZOO[name].type, BYTES, as_=as_, cache=None, limits=LONG)
    except UnsupportedTypeError as error:
        return error


def grammar_of(name: str, as_: str) -> schemagen.Grammar:
    """The grammar of a type in a format; the test is skipped if the format does not say the type."""
    found = compiled(name, as_)
    if isinstance(found, UnsupportedTypeError):
        pytest.skip(f"{as_} refuses it, as `test_what_is_refused` knows")
    return found


@pytest.mark.parametrize("as_", FORMATS)
def test_what_is_refused(as_):
    """A format says every type of the zoo but for a few, each for a reason that is known."""
    expected = dict(REFUSED[as_])
    if as_ != "python":
        expected |= {f"{page}: {name}": "undeclared keys" for page, names in OPEN.items() for name in names} | {
            name: why for name, why in REFUSED[as_].items() if why == "a list or something else"
        }
    found = {name: error for name in ZOO if isinstance(error := compiled(name, as_), UnsupportedTypeError)}
    assert found.keys() == expected.keys()
    for name, error in found.items():
        assert expected[name] in error.fact
        assert error.why
        assert error.fix


# --- what is generated --------------------------------------------------------------------------------------------------


def check_python(name: str, text: str, value: t.Any) -> None:
    """Python itself makes the same of a text, where its classes validate."""
    named = vars(fields) | {"Box": fields.Box[bool]}
    if name not in EVALUATED:
        return
    made = eval(text, {"__builtins__": {"set": set}}, named)  # noqa: S307 - a text of our own grammar
    assert TypeAdapter(ZOO[name].type).validate_python(made) == value, text


def check_yaml(name: str, text: str, data: t.Any) -> None:
    """YAML 1.1 and YAML 1.2 read the same."""
    assert yaml.safe_load(text) == data, (name, text)
    assert YAML(typ="safe", pure=True).load(text) == data, (name, text)


def check_xml(element: ET.Element, data: t.Any) -> None:
    """The elements say what JSON says, as far as XML can: numbers by their text."""
    if isinstance(data, dict):
        assert {child.tag for child in element} <= set(data)
        for key, value in data.items():
            children = element.findall(key)
            many = isinstance(value, list)
            assert len(children) == (len(value) if many else value is not None)
            for child, part in zip(children, value if many else [value] * len(children), strict=True):
                check_xml(child, part)
    elif isinstance(data, list):
        for child, part in zip(element, data, strict=True):
            check_xml(child, part)
    else:
        shown = (
            {None: "", True: "true", False: "false"}.get(data) if data is None or isinstance(data, bool) else str(data)
        )
        assert (element.text or "") == shown


#: Types whose classes validate by themselves, or are checked by the adapter; strict ones read strings in JSON only.
EVALUATED = {
    "fields: model", "fields: model of constraints", "fields: model of defaults", "fields: alias generator",
    "fields: extra forbidden", "fields: empty model", "fields: private attributes", "fields: inheritance",
    "fields: nested models", "fields: recursive", "fields: mutually recursive", "fields: generic",
    "fields: list of models", "fields: dict of models", "fields: tuple of models", "fields: optional model",
    "fields: union of models", "fields: discriminated union", "fields: list of discriminated union",
    "fields: dataclass", "fields: pydantic dataclass", "fields: many optional fields",
    "fields: enum values", "standard: named tuple", "standard: tuple of three", "standard: list of lists",
    "standard: set", "standard: frozenset", "standard: typed dict", "standard: typed dict, nested", "standard: tuple variadic",
}  # fmt: skip


def check_generations(name: str, as_: str, count: int) -> None:
    """Random texts of the mask are read, validate, and mean what other readers read."""
    grammar = grammar_of(name, as_)
    for seed in range(count):
        text = random_text(grammar, seed=seed, max_tokens=MOST_TOKENS)
        value = grammar.validate(text)
        data = json.loads(
            grammar.spec.json_of(text),
            parse_float=str if as_ == "xml" else float,
            parse_int=str if as_ == "xml" else int,
        )
        if as_ == "python":
            check_python(name, text, value)
        elif as_ == "yaml":
            check_yaml(name, text, data)
        else:
            check_xml(ET.fromstring(text), data)  # noqa: S314 - a text of our own grammar


@pytest.mark.parametrize("as_", FORMATS)
@pytest.mark.parametrize("name", ZOO)
def test_generated_texts_are_read(name, as_):
    """What the mask lets through is an instance, and other readers agree."""
    check_generations(name, as_, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("as_", FORMATS)
@pytest.mark.parametrize("name", ZOO)
def test_many_generated_texts_are_read(name, as_):
    """The same, 200 times."""
    check_generations(name, as_, MANY)

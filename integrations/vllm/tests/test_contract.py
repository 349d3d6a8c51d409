"""Our classes have vLLM's methods with vLLM's parameters, in every supported version; other versions are refused."""

import re
from types import SimpleNamespace

import pytest

from schemagen.errors import SchemagenError
from schemagen_vllm import guard
from schemagen_vllm.cursor import RequestGrammar
from schemagen_vllm.requests import specs_of

VERSIONS = list(guard.contracts())
TYPES = "vllm.v1.structured_output.backend_types"


def test_the_supported_versions_are_listed():
    """The list is a decision: a version is added with its contract, never by accident."""
    assert VERSIONS == ["0.29.0", "0.30.0", "0.31.0", "0.32.0", "0.33.0"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cursor_has_every_verb_of_a_grammar(version):
    """Each abstract method of vLLM's grammar is there, with the same parameters under the same names."""
    verbs = guard.contracts()[version][TYPES]["StructuredOutputGrammar"]
    assert verbs
    assert {name: guard.parameters_of(getattr(RequestGrammar, name)) for name in verbs} == verbs


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_request_is_known(version):
    """Each member of vLLM's enumeration of kinds has a spec; another one is an error with its name."""
    texts = {
        "JSON": '{"type": "integer"}',
        "JSON_OBJECT": "",
        "REGEX": "a+",
        "GRAMMAR": 'root ::= "a"',
        "CHOICE": '["a", "b"]',
        "STRUCTURAL_TAG": '{"type": "structural_tag", "format": {"type": "const_string", "value": "a"}}',
    }
    assert set(guard.contracts()[version][TYPES]["StructuredOutputOptions"]["fields"]) == set(texts)
    assert all(specs_of(kind, text) for kind, text in texts.items())
    with pytest.raises(SchemagenError, match="of the kind EMOJI"):
        specs_of("EMOJI", "")


@pytest.mark.parametrize("version", ["0.34.0", "0.28.0", "0.33.1", "dev", "0.33.0rc1"])
def test_an_unknown_version_is_refused(version):
    """The error names the version and those that are known."""
    with pytest.raises(SchemagenError, match=re.escape(f"vLLM {version} is not supported")) as caught:
        guard.check(version)
    assert "0.33.0" in caught.value.why
    assert "SCHEMAGEN_VLLM_SLOT" in caught.value.fix


class Released:
    """Stands for a class of vLLM as it was released."""

    first: int
    second: int

    def verb(self, one, two=None): ...

    @property
    def state(self): ...


CONTRACT = {"Released": {"verb": ["self", "one", "two="], "state": "property", "fields": ["first", "second"]}}


@pytest.mark.parametrize(
    ("member", "value", "words"),
    [
        (None, None, ""),
        ("verb", ["self", "one"], "Released.verb is ['self', 'one', 'two='], not ['self', 'one']"),
        ("state", ["self"], "Released.state is property"),
        ("missing", "property", "Released.missing is None"),
        ("fields", ["first"], "Released.fields is ['first', 'second']"),
    ],
)
def test_a_vllm_that_is_not_what_its_version_says_is_refused(monkeypatch, member, value, words):
    """A changed signature, property or field is named, also where the version is a known one."""
    members = dict(CONTRACT["Released"])
    if member is not None:
        members[member] = value
    monkeypatch.setattr(guard, "import_module", lambda name: SimpleNamespace(Released=Released))
    monkeypatch.setattr(guard, "contracts", lambda: {"9.9.9": {"vllm.module": {"Released": members}}})
    if member is None:
        guard.check("9.9.9")
        guard.check("9.9.9+cpu")
        return
    with pytest.raises(SchemagenError, match=re.escape(words)):
        guard.check("9.9.9")

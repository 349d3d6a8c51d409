"""The table of keywords says what the specification says."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import pytest
from jsonschema_specifications import REGISTRY

from schemagen.schema.document import DIALECTS
from schemagen.schema.keyword_table import READERS, ROWS, SELF_CONTAINED, TABLE, Holds

WITHOUT_VOCABULARIES = 7


def properties_of(draft: int) -> dict[str, Any]:
    """Return what the metaschemas of a draft say of each keyword."""
    root = REGISTRY.contents(DIALECTS[draft].rstrip("#") if draft > WITHOUT_VOCABULARIES else DIALECTS[draft])
    parts = [part["$ref"] for part in root.get("allOf", ())] if draft > WITHOUT_VOCABULARIES else []
    base = root.get("$id", "").rpartition("/")[0]
    found = dict(root.get("properties", {}))
    for part in parts:
        found |= REGISTRY.contents(f"{base}/{part}")["properties"]
    return found


KNOWN = {draft: properties_of(draft) for draft in DIALECTS}


def holds(said: Any) -> Holds:
    """Return which schemas are in a value of which a metaschema says this."""
    if not isinstance(said, dict):
        return Holds.VALUE
    found = Holds.VALUE
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        target = said.get(name, "")
        if target in {"#", "#meta"}:
            found |= Holds.SCHEMA
        elif target.endswith("schemaArray"):
            found |= Holds.SCHEMA_LIST
    for part in said.get("anyOf", ()):
        found |= holds(part)
    if said.get("type") == "object" and Holds.SCHEMA in holds(said.get("additionalProperties")):
        found |= Holds.SCHEMA_MAP
    return found


def test_names_are_said_once() -> None:
    """Each has one row, and companions stand behind a keyword that is read."""
    assert len(TABLE) == len(ROWS)
    assert {row.companion_of for row in ROWS if row.companion_of} <= READERS.keys()


def test_every_keyword_of_the_specification_has_a_row() -> None:
    """Nothing of a metaschema is taken for a word that nobody knows."""
    for draft, known in KNOWN.items():
        assert known.keys() <= TABLE.keys(), draft


@pytest.mark.parametrize("name", READERS)
def test_a_keyword_has_the_first_draft_that_names_it(name: str) -> None:
    """What a draft does not have is not read there."""
    missing = list(takewhile(lambda draft: name not in KNOWN[draft] and name != "$ref", sorted(DIALECTS)))
    drafts = sorted(DIALECTS)
    assert TABLE[name].since == drafts[len(missing)]


@pytest.mark.parametrize("name", [row.name for row in ROWS if not row.is_annotation or row.holds == Holds.SCHEMA_MAP])
def test_a_keyword_holds_what_the_metaschemas_say(name: str) -> None:
    """Schemas are looked for where they are, in all drafts together."""
    found = Holds.VALUE
    for known in KNOWN.values():
        found |= holds(known.get(name))
    if name == "propertyNames" or TABLE[name].holds == Holds.DATA:
        assert found in {Holds.VALUE, Holds.SCHEMA}
    else:
        assert TABLE[name].holds == found


@pytest.mark.parametrize("name", READERS)
def test_a_function_says_which_keyword_it_reads(name: str) -> None:
    """The rows and the functions are not mixed up."""
    assert f"`{name}`" in (READERS[name].__doc__ or "")


def test_the_core_reads_keywords_that_there_are() -> None:
    """Its table has no name that Python's has not, and it counts on some that look at nothing but their own value."""
    core = pytest.importorskip("schemagen._core", reason="the core is not built")
    names = core.KeywordTable.names()
    assert len(set(names)) == len(names)
    assert set(names) <= {row.name for row in ROWS if not row.is_annotation}
    assert SELF_CONTAINED.intersection(names) == {"type", "enum", "minItems", "maxItems"}

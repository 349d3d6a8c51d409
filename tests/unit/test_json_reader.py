"""The reader of growing JSON: whatever the cut, the events are those of the value."""

from __future__ import annotations

import codecs
import itertools
import json

import pytest
from hypothesis import given, settings, strategies as st

from schemagen.events import Delta, FieldCompleted, FieldStarted, Path
from schemagen.streaming.json_reader import JsonReader
from tests.streams import deltas


def read(text, cuts=()):
    """Return the events of a text that comes in pieces of bytes, and the reader."""
    reader = JsonReader(lambda _, part, parts: json.loads(part) if parts is None else parts)
    characters = codecs.getincrementaldecoder("utf-8")()
    data = text.encode()
    events = []
    bounds = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, end in itertools.pairwise(bounds):
        events += reader.feed(characters.decode(data[start:end]))
    return [*events, *reader.finish()], reader


def walk(value, path=()):
    """Yield every part of a value, in the order in which they are complete."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, part in parts:
        yield from walk(part, (*path, step))
        yield (*path, step), part


def leaves(value):
    """Every value that is no container, with its path; the value itself if it is none."""
    found = [(path, part) for path, part in walk(value) if not isinstance(part, (dict, list))]
    return found if isinstance(value, (dict, list)) else [((), value)]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["😀", 'a"b\\c', "\n\t\b\f\r/", "", "\u2028é", "~/"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, derandomize=True)
@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2]), st.sets(st.integers(1, 300), max_size=40))
def test_events_are_those_of_the_value(value, ascii_only, indent, cuts):
    """For any value, layout, escapes and cuts: fields start before they grow, and complete with their value, in order."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    events, reader = read(text, cuts)
    assert reader.text == text
    assert reader.is_over
    completed = [(event.path, event.value) for event in events if isinstance(event, FieldCompleted)]
    assert completed == list(walk(value))
    started = [event.path for event in events if isinstance(event, FieldStarted)]
    assert sorted(map(tuple, started), key=repr) == sorted((path for path, _ in walk(value)), key=repr)
    expected = {path: part if isinstance(part, str) else json.dumps(part) for path, part in leaves(value)}
    assert deltas(events) == {path: part for path, part in expected.items() if part}
    order = [(type(event).__name__, event.path) for event in events]
    for path in started:
        assert order.index(("FieldStarted", path)) < order.index(("FieldCompleted", path))
    assert all("\ufffd" not in event.text for event in events if isinstance(event, Delta)) or "\ufffd" in text


@pytest.mark.parametrize("text", ['{"k": "a\\ud83d\\ude00b"}', '{"k": "a😀b"}', '{"\\u006b": "a\\uD83D\\uDE00b"}'])
def test_half_characters_wait(text):
    """Byte by byte, an emoji comes whole, raw or as a pair of escapes, and an escaped key is resolved."""
    events, _ = read(text, range(1, 100))
    assert [event.text for event in events if isinstance(event, Delta)] == ["a", "😀", "b"]
    assert {event.path for event in events} == {("k",)}


def test_a_half_that_never_finds_its_other_one_is_kept():
    """A lone surrogate is not dropped."""
    events, _ = read('["\\ud83dx", "\\ude00"]', range(1, 100))
    assert deltas(events) == {(0,): "\ud83dx", (1,): "\ude00"}


def test_fields_start_as_early_as_they_can():
    """A member starts with the end of its key, an item with its first character; empty containers have none."""
    reader = JsonReader(lambda _, part, parts: json.loads(part) if parts is None else parts)
    assert reader.feed('{ "a') == []
    assert reader.feed('"') == [FieldStarted(Path(["a"]))]
    assert reader.feed(" : [ ") == []
    assert reader.feed("[ ]") == [FieldStarted(Path(["a", 0])), FieldCompleted(Path(["a", 0]), [])]
    assert reader.feed(" ,-1") == [FieldStarted(Path(["a", 1]))]
    assert reader.feed("2") == []
    assert reader.feed("\n") == [Delta(Path(["a", 1]), "-12"), FieldCompleted(Path(["a", 1]), -12)]
    assert reader.feed("]") == [FieldCompleted(Path(["a"]), [[], -12])]
    assert not reader.is_over
    assert reader.feed("}") == []
    assert reader.is_over


def test_values_that_stand_alone():
    """A number ends with the text; the value as a whole is no field."""
    assert read("-1.5e3", [2])[0] == [Delta(Path(), "-1.5e3")]
    assert read('"ab"', [2])[0] == [Delta(Path(), "a"), Delta(Path(), "b")]
    assert read("{}")[0] == []


def test_deep_nesting():
    """A thousand levels are no recursion."""
    events, _ = read("[" * 1000 + "]" * 1000, range(0, 2000, 7))
    assert len(events) == 2 * 999


def test_paths_are_json_pointers():
    """A path is a tuple, and its text an RFC 6901 pointer."""
    path = Path(["a/b", 0, "~"])
    assert path == ("a/b", 0, "~")
    assert str(path) == "/a~1b/0/~0"
    assert str(Path()) == ""

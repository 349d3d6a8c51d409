"""`Matcher.explain`: the sentence names what is missing, full or out of bounds, and where."""

import typing as t

import pytest
from pydantic import BaseModel, Field

import schemagen

pytest.importorskip("schemagen._core")

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()


class Item(BaseModel):
    """A line of an order."""

    product: str
    quantity: t.Annotated[int, Field(ge=1, le=5)]
    note: str | None = None


class Order(BaseModel):
    """Two lines and a tag."""

    items: t.Annotated[list[Item], Field(min_length=2, max_length=2)]
    tags: t.Annotated[list[t.Annotated[str, Field(min_length=2, max_length=4)]], Field(max_length=1)] = []


ITEM = '{"product": "lamp"'
LINE = '{"product": "a", "quantity": 1}'
TAGS = f'{{"items": [{LINE}, {LINE}], "tags": ['
HUNDREDS = {"type": "array", "items": {"type": "integer", "minimum": 100, "maximum": 200}}
DIGITS = {"type": "string", "pattern": "^[0-9]{3}$"}
TWO_KEYS = {"type": "object", "minProperties": 2}
SIX_KEYS = {"type": "object", "properties": {key: {} for key in "abcdef"}, "additionalProperties": False}
ALTERNATIVES = {
    "type": "object",
    "anyOf": [
        {"properties": {"a/b": {"const": 1}, "x": {}}, "required": ["a/b", "x"]},
        {"properties": {"a/b": {"const": 2}, "c": {}}, "required": ["a/b", "c"]},
    ],
}
REQUIRED = {"type": "object", "properties": {key: {} for key in "abcde"}, "required": [*"abcde"]}
UMLAUT = {"type": "object", "properties": {"ä": {"type": "integer"}}, "required": ["ä"], "additionalProperties": False}
COLOUR = t.Literal["red", "green"]
NO_ROOM = "the layout of the grammar (whitespace=...) allows no"

#: Specification, what was read, the byte that is refused, why.
CASES: list[tuple[t.Any, str, str, str]] = [
    (Item, "", "[", "an object is expected"),
    (Item, "{", "}", 'the required keys "product" and "quantity" are still missing'),
    (Item, ITEM, "}", 'the required key "quantity" is still missing'),
    (Item, ITEM, "x", "',' is expected in the object"),
    (Item, ITEM, " ", f"{NO_ROOM} ' '"),
    (Item, ITEM + ", ", "}", 'the key "quantity" is expected'),
    (Item, ITEM + ', "', "z", 'the key "quantity" is expected'),
    (Item, ITEM + ', "qua', '"', 'the key "quantity" is expected'),
    (Item, ITEM + ', "quantity"', "}", "':' is expected after the key \"quantity\""),
    (Item, ITEM + ', "quantity": ', '"', "a number is expected at /quantity"),
    (Item, ITEM + ', "quantity": ', "9", "no number that is allowed at /quantity begins with 9"),
    (Item, ITEM + ', "quantity": 3', "4", "no number that is allowed at /quantity begins with 34"),
    (Item, ITEM + ', "quantity": 3', "x", "',' or '}' is expected in the object"),
    (Item, ITEM + ', "quantity": 3, "note": ', "4", "a string or null is expected at /note"),
    (Item, ITEM + ', "quantity": 3, "note": n', "x", "no value that is allowed at /note begins with nx"),
    (Item, ITEM + ', "quantity": 3, "note": null', ",", "the object may have no more keys"),
    (Item, '{"product": "la', "\n", "control characters are written as escapes inside a string"),
    (Order, '{"items": [', '"', "an object is expected at /items/0"),
    (Order, '{"items": [', "]", "the array at /items needs 2 more items"),
    (Order, f'{{"items": [{LINE}', "]", "the array at /items needs 1 more item"),
    (Order, f'{{"items": [{LINE}, {LINE}', ",", "the array at /items may have no more items"),
    (Order, f'{{"items": [{LINE}, {{', "]", 'the key "product" is expected in the object at /items/1'),
    (Order, f'{{"items": [{LINE}, {{', "}", 'the required keys "product" and "quantity" are still missing in the object at /items/1'),
    (Order, TAGS, "4", "a string is expected at /tags/0, or ']'"),
    (Order, TAGS + '"', '"', "the string at /tags/0 needs 2 more characters"),
    (Order, TAGS + '"abcd', "e", "the string at /tags/0 may have no more than 4 characters"),
    (Order, TAGS + '"abcd"', ",", "the array at /tags may have no more items"),
    (HUNDREDS, "[1", "]", "no number that is allowed at /0 ends with 1"),
    (HUNDREDS, "[ 100, 1", ",", "no number that is allowed at /1 ends with 1"),
    (DIGITS, '"1', '"', "the string is not complete: it has a pattern, a format, a length or listed values"),
    (DIGITS, '"1', "a", "no string that is allowed goes on with 'a'"),
    (DIGITS, '"123', "4", "'\"' is expected in the string"),
    (COLOUR, '"', "x", "'g' or 'r' is expected in the string"),
    (COLOUR, '"red"', " ", "the text is complete and can only end"),
    ({"type": "string", "minLength": 60}, '"1', '"', "the string needs 59 more characters"),
    ({"type": "array", "contains": {"const": 3}}, "[1", "]", "the array still lacks an item that it has to contain"),
    ({"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True}, '["a", "', "a", "'b' is expected in the string at /1"),
    (TWO_KEYS, '{"a": 1', "}", "the object needs 1 more key"),
    (TWO_KEYS, '{"a": 1, "a', '"', 'the key "a" is there already or cannot be used'),
    (SIX_KEYS, '{"', "z", "one of 6 keys is expected"),
    (ALTERNATIVES, '{"a/b": ', "3", "no number that is allowed at /a~1b begins with 3"),
    (ALTERNATIVES, '{"a/b": 2', "}", 'the required key "c" is still missing'),
    (REQUIRED, "{", "}", '5 required keys, "a" the first of them, are still missing'),
    (UMLAUT, '{"', "z", 'the key "ä" is expected'),
    (bool, "t", "x", "no value that is allowed begins with tx"),
    (schemagen.Regex("a+b?"), "a", "x", "'a' or 'b' is expected, or the end of the text"),
    (schemagen.Regex("[a-z]+"), "a", "4", "no text that is allowed goes on with '4'"),
    (schemagen.Choice(["a"]), "a", "b", "the text is complete and can only end"),
]  # fmt: skip


def explanation(spec: t.Any, read: bytes, byte: int, **options: t.Any) -> str:
    """Return what is said of a byte after a text, behind the part that is the same for all."""
    matcher = schemagen.compile(spec, VOCABULARY, cache=None, **options).matcher()
    for each in read:
        assert matcher.accept_token(each)
    start, why = matcher.explain(byte).split("bytes, ", 1)
    assert start == f"token {byte} {bytes([byte])!r} is not allowed: after 0 of its 1 "
    return why


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1][-12:]}|{case[2]}")
def test_the_reason_names_what_is_wrong_and_where(case: tuple[t.Any, str, str, str]) -> None:
    """The place is a JSON pointer into the value; at the root none is named."""
    spec, read, byte, why = case
    assert explanation(spec, read.encode(), ord(byte)) == why


def test_the_order_of_keys_matters_to_what_is_missing() -> None:
    """In any order those keys are missing that were not read yet."""
    read = b'{"quantity": 1'
    assert explanation(Item, read, ord("}"), property_order="any") == 'the required key "product" is still missing'


def test_layouts_are_named() -> None:
    """A space too many and one too few are told from a wrong value."""
    assert explanation(list[int], b"[1,", ord("2"), whitespace="spaced").endswith('(whitespace="spaced") wants a space')
    assert explanation(list[int], b"[1,", ord(" "), whitespace="compact") == f"{NO_ROOM} ' '"


def test_a_text_that_ends_within_a_character_is_no_error() -> None:
    """Bytes that are not (yet) UTF-8 are shown as numbers."""
    assert explanation(str, b'"\xc3', ord("x")) == "no string that is allowed goes on with 'x'"
    assert explanation(str, b'"a', 0xFF) == "no string that is allowed goes on with 0xFF"
    assert explanation(TWO_KEYS, b'{"\xc3', ord("x")) == 'no key that is allowed begins with "\\xc3x'


def test_the_place_follows_undo_fork_and_reset() -> None:
    """The text behind a step that was undone, or of a fork, is not taken for that of the matcher."""
    matcher = schemagen.compile(Order, VOCABULARY, cache=None).matcher()
    assert matcher.accept_bytes(b'{"items": [')
    assert matcher.accept_bytes(LINE.encode())
    fork = matcher.fork()
    assert fork.accept_bytes(b", {")
    matcher.rollback(1)
    assert matcher.explain(ord("4")).endswith("an object is expected at /items/0")
    assert fork.explain(ord("4")).endswith('the key "product" is expected in the object at /items/1')
    matcher.reset()
    assert matcher.explain(ord("4")).endswith("bytes, an object is expected")

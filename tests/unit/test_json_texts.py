"""JSON without a schema, of any depth and of a bounded one."""

import itertools
import json
import re
from typing import Any

import pytest

import schemagen
from schemagen import Json, reference
from schemagen.errors import OptionError
from tests.grammars import BYTES, PIECES, check_masks_along, derives


def depth_of(value: Any) -> int:
    """Return how many containers are inside one another."""
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


def values(depth: int) -> list[Any]:
    """Return some values that are no deeper."""
    scalars = [None, True, -1.5, 'a]"}']
    if depth == 0:
        return scalars
    inner = values(depth - 1)[-6:]
    return [*scalars, [], {}, inner, dict(zip("abcdef", inner, strict=False)), *([each] for each in inner)]


@pytest.mark.parametrize("unique_keys", [True, False])
@pytest.mark.parametrize("bound", [0, 1, 2, 3, None])
def test_the_depth_is_that_of_the_value(bound: int | None, unique_keys: bool) -> None:
    """In three layouts."""
    grammar = schemagen.compile(Json(bound, unique_keys=unique_keys), BYTES)
    for value in values(4):
        for layout in ({}, {"separators": (",", ":")}, {"indent": 2}):
            text = json.dumps(value, **layout)
            matcher = grammar.matcher()
            taken = matcher.accept_bytes(text.encode()) and matcher.is_accepting()
            assert taken == (bound is None or depth_of(value) <= bound), text
            if taken:
                assert grammar.validate(text) == value


def test_keys() -> None:
    """Are unique, or the last one counts."""
    text = '{"a": 1, "a": 2}'
    repeated = schemagen.compile(Json(1, unique_keys=False), BYTES)
    assert derives(Json(1, unique_keys=False).as_spec(), text)  # type: ignore[arg-type]
    assert repeated.validate(text) == {"a": 2}
    assert not schemagen.compile(Json(1), BYTES).matcher().accept_bytes(text.encode())


@pytest.mark.parametrize("bound", [1, None])
def test_short_texts(bound: int | None) -> None:
    """All of them over a few characters, against the reader of Python."""
    matcher = schemagen.compile(Json(bound, unique_keys=False), BYTES).matcher
    for text in map("".join, itertools.product('[]{}",:1', repeat=5)):
        try:
            value = json.loads(text)
        except ValueError:
            value = ...
        expected = value is not ... and (bound is None or depth_of(value) <= bound)
        made = matcher()
        assert (made.accept_bytes(text.encode()) and made.is_accepting()) == expected, text


def test_a_depth_is_a_finite_automaton() -> None:
    """Which can be counted, drawn, and written as a pattern; without a depth it is a grammar that calls itself."""
    states = []
    for bound in range(3):
        grammar = reference.engine(Json(bound, unique_keys=False), BYTES)
        states.append(len(grammar.fsm.states))  # type: ignore[attr-defined]
    assert states == [243, 918, 2268]
    pattern = re.compile(schemagen.to_regex(Json(1, unique_keys=False)))
    assert pattern.fullmatch('{"a": [1]}') is None
    assert pattern.fullmatch('{"a": 1, "b": "c"}')
    assert schemagen.compile(Json(None, unique_keys=False), BYTES).report.of_status("fact")


def test_masks_are_exact() -> None:
    """As brute force says."""
    for bound in (2, None):
        check_masks_along(Json(bound, unique_keys=False).as_spec(), '{"a": [1, ""]}')  # type: ignore[arg-type]
    assert PIECES


def test_bounds() -> None:
    """A depth is a number."""
    for wrong in (-1, 1.5, "2", 9):
        with pytest.raises(OptionError):
            Json(wrong, unique_keys=False)  # type: ignore[arg-type]
    with pytest.raises(OptionError):
        Json(unique_keys=1)  # type: ignore[arg-type]

"""Patterns of types against the engine that pydantic checks them with: random patterns, and texts in and near their languages."""

from __future__ import annotations

import random
import re
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import SchemaError

from schemagen.errors import LimitError, PatternError
from schemagen.regex import Language, parse_pattern
from tests.property.pattern_texts import PythonPatterns, RustPatterns, members, neighbours

if TYPE_CHECKING:
    from collections.abc import Callable

#: Rules of Python's `re` that no automaton has, or that this package does not read.
UNREAD = ("possessive", "POSIX class", "look-ahead with this kind", "look-behind that itself")


def accepts(pattern: str, engine: str) -> Callable[[str], bool]:
    """Return what pydantic's validation says of a text; `SchemaError` if it refuses the pattern."""
    if engine == "rust-regex":
        adapter: TypeAdapter[Any] = TypeAdapter(Annotated[str, Field(pattern=pattern)])
        return lambda text: valid(adapter, text)
    config = ConfigDict(regex_engine="python-re")
    model: type[BaseModel] = create_model("Holder", __config__=config, x=(str, Field(pattern=pattern)))
    inner: TypeAdapter[Any] = TypeAdapter(model)
    return lambda text: valid(inner, {"x": text})


def valid(adapter: TypeAdapter[Any], value: Any) -> bool:
    """Return whether validation takes a value."""
    try:
        adapter.validate_python(value)
    except pydantic.ValidationError:
        return False
    return True


def compare(rng: random.Random, engine: str, patterns: int) -> dict[str, int]:
    """Compare as many patterns as asked for; return how many of what there were."""
    draw = (RustPatterns(rng) if engine == "rust-regex" else PythonPatterns(rng)).draw
    dialect: Any = "rust" if engine == "rust-regex" else "python"
    counts = dict.fromkeys(("patterns", "refused by pydantic", "unread", "pairs", "accepted"), 0)
    while counts["patterns"] < patterns:
        pattern = draw()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                judge = accepts(pattern, engine)
        except (SchemaError, re.error):
            counts["refused by pydantic"] += 1
            if engine == "rust-regex":
                with pytest.raises((PatternError, LimitError)):
                    parse_pattern(pattern, dialect, search=True)
            continue
        try:
            language = parse_pattern(pattern, dialect, search=True)
            recogniser = Language(language)
            inside = members(rng, language, 8)
        except (PatternError, LimitError) as error:
            unread(error, pattern, engine)
            counts["unread"] += 1
            continue
        counts["patterns"] += 1
        for text in (*inside, *neighbours(rng, inside, 12)):
            expected = judge(text)
            assert recogniser.matches(text) == expected, (pattern, text, expected)
            counts["pairs"] += 1
            counts["accepted"] += expected
        assert all(map(judge, inside)), pattern
    return counts


def unread(error: PatternError | LimitError, pattern: str, engine: str) -> None:
    """Allow limits, and for `re` a few constructs; what the `regex` crate accepts is read."""
    known = engine == "python-re" and any(word in error.fact for word in UNREAD)
    assert isinstance(error, LimitError) or known, (pattern, error)


@pytest.mark.parametrize("engine", ["rust-regex", "python-re"])
def test_languages_are_those_of_pydantic(engine: str, record_property: Any) -> None:
    """A text is in the language of a random pattern if and only if pydantic accepts it."""
    counts = compare(random.Random(1), engine, 60)
    record_property("counts", counts)
    assert counts["unread"] <= counts["patterns"] // 20
    assert counts["accepted"] > counts["pairs"] // 4


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rust-regex", "python-re"])
@pytest.mark.parametrize("seed", range(2, 6))
def test_languages_are_those_of_pydantic_at_length(engine: str, seed: int, record_property: Any) -> None:
    """The same with very many patterns."""
    record_property("counts", compare(random.Random(seed), engine, 1000))

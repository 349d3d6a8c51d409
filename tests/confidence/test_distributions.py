"""The probability of each option equals the sum over all its texts and tokens, by brute force."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import Annotated, Literal

import pytest
import torch
from pydantic import AfterValidator, BaseModel, Field

import schemagen
from schemagen.confidence.finite import texts_of
from schemagen.confidence.options import options_after, values_at
from schemagen.confidence.walk import ValueText, walk
from schemagen.decode.token_tree import TokenTree
from schemagen.errors import OptionError
from schemagen.streaming.json_spans import canonical
from schemagen.testing import mask_of
from tests.decode.tiny import VOCABULARY as BYTES, llama
from tests.steering.toys import VOCABULARY, model

PROMPT = [1, 2, 3]
END = VOCABULARY.eos_token_ids[0]


def every_path(seed, matcher, before=()):
    """Yield the paths of tokens to the end of a text: tokens, probability by the model, and under the mask."""

    def go_on(tokens, chance, masked, place):
        with torch.inference_mode():
            logits = model(seed)(input_ids=torch.tensor([[*PROMPT, *before, *tokens]])).logits[0, -1].double()
        chances = torch.softmax(logits, dim=-1).tolist()
        allowed = mask_of(place, VOCABULARY)
        total = sum(chances[token] for token in allowed)
        for token in allowed:
            found = [*tokens, token], chance * chances[token], masked * chances[token] / total
            if token == END:
                yield found
            else:
                following = place.fork()
                following.accept_token(token)
                yield from go_on(*found, following)

    yield from go_on([], 1.0, 1.0, matcher)


def scaled(sums):
    """Return values with their shares."""
    return {key: value / sum(sums.values()) for key, value in sums.items()}


def brute_force(seed, grammar):
    """Return the options of a text with their probabilities, by the model and under the mask."""
    raw, masked = {}, {}
    for tokens, chance, each in every_path(seed, grammar.matcher()):
        text = VOCABULARY.decode(tokens[:-1]).decode()
        raw[text] = raw.get(text, 0) + chance
        masked[text] = masked.get(text, 0) + each
    return scaled(raw), scaled(masked), sum(raw.values())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", [("a", "ab", "aba", "b"), ("x", "xy", "y", "ba"), ("ab", "abab", "7", "77")])
def test_texts_that_end_with_eos(seed, options):
    """One option may begin with another; all tokens of each count, and so does the end."""
    grammar = schemagen.compile(schemagen.Choice(options), VOCABULARY)
    found = options_after(model(seed), PROMPT, grammar)
    raw, masked, mass = brute_force(seed, grammar)
    assert math.isclose(sum(found.probabilities), 1)
    assert dict(found.items()) == pytest.approx(raw, abs=1e-6)
    assert dict(zip(found.options, found.masked_probabilities, strict=True)) == pytest.approx(masked, abs=1e-6)
    assert found.mass == pytest.approx(mass, abs=1e-6)
    assert found.error < 1e-6
    assert list(found.probabilities) == sorted(found.probabilities, reverse=True)


class Pair(BaseModel):
    a: Literal["a", "ab", "b"]
    b: Annotated[int, Field(ge=0, le=9)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("start", ['{"a":', '{"a":"a', '{"a":"ab"', '{"a":"ab","b":'])
def test_fields_in_the_middle_of_an_object(seed, start):
    """A value counts up to the byte that ends it, in tokens that reach over both of its ends."""
    grammar = schemagen.compile(Pair, VOCABULARY, whitespace="compact")
    path, key = ("/b", "b") if start.endswith(('"ab"', 'b":')) else ("/a", "a")
    before = tokens_of(start)
    matcher = grammar.matcher()
    for token in before:
        matcher.accept_token(token)
    found = values_at(model(seed), PROMPT, grammar, before, start, path, max_nodes=5000, tolerance=1e-9)
    raw, masked = {}, {}
    seen = set()
    for tokens, _, _ in every_path(seed, matcher, tuple(before)):
        end = next(
            length
            for length in range(len(tokens) + 1)
            if is_complete(start + VOCABULARY.decode([t for t in tokens[:length] if t != END]).decode(), path)
        )
        part = tuple(tokens[:end])
        if part in seen:
            continue
        seen.add(part)
        chance, each = chances_of(seed, matcher, before, part)
        value = json.loads(start + VOCABULARY.decode([t for t in tokens if t != END]).decode())[key]
        raw[value] = raw.get(value, 0) + chance
        masked[value] = masked.get(value, 0) + each
    assert dict(found.items()) == pytest.approx(scaled(raw), abs=1e-6)
    assert dict(zip(found.options, found.masked_probabilities, strict=True)) == pytest.approx(scaled(masked), abs=1e-6)


def is_complete(text, path):
    """Whether the value at a path is complete in the beginning of a text."""
    return ValueText(path).after(text.encode())[1] is not None


def chances_of(seed, matcher, before, tokens):
    """Return the probability of tokens, by the model and under the mask."""
    place, chance, masked = matcher.fork(), 1.0, 1.0
    for length, token in enumerate(tokens):
        with torch.inference_mode():
            logits = model(seed)(input_ids=torch.tensor([[*PROMPT, *before, *tokens[:length]]])).logits[0, -1].double()
        chances = torch.softmax(logits, dim=-1).tolist()
        total = sum(chances[each] for each in mask_of(place, VOCABULARY))
        chance, masked = chance * chances[token], masked * chances[token] / total
        place.accept_token(token)
    return chance, masked


def tokens_of(text):
    """Return tokens that write a text, the longest first."""
    found = []
    while text:
        token = max(
            (t for t in range(END) if text.startswith(VOCABULARY.tokens[t].decode())),
            key=lambda t: len(VOCABULARY.tokens[t]),
        )
        found.append(token)
        text = text[len(VOCABULARY.tokens[token]) :]
    return found


@pytest.mark.parametrize("max_nodes", [1, 2, 4, 8])
def test_a_walk_that_is_cut_states_its_error(max_nodes):
    """The exact probabilities are within the bound."""
    grammar = schemagen.compile(schemagen.Choice(["abab", "abba", "baba", "xyxy", "1277"]), VOCABULARY)
    raw, masked, _ = brute_force(3, grammar)
    cut = options_after(model(3), PROMPT, grammar, max_nodes=max_nodes)
    tree = TokenTree(model(3), PROMPT)
    walked = walk(tree, 0, grammar.matcher(), ValueText(None), VOCABULARY, max_nodes=max_nodes)
    assert walked.nodes <= max_nodes
    assert cut.error > 0
    for option, chance in cut.items():
        assert abs(chance - raw[option]) <= cut.error + 1e-9
    for option, chance in zip(cut.options, cut.masked_probabilities, strict=True):
        assert abs(chance - masked[option]) <= cut.error + 1e-9


def test_options_that_the_model_never_writes_are_there():
    """Each value of the type has a probability, and equal values are one option."""
    found = options_after(model(2), PROMPT, schemagen.compile(Annotated[int, Field(ge=0, le=12)], VOCABULARY))
    assert set(found.options) == set(range(13))
    flags = options_after(model(2), PROMPT, schemagen.compile(bool, VOCABULARY))
    assert set(flags.options) == {True, False}
    assert flags[True] + flags[False] == pytest.approx(1)
    with pytest.raises(OptionError, match="1 is no option"):
        flags[1]


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ({"enum": [1, 2, 3, "x"], "minimum": 2}, {2, 3, "x"}),
        ({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 9, "multipleOf": 4}, {4, 8}),
        ({"type": "integer", "exclusiveMinimum": 0, "minimum": -5, "maximum": 2}, {1, 2}),
        ({"type": ["null", "boolean"]}, {None, True, False}),
        ({"type": "array", "items": False, "enum": [[], [1]]}, [[]]),
        ({"allOf": [{"type": "string"}, {"enum": ["a", "b", 1]}]}, {"a", "b"}),
        (
            {"anyOf": [{"$ref": "#/$defs/flag"}, {"const": "x"}], "$defs": {"flag": {"type": "boolean"}}},
            {True, False, "x"},
        ),
        (Size, {Size.SMALL, Size.LARGE}),
        (schemagen.Choice(Size), {Size.SMALL, Size.LARGE}),
        (Size | None, {Size.SMALL, Size.LARGE, None}),
        (Annotated[Literal["a", "A", "b"], AfterValidator(str.lower)], {"a", "b"}),
    ],
)
def test_options_are_the_values_that_can_be_written(spec, options):
    """The grammar decides which values of an enum or a range there are; values that become equal are one option."""
    found = options_after(llama(1), PROMPT, schemagen.compile(spec, BYTES))
    assert sorted(map(repr, found.options)) == sorted(map(repr, options))
    assert math.isclose(sum(found.probabilities), 1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1.0", "1"),
        ("10E-1", "1"),
        ("0E550", "0"),
        ("1e-400", "0"),
        ("-0.0", "0"),
        ("2.50", "2.5"),
        ('"\\u0061"', '"a"'),
    ],
)
def test_texts_of_equal_values(text, same):
    """They count for one option."""
    assert canonical(text) == canonical(same) == same


def test_all_spellings_of_a_number_are_one_option():
    """JSON Schema allows 1.0 and 10e-1 where it allows 1."""
    found = options_after(llama(1), PROMPT, schemagen.compile({"type": "integer", "minimum": 0, "maximum": 2}, BYTES))
    assert set(found.options) == {0, 1, 2}


def test_a_schema_within_itself_has_unknown_values():
    """It is refused, and does not go on for ever."""
    with pytest.raises(OptionError, match="to classify by"):
        texts_of(schemagen.compile({"anyOf": [{"const": 1}, {"type": "array", "items": {"$ref": "#"}}]}, BYTES))


@pytest.mark.parametrize(
    "spec", [str, int, float, list[bool], Annotated[int, Field(ge=0, le=5000)], schemagen.Regex("a|b")]
)
def test_types_with_many_values_are_refused(spec):
    """The error says which types can be classified."""
    with pytest.raises(OptionError, match="to classify by"):
        options_after(model(0), PROMPT, schemagen.compile(spec, VOCABULARY))

"""The walk equals the sum over all tokenisations, told by texts alone: neither the masks nor the reader of the walk are asked."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Annotated, Literal

import pytest
import torch
from pydantic import BaseModel, Field

import schemagen
from schemagen.confidence.options import options_after
from schemagen.confidence.walk import ValueText, walk
from schemagen.decode.token_tree import TokenTree
from schemagen.errors import LogitsError, OptionError
from tests.decode.test_token_tree import Plain
from tests.decode.tiny import llama, t5

PROMPT = [0, 1, 2]


class World:
    """A random model over random pieces of some texts, each byte among them.

    Args:
        seed: Of both.
        texts: What can be written.
        pieces: How many pieces of several bytes are drawn.
    """

    def __init__(self, seed, texts, pieces=12):
        draw = random.Random(seed)
        found = dict.fromkeys(bytes([byte]) for text in texts for byte in text.encode())
        for _ in range(pieces):
            text = draw.choice(texts).encode()
            start = draw.randrange(len(text))
            found[text[start : start + draw.randint(2, 5)]] = None
        self.texts = [text.encode() for text in texts]
        self.pieces = list(found)
        self.end = len(self.pieces)
        self.vocabulary = schemagen.Vocabulary.from_tokens([*self.pieces, None], eos_token_ids=[self.end])
        self.model = llama(seed, width=self.end + 1, spread=0.9, ends=self.end, pad=self.end)

    def chances(self, tokens):
        """Return the probability of each token after some tokens."""
        with torch.inference_mode():
            logits = self.model(input_ids=torch.tensor([[*PROMPT, *tokens]])).logits[0, -1]
        return torch.softmax(logits.double(), dim=-1).tolist()

    def laws(self, ended, tokens=()):
        """Return the probability of each value by the model and under the mask, after some tokens.

        Args:
            ended: Returns the value of a text, `...` if it is not complete in it; the second argument is whether the text is over.
            tokens: The tokens.
        """
        raw, masked = {}, {}

        def go_on(path, text, chance, each):
            chances = self.chances(path)
            allowed = [t for t, piece in enumerate(self.pieces) if any(w.startswith(text + piece) for w in self.texts)]
            allowed += [self.end] * (text in self.texts)
            total = sum(chances[token] for token in allowed)
            for token in allowed:
                following = text + (b"" if token == self.end else self.pieces[token])
                value = ended(following, token == self.end)
                now = chance * chances[token], each * chances[token] / total
                if value is ...:
                    go_on([*path, token], following, *now)
                else:
                    raw[value], masked[value] = raw.get(value, 0) + now[0], masked.get(value, 0) + now[1]

        go_on(list(tokens), b"".join(self.pieces[token] for token in tokens), 1.0, 1.0)
        return raw, masked

    def tokens_of(self, text, draw):
        """Return random tokens that write a text."""
        found = []
        while text:
            token = draw.choice([t for t, piece in enumerate(self.pieces) if text.startswith(piece)])
            found.append(token)
            text = text[len(self.pieces[token]) :]
        return found


def shares(sums):
    """Return the shares of a sum."""
    return {key: value / sum(sums.values()) for key, value in sums.items()}


def whole_text(text, is_over):
    """A bare text ends with EOS."""
    return text.decode() if is_over else ...


def scalar(text, is_over):
    """A JSON string ends with its quotation mark, other scalars with the text."""
    if text.startswith(b'"'):
        return json.loads(text) if text.replace(b'\\"', b"").count(b'"') > 1 else ...
    return json.loads(text) if is_over else ...


def check(found, raw, masked, tolerance=2e-6):
    """Compare a distribution with both laws."""
    own, under = shares(raw), shares(masked)
    assert math.isclose(sum(found.probabilities), 1)
    assert math.isclose(sum(found.masked_probabilities), 1)
    assert found.error <= tolerance
    for option, chance, each in zip(found.options, found.probabilities, found.masked_probabilities, strict=True):
        assert chance == pytest.approx(own.pop(option, 0.0), abs=1e-6)
        assert each == pytest.approx(under.pop(option, 0.0), abs=1e-6)
    assert not own
    assert found.mass == pytest.approx(sum(raw.values()), rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options", [["north", "north-east", "south"], ["aaa", "aa", "aaaa"], ["é", "ée", "è"], ["yes, it is", "yes, no"]]
)
def test_texts(seed, options):
    """Options that begin with one another, repeat a token, or share half of a character."""
    world = World(seed, options)
    found = options_after(world.model, PROMPT, schemagen.compile(options, world.vocabulary))
    check(found, *world.laws(whole_text))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("spec", "texts"),
    [
        (Literal["north", "north-east", 'a"b'], ['"north"', '"north-east"', '"a\\"b"']),
        (bool | None, ["true", "false", "null"]),
        (Annotated[int, Field(ge=8, le=12)], ["8", "9", "10", "11", "12"]),
        ({"enum": [1, 10, "1"]}, ["1", "1.0", "10", "10.0", '"1"']),
    ],
)
def test_scalars_of_json(seed, spec, texts):
    """Strings, names and numbers, with all spellings of a value."""
    world = World(seed, texts)
    grammar = schemagen.compile(spec, world.vocabulary, whitespace="compact")
    if spec == {"enum": [1, 10, "1"]}:
        assert all(list(map(accepts(grammar), texts)))
    check(options_after(world.model, PROMPT, grammar), *world.laws(scalar))


def accepts(grammar):
    """Return what says whether a text is one of the grammar."""

    def is_one(text):
        matcher = grammar.matcher()
        return matcher.accept_bytes(text.encode()) and matcher.is_accepting()

    return is_one


class Order(BaseModel):
    label: Literal["in", "inn", "on"]
    count: Annotated[int, Field(ge=1, le=11)]


ORDERS = [
    json.dumps({"label": label, "count": count}, separators=(",", ":"))
    for label, count in itertools.product(["in", "inn", "on"], range(1, 12))
]


def field_after(key, text):
    """Return the value of a field once it is complete in the beginning of a text."""
    mark = f'"{key}":'.encode()
    _, _, rest = text.partition(mark)
    if rest.startswith(b'"'):
        return json.loads(rest[: rest.index(b'"', 1) + 1]) if rest.count(b'"') > 1 else ...
    digits = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    return int(digits) if digits and len(rest) > len(digits) else ...


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("key", "before"),
    [("label", '{"label":'), ("label", '{"label":"i'), ("label", '{"label'), ("count", '{"label":"inn","count":1')],
)
def test_fields_of_an_object(seed, key, before):
    """The token before may have begun the value, and tokens may reach over its end; so may the tokens before its start."""
    world = World(seed, ORDERS, pieces=20)
    grammar = schemagen.compile(Order, world.vocabulary, whitespace="compact")
    tokens = world.tokens_of(before.encode(), random.Random(seed))
    matcher = grammar.matcher()
    assert all(matcher.accept_token(token) for token in tokens)
    tree, steps = TokenTree(world.model, PROMPT), matcher.steps
    text, _ = ValueText(f"/{key}").after(before.encode())
    found = walk(tree, tree.node(tokens), matcher, text, world.vocabulary, tolerance=1e-8)
    raw, masked = world.laws(lambda text, _: field_after(key, text), tokens)
    assert {json.loads(value): chance for value, (chance, _) in found.values.items()} == pytest.approx(raw, rel=1e-5)
    assert {json.loads(value): each for value, (_, each) in found.values.items()} == pytest.approx(masked, rel=1e-5)
    assert matcher.steps == steps


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("max_nodes", [1, 2, 3, 5, 9, 200])
def test_a_budget_bounds_the_error(seed, max_nodes):
    """The exact probabilities are as close as a cut walk says, at other temperatures, too."""
    options = ["abcab", "abcba", "bacab", "cc", "cabab"]
    world = World(seed, options)
    found = options_after(world.model, PROMPT, schemagen.compile(options, world.vocabulary), max_nodes=max_nodes)
    raw, masked = map(shares, world.laws(whole_text))
    assert set(found.options) == set(options)
    assert found.error < 1e-5 or max_nodes < 200
    for temperature in (0.5, 1.0, 2.0):
        cut = found.at_temperature(temperature)
        for law, chances in ((raw, cut.probabilities), (masked, cut.masked_probabilities)):
            powers = shares({option: chance ** (1 / temperature) for option, chance in law.items()})
            for option, chance in zip(cut.options, chances, strict=True):
                assert abs(chance - powers[option]) <= cut.error + 1e-9


def test_the_masked_law_needs_few_nodes():
    """Where the text has no choice left, the mask has settled the option, whatever its other tokens."""
    options = ["abcabcabc", "bcabcabca", "cabcabcab"]
    world = World(1, options)
    grammar, tree = schemagen.compile(options, world.vocabulary), TokenTree(world.model, PROMPT)
    found = walk(tree, 0, grammar.matcher(), ValueText(None), world.vocabulary, max_nodes=1)
    assert found.unread_masked == pytest.approx(0, abs=1e-12)
    assert {key: masked for key, (_, masked) in found.values.items()} == pytest.approx(world.laws(whole_text)[1])


def test_a_model_that_reads_whole_texts():
    """A model without a cache gives the same."""
    world = World(3, ["one", "two", "ten"])
    grammar = schemagen.compile(["one", "two", "ten"], world.vocabulary)
    plain, cached = (options_after(model, PROMPT, grammar) for model in (Plain(world.model), world.model))
    assert plain.options == cached.options
    assert plain.probabilities == pytest.approx(cached.probabilities, abs=1e-9)


class Broken(Plain):
    """A model whose logits are not numbers."""

    def __call__(self, input_ids):
        """Read texts."""
        found = super().__call__(input_ids)
        found.logits = found.logits * float("nan")
        return found


def test_broken_logits_and_other_models_are_refused():
    """NaN is no distribution, and an encoder-decoder reads the prompt elsewhere."""
    world = World(3, ["one", "two"])
    grammar = schemagen.compile(["one", "two"], world.vocabulary)
    with pytest.raises(LogitsError, match="logits are NaN"):
        options_after(Broken(world.model), PROMPT, grammar)
    with pytest.raises(OptionError, match="encoder-decoder"):
        options_after(t5(1), PROMPT, grammar)

"""A tiny random model over a few dozen tokens, and types whose validators refuse values at random."""

from __future__ import annotations

import functools
import hashlib
import json
import random
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import AfterValidator, BaseModel, Field, model_validator

import schemagen
from schemagen.decode.row_sampling import RowSampler
from schemagen.decode.speculation import Loop
from schemagen.decode.token_records import Records
from schemagen.options.sampling import Sampling
from schemagen.options.speculation import Speculation
from schemagen.steering.plan import guide_of
from tests.decode.tiny import llama

PIECES = [
    '{"a":', '{"', "{", 'a":', ',"b":"', ',"', ",", '"b":', '"b":"', '"', '"}', "}", '","', "[", "]", ":", "a", "b", "ab", "ba",
    *map(str, range(10)), "12", "77", "true", "false", "x", "y", "xy", '"x', ':"', '":', '":{"a":', "},", '"c":', 'c"', "c",
]  # fmt: skip
VOCABULARY = schemagen.Vocabulary.from_tokens([*PIECES, None], eos_token_ids=[len(PIECES)])


@functools.cache
def model(seed):
    """Return a random model over the pieces, whose choices depend on the text."""
    return llama(seed, width=len(PIECES) + 1, spread=0.7, ends=len(PIECES), pad=len(PIECES))


@dataclass
class Judge:
    """Refuses a share of all values, the same for the same value; remembers what it was asked.

    Attributes:
        share: The share that it refuses.
        salt: Makes another judge.
        asked: The values, in order.
    """

    share: float
    salt: int

    def __post_init__(self):
        """Remember nothing yet."""
        self.asked = []

    def refuses(self, value: Any) -> bool:
        """Whether it refuses a value."""
        digest = hashlib.sha256(f"{self.salt} {json.dumps(value, default=str)}".encode()).digest()
        return digest[0] < 256 * self.share

    def __call__(self, value: Any) -> Any:
        """Return a value, or refuse it."""
        self.asked.append(value)
        if self.refuses(value):
            raise ValueError(f"not {value}")
        return value


def random_type(draw: random.Random):
    """Return a type with validators at some of its fields, and its judges."""
    judges = [Judge(draw.choice([0, 0.3, 0.6]), draw.randrange(10**6)) for _ in range(3)]
    number = Annotated[int, Field(ge=0, le=draw.choice([9, 99])), AfterValidator(judges[0])]
    text = Annotated[str, Field(pattern=f"^[abxy]{{1,{draw.choice([1, 2, 3])}}}$"), AfterValidator(judges[1])]
    kinds = [number, text, Annotated[Literal["a", "b", "ab"], AfterValidator(judges[1])], bool]

    class Value(BaseModel):
        a: draw.choice(kinds)
        b: draw.choice(kinds)

        @model_validator(mode="after")
        def judged(self):
            judges[2](self.model_dump())
            return self

    shape = draw.choice([Value, Value, list, number, text])
    tp = Annotated[list[number], Field(min_length=1, max_length=3)] if shape is list else shape
    return tp, judges


def run(seed, tp, *, sampled, tries, forced=None, notes=False):
    """Write a text of a type with a loop; return the loop, its guide, and its random numbers.

    Args:
        seed: Of the model and of the random numbers.
        tp: The type.
        sampled: Whether tokens are drawn.
        tries: As for `run` of a model.
        forced: The tokens to write in place of the model's own choices.
        notes: Whether the loop notes what the model expects.
    """
    grammar = schemagen.compile(tp, VOCABULARY, whitespace="compact")
    guide = Forced(forced) if forced is not None else guide_of(grammar, tries=tries)
    sampler = RowSampler([seed], Sampling()) if sampled else None
    loop = Loop(
        model(seed % 7), torch.tensor([[1, 2, 3]]), grammar, 60, sampler=sampler, guide=guide, records=Records() if notes else None,
        speculation=Speculation(),
    )  # fmt: skip
    return loop, guide, sampler


class Forced:
    """A guide that has the loop write certain tokens, drawing a number for each of them as for any other."""

    draws = False
    refused = ()

    def __init__(self, tokens):
        self.tokens = list(tokens)
        self.place = 0

    def sampling(self, default):
        """Leave it."""
        return default

    def discounts(self):
        """Forbid all tokens but the next, so that it is drawn."""
        return {token: float("-inf") for token in range(VOCABULARY.size) if token != self.tokens[self.place]}

    def wanted(self):
        """Want nothing: the token is drawn."""
        return

    def take(self, token_id, record):
        """Go on."""
        del record
        assert token_id == self.tokens[self.place]
        self.place += 1

    def exhausted(self):
        """Never happens."""
        raise AssertionError

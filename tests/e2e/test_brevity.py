"""`loop_guard=` and `prefer_length=`: answers that come to an end, the same in every route, and valid as without them."""

from __future__ import annotations

import random
from typing import Annotated, Any

import pytest
import torch
from pydantic import BaseModel, Field
from transformers import LogitsProcessor

import schemagen
from schemagen.decode.brevity import AGAIN, FIRST, Brevity, Loop, had_loop, loop_of
from schemagen.errors import OptionError
from schemagen.events import Completed
from schemagen.options.speculation import Speculation
from schemagen.testing import mask_of

ASKED = "Ada, 36, lives in Paris"  # the bundled model answers it with the list [36, 36, 36, ...], without an end


class Note(BaseModel):
    text: str


class Point(BaseModel):
    x: int
    y: int | None = None


class Report(BaseModel):
    title: str
    notes: list[Note]


class Echo(LogitsProcessor):
    """Wants the token that followed the last token where that stood last, which makes any model repeat itself."""

    def __init__(self, prompt_tokens: int) -> None:
        self.prompt_tokens = prompt_tokens

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        for row, tokens in enumerate(input_ids[:, self.prompt_tokens :].tolist()):
            before = [at for at in range(len(tokens) - 1) if tokens[at] == tokens[-1]]
            if before:
                scores[row, tokens[before[-1] + 1]] += 30
        return scores


@pytest.fixture(scope="module")
def lm():
    """Return the bundled model."""
    return schemagen.load_bundled()


def echo(lm, prompt, spec):
    """Return the options of a call that make the model repeat itself."""
    ids = lm.tokenizer(lm.render(prompt, spec), add_special_tokens=False)["input_ids"]
    return {"logits_processor": [Echo(len(ids))], "max_new_tokens": 400}


# --- loops of tokens -----------------------------------------------------------------------------------------------------


def slowly(tokens: list[int]) -> Loop | None:
    """Return the loop at the end of a text by the definition, from each token of it."""

    def run(end: int, period: int) -> int:
        """How many tokens before `end` are the same as those one period before."""
        found = 0
        while found + period < end and tokens[end - 1 - found] == tokens[end - 1 - found - period]:
            found += 1
        return found

    count = len(tokens)
    for period in range(1, min(128, count) + 1):
        found = run(count, period)
        if found < max(2 * period, AGAIN):
            continue
        before = count - found
        earlier = any(
            run(end, other) >= max(2 * other, FIRST)
            for end in range(before + 1)
            for other in range(1, min(128, end) + 1)
        )
        surplus = found - max(2 * period, AGAIN if earlier else FIRST)
        if surplus >= 0:
            return Loop(period, surplus, not earlier)
    return None


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], None),
        ([1] * FIRST, None),
        ([1] * (FIRST + 1), Loop(1, 0, is_first=True)),
        ([1, 2] * 20, Loop(2, 14, is_first=True)),
        ([*range(30)] * 2, None),
        ([*range(30)] * 3, Loop(30, 0, is_first=True)),
        ([*([1] * 40), 2, *([3] * (AGAIN + 1))], Loop(1, 0, is_first=False)),
        ([*([1] * 40), 2, *([3] * AGAIN)], None),
        ([*([1] * 9), 5, *([2] * 9), 5] * 4, Loop(20, 20, is_first=True)),
    ],
)
def test_loops(tokens, expected):
    """A loop has two whole copies and enough tokens; after the first one, fewer make the next."""
    assert loop_of(tokens) == expected == slowly(tokens)


def test_loops_are_those_of_the_definition():
    """3,000 texts of few tokens, some of them repeated, against the definition."""
    draw = random.Random(7)
    kinds = set()
    for _ in range(3_000):
        tokens: list[int] = []
        while len(tokens) < draw.choice([10, 40, 90]):
            word = [draw.randrange(3) for _ in range(draw.randint(1, 6))]
            tokens += word * draw.choice([1, 1, 2, 5, 14])
        found = loop_of(tokens)
        kinds.add(None if found is None else found.is_first)
        assert found == slowly(tokens), tokens
    assert kinds == {None, True, False}


def test_an_earlier_loop_may_be_anywhere():
    """At the start, inside, and at the end of a text."""
    rest = [*range(100, 150)]
    loop = [1, 2] * 14
    assert all(had_loop(text) for text in ([*loop, *rest], [*rest, *loop, *rest], [*rest, *loop]))
    assert not had_loop([*rest, *[1, 2] * 10, *rest])


# --- which tokens lose ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "text", "loses", "stays"),
    [
        (Note, '{"text": "' + "no " * 30, "n", '"z'),  # the copy alone, and not the end of the string
        (list[int], "[" + "36, " * 20 + "36", ",", "]"),  # another item
        (list[bool], "[" + "true, " * 20 + "tr", "", "u"),  # the value of an item is never touched
        (list[Point], "[" + '{"x": 0, "y": 0}, ' * 4 + '{"x": 0', "", ","),  # nor is an optional member of it
        (list[Point], "[" + '{"x": 0, "y": 0}, ' * 4 + '{"x": 0, "y": 0}', ",", "]"),
        (list[list[int]], "[" + "[0, 0, 0], " * 4 + "[0", "", ","),  # rows of a matrix stay as long as the others
        (int, "1" * 40, "1", "2"),
        (schemagen.Regex("(ab)*c"), "ab" * 20, "a", "c"),
    ],
)
def test_what_goes_on_with_a_loop_loses(byte_vocabulary, spec, text, loses, stays):
    """Tokens that end a value, or are part of its form, keep their scores."""
    matcher = schemagen.compile(spec, byte_vocabulary).matcher()
    tokens = list(text.encode())
    assert all(map(matcher.accept_token, tokens))
    scores = torch.zeros(byte_vocabulary.size)
    Brevity(loop_guard=True).penalise(scores, tokens, matcher, byte_vocabulary.size)
    allowed = mask_of(matcher, byte_vocabulary)
    lower = {token for token in allowed if scores[token] < 0}
    assert lower == set(loses.encode())
    assert not lower & set(stays.encode())


def test_equal_items_lose_with_each_copy(byte_vocabulary):
    """A word that is repeated loses twice as much with each token, a record with each copy."""
    matcher = schemagen.compile(list[Point], byte_vocabulary).matcher()
    record = '{"x": 0, "y": 0}'
    text, lost = f"[{record}", []
    assert all(map(matcher.accept_token, text.encode()))
    for _ in range(8):
        scores = torch.zeros(byte_vocabulary.size)
        Brevity(loop_guard=True).penalise(scores, list(text.encode()), matcher, byte_vocabulary.size)
        lost.append(-scores[ord(",")].item())
        assert all(map(matcher.accept_token, f", {record}".encode()))
        text += f", {record}"
    assert lost == [0, 0, 0, 1, 2, 4, 8, 16]


def test_a_second_loop_ends_the_value(byte_vocabulary):
    """Everything but the end of the string loses then."""
    matcher = schemagen.compile(Note, byte_vocabulary).matcher()
    tokens = list(('{"text": "' + "a" * 40 + "b" * 20).encode())
    assert all(map(matcher.accept_token, tokens))
    scores = torch.zeros(byte_vocabulary.size)
    Brevity(loop_guard=True).penalise(scores, tokens, matcher, byte_vocabulary.size)
    allowed = mask_of(matcher, byte_vocabulary)
    assert [token for token in allowed if scores[token] == 0] == [ord('"')]


def test_lists_of_a_fixed_length_are_left_alone(lm):
    """Where the list cannot end, its items go on as without the guard."""
    spec = Annotated[list[int], Field(min_length=40, max_length=40)]
    assert lm(ASKED, spec, loop_guard=True) == lm(ASKED, spec, loop_guard=False)


# --- answers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [Note, list[str], list[Note], list[int], Report, schemagen.Regex("[a-z ]*")])
@pytest.mark.parametrize("prompt", [ASKED, "Tell me about the sea, the ships and the people who live on it."])
def test_a_model_that_repeats_itself_comes_to_an_end(lm, spec, prompt):
    """Its answers have a bounded surplus over those of the plain model, and are no longer than without the guard."""
    options = echo(lm, prompt, spec)
    guarded = lm.run(prompt, spec, loop_guard=True, **options)
    assert len(guarded.token_ids) <= 100
    assert len(guarded.token_ids) <= len(lm.run(prompt, spec, loop_guard=False, **options).token_ids)
    assert guarded.finish_reason == "complete"


@pytest.mark.parametrize(
    "options", [{"loop_guard": True}, {"prefer_length": 12}, {"loop_guard": True, "prefer_length": 30}]
)
@pytest.mark.parametrize("how", [{}, {"temperature": 0.8, "seed": 3}])
def test_every_route_writes_the_same(lm, options, how):
    """Read ahead, by generate, alone, in a batch and in a stream."""
    spec: Any = list[int]
    alone = lm.run(ASKED, spec, max_new_tokens=120, **options, **how)
    assert len(alone.token_ids) < 120
    assert alone.token_ids != lm.run(ASKED, spec, max_new_tokens=120, loop_guard=False, **how).token_ids
    plain = lm.run(ASKED, spec, max_new_tokens=120, logits_processor=[lambda _, scores: scores], **options, **how)
    seeds = {"seed": [how["seed"], 1]} if how else {}
    batch = lm.run_batch([ASKED, "1, 2, 3"], spec, max_new_tokens=120, **options, **{**how, **seeds})
    *_, last = lm.stream(ASKED, spec, max_new_tokens=120, **options, **how)
    assert isinstance(last, Completed)
    assert alone.text == plain.text == batch[0].text == last.generation.text


def test_only_calls_that_ask_are_guarded(lm):
    """Repetition may be right, so nothing changes an answer unasked."""
    for options in ({}, {"temperature": 0}, {"loop_guard": None}, {"temperature": 1e-3, "seed": 1}):
        asked = {**options, "loop_guard": True}
        found = [len(lm.run(ASKED, list[int], max_new_tokens=120, **given).token_ids) for given in (options, asked)]
        assert found[1] < found[0] == 120, options


@pytest.mark.parametrize("spec", [list[int], Report])
def test_masks_on_refusal_stay_on_refusal(lm, monkeypatch, spec):
    """The guard asks for a mask only where it has something to lower, and the text is the same."""
    expected = lm.run(ASKED, spec, max_new_tokens=120, loop_guard=True)
    monkeypatch.setattr(lm, "speculation", Speculation(opportunistic=True))
    found = lm.run(ASKED, spec, max_new_tokens=120, loop_guard=True)
    assert found.text == expected.text
    assert expected.masked_mass is not None
    assert found.masked_mass is None


def test_the_wished_length_is_a_wish(lm):
    """The shorter the wish, the shorter the answer; one that is long enough changes nothing."""
    lengths = [len(lm.run(ASKED, list[int], max_new_tokens=200, prefer_length=wish).token_ids) for wish in (10, 40, 80)]
    assert lengths == sorted(lengths)
    assert 10 < lengths[0] < 25
    assert lm.run(ASKED, Report, prefer_length=400).text == lm.run(ASKED, Report).text


def test_draft_and_tool_calls_are_guarded(lm):
    """The options are those of every method that constrains a text."""
    found = lm.run(ASKED, list[int], draft=40, loop_guard=True, max_new_tokens=150)
    assert found.finish_reason == "complete"

    def add(numbers: list[int]) -> int:
        """Add numbers.

        Args:
            numbers: The numbers, 1, 1, 1, 1, 1, and so on.
        """
        return sum(numbers)

    call = lm.call("Add 1 and 1 and 1 and 1.", [add], loop_guard=True, prefer_length=40)
    assert isinstance(call.arguments.numbers, list)


def test_wrong_values(lm):
    """They are refused before the model works."""
    with pytest.raises(OptionError, match="prefer_length"):
        lm(ASKED, Note, prefer_length=0)
    with pytest.raises(OptionError, match="beside draft"):
        lm(ASKED, Note, prefer_length=10, draft=True)
    with pytest.raises(OptionError, match="loop_guard"):
        lm.generate_text(ASKED, loop_guard=True)

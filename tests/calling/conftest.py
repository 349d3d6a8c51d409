"""Tokenizers with the markers and templates of the families, and a model that says what it is told, under the mask."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import schemagen
from schemagen.calling import find_profile
from schemagen.calling.answer_format import build, special_markers
from schemagen.calling.request import resolve
from schemagen.calling.tools import as_tools

TEMPLATES = Path(__file__).with_name("templates")
#: Pieces that end one thing and begin another, as the tokenizers of large models have them.
MERGES = (
    "}}",
    '"}',
    '"}}',
    '{"',
    '":',
    ': {"',
    "}\n",
    ">\n",
    ">{",
    '>\n{"',
    "[{",
    "}]",
    '"}}]',
    '")',
    ")]",
    "``",
    "```",
    "\n```",
    "; {",
)
#: The end of an answer, if a template has another use for ``<|end|>``, and special tokens that are no markers of calls.
EOS = {"harmony": "<|return|>"}
INNER = {"harmony": ("<|start|>", "<|end|>")}


class ScriptedModel:
    """Says its lines in order, one per call of `generate`, as far as the logits processors let it.

    Attributes:
        lines: What it wants to say; each is a text of the tokenizer.
        prompts: What it was asked, as text.
        steps: How many tokens it has computed.
    """

    def __init__(self, tokenizer, lines):
        self.tokenizer = tokenizer
        self.lines = list(lines)
        self.prompts = []
        self.steps = 0
        self.device = torch.device("cpu")
        self.config = SimpleNamespace(eos_token_id=tokenizer.eos_token_id, max_position_embeddings=100_000)

    def get_output_embeddings(self):
        """Tell the width of the logits: padded, as in real models."""
        return SimpleNamespace(out_features=len(self.tokenizer) + 7)

    def generate(self, input_ids, logits_processor=(), max_new_tokens=512, streamer=None, **_):
        """Want the tokens of the next line, one after the other, and take the best that is allowed."""
        self.prompts.append(self.tokenizer.decode(input_ids[0]))
        say = (lambda _: None) if streamer is None else streamer.put
        say(input_ids)
        wanted = iter(self.tokenizer.encode(self.lines.pop(0), add_special_tokens=False))
        eos = self.tokenizer.eos_token_id
        off_script = torch.zeros(1, self.get_output_embeddings().out_features)  # come to an end
        off_script[0, eos] = 1
        off_script[0, self.tokenizer.convert_tokens_to_ids(list('"]}'))] += 0.5
        for _step in range(max_new_tokens):
            scores = off_script.clone()
            scores[0, next(wanted, eos)] += 2
            for processor in logits_processor:
                scores = processor(input_ids, scores)
            input_ids = torch.cat([input_ids, scores.argmax(dim=-1, keepdim=True)], dim=1)
            self.steps += 1
            say(input_ids[:, -1])
            if int(input_ids[0, -1]) == eos:
                break
        return input_ids


def profile_of(template):
    """Return the profile of a template: its file is named after it, with the models after an @ if there are several."""
    return find_profile(template.partition("@")[0])


def make_tokenizer(template, *, special):
    """Return a byte-level tokenizer with the template of a family, its markers special tokens or ordinary text."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ids = count()
    vocab = {piece: next(ids) for piece in sorted(byte_level.alphabet())}
    merges = []
    for text in MERGES:
        first, *others = byte_level.pre_tokenize_str(text)[0][0]
        for piece in others:
            if first + piece not in vocab:
                merges.append((first, piece))
                vocab[first + piece] = next(ids)
            first += piece
    backend = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    backend.pre_tokenizer = byte_level
    backend.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token=EOS.get(template, "<|end|>"), clean_up_tokenization_spaces=False
    )
    markers = [*profile_of(template).markers, *INNER.get(template, ())]
    if special and markers:
        tokenizer.add_special_tokens({"additional_special_tokens": markers})
    tokenizer.chat_template = (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")
    return tokenizer


class Family:
    """A profile, a tokenizer of it, and language models over scripts."""

    def __init__(self, name, *, special):
        self.profile = profile_of(name)
        self.tokenizer = make_tokenizer(name, special=special)
        self.special = special

    def said(self, words):
        """Return an answer in words as the model writes it."""
        return words.join(self.profile.words)

    def fitting(self, *calls):
        """Return the calls that fit into one answer."""
        return calls[:1] if self.profile.separator is None else calls

    def lm(self, *lines):
        """Return a language model that wants to say some lines."""
        return schemagen.from_transformers(ScriptedModel(self.tokenizer, lines), self.tokenizer)

    def wire(self, tools, choice="auto", *, parallel=False, returns=None):
        """Return the grammar of the answers."""
        vocabulary = self.lm().vocabulary
        specials = special_markers(self.profile, self.tokenizer, vocabulary)
        assert len(specials) == (len(self.profile.markers) if self.special else 0)
        chosen, may_answer, may_call = resolve(as_tools(tools), choice)
        flags = {"may_answer": may_answer, "may_call": may_call, "parallel": parallel, "returns": returns}
        return build(self.profile, chosen, vocabulary, specials, **flags)

    def encode(self, text):
        """Return the tokens of a text."""
        return self.tokenizer.encode(text, add_special_tokens=False)


NAMES = sorted(path.stem for path in TEMPLATES.glob("*.jinja"))
FAMILIES = [(name, special) for name in NAMES for special in ((False, True) if profile_of(name).markers else (False,))]


@pytest.fixture(scope="session", params=FAMILIES, ids=lambda f: f"{f[0]}-{'special' if f[1] else 'text'}")
def family(request):
    """Every family, with its markers as special tokens and as text."""
    name, special = request.param
    return Family(name, special=special)


@pytest.fixture(scope="session")
def hermes():
    """The format of Qwen and Hermes, markers as text."""
    return Family("hermes", special=False)


def get_weather(city: str, unit: Literal["c", "f"] = "c", days: int = 1) -> str:
    """Say what the weather is like.

    Args:
        city: Where.
        unit: Of the temperature.
        days: How many.
    """
    return f"{city}: 21 {unit}, {days} days"


def send(to: list[str], text: str | None = None, urgent: bool = False) -> int:
    """Send a message."""
    return len(to) + len(text or "") + urgent


@pytest.fixture(scope="session")
def tools():
    """Two tools."""
    return (get_weather, send)

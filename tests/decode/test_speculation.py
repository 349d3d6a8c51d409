"""The loop that reads ahead writes the texts of `generate`, whatever it was told to expect."""

from dataclasses import replace
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import pytest
from annotated_types import MaxLen

import schemagen
from schemagen import Template
from schemagen.calling import find_profile
from schemagen.calling.answer_format import build
from schemagen.calling.tools import as_tools
from schemagen.lm import Speculation
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from tests.device.test_tables import PERSON

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from schemagen.decode import LogitsProcessor  # noqa: E402 - needs torch
from schemagen.decode.row_sampling import RowSampler, sampling_of  # noqa: E402
from schemagen.decode.speculation import (  # noqa: E402
    Draft,
    can_read_ahead,
    decode_ahead,
    memories,
)
from schemagen.decode.speculation.drafts import Context  # noqa: E402
from schemagen.decode.speculation.memories import PassTimes, memory_of_model  # noqa: E402
from schemagen.decode.speculation.planner import planner_of  # noqa: E402
from tests.decode.tiny import llama  # noqa: E402

pytestmark = pytest.mark.sampled(3)

SPECS = {
    "person": PERSON,
    "long keys": {
        "type": "object",
        "properties": {"favourite_colour": {"enum": ["red", "green"]}, "number_of_children": {"type": "integer"}},
        "required": ["favourite_colour", "number_of_children"],
        "additionalProperties": False,
    },
    "free keys": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 2},
    "regex": schemagen.Regex("[ab]{2,7}(x|yz)*"),
    "any order": {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "b"]},
}


@pytest.fixture(scope="module")
def model(bundled_vocabulary):
    """A Llama whose choices depend on the text."""
    torch.set_num_threads(1)
    return llama(4, width=bundled_vocabulary.size + 8, hidden=32, layers=2, spread=0.3, ends=2, pad=0)


def plain(model, grammar, prompt, max_new_tokens):
    """Return what `generate` writes."""
    output = model.generate(
        input_ids=prompt,
        attention_mask=torch.ones_like(prompt),
        logits_processor=[LogitsProcessor(grammar, max_new_tokens=None)],
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=list(grammar.vocabulary.eos_token_ids),
        pad_token_id=0,
    )
    return output[0, prompt.shape[1] :].tolist()


TOKEN_BY_TOKEN = Speculation(max_draft=0)


class Free(PassTimes):
    """Passes over any number of tokens take as long, so that every draft is tried."""

    def of(self, tokens: int) -> float:  # noqa: ARG002 - of the base class
        """Return the same for all."""
        return 1.0


@pytest.fixture(autouse=True)
def passes_are_free(monkeypatch):
    """What is proposed does not depend on how busy the machine is."""
    monkeypatch.setattr("schemagen.decode.speculation.memories.PassTimes", Free)


@pytest.mark.parametrize("spec", SPECS)
def test_the_same_text_as_generate(spec, model, bundled_vocabulary):
    """Token for token, on the first run, which remembers nothing, and on those that do."""
    grammar = schemagen.compile(SPECS[spec], bundled_vocabulary, cache=None)
    for seed in (0, 1, 0):
        prompt = torch.randint(10, 1000, (1, 6), generator=torch.Generator().manual_seed(seed))
        run = decode_ahead(model, prompt, grammar, 50, budget=False)
        assert run.token_ids == plain(model, grammar, prompt, 50)
        assert run.passes + run.accepted >= len(run.token_ids)


def test_what_is_known_saves_passes(model, bundled_vocabulary):
    """Forced keys are read at once, and a text that came before in a few passes."""
    grammar = schemagen.compile(SPECS["long keys"], bundled_vocabulary, cache=None)
    prompt = torch.tensor([[5, 6, 7]])
    runs = [decode_ahead(model, prompt, grammar, 200) for _ in range(3)]
    assert len({tuple(run.token_ids) for run in runs}) == 1
    assert runs[2].passes < runs[0].passes <= len(runs[0].token_ids)
    alone = decode_ahead(model, prompt, grammar, 200, speculation=TOKEN_BY_TOKEN)
    assert alone.token_ids == runs[0].token_ids
    assert alone.passes == len(runs[0].token_ids)


class Wrong:
    """Proposes a token that is allowed, and that the model does not choose."""

    def __init__(self, expected):
        self.expected = expected

    def propose(self, context, matcher, n):
        """Return another token than the one that comes."""
        assert n > 0
        expected = self.expected[len(context.tokens)] if len(context.tokens) < len(self.expected) else -1
        others = [other for other in matcher.allowed_tokens() if other != expected]
        return Draft(others[-1:], evidence="sure")

    def observe(self, context, matcher, token):
        """Learn nothing."""


class Foreign(Wrong):
    """Proposes tokens that the grammar forbids, or that there are not."""

    def propose(self, context, matcher, n):  # noqa: ARG002 - the interface
        """Return tokens without a look at the grammar."""
        return Draft((3, 2_000_000, 5)[: 1 + len(context.tokens) % 3], evidence=None)


@pytest.mark.parametrize("kind", [Wrong, Foreign])
def test_a_wrong_drafter_costs_time_alone(kind, model, bundled_vocabulary):
    """Every guess is wrong, or is no text of the grammar."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    prompt = torch.tensor([[9, 8, 7]])
    expected = decode_ahead(model, prompt, grammar, 60, speculation=TOKEN_BY_TOKEN).token_ids
    wrong = Speculation(counts=False, prompt_lookup=False, drafters=(kind(expected),))
    for _ in range(3):
        assert decode_ahead(model, prompt, grammar, 60, speculation=wrong).token_ids == expected


@pytest.mark.parametrize("spec", SPECS)
def test_the_text_is_complete_within_its_budget(spec, model, bundled_vocabulary):
    """From the least budget on, though the model would go on for ever."""
    grammar = schemagen.compile(SPECS[spec], bundled_vocabulary, cache=None)
    for extra in (0, 1, 4, 9):
        run = decode_ahead(model, torch.tensor([[3, 4]]), grammar, grammar.min_new_tokens + extra)
        matcher = grammar.matcher()
        assert all(matcher.accept_token(token) for token in run.token_ids)
        assert matcher.is_terminated() or matcher.is_accepting()


def test_a_draft_can_be_accepted(model, bundled_vocabulary, monkeypatch):
    """Whatever is proposed, only allowed tokens are read, at most so many."""
    monkeypatch.setattr(
        memories, "_of_models", WeakKeyDictionary()
    )  # what the model wrote in other tests is no guess here
    grammar = schemagen.compile(PERSON, bundled_vocabulary, whitespace="compact", cache=None)
    context, matcher = Context(bundled_vocabulary, (4, 5)), grammar.matcher()
    bracket = bundled_vocabulary.tokens.index(b"]")
    sure = Speculation(drafters=(Always(bracket),))
    matcher.accept_bytes(b"{")
    tree = planner_of(model, grammar, sure).plan(context, matcher, 8, 1)
    text = bundled_vocabulary.decode(tree.tokens)
    assert text.startswith(b'"name":"]')
    assert matcher.accept_bytes(text)
    matcher.rollback(1)
    assert len(planner_of(model, grammar, sure).plan(context, matcher, 2, 1).tokens) == 2
    assert context.tokens == []
    assert context.text == b""


class Always:
    """Proposes one token."""

    def __init__(self, token):
        self.token = token

    def propose(self, context, matcher, n):  # noqa: ARG002 - the interface
        """Return it."""
        return Draft((self.token,), evidence="always")

    def observe(self, context, matcher, token):
        """Learn nothing."""


class Right(Wrong):
    """Proposes the token that comes, and is trusted less."""

    def propose(self, context, matcher, n):  # noqa: ARG002 - the interface
        """Return it."""
        place = len(context.tokens)
        return Draft(self.expected[place : place + 1], evidence="unsure")


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_second_guess_is_read_in_the_same_pass(attention, bundled_vocabulary, monkeypatch):
    """The first guess is wrong at each token, the second one right: two tokens a pass, and the same text."""
    model = llama(4, width=bundled_vocabulary.size + 8, hidden=32, layers=2, spread=0.3, ends=2, pad=0)
    model.set_attn_implementation(attention)
    grammar = schemagen.compile(SPECS["any order"], bundled_vocabulary, cache=None)
    prompt = torch.tensor([[9, 8, 7]])
    expected = decode_ahead(model, prompt, grammar, 60, speculation=TOKEN_BY_TOKEN).token_ids
    both = Speculation(counts=False, prompt_lookup=False, drafters=(Wrong(expected), Right(expected)))
    monkeypatch.setattr("schemagen.decode.speculation.planner._SECOND", 0.9)
    monkeypatch.setattr("schemagen.decode.speculation.planner.ForcedText", lambda: Right([]))
    passes = []
    for branches in (True, False):
        speculation = replace(both, branches=branches)
        rates = memory_of_model(model, bundled_vocabulary).rates[False]
        rates._rates = {"sure": (60.0, 100.0), "unsure": (50.0, 100.0), ("second", "unsure"): (90.0, 100.0)}
        run = decode_ahead(model, prompt, grammar, 60, speculation=speculation)
        assert run.token_ids == expected
        passes.append(run.passes)
    assert passes[0] < 0.7 * passes[1]


SAMPLED = [{"temperature": 1.0}, {"temperature": 0.7, "top_k": 5}, {"temperature": 2.0, "top_p": 0.9, "min_p": 0.01}]


@pytest.mark.parametrize("options", SAMPLED)
def test_drafts_change_no_sampled_text(options, model, bundled_vocabulary):
    """With the same random numbers the tokens are those of a loop that goes token by token, and of ``generate``."""
    grammar = schemagen.compile(SPECS["free keys"], bundled_vocabulary, cache=None)
    prompt = torch.tensor([[5, 6, 7]])
    texts = set()
    for seed in range(6):
        runs = [
            decode_ahead(
                model,
                prompt,
                grammar,
                40,
                speculation=speculation,
                sampler=RowSampler([seed], sampling_of(model, {**options, "top_k": options.get("top_k", 0)})),
            )
            for speculation in (TOKEN_BY_TOKEN, Speculation(), Speculation())
        ]
        assert len({tuple(run.token_ids) for run in runs}) == 1
        texts.add(tuple(runs[0].token_ids))
    assert len(texts) > 1


@pytest.mark.parametrize("sampled", [False, True])
def test_masks_on_refusal_change_no_text(sampled, model, bundled_vocabulary):
    """Greedily the same text; sampled a text of the grammar, and no mass is measured."""
    grammar = schemagen.compile(PERSON, bundled_vocabulary, cache=None)
    first = Speculation(opportunistic=True)
    for seed in range(3):
        prompt = torch.randint(10, 1000, (1, 6), generator=torch.Generator().manual_seed(seed))
        sampler = RowSampler([seed]) if sampled else None
        least = grammar.min_new_tokens + 5
        run = decode_ahead(model, prompt, grammar, least, speculation=first, sampler=sampler)
        assert run.masked_mass is None
        matcher = grammar.matcher()
        assert all(map(matcher.accept_token, run.token_ids))
        assert matcher.is_terminated() or matcher.is_accepting()
        if not sampled:
            assert run.token_ids == decode_ahead(model, prompt, grammar, least).token_ids


def test_an_assistant_proposes_what_it_would_write(model, bundled_vocabulary):
    """The model itself as its assistant is nearly always right; another one changes nothing."""
    grammar = schemagen.compile(SPECS["any order"], bundled_vocabulary, cache=None)
    prompt = torch.tensor([[5, 6, 7]])
    expected = decode_ahead(model, prompt, grammar, 60, speculation=TOKEN_BY_TOKEN).token_ids
    other = llama(9, width=bundled_vocabulary.size + 8, hidden=16, layers=1, spread=0.3, ends=2, pad=0)
    for assistant in (model, other):
        alone = Speculation(counts=False, prompt_lookup=False, assistant=assistant)
        for _ in range(2):
            run = decode_ahead(model, prompt, grammar, 60, speculation=alone)
            assert run.token_ids == expected
        if assistant is model:
            assert run.accepted == run.drafted
            assert run.passes < len(expected) / 4


def get(city: str, unit: Literal["c", "f"] = "c") -> None:
    """Get."""


def send(number: int, *, really: bool = False) -> None:
    """Send."""


NOTE = Template("- {note} is a note\n", note=Annotated[str, MaxLen(5)])
TEMPLATES = {
    "holes": Template(
        "Name: {name}\nAge: {age}\n{notes}END", name=Annotated[str, MaxLen(8)], age=int, notes=NOTE.many(0, 3)
    ),
    "alike": Template(
        "{a}{b}{c}", a=Template("aaa ").many(0, 5), b=Template("aaaa").optional(), c=schemagen.Regex("a{0,20}b")
    ),
    "other letters": Template("éü{a}😀 {b}ü", a=Annotated[str, MaxLen(4)], b=list[int]),
}
PROFILES = ("plain", "hermes", "llama", "mistral", "deepseek", "qwen-coder", "llama-pythonic")


def in_parts(name, vocabulary):
    """Return a grammar of fixed text, of calls, or of thoughts before one of them."""
    if name in TEMPLATES:
        return schemagen.compile(TEMPLATES[name], vocabulary)
    if name in PROFILES:
        return build(find_profile(name), as_tools([get, send]), vocabulary, (), may_answer=False, parallel=True).graph
    thinking = ReasoningFormat("<think>\n", "</think>\n\n", 20, ())
    if name == "thoughts before a template":
        return thinking.before(in_parts("holes", vocabulary))
    return thinking.before_parts(in_parts("hermes", vocabulary))


@pytest.mark.parametrize("name", [*TEMPLATES, *PROFILES, "thoughts before a template", "thoughts before a call"])
def test_drafts_change_no_text_of_several_parts(name, model, bundled_vocabulary):
    """Templates, calls and thoughts: the tokens of a loop that goes token by token, complete from the least budget on."""
    grammar = in_parts(name, bundled_vocabulary)
    least = grammar.min_new_tokens
    for seed, most in ((0, least), (0, least + 1), (1, least + 30), (0, least + 30), (0, least + 30)):
        prompt = torch.randint(10, 1000, (1, 6), generator=torch.Generator().manual_seed(seed))
        run = decode_ahead(model, prompt, grammar, most)
        assert run.token_ids == decode_ahead(model, prompt, grammar, most, speculation=TOKEN_BY_TOKEN).token_ids
        matcher = grammar.matcher()
        assert all(matcher.accept_token(token) for token in run.token_ids)
        assert matcher.is_terminated() or matcher.is_accepting()


GREEDY = {"do_sample": False, "max_new_tokens": 9}
IDS = torch.tensor([[5, 6, 7]])
#: Settings of a generation_config with which a greedy search writes something else, or from another cache.
CHANGING = {
    "repetition_penalty": 1.3,
    "suppress_tokens": [5],
    "begin_suppress_tokens": [5],
    "forced_eos_token_id": 2,
    "min_new_tokens": 4,
    "no_repeat_ngram_size": 2,
    "guidance_scale": 1.5,
    "num_beams": 2,
    "cache_implementation": "quantized",
    "stop_strings": ["a"],
}


def test_the_loop_is_for_plain_models(model):
    """Also for those whose generation_config was made of their config, which says of outputs that they are off."""
    assert can_read_ahead(model, {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}, GREEDY)


@pytest.mark.parametrize("name", CHANGING)
def test_settings_that_change_a_search_are_left_to_generate(name, model, monkeypatch):
    """A setting of the model's own generation_config, that no option mentions."""
    monkeypatch.setattr(model, "generation_config", transformers.GenerationConfig())
    assert can_read_ahead(model, {"input_ids": IDS}, GREEDY)
    setattr(model.generation_config, name, CHANGING[name])
    assert not can_read_ahead(model, {"input_ids": IDS}, GREEDY)


@pytest.mark.parametrize(
    "inputs",
    [
        {"input_ids": IDS, "attention_mask": torch.tensor([[0, 1, 1]])},
        {"input_ids": IDS.repeat(2, 1)},
        {"input_ids": IDS, "token_type_ids": torch.zeros_like(IDS)},
        {"inputs_embeds": torch.zeros(1, 3, 32)},
    ],
)
def test_inputs_beside_the_ids_are_left_to_generate(inputs, model):
    """Padding, several rows and what the loop does not pass on."""
    assert not can_read_ahead(model, inputs, GREEDY)


def test_models_with_a_way_of_their_own_are_left_to_generate(model, monkeypatch):
    """A class that prepares its inputs itself, and frequencies that depend on the longest position of a pass."""
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "prepare_inputs_for_generation", lambda *_, **__: {}, raising=False)
        assert not can_read_ahead(model, {"input_ids": IDS}, GREEDY)
    monkeypatch.setattr(model.config, "rope_parameters", {"rope_type": "dynamic", "factor": 2.0}, raising=False)
    assert not can_read_ahead(model, {"input_ids": IDS}, GREEDY)


def test_windows_of_the_text_are_seen_in_a_configuration():
    """GPT-Neo says in words of its own that some layers see a part of the text only."""
    from schemagen.decode.speculation.eligibility import is_plain_decoder

    config = transformers.GPTNeoConfig(
        vocab_size=32,
        hidden_size=8,
        num_layers=2,
        num_heads=2,
        window_size=4,
        attention_types=[[["global", "local"], 1]],
    )
    assert not is_plain_decoder(transformers.GPTNeoForCausalLM(config))

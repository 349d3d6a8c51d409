"""`draft=`: a free draft, the question for the answer, and an answer as constrained as without them, in every route."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Annotated, Literal

import pytest
import torch
from pydantic import AfterValidator, BaseModel, Field
from transformers import LlamaForCausalLM

import schemagen
from schemagen import Failure
from schemagen.errors import BudgetError, OptionError
from schemagen.events import Completed, ReasoningDelta
from schemagen.lm import Draft, Reasoning
from schemagen.options import GenerateOptions, names_of
from schemagen.prompts.drafting import draft_format
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.best_of import SEEDS_APART, chosen
from schemagen.testing import brute_force_mask, mask_of
from tests.e2e.test_reasoning import TEMPLATE as THINKS, Scripted, ids, make_tokenizer
from tests.models import llama_config

CHAT = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ("<|im_start|>", "<|im_end|>")
ASKED = "\n<|im_start|>user\nNow write only the final answer.<|im_end|>\n<|im_start|>assistant\n"


class Mood(BaseModel):
    good: bool


class Pair(BaseModel):
    name: Annotated[str, Field(max_length=6)]
    size: Literal[1, 22, 333]


ANSWER = ["{", '"', "g", "o", "o", "d", '":', "t", "r", "u", "e", "}"]
SPECS = [Mood, Pair, schemagen.Choice(["yes", "no"]), schemagen.Regex("[ab]{2,5}"), list[bool], int]


def make_lm(model=Scripted, template=CHAT, **config):
    """Return a language model whose texts end with <eos> or with the end of a turn."""
    tokenizer = make_tokenizer("text", template=template, specials=SPECIALS)
    torch.manual_seed(0)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    size = {"vocab_size": len(tokenizer) + 5, "max_position_embeddings": 4096, **config}
    made = model(llama_config(**size, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)).eval()
    made.generation_config.eos_token_id = [tokenizer.eos_token_id, end]
    return schemagen.from_transformers(made, tokenizer)


def end_of(lm):
    """Return the token that ends a turn."""
    return lm.tokenizer.convert_tokens_to_ids("<|im_end|>")


def grammar_of(lm, spec, draft):
    """Return the grammar of a draft and an answer."""
    return draft_format(draft, lm.tokenizer, lm.vocabulary).before(lm.compile(spec))


def joiner(lm):
    """Return the tokens of the text between a draft and its answer."""
    return lm.tokenizer(ASKED, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("end", ["<|im_end|>", "<eos>"])
def test_a_draft_then_an_answer(end):
    """The draft ends with any EOS token, the chat goes on as the template writes it, and the answer follows."""
    lm = make_lm()
    draft = ids(lm, "a", "b", '{"', "é")
    lm.model.script([[*draft, lm.tokenizer.convert_tokens_to_ids(end), *joiner(lm), *ids(lm, *ANSWER)]])
    found = lm.run("Well?", Mood, draft=True)
    assert found.value == Mood(good=True)
    assert found.draft == found.reasoning == 'ab{"é'
    assert found.text == '{"good":true}'
    assert lm.tokenizer.decode(found.token_ids).startswith(f'ab{{"é{end}{ASKED}{{"good":true}}')
    prompt = lm.tokenizer.decode(lm.model.prompts[0][0])
    assert Draft().prompt in prompt
    assert found.reasoning_tokens == len(draft) + 1 + len(joiner(lm))


@pytest.mark.parametrize("most", [1, 3, 20])
def test_a_draft_is_cut(most):
    """At its limit a draft can only end."""
    lm = make_lm()
    lm.model.script([ids(lm, *["a"] * 50)])
    found = lm.run("Well?", Mood, draft=most)
    assert found.draft == "a" * most
    assert isinstance(found.value, Mood)


def test_the_budget_keeps_room_for_the_answer():
    """One budget covers the draft and the answer; below the least there is an error that says how many it takes."""
    lm = make_lm()
    least = grammar_of(lm, Mood, 200).min_new_tokens
    with pytest.raises(BudgetError, match=f"takes {least}"):
        lm.run("Well?", Mood, draft=200, max_new_tokens=least - 1)
    for more in (0, 1, 9):
        lm.model.script([ids(lm, *["a"] * 200)])
        found = lm.run("Well?", Mood, draft=200, max_new_tokens=least + more)
        assert found.draft == "a" * more
        assert found.new_tokens <= least + more


def walk(grammar, rng, budget, vocabulary, *, exact):
    """Return random tokens under the masks of a budget, checking that each mask leaves time for the rest."""
    matcher, chosen = grammar.matcher(), []
    while not matcher.is_terminated() and len(chosen) < budget:
        assert matcher.tokens_to_finish() <= budget - len(chosen)
        if exact:
            assert matcher.allowed_tokens() == sorted(brute_force_mask(matcher, vocabulary))
        allowed = sorted(mask_of(matcher, vocabulary, budget=budget - len(chosen)))
        ends = [token for token in allowed if token in vocabulary.eos_token_ids]
        chosen.append(rng.choice(ends if ends and rng.random() < 0.2 else allowed))
        assert matcher.accept_token(chosen[-1])
    assert matcher.is_terminated() or matcher.is_accepting()
    return chosen


@pytest.mark.parametrize(("count", "first"), [(1200, 1000), pytest.param(5000, 0, marks=pytest.mark.slow)])
def test_random_walks_are_whole_and_within_the_budget(count, first):
    """Whatever type, budget and length of a draft: the answer is whole, within the budget, and the draft within its own."""
    lm = make_lm()
    rng = random.Random(first)
    grammars = {}
    for index in range(count):
        spec, most = rng.choice(SPECS), rng.choice([1, 2, 5, 17, 40])
        grammar = grammars.setdefault((str(spec), most), grammar_of(lm, spec, most))
        budget = grammar.min_new_tokens + rng.choice([0, 1, 2, 7, 30, 200])
        chosen = walk(grammar, rng, budget, lm.vocabulary, exact=index % 40 == 0)
        answer, _, count_of_draft = grammar.split(chosen)
        assert len(chosen) <= budget
        assert lm.compile(spec).matcher().accept_bytes(answer.encode())
        lm.compile(spec).validate(answer)
        ended = next(place for place, token in enumerate(chosen) if token in lm.vocabulary.eos_token_ids)
        assert ended <= most
        assert count_of_draft <= grammar.thought_tokens


# --- the other routes --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lm():
    """A tiny model without a script."""
    return make_lm(LlamaForCausalLM)


SAMPLED = {"temperature": 1.0, "max_new_tokens": 200}


@pytest.mark.parametrize("options", [{}, SAMPLED, {"repetition_penalty": 1.2}, {"use_cache": False}], ids=str)
def test_a_batch_equals_its_rows(lm, options):
    """Rows with drafts of different lengths give what each gives alone, in the own loop and in generate."""
    prompts = ["a", "Well, what do you say to that?", "b?"]
    batch = lm.run_batch(prompts, Pair, draft=30, seed=5, progress=False, **options)
    alone = [lm.run(prompt, Pair, draft=30, seed=5 + row, **options) for row, prompt in enumerate(prompts)]
    assert not any(isinstance(each, Failure) for each in batch)
    assert [(each.text, each.draft, each.token_ids) for each in batch] == [
        (each.text, each.draft, each.token_ids) for each in alone
    ]


@pytest.mark.parametrize("options", [{}, SAMPLED, {"repetition_penalty": 1.2}], ids=str)
def test_a_stream_equals_the_run(lm, options):
    """The events of the draft come first and are its text."""
    alone = lm.run("Well?", Pair, draft=25, seed=3, **options)
    events = list(lm.stream("Well?", Pair, draft=25, seed=3, **options))
    assert isinstance(events[-1], Completed)
    assert events[-1].generation.token_ids == alone.token_ids
    deltas = [event for event in events if isinstance(event, ReasoningDelta)]
    assert "".join(event.text for event in deltas).strip() == alone.draft
    assert events[: len(deltas)] == deltas


def test_draft_and_answer_have_temperatures_of_their_own(lm):
    """A greedy call can have a sampled draft, and a sampled call a greedy one."""
    drafts = {lm.run("Well?", Mood, draft=Draft(12, temperature=5.0), seed=seed).draft for seed in range(6)}
    assert len(drafts) > 1
    greedy = {lm.run("Well?", Mood, draft=Draft(12, temperature=0), temperature=5.0, seed=s).draft for s in range(6)}
    assert greedy == {lm.run("Well?", Mood, draft=12).draft}
    again = [lm.run("Well?", Mood, draft=Draft(12, temperature=5.0), seed=4).token_ids for _ in range(2)]
    assert again[0] == again[1]


def log_likelihood(lm, prompt_ids, token_ids, count):
    """Return the log-probability of the tokens from ``count`` on, one pass per token: the oracle."""
    found = 0.0
    for place in range(count, len(token_ids)):
        ids_ = torch.tensor([[*prompt_ids, *token_ids[:place]]])
        with torch.inference_mode():
            found += float(torch.log_softmax(lm.model(input_ids=ids_).logits[0, -1].float(), -1)[token_ids[place]])
    return found


def test_the_best_of_several_drafts(lm):
    """The answer counts that the model finds likeliest after its own draft, alone and in a batch."""
    draft = Draft(10, temperature=2.0, best_of=4)
    found = lm.run("Well?", Pair, draft=draft, seed=8)
    prompt = lm.tokenizer(lm.render("Well?", Pair, draft=draft), add_special_tokens=False)["input_ids"]
    each = [lm.run("Well?", Pair, draft=Draft(10, temperature=2.0), seed=8 + index * SEEDS_APART) for index in range(4)]
    scores = [log_likelihood(lm, prompt, one.token_ids, one.reasoning_tokens) for one in each]
    best = each[max(range(4), key=scores.__getitem__)]
    assert len({one.token_ids for one in each}) > 1
    assert found.token_ids == best.token_ids
    batch = lm.run_batch(["x", "Well?"], Pair, draft=draft, seed=[1, 8], progress=False)
    assert batch[1].token_ids == best.token_ids


def test_the_seconds_of_all_drafts_count(lm):
    """The best text has the seconds of every one."""
    settings, form = AnswerForm.of_call(lm, {"draft": Draft(10, best_of=2), "seed": 8}, names_of(GenerateOptions))
    request = AnswerRequest.of(settings, form, "Well?", lm.compile(Mood))
    prepared = request.prepare()
    texts = [replace(prepared.decode(), seconds=seconds) for seconds in (1.5, 2.25)]
    assert chosen(request, prepared, texts).seconds == 3.75


def test_the_best_draft_is_one_that_validators_take(lm):
    """A likelier answer that a validator refuses does not count."""
    options = {"temperature": 5.0, "seed": 0}
    seen = [lm.run("Well?", Mood, draft=10, **{**options, "seed": i * SEEDS_APART}).value.good for i in range(12)]
    assert len({*seen}) == 2, "both answers occur"
    for wanted in (True, False):

        class Sure(BaseModel):
            good: Annotated[bool, AfterValidator(lambda value, wanted=wanted: check(value == wanted, value))]

        found = lm.run("Well?", Sure, draft=Draft(10, temperature=5.0, best_of=12), **options)
        assert found.value.good == wanted


def check(ok, value):
    """Refuse a value."""
    if not ok:
        raise ValueError("refused")
    return value


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_tools_take_drafts(lm):
    """A call has a draft before it, alone and as a stream."""
    call = lm.call("Add 1 and 2", [add], draft=20, seed=1, tool_choice="required", max_new_tokens=120)
    assert call.name == "add"
    with lm.stream_call("Add 1 and 2", [add], draft=20, seed=1, tool_choice="required", max_new_tokens=120) as stream:
        kinds = [type(event).__name__ for event in stream]
    assert "CallCompleted" in kinds


def test_a_thinking_model_thinks():
    """For a model whose template knows thoughts a draft is its thinking."""
    lm = make_lm(template=THINKS)
    assert draft_format(7, lm.tokenizer, lm.vocabulary) == ReasoningFormat.of(7, lm.tokenizer, lm.vocabulary)


def test_without_a_chat_template():
    """A draft of a base model is text between markers: it never ends its document."""
    lm = make_lm(LlamaForCausalLM, template=None)
    rendered = lm.render("Well?", Mood, draft=True)
    assert rendered.endswith("\nDraft: ")
    found = lm.run("Well?", Mood, draft=15, temperature=1.0, seed=2)
    assert isinstance(found.value, Mood)
    assert not {*found.token_ids[:-1]} & {*lm.vocabulary.eos_token_ids}
    assert "\nNow write only the final answer.\n" in lm.tokenizer.decode(found.token_ids)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"draft": 0}, "draft=0"),
        ({"draft": "long"}, "draft"),
        ({"draft": True, "reasoning": Reasoning(end="x")}, "reasoning= beside draft="),
        ({"draft": True, "num_beams": 2}, "a draft beside beams"),
        ({"draft": True, "heal": True}, "heal=True"),
    ],
    ids=str,
)
def test_wrong_options(lm, options, said):
    """They are errors at once."""
    with pytest.raises(OptionError, match=said):
        lm.run("Well?", Mood, **options)


def test_wrong_drafts():
    """A draft checks its fields."""
    for wrong in ({"max_tokens": 0}, {"best_of": 0}, {"best_of": 65}, {"answer": " "}, {"temperature": -1}):
        with pytest.raises(OptionError):
            Draft(**wrong)
    with pytest.raises(OptionError, match="best_of=2 in a stream"):
        make_lm().stream("Well?", Mood, draft=Draft(best_of=2))


def test_a_grammar_may_name_eos(lm):
    """EOS inside a text ends nothing, in the own loop and in generate, alone and in a batch."""
    grammar = lm.compile(schemagen.Lark('start: "a" <|im_end|> "b" <|im_end|> "c"', dialect="llguidance"))
    assert grammar.has_inner_ends
    assert not lm.compile(Mood).has_inner_ends
    for options in ({}, {"repetition_penalty": 1.1}):
        assert lm("Well?", grammar, **options) == "abc"
        assert lm.batch(["x", "yy"], grammar, progress=False, **options) == ["abc", "abc"]

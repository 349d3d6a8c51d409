"""`reasoning=`: thoughts, a marker, and an answer as constrained as without them, in every route to the model."""

from __future__ import annotations

import random
from typing import Annotated, Literal

import pytest
import torch
from pydantic import AfterValidator, BaseModel, Field
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import schemagen
from schemagen import Failure
from schemagen.decode import LogitsProcessor
from schemagen.errors import BudgetError, OptionError, ValidationFailed
from schemagen.events import Completed, Delta, ReasoningDelta
from schemagen.lm import Reasoning
from schemagen.prompts.reasoning_grammar import ReasoningFormat
from schemagen.testing import brute_force_mask, mask_of
from tests.models import llama_config

#: Tokens that end one thing and begin another; the tokenizer itself never writes them.
PIECES = [
    "</",
    "think",
    "ink>",
    ">\n",
    ">\n\n",
    "\n\n",
    '\n\n{"',
    '>\n\n{"',
    '/think>\n\n{"',
    '{"',
    '":',
    "aa",
    "x<",
    "}</",
]
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant: "
    "{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
#: How a tokenizer knows the marker: as a special token, as a token of text, or not at all.
KINDS = ["special", "token", "text"]


class Mood(BaseModel):
    good: bool


ANSWER = ["{", '"', "g", "o", "o", "d", '":', "t", "r", "u", "e", "}"]
#: What does not end thoughts: parts of the marker, JSON, and a marker that is nearly right.
THOUGHTS = ["I", " ", "</", "think", " ", '{"', "}</", "thing", ">", "é", "</t", "hin", "k >"]
END = "</think>\n\n"


def make_tokenizer(kind, template=TEMPLATE, specials=()):
    """Return a tokenizer of bytes and the pieces above, and of the markers as the kind says."""
    alphabet = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    pieces = [*sorted(alphabet.alphabet()), *(alphabet.pre_tokenize_str(piece)[0][0] for piece in PIECES)]
    vocab = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    backend.pre_tokenizer, backend.decoder = alphabet, decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<eos>", pad_token="<pad>", clean_up_tokenization_spaces=False
    )
    if kind != "text":
        tokenizer.add_tokens(["<think>", "</think>"], special_tokens=kind == "special")
    tokenizer.add_tokens(list(specials), special_tokens=True)
    tokenizer.chat_template = template
    return tokenizer


class Scripted(LlamaForCausalLM):
    """A tiny Llama that wants to write its scripts, one row each, under whatever mask there is.

    Attributes:
        scripts: Token ids for each row of the generation under way; behind its end a row wants EOS.
        later: The scripts of the generations that follow.
        prompts: The ids of every prompt.
    """

    def script(self, *generations):
        """Set what is written, a list of rows for each generation."""
        self.later = [list(rows) for rows in generations]
        self.scripts, self.step, self.prompts = [], 0, []

    def forward(self, input_ids, **options):
        """Run the model, then prefer what the scripts say."""
        output = super().forward(input_ids, **options)
        if input_ids.shape[1] > 1:  # a prompt
            self.scripts, self.step = self.later.pop(0), 0
            self.prompts.append(input_ids.tolist())
        scores = output.logits[:, -1]
        for row in range(len(scores)):
            script = self.scripts[row * len(self.scripts) // len(scores)]
            scores[row, script[self.step] if self.step < len(script) else self.config.eos_token_id] += 1e4
        self.step += 1
        return output


def make_lm(kind="token", **options):
    """Return a language model that is scripted; it knows a tokenizer of a kind."""
    tokenizer = make_tokenizer(kind, **options)
    torch.manual_seed(0)
    config = llama_config(
        vocab_size=len(tokenizer) + 5,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return schemagen.from_transformers(Scripted(config).eval(), tokenizer)


def ids(lm, *pieces):
    """Return the tokens of some pieces: each the one that it is, else its bytes."""
    known = lm.tokenizer.get_vocab()
    found = []
    for piece in pieces:
        data = piece.encode()
        if piece in known and known[piece] in lm.vocabulary.special_token_ids:
            found.append(known[piece])
        elif data in lm.vocabulary.tokens:
            found.append(lm.vocabulary.tokens.index(data))
        else:
            found += [lm.vocabulary.tokens.index(data[i : i + 1]) for i in range(len(data))]
    return found


def thinking_of(lm, spec, reasoning=True):
    """Return the grammar of thoughts and an answer."""
    return ReasoningFormat.of(reasoning, lm.tokenizer, lm.vocabulary).before(lm.compile(spec))


# --- what is written, and what comes of it -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_thoughts_then_an_answer(kind):
    """The model thinks what it likes, look-alikes of the marker included, and then answers in the grammar."""
    lm = make_lm(kind)
    end = ids(lm, "</think>", "\n\n")
    lm.model.script([ids(lm, *THOUGHTS) + end + ids(lm, *ANSWER)])
    found = lm.run("Well?", Mood, reasoning=True)
    assert found.value == Mood(good=True)
    assert found.text == '{"good":true}'
    assert found.reasoning == "".join(THOUGHTS)
    assert found.reasoning_tokens == len(ids(lm, *THOUGHTS)) + len(end)
    assert found.new_tokens == found.reasoning_tokens + len(ids(lm, *ANSWER)) + 1
    assert lm.tokenizer.decode(lm.model.prompts[0][0]).endswith("assistant: <think>\n")


@pytest.mark.parametrize("pieces", [["</", "think", '>\n\n{"'], ["x<", '/think>\n\n{"'], ["</", "think", ">\n", "\n", '{"'], ["</", "th", "ink>", '\n\n{"']])  # fmt: skip
def test_a_token_may_hold_the_end_of_the_marker_and_the_beginning_of_the_answer(pieces):
    """The thoughts end inside a token; a token that holds something of the answer counts as its own."""
    lm = make_lm("text")
    lm.model.script([ids(lm, "a", *pieces, *ANSWER[2:])])
    found = lm.run("Well?", Mood, reasoning=True)
    assert (found.text, found.reasoning) == ('{"good":true}', "ax" if pieces[0] == "x<" else "a")
    assert found.reasoning_tokens == len(ids(lm, "a", *pieces)) - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 2, 7])
def test_thoughts_are_cut(kind, most):
    """After so many tokens the marker is all that is left."""
    lm = make_lm(kind)
    lm.model.script([ids(lm, *["a"] * 50)])
    found = lm.run("Well?", Mood, reasoning=most)
    assert found.reasoning == "a" * most
    marker = 3 if kind == "text" else 1  # "</", "think", ">"
    assert most + marker <= found.reasoning_tokens <= most + marker + len("\n\n")
    assert isinstance(found.value, Mood)


def test_a_character_is_not_cut():
    """Where one token is left, a character of two is not begun."""
    lm = make_lm()
    lm.model.script([ids(lm, "a", "é", "é", "é")], [ids(lm, "a", "é", "é", "é")])
    assert lm.run("Well?", Mood, reasoning=3).reasoning == "aé"
    assert lm.run("Well?", Mood, reasoning=4).reasoning[:2] == "aé"


@pytest.mark.parametrize("kind", KINDS)
def test_the_budget_ends_thoughts_in_time(kind):
    """With the least budget there is no thought, with one token more there is one, and the answer is always complete."""
    lm = make_lm(kind)
    least = thinking_of(lm, Mood).min_new_tokens
    wants_to_think = ids(lm, *["a"] * 200)
    with pytest.raises(BudgetError, match=f"takes {least}"):
        lm.run("Well?", Mood, reasoning=True, max_new_tokens=least - 1)
    for more in (0, 1, 5):
        lm.model.script([wants_to_think])
        found = lm.run("Well?", Mood, reasoning=True, max_new_tokens=least + more)
        assert found.reasoning == "a" * more
        assert found.new_tokens <= least + more


def test_thoughts_have_their_own_room():
    """Without a budget there are as many tokens as for an answer alone, and those of the thoughts."""
    lm = make_lm()
    lm.model.script([ids(lm, *["a"] * 2000)], [ids(lm, *["a"] * 2000)])
    assert lm.run("Well?", Mood, reasoning=True).reasoning == "a" * 1024
    assert lm.run("Well?", Mood, reasoning=Reasoning(1100)).reasoning == "a" * 1100


# --- masks --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [Mood, schemagen.Regex(r"\s*a{1,3}"), schemagen.Choice(["yes", "no"])], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_exact(kind, spec):
    """Before, at and behind the marker a mask is what trying each token says; behind it that of the plain grammar, too."""
    lm = make_lm(kind)
    grammar = lm.compile(spec)
    answer = {"Mood": ANSWER, "Choice": ["y", "e", "s"]}.get(
        getattr(spec, "__name__", type(spec).__name__), [" ", "aa"]
    )
    matcher, plain = thinking_of(lm, spec, 20).matcher(), grammar.matcher()
    thoughts = ids(lm, *THOUGHTS)[:12]
    for token_id in [*thoughts, *ids(lm, "</think>")]:
        free = matcher.allowed_tokens()
        assert free == sorted(brute_force_mask(matcher, lm.vocabulary))
        assert not set(free) & set(lm.vocabulary.eos_token_ids)
        assert matcher.accept_token(token_id)
    behind = matcher.allowed_tokens()
    assert behind == sorted(brute_force_mask(matcher, lm.vocabulary))
    assert {lm.vocabulary.tokens[i][:1] for i in behind} == {b"\n"}
    assert matcher.accept_token(ids(lm, "\n\n")[0])
    for token_id in [*ids(lm, *answer), lm.vocabulary.eos_token_ids[0]]:
        assert matcher.allowed_tokens() == plain.allowed_tokens() == sorted(brute_force_mask(matcher, lm.vocabulary))
        least = plain.tokens_to_finish()
        for budget in range(least + 3):
            assert mask_of(matcher, lm.vocabulary, budget=budget) == mask_of(plain, lm.vocabulary, budget=budget)
        assert matcher.accept_token(token_id)
        assert plain.accept_token(token_id)
    assert matcher.is_terminated()


@pytest.mark.parametrize("kind", KINDS)
def test_random_walks_stay_in_time(kind):
    """Whatever is chosen, thoughts have so many tokens at most, the text ends within its budget, and masks are exact."""
    lm = make_lm(kind)
    rng = random.Random(kind)
    for most in (1, 2, 3, 6):
        thinking = thinking_of(lm, schemagen.Choice(["yes", "no"]), most)
        for more in (0, 1, 2, 50):
            matcher, left, chosen = thinking.matcher(), thinking.min_new_tokens + more, []
            while not (matcher.is_accepting() or matcher.is_terminated()):
                assert matcher.tokens_to_finish() <= left
                assert matcher.allowed_tokens() == sorted(brute_force_mask(matcher, lm.vocabulary))
                chosen.append(rng.choice(sorted(mask_of(matcher, lm.vocabulary, budget=left))))
                assert matcher.accept_token(chosen[-1])
                left -= 1
            answer, _, count = thinking.split(chosen)
            assert answer in {"yes", "no"}
            assert most < thinking.thought_tokens
            assert count <= thinking.thought_tokens + len("\n\n")


def test_a_marker_of_several_special_tokens():
    """gpt-oss goes on in another channel: every special token between thoughts and answer is forced."""
    chain = ["<|channel|>", "<|message|>", "<|end|>", "<|start|>"]
    template = "{% for message in messages %}{{ message.content }}{% endfor %}<|start|>assistant"
    template += "{# <|channel|>analysis<|message|> #}"
    lm = make_lm("text", template=template, specials=chain)
    lm.model.script([ids(lm, "a", "b", "<|end|>")])
    found = lm.run("Well?", Mood, reasoning=True)
    assert found.reasoning == "ab"
    written = lm.tokenizer.decode(found.token_ids)
    assert written.startswith("ab<|end|><|start|>assistant<|channel|>final<|message|>{")
    assert lm.tokenizer.decode(lm.model.prompts[0][0]).endswith("<|start|>assistant<|channel|>analysis<|message|>")
    lm.model.script([ids(lm, "a", "<", "|", "end", "|", ">", "b")])
    assert "<|end|>" not in lm.run("Well?", Mood, reasoning=True).reasoning


# --- the other routes ---------------------------------------------------------------------------------------------------


def is_true(value):
    """Refuse what is false."""
    if not value:
        raise ValueError("must be true")
    return value


FALSE = [*ANSWER[:7], "f", "a", "l", "s", "e", "}"]


def test_retries_think_again():
    """An answer that is refused goes into the chat without its thoughts, and the next one has thoughts of its own."""

    class Sure(BaseModel):
        good: Annotated[bool, AfterValidator(is_true)]

    lm = make_lm()
    end = ["</think>", "\n\n"]
    lm.model.script([ids(lm, "first", *end, *FALSE)], [ids(lm, "second", *end, *ANSWER)])
    found = lm.run("Well?", Sure, reasoning=True, retries=1)
    assert (found.attempts, found.reasoning, found.value.good) == (2, "second", True)
    again = lm.tokenizer.decode(lm.model.prompts[1][0])
    assert '{"good":false}' in again
    assert "first" not in again
    lm.model.script([ids(lm, "first", *end, *FALSE)])
    with pytest.raises(ValidationFailed) as caught:
        lm("Well?", Sure, reasoning=True)
    assert caught.value.text == '{"good":false}'


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_batch_end_their_thoughts_at_their_own_steps(kind):
    """A row that thinks long does not disturb one that answers already."""
    lm = make_lm(kind)
    rows = [
        ids(lm, *THOUGHTS, "</think>", "\n\n", *ANSWER),
        ids(lm, "</think>", "\n\n", *FALSE),
        ids(lm, *["a"] * 60),
    ]
    lm.model.script(rows)
    found = lm.batch(["x", "x", "x"], Mood, reasoning=40, show_schema=False)
    assert not any(isinstance(each, Failure) for each in found)
    assert [each.good for each in found[:2]] == [True, False]


def test_generators_and_calls_take_the_option():
    """It is an option like every other: of a generator, of a call of the model, and of its async forms."""
    lm = make_lm()
    script = ids(lm, "hm", "</think>", "\n\n", *ANSWER)
    lm.model.script([script], [script])
    assert schemagen.Generator(lm, Mood, reasoning=8).run("Well?").reasoning == "hm"
    assert lm("Well?", Mood, reasoning=8) == Mood(good=True)


@pytest.mark.parametrize("kind", KINDS)
def test_streams_tell_thoughts_first(kind):
    """The deltas are the thoughts, whole characters and nothing of the marker; then come the fields."""
    lm = make_lm(kind)
    lm.model.script([ids(lm, *THOUGHTS, "</think>", "\n\n", *ANSWER)])
    events = list(lm.stream("Well?", Mood, reasoning=True))
    told = [event.text for event in events if isinstance(event, ReasoningDelta)]
    assert "".join(told) == "".join(THOUGHTS)
    assert len(told) > 5
    kinds = [type(event) for event in events]
    assert ReasoningDelta not in kinds[len(told) :]
    last = events[-1]
    assert isinstance(last, Completed)
    assert (last.text, last.generation.reasoning) == ('{"good":true}', "".join(THOUGHTS))
    assert [event.text for event in events if isinstance(event, Delta)] == ["true"]
    assert last.generation.reasoning_tokens == len(ids(lm, *THOUGHTS, "</think>", "\n\n"))


def test_streams_of_tokens_that_hold_both():
    """A token with the end of the marker and the beginning of the answer belongs to both."""
    lm = make_lm("text")
    lm.model.script([ids(lm, "x<", '/think>\n\n{"', *ANSWER[2:])])
    events = list(lm.stream("Well?", Mood, reasoning=True))
    assert [event.text for event in events if isinstance(event, ReasoningDelta)] == ["x"]
    assert events[-1].value == Mood(good=True)


def test_beams_think():
    """Beam search permutes thoughts and answers, and what it returns is both."""
    lm = make_lm()
    lm.model.script([ids(lm, "h", "m", "</think>", "\n\n", *ANSWER)])
    found = lm.run("Well?", Mood, reasoning=8, num_beams=3)
    assert (found.reasoning, found.value) == ("hm", Mood(good=True))
    with pytest.raises(OptionError, match="several results"):
        lm.run("Well?", Mood, reasoning=True, num_return_sequences=2)


def test_the_processor_takes_the_grammar():
    """Thoughts and an answer are one grammar for a decoding loop of one's own, too."""
    lm = make_lm()
    thinking = thinking_of(lm, Mood)
    lm.model.script([ids(lm, "hm", "</think>", "\n\n", *ANSWER)])
    start = lm.tokenizer(lm.render("Well?", Mood, reasoning=True), return_tensors="pt", add_special_tokens=False)
    output = lm.model.generate(
        input_ids=start["input_ids"],
        attention_mask=start["attention_mask"],
        logits_processor=[LogitsProcessor(thinking)],
        max_new_tokens=60,
        do_sample=False,
    )
    assert thinking.split(output[0, start["input_ids"].shape[1] :].tolist())[:2] == ('{"good":true}', "hm")


# --- templates, markers, refusals ---------------------------------------------------------------------------------------


def test_it_is_off_by_default():
    """Without the option the template switches thinking off, and nothing was thought."""
    lm = make_lm()
    lm.model.script([ids(lm, *ANSWER)])
    found = lm.run("Well?", Mood)
    assert (found.reasoning, found.reasoning_tokens) == (None, 0)
    assert lm.tokenizer.decode(lm.model.prompts[0][0]).endswith("<think>\n\n</think>\n\n")


def test_a_template_that_opens_the_thoughts_is_left_alone():
    """Models that always think have their marker in the prompt, once."""
    lm = make_lm(template="{{ messages[0].content }}<think>\n{# </think> #}")
    assert lm.render("Well?", bool, reasoning=True, show_schema=False) == "Well?<think>\n"


def test_a_template_that_closes_the_thoughts_is_refused():
    """If thinking cannot be switched on, nobody gets an answer without thoughts by surprise."""
    lm = make_lm(template="{{ messages[0].content }}<think>\n\n</think>\n\n")
    with pytest.raises(OptionError, match="over before they begin"):
        lm.run("Well?", Mood, reasoning=True)


@pytest.mark.parametrize("template", ["{{ messages[0].content }}", None])
def test_a_model_that_knows_no_thoughts_is_refused(template):
    """Without markers in the template the option is an error in every route, before the model works."""
    lm = make_lm(template=template)
    for route in (lm.run, lm.stream, lm.render):
        with pytest.raises(OptionError, match="no known way to think"):
            route("Well?", Mood, reasoning=True)
    with pytest.raises(OptionError, match="no known way to think"):
        lm.batch(["Well?"], Mood, reasoning=True)


def test_markers_of_ones_own():
    """Any words will do, with a chat template or without."""
    lm = make_lm("text", template=None)
    lm.model.script([ids(lm, "It", " ", "is", ".", " ", "Answer:", " ", *ANSWER)])
    found = lm.run("Well?", Mood, reasoning=Reasoning(50, begin="Thoughts: ", end="Answer: "), show_schema=False)
    assert (found.reasoning, found.value) == ("It is.", Mood(good=True))
    assert lm.tokenizer.decode(lm.model.prompts[0][0]) == "Well?\nThoughts: "


def test_the_bundled_model_thinks_with_markers_only(bundled_lm):
    """It was not trained to think: the option alone is an error, markers make it try."""
    with pytest.raises(OptionError, match="Reasoning"):
        bundled_lm.run("Well?", bool, reasoning=True)
    found = bundled_lm.run("Well?", Literal["a", "b"], reasoning=Reasoning(8, begin="Hm: ", end="\nSo: "))
    assert found.value in {"a", "b"}
    assert found.reasoning is not None


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "yes", "1"])
def test_what_cannot_be_meant_is_refused(wrong):
    """Reasoning is a bool, a number of tokens from 1, or a `Reasoning`."""
    with pytest.raises(OptionError, match="reasoning="):
        make_lm().run("Well?", Mood, reasoning=wrong)


@pytest.mark.parametrize("parts", [{"begin": "<x>"}, {"end": " \n"}, {"max_tokens": 0}])
def test_markers_that_cannot_be_meant_are_refused(parts):
    """A begin needs an end, an end needs more than whitespace, and thoughts a token."""
    with pytest.raises(OptionError):
        Reasoning(**parts)


def test_a_marker_that_ends_the_text_is_refused():
    """Behind EOS nothing is generated."""
    with pytest.raises(OptionError, match="no answer could follow"):
        make_lm().run("Well?", Mood, reasoning=Reasoning(end="<eos>"))


def test_a_marker_that_cannot_be_written_is_refused():
    """Without tokens for its bytes the thoughts could not be ended."""
    vocabulary = schemagen.Vocabulary.from_tokens(["a", '"', None], eos_token_ids=[2])
    grammar = schemagen.compile(schemagen.Choice(["a"]), vocabulary)
    with pytest.raises(OptionError, match="cannot write"):
        ReasoningFormat("", "</think>", 5, ()).before(grammar)


def test_a_bounded_answer_has_room():
    """Bounded types have whole answers, whatever was thought."""
    lm = make_lm()
    lm.model.script([ids(lm, *["a"] * 400)])
    found = lm.run("Well?", Annotated[int, Field(ge=0, le=9)], reasoning=3, max_new_tokens=9)
    assert found.value in range(10)

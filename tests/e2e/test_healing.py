"""Token healing: the answer may share a token with the end of the prompt; and how likely a model finds a text."""

import math

import pytest

import schemagen
from schemagen import OptionError, Regex, Vocabulary
from schemagen.prompts.healing import heal

torch = pytest.importorskip("torch")

WORDS = [
    b"The",
    b" link",
    b" is",
    b" http",
    b":",
    b"://",
    b"//",
    b"/",
    b"a",
    b"b",
    b" ",
    b" a",
    b"http:",
    b"\xc3",
    b"\xc3\xa9",
    None,
]
VOCABULARY = Vocabulary.from_tokens(WORDS, eos_token_ids=[len(WORDS) - 1])
IDS = {data: token for token, data in enumerate(WORDS)}


@pytest.mark.parametrize(
    ("prompt", "opened"),
    [
        ([b"The", b" link", b" http", b":"], ":"),  # "://" begins so
        ([b"The", b" "], " "),  # " a", " http"
        ([b"The", b" link", b" is"], ""),
        ([b"The", b" http", b":", b"/", b"/"], "/"),
        ([b" "], ""),  # a prompt has a token at least
        ([b"The", b"\xc3"], ""),  # half a character is no text
        ([b" is", None, b":"], ":"),
        ([None], ""),
    ],
)
def test_what_is_opened_is_the_beginning_of_another_token(prompt, opened):
    """As much as one token can hold together with something of the answer, and no special token."""
    token_ids = tuple(IDS[piece] for piece in prompt)
    grammar = schemagen.compile(Regex("(//)?[ab]"), VOCABULARY, cache=None)
    healed = heal(token_ids, grammar)
    if not opened:
        assert healed is None
        return
    assert healed.text == opened
    assert VOCABULARY.decode((*healed.token_ids,)) + opened.encode() == VOCABULARY.decode(token_ids)


def test_the_masks_of_an_open_end_are_exact():
    """Behind a prompt the text may be written by every token that agrees with its end and an answer, and no other."""
    grammar = schemagen.compile(Regex("//[ab]"), VOCABULARY, cache=None)
    healed = heal((IDS[b"The"], IDS[b" http"], IDS[b":"]), grammar)
    matcher = healed.constraint.matcher()
    assert [WORDS[token] for token in matcher.allowed_tokens()] == [b":", b"://"]
    assert matcher.accept_token(IDS[b"://"])
    assert [WORDS[token] for token in matcher.allowed_tokens()] == [b"a", b"b"]


def test_an_answer_is_healed(bundled_lm):
    """The value is of the type, the end of the prompt is no part of its text; in a batch and with drafts as well."""
    prompt, options = "The colours are red, gre", {"chat_template": False, "show_schema": False}
    spec = Regex("(en|y), [a-z]{3,9}")
    found = bundled_lm.run(prompt, spec, heal=True, **options)
    assert found.value == found.text
    assert found.text.startswith(("en, ", "y, "))
    written = bundled_lm.vocabulary.decode(found.token_ids)
    assert written.endswith(found.text.encode())
    assert len(written) > len(found.text)
    assert bundled_lm.batch([prompt] * 2, spec, heal=True, **options) == [found.value] * 2
    assert bundled_lm.run(prompt, spec, **options).prompt_tokens > found.prompt_tokens


def test_healing_goes_with_no_thoughts(bundled_lm):
    """Both want the text directly after the prompt; and the option is a flag."""
    with pytest.raises(OptionError):
        bundled_lm.run("a", Regex("b"), heal=True, reasoning=True)
    with pytest.raises(OptionError):
        bundled_lm.run("a", Regex("b"), heal=1)


def test_the_model_tokenizes_by_itself(bundled_lm):
    """Token for token the likeliest that agrees with the text (algorithm 3 of DOMINO), by a search over the vocabulary."""
    text = '{"name": "Ada Lovelace", "age": 36}'
    found = bundled_lm.score("Ada Lovelace, 36, London", text)
    assert bundled_lm.vocabulary.decode(found.token_ids) == text.encode()
    prompt = bundled_lm.tokenizer.apply_chat_template(
        [{"role": "user", "content": "Ada Lovelace, 36, London"}], add_generation_prompt=True, tokenize=False
    )
    ids = bundled_lm.tokenizer(prompt, add_special_tokens=False)["input_ids"]
    rest, expected, surprise = text.encode(), [], 0.0
    while rest:
        with torch.inference_mode():
            scores = bundled_lm.model(torch.tensor([[*ids, *expected]])).logits[0, -1].log_softmax(-1)
        fitting = [i for i, data in enumerate(bundled_lm.vocabulary.tokens) if data and rest.startswith(data)]
        best = max(fitting, key=lambda i: float(scores[i]))
        surprise -= float(scores[best])
        expected.append(best)
        rest = rest[len(bundled_lm.vocabulary.tokens[best]) :]
    assert list(found.own_token_ids) == expected
    assert found.own_perplexity == pytest.approx(math.exp(surprise / len(expected)), rel=1e-4)
    assert found.own_perplexity <= found.perplexity * 1.0001 or found.own_token_ids != found.token_ids


def test_nothing_has_no_score(bundled_lm):
    """An empty text is refused."""
    with pytest.raises(schemagen.GenerationError):
        bundled_lm.score("a", "")


def test_what_cannot_be_scored_is_refused(bundled_lm):
    """No text, and one that the model cannot read at once."""
    with pytest.raises(OptionError, match="score"):
        bundled_lm.score("a", 5)
    with pytest.raises(schemagen.BudgetError, match="the context of the model 512"):
        bundled_lm.score("a", "word " * 600)

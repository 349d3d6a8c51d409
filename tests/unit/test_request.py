"""The steps of a request, one by one; `tests/e2e` and `tests/calling` take the whole walk."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel

import schemagen
from schemagen.calling.request import CallForm, CallRequest, ModelTurn, resolve
from schemagen.decode.generate import Decoded
from schemagen.errors import OptionError, ValidationFailed, VocabularyError
from schemagen.generation import Generation
from schemagen.options.reasoning import Reasoning
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.settings import ModelAccess, Settings, reasoning_format


def even(number: int) -> int:
    """Refuse odd numbers, as no schema says it."""
    if number % 2:
        raise ValueError("must be even")
    return number


class Even(BaseModel):
    number: Annotated[int, AfterValidator(even)]


class Bytes:
    """A tokenizer of bytes; a text that no template wrote begins with token 256."""

    chat_template = None
    model_max_length = 10

    def __call__(self, text, *, add_special_tokens, verbose=True):
        self.verbose = verbose
        return {"input_ids": [*([256] if add_special_tokens else []), *text.encode()]}

    def get_vocab(self):
        return {}


class Access(ModelAccess):
    """A model that writes nothing."""

    vocabulary = schemagen.Vocabulary.byte_vocabulary()

    def __init__(self):
        self.model = SimpleNamespace(config=SimpleNamespace(max_position_embeddings=10), device="cpu")
        self.tokenizer = Bytes()

    def compile(self, spec, **layout):
        return schemagen.compile(spec, self.vocabulary, **layout)


@pytest.fixture
def access():
    """A model with a vocabulary of bytes."""
    return Access()


def decoded(text: str, seconds: float = 1.0) -> Decoded:
    """Return what a model wrote."""
    return Decoded(text, (*text.encode(), 256), 3, seconds, 0.5)


def request_of(access, spec, form=None, **settings) -> AnswerRequest:
    """Return the first attempt at a spec."""
    form = form or AnswerForm()
    return AnswerRequest.of(Settings(access, {}, **settings), form, "x", form.grammar(access, spec))


def test_a_complete_request_is_a_generation(access):
    """The value is that of the type; the circumstances are those of the decoding."""
    found = request_of(access, Even).complete(decoded('{"number": 2}'))
    assert isinstance(found, Generation)
    assert found.value == Even(number=2)
    assert (found.text, found.prompt_tokens, found.seconds, found.masked_mass) == ('{"number": 2}', 3, 1.0, 0.5)
    assert (found.attempts, found.reasoning, found.reasoning_tokens) == (1, None, 0)


def test_a_refused_answer_is_the_next_request(access):
    """It tells the model why, and counts time and attempts; the request itself is as before."""
    first = request_of(access, Even, retries=1)
    before = dataclasses.replace(first, messages=[*first.messages])
    second = first.complete(decoded('{"number": 3}'))
    assert isinstance(second, AnswerRequest)
    assert first == before
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    assert second.messages[1]["content"] == '{"number": 3}'
    assert "must be even" in second.messages[2]["content"]
    found = second.complete(decoded('{"number": 4}', seconds=2.0))
    assert isinstance(found, Generation)
    assert (found.value.number, found.attempts, found.seconds) == (4, 2, 3.0)


@pytest.mark.parametrize("retries", [0, 2])
def test_the_last_refusal_raises(access, retries):
    """The error counts the attempts, and has pydantic's for its cause."""
    request = request_of(access, Even, retries=retries)
    for _ in range(retries):
        request = request.complete(decoded('{"number": 3}'))
    with pytest.raises(ValidationFailed, match="must be even") as caught:
        request.complete(decoded('{"number": 5}'))
    assert caught.value.attempts == retries + 1
    assert caught.value.__cause__ is caught.value.error


def test_a_prepared_request_is_tokens_and_a_constraint(access):
    """Without a template the tokenizer adds its special tokens, and does not warn of what is refused for its length."""
    request = request_of(access, Even, AnswerForm(show_schema=False))
    prepared = request.prepare()
    assert prepared.token_ids == (256, *b"x\n")
    assert prepared.constraint is request.grammar
    assert not access.tokenizer.verbose


def test_thoughts_are_part_of_the_constraint_and_not_of_the_text(access):
    """What was thought is taken off before the answer is validated."""
    thinker = reasoning_format(access, Reasoning(begin="<t>", end="</t>"))
    request = request_of(access, Even, AnswerForm(whitespace="compact"), thinker=thinker)
    assert request.prepare().constraint is request.thinking
    assert request.render()[0].endswith("<t>")
    found = request.complete(decoded('hm</t>{"number":2}'))
    assert (found.value.number, found.text, found.reasoning) == (2, '{"number":2}', "hm")
    assert found.reasoning_tokens == len("hm</t>")


def test_a_grammar_of_another_model_is_refused(access):
    """Its masks would mean other tokens."""
    other = schemagen.Vocabulary.from_tokens([b"a", None], eos_token_ids=(1,))
    with pytest.raises(VocabularyError):
        AnswerForm().grammar(access, schemagen.compile(schemagen.Regex("a"), other))


def test_flags_of_a_form_are_flags():
    """Anything else would count as True or False without a word."""
    with pytest.raises(OptionError, match="show_schema"):
        AnswerForm(show_schema="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("strict", [True, False])
def test_refused_arguments_are_a_retry_or_part_of_the_turn(access, strict):
    """A call has to be right; in a chat the model is told with the next request."""

    def halve(number: Annotated[int, AfterValidator(even)]) -> int:
        """Halve a number."""
        return number // 2

    form = CallForm.of(access, [halve], parallel=False, profile="hermes", strict=strict)
    settings = Settings(access, {}, retries=1)
    messages = [{"role": "user", "content": "x"}]
    request = CallRequest.of(settings, form, messages, resolve(form.tools, "required"))
    text = '<tool_call>\n{"name": "halve", "arguments": {"number": 3}}\n</tool_call>'
    found = request.complete(decoded(text))
    if strict:
        assert isinstance(found, CallRequest)
        assert [message["role"] for message in found.messages] == ["user", "assistant", "tool"]
        assert "must be even" in found.messages[2]["content"]
    else:
        assert isinstance(found, Generation)
        assert isinstance(found.value, ModelTurn)
        (result,) = found.value.found
        assert "must be even" in result.text


def test_a_refusal_names_the_option_and_the_type():
    """How to ask again, how often it was asked, and no schema of pydantic's core in the place of a name."""
    from typing import Annotated

    from pydantic import AfterValidator, FilePath, TypeAdapter, ValidationError

    from schemagen.grammar.refusals import after_attempts, refused_by_type

    for spec in (FilePath, Annotated[int, AfterValidator(lambda value: int("x" * value))]):
        with pytest.raises(ValidationError) as caught:
            TypeAdapter(spec).validate_json('"/no/such"' if spec is FilePath else "3")
        told = after_attempts(refused_by_type("3", caught.value), "3", 1)
        assert told.fact.startswith("a validator of the type refused the value: ")
        assert "retries=1" in told.fix
        assert "1 attempt, 1 error" in told.why


def test_the_repr_of_a_generation_is_short():
    """It does not show every token."""
    from schemagen.generation import Generation

    assert "token_ids" not in repr(Generation(1, "1", tuple(range(500)), 3, 0.0, None))

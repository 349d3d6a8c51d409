"""A real vLLM engine with schemagen in the slot, on the CPU with the bundled model; minutes, and not a part of the usual run.

    SCHEMAGEN_VLLM_SLOT=outlines python -m pytest integrations/vllm/tests/test_engine.py -m engine -n 0

The README says how an environment for it is made.
"""

import os
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import schemagen
import schemagen_vllm
from tests_of_plugin import BUNDLED, GRAMMARS

pytestmark = pytest.mark.engine
NGRAM = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
MOST = 120
Short = Annotated[str, Field(max_length=16)]


class Person(BaseModel):
    """A person."""

    name: Short
    age: int = Field(ge=0, le=150)
    city: Short


class Ticket(BaseModel):
    """A ticket."""

    code: str = Field(pattern="^[A-Z]{2}-[0-9]{3}$")
    urgent: bool
    kind: Literal["bug", "wish", "question"]


class Part(BaseModel):
    """A part of a list."""

    name: Short
    count: int = Field(ge=1, le=99)


class Order(BaseModel):
    """An order."""

    parts: list[Part] = Field(min_length=1, max_length=2)
    note: Short | None


SPECS = {
    "object": Person,
    "formats": Ticket,
    "nested": Order,
    "distinct": {"type": "array", "items": {"enum": [1, 2, 3, 4]}, "uniqueItems": True, "minItems": 2, "maxItems": 3},
    "union": {"anyOf": [{"type": "integer", "minimum": -999, "maximum": 999}, {"type": "string", "maxLength": 16}]},
}
NAMES = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Emmy Noether", "Kurt Goedel"]
CITIES = ["London", "New York", "Wilmslow", "Erlangen", "Wien", "Paris", "Rome", "Oslo", "Lima", "Cairo"]
PROMPTS = [f"{name}, {20 + 3 * place}, {city}" for name in NAMES for place, city in enumerate(CITIES)]


@pytest.fixture(scope="module", params=[None, NGRAM], ids=["plain", "ngram"])
def engine(request):
    """An engine, without and with speculation."""
    vllm = pytest.importorskip("vllm")
    os.environ["SCHEMAGEN_VLLM_SLOT"] = "outlines"
    options = {} if request.param is None else {"speculative_config": request.param}
    made = vllm.LLM(
        model=str(BUNDLED),
        dtype="float32",
        max_model_len=512,
        enforce_eager=True,
        max_num_seqs=16,
        structured_outputs_config={"backend": "outlines"},
        disable_log_stats=True,
        **options,
    )
    made.speculates = request.param is not None
    yield made
    made.llm_engine.engine_core.shutdown()


@pytest.fixture(scope="module")
def lm():
    """The same model in our own loop."""
    return schemagen.load_bundled()


def asked(engine, lm, spec, max_tokens, **options):
    """Return the answers of an engine to all prompts."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    ids = [lm.tokenizer(lm.render(prompt, spec), add_special_tokens=False)["input_ids"] for prompt in PROMPTS]
    params = SamplingParams(
        max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(json=schemagen_vllm.schema(spec)), **options
    )
    return engine.generate([{"prompt_token_ids": each} for each in ids], params, use_tqdm=False)


@pytest.mark.parametrize("name", SPECS)
def test_greedy_texts_are_those_of_our_own_loop(engine, lm, name):
    """50 prompts: the same characters, with drafts and rollbacks or without."""
    spec = SPECS[name]
    theirs = [answer.outputs[0].text for answer in asked(engine, lm, spec, MOST, temperature=0)]
    ours = [lm.run(prompt, spec, max_new_tokens=MOST).text for prompt in PROMPTS]
    assert theirs == ours


@pytest.mark.parametrize("temperature", [0, 1.5])
@pytest.mark.parametrize("more", [0, 1, 4])
@pytest.mark.parametrize("name", SPECS)
def test_no_text_is_cut_by_its_budget(engine, lm, name, more, temperature):
    """With as many tokens as the shortest text takes, and a few more, all 50 answers are whole. Not promised with drafts."""
    if engine.speculates:
        pytest.skip("no budget is kept under speculation")
    spec = SPECS[name]
    answers = asked(engine, lm, spec, lm.compile(spec).min_new_tokens + more, temperature=temperature, seed=more)
    values = [schemagen_vllm.value(spec, answer) for answer in answers]
    assert not [value for value in values if isinstance(value, schemagen.Failure)]


@pytest.mark.parametrize(
    "request_",
    [
        {"json": {"$ref": "https://example.org/x"}},
        {"json": {"type": "object", "unevaluatedThing": 1, "minProperties": 3, "maxProperties": 2}},
        {"regex": "(a"},
        {"grammar": "root ::= other"},
        {"structural_tag": '{"a": 1}'},
    ],
)
def test_a_bad_request_is_refused_before_it_is_taken(engine, request_):
    """The error is vLLM's own for what a client did wrong, HTTP 400, and the engine lives."""
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    params = SamplingParams(max_tokens=40, structured_outputs=StructuredOutputsParams(**request_))
    with pytest.raises(VLLMValidationError, match="code:"):
        engine.generate([{"prompt_token_ids": [5]}], params, use_tqdm=False)
    good = SamplingParams(max_tokens=40, structured_outputs=StructuredOutputsParams(regex="[a-c]{3}"))
    answer = engine.generate([{"prompt_token_ids": [5]}], good, use_tqdm=False)[0]
    assert set(answer.outputs[0].text) <= set("abc")


def test_too_small_a_budget_is_refused(engine):
    """A text that cannot end within max_tokens is an error that says how many it takes."""
    from vllm import SamplingParams
    from vllm.exceptions import VLLMValidationError
    from vllm.sampling_params import StructuredOutputsParams

    params = SamplingParams(max_tokens=3, structured_outputs=StructuredOutputsParams(regex="[0-9]{40}"))
    with pytest.raises(VLLMValidationError, match="the shortest text takes"):
        engine.generate([{"prompt_token_ids": [5]}], params, use_tqdm=False)


def test_the_installed_vllm_is_the_one_of_the_contract():
    """The guard accepts it, and it tells lark from EBNF as we do."""
    vllm = pytest.importorskip("vllm")
    from vllm.v1.structured_output.utils import grammar_is_likely_lark

    from schemagen_vllm import guard

    guard.check(vllm.__version__)
    assert [grammar_is_likely_lark(text) for text, _ in GRAMMARS if text] == [found for text, found in GRAMMARS if text]

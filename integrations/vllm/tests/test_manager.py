"""vLLM's own manager of structured outputs with our backend, without an engine: what its scheduler calls, in its order."""

import json
import os
from types import SimpleNamespace

import numpy as np
import pytest

import schemagen
import schemagen_vllm

pytestmark = pytest.mark.engine


def manager_of(tokenizer, *, drafts=0, reasoner=None):
    """Return vLLM's manager on the fields that it reads of a configuration."""
    pytest.importorskip("vllm")
    os.environ["SCHEMAGEN_VLLM_SLOT"] = "outlines"
    from schemagen_vllm.slot import register

    register()
    from vllm.v1.structured_output import StructuredOutputManager, backend_outlines

    config = SimpleNamespace(
        scheduler_config=SimpleNamespace(max_num_seqs=8),
        speculative_config=SimpleNamespace(num_speculative_tokens=drafts) if drafts else None,
        num_speculative_tokens=drafts,
        structured_outputs_config=SimpleNamespace(
            reasoning_parser="", reasoning_parser_plugin="", enable_in_reasoning=False
        ),
        model_config=SimpleNamespace(
            skip_tokenizer_init=True,
            get_vocab_size=lambda: len(tokenizer),
            is_diffusion=False,
            max_model_len=512,
        ),
        parallel_config=SimpleNamespace(distributed_executor_backend=None),
    )
    manager = StructuredOutputManager(config)
    manager.backend = backend_outlines.OutlinesBackend(config, tokenizer=tokenizer, vocab_size=len(tokenizer))
    manager.tokenizer, manager.reasoner_cls = tokenizer, reasoner
    return manager


def request_of(manager, tokenizer, max_tokens=64, **asked):
    """Return a request of vLLM with its grammar."""
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.request import Request

    params = SamplingParams(max_tokens=max_tokens, structured_outputs=StructuredOutputsParams(**asked))
    params._all_stop_token_ids = {tokenizer.eos_token_id}
    request = Request("one", [1, 2, 3], params, None)
    request.structured_output_request.grammar = manager._create_grammar(request)
    return request


def masks(manager, request, drafts=()):
    """Return the tokens of the rows of a step."""
    rows = manager.grammar_bitmask({"one": request}, ["one"], {"one": list(drafts)} if drafts else {})
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    return [set(np.flatnonzero(row).tolist()) for row in bits[: 1 + len(drafts)]]


def write(manager, request, token):
    """Let the model write a token."""
    request.append_output_token_ids(token)
    assert manager.accept_tokens(request, [token])


def walk(manager, request, choose):
    """Write tokens until the text ends or its bound is reached, and return the text."""
    text = []
    while request.num_output_tokens < request.max_tokens:
        token = choose(masks(manager, request)[0])
        write(manager, request, token)
        if request.structured_output_request.grammar.is_terminated():
            break
        text.append(token)
    return text


@pytest.mark.parametrize(
    "asked",
    [
        {"json": json.dumps({"type": "array", "items": {"type": "string", "maxLength": 5}, "minItems": 1})},
        {"json_object": True},
        {"regex": "[0-9]{3,}-[a-z]+"},
        {"choice": ["yes", "no"]},
        {"grammar": 'root ::= "(" root? ")"'},
        {"grammar": 'start: "x" /[0-9]+/'},
        {
            "structural_tag": json.dumps(
                {"structures": [{"begin": "<n>", "schema": {}, "end": "</n>"}], "triggers": ["<n"]}
            )
        },
    ],
)
def test_every_kind_ends_within_its_budget(bundled, asked):
    """The greediest walk, the last token of each row, is whole after as many tokens as the shortest text takes."""
    manager = manager_of(bundled)
    least = request_of(manager, bundled, **asked).structured_output_request.grammar._matcher.tokens_to_finish()
    for most in (max(least, 1), least + 5):
        request = request_of(manager, bundled, max_tokens=most, **asked)
        walk(manager, request, max)
        assert request.structured_output_request.grammar._matcher.is_accepting() or (
            request.structured_output_request.grammar.is_terminated()
        )


def test_rows_of_drafts_are_those_of_the_text(bundled):
    """Each row with drafts is the row after them, and the step leaves the grammar where it was."""
    manager = manager_of(bundled, drafts=3)
    schema = json.dumps({"type": "array", "items": {"type": "integer"}})
    drafts = bundled.encode("[12", add_special_tokens=False)[:3]
    request = request_of(manager, bundled, json=schema)
    assert manager.backend.compile_grammar is not None
    rows = masks(manager, request, drafts)
    for place, token in enumerate(drafts):
        assert masks(manager, request)[0] == rows[place]
        write(manager, request, token)
    assert masks(manager, request)[0] == rows[len(drafts)]


def test_thoughts_are_free_and_count(bundled):
    """With a parser of reasoning the grammar begins after the thoughts, with the remaining tokens."""
    from vllm.reasoning.abs_reasoning_parsers import ReasoningParser

    end = bundled.encode("!", add_special_tokens=False)[-1]

    class Thinks(ReasoningParser):
        """Thoughts end with an exclamation mark."""

        def is_reasoning_end(self, input_ids):
            return end in input_ids

        def is_reasoning_end_streaming(self, input_ids, delta_ids):
            return end in delta_ids

        def extract_content_ids(self, input_ids):
            return input_ids

        def extract_reasoning(self, *arguments, **options):
            return None, None

        def extract_reasoning_streaming(self, *arguments, **options):
            return None

    manager = manager_of(bundled, reasoner=Thinks)
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 2}
    least = schemagen.compile(schema, schemagen.load_bundled().vocabulary).min_new_tokens
    thoughts = bundled.encode("well then", add_special_tokens=False)
    request = request_of(manager, bundled, max_tokens=least + len(thoughts) + 1, json=json.dumps(schema))
    for token in [*thoughts, end]:
        assert len(masks(manager, request)[0]) >= len(bundled)
        write(manager, request, token)
    text = bundled.decode(walk(manager, request, max))
    assert not isinstance(schemagen_vllm.value(schema, text), schemagen.Failure)

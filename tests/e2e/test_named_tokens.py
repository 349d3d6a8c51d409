"""Answers of grammars that name tokens, EOS among them, in every way of decoding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import schemagen
from schemagen.decode.device_processor import DeviceLogitsProcessor

MOST = 24
BODY = 'start: /[a-z ]{3,20}/ <|user|> %json {"type": "boolean"}'
SPECS = {
    "eos": schemagen.Lark(f"{BODY} <|eos|>", dialect="llguidance"),
    "free end": schemagen.Lark(BODY, dialect="llguidance"),
}


@pytest.fixture(scope="module")
def bundled() -> Any:
    """The model of the package, whose tokenizer has six special tokens."""
    return schemagen.load_bundled()


def check(lm: Any, spec: Any, token_ids: Any, text: str | None = None) -> None:
    """Check that tokens are a whole text of the grammar, and that its text is without the special ones."""
    user = next(token_id for token_id, name in lm.vocabulary.token_names.items() if name == "<|user|>")
    matcher = lm.compile(spec).matcher()
    for token_id in token_ids:
        assert matcher.accept_token(token_id), (token_id, token_ids)
    assert matcher.is_accepting()
    assert list(token_ids).count(user) == 1
    before, after = (lm.vocabulary.decode(part).decode() for part in _split(list(token_ids), user))
    assert before.strip("abcdefghijklmnopqrstuvwxyz ") == ""
    assert after in ("true", "false")
    assert text in (None, before + after)


def _split(token_ids: list[int], at: int) -> tuple[list[int], list[int]]:
    cut = token_ids.index(at)
    return token_ids[:cut], token_ids[cut + 1 :]


WAYS: list[dict[str, Any]] = [{}, {"num_beams": 2}, {"temperature": 1.5, "seed": 1}, {"max_new_tokens": MOST // 2}]


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
@pytest.mark.parametrize("options", WAYS, ids=repr)
def test_one_answer(bundled: Any, spec: Any, options: Any) -> None:
    """Greedy twice, for the second time what was read before is proposed; with beams, sampled, and in few tokens."""
    for _ in range(2):
        found = bundled.run("Say", spec, show_schema=False, **{"max_new_tokens": MOST, **options})
        check(bundled, spec, found.token_ids, found.text)
        assert found.value == found.text


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_streams_and_batches(bundled: Any, spec: Any) -> None:
    """The same text in pieces, and one for each prompt."""
    *_, last = bundled.stream("Say", spec, show_schema=False, max_new_tokens=MOST)
    check(bundled, spec, last.generation.token_ids, last.generation.text)
    for found in bundled.run_batch(["a", "bb b", "c"], spec, show_schema=False, max_new_tokens=MOST):
        check(bundled, spec, found.token_ids, found.text)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_tables_of_a_device(bundled: Any, spec: Any) -> None:
    """The processor that masks on the device ends where the grammar does."""
    grammar = bundled.compile(spec)
    processor = DeviceLogitsProcessor(grammar, max_new_tokens=MOST)
    inputs = bundled.tokenizer("hello", return_tensors="pt").input_ids
    ends = list(bundled.vocabulary.eos_token_ids)
    with torch.inference_mode():
        out = bundled.model.generate(
            inputs,
            logits_processor=[processor],
            max_new_tokens=MOST,
            eos_token_id=ends,
            pad_token_id=ends[0],
            do_sample=False,
        )
    processor.check()
    check(bundled, spec, out[0, inputs.shape[1] :].tolist())

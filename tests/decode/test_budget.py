"""How many tokens `generate` may write, read from options and configurations as `generate` reads them."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from schemagen.decode.budget import budget_of  # noqa: E402 - needs torch
from schemagen.decode.options import complete_options  # noqa: E402
from schemagen.options.table import DEFAULT_MAX_NEW_TOKENS  # noqa: E402
from tests.decode.tiny import EOS, llama  # noqa: E402

IDS = torch.tensor([[65, 66, 67]])


class _NoEnd(transformers.LogitsProcessor):
    """Lets no text end, so that its length is the budget."""

    def __call__(self, _, scores):
        """Forbid EOS."""
        return scores.index_fill(1, torch.tensor([EOS]), float("-inf"))


@pytest.mark.parametrize(
    ("own", "given"),
    [
        ({}, {"generation_config": {"max_new_tokens": 7}}),
        ({}, {"generation_config": {"max_length": 9}}),
        ({"max_new_tokens": 7}, {"generation_config": {}}),
        ({"max_length": 30}, {"generation_config": {}}),
        ({"max_new_tokens": 7}, {"generation_config": {"max_length": 30}}),
        ({"max_new_tokens": 7}, {"max_length": 30}),
        ({"max_length": 9}, {"max_new_tokens": 12}),
        ({}, {"generation_config": {"max_new_tokens": 7}, "max_length": 12}),
        ({"max_length": 9}, {"max_length": 12}),
    ],
)
def test_the_budget_is_what_generate_writes(own, given):
    """Options go first, then the configuration that is given, then the model's own."""
    model = llama(1)
    model.generation_config = transformers.GenerationConfig(pad_token_id=0, **own)
    if "generation_config" in given:
        given = {**given, "generation_config": transformers.GenerationConfig(**given["generation_config"])}
    written = model.generate(IDS, attention_mask=torch.ones_like(IDS), logits_processor=[_NoEnd()], **given)
    assert budget_of(model, complete_options(model, 3, given), 3) == written.shape[1] - 3


def test_a_configuration_without_a_limit_gets_the_default():
    """Instead of the 20 tokens that `generate` takes then."""
    model = llama(1)
    options = complete_options(model, 3, {"generation_config": transformers.GenerationConfig(do_sample=False)})
    assert options["max_new_tokens"] == min(DEFAULT_MAX_NEW_TOKENS, model.config.max_position_embeddings - 3)

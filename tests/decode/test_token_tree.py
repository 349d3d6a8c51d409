"""A tree of continuations has the scores that the model gives each whole text."""

from __future__ import annotations

import random

import pytest
import torch

from schemagen.decode.token_tree import TokenTree
from schemagen.errors import BudgetError
from tests.decode.tiny import llama

PROMPT = [1, 2, 3, 4]


class Plain:
    """A model that can only read whole texts."""

    def __init__(self, model):
        self.model, self.config, self.device = model, model.config, model.device

    def __call__(self, input_ids):
        """Read texts."""
        return self.model(input_ids=input_ids)


def expected(model, path):
    """Return the scores after a prompt and some tokens, read at once."""
    with torch.inference_mode():
        return model(input_ids=torch.tensor([[*PROMPT, *path]])).logits[0, -1]


@pytest.mark.parametrize("kept_bytes", [1 << 29, 1])
@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_whole_texts(seed, is_plain, kept_bytes):
    """In whatever order nodes are asked for, and whether their scores are kept or not."""
    draw = random.Random(seed)
    model = llama(seed, spread=0.5, layers=2)
    tree = TokenTree(Plain(model) if is_plain else model, PROMPT, kept_bytes=kept_bytes)
    nodes = [0]
    for _ in range(8):
        nodes += [tree.child(draw.choice(nodes), draw.randrange(4)) for _ in range(4)]
        asked = draw.sample(nodes, 3)
        for node, scores in zip(asked, tree.scores(asked), strict=True):
            assert torch.allclose(scores.double(), expected(model, tree.path(node)), atol=1e-5)
    assert torch.allclose(tree.log_probabilities([0]).exp().sum(), torch.tensor(1.0).double())


def test_each_token_is_read_once():
    """Known nodes cost no pass, and unread ancestors are read with their descendants."""
    tree = TokenTree(llama(1), PROMPT)
    deep = tree.node([5, 6, 7])
    tree.scores([deep])
    assert tree.passes == 1
    tree.scores([0, tree.node([5]), tree.node([5, 6]), deep])
    assert tree.passes == 2, "the scores of the ancestors were not asked for, so they were not kept"
    tree.scores([deep, tree.node([5]), 0])
    assert tree.passes == 2
    assert tree.node([5, 6, 7]) == deep
    assert len(tree) == 4


def test_a_text_beyond_the_context_is_an_error():
    """The model cannot read it, so nothing is asked."""
    tree = TokenTree(llama(1), PROMPT)
    with pytest.raises(BudgetError, match="513 tokens"):
        tree.scores([tree.node([5] * 509)])

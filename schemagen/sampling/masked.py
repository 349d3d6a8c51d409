"""`mask` and `awrs`: texts with the law of the mask, and the weight of each.

Idea: with *Z(t)* the probability of all allowed tokens at place *t*, a mask draws a text x with the probability p(x) / w(x),
where p is the model's and w(x) the product of the *Z(t)* along x. So with the weight w(x), averages over many texts are those
of the model's law among the texts of the language, and the mean of w is the probability that the model writes one of them.

`awrs` needs no mask (adaptive weighted rejection sampling, Lipkin et al. 2025, arXiv:2504.05410). It draws tokens without
replacement until one is allowed, which has the law of the mask. For the weight, it draws one more token y from those that were
not looked at: with x the token, B the refused ones, and R the probability of the others, *p(x) + R [y is allowed]* is *Z* in
expectation, whatever x and B are.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import torch

from schemagen.sampling.texts import Beginning, Law, draw

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Tokens that are refused at one place before a mask is computed.
_MOST = 64


def step_masked(law: Law, texts: Sequence[Beginning]) -> None:
    """Add a token to each text, drawn under the mask, and multiply its weight by the probability of the allowed ones.

    A text for which no allowed token has any probability ends, and weighs nothing.

    Cost: a pass of the model, and a mask for each text.
    """
    for text, chances in zip(texts, law.chances(texts), strict=True):
        _take_masked(law, text, chances)


def _take_masked(law: Law, text: Beginning, chances: torch.Tensor) -> None:
    allowed = torch.where(law.allowed(text, chances), chances, 0.0)
    mass = float(allowed.sum())
    if mass <= 0:
        text.is_dead, text.log_weight = True, float("-inf")
        return
    text.log_weight += log(min(mass, 1.0))
    law.extend(text, draw(allowed, text))


def step_checked(law: Law, texts: Sequence[Beginning]) -> None:
    """Add a token to each text, drawn until one is allowed, and multiply its weight by an estimate of their probability.

    After `_MOST` refused tokens a mask is computed, which knows the probability.

    Cost: a pass of the model, and a check of each drawn token.
    """
    for text, chances in zip(texts, law.chances(texts), strict=True):
        _take_checked(law, text, chances)


def _take_checked(law: Law, text: Beginning, chances: torch.Tensor) -> None:
    left = chances.clone()
    for _ in range(_MOST):
        if float(left.sum()) <= 0:
            text.is_dead, text.log_weight = True, float("-inf")
            return
        token_id = draw(left, text)
        is_allowed = law.allows(text, token_id)
        left[token_id] = 0.0
        if is_allowed:
            break
    else:
        _take_masked(law, text, chances)
        return
    rest = float(left.sum())
    is_more = rest > 0 and law.allows(text, draw(left, text))
    text.log_weight += log(min(float(chances[token_id]) + rest * is_more, 1.0))
    law.extend(text, token_id)

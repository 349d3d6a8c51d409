"""Drawing many texts of one prompt, by one of the samplers."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from schemagen.decode.token_tree import TokenTree
from schemagen.sampling.masked import step_checked, step_masked
from schemagen.sampling.particles import log_mean, particles
from schemagen.sampling.rejection import Rejection
from schemagen.sampling.texts import Beginning, Law

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from schemagen.engine.protocol import Constraint
    from schemagen.options.sampling import Sampling
    from schemagen.vocabulary.canonical import CanonicalText

Sampler: TypeAlias = Literal["rejection", "smc", "awrs", "mask"]
SAMPLERS: tuple[Sampler, ...] = ("rejection", "smc", "awrs", "mask")


@dataclass(frozen=True, slots=True)
class Drawn:
    """Texts, the estimate of the logarithm of the probability that the model writes a valid one, and the begun texts."""

    texts: list[Beginning]
    log_evidence: float
    attempts: int


def draw_texts(  # noqa: PLR0913 - a law, and how to draw from it
    model: Any,
    prompt: Sequence[int],
    constraint: Constraint,
    count: int,
    *,
    sampler: Sampler,
    sampling: Sampling,
    budget: int,
    seed: int,
    accepts: Callable[[Beginning], bool],
    max_attempts: int,
    canonical: CanonicalText | None = None,
) -> Drawn:
    """Draw texts.

    Args:
        model: A causal model of transformers.
        prompt: The tokens of the prompt.
        constraint: The constraint of the texts.
        count: How many.
        sampler: The sampler.
        sampling: How the law that is conditioned follows from the scores.
        budget: The maximum number of tokens of a text.
        seed: Of the random numbers.
        accepts: Whether a complete text is valid beyond its grammar. Others are drawn again by `rejection`, and weigh nothing
            with the other samplers.
        max_attempts: As for `Rejection`.
        canonical: As for `Law`.

    Raises:
        LimitError: As `Rejection.samples`.
        BudgetError: As `TokenTree.scores`.
    """
    law = Law(TokenTree(model, prompt), constraint, sampling, budget, canonical)
    if sampler == "rejection":
        rejection = Rejection(law, accepts, max_attempts=max_attempts)
        texts = list(rejection.samples(count, seed))
        return Drawn(texts, log(rejection.evidence), rejection.attempts)
    if sampler == "smc":
        texts = particles(law, count, seed)
    else:
        step = step_masked if sampler == "mask" else step_checked
        texts = [law.begin(seed + place) for place in range(count)]
        while live := [text for text in texts if not law.is_over(text)]:
            step(law, live)
    for text in texts:
        if text.is_dead or not accepts(text):
            text.log_weight = float("-inf")
    return Drawn(texts, log_mean([text.log_weight for text in texts]), count)

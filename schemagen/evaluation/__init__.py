"""How right answers are, with the constraint and without it: over examples whose right answers are known."""

from schemagen.evaluation.measure import Evaluation, Example, WayResult, evaluate
from schemagen.evaluation.rows import read_examples

__all__ = ["Evaluation", "Example", "WayResult", "evaluate", "read_examples"]

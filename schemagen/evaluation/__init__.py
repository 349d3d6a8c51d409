"""The accuracy of answers with and without the constraint, over examples whose right answers are known."""

from schemagen.evaluation.measure import Evaluation, Example, WayResult, evaluate
from schemagen.evaluation.rows import read_examples

__all__ = ["Evaluation", "Example", "WayResult", "evaluate", "read_examples"]

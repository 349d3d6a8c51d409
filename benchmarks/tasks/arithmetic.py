"""Word problems of one and two steps, answered with the steps and a number, as GSM8K is in structured form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tasks import words
from tasks.base import Example, Split, Task

if TYPE_CHECKING:
    import random
    from collections.abc import Callable


class Solution(BaseModel):
    """The thoughts come first, so that the number can follow from them."""

    reasoning: str
    answer: int


@dataclass(frozen=True, slots=True)
class _Problem:
    """A kind of problem.

    Attributes:
        text: The question.
        steps: The calculation of the steps.
        solve: Returns the answer for the numbers a, b and c.
    """

    text: str
    steps: str
    solve: Callable[[int, int, int], int]


_PROBLEMS = {
    "tune": (
        _Problem(
            "{name} has {a} {things} and buys {b} more. How many {things} does {name} have now?",
            "{name} starts with {a} and buys {b} more: {a} + {b} = {answer}.",
            lambda a, b, _: a + b,
        ),
        _Problem(
            "A box holds {b} {things}. How many {things} are in {c} boxes?",
            "There are {c} boxes with {b} in each: {c} * {b} = {answer}.",
            lambda _, b, c: b * c,
        ),
        _Problem(
            "{name} had {more} {things} and lost {b}. How many {things} are left?",
            "{name} had {more} and lost {b}: {more} - {b} = {answer}.",
            lambda a, _, __: a,
        ),
        _Problem(
            "{name} has {c} bags with {b} {things} in each, and {a} {things} on the table. How many {things} are there?",
            "The bags hold {c} * {b} = {product}. With those on the table: {product} + {a} = {answer}.",
            lambda a, b, c: b * c + a,
        ),
    ),
    "test": (
        _Problem(
            "{name} finds {a} {things} on Monday and {b} on Tuesday. How many {things} is that?",
            "{a} + {b} = {answer}.",
            lambda a, b, _: a + b,
        ),
        _Problem(
            "There are {more} {things} in a jar. {name} takes out {b}. How many stay in the jar?",
            "{more} - {b} = {answer}.",
            lambda a, _, __: a,
        ),
        _Problem(
            "{name} packs {c} bags. Each bag gets {b} {things}. How many {things} does {name} pack?",
            "{c} * {b} = {answer}.",
            lambda _, b, c: b * c,
        ),
        _Problem(
            "{name} puts {product} {things} into {c} bags, the same number in each. How many are in a bag?",
            "{product} / {c} = {answer}.",
            lambda _, b, __: b,
        ),
        _Problem(
            "{name} owns {a} {things}. A friend gives {name} {c} packs with {b} {things} each. How many {things} is that?",
            "The packs hold {c} * {b} = {product}. Together: {a} + {product} = {answer}.",
            lambda a, b, c: a + b * c,
        ),
        _Problem(
            "{name} buys {b} {things} for {c} dollars each and pays with 100 dollars. How many dollars are left?",
            "{b} * {c} = {product}. 100 - {product} = {answer}.",
            lambda _, b, c: 100 - b * c,
        ),
    ),
}


def _sum(source: random.Random, split: Split) -> Example:
    problem = source.choice(_PROBLEMS[split])
    a, b, c = source.randrange(11, 60), source.randrange(3, 10), source.randrange(2, 10)
    name, things = source.choice(words.FIRST_NAMES[split]), source.choice(words.THINGS[split])
    answer = problem.solve(a, b, c)
    filled = {"name": name, "things": things, "a": a, "b": b, "c": c, "more": a + b, "product": b * c, "answer": answer}
    return Example(
        f"Solve the problem step by step.\n\nProblem: {problem.text.format_map(filled)}",
        {"reasoning": problem.steps.format_map(filled), "answer": answer},
    )


#: With worked examples, as is usual with such problems: without them this model writes no steps at all.
SUM = Task("arithmetic", "word problems with reasoning", Solution, _sum, 112, frozenset({"reasoning"}), shots=4)

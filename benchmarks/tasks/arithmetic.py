"""Word problems of one and two steps, answered with the steps and a number, as GSM8K is in structured form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from tasks import words
from tasks.base import Example, Split, Task

if TYPE_CHECKING:
    import random


class Solution(BaseModel):
    """The thoughts come first, so that the number can follow from them."""

    reasoning: str
    answer: int


#: Split -> a problem, and its answer for the numbers a, b and c.
_PROBLEMS = {
    "tune": (
        ("{name} has {a} {things} and buys {b} more. How many {things} does {name} have now?", lambda a, b, _: a + b),
        ("A box holds {b} {things}. How many {things} are in {c} boxes?", lambda _, b, c: b * c),
        ("{name} had {big} {things} and lost {b}. How many {things} are left?", lambda a, b, _: a + b - b),
        (
            "{name} has {c} bags with {b} {things} in each, and {a} {things} on the table. How many {things} are there?",
            lambda a, b, c: b * c + a,
        ),
    ),
    "test": (
        ("{name} finds {a} {things} on Monday and {b} on Tuesday. How many {things} is that?", lambda a, b, _: a + b),
        (
            "There are {big} {things} in a jar. {name} takes out {b}. How many stay in the jar?",
            lambda a, b, _: a + b - b,
        ),
        (
            "{name} packs {c} bags. Each bag gets {b} {things}. How many {things} does {name} pack?",
            lambda _, b, c: b * c,
        ),
        (
            "{name} puts {product} {things} into {c} bags, the same number in each. How many are in a bag?",
            lambda _, b, __: b,
        ),
        (
            "{name} owns {a} {things}. A friend gives {name} {c} packs with {b} {things} each. How many {things} is that?",
            lambda a, b, c: a + b * c,
        ),
        (
            "{name} buys {b} {things} for {c} dollars each and pays with {note} dollars. How many dollars are left?",
            lambda _, b, c: 100 - b * c,
        ),
    ),
}


def _sum(source: random.Random, split: Split) -> Example:
    text, solve = source.choice(_PROBLEMS[split])
    a, b, c = source.randrange(11, 60), source.randrange(3, 10), source.randrange(2, 10)
    name, things = source.choice(words.FIRST_NAMES[split]), source.choice(words.THINGS[split])
    problem = text.format(name=name, things=things, a=a, b=b, c=c, big=a + b, product=b * c, note=100)
    answer = solve(a, b, c)
    return Example(f"Solve the problem step by step.\n\nProblem: {problem}", {"reasoning": "", "answer": answer})


SUM = Task("arithmetic", "word problems with reasoning", Solution, _sum, 112, frozenset({"reasoning"}))

"""Texts that join a batch are read in groups of like length."""

from __future__ import annotations

import random

import pytest

from schemagen.decode.cached_rows import _PASS, _alike
from schemagen.decode.text import Text


def jobs_of(lengths):
    """Return jobs whose prompts are so long."""
    return [Text((1,) * length, None, None, 8) for length in lengths]


def cost(group):
    """Return how many positions a pass over a group has, and what the pass itself costs."""
    return len(group) * max(len(job.token_ids) for job in group) + _PASS


@pytest.mark.parametrize("seed", range(20))
def test_groups_hold_each_text_once_and_cost_less_than_one_pass(seed):
    """No text is lost or read twice, and the groups are never dearer than one pass over all."""
    draw = random.Random(seed)
    jobs = jobs_of([draw.choice([3, 40, 45, 70, 300]) for _ in range(draw.randrange(1, 40))])
    groups = _alike(jobs)
    assert sorted(id(job) for group in groups for job in group) == sorted(map(id, jobs))
    assert sum(map(cost, groups)) <= cost(jobs)


def test_what_a_text_has_written_counts():
    """A text that goes on after others came is as long as its prompt and what it has written."""
    short, long, other = jobs_of([10, 10, 300])
    long.generated = [5] * 290
    assert _alike([short, long, other]) == [[long, other], [short]]


def test_texts_of_one_length_are_read_in_one_pass():
    """Where a group of its own would save little, there is one."""
    assert len(_alike(jobs_of([70, 68, 70, 69]))) == 1
    assert _alike([]) == []

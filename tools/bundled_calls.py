"""Generates prompts for six tools, with the call that answers each: to measure tool calling.

    >>> next(call_examples(seed=1, held_out=True)).prompt  # doctest: +SKIP
    'Set a timer for 12 minutes'

The tools have fixed names and parameters, as tools of a user have; the sentences are those of `bundled_requests`. Every
example is a function of the seed alone, and `held_out=True` uses words and sentences that training never sees: both are split
by a hash, the words by `bundled_world`, the sentences by `bundled_requests`. A share of the prompts asks for nothing
that a tool can do: the right answer is words.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundled_dialogues import Offer, not_possible, offer_of, others, request, small_talk as talk
from bundled_requests import BASIC, REFUSALS, Skill
from bundled_world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SMALL_TALK_SHARE = 0.15


def get_weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Say what the weather is like in a city."""
    return f"sunny in {city}, 21 degrees {unit}"


def send_mail(to: str, subject: str) -> str:
    """Send an email."""
    return f"sent to {to}: {subject}"


def search(query: str) -> str:
    """Search the web."""
    return f"no results for {query}"


def set_timer(minutes: int) -> str:
    """Set a timer."""
    return f"{minutes} minutes from now"


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def play_music(song: str, artist: str) -> str:
    """Play a song."""
    return f"playing {song} by {artist}"


TOOLS: tuple[Callable[..., Any], ...] = (get_weather, send_mail, search, set_timer, add, play_music)


@dataclass(frozen=True)
class CallExample:
    """One example.

    Attributes:
        prompt: What the user writes.
        tools: Those that are offered, in the order in which they are shown.
        name: The tool to call; empty if none of them helps.
        arguments: The right arguments.
        words: The answer where there is no call.
    """

    prompt: str
    tools: tuple[Callable[..., Any], ...]
    name: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()
    words: str = ""

    def target(self) -> str:
        """Return the answer as the bundled model should write it: a call of the format "plain", or words."""
        if not self.name:
            return self.words
        return json.dumps({"name": self.name, "arguments": dict(self.arguments)}, ensure_ascii=False)


def call_examples(seed: int, *, held_out: bool = False, small_talk: bool = False) -> Iterator[CallExample]:
    """Yield examples without end.

    Args:
        seed: Decides everything.
        held_out: Use the words and sentences that training never sees, and always offer all six tools.
        small_talk: Whether some prompts ask for nothing that a tool can do.

    Yields:
        One example after the other.
    """
    world = World(seed, held_out=held_out)
    while True:
        if small_talk and world.chance(SMALL_TALK_SHARE):
            prompt, words = _no_call(world)
            yield CallExample(prompt, _offered(world, None, everything=held_out), words=words)
            continue
        index = world.between(0, len(TOOLS) - 1)
        asked = request(world, _as_offer(BASIC[index]))
        arguments = tuple(json.loads(asked.arguments).items())
        tools = _offered(world, index, everything=held_out)
        yield CallExample(asked.said, tools, TOOLS[index].__name__, arguments)


def _as_offer(skill: Skill) -> Offer:
    """Return a skill under its first names, which are those of the functions above."""
    keys = tuple(parameter.keys[0] for parameter in skill.parameters)
    return offer_of(skill, skill.names[0], skill.descriptions[0], keys, notes=False)


def _offered(world: World, needed: int | None, *, everything: bool) -> tuple[Callable[..., Any], ...]:
    """Choose the tools that are offered, the one that is needed among them, in any order."""
    indices = list(range(len(TOOLS)))
    if not everything:
        indices = [i for i in indices if i == needed or world.chance(0.5)] or [0]
    world.rng.shuffle(indices)
    return tuple(TOOLS[i] for i in indices)


def _no_call(world: World) -> tuple[str, str]:
    """Make a prompt that no tool helps with, and the answer: small talk, or a request for something else."""
    kind = world.between(0, 3)
    if kind <= 1:
        return talk(world)
    if kind == 2:
        return not_possible(world)
    return request(world, _as_offer(world.pick(others(world)))).said, world.pick(REFUSALS)

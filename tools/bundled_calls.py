"""Generates prompts for six tools, with the call that answers each: to measure tool calling, and to train it.

    >>> next(call_examples(seed=1, held_out=True)).prompt  # doctest: +SKIP
    'Set a timer for 12 minutes'

The tools have fixed names and parameters, as tools of a user have; the sentences and values are those of the domain "tool" of
`bundled_data`, where every example has names of its own. Every example is a function of the seed alone, and
`held_out=True` uses names, cities and words that training never sees. A share of the prompts asks for nothing that a tool
can do: the right answer are words.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bundled_tasks import _mail_call, _play_call, _search_call, _sum_call, _timer_call, _weather_call
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
_MAKERS = (_weather_call, _mail_call, _search_call, _timer_call, _sum_call, _play_call)
_PARAMETERS = (("city", "unit"), ("to", "subject"), ("query",), ("minutes",), ("a", "b"), ("song", "artist"))


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
        held_out: Use the words that training never sees, and always offer all six tools.
        small_talk: Whether some prompts ask for nothing that a tool can do.

    Yields:
        One example after the other.
    """
    world = World(seed, held_out=held_out)
    while True:
        if small_talk and world.chance(SMALL_TALK_SHARE):
            yield _small_talk(world, _offered(world, None, everything=held_out))
            continue
        index = world.between(0, len(TOOLS) - 1)
        _, prompt, fields = _MAKERS[index](world)
        arguments = tuple(zip(_PARAMETERS[index], (field.value for field in fields), strict=False))
        yield CallExample(prompt, _offered(world, index, everything=held_out), TOOLS[index].__name__, arguments)


def _offered(world: World, needed: int | None, *, everything: bool) -> tuple[Callable[..., Any], ...]:
    """Choose the tools that are offered, the one that is needed among them, in any order."""
    indices = list(range(len(TOOLS)))
    if not everything:
        indices = [i for i in indices if i == needed or world.chance(0.5)] or [0]
    world.rng.shuffle(indices)
    return tuple(TOOLS[i] for i in indices)


def _small_talk(world: World, tools: tuple[Callable[..., Any], ...]) -> CallExample:
    """Make a prompt that no tool helps with."""
    name = world.first()
    prompt, words = world.pick(
        [
            (f"Hello, I am {name}.", f"Hello {name}, how can I help?"),
            (f"My name is {name}. What is my name?", f"Your name is {name}."),
            (f"Thank you, that is all for today. {name}", f"You are welcome, {name}."),
        ]
    )
    return CallExample(prompt, tools, words=words)

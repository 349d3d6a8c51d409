"""Generates dialogues with tools, as `LanguageModel.call` and `LanguageModel.chat` have them: to train the bundled model.

    >>> next(dialogues(seed=1)).messages[0]["content"]  # doctest: +SKIP
    'Can you set a timer for 12 minutes?'

Every dialogue is a function of the seed alone. `rendered` writes the text that the model reads by the same code as at run time
(`schemagen.calling.history`, the format "plain"), so that training and use cannot drift apart. Half of the dialogues have the
six tools of `bundled_calls` under their own names; in the others names, parameters and descriptions vary, and other
tools are among them. There are calls, two requests at once, results that are answered in words, a second request after the
first, small talk, and requests that no offered tool can meet.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
from bundled_requests import (
    BASIC,
    DRESSES,
    JOURNEYS,
    NOT_POSSIBLE,
    OTHERS,
    PRICES,
    REFUSALS,
    SMALL_TALK,
    TRAINS,
    Skill,
    share,
    train_name,
)
from bundled_world import World

from schemagen.calling.families import PLAIN
from schemagen.calling.history import call_message, render_chat
from schemagen.calling.tools import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

Message = dict[str, Any]
NOTE_SHARE = 0.08


@dataclass(frozen=True)
class Offer:
    """A skill as a tool of somebody: its name, and the names of its parameters by the first of their names."""

    skill: Skill
    name: str
    keys: tuple[tuple[str, str], ...]
    tool: Tool[..., Any]


@dataclass(frozen=True)
class Dialogue:
    """A dialogue.

    Attributes:
        messages: Of the user, of the assistant (texts and calls), and of tools.
        tools: Those that are offered.
        must_call: Whether the answer has to be a call; there is one answer then.
        endless: How many answers, from the first, do not end by the model's choice: of two calls the chat takes the first.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool[..., Any], ...]
    must_call: bool = False
    endless: int = 0


@dataclass(frozen=True)
class Request:
    """One request: what the user says, what is called, what comes of it and what is then said."""

    said: str
    offer: Offer
    arguments: str
    result: str
    answer: str


@lru_cache(maxsize=200_000)
def offer_of(skill: Skill, name: str, description: str, keys: tuple[str, ...], *, notes: bool) -> Offer:
    """Return a skill as a tool."""
    properties = {
        key: {**p.schema, **({"description": p.note} if notes and p.note else {})}
        for key, p in zip(keys, skill.parameters, strict=True)
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key, p in zip(keys, skill.parameters, strict=True) if p.required],
        "additionalProperties": False,
    }
    tool = Tool.from_dict({"name": name, "description": description, "parameters": schema})
    return Offer(skill, name, tuple((p.keys[0], key) for key, p in zip(keys, skill.parameters, strict=True)), tool)


def dressed(w: World, sentence: str) -> str:
    """Dress an imperative, or end it somehow; leave other sentences."""
    if sentence[0].islower() or sentence.startswith("{"):
        dresses = share(DRESSES, held_out=w.held_out)
        if sentence[0].islower() and w.chance(0.45):
            text = w.pick(dresses).format(sentence)
            return text[0].upper() + text[1:] if w.chance(0.85) else text
        text = sentence[0].upper() + sentence[1:] if w.chance(0.8) else sentence
        return text + w.pick(["", "", "."])
    if w.chance(0.08):
        return sentence.rstrip("?.!")
    return w.pick(["", "", "", "", "", "Hi, ", "Hello. ", "Tell me: "]) + sentence


def request(w: World, offer: Offer) -> Request:
    """Make a request for a tool."""
    skill = offer.skill
    values = skill.values(w)
    needed = [p.keys[0] for p in skill.parameters if p.required]
    template = dressed(w, w.pick(share(skill.requests, held_out=w.held_out)))
    extras = [key for key in values if key not in needed]
    if extras:
        end = template[-1] if template[-1] in "?.!" else ""
        template = template.removesuffix(end) + w.pick(skill.tails) + end
    said = {key: text for key, (text, _) in values.items()}
    written = {real: values[key][1] for key, real in offer.keys if key in values}
    more = w.pick(_outcomes(w, offer, values))
    return Request(template.format(**said), offer, json.dumps(written, ensure_ascii=False), *more)


def _outcomes(w: World, offer: Offer, values: dict[str, tuple[str, Any]]) -> list[tuple[str, str]]:
    """Return what may come of a call, and the answer to each: one in six results is an error, or any other text."""
    if w.chance(0.08):
        error = w.pick(["ValueError", "KeyError", "TimeoutError", "ToolError", "RuntimeError"])
        reason = w.pick(["no answer", "not found", f"no {w.own(lambda: w.syllables(1, 2))}", "the call was declined"])
        return [(f"Error: {error}: {reason}", f"Sorry, that failed: {reason}.")]
    if w.chance(0.08):
        anything = w.pick([w.title, w.name, w.city, lambda: str(w.between(0, 9999)), w.company])()
        return [(anything, f"The result is {anything}.")]
    extra = offer.skill.more(w)
    known = {key: str(value) for key, (_, value) in values.items()} | {"x": extra}
    known |= {f"x{i}": part for i, part in enumerate(extra.split("|"))}
    return [(result.format(**known), answer.format(**known)) for result, answer in offer.skill.results]


def small_talk(w: World) -> tuple[str, str]:
    """Make something that no tool is needed for, and the answer."""
    prompts = share([prompt for prompt, _ in SMALL_TALK], held_out=w.held_out)
    prompt = w.pick(prompts)
    known = {"name": w.first(), "city": w.city(), "thing": w.thing(), "age": str(w.between(2, 99))}
    return prompt.format(**known), dict(SMALL_TALK)[prompt].format(**known)


def not_possible(w: World) -> tuple[str, str]:
    """Make a request that no tool of this module can meet, and the answer."""
    known = {"name": w.name(), "city": w.city(), "thing": w.thing()}
    sentence = w.pick(share(NOT_POSSIBLE, held_out=w.held_out))
    return dressed(w, sentence).format(**known), w.pick(REFUSALS)


def others(w: World) -> list[Skill]:
    """Return the skills beside the six that have sentences on this side of the split."""
    return [skill for skill in OTHERS if share(skill.requests, held_out=w.held_out)]


def offers(w: World, count: int, *, own_names: bool) -> list[Offer]:
    """Choose tools: with `own_names` of the six, as they are in `bundled_calls`; else any, under any names."""
    if own_names:
        chosen = w.some(BASIC, count, count)
        return [_named(w, skill, own_name=True) for skill in chosen]
    skills = w.some([*BASIC, *others(w), *BASIC], count, count)
    unique = {skill.names[0]: skill for skill in skills}
    return [_named(w, skill, own_name=w.chance(0.4)) for skill in unique.values()]


def _named(w: World, skill: Skill, *, own_name: bool) -> Offer:
    """Give a skill the names of a tool."""
    if own_name and w.chance(0.75):
        keys = tuple(p.keys[0] for p in skill.parameters)
        return offer_of(skill, skill.names[0], skill.descriptions[0], keys, notes=w.chance(NOTE_SHARE))
    name = skill.names[0] if own_name else w.pick(skill.names)
    keys = tuple(p.keys[0] if own_name else w.key(p.keys) for p in skill.parameters)
    return offer_of(skill, name, w.pick(skill.descriptions), keys, notes=w.chance(NOTE_SHARE))


def _calls(*requests: Request) -> Message:
    """Return the message that makes some calls."""
    return call_message([("", r.offer.name, r.arguments) for r in requests])


def _result(r: Request) -> Message:
    return {"role": "tool", "name": r.offer.name, "content": r.result}


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _turn(w: World, offered: list[Offer], *, first: bool) -> tuple[list[Message], int]:
    """Make what a user says and what is done about it; return also how many answers are `Dialogue.endless`."""
    kind = w.rng.random()
    if kind < 0.11:
        prompt, answer = small_talk(w)
        return [_user(prompt), _assistant(answer)], 0
    if kind < 0.2:
        return _beyond(w, offered), 0
    if kind < 0.3 and first and len(offered) > 1:
        return _both(w, offered)
    asked = request(w, w.pick(offered))
    return [_user(asked.said), _calls(asked), _result(asked), _assistant(asked.answer)], 0


def _beyond(w: World, offered: list[Offer]) -> list[Message]:
    """Make a request that none of the tools can meet."""
    names = {offer.skill.names[0] for offer in offered}
    missing = [skill for skill in (*BASIC, *others(w)) if skill.names[0] not in names]
    if not missing or w.chance(0.4):
        prompt, answer = not_possible(w)
        return [_user(prompt), _assistant(answer)]
    asked = request(w, _named(w, w.pick(missing), own_name=True))
    return [_user(asked.said), _assistant(w.pick(REFUSALS))]


def _both(w: World, offered: list[Offer]) -> tuple[list[Message], int]:
    """Make two requests in one: two calls at once, or one after the other."""
    first, second = (request(w, offer) for offer in w.some(offered, 2, 2))
    glue = w.pick([" and then ", ". Then ", ", then ", " and ", ". ", ". And "])
    tail = second.said if glue == ". " else second.said[0].lower() + second.said[1:]
    prompt = _user(first.said.rstrip("?.!") + glue + tail)
    answer = _assistant(f"{first.answer} {second.answer}")
    if w.chance(0.35):
        return [prompt, _calls(first, second), _result(first), _result(second), answer], 0
    return [prompt, _calls(first), _result(first), _calls(second), _result(second), answer], 1


def journey(w: World) -> Dialogue:
    """Make a dialogue of two steps, the second of which needs the result of the first."""
    trains, prices = _named(w, TRAINS, own_name=w.chance(0.7)), _named(w, PRICES, own_name=w.chance(0.7))
    others = [
        o for o in offers(w, w.between(0, 2), own_names=w.chance(0.5)) if o.name not in (trains.name, prices.name)
    ]
    offered = [trains, prices, *others]
    w.rng.shuffle(offered)
    values = TRAINS.values(w)
    said = dressed(w, w.pick(share(JOURNEYS, held_out=w.held_out))).format(**{k: t for k, (t, _) in values.items()})
    found = list(dict.fromkeys(train_name(w) for _ in range(w.pick([1, 2, 2, 3]))))
    costs = [w.amount()[1] for _ in found]
    arguments = json.dumps({real: values[key][1] for key, real in trains.keys}, ensure_ascii=False)
    first = Request(said, trains, arguments, json.dumps(found, separators=(",", ":")), "")
    table = json.dumps(dict(zip(found, costs, strict=True)), separators=(",", ":"))
    second = Request("", prices, json.dumps({prices.keys[0][1]: found}), table, "")
    parts = [f"{train} costs {cost}" for train, cost in zip(found, costs, strict=True)]
    answer = (", ".join(parts[:-1]) + " and " if parts[1:] else "") + parts[-1] + "."
    messages = (_user(said), _calls(first), _result(first), _calls(second), _result(second), _assistant(answer))
    return Dialogue(messages, tuple(offer.tool for offer in offered))


def dialogues(seed: int, *, held_out: bool = False) -> Iterator[Dialogue]:
    """Yield dialogues without end.

    Args:
        seed: Decides everything.
        held_out: Use the words and sentences that training never sees.

    Yields:
        One dialogue after the other.
    """
    w = World(seed, held_out=held_out)
    while True:
        if w.chance(0.05):
            yield journey(w)
            continue
        own_names = w.chance(0.5)
        offered = offers(w, w.pick([1, 2, 2, 3, 3, 4, 5, 6, 6]), own_names=own_names)
        tools = tuple(offer.tool for offer in offered)
        if w.chance(0.25):
            asked = request(w, w.pick(offered))
            yield Dialogue((_user(asked.said), _calls(asked)), tools, must_call=True)
            continue
        messages, endless = _turn(w, offered, first=True)
        if w.chance(0.3):
            messages += _turn(w, offered, first=False)[0]
        yield Dialogue(tuple(messages), tools, endless=endless)


def rendered(tokenizer: Any, dialogue: Dialogue) -> str:
    """Return the text of a dialogue as it stands when the last answer is complete, markers included."""
    text, _ = render_chat(tokenizer, dialogue.messages, dialogue.tools, PLAIN, must_call=dialogue.must_call)
    return text.removesuffix("<|assistant|>")

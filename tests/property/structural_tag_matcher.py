"""What a structural tag describes, by its definition alone: a matcher over positions of a text, and random small tags.

It shares nothing with the reader: no grammar, no regular language. Free text is looked through for what it must not hold, and a
trigger is the first one that comes.
"""

import random
import re
from collections.abc import Callable
from typing import Any

ALPHABET = "ab<"
Ends = tuple[str, ...]


def describes(tag: dict[str, Any], text: str) -> bool:
    """Whether a format describes a text as a whole."""
    return len(text) in ways(tag, text, 0, ())


def ways(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    """Where a text of the format that begins at a position may end; ``ends`` end the nearest tag around it."""
    return _MATCHERS[tag["type"]](tag, text, at, ends)


def _const_string(tag: dict[str, Any], text: str, at: int, _ends: Ends) -> set[int]:
    return {at + len(tag["value"])} if text.startswith(tag["value"], at) else set()


def _regex(tag: dict[str, Any], text: str, at: int, _ends: Ends) -> set[int]:
    pattern = re.compile(tag["pattern"], re.DOTALL)
    return {end for end in range(at, len(text) + 1) if pattern.fullmatch(text[at:end])}


def _any_text(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    refused = [*tag.get("excludes", ()), *ends]
    most = tag.get("max_chars", len(text))
    return {
        end
        for end in range(at, min(len(text), at + most) + 1)
        if not any(literal in text[at:end] for literal in refused)
    }


def _sequence(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    found = {at}
    for element in tag["elements"]:
        found = {end for begin in found for end in ways(element, text, begin, ends)}
    return found


def _or(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    return {end for element in tag["elements"] for end in ways(element, text, at, ends)}


def _times(inner: Callable[[int], set[int]], at: int, low: int, high: int | None) -> set[int]:
    """Where ``low`` to ``high`` texts one after the other may end."""
    found: set[int] = set()
    now, count, seen = {at}, 0, set()
    while now:
        if count >= low:
            found |= now
        state = (frozenset(now), min(count, low))
        if count == high or state in seen:
            break
        seen.add(state)
        now, count = {end for begin in now for end in inner(begin)}, count + 1
    return found


def _repeated(low: int, high: int | None) -> Callable[[dict[str, Any], str, int, Ends], set[int]]:
    return lambda tag, text, at, ends: _times(lambda begin: ways(tag["content"], text, begin, ends), at, low, high)


def _repeat(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    high = None if tag["max"] < 0 else tag["max"]
    return _times(lambda begin: ways(tag["content"], text, begin, ends), at, tag["min"], high)


def _tag(tag: dict[str, Any], text: str, at: int, _ends: Ends) -> set[int]:
    if not text.startswith(tag["begin"], at):
        return set()
    ends = [tag["end"]] if isinstance(tag["end"], str) else tag["end"]
    inside = ways(tag["content"], text, at + len(tag["begin"]), tuple(filter(None, ends)))
    return {end + len(literal) for end in inside for literal in ends if text.startswith(literal, end)}


def _tags_with_separator(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    def one(begin: int) -> set[int]:
        return {end for each in tag["tags"] for end in ways(each, text, begin, ends)}

    def more(begin: int) -> set[int]:
        return one(begin + len(tag["separator"])) if text.startswith(tag["separator"], begin) else set()

    found = set() if tag.get("at_least_one") else {at}
    for end in one(at):
        found |= {end} if tag.get("stop_after_first") else _times(more, end, 0, None)
    return found


def _triggered_tags(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    def tags_at(begin: int, trigger: str) -> set[int]:
        own = [each for each in tag["tags"] if each["begin"].startswith(trigger)]
        return {end for each in own for end in ways(each, text, begin, ends)}

    refused = [*tag.get("excludes", ()), *ends]
    needed, stop = tag.get("at_least_one", False), tag.get("stop_after_first", False)
    begins = tags_at(at, "") if needed else {at}
    if needed and stop:
        return begins
    return _free_with(text, begins, dict.fromkeys(tag["triggers"], tags_at), refused, loop=not stop)


def _dispatch(tag: dict[str, Any], text: str, at: int, ends: Ends) -> set[int]:
    def inner(rest: dict[str, Any]) -> Callable[[int, str], set[int]]:
        return lambda begin, pattern: ways(rest, text, begin + len(pattern), ends)

    rules = {pattern: inner(rest) for pattern, rest in tag["rules"]}
    return _free_with(text, {at}, rules, tag.get("excludes", []), loop=tag.get("loop", True))


def _free_with(
    text: str, begins: set[int], rules: dict[str, Callable[[int, str], set[int]]], refused: list[str], *, loop: bool
) -> set[int]:
    """Where free text with triggers may end that begins at one of some positions.

    A trigger comes at ``place`` if nothing that free text must not hold begins before it and is complete by its end, and if
    what is refused is not within it.
    """
    literals = [*rules, *refused]
    found: set[int] = set()
    seen: set[int] = set()
    todo = list(begins)
    while todo:
        begin = todo.pop()
        if begin in seen:
            continue
        seen.add(begin)
        for end in range(begin, len(text) + 1):
            if not any(literal in text[begin:end] for literal in literals):
                found.add(end)
            for trigger, rest in rules.items():
                if _comes(text, begin, end, trigger, literals) and not any(each in trigger for each in refused):
                    behind = rest(end, trigger)
                    found |= behind if not loop else set()
                    todo += behind if loop else ()
    return found


def _comes(text: str, begin: int, place: int, trigger: str, literals: list[str]) -> bool:
    if not text.startswith(trigger, place):
        return False
    complete = place + len(trigger)
    return not any(
        text.startswith(literal, first) and first + len(literal) <= complete
        for first in range(begin, place)
        for literal in literals
    )


_MATCHERS: dict[str, Callable[[dict[str, Any], str, int, Ends], set[int]]] = {
    "const_string": _const_string,
    "regex": _regex,
    "any_text": _any_text,
    "sequence": _sequence,
    "or": _or,
    "optional": _repeated(0, 1),
    "star": _repeated(0, None),
    "plus": _repeated(1, None),
    "repeat": _repeat,
    "tag": _tag,
    "tags_with_separator": _tags_with_separator,
    "triggered_tags": _triggered_tags,
    "dispatch": _dispatch,
}


# --- random tags -----------------------------------------------------------------------------------------------------


class RandomTags:
    """Random formats over a small alphabet.

    Args:
        seed: Of the random numbers.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def text(self, low: int = 1, high: int = 2) -> str:
        """A short text."""
        return "".join(self.random.choices(ALPHABET, k=self.random.randint(low, high)))

    def texts(self, most: int) -> list[str]:
        """Some short texts."""
        return [self.text() for _ in range(self.random.randint(0, most))]

    def format(self, depth: int = 2) -> dict[str, Any]:
        """A format with so many levels inside."""
        kinds = ["const_string", "any_text", "regex"]
        if depth:
            kinds += ["sequence", "or", "optional", "star", "plus", "repeat", "dispatch"]
            kinds += 3 * ["tag", "tags_with_separator", "triggered_tags"]
        kind = self.random.choice(kinds)
        return {"type": kind, **getattr(self, f"_{kind}")(depth - 1)}

    def _const_string(self, _depth: int) -> dict[str, Any]:
        return {"value": self.text(0)}

    def _regex(self, _depth: int) -> dict[str, Any]:
        return {"pattern": self.random.choice(["a+", "(?:ab)*", "[^a]", ".", "a|b<"])}

    def _any_text(self, _depth: int) -> dict[str, Any]:
        bound = {"max_chars": self.random.randint(0, 3)} if self.random.random() < 0.2 else {}
        return {"excludes": self.texts(2), **bound}

    def _sequence(self, depth: int) -> dict[str, Any]:
        return {"elements": [self.format(depth) for _ in range(self.random.randint(1, 3))]}

    _or = _sequence

    def _optional(self, depth: int) -> dict[str, Any]:
        return {"content": self.format(depth)}

    _star = _plus = _optional

    def _repeat(self, depth: int) -> dict[str, Any]:
        low = self.random.randint(0, 2)
        high = -1 if self.random.random() < 0.3 else low + self.random.randint(0, 2)
        return {"min": low, "max": high, "content": self.format(depth)}

    def _dispatch(self, depth: int) -> dict[str, Any]:
        patterns = dict.fromkeys(self.text() for _ in range(self.random.randint(1, 2)))
        rules = [[pattern, self.format(depth)] for pattern in patterns]
        return {"rules": rules, "loop": self.random.random() < 0.6, "excludes": self.texts(1)}

    def _tag(self, depth: int, begin: str | None = None) -> dict[str, Any]:
        ends = [self.text() for _ in range(self.random.randint(1, 2))]
        if self.random.random() < 0.2:
            ends.append("")
        end = ends if len(ends) > 1 else ends[0]
        return {"begin": self.text(0) if begin is None else begin, "content": self.format(depth), "end": end}

    def _flags(self) -> dict[str, Any]:
        return {name: self.random.random() < 0.4 for name in ("at_least_one", "stop_after_first")}

    def _tags_with_separator(self, depth: int) -> dict[str, Any]:
        tags = [{"type": "tag", **self._tag(depth)} for _ in range(self.random.randint(1, 2))]
        return {"tags": tags, "separator": self.text(0), **self._flags()}

    def _triggered_tags(self, depth: int) -> dict[str, Any]:
        triggers: list[str] = []
        for trigger in (self.text() for _ in range(self.random.randint(1, 2))):
            if not any(trigger.startswith(each) or each.startswith(trigger) for each in triggers):
                triggers.append(trigger)
        tags = [
            {"type": "tag", **self._tag(depth, trigger + self.text(0, 1))}
            for trigger in triggers
            for _ in range(self.random.randint(1, 2))
        ]
        return {"triggers": triggers, "tags": tags, "excludes": self.texts(1), **self._flags()}

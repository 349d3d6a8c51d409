"""What the bundled model's examples are made of: random words and values, objects with schemas, sentences about them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import bundled_words as words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Schema = dict[str, Any]
T = TypeVar("T")

STRING: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
DATE: Schema = {"type": "string", "format": "date"}
TIME: Schema = {"type": "string", "format": "time"}

COUNT_WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]  # fmt: skip
HELD_OUT_SHARE = 8


@dataclass(frozen=True)
class Example:
    """One example: what the user writes, the type asked for, and the right answer."""

    prompt: str
    schema: Schema
    value: Any
    domain: str

    def target(self) -> str:
        """Return the answer as the model should write it."""
        return json.dumps(self.value, ensure_ascii=False)


@dataclass(frozen=True)
class Field:
    """One property of an object with its value."""

    key: str
    schema: Schema
    value: Any
    required: bool = True


@dataclass(frozen=True)
class Slot:
    """One fact about an entity, and the ways to say it.

    Args:
        keys: Names that a schema may give the property.
        schema: Its type.
        value: The right value.
        terse: The fact as an item of a bare list; empty if it makes no sense there.
        clauses: Verb phrases that state it of the entity.
        label: The value in `label: value` form.
        note: A description that a schema may carry.
    """

    keys: tuple[str, ...]
    schema: Schema
    value: Any
    terse: str
    clauses: tuple[str, ...]
    label: str = ""
    note: str = ""


class World:
    """A source of random words and values; held-out worlds use words that training worlds never do."""

    def __init__(self, seed: int, *, held_out: bool = False) -> None:
        self.rng = Random(seed)
        self.held_out = held_out

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self.rng.random() < probability

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return self.rng.choice(options)

    def between(self, low: int, high: int) -> int:
        """Return an integer of an inclusive range."""
        return self.rng.randint(low, high)

    def some(self, options: Sequence[T], low: int, high: int) -> list[T]:
        """Return between low and high different options, in random order."""
        return self.rng.sample(list(options), min(len(options), self.between(low, high)))

    def mine(self, word: str) -> bool:
        """Whether a word belongs to this world's side of the split."""
        return (crc32(word.lower().encode()) % HELD_OUT_SHARE == 0) == self.held_out

    def own(self, make: Callable[[], str]) -> str:
        """Draw words until one belongs to this side of the split."""
        return next(word for word in iter(make, None) if self.mine(word))

    def word(self, options: Sequence[str]) -> str:
        """Return one of the options that belongs to this side of the split, or now and then a made-up word."""
        return self.made_up(options) if self.chance(0.15) else self.own(lambda: self.pick(options))

    def several(self, options: Sequence[str], low: int, high: int) -> list[str]:
        """Return some different words of this side of the split, now and then made-up ones among them."""
        known = sorted({word for word in options if self.mine(word)})
        chosen = [self.made_up(options) if self.chance(0.15) else word for word in self.some(known, low, high)]
        return list(dict.fromkeys(chosen))

    def made_up(self, options: Sequence[str]) -> str:
        """Make up a word: out of the beginning of one option and the end of another, or out of syllables."""
        if self.chance(0.4):
            return self.own(lambda: self.syllables(1, 3))
        return self.own(lambda: self.pick(options)[: self.between(2, 5)] + self.pick(options)[-self.between(2, 6) :])

    def syllables(self, low: int, high: int, ends: Sequence[str] = ("",)) -> str:
        """Make up a word."""
        body = "".join(
            self.pick(words.ONSETS) + self.pick(words.VOWELS) + self.pick(words.CODAS)
            for _ in range(self.between(low, high))
        )
        body = body.lstrip("bcdfghjklmnprstvwz") if self.chance(0.15) else body
        return body + self.pick(ends)

    def first(self) -> str:
        """Return a first name."""
        if self.chance(0.45):
            return self.word(words.FIRST_NAMES).capitalize()
        return self.own(lambda: self.syllables(1, 2, ("", "", "a", "o", "ie"))).capitalize()

    def last(self) -> str:
        """Return a last name."""
        if self.chance(0.4):
            last = self.word(words.LAST_NAMES)
            return last[0].upper() + last[1:]
        return self.own(lambda: self.syllables(1, 2, words.LAST_ENDS)).capitalize()

    def name(self) -> str:
        """Return a person's name."""
        first, last = self.first(), self.last()
        styles = [f"{first} {last}"] * 14 + [first] * 3
        styles += [f"{first[0]}. {last}", f"{first} {self.pick('ABCDEFGHJKLMRST')}. {last}", f"{first} van {last}"]
        styles += [f"{first} {last}-{self.last()}", f"{first} {self.first()} {last}", f"{first} de la {last}"]
        return self.pick(styles)

    def city(self) -> str:
        """Return a city."""
        if self.chance(0.55):
            return self.word(words.CITIES).capitalize()
        if self.chance(0.15):
            return self.pick(words.TWO_WORD_CITIES)
        return self.own(lambda: self.syllables(1, 2, words.CITY_ENDS)).capitalize()

    def thing(self) -> str:
        """Return a product in the singular."""
        noun = self.word(words.PRODUCTS) if self.chance(0.8) else self.own(lambda: self.syllables(1, 2))
        return f"{self.word(words.ADJECTIVES)} {noun}" if self.chance(0.2) else noun

    def title(self) -> str:
        """Return the title of a book or film."""
        adjective, noun = self.word(words.ADJECTIVES).capitalize(), self.word(words.NOUNS).capitalize()
        other = self.word(words.NOUNS).capitalize()
        return self.pick([f"The {adjective} {noun}", f"{adjective} {noun}", f"{noun} of {other}", f"The {noun} and the {other}",
                          f"The {noun}", noun, f"A {noun} in {self.city()}", f"{adjective} {noun} {self.between(2, 9)}"])  # fmt: skip

    def company(self) -> str:
        """Return a company."""
        base = self.pick([self.last(), self.own(lambda: self.syllables(1, 2)).capitalize(), self.city()])
        return f"{base} {self.pick(words.COMPANY_ENDS)}"

    def email(self, name: str = "") -> str:
        """Return an e-mail address that fits a name."""
        parts = [part.strip(".").lower() for part in (name or self.name()).split()]
        local = self.pick(
            [parts[0], f"{parts[0]}.{parts[-1]}", f"{parts[0]}{self.between(1, 99)}", f"{parts[0][0]}{parts[-1]}"]
        )
        host = self.pick(["example", "mail", "post", "acme", self.own(lambda: self.syllables(1, 2))])
        return f"{local}@{host}.{self.pick(['com', 'org', 'net', 'de', 'io', 'co.uk', 'fr', 'edu'])}"

    def digits(self, count: int) -> str:
        """Return random digits."""
        return "".join(self.pick("0123456789") for _ in range(count))

    def phone(self) -> str:
        """Return a telephone number."""
        prefix = self.pick(["+", "+4", "0", "00", "555-", ""])
        groups = [self.digits(self.between(2, 4)) for _ in range(self.between(2, 3))]
        return prefix + self.pick([" ", "-", " ", ""]).join(groups)

    def street(self) -> tuple[str, int]:
        """Return a street and a house number."""
        name = self.pick(words.STREETS) if self.chance(0.5) else self.own(lambda: self.syllables(1, 2)).capitalize()
        return f"{name} {self.pick(words.STREET_ENDS)}", self.between(1, 250)

    def date(self) -> tuple[str, str]:
        """Return a date as it may be written, and in ISO form."""
        day = dt.date(self.between(1950, 2032), 1, 1) if self.chance(0.3) else dt.date(self.between(2020, 2028), 1, 1)
        day += dt.timedelta(days=self.between(0, 364))
        month = MONTHS[day.month - 1]
        suffix = "th" if 10 < day.day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
        styles = [f"{day.day} {month} {day.year}"] * 4 + [f"{month} {day.day}, {day.year}"] * 4 + [day.isoformat()] * 3
        styles += [
            f"{day.day} {month[:3]} {day.year}",
            f"{month[:3]} {day.day}, {day.year}",
            f"{month} {day.day} {day.year}",
        ]
        styles += [f"{day.day}{suffix} {month} {day.year}", f"the {day.day}{suffix} of {month} {day.year}"]
        styles += [f"{day.year}/{day.month:02}/{day.day:02}", f"{day.day}.{day.month}.{day.year}"]
        return self.pick(styles), day.isoformat()

    def time(self) -> tuple[str, str]:
        """Return a time of day as it may be written, and as hh:mm."""
        hour, minute = self.between(0, 23), self.pick([0, 0, 15, 30, 45, self.between(0, 59)])
        written = f"{hour:02}:{minute:02}"
        if not 1 <= hour <= 23 or hour == 12 or self.chance(0.6):
            return written, written
        half, clock = ("am" if hour < 12 else "pm"), hour % 12
        tail = "" if minute == 0 else f":{minute:02}"
        return self.pick([f"{clock}{tail} {half}", f"{clock}{tail}{half}"]), written

    def number(self, low: int, high: int) -> tuple[str, int]:
        """Return an integer, in words now and then if it is small."""
        value = self.between(low, high)
        return (COUNT_WORDS[value] if 0 < value <= 12 and self.chance(0.35) else str(value)), value

    def amount(self, high: int = 500) -> tuple[str, float]:
        """Return a decimal number as written, and its value."""
        whole = self.between(1, self.pick([9, 99, high]))
        if self.chance(0.25):
            return str(whole), float(whole)
        cents = self.pick([self.between(0, 99), 50, 99, 10 * self.between(0, 9)])
        written = f"{whole}.{cents:02}"
        if self.chance(0.2):
            written = f"{whole}.{cents // 10}"
        return written, float(written)

    def price(self) -> tuple[str, float]:
        """Return a price, mostly with a currency."""
        text, value = self.amount(2000)
        styles = (
            [f"${text}"] * 3
            + [text] * 2
            + [f"€{text}", f"£{text}", f"{text} EUR", f"{text} euros", f"{text} dollars", f"USD {text}"]
        )
        return self.pick(styles), value

    def key(self, options: Sequence[str]) -> str:
        """Return a property name; the first is the most likely, now and then in camel case."""
        key = options[0] if self.chance(0.4) else self.pick(options)
        head, *rest = key.split("_")
        return head + "".join(part.capitalize() for part in rest) if rest and self.chance(0.12) else key

    def shout(self, text: str) -> str:
        """Capitalise a text (mostly) and end it with a mark (mostly)."""
        text = text[0].upper() + text[1:] if self.chance(0.85) else text
        return text + self.pick([".", ".", "!", ""]) if text[-1] not in ".!?" else text


def nullable(schema: Schema) -> Schema:
    """Return the schema of `T | None`."""
    return {"anyOf": [schema, NULL]}


def listed(schema: Schema) -> Schema:
    """Return the schema of `list[T]`."""
    return {"type": "array", "items": schema}


def choice(options: Sequence[Any]) -> Schema:
    """Return the schema of a `Literal` or enum of strings."""
    return {"enum": list(options), "type": "string"} if len(options) > 1 else {"const": options[0], "type": "string"}


def build(fields: Sequence[Field], title: str = "Model") -> tuple[Schema, dict[str, Any]]:
    """Make an object schema and its value out of fields; the first of two fields of the same name counts."""
    unique = {field.key: field for field in reversed(fields)}
    kept = [field for field in fields if unique[field.key] is field]
    schema: Schema = {
        "properties": {field.key: field.schema for field in kept},
        "required": [field.key for field in kept if field.required],
        "title": title,
        "type": "object",
    }
    return schema, {field.key: field.value for field in kept}


def referenced(schema: Schema, name: str, definition: Schema) -> Schema:
    """Move a definition into `$defs` of a schema, which refers to it by name."""
    return {**schema, "$defs": {name: definition}}


def enumerate_text(w: World, parts: Sequence[str]) -> str:
    """Join parts as `a, b and c`, in one of several manners."""
    if len(parts) == 1:
        return parts[0]
    if w.chance(0.15):
        return ", ".join(parts)
    if w.chance(0.1):
        return " and ".join(parts)
    return ", ".join(parts[:-1]) + w.pick([" and ", " and ", ", and ", " & "]) + parts[-1]


def as_field(w: World, slot: Slot, *, known: bool = True) -> Field:
    """Turn a slot into a property; one that the text does not state is null."""
    schema = dict(slot.schema)
    if schema == NUMBER and isinstance(slot.value, float) and w.chance(0.15):
        schema["minimum"] = 0
    if schema == STRING and w.chance(0.04):
        schema["minLength"] = 1
    optional = not known or w.chance(0.12)
    result = nullable(schema) if optional else schema
    if slot.note and w.chance(0.06):
        result = {**result, "description": slot.note}
    return Field(w.key(slot.keys), result, slot.value if known else None, not optional or w.chance(0.5))


def narrate(w: World, subject: str, clauses: Sequence[str], pronouns: Sequence[str]) -> str:
    """Tell what is known about a subject in one sentence or several."""
    if not clauses:
        return f"{subject}."
    if len(clauses) > 1 and w.chance(0.35):
        cut = w.between(1, len(clauses) - 1)
        first, second = enumerate_text(w, clauses[:cut]), enumerate_text(w, clauses[cut:])
        return f"{subject} {first}. {w.pick(pronouns)} {second}."
    return f"{subject} {enumerate_text(w, clauses)}" + w.pick([".", ".", "!", ""])


def label_of(w: World, slot: Slot) -> str:
    """Return a label for a slot as a person would write it."""
    label = w.pick(slot.keys).replace("_", " ")
    return w.pick([label, label.capitalize(), label.capitalize()])


def tell(w: World, slots: Sequence[Slot], pronouns: Sequence[str]) -> str:
    """Write a text that states every slot; the first one names the entity."""
    style = w.rng.random()
    if style < 0.35 and all(slot.terse for slot in slots):
        order = list(slots[1:])
        if w.chance(0.3):
            w.rng.shuffle(order)
        order.insert(0 if w.chance(0.96) else len(order), slots[0])
        return w.pick([", ", ", ", ", ", "; ", " - ", " / ", " | "]).join(slot.terse for slot in order) + w.pick(
            ["", "", "."]
        )
    if style < 0.55:
        order = list(slots)
        if w.chance(0.4):
            w.rng.shuffle(order)
        between, sign = w.pick([", ", "; ", "\n", "\n", " "]), w.pick([": ", ": ", " = ", " is "])
        return between.join(f"{label_of(w, slot)}{sign}{slot.label or slot.terse}" for slot in order) + w.pick(
            ["", "", "."]
        )
    rest = list(slots[1:])
    w.rng.shuffle(rest)
    lead = w.pick(["", "", "", "Meet ", "About: ", "Note: ", "This is "]) if rest else "I am called "
    if lead in ("Meet ", "This is "):
        return f"{lead}{slots[0].terse}. " + narrate(
            w, w.pick(pronouns), [w.pick(slot.clauses) for slot in rest], pronouns
        )
    return lead + narrate(w, slots[0].terse, [w.pick(slot.clauses) for slot in rest], pronouns)


LEADS = ["", "", "", "", "", "", "Extract the data: ", "Parse this: ", "Read this. ", "Please fill in the form. ", "Text: ", "Who or what is it? ",
         "Extract: ", "New entry: ", "From the mail: "]  # fmt: skip


def entity(w: World, slots: Sequence[Slot], pronouns: Sequence[str], title: str, domain: str) -> Example:
    """Make an example about one entity: tell some facts, ask for some of them, and for some that were not told."""
    told = [slots[0], *w.some(slots[1:], 1, 4)]
    asked = [slot for slot in told if w.chance(0.85)] or [told[0]]
    untold = [slot for slot in slots if slot not in told]
    missing = [as_field(w, slot, known=False) for slot in w.some(untold, 0, 2)] if w.chance(0.4) else []
    fields = [as_field(w, slot) for slot in asked] + missing
    if w.chance(0.4):
        w.rng.shuffle(fields)
    schema, value = build(fields, title)
    return Example(w.pick(LEADS) + tell(w, told, pronouns), schema, value, domain)

"""The cases of the suite (`*.toml` beside this file), and what the labels of their texts mean.

Fields of a case: `name` (a sentence); one of `schema` (JSON text), `regex` (`schemagen.Regex`) and `choice`; options
`property_order` and `whitespace` (a table holds the arguments of a `schemagen.Layout`); `accepted` texts; `rejected` texts, which are no instance; `layout` texts, which are
valid instances that the chosen layout, key order or canonical spelling leaves out (repeated keys among them);
`rejected_hex`, bytes that are no text at all. `engines` lists those that run the case (all by default) and then
`reason` says why; `unchecked` says why the independent validator cannot confirm the labels; `xfail` describes a defect.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

import schemagen
from schemagen import reference

ENGINES = ("native", "reference")


@dataclass(frozen=True)
class Case:
    """One specification with texts that it allows and texts that it does not."""

    group: str
    name: str
    accepted: tuple[str, ...]
    rejected: tuple[str, ...] = ()
    layout: tuple[str, ...] = ()
    rejected_hex: tuple[str, ...] = ()
    schema: str | None = None
    regex: str | None = None
    dialect: Any = "python"
    choice: tuple[str, ...] | None = None
    property_order: str = "schema"
    whitespace: str | schemagen.Layout = "flexible"
    engines: tuple[str, ...] = ENGINES
    reason: str = ""
    unchecked: str = ""
    xfail: str = ""

    @property
    def id(self) -> str:
        """The name, short enough for a test id."""
        return f"{self.group}-{re.sub('[^a-z0-9A-Z]+', '-', self.name)[:70]}"

    @property
    def spec(self) -> Any:
        """What `schemagen.compile` takes."""
        if self.regex is not None:
            return schemagen.Regex(self.regex, self.dialect)
        return schemagen.Choice(self.choice) if self.choice is not None else json.loads(self.schema or "true")

    def compile(self, vocabulary, engine):
        """Compile the case."""
        if engine == "reference":
            return reference.engine(self.spec, vocabulary, whitespace=self.whitespace)
        options = {"property_order": self.property_order, "whitespace": self.whitespace}
        return schemagen.compile(self.spec, vocabulary, cache=None, **options)

    @property
    def refused(self) -> list[bytes]:
        """Everything that may not be generated."""
        texts = [text.encode() for text in (*self.rejected, *self.layout)]
        return texts + [bytes.fromhex(digits) for digits in self.rejected_hex]

    def is_instance(self, text: str) -> bool:
        """Whether a validator that is not ours calls the text an instance, layout aside."""
        if self.regex is not None:
            return re.fullmatch(self.regex, text) is not None
        if self.choice is not None:
            return text in self.choice
        try:
            value = json.loads(text, parse_constant=_refuse_constant)
        except ValueError:
            return False
        return validator(self.schema or "true").is_valid(value)


def _refuse_constant(name):
    raise ValueError(f"{name} is no JSON")


@lru_cache(maxsize=512)
def validator(schema: str):
    """Return jsonschema's validator for a schema, its draft honoured, formats asserted."""
    from jsonschema.validators import Draft202012Validator, validator_for

    parsed = json.loads(schema)
    kind = validator_for(parsed, default=Draft202012Validator)
    kind.check_schema(parsed)
    return kind(parsed, format_checker=kind.FORMAT_CHECKER)


def _read(key, value):
    if key == "whitespace" and isinstance(value, dict):
        return schemagen.Layout(**value)
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def load_cases() -> tuple[Case, ...]:
    """Return every case of every file."""
    cases = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        with path.open("rb") as file:
            table = tomllib.load(file)
        cases.extend(
            Case(group=path.stem, **{key: _read(key, value) for key, value in case.items()})
            for case in table.get("case", [])
        )
    return tuple(cases)


def with_bytes(text: bytes, ids: dict[bytes, list[int]], rng, longest: int = 24) -> list[int]:
    """Return a random split of bytes into tokens."""
    out, at = [], 0
    while at < len(text):
        fits = [n for n in range(1, min(longest, len(text) - at) + 1) if text[at : at + n] in ids]
        piece = text[at : at + rng.choice(fits)]
        out.append(rng.choice(ids[piece]))
        at += len(piece)
    return out


def ids_by_bytes(vocabulary) -> dict[bytes, list[int]]:
    """Return the ids of each token text."""
    ids: dict[bytes, list[int]] = {}
    for token_id, token in enumerate(vocabulary.tokens):
        if token:
            ids.setdefault(token, []).append(token_id)
    return ids

"""Random JSON Schemas, and values in and near their languages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

    from tools.fuzz.cases import Case

_KEYS = ["a", "b", "ab", "abc", 'é"', "", "c"]
#: ECMA-262 and `re` agree on these. `$` of `re` also matches before a last line break, its `.` takes three characters more that
#: end lines, and its `\d` and `\w` take more than ASCII.
_END = r"$(?!\n)"
_ANY = r"[^\n\r\u2028\u2029]"
_PATTERN_ATOMS = ["a", "b", "c", "[a-c]", "[^a]", "(?:ab|c)", "[0-9]", "é", '"', r"\\", _ANY, "(?=b)", "(?!ab)", r"\n"]
_PATTERN_REPEATS = ["", "", "", "?", "*", "+", "{2}", "{0,2}", "{1,}"]
_STRINGS = ["", "a", "b", "ab", "bc", "abc", "é", "😀", 'q"', "\\", "\n", "a\n", "\u2028", "\x7f", "0", "cab", "aaaa"]
_INTEGERS = [0, 1, -1, 2, 3, 7, 10, -12, 100, 255, 2**31, 10**15, 2**53 + 1]
_NUMBERS = [*_INTEGERS, 0.5, -0.5, 2.5, 0.1, 1.25, -7.75, 12.0, 1e-7]
#: Those with a point are powers of two below one, since jsonschema divides floats: to it, 0.3 is no multiple of 0.1, and
#: 2**53 + 1 is one of 2.0.
_FACTORS = [1, 2, 3, 5, 7, 10, 12, 100, 0.5, 0.25]
_TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]
_DEFINITIONS = ["p", "q"]


class Schemas:
    """Draws schemas of draft 2020-12.

    Args:
        rng: Where chance comes from.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def document(self) -> Case:
        """Return a schema as an object, with definitions for its references, which may lead to the root and to each other."""
        rng = self._rng
        depth = rng.choice([1, 2, 2, 3])
        kind = rng.choice(["", "", "array", "object", "object"])
        schema: Case | bool = {"type": kind, **self._keywords(kind, depth)} if kind else self.schema(depth)
        if not isinstance(schema, dict) or not schema:
            return {"allOf": [schema]}
        if '"$ref"' in json.dumps(schema):
            schema["$defs"] = {name: self.schema(rng.choice([1, 2])) for name in _DEFINITIONS}
        return schema

    def schema(self, depth: int) -> Case | bool:
        """Return a schema with so many levels of others in it."""
        rng = self._rng
        trivial: list[Case | bool] = [True, True, {}, {"not": {}}, False]
        kind = rng.random()
        if kind < 0.05:
            return rng.choice(trivial)
        if kind < 0.15:
            return self._values()
        if kind < 0.23:
            return {"$ref": rng.choice(["#", *(f"#/$defs/{name}" for name in _DEFINITIONS * 2)])}
        if kind < 0.45 and depth:
            return self._combined(depth - 1)
        return self._typed(depth)

    def value(self, depth: int = 2) -> Any:
        """Return a JSON value of the world that schemas speak of."""
        rng = self._rng
        kind = rng.random()
        if kind < 0.25 and depth:
            return [self.value(depth - 1) for _ in range(rng.randint(0, 3))]
        if kind < 0.5 and depth:
            return {key: self.value(depth - 1) for key in rng.sample(_KEYS, rng.randint(0, 3))}
        if kind < 0.6:
            return rng.choice([None, True, False])
        return rng.choice(_STRINGS) if kind < 0.8 else self._number()

    def changed(self, value: Any) -> Any:
        """Return a value that differs from another one in one place."""
        rng = self._rng
        if isinstance(value, list) and value and rng.random() < 0.8:
            items, at = list(value), rng.randrange(len(value))
            new = rng.choice([[], [items[at], items[at]], [self.changed(items[at])], [self.value(1), items[at]]])
            return [*items[:at], *new, *items[at + 1 :]]
        if isinstance(value, dict) and value and rng.random() < 0.8:
            key = rng.choice(list(value))
            rest = {name: each for name, each in value.items() if name != key}
            return rng.choice(
                [rest, {**value, key: self.changed(value[key])}, {**value, rng.choice(_KEYS): self.value(1)}]
            )
        if isinstance(value, str) and value and rng.random() < 0.8:
            at = rng.randrange(len(value))
            return value[:at] + rng.choice(["", value[at] * 2, rng.choice("abcé0")]) + value[at + 1 :]
        if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.8:
            return rng.choice([value + 1, value - 1, -value, value + 0.5, value * 2])
        return self.value(1)

    def pattern(self) -> str:
        """Return a simple regular expression."""
        rng = self._rng
        parts = [rng.choice(_PATTERN_ATOMS) for _ in range(rng.randint(1, 3))]
        body = "".join(
            part + ("" if part.startswith(("(?=", "(?!")) else rng.choice(_PATTERN_REPEATS)) for part in parts
        )
        if rng.random() < 0.2:
            body = f"(?:{body}|{rng.choice(_PATTERN_ATOMS)})"
        return rng.choice(["", "^"]) + body + rng.choice(["", _END])

    def _number(self) -> int | float:
        rng = self._rng
        if rng.random() < 0.7:
            return rng.choice(_NUMBERS)
        return rng.choice([rng.randint(-20, 20), rng.randint(-10_000, 10_000), rng.randint(-40, 40) / 4])

    def _values(self) -> Case:
        rng = self._rng
        if rng.random() < 0.4:
            return {"const": self.value()}
        values: list[Any] = []
        for value in (self.value() for _ in range(rng.randint(1, 5))):
            # The meta-schema asks for values that differ, and 1 is 1.0 to it, but not True.
            if all(
                json.dumps(value) != json.dumps(each) and (value != each or True in (value, each)) for each in values
            ):
                values.append(value)
        return {"enum": values}

    def _typed(self, depth: int) -> Case:
        rng = self._rng
        kinds = rng.sample(_TYPES, rng.choice([1, 1, 1, 1, 2, 3]))
        schema: Case = {"type": kinds[0] if len(kinds) == 1 else kinds}
        if rng.random() < 0.1:
            del schema["type"]
        for kind in kinds:
            schema.update(self._keywords(kind, depth))
        return schema

    def _keywords(self, kind: str, depth: int) -> Case:
        if kind == "string":
            return self._some(minLength=self._small, maxLength=lambda: self._rng.randint(0, 6), pattern=self.pattern)
        if kind in {"integer", "number"}:
            return self._of_numbers()
        if kind == "array":
            return self._of_arrays(depth)
        return self._of_objects(depth) if kind == "object" else {}

    def _of_numbers(self) -> Case:
        return self._some(
            minimum=self._number,
            maximum=self._number,
            exclusiveMinimum=self._number,
            exclusiveMaximum=self._number,
            multipleOf=lambda: self._rng.choice(_FACTORS),
        )

    def _of_arrays(self, depth: int) -> Case:
        found = self._some(
            items=lambda: self._inner(depth),
            prefixItems=lambda: [self._inner(depth) for _ in range(self._rng.randint(1, 3))],
            minItems=self._small,
            maxItems=lambda: self._rng.randint(0, 4),
            uniqueItems=lambda: self._rng.random() < 0.8,
            contains=lambda: self._inner(depth),
        )
        return {
            **found,
            **(self._some(minContains=self._small, maxContains=self._small) if "contains" in found else {}),
        }

    def _of_objects(self, depth: int) -> Case:
        rng = self._rng
        return self._some(
            properties=lambda: {key: self._inner(depth) for key in rng.sample(_KEYS, rng.randint(1, 3))},
            required=lambda: rng.sample(_KEYS, rng.randint(1, 2)),
            additionalProperties=lambda: rng.choice([False, False, self._inner(depth)]),
            patternProperties=lambda: {self.pattern(): self._inner(depth) for _ in range(rng.randint(1, 2))},
            propertyNames=lambda: rng.choice([{"pattern": self.pattern()}, {"maxLength": 2}, {"enum": ["a", "ab"]}]),
            minProperties=self._small,
            maxProperties=lambda: rng.randint(0, 4),
            dependentRequired=lambda: {rng.choice(_KEYS): rng.sample(_KEYS, 1)},
        )

    def _combined(self, depth: int) -> Case:
        rng = self._rng
        base = self._typed(depth) if rng.random() < 0.5 else {}
        word = rng.choice(["anyOf", "oneOf", "allOf", "anyOf", "oneOf", "not", "if"])
        if word == "not":
            return {**base, "not": self.schema(depth)}
        if word == "if":
            rest = self._some(then=lambda: self.schema(depth))
            return {**base, "if": self.schema(depth), **rest, "else": self.schema(depth)}
        return {**base, word: [self.schema(depth) for _ in range(rng.randint(1, 3))]}

    def _inner(self, depth: int) -> Case | bool:
        if depth:
            return self.schema(depth - 1)
        leaves: list[Case | bool] = [self._typed(0), self._values(), True]
        return self._rng.choice(leaves)

    def _small(self) -> int:
        return self._rng.randint(0, 3)

    def _some(self, **keywords: Any) -> Case:
        """Return some of these keywords; each is given with the function that draws its value."""
        share = self._rng.choice([0.2, 0.35, 0.6])
        return {keyword: drawn() for keyword, drawn in keywords.items() if self._rng.random() < share}

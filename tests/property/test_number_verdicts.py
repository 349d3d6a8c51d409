"""Numbers in every spelling, under random schemas: jsonschema is the judge of what `json.loads` makes of each text.

No text is taken that is refused once it is read. What json.dumps writes for a number that is valid is taken, but for what the
report says under `digits`: very long numbers, and large multiples with a point or an exponent.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jsonschema
import numpy as np
import pytest

import schemagen
from schemagen.errors import LimitError, UnsatisfiableSchemaError, UnsupportedSchemaError
from schemagen.schema.document import DIALECTS

VOCABULARY = schemagen.Vocabulary.byte_vocabulary()
#: Pieces of numbers of up to five characters beside the bytes, as the tokens of a model cut them.
PIECES = (
    *(
        "10",
        "12",
        "25",
        "50",
        "99",
        "100",
        "000",
        "0000",
        "123",
        "999",
        "0.",
        ".0",
        ".5",
        "0.0",
        "1.",
        "-1",
        "-0",
        "-0.",
    ),
    *("e1", "e-", "E+", "e+0", "1e", "1E2", "0e", ".0e", "e10", "e-30", "E308", "e400", "5,", ",1", "0]", "1,2", "-,"),
)
TOKENS = schemagen.Vocabulary.from_tokens(
    [None, *(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in PIECES)], eos_token_ids=[0]
)
NUMERIC = frozenset(b"0123456789+-.eE,[]")
VALIDATORS = {
    4: jsonschema.Draft4Validator,
    7: jsonschema.Draft7Validator,
    2019: jsonschema.Draft201909Validator,
    2020: jsonschema.Draft202012Validator,
}
NUMBERS: tuple[float, ...] = (
    *(0, 1, -1, 2, 3, 5, 10, 12, 100, -3, -7, 10**15, 10**16, 10**22, 10**23, 10**30, 14004464628231000),
    *(2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**54 + 2, 0.0, -0.0, 0.1, 0.5, 1.5, -2.5, 1e-7, 5e-324, 1e-300, 1e16),
    *(1.5e20, 1e22, 1e23, 1e100, 1.7976931348623157e308, 0.30000000000000004, 123456.789, -1e-5),
)
TEXTS = (
    *("1e-400", "-1e-400", "0.0e5", "-0", "-0.0", "0e0", "9e-324", "2e-324", "3e-324", "639E-681", "8e-967", "1e22"),
    *("0.99999999999999999999", "1.00000000000000000001", "9007199254740993.0", "12345678901234567890.0", "3e40"),
)


def any_number(rng: random.Random) -> float:
    """A number of a kind that schemas have, or an odd one."""
    kinds = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(NUMBERS),
        lambda: rng.randint(-50, 50),
        lambda: rng.uniform(-10, 10),
        lambda: float(f"{rng.randint(1, 10 ** rng.randint(1, 17))}e{rng.randint(-330, 290)}"),
        lambda: rng.randint(-(10 ** rng.randint(1, 30)), 10 ** rng.randint(1, 30)),
    )
    return rng.choice(kinds)()


def spelled(rng: random.Random, value: float) -> str:
    """A text of the number or of one beside it, with 1 to 30 digits, a point, an exponent, or what json.dumps writes."""
    if rng.random() < 0.3:
        return json.dumps(value)
    decimal = Fraction(value) if rng.random() < 0.5 else Fraction(Decimal(json.dumps(value)))
    if rng.random() < 0.2:
        decimal += rng.choice([-1, 1]) * Fraction(10) ** rng.randint(-30, 25)
    sign = "-" if decimal < 0 or (not decimal and rng.random() < 0.3) else ""
    decimal = abs(decimal)
    if decimal.denominator == 1 and rng.random() < 0.35:
        return sign + str(decimal.numerator)
    count = rng.randint(1, 30)
    power = len(str(decimal.numerator)) - len(str(decimal.denominator)) - count
    digits = str(round(decimal / Fraction(10) ** power))
    if rng.random() < 0.35 and abs(power) < 60:
        if power >= 0:
            return sign + digits + "0" * power + rng.choice(["", ".0", ".00"])
        digits = digits.rjust(1 - power, "0")
        return f"{sign}{digits[:power]}.{digits[power:]}{'0' * rng.randint(0, 2)}"
    first = rng.randint(1, len(digits))
    whole, fraction = digits[:first].lstrip("0") or "0", digits[first:]
    power += len(fraction)
    mark = rng.choice("eE") + (rng.choice(["", "+"]) if power >= 0 else "-") + rng.choice(["", "", "0"])
    return f"{sign}{whole}{'.' + fraction if fraction else ''}{mark}{abs(power)}"


def random_schema(rng: random.Random, draft: int, depth: int, named: list[float]) -> dict[str, Any]:
    """A schema about numbers; the numbers that it names are added to ``named``."""

    def number() -> float:
        named.append(any_number(rng))
        return named[-1]

    if depth and rng.random() < 0.35:
        keyword = rng.choice(["not", "anyOf", "oneOf", "allOf", "if"] if draft > 4 else ["not", "anyOf", "oneOf"])
        parts = [random_schema(rng, draft, depth - 1, named) for _ in range(3)]
        if keyword == "not":
            return {"not": parts[0]} | ({"type": "number"} if rng.random() < 0.5 else {})
        return {"if": parts[0], "then": parts[1], "else": parts[2]} if keyword == "if" else {keyword: parts}
    schema: dict[str, Any] = {"type": rng.choice(["integer", "number"])} if rng.random() < 0.7 else {}
    kind = rng.random()
    if kind < 0.25:
        schema["enum"] = list({json.dumps(value): value for value in (number() for _ in range(3))}.values())
    elif kind < 0.35 and draft > 4:
        schema["const"] = number()
    elif kind < 0.7:
        schema["minimum"] = number()
        if rng.random() < 0.5:
            schema["maximum"] = number()
    if rng.random() < 0.2:
        schema["multipleOf"] = rng.choice([2, 3, 4, 5, 6, 7, 10, 12, 100])
    return schema


def random_case(rng: random.Random) -> tuple[dict[str, Any], int, list[float]]:
    """A schema of numbers or of an array of them, its draft, and the numbers that it names."""
    draft, named = rng.choice(list(VALIDATORS)), list[float]()
    schema = random_schema(rng, draft, 2, named)
    if rng.random() < 0.35:
        schema = {"type": "array", "items": schema}
        if rng.random() < 0.7:
            schema["uniqueItems"] = True
        if draft >= 2019 and rng.random() < 0.3:
            schema |= {"contains": random_schema(rng, draft, 1, named), "maxContains": rng.randint(1, 2)}
    return {"$schema": DIALECTS[draft], **schema}, draft, named


def is_capped(text: str, schema: str) -> bool:
    """Whether the report says under `digits` that such a text may be left out."""
    numbers = re.findall(r"-?\d[-+.\deE]*", text)
    large = (abs(float(number)) >= 1e15 and not number.lstrip("-").isdigit() for number in numbers)
    most = 20 if "multipleOf" in schema else 60
    return re.search(rf"\d{{{most + 1}}}", text) is not None or ("multipleOf" in schema and any(large))


def takes(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether the mask lets the whole text through."""
    matcher = grammar.matcher()
    return bool(matcher.accept_bytes(text.encode())) and matcher.is_accepting()


def has_infinity(value: Any) -> bool:
    """Whether a number was too large for float64."""
    return any(map(has_infinity, value)) if isinstance(value, list) else isinstance(value, float) and math.isinf(value)


def judge(seed: int, schemas: int, texts: int) -> Counter[str]:
    """Compare verdicts; count what happened."""
    rng, seen = random.Random(seed), Counter[str]()
    for _ in range(schemas):
        schema, draft, named = random_case(rng)
        try:
            grammar = schemagen.compile(schema, VOCABULARY, cache=None)
        except UnsatisfiableSchemaError:
            grammar = None
        except (LimitError, UnsupportedSchemaError):
            seen["refused"] += 1
            continue
        validator = VALIDATORS[draft](schema)
        for _ in range(texts):
            pool = [*named, any_number(rng)]
            parts = [
                rng.choice(TEXTS) if rng.random() < 0.15 else spelled(rng, rng.choice(pool))
                for _ in range(rng.randint(0, 4))
            ]
            text = f"[{','.join(parts)}]" if schema.get("type") == "array" else (parts or ["0"])[0]
            value = json.loads(text)
            if has_infinity(value):
                continue
            is_valid = validator.is_valid(value)
            try:
                is_taken = grammar is not None and takes(grammar, text)
            except LimitError:  # a part that is read late
                seen["refused"] += 1
                break
            seen["texts"] += 1
            seen["valid"] += is_valid
            assert is_valid or not is_taken, (json.dumps(schema), text)
            if is_valid and not is_taken:
                canonical = text == json.dumps(value, separators=(",", ":"))
                assert not canonical or is_capped(text, json.dumps(schema)), (json.dumps(schema), text)
                seen["other spellings"] += 1
    return seen


def walked(grammar: schemagen.Grammar, rng: random.Random) -> str:
    """A text of random allowed tokens, those of numbers wherever there is one, and of the shortest end."""
    matcher, text = grammar.matcher(), b""
    for _ in range(rng.randint(0, 30)):
        allowed = [token for token in matcher.allowed_tokens() if TOKENS.tokens[token]]
        numeric = [token for token in allowed if NUMERIC.issuperset(TOKENS.tokens[token])]
        if not allowed:
            break
        token = rng.choice(numeric or allowed)
        assert matcher.accept_token(token), (text, TOKENS.tokens[token])
        text += TOKENS.tokens[token]
    return (text + matcher.shortest_completion()).decode()


def check_tokens(grammar: schemagen.Grammar, text: bytes, rng: random.Random) -> None:
    """Cut in any way into tokens, a text that the grammar reads is in the masks to its end."""
    matcher, words = grammar.matcher(), (TOKENS.size + 31) // 32
    while text:
        fitting = [token for token, data in enumerate(TOKENS.tokens) if data and text.startswith(data)]
        token = rng.choice(fitting)
        mask = np.zeros((1, words), dtype=np.int32)
        matcher.fill_next_token_bitmask(mask)
        assert mask[0, token // 32] >> (token % 32) & 1, (text, TOKENS.tokens[token])
        assert matcher.accept_token(token)
        text = text[len(TOKENS.tokens[token]) :]
    assert matcher.accept_token(0), "the text may end"


def walk(seed: int, schemas: int, walks: int) -> Counter[str]:
    """Walk through masks, judge the texts, and read each again in other tokens; count what happened."""
    rng, seen = random.Random(seed), Counter[str]()
    for _ in range(schemas):
        schema, draft, _ = random_case(rng)
        validator = VALIDATORS[draft](schema)
        try:
            grammar = schemagen.compile(schema, TOKENS, cache=None)
            texts = [walked(grammar, rng) for _ in range(walks)]
        except (UnsatisfiableSchemaError, LimitError, UnsupportedSchemaError):
            continue
        for text in texts:
            value = json.loads(text)
            assert validator.is_valid(value) or has_infinity(value), (json.dumps(schema), text)
            check_tokens(grammar, text.encode(), rng)
            seen["walks"] += 1
            seen["exponents"] += "e" in text.lower()
    return seen


@pytest.mark.parametrize("seed", range(2))
def test_masks_lead_to_valid_numbers(seed: int) -> None:
    """Some hundred walks."""
    assert walk(seed, 30, 6)["walks"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_masks_lead_to_valid_numbers_on_many_walks(seed: int) -> None:
    """Twenty thousand walks."""
    seen = walk(seed, 250, 5)
    assert seen["walks"] > 1000
    assert seen["exponents"] > 300


@pytest.mark.parametrize("seed", range(4))
def test_texts_mean_what_json_loads_reads(seed: int) -> None:
    """Some hundred schemas."""
    seen = judge(seed, 60, 20)
    assert seen["valid"] > 100
    assert seen["refused"] < 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 140))
def test_many_texts_mean_what_json_loads_reads(seed: int) -> None:
    """A quarter of a million texts."""
    seen = judge(seed, 125, 50)
    assert seen["valid"] > 1000
    assert seen["refused"] < 12

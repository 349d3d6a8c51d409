"""The automaton of numbers (`core/regex/numbers.hpp`) against every text of small rules, one by one."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

import pytest

core = pytest.importorskip("schemagen._core")

WHOLE, POINT, EXPONENT = 1, 2, 4
INTEGER_DIGITS, FRACTION_DIGITS, FARTHEST = 2, 1, 8
MANTISSAS = [
    whole + behind
    for whole in map(str, range(10**INTEGER_DIGITS))
    for behind in ("", *(f".{digit}" for digit in range(10**FRACTION_DIGITS)))
]
#: Bytes of numbers; an id of a token is the place in it.
BYTES = "0123456789+-.eE"


def value_of(text: str) -> Fraction:
    """The exact value of a text."""
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    return Fraction(int(whole + fraction)) * Fraction(10) ** (int(exponent or 0) - len(fraction))


class Rule:
    """A random rule, by its definition."""

    def __init__(self, rng: random.Random) -> None:
        self.sides = [self._side(rng) for _ in range(2)]
        self.zero = rng.random() < 0.5
        self.divisor = rng.choice([0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 12, 25, 64, 1001, 2**31])
        self.power = rng.randint(-3, 3) if self.divisor else 0
        self.forms = rng.choice([WHOLE, WHOLE | POINT, POINT | EXPONENT, 7, 7, 7, EXPONENT])
        self.exact_digits = rng.choice([0, 0, 0, 1, 2])

    @staticmethod
    def _side(rng: random.Random) -> tuple[bool, tuple[str, int, bool], tuple[str, int, bool]]:
        def end() -> tuple[str, int, bool]:
            digits = str(rng.choice([rng.randint(1, 9), rng.randint(1, 99), rng.randint(1, 9999)])).rstrip("0")
            return digits, rng.randint(-3, 3), rng.random() < 0.5

        low = end() if rng.random() < 0.7 else ("", 0, False)
        high = end()
        if low[0] and Rule.magnitude(low) > Rule.magnitude(high):
            low, high = high, low
        return rng.random() < 0.8, low, high

    @staticmethod
    def magnitude(end: tuple[str, int, bool]) -> Fraction:
        """The value of an end."""
        return int(end[0]) * Fraction(10) ** (end[1] - len(end[0]) + 1)

    def arguments(self) -> list:
        """What `Builder.number` takes."""
        ends = [end for _, low, high in self.sides for end in (low, high)]
        inside = sum(bit for bit, (there, _, _) in zip((1, 2), self.sides, strict=True) if there) | (
            4 if self.zero else 0
        )
        caps = (INTEGER_DIGITS, FRACTION_DIGITS, self.exact_digits)
        return [ends, inside, (self.divisor, self.power), caps, self.forms]

    def allows(self, text: str, magnitude: Fraction) -> bool:
        """Whether a text is one of the rule; ``magnitude`` is its value without the sign."""
        there, low, high = self.sides[text.startswith("-")]
        form = EXPONENT if "e" in text else POINT if "." in text else WHOLE
        if not self.forms & form:
            return False
        digits = text.lstrip("-").partition("e")[0].replace(".", "").strip("0")
        if form != WHOLE and self.exact_digits and len(digits) > self.exact_digits:
            return False
        if not magnitude:
            return self.zero
        if not there or magnitude > self.magnitude(high) or (high[2] and magnitude == self.magnitude(high)):
            return False
        if low[0] and (magnitude < self.magnitude(low) or (low[2] and magnitude == self.magnitude(low))):
            return False
        return not self.divisor or (magnitude / self.divisor / Fraction(10) ** self.power).denominator == 1


@cache
def magnitudes() -> list[tuple[str, Fraction]]:
    """Every text with an exponent near zero and without a sign, and its value."""
    exponents = ("", *(f"e{exponent}" for exponent in range(-FARTHEST, FARTHEST + 1)))
    return [(mantissa + exponent, value_of(mantissa + exponent)) for mantissa in MANTISSAS for exponent in exponents]


def texts_of(rule: Rule) -> set[str]:
    """Every text of the rule with an exponent near zero."""
    return {text for body, value in magnitudes() for text in (body, "-" + body) if rule.allows(text, value)}


def check(seed: int) -> None:
    """Compare the masks of a random rule behind every prefix with its texts, and the shortest way to an end."""
    rule = Rule(random.Random(seed))
    builder = core.Builder()
    tables = core.VocabularyTables([byte.encode() for byte in BYTES] + [b""], [len(BYTES)])
    node = builder.number(*rule.arguments())
    texts = texts_of(rule)
    assert (node == 0) == (not texts), (seed, rule.arguments())
    if not texts:
        return
    nexts: dict[str, set[str]] = {}
    shortest: dict[str, int] = {}
    for text in texts:
        end = text.find("e")
        for size in range((len(text) if end < 0 else end) + 1):
            prefix = text[:size]
            shortest[prefix] = min(shortest.get(prefix, 99), len(text) - size)
            nexts.setdefault(prefix, set()).update(text[size : size + 1])
    constraint = builder.regex(node, tables)
    for prefix, following in nexts.items():
        matcher = constraint.matcher()
        assert matcher.accept_bytes(prefix.encode()), (seed, prefix)
        assert matcher.is_accepting() == (prefix in texts), (seed, prefix)
        allowed = {BYTES[token] for token in matcher.allowed_tokens() if token < len(BYTES)}
        assert allowed - {"E"} == following, (seed, prefix, rule.arguments())
        assert ("E" in allowed) == ("e" in allowed)
        least = matcher.least_bytes()
        assert least == shortest[prefix], (seed, prefix, rule.arguments())


@pytest.mark.parametrize("seed", range(4))
def test_masks_of_small_rules_agree_with_all_their_texts(seed: int) -> None:
    """Behind every mantissa exactly those bytes are allowed that some text goes on with, and the shortest way is known."""
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 600, 100))
def test_masks_of_many_small_rules_agree_with_all_their_texts(first: int) -> None:
    """As above, for many rules."""
    for seed in range(first + 100, first + 200):
        check(seed)


def test_exponents_are_completed_within_their_bounds() -> None:
    """Behind the ``e`` exactly the exponents are written that put the value inside, with zeros in front or without."""
    builder = core.Builder()
    tables = core.VocabularyTables([byte.encode() for byte in BYTES] + [b""], [len(BYTES)])
    ends = [("25", -7, False), ("3", 12, True), ("", 0, False), ("4", 300, False)]
    constraint = builder.regex(builder.number(ends, 3, (0, 0), (3, 3, 0), 7), tables)
    for exponent in range(-30, 30):
        value = 25 * Fraction(10) ** exponent
        expected = Fraction(25, 10**8) <= value < 3 * Fraction(10) ** 12
        for text in ("e{}", "E0{}", "e+{}", "e+000{}") if exponent >= 0 else ("e-{}", "e-0{}"):
            matcher = constraint.matcher()
            written = "25" + text.format(abs(exponent))
            assert (matcher.accept_bytes(written.encode()) and matcher.is_accepting()) == expected, written
    for text, expected in (
        ("-4e300", True),
        ("-4.001e300", False),
        ("-40e299", True),
        ("-1e-1999", True),
        ("-1e-2000", False),
    ):
        matcher = constraint.matcher()
        assert (matcher.accept_bytes(text.encode()) and matcher.is_accepting()) == expected, text

"""JSON number texts against exact decimal arithmetic: every short text, for many bounds."""

from __future__ import annotations

import itertools
import json
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest

import schemagen
from schemagen.errors import LimitError
from schemagen.regex import ast
from schemagen.regex.language import Language
from schemagen.schema.numbers.expressions import (
    NumberBounds,
    NumberStyle,
    decimal_text,
    divisor_of,
    number_range_regex,
    number_regex,
    number_superset_regex,
    number_value_regex,
)
from schemagen.schema.numbers.multiples import Multiple, multiple_of_regex

pytestmark = pytest.mark.sampled(3)

STYLE = NumberStyle()
SHAPE = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@cache
def short_texts() -> tuple[str, ...]:
    """Every JSON number of up to five characters over an alphabet that has the corner digits."""
    candidates = ("".join(chars) for size in range(1, 6) for chars in itertools.product("-01259.eE+", repeat=size))
    return tuple(text for text in candidates if SHAPE.fullmatch(text))


def satisfies(bounds: NumberBounds, value: Fraction) -> bool:
    """The constraint by its definition."""
    low, high = bounds.minimum, bounds.maximum
    if low is not None and (value < low or (bounds.exclusive_minimum and value == low)):
        return False
    if high is not None and (value > high or (bounds.exclusive_maximum and value == high)):
        return False
    if bounds.multiple_of is not None and (value / Fraction(bounds.multiple_of)).denominator != 1:
        return False
    return not bounds.integer or value.denominator == 1


def parse(description: str) -> NumberBounds:
    """``[0, 2.5) / 0.5 int`` as bounds; ``*`` is no end."""
    match = re.fullmatch(r"([\[(])(\S+), (\S+)([\])])(?: / (\S+))?( int)?", description)
    assert match is not None, description
    opening, low, high, closing, multiple, integer = match.groups()
    ends = [None if end == "*" else Decimal(end) for end in (low, high)]
    divisor = None if multiple is None else Decimal(multiple)
    return NumberBounds(ends[0], ends[1], opening == "(", closing == ")", divisor, integer is not None)


BOUNDS = [
    "[*, *]",
    "[*, *] int",
    "[0, *]",
    "(0, *]",
    "[*, 0]",
    "[*, 0)",
    "[0, *] int",
    "(0, *] int",
    "[*, -1] int",
    "[0.5, 2.25)",
    "(-1.5, 0.05]",
    "[0, 1]",
    "(0, 1)",
    "[-1, 1]",
    "[1, *]",
    "(*, 9.99]",
    "(99, *] int",
    "[-10, 100] int",
    "[-9.5, 9.1] int",
    "[5, 5]",
    "[5, 5] int",
    "[5, 5)",
    "(0.15, 0.155)",
    "[0.1, 0.2)",
    "[-0.0, 0]",
    "[12, 9]",
    "[0.2, 0.9] int",
    "[*, 1000000000] int",
    "[-2147483648, 2147483647] int",
    "[*, 1e400]",
    "[-1.7976931348623157e308, 1.7976931348623157e308]",
    "[*, *] / 0.01",
    "[*, *] / 0.5",
    "[*, *] / 0.25",
    "[*, *] / 5",
    "[*, *] / 20",
    "[*, *] / 8",
    "[*, *] / 100",
    "[*, *] / 3",
    "[*, *] / 15 int",
    "[0, 99] / 7 int",
    "[-1, 1] / 0.05",
    "[*, *] / 1.5 int",
    "[*, *] / 1.5",
    "(9.99, *] / 0.3",
    "[0, 1000] / 19",
    "[*, *] / 0.5 int",
]


@pytest.mark.parametrize("description", BOUNDS)
def test_every_short_text_agrees_with_exact_arithmetic(description: str) -> None:
    """Texts without exponent match iff their value satisfies the bounds; texts with one match only if it does."""
    bounds = parse(description)
    positive = Language(number_regex(bounds, STYLE))
    wrong = []
    for text in short_texts():
        expected = satisfies(bounds, Fraction(Decimal(text)))
        matched = positive.matches(text)
        if matched != expected and (matched or "e" not in text.lower()):
            wrong.append(text)
    assert not wrong


@pytest.mark.parametrize("description", BOUNDS)
def test_superset_has_every_satisfying_text_and_no_other_plain_one(description: str) -> None:
    """The over-approximation misses nothing, and on short texts without exponent it is exact."""
    bounds = parse(description)
    superset = Language(number_superset_regex(bounds))
    wrong = []
    for text in short_texts():
        expected = satisfies(bounds, Fraction(Decimal(text)))
        matched = superset.matches(text)
        if matched != expected and (expected or "e" not in text.lower()):
            wrong.append(text)
    assert not wrong


def test_malformed_numbers_never_match() -> None:
    """Leading zeros, bare points, plus signs and empty exponents are no JSON numbers in any language here."""
    bad = ["", "-", "01", "-01", "00", "1.", ".5", "+1", "1e", "1e+", "1.e5", "0x1", "1_0", " 1", "1 ", "NaN", "--1"]
    for description in ("[*, *]", "[*, *] int", "[0, *]", "[-5, 5]", "[0, 100] / 7", "[*, *] / 0.5", "[*, *] / 3"):
        bounds = parse(description)
        for regex in (number_regex(bounds, STYLE), number_superset_regex(bounds)):
            assert [text for text in bad if Language(regex).matches(text)] == []


@pytest.mark.parametrize(
    ("description", "inside", "outside"),
    [
        (
            "[*, *]",
            ["1e5", "1E+05", "1.5e-7", "-2e299", "12345678.5e1", "1.7976931348623157e+308"],
            ["1e309", "1e9999"],
        ),
        ("(0, *]", ["1e-07", "1e299", "0.5e3", "5e-324"], ["0e5", "-1e5", "0.0e1", "1e-330"]),
        ("[0, *]", ["0e5", "-0e5", "1e10"], ["-1e10"]),
        ("[0, 1]", ["1e-07", "2.5e-10", "9e-5", "1e0"], ["1e1", "-1e-07", "1.001e0"]),
        ("[-1, 1]", ["-1e-07", "1e-07"], ["-1e1"]),
        ("[1, *]", ["1e+16", "1e22", "2.5e10", "1e1", "1e+000012"], ["1e-1", "-1e16"]),
        ("(2.5e3, 3.25e5]", ["2.51e3", "1e4", "3.25e5"], ["2.5e3", "3.251e5", "1e6", "9e2"]),
        ("[*, *] int", ["1e5", "1.5e16"], ["1.5e-1", "1e-1", "1.55e1"]),
        ("[20, 50] int", ["3e1", "5.0e1"], ["1e1", "6e1", "3.5e1"]),
        ("[*, *] / 0.5", ["1e3"], ["1e-1"]),
    ],
)
def test_exponents_within_the_bounds(description: str, inside: list[str], outside: list[str]) -> None:
    """Exponent forms that json.dumps writes are reachable, those that leave the range are not."""
    recogniser = Language(number_regex(parse(description), STYLE))
    assert [text for text in inside if not recogniser.matches(text)] == []
    assert [text for text in outside if recogniser.matches(text)] == []


def test_no_exponents_if_the_style_has_none() -> None:
    """`NumberStyle.exponents` switches every exponent off."""
    recogniser = Language(number_regex(NumberBounds(), NumberStyle(exponents=False)))
    assert recogniser.matches("15.25")
    assert not recogniser.matches("1e5")


@pytest.mark.parametrize("bound", ["1", "0.1", "2.5", "-3", "1e10", "0.30000000000000004", "123456.789"])
def test_exclusive_ends_hold_after_float_parsing(bound: str) -> None:
    """No text matches that float64 would round onto an exclusive end, and the float next to the end has a text."""
    end = float(bound)
    above, below = math.nextafter(end, math.inf), math.nextafter(end, -math.inf)
    style = NumberStyle(max_fraction_digits=30)
    texts = [format(Decimal(value), "f")[: len(str(int(value))) + 28] for value in (above, below)]
    close = [format(Decimal(bound) + Decimal(step) * Decimal("1e-19"), "f") for step in range(-9, 10)]
    minimum = Language(number_regex(NumberBounds(minimum=Decimal(bound), exclusive_minimum=True), style))
    maximum = Language(number_regex(NumberBounds(maximum=Decimal(bound), exclusive_maximum=True), style))
    assert [text for text in close if minimum.matches(text) and float(text) <= end] == []
    assert [text for text in close if maximum.matches(text) and float(text) >= end] == []
    assert minimum.matches(texts[0])
    assert maximum.matches(texts[1])


def test_integer_ends_that_no_float_has_hold_after_float_parsing() -> None:
    """9007199254740993.0 reads as ...992.0, so it cannot be a text of a number that is at least ...993."""
    recogniser = Language(number_regex(NumberBounds(minimum=Decimal(2**53 + 1)), STYLE))
    assert not recogniser.matches("9007199254740993.0")
    assert recogniser.matches("9007199254740994.0")
    integers = Language(number_regex(NumberBounds(minimum=Decimal(2**53 + 1), integer=True), STYLE))
    assert integers.matches("9007199254740993")
    assert not integers.matches("9007199254740993.0")


def test_superset_includes_texts_that_only_float64_puts_inside() -> None:
    """1.00000000000000000001 reads as 1.0, so it must not be generated for "not at most 1"."""
    superset = Language(number_superset_regex(NumberBounds(maximum=Decimal(1))))
    assert superset.matches("1.00000000000000000001")
    assert not superset.matches("1.001")
    integers = Language(number_superset_regex(NumberBounds(integer=True)))
    assert integers.matches("0.99999999999999999999")
    assert not integers.matches("0.75")


def test_digit_caps_stop_runaways_and_grow_with_the_ends() -> None:
    """Digits are capped, but never below what an end or a divisor needs."""
    style = NumberStyle(max_integer_digits=3, max_fraction_digits=2)
    free = Language(number_regex(NumberBounds(), style))
    assert free.matches("999.99")
    assert not free.matches("1000")
    assert not free.matches("0.001")
    wide = Language(number_regex(NumberBounds(minimum=Decimal("12345.678")), style))
    assert wide.matches("12345.678")
    assert wide.matches("999999")
    fine = Language(number_regex(NumberBounds(multiple_of=Decimal("0.0001")), style))
    assert fine.matches("0.0003")


def test_integers_of_python_types_have_no_point() -> None:
    """`integer_fraction` decides whether 1.0 is an integer."""
    bounds = NumberBounds(integer=True)
    assert Language(number_regex(bounds, STYLE)).matches("1.0")
    assert not Language(number_regex(bounds, NumberStyle(integer_fraction=False))).matches("1.0")


def test_empty_ranges_are_the_empty_language() -> None:
    """A range without any value is `EMPTY`, not an expression that matches nothing."""
    for description in ("[12, 9]", "[5, 5)", "[0.2, 0.9] int", "(3, 4) int"):
        assert number_regex(parse(description), STYLE) == ast.EMPTY
    assert number_superset_regex(parse("[12, 9]")) == ast.EMPTY


@pytest.mark.parametrize("value", [0, -7, 1.0, 0.1, -2.5, 1e-7, 1e22, 5e-324, 10**30, Decimal("1.50"), Fraction(1, 4)])
def test_literals_are_canonical(value: float | Decimal | Fraction) -> None:
    """Enum and const numbers are written as json.dumps does, decimals without exponent."""
    text = json.dumps(value) if isinstance(value, (int, float)) else format(Decimal(str(float(value))), "f")
    assert decimal_text(value) == text


def test_literals_must_be_finite() -> None:
    """Infinities have no JSON text."""
    with pytest.raises(LimitError):
        decimal_text(math.inf)


@pytest.mark.parametrize(
    ("value", "same", "other"),
    [
        (1, ["1", "1.0", "1e0", "10e-1", "0.1E1", "0.01e+2", "1.00000000000000000001"], ["-1", "11", "1.1", "2e0"]),
        (0, ["0", "-0", "0.0", "-0.00", "0e5"], ["1", "0.1", "1e0"]),
        (1.5, ["1.5", "1.50", "15e-1", "0.15e1"], ["1.05", "-1.5", "15"]),
        (-120, ["-120", "-120.0", "-12e1", "-1.2E+2", "-0.012e4"], ["120", "-12", "-102e0"]),
        (0.1, ["0.1", "0.10", "1e-1", "0.1000000000000000055"], ["0.11", "1"]),
    ],
)
def test_value_regex_has_every_spelling(value: float, same: list[str], other: list[str]) -> None:
    """All texts that Python reads as the value match; texts of other digits do not."""
    recogniser = Language(number_value_regex(value))
    assert [text for text in same if not recogniser.matches(text)] == []
    assert [text for text in other if recogniser.matches(text)] == []
    missed = [text for text in short_texts() if json.loads(text) == value and not recogniser.matches(text)]
    assert missed == []


@pytest.mark.parametrize("divisor", [2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 25, 50, 64, 75, 100, 125, 250, 1000])
def test_unbounded_multiples_are_exact_or_refused(divisor: int) -> None:
    """Every integer below 3000 is a multiple iff it matches; a divisor without a small expression raises."""
    bounds = NumberBounds(multiple_of=Decimal(divisor), integer=True)
    if divisor == 9:
        with pytest.raises(LimitError, match="multipleOf 9"):
            number_regex(bounds, STYLE)
        return
    recogniser = Language(number_regex(bounds, STYLE))
    wrong = [value for value in range(3000) if recogniser.matches(str(value)) != (value % divisor == 0)]
    assert wrong == []


def test_listed_multiples_need_no_small_automaton() -> None:
    """A bounded range is listed, whatever the divisor."""
    recogniser = Language(number_regex(parse("[0, 5000] / 97 int"), STYLE))
    assert [value for value in range(5200) if recogniser.matches(str(value))] == list(range(0, 5001, 97))


def test_refused_multiples_name_the_divisor_and_the_way_out() -> None:
    """The error of too large a divisor states it; the range expression and the divisor remain available."""
    bounds = NumberBounds(multiple_of=Decimal("10.24"))
    with pytest.raises(LimitError, match=r"multipleOf 10\.24") as caught:
        number_regex(bounds, STYLE)
    assert caught.value.fix
    assert divisor_of(bounds) == Multiple(1024, 2)
    assert Language(number_range_regex(bounds, STYLE)).matches("20.48")


def test_multiple_descriptions_follow_exact_arithmetic() -> None:
    """`Multiple` agrees with rational division, and its residues with appending digits."""
    for text in ("0.01", "1.5", "7", "0.125", "300"):
        multiple = Multiple.of(Decimal(text))
        for step in range(-50, 51):
            value = Fraction(step, 8)
            assert multiple.divides(value) == ((value / Fraction(text)).denominator == 1)
    assert Multiple.of(Fraction(2, 3)) == Multiple(2, 0)
    assert Multiple(7, 0).residues(3) == tuple((30 + digit) % 7 for digit in range(10))
    assert Multiple.of(Decimal("1.5")).of_integers() == Multiple(3, 0)


@pytest.mark.parametrize("value", ["0", "-1", "1e999999999"])
def test_absurd_divisors_are_refused_at_once(value: str) -> None:
    """A divisor that is not positive or astronomically long raises instead of eating memory."""
    with pytest.raises(LimitError):
        Multiple.of(Decimal(value))


def test_absurd_ends_cost_nothing() -> None:
    """Ends with a huge exponent are handled without writing their digits out."""
    big, tiny = Decimal("1e999999999"), Decimal("1e-999999999")
    assert number_regex(NumberBounds(maximum=big), STYLE) == number_regex(NumberBounds(), STYLE)
    assert number_regex(NumberBounds(minimum=big), STYLE) is not None
    assert Language(number_regex(NumberBounds(minimum=Decimal("1e100")), STYLE)).matches("1" + "0" * 100)
    with pytest.raises(LimitError, match="limit 800"):
        number_regex(NumberBounds(minimum=Fraction(10**900)), STYLE)
    assert Language(number_regex(NumberBounds(minimum=Decimal("1e60")), STYLE)).matches("1e70")
    assert Language(number_regex(NumberBounds(minimum=Decimal("1e60"), integer=True), STYLE)).matches("9" * 61)
    assert Language(number_regex(NumberBounds(minimum=tiny), STYLE)).matches("0.5")
    assert not Language(number_regex(NumberBounds(minimum=tiny), STYLE)).matches("0")


def test_a_pattern_that_is_too_deep_is_a_limit() -> None:
    """A bound of 300 digits has no pattern of reasonable depth; the compiled grammar needs none."""
    with pytest.raises(LimitError, match="recursion limit"):
        schemagen.to_regex({"type": "number", "minimum": 1e300})


def test_multiple_condition_leaves_the_shape_to_the_range() -> None:
    """The bare condition speaks about digits only, so it accepts leading zeros."""
    assert Language(multiple_of_regex(Multiple(5, 0))).matches("005")

"""Random bounds and random values: what matches satisfies, what satisfies matches."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import pydantic
from hypothesis import assume, given, settings, strategies as st
from jsonschema import Draft202012Validator

from schemagen.regex.language import matches
from schemagen.schema.numbers.expressions import (
    NumberBounds,
    NumberStyle,
    number_regex,
    number_superset_regex,
    number_value_regex,
)

STYLE = NumberStyle()


def decimals(places: int) -> st.SearchStrategy[Decimal]:
    """Decimals around zero with up to so many fraction digits, many of them close together."""
    units = st.integers(-3000, 3000)
    return st.builds(lambda unit, scale: Decimal(unit).scaleb(-scale), units, st.integers(0, places))


ENDS = st.one_of(st.none(), decimals(4), st.integers(-(10**18), 10**18).map(Decimal))
BOUNDS = st.builds(NumberBounds, ENDS, ENDS, st.booleans(), st.booleans(), st.none(), st.booleans())
DIVISORS = st.sampled_from(
    ["0.01", "0.1", "0.5", "0.25", "0.05", "1.5", "2", "3", "4", "5", "6", "10", "15", "20", "50"]
)


def satisfies(bounds: NumberBounds, value: Fraction) -> bool:
    """The constraint by its definition."""
    low, high = bounds.minimum, bounds.maximum
    above = low is None or value > low or (value == low and not bounds.exclusive_minimum)
    below = high is None or value < high or (value == high and not bounds.exclusive_maximum)
    multiple = bounds.multiple_of is None or (value / Fraction(bounds.multiple_of)).denominator == 1
    return above and below and multiple and (not bounds.integer or value.denominator == 1)


def near(bounds: NumberBounds, nudge: Decimal) -> list[Decimal]:
    """The ends and values a nudge away from them, where mistakes live."""
    ends = [Decimal(end) for end in (bounds.minimum, bounds.maximum) if isinstance(end, Decimal)]
    return [end + step for end in ends for step in (-nudge, Decimal(0), nudge)]


@settings(max_examples=200, derandomize=True)
@given(bounds=BOUNDS, value=decimals(5), nudge=decimals(6))
def test_bounds_agree_with_exact_arithmetic(bounds: NumberBounds, value: Decimal, nudge: Decimal) -> None:
    """A plain text matches iff its value satisfies the bounds, also at and beside the ends."""
    regex, superset = number_regex(bounds, STYLE), number_superset_regex(bounds)
    for candidate in (value, *near(bounds, nudge)):
        text = format(candidate, "f")
        expected = satisfies(bounds, Fraction(candidate))
        matched, possible = matches(regex, text), matches(superset, text)
        assert expected or not matched
        assert possible or not expected
        # Past 15 digits float64 may read another value, so that the two languages leave a gap.
        assert (matched == possible == expected) or len(candidate.as_tuple().digits) > 15


@settings(max_examples=150, derandomize=True)
@given(bounds=BOUNDS, divisor=DIVISORS, count=st.integers(-400, 400), zeros=st.integers(0, 3))
def test_multiples_agree_with_exact_arithmetic(bounds: NumberBounds, divisor: str, count: int, zeros: int) -> None:
    """Multiples match within the bounds, their neighbours do not, however many zeros follow."""
    assume(not bounds.integer or Fraction(divisor).denominator == 1)
    limited = replace(bounds, multiple_of=Decimal(divisor))
    regex = number_regex(limited, STYLE)
    for offset in (Decimal(0), Decimal("0.01"), Decimal(1)):
        value = count * Decimal(divisor) + offset
        text = format(value, "f")
        text += ("" if "." in text or not zeros else ".") + "0" * zeros
        assert matches(regex, text) == satisfies(limited, Fraction(value))


@settings(max_examples=200, derandomize=True)
@given(value=st.floats(allow_nan=False, allow_infinity=False), bounds=BOUNDS)
def test_canonical_floats_that_match_satisfy(value: float, bounds: NumberBounds) -> None:
    """Texts as json.dumps writes them, exponents included, match only if the value satisfies; supersets miss none."""
    text = json.dumps(value)
    expected = satisfies(bounds, Fraction(value)) and satisfies(bounds, Fraction(Decimal(text)))
    assert expected or not matches(number_regex(bounds, STYLE), text)
    assert not expected or matches(number_superset_regex(bounds), text)


#: Magnitudes at which the writers of floats stop to write them without an exponent, and floats anywhere.
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(1e-6, 1e-3),
    st.floats(-1e-3, -1e-6),
    st.floats(1e14, 1e17),
)
WRITERS = (
    json.dumps,
    lambda value: pydantic.TypeAdapter(float).dump_json(value).decode(),
    lambda value: plain(value, 22),
)


def plain(value: float, places: int) -> str:
    """A float without exponent, as JavaScript writes it from 1e-6 on; "0" where that needs more places."""
    text = format(Decimal(repr(value)), "f")
    return text if len(text.partition(".")[2]) <= places else "0"


@settings(max_examples=150, derandomize=True)
@given(value=FLOATS)
def test_every_float_written_without_an_exponent_matches(value: float) -> None:
    """What json.dumps, pydantic and JavaScript write without an exponent is within the caps on digits."""
    for write in WRITERS:
        text = write(value)
        integer, _, fraction = text.partition(".")
        if "e" not in text and len(integer.lstrip("-")) <= STYLE.max_integer_digits:
            assert matches(number_regex(NumberBounds(), STYLE), text)
            assert matches(number_regex(NumberBounds(minimum=Decimal(-(10**60)), maximum=Decimal(10**60)), STYLE), text)
            assert len(fraction) <= STYLE.max_fraction_digits


TEXTS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,4})(\.([0-9]{1,4}|9{14,20}|0{14,19}[0-9]))?([eE][+-]?[0-9]{1,2})?", fullmatch=True
)


@settings(max_examples=100, derandomize=True)
@given(text=TEXTS, bounds=BOUNDS, offset=st.sampled_from([-1, 0, 1]))
def test_validators_agree_with_every_match(text: str, bounds: NumberBounds, offset: int) -> None:
    """Validators (jsonschema, pydantic), which compare what json.loads makes of a text, accept every text that matches."""
    # An end right beside the text is where float64 could round across it.
    moved = replace(bounds, minimum=Decimal(round(float(text)) + offset)) if abs(float(text)) < 1e15 else bounds
    if not matches(number_regex(moved, STYLE), text):
        return
    keywords = {
        ("exclusiveMinimum", "gt") if moved.exclusive_minimum else ("minimum", "ge"): moved.minimum,
        ("exclusiveMaximum", "lt") if moved.exclusive_maximum else ("maximum", "le"): moved.maximum,
    }
    ends = {names: json.loads(format(end, "f")) for names, end in keywords.items() if end is not None}
    schema = {"type": "integer" if moved.integer else "number", **{name: end for (name, _), end in ends.items()}}
    assert Draft202012Validator(schema).is_valid(json.loads(text))
    target = Annotated[float, pydantic.Field(**{name: end for (_, name), end in ends.items()})]
    assert pydantic.TypeAdapter(target).validate_json(text) == float(text)


@settings(max_examples=200, derandomize=True)
@given(value=st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)), exponent=st.integers(-30, 30))
def test_values_match_their_own_spellings(value: float, exponent: int) -> None:
    """The expression of a value matches what json.dumps writes, and a shifted exponent form."""
    text = json.dumps(value)
    assert matches(number_value_regex(value), text)
    mantissa = format(Decimal(text).scaleb(-exponent), "f")
    assert matches(number_value_regex(value), f"{mantissa}e{exponent}")

"""Decimals: the digits of the text, and as many as the constraints allow."""

from __future__ import annotations

import dataclasses
import json
import random
import typing as t
from decimal import Decimal

import pydantic as p
import pytest
import typing_extensions as te
from pydantic import BaseModel, Field

import schemagen
from schemagen.types.reflection import reflect
from tests.grammars import compiled_by

A = t.Annotated
BYTES = schemagen.Vocabulary.byte_vocabulary()
END = BYTES.eos_token_ids[0]
Money = A[Decimal, Field(max_digits=4, decimal_places=2)]


class Line(BaseModel):
    price: Money
    rate: Decimal = Decimal(1)


class Order(BaseModel):
    lines: list[Line]
    total: t.Optional[Decimal] = None


class Node(BaseModel):
    value: Decimal
    inner: t.Optional[Node] = None


@dataclasses.dataclass
class Record:
    price: Decimal


class Typed(te.TypedDict):
    price: Decimal


class Built(BaseModel):
    price: Decimal

    def __init__(self, **values: t.Any) -> None:
        super().__init__(**values)


ZOO: dict[str, t.Any] = {
    "plain": Decimal,
    "strict": A[Decimal, p.Strict()],
    "money": Money,
    "digits": A[Decimal, Field(max_digits=3)],
    "places": A[Decimal, Field(decimal_places=1)],
    "bounded": A[Decimal, Field(ge=-1, lt=Decimal("99.5"))],
    "step": A[Decimal, Field(multiple_of=Decimal("0.25"))],
    "infinite": A[Decimal, Field(allow_inf_nan=True)],
    "model": Line,
    "nested": Order,
    "recursive": Node,
    "dataclass": Record,
    "typed dict": Typed,
    "own init": Built,
    "list": list[Decimal],
    "tuple": tuple[Decimal, float],
    "optional": t.Optional[Decimal],
    "keys": dict[Decimal, Decimal],
    "or float": t.Union[Decimal, float],
    "float or": t.Union[float, Decimal],
    "or int": t.Union[Decimal, int],
    "or str": t.Union[Decimal, str],
    "left to right": A[t.Union[Decimal, float], Field(union_mode="left_to_right")],
    "or money": t.Union[Money, Decimal],
    "packed": p.Json[Decimal],
    "validated": A[Decimal, p.AfterValidator(abs)],
}
NUMBERS = [
    "19.90", "19.9", "0.12345678901234567890123", "1", "-1", "0", "-0", "0.0", "-0.0", "1e2", "1E-7", "10.01", "1.5", "1.25", "0.10",
    "10.0100000000000000000000", "99.995", "123456789012345678.5", "12345678901234567890123", "1e400", "1e-400", "true", "null",
    '"19.90"', '"a"', '"1e2"', '"NaN"',
]  # fmt: skip


def documents(number: str) -> list[str]:
    """Texts with a number in the places where the types of the zoo have one."""
    price = f'{{"price": {number}}}'
    return [
        number,
        price,
        f'{{"price": 1.50, "rate": {number}}}',
        f'{{"lines": [{price}, {price}], "total": {number}}}',
        f'{{"value": {number}, "inner": {{"value": {number}}}}}',
        f"[{number}]",
        f"[{number}, {number}]",
        f'{{"1.50": {number}}}',
        json.dumps(number),
    ]


def outcome(read: t.Callable[[str], t.Any], text: str) -> t.Any:
    """What a reader makes of a text: an instance, or the kinds and places of its errors."""
    try:
        return read(text)
    except p.ValidationError as error:
        return [(each["type"], each["loc"]) for each in error.errors()]


@pytest.mark.parametrize("name", ZOO)
def test_what_is_read_is_what_pydantic_reads_but_for_the_digits(name: str) -> None:
    """The same types, members of unions and errors; what is the same number to float64 is the same instance."""
    tp = ZOO[name]
    target, adapter = reflect(tp), p.TypeAdapter(tp)

    def rounded(value: t.Any) -> t.Any:
        if isinstance(value, Decimal):
            return Decimal, str(float(value))
        if isinstance(value, BaseModel | list | tuple | dict) or dataclasses.is_dataclass(value):
            parts = value if isinstance(value, list | tuple) else getattr(value, "__dict__", value).items()  # type: ignore[union-attr]
            return type(value), [rounded(part) for part in parts]
        return type(value), str(value)

    for number in NUMBERS:
        for text in documents(number):
            assert rounded(outcome(target.validate, text)) == rounded(outcome(adapter.validate_json, text)), text


@pytest.mark.parametrize(
    "number", ["19.90", "0.12345678901234567890123", "123456789012345678.5", "0.10", "1", "12345678901234567890123"]
)
def test_a_decimal_keeps_the_digits_of_the_text(number: str) -> None:
    """Wherever it stands."""
    for tp, text, found in [
        (Decimal, number, lambda value: value),
        (t.Optional[Decimal], number, lambda value: value),
        (list[Decimal], f"[{number}, 1.5]", lambda value: value[0]),
        (Order, f'{{"lines": [{{"price": 1.50, "rate": {number}}}]}}', lambda value: value.lines[0].rate),
        (Node, f'{{"value": 1, "inner": {{"value": {number}}}}}', lambda value: value.inner.value),
        (Record, f'{{"price": {number}}}', lambda value: value.price),
        (Typed, f'{{"price": {number}}}', lambda value: value["price"]),
        (dict[Decimal, Decimal], f'{{"1.0": {number}}}', lambda value: value[Decimal(1)]),
    ]:
        value = found(schemagen.compile(tp, BYTES).validate(text))
        assert (type(value), str(value)) == (Decimal, number)


def test_two_texts_of_one_float_are_read_as_pydantic_reads_them() -> None:
    """It is not known which stands where, so no digits are made up."""
    assert str(reflect(list[Decimal]).validate("[19.9, 19.90, 1.50, 1.50]")) == str(
        [Decimal("19.9"), Decimal("19.9"), Decimal("1.50"), Decimal("1.50")]
    )


@pytest.mark.parametrize(
    ("tp", "accepted", "refused"),
    [
        (
            Money,
            ["10.01", "-10.01", "10.00", "99.9", "5"],
            ["-10.0100000000000000000000", "10.010", "1.000", "1e1", "100"],
        ),
        (A[Decimal, Field(max_digits=3)], ["1.23", "12.0", "100"], ["1.230", "12.00", "1000", "0.0000"]),
        (A[Decimal, Field(decimal_places=1)], ["123.4", "5.0", "7"], ["123.40", "5.00", "1.25"]),
        (A[Decimal, Field(max_digits=2, decimal_places=2)], ["0.25", "-0.5", "0.50"], ["0.250", "1.0", "0.00"]),
        (
            A[Decimal, Field(max_digits=4, decimal_places=2, ge=1, lt=Decimal("1.205"))],
            ["1.20", "1.0"],
            ["1.200", "1.21"],
        ),
    ],
)
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_constraints_bound_the_digits_that_are_written(
    tp: t.Any, accepted: list[str], refused: list[str], engine: t.Any
) -> None:
    """Zeros after the last place count, as they do for Decimal."""
    grammar = compiled_by(engine, tp, BYTES)
    for text in accepted + refused:
        matcher = grammar.matcher()
        assert (bool(matcher.accept_bytes(text.encode())) and matcher.is_accepting()) == (text in accepted), text
    if engine == "native":
        assert [str(grammar.validate(text)) for text in accepted] == accepted


@pytest.mark.parametrize("name", [name for name in ZOO if name not in {"packed", "infinite", "or str"}])
def test_what_is_generated_validates(name: str) -> None:
    """Random walks through the masks."""
    grammar = schemagen.compile(ZOO[name], BYTES, cache=None)
    choose = random.Random(name)
    for _ in range(20):
        matcher, text = grammar.matcher(), b""
        while True:
            allowed = matcher.allowed_tokens()
            if END in allowed and (len(allowed) == 1 or len(text) > 60 or choose.random() < 0.3):
                break
            allowed = [token for token in allowed if token != END and token not in b" \t\r\n"] or allowed
            closing = [token for token in allowed if token in b'"]}0']
            token = choose.choice(closing if closing and len(text) > 60 else allowed)
            matcher.accept_token(token)
            text += bytes([token])
            assert len(text) < 2000
        grammar.validate(text.decode())

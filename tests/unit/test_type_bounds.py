"""Bounds around unions: in the mask where the value is that of the JSON text, in the report where it is not."""

import typing as t

import pytest
from annotated_types import Ge, Gt, Len, Lt, MultipleOf
from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter, ValidationError

import schemagen

A = t.Annotated
BYTES = schemagen.Vocabulary.byte_vocabulary()
Number = t.Union[int, float]
NEGATED = AfterValidator(lambda x: -x)


class Stripped(BaseModel):
    """Its strings are shorter than their texts."""

    model_config = ConfigDict(str_strip_whitespace=True)
    x: A[t.Union[str, list[int]], Len(2, 3)]


#: Name -> type, texts, what is left to the check afterwards.
CASES: dict[str, tuple[t.Any, list[str], set[str]]] = {
    "lower end": (A[Number, Ge(2)], ["1", "1.99", "2", "2.0", "3.5"], set()),
    "both ends": (A[Number, Ge(2), Lt(3.5)], ["1", "2", "3.4", "3.5", "-2"], set()),
    "a member that cannot be compared": (A[t.Union[int, str], Ge(2)], ["1", "2", '"a"', '"3"'], set()),
    "before another validator": (A[Number, Ge(2), NEGATED], ["1", "2"], {"validator <lambda>"}),
    "with a multiple": (A[Number, MultipleOf(3), Ge(2)], ["0", "3"], {"multiple of 3"}),
    "lengths": (
        A[t.Union[str, list[int]], Len(1, 2)],
        ['""', '"a"', '"abc"', "[]", "[1]", "[1, 2, 3]", '"éé"'],
        set(),
    ),
}


def is_read(tp: t.Any, text: str) -> bool:
    """Whether validation takes a text."""
    try:
        TypeAdapter(tp).validate_json(text)
    except (ValidationError, TypeError):
        return False
    return True


def is_accepted(grammar: schemagen.Grammar, text: str) -> bool:
    """Whether the mask takes a text."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def left(grammar: schemagen.Grammar) -> set[str]:
    """What the report leaves to the check afterwards."""
    return {entry.keyword for entry in grammar.report.of_status("checked_after")}


@pytest.mark.parametrize("name", CASES)
def test_the_mask_has_the_bound(name: str) -> None:
    """The mask and validation agree on the texts."""
    tp, texts, checked = CASES[name]
    grammar = schemagen.compile(tp, BYTES)
    assert [is_accepted(grammar, text) for text in texts] == [is_read(tp, text) for text in texts]
    assert left(grammar) == checked


@pytest.mark.parametrize(
    ("tp", "valid", "checked"),
    [
        (A[Number, NEGATED, Gt(2)], "-3", {"value > 2", "validator <lambda>"}),
        (Stripped, '{"x": " ab"}', {"length >= 2", "length <= 3"}),
        (A[t.Union[set[int], str], Len(2, 2)], "[1, 1, 2]", {"length >= 2", "length <= 2"}),
        (dict[A[Number, Ge(2)], int], '{"3": 1}', {"value >= 2"}),
    ],
)  # fmt: skip
def test_a_bound_of_a_changed_value_is_in_the_report(tp: t.Any, valid: str, checked: set[str]) -> None:
    """What is compared is no longer what the text says: valid texts stay allowed, and the report names the validator."""
    grammar = schemagen.compile(tp, BYTES)
    assert is_read(tp, valid)
    assert is_accepted(grammar, valid)
    assert left(grammar) == checked

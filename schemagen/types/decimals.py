"""Decimals with the digits of the text: pydantic reads a JSON number with a point through float64.

Idea: validation runs as pydantic does it, float64 included, so that what is accepted and which member of a union is taken are
pydantic's. Only the Decimal that comes of a number is exchanged, at the end, for the one that the text says, if its constraints
allow that one as well. A function after each Decimal of the core schema does this; it finds the text by the value.

Two texts of one document may be one value to float64 (``19.9`` and ``19.90``). Then it is not known which is meant, and the
Decimal is the one that pydantic makes.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaValidator, ValidationError

from schemagen.types.functions import ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import TypeAdapter

#: A string, or a number.
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)', re.DOTALL)
_texts: ContextVar[Mapping[Decimal, str | None]] = ContextVar("_texts")


class DecimalReader:
    """A validator of JSON texts whose Decimals have the digits of the text."""

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        """Build the validator.

        Args:
            adapter: Of the type.
        """
        self._adapter = adapter
        exact = _exact(adapter.core_schema)
        try:
            # The validators that models bring along read through float64.
            self._validator = SchemaValidator(exact, None, _use_prebuilt=False)
        except TypeError:  # a pydantic before them
            self._validator = SchemaValidator(exact)

    def validate(self, text: str) -> Any:
        """Return the instance that a JSON text describes.

        Raises:
            pydantic.ValidationError: As pydantic raises it.
        """
        token = _texts.set(_number_texts(text))
        try:
            return self._validator.validate_json(text)
        except ValidationError:
            return self._adapter.validate_json(text)  # whose error names no function of ours
        finally:
            _texts.reset(token)


def has_decimal(core: Any) -> bool:
    """Whether a core schema reads a Decimal somewhere."""
    if isinstance(core, list | tuple):
        return any(map(has_decimal, core))
    if not isinstance(core, dict):
        return False
    return core.get("type") == "decimal" or any(has_decimal(part) for key, part in core.items() if key not in ASIDE)


def _exact(core: Any) -> Any:
    """Return a core schema with a function after each Decimal."""
    if isinstance(core, list | tuple):
        return type(core)(map(_exact, core))
    if not isinstance(core, dict) or core.get("type") == "json":  # JSON in a string has texts of its own
        return core
    parts = {key: part if key in ASIDE else _exact(part) for key, part in core.items()}
    if core.get("type") != "decimal":
        return parts
    reference = {"ref": parts.pop("ref")} if "ref" in parts else {}
    return {
        "type": "function-after",
        "function": {"type": "no-info", "function": _reading(parts)},
        "schema": parts,
        **reference,
    }


def _reading(schema: Any) -> Callable[[Decimal], Decimal]:
    validator = SchemaValidator(schema)

    def read(value: Decimal) -> Decimal:
        text = _texts.get().get(value)
        if text is None:
            return value
        try:
            exact: Decimal = validator.validate_python(Decimal(text))
        except ValidationError:
            return value
        return exact

    return read


def _number_texts(text: str) -> dict[Decimal, str | None]:
    """Return the Decimals that pydantic makes of the numbers of a JSON text, each with its text; None if it has several."""
    found: dict[Decimal, str | None] = {}
    for string, number in _TOKEN.findall(text):
        written = number or string
        try:
            value = Decimal(written)
        except InvalidOperation:  # a string of something else
            continue
        if number and not number.lstrip("-").isdigit():
            value = Decimal(repr(float(number)))
        elif number == "-0":  # an int has no sign there
            written = "0"
        if value.is_finite():
            found[value] = written if found.get(value, written) == written else None
    return found

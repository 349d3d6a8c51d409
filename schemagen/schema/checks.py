"""What the automaton left to a check of the finished value, by the jsonschema library.

Only documents that were given are looked at (nothing is fetched), formats are asserted, and patterns are read as
everywhere in this package; what is no regular language (back-references) is left to Python's `re`. Multiples are those of
decimals.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from schemagen.errors import PatternError, UnsupportedSchemaError
from schemagen.regex import parse_pattern
from schemagen.regex.language import matches
from schemagen.schema.keywords import PATTERN_DIALECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from schemagen.checks import PatternDialect


def validator(schema: Any, resources: Mapping[str, Any] | None) -> Any:
    """Return a validator of jsonschema for a schema."""
    from jsonschema.validators import extend, validator_for
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
    from referencing import Resource
    from referencing.jsonschema import DRAFT202012

    cls = extend(validator_for(schema), {"pattern": _pattern, "multipleOf": _multiple_of})  # type: ignore[no-untyped-call]
    documents = {
        uri: Resource.from_contents(doc, default_specification=DRAFT202012) for uri, doc in (resources or {}).items()
    }
    registry = REGISTRY.with_resources(documents.items())
    return cls(schema, registry=registry, format_checker=cls.FORMAT_CHECKER)


def _multiple_of(_: Any, divisor: Any, instance: Any, __: Any) -> Iterator[Exception]:
    """Check a multiple by the decimals that were written: of floats 20.4 is no multiple of 0.01."""
    from jsonschema import ValidationError

    is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
    if is_number and math.isfinite(instance) and Fraction(str(instance)) % Fraction(str(divisor)):
        yield ValidationError(f"{instance!r} is not a multiple of {divisor!r}")


def _pattern(_: Any, text: str, instance: Any, schema: Any) -> Iterator[Exception]:
    from jsonschema import ValidationError

    if isinstance(instance, str) and not _found(text, schema.get(PATTERN_DIALECT, "ecma-262"), instance):
        yield ValidationError(f"{instance!r} does not match {text!r}")


def _found(text: str, dialect: PatternDialect, instance: str) -> bool:
    try:
        return matches(parse_pattern(text, dialect, search=True), instance)
    except PatternError:
        try:
            return re.search(text, instance) is not None
        except re.error as error:
            raise UnsupportedSchemaError(
                f"the pattern {text!r} can be checked neither by an automaton nor by Python's re", why=str(error)
            ) from error

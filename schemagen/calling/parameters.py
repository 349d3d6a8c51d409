"""The parameters of a tool, for formats that write them one by one and not as one JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from schemagen.engine.options import Options
from schemagen.grammar.reading import styled
from schemagen.schema.normalise import Normaliser
from schemagen.schema.to_regex import Writer, page_of
from schemagen.types.reflection import is_type, reflect

if TYPE_CHECKING:
    from schemagen.schema.ir import ObjectDisjunct

W = TypeVar("W", bound=Writer)


def arguments_of(spec: Any, kind: type[W]) -> tuple[W, tuple[ObjectDisjunct, ...]]:
    """Return the objects that the arguments of a tool may be, and a writer of their values as regular expressions.

    Args:
        spec: A pydantic model, or a JSON Schema of an object.
        kind: The class of the writer.

    Raises:
        SchemaError: The schema cannot be read.
    """
    target = reflect(spec) if is_type(spec) else None
    options = styled(Options(), target)
    normaliser = Normaliser(
        spec if target is None else target.schema, dialect="json-schema" if target is None else "python"
    )
    writer = kind(
        normaliser, page_of(options.whitespace, options.max_indent, options.max_gap, options.number_style), None
    )
    return writer, tuple(normaliser.value(normaliser.root).objects)

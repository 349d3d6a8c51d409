"""The error for a schema without instances: `schemagen.schema.conflicts`, asking the core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from schemagen.errors import SchemagenError, UnsatisfiableSchemaError
from schemagen.schema.conflicts import explain
from schemagen.schema.ir import SchemaRef
from schemagen.schema.normalise import Normaliser
from schemagen.threads.clock import Deadline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.options import Options
    from schemagen.schema.normalise import Dialect

#: Seconds after which the search ends with the explanation found so far.
MAX_SECONDS = 2.0
ENDLESS_FIX = "let the recursion end: make the property optional, or give it an alternative such as null"


def explained(
    error: UnsatisfiableSchemaError,
    schema: Any,
    options: Options,
    dialect: Dialect,
    resources: Mapping[str, Any] | None,
) -> UnsatisfiableSchemaError:
    """Return the error with the place and the clash in it; as it was if they are not found.

    Args:
        error: The error of the compilation.
        schema: The JSON Schema, as it was compiled.
        options: Of the compilation.
        dialect: Of the compilation.
        resources: Of the compilation.

    Cost: at most `schemagen.schema.conflicts.MAX_TRIALS` compilations without masks and about `MAX_SECONDS`.
    """
    deadline = Deadline(min(MAX_SECONDS, options.limits.max_seconds))

    def is_empty(document: Any, pointer: str) -> bool:
        deadline.check()
        try:
            return not _has_values(document, pointer, options, deadline, dialect, resources)
        except SchemagenError:
            return False  # not known to be

    clash = explain(schema, is_empty)
    if clash is None:
        return error
    fix = "change or leave out one of these keywords" if clash.clauses else ENDLESS_FIX
    return UnsatisfiableSchemaError("no value can satisfy the schema", at=clash.at, why=clash.why, fix=fix)


def _has_values(
    document: Any,
    pointer: str,
    options: Options,
    deadline: Deadline,
    dialect: Dialect,
    resources: Mapping[str, Any] | None,
) -> bool:
    """Whether the schema at a pointer of a document has an instance.

    What cannot be enforced is left out (``strict=False``): that adds instances, so a schema without any stays one.
    """
    normaliser = Normaliser(
        document,
        resources=resources,
        strict=False,
        dialect=dialect,
        max_depth=options.limits.max_depth,
        max_alternatives=options.limits.max_alternatives,
        check_time=deadline.check,
    )
    if pointer:
        assert isinstance(normaliser.root, SchemaRef), "it was made of a document"
        normaliser.root = normaliser.subschemas.reference(normaliser.root, "#" + quote(pointer))
    from schemagen.engine.native.lowering import JsonLowering

    return JsonLowering(normaliser, options).has_values()

"""Which functions of the user pydantic runs while it validates: no keyword can express their refusals.

pydantic's own functions are not among them: what they demand is in the schema, or noted where the schema is made.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What of a core schema holds no part by which JSON is validated.
ASIDE = frozenset(
    {
        "serialization",
        "metadata",
        "config",
        "function",
        "python_schema",
        "default",
        "expected",
        "members",
        "computed_fields",
    }
)


def validator_words(function: Any) -> str | None:
    """Name a validator of the user; None for one of pydantic's own."""
    return None if _is_pydantic(function) else f"validator {function_name(function)}"


def discriminator_words(discriminator: Any) -> str | None:
    """Name a discriminator that is a function of the user; None for any other."""
    if not callable(discriminator) or _is_pydantic(discriminator):
        return None
    return f"discriminator {function_name(discriminator)}"


def construction_words(schema: Any) -> list[str]:
    """Name the methods of a model or dataclass that pydantic calls to make an instance, and that the user wrote."""
    cls, after = schema["cls"], schema.get("post_init")
    methods = ["__init__"] if schema.get("custom_init") else []
    if schema["type"] == "dataclass":
        methods += ["__post_init__"] if after else []
    elif after and getattr(cls, after).__name__ != "init_private_attributes":
        methods += ["model_post_init"]
    return [f"method {name}" for name in methods]


def demands(core: Any) -> Iterator[str]:
    """Yield the words of every function of the user that validation of JSON by a core schema runs."""
    if isinstance(core, list | tuple):
        for part in core:
            yield from demands(part)
    elif isinstance(core, dict):
        yield from filter(None, _own_words(core))
        for key, part in core.items():
            if key not in ASIDE:
                yield from demands(part)


def _own_words(schema: dict[str, Any]) -> list[str | None]:
    """The words of one schema, without those of its parts."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind.startswith("function-"):
        return [validator_words(schema["function"]["function"])]
    if kind == "tagged-union":
        return [discriminator_words(schema["discriminator"])]
    return [*construction_words(schema)] if kind in {"model", "dataclass"} else []


def function_name(function: Any) -> str:
    """Return how messages call a function: with its class, where that is a type with a core schema of its own."""
    function = _unwrapped(function)
    name = getattr(function, "__name__", type(function).__name__).strip("_")
    owner = getattr(function, "__self__", None)
    return f"{owner.__name__}.{name}" if isinstance(owner, type) and _writes_core_schema(owner) else name


def _writes_core_schema(cls: type) -> bool:
    record = issubclass(cls, BaseModel) or dataclasses.is_dataclass(cls)
    return not record and hasattr(cls, "__get_pydantic_core_schema__")


def _is_pydantic(function: Any) -> bool:
    """Whether a function is pydantic's own, or a class of `ipaddress` in place of one, and runs none of the user's."""
    function = _unwrapped(function)
    # An `EncodedStr` or `EncodedBytes` calls the encoder that it was given.
    encoder = getattr(getattr(function, "__self__", None), "encoder", None)
    modules = (str(getattr(each, "__module__", "")) for each in (function, encoder) if each is not None)
    return all(module.partition(".")[0] in {"pydantic", "ipaddress"} for module in modules)


def _unwrapped(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function

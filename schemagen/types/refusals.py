"""The error of a part of a type that has no JSON Schema."""

from __future__ import annotations

from pydantic.errors import PydanticInvalidForJsonSchema


class RefusedTypeError(PydanticInvalidForJsonSchema):
    """A part of a type that has no schema, with what to do about it; pydantic leaves such a part out of unions."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message)
        self.fix = fix

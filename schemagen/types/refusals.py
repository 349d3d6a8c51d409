"""The error of a part of a type that has no JSON Schema."""

from __future__ import annotations

from pydantic.errors import PydanticInvalidForJsonSchema


class RefusedTypeError(PydanticInvalidForJsonSchema):
    """A part of a type that has no schema, with what to do about it; pydantic leaves such a part out of unions.

    Attributes:
        fix: What to do about it.
        step: The way from the part to where the trouble is, as in ``.field``.
    """

    def __init__(self, message: str, *, fix: str, step: str = "") -> None:
        super().__init__(message)
        self.fix = fix
        self.step = step

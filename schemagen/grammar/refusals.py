"""The one error for a text that was refused when it was complete: `ValidationFailed`, whichever check refused it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from schemagen.errors import ValidationFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError

    from schemagen.types.reflection import Target

_STATE_IT = "state the rule in the schema (bounds, pattern, Literal)"


def validated(target: Target[Any], text: str) -> Any:
    """Return the instance of a type that a JSON text describes.

    Raises:
        ValidationFailed: pydantic refuses the text.
    """
    from pydantic import ValidationError

    try:
        return target.validate(text)
    except ValidationError as error:
        raise refused_by_type(text, error) from error


def parsed(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValidationFailed: It is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise not_json(text, error, str(error)) from error


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: "1 error", "2 errors"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def title_of(error: ValidationError) -> str:
    """Return the name of the type that refused a value; pydantic calls a type without a name by the schema of its core."""
    return (
        "the type"
        if "[" in error.title and error.title.startswith(("function-", "lax-or-strict", "json-or-python"))
        else error.title
    )


def refused_by_type(text: str, error: ValidationError, json_text: str | None = None) -> ValidationFailed:
    """Return the error of a text that pydantic refuses; a validator of the type did, or the text is none of the grammar.

    Args:
        text: The generated text.
        error: Of pydantic.
        json_text: What pydantic was given, if the text is no JSON.
    """
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return not_json(text, error, str(first["msg"]))
    return ValidationFailed(
        f"a validator of {title_of(error)} refused the value: {first['msg']}",
        text=text,
        error=error,
        at=pointer_in(json_text or text, first["loc"]),
        why=f"the text is {'JSON' if json_text is None else 'well formed'}; {counted(error.error_count(), 'error')}",
        fix=_STATE_IT,
    )


def not_json(text: str, error: ValueError, told: str) -> ValidationFailed:
    """Return the error of a text that is no JSON at all, such as one that was cut off."""
    return ValidationFailed(
        f"the text is no JSON: {told}",
        text=text,
        error=error,
        why="it was not written under this grammar, or cut off",
        fix="validate whole texts; a LogitsProcessor completes them in time if it is given max_new_tokens=",
    )


def after_attempts(error: ValidationFailed, text: str, attempts: int) -> ValidationFailed:
    """Return the same refusal as the end of so many generations."""
    complaints: Any = getattr(error.error, "error_count", None)
    why = error.why
    if complaints is not None:
        why = f"the text satisfies the schema; {counted(attempts, 'attempt')}, {counted(complaints(), 'error')} in the last"
    fix = f"{_STATE_IT}, or allow more attempts: retries={attempts}" if error.fix == _STATE_IT else error.fix
    return ValidationFailed(error.fact, text=text, error=error.error, attempts=attempts, at=error.at, why=why, fix=fix)


def reasons(error: ValidationFailed) -> str:
    """One line per refused part, as a model can use them."""
    parts: Any = getattr(error.error, "errors", None)
    if not callable(parts):
        return f"- {error.at or 'value'}: {error.fact}"
    told: list[Any] = cast("Any", parts)()
    lines = (f"- {'.'.join(str(step) for step in part['loc']) or 'value'}: {part['msg']}" for part in told)
    return "\n".join(lines)


def pointer_in(text: str, location: Sequence[str | int]) -> str:
    """Return a location of pydantic as a JSON pointer; names of validators and of members of unions are left out."""
    from schemagen.errors.pointers import pointer_of

    value: Any = json.loads(text)
    steps: list[str | int] = []
    for step in location:
        members: Any = dict(enumerate(value)) if isinstance(value, list) else value
        known = isinstance(members, dict) and step in members
        if step == "[key]" and not known:  # of an object, whose key is refused
            return pointer_of(tuple(steps[:-1]))
        if not known:
            continue
        value = members[step]
        steps.append(step)
    return pointer_of(tuple(steps))

"""Values as Python, YAML, XML and tables: a schema to rules, and texts back to JSON."""

from __future__ import annotations

from typing import Literal, get_args

from schemagen.errors import OptionError

#: How a value is written.
TextFormat = Literal["json", "python", "yaml", "xml", "csv", "markdown"]
TEXT_FORMATS: tuple[str, ...] = get_args(TextFormat)


def check_format(as_: object) -> None:
    """Refuse a format that there is not.

    Raises:
        OptionError: It is none of `TEXT_FORMATS`.
    """
    if as_ not in TEXT_FORMATS:
        raise OptionError(
            f"as_={as_!r:.80}", why="there is no such format", fix=f"choose one of {', '.join(map(repr, TEXT_FORMATS))}"
        )

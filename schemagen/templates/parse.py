"""The text of a template: fixed text, and holes in braces as `str.format` has them, or a t-string."""

from __future__ import annotations

import string
from typing import Any, NamedTuple

from schemagen.arguments import kind_of
from schemagen.errors import OptionError, OptionTypeError
from schemagen.templates.holes import gen

#: What a hole may say of itself after a colon.
WORDS: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "text": gen()}


class Piece(NamedTuple):
    """Fixed text and the hole after it.

    Attributes:
        text: The fixed text.
        hole: The name of the hole; after the last text there is none.
        spec: What the hole says it takes.
    """

    text: str
    hole: str | None = None
    spec: Any = None


def pieces_of(template: Any) -> list[Piece]:
    """Return what a template consists of; the last piece has no hole, all others have one.

    Args:
        template: A str, or a t-string (PEP 750), whose interpolations are specs with the names of holes as formats.

    Raises:
        OptionError: The braces do not match, a hole has no name, the name of another one, or an unknown word for a type, or
            fixed text is not UTF-8.
        OptionTypeError: It is no text.
    """
    if isinstance(template, str):
        pieces = _of_str(template)
    elif hasattr(template, "interpolations") and hasattr(template, "strings"):
        pieces = _of_t_string(template)
    else:
        raise OptionTypeError(
            f"the text of a Template is {kind_of(template)}",
            why="a template is a str, or a t-string",
            fix='write Template("Name: {name}", name=str)',
        )
    seen: set[str] = set()
    for text, name, _ in pieces:
        check_fixed(text)
        if name is None:
            continue
        if not name.isidentifier() or name.startswith("__"):
            raise OptionError(
                f"the hole {{{name}}} of a template",
                why="a hole has a name, which becomes an attribute of the value",
                fix="write {name}, and {{ for a brace that is text",
            )
        if name in seen:
            raise OptionError(
                f"two holes with the name {name!r}",
                why="two texts that are the same are no context-free language",
                fix="give each hole a name of its own",
            )
        seen.add(name)
    return pieces


def check_fixed(text: str) -> None:
    """Refuse fixed text that no model can write.

    Raises:
        OptionError: It has a lone surrogate, which UTF-8 does not have.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the fixed text {text!r:.80} has half a surrogate pair",
            why="UTF-8 has no bytes for it, and texts are UTF-8",
            fix="write the whole character",
        ) from error


def shown_text(pieces: list[Piece], shown: dict[str, str]) -> str:
    """Return a template with what its holes take in their places."""
    return "".join(text + ("" if name is None else f"{{{name}: {shown[name]}}}") for text, name, _ in pieces)


def _of_str(text: str) -> list[Piece]:
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise OptionError(
            f"the template {text!r:.80} cannot be read: {error}",
            why="holes are written as {name}",
            fix="write {{ and }} for braces that are text",
        ) from error
    found: list[Piece] = []
    before = ""
    for fixed, name, word, conversion in parsed:
        before += fixed
        if name is None:
            continue
        if conversion is not None:
            raise OptionError(f"{{{name}!{conversion}}}", why="nothing is converted", fix=f"write {{{name}}}")
        found.append(Piece(before, name, _spec_of(word or "", name)))
        before = ""
    return [*found, Piece(before)]


def _spec_of(word: str, name: str) -> Any:
    if word and word not in WORDS:
        raise OptionError(
            f"{{{name}:{word}}}",
            why=f"{word!r:.40} is none of {', '.join(WORDS)}",
            fix=f"write {{{name}}}, and give its type: Template(..., {name}=...)",
        )
    return WORDS.get(word)


def _of_t_string(template: Any) -> list[Piece]:
    given = list(template.interpolations)
    found = [
        Piece(text, each.format_spec or each.expression.strip(), each.value)
        for text, each in zip(template.strings, given, strict=False)
    ]
    return [*found, Piece(template.strings[-1])]

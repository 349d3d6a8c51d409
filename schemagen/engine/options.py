"""What a compilation may do, and how far it may go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from schemagen.errors import OptionError
from schemagen.schema.layouts import Layout, WhitespacePolicy
from schemagen.schema.numbers.expressions import NumberStyle

__all__ = ["DEFAULT_LIMITS", "DEFAULT_STYLE", "Limits", "Options", "PropertyOrder", "WhitespacePolicy"]

PropertyOrder = Literal["schema", "any"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that stop the work at once; a schema may be hostile.

    Attributes:
        max_states: Most automaton states, sub-schemas and positions, each, and eight times as many parts of patterns. The
            states of patterns are made lazily, so this also bounds what one text may add; what earlier texts added is dropped
            where it stands in the way. A state takes about 0.5 KB; those of patterns, formats and numbers are shared by all
            grammars, and only the one that needs them first is charged.
        max_alternatives: Most alternatives of one JSON type in one place: what combining anyOf, oneOf, not and if
            multiplies. Of a context-free grammar, most ways to read one text that are followed side by side.
        max_seconds: Most wall-clock seconds for `compile`, and for each call on the grammar and its matchers.
        max_depth: Most schemas nested in one another without a value between them (`$ref` to `allOf` to `$ref` ...).
    """

    max_states: int = 100_000
    max_alternatives: int = 1024
    max_seconds: float = 10.0
    max_depth: int = 200

    def __post_init__(self) -> None:
        """Refuse limits that let nothing through."""
        for name in ("max_states", "max_alternatives", "max_seconds", "max_depth"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value < 2**31:
                raise OptionError(
                    f"Limits({name}={value!r:.80})",
                    why="it lets nothing through",
                    fix="give a number above 0 and below 2**31",
                )


#: Shared, because they are part of the keys under which work is remembered.
DEFAULT_STYLE = NumberStyle()
DEFAULT_LIMITS = Limits()


class Options(NamedTuple):
    """How a grammar writes JSON.

    Attributes:
        property_order: "schema": keys in the order of declaration, additional keys last; "any": any order.
        whitespace: "flexible": compact, spaced and indented layouts, mixed; "compact": none; "spaced": as json.dumps;
            "any": wherever JSON takes it; a `Layout`: as json.dumps with these arguments.
        max_indent: Of "flexible": most spaces or tabs after a line break (a soft cap against runaways).
        max_gap: Of "any": most characters of whitespace in one place. It must be enough for what people write: a line break of
            two characters and 15 levels of four spaces are 62. And a model that writes nothing else must stop soon: 64
            tokens at worst.
        around: Of "any": whether whitespace stands before and after the whole text, too.
        number_style: Soft caps on the digits of numbers.
        limits: Bounds on the work.
    """

    property_order: PropertyOrder = "schema"
    whitespace: WhitespacePolicy = "flexible"
    max_indent: int = 40
    max_gap: int = 64
    around: bool = True
    number_style: NumberStyle = DEFAULT_STYLE
    limits: Limits = DEFAULT_LIMITS

    @property
    def layout_note(self) -> str:
        """The layout of the texts in words, with its soft caps."""
        if isinstance(self.whitespace, Layout):
            return f"exactly the layout of {self.whitespace}"
        if self.whitespace == "any":
            return f"any; soft cap: {self.max_gap} characters of whitespace in one place"
        return f"{self.whitespace}; soft cap: {self.max_indent} characters of indentation"

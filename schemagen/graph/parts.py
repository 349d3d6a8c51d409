"""The parts of a `GrammarGraph`, and the threads that read a text over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.engine.protocol import Matcher
    from schemagen.grammar.grammar import Grammar
    from schemagen.regex import ast


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A language and the parts that may follow its texts.

    Attributes:
        language: The texts of this part, as a regular expression or compiled; only the empty text if None.
        following: Indices of the parts that may follow directly.
        special: Special token id -> indices of the parts that may follow after that token.
        final: Whether the whole text may end with this part.
        label: The caller's name for the part.
    """

    language: ast.Regex | Grammar | None
    following: tuple[int, ...] = ()
    special: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    final: bool = False
    label: Any = "the text"


@dataclass(frozen=True, slots=True)
class Span:
    """Where the text of a part begins, linked to the span of the part before."""

    part: int
    start: int
    previous: Span | None


@dataclass(slots=True, eq=False)
class Thread:
    """A part that is being read: its matcher, and the number of steps the matcher has made."""

    span: Span
    matcher: Matcher | None
    steps: int = 0

    def read(self, data: bytes) -> bool:
        """Advance by some bytes, all of them or nothing."""
        if self.matcher is None or not self.matcher.accept_bytes(data):
            return False
        self.steps += 1
        return True

    def may_end(self) -> bool:
        """Whether the text of the part may end here."""
        return self.matcher is None or self.matcher.is_accepting()

    def back_to(self, steps: int) -> None:
        """Undo all but the first ``steps`` steps."""
        if self.matcher is not None and self.steps > steps:
            self.matcher.rollback(self.steps - steps)
        self.steps = min(self.steps, steps)

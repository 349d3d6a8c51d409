"""Specs made of specs: one after the other, any of them, and the same again.

`concat`, `union` and `repeat` take specs and give a spec. The methods of `Grammar` with these names take compiled grammars,
too, and give one over the same vocabulary. The values are texts, whatever the parts are.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.checks import kind_of
from schemagen.context_free.syntax import alternatives, repeat as repeated, sequence
from schemagen.errors import OptionError, OptionTypeError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.languages import Assembly
from schemagen.grammar.reading import described_json, understood
from schemagen.grammar.specs import Choice, Regex, frozen_spec, given_spec
from schemagen.regex.parse import MAX_COUNT

if TYPE_CHECKING:
    from schemagen.context_free.syntax import ContextFreeGrammar, Expression

#: Parts of one combination and of those in it, and combinations within one another.
MAX_PARTS = 10_000
MAX_NESTING = 60


@dataclass(frozen=True)
class _Combination(ContextFree[str]):
    """Text made of texts of other specs.

    Attributes:
        parts: The specs, frozen.
        size: How many parts there are, with those of combinations among them.
        height: How many combinations are within one another.
    """

    parts: tuple[Any, ...]
    size: int = field(init=False, repr=False, compare=False)
    height: int = field(init=False, repr=False, compare=False)

    instruction = "Answer only with a text of this form:"

    def __post_init__(self) -> None:
        """Refuse more than can be put together."""
        inner = [part for part in self.parts if isinstance(part, _Combination)]
        size = len(self.parts) + sum(part.size for part in inner)
        height = 1 + max((part.height for part in inner), default=0)
        if size > MAX_PARTS or height > MAX_NESTING:
            raise OptionError(
                f"{size:,} parts, {height} within one another",
                why=f"the limits are {MAX_PARTS:,} and {MAX_NESTING}",
                fix="write a grammar: GBNF, EBNF or Lark",
            )
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "height", height)

    @abstractmethod
    def joined(self, parts: list[Expression]) -> Expression:
        """Return the texts, given those of the parts."""

    @abstractmethod
    def form(self) -> str:
        """Return in words how the texts are made of the parts."""

    def rules(self) -> ContextFreeGrammar:
        assembly = Assembly()
        return assembly.grammar(self.joined(list(map(assembly.expression, self.parts))))

    def value_of(self, text: str) -> str:
        return text

    def shown(self) -> str:
        return "\n".join([f"{self.form()}:", *(f"- {_described(part)}" for part in self.parts)])


@dataclass(frozen=True)
class Concatenation(_Combination):
    """A text of each part, one directly after the other; see `concat`."""

    def joined(self, parts: list[Expression]) -> Expression:
        """Return the parts one after the other."""
        return sequence(*parts)

    def form(self) -> str:
        """Return in words how the texts are made of the parts."""
        return "these parts, one directly after the other, with nothing between them"


@dataclass(frozen=True)
class Union(_Combination):
    """A text of any of the parts; see `union`."""

    def joined(self, parts: list[Expression]) -> Expression:
        """Return any of the parts."""
        return alternatives(*parts)

    def form(self) -> str:
        """Return in words how the texts are made of the parts."""
        return "one of these"


@dataclass(frozen=True)
class Repetition(_Combination):
    """A number of texts of the part, one directly after the other; see `repeat`.

    Attributes:
        low: How many at least.
        high: The most; None if there is no bound.
    """

    low: int = 0
    high: int | None = None

    def joined(self, parts: list[Expression]) -> Expression:
        """Return the part, repeated."""
        return repeated(parts[0], self.low, self.high)

    def form(self) -> str:
        """Return in words how the texts are made of the part."""
        most = "or more" if self.high is None else f"to {self.high}"
        return f"{self.low} {most} of these, one directly after the other"


def concat(*parts: Any) -> Concatenation:
    """Return the spec of texts that are one of each part, one directly after the other; without parts the empty text.

    Args:
        parts: Specs as for `schemagen.compile`.

    Raises:
        OptionError: A part is a compiled grammar, or there are too many.
    """
    return Concatenation(_frozen(parts))


def union(*parts: Any) -> Union:
    """Return the spec of texts that are a text of any of the parts.

    Args:
        parts: Specs as for `schemagen.compile`, one at least.

    Raises:
        OptionError: There is no part, one is a compiled grammar, or there are too many.
    """
    if not parts:
        raise OptionError("union() has no parts", why="there is nothing to choose", fix="give specs")
    return Union(_frozen(parts))


def repeat(part: Any, low: int = 0, high: int | None = None) -> Repetition:
    """Return the spec of texts that are some texts of a part, one directly after the other.

    Args:
        part: A spec as for `schemagen.compile`.
        low: How many at least.
        high: The most; None if there is no bound.

    Raises:
        OptionError: The bounds are no counts, or the wrong way round; or the part is a compiled grammar.
    """
    for name, count in (("low", low), ("high", high)):
        if count is None and name == "high":
            continue
        if isinstance(count, bool) or not isinstance(count, int):
            raise OptionTypeError(f"{name}={count!r:.80}", why=f"it is {kind_of(count)}", fix="give an integer")
        if not 0 <= count <= MAX_COUNT:
            raise OptionError(f"{name}={count}", why="it is no count", fix=f"give an integer from 0 to {MAX_COUNT}")
    if high is not None and high < low:
        raise OptionError(f"low={low} above high={high}", fix="give the smaller number as low")
    return Repetition(_frozen((part,)), low, high)


def _frozen(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    for part in parts:
        if hasattr(part, "matcher") and hasattr(part, "min_new_tokens"):
            raise OptionTypeError(
                "a part is a compiled grammar",
                why="a spec is not over a vocabulary yet",
                fix="give the spec that it was made of, or use Grammar.concat, Grammar.union or Grammar.repeat",
            )
    return tuple(map(frozen_spec, parts))


def _described(part: Any) -> str:
    spec = understood(given_spec(part))
    if isinstance(spec, ContextFree):
        what = "a text of this form" if isinstance(spec, _Combination) else "a text that this grammar derives"
        inner = "\n".join(f"  {line}" for line in spec.shown().splitlines())
        return f"{what}:\n{inner}"
    if isinstance(spec, Regex):
        return f"a text that the regular expression {spec.pattern} matches as a whole"
    if isinstance(spec, Choice):
        return f"one of the texts {', '.join(map(repr, spec.options))}"
    return described_json(spec)

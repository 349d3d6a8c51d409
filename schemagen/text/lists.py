"""Delimited lists: items of one kind, and some of several items in their order.

Of all ways to cut a text into items, the one whose first item is the longest is taken, then the second, and so on. The items
that may come next depend on a state, a count or an index. The search tries in each state the specs in their order, of each the
longest item first, and no position twice in one state; mostly it goes straight through. A matcher tells, character by
character, how long an item can be.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, overload

from schemagen.checks import kind_of
from schemagen.context_free.syntax import alternatives, literal, repeat, separated, sequence
from schemagen.errors import OptionError, OptionTypeError
from schemagen.grammar.compiler import compile as compile_spec
from schemagen.grammar.spans import byte_vocabulary, ends_of
from schemagen.grammar.specs import Choice, Regex, given_spec
from schemagen.text.base import TextGroup, as_part, described, no_text_of, part_expression

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator

    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

    from schemagen.context_free.syntax import Expression
    from schemagen.grammar.context_free_specs import ContextFree
    from schemagen.grammar.grammar import Grammar

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class ListOf(TextGroup[list[T]], Generic[T]):
    """What `list_of` returns.

    Attributes:
        item: The spec of an item, frozen.
        sep: The text between two items.
        min: The fewest items.
        max: The most; None if there is no bound.
    """

    item: Any
    sep: str = ", "
    min: int = 1
    max: int | None = None

    def __post_init__(self) -> None:
        """Refuse a value that is not a list."""
        _check_separator(self.sep)
        for name, count in (("min", self.min), ("max", self.max)):
            if (count is not None or name == "min") and (isinstance(count, bool) or not isinstance(count, int)):
                raise OptionTypeError(f"{name}={count!r:.80}", why=f"it is {kind_of(count)}", fix="give an int")
        if self.min < 0 or (self.max is not None and self.max < max(1, self.min)):
            raise OptionError(
                f"min={self.min}, max={self.max}", why="no list has so many items", fix="give 0 <= min <= max, max >= 1"
            )
        object.__setattr__(self, "item", as_part(self.item))

    def expression(self) -> Expression:
        """Return the texts as an expression of a grammar."""
        return separated(part_expression(self.item), literal(self.sep), self.min, self.max)

    def value_of(self, text: str) -> list[T]:
        """Return the values of the items; where a text can be cut in several ways, the first items are the longest.

        Raises:
            ValidationFailed: It is no such list, or a validator of a type refuses an item.
        """
        top = self.min if self.max is None else self.max

        def following(count: int) -> list[tuple[Any, int]]:
            if self.max is None:
                return [(self.item, min(count + 1, top))]
            return [(self.item, count + 1)] if count < top else []

        items = items_of(text, self.sep, following, lambda count: count >= self.min)
        if items is None:
            raise no_text_of(self, text)
        return [item.value() for item in items]

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        return f"{self._count()}, {_separated(self.sep)}. Item: {described(self.item)}"

    def _count(self) -> str:
        if self.max is None:
            return {0: "any number of items", 1: "one or more items"}.get(self.min, f"{self.min} or more items")
        return f"{self.min} items" if self.min == self.max else f"{self.min} to {self.max} items"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        said = [] if self.min == 1 else [f"min={self.min}"]
        said += [] if self.max is None else [f"max={self.max}"]
        return f"list_of({', '.join([_name(self.item), f'sep={self.sep!r}', *said])})"


@dataclass(frozen=True, repr=False)
class SubsequenceOf(TextGroup[list[T]], Generic[T]):
    """What `subsequence_of` returns.

    Attributes:
        items: The specs of the items, frozen.
        sep: The text between two items.
        min: The fewest items, 0 or 1.
    """

    items: tuple[Any, ...]
    sep: str = ", "
    min: int = 1

    def __post_init__(self) -> None:
        """Refuse a value that is not a subsequence."""
        _check_separator(self.sep)
        if isinstance(self.min, bool) or self.min not in (0, 1):
            raise OptionError(f"min={self.min!r:.80}", why="items are not counted", fix="choose 0 or 1")
        items = tuple(Choice(item) if isinstance(item, str) else as_part(item) for item in self.items)
        if not items:
            raise OptionError("subsequence_of([])", why="there is nothing to choose", fix="give at least one item")
        object.__setattr__(self, "items", items)

    def expression(self) -> Expression:
        """Return the texts as an expression of a grammar."""
        some = self._some([part_expression(item) for item in self.items])
        return some if self.min else repeat(some, 0, 1)

    def _some(self, items: list[Expression]) -> Expression:
        """Return one or more of some items; the idea is that of `wildcards.delimited_subsequence`."""
        if len(items) == 1:
            return items[0]
        left, right = items[: len(items) // 2], items[len(items) // 2 :]
        tail = (repeat(sequence(literal(self.sep), item), 0, 1) for item in right)
        return alternatives(sequence(self._some(left), *tail), self._some(right))

    def value_of(self, text: str) -> list[T]:
        """Return the values of the items; where a text can be cut in several ways, earlier items come first.

        Raises:
            ValidationFailed: It is no such list, or a validator of a type refuses an item.
        """

        def following(first: int) -> list[tuple[Any, int]]:
            return [(item, index + 1) for index, item in enumerate(self.items) if index >= first]

        items = items_of(text, self.sep, following, lambda index: index >= self.min)
        if items is None:
            raise no_text_of(self, text)
        return [item.value() for item in items]

    def shown(self) -> str:
        """Return what a prompt says of the texts."""
        some = "some" if self.min else "some or none"
        listed = "; ".join(map(described, self.items))
        return f"{some} of these items, in this order, {_separated(self.sep)}. Items: {listed}"

    def __repr__(self) -> str:
        """Return the call that makes it."""
        said = [] if self.min == 1 else [f"min={self.min}"]
        items = f"[{', '.join(map(_item_name, self.items))}]"
        return f"subsequence_of({', '.join([items, f'sep={self.sep!r}', *said])})"


@overload
def list_of(
    item: type[T] | Choice[T] | TypeAdapter[T] | ContextFree[T],
    sep: str = ", ",
    *,
    min: int = 1,
    max: int | None = None,
) -> ListOf[T]: ...
@overload
def list_of(
    item: Regex | re.Pattern[str] | list[str] | tuple[str, ...],
    sep: str = ", ",
    *,
    min: int = 1,
    max: int | None = None,
) -> ListOf[str]: ...
@overload
def list_of(item: TypeForm[T], sep: str = ", ", *, min: int = 1, max: int | None = None) -> ListOf[T]: ...
@overload
def list_of(item: Any, sep: str = ", ", *, min: int = 1, max: int | None = None) -> ListOf[Any]: ...
def list_of(item: Any, sep: str = ", ", *, min: int = 1, max: int | None = None) -> ListOf[Any]:  # noqa: A002 - as of a Field
    """Return the spec of a delimited list of items of one kind; its value is the list of their values.

    ``list_of(int)`` writes ``3, 14, 15``, and its value is ``[3, 14, 15]``.

    Args:
        item: A spec as for `schemagen.compile`: a type, a schema, a pattern, choices, a grammar, another text group. Types and
            schemas are written as JSON.
        sep: The text between two items.
        min: The fewest items. With 0 the empty text is a list.
        max: The most; None if there is no bound.

    Raises:
        OptionError: There is no such list.
        SchemagenError: The item is no spec.
    """
    return ListOf(item, sep, min, max)


@overload
def subsequence_of(items: Iterable[str], sep: str = ", ", *, min: int = 1) -> SubsequenceOf[str]: ...
@overload
def subsequence_of(items: Iterable[Any], sep: str = ", ", *, min: int = 1) -> SubsequenceOf[Any]: ...
def subsequence_of(items: Iterable[Any], sep: str = ", ", *, min: int = 1) -> SubsequenceOf[Any]:  # noqa: A002 - the same
    """Return the spec of some of several items in their order, each at most once; its value is the list of their values.

    ``subsequence_of(["bold", "italic", "small"])`` writes ``bold, small``, and not ``small, bold``.

    Args:
        items: The items: texts, which stand for themselves, or other specs.
        sep: The text between two items.
        min: 1: at least one item. 0: the empty text is a list, too.

    Raises:
        OptionError: There is no such list.
        SchemagenError: An item is no spec.
    """
    if isinstance(items, str):
        raise OptionTypeError(f"the items are {kind_of(items)}", why="a list is cut into items", fix="give a list")
    return SubsequenceOf(tuple(items), sep, min)


def _check_separator(sep: object) -> None:
    if not isinstance(sep, str):
        raise OptionTypeError(f"sep={sep!r:.80}", why=f"it is {kind_of(sep)}", fix="give a str")


def _separated(sep: str) -> str:
    return f"separated by {json.dumps(sep, ensure_ascii=False)}" if sep else "one directly after the other"


def _name(spec: Any) -> str:
    return spec.__name__ if isinstance(spec, type) else repr(spec)


def _item_name(spec: Any) -> str:
    is_text = isinstance(spec, Choice) and spec.enum is None and len(spec.options) == 1
    return repr(spec.options[0]) if is_text else _name(spec)


class Item(NamedTuple):
    """One item of a text.

    Attributes:
        spec: The frozen spec that it is of.
        text: The text.
    """

    spec: Any
    text: str

    def value(self) -> Any:
        """Return its value.

        Raises:
            ValidationFailed: A validator of its type refuses it.
        """
        return _grammar(self.spec).validate(self.text)


def items_of(
    text: str, delimiter: str, following: Callable[[int], list[tuple[Any, int]]], is_end: Callable[[int], bool]
) -> list[Item] | None:
    """Return the items of a text, beginning in state 0; None if it cannot be cut.

    Args:
        text: The text.
        delimiter: The text between two items.
        following: From a state to the specs of the items that may come next, each with the state after it.
        is_end: Whether a text may end in a state.

    Cost: at worst, for items that could hold delimiters, the product of positions, states and the length of the text.
    """
    if not text and is_end(0):
        return []

    @cache
    def ends(spec: Any, begin: int) -> list[int]:
        return list(ends_of(_grammar(spec), text, begin))

    def ways_from(begin: int, state: int) -> Iterator[tuple[int, int, Any, int]]:
        for spec, after in following(state):
            for end in reversed(ends(spec, begin)):
                yield begin, end, spec, after

    failed = {(0, 0)}
    found: list[Item] = []
    ways = [ways_from(0, 0)]
    while ways:
        step = next(ways[-1], None)
        if step is None:
            ways.pop()
            del found[-1:]
            continue
        begin, end, spec, state = step
        item = Item(spec, text[begin:end])
        if end == len(text) and is_end(state):
            return [*found, item]
        after = end + len(delimiter)
        if text.startswith(delimiter, end) and (after, state) not in failed:
            failed.add((after, state))
            found.append(item)
            ways.append(ways_from(after, state))
    return None


def _grammar(spec: Any) -> Grammar:
    """Return the grammar of an item in the widest layout, whichever it was written in."""
    return compile_spec(given_spec(spec), byte_vocabulary(), whitespace="any", property_order="any")

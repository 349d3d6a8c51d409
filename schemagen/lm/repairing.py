"""Turn nearly valid text into a value: see `LanguageModel.repair`.

Idea: in two stages. `nearest_text` finds the text of the grammar to which the cheapest edits lead, without the model. It
settles which parts are kept, and where others are missing. Then the values that had to be invented are holes in a value whose
other parts are given, and the model fills them in as in `LanguageModel.complete`.

A value is a hole if all of its text was inserted; a string, number or constant also if letters or digits of it were inserted
or deleted. A value that was only written otherwise, such as ``'Ada'`` for ``"Ada"``, is kept.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from math import isfinite
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from schemagen.checks import check_text
from schemagen.errors import OptionError, ValidationFailed
from schemagen.grammar.misspelt_json import respellings
from schemagen.grammar.nearest_text import Step, nearest_text
from schemagen.lm.filling import Filling, fill
from schemagen.schema.checks import validator
from schemagen.schema.key_order import keys_of_objects
from schemagen.streaming.given_parts import Hole, Items, Object, Scalar, leaves, parts_of
from schemagen.streaming.json_spans import read_spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from schemagen.generation import Generation
    from schemagen.grammar.grammar import Grammar
    from schemagen.grammar.nearest_text import NearestText
    from schemagen.lm.spec_types import Prompt
    from schemagen.request.answer_request import AnswerForm
    from schemagen.request.settings import Settings
    from schemagen.streaming.given_parts import Given
    from schemagen.streaming.json_spans import Span

T = TypeVar("T")

#: The prompt of a call without one.
DEFAULT_PROMPT = "Correct the text below."
_BROKEN = "This text is not valid yet. Write its value, and add the missing parts:"
_MARKS_OF_NUMBERS = frozenset("+-.")


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text that is replaced.

    Attributes:
        start: The index of its first character.
        end: The index after its last character; the same as ``start`` to insert something.
        replacement: The new text; empty to delete the part.
    """

    start: int
    end: int
    replacement: str


@dataclass(frozen=True, slots=True)
class Repair(Generic[T]):
    """A value that was made of a text, with the edits that led to it.

    Attributes:
        value: The validated instance.
        text: The text of the value: the given text after the edits.
        edits: The edits, in the order of the text; none if it was valid.
        cost: The cost of the cheapest edits, without what the model wrote in place of inserted values; 0 if the text was
            valid. `schemagen.grammar.nearest_text` and `schemagen.grammar.misspelt_json` have the costs.
        generation: The generation of the missing values; None if the model was not called.
    """

    value: T
    text: str
    edits: tuple[Edit, ...]
    cost: float = 0.0
    generation: Generation[T] | None = None


@dataclass(frozen=True, slots=True)
class Valid:
    """The texts that need no repair, and those that a repair leads to.

    Attributes:
        grammar: The grammar of valid texts.
        ordered: The same with keys in the order of the type: it is searched with keys in the order of the text. None to search
            the grammar itself.
        any_layout: Whether JSON in a layout that the grammar does not have is valid, too.
    """

    grammar: Grammar
    ordered: Grammar | None = None
    any_layout: bool = False

    def has(self, text: str) -> bool:
        """Whether a text is valid: one of the grammar, or JSON of a value that the schema and the type allow.

        Other layouts are more whitespace than the grammar has, or numbers with more digits.
        """
        grammar, matcher = self.grammar, self.grammar.matcher()
        if matcher.accept_bytes(text.encode("utf-8", "surrogatepass")) and matcher.is_accepting():
            return True
        if grammar.schema is None or not self.any_layout:
            return False
        try:
            grammar.validate(text)
            return bool(validator(grammar.schema, grammar.resources).is_valid(json.loads(text)))
        except (ValidationFailed, ValueError, RecursionError):
            return False

    def nearest(self, text: str) -> NearestText:
        """Return the valid text to which the cheapest edits lead."""
        if self.grammar.schema is None:
            return nearest_text(self.grammar, text)
        among = self.grammar if self.ordered is None else self.ordered.reordered(keys_of_objects(text))
        return nearest_text(among, text, respellings(text))


def repair(
    settings: Settings, form: AnswerForm, text: str, prompt: Prompt | None, *, valid: Valid, whole: Grammar
) -> Repair[Any]:
    """Return the value that a text was meant to be; see `LanguageModel.run_repair`.

    Args:
        settings: Of the call.
        form: How the model writes the missing values.
        text: The text.
        prompt: As for `LanguageModel.run_repair`.
        valid: The valid texts.
        whole: The grammar of the texts that the model writes.
    """
    check_text("repair", text)
    grammar = valid.grammar
    if grammar.schema is None and grammar.value_schema is not None:
        raise OptionError(
            "repair of a text that is not JSON",
            why="the repair finds out in JSON alone which values are kept and which are invented",
            fix="leave as_ out, and give JSON; or ask for the text again: lm(prompt, spec, as_=...)",
        )
    if valid.has(text):
        return Repair(grammar.validate(text), text, ())
    nearest = valid.nearest(text)
    marked = MarkedText(text, [piece for step in nearest.steps for piece in _split(step)])
    spans = None if grammar.schema is None else read_spans(marked.text)
    given = None if spans is None else _given(spans, marked)
    if spans is None or given is None or not any(isinstance(part, Hole) for _, part in leaves(given)):
        return Repair(grammar.validate(marked.text), marked.text, marked.edits(), nearest.cost)
    asked = DEFAULT_PROMPT if prompt is None else prompt
    found = fill(settings, form, Filling(whole, given), asked, instruction=f"{_BROKEN}\n{text}")
    marked = marked.replaced(dict(_written(given, spans, found.text, read_spans(found.text))))
    # The value is that of this text: a number that was kept may have more digits than the model wrote for it.
    value = grammar.validate(marked.text)
    return Repair(value, marked.text, marked.edits(), nearest.cost, found if found.attempts else None)


class MarkedText:
    """A new text, of which it is known what became of each character of the given text.

    Args:
        given: The given text.
        pieces: The steps to the new text, each of one new character at most.
    """

    def __init__(self, given: str, pieces: Sequence[Step]) -> None:
        self._given, self._pieces = given, list(pieces)
        self._offsets = list(accumulate((len(piece.text) for piece in pieces), initial=0))[:-1]
        self.text = "".join(piece.text for piece in pieces)

    def is_hole(self, span: Span) -> bool:
        """Whether a value was invented; of a container, whether all of it was."""
        inside = self._pieces[bisect_left(self._offsets, span.start) : bisect_right(self._offsets, span.end - 1)]
        if all(piece.kind == "inserted" for piece in inside if piece.text):
            return True
        if span.parts is not None:
            return False
        return self._is_changed_string(span) if self.text[span.start] == '"' else self._is_changed_scalar(span)

    def _is_changed_string(self, span: Span) -> bool:
        """Whether the text between the quotes is not the one that was given."""
        low, high = bisect_right(self._offsets, span.start), bisect_left(self._offsets, span.end)
        opening = self._pieces[low - 1]
        inside = self._pieces[low:high]
        return opening.kind == "inserted" or any(
            (piece.kind == "inserted" and piece.text.isalnum()) or self._is_lost(piece) for piece in inside
        )

    def _is_changed_scalar(self, span: Span) -> bool:
        """Whether a number or constant has other characters than were given there."""
        low, high = bisect_left(self._offsets, span.start), bisect_right(self._offsets, span.end)
        for offset, piece in zip(self._offsets[low:high], self._pieces[low:high], strict=True):
            if piece.kind == "inserted" and offset < span.end and piece.text:
                return True
            # Beside the value, a longer part that was deleted is a comment or the like.
            if self._is_lost(piece) and (span.start < offset < span.end or piece.end - piece.start == 1):
                return True
        return False

    def _is_lost(self, piece: Step) -> bool:
        """Whether letters or digits, or the marks of a number, were deleted."""
        lost = self._given[piece.start : piece.end] if piece.kind == "deleted" else ""
        return any(character.isalnum() or character in _MARKS_OF_NUMBERS for character in lost)

    def replaced(self, parts: dict[tuple[int, int], str]) -> MarkedText:
        """Return the text with other values in some places, which are given by their start and end."""
        pieces = list(self._pieces)
        for (start, end), text in parts.items():
            low, high = bisect_left(self._offsets, start), bisect_left(self._offsets, end)
            for index in range(low, high):
                pieces[index] = replace(self._pieces[index], text="", kind="inserted")
            pieces[low] = replace(pieces[low], text=text)
        return MarkedText(self._given, pieces)

    def edits(self) -> tuple[Edit, ...]:
        """Return the edits that lead from the given text to this one."""
        runs = [list(run) for is_kept, run in groupby(self._pieces, lambda piece: piece.kind == "kept") if not is_kept]
        found = [Edit(run[0].start, run[-1].end, "".join(piece.text for piece in run)) for run in runs]
        return tuple(edit for edit in found if edit.replacement != self._given[edit.start : edit.end])


def _split(step: Step) -> Iterator[Step]:
    """Yield a step as steps of one new character at most; the first one replaces the given text."""
    yield replace(step, text=step.text[:1])
    for character in step.text[1:]:
        yield Step(step.end, step.end, character, step.kind)


def _given(span: Span, marked: MarkedText) -> Given:
    """Return the parts of a value that are kept."""
    if marked.is_hole(span):
        return Hole()
    if span.parts is not None:
        parts = {step: _given(part, marked) for step, part in span.parts.items()}
        is_list = marked.text[span.start] == "["
        return (
            Items(tuple(parts.values()))
            if is_list
            else Object({str(key): part for key, part in parts.items()}, is_closed=True)
        )
    value = json.loads(marked.text[span.start : span.end])
    is_infinite = isinstance(value, float) and not isfinite(value)
    return Hole() if is_infinite else Scalar((value,))


def _written(given: Given, span: Span, text: str, found: Span) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the places of holes, each with the text that the model wrote there.

    Args:
        given: The parts that are kept.
        span: Their places.
        text: The text in which nothing is missing.
        found: The places of its parts.
    """
    if isinstance(given, Hole):
        yield (span.start, span.end), text[found.start : found.end]
        return
    for step, part in parts_of(given):
        assert span.parts is not None, "it has the given parts"
        assert found.parts is not None, "so does the text of the model"
        yield from _written(part, span.parts[step], text, found.parts[step])

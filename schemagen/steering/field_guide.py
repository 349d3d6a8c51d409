"""`FieldGuide`: validators and checkers of a type, run while its JSON text is written.

Idea: a reader follows the text. When a field closes, its validators see the value. If they refuse it, the model writes the
field again, and the value does not come back: no token may close the field with it. After `tries` values of a field, the one
around it is written again.

Where tokens are drawn at random, the field is written again from its first token. Where the likeliest token is always taken,
that would repeat it. There, each other token that the model considered within the field begins another text, and the likeliest
of these beginnings is next: the probability of the tokens before it, times its own. It is written to its end greedily, and its
own other tokens are added (Lawler 1972, "A procedure for computing the K best solutions", with greedy completions).

Two values are the same if their JSON is; a refusal holds as long as all fields before are the same. So in another surrounding
object a value may be tried again, and spaces make no difference.

Invariant: no beginning is begun twice; a value that was refused is not shown to its validators again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field as dataclass_field, replace
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from schemagen.decode.guide import TakenBack
from schemagen.errors import ValidationFailed
from schemagen.events import FieldTakenBack, Path
from schemagen.generation import Refused
from schemagen.grammar.refusals import counted
from schemagen.options.sampling import Sampling
from schemagen.steering.text_guide import TextGuide
from schemagen.streaming.json_reader import JsonReader
from schemagen.streaming.json_spans import canonical
from schemagen.types.checks import Checker, refusal, while_written

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from schemagen.decode.token_records import TokenRecord
    from schemagen.streaming.answer_text import AnswerText
    from schemagen.streaming.field_types import FieldTypes
    from schemagen.vocabulary.canonical import CanonicalText

#: Refused values of a whole answer, in multiples of the tries of a field.
_MOST = 16


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that is complete.

    Attributes:
        path: Its place.
        start: Offset of its first character in the text.
        end: Offset after its last one.
        text: Its JSON text.
        value: The same for equal values.
        token: The index of the token that closed it.
    """

    path: Path
    start: int
    end: int
    text: str
    value: str
    token: int


@dataclass(slots=True)
class _Region:
    """A part of the text that is written again.

    Attributes:
        first: The index of its first token.
        field: The field.
        error: Why.
        is_own: Whether the field's own type refuses its values, whatever is before it.
        others: The likeliest of the beginnings that were not begun: less its log-probability, the tokens, the last one of which
            is where it leaves a text that was written.
        left: The index of the token where the present text left another one.
        again: How often it was written.
    """

    first: int
    field: _Field
    error: ValidationFailed
    is_own: bool = False
    others: list[tuple[float, tuple[int, ...]]] = dataclass_field(default_factory=list)
    left: int = -1
    again: int = 0


class _RefusedError(Exception):
    """A field may not have the value that it has now.

    Attributes:
        field: The field.
        error: Why a validator refuses it; None if it was refused before, or is not to be counted.
        is_own: As in `_Region`.
    """

    def __init__(self, field: _Field, error: ValidationFailed | None = None, *, is_own: bool = False) -> None:
        super().__init__()
        self.field, self.error, self.is_own = field, error, is_own


class FieldGuide(TextGuide):
    """Follows the JSON text of a type; see `schemagen.decode.guide.Guide`.

    Args:
        text: The text, empty so far.
        types: The types of its fields.
        validate: Validates the whole text; raises ValidationFailed.
        tries: How many values of a field may be refused before the one around it is written again.
        ends: The EOS ids.
        checker: Judges the whole text; None for none.
        canonical: As for `TextGuide`.
        draws: As in `Guide`.
        has_checkers: Whether fields have checkers.

    Attributes:
        refused: The values that validators refused, in order.
    """

    def __init__(  # noqa: PLR0913 - the text, and all that steers it
        self,
        text: AnswerText,
        types: FieldTypes,
        validate: Callable[[str], Any],
        tries: int,
        ends: tuple[int, ...],
        checker: Checker | None = None,
        canonical: CanonicalText | None = None,
        *,
        draws: bool = False,
        has_checkers: bool = False,
    ) -> None:
        super().__init__(text, ends, checker, canonical)
        self._has_checkers = has_checkers
        self.refused: list[Refused] = []
        self.draws = draws
        self._types, self._validate, self._tries = types, validate, tries
        self._reader = JsonReader(self._close)
        self._before: JsonReader | None = None  # the reader before the last token
        self._fields: list[_Field] = []
        self._values: dict[Hashable, set[str]] = {}  # refused, by field and the fields before it
        self._region: _Region | None = None
        self._regions: dict[Hashable, _Region] = {}
        self._wanted: list[int] = []  # the tokens that come next
        self._records: list[TokenRecord | None] = []
        self._read_tokens = 0  # by the reader
        self._default: Sampling | None = None
        self._notes: dict[Path, tuple[Sampling | None, tuple[Checker, ...]]] = {}

    # --- one token ----------------------------------------------------------------------------------------------------

    def sampling(self, default: Sampling | None) -> Sampling | None:
        """Return how the next token is drawn: as the innermost field around it says, else as the call does."""
        self._default = default
        self._way = self._sampling_of(self._reader.path)
        return self._way

    @property
    def is_over(self) -> bool:
        """Whether the JSON text is complete and accepted; the text after it is not read."""
        return self._reader.is_over

    def wanted(self) -> int | None:
        """Return the token that has to come next; None if the model chooses."""
        return self._wanted[0] if self._wanted else None

    def take(self, token_id: int, record: TokenRecord | None = None) -> TakenBack | None:
        """Read the next token; see `Guide`."""
        del self._wanted[:1]
        self._records.append(record)
        is_end = self.is_end(token_id)
        if (vetoed := super().take(token_id, record)) is not None:
            return vetoed
        self._before, self._reader = self._reader, self._reader.copy()
        self._read_tokens += 1
        if (taken := self._judge(self.text.text[len(self._reader.text) :], is_end=is_end)) is not None:
            return taken
        told = self._judge_beginning()
        return None if told is None else self.veto(told)

    def _judge(self, piece: str, *, is_end: bool) -> TakenBack | None:
        """Read characters; return the tokens to take back if they complete a value that is refused."""
        try:
            with while_written():
                self._read(piece, is_end=is_end)
        except _RefusedError as refused:
            return self._refuse(refused)
        except StopIteration as error:  # which would end the loop that asks
            raise RuntimeError("a validator raised StopIteration") from error
        return None

    def close(self) -> TakenBack | None:
        """Judge the value, which ends here; see `Guide`."""
        vetoed = super().close()
        return self._judge("", is_end=True) if vetoed is None else vetoed

    def _read(self, piece: str, *, is_end: bool) -> None:
        """Read characters; judge the whole value where they, or the end of the text, complete it."""
        was_over = self._reader.is_over
        self._reader.feed(piece)
        is_over = self._reader.is_over or (is_end and not self._reader.frames)
        if was_over or not is_over:
            return
        text = self.text.text
        end = self._reader.span[1] if self._reader.is_over else len(text.rstrip())
        whole = self._field(Path(), len(text) - len(text.lstrip()), end)
        self._check_known(whole)
        self._ask_checkers(whole)
        if self._tries == 1:
            return
        try:
            self._validate(text[:end])
        except ValidationFailed as error:
            raise _RefusedError(self._last(error.at) or whole, error, is_own=not error.at) from None

    def _close(self, path: Path, text: str, parts: Any) -> Any:
        """Judge a field that is complete."""
        field = self._field(path, *self._reader.span)
        self._check_known(field)
        self._ask_checkers(field)
        if self._tries > 1 and self._types.has_validators(path):
            try:
                self._types.complete(path, text, parts)
            except ValidationFailed as error:
                is_own = error.at == str(path)
                raise _RefusedError((not is_own and self._last(error.at)) or field, error, is_own=is_own) from None
        self._fields.append(field)
        if self._region is not None and self._region.field.path == path:
            self._region = None

    def _ask_checkers(self, field: _Field) -> None:
        """Refuse a complete value if a checker of its field does."""
        for checker in self._notes_of(field.path)[1]:
            value = json.loads(field.text)
            if (told := refusal(checker.end(value if isinstance(value, str) else field.text))) is not None:
                self._told = told
                raise _RefusedError(field)

    def _judge_beginning(self) -> str | None:
        """Return why the checkers of the open fields refuse their beginnings, the outer ones first; None if they do not."""
        reader = self._reader
        steps = [frame.step for frame in reader.frames] if self._has_checkers else []
        for depth, frame in enumerate(reader.frames[: len(steps)]):
            for checker in self._notes_of(Path(step for step in steps[:depth] if step is not None))[1]:
                if (told := refusal(checker.next(reader.text[frame.start :]))) is not None:
                    return told
        checkers = () if reader.scalar is None else self._notes_of(reader.path)[1]
        answers = (refusal(checker.next(reader.scalar or "")) for checker in checkers)
        return next((each for each in answers if each is not None), None)

    # --- knowledge ----------------------------------------------------------------------------------------------------

    def _field(self, path: Path, start: int, end: int) -> _Field:
        text = self._reader.text[start:end]
        return _Field(path, start, end, text, canonical(text, exact=True), len(self.bans.tokens) - 1)

    def _key(self, field: _Field) -> Hashable:
        """Return what a refusal of a value of a field depends on: the field, and the fields before it."""
        return field.path, tuple((each.path, each.value) for each in self._fields if each.end <= field.start)

    def _check_known(self, field: _Field) -> None:
        """Refuse a value that was refused before."""
        if self._values and field.value in self._values.get(self._key(field), ()):
            raise _RefusedError(field)

    def _last(self, pointer: str) -> _Field | None:
        """Return the complete field at a place; None if there is none."""
        return next((each for each in reversed(self._fields) if str(each.path) == pointer), None)

    def _notes_of(self, path: Path) -> tuple[Sampling | None, tuple[Checker, ...]]:
        """Return how the tokens of a field are drawn, if its type says so, and its checkers."""
        if path not in self._notes:
            notes = self._types.notes(path)
            ways = [note for note in notes if isinstance(note, Sampling)]
            self._notes[path] = (ways[-1] if ways else None, tuple(note for note in notes if isinstance(note, Checker)))
        return self._notes[path]

    def _sampling_of(self, path: Path) -> Sampling | None:
        """Return how the tokens of a field are drawn; None to take the likeliest."""
        for length in range(len(path), -1, -1):
            own = self._notes_of(Path(path[:length]))[0]
            if own is not None:
                return _drawn(own)
        return _drawn(self._default)

    # --- going back ---------------------------------------------------------------------------------------------------

    def _refuse(self, refused: _RefusedError) -> TakenBack:
        """Exclude the value of a field, and go back to where it is written again.

        Raises:
            ValidationFailed: Nothing is left that may be tried.
        """
        field, error = refused.field, refused.error
        known = self._values.setdefault(self._key(field), set())
        known.add(field.value)
        if error is None:  # a value that was refused before, or that a checker refuses
            self.count_dead_end()
            before = self._regions.get(self._key(field))
            if before is None:
                return self.ban(field.token)
            return self._again(self._region_of(field, before.error, is_own=before.is_own))
        self.refused.append(Refused(str(field.path), field.text, _reason(error)))
        if len(self.refused) >= _MOST * self._tries:
            raise self._failed(field, error)
        region = self._region_of(field, error, is_own=refused.is_own)
        return self._around(region) if len(known) >= self._tries else self._again(region)

    def _region_of(self, field: _Field, error: ValidationFailed, *, is_own: bool = False) -> _Region:
        """Return the part of the text that a field is, as it is written now."""
        first = max(self.text.token_at(field.start), self.text.first)
        found = self._regions.setdefault(self._key(field), _Region(first, field, error, is_own))
        if self.bans.tokens[: found.first] != self.bans.tokens[:first]:  # other tokens before it, with the same values
            found = self._regions[self._key(field)] = _Region(first, field, error, is_own)
        found.field, found.error = field, error
        return found

    def _again(self, region: _Region) -> TakenBack:
        """Have a field written again."""
        region.again += 1
        if self._sampling_of(region.field.path) is not None:
            if region.field.token >= region.first:
                self.ban(region.field.token)
            return self._go_to(region, region.first)
        self._add_others(region)
        while region.others and region.again <= _MOST * self._tries:
            _, tokens = heappop(region.others)
            if not self.bans.is_banned(tokens):
                region.left = len(tokens) - 1
                kept = _common(self.bans.tokens, tokens[:-1])
                taken = self._go_to(region, kept)
                self._wanted = list(tokens[kept:])
                return taken
        return self._around(region) if region.field.token < region.first else self.ban(region.field.token)

    def _go_to(self, region: _Region, length: int) -> TakenBack:
        self.cut(length)
        self._region = region
        event = FieldTakenBack(region.field.path, self.refused[-1])
        return TakenBack(length, region.field.start, event)

    def _add_others(self, region: _Region) -> None:
        """Add the beginnings that leave the text within a field, after the token where the text itself left another one."""
        chance = 0.0
        for place in range(region.first, len(self.bans.tokens)):
            record = self._records[place]
            if record is None or record.log_allowed is None:
                continue
            for other in record.alternatives if place > region.left else ():
                if other.allowed:
                    likely = chance + other.log_probability - record.log_allowed
                    heappush(region.others, (-likely, (*self.bans.tokens[:place], other.token_id)))
            chance += record.log_probability

    def _around(self, region: _Region) -> TakenBack:
        """Have the field around a field written again.

        Raises:
            ValidationFailed: There is none, or it was written too often, too.
        """
        field = region.field
        while field.path:
            path = Path(field.path[:-1])
            field = replace(field, path=path, start=self._start_of(path), token=self.text.token_at(field.start) - 1)
            outer = self._region_of(field, region.error)
            if outer.again < self._tries:
                return self._again(outer)
        raise self._failed(region.field, region.error)

    def _start_of(self, path: Path) -> int:
        """Return the offset of the first character of a container."""
        found = self._last(str(path))
        before = [] if self._before is None else self._before.frames
        frames = max(before, self._reader.frames, key=len)
        return found.start if found is not None else frames[len(path)].start if len(path) < len(frames) else 0

    def exhausted(self) -> TakenBack:
        """Ban the token that led to a place where all are banned, unless a field has no other value; see `Guide`."""
        region = self._region
        if region is None or len(self.bans.tokens) > region.first:
            return super().exhausted()
        self._region = None
        if region.is_own:
            raise self._failed(region.field, region.error, is_every=True)
        return self._around(region)

    @property
    def _most_dead_ends(self) -> int:
        return max(super()._most_dead_ends, _MOST * self._tries)

    def _given_up(self) -> ValidationFailed:
        if not self.refused:
            return super()._given_up()
        last = next(reversed(self._regions.values()))
        return self._failed(last.field, last.error)

    def cut(self, length: int) -> None:
        """Go back to the first tokens."""
        super().cut(length)
        del self._records[length:]
        self._wanted.clear()
        if length == self._read_tokens - 1 and self._before is not None:
            self._reader = self._before
        elif length < self._read_tokens:
            self._reader = JsonReader(lambda *_: None)
            self._reader.feed(self.text.text)
            self._reader.complete = self._close
        self._read_tokens = min(length, self._read_tokens)
        self._before = None
        self._fields = [field for field in self._fields if field.token < length]
        if self._region is not None and length < self._region.first:
            self._region = None

    def _failed(self, field: _Field, error: ValidationFailed, *, is_every: bool = False) -> ValidationFailed:
        """Return the error for a field that has no value left to try."""
        own = [each for each in self.refused if each.path == str(field.path)] or self.refused
        told = "; ".join(f"{each.text:.80}: {each.reason}" for each in own[-3:])
        which = "every value that the type allows" if is_every else f"{counted(len(self.refused), 'value')}"
        return ValidationFailed(
            f"validators refused {which}{f' of {field.path}' if is_every and field.path else ''}",
            text=self.text.text,
            error=error.error,
            at=own[-1].path,
            why=f"the last of them: {told}",
            fix="let the type allow values that the validator accepts (bounds, pattern, Literal), or raise tries=",
            refused=tuple(self.refused),
        )


def _drawn(sampling: Sampling | None) -> Sampling | None:
    """Return a way to draw tokens; None if it always takes the likeliest."""
    return None if sampling is None or not sampling.temperature or sampling.top_k == 1 else sampling


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the longest common beginning."""
    shorter = min(len(left), len(right))
    return next((place for place in range(shorter) if left[place] != right[place]), shorter)


def _reason(error: ValidationFailed) -> str:
    """Return why a validator refuses a value, in its own words."""
    errors: Any = getattr(error.error, "errors", None)
    if not callable(errors):
        return error.fact
    told: Any = errors()
    return str(told[0]["msg"])

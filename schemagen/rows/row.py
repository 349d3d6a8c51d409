"""Rows of an input, their results, and the shard of rows that a process works on."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from schemagen.errors import GenerationError, OptionError
from schemagen.generation import Failure, Generation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from schemagen.confidence.fields import Confidence

#: The module csv refuses longer fields, and much shorter ones by default.
_LONGEST_FIELD = 2**31 - 1
#: Line breaks occur only between the parts of a JSON text, never within one.
_ONE_LINE = {10: " ", 13: " "}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the input.

    Attributes:
        index: The index of the row, from 0; empty lines do not count.
        prompt: A text or a chat; None without one.
        id: The id that the row states; None without one.
        place: Its place, for messages: "line 7".
        refusal: Why it cannot be read, to follow the place: "is not JSON: ..."; None if it can.
        fix: How to correct that.
    """

    index: int
    prompt: Any
    id: Any = None
    place: str = ""
    refusal: str | None = None
    fix: str = ""

    def failure(self) -> Failure:
        """Return the failure of a row that has no prompt."""
        place = self.place or f"row {self.index}"
        where, fix = f"{place} (row {self.index})", 'a text, a chat, or an object with "prompt"'
        if self.refusal is None:
            error = GenerationError(f"{place} has no prompt", at=where, fix=f"give {fix}", code="empty-prompt")
        else:
            error = GenerationError(
                f"{place} {self.refusal}",
                at=where,
                why="other rows are not affected",
                fix=self.fix or f"write {fix}, as json.dumps does",
                code="invalid-line",
            )
        return Failure(self.index, None, error)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a row: one line of the output.

    Attributes:
        index: The index of the row.
        id: The id of the row.
        value: JSON text on one line; None for a failure.
        error: ``type``, ``code``, ``message`` and ``text`` of a failure; None for a value.
        encoded: The bytes of the result in the format of the output, if they are known.
        finish_reason: The `Generation.finish_reason` of a value; empty for a failure.
        prompt: The prompt of the row, for outputs that have it.
        confidence: The probability of each field of a value under the constraint, by JSON pointer, "" for the whole; None if
            nothing is known of it.
    """

    index: int
    id: Any
    value: str | None
    error: Mapping[str, str] | None = None
    encoded: bytes | None = None
    finish_reason: str = ""
    prompt: Any = None
    confidence: Mapping[str, float] | None = None

    @property
    def least_confidence(self) -> float | None:
        """The least probability of a field that has no fields inside; None if nothing is known of them."""
        known = self.confidence or {}
        outer = {pointer.rpartition("/")[0] for pointer in known if pointer}
        return min((share for pointer, share in known.items() if pointer not in outer), default=None)

    @classmethod
    def of(cls, row: Row, outcome: Generation[Any] | Failure, *, text: bool = False) -> Result:
        """Return the result of a row.

        Args:
            row: The row.
            outcome: The generation, or its failure.
            text: Whether the generated text is not JSON (`is_text`), so that the value is a JSON string of it.
        """
        if isinstance(outcome, Generation):
            value = json_text(outcome.text) if text else outcome.text.translate(_ONE_LINE)
            sure = None if outcome.confidence is None else probabilities_of(outcome.confidence)
            reason = outcome.finish_reason
            return cls(row.index, row.id, value, finish_reason=reason, prompt=row.prompt, confidence=sure)
        error = outcome.error
        parts = {"type": type(error).__name__, "code": error.code, "message": error.fact, "text": outcome.text}
        return cls(row.index, row.id, None, parts, prompt=row.prompt)


def unwritable(index: int, why: str, text: str = "") -> Failure:
    """Return the failure of a row whose value its column cannot hold."""
    error = GenerationError(
        f"the column cannot hold the value: {why}",
        text=text,
        at=f"row {index}",
        why="the types of columns are narrower than those of JSON: integers have 64 bits",
        fix="bound the field, as Field(lt=2**63) does, or write JSON Lines",
        code="no-such-column-value",
    )
    return Failure(index, None, error)


def probabilities_of(confidence: Confidence) -> dict[str, float]:
    """Return the probability of each field, in six digits."""
    return {path: float(f"{field.probability:.6g}") for path, field in confidence.items()}


def json_text(value: Any) -> str:
    """Return JSON that UTF-8 can encode: half a surrogate pair stays an escape."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def csv_reader(lines: Iterable[str], *, strict: bool = False) -> Any:
    """Return a reader of CSV with fields of any length."""
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)
    return csv.reader(lines, strict=strict)


def csv_table(lines: Iterable[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the non-empty rows of a file, each with the number of its last line.

    Raises:
        OptionError: It is not CSV in UTF-8.
    """
    try:
        table = csv_reader(lines)
        yield from ((table.line_num, cells) for cells in table if cells)
    except (UnicodeDecodeError, csv.Error) as error:
        raise OptionError(
            f"cannot read {str(path)!r}: {error}", why="it is not CSV in UTF-8", fix="convert it"
        ) from error


def as_prompt(found: Any) -> Any:
    """Return a text or a chat unchanged, and None for anything else."""
    is_chat = isinstance(found, list) and all(isinstance(message, dict) for message in found)
    return found if isinstance(found, str) or is_chat else None


class PromptDigest:
    """A digest of all prompts so far, which ties an output to its input.

    Attributes:
        rows: The number of prompts.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._hash = sha256()

    def add(self, row: Row) -> None:
        """Add a row."""
        self.rows += 1
        said = [row.prompt, row.id] if row.refusal is None else [row.refusal]
        self._hash.update(json.dumps(said, default=repr).encode())

    def text(self) -> str:
        """Return the digest of the rows so far; more can be added."""
        return self._hash.hexdigest()


_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Shard:
    """The rows of an input that a process works on: every ``of``-th, from ``number`` on.

    Attributes:
        number: The number of the shard, from 1.
        of: The number of shards.

    Raises:
        OptionError: The shard does not exist.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        """Refuse shards that do not exist."""
        if not 1 <= self.number <= self.of:
            raise OptionError(
                f"shard {self.number} of {self.of}",
                why="shards are counted from 1",
                fix="the first of eight is 1/8, the last one 8/8",
            )

    @classmethod
    def parse(cls, text: str | None, environment: Mapping[str, str] | None = None) -> Shard:
        """Return the shard that a text names.

        Args:
            text: "3/8"; "auto" for the one of this process among those that torchrun, accelerate or Slurm started; None
                for the whole input.
            environment: The environment variables that state it; None for those of the process.

        Raises:
            OptionError: The text names no shard; "auto" finds no variables; or there are several processes, and all
                would do the whole input.
        """
        given = os.environ if environment is None else environment
        started = _started(given)
        if text is None:
            if started is not None and started.of > 1:
                raise OptionError(
                    f"{started.of} processes were started, and each would do the whole input",
                    why=f"this is number {started.number} of them, and no shard is given",
                    fix="give --shard auto, or unset RANK and WORLD_SIZE",
                )
            return cls()
        if text == "auto":
            if started is None:
                raise OptionError(
                    "--shard auto outside torchrun, accelerate launch and srun",
                    why="neither RANK and WORLD_SIZE nor SLURM_PROCID and SLURM_NTASKS are set",
                    fix="name the shard: --shard 1/8",
                )
            return started
        found = _SHARD.fullmatch(text)
        if found is None:
            raise OptionError(f"--shard {text}", why="it is not N/M", fix="give 3/8 for the third of eight, or auto")
        return cls(int(found[1]), int(found[2]))

    def rows_of(self, total: int) -> int:
        """Return how many of a number of rows are in this shard."""
        return len(range(self.number - 1, total, self.of))

    def has(self, index: int) -> bool:
        """Tell whether a row is in this shard."""
        return index % self.of == self.number - 1

    @property
    def suffix(self) -> str:
        """The suffix of the shard in file names; empty if it is the only one."""
        return "" if self.of == 1 else f"-{self.number:05}-of-{self.of:05}"


def _started(environment: Mapping[str, str]) -> Shard | None:
    """Return the shard of this process by its rank; None if it is alone."""
    for rank, size in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")):
        if environment.get(rank, "").isdecimal() and environment.get(size, "").isdecimal():
            return Shard(int(environment[rank]) + 1, int(environment[size]))
    return None

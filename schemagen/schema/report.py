"""What became of every keyword at every node: the answer to "is this really enforced?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator

Status = Literal["enforced", "checked_after", "annotation"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One keyword at one node.

    Attributes:
        pointer: JSON pointer of the node in its document, "" for the root.
        keyword: The keyword, or the name of a soft cap of the package.
        status: "enforced" by the mask, "checked_after" on the finished value, or "annotation" (asserts nothing).
        note: Why, where that is not obvious.
    """

    pointer: str
    keyword: str
    status: Status
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The entries of one compiled grammar, in the order in which the nodes were reached."""

    entries: tuple[Entry, ...]

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries."""
        return iter(self.entries)

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.entries)

    def of_status(self, status: Status) -> tuple[Entry, ...]:
        """Return the entries with this status."""
        return tuple(entry for entry in self.entries if entry.status == status)

    @property
    def is_exact(self) -> bool:
        """Whether the mask alone guarantees the schema: nothing is left to check afterwards."""
        return not self.of_status("checked_after")

    def __repr__(self) -> str:
        """Count the entries by status; `print` shows them."""
        counts = {status: len(self.of_status(status)) for status in get_args(Status)}
        return f"Report({', '.join(f'{count} {status}' for status, count in counts.items() if count)})"

    def __str__(self) -> str:
        """Render one line per entry."""
        lines = [
            f"{e.status:<13} {e.pointer or '/'} {e.keyword}{'  (' + e.note + ')' if e.note else ''}"
            for e in self.entries
        ]
        return "\n".join(lines)

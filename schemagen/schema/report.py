"""What became of every keyword at every node: the answer to "is this really enforced?"."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schemagen.notebook import Markup, html_table

if TYPE_CHECKING:
    from collections.abc import Iterator

Status = Literal["enforced", "checked_after", "annotation", "unknown", "fact"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One keyword at one node, or one fact about a grammar.

    Attributes:
        pointer: JSON pointer of the node in its document, "" for the root.
        keyword: The keyword, or the name of a soft cap of the package; of a fact its subject.
        status: "enforced" by the mask, "checked_after" on the finished value, "annotation" (asserts nothing), or "unknown":
            not a keyword of the draft, so it asserts nothing either, and may be a mistake in spelling. "fact": something
            that was found out about a grammar, and restricts nothing.
        note: Why, where that is not obvious.
    """

    pointer: str
    keyword: str
    status: Status
    note: str = ""


@dataclass(frozen=True, slots=True, repr=False)
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

    @property
    def counts(self) -> dict[Status, int]:
        """How many entries there are of each status that occurs, in the order of their first entries."""
        return dict(Counter(entry.status for entry in self.entries))

    @property
    def summary(self) -> str:
        """The counts in a line, such as "3 enforced, 1 annotation"."""
        return ", ".join(f"{count} {status}" for status, count in self.counts.items()) or "no keywords"

    def __repr__(self) -> str:
        """Show the counts; `print` shows the entries."""
        return f"Report({self.summary})"

    def _repr_html_(self) -> str:
        """Show the counts and the entries in a notebook, with those that the mask does not enforce in bold."""
        entries = ((_marked(e.status), e.pointer or "/", e.keyword, e.note) for e in self)
        return f"<div>{self.summary}</div>" + html_table(entries, ("status", "at", "keyword", "note"))

    def __str__(self) -> str:
        """Render one line per entry."""
        lines = [
            f"{e.status:<13} {e.pointer or '/'} {e.keyword}{'  (' + e.note + ')' if e.note else ''}"
            for e in self.entries
        ]
        return "\n".join(lines)


def _marked(status: Status) -> str:
    """Return a status, in bold if a reader should look at the entry."""
    return Markup(f"<b>{status}</b>") if status in {"checked_after", "unknown"} else status

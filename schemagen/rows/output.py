"""Outputs that survive being killed: windows are appended, and a record states how much of the file is valid.

A window is appended and synced to the disk; then the record is replaced by one that includes it. If the run is killed
in between, the next run cuts off the bytes after the recorded size. So a row is in the output exactly once or not yet.

A new file beside the output replaces it at the end if rows cannot simply be appended: when failures are retried, so
that rows stay in the order of the input, and for formats that are written as a whole (Parquet). It takes over the
values of the output. If the record mentions a file beside the output that does not exist, that file has already
replaced the output.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from schemagen.errors import OptionError, SchemagenError
from schemagen.rows.formats import line_of
from schemagen.rows.record import Progress, Record, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from schemagen.rows.formats import Format
    from schemagen.rows.record import RunKey
    from schemagen.rows.row import Result


class Journal:
    """A file that grows by whole windows.

    Bytes after its valid size are cut off.

    Raises:
        OSError: The file cannot be written, or another process is writing it.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        path.touch()  # opening with "w" would empty the file of another process
        self._stream = path.open("r+b")
        try:
            _lock(self._stream)
        except OSError:
            self._stream.close()
            raise
        self._stream.truncate(size)
        self._stream.seek(size)

    def append(self, data: bytes) -> None:
        """Append some bytes, and sync them to the disk."""
        self._stream.write(data)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.size += len(data)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


@dataclass(frozen=True, slots=True)
class Window:
    """Rows that are written together.

    Attributes:
        results: The results, in the order of the input.
        prompts_sha256: The digest of all prompts up to the last of them.
        failures: Lines for the file of failures.
    """

    results: Sequence[Result]
    prompts_sha256: str
    failures: bytes = b""


class Sink(ABC):
    """Where results go; by default nothing is kept from before.

    Attributes:
        progress: The progress of the output.
    """

    progress: Progress

    @property
    def checkpoints(self) -> list[tuple[int, str]]:
        """Numbers of prompts read at some times, with the digests of these prompts, which the input must still begin with."""
        return []

    def kept(self) -> Iterator[Result]:
        """Yield the values that are kept, in the order of the input."""
        return iter(())

    def open(self, *, more: bool) -> bool:
        """Begin to write; return whether there is anything to do.

        ``more`` tells whether the input has rows after the recorded ones.
        """
        del more
        return True

    def checked(self, results: list[Result]) -> list[Result]:
        """Return the results; those that cannot be written have become failures."""
        return results

    @abstractmethod
    def write(self, window: Window) -> None:
        """Add a window."""

    @abstractmethod
    def close(self, *, complete: bool) -> None:
        """Finish writing; if the input was read to its end, the output is complete."""


class StandardOutput(Sink):
    """JSON Lines on standard output, which cannot be resumed."""

    def __init__(self) -> None:
        self.progress = Progress()

    def write(self, window: Window) -> None:
        """Print the lines of a window."""
        try:
            sys.stdout.write("".join(f"{line_of(result)}\n" for result in window.results))
            sys.stdout.flush()
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)  # for the rest of the buffer when Python exits
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
            raise unwritten("standard output", error, fix="write to a file that can be resumed: --output") from error
        self.progress = after(self.progress, window)

    def close(self, *, complete: bool) -> None:
        """Do nothing."""


class Output(Sink):
    """A file of results, with its record beside it.

    Args:
        path: The file.
        shape: Its format.
        key: The key of its run.
        failures: An extra file for the rows without a value; None for none.
        resume: Whether the file may exist, to be resumed.
        accepts: Whether a value in the file is valid; rows with invalid values are generated again. None to accept all.

    Attributes:
        progress: The progress of the output.

    Raises:
        OptionError: It exists and is not to be resumed, or was made with something else.
    """

    def __init__(
        self,
        path: Path,
        shape: Format,
        key: RunKey,
        *,
        failures: Path | None = None,
        resume: bool,
        accepts: Callable[[str], bool] | None = None,
    ) -> None:
        self._path = path
        self._beside = path.with_name(path.name + ".part")
        self._format = shape
        self._accepts = accepts if shape.appends else None  # a column of Parquet checks the type itself
        self._has_refused = False
        self._failures_path = failures
        self._record = Record.beside(path, key)
        self._journal: Journal | None = None
        self._failures: Journal | None = None
        self.progress = self._as_read = Progress(beside=not shape.appends)
        self._is_new = not (_has_content(path) or (_has_content(self._beside) and not shape.appends))
        if self._is_new:
            return
        if not resume:
            raise OptionError(
                f"{str(path)!r} is there already",
                why="a part of it may be worth keeping",
                fix="--resume goes on with it; or choose another --output",
            )
        self.progress = self._as_read = self._record.read(path)
        if _has_content(path):
            shape.check(path)
        if self.progress.beside and not self._beside.exists():  # it has replaced the output
            self.progress = replace(self.progress, beside=False, before=None, complete=True)
        elif self.progress.beside and self._is_short():
            self.progress = Progress(before=self.progress.before, beside=True)
        if shape.appends and not self.progress.beside and not self._is_short():
            valid = sum(self._is_kept(result) for result in self._known(self.progress.bytes))
            self._has_refused = valid + self.progress.failed < self.progress.rows

    @property
    def checkpoints(self) -> list[tuple[int, str]]:
        """The recorded progress, and that of the old output; see `Sink.checkpoints`."""
        found = [self.progress] if self.progress.before is None else [self.progress, self.progress.before]
        return sorted((each.rows, each.prompts_sha256) for each in found if each.rows)

    def kept(self) -> Iterator[Result]:
        """Yield the results of the old output that the new file takes over."""
        before = self.progress.before
        if before is None or not self._path.exists():
            return iter(())
        return filter(self._is_kept, self._known(before.bytes if self._format.appends else None))

    def _known(self, size: int | None) -> Iterator[Result]:
        """Yield the recorded results of the output.

        Raises:
            OptionError: Another program has changed it, so that the rows are not in order.
        """
        last = -1
        for result in self._format.read(self._path, size):
            if result.index <= last:
                raise OptionError(
                    f"{str(self._path)!r} has the row with index {result.index} after the one with index {last}",
                    why="another program has changed it",
                    fix="sort the rows by index, each once; or choose another --output",
                )
            last = result.index
            yield result

    def _is_kept(self, result: Result) -> bool:
        return result.value is not None and (self._accepts is None or self._accepts(result.value))

    def checked(self, results: list[Result]) -> list[Result]:
        """Return results that the format can write."""
        return self._format.checked(results)

    def open(self, *, more: bool) -> bool:
        """Begin to write, unless the output is complete and holds a value for each row; return whether it is not.

        Args:
            more: Whether the input has rows after the recorded ones.

        Raises:
            OptionError: The file cannot be written.
        """
        progress = self.progress
        wrong = progress.failed or self._has_refused or self._is_short()
        if not (more or wrong or progress.beside or not progress.complete):
            if progress != self._as_read:
                self._record.write(progress)
            self._beside.unlink(missing_ok=True)  # the last run was killed before this step
            return False
        again = wrong or not self._format.appends
        try:
            if not progress.beside and not self._is_new and again:
                self.progress = fresh(progress)
            # Create the file before the record mentions it: a record that mentions a missing file means that it was
            # moved.
            self._journal = Journal(self._beside if self.progress.beside else self._path, self.progress.bytes)
            self._record.write(self.progress)
            if self._failures_path is not None:
                self._failures = Journal(self._failures_path, self.progress.failures_bytes)
        except OSError as error:
            self.close(complete=False)
            raise OptionError(f"cannot write {str(self._path)!r}: {error}", fix="choose another --output") from error
        return True

    def write(self, window: Window) -> None:
        """Append a window, then record it.

        Raises:
            SchemagenError: The window cannot be written; earlier windows are intact.
        """
        assert self._journal is not None, "the output is open"
        try:
            self._journal.append(self._format.encode(window.results, first=self._journal.size == 0))
            if self._failures is not None:
                self._failures.append(window.failures)
            failures = self._failures.size if self._failures is not None else 0
            progress = replace(after(self.progress, window), bytes=self._journal.size, failures_bytes=failures)
            self._record.write(progress)
        except OSError as error:
            raise self._unwritten(error) from error
        self.progress = progress

    def _unwritten(self, error: OSError) -> SchemagenError:
        rows = self.progress.rows
        return unwritten(
            repr(str(self._path)), error, fix=f"make room; --resume goes on after the {rows} rows that are there"
        )

    def close(self, *, complete: bool) -> None:
        """Close the files; if the input was read to its end, a file beside the output replaces it.

        Raises:
            SchemagenError: A file cannot be written.
        """
        for journal in (self._journal, self._failures):
            if journal is not None:
                with suppress(OSError):  # data that could not be written before, and is not recorded
                    journal.close()
        if not complete:
            return
        try:
            self._complete()
        except OSError as error:
            raise self._unwritten(error) from error

    def _complete(self) -> None:
        """Put the output in its place, and record that it is complete."""
        done = replace(self.progress, complete=True, beside=False, before=None)
        if not self._format.appends:
            made = self._path.with_name(self._path.name + ".tmp")
            self._format.finish(self._beside, made, self.progress.ids)
            made.replace(self._path)
            self._record.write(done)
            self._beside.unlink(missing_ok=True)
        else:
            if self.progress.beside:
                self._beside.replace(self._path)
            self._record.write(done)
        self.progress = done

    def _is_short(self) -> bool:
        """Tell whether the file is shorter than recorded, so that another program has changed it."""
        file = self._beside if self.progress.beside else self._path
        counted = self.progress.bytes if self._format.appends or self.progress.beside else 0
        return file.exists() and file.stat().st_size < counted


def unwritten(name: str, error: OSError, *, fix: str) -> SchemagenError:
    """Return the error of an output that could not be written to its end."""
    return SchemagenError(
        f"cannot write to {name}: {error.strerror or error}",
        why="rows that were written before are intact",
        fix=fix,
        code="cannot-write",
    )


def after(before: Progress, window: Window) -> Progress:
    """Return the progress after a window was added, except for the sizes of files."""
    return replace(
        before,
        rows=before.rows + len(window.results),
        prompts_sha256=window.prompts_sha256,
        failed=before.failed + sum(result.value is None for result in window.results),
        ids=tuple(sorted({*before.ids, *(_kind_of(result.id) for result in window.results)} - {""})),
    )


def _lock(stream: BinaryIO) -> None:
    """Keep other processes from writing a file; the lock ends with the process.

    Raises:
        OSError: Another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:  # on Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OSError(error.errno, "another process is writing it (several processes need --shard auto)") from error


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _kind_of(name: object) -> str:
    """Return the kind of an id: "int", "str", "other", or an empty text for None."""
    if name is None:
        return ""
    fits = isinstance(name, int) and not isinstance(name, bool) and -(2**63) <= name < 2**63
    return "int" if fits else "str" if isinstance(name, str) else "other"

"""A folder of grammars that were compiled before, by what they were compiled from.

All numbers are unsigned and little-endian::

    magic           16 bytes, the last is the version of the format
    key             32 bytes: what the grammar was compiled from
    checksum        32 bytes: SHA-256 of what follows
    program         the calls that make the grammar, see `schemagen.engine.native.program`

The key is a hash of the schema as it was given (the order of keys matters), the documents it refers to, the options and limits,
and of everything else that decides what a schema means: the source of the front end, the compiled core, the Unicode tables of
Python, and those of pydantic-core where a pattern is in Rust's dialect. The vocabulary is no part of it, because a program is
about bytes: one file serves every model.

A file of another version, for another schema or damaged is a miss, and written again. Nothing is executed while reading,
unlike with pickle; but who can write to the folder decides what the grammars in it allow.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import unicodedata
import warnings
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.grammar.schema_values import frames_inside
from schemagen.vocabulary import storage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.engine.options import Options

MAGIC = b"schemagenrules\0\x01"
SUFFIX = ".grammar"
_HEAD = len(MAGIC) + 2 * storage.KEY_BYTES
#: What decides which program a schema becomes.
_SOURCES = ("schemagen.regex", "schemagen.schema", "schemagen.engine")


@dataclass(frozen=True, slots=True)
class GrammarEntry:
    """The place of one grammar in a folder.

    Attributes:
        path: Its file, which may not exist.
        key: What it is compiled from.
    """

    path: str
    key: bytes

    def read(self) -> bytes | None:
        """Return the program; None if there is none, or if the file is anything else than was written for this key."""
        try:
            with open(self.path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes as long as the rest of it
                data = file.readall()
        except OSError:
            return None
        program = data[_HEAD:]
        return program if data[:_HEAD] == self._head(program) else None

    def write(self, program: bytes) -> None:
        """Keep a program; a folder that cannot be written is a warning."""
        path = Path(self.path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            storage.replace_file(path, self._head(program) + program)
        except OSError as error:
            # The same text every time, so that Python shows it once.
            reason = f"{type(error).__name__}: {error.strerror}"
            told = f"grammars are not cached in {path.parent}: {reason}"
            warnings.warn(told, RuntimeWarning, stacklevel=frames_inside())

    def _head(self, program: bytes) -> bytes:
        return MAGIC + self.key + hashlib.sha256(program).digest()


def entry_of(folder: str, source: Any, options: Options, *reading: Any) -> GrammarEntry | None:
    """Return the place of a grammar; None if its source cannot be known by its bytes.

    Args:
        folder: Need not exist.
        source: What is compiled, as plain values (dicts, lists, texts, numbers).
        options: Of the compilation.
        reading: How the source is read: kind, dialect, strictness; equal `repr`, equal reading.
    """
    try:
        # Unlike JSON, marshal tells 1 from 1.0 and "1"; version 2 has no references, so equal values are equal bytes.
        spelled = marshal.dumps(source, 2)
    except ValueError:
        return None
    key = hashlib.sha256(_circumstances(options, reading) + spelled).digest()
    return GrammarEntry(f"{folder}{os.sep}{key.hex()[:32]}{SUFFIX}", key)


@lru_cache(maxsize=64)
def _circumstances(options: Options, reading: tuple[Any, ...]) -> bytes:
    """Return a hash of everything but the source."""
    return hashlib.sha256(_makers() + repr((tuple(options), reading)).encode()).digest()


@lru_cache(maxsize=1)
def _makers() -> bytes:
    """Return a hash of what turns schemas into programs: what another version made is not asked for again."""
    from schemagen import _core

    digest = hashlib.sha256(repr((sys.version_info[:2], unicodedata.unidata_version)).encode())
    digest.update(Path(_core.__file__).read_bytes())
    for package in _SOURCES:
        for file in _modules(resources.files(package)):
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.digest()


def _modules(folder: Any) -> Iterator[Any]:  # Traversable: its module depends on the version of Python
    """Yield the modules of a package and of those inside it, by name."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.is_dir():
            yield from _modules(file)
        elif file.name.endswith(".py"):
            yield file

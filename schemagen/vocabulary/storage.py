"""Vocabularies as files: one flat record, checked as a whole before anything in it is believed.

All numbers are unsigned and little-endian::

    magic           16 bytes, the last is the version of the format
    key             32 bytes: what the vocabulary was read from (see `cache`), zeros if it was not given
    fingerprint     32 bytes: SHA-256 of the rest of the file, `Vocabulary.fingerprint`
    counts          4 numbers of 32 bits: tokens T, EOS ids E, special ids S, and 1 if the tokenizer adds a leading space, + 2
                    if tokens have names
    ids             E + S numbers of 32 bits
    lengths         T numbers of 32 bits: bytes of each token
    bytes           of all tokens, joined
    names           if there are any: their number N, then N ids and N lengths of 32 bits, and the names in UTF-8, joined

The fingerprint is the checksum: a file whose bytes are not those that were written cannot have it, and a vocabulary that
was read needs no second hash to be compared. Nothing is executed while reading, unlike with pickle.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import sys
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAGIC = b"schemagenvocab\0\x02"
KEY_BYTES = 32
NO_KEY = bytes(KEY_BYTES)
_FINGERPRINT_VERSION = b"schemagen vocabulary 1\0"
_COUNTS = struct.Struct("<4I")
_NUMBER = struct.Struct("<I")
_PREFIX_SPACE, _NAMES = 1, 2
_BODY = len(MAGIC) + 2 * KEY_BYTES


@dataclass(frozen=True, slots=True)
class Record:
    """What a file holds.

    Attributes:
        tokens: Bytes of each id.
        eos_token_ids: Ascending.
        special_token_ids: EOS ids included.
        token_names: By id.
        adds_prefix_space: See `Vocabulary`.
        fingerprint: SHA-256, hexadecimal.
    """

    tokens: tuple[bytes, ...]
    eos_token_ids: tuple[int, ...]
    special_token_ids: frozenset[int]
    token_names: dict[int, str]
    adds_prefix_space: bool
    fingerprint: str


def pack(
    tokens: tuple[bytes, ...],
    eos_token_ids: tuple[int, ...],
    special_token_ids: frozenset[int],
    token_names: Mapping[int, str],
    *,
    prefix_space: bool,
) -> bytes:
    """Return counts, ids, lengths, bytes and names: the part of a file that the fingerprint is of."""
    special = sorted(special_token_ids)
    flags = _PREFIX_SPACE * prefix_space | _NAMES * bool(token_names)
    numbers = (len(tokens), len(eos_token_ids), len(special), flags, *eos_token_ids, *special)
    return _joined(numbers, tokens) + (_packed_names(token_names) if token_names else b"")


def _packed_names(token_names: Mapping[int, str]) -> bytes:
    named = sorted(token_names)
    names = [token_names[token_id].encode("utf-8", "surrogatepass") for token_id in named]
    return _joined((len(named), *named), names)


def _joined(numbers: Sequence[int], pieces: Sequence[bytes]) -> bytes:
    """Return numbers, then the lengths of pieces, then these."""
    numbers = (*numbers, *map(len, pieces))
    return struct.pack(f"<{len(numbers)}I", *numbers) + b"".join(pieces)


def fingerprint_of(packed: bytes | memoryview) -> str:
    """Return the fingerprint of what `pack` made; the same in every process."""
    digest = hashlib.sha256(_FINGERPRINT_VERSION)
    digest.update(packed)
    return digest.hexdigest()


def to_bytes(packed: bytes, fingerprint: str, key: bytes = NO_KEY) -> bytes:
    """Return the content of a file."""
    return b"".join((MAGIC, key, bytes.fromhex(fingerprint), packed))


def from_bytes(data: bytes, key: bytes | None = None) -> Record:
    """Return what a file holds.

    With a key it must have been written for this key.

    Raises:
        ValueError: It is no such file, of another version, damaged, or written for something else.
    """
    if not data.startswith(MAGIC[:-1]):
        raise ValueError("it is not a vocabulary file of schemagen")
    if not data.startswith(MAGIC):
        raise ValueError(f"its format has version {data[len(MAGIC) - 1 : len(MAGIC)].hex()}, not {MAGIC[-1:].hex()}")
    stored_key, stored_fingerprint = data[len(MAGIC) :][:KEY_BYTES], data[_BODY - KEY_BYTES : _BODY]
    if key is not None and stored_key != key:
        raise ValueError("it was written for another tokenizer")
    body = memoryview(data)[_BODY:]
    fingerprint = fingerprint_of(body)
    if bytes.fromhex(fingerprint) != stored_fingerprint:
        raise ValueError("its checksum is wrong: it is damaged or incomplete")
    return _unpack(body, fingerprint)


def _unpack(body: memoryview, fingerprint: str) -> Record:
    """Read the output of `pack`; the checksum is right already, so this only refuses data that was never packed."""
    if len(body) < _COUNTS.size:
        raise ValueError("it is too short")
    size, eos_count, special_count, flags = _COUNTS.unpack_from(body)
    ids, tokens, rest = _split(body[_COUNTS.size :], eos_count + special_count, size)
    named, names = array("I"), list[bytes]()
    if flags & _NAMES and len(rest) >= _NUMBER.size:
        (count,) = _NUMBER.unpack_from(rest)
        named, names, rest = _split(rest[_NUMBER.size :], count, count)
    is_named = bool(flags & _NAMES) == bool(named)
    if rest or not is_named or flags > (_PREFIX_SPACE | _NAMES) or max((*ids, *named), default=-1) >= size:
        raise _contradiction()
    eos, special = tuple(ids[:eos_count]), frozenset(ids[eos_count:])
    token_names = dict(zip(named, [name.decode("utf-8", "surrogatepass") for name in names], strict=True))
    return Record(tuple(tokens), eos, special, token_names, bool(flags & _PREFIX_SPACE), fingerprint)


def _split(data: memoryview, id_count: int, count: int) -> tuple[array[int], list[bytes], memoryview]:
    start = 4 * (id_count + count)
    if len(data) < start:
        raise _contradiction()
    numbers = array("I")
    numbers.frombytes(data[:start])
    if sys.byteorder == "big":
        numbers.byteswap()
    ends = list(accumulate(numbers[id_count:]))
    end = start + (ends[-1] if ends else 0)
    if len(data) < end:
        raise _contradiction()
    blob = bytes(data[start:end])
    return numbers[:id_count], [blob[a:b] for a, b in zip([0, *ends], ends, strict=False)], data[end:]


def _contradiction() -> ValueError:
    return ValueError("its counts contradict each other")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that others see the old one or the new one, whole, also if several processes write at once."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise

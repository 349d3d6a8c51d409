"""From the pieces that a tokenizer stores to the bytes that they decode to.

A constraint is over text, a model writes ids, and the decoder of the tokenizer translates between them. It has one of
a few shapes, read here from the decoder's own description (never from the name of the tokenizer's class):

- byte-level BPE (Radford et al. 2019, GPT-2): each byte is written as one printable character of a fixed table;
- SentencePiece (Kudo & Richardson 2018): ``▁`` is a space, and with byte fallback ``<0x0A>`` is one byte;
- plain text: the piece is the text.

All three map every piece to *fixed* bytes, so that the bytes of a text are the bytes of its tokens, joined. A decoder
that looks at the neighbours of a piece (WordPiece and its ``##``, BPE with ``</w>``, CTC) has no such map and is
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SPACE_MARK = "▁"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
#: Steps that only join pieces, or that touch the first character of the whole text (the dummy space).
_JOINING_STEPS = frozenset({"Fuse", "Strip"})
_FROM_TOKENS = "build it with `Vocabulary.from_tokens([...], eos_token_ids=[...])` if you know the bytes of each token"


@dataclass(frozen=True, slots=True)
class PieceDecoder:
    """How pieces become bytes.

    Attributes:
        kind: ``"byte-level"``, ``"sentencepiece"``, ``"plain"`` or ``"bytes"``.
        replacements: Literal text replaced in each piece, in order.
        byte_fallback: Whether ``<0xNN>`` is a byte.
    """

    kind: str
    replacements: tuple[tuple[str, str], ...] = ()
    byte_fallback: bool = False

    def decode_all(self, pieces: Iterable[str]) -> list[bytes]:
        """Return the bytes of each piece."""
        if self.kind == "byte-level":
            return _byte_level(pieces)
        if self.kind == "bytes":
            return [piece.encode("latin-1") for piece in pieces]
        decoded = []
        for piece in pieces:
            text = piece
            for old, new in self.replacements:
                text = text.replace(old, new)
            if self.byte_fallback and (match := _BYTE_PIECE.fullmatch(text)):
                decoded.append(bytes.fromhex(match[1]))
            else:
                decoded.append(text.encode("utf-8", "surrogatepass"))
        return decoded


SENTENCEPIECE = PieceDecoder("sentencepiece", ((SPACE_MARK, " "),), byte_fallback=True)
BYTE_LEVEL = PieceDecoder("byte-level")
PLAIN = PieceDecoder("plain")
RAW_BYTES = PieceDecoder("bytes")


def byte_alphabet() -> dict[int, str]:
    """Return the table of byte-level BPE: byte -> the one character that stands for it in a piece.

    Printable latin-1 characters stand for themselves; the 68 others take the code points from U+0100 on, in the
    order of their bytes (Radford et al. 2019).
    """
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def _byte_level(pieces: Iterable[str]) -> list[bytes]:
    """Map the characters of each piece to bytes; a piece with a character outside the table is literal text.

    The literal reading of such pieces is what the decoders of `tokenizers` do too.
    """
    # Characters below U+0100 that stand for no byte must not slip through the latin-1 encoder: send them above it.
    table: dict[int, int] = dict.fromkeys(range(256), 0x1FFFF)
    table.update({ord(char): byte for byte, char in byte_alphabet().items()})

    def decode(piece: str) -> bytes:
        try:
            return piece.translate(table).encode("latin-1")
        except UnicodeEncodeError:
            return piece.encode("utf-8", "surrogatepass")

    return list(map(decode, pieces))


def from_decoder(steps: Sequence[Mapping[str, Any]], *, byte_level_input: bool) -> PieceDecoder:
    """Read a decoder described by `tokenizers`.

    Args:
        steps: The decoder as JSON objects, a ``Sequence`` already flattened; empty if the tokenizer has none.
        byte_level_input: Whether the normaliser or pre-tokenizer rewrites text in the byte-level alphabet.

    Raises:
        VocabularyError: A step has no fixed bytes for each token.
    """
    kinds = [str(step.get("type")) for step in steps]
    if "ByteLevel" in kinds or (not steps and byte_level_input):
        _refuse_others(kinds, frozenset({"ByteLevel"}) | _JOINING_STEPS)
        return BYTE_LEVEL
    replacements = tuple(pair for step in steps if (pair := _replacement(step)) is not None)
    _refuse_others(kinds, frozenset({"Metaspace", "Replace", "ByteFallback"}) | _JOINING_STEPS)
    kind = "sentencepiece" if replacements else "plain"
    return PieceDecoder(kind, replacements, byte_fallback="ByteFallback" in kinds)


def _replacement(step: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the literal replacement that a decoder step makes, or None if it makes none."""
    if step.get("type") == "Metaspace":
        return str(step.get("replacement", SPACE_MARK)), " "
    if step.get("type") != "Replace":
        return None
    pattern = step.get("pattern")
    if not isinstance(pattern, dict) or "String" not in pattern:
        raise VocabularyError(
            f"the tokenizer's decoder replaces {pattern!r}, which is not a literal string",
            why="what a token decodes to could depend on its neighbours, so it has no fixed bytes",
            fix=_FROM_TOKENS,
        )
    return str(pattern["String"]), str(step.get("content", ""))


def _refuse_others(kinds: Iterable[str], known: frozenset[str]) -> None:
    for kind in kinds:
        if kind not in known:
            raise VocabularyError(
                f"the tokenizer's decoder has a step of type {kind!r}, which does not give each token fixed bytes",
                why="a WordPiece-like decoder adds or drops characters depending on neighbouring tokens, "
                "so a mask over tokens cannot guarantee the decoded text",
                fix=f"use a model with a byte-level BPE or SentencePiece tokenizer, or {_FROM_TOKENS}",
            )

"""A tokenizer.json of byte-level BPE, read without the package tokenizers.

GPT-2, Llama 3, Qwen, SmolLM and others have such files. Each character of a piece is one byte there, by a fixed table,
and each byte is a piece, so a text can be encoded without merges: byte by byte. `FileTokenizer` has the methods of a
`tokenizers.Tokenizer` that `adapters` asks for, so that the file is read and checked as any other tokenizer.

Other kinds are refused: only their own encoder shows whether their tokens give a text back. So are files with anything that
this module does not know: the vocabulary of a file is that of `Vocabulary.from_tokenizer`, or none.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from schemagen.errors import VocabularyError
from schemagen.vocabulary.adapters import byte_decoder, steps_of
from schemagen.vocabulary.pieces import BYTE_LEVEL, byte_alphabet
from schemagen.vocabulary.roundtrip import PROBES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE = "tokenizer.json"
#: The settings of transformers beside it, which name the EOS token.
_SETTINGS = "tokenizer_config.json"
#: Steps that keep every byte of a normalised text.
_HARMLESS = frozenset({"ByteLevel", "Digits", "NFC", "Split"})
_OTHER_WAY = "install tokenizers, and use Vocabulary.from_tokenizer(tokenizers.Tokenizer.from_file(path))"
#: The flags of an added token.
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
#: The texts of the self-check, also after a space that the tokenizer may put there.
_PROBES = tuple(f" {probe}".encode() for probe in PROBES)


class _Part(dict[str, Any]):
    """A normaliser, pre-tokenizer or decoder, which describes itself in JSON."""

    def __getstate__(self) -> bytes:  # as those of tokenizers do
        return json.dumps(self).encode()


class FileTokenizer:
    """What a tokenizer.json says, with the methods of a `tokenizers.Tokenizer`.

    Args:
        path: The file, or the folder that it lies in.

    Raises:
        VocabularyError: It is no such file, or not one of byte-level BPE.
        OSError: It cannot be read.
    """

    truncation = padding = None

    def __init__(self, path: Path) -> None:
        self.path = path / _FILE if path.is_dir() else path
        with _reading(self.path, "a tokenizer", fix=f"pass the {_FILE} of a model, or {_OTHER_WAY}"):
            self._read(json.loads(self.path.read_text(encoding="utf-8")))
            self._check_kind()
            self._check_model()
            self._check_added()

    def _read(self, file: dict[str, Any]) -> None:
        self._model: dict[str, Any] = file["model"]
        self._pieces: dict[str, int] = {**self._model["vocab"]}
        self._by_id = {token_id: piece for piece, token_id in self._pieces.items()}
        self._listed = [SimpleNamespace(**each) for each in file.get("added_tokens", ())]
        self._added = {token.id: token for token in self._listed}
        self.model = SimpleNamespace(unk_token=self._model.get("unk_token"))
        parts = (file.get(name) for name in ("normalizer", "pre_tokenizer", "decoder"))
        self.normalizer, self.pre_tokenizer, self.decoder = (None if part is None else _Part(**part) for part in parts)
        self._bytes = {byte: self._pieces[piece] for byte, piece in byte_alphabet().items() if piece in self._pieces}

    def _check_kind(self) -> None:
        kind = str(self._model.get("type", "BPE"))
        splits = steps_of(self.pre_tokenizer, "pre-tokenizer")
        kinds = [str(step.get("type")) for step in (*steps_of(self.normalizer, "normaliser"), *splits)]
        # After a split, each piece would get a space.
        changes = any(step.get("behavior") == "Removed" for step in splits)
        changes |= any(step.get("add_prefix_space") for step in splits[1:])
        if kind != "BPE" or kinds.count("ByteLevel") != 1 or not _HARMLESS.issuperset(kinds) or changes:
            raise VocabularyError(
                f"{self.path} is a tokenizer of another kind than byte-level BPE: {kind}, {', '.join(kinds)}",
                why="only its own encoder shows whether its tokens give a text back",
                fix=_OTHER_WAY,
            )
        _need(byte_decoder(self) == BYTE_LEVEL, "its decoder is not that of byte-level BPE")
        self._has_prefix_space = bool(splits and splits[0]["type"] == "ByteLevel" and splits[0].get("add_prefix_space"))

    def _check_model(self) -> None:
        """Refuse pieces whose ids have gaps, merges of pieces that are none, and marks at the ends of words."""
        "".join(self._pieces).encode()  # raises where a piece is half a character of UTF-16
        ids = self._pieces.values()
        _need(
            set(map(type, ids)) == {int} and sorted(ids) == list(range(len(ids))), "its ids are not 0, 1, 2 and so on"
        )
        for name in ("end_of_word_suffix", "continuing_subword_prefix"):
            _need(not self._model.get(name), f"its {name} is not empty")
        _need(isinstance(self.model.unk_token, str | None), "its unk_token is not a text")
        known = self._pieces.keys()
        for left, right in (each.split(" ") if isinstance(each, str) else each for each in self._model["merges"]):
            if left not in known or right not in known or left + right not in known:
                raise ValueError(f"it merges {left!r} and {right!r}, and one of them or both together are no token")

    def _check_added(self) -> None:
        """Refuse added tokens to which tokenizers gives another id, and those that could change a text of the self-check."""
        ids = dict(self._pieces)
        seen = set()
        texts = [token.content for token in self._listed]
        for token, text, decoded in zip(self._listed, texts, BYTE_LEVEL.decode_all(texts), strict=True):
            name = f"its added token {text!r}"
            _need(
                all(type(getattr(token, flag)) is bool for flag in _FLAGS),
                f"{name} has a flag that is not true or false",
            )
            _need(text not in seen and text != "", f"{name} is empty or there twice")
            expected = ids.setdefault(text, len(ids))
            _need(
                type(token.id) is int and token.id == expected, f"{name} has the id {token.id!r} instead of {expected}"
            )
            seen.add(text)
            literal = normalize("NFC", text).encode()
            plain = literal == decoded and not (token.special or token.lstrip or token.rstrip or self._has_prefix_space)
            found = any(form in probe for form in (literal, decoded) for probe in _PROBES)
            _need(plain or not found, f"{name} could be found in an ordinary text, which would not be given back")

    def eos_token_ids(self) -> set[int]:
        """Return the id of the EOS token that the settings of transformers beside the file name, if there are any."""
        path = self.path.with_name(_SETTINGS)
        if not path.exists():
            return set()
        with _reading(path, "the settings of a tokenizer", fix="correct the file, or pass eos_token_ids"):
            named = json.loads(path.read_text(encoding="utf-8")).get("eos_token")
        content = named.get("content") if isinstance(named, dict) else named
        return {token_id for token_id, token in self._added.items() if token.content == content}

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the pieces with their ids."""
        added = {token.content: token_id for token_id, token in self._added.items()} if with_added_tokens else {}
        return {**self._pieces, **added}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return how many pieces there are."""
        return len(self.get_vocab(with_added_tokens))

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the added tokens by id, with ``content`` and ``special``."""
        return self._added

    def id_to_token(self, token_id: int) -> str | None:
        """Return the piece of an id."""
        added = self._added.get(token_id)
        return self._by_id.get(token_id) if added is None else added.content

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a piece."""
        return self.get_vocab().get(token)

    def encode(self, text: str, *, add_special_tokens: bool = False) -> Any:  # noqa: ARG002 - it adds none
        """Return the ids of a text, a token for each byte, without the bytes that are no token."""
        prefix = " " if self._has_prefix_space and not text.startswith(" ") else ""
        return SimpleNamespace(ids=[self._bytes[byte] for byte in (prefix + text).encode() if byte in self._bytes])


@contextmanager
def _reading(path: Path, what: str, fix: str) -> Iterator[None]:
    """Turn the errors that a malformed file causes into a `VocabularyError`."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        raise VocabularyError(
            f"{path} cannot be read as {what}: {reason}",
            why="it is not a file as tokenizers and transformers write it for byte-level BPE",
            fix=fix,
        ) from error


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)

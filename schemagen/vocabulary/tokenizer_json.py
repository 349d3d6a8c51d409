"""A tokenizer.json of byte-level BPE, read without the package tokenizers.

GPT-2, Llama 3, Qwen, SmolLM and others have such files. Each character of a piece is one byte there, by a fixed table,
and each byte is a piece, so a text can be encoded without merges: byte by byte. `FileTokenizer` has the methods of a
`tokenizers.Tokenizer` that `adapters` asks for, so that the file is read and checked as any other tokenizer.

Other kinds are refused: only their own encoder shows whether their tokens give a text back.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from schemagen.errors import VocabularyError
from schemagen.vocabulary.adapters import steps_of
from schemagen.vocabulary.pieces import byte_alphabet

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "tokenizer.json"
#: The settings of transformers beside it, which name the EOS token.
_SETTINGS = "tokenizer_config.json"
#: Steps that keep every byte of a normalised text.
_HARMLESS = frozenset({"ByteLevel", "Digits", "NFC", "Split"})


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
        try:
            self._read(json.loads(self.path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise VocabularyError(
                f"{self.path} cannot be read as a tokenizer: {type(error).__name__}: {error}",
                why="it is not a tokenizer.json as tokenizers writes it",
                fix="pass the tokenizer.json of a model",
            ) from error
        self._check_kind()

    def _read(self, file: dict[str, Any]) -> None:
        self._kind: str = str(file["model"].get("type", "BPE"))
        self._pieces: dict[str, int] = dict(file["model"]["vocab"])
        self._by_id = {token_id: piece for piece, token_id in self._pieces.items()}
        self._added = {each["id"]: SimpleNamespace(**each) for each in file.get("added_tokens", ())}
        self.model = SimpleNamespace(unk_token=file["model"].get("unk_token"))
        parts = (file.get(name) for name in ("normalizer", "pre_tokenizer", "decoder"))
        self.normalizer, self.pre_tokenizer, self.decoder = (None if part is None else _Part(part) for part in parts)
        self._bytes = {byte: self._pieces[piece] for byte, piece in byte_alphabet().items() if piece in self._pieces}

    def _check_kind(self) -> None:
        splits = steps_of(self.pre_tokenizer, "pre-tokenizer")
        kinds = {str(step.get("type")) for step in (*steps_of(self.normalizer, "normaliser"), *splits)}
        # After a split, each piece would get a space.
        changes = any(step.get("behavior") == "Removed" for step in splits)
        changes |= any(step.get("add_prefix_space") for step in splits[1:])
        if self._kind != "BPE" or "ByteLevel" not in kinds or kinds - _HARMLESS or changes:
            raise VocabularyError(
                f"{self.path} is a tokenizer of another kind than byte-level BPE: {self._kind}, {', '.join(kinds)}",
                why="only its own encoder shows whether its tokens give a text back",
                fix="install tokenizers, and use Vocabulary.from_tokenizer(tokenizers.Tokenizer.from_file(path))",
            )
        self._has_prefix_space = bool(splits and splits[0].get("add_prefix_space"))

    def eos_token_ids(self) -> set[int]:
        """Return the id of the EOS token that the settings of transformers beside the file name, if there are any."""
        try:
            named = json.loads(self.path.with_name(_SETTINGS).read_text(encoding="utf-8")).get("eos_token")
        except FileNotFoundError:
            return set()
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
        """Return the ids of a text, a token for each byte; none if a byte is no token."""
        prefix = " " if self._has_prefix_space and not text.startswith(" ") else ""
        ids = [self._bytes.get(byte, -1) for byte in (prefix + text).encode()]
        return SimpleNamespace(ids=[] if -1 in ids else ids)

"""A folder of vocabularies that were read before, by their sources.

Reading the pieces out of a tokenizer is what takes the time, so the key of an entry must not need them. It is a hash of

- the file that the tokenizer was loaded from (``tokenizer.json``, in a folder or among the downloads of the hub),
- what can be changed on a tokenizer after that: decoder, normaliser, pre-tokenizer, added and special tokens, length,
- the arguments of `Vocabulary.from_tokenizer`, and the source of the modules that read tokenizers.

A tokenizer may still be another one than its file says: the file was replaced, or the model was trained anew. So an entry
is only written if the file holds the very pieces of the tokenizer, which makes every entry true of its file; and it is
only believed if about `SAMPLE` of its tokens, spread over all ids, are those of the tokenizer at hand.

A tokenizer without such a file (made in memory, written in Python) has no key, and is read afresh every time.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_folder
from schemagen.vocabulary.adapters import byte_decoder, parts_of, steps_of
from schemagen.vocabulary.storage import Record, from_bytes, replace_file, to_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Sequence

SAMPLE = 1024
_FILE = "tokenizer.json"
_READERS = ("adapters.py", "pieces.py", "roundtrip.py", "vocabulary.py")


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The place of one vocabulary in a folder.

    Attributes:
        path: Its file, which may not exist.
        key: Its source.
        source: Content of the tokenizer's file.
        backend: The `tokenizers.Tokenizer`.
    """

    path: Path
    key: bytes
    source: bytes
    backend: Any

    def read(self) -> Record | None:
        """Return the vocabulary; None if there is none, if its file is damaged, or if it is not that of the tokenizer."""
        try:
            record = from_bytes(self.path.read_bytes(), self.key)
        except (OSError, ValueError):
            return None
        return record if _is_of(record.tokens, record.special_token_ids, self.backend) else None

    def write(self, packed: bytes, fingerprint: str) -> None:
        """Keep a vocabulary, if the tokenizer is what its file says; a folder that cannot be written is a warning."""
        if _pieces_in(self.source) != self.backend.get_vocab(with_added_tokens=False):
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, to_bytes(packed, fingerprint, self.key))
        except OSError as error:
            warnings.warn(f"the vocabulary was not cached: {error}", RuntimeWarning, stacklevel=4)


def entry_of(
    folder: str | os.PathLike[str], tokenizer: Any, vocab_size: int | None, eos_token_ids: Collection[int] | None
) -> CacheEntry | None:
    """Return the place of a tokenizer's vocabulary; None if the tokenizer has no file to be known by.

    Raises:
        VocabularyError: It is no tokenizer.
        OptionError: The folder is no path.
    """
    check_folder(folder)
    backend, wrapper = parts_of(tokenizer)
    source = None if backend is None or wrapper is None else _source_of(wrapper)
    if source is None:
        return None
    arguments = [vocab_size, None if eos_token_ids is None else sorted(eos_token_ids)]
    digest = hashlib.sha256(_readers())
    digest.update(hashlib.sha256(source).digest())
    digest.update(json.dumps([_state(backend, wrapper), arguments]).encode())
    path = Path(folder).expanduser() / f"{digest.hexdigest()[:32]}.vocabulary"
    return CacheEntry(path, digest.digest(), source, backend)


def _state(backend: Any, wrapper: Any) -> list[Any]:
    """Return what a program may have changed since the tokenizer was loaded, as JSON."""
    added = {i: [token.content, token.special] for i, token in backend.get_added_tokens_decoder().items()}
    return [
        steps_of(backend.decoder, "decoder"),
        steps_of(backend.normalizer, "normaliser"),
        steps_of(backend.pre_tokenizer, "pre-tokenizer"),
        sorted(added.items()),
        sorted(wrapper.all_special_ids),
        [wrapper.unk_token_id, wrapper.eos_token_id, len(wrapper)],
    ]


def _source_of(wrapper: Any) -> bytes | None:
    """Return the content of the file that a transformers tokenizer was loaded from; nothing is downloaded."""
    name = str(getattr(wrapper, "name_or_path", "") or "")
    if not name:
        return None
    try:
        if Path(name).is_dir():
            return Path(name, _FILE).read_bytes()
        from transformers.utils.hub import cached_file

        path = cached_file(name, _FILE, local_files_only=True)
        return None if path is None else Path(path).read_bytes()
    except OSError:
        return None


def _pieces_in(source: bytes) -> dict[str, int] | None:
    """Return the pieces that a tokenizer.json holds, added tokens apart; None if it is written in another way."""
    try:
        pieces = json.loads(source)["model"]["vocab"]
    except (ValueError, KeyError, TypeError):
        return None
    # A Unigram model is a list of pieces with their scores.
    return pieces if isinstance(pieces, dict) else {piece: i for i, (piece, _) in enumerate(pieces)}


def _is_of(tokens: Sequence[bytes], special_ids: Collection[int], backend: Any) -> bool:
    model, skipped = backend.model, {*special_ids, *backend.get_added_tokens_decoder()}
    step = max(len(tokens) // SAMPLE, 1)
    ids = [i for i in range(0, len(tokens), step) if i not in skipped]
    # No piece is no text, as the empty piece is.
    pieces = [model.id_to_token(i) or "" for i in ids]
    return byte_decoder(backend).decode_all(pieces) == [tokens[i] for i in ids]


@lru_cache(maxsize=1)
def _readers() -> bytes:
    """Return a hash of the modules that read tokenizers: what another version of them read is not asked for again."""
    digest = hashlib.sha256()
    for name in _READERS:
        digest.update(resources.files("schemagen.vocabulary").joinpath(name).read_bytes())
    return digest.digest()

"""The vocabulary of a model: token id -> bytes, end-of-sequence ids, and the width of its logits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from schemagen.checks import check_flag, kind_of
from schemagen.errors import ModelWarning, VocabularyError
from schemagen.threads.forking import long_lock, without_property_locks
from schemagen.vocabulary.adapters import as_ids, read_tokenizer, text_pieces
from schemagen.vocabulary.cache import entry_of
from schemagen.vocabulary.marks import is_marked, marked_tokens
from schemagen.vocabulary.roundtrip import check_round_trip
from schemagen.vocabulary.storage import Record, fingerprint_of, from_bytes, pack, replace_file, to_bytes
from schemagen.vocabulary.tokenizer_json import FileTokenizer

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

#: Of one vocabulary, for grammars that name tokens: each has a trie of its own.
MOST_MARKED = 4

#: Of all vocabularies: tables are built one after the other, each of them once.
_building = long_lock()


@without_property_locks
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Vocabulary:
    """The bytes of every token id of a model; immutable, hashable, picklable, equal by `fingerprint`.

    Build it with `from_tokenizer`, `from_tokenizer_json`, `for_model`, `from_tokens` or `byte_vocabulary`; `save` and
    `load` keep it in a file.

    Invariant: what `__init__` says of its arguments; `_unchecked` is for what was one already, and for `marked`.

    Attributes:
        tokens: Bytes of each id, as many as the logits are wide. ``b""`` is a token that no text contains (special
            tokens, EOS, holes, padding of the embedding matrix): it is always masked, EOS at the end of a text apart, and where
            a grammar names it.
        eos_token_ids: Ids that end a sequence, ascending.
        special_token_ids: Ids that are no text, EOS ids included.
        adds_prefix_space: Whether the tokenizer puts a space before a text it encodes (SentencePiece).
        token_names: What special tokens and tokens that were added to a vocabulary are called, by id: ``<|python_tag|>``.
            Grammars can name them.
    """

    tokens: tuple[bytes, ...]
    eos_token_ids: tuple[int, ...]
    special_token_ids: frozenset[int]
    adds_prefix_space: bool
    token_names: Mapping[int, str]

    def __init__(
        self,
        tokens: Sequence[bytes | str | None],
        eos_token_ids: Iterable[int] | int,
        special_token_ids: Iterable[int] = (),
        adds_prefix_space: bool = False,
        token_names: Mapping[int, str] | None = None,
    ) -> None:
        """Check the parts, and clear the tokens that are no text.

        Raises:
            VocabularyError: As for `from_tokens`.
        """
        data = _checked_tokens(tokens)
        eos = tuple(sorted(_checked_ids("eos_token_ids", eos_token_ids)))
        special = _checked_ids("special_token_ids", special_token_ids).union(eos)
        names = _checked_names({} if token_names is None else token_names)
        prefix_space = check_flag("adds_prefix_space", adds_prefix_space)
        for token_id in (*special, *names):
            if not 0 <= token_id < len(data):
                kind = "EOS" if token_id in eos else "special" if token_id in special else "named"
                raise VocabularyError(
                    f"{kind} token id {token_id} is outside the vocabulary of {len(data)} ids",
                    why="the model has no logit for it",
                    fix="pass the width of the model's logits as `vocab_size`, or correct the id",
                )
        for token_id in special:
            data[token_id] = b""
        self._set(tuple(data), eos, special, prefix_space, names)

    def _set(self, *values: object) -> None:
        self.__dict__.update(zip(_FIELDS, values, strict=True))

    @classmethod
    def _unchecked(cls, *values: object) -> Vocabulary:
        made = cls.__new__(cls)
        made._set(*values)  # noqa: SLF001 - its own class
        return made

    @classmethod
    def from_tokenizer(
        cls,
        tokenizer: Any,
        vocab_size: int | None = None,
        *,
        eos_token_ids: Iterable[int] | int | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> Vocabulary:
        """Read the vocabulary of a tokenizer, and check it by a round trip of probe texts.

        Args:
            tokenizer: A transformers tokenizer (fast or slow) or processor, or a `tokenizers.Tokenizer`.
            vocab_size: Width of the model's logits; None: `len(tokenizer)`. It is often larger than the tokenizer.
            eos_token_ids: End-of-sequence ids besides the tokenizer's own, such as those of ``generation_config``.
                An explicit ``()`` allows a vocabulary without any.
            cache: A folder (``~`` is the home directory) to keep the vocabulary in, so that another process need not read it
                again. Entries are found by the tokenizer's file and state; one that is missing, damaged or of another
                version is written anew. A tokenizer without a ``tokenizer.json`` is always read. None keeps nothing.

        Raises:
            VocabularyError: The bytes of the tokens cannot be known, `vocab_size` is too small, or no EOS id is known.

        Warns:
            ModelWarning: One of `eos_token_ids` is an ordinary token of text, which no text can contain then.

        Cost: about 0.2 s for 128,000 tokens; 0.03 s if it is in the cache, 0.9 s when it is written to the cache.
        """
        eos = None if eos_token_ids is None else as_ids(eos_token_ids)
        _warn_of_text(tokenizer, eos or ())
        entry = None if cache is None else entry_of(cache, tokenizer, vocab_size, eos)
        record = None if entry is None else entry.read()
        if record is not None:
            return cls._from_record(record)
        vocabulary = cls._read(tokenizer, vocab_size, eos)
        if entry is not None:
            entry.write(vocabulary._packed(), vocabulary.fingerprint)  # noqa: SLF001 - its own class
        return vocabulary

    @classmethod
    def from_tokenizer_json(
        cls,
        path: str | os.PathLike[str],
        vocab_size: int | None = None,
        *,
        eos_token_ids: Iterable[int] | int | None = None,
    ) -> Vocabulary:
        """Read the vocabulary from a tokenizer.json alone; neither tokenizers nor transformers needs to be installed.

        Args:
            path: The file, or the folder that it lies in. Its kind must be byte-level BPE, as for GPT-2, Llama 3 and Qwen.
            vocab_size: As `from_tokenizer`.
            eos_token_ids: As `from_tokenizer`; None for the EOS token of a ``tokenizer_config.json`` beside the file.

        Raises:
            VocabularyError: As `from_tokenizer`; or the tokenizer is of another kind, or a file is malformed or has a part
                that this reader does not know.
            OSError: The file cannot be read.

        Cost: about 0.9 s for 128,000 tokens.
        """
        tokenizer = FileTokenizer(Path(path).expanduser())
        if eos_token_ids is None:
            eos_token_ids = tokenizer.eos_token_ids() or None
        return cls.from_tokenizer(tokenizer, vocab_size, eos_token_ids=eos_token_ids)

    @classmethod
    def _read(cls, tokenizer: Any, vocab_size: int | None, eos_token_ids: set[int] | None) -> Vocabulary:
        reading = read_tokenizer(tokenizer)
        tokens = [b""] * max(reading.length, 1 + max(reading.tokens, default=-1))
        for token_id, data in reading.tokens.items():
            tokens[token_id] = data
        adds_prefix_space = check_round_trip(
            tokens, reading.encode, unknown_ids=reading.unknown_ids, kind=reading.decoder.kind
        )
        eos = reading.eos_ids | (eos_token_ids or set())
        if not eos and eos_token_ids is None:
            raise VocabularyError(
                f"{type(tokenizer).__name__} names no end-of-sequence token",
                why="without one, a complete text could never end",
                fix="pass `eos_token_ids=[...]`, or `eos_token_ids=()` if your decoding loop stops by itself",
            )
        tokens = _fit(tokens, len(tokens) if vocab_size is None else vocab_size)
        special = {i for i in reading.special_ids if i < len(tokens)}
        names = {i: name for i, name in reading.names.items() if i < len(tokens)}
        return cls(tokens, eos, special, adds_prefix_space, names)

    @classmethod
    def for_model(cls, tokenizer: Any, model: Any, *, cache: str | os.PathLike[str] | None = None) -> Vocabulary:
        """Read the vocabulary of a transformers model: the width of its output, and every EOS id that it stops at.

        The EOS ids are those of ``model.generation_config``, ``model.config`` (its text part included) and the
        tokenizer, together.

        Args:
            tokenizer: The tokenizer of the model.
            model: A transformers model with a language-model head.
            cache: As `from_tokenizer`.

        Raises:
            VocabularyError: As `from_tokenizer`; or the model has no output embeddings.

        Warns:
            ModelWarning: As `from_tokenizer`, of an EOS id in a configuration of the model.
        """
        config = getattr(model, "config", None)
        sources = (getattr(model, "generation_config", None), config, getattr(config, "text_config", None))
        eos: set[int] = set()
        for source in sources:
            eos |= as_ids(_field(source, "eos_token_id"))
        return cls.from_tokenizer(tokenizer, _output_width(model), eos_token_ids=eos or None, cache=cache)

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | str | None],
        *,
        eos_token_ids: Iterable[int] | int,
        special_token_ids: Iterable[int] = (),
        token_names: Mapping[int, str] | None = None,
    ) -> Vocabulary:
        """Build a vocabulary from the bytes of each token, for tokenizers that `from_tokenizer` cannot read.

        Args:
            tokens: Bytes (or text, taken as UTF-8) of each id; None or empty for ids that are no text.
            eos_token_ids: End-of-sequence ids; their bytes are ignored. ``()`` is allowed.
            special_token_ids: Other ids that are no text; their bytes are ignored.
            token_names: By which grammars can name tokens, special or not: ``{128010: "<|python_tag|>"}``.

        Raises:
            VocabularyError: There are no tokens, one is neither bytes nor text, an id is no number or not one of theirs, or
                a name is no text.
        """
        return cls(tokens, eos_token_ids, special_token_ids, token_names=token_names)

    @classmethod
    def byte_vocabulary(cls) -> Vocabulary:
        """Return the vocabulary of 257 tokens: ids 0 to 255 are the bytes, 256 is EOS."""
        return cls.from_tokens([*(bytes([i]) for i in range(256)), None], eos_token_ids=(256,))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Read a vocabulary that `save` wrote.

        Args:
            path: A file.

        Raises:
            VocabularyError: It is no such file, of another version, or damaged.
            OSError: It cannot be read.

        Cost: about 20 ms for 128,000 tokens.
        """
        try:
            return cls._from_record(from_bytes(Path(path).expanduser().read_bytes()))
        except ValueError as error:
            raise VocabularyError(
                f"{path} cannot be read as a vocabulary: {error}",
                fix="write it again with `Vocabulary.save`",
            ) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary to a file, at once: others see the old file or the new one, never a part.

        Args:
            path: A file; replaced if it is there. The format is versioned and checksummed, without pickle.

        Raises:
            OSError: It cannot be written.
        """
        replace_file(Path(path).expanduser(), to_bytes(self._packed(), self.fingerprint))

    @classmethod
    def _from_record(cls, record: Record) -> Vocabulary:
        of_ids = record.eos_token_ids, record.special_token_ids
        found = cls._unchecked(record.tokens, *of_ids, record.adds_prefix_space, record.token_names)
        found.__dict__["fingerprint"] = record.fingerprint
        return found

    def with_eos(self, eos_token_ids: Iterable[int] | int) -> Vocabulary:
        """Return this vocabulary with more EOS ids besides its own, such as the stop tokens of one request.

        Args:
            eos_token_ids: The ids; their bytes are ignored, so that no text contains them.

        Raises:
            VocabularyError: An id is not one of its tokens.

        Cost: O(V); tables of its own are built when a grammar is compiled.
        """
        more = _checked_ids("eos_token_ids", eos_token_ids)
        if more <= {*self.eos_token_ids}:
            return self
        eos = {*self.eos_token_ids, *more}
        return type(self)(self.tokens, eos, self.special_token_ids, self.adds_prefix_space, self.token_names)

    @property
    def size(self) -> int:
        """Width of the logits: the number of ids."""
        return len(self.tokens)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) over everything that the vocabulary holds; the same in every process."""
        return fingerprint_of(self._packed())

    @cached_property
    def spells_ascii(self) -> bool:
        """Whether each visible character of ASCII, and the space, is a token, so that any JSON can be spelled."""
        known = frozenset(token for token in self.tokens if len(token) == 1)
        return all(bytes([byte]) in known for byte in range(0x20, 0x7F))

    def _packed(self) -> bytes:
        of_ids = self.eos_token_ids, self.special_token_ids, self.token_names
        return pack(self.tokens, *of_ids, prefix_space=self.adds_prefix_space)

    def marked(self, taken: frozenset[int] = frozenset()) -> Vocabulary:
        """Return this vocabulary for a grammar that names tokens: special tokens have bytes; see `schemagen.vocabulary.marks`.

        Cost: O(V), and that of its own `tables`; the last `MOST_MARKED` are kept.
        """
        with _building:
            kept: dict[frozenset[int], Vocabulary] = self.__dict__.setdefault("_marked", {})
            if taken not in kept:
                while len(kept) >= MOST_MARKED:
                    del kept[next(iter(kept))]
                marks = {*self.special_token_ids, *(i for i in self.token_names if not self.tokens[i]), *taken}
                rest = (getattr(self, name) for name in _FIELDS[1:])
                kept[taken] = self._unchecked(marked_tokens(self.tokens, marks), *rest)
            return kept[taken]

    @cached_property
    def tables(self) -> Any:
        """The token trie of the compiled core, built once.

        Raises:
            SchemagenError: This installation has no compiled core.
        """
        from schemagen import _core

        with _building:  # since Python 3.12 two threads may come here at once
            known = self.__dict__.get("tables")
            if known is None:
                of_ids = list(self.tokens), list(self.eos_token_ids)
                known = self.__dict__["tables"] = _core.VocabularyTables(*of_ids, has_marks=self.has_marks)
            return known

    @cached_property
    def has_marks(self) -> bool:
        """Whether it is one that `marked` made: tokens that a grammar may name have bytes, which no text has."""
        return any(is_marked(self.tokens[token_id]) for token_id in (*self.special_token_ids, *self.token_names))

    def decode(self, token_ids: Iterable[int]) -> bytes:
        """Return the bytes of the tokens, joined; special tokens have none.

        Raises:
            VocabularyError: An id is outside the vocabulary.
        """
        ids = list(token_ids)
        if ids and not 0 <= min(ids) <= max(ids) < len(self.tokens):
            raise VocabularyError(
                f"token ids from {min(ids)} to {max(ids)} are not all ids of this vocabulary of {len(self.tokens)}",
                why="it is not the vocabulary of the model that wrote them",
                fix="compile the grammar with the vocabulary of that model",
            )
        return b"".join([self.tokens[i] for i in ids])

    def __len__(self) -> int:
        """Return the width of the logits."""
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        """Compare by `fingerprint`."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self is other or self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        """Hash the `fingerprint`."""
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        """Show the numbers and the start of the fingerprint."""
        text = sum(map(bool, self.tokens))
        return (
            f"Vocabulary(size={self.size}, text_tokens={text}, special_tokens={len(self.special_token_ids)}, "
            f"eos_token_ids={self.eos_token_ids}, fingerprint={self.fingerprint[:12]})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields; compiled tables are built again where they are needed."""
        return {key: value for key, value in self.__dict__.items() if key not in ("tables", "_marked")}


_FIELDS = tuple(each.name for each in fields(Vocabulary))


def _warn_of_text(tokenizer: Any, eos_token_ids: Iterable[int]) -> None:
    """Warn of EOS ids that are ordinary text, such as a default that a configuration was left with."""
    found = text_pieces(tokenizer, sorted(eos_token_ids))
    if not found:
        return
    named = ", ".join(f"EOS id {token_id} is the text token {piece!r}" for token_id, piece in found.items())
    own = getattr(tokenizer, "eos_token_id", None)
    instead = "the id of its end-of-sequence token" if own is None else f"{own}, that of the tokenizer"
    warnings.warn(
        f"{named}: no text can contain it, generate stops there, and the text that it returns ends in it. If the id is a "
        f"default that was left in the configuration of the model, set eos_token_id of model.config and "
        f"model.generation_config to {instead}.",
        ModelWarning,
        stacklevel=4,
    )


def _fit(tokens: list[bytes], size: int) -> list[bytes]:
    """Pad the tokens to the width of the logits, or cut ids off that are no text anyway."""
    needed = next((i for i in range(len(tokens), 0, -1) if tokens[i - 1]), 0)
    if size < max(needed, 1):
        raise VocabularyError(
            f"vocab_size={size}, but the tokenizer has text tokens up to id {needed - 1}",
            why="the logits of the model would be narrower than its vocabulary",
            fix="pass the width of the model's logits (`model.get_output_embeddings().weight.shape[0]`), and check "
            "that tokenizer and model belong together",
        )
    return tokens[:size] + [b""] * (size - len(tokens))


def _checked_tokens(tokens: Sequence[bytes | str | None]) -> list[bytes]:
    if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
        raise VocabularyError(
            f"the tokens are {tokens!r:.40}, {kind_of(tokens)}",
            why="the place of a token is its id",
            fix="pass a list of the bytes of each id",
        )
    data = [token if type(token) is bytes else _token_bytes(i, token) for i, token in enumerate(tokens)]
    if not data:
        raise VocabularyError("a vocabulary of 0 tokens", why="nothing could be generated", fix="pass the tokens")
    return data


def _token_bytes(token_id: int, token: bytes | str | None) -> bytes:
    if token is None:
        return b""
    if isinstance(token, str):
        try:
            return token.encode("utf-8")
        except UnicodeEncodeError as error:
            raise VocabularyError(
                f"token {token_id} is {token!r}",
                why="half a surrogate pair has no UTF-8",
                fix="pass the bytes of the token",
            ) from error
    if isinstance(token, bytes):
        return bytes(token)
    raise VocabularyError(
        f"token {token_id} is {token!r:.40}, {kind_of(token)}",
        why="a token is bytes, text, or None for an id without text",
        fix="convert it with `bytes(...)`",
    )


def _checked_ids(name: str, given: Iterable[int] | int) -> frozenset[int]:
    """Return an id, or several, as a set."""
    ids: list[Any] = list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]
    if all(isinstance(each, SupportsIndex) and not isinstance(each, bool) for each in ids):
        return frozenset(map(index, ids))
    raise VocabularyError(
        f"{name}={given!r:.80}",
        why="the model knows tokens by number",
        fix=f"pass ids: {name}=[2], or {name}=() for none",
    )


def _checked_names(token_names: Mapping[int, str]) -> dict[int, str]:
    if not isinstance(token_names, Mapping):
        raise VocabularyError(
            f"token_names={token_names!r:.80}",
            why=f"it is {kind_of(token_names)}",
            fix='pass the names by id: {128010: "<|python_tag|>"}',
        )
    for token_id, name in token_names.items():
        for kind, what, value in ((SupportsIndex, "token id", token_id), (str, "name of a token", name)):
            if not isinstance(value, kind):
                raise VocabularyError(
                    f"the {what} {value!r:.40} in token_names is {kind_of(value)}",
                    why="grammars name tokens by text, and the model knows them by id",
                    fix='pass the names by id: {128010: "<|python_tag|>"}',
                )
    return {index(token_id): name for token_id, name in token_names.items()}


def _field(source: Any, name: str) -> Any:
    """Read a field of a configuration, which may be an object, a dict or missing."""
    return source.get(name) if isinstance(source, dict) else getattr(source, name, None)


def _output_width(model: Any) -> int:
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    # Quantised layers pack their weight: `out_features` is the width, the shape of the weight is not.
    width = getattr(head, "out_features", None)
    if width is None and getattr(head, "weight", None) is not None:
        width = head.weight.shape[0]  # type: ignore[union-attr]  # a module with a weight is not None
    if width is None:
        raise VocabularyError(
            f"{type(model).__name__} has no output embeddings",
            why="the width of its logits cannot be known",
            fix="pass a model with a language-model head, or use `Vocabulary.from_tokenizer(tokenizer, vocab_size)`",
        )
    return int(width)

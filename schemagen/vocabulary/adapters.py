"""Reading tokenizers of `transformers` (fast and slow) and `tokenizers`: by their methods, not by their class."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemagen.errors import VocabularyError
from schemagen.vocabulary.pieces import BYTE_LEVEL, PLAIN, RAW_BYTES, SENTENCEPIECE, PieceDecoder, from_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from schemagen.vocabulary.vocabulary import Vocabulary

_MARKER = re.compile(r"<.+>|\[.+\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TokenizerReading:
    """What a tokenizer says about its tokens.

    Attributes:
        tokens: Bytes of each id that can be part of a text.
        length: The tokenizer's own count of ids, holes included.
        special_ids: Ids that are no text (BOS, EOS, padding, unknown, control tokens).
        names: What special and added tokens are called, by id.
        unknown_ids: The unknown tokens among them.
        eos_ids: End-of-sequence ids that the tokenizer names.
        encode: Text to ids, without special tokens.
        decoder: How pieces become bytes.
    """

    tokens: dict[int, bytes]
    length: int
    special_ids: frozenset[int]
    names: dict[int, str]
    unknown_ids: frozenset[int]
    eos_ids: frozenset[int]
    encode: Callable[[str], Sequence[int]]
    decoder: PieceDecoder


def text_pieces(tokenizer: Any, token_ids: Iterable[int]) -> dict[int, str]:
    """Return those of some ids that are ordinary tokens of text, with their pieces.

    These are no special tokens, were not added to the vocabulary, and do not look like markers (``<|end|>``, ``[EOS]``).

    Raises:
        VocabularyError: It is no tokenizer.

    Cost: a look-up for each id.
    """
    backend, wrapper = parts_of(tokenizer)
    asked = set(token_ids)
    if backend is not None:
        added = backend.get_added_tokens_decoder()
        named = {token_id: backend.id_to_token(token_id) for token_id in asked if token_id >= 0}
    else:
        added = getattr(wrapper, "added_tokens_decoder", {})
        named = {token_id: piece for piece, token_id in wrapper.get_vocab().items() if token_id in asked}
    known = {*added, *(() if wrapper is None else wrapper.all_special_ids)}
    pieces = {token_id: piece for token_id, piece in sorted(named.items()) if token_id not in known}
    return {token_id: piece for token_id, piece in pieces.items() if piece and not _MARKER.fullmatch(piece)}


def special_tokens(tokenizer: Any, vocabulary: Vocabulary) -> dict[str, int]:
    """Return the special tokens of a tokenizer's vocabulary, by their names.

    Cost: a look at each name; at each token, if the vocabulary does not name all of them (0.1 s for 128,000).
    """
    named = vocabulary.token_names
    if not vocabulary.special_token_ids <= named.keys():
        named = {token_id: name for name, token_id in tokenizer.get_vocab().items()} | dict(named)
    return {name: token_id for token_id, name in named.items() if token_id in vocabulary.special_token_ids}


def split_at(text: str, specials: Iterable[str]) -> list[str]:
    """Cut a text into special tokens and the texts between them."""
    pattern = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    return [piece for piece in (re.split(f"({pattern})", text) if pattern else [text]) if piece]


@dataclass(slots=True)
class _Pieces:
    """Pieces by id, the added tokens that are literal text, and the names of all that are added."""

    ordinary: dict[int, str]
    added: dict[int, str] = field(default_factory=dict)
    special_ids: set[int] = field(default_factory=set)
    names: dict[int, str] = field(default_factory=dict)


def read_tokenizer(tokenizer: Any) -> TokenizerReading:
    """Read a tokenizer, or a processor that has one.

    Raises:
        VocabularyError: It is no tokenizer, or its tokens have no fixed bytes.
    """
    backend, wrapper = parts_of(tokenizer)
    return _read_slow(wrapper) if backend is None else _read_backend(backend, wrapper)


def parts_of(tokenizer: Any) -> tuple[Any, Any]:
    """Return the `tokenizers.Tokenizer` and the transformers tokenizer around it; None for the one that is not there.

    Raises:
        VocabularyError: It is no tokenizer.
    """
    if not hasattr(tokenizer, "get_vocab") and hasattr(tokenizer, "tokenizer"):
        tokenizer = tokenizer.tokenizer
    if not hasattr(tokenizer, "get_vocab") or not hasattr(tokenizer, "encode"):
        raise VocabularyError(
            f"{type(tokenizer).__name__} is not a tokenizer: it has no `get_vocab` and `encode`",
            why="the bytes of the tokens are read from a transformers tokenizer or a `tokenizers.Tokenizer`",
            fix="pass such a tokenizer, or use `Vocabulary.from_tokens([...], eos_token_ids=[...])`",
        )
    if hasattr(tokenizer, "get_added_tokens_decoder"):
        return tokenizer, None
    return getattr(tokenizer, "backend_tokenizer", None), tokenizer


def _read_backend(backend: Any, wrapper: Any) -> TokenizerReading:
    """Read a `tokenizers.Tokenizer`; `wrapper` is the transformers tokenizer around it, if there is one."""
    decoder = byte_decoder(backend)
    pieces = _Pieces({i: piece for piece, i in backend.get_vocab(with_added_tokens=False).items()})
    for token_id, added in backend.get_added_tokens_decoder().items():
        pieces.names[token_id] = added.content
        if added.special:
            pieces.special_ids.add(token_id)
        elif pieces.ordinary.get(token_id) != added.content:
            pieces.added[token_id] = added.content
    unknown = _unknown_ids(backend)
    length = max(backend.get_vocab_size(with_added_tokens=True), 1 + max((*pieces.ordinary, *pieces.added), default=-1))
    eos: Iterable[int] = ()
    if wrapper is not None:
        pieces.special_ids.update(wrapper.all_special_ids)
        unknown |= as_ids(wrapper.unk_token_id)
        eos = as_ids(wrapper.eos_token_id)
        length = max(length, len(wrapper))
    pieces.special_ids |= unknown
    encode = _encoder_of(wrapper) if wrapper is not None else _backend_encoder(backend)
    return _reading(pieces, decoder, length=length, unknown=unknown, eos=eos, encode=encode)


def byte_decoder(backend: Any) -> PieceDecoder:
    """Return how the pieces of a `tokenizers.Tokenizer` become bytes.

    Raises:
        VocabularyError: A piece has no fixed bytes.
    """
    steps = (*steps_of(backend.normalizer, "normaliser"), *steps_of(backend.pre_tokenizer, "pre-tokenizer"))
    is_byte_level = any(step.get("type") == "ByteLevel" for step in steps)
    return from_decoder(steps_of(backend.decoder, "decoder"), byte_level_input=is_byte_level)


def _read_slow(tokenizer: Any) -> TokenizerReading:
    pieces = _Pieces({i: piece for piece, i in tokenizer.get_vocab().items()})
    pieces.special_ids.update(tokenizer.all_special_ids)
    for token_id, added in getattr(tokenizer, "added_tokens_decoder", {}).items():
        pieces.ordinary.pop(token_id, None)
        pieces.names[token_id] = added.content
        if added.special:
            pieces.special_ids.add(token_id)
        else:
            pieces.added[token_id] = added.content
    unknown = as_ids(tokenizer.unk_token_id)
    length = max(len(tokenizer), 1 + max((*pieces.ordinary, *pieces.added), default=-1))
    decoder = _slow_decoder(tokenizer, pieces)
    eos = as_ids(tokenizer.eos_token_id)
    return _reading(pieces, decoder, length=length, unknown=unknown, eos=eos, encode=_encoder_of(tokenizer))


def _slow_decoder(tokenizer: Any, pieces: _Pieces) -> PieceDecoder:
    """Tell the kind of a Python tokenizer: by its byte table, its SentencePiece model or its alphabet."""
    if hasattr(tokenizer, "byte_decoder"):
        return BYTE_LEVEL
    if hasattr(tokenizer, "sp_model"):
        return SENTENCEPIECE
    ordinary = {piece for i, piece in pieces.ordinary.items() if i not in pieces.special_ids}
    return RAW_BYTES if ordinary == {chr(byte) for byte in range(256)} else PLAIN


def _reading(
    pieces: _Pieces,
    decoder: PieceDecoder,
    *,
    length: int,
    unknown: set[int],
    eos: Iterable[int],
    encode: Callable[[str], Sequence[int]],
) -> TokenizerReading:
    """Decode the pieces and drop those that are no text."""
    tokens = dict(zip(pieces.ordinary, decoder.decode_all(pieces.ordinary.values()), strict=True))
    read_back = decoder.decode_all(pieces.added.values())
    for (token_id, text), decoded in zip(pieces.added.items(), read_back, strict=True):
        literal = text.encode("utf-8", "surrogatepass")
        # The encoder reads an added token as literal text, the decoder as a piece. Where the two differ (non-ASCII
        # letters of the byte-level alphabet) no reading is safe: the token is left out.
        tokens[token_id] = literal if literal == decoded else b""
    special = frozenset(pieces.special_ids)
    names = {token_id: pieces.ordinary[token_id] for token_id in special if token_id in pieces.ordinary} | pieces.names
    for token_id in special:
        tokens.pop(token_id, None)
    return TokenizerReading(tokens, length, special, names, frozenset(unknown), frozenset(eos), encode, decoder)


def steps_of(component: Any, what: str) -> list[Mapping[str, Any]]:
    """Return the description of a decoder, normaliser or pre-tokenizer, nested sequences flattened.

    Raises:
        VocabularyError: It is a custom object, which has none.
    """
    if component is None:
        return []
    try:
        # The JSON of one component: that of the whole tokenizer takes 0.7 s for 128k tokens.
        description = json.loads(component.__getstate__())
    except Exception as error:
        raise VocabularyError(
            f"the tokenizer's {what} is a custom object that does not describe itself: {error}",
            why="what its tokens decode to cannot be known",
            fix="build the vocabulary with `Vocabulary.from_tokens([...], eos_token_ids=[...])`",
        ) from error
    return list(_flatten(description))


def _flatten(description: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    if description.get("type") != "Sequence":
        yield description
        return
    for parts in (value for key, value in description.items() if key != "type" and isinstance(value, list)):
        for part in parts:
            yield from _flatten(part)


def _unknown_ids(backend: Any) -> set[int]:
    """Return the id of the model's unknown token, as a set of at most one."""
    model = backend.model
    if hasattr(model, "unk_token"):
        return as_ids(None if model.unk_token is None else backend.token_to_id(model.unk_token))
    # A Unigram model keeps its unknown token as an id, and only in its description.
    return as_ids(json.loads(model.__getstate__()).get("unk_id"))


def _encoder_of(tokenizer: Any) -> Callable[[str], Sequence[int]]:
    def encode(text: str) -> Sequence[int]:
        ids: Sequence[int] = tokenizer.encode(text, add_special_tokens=False)
        return ids

    return encode


def _backend_encoder(backend: Any) -> Callable[[str], Sequence[int]]:
    """Return the encoder of a raw tokenizer, without its truncation and padding."""
    backend = plain_backend(backend)

    def encode(text: str) -> Sequence[int]:
        ids: Sequence[int] = backend.encode(text, add_special_tokens=False).ids
        return ids

    return encode


def plain_backend(backend: Any) -> Any:
    """Return a `tokenizers.Tokenizer` without truncation and padding: itself, or a copy."""
    if backend.truncation is not None or backend.padding is not None:
        backend = type(backend).from_str(backend.to_str())
        backend.no_truncation()
        backend.no_padding()
    return backend


def as_ids(value: int | Iterable[int] | None) -> set[int]:
    """Return an id, several ids or none, as configurations write them, as a set."""
    if value is None:
        return set()
    return {value} if isinstance(value, int) else {int(i) for i in value}

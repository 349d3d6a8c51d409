"""The self-check of a vocabulary: a text, encoded and put together again from the bytes of its tokens, is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.errors import VocabularyError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

#: Small ones first, so that an error names the smallest text that fails. All are in Unicode normal form C, which
#: tokenizers may apply without doing harm.
PROBES = (
    "a",
    "Z",
    "0",
    "{}",
    '{"name": "Ada Lovelace", "age": 36, "tags": ["x", null, true, -1.5e+10]}',
    " leading space",
    "  two spaces  inside and after  ",
    "line\nbreak\n\n\ttab\r\n",
    "0123456789 007 3.14159 1,000,000",
    "#!$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    "don't stop, it's CamelCase snake_case",
    "é ü ñ œ ß ø Привет Ελληνικά",
    "日本語 中文 한국어",
    "العربية עברית हिन्दी ไทย",
    "😀👍🏽👩‍👩‍👧 𝄞 €",
)


def check_round_trip(
    tokens: Sequence[bytes], encode: Callable[[str], Sequence[int]], *, unknown_ids: Collection[int], kind: str
) -> bool:
    """Check the bytes of the tokens against the tokenizer's own encoder; return whether it adds a leading space.

    A probe that holds characters which the tokenizer does not know (it encodes them as an unknown token) proves
    nothing and is passed over; at least one probe must be left, made from the tokens themselves if need be.

    Raises:
        VocabularyError: The joined bytes differ from the text, by more than one leading space.
    """
    adds_prefix_space = False
    checked = False
    for probe in (*PROBES, *_own_probes(tokens)):
        if checked and probe not in PROBES:
            break
        ids = encode(probe)
        if not ids or any(i in unknown_ids for i in ids):
            continue
        adds_prefix_space |= _check_probe(probe, ids, tokens, kind)
        checked = True
    if not checked:
        raise VocabularyError(
            f"the tokenizer knows none of the {len(PROBES)} probe texts, nor its own tokens",
            why="the bytes of its tokens cannot be checked against its encoder",
            fix="build it with `Vocabulary.from_tokens([...], eos_token_ids=[...])`",
        )
    return adds_prefix_space


def _own_probes(tokens: Sequence[bytes]) -> list[str]:
    """Return the texts of some tokens: probes for vocabularies with an alphabet of their own."""
    texts = [token.decode("utf-8", "replace") for token in tokens[:: max(1, len(tokens) // 16)]]
    return [text for text in texts if text and "\ufffd" not in text]


def _check_probe(probe: str, ids: Sequence[int], tokens: Sequence[bytes], kind: str) -> bool:
    """Compare one probe; return whether the encoder put a space before it."""
    got = b"".join(tokens[i] if 0 <= i < len(tokens) else b"" for i in ids)
    expected = probe.encode("utf-8")
    if got == expected:
        return False
    if got == b" " + expected:
        return True
    raise VocabularyError(
        f"the tokenizer does not give back the text {probe!r}: expected the bytes {expected!r}, got {got!r}",
        at=f"token ids {list(ids)[:40]} (read as {kind})",
        why="it normalises text (case, accents, white space), lacks some characters, or stores its tokens in an "
        "unknown way; a constraint over wrong bytes would let wrong text through",
        fix="use a tokenizer whose decoder inverts its encoder, or build the vocabulary with "
        "`Vocabulary.from_tokens([...], eos_token_ids=[...])`",
    )

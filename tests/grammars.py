"""Grammar texts in tests: whether a grammar derives a text, by the matcher and by each mask on the way; and whether lark does."""

from typing import TYPE_CHECKING, Any

import schemagen
from schemagen import reference
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.testing import brute_force_mask, mask_of

if TYPE_CHECKING:
    import lark

BYTES = schemagen.Vocabulary.byte_vocabulary()
#: Tokens that end in the middle of rules, literals and characters.
PIECES = schemagen.Vocabulary(
    [b"", *(bytes([byte]) for byte in range(256)), b"((", b"))", b")+", b"1+", b"+(", b"ab", b"abc", b"ba", b'":', b'"]', b'{"', b"\xc3\xa9", b"a\xc3", b"--", b"->"],
    eos_token_ids=[0],
)  # fmt: skip


#: The compiled core, and the engine in Python that it is compared with.
ENGINES = ("native", "reference")


def compiled_by(engine: str, spec: Any, vocabulary: schemagen.Vocabulary, **options: Any) -> Any:
    """Return the grammar of the core, compiled afresh, or the engine of the reference: both have matchers."""
    if engine == "reference":
        return reference.engine(spec, vocabulary, **options)
    return schemagen.compile(spec, vocabulary, cache=None, **options)


def derives(spec: ContextFree[Any], text: str) -> bool:
    """Whether the grammar derives the text, as a whole."""
    matcher = schemagen.compile(spec, BYTES).matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def check_masks_along(spec: ContextFree[Any], text: str) -> None:
    """Compare the mask in front of each byte of a text, and at its end, with every token tried."""
    matcher = schemagen.compile(spec, PIECES).matcher()
    for byte in text.encode():
        assert mask_of(matcher, PIECES) == brute_force_mask(matcher, PIECES)
        assert matcher.accept_bytes(bytes([byte])), (text, byte)
    assert mask_of(matcher, PIECES) == brute_force_mask(matcher, PIECES)


def parses(parser: "lark.Lark", text: str) -> bool:
    """Whether lark reads a text."""
    from lark.exceptions import LarkError

    try:
        parser.parse(text)
    except LarkError:
        return False
    return True

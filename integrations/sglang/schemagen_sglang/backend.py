"""The backend of a server, as SGLang's classes want it. Imported where SGLang is, and only there."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sglang.srt.constrained.base_grammar_backend import (
    BaseGrammarBackend,
    BaseGrammarObject,
    InvalidGrammarObject,
    register_vocab_mask_buffer,
)

import schemagen
from schemagen.errors import SchemagenError
from schemagen_sglang.cursor import RequestGrammar
from schemagen_sglang.requests import compile_request

if TYPE_CHECKING:
    import torch

_logger = logging.getLogger(__name__)
#: Of one call. A request waits for the masks of all requests of its step.
_MAX_SECONDS = 2.0
_LIMITS = schemagen.Limits(max_seconds=_MAX_SECONDS)


@dataclass(frozen=True)
class Settings:
    """How grammars are compiled.

    Attributes:
        whitespace: The layout of JSON, as for `schemagen.compile`.
        limits: Limits on the work on a schema; ``max_seconds`` applies to each call.
    """

    whitespace: Any = "flexible"
    limits: schemagen.Limits = _LIMITS


def settings_of(server_args: Any) -> Settings:
    """Return the settings of a server: ``--constrained-json-disable-any-whitespace`` means compact JSON."""
    compact = getattr(server_args, "constrained_json_disable_any_whitespace", False)
    return Settings(whitespace="compact" if compact else "flexible")


class SchemagenGrammar(RequestGrammar, BaseGrammarObject):  # type: ignore[misc]  # SGLang is not there when types are checked
    """The grammar of one request."""


class SchemagenBackend(BaseGrammarBackend):  # type: ignore[misc]
    """The backend of one server: its vocabulary, and grammars over it.

    Args:
        tokenizer: The tokenizer of the model.
        vocab_size: The width of its logits.
        eos_token_ids: The tokens that end a text, besides the tokenizer's own.
        settings: Layout and limits.

    Raises:
        VocabularyError: The bytes of the tokens cannot be known.
    """

    def __init__(
        self, tokenizer: Any, vocab_size: int, eos_token_ids: Any = None, settings: Settings | None = None
    ) -> None:
        super().__init__()
        eos = None if eos_token_ids is None else [eos_token_ids] if isinstance(eos_token_ids, int) else eos_token_ids
        self.vocabulary = schemagen.Vocabulary.from_tokenizer(tokenizer, vocab_size, eos_token_ids=eos or None)
        self.settings = settings or Settings()

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """Return the grammar of a JSON Schema, or of any object."""
        return self._compiled("json", key_string)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """Return the grammar of a regular expression."""
        return self._compiled("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """Return the grammar of an EBNF or GBNF text."""
        return self._compiled("ebnf", key_string)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """Return the grammar of a structural tag, of either form."""
        return self._compiled("structural_tag", key_string)

    def _compiled(self, kind: str, text: str) -> BaseGrammarObject:
        """Return the grammar of a request, or the object by which SGLang refuses this request."""
        settings = self.settings
        try:
            grammar = compile_request(
                kind, text, self.vocabulary, whitespace=settings.whitespace, limits=settings.limits
            )
        except SchemagenError as error:
            _logger.warning("a grammar was refused: %s", error)
            return InvalidGrammarObject(str(error))
        return SchemagenGrammar(grammar)

    # Methods that SGLang's wrapper for models that think expects of a backend, besides its grammars.

    @property
    def is_support_token_filter(self) -> bool:
        """Whether tokens can be taken out of a mask while the model thinks: ``--enable-strict-thinking``."""
        return True

    allocate_vocab_mask = staticmethod(
        lambda vocab_size, batch_size, device: schemagen.allocate_token_bitmask(batch_size, vocab_size)  # noqa: ARG005
    )
    move_vocab_mask = staticmethod(RequestGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(RequestGrammar.apply_vocab_mask)

    def initialize_vocab_mask_buffer(self, name: str, vocab_size: int, max_rows: int, device: Any) -> torch.Tensor:  # noqa: ARG002
        """Return a bitmask that SGLang reuses at each step."""
        made = schemagen.allocate_token_bitmask(max_rows, vocab_size)
        return cast("torch.Tensor", register_vocab_mask_buffer(name, made, max_rows))

    def set_token_filter(
        self,
        vocab_mask: torch.Tensor,
        token_ids: list[int],
        batch_idx: int,
        is_allowed: bool = True,
        reset_vocab_mask: bool = True,
    ) -> None:
        """Allow some tokens in a row alone, or forbid them in it.

        Args:
            vocab_mask: The bitmask.
            token_ids: The tokens.
            batch_idx: The row.
            is_allowed: Whether they are allowed or forbidden.
            reset_vocab_mask: Whether the row is first set to the opposite in all tokens; otherwise the others are
                unchanged.
        """
        words = vocab_mask[batch_idx].numpy().view(np.uint32)
        if reset_vocab_mask:
            words[:] = 0 if is_allowed else 0xFFFFFFFF
        for token_id in token_ids:
            bit = np.uint32(1 << token_id % 32)
            words[token_id // 32] = words[token_id // 32] | bit if is_allowed else words[token_id // 32] & ~bit

"""The backend of an engine, as vLLM's classes want it. Imported where vLLM is, and only there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar

import schemagen
from schemagen_vllm.cursor import BitmaskView, RequestGrammar
from schemagen_vllm.requests import compile_request
from schemagen_vllm.settings import settings_of
from schemagen_vllm.vocabularies import Vocabularies

if TYPE_CHECKING:
    import torch
    from vllm.v1.structured_output.backend_types import StructuredOutputOptions


class SchemagenGrammar(RequestGrammar, StructuredOutputGrammar):  # type: ignore[misc]  # vLLM is not there when types are checked
    """The grammar of one request."""


@dataclass
class SchemagenBackend(StructuredOutputBackend):  # type: ignore[misc]
    """The backend of one engine: its vocabularies, and grammars over them."""

    def __post_init__(self) -> None:
        """Read the tokenizer of the model."""
        self._vocabularies = Vocabularies(self.tokenizer, self.vocab_size)
        self._settings = settings_of()
        self._view = BitmaskView()

    def compile_grammar(
        self,
        request_type: StructuredOutputOptions,
        grammar_spec: str,
        stop_token_ids: set[int] | None = None,
    ) -> StructuredOutputGrammar:
        """Return the grammar of a request.

        Args:
            request_type: The kind of its constraint.
            grammar_spec: The schema, pattern, list of choices, grammar or structural tag.
            stop_token_ids: What ends it, besides the EOS ids of the tokenizer.

        Raises:
            SchemagenError: It cannot be compiled; vLLM ends this request with an error.
        """
        vocabulary = self._vocabularies.of(stop_token_ids)
        grammar = compile_request(request_type.name, grammar_spec, vocabulary, self._settings)
        return SchemagenGrammar(grammar, self._view)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Return a bitmask of so many rows."""
        return schemagen.allocate_token_bitmask(max_num_seqs, self.vocab_size)

    def destroy(self) -> None:
        """Give nothing back: grammars are freed with their requests."""

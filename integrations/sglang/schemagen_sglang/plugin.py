"""The entry point of SGLang's plug-ins: register the backend by its name."""

from __future__ import annotations

from typing import Any

NAME = "schemagen"


def register() -> None:
    """Add the backend to SGLang's registry, and its name to the choices of ``--grammar-backend``. May be called again."""
    from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend

    register_grammar_backend(NAME, create)
    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])


def create(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Any:
    """Return the backend of a server, as SGLang's registry calls it.

    SGLang wraps its own backends for models that think before they answer, and returns a registered one as it is. So
    this function wraps it in the same way, if the server has a parser of reasoning.

    Args:
        server_args: Arguments of the server.
        tokenizer: The tokenizer of the model.
        vocab_size: The width of its logits.
        eos_token_ids: The tokens that end a text, besides the tokenizer's own.

    Raises:
        VocabularyError: The bytes of the tokens cannot be known.
    """
    from schemagen_sglang.backend import SchemagenBackend, settings_of

    backend = SchemagenBackend(tokenizer, vocab_size, eos_token_ids, settings_of(server_args))
    parser = getattr(server_args, "reasoning_parser", None)
    return backend if not parser else with_reasoning(backend, parser, tokenizer, server_args)


def with_reasoning(backend: Any, parser: str, tokenizer: Any, server_args: Any) -> Any:
    """Wrap a backend so that its grammars begin after the thoughts of the model.

    Args:
        backend: The backend.
        parser: Name of SGLang's parser of reasoning.
        tokenizer: The tokenizer of the model.
        server_args: Arguments of the server.
    """
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    detector = ReasoningParser(model_type=parser, stream_reasoning=False, tokenizer=tokenizer)
    strict = bool(getattr(server_args, "enable_strict_thinking", False))
    return ReasonerGrammarBackend(backend, detector, tokenizer, enable_strict_thinking=strict)

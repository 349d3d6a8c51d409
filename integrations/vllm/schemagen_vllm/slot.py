"""The entry point of vLLM's plug-ins: put schemagen in the place of a structured-output backend, if that was opted into.

vLLM has no registry for such backends. It looks two names of ``vllm.v1.structured_output.backend_outlines`` up when
they are
called: ``OutlinesBackend``, and the function that checks a request in the process of the server. With
``SCHEMAGEN_VLLM_SLOT=outlines`` both are ours, and an engine with ``structured_outputs_config={"backend": "outlines"}``
runs on schemagen. Two more methods are wrapped: one knows the request of a grammar, hence its budget; one knows the
tokenizer of a check, so that a request is compiled for the model's own tokens before it is taken, and a bad one is HTTP
400.

Without the variable nothing is imported and nothing is changed.
"""

from __future__ import annotations

import functools
import logging
import threading
import weakref
from typing import Any

from schemagen_vllm.settings import settings_of, slot_of

_logger = logging.getLogger("vllm.schemagen")
_MARK = "_schemagen_vllm"


def register() -> None:
    """Take the slot that the environment names; do nothing if it names none. May be called again.

    Raises:
        OptionError: A value of the environment is invalid.
        SchemagenError: This vLLM is not supported; the engine does not start.
    """
    if slot_of() is None:
        return
    settings_of()  # a mistake in the environment ends the start, not the first request
    from vllm.v1.structured_output import StructuredOutputManager, backend_outlines

    from schemagen_vllm import guard

    if getattr(backend_outlines, _MARK, False):
        return
    from vllm import __version__ as version
    from vllm.sampling_params import SamplingParams

    guard.check(version)
    from schemagen_vllm.backend import SchemagenBackend

    check = RequestCheck()
    backend_outlines.OutlinesBackend = SchemagenBackend
    backend_outlines.validate_structured_output_request_outlines = check.validate
    name = "_create_grammar"
    setattr(StructuredOutputManager, name, with_budget(getattr(StructuredOutputManager, name)))
    name = "_validate_structured_outputs"
    setattr(SamplingParams, name, check.with_tokenizer(getattr(SamplingParams, name)))
    setattr(backend_outlines, _MARK, True)
    _logger.info("structured outputs of the backend 'outlines' are made by schemagen (vLLM %s)", version)


def with_budget(create: Any) -> Any:
    """Wrap the method that makes the grammar of a request: it passes our grammars their budget.

    Args:
        create: ``StructuredOutputManager._create_grammar``.
    """
    from schemagen_vllm.budget import budget_of
    from schemagen_vllm.cursor import RequestGrammar

    if not settings_of().keeps_budgets:
        return create

    @functools.wraps(create)
    def create_grammar(manager: Any, request: Any) -> Any:
        grammar = create(manager, request)
        budget = budget_of(request, manager.vllm_config) if isinstance(grammar, RequestGrammar) else None
        if budget is not None:
            grammar.limit(budget)
        return grammar

    return create_grammar


class RequestCheck:
    """The check of a request before it is taken: it is compiled over the tokens of the model."""

    def __init__(self) -> None:
        self._current = threading.local()
        self._known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def with_tokenizer(self, check: Any) -> Any:
        """Wrap the method that checks the structured output of a request: `validate` learns the tokenizer.

        Args:
            check: ``SamplingParams._validate_structured_outputs``.
        """

        @functools.wraps(check)
        def checked(params: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> Any:
            self._current.model = (tokenizer, model_config)
            try:
                return check(params, model_config, structured_outputs_config, tokenizer)
            finally:
                self._current.model = None

        return checked

    def validate(self, params: Any) -> None:
        """Compile the constraint of a request.

        Args:
            params: Its ``SamplingParams``.

        Raises:
            VLLMValidationError: It cannot be compiled, or its text cannot end within max_tokens; HTTP 400.
        """
        from vllm.exceptions import VLLMValidationError
        from vllm.v1.structured_output.request import get_structured_output_key

        from schemagen.errors import SchemagenError
        from schemagen_vllm.budget import check_budget
        from schemagen_vllm.requests import compile_request

        if params.structured_outputs is None:
            return
        try:
            kind, text = get_structured_output_key(params.structured_outputs)
            grammar = compile_request(kind.name, text, self._vocabulary(params.all_stop_token_ids), settings_of())
            check_budget(grammar, params.max_tokens)
        except (SchemagenError, ValueError, TypeError) as error:
            raise VLLMValidationError(str(error)) from error

    def _vocabulary(self, stop_token_ids: Any) -> Any:
        """Return the vocabulary of the current model, or of bytes if the check is called without one."""
        import schemagen
        from schemagen_vllm.vocabularies import Vocabularies

        model = getattr(self._current, "model", None)
        if model is None:
            return schemagen.Vocabulary.byte_vocabulary()
        tokenizer, model_config = model
        with self._lock:
            if tokenizer not in self._known:
                self._known[tokenizer] = Vocabularies(tokenizer, model_config.get_vocab_size())
        return self._known[tokenizer].of(stop_token_ids)

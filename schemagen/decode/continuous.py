"""Continuous batching of transformers 5 (``model.generate_batch``), with a grammar for each request.

Such a processor does not see the texts: it sees the last token of each row, and the rows are whichever requests were
scheduled. But before each step the manager shows processors of the class ``ContinuousBatchingLogitsProcessor`` the
requests whose next token will be chosen (``prepare_tensor_args``), in the order of the rows. `step_processor` makes one
of this class; `_Serving` keeps a cursor for each request.

Neither ``generate_batch`` nor the configuration accepts custom processors. So ours is inserted into the list of the
manager before the manager starts: after the processors that change scores and before those that cut the distribution
(temperature, top-k, top-p), where ``generate`` would put it.

Two options are refused because they cannot work: asynchronous batching prepares a step before the last token is known,
and a CUDA graph replays kernels without asking a grammar.

Alternatives rejected: recognising a request by its last token (two requests may share it), and patching the model's
``_get_logits_processor`` (the manager reserves no place for the arguments of processors that it did not convert
itself).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from schemagen.decode.sequences import Cursor
from schemagen.errors import GenerationError, MatcherError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from schemagen.decode.logits_processor import LogitsProcessor
    from schemagen.engine.protocol import Constraint

try:
    from transformers.generation.continuous_batching.cb_logits_processors import ContinuousBatchingLogitsProcessor
except ImportError:
    ContinuousBatchingLogitsProcessor = None

__all__ = ["MAX_KEPT", "ContinuousBatchingLogitsProcessor", "attach", "attached", "insert", "step_processor"]

#: Cursors kept of requests that are not scheduled now; a request whose cursor was dropped is read again from its start.
MAX_KEPT = 4096
_NUMBER = re.compile(r"req_(\d+)(__child#\d+)*")
_WARMUP = "__warmup_"


class _Serving:
    """The cursors of the requests of one manager.

    Args:
        processor: The processor that masks, with the grammars of requests that bring none.
        first: The number of the request that the first grammar of a list belongs to.
    """

    def __init__(self, processor: LogitsProcessor, first: int) -> None:
        self.processor = processor
        self.first = first
        self._cursors: OrderedDict[str, Cursor] = OrderedDict()

    def cursor(self, state: Any) -> Cursor | None:
        """Return the cursor of a request, advanced by its generated tokens; None if the request is unconstrained.

        Raises:
            MatcherError: The request holds a token that its grammar forbids.
        """
        grammar = self._grammar(state)
        if grammar is None:
            return None
        generated = _generated(state)
        cursor = self._cursors.pop(state.request_id, None)
        # Ids may be reused, and a request that was split or forked starts with some text.
        if cursor is None or cursor.grammar is not grammar or generated[: len(cursor.generated)] != cursor.generated:
            cursor = Cursor.start(grammar)
            cursor.limit = self.processor.limit_of_request(_limit(state))
        cursor.advance(generated[len(cursor.generated) :])
        if cursor.dead:
            raise MatcherError(
                f"request {state.request_id} contains token {generated[-1]}, which its grammar forbids there",
                why="something else changed the scores after the mask",
                fix="remove options that force tokens",
                code="foreign-token",
            )
        self._cursors[state.request_id] = cursor
        while len(self._cursors) > MAX_KEPT:
            self._cursors.popitem(last=False)
        return cursor

    def _grammar(self, state: Any) -> Constraint | None:
        """The grammar that a request brought, else that of the processor."""
        given: Constraint | None = state.logit_processor_kwargs.get("grammar")
        if given is not None or state.request_id.startswith(_WARMUP):
            return given
        grammars: Any = self.processor.grammars
        if not isinstance(grammars, (list, tuple)):
            shared: Constraint | None = grammars
            return shared
        numbered = _NUMBER.fullmatch(state.request_id)
        number = -1 if numbered is None else int(numbered[1]) - self.first
        if not 0 <= number < len(grammars):
            raise MatcherError(
                f"request {state.request_id} and {len(grammars)} grammars",
                why="each grammar of a list belongs to one prompt, in the order in which they were added",
                fix="give one grammar (or None) per prompt, or add_request(..., grammar=...)",
                code="rows-and-grammars",
            )
        found: Constraint | None = grammars[number]
        return found


def _limit(state: Any) -> int | None:
    """The maximum number of tokens that a request may generate in all; None if unlimited."""
    prompt: int = state._true_initial_tokens  # noqa: SLF001 - no public name
    earlier = len(state.initial_tokens) - prompt if prompt else 0
    return None if state.max_new_tokens is None else int(state.max_new_tokens) + earlier


def _generated(state: Any) -> list[int]:
    """The tokens that a request has generated; after running out of memory the manager counts some as its prompt."""
    prompt: int = state._true_initial_tokens  # noqa: SLF001 - no public name
    earlier: list[int] = state.initial_tokens[prompt:] if prompt else []
    return [*earlier, *state.generated_tokens]


def step_processor(
    kwargs: dict[str, type], note: Callable[[Sequence[Any]], None], change: Callable[[torch.Tensor], torch.Tensor]
) -> Any:
    """Return a processor of continuous batching; its class exists only where transformers has the base class.

    Args:
        kwargs: The arguments of a request that the processor takes, with their types.
        note: Called before each step with the requests whose next token will be chosen, in the order of the rows.
        change: Returns the scores of the step, float [N, V], which may end with rows of padding.
    """

    class StepProcessor(ContinuousBatchingLogitsProcessor):  # type: ignore[misc]  # transformers publishes no types
        supported_kwargs = kwargs
        ignored_kwargs = ()

        def fill_defaults(self, int32_tensor: torch.Tensor) -> None:
            """Nothing is kept in the tensors of the manager."""
            int32_tensor.zero_()

        def prepare_tensor_args(self, requests_with_new_token: Sequence[Any]) -> torch.Tensor:
            note(requests_with_new_token)
            return torch.zeros(len(requests_with_new_token), dtype=torch.int32)

        @torch.compiler.disable  # type: ignore[untyped-decorator]  # torch publishes no type of it
        def __call__(self, scores: torch.Tensor, tensor_arg: torch.Tensor) -> torch.Tensor:
            del tensor_arg
            return change(scores)

    return StepProcessor()


def _request_processor(processor: LogitsProcessor, first: int) -> Any:
    """Return the processor that masks the scores of the requests, each by its own grammar."""
    from schemagen.grammar.grammar import Grammar

    serving, rows = _Serving(processor, first), list[Cursor | None]()

    def note(requests: Sequence[Any]) -> None:
        rows[:] = [serving.cursor(request.state) for request in requests]

    def mask(scores: torch.Tensor) -> torch.Tensor:
        return serving.processor.mask(scores, [*rows, *[None] * (len(scores) - len(rows))])

    made = step_processor({"grammar": Grammar}, note, mask)
    made.serving = serving
    return made


def attach(processor: LogitsProcessor, manager: Any) -> None:
    """Put a processor into a manager of continuous batching; see `LogitsProcessor.attach_to`."""
    if ContinuousBatchingLogitsProcessor is None:
        raise GenerationError(
            "this version of transformers cannot constrain requests of continuous batching",
            why="it has no ContinuousBatchingLogitsProcessor",
            fix="pip install -U transformers",
            code="continuous-batching",
        )
    _refuse_lookahead(manager.continuous_batching_config)
    listed = manager.logit_processor
    first: int = manager._request_counter  # noqa: SLF001 - no public name
    for known in listed.logits_processor:
        if isinstance(serving := getattr(known, "serving", None), _Serving):
            serving.processor, serving.first = processor, first
            return
    insert(_request_processor(processor, first), manager)


def insert(made: Any, manager: Any) -> None:
    """Put a processor of continuous batching into a manager that was not started yet.

    Args:
        made: A ``ContinuousBatchingLogitsProcessor`` of transformers that needs one tensor.
        manager: From ``model.init_continuous_batching``.

    Raises:
        GenerationError: The manager was started, or batches asynchronously or by CUDA graphs.
    """
    _refuse_lookahead(manager.continuous_batching_config)
    if manager.batch_processor is not None:
        raise GenerationError(
            "the manager of continuous batching has been started already",
            why="it reserved no place for a constraint",
            fix="attach the processor before manager.start(), or destroy_cached_continuous_batching_manager() first",
            code="continuous-batching",
        )
    listed = manager.logit_processor
    listed.logits_processor.insert(_place(listed.logits_processor), made)
    listed.tensors_required += 1
    listed.do_processing = True
    listed._retrieve_processors_kwargs()  # noqa: SLF001 - as at the end of its __init__


def _refuse_lookahead(config: Any) -> None:
    graphs = config.use_cuda_graph
    if config.use_async_batching or (any(graphs) if isinstance(graphs, tuple) else graphs):
        raise GenerationError(
            "continuous batching runs ahead of the tokens",
            why=f"use_async_batching={config.use_async_batching}, use_cuda_graph={graphs}: a step is prepared, or replayed, "
            "before the token is known that decides on its mask",
            fix="ContinuousBatchingConfig(use_async_batching=False, use_cuda_graph=False)",
            code="continuous-batching",
        )


def _place(processors: Sequence[Any]) -> int:
    """Where ``generate`` would put a processor: before the first that cuts or bends the distribution."""
    warpers = (place for place, known in enumerate(processors) if type(known).__name__.endswith("LogitsWarper"))
    return next(warpers, len(processors))


@contextmanager
def attached(processor: LogitsProcessor, model: Any) -> Iterator[None]:
    """Attach the processor to each manager that a model makes, as long as the block lasts."""
    name = "init_continuous_batching"
    outer = vars(model).get(name)  # of a block around this one
    make = getattr(model, name)

    def init_continuous_batching(*args: Any, **kwargs: Any) -> Any:
        manager = make(*args, **kwargs)
        attach(processor, manager)
        return manager

    model.init_continuous_batching = init_continuous_batching
    try:
        yield
    finally:
        if outer is None:
            delattr(model, name)
        else:
            setattr(model, name, outer)

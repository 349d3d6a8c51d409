"""`LanguageModel`: a transformers model that answers with instances of Python types."""

from __future__ import annotations

from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar, overload

from schemagen.arguments import check_count
from schemagen.compiler import Grammar, compile as compile_grammar
from schemagen.errors import VocabularyError
from schemagen.forking import without_property_locks
from schemagen.lm.generation import REFUSALS, Generation, reasons, validation_failed
from schemagen.lm.prompts import as_messages, render, with_correction, with_shape, with_texts
from schemagen.lm.reasoning import taken_apart
from schemagen.lm.threads import in_thread
from schemagen.lm.tool_caller import ToolCaller

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence

    from typing_extensions import TypeForm

    from schemagen.compiler import Choice, Regex
    from schemagen.decode.loop import Decoded
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.events import Event
    from schemagen.lm.generation import Failure
    from schemagen.lm.reasoning import Reasoning
    from schemagen.lm.stream import Stream
    from schemagen.lm.thinking import Thinker
    from schemagen.vocabulary import Vocabulary

    Message = Mapping[str, Any]
    Prompt = str | Sequence[Message]

T = TypeVar("T")


@without_property_locks
class LanguageModel(ToolCaller):
    """A causal language model whose answers are values of Python types.

    Calling it returns the value, `generate` the value with its circumstances. Safe to share between threads as far as
    the model is: nothing here changes after construction, except caches.

    Args:
        model: With the ``generate`` of transformers' `GenerationMixin`.
        tokenizer: Its tokenizer.
        cache: A folder in which the vocabulary and compiled grammars are kept for the next process; see
            `schemagen.compile` and `Vocabulary.from_tokenizer`.

    Attributes:
        model: As given.
        tokenizer: As given.
        cache: As given.
    """

    def __init__(self, model: Any, tokenizer: Any, *, cache: str | os.PathLike[str] | None = None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.cache = cache

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token, as wide as the logits of the model, with all its EOS ids."""
        from schemagen.vocabulary import Vocabulary

        return Vocabulary.for_model(self.tokenizer, self.model, cache=self.cache)

    def compile(
        self,
        spec: Any,
        *,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
    ) -> Grammar:
        """Return the grammar of a type, schema, `Regex` or `Choice` over the vocabulary of this model; cached.

        Raises:
            SchemaError: As `schemagen.compile`.
        """
        cache = "memory" if self.cache is None else self.cache
        return compile_grammar(spec, self.vocabulary, whitespace=whitespace, property_order=property_order, cache=cache)

    @overload
    def __call__(self, prompt: Prompt, spec: type[T], **options: Any) -> T: ...
    @overload
    def __call__(self, prompt: Prompt, spec: Regex | Choice, **options: Any) -> str: ...
    @overload
    def __call__(self, prompt: Prompt, spec: Mapping[str, Any] | bool | Grammar, **options: Any) -> Any: ...
    @overload
    def __call__(self, prompt: Prompt, spec: TypeForm[T], **options: Any) -> T: ...
    def __call__(self, prompt: Prompt, spec: Any, **options: Any) -> Any:
        """Return the model's answer to the prompt as a value of `spec`.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type (the value is an instance of it), a JSON Schema (parsed JSON), a `Regex` or `Choice` (a str).
            options: Those of `generate`.

        Raises:
            GenerationError: As `generate`.
        """
        return self.generate(prompt, spec, **options).value

    @overload
    def generate(self, prompt: Prompt, spec: type[T], **options: Any) -> Generation[T]: ...
    @overload
    def generate(self, prompt: Prompt, spec: Regex | Choice, **options: Any) -> Generation[str]: ...
    @overload
    def generate(self, prompt: Prompt, spec: Mapping[str, Any] | bool | Grammar, **options: Any) -> Generation[Any]: ...
    @overload
    def generate(self, prompt: Prompt, spec: TypeForm[T], **options: Any) -> Generation[T]: ...
    def generate(  # noqa: PLR0913 - the one call that users tune
        self,
        prompt: Prompt,
        spec: Any,
        *,
        retries: int = 0,
        seed: int | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        reasoning: bool | int | Reasoning = False,
        show_schema: bool = True,
        chat_template: bool = True,
        **generate_kwargs: Any,
    ) -> Generation[Any]:
        """Return the model's answer as a value of `spec`, with its text, tokens and time.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            retries: How often to ask again, with the reasons, when a validator of the type or the check of a keyword
                that is not enforced (``strict=False``) refuses the value.
            seed: Makes sampling reproducible; the global random state is left alone. A row of `batch` with this seed has
                the same text.
            whitespace: As for `schemagen.compile`; of no effect on a compiled grammar.
            property_order: As for `schemagen.compile`; of no effect on a compiled grammar.
            reasoning: Whether the model thinks freely before it answers, in the format of its chat template. True: in 1024
                tokens at most; a number: in so many; a `schemagen.lm.Reasoning`: with markers of your own. The thoughts are in
                `Generation.reasoning`, the answer is as constrained as without them.
            show_schema: Whether the shape of the schema, the options or the pattern are appended to the prompt.
            chat_template: Whether the chat template of the tokenizer is used, if there is one.
            generate_kwargs: Passed on to ``model.generate``: ``max_new_tokens`` (default 512, and those of ``reasoning``; it
                covers both, and thoughts end in time for the shortest answer), ``num_beams``, ``temperature``, ... Decoding is
                greedy, whatever the model's generation_config says, unless ``do_sample=True`` or a sampling option such as
                ``temperature`` is given.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            OptionError: A number among the options cannot be meant; or the model is asked to think, and its chat template knows
                no thoughts.
            BudgetError: ``max_new_tokens`` is below what the shortest text takes.
            ValidationFailed: A custom validator, or the check of a keyword, refused the value, also after ``retries``.
            ValueError: As transformers raises it, for options it does not know.
        """
        from schemagen.decode.loop import decode

        check_count("retries", retries, least=0)
        grammar = self._grammar(spec, whitespace=whitespace, property_order=property_order)
        thinker = self._thinker(reasoning)
        thinking = None if thinker is None else thinker.before(grammar)
        constraint: Any = thinking or grammar
        messages = self._messages(prompt, grammar, show_schema=show_schema)
        seconds = 0.0
        for attempt in count(1):
            inputs = self._encode(*render(self.tokenizer, messages, chat_template=chat_template, thinker=thinker))
            found = decode(self.model, inputs, constraint, seed=seed, **generate_kwargs)
            seconds += found.seconds
            text, thoughts, thought_tokens = taken_apart(found, thinking)
            try:
                value = grammar.validate(text)
            except REFUSALS as error:
                if attempt > retries:
                    raise validation_failed(text, error, attempts=attempt) from error
                messages = with_correction(messages, text, reasons(error))
            else:
                facts = (text, found.token_ids, found.prompt_tokens, seconds, found.masked_mass, attempt)
                return Generation(value, *facts, thoughts, thought_tokens)
        raise AssertionError("count() has no end")

    @overload
    async def agenerate(self, prompt: Prompt, spec: type[T], **options: Any) -> Generation[T]: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: Regex | Choice, **options: Any) -> Generation[str]: ...
    @overload
    async def agenerate(
        self, prompt: Prompt, spec: Mapping[str, Any] | bool | Grammar, **options: Any
    ) -> Generation[Any]: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: TypeForm[T], **options: Any) -> Generation[T]: ...
    async def agenerate(self, prompt: Prompt, spec: Any, **options: Any) -> Generation[Any]:
        """Return what `generate` returns, and leave the event loop free meanwhile; the model works in a thread."""
        found: Generation[Any] = await in_thread(self.generate, prompt, spec, **options)
        return found

    @overload
    def batch(self, prompts: Iterable[Prompt], spec: type[T], **options: Any) -> list[T | Failure]: ...
    @overload
    def batch(self, prompts: Iterable[Prompt], spec: Regex | Choice, **options: Any) -> list[str | Failure]: ...
    @overload
    def batch(self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Any) -> list[T | Failure]: ...
    @overload
    def batch(
        self, prompts: Iterable[Prompt], spec: Mapping[str, Any] | bool | Grammar | Sequence[Any], **options: Any
    ) -> list[Any]: ...
    @overload
    def batch(self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Any) -> list[T | Failure]: ...
    def batch(  # noqa: PLR0913 - as `generate`
        self,
        prompts: Iterable[Prompt],
        spec: Any,
        *,
        batch_size: int = 8,
        progress: bool | None = None,
        retries: int = 0,
        seed: int | Sequence[int] | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        reasoning: bool | int | Reasoning = False,
        show_schema: bool = True,
        chat_template: bool = True,
        **generate_kwargs: Any,
    ) -> list[Any]:
        """Return the model's answer to every prompt as a value, or the failure of its row, in the order of the prompts.

        No row harms another: a type that does not compile, a prompt without room for an answer, a budget that is too
        small, a value that a validator refuses and whatever the model raises make a `Failure` of the row they belong to.
        Rows of like length are generated together, padded on the left; each is what `generate` gives for it alone, as far
        as the model computes the same numbers in a batch.

        Args:
            prompts: Texts or chats.
            spec: What the values are: one for all rows, or a list with one for each.
            batch_size: Rows that the model works on at a time, at most. When that raises (out of memory, say), the rows are
                tried again in halves.
            progress: Whether there is a progress bar on standard error. None: on a terminal, if it takes longer than a second.
            retries: How often a row is asked again, with the reasons, when a validator of its type refuses the value.
            seed: Makes sampling reproducible: one number for each row, or one number that is counted up, so that row ``i``
                has ``seed + i``. The text of a row depends on its seed alone, not on its neighbours. With beams or assisted
                decoding, rows with seeds are generated one at a time.
            whitespace: As for `generate`.
            property_order: As for `generate`.
            reasoning: As for `generate`.
            show_schema: As for `generate`.
            chat_template: As for `generate`.
            generate_kwargs: As for `generate`, for all rows.

        Raises:
            SchemaError: The one type for all rows cannot be compiled.
            TypeError: The prompts are a single text or chat.
            ValueError: There are more or fewer specs or seeds than prompts; or every row failed with a ValueError of
                transformers, as for options that it does not know.

        Example:
            ```python
            people = [found for found in lm.batch(texts, Person) if not isinstance(found, Failure)]
            ```
        """
        from schemagen.lm.batch import Options, generate_batch, raise_misuse
        from schemagen.lm.generation import Failure

        thinker = self._thinker(reasoning)
        shown = (show_schema, chat_template, thinker)
        options = Options(batch_size, retries, whitespace, property_order, *shown, generate_kwargs)
        found = generate_batch(self, prompts, spec, seed=seed, progress=progress, options=options)
        raise_misuse(found)
        return [each if isinstance(each, Failure) else each.value for each in found]

    @overload
    async def abatch(self, prompts: Iterable[Prompt], spec: type[T], **options: Any) -> list[T | Failure]: ...
    @overload
    async def abatch(self, prompts: Iterable[Prompt], spec: Regex | Choice, **options: Any) -> list[str | Failure]: ...
    @overload
    async def abatch(self, prompts: Iterable[Prompt], spec: Sequence[type[T]], **options: Any) -> list[T | Failure]: ...
    @overload
    async def abatch(
        self, prompts: Iterable[Prompt], spec: Mapping[str, Any] | bool | Grammar | Sequence[Any], **options: Any
    ) -> list[Any]: ...
    @overload
    async def abatch(self, prompts: Iterable[Prompt], spec: TypeForm[T], **options: Any) -> list[T | Failure]: ...
    async def abatch(self, prompts: Iterable[Prompt], spec: Any, **options: Any) -> list[Any]:
        """Return what `batch` returns, and leave the event loop free meanwhile; the model works in a thread."""
        found: list[Any] = await in_thread(self.batch, prompts, spec, **options)
        return found

    @overload
    def stream(self, prompt: Prompt, spec: type[T], **options: Any) -> Stream[T]: ...
    @overload
    def stream(self, prompt: Prompt, spec: Regex | Choice, **options: Any) -> Stream[str]: ...
    @overload
    def stream(self, prompt: Prompt, spec: Mapping[str, Any] | bool | Grammar, **options: Any) -> Stream[Any]: ...
    @overload
    def stream(self, prompt: Prompt, spec: TypeForm[T], **options: Any) -> Stream[T]: ...
    def stream(  # noqa: PLR0913 - as `generate`
        self,
        prompt: Prompt,
        spec: Any,
        *,
        partials: bool = False,
        seed: int | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        reasoning: bool | int | Reasoning = False,
        show_schema: bool = True,
        chat_template: bool = True,
        **generate_kwargs: Any,
    ) -> Stream[Any]:
        """Return the events of a generation while it goes on: fields that begin, grow and are complete, and the value.

        The events are `FieldStarted`, `Delta`, `FieldCompleted`, with ``partials`` `Snapshot`, and at the end `Completed` with
        the value; before them, with ``reasoning``, `ReasoningDelta`. They come from the structure of the text: strings grow by
        whole characters with their escapes resolved, a field is validated by its own type when it is complete, and the value by
        all of its validators at the end.

        Args:
            prompt: A text, or a chat.
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            partials: Whether there is a `Snapshot` of everything so far after each step that changed something.
            seed: As for `generate`.
            whitespace: As for `generate`.
            property_order: As for `generate`.
            reasoning: As for `generate`.
            show_schema: As for `generate`.
            chat_template: As for `generate`.
            generate_kwargs: As for `generate`; beams cannot be streamed, and there are no retries.

        Returns:
            An iterator. The model works in a thread from the first event on and stops when the stream is closed or dropped.

        Raises:
            SchemaError: The type or schema cannot be compiled; here, not at the first event.
            OptionError: An option cannot be meant, or a stream cannot have it; here as well.

        Example:
            ```python
            for event in lm.stream("Ada Lovelace, 36, London", Person):
                match event:
                    case FieldCompleted(path, value):
                        print(path, value)
                    case Completed(generation):
                        print(generation.value)
            ```
        """
        from schemagen.decode.loop import check_streamed_options, decode
        from schemagen.lm.stream import Stream

        check_streamed_options(generate_kwargs)
        grammar = self._grammar(spec, whitespace=whitespace, property_order=property_order)
        thinker = self._thinker(reasoning)
        thinking = None if thinker is None else thinker.before(grammar)
        constraint: Any = thinking or grammar
        messages = self._messages(prompt, grammar, show_schema=show_schema)
        inputs = self._encode(*render(self.tokenizer, messages, chat_template=chat_template, thinker=thinker))

        def generate(streamer: Any) -> Decoded:
            return decode(self.model, inputs, constraint, seed=seed, streamer=streamer, **generate_kwargs)

        return Stream(grammar, generate, thinking=thinking, partials=partials)

    @overload
    def astream(self, prompt: Prompt, spec: type[T], **options: Any) -> AsyncGenerator[Event[T], None]: ...
    @overload
    def astream(self, prompt: Prompt, spec: Regex | Choice, **options: Any) -> AsyncGenerator[Event[str], None]: ...
    @overload
    def astream(
        self, prompt: Prompt, spec: Mapping[str, Any] | bool | Grammar, **options: Any
    ) -> AsyncGenerator[Event[Any], None]: ...
    @overload
    def astream(self, prompt: Prompt, spec: TypeForm[T], **options: Any) -> AsyncGenerator[Event[T], None]: ...
    def astream(self, prompt: Prompt, spec: Any, **options: Any) -> AsyncGenerator[Event[Any], None]:
        """Yield what `stream` yields, and leave the event loop free meanwhile; arguments and errors as there.

        Cancelling the task that iterates, or ``aclose()``, stops the model at its next token.
        """
        from schemagen.lm.event_stream import events_of

        def start() -> Stream[Any]:
            found: Stream[Any] = self.stream(prompt, spec, **options)
            return found

        return events_of(start)

    def generate_text(
        self,
        prompt: Prompt,
        *,
        seed: int | None = None,
        chat_template: bool = True,
        **generate_kwargs: Any,
    ) -> str:
        """Return the model's answer without any constraint; arguments as for `generate`."""
        from schemagen.decode.loop import decode_freely

        inputs = self._encode(*render(self.tokenizer, as_messages(prompt), chat_template=chat_template))
        token_ids = decode_freely(self.model, inputs, seed=seed, **generate_kwargs)
        return str(self.tokenizer.decode(token_ids, skip_special_tokens=True))

    def render(
        self,
        prompt: Prompt,
        spec: Any,
        *,
        reasoning: bool | int | Reasoning = False,
        show_schema: bool = True,
        chat_template: bool = True,
    ) -> str:
        """Return the exact text that `generate` sends to the model; arguments as for `generate`."""
        grammar = self._grammar(spec)
        messages = self._messages(prompt, grammar, show_schema=show_schema)
        thinker = self._thinker(reasoning)
        return render(self.tokenizer, messages, chat_template=chat_template, thinker=thinker)[0]

    def __repr__(self) -> str:
        """Show the model and the width of its logits."""
        return f"LanguageModel({type(self.model).__name__}, vocabulary={self.vocabulary.size})"

    def _grammar(self, spec: Any, **options: Any) -> Grammar:
        if not isinstance(spec, Grammar):
            return self.compile(spec, **options)
        if spec.vocabulary != self.vocabulary:
            raise VocabularyError(
                f"the grammar is over {spec.vocabulary!r}, the model over {self.vocabulary!r}",
                why="its masks would allow other tokens than they mean",
                fix="compile it with schemagen.compile(spec, lm.vocabulary)",
            )
        return spec

    def _thinker(self, reasoning: bool | int | Reasoning) -> Thinker | None:
        """How the model is to think before it answers; None: not at all."""
        if reasoning is False:
            return None
        from schemagen.lm.thinking import Thinker

        return Thinker.of(reasoning, self.tokenizer, self.vocabulary)

    def _messages(self, prompt: Prompt, grammar: Grammar, *, show_schema: bool) -> list[dict[str, Any]]:
        """The chat to render, with what the answer has to be."""
        messages = as_messages(prompt)
        if not show_schema:
            return messages
        schema = grammar.schema
        return with_texts(messages, grammar.spec) if schema is None else with_shape(messages, schema)

    @property
    def _quietly(self) -> dict[str, bool]:
        """Options of the tokenizer: no warning of a text that is refused for its length, which says more and what to do."""
        from schemagen.decode.loop import context_of

        context, longest = context_of(self.model), getattr(self.tokenizer, "model_max_length", 0)
        return {} if context is None or longest < context else {"verbose": False}

    def _encode(self, text: str, templated: bool) -> dict[str, Any]:
        """Tokenize on the device of the model; a template has written its special tokens already."""
        encoded = self.tokenizer(text, return_tensors="pt", add_special_tokens=not templated, **self._quietly)
        # Some tokenizers add token_type_ids, which causal models refuse.
        return {key: encoded[key].to(self.model.device) for key in ("input_ids", "attention_mask")}

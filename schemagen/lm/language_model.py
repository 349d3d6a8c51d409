"""`LanguageModel`: a transformers model that answers with instances of Python types."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from schemagen.arguments import check_folder
from schemagen.errors import VocabularyError
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.grammar.grammar import Grammar
from schemagen.lm.batch_answers import BatchAnswers
from schemagen.lm.single_answers import SingleAnswers
from schemagen.lm.streamed_answers import StreamedAnswers
from schemagen.lm.tool_caller import ToolCaller
from schemagen.prompts.messages import as_messages, check_flags, render, with_shape, with_texts
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    import os

    from typing_extensions import Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.lm.front_doors import Prompt
    from schemagen.options import DecodingOptions
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.reasoning_grammar import ReasoningFormat
    from schemagen.vocabulary import Vocabulary


@without_property_locks
class LanguageModel(SingleAnswers, BatchAnswers, StreamedAnswers, ToolCaller):
    """A causal language model whose answers are values of Python types.

    Calling it, `generate` and `batch` return values; `run` and `run_batch` return a `Generation`, which is the value with its
    text, tokens, time and masked mass. Each has a twin for asyncio, whose name begins with ``a``. Safe to share between
    threads as far as the model is: nothing here changes after construction, except caches.

    Args:
        model: With the ``generate`` of transformers' `GenerationMixin`.
        tokenizer: Its tokenizer.
        cache: A folder in which the vocabulary is kept for the next process; see `Vocabulary.from_tokenizer`.

    Attributes:
        model: As given.
        tokenizer: As given.
        cache: As given; None for "memory", which is what there is without a folder.

    Raises:
        OptionError: The cache is no path.
    """

    def __init__(self, model: Any, tokenizer: Any, *, cache: str | os.PathLike[str] | None = None) -> None:
        check_folder(cache)
        self.model = model
        self.tokenizer = tokenizer
        self.cache = None if cache == "memory" else cache

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
        return compile_grammar(spec, self.vocabulary, whitespace=whitespace, property_order=property_order)

    def generate_text(
        self,
        prompt: Prompt,
        spec: Any = None,
        *,
        seed: int | None = None,
        chat_template: bool = True,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> str:
        """Return what the model writes without any constraint; arguments as for `run`.

        Args:
            prompt: A text, or a chat.
            spec: What `run` would be asked for. Its shape is then shown in the prompt, so that both calls send the model
                the same text, and the answers differ by the constraint alone. None: only the prompt is sent.
            seed: As for `run`.
            chat_template: As for `run`.
            generate_kwargs: As for `run`.
        """
        from schemagen.decode.loop import check_options, decode_freely
        from schemagen.decode.option_names import check_names

        check_names(generate_kwargs, self.model, ("seed", "chat_template"))
        check_flags(chat_template=chat_template)
        options = check_options(generate_kwargs, self.tokenizer)
        messages = (
            as_messages(prompt) if spec is None else self._messages(prompt, self._grammar(spec), show_schema=True)
        )
        inputs = self._encode(*render(self.tokenizer, messages, chat_template=chat_template))
        token_ids = decode_freely(self.model, inputs, seed=seed, **options)
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
        """Return the exact text that `run` sends to the model; arguments as for `run`."""
        check_flags(show_schema=show_schema, chat_template=chat_template)
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

    def _thinker(self, reasoning: bool | int | Reasoning) -> ReasoningFormat | None:
        """How the model is to think before it answers; None: not at all."""
        if reasoning is False:
            return None
        from schemagen.prompts.reasoning_grammar import ReasoningFormat

        return ReasoningFormat.of(reasoning, self.tokenizer, self.vocabulary)

    def _messages(self, prompt: Prompt, grammar: Grammar, *, show_schema: bool) -> list[dict[str, Any]]:
        """The chat to render, with what the answer has to be."""
        messages = as_messages(prompt)
        if not show_schema:
            return messages
        schema = grammar.schema
        return with_texts(messages, grammar.spec) if schema is None else with_shape(messages, schema)

    @property
    def _tokenizer_kwargs(self) -> dict[str, bool]:
        """Options of the tokenizer: no warning of a text that is refused for its length, which says more and what to do."""
        from schemagen.decode.loop import context_of

        context, longest = context_of(self.model), getattr(self.tokenizer, "model_max_length", 0)
        return {} if context is None or longest < context else {"verbose": False}

    def _encode(self, text: str, templated: bool) -> dict[str, Any]:
        """Tokenize on the device of the model; a template has written its special tokens already."""
        encoded = self.tokenizer(text, return_tensors="pt", add_special_tokens=not templated, **self._tokenizer_kwargs)
        # Some tokenizers add token_type_ids, which causal models refuse.
        return {key: encoded[key].to(self.model.device) for key in ("input_ids", "attention_mask")}

"""`LanguageModel`: a transformers model that answers with instances of Python types."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from schemagen.checks import check_folder, kind_of
from schemagen.errors import OptionTypeError
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.lm.asking import Asking
from schemagen.lm.classifying import Classifying
from schemagen.lm.completing import Completing
from schemagen.lm.sampling import SampleDrawing
from schemagen.lm.tool_caller import ToolCaller
from schemagen.options.speculation import Speculation
from schemagen.prompts.messages import as_messages, render
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import Settings, reasoning_format, token_ids_of
from schemagen.threads.forking import without_property_locks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.grammar.compiler import LayoutOptions
    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.scoring import Score
    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.options import DecodingOptions, ShowSchema
    from schemagen.options.draft import Draft
    from schemagen.options.reasoning import Reasoning
    from schemagen.vocabulary import Vocabulary
    from schemagen.writers import TextFormat

T = TypeVar("T")


@without_property_locks
class LanguageModel(Asking, Classifying, Completing, SampleDrawing, ToolCaller):
    """A causal language model whose answers are values of Python types.

    Calling it, `generate` and `batch` return values; `run` and `run_batch` return a `Generation`, which is the value
    with its text, tokens, time and masked mass. Each has a twin for asyncio, whose name begins with ``a``. `map` and
    `run_map` are `batch` and `run_batch` for an iterable of any length. `complete` fills in the missing parts of a value,
    `repair` those of a text. Safe to share between
    threads as far as the model is: nothing here changes after construction, except caches.

    Args:
        model: A model with the ``generate`` of transformers' `GenerationMixin`.
        tokenizer: Its tokenizer.
        cache: A folder in which the vocabulary is kept for the next process; see `Vocabulary.from_tokenizer`.

    Attributes:
        model: As given.
        tokenizer: As given.
        cache: As given; None for "memory", the default without a folder.

    Raises:
        OptionError: The cache is not a path.
    """

    def __init__(self, model: Any, tokenizer: Any, *, cache: str | os.PathLike[str] | None = None) -> None:
        check_folder(cache)
        self.model = model
        self.tokenizer = tokenizer
        self.cache = None if cache == "memory" else cache
        self._speculation = Speculation()

    @property
    def speculation(self) -> Speculation:
        """The source of draft tokens, which let the model read several tokens at a time.

        Raises:
            OptionTypeError: The new value is not a `Speculation`.
        """
        return self._speculation

    @speculation.setter
    def speculation(self, speculation: Speculation) -> None:
        if not isinstance(speculation, Speculation):
            raise OptionTypeError(
                f"speculation is {kind_of(speculation)}",
                fix="give schemagen.lm.Speculation(...); with max_draft=0 nothing is proposed",
            )
        self._speculation = speculation

    @property
    def assistant(self) -> Any:
        """A small model with the same tokens that proposes draft tokens; None if there is none.

        Assigning one changes `speculation`. The answers stay the same.
        """
        return self.speculation.assistant

    @assistant.setter
    def assistant(self, assistant: Any) -> None:
        self.speculation = replace(self.speculation, assistant=assistant)

    def warm_up(self, spec: Any, examples: Iterable[Any] | str | os.PathLike[str]) -> int:
        """Learn the usual tokens of a type's answers from examples, so that the first answers are as fast as later ones.

        Every answer is learnt from automatically; this is for a new process, whose first answers are slow. It changes
        only the speed, never the text.

        Args:
            spec: The spec of the answers: a type, a schema, or a compiled grammar.
            examples: Values of the type, or texts; or a file of JSON Lines with a value in each.

        Returns:
            The number of examples.

        Raises:
            OptionError: An example is not a text of the type, or the file cannot be read.
        """
        from schemagen.lm.warming_up import learn_examples

        return learn_examples(self, spec, examples)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token, as wide as the logits of the model, with all its EOS ids."""
        from schemagen.vocabulary import Vocabulary

        return Vocabulary.for_model(self.tokenizer, self.model, cache=self.cache)

    @overload
    def compile(self, spec: TypedSpec[T], **options: Unpack[LayoutOptions]) -> Grammar[T]: ...
    @overload
    def compile(self, spec: TextSpec, **options: Unpack[LayoutOptions]) -> Grammar[str]: ...
    @overload
    def compile(self, spec: OtherSpec, **options: Unpack[LayoutOptions]) -> Grammar: ...
    @overload
    def compile(self, spec: TypeForm[T], **options: Unpack[LayoutOptions]) -> Grammar[T]: ...
    @overload
    def compile(self, spec: Any, **options: Unpack[LayoutOptions]) -> Grammar: ...
    def compile(
        self,
        spec: Any,
        *,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        strict: bool = True,
    ) -> Grammar:
        """Return the grammar of a type, schema, `Regex` or `Choice` over the vocabulary of this model; cached.

        Raises:
            SchemaError: As `schemagen.compile`.
        """
        layout: Any = {"whitespace": whitespace, "property_order": property_order}
        return compile_grammar(spec, self.vocabulary, **layout, as_=as_, strict=strict)

    def generate_text(
        self,
        prompt: Prompt,
        spec: Any = None,
        *,
        seed: int | None = None,
        as_: TextFormat = "json",
        chat_template: bool = True,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> str:
        """Return the model's answer without any constraint; arguments as for `run`.

        Args:
            prompt: A text, or a chat.
            spec: The spec that `run` would get. Its shape is then shown in the prompt, so that both calls send the
                model the same text, and the answers differ by the constraint alone. None to send only the prompt.
            seed: As for `run`.
            as_: As for `run`.
            chat_template: As for `run`.
            generate_kwargs: As for `run`.
        """
        from schemagen.decode.generate import decode_freely, inputs_of

        settings = Settings.of(self, {"seed": seed, **generate_kwargs}, ("seed", "as_", "chat_template"))
        form = AnswerForm(chat_template=chat_template, as_=as_)
        messages = as_messages(prompt) if spec is None else form.messages(prompt, form.grammar(self, spec))
        text, templated = render(self.tokenizer, messages, chat_template=chat_template)
        inputs = inputs_of([token_ids_of(self, text, templated=templated)], 0, self.model.device)
        token_ids = decode_freely(self.model, inputs, seed=settings.seed, **settings.generate_kwargs)
        return str(self.tokenizer.decode(token_ids, skip_special_tokens=True))

    def score(self, prompt: Prompt, text: str, *, chat_template: bool = True) -> Score:
        """Return the likelihood of a text after a prompt, in the tokenizer's tokens and in those the model would choose.

        A text that was generated without a constraint has the same perplexity both ways. One that was put together by a
        template may not, and then the model's text after it suffers.

        Args:
            prompt: A text, or a chat.
            text: The text after the prompt.
            chat_template: As for `run`.

        Raises:
            GenerationError: The prompt or the text is empty.

        Cost: two passes over prompt and text, and a greedy generation of the text.
        """
        from schemagen.lm.scoring import score

        return score(self, prompt, text, chat_template=chat_template)

    def render(
        self,
        prompt: Prompt,
        spec: Any,
        *,
        reasoning: bool | int | Reasoning = False,
        draft: bool | int | Draft = False,
        as_: TextFormat = "json",
        show_schema: ShowSchema = True,
        chat_template: bool = True,
    ) -> str:
        """Return the exact text that `run` sends to the model; arguments as for `run`."""
        form = AnswerForm(show_schema=show_schema, chat_template=chat_template, as_=as_)
        messages = form.messages(prompt, form.grammar(self, spec))
        thinker = reasoning_format(self, reasoning, draft)
        return render(self.tokenizer, messages, chat_template=chat_template, thinker=thinker)[0]

    def __repr__(self) -> str:
        """Show the model and the width of its logits."""
        return f"LanguageModel({type(self.model).__name__}, vocabulary={self.vocabulary.size})"

"""`LanguageModel`: a transformers model that answers with instances of Python types."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from pydantic import ValidationError

from schemagen.compiler import Grammar, compile as compile_grammar
from schemagen.errors import ValidationFailed, VocabularyError
from schemagen.lm.prompts import as_messages, render, with_correction, with_shape

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from typing_extensions import TypeForm

    from schemagen.compiler import Choice, Regex
    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.vocabulary import Vocabulary

    Message = Mapping[str, Any]
    Prompt = str | Sequence[Message]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Generation(Generic[T]):
    """A value and how it came about.

    Attributes:
        value: The validated instance.
        text: The text that it was read from.
        token_ids: The generated tokens, EOS included if it was generated.
        prompt_tokens: Tokens of the (last) prompt.
        seconds: Wall-clock time of the model, all attempts together.
        masked_mass: Mean probability per token that the constraint took away (0: the model wanted to write this).
        attempts: How many generations it took; more than one only with ``retries``.
    """

    value: T
    text: str
    token_ids: tuple[int, ...]
    prompt_tokens: int
    seconds: float
    masked_mass: float | None
    attempts: int = 1

    @property
    def new_tokens(self) -> int:
        """How many tokens were generated."""
        return len(self.token_ids)


class LanguageModel:
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
        show_schema: bool = True,
        chat_template: bool = True,
        **generate_kwargs: Any,
    ) -> Generation[Any]:
        """Return the model's answer as a value of `spec`, with its text, tokens and time.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            retries: How often to ask again, with the reasons, when a validator of the type refuses the value.
            seed: Makes sampling reproducible; the global random state is left alone.
            whitespace: As for `schemagen.compile`; of no effect on a compiled grammar.
            property_order: As for `schemagen.compile`; of no effect on a compiled grammar.
            show_schema: Whether the shape of the schema is appended to the prompt.
            chat_template: Whether the chat template of the tokenizer is used, if there is one.
            generate_kwargs: Passed on to ``model.generate``: ``max_new_tokens`` (default 512), ``num_beams``,
                ``temperature``, ... Decoding is greedy, whatever the model's generation_config says, unless
                ``do_sample=True`` or a sampling option such as ``temperature`` is given.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            BudgetError: The text was not complete within ``max_new_tokens``.
            ValidationFailed: A custom validator refused the value, also after ``retries``.
            ValueError: As transformers raises it, for options it does not know.
        """
        from schemagen.decode.loop import decode

        grammar = self._grammar(spec, whitespace=whitespace, property_order=property_order)
        messages = self._messages(prompt, grammar, show_schema=show_schema)
        seconds = 0.0
        for attempt in count(1):
            inputs = self._encode(*render(self.tokenizer, messages, chat_template=chat_template))
            found = decode(self.model, inputs, grammar, seed=seed, **generate_kwargs)
            seconds += found.seconds
            try:
                value = grammar.validate(found.text)
            except ValidationError as error:
                if attempt > retries:
                    raise _validation_failed(found.text, error, attempts=attempt) from error
                messages = with_correction(messages, found.text, _reasons(error))
            else:
                facts = (found.text, found.token_ids, found.prompt_tokens, seconds, found.masked_mass, attempt)
                return Generation(value, *facts)
        raise AssertionError("count() has no end")

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

    def render(self, prompt: Prompt, spec: Any, *, show_schema: bool = True, chat_template: bool = True) -> str:
        """Return the exact text that `generate` sends to the model; arguments as for `generate`."""
        grammar = self._grammar(spec)
        messages = self._messages(prompt, grammar, show_schema=show_schema)
        return render(self.tokenizer, messages, chat_template=chat_template)[0]

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

    def _messages(self, prompt: Prompt, grammar: Grammar, *, show_schema: bool) -> list[dict[str, Any]]:
        """The chat to render; patterns and choices have no schema to show."""
        messages = as_messages(prompt)
        return with_shape(messages, grammar.schema) if show_schema and grammar.schema is not None else messages

    def _encode(self, text: str, templated: bool) -> dict[str, Any]:
        """Tokenize on the device of the model; a template has written its special tokens already."""
        encoded = self.tokenizer(text, return_tensors="pt", add_special_tokens=not templated)
        # Some tokenizers add token_type_ids, which causal models refuse.
        return {key: encoded[key].to(self.model.device) for key in ("input_ids", "attention_mask")}


def _reasons(error: ValidationError) -> str:
    """One line per refused part, as a model can use them."""
    lines = (f"- {'.'.join(str(step) for step in part['loc']) or 'value'}: {part['msg']}" for part in error.errors())
    return "\n".join(lines)


def _validation_failed(text: str, error: ValidationError, *, attempts: int) -> ValidationFailed:
    first = error.errors()[0]
    return ValidationFailed(
        f"a validator of {error.title} refused the value: {first['msg']}",
        text=text,
        error=error,
        attempts=attempts,
        at=".".join(str(step) for step in first["loc"]),
        why=f"the text satisfies the schema; {attempts} attempt(s), {error.error_count()} complaint(s)",
        fix="state the rule in the schema (bounds, pattern, Literal), or allow more retries",
    )

"""`SampleDrawing`: the method of a `LanguageModel` that draws samples from the model's own law among the values of a type."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypedDict, overload

from typing_extensions import TypeVar

from schemagen.checks import as_text, check_count, check_seed
from schemagen.errors import LimitError, OptionError, ValidationFailed
from schemagen.generation import Generation
from schemagen.options.required import requires
from schemagen.options.sampling import Sampling
from schemagen.options.values import check_tokenization
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.settings import ModelAccess, Settings, canonical_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import TypeForm, Unpack

    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.options import ShowSchema, Tokenization
    from schemagen.sampling.drawing import Sampler
    from schemagen.sampling.samples import Samples
    from schemagen.sampling.texts import Beginning

T = TypeVar("T", default=Any)


class SampleOptions(TypedDict, total=False):
    """The options of `sample`, for type checkers."""

    sampler: Sampler
    sampling: Sampling
    seed: int | None
    max_new_tokens: int | None
    max_attempts: int
    tokenization: Tokenization
    show_schema: ShowSchema
    chat_template: bool


class SampleDrawing(ModelAccess):
    """The method of a `LanguageModel` that draws samples; mixed into it."""

    @overload
    def sample(
        self, prompt: Prompt, spec: TypedSpec[T], n: int = ..., **options: Unpack[SampleOptions]
    ) -> Samples[T]: ...
    @overload
    def sample(
        self, prompt: Prompt, spec: TextSpec, n: int = ..., **options: Unpack[SampleOptions]
    ) -> Samples[str]: ...
    @overload
    def sample(
        self, prompt: Prompt, spec: OtherSpec, n: int = ..., **options: Unpack[SampleOptions]
    ) -> Samples[Any]: ...
    @overload
    def sample(
        self, prompt: Prompt, spec: TypeForm[T], n: int = ..., **options: Unpack[SampleOptions]
    ) -> Samples[T]: ...
    @requires("prompt", "spec", call="lm.sample(prompt, Person, 20)")
    def sample(  # noqa: PLR0913 - options of sampling
        self,
        prompt: Prompt,
        spec: Any,
        n: int = 1,
        *,
        sampler: Sampler = "rejection",
        sampling: Sampling = Sampling(),  # noqa: B008 - it never changes
        seed: int | None = None,
        max_new_tokens: int | None = None,
        max_attempts: int = 10_000,
        tokenization: Tokenization = "any",
        show_schema: ShowSchema = True,
        chat_template: bool = True,
    ) -> Samples[Any]:
        """Return values drawn from the model's own law among the values of `spec`, with their weights.

        Decoding under a mask draws from another law (``docs/concepts/distributions.md``). Values that a validator refuses count
        as outside of the type.

        Args:
            prompt: A text, or a chat.
            spec: As for `run`.
            n: How many.
            sampler: "rejection" draws exact samples of equal weight, in as many attempts as that takes. "smc" writes all
                samples side by side and lets them compete, "mask" draws under the mask, "awrs" does the same without masks;
                their samples are right with their weights, the more of them the better.
            sampling: How the law that is conditioned follows from the model's scores; by default it is the model's own.
            seed: Equal seeds give equal samples.
            max_new_tokens: As for `run`. Texts that are longer count as outside of the type.
            max_attempts: Attempts of "rejection" for all samples together.
            tokenization: "canonical" to condition on the tokens that the tokenizer writes, so that each text has one
                probability and not one for each way to spell it.
            show_schema: As for `run`.
            chat_template: As for `run`.

        Raises:
            OptionError: An option is invalid.
            LimitError: The attempts are used up: the model hardly ever writes a text of the type.
            ValidationFailed: Validators refused all samples.
            BudgetError: As `run`.

        Cost: a pass of the model for each token, over all samples together; common beginnings are read once.
        """
        from schemagen.decode.budget import budget_of, check_budget, default_budget
        from schemagen.decode.options import check_options, complete_options
        from schemagen.decode.row_sampling import seed_of
        from schemagen.sampling.drawing import SAMPLERS, draw_texts
        from schemagen.sampling.samples import Samples

        if sampler not in SAMPLERS:
            raise OptionError(
                f"sampler={as_text(sampler)}",
                why=f"there are {', '.join(map(repr, SAMPLERS))}",
                fix="give one of them; lm(prompt, spec, temperature=1.0) draws a single value under the mask",
            )
        given: Any = sampling
        if not isinstance(given, Sampling) or not given.temperature:
            raise OptionError(
                f"sampling={as_text(sampling)}",
                why="samples are drawn at random, as a schemagen.Sampling with a temperature above 0 says",
                fix="give Sampling(temperature=...); for the likeliest answer lm(prompt, spec)",
            )
        check_count("n", n)
        check_count("max_attempts", max_attempts)
        check_tokenization(tokenization)
        settings = Settings(
            self,
            check_options({"max_new_tokens": max_new_tokens}, self.tokenizer),
            seed=check_seed(seed),
            canonical=canonical_tokens(self, tokenization),
        )
        form = AnswerForm(show_schema=show_schema, chat_template=chat_template)
        request = AnswerRequest.of(settings, form, prompt, form.grammar(self, spec))
        prepared, began = request.prepare(), time.perf_counter()
        grammar, length = request.grammar, len(prepared.token_ids)
        completed = complete_options(
            self.model, length, dict(settings.generate_kwargs), default=default_budget(grammar)
        )
        budget = budget_of(self.model, completed, length) or 0
        check_budget(grammar, budget)
        accepts = _Judge(grammar.validate, grammar.vocabulary.decode, grammar.vocabulary.eos_token_ids)
        try:
            drawn = draw_texts(
                self.model,
                prepared.token_ids,
                grammar,
                n,
                sampler=sampler,
                sampling=sampling,
                budget=budget,
                seed=seed_of(settings.seed),
                accepts=accepts,
                max_attempts=max_attempts,
                canonical=None if settings.canonical is None else settings.canonical.text(),
            )
        except LimitError as error:
            if accepts.error is None or accepts.has_accepted:
                raise
            raise accepts.error from error
        seconds = (time.perf_counter() - began) / n
        kept = [text for text in drawn.texts if not text.is_dead and accepts(text)]
        for text in kept:
            del text.token_ids[budget:]  # an EOS beyond it
        if not kept:
            raise accepts.error or _nothing(sampling)
        found = [accepts.generation(text, length, seconds) for text in kept]
        return Samples(found, sampler, drawn.log_evidence, drawn.attempts)


def _nothing(sampling: Sampling) -> LimitError:
    return LimitError(
        "no text of the type has any probability",
        why=f"{sampling!r} cuts off all tokens that its texts would need",
        fix="leave top_k, top_p and the like out: they shape the law before it is conditioned",
    )


class _Judge:
    """Validates texts, each once.

    Attributes:
        error: Of the last text that was refused.
        has_accepted: Whether a text was accepted.
    """

    def __init__(
        self, validate: Callable[[str], Any], decode: Callable[[list[int]], bytes], ends: tuple[int, ...]
    ) -> None:
        self._validate, self._decode, self._ends = validate, decode, ends
        self._known: dict[str, tuple[bool, Any]] = {}
        self.error: ValidationFailed | None = None
        self.has_accepted = False

    def _text(self, text: Beginning) -> str:
        return self._decode([token_id for token_id in text.token_ids if token_id not in self._ends]).decode()

    def __call__(self, text: Beginning) -> bool:
        """Whether a complete text is a value."""
        written = self._text(text)
        if written not in self._known:
            try:
                self._known[written] = True, self._validate(written)
            except ValidationFailed as error:
                self.error, self._known[written] = error, (False, None)
        self.has_accepted |= self._known[written][0]
        return self._known[written][0]

    def generation(self, text: Beginning, prompt_tokens: int, seconds: float) -> Generation[Any]:
        """Return the generation of a text that is a value."""
        written = self._text(text)
        return Generation(
            self._known[written][1],
            written,
            tuple(text.token_ids),
            prompt_tokens=prompt_tokens,
            seconds=seconds,
            masked_mass=None,
            log_weight=text.log_weight,
        )

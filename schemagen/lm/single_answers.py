"""`SingleAnswers`: the methods of a `LanguageModel` for one prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from schemagen.lm.threads import in_thread
from schemagen.options import GenerateOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.pipeline import complete_request
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from schemagen.engine.options import PropertyOrder, WhitespacePolicy
    from schemagen.generation import Generation
    from schemagen.lm.front_doors import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.options import DecodingOptions
    from schemagen.prompts.reasoning import Reasoning
    from schemagen.prompts.renderings import ShowSchema
    from schemagen.writers.formats import TextFormat

T = TypeVar("T")


class SingleAnswers(ModelAccess):
    """The methods of a `LanguageModel` for one prompt.

    Calling the model and `generate` return the value, `run` returns its `Generation`.
    """

    @overload
    def __call__(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    def __call__(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    def __call__(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    def __call__(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="lm(prompt, Person)")
    def __call__(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Return the model's answer to the prompt as a value of `spec`; the same as `generate`.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type (the value is an instance of it), a JSON Schema (parsed JSON), a `Regex` or a list of texts (a
                str), a `Choice` (a str, or a member of its enum), or a compiled grammar.
            options: Those of `run`.

        Raises:
            GenerationError: As `run`.
            OptionError: As `run`.
        """
        return self.run(prompt, spec, **options).value

    @overload
    def generate(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    def generate(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    def generate(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    def generate(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="lm.generate(prompt, Person)")
    def generate(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Return the model's answer to the prompt as a value of `spec`.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type (the value is an instance of it), a JSON Schema (parsed JSON), a `Regex` or a list of texts (a
                str), a `Choice` (a str, or a member of its enum), or a compiled grammar.
            options: Those of `run`.

        Raises:
            GenerationError: As `run`.
            OptionError: As `run`.
        """
        return self.run(prompt, spec, **options).value

    @overload
    async def agenerate(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> T: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> str: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Any: ...
    @overload
    async def agenerate(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> T: ...
    @requires("prompt", "spec", call="await lm.agenerate(prompt, Person)")
    async def agenerate(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Any:
        """Like `generate`, in a thread, without blocking the event loop."""
        found: Generation[Any] = await in_thread(self.run, prompt, spec, **options)
        return found.value

    @overload
    def run(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @overload
    def run(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> Generation[str]: ...
    @overload
    def run(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Generation[Any]: ...
    @overload
    def run(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @requires("prompt", "spec", call="lm.run(prompt, Person)")
    def run(  # noqa: PLR0913 - the one call that users tune
        self,
        prompt: Prompt,
        spec: Any,
        *,
        retries: int = 0,
        seed: int | None = None,
        whitespace: WhitespacePolicy = "flexible",
        property_order: PropertyOrder = "schema",
        as_: TextFormat = "json",
        reasoning: bool | int | Reasoning = False,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
        heal: bool = False,
        **generate_kwargs: Unpack[DecodingOptions],
    ) -> Generation[Any]:
        """Return the model's answer as a value of `spec`, with its text, tokens, time and masked mass.

        Args:
            prompt: A text, or a chat (``[{"role": "user", "content": "..."}]``).
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            retries: How often to ask again, with the reasons, when a validator of the type or the check of a keyword
                that is not enforced (``strict=False``) refuses the value.
            seed: Makes sampling reproducible; the global random state is left alone. A row of `batch` with this seed
                has the same text.
            whitespace: As for `schemagen.compile`; of no effect on a compiled grammar.
            property_order: As for `schemagen.compile`; of no effect on a compiled grammar.
            as_: How the value is written, as for `schemagen.compile`: "json", "python", "yaml", "xml", "csv" or
                "markdown"; a compiled grammar has its own.
            reasoning: Whether the model thinks freely before it answers, in the format of its chat template. True for
                up to 1024 tokens; a number for up to that many; a `schemagen.lm.Reasoning` for markers of your own. The
                thoughts are in `Generation.reasoning`, and the answer is as constrained as without them.
            show_schema: Whether the schema, the options or the pattern are appended to the prompt. Of a schema, how:
                "shape", which True means, "json_schema", "example" or "typescript"; docs/guides/prompts.md compares
                them.
            chat_template: Whether the chat template of the tokenizer is used, if there is one.
            heal: Whether the last tokens of the prompt are written again, so that the answer may share a token with
                them. For prompts that go over into the answer, with ``chat_template=False``.
            generate_kwargs: Passed on to ``model.generate``: ``max_new_tokens`` (default 512, and those of
                ``reasoning``; it covers both, and thoughts end in time for the shortest answer), ``num_beams``,
                ``temperature``, ... Decoding is greedy, whatever the model's generation_config says, unless
                ``do_sample=True`` or a sampling option such as ``temperature`` is given; ``temperature=0`` is greedy,
                too. `schemagen.options.GenerateOptions` lists them.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            OptionError: An option is unknown (checked before the model works), or its value is invalid; or the model is
                asked to think, and its chat template supports no thoughts.
            BudgetError: ``max_new_tokens`` is below the length of the shortest text.
            ValidationFailed: A custom validator, or the check of a keyword, refused the value, even after ``retries``.
        """
        options = {"retries": retries, "seed": seed, "reasoning": reasoning, **generate_kwargs}
        settings = Settings.of(self, options, names_of(GenerateOptions))
        form = AnswerForm(whitespace, property_order, show_schema, chat_template, as_, heal)
        return complete_request(AnswerRequest.of(settings, form, prompt, form.grammar(self, spec)))

    @overload
    async def arun(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: TextSpec, **options: Unpack[GenerateOptions]) -> Generation[str]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[GenerateOptions]) -> Generation[Any]: ...
    @overload
    async def arun(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[GenerateOptions]) -> Generation[T]: ...
    @requires("prompt", "spec", call="await lm.arun(prompt, Person)")
    async def arun(self, prompt: Prompt, spec: Any, **options: Unpack[GenerateOptions]) -> Generation[Any]:
        """Like `run`, in a thread, without blocking the event loop."""
        found: Generation[Any] = await in_thread(self.run, prompt, spec, **options)
        return found

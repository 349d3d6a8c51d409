"""`Classifying`: the methods of a `LanguageModel` that weigh the options of a type with few values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, overload

from typing_extensions import TypeVar

from schemagen.checks import check_count, check_number
from schemagen.generation import Failure
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from schemagen.confidence.distribution import Distribution
    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.spec_types import OtherSpec, Prompt, Prompts, TextSpec, TypedSpec
    from schemagen.options import ShowSchema

T = TypeVar("T", default=Any)


class ClassifyOptions(TypedDict, total=False):
    """The options of `classify`, for type checkers."""

    temperature: float
    max_nodes: int
    show_schema: ShowSchema
    chat_template: bool


class ClassifyBatchOptions(ClassifyOptions, total=False):
    """The options of `classify_batch`, for type checkers."""

    progress: bool | None


class Classifying(ModelAccess):
    """The methods of a `LanguageModel` that return distributions; mixed into it."""

    @overload
    def classify(self, prompt: Prompt, spec: TypedSpec[T], **options: Unpack[ClassifyOptions]) -> Distribution[T]: ...
    @overload
    def classify(self, prompt: Prompt, spec: TextSpec, **options: Unpack[ClassifyOptions]) -> Distribution[str]: ...
    @overload
    def classify(self, prompt: Prompt, spec: OtherSpec, **options: Unpack[ClassifyOptions]) -> Distribution[Any]: ...
    @overload
    def classify(self, prompt: Prompt, spec: TypeForm[T], **options: Unpack[ClassifyOptions]) -> Distribution[T]: ...
    @requires("prompt", "spec", call='lm.classify(prompt, Literal["yes", "no"])')
    def classify(
        self,
        prompt: Prompt,
        spec: Any,
        *,
        temperature: float = 1.0,
        max_nodes: int = 1024,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
    ) -> Distribution[Any]:
        """Return the probability of each option of a type with few values, over all texts and tokens that write it.

        The model reads the beginnings of the options, the likeliest first, until no probability is further than a millionth
        from its exact value. Nothing is drawn, so the result is always the same.

        Args:
            prompt: A text, or a chat.
            spec: ``Literal[...]``, an Enum, ``bool``, an int with bounds, unions of these, a `Choice`, or a list of texts.
            temperature: As for `Distribution.at_temperature`; `schemagen.confidence.fit_temperature` fits one to labelled
                examples.
            max_nodes: How many beginnings of answers the model reads, at most. `Distribution.error` says how far off the
                probabilities may be then.
            show_schema: As for `run`.
            chat_template: As for `run`.

        Raises:
            OptionError: The type has more than 1,000 values, or an option is invalid.
            SchemaError: As `run`.
            BudgetError: The prompt leaves no room in the context of the model.

        Cost: a pass of the model over the prompt, and usually three to ten over a few dozen beginnings of the options.
        """
        form = _form(temperature, max_nodes, show_schema=show_schema, chat_template=chat_template)
        return self._classified(form, prompt, form.grammar(self, spec), temperature, max_nodes)

    @overload
    def classify_batch(
        self, prompts: Prompts, spec: TypedSpec[T], **options: Unpack[ClassifyBatchOptions]
    ) -> list[Distribution[T] | Failure]: ...
    @overload
    def classify_batch(
        self, prompts: Prompts, spec: TextSpec, **options: Unpack[ClassifyBatchOptions]
    ) -> list[Distribution[str] | Failure]: ...
    @overload
    def classify_batch(
        self, prompts: Prompts, spec: OtherSpec, **options: Unpack[ClassifyBatchOptions]
    ) -> list[Distribution[Any] | Failure]: ...
    @overload
    def classify_batch(
        self, prompts: Prompts, spec: TypeForm[T], **options: Unpack[ClassifyBatchOptions]
    ) -> list[Distribution[T] | Failure]: ...
    @requires("prompts", "spec", call='lm.classify_batch(prompts, Literal["yes", "no"])')
    def classify_batch(
        self,
        prompts: Prompts,
        spec: Any,
        *,
        temperature: float = 1.0,
        max_nodes: int = 1024,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
        progress: bool | None = None,
    ) -> list[Any]:
        """Return the distribution of every prompt, or the failure of its row, in the order of the prompts.

        Args:
            prompts: Texts or chats.
            spec: As for `classify`, for all rows; a list of texts is a choice here, too.
            temperature: As for `classify`.
            max_nodes: As for `classify`.
            show_schema: As for `run`.
            chat_template: As for `run`.
            progress: As for `run_batch`.

        Raises:
            OptionError: As `classify`; or the prompts are a single text or chat.
            SchemaError: As `classify`.

        Cost: that of `classify` for each prompt, one after the other.
        """
        from schemagen.confidence.finite import texts_of
        from schemagen.lm.batch import failure_of, prompts_of, raise_misuse
        from schemagen.lm.progress import ProgressBar

        form = _form(temperature, max_nodes, show_schema=show_schema, chat_template=chat_template)
        given, grammar = prompts_of(prompts), form.grammar(self, spec)
        texts_of(grammar)  # a type with many values is the error of no row
        found: list[Distribution[Any] | Failure] = []
        with ProgressBar(len(given), wanted=progress) as bar:
            for index, prompt in enumerate(given):
                try:
                    found.append(self._classified(form, prompt, grammar, temperature, max_nodes))
                except Exception as error:  # noqa: BLE001 - a prompt can be wrong in any way
                    found.append(failure_of(index, prompt, error))
                bar.advance(failed=int(isinstance(found[-1], Failure)))
        raise_misuse(found)
        return found

    def _classified(
        self, form: AnswerForm, prompt: Prompt, grammar: Grammar[Any], temperature: float, max_nodes: int
    ) -> Distribution[Any]:
        from schemagen.confidence.options import options_after
        from schemagen.decode.options import complete_options

        prompt_ids = AnswerRequest.of(Settings(self, {}), form, prompt, grammar).prepare().token_ids
        complete_options(self.model, len(prompt_ids), {})  # raises if the prompt is empty, or fills the context
        return options_after(self.model, prompt_ids, grammar, max_nodes=max_nodes).at_temperature(temperature)


def _form(temperature: float, max_nodes: int, *, show_schema: ShowSchema, chat_template: bool) -> AnswerForm:
    """Return the form of the answers; refuse invalid options before anything is compiled.

    Raises:
        OptionError: An option is invalid.
    """
    check_number("temperature", temperature, above=0, fix="give a number above 0; 1 changes nothing")
    check_count("max_nodes", max_nodes)
    return AnswerForm(show_schema=show_schema, chat_template=chat_template)

"""`Classifying`: the method of a `LanguageModel` that weighs the options of a type with few values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeVar

from schemagen.checks import check_count, check_number
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm, AnswerRequest
from schemagen.request.settings import ModelAccess, Settings

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from schemagen.confidence.distribution import Distribution
    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec
    from schemagen.options import ShowSchema

T = TypeVar("T", default=Any)


class Classifying(ModelAccess):
    """The method of a `LanguageModel` that returns distributions; mixed into it."""

    @overload
    def classify(
        self,
        prompt: Prompt,
        spec: TypedSpec[T],
        *,
        calibration: float = ...,
        max_nodes: int = ...,
        show_schema: ShowSchema = ...,
        chat_template: bool = ...,
    ) -> Distribution[T]: ...
    @overload
    def classify(
        self,
        prompt: Prompt,
        spec: TextSpec,
        *,
        calibration: float = ...,
        max_nodes: int = ...,
        show_schema: ShowSchema = ...,
        chat_template: bool = ...,
    ) -> Distribution[str]: ...
    @overload
    def classify(
        self,
        prompt: Prompt,
        spec: OtherSpec,
        *,
        calibration: float = ...,
        max_nodes: int = ...,
        show_schema: ShowSchema = ...,
        chat_template: bool = ...,
    ) -> Distribution[Any]: ...
    @overload
    def classify(
        self,
        prompt: Prompt,
        spec: TypeForm[T],
        *,
        calibration: float = ...,
        max_nodes: int = ...,
        show_schema: ShowSchema = ...,
        chat_template: bool = ...,
    ) -> Distribution[T]: ...
    @requires("prompt", "spec", call='lm.classify(prompt, Literal["yes", "no"])')
    def classify(
        self,
        prompt: Prompt,
        spec: Any,
        *,
        calibration: float = 1.0,
        max_nodes: int = 1024,
        show_schema: ShowSchema = True,
        chat_template: bool = True,
    ) -> Distribution[Any]:
        """Return the probability of each option of a type with few values: exactly, over all texts and tokens of each.

        Args:
            prompt: A text, or a chat.
            spec: ``Literal[...]``, an Enum, ``bool``, an int with bounds, unions of these, a `Choice`, or a list of texts.
            calibration: A temperature that `schemagen.confidence.fit_temperature` has fitted to labelled examples.
            max_nodes: How many beginnings of answers the model reads, at most. `Distribution.error` says how far off the
                probabilities may be then.
            show_schema: As for `run`.
            chat_template: As for `run`.

        Raises:
            OptionError: The type has more than 1,000 values, or an option is invalid.
            SchemaError: As `run`.

        Cost: a pass of the model over the prompt, and usually one to three over the beginnings of the options.
        """
        from schemagen.confidence.options import options_after

        check_number("calibration", calibration, above=0, fix="give a temperature above 0; 1 changes nothing")
        check_count("max_nodes", max_nodes)
        form = AnswerForm(show_schema=show_schema, chat_template=chat_template)
        request = AnswerRequest.of(Settings(self, {}), form, prompt, form.grammar(self, spec))
        prompt_ids = request.prepare().token_ids
        found = options_after(self.model, prompt_ids, request.grammar, max_nodes=max_nodes)
        return found if calibration == 1 else found.at_temperature(calibration)

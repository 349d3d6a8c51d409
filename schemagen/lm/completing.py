"""`Completing`: the methods of a `LanguageModel` that start from a part of the answer.

| values     | records        | for                                    |
|------------|----------------|----------------------------------------|
| `complete` | `run_complete` | a value of which some parts are given  |
| `repair`   | `run_repair`   | a text that is nearly one of the value |

Each has a twin for asyncio, whose name begins with ``a``, as in `Asking`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from typing_extensions import TypeVar

from schemagen.lm.asking import in_thread
from schemagen.options import GenerateOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import ModelAccess

if TYPE_CHECKING:
    from typing_extensions import TypeForm, Unpack

    from schemagen.generation import Generation
    from schemagen.lm.repairing import Repair
    from schemagen.lm.spec_types import OtherSpec, Prompt, TextSpec, TypedSpec

T = TypeVar("T", default=Any)


class Completing(ModelAccess):
    """The methods of a `LanguageModel` that start from a part of the answer; mixed into it."""

    @overload
    def complete(
        self, partial: Any, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @overload
    def complete(
        self, partial: Any, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any: ...
    @overload
    def complete(
        self, partial: Any, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @requires("partial", "spec", call='lm.complete({"name": "Ada"}, Person)')
    def complete(
        self, partial: Any, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any:
        """Return a value whose given parts are kept, and whose missing parts the model writes.

        Args:
            partial: As for `run_complete`.
            spec: As for `run_complete`.
            prompt: As for `run_complete`.
            options: Those of `run`.

        Raises:
            GenerationError: As `run_complete`.
            OptionError: As `run_complete`.

        Example:
            ```python
            person = lm.complete({"name": "Ada Lovelace"}, Person, prompt="Ada Lovelace, 36, London")
            ```
        """
        return self.run_complete(partial, spec, prompt, **options).value

    @overload
    async def acomplete(
        self, partial: Any, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @overload
    async def acomplete(
        self, partial: Any, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any: ...
    @overload
    async def acomplete(
        self, partial: Any, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @requires("partial", "spec", call='await lm.acomplete({"name": "Ada"}, Person)')
    async def acomplete(
        self, partial: Any, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any:
        """Like `complete`, in a thread, without blocking the event loop."""
        return await in_thread(self.complete, partial, spec, prompt, **options)

    @overload
    def run_complete(
        self, partial: Any, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[T]: ...
    @overload
    def run_complete(
        self, partial: Any, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[Any]: ...
    @overload
    def run_complete(
        self, partial: Any, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[T]: ...
    @requires("partial", "spec", call='lm.run_complete({"name": "Ada"}, Person)')
    def run_complete(
        self, partial: Any, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[Any]:
        """Return the `Generation` of a value whose given parts are kept, and whose missing parts the model writes.

        The text has the order of the fields of the type. The model reads all given parts in the prompt, so that it knows those
        after a missing one, too. If a single value has the given parts, it is the answer, and the model is not called.

        Args:
            partial: The given parts. A dict has keys by name or alias; a dict in it gives only some members, too. A list is
                given whole, and so are the dicts in it, except one that lacks a required member. Of an instance of a
                pydantic class the fields that were set are given, of a `schemagen.Partial` those that are not None, of a
                dataclass those that are not None or may not be None by default; dicts in an instance are whole.
            spec: A type, a JSON Schema, or a grammar compiled from one.
            prompt: A text, or a chat; None to ask only that the value be completed.
            options: Those of `run`.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            OptionError: The type forbids a given part (``at`` is its JSON pointer; checked before the model works), a part
                has no JSON form, or an option is invalid.
            BudgetError: ``max_new_tokens`` is below the length of the shortest text.
            ValidationFailed: A custom validator refused the value, even after ``retries``; or one changes a field of a given
                instance.

        Cost: compiling the type with the given parts, a few milliseconds, besides that of `run`.
        """
        from schemagen.lm.filling import complete

        settings, form = AnswerForm.of_call(self, options, names_of(GenerateOptions))
        return complete(settings, form, partial, spec, prompt)

    @overload
    async def arun_complete(
        self, partial: Any, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[T]: ...
    @overload
    async def arun_complete(
        self, partial: Any, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[Any]: ...
    @overload
    async def arun_complete(
        self, partial: Any, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Generation[T]: ...
    @requires("partial", "spec", call='await lm.arun_complete({"name": "Ada"}, Person)')
    async def arun_complete(
        self, partial: Any, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any:
        """Like `run_complete`, in a thread, without blocking the event loop."""
        return await in_thread(self.run_complete, partial, spec, prompt, **options)

    @overload
    def repair(
        self, text: str, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @overload
    def repair(
        self, text: str, spec: TextSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> str: ...
    @overload
    def repair(
        self, text: str, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any: ...
    @overload
    def repair(
        self, text: str, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @requires("text", "spec", call="lm.repair(text, Person)")
    def repair(self, text: str, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]) -> Any:
        """Return the value that a nearly valid text was meant to be.

        Args:
            text: As for `run_repair`.
            spec: As for `run_repair`.
            prompt: As for `run_repair`.
            options: Those of `run`.

        Raises:
            GenerationError: As `run_repair`.
            LimitError: As `run_repair`.
            OptionError: As `run_repair`.

        Example:
            ```python
            person = lm.repair("Sure! {'name': 'Ada', 'age': '36',", Person)
            ```
        """
        return self.run_repair(text, spec, prompt, **options).value

    @overload
    async def arepair(
        self, text: str, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @overload
    async def arepair(
        self, text: str, spec: TextSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> str: ...
    @overload
    async def arepair(
        self, text: str, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any: ...
    @overload
    async def arepair(
        self, text: str, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> T: ...
    @requires("text", "spec", call="await lm.arepair(text, Person)")
    async def arepair(
        self, text: str, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any:
        """Like `repair`, in a thread, without blocking the event loop."""
        return await in_thread(self.repair, text, spec, prompt, **options)

    @overload
    def run_repair(
        self, text: str, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[T]: ...
    @overload
    def run_repair(
        self, text: str, spec: TextSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[str]: ...
    @overload
    def run_repair(
        self, text: str, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[Any]: ...
    @overload
    def run_repair(
        self, text: str, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[T]: ...
    @requires("text", "spec", call="lm.run_repair(text, Person)")
    def run_repair(
        self, text: str, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[Any]:
        """Return the value that a nearly valid text was meant to be, with the edits that lead to its text.

        A valid text comes back as it is. Otherwise the cheapest edits are searched for: single characters that are deleted or
        inserted, and in JSON the usual mistakes of models as a whole, such as prose around the value, other quotes, ``True``,
        comments, members too many. Where a value has to be invented, because it is missing or its letters or digits would
        change, the model writes it; everything else is kept.

        The optimum: no sequence of these edits to a text of the spec is cheaper, with keys in the order of the text, and the
        shortest end after its last character. It is found without the model, so that it is the same for every model, and says
        nothing about likelihood. The values that the model writes are then not optimal in any sense, but decoded as in `run`.
        For patterns, choices and grammars the cheapest edits alone decide, and the model is not called.

        Args:
            text: The text, at most 20,000 characters.
            spec: A type, a JSON Schema, a `Regex`, a `Choice`, or a grammar compiled with `compile`.
            prompt: What the text was to answer, a text or a chat, so that missing values can be found there; None if it is not
                known.
            options: Those of `run`. The repaired text has the ``whitespace`` and ``property_order`` of the options or of the
                compiled grammar; any of these if neither names it.

        Raises:
            SchemaError: The type or schema cannot be compiled.
            LimitError: The text is too long, or too far from a valid one.
            OptionError: An option is invalid, or the format is not JSON.
            ValidationFailed: A custom validator refused the value, even after ``retries``.

        Cost: tenths of a second for a few mistakes, seconds for a text that is hardly one of the spec; with missing values
        that of `complete` besides.
        """
        from schemagen.grammar.grammar import Grammar
        from schemagen.lm.repairing import Valid, repair

        settings, form = AnswerForm.of_call(self, options, names_of(GenerateOptions))
        whole = form.grammar(self, spec)
        is_free = not isinstance(spec, Grammar) and form.as_ == "json" and whole.schema is not None
        free: Any = {name: "any" for name in ("whitespace", "property_order") if is_free and name not in options}
        ordered = None
        if "property_order" in free:
            ordered = replace(form, **{**free, "property_order": "schema"}).grammar(self, spec)
        valid = Valid(replace(form, **free).grammar(self, spec), ordered, any_layout=len(free) == 2)
        return repair(settings, form, text, prompt, valid=valid, whole=whole)

    @overload
    async def arun_repair(
        self, text: str, spec: TypedSpec[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[T]: ...
    @overload
    async def arun_repair(
        self, text: str, spec: TextSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[str]: ...
    @overload
    async def arun_repair(
        self, text: str, spec: OtherSpec, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[Any]: ...
    @overload
    async def arun_repair(
        self, text: str, spec: TypeForm[T], prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Repair[T]: ...
    @requires("text", "spec", call="await lm.arun_repair(text, Person)")
    async def arun_repair(
        self, text: str, spec: Any, prompt: Prompt | None = None, **options: Unpack[GenerateOptions]
    ) -> Any:
        """Like `run_repair`, in a thread, without blocking the event loop."""
        return await in_thread(self.run_repair, text, spec, prompt, **options)

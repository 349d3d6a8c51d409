"""Fill in the missing parts of a value: see `LanguageModel.complete`.

Idea: the type, intersected with a JSON Schema of the given parts, is compiled like any other spec. So the request is an
ordinary one: given parts are text without a choice, and a given part that the type forbids leaves a schema without
instances, which is found before the model works.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from schemagen.errors import OptionError, UnsatisfiableSchemaError, ValidationFailed
from schemagen.events import Path
from schemagen.generation import Generation
from schemagen.request.answer_request import AnswerRequest
from schemagen.request.attempts import complete_request
from schemagen.schema.document import draft_of
from schemagen.streaming.field_types import FieldTypes
from schemagen.streaming.given_parts import (
    Hole,
    Items,
    Object,
    PartialReader,
    alone,
    check_partial,
    closed,
    json_of,
    leaves,
    only,
    schema_of,
)
from schemagen.streaming.partial import origin_of_partial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemagen.grammar.grammar import Grammar
    from schemagen.lm.spec_types import Prompt
    from schemagen.request.answer_request import AnswerForm
    from schemagen.request.settings import Settings
    from schemagen.streaming.given_parts import Given

#: The prompt of a call without one.
DEFAULT_PROMPT = "Complete this value."
_KEEP = "These parts of the answer are given. Write them as they are, and add the missing ones:"


@dataclasses.dataclass(frozen=True, slots=True)
class Filling:
    """The values of a type that have given parts.

    Attributes:
        whole: The grammar of the type.
        given: The parts.
    """

    whole: Grammar
    given: Given

    @classmethod
    def of(cls, whole: Grammar, partial: Any) -> Filling:
        """Read a partial value.

        Raises:
            OptionError: It is none, a part has no JSON form, or the spec of the grammar has no parts.
        """
        check_partial(partial)
        given = PartialReader(FieldTypes(_type_of(whole))).read(partial)
        unlisted = cls(whole, given)
        return cls(whole, unlisted._with_whole_items(given, Path()))

    def schema(self, given: Given | None = None) -> dict[str, Any]:
        """Return the JSON Schema of the given parts, or of others."""
        return schema_of(self.given if given is None else given, draft_of(self.whole.value_schema))

    def grammar(self) -> Grammar:
        """Return the grammar of the values.

        Raises:
            OptionError: The type forbids a given part.
            SchemaError: As `schemagen.compile`.
        """
        try:
            return self.whole.narrowed(self.schema())
        except UnsatisfiableSchemaError as error:
            raise self._contradiction() from error

    def only_text(self, grammar: Grammar) -> str | None:
        """Return a text of the only value that has the given parts, so that nothing is missing; None if there are several.

        Args:
            grammar: That of the values.
        """
        text = grammar.matcher().shortest_completion().decode()
        if not text:  # the vocabulary cannot write it
            return None
        whole = closed(self.given)
        if any(isinstance(part, Hole) for _, part in leaves(whole)):
            whole = PartialReader(FieldTypes(None)).read(json.loads(text), whole=True)
        has_others = self.whole.has_values({"allOf": [self.schema(), {"not": self.schema(whole)}]})
        return None if has_others else text

    def _with_whole_items(self, given: Given, path: Path) -> Given:
        """Close the objects in lists, unless they lack a member that the type requires."""
        if isinstance(given, Object):
            parts = {key: self._with_whole_items(part, Path((*path, key))) for key, part in given.members.items()}
            return Object(parts, given.is_closed)
        if not isinstance(given, Items) or closed(given) == given:
            return given
        if self._is_possible(closed(given), path):
            return closed(given)
        items: list[Given] = []
        for index, item in enumerate(given.items):
            at = Path((*path, index))
            is_whole = self._is_possible(closed(item), at)
            items.append(closed(item) if is_whole else self._with_whole_items(item, at))
        return Items(tuple(items))

    def _is_possible(self, part: Given, path: Path) -> bool:
        """Whether the type allows a part at a place, with nothing else given."""
        return self.whole.has_values(self.schema(alone(part, path, self.given)))

    def _contradiction(self) -> OptionError:
        """Return the error of the first given part that is impossible, alone or after those before it."""
        parts = list(leaves(self.given))
        low, high = 1, len(parts)
        while low < high:  # the first count of parts that no value has
            middle = (low + high) // 2
            possible = self.whole.has_values(self.schema(only(self.given, middle)))
            low, high = (middle + 1, high) if possible else (low, middle)
        path, part = parts[low - 1]
        schema = self.schema(only(self.given, low))
        return OptionError(
            f"{_name(self.whole)} allows no {json.dumps(json_of(part), ensure_ascii=False):.80} here",
            at=str(path),
            why=self.whole.reason_against(schema) or "no value of the type has this part beside those before it",
            fix="give another value, or leave this part out",
        )

    def check_parts(self) -> None:
        """Have the validators of the type check the given parts, where there are any that the schema does not express.

        Raises:
            OptionError: One refuses a part.
        """
        types = FieldTypes(_type_of(self.whole))
        if types.at(Path()) is None or not self.whole.report.of_status("checked_after"):
            return
        for path, part in leaves(self.given):
            if not path:
                continue
            try:
                types.complete(path, json.dumps(json_of(part)))
            except ValidationFailed as error:
                raise OptionError(
                    error.fact, at=str(path), why="the part is given", fix="give another value, or leave this part out"
                ) from error


def complete(settings: Settings, form: AnswerForm, partial: Any, spec: Any, prompt: Prompt | None) -> Generation[Any]:
    """Return the value that the model makes of a partial one; see `LanguageModel.run_complete`."""
    filling = Filling.of(form.grammar(settings.lm, spec), partial)
    filling.check_parts()
    found = fill(settings, form, filling, DEFAULT_PROMPT if prompt is None else prompt, instruction=told(filling.given))
    if isinstance(partial, BaseModel) or dataclasses.is_dataclass(partial):
        _check_kept(partial, found)
    return found


def fill(
    settings: Settings, form: AnswerForm, filling: Filling, prompt: Prompt, *, instruction: str
) -> Generation[Any]:
    """Have the model write the missing parts.

    Raises:
        OptionError: The type forbids a given part.
        GenerationError: As `schemagen.request.attempts.complete_request`.
    """
    grammar = filling.grammar()
    text = filling.only_text(grammar)
    if text is not None:
        return Generation(grammar.validate(text), text, (), 0, 0.0, None, attempts=0, passes=0)
    request = AnswerRequest.of(settings, form, prompt, grammar, shown=filling.whole, instruction=instruction)
    return complete_request(request)


def told(given: Given) -> str:
    """Return what a prompt says of the given parts."""
    return f"{_KEEP}\n{json.dumps(json_of(given), ensure_ascii=False)}"


def _check_kept(partial: Any, found: Generation[Any]) -> None:
    """Check that the fields of an instance have come back equal: a validator may have changed them again.

    Raises:
        ValidationFailed: One differs.
    """
    for path, before, after in _differences(partial, found.value, ()):
        raise ValidationFailed(
            f"the given value {before!r:.80} came back as {after!r:.80}",
            at=str(Path(path)),
            text=found.text,
            why="a validator of the type changes values that it has accepted before",
            fix="give the value as it is before validation, in a dict, or make the validator leave its own results alone",
        )


def _differences(given: Any, found: Any, path: Sequence[str | int]) -> list[tuple[Sequence[str | int], Any, Any]]:
    """Return the given parts of instances that differ from those that were found, with their places."""
    pairs = _pairs(given, found)
    if pairs is None:
        return [] if given == found else [(path, given, found)]
    return [each for step, before, after in pairs for each in _differences(before, after, (*path, step))]


def _pairs(given: Any, found: Any) -> list[tuple[str | int, Any, Any]] | None:
    """Return the parts of a given value beside those of the value that was found; None if it is compared as a whole."""
    if isinstance(given, BaseModel):
        is_partial = origin_of_partial(type(given)) is not None
        parts = {name: getattr(given, name) for name in given.model_fields_set}
        kept = {name: part for name, part in parts.items() if part is not None or not is_partial}
        return [(name, part, getattr(found, name)) for name, part in kept.items() if hasattr(found, name)]
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        names = [each.name for each in dataclasses.fields(given) if getattr(given, each.name, None) is not None]
        return [(name, getattr(given, name), getattr(found, name)) for name in names if hasattr(found, name)]
    if isinstance(given, dict) and isinstance(found, dict):
        return [(key, part, found[key]) for key, part in given.items() if key in found]
    if isinstance(given, list | tuple) and isinstance(found, list | tuple) and len(given) == len(found):
        return [(index, *pair) for index, pair in enumerate(zip(given, found, strict=True))]
    return None


def _type_of(grammar: Grammar) -> Any:
    """Return the type of the values of a grammar; None for a schema."""
    spec = getattr(grammar.spec, "type", grammar.spec)
    return None if grammar.value_schema is None or isinstance(spec, dict | bool) or hasattr(spec, "text") else spec


def _name(grammar: Grammar) -> str:
    tp = _type_of(grammar)
    return "the schema" if tp is None else getattr(tp, "__name__", None) or f"{tp!r}"

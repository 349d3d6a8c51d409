"""The constraint of a request as a grammar over the vocabulary of the model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from schemagen.errors import BudgetError, SchemagenError
from schemagen.grammar.compiler import compile as compile_grammar
from schemagen.grammar.context_free_specs import GBNF
from schemagen.grammar.lark_spec import Lark
from schemagen.grammar.specs import Choice, Regex
from schemagen.serve.errors import RequestError, about
from schemagen.serve.requests import JsonSchemaFormat, StructuralTagFormat
from schemagen.structural_tags.spec import StructuralTag

if TYPE_CHECKING:
    from collections.abc import Callable

    from schemagen.engine.options import Limits
    from schemagen.engine.protocol import Constraint
    from schemagen.grammar.grammar import Grammar
    from schemagen.serve.requests import ChatRequest, CompletionRequest, Extension
    from schemagen.vocabulary import Vocabulary

_ANY_OBJECT = {"type": "object"}


def constraint_fields(request: ChatRequest | CompletionRequest) -> dict[str, Any]:
    """Return the fields of a request that constrain the answer, by name, with functions that make the spec of each."""
    found: dict[str, Any] = {}
    form = request.response_format
    if isinstance(form, JsonSchemaFormat):
        found["response_format.json_schema.schema"] = lambda: form.json_schema.schema_
    elif isinstance(form, StructuralTagFormat):
        found["response_format"] = lambda: StructuralTag(form.model_dump(exclude_unset=True))
    elif form is not None and form.type == "json_object":
        found["response_format"] = lambda: _ANY_OBJECT
    outputs = request.structured_outputs
    given: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "guided_json": (request.guided_json, _itself),
        "guided_regex": (request.guided_regex, Regex),
        "guided_choice": (request.guided_choice, Choice),
        "guided_grammar": (request.guided_grammar, _grammar_text),
    }
    if outputs is not None:
        given |= {
            "structured_outputs.json": (outputs.json_, _itself),
            "structured_outputs.regex": (outputs.regex, Regex),
            "structured_outputs.choice": (outputs.choice, Choice),
            "structured_outputs.grammar": (outputs.grammar, _grammar_text),
            "structured_outputs.structural_tag": (outputs.structural_tag, StructuralTag),
            "structured_outputs.json_object": (outputs.json_object or None, lambda _: _ANY_OBJECT),
        }
    for name, (value, make) in given.items():
        if value is not None:
            found[name] = lambda make=make, value=value: make(value)
    return found


def compiled_fields(request: ChatRequest | CompletionRequest) -> list[str]:
    """Return the names of the fields of a request that need a compilation."""
    others = {"tools": getattr(request, "tools", None), "reasoning": request.reasoning or request.draft}
    return [*constraint_fields(request), *(name for name, given in others.items() if given)]


def _itself(schema: Any) -> Any:
    return schema


def _grammar_text(text: str) -> Any:
    """Return a grammar in the notation of its text: rules with ``::=`` are GBNF, those with a colon lark's."""
    return GBNF(text) if "::=" in text else Lark(text, imports="library")


class Compiler:
    """Compiles the constraints of requests.

    Args:
        vocabulary: The vocabulary of the model.
        limits: Bounds on each compilation.
        on_seconds: Called with the duration of each compilation.
    """

    def __init__(self, vocabulary: Vocabulary, limits: Limits, on_seconds: Callable[[float], None]) -> None:
        self.vocabulary = vocabulary
        self.limits = limits
        self._on_seconds = on_seconds

    def grammar_of(self, request: ChatRequest | CompletionRequest) -> tuple[Grammar | None, str]:
        """Return the grammar of the answer, and the field that states it; None without such a field.

        Raises:
            RequestError: Several fields constrain the answer.
            SchemagenError: As `schemagen.compile`.
        """
        fields = constraint_fields(request)
        if len(fields) > 1:
            raise RequestError(
                f"{' and '.join(sorted(fields))} each constrain the answer",
                param=sorted(fields)[1],
                fix="give one of them",
                code="several-constraints",
            )
        for name, make in fields.items():
            outputs = request.structured_outputs
            compact = outputs is not None and outputs.disable_any_whitespace
            return self._compiled(make, name, request.extension, compact=compact), name
        return None, ""

    def _compiled(self, make: Callable[[], Any], param: str, extension: Extension, *, compact: bool) -> Grammar:
        started = time.perf_counter()
        try:
            return compile_grammar(
                make(),
                self.vocabulary,
                whitespace="compact" if compact else extension.whitespace,
                property_order=extension.property_order,
                limits=self.limits,
            )
        except TypeError as error:
            # A part of a JSON value with another type than its reader expects is the client's mistake.
            raise RequestError(f"{param}: {error}", param=param, code="invalid-field") from error
        except SchemagenError as error:
            about(error, param)
            raise
        finally:
            self._on_seconds(time.perf_counter() - started)


def check_room(constraint: Constraint, budget: int, asked: str) -> None:
    """Refuse a budget in which no text can be guaranteed to end.

    Args:
        constraint: The constraint of the text.
        budget: The number of tokens.
        asked: The field that states the budget.

    Raises:
        BudgetError: The shortest text takes more, or its length is unknown.
    """
    needed = constraint.min_new_tokens
    if needed is not None and needed <= budget:
        return
    least = constraint.least_new_tokens if needed is None else needed
    told = f"takes at least {least}" if needed is None else f"takes {needed}"
    raise BudgetError(
        f"a budget of {budget} tokens, and the shortest text {told}",
        why="the text would be cut off whatever the model writes",
        fix=f"give {asked} of {least} or more, or lower minItems, minLength or the like",
    )

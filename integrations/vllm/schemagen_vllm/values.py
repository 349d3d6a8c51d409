"""The two ends of a request: the schema of a type for it, and the instance in its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import schemagen
from schemagen.errors import BudgetError, OptionTypeError, SchemagenError

if TYPE_CHECKING:
    from schemagen import Failure

T = TypeVar("T")


def schema(type_: Any) -> Any:
    """Return the JSON Schema of a type, for ``StructuredOutputsParams(json=...)`` or ``response_format``.

    Args:
        type_: Any type that `schemagen.compile` accepts, or a JSON Schema, which is returned unchanged.

    Raises:
        SchemaError: The type has no JSON form.
        OptionTypeError: It is a pattern, a choice or a grammar, which have fields of their own in a request.

    Cost: as compiling it for a vocabulary of bytes; remembered.
    """
    found = _grammar(type_).schema
    if found is None:
        raise OptionTypeError(
            f"schema({type_!r:.80})",
            why="it has no JSON Schema",
            fix="give regex=, choice=, grammar= or structural_tag= of StructuredOutputsParams its text",
        )
    return found


@overload
def value(type_: type[T], output: Any) -> T | Failure: ...
@overload
def value(type_: Any, output: Any) -> Any: ...
def value(type_: Any, output: Any) -> Any:
    """Return the instance in an answer of vLLM, or a `schemagen.Failure` that says why it is refused.

    Args:
        type_: The type of the request, or another spec; the value of a schema is parsed JSON, that of a pattern or
            grammar the text.
        output: A ``RequestOutput`` (its first completion counts), a ``CompletionOutput``, or the text itself.

    Raises:
        SchemagenError: The type itself has no JSON form.
        OptionTypeError: The output has another type.

    Cost: validation of the text.
    """
    text, completion, request = _parts(output)
    try:
        return _grammar(type_).validate(text)
    except SchemagenError as error:
        found = error
    if getattr(completion, "finish_reason", None) == "length":
        found = BudgetError(
            f"the answer ended after {len(getattr(completion, 'token_ids', ()))} tokens before it was complete",
            why="max_tokens or the length of the model's context was reached",
            fix="raise max_tokens, shorten the prompt, or bound the lengths of the type",
            text=text,
        )
    index = getattr(completion, "index", 0)
    return schemagen.Failure(index=index, prompt=getattr(request, "prompt", None), error=found)


def _grammar(type_: Any) -> schemagen.Grammar:
    """Return the grammar of a type over bytes, which knows its schema and how to read its texts."""
    if isinstance(type_, schemagen.Grammar):
        return type_
    return schemagen.compile(type_, schemagen.Vocabulary.byte_vocabulary())


def _parts(output: Any) -> tuple[str, Any, Any]:
    """Return the text of an answer, its completion and its request.

    Raises:
        OptionTypeError: It is not an answer.
    """
    if isinstance(output, str):
        return output, None, None
    completions = getattr(output, "outputs", None)
    completion = completions[0] if completions else output
    text = getattr(completion, "text", None)
    if not isinstance(text, str):
        raise OptionTypeError(
            f"value() got a {type(output).__name__}",
            why="the text of an answer is read from .outputs[0].text or .text",
            fix="give the result of LLM.generate for one prompt, or the text",
        )
    return text, completion, output

"""`requires`: a call without its prompt, its type or its tools gets advice, in place of Python's bare TypeError."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from schemagen.errors import OptionError
from schemagen.options.table import STANDS_FOR

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

F = TypeVar("F", bound="Callable[..., Any]")

#: Names of arguments -> their descriptions.
_WHAT = {
    "prompt": "a prompt",
    "prompts": "prompts",
    "partial": "a partial value",
    "text": "a text",
    "spec": "a type or schema",
    "tools": "tools",
    "lm": "a model",
}
#: Names of arguments -> the advice if they are missing.
_FIXES = {
    "prompt": 'the prompt comes first, a text or a chat: {call}; a chat is [{{"role": "user", "content": "..."}}, ...]',
    "prompts": "the prompts come first, in a list: {call}",
    "partial": "the partial value comes first: {call}",
    "text": "the text to repair comes first: {call}",
    "spec": "the type or schema is the second argument: {call}; free text comes from lm.generate_text(prompt)",
    "tools": "the tools are the second argument, in a list: {call}",
    "lm": "the model comes first: {call}",
}
#: Our arguments that share their names in other libraries. `prompts` matches the foreign names of a prompt.
_ALIKE = {"prompts": "prompt"}


def requires(*names: str, call: str) -> Callable[[F], F]:
    """Return a decorator for a method whose first arguments are these; type checkers see the method as it is.

    Args:
        names: The required arguments, in their order.
        call: An example of a correct call.

    Raises:
        OptionError: Raised by the method if one of them is missing.
    """

    def decorate(method: F) -> F:
        def check(given: int, options: Mapping[str, Any]) -> None:
            for name in names[given:]:
                if name not in options:
                    raise _missing(name, call, options)

        @wraps(method)
        def called(self: Any, *args: Any, **options: Any) -> Any:
            check(len(args), options)
            return method(self, *args, **options)

        @wraps(method)
        async def awaited(self: Any, *args: Any, **options: Any) -> Any:
            check(len(args), options)
            return await method(self, *args, **options)

        return cast("F", awaited if inspect.iscoroutinefunction(method) else called)

    return decorate


def _missing(name: str, call: str, options: Mapping[str, Any]) -> OptionError:
    """Return the error of a call without one of its arguments; it may have been given by a name of another library."""
    foreign = next((given for given in options if STANDS_FOR.get(given) == _ALIKE.get(name, name)), None)
    fact = f"{call.partition('(')[0]}(...) needs {_WHAT[name]}"
    why = f"the argument {name} is missing"
    if foreign is not None:
        fact, why = (
            f"{foreign}= is not an option here",
            f"the argument {name} is missing, and {foreign}= is not its name",
        )
    return OptionError(fact, why=why, fix=_FIXES[name].format(call=call))

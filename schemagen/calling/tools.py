"""`Tool`: a function, its name and description, and the schema of its arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from pydantic import BaseModel

from schemagen.calling.signatures import arguments_model, bind, innermost, is_method, warn_of_doubts
from schemagen.errors import ToolError
from schemagen.grammar.schema_values import check_size
from schemagen.prompts.shapes import is_title, without_keywords
from schemagen.types.reflection import reflect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from typing_extensions import TypeIs

P = ParamSpec("P")
R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, eq=False)
class Tool(Generic[P, R]):
    """A function that a model may call: its name, its description, and the schema of its arguments.

    Made by `tool`, `from_function`, `from_model` or `from_dict`. Calling a tool calls its function. Tools are equal if they are
    the same object.

    Attributes:
        name: Its name for the model: 1 to 64 letters, digits, ``_``, ``-`` and ``.``.
        description: A description for the model.
        parameters: JSON Schema of the arguments, an object; read only.
        spec: The pydantic model, or the JSON Schema, that constrains and validates the arguments.
        function: The function; None if the tool cannot be run.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    spec: Any
    function: Callable[P, R] | None = None

    def __post_init__(self) -> None:
        """Refuse a name that the wire formats cannot carry.

        Raises:
            ToolError: The name is empty, too long, or has other characters.
        """
        if not _NAME.fullmatch(self.name):
            raise ToolError(
                f"{self.name!r} cannot be the name of a tool",
                why="names have 1 to 64 letters, digits, underscores, hyphens and dots",
                fix="pass name='...'",
            )
        if self.function is not None:
            # As functools.update_wrapper does it, for help() and inspect.signature(); the class is frozen.
            names = ("__module__", "__name__", "__qualname__", "__doc__")
            self.__dict__.update({key: getattr(self.function, key) for key in names if hasattr(self.function, key)})
            self.__dict__["__wrapped__"] = self.function

    @classmethod
    def from_function(
        cls, function: Callable[P, R], *, name: str | None = None, description: str | None = None
    ) -> Tool[P, R]:
        """Return a tool whose arguments are those of a function.

        Args:
            function: A function, coroutine function, bound method, partial, or object with ``__call__``. Parameters are
                described by ``Annotated[int, Field(description="...")]``, by ``Annotated[int, "..."]``, or in the docstring
                (Google, NumPy, Sphinx). One without annotation takes any JSON value.
            name: A name, instead of the function's own.
            description: A description, instead of the docstring's.

        Raises:
            ToolError: The signature has ``*args`` or ``**kwargs``, or is not known.
            UnsupportedTypeError: An annotation has no JSON form.

        Warns:
            UserWarning: The docstring describes a parameter that does not exist, or a parameter has no annotation.
        """
        inner = innermost(function)
        own_name = getattr(inner, "__name__", type(inner).__name__)
        text, parameters = describe(inner)
        label = name or own_name
        model = arguments_model(function, label, parameters)
        warn_of_doubts(function, label, parameters)
        schema = without_keywords(reflect(model).schema, is_title)
        said = text if description is None else description
        return Tool(name or _NOT_IN_NAMES.sub("_", own_name), said, schema, model, function)

    @classmethod
    def from_model(cls, model: type[M], *, name: str | None = None, description: str | None = None) -> Tool[[M], M]:
        """Return a tool whose arguments are the fields of a pydantic model; calling it returns the instance.

        Args:
            model: The model.
            name: A name, instead of the name of the class.
            description: A description, instead of its docstring.

        Raises:
            UnsupportedTypeError: A field has no JSON form, or the model is not an object.
        """
        target = reflect(model)
        shown = _with_root(without_keywords(target.schema, is_title))
        _check_object(shown, model.__name__)
        said = inspect.cleandoc(model.__doc__ or "") if description is None else description
        label = name or _NOT_IN_NAMES.sub("_", model.__name__)
        schema = {key: value for key, value in shown.items() if key != "description"}
        return Tool(label, said, schema, model, _itself)

    @classmethod
    def from_dict(cls, tool: Mapping[str, Any], function: Callable[..., Any] | None = None) -> Tool[..., Any]:
        """Return a tool described as OpenAI's API does: ``{"type": "function", "function": {"name": ..., "parameters": ...}}``.

        Args:
            tool: Such a dict, or its inner part alone. As JSON Schema says, other properties are allowed unless the schema has
                ``"additionalProperties": False``.
            function: A function that takes the arguments as keywords.

        Raises:
            ToolError: A part is missing.
            LimitError: The schema is too large to be written out.
        """
        inner = tool.get("function", tool)
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            raise ToolError(
                "the description of a tool has no name",
                at="/function/name",
                fix='write {"type": "function", "function": {"name": "...", "parameters": {...}}}',
            )
        given = inner.get("parameters") or {"properties": {}, "additionalProperties": False}
        schema: dict[str, Any] = {"type": "object", **given}
        check_size(schema)
        _check_object(schema, inner["name"])
        return Tool(inner["name"], str(inner.get("description") or ""), schema, schema, function)

    def to_dict(self) -> dict[str, Any]:
        """Return the tool as chat templates and OpenAI's API take it."""
        inner = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": inner}

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        called = getattr(self.function, "__call__", None)  # noqa: B004 - whether *that* is a coroutine function
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(called)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function.

        Raises:
            ToolError: The tool has no function.
        """
        return self._function()(*args, **kwargs)

    def invoke(self, arguments: Any) -> Any:
        """Call the function with validated arguments: an instance of `spec`, or a dict of keywords.

        Raises:
            ToolError: The tool has no function.
            Exception: As the function raises it.
        """
        function: Any = self._function()
        if function is _itself:
            return arguments
        if isinstance(arguments, BaseModel):
            positional, keywords = bind(function, self.name, arguments)
            return function(*positional, **keywords)
        return function(**arguments)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Bind a method that was decorated in its class; return any other tool unchanged."""
        if instance is None or self.function is None or not is_method(self.function):
            return self
        return replace(self, function=MethodType(self.function, instance))

    def __repr__(self) -> str:
        """Show the name and the parameters."""
        return f"Tool({self.name}({', '.join(self.parameters.get('properties', {}))}))"

    def _function(self) -> Callable[P, R]:
        if self.function is None:
            raise ToolError(
                f"tool {self.name} has no function",
                why="it was made from a description",
                fix="pass function= to Tool.from_dict, or run the call yourself with call.name and call.arguments",
                code="no-function",
            )
        return self.function


#: Anything that `as_tool` accepts.
ToolLike = Any


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Any:
    """Make a function a tool: ``@schemagen.tool``, or ``@schemagen.tool(name=..., description=...)``.

    Example:
        ```python
        @schemagen.tool
        def get_weather(city: str, unit: Literal["c", "f"] = "c") -> str:
            '''Say what the weather is like.'''
        ```

    Args:
        function: A function, coroutine function or method.
        name: A name, instead of the function's own.
        description: A description, instead of the docstring's.

    Raises:
        ToolError: As `Tool.from_function`.
        UnsupportedTypeError: An annotation has no JSON form.
    """
    if function is not None:
        return Tool.from_function(function)
    return lambda decorated: Tool.from_function(decorated, name=name, description=description)


def as_tools(tools: Iterable[ToolLike]) -> tuple[Tool[..., Any], ...]:
    """Return tools from tools, functions, pydantic models, or dicts as in OpenAI's API.

    Raises:
        ToolError: An entry is not one of these, or two tools have the same name.
    """
    if callable(tools) or isinstance(tools, (str, dict)) or not hasattr(tools, "__iter__"):
        raise ToolError(
            f"tools={tools!r:.80} is not a list",
            why="there may be several",
            fix="put it into a list, tools=[...]; for none at all give tools=[]",
        )
    found = tuple(as_tool(entry) for entry in tools)
    names = [entry.name for entry in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ToolError(
            f"two tools are called {twice[0]!r}",
            why="a call names its tool",
            fix="give one of them another name: Tool.from_function(f, name='...')",
        )
    return found


def as_tool(entry: ToolLike) -> Tool[..., Any]:
    """Return a tool from one of the forms of `as_tools`.

    Raises:
        ToolError: It has none of these forms.
    """
    if isinstance(entry, Tool):
        return entry
    if isinstance(entry, dict):
        return Tool.from_dict(entry)
    if _is_model(entry):
        return Tool.from_model(entry)
    if callable(entry):
        return _from_callable(entry)
    raise ToolError(
        f"{entry!r:.80} is not a tool",
        why="a tool is a function, a pydantic model, a dict as in OpenAI's API, or the result of @schemagen.tool",
        fix="pass one of these",
    )


_known: dict[Any, Tool[..., Any]] = {}
_MAX_KNOWN = 2048


def _from_callable(function: Callable[..., Any]) -> Tool[..., Any]:
    """Make one tool for each function, so that its grammars are found in the cache."""
    try:
        known = _known.get(function)
    except TypeError:  # not hashable
        return Tool.from_function(function)
    if known is None:
        known = Tool.from_function(function)
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[function] = known
    return known


def _is_model(entry: Any) -> TypeIs[type[BaseModel]]:
    return isinstance(entry, type) and issubclass(entry, BaseModel)


def _itself(instance: Any) -> Any:
    """Be the function of a tool that is made from a model."""
    return instance


def _check_object(schema: Mapping[str, Any], name: str) -> None:
    if schema.get("type", "object") != "object":
        raise ToolError(
            f"the arguments of {name} are of type {schema['type']!r}",
            at="/parameters/type",
            why="arguments have names, so they are an object",
            fix="wrap the value in an object with one property",
        )


def _with_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Replace the reference to a recursive model by its definition, because templates look for ``properties``."""
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if name not in schema.get("$defs", {}):
        return schema
    return {**schema["$defs"][name], **{key: value for key, value in schema.items() if key != "$ref"}}


def select(tools: Sequence[Tool[..., Any]], chosen: Iterable[ToolLike | str]) -> tuple[Tool[..., Any], ...]:
    """Return the tools that a choice refers to by name, function or tool.

    Raises:
        ToolError: An entry is not among the tools.
    """
    by_name = {entry.name: entry for entry in tools}
    names = [entry if isinstance(entry, str) else as_tool(entry).name for entry in chosen]
    missing = [name for name in names if name not in by_name]
    if missing or not names:
        raise ToolError(
            f"tool_choice names {missing[0]!r}" if missing else "tool_choice is an empty list",
            why=f"the tools are {', '.join(by_name) or 'none'}",
            fix='choose among the tools, or "auto", "required" or "none"',
        )
    return tuple(by_name[name] for name in names)


def describe(function: Any) -> tuple[str, dict[str, str]]:
    """Return the description of a function and those of its parameters."""
    from docstring_parser import ParseError, parse

    text = inspect.getdoc(function) or ""
    try:
        parsed = parse(text)
    except ParseError:  # some text looks like a section but is not one: all of it is description
        return text.strip(), {}
    parts = (parsed.short_description, parsed.long_description)
    description = "\n\n".join(" ".join(part.split()) for part in parts if part)
    # NumPy's `x, y : int` describes several parameters at once.
    params = [param for param in parsed.params if param.args[0] != "attribute"]
    names = [(name.strip(" *"), param) for param in params for name in param.arg_name.split(",")]
    return description, {name: " ".join((param.description or "").split()) for name, param in names}

"""Tools from functions, methods, models and descriptions."""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
import sys
import types
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict as OldTypedDict

import pytest
from pydantic import AfterValidator, BaseModel, Field, RootModel
from typing_extensions import TypedDict

import schemagen
from schemagen.calling import Tool
from schemagen.calling.tools import as_tool, as_tools, describe, select
from schemagen.errors import ToolError, UnsupportedTypeError, ValidationFailed

GOOGLE = """Book a table.

    Only in the evening.

    Args:
        guests: How many
            people come.
        when (str): The day.

    Returns:
        str: A number.
    """
NUMPY = """Book a table.

    Only in the evening.

    Parameters
    ----------
    guests : int
        How many
        people come.
    when : str
        The day.

    Returns
    -------
    str
        A number.
    """
SPHINX = """Book a table.

    Only in the evening.

    :param guests: How many
        people come.
    :param str when: The day.
    :returns: A number.
    """
EPYDOC = """Book a table.

    Only in the evening.

    @param guests: How many
        people come.
    @param when: The day.
    @return: A number.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX, EPYDOC], ids=["google", "numpy", "sphinx", "epydoc"])
def test_docstrings_of_every_style(text):
    """The description and those of the parameters are found, whatever the style."""

    def book(guests: int, when: str) -> str: ...

    book.__doc__ = text
    assert describe(book) == (
        "Book a table.\n\nOnly in the evening.",
        {"guests": "How many people come.", "when": "The day."},
    )
    properties = Tool.from_function(book).parameters["properties"]
    assert [entry["description"] for entry in properties.values()] == ["How many people come.", "The day."]


@pytest.mark.parametrize("text", [None, "", "Args: one\n\n:param", "Just: this\n  Args:\n    -"])
def test_odd_docstrings_are_no_error(text):
    """A docstring that is none, or looks like another, describes what it can."""

    def odd(x: int) -> None: ...

    odd.__doc__ = text
    assert Tool.from_function(odd).name == "odd"


class Colour(TypedDict):
    red: int


class Place(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Size:
    width: float


class Item(BaseModel):
    name: str
    parts: list[Item] = []


def everything(  # noqa: D417
    day: dt.date,
    item: Item,
    size: Size,
    place: Place,
    colour: Colour,
    kind: Literal["a", "b"],
    price: Decimal,
    maybe: Optional[int] = None,
    /,
    flags: frozenset[Literal["x", "y"]] = frozenset(),
    *,
    limit: Annotated[int, Field(ge=1, description="At most.")] = 5,
    note: Annotated[str, "A remark."] = "",
    free: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    """Take everything.

    Args:
        limit: This is overruled.
        flags: Some.
    """
    return (day, item, size, place, colour, kind, price, maybe, flags, limit, note, free)


def test_every_kind_of_annotation(byte_vocabulary):
    """Whatever pydantic takes is a parameter, arrives as that type, and compiles."""
    tool = Tool.from_function(everything)
    properties = tool.parameters["properties"]
    assert tool.parameters["required"] == ["day", "item", "size", "place", "colour", "kind", "price"]
    assert properties["limit"]["description"] == "At most."
    assert properties["note"]["description"] == "A remark."
    assert properties["flags"]["description"] == "Some."
    text = (
        '{"day": "2024-05-03", "item": {"name": "n", "parts": [{"name": "m"}]}, "size": {"width": 1.5}, "place": [1, 2], '
        '"colour": {"red": 1}, "kind": "b", "price": 1.50, "flags": ["x"], "limit": 7}'
    )
    grammar = schemagen.compile(tool.spec, byte_vocabulary)
    matcher = grammar.matcher()
    assert matcher.accept_bytes(text.encode())
    assert matcher.is_accepting()
    assert tool.invoke(grammar.validate(text)) == (
        dt.date(2024, 5, 3), Item(name="n", parts=[Item(name="m")]), Size(1.5), Place(1, 2), {"red": 1}, "b", Decimal("1.50"),
        None, frozenset({"x"}), 7, "", None,
    )  # fmt: skip


def test_the_defaults_are_those_of_the_function():
    """What the model leaves out is left to the function, the object of a mutable default included."""
    seen: list[int] = []

    def add(number: int, to: list[int] = seen) -> list[int]:
        to.append(number)
        return to

    tool = Tool.from_function(add)
    assert tool.invoke(tool.spec(number=1)) is seen
    assert tool.parameters["required"] == ["number"]


def test_field_defaults():
    """A default made with Field holds bounds, and its default is used."""

    def count(number: int = Field(default=3, ge=1)) -> int:
        return number

    tool = Tool.from_function(count)
    assert tool.parameters["properties"]["number"] == {"default": 3, "minimum": 1, "type": "integer"}
    assert tool.invoke(tool.spec()) == 3


def test_names_that_models_cannot_have():
    """Parameters called like attributes of pydantic models keep their names in JSON and in the call."""

    def odd(
        copy: int, _hidden: int, schema: str = "s", model_config: int = 1, *, json: bool = False
    ) -> tuple[Any, ...]:
        return (copy, _hidden, schema, model_config, json)

    tool = Tool.from_function(odd)
    assert list(tool.parameters["properties"]) == ["copy", "_hidden", "schema", "model_config", "json"]
    arguments = tool.spec.model_validate({"copy": 1, "_hidden": 2, "json": True})
    assert tool.invoke(arguments) == (1, 2, "s", 1, True)


def test_no_parameters_and_no_annotations():
    """A function without parameters takes an empty object; a parameter without annotation takes anything."""

    def ping():
        return "pong"

    def echo(value):
        return value

    assert Tool.from_function(ping).parameters == {"additionalProperties": False, "properties": {}, "type": "object"}
    with pytest.warns(UserWarning, match=r"echo has a parameter without annotation \(value\)") as caught:
        tool = Tool.from_function(echo)
    assert [warning.filename for warning in caught] == [__file__]
    assert tool.parameters["properties"] == {"value": {}}
    assert tool.invoke(tool.spec(value=[1])) == [1]


def test_a_docstring_that_describes_no_parameter_warns():
    """A name that is misspelt in the docstring is named, for its description is lost."""

    def book(city: str, nights: int = 1) -> str:  # noqa: D417 - it is what the test is about
        """Book a room.

        Args:
            citty: Where.
            nights: How many.
        """
        return f"{city} {nights}"

    with pytest.warns(UserWarning, match="the docstring of book describes 'citty'.*did you mean 'city'") as caught:
        tool = Tool.from_function(book)
    assert len(caught) == 1
    assert "description" not in tool.parameters["properties"]["city"]


def test_what_is_said_of_other_names_does_not_warn():
    """Attributes are not parameters, and a bound argument or the constructor of an object may be described."""

    class Shop:
        """A shop.

        Args:
            owner: Whose it is.
        """

        def __init__(self, owner: str = "") -> None:
            self.owner = owner

        def __call__(self, product: str) -> str:
            return product

    def price(currency, product: str) -> str:
        """Say a price.

        Attributes:
            cached: The last price.

        Args:
            currency: Of the price.
            product: What.
        """
        return f"{product} {currency}"

    assert Tool.from_function(Shop()).parameters["required"] == ["product"]
    assert Tool.from_function(partial(price, "EUR")).parameters["required"] == ["product"]


def test_a_tool_is_still_the_function():
    """A decorated function is called as before, and looks like itself."""

    @schemagen.tool
    def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert double(4) == 8
    assert double(number=4) == 8
    assert inspect.signature(double).parameters["number"].annotation == "int"
    assert double.__doc__ == "Double it."
    assert double.__name__ == "double"
    assert repr(double) == "Tool(double(number))"


def test_another_name():
    """The decorator takes a name and a description."""

    @schemagen.tool(name="twice.v2", description="Two times.")
    def double(number: int) -> int:
        return number * 2

    assert double.to_dict() == {
        "type": "function",
        "function": {"name": "twice.v2", "description": "Two times.", "parameters": double.parameters},
    }


class Shop:
    """Has methods."""

    def __init__(self, stock):
        self.stock = stock

    @schemagen.tool
    def left(self, item: str) -> int:
        """Say how many are left."""
        return self.stock[item]

    def sell(self, item: str) -> int:
        return self.stock[item] - 1

    @staticmethod
    def price(item: str) -> int:
        return len(item)

    def __call__(self, item: str) -> str:
        """Look at something."""
        return item


def test_methods():
    """A decorated method is bound to its object; bound methods, static ones and callable objects are tools."""
    shop = Shop({"lamp": 3})
    for tool, result in ((shop.left, 3), (as_tool(shop.sell), 2), (as_tool(Shop.price), 4), (as_tool(shop), "lamp")):
        assert list(tool.parameters["properties"]) == ["item"]
        assert tool.invoke(tool.spec(item="lamp")) == result
    assert shop.left("lamp") == 3
    assert as_tool(shop).name == "Shop"
    assert isinstance(Shop.left, Tool)


def test_partials():
    """A partial has the name, types and description of its function; what is bound is the default."""

    def scale(number: int, factor: int) -> int:
        """Scale it."""
        return number * factor

    tool = Tool.from_function(partial(scale, factor=3))
    assert (tool.name, tool.description) == ("scale", "Scale it.")
    assert tool.parameters["properties"]["number"] == {"type": "integer"}
    assert tool.invoke(tool.spec(number=2)) == 6


def test_a_tool_kept_in_a_class_is_not_bound():
    """Only methods take the object."""

    class Keeper:
        one = as_tool(Shop.price)

    assert Keeper().one("lamp") == 4


def test_descriptions_of_other_systems():
    """A dict as in OpenAI's API is a tool, in its inner form, too; its arguments are a dict."""
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    inner = {"name": "f", "description": "Do.", "parameters": parameters}
    for form in (inner, {"type": "function", "function": inner}):
        tool = Tool.from_dict(form, lambda x: x + 1)
        assert tool.to_dict()["function"] == inner
        assert tool.invoke({"x": 1}) == 2
    assert Tool.from_dict({"name": "ping"}).parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }
    with pytest.raises(ToolError, match="no function"):
        Tool.from_dict(inner).invoke({"x": 1})


def test_models():
    """A pydantic model is a tool whose result is the instance."""

    class Search(BaseModel):
        """Look something up."""

        query: str

    tool = as_tool(Search)
    assert (tool.name, tool.description) == ("Search", "Look something up.")
    assert tool.invoke(Search(query="x")) == Search(query="x")
    assert "description" not in tool.parameters


def test_a_recursive_model_shows_its_fields():
    """Templates look for the properties of the parameters, not for a reference to them."""

    class Tree(BaseModel):
        """A tree."""

        name: str
        below: list[Tree] = []

    parameters = as_tool(Tree).parameters
    assert (parameters["type"], list(parameters["properties"])) == ("object", ["name", "below"])
    assert parameters["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    assert "description" not in parameters

    class Trees(RootModel[list["Trees"]]):
        pass

    with pytest.raises(ToolError, match="of type 'array'"):
        as_tool(Trees)


def test_titles_are_left_out_but_not_names():
    """Titles made of names are not sent to the model; a parameter called title is."""

    def book(title: str, item: Item) -> None: ...

    parameters = Tool.from_function(book).parameters
    assert list(parameters["properties"]) == ["title", "item"]
    assert "title" not in parameters
    assert parameters["$defs"]["Item"]["properties"]["name"] == {"type": "string"}


def star(*items: int) -> None:
    """Take any number."""


def keywords(**options: int) -> None:
    """Take any name."""


def unresolved(x: Nowhere) -> None:  # noqa: F821
    """Take what is not there."""


class Old(OldTypedDict):
    key: int


def old(x: list[Old]) -> None:
    """Take what pydantic reads on Python 3.12 and later only."""


def impossible(x: types.ModuleType) -> None:
    """Take what no text describes."""


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Tool.from_function(star), ToolError, r"star takes \*items"),
        (lambda: Tool.from_function(keywords), ToolError, r"keywords takes \*\*options"),
        (lambda: Tool.from_function(unresolved), ToolError, "Nowhere"),
        (lambda: Tool.from_function(impossible), UnsupportedTypeError, "no JSON form"),
        pytest.param(
            lambda: Tool.from_function(old),
            UnsupportedTypeError,
            "TypedDict",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic reads typing.TypedDict there"),
        ),
        (lambda: Tool.from_function(iter), ToolError, "signature of iter is not known"),
        (lambda: Tool.from_function(test_models, name="a b"), ToolError, "cannot be the name"),
        (lambda: Tool.from_dict({"type": "function"}), ToolError, "has no name"),
        (lambda: Tool.from_dict({"name": "f", "parameters": {"type": "array"}}), ToolError, "of type 'array'"),
        (lambda: as_tools([3]), ToolError, "3 is not a tool"),
        (lambda: as_tools([test_models, test_models]), ToolError, "two tools are called 'test_models'"),
        (lambda: select(as_tools([test_models]), ["other"]), ToolError, "names 'other'"),
        (lambda: select(as_tools([test_models]), []), ToolError, "empty list"),
    ],
)
def test_what_cannot_be_a_tool(make, error, text):
    """Each refusal says what is wrong."""
    with pytest.raises(error, match=text):
        make()


def test_functions_become_tools_once():
    """The same function gives the same tool, so that its grammar is found again."""
    assert as_tool(everything) is as_tool(everything)


def even(value: int) -> int:
    """Refuse odd numbers."""
    if value % 2:
        raise ValueError("odd")
    return value


def test_validators_are_run(byte_vocabulary):
    """A validator of a parameter sees the value, also when the schema allows it."""

    def halve(number: Annotated[int, AfterValidator(even)]) -> int:
        return number // 2

    grammar = schemagen.compile(Tool.from_function(halve).spec, byte_vocabulary)
    with pytest.raises(ValidationFailed, match="odd"):
        grammar.validate('{"number": 3}')

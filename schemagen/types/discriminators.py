"""Discriminators that are functions: those that return a property of the object, and nothing else.

``Discriminator(lambda value: value["kind"])`` chooses the member whose tag is the value of ``kind``, so a mask can ask for the
tag there. A function does so if it is given an object whose only property is a stand-in, returns this very stand-in, and has
neither looked at it nor at any other property. Whatever else it does, nothing is concluded: a tag that is computed stays with
validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: What classes need to be made, and objects to be passed on.
_UNGUARDED = frozenset(
    {"__class__", "__init__", "__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__"}
)
#: Values of every type of JSON. `is None` and `type(value)` cannot be noticed, so the function is tried with these as well.
_PLAIN: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1.5, "", "x", [], [0], {}, {"x": 0})


class TagProperty(NamedTuple):
    """The property that a discriminator returns.

    Attributes:
        name: Of the property.
        without: What the discriminator returns without it.
    """

    name: str
    without: Any

    def demand(self, tag: str) -> dict[str, Any]:
        """Return what the objects of a tag have in common."""
        required = {} if self.without == tag else {"required": [self.name]}
        return {"properties": {self.name: {"const": tag}}, **required}


def tag_property(discriminator: Callable[[Any], Any], tags: Iterable[Any]) -> TagProperty | None:
    """Return the property whose value a discriminator returns; None if it is not known to do that."""
    tags = list(tags)
    # pydantic looks a tag up as a key of a dict, where 1 is True.
    if not all(type(tag) is str for tag in tags):
        return None
    asked: set[Any] = set()
    without = _result(discriminator, _object({}, asked))
    name = next(iter(asked), None)
    if len(asked) != 1 or type(name) is not str:
        return None
    asked = set()  # a function that looks at a stand-in adds to it
    stand_ins = (_guarded(str, asked)("a stand-in"), _guarded(object, asked)())
    for value in (*_PLAIN, *tags, *stand_ins):
        if _result(discriminator, _object({name: value}, asked)) is not value or asked != {name}:
            return None
    return TagProperty(name, without)


def _result(discriminator: Callable[[Any], Any], value: Any) -> Any:
    """Return what a discriminator makes of a value; None, which is no tag, if it raises."""
    try:
        return discriminator(value)
    except Exception:  # noqa: BLE001 - a function of the user, given a value that it may not expect
        return None


def _guarded(base: type, asked: set[Any], **others: Any) -> Any:
    """Return a subclass of a type that writes down who looks at its instances."""

    def look(*_: Any, **__: Any) -> Any:
        asked.add(None)
        raise TypeError("a stand-in has no value")

    names = {name for name in dir(base) if callable(getattr(base, name))} - _UNGUARDED
    return type("StandIn", (base,), {**dict.fromkeys(names, look), **others})


def _object(content: dict[str, Any], asked: set[Any]) -> Any:
    """Return a dict that writes down which of its keys are read."""

    def get(_: Any, key: Any, default: Any = None) -> Any:
        asked.add(key)
        return content.get(key, default)

    def item(_: Any, key: Any) -> Any:
        asked.add(key)
        return content[key]

    def has(_: Any, key: Any) -> bool:
        asked.add(key)
        return key in content

    reading = {"get": get, "__getitem__": item, "__contains__": has, "__getattribute__": object.__getattribute__}
    return _guarded(dict, asked, **reading)()

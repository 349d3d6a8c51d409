"""Keywords that exclude each other, and how that is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemagen.regex.lowering import surrogate_words
from schemagen.schema.keyword_table import Holds, named
from schemagen.schema.keywords import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Clauses and keys beyond these are not listed.
MAX_SHOWN = 6
#: Their value `false` forbids keys.
_FORBIDDING = named(lambda row: row.of == "object" and row.holds == Holds.SCHEMA)
#: They speak about values of any type, so that a type beside them is part of the clash.
_WHOLE = named(lambda row: not row.of and (row.self_contained or row.negates)) - {"type"} | {"$ref", "false"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A keyword that takes part in a clash.

    Attributes:
        pointer: JSON pointer of the schema that it stands in.
        keyword: Its name.
        value: The rest of its value.
        inner: Whether it speaks about a part of the instance, not about the instance itself.
    """

    pointer: str
    keyword: str
    value: Any
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Clash:
    """Why there is no instance.

    Attributes:
        at: JSON pointer of the deepest schema without an instance that every instance needs; "" is the root.
        why: The reason, in words.
        clauses: The keywords that exclude each other; none where an instance would have to be endless.
    """

    at: str
    why: str
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, slots=True)
class Closed:
    """The value `false` of a keyword, beside the keys that are declared nevertheless."""

    declared: tuple[str, ...]


def words(at: str, clauses: tuple[Clause, ...]) -> str:
    """Return a sentence that says which clauses exclude each other; ``at`` is the pointer that the reader is shown."""
    if not clauses:
        return "its keywords contradict each other"
    if [clause.keyword for clause in clauses] == ["false"]:
        return "the schema is false, which allows nothing"
    own = [clause for clause in clauses if not clause.inner]
    types = [clause for clause in own if clause.keyword == "type"]
    whole = any(clause.keyword in _WHOLE for clause in own)
    listed, noun = clauses, "value"
    if len(types) == 1 and isinstance(types[0].value, str) and not whole and len(clauses) > 1:
        listed, noun = tuple(clause for clause in clauses if clause is not types[0]), types[0].value
    forbidden = _forbidden(at, listed)
    if forbidden:
        return forbidden
    texts = [_text(at, clause) for clause in listed[:MAX_SHOWN]]
    if len(listed) > MAX_SHOWN:
        texts.append(f"{len(listed) - MAX_SHOWN} more keywords")
    *some, last = texts
    if not some:
        unwritable = surrogate_words(*_texts_in(listed[0].value))
        return f"{last} leaves no {noun}" + (f": {unwritable}" if unwritable else "")
    together = f"{', '.join(some)} and {last}"
    return f"{together} share no value" if noun == "value" else f"{together} leave no {noun}"


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts_in(part)


def _forbidden(at: str, clauses: tuple[Clause, ...]) -> str:
    """Say that a required key may not be there, where it is no more than that."""
    by_name = {clause.keyword: clause for clause in clauses}
    ban = next((clause for clause in clauses if clause.keyword in _FORBIDDING), None)
    if len(clauses) != 2 or "required" not in by_name or ban is None or not isinstance(ban.value, Closed | bool):
        return ""
    names = ", ".join(map(shown, by_name["required"].value))
    where = _where(at, by_name["required"])
    return f"the required property {names}{where} is forbidden by {ban.keyword}: false{_where(at, ban)}"


def _text(at: str, clause: Clause) -> str:
    where = _where(at, clause)
    if clause.keyword == "false":
        return f"the schema false{where}"
    if isinstance(clause.value, Closed):
        names = clause.value.declared
        keys = ", ".join(map(shown, names[:MAX_SHOWN])) + (", ..." if len(names) > MAX_SHOWN else "")
        return f"{clause.keyword} false" + (f" (declared: {keys})" if names else "") + where
    if clause.keyword == "required" and isinstance(clause.value, list):
        return f"required {', '.join(map(shown, clause.value[:MAX_SHOWN]))}{where}"
    if clause.keyword == "oneOf" and isinstance(clause.value, list):
        return f"oneOf (exactly one of {len(clause.value)} schemas){where}"
    return f"{clause.keyword} {shown(clause.value)}{where}"


def _where(at: str, clause: Clause) -> str:
    return "" if clause.pointer == at else f" at {clause.pointer or 'the root'}"

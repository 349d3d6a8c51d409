"""Why a schema has no instance: the place, and the keywords there that exclude each other.

Idea: delta debugging (Zeller and Hildebrandt, 2002, "Simplifying and isolating failure-inducing input"). Demands are
taken out of the schema as long as the rest still has no instance; the parts that cannot be taken out any more are the clash.
Then the place is moved down to the deepest part that has no instance by itself. Nothing here knows what a keyword means,
only how to take it out; whether a schema has an instance is asked of the engine.

Invariant: taking out only widens what a schema allows, so that a clash of the smaller schema is one of the given schema,
too. Hence sub-schemas become `true` instead of vanishing (a declared key stays declared), what stands under `not`, `oneOf` or
`if` is left as it is, and so is everything beside an `unevaluated` keyword that is needed.

Cost: at most `MAX_TRIALS` questions, each as much as a compilation without its masks; only asked after a compilation failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from schemagen.errors import LimitError
from schemagen.errors.pointers import pointer_of, steps_of
from schemagen.regex.lowering import surrogate_words
from schemagen.schema.document import draft_of
from schemagen.schema.keyword_table import COMPANIONS, NEGATING, READERS, SCHEMA_MAPS, SELF_CONTAINED, Holds, named
from schemagen.schema.keywords import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_TRIALS = 400
#: Alternatives beyond these are not gone into.
MAX_BRANCHES = 3

#: Steps from the root of the document to a schema.
Path = tuple[str | int, ...]

#: The dialect of a pattern is none: without it the pattern asserts something else.
_ASSERTING = READERS.keys() | (COMPANIONS - SELF_CONTAINED)
_UNEVALUATED = named(lambda row: row.unevaluated)
#: Less of their inside may allow more or less, so it is not touched.
_OPAQUE = NEGATING | _UNEVALUATED | named(lambda row: row.companion_of in NEGATING)
_SCHEMAS_BY_KEY = SCHEMA_MAPS & _ASSERTING
_SCHEMAS_BY_INDEX = named(lambda row: Holds.SCHEMA_LIST in row.holds) - _OPAQUE
_SCHEMA_VALUED = named(lambda row: Holds.SCHEMA in row.holds) - _OPAQUE
#: A schema that says nothing takes their place, so that keys and items stay declared; `contains` asks for an item then.
_WIDENED = _SCHEMA_VALUED - {"contains"}
#: They speak about the same instance as the schema that they stand in.
_IN_PLACE = named(lambda row: row.in_place)
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


@dataclass(frozen=True, slots=True)
class _Unit:
    """Something that can be taken out: a keyword, or one entry of its value."""

    place: Path
    keyword: str
    entry: str | int | None = None


def explain(schema: Any, is_empty: Callable[[Any, str], bool]) -> Clash | None:
    """Return why a schema has no instance; None if that was not found.

    Args:
        schema: A JSON Schema without an instance.
        is_empty: Whether the schema at a JSON pointer of a document certainly has no instance. It is asked about
            wider versions of ``schema``, and raises `LimitError` when the time is over.
    """
    try:
        search = _Search(schema, is_empty)
        return search.reason((), ()) if search.is_empty(()) else None
    except RecursionError:
        return None


class _Search:
    """A schema that becomes smaller while it is looked at."""

    def __init__(self, schema: Any, is_empty: Callable[[Any, str], bool]) -> None:
        self.document = _copy(schema)
        self.trials = 0
        self._ask = is_empty
        self._old = draft_of(schema) <= 7
        self._local = not any("$id" in part or "id" in part for path, part in _schemas(self.document) if path)
        self._fixed = self._needed_as_they_are()

    def is_empty(self, place: Path, document: Any = None) -> bool:
        """Whether a place has no instance; False if too much was asked already."""
        if self.trials >= MAX_TRIALS:
            return False
        self.trials += 1
        try:
            return self._ask(self.document if document is None else document, pointer_of(place))
        except LimitError:
            self.trials = MAX_TRIALS
            return False

    # --- taking out --------------------------------------------------------------------------------------------------

    def shrink(self, goal: Path) -> None:
        """Take out of the schema at ``goal``, and of those below it, what is not needed for it to have no instance."""
        level, seen = [goal], {goal}
        while level:
            units = [unit for place in level for unit in self._units(place)]
            for first in (True, False):  # evaluated members matter only while an unevaluated keyword is there
                self._take_out([unit for unit in units if (unit.keyword in _UNEVALUATED) == first], goal)
            below = dict.fromkeys(
                part for place in level for keyword, part in self.parts(place) if self._may_shrink(place, keyword, part)
            )
            level = [place for place in below if place not in seen]
            seen.update(level)

    def _take_out(self, units: list[_Unit], goal: Path) -> None:
        units = [unit for unit in units if self._may_go(unit)]
        if not units or self.trials >= MAX_TRIALS:
            return
        smaller = _without(self.document, units)
        if self.is_empty(goal, smaller):
            self.document = smaller
        elif len(units) > 1:
            half = len(units) // 2
            self._take_out(units[:half], goal)
            self._take_out(units[half:], goal)

    def _units(self, place: Path) -> Iterator[_Unit]:
        schema = self.at(place)
        if not isinstance(schema, dict) or (self._old and "$ref" in schema):
            return
        for keyword, value in schema.items():
            if keyword not in _ASSERTING or (keyword == "minContains" and value == 0):
                continue
            if keyword == "required" and isinstance(value, list):
                yield from (_Unit(place, keyword, name) for name in value)
            elif keyword in {*_SCHEMAS_BY_KEY, "dependentRequired"} and isinstance(value, dict):
                yield from (_Unit(place, keyword, key) for key in value)
            elif keyword in {"allOf", "prefixItems", "items"} and isinstance(value, list):
                yield from (_Unit(place, keyword, index) for index in range(len(value)))
            else:
                yield _Unit(place, keyword)

    def _may_go(self, unit: _Unit) -> bool:
        schema = self.at(unit.place)
        if schema is True or unit.keyword not in schema:  # it went with something that it was a part of
            return False
        if unit.keyword in _IN_PLACE and _UNEVALUATED.intersection(schema):
            return False
        path = (*unit.place, unit.keyword, *(() if unit.entry is None else (unit.entry,)))
        return not any(_related(path, fixed) for fixed in self._fixed)

    def _may_shrink(self, place: Path, keyword: str, part: Path) -> bool:
        schema = self.at(place)
        if keyword in _OPAQUE or (keyword == "contains" and "maxContains" in schema):
            return False
        if keyword in _IN_PLACE and _UNEVALUATED.intersection(schema):
            return False
        return isinstance(self.at(part), dict)

    def _needed_as_they_are(self) -> tuple[Path, ...]:
        """The schemas that a reference leads to from where less may mean more."""
        waiting = [part[key] for _, part in _schemas(self.document) for key in _OPAQUE | {"contains"} if key in part]
        found: dict[Path, None] = {}
        while waiting:
            for _, part in _schemas(waiting.pop()):
                target = self._target(part.get("$ref"))
                if target is not None and target not in found:
                    found[target] = None
                    waiting.append(self.at(target))
        return tuple(found)

    # --- looking at the document --------------------------------------------------------------------------------------

    def at(self, place: Path) -> Any:
        """Return the part at a path of the document as it is now; `true` where it was taken out."""
        return _found(self.document, place)

    def parts(self, place: Path) -> Iterator[tuple[str, Path]]:
        """Yield the schemas that a schema is made of, with the keyword; those that say nothing are left out."""
        schema = self.at(place)
        if not isinstance(schema, dict):
            return
        target = self._target(schema.get("$ref"))
        if target is not None:
            yield "$ref", target
            if self._old:
                return
        for keyword, value in schema.items():
            paths: list[Path] = []
            if keyword in _SCHEMAS_BY_KEY and isinstance(value, dict):
                paths = [(*place, keyword, key) for key in value]
            elif keyword in {*_SCHEMAS_BY_INDEX, "oneOf"} and isinstance(value, list):
                paths = [(*place, keyword, index) for index in range(len(value))]
            elif keyword in _SCHEMA_VALUED:
                paths = [(*place, keyword)]
            for path in paths:
                inside = self.at(path)
                if (isinstance(inside, dict) and inside) or inside is False:
                    yield keyword, path

    def _target(self, reference: Any) -> Path | None:
        """Return the path that a local reference leads to, None for any other."""
        if not self._local or not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return None
        found: Any = self.document
        path: list[str | int] = []
        for step in steps_of(unquote(reference)):
            try:
                token: Any = int(step) if isinstance(found, list) else step
                found = found[token]
            except (LookupError, TypeError, ValueError):
                return None
            path.append(token)
        return tuple(path)

    # --- saying it ----------------------------------------------------------------------------------------------------

    def reason(self, place: Path, above: tuple[Path, ...]) -> Clash:
        """Return why a place has no instance, at the deepest place that every instance needs."""
        if place in above:
            circle = above[above.index(place) :]
            names = " -> ".join(dict.fromkeys(pointer_of(path) or "the root" for path in circle))
            return Clash(pointer_of(place), f"every instance would contain another one of itself: {names}")
        above = (*above, place)
        self.shrink(place)
        for keyword, part in self._needed(place):
            if part in above or self.is_empty(part):
                branches = self.at(place).get(keyword) if keyword in {"anyOf", "oneOf"} else None
                return self.reason(part, above) if not branches else self._branches(place, keyword, above)
        clauses = tuple(self._clauses(place, inner=False, above=frozenset()))
        return Clash(pointer_of(place), words(pointer_of(place), clauses), clauses)

    def _needed(self, place: Path) -> Iterator[tuple[str, Path]]:
        """Yield the parts that may be to blame; a part that only forbids keys or items is not one."""
        for keyword, part in self.parts(place):
            if keyword in {"anyOf", "oneOf"}:
                branches = range(len(self.at(place)[keyword]))
                if part[-1] == 0 and all(self.is_empty((*place, keyword, index)) for index in branches):
                    yield keyword, part
            elif self.at(part) is not False or keyword in {"properties", "allOf", "$ref"}:
                yield keyword, part

    def _branches(self, place: Path, keyword: str, above: tuple[Path, ...]) -> Clash:
        """Return why no alternative has an instance."""
        paths = [(*place, keyword, index) for index in range(len(self.at(place)[keyword]))]
        if len(paths) == 1:
            return self.reason(paths[0], above)
        found: list[Clash] = []
        document = self.document
        for path in paths[:MAX_BRANCHES]:
            self.document = document  # what one branch does not need another one may
            found.append(self.reason(path, above))
        more = "" if len(paths) == len(found) else f"; and {len(paths) - len(found)} more"
        why = "; ".join(f"at {clash.at or 'the root'} {clash.why}" for clash in found) + more
        clauses = tuple(clause for clash in found for clause in clash.clauses)
        return Clash(pointer_of(place), f"none of the {len(paths)} schemas of {keyword} has a value: {why}", clauses)

    def _clauses(self, place: Path, *, inner: bool, above: frozenset[Path]) -> Iterator[Clause]:
        """Yield the parts that are left at a place and below it."""
        schema, pointer = self.at(place), pointer_of(place)
        if schema is False:
            yield Clause(pointer, "false", None, inner)
        elif place in above:
            yield Clause(pointer, "$ref", f"#{pointer}", inner)
        if not isinstance(schema, dict) or place in above:
            return
        parts = [] if _UNEVALUATED.intersection(schema) else list(self.parts(place))
        parts = [(keyword, part) for keyword, part in parts if keyword not in _OPAQUE]
        seen = {keyword for keyword, _ in parts}
        for keyword, value in schema.items():
            if keyword in _ASSERTING and keyword not in seen and not _says_nothing(keyword, value):
                yield Clause(pointer, keyword, value, inner)
        for keyword, part in parts:
            if self.at(part) is False and keyword in _SCHEMA_VALUED and part[-1] == keyword:
                declared = schema.get("properties", {}) if keyword == "additionalProperties" else {}
                yield Clause(pointer, keyword, Closed(tuple(declared)), inner)
            else:
                yield from self._clauses(part, inner=inner or keyword not in _IN_PLACE, above=above | {place})


def _says_nothing(keyword: str, value: Any) -> bool:
    if keyword in _WIDENED:
        return value is True or value == {}
    if keyword in {*_SCHEMAS_BY_KEY, *_SCHEMAS_BY_INDEX, "required", "dependentRequired"}:
        entries = list(value.values()) if isinstance(value, dict) else value
        return isinstance(entries, list) and all(entry is True or entry == {} for entry in entries)
    return False


# --- documents -----------------------------------------------------------------------------------------------------------


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value


def _without(document: Any, units: list[_Unit]) -> Any:
    """Return a copy in which the units say nothing."""
    changed = _copy(document)
    for unit in units:
        schema = _found(changed, unit.place)
        if schema is True or unit.keyword not in schema:
            continue
        if unit.entry is None:
            if unit.keyword in _WIDENED:
                schema[unit.keyword] = True
            else:
                del schema[unit.keyword]
        elif unit.keyword == "required":
            schema["required"] = [name for name in schema["required"] if name != unit.entry]
        elif unit.keyword in {"dependentRequired", "dependencies", "dependentSchemas"}:
            del schema[unit.keyword][unit.entry]
        else:
            schema[unit.keyword][unit.entry] = True
    return changed


def _found(document: Any, place: Path) -> Any:
    """Return the part at a path, `true` if there is none."""
    found = document
    try:
        for step in place:
            found = found[step]
    except (LookupError, TypeError):
        return True
    return found


def _schemas(document: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield every object of a document with its path; some are no schemas, which does no harm."""
    waiting: list[tuple[Path, Any]] = [((), document)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, dict):
            yield path, part
            waiting.extend(((*path, key), value) for key, value in part.items())
        elif isinstance(part, list):
            waiting.extend(((*path, index), value) for index, value in enumerate(part))


def _related(one: Path, other: Path) -> bool:
    """Whether one of two places contains the other."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


# --- words -------------------------------------------------------------------------------------------------------------


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

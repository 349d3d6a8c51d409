"""`Regex` and `Choice`, specs of other libraries converted to ours, and errors for values that are not specs.

Inside of a grammar a spec has an immutable form: a JSON Schema is a `JsonSchema`, with the layout of its texts.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from enum import Enum, EnumMeta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from schemagen.checks import PatternDialect, check_dialect, kind_of
from schemagen.errors import (
    InvalidSchemaError,
    OptionError,
    UnsupportedPatternError,
    UnsupportedTypeError,
    ValidationFailed,
)
from schemagen.regex.ast import HashedOnce, hashed_once
from schemagen.regex.text_groups import TEXT_GROUPS
from schemagen.threads.clock import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemagen.engine.options import Options, PropertyOrder, WhitespacePolicy
    from schemagen.schema.ir import Expression
    from schemagen.schema.normalise import Normaliser
    from schemagen.schema.numbers.expressions import NumberStyle

#: Flags of `re` -> their letter. Others are refused; re.UNICODE is the default and re.DEBUG only prints.
_LETTERS = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x", re.ASCII: "a"}
_HARMLESS = re.UNICODE | re.DEBUG
_KINDS = "a type, a JSON Schema as a dict, a Regex, a Choice, or a list of texts to choose from"
_SHOWN = 80


def choices_of(given: tuple[Any, ...], enum: type[Enum] | None) -> tuple[str, ...]:
    """Return the texts of a `Choice`.

    Args:
        given: Its arguments: texts, or one iterable of them.
        enum: Their enum, if there is one.

    Raises:
        OptionError: One is no text.
    """
    texts = given
    if len(given) == 1 and not isinstance(given[0], str):
        try:
            texts = tuple(given[0])
        except TypeError:
            texts = given
    refused = [text for text in texts if not isinstance(text, str)]
    if not refused:
        return tuple(str(text) for text in texts) if enum is not None else texts
    wrong = refused[0]
    if enum is not None:
        raise OptionError(
            f"a member of {enum.__name__} has the value {wrong!r:.80}",
            why="a Choice writes texts without quotes",
            fix=f"give the enum itself as the type, lm(prompt, {enum.__name__}): its values are written as JSON",
        )
    raise OptionError(
        f"an option of a Choice is {wrong!r:.80}",
        why="a Choice writes texts without quotes",
        fix=f"for values of JSON use a type, {_literal(texts)}",
    )


def pattern_text(pattern: re.Pattern[Any]) -> str:
    """Return a pattern for `Regex` that means what a compiled one means as a whole, its flags written into it.

    Raises:
        UnsupportedPatternError: It is a pattern over bytes, has a flag that cannot be written into it, or a group with the
            name of a text group, which is an ordinary one for `re`.
    """
    if not isinstance(pattern.pattern, str):
        raise UnsupportedPatternError(
            f"the pattern {pattern.pattern!r:.80} is over bytes",
            why="texts are characters",
            fix="compile a pattern of type str",
        )
    for name in pattern.groupindex:
        if name in TEXT_GROUPS:
            raise UnsupportedPatternError(
                f"the compiled pattern {pattern.pattern!r:.80} has a group with the name {name}",
                why="it is an ordinary group for re, and stands for a kind of text in a Regex",
                fix="give Regex(pattern) for the kind of text, or the group another name",
            )
    letters = "".join(letter for flag, letter in _LETTERS.items() if pattern.flags & flag)
    unknown = pattern.flags & ~(_HARMLESS | sum(_LETTERS))
    if unknown:
        raise UnsupportedPatternError(
            f"the pattern {pattern.pattern!r:.80} has the flag {re.RegexFlag(unknown)!r}",
            why="it cannot be written into the pattern",
            fix="compile it without this flag",
        )
    return f"(?{letters}){pattern.pattern}" if letters else pattern.pattern


def type_of_adapter(spec: Any) -> Any:
    """Return the type of a pydantic `TypeAdapter`; anything else as it is.

    Raises:
        UnsupportedTypeError: The adapter has a configuration of its own, which its type does not tell.
    """
    module = sys.modules.get("pydantic.type_adapter")
    if module is None or not isinstance(spec, module.TypeAdapter):
        return spec
    if getattr(spec, "_config", None) is not None or not hasattr(spec, "_type"):
        raise UnsupportedTypeError(
            f"{spec!r:.80} has a configuration of its own",
            why="the constraint is made of the type, which does not know it",
            fix="put the configuration on the type (model_config, or pydantic.with_config) and give the type",
        )
    return spec._type  # noqa: SLF001 - what TypeAdapter was called with; it has no public name


def no_spec(spec: Any) -> InvalidSchemaError:
    """Return the error for something that is neither a type nor a schema, with the likely meaning."""
    return InvalidSchemaError(
        f"{_shown(spec)} is neither a type nor a schema", why=f"it is {kind_of(spec)}", fix=_fix(spec)
    )


def list_of_others(spec: list[Any] | tuple[Any, ...]) -> InvalidSchemaError:
    """Return the error for a list that is no list of texts."""
    if any(isinstance(each, dict) and "role" in each for each in spec):
        fix = "the prompt comes first, then the type or schema: lm(messages, Person)"
    elif all(isinstance(each, (str, int, float, bool, type(None))) for each in spec):
        fix = f"for one of these values, written as JSON: {_literal(spec)}"
    elif all(isinstance(each, type) for each in spec):
        names = [each.__name__ for each in spec]
        fix = f"for one of these types: {' | '.join(names)}; for a list of them: list[{names[0]}]"
    else:
        fix = "give a single spec; one for each prompt is for lm.batch"
    return InvalidSchemaError(
        f"{_shown(spec)} is no list of texts", why="a list as a spec holds texts to choose from", fix=fix
    )


def _fix(spec: Any) -> str:
    if isinstance(spec, str):
        return _fix_for_text(spec)
    if hasattr(spec, "matcher") and hasattr(spec, "min_new_tokens"):
        return "it is a compiled grammar: use it as it is, lm(prompt, grammar)"
    if hasattr(type(spec), "vocabulary") or hasattr(type(spec), "fingerprint"):
        return "give the type of the value: lm(prompt, Person), or schemagen.compile(Person, vocabulary)"
    if isinstance(spec, ModuleType):
        return f"give a class of this module, as {spec.__name__}.Person"
    if callable(spec):
        return _fix_for_function(spec)
    if hasattr(spec, "keys"):
        return "give a dict: dict(schema)"
    if isinstance(spec, (set, frozenset)):
        return "sets have no order: give a list of texts, or Choice([...])"
    return f"give the class itself: {type(spec).__name__}" if hasattr(spec, "__dict__") else f"give {_KINDS}"


def _fix_for_function(function: Any) -> str:
    """Say what to give instead of a function: its result has a type, and its arguments are those of a call."""
    name = getattr(function, "__name__", "")
    if name.isidentifier():
        return f"for a call of it: lm.call(prompt, [{name}]); for its result give the type of that, as int or list[str]"
    return "a spec says what the value is, not how to check it: give a type, with Annotated[T, AfterValidator(...)] for a check"


def _fix_for_text(text: str) -> str:
    """Say what to give instead of a str: JSON text is to be read, and a prompt comes first."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, (dict, bool)):
        return "it is JSON: give json.loads(text)"
    return "the prompt comes first: lm(prompt, Person); for a pattern give Regex(text), for a fixed text Choice([text])"


def _literal(values: Iterable[Any]) -> str:
    text = ", ".join(repr(value) for value in values)
    return f"Literal[{text}]" if len(text) <= _SHOWN else "Literal[...]"


def _shown(spec: Any) -> str:
    text = repr(spec)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


T = TypeVar("T")


E = TypeVar("E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Regex:
    """Text that matches ``pattern`` as a whole.

    Args:
        pattern: For example ``r"[A-Z]{3}-[0-9]+"``. Back-references have no finite automaton and are refused. In
            Python's dialect some named groups stand for a kind of text (the guide on text groups): ``(?P<QUOTED_TEXT>)``,
            ``(?P<UNQUOTED_TEXT>)``, ``(?P<TEXT_UNTIL>stop)``, ``(?P<SUBSTRING_OF>text)``,
            ``(?P<DELIMITED_LIST>, |[0-9]+)`` and ``(?P<DELIMITED_SUBSEQUENCE_OF>, |bold|italic)``.
        dialect: Whose syntax the pattern is in: that of Python's `re`, of ECMA-262 with the `u` flag (as in JSON Schema), or of
            Rust's `regex` crate (as in pydantic's `Field(pattern=...)`).
    """

    pattern: str
    dialect: PatternDialect = "python"

    def __post_init__(self) -> None:
        """Refuse a value that is not text, and unknown dialects, at once."""
        if not isinstance(self.pattern, str):
            raise OptionError(
                f"the pattern of a Regex is {kind_of(self.pattern)}",
                why="a pattern is a str",
                fix="a compiled pattern of re is a spec as it is: lm(prompt, re.compile(...))",
            )
        check_dialect(self.dialect)

    def __repr__(self) -> str:
        """Return the call that makes it."""
        dialect = "" if self.dialect == "python" else f", dialect={self.dialect!r}"
        return f"Regex(pattern={self.pattern!r}{dialect})"


@hashed_once
@dataclass(frozen=True, slots=True, init=False)
class Choice(HashedOnce, Generic[T]):
    """One of a few texts, as they are (not as JSON strings).

    ``Choice("yes", "no")``, ``Choice(["yes", "no"])``, or ``Choice(Answer)`` of an `Enum` whose values are texts: there the
    value is the member.

    Args:
        options: The texts, a list of them, or an enum. A text that is given twice counts once.

    Attributes:
        options: The texts.
        enum: The enum, if there is one.

    Raises:
        OptionError: An option is no text, or there is none.
    """

    options: tuple[str, ...]
    enum: type[Enum] | None

    @overload
    def __init__(self: Choice[E], options: type[E], /) -> None: ...
    @overload
    def __init__(self: Choice[str], options: Iterable[str], /) -> None: ...
    @overload
    def __init__(self: Choice[str], *options: str) -> None: ...
    def __init__(self, *options: Any) -> None:
        if not options:
            raise OptionError(
                "Choice() has no options", why="there is nothing to choose", fix='give the texts: Choice("yes", "no")'
            )
        only: Any = options[0] if len(options) == 1 else None
        enum = cast("type[Enum]", only) if isinstance(only, EnumMeta) else None
        texts = choices_of(options if enum is None else tuple(member.value for member in enum), enum)
        object.__setattr__(self, "options", texts)
        object.__setattr__(self, "enum", enum)

    def value_of(self, text: str) -> str | Enum:
        """Return what one of the texts stands for: itself, or the member of the enum.

        Raises:
            ValidationFailed: It is none of the texts.
        """
        if text not in self.options:
            raise ValidationFailed(
                f"{text!r:.80} is none of the options", text=text, fix="validate a text of this grammar"
            )
        return text if self.enum is None else next(member for member in self.enum if member.value == text)


@dataclass(frozen=True)
class JsonSchema:
    """An immutable JSON Schema, and how its texts are written, unless the compilation decides that.

    Attributes:
        text: The schema, written as JSON.
        whitespace: As for `schemagen.compile`; None if the compilation decides.
        property_order: The same.
        max_gap: Of whitespace "any": most characters in one place; None to keep that of the compilation.
        around: Of whitespace "any": whether it may also be before and after the whole text.
        place: A JSON pointer to the schema in its document, for errors.
    """

    text: str
    whitespace: WhitespacePolicy | None = None
    property_order: PropertyOrder | None = None
    max_gap: int | None = None
    around: bool = True
    place: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """Return the schema."""
        return self.text

    def written(self, options: Options) -> Options:
        """Return the options of a compilation, overridden by this schema's own."""
        return options._replace(
            whitespace=options.whitespace if self.whitespace is None else self.whitespace,
            property_order=options.property_order if self.property_order is None else self.property_order,
            max_gap=options.max_gap if self.max_gap is None else self.max_gap,
            around=self.around,
        )


@dataclass(frozen=True)
class JsonPart:
    """Values inside of a schema as JSON: what rules embed that write the values around them in another way.

    Attributes:
        values: The values, an expression over the document.
        numbers: How numbers are written.
        written: The whole schema, and how JSON is laid out.
        normaliser: Of the document.
    """

    values: Expression
    numbers: NumberStyle
    written: JsonSchema
    normaliser: Normaliser = field(compare=False)

    def __repr__(self) -> str:
        """Return where the values are."""
        return getattr(self.values, "pointer", "") or repr(self.written)

    def reader(self, options: Options) -> tuple[Normaliser, Options]:
        """Return the values, ready to be looked into, and the options that their texts are compiled with."""
        reader = self.normaliser.over(self.values, Deadline(options.limits.max_seconds).check)
        return reader, self.written.written(options)._replace(number_style=self.numbers)


def frozen_spec(spec: Any) -> Any:
    """Return a spec that can be compared and hashed: a JSON Schema as its text, a list of texts as a tuple.

    Raises:
        InvalidSchemaError: A dict is no JSON.
    """
    if isinstance(spec, list):
        return tuple(spec)
    if not isinstance(spec, dict | bool):
        return spec
    try:
        return JsonSchema(json.dumps(spec))
    except (TypeError, ValueError) as error:
        raise InvalidSchemaError(
            f"{spec!r:.80} is no JSON: {error}", fix="give a JSON Schema as a dict of plain values"
        ) from error


def given_spec(spec: Any) -> Any:
    """Return a frozen spec as `schemagen.compile` takes it."""
    return json.loads(spec.text) if isinstance(spec, JsonSchema) else spec

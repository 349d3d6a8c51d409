"""`Written`: values of a type in a format other than JSON, as specs; ``compile(Person, vocabulary, as_="yaml")`` makes them.

A format is a writer and a reader of `schemagen.writers`. What the reader makes of a text is JSON, which the type reads as
strictly as it reads JSON that a model wrote.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from schemagen.checks import kind_of
from schemagen.engine.options import DEFAULT_STYLE, Options
from schemagen.errors import OptionError, ValidationFailed
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.reading import styled, target_of
from schemagen.grammar.refusals import refused_by_type
from schemagen.grammar.specs import Choice, JsonSchema, Regex, frozen_spec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from schemagen.context_free.syntax import ContextFreeGrammar
    from schemagen.schema.normalise import Dialect, Normaliser
    from schemagen.types.reflection import Target
    from schemagen.writers import TextFormat
    from schemagen.writers.classes import Classes
    from schemagen.writers.tables import TableWriter
    from schemagen.writers.walk import RuleWriter
    from schemagen.writers.xml import XmlWriter

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Written(ContextFree[T_co]):
    """Values of a type in another format than JSON.

    Args:
        type: A type, or an immutable JSON Schema.

    Attributes:
        format: The format.
    """

    type: Any

    format: ClassVar[TextFormat]

    def shown(self) -> str:
        """Return an example of the values, or their JSON Schema if none is made."""
        return self.example() or json.dumps(self.schema, ensure_ascii=False)

    def example(self) -> str | None:
        """Return a text of the grammar that shows the format; None if no short one is found."""
        from schemagen.writers.examples import example_of

        return example_of(self.writer())

    def placeholders(self) -> str | None:
        """Return the same with ``<key>`` or ``<description>`` for each scalar, which need not be a text of the grammar."""
        from schemagen.writers.examples import example_of

        return example_of(self.writer(), has_values=False)

    @abstractmethod
    def writer(self) -> RuleWriter:
        """Return what writes the values as rules."""

    @abstractmethod
    def json_of(self, text: str) -> str:
        """Return what a text stands for as JSON.

        Raises:
            ValueError: It is no text of the format.
        """

    def rules(self) -> ContextFreeGrammar:
        """Return the rules of the texts; see `ContextFree.rules`.

        Raises:
            UnsupportedTypeError: The format cannot say a part of the type.
            UnsupportedSchemaError: The same of a schema.
        """
        return self.writer().grammar()

    def value_of(self, text: str) -> T_co:
        """Return the value that a text stands for.

        Raises:
            ValidationFailed: It is no text of the format, or the type refuses its value.
        """
        try:
            json_text = self.json_of(text)
        except (ValueError, RecursionError) as error:
            raise self._refused(text, error) from error
        found: T_co = self._validated(text, json_text)
        return found

    def _refused(self, text: str, error: ValueError | RecursionError) -> ValidationFailed:
        told = "it is nested too deep to be read" if isinstance(error, RecursionError) else error
        return ValidationFailed(
            f"the text is no {self.format}: {told}",
            text=text,
            error=error,
            why="it was not written under this grammar, or cut off",
            fix="validate whole texts of this grammar",
        )

    def _validated(self, text: str, json_text: str) -> Any:
        from pydantic import ValidationError

        if self._target is None:
            self._check(text, json.loads(json_text, parse_float=_exact))
            return json.loads(json_text)
        try:
            return self._target.validate(json_text)
        except ValidationError as error:
            raise refused_by_type(text, error, json_text) from error

    def _check(self, text: str, value: Any) -> None:
        from jsonschema import ValidationError

        from schemagen.errors.pointers import pointer_of
        from schemagen.schema.checks import validator

        try:
            validator(self.schema, None).validate(value)
        except ValidationError as error:
            at = pointer_of(tuple(error.absolute_path))
            raise ValidationFailed(
                f"the schema refuses the value: {error.message}", at=at, text=text, error=error
            ) from error

    def checked(self) -> tuple[tuple[str, str], ...]:
        """Return what the type demands of the finished value and the rules do not say."""
        return () if self._target is None else self._target.checked

    @cached_property
    def _target(self) -> Target[Any] | None:
        return None if isinstance(self.type, JsonSchema) else target_of(self.type)

    @property
    def schema(self) -> Any:
        """The JSON Schema of the values."""
        return json.loads(self.type.text) if self._target is None else self._target.schema

    @property
    def name(self) -> str:
        """What errors call the type; empty for a schema."""
        return "" if self._target is None else self._target.name

    def parts(self, schema: Any = None) -> tuple[Normaliser, Any, str]:
        """Return what a writer is made of: the schema, the style of numbers, and the name of the type."""
        from schemagen.schema.normalise import Normaliser

        dialect: Dialect = "json-schema" if self._target is None else "python"
        style = styled(Options(number_style=DEFAULT_STYLE), self._target).number_style
        return Normaliser(self.schema if schema is None else schema, dialect=dialect), style, self.name

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: everything derived from the type is derived again."""
        return {"type": self.type}

    def __repr__(self) -> str:
        """Return the type and the format."""
        shown = getattr(self.type, "__name__", "") if isinstance(self.type, type) else repr(self.type)
        return f"{shown:.80} as {self.format}"


class AsJson(Written[T_co]):
    """Values as JSON, for prompts: an engine of its own reads and writes them."""

    format = "json"
    instruction = "Answer with JSON only"

    def writer(self) -> RuleWriter:
        """Return what writes the values as displays of Python, which differ from JSON in three words."""
        from schemagen.writers.python import PythonWriter

        return PythonWriter({}, *self.parts())

    def json_of(self, text: str) -> str:
        """Return such a display as JSON."""
        from schemagen.writers.python import read_python

        return read_python(text, {}).json

    def example(self) -> str | None:
        """Return an example; see `Written.example`."""
        found = super().example()
        return None if found is None else self.json_of(found)

    def placeholders(self) -> str | None:
        """Return the form of the values; see `Written.placeholders`."""
        found = super().placeholders()
        return None if found is None else self.json_of(found)


class AsPython(Written[T_co]):
    """Values as constructor calls: ``Person(name="Ada", age=36)``; see `schemagen.writers.python`."""

    format = "python"
    instruction = "Answer with one Python expression only"

    @cached_property
    def _classes(self) -> Classes:
        from schemagen.writers.classes import classes_of

        assert self._target is not None, "a schema was refused"
        return classes_of(self._target.adapter)

    def writer(self) -> RuleWriter:
        """Return what writes the values as rules."""
        from schemagen.writers.python import PythonWriter

        return PythonWriter(self._classes.named, *self.parts(self._classes.schema))

    def json_of(self, text: str) -> str:
        """Return what an expression stands for as JSON."""
        from schemagen.writers.python import read_python

        return read_python(text, self._classes.named).json

    def value_of(self, text: str) -> T_co:
        """Return the instance that an expression makes; see `Written.value_of`."""
        from pydantic import ValidationError

        from schemagen.writers.python import PythonSyntaxError, read_python

        try:
            read = read_python(text, self._classes.named)
        except (PythonSyntaxError, RecursionError) as error:
            raise self._refused(text, error) from error
        assert self._target is not None, "a schema was refused"
        try:
            found: T_co = read.value(self._target)
        except ValidationError as error:
            raise refused_by_type(text, error, read.json) from error
        return found


class AsYaml(Written[T_co]):
    """Values as YAML in block style; see `schemagen.writers.yaml`."""

    format = "yaml"
    instruction = "Answer with YAML only"

    def writer(self) -> RuleWriter:
        """Return what writes the values as rules."""
        from schemagen.writers.yaml import YamlWriter, imported_yaml

        imported_yaml()
        return YamlWriter(*self.parts())

    def json_of(self, text: str) -> str:
        """Return a document as JSON."""
        from schemagen.writers.yaml import read_yaml

        return read_yaml(text)


class AsXml(Written[T_co]):
    """Values as XML; see `schemagen.writers.xml`."""

    format = "xml"
    instruction = "Answer with XML only"

    def writer(self) -> XmlWriter:
        """Return what writes the values as rules."""
        from schemagen.writers.xml import XmlWriter

        return XmlWriter(*self.parts(self._schema_with_defaults))

    @cached_property
    def _schema_with_defaults(self) -> Any:
        from schemagen.writers.classes import schema_with_defaults

        return None if self._target is None else schema_with_defaults(self._target.adapter)

    def json_of(self, text: str) -> str:
        """Return a document as JSON."""
        from schemagen.writers.xml import read_xml

        return read_xml(text, self.writer())  # a new one: writers are for one thread


class _Table(Written[T_co]):
    """Values as tables; see `schemagen.writers.tables`."""

    @abstractmethod
    def writer(self) -> TableWriter:
        """Return what writes the values as rules."""

    def json_of(self, text: str) -> str:
        return self.writer().read(text)  # a new one: writers are for one thread


class AsCsv(_Table[T_co]):
    """A list of rows as CSV."""

    format = "csv"
    instruction = "Answer with CSV only: the line of names, then a line for each row"

    def writer(self) -> TableWriter:
        """Return what writes the values as rules."""
        from schemagen.writers.tables import CsvWriter

        return CsvWriter(*self.parts())


class AsMarkdown(_Table[T_co]):
    """A list of rows as a table of Markdown."""

    format = "markdown"
    instruction = "Answer with a table in Markdown only"

    def writer(self) -> TableWriter:
        """Return what writes the values as rules."""
        from schemagen.writers.tables import MarkdownWriter

        return MarkdownWriter(*self.parts())


def _exact(text: str) -> int | float:
    """Return a number with a point for the check: a whole one, like 3.0, as it is written, which a float may not be."""
    whole, _, fraction = text.partition(".")
    return float(text) if fraction.strip("0") or "e" in text.lower() else int(whole)


FORMATS: Mapping[str, type[Written[Any]]] = {
    "python": AsPython,
    "yaml": AsYaml,
    "xml": AsXml,
    "csv": AsCsv,
    "markdown": AsMarkdown,
}


def written(spec: Any, as_: TextFormat) -> Written[Any]:
    """Return a type or a JSON Schema as a spec of its values in a format.

    Args:
        spec: The type or schema.
        as_: Any format but "json".

    Raises:
        OptionError: It is a spec of another kind, or a schema where the format needs classes.
    """
    if isinstance(spec, Regex | Choice | ContextFree):
        raise OptionError(
            f"as_={as_!r} with a {type(spec).__name__}",
            why="it defines its texts itself; a format is for the values of a type",
            fix="leave as_ out, or give a type",
        )
    if isinstance(spec, dict | bool) and as_ == "python":
        raise OptionError(
            f"as_='python' with a JSON Schema ({kind_of(spec)})",
            why="a constructor call needs classes, and a schema names none",
            fix="give a type, or as_='yaml'",
        )
    return FORMATS[as_](frozen_spec(spec))

"""`Rows`: a type and a model as one function over batches of rows, for engines that do their own reading and writing.

Only arguments are held, pickled and hashed. The model is loaded with the first rows of a process, once.
Nothing of Ray, `datasets` or Spark is imported: they pass columns (dicts of lists or arrays), tables of Arrow or data
frames of pandas, and get them back with two more columns.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemagen.checks import kind_of
from schemagen.errors import OptionError
from schemagen.generation import Failure, Generation
from schemagen.grammar.grammar import Grammar
from schemagen.lm.batch import Batch, generate_batch
from schemagen.lm.generator import check_defaults
from schemagen.options import BatchOptions, names_of
from schemagen.options.required import requires
from schemagen.request.answer_request import AnswerForm
from schemagen.request.settings import Settings
from schemagen.rows.arrow import arrow, column_of, spark_type, value_type
from schemagen.rows.record import fingerprint, model_name
from schemagen.rows.row import Row, json_text, unwritable
from schemagen.rows.template import PromptTemplate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from schemagen.errors import SchemagenError
    from schemagen.lm.language_model import LanguageModel

#: Options for the layout of an answer and its description in the prompt.
_OF_FORM = ("whitespace", "property_order", "show_schema", "chat_template", "as_", "heal")
#: The models of this process, by the arguments they were loaded with.
_MODELS: dict[str, LanguageModel] = {}


class Rows:
    """A function over batches of rows: each gets a value of a type, or an error; other columns stay as they are.

    It can be pickled, loads its model on the first call in a process, and no content of a row makes it raise. It takes
    columns (a dict of lists or arrays), a table of Arrow, a data frame of pandas, or one row as a dict, and returns the
    same.

    Args:
        spec: The spec of the values: a type, a JSON Schema, a `Regex`, ...; one that can be pickled.
        model: Name or folder of a transformers model; None for the bundled one.
        prompt: The column of the prompts: texts or chats.
        template: A text with columns in braces, such as "{title}: {text}", instead of a column of prompts.
        value: The column of the values. They are structs, lists, numbers, ... as pydantic writes them in JSON; JSON texts
            where Arrow has no type for them (recursive types, unions, dictionaries), and for all types with ``as_text``.
        error: The column of the errors: code and fact; null for rows with a value.
        finish_reason: A column for `Generation.finish_reason`, "complete" or "budget"; null for rows with an error. None
            for no such column.
        as_text: Whether values are always JSON texts.
        device_map: As for `schemagen.load`.
        dtype: As for `schemagen.load`.
        load: Further arguments for `schemagen.load`, such as ``{"quantization_config": ...}``.
        options: As for `LanguageModel.batch`. With a ``seed`` each row has its own seed, derived from this one and its
            prompt, so that its value depends neither on the other rows nor on the engine.

    Attributes:
        fingerprint: A digest of all arguments: the same in every process, different for another type, model or option.

    Raises:
        OptionError: An argument is invalid, or pyarrow is not installed (the extra ``parquet``).
        UnsupportedTypeError: The type has no JSON form.

    Example:
        ```python
        rows = schemagen.Rows(Order, model="Qwen/Qwen3-0.6B", prompt="text", max_new_tokens=200)
        dataset.map(rows, batched=True, batch_size=64)
        ```
    """

    @requires("spec", call='schemagen.Rows(Person, model="Qwen/Qwen3-0.6B", prompt="text")')
    def __init__(  # noqa: PLR0913 - each is keyword-only but one
        self,
        spec: Any,
        *,
        model: str | os.PathLike[str] | None = None,
        prompt: str = "prompt",
        template: str | None = None,
        value: str = "value",
        error: str = "error",
        finish_reason: str | None = None,
        as_text: bool = False,
        device_map: Any = "auto",
        dtype: Any = "auto",
        load: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _check(spec, model, options)
        self._spec = spec
        self._model = None if model is None else os.fspath(model)
        self._prompt = prompt
        self._template = None if template is None else PromptTemplate(template)
        self._columns = (value, error)
        self._reason = finish_reason
        self._as_text = as_text
        self._load = {"device_map": device_map, "dtype": dtype, **(load or {})}
        self._options = {name: options[name] for name in sorted(options)}
        self.fingerprint = self._digest()

    def __call__(self, batch: Any) -> Any:
        """Return a batch with the columns of values and errors.

        Args:
            batch: Columns, a table of Arrow, a data frame of pandas, or one row as a dict.

        Raises:
            OptionError: It is none of them, or lacks a column.
            SchemaError: The spec cannot be compiled for this model.
        """
        table = _Table(batch)
        values, errors, reasons = self._answers(self._prompts(table))
        column = self._type()
        if column is None:
            values = [None if errors[at] else json_text(found) for at, found in enumerate(values)]
            column = arrow().string()
        array, refused = column_of(values, column)
        for at, why in refused.items():
            values[at], errors[at] = None, _said(unwritable(at, why).error)
        value, error = self._columns
        texts = {error: errors}
        if self._reason is not None:
            texts[self._reason] = [None if errors[at] else reason for at, reason in enumerate(reasons)]
        columns = {name: (found, arrow().array(found, arrow().string())) for name, found in texts.items()}
        return table.with_columns({value: (values, array), **columns})

    def load(self) -> LanguageModel:
        """Return the model that this process has loaded for these arguments; load it on the first call.

        Raises:
            ModelError: As `schemagen.load`.
        """
        from schemagen.lm.load import load, load_bundled

        if self._model is None:
            return load_bundled()
        name = json.dumps([self._model, self._load], sort_keys=True, default=repr)
        if name not in _MODELS:
            _MODELS[name] = load(self._model, **self._load)
        return _MODELS[name]

    @property
    def actor(self) -> type:
        """A class for ``map_batches`` of Ray Data, whose actors load the model when they start."""
        rows = self

        class RowsActor:
            """Rows of one process."""

            def __init__(self) -> None:
                rows.load()

            def __call__(self, batch: Any) -> Any:
                return rows(batch)

        return RowsActor

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield data frames with the columns of values and errors: for ``mapInPandas`` of Spark."""
        for frame in frames:
            yield self(frame)

    @property
    def spark_columns(self) -> str:
        """The columns of values and errors in the notation of schemas of Spark."""
        value, *texts = self._names()
        column = self._type()
        return f"`{value}` {'STRING' if column is None else spark_type(column)}, " + ", ".join(
            f"`{name}` STRING" for name in texts
        )

    def features(self, features: Any) -> Any:
        """Return features of `datasets` with the columns of values and errors: for ``map(rows, features=...)``.

        Without them `datasets` infers the types from the first rows, which may all have errors.
        """
        from datasets import Features  # pyright: ignore[reportMissingImports]

        value, *texts = self._names()
        column = self._type()
        text = arrow().string()
        schema = arrow().schema([(value, text if column is None else column), *((name, text) for name in texts)])
        return Features({**features, **Features.from_arrow_schema(schema)})

    def _names(self) -> list[str]:
        return [*self._columns] if self._reason is None else [*self._columns, self._reason]

    def _prompts(self, table: _Table) -> list[Any]:
        if self._template is None:
            return [_prompt(found) for found in table.column(self._prompt)]
        names = self._template.names
        rows = zip(*(table.column(name) for name in names), strict=True)
        return [self._template.fill(dict(zip(names, cells, strict=True))) for cells in rows]

    def _answers(self, prompts: list[Any]) -> tuple[list[Any], list[str | None], list[str | None]]:
        """Return the values as JSON data, the errors, and the finish reasons."""
        from pydantic_core import to_jsonable_python

        found = iter(self._generated([prompt for prompt in prompts if prompt is not None]))
        outcomes = [Row(at, None).failure() if prompt is None else next(found) for at, prompt in enumerate(prompts)]
        values: list[Any] = [None] * len(outcomes)
        errors: list[str | None] = [None] * len(outcomes)
        reasons: list[str | None] = [None] * len(outcomes)
        for at, outcome in enumerate(outcomes):
            if isinstance(outcome, Failure):
                errors[at] = _said(outcome.error)
                continue
            reasons[at] = outcome.finish_reason
            try:
                values[at] = to_jsonable_python(outcome.value)
            except Exception as error:  # noqa: BLE001 - serializers are code of the user
                errors[at] = f"row-failed: {type(error).__name__}: {error}"
        return values, errors, reasons

    def _generated(self, prompts: list[Any]) -> list[Generation[Any] | Failure]:
        if not prompts:
            return []
        lm = self.load()
        given = {name: each for name, each in self._options.items() if name not in {*_OF_FORM, "seed", "batch_size"}}
        form = AnswerForm(**{name: self._options[name] for name in _OF_FORM if name in self._options})
        batch = Batch(Settings.of(lm, given, names_of(BatchOptions)), form, self._options.get("batch_size"))
        first = self._options.get("seed")
        seeds = None if first is None else [_seed(first, prompt) for prompt in prompts]
        return generate_batch(batch, prompts, form.grammar(lm, self._spec), seed=seeds, progress=False)

    def _type(self) -> Any:
        if self._as_text or self._options.get("as_", "json") != "json":
            return None
        return value_type(self._spec)

    def _digest(self) -> str:
        template = self._template and self._template.text
        said: list[Any] = [fingerprint(self._spec), model_name(self._model), self._prompt, template]
        said += [*self._names(), self._as_text, self._load, self._options]
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=repr).encode()).hexdigest()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the pickled state.

        Raises:
            OptionError: The type has changed since, or differs on this machine.
        """
        self.__dict__.update(state)
        if self._digest() != self.fingerprint:
            raise OptionError(
                f"the type {self._spec!r:.80} is not the one that was pickled",
                why="this process has another version of its module, or of schemagen",
                fix="have the same code on every machine",
            )

    def __repr__(self) -> str:
        """Show the spec and the model."""
        return f"Rows({self._spec!r:.80}, model={model_name(self._model)!r})"


def _check(spec: Any, model: Any, options: Mapping[str, Any]) -> None:
    """Refuse invalid arguments.

    Raises:
        OptionError: An argument is invalid.
    """
    arrow()
    if isinstance(spec, Grammar):
        raise OptionError(
            "the spec of Rows is a compiled grammar",
            why="it belongs to a vocabulary, and cannot go to another process",
            fix="give the type or schema that it was compiled from",
        )
    if isinstance(spec, (list, tuple)):
        raise OptionError(
            f"the spec of Rows is a {type(spec).__name__}",
            why="one spec is for all rows",
            fix="for a choice give schemagen.Choice([...])",
        )
    if model is not None and not isinstance(model, (str, os.PathLike)):
        raise OptionError(
            f"model is {kind_of(model)}",
            why="each process loads the model by itself",
            fix='give a name or folder: model="Qwen/Qwen3-0.6B"',
        )
    check_defaults(options, None)


def _prompt(found: Any) -> Any:
    """Return a text or a chat, even one of numpy or Arrow; None for anything else."""
    if isinstance(found, str):
        return str(found)
    if hasattr(found, "tolist"):
        found = found.tolist()
    if not isinstance(found, (list, tuple)) or not all(isinstance(message, dict) for message in found):
        return None
    return [{key: value for key, value in message.items() if value is not None} for message in found]


def _seed(first: int, prompt: Any) -> int:
    said = json.dumps([int(first), prompt], default=repr).encode()
    return int.from_bytes(hashlib.sha256(said).digest()[:7], "big")


def _said(error: SchemagenError) -> str:
    return f"{error.code}: {error.fact}".encode("utf-8", "backslashreplace").decode()


class _Table:
    """A batch of rows in one of the forms of engines: columns, a table of Arrow, a data frame of pandas, or one row as a dict.

    Raises:
        OptionError: The batch has none of these forms.
    """

    def __init__(self, batch: Any) -> None:
        # `datasets` wraps a table of Arrow, whose types determine those of the file.
        self._batch = getattr(batch, "pa_table", batch)
        self._kind = _kind_of(self._batch)

    def column(self, name: str) -> list[Any]:
        """Return the cells of a column as Python objects; missing cells of a data frame become None.

        Raises:
            OptionError: The column does not exist.
        """
        names = self._names()
        if name not in names:
            raise OptionError(
                f"the rows have no column {name!r}",
                why=f"their columns are {', '.join(map(repr, names))}"[:300],
                fix="name the column of the prompts: Rows(..., prompt=...)",
            )
        found = self._batch[name]
        if self._kind == "row":
            return [found]
        if self._kind == "arrow":
            cells: list[Any] = found.to_pylist()
            return cells
        return list(found.tolist() if hasattr(found, "tolist") else found)

    def with_columns(self, columns: Mapping[str, tuple[list[Any], Any]]) -> Any:
        """Return the batch with further columns, each given as a list and as an array of Arrow."""
        if self._kind == "arrow":
            return self._arrow_with(columns)
        if self._kind == "pandas":
            return self._batch.assign(**{name: _series(cells, self._batch) for name, (cells, _) in columns.items()})
        added = {name: cells[0] if self._kind == "row" else cells for name, (cells, _) in columns.items()}
        return {**{name: self._batch[name] for name in self._names()}, **added}

    def _arrow_with(self, columns: Mapping[str, tuple[list[Any], Any]]) -> Any:
        import pyarrow as pa

        table = self._batch if isinstance(self._batch, pa.Table) else pa.Table.from_batches([self._batch])
        for name, (_, array) in columns.items():
            at = table.schema.get_field_index(name)
            table = table.append_column(name, array) if at < 0 else table.set_column(at, name, array)
        return table

    def _names(self) -> list[str]:
        return list(self._batch.schema.names if self._kind == "arrow" else self._batch.keys())


def _series(cells: list[Any], frame: Any) -> Any:
    """Return a column of objects for a data frame, whose index need not count from 0."""
    import pandas as pd  # pyright: ignore[reportMissingImports]

    return pd.Series(cells, index=frame.index, dtype=object)


def _kind_of(batch: Any) -> str:
    """Return the form of a batch: "arrow", "pandas", "columns" or "row".

    Raises:
        OptionError: The batch has none of these forms.
    """
    module = type(batch).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(batch, "schema"):
        return "arrow"
    if module == "pandas" and hasattr(batch, "columns"):
        return "pandas"
    if isinstance(batch, Mapping) and len(batch):
        cells = [batch[name] for name in batch]
        columns = all(isinstance(cell, list) or hasattr(cell, "tolist") for cell in cells)
        return "columns" if columns else "row"
    raise OptionError(
        f"the rows are {kind_of(batch)}",
        why="they are neither columns, nor a table of Arrow, nor a data frame of pandas",
        fix="give a dict of lists, or with datasets map(rows, batched=True)",
    )

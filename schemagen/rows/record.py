"""The record of an output, its settings and its progress: a JSON file beside it, replaced after each window.

The output itself keeps one row for each row of the input, for pandas and other readers. A resumed run compares only
settings that can change a value: the batch size and the retries may differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.errors import OptionError, SchemagenError
from schemagen.grammar.compiler import compile as compile_spec
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex
from schemagen.types.reflection import is_type, reflect
from schemagen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_MAX_SHOWN = 60


def version() -> str:
    """Return the version of the package that this module is a part of."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


@dataclass(frozen=True, slots=True)
class RunKey:
    """The settings that the values of a run depend on.

    Attributes:
        spec: The spec as the user wrote it, for messages.
        spec_sha256: The digest of the JSON Schema, and of the names of the validators that a type has besides.
        options: The options, by the names that users know; values are JSON.
        schemagen: The version of schemagen.
    """

    spec: str
    spec_sha256: str
    options: Mapping[str, Any]
    schemagen: str = field(default_factory=version)

    @classmethod
    def of(cls, spec: str, target: Any, *, model: str | os.PathLike[str] | None, **options: Any) -> RunKey:
        """Return the key of a run.

        Args:
            spec: The name of the spec.
            target: The spec itself.
            model: Its name or folder; None for the bundled one.
            options: The other settings that values depend on.

        Raises:
            UnsupportedTypeError: The type has no JSON form.
        """
        return cls(spec, fingerprint(target), {"model": model_name(model), **options})

    def differences(self, before: RunKey) -> Iterator[str]:
        """Yield the differences in words."""
        if self.spec_sha256 != before.spec_sha256:
            same = self.spec == before.spec
            yield f"{_shown(self.spec)} has changed" if same else f"SPEC {_shown(before.spec)}, now {_shown(self.spec)}"
        for name in dict.fromkeys([*before.options, *self.options]):
            was, now = before.options.get(name), self.options.get(name)
            if was != now:
                yield f"--{name.replace('_', '-')} {_shown(was)}, now {_shown(now)}"
        if self.schemagen != before.schemagen:
            yield f"schemagen {before.schemagen}, now {self.schemagen}"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an output.

    Attributes:
        rows: The number of rows of the shard, from its beginning, that are in the output.
        prompts_sha256: The digest of their prompts.
        bytes: The size of the file with these rows; the bytes after it are an unfinished window.
        failures_bytes: The same for the file of failures.
        failed: How many of these rows have no value.
        ids: Kinds of ids among them: "int", "str", "other".
        complete: Whether the input was read to its end.
        before: The progress of the old output whose values a new one takes over; None without a new one.
        beside: Whether the rows are in a file beside the output, which will replace it.
    """

    rows: int = 0
    prompts_sha256: str = ""
    bytes: int = 0
    failures_bytes: int = 0
    failed: int = 0
    ids: tuple[str, ...] = ()
    complete: bool = False
    before: Progress | None = None
    beside: bool = False

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Progress:
        """Return the progress that a file states.

        Raises:
            LookupError: A part is missing.
        """
        parts = {each.name: found[each.name] for each in fields(cls)}
        before = parts["before"]
        return cls(**{**parts, "ids": tuple(parts["ids"]), "before": before and cls.read(before)})


class Record:
    """The file beside an output."""

    def __init__(self, path: Path, key: RunKey) -> None:
        self._path = path
        self._key = key

    @classmethod
    def beside(cls, output: Path, key: RunKey) -> Record:
        """Return the record of an output."""
        return cls(output.with_name(output.name + ".meta.json"), key)

    def write(self, progress: Progress) -> None:
        """Replace the record atomically.

        Raises:
            OSError: The record cannot be written.
        """
        beside = self._path.with_name(self._path.name + ".part")
        text = json.dumps({**asdict(self._key), **asdict(progress)}, indent=2)
        with beside.open("w", encoding="utf-8") as stream:
            stream.write(text + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(self._path)

    def read(self, output: Path) -> Progress:
        """Return the progress of an output.

        Raises:
            OptionError: There is no record, or it belongs to another run.
        """
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            before = RunKey(**{each.name: found[each.name] for each in fields(RunKey)})
            progress = Progress.read(found)
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise OptionError(
                f"{str(output)!r} has no {self._path.name!r} beside it that states how its values were made",
                why="values of two types or models would be mixed",
                fix="choose another --output, or remove the file to start anew",
            ) from error
        differences = list(self._key.differences(before))
        if differences:
            raise made_with_something_else(output, "; ".join(differences))
        return progress


def made_with_something_else(output: Path, differences: str) -> OptionError:
    """Return the error of an output that cannot be resumed."""
    return OptionError(
        f"{str(output)!r} was made with something else: {differences}",
        why="its values would be mixed with others",
        fix="go on with the same, or choose another --output",
    )


def fresh(progress: Progress) -> Progress:
    """Return the progress of a new output that takes over the values of one."""
    return Progress(before=replace(progress, before=None, beside=False), beside=True)


def fingerprint(target: Any) -> str:
    """Return a digest of a spec: the schema word for word, and the validators of a type.

    Raises:
        UnsupportedTypeError: The type has no JSON form.
    """
    if is_text(target):
        said: Any = repr(target)
    elif is_type(target):
        reflected = reflect(target)
        said = ["type", dict(reflected.schema), reflected.checked]
    else:
        said = ["schema", target]
    return hashlib.sha256(json.dumps(said, default=repr).encode()).hexdigest()


def is_text(spec: Any) -> bool:
    """Whether the values of a spec are texts that are generated as they are, without the quotes of JSON."""
    return isinstance(spec, Regex | Choice | ContextFree)


def model_name(model: str | os.PathLike[str] | None) -> str:
    """Return the name or the absolute folder of a model; for the bundled one, the version it belongs to."""
    if model is None:
        return f"bundled with schemagen {version()}"
    return str(Path(model).resolve()) if Path(model).is_dir() else str(model)


def _shown(value: Any) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def value_check(spec: Any) -> Callable[[str], bool]:
    """Return a function that tells whether a JSON text could have been generated, and is a value of a spec.

    Args:
        spec: A type, a JSON Schema or a grammar; compiled here, over bytes, so that no model is needed.

    Raises:
        SchemaError: It cannot be compiled.

    Cost: reading the text twice, at most some microseconds per byte.
    """
    as_text = is_text(spec)
    # Values are written on one line, even if they were generated with line breaks.
    grammar = compile_spec(spec, Vocabulary.byte_vocabulary(), whitespace="flexible" if as_text else "any")

    def accepts(text: str) -> bool:
        matcher = grammar.matcher()
        try:
            written = json.loads(text) if as_text else text
            if not (matcher.accept_bytes(written.encode()) and matcher.is_accepting()):
                return False
            grammar.validate(written)
        except (SchemagenError, ValueError, TypeError, AttributeError):
            return False
        return True

    return accepts

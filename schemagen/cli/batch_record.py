"""What a file of `schemagen batch` was made with, kept beside it, so that `--resume` mixes nothing.

The record is a JSON file of its own: the output stays one line for each row, for pandas and everything else that reads JSON
Lines. Only what can change a value is compared: the number of rows at a time and the retries may be others when a run goes on.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import schemagen
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.grammar.specs import Choice, Regex
from schemagen.types.reflection import is_type, reflect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Field -> what it is on the command line.
_NAMES = {"model": "--model", "max_new_tokens": "--max-new-tokens", "seed": "--seed"}
_MAX_SHOWN = 60


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What the values of a batch depend on.

    Attributes:
        spec: SPEC as it was written, for people.
        spec_sha256: Of the JSON Schema, and of the names of the validators that a type has besides.
        model: Name or absolute folder of the model.
        max_new_tokens: The budget; None: the model's own.
        seed: Of row 0; None: greedy.
        rows: How many prompts the input had.
        prompts_sha256: Of these. Lines may be added behind them before a run goes on.
    """

    spec: str
    spec_sha256: str
    model: str
    max_new_tokens: int | None
    seed: int | None
    rows: int = 0
    prompts_sha256: str = ""

    def about(self, prompts: Sequence[Any]) -> BatchRecord:
        """Return the record of the same run over these prompts."""
        return replace(self, rows=len(prompts), prompts_sha256=_hash_of(list(prompts)))

    @classmethod
    def of(
        cls, spec: str, target: Any, *, model: str | None, max_new_tokens: int | None, seed: int | None
    ) -> BatchRecord:
        """Return the record of a run.

        Args:
            spec: The SPEC argument.
            target: What it names.
            model: As for the command; None for the bundled one.
            max_new_tokens: As for the command.
            seed: As for the command.

        Raises:
            UnsupportedTypeError: The type has no JSON form.
        """
        return cls(spec, _fingerprint(target), _model_name(model), max_new_tokens, seed)

    def write(self, output: Path) -> None:
        """Write the record beside an output, at once.

        Raises:
            OSError: It cannot be written.
        """
        path = record_path(output)
        beside = path.with_name(path.name + ".part")
        text = json.dumps({"schemagen": schemagen.__version__, **asdict(self)}, indent=2)
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)

    def check(self, output: Path, prompts: Sequence[Any]) -> None:
        """Refuse to go on with an output that was made with something else.

        Args:
            output: The file with the values.
            prompts: Of the input now.

        Raises:
            typer.BadParameter: It was, or it is not known what it was made with.
        """
        before = _read(record_path(output))
        if before is None:
            raise typer.BadParameter(
                f"{str(output)!r} has no {record_path(output).name!r} beside it that says which type, model and options "
                "its values are of. Choose another --output, or remove the file to start anew.",
                param_hint="--output",
            )
        differences = list(self._differences(before))
        if len(prompts) < before.rows or _hash_of(list(prompts[: before.rows])) != before.prompts_sha256:
            differences.append(f"the first {before.rows} prompts of the input have changed")
        if differences:
            raise typer.BadParameter(
                f"{str(output)!r} was made with something else: {'; '.join(differences)}. Go on with the same, or choose "
                "another --output.",
                param_hint="--resume",
            )

    def _differences(self, before: BatchRecord) -> Iterator[str]:
        if self.spec_sha256 != before.spec_sha256:
            same = self.spec == before.spec
            yield f"{_shown(self.spec)} has changed" if same else f"SPEC {_shown(before.spec)}, now {_shown(self.spec)}"
        for field, option in _NAMES.items():
            was, now = getattr(before, field), getattr(self, field)
            if was != now:
                yield f"{option} {_shown(was)}, now {_shown(now)}"


def record_path(output: Path) -> Path:
    """Return where the record of an output is."""
    return output.with_name(output.name + ".meta.json")


def _read(path: Path) -> BatchRecord | None:
    """Return the record in a file; None if there is none."""
    names = [field.name for field in fields(BatchRecord)]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return BatchRecord(**{name: found[name] for name in names})
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _fingerprint(target: Any) -> str:
    """Return what tells specifications apart: a schema word for word, and the checks of a type."""
    if isinstance(target, Regex | Choice | ContextFree):
        said: Any = repr(target)
    elif is_type(target):
        reflected = reflect(target)
        said = ["type", dict(reflected.schema), reflected.checked]
    else:
        said = ["schema", target]
    return _hash_of(said)


def _hash_of(said: Any) -> str:
    return hashlib.sha256(json.dumps(said, default=repr).encode()).hexdigest()


def _model_name(model: str | None) -> str:
    if model is None:
        return f"bundled with schemagen {schemagen.__version__}"
    return str(Path(model).resolve()) if Path(model).is_dir() else model


def _shown(value: Any) -> str:
    text = "unset" if value is None else str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."

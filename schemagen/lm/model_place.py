"""`ModelPlace`: a name on the hub or a folder, and why no model can be loaded from there."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Ending of a file -> what to do instead of loading it by itself.
_OTHER_FORMATS = {
    ".gguf": "load the model that it was made from, by its name on the hub; or mask the logits where the file runs, "
    "with schemagen.Vocabulary and schemagen.compile",
    **dict.fromkeys(
        (".safetensors", ".bin", ".pt", ".pth", ".ckpt"),
        "give the folder of this file, with its config.json: {folder!r}",
    ),
}
#: An adapter has a configuration of its own.
_CONFIGS = ("config.json", "adapter_config.json")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf")
_TOKENIZERS = ("tokenizer*", "vocab*", "merges.txt", "*.model", "*.tiktoken", "tekken.json")
_SAVED = "give the folder in which save_pretrained has put the model and the tokenizer"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """Where a model is loaded from.

    Attributes:
        name: A name on the hub, or a path, as it was given.
        folder: Where the files are, if it is a folder.
    """

    name: str
    folder: Path | None

    @classmethod
    def of(cls, name_or_path: Any, options: Mapping[str, Any]) -> ModelPlace:
        """Refuse what is neither a name nor a folder with a model, before the network is asked for it.

        Args:
            name_or_path: What the user gave.
            options: Those for ``from_pretrained``.

        Raises:
            ModelError: It is not.
        """
        if not isinstance(name_or_path, (str, os.PathLike)) or not str(name_or_path):
            raise ModelError(
                f"{name_or_path!r:.80} is neither a name nor a folder",
                fix="give a name on the Hugging Face hub, or a folder; for a model that is loaded already: from_transformers",
            )
        path = Path(name_or_path).expanduser()
        _check_path(name_or_path, path)
        folder = path / (options.get("subfolder") or "") if path.is_dir() else None
        found = cls(str(name_or_path), folder)
        if folder is not None and not options.get("gguf_file") and not _any_file(folder, _CONFIGS):
            raise ModelError(
                f"folder {str(folder)!r} has no config.json",
                why="a folder without one holds no model of transformers",
                fix=f"model.save_pretrained(folder) writes it; {_SAVED}",
            )
        return found

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Say what transformers could not load; its own error is the cause.

        Raises:
            ModelError: It raised an OSError, or a ValueError, as for a model that is no causal one.
        """
        try:
            yield
        except (OSError, ValueError) as error:
            raise (self._refused(error) if self.folder is None else self._damaged(self.folder, error)) from error

    def _refused(self, error: Exception) -> ModelError:
        """Return the error of a name."""
        return ModelError(
            f"transformers cannot load {self.name!r}: {_told(error)}",
            why="it is not there, cannot be reached, or is no causal language model",
            fix="check the name at https://huggingface.co, your network, and token= for a gated model; or give a folder",
        )

    def _damaged(self, folder: Path, error: Exception) -> ModelError:
        """Return the error of a folder: a part is missing, or cannot be read."""
        parts = (("tokenizer", _TOKENIZERS), ("weights", _WEIGHTS))
        missing = [part for part, patterns in parts if not _any_file(folder, patterns)]
        saved = {"weights": "model.save_pretrained(folder)", "tokenizer": "tokenizer.save_pretrained(folder)"}
        if missing:
            files = ", ".join(sorted(file.name for file in folder.iterdir()))
            return ModelError(
                f"folder {str(folder)!r} has {' and '.join(f'no {part}' for part in missing)}",
                why=f"a model needs config.json, weights and a tokenizer side by side; there are: {files:.200}",
                fix=f"{' and '.join(saved[part] for part in saved if part in missing)}, or, for objects that are loaded "
                "already, schemagen.from_transformers(model, tokenizer)",
            )
        return ModelError(
            f"transformers cannot load {self.name!r}: {_told(error)}",
            why="the folder is there; a file of it is missing or damaged, or it is no causal language model",
            fix=f"save it again: {' and '.join(saved.values())}",
        )


def _check_path(given: Any, path: Path) -> None:
    """Refuse files, and paths that lead nowhere.

    Raises:
        ModelError: It is one.
    """
    if path.suffix.lower() in _OTHER_FORMATS:
        raise ModelError(
            f"{str(given)!r} is a {path.suffix.lower()} file",
            why="transformers loads folders, or names on the Hugging Face hub",
            fix=_OTHER_FORMATS[path.suffix.lower()].format(folder=str(path.parent)),
        )
    is_path = isinstance(given, os.PathLike) or str(given).startswith((".", "/", "~"))
    if path.is_file() or (is_path and not path.exists()):
        raise ModelError(
            f"there is no folder {str(given)!r}",
            why="it is a file" if path.is_file() else f"looked for at {path.absolute()}",
            fix=_SAVED,
        )


def _any_file(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(True for pattern in patterns for _ in folder.glob(pattern))


def _told(error: Exception) -> str:
    """Return what an error says in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

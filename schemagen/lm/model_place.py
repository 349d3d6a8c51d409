"""`ModelPlace`: a name on the hub or a folder, and the reasons why it holds no model."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import error as StructError  # noqa: N812 - it is a class
from typing import TYPE_CHECKING, Any

from schemagen.checks import as_text, kind_of
from schemagen.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Suffix of a file -> how to load it instead of by itself.
_OTHER_FORMATS: dict[str, str] = dict.fromkeys(
    (".safetensors", ".bin", ".pt", ".pth", ".ckpt"), "give the folder of this file, with its config.json: {folder!r}"
)
_GGUF = ".gguf"
#: An adapter has its own configuration.
_CONFIGS = ("config.json", "adapter_config.json")
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf")
_TOKENIZERS = ("tokenizer*", "vocab*", "merges.txt", "*.model", "*.tiktoken", "tekken.json")
_SAVED = "give the folder in which save_pretrained has put the model and the tokenizer"
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ModelPlace:
    """The place that a model is loaded from.

    Attributes:
        name: A name on the hub, or the path of a folder.
        folder: The folder of the files, if they are local.
        gguf_file: The file that holds the model; None for files of transformers.
    """

    name: str
    folder: Path | None
    gguf_file: str | None = None

    @property
    def path_of_gguf(self) -> Path | None:
        """The .gguf file, if it is on this machine."""
        return None if self.gguf_file is None or self.folder is None else self.folder / self.gguf_file

    @classmethod
    def of(cls, name_or_path: Any, options: Mapping[str, Any]) -> ModelPlace:
        """Refuse anything but a name or a folder with a model, before accessing the network.

        Args:
            name_or_path: The argument of the user.
            options: Options for ``from_pretrained``.

        Raises:
            ModelError: It is neither.
        """
        if not isinstance(name_or_path, (str, os.PathLike)) or not str(name_or_path):
            raise ModelError(
                f"{as_text(name_or_path)} is neither a name nor a folder",
                why=f"it is {kind_of(name_or_path)}",
                fix="give a name on the Hugging Face hub, or a folder; for a model that is loaded already: from_transformers",
            )
        path = Path(name_or_path).expanduser()
        gguf_file = options.get("gguf_file")
        if path.suffix.lower() == _GGUF and not path.is_dir():
            return cls._of_gguf(path, gguf_file)
        _check_path(name_or_path, path)
        folder = path / (options.get("subfolder") or "") if path.is_dir() else None
        found = cls(str(path) if path.is_dir() else str(name_or_path), folder, gguf_file)
        if gguf_file is not None:
            found._check_gguf()
            return found
        if folder is not None and not _any_file(folder, _CONFIGS):
            raise ModelError(
                f"folder {str(folder)!r} has no config.json",
                why="a folder without one holds no model of transformers",
                fix=_fix_of_folder(folder),
            )
        return found

    @classmethod
    def _of_gguf(cls, path: Path, named: Any) -> ModelPlace:
        """Return the place of a .gguf file that was given by its path.

        Raises:
            ModelError: The file does not exist, or another one is named besides.
        """
        if named is not None:
            raise ModelError(
                f"{str(path)!r} beside gguf_file={named!r:.80}",
                why="both name the file that holds the model",
                fix=f"give the path alone, or the folder and the name: load({str(path.parent)!r}, gguf_file={path.name!r})",
            )
        found = cls(str(path.parent), path.parent, path.name)
        found._check_gguf()
        return found

    def _check_gguf(self) -> None:
        """Refuse a file that is not .gguf, or is not in its folder.

        Raises:
            ModelError: The file is wrong or missing.
        """
        if not isinstance(self.gguf_file, str) or not self.gguf_file:
            raise ModelError(
                f"gguf_file={self.gguf_file!r:.80}",
                why="it is the name of a file in the folder, or in the repository on the hub",
                fix="give the name as a text, as gguf_file='model.Q4_0.gguf'",
            )
        path = self.path_of_gguf
        if path is None:
            return
        if not path.is_file():
            there = ", ".join(sorted(each.name for each in path.parent.glob(f"*{_GGUF}")))
            of_a_hub = "check the path; for a file of a hub give the name of its repository, and gguf_file="
            raise ModelError(
                f"there is no file {str(path)!r}",
                why=f"looked for at {path.absolute()}",
                fix=f"the folder has {there}" if there else of_a_hub,
            )
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise ModelError(
                    f"{str(path)!r} is not a GGUF file",
                    why="it does not begin with the four letters GGUF; perhaps a download was cut off",
                    fix="download it again",
                )

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn loading errors of transformers into ours, with theirs as the cause.

        Raises:
            ModelError: It raised an OSError, or a ValueError, as for a model that is not causal. For a .gguf file, any
                error of its readers except those about options (a TypeError).
        """
        try:
            yield
        except (OSError, ValueError) as error:
            raise self._unread(error) from error
        except (ArithmeticError, LookupError, StructError, NotImplementedError, RuntimeError) as error:
            if self.gguf_file is None:
                raise
            raise self._unread(error) from error

    def _unread(self, error: Exception) -> ModelError:
        """Return the error for a loading error of transformers."""
        if self.path_of_gguf is not None:
            return ModelError(
                f"transformers cannot read {str(self.path_of_gguf)!r}: {_told(error)}",
                why="the file is there; it is damaged, or of an architecture that transformers does not read from GGUF",
                fix="load the model that it was made from, by its name on the hub; or mask the logits where the file runs, "
                "with schemagen.Vocabulary and schemagen.compile",
            )
        return self._refused(error) if self.folder is None else self._damaged(self.folder, error)

    def _refused(self, error: Exception) -> ModelError:
        """Return the error of a name."""
        return ModelError(
            f"transformers cannot load {self.name!r}: {_told(error)}",
            why="it is not there, cannot be reached, or is not a causal language model",
            fix="check the name at https://huggingface.co, your network, and token= for a gated model; or give a folder. "
            f"For a machine without a network: hf download {self.name} where there is one, and HF_HUB_OFFLINE=1 here, "
            "so that nothing waits for it",
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
            why="the folder is there; a file of it is missing or damaged, or it is not a causal language model",
            fix=f"save it again: {' and '.join(saved.values())}",
        )


def _check_path(given: Any, path: Path) -> None:
    """Refuse files, and paths that do not exist.

    Raises:
        ModelError: The path is one of them.
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


def _fix_of_folder(folder: Path) -> str:
    """Return the advice about a folder without a configuration; it may hold a .gguf file."""
    names = sorted(each.name for each in folder.glob(f"*{_GGUF}"))
    if names:
        return f"name the file that it has: load({str(folder)!r}, gguf_file={names[0]!r})"
    return f"model.save_pretrained(folder) writes it; {_SAVED}"


def _any_file(folder: Path, patterns: tuple[str, ...]) -> bool:
    return any(True for pattern in patterns for _ in folder.glob(pattern))


def _told(error: Exception) -> str:
    """Return the message of an error in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."

"""Models in a .gguf file, the format of llama.cpp: weights, tokenizer and chat template in one.

transformers reads them with the package ``gguf``, which is an extra, and dequantises the weights. It reads the file
once for the configuration, once for the tokenizer and once for the weights, in Python, so that a file of 100 MB takes
some 25 s of CPU time. A folder given as ``cache=`` therefore keeps the tokenizer and the dequantised weights as
transformers saves them, which load in a second. An entry is found by the content of the file; it takes four bytes a
weight.
"""

from __future__ import annotations

import hashlib
import shutil
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from schemagen.errors import ModelError
from schemagen.errors.installing import install_command

if TYPE_CHECKING:
    import os

#: Part of the key, so that entries of another layout are ignored.
_VERSION = "1"


def check_reader() -> None:
    """Check for the package that reads such files.

    Raises:
        ModelError: The package ``gguf`` is not installed.
    """
    if find_spec("gguf") is None:
        raise ModelError(
            "a .gguf file, and the package gguf is not installed",
            why="transformers reads these files with it; it is an extra",
            fix=install_command("gguf"),
            code="no-gguf",
        )


def dtype_for(device_map: Any, dtype: Any) -> Any:
    """Return the dtype of the weights: float32 on a CPU by default, as the stored type has no meaning."""
    return "float32" if dtype == "auto" and device_map in (None, "cpu") else dtype


@dataclass(frozen=True, slots=True)
class ConvertedFile:
    """The cache entry of a .gguf file.

    Attributes:
        source: The file.
        folder: Where transformers finds the model and the tokenizer.
    """

    source: Path
    folder: Path

    @classmethod
    def of(cls, source: Path, cache: str | os.PathLike[str]) -> ConvertedFile:
        """Return the entry of a file in a folder; reads the file once, to hash its content."""
        digest = hashlib.sha256(_VERSION.encode())
        with source.open("rb") as file:
            while block := file.read(2**20):
                digest.update(block)
        return cls(source, Path(cache).expanduser() / f"gguf-{digest.hexdigest()[:32]}")

    @property
    def exists(self) -> bool:
        """Whether the entry exists and is complete."""
        return (self.folder / "config.json").is_file()

    def write(self, model: Any, tokenizer: Any) -> None:
        """Save a model and its tokenizer; a folder that cannot be written is a warning.

        Weights that transformers left in the blocks of the file are not saved: transformers would not find them again.
        """
        if getattr(getattr(model, "hf_quantizer", None), "packed_modules", None):
            return
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(mkdtemp(prefix="gguf-", dir=self.folder.parent))
        except OSError as error:
            self._warn(error)
            return
        try:
            _save(model, tokenizer, beside)
            beside.rename(self.folder)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            if not self.exists:  # else another process was faster
                self._warn(error)

    def _warn(self, error: OSError) -> None:
        warnings.warn(f"the model of {self.source.name} was not cached: {error}", RuntimeWarning, stacklevel=4)


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model that transformers considers quantised, and would not save; the configuration comes last."""
    from copy import deepcopy

    from safetensors.torch import save_model

    tokenizer.save_pretrained(folder)
    save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})
    generation = getattr(model, "generation_config", None)
    if generation is not None:
        generation.save_pretrained(folder)
    config = deepcopy(model.config)
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.save_pretrained(folder)

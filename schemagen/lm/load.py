"""Getting a `LanguageModel`: by name or path, from objects that are already loaded, or the bundled one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.errors import ModelError, OptionError, SchemagenError
from schemagen.lm.language_model import LanguageModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def load(
    name_or_path: str | os.PathLike[str],
    *,
    device_map: Any = "auto",
    dtype: Any = "auto",
    cache: str | os.PathLike[str] | None = None,
    **from_pretrained_kwargs: Any,
) -> LanguageModel:
    """Return a causal language model of transformers with its tokenizer.

    Args:
        name_or_path: A name on the Hugging Face hub, or a folder.
        device_map: As in transformers; "auto" spreads the model over the accelerators with accelerate, and means the
            CPU on a machine without one.
        dtype: As in transformers; "auto" is the type of the stored weights.
        cache: A folder in which the vocabulary and compiled grammars are kept for the next process (the weights are
            transformers' business: ``cache_dir``).
        from_pretrained_kwargs: Passed on to ``AutoModelForCausalLM.from_pretrained``. ``revision``, ``token``,
            ``trust_remote_code``, ``subfolder``, ``cache_dir`` and ``local_files_only`` go to the tokenizer as well.

    Raises:
        ModelError: transformers finds no such model, or cannot read it; an OSError.

    Cost: reads all weights.
    """
    _check_place(name_or_path, from_pretrained_kwargs.get("subfolder") or "")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    shared = {"revision", "token", "trust_remote_code", "subfolder", "cache_dir", "local_files_only"}
    for_tokenizer = {key: value for key, value in from_pretrained_kwargs.items() if key in shared}
    with _clear_errors(name_or_path):
        tokenizer = AutoTokenizer.from_pretrained(name_or_path, **for_tokenizer)
    if device_map == "auto" and not torch.cuda.is_available() and not torch.backends.mps.is_available():
        device_map = None
    keywords = {_dtype_keyword(): dtype, "device_map": device_map, **from_pretrained_kwargs}
    with _clear_errors(name_or_path):
        model = AutoModelForCausalLM.from_pretrained(name_or_path, **keywords)
    return LanguageModel(model.eval(), tokenizer, cache=cache)


def from_transformers(
    model: Any, tokenizer: Any = None, *, cache: str | os.PathLike[str] | None = None
) -> LanguageModel:
    """Return a language model over a model and a tokenizer of transformers that are already loaded.

    Args:
        model: Anything with the ``generate`` of transformers' `GenerationMixin`, or a pipeline for text generation.
        tokenizer: Its tokenizer; a pipeline has one.
        cache: A folder in which the vocabulary and compiled grammars are kept for the next process.

    Raises:
        OptionError: One of them is something else.
    """
    if hasattr(model, "model") and hasattr(model, "tokenizer") and hasattr(model, "task"):
        if tokenizer is None:
            tokenizer = model.tokenizer
        model = model.model
    for name, value, method in (("model", model, "generate"), ("tokenizer", tokenizer, "get_vocab")):
        if not callable(getattr(value, method, None)):
            raise OptionError(
                f"the {name} is a {type(value).__name__}",
                why=f"it has no {method}()",
                fix="from_transformers(model, tokenizer) takes the objects themselves; for a name use schemagen.load",
            )
    return LanguageModel(model, tokenizer, cache=cache)


@lru_cache(maxsize=1)
def load_bundled() -> LanguageModel:
    """Return the small model that comes with the package; the same object every time. Needs no network.

    Raises:
        SchemagenError: The installation has no bundled model.
    """
    folder = files("schemagen.lm") / "bundled"
    if not (folder / "config.json").is_file():
        raise SchemagenError(
            "this installation has no bundled model",
            at=str(folder),
            fix="reinstall schemagen, or load a model: schemagen.load('Qwen/Qwen3-0.6B')",
            code="no-bundled-model",
        )
    with as_file(folder) as path, _without_progress_bar():
        # float32: half precision is slow on a CPU.
        return load(path, device_map=None, dtype="float32", local_files_only=True)


#: Ending of a file -> what to do instead of loading it by itself.
_OTHER_FORMATS = {
    ".gguf": "load the model that it was made from, by its name on the hub; or mask the logits where the file runs, "
    "with schemagen.Vocabulary and schemagen.compile",
    **dict.fromkeys(
        (".safetensors", ".bin", ".pt", ".pth", ".ckpt"),
        "give the folder of this file, with its config.json: {folder!r}",
    ),
}


@contextmanager
def _without_progress_bar() -> Iterator[None]:
    """Keep transformers quiet: a model that is always there is no news."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


def _check_place(name_or_path: Any, subfolder: str) -> None:
    """Refuse what is neither a name nor a folder with a model, before the network is asked for it.

    Raises:
        ModelError: It is not.
    """
    if not isinstance(name_or_path, (str, os.PathLike)) or not str(name_or_path):
        raise ModelError(
            f"{name_or_path!r:.80} is neither a name nor a folder",
            fix="give a name on the Hugging Face hub, or a folder; for a model that is loaded already: from_transformers",
        )
    path = Path(name_or_path).expanduser()
    if path.suffix.lower() in _OTHER_FORMATS:
        raise ModelError(
            f"{str(name_or_path)!r} is a {path.suffix.lower()} file",
            why="transformers loads folders, or names on the Hugging Face hub",
            fix=_OTHER_FORMATS[path.suffix.lower()].format(folder=str(path.parent)),
        )
    folder = path / subfolder
    is_path = isinstance(name_or_path, os.PathLike) or str(name_or_path).startswith((".", "/", "~"))
    if path.is_dir() and not any(folder.glob("*config.json")):  # an adapter has adapter_config.json
        raise ModelError(
            f"folder {str(folder)!r} has no config.json",
            why="it holds no model of transformers",
            fix="give the folder in which save_pretrained has put the model and the tokenizer",
        )
    if path.is_file() or (is_path and not path.exists()):
        raise ModelError(
            f"there is no folder {str(name_or_path)!r}",
            why="it is a file" if path.is_file() else f"looked for at {path.absolute()}",
            fix="give the folder in which save_pretrained has put the model and the tokenizer",
        )


@contextmanager
def _clear_errors(name_or_path: Any) -> Iterator[None]:
    """Say what transformers could not load; its own error is the cause.

    Raises:
        ModelError: It raised an OSError, or a ValueError, as for a model that is no causal one.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ModelError(
            f"transformers cannot load {str(name_or_path)!r}: {first}",
            why="it is not there, cannot be reached, or is no causal language model",
            fix="check the name at https://huggingface.co, your network, and token= for a gated model; or give a folder",
        ) from error


def _dtype_keyword() -> str:
    """Name the keyword that transformers called ``torch_dtype`` before 4.56."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"

"""Getting a `LanguageModel`: by name or path, from objects that are already loaded, or the bundled one."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from schemagen.errors import SchemagenError
from schemagen.lm.language_model import LanguageModel

if TYPE_CHECKING:
    import os
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
        OSError: transformers finds no such model.

    Cost: reads all weights.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    shared = {"revision", "token", "trust_remote_code", "subfolder", "cache_dir", "local_files_only"}
    for_tokenizer = {key: value for key, value in from_pretrained_kwargs.items() if key in shared}
    tokenizer = AutoTokenizer.from_pretrained(name_or_path, **for_tokenizer)
    if device_map == "auto" and not torch.cuda.is_available() and not torch.backends.mps.is_available():
        device_map = None
    model = AutoModelForCausalLM.from_pretrained(
        name_or_path,
        **{_dtype_keyword(): dtype, "device_map": device_map, **from_pretrained_kwargs},
    )
    return LanguageModel(model.eval(), tokenizer, cache=cache)


def from_transformers(model: Any, tokenizer: Any, *, cache: str | os.PathLike[str] | None = None) -> LanguageModel:
    """Return a language model over a model and a tokenizer of transformers that are already loaded.

    Args:
        model: Anything with the ``generate`` of transformers' `GenerationMixin`.
        tokenizer: Its tokenizer.
        cache: A folder in which the vocabulary and compiled grammars are kept for the next process.
    """
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


def _dtype_keyword() -> str:
    """Name the keyword that transformers called ``torch_dtype`` before 4.56."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"

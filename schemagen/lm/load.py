"""Load a `LanguageModel` by name or path, wrap objects that are already loaded, or load the bundled one."""

from __future__ import annotations

import os
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

from schemagen.checks import check_folder, kind_of
from schemagen.errors import OptionError, SchemagenError
from schemagen.errors.installing import check_packages
from schemagen.lm.gguf import ConvertedFile, check_reader, dtype_for
from schemagen.lm.language_model import LanguageModel
from schemagen.lm.model_place import ModelPlace
from schemagen.options.table import FOREIGN_IN_LOAD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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
        name_or_path: A name on the Hugging Face hub, a folder, or the path of a .gguf file, which holds tokenizer and
            chat template, too. One of a folder or of the hub is named by ``gguf_file=``. It needs the extra ``gguf``.
        device_map: As in transformers; "auto" spreads the model over the accelerators with accelerate, and means the
            CPU on a machine without one, and nothing beside a tensor parallel plan (``tp_plan``,
            ``distributed_config``).
        dtype: As in transformers; "auto" is the type of the stored weights, and for a .gguf file on the CPU float32, as
            its weights are dequantised.
        cache: A folder in which the vocabulary is kept for the next process (the weights are transformers' business:
            ``cache_dir``). Of a local .gguf file also the dequantised model, four bytes a weight.
        from_pretrained_kwargs: Passed on to ``AutoModelForCausalLM.from_pretrained``. ``revision``, ``token``,
            ``trust_remote_code``, ``subfolder``, ``cache_dir`` and ``local_files_only`` also go to the tokenizer.

    Raises:
        ModelError: transformers finds no such model or cannot read it, or the folder lacks a part; also an OSError.
        OptionError: An option is misspelt, or that of another library.
        MissingPackageError: torch, transformers or, for a ``device_map``, accelerate is not installed.

    Cost: reads all weights. A .gguf file of 100 MB takes transformers about 25 s of CPU time; from the cache 0.8 s.
    """
    check_packages("schemagen.load", *_NEEDED)
    _check_options(from_pretrained_kwargs)
    check_folder(cache)
    place = ModelPlace.of(name_or_path, from_pretrained_kwargs)
    import torch

    if device_map == "auto":
        on_cpu = not torch.cuda.is_available() and not torch.backends.mps.is_available()
        # A tensor parallel plan itself states where the parts are, and transformers accepts no map beside it.
        device_map = None if on_cpu or not _SPREAD.isdisjoint(from_pretrained_kwargs) else "auto"
    if device_map is not None:
        check_packages("device_map", "accelerate")
    kept_at = None if cache == "memory" else cache
    if place.gguf_file is not None:
        check_reader()
        dtype = dtype_for(device_map, dtype)
        if place.path_of_gguf is not None and kept_at is not None:
            place = _converted(place, kept_at)
    keywords = {**from_pretrained_kwargs, _dtype_keyword(): dtype, "device_map": device_map}
    model, tokenizer = _loaded(place, keywords)
    return LanguageModel(model, tokenizer, cache=cache)


#: Without these no model can be loaded.
_NEEDED = ("torch", "transformers", "tokenizers", "safetensors")
#: Options that are also used to load the tokenizer.
_OF_BOTH = {"revision", "token", "trust_remote_code", "subfolder", "cache_dir", "local_files_only", "gguf_file"}


def _loaded(place: ModelPlace, keywords: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a place.

    Raises:
        ModelError: As `load`.
        OptionError: As `load`.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    given = {name: value for name, value in keywords.items() if name != "gguf_file"}
    if place.gguf_file is not None:
        given["gguf_file"] = place.gguf_file
    with place.clear_errors():
        tokenizer = AutoTokenizer.from_pretrained(
            place.name, **{key: value for key, value in given.items() if key in _OF_BOTH}
        )
    with _named_options(keywords), place.clear_errors():
        model = AutoModelForCausalLM.from_pretrained(place.name, **given)
    return model.eval(), tokenizer


def _converted(place: ModelPlace, cache: str | os.PathLike[str]) -> ModelPlace:
    """Return the folder with the converted .gguf file, converting it if needed; the file itself if that fails."""
    assert place.path_of_gguf is not None, "the caller looked"
    converted = ConvertedFile.of(place.path_of_gguf, cache)
    if not converted.exists:
        converted.write(*_loaded(place, {_dtype_keyword(): "float32"}))
    return ModelPlace(str(converted.folder), converted.folder) if converted.exists else place


def from_transformers(
    model: Any, tokenizer: Any = None, *, cache: str | os.PathLike[str] | None = None
) -> LanguageModel:
    """Return a language model over a model and a tokenizer of transformers that are already loaded.

    Args:
        model: Anything with the ``generate`` of transformers' `GenerationMixin`, or a pipeline for text generation.
        tokenizer: Its tokenizer; a pipeline has one.
        cache: A folder in which the vocabulary is kept for the next process.

    Raises:
        OptionError: One of them has the wrong type.
    """
    if hasattr(model, "model") and hasattr(model, "tokenizer") and hasattr(model, "task"):
        if tokenizer is None:
            tokenizer = model.tokenizer
        model = model.model
    for name, value, method in (("model", model, "generate"), ("tokenizer", tokenizer, "get_vocab")):
        if not callable(getattr(value, method, None)):
            raise OptionError(
                f"the {name} is {kind_of(value)}",
                why=f"it has no {method}()",
                fix="from_transformers(model, tokenizer) takes the objects themselves; for a name use schemagen.load",
            )
    return LanguageModel(model, tokenizer, cache=cache)


def device_of_rank(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the device of this process among those that torchrun, accelerate or srun started on a machine.

    Args:
        environment: The environment variables that identify the process; None for those of this process.

    Returns:
        A name such as "cuda:3"; None if the variables are not set, or the device does not exist.
    """
    import torch

    given = os.environ if environment is None else environment
    rank = given.get("LOCAL_RANK", given.get("SLURM_LOCALID", ""))
    if not rank.isdecimal() or not torch.cuda.is_available():
        return None
    return f"cuda:{int(rank) % torch.cuda.device_count()}"


@lru_cache(maxsize=1)
def load_bundled() -> LanguageModel:
    """Return the small model that comes with the package; the same object every time. Needs no network.

    Raises:
        SchemagenError: The installation has no bundled model.
        MissingPackageError: torch or transformers is not installed.
    """
    check_packages("schemagen.load_bundled", *_NEEDED)
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
    """Disable the progress bars of transformers: loading the bundled model needs none."""
    from transformers.utils import logging

    was_on = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if was_on:
            logging.enable_progress_bar()


#: Options that transformers reads from keyword arguments, outside of signatures.
_OPTIONS = (
    "device_map", "dtype", "torch_dtype", "cache", "cache_dir", "revision", "token", "trust_remote_code", "subfolder",
    "local_files_only", "attn_implementation", "quantization_config", "low_cpu_mem_usage", "variant", "max_memory",
    "offload_folder", "offload_state_dict", "offload_buffers", "tp_plan", "tp_size", "adapter_kwargs", "key_mapping",
    "gguf_file", "proxies", "state_dict", "code_revision", "generation_config", "device_mesh", "use_kernels",
    "distributed_config",
)  # fmt: skip
#: The ones among them that spread a model over processes.
_SPREAD = frozenset({"tp_plan", "tp_size", "device_mesh", "distributed_config"})
_PAGE = "https://huggingface.co/docs/transformers/main_classes/model"


def _check_options(given: Mapping[str, Any]) -> None:
    """Refuse misspelt options, and those of other libraries, before anything is downloaded.

    Raises:
        OptionError: An option is wrong. Attributes of a configuration are options, too, so only the model knows all
            names.
    """
    for name, value in given.items():
        if name in FOREIGN_IN_LOAD or (name not in _OPTIONS and get_close_matches(name, _OPTIONS, n=1, cutoff=0.8)):
            raise _no_option(name, value)


@contextmanager
def _named_options(given: Mapping[str, Any]) -> Iterator[None]:
    """Name the option that a model does not know.

    Raises:
        OptionError: The model raised a TypeError about one.
    """
    try:
        yield
    except TypeError as error:
        unknown = [name for name in given if f"unexpected keyword argument {name!r}" in str(error)]
        if not unknown:
            raise
        raise _no_option(unknown[0], given[unknown[0]]) from error


def _no_option(name: str, value: Any) -> OptionError:
    """Return the error of an unknown option, with the likely correction."""
    fix = FOREIGN_IN_LOAD.get(name, "").format(value=repr(value)[:80])
    close = get_close_matches(name, _OPTIONS, n=1)
    if not fix:
        fix = f"did you mean {close[0]}=?" if close else f"leave it out; {_PAGE} lists those of from_pretrained"
    why = "neither load, nor from_pretrained of transformers, nor the configuration of the model has it"
    return OptionError(f"{name}= is not an option of load", why=why, fix=fix)


def _dtype_keyword() -> str:
    """Name the keyword that transformers called ``torch_dtype`` before 4.56."""
    import transformers

    major, minor = (int(part) for part in transformers.__version__.split(".")[:2])
    return "dtype" if (major, minor) >= (4, 56) else "torch_dtype"

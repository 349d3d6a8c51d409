"""Shared by all benchmarks: the clock, percentiles, the record of the machine, result files, memory and guarded workers.

A time from one run means little on a shared machine. Only a ratio of two times of the same run counts, so all
compared work is interleaved: for each schema the engines run one after the other, each in its own process, and they
take turns in going first.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import datetime as dt
import gc
import gzip
import importlib
import importlib.metadata
import json
import math
import multiprocessing
import os
import platform
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from schemagen import LanguageModel

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
sys.path.insert(0, str(ROOT))  # for `tests.real_model` and `tests.corpora`, which know where files lie
BUNDLED = ROOT / "schemagen" / "lm" / "bundled"
PACKAGES = (
    *("llguidance", "xgrammar", "outlines-core", "outlines", "lm-format-enforcer"),
    *("transformers", "tokenizers", "numpy", "torch", "jsonschema"),
)
#: Names of the aggregates of a list of times; a number is a percentile.
AGGREGATES: dict[str, float | None] = {"avg": None, "p50": 50, "p90": 90, "p99": 99, "p99.9": 99.9, "max": 100}

clock = time.perf_counter


# --- numbers ---------------------------------------------------------------------------------------------------------


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least this percentage of the values does not exceed (nearest rank)."""
    ranked = sorted(values)
    return ranked[max(math.ceil(percent / 100 * len(ranked)), 1) - 1]


def aggregate(values: Sequence[float]) -> dict[str, float]:
    """Return the average and the percentiles of `AGGREGATES`, rounded to three digits after the point; {} of nothing."""
    if not values:
        return {}
    ranked = sorted(values)
    found = {
        name: sum(ranked) / len(ranked) if percent is None else percentile(ranked, percent)
        for name, percent in AGGREGATES.items()
    }
    return {name: round(value, 3) for name, value in found.items()}


def ratios(ours: Mapping[str, float], theirs: Mapping[str, float]) -> dict[str, float]:
    """Return ours / theirs for each name that both have."""
    return {name: round(ours[name] / theirs[name], 4) for name in ours if theirs.get(name)}


def seconds(function: Callable[[], Any]) -> float:
    """Return the seconds that a call takes."""
    start = clock()
    function()
    return clock() - start


# --- the measurement and its machine ----------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Return the known facts about the machine."""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def _cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def versions() -> dict[str, str]:
    """Return the version of each package that is installed."""
    import schemagen

    found = {"schemagen": schemagen.__version__}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def commit() -> str:
    """Return the commit of the source tree, with ``+`` after it if the tree differs from it; "unknown" outside of git."""

    def git(*arguments: str) -> str:
        return subprocess.run(("git", "-C", str(ROOT), *arguments), capture_output=True, text=True, check=True).stdout

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "schemagen", "core")
        return git("rev-parse", "--short=12", "HEAD").strip() + "+" * bool(changed.strip())
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def run_record() -> dict[str, Any]:
    """Return when, where and with what something is run."""
    return {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
    }


def write_result(out: Path, benchmark: str, settings: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Write a result file: the record of the run, its settings and its results."""
    record = {"benchmark": benchmark, **run_record(), "settings": dict(settings), "results": dict(results)}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {out}")


# --- what goes in ----------------------------------------------------------------------------------------------------


def parser(description: str | None, benchmark: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every script has."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--tokenizer", type=Path, default=BUNDLED, help="a folder with tokenizer.json")
    made.add_argument("--out", type=Path, default=RESULTS / f"{benchmark}.json", help="result file")
    made.add_argument("--seed", type=int, default=7)
    return made


def model_options(made: argparse.ArgumentParser, threads: int = 2) -> None:
    """Add the options of scripts that ask a model; `load_model` reads them."""
    from tests import real_model

    made.add_argument("--model", type=Path, default=real_model.path(), help="a .gguf file or a folder")
    made.add_argument("--label", default=real_model.NAME, help="what results call the model")
    made.add_argument("--threads", type=int, default=threads, help="threads of torch")
    made.add_argument("--dtype", default="float32", help="of the weights")
    made.add_argument("--device", default="cpu", help='where the model is: "auto" for a GPU if there is one')


def load_model(options: argparse.Namespace) -> LanguageModel:
    """Return the model that the options name; a .gguf file is dequantised once, and kept."""
    import torch

    import schemagen
    from tests import real_model

    torch.set_num_threads(options.threads)
    cache = real_model.cache() if options.model.suffix == ".gguf" else None
    place = None if options.device == "cpu" else options.device
    return schemagen.load(options.model, dtype=options.dtype, device_map=place, cache=cache)


def data_options(made: argparse.ArgumentParser) -> None:
    """Add the options of scripts that read schemas."""
    made.add_argument("--data", type=Path, help='JSON lines {"id", "schema", "tests": [{"valid", "data"}]}, may be .gz')
    made.add_argument("--sample", type=int, help="this many schemas, drawn with --seed")


def cases(data: Path | None, sample: int | None, seed: int, *, generated: int = 200) -> list[dict[str, Any]]:
    """Return schemas with instances: those of a file, or as many as asked for from `schemas.py`."""
    if data is None:
        from schemas import generate

        return generate(sample or generated, seed)
    found = read_lines(data)
    return found if sample is None else random.Random(seed).sample(found, min(sample, len(found)))


def data_name(data: Path | None) -> str:
    """Return what a result file says about where its schemas come from."""
    return "made by benchmarks/schemas.py" if data is None else data.name


def data_settings(options: argparse.Namespace, count: int) -> dict[str, Any]:
    """Return what a result file says about ``count`` schemas that were read with the options of `data_options`."""
    return {
        "data": data_name(options.data),
        "schemas": count,
        "seed": options.seed,
        "tokenizer": options.tokenizer.name,
    }


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def load_tokenizer(folder: Path | str) -> Any:
    """Return the transformers tokenizer of a folder; nothing is ever downloaded."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", TOKENIZERS_PARALLELISM="false")
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def text_of(value: Any) -> str:
    """Return a value as the benchmarks write it: one line of JSON, in the spacing of `json.dumps`."""
    return json.dumps(value, ensure_ascii=False)


def tokens_of(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens of a text that follows another text.

    Some tokenizers (SentencePiece) write a space before the first word of each text they encode; no grammar begins with one,
    and after a prompt there is none. Such a text is encoded after a line break.
    """
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    if not ids or not tokenizer.convert_ids_to_tokens(ids[:1])[0].startswith("\N{LOWER ONE EIGHTH BLOCK}"):
        return ids
    before = tokenizer.encode("\n", add_special_tokens=False)
    after: list[int] = tokenizer.encode("\n" + text, add_special_tokens=False)
    return after[len(before) :] if after[: len(before)] == before else ids


# --- memory ----------------------------------------------------------------------------------------------------------


def memory_bytes() -> tuple[int, int]:
    """Return the resident memory of this process now, and its peak.

    On Linux the peak is that of this process image. ``ru_maxrss``, which is read elsewhere, also counts the process that
    started this one, and there the first number is the peak, too.
    """
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return int(fields["VmRSS"].split()[0]) * 1024, int(fields["VmHWM"].split()[0]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if platform.system() == "Darwin" else 1024)
    return peak, peak


def forget_peak() -> None:
    """Let the peak start again from here, where the system can do that (Linux).

    Memory that was freed but not given back (a tokenizer leaves a lot of it) is given back first: otherwise the next
    allocations would use it, and not count.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def limit_memory(gib: float) -> None:
    """Let this process have this many GiB of address space more than now, where the system can do that."""
    with contextlib.suppress(OSError, ImportError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + int(gib * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


# --- workers ---------------------------------------------------------------------------------------------------------


class Worker:
    """A process of its own that answers one case after the other; it is started again after a crash or a timeout.

    Args:
        target: ``"module:function"``: called in the process with `arguments`, it returns what answers a case.
        arguments: For the target.
        timeout_s: Most seconds for one case.
        memory_gib: Most GiB beyond what the target has allocated, where the system can limit that.
    """

    def __init__(
        self, target: str, arguments: Sequence[Any], *, timeout_s: float = 20.0, memory_gib: float = 6.0
    ) -> None:
        self.target, self.arguments = target, tuple(arguments)
        self.timeout_s, self.memory_gib = timeout_s, memory_gib
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, case: Any) -> dict[str, Any]:
        """Return the answer; ``{"verdict": "timeout"}`` or ``{"verdict": "crash"}`` where there is none."""
        if self._process is None:
            self._start()
        try:
            self._pipe.send(case)
            if self._pipe.poll(self.timeout_s):
                return dict(self._pipe.recv())
            verdict = "timeout"
            self._process.kill()
        except (EOFError, OSError):
            verdict = "crash"
        self._process.join()
        self._process = None
        return {"verdict": verdict, "waited_us": round(self.timeout_s * 1e6)}

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        self._process.join(5)
        self._process.kill()
        self._process.join()
        self._process = None

    def _start(self) -> None:
        # spawn: a forked child would share the memory of this process, and count it as its own
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, self.target, self.arguments, self.memory_gib)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        try:
            self._pipe.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(f"{self.target}{self.arguments} did not start") from None


def _serve(pipe: Any, target: str, arguments: Sequence[Any], memory_gib: float) -> None:
    module, _, name = target.partition(":")
    answer = getattr(importlib.import_module(module), name)(*arguments)
    limit_memory(memory_gib)
    forget_peak()
    pipe.send("ready")
    while (case := pipe.recv()) is not None:
        pipe.send(answer(case))


@contextlib.contextmanager
def workers(made: Mapping[str, Worker]) -> Iterator[Mapping[str, Worker]]:
    """End the workers when the block is left."""
    try:
        yield made
    finally:
        for worker in made.values():
            worker.close()


def interleaved(
    made: Mapping[str, Worker], given: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, Mapping[str, Any], dict[str, Any]]]:
    """Yield worker, case and answer; each case goes to all workers in turn, and the first to be asked changes."""
    names = list(made)
    for number, case in enumerate(given):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            yield name, case, made[name].ask(case)

"""What tests and tools read that is not in this repository: where it lies, and what is said when it does not.

`SCHEMAGEN_CORPORA` names the folder. Without it, that is `corpora/` in the repository, which `make corpora` fills, and for a
file that is not there a folder `shared` beside the repository. Nobody else knows these paths.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]

#: What there is by name: the file that is looked for.
FILES = {
    "json-schema-test-suite": "json-schema-test-suite/suite.jsonl.gz",
    "json-schema-test-suite-remotes": "json-schema-test-suite/remotes.jsonl.gz",
    "maskbench": "maskbench/dev.jsonl.gz",
    "bfcl": "bfcl/bfcl_eval/data/BFCL_v4_simple_python.json",
    "gpt2": "tokenizers/gpt2/tokenizer.json",
    "llama3": "tokenizers/llama3/tokenizer.json",
    "mistral-v1": "tokenizers/mistral-v1/tokenizer.json",
}
_WANTED = "left out for want of "
_REMEDY = "run `make corpora`"


def folders() -> list[Path]:
    """Return where to look, in this order; `make corpora` writes into the first."""
    chosen = os.environ.get("SCHEMAGEN_CORPORA")
    return [Path(chosen).resolve()] if chosen else [ROOT / "corpora", ROOT.parent / "shared"]


def path(name: str) -> Path:
    """Return where a file is, or would be."""
    places = [folder / FILES[name] for folder in folders()]
    return next((place for place in places if place.is_file()), places[0])


def at_hand(name: str) -> bool:
    """Whether it is there, or must be: `SCHEMAGEN_REQUIRE_CORPORA=1` says that nothing may be left out."""
    return path(name).is_file() or _is_required()


def need(name: str) -> Path:
    """Return where a file is; the test that asks for one that is missing is skipped, or fails if nothing may be left out."""
    import pytest

    if path(name).is_file():
        return path(name)
    refuse = pytest.fail if _is_required() else pytest.skip
    return refuse(f"{_WANTED}{name}: {_REMEDY}, or let SCHEMAGEN_CORPORA name a folder with {FILES[name]}")


def kinds() -> list[str]:
    """Return a tokenizer of each common kind as the fixtures name them: the big one, or our own where that is not at hand."""
    big = {"gpt2": "gpt2", "llama3": "llama3", "mistral": "mistral-v1"}
    return [name if at_hand(file) else f"own_{name}" for name, file in big.items()]


def groups(name: str) -> list[dict[str, Any]]:
    """Return the lines of a corpus that a test needs."""
    with gzip.open(need(name), "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def left_out(reasons: Iterable[str]) -> str:
    """Return the one line that says what was skipped for want of what, from the reasons of all skipped tests; "" for nothing."""
    found = Counter(match[1] for reason in reasons if (match := re.search(f"{_WANTED}([a-z0-9-]+)", reason)))
    if not found:
        return ""
    tests = sum(found.values())
    return f"LEFT OUT: {tests} test{'s' * (tests > 1)} for want of corpora ({', '.join(sorted(found))}): {_REMEDY}"


def _is_required() -> bool:
    return os.environ.get("SCHEMAGEN_REQUIRE_CORPORA", "") not in {"", "0"}

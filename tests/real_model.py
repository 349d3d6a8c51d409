"""Where the real model of tests, benchmarks and examples lies, and what is said when it does not lie there.

`SCHEMAGEN_REAL_MODEL` names the file. Without it, that is the one in `models/` in the repository, which `make real-model` fills,
else the one in a folder `shared/models` beside the repository. Nobody else knows these paths.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NAME = "SmolLM2-135M-Instruct"
FILE = Path("smollm2", f"{NAME}.Q4_1.gguf")


def path() -> Path:
    """Return where the file is, or would be; `make real-model` writes the first that is not named by the environment."""
    chosen = os.environ.get("SCHEMAGEN_REAL_MODEL")
    if chosen:
        return Path(chosen).resolve()
    places = [ROOT / "models" / FILE, ROOT.parent / "shared" / "models" / FILE]
    return next((place for place in places if place.is_file()), places[0])


def cache() -> Path:
    """Return a folder in which the dequantised model may be kept: loading takes a second then."""
    return ROOT / "models" / "cache"


def need() -> Path:
    """Return where the file is; the test that asks for it is skipped if it is missing."""
    import pytest

    found = path()
    if not found.is_file():
        pytest.skip(f"no {NAME} at {found}: run `make real-model`, or let SCHEMAGEN_REAL_MODEL name the .gguf file")
    return found

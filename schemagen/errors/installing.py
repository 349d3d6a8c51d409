"""Commands that install schemagen, its extras and its plug-ins, for all error messages that name one."""

from __future__ import annotations

#: The name for pip; on PyPI `schemagen` is another project.
DISTRIBUTION = "schemagen-lm"

#: Whether PyPI has schemagen and its plug-ins. The release that publishes them sets this to True, and nothing else
#: here.
IS_PUBLISHED = False

#: Extra -> its requirements on every system, as in pyproject.toml.
EXTRAS = {
    "gguf": ("gguf>=0.10",),
    "lark": ("lark>=1.2,<2",),
    "parquet": ("pyarrow>=14",),
    "serve": ("fastapi>=0.115", "prometheus-client>=0.20", "uvicorn>=0.30"),
    "yaml": ("pyyaml>=6",),
}


def install_command(extra: str = "") -> str:
    """Return the command that installs schemagen, or the requirements of one of its extras."""
    if IS_PUBLISHED:
        return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
    if not extra:
        return "pip install . in a clone of schemagen"
    packages = " ".join(f'"{requirement}"' for requirement in EXTRAS[extra])
    return f"pip install {packages}, the requirements of the extra `{extra}` of schemagen"


def plug_in_command(name: str) -> str:
    """Return the command that installs the plug-in for an engine: "vllm" or "sglang"."""
    if IS_PUBLISHED:
        return f"pip install schemagen-{name}"
    return f"pip install . ./integrations/{name} in a clone of schemagen"

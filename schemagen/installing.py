"""Commands that install schemagen, its extras and its plug-ins: every error message that names one takes it from here."""

from __future__ import annotations

#: The name that pip knows; on PyPI `schemagen` is another project.
DISTRIBUTION = "schemagen-lm"

#: Whether PyPI has it and its plug-ins. The release that publishes them sets this to True, and nothing else here.
IS_PUBLISHED = False

#: Extra -> what it requires on every system, as in pyproject.toml.
EXTRAS = {
    "gguf": ("gguf>=0.10",),
    "lark": ("lark>=1.2,<2",),
    "parquet": ("pyarrow>=14",),
    "serve": ("fastapi>=0.115", "prometheus-client>=0.20", "uvicorn>=0.30"),
    "yaml": ("pyyaml>=6",),
}


def install_command(extra: str = "") -> str:
    """Return the command that installs schemagen, or what one of its extras requires."""
    if IS_PUBLISHED:
        return f'pip install "{DISTRIBUTION}[{extra}]"' if extra else f"pip install {DISTRIBUTION}"
    if not extra:
        return "pip install . in a clone of schemagen"
    packages = " ".join(f'"{requirement}"' for requirement in EXTRAS[extra])
    return f"pip install {packages}, which is what the extra `{extra}` of schemagen asks for"


def plug_in_command(name: str) -> str:
    """Return the command that installs the plug-in for an engine: "vllm" or "sglang"."""
    if IS_PUBLISHED:
        return f"pip install schemagen-{name}"
    return f"pip install . ./integrations/{name} in a clone of schemagen"

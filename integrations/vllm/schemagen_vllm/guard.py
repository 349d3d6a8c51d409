"""Whether a vLLM is one that the plug-in knows: by its version, and by the names and signatures that it touches.

``contract.json`` holds them, read from the released wheels by ``tools/read_contract.py``. vLLM has no registry of
backends, so the plug-in replaces names of it; with an untested version that could fail silently. Such a version is
refused instead.
"""

from __future__ import annotations

import inspect
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemagen.errors import SchemagenError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONTRACT = Path(__file__).with_name("contract.json")
_FIX = (
    "install one of these versions, a newer schemagen-vllm, or unset SCHEMAGEN_VLLM_SLOT to run vLLM without schemagen"
)


@cache
def contracts() -> dict[str, dict[str, Any]]:
    """Return the contract of each supported version, oldest first."""
    versions = json.loads(_CONTRACT.read_text(encoding="utf-8"))["versions"]
    return {version: versions[found] if isinstance(found, str) else found for version, found in versions.items()}


def check(version: str) -> None:
    """Refuse a vLLM that is not supported, or that differs from its released version.

    Args:
        version: ``vllm.__version__``; a local part (``+cpu``) does not count.

    Raises:
        SchemagenError: The version is not listed, or a name differs from the released wheel.
    """
    release = version.partition("+")[0]
    contract = contracts().get(release)
    if contract is None:
        raise SchemagenError(
            f"vLLM {version} is not supported by schemagen-vllm",
            why=f"the plug-in replaces names of vLLM, and knows those of {', '.join(contracts())}",
            fix=_FIX,
        )
    differences = list(differences_to(contract))
    if differences:
        raise SchemagenError(
            f"this vLLM {version} differs from the released one: {'; '.join(differences)}",
            why="the plug-in replaces names of vLLM, and these are not those that it knows",
            fix=_FIX,
        )


def differences_to(contract: dict[str, Any]) -> Iterator[str]:
    """Yield the differences between the installed vLLM and a contract."""
    for module_name, classes in contract.items():
        module = import_module(module_name)
        for owner, members in classes.items():
            holder = getattr(module, owner, None) if owner else module
            if holder is None:
                yield f"{module_name} has no {owner}"
                continue
            for name, expected in members.items():
                found = _described(holder, name)
                if found != expected:
                    yield f"{module_name}.{owner or ''}{'.' if owner else ''}{name} is {found}, not {expected}"


def _described(holder: Any, name: str) -> Any:
    """Describe a member in the words of the contract; None if it is missing."""
    if name == "fields":
        return fields_of(holder)
    member = inspect.getattr_static(holder, name, None)
    if isinstance(member, property):
        return "property"
    return parameters_of(member) if callable(member) else None


def fields_of(holder: Any) -> list[str]:
    """Return the fields of a dataclass, or the members of an enum."""
    members = getattr(holder, "__members__", None)
    return [*members] if members is not None else [*inspect.get_annotations(holder)]


def parameters_of(function: Any) -> list[str]:
    """Return the parameters of a function as a contract writes them: ``=`` after a default, ``*`` before keywords."""
    found = []
    for parameter in inspect.signature(function).parameters.values():
        star = "*" if parameter.kind is parameter.KEYWORD_ONLY else ""
        found.append(f"{star}{parameter.name}{'' if parameter.default is parameter.empty else '='}")
    return found

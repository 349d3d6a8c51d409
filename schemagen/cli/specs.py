"""From the SPEC argument to what `schemagen.compile` takes."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from schemagen.errors import InvalidSchemaError

_PYTHON_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def read_spec(spec: str) -> Any:
    """Return the type or JSON Schema that the argument names.

    Args:
        spec: `-` (JSON on standard input), JSON text, the path of a JSON file, or `module:Class` looked up from the
            current directory.

    Raises:
        typer.BadParameter: It is none of these, or the module or class is not there.
        InvalidSchemaError: The text is not JSON.
    """
    if spec == "-":
        return parse_json(sys.stdin.read(), "standard input")
    if spec.lstrip().startswith(("{", "[")) or spec in {"true", "false"}:
        return parse_json(spec, "the argument")
    path = Path(spec)
    if path.is_file():
        return parse_json(read_text(path), str(path))
    if _PYTHON_NAME.fullmatch(spec):
        return import_object(spec)
    if path.suffix:
        raise typer.BadParameter(f"no such file: {spec!r}")
    raise typer.BadParameter(f"{spec!r} is neither a file, nor JSON, nor module:Class")


def read_text(path: Path) -> str:
    """Return the text of a file, without the mark that editors of Windows put before it."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot read {str(path)!r}: {error}") from error


def parse_json(text: str, source: str) -> Any:
    """Return the parsed text; `source` is what the error calls it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSchemaError(
            f"{source} is not JSON: {error.msg}",
            at=f"line {error.lineno}, column {error.colno}",
            fix="give a JSON Schema, or a Python type as module:Class",
        ) from error
    except RecursionError as error:
        raise InvalidSchemaError(f"{source} is nested deeper than Python reads JSON", fix="flatten it") from error


def read_functions(functions: str) -> list[Any]:
    """Return the functions that the argument names.

    Args:
        functions: `module:name`, or `module:name,name`; each a function, a tool, a model, or a list of these.

    Raises:
        typer.BadParameter: It is nothing of the kind, or the module or a name is not there.
    """
    module, _, names = functions.partition(":")
    found: list[Any] = []
    for name in names.split(","):
        spec = f"{module}:{name.strip()}"
        if not _PYTHON_NAME.fullmatch(spec):
            raise typer.BadParameter(f"{functions!r} is not module:name or module:name,name")
        target = import_object(spec)
        found += target if isinstance(target, (list, tuple)) else [target]
    return found


def import_object(spec: str) -> Any:
    """Import `module:Class`, with the current directory on the path as `python -m` has it."""
    module_name, _, attributes = spec.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        target: Any = import_module(module_name)
    except Exception as error:  # whatever the module does while it is imported is its author's business
        raise typer.BadParameter(f"cannot import {module_name!r}: {type(error).__name__}: {error}") from error
    for attribute in attributes.split("."):
        if not hasattr(target, attribute):
            raise typer.BadParameter(f"{module_name!r} has no {attributes!r}")
        target = getattr(target, attribute)
    return target

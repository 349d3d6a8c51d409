"""Parse the SPEC argument into a spec for `schemagen.compile`."""

from __future__ import annotations

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from schemagen.errors import InvalidSchemaError
from schemagen.grammar.context_free_specs import EBNF, GBNF, GrammarText
from schemagen.grammar.lark_spec import Lark

_NAME = r"[A-Za-z_][\w.]*"
#: A module or the path of its file, then a name in it.
_PYTHON_NAME = re.compile(rf"(?:{_NAME}|.*\.py):{_NAME}")

#: Suffixes of grammar files -> the class that reads them.
GRAMMARS: dict[str, type[GrammarText]] = {".gbnf": GBNF, ".ebnf": EBNF, ".lark": Lark}

_TYPES = "a Python type is module:Class, found from the current folder, or FILE.py:Class"


def read_spec(spec: str) -> Any:
    """Return the type, JSON Schema or grammar that the argument names.

    Args:
        spec: `-` (JSON on standard input), JSON text, the path of a JSON file or of a grammar (.gbnf, .ebnf, .lark),
            `module:Class` looked up from the current directory, or `FILE.py:Class`.

    Raises:
        typer.BadParameter: It is none of them, or the module or class does not exist.
        InvalidSchemaError: The text is not JSON.
    """
    if spec == "-":
        return parse_json(sys.stdin.read(), "standard input")
    if spec.lstrip().startswith(("{", "[")) or spec in {"true", "false"}:
        return parse_json(spec, "the argument")
    path = Path(spec)
    if path.suffix == ".py":
        raise typer.BadParameter(f"{spec!r} names no type: {_TYPES}")
    if path.suffix in GRAMMARS and path.is_file():
        reader: Any = GRAMMARS[path.suffix]
        return Lark(path) if reader is Lark else reader(read_text(path))
    if path.is_file():
        return parse_json(read_text(path), str(path))
    if _PYTHON_NAME.fullmatch(spec):
        return import_object(spec)
    if path.suffix:
        raise typer.BadParameter(f"no such file: {spec!r} ({_TYPES})")
    raise typer.BadParameter(f"{spec!r} is neither a file, nor JSON, nor module:Class ({_TYPES})")


def read_text(path: Path) -> str:
    """Return the text of a file, without the byte order mark of Windows editors."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"cannot read {str(path)!r}: {error}") from error


def parse_json(text: str, source: str) -> Any:
    """Return the parsed text; errors call it `source`."""
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
        functions: `module:name`, or `module:name,name`, or `FILE.py:name,name`; each a function, a tool, a model, or a
            list of these.

    Raises:
        typer.BadParameter: It names no functions, or the module or a name does not exist.
    """
    module, _, names = functions.rpartition(":")
    found: list[Any] = []
    for name in names.split(","):
        spec = f"{module}:{name.strip()}"
        if not _PYTHON_NAME.fullmatch(spec):
            raise typer.BadParameter(f"{functions!r} is not module:name or module:name,name")
        target = import_object(spec)
        found += target if isinstance(target, (list, tuple)) else [target]
    return found


def import_object(spec: str) -> Any:
    """Import `module:Class`, with the current directory on the path as with `python -m`, or `FILE.py:Class`."""
    module_name, _, attributes = spec.rpartition(":")
    path = Path(module_name) if module_name.endswith(".py") else None
    target: Any = _imported(module_name, "") if path is None else _imported_file(path)
    for attribute in attributes.split("."):
        if not hasattr(target, attribute):
            raise typer.BadParameter(f"{module_name!r} has no {attributes!r}")
        target = getattr(target, attribute)
    return target


def _imported(name: str, folder: str) -> Any:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(name)
    except Exception as error:  # a module may raise anything while it is imported
        raise typer.BadParameter(f"cannot import {name!r}: {type(error).__name__}: {error}") from error


def _imported_file(path: Path) -> Any:
    """Return the module of a file, which may import its neighbours, as with `python path`."""
    if not path.is_file():
        raise typer.BadParameter(f"no such file: {str(path)!r}")
    if not path.stem.isidentifier():
        raise typer.BadParameter(f"{path.name!r} cannot be imported: name it like a variable, as shop.py")
    module = _imported(path.stem, str(path.resolve().parent))
    found = getattr(module, "__file__", None)
    if found is None or Path(found).resolve() != path.resolve():
        raise typer.BadParameter(f"{path.name!r} has the name of another module, {module!r}: rename the file")
    return module

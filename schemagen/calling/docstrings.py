"""Descriptions of a function and its parameters, from docstrings in the styles of Google, NumPy, Sphinx and Epydoc."""

from __future__ import annotations

import inspect
from typing import Any


def describe(function: Any) -> tuple[str, dict[str, str]]:
    """Return the description of a function and those of its parameters.

    Args:
        function: Any object; without a docstring both results are empty.
    """
    from docstring_parser import ParseError, parse

    text = inspect.getdoc(function) or ""
    try:
        parsed = parse(text)
    except ParseError:  # some text looks like a section but is not one: all of it is description
        return text.strip(), {}
    parts = (parsed.short_description, parsed.long_description)
    description = "\n\n".join(" ".join(part.split()) for part in parts if part)
    # NumPy's `x, y : int` describes several parameters at once.
    params = [param for param in parsed.params if param.args[0] != "attribute"]
    names = [(name.strip(" *"), param) for param in params for name in param.arg_name.split(",")]
    return description, {name: " ".join((param.description or "").split()) for name, param in names}

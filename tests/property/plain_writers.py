"""Small writers of the formats, for values and their JSON: nothing in them is shared with `schemagen.writers`."""

import dataclasses
import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, RootModel

YAML_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


class Number(str):
    """A number of JSON by its text."""

    __slots__ = ()


def data_of(text: str | bytes) -> Any:
    """Return a JSON text as data, numbers as their texts."""
    return json.loads(text, parse_float=Number, parse_int=Number)


# --- Python -------------------------------------------------------------------------------------------------------------


def python_text(value: Any, data: Any) -> str:
    """Write a value as Python.

    Args:
        value: The value; its classes are what the calls are of.
        data: Its JSON.
    """
    if isinstance(value, RootModel):
        return python_text(value.root, data)
    members = _members(value)
    if members is not None:
        parts = data.items() if isinstance(data, dict) else zip(members, data, strict=False)
        arguments = ", ".join(f"{key}={python_text(members[key], part)}" for key, part in parts)
        return f"{type(value).__name__.partition('[')[0]}({arguments})"
    if isinstance(data, dict):
        inner: Mapping[Any, Any] = value if isinstance(value, Mapping) else {}
        return (
            "{" + ", ".join(f"{_quoted(key)}: {python_text(inner.get(key), part)}" for key, part in data.items()) + "}"
        )
    if isinstance(data, list):
        return _python_list(value, data)
    if data is None or isinstance(data, bool):
        return repr(data)
    return str(data) if isinstance(data, Number) else _quoted(data)


def _python_list(value: Any, data: list[Any]) -> str:
    inner = list(value) if isinstance(value, list | tuple) else [None] * len(data)
    texts = [python_text(*pair) for pair in zip(inner, data, strict=True)]
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(texts) + "}" if texts else "set()"
    if isinstance(value, tuple):
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    return f"[{', '.join(texts)}]"


def _members(value: Any) -> dict[str, Any] | None:
    """Return the members of an instance of a class, by the names that pydantic reads them by."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        return {str(field.validation_alias or name): getattr(value, name) for name, field in fields.items()}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value._asdict() if isinstance(value, tuple) and hasattr(value, "_asdict") else None


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# --- YAML ---------------------------------------------------------------------------------------------------------------


def yaml_text(data: Any) -> str:
    """Write data as YAML in block style, all strings in quotes."""
    return "\n".join(_yaml_lines(data))


def _yaml_lines(data: Any) -> list[str]:
    if isinstance(data, dict) and data:
        found = []
        for key, part in data.items():
            lines = _yaml_lines(part)
            if isinstance(part, dict | list) and part:
                found += [f"{_yaml_key(key)}:", *(f"  {line}" for line in lines)]
            else:
                found.append(f"{_yaml_key(key)}: {lines[0]}")
        return found
    if isinstance(data, list) and data:
        blocks = [_yaml_lines(part) for part in data]
        return [f"{'  ' if number else '- '}{line}" for block in blocks for number, line in enumerate(block)]
    if isinstance(data, Number):
        mantissa, _, exponent = data.replace("E", "e").partition("e")
        if not exponent:
            return [str(data)]
        if "." not in mantissa and -12 < int(exponent) < 0:
            return [format(Decimal(data), "f")]
        return [f"{mantissa}{'' if '.' in mantissa else '.0'}e{'' if exponent[0] in '+-' else '+'}{exponent}"]
    return [_yaml_string(data) if isinstance(data, str) else json.dumps(data)]


def _yaml_string(text: str) -> str:
    """Write a string in quotes, what YAML does not print as an escape."""
    return re.sub("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", _quoted(text))


def _yaml_key(key: str) -> str:
    is_plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_ ]*(?<! )", key) and key.lower() not in YAML_WORDS
    return key if is_plain else _yaml_string(key)


# --- XML ----------------------------------------------------------------------------------------------------------------


def xml_text(name: str, data: Any, depth: int = 0, *, item: str = "item") -> str:
    """Write data as an element; those of the items of a list inside are called ``item``."""
    line = "\n" + "  " * depth
    if isinstance(data, dict):
        parts = [
            xml_text(key, each, depth + 1)
            for key, part in data.items()
            for each in (part if isinstance(part, list) else [part])
            if each is not None or isinstance(part, list)
        ]
        inner = "".join(f"{line}  {part}" for part in parts) + (line if parts else "")
    elif isinstance(data, list):
        parts = [xml_text(item, each, depth + 1) for each in data]
        inner = "".join(f"{line}  {part}" for part in parts) + (line if parts else "")
    elif data is None or isinstance(data, bool):
        inner = {None: "", True: "true", False: "false"}[data]
    else:
        inner = data.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<{name}>{inner}</{name}>"


def xml_has(data: Any) -> bool:
    """Whether XML 1.0 has all characters of data, and no reader changes one."""
    if isinstance(data, dict):
        return all(map(xml_has, data.values()))
    if isinstance(data, list):
        return all(map(xml_has, data))
    return not isinstance(data, str) or not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]", data)

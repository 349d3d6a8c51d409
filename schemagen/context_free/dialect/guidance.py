"""The meaning of ``x-guidance`` in a schema of ``%json {...}``: how its values are written.

Its options are llguidance's. Those that say the layout of the JSON are kept; where one would change which values there are, or
has no exact counterpart here, it is refused, and none is ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    from schemagen.context_free.scanner import Scanner

#: How JSON is written: its separators of items and of keys, with whitespace nowhere else, or whitespace anywhere within it.
JsonLayout = tuple[str, str] | Literal["any"]

KEYWORD = "x-guidance"
#: The values of omitted options.
_DEFAULTS: dict[str, Any] = {
    "item_separator": ",",
    "key_separator": ":",
    "whitespace_flexible": True,
    "whitespace_pattern": None,
    "coerce_one_of": False,
    "lenient": False,
    "json_allowed_escapes": None,
    "json_allow_general_unicode_escapes": True,
}
_FIXES = {
    "whitespace_pattern": 'leave it out, or write "whitespace_flexible": false',
    "coerce_one_of": "write anyOf instead of oneOf",
    "lenient": "leave out what cannot be enforced",
    "json_allowed_escapes": "leave it out, and give the strings a pattern",
    "json_allow_general_unicode_escapes": "leave it out",
}
_SEPARATORS = {
    "item_separator": re.compile(r"[ \t\r\n]*,[ \t\r\n]*"),
    "key_separator": re.compile(r"[ \t\r\n]*:[ \t\r\n]*"),
}


def without_guidance(scanner: Scanner, schema: Any, at: int) -> tuple[Any, JsonLayout | None]:
    """Return a schema without ``x-guidance``, and the layout that this asks for, or None for that of the compilation.

    Raises:
        GrammarSyntaxError: An option is not known, or has no such value.
        UnsupportedGrammarError: It cannot be enforced here.
    """
    if not isinstance(schema, dict) or KEYWORD not in schema:
        return schema, None
    options = schema[KEYWORD]
    if not isinstance(options, dict):
        raise scanner.error(
            f"{KEYWORD} is not an object", at, fix=f'write "{KEYWORD}": {{"whitespace_flexible": false}}'
        )
    for option, value in options.items():
        _check(scanner, option, value, at)
    plain = {name: value for name, value in schema.items() if name != KEYWORD}
    given = {**_DEFAULTS, **options}
    separators = given["item_separator"], given["key_separator"]
    if not given["whitespace_flexible"]:
        return plain, separators
    for option in _SEPARATORS:
        if given[option] != _DEFAULTS[option]:
            _refuse(scanner, option, given[option], at, 'write "whitespace_flexible": false beside it')
    return plain, "any" if "whitespace_flexible" in options else None


def _check(scanner: Scanner, option: str, value: Any, at: int) -> None:
    if option not in _DEFAULTS:
        known = ", ".join(_DEFAULTS)
        raise scanner.error(f"the option {option!r} of {KEYWORD} is not known", at, fix=f"the options are {known}")
    if option in _SEPARATORS:
        if not isinstance(value, str) or not _SEPARATORS[option].fullmatch(value):
            sign = _DEFAULTS[option]
            fix = f"write {sign!r}, with whitespace around it if any"
            raise scanner.error(f"the option {option!r} of {KEYWORD} is {value!r:.60}", at, fix=fix)
    elif option == "whitespace_flexible":
        if not isinstance(value, bool):
            fix = "write true or false"
            raise scanner.error(f"the option {option!r} of {KEYWORD} is {value!r:.60}", at, fix=fix)
    elif value is not _DEFAULTS[option]:
        _refuse(scanner, option, value, at, _FIXES[option])


def _refuse(scanner: Scanner, option: str, value: Any, at: int, fix: str) -> NoReturn:
    raise scanner.unsupported(
        f"the option {option!r} of {KEYWORD}, which is {value!r:.60}",
        at,
        why="JSON is not read in this way here",
        fix=fix,
    )

"""llguidance's JSON form of a grammar: a list of grammars, of which the first one is the text and refers to the others.

``{"grammars": [{"lark_grammar": "start: @call"}, {"name": "call", "json_schema": {...}}]}``
"""

from __future__ import annotations

import json
import re
from typing import Any

from schemagen.errors import GrammarSyntaxError, UnsupportedGrammarError

_NAME = re.compile(r"[\w-]+", re.ASCII)
_FIX = 'write {"grammars": [{"lark_grammar": "..."}, {"name": "call", "json_schema": {...}}]}'
#: The keys of the whole and of each grammar; those of the second kind bound tokens.
_WHOLE, _EACH, _BOUNDS = ("grammars", "max_tokens"), ("name", "lark_grammar", "json_schema", "max_tokens"), "max_tokens"


def is_json_form(text: str) -> bool:
    """Whether a grammar is in the JSON form: no grammar of Lark begins with a brace."""
    return text.lstrip().startswith("{")


def read_json_form(text: str) -> tuple[str, dict[str, Any]]:
    """Return the text of the first grammar, and the texts and schemas of those that have names.

    Raises:
        GrammarSyntaxError: It is not of this form.
        UnsupportedGrammarError: It bounds tokens.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GrammarSyntaxError(f"a grammar that begins with a brace is no JSON: {error}", fix=_FIX) from None
    _check_keys(whole, _WHOLE, "")
    grammars = whole.get("grammars")
    if not isinstance(grammars, list) or not grammars:
        raise GrammarSyntaxError("a grammar in JSON without a list of grammars", at="/grammars", fix=_FIX)
    found: dict[str, Any] = {}
    bodies = []
    for index, grammar in enumerate(grammars):
        at = f"/grammars/{index}"
        _check_keys(grammar, _EACH, at)
        bodies.append(_body(grammar, at))
        name = grammar.get("name")
        if name is not None:
            _add(found, name, bodies[-1], at)
    if isinstance(bodies[0], str):
        return bodies[0], found
    return "start: @0", {**found, "0": bodies[0]}


def _check_keys(value: Any, known: tuple[str, ...], at: str) -> None:
    if not isinstance(value, dict):
        raise GrammarSyntaxError(f"{json.dumps(value):.60} where an object is expected", at=at, fix=_FIX)
    for key in value:
        if key not in known:
            fix = f"the keys are {', '.join(known)}"
            raise GrammarSyntaxError(f"the key {key!r:.60} of a grammar is not known", at=f"{at}/{key}", fix=fix)
    if value.get(_BOUNDS) is not None:
        raise UnsupportedGrammarError(
            f"the key {_BOUNDS!r} of a grammar",
            at=f"{at}/{_BOUNDS}",
            why="rules are read over characters, whichever tokens these are written with",
            fix="leave it out, and give max_new_tokens= to the call",
        )


def _body(grammar: dict[str, Any], at: str) -> Any:
    given = [grammar[key] for key in ("lark_grammar", "json_schema") if grammar.get(key) is not None]
    is_read = len(given) == 1 and isinstance(given[0], str if grammar.get("lark_grammar") is not None else dict | bool)
    if not is_read:
        fix = 'write "lark_grammar": "..." or "json_schema": {...}'
        raise GrammarSyntaxError("a grammar that is not one text of Lark or one JSON Schema", at=at, fix=fix)
    return given[0]


def _add(found: dict[str, Any], name: Any, body: Any, at: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise GrammarSyntaxError(f"the name {name!r:.60} of a grammar", at=f"{at}/name", fix="use letters and digits")
    if name in found:
        raise GrammarSyntaxError(f"the grammar {name!r} is defined twice", at=f"{at}/name", fix="rename one")
    found[name] = body

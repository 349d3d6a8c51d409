"""A pattern with named groups as rules: one for each group, so that the spans of a text can be asked for.

Python's `re` knows no text groups, and finds groups by its order of alternatives; here they are where the leftmost longest
derivation has them (`schemagen.context_free.spans`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.captures import marked_rules
from schemagen.context_free.syntax import (
    ContextFreeGrammar,
    Expression,
    Rule,
    Text,
    TokenRun,
    alternatives,
    repeat,
    sequence,
)
from schemagen.errors import UnsupportedPatternError
from schemagen.regex import ast
from schemagen.regex.parse import parse_groups
from schemagen.regex.syntax import PLAIN, Choice, Loop, Named, Sequence
from schemagen.regex.text_groups import TEXT_GROUPS, TOKEN_GROUPS

if TYPE_CHECKING:
    from schemagen.regex.syntax import Syntax

#: Of the rule of the whole pattern; no group can be called like that.
WHOLE = "(pattern)"


def rules_of_pattern(pattern: str) -> ContextFreeGrammar | None:
    """Return the rules of a pattern of Python's dialect; None if it has no text group.

    A group that is there twice is two rules, ``NAME`` and ``NAME#2``.

    Raises:
        UnsupportedPatternError: It has an assertion outside of the groups, whose text is not known by itself.
        PatternError: It cannot be read.
    """
    rules: dict[str, Expression] = {}
    body = _expression(parse_groups(pattern), rules, pattern)
    if not any(name.partition("#")[0] in TEXT_GROUPS for name in rules):
        return None
    marked = marked_rules(rules, {name: name.partition("#")[0] for name in rules})
    return ContextFreeGrammar(WHOLE, {WHOLE: body, **rules}, marked=marked)


def _expression(node: Syntax, rules: dict[str, Expression], pattern: str) -> Expression:
    if isinstance(node, PLAIN):
        return Text(node)
    if isinstance(node, Sequence):
        return sequence(*(_expression(part, rules, pattern) for part in node.parts))
    if isinstance(node, Choice):
        return alternatives(*(_expression(part, rules, pattern) for part in node.parts))
    if isinstance(node, Loop):
        return repeat(_expression(node.inner, rules, pattern), node.low, node.high)
    if isinstance(node, Named):
        name, number = node.name, 1
        while name in rules:
            number += 1
            name = f"{node.name}#{number}"
        rules[name] = Text(ast.EMPTY)  # inner names come after it
        is_token = node.name in TOKEN_GROUPS
        has_lines = node.name != "PARAGRAPH_TOKEN"
        rules[name] = TokenRun(1, 1, has_lines) if is_token else _expression(node.inner, rules, pattern)
        return Rule(name)
    raise UnsupportedPatternError(
        f"an anchor or a look-around beside text groups in {pattern!r:.80}",
        why="each group is read by itself, and the assertion depends on the text around it",
        fix="state the rule without it",
    )

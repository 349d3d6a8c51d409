"""Regular expressions about regular expressions: the format `regex`.

Balanced brackets are not regular, so this is a subset: groups nest up to a depth, and only constructs are offered that
a parser accepts wherever they stand. Literals, ``.``, class escapes, escaped punctuation, sets, groups, greedy and lazy
quantifiers, alternation, ``^`` and ``$`` are common to ECMA-262 and Python's `re`; `ecma_pattern_regex` adds what only
ECMA-262 has (section 22.2.1, without annex B).
"""

from __future__ import annotations

from schemagen.regex import ast
from schemagen.schema.format_parts import ALNUM, ALPHA, DIGIT, some

_DEPTH = 2
_CLOSE = ast.char_set(")")
_SYNTAX = ".*+?^$()[]{}|\\/"


def pattern_regex(depth: int = _DEPTH) -> ast.Regex:
    """Patterns that ECMA-262 and Python's `re` both compile.

    Args:
        depth: Most groups inside each other.

    Returns:
        The language.
    """
    return _disjunction(depth, ecma=False)


def ecma_pattern_regex(depth: int = _DEPTH) -> ast.Regex:
    r"""Patterns that ECMA-262 compiles in Unicode mode: also assertions, ``[]``, ``\cA`` and one named group.

    Args:
        depth: Most groups inside each other.

    Returns:
        The language.
    """
    plain = _disjunction(depth, ecma=True)
    name = ast.concat(ast.union(ALPHA, ast.char_set("_$")), ast.star(ast.union(ALNUM, ast.char_set("_$"))))
    opening = ast.concat(ast.literal("(?<"), name, ast.char_set(">"))
    named = ast.concat(opening, _disjunction(depth - 1, ecma=True), _CLOSE, _quantifier())
    # Names must differ, so there is at most one.
    return ast.concat(plain, ast.optional(ast.concat(named, plain)))


def _disjunction(depth: int, *, ecma: bool) -> ast.Regex:
    """Quantified atoms, and what takes no quantifier: ``^``, ``$``, ``|`` and the assertions of ECMA-262."""
    atoms = [ast.union(ALNUM, ast.char_set(" _-,:;=@#&!~'\"<>%`/.")), _escape(), _set(ecma=ecma)]
    others: list[ast.Regex] = [ast.char_set("^$|")]
    if ecma:
        atoms.append(ast.concat(ast.literal("\\c"), ALPHA))
        others.append(ast.concat(ast.char_set("\\"), ast.char_set("bB")))
    if depth > 0:
        inner = _disjunction(depth - 1, ecma=ecma)
        atoms.append(ast.concat(ast.char_set("("), ast.optional(ast.literal("?:")), inner, _CLOSE))
        if ecma:
            look = ast.concat(ast.literal("(?"), ast.optional(ast.char_set("<")), ast.char_set("=!"))
            others.append(ast.concat(look, inner, _CLOSE))
    return ast.star(ast.union(ast.concat(ast.union(*atoms), _quantifier()), *others))


def _quantifier() -> ast.Regex:
    """Nothing, ``*``, ``+``, ``?``, ``{n}`` or ``{n,}``, perhaps lazy; ``{n,m}`` would need n <= m."""
    count = some(DIGIT, 1, 2)
    braces = ast.concat(ast.char_set("{"), count, ast.optional(ast.char_set(",")), ast.char_set("}"))
    return ast.optional(ast.concat(ast.union(ast.char_set("*+?"), braces), ast.optional(ast.char_set("?"))))


def _escape() -> ast.Regex:
    return ast.concat(ast.char_set("\\"), ast.char_set("dDwWsSntrfv" + _SYNTAX))


def _set(*, ecma: bool) -> ast.Regex:
    """A character set of single characters, escapes and the three usual ranges; ECMA-262 also has empty ones."""
    item = ast.union(
        ALNUM,
        ast.char_set("_ .,:;@/+*?'\"<>=%#!~`(){}$|"),
        ast.literal("a-z"),
        ast.literal("A-Z"),
        ast.literal("0-9"),
        ast.concat(ast.char_set("\\"), ast.char_set("dwsDWSntr\\]^-[")),
    )
    items = ast.star(item) if ecma else some(item)
    return ast.concat(ast.char_set("["), ast.optional(ast.char_set("^")), items, ast.char_set("]"))

"""How much work a grammar would be for lark, estimated in advance.

Lark writes rules out: ``[x]`` doubles the alternatives of a rule, ``(x | y)~0..12`` makes thousands, templates make rules
without end. Its work afterwards grows with the symbols of all alternatives, with the cube of the longest, and with how
often it goes over all rules until nothing changes. A short text can keep it busy for hours.

So its own trees of the rules, which it reads in time linear in the text, are counted here, and the work is estimated in
steps of about a microsecond:

    a token of the text, a part of a terminal           `TOKEN`, `PART`
    a character of a literal or pattern                 `CHARACTER`
    a symbol of an alternative                          `SYMBOL`
    an alternative of n symbols                         n^3 / `CUBE`
    an alternative, each time that lark goes over it    `ROUND`

Source: of this project; the weights are measured with lark 1.3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from schemagen.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

#: Steps that lark may take for a grammar: some seconds.
MAX_STEPS = 3_000_000
#: Rules that templates may be made into, and characters of the name of one: lark names them by their arguments.
MAX_TEMPLATES, MAX_NAME = 2_000, 2_000
TOKEN, PART, CHARACTER, SYMBOL, CUBE, ROUND = 30, 40, 20, 20, 16, 6
#: The limit on counted alternatives, so that they stay machine numbers.
_MANY = 10**12
#: From this number of rounds on, lark makes rules of five to ten symbols for a repetition.
_WRITTEN_OUT, _FACTOR = 50, 10
_MAX_DIGITS = 9
#: Characters of a terminal in which others are looked for: they are few in a long text or pattern.
MAX_BODY = 100_000
#: Lines without a rule, which the lexer of lark reads in the square of their characters: `_SQUARE` of those squared are a step.
_BLANKS, _SQUARE = re.compile(r"\n\s{100,}"), 200
#: The beginning of a statement, with the name if it is a terminal.
_STATEMENT = re.compile(
    r"^[ \t]*(?:(?:%(?:override|extend)[ \t]+)?[!?]*(?:(?P<terminal>_*[A-Z][A-Z_0-9]*)|[_a-z]\w*(?:\{[^}\n]*\})?)"
    r"(?:\.-?\d+)?[ \t]*:|%)",
    re.MULTILINE,
)
_NAME = re.compile(r"_*[A-Z][A-Z_0-9]*")
_TOKENS = re.compile(r'"(?:\\.|[^"\\\n])*"|/(?![/*])(?:\\.|[^/\\\n])+/|//[^\n]*|\w+|\S')


class _Size(NamedTuple):
    """How many alternatives an expression is written out as, and how many symbols they have together."""

    ways: int
    symbols: int


_ONE, _NONE = _Size(1, 1), _Size(1, 0)


def _cut(ways: int, symbols: int) -> _Size:
    return _Size(min(ways, _MANY), min(symbols, _MANY))


def _either(sizes: list[_Size]) -> _Size:
    return _cut(sum(size.ways for size in sizes), sum(size.symbols for size in sizes))


def _joined(sizes: list[_Size]) -> _Size:
    ways, symbols = _NONE
    for size in sizes:
        symbols = min(symbols * size.ways + size.symbols * ways, _MANY)
        ways = min(ways * size.ways, _MANY)
    return _Size(ways, symbols)


class _Work:
    """The steps of one grammar so far."""

    def __init__(self) -> None:
        self.steps = 0

    def add(self, steps: int, what: str) -> None:
        """Count steps."""
        self.steps += steps
        if self.steps > MAX_STEPS:
            raise _too_much(what)

    # --- the expansion of a rule --------------------------------------------------------------------------------------

    def rule(self, name: str, tree: Any) -> None:
        """Count the alternatives of a rule, and the characters of its literals and patterns."""
        self.add(_parts(tree, {})[1] * CHARACTER, f"the literals of the rule {str(name)!r} are long")
        for each in tree.children:
            self._written_out(self._size(each, name), name)

    def _written_out(self, size: _Size, name: str) -> None:
        cubes = size.symbols**3 // max(size.ways, 1) ** 2 // CUBE
        self.add(
            size.symbols * SYMBOL + size.ways * ROUND + cubes,
            f"the rule {str(name)!r} is {_number(size.ways)} alternatives of {_number(size.symbols)} symbols to it",
        )

    def _size(self, tree: Any, name: str) -> _Size:
        kind = getattr(tree, "data", None)
        if kind is None or kind == "value":
            return _ONE
        if kind == "expansions":
            return _either([self._size(each, name) for each in tree.children])
        if kind == "expansion":
            return _joined([self._size(each, name) for each in tree.children])
        if kind == "alias":
            return self._size(tree.children[0], name)
        if kind == "maybe":
            return _either([self._size(tree.children[0], name), _NONE])
        return self._repeated(tree, name) if kind == "expr" else _ONE

    def _repeated(self, tree: Any, name: str) -> _Size:
        inner = self._size(tree.children[0], name)
        sign = str(tree.children[1])
        if sign == "?":
            return _either([inner, _NONE])
        if sign in "*+":  # a rule of its own: x | again x
            self._written_out(_either([inner, _joined([_ONE, inner])]), name)
            return _ONE if sign == "+" else _either([_ONE, _NONE])
        bounds = [_count(str(each)) for each in tree.children[2:]]
        low, high = min(bounds), max(bounds)
        if high < _WRITTEN_OUT:
            powers = [_NONE]
            for _ in range(high):
                powers.append(_joined([powers[-1], inner]))
            return _either(powers[low:])
        self._written_out(_joined([inner] * _FACTOR), name)
        return _ONE

    # --- terminals ----------------------------------------------------------------------------------------------------

    def terminal(self, name: str, tree: Any) -> None:
        """Count the parts of a terminal, other terminals written out in it."""
        parts, characters = _parts(tree, {})
        self.add(parts * PART + characters * CHARACTER, f"the terminal {str(name)!r} has {parts:,} parts for it")

    # --- rounds over all rules ----------------------------------------------------------------------------------------

    def rounds(self, calls: Mapping[str, set[str]], *, up: bool) -> int:
        """Count how often lark goes over the rules until nothing changes, and return the most rules that begin one.

        Args:
            calls: Which rules each rule begins, or ends, with, in the order of the grammar.
            up: Whether results go from the rules that are called to those that call them.
        """
        found = {name: 1 << number for number, name in enumerate(calls)}
        changed = True
        while changed:
            changed = False
            self.add(len(calls) * ROUND, "facts about one rule have a long way to the others")
            for name, callees in calls.items():
                for callee in callees:
                    to, source = (name, callee) if up else (callee, name)
                    both = found[to] | found[source]
                    if both != found[to]:
                        found[to] = both
                        changed = True
        return max((mask.bit_count() for mask in found.values()), default=0)


def _too_much(what: str) -> LimitError:
    return LimitError(
        f"lark would take long over the grammar: {what}",
        why="it writes rules out, and goes over all of them again and again",
        fix="use fewer optional parts in a row, smaller repetitions of choices, or rules for parts of long ones",
    )


def _number(count: int) -> str:
    return f"{count:,} or more" if count == _MANY else f"{count:,}"


def _count(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise _too_much("a repetition counts too far")
    return max(int(digits), 0)


def _parts(tree: Any, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return how many nodes a tree of a terminal has, which may share parts, and the characters in them."""
    children = getattr(tree, "children", None)
    if children is None:
        return 1, len(tree) if isinstance(tree, str) else 0
    found = known.get(id(tree))
    if found is None:
        parts, characters = 1, 0
        for each in children:
            more, longer = _parts(each, known)
            parts += more
            characters += longer
        found = known[id(tree)] = min(parts, _MANY), min(characters, _MANY)
    return found


def check_text(text: str) -> None:
    """Refuse a text that lark would take long to read.

    Raises:
        LimitError: It has too many tokens, or blanks in a row, or terminals made of terminals again and again.
    """
    work = _Work()
    work.add(sum(len(found.group()) ** 2 for found in _BLANKS.finditer(text)) // _SQUARE, "blank lines in a row")
    if len(text) * TOKEN > MAX_STEPS:
        work.add(sum(1 for _ in _TOKENS.finditer(text)) * TOKEN, "its text has too many words and signs")
    uses = _uses(text)
    known: dict[str, int] = {}
    for name in uses:
        work.add(_expanded(name, uses, known) * PART, f"the terminal {name!r} is made of too many others")


def _uses(text: str) -> dict[str, list[str]]:
    """Return the names of terminals in the definition of each."""
    uses: dict[str, list[str]] = {}
    statements = list(_STATEMENT.finditer(text))
    ends = [each.start() for each in statements[1:]] + [len(text)]
    for each, end in zip(statements, ends, strict=False):
        if each["terminal"]:
            body = text[each.end() : end] if end - each.end() <= MAX_BODY else ""
            uses.setdefault(each["terminal"], []).extend(filter(_NAME.fullmatch, _TOKENS.findall(body)))
    return uses


def _expanded(name: str, uses: Mapping[str, list[str]], known: dict[str, int]) -> int:
    """Return how many terminals one is made of, and they of others; those that are made of themselves count once."""
    todo = [name]
    while todo:
        each = todo[-1]
        if each not in known:
            known[each] = 0  # until it is known
            todo += [used for used in uses.get(each, ()) if used not in known]
        else:
            known[todo.pop()] = min(1 + sum(known.get(used, 0) for used in uses.get(each, ())), _MANY)
    return known[name]


def check_work(grammar: Any, *, lalr: bool) -> None:
    """Refuse a grammar that lark would write out too far.

    Args:
        grammar: A `Grammar` of lark, as its reader makes it.
        lalr: Whether it is for a parser with tables.

    Raises:
        LimitError: It is.
    """
    work = _Work()
    for name, (tree, _) in grammar.term_defs:
        if tree is not None:
            work.terminal(name, tree)
    rules = {name: tree for name, parameters, tree, _ in grammar.rule_defs if not parameters and tree is not None}
    templates = {name: (parameters, tree) for name, parameters, tree, _ in grammar.rule_defs if parameters}
    for name, tree in rules.items():
        work.rule(name, tree)
    for name in _instances(rules, templates):
        work.rule(name, templates[name][1])
    for last in (False, True):
        calls = {name: {each for each in _edge(tree, last=last) if each in rules} for name, tree in rules.items()}
        most = work.rounds(calls, up=not last)
        if lalr and not last:
            work.add(most * most, f"up to {most:,} rules begin where one does")


def _edge(tree: Any, *, last: bool) -> Iterator[str]:
    """Yield the rules that the texts of a tree begin with, or end with."""
    kind = getattr(tree, "data", None)
    if kind == "expansion":
        for each in reversed(tree.children) if last else tree.children:
            yield from _edge(each, last=last)
            if not _is_optional(each):
                return
    elif kind in ("expansions", "maybe"):
        for each in tree.children:
            yield from _edge(each, last=last)
    elif kind in ("expr", "alias", "value"):
        yield from _edge(tree.children[0], last=last)
    elif kind is None and not getattr(tree, "is_term", True):
        yield str(tree.name)


def _is_optional(tree: Any) -> bool:
    kind = getattr(tree, "data", None)
    return kind == "maybe" or (kind == "expr" and str(tree.children[1]) in "?*")


# --- templates -----------------------------------------------------------------------------------------------------------


def _instances(rules: Mapping[str, Any], templates: Mapping[str, tuple[tuple[str, ...], Any]]) -> list[str]:
    """Return the templates that rules are made of, once for each way to fill them."""
    todo = [(tree, dict[str, str]()) for tree in rules.values()]
    made: dict[str, str] = {}
    while todo:
        tree, arguments = todo.pop()
        for usage in tree.find_data("template_usage"):
            name = _filled(usage, arguments)
            template = arguments.get(str(usage.children[0].name), str(usage.children[0].name))
            if name in made or template not in templates:
                continue
            made[name] = template
            if len(made) > MAX_TEMPLATES or len(name) > MAX_NAME:
                raise _too_much(f"the template {template!r} is filled in again and again")
            parameters, body = templates[template]
            names = [_filled(each, arguments) for each in usage.children[1:]]
            todo.append((body, dict(zip(parameters, names, strict=False))))
    return list(made.values())


def _filled(tree: Any, arguments: Mapping[str, str]) -> str:
    """Return the name that a symbol, or a template with its arguments, has in the rules."""
    kind = getattr(tree, "data", None)
    if kind is None:
        name = str(getattr(tree, "name", tree))
        return arguments.get(name, name)
    parts = [_filled(each, arguments) for each in tree.children]
    if kind != "template_usage":
        return " ".join(parts)
    name = f"{parts[0]}{{{','.join(parts[1:])}}}"
    if len(name) > MAX_NAME:
        raise _too_much(f"the template {parts[0]!r} is filled with ever longer names")
    return name

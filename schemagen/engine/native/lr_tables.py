"""The tables of an LR parser, and blocks by indentation, in the numbers that the core gave to symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemagen.context_free.syntax import Rule

if TYPE_CHECKING:
    from schemagen import _core
    from schemagen.context_free.syntax import Indentation, Lexeme, LrTables, Terminal

    _Lines = tuple[tuple[int, int, int], list[tuple[int, int]], list[int], list[int]]
    _Tables = tuple[list[list[tuple[int, bool, int]]], list[tuple[int, int]], list[list[int]], int, int]

#: Of line breaks between brackets, for the core.
ANY_WIDTH = 2**32 - 1


def tables_in_numbers(tables: LrTables, rules: _core.Rules) -> _Tables:
    """Return the tables of a parser, and add its ways to read terminals to rules that are numbered."""
    actions = [
        sorted((column, *action) for symbol, action in row.items() if (column := _column(symbol, rules)) is not None)
        for row in tables.actions
    ]
    productions = [(_number(rules.number_of_rule(rule.name)), length) for rule, length in tables.productions]
    return actions, productions, _rows(tables.expected, rules), tables.start, tables.end


def _column(symbol: Terminal | Rule | None, rules: _core.Rules) -> int | None:
    """Return the column of a symbol: the end of the text stands between terminals and rules."""
    if symbol is None:
        return rules.terminal_count
    if not isinstance(symbol, Rule):
        return rules.number_of_terminal(symbol.name)
    number = rules.number_of_rule(symbol.name)
    return None if number is None else number + 1


def _rows(rows: tuple[tuple[tuple[Terminal, Lexeme], ...], ...], rules: _core.Rules) -> list[list[int]]:
    """Number the ways to read terminals; most rows, and the ways in them, are objects that were seen before."""
    ways: dict[int, int] = {}
    numbers: dict[tuple[Terminal, Lexeme], int] = {}
    known: dict[int, list[int]] = {}
    for row in rows:
        if id(row) in known:
            continue
        for way in row:
            if id(way) not in ways:
                if way not in numbers:
                    numbers[way] = rules.add_way(way[0].name, way[1])
                ways[id(way)] = numbers[way]
        known[id(row)] = [ways[id(way)] for way in row]
    return [known[id(row)] for row in rows]


def names_of_lines(lines: Indentation) -> list[str]:
    """Return the terminals that the core reads lines and blocks as, whether rules name them or not."""
    return [each.name for each in (lines.indent, lines.dedent, *lines.widths)]


def lines_in_numbers(lines: Indentation, rules: _core.Rules) -> _Lines:
    """Return how lines make blocks."""
    named = [[rules.number_of_terminal(each.name) for each in group] for group in (lines.opening, lines.closing)]
    opening, closing = ([number for number in group if number is not None] for group in named)
    return (
        (_of(lines.newline, rules), _of(lines.indent, rules), _of(lines.dedent, rules)),
        [(_of(each, rules), ANY_WIDTH if width is None else width) for each, width in lines.widths.items()],
        opening,
        closing,
    )


def _of(terminal: Terminal, rules: _core.Rules) -> int:
    return _number(rules.number_of_terminal(terminal.name))


def _number(number: int | None) -> int:
    assert number is not None, "the rules name it"
    return number

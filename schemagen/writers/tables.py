r"""Tables of a list of rows, each row a flat object: CSV and Markdown.

Both begin with the names of the columns, in the order of declaration; rows are lines, with no line break after the last one.
Booleans are ``true`` and ``false``, numbers those of JSON. An empty cell is null where null is a value, else a member that was
left out where it may be, else the empty string.

CSV has the dialect of Python's `csv` but for lines that end with ``\n``: cells are separated by commas; strings may be in
double quotes, and are if they hold a comma, a quote (which is doubled) or a line break. Where an empty cell is no string, the
empty string is ``""``. In Markdown a cell is one line without blanks at its ends; ``\|`` and ``\\`` are a pipe and a backslash.
Strings that are no such cell are not written.

What the texts of a column do not tell apart is refused, such as a number or a string that may look like one; so are rows with
lists or objects inside, and rows of several kinds.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Literal, NamedTuple

from schemagen.context_free.syntax import EMPTY_TEXT, NOTHING, alternatives, literal, sequence
from schemagen.regex import ast, matches
from schemagen.regex.spellings import SURROGATES, contains, spelled
from schemagen.writers.walk import RuleWriter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schemagen.context_free.syntax import Expression
    from schemagen.schema.ir import ArrayDisjunct, Expression as Values, ValueSet
    from schemagen.writers.walk import Member

#: What an empty cell is.
Empty = Literal["null", "left out", "string", "impossible"]

_CSV_TEXT = ast.invert_ranges(ast.normalise_ranges([(0, 0), *SURROGATES]))
#: What cannot stand in a cell without quotes, or not as itself.
_CSV_SPECIAL = '",\n\r'
_CELL = re.compile(r'"((?:[^"]|"")*)"|([^",\r\n]*)')
#: No control characters, and no line breaks of any kind.
_LINE_TEXT = ast.invert_ranges(ast.normalise_ranges([(0, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029), *SURROGATES]))
_BLANKS = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_PIPE_CELL = re.compile(r"(?:[^|\\]|\\.)*")


class Column(NamedTuple):
    """A member of the rows.

    Attributes:
        key: Its key, and the name of the column.
        value: Its values.
        empty: What an empty cell is.
    """

    key: str
    value: ValueSet
    empty: Empty


class TableWriter(RuleWriter):
    """Writes lists of rows; how a cell and a line look is the business of a subclass."""

    def root(self) -> Expression:
        """Return the whole table."""
        array, columns = self._rows()
        row = self.part(self.line([self.cells(column, is_alone=len(columns) == 1) for column in columns]))
        head = sequence(*map(literal, self.head([column.key for column in columns])))
        if array.max_items == 0:
            return head
        rows = sequence(literal("\n"), self.items(array, literal("\n"), write=lambda _: row))
        return sequence(head, alternatives(EMPTY_TEXT if array.min_items == 0 else NOTHING, rows))

    def value(self, values: Values) -> Expression:
        """Return nothing: a table has no values but cells."""
        raise NotImplementedError

    @property
    def columns(self) -> list[Column]:
        """The columns, in order."""
        return self._rows()[1]

    def _rows(self) -> tuple[ArrayDisjunct, list[Column]]:
        """Return the list and the columns."""
        fix = "give list[Row], where Row is a class or a TypedDict of scalars"
        value = self.value_set(self.normaliser.root)
        others = (value.null, value.true, value.false, value.numbers, value.strings, value.objects)
        if len(value.arrays) != 1 or any(others) or value.arrays[0].prefix:
            raise self.refuse("a type that is not a list of rows", "a table is a list of objects of one kind", fix)
        array = value.arrays[0]
        self.check_array(array)
        with self.inside("items"):
            row = self.value_set(array.items)
            beside = (row.null, row.true, row.false, row.numbers, row.strings, row.arrays)
            if len(row.objects) != 1 or any(beside):
                raise self.refuse("a row that is no object of one kind", "all rows have the same columns", fix)
            columns_of = self.closed(row.objects[0], "the columns are the same for all rows")
            members = self.declared(columns_of) or []
            if not members:
                raise self.refuse("a row without members", "a table has columns", fix)
            columns = [self._column(member) for member in members]
        self.check_columns(columns)
        return array, columns

    def _column(self, member: Member) -> Column:
        with self.inside("properties", member.key):
            value = self.value_set(member.values)
            if value.arrays or value.objects:
                fix = "use members of scalars only, or another format"
                raise self.refuse("a list or an object in a cell", "a cell is one scalar", fix)
            self.check_texts(value)
            if value.null:
                return Column(member.key, value, "null")
            if not member.needed:
                return Column(member.key, value, "left out")
            return Column(member.key, value, "string" if value.strings else "impossible")

    def check_columns(self, columns: list[Column]) -> None:
        """Refuse columns that the format cannot have."""

    @abstractmethod
    def head(self, names: list[str]) -> list[str]:
        """Return the texts before the first row, without the line break."""

    @abstractmethod
    def line(self, cells: list[Expression]) -> Expression:
        """Return the line of a row."""

    @abstractmethod
    def cell_text(self, strings: ast.Regex, *, may_be_empty: bool) -> ast.Regex:
        """Return strings as cells.

        Args:
            strings: The strings.
            may_be_empty: Whether the empty string may be an empty cell.
        """

    def cells(self, column: Column, *, is_alone: bool) -> Expression:
        """Return the cells of a column; where it is the only one, none of them is empty."""
        value = column.value
        empty = [ast.EPSILON] if column.empty in ("null", "left out") else []
        strings = self.cell_text(self.strings(value), may_be_empty=column.empty == "string" and not is_alone)
        return self.text(ast.union(self.number_texts(value), strings, self.words(value), *empty))

    # --- reading -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def lines_of(self, text: str) -> Iterator[list[tuple[str, bool]]]:
        """Yield the cells of each line, the names of the columns first: the text, and whether it was in quotes.

        Raises:
            ValueError: It is no table.
        """

    def read(self, text: str) -> str:
        """Return a table as JSON.

        Args:
            text: One of those that are written.

        Raises:
            ValueError: It is no table, or not of the type.
        """
        columns = self.columns
        lines = self.lines_of(text)
        names = [name for name, _ in next(lines, [])]
        if names != [column.key for column in columns]:
            raise ValueError(f"the columns are {', '.join(names) or 'none':.80}")
        return f"[{', '.join(self._row(cells, columns) for cells in lines)}]"

    def _row(self, cells: list[tuple[str, bool]], columns: list[Column]) -> str:
        if len(cells) != len(columns):
            raise ValueError(f"a row has {len(cells)} cells, and the table {len(columns)} columns")
        found = {column.key: self._cell(*cell, column) for cell, column in zip(cells, columns, strict=True)}
        members = (f"{json.dumps(key)}: {text}" for key, text in found.items() if text is not None)
        return "{" + ", ".join(members) + "}"

    def _cell(self, text: str, is_quoted: bool, column: Column) -> str | None:
        """Return a cell as JSON; None if the member is left out."""
        value = column.value
        if not text and not is_quoted and column.empty in ("null", "left out"):
            return "null" if column.empty == "null" else None
        if (text == "true" and value.true) or (text == "false" and value.false):
            return text
        if value.numbers and matches(self.number_texts(value), text):
            return text
        if not value.strings:
            raise ValueError(f"a cell of the column {column.key} is {text!r:.80}")
        return json.dumps(text, ensure_ascii=False)


class CsvWriter(TableWriter):
    """Writes lists of rows as CSV."""

    format = "CSV"

    def check_columns(self, columns: list[Column]) -> None:
        """Refuse a single column with empty cells: they would be empty lines, which readers of CSV skip."""
        if len(columns) == 1 and columns[0].empty in ("null", "left out"):
            fix = "add a column, or make the member needed and not None"
            raise self.refuse("a table of one column with empty cells", "readers skip empty lines", fix)
        for column in columns:
            if not all(contains(_CSV_TEXT, ord(c)) for c in column.key) or not column.key:
                raise self.refuse(f"the column {column.key!r:.80}", "it is no text of a cell", "give it another name")

    def head(self, names: list[str]) -> list[str]:
        """Return the line of names."""
        quoted = ('"' + name.replace('"', '""') + '"' if {*name} & {*_CSV_SPECIAL} else name for name in names)
        return [",".join(quoted)]

    def line(self, cells: list[Expression]) -> Expression:
        """Return the line of a row."""
        return sequence(cells[0], *(sequence(literal(","), cell) for cell in cells[1:]))

    def cell_text(self, strings: ast.Regex, *, may_be_empty: bool) -> ast.Regex:
        """Return strings without quotes where that is possible, and in quotes."""
        plain = ast.intersect_ranges(_CSV_TEXT, ast.invert_ranges(ast.char_set(_CSV_SPECIAL).ranges))
        unquoted = ast.conjunction(strings, ast.repeat(ast.Chars(plain), 0 if may_be_empty else 1, None))
        return ast.union(unquoted, ast.concat(ast.literal('"'), spelled(strings, _in_quotes), ast.literal('"')))

    def lines_of(self, text: str) -> Iterator[list[tuple[str, bool]]]:
        """Yield the cells of each line."""
        at, cells = 0, list[tuple[str, bool]]()
        while True:
            match = _CELL.match(text, at)
            assert match is not None, "an empty cell matches everywhere"
            is_quoted = match[1] is not None
            cells.append((match[1].replace('""', '"'), True) if is_quoted else (match[2], False))
            at = match.end()
            if at == len(text):
                yield cells
                return
            if text[at] == "\n":
                yield cells
                cells = []
            elif text[at] != ",":
                raise ValueError(f"{text[at]!r} after a cell")
            at += 1


def _in_quotes(ranges: ast.Ranges) -> ast.Regex:
    raw = ast.intersect_ranges(ranges, _CSV_TEXT)
    quote = ast.literal('""') if contains(raw, ord('"')) else ast.EMPTY
    return ast.union(ast.Chars(ast.intersect_ranges(raw, ast.invert_ranges(((0x22, 0x22),)))), quote)


class MarkdownWriter(TableWriter):
    """Writes lists of rows as tables of Markdown."""

    format = "Markdown"

    def check_columns(self, columns: list[Column]) -> None:
        """Refuse names that are no cells."""
        for column in columns:
            if not matches(self._strings_of_cells(), column.key):
                why = "the name of a column is one line without blanks at its ends"
                raise self.refuse(f"the column {column.key!r:.80}", why, "give it another name")

    def head(self, names: list[str]) -> list[str]:
        """Return the line of names, and the line below it."""
        escaped = (name.replace("\\", "\\\\").replace("|", "\\|") for name in names)
        return [f"| {' | '.join(escaped)} |\n", f"|{' --- |' * len(names)}"]

    def line(self, cells: list[Expression]) -> Expression:
        """Return the line of a row."""
        return sequence(literal("|"), *(sequence(literal(" "), cell, literal(" |")) for cell in cells))

    def cell_text(self, strings: ast.Regex, *, may_be_empty: bool) -> ast.Regex:
        """Return strings as cells."""
        cells = ast.union(self._strings_of_cells(), ast.EPSILON) if may_be_empty else self._strings_of_cells()
        return spelled(ast.conjunction(strings, cells), _escaped)

    def _strings_of_cells(self) -> ast.Regex:
        """Return the strings of one line, not empty, without blanks at their ends."""
        ends = ast.Chars(ast.intersect_ranges(_LINE_TEXT, ast.invert_ranges(ast.char_set(_BLANKS).ranges)))
        inner = ast.star(ast.Chars(_LINE_TEXT))
        return ast.concat(ends, ast.optional(ast.concat(inner, ends)))

    def lines_of(self, text: str) -> Iterator[list[tuple[str, bool]]]:
        """Yield the cells of each line but the one below the names."""
        lines = text.split("\n")
        if len(lines) == 1:
            raise ValueError("there is no line below the names")
        for number, line in enumerate(lines):
            if not line.startswith("|"):
                raise ValueError(f"line {number + 1} does not begin with a pipe")
            at, cells = 1, list[tuple[str, bool]]()
            while at < len(line):
                match = _PIPE_CELL.match(line, at)
                assert match is not None, "an empty cell matches everywhere"
                at = match.end() + 1
                if line[match.end() : at] != "|":
                    raise ValueError(f"line {number + 1} does not end with a pipe")
                cells.append((re.sub(r"\\(.)", r"\1", match[0].strip()), False))
            if number == 1:
                if any(cell != "---" for cell, _ in cells):
                    raise ValueError("the second line does not divide the names from the rows")
                continue
            yield cells


def _escaped(ranges: ast.Ranges) -> ast.Regex:
    escapes = [ast.literal(f"\\{sign}") for sign in "|\\" if contains(ranges, ord(sign))]
    plain = ast.intersect_ranges(_LINE_TEXT, ast.invert_ranges(ast.char_set("|\\").ranges))
    return ast.union(ast.Chars(ast.intersect_ranges(ranges, plain)), *escapes)

"""The tables of a database as values: names as they are written, kinds of columns, and references between tables.

SQLite is asked with its pragmas, every other database through SQLAlchemy, if it is installed. A script of ``CREATE`` statements
is run in an empty SQLite database in memory.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from schemagen.checks import kind_of
from schemagen.errors import OptionError, OptionTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    #: Which tables may be used, and which of their columns: all of them if no mapping names any.
    Allowed: TypeAlias = Collection[str] | Mapping[str, Collection[str] | None]

Kind = Literal["number", "text", "any"]
_SOURCES = "a sqlite3.Connection, the path of a SQLite file, a script of CREATE TABLE, or an engine of SQLAlchemy"


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        name: Its name.
        written: Its name as it is written in statements: in quotes where it must be.
        kind: The values that it is compared with: numbers, texts, or both.
        declared: Its type as the database has it, for prompts.
        may_be_null: Whether it takes NULL.
        is_given: Whether the database fills it in, so that an INSERT may leave it out.
    """

    name: str
    written: str
    kind: Kind
    declared: str = ""
    may_be_null: bool = True
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference of a column to one of another table.

    Attributes:
        column: The column, as it is written.
        table: The other table, by its name.
        target: The column there, as it is written.
    """

    column: str
    table: str
    target: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table or view.

    Attributes:
        name: Its name.
        written: Its name as it is written.
        columns: The columns that may be used.
        references: The references to other tables, both columns of which may be used.
        hides_columns: Whether it has columns that may not be used.
        needs_hidden: Whether a row cannot be inserted without one of these.
        is_view: Whether it is a view, whose rows cannot be changed.
    """

    name: str
    written: str
    columns: tuple[Column, ...]
    references: tuple[Reference, ...] = ()
    hides_columns: bool = False
    needs_hidden: bool = False
    is_view: bool = False


def tables_of(source: Any) -> tuple[Table, ...]:
    """Return the tables and views of a database.

    Args:
        source: A connection or the path of a file of SQLite, a script of ``CREATE`` statements, or an engine, a connection or
            the metadata of SQLAlchemy.

    Raises:
        OptionTypeError: It is something else.
        OptionError: There is no such file, the script does not run, or there is no table.
    """
    found = tuple(_reflected(source))
    if not found:
        raise OptionError("the database has no tables", why="a statement names at least one", fix="create them first")
    return found


def allowed(tables: tuple[Table, ...], allow: Allowed | None) -> tuple[Table, ...]:
    """Return the tables that may be used, with the columns that may be used.

    Raises:
        OptionError: There is no such table or column, or nothing is allowed.
    """
    if allow is None:
        return tables
    if isinstance(allow, str):
        raise OptionTypeError(f"allow={allow!r}", why="it would be a name per letter", fix=f"give {{{allow!r}}}")
    wanted = dict(allow) if isinstance(allow, Mapping) else dict.fromkeys(allow)
    by_name = {table.name: table for table in tables}
    for name in wanted:
        _check_name("table", name, by_name)
    kept = {name: _with_columns(by_name[name], columns) for name, columns in wanted.items()}
    if not kept:
        raise OptionError(f"allow={allow!r}", why="no statement could name a table", fix="name one, or leave it out")
    return tuple(_with_references(kept[table.name], kept) for table in tables if table.name in kept)


def _with_columns(table: Table, names: Collection[str] | None) -> Table:
    if names is None:
        return table
    by_name = {column.name: column for column in table.columns}
    for name in names:
        _check_name(f"column of {table.name}", name, by_name)
    kept = tuple(column for column in table.columns if column.name in set(names))
    if not kept:
        raise OptionError(f"no column of {table.name} is allowed", fix="leave the table out, or name a column")
    hidden = [column for column in table.columns if column not in kept]
    needs = any(not column.may_be_null and not column.is_given for column in hidden)
    return replace(table, columns=kept, hides_columns=bool(hidden), needs_hidden=needs)


def _with_references(table: Table, kept: Mapping[str, Table]) -> Table:
    """Return a table with the references whose columns are kept on both sides."""
    own = {column.written for column in table.columns}
    there = {name: {column.written for column in other.columns} for name, other in kept.items()}
    left = tuple(each for each in table.references if each.column in own and each.target in there.get(each.table, ()))
    return replace(table, references=left)


def _check_name(what: str, name: Any, known: Collection[str]) -> None:
    if name not in known:
        raise OptionError(
            f"there is no {what} called {name!r:.80}",
            why=f"there are {', '.join(map(repr, sorted(known)[:12]))}",
            fix="correct the name; case counts",
        )


def _reflected(source: Any) -> Iterator[Table]:
    if isinstance(source, sqlite3.Connection):
        return _of_sqlite(source)
    if isinstance(source, (str, Path)):
        with closing(_opened(source)) as connection:
            return iter([*_of_sqlite(connection)])
    if type(source).__module__.partition(".")[0] == "sqlalchemy":
        return _of_sqlalchemy(source)
    raise OptionTypeError(f"the database is {kind_of(source)}", fix=f"give {_SOURCES}")


def _opened(source: str | Path) -> sqlite3.Connection:
    """Open a file for reading, or run a script in memory."""
    if isinstance(source, str) and re.search(r"\bcreate\s", source, re.IGNORECASE):
        connection = sqlite3.connect(":memory:")
        try:
            connection.executescript(source)
        except sqlite3.Error as error:
            connection.close()
            raise OptionError(f"the script does not run: {error}", fix="give statements of SQLite") from error
        return connection
    path = Path(source)
    if not path.is_file():
        raise OptionError(f"there is no file {str(source)!r:.200}", fix=f"give {_SOURCES}")
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


# --- SQLite --------------------------------------------------------------------------------------------------------------


def _of_sqlite(connection: sqlite3.Connection) -> Iterator[Table]:
    listed = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    with closing(sqlite3.connect(":memory:")) as scratch:

        def written(name: str) -> str:
            return name if _is_plain(scratch, name) else quoted(name)

        for name, what in connection.execute(f"{listed} ORDER BY rowid").fetchall():
            rows = connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()
            keys = [row for row in rows if row[5]]
            columns = tuple(
                Column(
                    each,
                    written(each),
                    _kind(kind),
                    kind,
                    may_be_null=not not_null and not key,
                    is_given=default is not None or (bool(key) and _is_numbered(keys)),
                )
                for _, each, kind, not_null, default, key, hidden in rows
                if not hidden
            )
            links = connection.execute("SELECT * FROM pragma_foreign_key_list(?)", (name,)).fetchall()
            sole = [link for link in links if sum(other[0] == link[0] for other in links) == 1 and link[4]]
            references = tuple(Reference(written(link[3]), link[2], written(link[4])) for link in sole)
            yield Table(name, written(name), columns, references, is_view=what == "view")


def _is_numbered(keys: list[Any]) -> bool:
    """Whether a primary key is one INTEGER, which SQLite numbers."""
    return len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER"


def _is_plain(scratch: sqlite3.Connection, name: str) -> bool:
    """Whether SQLite reads a name without quotes as that name, and not as a keyword."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        return False
    try:
        # The name is letters, digits and underscores.
        found = scratch.execute(f"SELECT {name} FROM (SELECT 'found' AS {quoted(name)}) AS {name}").fetchone()  # noqa: S608
    except sqlite3.Error:
        return False
    return bool(found == ("found",))


def quoted(name: str) -> str:
    """Return a name in quotation marks."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _kind(declared: str) -> Kind:
    """Return the kind of a declared type, by SQLite's rules of affinity; dates and times are texts."""
    upper = declared.upper()
    if any(part in upper for part in ("INT", "REAL", "FLOA", "DOUB", "NUM", "DEC", "BOOL")):
        return "number"
    return "text" if any(part in upper for part in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")) else "any"


# --- SQLAlchemy ----------------------------------------------------------------------------------------------------------


def _declared(column: Any, dialect: Any) -> str:
    """Return the type of a column as SQL; "" for one that has none, as in a view."""
    from sqlalchemy.types import NullType

    return "" if isinstance(column.type, NullType) else str(column.type.compile(dialect))


def _of_sqlalchemy(source: Any) -> Iterator[Table]:
    import sqlalchemy

    metadata, views = source, set[str]()
    if not isinstance(source, sqlalchemy.MetaData):
        metadata = sqlalchemy.MetaData()
        metadata.reflect(source, views=True)
        views = set(sqlalchemy.inspect(source).get_view_names())
    dialect = getattr(source, "dialect", None) or sqlalchemy.create_engine("sqlite://").dialect
    write: Callable[[str], str] = dialect.identifier_preparer.quote
    for table in metadata.tables.values():
        columns = tuple(
            Column(
                each.name,
                write(each.name),
                _kind(declared := _declared(each, dialect)),
                declared,
                bool(each.nullable),
                each.server_default is not None or each is table.autoincrement_column,
            )
            for each in table.columns
        )
        references = tuple(
            Reference(write(key.parent.name), key.column.table.name, write(key.column.name))
            for key in table.foreign_keys
        )
        yield Table(table.name, write(table.name), columns, references, is_view=table.name in views)

"""The tables of a database as values: names as they are written, kinds of columns, and references between tables.

SQLite is asked with its pragmas, every other database through SQLAlchemy, if it is installed. A script of ``CREATE`` statements
is run in an empty SQLite database in memory, and so are the columns of a dict.

Invariants: a reference names two columns that exist. A view or table that SQLite cannot read is left out.
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
_SOURCES = "a sqlite3.Connection, the path of a file, a script of CREATE TABLE, a dict, or an engine of SQLAlchemy"
#: A type in a dict: a name, perhaps with sizes, constraints and a reference.
_TYPE = re.compile(r"[\w (),]*")


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
        is_computed: Whether the database computes it, so that it is only read.
    """

    name: str
    written: str
    kind: Kind
    declared: str = ""
    may_be_null: bool = True
    is_given: bool = False
    is_computed: bool = False


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
        source: A connection or the path of a file of SQLite, a script of ``CREATE`` statements, a dict of tables to dicts of
            columns to types, or an engine, a connection or the metadata of SQLAlchemy.

    Raises:
        OptionTypeError: It is something else.
        OptionError: There is no such file or it is none of SQLite, the script does not run, or there is no table.
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
    if isinstance(source, Mapping):
        return _reflected(_script(source)) if source else iter(())
    if isinstance(source, (str, Path)):
        with closing(_opened(source)) as connection:
            try:
                return iter([*_of_sqlite(connection)])
            except sqlite3.DatabaseError as error:
                raise OptionError(f"the database cannot be read: {error}", fix=f"give {_SOURCES}") from error
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


def _script(source: Mapping[str, Any]) -> str:
    """Return the ``CREATE`` statements of a dict."""
    statements = []
    for name, columns in source.items():
        texts = [name, *columns, *columns.values()] if isinstance(columns, Mapping) else [None]
        if not all(isinstance(each, str) for each in texts) or not all(map(_TYPE.fullmatch, columns.values())):
            found = f"the columns of {name!r:.80} are {columns!r:.80}"
            raise OptionTypeError(found, fix='give a dict of names to types, such as {"id": "INTEGER"}')
        body = ", ".join(f"{quoted(column)} {declared}" for column, declared in columns.items())
        statements.append(f"CREATE TABLE {quoted(name)} ({body});")
    return "\n".join(statements)


# --- SQLite --------------------------------------------------------------------------------------------------------------


def _rows(connection: sqlite3.Connection, query: str, *arguments: str) -> list[Any]:
    """Return rows as tuples, whatever the connection makes of them."""
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(query, arguments).fetchall()


def _shadows(connection: sqlite3.Connection) -> set[str]:
    """Return the tables in which virtual tables keep their data; SQLite before 3.37 does not tell."""
    try:
        return {name for (name,) in _rows(connection, "SELECT name FROM pragma_table_list WHERE type = 'shadow'")}
    except sqlite3.OperationalError:
        return set()


def _of_sqlite(connection: sqlite3.Connection) -> Iterator[Table]:
    listed = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    found: dict[str, Table] = {}
    keys: dict[str, list[str]] = {}
    shadows = _shadows(connection)
    with closing(sqlite3.connect(":memory:")) as scratch:
        for name, what in _rows(connection, f"{listed} ORDER BY rowid"):
            if name in shadows:
                continue
            try:
                rows = _rows(connection, "SELECT * FROM pragma_table_xinfo(?)", name)
            except sqlite3.OperationalError:
                continue  # no statement could read it either
            keys[name] = [row[1] for row in rows if row[5]]
            columns = tuple(_columns(rows, lambda each: _written(scratch, each), _is_numbered(connection, name, rows)))
            found[name] = Table(name, _written(scratch, name), columns, is_view=what == "view")
    for table in found.values():
        yield replace(table, references=tuple(_references(connection, table, found, keys)))


def _columns(rows: list[Any], written: Callable[[str], str], is_numbered: bool) -> Iterator[Column]:
    """Yield the columns in the rows of the pragma; without those of a virtual table that no ``*`` shows."""
    for _, name, declared, not_null, default, key, hidden in rows:
        if hidden != 1:
            yield Column(
                name,
                written(name),
                _kind(declared),
                declared,
                may_be_null=not not_null and not key,
                is_given=default is not None or bool(hidden) or (bool(key) and is_numbered),
                is_computed=bool(hidden),
            )


def _is_numbered(connection: sqlite3.Connection, name: str, rows: list[Any]) -> bool:
    """Whether SQLite numbers the primary key: one INTEGER, which has no index of its own."""
    types = [str(row[2]).upper() for row in rows if row[5]]
    indices = _rows(connection, "SELECT origin FROM pragma_index_list(?)", name)
    return types == ["INTEGER"] and ("pk",) not in indices


def _references(
    connection: sqlite3.Connection, table: Table, found: Mapping[str, Table], keys: Mapping[str, list[str]]
) -> Iterator[Reference]:
    """Yield the references of one column to one that exists; a reference that names none is to the primary key."""
    links = _rows(connection, "SELECT * FROM pragma_foreign_key_list(?)", table.name)
    for number, _, there, column, target, *_ in links:
        other = next((each for name, each in found.items() if _are_same(name, there)), None)
        if other is None or sum(link[0] == number for link in links) > 1:
            continue
        targets = [target] if target is not None else keys[other.name]
        own = [each.written for each in table.columns if _are_same(each.name, column)]
        theirs = [each.written for each in other.columns if len(targets) == 1 and _are_same(each.name, targets[0])]
        if own and theirs:
            yield Reference(own[0], other.name, theirs[0])


def _are_same(one: str, two: str) -> bool:
    """Whether SQLite takes two names for one: it ignores the case of ASCII letters."""
    return one.encode().lower() == two.encode().lower()


def _written(scratch: sqlite3.Connection, name: str) -> str:
    return name if _is_plain(scratch, name) else quoted(name)


def _is_plain(scratch: sqlite3.Connection, name: str) -> bool:
    """Whether SQLite reads a name without quotes as that name, and not as a keyword."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
        return False
    try:
        # The name is letters, digits and underscores; after a bracket, some words begin something else.
        probe = f"SELECT {name} FROM (SELECT 'found' AS {quoted(name)}) AS {name} WHERE ({name} > '')"  # noqa: S608
        found = scratch.execute(probe).fetchone()
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
    with closing(sqlite3.connect(":memory:")) as scratch:

        def write(name: str) -> str:
            found = str(dialect.identifier_preparer.quote(name))
            return _written(scratch, name) if dialect.name == "sqlite" and found == name else found

        def full(table: Any) -> str:
            return ".".join(write(each) for each in (table.schema, table.name) if each)

        for table in metadata.tables.values():
            columns = tuple(_sqlalchemy_column(table, each, dialect, write) for each in table.columns)
            references = tuple(
                Reference(write(key.parent.name), target.table.fullname, write(target.name))
                for key in table.foreign_keys
                if key.constraint is not None
                and len(key.constraint.elements) == 1
                and (target := _target(key)) is not None
            )
            is_view = table.schema is None and table.name in views
            yield Table(table.fullname, full(table), columns, references, is_view=is_view)


def _sqlalchemy_column(table: Any, column: Any, dialect: Any, write: Callable[[str], str]) -> Column:
    declared = _declared(column, dialect)
    is_computed = column.computed is not None or bool(column.identity and column.identity.always)
    return Column(
        column.name,
        write(column.name),
        _kind(declared),
        declared,
        may_be_null=bool(column.nullable),
        is_given=is_computed or column.server_default is not None or column is table.autoincrement_column,
        is_computed=is_computed,
    )


def _target(key: Any) -> Any:
    """Return the column to which a foreign key refers; None if the metadata has none such."""
    from sqlalchemy.exc import NoReferenceError

    try:
        return key.column
    except NoReferenceError:
        return None

"""`sql`: statements over the tables of a database, so that no other table or column can be written.

The columns of a SELECT stand before the tables that they belong to, and a grammar cannot look ahead. So there is a rule for
each *scope*: a table, or a few that are joined along their references. A scope has its own columns. A text is read in all
scopes that fit, until FROM says which one it is. Scopes share the rules of columns and values.

Every statement runs: columns are compared with values of their kind, aggregates stand only where they may, and orders name
columns in scope. Conditions nest a few levels deep, and each level has rules of its own. Not to be written: aliases, set
operations, window functions, common table expressions, joins of a table with itself, and functions but COUNT, SUM, AVG, MIN,
MAX and LENGTH. UPDATE and DELETE need a condition.

Invariants: a name in a text is that of an allowed table or column, as it is written; ``*`` stands only for tables that hide no
column; a value is a literal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from schemagen.checks import check_count
from schemagen.context_free.syntax import (
    NOTHING,
    ContextFreeGrammar,
    Expression,
    Rule,
    Text,
    alternatives,
    literal,
    repeat,
    separated,
    sequence,
)
from schemagen.databases.tables import Kind, Table, allowed, quoted, tables_of
from schemagen.errors import LimitError, OptionError
from schemagen.grammar.context_free_specs import ContextFree
from schemagen.regex import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from schemagen.databases.tables import Allowed, Column

Verb = Literal["select", "insert", "update", "delete"]
_SELECT: frozenset[Verb] = frozenset({"select"})
_KINDS: tuple[Kind, ...] = ("number", "text", "any")
#: Scopes, columns in a list, conditions in a row, and characters of a text.
_MOST_SCOPES, _MOST_ITEMS, _MOST_TERMS, _MOST_LETTERS = 500, 12, 6, 120
#: Brackets and inner queries in each other: SQLite's parser has a stack for some 15 queries.
_MOST_NESTED = 3
_DIGITS = ast.repeat(ast.chars((ord("0"), ord("9"))), 1, 15)
_NUMBER = ast.concat(ast.optional(ast.literal("-")), _DIGITS, ast.optional(ast.concat(ast.literal("."), _DIGITS)))
#: A character of a text: no control character, and no backslash, which MySQL reads as an escape; a quotation mark twice.
_LETTER = ast.union(
    ast.chars((0x20, 0x26), (0x28, 0x5B), (0x5D, 0x7E), (0xA0, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFD)),
    ast.literal("''"),
)
_TEXT = ast.concat(ast.literal("'"), ast.repeat(_LETTER, 0, _MOST_LETTERS), ast.literal("'"))
_COUNT = ast.union(ast.literal("0"), ast.concat(ast.chars((0x31, 0x39)), ast.repeat(ast.chars((0x30, 0x39)), 0, 5)))
_COMMA = literal(", ")


@dataclass(frozen=True)
class Sql(ContextFree[str]):
    """Statements over tables; `sql` makes it of a database.

    Attributes:
        tables: The tables, with the columns that may be used.
        verbs: The kinds of statements.
        joins: How many joins a SELECT may have.
    """

    tables: tuple[Table, ...]
    verbs: frozenset[Verb]
    joins: int

    instruction = "Answer with one SQL statement only, over these tables:"

    def rules(self) -> ContextFreeGrammar:
        """Return the rules of the statements; see `ContextFree.rules`."""
        return _Rules(self).grammar()

    def value_of(self, text: str) -> str:
        """Return the statement."""
        return text

    def shown(self) -> str:
        """Return the tables, with the types of their columns and their references."""
        lines = []
        names = {table.name: table.written for table in self.tables}
        for table in self.tables:
            columns = ", ".join(f"{each.written} {each.declared}".strip() for each in table.columns)
            lines.append(f"{table.written}({columns})")
            lines += [f"{table.written}.{each.column} = {names[each.table]}.{each.target}" for each in table.references]
        return "\n".join(lines)


def sql(database: Any, *, verbs: Collection[Verb] = _SELECT, allow: Allowed | None = None, joins: int = 2) -> Sql:
    """Return the spec of SQL statements over the tables of a database: ``lm(question, schemagen.sql(database))``.

    No other table, column or function can be written, and every statement runs. The prompt shows the tables.

    Args:
        database: A connection of sqlite3, the path of a SQLite file, a script of ``CREATE TABLE``, a dict such as
            ``{"orders": {"id": "INTEGER"}}``, or an engine, a connection or the metadata of SQLAlchemy.
        verbs: The kinds of statements: "select", "insert", "update", "delete".
        allow: The tables that may be used; a dict also names their columns, None for all: ``{"orders": ["id", "total"]}``.
        joins: How many joins a SELECT may have, along the references (foreign keys) between tables.

    Raises:
        OptionTypeError: The database is something else.
        OptionError: There is no such file, table, column or verb.
        LimitError: There are too many ways to join the tables.

    Cost: the database is read once, and not kept. Compiling takes time in proportion to tables and ways to join them.
    """
    check_count("joins", joins, least=0, most=4)
    chosen: frozenset[Verb] = frozenset([verbs] if isinstance(verbs, str) else verbs)  # type: ignore[list-item]
    if not chosen or not chosen <= {*get_args(Verb)}:
        raise OptionError(f"verbs={verbs!r:.80}", fix=f"give some of {', '.join(map(repr, get_args(Verb)))}")
    return Sql(allowed(tables_of(database), allow), chosen, joins)


class _Rules:
    """Makes the rules of one spec."""

    def __init__(self, spec: Sql) -> None:
        self._spec = spec
        self._rules: dict[str, Expression] = {"number": Text(_NUMBER), "text": Text(_TEXT)}
        self._rules["any"] = alternatives(Rule("number"), Rule("text"))

    def grammar(self) -> ContextFreeGrammar:
        """Return the grammar."""
        makers = {"select": self._selects, "insert": self._inserts, "update": self._updates, "delete": self._deletes}
        ways = [way for verb in get_args(Verb) if verb in self._spec.verbs for way in makers[verb]()]
        if not ways:
            raise OptionError(
                f"no statement of {', '.join(sorted(self._spec.verbs))} can be written",
                why="views take none of them, and neither does a table that needs a column that is not allowed",
                fix="allow more columns, or other verbs",
            )
        self._rules["statement"] = sequence(alternatives(*ways), repeat(literal(";"), 0, 1))
        return ContextFreeGrammar("statement", self._rules)

    def _rule(self, name: str, body: Expression) -> Expression:
        """Add a rule, and return a call of it; nothing if it derives nothing."""
        if body == NOTHING:
            return NOTHING
        self._rules[name] = body
        return Rule(name)

    def _once(self, name: str, make: Callable[[], Expression]) -> Expression:
        """Return a call of a rule that several others have; it is made at the first."""
        return Rule(name) if name in self._rules else self._rule(name, make())

    # --- columns and values ----------------------------------------------------------------------------------------------

    def _columns(self, scope: tuple[Table, ...], kind: Kind | None = None) -> Expression:
        """Return the columns of a scope of a kind, as they are written there; of any kind if none is given."""
        if kind is None:
            return alternatives(*(self._columns(scope, each) for each in _KINDS))
        return alternatives(*(self._own(table, kind, qualified=len(scope) > 1) for table in scope))

    def _own(self, table: Table, kind: Kind, *, qualified: bool) -> Expression:
        """Return the columns of a table of a kind; with the name of the table, which may be left out if there is no other."""
        names = [literal(each.written) for each in table.columns if each.kind == kind]
        if not names:
            return NOTHING
        name = f"{kind} of {quoted(table.name)}"
        full = self._once(f"full {name}", lambda: sequence(literal(f"{table.written}."), alternatives(*names)))
        return full if qualified else self._once(f"short {name}", lambda: alternatives(*names, full))

    def _aggregates(self, scope: tuple[Table, ...], kind: Kind | None = None) -> Expression:
        """Return the aggregates of the rows of a scope, of a kind."""
        numbers, whole = self._columns(scope, "number"), self._columns(scope)
        counted = alternatives(literal("*"), sequence(repeat(literal("DISTINCT "), 0, 1), whole))
        found = [_call("COUNT", counted)]
        found += [_call(name, numbers) for name in ("SUM", "AVG", "MIN", "MAX")] if numbers != NOTHING else []
        if kind is None:
            others = alternatives(self._columns(scope, "text"), self._columns(scope, "any"))
            found += [_call(name, others) for name in ("MIN", "MAX")] if others != NOTHING else []
        return alternatives(*found)

    # --- SELECT ----------------------------------------------------------------------------------------------------------

    def _selects(self) -> Iterator[Expression]:
        for scope in self._scopes():
            yield self._rule(f"select from {_name(scope)}", self._select(scope))

    def _scopes(self) -> Iterator[tuple[Table, ...]]:
        """Yield the tables, and the connected sets of tables."""
        known: dict[frozenset[str], tuple[Table, ...]] = {
            frozenset([table.name]): (table,) for table in self._spec.tables
        }
        latest = [*known.values()]
        for _ in range(self._spec.joins):
            larger: dict[frozenset[str], tuple[Table, ...]] = {}
            for scope in latest:
                names = frozenset(table.name for table in scope)
                for table in self._spec.tables:
                    if table not in scope and any(link for other in scope for link in _links(table, other)):
                        larger.setdefault(names | {table.name}, (*scope, table))
            latest = [scope for names, scope in larger.items() if names not in known]
            known.update(larger)
            if len(known) > _MOST_SCOPES:
                raise LimitError(
                    f"more than {_MOST_SCOPES} ways to join the tables",
                    why="each has rules of its own",
                    fix="allow fewer tables, or lower joins=",
                )
        yield from known.values()

    def _select(self, scope: tuple[Table, ...]) -> Expression:
        columns, condition = self._columns(scope), self._condition(scope)
        item = self._rule(f"item of {_name(scope)}", alternatives(columns, self._aggregates(scope)))
        items = separated(item, _COMMA, 1, _MOST_ITEMS)
        results = items if any(table.hides_columns for table in scope) else alternatives(literal("*"), items)
        direction = repeat(alternatives(literal(" ASC"), literal(" DESC")), 0, 1)
        order = sequence(literal(" ORDER BY "), separated(sequence(columns, direction), _COMMA, 1, 3))
        having = sequence(literal(" HAVING "), self._aggregates(scope, "number"), _compared(Rule("number")))
        best = sequence(literal(" ORDER BY "), separated(sequence(item, direction), _COMMA, 1, 3))
        groups = sequence(
            literal(" GROUP BY "), separated(columns, _COMMA, 1, 3), repeat(having, 0, 1), repeat(best, 0, 1)
        )
        limit = sequence(literal(" LIMIT "), Text(_COUNT), repeat(sequence(literal(" OFFSET "), Text(_COUNT)), 0, 1))
        return sequence(
            literal("SELECT "),
            repeat(literal("DISTINCT "), 0, 1),
            results,
            literal(" FROM "),
            alternatives(*self._sources(scope)),
            repeat(sequence(literal(" WHERE "), condition), 0, 1),
            repeat(alternatives(groups, order), 0, 1),
            repeat(limit, 0, 1),
        )

    def _sources(self, scope: tuple[Table, ...]) -> Iterator[Expression]:
        """Yield the texts after FROM: the tables in any order in which each is joined to one before it."""
        todo: list[tuple[Expression, tuple[Table, ...]]] = [(literal(table.written), (table,)) for table in scope]
        while todo:
            text, used = todo.pop()
            if len(used) == len(scope):
                yield text
            for table in scope:
                if table not in used:
                    ways = alternatives(*(self._join(table, other) for other in used))
                    todo += [(sequence(text, ways), (*used, table))] if ways != NOTHING else []

    def _join(self, table: Table, other: Table) -> Expression:
        """Return the join of a table with one before it."""

        def make() -> Expression:
            links = alternatives(*map(literal, _links(table, other)))
            how = alternatives(literal(" JOIN "), literal(" LEFT JOIN "))
            return sequence(how, literal(f"{table.written} ON "), links)

        return self._once(f"join {quoted(table.name)} with {quoted(other.name)}", make)

    # --- conditions ------------------------------------------------------------------------------------------------------

    def _condition(self, scope: tuple[Table, ...], depth: int = _MOST_NESTED) -> Expression:
        """Return conditions over the columns of a scope, with so many brackets and queries in each other."""
        name, joined = f"{depth} of {_name(scope)}", alternatives(literal(" AND "), literal(" OR "))

        def make() -> Expression:
            term = self._rule(f"term {name}", alternatives(*self._terms(scope, depth)))
            return separated(term, joined, 1, _MOST_TERMS)

        return self._once(f"condition {name}", make)

    def _terms(self, scope: tuple[Table, ...], depth: int) -> Iterator[Expression]:
        yield self._once(f"plain term of {_name(scope)}", lambda: alternatives(*self._plain_terms(scope)))
        if depth == 0:
            return
        negated = repeat(literal("NOT "), 0, 1)
        yield sequence(negated, literal("("), self._condition(scope, depth - 1), literal(")"))
        if "select" not in self._spec.verbs:
            return
        for kind in _KINDS:
            columns = self._columns(scope, kind)
            if columns != NOTHING:
                chosen = self._chosen(kind, depth - 1)
                yield sequence(columns, literal(" "), negated, literal("IN ("), chosen, literal(")"))
        numbers = self._columns(scope, "number")
        if numbers != NOTHING:
            yield sequence(numbers, _compared(sequence(literal("("), self._single(depth - 1), literal(")"))))

    def _plain_terms(self, scope: tuple[Table, ...]) -> Iterator[Expression]:
        """Yield the conditions that have no other inside."""
        negated = repeat(literal("NOT "), 0, 1)
        yield sequence(self._columns(scope), literal(" IS "), negated, literal("NULL"))
        for kind in _KINDS:
            columns, value = self._columns(scope, kind), Rule(kind)
            if columns == NOTHING:
                continue
            values = separated(value, _COMMA, 1, _MOST_ITEMS)
            yield sequence(columns, _compared(alternatives(value, columns)))
            yield sequence(columns, literal(" "), negated, literal("IN ("), values, literal(")"))
            yield sequence(columns, literal(" "), negated, literal("BETWEEN "), value, literal(" AND "), value)
            if kind != "number":
                yield sequence(columns, literal(" "), negated, literal("LIKE "), Rule("text"))
                yield sequence(_call("LENGTH", columns), _compared(Rule("number")))

    def _chosen(self, kind: Kind, depth: int) -> Expression:
        """Return the SELECT of one column of a kind from one table."""
        return self._inner(f"{depth} {kind} values", lambda table: self._columns((table,), kind), depth)

    def _single(self, depth: int) -> Expression:
        """Return the SELECT of one number of all rows of a table."""
        return self._inner(f"{depth} one number", lambda table: self._aggregates((table,), "number"), depth)

    def _inner(self, name: str, results: Callable[[Table], Expression], depth: int) -> Expression:
        """Return a SELECT inside a condition, from any one table."""

        def make() -> Expression:
            return alternatives(
                *(
                    sequence(
                        literal("SELECT "),
                        results(table),
                        literal(f" FROM {table.written}"),
                        repeat(sequence(literal(" WHERE "), self._condition((table,), depth)), 0, 1),
                    )
                    for table in self._spec.tables
                )
            )

        return self._once(name, make)

    # --- statements that change rows -------------------------------------------------------------------------------------

    def _changed(self) -> Iterator[Table]:
        return (table for table in self._spec.tables if not table.is_view)

    def _inserts(self) -> Iterator[Expression]:
        """Yield an INSERT of all columns, and one without those that the database fills in."""
        for table in self._changed():
            if table.needs_hidden:
                continue
            most = tuple(each for each in table.columns if not each.is_computed)
            least = tuple(each for each in most if not each.is_given)
            for columns in dict.fromkeys((most, least)):
                if columns:
                    names = ", ".join(each.written for each in columns)
                    values = [part for each in columns for part in (_COMMA, self._value(each))][1:]
                    head = f"INSERT INTO {table.written} ({names}) VALUES ("  # noqa: S608 - a rule of the grammar
                    yield sequence(literal(head), *values, literal(")"))

    def _value(self, column: Column) -> Expression:
        return alternatives(Rule(column.kind), literal("NULL")) if column.may_be_null else Rule(column.kind)

    def _updates(self) -> Iterator[Expression]:
        for table in self._changed():
            condition = self._condition((table,))
            head = literal(f"UPDATE {table.written} SET ")  # noqa: S608 - a rule of the grammar
            yield sequence(head, self._assignments(table), literal(" WHERE "), condition)

    def _assignments(self, table: Table) -> Expression:
        """Return assignments to some of the columns, in their order, each at most once."""
        first: Expression = NOTHING
        others = literal("")
        for place, column in reversed([*enumerate(table.columns)]):
            if column.is_computed:
                continue
            assigned = sequence(literal(f"{column.written} = "), self._value(column))
            first = alternatives(sequence(assigned, others), first)
            others = self._rule(
                f"after {place} of {quoted(table.name)}", alternatives(sequence(_COMMA, assigned, others), others)
            )
        return first

    def _deletes(self) -> Iterator[Expression]:
        for table in self._changed():
            condition = self._condition((table,))
            yield sequence(literal(f"DELETE FROM {table.written} WHERE "), condition)  # noqa: S608 - a rule


def _name(scope: tuple[Table, ...]) -> str:
    """Return the name of a scope in rules; in quotation marks, no two scopes have the same."""
    return " and ".join(quoted(table.name) for table in scope)


def _call(name: str, argument: Expression) -> Expression:
    return sequence(literal(f"{name}("), argument, literal(")"))


def _compared(value: Expression) -> Expression:
    operators = alternatives(*(literal(f" {each} ") for each in ("=", "!=", "<>", "<", "<=", ">", ">=")))
    return sequence(operators, value)


def _links(table: Table, other: Table) -> Iterator[str]:
    """Yield the conditions on which two tables are joined."""
    for one, two in ((table, other), (other, table)):
        for each in one.references:
            if each.table == two.name:
                left, right = f"{one.written}.{each.column}", f"{two.written}.{each.target}"
                yield f"{left} = {right}"
                yield f"{right} = {left}"

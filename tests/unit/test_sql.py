"""`schemagen.sql`: statements that run, over allowed tables and columns alone."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing

import pytest

import schemagen
from schemagen.databases.tables import allowed, tables_of
from schemagen.errors import LimitError, OptionError, OptionTypeError
from schemagen.testing import mask_of

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, password TEXT);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total REAL, day DATE, "order" TEXT
);
CREATE TABLE items (
    order_id INTEGER REFERENCES orders(id), product_id INTEGER REFERENCES products(id), amount INTEGER, "select" INTEGER
);
CREATE TABLE products (id INTEGER PRIMARY KEY, name VARCHAR(20), price NUMERIC, "unit price" REAL, picture BLOB);
CREATE VIEW totals AS SELECT city, SUM(total) AS spent FROM orders JOIN customers ON customer_id = customers.id GROUP BY city;
"""
HOSTILE = 'CREATE TABLE "we ird"";DROP" ("a""b" INTEGER, "c\nd" TEXT, "user" TEXT, "x\'" REAL, plain INTEGER);'
FEW = {"customers": ["id", "name"], "orders": ["id", "customer_id", "total", "order"]}
ALL_VERBS = ("select", "insert", "update", "delete")


@pytest.fixture
def shop():
    """Return a connection to the shop."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SHOP)
        yield connection


def compiled(vocabulary, database=SHOP, **options):
    """Return the grammar of statements over a database."""
    return schemagen.compile(schemagen.sql(database, **options), vocabulary)


def accepts(grammar, text):
    """Whether a grammar has a text."""
    matcher = grammar.matcher()
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


WRITTEN = [
    "SELECT name FROM customers",
    "SELECT * FROM products",
    "SELECT DISTINCT city FROM customers ORDER BY city;",
    "SELECT name, city FROM customers WHERE city = 'Paris' ORDER BY name DESC LIMIT 3",
    "SELECT COUNT(*) FROM orders WHERE total > (SELECT AVG(total) FROM orders)",
    "SELECT COUNT(DISTINCT city) FROM customers",
    "SELECT MAX(day) FROM orders WHERE day LIKE '2024-%'",
    "SELECT name FROM products WHERE price BETWEEN 2 AND 9.5 AND name NOT IN ('a', 'it''s')",
    "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE day >= '2024-01-01')",
    "SELECT customers.name FROM customers WHERE customers.city IS NOT NULL OR NOT (id < 5)",
    (
        "SELECT customers.name, SUM(orders.total) FROM customers JOIN orders ON orders.customer_id = customers.id "
        "GROUP BY customers.name HAVING SUM(orders.total) > 100 ORDER BY SUM(orders.total) DESC LIMIT 5"
    ),
    "SELECT products.name FROM orders JOIN items ON items.order_id = orders.id JOIN products ON products.id = items.product_id",
    "SELECT products.name FROM products LEFT JOIN items ON items.product_id = products.id WHERE items.order_id IS NULL",
    'SELECT "order" FROM orders WHERE "order" = \'x\'',
    'SELECT items."select" FROM items JOIN orders ON items.order_id = orders.id',
    "SELECT name FROM customers WHERE LENGTH(name) > 3",
    "SELECT spent FROM totals WHERE city = 'Rome'",
    "SELECT city, COUNT(*) FROM customers GROUP BY city ORDER BY COUNT(*) DESC",
    "SELECT name FROM products WHERE price = 3 LIMIT 10 OFFSET 20",
    "SELECT COUNT(*) FROM customers WHERE city IS NULL",
    "SELECT AVG(total), MIN(total), MAX(total) FROM orders",
    "SELECT city FROM customers WHERE name NOT LIKE '%a%' GROUP BY city HAVING COUNT(*) >= 2",
    'SELECT name, "unit price" FROM products WHERE "unit price" > price',
    "SELECT name FROM products WHERE price = (SELECT MAX(price) FROM products)",
    "SELECT name FROM products WHERE id NOT IN (SELECT product_id FROM items WHERE amount > 1)",
    "SELECT name FROM customers WHERE (city = 'Rome' OR city = 'Oslo') AND NOT (name = 'Ada')",
    "SELECT day, SUM(total) FROM orders WHERE total > 0 GROUP BY day ORDER BY day",
    (
        "SELECT customers.city, COUNT(DISTINCT orders.id) FROM orders LEFT JOIN customers ON customers.id = orders.customer_id "
        "GROUP BY customers.city ORDER BY COUNT(DISTINCT orders.id) DESC"
    ),
    "SELECT * FROM orders JOIN items ON items.order_id = orders.id WHERE items.amount BETWEEN 2 AND 5",
    "SELECT id FROM orders WHERE customer_id IN (SELECT id FROM customers WHERE city IN ('Rome', 'Oslo')) LIMIT 1",
]
REFUSED = [
    'SELECT "unit price", "order" FROM products',
    "SELECT secret FROM customers",
    "SELECT name FROM sqlite_master",
    "SELECT rowid FROM customers",
    "SELECT name FROM orders",
    "SELECT price FROM customers WHERE name = 'a'",
    "SELECT name FROM customers WHERE price > 3",
    "SELECT name FROM customers JOIN orders ON orders.customer_id = customers.id",
    "SELECT customers.name FROM customers JOIN products ON products.id = customers.id",
    "SELECT customers.name FROM customers JOIN orders ON orders.id = customers.id",
    "SELECT SUM(name) FROM customers",
    "SELECT name FROM customers WHERE SUM(id) > 3",
    "SELECT name FROM customers WHERE name > 3",
    "SELECT name FROM customers WHERE id = 'x'",
    "SELECT name FROM customers ORDER BY COUNT(*)",
    "SELECT name FROM customers HAVING id > 3",
    "SELECT name FROM customers; DROP TABLE customers",
    "SELECT name FROM customers WHERE name = 'a' --",
    "SELECT name FROM customers WHERE name = 'it's'",
    "SELECT load_extension('x') FROM customers",
    "SELECT name FROM customers UNION SELECT password FROM customers",
    "DELETE FROM customers WHERE id = 1",
    "PRAGMA table_info(customers)",
    "select name from customers",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_statements(byte_vocabulary, shop, text):
    """They can be written, and they run."""
    assert accepts(compiled(byte_vocabulary), text)
    shop.execute(text).fetchall()


@pytest.mark.parametrize("text", REFUSED)
def test_refused(byte_vocabulary, text):
    """Names that are not there or not in scope, wrong kinds, aggregates in wrong places, several statements."""
    assert not accepts(compiled(byte_vocabulary), text)


def test_a_star_does_not_show_hidden_columns(byte_vocabulary):
    """It stands for all columns, so it is written only where all are allowed; COUNT(*) shows none."""
    grammar = compiled(byte_vocabulary, allow={"customers": ["name"], "orders": None})
    assert accepts(grammar, "SELECT * FROM orders")
    assert accepts(grammar, "SELECT COUNT(*) FROM customers")
    for text in (
        "SELECT * FROM customers",
        "SELECT password FROM customers",
        "SELECT name FROM customers WHERE password LIKE 'a%'",
        "SELECT name FROM customers ORDER BY password",
        "SELECT customers.name FROM customers JOIN orders ON orders.customer_id = customers.id",
    ):
        assert not accepts(grammar, text), text


def test_changes(byte_vocabulary, shop):
    """With their verbs: INSERT has all columns but those that the database fills in; the others need a condition."""
    grammar = compiled(byte_vocabulary, verbs=ALL_VERBS)
    for text in (
        "INSERT INTO customers (id, name, city, password) VALUES (7, 'Ada', NULL, 'x')",
        "INSERT INTO customers (name, city, password) VALUES ('Ada', 'Rome', NULL)",
        "UPDATE customers SET city = 'Oslo' WHERE id = 7",
        "UPDATE customers SET name = 'A', city = NULL WHERE id IN (SELECT customer_id FROM orders WHERE total < 3)",
        "DELETE FROM customers WHERE city = 'Oslo'",
    ):
        assert accepts(grammar, text), text
        shop.execute(text)
    for text in (
        "INSERT INTO customers (id, name, city, password) VALUES (7, NULL, NULL, 'x')",
        "INSERT INTO customers (name) VALUES ('Ada')",
        "INSERT INTO totals (city, spent) VALUES ('Rome', 1)",
        "UPDATE customers SET city = 'Oslo'",
        "UPDATE customers SET city = 'a', city = 'b' WHERE id = 1",
        "UPDATE totals SET spent = 1 WHERE city = 'Rome'",
        "DELETE FROM customers",
        "DROP TABLE customers",
    ):
        assert not accepts(grammar, text), text
    assert not accepts(compiled(byte_vocabulary, verbs="delete"), "SELECT name FROM customers")
    only = compiled(byte_vocabulary, verbs={"delete"})
    assert not accepts(only, "DELETE FROM orders WHERE customer_id IN (SELECT id FROM customers)")
    hidden = compiled(byte_vocabulary, verbs=("insert", "delete"), allow={"customers": ["id", "city"]})
    assert not accepts(hidden, "INSERT INTO customers (id, city) VALUES (1, 'Rome')")


# --- random walks --------------------------------------------------------------------------------------------------------


def walked(grammar, vocabulary, draw):
    """Return a random statement within a random budget; it seldom ends early, and brackets and ends of texts are likelier."""
    matcher, text, budget = grammar.matcher(), [], draw.choice([30, 60, 120, 250, 400])
    ends = {ord(";"), *vocabulary.eos_token_ids}
    while True:
        found = sorted(mask_of(matcher, vocabulary, budget=budget - len(text)))
        likely = ord("'") if len(found) > 60 else ord("(")
        others = [each for each in found if each not in ends]
        token = draw.choice(others if others and draw.random() < 0.9 else found)
        token = likely if likely in found and draw.random() < 0.3 else token
        if token in vocabulary.eos_token_ids:
            return bytes(text).decode()
        matcher.accept_token(token)
        text.append(token)
        if len(text) >= budget and matcher.is_accepting():
            return bytes(text).decode()


def allowed_only(used, tables, views):
    """Check what SQLite's authorizer was asked, which resolves every name: no other table, column or function."""
    assert used
    for what, first, second, _, inside in used:
        if what in {sqlite3.SQLITE_READ, sqlite3.SQLITE_UPDATE} and inside not in views:
            assert second in tables[first] or not second
        elif what == sqlite3.SQLITE_FUNCTION:
            assert second in {"count", "sum", "avg", "min", "max", "length", "like"}
        elif what in {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_DELETE}:
            assert first in tables
        else:
            assert what in {sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT}


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("script", "options", "parts"),
    [
        (
            SHOP,
            {},
            ["WHERE", " JOIN ", "LEFT JOIN", "GROUP BY", "HAVING", "ORDER BY", "(SELECT ", "NOT (", "LIKE", "BETWEEN"],
        ),
        (SHOP, {"allow": FEW, "verbs": ALL_VERBS}, ["SELECT", "INSERT", "UPDATE", "DELETE", "(SELECT ", " JOIN "]),
        (SHOP, {"allow": ["items", "orders"], "verbs": ["update", "delete"], "joins": 0}, ["UPDATE", "DELETE", "IN ("]),
        (HOSTILE, {"verbs": ALL_VERBS}, ["SELECT", "INSERT", "UPDATE", "DELETE", "(SELECT "]),
    ],
    ids=["select", "some columns", "changes", "hostile names"],
)
def test_random_statements(byte_vocabulary, script, options, parts, count):
    """SQLite prepares each, and resolves the names in it to allowed ones; sqlglot reads it. Every part of SQL occurs."""
    sqlglot = pytest.importorskip("sqlglot")
    spec = schemagen.sql(script, **options)
    tables = {each.name: {column.name for column in each.columns} for each in spec.tables}
    views = {each.name for each in spec.tables if each.is_view}
    grammar, draw = schemagen.compile(spec, byte_vocabulary), random.Random(11)
    texts, used = [walked(grammar, byte_vocabulary, draw) for _ in range(count)], []
    with closing(sqlite3.connect(":memory:", cached_statements=0)) as connection:
        connection.executescript(script)
        connection.set_authorizer(lambda *asked: used.append(asked) or sqlite3.SQLITE_OK)
        for text in texts:
            used.clear()
            connection.execute(f"EXPLAIN {text}")
            allowed_only(used, tables, views)
            tree = sqlglot.parse_one(text, dialect="sqlite")
            assert {each.name for each in tree.find_all(sqlglot.exp.Table)} <= tables.keys(), text
    assert [part for part in parts if not any(part in text for text in texts)] == []


def test_conditions_nest_a_few_levels(byte_vocabulary, shop):
    """The parser of SQLite has a stack, which a loop of brackets or queries would overflow."""
    grammar = compiled(byte_vocabulary)
    for opened, closed in (("(", ")"), ("NOT (", ")"), ("id IN (SELECT id FROM customers WHERE ", ")")):
        begin = "SELECT id FROM customers WHERE "
        texts = [begin + opened * n + "id = 1" + closed * n for n in (3, 4, 200)]
        shop.execute(texts[0])
        assert [accepts(grammar, text) for text in texts] == [True, False, False]
        with pytest.raises(sqlite3.OperationalError, match="stack overflow"):
            shop.execute(texts[2])


def test_names_that_are_alike(byte_vocabulary):
    """A table called as two others with "and" between has its own columns."""
    script = """CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id));
    CREATE TABLE "a and b" (x INTEGER);"""
    grammar = compiled(byte_vocabulary, script)
    assert accepts(grammar, 'SELECT x FROM "a and b" WHERE x = 1 ORDER BY x')
    assert accepts(grammar, "SELECT a.id FROM a JOIN b ON b.a = a.id WHERE b.a = 1")
    assert not accepts(grammar, 'SELECT x FROM "a and b" WHERE b.a = 1')


#: Keywords of SQLite that are names where no keyword may stand, and some that never are.
KEYWORDS = """abort action after analyze asc attach before begin by cascade cast column conflict cross current current_date
database deferred desc detach do each end exclusive explain fail filter first following for full generated glob group if ignore
immediate indexed initially inner instead key last left like match materialized natural no nothing nulls of offset order others
outer over partition plan pragma preceding query raise range recursive regexp reindex release rename replace restrict returning
right rollback row rows rowid savepoint select temp ties trigger true unbounded vacuum values view virtual window with without"""


@pytest.mark.parametrize("through", ["sqlite3", "sqlalchemy"])
def test_keywords_as_names(through):
    """They are in quotation marks wherever SQLite could read something else."""
    for word in KEYWORDS.split():
        script = f'CREATE TABLE "{word}" ("{word}" INTEGER); CREATE TABLE o ("{word}" TEXT);'
        source = engine_of(script) if through == "sqlalchemy" else script
        ((table, (column,)), (_, (other,))) = sorted(
            ((each.written, [column.written for column in each.columns]) for each in schemagen.sql(source).tables),
            key=lambda pair: pair[0] == "o",
        )
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript(script)
            for text in (
                "SELECT C, COUNT(C), T.C FROM T WHERE C = 1 AND NOT (C > 1) AND C IN (SELECT C FROM T) GROUP BY C ORDER BY C DESC",
                "SELECT DISTINCT O FROM o WHERE O NOT LIKE 'x' AND LENGTH(O) > 1 ORDER BY O ASC",
                "INSERT INTO T (C) VALUES (1)",
                "UPDATE T SET C = 2 WHERE C BETWEEN 0 AND 1",
                "DELETE FROM T WHERE C IS NULL",
            ):
                names = {"T": table, "C": column, "O": other}
                connection.execute("".join(names.get(part, part) for part in re.split(r"\b([TCO])\b", text)))
            assert [*connection.execute(f'SELECT "{word}" FROM "{word}"')] == [(2,)], word  # noqa: S608 - words from above


# --- databases -----------------------------------------------------------------------------------------------------------


def engine_of(script):
    """Return an engine of SQLAlchemy with the tables of a script."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as connection:
        for statement in filter(str.strip, script.split(";")):
            connection.exec_driver_sql(statement)
    return engine


def test_sources(tmp_path, shop):
    """A connection, a file and a script are the same; a file is not changed, and not made."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as file:
        file.executescript(SHOP)
    before = path.read_bytes()
    assert tables_of(shop) == tables_of(path) == tables_of(str(path)) == tables_of(SHOP)
    assert path.read_bytes() == before
    with pytest.raises(OptionError, match="no file"):
        schemagen.sql(tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    (tmp_path / "text.db").write_text("no database" * 99)
    with pytest.raises(OptionError, match="cannot be read: file is not a database"):
        schemagen.sql(tmp_path / "text.db")
    shop.row_factory = lambda cursor, row: dict(zip([each[0] for each in cursor.description], row, strict=True))
    assert tables_of(shop) == tables_of(path)


def test_a_dict_of_tables():
    """Its types may have sizes and references, but not other statements."""
    tables = {
        "we ird": {"id": "INTEGER PRIMARY KEY", "price": "DECIMAL(10, 2)"},
        "b": {"a": "INTEGER REFERENCES c(id)"},
    }
    tables["c"] = {"id": "INTEGER", 'x"y': "TEXT"}
    assert schemagen.sql(tables).shown() == (
        '"we ird"(id INTEGER, price DECIMAL(10, 2))\nb(a INTEGER)\nb.a = c.id\nc(id INTEGER, "x""y" TEXT)'
    )


GENERATED = "CREATE TABLE t (a INTEGER, secret TEXT, made TEXT GENERATED ALWAYS AS (secret || 'x'));"


@pytest.mark.parametrize("through", ["sqlite3", "sqlalchemy"])
def test_generated_columns(byte_vocabulary, through):
    """They are read as others are, and no statement writes them."""
    source = engine_of(GENERATED) if through == "sqlalchemy" else GENERATED
    grammar = compiled(byte_vocabulary, source, verbs=ALL_VERBS)
    assert accepts(grammar, "SELECT made FROM t WHERE made LIKE 'a%'")
    assert accepts(grammar, "INSERT INTO t (a, secret) VALUES (1, 'b')")
    assert not accepts(grammar, "INSERT INTO t (a, secret, made) VALUES (1, 'b', 'c')")
    assert not accepts(grammar, "UPDATE t SET made = 'c' WHERE a = 1")
    without = compiled(byte_vocabulary, source, allow={"t": ["a", "secret"]})
    assert accepts(without, "SELECT a, secret FROM t")
    assert not accepts(without, "SELECT * FROM t")


def test_references():
    """They name columns that exist: in any case, or the primary key; none is to a rowid or to what is not there."""
    script = """CREATE TABLE parents (id INTEGER PRIMARY KEY, x INTEGER); CREATE TABLE pairs (a, b, PRIMARY KEY (a, b));
    CREATE TABLE children (
        implicit INTEGER REFERENCES parents, other INTEGER REFERENCES Parents(X), gone INTEGER REFERENCES nowhere(id),
        wrong INTEGER REFERENCES parents(y), row INTEGER REFERENCES parents(rowid), pair INTEGER REFERENCES pairs
    );"""
    assert schemagen.sql(script).shown().splitlines()[3:] == [
        "children.other = parents.x",
        "children.implicit = parents.id",
    ]


def test_what_cannot_be_read_is_left_out():
    """A view of a table that is gone; and the tables in which a virtual table keeps its data are not for others."""
    script = "CREATE TABLE t (a); CREATE TABLE u (a); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t;"
    assert [table.name for table in tables_of(script)] == ["u"]
    if sqlite3.sqlite_version_info >= (3, 37):
        assert [table.name for table in tables_of("CREATE VIRTUAL TABLE d USING fts5(title);")] == ["d"]


def test_keys_that_sqlite_does_not_number(byte_vocabulary):
    """An INSERT must have them: those of tables without a rowid, and descending ones."""
    for end in ("INTEGER PRIMARY KEY, a TEXT) WITHOUT ROWID", "INTEGER PRIMARY KEY DESC, a TEXT)"):
        grammar = compiled(byte_vocabulary, f"CREATE TABLE t (id {end};", verbs="insert")
        assert accepts(grammar, "INSERT INTO t (id, a) VALUES (1, 'x')")
        assert not accepts(grammar, "INSERT INTO t (a) VALUES ('x')")


def test_schemas_of_sqlalchemy(byte_vocabulary):
    """A table of a schema is written with it, and a reference to a table that is not in the metadata is left out."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    metadata, integer = sqlalchemy.MetaData(), sqlalchemy.Integer
    sqlalchemy.Table("orders", metadata, sqlalchemy.Column("id", integer))
    sqlalchemy.Table("orders", metadata, sqlalchemy.Column("secret", integer), schema="audit")
    sqlalchemy.Table("lost", metadata, sqlalchemy.Column("x", integer, sqlalchemy.ForeignKey("nowhere.id")))
    grammar = compiled(byte_vocabulary, metadata)
    assert accepts(grammar, "SELECT secret FROM audit.orders")
    assert not accepts(grammar, "SELECT secret FROM orders")
    assert accepts(compiled(byte_vocabulary, metadata, allow=["orders", "lost"]), "SELECT x FROM lost")
    assert not accepts(compiled(byte_vocabulary, metadata, allow=["orders"]), "SELECT secret FROM audit.orders")


def test_sqlalchemy(byte_vocabulary):
    """An engine and its metadata have the tables that SQLite has; names are written as the dialect quotes them."""
    engine, sqlalchemy = engine_of(SHOP), pytest.importorskip("sqlalchemy")
    metadata = sqlalchemy.MetaData()
    metadata.reflect(engine)
    own = schemagen.sql(SHOP)
    for source in (engine, metadata):
        spec = schemagen.sql(source)
        names = {table.name: [column.name for column in table.columns] for table in spec.tables}
        assert names == {
            each.name: [column.name for column in each.columns] for each in own.tables if each.name in names
        }
        assert {table.name: set(table.references) for table in spec.tables} == {
            each.name: set(each.references) for each in own.tables if each.name in names
        }
        grammar = schemagen.compile(spec, byte_vocabulary)
        assert all(accepts(grammar, text) for text in WRITTEN if "totals" not in text)
    assert [table.is_view for table in schemagen.sql(engine).tables if table.name == "totals"] == [True]


def test_the_prompt_shows_the_tables():
    """Those that may be used, with types and references."""
    assert schemagen.sql(SHOP, allow=FEW).shown() == (
        "customers(id INTEGER, name TEXT)\n"
        'orders(id INTEGER, customer_id INTEGER, total REAL, "order" TEXT)\n'
        "orders.customer_id = customers.id"
    )


@pytest.mark.parametrize(
    ("database", "options", "message"),
    [
        (3, {}, "the database is an int"),
        ("CREATE TABLE", {}, "the script does not run"),
        ({}, {}, "no tables"),
        ({"a": ["x"]}, {}, "the columns of 'a' are"),
        ({"a": {"x": None}}, {}, "the columns of 'a' are"),
        ({"a": {"x": "INTEGER); DROP TABLE b; --"}}, {}, "the columns of 'a' are"),
        ({"a": {"x": "INTEGER)"}}, {}, "the script does not run"),
        ("CREATE TABLE a (x INTEGER); DROP TABLE a", {}, "no tables"),
        (SHOP, {"allow": {"custmers"}}, "no table called 'custmers'"),
        (SHOP, {"allow": {"customers": ["nam"]}}, "no column of customers called 'nam'"),
        (SHOP, {"allow": {"customers": []}}, "no column of customers is allowed"),
        (SHOP, {"allow": {}}, "allow={}"),
        (SHOP, {"allow": "customers"}, "allow='customers'"),
        (SHOP, {"verbs": ["drop"]}, "verbs="),
        (SHOP, {"verbs": []}, "verbs="),
        (SHOP, {"joins": -1}, "joins"),
    ],
)
def test_wrong_arguments(database, options, message):
    """They are refused with the names that there are."""
    with pytest.raises((OptionError, OptionTypeError), match=message):
        schemagen.sql(database, **options)


def test_nothing_can_be_written(byte_vocabulary):
    """Which is said when it is compiled."""
    with pytest.raises(OptionError, match="no statement of insert"):
        compiled(byte_vocabulary, verbs=["insert"], allow=["totals"])


def test_too_many_joins(byte_vocabulary):
    """Their number is bounded, and fewer joins help."""
    hub = "CREATE TABLE hub (id INTEGER PRIMARY KEY);"
    spokes = "".join(f"CREATE TABLE s{i} (x INTEGER REFERENCES hub(id));" for i in range(40))
    with pytest.raises(LimitError, match="ways to join"):
        compiled(byte_vocabulary, hub + spokes)
    assert accepts(compiled(byte_vocabulary, hub + spokes, joins=1), "SELECT s3.x FROM hub JOIN s3 ON hub.id = s3.x")


def test_a_model_writes_a_statement(shop):
    """In one call, whose value is the text."""
    found = schemagen.load_bundled()("How many customers are there?", schemagen.sql(shop), max_new_tokens=60)
    assert isinstance(found, str)
    shop.execute(found).fetchall()


def test_allowed_keeps_the_order_of_the_database():
    """Whatever the order of the names."""
    tables = allowed(tables_of(SHOP), ["orders", "customers"])
    assert [table.name for table in tables] == ["customers", "orders"]
    assert [column.name for column in allowed(tables, {"customers": ["name", "id"]})[0].columns] == ["id", "name"]

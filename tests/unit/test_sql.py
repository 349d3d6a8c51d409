"""`schemagen.sql`: statements that run, over allowed tables and columns alone."""

from __future__ import annotations

import random
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
    """Return a random statement within a random budget; quotation marks are likelier than other characters of texts."""
    matcher, text, budget = grammar.matcher(), [], draw.choice([30, 60, 120, 250, 400])
    while True:
        found = sorted(mask_of(matcher, vocabulary, budget=budget - len(text)))
        closing_mark = ord("'") in found and len(found) > 60 and draw.random() < 0.3
        token = ord("'") if closing_mark else draw.choice(found)
        if token in vocabulary.eos_token_ids:
            return bytes(text).decode()
        matcher.accept_token(token)
        text.append(token)
        if len(text) >= budget and matcher.is_accepting():
            return bytes(text).decode()


@pytest.mark.parametrize(
    ("script", "options"),
    [
        (SHOP, {}),
        (SHOP, {"allow": FEW, "verbs": ALL_VERBS}),
        (SHOP, {"allow": ["items", "orders"], "verbs": ["update", "delete"], "joins": 0}),
        (HOSTILE, {"verbs": ALL_VERBS}),
    ],
    ids=["select", "some columns", "changes", "hostile names"],
)
def test_random_statements(byte_vocabulary, script, options):
    """500 of each: SQLite prepares them, sqlglot reads them, and all names in them are allowed."""
    sqlglot = pytest.importorskip("sqlglot")
    from sqlglot import exp

    tables = {each.name: {column.name for column in each.columns} for each in schemagen.sql(script, **options).tables}
    columns = set.union(*tables.values())
    grammar, draw, verbs = compiled(byte_vocabulary, script, **options), random.Random(11), set()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        for _ in range(500):
            text = walked(grammar, byte_vocabulary, draw)
            verbs.add(text.partition(" ")[0].lower())
            connection.execute(f"EXPLAIN {text}")
            tree = sqlglot.parse_one(text, dialect="sqlite")
            assert {each.name for each in tree.find_all(exp.Table)} <= tables.keys(), text
            for each in tree.find_all(exp.Column):
                assert each.name in (tables[each.table] if each.table else columns), text
    assert verbs == {*options.get("verbs", ["select"])}


# --- databases -----------------------------------------------------------------------------------------------------------


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


def test_sqlalchemy(byte_vocabulary):
    """An engine and its metadata have the tables that SQLite has; names are written as the dialect quotes them."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite://", poolclass=sqlalchemy.pool.StaticPool)
    with engine.begin() as connection:
        for statement in filter(str.strip, SHOP.split(";")):
            connection.exec_driver_sql(statement)
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

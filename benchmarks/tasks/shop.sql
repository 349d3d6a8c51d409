-- The database of benchmarks/sql.py: a small shop.
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT, joined DATE);
CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT NOT NULL, department TEXT, salary INTEGER);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT, price REAL, stock INTEGER);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), employee_id INTEGER REFERENCES employees(id),
    day DATE, total REAL
);
CREATE TABLE items (
    order_id INTEGER REFERENCES orders(id), product_id INTEGER REFERENCES products(id), amount INTEGER
);
INSERT INTO customers VALUES
    (1, 'Ada', 'London', '2021-03-04'), (2, 'Bruno', 'Lisbon', '2020-11-20'), (3, 'Chen', 'Paris', '2022-01-15'),
    (4, 'Dora', 'Lisbon', '2023-06-01'), (5, 'Emil', 'Oslo', '2019-08-30'), (6, 'Farah', 'Paris', '2022-09-09'),
    (7, 'Goran', 'Rome', '2021-12-24'), (8, 'Hana', 'Oslo', '2023-02-14'), (9, 'Ivan', NULL, '2020-05-05');
INSERT INTO employees VALUES
    (1, 'Jo', 'sales', 3200), (2, 'Kim', 'sales', 2900), (3, 'Lars', 'support', 2700), (4, 'Mona', 'support', 3100),
    (5, 'Nils', 'storage', 2500), (6, 'Olga', 'sales', 4000);
INSERT INTO products VALUES
    (1, 'lamp', 'light', 24.5, 12), (2, 'bulb', 'light', 3.2, 200), (3, 'chair', 'furniture', 59.0, 8),
    (4, 'table', 'furniture', 149.0, 3), (5, 'shelf', 'furniture', 89.9, 0), (6, 'mug', 'kitchen', 7.5, 60),
    (7, 'kettle', 'kitchen', 32.0, 15), (8, 'pan', 'kitchen', 27.9, 0);
INSERT INTO orders VALUES
    (1, 1, 1, '2024-01-05', 56.1), (2, 2, 2, '2024-01-17', 149.0), (3, 3, 1, '2024-02-02', 15.0), (4, 1, 6, '2024-02-11', 118.0),
    (5, 4, 2, '2024-02-28', 32.0), (6, 5, 1, '2024-03-03', 27.7), (7, 6, 6, '2024-03-09', 208.0), (8, 2, 1, '2024-03-21', 7.5),
    (9, 7, 2, '2024-04-01', 64.0), (10, 3, 6, '2024-04-15', 89.9), (11, 8, 1, '2024-05-20', 22.5), (12, 1, 2, '2024-06-30', 24.5);
INSERT INTO items VALUES
    (1, 1, 2), (1, 2, 2), (2, 4, 1), (3, 6, 2), (4, 3, 2), (5, 7, 1), (6, 1, 1), (6, 2, 1), (7, 3, 1), (7, 4, 1), (8, 6, 1),
    (9, 7, 2), (10, 5, 1), (11, 6, 3), (12, 1, 1);

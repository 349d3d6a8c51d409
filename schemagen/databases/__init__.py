"""Statements for a database: its tables, and a grammar of the statements that may be written."""

from __future__ import annotations

from schemagen.databases.statements import Sql, sql

__all__ = ["Sql", "sql"]

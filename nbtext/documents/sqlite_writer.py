"""Write the rows of a query, with columns added, into a new table of a SQLite file: completely or not at all."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from nbtext.documents.rows import PREFIX_HINT, ChangedRows, Column, Target
from nbtext.documents.settings import InputSettings
from nbtext.documents.sql import SqlRows, quote_name
from nbtext.errors import InputError, OutputError, SettingsError

TABLE = "predictions"  # the name of the table by default
TYPES = {"text": "TEXT", "number": "REAL", "boolean": "INTEGER"}
WAIT = 30.0  # seconds for another program that writes to the file


def write_sqlite(changed: Iterable[ChangedRows], target: Target, settings: InputSettings) -> None:
    """Write rows with columns added into a new table. Other tables of the file stay.

    Raises
    ------
    SettingsError
        The output is not a file, or has a table of this name.
    InputError
        The query has a column of one of the names, or several sources have different columns.
    OutputError
        The file cannot be written, or is not a database.
    """
    if target.path == "-" or target.is_terminal:
        raise SettingsError(
            "the rows of a database cannot be written to standard output", where="-o", hint="name a SQLite file"
        )
    table = target.table or TABLE
    with _open_database(target.path) as connection:
        if connection.execute("select 1 from sqlite_schema where lower(name) = lower(?)", (table,)).fetchone():
            what = f"{target.path} has a table `{table}` already"
            raise SettingsError(what, where="--table", hint="give the new table another name")
        first: SqlRows | None = None
        for rows, columns, _, _ in changed:
            assert isinstance(rows, SqlRows)
            if first is None:
                first = rows
                connection.execute(_create_table(table, rows, columns))
            elif rows.names != first.names:
                hint = "write the rows of each source to a table of its own"
                raise InputError(f"its columns are not those of {first.path}", where=rows.path, hint=hint)
            marks = ", ".join("?" * (len(rows.names) + len(columns)))
            values = zip(*(map(_plain_value, _values_of(column)) for column in columns), strict=True)
            connection.executemany(
                f"insert into {quote_name(table)} values ({marks})",
                ((*map(_plain_value, row), *new) for row, new in zip(rows.rows, values, strict=True)),
            )


def _create_table(table: str, rows: SqlRows, columns: Iterable[Column]) -> str:
    """Return the statement that creates the table, with the declared types of the source."""
    known = {name.lower() for name in rows.names}
    if len(known) < len(rows.names):
        raise InputError("the query has two columns with the same name", where=rows.path, hint="name them with `as`")
    defined = [f"{quote_name(name)} {kind}" for name, kind in zip(rows.names, rows.types, strict=True)]
    for column in columns:
        if column.name.lower() in known:
            raise InputError(f"there is a column `{column.name}` already", where=rows.path, hint=PREFIX_HINT)
        defined.append(f"{quote_name(column.name)} {TYPES.get(column.kind, 'TEXT')}")
    return f"create table {quote_name(table)} ({', '.join(defined)})"


def _values_of(column: Column) -> Iterable[Any]:
    """Return the values; those for which SQLite has no type become text."""
    if column.kind in TYPES:
        return column.values
    return (None if value is None else column.cells(value) for value in column.values)


def _plain_value(value: Any) -> Any:
    """Return a value as SQLite stores it: JSON for lists and objects, text for dates and the like."""
    if value is None or isinstance(value, int | float | bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


@contextmanager
def _open_database(path: str) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file in a transaction; a new file gets its name when it is complete."""
    is_new = not os.path.exists(path) or os.path.getsize(path) == 0
    folder, name = os.path.split(os.path.realpath(path))
    opened = os.path.join(folder, f".nbtext-{os.urandom(8).hex()}.part") if is_new else path
    try:
        with closing(sqlite3.connect(opened, timeout=WAIT, isolation_level=None)) as connection:
            connection.execute("pragma trusted_schema = off")
            connection.execute("begin immediate")
            try:
                yield connection
            except BaseException:
                connection.execute("rollback")
                raise
            connection.execute("commit")
        if is_new:
            os.replace(opened, os.path.join(folder, name))
    except sqlite3.Error as error:
        hint = "name a new file, or a SQLite file that can be written"
        raise OutputError(f"cannot be written: {error}", where=path, hint=hint) from None
    except OSError as error:
        raise OutputError(f"cannot be written: {(error.strerror or str(error)).lower()}", where=path) from None
    finally:
        if is_new:
            for leftover in (opened, f"{opened}-journal"):
                with suppress(OSError):
                    os.unlink(leftover)

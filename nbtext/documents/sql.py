"""Read the rows of a query: of a SQLite file, or of a database by SQLAlchemy or ADBC. Nothing is written.

Each row is a document, whose fields are the columns of the query.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any
from urllib.parse import quote, unquote

from nbtext.documents.batch import Batch, BatchBuilder, format_names
from nbtext.documents.blocks import ReadOptions
from nbtext.documents.fields import Fields, find_fields
from nbtext.documents.labels import Label, or_error, read_cells, read_label
from nbtext.documents.lines import origin_of
from nbtext.documents.streams import ByteStream, is_regular
from nbtext.documents.urls import hide_credentials, is_url
from nbtext.errors import InputError, MissingExtra, NbtextError

BLOCK_ROWS = 1 << 12
BLOCK_CHARACTERS = 1 << 20
QUERY_HINT = "see --query"
ALLOWED = {  # what a query may do in SQLite; it may not attach a file or change a setting
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
SAFE_SQLITE = (  # an untrusted file may hold views that call functions: https://sqlite.org/security.html
    "pragma trusted_schema = off",
    "pragma cell_size_check = on",
    "pragma mmap_size = 0",
    "pragma temp_store = memory",
)
READ_ONLY = {  # by dialect: the statement after which a transaction cannot write; others are rolled back only
    "sqlite": "pragma query_only = on",
    "postgresql": "set transaction read only",
    "mysql": "set transaction read only",
    "mariadb": "set transaction read only",
    "oracle": "set transaction read only",
}
ADBC = "+adbc"  # the end of the scheme of a URL that an ADBC driver reads
Row = Sequence[Any]
Selected = tuple[tuple[str, ...], Iterable[Row]]  # the columns of a query, and its rows

# texts, quoted names and comments of a query, which may hold any character
_quoted = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
_select = re.compile(r"(?i)[\s(]*(?:select|with|values|table|from)\b")  # DuckDB has `from` alone


@dataclass(frozen=True, slots=True)
class SqlRows:
    """Rows of a query.

    Attributes
    ----------
    path : str
        The database, without its password.
    names : tuple of str
        The columns.
    types : tuple of str
        The declared type of each column of a SQLite database; "" where there is none.
    rows : sequence of sequence
        The values.
    first_row : int
        The number of the first row.
    """

    path: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    rows: Sequence[Row]
    first_row: int

    @property
    def format(self) -> str:
        """Return the name of the format, whose writer writes the rows."""
        return "sqlite"

    def fields(self, row: int) -> dict[str, Any]:
        """Return the values of all columns of a row."""
        return dict(zip(self.names, self.rows[row], strict=True))

    def slice(self, start: int, stop: int) -> SqlRows:
        """Return some rows."""
        return replace(self, rows=self.rows[start:stop], first_row=self.first_row + start)


@dataclass(frozen=True, slots=True)
class SqlDocuments:
    """Documents that are some rows of a query."""

    rows: SqlRows
    fields: Fields
    options: ReadOptions
    size: int

    def batch(self) -> Batch:
        """Return the rows as documents, with ids `DATABASE:ROW`. A row without a text is a problem.

        Raises
        ------
        InputError
            A value has a type that is not a text.
        """
        builder, fields = BatchBuilder(self.options.settings), self.fields
        builder.batch.names = fields.names
        for number, row in enumerate(self.rows.rows, self.rows.first_row):
            place = f"{origin_of(self.rows.path)}{number}"
            texts = [self._text(row[column], builder, place) for column in fields.texts]
            identity, group = (
                None if column is None else self._text(row[column], builder, place)
                for column in (fields.id, fields.group)
            )
            label = or_error(self._label, [row[column] for column in fields.labels], builder, place)
            builder.add_values(texts, label=label, place=place, identity=identity, group=group)
        batch = builder.finish()
        if self.options.settings.keeps_rows:
            batch.rows = self.rows
        return batch

    def _label(self, values: Sequence[Any], builder: BatchBuilder, place: str) -> Label:
        """Return the labels of the columns that hold them; a list has several."""
        settings = self.options.settings
        if len(values) == 1 and isinstance(values[0], list | tuple) and not settings.label_fields:
            return read_label(values[0], self.fields.names[self.fields.labels[0]], settings)
        return read_cells([self._text(value, builder, place) for value in values], settings)

    def _text(self, value: Any, builder: BatchBuilder, place: str) -> str | None:
        """Return a value as text."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, bytes | memoryview):
            text, repaired = self.options.encoding.decode_rest(bytes(value))
            builder.batch.repaired_documents += repaired > 0
            builder.batch.repaired_bytes += repaired
            return text
        if isinstance(value, list | tuple | dict):
            raise InputError(
                "a value is a list or an object, expected a string", where=place, hint="select a part of it"
            )
        return str(value)


def read_sqlite(stream: ByteStream, options: ReadOptions) -> Iterator[SqlDocuments]:
    """Yield the rows of the query, or of the only table, of a SQLite file, which is opened for reading only.

    Raises
    ------
    InputError
        The file is broken or not a local file; the query is wrong; or there are several tables and no query.
    """
    path = stream.location
    if stream.compression is not None or is_url(path) or not is_regular(path):
        hint = "save it as a file, and unpack it"
        raise InputError("a SQLite database can be read only from a local file", where=stream.path, hint=hint)
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    with _convert_sqlite_errors(stream.path), closing(_connect(address)) as connection:
        for statement in SAFE_SQLITE:
            connection.execute(statement)
        query = options.settings.query
        query = query if query is not None else _only_table(connection, stream.path)
        cursor, types = _run_query(connection, query, stream.path)
        names = tuple(column[0] for column in cursor.description)
        start = SqlRows(stream.path, names, types, (), 1)
        yield from _read_rows(cursor, start, options, n_bytes=stream.size or 0)


def _connect(address: str) -> sqlite3.Connection:
    # the threads that predict take turns to read
    connection = sqlite3.connect(address, uri=True, check_same_thread=False)
    connection.text_factory = _decode_text
    return connection


def _decode_text(content: bytes) -> str | bytes:
    """Return a text; bytes that are not valid UTF-8 as they are, so that they can be written as they are."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _only_table(connection: sqlite3.Connection, path: str) -> str:
    """Return the query of all rows of the only table."""
    found = connection.execute(
        "select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'"
    )
    tables = sorted(str(row[0]) for row in found)
    if len(tables) != 1:
        what = f"has {len(tables)} tables" + (f": {format_names(tables)}" if tables else "")
        raise InputError(what, where=path, hint="give --query 'select ... from ...'")
    return f"select * from {quote_name(tables[0])}"


def _run_query(connection: sqlite3.Connection, query: str, path: str) -> tuple[sqlite3.Cursor, tuple[str, ...]]:
    """Return the rows of a query, and the declared types of its columns.

    The types come from a temporary view of the query. SQLite creates a view of a `select` statement only.
    """
    try:
        connection.execute(f"create temp view nbtext_rows as {query.strip().rstrip(';')}")
        columns = connection.execute("pragma table_info(nbtext_rows)").fetchall()
        connection.set_authorizer(_authorize)
        cursor = connection.execute("select * from nbtext_rows")
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise InputError(f"the query fails: {error}", where=path, hint=QUERY_HINT) from None
    return cursor, tuple(str(column[2]) for column in columns)


def _authorize(action: int, *_: str | None) -> int:
    """Return whether SQLite may do something for a query: attaching a file is refused, for example."""
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY


def quote_name(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _convert_sqlite_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, UnicodeError, OverflowError) as error:
        hint = "sqlite3 FILE .recover may save its content" if isinstance(error, sqlite3.DatabaseError) else ""
        raise InputError(f"cannot be read as SQLite: {error}", where=path, hint=hint) from None


def read_database(url: str, options: ReadOptions) -> Iterator[SqlDocuments]:
    """Yield the rows of the query of a database at a URL, in a transaction that is rolled back.

    Raises
    ------
    InputError
        The database cannot be reached, or the query is wrong; the password is not in the message.
    MissingExtra
        SQLAlchemy, or the ADBC driver of a URL such as `postgresql+adbc://`, is not installed.
    """
    path, query = hide_credentials(url), options.settings.query
    if query is None:
        raise InputError(
            "a database cannot be read without a query", where=path, hint="give --query 'select ... from ...'"
        )
    statement = _quoted.sub(" ", query).strip().rstrip(";")
    if ";" in statement or not _select.match(statement):
        what = "it has several statements" if ";" in statement else "it is not a select statement"
        raise InputError(f"the query fails: {what}", where=path, hint=QUERY_HINT)
    select = _select_by_adbc if url.partition(":")[0].endswith(ADBC) else _select_by_sqlalchemy
    with _convert_database_errors(url), select(url, query) as (names, rows):
        if not names:
            raise InputError("the query returns no rows", where=path, hint=QUERY_HINT)
        yield from _read_rows(rows, SqlRows(path, names, ("",) * len(names), (), 1), options, n_bytes=0)


@contextmanager
def _select_by_sqlalchemy(url: str, query: str) -> Iterator[Selected]:
    """Open the columns and the rows of a query, by the driver that SQLAlchemy selects."""
    try:
        import sqlalchemy
    except ImportError:
        raise MissingExtra("--query of a database at a URL", library="SQLAlchemy", extra="sql") from None
    engine = sqlalchemy.create_engine(url)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        connection = stack.enter_context(engine.connect())
        if statement := READ_ONLY.get(engine.dialect.name):
            connection.exec_driver_sql(statement)
        if isinstance(sqlite := connection.connection.driver_connection, sqlite3.Connection):
            sqlite.set_authorizer(_authorize)
        streaming = connection.execution_options(stream_results=True, max_row_buffer=BLOCK_ROWS, no_parameters=True)
        result = streaming.exec_driver_sql(query)
        yield tuple(map(str, result.keys())) if result.returns_rows else (), result


@contextmanager
def _select_by_adbc(url: str, query: str) -> Iterator[Selected]:
    """Open the columns and the rows of a query, by the ADBC driver of the database, which sends Arrow batches."""
    scheme, _, rest = url.partition(":")
    database = scheme.removesuffix(ADBC).lower()
    try:
        driver = import_module(f"adbc_driver_{database}.dbapi")
    except ImportError as error:
        library = error.name or f"adbc_driver_{database}"
        raise MissingExtra(f"--query of a {scheme} URL", library=library, extra="adbc") from None
    is_file = database == "sqlite"
    address = f"file:{quote(unquote(rest.removeprefix('///')))}?mode=ro" if is_file else f"{database}:{rest}"
    with driver.connect(address) as connection, connection.cursor() as cursor:
        if statement := READ_ONLY.get(database):
            cursor.execute(statement)
        cursor.execute(f"{query.strip().rstrip(';')}\n")  # PostgreSQL gets it in parentheses, where a comment must end
        batches = cursor.fetch_record_batch()
        rows = (row for batch in batches for row in zip(*(each.to_pylist() for each in batch.columns), strict=True))
        yield tuple(batches.schema.names), rows
        connection.rollback()


@contextmanager
def _convert_database_errors(url: str) -> Iterator[None]:
    """Convert an error of SQLAlchemy, or of a driver, into an InputError of one line without the password."""
    path = hide_credentials(url)
    try:
        yield
    except ImportError as error:
        driver = error.name or "another library"
        raise InputError(f"needs {driver}", where=path, hint=f"install it with: pip install {driver}") from None
    except (NbtextError, MemoryError):
        raise
    except Exception as error:  # each driver has its own
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        for secret in re.findall(r"://([^/\s@]*)@", url):
            for part in (secret, *secret.split(":", 1)[1:]):
                reason = reason.replace(part, "***").replace(unquote(part), "***") if part else reason
        raise InputError(f"the query fails: {reason}", where=path, hint="see --query, and check the URL") from None


def _read_rows(rows: Iterable[Row], start: SqlRows, options: ReadOptions, *, n_bytes: int) -> Iterator[SqlDocuments]:
    """Yield rows in blocks of some thousands, or about a million characters.

    Parameters
    ----------
    start : SqlRows
        The columns.
    n_bytes : int
        The size of the file, which the last block reports.
    """
    fields = find_fields(start.names, options.settings, start.path)
    block: list[Row] = []
    first_row, n_characters, is_empty = 1, 0, True
    for row in rows:
        block.append(tuple(row))
        n_characters += sum(len(value) for value in row if isinstance(value, str | bytes))
        if len(block) == BLOCK_ROWS or n_characters >= BLOCK_CHARACTERS:
            yield SqlDocuments(replace(start, rows=block, first_row=first_row), fields, options, 0)
            first_row, block, n_characters, is_empty = first_row + len(block), [], 0, False
    if block or (is_empty and options.settings.keeps_rows):
        yield SqlDocuments(replace(start, rows=block, first_row=first_row), fields, options, n_bytes)

"""Read the rows of a query: of a SQLite file, or of a database by SQLAlchemy. Nothing is written
there.

Each row is a document, whose fields are the columns of the query. Rows with columns added go to a
new table of another file.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from shutil import copyfileobj
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from nbtext.documents.batch import Batch, Block, make_batch_of_rows
from nbtext.documents.blocks import ReadOptions, group_items
from nbtext.documents.fields import (
    ColumnPlaces,
    find_fields,
    format_names,
    parse_json,
    take_columns,
)
from nbtext.documents.rows import (
    ChangedRows,
    OutputTarget,
    check_new,
    escape_surrogates,
)
from nbtext.documents.settings import InputSettings
from nbtext.documents.streams import ByteStream, is_regular, is_url, unreadable_file
from nbtext.errors import (
    InputError,
    MissingExtra,
    NbtextError,
    OutputError,
    SettingsError,
    hide_credentials,
)
from nbtext.output import convert_errors, is_written_to
from nbtext.records import Strings, frozen

BUFFERED_ROWS = 256  # that SQLAlchemy reads before they are weighed
QUERY_HINT = "see --query"
QUERY_NEEDED = "give --query 'select ... from ...'"
ALL_TABLES = (
    "select name from sqlite_schema where type in ('table', 'view') and name not glob 'sqlite_*'"
)
WAL_MODE = 2  # the version that a database with a write-ahead log needs, byte 19 of the file
# by dialect: the statement after which a transaction cannot write; others are rolled back only
READ_ONLY = dict.fromkeys(("postgresql", "mysql", "mariadb", "oracle"), "set transaction read only")
QueryRow = Sequence[Any]

# texts, quoted names and comments of a query, which may hold any character
_quoted = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$""", re.DOTALL
)
_select = re.compile(r"(?i)[\s(]*(?:select|with|values|table)\b")


@frozen
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
    places : ColumnPlaces
        The places of the columns that are read.
    rows : sequence of sequence
        The values.
    first_row : int
        The number of the first row.
    """

    format: ClassVar[str] = "sqlite"  # whose writer writes the rows
    path: str
    names: Strings
    types: Strings
    options: ReadOptions
    places: ColumnPlaces
    rows: Sequence[QueryRow] = ()
    first_row: int = 1

    def fields(self, row: int) -> dict[str, Any]:
        """Return the values of all columns of a row."""
        return dict(zip(self.names, self.rows[row], strict=True))

    def __len__(self) -> int:
        return len(self.rows)

    def slice(self, start: int, stop: int) -> SqlRows:
        """Return some rows."""
        return replace(self, rows=self.rows[start:stop], first_row=self.first_row + start)

    def batch(self) -> Batch:
        """Return the rows as documents."""

        def values_of(place: int) -> list[Any]:
            values = [row[place] for row in self.rows]
            if self.types[place].upper() in JSON_TYPES:
                return list(map(parse_json, values))
            return [bytes(value) if isinstance(value, memoryview) else value for value in values]

        columns = take_columns(self.names, self.places, values_of, self.options.settings)
        return make_batch_of_rows(columns, self, self.options, self.names)


def read_sqlite(stream: ByteStream, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of the query, or of the only table, of a SQLite file, which is opened for
    reading only.

    Raises
    ------
    InputError
        The file is broken or not a local file; the query is wrong; or there are several tables and
        no query.
    """
    path = stream.location
    name = stream.path
    if stream.compression is not None or is_url(path) or not is_regular(path):
        raise InputError(
            "a SQLite database can be read only from a local file",
            where=name,
            hint="save it as a file, and unpack it",
        )
    query = options.settings.query
    # It is opened for reading only, with SQLite's locks. With a write-ahead log, these locks are
    # files beside the database. So one whose log is merged, which no program has open, is read
    # without locks: its folder stays as it is.
    try:
        with open(path, "rb") as file:
            is_wal = file.read(20)[19:] == bytes([WAL_MODE])
    except OSError as error:
        raise unreadable_file(path, error) from None
    address = f"file:{quote(os.path.abspath(path))}?mode=ro"
    if is_wal and not os.path.exists(path + "-wal"):
        address += "&immutable=1"
    # the threads that predict take turns to read
    with closing(sqlite3.connect(address, uri=True, check_same_thread=False)) as connection:
        connection.text_factory = _decode_text
        try:
            # views may call functions: https://sqlite.org/security.html
            connection.execute("pragma trusted_schema = off")
            if query is None:
                found = connection.execute(ALL_TABLES).fetchall()
                tables = sorted(str(table) for (table,) in found)
                if len(tables) != 1:
                    raise InputError(
                        f"has not one table, but: {format_names(tables)}",
                        where=name,
                        hint=QUERY_NEEDED,
                    )
                query = f"select * from {quote_name(tables[0])}"
            # SQLite creates a view of a `select` statement only
            connection.execute(f"create temp view nbtext_rows as {query.strip().rstrip(';')}")
            columns = connection.execute("pragma table_info(nbtext_rows)").fetchall()
            names, types = (tuple(str(column[place]) for column in columns) for place in (1, 2))
            start = SqlRows(name, names, types, options, find_fields(names, options.settings, name))
            rows = connection.execute("select * from nbtext_rows")
            yield from _read_rows(rows, start, n_bytes=stream.size or 0)
        except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
            # an error of several statements has no code
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            what = "cannot be read as SQLite"
            hint = "open it once with the program that writes it, or try sqlite3 FILE .recover"
            if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_AUTH):
                what = "the query fails"
                hint = QUERY_HINT
            raise InputError(f"{what}: {error}", where=name, hint=hint) from None


def _decode_text(content: bytes) -> str | bytes:
    """Return a text; bytes that are not valid UTF-8 as they are, so that they can be written as
    they are.
    """
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def quote_name(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def read_database(url: str, options: ReadOptions) -> Iterator[Block]:
    """Yield the rows of the query of a database at a URL, in a transaction that is rolled back.

    Raises
    ------
    InputError
        The database cannot be reached, or the query is wrong; the password is not in the message.
    MissingExtra
        SQLAlchemy is not installed.
    """
    path = hide_credentials(url, is_source=True)
    query = options.settings.query
    if url.lower().startswith("sqlite"):
        raise InputError("SQLite has files, not URLs", where=path, hint="give the path of the file")
    if query is None:
        raise InputError("a database cannot be read without a query", where=path, hint=QUERY_NEEDED)
    statement = _quoted.sub(" ", query).strip().rstrip(";")
    if ";" in statement or not _select.match(statement):
        raise InputError(
            "the query fails: it is not one select statement", where=path, hint=QUERY_HINT
        )
    try:
        import sqlalchemy
    except ImportError:
        raise MissingExtra(
            "--query of a database at a URL", library="SQLAlchemy", extra="sql"
        ) from None
    try:
        # by the driver that SQLAlchemy selects; no driver makes a file
        engine = sqlalchemy.create_engine(url)
        with ExitStack() as stack:
            stack.callback(engine.dispose)
            connection = stack.enter_context(engine.connect())
            if begin := READ_ONLY.get(engine.dialect.name):
                connection.exec_driver_sql(begin)
            options_of_query = {
                "stream_results": True,
                "max_row_buffer": BUFFERED_ROWS,
                "no_parameters": True,
            }
            rows = connection.execution_options(**options_of_query).exec_driver_sql(query)
            names = tuple(map(str, rows.keys())) if rows.returns_rows else ()
            if not names:
                raise InputError("the query returns no rows", where=path, hint=QUERY_HINT)
            places = find_fields(names, options.settings, path)
            yield from _read_rows(rows, SqlRows(path, names, ("",) * len(names), options, places))
    except ImportError as error:
        driver = error.name or "another library"
        raise InputError(
            f"needs {driver}", where=path, hint=f"install it with: pip install {driver}"
        ) from None
    except (NbtextError, MemoryError):
        raise
    except Exception as error:  # each driver has its own
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        for secret in re.findall(r"(?<=://).*(?=@)|(?<==)[^&#]+", url):
            for part in filter(None, (secret, *secret.split(":", 1)[1:])):
                reason = reason.replace(part, "***").replace(unquote(part), "***")
        raise InputError(
            f"the query fails: {reason}", where=path, hint="see --query, and check the URL"
        ) from None


def _read_rows(rows: Iterable[QueryRow], start: SqlRows, *, n_bytes: int = 0) -> Iterator[Block]:
    """Yield rows in blocks of some thousands, or about a million characters.

    start    no rows, with what all have in common
    n_bytes  the size of the file, which the first block reports
    """

    def size_of(row: QueryRow) -> int:
        return sum(len(value) for value in row if isinstance(value, str | bytes))

    first_row = 1
    for block, size in group_items(map(tuple, rows), size_of):
        made = replace(start, rows=block, first_row=first_row)
        parsed = Block(made.batch, n_bytes if first_row == 1 else 0, size)
        first_row += len(block)
        del block, made  # the block alone keeps large rows
        yield parsed
    if first_row == 1 and start.options.settings.rows_for:
        yield Block(start.batch, n_bytes)


JSON_TYPES = ("JSON", "JSONB")  # of columns of SQLite, whose values are texts
TABLE = "predictions"  # the name of the table by default
SQL_TYPES = {"text": "TEXT", "number": "REAL", "boolean": "INTEGER"}
LOCK_SECONDS = 30.0  # seconds for another program that writes to the file


def write_sqlite(
    changed: Iterable[ChangedRows], target: OutputTarget, settings: InputSettings
) -> None:
    """Write rows with columns added into a new table. Other tables of the file stay.

    Raises
    ------
    SettingsError
        The output is a terminal, or has a table of this name.
    InputError
        The query has a column of one of the names, or several sources have different columns.
    OutputError
        The file cannot be written, or is not a database.
    """
    target.refuse_terminal()
    table = target.table or TABLE
    with _open_database(target) as connection:
        if connection.execute(
            "select 1 from sqlite_schema where lower(name) = lower(?)", (table,)
        ).fetchone():
            raise SettingsError(
                f"{target.path} has a table `{table}` already",
                where="table",
                hint="give the new table another name",
            )
        first: SqlRows | None = None
        for rows, columns, _, labels in changed:
            assert isinstance(rows, SqlRows)
            if first is None:
                first = rows
                known = {name.lower() for name in rows.names}
                if len(known) < len(rows.names):
                    raise InputError(
                        "the query has two columns with the same name",
                        where=rows.path,
                        hint="name them with `as`",
                    )
                taken = [each.name for each in columns if each.name.lower() in known]
                check_new(columns, taken, rows.path)
                kinds = [*zip(rows.names, rows.types, strict=True)]  # as the source declares them
                kinds += [(each.name, SQL_TYPES.get(each.kind, "TEXT")) for each in columns]
                defined = ", ".join(f"{quote_name(name)} {kind}" for name, kind in kinds)
                connection.execute(f"create table {quote_name(table)} ({defined})")
            elif rows.names != first.names:
                raise InputError(
                    f"its columns are not those of {first.path}",
                    where=rows.path,
                    hint="write the rows of each source to a table of its own",
                )
            marks = ", ".join("?" * (len(rows.names) + len(columns)))
            new = []
            for column in columns:  # those for which SQLite has no type become text
                has_type = column.kind in SQL_TYPES
                new.append(
                    [
                        _plain_value(value if has_type or value is None else column.cells(value))
                        for value in column.values
                    ]
                )
            values = zip(*new, strict=True)
            inserted = (
                (*map(_plain_value, row), *new)
                for place, (row, new) in enumerate(zip(rows.rows, values, strict=True))
                if labels.get(place, "") is not None
            )
            connection.executemany(f"insert into {quote_name(table)} values ({marks})", inserted)


def _plain_value(value: Any) -> Any:
    """Return a value as SQLite stores it: JSON for lists and objects, text for dates and the
    like.
    """
    if value is None or isinstance(value, int | float | bytes):
        return value
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


@contextmanager
def _open_database(target: OutputTarget) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file in a transaction; a new one is made in the temporary folder, then written
    as any output.
    """
    path = target.path
    is_new = is_written_to(path) or not os.path.exists(path) or os.path.getsize(path) == 0
    try:
        with convert_errors(path), ExitStack() as stack:
            opened = path
            if is_new:
                import tempfile

                opened = os.path.join(
                    stack.enter_context(tempfile.TemporaryDirectory(prefix="nbtext-")), "new.db"
                )
            with closing(
                sqlite3.connect(opened, timeout=LOCK_SECONDS, isolation_level=None)
            ) as connection:
                connection.execute("pragma trusted_schema = off")
                connection.execute("begin immediate")
                try:
                    yield connection
                except BaseException:
                    connection.execute("rollback")
                    raise
                connection.execute("commit")
            if is_new:
                with open(opened, "rb") as made, target.open() as file:
                    copyfileobj(made, file)
    except sqlite3.Error as error:
        raise OutputError(
            f"cannot be written: {error}",
            where=path,
            hint="name a new file, or a SQLite file that can be written",
        ) from None

"""SQLite files and databases at URLs: the rows of a query are documents, and nothing is written."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from reading import read

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, NbtextError


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "t ?#%.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "create table tickets (id integer primary key, body text, queue text, price real, raw blob)"
        )
        connection.executemany(
            "insert into tickets values (?, ?, ?, ?, ?)",
            [(7, "a", "x", 1.5, b"b\xff"), (8, "", None, 2.0, None), (9, None, "y", None, b"")],
        )
    return path


def test_rows_of_a_query(database: Path) -> None:
    """The query names the columns; numbers and bytes become texts."""
    query = "select id, body as text, queue as label from tickets where body is not null order by id desc;"
    assert read(database, query=query) == [("8", ("",), None), ("7", ("a",), "x")]
    assert [
        row[1:]
        for row in read(
            database,
            query="select price as text, id as label from tickets where id < 9 order by id",
        )
    ] == [(("1.5",), "7"), (("2.0",), "8")]
    assert read(database, query="with t as (select 'a%:b' as text) select * from t")[0][1] == (
        "a%:b",
    )
    assert read(database, query="select raw as text, 7 as id from tickets where id = 7") == [
        ("7", ("b\ufffd",), None)
    ]


def test_ids_count_the_rows(database: Path) -> None:
    query = "select body as text from tickets where id < 9"
    assert [row[0] for row in read(database, query=query)] == [f"{database}:1", f"{database}:2"]


def test_the_only_table(database: Path, tmp_path: Path) -> None:
    """Without a query, all rows of the only table are read; several tables are an error that lists
    them.
    """
    assert [row[0] for row in read(database, text_field=("queue", "id"))] == ["7", "8", "9"]
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create view other as select 1")
    with pytest.raises(
        InputError,
        match=r"has not one table, but: other, tickets; give --query 'select \.\.\. from \.\.\.'",
    ):
        read(database)
    with closing(sqlite3.connect(tmp_path / "none.db")) as connection:
        connection.execute("pragma user_version = 1")
    with pytest.raises(InputError, match="has not one table, but: none; give --query"):
        read(tmp_path / "none.db")


@pytest.mark.parametrize(
    "query",
    [
        "delete from tickets",
        "select 1 as text; delete from tickets",
        "attach 'new.db' as new",
        "pragma user_version = 7",
        "select load_extension('x') as text",
        "select no_such(body) as text from tickets",
        "selec",
        "",
        "vacuum into 'new.db'",
    ],
)
def test_nothing_is_written(
    database: Path, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that would write, or that is wrong, is one line; the file and the folder stay as they
    are.
    """
    monkeypatch.chdir(tmp_path)
    path = database
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"the query (fails|returns no rows)") as raised:
        read(database, query=query)
    assert "\n" not in str(raised.value) and "see --query" in str(raised.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_folder_and_a_writer(database: Path) -> None:
    """A database in write-ahead mode, which another program has open, is read as it is at that
    time.
    """
    with closing(sqlite3.connect(database)) as other:
        other.execute("pragma journal_mode = wal")
        other.execute("insert into tickets values (10, 'new', 'z', 0, null)")
        other.commit()
        other.execute("begin immediate")
        assert len(read(database, query="select id as text from tickets")) == 4
        other.rollback()


def test_many_rows_in_blocks(tmp_path: Path, rows: Any) -> None:
    path = tmp_path / "t.db"
    texts = [f"word{n} " * (n % 90) for n in range(10_000)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (text, label)")
        connection.executemany(
            "insert into t values (?, ?)", ((text, f"l{n % 3}") for n, text in enumerate(texts))
        )
    source = open_source([str(path)], InputSettings())
    blocks = list(source.blocks())
    assert len(blocks) > 3 and sum(block.size for block in blocks) in (0, path.stat().st_size)
    assert rows(source.batches()) == [
        (f"{path}:{n + 1}", (text,), f"l{n % 3}") for n, text in enumerate(texts)
    ]


def test_what_cannot_be_read(database: Path, tmp_path: Path) -> None:
    for given, message in (
        (
            {"query": "select body from tickets"},
            "no column `text`; the columns are: body; name the column with text_field",
        ),
        ({"query": "select 1 as text", "label_field": "y"}, "no column `y`"),
    ):
        with pytest.raises(InputError, match=message):
            read(database, **given)
    (tmp_path / "t.csv").write_text("text\na\n")
    with pytest.raises(
        InputError, match=r"t\.csv: is not a database; --query selects rows of a SQLite file"
    ):
        read(tmp_path / "t.csv", query="select 1")
    with pytest.raises(
        InputError, match="h/d: a database cannot be read without a query; give --query"
    ):
        read("postgresql://u:secret@h/d")
    (batch,) = open_source(
        [str(database)], InputSettings(text_field=("body",), id_field="queue")
    ).batches()
    assert str(batch.problems[2]).endswith(
        ":3: `body` is null; name the column or key of the text with --text-field"
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://user:se%40cret@127.0.0.1:1/none", "the query fails|needs psycopg"),
        ("mysql+nosuch://user:secret@h/d", "the query fails|needs"),
        ("sqlite://u:secret@h/x.db", "SQLite has files, not URLs; give the path"),
        ("oracle://user:secret@h:notaport/d", "the query fails"),
    ],
)
def test_passwords_are_not_shown(url: str, message: str) -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(NbtextError, match=message) as raised:
        read(url, query="select 1 as text")
    assert (
        "secret" not in str(raised.value)
        and "cret" not in str(raised.value)
        and "\n" not in str(raised.value)
    )


def test_broken_files_give_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (text, label)")
        connection.executemany(
            "insert into t values (?, ?)", [(f"word{n} " * 30, "a") for n in range(200)]
        )
        connection.execute("create view v as select * from t")
        connection.execute("drop view v")
    content = path.read_bytes()
    chance = random.Random(0)
    n_refused = 0
    for number in range(300):
        broken = bytearray(content)
        if number % 3 == 0:
            del broken[chance.randrange(16, len(content)) :]
        for _ in range(30):
            broken[chance.randrange(16, len(broken))] = chance.randrange(256)
        path.write_bytes(broken)
        try:
            list(open_source([str(path)], InputSettings()).batches())
        except NbtextError as error:
            n_refused += 1
            assert "\n" not in str(error)
    assert n_refused > 50

"""`--query` with a real PostgreSQL server. Skipped where no server is installed."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import nbtext  # noqa: F401  a fixture
from made_files import write_rows
from reading import read

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, NbtextError

TEXTS = [
    ("the bins are full", "trash"),
    ("a pothole in the road", "streets"),
    ("bins", "trash"),
    ("lamp", "streets"),
]


def find_programs() -> Path | None:
    """Return the folder of the programs of a PostgreSQL server."""
    on_path = shutil.which("pg_ctl")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The folder of the socket of a server that listens nowhere else, with a table of tickets; its
    user is `nb`.
    """
    programs = find_programs()
    user = (
        {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    )
    if programs is None:
        pytest.skip("no PostgreSQL server is installed")
    # short: the path of a socket has at most 107 bytes
    folder = Path(tempfile.mkdtemp(prefix="nbpg"))
    try:
        if user:
            shutil.chown(folder, "postgres", "postgres")
    except LookupError:
        pytest.skip("there is no user that may run PostgreSQL")

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [programs / program, *arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            **user,
        )

    run("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "nb", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
    try:
        rows = ", ".join(
            f"({n}, '{text}', '{queue}', {n}.50, now(), null)"
            for n, (text, queue) in enumerate(TEXTS, 1)
        )
        statement = (
            "create table tickets (id int, body text, queue varchar(20), price numeric, at timestamptz, gone text);"
            f"insert into tickets values {rows}; create sequence numbers;"
            "create table many as select n as id, 'word' || n % 90 as text, 'l' || n % 3 as label"
            " from generate_series(1, 100000) n; create role reader login; grant select on tickets to reader"
        )
        run("psql", "-h", str(folder), "-U", "nb", "-d", "postgres", "-q", "-c", statement)
        yield str(folder)
    finally:
        run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server: str) -> str:
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    return f"postgresql+psycopg://nb:secret@/postgres?host={server}"


def test_rows_of_a_query(url: str) -> None:
    """Numbers, times and nulls are read as their text; the order is that of the query."""
    query = "select id, body as text, queue as label from tickets order by id desc;"
    expected = [(str(n), (text,), label) for n, (text, label) in enumerate(TEXTS, 1)][::-1]
    assert read(url, query=query) == expected
    rows = read(
        url,
        query="select price as id, body as text, at, gone, true as label from tickets where id = 2",
    )
    assert [(float(row[0]), row[1], row[2]) for row in rows] == [(2.5, (TEXTS[1][0],), "True")]
    assert read(url, query="select ';' as text -- ; a comment;") == [
        (f"{url.partition(':')[0]}:///postgres:1", (";",), None)
    ]
    assert read(url, query="select body as text from tickets where id > 99") == []


def test_many_rows_come_in_blocks(url: str) -> None:
    source = open_source([url], InputSettings(query="select id, text, label from many order by id"))
    sizes = [len(batch.labels) for batch in source.batches()]
    assert sum(sizes) == 100_000
    assert max(sizes) < 10_000


@pytest.mark.parametrize(
    "query",
    [
        "delete from tickets",
        "with gone as (delete from tickets returning *) select body as text from gone",
        "select 1 as text; commit; delete from tickets; commit",
        "select nextval('numbers') as text",
        "do $$ begin delete from tickets; end $$",
        "select 'a' as text from tickets for update",
        "selec",
        "",
    ],
)
def test_nothing_is_written(url: str, server: str, query: str) -> None:
    """A query that would write, or that is wrong, is one line without the password."""
    with pytest.raises(InputError, match=r"the query (fails|returns no rows)") as raised:
        read(url, query=query)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(host=server, user="nb", dbname="postgres") as connection:
        assert connection.execute("select count(*), max(length(body)) from tickets").fetchone() == (
            4,
            21,
        )
        assert connection.execute("select is_called from numbers").fetchone() == (False,)
        assert connection.execute(
            "select count(*) from pg_tables where schemaname = 'public'"
        ).fetchone() == (2,)
        assert connection.execute(
            "select count(*) from pg_stat_activity where state like 'idle in%'"
        ).fetchone() == (0,)


def test_what_cannot_be_reached(url: str) -> None:
    for wrong in (
        url.replace("nb:secret", "nobody:secret"),
        url.replace("/postgres?", "/nothing?"),
    ):
        with pytest.raises(NbtextError) as raised:
            read(wrong, query="select 1 as text")
        assert "\n" not in str(raised.value)
        assert "secret" not in str(raised.value)
    with pytest.raises(NbtextError, match="permission denied"):
        read(url.replace("nb:secret", "reader:secret"), query="select text from many")


def test_decisions_about_rows_become_json_lines(url: str, nbtext: Any, tmp_path: Path) -> None:  # noqa: F811
    """As those of a SQLite file: of all columns, without a row that is removed; the table stays."""
    query = "select id, body as text, queue as label, price, at::date as day, gone from tickets"
    decided = [
        {"id": "1", "decision": "relabel", "label": "streets"},
        {"id": "3", "place": f"{url.partition(':')[0]}:///postgres:3", "decision": "remove"},
    ]
    write_rows(tmp_path / "d.jsonl", decided)
    ask = ("review", url, "--query", f"{query} order by id", "--apply", "d.jsonl")
    done = nbtext(*ask, cwd=tmp_path).ok()
    assert "secret" not in done.out + done.err
    kept = [
        {"id": str(n), "text": text, "label": label, "price": f"{n}.50", "gone": None}
        for n, (text, label) in enumerate(TEXTS, 1)
    ]
    expected = [kept[0] | {"label": "streets"}, kept[1], kept[3]]
    found = [{name: row[name] for name in row if name != "day"} for row in done.records]
    assert [{**row, "id": str(row["id"])} for row in found] == expected
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row["day"]) for row in done.records)
    nbtext(*ask, "-o", "o.csv", cwd=tmp_path).refused(2, "the documents are written as jsonl")
    assert [row[2] for row in read(url, query=query)] == [label for _, label in TEXTS]

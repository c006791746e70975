"""SQLite files that other programs write to, which stay as they are; and small hostile files, which
stay small.
"""

import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nbtext.documents import sql
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError, NbtextWarning

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
"""
WRITE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("pragma wal_autocheckpoint = 30")
for number in range(1, 1_000_000):
    connection.execute("begin immediate")
    connection.execute("update t set text = ?", (f"{number} " * 200,))
    connection.execute("rollback" if number % 3 == 0 else "commit")
    if number == 1:
        print("ready", flush=True)
"""


@contextmanager
def another_process(program: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program, which has printed a line, until the end of the block."""
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def make(path: Path, *statements: str, n_rows: int = 5) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (text, label)")
        connection.executemany("insert into t values (?, 'a')", [("0 " * 200,)] * n_rows)
        for statement in statements:
            connection.execute(statement)
    return path


def read(path: Path | str, **given: Any) -> list[str]:
    batches = open_source([str(path)], InputSettings(**given)).batches()
    return [text for batch in batches for text in batch.columns[0]]


def look(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return all that can be seen of the files of a folder."""
    return {
        each.name: (each.read_bytes(), each.stat().st_mtime_ns, each.stat().st_ino)
        for each in folder.iterdir()
    }


ALONE: dict[str, tuple[str, ...]] = {
    "rollback": (),
    "merged": ("pragma journal_mode = wal",),
    "merged-beside-an-empty-log": ("pragma journal_mode = wal", ""),
}
HELD: dict[str, tuple[str, ...]] = {
    "wal": ("pragma journal_mode = wal", "insert into t values ('new', 'b')"),
    "wal-exclusive": (
        "pragma locking_mode = exclusive",
        "pragma journal_mode = wal",
        "insert into t values ('new', 'b')",
    ),
    "wal-unfinished": (
        "pragma journal_mode = wal",
        "insert into t values ('new', 'b')",
        "begin immediate",
        "delete from t",
    ),
    "rollback-unfinished": (
        "insert into t values ('new', 'b')",
        "begin immediate",
        "delete from t",
    ),
}
FORMS: dict[str, Callable[[Path], str]] = {
    "file": str,
    "url": lambda path: f"sqlite:///{path}",
    "driver": lambda path: f"sqlite+pysqlite:///{path}",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", [*ALONE, *HELD])
def test_the_folder_stays_as_it_is(tmp_path: Path, case: str, form: str) -> None:
    """Also beside a database that another process has open: the rows are those that it has
    committed.
    """
    path = make(tmp_path / "t.db")
    with ExitStack() as stack:
        if case in HELD:
            stack.enter_context(another_process(HOLD, str(path), *HELD[case]))
        else:
            with closing(sqlite3.connect(path)) as connection:
                for statement in filter(None, ALONE[case]):
                    connection.execute(statement)
            if "" in ALONE[case]:
                (tmp_path / "t.db-wal").touch()
        before = look(tmp_path)
        texts = read(FORMS[form](path), query="select * from t")
        assert texts == ["0 " * 200] * 5 + ["new"] * (case in HELD)
        assert look(tmp_path) == before


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_a_crash_has_left_is_read_and_stays(tmp_path: Path, mode: str) -> None:
    """A log that is not merged counts; an unfinished transaction in a rollback journal does not."""
    path = make(tmp_path / "t.db", n_rows=300)
    statements = ["pragma journal_mode = wal", "insert into t values ('new', 'b')"]
    if mode == "delete":
        statements = [
            "pragma cache_size = 2",
            "begin immediate",
            "update t set text = 'lost' || text",
        ]
    with another_process(HOLD, str(path), *statements):
        pass
    assert (
        sorted(each.name for each in tmp_path.iterdir())[1]
        == {"wal": "t.db-shm", "delete": "t.db-journal"}[mode]
    )
    before = look(tmp_path)
    texts = read(path, query="select text from t")
    assert texts == ["0 " * 200] * 300 + ["new"] * (mode == "wal")
    assert look(tmp_path) == before


def test_a_writer_that_never_pauses(tmp_path: Path) -> None:
    """Each reading sees one state: after a transaction, never within one, while the log is merged
    all the time.
    """
    path = make(tmp_path / "t.db", "pragma journal_mode = wal", n_rows=40)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
    seen = set()
    with another_process(WRITE, str(path)):
        for _ in range(40):
            try:
                texts = read(path, query="select text from t")
            except InputError as error:
                assert "writes to it all the time" in str(error)
                continue
            assert len(texts) == 40 and len(set(texts)) == 1
            seen.update(texts)
    numbers = {int(text.split()[0]) for text in seen}
    assert len(numbers) > 5 and all(number % 3 or number == 0 for number in numbers)


def test_a_change_while_it_is_read_without_locks_is_an_error(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", n_rows=9000)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma journal_mode = wal")
    blocks = open_source([str(path)], InputSettings()).blocks()
    next(blocks)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("update t set label = 'b'")
    with pytest.raises(
        InputError, match="another program has changed it while it was read; run the command again"
    ):
        list(blocks)


def test_a_copy_is_bounded_and_a_large_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "t.db")
    monkeypatch.setattr(sql, "LARGE_COPY", 100)
    with another_process(HOLD, str(path), *HELD["wal"]):
        with pytest.warns(
            NbtextWarning, match=r"t\.db: has a wal file, so that [\d,]+ bytes are copied to"
        ):
            assert len(read(path)) == 6
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
        with pytest.raises(
            InputError, match="has room for 100; set TMPDIR to a folder with more room"
        ):
            read(path)


@pytest.mark.parametrize(
    "url",
    [
        "missing.db",
        "sqlite:///missing.db",
        "sqlite+pysqlite:///missing.db",
        "sqlite+aiosqlite:///missing.db",
    ],
)
def test_a_database_that_is_missing_is_not_created(
    tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"cannot be read|needs aiosqlite"):
        read(url, query="select 1 as text")
    assert list(tmp_path.iterdir()) == []


ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select 'word ' || max(x)"
VIEWS = {
    "large": "create view v as select hex(zeroblob(400000000)) as text, 'a' as label",
    "endless": f"create view v as {ENDLESS} as text, 'a' as label from c",
    "sorted": "create view v as with recursive c(x) as (select 1 union all select x + 1 from c) "
    "select hex(randomblob(100000)) as text, 'a' as label from c order by text",
}


@pytest.mark.parametrize("case", VIEWS)
def test_a_view_of_a_small_file_takes_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """Without a query it is not read; with one, its values and its time are bounded."""
    path = tmp_path / "v.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(VIEWS[case])
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match="has 0 tables and 1 view: v; give --query"):
        read(path)
    monkeypatch.setattr(sql, "ROW_SECONDS", 0.5)
    message = "a value has more than 100,000,000 bytes; raise --max-document-bytes"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(
        InputError,
        match=message if case == "large" else r"gave no row for 0\.5 seconds; store its rows",
    ):
        read(path, query="select * from v")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


def test_columns_that_are_computed(tmp_path: Path) -> None:
    """Only columns that are named are computed, and without a query none."""
    large = "hex(zeroblob(20000000))"
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        columns = ", ".join(f"c{n} generated always as ({large})" for n in range(9))
        connection.execute(f"create table t (text, label, {columns})")
        connection.execute("insert into t values ('word', 'a')")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read(path) == read(path, query="select * from t") == ["word"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB
    for given in ({"text_field": ("c3",)}, {"id_field": "c3"}, {"keeps_rows": True}):
        with pytest.raises(
            InputError, match=r"the column `c[03]` is computed from other columns; give --query"
        ):
            read(path, **given)


def test_a_long_text_is_a_problem_of_its_row_without_a_query(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", "update t set text = hex(zeroblob(2000000)) where rowid = 2")
    batches = list(open_source([str(path)], InputSettings(max_document_bytes=1000)).batches())
    assert [list(batch.problems) for batch in batches] == [[1], []] and sum(map(len, batches)) == 5
    with pytest.raises(
        InputError, match=r"a value has more than 1,048,576 bytes.*substr\(text, 1, 100000\)"
    ):
        read(path, query="select * from t", max_document_bytes=1000)

"""SQLite files that other programs write to, or have written to."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import InputError

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
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


def make(path: Path, n_rows: int = 5) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table t (text, label)")
        connection.executemany("insert into t values (?, 'a')", [("0 " * 200,)] * n_rows)
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


JOURNALS: dict[str, tuple[str, ...]] = {
    "rollback": (),
    "merged": ("pragma journal_mode = wal",),
}
HELD: dict[str, tuple[str, ...]] = {
    "wal": ("pragma journal_mode = wal", "insert into t values ('new', 'b')"),
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


@pytest.mark.parametrize("case", JOURNALS)
def test_the_folder_stays_as_it_is(tmp_path: Path, case: str) -> None:
    path = make(tmp_path / "t.db")
    with closing(sqlite3.connect(path)) as connection:
        for statement in JOURNALS[case]:
            connection.execute(statement)
    before = look(tmp_path)
    assert read(path, query="select * from t") == ["0 " * 200] * 5
    assert look(tmp_path) == before


@pytest.mark.parametrize("case", HELD)
def test_what_another_process_has_committed_is_read(tmp_path: Path, case: str) -> None:
    path = make(tmp_path / "t.db")
    with another_process(HOLD, str(path), *HELD[case]):
        assert read(path, query="select * from t") == ["0 " * 200] * 5 + ["new"]


def test_the_log_that_a_crash_has_left_is_read(tmp_path: Path) -> None:
    path = make(tmp_path / "t.db", n_rows=300)
    with another_process(HOLD, str(path), *HELD["wal"]):
        pass
    assert (tmp_path / "t.db-wal").exists()
    assert read(path, query="select text from t") == ["0 " * 200] * 300 + ["new"]


def test_the_journal_that_a_crash_has_left_is_an_error(tmp_path: Path) -> None:
    """SQLite can only read the database after it has written to it."""
    path = make(tmp_path / "t.db", n_rows=300)
    statements = ["pragma cache_size = 2", "begin immediate", "update t set text = 'lost' || text"]
    with another_process(HOLD, str(path), *statements):
        pass
    before = look(tmp_path)
    for query in (None, "select * from t"):
        with pytest.raises(InputError, match=r"t\.db: cannot be read as SQLite: .*; open it once"):
            read(path, query=query)
    assert look(tmp_path) == before

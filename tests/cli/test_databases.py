"""`--query`: training on a SQLite file, labeling its rows into a table of another file; and
databases at URLs.
"""

import shlex
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from made_files import read_cases

QUERY = ("--query", "select id, body as text, queue as label from tickets")
LABEL = (
    "predict",
    "tickets.db",
    "--query",
    "select * from tickets",
    "--text-field",
    "body",
    "--add-columns",
)


@pytest.fixture(scope="module")
def folder(letters: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo corpus as a database."""
    path = tmp_path_factory.mktemp("database")
    with closing(sqlite3.connect(path / "tickets.db")) as connection, connection:
        connection.execute(
            "create table tickets (id integer primary key, body text, queue varchar(9), price numeric, x)"
        )
        files = sorted((letters / "train").glob("*/*"))
        connection.executemany(
            "insert into tickets values (?, ?, ?, ?, ?)",
            [
                (n, file.read_text(), file.parent.name, 1.5, b"\0\xff")
                for n, file in enumerate(files)
            ],
        )
        connection.execute("create table other (a)")
    return path


def select(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_train_and_evaluate(nbtext: Any, folder: Path, letters: Path, tmp_path: Path) -> None:
    """The counts are those of the same texts in files; the model remembers the fields, and a file
    is only read.
    """
    before = (folder / "tickets.db").read_bytes()
    models = []
    for source in (("tickets.db", *QUERY), (str(letters / "train"),)):
        out = str(tmp_path / "m")
        nbtext("train", *source, "--model", "multinomial", "-o", out, cwd=folder).ok()
        models.append(nbtext(f"inspect {out} --to json").json)
    assert models[0]["labels"] == models[1]["labels"]
    result = nbtext(
        "evaluate", "tickets.db", *QUERY, "-m", str(tmp_path / "m"), "--to", "json", cwd=folder
    )
    assert result.json["accuracy"] > 0.9
    assert (folder / "tickets.db").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["tickets.db"]


def test_a_table_of_another_file(nbtext: Any, folder: Path, model: str, tmp_path: Path) -> None:
    """Values and declared types stay; a second table is added beside; for any number of threads."""
    out = tmp_path / "out.db"
    options = (
        "--columns",
        "label,probability,outlier",
        "--top-k",
        "2",
        "-m",
        model,
        "-o",
        str(out),
    )
    for jobs, table in (("1", ()), ("3", ("--table", "second run"))):
        result = nbtext(*LABEL, *options, *table, "-q", "-j", jobs, cwd=folder)
        assert (result.status, result.out, result.err) == (0, "", ""), result.err
    found = select(out, "select * from predictions")
    assert found == select(out, 'select * from "second run"')
    assert [row[:5] for row in found] == select(folder / "tickets.db", "select * from tickets")
    assert [(row[1], row[2]) for row in select(out, "pragma table_info(predictions)")] == [
        ("id", "INTEGER"),
        ("body", "TEXT"),
        ("queue", "varchar(9)"),
        ("price", "numeric"),
        ("x", ""),
        ("label", "TEXT"),
        ("probability", "REAL"),
        ("outlier", "INTEGER"),
        ("label_1", "TEXT"),
        ("probability_1", "REAL"),
        ("label_2", "TEXT"),
        ("probability_2", "REAL"),
    ]
    ask = (
        "predict",
        "tickets.db",
        "--query",
        "select body as text, id from tickets",
        "-m",
        model,
        "--to",
        "jsonl",
    )
    records = nbtext(*ask, cwd=folder).records
    for row, record in zip(found, records, strict=True):
        assert (str(row[0]), row[5]) == (record["id"], record["label"])
        assert row[6] == pytest.approx(record["probability"], abs=1e-6)


REFUSED = read_cases("""
LABEL -o tickets.db => tickets.db is also an input
LABEL -o full.db => --table: full.db has a table `predictions` already; give the new table another name
LABEL -o text.db => text.db: cannot be written: file is not a database
LABEL -o none/x.db => none/x.db: cannot be written: no such file or directory; make its folder first
LABEL -o x.db --table '' => --table: the name of the table is empty; name it, or leave out --table
LABEL -o x.db.gz => -o: x.db.gz: sqlite is not compressed as a whole; leave out .gz
LABEL -o out.md => the rows are written as sqlite, the format of SOURCE; out.md says .md
predict tickets.db --query 'select body as text, 1 as Label from tickets' --add-columns -o out => there is a column `label` already; --column-prefix
predict tickets.db --query 'select none' -o out.tsv => the query fails: no such column: none
predict tickets.db -o out.tsv => has not one table, but: other, tickets; give --query
predict t.csv --table x --add-columns -o out => --table: csv has no tables; leave out --table
predict t.csv --query 'select 1' -o out.csv => t.csv: is not a database
""")


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_refused(
    nbtext: Any, folder: Path, model: str, tmp_path: Path, arguments: str, message: str
) -> None:
    """One line, and no file changes or is left behind."""
    (tmp_path / "tickets.db").write_bytes((folder / "tickets.db").read_bytes())
    (tmp_path / "text.db").write_text(
        "not a database, but a text that is long enough to be one" * 99
    )
    (tmp_path / "t.csv").write_text("text\nbins\n")
    with closing(sqlite3.connect(tmp_path / "full.db")) as connection:
        connection.execute("create table Predictions (a)")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = shlex.split(arguments.replace("LABEL", shlex.join(LABEL)))
    result = nbtext(*words, "-m", model)
    assert result.status in (1, 2) and result.out == ""
    assert message in result.err, result.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_run_that_fails_in_between_leaves_nothing(
    nbtext: Any, folder: Path, model: str, tmp_path: Path
) -> None:
    """If the second source has other columns, neither a new file nor a new table is left behind."""
    with closing(sqlite3.connect(tmp_path / "b.db")) as connection, connection:
        connection.execute("create table t (body text)")
        connection.execute("insert into t values ('bins')")
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection:
        connection.execute("create table t (a)")
    (tmp_path / "a.db").write_bytes((folder / "tickets.db").read_bytes())
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("drop table other")
    for out in ("new.db", "old.db"):
        ask = f"predict a.db b.db --text-field body --add-columns -m {model} -o {out}"
        result = nbtext(ask)
        assert result.status == 1 and "b.db: its columns are not those of a.db" in result.err
    assert select(tmp_path / "old.db", "select name from sqlite_schema") == [("t",)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.db", "b.db", "old.db"]

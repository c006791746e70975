"""Long texts are read one after the other, so that their copies do not add up in memory."""

import gzip
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

# texts, and bytes of each
N = 6
SIZE = 24_000_000
TEXT = b"word " * (SIZE // 5)
MEASURED = """
import os, sys
from nbtext.cli.main import run_command
try:
    run_command(sys.argv[1:])
finally:
    print(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""


def _join(start: bytes, row: Callable[[bytes], bytes], end: bytes = b"") -> bytes:
    return start + b"".join(row(b"ab"[number % 2 :][:1]) for number in range(N)) + end


TEXTS: dict[str, Callable[[], bytes]] = {
    "t.jsonl": lambda: _join(b"", lambda label: b'{"label": "%s", "text": "%s"}\n' % (label, TEXT)),
    "t.json": lambda: _join(
        b'[{"label": "a", "text": ""}',
        lambda label: b',{"label": "%s", "text": "%s"}' % (label, TEXT),
        b"]",
    ),
    "t.csv": lambda: _join(b"text,label\n", lambda label: b'"%s",%s\n' % (TEXT, label)),
    "t.tsv": lambda: _join(b"text\tlabel\n", lambda label: b"%s\t%s\n" % (TEXT, label)),
    "t.txt": lambda: _join(b"", lambda label: b"__label__%s %s\n" % (label, TEXT)),
    "t.mbox": lambda: _join(
        b"", lambda label: b"From a@b.c Thu Nov 21 03:37:00 2024\nX-L: %s\n\n%s\n\n" % (label, TEXT)
    ),
}


def _write(path: Path) -> None:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(TEXTS[path.stem](), 1))
    elif path.name in TEXTS:
        path.write_bytes(TEXTS[path.name]())
    elif path.suffix == ".db":
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table t (text, label)")
            connection.executemany(
                "insert into t values (?, ?)", [(TEXT.decode(), "ab"[n % 2]) for n in range(N)]
            )
    else:
        _write_arrow(path)


def _write_arrow(path: Path) -> None:
    """Write a file of a few kilobytes, whose rows have one text."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import feather, ipc
    from pyarrow import parquet as pq

    text = pa.DictionaryArray.from_arrays(pa.array([0] * N, pa.int32()), pa.array([TEXT.decode()]))
    table = pa.table({"text": text, "label": ["a", "b"] * (N // 2)})
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
    elif path.suffix == ".feather":
        feather.write_feather(table, path, compression="zstd")
    else:
        with ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)


NAMES = [*TEXTS, "t.jsonl.gz", "t.csv.gz", "t.db", "t.parquet", "t.feather", "t.arrows"]
# the csv module and pyarrow have buffers of several times a text
LARGER = ("t.csv", "t.csv.gz", "t.tsv", "t.parquet", "t.arrows")
# with two texts at once it was 267,000 and 397,000 at least
MAX_KIB = 255_000
MAX_OF_LARGER = 340_000


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.csv").write_text("text,label\nword one,a\ntwo bins,b\nword three,a\nbins four,b\n")
    _run(folder, "train", "t.csv", "-o", "m.joblib")
    return folder / "m.joblib"


def _run(folder: Path, *arguments: str) -> int:
    """Run a command, and return the peak of its memory in KiB."""
    command = [sys.executable, "-c", MEASURED, *arguments, "-q"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return int(done.stdout)


@pytest.mark.exhaustive(every=3)
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of the memory is that of Linux")
@pytest.mark.parametrize("name", NAMES)
def test_memory(tmp_path: Path, model: Path, name: str) -> None:
    """Two threads hold a few copies of one text, not of several."""
    _write(tmp_path / name)
    options = ["-j", "2", *(["--label-field", "X-L"] if name == "t.mbox" else [])]
    most = MAX_OF_LARGER if name in LARGER else MAX_KIB
    # words alone: those of pairs are more than the text
    assert _run(tmp_path, "train", name, "-o", "m.joblib", "--ngrams", "1,1", *options) < most
    # the other formats give threads their blocks in the same way
    if name in ("t.jsonl", "t.mbox", "t.parquet"):
        assert _run(tmp_path, "predict", name, "-m", str(model), "-o", "o.jsonl", *options) < most
        assert len((tmp_path / "o.jsonl").read_text().splitlines()) == N

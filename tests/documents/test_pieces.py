"""The format, the separator and the quotes of a pipe are the same however its bytes arrive."""

import gzip
import io
import pickle
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_files import write_rows

from nbtext.errors import InputError

MAIL = (
    b"Received: from a.example.org\n\tby b.example.org; Thu, 21 Nov 2024 03:37:00 +0000\n"
    b"X-Odd: 1\nSubject: win\nFrom: ada@example.org\n\ncash now\n\nmore\n"
)
LINES = b"note: buy milk\nsecond line\nthird\n"
TABLE = b'text;label\r\n"a; ""b""";x\r\nc; "d, e" \r\n'
ROW = {"input_unit": "row"}
CSV = {"input_format": "csv"}


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("line.txt"))
    return file.getvalue()


COLUMNS = ("parquet", "db", "arrow")  # the first two are read from a file only
CASES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "mail": (MAIL, {}),
    "mail of a filter": (MAIL, {"reads_one_mail": True}),
    "mbox": (b"From ada@example.org Thu Nov 21 03:37:00 2024\n" + MAIL + b"\nFrom b@c\n" + MAIL, {}),
    "mbox without a date": (b"\nFrom nobody\n" + MAIL, {}),
    "lines": (LINES, {}),
    "blank lines first": (b"\n \n" + LINES, {}),
    "one line": (b"Subject: a line", {}),
    "lines of Latin-1": ("größe: 1\nzwei\n".encode("latin-1"), {"encoding": "latin-1"}),
    "lines in UTF-16": (LINES.decode().encode("utf-16"), {}),
    "JSON lines": (b'\n{"text": "a", "label": "x"}\n{"text": "b"}\n', {}),
    "JSON": (b'\xef\xbb\xbf[\n{"text": "a"},\n {"text": "b\\n"}]', {}),
    "fastText": (b"__label__a one\n__label__b two\n", {}),
    "a table": (TABLE, CSV),
    "blanks before quotes": (b'text,label\na,b\n"c, d", "e"\n', CSV),
    "a table with blank lines first": (b"\n\n" + TABLE, CSV),
    "a table that names its separator": (b"sep=|\r\ntext|label\r\na|b\r\n", CSV),
    "a table in UTF-16": (TABLE.decode().encode("utf-16"), CSV),
    "a table of a model": (b"text\tlabel\na\tb\n", ROW),
    "a table of a Mac": (b"text,label\ra,b\r", CSV),
    "quotes that do not balance": (b'text,label\n"a,x\nb,x\nc "d" e,y\n', CSV),
    "TSV": (b'text\tlabel\n"a\nb"\tx\n"c\td\n', {"input_format": "tsv"}),
    "compressed": (gzip.compress(MAIL), {}),
    "Matrix Market": (b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n", {}),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\nx\n", {}),
    "a PDF file": (b"%PDF-1.4\n%\xe2\xe3\n", {}),
    "an archive": (_tar()[:1000], {}),
    "a pickle": (pickle.dumps({"text": "nbtext\n" * 9}), {}),
    "binary": (b"\x01\x02\n" + bytes(20) + b"\nabc\n", {}),
    "binary after a line": (b"a line\n" + bytes(20) + b"\nabc\n", {}),
    "binary after an object": (b'{"text": "a"}\n' + bytes(2), {}),
    "binary after a table of a model": (b"text\tlabel\na\tb\n\0\n", ROW),
    "binary after a line of a model of files": (b"a line\nb\0\n", {"input_unit": "file"}),
    "NULs of a format that was named": (b"a line\n\0\n", {"input_format": "lines"}),
}  # fmt: skip


def _outcome(opened: Any, rows: Any, source: str, settings: dict[str, Any]) -> Any:
    """What a source holds, without its name."""
    try:
        found = opened(source, **settings)
        batches = list(found.batches())
    except InputError as error:
        return str(error).replace(f"{source}:", "").replace("-: ", " ")
    problems = [[each.what for each in batch.problems.values()] for batch in batches]
    documents = [(texts, label) for _, texts, label in rows(batches)]
    return found.input_unit, documents, [each for each in problems if each]


@pytest.mark.filterwarnings("ignore::nbtext.errors.NbtextWarning")
@pytest.mark.parametrize("name", [*CASES, *COLUMNS])
def test_a_pipe_holds_what_a_file_holds(
    opened: Any, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Byte by byte, and cut in two at each place."""
    if name in COLUMNS:
        write_rows(tmp_path / f"t.{name}", [{"text": "a", "label": "x"}])
    content, settings = CASES.get(name) or ((tmp_path / f"t.{name}").read_bytes(), {})

    def read(pieces: Iterator[bytes]) -> Any:
        # which has no number of a file
        buffer = SimpleNamespace(read=lambda _: next(pieces, b""), fileno=io.BytesIO().fileno)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
        return _outcome(opened, rows, "-", settings)

    expected = read(iter([content]))
    if name in COLUMNS[:2]:
        assert "save it as a file" in expected
    elif settings != ROW:  # by which a pipe, but no file without a suffix, is a table
        (tmp_path / "x").write_bytes(content)
        assert _outcome(opened, rows, str(tmp_path / "x"), settings) == expected
    assert read(content[place : place + 1] for place in range(len(content))) == expected
    for place in range(1, len(content)):
        assert read(iter([content[:place], content[place:]])) == expected, place


@pytest.mark.parametrize("first", ["hello there\n", '{"text": "a"}\n', "__label__x a\n", "größe\n"])
def test_the_first_line_is_enough_for_an_answer(
    opened: Any, rows: Any, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """A program that writes a line and waits for the answer gets it."""
    read = iter([first.encode()])

    def wait(_: int) -> bytes:
        return next(read)  # StopIteration: it would wait

    buffer = SimpleNamespace(read=wait, fileno=io.BytesIO().fileno)  # which it does not have
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    block = next(opened("-").blocks())
    assert len(rows([block.batch()])) == 1

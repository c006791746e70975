"""The detection of formats, pipes and standard input, and several sources."""

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.documents.streams import is_matrix_file
from nbtext.errors import InputError, SettingsError
from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix import Columns, Matrix, save_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

READ = """
import sys, json
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
source = open_source(["-"], InputSettings(**json.loads(sys.argv[1])))
for batch in source.batches():
    for row, (identity, text, label) in enumerate(zip(batch.ids, batch.columns[0], batch.labels)):
        print(json.dumps([identity, text, label, source.is_live]), flush=True)
"""


def piped(content: bytes, **settings: Any) -> list[Any]:
    """Return what a process reads from its standard input."""
    arguments = [sys.executable, "-c", READ, json.dumps(settings)]
    done = subprocess.run(arguments, input=content, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("x.jsonl", '{"text": "a"}\n', ["a"]),
        ("x.NDJSON", '{"text": "a"}\n', ["a"]),
        ("x", ' {"text": "a"}\n', ["a"]),
        ("x.log", "__label__x a\n", ["a"]),
        ("x.txt", "__label__x a\n", ["a"]),
        ("x.txt", "a __label__x\n", ["a __label__x"]),
        ("x.txt", '{"text": "a"}\n', ['{"text": "a"}']),
        ("x.md", "a\nb\n", ["a", "b"]),
        ("x", "From a@b Thu Nov 21 03:37:00 2024\n\na\n", ["\na\n"]),
        ("x", "From the start\na\n", ["From the start", "a"]),
        ("x.tab", "text\tlabel\na\tb\n", ["a"]),
        ("x.txt", "a\0b\n", ["a\0b"]),
    ],
)
def test_the_format_is_told_by_name_and_first_bytes(
    read: Any, tmp_path: Path, name: str, content: str, texts: list[str]
) -> None:
    """A known suffix decides; of .txt files and others the first line does."""
    (tmp_path / name).write_text(content)
    assert [found[0] for _, found, _ in read(tmp_path / name)] == texts


@pytest.mark.parametrize("form", ["lines", "fasttext", "jsonl", "csv", "tsv", "mbox", "files"])
def test_the_format_may_be_said(read: Any, tmp_path: Path, form: str) -> None:
    """--input-format takes precedence over the suffix."""
    content = {
        "jsonl": '{"text": "a"}\n',
        "csv": "text\na\n",
        "tsv": "text\na\n",
        "fasttext": "a\n",
    }.get(form, "a\n")
    (tmp_path / "x.eml").write_text(content)
    ((_, texts, _),) = read(tmp_path / "x.eml", input_format=form)
    assert texts[0].strip() == "a"


@pytest.mark.parametrize("form", ["jsonl", "csv", "fasttext", "lines"])
def test_a_tree_may_hold_files_of_a_format(read: Any, tmp_path: Path, form: str) -> None:
    """With --input-format a directory is all the files of that format in it, compressed or not."""
    content = {"jsonl": '{"text": "a"}\n', "csv": "text\na\n"}.get(form, "a\n")
    for name in ("1", "part/2"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert [texts for _, texts, _ in read(tmp_path, input_format=form)] == [("a",), ("a",)]


@pytest.mark.parametrize("content", [b"\x7fELF\2\1\1\0\0\0", b"\x89PNG\r\n\x1a\n\0\0", b"\0\0\0\0"])
def test_a_binary_file_is_refused(read: Any, tmp_path: Path, content: bytes) -> None:
    """A file of no known name that holds NULs is not text, unless --input-format says that it
    is.
    """
    (tmp_path / "x.bin").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.bin: is an? (program|image|binary file), not text"):
        read(tmp_path / "x.bin")
    assert read(tmp_path / "x.bin", input_format="lines")


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"input_format": "pdf"}, "input_format"),
        ({"text_field": ()}, "text_field"),
        ({"max_document_bytes": 0}, "max_document_bytes"),
        ({"max_document_bytes": 2**63}, "max_document_bytes"),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, settings: dict[str, Any], where: str) -> None:
    """Unknown choices are wrong usage."""
    with pytest.raises(SettingsError) as caught:
        open_source([str(tmp_path)], InputSettings(**settings))
    assert caught.value.where == where


@pytest.mark.parametrize("name", ["1.csv", "1.tsv", "1.jsonl", "1.mbox", "1.txt", "tree"])
def test_a_limit_may_be_as_high_as_can_be_counted(read: Any, tmp_path: Path, name: str) -> None:
    """Each reader works with the highest max_document_bytes that is accepted."""
    contents = {"1.jsonl": '{"text": "a"}', "1.mbox": "From a@b\n\na"}
    path = tmp_path / name / "label" / "1" if name == "tree" else tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(contents.get(name, "text\na\n"))
    documents = read(tmp_path / name, max_document_bytes=2**62)
    assert [texts[0].split()[-1] for _, texts, _ in documents][-1] == "a"


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_file_is_named(read: Any, tmp_path: Path, form: int) -> None:
    """An archive is to be unpacked, compressed or not; it is neither read as lines, nor a document
    of a directory.
    """
    (tmp_path / "x").write_text("some words")
    for name, mode in (("x.tar", "w"), ("x.tar.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode, format=form) as archive:
            archive.add(tmp_path / "x", "x")
        with pytest.raises(InputError, match="is an archive, not text; unpack it first"):
            read(tmp_path / name)
    assert [texts for _, texts, _ in read(tmp_path)] == [("some words",)]


def test_documents_of_a_named_pipe_are_kept(tmp_path: Path) -> None:
    """What a shell writes to <(COMMAND) can be read once, although the path exists; a search reads
    it several times.
    """
    (tmp_path / "file.txt").write_text("one\ntwo\n")
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=(tmp_path / "pipe").write_text, args=["three\n"], daemon=True).start()
    source = open_source(
        [str(tmp_path / "file.txt"), str(tmp_path / "pipe")], InputSettings(input_format="lines")
    )
    source.keep_documents()
    expected = [["one", "two"], ["three"]]
    assert [[each.columns[0] for each in source.batches()] for _ in range(3)] == [expected] * 3


def test_files_without_fields_have_none_to_keep_apart(opened: Any, tmp_path: Path) -> None:
    """--separate-fields with several fields is wrong usage for plain texts."""
    (tmp_path / "x.txt").write_text("a\n")
    options = {"separate_fields": True, "text_field": ("title", "body")}
    for path in (tmp_path, tmp_path / "x.txt"):
        with pytest.raises(SettingsError, match="has no fields to keep separate"):
            list(opened(path, **options).blocks())
    (batch,) = opened(tmp_path / "x.txt", separate_fields=True).batches()
    assert batch.columns == (["a"],)


def test_several_sources_are_one(read: Any, opened: Any, tmp_path: Path) -> None:
    """Sources follow one another; their sizes add up where they count the same."""
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.jsonl").write_text('{"text": "b"}\n')
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "1").write_text("c")
    paths = [tmp_path / "b.jsonl", tmp_path / "c", tmp_path / "a.txt"]
    assert [texts for _, texts, _ in read(*paths)] == [("b",), ("c",), ("a",)]
    assert (opened(*paths).size, opened(paths[0], paths[2]).size, opened(paths[1]).unit) == (
        None,
        16,
        "files",
    )
    with pytest.raises(InputError, match="no SOURCE is given"):
        opened()


def test_dirs_of_a_file_and_a_file_of_dirs(opened: Any, tmp_path: Path) -> None:
    """A format that does not fit the path is an error."""
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(InputError, match="is not a directory"):
        opened(tmp_path / "a.txt", input_format="dirs")
    with pytest.raises(InputError, match="is a directory, not a matrix file"):
        opened(tmp_path, input_format="matrix")


def test_standard_input_is_told_by_its_first_bytes() -> None:
    """`-` reads JSON lines, fastText's lines or plain lines; ids are the numbers of lines."""
    assert piped(b'{"text": "a", "label": "x"}\n') == [["1", "a", "x", True]]
    assert piped(b"__label__x a\nb") == [["1", "a", "x", True], ["2", "b", None, True]]
    assert piped(b"a\n\nb") == [
        ["1", "a", None, True],
        ["2", "", None, True],
        ["3", "b", None, True],
    ]
    assert piped(b"") == []
    assert piped(b"text\nb\n", input_format="csv") == [["2", "b", None, False]]
    assert piped(b"one\ndocument", input_format="files") == [["-", "one\ndocument", None, False]]
    assert piped(b"Subject: a\n\nb", input_format="mbox") == [["1", "a\nb", None, False]]


def test_each_line_from_a_pipe_comes_at_once() -> None:
    """A co-process that waits for each answer gets it: a line is read as soon as it is whole."""
    process = subprocess.Popen(
        [sys.executable, "-c", READ, "{}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(1, 4):
        process.stdin.write(f"line {number}\nhalf".encode())
        assert json.loads(process.stdout.readline()) == [
            str(number),
            f"{'half' * (number > 1)}line {number}",
            None,
            True,
        ]
    process.stdin.close()
    assert json.loads(process.stdout.readline()) == ["4", "half", None, True]
    assert process.wait() == 0
    process.stdout.close()


def test_a_fifo_is_read_like_a_pipe(opened: Any, tmp_path: Path) -> None:
    """A named pipe as SOURCE, as <(command) makes one, is read once from its front; looking into it
    uses up nothing.
    """
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def write() -> None:
        with open(fifo, "wb", buffering=0) as file:
            file.write(b'{"text": "a"}\n{"te')
            time.sleep(0.1)
            file.write(b'xt": "b"}\n')

    writer = threading.Thread(target=write)
    writer.start()
    assert not is_matrix_file(str(fifo))
    source = opened(fifo)
    assert (source.size, source.is_live) == (None, True)
    assert [text for batch in source.batches() for text in batch.columns[0]] == ["a", "b"]
    writer.join()


def test_a_matrix_is_a_source(opened: Any, tmp_path: Path) -> None:
    """is_matrix tells a matrix by its first bytes, whatever its name; its rows are documents
    without texts.
    """
    names = Vocabulary.from_terms(["a"])
    ones = np.ones(1, dtype=np.int32)
    columns = Columns(FeatureSettings(), names, Weighting())
    rows = DocumentTable.from_texts(np.array([0, 1]), ones * 0, ones, np.zeros(1, np.int64))
    matrix = Matrix(rows, names, 1, ["1"], [None], columns)
    for name in ("x.npz", "x"):
        with open(tmp_path / name, "wb") as file:
            save_matrix(matrix, file)
        assert is_matrix_file(str(tmp_path / name))
        batches = list(opened(tmp_path / name).batches())
        assert [list(batch.ids) for batch in batches] == [["1"]]
        assert batches[0].matrix is not None
    (tmp_path / "y.npz").write_text("text")
    assert not is_matrix_file(str(tmp_path / "y.npz"))
    assert not is_matrix_file(str(tmp_path))


def test_another_standard_input_will_do(monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    """An object that replaces sys.stdin is read, too; a closed standard input is an error."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert read("-") == [("1", ("a",), None), ("2", ("b",), None)]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"):
        read("-")


def test_reading_imports_only_what_it_needs() -> None:
    """Opening a directory imports neither the mail library nor csv, json, lzma or NumPy."""
    code = (
        "import sys, nbtext.documents.source; "
        "print([name for name in ('email', 'csv', 'json', 'lzma', 'bz2', 'numpy', 'tempfile') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

"""The matrix file: it is read as written, opened by SciPy, and checked."""

import gzip
import io
import json
import os
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, load_npz

from nbtext.documents.names import pack_names
from nbtext.documents.streams import is_matrix_file
from nbtext.errors import InputError
from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix import Columns, Matrix, load_matrix, save_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting

FIVE = Vocabulary.from_terms(["", "caf\u00e9", "word", "\ud83d\ude00 pair", "\udcff lone"])


def columns_of(names: Vocabulary | None, **settings: Any) -> Columns:
    return Columns(FeatureSettings(**settings), names, Weighting())


def rows(indptr: Any, indices: Any, data: Any) -> DocumentTable:
    return DocumentTable.from_texts(indptr, indices, data, np.zeros(len(indptr) - 1, np.int64))


ROWS = {
    "indptr": np.array([0, 2, 2, 4], dtype=np.int64),
    "indices": np.array([0, 4, 1, 2], dtype=np.int32),
    "data": np.array([1, 2, 1, 3], dtype=np.int32),
}


def example(names: Vocabulary | None = FIVE, **changes: Any) -> Matrix:
    """Three documents, five features."""
    matrix = Matrix(
        rows(**{name: changes.pop(name, array) for name, array in ROWS.items()}),
        names,
        5,
        ["a", "b\n", "\udcff"],
        ["x", None, ""],
        columns_of(names, ngrams=(1, 2)),
    )
    return replace(matrix, **changes)


def written(matrix: Matrix) -> bytes:
    buffer = io.BytesIO()
    save_matrix(matrix, buffer)
    return buffer.getvalue()


def same(one: Matrix, other: Matrix) -> bool:
    """Whether both are the same file, and have the same features and documents."""
    fields = "names", "ids", "labels", "features", "input", "n_features"
    is_same = all(getattr(one, name) == getattr(other, name) for name in fields)
    return is_same and written(one) == written(other)


def test_a_matrix_is_read_back(tmp_path: Path) -> None:
    """Numbers, names, ids, labels (none and the empty one apart) and settings are as they were."""
    (tmp_path / "x.npz").write_bytes(written(example()))
    assert same(load_matrix(str(tmp_path / "x.npz")), example())


@settings(max_examples=60)
@given(st.data())
def test_any_matrix_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Matrices of any shape, with empty rows and no columns."""
    n_documents = data.draw(st.integers(0, 5))
    n_features = data.draw(st.integers(0, 5))
    dense = np.array(
        data.draw(
            st.lists(
                st.integers(0, 2),
                min_size=n_documents * n_features,
                max_size=n_documents * n_features,
            )
        ),
        dtype=np.int32,
    ).reshape(n_documents, n_features)
    counts = csr_array(dense)
    names = sorted(
        data.draw(st.sets(st.text(max_size=3), min_size=n_features, max_size=n_features))
    )
    vocabulary = Vocabulary.from_sorted(names)
    ids = data.draw(st.lists(st.text(max_size=3), min_size=n_documents, max_size=n_documents))
    matrix = Matrix(
        rows(counts.indptr.astype(np.int64), counts.indices, counts.data),
        vocabulary,
        n_features,
        ids,
        [None] * n_documents,
        columns_of(vocabulary),
    )
    path = tmp_path_factory.mktemp("matrix") / "x.npz"
    path.write_bytes(written(matrix))
    assert same(load_matrix(str(path)), matrix)
    assert np.array_equal(load_matrix(str(path)).csr().toarray(), dense)


def test_labels_are_trimmed() -> None:
    """Labels are those of other formats: without white space at their ends, and missing if
    blank.
    """
    one_each = example(labels=[" a\r\n", "\u00a0", None]).batch()
    assert one_each.list_labels() == [("a",), None, None]
    lists = example(labels=[(" a", "a\t", " "), ("b",), None]).batch()
    assert lists.list_labels() == [("a",), ("b",), None]


def test_scipy_opens_it(tmp_path: Path) -> None:
    """scipy.sparse.load_npz opens the file as it is."""
    (tmp_path / "x.npz").write_bytes(written(example()))
    loaded = load_npz(tmp_path / "x.npz")
    assert isinstance(loaded, csr_array)
    assert loaded.toarray().tolist() == [[1, 0, 0, 0, 2], [0] * 5, [0, 1, 3, 0, 0]]


def test_a_pipe_gets_the_same_bytes() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb") as writer:
        save_matrix(example(), writer)
        writer.close()
        assert reader.read() == written(example())


@pytest.mark.parametrize("compress", [lambda data: data, gzip.compress])
def test_a_matrix_comes_through_a_pipe(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    """A matrix is told and read from a pipe, compressed or not."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(compress(written(example()))))
    writer.start()
    assert is_matrix_file(str(fifo))
    assert same(load_matrix(str(fifo)), example())
    writer.join()


def test_hashed_features_have_no_names(tmp_path: Path) -> None:
    """A matrix of hashed features has columns without names."""
    hashed = example(None, n_features=2**20, columns=columns_of(None, hash_bits=20))
    (tmp_path / "x.npz").write_bytes(written(hashed))
    assert load_matrix(str(tmp_path / "x.npz")).csr().shape == (3, 2**20)


def named(letters: str) -> dict[str, Any]:
    return names_at(*pack_names(list(letters)))


def names_at(blob: Any, offsets: Any) -> dict[str, Any]:
    names = Vocabulary(blob, np.array(offsets))
    return {"vocabulary": names, "columns": columns_of(names)}


LIES: list[tuple[str, dict[str, Any], str]] = [
    (
        "a row ends before it begins",
        {"indptr": np.array([0, 3, 2, 4])},
        "should ascend from 0 to 4",
    ),
    ("rows end after the entries", {"indptr": np.array([0, 2, 2, 5])}, "should ascend from 0 to 4"),
    ("more ids than rows", {"ids": ["a"] * 4, "labels": [None] * 4}, "not equally long"),
    ("fewer labels than rows", {"labels": ["x"]}, "one number of labels for each document"),
    (
        "a column that is not there",
        {"indices": np.array([0, 5, 1, 2], np.int32)},
        "column number is out of range",
    ),
    (
        "a column twice",
        {"indices": np.array([4, 4, 1, 2], np.int32)},
        "columns of a row should ascend",
    ),
    ("weights without counts", {"data": np.array([1, 0.5, 1, 1])}, "lacks the counts"),
    ("other numbers", {"indptr": np.array([0, 2, 2, 4], np.uint8)}, "indptr is not a list of"),
    ("fewer names than columns", named("abcd"), "column number is out of range"),
    ("a name twice", named("aabcd"), "distinct and sorted"),
    (
        "names in the middle of a character",
        names_at(FIVE.blob, [0, 1, 1, 4, 5, 18]),
        "feature names",
    ),
    ("offsets that go back", names_at(FIVE.blob, [0, 9, 1, 2, 3, 21]), "feature names"),
    (
        "offsets beyond the names",
        names_at(FIVE.blob, [0, 1, 2, 3, 4, 2**60]),
        "feature names",
    ),
]


@pytest.mark.parametrize(
    ("changes", "says"), [lie[1:] for lie in LIES], ids=[lie[0] for lie in LIES]
)
def test_parts_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    """Inconsistent parts are refused in one line with the name of the file."""
    path = tmp_path / "x.npz"
    path.write_bytes(written(example(**changes)))
    with pytest.raises(InputError, match=says) as caught:
        load_matrix(str(path))
    assert caught.value.where == str(path)


def rezipped(
    edit: Callable[[dict[str, bytes]], None], compression: int = zipfile.ZIP_STORED
) -> bytes:
    """The example's file after an edit of its members."""
    with zipfile.ZipFile(io.BytesIO(written(example()))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any, *, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def about(**changes: Any) -> bytes:
    content = {"format": "nbtext matrix", "version": 2, "settings": {}, "input": {}} | changes
    return npy(np.frombuffer(json.dumps(content).encode(), dtype=np.uint8))


def put(name: str, content: bytes | tuple[bytes, bytes]) -> Callable[[dict[str, bytes]], None]:
    """An edit that replaces a member, or some bytes in it."""

    def edit(members: dict[str, bytes]) -> None:
        old = members[f"{name}.npy"]
        members[f"{name}.npy"] = content if isinstance(content, bytes) else old.replace(*content)

    return edit


BROKEN = "arrays cannot be read"
EDITS: list[tuple[str, Callable[[dict[str, bytes]], Any], str]] = [
    ("a member is missing", lambda members: members.pop("labels.npy"), "it has no labels"),
    (
        "counts without columns",
        lambda members: members.update({"counted_data.npy": npy(np.ones(4, np.int32))}),
        "it has no counted_indices",
    ),
    ("a pickle", put("data", npy(np.array([{}]), allow_pickle=True)), BROKEN),
    ("a claim of 10^17 numbers", put("data", (b"(4,), }", b"(1" + b"0" * 17 + b",), }")), BROKEN),
    ("2^64 numbers", put("data", (b"(4,), }", b"(18446744073709551616,), }")), BROKEN),
    ("two dimensions", put("data", npy(np.ones((2, 2), np.int32))), "data is not a list"),
    ("no array", put("data", b"text"), "data is not a list"),
    ("complex numbers", put("data", npy(np.ones(4, complex))), "data is not a list"),
    ("brackets in a header", put("data", (b"(4,), }", b"(4,), " + b"(" * 3000)), BROKEN),
    ("a zero byte in a header", put("data", (b"(4,), }", b"(4,),\0}")), BROKEN),
    ("code in a header", put("data", (b"(4,)", b"exit")), BROKEN),
    (
        "truth that is neither",
        put("has_label", npy(np.full(3, 2, np.uint8)).replace(b"|u1", b"|b1")),
        "`label_numbers` does not",
    ),
    (
        "ids that are not UTF-8",
        put("document_ids", (b"\xed\xb3\xbf", b"\xff\xff\xff")),
        "`document_ids` are not valid UTF-8",
    ),
    ("another kind of file", put("nbtext", about(format="x")), "not written by nbtext"),
    ("a newer version", put("nbtext", about(version=3)), "this one reads version 2"),
    ("a setting of a newer nbtext", put("nbtext", about(settings={"later": 1})), "'later'"),
    ("settings that are a list", put("nbtext", about(settings=[])), "lacks valid settings"),
    (
        "a wrong setting",
        put("nbtext", about(settings={"ngrams": [2, 1]})),
        "its settings are not valid",
    ),
    ("a wrong type", put("nbtext", about(settings={"min_df": "x"})), "its setting min_df"),
    ("fewer buckets", put("nbtext", about(settings={"hash_bits": 1})), "out of range"),
    ("weights without idf", put("nbtext", about(settings={"norm": "l2"})), "it has no idf"),
    ("an unknown source", put("nbtext", about(input={"x": 1})), "does not know its setting 'x'"),
    ("a wrong unit", put("nbtext", about(input={"unit": "x"})), "description of its source"),
    (
        "settings too deep",
        put("nbtext", npy(np.frombuffer(b"[" * 100_000, np.uint8))),
        "lacks valid settings",
    ),
]


@pytest.mark.parametrize(
    ("edit", "says"), [edit[1:] for edit in EDITS], ids=[edit[0] for edit in EDITS]
)
def test_invalid_members_are_refused(
    tmp_path: Path, edit: Callable[[dict[str, bytes]], Any], says: str
) -> None:
    """Pickles, lying headers, and members of other kinds are refused before anything is made of
    them.
    """
    (tmp_path / "x.npz").write_bytes(rezipped(edit))
    with pytest.raises(InputError, match=says):
        load_matrix(str(tmp_path / "x.npz"))


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    """A member that could be a bomb is not unpacked; an outer compression that is one is
    stopped.
    """
    (tmp_path / "x.npz").write_bytes(rezipped(lambda _: None, zipfile.ZIP_DEFLATED))
    with pytest.raises(InputError, match="is compressed"):
        load_matrix(str(tmp_path / "x.npz"))


def test_an_outer_bomb_is_stopped(tmp_path: Path) -> None:
    """A compressed matrix file that unpacks without end is refused."""
    (tmp_path / "x.npz.gz").write_bytes(gzip.compress(b"PK\x03\x04" + bytes(30_000_000)))
    with pytest.raises(InputError, match="unpacks to more than 10 times its size"):
        load_matrix(str(tmp_path / "x.npz.gz"))


def test_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    """A file that is cut, or has a flipped bit, is refused, or read as it was."""
    content = written(example())
    path = tmp_path / "x.npz"
    whole = example()
    for size in range(0, len(content), 37):
        path.write_bytes(content[:size])
        with pytest.raises(InputError):
            load_matrix(str(path))
    for bit in range(0, 8 * len(content), 83):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert same(load_matrix(str(path)), whole)
        except InputError as error:
            assert error.where == str(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", b"\0" * 1000])
def test_what_is_no_matrix_is_said(tmp_path: Path, content: bytes) -> None:
    """Other files are refused by name, with a hint."""
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(
        InputError, match=r"is not a valid matrix file: .*; write one with nbtext vectorize"
    ):
        load_matrix(str(tmp_path / "x.npz"))

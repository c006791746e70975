"""What is fuzzed: functions of bytes, in which any exception but an NbtextError is a crash.

Each but the first two takes its first bytes as settings, and the rest as untrusted input.
"""

import os
import sqlite3
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nbtext import TextClassifier, load_model
from nbtext.documents import jsonl as jsonl_reader
from nbtext.documents import streams
from nbtext.documents.batch import Batch
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.errors import NbtextError, NbtextWarning
from nbtext.features.counting import Counter as PlainCounter
from nbtext.features.counting import counter
from nbtext.features.matrix import load_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.predictor import Predictor

sys.path.insert(0, str(Path(__file__).parents[1] / "artifact"))
import stored

ENCODINGS = ("utf-8", "latin-1", "utf-16-le", "utf-32", "shift_jis", "utf-7", "gb18030", "cp1252")
QUESTIONS = ["red round leaf", "green", "", "yellow yellow \udcff İ"]
ANALYZERS = ("word", "char", "char_wb", "word")
FIELDS = ((), (), ("body",), ("subject", "body"))
ALL = 2**64
TABLE = "create table t (id integer primary key, text, label);insert into t values (1, 'red round', 'apple'), (2, x'ff', 3)"


@contextmanager
def file_of(data: bytes) -> Iterator[str]:
    """The path of a file in memory."""
    handle = os.memfd_create("fuzz")
    try:
        os.write(handle, data)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def artifact(data: bytes) -> None:
    """Read a model file: its header, its arrays and their checksums."""
    with file_of(data) as path:
        try:
            stored.load(path)
        except NbtextError as error:
            assert str(error).isprintable()


def model(data: bytes) -> None:
    """Load a model with right checksums: its audit, and predictions by a model that passes."""
    with file_of(stored.reseal(data)) as path, suppress(NbtextError):
        classifier = load_model(path)
        columns = tuple(QUESTIONS for _ in range(len(classifier.feature_settings.fields) or 1))
        Predictor(classifier.fitted_).predict_batch(Batch(list("1234"), columns, [None] * 4))
        _ = classifier.counts_


def matrix(data: bytes) -> None:
    """Read a matrix file, whatever the sums of its zip file say, and learning from it."""
    genuine = zipfile.ZipExtFile._update_crc
    zipfile.ZipExtFile._update_crc = lambda *_: None
    try:
        with file_of(data) as path, suppress(NbtextError):
            TextClassifier(smoothing=1.0).fit_matrix(load_matrix(path)).predict(QUESTIONS)
    finally:
        zipfile.ZipExtFile._update_crc = genuine


def _numbers(data: bytes, input_format: str) -> None:
    """Read a file of columns with numbers, and learn from it."""
    with file_of(data) as path, suppress(NbtextError):
        source = open_source([path], InputSettings(input_format=input_format))
        TextClassifier(smoothing=1.0).fit_source(source)


def svmlight(data: bytes) -> None:
    """Matrices in the format of svmlight."""
    _numbers(data, "svmlight")


def mtx(data: bytes) -> None:
    """Matrices in the format of Matrix Market; they have no labels."""
    _numbers(data, "mtx")
    with file_of(data) as path, suppress(NbtextError):
        list(open_source([path], InputSettings(input_format="mtx")).batches())


def _documents(data: bytes, input_format: str) -> list[Any]:
    """All documents of a file, by the settings that its first byte says."""
    first = data[0] if data else 0
    settings = InputSettings(
        input_format=input_format,
        encoding=ENCODINGS[first & 7],
        text_field=("text", "label") if first & 16 else ("text",) if first & 32 == 0 else ("1",),
        separate_fields=bool(first & 16 and first & 64),
        max_document_bytes=(100_000_000, 50)[first >> 7],
    )
    documents: list[Any] = []
    with file_of(data[2:]) as path:
        for batch in open_source([path], settings).batches():
            assert len(batch.ids) == len(batch.labels)
            assert all(len(column) == len(batch) for column in batch.columns)
            assert all(0 <= row < len(batch) for row in batch.problems)
            problems = [str(batch.problems.get(row, "")) for row in range(len(batch))]
            assert all(map(str.isprintable, filter(None, problems)))
            own = [identity.rpartition(":")[2] for identity in batch.ids]
            documents += zip(own, batch.labels, *batch.columns, strict=True)
            documents.append((batch.repaired_documents, batch.repaired_bytes, len(batch.problems)))
            documents += [problem.partition(":")[2] for problem in problems]
    return documents


def _outcome(data: bytes, input_format: str) -> list[Any] | str:
    try:
        return _documents(data, input_format)
    except NbtextError as error:
        assert str(error).isprintable()
        return type(error).__name__


def jsonl(data: bytes) -> None:
    """JSON lines, read the same by the compiled scanner and by the standard library alone."""
    fast = _outcome(data, "jsonl")
    scan = jsonl_reader.scan
    try:
        jsonl_reader.scan = lambda *_: None
        assert _outcome(data, "jsonl") == fast
    finally:
        jsonl_reader.scan = scan


def lines(data: bytes) -> None:
    """Lines, plain ones and fastText's, and whatever the first bytes say."""
    for input_format in ("lines", "fasttext"):
        _outcome(data, input_format)
    with file_of(data) as path, suppress(NbtextError):
        list(open_source([path], InputSettings()).batches())


def json(data: bytes) -> None:
    """Arrays of JSON, read the same whatever the size of the parts in which the file arrives."""
    found = _outcome(data, "json")
    step = streams.RAW_BYTES
    try:
        streams.RAW_BYTES = 7
        assert _outcome(data, "json") == found
    finally:
        streams.RAW_BYTES = step


def sqlite(data: bytes) -> None:
    """SQLite files, of which the only table is read."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(data)
        file.flush()
        try:
            list(open_source([file.name], InputSettings()).batches())
        except NbtextError as error:
            assert str(error).isprintable()


def query(data: bytes) -> None:
    """Queries of a SQLite file, which stays as it is, and makes no other file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.db")
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(TABLE)
        before = _read(path)
        settings = InputSettings(query=data.decode("utf-8", "surrogateescape"))
        try:
            list(open_source([path], settings).batches())
        except NbtextError as error:
            assert str(error).isprintable()
        assert _read(path) == before
        assert os.listdir(folder) == ["t.db"]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def kernel(data: bytes) -> None:
    """The compiled counter and its definition agree on any texts, whatever a feature is."""
    settings, texts = _counting(data)
    columns = [texts[::-1] if field % 2 else texts for field in range(len(settings.fields) or 1)]
    classes = np.array(
        [number % 3 - (number % 5 == 4) for number in range(len(texts))], dtype=np.int32
    )
    answers = []
    for counting in (counter(settings), PlainCounter(settings)):
        kept = counting.count(columns, classes, ALL if len(texts) & 1 else 2**63)
        vocabulary, rank = (
            counting.vocabulary() if settings.hash_bits is None else (None, np.arange(1 << 9))
        )
        answers.append(
            (_named(kept, rank), kept.classes, kept.hashes, *counting.class_counts(), vocabulary)
        )
    _assert_same(*answers)
    if vocabulary is not None:
        fixed = Vocabulary.from_sorted(vocabulary.terms[:: 1 + len(texts) % 3])
        _assert_same(
            *(_rows(one(settings, fixed).rows(columns)) for one in (counter, PlainCounter))
        )


def _counting(data: bytes) -> tuple[FeatureSettings, list[str]]:
    """Settings and texts: UTF-8 with anything in it, or code points of one, two or four bytes."""
    first, second, third = (*data[:3], 0, 0, 0)[:3]
    analyzer = ANALYZERS[first & 3]
    settings = FeatureSettings(
        analyzer=analyzer,
        ngrams=(1 + (first >> 2 & 1), 1 + (first >> 2 & 1) + (first >> 3 & 3) % 3),
        lowercase=not first & 32,
        strip_accents=(None, None, "unicode", "ascii")[first >> 6],
        fields=FIELDS[second & 3],
        hash_bits=9 if second & 4 else None,
        stop_words=("aa", "bb") if second & 8 and analyzer == "word" else (),
        stem="english" if second & 16 and analyzer == "word" else None,
    )
    rest = data[3:]
    text = (
        rest.decode("utf-8", "surrogateescape"),
        rest.decode("latin-1"),
        rest[: len(rest) // 2 * 2].decode("utf-16-le", "surrogatepass"),
        "".join(
            chr(int.from_bytes(rest[i : i + 3], "little") % 0x110000)
            for i in range(0, len(rest) - 2, 3)
        ),
    )[third & 3]
    return settings, text.split("\n")


def _named(rows: Any, rank: Any) -> list[list[tuple[int, int]]]:
    entries = list(zip(rank[rows.indices].tolist(), rows.counts.tolist(), strict=True))
    return [sorted(entries[start:stop]) for start, stop in pairwise(rows.indptr.tolist())]


def _rows(rows: Any) -> tuple[Any, ...]:
    return (rows.indptr, rows.indices, rows.counts, rows.n_tokens)


def _assert_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b


LIBRARIES = {"parquet": "pyarrow", "arrow": "pyarrow"}  # without which there is nothing to crash
PLAIN = ("csv", "tsv", "mbox", "parquet", "arrow")  # formats of which only the outcome is asked
FUNCTIONS = (artifact, model, matrix, svmlight, mtx, jsonl, json, sqlite, query, lines, kernel)
TARGETS: dict[str, Callable[[bytes], Any]] = {
    **{target.__name__: target for target in FUNCTIONS},
    **{
        name: partial(_outcome, input_format=name)
        for name in PLAIN
        if name not in LIBRARIES or find_spec(LIBRARIES[name]) is not None
    },
}


def run(name: str, data: bytes) -> None:
    """Run a target; what NumPy would only warn of is a crash too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NbtextWarning)  # what is assumed about a file
        TARGETS[name](data)

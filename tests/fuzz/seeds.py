"""Honest inputs of every kind, small ones, for the fuzzers to begin with."""

import bz2
import gzip
import io
import lzma
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import targets

from nbtext.artifact.model import save_model
from nbtext.artifact.reduction import keep_features
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.features.matrix import write_matrix
from nbtext.features.settings import FeatureSettings
from nbtext.model.fitted_model import DocumentNumbers, make_trained_model
from nbtext.model.matrices import vectorize_source
from nbtext.text_classifier import TextClassifier

TEXTS = ["red round leaf", "green round", "yellow long", "yellow curved long", "İs \udcff x1"]
LABELS = ["apple", "apple", "banana", "banana", "city\n"]
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bernoulli": {"model": "bernoulli", "smoothing": 0.5},
    "complement-tfidf": {"model": "complement", "idf": "smooth", "norm": "l2"},
    "pairs": {"ngrams": (1, 2), "min_df": 2, "calibrate": False},
    "hashed": {"hash_bits": 4},
    "given": {"vocabulary": ("unheard", "yellow"), "prior": (1.0, 2.0, 3.0)},
    "characters": {"analyzer": "char_wb", "ngrams": (2, 2), "max_features": 9},
    "pattern": {"token_pattern": r"[a-z]+", "stop_words": ("red",)},
    "linear": {"model": "nbsvm", "idf": "smooth", "norm": "l2"},
}
READ = {
    "jsonl": [
        b'{"text": "red round", "label": "apple", "id": 1}\n{"text": "yellow", "label": true}\n',
        b'\xef\xbb\xbf{"text": "a\\ud800\\u00e9", "text": "b", "label": 1e400, "id": -0}\n\n{"text": null}\n[1, [2]]\n',
        b'{"label": {"a": [1]}, "text": "x"}\r\n{"text": "' + b"w" * 60 + b'"}\n{"text": "\xff"}',
    ],
    "csv": [
        b'text,label,id\nred round,apple,1\n"a, ""b""\nc",banana,2\n',
        b"text;label\na\x00b,\xff,c,d\n\"open,x\n\n'',\n",
    ],
    "tsv": [b'text\tlabel\nred round\tapple\n"a\tb"\tbanana\n', b'1\t"x""y"\t"open\n\xc3\t\r\n'],
    "mbox": [
        b"From: ada@example.org\nSubject: =?utf-8?q?H=C3=A9?= there\nContent-Type: text/html; charset=latin-1\n\n"
        b"<p>a&nbsp;<script>x</script>\xe9</p>\n",
        b"From ada@example.org Thu Nov 21 03:37:00 2024\nSubject: a\n\n>From b\n\nFrom b@example.org\nTo: c\n\nx\n",
        b'MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="q"\n\n--q\nContent-Type: text/plain\n'
        b'Content-Transfer-Encoding: base64\n\ncmVk\n--q\nContent-Type: text/html; charset="klingo"\n\n<b>red\n--q--\n',
        b"Content-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=a\n\n--a\n"
        b"Content-Transfer-Encoding: quoted-printable\n\n=ff=\n=3D\n--a\nContent-Disposition: attachment\n\nz\n",
    ],
    "lines": [
        b"__label__a red __label__b round\n\nplain\r\n",
        b"\xff\xfea\x00\n\x00b\x00",
        gzip.compress(b"x\ny", mtime=0),
    ],
}
READ["json"] = [
    b'[{"text": "red round", "label": "apple", "id": 1},\n {"text": "yellow", "label": ["b", "c"]}]',
    b'\xef\xbb\xbf [ {"text": "a\\ud800\\u00e9]", "x": {"y": [1, {}]}} , null, 3, "s" ,{"text":"\xff\\\\"} ]\n',
    b"[]",
    b'[{"text": "' + b"w" * 60 + b'"}, {"text": ',
]
NUMBERS = {
    "svmlight": [
        b"0 1:1 3:2\n1 2:1\n+1 2:3 # text\n",
        b"0,2 1:0.5 2:1e-3\n 1:1\n-1 4:1\n1\n",
        gzip.compress(b"0 1:1\n1 2:1\n", mtime=0),
    ],
    "mtx": [
        b"%%MatrixMarket matrix coordinate integer general\n% text\n2 3 3\n1 1 1\n1 3 2\n2 2 1\n",
        b"%%MatrixMarket matrix coordinate pattern general\n3 2 1\n\n2 2\n",
        b"%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 0.5\n1 1 -1e-3\n",
    ],
}
READ["query"] = [
    b"select * from t",
    b"select text, label from t where id > 1 order by id desc;",
    b"select ';' as text -- ; and 'more'",
    b"delete from t",
    b"attach 'new.db' as new",
    b"insert into t values (7, 'x', 'y') returning text",
    b"pragma writable_schema = on",
    b"select printf('%s', text) as text, 1 as label from t union select 'a', x'00ff'",
    b"with a(text) as (values ('x'), (null)) select * from a",
    b"vacuum into 'copy.db'",
]
KERNEL = [
    "Red ROUND_leaf, x1\n aa bb İΣς\u0307 straße",
    "a b\n\u2028あい 𝟙𐐀 \u00ad²ª",
    "word word\n\nlong" + "er" * 40,
]


def seeds(target: str) -> list[bytes]:
    """The inputs of a target."""
    if target == "artifact":
        plain = _artifact(MODELS["plain"])
        return [plain, gzip.compress(plain, mtime=0), bz2.compress(plain), lzma.compress(plain)]
    if target == "model":
        return [
            *map(_artifact, MODELS.values()),
            _small_artifact(MODELS["plain"]),
            _small_artifact(MODELS["linear"]),
        ]
    if target == "matrix":
        return [
            _matrix(FeatureSettings()),
            _matrix(FeatureSettings(hash_bits=3)),
            _matrix(FeatureSettings(norm="l2")),
        ]
    if target == "kernel":
        texts = [text.encode("utf-8", "surrogatepass") for text in KERNEL]
        return [bytes((7 * i % 256, 5 * i % 32, i % 4)) + texts[i % 3] for i in range(24)]
    if target in NUMBERS or target in ("sqlite", "query"):
        return (NUMBERS | READ)[target]
    return [
        bytes(settings) + data
        for data in READ[target]
        for settings in ((0, 1), (16 + 64, 0), (128, 1), (8 + 32, 0))
    ]


def _artifact(options: dict[str, Any]) -> bytes:
    with TemporaryDirectory() as folder:
        TextClassifier(**options).fit(TEXTS, LABELS).save(Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def _small_artifact(options: dict[str, Any]) -> bytes:
    """The file of a model with weights in 8 bits and compressed arrays."""
    model = TextClassifier(**options).fit(TEXTS, LABELS).model_
    fitted = keep_features(model.fitted, np.arange(3), DocumentNumbers.of(model.statistics))
    with TemporaryDirectory() as folder:
        save_model(make_trained_model(fitted, None), Path(folder) / "model")
        return (Path(folder) / "model").read_bytes()


def _matrix(settings: FeatureSettings) -> bytes:
    text = "".join(
        f'{{"text": "{a}", "label": "{b}"}}\n' for a, b in zip(TEXTS[:4], LABELS, strict=False)
    )
    file = io.BytesIO()
    with targets.file_of(text.encode()) as path:
        source = open_source([path], InputSettings(input_format="jsonl"))
        write_matrix(vectorize_source(source, settings), file, output_format="npz")
    return file.getvalue()


def _tables() -> dict[str, list[bytes]]:
    """Return files of tables that have an index: Parquet, Arrow and SQLite."""
    import pyarrow
    from pyarrow import feather, parquet

    plain = pyarrow.table(
        {"text": ["red round", None, "\ud7ff"], "label": ["apple", "b", None], "id": [1, 2, 3]}
    )
    lists = pyarrow.table({"text": ["a", "b"], "label": [["x", "y"], []], "body": [b"\xff", b""]})
    coded = plain.set_column(1, "label", plain["label"].dictionary_encode())
    found: dict[str, list[bytes]] = {"parquet": [], "arrow": [], "sqlite": []}
    for table in (plain, lists, coded):
        for options in ({"compression": "none"}, {"compression": "zstd", "row_group_size": 1}):
            out = io.BytesIO()
            parquet.write_table(table, out, **options)
            found["parquet"].append(out.getvalue())
        out = io.BytesIO()
        feather.write_feather(table, out, compression="uncompressed")
        found["arrow"].append(out.getvalue())
    for statement in (
        targets.TABLE,
        "create table t (text); create index i on t (text); create view v as select 1 text",
    ):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.executescript("pragma page_size = 512; " + statement)
            found["sqlite"].append(connection.serialize())
    return found


def write(folder: Path) -> None:
    """A folder of files for each target."""
    READ.update(_tables())
    for target in targets.TARGETS:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seeds(target)):
            (folder / target / f"seed-{number:02}").write_bytes(data)

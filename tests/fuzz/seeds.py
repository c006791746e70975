"""Honest inputs of every kind, small ones, for the fuzzers to begin with."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import targets

from nbtext.artifact import model as model_file
from nbtext.artifact.stream import DIGEST_BYTES
from nbtext.documents.matrix import write_matrix
from nbtext.documents.settings import InputSettings
from nbtext.documents.source import open_source
from nbtext.features.settings import FeatureSettings
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
    "mail": [
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
KERNEL = ["Red ROUND_leaf, x1\n aa bb İΣς\u0307 straße", "a b\n\u2028あい 𝟙𐐀 \u00ad²ª", "word word\n\nlong" + "er" * 40]


def seeds(target: str) -> list[bytes]:
    """The inputs of a target."""
    if target == "artifact":
        plain = _artifact(MODELS["plain"])
        return [plain, gzip.compress(plain, mtime=0), bz2.compress(plain), lzma.compress(plain)]
    if target == "model":
        return [_artifact(options)[:-DIGEST_BYTES] for options in MODELS.values()]
    if target == "matrix":
        return [_matrix(FeatureSettings()), _matrix(FeatureSettings(hash_bits=3)), _matrix(FeatureSettings(norm="l2"))]
    if target == "kernel":
        texts = [text.encode("utf-8", "surrogatepass") for text in KERNEL]
        return [bytes((7 * i % 256, 5 * i % 32, i % 4)) + texts[i % 3] for i in range(24)]
    return [
        bytes(settings) + data for data in READ[target] for settings in ((0, 1), (16 + 64, 0), (128, 1), (8 + 32, 0))
    ]


def _artifact(options: dict[str, Any]) -> bytes:
    with targets.file_of(b"") as path:
        model_file.save_model(TextClassifier(**options).fit(TEXTS, LABELS), path)
        return Path(path).read_bytes()


def _matrix(settings: FeatureSettings) -> bytes:
    text = "".join(f'{{"text": "{a}", "label": "{b}"}}\n' for a, b in zip(TEXTS[:4], LABELS, strict=False))
    file = io.BytesIO()
    with targets.file_of(text.encode()) as path:
        source = open_source([path], InputSettings(input_format="jsonl"))
        write_matrix(vectorize_source(source, settings), file, form="npz")
    return file.getvalue()


def write(folder: Path) -> None:
    """A folder of files for each target."""
    for target in targets.TARGETS:
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seeds(target)):
            (folder / target / f"seed-{number:02}").write_bytes(data)

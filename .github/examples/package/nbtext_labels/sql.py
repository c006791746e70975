"""Export the weights of a model as tables of SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nbtext.applications.export.exporter import Exporter, check_dense, named_features
from nbtext.errors import ModelError
from nbtext.model.fitted_model import FittedModel

ROWS = 4096  # features whose weights are written at once
TABLES = """\
-- The score of a document for a label is the bias plus the sum of n * weight over its features; n is {n}.
BEGIN;
CREATE TABLE labels (label TEXT PRIMARY KEY, bias REAL NOT NULL);
CREATE TABLE weights (
  feature TEXT, label TEXT REFERENCES labels, weight REAL NOT NULL, PRIMARY KEY (feature, label)
) WITHOUT ROWID;
"""


def check_sum(model: FittedModel) -> None:
    """Raise ModelError if a score is not a sum of counts times weights, or there are too many
    weights.
    """
    check_dense(model)
    weighting = model.weighting
    hint = "export it as csv, or train with --weighting counts or binary"
    if weighting.tf not in ("count", "binary"):
        raise ModelError(
            f"a model with term frequencies {weighting.tf} cannot be exported in this format",
            hint=hint,
        )
    if weighting.norm != "none":
        raise ModelError(
            f"a model with norm {weighting.norm} cannot be exported in this format", hint=hint
        )


def sql(model: FittedModel) -> Iterator[bytes]:
    """Yield statements that make the tables `labels` and `weights`; a weight contains the
    feature's idf.
    """
    terms = named_features(model).terms
    scorer = model.scorer
    idf = model.weighting.idf
    labels = list(map(_literal, model.labels))
    yield TABLES.format(n="1" if model.weighting.tf == "binary" else "how often it occurs").encode()
    for label, bias in zip(labels, scorer.bias.tolist(), strict=True):
        yield f"INSERT INTO labels VALUES ({label}, {bias!r});\n".encode()
    weights = scorer.weights().T * (np.ones((len(terms), 1)) if idf is None else idf[:, None])
    for start in range(0, len(terms), ROWS):
        block = slice(start, start + ROWS)
        rows = zip(map(_literal, terms[block]), weights[block].tolist(), strict=True)
        yield "".join(
            f"INSERT INTO weights VALUES ({term}, {label}, {weight!r});\n"
            for term, own in rows
            for label, weight in zip(labels, own, strict=True)
        ).encode()
    yield b"COMMIT;\n"


def _literal(text: str) -> str:
    """Return a name as an SQL expression: quoted, or, with characters that do not print, as the
    bytes of its UTF-8.
    """
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return f"CAST(x'{text.encode('utf-8', 'backslashreplace').hex()}' AS TEXT)"


SQL = Exporter(
    (".sql",),
    "Statements that make SQLite tables of the biases and the weights of the labels.",
    check_sum,
    sql,
)

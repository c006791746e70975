"""Export the weights of a model as CSV."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nbtext.applications.export.exporter import (
    Exporter,
    check_dense,
    list_numbers,
    named_features,
)
from nbtext.model.fitted_model import FittedModel
from nbtext.report.result import format_rows

ROWS_WRITTEN_AT_ONCE = 4096  # written at once
# the kinds of rows that convert scores, and the names of their numbers
PARAMETERS = {
    "temperature": "a",
    "temperature_exponent": "b",
    "noise": "noise",
    "prior_adjustment": "prior_adjustment",
    "decision_offset": "shift",
    "min_probability": "min_probabilities",
}


def table(model: FittedModel) -> Iterator[bytes]:
    """Yield CSV with the columns `kind`, `feature`, `idf`, and one for each label.

    The row of kind `bias` has the score of an empty document, prior included. Each row of kind
    `weight` has the name of a feature, its idf (1 without idf), and its weights. The score of a
    document is the bias plus the weights times its counts, weighted by the model's tf, idf and
    norm. Numbers have all digits.

    The rows of other kinds, which stand before the weights, convert the scores of a document with L
    known tokens to labels, as `list_numbers` says; a kind that the model does not need is missing.
    """
    features = named_features(model)
    numbers = list_numbers(model) | {"min_probabilities": model.calibration.min_probabilities}
    idf = model.weighting.list_idf(len(features)).tolist()
    yield _lines([["kind", "feature", "idf", *model.labels]])
    yield _lines([["bias", "", "1.0", *map(repr, model.scaled_scorer.bias.tolist())]])
    for kind, name in PARAMETERS.items():
        value = numbers[name]
        if value is not None:
            row = np.broadcast_to(value, len(model.labels)).tolist()
            yield _lines([[kind, "", "", *map(repr, row)]])
    weights = model.scaled_scorer.weights().T
    for start in range(0, len(features), ROWS_WRITTEN_AT_ONCE):
        block = slice(start, start + ROWS_WRITTEN_AT_ONCE)
        rows = zip(features.terms[block], idf[block], weights[block].tolist(), strict=True)
        yield _lines(
            [["weight", term, repr(factor), *map(repr, own)] for term, factor, own in rows]
        )


def _lines(rows: list[list[str]]) -> bytes:
    return format_rows(rows, "csv").encode("utf-8", "backslashreplace")


CSV = Exporter(
    (".csv",),
    "A row for each feature with its weight for each label, and rows of the numbers that convert scores to labels.",
    check_dense,
    table,
    decides=("prior_adjustment", "decision_offsets", "min_probabilities"),
)

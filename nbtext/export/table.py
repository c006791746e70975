"""The weights as a table that a spreadsheet opens."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import numpy as np

from nbtext.export.portable import check_dense, named_features
from nbtext.model.fitted_model import FittedModel

ROWS = 4096  # that are made at once


def table(model: FittedModel) -> Iterator[bytes]:
    """CSV with a column for each label after `kind`, `feature` and `idf`.

    Of kind `bias` is the row of what each label's score begins with, the prior included; of `log_prior` that prior
    alone, where the model is one of naive Bayes; of `weight` a row for each feature: its name, its idf (1 where there
    is none), and its weight for each label. The score of a document is the bias plus the weights times its counts,
    weighed by the model's tf, idf and norm. Numbers read back are exact.
    """
    features = named_features(model)
    check_dense(model)
    reading = model
    scorer, idf = reading.scorer, reading.weighting.idf
    idf = np.ones(len(features)) if idf is None else idf
    yield _lines([["kind", "feature", "idf", *model.labels], ["bias", "", 1.0, *scorer.bias.tolist()]])
    if not model.model_settings.is_linear:
        yield _lines([["log_prior", "", 1.0, *model.log_prior.tolist()]])
    terms, weights = features.terms, scorer.weights().T
    for start in range(0, len(terms), ROWS):
        part = slice(start, start + ROWS)
        rows = zip(terms[part], idf[part].tolist(), weights[part].tolist(), strict=True)
        yield _lines([["weight", term, factor, *own] for term, factor, own in rows])


def _lines(rows: list[list[str | float]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")

"""Export the weights of a model as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from nbtext.applications.export.exporter import Exporter, check_dense, named_features
from nbtext.model.fitted_model import FittedModel

ROWS = 4096  # written at once


def table(model: FittedModel) -> Iterator[bytes]:
    """Yield CSV with the columns `kind`, `feature`, `idf`, and one for each label.

    The row of kind `bias` has the score of an empty document, prior included. The row of kind
    `log_prior`, of Naive Bayes models only, has the prior alone. Each row of kind `weight` has the
    name of a feature, its idf (1 without idf), and its weights. The score of a document is the bias
    plus the weights times its counts, weighted by the model's tf, idf and norm. Numbers have all
    digits.
    """
    features = named_features(model)
    scorer = model.scorer
    idf = model.weighting.list_idf(len(features))
    yield _lines(
        [["kind", "feature", "idf", *model.labels], ["bias", "", 1.0, *scorer.bias.tolist()]]
    )
    if not model.model_settings.is_linear:
        yield _lines([["log_prior", "", 1.0, *model.log_prior.tolist()]])
    terms = features.terms
    weights = scorer.weights().T
    for start in range(0, len(terms), ROWS):
        block = slice(start, start + ROWS)
        rows = zip(terms[block], idf[block].tolist(), weights[block].tolist(), strict=True)
        yield _lines([["weight", term, factor, *own] for term, factor, own in rows])


def _lines(rows: list[list[str | float]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


CSV = Exporter(
    (".csv",), "A row for each feature with its weight for each label.", check_dense, table
)

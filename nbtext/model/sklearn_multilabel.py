"""Labels as scikit-learn gives them: one for each text, a list for each text, or an indicator matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.errors import InputError
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import MAX_LABEL_COLUMNS, FittedModel
from nbtext.model.sklearn_compat import check_paired, label_texts, list_texts, text_batch
from nbtext.model.task import LEAST

LISTS = (list, tuple, set, frozenset, np.ndarray)
INDICATOR_HINT = "an indicator matrix has a row for each text, a column for each label, and 0 or 1 in each cell"


def has_several_labels(y: Any) -> bool:
    """Return whether labels are lists of labels, or an indicator matrix."""
    if isinstance(y, str | bytes) or y is None:
        return False
    if is_table(y):
        return bool(y.shape[1] != 1)
    return any(isinstance(labels, LISTS) for labels in y)


def is_table(y: Any) -> bool:
    """Return whether labels are an array, a sparse matrix or a table of rows and columns."""
    return len(getattr(y, "shape", ())) == 2


def indicator_matrix(y: Any) -> NDArray[Any] | None:
    """Return labels as an indicator matrix; None if they are lists of labels.

    Lists are an indicator matrix if each has the same number of items, two at least, and all items are 0 or 1, as in
    scikit-learn.
    """
    if is_table(y):
        return np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    rows = list(y)
    if not rows or not isinstance(rows[0], list | tuple | np.ndarray) or len(rows[0]) < 2:
        return None
    if not all(isinstance(row, LISTS) and len(row) == len(rows[0]) for row in rows):
        return None
    if not all(isinstance(item, int | float | np.generic) and item in (0, 1) for row in rows for item in row):
        return None
    return np.array([list(row) for row in rows])


def count_columns(y: Any) -> int | None:
    """Return the number of columns of an indicator matrix; None if the labels are something else."""
    matrix = indicator_matrix(y) if has_several_labels(y) else None
    if matrix is None:
        return None
    if matrix.shape[1] > MAX_LABEL_COLUMNS:
        hint = "give a list of labels for each text"
        raise InputError(f"an indicator matrix has at most {MAX_LABEL_COLUMNS:,} columns", hint=hint)
    return int(matrix.shape[1])


def label_lists(y: Any) -> tuple[list[tuple[str, ...]], str]:
    """Return the labels of each text as texts, and the name of their type, one of LABEL_TYPES.

    The labels of an indicator matrix are the numbers of its columns.

    raises  InputError: a text has one label in place of a list, or the matrix has other numbers than 0 and 1
    """
    matrix = indicator_matrix(y)
    if matrix is not None:
        if not ((matrix == 0) | (matrix == 1)).all():
            raise InputError("the labels are a table of other numbers than 0 and 1", hint=INDICATOR_HINT)
        return [tuple(map(str, np.flatnonzero(row).tolist())) for row in matrix], "int"
    lists = list(y)
    for place, labels in enumerate(lists):
        if not isinstance(labels, LISTS):
            hint = "give a list for each text, [] for no label"
            raise InputError(f"the labels of text {place} are {type(labels).__name__}, not a list", hint=hint)
    texts, label_type = label_texts([label for labels in lists for label in labels])
    names = iter(texts)
    return [tuple(dict.fromkeys(next(names) for _ in labels)) for labels in lists], label_type


def count_texts(
    X: Any, y: Any, settings: FeatureSettings, *, sample_size: int | None, label_type: str | None
) -> tuple[CorpusCounts, str, NDArray[np.int64]]:
    """Return the counts of texts and labels, the type of the labels, and the index of the text of each retained
    document.

    sample_size  how many documents the counts retain; None: all
    label_type   the type that labels must have; None: any
    raises       InputError: X does not hold texts, y does not hold labels (or lists of labels) of this type, or their
                 lengths differ
    """
    texts = list_texts(X, settings)
    is_multilabel = has_several_labels(y)
    labels, found = label_lists(y) if is_multilabel else label_texts(y)
    check_paired(len(texts), len(labels))
    if label_type is not None and labels and found != label_type:
        raise InputError(f"the labels are {found}, and those of the model are {label_type}")
    corpus_counter = CorpusCounter(settings, sample_size=sample_size)
    batch = text_batch(texts)
    batch.set_labels(list(labels))
    if is_multilabel and batch.label_lists is None:  # there is no text
        batch.label_lists = []
    batch.groups = list(map(str, range(len(texts))))  # which text each document of the sample is
    corpus_counter.add(batch)
    counts = corpus_counter.finish()
    rows = np.array(counts.sample.groups if counts.sample.groups is not None else [], dtype=np.int64)
    return replace(counts, sample=replace(counts.sample, groups=None)), found, rows


def label_values(model: FittedModel) -> NDArray[Any]:
    """Return the labels, sorted; of an indicator matrix the numbers of all its columns."""
    n_columns = model.label_columns
    return np.sort(np.array(model.label_values), kind="stable") if n_columns is None else np.arange(n_columns)


def arrange_columns(model: FittedModel, values: Floats, *, absent: float) -> Floats:
    """Return the values of the labels, (..., n_labels), in the order of `label_values`.

    absent  the value of a column of an indicator matrix that no training text has
    """
    labels = np.array(model.label_values)
    if model.label_columns is None:
        return values[..., np.argsort(labels, kind="stable")]
    arranged = np.full((*values.shape[:-1], model.label_columns), absent)
    arranged[..., labels.astype(np.int64)] = values
    return arranged


def decide(model: FittedModel, log_probabilities: Floats, is_known: NDArray[np.bool_]) -> Any:
    """Return the label of each text, as an array; with several labels, a list of tuples or an indicator matrix.

    log_probabilities  (n_texts, n_labels)
    is_known           (n_texts,), whether each text has a known word
    """
    values, chosen = model.label_values, model.task.choose(log_probabilities, is_known)
    if chosen.ndim == 1:
        return np.array(values)[chosen]
    if model.label_columns is not None:
        return arrange_columns(model, chosen.astype(np.float64), absent=0).astype(np.int64)
    order = np.argsort(-np.exp(log_probabilities), axis=1, kind="stable").tolist()
    rows = zip(order, chosen.tolist(), strict=True)
    return [tuple(values[k] for k in ranked if predicted[k]) for ranked, predicted in rows]


def decision_values(model: FittedModel, log_probabilities: Floats, is_known: NDArray[np.bool_]) -> Floats:
    """Return the values that determine the labels; see TextClassifier.decision_function."""
    values = arrange_columns(model, model.task.margins(log_probabilities, is_known), absent=LEAST)
    is_difference = model.task.fit is None and values.shape[1] == 2
    return np.asarray(values[:, 1] - values[:, 0] if is_difference else values)


def accuracy(predicted: Any, y: Any) -> float:
    """Return the share of texts whose label is correct; with several labels, all of a text have to be.

    raises  InputError: there is no text, or there are not as many labels as texts
    """
    check_paired(len(predicted), y.shape[0] if is_table(y) else len(y))
    if not len(predicted):
        raise InputError("there is no text to score")
    if isinstance(predicted, list):
        return float(np.mean([set(mine) == set(true) for mine, true in zip(predicted, y, strict=True)]))
    is_correct = predicted == np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    return float((is_correct.all(axis=1) if is_correct.ndim == 2 else is_correct).mean())

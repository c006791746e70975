"""Which documents to label next: those of which the model is least sure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.model.predictions import Predictions


def most_uncertain_first(batches: Iterable[Predictions]) -> Predictions | None:
    """All answers, by falling entropy of their labels' probabilities; None where there are no batches.

    Equal ones stay in order. Documents of which no word is known, or that could not be read, come last: their labels
    would say nothing of the words that the model is unsure about.

    source  uncertainty sampling: Lewis & Gale, A Sequential Algorithm for Training Text Classifiers, 1994
    """
    parts = list(batches)
    if not parts:
        return None
    whole = _changed(
        parts[0], {field.name: _joined([getattr(part, field.name) for part in parts]) for field in _COLUMNS}
    )
    uncertainty = np.where(whole.known > 0, entropies(whole.probabilities), -1.0)
    order = np.argsort(-uncertainty, kind="stable")
    return _changed(whole, {field.name: _taken(getattr(whole, field.name), order) for field in _COLUMNS})


def entropies(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The entropy of each row in nats, shape (n_documents,); -1 where it is not a number."""
    logs = np.log(np.where(probabilities > 0, probabilities, 1.0))
    return np.asarray(np.nan_to_num(-(probabilities * logs).sum(axis=1), nan=-1.0))


_COLUMNS = [field for field in fields(Predictions) if field.name != "classes"]


def _changed(predictions: Predictions, columns: dict[str, Any]) -> Predictions:
    return Predictions(classes=predictions.classes, **columns)


def _joined(parts: list[Any]) -> Any:
    """The values of one column, whatever kind of column it is."""
    if parts[0] is None:
        return None
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else list(chain.from_iterable(parts))


def _taken(column: Any, order: NDArray[np.int64]) -> Any:
    if column is None or isinstance(column, np.ndarray):
        return None if column is None else column[order]
    return [column[row] for row in order.tolist()]

"""The predictions of cross-validation as a table, for the analysis of errors: one row for each
held-out document.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nbtext.evaluation.outcomes import PredictedBatch, true_sets
from nbtext.model.tasks import TASKS, find_task
from nbtext.report.predictions import prediction_rows
from nbtext.report.records import OutputRow, join_escaped
from nbtext.report.result import Result
from nbtext.report.terminal import shorten_text


class HeldOutPredictions:
    """Collects the predictions of all folds, and gives them in the order of the documents.

    separator  divides labels
    """

    def __init__(self, separator: str) -> None:
        self._found: list[tuple[Any, OutputRow]] = []  # a place, and a row
        self._form = TASKS[find_task(True)].form
        self._separator = separator

    def record(self, batch: PredictedBatch) -> None:
        """Add the predictions of a batch."""
        assert batch.folds is not None and batch.places is not None  # of cross-validation
        self._form = TASKS[batch.predictions.task].form
        rows = prediction_rows(replace(batch.predictions, separator=self._separator))
        trues = (
            join_escaped(each, self._separator) if self._form.is_list else "".join(each)
            for each in true_sets(batch.predictions)
        )
        further = zip(trues, batch.folds.tolist(), map(shorten_text, batch.excerpts), strict=True)
        for place, row, more in zip(batch.places, rows, further, strict=True):
            self._found.append((place, (*row, *more)))

    def result(self) -> Result[Any]:
        """Return the predictions as a result."""
        rows = [row for _, row in sorted(self._found, key=lambda each: each[0])]
        label = self._form.label
        columns = ("id", label, self._form.probability, f"true_{label}", "fold", "excerpt")
        return Result([rows], columns, lambda rows: rows)

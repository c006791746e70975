"""The predictions of cross-validation as a table, for the analysis of errors: one row for each
held-out document.
"""

from __future__ import annotations

from typing import Any

from nbtext.evaluation.outcomes import PredictedBatch, true_sets
from nbtext.report.predictions import FORMS, prediction_records
from nbtext.report.records import field_text, join_labels
from nbtext.report.result import Result


class HeldOut:
    """Collects the predictions of all folds, and gives them in the order of the documents.

    separator   divides labels in a table
    has_scores  whether the records have the probability of each label, as JSON has
    """

    def __init__(self, separator: str, *, has_scores: bool) -> None:
        self._has_scores = has_scores
        self._found: list[tuple[Any, dict[str, Any]]] = []  # a place, and a record
        self._form = FORMS["one"]
        self._separator = separator

    @property
    def _columns(self) -> tuple[str, ...]:
        label = self._form.label
        return ("id", label, self._form.probability, f"true_{label}", "fold")

    def record(self, batch: PredictedBatch) -> None:
        """Add the predictions of a batch."""
        predictions = batch.predictions
        assert batch.folds is not None and batch.places is not None  # of cross-validation
        self._form = FORMS[predictions.task]
        *_, true_label, fold = self._columns
        records = prediction_records(predictions, None if self._has_scores else 1)
        for place, record, true, number in zip(
            batch.places, records, true_sets(predictions), batch.folds.tolist(), strict=True
        ):
            record |= {true_label: self._form.value(true), fold: number}
            if not self._has_scores:
                del record["scores"]
            self._found.append((place, {name: record[name] for name in self._columns} | record))

    def result(self) -> Result[Any]:
        """Return the predictions as a result."""
        self._found.sort(key=lambda each: each[0])
        return Result(
            [[record for _, record in self._found]],
            self._columns,
            lambda records: (
                [self._cell(each[name]) for name in self._columns] for each in records
            ),
            records=lambda records: records,
            has_header=True,
        )

    def _cell(self, value: Any) -> str:
        if isinstance(value, list):
            return join_labels(list(map(field_text, value)), self._separator)
        return field_text(value)

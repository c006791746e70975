"""The predictions of cross-validation as a table, for the analysis of errors: one row for each
held-out document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbtext.evaluation.outcomes import PredictedBatch, true_sets
from nbtext.report.predictions import FORMS, Form, prediction_records
from nbtext.report.records import DIGITS, Row
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

    def record(self, batch: PredictedBatch) -> None:
        """Add the predictions of a batch."""
        predictions = batch.predictions
        folds = batch.folds
        places = batch.places
        assert folds is not None and places is not None  # of cross-validation
        self._form = FORMS[predictions.task]
        records = prediction_records(predictions, None if self._has_scores else 1)
        for place, record, true, fold in zip(
            places, records, true_sets(predictions), folds.tolist(), strict=True
        ):
            if not self._has_scores:
                del record["scores"]
            head = {
                name: record.pop(name) for name in ("id", self._form.label, self._form.probability)
            }
            added = {_true_name(self._form): self._form.value(true), "fold": fold}
            self._found.append((place, head | added | record))

    def result(self) -> Result[Any]:
        """Return the predictions as a result."""
        form = self._form
        separator = self._separator
        columns = ("id", form.label, form.probability, _true_name(form), "fold")

        def rows(records: list[dict[str, Any]]) -> Iterator[Row]:
            for record in records:
                values = [
                    _list(record[name]) for name in (form.label, form.probability, _true_name(form))
                ]
                labels, shares, true = values
                shown = form.text([f"{share:.{DIGITS}f}" for share in shares], separator)
                yield (
                    record["id"],
                    form.text(labels, separator),
                    shown,
                    form.text(true, separator),
                    record["fold"],
                )

        self._found.sort(key=lambda each: each[0])
        return Result(
            [[record for _, record in self._found]],
            columns,
            rows,
            records=lambda records: records,
            has_header=True,
        )


def _true_name(form: Form) -> str:
    return f"true_{form.label}"


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]

"""Records, columns and evaluations of several labels for a document, in every format."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nbtext.documents.decoding import Encoding
from nbtext.documents.rows import Column, TextRows
from nbtext.errors import SettingsError
from nbtext.evaluation.evaluator import MultilabelEvaluator
from nbtext.model.predictions import Predictions, select_labels
from nbtext.model.settings import DecisionSettings
from nbtext.report import columns as columns_module
from nbtext.report.evaluation import evaluation_result
from nbtext.report.predictions import predictions_result
from nbtext.report.records import OUTPUT_FORMATS, PREDICTION_FORMATS
from nbtext.report.result import format_result
from nbtext.report.settings import ColumnSettings

LABELS = ("a|x", "b", "c\x1b[31m")


def predictions(labels: tuple[str, ...] = LABELS, separator: str = "|") -> Predictions:
    """Return predictions of two, one and no label, and a document that could not be read."""
    probabilities = np.array([[0.9, 0.25, 0.75], [0.1, 0.5, 0.0], [0.1, 0.2, 0.3], [np.nan] * 3])
    thresholds = np.full(3, 0.5)
    true: list[tuple[str, ...] | None] = [(labels[0],), (labels[1], labels[2]), (), ()]
    reasons = [None, None, None, "it is\nbroken"]
    return Predictions(
        "several",
        labels,
        ["1", "two", "3", "4"],
        select_labels(probabilities, labels, thresholds),
        probabilities,
        np.array([1, 0.5, 1, 0]),
        reasons,
        true,
        thresholds=thresholds,
        separator=separator,
    )


def written(form: str, batch: Predictions, **decisions: Any) -> str:
    """Return what is written, as text."""
    found = predictions_result([batch], task=batch.task, decisions=DecisionSettings(**decisions))
    return "".join(format_result(found, form)).encode("utf-8", "backslashreplace").decode()


def test_jsonl() -> None:
    """One record for each document, with its labels, the most probable first, and their
    probabilities.
    """
    found = [json.loads(line) for line in written("jsonl", predictions()).splitlines()]
    assert found[0] == {
        "id": "1",
        "labels": ["a|x", "c\x1b[31m"],
        "probabilities": [0.9, 0.75],
        "known": 1.0,
        "outlier": None,
        "scores": {"a|x": 0.9, "b": 0.25, "c\x1b[31m": 0.75},
    }
    assert (found[2]["labels"], found[2]["probabilities"]) == ([], [])
    assert "reason" not in found[2]
    assert (found[3]["labels"], found[3]["scores"], found[3]["reason"]) == (
        [],
        None,
        "it is\nbroken",
    )


def test_top_k_of_jsonl() -> None:
    """`scores` has the most probable labels only, the most probable first."""
    found = [json.loads(line) for line in written("jsonl", predictions(), top_k=2).splitlines()]
    assert list(found[0]["scores"].items()) == [("a|x", 0.9), ("c\x1b[31m", 0.75)]


def test_tsv_and_csv() -> None:
    """Labels and probabilities are joined by the separator, which is escaped within a label."""
    lines = written("tsv", predictions(), top_k=1).splitlines()
    assert lines[0] == "1\ta\\|x|c\x1b[31m\t0.900000|0.750000\ta|x\t0.900000"
    assert lines[2] == "3\t\t\tc\x1b[31m\t0.300000"
    assert lines[3] == "4\t\t\t\t"
    rows = list(csv.reader(io.StringIO(written("csv", predictions(separator=";"), coverage=0.9))))
    assert rows[0] == ["id", "labels", "probabilities", "label_set"]
    assert rows[1][:2] == ["1", "a|x;c\x1b[31m"]


def test_label_sets() -> None:
    """The sets of `--coverage` are another column, and another key."""
    found = replace(predictions(), label_sets=[("b", "a|x"), (), ("b",), ()])
    assert written("tsv", found, coverage=0.9).splitlines()[0].endswith("\tb|a\\|x")
    assert json.loads(written("jsonl", found, coverage=0.9).splitlines()[0])["label_set"] == [
        "b",
        "a|x",
    ]
    assert "[b, a|x]" in written("table", found, coverage=0.9)


def test_fasttext() -> None:
    """As fastText prints them, also of a single-label model; a label with a space is refused."""
    found = replace(predictions(("a", "b", "ü")), reasons=[None] * 4)
    assert written("fasttext", found) == "__label__a __label__ü\n__label__b\n\n\n"
    assert (
        written("fasttext", found, top_k=2).splitlines()[0]
        == "__label__a 0.900000 __label__ü 0.750000"
    )
    rows = np.array([[0.9, 0.1]] * 2)
    one = Predictions(
        "one", ("a", "b"), ["1", "2"], [("a",), ()], rows, np.ones(2), [None] * 2, [None] * 2
    )
    assert written("fasttext", one) == "__label__a\n\n"
    for label in ("a b", "a\nb", "a\tb", "a\u2028b"):
        with pytest.raises(SettingsError, match=r"contains a space"):
            written("fasttext", predictions(("a", label, "c")))


def test_a_mail_header_has_one_label() -> None:
    """Several labels have no header."""
    with pytest.raises(
        SettingsError,
        match="a mail header can hold one label, and the model is a multi-label model",
    ):
        written("header", predictions())
    assert set(PREDICTION_FORMATS) - set(OUTPUT_FORMATS) == {"header", "fasttext"}


def added(
    batch: Any, decisions: DecisionSettings, **settings: Any
) -> tuple[list[Column], list[Column]]:
    """Return the columns for tables, and those for formats with lists."""
    rows = TextRows("jsonl", "x", Encoding("utf-8"), ["{}"] * 4, [""] * 5, range(1, 5))
    found = columns_module._add_columns(
        replace(batch, rows=rows), ColumnSettings(add_columns=True, **settings), decisions, None
    )
    return list(found.flat), list(found.nested)


def test_added_columns() -> None:
    """Lists in JSON and Parquet, and texts with the separator in a table."""
    flat, nested = added(predictions(), DecisionSettings(top_k=1), column_prefix="p_")
    assert [(column.name, column.kind) for column in nested] == [
        ("p_labels", "labels"),
        ("p_probabilities", "numbers"),
        ("p_scores", "scores"),
    ]
    assert nested[0].values[:2] == [["a|x", "c\x1b[31m"], ["b"]]
    assert [column.name for column in flat] == [
        "p_labels",
        "p_probabilities",
        "p_label_1",
        "p_probability_1",
    ]
    assert [column.cells(column.values[0]) for column in flat[:2]] == [
        "a\\|x|c\x1b[31m",
        "0.900000|0.750000",
    ]
    assert flat[0].cells(flat[0].values[2]) == ""
    flat, _ = added(
        replace(predictions(), label_sets=[()] * 4),
        DecisionSettings(coverage=0.9),
        columns=("reason", "labels"),
    )
    assert [column.name for column in flat] == ["reason", "labels", "label_set"]
    with pytest.raises(
        SettingsError, match="the predictions of a multi-label model have no 'typicality'"
    ):
        added(predictions(), DecisionSettings(), columns=("labels", "typicality"))


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_evaluation(form: str) -> None:
    """Every format has the metrics, the scores of labels and their thresholds; no control
    characters for people.
    """
    evaluator = MultilabelEvaluator()
    evaluator.add(predictions())
    evaluation = evaluator.evaluation()
    text = "".join(format_result(evaluation_result(evaluation), form))
    if form in ("json", "jsonl"):
        record = json.loads(text)
        assert record["micro_f1"] == evaluation.metrics["micro_f1"]
        assert (record["documents"], record["unlabeled"], record["unanswered"]) == (4, 2, 2)
        assert record["per_label"][0] == {
            "label": "a|x",
            "precision": 1.0,
            "recall": 1.0,
            "f1": 1.0,
            "support": 1,
            "threshold": 0.5,
        }
        assert record["label_pairs"][0] == {
            "kind": "added",
            "label": "c\x1b[31m",
            "other": "a|x",
            "documents": 1,
        }
        return
    assert "micro" in text
    assert "0.5" in text
    if form in ("table", "markdown"):
        assert "\x1b" not in text
        assert "added" in text
        assert "subset accuracy" in text
    else:
        separator = "\t" if form == "tsv" else ","
        rows = {
            tuple(row[::2]): row[1] for row in csv.reader(io.StringIO(text), delimiter=separator)
        }
        assert rows["threshold", "b"] == "0.500000"
        assert float(rows["subset_accuracy", ""]) == pytest.approx(
            evaluation.metrics["subset_accuracy"], abs=1e-6
        )

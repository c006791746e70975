"""An evaluation is readable in each form."""

import csv
import io
import json

import pytest

from nbtext.evaluation.curves import ReliabilityBin
from nbtext.evaluation.evaluator import Evaluation, LabelScore
from nbtext.report.evaluation import evaluation_result
from nbtext.report.result import format_result
from nbtext.report.terminal import PLAIN_SCREEN, Screen

HOSTILE = "\x1b[31m[bold]x|y\t"


def evaluation_of(*labels: str) -> Evaluation:
    n = len(labels)
    return Evaluation(
        documents=2 * n,
        unanswered=1,
        labels=labels,
        metrics={
            "accuracy": 0.5,
            "answered": 0.75,
            "macro_f1": 0.25,
            "weighted_f1": 0.125,
            "log_loss": 1.0,
            "brier_score": 0.5,
            "expected_calibration_error": 0.0625,
        },
        per_label=tuple(LabelScore(label, 0.5, 0.25, 1 / 3, 2) for label in labels),
        confusion_matrix=tuple(
            tuple(int(i == k) + int(k == 0) for k in range(n)) for i in range(n)
        ),
        reliability=(ReliabilityBin(0.4, 0.6, 4, 0.5, 0.5),),
    )


def show(evaluation: Evaluation, form: str, screen: Screen = PLAIN_SCREEN) -> str:
    return "".join(format_result(evaluation_result(evaluation), form, screen))


def test_json_has_what_the_design_lists() -> None:
    """At least these keys, and one object a label."""
    record = json.loads(show(evaluation_of("a", HOSTILE), "json"))
    wanted = "documents accuracy macro_f1 weighted_f1 log_loss expected_calibration_error labels per_label confusion_matrix"
    assert set(wanted.split()) <= record.keys()
    assert record["per_label"][1] == {
        "label": HOSTILE,
        "precision": 0.5,
        "recall": 0.25,
        "f1": 1 / 3,
        "support": 2,
    }
    assert json.loads(show(evaluation_of("a"), "jsonl"))["labels"] == ["a"]


def test_tsv_and_csv() -> None:
    """Both have the same rows: the metrics, then precision, recall, F1 and support of each
    label.
    """
    text = show(evaluation_of("a", HOSTILE), "tsv")
    assert "accuracy\t0.500000\t\n" in text
    table = show(evaluation_of("a", HOSTILE), "csv")
    header, *rows = csv.reader(io.StringIO(table, newline=""))
    assert header == ["metric", "value", "label"]
    assert len(rows) == len(text.splitlines())
    assert ["accuracy", "0.500000", ""] in rows
    assert rows[-4:] == [
        ["precision", "0.500000", HOSTILE],
        ["recall", "0.250000", HOSTILE],
        ["f1", "0.333333", HOSTILE],
        ["support", "2", HOSTILE],
    ]


def test_reliability() -> None:
    """JSON and Markdown say how often answers of about the same probability were right."""
    evaluation = evaluation_of("a", "b")
    assert json.loads(show(evaluation, "json"))["reliability"][0]["accuracy"] == 0.5
    assert "| 0.40 to 0.60 | 4 | 0.500 | 0.500 | ━" in "".join(
        format_result(evaluation_result(evaluation), "markdown")
    )


@pytest.mark.parametrize("form", ["table", "markdown"])
@pytest.mark.parametrize("n_labels", [1, 2, 30])
def test_control_characters_are_escaped(form: str, n_labels: int) -> None:
    """Tables hold every figure, fit the width where they can, and spell out what a terminal would
    obey.
    """
    labels = [f"{HOSTILE}{n}" for n in range(n_labels)]
    text = show(evaluation_of(*labels), form, Screen(100))
    assert "\x1b" not in text
    assert "0.5000" in text
    if form == "table":
        assert max(map(len, text.splitlines())) <= 100

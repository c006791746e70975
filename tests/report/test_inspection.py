"""Inspections as text: complete in JSON, and without control characters for terminals."""

import csv
import io
import json

import pytest

from nbtext.model.inspection import inspect_model
from nbtext.report.inspection import FEATURE_COLUMNS, inspection_result
from nbtext.report.records import OUTPUT_FORMATS
from nbtext.report.result import format_result
from nbtext.report.terminal import Screen
from nbtext.text_classifier import TextClassifier

HOSTILE = "a\x1b[31m\tb\n<script>|c\\d\udcff"


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    """Labels and features that a terminal would obey."""
    texts = ["red\x1b[31m sun", "blue sea", "red red", "blue \x07"]
    return TextClassifier(analyzer="char", ngrams=(1, 3)).fit(
        texts, [HOSTILE, "cold", HOSTILE, "cold"]
    )


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_nothing_is_obeyed(classifier: TextClassifier, form: str) -> None:
    """No format for people contains control characters, and a table fits the width of the
    terminal.
    """
    for inspection in (
        inspect_model(classifier.model_, by="frequency"),
        inspect_model(classifier.model_, words=["\x1b", "z" * 200]),
    ):
        text = "".join(format_result(inspection_result(inspection), form, Screen(60)))
        assert form in ("csv", "tsv") or "\x1b" not in text  # which programs read
        if form == "table":
            assert max(map(len, text.splitlines())) <= 60 or "z" * 60 in text


def shown(classifier: TextClassifier, form: str) -> str:
    return "".join(format_result(inspection_result(inspect_model(classifier.model_)), form))


def test_json_has_it_all(classifier: TextClassifier) -> None:
    """JSON has every figure by its name."""
    assert json.loads(shown(classifier, "json"))["labels"][0]["label"] == HOSTILE
    assert "\n" not in shown(classifier, "jsonl").rstrip("\n")


def test_csv_has_a_header_and_tsv_has_none(classifier: TextClassifier) -> None:
    """A row for each label and feature."""
    rows = list(csv.reader(io.StringIO(shown(classifier, "csv"))))
    assert tuple(rows[0]) == FEATURE_COLUMNS
    lines = shown(classifier, "tsv").splitlines()
    assert len(lines) == len(rows) - 1
    assert {line.count("\t") for line in lines} == {len(FEATURE_COLUMNS) - 1}

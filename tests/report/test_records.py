"""Predictions in each form: complete, in order, and harmless whatever they hold."""

import csv
import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.model.predictions import Predictions
from nbtext.model.settings import DecisionSettings
from nbtext.report.predictions import prediction_records, predictions_result
from nbtext.report.records import OUTPUT_FORMATS, format_json
from nbtext.report.result import format_result, format_rows

HOSTILE = "a\x1b[31m\tb\n<script>|c\\d\udcff"


def predictions_of(ids: list[str], labels: list[str | None]) -> Predictions:
    n = len(ids)
    return Predictions(
        "one",
        ("no", HOSTILE),
        ids,
        [() if label is None else (label,) for label in labels],
        np.tile([0.25, 0.75], (n, 1)),
        np.full(n, 0.5),
        [None if label is not None else "it is empty" for label in labels],
        [None] * n,
        outliers=[False] * n,
    )


def written(form: str, *batches: Predictions) -> str:
    return (
        "".join(format_result(predictions_result(batches), form))
        .encode("utf-8", "backslashreplace")
        .decode()
    )


@pytest.mark.parametrize("form", ["tsv", "csv", "markdown", "header"])
def test_a_probability_is_rounded_once(form: str) -> None:
    """The binary value of 0.2001185 is above that number. Rounded by NumPy before it is formatted,
    it was 0.200118.
    """
    batch = replace(
        predictions_of(["a"], ["no"]),
        classes=("no", "x"),
        probabilities=np.array([[0.2001185, 0.7998815]]),
        decided=np.zeros(1, int),
    )
    assert "0.200119" in written(form, batch)
    if form != "header":
        several = replace(batch, task="several", thresholds=np.zeros(2))
        best = DecisionSettings(top_k=1)
        for task, found, decisions in (("one", batch, best), ("several", several, None)):
            result = predictions_result([found], task=task, decisions=decisions)
            assert "0.200119" in "".join(format_result(result, form))


def test_columns_of_a_table_are_below_each_other() -> None:
    """However wide the characters of labels are: 手紙 takes as much room as four letters."""
    answers = replace(predictions_of(["a", "b"], ["手紙", "mail"]), classes=("mail", "手紙"))
    assert written("table", answers) == "手紙    75.0%  a\nmail    75.0%  b\n"


def test_golden_jsonl() -> None:
    """The keys of DESIGN, and a reason where there is no label."""
    first, second = written("jsonl", predictions_of(["a", "b"], ["no", None])).splitlines()
    expected = {
        "id": "a",
        "label": "no",
        "probability": 0.75,
        "known": 0.5,
        "outlier": False,
        "typicality": None,
    }
    assert json.loads(first) == {**expected, "scores": {"no": 0.25, HOSTILE: 0.75}}
    found = json.loads(second)
    assert list(found) == [*expected, "scores", "reason"]
    assert (found["label"], found["reason"]) == (None, "it is empty")


@given(ids=st.lists(st.text(st.characters(exclude_categories=())), max_size=5))
def test_tsv_has_a_line_for_each_document(ids: list[str]) -> None:
    """Whatever the ids hold, there is one line for each, of three columns."""
    lines = written("tsv", predictions_of(ids, [HOSTILE] * len(ids))).split("\n")
    assert lines.pop() == ""
    assert [line.count("\t") for line in lines] == [2] * len(ids)


@given(ids=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=5))
def test_csv_and_json_round_trip(ids: list[str]) -> None:
    """The csv and json modules read the ids and labels back as they were."""
    batch = predictions_of(ids, ["no"] * len(ids))
    rows = list(csv.reader(io.StringIO(written("csv", batch), newline="")))
    assert rows == [
        ["id", "label", "probability"],
        *([identity, "no", "0.750000"] for identity in ids),
    ]
    assert [record["id"] for record in json.loads(written("json", batch, batch))] == ids * 2


FIELD = st.text(st.characters(exclude_categories=())) | st.text('ab ,"\t\n\r\\\0', max_size=3)


@given(rows=st.lists(st.tuples(FIELD) | st.tuples(FIELD, FIELD), max_size=3))
def test_a_table_in_csv_is_that_of_the_csv_module(rows: list[tuple[str, ...]]) -> None:
    """Rows that need no quotes, which are joined, are what the csv module writes, too."""
    for form, delimiter in (("csv", ","), ("quoted tsv", "\t")):
        lines = []
        for row in rows:
            file = io.StringIO(newline="")
            csv.writer(file, delimiter=delimiter).writerow(row)
            lines.append(file.getvalue().removesuffix("\r\n") + "\n")
        assert format_rows(rows, form) == "".join(lines)


LABEL = st.sampled_from(["no", "50 %s", None])
SHARE = st.floats(0, 1) | st.sampled_from([1e-7, math.nan])


@given(st.lists(st.tuples(FIELD, LABEL, SHARE), min_size=1, max_size=3))
def test_json_lines_are_the_records(rows: list[tuple[str, str | None, float]]) -> None:
    """Lines of records with the same keys, which are made of columns, are those of each record."""
    ids, labels, shares = map(list, zip(*rows, strict=True))
    batch = replace(
        predictions_of(ids, labels),
        classes=("no", "50 %s"),
        probabilities=np.array([[each, 1 - each] for each in shares]),
        typicality=np.array(shares),
    )
    lines = "".join(format_json(each) + "\n" for each in prediction_records(batch))
    assert "".join(format_result(predictions_result([batch]), "jsonl")) == lines


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_no_control_character_reaches_a_person(form: str) -> None:
    """Escape sequences in ids and labels are spelled out, on the terminal and in Markdown."""
    text = written(form, predictions_of([HOSTILE], [HOSTILE]))
    assert "\x1b" not in text
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("form", OUTPUT_FORMATS)
def test_no_document(form: str) -> None:
    """No document gives a well-formed empty result."""
    text = written(form)
    assert text in (
        "",
        "id,label,probability\n",
        "[]\n",
        "| id | label | probability |\n|---|---|---|\n",
    )


@pytest.mark.parametrize("n_labels", [2, 90, 4096, 4097])
def test_scores_sum_to_one(n_labels: int) -> None:
    """The scores of a record sum to 1 within 1e-6, and hold its probability. With very many labels,
    they are those of the most probable ones.
    """
    random = np.random.default_rng(n_labels)
    probabilities = random.dirichlet(np.full(n_labels, 0.5), 50)
    batch = replace(
        predictions_of(list(map(str, range(50))), ["no"] * 50),
        classes=tuple(f"label {k:04}" for k in range(n_labels)),
        probabilities=probabilities,
    )
    batch.labels = [(batch.classes[k],) for k in batch.label_classes]
    for record in map(json.loads, written("jsonl", batch).splitlines()):
        if n_labels > 4096:
            assert len(record["scores"]) == 64
        else:
            assert abs(sum(record["scores"].values()) - 1) <= 1e-6
        assert record["scores"][record["label"]] == record["probability"]


def test_json_never_holds_what_it_cannot() -> None:
    """A number that is not finite is null, wherever it stands; so are the scores of a document that
    could not be read.
    """
    plain = {"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": (-float("inf"),)}}
    assert json.loads(format_json(plain)) == {"a": None, "b": [None, 1.5], "c": {"d": [None]}}
    batch = predictions_of(["a"], ["no"])
    batch.probabilities[:] = np.nan
    batch.known[:] = np.inf
    assert json.loads(written("jsonl", replace(batch, labels=[()])))["scores"] is None
    text = written("jsonl", batch) + written("json", batch)
    assert "NaN" not in text
    assert "Infinity" not in text

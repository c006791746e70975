"""Predictions are read back as they were written, and an invalid line is named."""

from pathlib import Path

import numpy as np
import pytest

from nbtext.documents.batch import Batch
from nbtext.errors import InputError
from nbtext.evaluation.predicted import PredictionsFile
from nbtext.model.predictions import Predictions
from nbtext.report.predictions import predictions_result
from nbtext.report.records import write_and_flush
from nbtext.report.result import format_result

IDS = ["plain", "tab\tnew\nline\\t", "odd \udcff", "unanswered"]
BATCH = Batch(IDS, ([""] * 4,), ["a", "b", "a", "c"])


def predicted() -> Predictions:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.1, 0.3, 0.6], [np.nan] * 3])
    return Predictions(
        "one",
        ("a", "b", "c"),
        IDS,
        [("a",), ("b",), ("c",), ()],
        probabilities,
        np.ones(4),
        [None] * 4,
        BATCH.list_labels(),
    )


@pytest.mark.parametrize("form", ["jsonl", "tsv", "csv"])
def test_round_trip(form: str, tmp_path: Path) -> None:
    """Labels come back in every form; probabilities all of them, or the best one and equal shares
    of the rest.
    """
    path = tmp_path / f"predictions.{form}"
    with path.open("wb") as file:
        write_and_flush(format_result(predictions_result([predicted()]), form), file)
    found = PredictionsFile(str(path)).of(BATCH)
    assert found.labels == predicted().labels
    assert found.true_labels == BATCH.list_labels()
    expected = predicted().probabilities
    if form != "jsonl":
        expected = np.array([[0.7, 0.15, 0.15], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6], [np.nan] * 3])
    np.testing.assert_allclose(found.probabilities, expected)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "p.jsonl",
            '{"id": "plain", "label": "a", "scores": {}}\n{"id": 3}\n',
            "p.jsonl:2: is not a record of nbtext predict",
        ),
        ("p.jsonl", '{"id": "x", "label": "a", "scores": {"a": 2}}\n', "p.jsonl:1"),
        ("p.tsv", "no columns\n", "p.tsv:1"),
        ("p.tsv", "x\ta\t0.5\n", "there is no prediction for plain"),
        ("p.csv", "id,label,probability\nx,a,much\n", "p.csv:2"),
        ("p.csv", 'id,label,probability\n"x\ny",a,0.5\nz,a,much\n', "p.csv:4"),
    ],
)
def test_what_is_no_prediction(name: str, text: str, message: str, tmp_path: Path) -> None:
    """One line names the file, the line and what would help."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        PredictionsFile(str(tmp_path / name)).of(BATCH)
    assert message in str(error.value)


def test_as_an_editor_of_windows_leaves_it(tmp_path: Path) -> None:
    """With a mark at the beginning, and other ends of lines."""
    for name, text in (
        ("p.jsonl", '{"id": "x", "label": "a", "scores": {"a": 1.0}, "labels": ["a", "b"]}\r\n'),
        ("p.tsv", "x\ta\t1.0\ta,b\r\n"),
        ("p.csv", 'id,label,probability,labels\r\nx,a,1.0,"a,b"\r\n'),
    ):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.encode())
        found = PredictionsFile(str(tmp_path / name)).of(Batch(["x"], ([""],), ["a"]))
        assert found.labels == [("a",)]


def test_equal_ids_are_matched_in_order(tmp_path: Path) -> None:
    """Also over several batches; one record is for all documents of its id, and two are not for
    three.
    """
    (tmp_path / "p.tsv").write_text("x\ta\t0.5\ny\tb\t0.5\nx\tb\t0.75\n")
    file = PredictionsFile(str(tmp_path / "p.tsv"))
    assert file.of(Batch(["x", "y", "y"], ([""] * 3,), ["a"] * 3)).labels == [
        ("a",),
        ("b",),
        ("b",),
    ]
    assert file.of(Batch(["x"], ([""],), ["a"])).labels == [("b",)]
    with pytest.raises(InputError, match="the id x has 2 predictions, and more documents"):
        file.of(Batch(["x"], ([""],), ["a"]))


def test_tsv_without_a_document_of_two_labels(tmp_path: Path) -> None:
    """It is read as the source has labels: one for each document, or a list."""
    text = "x\ta\\,b\t0.900000\ny\t\t\n"
    one, several = (PredictionsFile(_write(tmp_path / "p.tsv", text)) for _ in range(2))
    batch = Batch(["x", "y"], ([""] * 2,), [("a,b",), ()])
    found = several.of(batch)
    assert (found.task, found.labels) == ("several", [("a,b",), ()])
    found = one.of(Batch(["x"], ([""],), ["a\\,b"]))
    assert (found.task, found.labels) == ("one", [("a\\,b",)])


def _write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)

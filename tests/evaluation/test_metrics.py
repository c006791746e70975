"""The metrics are scikit-learn's, batch by batch, and say what cannot be judged."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peer

from nbtext.errors import InputError
from nbtext.evaluation.evaluator import Evaluation, Evaluator, MultilabelEvaluator
from nbtext.model.predictions import Predictions

CLASSES = ("a", "b", "c")


def predictions_of(
    true: list[str], probabilities: np.ndarray, *, answered: list[bool] | None = None
) -> Predictions:
    """Predictions whose label is the most probable one, or None where it was not answered."""
    best = probabilities.argmax(axis=1)
    answered = answered if answered is not None else [True] * len(true)
    return Predictions(
        "one",
        CLASSES,
        [str(n) for n in range(len(true))],
        [
            (CLASSES[k],) if is_answered else ()
            for k, is_answered in zip(best, answered, strict=True)
        ],
        probabilities,
        np.ones(len(true)),
        [None] * len(true),
        [(label,) for label in true],
    )


def judged(*batches: Predictions) -> Evaluation:
    evaluator = Evaluator()
    for batch in batches:
        evaluator.add(batch)
    return evaluator.evaluation()


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], np.ndarray]:
    true = draw(st.lists(st.sampled_from(CLASSES), min_size=1, max_size=20))
    weights = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)
    raw = np.array([draw(weights) for _ in true], dtype=np.float64)
    return true, raw / raw.sum(axis=1, keepdims=True)


@settings(max_examples=40)
@given(case=cases(), cut=st.integers(0, 20))
def test_equals_scikit_learn(case: Any, cut: int) -> None:
    """Accuracy, precision, recall, F1, log-loss, Brier score and confusions are scikit-learn's,
    however batched.
    """
    true, probabilities = case
    whole = judged(predictions_of(true, probabilities))
    parts = judged(
        *(
            predictions_of(true[part], probabilities[part])
            for part in (slice(cut), slice(cut, None))
        )
    )
    assert parts.confusion_matrix == whole.confusion_matrix
    for name in ("log_loss", "brier_score", "expected_calibration_error"):
        assert parts.metrics[name] == pytest.approx(whole.metrics[name])
    predicted = [CLASSES[k] for k in probabilities.argmax(axis=1)]
    assert whole.metrics["accuracy"] == pytest.approx(peer.accuracy_score(true, predicted))
    for average, found in (
        ("macro", whole.metrics["macro_f1"]),
        ("weighted", whole.metrics["weighted_f1"]),
    ):
        expected = peer.f1_score(true, predicted, average=average)
        assert found == pytest.approx(expected)
    columns = peer.precision_recall_fscore_support(true, predicted, labels=CLASSES, zero_division=0)
    for score, row in zip(whole.per_label, zip(*columns, strict=True), strict=True):
        assert (score.precision, score.recall, score.f1, score.support) == pytest.approx(row)
    np.testing.assert_array_equal(
        whole.confusion_matrix, peer.confusion_matrix(true, predicted, labels=CLASSES)
    )
    of_true = probabilities[np.arange(len(true)), [CLASSES.index(label) for label in true]]
    assert whole.metrics["log_loss"] == pytest.approx(-np.log(np.maximum(of_true, 1e-15)).mean())
    truth = np.array([[label == k for k in CLASSES] for label in true])
    assert whole.metrics["brier_score"] == pytest.approx(
        ((probabilities - truth) ** 2).sum(axis=1).mean()
    )


def test_a_label_that_the_model_never_saw() -> None:
    """It is among the labels, its documents count as wrong, and metrics of probabilities leave them
    out.
    """
    known = predictions_of(["a", "b"], np.array([[0.8, 0.2, 0], [0.6, 0.4, 0]]))
    evaluation = judged(known, predictions_of(["zebra"], np.array([[0.9, 0.1, 0]])))
    assert evaluation.labels == ("a", "b", "c", "zebra")
    assert (evaluation.documents, evaluation.unknown_label) == (3, 1)
    assert evaluation.metrics["accuracy"] == pytest.approx(1 / 3)
    assert evaluation.metrics["macro_f1"] == pytest.approx((0.5 + 0 + 0) / 3)  # of a, b and zebra
    assert evaluation.confusion_matrix[3] == (1, 0, 0, 0)
    without = judged(known)
    assert without.unknown_label is None
    assert evaluation.reliability == without.reliability
    for name in ("log_loss", "brier_score", "expected_calibration_error"):
        assert evaluation.metrics[name] == without.metrics[name]
    unknown_only = judged(predictions_of(["zebra"], np.array([[0.9, 0.1, 0]])))
    assert (
        not {"log_loss", "brier_score", "expected_calibration_error"} & unknown_only.metrics.keys()
    )


def test_documents_without_an_answer() -> None:
    """They count as wrong, stand in no column, and a document that could not be read is a uniform
    prediction.
    """
    nothing = np.full((1, 3), np.nan)
    evaluation = judged(
        predictions_of(["a"], np.array([[1.0, 0, 0]])),
        predictions_of(["a"], nothing, answered=[False]),
    )
    assert (evaluation.documents, evaluation.unanswered, evaluation.metrics["accuracy"]) == (
        2,
        1,
        0.5,
    )
    assert evaluation.per_label[0].support == 2
    assert evaluation.per_label[0].recall == 0.5
    assert evaluation.metrics["log_loss"] == pytest.approx(np.log(3) / 2)


@pytest.mark.parametrize("evaluator", [Evaluator, MultilabelEvaluator])
def test_nothing_to_judge(evaluator: type[Evaluator]) -> None:
    """Without documents there is nothing to evaluate."""
    with pytest.raises(InputError, match="no documents to evaluate"):
        evaluator().evaluation()


def test_the_calibration_error_by_hand() -> None:
    """Fifteen bins of equal width; a probability of 1 is in the last one, which is not joined with
    the one before.
    """
    best = np.array([0.92, 0.92, 0.95, 1.0, 1.0, 1.0, 0.6, 0.61])
    true = ["a", "b", "a", "b", "b", "a", "a", "b"]
    probabilities = np.stack((best, 1 - best, np.zeros(len(best))), axis=1)
    bins = [[0, 1], [2, 3, 4, 5], [6, 7]]  # 0.92 is below 14/15 = 0.9333; 0.6 = 9/15 begins a bin
    right = np.array([label == "a" for label in true])
    expected = sum(abs(right[rows].sum() - best[rows].sum()) for rows in bins) / len(best)
    found = judged(predictions_of(true, probabilities))
    assert found.metrics["expected_calibration_error"] == pytest.approx(expected)
    assert [(each.documents, each.low, each.high) for each in found.reliability] == [
        (2, pytest.approx(9 / 15), pytest.approx(10 / 15)),
        (2, pytest.approx(13 / 15), pytest.approx(14 / 15)),
        (4, pytest.approx(14 / 15), 1),
    ]

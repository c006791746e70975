"""Evaluations with weights of documents and with soft labels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from outcomes_by_chance import outcomes_of, predictions_of, probabilities_of

from nbtext.evaluation.bootstrap import by_text, compute_intervals
from nbtext.evaluation.evaluator import Evaluation, Evaluator, MultilabelEvaluator
from nbtext.evaluation.groups import auroc, group_accuracy
from nbtext.evaluation.metrics import METRICS, totals_of
from nbtext.model.predictions import Predictions

TIMES = np.random.default_rng(5).integers(1, 4, size=90)


def evaluated(kind: Any, predictions: Predictions, **columns: Any) -> Evaluation:
    evaluator = kind()
    evaluator.add(replace(predictions, **columns))
    found: Evaluation = evaluator.evaluation()
    return found


@pytest.mark.parametrize("task", ["one", "several"])
def test_a_weight_is_as_many_documents(task: str) -> None:
    probabilities, true = probabilities_of(90, 3, 2)
    kind: Any = Evaluator if task == "one" else MultilabelEvaluator
    whole = replace(predictions_of(probabilities, true), task=task)
    repeated = evaluated(kind, whole.take(np.repeat(np.arange(90), TIMES)))
    weighed = evaluated(kind, whole, weights=TIMES.astype(float), texts=np.arange(90))
    assert weighed.metrics == pytest.approx(repeated.metrics, abs=1e-12)
    assert weighed.per_label == repeated.per_label
    assert weighed.confusion_matrix == repeated.confusion_matrix
    assert weighed.label_pairs == repeated.label_pairs
    assert weighed.documents == repeated.documents == TIMES.sum()


def test_parts_of_one_text() -> None:
    """Against shares, expected accuracy and log-loss are sums over annotators, and the largest
    shares say which accuracy is possible.
    """
    probabilities = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    rows = np.array([0, 0, 1, 1, 2])
    weights = np.array([0.75, 0.25, 0.75, 0.25, 1.0])
    true = [0, 1, 0, 1, 1]
    found = evaluated(
        Evaluator, predictions_of(probabilities[rows], true), weights=weights, texts=rows
    )
    assert found.documents == 3
    assert found.metrics["expected_accuracy"] == (0.75 + 0.25 + 0) / 3
    assert found.metrics["highest_possible_accuracy"] == (0.75 + 0.75 + 1) / 3
    own = np.log(probabilities[rows, true])
    assert found.metrics["log_loss"] == pytest.approx(-(weights * own).sum() / 3)
    assert found.confusion_matrix == ((0.75, 0.75), (1.25, 0.25))


def test_a_text_is_one_observation() -> None:
    """Intervals do not depend on the scale of weights, nor on parts of one text with one label."""
    outcomes = outcomes_of(300, 3)
    plain = compute_intervals(METRICS, totals_of(outcomes, 3), 300)
    n = np.repeat(np.arange(300), 2)
    names = ("true", "predicted", "best", "is_known", "of_true", "squared_errors")
    columns: dict[str, Any] = {
        name: getattr(outcomes, name)[n] for name in (*names, "is_chosen_right", "is_answerable")
    }
    parts = replace(outcomes, **columns, weights=np.full(600, 3.0), texts=n)
    found = compute_intervals(METRICS, *by_text(parts, totals_of(parts, 3)))
    for name in ("accuracy", "log_loss", "macro_f1"):
        assert found[name] == pytest.approx(plain[name], abs=1e-12)


def test_a_batch_without_soft_labels_counts_once() -> None:
    probabilities, true = probabilities_of(40, 3, 7)
    evaluator = Evaluator()
    first = predictions_of(probabilities[:20], true[:20])
    evaluator.add(replace(first, weights=np.full(20, 2.0), texts=np.arange(20)))
    evaluator.add(predictions_of(probabilities[20:], true[20:]))
    outcomes = evaluator.outcomes()
    assert outcomes.weights.sum() == 60
    assert len(np.unique(outcomes.texts)) == 40
    assert outcomes.agreement is None  # no text has several labels


def test_weights_within_groups() -> None:
    random = np.random.default_rng(3)
    scores = random.integers(0, 9, 90) / 9
    is_label = random.random(90) < scores
    groups = random.integers(0, 3, 90)
    rows = np.repeat(np.arange(90), TIMES)
    expected = auroc(scores[rows], is_label[rows], groups[rows])
    assert auroc(scores, is_label, groups, TIMES.astype(float)) == pytest.approx(expected)
    true = is_label.astype(np.int64)
    assert group_accuracy(true, groups, np.full(90, 2.0)) == group_accuracy(true, groups)

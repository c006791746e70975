"""Metrics of several labels: equality with scikit-learn, the same sums in any batches, and bounded
memory.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.evaluator import Evaluation, LabelPair, MultilabelEvaluator
from nbtext.evaluation.metrics import MULTILABEL_METRICS, sum_outcomes
from nbtext.evaluation.outcomes import LabelNumbers, measure_sets
from nbtext.model.predictions import Predictions, select_labels

Sets = list[tuple[str, ...]]
Lists = list[tuple[str, ...] | None]


def predictions_of(
    probabilities: Floats, labels: tuple[str, ...], true: Lists, predicted: Sets | None = None
) -> Predictions:
    """Return predictions with the threshold 0.5 for each label."""
    n = len(probabilities)
    thresholds = np.full(len(labels), 0.5)
    if predicted is None:
        predicted = select_labels(probabilities, labels, thresholds)
    return Predictions(
        "several",
        labels,
        list(map(str, range(n))),
        predicted,
        probabilities,
        np.ones(n),
        [None] * n,
        true,
        thresholds=thresholds,
    )


def part(found: Predictions, start: int, stop: int) -> Predictions:
    """Return some of the documents."""
    rows = slice(start, stop)
    columns = ("ids", "probabilities", "known", "reasons", "true_labels", "labels")
    sets = found.label_sets[rows] if found.label_sets is not None else None
    return replace(found, **{name: getattr(found, name)[rows] for name in columns}, label_sets=sets)


def found_by_chance(
    n: int,
    n_labels: int,
    *,
    seed: int = 0,
    digits: int = 2,
    unknown: tuple[str, ...] = (),
    rare: int = 0,
) -> Predictions:
    """Return predictions with ties, documents without labels, and labels that no document has."""
    rng = np.random.default_rng(seed)
    labels = tuple(f"l{k:05}" for k in range(n_labels))
    probabilities = rng.random((n, n_labels)).round(digits) ** 2
    is_true = rng.random((n, n_labels)) < probabilities * 0.8
    is_true[:, n_labels - rare :] = False
    true: Lists = [
        (*(labels[k] for k in np.flatnonzero(row)), *(u for u in unknown if rng.random() < 0.2))
        for row in is_true
    ]
    return predictions_of(probabilities, labels, true)


def evaluate(found: Predictions, *, size: int = 7) -> Evaluation:
    """Evaluate in batches."""
    evaluator = MultilabelEvaluator()
    for start in range(0, len(found), size):
        evaluator.add(part(found, start, start + size))
    return evaluator.evaluation()


def indicators(found: Predictions, labels: tuple[str, ...]) -> tuple[Any, Any, Any]:
    """Return true labels, predicted labels and probabilities as matrices over all labels."""
    true = np.array(
        [[label in (own or ()) for label in labels] for own in found.true_labels], dtype=int
    )
    predicted = np.array([[label in each for label in labels] for each in found.labels], dtype=int)
    places = {label: place for place, label in enumerate(found.classes)}
    scores = np.full(true.shape, -1.0)
    for column, label in enumerate(labels):
        if label in places:
            scores[:, column] = found.probabilities[:, places[label]]
    return true, predicted, scores


@pytest.mark.parametrize("unknown", [(), ("new", "other")])
@pytest.mark.parametrize("digits", [1, 16])
def test_equal_to_scikit_learn(unknown: tuple[str, ...], digits: int) -> None:
    """Every metric that scikit-learn has, with ties, documents without labels and labels unknown to
    the model.
    """
    metrics = pytest.importorskip("sklearn.metrics")
    found = found_by_chance(200, 12, seed=3, digits=digits, unknown=unknown, rare=2)
    found.true_labels[3] = ()
    evaluation = evaluate(found)
    assert set(unknown) <= set(evaluation.labels)
    true, predicted, _ = indicators(found, evaluation.labels)
    that_occur = np.flatnonzero((true + predicted).any(axis=0)).tolist()
    is_known = np.array([not set(unknown) & set(labels) for labels in found.true_labels])
    assert evaluation.unknown_label == (int((~is_known).sum()) or None)
    expected = {
        "micro_f1": metrics.f1_score(true, predicted, average="micro"),
        "micro_precision": metrics.precision_score(true, predicted, average="micro"),
        "micro_recall": metrics.recall_score(true, predicted, average="micro"),
        "macro_f1": metrics.f1_score(
            true, predicted, average="macro", labels=that_occur, zero_division=0
        ),
        "example_f1": metrics.f1_score(true, predicted, average="samples", zero_division=1),
        "subset_accuracy": metrics.accuracy_score(true, predicted),
    }
    for name, value in expected.items():
        assert evaluation.metrics[name] == pytest.approx(value, abs=1e-12), name
    columns = metrics.precision_recall_fscore_support(true, predicted, zero_division=0)
    for score, *row in zip(evaluation.per_label, *columns, strict=True):
        assert (score.precision, score.recall, score.f1, score.support) == pytest.approx(tuple(row))
        assert score.threshold == (None if score.label in unknown else 0.5)


def test_precision_at_k() -> None:
    """Precision at k is the mean over documents with a label of the true ones among the k most
    probable, over k.
    """
    found = found_by_chance(60, 9, seed=5, digits=16)
    evaluation = evaluate(found)
    true, _, scores = indicators(found, evaluation.labels)
    labeled = true.any(axis=1)
    order = np.argsort(-scores, axis=1)
    for k in (1, 3, 5):
        hits = np.take_along_axis(true, order[:, :k], axis=1).sum(axis=1) / k
        assert evaluation.metrics[f"precision_at_{k}"] == pytest.approx(hits[labeled].mean())


def test_classwise_calibration_error() -> None:
    """The mean over labels of the gap between probability and frequency, in 15 bins of equal width.

    Certain and nearly certain ones are in the last two bins: their gaps have opposite signs.
    """
    found = found_by_chance(300, 6, seed=7, digits=16)
    found.probabilities[:120, 0] = np.repeat([0.93, 1.0], 60)  # 14/15 is 0.9333
    found.true_labels[:120] = [(found.classes[0],)] * 60 + [()] * 60
    evaluation = evaluate(found)
    true, _, probabilities = indicators(found, evaluation.labels)
    gaps = []
    for k in range(6):
        bins = np.minimum((probabilities[:, k] * 15).astype(int), 14)
        gaps.append(
            sum(
                abs(true[bins == b, k].sum() - probabilities[bins == b, k].sum()) for b in range(15)
            )
            / len(true)
        )
    assert evaluation.metrics["classwise_calibration_error"] == pytest.approx(np.mean(gaps))


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 41), st.integers(0, 99))
def test_any_batches(n: int, n_labels: int, size: int, seed: int) -> None:
    """The sizes of the batches do not matter."""
    found = found_by_chance(n, n_labels, seed=seed, unknown=("new",))
    found.probabilities[::5] = np.nan
    found.labels = [() if row % 5 == 0 else labels for row, labels in enumerate(found.labels)]
    whole = evaluate(found, size=n)
    parts = evaluate(found, size=size)
    assert whole.labels == parts.labels
    assert whole.per_label == parts.per_label
    assert sorted(whole.label_pairs, key=repr) == sorted(parts.label_pairs, key=repr)
    assert whole.metrics == pytest.approx(parts.metrics)
    outcomes = measure_sets(found, LabelNumbers())
    totals = sum_outcomes(outcomes, len(whole.labels))
    for name, metric in MULTILABEL_METRICS.items():
        if (value := metric.compute(totals)) is not None:
            assert value == pytest.approx(whole.metrics[name])


def test_documents_without_labels() -> None:
    """An empty set that is predicted for a document without labels is right."""
    probabilities = np.array([[0.1, 0.2], [0.9, 0.2], [0.1, 0.3], [np.nan, np.nan]])
    found = predictions_of(probabilities, ("a", "b"), [(), (), ("a",), ("b",)])
    evaluation = evaluate(found)
    assert (evaluation.documents, evaluation.unlabeled, evaluation.unanswered) == (4, 2, 3)
    assert evaluation.metrics["subset_accuracy"] == 0.25
    assert evaluation.metrics["example_f1"] == 0.25
    assert evaluation.metrics["precision_at_1"] == 0
    assert evaluation.label_pairs == (
        LabelPair("added", "a", None, 1),
        LabelPair("missed", "a", None, 1),
        LabelPair("missed", "b", None, 1),
    )


def test_pairs_of_labels() -> None:
    """A wrong label is counted with each true one of its documents, and a missed one with each
    predicted one.
    """
    true: Lists = [("a", "b")] * 3 + [("c",)]
    predicted: Sets = [("a", "c"), ("a", "c"), ("b", "a"), ("c", "b")]
    found = predictions_of(np.full((4, 3), 0.5), ("a", "b", "c"), true, predicted)
    assert evaluate(found).label_pairs == (
        LabelPair("added", "c", "a", 2),
        LabelPair("added", "c", "b", 2),
        LabelPair("missed", "b", "a", 2),
        LabelPair("missed", "b", "c", 2),
        LabelPair("added", "b", "c", 1),
    )


def test_sets() -> None:
    """Coverage is the share of true pairs of document and label that are in the sets."""
    found = found_by_chance(50, 5, seed=1)
    found.label_sets = [labels[:2] for labels in found.labels]
    pairs = [
        (own or (), each) for own, each in zip(found.true_labels, found.label_sets, strict=True)
    ]
    evaluation = evaluate(found)
    n_true = sum(len(own) for own, _ in pairs)
    covered = sum(label in each for own, each in pairs for label in own)
    assert evaluation.metrics["coverage"] == pytest.approx(covered / n_true)
    assert evaluation.metrics["mean_set_size"] == pytest.approx(
        sum(len(each) for _, each in pairs) / len(pairs)
    )

"""Decision offsets improve the metric that they are fitted for, also on other documents."""

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.metrics import accuracy_score, f1_score

from nbtext.bayes.decision_offsets import (
    STEP_METRICS,
    _best_step,
    adjust_prior,
    fit_decision_offsets,
)
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import log_posterior


def fit(scores: Any, classes: Any, metric: str) -> Any:
    return fit_decision_offsets(JudgedDocuments(scores, None, classes), metric).offsets


def adjust(scores: Any, classes: Any, **settings: bool) -> Any:
    return adjust_prior(JudgedDocuments(scores, None, classes), **settings)


def unbalanced(n: int, seed: int, *, neglect: float) -> tuple[np.ndarray, np.ndarray]:
    """Return log-probabilities of three classes; the third is rare, and its probabilities are too
    low by `neglect`.
    """
    random = np.random.default_rng(seed)
    classes = random.choice(3, n, p=[0.6, 0.34, 0.06])
    seen = random.normal(0, 1, (n, 3)) + 1.5 * np.eye(3)[classes]
    scores = 1.5 * seen + np.log([0.6, 0.34, 0.06])
    return log_posterior(scores - [0, 0, neglect]), classes


macro_f1 = partial(f1_score, average="macro", labels=range(3), zero_division=0)


@pytest.mark.parametrize(
    ("metric", "judged"), [("macro_f1", macro_f1), ("accuracy", accuracy_score)]
)
def test_the_metric_improves_on_other_documents(metric: str, judged: Any) -> None:
    """Offsets that were fitted to some documents raise the metric on others."""
    shift = fit(*unbalanced(2000, 1, neglect=3.0), metric)
    assert shift is not None
    asked, classes = unbalanced(5000, 2, neglect=3.0)
    assert (
        judged((asked + shift).argmax(axis=1), classes)
        > judged(asked.argmax(axis=1), classes) + 0.01
    )


@pytest.mark.parametrize("metric", ["macro_f1", "accuracy"])
def test_offsets_of_few_documents(metric: str) -> None:
    """If labels follow the probabilities, offsets that were fitted to small samples hardly lower
    the metric.
    """
    lost = []
    asked, truth = unbalanced(5000, 99, neglect=0.0)
    plain = accuracy_score(asked.argmax(axis=1), truth)
    for seed in range(30):
        shift = fit(*unbalanced(30, seed, neglect=0.0), metric)
        if shift is not None:
            lost.append(plain - accuracy_score((asked + shift).argmax(axis=1), truth))
    assert len(lost) < 20
    assert np.sum(lost) / 30 < 0.02


@settings(max_examples=60)
@given(data=st.data(), metric=st.sampled_from(["macro_f1", "accuracy"]))
def test_no_other_offset_is_better(data: st.DataObject, metric: str) -> None:
    """No other offset of one class, tried between any two documents, has a higher metric."""
    n = data.draw(st.integers(1, 12))
    numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=3)
    scores = np.array(data.draw(st.lists(numbers, min_size=n, max_size=n)), dtype=np.float64)
    scores += np.arange(3) * 0.01 + np.arange(n)[:, None] * 0.0001 * [1, 2, 4]  # no ties
    classes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    judged = {"macro_f1": macro_f1, "accuracy": accuracy_score}[metric]
    for k in range(3):
        unit = np.eye(3)[k]
        step = _best_step(JudgedDocuments(scores, None, classes), k, STEP_METRICS[metric])
        others = np.delete(scores, k, axis=1).max(axis=1) - scores[:, k]
        tried = [
            judged((scores + unit * (m + e)).argmax(axis=1), classes)
            for m in others
            for e in (-1e-6, 1e-6)
        ]
        found = judged((scores + unit * step).argmax(axis=1), classes)
        assert found >= max(tried) - 1e-12
        ends = np.unique(others)
        stops = [0.0, ends[0] - 1, *(ends[1:] + ends[:-1]) / 2, ends[-1] + 1]
        equal = [
            stop
            for stop in stops
            if judged((scores + unit * stop).argmax(axis=1), classes) >= found - 1e-12
        ]
        # the smallest change that gives the best value
        assert abs(step) <= np.abs(equal).min() + 1e-9


@pytest.mark.parametrize(("n_rare", "is_moved"), [(5, False), (10, True)])
def test_a_class_of_few_documents_has_no_offset(n_rare: int, is_moved: bool) -> None:
    """Of five documents of a class, each part leaves four, which say too little; of ten, it leaves
    eight.
    """
    classes = np.array([1, 2] * 100 + [0] * n_rare)
    scores = np.zeros((len(classes), 3))
    scores[np.arange(len(classes)), classes] = 4.0
    # always behind the second class, by less than any other document
    scores[classes == 0] = [0.5, 1.0, 0.0]
    offsets = fit(log_posterior(scores), classes, "macro_f1")
    assert offsets is not None  # the second class can give way, too
    assert bool(offsets[0] > 0) is is_moved


def test_no_offsets_if_all_is_correct() -> None:
    """If every prediction is correct, there are no offsets."""
    scores = np.log(np.where(np.eye(3) > 0, 0.8, 0.1))[[0, 1, 2] * 10]
    for metric in ("macro_f1", "accuracy"):
        assert fit(scores, np.array([0, 1, 2] * 10), metric) is None


def biased(
    random: np.random.Generator, n_documents: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities that take the first class for less probable than it is, and the true
    classes.
    """
    scores = random.normal(0, 2, (n_documents, n_classes))
    adjusted = np.exp(log_posterior(scores + np.eye(n_classes)[0] * (1 + np.log(n_classes))))
    classes = np.array([random.choice(n_classes, p=each / each.sum()) for each in adjusted])
    return log_posterior(scores), classes


def test_the_prior_is_left_alone_without_a_gain() -> None:
    """Offsets of one half of the documents must help the other half."""
    random = np.random.default_rng(4)
    scores = log_posterior(random.normal(0, 4, (40, 20)))
    assert adjust(scores, random.integers(0, 20, 40)) is None
    assert adjust(scores[:1], np.zeros(1, dtype=int)) is None
    scores, classes = biased(random, 400, 4)
    gained = adjust(scores, classes)
    optimized = fit(scores, classes, "log_loss")
    np.testing.assert_allclose(gained, optimized, atol=1e-3)


def test_the_prior_of_linear_models_is_left_nearer() -> None:
    """Their offsets have a prior with a standard deviation of 0.35: at the minimum, its slope is
    that of the loss.
    """
    scores, classes = biased(np.random.default_rng(5), 400, 20)
    found = adjust(scores, classes, is_linear=True)
    slopes = np.exp(log_posterior(scores + found)).sum(axis=0) - np.bincount(classes, minlength=20)
    np.testing.assert_allclose(slopes, -found / 0.35**2, atol=1e-3)


@pytest.mark.parametrize(
    ("n_documents", "n_classes", "seed"), [(300, 2, 0), (500, 7, 1), (400, 60, 2)]
)
def test_log_loss_is_at_its_minimum(n_documents: int, n_classes: int, seed: int) -> None:
    """The prior adjustment is the one that a general optimizer finds."""
    random = np.random.default_rng(seed)
    scores, classes = biased(random, n_documents, n_classes)

    def loss(offsets: np.ndarray) -> float:
        adjusted = log_posterior(scores + offsets)
        return (
            float(offsets @ offsets / 2 - adjusted[np.arange(n_documents), classes].sum())
            / n_documents
        )

    found = fit(scores, classes, "log_loss")
    best = minimize(loss, np.zeros(n_classes), method="BFGS", options={"gtol": 1e-7}).x
    np.testing.assert_allclose(found, best - best.mean(), atol=2e-3)


@pytest.mark.exhaustive
def test_log_loss_needs_no_square_of_the_classes() -> None:
    """With 10,000 classes, no array of 10,000 × 10,000 numbers (800 MB) is made."""
    random = np.random.default_rng(0)
    scores, classes = biased(random, 20, 10_000)
    tracemalloc.start()
    try:
        assert fit(scores, classes, "log_loss") is not None
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()

"""Corrections of the weights of frequent features: what they minimize, and when there are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import sample_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize as scipy_minimize
from scipy.special import log_softmax

from nbtext.bayes import corrections
from nbtext.bayes.calibration import center, fit_scaled_temperature
from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.corrections import (
    CORRECTION_DEVIATION,
    MIN_CORRECTED_DOCUMENTS,
    fit_correction,
    multiply_rows,
)
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.documents.fields import WEIGHT_UNIT


def make_documents(n: int, n_classes: int, n_features: int, seed: int = 0) -> tuple[Any, Any]:
    """Binary counts (n, n_features), and classes that depend on the first features."""
    random = np.random.default_rng(seed)
    counts = (random.random((n, n_features)) < 0.3).astype(np.int64)
    scores = counts[:, :n_classes] * 2.0
    p = np.exp(log_softmax(scores, axis=1))
    classes = (p.cumsum(axis=1) < random.random(n)[:, None]).sum(axis=1)
    return counts, classes


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corrections are fitted to the given scores as they are."""
    monkeypatch.setattr(corrections, "SMALL_SHARE", 2.0)


def corpus_of(counts: Any, classes: Any, weights: Any = None) -> LeaveOneOut:
    """The documents of a multinomial model."""
    table = replace(sample_of(counts, classes), weights=weights)
    statistics = count_classes(table, counts.shape[1], int(classes.max()) + 1)
    return LeaveOneOut(statistics, table, None, EVENT_MODELS["multinomial"], "uniform")


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_products_of_rows_and_columns(width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    counts = random.integers(0, 3, (7, 6))
    columns = random.normal(size=(6, width))
    table = sample_of(counts, np.zeros(7, np.int64))
    np.testing.assert_allclose(multiply_rows(table, columns), counts @ columns, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.usefixtures("alone")
def test_corrections_lower_the_penalized_loss(n_classes: int) -> None:
    """One step of Newton's method from 0 comes close to the minimum, which SciPy finds."""
    counts, classes = make_documents(800, n_classes, 6)
    corpus = corpus_of(counts, classes)
    scores = center(np.random.default_rng(1).normal(size=(800, n_classes)))
    correction, held_out = fit_correction(corpus, scores, 1.0)
    assert correction is not None
    assert correction.columns.tolist() == list(range(6))
    assert held_out.shape == scores.shape
    judged = JudgedDocuments.of(corpus.documents, scores, corpus.lengths)
    calibration = fit_scaled_temperature(judged)
    temperatures = calibration.temperature(corpus.lengths)[:, None]
    base = log_softmax(scores / temperatures, axis=1)
    base = base + fit_prior_adjustment(judged.with_scores(base))
    unit = np.exp(np.log(temperatures).mean())

    def loss(at: Any) -> float:
        added = counts @ np.reshape(at, (6, n_classes)) * unit / temperatures
        prior = (np.square(at) / CORRECTION_DEVIATION**2).sum() / 2
        return float(prior - log_softmax(base + added, axis=1)[np.arange(800), classes].sum())

    best = scipy_minimize(loss, np.zeros(6 * n_classes), method="L-BFGS-B").fun
    start = loss(np.zeros(6 * n_classes))
    found = loss(correction.weights.ravel() / unit)
    assert best < found < start
    assert start - found > 0.95 * (start - best)


@pytest.mark.usefixtures("alone")
def test_a_document_of_weight_2_counts_as_two() -> None:
    counts, classes = make_documents(400, 2, 5)
    scores = center(np.random.default_rng(2).normal(size=(400, 2)))
    once = corpus_of(counts, classes, np.full(400, 2 * WEIGHT_UNIT))
    rows = np.repeat(np.arange(400), 2)
    twice = corpus_of(counts[rows], classes[rows])
    twice = replace(twice, documents=replace(twice.documents, hashes=once.documents.hashes[rows]))
    found, _ = fit_correction(once, scores, 1.0)
    expected, _ = fit_correction(twice, scores[rows], 1.0)
    assert found is not None
    assert expected is not None
    np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("alone")
def test_there_are_none_where_scores_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the halves do not lower the log-loss of one another, scores stay as they are; so they do
    with many labels, and without a frequent feature.
    """
    counts, classes = make_documents(400, 3, 40)
    corpus = corpus_of(counts, classes)
    right = center(counts[:, :3] * 2.0)
    correction, held_out = fit_correction(corpus, right, 1.0)
    assert correction is None
    assert held_out is right
    wrong = np.zeros((400, 3))
    assert fit_correction(corpus, wrong, 1.0)[0] is not None
    few = corpus.slice(0, MIN_CORRECTED_DOCUMENTS - 1)
    assert fit_correction(few, wrong[: len(few.documents)], 1.0)[0] is None
    monkeypatch.setattr(corrections, "MAX_CORRECTED_LABELS", 2)
    assert fit_correction(corpus, wrong, 1.0)[0] is None


@pytest.mark.usefixtures("alone")
def test_classes_without_a_feature_have_no_correction() -> None:
    """Such a class has no weight that could be changed."""
    counts, classes = make_documents(600, 3, 6)
    counts[classes == 2, 0] = 0
    corpus = corpus_of(counts, classes)
    statistics = corpus.statistics
    correction, _ = fit_correction(corpus, np.zeros((600, 3)), 1.0)
    assert correction is not None
    assert correction.weights[0, 2] == 0
    assert (correction.weights[0, :2] != 0).all()
    deltas = np.zeros(len(statistics.classes))
    correction.add_to(deltas, statistics)
    dense = np.zeros((6, 3))
    dense[np.repeat(np.arange(6), np.diff(statistics.indptr)), statistics.classes] = deltas
    np.testing.assert_array_equal(dense, correction.weights)
    np.testing.assert_allclose(
        correction.score(corpus.documents, 6), counts @ correction.weights, atol=1e-12
    )


def test_scores_without_some_documents_are_those_of_a_refit() -> None:
    """Each of the others is left out of the model without them."""
    counts, classes = make_documents(30, 3, 5)
    corpus = corpus_of(counts, classes)
    gone = np.arange(10)
    found = corpus.scores_without(gone, 0.5)
    rest = corpus_of(counts[10:], classes[10:])
    np.testing.assert_allclose(center(found), center(rest.scores(0.5)[0]), atol=1e-9)


def test_corrections_of_noise_do_not_seem_worse_than_they_are() -> None:
    """Where features of few documents are many, documents must not be in the scores of those to
    which corrections are fitted: the log-loss that halves show is that of new documents.
    """
    random = np.random.default_rng(3)
    n, n_features = 2600, 2000
    classes = random.integers(0, 2, n)
    counts = (random.random((n, n_features)) < 0.05).astype(np.int64)
    strong = random.random((n, 12)) < np.where(classes == 1, 0.5, 0.3)[:, None]
    copies = np.repeat(strong[:, :3], 4, axis=1)  # evidence that is there four times
    counts = np.hstack((counts, strong, copies))
    corpus = corpus_of(counts[:600], classes[:600])
    scores = center(corpus.scores(1.0)[0])
    correction, held_out = fit_correction(corpus, scores, 1.0)
    assert correction is not None
    scorer = EVENT_MODELS["multinomial"].compile(corpus.statistics, smoothing=1.0)
    new = corpus_of(counts[600:], classes[600:]).documents
    plain = center(scorer.scores(new.indptr, new.indices, new.counts))

    def loss(scores: Any, own: Any) -> float:
        judged = JudgedDocuments(scores, None, own)
        calibration = fit_scaled_temperature(judged)
        return float(judged.calibrate(calibration.log_posterior).losses().mean())

    corrected = plain + correction.score(new, corpus.statistics.n_features)
    gain = loss(plain, classes[600:]) - loss(corrected, classes[600:])
    estimated = loss(scores, classes[:600]) - loss(held_out, classes[:600])
    assert gain > 0
    assert abs(estimated - gain) < 0.015

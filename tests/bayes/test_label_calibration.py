"""The calibration of several labels: what copies, priors and left-out pairs do to the
probabilities.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from nbtext.bayes.label_calibration import (
    Cells,
    Combination,
    ScoreScaling,
    fit_calibration,
    make_multilabel_fit,
)

Floats = NDArray[np.float64]


def cells_of(scores: Floats, positives: NDArray[np.bool_], lengths: Floats) -> Cells:
    """All pairs of some documents and labels: scores and positives have the shape (n_documents,
    n_labels).
    """
    n, n_labels = scores.shape
    contents, labels = np.divmod(np.arange(n * n_labels), n_labels)
    return Cells(
        contents,
        labels,
        positives.ravel().astype(np.float64),
        np.ones(n * n_labels),
        (scores.ravel(),),
        np.zeros(n_labels),
        lengths,
        positives.sum(axis=0),
        n,
    )


def draw(n: int, biases: Floats, *, factor: float, seed: int, length: float = 5.0) -> Cells:
    """Documents of one length, whose log-odds are the biases plus standard normal ones; the scores
    are these, times a factor.
    """
    random = np.random.default_rng(seed)
    log_odds = 2 * random.standard_normal((n, len(biases)))
    positives = random.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds - biases))
    return cells_of(factor * log_odds, positives, np.full(n, length))


def losses(log_odds: Floats, positives: Floats) -> Floats:
    return np.logaddexp(0, log_odds) - positives * log_odds


def refit(
    bias: float, log_odds: Floats, positives: Floats, factor: float, precision: float
) -> float:
    """The bias with the least loss, by which the log-odds were computed that have this one."""

    def loss(other: float) -> float:
        return float(
            losses(log_odds + factor * (other - bias), positives).sum() + precision * other**2 / 2
        )

    return float(
        minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).x
    )


def test_copies_of_documents_change_no_probability() -> None:
    """Each document four times is no more evidence against the prior than once."""
    once = draw(12, np.array([1.5, -1.5, 0.0]), factor=3.0, seed=1)
    often = replace(
        once,
        positives=4 * once.positives,
        documents=4 * once.documents,
        n_documents=4 * once.n_documents,
    )
    for start in (Combination.expected(1, 3), ScoreScaling(1.0, 0.0, np.zeros(3))):
        one, other = (fit_calibration(each, start, tolerance=1e-12)[0] for each in (once, often))
        np.testing.assert_allclose(other.biases, one.biases, atol=1e-3)
        found = often.left_out_probabilities(one)
        expected = once.left_out_probabilities(one)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_left_out_pair_has_the_bias_of_all_others() -> None:
    """As a refit of the bias without the pair finds it, where a bias counts less than the words of
    the document.
    """
    cells = draw(30, np.array([2.0, -2.0]), factor=1.2, seed=2, length=2.0)
    fit, _ = fit_calibration(cells, Combination.expected(1, 2), tolerance=1e-12)
    factor = float(fit.factors(np.array([2.0])).baseline[0])
    assert factor < 0.8
    before = cells.probabilities(fit)
    found = cells.left_out_probabilities(fit)
    log_odds = np.log(before / (1 - before))
    moved = 0.0
    for label in range(2):
        rows = np.flatnonzero(cells.labels == label)
        # the prior's precision: the slope of the loss is 0 at the fit
        residuals = before[rows] - cells.positives[rows]
        precision = -factor * residuals.sum() / fit.biases[label]
        for row in rows.tolist():
            others = rows[rows != row]

            bias = refit(
                fit.biases[label], log_odds[others], cells.positives[others], factor, precision
            )
            expected = 1 / (1 + np.exp(-log_odds[row] - factor * (bias - fit.biases[label])))
            assert found[row] == pytest.approx(expected, abs=2e-3)
            moved = max(moved, abs(expected - before[row]))
    assert moved > 0.01


def test_words_of_short_texts_keep_their_weight() -> None:
    """Long documents, whose words are not independent, determine how much less a word of theirs
    counts; they do not take the weight from the words of short texts.
    """
    cells = draw(1500, np.zeros(2), factor=20.0, seed=3, length=1000.0)
    fit, _ = fit_calibration(cells, Combination.expected(1, 2))
    long, short = fit.factors(np.array([1000.0, 5.0])).relevance
    assert long < 0.1
    assert short > 0.6


def test_biases_of_labels_are_shrunk() -> None:
    """Those of labels with few documents are nearer to the true ones than fits of each label alone,
    and than none.
    """
    true = np.random.default_rng(4).standard_normal(150)
    cells = draw(9, true, factor=1.0, seed=4)
    fit, _ = fit_calibration(cells, ScoreScaling(1.0, 0.0, np.zeros(len(true))))
    alone = []
    for label in range(len(true)):
        own = cells.labels == label
        scores = cells.scores[0][own]
        positives = cells.positives[own]
        found = minimize_scalar(
            lambda b, s=scores, y=positives: losses(s + b, y).sum(),
            bounds=(-5, 5),
            method="bounded",
        )
        alone.append(found.x)
    errors = [
        np.mean((each - true) ** 2)
        for each in (fit.biases + fit.intercept, np.array(alone), np.zeros(len(true)))
    ]
    assert errors[0] < 0.75 * min(errors[1:])


def test_thresholds_of_labels() -> None:
    """No threshold has a higher F1 of its label, none between the next lower probability and it
    exists, and no pair that was dropped reaches it unless the F1 needs it.
    """
    cells = draw(200, np.array([-3.0, 0.0, 1.0]), factor=1.0, seed=5)
    calibration, _ = fit_calibration(cells, ScoreScaling(1.0, 0.0, np.zeros(3)))
    for dropped in (0.0, 0.2, 0.6, 0.9):
        probabilities = cells.left_out_probabilities(calibration)
        stands_for = np.argmin(np.abs(probabilities - dropped)) if dropped else -1
        documents = cells.documents + (np.arange(len(probabilities)) == stands_for)
        some = replace(cells, documents=documents)
        probabilities = some.left_out_probabilities(calibration)
        floor = probabilities[stands_for] if dropped else 0.0
        thresholds = make_multilabel_fit(some, calibration, by_label=True).thresholds
        for label, threshold in enumerate(thresholds.tolist()):
            own = some.labels == label
            p, positives, weights = probabilities[own], some.positives[own], documents[own]

            def f1(least: float, p=p, positives=positives, weights=weights) -> float:
                is_predicted = p >= least
                right = (positives * is_predicted).sum()
                return 2 * right / ((weights * is_predicted).sum() + positives.sum())

            best = max(map(f1, p))
            assert f1(threshold) == pytest.approx(best, rel=1e-12)
            lowest = min(each for each in p if f1(each) == f1(threshold))
            below = max((each for each in p if each < lowest), default=0.0)
            assert below < threshold <= lowest
            assert threshold <= max(floor, np.nextafter(below, 1.0))
            assert threshold == lowest or threshold >= min(floor, lowest)

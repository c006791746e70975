"""A combination is the weighted sum of its parts, in the corpus and without each document, and fits
their weights.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import labeled_matrices, leave_one_out, sample_of, statistics_of
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad
from scipy.optimize import minimize as scipy_minimize
from scipy.special import log_softmax

from nbtext.bayes.combination import (
    COMBINED_VIEWS,
    DEVIATION,
    PART_SMOOTHINGS,
    Weights,
    _evaluate,
    combine,
    fit_weights,
    list_parts,
)
from nbtext.bayes.decision_offsets import LabelLines
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut, count_hapaxes

VIEWS = ("char:1", "word:1")
PARTS = [
    Part("char:1", "multinomial", 0.1, weight=0.5),
    Part("char:1", "dirichlet", 0.5, weight=0.25),
    Part("word:1", "complement", 1.0, weight=2.0),
    Part("word:1", "multinomial", 3.0, weight=0.0),
]


def in_two_views(counts: Any, n_first: int) -> Any:
    """The combination of PARTS, where the first features are of the first view."""
    return combine(PARTS, VIEWS, np.array([0, min(n_first, counts.shape[1]), counts.shape[1]]))


@given(corpus=labeled_matrices(), n_first=st.integers(0, 4), factor=st.sampled_from([1.0, 0.3]))
def test_weights_are_the_sum_of_those_of_the_parts(
    corpus: Any, n_first: int, factor: float
) -> None:
    """Each part is fitted to the features of its view alone."""
    counts, classes, n_classes = corpus
    n_first = min(n_first, counts.shape[1])
    found = (
        in_two_views(counts, n_first).compile(statistics_of(*corpus), smoothing=factor).weights()
    )
    views = (
        statistics_of(counts[:, :n_first], classes, n_classes),
        statistics_of(counts[:, n_first:], classes, n_classes),
    )
    expected = [np.zeros((n_classes, statistics.n_features)) for statistics in views]
    for part in PARTS:
        view = VIEWS.index(part.view)
        if views[view].n_features == 0:
            continue
        scorer = EVENT_MODELS[part.model].compile(views[view], smoothing=factor * part.smoothing)
        expected[view] += part.weight * scorer.weights()
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), atol=1e-12)


@given(
    corpus=labeled_matrices(fewest_a_class=2), n_first=st.integers(0, 4), is_weighted=st.booleans()
)
def test_leave_one_out_equals_refits(corpus: Any, n_first: int, is_weighted: bool) -> None:
    """In several views, too, and for weights in place of counts."""
    counts, classes, n_classes = corpus
    model = in_two_views(counts, n_first)
    factor = 0.7

    def weigh(values: Any) -> Any:
        return values * 0.5 if is_weighted else values

    documents = sample_of(counts, classes)
    documents = replace(documents, counts=weigh(documents.counts))
    statistics = statistics_of(counts, classes, n_classes)
    statistics = replace(statistics, occurrences=weigh(statistics.occurrences))
    (found,) = leave_one_out(
        statistics, documents, model=model, smoothings=[factor], prior="uniform"
    )
    for row in range(len(counts)):
        rest = np.arange(len(counts)) != row
        others = statistics_of(counts[rest], classes[rest], n_classes)
        others = replace(others, occurrences=weigh(others.occurrences))
        weights = model.compile(others, smoothing=factor).weights()
        np.testing.assert_allclose(
            found[row], weights @ weigh(counts[row]) - np.log(n_classes), atol=1e-9
        )


@given(
    corpus=labeled_matrices(fewest_a_class=2),
    n_first=st.integers(0, 4),
    factor=st.sampled_from([1, 0.3]),
)
def test_words_of_the_left_out_document_alone_are_ignored(
    corpus: Any, n_first: int, factor: float
) -> None:
    """The score is that of the other words, each with its weight in the view, and the weighting's
    factor.
    """
    counts, classes, n_classes = corpus
    statistics = statistics_of(*corpus)
    documents = sample_of(counts, classes)
    model = in_two_views(counts, n_first)
    n_hapax = count_hapaxes(statistics, documents)
    if factor != 1:
        documents = documents.weigh(documents.counts * factor)
        statistics = replace(statistics, occurrences=statistics.occurrences * factor)
    left_out = LeaveOneOut(statistics, documents, n_hapax, model, "uniform")
    found = left_out.ignore_hapaxes(left_out.scores(1.0)[0], 1.0)
    for row in range(len(counts)):
        rest = np.arange(len(counts)) != row
        others = statistics_of(counts[rest], classes[rest], n_classes)
        others = replace(others, occurrences=others.occurrences * factor)
        weights = model.compile(others, smoothing=1.0).weights()
        known = factor * counts[row] * (counts[rest].sum(axis=0) > 0)
        np.testing.assert_allclose(found[row], weights @ known - np.log(n_classes), atol=1e-9)


def test_two_labels_have_one_model() -> None:
    """The rest of one of two labels is the other, so complement tells them apart as the multinomial
    model does.
    """
    counts = np.array([[2, 1, 0], [0, 1, 3], [1, 0, 1]])
    classes = np.array([0, 1, 1])
    one, other = (
        EVENT_MODELS[name].compile(statistics_of(counts, classes, 2), smoothing=0.5)
        for name in PART_SMOOTHINGS
    )
    np.testing.assert_allclose(np.diff(one.weights(), axis=0), np.diff(other.weights(), axis=0))
    assert [part.model for part in list_parts(("word:1",), 2)] == ["complement"]
    assert [part.model for part in list_parts(("word:1",), 3)] == list(PART_SMOOTHINGS)


def test_constants() -> None:
    """They were chosen on folds of training documents; see their comments."""
    assert PART_SMOOTHINGS == {"multinomial": 0.1, "complement": 1.0}
    assert DEVIATION == 1.0
    assert COMBINED_VIEWS.prior == "uniform"


def make_scores(n: int = 400, n_classes: int = 4, seed: int = 0) -> tuple[Any, Any, Any]:
    """Scores of a good part, a weaker one of another scale, and one of noise; lengths; classes."""
    random = np.random.default_rng(seed)
    classes = random.integers(0, n_classes, n)
    lengths = random.integers(1, 30, n)
    own = np.eye(n_classes)[classes] * lengths[:, None] ** 0.5
    noise = random.normal(size=(3, n, n_classes)) * lengths[:, None] ** 0.5
    return np.stack([2 * own + noise[0], 100 * (own + noise[1]), 10 * noise[2]]), lengths, classes


def fit(scores: Any, lengths: Any, classes: Any) -> Weights:
    return fit_weights(JudgedDocuments(scores, lengths, classes, None, np.arange(len(classes))))


def test_weights_are_the_minimum_of_the_loss() -> None:
    """SciPy finds the same weights >= 0 for the same offsets; a part that is noise has the weight
    0, or nearly so.
    """
    scores, lengths, classes = make_scores()
    weights, _, _ = fit(scores, lengths, classes)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    units = np.abs(scores - scores.mean(axis=2, keepdims=True)).mean(axis=(1, 2))
    shares = weights * units / (weights * units).sum()
    assert shares[0] > shares[1] > 0.1
    assert shares[2] < 0.05
    logs = np.log(lengths) - np.log(lengths).mean()
    given: Any = {
        "judged": JudgedDocuments(scores / units[:, None, None], lengths, classes),
        "logs": logs,
        "lines": LabelLines(np.array([0.1, -0.1, 0, 0]), np.array([0.5, 1, 1, 1.2])),
    }
    expected = np.array([1.0, 1.0, 1.0, 0.5])
    right = np.random.default_rng(1).random(len(classes))
    evaluate: Any = partial(_evaluate, **given, right=right, expected=expected)
    for at in (expected, np.array([0.5, 0.2, 0.1, 0.1])):
        assert check_grad(lambda x: evaluate(x)[0], lambda x: evaluate(x)[1], at) < 1e-5

    def loss(at: Any) -> float:
        sums = (
            np.einsum("mnk,m->nk", given["judged"].scores, at[:3]) * np.exp(-at[3] * logs)[:, None]
        )
        return -float(log_softmax(sums, axis=1)[np.arange(len(classes)), classes].mean())

    best = scipy_minimize(
        loss, expected, bounds=[(0, None)] * 3 + [(None, None)], method="L-BFGS-B"
    ).x
    np.testing.assert_allclose(shares, best[:3] / best[:3].sum(), atol=0.03)


def test_few_documents_follow_what_is_expected() -> None:
    """Many documents do not: their weights are those without an expectation."""
    scores, lengths, classes = make_scores(4000)
    judged = JudgedDocuments(scores, lengths, classes, None, np.arange(len(classes)))
    units = np.abs(scores - scores.mean(axis=2, keepdims=True)).mean(axis=(1, 2))

    def share(rows: slice, **given: Any) -> float:
        weights = fit_weights(judged.take(rows), **given).weights * units
        return float(weights[1] / weights.sum())

    few = slice(12)
    many = slice(None)
    expected = {"expected": np.array([1.0, 5.0, 1.0]), "deviation": 0.25}
    assert share(few, **expected) > 0.6 > share(few)
    assert share(many, **expected) == pytest.approx(share(many), abs=0.1)


def fit_jointly(scores: Any, classes: Any) -> Any:
    """Shares of the weights that minimize the mean of −log((1 − noise) · softmax(Σ w · scores +
    offsets) + noise / K).

    SciPy fits the weights, the offsets and the noise at once.
    """
    m, n, n_classes = scores.shape
    centered = scores - scores.mean(axis=2, keepdims=True)

    def evaluate(at: Any) -> tuple[float, Any]:
        noise = 1 / (1 + np.exp(-at[-1]))
        log_p = log_softmax(np.einsum("mnk,m->nk", centered, at[:m]) + at[m:-1], axis=1)
        own = np.exp(log_p)[np.arange(n), classes]
        mixed = (1 - noise) * own + noise / n_classes
        slopes = (np.eye(n_classes)[classes] - np.exp(log_p)) * ((1 - noise) * own / mixed)[:, None]
        of_noise = ((1 / n_classes - own) / mixed).sum() * noise * (1 - noise)
        gradient = np.concatenate(
            [np.einsum("mnk,nk->m", centered, slopes), slopes.sum(axis=0), [of_noise]]
        )
        return -np.log(mixed).mean(), -gradient / n

    start = np.concatenate([np.ones(m), np.zeros(n_classes), [-3.0]])
    bounds = [(0, None)] * m + [(None, None)] * (n_classes + 1)
    weights = scipy_minimize(evaluate, start, jac=True, bounds=bounds, method="L-BFGS-B").x[:m]
    return weights / weights.sum()


@pytest.mark.parametrize("seed", range(2))
def test_noise_and_rare_labels_are_fitted_with_the_weights(seed: int) -> None:
    """A tenth of wrong labels and labels of very different frequency: the weights are those of the
    joint minimum.
    """
    random = np.random.default_rng(seed)
    n = 3000
    n_classes = 8
    shares = 1 / np.arange(1, n_classes + 1) ** 2
    classes = random.choice(n_classes, n, p=shares / shares.sum())
    noise = random.normal(size=(3, n, n_classes))
    scales = np.exp(random.normal(size=(n, 1)))
    own = 2 * np.eye(n_classes)[classes]
    scores = np.stack([scales * (own + noise[0]), own + noise[1], noise[2]])
    given = np.where(random.random(n) < 0.1, random.integers(0, n_classes, n), classes)
    np.testing.assert_allclose(
        fit(scores, None, given).weights, fit_jointly(scores, given), atol=0.025
    )


def test_sums_are_held_out_from_the_fit_of_their_weights() -> None:
    """Other labels in one half change the sums of the other half, and those of this half only by
    their scale.
    """
    scores, lengths, classes = make_scores()
    half = 200
    _, before, _ = fit(scores, lengths, classes)
    changed = classes.copy()
    changed[:half] = np.random.default_rng(1).integers(0, 4, half)
    _, after, _ = fit(scores, lengths, changed)
    ratios = after[:half] / before[:half]
    np.testing.assert_allclose(ratios, ratios[0, 0])
    assert np.ptp(after[half:] / before[half:]) > 0.1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_documents_keep_equal_weights(n: int) -> None:
    """The prior of the weights, which are equal in units of the parts, decides; nothing is NaN."""
    scores, lengths, classes = make_scores(n)
    weights, held_out, _ = fit(scores, lengths, classes)
    assert np.isfinite(held_out).all()
    units = np.abs(scores - scores.mean(axis=2, keepdims=True)).mean(axis=(1, 2))
    shares = weights * units / (weights * units).sum()
    assert 0 <= shares.min() <= shares.max() < 0.8


def test_rounding_errors_are_no_evidence() -> None:
    """A part whose scores are equal up to rounding has the weight 0, whatever their signs know of
    the labels.
    """
    scores, lengths, classes = make_scores()
    scores[1] = -7.0 + 1e-14 * np.eye(4)[classes]
    found = fit(scores, lengths, classes)
    without = fit(scores[[0, 2]], lengths, classes)
    np.testing.assert_allclose(found.weights[[0, 2]], without.weights)
    assert (found.weights[1], found.informed[1]) == (0, 0)
    np.testing.assert_array_equal(fit(scores[[1]], lengths, classes).held_out, 0)


def test_a_part_for_few_documents() -> None:
    """Its weight is expected to be that of its scores where it has some; below a few percent, it is
    left out.
    """
    scores, lengths, classes = make_scores()
    whole = fit(scores[:2], lengths, classes).weights
    for n_informed, is_kept in ((40, True), (2, False)):
        rare = scores[:2].copy()
        rare[0, n_informed:] = rare[0, n_informed:].mean(axis=1, keepdims=True)
        found = fit(rare, lengths, classes)
        assert (found.weights[0] > 0) == is_kept
        assert found.informed[0] == n_informed / len(classes)
        assert found.weights[0] / found.weights[1] < 2 * whole[0] / whole[1]

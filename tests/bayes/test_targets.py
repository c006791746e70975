"""Targets of recall and precision are met on new documents about as often as their confidence
says.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from nbtext.bayes.calibration import Calibration
from nbtext.bayes.decision_offsets import (
    WITHHELD,
    Target,
    find_goals,
    fit_targets,
    measure_target,
)
from nbtext.bayes.diagnostics import Proportion
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import log_posterior
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError


def fit(scores: Any, classes: Any, targets: list[Target]) -> Any:
    return fit_targets(JudgedDocuments(scores, None, classes), targets)


def two_classes(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of documents of two classes that overlap; the second has three of ten
    documents.
    """
    random = np.random.default_rng(seed)
    classes = (random.random(n) < 0.3).astype(np.int64)
    scores = np.zeros((n, 2))
    scores[:, 1] = random.normal(0, 1.5, n) + 3.2 * (2 * classes - 1)
    return log_posterior(scores), classes


def decide(
    scores: np.ndarray, offsets: np.ndarray | None, minimums: np.ndarray | None
) -> np.ndarray:
    return Calibration(decision_offsets=offsets, min_probabilities=minimums).answer(scores)


@pytest.mark.exhaustive(every=3)
@pytest.mark.parametrize(
    ("metric", "minimum", "confidence", "maximum"),
    [("recall", 0.99, 0.8, 0.9), ("recall", 0.99, 0.95, 1.0), ("precision", 0.98, 0.8, 1.0)],
)
def test_new_documents_meet_the_target(
    metric: str, minimum: float, confidence: float, maximum: float
) -> None:
    """Over many samples the share that meets it is the confidence at least; for recall it is not
    far above either.
    """
    new, truth = two_classes(100_000, 10**6)
    target = Target(metric, "spam", 1, minimum, confidence)
    n_met = 0
    n_samples = 200
    for seed in range(n_samples):
        *fitted, _ = fit(*two_classes(1300, seed), [target])
        n_met += measure_target(decide(new, *fitted), truth, target).value >= minimum
    assert binomtest(n_met, n_samples, confidence, alternative="less").pvalue > 0.001
    assert n_met / n_samples <= maximum


@given(
    n=st.integers(1, 3000),
    missed=st.integers(0, 50),
    confidence=st.sampled_from([0.5, 0.8, 0.95, 0.999]),
)
def test_the_bound_is_that_of_clopper_and_pearson(n: int, missed: int, confidence: float) -> None:
    """It is the probability at which so few errors have the probability 1 - confidence."""
    found = Proportion(max(0, n - missed), n)
    bound = found.lower_bound(confidence)
    if found.correct == 0:
        assert bound == 0
        return
    assert binom.sf(found.correct - 1, n, bound) == pytest.approx(1 - confidence, rel=1e-6)
    low, high = found.interval(confidence)
    expected = binomtest(found.correct, n).proportion_ci(confidence, "exact")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_threshold_is_that_of_the_binomial_distribution() -> None:
    """The number of documents that recall may miss is the largest whose probability is small
    enough.
    """
    scores, classes = two_classes(5000, 7)
    n = int((classes == 1).sum())
    offsets, _, (found,) = fit(scores, classes, [Target("recall", "spam", 1, 0.995, 0.9)])
    n_missed = n - found.correct
    # the last document that must be found exceeds the threshold by a difference of rounding
    margins = np.sort((scores[:, 1] - scores[:, 0])[classes == 1])
    assert 0 < margins[n_missed] + offsets[1] < 1e-6
    assert binom.cdf(n_missed, n, 0.005) <= 0.1 < binom.cdf(n_missed + 1, n, 0.005)


def test_decisions_change_no_more_than_needed() -> None:
    """A target that the most probable labels meet needs nothing; one of precision withholds labels
    of its own, and no document gets another one.
    """
    scores, classes = two_classes(2000, 1)
    offsets, minimums, (found,) = fit(scores, classes, [Target("recall", "ham", 0, 0.9, 0.95)])
    assert offsets is minimums is None
    assert found == measure_target(
        scores.argmax(axis=1), classes, Target("recall", "ham", 0, 0.9, 0.95)
    )
    offsets, minimums, _ = fit(scores, classes, [Target("precision", "spam", 1, 0.99, 0.9)])
    assert offsets is None
    decided = decide(scores, offsets, minimums)
    before = scores.argmax(axis=1)
    is_withheld = decided != before
    assert is_withheld.any()
    assert (decided[is_withheld] == WITHHELD).all()
    assert (before[is_withheld] == 1).all()


def test_duplicates_and_ties_share_a_side() -> None:
    """Documents of equal scores are on one side of the threshold."""
    scores, classes = two_classes(300, 3)
    scores = np.repeat(scores, 5, axis=0)
    classes = np.repeat(classes, 5)
    for metric, minimum in (("recall", 0.99), ("precision", 0.98)):
        target = Target(metric, "spam", 1, minimum, 0.9)
        *fitted, (found,) = fit(scores, classes, [target])
        predicted = decide(scores, *fitted).reshape(-1, 5)
        assert (predicted == predicted[:, :1]).all()
        assert measure_target(predicted.ravel(), classes, target) == found
        assert found.lower_bound(0.9) >= target.minimum


def test_targets_of_several_labels() -> None:
    """With three labels, each of two targets is met by the joint decisions; others that exclude
    each other are not.
    """
    random = np.random.default_rng(5)
    classes = random.choice(3, 6000, p=[0.5, 0.3, 0.2])
    scores = log_posterior(random.normal(0, 1, (6000, 3)) * 2 + 4 * np.eye(3)[classes])
    targets = [Target("recall", "a", 0, 0.99, 0.95), Target("precision", "b", 1, 0.97, 0.95)]
    *fitted, found = fit(scores, classes, targets)
    predicted = decide(scores, *fitted)
    for target, proportion in zip(targets, found, strict=True):
        assert measure_target(predicted, classes, target) == proportion
        assert proportion.lower_bound(0.95) >= target.minimum
    with pytest.raises(SettingsError, match="cannot be reached together with the other targets"):
        fit(
            scores,
            classes,
            [Target("recall", "a", 0, 0.995, 0.9), Target("recall", "b", 1, 0.995, 0.9)],
        )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            Target("recall", "spam", 1, 0.995, 0.95),
            "needs at least 598 documents of spam; there are 277",
        ),
        (Target("precision", "spam", 1, 0.99, 0.5), r"so that at most 0\.\d+ can be"),
    ],
)
def test_unreachable_targets_are_one_clear_message(target: Target, message: str) -> None:
    scores, classes = two_classes(1000, 0)
    if target.confidence == 0.5:  # many errors among the most certain predictions, too
        classes = np.where(np.random.default_rng(0).random(1000) < 0.2, 1 - classes, classes)
    with pytest.raises(SettingsError, match=message) as caught:
        fit(scores, classes, [target])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "confidence"),
    [({}, 0.9), ({"model": "svm"}, 0.9), ({"model": "stacked"}, 0.95), ({"vectors": ("t",)}, 0.95)],
)
def test_stacks_allow_half_the_error(settings: dict[str, Any], confidence: float) -> None:
    """Scores of folds depend on one another."""
    own = ModelSettings(min_recall=(("a", 0.8),), confidence=0.9, **settings)
    (target,) = find_goals(own, ["a", "b"]).targets
    assert target.confidence == pytest.approx(confidence)

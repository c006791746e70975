"""Scales of labels: they are fitted where labels need them, and a scorer can have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import statistics_of
from scipy.optimize import minimize as scipy_minimize
from scipy.special import log_softmax

from nbtext.bayes.calibration import Calibration, TemperatureScaling, center, fit_scaled_temperature
from nbtext.bayes.combination import combine, fit_weights, list_parts
from nbtext.bayes.decision_offsets import (
    OFFSET_DEVIATION,
    SCALE_DEVIATION,
    LabelLines,
    fit_label_lines,
    need_scales,
)
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.smoothing import adjust_labels

SCALES = np.array([0.3, 1.0, 1.0, 1.7])


def make_judged(scales: Any, n: int = 1500, seed: int = 0, weights: Any = None) -> JudgedDocuments:
    """Documents whose classes are drawn from softmax(scales · centered scores)."""
    random = np.random.default_rng(seed)
    scores = center(random.normal(scale=3, size=(n, len(scales))))
    p = np.exp(log_softmax(scores * scales, axis=1))
    classes = (p.cumsum(axis=1) < random.random(n)[:, None]).sum(axis=1)
    return JudgedDocuments(scores, None, classes, weights, np.arange(n))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_lines_are_the_minimum_of_the_loss(is_weighted: bool) -> None:
    """SciPy finds the same offsets and scales; a document of weight 2 counts as two."""
    judged = make_judged(SCALES, n=300)
    weights = np.random.default_rng(1).integers(1, 3, 300) if is_weighted else np.ones(300, int)

    def loss(at: Any) -> float:
        offsets, scales = at.reshape(2, -1)
        logs = log_softmax(judged.scores * scales + offsets, axis=1)
        own = logs[np.arange(300), judged.classes]
        prior = (offsets / OFFSET_DEVIATION) ** 2 + ((scales - 1) / SCALE_DEVIATION) ** 2
        return float(prior.sum() / 2 - weights @ own)

    best = scipy_minimize(loss, np.repeat([0.0, 1.0], 4), method="L-BFGS-B", tol=1e-12).x
    found = fit_label_lines(
        replace(judged, weights=weights if is_weighted else None),
        LabelLines(np.zeros(4), np.ones(4)),
    )
    assert loss(np.ravel(found)) == pytest.approx(loss(best), abs=0.01)
    np.testing.assert_allclose(found.scales, best[4:], atol=0.02)
    again = fit_label_lines(replace(judged, weights=weights if is_weighted else None), found)
    np.testing.assert_allclose(again.scales, best[4:], atol=0.02)


def test_scales_are_needed_where_they_differ() -> None:
    """With two labels, a temperature and an offset do the same."""
    assert need_scales(make_judged(SCALES), None)
    assert not need_scales(make_judged(np.array([0.2, 1.0])), None)


def test_labels_get_scales_that_pay() -> None:
    """They lower the log-loss of other documents; labels that need none have none."""
    judged = make_judged(SCALES)
    temperature = fit_scaled_temperature(judged)
    adjusted = adjust_labels(judged, temperature)
    assert adjusted.label_scales is not None
    relative = adjusted.label_scales / adjusted.label_scales[1]
    np.testing.assert_allclose(relative, SCALES, atol=0.25)
    new = make_judged(SCALES, seed=1)
    plain = new.calibrate(Calibration(temperature).log_posterior).losses().mean()
    assert new.calibrate(adjusted.log_posterior).losses().mean() < plain - 0.01
    equal = [make_judged(np.ones(4), seed=seed) for seed in range(5)]
    found = [adjust_labels(each, fit_scaled_temperature(each)).label_scales for each in equal]
    assert found.count(None) >= 4
    # that a document counts as two is that it is there twice
    twice = replace(judged, weights=np.full(len(judged), 2))
    assert adjust_labels(twice, temperature).label_scales is not None
    one = judged.take(slice(1))
    assert adjust_labels(one, temperature).prior_adjustment is None


def test_few_documents_leave_label_noise_possible() -> None:
    """The temperature that is fitted with the offsets has as much noise as the first one."""
    judged = make_judged(SCALES, n=60)
    given = replace(fit_scaled_temperature(judged), noise=2 / 62)
    found = adjust_labels(judged, given).temperature
    assert found is not None
    assert found.noise >= 2 / 62


def test_scores_are_scaled_after_their_mean_is_subtracted() -> None:
    scores = np.array([[3.0, -1.0, 1.0]])
    scales = np.array([0.5, 1.0, 2.0])
    found = Calibration(TemperatureScaling(2.0, 0.0), label_scales=scales).log_posterior(
        scores, None
    )
    np.testing.assert_allclose(found, log_softmax([[2 * 0.5 / 2, -2 / 2, 0.0]], axis=1))


@pytest.mark.parametrize("bounds", [None, np.array([0, 2, 5])])
def test_a_scorer_has_the_scales_in_its_weights(bounds: Any) -> None:
    """Its scores are those that predicting scales; also in 8 bits, and of shared rows."""
    random = np.random.default_rng(2)
    counts = random.integers(0, 3, (9, 5))
    views = () if bounds is None else ("char:1", "word:1")
    statistics = statistics_of(counts, np.arange(9) % 3, 3)
    model = combine(list_parts(views, 3), views, bounds)
    scales = np.array([0.4, 1.0, 1.5])
    scorer = model.compile(statistics, smoothing=1.0).with_prior(np.log([0.2, 0.3, 0.5]))
    rows = np.arange(10) * 5, np.tile(np.arange(5, dtype=np.int32), 9), counts.ravel()
    for each in (scorer, scorer.quantize(), replace(scorer, bounds=None).share_rows()):
        if each.bounds is None and bounds is not None:
            continue
        expected = center(each.scores(*rows)) * scales
        scaled = each.scale_labels(scales)
        np.testing.assert_allclose(scaled.scores(*rows), expected, atol=1e-9)
        if each.scales is not None:
            np.testing.assert_array_equal(scaled.codes, each.codes)


def test_weights_of_parts_are_those_of_scaled_labels() -> None:
    """A label whose words repeat each other in one part does not take the weight from it."""
    random = np.random.default_rng(3)
    n = 2000
    classes = random.integers(0, 3, n)
    own = np.eye(3)[classes]
    sound = own + random.normal(size=(n, 3))
    sound[:, 0] *= 0.2
    other = own + 2 * random.normal(size=(n, 3))
    judged = JudgedDocuments(np.stack((sound, other)), None, classes, None, np.arange(n))
    plain, scaled = (fit_weights(judged, has_scales=each).weights for each in (False, True))
    assert abs(scaled - plain).max() > 0.001

"""A temperature that depends on the length corrects overconfident probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nbtext.bayes.calibration import (
    PARAMETER_DEVIATIONS,
    PRIOR_MEAN,
    TemperatureScaling,
    fit_temperature,
)
from nbtext.bayes.decision_offsets import fit_decision_offsets
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import log_posterior
from nbtext.bayes.smoothing import judge
from nbtext.errors import ModelError


def overconfident(n: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of documents whose labels are drawn from softmax(scores / (a · L^b))."""
    random = np.random.default_rng(1)
    lengths = random.integers(1, 500, n)
    honest = random.normal(0, 1.5, (n, 4))
    drawn = [random.choice(4, p=p) for p in np.exp(log_posterior(honest))]
    return honest * (a * lengths**b)[:, None], lengths, np.array(drawn, dtype=np.int32)


def fit(*columns: np.ndarray) -> TemperatureScaling:
    return fit_temperature(JudgedDocuments(*columns))


def with_odd_labels(
    documents: tuple[np.ndarray, np.ndarray, np.ndarray], share: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same documents, with random labels for this share of them."""
    scores, lengths, classes = documents
    random = np.random.default_rng(2)
    is_odd = random.random(len(classes)) < share
    return (
        scores,
        lengths,
        np.where(is_odd, random.integers(0, 4, len(classes)), classes).astype(np.int32),
    )


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_finds_the_minimum(share: float) -> None:
    """No other a, b and noise, found by a general minimizer, have less log-loss."""
    scores, lengths, classes = with_odd_labels(overconfident(2000, 2.0, 0.3), share)

    def loss(at: np.ndarray) -> float:
        noise = float(1 / (1 + np.exp(-at[2])))
        log_posterior = TemperatureScaling(float(np.exp(at[0])), float(at[1]), noise).log_posterior(
            scores, lengths
        )
        prior = (((at - PRIOR_MEAN) / PARAMETER_DEVIATIONS) ** 2).sum() / 2
        return float((prior - log_posterior[np.arange(len(classes)), classes].sum()) / len(classes))

    found = fit(scores, lengths, classes)
    best = minimize(
        loss,
        np.array([0.0, 0.0, -4.0]),
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 2000},
    )
    assert (
        loss(np.array([np.log(found.a), found.b, np.log(found.noise / (1 - found.noise))]))
        <= best.fun + 1e-8
    )


def test_random_labels_are_label_noise() -> None:
    """If one label in twenty is random, the label-noise rate is 1/20, and the temperature is that
    of the other documents.
    """
    found = fit(*with_odd_labels(overconfident(20_000, 0.5, 0.8), 0.05))
    assert found.noise == pytest.approx(0.05, abs=0.01)
    assert abs(np.log(found.a / 0.5)) < 0.2
    assert abs(found.b - 0.8) < 0.04
    assert fit(*overconfident(20_000, 0.5, 0.8)).noise < 0.006


def test_extremes_are_finite() -> None:
    """One document, labels that are always right or always wrong, equal scores: a and b stay finite
    numbers.
    """
    for scores, classes in (
        (np.array([[3.0, 0.0]]), [0]),
        (np.array([[3.0, 0.0]]), [1]),
        (np.zeros((5, 3)), [0, 1, 2, 0, 1]),
        (np.array([[1e6, 0.0], [0.0, 1e6]]), [0, 1]),
    ):
        lengths = np.full(len(classes), 10)
        found = fit(scores, lengths, np.array(classes, dtype=np.int32))
        assert np.isfinite(found.log_posterior(scores, lengths)).all()


@pytest.mark.parametrize("scale", [1e150, 1e308])
def test_huge_scores_end(scale: float) -> None:
    """Calibration ends for any finite scores, with a result or an error."""
    scores = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]) * scale
    classes = np.array([0, 1, 1], dtype=np.int32)
    try:
        assert np.isfinite(fit(scores, np.array([3, 2, 1]), classes).a)
    except ModelError as error:
        assert "finite" in str(error)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    """One line says so; nothing loops."""
    scores = np.array([[value, 0.0], [0.0, 1.0], [1.0, 0.0]])
    classes = np.array([0, 1, 0], dtype=np.int32)
    with pytest.raises(ModelError, match="finite"):
        fit(scores, np.array([3, 2, 1]), classes)
    with pytest.raises(ModelError, match="finite"):
        fit_decision_offsets(JudgedDocuments(scores, None, classes), "log_loss")


def test_few_documents_keep_the_prior_of_the_temperature() -> None:
    """Two documents that tell nothing: a word alone has its own evidence, and many words less than
    their sum.
    """
    fitted = fit(np.zeros((2, 2)), np.array([30, 30]), np.array([0, 1], dtype=np.int32))
    assert 0.8 < fitted.temperature(np.array([1]))[0] < 1.25
    assert 2 < fitted.temperature(np.array([100]))[0] < 10


@pytest.mark.parametrize("seed", range(3))
def test_long_documents_do_not_calibrate_short_ones(seed: int) -> None:
    """Words come in clumps, which grow with the length. Calibrated on documents of 60 words alone,
    the log-loss of those of 5 words is better than with the temperature of 60 words, and than with
    one in proportion to the length.
    """
    random = np.random.default_rng(seed)

    def draw(n: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores of documents whose words are repeated length^0.4 times on average."""
        classes = random.integers(0, 2, n).astype(np.int32)
        repeats = length**0.4
        n_clumps = round(length / repeats)
        evidence = (
            random.normal(0.5, 1.0, (n, n_clumps)).sum(axis=1)
            * repeats
            * np.where(classes == 1, 1, -1)
        )
        return np.stack((np.zeros(n), evidence), axis=1), classes

    scores, classes = draw(400, 60)
    fitted = fit(scores, np.full(400, 60), classes)
    asked, true = draw(4000, 5)
    at_60 = fitted.temperature(np.array([60]))[0]
    losses = []
    for temperature in (fitted.temperature(np.array([5]))[0], at_60, at_60 / 12):
        log_posterior = replace(fitted, a=temperature, b=0.0).log_posterior(asked, None)
        losses.append(-log_posterior[np.arange(len(true)), true].mean())
    assert losses[0] < min(losses[1:])


@pytest.mark.parametrize(
    ("n", "n_wrong", "low", "high"), [(30, 0, 0.0, 0.01), (300, 12, 0.02, 0.2)]
)
def test_few_labels_are_noise(n: int, n_wrong: int, low: float, high: float) -> None:
    """Of documents whose words are clear, without a wrong label, hardly any is noise; wrong ones
    are noise.
    """
    random = np.random.default_rng(1)
    classes = np.arange(n, dtype=np.int32) % 2
    evidence = random.uniform(6, 14, n)
    scores = np.stack((np.zeros(n), np.where(classes == 1, evidence, -evidence)), axis=1)
    given = classes.copy()
    given[:n_wrong] = 1 - given[:n_wrong]
    assert low <= fit(scores, np.full(n, 10), given).noise <= high


@pytest.mark.parametrize("n", [4, 18, 998])
def test_few_documents_are_not_certain(n: int) -> None:
    """Where no label is wrong, the label-noise rate is 2 / (n + 2) at least."""
    scores = np.where(np.arange(n)[:, None] % 2 == np.arange(2), 50.0, 0.0)
    judged = JudgedDocuments(scores, None, np.arange(n) % 2)
    temperature = TemperatureScaling(1.0, 0.0, 0.001)
    selection = judge(Hyperparameters(1.0), judged, temperature)
    assert selection.calibration.temperature == replace(temperature, noise=max(0.001, 2 / (n + 2)))
    assert judge(Hyperparameters(1.0), judged).calibration.temperature is None

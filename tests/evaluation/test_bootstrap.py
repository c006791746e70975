"""Bootstrap intervals are SciPy's, and hold the truth about as often as they say."""

import numpy as np
import pytest
from outcomes_by_chance import outcomes_of, recorded
from scipy import stats

from nbtext.evaluation import bootstrap
from nbtext.evaluation.bootstrap import (
    Estimate,
    bias_corrected_interval,
    compute_intervals,
    resample,
)
from nbtext.evaluation.metrics import METRICS, totals_of
from nbtext.evaluation.outcomes import Outcomes


def intervals(outcomes: Outcomes, seed: int = 1) -> dict[str, Estimate]:
    """The interval of each metric."""
    return compute_intervals(
        METRICS, totals_of(outcomes, len(outcomes.labels)), len(outcomes), seed
    )


def test_figures_are_those_of_the_evaluation() -> None:
    """Each interval lies around the figure of the same name."""
    _, evaluator, *_ = recorded(600, 4)
    evaluation = evaluator.evaluation()
    found = intervals(evaluator.outcomes())
    assert {"accuracy", "macro_f1", "weighted_f1", "log_loss", "brier_score"} <= found.keys()
    for name, (figure, low, high) in found.items():
        value = evaluation.metrics[name]
        assert figure == pytest.approx(value, abs=1e-12)
        assert low <= value <= high
        assert high - low < 0.35 * max(value, 0.2)


def test_like_scipy() -> None:
    """For a mean, the interval is that of scipy.stats.bootstrap (BCa) but for chance."""
    outcomes = outcomes_of(500, 3)
    ours = intervals(outcomes)
    for name, values in (
        ("accuracy", outcomes.is_correct.astype(float)),
        ("log_loss", outcomes.log_losses),
    ):
        theirs = stats.bootstrap(
            (values,), np.mean, n_resamples=2000, rng=np.random.default_rng(5)
        ).confidence_interval
        width = theirs.high - theirs.low
        assert ours[name].low == pytest.approx(theirs.low, abs=0.12 * width)
        assert ours[name].high == pytest.approx(theirs.high, abs=0.12 * width)


def test_the_same_each_time() -> None:
    """A seed makes the same intervals, another one others."""
    outcomes = outcomes_of(200, 3)
    assert intervals(outcomes, seed=1) == intervals(outcomes, seed=1)
    assert intervals(outcomes, seed=1) != intervals(outcomes, seed=2)


def test_of_very_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer are drawn than there are, and the spread is that of all of them."""
    outcomes = outcomes_of(4000, 3)
    right = outcomes.is_correct

    def accuracy(drawn: np.ndarray) -> list[float]:
        return [float(right[drawn].mean())]

    whole = resample(len(outcomes), accuracy, np.random.default_rng(1))
    monkeypatch.setattr(bootstrap, "MAX_RESAMPLE_SIZE", 1000)
    few = resample(len(outcomes), accuracy, np.random.default_rng(2))
    assert few.std() == pytest.approx(whole.std(), rel=0.1)
    assert few.mean() == pytest.approx(right.mean(), abs=0.002)


def test_bias_is_corrected() -> None:
    """Where replicates lie above the value on the whole, the interval is moved down."""
    replicates = np.random.default_rng(1).normal(0.3, 1.0, 20_000)
    _, low, high = bias_corrected_interval(0.0, replicates)
    assert (low + high) / 2 == pytest.approx(-0.3, abs=0.1)
    _, low, high = bias_corrected_interval(0.3, replicates)
    assert (low, high) == pytest.approx((0.3 - 1.96, 0.3 + 1.96), abs=0.1)


def test_all_right() -> None:
    """Where every answer is right, there is nothing to draw."""
    assert bias_corrected_interval(1.0, np.ones(1000)) == (1.0, 1.0, 1.0)

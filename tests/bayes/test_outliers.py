"""The typicality of a document, and the threshold of outliers."""

import numpy as np
import pytest

from nbtext.bayes.conformal import (
    Quantiles,
    log_likelihood_per_token,
    threshold,
    typical,
    typicality,
)


def test_by_hand() -> None:
    """Of four documents, the second is above one; half a nat below the least, it is e^-½ of a
    fifth.
    """
    known = Quantiles(np.array([-9.0, -8.0, -7.0, -6.0]), 4)
    found = typicality(np.array([-8.0, -6.0, -5.0, -9.0, -9.5, np.nan]), known)
    np.testing.assert_allclose(found[:5], [2 / 5, 4 / 5, 4 / 5, 1 / 5, np.exp(-0.5) / 5])
    assert np.isnan(found[5])


@pytest.mark.parametrize("n", [50, 5000])
def test_the_threshold_is_the_lowest_percent(n: int) -> None:
    """One left-out document in a hundred is below the threshold, and its typicality below 1 %."""
    random = np.random.default_rng(1)
    scores = random.normal(-100, 10, (n, 2))
    lengths = np.full(n, 10)
    quantiles = typical(log_likelihood_per_token(scores, lengths))
    assert quantiles is not None
    lowest = threshold(quantiles)
    total = np.logaddexp(scores[:, 0], scores[:, 1]) / lengths
    assert (total < lowest).mean() == pytest.approx(0.01, abs=1 / n)
    assert lowest == pytest.approx(np.quantile(total, 0.01))
    assert typicality(np.array([lowest]), quantiles)[0] == pytest.approx(0.01, abs=1 / n)
    assert typical(log_likelihood_per_token(scores, np.zeros(n))) is None

"""The z-score of the log-odds of a feature in a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats

HALF = 0.5  # added to each count, so that none is zero (Haldane and Anscombe's correction)


def z_scores(counts: NDArray[Any], total: float, everywhere: NDArray[Any], whole: float) -> Floats:
    """The log-odds ratio of each feature in a class against all other classes, in standard deviations.

    A rare feature can have any log-odds by chance, and its standard deviation says so. With a and b sightings of the
    feature and of others in the class, c and d in the other classes, ½ added to each:
    z = (ln a/b − ln c/d) / √(1/a + 1/b + 1/c + 1/d).

    counts      (n_features,), sightings in the class; `total` is how many there could be
    everywhere  (n_features,), sightings in all classes; `whole` is how many there could be
    source      Monroe, Colaresi, Quinn, Fightin' Words, 2008, section 3.3; the variance: Gart and Zweifel, On the Bias
                of Various Estimators of the Logit and Its Variance, 1967
    """
    own, others = counts + HALF, everywhere - counts + HALF
    # sums beyond 2^53 are rounded
    own_rest = np.maximum(total - counts, 0) + HALF
    others_rest = np.maximum(whole - total - (everywhere - counts), 0) + HALF
    log_odds = np.log(own) - np.log(own_rest) - np.log(others) + np.log(others_rest)
    return np.asarray(log_odds / np.sqrt(1 / own + 1 / own_rest + 1 / others + 1 / others_rest), dtype=np.float64)

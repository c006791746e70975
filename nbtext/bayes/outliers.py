"""Outliers: documents whose log p(x) per token is low among left-out training documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.prediction_sets import Quantiles
from nbtext.bayes.scorer import Floats

QUANTILE = 0.01  # share of left-out training documents below the threshold


def log_likelihood_per_token(scores: Floats, lengths: NDArray[Any]) -> Floats:
    """Return log p(x) / L = log Σ_k p(x, k) / L in nats, shape (n_documents,); NaN for a document without tokens.

    Documents of different lengths can be compared by it.

    scores   (n_documents, n_classes), log p(x, k)
    lengths  (n_documents,), tokens
    """
    highest = scores.max(axis=1)
    total = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    per_token: Floats = np.divide(total, lengths, out=np.full(len(scores), np.nan), where=lengths > 0)
    return per_token


def with_unknown_tokens(scores: Floats, default: Floats, n_unknown: NDArray[Any]) -> Floats:
    """Return the scores plus the weight of each out-of-vocabulary token, as of a feature that no class has.

    default  (n_classes,), the weight of such a feature
    """
    return np.asarray(scores + n_unknown[:, None] * default)


def typical(likelihoods: Floats) -> Quantiles | None:
    """Return the distribution of the log-likelihood per token of left-out documents; None if none has a token."""
    return Quantiles.of(likelihoods[np.isfinite(likelihoods)])


def threshold(typical: Quantiles) -> float:
    """Return the log-likelihood per token below which a document is an outlier."""
    return float(np.interp(QUANTILE, np.linspace(0, 1, len(typical.points)), typical.points))


def typicality(likelihoods: Floats, typical: Quantiles) -> Floats:
    """Return the typicality, a conformal p-value: with n left-out documents, m of them at most as likely, m / (n + 1).

    For likelihoods below those of all left-out documents it decreases from 1 / (n + 1) by a factor of e per nat, so
    that outliers can be ranked. It is never 0.

    likelihoods  (n_documents,), log p(x) per token; the typicality of NaN is NaN
    """
    n, points = typical.numbers, typical.points
    among = 1 + np.interp(likelihoods, points, np.linspace(0, n - 1, len(points)))
    below = np.exp(np.minimum(likelihoods - points[0], 0.0))
    return np.asarray(among * below / (n + 1))

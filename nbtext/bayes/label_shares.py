"""Prevalence of each label among multi-label documents: each label against the rest, from its probabilities.

With m₁ and m₀ the mean probability of label k on left-out documents with and without it, and m that on new documents,
the share of k among these is (m − m₀) / (m₁ − m₀), clipped to [0, 1]: PACC with two classes, see prevalence.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.label_calibration import Cells
from nbtext.bayes.prevalence import CONFIDENCE, PosteriorSums, ShareEstimate
from nbtext.bayes.scorer import Floats
from nbtext.records import dataclass

MIN_POSITIVE = 1e-9  # parameter of a Beta distribution
MIN_DOCUMENTS = 10  # left-out documents with a label; with fewer, its m₁ says next to nothing


@dataclass(frozen=True, eq=False)
class LabelPosteriors:
    """The mean probability of each label on left-out documents. Column 0: those without the label; column 1: with it.

    documents  (n_labels, 2), numbers of documents
    means      (n_labels, 2)
    spreads    (n_labels, 2), variance of the probabilities in relation to its maximum, from 0 to 1
    """

    documents: Floats
    means: Floats
    spreads: Floats

    @property
    def is_measured(self) -> NDArray[np.bool_]:
        """Whether enough left-out documents have a label, and it is more probable on these on average."""
        return np.asarray((self.documents[:, 1] >= MIN_DOCUMENTS) & (self.means[:, 1] > self.means[:, 0]))

    def resample(self, rng: np.random.Generator) -> Floats:
        """Return random means: how they would be with other left-out documents; see MeanPosteriors.resample."""
        spreads = (self.documents * self.spreads + 1) / (self.documents + 1)
        concentration = self.documents / spreads - 1
        parameters = (np.maximum(each * concentration, MIN_POSITIVE) for each in (self.means, 1 - self.means))
        return np.where(self.documents > 0, rng.beta(*parameters), self.means)

    def estimate(self, sums: PosteriorSums) -> ShareEstimate:
        """Return the shares among the documents of these sums, one at least, with intervals of CONFIDENCE.

        The share of a label that is not measured is its mean probability, and can be anything. Each resample has one
        more document, which has each label with probability ½; see PosteriorSums.estimate.
        """
        mean = np.clip(sums.total / sums.n_documents, 0.0, 1.0)
        shares = np.where(self.is_measured, _solve(self.means, mean, mean), mean)
        found = np.empty_like(sums.resampled)
        added = sums.rng.standard_exponential(len(found))
        for i, weight in enumerate(added.tolist()):
            means = self.resample(sums.rng)
            document = np.where(sums.rng.random(len(mean)) < 0.5, means[:, 1], means[:, 0])
            resampled = (sums.resampled[i] + weight * document) / (sums.weights[i] + weight)
            found[i] = _solve(means, resampled, sums.rng.random(len(mean)))
        tail = (1 - CONFIDENCE) / 2
        low, high = np.quantile(found, (tail, 1 - tail), axis=0)
        is_measured = self.is_measured
        low, high = np.where(is_measured, low, 0.0), np.where(is_measured, high, 1.0)
        return ShareEstimate(shares, np.minimum(low, shares), np.maximum(high, shares))


def _solve(means: Floats, mean: Floats, otherwise: Floats) -> Floats:
    """Return the share of each label, or another value where the means of both columns do not differ."""
    without, with_label = means.T
    is_known = with_label > without
    shares = (mean - without) / np.where(is_known, with_label - without, 1.0)
    return np.where(is_known, np.clip(shares, 0.0, 1.0), otherwise)


def fit_label_posteriors(cells: Cells, probabilities: Floats) -> LabelPosteriors:
    """Return the mean probabilities of documents that the model has not seen.

    probabilities  (n_cells,)
    """
    by_label = cells.sum_by_label
    with_label = by_label(cells.positives)
    documents = np.stack((cells.n_documents - with_label, with_label), axis=1)
    weights = (cells.documents - cells.positives, cells.positives)
    sums, squares = (
        np.stack([by_label(weight * probabilities**power) for weight in weights], axis=1) for power in (1, 2)
    )
    means = np.divide(sums, documents, out=np.zeros_like(sums), where=documents > 0)
    variances = np.divide(squares, documents, out=np.zeros_like(sums), where=documents > 0) - means**2
    most = means * (1 - means)
    spreads = np.divide(variances, most, out=np.zeros_like(sums), where=most > 0)
    return LabelPosteriors(documents, np.clip(means, 0.0, 1.0), np.clip(spreads, 0.0, 1.0))

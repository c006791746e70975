"""Bernoulli Naive Bayes: a class tosses a coin for each feature, and what is absent tells as well."""

from __future__ import annotations

from nbtext.bayes.categorical import categorical
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import LinearScorer


def bernoulli(statistics: ClassStatistics, *, smoothing: float) -> LinearScorer:
    """Weigh each feature by the log-odds that a document of the class holds it.

    With p_kj = (d_kj + α) / (n_k + 2α), the weight is log(p / (1 − p)), and Σ_j log(1 − p_kj), the score of a
    document that holds nothing, is the bias. Documents are read as presence (0 or 1): it is the categorical model of
    these two values, and leaves documents out like it.

    statistics  counts of K classes and V features
    smoothing   α >= 0; 0 is maximum likelihood, clipped
    returns     the scorer of log P(document | class), without the prior
    source      Manning, Raghavan, Schütze, Introduction to Information Retrieval, 2008, section 13.3
    """
    return categorical(statistics, smoothing=smoothing)

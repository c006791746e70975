"""Multi-label Naive Bayes: two scores of each document and label.

Relevance. Label k against the rest, both multinomial, discounted, and smoothed towards the corpus:

    A_k = π_k + Σ_j x_j log(θ_kj / φ_kj),  π_k = log((n_k + ½) / (n − n_k + ½))
    θ_kj = (t'_kj + μ_k g_j) / (T_k + μ_k),  φ_kj = (t_j − t'_kj + μ_k g_j) / (T − T_k + μ_k)
    t'_kj = max(t_kj − 0.8, 0),  μ_k = μ + min(T_k, 20 μ)

where x_j is the count of feature j in the document, t_kj its occurrences in the documents with label k, T_k = Σ_j t_kj,
n_k the number of these documents; t_j, T and n are the same for all documents, each counted once; g_j = t_j / T.

The discount lowers the weight of features that occur once in a label. Most of these are unrelated to the label, above
all in short texts with many labels. μ_k has two parts. The pseudo-tokens μ weigh most in rare labels (Dirichlet
smoothing). T_k gives the corpus about half of the weight in a label (Jelinek-Mercer smoothing), because many frequent
features of a large label are unrelated to it, too. The second part is at most 20 μ, so that a small μ smooths every
label little. This is best if a few words identify each label.

A feature that label k does not have adds log(μ_k / (T + μ_k)) + log((T − T_k + μ_k) / (T_k + μ_k)), which is the same
for all such features. So the weights are sparse: one number for each feature that a label has.

Contrast. The log-likelihood of label k against the mean likelihood of the K − 1 other labels, in an ordinary
multinomial model with additive smoothing α:

    S_k = Σ_j x_j log((t_kj + α) / (T_k + αV)),  B_k = S_k − log(Σ_{l ≠ k} exp(S_l) / (K − 1))

with V features and K labels.

Without tokens, A_k is the prior π_k, and B_k is 0. One scorer holds both: A_k is its score k, S_k its score K + k.

Sources: Zhai and Lafferty, A Study of Smoothing Methods for Language Models Applied to Information Retrieval, 2004
(discount, Dirichlet and Jelinek-Mercer smoothing); the same authors, Two-Stage Language Models for Information
Retrieval, 2002 (both smoothings combined); McCallum and Nigam, A Comparison of Event Models for Naive Bayes Text
Classification, 1998.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.multinomial import compile_multinomial
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.csr import running_sums

HALF = 0.5  # document that is added to those of a label, and of the rest, so that no prior is 0
NO_CONTRAST = 0.0  # the score B if there is only one label
MAX_FACTOR = 20.0  # T_k adds at most this multiple of μ to μ_k
DISCOUNT = 0.8  # subtracted from the occurrences of each feature of a label
FAR = 1e-280  # the sum of small numbers from which it has all digits


class Smoothing(NamedTuple):
    """The smoothing of both scores.

    mu     μ: each label and its complement get μ + min(T_k, 20 μ) pseudo-tokens, distributed as in the corpus
    alpha  α, the pseudo-count of each feature in each label; None: the score B is not used
    """

    mu: float
    alpha: float | None


class RelevanceScores(NamedTuple):
    """The scores of some documents, each (n_documents, n_labels).

    relevance  A
    contrast   B; None: it is not used
    priors     π, (n_labels,) or (n_documents, n_labels)
    """

    relevance: Floats
    contrast: Floats | None
    priors: Floats


def compile_relevance(statistics: ClassStatistics, smoothing: Smoothing) -> LinearScorer:
    """Return the scorer of A, and if α is given of S; see the module."""
    mu, indptr, own = smoothing.mu, statistics.indptr, statistics.classes
    totals = statistics.feature_occurrences.astype(np.float64)
    T, T_k = totals.sum(), statistics.class_occurrences
    of_entries = np.repeat(totals, np.diff(indptr))
    mu_k = pseudo_tokens(T_k, mu)
    added = of_entries * (mu_k / max(T, 1.0))[own]
    discounted = discount(statistics.occurrences)
    gains = np.log((discounted + added) / (of_entries - discounted + added))
    gains += np.log((T + mu_k) / mu_k)[own]
    bias = prior_log_odds(statistics.class_documents, statistics.n_documents)
    default = log_absent(T, T_k, mu)
    if smoothing.alpha is None:
        return LinearScorer(bias, default, indptr, own, gains)
    contrasts = compile_multinomial(statistics, smoothing=smoothing.alpha)
    widths, n_labels, n = np.diff(indptr), statistics.n_classes, len(gains)
    classes, deltas = np.empty(2 * n, dtype=np.int32), np.empty(2 * n)
    places = np.arange(n) + np.repeat(indptr[:-1], widths)  # the entries of A of a feature precede those of S
    classes[places], deltas[places] = own, gains
    places += np.repeat(widths, widths)
    classes[places], deltas[places] = own + np.int32(n_labels), contrasts.deltas
    return LinearScorer(
        np.concatenate((bias, contrasts.bias)),
        np.concatenate((default, contrasts.default)),
        2 * indptr,
        classes,
        deltas,
    )


def first_score(scorer: LinearScorer, n_labels: int) -> LinearScorer:
    """Return the scorer of A only."""
    is_first = scorer.classes < n_labels
    return LinearScorer(
        scorer.bias[:n_labels],
        scorer.default[:n_labels],
        running_sums(is_first)[scorer.indptr],
        scorer.classes[is_first],
        scorer.deltas[is_first],
    )


def discount(occurrences: NDArray[Any]) -> Floats:
    """Return t' of each occurrences t; see the module."""
    return np.maximum(occurrences - DISCOUNT, 0.0)


def pseudo_tokens(T_k: Any, mu: float) -> Any:
    """Return μ_k; see the module."""
    return mu + np.minimum(T_k, MAX_FACTOR * mu)


def log_absent(T: Any, T_k: Any, mu: float) -> Any:
    """Return the weight of a feature that a label does not have."""
    mu_k = pseudo_tokens(T_k, mu)
    return np.log(mu_k * (T - T_k + mu_k) / ((T + mu_k) * (T_k + mu_k)))


def prior_log_odds(n_k: Any, n: Any) -> Any:
    """Return the log-odds π that a document has a label that n_k of n documents have."""
    return np.log(n_k + HALF) - np.log(n - n_k + HALF)


def split_scores(scores: Floats, priors: Floats) -> RelevanceScores:
    """Return the scores of documents from those of the scorer, (n_documents, n_labels or twice as many).

    priors  (n_labels,), π
    """
    n_labels = len(priors)
    if scores.shape[1] == n_labels:
        return RelevanceScores(scores, None, priors)
    return RelevanceScores(scores[:, :n_labels], contrast_labels(scores[:, n_labels:]), priors)


def contrast_labels(scores: Floats) -> Floats:
    """Return B, the log-odds of each label against the mean of all others, (n_documents, n_labels), from S."""
    n, n_labels = scores.shape
    if n_labels < 2 or n == 0:
        return np.full(scores.shape, NO_CONTRAST)
    rows, best = np.arange(n), scores.argmax(axis=1)
    differences = scores - scores[rows, best][:, None]
    shares = np.exp(differences)
    shares[rows, best] = 0.0
    others = shares.sum(axis=1)  # of all labels but the best one
    np.subtract(1 + others[:, None], shares, out=shares)  # of all labels but one
    differences -= np.log(shares, out=shares)
    far = np.flatnonzero(others < FAR)  # the exponentials lose their digits
    differences[rows, best] = -np.log(np.maximum(others, FAR))
    if len(far):
        logits = scores[far] - scores[far, best[far]][:, None]
        logits[np.arange(len(far)), best[far]] = -np.inf
        second = logits.max(axis=1)
        differences[far, best[far]] = -second - np.log(np.exp(logits - second[:, None]).sum(axis=1))
    differences += np.log(n_labels - 1)
    return np.asarray(differences)

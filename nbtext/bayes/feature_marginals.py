"""Feature marginals: a multinomial model whose word frequencies over all classes are those of all documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, Prior, log_prior
from nbtext.bayes.expectation_maximization import Mixture
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.csr import running_sums

BLOCK = 1 << 20  # probabilities that are computed together, so that memory is bounded
ITERATIONS = 60
TOLERANCE = 1e-13  # relative error of the constraint at which Newton's method stops
MAX_SHARE = 1 - 1e-12  # a word with a larger share of all tokens is treated as having this one


@dataclass(frozen=True, eq=False)
class FeatureMarginals:
    """Fits the differences between classes to labeled documents, and the frequency of each word to all documents.

    Class k has N_k labeled tokens, t_k of which are the word; P_k = N_k / N with N = Σ_l N_l. P is the share of the
    word among all tokens, labeled and unlabeled. The probabilities θ_k = P(word | k) maximize the likelihood subject to
    this share:

        maximize Σ_k t_k log θ_k + (N_k − t_k) log (1 − θ_k)  subject to  Σ_k P_k θ_k = P.

    With a Lagrange multiplier ν N, t_k / θ_k − (N_k − t_k) / (1 − θ_k) = ν N_k. With q_k = t_k / N_k the solution is

        θ_k = 2 q_k / (1 + ν + √((1 + ν)² − 4 ν q_k)),

    which decreases in ν, so each word has exactly one ν. Counts t_k below `smoothing` are raised to it. A word that no
    labeled document has gets θ_k = P in every class. In the end each class's probabilities are divided by their sum.
    The method needs one pass over the unlabeled documents, keeps only their sums, and needs memory for each pair of a
    label and a word of labeled documents.

    occurrences  (n_features,), occurrences of each feature in all documents, labeled and unlabeled
    smoothing    > 0; the authors use 1/2
    source       Lucas, Downey, Scaling Semi-supervised Naive Bayes with Feature Marginals, 2013, section 3, for two
                 classes; for more classes the authors use one against the rest
    """

    occurrences: NDArray[Any]
    smoothing: float
    prior: Prior

    @property
    def weight(self) -> float:
        """The weight of an unlabeled token relative to a labeled one, in the shares of the words."""
        return 1.0

    @property
    def name(self) -> str:
        """The name in the comparison of candidates."""
        return "feature marginals"

    def fit(self, labeled: ClassStatistics, **_: Any) -> Mixture:
        """Return the model of these labeled documents. There are no steps, so `on_step` is ignored."""
        everywhere = np.maximum(self.occurrences, self.smoothing)
        shares = np.minimum(everywhere / everywhere.sum(), MAX_SHARE)
        used = np.flatnonzero(np.diff(labeled.indptr))
        logs = np.concatenate([np.zeros((0, labeled.n_classes)), *self._log_probabilities(labeled, used, shares)])
        n_used = np.zeros(labeled.n_features, dtype=np.int64)
        n_used[used] = labeled.n_classes
        deltas = logs - np.log(shares[used])[:, None]
        sums = np.exp(logs).sum(axis=0) + (shares.sum() - shares[used].sum())
        scorer = LinearScorer(
            np.zeros(labeled.n_classes),
            -np.log(sums),
            running_sums(n_used),
            np.tile(np.arange(labeled.n_classes, dtype=np.int32), len(used)),
            deltas.ravel(),
            np.log(shares),
            np.ones(labeled.n_classes),
        )
        log_priors = log_prior(labeled.class_documents, self.prior)
        return Mixture(scorer.with_prior(log_priors), log_priors, ())

    def _log_probabilities(self, labeled: ClassStatistics, used: NDArray[np.int64], shares: Floats) -> list[Floats]:
        """Return log θ of the used features, (n_used, n_classes), in blocks."""
        size = max(1, BLOCK // labeled.n_classes)
        tokens = np.maximum(labeled.class_occurrences, 1).astype(np.float64)
        blocks = []
        for start in range(0, len(used), size):
            part = labeled.restrict(used[start : start + size])
            counts = np.zeros((part.n_features, part.n_classes))
            counts[part.entry_features, part.classes] = part.occurrences
            rates = np.minimum(np.maximum(counts, self.smoothing) / tokens, 1.0)
            blocks.append(np.log(solve_marginals(rates, tokens / tokens.sum(), shares[used[start : start + size]])))
        return blocks


def solve_marginals(rates: Floats, classes: Floats, shares: Floats) -> Floats:
    """Return the probabilities of words in classes that maximize the likelihood subject to the words' shares.

    Σ_k P_k θ_k is nearly proportional to 1 / (1 + ν), so its inverse is nearly linear in ν. Newton's method finds the
    root of the inverse; a step that leaves the bracket is replaced by bisection.

    rates    (n_words, n_classes), q: the relative frequency of each word in each class, > 0
    classes  (n_classes,), the shares of the classes, which sum to 1
    shares   (n_words,), P: the shares of the words, above 0 and below 1
    returns  θ, (n_words, n_classes)
    """
    # the root is between these bounds, because θ <= q / ν for ν >= 1, and θ >= 1 - 1 / |ν| for ν < -1
    low, high = -1 / (1 - shares), np.maximum(1.0, rates @ classes / shares)
    at = np.clip(rates @ classes / shares - 1, low, high)
    for _ in range(ITERATIONS):
        theta = _probabilities(rates, at)
        totals = theta @ classes
        if np.abs(totals / shares - 1).max(initial=0) < TOLERANCE:
            break
        low, high = np.where(totals > shares, at, low), np.where(totals > shares, high, at)
        with np.errstate(divide="ignore", invalid="ignore"):  # at a probability of 1 the slope is infinite
            slopes = -1 / (rates / theta**2 + (1 - rates) / (1 - theta) ** 2)
            step = (1 / totals - 1 / shares) * totals**2 / (np.nan_to_num(slopes) @ classes)
        proposal = at + step
        at = np.where((low < proposal) & (proposal < high), proposal, (low + high) / 2)
    return _probabilities(rates, at)


def _probabilities(rates: Floats, multipliers: Floats) -> Floats:
    """Return θ for each rate and its word's ν, by the one of two equal formulas that avoids cancellation."""
    nu = multipliers[:, None]
    root = np.sqrt((1 + nu) ** 2 - 4 * nu * rates)
    with np.errstate(divide="ignore", invalid="ignore"):  # in the formula that is not used
        probabilities = np.where(nu > -1, 2 * rates / (1 + nu + root), (1 + nu - root) / (2 * nu))
    return np.minimum(probabilities, 1.0)  # rounding may exceed 1

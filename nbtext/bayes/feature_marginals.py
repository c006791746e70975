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

BLOCK = 1 << 20  # probabilities that are looked for together, so that memory is bounded
ITERATIONS = 60
CLOSE = 1e-13  # as near as the shares of a word come to what they should add up to
MOST = 1 - 1e-12  # the largest share of a word that is told from all of them


@dataclass(frozen=True, eq=False)
class FeatureMarginals:
    """Learns from labeled documents how classes differ, and from all documents how frequent each word is.

    In class k, with N_k labeled tokens, a word has been seen t_k times; P_k = N_k / Σ N_k. Of all tokens, those of
    unlabeled documents included, its share is P. Its probabilities θ_k = P(word | k) are the likeliest ones that agree
    with this share:

        the largest Σ_k t_k log θ_k + (N_k − t_k) log (1 − θ_k)  with  Σ_k P_k θ_k = P.

    With a multiplier ν N for the condition, t_k / θ_k − (N_k − t_k) / (1 − θ_k) = ν N_k. So each θ_k follows from
    q_k = t_k / N_k and the same ν,

        θ_k = 2 q_k / (1 + ν + √((1 + ν)² − 4 ν q_k)),

    and falls as ν grows: there is one ν for each word. Where a class has used a word less than `smoothing` times, it
    counts as so often. A word that no labeled document has is as probable in every class, θ_k = P. At the end each
    class's probabilities are divided by their sum. It takes one pass over the unlabeled documents, of which only the
    sums are kept, and memory for each label and each word of labeled documents.

    occurrences  (n_features,), of each feature in all documents, labeled or not
    smoothing    > 0; the authors take 1/2
    source       Lucas, Downey, Scaling Semi-supervised Naive Bayes with Feature Marginals, 2013, section 3, for two
                 classes (and then this is the same); more of them are one against the rest there
    """

    occurrences: NDArray[Any]
    smoothing: float
    prior: Prior

    @property
    def weight(self) -> float:
        """What an unlabeled token counts, beside a labeled one, in the shares of the words."""
        return 1.0

    @property
    def name(self) -> str:
        """What it is called where ways are compared."""
        return "feature marginals"

    def fit(self, labeled: ClassStatistics, **_: Any) -> Mixture:
        """The model of these labeled documents; nothing is repeated, so that there is no step to tell of."""
        everywhere = np.maximum(self.occurrences, self.smoothing)
        shares = np.minimum(everywhere / everywhere.sum(), MOST)
        used = np.flatnonzero(np.diff(labeled.indptr))
        logs = np.concatenate([np.zeros((0, labeled.n_classes)), *self._in_blocks(labeled, used, shares)])
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

    def _in_blocks(self, labeled: ClassStatistics, used: NDArray[np.int64], shares: Floats) -> list[Floats]:
        """log θ of these features, (n_used, n_classes), some of them at a time."""
        size = max(1, BLOCK // labeled.n_classes)
        tokens = np.maximum(labeled.class_occurrences, 1).astype(np.float64)
        found = []
        for start in range(0, len(used), size):
            part = labeled.restricted(used[start : start + size])
            counts = np.zeros((part.n_features, part.n_classes))
            counts[part.entry_features, part.classes] = part.occurrences
            rates = np.minimum(np.maximum(counts, self.smoothing) / tokens, 1.0)
            found.append(np.log(solve_marginals(rates, tokens / tokens.sum(), shares[used[start : start + size]])))
        return found


def solve_marginals(rates: Floats, classes: Floats, shares: Floats) -> Floats:
    """The probabilities of words in classes that agree with the words' shares, and are likeliest with these rates.

    The words' shares are nearly as 1 / (1 + ν). So Newton's method looks for where their inverse is right, which is
    nearly a line; where it would leave what is still possible, the middle of that is tried.

    rates    (n_words, n_classes), q: how often each class has used each word, > 0
    classes  (n_classes,), the shares of the classes, which sum to 1
    shares   (n_words,), P: the shares of the words, from 0 to 1 and neither
    returns  θ, (n_words, n_classes)
    """
    # θ <= q / ν where ν >= 1, and θ >= 1 - 1 / |ν| where ν < -1: beyond these bounds no word's shares add up
    low, high = -1 / (1 - shares), np.maximum(1.0, rates @ classes / shares)
    at = np.clip(rates @ classes / shares - 1, low, high)
    for _ in range(ITERATIONS):
        found = _probabilities(rates, at)
        totals = found @ classes
        if np.abs(totals / shares - 1).max(initial=0) < CLOSE:
            break
        low, high = np.where(totals > shares, at, low), np.where(totals > shares, high, at)
        with np.errstate(divide="ignore", invalid="ignore"):  # at a probability of 1 it turns sharply
            slopes = -1 / (rates / found**2 + (1 - rates) / (1 - found) ** 2)
            step = (1 / totals - 1 / shares) * totals**2 / (np.nan_to_num(slopes) @ classes)
        beyond = at + step
        at = np.where((low < beyond) & (beyond < high), beyond, (low + high) / 2)
    return _probabilities(rates, at)


def _probabilities(rates: Floats, multipliers: Floats) -> Floats:
    """θ for each rate and its word's ν, by whichever of two equal formulas has no difference of like numbers."""
    nu = multipliers[:, None]
    root = np.sqrt((1 + nu) ** 2 - 4 * nu * rates)
    with np.errstate(divide="ignore", invalid="ignore"):  # in the formula that is not taken
        probabilities = np.where(nu > -1, 2 * rates / (1 + nu + root), (1 + nu - root) / (2 * nu))
    return np.minimum(probabilities, 1.0)  # rounding can lead beyond

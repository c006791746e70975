"""Expectation-maximization: a generative model that is also fitted to unlabeled documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nbtext.bayes.class_statistics import ClassStatistics, Prior, log_prior
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.leave_one_out import AT_ONCE
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.features.document_counts import DocumentCounts
from nbtext.parallel import parallel_calls

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NEGLIGIBLE = 1e-12  # smaller probabilities of a label are set to 0
MIN_GAIN = 1e-9  # relative gain of the log-likelihood below which the steps end
OnStep = Callable[[int, float], None]  # the number of the step, and the log-likelihood after it


@dataclass(frozen=True, eq=False)
class Mixture:
    """The result of expectation-maximization.

    scorer           of log P(document, class), the prior included
    log_prior        (n_classes,), of each class's prior probability
    log_likelihoods  penalized, in nats: of the model of the labeled documents alone, then after each step
    """

    scorer: LinearScorer
    log_prior: Floats
    log_likelihoods: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ExpectationMaximization:
    """Fits a model to labeled documents, and to unlabeled documents by the probabilities of their labels.

    Let x be the labeled documents and y their labels, u the unlabeled ones with weight λ, θ a model and π its prior. A
    step increases the log-posterior of the model,

        l(θ) = Σ_x log π_y P(x | y, θ) + λ Σ_u log Σ_k π_k P(u | k, θ) + log p(θ),

    where p(θ) is the prior that smoothing by α implies: Dirichlet(α + 1) for the words of each class of the
    multinomial model, which is α Σ_kj log θ_kj; Beta(α + 1, α + 1) for each feature of the Bernoulli model, which is
    α Σ_kj log(p_kj (1 − p_kj)). A step computes the probability of each label of each unlabeled document,
    r_uk = P(k | u, θ), and adds λ r_uk times the counts of u to each class k. Then the model is fitted to the sums. No
    step decreases l(θ).

    unlabeled  the documents without labels; their classes are ignored
    model      an event model with a `log_prior_density`
    smoothing  α > 0
    weight     λ >= 0; with 0 only the labeled documents are used
    steps      maximum number of steps; a step without a gain is the last one
    source     Nigam, McCallum, Thrun, Mitchell, Text Classification from Labeled and Unlabeled Documents using EM,
               2000, sections 4 and 5.3 (λ); monotonicity: Dempster, Laird, Rubin, Maximum Likelihood from Incomplete
               Data via the EM Algorithm, 1977
    """

    unlabeled: DocumentCounts
    model: EventModel
    smoothing: float
    prior: Prior
    weight: float
    steps: int

    @property
    def name(self) -> str:
        """The name in the comparison of candidates."""
        return f"unlabeled documents weighted {self.weight:g}" if self.weight > 0 else "labeled documents alone"

    def fit(
        self, labeled: ClassStatistics, *, jobs: int = 1, on_step: OnStep | None = None, is_watched: bool = True
    ) -> Mixture:
        """Fit the labeled documents alone, then take the steps.

        labeled     counts of the labeled documents; binary counts if the model is binary
        jobs        number of threads
        is_watched  whether to compute the log-likelihood after the last step as well; it takes half the time of a step
        """
        log_likelihoods: list[float] = []
        statistics, steps = labeled, self.steps if self.weight > 0 else 0
        for step in range(steps + 1):
            log_priors = log_prior(statistics.class_documents, self.prior)
            scorer = self.model.compile(statistics, smoothing=self.smoothing).with_prior(log_priors)
            if step == steps and not is_watched:
                break
            posteriors, marginal = self.compute_posteriors(scorer, jobs)
            log_likelihoods.append(self._log_posterior(labeled, scorer, marginal))
            if on_step is not None:
                on_step(step, log_likelihoods[-1])
            gain = log_likelihoods[-1] - log_likelihoods[-2] if step > 0 else np.inf
            if gain <= MIN_GAIN * abs(log_likelihoods[-1]):
                break
            expected = self.unlabeled.transpose(labeled.n_features) @ posteriors
            expected.sort_indices()
            total = _matrix(labeled) + self.weight * expected
            documents = labeled.class_documents + self.weight * posteriors.sum(axis=0)
            # the multinomial model ignores documents; in the Bernoulli model they equal the occurrences
            indptr, classes = total.indptr.astype(np.int64), total.indices.astype(np.int32)
            statistics = ClassStatistics(documents, indptr, classes, total.data, total.data)
        return Mixture(scorer, log_priors, tuple(log_likelihoods))

    def compute_posteriors(self, scorer: LinearScorer, jobs: int) -> tuple[csr_array, float]:
        """Return the probabilities of the labels of the unlabeled documents, and the documents' log-likelihood."""
        from scipy.sparse import vstack

        parts = parallel_calls(
            [partial(_posteriors, scorer, part) for part in self.unlabeled.split(AT_ONCE)], jobs=jobs
        )
        return vstack([posteriors for posteriors, _ in parts], format="csr"), sum(marginal for _, marginal in parts)

    def _log_posterior(self, labeled: ClassStatistics, scorer: LinearScorer, marginal: float) -> float:
        """Return l(θ), up to a constant that does not depend on the model."""
        of_classes = _matrix(
            labeled
        ).T.tocsr()  # the likelihood of a class's documents is that of the sum of their counts
        indptr, indices = of_classes.indptr.astype(np.int64), of_classes.indices.astype(np.int32)
        own = np.diagonal(scorer.scores(indptr, indices, of_classes.data))
        log_likelihood = float((own + (labeled.class_documents - 1) * scorer.bias).sum())
        if self.model.log_prior_density is None:
            raise ValueError("expectation-maximization needs an event model with log_prior_density")
        return log_likelihood + self.weight * marginal + self.smoothing * self.model.log_prior_density(scorer)


def _posteriors(scorer: LinearScorer, part: DocumentCounts) -> tuple[csr_array, float]:
    """Return the probabilities of the labels of some documents, negligible ones as 0, and their log-likelihood."""
    from scipy.sparse import csr_array

    scores = scorer.scores(part.indptr, part.indices, part.counts)
    highest = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - highest)
    sums = shares.sum(axis=1, keepdims=True)
    shares /= sums
    shares[shares < NEGLIGIBLE] = 0
    return csr_array(shares), float((highest + np.log(sums)).sum())


def _matrix(statistics: ClassStatistics) -> csr_array:
    """Return the occurrences as a matrix (n_features, n_classes)."""
    from scipy.sparse import csr_array

    shape = statistics.n_features, statistics.n_classes
    values = statistics.occurrences.astype(np.float64)
    return csr_array((values, statistics.classes, statistics.indptr), shape=shape)

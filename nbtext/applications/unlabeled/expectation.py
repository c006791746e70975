"""Training on unlabeled documents: expectation-maximization, and the comparison of candidates on
held-out documents.

Expectation-maximization fits a generative model also to unlabeled documents. Held-out labeled
documents show which weight of the unlabeled ones is the best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.arrays import Array, Floats, Integers, Mask
from nbtext.bayes.calibration import fit_temperature
from nbtext.bayes.class_statistics import (
    ClassStatistics,
    Prior,
    count_classes,
    log_prior,
)
from nbtext.bayes.conformal import log_likelihood_per_token
from nbtext.bayes.decision_offsets import Goals
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import Selection, add_likelihoods, judge
from nbtext.features.document_table import DocumentTable, number_contents
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.model.posteriors import compute_posteriors
from nbtext.numerics import exp, log, log1p
from nbtext.output import note_phase
from nbtext.parallel import parallel_calls
from nbtext.records import frozen_object

if TYPE_CHECKING:
    from scipy.sparse import csr_array

N_EM_FOLDS = 5


class Trial(NamedTuple):
    """A candidate, and its smoothing with the calibration and estimate by held-out documents."""

    candidate: ExpectationMaximization
    selection: Selection

    @property
    def loss(self) -> float:
        """The estimated log-loss; infinite if no document can be held out."""
        return self.selection.estimate.log_loss if self.selection.estimate is not None else math.inf


@frozen_object
class HeldOutFolds:
    """Labeled documents for k-fold cross-validation: each fold is subtracted from the counts and
    scored.

    Leave-one-out is fast only if the probabilities of the unlabeled documents' labels stay fixed.
    But they depend on the left-out document: for 20 Newsgroups with 15 labeled documents per class,
    leave-one-out estimates an accuracy of 0.89, the folds 0.68, and the test accuracy is 0.66. So
    each fold fits a new model. The only document of a class is never held out.

    statistics  counts of all labeled documents; binary counts if the model is binary
    sample      the labeled documents that are held out
    lengths     (n_documents,), tokens of each document of the sample
    is_hapax    (n_features,), whether only one document, labeled or unlabeled, has the feature. It
                is out of vocabulary when that document is held out
    guess       returns the probabilities of the labels of the unlabeled documents, (n_unlabeled,
                n_classes), by a model of the labeled documents but those that a mask of the sample
                leaves out
    settings    whether candidates are calibrated, and what they optimize
    """

    statistics: ClassStatistics
    sample: DocumentTable
    lengths: Array
    is_hapax: Mask
    guess: Callable[[Mask], csr_array]
    settings: ModelSettings = ModelSettings()
    jobs: int = 1

    @cached_property
    def folds(self) -> Integers:
        """The fold of each document; no fold has all documents of a class."""
        return stratified_folds(
            self.sample.classes,
            N_EM_FOLDS,
            seed=None,
            contents=number_contents(self.sample),
            class_documents=self.statistics.class_documents,
        )

    @cached_property
    def starts(self) -> dict[int, csr_array]:
        """What candidates start from, by the fold that is held out."""
        folds = np.unique(self.folds[self.held_out]).tolist()
        return {fold: self.guess(self.folds == fold) for fold in folds}

    @cached_property
    def held_out(self) -> Integers:
        """The indices of the documents that are held out, ascending."""
        return np.flatnonzero(self.folds != NEVER_HELD_OUT)

    def compare(self, *candidates: ExpectationMaximization) -> list[Trial]:
        """Return the results of each candidate on the held-out documents."""
        return [
            Trial(candidate, self._select(candidate.smoothing, *scores))
            for candidate, scores in zip(candidates, self.score(*candidates), strict=True)
        ]

    def score(self, *candidates: ExpectationMaximization) -> list[Floats]:
        """Return the scores of the held-out documents by each candidate, (2, n_held_out,
        n_classes): by all features, and by features that other documents have too.
        """
        parts = [np.flatnonzero(self.folds == fold) for fold in self.starts]
        calls = [
            partial(self._score_part, part, candidate, start)
            for candidate in candidates
            for part, start in zip(parts, self.starts.values(), strict=True)
        ]
        found = iter(parallel_calls(calls, jobs=self.jobs))
        scores = []
        for _ in candidates:
            of_all = np.zeros((2, len(self.folds), self.statistics.n_classes))
            for part in parts:
                of_all[:, part] = next(found)
            scores.append(of_all[:, self.held_out])
        return scores

    def _score_part(
        self, part: Integers, candidate: ExpectationMaximization, start: csr_array
    ) -> Floats:
        """Return the scores of a part by a model of all others, (2, n_part, n_classes): all and
        known features.
        """
        held_out = self.sample.take(part)
        rest = self.statistics - count_classes(
            held_out, self.statistics.n_features, self.statistics.n_classes
        )
        scorer = candidate.fit(rest, start).scorer
        scores = scorer.scores(held_out.indptr, held_out.indices, held_out.counts)
        # a hapax has the weight of a feature that no class has
        n_hapax = held_out.sum_features(self.is_hapax)
        return np.stack((scores, scores - n_hapax[:, None] * scorer.default))

    def _select(self, smoothing: float, complete: Floats, known: Floats) -> Selection:
        selection = Selection(Hyperparameters(smoothing))
        if len(complete) == 0:
            return selection
        classes = self.sample.classes[self.held_out]
        lengths = self.lengths[self.held_out]
        n_known = lengths - self.sample.sum_features(self.is_hapax)[self.held_out]
        judged = JudgedDocuments(known, n_known, classes)
        selection = judge(
            selection.hyperparameters,
            judged,
            fit_temperature(judged) if self.settings.calibrate else None,
            n_unjudged=len(self.sample) - len(complete),
            goals=Goals(self.settings.optimize),
        )
        return add_likelihoods(selection, log_likelihood_per_token(complete, lengths))


MIN_LIKELIHOOD_GAIN = 1e-9  # relative gain of the log-likelihood below which the steps end
OnStep = Callable[[int, float], None]  # the number of the step, and the log-likelihood after it


def dirichlet_density(scorer: LinearScorer, statistics: ClassStatistics) -> float:
    """Return Σ_kj t_j / K log θ_kj: that of a Dirichlet(μ t_j / T + 1) density, with μ = α T / K.

    t_j does not depend on the probabilities of labels, so that all steps have the same density.
    """
    everywhere = statistics.feature_occurrences
    logs = log(np.where(everywhere > 0, everywhere, 1.0))
    of_features = float(everywhere.sum() * scorer.default.mean() + everywhere @ logs)
    deltas = np.repeat(everywhere, np.diff(scorer.indptr)) * scorer.deltas
    return of_features + float(deltas.sum()) / scorer.n_classes


def bernoulli_density(scorer: LinearScorer, statistics: ClassStatistics) -> float:
    """Return Σ_kj log(p_kj (1 − p_kj)): the logarithm of a Beta(α + 1, α + 1) density, per unit of
    α.
    """

    def of_log_odds(weights: Floats) -> Floats:
        return np.asarray(-np.abs(weights) - 2 * log1p(exp(-np.abs(weights))))

    n_used = np.bincount(scorer.classes, minlength=scorer.n_classes)
    unused = (scorer.n_features - n_used) * of_log_odds(scorer.default)
    return float(unused.sum() + of_log_odds(scorer.default[scorer.classes] + scorer.deltas).sum())


# log p(weights) per unit of smoothing, of the models that can be trained on unlabeled documents
DENSITIES = {
    # Σ_kj log θ_kj: the logarithm of a Dirichlet(α + 1) density, per unit of α
    "multinomial": lambda model, _: float(
        model.n_features * model.default.sum() + model.deltas.sum()
    ),
    "dirichlet": dirichlet_density,
    "bernoulli": bernoulli_density,
}


@frozen_object
class Mixture:
    """The result of expectation-maximization.

    scorer           of log P(document, class), the prior included
    log_prior        (n_classes,), of each class's prior probability
    log_likelihoods  penalized, in nats: of the model with the first probabilities, then after each
                     step
    """

    scorer: LinearScorer
    log_prior: Floats
    log_likelihoods: tuple[float, ...]


@frozen_object
class ExpectationMaximization:
    """Fits a model to labeled documents, and to unlabeled documents by the probabilities of their
    labels.

    Let x be the labeled documents and y their labels, u the unlabeled ones with weight λ, θ a model
    and π its prior. A step increases the log-posterior of the model,

        l(θ) = Σ_x log π_y P(x | y, θ) + λ Σ_u log Σ_k π_k P(u | k, θ) + log p(θ),

    where p(θ) is the prior that smoothing by α implies: Dirichlet(α + 1) for the words of each
    class of the multinomial model, which is α Σ_kj log θ_kj; α Σ_kj t_j / K log θ_kj with Dirichlet
    smoothing; Beta(α + 1, α + 1) for each feature of the Bernoulli model, which is α Σ_kj log(p_kj
    (1 − p_kj)). A step computes the probability of each label of each unlabeled document, r_uk =
    P(k | u, θ), and adds λ r_uk times the counts of u to each class k. Then the model is fitted to
    the sums. No step decreases l(θ). The first r_uk are those of another model, the best one of
    the labeled documents.

    unlabeled  the documents without labels; their classes are ignored
    model      one of DENSITIES
    smoothing  α > 0
    weight     λ > 0
    steps      maximum number of steps; a step without a gain is the last one
    source     Nigam, McCallum, Thrun, Mitchell, Text Classification from Labeled and Unlabeled
               Documents using EM, 2000, sections 4 and 5.3 (λ); monotonicity: Dempster, Laird,
               Rubin, Maximum Likelihood from Incomplete Data via the EM Algorithm, 1977
    """

    unlabeled: DocumentTable
    model: str
    smoothing: float
    prior: Prior
    weight: float
    steps: int

    @property
    def name(self) -> str:
        """The name in the comparison of candidates."""
        return f"unlabeled documents weighted {self.weight:g}"

    def fit(
        self,
        labeled: ClassStatistics,
        start: csr_array,
        *,
        jobs: int = 1,
        on_step: OnStep | None = None,
    ) -> Mixture:
        """Fit the model with the first probabilities, then take the steps.

        labeled  counts of the labeled documents; binary counts if the model is binary
        start    (n_unlabeled, n_classes), the first probabilities
        jobs     number of threads
        on_step  None: the log-likelihood after the last step is not computed, which takes half the
                 time of a step
        """
        log_likelihoods: list[float] = []
        posteriors = start
        for step in range(self.steps + 1):
            note_phase("step %d of %d with unlabeled documents", step, self.steps)
            # the counts of the labeled documents, and the expected ones of the others; the
            # multinomial model ignores documents; in the Bernoulli model they equal the occurrences
            expected = self.unlabeled.expect(posteriors, labeled.n_features)
            total = _matrix(labeled) + self.weight * expected
            statistics = ClassStatistics(
                labeled.class_documents + self.weight * posteriors.sum(axis=0),
                total.indptr.astype(np.int64),
                total.indices.astype(np.int32),
                total.data,
                total.data,
            )
            log_priors = log_prior(statistics.class_documents, self.prior)
            scorer = (
                EVENT_MODELS[self.model]
                .compile(statistics, smoothing=self.smoothing)
                .with_prior(log_priors)
            )
            if step == self.steps and on_step is None:
                break
            posteriors, marginal = compute_posteriors(scorer, self.unlabeled, jobs)
            density = self.smoothing * DENSITIES[self.model](scorer, statistics)
            # that of labeled documents is that of the summed counts of each class
            of_classes = _matrix(labeled).T.tocsr()
            indptr = of_classes.indptr.astype(np.int64)
            indices = of_classes.indices.astype(np.int32)
            own = np.diagonal(scorer.scores(indptr, indices, of_classes.data))
            known = float((own + (labeled.class_documents - 1) * scorer.bias).sum())
            log_likelihood = known + self.weight * marginal + density
            log_likelihoods.append(log_likelihood)
            if on_step is not None:
                on_step(step, log_likelihood)
            gain = log_likelihood - log_likelihoods[-2] if step > 0 else np.inf
            if gain <= MIN_LIKELIHOOD_GAIN * abs(log_likelihood):
                break
        return Mixture(scorer, log_priors, tuple(log_likelihoods))


def _matrix(statistics: ClassStatistics) -> csr_array:
    """Return the occurrences as a matrix (n_features, n_classes)."""
    from scipy.sparse import csr_array

    shape = statistics.n_features, statistics.n_classes
    return csr_array(
        (statistics.occurrences.astype(np.float64), statistics.classes, statistics.indptr),
        shape=shape,
    )

"""Selection of the smoothing, its calibration and the estimate for new documents, from leave-one-out scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration, fit_calibration, fit_scaled_calibration
from nbtext.bayes.confusion import Confused, most_confused
from nbtext.bayes.decision_offsets import fit_decision_offsets
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.outliers import threshold, typical
from nbtext.bayes.prediction_sets import STRANGEST, own_nonconformity
from nbtext.bayes.quantiles import Quantiles
from nbtext.bayes.scorer import Floats
from nbtext.bayes.scorer import log_posterior as normalized
from nbtext.parallel import parallel_calls

LAPLACE = 1.0  # where there is nothing to choose by
# The search looks from 10^-2 to 10^1. Below, leave-one-out still finds gains wherever documents quote one another,
# and they vanish on documents that do not (20 Newsgroups by date: 0.804 at 10^-2, 0.801 at 10^-3, 0.791 at 10^-6).
DECADES = (-2, 1)
REFINEMENTS = (1.0, 0.5, 0.25)  # steps in decades; each goes on around the best of the one before
MOST_SCORES = 1 << 24  # of documents and labels: with more than 512 labels, leave-one-out looks at fewer documents
SEARCH_SIZE = 1024  # documents that the search looks at: log-loss is smooth in log α, and so is its minimum


@dataclass(frozen=True, slots=True)
class LeaveOneOutEstimate:
    """The leave-one-out estimate for new documents of the same kind.

    documents   how many were judged: all figures are over these
    accuracy    share of correct predictions
    log_loss    mean −log P(true label), in nats; calibrated where the model is
    confused    the pairs of labels that are confused most often
    duplicates  how many of the documents repeat another one; all copies are left out together
    unjudged    documents (and duplicates) that are the only ones of their label: nothing can be estimated from them
    """

    documents: int
    accuracy: float
    log_loss: float
    confused: tuple[Confused, ...] = ()
    duplicates: int = 0
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A smoothing with what leave-one-out says of it; None where no document could be left out."""

    smoothing: float
    calibration: Calibration | None = None
    expectation: LeaveOneOutEstimate | None = None
    outlier_threshold: float | None = None  # log-likelihood per token, in nats
    likelihoods: Quantiles | None = None  # log-likelihoods per token, of left-out documents
    nonconformity: Quantiles | None = None  # of the true labels, as `coverage` defines it
    prior_adjustment: Floats | None = (
        None  # (n_classes,), added to the log-probabilities before they are normalised again
    )
    shift: Floats | None = None  # (n_classes,), added to the log-probabilities only where the largest is taken
    C: float | None = None  # inverse regularization strength of a linear model, chosen or given
    is_converged: bool = True  # whether the solver of a linear model met its tolerance
    approximate: tuple[str, ...] = ()  # which of these were fitted to other documents than training would fit them to

    def log_posterior(self, scores: Floats, lengths: NDArray[Any] | None) -> Floats:
        """Log-probabilities of documents of these many known tokens, shape (n_documents, n_classes)."""
        found = normalized(scores) if self.calibration is None else self.calibration.log_posterior(scores, lengths)
        return found if self.prior_adjustment is None else normalized(found + self.prior_adjustment)

    def decided(self, log_posterior: Floats) -> NDArray[np.int64]:
        """The class to answer for each document: the most probable one, or what serves the metric to optimize."""
        shifted = log_posterior if self.shift is None else log_posterior + self.shift
        return shifted.argmax(axis=1) if len(shifted) else np.zeros(0, dtype=np.int64)

    def judged_by(
        self,
        scores: Floats,
        lengths: NDArray[Any] | None,
        classes: NDArray[Any],
        *,
        n_unjudged: int = 0,
        n_duplicates: int = 0,
        optimize: str | None = None,
    ) -> Choice:
        """The same with what left-out documents tell: decision offsets, the estimate, and nonconformity scores.

        n_unjudged  documents that are the only ones of their label; for prediction sets their labels conform least
        """
        choice = self if optimize is None else self.optimized(scores, lengths, classes, optimize)
        log_posterior = choice.log_posterior(scores, lengths)
        answers = choice.decided(log_posterior)
        loss = -float(log_posterior[np.arange(len(classes)), classes].mean())
        accuracy, confused = float((answers == classes).mean()), most_confused(classes, answers)
        others = np.full(n_unjudged, STRANGEST)
        return replace(
            choice,
            expectation=LeaveOneOutEstimate(len(classes), accuracy, loss, confused, n_duplicates, n_unjudged),
            nonconformity=Quantiles.of(np.concatenate((own_nonconformity(np.exp(log_posterior), classes), others))),
        )

    def optimized(self, scores: Floats, lengths: NDArray[Any] | None, classes: NDArray[Any], metric: str) -> Choice:
        """The same with the prior adjustment or decision offsets that optimize a metric on left-out documents."""
        found = fit_decision_offsets(self.log_posterior(scores, lengths), classes, metric)
        return replace(self, prior_adjustment=found) if metric == "log_loss" else replace(self, shift=found)


def select_smoothing(
    corpus: LeaveOneOut, smoothing: float | None, *, calibrate: bool, optimize: str | None = None
) -> Choice:
    """The smoothing with the least calibrated log-loss (or the given one), its calibration and estimate.

    Before calibration, log-loss measures overconfidence more than how well labels are told apart, and would select too
    much smoothing.
    """
    smoothing = corpus.model.smoothing if smoothing is None else smoothing
    n_classes = corpus.statistics.n_classes
    corpus = corpus.complete().first(max(1, MOST_SCORES // max(1, n_classes)))
    judged = corpus.judged()
    if len(judged.documents) == 0 or n_classes < 2:
        return Choice(LAPLACE if smoothing is None else smoothing)
    best, near = _search(judged) if smoothing is None else (smoothing, None)
    (scores,) = judged.scores(best)
    is_likelihood = judged.model.is_generative and judged.documents.is_counted
    likelihoods = typical(scores, judged.documents.lengths) if is_likelihood else None
    scores, classes = judged.ignore_hapaxes(scores, best), judged.documents.classes
    lengths = judged.n_known if judged.documents.has_lengths else None
    choice = Choice(best, _calibrate(judged, scores, near) if calibrate else None)
    choice = choice.judged_by(
        scores, lengths, classes,
        n_unjudged=len(corpus.documents) - len(classes), n_duplicates=corpus.duplicates.n_duplicates, optimize=optimize,
    )  # fmt: skip
    if likelihoods is None:
        return choice
    return replace(choice, outlier_threshold=threshold(likelihoods), likelihoods=likelihoods)


def _search(judged: LeaveOneOut) -> tuple[float, Calibration]:
    """The smoothing with the least calibrated log-loss on about SEARCH_SIZE documents, and that calibration."""
    searched = judged.first(SEARCH_SIZE)
    losses: dict[float, tuple[float, Calibration]] = {}
    near: Calibration | None = None
    lowest, highest = DECADES
    exponents = np.arange(lowest, highest + 1, REFINEMENTS[0]).tolist()
    for step in REFINEMENTS:
        untried = [exponent for exponent in exponents if exponent not in losses]
        if untried:
            smoothings = [10.0**exponent for exponent in untried]
            scored = zip(searched.scores(*smoothings), smoothings, strict=True)
            calls = [partial(_score_smoothing, searched, *each, near) for each in scored]
            losses.update(zip(untried, parallel_calls(calls, jobs=searched.jobs), strict=True))
        best = min(losses, key=lambda exponent: (losses[exponent][0], -exponent))
        near = losses[best][1]
        exponents = [max(lowest, best - step / 2), min(highest, best + step / 2)]
    return float(10.0**best), losses[best][1]


def _score_smoothing(
    corpus: LeaveOneOut, scores: Floats, smoothing: float, near: Calibration | None
) -> tuple[float, Calibration]:
    """The calibrated log-loss of leave-one-out scores, and the calibration."""
    scores = corpus.ignore_hapaxes(scores, smoothing)
    calibration = _calibrate(corpus, scores, near)
    lengths = corpus.n_known if corpus.documents.has_lengths else None
    log_posterior = calibration.log_posterior(scores, lengths)
    return float(-log_posterior[np.arange(len(scores)), corpus.documents.classes].mean()), calibration


def _calibrate(corpus: LeaveOneOut, scores: Floats, near: Calibration | None) -> Calibration:
    """Fit the calibration; scores that are not in nats are scaled first, as the temperature's prior is in nats."""
    lengths = corpus.n_known if corpus.documents.has_lengths else None
    if corpus.model.is_in_nats:
        return fit_calibration(scores, lengths, corpus.documents.classes, near=near)
    return fit_scaled_calibration(scores, lengths, corpus.documents.classes)

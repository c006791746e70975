"""Choosing the smoothing, and saying what to expect of it, by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration, fit_calibration
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.confusion import Confused, most_confused
from nbtext.bayes.decision_offsets import fit_decision_offsets
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import Run, leave_one_out, one_by_one, scores_of_new
from nbtext.bayes.outliers import threshold, typical
from nbtext.bayes.prediction_sets import STRANGEST, own_nonconformity
from nbtext.bayes.priors import Prior
from nbtext.bayes.quantiles import Quantiles
from nbtext.bayes.scorer import Floats
from nbtext.bayes.scorer import log_posterior as normalized
from nbtext.features.document_counts import DocumentCounts

LAPLACE = 1.0  # where there is nothing to choose by
# The search looks from 10^-2 to 10^1. Below, leave-one-out still finds gains wherever documents quote one another,
# and they vanish on documents that do not (20 Newsgroups by date: 0.804 at 10^-2, 0.801 at 10^-3, 0.791 at 10^-6).
DECADES = (-2, 1)
REFINEMENTS = (1.0, 0.5, 0.25)  # steps in decades; each goes on around the best of the one before
MOST_SCORES = 1 << 24  # of documents and labels: with more than 512 labels, leave-one-out looks at fewer documents
SEARCH_SIZE = 1024  # documents that the search looks at: log-loss is smooth in log α, and so is its minimum


@dataclass(frozen=True, slots=True)
class LeaveOneOutEstimate:
    """What leave-one-out foretells of new documents of the same kind."""

    documents: int  # how many it looked at
    accuracy: float
    log_loss: float  # in nats, of calibrated probabilities where the model is calibrated
    confused: tuple[Confused, ...] = ()  # the labels that were taken for one another most often


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
    approximate: tuple[str, ...] = ()  # which of these were fitted to other documents than training would fit them to

    def log_posterior(self, scores: Floats, lengths: NDArray[Any]) -> Floats:
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
        lengths: NDArray[Any],
        classes: NDArray[Any],
        *,
        n_documents: int,
        optimize: str | None = None,
    ) -> Choice:
        """The same with what left-out documents say: what serves a metric, what to expect, and how strange labels are.

        n_documents  the judged ones and those that are alone in their class: they count as wrong, and as strange as
                     can be
        """
        choice = self if optimize is None else self.optimized(scores, lengths, classes, optimize)
        log_posterior = choice.log_posterior(scores, lengths)
        answers = choice.decided(log_posterior)
        right = (answers == classes).sum()
        loss = -float(log_posterior[np.arange(len(classes)), classes].mean())
        others = np.full(n_documents - len(classes), STRANGEST)
        return replace(
            choice,
            expectation=LeaveOneOutEstimate(
                n_documents, float(right / n_documents), loss, most_confused(classes, answers)
            ),
            nonconformity=Quantiles.of(np.concatenate((own_nonconformity(np.exp(log_posterior), classes), others))),
        )

    def optimized(self, scores: Floats, lengths: NDArray[Any], classes: NDArray[Any], metric: str) -> Choice:
        """The same with the prior_adjustment or shift that serves a metric best on left-out documents."""
        found = fit_decision_offsets(self.log_posterior(scores, lengths), classes, metric)
        return replace(self, prior_adjustment=found) if metric == "log_loss" else replace(self, shift=found)


def calibration_by_unit(scores: Floats, lengths: NDArray[Any], classes: NDArray[np.int32]) -> Calibration:
    """The calibration of scores that are no sums of logarithms: measured by what a word tells on average."""
    told = scores.max(axis=1) - scores.mean(axis=1)
    unit = float(told.sum() / max(1, lengths.sum())) or 1.0
    fitted = fit_calibration(scores / unit, lengths, classes)
    return replace(fitted, a=fitted.a * unit)


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """A corpus as leave-one-out sees it under one event model and prior.

    A label's only document is counted as wrong and otherwise passed over: with it, all that is known of its label
    is left out. So with a word: what no other document holds, a model of the others would not know, and ignore; it
    counts here only where the likelihood of a document is looked at.

    lengths  (n_documents,), tokens of each document of the sample, however they are weighted
    n_hapax  (n_documents,), those of them that no other document of the corpus holds
    is_new   (n_documents,), which of the sample are no part of the corpus; None: none
    """

    statistics: ClassStatistics
    sample: DocumentCounts
    lengths: NDArray[Any]
    n_hapax: NDArray[Any]
    model: str
    prior: Prior
    run: Run[Any] = one_by_one  # what makes the calls that the work is cut into, in as many threads as it has
    is_new: NDArray[np.bool_] | None = None

    @property
    def has_likelihood(self) -> bool:
        """Whether scores are log p(document, class): of a generative model, over counts or presence."""
        return EVENT_MODELS[self.model].is_generative and self.sample.counts.dtype.kind == "i"

    def choose(self, smoothing: float | None, *, calibrate: bool, optimize: str | None = None) -> Choice:
        """The smoothing with the least calibrated log-loss (or the given one), its calibration and expectation.

        Before calibration the loss says how overconfident a model is, not how well it tells the labels apart, and
        would choose too much smoothing.
        """
        smoothing = EVENT_MODELS[self.model].smoothing if smoothing is None else smoothing
        most = max(1, MOST_SCORES // max(1, self.statistics.n_classes))
        if len(self.sample) > most:  # the smallest hashes come first
            return self._of(np.arange(most)).choose(smoothing, calibrate=calibrate, optimize=optimize)
        judged = self._judged()
        if len(judged.sample) == 0 or self.statistics.n_classes < 2:
            return Choice(LAPLACE if smoothing is None else smoothing)
        best, near = judged.search() if smoothing is None else (smoothing, None)
        (scores,) = judged.scores(best)
        likelihoods = typical(scores, judged.lengths) if self.has_likelihood else None
        scores, lengths = judged.of_known(scores, best), judged.n_known
        classes = judged.sample.classes
        choice = Choice(best, self._calibration(scores, lengths, classes, near) if calibrate else None)
        choice = choice.judged_by(scores, lengths, classes, n_documents=len(self.sample), optimize=optimize)
        if likelihoods is None:
            return choice
        return replace(choice, outlier_threshold=threshold(likelihoods), likelihoods=likelihoods)

    def _calibration(
        self, scores: Floats, lengths: NDArray[Any], classes: NDArray[np.int32], near: Calibration | None
    ) -> Calibration:
        """Fitted to scores in nats; others are measured by what a word tells on average, or beliefs would mislead."""
        if EVENT_MODELS[self.model].is_in_nats:
            return fit_calibration(scores, lengths, classes, near=near)
        return calibration_by_unit(scores, lengths, classes)

    def scores(self, *smoothings: float) -> Floats:
        """Left-out scores, shape (n_smoothings, n_documents, n_classes)."""
        arguments: dict[str, Any] = {"model": self.model, "smoothings": smoothings, "prior": self.prior}
        if self.is_new is None:
            return leave_one_out(self.statistics, self.sample, **arguments, run=self.run)
        scores = np.empty((len(smoothings), len(self.sample), self.statistics.n_classes))
        old, new = (self._of(np.flatnonzero(which)).sample for which in (~self.is_new, self.is_new))
        if len(old):
            scores[:, ~self.is_new] = leave_one_out(self.statistics, old, **arguments, run=self.run)
        scores[:, self.is_new] = scores_of_new(self.statistics, new, **arguments)
        return scores

    @property
    def n_known(self) -> NDArray[Any]:
        """Tokens of each document that others hold too."""
        return np.asarray(self.lengths - self.n_hapax)

    @cached_property
    def _alone(self) -> Floats:
        """Of each document, the sum of the counts that stand alone: tokens, or features where presence is looked at."""
        sees_presence = EVENT_MODELS[self.model].reads_counts
        is_alone = self.statistics.document_frequencies == 1
        n_hapax = self.sample.sum_features(is_alone, is_binary=sees_presence)
        return n_hapax if self.is_new is None else n_hapax * ~self.is_new

    def of_known(self, scores: Floats, smoothing: float) -> Floats:
        """Left-out scores without the words that no other document holds."""
        unseen = EVENT_MODELS[self.model].unseen
        if unseen is None or self.sample.counts.dtype.kind != "i" or not self.n_hapax.any():
            return scores
        return np.asarray(scores - self._alone[:, None] * unseen(self.statistics, self.sample, smoothing=smoothing))

    def _judged(self) -> LeaveOneOut:
        """Only the documents that are not alone in their class."""
        company = self.statistics.class_documents[self.sample.classes] > 1
        if self.is_new is not None:
            company |= self.is_new
        return self._of(np.flatnonzero(company)) if not company.all() else self

    def _of(self, documents: NDArray[Any]) -> LeaveOneOut:
        is_new = self.is_new[documents] if self.is_new is not None else None
        lengths, n_hapax = self.lengths[documents], self.n_hapax[documents]
        return replace(self, sample=self.sample.take(documents), lengths=lengths, n_hapax=n_hapax, is_new=is_new)

    def search(self) -> tuple[float, Calibration]:
        """The smoothing with the least calibrated log-loss on (at most SEARCH_SIZE of) the documents, calibrated so."""
        searched = self._of(np.arange(min(len(self.sample), SEARCH_SIZE)))
        losses: dict[float, tuple[float, Calibration]] = {}
        near: Calibration | None = None
        lowest, highest = DECADES
        exponents = np.arange(lowest, highest + 1, REFINEMENTS[0]).tolist()
        for step in REFINEMENTS:
            untried = [exponent for exponent in exponents if exponent not in losses]
            if untried:
                smoothings = [10.0**exponent for exponent in untried]
                tried = zip(searched.scores(*smoothings), smoothings, strict=True)
                calls = [partial(searched._loss, *each, near) for each in tried]
                losses.update(zip(untried, self.run(calls), strict=True))
            best = min(losses, key=lambda exponent: (losses[exponent][0], -exponent))
            near = losses[best][1]
            exponents = [max(lowest, best - step / 2), min(highest, best + step / 2)]
        return float(10.0**best), losses[best][1]

    def _loss(self, scores: Floats, smoothing: float, near: Calibration | None) -> tuple[float, Calibration]:
        """The calibrated log-loss, and the calibration."""
        scores = self.of_known(scores, smoothing)
        calibration = self._calibration(scores, self.n_known, self.sample.classes, near)
        log_posterior = calibration.log_posterior(scores, self.n_known)
        return float(-log_posterior[np.arange(len(self.sample)), self.sample.classes].mean()), calibration

"""Model search: race candidates, and return the most accurate one, fitted to all documents.

A candidate is a feature set, a weighting and a model. The text is read once for words and pairs of words; single words
are some of the columns. Short texts and texts without spaces are read again, for triples and character n-grams. If the
budget may be too short for pairs, the text is read for words first, and again for pairs if there is time.

Naive Bayes models are estimated by leave-one-out on all documents. Linear models race on growing stratified subsets
(successive halving), estimated by cross-validation; the finalists are fitted to all documents. Then the linear SVM is
tried over the features of the best one, first on the largest subset. Each fit predicts how long the next larger one
will take: none is started that will not finish within the budget, and a linear model that does not is given up.

Source of successive halving: Jamieson, Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
Optimization, 2016.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nbtext.bayes.diagnostics import LeaveOneOutEstimate, Proportion
from nbtext.errors import ConvergenceWarning, ModelError
from nbtext.evaluation.candidates import (
    N_FOLDS,
    Budget,
    Candidate,
    Corpora,
    OutOfTime,
    list_last_candidates,
    take_documents,
)
from nbtext.evaluation.cross_validation import cross_validate
from nbtext.evaluation.tasks import TASKS
from nbtext.features.document_counts import number_contents
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel, TrainedModel, make_trained_model
from nbtext.model.fitting import fit_model
from nbtext.model.training import add_other_estimate

RACE_FOLDS = 3
RACE_SIZES = (256, 1024, 4096)  # documents; the first size tells only how long fits take
NEAR = 1.5  # standard errors of a difference; within them, a candidate stays in the race
CLEAR = 1.0  # the same, by which it must be better than the default, and a linear model than Naive Bayes
FEW = 5.0  # FEW / √n is added: with few documents, the best of many candidates may be best by chance
SEED = 1
FIRST_RATE = 5e-7  # seconds for each entry and class of a linear model, before the first fit; usually half of it


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The estimate of how well a candidate predicts new documents.

    Attributes
    ----------
    metric : str
        `accuracy`, or `micro_f1` of several labels.
    accuracy, log_loss : float
        The value of this metric, and the log-loss in nats. NaN if no label has two documents, so that none can be left
        out.
    n_documents : int
        Number of documents that the candidate was fitted to: those of the last round that it reached.
    n_scored : int
        Number of documents that were predicted by a model without them.
    estimate : str
        How it was estimated.
    seconds : float
        Time of all fits.
    """

    candidate: Candidate
    metric: str
    accuracy: float
    log_loss: float
    n_documents: int
    n_scored: int
    estimate: str
    seconds: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the accuracy (Clopper and Pearson); from 0 to 1 if no document is scored."""
        if self.n_scored == 0:
            return 0.0, 1.0
        return Proportion(round(self.accuracy * self.n_scored), self.n_scored).interval(0.95)


@dataclass(frozen=True, slots=True)
class Search:
    """The results of a search of a corpus of `n_documents`, in the order of the candidates, and its time.

    Attributes
    ----------
    untried : tuple of Candidate
        Those for which there was no time, or that would need too much memory.
    reading_seconds : float
        The part of `seconds` that all readings took.
    """

    results: tuple[CandidateResult, ...]
    best: CandidateResult
    untried: tuple[Candidate, ...]
    n_documents: int
    seconds: float
    reading_seconds: float


def search_model(
    candidates: Sequence[Candidate],
    count: Callable[[FeatureSettings], CorpusCounts],
    budget: Budget,
    *,
    reading_seconds: float = 0.0,
    jobs: int = 1,
) -> tuple[TrainedModel, Search]:
    """Train the most accurate candidate on all documents; return it, and the results of all.

    The first candidate is fitted whatever the budget is. If no candidate is left out for lack of time, the result
    depends on the documents alone.

    Parameters
    ----------
    candidates : sequence of Candidate
        Those of `list_candidates`.
    count : callable
        Reads the corpus, and retains the counts of all documents. It is called once for each reading.
    reading_seconds : float
        A time in which words and pairs are surely read. If the budget is not longer, words are read first.
    jobs : int
        Number of threads.

    Raises
    ------
    InputError
        There are fewer documents than folds.
    """
    corpora = Corpora(candidates, count, budget, reading_seconds)
    search = _Fitter(budget, jobs)
    best = _fit_counting_models([each for each in candidates if not each.is_linear], corpora, search)
    listed = [each for each in candidates if corpora.is_promising(each)]
    if best.fitted.estimate is not None:  # else there is nothing to choose by
        finalists = _race([each for each in listed if each.is_linear], corpora, search)
        linear = None
        for each in finalists:
            corpus = corpora.get(each)
            if corpus is not None and each.is_small(corpus) and search.has_time(each, corpus):
                linear = search.better(linear, search.fit(each, corpus))
        if linear is not None:
            last = list_last_candidates(linear.candidate)
            listed += last
            best = _choose(best, _compare_last(linear, last, corpora, search), corpora, search)
    best_candidate = best.candidate
    counts = best_candidate.retain(corpora.take(best_candidate))
    fitted = best.fitted
    if best_candidate.model_settings != best_candidate.goalless_settings:
        fitted = fit_model(counts, best_candidate.features, best_candidate.model_settings, jobs=jobs)
    fitted = add_other_estimate(fitted, counts, jobs=jobs)
    results = [search.results[each] for each in listed if each in search.results]
    untried = [each for each in listed if each not in search.results]
    return make_trained_model(fitted, counts), Search(
        tuple(results), search.results[best_candidate], tuple(untried), corpora.n_documents,
        budget.elapsed, corpora.seconds,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Fit:
    """A candidate that is fitted to all documents."""

    candidate: Candidate
    fitted: FittedModel
    quality: tuple[float, float]  # accuracy, or micro F1 of several labels, and negative log-loss


class _Fitter:
    """Fits candidates, remembers their results, and predicts from earlier fits how long the next one will take."""

    def __init__(self, budget: Budget, jobs: int) -> None:
        self._budget, self.jobs = budget, jobs
        self._rates: dict[Candidate, float] = {}  # seconds of a unit of work
        self.results: dict[Candidate, CandidateResult] = {}
        self.rounds: dict[Candidate, tuple[int, float]] = {}  # documents and accuracy of the last round of the race

    def has_time(self, candidate: Candidate, corpus: CorpusCounts, n_fits: float = 1.0) -> bool:
        """Return whether a fit will finish. The first one of a candidate is predicted from those of others.

        Goals need a further fit, after the search.
        """
        n_fits += candidate.model_settings != candidate.goalless_settings
        rate = self._rates.get(candidate)
        if rate is None:
            kindred = [rate for each, rate in self._rates.items() if each.is_linear == candidate.is_linear]
            rate = max(kindred, default=FIRST_RATE)
        return self._budget.allows(n_fits * rate * candidate.compute_work(corpus))

    def fit(self, candidate: Candidate, corpus: CorpusCounts, *, folds: int = N_FOLDS) -> _Fit | None:
        """Fit a candidate to a corpus; None if that fails, is not in time, or gives no estimate although others do."""
        settings = candidate.goalless_settings
        if candidate.is_linear:
            settings = replace(settings, folds=folds)
        before = self._budget.elapsed
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fitted = fit_model(corpus, candidate.features, settings, jobs=self.jobs, check=self._budget.check)
        except OutOfTime:
            return None
        except ModelError:
            if not self.results:
                raise
            return None  # such as a subset without any feature that is frequent enough
        seconds = self._budget.elapsed - before
        self._rates[candidate] = seconds / candidate.compute_work(corpus)
        if fitted.estimate is None and self.results:
            return None
        estimate = fitted.estimate or LeaveOneOutEstimate(0, np.nan, np.nan)
        how = f"{folds} folds" if candidate.is_linear else "leave-one-out"
        earlier = self.results[candidate].seconds if candidate in self.results else 0.0
        self.results[candidate] = CandidateResult(
            candidate, TASKS[corpus.task].main, estimate.metric, estimate.log_loss, len(corpus.sample),
            estimate.documents, how, earlier + seconds,
        )  # fmt: skip
        return _Fit(candidate, fitted, (estimate.metric, -estimate.log_loss))

    @staticmethod
    def better(one: _Fit | None, other: _Fit | None) -> _Fit | None:
        """Return the more accurate fit; ties are broken by log-loss, then by order."""
        if one is None or other is None:
            return one or other
        return other if other.quality > one.quality else one


def _fit_counting_models(candidates: Sequence[Candidate], corpora: Corpora, search: _Fitter) -> _Fit:
    """Return the fit of the first candidate, which is the default model, or that of one clearly better."""
    first = best = None
    for each in candidates:
        corpus = corpora.get(each)
        if corpus is not None and (first is None or search.has_time(each, corpus)):
            best = search.better(best, search.fit(each, corpus))
        first = best if first is None else first
    assert best is not None  # the first candidate is fitted whatever the budget is
    assert first is not None
    return best if _is_clear(best.quality[0], first, search) else first


def _race(racing: list[Candidate], corpora: Corpora, search: _Fitter) -> list[Candidate]:
    """Return the linear finalists, the most accurate first. After each round, the better half and near ones stay."""
    for size in RACE_SIZES:
        if 2 * size >= corpora.n_documents:
            break
        fits = []
        for each in racing:
            corpus = corpora.get(each)
            if corpus is not None and each.is_small(corpus):
                part = take_documents(corpus, size)
                if search.has_time(each, part):
                    fits.append(search.fit(each, part, folds=RACE_FOLDS))
        ranked = sorted((fit for fit in fits if fit is not None), key=lambda fit: fit.quality, reverse=True)
        search.rounds |= {fit.candidate: (size, fit.quality[0]) for fit in ranked}
        if size > RACE_SIZES[0]:
            minimum = _near(ranked[0].quality[0], size) if ranked else 0.0
            ranked = [fit for k, fit in enumerate(ranked) if 2 * k < len(ranked) or fit.quality[0] >= minimum]
        racing = [fit.candidate for fit in ranked]
    return racing


def _standard_error(accuracy: float, size: int) -> float:
    """Return the standard error of a difference of accuracies, each measured on so many documents."""
    return math.sqrt(2 * accuracy * (1 - accuracy) / max(1, size))


def _near(maximum: float, size: int) -> float:
    """Return the accuracy from which a candidate may be as good as the best one."""
    return maximum - NEAR * _standard_error(maximum, size)


def _is_clear(accuracy: float, other: _Fit, search: _Fitter) -> bool:
    """Return whether an accuracy, or micro F1, is higher by a standard error (the one-SE rule of Breiman et al. 1984).

    With few documents, the margin is larger: 1.5 standard errors for 100 documents.
    """
    size = max(1, search.results[other.candidate].n_scored)
    margin = (CLEAR + FEW / math.sqrt(size)) * _standard_error(other.quality[0], size)
    return accuracy > other.quality[0] + margin


def _compare_last(linear: _Fit, last: list[Candidate], corpora: Corpora, search: _Fitter) -> _Fit:
    """Return the best of a linear model and the last candidates. Only near ones are fitted to all documents."""
    best = linear
    size, accuracy = search.rounds.get(linear.candidate, (0, 0.0))
    for each in last:
        corpus = corpora.get(each)
        if corpus is None or not search.has_time(each, corpus):
            continue
        if size > RACE_SIZES[0]:
            fit = search.fit(each, take_documents(corpus, size), folds=RACE_FOLDS)
            if fit is None or fit.quality[0] < _near(accuracy, size):
                continue
        best = search.better(best, search.fit(each, corpus)) or best
    return best


def _choose(counting: _Fit, linear: _Fit, corpora: Corpora, search: _Fitter) -> _Fit:
    """Return the more accurate of two finalists.

    The counting model is estimated by leave-one-out. With few documents, a linear model that is clearly better than
    this estimate must also be clearly better than that of the same folds.
    """
    if corpora.n_documents > RACE_SIZES[-1]:  # then chance matters little, and folds take long
        is_better = _is_clear(linear.quality[0], counting, search) or linear.quality > counting.quality
        return linear if is_better else counting
    if not _is_clear(linear.quality[0], counting, search):
        return counting
    candidate = counting.candidate
    corpus = corpora.get(candidate)
    if corpus is None or not search.has_time(candidate, corpus, n_fits=N_FOLDS):
        return linear
    classes = corpus.sample.classes
    contents = np.arange(len(classes)) if candidate.model_settings.is_separate else number_contents(corpus.sample)
    # Documents in a fold with all of their class are omitted, as in the estimates of linear models.
    class_documents = np.bincount(classes, minlength=len(corpus.labels)) if corpora.task == "one" else None
    folds = stratified_folds(classes, N_FOLDS, seed=SEED, contents=contents, class_documents=class_documents)
    settings, task, n_right, n_all = candidate.goalless_settings, TASKS[corpora.task], 0, 0
    for part in cross_validate(corpus, folds, features=candidate.features, model_settings=settings, jobs=search.jobs):
        right, judged = task.count_right(part)
        n_right, n_all = n_right + right, n_all + judged
    n_lone, how = int((folds == NEVER_HELD_OUT).sum()), f"{N_FOLDS} folds"
    accuracy, n_scored = n_right / max(1, n_all - n_lone), len(folds) - n_lone
    if accuracy > counting.quality[0]:
        estimated = replace(search.results[candidate], accuracy=accuracy, n_scored=n_scored, estimate=how)
        search.results[candidate] = estimated
        counting = replace(counting, quality=(accuracy, counting.quality[1]))
    return linear if _is_clear(linear.quality[0], counting, search) else counting

"""Stacking: the weighted sum of the scores of Naive Bayes models and support vector machines over each view.

The weights are fitted by log-loss to scores of documents that a part was not fitted to: leave-one-out scores of Naive
Bayes, and scores of folds of the others. They are at least 0, so that a part that does not help gets no weight. The
sum of linear scores is one linear scorer. All parts of a view have the same features; the inverse document frequency
is in the weights of some.

Wolpert, Stacked Generalization, 1992; Breiman, Stacked Regressions, 1996 (weights >= 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import fit_scaled_temperature
from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.bayes.combination import fit_weights
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import running_sums, split_columns
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.weighting import inverse_document_frequencies
from nbtext.linear.data import Floats, LinearModel, SolverSettings, TrainingData, make_rough
from nbtext.linear.nbsvm import NbSvm
from nbtext.linear.one_vs_rest import OneVsRest

NONE, SMOOTH = "none", "smooth"  # inverse document frequencies
TWO = 2  # labels, of which complement Naive Bayes is the multinomial model
# Naive Bayes models, of which each view has the most accurate one. The smoothing is in units of the mean entry.
CHOICES = (("multinomial", 1.0), ("multinomial", 0.1), ("complement", 0.1))
CHOICE_SIZE = 2048  # documents that they are compared on
LINEAR_PARTS: dict[str, type[OneVsRest]] = {"nbsvm": NbSvm, "svm": OneVsRest}
DEVIATION = 0.5  # of the prior of a weight, relative to its mean
AT_ONCE = 4  # classes whose weights are in memory before those that are too small are left out
DECIMALS = 9  # of a score
MIN_WEIGHT = 3e-4  # of the largest weight of a part; smaller ones are left out
MIN_SHARE = 0.03  # of the weight of all parts, in units of their mean absolute scores; parts with less are left out


class View(NamedTuple):
    """The columns of a view, from `start` on, and the documents over them."""

    name: str
    start: int
    data: TrainingData
    idf: Floats  # (n_features,), scaled so that the mean Σ x² of a document stays


class Fitted(NamedTuple):
    """A part, its view, and its scorer, or of a linear part a rough solution, from which the solver continues."""

    part: Part
    view: View
    start: Any = None


@dataclass(eq=False)
class StackedSolution:
    """The solution of a stack, of which only the parts with a weight are solved, and these last.

    is_converged  whether the solver met its tolerance
    """

    solver: SolverSettings
    is_converged: bool = True


class Stack:
    """The parts over given training data. Only one of them is in memory at a time."""

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        self._data, self._settings, self._jobs = data, settings, jobs
        bounds, names = data.bounds or (0, data.n_features), data.views or ("",)
        self._views = [_make_view(data, *view) for view in zip(names, bounds[:-1], bounds[1:], strict=True)]
        bayes = CHOICES[:1] if data.n_classes == TWO else CHOICES[1:2]
        self._fitted = [Fitted(Part(view.name, *each), view) for view in self._views for each in bayes]
        self._fitted += [Fitted(part, view) for view in self._views for part in self._list_linear(view)]
        self._weigh(np.full(len(self._fitted), 1 / len(self._fitted)))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts with a weight."""
        return tuple(each.part for each in self._fitted)

    def _weigh(self, weights: Floats) -> None:
        pairs = zip(self._fitted, weights.tolist(), strict=True)
        self._fitted = [each._replace(part=replace(each.part, weight=weight)) for each, weight in pairs if weight > 0]

    def _list_linear(self, view: View) -> list[Part]:
        if view.name.startswith("char"):
            listed = ("nbsvm", NONE), ("svm", SMOOTH)
        else:
            listed = ("nbsvm", SMOOTH), ("svm", SMOOTH) if self._data.n_classes == TWO else ("nbsvm", NONE)
        return [Part(view.name, model, C=1.0, idf=idf) for model, idf in listed]

    def _make_problem(self, part: Part, view: View) -> OneVsRest:
        data = view.data
        if part.idf == SMOOTH:
            data = replace(data, values=data.values * view.idf[data.indices])
        return LINEAR_PARTS[part.model](data, self._settings, jobs=self._jobs)

    def solve(self, solver: SolverSettings, start: StackedSolution | None = None) -> StackedSolution:
        """Return what `scorer` solves, when the weights of the parts are known."""
        return StackedSolution(solver)

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: StackedSolution) -> Floats:
        """Fit the weights of the parts to the documents in a fold, and return their scores, (n_held_out, n_classes).

        The scores of a document are held out from the fit of the weights, too: the weights of one half of the documents
        score the other half.
        """
        held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
        classes, half, found = self._data.classes[held_out], len(held_out) // 2, []
        for number, (part, view, _) in enumerate(self._fitted):
            if part.C is None:
                self._fitted[number], scores = self._choose_bayes(view, held_out)
            else:
                problem = self._make_problem(part, view)
                rough = problem.solve(make_rough(solver))
                scores = problem.score_folds(folds, solver, rough)
                self._fitted[number] = Fitted(part, view, rough)
                del problem  # so that only one is in memory
            # differences by rounding would tell equal documents of different labels apart
            found.append(np.round(scores - scores.mean(axis=1, keepdims=True), DECIMALS))
        if self._data.hashes is not None:
            hashes = self._data.hashes[held_out]
            half = int(np.searchsorted(hashes, hashes[half]))
        scores = np.array(found)
        shares, _ = fit_weights(scores, None, classes, half, deviation=DEVIATION)
        shares *= np.abs(scores).mean(axis=(1, 2))
        kept, weights = shares >= MIN_SHARE * shares.sum(), np.zeros(len(shares))
        weights[kept], held = fit_weights(scores[kept], None, classes, half, deviation=DEVIATION)
        self._weigh(weights)
        return held

    def _choose_bayes(self, view: View, held_out: NDArray[np.int64]) -> tuple[Fitted, Floats]:
        """Return the Naive Bayes model of a view with the highest leave-one-out accuracy, and its scores."""
        data, documents = view.data, _documents(view.data)
        tried = [Part(view.name, *each) for each in CHOICES[: 1 if data.n_classes == TWO else None]]
        statistics = count_classes(documents, data.n_features, data.n_classes)
        corpus = LeaveOneOut(statistics, documents, None, EVENT_MODELS["multinomial"], "uniform", self._jobs)
        corpus = corpus.take(held_out)
        best, first = tried[0], corpus.first(CHOICE_SIZE)
        if len(tried) > 1:
            best = max(tried, key=lambda part: _measure(_leave_out(first, part, data), first.documents.classes))
        return Fitted(best, view, _compile(best, data, statistics)), _leave_out(corpus, best, data)

    def scorer(self, solution: StackedSolution) -> LinearScorer:
        """Return the scorer of the weighted sum of all parts."""
        from scipy.sparse import csr_array, vstack

        n_classes = self._data.n_classes
        bias, defaults, deltas = np.zeros(n_classes), np.zeros((len(self._views), n_classes)), []
        for place, view in enumerate(self._views):
            total = csr_array((view.data.n_features, n_classes))
            for part, own_view, start in self._fitted:
                if own_view is not view:
                    continue
                for own in self._solve(part, view, start, solution):
                    bias += part.weight * own.bias
                    defaults[place] += part.weight * own.default
                    values = part.weight * own.deltas
                    if part.idf == SMOOTH:
                        values *= np.repeat(view.idf, np.diff(own.indptr))
                    kept = np.abs(values) >= MIN_WEIGHT * np.abs(values).max(initial=0)
                    indptr = running_sums(kept)[own.indptr]
                    more = csr_array((values[kept], own.classes[kept], indptr), shape=total.shape)
                    del own, values, kept, indptr  # before the sum is allocated, and the next classes are solved
                    total = total + more
            deltas.append(total)
        joined = vstack(deltas, format="csr") if len(deltas) > 1 else deltas[0]
        bounds = None if len(self._views) == 1 else np.array(self._data.bounds, dtype=np.int64)
        return LinearScorer(
            bias, defaults.ravel(), joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data,
            bounds=bounds,
        )  # fmt: skip

    def _solve(self, part: Part, view: View, start: Any, solution: StackedSolution) -> Iterator[LinearScorer]:
        """Yield scorers whose sum is that of a part; those of a linear part are of a few classes each."""
        if part.C is None:
            yield start or _compile(part, view.data)
            return
        problem, n_classes = self._make_problem(part, view), view.data.n_classes
        classes = range(1 if n_classes <= TWO else 0, n_classes)  # of two labels, one is fitted against the other
        for first in range(0, len(classes), AT_ONCE):
            solved = problem.solve(solution.solver, start, classes=classes[first : first + AT_ONCE])
            solution.is_converged &= solved.is_converged
            yield problem.scorer(solved)


def _make_view(data: TrainingData, name: str, start: int, stop: int) -> View:
    if stop - start < data.n_features:
        ((places, indptr, indices),) = split_columns(data.indptr, data.indices, np.array([start, stop]))
        data = replace(data, indptr=indptr, indices=indices, values=data.values[places], n_features=stop - start)
    data = replace(data, views=(), bounds=None)
    frequencies = np.bincount(data.indices, minlength=data.n_features)
    idf = inverse_document_frequencies(frequencies, n_documents=len(data), idf=SMOOTH)
    squares = np.square(data.values)
    scale = np.sqrt(squares.sum() / (squares @ np.square(idf[data.indices]) or 1.0))
    return View(name, start, data, idf * scale)


def _documents(data: TrainingData) -> DocumentCounts:
    hashes = np.arange(len(data), dtype=np.uint64) if data.hashes is None else data.hashes
    return DocumentCounts(data.indptr, data.indices, data.values, data.classes, hashes)


def _compile(part: Part, data: TrainingData, statistics: ClassStatistics | None = None) -> LinearScorer:
    """Return the scorer of a Naive Bayes part."""
    statistics = statistics or count_classes(_documents(data), data.n_features, data.n_classes)
    scorer: LinearScorer = EVENT_MODELS[part.model].compile(statistics, smoothing=_smooth(part, data))
    return scorer


def _smooth(part: Part, data: TrainingData) -> float:
    """Return the pseudo-count of a Naive Bayes part."""
    return part.smoothing * float(data.values.mean() if len(data.values) else 1.0)


def _leave_out(corpus: LeaveOneOut, part: Part, data: TrainingData) -> Floats:
    """Return leave-one-out scores of a Naive Bayes part, without the features that no other document has."""
    record, smoothing, left_out = EVENT_MODELS[part.model], _smooth(part, data), corpus.left_out
    (scores,) = replace(corpus, model=record).scores(smoothing)
    documents, frequencies = left_out.documents, corpus.statistics.document_frequencies
    is_unseen = frequencies[documents.indices] <= left_out.all_copies[documents.entry_documents]
    unseen = documents.sum_entries(documents.counts * is_unseen)
    assert record.out_of_vocabulary is not None  # for the types
    weights = record.out_of_vocabulary(corpus.statistics, left_out, smoothing=smoothing)
    return np.asarray(scores - (unseen[:, None] * weights)[corpus.rows])


def _measure(scores: Floats, classes: NDArray[np.int32]) -> float:
    """Return the accuracy of scores after they are calibrated, with offsets of the labels."""
    log_p = fit_scaled_temperature(scores, None, classes).log_posterior(scores, None)
    log_p += fit_prior_adjustment(log_p, classes, start=np.zeros(log_p.shape[1]))
    return float((log_p.argmax(axis=1) == classes).mean())


STACKED = LinearModel(
    problem=Stack, options=(), is_stacked=True,
    searched=(("pairs, characters", "binary-l2", 1.0), ("pairs", "binary-l2", 1.0), ("pairs", "log-l2", 1.0)),
)  # fmt: skip

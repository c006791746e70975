"""Stacking: the weighted sum of the scores of Naive Bayes models and support vector machines over each view.

The weights are fitted by log-loss to scores of documents that a part was not fitted to: leave-one-out scores of Naive
Bayes, and scores of folds of the others. They are at least 0, so that a part that does not help gets no weight. The
sum of linear scores is one linear scorer. All parts of a view have the same features; the inverse document frequency
is in the weights of some.

Wolpert, Stacked Generalization, 1992; Breiman, Stacked Regressions, 1996 (weights >= 0).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.combination import fit_weights
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import LinearSettings
from nbtext.features.csr import split_columns
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.folds import NEVER_HELD_OUT
from nbtext.features.weighting import inverse_document_frequencies
from nbtext.linear.data import Floats, LinearModel, SolverSettings, TrainingData
from nbtext.linear.nbsvm import NbSvm
from nbtext.linear.one_vs_rest import OneVsRest

NONE, SMOOTH = "none", "smooth"  # inverse document frequencies
# Naive Bayes, and its smoothing in units of the mean value of an entry. With two labels, complement is multinomial.
SMOOTHINGS = {"multinomial": 0.1, "complement": 1.0}
SMOOTHING_OF_TWO = 1.0
PROBLEMS = {"nbsvm": NbSvm, "svm": OneVsRest}
LINEAR_PARTS = (("nbsvm", NONE), ("nbsvm", SMOOTH), ("svm", SMOOTH))
MIN_SHARE = 0.03  # of the weight of all parts, in units of their mean absolute scores; parts with less are left out


class View(NamedTuple):
    """The columns of a view, from `start` on, and the documents over them."""

    start: int
    data: TrainingData
    idf: Floats  # (n_features,), scaled so that the mean Σ x² of a document stays


class StackedSolution(NamedTuple):
    """The solutions of the linear parts, by number of the part."""

    of_parts: dict[int, Any]
    is_converged: bool


class Stack:
    """The problems of all parts over given training data. Each solution has its own part's form."""

    def __init__(self, data: TrainingData, settings: LinearSettings, *, jobs: int = 1) -> None:
        self._data, self._settings, self._jobs = data, settings, jobs
        self._views = [_make_view(data, *bounds) for bounds in pairwise(data.bounds or (0, data.n_features))]
        self._places: list[int] = []  # the view of each part
        parts: list[Part] = []
        self._problems: dict[int, OneVsRest] = {}  # of the linear parts, by number
        smoothings = SMOOTHINGS if data.n_classes > 2 else {"multinomial": SMOOTHING_OF_TWO}
        names = data.views or ("",)
        for place, (name, view) in enumerate(zip(names, self._views, strict=True)):
            own = [Part(name, model, smoothing) for model, smoothing in smoothings.items()]
            own += [Part(name, model, C=1.0, idf=idf) for model, idf in LINEAR_PARTS]
            for part in own:
                if part.C is not None:
                    scaled = view.data if part.idf == NONE else _scale(view)
                    self._problems[len(parts)] = PROBLEMS[part.model](scaled, settings, jobs=jobs)
                parts.append(part)
                self._places.append(place)
        self.parts = tuple(replace(part, weight=1 / len(parts)) for part in parts)

    def solve(self, solver: SolverSettings, start: StackedSolution | None = None) -> StackedSolution:
        """Return the solutions of all linear parts for all documents."""
        found = {
            number: problem.solve(solver, None if start is None else start.of_parts[number])
            for number, problem in self._problems.items()
        }
        return StackedSolution(found, all(each.is_converged for each in found.values()))

    def score_folds(self, folds: NDArray[np.int32], solver: SolverSettings, start: StackedSolution) -> Floats:
        """Fit the weights of the parts to the documents in a fold, and return their scores, (n_held_out, n_classes).

        The scores of a document are held out from the fit of the weights, too: the weights of one half of the documents
        score the other half.
        """
        held_out = np.flatnonzero(folds != NEVER_HELD_OUT)
        scores = np.empty((len(self.parts), len(held_out), self._data.n_classes))
        for number, (place, part) in enumerate(zip(self._places, self.parts, strict=True)):
            if part.C is None:
                scores[number] = self._leave_out(self._views[place].data, part, held_out)
            else:
                scores[number] = self._problems[number].score_folds(folds, solver, start.of_parts[number])
        scores -= scores.mean(axis=2, keepdims=True)
        classes, half = self._data.classes[held_out], len(held_out) // 2
        if self._data.hashes is not None:
            hashes = self._data.hashes[held_out]
            half = int(np.searchsorted(hashes, hashes[half]))
        weights, found = fit_weights(scores, None, classes, half)
        shares = weights * np.abs(scores).mean(axis=(1, 2))
        kept = np.flatnonzero(shares >= MIN_SHARE * shares.sum())
        if len(kept) < len(weights):
            weights = np.zeros(len(weights))
            weights[kept], found = fit_weights(scores[kept], None, classes, half)
        self.parts = tuple(
            replace(part, weight=weight) for part, weight in zip(self.parts, weights.tolist(), strict=True)
        )
        return found

    def _leave_out(self, data: TrainingData, part: Part, held_out: NDArray[np.int64]) -> Floats:
        """Return leave-one-out scores of a Naive Bayes part, without the features that no other document has."""
        statistics, smoothing = _count(data), _smoothing(data, part)
        record = EVENT_MODELS[part.model]
        corpus = LeaveOneOut(statistics, _documents(data), None, record, "uniform", self._jobs)
        corpus = corpus.take(held_out)
        (scores,) = corpus.scores(smoothing)
        documents, left_out = corpus.left_out.documents, corpus.left_out
        is_unseen = statistics.document_frequencies[documents.indices] <= left_out.all_copies[documents.entry_documents]
        unseen = documents.sum_entries(documents.counts * is_unseen)
        assert record.out_of_vocabulary is not None  # for the types
        weights = record.out_of_vocabulary(statistics, left_out, smoothing=smoothing)
        return np.asarray(scores - (unseen[:, None] * weights)[corpus.rows])

    def scorer(self, solution: StackedSolution) -> LinearScorer:
        """Return the scorer of the weighted sum of all parts."""
        from scipy.sparse import csr_array, vstack

        n_classes = self._data.n_classes
        bias, defaults, deltas = np.zeros(n_classes), np.zeros((len(self._views), n_classes)), []
        for place, view in enumerate(self._views):
            total = csr_array((view.data.n_features, n_classes))
            for number, part in enumerate(self.parts):
                if self._places[number] != place or part.weight == 0:
                    continue
                if part.C is None:
                    own = EVENT_MODELS[part.model].compile(_count(view.data), smoothing=_smoothing(view.data, part))
                    factors = None
                else:
                    own = self._problems[number].scorer(solution.of_parts.pop(number))
                    factors = None if part.idf == NONE else view.idf
                bias += part.weight * own.bias
                defaults[place] += part.weight * own.default
                values = part.weight * own.deltas
                if factors is not None:
                    values *= np.repeat(factors, np.diff(own.indptr))
                total = total + csr_array((values, own.classes, own.indptr), shape=total.shape)
            deltas.append(total)
        joined = vstack(deltas, format="csr") if len(deltas) > 1 else deltas[0]
        bounds = None if len(self._views) == 1 else np.array(self._data.bounds, dtype=np.int64)
        return LinearScorer(
            bias, defaults.ravel(), joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data,
            bounds=bounds,
        )  # fmt: skip


def _make_view(data: TrainingData, start: int, stop: int) -> View:
    ((places, indptr, indices),) = split_columns(data.indptr, data.indices, np.array([start, stop]))
    values, n_features = data.values[places], stop - start
    own = replace(data, indptr=indptr, indices=indices, values=values, n_features=n_features, views=(), bounds=None)
    frequencies = np.bincount(indices, minlength=n_features)
    idf = inverse_document_frequencies(frequencies, n_documents=len(data), idf=SMOOTH)
    squares = float(np.square(values).sum()), float(np.square(values * idf[indices]).sum())
    return View(start, own, idf * np.sqrt(squares[0] / (squares[1] or 1.0)))


def _scale(view: View) -> TrainingData:
    return replace(view.data, values=view.data.values * view.idf[view.data.indices])


def _documents(data: TrainingData) -> DocumentCounts:
    hashes = np.arange(len(data), dtype=np.uint64) if data.hashes is None else data.hashes
    return DocumentCounts(data.indptr, data.indices, data.values, data.classes, hashes)


def _count(data: TrainingData) -> Any:
    return count_classes(_documents(data), data.n_features, data.n_classes)


def _smoothing(data: TrainingData, part: Part) -> float:
    return part.smoothing * float(data.values.mean() if len(data.values) else 1.0)


STACKED = LinearModel(problem=Stack, options=(), is_stacked=True)

"""Stacking: the weighted sum of the scores of Naive Bayes models and support vector machines over
each view.

The weights are fitted by log-loss to scores of documents that a part was not fitted to:
leave-one-out scores of Naive Bayes, and scores of folds of the others. They are at least 0, so that
a part that does not help gets no weight. The sum of linear scores is one linear scorer. All parts
of a view have the same features; the inverse document frequency is in the weights of some.

Wolpert, Stacked Generalization, 1992; Breiman, Stacked Regressions, 1996 (weights >= 0).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from nbtext.arrays import Floats, Floats32, Integers, Integers32
from nbtext.bayes.calibration import fit_scaled_temperature
from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.combination import DEVIATION, Weights, fit_weights
from nbtext.bayes.decision_offsets import fit_prior_adjustment
from nbtext.bayes.diagnostics import Part
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import VECTORS, LinearSettings
from nbtext.features.document_table import DocumentTable
from nbtext.features.folds import NEVER_HELD_OUT, list_held_out
from nbtext.features.weighting import inverse_document_frequencies
from nbtext.linear.data import (
    LabelWeights,
    LinearModel,
    SolverSettings,
    TrainingData,
    check_squares,
    make_rough,
    sum_columns,
)
from nbtext.linear.nbsvm import NbSvm
from nbtext.linear.one_vs_rest import OneVsRest, compile_weights
from nbtext.linear.vectors import VARIANCE, VectorRegression
from nbtext.numerics import dot
from nbtext.output import note_phase
from nbtext.parallel import return_memory

SMOOTH = "smooth"  # the inverse document frequency of a part
TWO = 2  # labels, of which complement Naive Bayes is the multinomial model
# Naive Bayes models, of which each view has the most accurate one, and their smoothing in units of
# the mean entry. With two labels, complement Naive Bayes is the multinomial model, and the first
# one stands for both.
BAYES = (("multinomial", 0.1), ("complement", 0.1))
# the same with word vectors, which are for few documents
SMOOTHED = (
    ("dirichlet", 1.0),
    ("dirichlet", 3.0),
    ("dirichlet", 10.0),
    ("complement", 0.3),
    ("complement", 1.0),
)
LINEAR_PARTS: dict[str, type[OneVsRest]] = {"nbsvm": NbSvm, "svm": OneVsRest}
MIN_WEIGHT = 3e-4  # of the largest weight of a part; smaller ones are left out
# Inverse regularization strength of NB-SVM over characters, whose n-grams overlap. With 0.5, not 1,
# the log-loss of training folds is 0.683, not 0.689, on messages in Thai, and 0.335, not 0.336, on
# Reuters; 0.325, not 0.323, on short questions.
C_OF_CHARACTERS = 0.5
# of the weight of all parts, in units of their mean absolute scores; parts with less are left out
MIN_SHARE = 0.1
# The weight of the regression on word vectors that is expected with few documents, in relation to
# each other part, and the deviation of the prior, unless equal ones have a clearly lower log-loss.
# Beside logistic regression on mean vectors, the accuracy of six kinds of texts of two labels, on
# other training documents, with 5, 10 and 20 for each label: +0.004, +0.006, +0.007; with equal
# ones -0.009, -0.004, -0.001; with these in any case +0.005, +0.008, +0.012. But if noise stands in
# the place of the vectors, the accuracy is then 0.56, 0.58 and 0.61; so it is 0.61, 0.64, 0.75, and
# with equal ones 0.65, 0.71, 0.76.
VECTORS_EXPECTED = 5.0
VECTORS_DEVIATION = 0.25


class PartColumns(NamedTuple):
    """Columns of a view, (n_features,), all of them or those of single words, and the documents
    over them.
    """

    name: str
    columns: Integers32
    data: TrainingData
    idf: Floats  # (n_features,), scaled so that the mean Σ x² of a document stays


class Fitted(NamedTuple):
    """A part, its view, and of a linear part a rough solution, from which the solver continues."""

    part: Part
    view: PartColumns
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
        self._data = data
        self._settings = settings
        self._jobs = jobs
        check_squares(data.table.counts)
        self._bounds = data.bounds or (0, data.n_features)
        self._fitted: list[Fitted] = []
        columns = np.arange(data.n_features, dtype=np.int32)
        self._regression: VectorRegression | None = None
        if data.vectors is not None:
            # smoothing is over the words that a document has
            columns = columns[sum_columns(data.table.indices, None, data.n_features) > 0]
            self._regression = VectorRegression(data, data.vectors)
        for name, start, stop in zip(
            data.views or ("",), self._bounds[:-1], self._bounds[1:], strict=True
        ):
            own = columns[slice(*np.searchsorted(columns, (start, stop)))]
            whole = of_words = _make_view(data, name, own)
            bayes = Part(name, *BAYES[0])  # until one is chosen
            words = (
                np.zeros(0, np.int64) if data.words is None or data.n_classes == TWO else data.words
            )
            words = np.intersect1d(words, own)
            if len(words):
                of_words = _make_view(data, name, words.astype(np.int32))
            for part in [bayes, *self._list_linear(name, has_words=len(words) > 0)]:
                self._fitted.append(Fitted(part, of_words if part.is_of_words else whole))
        if self._regression is not None:
            assert data.vectors is not None  # which the regression is of
            first = int(data.vectors.columns[0])
            name = data.views[bisect_right(self._bounds, first) - 1] if data.views else ""
            self._fitted.append(Fitted(Part(name, VECTORS, C=VARIANCE), self._fitted[0].view))
        # before weights are fitted; without folds, the regression needs the fewest documents
        n_parts = len(self._fitted)
        weights = [1 / n_parts] * n_parts
        if self._regression is not None:
            weights = [0.0] * (n_parts - 1) + [1.0]
        self.weigh(weights)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts with a weight."""
        return tuple(each.part for each in self._fitted if each.part.weight > 0)

    def weigh(self, weights: Sequence[float]) -> None:
        """Set the weight of each part; those without one are left out of the scorer."""
        self._fitted = [
            each._replace(part=replace(each.part, weight=weight))
            for each, weight in zip(self._fitted, weights, strict=True)
        ]

    def _list_linear(self, name: str, *, has_words: bool) -> list[Part]:
        if name.startswith("char"):
            return [Part(name, "nbsvm", C=C_OF_CHARACTERS), Part(name, "svm", C=1.0, idf=SMOOTH)]
        svm = Part(name, "svm", C=1.0, idf=SMOOTH, is_of_words=has_words)
        if self._data.n_classes == TWO:
            return [Part(name, "nbsvm", C=1.0, idf=SMOOTH), svm]
        # Characters have what this part adds: log-loss 0.334, not 0.335, on Reuters (training
        # folds) without it. If there are none, it is 0.346 with it, and not 0.353, and 0.232, not
        # 0.235, on 20 Newsgroups.
        alone = Part(name, "nbsvm", C=1.0, idf=SMOOTH, is_of_words=has_words)
        return [Part(name, "nbsvm", C=1.0), svm, *([] if self._data.views else [alone])]

    def _make_problem(self, part: Part, view: PartColumns) -> OneVsRest:
        return_memory()  # of the parts before
        data = replace(view.data, factors=view.idf) if part.idf == SMOOTH else view.data
        return LINEAR_PARTS[part.model](data, self._settings, jobs=self._jobs)

    def solve(
        self, solver: SolverSettings, start: StackedSolution | None = None
    ) -> StackedSolution:
        """Return what `scorer` solves, when the weights of the parts are known."""
        return StackedSolution(solver)

    def score_folds(
        self, folds: Integers32, solver: SolverSettings, start: StackedSolution
    ) -> Floats:
        """Fit the weights of the parts to the documents in a fold, and return their scores,
        (n_held_out, n_classes).

        The scores of a document are held out from the fit of the weights, too: the weights of one
        half of the documents score the other half.
        """
        held_out = list_held_out(folds)
        scores = self.score_parts(folds, solver)
        judged = JudgedDocuments.of(self._data.table, scores, None, held_out)
        found = _fit_shares(judged, np.ones(len(scores)), DEVIATION)
        if self._regression is not None:
            expected = np.append(np.ones(len(scores) - 1), VECTORS_EXPECTED)
            other = _fit_shares(judged, expected, VECTORS_DEVIATION)
            if not _pays(judged, found.held_out, other.held_out):
                found = other
        self.weigh(found.weights.tolist())
        return found.held_out

    def score_parts(self, folds: Integers32, solver: SolverSettings) -> Floats:
        """Choose the Naive Bayes model of each view, and return the scores of each part.

        The shape is (n_parts, n_held_out, n_classes). The part is not fitted to a document that it
        scores.
        """
        held_out = list_held_out(folds)
        found = []
        for number, (part, view, _) in enumerate(self._fitted):
            note_phase("part %d of %d", number + 1, len(self._fitted))
            chosen = part
            rough = None
            if part.C is None:
                chosen, scores = self._choose_bayes(view, held_out)
            else:
                own = solver._replace(C=part.C)
                problem: Any = self._regression
                if part.model != VECTORS:
                    problem = self._make_problem(part, view)
                else:
                    problem.weigh_names(folds, own)
                rough = problem.solve(make_rough(own))
                scores = problem.score_folds(folds, own, rough)
                del problem  # so that only one is in memory
            self._fitted[number] = Fitted(chosen, view, rough)
            found.append(scores)
        return np.array(found)

    def _choose_bayes(self, view: PartColumns, held_out: Integers) -> tuple[Part, Floats]:
        """Return the Naive Bayes model of a view with the highest leave-one-out accuracy, and its
        scores.

        Features that no other document has are left out of the scores, (n_held_out, n_classes).
        """
        documents = view.data.table
        statistics = count_classes(documents, view.data.n_features, view.data.n_classes)
        corpus = LeaveOneOut(
            statistics, documents, None, EVENT_MODELS["multinomial"], "uniform", self._jobs
        )
        corpus = corpus.take(held_out)
        found = []
        left_out = corpus.left_out
        unseen = left_out.count_unseen(statistics.document_frequencies)[:, None]
        candidates = BAYES if self._regression is None else (*BAYES, *SMOOTHED)
        for name, smoothing in (
            candidates[:1]
            if view.data.n_classes == TWO and self._regression is None
            else candidates
        ):
            model = EVENT_MODELS[name]
            part = Part(view.name, name, smoothing)
            pseudo_count = _scale(part, view.data)
            (scores,) = replace(corpus, model=model).scores(pseudo_count)
            assert model.out_of_vocabulary is not None  # for the types
            weights = model.out_of_vocabulary(statistics, left_out, smoothing=pseudo_count)
            scores -= unseen * weights
            found.append((_measure(scores, corpus.documents), part, scores))
        _, best, scores = max(found, key=itemgetter(0))
        return best, scores

    def scorer(self, solution: StackedSolution) -> LinearScorer:
        """Return the scorer of the weighted sum of all parts."""
        data = self._data
        # without the regression, further words have no weight
        is_used = any(each.part.model == VECTORS for each in self._fitted)
        vectors = data.vectors if is_used else None
        places = np.arange(data.n_features) if vectors is None else vectors.places
        bounds = np.array(self._bounds)
        if vectors is not None:
            bounds = np.array(vectors.bounds or (0, len(places)))
        bias = np.zeros(data.n_classes)
        defaults = np.zeros((len(self._bounds) - 1, data.n_classes))
        # of the parts
        weights: list[list[tuple[Integers32, Floats32]]] = [[] for _ in bias]
        self._fitted = [each for each in self._fitted if each.part.weight > 0]
        used_columns = [each.view.columns for each in self._fitted]
        while self._fitted:
            if self._fitted[0].part.model == VECTORS:
                bias += self._add_vectors(self._fitted.pop(0), solution, weights)
                continue
            default, solved = self._solve(self._fitted[0], solution)
            part, view, _ = self._fitted.pop(0)
            defaults[data.views.index(view.name) if view.name else 0] += part.weight * default
            factors = np.full(len(view.columns), part.weight) * (
                view.idf if part.idf == SMOOTH else 1.0
            )
            while solved:  # so that each is freed
                own_class, own_bias, columns, values = solved.pop()
                bias[own_class] += part.weight * own_bias
                weights[own_class].append(
                    (view.columns[columns], (values * factors[columns]).astype(np.float32))
                )
        joined = []
        for own_class, parts in enumerate(weights):
            total = np.zeros(len(places))
            if vectors is not None:  # words that no document has get no weight of Naive Bayes
                total -= np.repeat(defaults[:, own_class], np.diff(bounds))
                for columns in used_columns:
                    total[places[columns]] = 0
            while parts:
                columns, own = parts.pop()
                total[places[columns]] += own
            used = np.flatnonzero(total).astype(np.int32)
            joined.append(LabelWeights(own_class, float(bias[own_class]), used, total[used]))
        scorer = compile_weights(joined, len(places), data.n_classes)
        return replace(
            scorer, default=defaults.ravel(), bounds=None if len(defaults) == 1 else bounds
        )

    def _add_vectors(
        self,
        fitted: Fitted,
        solution: StackedSolution,
        weights: list[list[tuple[Integers32, Floats32]]],
    ) -> Floats:
        """Add the weights of the regression on word vectors to those of each class; return its bias
        in each class.
        """
        regression = self._regression
        vectors = self._data.vectors
        assert regression is not None
        assert vectors is not None
        if fitted.start is None:
            regression.weigh_names(np.full(len(self._data), NEVER_HELD_OUT), solution.solver)
        found = regression.solve(solution.solver, fitted.start)
        solution.is_converged &= found.is_converged
        further = np.arange(self._data.n_features, len(vectors.places), dtype=np.int32)
        columns = np.append(vectors.columns, further)
        for own_class, parts in enumerate(weights):
            values = fitted.part.weight * regression.weigh(found, own_class)
            parts.append((columns, values.astype(np.float32)))
        weight = fitted.part.weight
        return np.array([weight * regression.bias(found, k) for k in range(len(weights))])

    def _solve(
        self, fitted: Fitted, solution: StackedSolution
    ) -> tuple[Floats | float, list[LabelWeights]]:
        """Return the weights of a part: those that all features of its view have by default, and
        the others.
        """
        part, view, start = fitted
        if part.C is None:
            scorer = _compile(part, view.data)
            return scorer.default, _split(scorer)
        solver = solution.solver._replace(C=part.C, min_weight=MIN_WEIGHT)
        solved = self._make_problem(part, view).solve(solver, start)
        solution.is_converged &= solved.is_converged
        return 0.0, solved.weights()


def _make_view(data: TrainingData, name: str, columns: Integers32) -> PartColumns:
    n_features = len(columns)
    if n_features < data.n_features:
        own = data.table.restrict(columns.astype(np.int64), data.n_features)
        data = replace(data, documents=own, n_features=n_features)
    data = replace(data, views=(), bounds=None, words=None)
    documents = data.table
    frequencies = sum_columns(documents.indices, None, n_features).astype(np.int64)
    idf = inverse_document_frequencies(frequencies, n_documents=len(data), idf=SMOOTH)
    squares = sum_columns(documents.indices, documents.counts, n_features, power=2)
    return PartColumns(
        name, columns, data, idf * np.sqrt(squares.sum() / (dot(squares, np.square(idf)) or 1.0))
    )


def _compile(part: Part, data: TrainingData) -> LinearScorer:
    """Return the scorer of a Naive Bayes part."""
    statistics = count_classes(data.table, data.n_features, data.n_classes)
    scorer: LinearScorer = EVENT_MODELS[part.model].compile(
        statistics, smoothing=_scale(part, data)
    )
    return scorer


def _scale(part: Part, data: TrainingData) -> float:
    """Return the smoothing of a part for the event model: `Part.smoothing` is in units of the mean
    entry, but for Dirichlet smoothing.
    """
    if part.model == "dirichlet":
        return part.smoothing
    values = data.table.counts
    return part.smoothing * float(values.mean() if len(values) else 1.0)


def _split(scorer: LinearScorer) -> list[LabelWeights]:
    """Return the weights of each class, without those that all features have by default."""
    features = np.repeat(np.arange(scorer.n_features, dtype=np.int32), np.diff(scorer.indptr))
    order = np.argsort(scorer.classes, kind="stable")
    n_classes = len(scorer.bias)
    parts = np.split(order, np.searchsorted(scorer.classes[order], np.arange(1, n_classes)))
    return [
        LabelWeights(own_class, float(scorer.bias[own_class]), features[own], scorer.deltas[own])
        for own_class, own in enumerate(parts)
    ]


def _measure(scores: Floats, documents: DocumentTable) -> float:
    """Return the accuracy of scores after they are calibrated, with offsets of the labels."""
    judged = JudgedDocuments.of(documents, scores, None)
    judged = judged.calibrate(fit_scaled_temperature(judged).log_posterior)
    log_p = judged.scores + fit_prior_adjustment(judged)
    return judged.mean(log_p.argmax(axis=1) == judged.classes)


def _fit_shares(judged: JudgedDocuments, expected: Floats, deviation: float) -> Weights:
    """Fit the weights of all parts.

    The part with the smallest share is left out as long as it is too small. See `fit_weights`.
    """
    scores = judged.scores
    kept = np.arange(len(scores))
    units = np.abs(scores - scores.mean(axis=2, keepdims=True)).mean(axis=(1, 2))
    while True:
        found = fit_weights(
            judged.with_scores(scores[kept]), expected=expected[kept], deviation=deviation
        )
        shares = found.weights * units[kept]
        if shares.min() >= MIN_SHARE * shares.sum():
            weights = np.zeros(len(scores))
            weights[kept] = found.weights
            return found._replace(weights=weights)
        kept = np.delete(kept, shares.argmin() if shares.all() else np.flatnonzero(shares == 0))


def _pays(judged: JudgedDocuments, scores: Floats, others: Floats) -> bool:
    """Return whether scores have a lower log-loss than others, by more than the standard error of
    the difference.
    """
    logs = []
    for each in (scores, others):
        scored = judged.with_scores(each)
        logs.append(scored.calibrate(fit_scaled_temperature(scored).log_posterior).own)
    gains = logs[0] - logs[1]
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


STACKED_VIEWS = LinearModel(
    problem=Stack,
    options=(),
    is_stacked=True,
    searched=(
        ("pairs, characters", "binary-l2", 1.0),
        ("pairs, 4-5 characters", "binary-l2", 1.0),
        ("pairs, 4-5 characters", "log-l2", 1.0),
        ("pairs", "binary-l2", 1.0),
        ("pairs", "log-l2", 1.0),
    ),
)

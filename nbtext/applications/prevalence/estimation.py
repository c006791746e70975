"""The share of each label among many unlabeled documents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.applications.prevalence.drift import WordSums
from nbtext.applications.prevalence.shares import (
    PosteriorSums,
    count_predictions,
    is_measured,
)
from nbtext.arrays import Floats, Integers
from nbtext.bayes.prevalence import MAX_CLASSES, MeanPosteriors, Prevalence
from nbtext.documents.batch import Batch
from nbtext.errors import InputError, ModelError, SettingsError
from nbtext.features.analyzer import refuse_long_texts
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import Predictor
from nbtext.model.sklearn_compat import text_batch
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches

if TYPE_CHECKING:
    from nbtext.documents.source import Source


N_DRIFTED = 5  # features that are named
TEXTS_AT_ONCE = 512
MAX_GROUPS = 1000  # each has 500 resamples of each label, and sums of its features


class _Counted(NamedTuple):
    """The documents of a batch with the weights of their features, and what divides their
    scores.
    """

    documents: DocumentCounts
    temperatures: Floats


class _Group(NamedTuple):
    """Sums over the documents of a group.

    predicted  (n_labels,), the number of predictions of each label
    right      (n_labels,), the sum of their probabilities
    """

    sums: PosteriorSums
    words: WordSums
    predicted: Integers
    right: Floats


class _Estimator:
    """Estimates the shares of labels among documents that are added batch by batch, for each group
    of them.
    """

    def __init__(self, model: TrainedModel) -> None:
        check_prevalence(model.fitted)
        self._model = model
        self._fitted = model.fitted
        self._groups: dict[str, _Group] = {}
        self._predictor = Predictor(model.fitted)
        # of labels that exclude others
        self._compares_words = isinstance(self._fitted.task.posteriors, MeanPosteriors)

    def predict(self, batch: Batch) -> tuple[Predictions, _Counted | None, list[str] | None]:
        """Return the predictions of a batch, its features if words are compared, and its groups; in
        any thread.
        """
        if not self._compares_words:
            return self._predictor.predict_batch(batch), None, batch.groups
        refuse_long_texts(batch, self._fitted.feature_settings)
        documents = self._predictor.count(batch.features)
        scores, weights = self._predictor.score_rows(documents)
        scaling = self._fitted.calibration.temperature
        temperatures = (
            np.ones(len(batch)) if scaling is None else scaling.temperature(scores.n_known)
        )
        counted = _Counted(documents.weigh(weights), temperatures)
        return self._predictor.predict_batch(batch, scores=scores), counted, batch.groups

    def add(
        self, predictions: Predictions, counted: _Counted | None, groups: list[str] | None
    ) -> None:
        """Add what `predict` returns; documents that could not be read do not count."""
        is_read = predictions.is_read
        names = np.array([""] * len(is_read) if groups is None else groups, dtype=object)
        n_labels = len(self._fitted.labels)
        for name in sorted(set(names[is_read].tolist())):
            rows = np.flatnonzero(is_read & (names == name))
            if name not in self._groups:
                if len(self._groups) == MAX_GROUPS:
                    what = f"the field has more than {MAX_GROUPS:,} values"
                    raise SettingsError(
                        what, where="--group-field", hint="name a field with fewer groups"
                    )
                self._groups[name] = _Group(
                    PosteriorSums(n_labels),
                    WordSums(n_labels),
                    np.zeros(n_labels, dtype=np.int64),
                    np.zeros(n_labels),
                )
            sums, words, predicted, right = self._groups[name]
            posteriors = predictions.probabilities[rows]
            sums.add(posteriors)
            if counted is not None:
                words.add(counted.documents.take(rows), posteriors, counted.temperatures[rows])
            classes = predictions.classes_of([predictions.labels[row] for row in rows.tolist()])
            owners = np.repeat(np.arange(len(rows)), [len(each) for each in classes])
            found = np.fromiter(chain.from_iterable(classes), np.int64)
            predicted += np.bincount(found, minlength=n_labels)
            right += np.bincount(found, posteriors[owners, found], n_labels)

    def estimates(self) -> dict[str, Prevalence]:
        """Return the estimate of each group, by its name; InputError if no documents were added."""
        if not self._groups:
            raise InputError("SOURCE has no documents to estimate shares from")
        return {name: self._estimate(self._groups[name]) for name in sorted(self._groups)}

    def _estimate(self, group: _Group) -> Prevalence:
        sums, words, predicted, right = group
        fitted = self._fitted
        labels = fitted.labels
        known = fitted.task.posteriors
        assert known is not None  # see check_prevalence
        n = sums.n_documents
        if not isinstance(known, MeanPosteriors):
            missing = ~is_measured(known)
            estimate = sums.estimate_labels(known)
            n_predicted = n
            drift = None
        else:
            missing = known.documents == 0
            statistics = self._model.counts.statistics
            if fitted.columns is not None:
                statistics = statistics.restrict(fitted.columns)
            drift = words.compare(statistics, sums.solve(known), fitted.scorer)
            estimate = sums.estimate(known, drift)
            n_predicted = int(predicted.sum())
            if drift is not None and drift.is_rejected and n_predicted:
                estimate = count_predictions(predicted, right, sums, estimate)
        drifted: tuple[str, ...] = ()
        if drift is not None and fitted.vocabulary is not None:
            drifted = tuple(fitted.vocabulary.terms[j] for j in drift.features[:N_DRIFTED].tolist())
        return Prevalence(
            labels,
            n,
            estimate,
            predicted,
            predicted / max(1, n_predicted),
            tuple(labels[k] for k in np.flatnonzero(missing).tolist()),
            None if drift is None else drift.share,
            drifted,
        )


def estimate_prevalence(
    model: TrainedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> dict[str, Prevalence]:
    """Return the shares of labels among all documents of a source, by the group of the documents;
    "" without groups.

    The estimate assumes that only the shares differ from those of the training documents, and that
    documents of the same label are alike (prior probability shift). Words that contradict it widen
    the intervals, and if they are many, the predictions are counted; see `WordDrift`. Memory holds
    a few batches, and for each group the sums of its features.

    Raises
    ------
    InputError
        No document could be read.
    ModelError
        The model has no mean posteriors of left-out documents.
    """
    estimator = _Estimator(model)
    for predicted in map_batches(
        estimator.predict, model.fitted, source, jobs=jobs, on_batch=on_batch
    ):
        estimator.add(*predicted)
    return estimator.estimates()


def estimate_text_prevalence(model: TrainedModel, texts: Sequence[str]) -> Prevalence:
    """Return the shares of labels among some texts: `TextClassifier.prevalence`."""
    estimator = _Estimator(model)
    for part in text_batch(list(texts)).split(TEXTS_AT_ONCE):
        estimator.add(*estimator.predict(part))
    return estimator.estimates()[""]


def check_prevalence(model: FittedModel) -> None:
    """Raise ModelError unless the model can estimate shares of labels."""
    if model.task.posteriors is not None:
        return
    n_labels = len(model.labels)
    is_single = model.task.is_exclusive
    if n_labels < 2 and is_single:
        raise ModelError(
            "the model has only one label, so its share is 1",
            hint="use a model with two labels or more",
        )
    if n_labels > MAX_CLASSES and is_single:
        what = f"the model has {n_labels:,} labels, and shares can be estimated for at most {MAX_CLASSES} labels"
        what += ", because each pair of labels needs a number"
        raise ModelError(
            what, hint="train a model on groups of labels, or count the labels that predict prints"
        )
    again = "train it again, on two documents of a label or more"
    hint = f"{again}, or refit it with nbtext calibrate" if is_single else again
    what = "estimating shares needs probabilities of left-out documents, which the model does not store"
    raise ModelError(what, hint=hint)

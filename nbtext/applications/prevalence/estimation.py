"""The share of each label among many unlabeled documents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from nbtext.applications.prevalence.drift import MIN_DRIFT, WordSums
from nbtext.applications.prevalence.shares import (
    MAX_LOST,
    MAX_SHIFT,
    PosteriorSums,
    count_predictions,
    is_measured,
)
from nbtext.arrays import Array, Floats
from nbtext.bayes.calibration import TemperatureScaling
from nbtext.bayes.prevalence import MAX_SHARES, LabelPosteriors, MeanPosteriors, Prevalence
from nbtext.documents.batch import Batch
from nbtext.documents.fields import WEIGHT_UNIT
from nbtext.documents.source import Source
from nbtext.errors import InputError, ModelError, SettingsError
from nbtext.features.analyzer import refuse_long_texts
from nbtext.features.document_table import DocumentTable
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.growth import check_growth
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import Predictor
from nbtext.model.sklearn_compat import text_batch
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches
from nbtext.model.training import needs_all_documents

N_DRIFTED = 5  # features that are named
TEXTS_AT_ONCE = 512
MAX_GROUPS = 1000  # each has 500 resamples of each label, and sums of its features


# documents with weights of their features, and what divides their scores
WeightedDocuments = tuple[DocumentTable, Floats]


class _Group:
    """Sums over the documents of a group.

    predicted  (n_labels,), the number of predictions of each label
    right      (n_labels,), the sum of their probabilities
    """

    def __init__(self, n_labels: int, n_features: int) -> None:
        self.sums = PosteriorSums(n_labels)
        self.words = WordSums(n_labels, n_features)
        self.predicted = np.zeros(n_labels)
        self.right = np.zeros(n_labels)


class _Estimator:
    """Estimates the shares of labels among documents that are added batch by batch, for each group
    of them.
    """

    def __init__(self, model: TrainedModel) -> None:
        self._model = model
        self._fitted = model.fitted
        self._known = check_prevalence(model)
        self._groups: dict[str, _Group] = {}
        self._reason = ""  # why a document could not be read
        self._predictor = Predictor(model.fitted)

    def predict(
        self, batch: Batch
    ) -> tuple[Predictions, WeightedDocuments | None, list[str] | None]:
        """Return the predictions of a batch, its features if words are compared, and its groups; in
        any thread.
        """
        scores = counted = None
        if isinstance(self._known, MeanPosteriors):
            refuse_long_texts(batch, self._fitted.feature_settings)
            documents = self._predictor.count(batch.features)
            scores, weights = self._predictor.score_rows(documents)
            scaling = self._fitted.calibration.temperature or TemperatureScaling(1.0, 0.0)
            counted = documents.weigh(weights), scaling.temperature(scores.n_known)
        found = self._predictor.predict_batch(batch, scores=scores)
        if batch.weights is not None:
            found.weights = np.array(batch.weights) / WEIGHT_UNIT
        return found, counted, batch.groups

    def add(
        self, predictions: Predictions, counted: WeightedDocuments | None, groups: list[str] | None
    ) -> None:
        """Add what `predict` returns; documents that could not be read do not count."""
        is_read = predictions.is_read
        times = np.ones(len(is_read)) if predictions.weights is None else predictions.weights
        self._reason = next(filter(None, predictions.reasons), self._reason)
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
                self._groups[name] = _Group(n_labels, self._fitted.scorer.n_features)
            group = self._groups[name]
            posteriors = predictions.probabilities[rows]
            group.sums.add(posteriors, times[rows])
            if counted is not None:
                documents, temperatures = counted
                group.words.add(documents.take(rows), posteriors, temperatures[rows], times[rows])
            classes = predictions.classes_of([predictions.labels[row] for row in rows.tolist()])
            owners = np.repeat(np.arange(len(rows)), [len(each) for each in classes])
            found = np.fromiter(chain.from_iterable(classes), np.int64)
            own = times[rows][owners]
            group.predicted += np.bincount(found, own, n_labels)
            group.right += np.bincount(found, own * posteriors[owners, found], n_labels)

    def estimates(self) -> dict[str, Prevalence]:
        """Return the estimate of each group, by its name; InputError if no documents were added."""
        if not self._groups:
            raise InputError("SOURCE has no documents to estimate shares from", hint=self._reason)
        return {name: self._estimate(group) for name, group in sorted(self._groups.items())}

    def _estimate(self, group: _Group) -> Prevalence:
        fitted = self._fitted
        labels = fitted.labels
        known = self._known
        sums = group.sums
        n_predicted = sums.n_documents
        drift = None
        drifted: tuple[str, ...] = ()
        shift = 0.0
        if isinstance(known, MeanPosteriors):
            missing = known.documents == 0
            n_predicted = float(group.predicted.sum())
            statistics = self._model.counts.statistics
            if fitted.columns is not None:
                statistics = statistics.restrict(fitted.columns)
            drift = group.words.compare(statistics, sums.solve(known), fitted.scaled_scorer)
            estimate = sums.estimate(known, drift)
            if drift is not None and drift.share >= MIN_DRIFT and n_predicted:
                # the errors of the model are not those of training
                estimate = count_predictions(group.predicted, group.right, sums, estimate)
            shift, lost = sums.compare_certainty(known)
            if abs(shift) > MAX_SHIFT and abs(lost) > MAX_LOST:
                estimate = sums.allow_for(lost, known, estimate)
            else:
                shift = 0.0
            if drift is not None and fitted.vocabulary is not None:
                features = drift.features[:N_DRIFTED].tolist()
                drifted = tuple(fitted.vocabulary.terms[j] for j in features)
        else:
            missing = ~is_measured(known)
            estimate = sums.estimate_labels(known)
        return Prevalence(
            labels,
            _whole(np.array(sums.n_documents)).item(),
            estimate,
            _whole(group.predicted),
            group.predicted / (n_predicted or 1),
            tuple(labels[k] for k in np.flatnonzero(missing).tolist()),
            None if drift is None else drift.share,
            drifted,
            shift,
        )


def _whole(numbers: Floats) -> Array:
    """Return numbers of documents as integers, if all of them are whole."""
    return numbers.astype(np.int64) if (numbers % 1 == 0).all() else numbers


def estimate_prevalence(
    model: TrainedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> dict[str, Prevalence]:
    """Return the shares of labels among all documents of a source, by the group of the documents;
    "" without groups.

    The estimate assumes that only the shares differ from those of the training documents, and that
    documents of the same label are alike (prior probability shift). Words that contradict it widen
    the intervals, and if they are many, the predictions are counted; see `WordDrift`. So does the
    certainty of predictions; see `PosteriorSums.compare_certainty`. Memory holds
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


def check_prevalence(model: TrainedModel) -> MeanPosteriors | LabelPosteriors:
    """Return what the model stores to estimate shares of labels; ModelError if it does not."""
    fitted = model.fitted
    is_single = fitted.kind.has_one_label
    known: MeanPosteriors | LabelPosteriors | None = fitted.task.posteriors
    if known is not None:
        return known
    if is_single and not 2 <= len(fitted.labels) <= MAX_SHARES:
        what = f"shares can be estimated for 2 to {MAX_SHARES} labels, and the model has {len(fitted.labels):,}"
        raise ModelError(what, hint="train a model on groups of labels")
    hint = "train it again, on two documents of a label or more"
    settings = fitted.model_settings
    if settings.is_linear and is_single:
        hint = f"train it again with --keep-sample N, on {settings.folds} documents or more, two of each label"
    elif is_single and not needs_all_documents(fitted.feature_settings, settings):
        with suppress(ModelError):
            check_growth(model)
            hint += ", or refit it with nbtext calibrate"
    what = "estimating shares needs probabilities of left-out documents, which the model does not store"
    raise ModelError(what, hint=hint)

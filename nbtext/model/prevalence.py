"""The share of each label among many unlabeled documents, and predictions that are adapted to
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.prevalence import (
    MAX_CLASSES,
    MeanPosteriors,
    PosteriorSums,
    ShareEstimate,
    WordDrift,
    WordSums,
    count_predictions,
    shrink_shares,
)
from nbtext.bayes.scorer import log_posterior
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


ASSUMED = "the errors of these labels are not known, and assumed to be 0"
# of labels that may overlap
MAY_BE_ANY = "these labels have too few training documents, and any share is possible"
N_DRIFTED = 5  # features that are named
TEXTS_AT_ONCE = 512
MAX_GROUPS = 1000  # each has 500 resamples of each label, and sums of its features


@dataclass(frozen=True, eq=False)
class Prevalence:
    """The estimated shares of labels among documents.

    labels       of the model, sorted
    n_documents  that could be read
    estimate     the share of each label, and its interval; the count of predictions, if more than
                 shares has changed
    predicted    (n_classes,), number of documents that are predicted as each label
    unmeasured   labels without a left-out document (several labels: with fewer than ten), whose
                 errors are not known
    n_predicted  number of predictions that shares are of: those with a label, or all if a document
                 can have several
    doubt        what is not known of unmeasured labels
    drift        how the words differ from those of training beyond the shares; None: not known, as
                 with several labels
    drifted      the features with the largest deviations, as text; those of hashed features have no
                 text
    """

    labels: tuple[str, ...]
    n_documents: int
    estimate: ShareEstimate
    predicted: NDArray[np.int64]
    unmeasured: tuple[str, ...]
    n_predicted: int
    doubt: str
    drift: WordDrift | None = None
    drifted: tuple[str, ...] = ()

    @property
    def naive_shares(self) -> NDArray[np.float64]:
        """The share of the predictions with each label."""
        return np.asarray(self.predicted / max(1, self.n_predicted))


class _Counted(NamedTuple):
    """The features of the documents of a batch, the weight of each entry, and what divides the
    documents' scores.
    """

    documents: DocumentCounts
    weights: NDArray[Any]
    temperatures: NDArray[np.float64]


class _Group(NamedTuple):
    """Sums over the documents of a group.

    predicted  (n_labels,), the number of predictions of each label
    right      (n_labels,), the sum of their probabilities
    """

    sums: PosteriorSums
    words: WordSums
    predicted: NDArray[np.int64]
    right: NDArray[np.float64]


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
        counted = _Counted(documents, weights, temperatures)
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
                counted_labels = np.zeros(n_labels, dtype=np.int64)
                self._groups[name] = _Group(
                    PosteriorSums(n_labels), WordSums(n_labels), counted_labels, np.zeros(n_labels)
                )
            sums, words, predicted, right = self._groups[name]
            posteriors = predictions.probabilities[rows]
            sums.add(posteriors)
            if counted is not None:
                weights = counted.documents.weigh(counted.weights).take(rows).counts
                words.add(
                    counted.documents.take(rows), weights, posteriors, counted.temperatures[rows]
                )
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
        labels = self._fitted.labels
        known = fitted.task.posteriors
        assert known is not None  # see check_prevalence
        n = sums.n_documents
        if not isinstance(known, MeanPosteriors):
            missing = tuple(labels[k] for k in np.flatnonzero(~known.is_measured).tolist())
            return Prevalence(labels, n, known.estimate(sums), predicted, missing, n, MAY_BE_ANY)
        statistics = self._model.counts.statistics
        statistics = statistics if fitted.columns is None else statistics.restrict(fitted.columns)
        drift = words.compare(statistics, sums.solve(known), fitted.scorer)
        drifted: tuple[str, ...] = ()
        if drift is not None and fitted.vocabulary is not None:
            drifted = tuple(fitted.vocabulary.terms[j] for j in drift.features[:N_DRIFTED].tolist())
        missing = tuple(labels[k] for k in np.flatnonzero(known.documents == 0).tolist())
        estimate = sums.estimate(known, drift)
        n_predicted = int(predicted.sum())
        if drift is not None and drift.is_rejected and n_predicted:
            estimate = count_predictions(predicted, right, sums, estimate)
        return Prevalence(
            labels, n, estimate, predicted, missing, n_predicted, ASSUMED, drift, drifted
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
    """Return the shares of labels among some texts; see `estimate_prevalence`."""
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


def check_adaptation(model: FittedModel) -> None:
    """Raise SettingsError if a document can have several labels: each probability depends on those
    of other labels.
    """
    if not model.task.is_exclusive:
        what = "the model gives a document several labels, and the shares of some change the probability of others"
        raise SettingsError(
            what, where="--adapt-prior", hint="leave out --adapt-prior; nbtext prevalence works"
        )


def adapt_prior(model: FittedModel, prevalence: Prevalence) -> FittedModel:
    """Return the model with probabilities for documents whose labels have the estimated shares.

    The probability of each label is multiplied by the ratio of its new share and its share in
    training. An uncertain estimate changes them less; see `shrink_shares`.

    Source: Saerens, Latinne and Decaestecker, Adjusting the Outputs of a Classifier to New a Priori
    Probabilities, 2002, equation 2.4.

    Raises
    ------
    SettingsError
        The model has thresholds that meet a target only with the shares of training.
    """
    check_adaptation(model)
    known = model.calibration.mean_posteriors
    earlier = model.calibration.prior_adjustment
    if model.model_settings.has_targets:
        what = "the model's --min-recall or --min-precision holds only for the shares of labels in training"
        raise SettingsError(
            what, where="--adapt-prior", hint="leave out --adapt-prior, or train without targets"
        )
    if known is None:
        what = "needs the shares of labels in training, which the model does not store"
        raise ModelError(what, where="--adapt-prior", hint="train it again")
    shares = shrink_shares(prevalence.estimate, prevalence.n_documents, known.prior)
    ratios = np.log(shares) - np.log(known.prior)
    adjustment = ratios + (0.0 if earlier is None else earlier)
    calibration = replace(model.calibration, prior_adjustment=adjustment - adjustment.mean())
    # that of documents without a known word
    log_prior = log_posterior((model.log_prior + ratios)[None, :])[0]
    task: Any = model.task
    return replace(model, task=replace(task, calibration=calibration, log_prior=log_prior))

"""The share of each label among many unlabeled documents, and predictions that are adapted to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.prevalence import MAX_CLASSES, PosteriorSums, ShareEstimate, shrink_shares
from nbtext.errors import InputError, ModelError, SettingsError
from nbtext.model.fitted_model import FittedModel
from nbtext.model.multilabel_predictions import MultilabelPredictions
from nbtext.model.multilabel_predictor import fit_of
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import predict_any_source, predict_source

if TYPE_CHECKING:
    from nbtext.documents.source import Source


@dataclass(frozen=True, eq=False)
class Prevalence:
    """The estimated shares of labels among documents.

    labels       of the model, sorted
    n_documents  that could be read
    estimate     the share of each label, and its interval
    predicted    (n_classes,), number of documents that are predicted as each label
    unmeasured   labels without a left-out document (several labels: with fewer than ten), whose errors are not known
    is_multilabel  whether a document can have several labels, or none
    """

    labels: tuple[str, ...]
    n_documents: int
    estimate: ShareEstimate
    predicted: NDArray[np.int64]
    unmeasured: tuple[str, ...]
    is_multilabel: bool = False

    @property
    def naive_shares(self) -> NDArray[np.float64]:
        """The share of the predictions with each label."""
        n_predicted = self.n_documents if self.is_multilabel else int(self.predicted.sum())
        return np.asarray(self.predicted / max(1, n_predicted))


def estimate_prevalence(
    model: FittedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> Prevalence:
    """Return the shares of labels among all documents of a source.

    The estimate assumes that only the shares differ from those of the training documents, and that documents of the
    same label are alike (prior probability shift). Memory holds a few batches.

    Raises
    ------
    InputError
        No document could be read.
    ModelError
        The model has no mean posteriors of left-out documents.
    """
    check_prevalence(model)
    if model.multilabel is not None:
        return _estimate_labels(model, source, jobs=jobs, on_batch=on_batch)
    sums, predicted = PosteriorSums(len(model.labels)), np.zeros(len(model.labels), dtype=np.int64)
    for predictions in predict_source(model, source, jobs=jobs, on_batch=on_batch):
        posteriors = predictions.probabilities
        sums.add(posteriors[~np.isnan(posteriors[:, 0])])
        has_label = [label is not None for label in predictions.labels]
        predicted += np.bincount(predictions.label_classes[has_label], minlength=len(predicted))
    return _estimate_shares(model, sums, predicted)


def estimate_text_prevalence(model: FittedModel, log_posteriors: NDArray[np.float64]) -> Prevalence:
    """Return the shares of labels among some documents; see `estimate_prevalence`.

    log_posteriors  (n_documents, n_classes), of the model
    """
    model.check_single("estimate shares of texts")
    check_prevalence(model)
    sums = PosteriorSums(len(model.labels))
    sums.add(np.exp(log_posteriors))
    predicted = np.bincount(model.calibration.decide(log_posteriors), minlength=len(model.labels))
    return _estimate_shares(model, sums, predicted)


def _estimate_shares(model: FittedModel, sums: PosteriorSums, predicted: NDArray[np.int64]) -> Prevalence:
    """Return the shares of labels; InputError if `sums` counts no documents."""
    known = model.calibration.mean_posteriors
    if sums.n_documents == 0 or known is None:
        raise InputError("SOURCE has no documents to estimate shares from")
    unmeasured = tuple(model.labels[k] for k in np.flatnonzero(known.documents == 0).tolist())
    return Prevalence(model.labels, sums.n_documents, sums.estimate(known), predicted, unmeasured)


def _estimate_labels(
    model: FittedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> Prevalence:
    """Return the share of documents with each label, if a document can have several."""
    known = fit_of(model).posteriors
    sums, predicted = PosteriorSums(len(model.labels)), np.zeros(len(model.labels), dtype=np.int64)
    places = {label: k for k, label in enumerate(model.labels)}
    for predictions in predict_any_source(model, source, jobs=jobs, on_batch=on_batch):
        assert isinstance(predictions, MultilabelPredictions)
        probabilities = predictions.probabilities
        sums.add(probabilities[~np.isnan(probabilities[:, 0])])
        np.add.at(predicted, [places[label] for labels in predictions.predicted for label in labels], 1)
    if sums.n_documents == 0 or known is None:
        raise InputError("SOURCE has no documents to estimate shares from")
    unmeasured = tuple(model.labels[k] for k in np.flatnonzero(~known.is_measured).tolist())
    return Prevalence(model.labels, sums.n_documents, known.estimate(sums), predicted, unmeasured, is_multilabel=True)


def check_prevalence(model: FittedModel) -> None:
    """Raise ModelError unless the model can estimate shares of labels."""
    known = model.calibration.mean_posteriors if model.multilabel is None else model.multilabel.posteriors
    if known is not None:
        return
    n_labels, is_single = len(model.labels), model.multilabel is None
    if n_labels < 2 and is_single:
        raise ModelError("the model has only one label, so its share is 1", hint="use a model with two labels or more")
    if n_labels > MAX_CLASSES and is_single:
        what = (
            f"the model has {n_labels:,} labels, and shares can be estimated for at most {MAX_CLASSES} labels, because "
            "each pair of labels needs a number"
        )
        raise ModelError(what, hint="train a model on groups of labels, or count the labels that predict prints")
    again = "train it again, on two documents of a label or more"
    hint = f"{again}, or refit it with nbtext calibrate" if is_single else again
    raise ModelError(
        "estimating shares needs probabilities of left-out documents, which the model does not store", hint=hint
    )


def check_adaptation(model: FittedModel) -> None:
    """Raise SettingsError if a document can have several labels: each probability depends on those of other labels."""
    if model.multilabel is not None:
        what = (
            "the model gives documents several labels, and the shares of some labels change the probability of others"
        )
        raise SettingsError(what, where="--adapt-prior", hint="leave out --adapt-prior; nbtext prevalence works")


def adapt_prior(model: FittedModel, prevalence: Prevalence) -> FittedModel:
    """Return the model with probabilities for documents whose labels have the estimated shares.

    The probability of each label is multiplied by the ratio of its new share and its share in training. An uncertain
    estimate changes them less; see `shrink_shares`.

    Source: Saerens, Latinne and Decaestecker, Adjusting the Outputs of a Classifier to New a Priori Probabilities,
    2002, equation 2.4.

    Raises
    ------
    SettingsError
        The model has thresholds that meet a target only with the shares of training.
    """
    check_adaptation(model)
    known, earlier = model.calibration.mean_posteriors, model.calibration.prior_adjustment
    if model.model_settings.has_targets:
        what = "the model's --min-recall or --min-precision holds only for the shares of labels in training"
        raise SettingsError(what, where="--adapt-prior", hint="leave out --adapt-prior, or train without targets")
    if known is None:
        what = "needs the shares of labels in training, which the model does not store"
        raise ModelError(what, where="--adapt-prior", hint="train it again")
    shares = shrink_shares(prevalence.estimate, prevalence.n_documents, known.prior)
    adjustment = np.log(shares) - np.log(known.prior) + (0.0 if earlier is None else earlier)
    calibration = replace(model.calibration, prior_adjustment=adjustment - adjustment.mean())
    return replace(model, calibration=calibration)

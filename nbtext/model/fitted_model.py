"""The result of training, as plain data: a fitted model, and the counts that it was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import log_priors
from nbtext.bayes.diagnostics import Hyperparameters, LeaveOneOutEstimate, Unlabeled
from nbtext.bayes.scorer import Floats, LinearScorer
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.documents.settings import UNKNOWN_INPUT, ModelInput
from nbtext.errors import ModelError, SettingsError, list_some
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.records import dataclass

if TYPE_CHECKING:
    from nbtext.bayes.label_selection import MultilabelEstimate, MultilabelFit

LABEL_TYPES: dict[str, Callable[[str], str | int | float]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: {"True": True, "False": False}[text],
}


MAX_LABEL_COLUMNS = 1 << 20  # of an indicator matrix: a row of float64 takes 8 MB


def are_labels_of(label_type: str, labels: Iterable[str]) -> bool:
    """Return whether each label is the text of a value of a type, one of LABEL_TYPES, such as "3" for an integer."""
    try:
        return all(str(LABEL_TYPES[label_type](label)) == label for label in labels)
    except (ValueError, KeyError, OverflowError):
        return False


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Everything that predicting needs.

    Attributes
    ----------
    labels : tuple of str
        Sorted by code point; class k is `labels[k]`.
    feature_settings, model_settings
        The settings of training.
    vocabulary
        The feature of each column of the scorer; None if features are hashed.
    columns : (n_features,) or None
        For each feature of the model, its column in the counts (or in the given vocabulary); None: all columns.
    weighting
        How a document's counts are weighted before they are scored.
    scorer
        Computes log P(document, class), the prior included.
    log_prior : (n_classes,)
        Natural logarithm of each class's prior probability.
    hyperparameters
        The smoothing or C.
    calibration
        Turns scores into probabilities and decisions.
    estimate
        The leave-one-out estimate for new documents; None if no document could be left out.
    unlabeled
        How the model was trained on unlabeled documents; None: it was not.
    approximate
        Names of the parts that were fitted before the documents of the model changed.
    is_model_selected : bool
        Whether leave-one-out selected the event model (`--model auto`); then `model_settings` name what it selected.
    is_binary_selected : bool
        Whether leave-one-out selected binary counts too, as the tf of `feature_settings`.
    label_type : {"str", "int", "float", "bool"}
        The type of the labels when they were given.
    label_columns : int, optional
        If the labels were given as an indicator matrix: the number of its columns. Then the labels are their numbers.
    multilabel : MultilabelFit, optional
        If a document can have several labels, or none: how the scores become probabilities and labels. Then the scorer
        holds the scores of binary_relevance, and `calibration` and `estimate` are empty.
    input : ModelInput
        What a document was in the sources that the model was trained on, and its fields.
    default_class : int, optional
        The class of a document without a known word where it must have one: the most frequent class, or the most
        probable one by a prior that was given. None: the most probable one, because the model is not calibrated.
    """

    labels: tuple[str, ...]
    feature_settings: FeatureSettings
    model_settings: ModelSettings
    vocabulary: Vocabulary | None
    columns: NDArray[np.int64] | None
    weighting: Weighting
    scorer: LinearScorer
    log_prior: Floats
    hyperparameters: Hyperparameters
    calibration: Calibration
    estimate: LeaveOneOutEstimate | None
    unlabeled: Unlabeled | None = None
    approximate: tuple[str, ...] = ()
    is_model_selected: bool = False
    is_binary_selected: bool = False
    label_type: str = "str"
    input: ModelInput = UNKNOWN_INPUT
    multilabel: MultilabelFit | None = None
    label_columns: int | None = None
    default_class: int | None = None

    def check_single(self, what: str) -> None:
        """Raise ModelError if documents can have several labels; `what` is what such a model cannot do."""
        if self.multilabel is not None:
            raise ModelError(f"a multi-label model cannot {what}", hint="train on documents with one label each")

    @property
    def expected(self) -> LeaveOneOutEstimate | MultilabelEstimate | None:
        """The estimate for new documents, of one label or of several."""
        return self.estimate if self.multilabel is None else self.multilabel.estimate

    @property
    def requested_settings(self) -> tuple[FeatureSettings, ModelSettings]:
        """The settings as they were given: with `auto` if leave-one-out selected the event model."""
        features, model_settings = self.feature_settings, self.model_settings
        if self.is_binary_selected:
            features = replace(features, tf="count")
        return features, replace(model_settings, model=AUTO) if self.is_model_selected else model_settings

    @property
    def label_values(self) -> list[str | int | float]:
        """The labels in the type in which they were given."""
        return [LABEL_TYPES[self.label_type](label) for label in self.labels]

    def log_posterior(self, scores: Floats, lengths: NDArray[Any] | None, is_known: NDArray[np.bool_]) -> Floats:
        """Return the calibrated log-probabilities that follow from scores, (n_documents, n_classes).

        lengths   (n_documents,), known tokens
        is_known  (n_documents,), whether each document has a known word; one without has the prior probabilities, but
                  not if the model is not calibrated: then probabilities are those of scikit-learn
        """
        found = self.calibration.log_posterior(scores, lengths)
        if self.model_settings.calibrate and not is_known.all():
            found[~is_known] = self.log_prior
        return found

    def log_probabilities(self, documents: DocumentCounts) -> Floats:
        """Return the calibrated log-probabilities of documents over the model's features, (n_documents, n_classes)."""
        weights = self.weighting.weights(documents.indptr, documents.indices, documents.counts)
        scores = self.scorer.scores(documents.indptr, documents.indices, weights)
        lengths = documents.lengths if documents.has_lengths else documents.totals
        return self.log_posterior(scores, lengths, np.diff(documents.indptr) > 0)

    def class_of(self, label: str) -> int:
        """Return the number of a label's class.

        Raises
        ------
        SettingsError
            The model has no such label; the message suggests a similar one.
        """
        if label in self.labels:
            return self.labels.index(label)
        from difflib import get_close_matches

        nearest = get_close_matches(label, self.labels, n=1, cutoff=0.5)
        hint = f"did you mean {nearest[0]}?" if nearest else f"it knows {list_some(self.labels)}"
        raise SettingsError(f"the model has no label {label!r}", hint=hint)


def default_class(labels: tuple[str, ...], class_documents: NDArray[Any], settings: ModelSettings) -> int | None:
    """Return the class of a document without a known word; see FittedModel."""
    if not settings.calibrate:
        return None
    return int(log_priors(class_documents[None, :], settings.deciding_prior_of(labels)).argmax())


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A fitted model and the counts that it was fitted to: what a model file holds.

    Predicting does not need the counts, so a model file's are read when they are first used.
    """

    fitted: FittedModel
    load_counts: Callable[[], CorpusCounts]

    @cached_property
    def counts(self) -> CorpusCounts:
        return self.load_counts()

    def __reduce__(self) -> tuple[Any, ...]:
        return make_trained_model, (self.fitted, self.counts)


def make_trained_model(fitted: FittedModel, counts: CorpusCounts) -> TrainedModel:
    """Return a model whose counts are in memory."""
    return TrainedModel(fitted, lambda: counts)


def parts_fitted_to_documents(model: FittedModel) -> tuple[str, ...]:
    """Return the names of the parts of a model that are fitted to leave-one-out scores."""
    settings = model.model_settings
    if model.multilabel is not None:
        return ("smoothing", "calibration", "thresholds", "nonconformity")
    selected = ("model",) if model.is_model_selected else ()
    smoothing = ("smoothing",) if settings.smoothing is None else ()
    calibration = ("calibration",) if settings.calibrate else ()
    offsets = ("decision_offsets",) if settings.optimize is not None or settings.has_targets else ()
    return (*selected, *smoothing, *calibration, *offsets, "outlier_threshold", "nonconformity")


def transfer_calibration(earlier: FittedModel, labels: tuple[str, ...]) -> Calibration:
    """Return the calibration of an earlier model for other labels; a new label gets offsets of 0."""
    places = {label: k for k, label in enumerate(earlier.labels)}

    def align(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        return np.array([values[places[label]] if label in places else 0.0 for label in labels])

    calibration = earlier.calibration
    return replace(
        calibration,
        prior_adjustment=align(calibration.prior_adjustment),
        decision_offsets=align(calibration.decision_offsets),
        mean_posteriors=calibration.mean_posteriors if labels == earlier.labels else None,
    )


def check_kinds(one: TrainedModel, other: TrainedModel) -> None:
    """Raise ModelError unless both models give each document one label, or both several."""
    if (one.fitted.multilabel is None) != (other.fitted.multilabel is None):
        hint = "train the models on the same kind of documents"
        raise ModelError("one of the models gives documents several labels, and the other gives one", hint=hint)


def are_columns(labels: Iterable[str], n_columns: int) -> bool:
    """Return whether labels are numbers of the columns of an indicator matrix."""
    return are_labels_of("int", labels) and all(0 <= int(label) < n_columns for label in labels)


def check_settings(one: TrainedModel, other: TrainedModel) -> None:
    """Raise ModelError, which names the setting, unless both models have the same settings and types of labels."""
    check_kinds(one, other)
    if one.fitted.label_type != other.fitted.label_type:
        what = f"the labels of one model are {one.fitted.label_type}, and those of the other {other.fitted.label_type}"
        raise ModelError(what, hint="train the models on labels of one type")
    pairs: Sequence[tuple[FeatureSettings | ModelSettings, FeatureSettings | ModelSettings]] = tuple(
        zip(one.fitted.requested_settings, other.fitted.requested_settings, strict=True)
    )
    for mine, theirs in pairs:
        for field in fields(mine):
            values = getattr(mine, field.name), getattr(theirs, field.name)
            if values[0] == values[1] and type(values[0]) is type(values[1]):
                continue
            option = "separate-fields" if field.name == "fields" else field.name.replace("_", "-")
            shown = " and ".join(_format_setting(value) for value in values)
            raise ModelError(
                f"the models have different settings: --{option} is {shown}", hint="train them with the same options"
            )


def _format_setting(value: object) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."

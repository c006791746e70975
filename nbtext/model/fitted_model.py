"""The result of training, as plain data: a fitted model, and the counts that it was fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from typing import Annotated, Any

import numpy as np

from nbtext.arrays import (
    EXACT_COUNTS,
    Array,
    Bytes,
    Floats,
    Hashes,
    Integers,
    Integers32,
    Limits,
    Mask,
)
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import ClassStatistics, Totals
from nbtext.bayes.diagnostics import Hyperparameters, Proportion, Unlabeled, ViewChoice
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import AUTO, COMBINED, ModelSettings
from nbtext.documents.settings import UNKNOWN_INPUT, ModelInput
from nbtext.errors import ModelError, number_of, require_label
from nbtext.features.document_table import DocumentTable
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary, find_views, split_views
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.predictions import Labels
from nbtext.model.task import Task
from nbtext.model.tasks import TASKS, TaskKind
from nbtext.numerics import exp
from nbtext.records import Strings, frozen, frozen_object
from nbtext.settings import describe_difference, list_settings

Evidence = tuple[Floats, Array]
LABEL_TYPES: dict[str, Callable[[str], str | int | float]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: {"True": True, "False": False}[text],
}
MAX_LOG_ODDS = 700.0  # whose exponential is finite
MAX_PIECE_WORD = 64  # characters; a longer word has no pieces
MAX_LABEL_COLUMNS = 1 << 20  # of an indicator matrix: a row of float64 takes 8 MB


def are_labels_of(label_type: str, labels: Iterable[str]) -> bool:
    """Return whether each label is the text of a value of a type, one of LABEL_TYPES, such as "3"
    for an integer.
    """
    try:
        return all(str(LABEL_TYPES[label_type](label)) == label for label in labels)
    except (ValueError, KeyError, OverflowError):
        return False


@frozen
class DocumentNumbers:
    """The number of training documents, and that of the documents of each label, in the order of
    the labels.
    """

    total: Annotated[int, EXACT_COUNTS]
    of_labels: Annotated[tuple[int, ...], EXACT_COUNTS]

    @classmethod
    def of(cls, statistics: ClassStatistics) -> DocumentNumbers:
        return cls(
            int(statistics.n_documents), tuple(statistics.class_documents.astype(np.int64).tolist())
        )


@frozen_object
class View:
    """One way to make features of a text: what a feature is, which features there are, and how they
    are weighted.

    vocabulary  without the name of the view in front of each feature
    """

    settings: FeatureSettings
    vocabulary: Vocabulary | None
    weighting: Weighting


@frozen_object
class FittedModel:
    """Everything that predicting needs.

    Attributes
    ----------
    task
        What a prediction is, and how scores become one: with the labels, and what was fitted to
        leave-one-out scores.
    feature_settings, model_settings
        The settings of training.
    vocabulary
        The feature of each column of the scorer; None if features are hashed.
    columns : (n_features,) or None
        For each feature of the model, its column in the counts (or in the given vocabulary); None:
        all columns.
    weighting
        How a document's counts are weighted before they are scored.
    scorer
        Computes log P(document, class), the prior included; of several labels, the scores of
        binary_relevance.
    hyperparameters
        The smoothing or C.
    unlabeled
        How the model was trained on unlabeled documents; None: it was not.
    approximate
        Names of the parts that were fitted before the documents of the model changed.
    is_model_selected : bool
        Whether leave-one-out selected the event model (`--model auto`); then `model_settings` name
        what it selected.
    is_binary_selected : bool
        Whether leave-one-out selected binary counts too, as the tf of `feature_settings`.
    label_type : {"str", "int", "float", "bool"}
        The type of the labels when they were given.
    label_columns : int, optional
        If the labels were given as an indicator matrix: the number of its columns. Then the labels
        are their numbers.
    input : ModelInput
        What a document was in the sources that the model was trained on, and its fields.
    documents : DocumentNumbers, optional
        How many documents a model was trained on whose file has no counts. None: the counts have
        it.
    full_features : int, optional
        How many features there were before the model was made smaller; see `artifact.reduction`.
        None: it was not.
    untrained : (n_features / 8,) uint8, optional
        A bit for each feature: whether no training document has it, so that its weight comes from
        word vectors. None: each feature is of a training document.
    trained : (n,) uint64, optional
        The smallest content hashes of the training documents; see `CorpusCounts.trained_hashes`.
        None: not known, or the counts have them.
    longest_piece : int, optional
        Characters of the longest piece of a word among the features; None: no feature is one. See
        `word_pieces`.
    piece_ranks : (n_features,) int32, optional
        The order in which pieces are joined to form words; 0 for other features. None: words are
        divided into the longest pieces.
    view_choice : ViewChoice, optional
        The views that training selected. None: the settings name the features, or words alone are
        best.
    """

    task: Task
    feature_settings: FeatureSettings
    model_settings: ModelSettings
    vocabulary: Vocabulary | None
    columns: Integers | None
    weighting: Weighting
    scorer: LinearScorer
    hyperparameters: Hyperparameters
    unlabeled: Unlabeled | None = None
    approximate: Strings = ()
    is_model_selected: bool = False
    is_binary_selected: bool = False
    label_type: str = "str"
    input: ModelInput = UNKNOWN_INPUT
    label_columns: Annotated[int | None, Limits(0, MAX_LABEL_COLUMNS)] = None
    documents: DocumentNumbers | None = None
    full_features: int | None = None
    untrained: Bytes | None = None
    trained: Hashes | None = None
    view_choice: ViewChoice | None = None
    longest_piece: Annotated[int | None, Limits(1, MAX_PIECE_WORD)] = None
    piece_ranks: Integers32 | None = None

    @property
    def kind(self) -> TaskKind:
        """The record of the task."""
        return TASKS[self.task.name]

    def are_untrained(self, features: Integers | Integers32) -> Mask:
        """Return whether no training document has these features."""
        if self.untrained is None:
            return np.zeros(len(features), bool)
        return np.unpackbits(self.untrained).astype(bool)[features]

    @property
    def is_left_out(self) -> bool:
        """Whether the estimate comes from leaving out one document after the other, not from
        folds.
        """
        is_counting = self.hyperparameters.C is None and self.unlabeled is None
        return is_counting and self.full_features is None and self._n_folds is None

    @property
    def estimated_by(self) -> str:
        """By which method the accuracy was estimated: "leave-one-out", or such as "5 folds"."""
        if self.is_left_out or self.estimate is None:
            return "leave-one-out"
        return number_of(self._n_folds or self.model_settings.folds, "fold")

    @property
    def _n_folds(self) -> int | None:
        """The number of folds, where the estimate tells it."""
        return getattr(self.estimate, "folds", None)

    def check_takes_texts(self) -> None:
        """Raise ModelError if the features are the columns of a matrix that TextClassifier was
        fitted to.
        """
        if self.input.matrix_columns is not None:
            raise ModelError(
                "the model was trained on the columns of a matrix, not on words",
                hint="give TextClassifier a matrix with the same columns, or train on texts",
            )

    @property
    def labels(self) -> Labels:
        """The labels, sorted by code point; class k is `labels[k]`."""
        return self.task.labels

    @property
    def log_prior(self) -> Floats:
        """Natural logarithm of the prior probability of each label, (n_labels,)."""
        return self.task.log_prior

    @property
    def calibration(self) -> Calibration:
        """The calibration of labels that exclude each other; empty if they do not."""
        return self.task.calibration

    @cached_property
    def scaled_scorer(self) -> LinearScorer:
        """The scorer times the scales of the labels, for what shows or exports its weights.
        Predicting scales the scores, which is faster.
        """
        scales = self.calibration.label_scales
        return self.scorer if scales is None else self.scorer.scale_labels(scales)

    @property
    def estimate(self) -> Any:
        """The leave-one-out estimate for new documents; None if no document could be left out."""
        return self.task.estimate

    def check_one_label(
        self, what: str, hint: str = "train on documents with one label each"
    ) -> None:
        """Raise ModelError if documents can have several labels; `what` is what needs one."""
        if not self.kind.has_one_label:
            raise ModelError(f"a {self.kind.title} model cannot {what}", hint=hint)

    @property
    def requested_settings(self) -> tuple[FeatureSettings, ModelSettings]:
        """The settings as they were given: with `auto` if leave-one-out selected the event
        model.
        """
        features = self.feature_settings
        model_settings = self.model_settings
        if self.is_binary_selected:
            features = replace(features, tf="count")
        return features, replace(
            model_settings, model=AUTO
        ) if self.is_model_selected else model_settings

    @property
    def label_values(self) -> list[str | int | float]:
        """The labels in the type in which they were given."""
        return [LABEL_TYPES[self.label_type](label) for label in self.labels]

    @property
    def views(self) -> list[View]:
        """The views of a document, in the order of their features; one if the settings name
        none.
        """
        settings = self.feature_settings
        vocabulary = self.vocabulary
        if not settings.view or vocabulary is None:
            return [View(settings, vocabulary, self.weighting)]
        weightings = self.weighting.split(find_views(vocabulary, settings.view))
        return list(
            map(View, settings.of_views, split_views(vocabulary, settings.view), weightings)
        )

    def weigh(self, indptr: Array, indices: Integers32, counts: Array) -> Array:
        """Return the weight of each entry of rows: of counts, by the weighting; those of a matrix
        of weights stay.

        raises  ModelError: the model needs counts, and these are weights
        """
        weighting = self.weighting
        if counts.dtype.kind in "iu" or (weighting.is_counting and weighting.tf == "binary"):
            return weighting.weights(indptr, indices, counts)
        if weighting.is_counting and not self.feature_settings.is_counting:
            raise ModelError(
                "this model needs counts, and the matrix contains weights",
                hint="make the matrix with nbtext vectorize --weighting counts, or with --like MODEL",
            )
        return counts

    def evidence(self, documents: DocumentTable) -> Evidence:
        """Return the scores of documents over the model's features, and their lengths.

        They are the parameters of methods of the task.
        """
        weights = self.weighting.weights(documents.indptr, documents.indices, documents.counts)
        scores = self.scorer.scores(documents.indptr, documents.indices, weights)
        return scores, documents.lengths if documents.has_lengths else documents.totals

    def class_of(self, label: str) -> int:
        """Return the number of a label's class.

        Raises
        ------
        SettingsError
            The model has no such label; the message suggests a similar one.
        """
        require_label(label, self.labels)
        return self.labels.index(label)


@frozen_object
class TrainedModel:
    """A fitted model and the counts that it was fitted to: what a model file holds.

    Predicting does not need the counts, so a model file's are read when they are first used. That
    of a linear model has none, unless it was trained with `keep_sample`.

    load_counts  returns the counts; None: there are none
    """

    fitted: FittedModel
    load_counts: Callable[[], CorpusCounts] | None

    @cached_property
    def counts(self) -> CorpusCounts:
        """The counts; ModelError if there are none."""
        if self.load_counts is None:
            if self.fitted.full_features is not None:
                raise ModelError(
                    "the model was made smaller: it holds no counts, so it cannot grow or be trained on",
                    hint="use the model in full, or train it again",
                )
            raise ModelError(
                "the command needs the counts of the training documents, which the model file does not hold",
                hint="train it with ‹keep_sample› N",
            )
        return self.load_counts()

    @property
    def statistics(self) -> ClassStatistics:
        """The class statistics of the counts; if there are none, those of documents without
        features.
        """
        documents = self.fitted.documents
        if self.load_counts is not None or documents is None:
            return self.counts.statistics
        bounds = np.zeros(self.fitted.scorer.n_features + 1, np.int64)
        none = bounds[:0]
        totals = None
        if not self.fitted.kind.has_one_label:
            totals = Totals(documents.total, bounds[1:], bounds[1:])
        return ClassStatistics(
            np.array(documents.of_labels), bounds, none.astype(np.int32), none, none, totals=totals
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return make_trained_model, (self.fitted, self.load_counts and self.counts)


def make_trained_model(fitted: FittedModel, counts: CorpusCounts | None) -> TrainedModel:
    """Return a model whose counts are in memory; None: it has none."""
    if counts is not None and len(counts.sample):
        is_retained = fitted.model_settings.keep_sample is not None
        fitted = replace(fitted, trained=None if is_retained else counts.trained_hashes)
    return TrainedModel(fitted, None if counts is None else lambda: counts)


@frozen
class TargetDecision:
    """A target of a model (`min_recall`, `min_precision`), what left-out documents say of it, and
    how the model meets it.

    metric           `recall` or `precision`
    target           the value to reach
    found            the value on left-out documents; None: it was not estimated
    low              its lower bound, with the confidence of the target
    min_probability  the label is predicted from this probability on; None: see `offset`
    offset           is added to the log-probability of the label; None: nothing is
    """

    metric: str
    label: str
    target: float
    found: Proportion | None
    low: float | None
    min_probability: float | None = None
    offset: float | None = None


def list_targets(model: FittedModel) -> tuple[TargetDecision, ...]:
    """Return the targets of a model."""
    settings = model.model_settings
    offsets = model.calibration.decision_offsets
    minimums = model.calibration.min_probabilities
    decisions = []
    estimated = getattr(model.estimate, "targets", ())
    for (metric, label, target), found in zip_longest(settings.targets, estimated):
        k = model.class_of(label)
        low = found and found.lower_bound(settings.confidence)
        decision = TargetDecision(metric, label, target, found, low)
        if metric == "precision" and minimums is not None and minimums[k] > 0:
            decision = replace(decision, min_probability=float(minimums[k]))
        elif offsets is not None and len(model.labels) > 2:
            decision = replace(decision, offset=float(offsets[k]))
        elif offsets is not None:
            odds = exp(min(MAX_LOG_ODDS, offsets[k] - offsets[1 - k]))
            decision = replace(decision, min_probability=float(1 / (1 + odds)))
        decisions.append(decision)
    return tuple(decisions)


def parts_fitted_to_documents(model: FittedModel) -> list[str]:
    """Return the names of the parts of a model that are fitted to leave-one-out scores."""
    settings = model.model_settings
    is_combined = settings.model == COMBINED
    parts = {
        "model": model.is_model_selected,
        "weights": is_combined,
        "smoothing": settings.smoothing is None and not is_combined,
        "calibration": settings.calibrate,
        "decision_offsets": settings.optimize is not None or settings.targets,
        "outlier_threshold": True,
        "thresholds": True,
        "nonconformity": True,
    }
    return [name for name in model.task.parts if parts[name]]


def check_kinds(one: TrainedModel, other: TrainedModel) -> None:
    """Raise ModelError unless both models give each document one label, or both several."""
    if one.fitted.task.name != other.fitted.task.name:
        raise ModelError(
            "one of the models gives documents several labels, and the other gives one",
            hint="train the models on the same kind of documents",
        )


def are_columns(labels: Iterable[str], n_columns: int) -> bool:
    """Return whether labels are numbers of the columns of an indicator matrix."""
    return are_labels_of("int", labels) and all(0 <= int(label) < n_columns for label in labels)


def check_same_settings(one: TrainedModel, other: TrainedModel) -> None:
    """Raise ModelError, which names the setting, unless both models have the same settings and
    types of labels.
    """
    check_kinds(one, other)
    if one.fitted.input.matrix_columns != other.fitted.input.matrix_columns:
        raise ModelError(
            "the models were trained on matrices of different width, or one on texts",
            hint="train them on matrices with the same columns",
        )
    if one.fitted.label_type != other.fitted.label_type:
        raise ModelError(
            f"the labels of one model are {one.fitted.label_type}, and those of the other {other.fitted.label_type}",
            hint="train the models on labels of one type",
        )
    for mine, theirs in zip(
        one.fitted.requested_settings, other.fitted.requested_settings, strict=True
    ):
        names = (field.name for field, _ in list_settings(type(mine)))
        found = describe_difference(mine, theirs, names)
        if found is not None:
            raise ModelError(
                f"the models {found}",
                hint="train them with the same options, or one with ‹like› set to the other",
            )

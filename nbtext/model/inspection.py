"""Inspection of a model: its sizes, its settings, and the most characteristic features of each
label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.arrays import Array, Floats, Integers
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.diagnostics import Part, Unlabeled, ViewChoice
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.scorer import ClassWeights
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.errors import ModelError, number_of
from nbtext.features.analyzer import Analyzer
from nbtext.features.counting import find_known_columns
from nbtext.features.csr import select_class
from nbtext.features.hashing import buckets
from nbtext.features.matrix import Matrix
from nbtext.features.selection import chi_squared, mutual_information
from nbtext.features.settings import VIEW_END
from nbtext.model.fitted_model import TargetDecision, TrainedModel, list_targets
from nbtext.model.fitting import align_to_vocabulary
from nbtext.numerics import exp, log
from nbtext.records import Strings, frozen

if TYPE_CHECKING:
    from nbtext.model.several_labels import LabelDecision


@frozen
class FeatureView:
    """The weights and counts of a feature in one class."""

    feature: str
    log_odds: float  # its weight in the class minus the mean of its weights in the others
    # log-odds ratio of the class against all others, in standard deviations; None: no counts
    z: float | None
    # of its binary counts and the label, in nats; the same in every class
    mutual_information: float | None
    # of its occurrences and the label; the same in every class; None: several labels
    chi_squared: float | None
    occurrences: float | None  # in the class; None: no counts
    documents: float | None  # of the class that have it; None if they were not counted

    @property
    def is_untrained(self) -> bool:
        """Whether no training document has it: without counts, no other number is known."""
        return self.documents == 0 and self.z is None


class Inspector:
    """Computes the weights and counts of a trained model's features, one class at a time."""

    def __init__(self, model: TrainedModel) -> None:
        fitted = model.fitted
        self._fitted = fitted
        self.labels = fitted.labels
        self.statistics = statistics = used_statistics(model)
        self.has_counts = model.load_counts is not None
        self.compares = fitted.kind.compares
        # labels that a label is compared with
        self._n_others = len(self.labels) - 1 if self.compares else 0
        self._weights = ClassWeights(fitted.task.scorer_of_labels(fitted.scaled_scorer))
        self._sums = self._weights.sums()
        # what z compares: the counts of features in each class, and the largest possible ones
        settings = fitted.model_settings
        if not settings.is_linear and settings.event_model.cells in ("binary", "values"):
            self._counts = statistics.documents
            self._totals = statistics.class_documents
            self._everywhere = statistics.document_frequencies
            self._whole = float(statistics.n_documents)
        else:
            self._counts = statistics.occurrences
            self._totals = statistics.class_occurrences
            self._everywhere = statistics.feature_occurrences
            self._whole = float(self._everywhere.sum())

    def name(self, column: int) -> str:
        """Return the feature of a column; of a hashed column its number."""
        features = self._fitted.vocabulary
        return f"#{column}" if features is None else features.term(column)

    def log_odds(self, k: int) -> Floats:
        """Return each feature's weight in a class minus the mean of its weights in the other
        classes, (n_features,).
        """
        return self._against_others(self._weights.of(k), self._sums)

    def _against_others(self, own: Floats, sums: Floats) -> Floats:
        """Return weights minus the mean of the weights in the other classes, given the sums of all
        classes' weights.
        """
        return own - (sums - own) / self._n_others if self._n_others else own

    def _z(self, k: int, columns: Integers, counts: Array) -> Floats:
        """Return the z-score of features with these counts in a class."""
        return z_scores(counts, float(self._totals[k]), self._everywhere[columns], self._whole)

    @cached_property
    def mutual_information(self) -> Floats:
        return mutual_information(self.statistics.entries, self.statistics.class_documents)

    @cached_property
    def chi_squared(self) -> Floats:
        return chi_squared(
            self.statistics.entries, self.statistics.occurrences, self.statistics.class_documents
        )

    def best(self, k: int, by: str, n_features: int) -> Integers:
        """Return the columns of the n most characteristic features of a class, best first; ties by
        column.
        """
        if not self.has_counts and by != "log-odds":
            raise ModelError(
                "needs the counts of the training documents, which the model file does not hold",
                where=f"‹by={by}›",
                hint="use ‹by=log-odds›, or train it with ‹keep_sample› N",
            )
        if not self.compares and by in ("mi", "chi2"):
            raise ModelError(
                "association with the label is not defined for documents with several labels",
                where=f"‹by={by}›",
                hint="use ‹by=z›, log-odds or frequency",
            )
        if by == "mi" and not self.statistics.knows_documents:
            raise ModelError(
                "the model file lacks the document frequencies of the features",
                where="‹by=mi›",
                hint="use ‹by=z›, or train on the texts",
            )
        statistics = self.statistics
        if by == "log-odds":
            columns = np.arange(statistics.n_features)
            scores = self.log_odds(k)
        else:
            entries = np.flatnonzero(statistics.classes == k)
            columns = self._entry_features[entries]
            if by == "frequency":
                scores = statistics.occurrences[entries].astype(np.float64)
            elif by == "z":
                scores = self._z(k, columns, self._counts[entries])
            else:
                columns = columns[self._most_frequent_class[columns] == k]
                scores = (self.mutual_information if by == "mi" else self.chi_squared)[columns]
        best = np.flatnonzero(scores > 0)
        n_others = len(best) - n_features
        if n_features and n_others > 0:  # a part is sorted faster
            best = best[scores[best] >= np.partition(scores[best], n_others)[n_others]]
        best = best[np.argsort(-scores[best], kind="stable")[:n_features]]
        return np.asarray(columns[best], np.int64)

    def views(self, k: int, columns: Sequence[int] | Integers) -> Iterator[FeatureView]:
        """Yield the weights and counts of these columns in a class."""
        columns = np.array(columns, np.int64)
        statistics = self.statistics
        log_odds = self._against_others(self._weights.at(k, columns), self._sums[columns])
        occurrences, documents, counts = (
            select_class(statistics.indptr, statistics.classes, each, columns, k)
            for each in (statistics.occurrences, statistics.documents, self._counts)
        )
        z = self._z(k, columns, counts)
        has_counts = self.has_counts
        is_known = has_counts and statistics.knows_documents
        is_untrained = self._fitted.are_untrained(columns).tolist()
        for place, j in enumerate(columns.tolist()):
            none = 0 if is_untrained[place] else None
            yield FeatureView(
                self.name(j),
                float(log_odds[place]),
                float(z[place]) if has_counts else None,
                float(self.mutual_information[j]) if is_known and self.compares else None,
                float(self.chi_squared[j]) if has_counts and self.compares else None,
                occurrences[place].item() if has_counts else none,
                documents[place].item() if is_known else none,
            )

    @cached_property
    def _most_frequent_class(self) -> Integers:
        """The class whose documents have each feature most frequently, (n_features,).

        If documents were not counted, it is the class with the most occurrences per document.
        """
        statistics = self.statistics
        counts = statistics.documents if statistics.knows_documents else statistics.occurrences
        share = counts / np.maximum(statistics.class_documents, 1)[statistics.classes]
        order = np.lexsort((statistics.classes, -share, self._entry_features))
        best = np.full(statistics.n_features, -1, np.int64)
        used = np.flatnonzero(np.diff(statistics.indptr))
        best[used] = statistics.classes[order][statistics.indptr[used]]
        return best

    @cached_property
    def _entry_features(self) -> Integers:
        return self.statistics.entry_features


def used_statistics(model: TrainedModel) -> ClassStatistics:
    """Return the class statistics of the features that the model uses, in the order of its
    columns.
    """
    if model.load_counts is None:
        return model.statistics
    counts = align_to_vocabulary(model.counts, model.fitted.feature_settings)
    features = model.fitted.vocabulary
    if features is None or counts.vocabulary is None or len(features) == len(counts.vocabulary):
        return counts.statistics
    columns = find_known_columns(features, counts.vocabulary)
    own = np.flatnonzero(columns >= 0)  # a word of a table of vectors may have no document
    return counts.statistics.restrict(columns[own].astype(np.int64)).align(own, len(features))


# added to each count, so that none is zero (Haldane and Anscombe's correction)
HALDANE_CORRECTION = 0.5


def z_scores(counts: Array, total: float, everywhere: Array, whole: float) -> Floats:
    """Return the log-odds ratio of each feature in a class against all other classes, in standard
    deviations.

    A rare feature may have large log-odds by chance; its standard deviation is large then. Let a be
    the count of the feature and b that of all others in the class, c and d the same in all other
    classes, ½ added to each. Then z = (ln a/b − ln c/d) / √(1/a + 1/b + 1/c + 1/d).

    counts      (n_features,), counts in the class; `total` is the largest possible one: its tokens,
                or its documents
    everywhere  (n_features,), counts in all classes; `whole` is the largest possible one
    source      Monroe, Colaresi, Quinn, Fightin' Words, 2008, section 3.3; the variance: Gart and
                Zweifel, On the Bias of Various Estimators of the Logit and Its Variance, 1967
    """
    own = counts + HALDANE_CORRECTION
    others = everywhere - counts + HALDANE_CORRECTION
    # sums beyond 2^53 are rounded
    own_rest = np.maximum(total - counts, 0) + HALDANE_CORRECTION
    others_rest = np.maximum(whole - total - (everywhere - counts), 0) + HALDANE_CORRECTION
    log_odds = log(own) - log(own_rest) - log(others) + log(others_rest)
    return np.asarray(
        log_odds / np.sqrt(1 / own + 1 / own_rest + 1 / others + 1 / others_rest), np.float64
    )


@frozen
class LabelView:
    """The counts and features of a label."""

    label: str
    documents: float
    occurrences: float | None  # of features, in all its documents; None: the model holds no counts
    prior: float | None  # a probability; None if the model has no prior
    bias: float  # the score of a document without features, including the prior
    features: tuple[FeatureView, ...]  # the most characteristic ones, by decreasing criterion `by`


@frozen
class WordView:
    """The feature of a word that the user typed, and its values in each class."""

    word: str
    feature: str | None  # None: out of vocabulary
    classes: tuple[tuple[str, FeatureView], ...]


@frozen
class ConfusionView:
    """Two labels, and the number of left-out documents of each that are predicted as the other."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int


@frozen
class Inspection:
    """A summary of a model; `mu`, `alpha` and `decisions` are of one whose documents can have
    several labels.
    """

    model: str
    documents: float  # a whole number, or the sum of their weights, as after EM
    n_labels: int
    n_features: int
    occurrences: float | None  # None: the model holds no counts
    smoothing: float | None  # of an event model
    C: float | None  # inverse regularization strength of a linear model
    parts: tuple[Part, ...]  # of a combination
    n_corrected: int | None  # features of a combination whose weights are corrected
    view_choice: ViewChoice | None  # what selected views bring; None: none were selected
    is_converged: bool | None  # whether the solver of a linear model met its tolerance
    # how smoothing or C was selected: "leave-one-out", "folds", "default", or "given"
    chosen_by: str
    calibration: tuple[float, float] | None  # a and b of the temperature a · L^b
    # the leave-one-out estimate: accuracy, log-loss, number of documents, and the 95 % interval of
    # the accuracy; None where there is none, as with several labels
    expected: dict[str, Any] | None
    estimated_by: str  # "leave-one-out", or such as "5 folds"
    confused: tuple[ConfusionView, ...]  # by decreasing number of documents in both directions
    outlier_threshold: float | None  # log-likelihood per token, in nats
    targets: tuple[TargetDecision, ...]  # of recall and precision
    # how the model was trained on unlabeled documents; None: it was not
    unlabeled: Unlabeled | None
    # parameters that were fitted to other documents than the model has now
    approximate: Strings
    settings: dict[str, Any]  # those that differ from the default
    has_names: bool  # whether features are shown as words, not as hashed columns
    by: str
    labels: tuple[LabelView, ...]
    words: tuple[WordView, ...] = ()
    mu: float | None = None  # of the smoothing towards the corpus; None: the model is linear
    alpha: float | None = None  # of the contrast with the other labels; None: it is not used
    decisions: tuple[LabelDecision, ...] | None = None  # None: each document has one label


@frozen
class MatrixInspection:
    """A summary of a matrix file."""

    documents: int
    features: int | None  # number of columns
    entries: int  # number of values that are not zero
    kind: str  # "counts" or "weights"
    labels: tuple[tuple[str | None, int], ...]  # with their numbers of documents; None: no label
    settings: dict[str, Any]  # those that differ from the default


def inspect_model(
    model: TrainedModel,
    *,
    n_features: int = 20,
    by: str | None = None,
    labels: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Inspection:
    """Return a summary of a trained model.

    Parameters
    ----------
    n_features
        Number of features of each label.
    by
        The criterion that ranks features, one of CRITERIA; None: z, for linear models log-odds.
        With mi and chi2, a feature is listed for the label whose documents have it most frequently.
    labels
        The labels to show; empty: all.
    words
        Words to look up.

    Raises
    ------
    SettingsError
        The model lacks a label.
    """
    has_z = model.load_counts is not None and not model.fitted.model_settings.is_linear
    by = by or ("z" if has_z else "log-odds")
    inspector = Inspector(model)
    fitted = model.fitted
    settings = fitted.model_settings
    scorer = fitted.scaled_scorer
    hyperparameters = fitted.hyperparameters
    statistics = inspector.statistics
    expected = fitted.estimate
    temperature = fitted.calibration.temperature
    priors = exp(fitted.log_prior)
    classes = [fitted.class_of(label) for label in labels] or range(len(fitted.labels))
    views = []
    for k in classes:
        shown = tuple(inspector.views(k, inspector.best(k, by, n_features)))
        occurrences = statistics.class_occurrences[k].item() if inspector.has_counts else None
        prior = None if settings.is_linear else float(priors[k])
        n_documents = statistics.class_documents[k].item()
        views.append(
            LabelView(fitted.labels[k], n_documents, occurrences, prior, scorer.bias_of(k), shown)
        )
    confused = tuple(
        ConfusionView(
            fitted.labels[pair.first],
            fitted.labels[pair.second],
            pair.first_as_second,
            pair.second_as_first,
        )
        for pair in getattr(expected, "confused", ())
        if pair.first in classes or pair.second in classes
    )
    found = Inspection(
        model=settings.model,
        documents=statistics.n_documents,
        n_labels=len(fitted.labels),
        n_features=statistics.n_features,
        occurrences=statistics.feature_occurrences.sum().item() if inspector.has_counts else None,
        smoothing=hyperparameters.smoothing
        if hyperparameters.C is None and not hyperparameters.parts
        else None,
        C=hyperparameters.C,
        parts=hyperparameters.parts,
        n_corrected=hyperparameters.n_corrected,
        view_choice=fitted.view_choice,
        is_converged=hyperparameters.is_converged if hyperparameters.C is not None else None,
        chosen_by=_selection_method(model),
        calibration=(temperature.a, temperature.b) if temperature is not None else None,
        expected={
            name: getattr(expected, name) for name in (*expected.FIGURES, "documents", "interval")
        }
        if expected
        else None,
        estimated_by=fitted.estimated_by,
        confused=confused,
        outlier_threshold=fitted.calibration.outlier_threshold,
        targets=list_targets(fitted),
        unlabeled=fitted.unlabeled,
        approximate=fitted.approximate,
        settings=changed_settings(fitted.feature_settings, settings),
        has_names=fitted.feature_settings.hash_bits is None,
        by=by,
        labels=tuple(views),
        words=tuple(_word(inspector, model, word) for word in words),
    )
    return replace(found, **fitted.task.inspect(sorted(classes)))


def changed_settings(*records: Any) -> dict[str, Any]:
    """Return the settings that differ from the default; for a list of words, their number."""
    changed: dict[str, Any] = {}
    for settings in records:
        for field in fields(settings):
            value = getattr(settings, field.name)
            if value != field.default and field.name != "model":
                is_list = field.name in ("vocabulary", "stop_words")
                changed[field.name] = number_of(len(value), "word") if is_list else value
    return changed


def _selection_method(model: TrainedModel) -> str:
    """Return how the smoothing or C was selected."""
    model_settings = model.fitted.model_settings
    if model_settings.is_linear:
        is_default = model_settings.C == ModelSettings().C
        return "folds" if model_settings.C == AUTO else "default" if is_default else "given"
    if model_settings.smoothing is not None:
        return "given"
    event_model = EVENT_MODELS.get(model_settings.model)  # none of several labels
    is_fixed = (event_model is not None and event_model.smoothing) or model.fitted.estimate is None
    return "default" if is_fixed else "leave-one-out"


def _word(inspector: Inspector, model: TrainedModel, word: str) -> WordView:
    column = column_of(model, word)
    if column is None:
        return WordView(word, None, ())
    views = (
        (label, next(inspector.views(k, [column]))) for k, label in enumerate(model.fitted.labels)
    )
    return WordView(word, inspector.name(column), tuple(views))


def column_of(model: TrainedModel, word: str) -> int | None:
    """Return the column of a typed word: of the feature with this name, else of the only feature of
    the word.
    """
    features = model.fitted.vocabulary
    settings = model.fitted.feature_settings
    names = [word]
    for view, own in zip(settings.view or ("",), settings.of_views, strict=True):
        made = list(dict.fromkeys(Analyzer(replace(own, fields=()))(word)))
        if len(made) == 1:
            names.append(f"{view}{VIEW_END}{made[0]}" if view else made[0])
    if features is None:
        return int(buckets(names[-1:], settings.hash_bits or 0)[0])
    return next((features.columns[name] for name in names if name in features.columns), None)


def inspect_matrix(matrix: Matrix) -> MatrixInspection:
    """Return a summary of a matrix of documents."""
    lists = ((None,) if labels is None else labels for labels in matrix.batch().list_labels())
    labels = Counter(label for own in lists for label in own)
    # the number of those without a label is the last one
    counted = tuple(sorted(labels.items(), key=lambda each: (each[0] is None, each[0] or "")))
    columns = matrix.columns
    assert columns is not None  # of a file with names
    weights = matrix.csr()
    kind = "counts" if weights.dtype.kind in "iu" else "weights"
    changed = changed_settings(columns.settings)
    n_documents, n_columns = weights.shape
    return MatrixInspection(n_documents, n_columns, weights.nnz, kind, counted, changed)

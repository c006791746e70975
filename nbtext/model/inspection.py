"""Inspection of a model: its sizes, its settings, and the most characteristic features of each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.diagnostics import Unlabeled
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.features.analyzer import Analyzer
from nbtext.features.hashing import buckets
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.inspector import FeatureView, Inspector, Names

if TYPE_CHECKING:
    from nbtext.bayes.label_selection import MultilabelFit
    from nbtext.documents.matrix import Matrix


@dataclass(frozen=True, slots=True)
class LabelView:
    """The counts and features of a label."""

    label: str
    documents: float
    occurrences: float  # of features, in all its documents
    prior: float | None  # a probability; None if the model has no prior
    bias: float  # the score of a document without features, including the prior
    features: tuple[FeatureView, ...]  # the most characteristic ones, by decreasing criterion `by`


@dataclass(frozen=True, slots=True)
class Hyperplane:
    """A model of two labels: bias + Σ weight · value is the log-odds of `positive` against `negative`."""

    positive: str
    negative: str
    bias: float
    weights: tuple[tuple[str, float], ...]  # of the most characteristic features, by decreasing weight


@dataclass(frozen=True, slots=True)
class WordView:
    """The feature of a word that the user typed, and its values in each class."""

    word: str
    feature: str | None  # None: out of vocabulary
    classes: tuple[tuple[str, FeatureView], ...]


@dataclass(frozen=True, slots=True)
class ConfusionView:
    """Two labels, and the number of left-out documents of each that are predicted as the other."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int


@dataclass(frozen=True, slots=True)
class LabelDecision:
    """When a label is predicted, if documents can have several labels."""

    label: str
    threshold: float  # the probability from which it is predicted
    f1: float | None  # leave-one-out; None: no document could be left out
    is_fallback: bool  # whether its F1 was too low for a threshold of its own (FBR.1)


@dataclass(frozen=True, slots=True)
class Inspection:
    """A summary of a model; `mu`, `alpha` and `decisions` are of one whose documents can have several labels."""

    model: str
    documents: float  # a whole number, or the sum of their weights if older documents weigh less
    n_labels: int
    n_features: int
    occurrences: float
    smoothing: float | None  # of an event model
    C: float | None  # inverse regularization strength of a linear model
    is_converged: bool | None  # whether the solver of a linear model met its tolerance
    chosen_by: str  # how smoothing or C was selected: "leave-one-out", "folds", "default", or "given"
    calibration: tuple[float, float] | None  # a and b of the temperature a · L^b
    expected: dict[str, float] | None  # the leave-one-out estimate: accuracy, log-loss and number of documents
    confused: tuple[ConfusionView, ...]  # by decreasing number of documents in both directions
    outlier_threshold: float | None  # log-likelihood per token, in nats
    unlabeled: Unlabeled | None  # how the model was trained on unlabeled documents; None: it was not
    approximate: tuple[str, ...]  # parameters that were fitted to other documents than the model has now
    settings: dict[str, Any]  # those that differ from the default
    has_names: bool  # whether features are shown as words, not as hashed columns
    by: str
    labels: tuple[LabelView, ...]
    hyperplane: Hyperplane | None
    words: tuple[WordView, ...] = ()
    mu: float | None = None  # of the smoothing towards the corpus; None: the model is linear
    alpha: float | None = None  # of the contrast with the other labels; None: it is not used
    decisions: tuple[LabelDecision, ...] | None = None  # None: each document has one label


@dataclass(frozen=True, slots=True)
class MatrixInspection:
    """A summary of a matrix file."""

    documents: int
    features: int | None  # number of columns
    entries: int  # number of values that are not zero
    kind: str  # "counts" or "weights"
    labels: tuple[tuple[str | None, int], ...]  # with their numbers of documents; None: no label
    settings: dict[str, Any]  # those that differ from the default


def inspect(
    model: TrainedModel,
    *,
    n_features: int = 20,
    by: str | None = None,
    labels: Sequence[str] = (),
    words: Sequence[str] = (),
    names: Names | None = None,
) -> Inspection:
    """Return a summary of a trained model.

    Parameters
    ----------
    n_features
        Number of features of each label.
    by
        The criterion that ranks features, one of CRITERIA; None: z, for linear models log-odds. With mi and chi2, a
        feature is listed for the label whose documents have it most frequently.
    labels
        The labels to show; empty: all.
    words
        Words to look up.
    names
        Names of hashed features, from `invert_hashes`.

    Raises
    ------
    SettingsError
        The model lacks a label.
    """
    by = by or ("log-odds" if model.fitted.model_settings.is_linear else "z")
    inspector, fitted = Inspector(model, names), model.fitted
    hyperparameters, temperature = fitted.hyperparameters, fitted.calibration.temperature
    statistics, expected = inspector.statistics, fitted.estimate
    priors = _priors(model)
    classes = [model.fitted.class_of(label) for label in labels] or range(len(model.fitted.labels))
    fit: MultilabelFit | None = fitted.task.fit
    smoothing = None if fit is None else fit.smoothing
    return Inspection(
        model.fitted.model_settings.model,
        inspector.n_documents,
        len(model.fitted.labels),
        statistics.n_features,
        inspector.n_occurrences,
        hyperparameters.smoothing if hyperparameters.C is None and fit is None else None,
        hyperparameters.C,
        hyperparameters.is_converged if hyperparameters.C is not None else None,
        _selection_method(model),
        (temperature.a, temperature.b) if temperature is not None else None,
        {name: getattr(expected, name) for name in (*expected.FIGURES, "documents")} if expected else None,
        _confused(model, classes),
        fitted.calibration.outlier_threshold,
        model.fitted.unlabeled,
        fitted.approximate,
        changed_settings(model),
        model.fitted.feature_settings.hash_bits is None or names is not None,
        by,
        tuple(_label(inspector, model, k, priors, inspector.best(k, by, n_features)) for k in classes),
        _hyperplane(inspector, model, by, n_features),
        tuple(_word(inspector, model, word) for word in words),
        None if smoothing is None else smoothing.mu,
        None if smoothing is None else smoothing.alpha,
        None if fit is None else tuple(_decision(fit, fitted.labels, k) for k in sorted(classes)),
    )


def _decision(fit: MultilabelFit, labels: Sequence[str], k: int) -> LabelDecision:
    f1 = None if fit.estimate is None else float(fit.estimate.label_f1[k])
    return LabelDecision(labels[k], float(fit.thresholds[k]), f1, k in fit.fallback)


def changed_settings(model: TrainedModel) -> dict[str, Any]:
    """Return the settings that differ from the default; for a list of words, their number."""
    changed: dict[str, Any] = {}
    for settings in (model.fitted.feature_settings, model.fitted.model_settings):
        for field in fields(settings):
            value = getattr(settings, field.name)
            if value != field.default and field.name != "model":
                is_list = field.name in ("vocabulary", "stop_words")
                changed[field.name] = f"{len(value):,} words" if is_list else value
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


def _priors(model: TrainedModel) -> Floats | None:
    """Return the prior probability of each label; None if the model has no prior."""
    if model.fitted.model_settings.is_linear:
        return None
    return np.exp(model.fitted.log_prior)


def _label(
    inspector: Inspector, model: TrainedModel, k: int, priors: Floats | None, columns: NDArray[np.int64]
) -> LabelView:
    statistics = inspector.statistics
    return LabelView(
        model.fitted.labels[k],
        statistics.class_documents[k].item(),
        statistics.class_occurrences[k].item(),
        float(priors[k]) if priors is not None else None,
        model.fitted.scorer.bias_of(k),
        tuple(inspector.views(k, columns)),
    )


def _confused(model: TrainedModel, classes: Sequence[int]) -> tuple[ConfusionView, ...]:
    """Return the pairs of labels that are confused most often and contain one of these classes."""
    expected, labels = model.fitted.estimate, model.fitted.labels
    return tuple(
        ConfusionView(labels[pair.first], labels[pair.second], pair.first_as_second, pair.second_as_first)
        for pair in getattr(expected, "confused", ())
        if pair.first in classes or pair.second in classes
    )


def _hyperplane(inspector: Inspector, model: TrainedModel, by: str, n_features: int) -> Hyperplane | None:
    """Return the hyperplane of a model of two labels, with the weights of the shown features; otherwise None."""
    if len(model.fitted.labels) != 2 or not inspector.has_association:
        return None
    weights = inspector.log_odds(1)
    shown = np.unique(np.concatenate([inspector.best(k, by, n_features) for k in (0, 1)]))
    order = shown[np.argsort(-weights[shown], kind="stable")]
    scorer = model.fitted.scorer
    return Hyperplane(
        model.fitted.labels[1],
        model.fitted.labels[0],
        scorer.bias_of(1) - scorer.bias_of(0),
        tuple((inspector.name(j), float(weights[j])) for j in order.tolist()),
    )


def _word(inspector: Inspector, model: TrainedModel, word: str) -> WordView:
    column = column_of(model, word)
    if column is None:
        return WordView(word, None, ())
    views = ((label, next(inspector.views(k, [column]))) for k, label in enumerate(model.fitted.labels))
    return WordView(word, inspector.name(column), tuple(views))


def column_of(model: TrainedModel, word: str) -> int | None:
    """Return the column of a typed word: of the feature with this name, else of the only feature of the word."""
    features, settings = model.fitted.vocabulary, model.fitted.feature_settings
    made = list(dict.fromkeys(Analyzer(replace(settings, fields=()))(word)))
    names = [word, *made] if len(made) == 1 else [word]
    if features is None:
        return int(buckets(names[-1:], settings.hash_bits or 0)[0])
    return next((features.columns[name] for name in names if name in features.columns), None)


def inspect_matrix(matrix: Matrix) -> MatrixInspection:
    """Return a summary of a matrix of documents."""
    from nbtext.features.settings import FeatureSettings

    defaults = FeatureSettings()
    labels = Counter(matrix.labels)
    named = sorted((label, number) for label, number in labels.items() if label is not None)
    return MatrixInspection(
        *matrix.shape,
        len(matrix.data),
        "counts" if matrix.data.dtype.kind in "iu" else "weights",
        (*named, *((None, labels[None]) for _ in range(None in labels))),
        {
            name: value
            for name, value in matrix.settings.items()
            if (tuple(value) if isinstance(value, list) else value) != getattr(defaults, name, ...)
        },
    )

"""What a model has learned: its sizes and settings, and the features that tell its labels apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.scorer import Floats
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.unlabeled import Unlabeled
from nbtext.features.analyzer import Analyzer
from nbtext.features.hashing import buckets
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.inspector import FeatureView, Inspector, Names

if TYPE_CHECKING:
    from nbtext.documents.matrix import Matrix


@dataclass(frozen=True, slots=True)
class LabelView:
    """What the model knows of a label."""

    label: str
    documents: float
    occurrences: float  # of features, in all its documents
    prior: float | None  # a probability; None where the model has none
    bias: float  # the score of a document without features, the prior included
    features: tuple[FeatureView, ...]  # the most telling ones, by falling `by`


@dataclass(frozen=True, slots=True)
class Hyperplane:
    """A model of two labels: bias + Σ weight · value is the log-odds of `positive` against `negative`."""

    positive: str
    negative: str
    bias: float
    weights: tuple[tuple[str, float], ...]  # those of the most telling features, by falling weight


@dataclass(frozen=True, slots=True)
class WordView:
    """What the model knows of a word as it was typed: the feature that it is, and each class's view of it."""

    word: str
    feature: str | None  # None: the model does not know it
    classes: tuple[tuple[str, FeatureView], ...]


@dataclass(frozen=True, slots=True)
class ConfusedView:
    """Two labels, and how many of the documents that were left out were taken for the other's."""

    first: str
    second: str
    first_as_second: int
    second_as_first: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """A model, as far as it can be told in a page."""

    model: str
    documents: float  # a whole number, or the sum of their weights where older ones weigh less
    n_labels: int
    n_features: int
    occurrences: float
    smoothing: float | None  # of an event model
    C: float | None  # inverse regularization strength of a linear model
    is_converged: bool | None  # whether the solver of a linear model met its tolerance
    chosen_by: str  # how the one that there is was found: "leave-one-out", "folds", "default", or "given"
    calibration: tuple[float, float] | None  # a and b of the temperature a · L^b
    expected: dict[str, float] | None  # accuracy, log-loss and the documents that were left out
    confused: tuple[ConfusedView, ...]  # by falling number of documents, either way
    outlier_threshold: float | None  # log-likelihood per token, in nats
    unlabeled: Unlabeled | None  # how unlabeled documents were learned from, if any were
    approximate: tuple[str, ...]  # what was fitted to other documents than it has learned by now
    settings: dict[str, Any]  # those that are not as they are by default
    has_names: bool  # features are shown as words, and not as the columns that words are hashed to
    by: str
    labels: tuple[LabelView, ...]
    hyperplane: Hyperplane | None
    words: tuple[WordView, ...] = ()


@dataclass(frozen=True, slots=True)
class MatrixInspection:
    """A matrix file, as far as it can be told in a page."""

    documents: int
    features: int | None  # columns; that they are hashed, `settings` says
    entries: int  # that are not zero
    kind: str  # "counts" or "weights"
    labels: tuple[tuple[str | None, int], ...]  # with their documents; None: those without a label
    settings: dict[str, Any]  # those that were not as they are by default


def inspect(
    model: TrainedModel,
    *,
    n_features: int = 20,
    by: str | None = None,
    labels: Sequence[str] = (),
    words: Sequence[str] = (),
    names: Names | None = None,
) -> Inspection:
    """Look into a trained model.

    n_features  the most telling features of each label
    by          one of CRITERIA: which are the most telling; z where none is given, for linear models log-odds. By mi
                and chi2, a feature stands with the label in whose documents it is most frequent
    labels      the only labels to look at; all where there are none
    words       words to look up
    names       of hashed features, as `invert_hashes` returns them
    raises      SettingsError: the model does not know a label
    """
    by = by or ("z" if model.fitted.model_settings.model in EVENT_MODELS else "log-odds")
    inspector, fitted = Inspector(model, names), model.fitted
    hyperparameters, temperature = fitted.hyperparameters, fitted.calibration.temperature
    statistics, expected = inspector.statistics, fitted.estimate
    priors = _priors(model)
    chosen = [model.fitted.class_of(label) for label in labels] or range(len(model.fitted.labels))
    return Inspection(
        model.fitted.model_settings.model,
        statistics.n_documents,
        len(model.fitted.labels),
        statistics.n_features,
        statistics.class_occurrences.sum().item(),
        hyperparameters.smoothing if hyperparameters.C is None else None,
        hyperparameters.C,
        hyperparameters.is_converged if hyperparameters.C is not None else None,
        _chosen_by(model),
        (temperature.a, temperature.b) if temperature is not None else None,
        {name: getattr(expected, name) for name in ("accuracy", "log_loss", "documents")} if expected else None,
        _confused(model, chosen),
        fitted.calibration.outlier_threshold,
        model.fitted.unlabeled,
        fitted.approximate,
        changed_settings(model),
        model.fitted.feature_settings.hash_bits is None or names is not None,
        by,
        tuple(_label(inspector, model, k, priors, inspector.best(k, by, n_features)) for k in chosen),
        _hyperplane(inspector, model, by, n_features),
        tuple(_word(inspector, model, word) for word in words),
    )


def changed_settings(model: TrainedModel) -> dict[str, Any]:
    """The settings that are not as they are by default; of a long list of words, how many they are."""
    changed: dict[str, Any] = {}
    for settings in (model.fitted.feature_settings, model.fitted.model_settings):
        for field in fields(settings):
            value = getattr(settings, field.name)
            if value != field.default and field.name != "model":
                is_list = field.name in ("vocabulary", "stop_words")
                changed[field.name] = f"{len(value):,} words" if is_list else value
    return changed


def _chosen_by(model: TrainedModel) -> str:
    modelling = model.fitted.model_settings
    if modelling.is_linear:
        is_default = modelling.C == ModelSettings().C
        return "folds" if modelling.C == AUTO else "default" if is_default else "given"
    if modelling.smoothing is not None:
        return "given"
    is_fixed = EVENT_MODELS[modelling.model].smoothing or model.fitted.estimate is None
    return "default" if is_fixed else "leave-one-out"


def _priors(model: TrainedModel) -> Floats | None:
    """The prior probability of each label, where the model has one."""
    if model.fitted.model_settings.model not in EVENT_MODELS:
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


def _confused(model: TrainedModel, chosen: Sequence[int]) -> tuple[ConfusedView, ...]:
    """The pairs of labels that are confused most, one of them at least a chosen one."""
    expected, labels = model.fitted.estimate, model.fitted.labels
    return tuple(
        ConfusedView(labels[pair.first], labels[pair.second], pair.first_as_second, pair.second_as_first)
        for pair in (expected.confused if expected is not None else ())
        if pair.first in chosen or pair.second in chosen
    )


def _hyperplane(inspector: Inspector, model: TrainedModel, by: str, n_features: int) -> Hyperplane | None:
    """The two labels' model as the one plane between them, and the weights of the features that are shown."""
    if len(model.fitted.labels) != 2:
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
    """The column of a word as it was typed: that of the feature of this name, else of the only one that it makes."""
    features, settings = model.fitted.vocabulary, model.fitted.feature_settings
    made = list(dict.fromkeys(Analyzer(replace(settings, fields=()))(word)))
    names = [word, *made] if len(made) == 1 else [word]
    if features is None:
        return int(buckets(names[-1:], settings.hash_bits or 0)[0])
    return next((features.columns[name] for name in names if name in features.columns), None)


def inspect_matrix(matrix: Matrix) -> MatrixInspection:
    """Look into a matrix of documents."""
    from nbtext.features.settings import FeatureSettings

    usual = FeatureSettings()
    labels = Counter(matrix.labels)
    named = sorted((label, number) for label, number in labels.items() if label is not None)
    return MatrixInspection(
        *matrix.shape,
        len(matrix.data),
        "counts" if matrix.data.dtype.kind in "iu" else "weights",
        (*named, *((None, labels[None]) for _ in range(None in labels))),
        {name: value for name, value in matrix.settings.items() if not _is_usual(value, getattr(usual, name, ...))},
    )


def _is_usual(value: Any, default: Any) -> bool:
    return bool((tuple(value) if isinstance(value, list) else value) == default)

"""The record of an export format, the formats of all applications, checks of what a format
supports, and the parameters of probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from nbtext.bayes.calibration import TemperatureScaling
from nbtext.errors import ModelError, NbtextError
from nbtext.features.analyzer import MARKS_PATTERN, has_own_pattern
from nbtext.features.formulas import format_formula
from nbtext.features.settings import AFTER_COUNTING, FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.fitted_model import FittedModel, View
from nbtext.model.task import OneLabel
from nbtext.records import frozen
from nbtext.registry import list_applications
from nbtext.settings import list_settings

# the settings of features that every exporter translates or checks itself
TRANSLATED = (
    *AFTER_COUNTING,
    "analyzer",
    "ngrams",
    "token_pattern",
    "lowercase",
    "strip_accents",
    "stop_words",
    "hash_bits",
)
MAX_WEIGHTS = 2**28  # features times labels, in a format that writes every weight: 2 GiB


@frozen
class Exporter:
    """A format for other programs.

    suffixes  File suffixes, by which `-o` selects the format.
    summary   One sentence of help.
    check     Raises ModelError if the format does not support a model.
    write     Yields the parts of the file of a model that `check` accepts.
    has_several_labels  Whether it can hold a Naive Bayes model that gives a document several
                        labels.
    """

    suffixes: tuple[str, ...]
    summary: str
    check: Callable[[FittedModel], None]
    write: Callable[[FittedModel], Iterator[bytes]]
    has_several_labels: bool = False


def load_exporters() -> dict[str, Exporter]:
    """Import the formats of all applications, by the values of `--to`.

    Raises
    ------
    NbtextError
        Two formats have the same name.
    """
    found: dict[str, Exporter] = {}
    for application in list_applications():
        for name, place in application.exporters.items():
            if name in found:
                raise NbtextError(f"{application.package}: there is another exporter {name!r}")
            found[name] = application.load(place)
    return found


def named_features(model: FittedModel) -> Vocabulary:
    """Return the features of a model that has one weight for each feature and label.

    Raises
    ------
    ModelError
        The features are hashed, or the model has several weights for each feature and label.
    """
    if model.scorer.derivation is not None:
        what = f"{model.model_settings.model} models, which have several weights for each feature, cannot be exported"
        raise ModelError(what, hint="fit another one to its counts, such as --model multinomial")
    if model.vocabulary is None:
        raise ModelError(
            "hashed features have no names to export", hint="train without --hash-bits"
        )
    return model.vocabulary


def named_views(model: FittedModel) -> Iterator[tuple[View, Vocabulary]]:
    """Yield the views of a model, with their features; see `named_features`."""
    named_features(model)
    for view in model.views:
        assert view.vocabulary is not None  # for the types
        yield view, view.vocabulary


def format_weight(weighting: Weighting, *, log: str, maximum: str, **names: str) -> str:
    """Return the source code of a weight, without idf and norm; `names` are those of `count` and
    `length`.
    """
    variables = {"count": "count", "length": "length", **names}
    return format_formula(weighting.term_frequency.formula, variables, log=log, maximum=maximum)


def check_dense(model: FittedModel) -> None:
    """Raise ModelError if there are too many weights to write each of them."""
    n_weights = len(named_features(model)) * len(model.labels)
    if n_weights > MAX_WEIGHTS:
        hint = (
            "export it as js, which omits default weights, or train with --min-df or --max-features"
        )
        raise ModelError(
            f"the model has {n_weights:,} weights, too many for this format", hint=hint
        )


def find_untranslated(settings: FeatureSettings, translated: Collection[str]) -> str | None:
    """Return the name of a setting that was changed, and that an exporter does not translate; None
    if there is none.
    """
    for field, _ in list_settings(type(settings)):
        if field.name not in translated and getattr(settings, field.name) != field.default:
            return field.name
    return None


def check_analyzer(model: FittedModel) -> None:
    """Raise ModelError if other programs cannot extract the features of the model from a text."""
    named_features(model)
    settings = model.feature_settings
    other = find_untranslated(settings, (*TRANSLATED, "view"))
    if other is not None:
        what = f"a model with the setting `{other}` cannot be exported in this format"
        raise ModelError(what, hint="train without it")
    if has_own_pattern(settings):
        what = "a model with its own --token-pattern cannot be exported in this format"
        raise ModelError(what, hint=f"train with the default --token-pattern, or {MARKS_PATTERN}")


def list_numbers(values: Any) -> list[float] | None:
    return None if values is None else values.tolist()


def probability_parameters(model: FittedModel) -> dict[str, Any]:
    """Return the parameters that convert the scores s of a document with L known tokens to
    probabilities and a label.

    p = softmax(s / (a max(L, 1)^b)), q = (1 - noise) p + noise / n_labels, and the probabilities
    are r = softmax(log q + prior_adjustment). The label is the one with the largest log r + shift,
    where shift are the decision offsets. Without calibration a is 1, b and noise are 0;
    prior_adjustment and shift may be None.
    """
    task: Any = model.task if model.task.is_exclusive else OneLabel(model.labels, model.log_prior)
    calibration = task.calibration
    scaling = calibration.temperature or TemperatureScaling(1.0, 0.0)
    return {
        "a": scaling.a,
        "b": scaling.b,
        "noise": scaling.noise,
        "prior_adjustment": list_numbers(calibration.prior_adjustment),
        "shift": list_numbers(calibration.decision_offsets),
    }


def several_labels_parameters(model: FittedModel) -> dict[str, Any]:
    """Return the parameters that convert the scores of a multi-label model to probabilities and
    labels.

    They are those of `bayes/label_calibration.py`, and the threshold of each label. Empty: the
    model gives one label.
    """
    if model.task.is_exclusive:
        return {}
    task: Any = model.task
    _, combination = task.fit.naive_bayes
    return {
        "weights": list(combination.weights),
        "exponent": combination.exponent,
        "intercept": combination.intercept,
        "prior_weight": combination.prior_weight,
        "slope": combination.slope,
        "priors": task.priors.tolist(),
        "biases": combination.biases.tolist(),
        "thresholds": task.fit.thresholds.tolist(),
    }

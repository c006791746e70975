"""The record of an export format, the formats of all applications, checks of what a format
supports, and the parameters of probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from nbtext.bayes.calibration import TemperatureScaling
from nbtext.errors import ModelError
from nbtext.features.analyzer import MARKS_PATTERN, has_own_pattern
from nbtext.features.formulas import format_formula
from nbtext.features.settings import AFTER_COUNTING, FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.fitted_model import FittedModel, View
from nbtext.records import Strings, frozen
from nbtext.registry import check_kind, left_out, list_applications
from nbtext.settings import list_settings

# the settings of features that every exporter translates or checks itself
TRANSLATED = (
    *AFTER_COUNTING,
    *str.split("analyzer ngrams token_pattern lowercase strip_accents stop_words hash_bits"),
)
# the fields of a calibration that change no label, or are in the weights (`scaled_scorer`)
CHANGE_NO_LABEL = str.split(
    "temperature nonconformity likelihoods outlier_threshold mean_posteriors label_scales"
)
MAX_EXPORTED_WEIGHTS = 2**28  # features times labels, in a format that writes every weight: 2 GiB


@frozen
class Exporter:
    """A format for other programs.

    suffixes  File suffixes, by which `-o` selects the format.
    summary   One sentence of help.
    check     Raises ModelError if the format does not support a model.
    write     Yields the parts of the file of a model that `check` accepts.
    decides   The fields of a calibration, of those that change labels, that the file applies. A
              model with another one is refused.
    """

    suffixes: Strings
    summary: str
    check: Callable[[FittedModel], None]
    write: Callable[[FittedModel], Iterator[bytes]]
    decides: Strings = ()

    def check_model(self, model: FittedModel) -> None:
        """Raise ModelError if the format does not support a model, or what decides on its
        labels.
        """
        model.kind.load("export")(model.task)  # an error, if no program can decide like it
        self.check(model)
        check_decisions(model, self.decides)


def load_exporters() -> dict[str, Exporter]:
    """Import the formats of all applications, by the values of `--to`; one that cannot be imported
    is left out.
    """
    found: dict[str, Exporter] = {}
    for application in list_applications():
        for name, place in application.exporters.items():
            where = f"{application.package}.{place}"
            with left_out(where):
                exporter = application.load(place)
                check_kind(exporter, Exporter, where)
                for function in (exporter.check, exporter.write):
                    check_kind(function, Callable, where)
                found[name] = exporter
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


def format_weight(weighting: Weighting, *, log: str, maximum: str) -> str:
    """Return the source code of a weight, without idf and norm, from `count` and `length`."""
    variables = {"count": "(count)", "length": "(length)"}  # which may be arguments of a macro
    return format_formula(weighting.term_frequency.formula, variables, log=log, maximum=maximum)


def check_dense(model: FittedModel) -> None:
    """Raise ModelError if the weights alone do not tell the labels, or there are too many to write
    each of them.
    """
    model.check_one_label("be exported in this format", "export a Naive Bayes model as js or c")
    n_weights = len(named_features(model)) * len(model.labels)
    if n_weights > MAX_EXPORTED_WEIGHTS:
        hint = (
            "export it as js, which omits default weights, or train with --min-df or --max-features"
        )
        raise ModelError(
            f"the model has {n_weights:,} weights, too many for this format", hint=hint
        )


def check_decisions(model: FittedModel, carried: Collection[str]) -> None:
    """Raise ModelError if another field of the calibration than the carried ones decides on
    labels.
    """
    for name, value in vars(model.calibration).items():
        if value is not None and name not in (*CHANGE_NO_LABEL, *carried):
            what = f"labels of this model depend on its {name.replace('_', ' ')}, which this format does not have"
            hint = "export it as csv, js or c, or train without --optimize and targets, and with --no-calibrate"
            raise ModelError(what, hint=hint)


def check_translated(settings: FeatureSettings, translated: Collection[str]) -> None:
    """Raise ModelError if a setting was changed that an exporter does not translate."""
    for field, _ in list_settings(type(settings)):
        if field.name not in translated and getattr(settings, field.name) != field.default:
            what = f"a model with the setting `{field.name}` cannot be exported in this format"
            raise ModelError(what, hint="train without it")


def check_analyzer(model: FittedModel) -> None:
    """Raise ModelError if other programs cannot extract the features of the model from a text, or
    choose its labels.
    """
    named_features(model)
    settings = model.feature_settings
    check_translated(settings, (*TRANSLATED, "view"))
    if has_own_pattern(settings):
        what = "a model with its own --token-pattern cannot be exported in this format"
        raise ModelError(what, hint=f"train with the default --token-pattern, or {MARKS_PATTERN}")


def list_numbers(model: FittedModel) -> dict[str, Any]:
    """Return the numbers of a model, by the names that they have in programs: floats, arrays, and
    None for an array that the model does not need.

    The sparse weights are those of the scorer; a smaller model has them as `codes`, multiples of
    the `scales`. The others convert the scores s of a document with L known tokens to
    probabilities and labels.

    One label: p = softmax(s / (a max(L, 1)^b)), q = (1 - noise) p + noise / n_labels, and the
    probabilities are r = softmax(log q + prior_adjustment). The label is the one with the largest
    log r + shift, where shift are the decision offsets. Without calibration a is 1, b and noise are
    0.

    Several labels: those of `bayes/label_calibration.py`, and the threshold of each label.
    """
    scorer = model.scaled_scorer
    is_small = scorer.scales is not None
    has_idf = any(view.weighting.idf is not None for view in model.views)
    numbers = {
        "bias": scorer.bias,
        "by_default": scorer.list_defaults(len(model.views)),
        "base": scorer.base,
        "base_scale": scorer.base_scale,
        "rows": scorer.rows,
        "starts": scorer.indptr,
        "classes": scorer.classes,
        "deltas": None if is_small else scorer.deltas,
        "codes": scorer.codes if is_small else None,
        "scales": scorer.scales,
        "idf": model.weighting.list_idf(scorer.n_features) if has_idf else None,
    }
    return {**numbers, **model.kind.load("export")(model.task)}


def number_one_label(task: Any) -> dict[str, Any]:
    """Return the numbers that turn scores into probabilities and the label; see `list_numbers`."""
    calibration = task.calibration
    scaling = calibration.temperature or TemperatureScaling(1.0, 0.0)
    return {
        "a": scaling.a,
        "b": scaling.b,
        "noise": scaling.noise,
        "prior_adjustment": calibration.prior_adjustment,
        "shift": calibration.decision_offsets,
    }


def number_several_labels(task: Any) -> dict[str, Any]:
    """Return the numbers that turn scores into probabilities and labels; see `list_numbers`.

    raises  ModelError: the model is linear
    """
    _, combination = task.fit.naive_bayes
    return {
        "mixture": np.array(combination.weights),
        "exponent": combination.exponent,
        "intercept": combination.intercept,
        "prior_weight": combination.prior_weight,
        "slope": combination.slope,
        "priors": task.priors,
        "biases": combination.biases,
        "thresholds": task.fit.thresholds,
    }

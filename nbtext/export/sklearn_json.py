"""Export a model as an equivalent scikit-learn pipeline in JSON: class, parameters and attributes
of each step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from nbtext.bayes.event_model import SklearnClass
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.label_calibration import ScoreScaling
from nbtext.errors import ModelError
from nbtext.export import exporter
from nbtext.features.analyzer import TOKEN_PATTERN
from nbtext.model.fitted_model import FittedModel

FORMAT = "nbtext scikit-learn pipeline"
VERSION = 1
Step = dict[str, Any]


def check_sklearn(model: FittedModel) -> None:
    """Raise ModelError if scikit-learn has no equivalent of the features or of the model."""
    exporter.check_dense(model)
    exporter.check_analyzer(model, has_regex=True)
    if model.feature_settings.view:
        raise ModelError(
            "a model with --view cannot be exported to scikit-learn",
            hint="export it as js, c or csv",
        )
    same = sklearn_class(model)
    if same is not None and same.needs_smoothing and model.hyperparameters.smoothing == 0:
        raise ModelError(
            f"scikit-learn's {same.name} needs smoothing", hint="train with --smoothing 1e-10"
        )
    if same is None and model.task.is_exclusive and len(model.labels) == 1:
        raise ModelError(
            "scikit-learn has no linear model with a single label",
            hint="train with two labels or more",
        )


def sklearn_json(model: FittedModel) -> Iterator[bytes]:
    """Yield the steps of a scikit-learn pipeline as JSON: the class name, parameters and attributes
    of each.

    The first step counts features. The last step is the Naive Bayes class of the same name if
    scikit-learn has it with this prior, otherwise a LogisticRegression with the same weights.
    scikit-learn has no equivalent of the calibration, so it is stored separately under
    "probabilities" (see `probability_parameters`). scikit-learn does not omit tokens that are too
    long.

    The last step of a multi-label model is a OneVsRestClassifier. Its probabilities are those of a
    linear model; for Naive Bayes, its decision function is the score of each label against the
    rest, and "probabilities" has a MultinomialNB that compares the labels, and the parameters that
    combine both.
    """
    if model.task.is_exclusive:
        estimator = _estimator(model)
        probabilities = exporter.probability_parameters(model)
    else:
        estimator = _label_estimators(model)
        probabilities = _label_probabilities(model)
    settings = model.feature_settings
    counting = {
        "analyzer": settings.analyzer,
        "ngram_range": list(settings.ngrams),
        "token_pattern": settings.token_pattern or TOKEN_PATTERN,
        "lowercase": settings.lowercase,
        "strip_accents": settings.strip_accents,
        "stop_words": list(settings.stop_words) or None,
        "vocabulary": exporter.named_features(model).terms,
    }
    document = {
        "format": FORMAT,
        "version": VERSION,
        "steps": [_step("CountVectorizer", counting), *_transformers(model), estimator],
        "probabilities": probabilities,
    }
    yield json.dumps(document, allow_nan=False).encode("ascii") + b"\n"


def _step(name: str, params: dict[str, Any], **attributes: Any) -> Step:
    plain = {
        key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in attributes.items()
    }
    return {"class": name, "params": params, "attributes": plain}


def _transformers(model: FittedModel) -> list[Step]:
    """Return the steps that compute weights from counts; BernoulliNB binarizes counts itself."""
    weighting = model.weighting
    fitted = {"n_features_in_": model.scorer.n_features}
    norm = None if weighting.norm == "none" else weighting.norm
    if not weighting.term_frequency.in_sklearn:
        raise ModelError(
            f"scikit-learn has no term frequency {weighting.tf}", hint="export it as js"
        )
    steps = []
    is_binary = not model.model_settings.is_linear and model.model_settings.event_model.is_binary
    if weighting.tf == "binary" and not is_binary:
        steps.append(_step("Binarizer", {}))
    if weighting.tf == "relative":
        steps.append(_step("TfidfTransformer", {"norm": "l1", "use_idf": False}, **fitted))
    params = {
        "norm": norm,
        "use_idf": weighting.idf is not None,
        "sublinear_tf": weighting.tf == "log",
    }
    if weighting.idf is not None:
        steps.append(_step("TfidfTransformer", params, **fitted, idf_=weighting.idf))
    elif weighting.tf == "log" or norm is not None:
        steps.append(_step("TfidfTransformer", params, **fitted))
    return steps


def _estimator(model: FittedModel) -> Step:
    scorer = model.scorer
    same = sklearn_class(model)
    weights = scorer.weights()
    n_features = scorer.n_features
    shared: dict[str, Any] = {"classes_": np.array(model.labels), "n_features_in_": n_features}
    if same is not None and (same.has_prior or np.ptp(scorer.bias) == 0):
        params = {
            name: getattr(model.model_settings, option) for name, option in same.parameters.items()
        }
        parameters = {"alpha": model.hyperparameters.smoothing, **params}
        log_prob = same.feature_log_prob(weights)
        return _step(
            same.name,
            parameters,
            class_log_prior_=model.log_prior,
            feature_log_prob_=log_prob,
            **shared,
        )
    bias = scorer.bias
    if len(bias) == 2:  # LogisticRegression has one weight vector for two labels
        weights = weights[-1:] - weights[:1]
        bias = bias[-1:] - bias[:1]
    return _step("LogisticRegression", {}, coef_=weights, intercept_=bias, **shared)


def _label_estimators(model: FittedModel) -> Step:
    """Return one logistic regression for each label of a multi-label model: the label against the
    rest.
    """
    n_labels = len(model.labels)
    fit = model.task.fit.combination
    weights = model.scorer.weights()[:n_labels]
    bias = model.scorer.bias[:n_labels]
    if isinstance(fit, ScoreScaling):
        weights = fit.scale * weights
        bias = fit.scale * bias + fit.intercept + fit.biases
    fitted = {"n_features_in_": model.scorer.n_features}
    binarizer = _step(
        "LabelBinarizer",
        {"sparse_output": True},
        y_type_="multilabel-indicator",
        sparse_input_=False,
        classes_=np.array(model.labels),
    )
    estimators = [
        _step(
            "LogisticRegression",
            {},
            coef_=row[None],
            intercept_=value[None],
            classes_=[0, 1],
            **fitted,
        )
        for row, value in zip(weights, bias, strict=True)
    ]
    params = {"estimator": _step("LogisticRegression", {})}
    return _step(
        "OneVsRestClassifier", params, label_binarizer_=binarizer, estimators_=estimators, **fitted
    )


def _label_probabilities(model: FittedModel) -> dict[str, Any]:
    """Return what turns the decision function of a multi-label model into probabilities and
    labels.
    """
    if model.model_settings.is_linear:
        return {"thresholds": model.task.fit.thresholds.tolist()}
    parameters = exporter.several_labels_parameters(model)
    n_labels = len(model.labels)
    if len(parameters["weights"]) > 1:
        parameters["contrast"] = _step(
            "MultinomialNB",
            {"fit_prior": False},
            feature_log_prob_=model.scorer.weights()[n_labels:],
            class_log_prior_=np.zeros(n_labels),
            classes_=np.array(model.labels),
            n_features_in_=model.scorer.n_features,
        )
    return parameters


def sklearn_class(model: FittedModel) -> SklearnClass | None:
    """Return the class of scikit-learn that is the same model, if there is one."""
    name = model.model_settings.model
    return EVENT_MODELS[name].sklearn if name in EVENT_MODELS else None


SKLEARN_JSON = exporter.Exporter(
    "sklearn-json",
    (),
    "A JSON file with the steps of a scikit-learn pipeline, their parameters and fitted "
    "attributes. To convert a pipeline into a model, call nbtext.export.from_sklearn in Python.",
    check_sklearn,
    sklearn_json,
    has_several_labels=True,
    has_linear_labels=True,
)

"""Export a model as an equivalent scikit-learn pipeline in JSON: class, parameters and attributes of each step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.event_model import SklearnClass
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.errors import ModelError
from nbtext.export.exporter import Exporter, check_analyzer, check_dense, named_features, probability_parameters
from nbtext.features.analyzer import TOKEN_PATTERN
from nbtext.model.fitted_model import FittedModel

FORMAT = "nbtext scikit-learn pipeline"
VERSION = 1
Step = dict[str, Any]


def check_sklearn(model: FittedModel) -> None:
    """Raise ModelError if scikit-learn has no equivalent of the features or of the model."""
    check_dense(model)
    check_analyzer(model, has_regex=True)
    same = sklearn_class(model)
    if same is not None and same.needs_smoothing and model.hyperparameters.smoothing == 0:
        raise ModelError(f"scikit-learn's {same.name} needs smoothing", hint="train with --smoothing 1e-10")
    if model.model_settings.is_linear and len(model.labels) == 1:
        raise ModelError("scikit-learn has no linear model with a single label", hint="train with two labels or more")


def sklearn_json(model: FittedModel) -> Iterator[bytes]:
    """Yield the steps of a scikit-learn pipeline as JSON: the class name, parameters and attributes of each.

    The first step counts features. The last step is the Naive Bayes class of the same name if scikit-learn has it with
    this prior, otherwise a LogisticRegression with the same weights. scikit-learn has no equivalent of the calibration,
    so it is stored separately under "probabilities" (see `probability_parameters`). scikit-learn does not omit tokens
    that are too long.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "steps": [_vectorizer(model), *_transformers(model), _estimator(model)],
        "probabilities": probability_parameters(model),
    }
    yield json.dumps(document, allow_nan=False).encode("ascii") + b"\n"


def _step(name: str, params: dict[str, Any], **attributes: NDArray[Any] | int) -> Step:
    plain = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in attributes.items()}
    return {"class": name, "params": params, "attributes": plain}


def _vectorizer(model: FittedModel) -> Step:
    settings, features = model.feature_settings, named_features(model)
    params = {
        "analyzer": settings.analyzer,
        "ngram_range": list(settings.ngrams),
        "token_pattern": settings.token_pattern or TOKEN_PATTERN,
        "lowercase": settings.lowercase,
        "strip_accents": settings.strip_accents,
        "stop_words": list(settings.stop_words) or None,
        "vocabulary": features.terms,
    }
    return _step("CountVectorizer", params)


def _transformers(model: FittedModel) -> list[Step]:
    """Return the steps that compute weights from counts; BernoulliNB binarizes counts itself."""
    weighting, fitted = model.weighting, {"n_features_in_": model.scorer.n_features}
    norm = None if weighting.norm == "none" else weighting.norm
    if not weighting.term_frequency.in_sklearn:
        raise ModelError(f"scikit-learn has no term frequency {weighting.tf}", hint="export it as js")
    steps = []
    is_binary = not model.model_settings.is_linear and model.model_settings.event_model.is_binary
    if weighting.tf == "binary" and not is_binary:
        steps.append(_step("Binarizer", {}))
    if weighting.tf == "relative":
        steps.append(_step("TfidfTransformer", {"norm": "l1", "use_idf": False}, **fitted))
    params = {"norm": norm, "use_idf": weighting.idf is not None, "sublinear_tf": weighting.tf == "log"}
    if weighting.idf is not None:
        steps.append(_step("TfidfTransformer", params, **fitted, idf_=weighting.idf))
    elif weighting.tf == "log" or norm is not None:
        steps.append(_step("TfidfTransformer", params, **fitted))
    return steps


def _estimator(model: FittedModel) -> Step:
    scorer, same = model.scorer, sklearn_class(model)
    weights, n_features = scorer.weights(), scorer.n_features
    shared: dict[str, Any] = {"classes_": np.array(model.labels), "n_features_in_": n_features}
    if same is not None and (same.has_prior or np.ptp(scorer.bias) == 0):
        params = {name: getattr(model.model_settings, option) for name, option in same.parameters.items()}
        return _step(
            same.name,
            {"alpha": model.hyperparameters.smoothing, **params},
            class_log_prior_=model.log_prior,
            feature_log_prob_=same.feature_log_prob(weights),
            **shared,
        )
    bias = scorer.bias
    if len(bias) == 1:
        raise ModelError("scikit-learn has no linear model with a single label", hint="train with two labels or more")
    if len(bias) == 2:  # LogisticRegression has one weight vector for two labels
        weights, bias = weights[-1:] - weights[:1], bias[-1:] - bias[:1]
    return _step("LogisticRegression", {}, coef_=weights, intercept_=bias, **shared)


def sklearn_class(model: FittedModel) -> SklearnClass | None:
    """Return the class of scikit-learn that is the same model, if there is one."""
    name = model.model_settings.model
    return EVENT_MODELS[name].sklearn if name in EVENT_MODELS else None


SKLEARN_JSON = Exporter(
    "sklearn-json", (), "A JSON file with the steps of a scikit-learn pipeline, their parameters and fitted "
    "attributes. To convert a pipeline into a model, call nbtext.export.from_sklearn in Python.",
    check_sklearn, sklearn_json,
)  # fmt: skip

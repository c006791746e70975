"""A model as the scikit-learn pipeline that it is, in JSON: each step's class, parameters and fitted attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.errors import ModelError
from nbtext.export.portable import check_analyzer, check_dense, named_features
from nbtext.export.probabilities import probabilities_of
from nbtext.features.analyzer import TOKEN_PATTERN
from nbtext.model.fitted_model import FittedModel

FORMAT = "nbtext scikit-learn pipeline"
VERSION = 1
Step = dict[str, Any]


def sklearn_json(model: FittedModel) -> Iterator[bytes]:
    """JSON of a pipeline's steps; the class of each is one of scikit-learn's, by its name.

    The first step counts features. The last one is the naive Bayes of the same name, where scikit-learn has it with
    that prior, else a LogisticRegression with the same weights. What scikit-learn does not know, the temperature and
    what follows it, is beside the steps: see `probabilities_of`. It leaves out no word that is too long either.

    raises  ModelError: features or a model that scikit-learn does not have
    """
    named_features(model)
    check_dense(model)
    check_analyzer(model, is_own_pattern_known=True)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "steps": [_vectorizer(model), *_transformers(model), _estimator(model)],
        "probabilities": probabilities_of(model),
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
    """What turns counts into weights; BernoulliNB looks at presence by itself."""
    weighting, fitted = model.weighting, {"n_features_in_": model.scorer.n_features}
    norm = None if weighting.norm == "none" else weighting.norm
    if not weighting.term_frequency.in_sklearn:
        raise ModelError(f"scikit-learn has no term frequency {weighting.tf}", hint="use --to js")
    steps = []
    if weighting.tf == "binary" and model.model_settings.model != "bernoulli":
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
    name, scorer = model.model_settings.model, model.scorer
    weights, n_features = scorer.weights(), scorer.n_features
    shared: dict[str, Any] = {"classes_": np.array(model.labels), "n_features_in_": n_features}
    if name == "bernoulli":
        _check_smoothed(model)
        # of w = log(p / (1 - p)) the log p
        return _bayes(model, "BernoulliNB", {}, feature_log_prob_=-np.logaddexp(0.0, -weights), **shared)
    if name == "multinomial":
        return _bayes(model, "MultinomialNB", {}, feature_log_prob_=weights, **shared)
    if name == "complement" and np.ptp(scorer.bias) == 0:  # scikit-learn's has no prior
        params = {"norm": model.model_settings.normalize_weights}
        return _bayes(model, "ComplementNB", params, feature_log_prob_=weights, **shared)
    bias = scorer.bias
    if len(bias) == 1:
        raise ModelError("scikit-learn has no linear model of one label", hint="train with two labels or more")
    if len(bias) == 2:  # it has the plane between them
        weights, bias = weights[-1:] - weights[:1], bias[-1:] - bias[:1]
    return _step("LogisticRegression", {}, coef_=weights, intercept_=bias, **shared)


def _check_smoothed(model: FittedModel) -> None:
    if model.hyperparameters.smoothing == 0:
        raise ModelError("scikit-learn has no Bernoulli model without smoothing", hint="train with --smoothing 1e-10")


def _bayes(model: FittedModel, name: str, params: dict[str, Any], **attributes: Any) -> Step:
    """A step of scikit-learn's naive Bayes."""
    params = {"alpha": model.hyperparameters.smoothing, **params}
    return _step(name, params, class_log_prior_=model.log_prior, **attributes)

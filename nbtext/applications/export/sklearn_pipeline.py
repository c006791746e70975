"""Convert a fitted scikit-learn pipeline to a model, and a model to a pipeline. Only the latter
imports scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.applications.export.exporter import (
    TRANSLATED,
    check_decisions,
    check_dense,
    check_translated,
    named_features,
)
from nbtext.arrays import Array
from nbtext.bayes.calibration import TemperatureScaling
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import ModelError
from nbtext.features.analyzer import TOKEN_PATTERN
from nbtext.features.document_table import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.sklearn_compat import label_texts, label_values
from nbtext.model.training import train_on_counts
from nbtext.model.word_pieces import leave_out_pieces

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

SUPPORTED = "CountVectorizer or TfidfVectorizer, optionally TfidfTransformer, then MultinomialNB, BernoulliNB, ComplementNB"
VECTORIZERS = (
    ["TfidfVectorizer"],
    ["CountVectorizer"],
    ["CountVectorizer", "TfidfTransformer"],
)
MIN_SMOOTHING = 1e-10  # scikit-learn may raise a smaller one to this


def from_sklearn(pipeline: Any) -> TrainedModel:
    """Return the model that is equivalent to a fitted scikit-learn pipeline of Naive Bayes over
    texts.

    Labels and probabilities are those of the pipeline, without calibration; a model file stores
    labels as text.

    The counts of the pipeline become the class statistics of the model. BernoulliNB, and pipelines
    with CountVectorizer(binary=True), store document frequencies, which are complete statistics of
    binary counts. Such models can be updated and merged, and can forget documents that they learned
    later. Other pipelines store sums of counts but no document frequencies, so their models cannot
    be updated, or fitted as Bernoulli models.

    Parameters
    ----------
    pipeline : Any
        Sklearn.pipeline.Pipeline CountVectorizer or TfidfVectorizer, optionally TfidfTransformer,
        then MultinomialNB, BernoulliNB or ComplementNB, fitted without sample weights. nbtext does
        not load pickles, which can execute any code.

    Returns
    -------
    TrainedModel

    Raises
    ------
    ModelError
        The pipeline has other steps, or an option that nbtext does not support.
    """
    steps = [step for _, step in getattr(pipeline, "steps", ())]
    kinds = [type(step).__name__ for step in steps]
    models = {record.sklearn: name for name, record in EVENT_MODELS.items() if record.sklearn}
    _require(kinds[:-1] in VECTORIZERS and kinds[-1] in models, ", ".join(kinds) or "no steps")
    vectorizer, estimator = steps[0], steps[-1]
    transformer: Any = steps[1] if len(steps) == 3 else getattr(vectorizer, "_tfidf", None)
    _require(hasattr(estimator, "feature_count_"), f"a {kinds[-1]} that is not fitted")
    features = _read_feature_settings(vectorizer, transformer)
    columns = np.argsort(vectorizer.get_feature_names_out())
    labels, label_type = label_texts(estimator.classes_)
    classes = np.argsort(np.array(labels, dtype=object))
    model = models[kinds[-1]]
    has_smoothing = np.ndim(estimator.alpha) == 0 and estimator.alpha >= MIN_SMOOTHING
    _require(has_smoothing, "no smoothing, or one for each feature")
    prior: str | tuple[float, ...] = "uniform"  # scikit-learn's complement model has no prior
    if model != "complement" and estimator.fit_prior and estimator.class_prior is None:
        prior = "empirical"
    elif model != "complement":
        prior = tuple(np.exp(estimator.class_log_prior_[classes]).tolist())
    model_settings = ModelSettings(
        model=model,
        smoothing=float(estimator.alpha),
        prior=prior,
        calibrate=False,
        normalize_weights=bool(getattr(estimator, "norm", False)),
    )
    counts = np.asarray(estimator.feature_count_)[np.ix_(classes, columns)]
    is_binary = features.tf == "binary" and transformer is None
    if model_settings.event_model.is_binary:
        counts_documents = estimator.binarize == 0 or (estimator.binarize is None and is_binary)
        _require(counts_documents, "a BernoulliNB of other values")
        # it stores document frequencies, whatever the weights of the features
        features = replace(features, tf="binary", idf="none", norm="none")
        is_binary = True
    statistics = _read_statistics(
        counts, np.asarray(estimator.class_count_)[classes], is_binary=is_binary
    )
    idf = None
    if features.idf != "none":
        idf = np.asarray(transformer.idf_, dtype=np.float64)[columns]
    weighting = None if is_binary else Weighting(features.tf, features.norm, idf)
    corpus = CorpusCounts(
        tuple(labels[k] for k in classes),
        Vocabulary.from_sorted(features.vocabulary or ()),
        statistics,
        concatenate(()),
        0,
        weighting,
    )
    trained = train_on_counts(corpus, features, model_settings)
    return replace(trained, fitted=replace(trained.fitted, label_type=label_type))


def _require(is_supported: bool, feature: str) -> None:
    """Raise ModelError, which names the unsupported feature of the pipeline, unless it is
    supported.
    """
    if not is_supported:
        raise ModelError(
            f"the pipeline has {feature}, which nbtext does not support",
            hint=f"supported: {SUPPORTED}",
        )


def _read_feature_settings(vectorizer: Any, transformer: Any) -> FeatureSettings:
    """Return the settings of features and weighting, with the fixed vocabulary of the pipeline."""
    for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents"):
        _require(not callable(getattr(vectorizer, name)), f"a function for {name}")
    _require(vectorizer.input == "content", f"input={vectorizer.input!r}")
    is_word = vectorizer.analyzer == "word"
    pattern = (
        vectorizer.token_pattern if is_word and vectorizer.token_pattern != TOKEN_PATTERN else None
    )
    idf = getattr(transformer, "use_idf", False)
    _require(not idf or transformer.smooth_idf, "an idf that is not smooth")
    tf = "log" if getattr(transformer, "sublinear_tf", False) else "count"
    if vectorizer.binary:
        tf = "binary"
    return FeatureSettings(
        analyzer=vectorizer.analyzer,
        ngrams=tuple(vectorizer.ngram_range),
        token_pattern=pattern,
        lowercase=vectorizer.lowercase,
        strip_accents=vectorizer.strip_accents,
        stop_words=tuple(sorted(vectorizer.get_stop_words() or ())) if is_word else (),
        vocabulary=tuple(sorted(vectorizer.get_feature_names_out().tolist())),
        tf=tf,
        idf="smooth" if idf else "none",
        norm=getattr(transformer, "norm", None) or "none",
    )


def _read_statistics(counts: Array, class_documents: Array, *, is_binary: bool) -> ClassStatistics:
    """Return class statistics; document frequencies that the pipeline does not store are 0.

    Parameters
    ----------
    counts : array of shape (n_classes, n_features)
        `feature_count_` of the estimator.
    class_documents : array of shape (n_classes,)
        `class_count_` of the estimator.
    is_binary : bool
        Whether the counts are document frequencies.
    """
    documents = np.rint(class_documents).astype(np.int64)
    features, classes = np.nonzero(counts.T)
    sums = counts.T[features, classes]
    frequencies = (
        np.rint(sums).astype(np.int64) if is_binary else np.zeros(len(sums), dtype=np.int64)
    )
    is_whole = np.array_equal(documents, class_documents)
    _require(is_whole and (not is_binary or np.array_equal(frequencies, sums)), "sample weights")
    indptr = np.searchsorted(features, np.arange(counts.shape[1] + 1)).astype(np.int64)
    occurrences = frequencies if is_binary else sums.astype(np.float64)
    return ClassStatistics(documents, indptr, classes.astype(np.int32), frequencies, occurrences)


def to_sklearn(model: FittedModel) -> Pipeline:
    """Return the fitted scikit-learn pipeline that predicts as a model does; see
    `TextClassifier.to_sklearn`.

    Every model is a linear scorer, so the pipeline is a TfidfVectorizer, whose weighting is that of
    the model, and a LogisticRegression, whose weights are those of the scorer.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = leave_out_pieces(model)
    check_pipeline(model)
    settings = model.feature_settings
    weighting = model.weighting
    vectorizer = TfidfVectorizer(
        analyzer=settings.analyzer,
        ngram_range=settings.ngrams,
        token_pattern=settings.token_pattern or TOKEN_PATTERN,
        lowercase=settings.lowercase,
        strip_accents=settings.strip_accents,
        stop_words=list(settings.stop_words) or None,
        vocabulary=named_features(model).terms,
        binary=weighting.tf == "binary",
        sublinear_tf=weighting.tf == "log",
        use_idf=weighting.idf is not None,
        norm=None if weighting.norm == "none" else weighting.norm,
    )
    vectorizer.fit([""])  # its vocabulary is fixed
    if weighting.idf is not None:
        vectorizer.idf_ = weighting.idf
    order = np.argsort(np.array(model.label_values), kind="stable")
    weights = model.scaled_scorer.weights()[order]
    bias = (model.scaled_scorer.bias + _foldable_adjustment(model))[order]
    if len(order) == 2:  # LogisticRegression has one row of weights for two labels
        weights = weights[1:] - weights[:1]
        bias = bias[1:] - bias[:1]
    estimator = LogisticRegression()
    estimator.classes_ = label_values(model)
    estimator.coef_ = weights
    estimator.intercept_ = bias
    estimator.n_features_in_ = weights.shape[1]
    return make_pipeline(vectorizer, estimator)


def check_pipeline(model: FittedModel) -> None:
    """Raise ModelError if no pipeline of scikit-learn predicts as the model does."""
    model.check_takes_texts()
    check_dense(model)
    check_translated(model.feature_settings, TRANSLATED)
    tf = model.weighting.tf
    reasons = {
        "LogisticRegression needs two labels": len(model.labels) == 1,
        f"TfidfVectorizer has no tf {tf}": tf not in ("count", "binary", "log"),
    }
    for reason, is_true in reasons.items():
        if is_true:
            what = f"no pipeline of scikit-learn predicts as this model does, because {reason}"
            raise ModelError(what, hint="predict with nbtext, or train another model")
    is_folded = np.any(_foldable_adjustment(model))
    check_decisions(model, ("prior_adjustment",) if is_folded else ())


def _foldable_adjustment(model: FittedModel) -> Array:
    """Return what the prior adjustment adds to the scores, (n_labels,); 0 if that depends on the
    document.
    """
    calibration = model.calibration
    scaling = calibration.temperature or TemperatureScaling(1.0, 0.0)
    if calibration.prior_adjustment is None or scaling.b or scaling.noise:
        return np.zeros(len(model.labels))
    return scaling.a * calibration.prior_adjustment

"""A fitted scikit-learn pipeline, read as a model. Nothing of scikit-learn is imported: its attributes say it all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.settings import ModelSettings
from nbtext.errors import ModelError
from nbtext.features.analyzer import TOKEN_PATTERN
from nbtext.features.document_counts import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import train_on_counts
from nbtext.model.sklearn_compat import label_texts

MODELS = {"MultinomialNB": "multinomial", "BernoulliNB": "bernoulli", "ComplementNB": "complement"}
SUPPORTED = (
    "CountVectorizer or TfidfVectorizer, TfidfTransformer if wanted, then MultinomialNB, BernoulliNB or ComplementNB"
)


def from_sklearn(pipeline: Any) -> TrainedModel:
    """The model that a fitted scikit-learn pipeline of naive Bayes over texts is.

    Labels and probabilities are the pipeline's, which are not calibrated; a model file holds labels as texts.

    Its counts become the model's statistics. BernoulliNB, and models over CountVectorizer(binary=True), know in how
    many documents of a class each word is, all that there is to know of presence: such models can be updated and
    merged, and can forget what they have learned since. The others know how often each word occurs, and not in how
    many documents: they cannot be updated, nor read as Bernoulli.

    pipeline  of CountVectorizer or TfidfVectorizer, TfidfTransformer if wanted, and MultinomialNB, BernoulliNB or
              ComplementNB, fitted without sample weights. nbtext loads none from a pickle, which can run any code
    raises    ModelError: something else, or with an option that nbtext does not have
    """
    vectorizer, transformer, estimator = _parts(pipeline)
    features = _features(vectorizer, transformer)
    names = list(vectorizer.get_feature_names_out())
    columns = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    labels = [str(label) for label in estimator.classes_.tolist()]
    classes = np.array(sorted(range(len(labels)), key=labels.__getitem__), dtype=np.int64)
    _require(len(set(labels)) == len(labels), "labels that differ only in their type")
    modelling = _modelling(estimator, classes)
    counts = np.asarray(estimator.feature_count_)[np.ix_(classes, columns)]
    is_presence = features.tf == "binary" and transformer is None
    _require(modelling.model != "bernoulli" or _sees_presence(estimator, is_presence), "a BernoulliNB of other values")
    if modelling.model == "bernoulli":  # whatever its features weigh, it looks at presence, and keeps that alone
        features, is_presence = replace(features, tf="binary", idf="none", norm="none"), True
    statistics = _statistics(counts, np.asarray(estimator.class_count_)[classes], is_presence=is_presence)
    weighting = None if is_presence else _weighting(features, transformer, columns)
    tally = CorpusCounts(
        tuple(labels[k] for k in classes), Vocabulary.from_sorted(features.vocabulary or ()), statistics,
        concatenate(()), 0, weighting,
    )  # fmt: skip
    trained = train_on_counts(tally, features, modelling)
    _, label_type = label_texts(estimator.classes_)
    return replace(trained, fitted=replace(trained.fitted, label_type=label_type))


def _require(is_sound: bool, found: str) -> None:
    """Raise ModelError, which says what cannot be taken over, unless it can."""
    if not is_sound:
        raise ModelError(f"the pipeline has {found}, which nbtext has not", hint=f"wanted: {SUPPORTED}")


def _parts(pipeline: Any) -> tuple[Any, Any | None, Any]:
    """The vectorizer, what weighs its counts (None: nothing does), and the naive Bayes."""
    steps = [step for _, step in getattr(pipeline, "steps", ()) if step is not None and step != "passthrough"]
    kinds = [type(step).__name__ for step in steps]
    shown = ", ".join(kinds) or f"{type(pipeline).__name__} instead of steps"
    _require(len(kinds) >= 2 and kinds[-1] in MODELS, shown)
    if kinds[:-1] == ["TfidfVectorizer"]:
        parts = steps[0], steps[0]._tfidf, steps[-1]
    else:
        _require(kinds[:-1] in (["CountVectorizer"], ["CountVectorizer", "TfidfTransformer"]), shown)
        parts = steps[0], steps[1] if len(steps) == 3 else None, steps[-1]
    _require(hasattr(steps[-1], "feature_count_"), f"a {kinds[-1]} that is not fitted")
    return parts


def _features(vectorizer: Any, transformer: Any | None) -> FeatureSettings:
    """How the pipeline cuts texts into features and weighs them; those that it has are the only ones there are."""
    for name in ("preprocessor", "tokenizer"):
        _require(getattr(vectorizer, name) is None, f"a {name}")
    for name in ("analyzer", "strip_accents"):
        _require(not callable(getattr(vectorizer, name)), f"a function for {name}")
    _require(vectorizer.input == "content", f"input={vectorizer.input!r}")
    is_word = vectorizer.analyzer == "word"
    pattern = vectorizer.token_pattern if is_word and vectorizer.token_pattern != TOKEN_PATTERN else None
    idf = transformer is not None and transformer.use_idf
    _require(not idf or transformer is None or transformer.smooth_idf, "an idf that is not smooth")
    tf = "binary" if vectorizer.binary else "count"
    if transformer is not None and transformer.sublinear_tf and not vectorizer.binary:
        tf = "log"
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
        norm="none" if transformer is None or transformer.norm is None else transformer.norm,
    )


def _modelling(estimator: Any, classes: NDArray[np.int64]) -> ModelSettings:
    """How the naive Bayes reads its counts."""
    model = MODELS[type(estimator).__name__]
    _require(np.ndim(estimator.alpha) == 0, "a smoothing for each feature")
    alpha = float(estimator.alpha)
    _require(alpha > 0, "no smoothing")
    if not getattr(estimator, "force_alpha", True):
        alpha = max(alpha, 1e-10)
    prior: str | tuple[float, ...] = "empirical" if estimator.fit_prior else "uniform"
    if estimator.class_prior is not None:
        prior = tuple(np.asarray(estimator.class_prior, dtype=np.float64)[classes].tolist())
    return ModelSettings(
        model=model,
        smoothing=alpha,
        prior="uniform" if model == "complement" else prior,  # scikit-learn's looks at no prior
        calibrate=False,
        normalize_weights=bool(getattr(estimator, "norm", False)),
    )


def _sees_presence(estimator: Any, is_presence: bool) -> bool:
    """Whether a BernoulliNB counts documents that hold a feature."""
    return bool(estimator.binarize == 0 or (estimator.binarize is None and is_presence))


def _statistics(counts: NDArray[Any], class_documents: NDArray[Any], *, is_presence: bool) -> ClassStatistics:
    """The sums of a class and feature as statistics; where documents that hold a feature are unknown, they are 0.

    counts  (n_classes, n_features)
    """
    documents = np.rint(class_documents).astype(np.int64)
    _require(bool((documents == class_documents).all()), "sample weights")
    features, classes = np.nonzero(counts.T)
    sums = counts.T[features, classes]
    held = np.rint(sums).astype(np.int64) if is_presence else np.zeros(len(sums), dtype=np.int64)
    _require(not is_presence or bool((held == sums).all()), "sample weights")
    indptr = np.searchsorted(features, np.arange(counts.shape[1] + 1)).astype(np.int64)
    occurrences = held if is_presence else sums.astype(np.float64)
    return ClassStatistics(documents, indptr, classes.astype(np.int32), held, occurrences)


def _weighting(features: FeatureSettings, transformer: Any | None, columns: NDArray[np.int64]) -> Weighting:
    """What the sums are sums of."""
    idf = (
        None
        if features.idf == "none" or transformer is None
        else np.asarray(transformer.idf_, dtype=np.float64)[columns]
    )
    return Weighting(features.tf, features.norm, idf)

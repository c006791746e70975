"""scikit-learn's best: its counting models with the smoothing that is best *on the test documents*.

This is an upper bound: without the test labels, nobody can select this smoothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from protocols import Split
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

SMOOTHINGS = (1.0, 0.1, 0.01, 0.001)
MODELS = {"multinomial": MultinomialNB, "bernoulli": BernoulliNB, "complement": ComplementNB}


def is_known(options: Mapping[str, Any]) -> bool:
    """Whether it is a model that scikit-learn has for sparse counts, at its defaults."""
    return options.get("model", "multinomial") in MODELS and "normalize_weights" not in options


def best_accuracy(splits: Sequence[Split], options: Mapping[str, Any]) -> tuple[float, float]:
    """The best accuracy, averaged over the splits, and the smoothing that has it.

    options  those of nbtext's TextClassifier
    """
    accuracies = np.mean([_accuracies(split, options) for split in splits], axis=0)
    best = int(np.argmax(accuracies))
    return float(accuracies[best]), SMOOTHINGS[best]


def _accuracies(split: Split, options: Mapping[str, Any]) -> list[float]:
    vectorizer = _vectorizer(options)
    training = vectorizer.fit_transform(split.training.texts)
    test = vectorizer.transform(split.test.texts)
    model = MODELS[options.get("model", "multinomial")]
    return [
        model(alpha=smoothing).fit(training, split.training.labels).score(test, split.test.labels)
        for smoothing in SMOOTHINGS
    ]


def _vectorizer(options: Mapping[str, Any]) -> CountVectorizer:
    """The same features by scikit-learn's names."""
    shared: dict[str, Any] = {"ngram_range": options.get("ngrams", (1, 1))}
    if "token_pattern" in options:
        shared["token_pattern"] = options["token_pattern"]
    if "idf" in options:
        return TfidfVectorizer(sublinear_tf=options["tf"] == "log", norm=options["norm"], **shared)
    return CountVectorizer(binary=options.get("tf") == "binary", **shared)

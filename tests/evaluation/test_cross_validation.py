"""Cross-validation by subtraction is cross-validation."""

from typing import Any

import numpy as np
import pytest
from made_texts import count_texts

from nbtext.bayes.settings import ModelSettings
from nbtext.errors import SettingsError
from nbtext.evaluation.cross_validation import (
    assign_folds,
    cross_validate,
    grouped_folds,
    time_series_folds,
)
from nbtext.evaluation.settings import FoldSettings
from nbtext.features.folds import stratified_folds
from nbtext.features.settings import FeatureSettings
from nbtext.text_classifier import TextClassifier

WORDS = [f"w{n}" for n in range(12)]
random = np.random.default_rng(0)
TEXTS = [
    " ".join([*random.choice(WORDS[label * 4 :], 6), "all", f"n{n}"])
    for n, label in enumerate([0, 1] * 20)
]
LABELS = [f"label {label}" for label in [0, 1] * 20]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"model": "bernoulli"},
    {"model": "categorical"},
    {"model": "gaussian"},
    {"model": "complement"},
    {"model": "dirichlet"},
    {"tf": "log", "idf": "smooth", "norm": "l2", "smoothing": 0.3},
    {"smoothing": 0.1},
    {"min_df": 2, "vocabulary": (*WORDS, "unheard", *(f"n{n}" for n in range(40)))},
]


def test_more_folds_than_documents() -> None:
    """The error states both numbers."""
    corpus = count_texts([("a b", "x"), ("b c", "y")])
    with pytest.raises(SettingsError, match="3 folds need at least as many documents; found 2"):
        assign_folds(corpus.sample, FoldSettings(folds=3))


@pytest.mark.parametrize(
    ("split", "options"),
    [
        ("groups", {}),
        ("time", {}),
        *(("contents", options) for options in OPTIONS),
    ],
    ids=str,
)
def test_equals_refits(split: str, options: dict[str, Any]) -> None:
    """Each fold's predictions are those of a classifier trained on the texts of the other folds, or
    of the earlier ones.
    """
    classifier = TextClassifier(**options)
    corpus = count_texts(zip(TEXTS, LABELS, strict=True), classifier.feature_settings)
    # a document is found again in the sample by the one word that only it has
    assert corpus.vocabulary is not None
    columns = {j: int(term[1:]) for j, term in enumerate(corpus.vocabulary) if term.startswith("n")}
    numbers = [columns[j] for j in corpus.sample.indices.tolist() if j in columns]
    groups = np.array([str(n // 7) for n in numbers], dtype=object)
    is_forward = split == "time"
    if is_forward:
        folds = time_series_folds(groups, 4)
    elif split == "groups":
        folds = grouped_folds(groups, None, seed=1)
    else:
        folds = stratified_folds(corpus.sample.classes, 4, seed=3)
    found = list(
        cross_validate(
            corpus,
            folds,
            features=classifier.feature_settings,
            model_settings=classifier.model_settings,
            is_forward=is_forward,
        )
    )
    for fold, predictions in zip(range(is_forward, folds.max() + 1), found, strict=True):
        is_training = folds < fold if is_forward else folds != fold
        training = [numbers[i] for i in np.flatnonzero(is_training)]
        held_out = [numbers[i] for i in np.flatnonzero(folds == fold)]
        refitted = TextClassifier(**options)
        refitted.fit([TEXTS[n] for n in training], [LABELS[n] for n in training])
        expected = refitted.predict_proba([TEXTS[n] for n in held_out])
        np.testing.assert_allclose(predictions.probabilities, expected, rtol=1e-9, atol=1e-12)
        assert predictions.true_labels == [(LABELS[n],) for n in held_out]


def test_a_label_that_is_only_in_one_fold() -> None:
    """Where it is held out, the models do not know it, and its document is simply wrong."""
    texts = [*TEXTS, "unique words here"]
    labels = [*LABELS, "lonely"]
    corpus = count_texts(zip(texts, labels, strict=True))
    folds = stratified_folds(corpus.sample.classes, 4, seed=1)
    found = list(
        cross_validate(corpus, folds, features=FeatureSettings(), model_settings=ModelSettings())
    )
    (without,) = [predictions for predictions in found if ("lonely",) in predictions.true_labels]
    assert "lonely" not in without.classes
    assert all(
        "lonely" in predictions.classes for predictions in found if predictions is not without
    )

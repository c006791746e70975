"""What a matrix leaves out: lengths of documents, the order of rows, and large numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from nbtext import TextClassifier
from nbtext.bayes.calibration import fit_temperature
from nbtext.bayes.decision_offsets import fit_decision_offsets
from nbtext.errors import ModelError
from nbtext.estimators import GaussianNB, MultinomialNB


@pytest.mark.parametrize("factor", [1, 1.5, 100.5])
def test_fractions_are_calibrated_like_counts(factor: float) -> None:
    """Digits, whole or not: the log-loss of a test is about what leave-one-out expects."""
    pixels, digits = load_digits(return_X_y=True)
    is_test = np.random.default_rng(1).random(len(digits)) < 0.3
    model = MultinomialNB().fit(pixels[~is_test] * factor, digits[~is_test])
    expected = model.fitted_.estimate
    assert expected is not None
    found = log_loss(digits[is_test], model.predict_proba(pixels[is_test] * factor))
    assert abs(found - expected.log_loss) < 0.06
    assert found < 0.45


@pytest.mark.parametrize("factor", [1, 0.25])
@pytest.mark.parametrize("estimator", [MultinomialNB, GaussianNB])
def test_the_order_of_rows_does_not_matter(estimator: Any, factor: float) -> None:
    """Rows in another order make the same model."""
    random = np.random.default_rng(3)
    rows, labels = random.poisson(0.4, (300, 20)) * factor, random.integers(0, 3, 300)
    order = random.permutation(300)
    first, second = estimator().fit(rows, labels), estimator().fit(rows[order], labels[order])
    assert first.fitted_.hyperparameters.smoothing == second.fitted_.hyperparameters.smoothing
    np.testing.assert_allclose(first.predict_proba(rows), second.predict_proba(rows), rtol=1e-9)


def test_texts_and_their_matrix_have_the_same_smoothing() -> None:
    """The matrix of texts selects the smoothing that the texts select."""
    random = np.random.default_rng(5)
    words = np.array([f"w{number}" for number in range(60)])
    texts = [" ".join(random.choice(words[k * 10 :], random.integers(3, 20))) for k in range(3) for _ in range(400)]
    labels = [str(k) for k in range(3) for _ in range(400)]
    matrix = CountVectorizer(token_pattern=r"(?u)\b\w\w+\b").fit_transform(texts)
    of_matrix = MultinomialNB().fit(csr_array(matrix), labels).fitted_
    of_texts = TextClassifier().fit(texts, labels).fitted_
    assert of_texts.estimate is not None
    assert of_matrix.estimate is not None
    assert of_matrix.estimate.documents == of_texts.estimate.documents
    assert of_matrix.hyperparameters.smoothing == pytest.approx(of_texts.hyperparameters.smoothing, rel=0.8)


@pytest.mark.parametrize("scale", [1e150, 1e308])
def test_huge_scores_end(scale: float) -> None:
    """Calibration ends for any finite scores, with a result or an error."""
    scores = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]]) * scale
    classes = np.array([0, 1, 1], dtype=np.int32)
    try:
        assert np.isfinite(fit_temperature(scores, np.array([3, 2, 1]), classes).a)
    except ModelError as error:
        assert "finite" in str(error)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_scores_that_are_not_finite_are_refused(value: float) -> None:
    """One line says so; nothing loops."""
    scores = np.array([[value, 0.0], [0.0, 1.0], [1.0, 0.0]])
    classes = np.array([0, 1, 0], dtype=np.int32)
    with pytest.raises(ModelError, match="finite"):
        fit_temperature(scores, np.array([3, 2, 1]), classes)
    with pytest.raises(ModelError, match="finite"):
        fit_decision_offsets(scores, classes, "log_loss")


def test_negative_weights_are_for_linear_models() -> None:
    """`--idf plus-one` is negative for a word of every document: Naive Bayes refuses it, and says what to use."""
    texts, labels = ["red apple", "red plum", "red sour", "red sweet"], ["a", "a", "b", "b"]
    with pytest.raises(ModelError, match=r"multinomial needs weights >= 0.*idf smooth"):
        TextClassifier(idf="plus-one").fit(texts, labels)
    TextClassifier(idf="plus-one", model="nbsvm").fit(texts, labels)


def test_the_estimate_of_gaussian_models_is_unbiased() -> None:
    """Over 20 splits of a data set, leave-one-out log-loss and accuracy are those of the test documents on average."""
    X, y = load_breast_cancer(return_X_y=True)
    estimates, results = [], []
    for seed in range(20):
        train, test, train_labels, test_labels = train_test_split(X, y, random_state=seed, test_size=0.3)
        model = GaussianNB().fit(train, train_labels)
        estimate = model.fitted_.estimate
        estimates.append([estimate.log_loss, estimate.accuracy])
        results.append([log_loss(test_labels, model.predict_proba(test)), model.score(test, test_labels)])
    # the standard error of each mean is about 0.005
    np.testing.assert_allclose(np.mean(estimates, axis=0), np.mean(results, axis=0), atol=0.015)

"""The estimators keep scikit-learn's conventions, and give its figures."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.naive_bayes
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import coo_array, csc_matrix, csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nbtext import estimators
from nbtext.errors import InputError
from nbtext.features.vectorizer import Vectorizer
from nbtext.model.sklearn_compat import NotFittedError
from nbtext.text_classifier import TextClassifier

EVERY: list[Any] = [getattr(estimators, name)() for name in estimators.__all__ if name[0].isupper()]
TEXTS = ["red round fruit", "yellow long fruit", "round green fruit", "long yellow thing", "red thing", "long thing"]
FRUITS = ["apple", "banana", "apple", "banana", "apple", "banana"]


with warnings.catch_warnings():  # that they do not inherit from what they do not import
    warnings.filterwarnings("ignore", message=".*does not inherit from")
    # of a classifier of texts scikit-learn checks what does not need a matrix, and says that it cannot check the rest
    warnings.filterwarnings("ignore", message="Can't test estimator TextClassifier which requires input  of type")
    # no check is expected to fail, so that there is no list of exceptions
    with_checks = parametrize_with_checks([*EVERY, TextClassifier()])


@pytest.mark.exhaustive(every=4)
@with_checks
def test_conventions(estimator: Any, check: Any) -> None:
    """The estimators pass all checks of scikit-learn's `check_estimator`."""
    check(estimator)


@pytest.mark.parametrize(
    ("name", "options", "their_options"),
    [
        ("MultinomialNB", {"smoothing": 0.3}, {"alpha": 0.3}),
        ("BernoulliNB", {"smoothing": 0.3}, {"alpha": 0.3}),
        ("ComplementNB", {"smoothing": 0.3}, {"alpha": 0.3}),
        ("CategoricalNB", {"smoothing": 0.3}, {"alpha": 0.3, "min_categories": 4}),
        ("GaussianNB", {"smoothing": 1e-3}, {"var_smoothing": 1e-3}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_scikit_learn(name: str, options: Any, their_options: Any, seed: int) -> None:
    """Probabilities, dense and sparse."""
    chance = np.random.default_rng(seed)
    X, y = chance.integers(0, 4, (60, 7)), chance.choice(["a", "b", "c"], 60)
    ours = getattr(estimators, name)(**options, calibrate=False).fit(X, y)
    theirs = getattr(sklearn.naive_bayes, name)(**their_options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict_proba(csr_array(X)), ours.predict_proba(X))


@pytest.mark.parametrize(("name", "alpha"), [("MultinomialNB", 0.3), ("BernoulliNB", 0.3), ("ComplementNB", 0.3)])
def test_the_same_of_weights(name: str, alpha: float) -> None:
    """Probabilities of rows that are weighed, learned at once and in parts."""
    chance = np.random.default_rng(8)
    X, y = chance.random((60, 7)) * chance.integers(0, 2, (60, 7)), chance.choice(["a", "b", "c"], 60)
    theirs = getattr(sklearn.naive_bayes, name)(alpha=alpha).fit(X, y).predict_proba(X)
    made = getattr(estimators, name)
    ours = made(smoothing=alpha, calibrate=False)
    np.testing.assert_allclose(ours.fit(X, y).predict_proba(X), theirs, rtol=0, atol=1e-9)
    parts = made(smoothing=alpha, calibrate=False).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parts.predict_proba(X), theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize("estimator", EVERY, ids=str)
def test_matrices_of_any_kind(estimator: Any) -> None:
    """Dense or sparse, of NumPy, SciPy, pandas and polars, give the same answers, and stay as they were."""
    chance = np.random.default_rng(8)
    X, y = chance.integers(0, 4, (60, 7)), chance.choice(["a", "b", "c"], 60)
    with_zeros = csr_array(X + 1)
    with_zeros.data -= 1  # zeros that are written out
    expected = clone(estimator).fit(X, y).predict_proba(X)
    for matrix in (csc_matrix(X), coo_array(X), with_zeros, X.tolist(), pd.DataFrame(X), pl.DataFrame(X)):
        before = pickle.dumps(matrix)
        found = clone(estimator).fit(matrix, pl.Series(y)).predict_proba(matrix)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert pickle.dumps(matrix) == before


@settings(max_examples=50, deadline=None)
@given(
    X=npst.arrays(np.int64, st.tuples(st.integers(2, 12), st.just(3)), elements=st.integers(0, 3)),
    data=st.data(),
    name=st.sampled_from(["MultinomialNB", "BernoulliNB", "ComplementNB"]),
)
def test_a_part_at_a_time(X: Any, data: st.DataObject, name: str) -> None:
    """partial_fit on parts, new labels included, is fit on the whole, to the last bit."""
    y = data.draw(npst.arrays(np.int64, len(X), elements=st.integers(0, 12)))
    cut = data.draw(st.integers(1, len(X) - 1))
    whole = getattr(estimators, name)().fit(X, y)
    parts = getattr(estimators, name)().partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    np.testing.assert_array_equal(parts.classes_, whole.classes_)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    "column", [list, np.array, pd.Series, pl.Series, lambda values: pd.Series(values, dtype="str")]
)
def test_columns_of_any_kind(column: Any) -> None:
    """Lists, arrays, and columns of pandas and polars are texts and labels alike."""
    classifier = TextClassifier(smoothing=1.0).fit(column(TEXTS), column(FRUITS))
    assert classifier.predict(column(["red round"])).tolist() == ["apple"]
    assert classifier.score(column(TEXTS), column(FRUITS)) == 1


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        ("a text", ["x"], "one text was given; give a list of texts"),
        (pd.DataFrame({"text": TEXTS}), FRUITS, "a table was given; give its column of texts, as in table['text']"),
        (pl.DataFrame({"text": TEXTS}), FRUITS, "a table was given; give its column of texts, as in table['text']"),
        (pd.Series(["a", None]), ["x", "y"], "text 1 is missing; leave out documents without a text"),
        (["ab", 7], ["x", "y"], "text 1 is int, not str"),
        (["ab", "cd"], ["x", None], "label 1 is missing; leave out documents without a label"),
        (["ab", "cd"], ["x"], "2 texts and 1 label differ in number"),
    ],
)
def test_what_is_no_column(texts: Any, labels: Any, says: str) -> None:
    """One line says what it is instead."""
    with pytest.raises(InputError) as caught:
        TextClassifier().fit(texts, labels)
    assert str(caught.value) == says


def test_labels_stay_what_they_were() -> None:
    """Numbers come back as numbers, in their own order; and 10 is not between 1 and 2."""
    numbers = np.array([2, 10, 2, 10, 1, 1])
    classifier = TextClassifier(smoothing=1.0).fit(TEXTS, numbers)
    assert classifier.classes_.tolist() == [1, 2, 10]
    assert classifier.predict(["yellow"]).tolist() == [10]
    assert classifier.predict_proba(["yellow"]).argmax() == 2
    assert classifier.score(TEXTS, numbers) == 1
    classifier.partial_fit(["purple plum"], [9])
    assert classifier.classes_.tolist() == [1, 2, 9, 10]
    assert classifier.predict(["purple"]).tolist() == [9]


def test_inside_scikit_learn() -> None:
    """Cloned, searched, cross-validated, and at the end of pipelines that count words either way."""
    texts, labels = TEXTS * 3, np.array(FRUITS * 3)
    search = GridSearchCV(TextClassifier(), {"model": ["bernoulli", "complement"], "ngrams": [(1, 1), (1, 2)]}, cv=2)
    assert search.fit(texts, labels).best_score_ == 1
    assert clone(TextClassifier(min_df=2, stop_words=("a",))).get_params()["stop_words"] == ("a",)
    for steps in (
        [CountVectorizer(), estimators.ComplementNB()],
        [Vectorizer(), estimators.MultinomialNB()],
        [Vectorizer(tf="log", idf="smooth", norm="l2"), estimators.LogisticRegression()],
    ):
        assert cross_val_score(make_pipeline(*steps), texts, labels, cv=3).tolist() == [1, 1, 1]
    assert cross_val_score(TextClassifier(), pd.Series(texts), labels, cv=3, scoring="neg_log_loss").max() < 0


def test_nothing_learned_yet() -> None:
    """An estimator that is not fitted raises scikit-learn's NotFittedError."""
    for estimator in [TextClassifier(), estimators.GaussianNB()]:
        with pytest.raises(NotFittedError, match="is not fitted yet; call fit first") as caught:
            estimator.predict([[1.0]] if isinstance(estimator, estimators.GaussianNB) else ["a text"])
        assert isinstance(caught.value, sklearn.exceptions.NotFittedError)


def test_parameters_are_refused_as_scikit_learn_does() -> None:
    """By a TypeError of the constructor, and by a ValueError of set_params, which names the parameter."""
    with pytest.raises(TypeError, match="mindf"):
        TextClassifier(mindf=2)
    with pytest.raises(ValueError, match="Invalid parameter 'mindf'"):
        TextClassifier().set_params(mindf=2)


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (["a text", "another"], ["a", "b"], "X contains texts, but .* needs numbers; put a vectorizer before it"),
        ([[1], [2]], ["a", None], "Input y contains NaN; leave out what has no label"),
    ],
)
def test_what_no_matrix_model_can_learn(X: Any, y: Any, says: str) -> None:
    """Texts, and labels that are missing, are ValueErrors that say what would help; so are wrong parameters."""
    with pytest.raises(ValueError, match=says):
        estimators.MultinomialNB().fit(X, y)
    with pytest.raises(ValueError, match="smoothing: 'x' has the wrong type"):
        estimators.MultinomialNB(smoothing="x").fit([[1], [2]], ["a", "b"])


PROGRAM = """
import sys
from nbtext.model.sklearn_compat import NotFittedError
from nbtext.text_classifier import TextClassifier
from nbtext.estimators import MultinomialNB
try:
    TextClassifier().predict(["a text"])
except NotFittedError:
    MultinomialNB().fit([[1, 0], [0, 2]], ["a", "b"]).predict([[1, 1]])
    TextClassifier().fit(["one two", "three"], ["a", "b"]).predict(["three"])
    print(sorted({"sklearn", "pandas", "polars"} & set(sys.modules)))
"""


def test_nothing_is_imported() -> None:
    """Neither scikit-learn nor pandas nor polars; the error of what has learned nothing is our own then."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

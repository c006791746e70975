"""`TextClassifier` of matrices: the last step of a scikit-learn pipeline, and the figures of its
classes.
"""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.naive_bayes
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.sparse import coo_array, csc_matrix, csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from nbtext import TextClassifier
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.settings import LINEAR_MODELS
from nbtext.errors import InputError, ModelError
from nbtext.features.vectorizer import Vectorizer

TEXTS = [
    "red round fruit",
    "yellow long fruit",
    "round green fruit",
    "long yellow thing",
    "red thing",
    "long thing",
]
FRUITS = ["apple", "banana", "apple", "banana", "apple", "banana"]

with warnings.catch_warnings():  # that it does not inherit from what it does not import
    warnings.filterwarnings("ignore", message=".*does not inherit from")
    # of a classifier of texts scikit-learn checks what does not need a matrix, and says that it
    # cannot check the rest
    warnings.filterwarnings(
        "ignore", message="Can't test estimator TextClassifier which requires input  of type"
    )
    # no check is expected to fail, so that there is no list of exceptions
    with_checks = parametrize_with_checks([TextClassifier()])


@with_checks
def test_conventions(estimator: Any, check: Any) -> None:
    """All checks of scikit-learn's `check_estimator` pass."""
    check(estimator)


def draw_rows(seed: int, n_rows: int = 60) -> tuple[Any, Any]:
    chance = np.random.default_rng(seed)
    return chance.integers(0, 4, (n_rows, 7)), chance.choice(["a", "b", "c"], n_rows)


@pytest.mark.parametrize(
    ("model", "options", "name", "their_options"),
    [
        ("multinomial", {"smoothing": 0.3}, "MultinomialNB", {"alpha": 0.3}),
        ("bernoulli", {"smoothing": 0.3}, "BernoulliNB", {"alpha": 0.3}),
        ("complement", {"smoothing": 0.3}, "ComplementNB", {"alpha": 0.3}),
        ("categorical", {"smoothing": 0.3}, "CategoricalNB", {"alpha": 0.3, "min_categories": 4}),
        ("gaussian", {"smoothing": 1e-3}, "GaussianNB", {"var_smoothing": 1e-3}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_the_same_as_scikit_learn(
    model: str, options: Any, name: str, their_options: Any, seed: int
) -> None:
    """Probabilities, dense and sparse, before and after the model is saved."""
    X, y = draw_rows(seed)
    ours = TextClassifier(model=model, **options, calibrate=False).fit(X, y)
    theirs = getattr(sklearn.naive_bayes, name)(**their_options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict_proba(csr_array(X)), ours.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(csr_array(X)), theirs.predict(X))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("multinomial", "MultinomialNB"),
        ("bernoulli", "BernoulliNB"),
        ("complement", "ComplementNB"),
    ],
)
def test_the_same_of_weights(model: str, name: str) -> None:
    """Probabilities of rows of fractions."""
    chance = np.random.default_rng(8)
    X = chance.random((60, 7)) * chance.integers(0, 2, (60, 7))
    y = chance.choice(["a", "b", "c"], 60)
    theirs = getattr(sklearn.naive_bayes, name)(alpha=0.3).fit(X, y)
    ours = TextClassifier(model=model, smoothing=0.3, calibrate=False).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", [*sorted(EVENT_MODELS.keys() - {"combined"}), *LINEAR_MODELS])
def test_matrices_of_any_kind(model: str, tmp_path: Path) -> None:
    """Arrays and sparse matrices give the same answers, stay as they were, and a saved classifier
    takes them.
    """
    X, y = draw_rows(8)
    with_zeros = csr_array(X + 1)
    with_zeros.data -= 1  # zeros that are written out
    classifier = TextClassifier(model=model).fit(X, y)
    expected = classifier.predict_proba(X)
    for matrix in (
        csc_matrix(X),
        coo_array(X),
        with_zeros,
        X.astype(np.float64),
        X.astype(np.int8),
    ):
        before = pickle.dumps(matrix)
        found = TextClassifier(model=model).fit(matrix, pl.Series(y)).predict_proba(matrix)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert pickle.dumps(matrix) == before
    classifier.save(tmp_path / "m.joblib")
    again = TextClassifier.load(tmp_path / "m.joblib")
    np.testing.assert_array_equal(again.predict_proba(csr_array(X)), expected)
    assert again.score(X, y) == classifier.score(X, y)


def test_selected_columns() -> None:
    """Settings of features apply to the columns, and the others of a row are not looked at."""
    X, y = draw_rows(3)
    X[:, 2] = 0
    X[0, 2] = 1
    options: dict[str, Any] = {
        "min_df": 2,
        "tf": "log",
        "idf": "smooth",
        "norm": "l2",
        "smoothing": 1.0,
    }
    selected = TextClassifier(**options).fit(csr_array(X), y)
    others = TextClassifier(**options).fit(np.delete(X, 2, axis=1), y)
    assert selected.fitted_.vocabulary is not None
    assert selected.fitted_.vocabulary.terms == list("013456")
    np.testing.assert_allclose(
        selected.predict_proba(X), others.predict_proba(np.delete(X, 2, axis=1)), atol=1e-12
    )


@settings(max_examples=50)
@given(
    X=npst.arrays(np.int64, st.tuples(st.integers(2, 12), st.just(3)), elements=st.integers(0, 3)),
    data=st.data(),
    model=st.sampled_from(["multinomial", "dirichlet", "bernoulli", "complement"]),
)
def test_a_part_at_a_time(X: Any, data: st.DataObject, model: str) -> None:
    """partial_fit on parts, new labels included, is fit on the whole, to the last bit; forget
    undoes it.
    """
    y = data.draw(npst.arrays(np.int64, len(X), elements=st.integers(0, 12)))
    cut = data.draw(st.integers(1, len(X) - 1))
    assume(X[:cut].any())
    whole = TextClassifier(model=model).fit(X, y)
    first = TextClassifier(model=model).fit(X[:cut], y[:cut])
    parts = TextClassifier(model=model).partial_fit(X[:cut], y[:cut]).partial_fit(X[cut:], y[cut:])
    np.testing.assert_array_equal(parts.classes_, whole.classes_)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    parts.forget(X[cut:], y[cut:])
    np.testing.assert_array_equal(parts.classes_, first.classes_)
    assert parts.predict(X).shape == (len(X),)


def test_inside_scikit_learn() -> None:
    """Cloned, searched, cross-validated, and the last step of pipelines that count words either
    way.
    """
    texts = TEXTS * 3
    labels = np.array(FRUITS * 3)
    search = GridSearchCV(
        TextClassifier(), {"model": ["bernoulli", "complement"], "ngrams": [(1, 1), (1, 2)]}, cv=2
    )
    assert search.fit(texts, labels).best_score_ == 1
    assert clone(TextClassifier(min_df=2, stop_words=("a",))).get_params()["stop_words"] == ("a",)
    for steps in (
        [CountVectorizer(), TextClassifier(model="complement")],
        [Vectorizer(), TextClassifier()],
        [Vectorizer(tf="log", idf="smooth", norm="l2"), TextClassifier(model="logistic")],
        [TfidfVectorizer(sublinear_tf=True), TextClassifier(model="complement")],
    ):
        assert cross_val_score(make_pipeline(*steps), texts, labels, cv=3).tolist() == [1, 1, 1]
    assert (
        cross_val_score(
            TextClassifier(), pd.Series(texts), labels, cv=3, scoring="neg_log_loss"
        ).max()
        < 0
    )


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        (np.array([[1.0], [np.nan]]), ["a", "b"], "a number of the matrix is not finite"),
        (
            np.array([[1.0], [1e300]]),
            ["a", "b"],
            "the matrix contains a weight above 2.30584e+18",
        ),
        (np.array([[1], [2j]]), ["a", "b"], "the matrix has complex numbers"),
    ],
    ids=lambda each: str(each)[:20] if isinstance(each, str) else "",
)
def test_what_is_no_matrix(X: Any, y: Any, says: str) -> None:
    """One line says what it is instead."""
    with pytest.raises(InputError) as caught:
        TextClassifier().fit(X, y)
    assert str(caught.value).startswith(says)


def test_columns_and_texts_are_not_mixed() -> None:
    """A model of columns takes a matrix with as many; a model of words takes texts."""
    X, y = draw_rows(1)
    of_columns = TextClassifier().fit(X, y)
    of_words = TextClassifier().fit(TEXTS, FRUITS)
    with pytest.raises(InputError, match="the matrix has 6 columns, and that of the model had 7"):
        of_columns.predict(X[:, :6])
    with pytest.raises(InputError, match="X is a matrix, and the model was trained on texts"):
        of_words.predict(X)
    for use in (of_columns.predict, of_columns.explain):
        with pytest.raises(ModelError, match="trained on the columns of a matrix, not on words"):
            use(["a text"])  # type: ignore[operator]
    with pytest.raises(ModelError, match="trained on the columns of a matrix, not on words"):
        of_columns.partial_fit(["a text"], ["a"])
    with pytest.raises(ModelError, match="trained on matrices of different width, or one on texts"):
        of_columns.merge(TextClassifier().fit(X[:, :6], y))
    with pytest.raises(InputError, match="X is a matrix, whose columns are the features"):
        TextClassifier(hash_bits=10).fit(X, y)


@pytest.mark.parametrize("factor", [1, 1.5, 100.5])
def test_fractions_are_calibrated_like_counts(factor: float) -> None:
    """Digits, whole or not: the log-loss of a test is about what leave-one-out expects."""
    pixels, digits = load_digits(return_X_y=True)
    is_test = np.random.default_rng(1).random(len(digits)) < 0.3
    model = TextClassifier(model="multinomial").fit(pixels[~is_test] * factor, digits[~is_test])
    expected = model.fitted_.estimate
    assert expected is not None
    found = log_loss(digits[is_test], model.predict_proba(pixels[is_test] * factor))
    assert abs(found - expected.log_loss) < 0.06
    assert found < 0.45


@pytest.mark.parametrize("factor", [1, 0.25])
@pytest.mark.parametrize("model", ["multinomial", "gaussian"])
def test_the_order_of_rows_does_not_matter(model: str, factor: float) -> None:
    """Rows in another order make the same model."""
    random = np.random.default_rng(3)
    rows = random.poisson(0.4, (300, 20)) * factor
    labels = random.integers(0, 3, 300)
    order = random.permutation(300)
    first, second = (
        TextClassifier(model=model).fit(rows[at], labels[at]) for at in (slice(None), order)
    )
    assert first.fitted_.hyperparameters.smoothing == second.fitted_.hyperparameters.smoothing
    np.testing.assert_allclose(first.predict_proba(rows), second.predict_proba(rows), rtol=1e-9)


def test_several_labels(tmp_path: Path) -> None:
    """The rows of texts with several labels give the probabilities that the texts give."""
    lists = [
        [fruit] if "red" in text else [fruit, "c"]
        for text, fruit in zip(TEXTS, FRUITS, strict=True)
    ]
    rows = CountVectorizer().fit_transform(TEXTS * 2)
    of_texts = TextClassifier().fit(TEXTS * 2, lists * 2)
    TextClassifier().fit(rows, lists * 2).save(tmp_path / "m.joblib")
    found = TextClassifier.load(tmp_path / "m.joblib").predict_proba(rows)
    np.testing.assert_allclose(found, of_texts.predict_proba(TEXTS * 2), atol=1e-6)


def test_negative_weights_are_for_linear_models() -> None:
    """`idf="plus-one"` is negative for a word of every document: Naive Bayes refuses it, and says
    what to use.
    """
    texts = ["red apple", "red plum", "red sour", "red sweet"]
    labels = ["a", "a", "b", "b"]
    with pytest.raises(ModelError, match=r"multinomial needs weights >= 0.*smooth or plain"):
        TextClassifier(idf="plus-one").fit(texts, labels)
    TextClassifier(idf="plus-one", model="nbsvm").fit(texts, labels)
    rows = np.array([[1.0, -0.5], [0.2, 1.0], [-1.0, 0.0], [0.0, 0.5]])
    for model in (
        "multinomial",
        "dirichlet",
        "bernoulli",
        "complement",
        "categorical",
        "nbsvm",
        "auto",
    ):
        with pytest.raises(
            ModelError, match=r"needs numbers >= 0, and the matrix has negative ones"
        ):
            TextClassifier(model=model).fit(rows, labels)
    for model in ("svm", "logistic", "gaussian"):
        assert TextClassifier(model=model).fit(rows, labels).predict(rows).shape == (4,)


PROGRAM = """
import sys
import numpy as np
from nbtext.model.sklearn_compat import NotFittedError
from nbtext.text_classifier import TextClassifier
try:
    TextClassifier().predict(["a text"])
except NotFittedError:
    TextClassifier().fit(np.array([[1, 0], [0, 2]]), ["a", "b"]).predict(np.array([[1, 1]]))
    TextClassifier().fit(["one two", "three"], ["a", "b"]).predict(["three"])
    print(sorted({"sklearn", "pandas", "polars"} & set(sys.modules)))
"""


def test_nothing_is_imported() -> None:
    """Neither scikit-learn nor pandas nor polars; the error of what has learned nothing is our own
    then.
    """
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

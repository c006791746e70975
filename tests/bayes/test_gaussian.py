"""Gaussian Naive Bayes is scikit-learn's on the dense matrix, and never makes one."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import labeled_matrices, leave_one_out, sample_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.naive_bayes import GaussianNB

from nbtext.bayes import gaussian as gaussian_model
from nbtext.bayes.class_statistics import count_classes, log_prior
from nbtext.bayes.gaussian import GAUSSIAN, compile_gaussian, compute_moments
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError
from nbtext.features.document_table import DocumentTable
from nbtext.text_classifier import TextClassifier


def joint(
    training: DocumentTable,
    asked: DocumentTable,
    n_features: int,
    n_classes: int,
    *,
    smoothing: float = 1e-9,
) -> Floats:
    """log p(document, class) by our model."""
    statistics = compute_moments(count_classes(training, n_features, n_classes), training)
    scorer = compile_gaussian(statistics, smoothing=smoothing).with_prior(
        log_prior(statistics.class_documents, "empirical")
    )
    return scorer.scores(asked.indptr, asked.indices, asked.counts)


def weighted(weights: NDArray[np.float64], classes: NDArray[Any]) -> DocumentTable:
    """The documents of a dense matrix of weights."""
    rows, columns = np.nonzero(weights)
    indptr = np.searchsorted(rows, np.arange(len(weights) + 1)).astype(np.int64)
    values = weights[rows, columns]
    return DocumentTable(
        indptr, columns.astype(np.int32), values, classes.astype(np.int32), np.arange(len(weights))
    )


@settings(max_examples=200)
@given(
    corpus=labeled_matrices(fewest_classes=2, maximum=9),
    smoothing=st.sampled_from([1e-9, 1e-3, 1.0]),
    data=st.data(),
)
def test_counts_equal_scikit_learn(corpus: Any, smoothing: float, data: st.DataObject) -> None:
    """The joint log-density of counts is scikit-learn's to 1e-9, even in classes of one document,
    or all alike.
    """
    counts, classes, n_classes = corpus
    assume(counts.var(axis=0).max() > 0)
    peer = GaussianNB(var_smoothing=smoothing).fit(counts, classes)
    row = st.lists(st.integers(0, 12), min_size=counts.shape[1], max_size=counts.shape[1])
    asked = np.concatenate(
        (counts, np.array([data.draw(row), np.zeros(counts.shape[1])], dtype=int))
    )
    nobody = np.zeros(len(asked), dtype=int)
    found = joint(
        sample_of(counts, classes),
        sample_of(asked, nobody),
        counts.shape[1],
        n_classes,
        smoothing=smoothing,
    )
    np.testing.assert_allclose(found, peer.predict_joint_log_proba(asked), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("smoothing", [1e-9, 1e-3])
def test_weights_equal_scikit_learn(smoothing: float) -> None:
    """So it is of weights that are not whole numbers, most of them zero."""
    random = np.random.default_rng(1)
    weights = random.random((400, 60)) * (random.random((400, 60)) < 0.2)
    classes = random.integers(0, 4, 400)
    peer = GaussianNB(var_smoothing=smoothing).fit(weights[:300], classes[:300])
    asked = weighted(weights, classes)
    found = joint(weighted(weights[:300], classes[:300]), asked, 60, 4, smoothing=smoothing)
    np.testing.assert_allclose(found, peer.predict_joint_log_proba(weights), rtol=1e-9, atol=1e-9)


def test_weights_left_out() -> None:
    """Leaving out documents of weights equals refits too, with the floor of variances as it was."""
    random = np.random.default_rng(3)
    weights = random.random((40, 12)) * (random.random((40, 12)) < 0.4)
    classes = np.arange(40) % 3
    sample = weighted(weights, classes)
    statistics = compute_moments(count_classes(sample, 12, 3), sample)
    found = leave_one_out(statistics, sample, model=GAUSSIAN, smoothings=[1e-3], prior="uniform")[0]
    for i in range(40):
        others = np.arange(40) != i
        floor = 1e-3 * statistics.largest_variance / weights[others].var(axis=0).max()
        peer = GaussianNB(priors=np.full(3, 1 / 3), var_smoothing=floor).fit(
            weights[others], classes[others]
        )
        np.testing.assert_allclose(
            found[i], peer.predict_joint_log_proba(weights[[i]])[0], rtol=1e-9, atol=1e-9
        )


def test_sparse_input_stays_sparse() -> None:
    """5,000 documents of 100,000 features, 4 GB when dense, are learned and left out within 200
    MB.
    """
    random = np.random.default_rng(1)
    indices = np.concatenate(
        [np.sort(random.choice(100_000, 50, replace=False)) for _ in range(5000)]
    )
    classes = (np.arange(5000) % 4).astype(np.int32)
    sample = DocumentTable(
        np.arange(0, 250_001, 50),
        indices.astype(np.int32),
        random.random(250_000),
        classes,
        np.arange(5000),
    )
    tracemalloc.start()
    statistics = compute_moments(count_classes(sample, 100_000, 4), sample)
    scores = leave_one_out(statistics, sample, model=GAUSSIAN, smoothings=[1e-9])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(scores).all()
    assert peak < 200e6


def test_too_many_labels_for_the_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the weights of all pairs of label and feature would fill the memory, the error says
    so.
    """
    monkeypatch.setattr(gaussian_model, "MAX_SQUARES", 5)
    with pytest.raises(ModelError, match="2 labels and 3 features is too large"):
        TextClassifier(model="gaussian").fit(["one two", "three"], ["x", "y"])


def test_smoothing_is_the_floor() -> None:
    """Without --smoothing the floor of variances is 1e-9 of the largest, not searched for; else
    what is given.
    """
    texts = ["a word", "word word", "one two", "two two three"]
    labels = ["x", "x", "y", "y"]
    assert (
        TextClassifier(model="gaussian").fit(texts, labels).fitted_.hyperparameters.smoothing
        == 1e-9
    )
    assert (
        TextClassifier(model="gaussian", smoothing=0.1)
        .fit(texts, labels)
        .fitted_.hyperparameters.smoothing
        == 0.1
    )

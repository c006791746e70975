"""The event models are scikit-learn's, and never overflow."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import MODELS, N_VALUES, labeled_matrices, read_by, sample_of
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB

from nbtext.bayes.class_statistics import log_prior
from nbtext.bayes.scorer import derive, log_posterior
from nbtext.errors import ModelError, SettingsError
from nbtext.features.document_table import DocumentTable

PEERS: dict[str, Any] = {
    "multinomial": MultinomialNB,
    "bernoulli": BernoulliNB,
    "complement": ComplementNB,
    "normalized complement": partial(ComplementNB, norm=True),
    "categorical": partial(CategoricalNB, min_categories=N_VALUES),
}
SMOOTHINGS = st.sampled_from([1e-6, 0.01, 0.5, 1.0, 10.0])


@pytest.mark.parametrize("name", PEERS)
@settings(max_examples=60)
@given(corpus=labeled_matrices(fewest_classes=2), smoothing=SMOOTHINGS, is_uniform=st.booleans())
def test_equals_scikit_learn(name: str, corpus: Any, smoothing: float, is_uniform: bool) -> None:
    """Each event model's log-probabilities are scikit-learn's to 1e-9, with either prior."""
    counts, classes, n_classes = corpus
    # of one feature, scikit-learn divides 0 by 0
    assume(name != "normalized complement" or counts.shape[1] > 1)
    read = np.minimum(counts, N_VALUES - 1) if name == "categorical" else counts
    peer = PEERS[name](alpha=smoothing, fit_prior=not is_uniform, force_alpha=True).fit(
        read, classes
    )
    model = MODELS[name]
    asked = sample_of(np.minimum(counts, 1) if model.is_binary else counts, classes)
    statistics = read_by(name, counts, classes, n_classes)
    ignores_prior = name in ("complement", "normalized complement")
    prior = log_prior(
        statistics.class_documents, "uniform" if is_uniform or ignores_prior else "empirical"
    )
    scorer = model.compile(statistics, smoothing=smoothing).with_prior(prior)
    scores = scorer.scores(asked.indptr, asked.indices, asked.counts)
    np.testing.assert_allclose(
        log_posterior(scores), peer.predict_log_proba(read), rtol=1e-9, atol=1e-9
    )


def dense(sample: DocumentTable, n_columns: int) -> Any:
    """The rows of a sample as a dense matrix."""
    return csr_array(
        (sample.counts, sample.indices, sample.indptr), shape=(len(sample), n_columns)
    ).toarray()


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=40)
@given(corpus=labeled_matrices(), smoothing=st.sampled_from([0.0, 1e-12, 1.0, 1e6]))
def test_scores_are_the_dense_product(name: str, corpus: Any, smoothing: float) -> None:
    """Sparse scoring is X @ weights.T + bias, and finite for any smoothing."""
    counts, classes, n_classes = corpus
    scorer = MODELS[name].compile(read_by(name, counts, classes, n_classes), smoothing=smoothing)
    asked = sample_of(counts, classes)
    scores = scorer.scores(asked.indptr, asked.indices, asked.counts)
    assert np.isfinite(scores).all()
    columns = dense(
        asked if scorer.derivation is None else derive(asked, scorer.derivation), scorer.n_columns
    )
    product = (
        (columns @ scorer.weights().T + scorer.bias).reshape(len(counts), -1, n_classes).sum(axis=1)
    )
    np.testing.assert_allclose(scores, product, rtol=1e-9, atol=1e-6)


def test_a_class_without_documents() -> None:
    """A class with no document has no empirical prior, and the error says what would help."""
    with pytest.raises(ModelError, match="use prior=uniform"):
        log_prior(np.array([3, 0]), "empirical")


def test_a_prior_of_the_wrong_length() -> None:
    """A given prior has one positive number for each label."""
    for prior in ((1.0,), (1.0, 0.0), (1.0, float("nan"))):
        with pytest.raises(SettingsError, match="2 numbers from 1e-100 to"):
            log_prior(np.array([3, 1]), prior)

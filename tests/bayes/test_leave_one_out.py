"""Leave-one-out scores equal those of n refits, and are computed in one pass."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from corpora_by_hand import (
    MODELS,
    labeled_matrices,
    leave_one_out,
    read_by,
    sample_of,
    statistics_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtext.bayes import complement
from nbtext.bayes.class_statistics import count_classes, log_prior
from nbtext.bayes.gaussian import Moments
from nbtext.features.document_counts import DocumentCounts


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("prior", ["empirical", "uniform"])
@settings(max_examples=40, deadline=None)
@given(
    corpus=labeled_matrices(fewest_a_class=2, fewest_classes=2),
    smoothing=st.sampled_from([0.0, 0.001, 0.3, 1.0]),
)
def test_equals_refits(name: str, prior: str, corpus: Any, smoothing: float) -> None:
    """Each document's left-out scores are those of a model trained on all others, to 1e-9."""
    counts, classes, n_classes = corpus
    model = MODELS[name]
    asked = np.minimum(counts, 1) if model.is_binary else counts
    sample = sample_of(asked, classes)
    statistics = read_by(name, asked, classes, n_classes)
    (found,) = leave_one_out(
        statistics, sample, model=MODELS[name], smoothings=[smoothing], prior=prior
    )
    for i in range(len(counts)):
        others = np.arange(len(counts)) != i
        refitted = read_by(name, asked[others], classes[others], n_classes)
        # fixed, as the vocabulary is
        if isinstance(statistics, Moments) and isinstance(refitted, Moments):
            refitted = replace(refitted, largest_variance=statistics.largest_variance)
        scorer = model.compile(refitted, smoothing=smoothing).with_prior(
            log_prior(refitted.class_documents, prior)
        )
        alone = sample_of(asked[[i]], classes[[i]])
        expected = scorer.scores(alone.indptr, alone.indices, alone.counts)[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


def test_left_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is looked at together, the left-out scores are the same."""
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, (60, 40))
    classes = random.integers(0, 5, 60)
    sample = sample_of(counts, classes)
    statistics = statistics_of(counts, classes, 5)
    for name in ("dirichlet", "complement", "normalized complement"):
        (whole,) = leave_one_out(statistics, sample, model=MODELS[name], smoothings=[0.1])
        monkeypatch.setattr(complement, "BLOCK", 30)
        (parts,) = leave_one_out(statistics, sample, model=MODELS[name], smoothings=[0.1])
        monkeypatch.undo()
        np.testing.assert_allclose(parts, whole, rtol=1e-12)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_complement_in_little_memory(kind: type) -> None:
    """4,000 documents whose words meet ten classes each, 4 million meetings, take less than 100
    MB.
    """
    random = np.random.default_rng(1)
    counts = random.geometric(0.7, 400_000).astype(kind)
    indices = np.sort(random.permuted(np.tile(np.arange(5000), (4000, 1)), axis=1)[:, :100], axis=1)
    classes = random.integers(0, 12, 4000).astype(np.int32)
    indptr = np.arange(0, 400_001, 100)
    sample = DocumentCounts(
        indptr,
        indices.reshape(-1).astype(np.int32),
        counts,
        classes,
        np.arange(4000, dtype=np.uint64),
    )
    statistics = count_classes(sample, 5000, 12)
    tracemalloc.start()
    leave_one_out(statistics, sample, model=MODELS["normalized complement"], smoothings=[0.1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_the_only_document_of_its_class() -> None:
    """Without the only document of its label, the label has prior 0, so its own score is −∞."""
    counts = np.array([[1, 0], [1, 1], [0, 1]])
    classes = np.array([0, 0, 1])
    (found,) = leave_one_out(
        statistics_of(counts, classes, 2),
        sample_of(counts, classes),
        model=MODELS["multinomial"],
        smoothings=[1],
    )
    assert found[2, 1] == -np.inf
    assert np.isfinite(found[:2]).all()


@pytest.mark.parametrize("name", MODELS)
def test_several_smoothings_at_once(name: str) -> None:
    """Several smoothings at once give the scores of each one alone, for counts and for weights."""
    counts = np.array([[1, 0, 2], [1, 1, 0], [0, 1, 1], [5000, 0, 1]])
    classes = np.array([0, 0, 1, 1])
    if MODELS[name].is_binary:
        counts = np.minimum(counts, 1)
    sample = sample_of(counts, classes)
    statistics = read_by(name, counts, classes, 2)
    smoothings = [0.01, 1.0, 3.0]
    weighted = replace(sample, counts=sample.counts.astype(np.float64))
    together = leave_one_out(statistics, sample, model=MODELS[name], smoothings=smoothings)
    for found, smoothing in zip(together, smoothings, strict=True):
        (alone,) = leave_one_out(statistics, weighted, model=MODELS[name], smoothings=[smoothing])
        np.testing.assert_allclose(found, alone, rtol=1e-12, atol=1e-9)

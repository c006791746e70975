"""Leave-one-out scores are computed in one pass, in parts; see also test_duplicates."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from corpora_by_hand import (
    MODELS,
    leave_one_out,
    read_by,
    sample_of,
    statistics_of,
)

from nbtext.bayes import complement
from nbtext.bayes.class_statistics import count_classes
from nbtext.features.document_table import DocumentTable


def test_left_out_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is looked at together, the left-out scores are the same."""
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, (60, 40))
    classes = random.integers(0, 5, 60)
    sample = sample_of(counts, classes)
    statistics = statistics_of(counts, classes, 5)
    for name in ("dirichlet", "complement", "normalized complement"):
        (whole,) = leave_one_out(statistics, sample, model=MODELS[name], smoothings=[0.1])
        monkeypatch.setattr(complement, "PAIRS_SCORED_AT_ONCE", 30)
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
    sample = DocumentTable(
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

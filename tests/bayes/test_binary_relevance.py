"""The scores of several labels: textbook formulas, and leave-one-out scores equal to refits."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.bayes.binary_relevance import (
    LabelCounts,
    RelevanceLeaveOneOut,
    RelevanceScores,
    Smoothing,
    compile_relevance,
    contrast_labels,
    split_scores,
)
from nbtext.bayes.class_statistics import ClassStatistics, LabelSets, count_label_sets
from nbtext.features.document_table import DocumentTable

N_FEATURES = 4
N_LABELS = 3
MATRICES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), min_size=N_FEATURES, max_size=N_FEATURES),
        st.sets(st.integers(0, N_LABELS - 1)).map(lambda labels: tuple(sorted(labels))),
    ),
    min_size=1,
    max_size=9,
).map(sorted)


def corpus_of(matrix: list[tuple[list[int], tuple[int, ...]]]) -> tuple[DocumentTable, LabelSets]:
    """The documents of some rows of counts, with hashes that are equal for equal rows, in the order
    of the rows, and their label sets.
    """
    rows = np.array([row for row, _ in matrix], dtype=np.int32).reshape(-1, N_FEATURES)
    sets = sorted({labels for _, labels in matrix})
    classes = np.array([sets.index(labels) for _, labels in matrix], dtype=np.int32)
    hashes = np.unique(rows, axis=0, return_inverse=True)[1].astype(np.uint64).ravel()
    places = np.nonzero(rows)
    indptr = np.searchsorted(places[0], np.arange(len(rows) + 1))
    documents = DocumentTable(indptr, places[1].astype(np.int32), rows[places], classes, hashes)
    ends = np.cumsum([0, *map(len, sets)])
    return documents, LabelSets(ends, np.array([k for each in sets for k in each], dtype=np.int32))


def count(documents: DocumentTable, sets: LabelSets) -> ClassStatistics:
    return count_label_sets(documents, sets, n_features=N_FEATURES, n_labels=N_LABELS)


def score(
    statistics: ClassStatistics, row: NDArray[np.int32], smoothing: Smoothing
) -> RelevanceScores:
    """The scores of a new document."""
    scorer = compile_relevance(statistics, smoothing)
    features = np.flatnonzero(row).astype(np.int32)
    scores = scorer.scores(np.array([0, len(features)]), features, row[features].astype(np.float64))
    return split_scores(scores, scorer.bias[:N_LABELS])


def dense(counts: DocumentTable) -> NDArray[np.int32]:
    rows = np.zeros((len(counts), N_FEATURES), dtype=np.int32)
    rows[counts.entry_documents, counts.indices] = counts.counts
    return rows


@given(MATRICES, st.sampled_from([0.1, 10.0, 1e4]), st.sampled_from([0.1, 1.0]))
def test_scores_are_those_of_the_formulas(
    matrix: list[tuple[list[int], tuple[int, ...]]], mu: float, alpha: float
) -> None:
    documents, sets = corpus_of(matrix)
    statistics = count(documents, sets)
    rows = dense(documents).astype(float)
    has_label = np.array([[k in labels for k in range(N_LABELS)] for _, labels in matrix])
    t = has_label.T @ rows
    n_k = has_label.sum(axis=0)
    totals = rows.sum(axis=0)
    x = np.array([1, 0, 2, 1], dtype=np.int32)
    if (totals[x > 0] == 0).any():
        return
    discounted = np.maximum(t - 0.8, 0)
    of_label = t.sum(axis=1, keepdims=True)
    pseudo = mu + np.minimum(of_label, 20 * mu)
    added = pseudo * totals / totals.sum()
    in_label = (discounted + added) / (of_label + pseudo)
    in_rest = (totals - discounted + added) / (totals.sum() - of_label + pseudo)
    used = x > 0
    expected = (
        np.log((n_k + 0.5) / (len(rows) - n_k + 0.5))
        + np.log(in_label[:, used] / in_rest[:, used]) @ x[used]
    )
    found = score(statistics, x, Smoothing(mu, alpha))
    np.testing.assert_allclose(found.relevance[0], expected, atol=1e-9)
    joint = np.log((t + alpha) / (t.sum(axis=1, keepdims=True) + alpha * N_FEATURES)) @ x
    assert found.contrast is not None
    for k in range(N_LABELS):
        others = np.delete(joint, k)
        assert found.contrast[0, k] == pytest.approx(
            joint[k] - np.logaddexp.reduce(others) + np.log(2), abs=1e-9
        )
    np.testing.assert_allclose(
        found.priors, np.log((n_k + 0.5) / (len(rows) - n_k + 0.5)), atol=1e-12
    )


@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("is_open", [True, False])
@given(MATRICES, st.sampled_from([0.1, 10.0, 1e4]), st.sampled_from([0.1, 1.0]))
def test_leave_one_out_scores_are_those_of_refitted_models(
    is_open: bool,
    is_alone: bool,
    matrix: list[tuple[list[int], tuple[int, ...]]],
    mu: float,
    alpha: float,
) -> None:
    documents, sets = corpus_of(matrix)
    statistics = count(documents, sets)
    rows = dense(documents)
    corpus = RelevanceLeaveOneOut(
        LabelCounts.of(statistics),
        documents,
        sets,
        np.zeros(len(documents)) if is_open else None,
    )
    if is_alone:
        corpus = corpus.alone
    for smoothing in (Smoothing(mu, alpha), Smoothing(2 * mu, alpha)):
        blocks = [corpus.scores_of(smoothing)(block) for block in corpus.blocks]
        relevance, priors = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("relevance", "priors")
        )
        contrast = np.concatenate(
            [block.contrast for block in blocks if block.contrast is not None]
        )
        for i, row in enumerate(rows):
            others = np.arange(len(rows)) != i if is_alone else (rows != row).any(axis=1)
            if not others.any():
                continue
            refitted = count(documents.filter(others), sets)
            known = row.copy()
            if is_open:
                known[rows[others].sum(axis=0) == 0] = 0
            expected = score(refitted, known, smoothing)
            content = corpus.contents[i]
            np.testing.assert_allclose(relevance[content], expected.relevance[0], atol=1e-9)
            np.testing.assert_allclose(priors[content], expected.priors, atol=1e-12)
            assert expected.contrast is not None
            np.testing.assert_allclose(contrast[content], expected.contrast[0], atol=1e-9)


def test_labels_that_are_far_behind_have_finite_log_odds() -> None:
    log_odds = contrast_labels(np.array([[0.0, -1000.0, -2000.0], [-5.0, -5.0, -5.0]]))
    np.testing.assert_allclose(log_odds[0] - np.log(2), [1000.0, -1000.0, -2000.0])
    np.testing.assert_allclose(log_odds[1], np.zeros(3), atol=1e-15)


def test_labels_of_other_documents_are_not_subtracted() -> None:
    documents, sets = corpus_of([([1, 1, 0, 0], (0, 1)), ([1, 0, 0, 0], (0,))])
    whole = count(documents, sets)
    # {0, 1} forgotten as {0}
    alone = count(replace(documents.slice(0, 1), classes=documents.classes[1:2]), sets)
    with pytest.raises(Exception, match="not trained on"):
        whole - alone

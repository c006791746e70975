"""The kernel's free functions and their twins: each law holds for both."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.features import counting, twins
from nbtext.features.rows import Rows
from nbtext.features.sparse_weights import SparseWeights
from nbtext.features.vocabulary import Vocabulary

TERMS = st.sets(st.text(max_size=6))


@pytest.fixture(scope="module", params=["compiled", "plain"])
def functions(request: pytest.FixtureRequest) -> ModuleType:
    """The module that has the functions."""
    if request.param == "plain":
        return twins
    if not counting.HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    from nbtext.features import _kernel

    return _kernel


@given(first=TERMS, second=TERMS)
def test_merged_vocabularies_are_their_union(functions: ModuleType, first: set[str], second: set[str]) -> None:
    """Sorted, each term once; and the columns point to the same terms."""
    a, b = Vocabulary.from_terms(first), Vocabulary.from_terms(second)
    blob, offsets, columns_a, columns_b = functions.merge_sorted(a.blob, a.offsets, b.blob, b.offsets)
    union = Vocabulary(blob, offsets)
    assert union.terms == sorted(first | second)
    assert [union.terms[column] for column in columns_a] == a.terms
    assert [union.terms[column] for column in columns_b] == b.terms
    assert (blob.dtype, offsets.dtype, columns_a.dtype, columns_b.dtype) == (np.uint8, np.int64, np.int32, np.int32)


@given(
    documents=st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5)), max_size=8),
    columns=st.permutations(range(10)),
    dropped=st.sets(st.integers(0, 9)),
)
def test_arranged_rows_are_in_their_columns(
    functions: ModuleType, documents: list[dict[int, int]], columns: list[int], dropped: set[int]
) -> None:
    """Renumbered, sorted, and without what has no column."""
    places = np.array([-1 if column in dropped else column for column in columns], dtype=np.int32)
    rows = Rows(
        np.cumsum([0, *map(len, documents)], dtype=np.int64),
        np.array([j for document in documents for j in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
        np.arange(len(documents), dtype=np.int64),
    )
    arranged = functions.arrange(rows, places)
    expected = [sorted((columns[j], n) for j, n in d.items() if columns[j] not in dropped) for d in documents]
    assert arranged.indptr.tolist() == [0, *np.cumsum([len(document) for document in expected], dtype=int)]
    assert list(zip(arranged.indices, arranged.counts, strict=True)) == [pair for d in expected for pair in d]
    assert arranged.n_tokens.tolist() == rows.n_tokens.tolist()
    assert [part.dtype for part in arranged] == [np.int64, np.int32, np.int32, np.int64]


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_scores_are_the_matrix_product(functions: ModuleType, dtype: type, has_base: bool, n_classes: int) -> None:
    """X @ weights.T + bias, with the weights written out in full; an empty row has the bias."""
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, size=(20, 30)) * (random.random((20, 30)) if dtype is np.float64 else 1)
    counts[7] = 0
    rows, columns = counts.nonzero()
    deltas = random.normal(size=(30, n_classes)) * (random.random((30, n_classes)) < 0.3)
    features, classes = deltas.nonzero()
    scorer = SparseWeights(
        bias=random.normal(size=n_classes),
        default=random.normal(size=n_classes),
        indptr=np.searchsorted(features, np.arange(31)).astype(np.int64),
        classes=classes.astype(np.int32),
        deltas=deltas[features, classes],
        base=random.normal(size=30) if has_base else None,
        base_scale=random.normal(size=n_classes) if has_base else None,
    )
    scores = functions.score_rows(
        np.searchsorted(rows, np.arange(21)).astype(np.int64),
        columns.astype(np.int32),
        counts[rows, columns].astype(dtype),
        scorer,
    )
    weights = scorer.default[:, None] + deltas.T
    if scorer.base is not None and scorer.base_scale is not None:
        weights = weights + np.outer(scorer.base_scale, scorer.base)
    np.testing.assert_allclose(scores, counts @ weights.T + scorer.bias, rtol=1e-12, atol=1e-12)
    assert scores[7].tolist() == scorer.bias.tolist()


def dense_entries(documents: NDArray[np.int64], occurrences: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """ClassStatistics as plain arrays, of dense ones (n_features, n_classes)."""
    features, classes = np.nonzero(documents)
    indptr = np.searchsorted(features, np.arange(len(documents) + 1)).astype(np.int64)
    return indptr, classes.astype(np.int32), documents[features, classes], occurrences[features, classes]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(seed=st.integers(0, 2**32), n_features=st.integers(0, 6), n_classes=st.integers(1, 4))
def test_statistics_add_up_entry_by_entry(
    functions: ModuleType, dtype: type, sign: int, seed: int, n_features: int, n_classes: int
) -> None:
    """As dense matrices do; what comes to nothing has no entry."""
    random = np.random.default_rng(seed)
    documents = random.poisson(0.7, size=(2, n_features, n_classes))
    occurrences = (documents * random.integers(1, 4, size=documents.shape)).astype(dtype)
    if sign < 0:  # a part is taken away
        documents[0] += documents[1]
        occurrences[0] += occurrences[1]
    both = [dense_entries(d, t) for d, t in zip(documents, occurrences, strict=True)]
    expected = dense_entries(documents[0] + sign * documents[1], occurrences[0] + sign * occurrences[1])
    for found, wanted in zip(functions.combine_entries(*both, sign), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_no_statistics_fall_below_zero(functions: ModuleType) -> None:
    """What was never counted cannot be taken away."""
    one, two = (dense_entries(np.array([[n]]), np.array([[n]])) for n in (1, 2))
    assert functions.combine_entries(one, two, -1) is None
    assert functions.combine_entries(two, one, -1) is not None


def a_corpus(seed: int, times: int) -> tuple[Any, NDArray[np.int32], Any]:
    """Ten documents as rows, their classes, and the statistics of `times` as many."""
    random = np.random.default_rng(seed)
    counts, classes = random.poisson(0.5, size=(10, 7)), random.integers(0, 3, size=10).astype(np.int32)
    occurrences = np.stack([counts[classes == k].sum(axis=0) * times for k in range(3)], axis=1)
    rows, columns = np.nonzero(counts)
    indptr = np.searchsorted(rows, np.arange(11)).astype(np.int64)
    return (indptr, columns.astype(np.int32), counts[rows, columns].astype(np.int32)), classes, occurrences


@pytest.mark.parametrize("n_tabled", [1, 4, 4000])
@pytest.mark.parametrize("smoothings", [[0.3], [0.01, 1.0, 7.0]])
def test_left_out_gains_have_the_same_bits(n_tabled: int, smoothings: list[float]) -> None:
    """From a table of logarithms or not, the kernel's are the twin's, to the last bit."""
    if not counting.HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    from nbtext.features import _kernel

    alphas = np.array(smoothings)
    table = np.log(np.arange(n_tabled)[:, None] + alphas) - np.log(alphas)
    for seed in range(20):
        rows, classes, occurrences = a_corpus(seed, times=1 + seed * 100)
        corpus = dense_entries(occurrences, occurrences)
        arguments = rows, classes, corpus, 3, alphas, np.log(alphas), table
        np.testing.assert_array_equal(_kernel.left_out_gains(*arguments), twins.left_out_gains(*arguments))


def test_a_document_that_was_never_counted_cannot_be_left_out(functions: ModuleType) -> None:
    """It has more of a feature than its class."""
    rows, classes, occurrences = a_corpus(1, times=1)
    corpus = dense_entries(occurrences, occurrences)
    alphas, table = np.array([1.0]), np.log(np.arange(9.0)[:, None] + 1)
    more = rows[0], rows[1], rows[2] + np.int32(9)
    with pytest.raises(ValueError, match="no part of the corpus"):
        functions.left_out_gains(more, classes, corpus, 3, alphas, np.log(alphas), table)

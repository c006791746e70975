"""Functions of rows and vocabularies: each law holds for the kernel and for plain Python."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import nbtext.features.counting  # noqa: F401  where versions are chosen
from nbtext.features.csr import SparseWeights
from nbtext.features.document_table import DocumentTable
from nbtext.features.vocabulary import Vocabulary
from nbtext.kernel import HAS_KERNEL, PLAIN_VERSIONS

TERMS = st.sets(st.text(max_size=6))
matrices = st.lists(
    st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=6
).map(np.array)


@pytest.fixture(scope="module", params=["compiled", "plain"])
def functions(request: pytest.FixtureRequest) -> Any:
    """What has the functions."""
    if request.param == "plain":
        return SimpleNamespace(**PLAIN_VERSIONS)
    if not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    from nbtext import _kernel

    return _kernel


@given(first=TERMS, second=TERMS)
def test_merged_vocabularies_are_their_union(
    functions: Any, first: set[str], second: set[str]
) -> None:
    """Sorted, each term once; and the columns point to the same terms."""
    a = Vocabulary.from_terms(first)
    b = Vocabulary.from_terms(second)
    blob, offsets, columns_a, columns_b = functions.merge_sorted(
        a.blob, a.offsets, b.blob, b.offsets
    )
    union = Vocabulary(blob, offsets)
    assert union.terms == sorted(first | second)
    assert [union.terms[column] for column in columns_a] == a.terms
    assert [union.terms[column] for column in columns_b] == b.terms
    assert (blob.dtype, offsets.dtype, columns_a.dtype, columns_b.dtype) == (
        np.uint8,
        np.int64,
        np.int32,
        np.int32,
    )


@given(
    documents=st.lists(st.dictionaries(st.integers(0, 9), st.integers(1, 5)), max_size=8),
    columns=st.permutations(range(10)),
    dropped=st.sets(st.integers(0, 9)),
)
def test_arranged_rows_are_in_their_columns(
    documents: list[dict[int, int]], columns: list[int], dropped: set[int]
) -> None:
    """Renumbered, sorted, and without what has no column."""
    places = np.array([-1 if column in dropped else column for column in columns], dtype=np.int32)
    rows = (
        np.cumsum([0, *map(len, documents)], dtype=np.int64),
        np.array([j for document in documents for j in document], dtype=np.int32),
        np.array([n for document in documents for n in document.values()], dtype=np.int32),
    )
    found = DocumentTable.from_texts(*rows, np.zeros(len(documents), np.int64)).arrange(places)
    indptr, indices, counts = found.indptr, found.indices, found.counts
    expected = [
        sorted((columns[j], n) for j, n in d.items() if columns[j] not in dropped)
        for d in documents
    ]
    assert indptr.tolist() == [0, *np.cumsum([len(document) for document in expected], dtype=int)]
    assert list(zip(indices, counts, strict=True)) == [pair for d in expected for pair in d]
    assert [part.dtype for part in (indptr, indices, counts)] == [np.int64, np.int32, np.int32]


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_scores_are_the_matrix_product(
    functions: Any, dtype: type, has_base: bool, n_classes: int
) -> None:
    """X @ weights.T + bias, with the weights written out in full; an empty row has the bias."""
    random = np.random.default_rng(1)
    counts = random.poisson(0.3, size=(20, 30)) * (
        random.random((20, 30)) if dtype is np.float64 else 1
    )
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


def rows_of(
    matrix: NDArray[np.int64], dtype: type
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.generic]]:
    rows, columns = np.nonzero(matrix)
    indptr = np.searchsorted(rows, np.arange(len(matrix) + 1)).astype(np.int64)
    return indptr, columns.astype(np.int32), matrix[rows, columns].astype(dtype)


@given(matrix=matrices, data=st.data())
def test_entries_are_found(functions: Any, matrix: NDArray[np.int64], data: st.DataObject) -> None:
    """Each entry of a row is found where its feature and the row's class stand in a feature-major
    list.
    """
    classes = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=len(matrix), max_size=len(matrix))), np.int32
    )
    indptr, indices, _ = rows_of(matrix, np.int32)
    row_classes = np.repeat(classes, np.diff(indptr))
    listed = sorted(set(zip(indices.tolist(), row_classes.tolist(), strict=True)))
    w_indptr = np.searchsorted([feature for feature, _ in listed], np.arange(4)).astype(np.int64)
    w_classes = np.array([k for _, k in listed], dtype=np.int32)
    positions = functions.entry_positions(indptr, indices, classes, w_indptr, w_classes)
    assert [listed[p] for p in positions] == list(
        zip(indices.tolist(), row_classes.tolist(), strict=True)
    )


@given(matrix=matrices, data=st.data())
def test_rows_are_taken(functions: Any, matrix: NDArray[np.int64], data: st.DataObject) -> None:
    """Any rows, in any order, each as often as it is named."""
    numbers = st.integers(0, len(matrix) - 1) if len(matrix) else st.nothing()
    rows = np.array(data.draw(st.lists(numbers)), dtype=np.int64)
    indptr, *values = rows_of(matrix, np.float64)
    taken_indptr, taken = functions.take_rows(indptr, values, rows)
    expected_indptr, *expected = rows_of(matrix[rows], np.float64)
    np.testing.assert_array_equal(taken_indptr, expected_indptr)
    for one, other in zip(taken, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_that_are_no_part_of_the_entries(functions: Any) -> None:
    """A feature that the class never used is an error, and not a wrong position."""
    indptr = np.array([0, 1])
    indices = np.array([1], dtype=np.int32)
    for w_indptr, w_classes in (([0, 0, 1], [1]), ([0, 1, 1], [0]), ([0, 0, 0], [])):
        with pytest.raises(ValueError, match="lacks an entry"):
            functions.entry_positions(
                indptr,
                indices,
                np.zeros(1, np.int32),
                np.array(w_indptr),
                np.array(w_classes, dtype=np.int32),
            )

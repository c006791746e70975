"""Functions of class statistics as arrays: each law holds for the kernel and for plain Python."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.bayes import plain
from nbtext.features.csr import entries_of, running_sums
from nbtext.kernel import HAS_KERNEL


@pytest.fixture(scope="module", params=["compiled", "plain"])
def functions(request: pytest.FixtureRequest) -> ModuleType:
    """The module that has the functions."""
    return plain if request.param == "plain" else request.getfixturevalue("kernel")


@pytest.fixture(scope="module")
def kernel() -> ModuleType:
    """The compiled kernel."""
    if not HAS_KERNEL:
        pytest.skip("the kernel is not compiled")
    from nbtext import _kernel

    return _kernel


def dense_entries(
    documents: NDArray[np.int64], occurrences: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """ClassStatistics as plain arrays, of dense ones (n_features, n_classes)."""
    features, classes = np.nonzero(documents)
    indptr = np.searchsorted(features, np.arange(len(documents) + 1)).astype(np.int64)
    return (
        indptr,
        classes.astype(np.int32),
        documents[features, classes],
        occurrences[features, classes],
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@given(seed=st.integers(0, 2**32), n_features=st.integers(0, 6), n_classes=st.integers(1, 4))
def test_statistics_add_up_entry_by_entry(
    functions: ModuleType, dtype: type, sign: int, seed: int, n_features: int, n_classes: int
) -> None:
    """Statistics add up as dense matrices do, and entries that become 0 are dropped."""
    if dtype is np.float64:
        functions = plain  # the kernel adds up counts only
    random = np.random.default_rng(seed)
    documents = random.poisson(0.7, size=(2, n_features, n_classes))
    occurrences = (documents * random.integers(1, 4, size=documents.shape)).astype(dtype)
    if sign < 0:  # a part is taken away
        documents[0] += documents[1]
        occurrences[0] += occurrences[1]
    both = [dense_entries(d, t) for d, t in zip(documents, occurrences, strict=True)]
    expected = dense_entries(
        documents[0] + sign * documents[1], occurrences[0] + sign * occurrences[1]
    )
    for found, wanted in zip(functions.combine_entries(*both, sign), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_statistics_without_documents_add_up(functions: ModuleType) -> None:
    """scikit-learn's models do not count documents: an entry has occurrences only, and it is
    kept.
    """
    indptr = np.array([0, 2, 3])
    classes = np.array([0, 1, 1], dtype=np.int32)
    none = np.zeros(3, dtype=np.int64)
    one = np.ones(3, dtype=np.int64)
    unknown = indptr, classes, none, np.array([2, 3, 4])
    for other, documents in ((unknown, [0, 0, 0]), ((indptr, classes, one, unknown[3]), [1, 1, 1])):
        for pair in ((unknown, other), (other, unknown)):
            found = functions.combine_entries(*pair, 1)
            assert [array.tolist() for array in found] == [
                [0, 2, 3],
                [0, 1, 1],
                documents,
                [4, 6, 8],
            ]
    half = indptr, classes, none, np.array([2, 1, 4])
    found = functions.combine_entries(unknown, half, -1)
    assert [array.tolist() for array in found] == [[0, 1, 1], [1], [0], [2]]
    counted = (indptr, classes, one, unknown[3])
    gone = (indptr, classes, one, half[3])
    # what rounding leaves of weights is dropped
    assert functions.combine_entries(counted, gone, -1)[1].tolist() == []


def test_no_statistics_fall_below_zero(functions: ModuleType) -> None:
    """Counts that were never added cannot be subtracted."""
    one, two = (dense_entries(np.array([[n]]), np.array([[n]])) for n in (1, 2))
    assert functions.combine_entries(one, two, -1) is None
    assert functions.combine_entries(two, one, -1) is not None


def rows_of(counts: NDArray[np.int64]) -> Any:
    """The documents of a dense matrix (n_documents, n_features): indptr, indices and counts."""
    rows, columns = np.nonzero(counts)
    indptr = np.searchsorted(rows, np.arange(len(counts) + 1)).astype(np.int64)
    return indptr, columns.astype(np.int32), counts[rows, columns].astype(np.int32)


def a_corpus(seed: int, times: int) -> tuple[Any, NDArray[np.int32], Any]:
    """Ten documents as rows, their classes, and the statistics of `times` as many."""
    random = np.random.default_rng(seed)
    counts = random.poisson(0.5, size=(10, 7))
    classes = random.integers(0, 3, size=10).astype(np.int32)
    occurrences = np.stack([counts[classes == k].sum(axis=0) * times for k in range(3)], axis=1)
    return rows_of(counts), classes, occurrences


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("is_whole", [True, False])
def test_documents_are_summed_by_class(functions: ModuleType, is_whole: bool, seed: int) -> None:
    """Sums of counts, or of weights, some of which are 0, in the order of the documents, as in a
    loop.
    """
    (indptr, indices, counts), classes, occurrences = a_corpus(seed, times=1)
    random = np.random.default_rng(seed)
    weights = (
        counts
        if is_whole
        else random.normal(size=len(counts)) * random.integers(0, 2, size=len(counts))
    )
    documents = np.zeros((7, 3), dtype=np.int64)
    sums = np.zeros((7, 3), dtype=np.int64 if is_whole else np.float64)
    for row, own in enumerate(classes.tolist()):
        for entry in range(indptr[row], indptr[row + 1]):
            documents[indices[entry], own] += 1
            sums[indices[entry], own] += weights[entry]
    assert not is_whole or np.array_equal(sums, occurrences)
    found = functions.sum_classes(indptr, indices, weights, classes, 7, 3)
    for array, wanted in zip(found, dense_entries(documents, sums), strict=True):
        assert array.dtype == wanted.dtype
        np.testing.assert_array_equal(array, wanted)
    with pytest.raises(ValueError):
        functions.sum_classes(indptr, indices, weights, classes, 7, 1)


def logarithms_of(smoothings: list[float], n_tabled: int) -> Any:
    """Smoothings, their logarithms, and the table of log(1 + t / smoothing)."""
    alphas = np.array(smoothings)
    table = np.log(np.arange(n_tabled)[:, None] + alphas) - np.log(alphas)
    return alphas, np.log(alphas), table


def one_class(classes: NDArray[np.int32], copies: NDArray[np.int64]) -> Any:
    """The pairs of documents that have one class each, with this many copies in it."""
    return np.arange(len(classes) + 1), classes, copies


def refuse(functions: ModuleType, rows: Any, own: Any, occurrences: Any, error: str) -> None:
    """Neither sums of classes nor of their rests are computed."""
    corpus = dense_entries(occurrences, occurrences)
    n_classes = occurrences.shape[1]
    for everywhere in (None, occurrences.sum(axis=1)):
        with pytest.raises(ValueError, match=error):
            functions.left_out_sums(
                rows, own, own[2], corpus, everywhere, n_classes, logarithms_of([1.0], 9)
            )


def test_a_document_that_was_never_counted_cannot_be_left_out(functions: ModuleType) -> None:
    """It has more of a feature than its class, or than all classes."""
    rows, classes, occurrences = a_corpus(1, times=1)
    ones = np.ones(10, dtype=np.int64)
    more = rows[0], rows[1], rows[2] + np.int32(99)
    for own_rows, copies in ((more, ones), (rows, 9 * ones)):
        own = one_class(classes, copies)
        refuse(functions, own_rows, own, occurrences, "not part of the corpus")


@pytest.mark.parametrize("n_rows", [1, 10])
@pytest.mark.parametrize("fewer", [0, 1])
def test_a_document_of_another_class_cannot_be_left_out(
    functions: ModuleType, n_rows: int, fewer: int
) -> None:
    """Its own class lacks one of its features, or has fewer of it than the document, though other
    classes have it.
    """
    own = one_class(np.zeros(n_rows, dtype=np.int32), np.ones(n_rows, dtype=np.int64))
    rows = rows_of(np.full((n_rows, 1), 2))
    refuse(functions, rows, own, np.array([[fewer, 90, 7]]), "not part of the corpus")


def check_bits(kernel: ModuleType, rows: Any, own: Any, occurrences: Any, logarithms: Any) -> None:
    """The kernel and plain Python give the same sums, of classes and of their rests."""
    copies = np.bincount(np.repeat(np.arange(len(own[0]) - 1), np.diff(own[0])), own[2])
    corpus = dense_entries(occurrences, occurrences)
    for everywhere in (None, occurrences.sum(axis=1)):
        n_classes = occurrences.shape[1]
        given = rows, own, copies.astype(np.int64), corpus, everywhere, n_classes, logarithms
        np.testing.assert_array_equal(kernel.left_out_sums(*given), plain.left_out_sums(*given))


@pytest.mark.parametrize("n_tabled", [1, 4, 4000])
@pytest.mark.parametrize("smoothings", [[0.3], [0.01, 1.0, 7.0]])
def test_left_out_sums_have_the_same_bits(
    kernel: ModuleType, n_tabled: int, smoothings: list[float]
) -> None:
    """From a table of logarithms or not, of classes and of their rests, with duplicates or not."""
    for seed in range(20):
        rows, classes, occurrences = a_corpus(seed, times=2 + seed * 100)
        for copies in (np.full(10, 1), np.full(10, 2)):
            own = one_class(classes, copies)
            check_bits(kernel, rows, own, occurrences, logarithms_of(smoothings, n_tabled))


@pytest.mark.parametrize("n_classes", [3, 40])
def test_documents_of_several_classes_are_left_out_of_each(
    functions: ModuleType, n_classes: int
) -> None:
    """Or of none: such a document is not part of the corpus, and nothing is left out."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        counts = random.poisson(0.7, (12, 7))
        copies = random.poisson(0.1, (12, n_classes))
        copies[0] = 0
        occurrences = counts.T @ copies + random.poisson(0.5, (7, n_classes))
        rows = rows_of(counts)
        indptr, classes, numbers = rows_of(copies)
        pairs = indptr, classes, numbers.astype(np.int64)
        corpus = dense_entries(occurrences, occurrences)
        everywhere = occurrences.sum(axis=1)
        of_all = copies.sum(axis=1)
        logarithms = logarithms_of([0.3, 2.0], 3)
        own = functions.left_out_sums(rows, pairs, of_all, corpus, None, n_classes, logarithms)
        others = functions.left_out_sums(
            rows, pairs, of_all, corpus, everywhere, n_classes, logarithms
        )
        for i in range(12):
            left = occurrences - counts[i][:, None] * copies[i]
            logs = np.log1p(left / 0.3)
            rest = np.log1p((left.sum(axis=1, keepdims=True) - left) / 0.3)
            np.testing.assert_allclose(own[i, :, 0], counts[i] @ logs, rtol=1e-12)
            np.testing.assert_allclose(others[i, :, 0], counts[i] @ rest, rtol=1e-12)


@pytest.mark.exhaustive(every=2)
@pytest.mark.parametrize(("n_classes", "share"), [(40, 0.2), (2000, 0.6)])
def test_left_out_rows_of_many_classes_have_the_same_bits(
    kernel: ModuleType, n_classes: int, share: float
) -> None:
    """With features that few or many classes have, and more of them than the kernel keeps dense
    rows for.
    """
    random = np.random.default_rng(n_classes)
    occurrences = random.poisson(3, (60, n_classes)) * (random.random((60, n_classes)) < share)
    counts = random.poisson(1, (30, 60))
    classes = random.integers(0, n_classes, 30).astype(np.int32)
    np.add.at(occurrences, (slice(None), classes), 2 * counts.T)
    for copies in (1, 2):
        own = one_class(classes, np.full(30, copies))
        check_bits(kernel, rows_of(counts), own, occurrences, logarithms_of([0.01, 1.0, 7.0], 50))


def test_left_out_rows_of_large_counts_have_the_same_bits(kernel: ModuleType) -> None:
    """Counts are packed into a key with the number of the document; larger ones are looked up."""
    for large in (2**21 - 2, 2**21 - 1, 2**21, 2**31 - 1):
        rows, classes, occurrences = a_corpus(3, times=2)
        indptr, features, counts = rows
        n = len(rows[2])
        counts = np.where(np.arange(n) % 3 == 0, large, counts).astype(np.int32)
        for row in range(len(classes)):
            own = slice(indptr[row], indptr[row + 1])
            occurrences[features[own], classes[row]] += counts[own]
        own = one_class(classes, np.ones(len(classes), dtype=np.int64))
        rows = indptr, features, counts
        check_bits(kernel, rows, own, occurrences, logarithms_of([0.1, 1.0], 50))


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("wrong", [-1, 1 << 30])
def test_features_and_classes_out_of_range_are_refused(
    functions: ModuleType, wrong: int, place: int
) -> None:
    """With the same error with and without the kernel, also the class of a document without
    features.
    """
    rows, classes, occurrences = a_corpus(1, times=1)
    rows = np.append(rows[0], rows[0][-1]), *rows[1:]
    classes = np.append(classes, np.int32(0))
    ones = np.ones(11, dtype=np.int64)
    features = rows[1].copy()
    wrong_classes = classes.copy()
    features[place] = wrong
    wrong_classes[place] = wrong
    for own_rows, own, error in (
        ((rows[0], features, rows[2]), classes, "not part of the corpus"),
        (rows, wrong_classes, "classes of the rows must be below n_classes"),
    ):
        refuse(functions, own_rows, one_class(own, ones), occurrences, error)


@pytest.mark.parametrize("limit", [1, 3, 1000])
@pytest.mark.parametrize("mu", [1e-3, 10.0, 1e6])
def test_left_out_products_have_the_same_bits(kernel: ModuleType, limit: int, mu: float) -> None:
    """However often products are divided, and with duplicates or none."""
    for seed in range(20):
        arguments = a_product(seed, mu, limit)
        (one, shifts), (other, plain_shifts) = (
            m.left_out_products(*arguments) for m in (kernel, plain)
        )
        mantissas, exponents = np.frexp(one)
        np.testing.assert_array_equal(mantissas, other)
        np.testing.assert_array_equal(exponents + shifts, plain_shifts)


def test_left_out_products_are_products_of_factors(functions: ModuleType) -> None:
    """Their logarithms are sums, also if no number could hold the product."""
    rows, own, corpus, mu, (left, shares), totals, limits = a_product(3, 1e-3, 1, times=2000)
    found, exponents = functions.left_out_products(
        rows, own, corpus, mu, (left, shares), totals, limits
    )
    logs = np.log(found) + exponents * np.log(2)
    assert logs.max() > 710  # e^710 overflows
    for row, expected in enumerate(logs):
        own_entries = slice(*running_sums(np.diff(own[0]) * np.diff(rows[0]))[[row, row + 1]])
        own_mu = np.repeat(own[3][own[0][row] : own[0][row + 1]], rows[0][row + 1] - rows[0][row])
        values = zip(own[2][own_entries].tolist(), own_mu.tolist(), strict=True)
        without = dict(zip(own[1][own_entries].tolist(), values, strict=True))
        for k in range(len(mu)):
            total = 0.0
            for place in range(rows[0][row], rows[0][row + 1]):
                j = rows[1][place]
                x = float(rows[2][place])
                entries = slice(corpus[0][j], corpus[0][j + 1])
                if left[place] > 0 and k in corpus[1][entries]:
                    entry = entries.start + corpus[1][entries].tolist().index(k)
                    t, m = without.get(entry, (corpus[2][entry], mu[k]))
                    a = shares[place] * m
                    total += x * np.log((t + a) * (totals[row] + m) / ((left[place] - t + a) * m))
            assert expected[k] == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_products_check_each_place(functions: ModuleType) -> None:
    """Also of a feature that no other document has, whose factor is 1."""
    rows, own, corpus, mu, (left, shares), *rest = a_product(1, 1.0, 5)
    for place in range(len(own[1])):
        places = own[1].copy()
        places[place] = len(corpus[1])
        for others in (left, np.zeros(len(left))):
            with pytest.raises(ValueError, match="not part of the corpus"):
                functions.left_out_products(
                    rows, (own[0], places, *own[2:]), corpus, mu, (others, shares), *rest
                )


def a_product(seed: int, mu: float, limit: int, times: int = 1) -> tuple[Any, ...]:
    """The arguments for ten documents of one to three of three classes, some of them two copies."""
    random = np.random.default_rng(seed)
    counts = random.poisson(0.9, size=(10, 7)) * times
    copies = random.integers(1, 3, size=10)
    is_own = random.random((10, 3)) < 0.5
    everywhere = copies @ counts + random.integers(0, 3, size=7)
    occurrences = np.stack([(copies * is_own[:, k]) @ counts for k in range(3)], axis=1)
    rows, columns = np.nonzero(counts)
    documents = rows_of(counts)
    left = (everywhere[columns] - copies[rows] * counts[rows, columns]).astype(np.float64)
    T = float(everywhere.sum())
    entries = dense_entries(occurrences, occurrences.astype(np.float64))
    own_rows, own_classes = np.nonzero(is_own)
    own_indptr, own_entries = entries_of(documents[0], own_rows)
    own_classes, copies = (
        np.repeat(each, np.diff(own_indptr)) for each in (own_classes, copies[own_rows])
    )
    features = columns[own_entries]
    own_counts = counts[rows, columns][own_entries]
    places = np.searchsorted(
        np.repeat(np.arange(7), np.diff(entries[0])) * 3 + entries[1], features * 3 + own_classes
    )
    without = (occurrences[features, own_classes] - copies * own_counts).astype(np.float64)
    own = (
        np.searchsorted(own_rows, np.arange(11)),
        places,
        without,
        mu * (1 + random.random(len(own_rows))),
    )
    return (
        documents,
        own,
        (entries[0], entries[1], entries[3]),
        mu * np.array([1.0, 2.0, 3.0]),
        (left, left / T),
        np.full(10, T),
        np.full(10, limit),
    )

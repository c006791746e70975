"""The kernel's free functions and their twins: each law holds for both."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features import counting, twins
from nbtext.features.rows import Rows
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
    bias, default = random.normal(size=(2, n_classes))
    base, base_scale = (random.normal(size=30), random.normal(size=n_classes)) if has_base else (None, None)
    scores = functions.score_rows(
        np.searchsorted(rows, np.arange(21)).astype(np.int64),
        columns.astype(np.int32),
        counts[rows, columns].astype(dtype),
        bias,
        default,
        base,
        base_scale,
        np.searchsorted(features, np.arange(31)).astype(np.int64),
        classes.astype(np.int32),
        deltas[features, classes],
    )
    weights = default[:, None] + deltas.T
    if base is not None and base_scale is not None:
        weights = weights + np.outer(base_scale, base)
    np.testing.assert_allclose(scores, counts @ weights.T + bias, rtol=1e-12, atol=1e-12)
    assert scores[7].tolist() == bias.tolist()


def test_files_are_read_or_say_why_not(functions: ModuleType, tmp_path: Path) -> None:
    """Contents come back whole; no file, a directory, a pipe and a file above the limit are error numbers."""
    contents = {"empty": b"", "small": b"free\n\x00\xff", "exact": b"x" * 100_000, "large": b"x" * 100_001}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "link").symlink_to("small")
    os.mkfifo(tmp_path / "pipe")
    os.mkdir(tmp_path / "folder")
    odd = os.fsencode(tmp_path) + b"/\xff.txt"
    Path(os.fsdecode(odd)).write_bytes(b"odd")
    names = ["empty", "small", "exact", "link", "large", "absent", "folder", "pipe"]
    paths = [os.fsencode(tmp_path / name) for name in names]
    expected = [
        b"",
        contents["small"],
        contents["exact"],
        contents["small"],
        errno.EFBIG,
        errno.ENOENT,
        errno.EISDIR,
        errno.EINVAL,
    ]
    assert functions.read_files([*paths, odd, b"a\0b"], 100_000) == [*expected, b"odd", errno.EINVAL]


def test_a_file_without_permission_is_an_error_number(functions: ModuleType, tmp_path: Path) -> None:
    """EACCES, and the files around it are read."""
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    closed = tmp_path / "closed"
    closed.write_bytes(b"x")
    closed.chmod(0)
    assert functions.read_files([os.fsencode(closed)], 10) == [errno.EACCES]

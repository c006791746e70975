"""Stratified folds: even in size and in each class, with duplicates together, and with no class
held out completely.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds


def test_each_class_is_spread_evenly() -> None:
    """Folds and the parts of a class in them have equal sizes; another seed gives other folds."""
    classes = np.array([0] * 30 + [1] * 20 + [2] * 3, dtype=np.int32)
    folds = stratified_folds(classes, 10, seed=1)
    assert np.ptp(np.bincount(folds)) <= 1
    for k, number in ((0, 30), (1, 20)):
        assert np.bincount(folds[classes == k]).tolist() == [number // 10] * 10
    assert (folds != stratified_folds(classes, 10, seed=2)).any()
    assert (folds == stratified_folds(classes, 10, seed=1)).all()


def test_the_only_document_of_a_class_is_never_held_out() -> None:
    """The other classes are spread evenly as before."""
    classes = np.array([0] * 10 + [1] * 21 + [2], dtype=np.int32)
    folds = stratified_folds(classes, 5, seed=3, class_documents=np.bincount(classes))
    assert np.bincount(folds[:10]).tolist() == [2] * 5
    assert sorted(np.bincount(folds[10:31]).tolist()) == [4, 4, 4, 4, 5]
    assert folds[31] == NEVER_HELD_OUT


def test_duplicates_are_held_out_together() -> None:
    """A class whose documents are all equal is never held out; the other classes are spread
    evenly.
    """
    classes = np.array([0] * 20 + [1] * 20 + [2, 2, 2], dtype=np.int32)
    contents = np.array(
        [*np.arange(20) // 2, *np.arange(100, 120) // 2, 7000, 7000, 7000], dtype=np.uint64
    )
    folds = stratified_folds(
        classes, 5, seed=3, contents=contents, class_documents=np.bincount(classes)
    )
    assert folds[::2].tolist()[:20] == folds[1::2].tolist()[:20]
    assert np.bincount(folds[:20]).tolist() == np.bincount(folds[20:40]).tolist() == [4] * 5
    assert folds[40:].tolist() == [NEVER_HELD_OUT] * 3


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=40),
    n_folds=st.integers(2, 5),
    seed=st.none() | st.integers(0, 9),
)
def test_laws(rows: list[tuple[int, int]], n_folds: int, seed: int | None) -> None:
    """For any classes and contents: duplicates share a fold, and the documents of other folds have
    every class.
    """
    classes = np.array([k for k, _ in rows], dtype=np.int32)
    contents = np.array([content for _, content in rows])
    folds = stratified_folds(classes, n_folds, seed=seed, contents=contents)
    assert set(folds.tolist()) <= set(range(n_folds))
    numbers = [int(folds[contents == content][0]) for content in np.unique(contents)]
    assert np.ptp(np.bincount(numbers, minlength=n_folds)) <= 1
    kept = stratified_folds(
        classes, n_folds, seed=seed, contents=contents, class_documents=np.bincount(classes)
    )
    for found in (folds, kept):
        assert all(len(set(found[contents == content].tolist())) == 1 for content in contents)
    for fold in range(n_folds):
        assert set(classes[kept != fold].tolist()) == set(classes.tolist())
    assert ((kept == folds) | (kept == NEVER_HELD_OUT)).all()

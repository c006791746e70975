"""The splitter of stratified k-fold cross-validation, for several layers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nbtext.arrays import Integers, Integers32

NEVER_HELD_OUT = -1  # the fold of a document on which every model is trained


def stratified_folds(
    classes: Integers32,
    n_folds: int,
    *,
    seed: int | None,
    contents: NDArray[np.integer] | None = None,
    class_documents: NDArray[np.integer] | None = None,
) -> Integers:
    """Return the fold of each document, 0 to n_folds - 1; each class is spread evenly.

    Parameters
    ----------
    classes : array of int32, shape (n_documents,)
    n_folds : int
    seed : int, optional
        The documents of a class are shuffled; None: their order is random already.
    contents : array of int, shape (n_documents,), optional
        Equal for duplicates, which are in one fold.
    class_documents : array of int, shape (n_classes,), optional
        The number of documents of each class in the whole corpus. If it is given, no fold has all
        documents of a class, because models of the others would not know the class: such documents
        have the fold NEVER_HELD_OUT.
    """
    n = len(classes)
    contents = np.arange(n) if contents is None else contents
    _, firsts, groups = np.unique(contents, return_index=True, return_inverse=True)
    order = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
    order = order[np.isin(order, firsts)]
    order = order[np.argsort(classes[order], kind="stable")]
    folds = np.empty(len(firsts), np.int64)
    # continues from class to class, so that sizes are equal
    folds[groups[order]] = np.arange(len(order)) % n_folds
    if class_documents is not None:
        sizes = np.zeros((n_folds, len(class_documents)), np.int64)
        np.add.at(sizes, (folds[groups], classes), 1)
        is_lone = np.any(sizes >= class_documents, axis=0)
        folds[groups[is_lone[classes]]] = NEVER_HELD_OUT
    return folds[groups]


def list_held_out(folds: Integers32) -> Integers:
    """Return the documents in a fold, (n_held_out,)."""
    return np.flatnonzero(folds != NEVER_HELD_OUT)

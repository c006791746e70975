"""Sets of labels, and the class statistics of documents that have several labels.

The sum over labels is not the total, because a document counts for each of its labels, and a document without a label
only for the totals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.bayes.scorer import Floats
from nbtext.features.csr import entries_of, run_starts, running_sums
from nbtext.features.document_counts import DocumentCounts
from nbtext.records import dataclass

MAX_AT_ONCE = 1 << 22  # entries that are expanded at once
MAX_LABELS = 128  # with more, at most MAX_KEPT labels of a document are kept besides its own and the sample
MAX_KEPT = 64
SAMPLED = 8  # about so many of the other labels of a document are kept, too, each for several


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Sets of labels in compressed sparse rows.

    indptr   (n_sets + 1,) int64
    classes  (n_entries,) int32, the classes of each set, ascending
    """

    indptr: NDArray[np.int64]
    classes: NDArray[np.int32]

    @classmethod
    def of(cls, sets: Sequence[Sequence[str]], labels: Sequence[str]) -> LabelSets:
        """Return sets of labels as sets of their positions in `labels`.

        sets    each with its labels in sorted order
        labels  sorted
        """
        places = {label: k for k, label in enumerate(labels)}
        indptr = running_sums(np.array([len(each) for each in sets], dtype=np.int64))
        return cls(indptr, np.array([places[label] for each in sets for label in each], dtype=np.int32))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def take(self, numbers: NDArray[Any]) -> LabelSets:
        """Return the sets with these numbers, in this order."""
        indptr, entries = entries_of(self.indptr, numbers)
        return LabelSets(indptr, self.classes[entries])

    @property
    def entry_sets(self) -> NDArray[np.int64]:
        """The set of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))


def count_label_sets(documents: DocumentCounts, sets: LabelSets, *, n_features: int, n_labels: int) -> ClassStatistics:
    """Count documents by label; the class of a document is the number of its set."""
    return sum_over_sets(count_classes(documents, n_features, len(sets)), sets, n_labels)


def sum_over_sets(counts: ClassStatistics, sets: LabelSets, n_labels: int) -> ClassStatistics:
    """Return the statistics by label, with totals, from statistics whose classes are sets of labels."""
    class_documents = np.zeros(n_labels, dtype=np.int64)
    np.add.at(class_documents, sets.classes, counts.class_documents[sets.entry_sets])
    widths = running_sums(np.diff(sets.indptr)[counts.classes])[counts.indptr]
    parts, start = [(np.zeros(0, dtype=np.int64), counts.classes[:0], counts.documents[:0], counts.occurrences[:0])], 0
    while start < counts.n_features:
        stop = int(np.searchsorted(widths, widths[start] + MAX_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), counts.n_features)
        parts.append(_sum_features(counts, sets, n_labels, start, stop))
        start = stop
    lengths, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ClassStatistics(class_documents, running_sums(lengths), *columns, totals=counts.with_totals().totals)


def _sum_features(
    counts: ClassStatistics, sets: LabelSets, n_labels: int, start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[Any]]:
    """Return, for the features from `start` up to `stop`, the number of entries, and the columns of the entries."""
    entries = slice(counts.indptr[start], counts.indptr[stop])
    features = np.repeat(np.arange(stop - start), np.diff(counts.indptr[start : stop + 1]))
    bounds, members = entries_of(sets.indptr, counts.classes[entries])
    sizes = np.diff(bounds)
    keys = np.repeat(features * n_labels, sizes) + sets.classes[members]
    order = np.argsort(keys)  # sums of whole numbers do not depend on the order
    keys = keys[order]
    starts = run_starts(keys)
    owners = np.repeat(np.arange(len(sizes)), sizes)[order]
    columns = [
        np.add.reduceat(values[entries][owners], starts) if len(starts) else values[:0]
        for values in (counts.documents, counts.occurrences)
    ]
    places, classes = np.divmod(keys[starts], max(1, n_labels))
    return np.bincount(places, minlength=stop - start), classes.astype(np.int32), columns[0], columns[1]


def keep_cells(
    scores: Floats, is_own: NDArray[np.bool_], first: int, minimum: float = -np.inf
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the pairs to keep: the own labels of each row, those with high scores, and a sample of the others.

    Almost all pairs are of improbable labels that a document does not have. They hardly move a fit. But without a
    sample of them, such a label would be kept only where it is an own one, and look probable. Returns rows, labels, and
    how many pairs each one stands for, each (n_kept,).

    scores   (n_rows, n_labels)
    first    the number of the first row, on which the sample depends
    minimum  a score from which pairs are kept; the highest score of a row is kept in any case
    """
    n_labels = scores.shape[1]
    lowest = np.minimum(scores.max(axis=1, initial=-np.inf), minimum)
    if n_labels > MAX_LABELS:
        lowest = np.maximum(np.partition(scores, n_labels - MAX_KEPT, axis=1)[:, n_labels - MAX_KEPT], lowest)
    is_kept = (scores >= lowest[:, None]) | is_own
    step = -(-n_labels // SAMPLED)
    is_sampled = (np.arange(first, first + len(scores))[:, None] + np.arange(n_labels)) % step == 0
    cells = np.flatnonzero(is_kept | is_sampled)
    rows, labels = np.divmod(cells, n_labels)
    return rows, labels, np.where(is_kept.ravel()[cells], 1.0, step)

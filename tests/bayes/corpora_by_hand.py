"""Small corpora as matrices, for the tests of this room."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics, count_classes
from nbtext.bayes.event_model import EventModel
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.features.document_table import DocumentTable

N_VALUES = 3
NORMALIZED = EVENT_MODELS["complement"].normalized
assert NORMALIZED is not None
MODELS = dict(EVENT_MODELS) | {"normalized complement": NORMALIZED}


def sample_of(counts: NDArray[np.int64], classes: NDArray[np.int64]) -> DocumentTable:
    """The documents of a dense matrix (n_documents, n_features)."""
    rows, columns = np.nonzero(counts)
    indptr = np.searchsorted(rows, np.arange(len(counts) + 1)).astype(np.int64)
    numbers = np.arange(len(counts), dtype=np.uint64)
    return DocumentTable(
        indptr,
        columns.astype(np.int32),
        counts[rows, columns].astype(np.int32),
        classes.astype(np.int32),
        numbers,
    )


def statistics_of(
    counts: NDArray[np.int64], classes: NDArray[np.int64], n_classes: int
) -> ClassStatistics:
    """What the documents of a dense matrix amount to."""
    return count_classes(sample_of(counts, classes), counts.shape[1], n_classes)


def read_by(
    name: str, counts: NDArray[np.int64], classes: NDArray[np.int64], n_classes: int
) -> ClassStatistics:
    """The statistics that an event model reads; N_VALUES where it tells values apart."""
    sample = sample_of(counts, classes)
    statistics = count_classes(sample, counts.shape[1], n_classes)
    gather = MODELS[name].sufficient_statistics
    return statistics if gather is None else gather(statistics, sample, n_values=N_VALUES)


@st.composite
def labeled_matrices(
    draw: st.DrawFn, *, fewest_a_class: int = 1, fewest_classes: int = 1, maximum: int = 4
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Counts (n_documents, n_features), the class of each document, and the number of classes."""
    n_classes = draw(st.integers(fewest_classes, 4))
    classes = list(range(n_classes)) * fewest_a_class + draw(
        st.lists(st.integers(0, n_classes - 1), max_size=6)
    )
    n_features = draw(st.integers(1, 6))
    row = st.lists(st.integers(0, maximum), min_size=n_features, max_size=n_features)
    counts = draw(st.lists(row, min_size=len(classes), max_size=len(classes)))
    return np.array(counts), np.array(classes), n_classes


def leave_one_out(
    statistics: ClassStatistics,
    documents: DocumentTable,
    *,
    model: EventModel,
    smoothings: Sequence[float],
    prior: str = "empirical",
    is_alone: bool = False,
) -> NDArray[np.float64]:
    """The leave-one-out scores of all documents of a corpus, (n_smoothings, n_documents,
    n_classes).
    """
    corpus = LeaveOneOut(statistics, documents, None, model, prior)
    return (corpus.alone if is_alone else corpus).scores(*smoothings)

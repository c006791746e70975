"""How many documents of a test a model was trained on, by the content hashes that it holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.errors import number_of
from nbtext.features.counting import counter
from nbtext.features.document_table import EMPTY_HASH
from nbtext.features.matrix_counter import MatrixCounter, name_numbered
from nbtext.model.corpus_counts import ALL_HASHES, N_TRAINED
from nbtext.model.fitted_model import TrainedModel

MAX_SHARED = 0.1  # share of documents of training, from which a test tells nothing of new ones


class Overlap(NamedTuple):
    """Documents of a test, and those of them with the content of a training document.

    documents  documents whose hash is within the range of hashes that the model holds
    trained    those of them that the model was trained on
    is_exact   whether the range has all hashes
    """

    documents: int = 0
    trained: int = 0
    is_exact: bool = True

    @property
    def share(self) -> float:
        """The share of the documents that the model was trained on."""
        return self.trained / max(1, self.documents)

    @property
    def is_large(self) -> bool:
        """Whether so many documents are of training that the figures do not hold for new ones."""
        return self.share > MAX_SHARED

    def describe(self, n_documents: int) -> str:
        """Return how many of the documents of the test the model was trained on."""
        documents = number_of(n_documents, "document")
        if self.is_exact:
            return f"{self.trained:,} of {documents}"
        found = f"{self.trained:,} of the {self.documents:,} whose hashes it could hold"
        return f"about {self.share:.0%} of {documents} ({found})"


def add_overlaps(parts: Iterable[Overlap]) -> Overlap:
    """Return the overlap of all batches of a test."""
    documents, trained, are_exact = zip(*parts, strict=True)
    return Overlap(sum(documents), sum(trained), all(are_exact))


class OverlapCounter:
    """Counts the documents of batches that a model was trained on; any thread may do so.

    A model holds the smallest hashes of its training documents, so that a document with a larger
    one tells nothing.
    """

    def __init__(self, model: TrainedModel) -> None:
        fitted = model.fitted
        self._settings, _ = fitted.requested_settings
        # of the columns that have only numbers; those of a model of columns are numbers
        self._names = None if fitted.input.matrix_columns is not None else fitted.vocabulary
        self._hashes = fitted.trained
        if self._hashes is None and fitted.model_settings.keep_sample is not None:
            self._hashes = model.counts.trained_hashes
        self._below = ALL_HASHES
        if self._hashes is not None and len(self._hashes) > 1:
            *_, before, last = self._hashes.tolist()
            # files of earlier versions have as many as there may be, none of them twice
            if before == last or len(self._hashes) >= N_TRAINED:
                self._below = last + 1

    def count(self, batch: Batch) -> Overlap:
        """Return how many of the documents that have a token the model was trained on."""
        if self._hashes is None:
            return Overlap()
        settings = self._settings
        features = batch.features
        counting = counter(settings) if batch.matrix is None else MatrixCounter(settings)
        if batch.matrix is not None and features.is_numbered and self._names is not None:
            features = name_numbered(features, self._names)
        classes = np.zeros(len(batch), dtype=np.int32)
        hashes = counting.count(features, classes, self._below).hashes
        hashes = hashes[(hashes != 0) & (hashes != np.uint64(EMPTY_HASH))]
        n_trained = int(np.isin(hashes, self._hashes).sum())
        return Overlap(len(hashes), n_trained, self._below == ALL_HASHES)

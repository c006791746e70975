"""How many documents of a test a model was trained on, by the content hashes that it holds."""

from __future__ import annotations

from threading import Lock

import numpy as np

from nbtext.arrays import Floats
from nbtext.documents.batch import Batch
from nbtext.errors import number_of
from nbtext.features.counting import counter
from nbtext.features.document_table import EMPTY_HASH
from nbtext.features.matrix_counter import MatrixCounter, name_numbered
from nbtext.features.selection import is_selective
from nbtext.model.corpus_counts import ALL_HASHES, N_TRAINED
from nbtext.model.fitted_model import TrainedModel

MAX_SHARED = 0.1  # share of documents of training, from which a test tells nothing of new ones


class Overlap:
    """Counts the documents of a test, those of them with the content of a training document of a
    model, and their share; any thread may do so.

    A model holds the smallest hashes of its training documents, so that a document with a larger
    one tells nothing. A document with a token that the model does not know is new if the model
    knows all tokens of its training documents. It is not hashed, which would take as long as to
    predict it; whether its hash is within the range of the others is estimated.

    trained  documents that the model was trained on
    """

    def __init__(self, model: TrainedModel) -> None:
        self.trained = 0
        self._n_hashed = 0
        self._n_new = 0  # that were not hashed
        self._lock = Lock()
        fitted = model.fitted
        self._settings, _ = fitted.requested_settings
        self._knows_all = self._settings.vocabulary is None and not is_selective(self._settings)
        # of the columns that have only numbers; those of a model of columns are numbers
        self._names = None if fitted.input.matrix_columns is not None else fitted.vocabulary
        hashes = fitted.trained
        if hashes is None and fitted.model_settings.keep_sample is not None:
            hashes = model.counts.trained_hashes
        self._hashes: set[int] | None = None
        self._below = ALL_HASHES
        if hashes is not None:
            self._hashes = set(hashes.tolist())
            # one of them twice; files of earlier versions have as many as there may be
            if not len(self._hashes) == len(hashes) < N_TRAINED:
                self._below = max(self._hashes) + 1

    def count(self, batch: Batch, known: Floats) -> None:
        """Count the documents of a batch that have a token.

        known  (n_documents,), the share of each document's tokens that the model knows
        """
        if self._hashes is None:
            return
        is_new = (known > 0) & (known < 1)
        if self._knows_all and batch.matrix is None and is_new.any():
            batch = batch.take(np.flatnonzero(~is_new).tolist())
        settings = self._settings
        features = batch.features
        counting = counter(settings) if batch.matrix is None else MatrixCounter(settings)
        if batch.matrix is not None and features.is_numbered and self._names is not None:
            features = name_numbered(features, self._names)
        hashes = counting.count(features, np.zeros(len(batch), np.int32), self._below).hashes
        hashes = hashes[(hashes != 0) & (hashes != np.uint64(EMPTY_HASH))]
        with self._lock:
            self._n_hashed += len(hashes)
            self._n_new += len(known) - len(batch)
            self.trained += sum(each in self._hashes for each in hashes.tolist())

    @property
    def documents(self) -> float:
        """The documents whose hash is within the range of hashes that the model holds."""
        return self._n_hashed + self._n_new * (self._below / ALL_HASHES)

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
        if self._below == ALL_HASHES:
            return f"{self.trained:,} of {documents}"
        found = f"{self.trained:,} of the {self.documents:,.0f} whose hashes it could hold"
        return f"about {self.share:.0%} of {documents} ({found})"

"""The order in which documents are labeled: the one that teaches most comes first.

A document ranks high if it resembles many documents that are uncertain and that no labeled document
resembles more. Its score is the sum over documents i of u_i · max(0, s(d, i)³ − b_i), where s is
the cosine of two documents, u_i is 1 minus the difference of the two largest probabilities of i,
and b_i is the largest s(l, i)³ of a labeled document l. This is the gain of a facility-location
function, whose elements are weighted by uncertainty. So the document is uncertain and typical, and
a near duplicate of a labeled document is worth almost nothing.

Sources: uncertainty, then facility location: Wei, Iyer, Bilmes, Submodularity in Data Subset
Selection and Active Learning, 2015; the best of a random sample at each step: Mirzasoleiman et al.,
Lazier Than Lazy Greedy, 2015; latent semantic analysis by a randomized decomposition: Halko,
Martinsson, Tropp, 2011.
"""

from __future__ import annotations

import numpy as np

from nbtext.arrays import Floats, Floats32, Integers, Mask
from nbtext.bayes.calibration import TemperatureScaling
from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.scorer import log_posterior
from nbtext.features.document_table import DocumentTable
from nbtext.numerics import exp, log

N_DIMENSIONS = 100  # of the vectors of documents
N_EXTRA = 10  # of the random projection, which are dropped
N_ITERATIONS = 2  # of the power method
MIN_FEATURE_DOCUMENTS = 2  # that have a feature of the vectors
MAX_SHARE = 0.3  # of all documents that have such a feature
N_CANDIDATES = 400  # documents of which the best is shown
# documents with which each candidate is compared, and whose uncertainty is computed after each
# answer, so that the time is bounded
MAX_COMPARED = 6_000
RANKING_SMOOTHING = 1.0  # of the model whose uncertainty counts
SEED = 0
LENGTH_EXPONENT = 0.5
FLATNESS = 2.0  # factor of the temperature, so that documents with a probable label count as well

Vectors = Floats32


class Ranking:
    """Chooses the next document to label.

    Parameters
    ----------
    documents : DocumentTable
        The counts of all documents.
    n_features : int
        Number of features.
    seed : int
        Of the samples of candidates.

    Attributes
    ----------
    compared : int array
        The numbers of the documents with which each candidate is compared.
    """

    def __init__(self, documents: DocumentTable, n_features: int, *, seed: int = SEED) -> None:
        self._seed = seed
        n = len(documents)
        self._columns = _select_columns(documents, n_features)
        self._vectors = project(documents, n_features)
        compared = np.arange(n)
        if n > MAX_COMPARED:
            compared = np.sort(np.random.default_rng(SEED).choice(n, MAX_COMPARED, replace=False))
        self.compared = compared
        self._compared = self._vectors[compared]
        self._scored = documents.take(compared).restrict(self._columns, n_features).binarize()
        self.restart()

    def restart(self) -> None:
        """Forget which documents are labeled."""
        self._n_labeled = 0
        self._covered = np.zeros(len(self._compared), dtype=np.float32)

    def add(self, rows: list[int]) -> None:
        """Learn which further documents are labeled."""
        self._n_labeled += len(rows)
        for start in range(0, len(rows), N_CANDIDATES):
            gains = self._similarity(self._vectors[rows[start : start + N_CANDIDATES]])
            np.maximum(self._covered, gains.max(axis=0), out=self._covered)

    def choose(
        self,
        is_open: Mask,
        statistics: ClassStatistics | None,
        uncertainty: Floats32 | None = None,
    ) -> int | None:
        """Return the number of the document that teaches most among those that are open; None:
        there is none.

        The candidates are a random sample that depends on the number of labeled documents only.

        statistics  of the labeled documents, over the features of all documents; None: there are
                    none
        uncertainty  of each compared document; None: it follows from the statistics
        """
        if uncertainty is None:
            uncertainty = self.compute_uncertainty(statistics)
        rows = np.flatnonzero(is_open)
        if not len(rows):
            return None
        if len(rows) > N_CANDIDATES:
            random = np.random.default_rng([self._seed, self._n_labeled])
            rows = np.sort(random.choice(rows, N_CANDIDATES, replace=False))
        gains = self._similarity(self._vectors[rows])
        gains -= self._covered
        np.maximum(gains, 0, out=gains)
        return int(rows[np.argmax(gains @ uncertainty)])

    def _similarity(self, vectors: Vectors) -> Vectors:
        """Return the sharpened cosines of some vectors and all compared documents."""
        cosines = vectors @ self._compared.T
        np.maximum(cosines, 0, out=cosines)
        return np.asarray(cosines * cosines * cosines)

    def compute_uncertainty(self, statistics: ClassStatistics | None) -> Floats32:
        """Return the uncertainty of each compared document."""
        n_classes = 0 if statistics is None else statistics.n_classes
        if statistics is None or n_classes < 2:
            return np.ones(len(self._compared), dtype=np.float32)
        counted = statistics.binarize().restrict(self._columns)
        scorer = EVENT_MODELS["complement"].compile(counted, smoothing=RANKING_SMOOTHING)
        rows = self._scored
        scores = scorer.scores(rows.indptr, rows.indices, rows.counts)
        lengths = np.diff(rows.indptr)
        scores /= FLATNESS * length_temperature(n_classes).temperature(lengths)[:, None]
        return measure_uncertainty(exp(log_posterior(scores)))


def measure_uncertainty(probabilities: Floats) -> Floats32:
    """Return 1 minus the difference of the two largest probabilities of each document."""
    two = np.partition(probabilities, -2, axis=1)[:, -2:]
    return np.asarray(1 - (two[:, 1] - two[:, 0]), dtype=np.float32)


def length_temperature(n_classes: int) -> TemperatureScaling:
    """Return the temperature of complement Naive Bayes with too few documents to fit one to.

    Log-odds grow too fast with the length of a document, because Naive Bayes treats its words as
    independent. Those of a class and the complement of another one are smaller the more classes
    there are.
    """
    return TemperatureScaling(2 / max(2, n_classes), LENGTH_EXPONENT)


def project(documents: DocumentTable, n_features: int) -> Vectors:
    """Return a vector of length 1 for each document, by latent semantic analysis of its TF-IDF
    weights.

    Documents without a usable feature have the vector 0. Shape (n_documents, N_DIMENSIONS) at most.
    """
    from scipy.sparse import csr_array

    # the weights are (1 + ln count) · idf, and each document has the length 1
    n = len(documents)
    columns = _select_columns(documents, n_features)
    used = documents.restrict(columns, n_features)
    idf = log(n / np.maximum(np.bincount(used.indices, minlength=len(columns)), 1))
    data = ((1 + log(used.counts)) * idf[used.indices]).astype(np.float32)
    lengths = np.sqrt(np.bincount(used.entry_documents, weights=data**2, minlength=n))
    data /= np.maximum(lengths, 1e-9)[used.entry_documents]
    weights = csr_array((data, used.indices, used.indptr), shape=(n, len(columns)))
    size = min(N_DIMENSIONS + N_EXTRA, n, len(columns))
    if not size:
        return np.zeros((n, 1), dtype=np.float32)
    transposed = weights.T.tocsr()
    found = np.random.default_rng(SEED).standard_normal((len(columns), size)).astype(np.float32)
    basis = np.linalg.qr(weights @ found)[0]
    for _ in range(N_ITERATIONS):
        basis = np.linalg.qr(weights @ (transposed @ basis))[0]
    rest = transposed @ basis  # (n_columns, size)
    values, rotation = np.linalg.eigh(rest.T @ rest)
    strongest = np.argsort(values)[::-1][:N_DIMENSIONS]
    vectors = (basis @ rotation[:, strongest]) * np.sqrt(np.maximum(values[strongest], 0))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 1e-6, lengths, np.inf), dtype=np.float32)


def _select_columns(documents: DocumentTable, n_features: int) -> Integers:
    """Return the features that are neither in one document only nor in many."""
    frequencies = np.bincount(documents.indices, minlength=n_features)
    most = max(MIN_FEATURE_DOCUMENTS, MAX_SHARE * len(documents))
    return np.flatnonzero((frequencies >= MIN_FEATURE_DOCUMENTS) & (frequencies <= most))

"""Looking into a trained classifier, a class at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.odds import z_scores
from nbtext.bayes.scorer import Floats
from nbtext.bayes.weights import ClassWeights
from nbtext.errors import ModelError
from nbtext.features.selection import chi_squared, mutual_information
from nbtext.model.fitting import over_vocabulary
from nbtext.model.naming import Names

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier

CRITERIA = ("log-odds", "z", "mi", "chi2", "frequency")
UNCOUNTED = ("categorical", "bernoulli")  # models of documents that hold a feature, not of its occurrences


@dataclass(frozen=True, slots=True)
class FeatureView:
    """What the model knows of a feature in one class."""

    feature: str
    log_odds: float  # what one of it adds to the score of the class, less the mean of what it adds to the others'
    z: float  # the log-odds ratio of its counts in the class and in all others, in standard deviations
    mutual_information: float | None  # of its presence and the label, in nats; of the feature, whatever the class
    chi_squared: float  # the same of its occurrences
    occurrences: float  # in the class
    documents: float | None  # of the class that hold it; None where they were not counted


class Inspector:
    """Looks into a trained classifier, a class at a time."""

    def __init__(self, classifier: TextClassifier, names: Names | None = None) -> None:
        self._classifier, self._names = classifier, names or {}
        self.labels, self._scorer = classifier.labels, classifier.fitted_.scorer
        self._weights = ClassWeights(self._scorer)
        self.statistics = read_statistics(classifier)
        self._sums = self._weights.sums()

    def name(self, column: int) -> str:
        """The feature in a column; of hashed ones its number, and its words where they are known."""
        features = self._classifier.fitted_.features
        return features.term(column) if features is not None else self._names.get(column, f"#{column}")

    def log_odds(self, k: int) -> Floats:
        """What each feature adds to the score of a class, less the mean of what it adds to the others'."""
        own = self._weights.of(k)
        others = len(self.labels) - 1
        return np.asarray(own - (self._sums - own) / others) if others else own

    def z(self, k: int) -> Floats:
        """How surely each feature is the class's own."""
        counts, total = self.counts(k)
        return z_scores(counts, total, self._everywhere, self._whole)

    def counts(self, k: int) -> tuple[NDArray[Any], float]:
        """The sightings of each feature in a class, and how many there could be."""
        statistics = self.statistics
        if self._sees_documents:
            return self._of_class(k, statistics.documents), float(statistics.class_documents[k])
        return self._of_class(k, statistics.occurrences), float(statistics.class_occurrences[k])

    def frequencies(self, k: int) -> NDArray[Any]:
        """The occurrences of each feature in a class."""
        return self._of_class(k, self.statistics.occurrences)

    @cached_property
    def mutual_information(self) -> Floats:
        return mutual_information(self.statistics, self.statistics.class_documents)

    @cached_property
    def chi_squared(self) -> Floats:
        return chi_squared(self.statistics, self.statistics.occurrences, self.statistics.class_documents)

    def best(self, k: int, by: str, n_features: int) -> NDArray[np.int64]:
        """The columns of the features that tell most of a class, best first; equal ones in their order."""
        if by == "mi" and not self.statistics.knows_documents:
            raise ModelError(
                "the model does not know how many documents hold a feature",
                where="--by mi",
                hint="use --by z, or train on the texts",
            )
        if by in ("mi", "chi2"):
            scores = np.where(self._prefers == k, self.chi_squared if by == "chi2" else self.mutual_information, -1.0)
        elif by == "frequency":
            scores = self.frequencies(k).astype(np.float64)
        else:
            scores = self.z(k) if by == "z" else self.log_odds(k)
        order = np.argsort(-scores, kind="stable")[:n_features]
        return order[scores[order] > 0]

    def views(self, k: int, columns: Sequence[int] | NDArray[np.int64]) -> Iterator[FeatureView]:
        """What the model knows of these columns in a class."""
        log_odds, z = self.log_odds(k), self.z(k)
        occurrences, documents = self.frequencies(k), self._of_class(k, self.statistics.documents)
        is_known = self.statistics.knows_documents
        for j in map(int, columns):
            yield FeatureView(
                self.name(j), float(log_odds[j]), float(z[j]),
                float(self.mutual_information[j]) if is_known else None, float(self.chi_squared[j]),
                occurrences[j].item(), documents[j].item() if is_known else None,
            )  # fmt: skip

    @property
    def _sees_documents(self) -> bool:
        return self._classifier.modelling.model in UNCOUNTED

    @cached_property
    def _everywhere(self) -> NDArray[Any]:
        statistics = self.statistics
        return statistics.feature_sums(statistics.documents if self._sees_documents else statistics.occurrences)

    @cached_property
    def _whole(self) -> float:
        statistics = self.statistics
        return float(statistics.n_documents if self._sees_documents else statistics.class_occurrences.sum())

    @cached_property
    def _prefers(self) -> NDArray[np.int64]:
        """The class that each feature speaks for most: where it is in the largest share of the documents, or occurs
        most often by document where that is all that is known."""
        statistics = self.statistics
        sightings = statistics.documents if statistics.knows_documents else statistics.occurrences
        share = sightings / np.maximum(statistics.class_documents, 1)[statistics.classes]
        order = np.lexsort((statistics.classes, -share, statistics.entry_features))
        preferred = np.full(statistics.n_features, -1, dtype=np.int64)
        used = np.flatnonzero(np.diff(statistics.indptr))
        preferred[used] = statistics.classes[order][statistics.indptr[used]]
        return preferred

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The entries in the order of their classes, where each class begins, and the features of the entries."""
        order = np.argsort(self.statistics.classes, kind="stable")
        bounds = np.searchsorted(self.statistics.classes[order], np.arange(len(self.labels) + 1))
        return order, bounds, self.statistics.entry_features

    def _of_class(self, k: int, values: NDArray[Any]) -> NDArray[Any]:
        """One value an entry, as a vector over the features of a class."""
        order, bounds, features = self._by_class
        entries = order[bounds[k] : bounds[k + 1]]
        vector = np.zeros(self.statistics.n_features, dtype=values.dtype)
        vector[features[entries]] = values[entries]
        return vector


def read_statistics(classifier: TextClassifier) -> ClassStatistics:
    """The counts behind the features that the model reads, in the order of its columns."""
    tally, features = over_vocabulary(classifier.counts_, classifier.features), classifier.fitted_.features
    if features is None or tally.vocabulary is None or len(features) == len(tally.vocabulary):
        return tally.statistics
    return tally.statistics.restricted(tally.vocabulary.columns_of(features.terms).astype(np.int64))

"""The weights and counts of each feature in each class of a trained model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.class_statistics import ClassStatistics
from nbtext.bayes.scorer import ClassWeights, Floats
from nbtext.errors import ModelError, SettingsError
from nbtext.features.counting import counter
from nbtext.features.hashing import buckets
from nbtext.features.regex_timeout import refuse_long_texts
from nbtext.features.selection import chi_squared, mutual_information
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.fitting import align_to_vocabulary
from nbtext.model.source_counting import OnBatch, check_fields

if TYPE_CHECKING:
    from nbtext.documents.source import Source

Names = Mapping[int, str]  # of hashed columns
CRITERIA = ("log-odds", "z", "mi", "chi2", "frequency")


@dataclass(frozen=True, slots=True)
class FeatureView:
    """The weights and counts of a feature in one class."""

    feature: str
    log_odds: float  # its weight in the class minus the mean of its weights in the others
    z: float  # log-odds ratio of the class against all others, in standard deviations
    mutual_information: float | None  # of its binary counts and the label, in nats; the same in every class
    chi_squared: float  # of its occurrences and the label; the same in every class
    occurrences: float  # in the class
    documents: float | None  # of the class that have it; None if they were not counted


class Inspector:
    """Computes the weights and counts of a trained model's features, one class at a time."""

    def __init__(self, model: TrainedModel, names: Names | None = None) -> None:
        self._model, self._names = model, names or {}
        self.labels, self._scorer = model.fitted.labels, model.fitted.scorer
        self._weights = ClassWeights(self._scorer)
        self.statistics = used_statistics(model)
        self._sums = self._weights.sums()

    def name(self, column: int) -> str:
        """Return the feature of a column; of a hashed column its number, and its words if they are known."""
        features = self._model.fitted.vocabulary
        return features.term(column) if features is not None else self._names.get(column, f"#{column}")

    def log_odds(self, k: int) -> Floats:
        """Return each feature's weight in a class minus the mean of its weights in the other classes, (n_features,)."""
        own = self._weights.of(k)
        others = len(self.labels) - 1
        return np.asarray(own - (self._sums - own) / others) if others else own

    def z(self, k: int) -> Floats:
        """Return each feature's log-odds ratio of a class against all others, in standard deviations, (n_features,)."""
        counts, total = self.counts(k)
        return z_scores(counts, total, self._everywhere, self._whole)

    def counts(self, k: int) -> tuple[NDArray[Any], float]:
        """Return the occurrences (or documents) of each feature in a class, and their possible maximum."""
        statistics = self.statistics
        if self._counts_documents:
            return self._of_class(k, statistics.documents), float(statistics.class_documents[k])
        return self._of_class(k, statistics.occurrences), float(statistics.class_occurrences[k])

    def frequencies(self, k: int) -> NDArray[Any]:
        """Return the occurrences of each feature in a class, (n_features,)."""
        return self._of_class(k, self.statistics.occurrences)

    @cached_property
    def mutual_information(self) -> Floats:
        return mutual_information(self.statistics, self.statistics.class_documents)

    @cached_property
    def chi_squared(self) -> Floats:
        return chi_squared(self.statistics, self.statistics.occurrences, self.statistics.class_documents)

    def best(self, k: int, by: str, n_features: int) -> NDArray[np.int64]:
        """Return the columns of the n most characteristic features of a class, best first; ties by column."""
        if by == "mi" and not self.statistics.knows_documents:
            raise ModelError(
                "the model file lacks the document frequencies of the features",
                where="--by mi",
                hint="use --by z, or train on the texts",
            )
        if by in ("mi", "chi2"):
            scores = np.where(
                self._most_frequent_class == k, self.chi_squared if by == "chi2" else self.mutual_information, -1.0
            )
        elif by == "frequency":
            scores = self.frequencies(k).astype(np.float64)
        else:
            scores = self.z(k) if by == "z" else self.log_odds(k)
        order = np.argsort(-scores, kind="stable")[:n_features]
        return order[scores[order] > 0]

    def views(self, k: int, columns: Sequence[int] | NDArray[np.int64]) -> Iterator[FeatureView]:
        """Yield the weights and counts of these columns in a class."""
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
    def _counts_documents(self) -> bool:
        settings = self._model.fitted.model_settings
        return not settings.is_linear and settings.event_model.counts_documents

    @cached_property
    def _everywhere(self) -> NDArray[Any]:
        statistics = self.statistics
        return statistics.feature_sums(statistics.documents if self._counts_documents else statistics.occurrences)

    @cached_property
    def _whole(self) -> float:
        statistics = self.statistics
        return float(statistics.n_documents if self._counts_documents else statistics.class_occurrences.sum())

    @cached_property
    def _most_frequent_class(self) -> NDArray[np.int64]:
        """The class whose documents have each feature most frequently, (n_features,).

        If documents were not counted, it is the class with the most occurrences per document.
        """
        statistics = self.statistics
        counts = statistics.documents if statistics.knows_documents else statistics.occurrences
        share = counts / np.maximum(statistics.class_documents, 1)[statistics.classes]
        order = np.lexsort((statistics.classes, -share, statistics.entry_features))
        best = np.full(statistics.n_features, -1, dtype=np.int64)
        used = np.flatnonzero(np.diff(statistics.indptr))
        best[used] = statistics.classes[order][statistics.indptr[used]]
        return best

    @cached_property
    def _by_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The entries in the order of their classes, the bounds of each class, and the features of the entries."""
        order = np.argsort(self.statistics.classes, kind="stable")
        bounds = np.searchsorted(self.statistics.classes[order], np.arange(len(self.labels) + 1))
        return order, bounds, self.statistics.entry_features

    def _of_class(self, k: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return one value for each feature of a class, (n_features,), from one value for each entry."""
        order, bounds, features = self._by_class
        entries = order[bounds[k] : bounds[k + 1]]
        vector = np.zeros(self.statistics.n_features, dtype=values.dtype)
        vector[features[entries]] = values[entries]
        return vector


def used_statistics(model: TrainedModel) -> ClassStatistics:
    """Return the class statistics of the features that the model uses, in the order of its columns."""
    counts, features = align_to_vocabulary(model.counts, model.fitted.feature_settings), model.fitted.vocabulary
    if features is None or counts.vocabulary is None or len(features) == len(counts.vocabulary):
        return counts.statistics
    return counts.statistics.restrict(counts.vocabulary.columns_of(features.terms).astype(np.int64))


MOST_WORDS = 3  # in the name of a hashed column


def invert_hashes(model: TrainedModel, source: Source, *, on_batch: OnBatch | None = None) -> Names:
    """Return names of hashed columns: for each column that a source uses, its number and its most frequent words.

    A model does not store the words of hashed columns, because that would take the memory that hashing saves. Any texts
    can name columns, because the hash of a word is fixed. The training texts name all columns of the model.

    raises  SettingsError: the model's features are not hashed
    """
    settings = model.fitted.feature_settings
    if settings.hash_bits is None:
        raise SettingsError("the features of the model are not hashed", where="words_from", hint="leave it out")
    check_fields(settings.fields, source.field_names)
    counting = counter(replace(settings, hash_bits=None))
    for block in source.blocks():
        batch = block.batch()
        refuse_long_texts(batch, settings)
        counting.count(batch.columns, np.zeros(len(batch), dtype=np.int32), 0)
        if on_batch is not None:
            on_batch(block, batch)
    vocabulary, _ = counting.vocabulary()
    return _names(vocabulary, counting.class_counts().occurrences.tolist(), settings.hash_bits)


def _names(vocabulary: Vocabulary, occurrences: list[int], bits: int) -> Names:
    by_column: dict[int, list[tuple[int, str]]] = {}
    terms = vocabulary.terms
    for column, term, number in zip(buckets(terms, bits).tolist(), terms, occurrences, strict=True):
        by_column.setdefault(column, []).append((-number, term))
    return {column: name_column(column, [term for _, term in sorted(words)]) for column, words in by_column.items()}


def name_column(column: int, words: list[str]) -> str:
    """Return the name of a hashed column: its number, and its first words."""
    shown = [*words[:MOST_WORDS], *("…" for _ in words[MOST_WORDS : MOST_WORDS + 1])]
    return f"#{column} {', '.join(shown)}" if words else f"#{column}"


HALF = 0.5  # added to each count, so that none is zero (Haldane and Anscombe's correction)


def z_scores(counts: NDArray[Any], total: float, everywhere: NDArray[Any], whole: float) -> Floats:
    """Return the log-odds ratio of each feature in a class against all other classes, in standard deviations.

    A rare feature may have large log-odds by chance; its standard deviation is large then. Let a be the count of the
    feature and b that of all others in the class, c and d the same in all other classes, ½ added to each. Then
    z = (ln a/b − ln c/d) / √(1/a + 1/b + 1/c + 1/d).

    counts      (n_features,), counts in the class; `total` is their possible maximum
    everywhere  (n_features,), counts in all classes; `whole` is their possible maximum
    source      Monroe, Colaresi, Quinn, Fightin' Words, 2008, section 3.3; the variance: Gart and Zweifel, On the Bias
                of Various Estimators of the Logit and Its Variance, 1967
    """
    own, others = counts + HALF, everywhere - counts + HALF
    # sums beyond 2^53 are rounded
    own_rest = np.maximum(total - counts, 0) + HALF
    others_rest = np.maximum(whole - total - (everywhere - counts), 0) + HALF
    log_odds = np.log(own) - np.log(own_rest) - np.log(others) + np.log(others_rest)
    return np.asarray(log_odds / np.sqrt(1 / own + 1 / own_rest + 1 / others + 1 / others_rest), dtype=np.float64)

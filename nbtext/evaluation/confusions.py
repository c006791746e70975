"""Confusions: the labels that are confused most often, and the features with the largest contributions to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.evaluation.error_log import Cell, Example
from nbtext.model.explanation import Explainer
from nbtext.model.inspector import used_statistics

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

MAX_PAIRS = 12  # of labels
MAX_DOCUMENTS = 50  # whose words are examined, for each confusion
MAX_WORDS = 10
COMMON_SHARE = 0.2  # words in a larger share of the training documents are reported together, not one by one


class MisleadingWord(NamedTuple):
    """A feature whose mean contribution favors the wrong label.

    documents  Number of examined documents that have the feature.
    log_odds   Mean contribution to the log-odds of the predicted label against the true one, over all examined
               documents.
    """

    feature: str
    documents: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Documents of one label for which another one was predicted (one direction).

    examined         Number of documents, the most probable ones, whose words were examined.
    words            Those with the largest contributions to the wrong label, without common words.
    common_log_odds  The contribution of all common words together, the mean over the examined documents.
    """

    label: str
    predicted: str
    documents: int
    examined: int = 0
    words: tuple[MisleadingWord, ...] = ()
    common_log_odds: float = 0.0


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """Two labels that are confused, the more frequent confusion first."""

    confusions: tuple[Confusion, Confusion]

    @property
    def documents(self) -> int:
        return sum(confusion.documents for confusion in self.confusions)


def find_confused_pairs(
    counts: dict[Cell, int], examples: dict[Cell, list[Example]], model: TrainedModel | None
) -> tuple[ConfusedPair, ...]:
    """Find the pairs of labels that are confused most often, with the words that mislead.

    Parameters
    ----------
    counts : dict[Cell, int]
        Documents by true and predicted label.
    examples : dict[Cell, list[Example]]
        Some documents of each cell, with their texts.
    model : TrainedModel, optional
        The model that made the predictions; None: do not examine words.
    """
    both: dict[tuple[str, str], int] = defaultdict(int)
    for (label, predicted), count in counts.items():
        if predicted is not None and predicted != label:
            both[min(label, predicted), max(label, predicted)] += count
    words = _MisleadingWords(model) if model is not None else None
    pairs = []
    for one, other in sorted(both, key=lambda pair: (-both[pair], pair))[:MAX_PAIRS]:
        found = []
        for cell in sorted(((one, other), (other, one)), key=lambda cell: -counts.get(cell, 0)):
            documents = examples.get(cell, [])[:MAX_DOCUMENTS]
            if words is not None and documents and words.has_labels(cell):
                found.append(Confusion(*cell, counts.get(cell, 0), len(documents), *words.find(cell, documents)))
            else:
                found.append(Confusion(*cell, counts.get(cell, 0)))
        pairs.append(ConfusedPair((found[0], found[1])))
    return tuple(pairs)


class _MisleadingWords:
    """Finds the features that favor the wrong label in the documents for which it was predicted."""

    def __init__(self, model: TrainedModel) -> None:
        self._model = model.fitted
        self._explainer = Explainer(model.fitted)
        self._common = find_common_words(model)

    def has_labels(self, labels: Iterable[str]) -> bool:
        """Return whether the model knows these labels."""
        return set(labels) <= set(self._model.labels)

    def find(self, cell: tuple[str, str], documents: Sequence[Example]) -> tuple[tuple[MisleadingWord, ...], float]:
        """Return the words with the largest contributions, and the contribution of all common words."""
        label, predicted = cell
        columns = tuple(map(list, zip(*(example.texts for example in documents), strict=True)))
        batch = Batch([example.id for example in documents], columns, [None] * len(documents))
        sums: dict[str, float] = defaultdict(float)
        n_documents: dict[str, int] = defaultdict(int)
        for explanation in self._explainer.explain_batch(batch, label=predicted, against=label):
            for part in explanation.contributions:
                sums[part.feature] += part.log_odds / explanation.temperature
                n_documents[part.feature] += 1
        common = sum(sums.pop(word) for word in sorted(self._common & sums.keys()))
        largest = sorted((word for word in sums if sums[word] > 0), key=lambda word: (-sums[word], word))[:MAX_WORDS]
        n = len(documents)
        return tuple(MisleadingWord(word, n_documents[word], sums[word] / n) for word in largest), common / n


def find_common_words(model: TrainedModel) -> frozenset[str]:
    """Find the words that more than a fifth of the training documents have; none if features are hashed."""
    features = model.fitted.vocabulary
    if features is None:
        return frozenset()
    statistics = used_statistics(model)
    shares = statistics.document_frequencies / max(1, statistics.n_documents)
    return frozenset(features.term(j) for j in np.flatnonzero(shares > COMMON_SHARE).tolist())


def order_by_confusion(labels: Sequence[str], cells: Iterable[tuple[Cell, int]]) -> tuple[int, ...]:
    """Order labels so that labels that are often confused are adjacent; return their positions.

    The order is that of the leaves of an average-linkage tree over the confusion rates.
    """
    places = {label: place for place, label in enumerate(labels)}
    confused, support = np.zeros((len(labels), len(labels))), np.zeros(len(labels))
    for (label, predicted), count in cells:
        support[places[label]] += count
        if predicted is not None and predicted != label:
            confused[places[label], places[predicted]] += count
    if len(labels) < 3:
        return tuple(range(len(labels)))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    similarity = (confused + confused.T) / np.sqrt(np.maximum(1, np.outer(support, support)))
    distances = 1 / (1e-3 + similarity[np.triu_indices(len(labels), 1)])
    tree = linkage(distances, "average")
    return tuple(map(int, leaves_list(optimal_leaf_ordering(tree, distances))))

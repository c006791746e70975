"""Which labels are confused, and which words mislead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.evaluation.shelves import Cell, Noted
from nbtext.model.explanation import Explainer
from nbtext.model.inspector import read_statistics

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

MOST_PAIRS = 12  # that are studied
MOST_DOCUMENTS = 50  # of each way round
MOST_WORDS = 10
EVERYDAY = 0.2  # of the documents that the model learned from: a word that more of them hold tells no subject


class MisleadingWord(NamedTuple):
    """A word that speaks for the wrong label in documents that got it."""

    feature: str
    documents: int  # of those that were looked at: that hold it
    log_odds: float  # for the wrong label against the true one, the mean over all that were looked at


@dataclass(frozen=True, slots=True)
class Mixup:
    """Documents of one label that were taken for another one."""

    label: str
    answer: str
    documents: int
    looked_at: int = 0  # the surest of them, whose words were weighed
    words: tuple[MisleadingWord, ...] = ()  # that spoke most for the wrong label, but for everyday words
    everyday: float = 0.0  # what those come to, all together, in log-odds for the wrong label; the mean as well


@dataclass(frozen=True, slots=True)
class Pair:
    """Two labels that are taken for each other, the more frequent way round first."""

    mixups: tuple[Mixup, Mixup]

    @property
    def documents(self) -> int:
        return sum(mixup.documents for mixup in self.mixups)


def confused_pairs(
    numbers: dict[Cell, int], studied: dict[Cell, list[Noted]], model: TrainedModel | None
) -> tuple[Pair, ...]:
    """The pairs of labels that are confused most often, either way round, with the words that misled.

    numbers     documents by their label and their answer
    studied     some documents of each such cell, with their texts
    model  that answered; None: no words
    """
    both: dict[tuple[str, str], int] = defaultdict(int)
    for (label, answer), number in numbers.items():
        if answer is not None and answer != label:
            both[min(label, answer), max(label, answer)] += number
    most = sorted(both, key=lambda pair: (-both[pair], pair))[:MOST_PAIRS]
    weigher = _Weigher(model) if model is not None else None
    pairs = []
    for one, other in most:
        cells = sorted(((one, other), (other, one)), key=lambda cell: -numbers.get(cell, 0))
        first, second = (
            _mixup(cell, numbers.get(cell, 0), studied.get(cell, [])[:MOST_DOCUMENTS], weigher) for cell in cells
        )
        pairs.append(Pair((first, second)))
    return tuple(pairs)


def _mixup(cell: tuple[str, str], number: int, documents: list[Noted], weigher: _Weigher | None) -> Mixup:
    if weigher is None or not documents or not weigher.knows(cell):
        return Mixup(*cell, number)
    return Mixup(*cell, number, len(documents), *weigher.misleading(cell, documents))


class _Weigher:
    """Finds the words that speak for a wrong answer in documents that got it."""

    def __init__(self, model: TrainedModel) -> None:
        self._model = model
        self._explainer = Explainer(model.fitted)
        self._everyday = everyday_words(model)

    def knows(self, labels: Iterable[str]) -> bool:
        return set(labels) <= set(self._model.fitted.labels)

    def misleading(self, cell: tuple[str, str], documents: Sequence[Noted]) -> tuple[tuple[MisleadingWord, ...], float]:
        """Those that speak most for the answer and against the label, and what everyday words come to."""
        label, answer = (self._model.fitted.labels.index(name) for name in cell)
        columns = tuple(map(list, zip(*(noted.texts for noted in documents), strict=True)))
        rows = self._explainer.count(columns)
        sums: dict[str, float] = defaultdict(float)
        seen: dict[str, int] = defaultdict(int)
        for row, noted in enumerate(documents):
            parts = self._explainer.contributions(rows, row, noted.texts, (answer, label))
            temperature = self._temperature(sum(part.count for part in parts))
            for part in parts:
                sums[part.feature] += part.log_odds / temperature
                seen[part.feature] += 1
        everyday = sum(sums.pop(word) for word in sorted(self._everyday & sums.keys()))
        strongest = sorted((word for word in sums if sums[word] > 0), key=lambda word: (-sums[word], word))
        n = len(documents)
        return tuple(MisleadingWord(word, seen[word], sums[word] / n) for word in strongest[:MOST_WORDS]), everyday / n

    def _temperature(self, n_known: int) -> float:
        calibration = self._model.fitted.calibration.temperature
        return float(calibration.temperature(np.array([n_known]))[0]) if calibration is not None else 1.0


def everyday_words(model: TrainedModel) -> frozenset[str]:
    """The words that a fifth of the documents hold that the model learned from; of hashed ones none."""
    features = model.fitted.vocabulary
    if features is None:
        return frozenset()
    statistics = read_statistics(model)
    shares = statistics.feature_sums(statistics.documents) / max(1, statistics.n_documents)
    return frozenset(features.term(j) for j in np.flatnonzero(shares > EVERYDAY).tolist())


def side_by_side(labels: Sequence[str], cells: Iterable[tuple[Cell, int]]) -> tuple[int, ...]:
    """The places of the labels in an order in which those that are confused stand beside each other.

    The leaves of a tree that joins first those that are confused most often, for their size.
    """
    places = {label: place for place, label in enumerate(labels)}
    mixed, support = np.zeros((len(labels), len(labels))), np.zeros(len(labels))
    for (label, answer), number in cells:
        support[places[label]] += number
        if answer is not None and answer != label:
            mixed[places[label], places[answer]] += number
    likeness = (mixed + mixed.T) / np.sqrt(np.maximum(1, np.outer(support, support)))
    return tuple(map(int, _leaves(likeness)))


def _leaves(likeness: NDArray[np.float64]) -> NDArray[np.int64]:
    """The order of rows by a tree of average linkage."""
    if len(likeness) < 3:
        return np.arange(len(likeness))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    upper = np.triu_indices(len(likeness), 1)
    distances = 1 / (1e-3 + likeness[upper])
    tree = linkage(distances, "average")
    return np.asarray(leaves_list(optimal_leaf_ordering(tree, distances)), dtype=np.int64)

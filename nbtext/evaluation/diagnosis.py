"""Diagnosis of an evaluation: everything that its page shows, as plain data, collected batch by
batch.

An error log records outcomes of all documents and examples of some; its `diagnose` adds what the
model tells of them.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from nbtext.arrays import Floats
from nbtext.bayes.scorer import log_posterior
from nbtext.documents.batch import Batch
from nbtext.evaluation.bootstrap import Estimate, compute_intervals
from nbtext.evaluation.curves import (
    AnsweredPart,
    LabelCurve,
    Reliability,
    ReliabilityBin,
    TradeOff,
    compute_label_curve,
)
from nbtext.evaluation.evaluator import Evaluation, PairKey, list_pairs
from nbtext.evaluation.metrics import METRICS, MULTILABEL_METRICS, sum_outcomes, totals_of
from nbtext.evaluation.outcomes import (
    LabelNumbers,
    MultilabelOutcomes,
    Outcomes,
    PredictedBatch,
    mark_true,
    true_sets,
)

if TYPE_CHECKING:
    from nbtext.bayes.calibration import TemperatureScaling
    from nbtext.model.explanation import Explainer, Explanation
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.inspection import Inspection

# kept for curves (64 MiB); beyond that, those of every second, fourth, ... document
MAX_PROBABILITIES = 1 << 23
MAX_LISTED = 10_000  # documents whose names can be looked up
MAX_STUDIED = 2_000  # documents whose words may explain a confusion
# mistakes, outliers, and documents with wrong label sets, that are shown with their text
N_TOP = 25
# characters of each text that are kept
IN_LISTS = 160
FOR_WORDS = 16_384
IN_FULL = 200_000
OF_SETS = 400
MAX_LABELS = 100  # in charts and in the confusion matrix: the most frequent ones
TARGETS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995)  # accuracies of answers
N_PARTS = 120  # points of the trade-off
N_FEATURES = 12  # of each label
N_TYPICALITY_BINS = 20
MAX_CONFUSED_PAIRS = 12  # of labels
MAX_EXAMINED = 50  # documents of each confusion whose words are examined
MAX_WORDS = 10
# words in a larger share of the training documents are not named
COMMON_SHARE = 0.2
N_EXAMPLES = 3  # documents of each wrong label with another one
MAX_PAIRS = 1 << 14  # of a wrong label and another one that have examples

Cell = tuple[str, str | None]  # true label, predicted label
Item = TypeVar("Item")


class Example(NamedTuple):
    """A document with its true and its predicted label.

    probability  The probability of the predicted label, or of the label that a threshold withholds.
    texts        The texts of its fields, shortened; empty if they were not kept.
    n_missing    Number of characters that were cut off.
    """

    id: str
    label: str
    predicted: str | None
    probability: float
    texts: tuple[str, ...] = ()
    n_missing: int = 0


class ExamplesByCell:
    """Keeps the most probable examples of each cell of the confusion matrix, and counts all of
    them.

    Parameters
    ----------
    maximum : int
        Maximum number of examples; if there are more, the largest cells keep fewer.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._kept: dict[Cell, list[tuple[float, int, Example]]] = {}
        self._n_kept = 0
        self.counts: Counter[Cell] = Counter()

    def add(self, place: int, probability: float, cell: Cell, make: Callable[[], Example]) -> None:
        """Count an example, and keep it for now."""
        self.counts[cell] += 1
        self._kept.setdefault(cell, []).append((-probability, place, make()))
        self._n_kept += 1
        if self._n_kept > 2 * self._maximum:
            self._trim()

    def cells(self) -> dict[Cell, list[Example]]:
        """Return the examples of each cell, the most probable first."""
        self._trim()
        return {cell: [example for *_, example in entries] for cell, entries in self._kept.items()}

    def _trim(self) -> None:
        if len(self._kept) > self._maximum:
            largest = sorted(self._kept, key=lambda cell: (-self.counts[cell], str(cell)))
            self._kept = {cell: self._kept[cell] for cell in largest[: self._maximum]}
        sizes = [len(entries) for entries in self._kept.values()]
        limits = range(max(sizes, default=0) + 1)
        limit = (
            bisect_right(
                limits, self._maximum, key=lambda limit: sum(min(size, limit) for size in sizes)
            )
            - 1
        )
        for entries in self._kept.values():
            entries.sort(key=lambda entry: entry[:2])
            del entries[limit:]
        self._n_kept = sum(map(len, self._kept.values()))


class TopExamples(Generic[Item]):
    """Keeps the examples with the highest rank; of equal ones the first."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._heap: list[tuple[float, int, Item]] = []

    def add(self, place: int, rank: float, make: Callable[[], Item]) -> None:
        """Keep an example if its rank is high enough."""
        key = (rank, -place)
        if len(self._heap) < self._maximum:
            heapq.heappush(self._heap, (*key, make()))
        elif key > self._heap[0][:2]:
            heapq.heapreplace(self._heap, (*key, make()))

    def rank_examples(self) -> list[tuple[float, Item]]:
        """Return the examples with their ranks, the highest first."""
        return [
            (rank, example)
            for rank, _, example in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)
        ]


class ThinnedRows:
    """Keeps a bounded number of values: all rows, or every second, fourth, ... of them.

    Later rows may be wider: missing values of earlier ones are 0.

    Parameters
    ----------
    most : int
        Maximum number of values to keep.
    step  every `step`-th row is kept
    """

    def __init__(self, maximum: int) -> None:
        self._most = maximum
        self.step = 1
        self._seen = self._kept = 0
        self._parts: list[Floats] = []

    def add(self, rows: Floats) -> None:
        """Add rows, shape (n_rows, width)."""
        kept = rows[-self._seen % self.step :: self.step].copy()
        self._seen += len(rows)
        self._kept += kept.size
        self._parts.append(kept)
        while self._kept > self._most and self._seen > self.step:
            self._parts = [self.rows()[::2]]
            self._kept = self._parts[0].size
            self.step *= 2

    def rows(self) -> Floats:
        """Return the rows that were kept, in order, shape (n_rows, largest width)."""
        width = max((part.shape[1] for part in self._parts), default=0)
        padded = [np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in self._parts]
        return np.concatenate(padded) if padded else np.zeros((0, 0))


class MisleadingWord(NamedTuple):
    """A feature whose mean contribution favors the wrong label.

    documents  Number of examined documents that have the feature.
    log_odds   Mean contribution to the log-odds of the predicted label against the true one, over
               all examined documents.
    """

    feature: str
    documents: int
    log_odds: float


class Confusion(NamedTuple):
    """Documents of one label for which another one was predicted (one direction).

    examined  Number of documents, the most probable ones, whose words were examined.
    words     Those with the largest contributions to the wrong label, without the common words that
              the model tells.
    """

    label: str
    predicted: str
    documents: int
    examined: int = 0
    words: tuple[MisleadingWord, ...] = ()


class ConfusedPair(NamedTuple):
    """Two labels that are confused, the more frequent confusion first."""

    confusions: tuple[Confusion, Confusion]

    @property
    def documents(self) -> int:
        return sum(confusion.documents for confusion in self.confusions)


class Target(NamedTuple):
    """The largest part of the documents, the most certain ones, with at least this accuracy; None:
    there is none.
    """

    accuracy: float
    part: AnsweredPart | None


class Mistake(NamedTuple):
    """A document with a wrong predicted label, explained against the true label if the model knows
    it.
    """

    document: Example
    explanation: Explanation


class Outliers(NamedTuple):
    """Documents unlike the training documents.

    correct     Number of outliers with the right predicted label.
    examples    The outliers with the lowest typicality, each with its typicality.
    typicality  Number of documents in each of 20 bins of typicality; uniform for documents like the
                training documents.
    """

    documents: int
    correct: int
    examples: tuple[tuple[float, Example], ...]
    typicality: tuple[int, ...]


class Confusions(NamedTuple):
    """The confusion matrix with examples.

    labels  The labels that are shown, sorted.
    order   The positions of the labels, with confused labels adjacent.
    counts  Number of documents in each cell that is not empty, of all labels.
    listed  The most probable examples of each cell.
    pairs   The labels that are confused most often.
    """

    labels: tuple[str, ...]
    order: tuple[int, ...]
    counts: tuple[tuple[Cell, int], ...]
    listed: dict[Cell, list[Example]]
    pairs: tuple[ConfusedPair, ...]


class Curves(NamedTuple):
    """The curves of labels, which are computed from every `step`-th document."""

    labels: tuple[LabelCurve, ...]
    step: int


class Trust(NamedTuple):
    """The calibration of the probabilities, and the accuracy and share of answers at each
    threshold.

    before  Reliability of the same predictions without calibration; None: the model has no
            calibration.
    """

    before: Reliability | None
    calibration: TemperatureScaling | None
    trade_off: tuple[AnsweredPart, ...]
    targets: tuple[Target, ...]


class Diagnosis(NamedTuple):
    """An evaluation with details; what is not available is None or empty.

    Attributes
    ----------
    curves : Curves, optional
        Curves of labels; None: only the probability of the predicted label is known.
    top_features : Inspection, optional
        The features with the largest weights, of the labels that are shown.
    has_names, has_texts of documents
    """

    evaluation: Evaluation
    intervals: dict[str, Estimate]
    confusions: Confusions
    trust: Trust
    curves: Curves | None
    mistakes: tuple[Mistake, ...]
    outliers: Outliers | None
    top_features: Inspection | None
    has_names: bool
    has_texts: bool


class ErrorLog:
    """Records the probabilities and examples of some documents.

    listed    examples of each cell, for the lists of the confusion matrix
    studied   wrong ones with enough text to find misleading words
    mistakes  the wrong ones with the highest probability
    outliers  those with the lowest typicality
    """

    def __init__(self) -> None:
        self._numbers = LabelNumbers()
        self._probabilities = ThinnedRows(MAX_PROBABILITIES)
        self.before_calibration: Reliability | None = None
        self.listed = ExamplesByCell(MAX_LISTED)
        self.studied = ExamplesByCell(MAX_STUDIED)
        self.mistakes = TopExamples[Example](N_TOP)
        self.outliers = TopExamples[Example](N_TOP)
        self.n_documents = 0
        self.has_texts = False

    def record(self, batch: PredictedBatch, outcomes: Outcomes) -> None:
        """Record a batch, and its outcomes."""
        predictions = batch.predictions
        if len(predictions) == 0:
            return
        classes = self._numbers.add(predictions.classes)
        rows = np.zeros((len(predictions), len(self._numbers)))
        found = predictions.probabilities
        rows[:, classes] = np.where(np.isnan(found), 1 / len(classes), found)
        self._probabilities.add(rows)
        if batch.scores is not None:
            # the probabilities of the same labels without calibration
            uncalibrated = np.exp(log_posterior(batch.scores))[
                np.arange(len(rows)), predictions.label_classes
            ]
            self.before_calibration = self.before_calibration or Reliability()
            is_known = outcomes.is_known
            self.before_calibration.add(uncalibrated[is_known], outcomes.is_chosen_right[is_known])
        self.has_texts |= batch.columns is not None
        named = zip(predictions.ids, predictions.true_labels, predictions.labels, strict=True)
        for row, (identity, true, labels) in enumerate(named):
            if not identity or not true:  # counts alone have no names
                continue
            label = true[0]
            predicted = labels[0] if labels else None
            place = self.n_documents + row
            probability = float(outcomes.best[row])
            cell = (label, predicted)
            texts = tuple(column[row] for column in batch.columns or ())
            make = partial(_example, identity, cell, probability, texts)
            is_wrong = predicted not in (label, None)
            self.listed.add(place, probability, cell, partial(make, IN_LISTS if is_wrong else 0))
            if is_wrong and batch.columns is not None:
                self.studied.add(place, probability, cell, partial(make, FOR_WORDS))
                self.mistakes.add(place, probability, partial(make, IN_FULL))
            if outcomes.is_outlier[row] and predictions.typicality is not None:
                self.outliers.add(
                    place, -float(predictions.typicality[row]), partial(make, IN_LISTS)
                )
        self.n_documents += len(predictions)

    def probabilities(self, labels: tuple[str, ...]) -> tuple[Floats, int]:
        """Return the probabilities of every n-th document, shape (n_kept, n_labels), and n."""
        rows = self._probabilities.rows()
        found = np.zeros((len(rows), len(labels)))
        found[:, self._numbers.positions(labels)] = rows
        return found, self._probabilities.step

    def diagnose(
        self,
        evaluation: Evaluation,
        outcomes: Outcomes,
        model: TrainedModel | None = None,
        *,
        has_all_probabilities: bool = True,
    ) -> Diagnosis:
        """Collect the details of the evaluation of the same predictions.

        Parameters
        ----------
        outcomes : Outcomes
            Those of all documents.
        model : TrainedModel, optional
            The model that made the predictions; None: several models, or unknown.
        has_all_probabilities : bool
            The probabilities of all labels are known, not only of the predicted one.
        """
        by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
        labels = tuple(sorted(score.label for score in by_support[:MAX_LABELS]))
        calibration = model.fitted.calibration if model is not None else None
        scaling = calibration.temperature if calibration is not None else None
        trade_off = TradeOff.of(outcomes)
        before = self.before_calibration if scaling is not None else None
        targets = tuple(Target(accuracy, trade_off.at_accuracy(accuracy)) for accuracy in TARGETS)
        mistakes = []
        top_features = None
        explainer = None
        if model is not None:
            from nbtext.model.explanation import Explainer
            from nbtext.model.inspection import inspect

            known = set(model.fitted.labels)
            explainer = Explainer(model.fitted)
            top_features = inspect(
                model, n_features=N_FEATURES, labels=[label for label in labels if label in known]
            )
            for _, example in self.mistakes.rank_examples():
                against = example.label if example.label in known else None
                batch = Batch(
                    [example.id], tuple([text] for text in example.texts), [example.label]
                )
                (explanation,) = explainer.explain_batch(
                    batch, label=example.predicted, against=against
                )
                mistakes.append(Mistake(example, explanation))
        return Diagnosis(
            evaluation=evaluation,
            intervals=compute_intervals(
                METRICS, totals_of(outcomes, len(evaluation.labels)), len(outcomes)
            ),
            confusions=self._confusions(outcomes, labels, model, explainer),
            trust=Trust(before, scaling, trade_off.parts(N_PARTS), targets),
            curves=self._curves(outcomes, labels) if has_all_probabilities else None,
            mistakes=tuple(mistakes),
            outliers=self._outliers(outcomes),
            top_features=top_features,
            has_names=self.listed.counts.total() > 0,
            has_texts=self.has_texts,
        )

    def _confusions(
        self,
        outcomes: Outcomes,
        labels: tuple[str, ...],
        model: TrainedModel | None,
        explainer: Explainer | None,
    ) -> Confusions:
        names = (*outcomes.labels, None)  # the last one is that of UNANSWERED
        found = Counter(zip(outcomes.true.tolist(), outcomes.predicted.tolist(), strict=True))
        counts: dict[Cell, int] = {
            (outcomes.labels[true], names[predicted]): count
            for (true, predicted), count in found.items()
        }
        both: dict[tuple[str, str], int] = defaultdict(int)
        for (label, predicted), count in counts.items():
            if predicted is not None and predicted != label:
                both[min(label, predicted), max(label, predicted)] += count
        studied = self.studied.cells()
        pairs = []
        common = find_common_words(model) if model is not None else frozenset[str]()
        for one, other in sorted(both, key=lambda pair: (-both[pair], pair))[:MAX_CONFUSED_PAIRS]:
            confusions = []
            for cell in sorted(((one, other), (other, one)), key=lambda cell: -counts.get(cell, 0)):
                confusion = Confusion(*cell, counts.get(cell, 0))
                examined = studied.get(cell, [])[:MAX_EXAMINED]
                if explainer is not None and examined and set(cell) <= set(explainer.model.labels):
                    words = _find_misleading_words(explainer, common, cell, examined)
                    confusion = Confusion(*confusion[:3], len(examined), words)
                confusions.append(confusion)
            pairs.append(ConfusedPair((confusions[0], confusions[1])))
        shown = {*labels, None}
        order = order_by_confusion(
            labels, [each for each in counts.items() if shown.issuperset(each[0])]
        )
        return Confusions(
            labels, order, tuple(sorted(counts.items(), key=str)), self.listed.cells(), tuple(pairs)
        )

    def _curves(self, outcomes: Outcomes, labels: tuple[str, ...]) -> Curves:
        probabilities, step = self.probabilities(outcomes.labels)
        is_known = outcomes.is_known[::step]
        true = outcomes.true[::step]
        places = {label: place for place, label in enumerate(outcomes.labels)}
        numbers = [(label, places[label]) for label in labels]
        measured = probabilities[is_known]
        of_measured = true[is_known]
        curves = tuple(
            compute_label_curve(label, measured[:, k], of_measured == k) for label, k in numbers
        )
        return Curves(curves, step)

    def _outliers(self, outcomes: Outcomes) -> Outliers | None:
        """Describe outliers; None if the model has no likelihood of a document."""
        typicality = outcomes.typicality[~np.isnan(outcomes.typicality)]
        if not len(typicality):
            return None
        counts, _ = np.histogram(typicality, N_TYPICALITY_BINS, (0, 1))
        examples = tuple((-rank, example) for rank, example in self.outliers.rank_examples())
        n_correct = int((outcomes.is_outlier & outcomes.is_correct).sum())
        return Outliers(int(outcomes.is_outlier.sum()), n_correct, examples, tuple(counts.tolist()))


def _example(
    identity: str, cell: Cell, probability: float, texts: tuple[str, ...], n_characters: int
) -> Example:
    """Make an example with so many characters of each text; 0: without texts."""
    texts = texts if n_characters else ()
    n_missing = sum(max(0, len(text) - n_characters) for text in texts)
    return Example(
        identity, *cell, probability, tuple(text[:n_characters] for text in texts), n_missing
    )


def _find_misleading_words(
    explainer: Explainer,
    common: frozenset[str],
    cell: tuple[str, str],
    documents: Sequence[Example],
) -> tuple[MisleadingWord, ...]:
    """Return the words of documents with the largest contributions to the wrong label, but for
    common words.
    """
    label, predicted = cell
    columns = tuple(map(list, zip(*(example.texts for example in documents), strict=True)))
    batch = Batch([example.id for example in documents], columns, [None] * len(documents))
    sums: dict[str, float] = defaultdict(float)
    n_documents: dict[str, int] = defaultdict(int)
    for explanation in explainer.explain_batch(batch, label=predicted, against=label):
        for part in explanation.contributions:
            sums[part.feature] += part.log_odds / explanation.temperature
            n_documents[part.feature] += 1
    n = len(documents)
    misleading = [word for word in sums if sums[word] > 0 and word not in common]
    largest = sorted(misleading, key=lambda word: (-sums[word], word))[:MAX_WORDS]
    return tuple(MisleadingWord(word, n_documents[word], sums[word] / n) for word in largest)


def find_common_words(model: TrainedModel) -> frozenset[str]:
    """Find the words that more than a fifth of the training documents have.

    There are none if the model does not tell: its features are hashed, or it has no counts.
    """
    from nbtext.model.inspection import used_statistics

    features = model.fitted.vocabulary
    if features is None:
        return frozenset()
    statistics = used_statistics(model)
    is_common = statistics.document_frequencies > COMMON_SHARE * statistics.n_documents
    return frozenset(features.term(j) for j in np.flatnonzero(is_common).tolist())


class SetExample(NamedTuple):
    """A document with its true and its predicted labels.

    added, missed  Labels that are predicted and not true, and those that are true and not
                   predicted.
    gap            The largest distance of a label's probability from the truth, which is 0 or 1.
    text           The beginning of the text; "" if it is not known.
    """

    id: str
    correct: tuple[str, ...]
    added: tuple[str, ...]
    missed: tuple[str, ...]
    gap: float
    text: str


class SetDiagnosis(NamedTuple):
    """An evaluation of several labels with details.

    intervals    Of the metrics that single documents determine, by name.
    examples     Some documents of each pair of labels.
    worst        The documents with the largest gap, the largest first.
    reliability  Bins of all pairs of a document and a label, by probability.
    """

    evaluation: Evaluation
    intervals: dict[str, Estimate]
    examples: dict[PairKey, list[SetExample]]
    worst: tuple[SetExample, ...]
    reliability: tuple[ReliabilityBin, ...]


class SetLog:
    """Records examples of documents with several labels."""

    def __init__(self) -> None:
        self._examples: dict[PairKey, list[SetExample]] = {}
        self._worst = TopExamples[SetExample](N_TOP)
        self._reliability = Reliability()
        self._n_documents = 0

    def record(self, batch: PredictedBatch, outcomes: MultilabelOutcomes) -> None:
        """Record a batch, and its outcomes."""
        predictions = batch.predictions
        is_true = mark_true(predictions)
        is_measured = ~np.isnan(predictions.probabilities)
        is_measured &= outcomes.is_known[:, None]
        self._reliability.add(predictions.probabilities[is_measured], is_true[is_measured])
        # the probabilities of an unread document are 0
        gaps = (
            np.abs(is_true - np.nan_to_num(predictions.probabilities))
            .max(axis=1, initial=0.0)
            .tolist()
        )
        for row, (true, predicted) in enumerate(
            zip(true_sets(predictions), predictions.labels, strict=True)
        ):
            pairs = list_pairs(true, predicted)
            if not pairs or not predictions.ids[row]:  # counts alone have no names
                continue
            text = (
                " · ".join(column[row] for column in batch.columns)
                if batch.columns is not None
                else ""
            )
            correct = tuple(label for label in predicted if label in true)
            added = tuple(label for label in predicted if label not in true)
            missed = tuple(label for label in true if label not in predicted)
            make = partial(
                SetExample, predictions.ids[row], correct, added, missed, gaps[row], text[:OF_SETS]
            )
            for pair in pairs:
                if pair in self._examples or len(self._examples) < MAX_PAIRS:
                    found = self._examples.setdefault(pair, [])
                    found += [make()] * (len(found) < N_EXAMPLES)
            self._worst.add(self._n_documents + row, gaps[row], make)
        self._n_documents += len(predictions)

    def diagnose(
        self, evaluation: Evaluation, outcomes: MultilabelOutcomes, *_: object, **__: object
    ) -> SetDiagnosis:
        """Collect the details of the evaluation of the same predictions; see
        `ErrorLog.diagnose`.
        """
        add_up = partial(sum_outcomes, outcomes, len(evaluation.labels))
        shown = {(pair.kind, pair.label, pair.other) for pair in evaluation.label_pairs or ()}
        intervals = compute_intervals(MULTILABEL_METRICS, add_up, len(outcomes))
        examples = {pair: examples for pair, examples in self._examples.items() if pair in shown}
        worst = tuple(example for _, example in self._worst.rank_examples())
        return SetDiagnosis(evaluation, intervals, examples, worst, self._reliability.bins())


LOGS: dict[str, type[Any]] = {"one": ErrorLog, "several": SetLog}  # by the task


def order_by_confusion(labels: Sequence[str], cells: Iterable[tuple[Cell, int]]) -> tuple[int, ...]:
    """Order labels so that labels that are often confused are adjacent; return their positions.

    The order is that of the leaves of an average-linkage tree over the confusion rates.
    """
    places = {label: place for place, label in enumerate(labels)}
    confused = np.zeros((len(labels), len(labels)))
    support = np.zeros(len(labels))
    for (label, predicted), count in cells:
        support[places[label]] += count
        if predicted is not None and predicted != label:
            confused[places[label], places[predicted]] += count
    if len(labels) < 3:
        return tuple(range(len(labels)))
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering

    similarity = (confused + confused.T) / np.sqrt(np.maximum(1, np.outer(support, support)))
    distances = 1 / (1e-3 + similarity[np.triu_indices(len(labels), 1)])
    return tuple(
        map(int, leaves_list(optimal_leaf_ordering(linkage(distances, "average"), distances)))
    )

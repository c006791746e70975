"""Diagnosis of an evaluation: everything that its page shows, as plain data, collected batch by
batch.

An error log records outcomes of all documents and examples of some; its `diagnose` adds what the
model tells of them.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from nbtext.documents.batch import Batch
from nbtext.evaluation.bootstrap import Estimate, by_text, compute_intervals
from nbtext.evaluation.curves import (
    AnsweredPart,
    ReliabilityBin,
    TradeOff,
    list_bins,
)
from nbtext.evaluation.evaluator import Evaluation, Evaluator, MultilabelEvaluator
from nbtext.evaluation.outcomes import (
    MultilabelOutcomes,
    Outcomes,
    PredictedBatch,
    mark_true,
    true_sets,
)
from nbtext.model.fitted_model import TrainedModel
from nbtext.records import Strings

if TYPE_CHECKING:
    from nbtext.model.explanation import Explainer, Explanation
    from nbtext.model.inspection import Inspection

MAX_CELLS_WITH_EXAMPLES = 1 << 11  # of the confusion matrix that have examples
# examples of a cell, mistakes, and documents with wrong label sets
N_TOP = 25
# characters of each text that are kept
FOR_WORDS = 2_000
IN_FULL = 200_000
OF_SETS = 400
MAX_CHARTED_LABELS = 100  # in charts and in the confusion matrix: the most frequent ones
TARGETS = (0.8, 0.9, 0.95, 0.98, 0.99, 0.995)  # accuracies of answers
N_PARTS = 120  # points of the trade-off
N_FEATURES = 12  # of each label
MAX_CONFUSED_PAIRS = 12  # of labels
MAX_MISLEADING_WORDS = 10
# words in a larger share of the training documents are not named
COMMON_SHARE = 0.2

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
    texts: Strings = ()
    n_missing: int = 0


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

    def rank_examples(self) -> list[Item]:
        """Return the examples, the highest rank first."""
        return [
            example for *_, example in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)
        ]


class MisleadingWord(NamedTuple):
    """A feature whose mean contribution favors the wrong label.

    documents  Number of examined documents that have the feature.
    log_odds   Mean contribution to the log-odds of the predicted label against the true one, over
               all examined documents.
    """

    feature: str
    documents: int
    log_odds: float


class DirectedConfusion(NamedTuple):
    """Documents of one label for which another one was predicted (one direction).

    words  Those with the largest contributions to the wrong label in the listed documents, without
           the common words that the model tells.
    """

    label: str
    predicted: str
    documents: float
    words: tuple[MisleadingWord, ...] = ()


class ConfusedPair(NamedTuple):
    """Two labels that are confused, the more frequent confusion first."""

    confusions: tuple[DirectedConfusion, DirectedConfusion]

    @property
    def documents(self) -> float:
        return sum(confusion.documents for confusion in self.confusions)


class AccuracyTarget(NamedTuple):
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


class Confusions(NamedTuple):
    """The confusion matrix with examples.

    labels  The labels that are shown, sorted.
    counts  Number of documents in each cell that is not empty, of all labels.
    listed  The most probable examples of each cell.
    pairs   The labels that are confused most often.
    """

    labels: Strings
    counts: tuple[tuple[Cell, float], ...]
    listed: dict[Cell, list[Example]]
    pairs: tuple[ConfusedPair, ...]


class Diagnosis(NamedTuple):
    """An evaluation with details; what is not available is None or empty.

    Attributes
    ----------
    top_features : Inspection, optional
        The features with the largest weights, of the labels that are shown.
    has_names of documents
    """

    evaluation: Evaluation
    intervals: dict[str, Estimate]
    confusions: Confusions
    is_calibrated: bool
    trade_off: tuple[AnsweredPart, ...]
    targets: tuple[AccuracyTarget, ...]
    mistakes: tuple[Mistake, ...]
    top_features: Inspection | None
    has_names: bool


class ErrorLog:
    """Records examples of documents.

    examples  the most probable ones of each cell of the confusion matrix; wrong ones with enough
              text to find misleading words
    mistakes  the wrong ones with the highest probability
    """

    def __init__(self) -> None:
        self.examples: dict[Cell, TopExamples[Example]] = {}
        self.mistakes = TopExamples[Example](N_TOP)
        self.n_documents = 0

    def record(self, batch: PredictedBatch, outcomes: Outcomes) -> None:
        """Record a batch, and its outcomes."""
        predictions = batch.predictions
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
            if cell in self.examples or len(self.examples) < MAX_CELLS_WITH_EXAMPLES:
                kept = self.examples.setdefault(cell, TopExamples(N_TOP))
                kept.add(place, probability, partial(make, FOR_WORDS if is_wrong else 0))
            if is_wrong and batch.columns is not None:
                self.mistakes.add(place, probability, partial(make, IN_FULL))
        self.n_documents += len(predictions)

    def diagnose(
        self,
        evaluation: Evaluation,
        evaluator: Evaluator,
        model: TrainedModel | None = None,
    ) -> Diagnosis:
        """Collect the details of the evaluation of the same predictions.

        Parameters
        ----------
        evaluator : Evaluator
            Has the outcomes of all documents.
        model : TrainedModel, optional
            The model that made the predictions; None: several models, or unknown.
        """
        outcomes = evaluator.outcomes()
        add_up = evaluator.totals_of(outcomes, len(evaluation.labels))
        by_support = sorted(evaluation.per_label, key=lambda score: (-score.support, score.label))
        labels = tuple(sorted(score.label for score in by_support[:MAX_CHARTED_LABELS]))
        trade_off = TradeOff.of(outcomes)
        targets = tuple(
            AccuracyTarget(accuracy, trade_off.at_accuracy(accuracy)) for accuracy in TARGETS
        )
        mistakes = []
        top_features = None
        explainer = None
        if model is not None:
            from nbtext.model.explanation import Explainer
            from nbtext.model.inspection import inspect_model

            known = set(model.fitted.labels)
            explainer = Explainer(model.fitted)
            top_features = inspect_model(
                model, n_features=N_FEATURES, labels=[label for label in labels if label in known]
            )
            for example in self.mistakes.rank_examples():
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
            intervals=compute_intervals(evaluator.metrics, *by_text(outcomes, add_up)),
            confusions=self._confusions(
                add_up(np.arange(len(outcomes))).cells(evaluation.labels), labels, model, explainer
            ),
            is_calibrated=model is not None and model.fitted.calibration.temperature is not None,
            trade_off=trade_off.parts(N_PARTS),
            targets=targets,
            mistakes=tuple(mistakes),
            top_features=top_features,
            has_names=bool(self.examples),
        )

    def _confusions(
        self,
        counts: dict[Cell, float],
        labels: Strings,
        model: TrainedModel | None,
        explainer: Explainer | None,
    ) -> Confusions:
        both: dict[tuple[str, str], float] = defaultdict(int)
        for (label, predicted), count in counts.items():
            if predicted is not None and predicted != label:
                both[min(label, predicted), max(label, predicted)] += count
        listed = {cell: each.rank_examples() for cell, each in self.examples.items()}
        pairs = []
        common = find_common_words(model) if model is not None else frozenset[str]()
        known = set(model.fitted.labels if model is not None else ())
        for one, other in sorted(both, key=lambda pair: (-both[pair], pair))[:MAX_CONFUSED_PAIRS]:
            confusions = []
            for cell in sorted(((one, other), (other, one)), key=lambda cell: -counts.get(cell, 0)):
                words: tuple[MisleadingWord, ...] = ()
                documents = [each for each in listed.get(cell, []) if each.texts]
                if explainer is not None and documents and known.issuperset(cell):
                    words = _find_misleading_words(explainer, common, cell, documents)
                confusions.append(DirectedConfusion(*cell, counts.get(cell, 0), words))
            pairs.append(ConfusedPair((confusions[0], confusions[1])))
        return Confusions(labels, tuple(sorted(counts.items(), key=str)), listed, tuple(pairs))


def _example(
    identity: str, cell: Cell, probability: float, texts: Strings, n_characters: int
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
            sums[part.feature] += part.log_odds
            n_documents[part.feature] += 1
    n = len(documents)
    misleading = [word for word in sums if sums[word] > 0 and word not in common]
    largest = sorted(misleading, key=lambda word: (-sums[word], word))[:MAX_MISLEADING_WORDS]
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
    correct: Strings
    added: Strings
    missed: Strings
    gap: float
    text: str


class SetDiagnosis(NamedTuple):
    """An evaluation of several labels with details.

    intervals    Of the metrics that single documents determine, by name.
    worst        The documents with the largest gap, the largest first.
    reliability  Bins of all pairs of a document and a label, by probability.
    """

    evaluation: Evaluation
    intervals: dict[str, Estimate]
    worst: tuple[SetExample, ...]
    reliability: tuple[ReliabilityBin, ...]


class SetLog:
    """Records examples of documents with several labels."""

    def __init__(self) -> None:
        self._worst = TopExamples[SetExample](N_TOP)
        self._n_documents = 0

    def record(self, batch: PredictedBatch, _: MultilabelOutcomes) -> None:
        """Record a batch, and its outcomes."""
        predictions = batch.predictions
        # the probabilities of an unread document are 0
        gaps = (
            np.abs(mark_true(predictions) - np.nan_to_num(predictions.probabilities))
            .max(axis=1, initial=0.0)
            .tolist()
        )
        for row, (true, predicted) in enumerate(
            zip(true_sets(predictions), predictions.labels, strict=True)
        ):
            if (
                set(true) == set(predicted) or not predictions.ids[row]
            ):  # counts alone have no names
                continue
            text = " · ".join(column[row] for column in batch.columns or ())
            correct = tuple(label for label in predicted if label in true)
            added = tuple(label for label in predicted if label not in true)
            missed = tuple(label for label in true if label not in predicted)
            make = partial(
                SetExample, predictions.ids[row], correct, added, missed, gaps[row], text[:OF_SETS]
            )
            self._worst.add(self._n_documents + row, gaps[row], make)
        self._n_documents += len(predictions)

    def diagnose(
        self, evaluation: Evaluation, evaluator: MultilabelEvaluator, *_: object
    ) -> SetDiagnosis:
        """Collect the details of the evaluation of the same predictions; see
        `ErrorLog.diagnose`.
        """
        outcomes = evaluator.outcomes()
        add_up = evaluator.totals_of(outcomes, len(evaluation.labels))
        intervals = compute_intervals(evaluator.metrics, *by_text(outcomes, add_up))
        worst = tuple(self._worst.rank_examples())
        return SetDiagnosis(evaluation, intervals, worst, list_bins(evaluator.bins.sum(axis=1)))

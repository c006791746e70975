"""Trained models side by side: asked about the same documents, and whether the better one could be so by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.classifier.folding import OnBatch, answered, check_fields
from nbtext.classifier.predictions import Predictions
from nbtext.classifier.text_classifier import TextClassifier
from nbtext.documents.batch import Batch
from nbtext.documents.source import Source
from nbtext.errors import SettingsError
from nbtext.evaluation.metrics import Evaluation, Judge
from nbtext.evaluation.outcomes import LEAST_PROBABILITY
from nbtext.evaluation.resampling import bias_corrected, resampled
from nbtext.features.analyzer import has_own_pattern

FIGURES = ("accuracy", "macro_f1", "log_loss")


class Contestant(NamedTuple):
    """A trained model, and what it is called."""

    name: str
    classifier: TextClassifier
    size: int | None = None  # bytes of its file, where it has one


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and where it lies with a confidence of 95 % on other documents of the same kind."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model is worth on the documents that all were asked about."""

    name: str
    model: str
    learned: int  # documents
    n_features: int
    size: int | None
    seconds: float  # that its answers took one core
    accuracy: Figure
    macro_f1: Figure
    log_loss: Figure


@dataclass(frozen=True, slots=True)
class Duel:
    """Two models: the figures of the second less those of the first."""

    first: str
    second: str
    accuracy: Figure
    macro_f1: Figure
    log_loss: Figure
    first_alone: int  # documents that only the first answers right
    second_alone: int
    p_value: float  # of McNemar's test


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Trained models on the same documents."""

    documents: int
    labels: tuple[str, ...]  # of the documents and of all models
    verdicts: tuple[Verdict, ...]
    duels: tuple[Duel, ...]  # each pair of them


def side_by_side(
    contestants: Sequence[Contestant],
    source: Source,
    *,
    clock: Callable[[], float],
    jobs: int = 1,
    seed: int = 1,
    on_batch: OnBatch | None = None,
) -> SideBySide:
    """Ask several models about every document of a source, which is read once.

    Memory holds the models, and a few numbers for each document and model.

    clock   the seconds that the thread has worked
    seed    of the bootstrap
    raises  InputError: a document has no label; SettingsError: there are no two models, or they know other text fields
    """
    if len(contestants) < 2:
        raise SettingsError("one model has nothing to be compared with", where="-m", hint="name another one")
    for contestant in contestants:
        check_fields(contestant.classifier.features.fields, source.field_names)
    witnesses = [_Witness() for _ in contestants]

    def ask(batch: Batch) -> list[tuple[Predictions, float]]:
        found = []
        for contestant in contestants:
            before = clock()
            found.append((contestant.classifier.predict_batch(batch), clock() - before))
        return found

    classifiers = [contestant.classifier for contestant in contestants]
    jobs = 1 if any(has_own_pattern(classifier.features) for classifier in classifiers) else jobs
    largest = max(classifiers, key=lambda classifier: len(classifier.labels))
    for answers in answered(ask, largest, source, jobs=jobs, on_batch=on_batch):
        for witness, (predictions, seconds) in zip(witnesses, answers, strict=True):
            witness.add(predictions, seconds)
    return _judged(contestants, witnesses, seed)


class _Witness:
    """Notes what a model answers, a few numbers a document."""

    def __init__(self) -> None:
        self.judge, self.seconds = Judge(), 0.0
        self._places: dict[str | None, int] = {}
        self._true: list[int] = []
        self._answers: list[int] = []
        self._losses: list[Floats] = []

    def add(self, predictions: Predictions, seconds: float) -> None:
        self.judge.add(predictions)
        self.seconds += seconds
        places = {label: place for place, label in enumerate(predictions.classes)}
        own = np.array([places.get(label or "", -1) for label in predictions.true_labels], dtype=np.int64)
        # a document that could not be read is a uniform guess
        probabilities = np.nan_to_num(predictions.probabilities, nan=1 / len(predictions.classes))
        of_true = np.where(own >= 0, probabilities[np.arange(len(own)), own], 0.0)
        self._losses.append(-np.log(np.maximum(of_true, LEAST_PROBABILITY)))
        for labels, noted in ((predictions.true_labels, self._true), (predictions.labels, self._answers)):
            noted += [self._places.setdefault(label, len(self._places)) for label in labels]

    def outcomes(self, evaluation: Evaluation) -> _Outcomes:
        true, answers, width = np.array(self._true), np.array(self._answers), len(self._places)
        pairs, numbers = np.unique(true * width + answers, return_inverse=True)
        counted = np.array([label is not None for label in self._places])
        return _Outcomes(
            true == answers,
            np.concatenate(self._losses),
            np.divmod(pairs, width),
            numbers,
            counted,
            len(evaluation.labels),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Outcomes:
    """What became of each document under one model."""

    is_right: NDArray[np.bool_]
    losses: Floats
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]  # labels, and what documents of them were answered
    numbers: NDArray[np.int64]  # the pair of each document
    is_label: NDArray[np.bool_]  # of what was answered: that it was no silence
    n_labels: int  # that the model or the documents know

    def figures(self, drawn: NDArray[np.int64]) -> tuple[float, float, float]:
        """Accuracy, macro F1 and log-loss of some of the documents."""
        (true, answers), width = self.pairs, len(self.is_label)
        counts = np.bincount(self.numbers[drawn], minlength=len(true))
        right = np.bincount(true, counts * (true == answers), width)
        both = np.bincount(true, counts, width) + np.bincount(answers, counts, width)
        f1 = np.divide(2 * right, both, out=np.zeros(width), where=(both > 0) & self.is_label)
        return float(self.is_right[drawn].mean()), float(f1.sum() / self.n_labels), float(self.losses[drawn].mean())


def _judged(contestants: Sequence[Contestant], witnesses: Sequence[_Witness], seed: int) -> SideBySide:
    evaluations = [witness.judge.evaluation() for witness in witnesses]
    outcomes = [witness.outcomes(evaluation) for witness, evaluation in zip(witnesses, evaluations, strict=True)]
    n = evaluations[0].documents

    def statistic(drawn: NDArray[np.int64]) -> list[float]:
        return [figure for each in outcomes for figure in each.figures(drawn)]

    values = np.reshape(statistic(np.arange(n)), (len(outcomes), len(FIGURES)))
    replicates = resampled(n, statistic, np.random.default_rng(seed)).reshape(-1, *values.shape)
    verdicts = []
    for k, (name, classifier, size) in enumerate(contestants):
        learned, n_features = classifier.tally_.statistics.n_documents, classifier.reading_.scorer.n_features
        about = (name, classifier.modelling.model, learned, n_features, size, witnesses[k].seconds)
        verdicts.append(Verdict(*about, *_figures(values[k], replicates[:, k])))
    duels = []
    for a, b in combinations(range(len(outcomes)), 2):
        alone = outcomes[a].is_right & ~outcomes[b].is_right, outcomes[b].is_right & ~outcomes[a].is_right
        first_alone, second_alone = (int(each.sum()) for each in alone)
        accuracy, macro_f1, log_loss = _figures(values[b] - values[a], replicates[:, b] - replicates[:, a])
        duels.append(
            Duel(
                contestants[a].name, contestants[b].name, accuracy, macro_f1, log_loss,
                first_alone, second_alone, mcnemar(first_alone, second_alone),
            )
        )  # fmt: skip
    labels = sorted({label for evaluation in evaluations for label in evaluation.labels})
    return SideBySide(n, tuple(labels), tuple(verdicts), tuple(duels))


def _figures(values: Floats, replicates: Floats) -> list[Figure]:
    pairs = zip(values.tolist(), replicates.T, strict=True)
    return [Figure(value, *bias_corrected(value, found)) for value, found in pairs]


def mcnemar(first_alone: int, second_alone: int) -> float:
    """The probability that two equally good models differ so much in what only one of them answers right, or more.

    Exact at any number, by the binomial distribution, and two-sided.

    source  McNemar, Note on the sampling error of the difference between correlated proportions, 1947
    """
    from scipy.special import bdtr

    n = first_alone + second_alone
    return float(min(1.0, 2 * bdtr(min(first_alone, second_alone), n, 0.5))) if n else 1.0

"""Trained models side by side: asked about the same documents, and whether the better one could be so by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.scorer import Floats
from nbtext.documents.batch import Batch
from nbtext.documents.source import Source
from nbtext.errors import SettingsError
from nbtext.evaluation.bootstrap import ConfusionScores
from nbtext.evaluation.metrics import Judge
from nbtext.evaluation.outcomes import Outcomes, OutcomesSoFar
from nbtext.evaluation.resampling import Statistic, bias_corrected, resampled
from nbtext.features.analyzer import has_own_pattern
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.predictor import Predictions, Predictor
from nbtext.model.source_counting import OnBatch, check_fields
from nbtext.model.source_prediction import map_batches

FIGURES = ("accuracy", "macro_f1", "log_loss")


class Contestant(NamedTuple):
    """A trained model, and what it is called."""

    name: str
    model: TrainedModel
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
        check_fields(contestant.model.fitted.feature_settings.fields, source.field_names)
    witnesses = [_Witness() for _ in contestants]
    predictors = [Predictor(contestant.model.fitted) for contestant in contestants]

    def ask(batch: Batch) -> list[tuple[Predictions, float]]:
        found = []
        for predictor in predictors:
            before = clock()
            found.append((predictor.predict_batch(batch), clock() - before))
        return found

    models = [contestant.model.fitted for contestant in contestants]
    jobs = 1 if any(has_own_pattern(model.feature_settings) for model in models) else jobs
    largest = max(models, key=lambda model: len(model.labels))
    for answers in map_batches(ask, largest, source, jobs=jobs, on_batch=on_batch):
        for witness, (predictions, seconds) in zip(witnesses, answers, strict=True):
            witness.add(predictions, seconds)
    return _judged(contestants, witnesses, seed)


class _Witness:
    """Notes what a model answers, a few numbers a document."""

    def __init__(self) -> None:
        self.judge, self.outcomes, self.seconds = Judge(), OutcomesSoFar(), 0.0

    def add(self, predictions: Predictions, seconds: float) -> None:
        self.judge.add(predictions)  # refuses documents without a label
        self.seconds += seconds
        if len(predictions):
            self.outcomes.add(predictions, [label for label in predictions.true_labels if label is not None])


def _figures_of(outcomes: Outcomes) -> Statistic:
    """What computes accuracy, macro F1 and log-loss of some of the documents."""
    right, losses, scores = outcomes.is_right, outcomes.losses, ConfusionScores(outcomes)

    def figures(drawn: NDArray[np.int64]) -> list[float]:
        macro_f1, _ = scores.f1(drawn)
        return [float(right[drawn].mean()), macro_f1, float(losses[drawn].mean())]

    return figures


def _judged(contestants: Sequence[Contestant], witnesses: Sequence[_Witness], seed: int) -> SideBySide:
    evaluations = [witness.judge.evaluation() for witness in witnesses]
    pairs = zip(witnesses, evaluations, strict=True)
    outcomes = [witness.outcomes.joined(evaluation.labels) for witness, evaluation in pairs]
    figures, n = list(map(_figures_of, outcomes)), evaluations[0].documents

    def statistic(drawn: NDArray[np.int64]) -> list[float]:
        return [figure for of_model in figures for figure in of_model(drawn)]

    values = np.reshape(statistic(np.arange(n)), (len(outcomes), len(FIGURES)))
    replicates = resampled(n, statistic, np.random.default_rng(seed)).reshape(-1, *values.shape)
    verdicts = []
    for k, (name, model, size) in enumerate(contestants):
        learned, n_features = model.counts.statistics.n_documents, model.fitted.scorer.n_features
        about = (name, model.fitted.model_settings.model, learned, n_features, size, witnesses[k].seconds)
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

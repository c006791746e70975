"""Random predictions that are related to the true labels."""

import numpy as np

from nbtext.bayes.scorer import Floats
from nbtext.evaluation.diagnosis import ErrorLog
from nbtext.evaluation.evaluator import Evaluator
from nbtext.evaluation.outcomes import Outcomes, PredictedBatch
from nbtext.model.predictions import Predictions


def probabilities_of(n: int, n_labels: int, seed: int) -> tuple[Floats, list[int]]:
    """Probabilities and true classes that have to do with each other."""
    random = np.random.default_rng(seed)
    true = random.integers(n_labels, size=n)
    scores = random.normal(size=(n, n_labels))
    scores[np.arange(n), true] += 1.5
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=1, keepdims=True), true.tolist()


def predictions_of(probabilities: Floats, true: list[int], *, first: int = 0) -> Predictions:
    """The most probable answers; labels are called a, b, c …"""
    n, n_labels = probabilities.shape
    labels = tuple("abcdefghijklmnopqrstuvwxyz"[:n_labels])
    return Predictions(
        "one",
        labels,
        [f"document {first + row}" for row in range(n)],
        [(labels[k],) for k in probabilities.argmax(axis=1)],
        probabilities,
        np.ones(n),
        [None] * n,
        [(labels[k],) for k in true],
    )


def recorded(n: int, n_labels: int, seed: int = 1) -> tuple[ErrorLog, Evaluator, Floats, list[int]]:
    """An error log and an evaluator of such predictions, in batches of 100."""
    probabilities, true = probabilities_of(n, n_labels, seed)
    error_log = ErrorLog()
    evaluator = Evaluator()
    for start in range(0, n, 100):
        rows = slice(start, start + 100)
        batch = predictions_of(probabilities[rows], true[rows], first=start)
        texts = [f"text of {identity}" for identity in batch.ids]
        error_log.record(PredictedBatch(batch, (texts,)), evaluator.add(batch))
    return error_log, evaluator, probabilities, true


def outcomes_of(n: int, n_labels: int, seed: int = 1) -> Outcomes:
    """The outcomes of such documents."""
    found: Outcomes = recorded(n, n_labels, seed)[1].outcomes()
    return found

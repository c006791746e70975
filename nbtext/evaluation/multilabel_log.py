"""The error log of an evaluation of several labels: outcomes of all documents, and examples of errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from nbtext.evaluation.bootstrap import Estimate, intervals_of
from nbtext.evaluation.error_log import TopExamples
from nbtext.evaluation.evaluator import Evaluation
from nbtext.evaluation.multilabel import MULTILABEL_METRICS, MultilabelOutcomes, join_set_outcomes, sum_outcomes
from nbtext.evaluation.multilabel_evaluator import PairKey, list_pairs, measure_sets
from nbtext.evaluation.outcomes import LabelNumbers, PredictedBatch, mark_true, true_sets
from nbtext.evaluation.reliability import Reliability, ReliabilityBin
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.predictions import Predictions

N_EXAMPLES = 3  # documents of each pair of labels
N_WORST = 25
MAX_PAIRS = 1 << 14  # of labels that have examples
MAX_CHARACTERS = 400  # of the text of an example


@dataclass(frozen=True, slots=True)
class SetExample:
    """A document with its true and its predicted labels.

    added, missed  Labels that are predicted and not true, and those that are true and not predicted.
    gap            The largest distance of a label's probability from the truth, which is 0 or 1.
    text           The beginning of the text; "" if it is not known.
    """

    id: str
    correct: tuple[str, ...]
    added: tuple[str, ...]
    missed: tuple[str, ...]
    gap: float
    text: str


@dataclass(frozen=True, slots=True)
class SetDiagnosis:
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
    """Records outcomes of all documents, and examples of some."""

    def __init__(self, *, min_probability: float = 0.0) -> None:
        self._numbers = LabelNumbers()
        self._parts: list[MultilabelOutcomes] = []
        self._examples: dict[PairKey, list[SetExample]] = {}
        self._worst = TopExamples[SetExample](N_WORST)
        self._reliability = Reliability()
        self._n_documents = 0

    def record(self, batch: PredictedBatch) -> None:
        """Record a batch; InputError if a document has no list of labels."""
        predictions = batch.predictions
        if len(predictions) == 0:
            return
        self._parts.append(measure_sets(predictions, self._numbers))
        gaps = self._measure_gaps(predictions)
        for row, (true, predicted) in enumerate(zip(true_sets(predictions), predictions.labels, strict=True)):
            pairs = list_pairs(true, predicted)
            if not pairs or not predictions.ids[row]:  # counts alone have no names
                continue
            text = " · ".join(column[row] for column in batch.columns) if batch.columns is not None else ""
            make = partial(
                SetExample,
                predictions.ids[row],
                tuple(label for label in predicted if label in true),
                tuple(label for label in predicted if label not in true),
                tuple(label for label in true if label not in predicted),
                gaps[row],
                text[:MAX_CHARACTERS],
            )
            for pair in pairs:
                if pair in self._examples or len(self._examples) < MAX_PAIRS:
                    found = self._examples.setdefault(pair, [])
                    found += [make()] * (len(found) < N_EXAMPLES)
            self._worst.add(self._n_documents + row, gaps[row], make)
        self._n_documents += len(predictions)

    def _measure_gaps(self, predictions: Predictions) -> list[float]:
        """Return the gap of each document, and count its probabilities; those of an unread document are 0."""
        is_true = mark_true(predictions)
        is_read = ~np.isnan(predictions.probabilities)
        self._reliability.add(predictions.probabilities[is_read], is_true[is_read])
        gaps = np.abs(is_true - np.nan_to_num(predictions.probabilities))
        return [float(gap) for gap in gaps.max(axis=1, initial=0.0)]

    def diagnose(
        self,
        evaluation: Evaluation,
        model: TrainedModel | None = None,
        *,
        has_all_probabilities: bool = True,
        seed: int = 1,
    ) -> SetDiagnosis:
        """Collect the details of the evaluation of the same predictions; see `nbtext.evaluation.diagnosis.diagnose`."""
        outcomes = join_set_outcomes(self._parts, self._numbers, evaluation.labels)
        shown = {(pair.kind, pair.label, pair.other) for pair in evaluation.label_pairs or ()}
        return SetDiagnosis(
            evaluation,
            intervals_of(
                MULTILABEL_METRICS, partial(sum_outcomes, outcomes, len(evaluation.labels)), len(outcomes), seed
            ),
            {pair: examples for pair, examples in self._examples.items() if pair in shown},
            tuple(example for _, example in self._worst.rank_examples()),
            self._reliability.bins(),
        )

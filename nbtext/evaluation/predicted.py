"""Predictions to evaluate: of a model, of a file, or of the models of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast

from nbtext.errors import SettingsError
from nbtext.evaluation.cross_validation import cross_validate_source
from nbtext.evaluation.outcomes import PredictedBatch
from nbtext.evaluation.tasks import TASKS
from nbtext.model.predictions import Predictions
from nbtext.model.predictor import MOST_PROBABLE, Predictor
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches
from nbtext.model.task import abstain_below

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch
    from nbtext.documents.source import Source
    from nbtext.evaluation.evaluator import Evaluation
    from nbtext.evaluation.predictions_file import PredictionsFile
    from nbtext.evaluation.settings import FoldSettings
    from nbtext.model.fitted_model import FittedModel


class Recorder(Protocol):
    """Keeps details of the predictions of batches."""

    def record(self, batch: PredictedBatch) -> None: ...


def select_predictions(batches: Iterable[PredictedBatch], recorder: Recorder | None = None) -> Iterator[Predictions]:
    """Yield the predictions of batches, each after the recorder has recorded the batch."""
    for batch in batches:
        if recorder is not None:
            recorder.record(batch)
        yield batch.predictions


def predict_by_model(
    model: FittedModel,
    source: Source,
    *,
    jobs: int,
    decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
) -> Iterator[PredictedBatch]:
    """Predict every document of a source with a trained model, in order, as `predict_source` does."""
    model.task.check(decisions, model.labels)
    predictor = Predictor(model)

    def predict(batch: Batch) -> PredictedBatch:
        TASKS[model.task.name].check(batch)
        scores = predictor.score_batch(batch)
        return PredictedBatch(predictor.predict_batch(batch, decisions, scores), batch.columns, scores.scores)

    return map_batches(predict, model, source, jobs=jobs, on_batch=on_batch)


def evaluate_model(model: FittedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None) -> Evaluation:
    """Return the metrics of a trained model on the labeled documents of a source."""
    evaluator = TASKS[model.task.name].evaluator()
    evaluator.add_all(select_predictions(predict_by_model(model, source, jobs=jobs, on_batch=on_batch)))
    return cast("Evaluation", evaluator.evaluation())


def predict_from_file(
    file: PredictionsFile, source: Source, decisions: DecisionSettings = MOST_PROBABLE
) -> Iterator[PredictedBatch]:
    """Read the predictions for every document of a source from a file.

    Their labels are final: costs do not change them.

    Raises
    ------
    SettingsError
        Prediction sets or thresholds are asked for, which need the model.
    """
    if decisions.threshold or decisions.at_least_one:
        hint = "write the file with nbtext predict --threshold, and leave out --threshold here"
        raise SettingsError(
            "cannot be combined with --predictions, whose labels are final", where="threshold", hint=hint
        )
    if decisions.coverage is not None:
        hint = "write the file with nbtext predict --coverage, and leave out --coverage here"
        raise SettingsError(
            "cannot be combined with --predictions, whose prediction sets are final", where="--coverage", hint=hint
        )
    for batch in source.batches():
        found = file.of(batch)
        TASKS[found.task].check(batch)
        yield PredictedBatch(abstain_below(found, decisions.min_probability), batch.columns)


def predict_by_folds(source: Source, folds: FoldSettings, **settings: Any) -> Iterator[PredictedBatch]:
    """Predict each fold of a source with a model of the others; only counts of documents are kept."""
    return map(PredictedBatch, cross_validate_source(source, folds, **settings))

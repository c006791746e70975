"""Answers with what they are answers to, by whatever gives them: a model, models of folds, or a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.bayes.scorer import Floats
from nbtext.errors import SettingsError
from nbtext.model.predictor import MOST_PROBABLE, Predictions, Predictor, apply_decisions
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch
from nbtext.model.source_prediction import map_batches

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch
    from nbtext.documents.source import Source
    from nbtext.evaluation.predictions_file import PredictionsFile
    from nbtext.evaluation.settings import FoldSettings
    from nbtext.model.fitted_model import FittedModel


class Seen(NamedTuple):
    """Answers, and what they are answers to, as far as it is known."""

    predictions: Predictions
    columns: tuple[list[str], ...] | None = None  # the texts, a list for each separate field
    scores: Floats | None = None  # (n_documents, n_classes), of the model, before they were calibrated


def by_model(
    model: FittedModel,
    source: Source,
    *,
    jobs: int,
    decisions: DecisionSettings = MOST_PROBABLE,
    on_batch: OnBatch | None = None,
) -> Iterator[Seen]:
    """What a model answers to every document of a source, in order, a batch at a time, as `predict_source` does it."""
    if decisions.cost is not None:
        decisions.cost.check(model.labels)

    predictor = Predictor(model)

    def ask(batch: Batch) -> Seen:
        scores = predictor.score_batch(batch)
        return Seen(predictor.predict_batch(batch, decisions, scores), batch.columns, scores.scores)

    return map_batches(ask, model, source, jobs=jobs, on_batch=on_batch)


def by_file(answers: PredictionsFile, source: Source, decisions: DecisionSettings = MOST_PROBABLE) -> Iterator[Seen]:
    """What was answered before; labels were decided for already, so that costs decide nothing.

    raises  SettingsError: sets of labels are asked for, which a model alone can choose
    """
    if decisions.coverage is not None:
        hint = "give it to nbtext predict, whose sets are judged"
        raise SettingsError("predictions made before have their sets already", where="--coverage", hint=hint)
    decisions = replace(decisions, cost=None)
    for batch in source.batches():
        yield Seen(apply_decisions(answers.of(batch), None, decisions), batch.columns)


def by_folds(source: Source, dealing: FoldSettings, **settings: Any) -> Iterator[Seen]:
    """What models of the other folds answer to the documents of each, which are kept as counts alone."""
    from nbtext.evaluation.cross_validation import cross_validated

    return map(Seen, cross_validated(source, dealing, **settings))

"""Cross-validation from one reading of the text: each fold is taken out of the counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.settings import ModelSettings
from nbtext.evaluation.settings import FoldSettings
from nbtext.evaluation.splits import assign_folds
from nbtext.features.document_counts import DocumentCounts
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitting import check_hashing, fit_model, over_vocabulary, sample_size
from nbtext.model.predictor import MOST_PROBABLE, Predictions, apply_decisions
from nbtext.model.settings import DecisionSettings
from nbtext.model.source_counting import OnBatch, count_source
from nbtext.model.source_prediction import MOST_PROBABILITIES
from nbtext.parallel import parallel_map

if TYPE_CHECKING:
    from nbtext.documents.source import Source

CALIBRATED = 4096  # documents of the other folds that a calibration is fitted to, for three numbers ten times over


def cross_validate(
    tally: CorpusCounts,
    folds: NDArray[np.int64],
    *,
    features: FeatureSettings,
    modelling: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    is_forward: bool = False,
    jobs: int = 1,
) -> Iterator[Predictions]:
    """What models trained on the other folds say of each fold, smoothing and calibration chosen by the others alone.

    With `is_forward` the others are those before it, and the first fold is not judged.

    Vocabulary, limits, selection and weights are of the others alone, as if they had been read by themselves. Of more
    than 4,096 documents, the calibration is fitted to so many; all else is as in training.

    tally  with every document in its sample
    folds  (n_documents,), the fold of each document of the sample
    """
    everything = over_vocabulary(tally, features)
    n_looked_at = _looked_at(features, modelling, decisions)
    has_own_words = tally.vocabulary is not None and features.vocabulary is None

    def of_fold(fold: int) -> Iterator[Predictions]:
        is_held_out = folds == fold
        training = everything.without(folds >= fold if is_forward else is_held_out, sample_size=n_looked_at)
        held_out = everything.sample.take(np.flatnonzero(is_held_out))
        if has_own_words:
            seen = np.flatnonzero(np.diff(training.statistics.indptr))
            training = training.restricted(seen)
            held_out = held_out.restrict(seen, everything.statistics.n_features)
        return tried(training, held_out, tally.labels, features=features, modelling=modelling, decisions=decisions)

    numbers = iter(np.unique(folds).tolist()[is_forward:])
    if len(folds) * len(tally.labels) > MOST_PROBABILITIES or jobs == 1:  # one after the other, in little memory
        yield from chain.from_iterable(map(of_fold, numbers))
    else:
        yield from chain.from_iterable(parallel_map(lambda fold: list(of_fold(fold)), numbers, jobs=jobs))


def _looked_at(features: FeatureSettings, modelling: ModelSettings, decisions: DecisionSettings) -> int | None:
    """How many documents of the training sample leave-one-out looks at: as many as in training where it takes all of
    them to decide or to cover, else enough for the smoothing (which is the same) and for a calibration.
    """
    size = sample_size(features, modelling)
    is_plain = modelling.optimize is None and decisions.coverage is None
    return min(size, CALIBRATED) if size is not None and is_plain else size


def tried(
    training: CorpusCounts,
    held_out: DocumentCounts,
    labels: tuple[str, ...],
    *,
    features: FeatureSettings,
    modelling: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
) -> Iterator[Predictions]:
    """What a model of a tally says of other documents over its features.

    labels  what the classes of the other documents are called
    """
    reading = fit_model(training, features, modelling)
    if reading.columns is not None:
        held_out = held_out.restrict(reading.columns, training.statistics.n_features)
    for part in held_out.split(max(1, MOST_PROBABILITIES // len(training.labels))):
        found = reading.log_probabilities(part)
        answers = _predictions(
            found, reading.calibration.decide(found), training.labels, [labels[k] for k in part.classes]
        )
        yield apply_decisions(answers, reading.calibration, decisions)


def _predictions(
    log_probabilities: NDArray[np.float64], chosen: NDArray[np.int64], labels: tuple[str, ...], true_labels: list[str]
) -> Predictions:
    n = len(true_labels)
    return Predictions(
        [""] * n,
        [labels[k] for k in chosen],
        labels,
        np.exp(log_probabilities),
        np.ones(n),
        [None] * n,
        [None] * n,
        list(true_labels),
        chosen,
    )


def cross_validated(
    source: Source,
    dealing: FoldSettings,
    *,
    features: FeatureSettings,
    modelling: ModelSettings,
    decisions: DecisionSettings = MOST_PROBABLE,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
) -> Iterator[Predictions]:
    """Read a source once, deal its documents out to folds, and predict each fold from the others."""
    check_hashing(features, modelling)
    features = replace(features, fields=source.field_names)
    tally = count_source(source, features, jobs=jobs, sample_size=None, on_batch=on_batch)
    if decisions.cost is not None:
        decisions.cost.check(tally.labels)
    folds = assign_folds(tally.sample, dealing)
    yield from cross_validate(
        tally,
        folds,
        features=features,
        modelling=modelling,
        decisions=decisions,
        is_forward=dealing.order_field is not None,
        jobs=jobs,
    )

"""Updating, forgetting, merging, calibrating and refitting models, all without the earlier texts.

Every function returns a new model and does not change the given one, so an error has no effect on
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from nbtext.bayes.class_statistics import are_exact
from nbtext.bayes.diagnostics import Hyperparameters
from nbtext.bayes.event_models import EVENT_MODELS
from nbtext.bayes.settings import AUTO, ModelSettings
from nbtext.bayes.smoothing import LAPLACE, Selection
from nbtext.documents.batch import Batch
from nbtext.documents.fields import MAX_CHARACTERS_OF_EACH, MAX_LABELS_SHOWN
from nbtext.documents.settings import UNKNOWN_INPUT
from nbtext.documents.source import Source
from nbtext.errors import InputError, ModelError, list_some
from nbtext.features.document_table import DocumentTable
from nbtext.features.matrix_counter import name_numbered, require_counts
from nbtext.features.vocabulary import Vocabulary
from nbtext.model.corpus_counts import ALL_HASHES, SAMPLE_SIZE, CorpusCounts
from nbtext.model.fitted_model import (
    MAX_LABEL_COLUMNS,
    FittedModel,
    TrainedModel,
    are_columns,
    are_labels_of,
    check_same_settings,
    make_trained_model,
    parts_fitted_to_documents,
)
from nbtext.model.fitting import fit, fit_model, prepare
from nbtext.model.source_counting import (
    OnBatch,
    check_fields,
    count_source,
    label_numbered,
    set_single_labels,
)
from nbtext.model.training import needs_all_documents, sample_size

# the share of the retained sample that leave-one-out needs to select smoothing and calibration
MIN_SAMPLE_SHARE = 0.5


def update_source(
    model: TrainedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> TrainedModel:
    """Return the model after training on all documents of a source too; new words and labels are
    added.

    Raises
    ------
    InputError
        A document cannot be read, or has no label.
    ModelError
        The model cannot be updated.
    """
    check_growth(model)
    counts = count_documents(
        model, source, jobs=jobs, sample_size=growth_sample_size(model), on_batch=on_batch
    )
    return update_with_counts(model, counts, jobs=jobs)


def forget_source(
    model: TrainedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> TrainedModel:
    """Return the model without the documents of a source; words and labels that no other document
    has are removed.

    Raises
    ------
    InputError
        A document cannot be read, or has no label.
    ModelError
        The counts show that the model was not trained on a document, or the model cannot forget.
    """
    check_growth(model)
    check_whole(model)
    size = None if model.counts.sample_size != 0 else 0
    return forget_counts(
        model,
        count_documents(model, source, jobs=jobs, sample_size=size, on_batch=on_batch),
        jobs=jobs,
    )


def calibrate_source(
    model: TrainedModel, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> TrainedModel:
    """Return the model with its smoothing and calibration fitted to the documents of a source; see
    `calibrate_model`.

    Raises
    ------
    InputError
        A document cannot be read, or has no label.
    ModelError
        The model lacks a label of the documents.
    """
    counts = count_documents(model, source, jobs=jobs, sample_size=SAMPLE_SIZE, on_batch=on_batch)
    return calibrate_model(model, counts, jobs=jobs)


def update_with_counts(model: TrainedModel, counts: CorpusCounts, *, jobs: int = 1) -> TrainedModel:
    """Return the model after training on more counts, made with the same settings; see
    `update_source`.
    """
    check_growth(model)
    return _fit_again(model, model.counts + counts, model, jobs)


def forget_counts(model: TrainedModel, counts: CorpusCounts, *, jobs: int = 1) -> TrainedModel:
    """Return the model without some counts, made with the same settings; see `forget_source`.

    counts  retain all of their documents if the model retains a sample
    """
    check_growth(model)
    check_whole(model)
    rest = model.counts - counts
    if rest.statistics.n_documents == 0:
        raise ModelError("no document would remain in the model", hint="delete the model instead")
    return _fit_again(model, rest, model, jobs)


def merge_models(
    models: Sequence[TrainedModel], *, names: Sequence[str] = (), jobs: int = 1
) -> TrainedModel:
    """Return a model that is trained on the documents of all models; one model is returned as it
    is.

    Parameters
    ----------
    names
        The names of the models in error messages.

    Raises
    ------
    ModelError
        The models have different settings, or cannot be updated.
    """
    first, *others = models
    if not others:
        return first
    for number, other in enumerate(others, 1):
        with locate_error(" and ".join((names[0], names[number])) if names else ""):
            check_same_settings(first, other)
    for number, model in enumerate(models):
        with locate_error(names[number] if names else ""):
            check_growth(model)
            check_whole(model)
    largest = max(models, key=_size)
    columns = [model.fitted.label_columns for model in models]
    n_columns = None if None in columns else max(map(int, filter(None, columns)))
    first = replace(first, fitted=replace(first.fitted, label_columns=n_columns))
    if len({model.fitted.input for model in models}) > 1:
        first = replace(first, fitted=replace(first.fitted, input=UNKNOWN_INPUT))
    return _fit_again(first, reduce(add, (model.counts for model in models)), largest, jobs)


@contextmanager
def locate_error(where: str) -> Iterator[None]:
    """Add the names of the models to a ModelError."""
    try:
        yield
    except ModelError as error:
        raise error.locate(where) from None


def calibrate_model(model: TrainedModel, counts: CorpusCounts, *, jobs: int = 1) -> TrainedModel:
    """Return the model with its smoothing and calibration fitted to the retained documents of some
    counts.

    A document that the model may have been trained on is left out of its counts before it is
    scored. A document that cannot be in its training set is scored without this. So is every
    document if documents have weights, as after EM, because the weight of each is not known.
    """
    check_growth(model)
    hint = "train it with ‹keep_sample› N, and update or merge calibrate it again; or train it on all documents"
    model.fitted.check_one_label("be calibrated after training", hint)
    features = model.fitted.feature_settings
    settings = model.fitted.model_settings
    if needs_all_documents(features, settings):
        raise ModelError(
            "only Naive Bayes models of counts can be calibrated after training",
            hint="train it again",
        )
    hint = "add documents of it with nbtext update"
    judged = replace(
        model.counts,
        sample=align_sample(counts, model.counts.labels, model.counts.vocabulary, hint),
    )
    statistics = model.counts.statistics
    is_new = ~statistics.may_hold(judged.sample) | statistics.is_fractional
    given = prepare(judged, features, settings, jobs=jobs)
    fitted = fit(replace(given, is_new=is_new, is_model_selected=model.fitted.is_model_selected))
    is_training = counts.statistics.n_documents == statistics.n_documents and not is_new.any()
    fitted = replace(fitted, trained=counts.trained_hashes if is_training else model.fitted.trained)
    return _succeed(_keep_choice(fitted, model.fitted), model.fitted, model.counts)


def refit(model: TrainedModel, changes: Mapping[str, Any], *, jobs: int = 1) -> TrainedModel:
    """Return another model that is fitted to the same counts, without any text.

    The new model does not use unlabeled documents. If the model retains no documents, leave-one-out
    has none to score: then the smoothing is kept, and there is no calibration. A model that does
    not change is returned as it is.

    Parameters
    ----------
    changes
        New values of fields of ModelSettings; the others stay as they are, as far as they apply to
        the new model.

    Raises
    ------
    ModelError
        The new model needs the counts of each document.
    SettingsError
        The settings do not fit together.
    """
    earlier = model.fitted
    is_semi_supervised = earlier.unlabeled is not None
    counts = model.counts.drop_unused_features() if is_semi_supervised else model.counts
    before = earlier.model_settings
    retains_choice = not len(counts.sample) and "model" not in changes
    features, requested = earlier.requested_settings
    if retains_choice:
        features = earlier.feature_settings
    elif "model" not in changes:
        before = requested
    if changes.get("prior") is not None:
        before = replace(before, class_weight=None)  # the prior replaces the weights of classes
    settings = replace(
        _applicable_settings(before, str(changes.get("model", before.model))), **changes
    )
    if needs_all_documents(features, settings) and not counts.has_all_documents:
        raise ModelError(
            f"{settings.model} needs the counts of each document, which the model file does not hold",
            hint="train it on the texts",
        )
    if len(counts.sample):
        fitted = fit_model(counts, features, settings, jobs=jobs)
        return _succeed(fitted, earlier, counts)
    earlier.task.check_settings(features, settings)
    if retains_choice and settings == earlier.model_settings and not is_semi_supervised:
        return model
    wanted = {
        "thresholds": "thresholds" in earlier.task.parts,
        "‹model=auto›": settings.model == AUTO,
        "‹optimize›": settings.optimize is not None,
        "‹min_recall› or ‹min_precision›": settings.targets,
    }
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise ModelError(
                "needs retained documents, and the model has none",
                where=name,
                hint="train with ‹keep_sample›, or on the texts",
            )
    smoothing = settings.smoothing
    if smoothing is None:
        is_alike = _share_smoothing(before.model, settings.model)
        smoothing = earlier.hyperparameters.smoothing if is_alike else LAPLACE
    selection = Selection(Hyperparameters(smoothing))
    fitted = fit_model(counts, features, settings, jobs=jobs, selection=selection)
    fitted = _keep_choice(fitted, earlier) if retains_choice else fitted
    parts = tuple(parts_fitted_to_documents(fitted))
    fitted = replace(fitted, approximate=parts, trained=earlier.trained)
    return _succeed(fitted, earlier, counts)


def _applicable_settings(before: ModelSettings, name: str) -> ModelSettings:
    """Return the settings of a model, as far as they apply to the model of another name."""
    if name == before.model:
        return before
    kept = [
        "calibrate",
        "optimize",
        "min_recall",
        "min_precision",
        "confidence",
        "keep_sample",
    ]
    if _share_smoothing(before.model, name):
        kept += ["smoothing", "prior", "class_weight"]
    return ModelSettings(model=name, **{field: getattr(before, field) for field in kept})


def _share_smoothing(*names: str) -> bool:
    """Return whether smoothing and prior have the same meaning in these models."""
    return all(
        name == AUTO or (name in EVENT_MODELS and EVENT_MODELS[name].has_pseudo_counts)
        for name in names
    )


def check_whole(model: TrainedModel) -> None:
    """Raise ModelError if documents count by probabilities of labels, which are not stored."""
    if model.counts.statistics.is_fractional:
        raise ModelError(
            "the model counts documents by probabilities of labels (‹keywords›), which it does not store",
            hint="train it again without the documents",
        )


def growth_sample_size(model: TrainedModel) -> int | None:
    """Return how many documents counts must retain to be added to those of a model."""
    if model.counts.sample_size == 0:
        return 0
    return sample_size(model.fitted.feature_settings, model.fitted.model_settings)


def check_growth(model: TrainedModel) -> None:
    """Raise ModelError unless the model's counts can be added to, and subtracted from, exactly."""
    settings = model.fitted.model_settings
    again = "train it again on all documents"
    if model.fitted.unlabeled is not None:
        raise ModelError(
            "the model was also trained on unlabeled documents, whose counts it does not store",
            hint=f"{again}, or first fit the labeled documents alone: nbtext train MODEL -o ANOTHER",
        )
    cannot = "documents cannot be added to or removed from"
    names = [part.model for part in model.fitted.hyperparameters.parts if part.C is not None]
    if settings.is_linear or names:
        name = " with ".join([settings.model, *names[:1]])
        raise ModelError(
            f"{cannot} {name} models, which are not fitted to sums of counts", hint=again
        )
    counts = model.counts
    if not counts.statistics.knows_documents:
        raise ModelError(
            f"{cannot} this model of a scikit-learn pipeline, which does not store how many documents contain a word",
            hint="train on the texts, or convert a pipeline of binary counts",
        )
    if not are_exact(counts.statistics.occurrences) and not counts.statistics.is_fractional:
        raise ModelError(
            f"{cannot} a model of a matrix of weights, whose sums are not exact", hint=again
        )
    if (
        needs_all_documents(model.fitted.feature_settings, settings)
        and not counts.has_all_documents
    ):
        is_of_model = settings.event_model.sufficient_statistics is not None
        cause = (
            f"‹model={settings.model}›"
            if is_of_model
            else "a norm, or relative or log term frequencies,"
        )
        raise ModelError(
            f"a model with {cause} needs the counts of each document, and this one does not retain all documents",
            hint=f"{again}, with ‹keep_sample› N, where N is at least the number of documents",
        )


def _size(model: TrainedModel) -> tuple[float | str, ...]:
    """Return a sort key of models. A merged model keeps the choices of the model with the largest
    key.

    It compares documents, then smoothing. The rest makes the result independent of the order of the
    models.
    """
    fitted = model.fitted
    rest = repr((fitted.model_settings, fitted.feature_settings, fitted.calibration))
    return model.counts.statistics.n_documents, fitted.hyperparameters.smoothing, rest


def count_documents(
    model: TrainedModel,
    source: Source,
    *,
    jobs: int,
    sample_size: int | None,
    on_batch: OnBatch | None,
    name: str = "SOURCE",
) -> CorpusCounts:
    """Return the counts of a source, with the settings of a model; InputError if there are no
    documents.

    name  of the source in this error
    """
    features = model.fitted.feature_settings
    check_fields(features.fields, source.field_names)
    counts = count_source(
        source,
        features,
        jobs=jobs,
        sample_size=sample_size,
        on_batch=on_batch,
        change=partial(_check_growing, model),
    )
    if not counts.statistics.n_documents:
        raise InputError(f"{name} has no labeled documents")
    return counts


def _check_growing(model: TrainedModel, batch: Batch) -> Batch:
    """Return documents that are counted for a model; columns and labels without names get those of
    the model.

    raises  ModelError: they are texts, and the model has columns of a matrix; or rows without all
            of their counts
    """
    fitted = model.fitted
    if fitted.kind.has_one_label:
        set_single_labels(batch)
    if batch.matrix is None:
        fitted.check_takes_texts()
        return batch
    matrix = batch.features
    require_counts(matrix, "a change of a model")
    if not matrix.is_numbered:
        return batch
    is_of_matrix = fitted.input.matrix_columns is not None
    names = model.counts.vocabulary if is_of_matrix else fitted.vocabulary
    batch = replace(batch, matrix=matrix if names is None else name_numbered(matrix, names))
    return batch if is_of_matrix else label_numbered(batch, fitted.labels)


def _fit_again(
    model: TrainedModel, counts: CorpusCounts, earlier: TrainedModel, jobs: int
) -> TrainedModel:
    """Return a model of other counts, with the settings of `model`.

    If the counts retain too few documents for leave-one-out, it has the smoothing and calibration
    of `earlier`.
    """
    # the sample may be the one that counting the same documents at once would retain
    is_own = counts.sample_size != 0 and counts.below == ALL_HASHES
    approximate = [] if is_own else parts_fitted_to_documents(model.fitted)
    is_too_small = len(counts.sample) < MIN_SAMPLE_SHARE * (counts.sample_size or 1)
    if counts.task != model.fitted.task.name:
        raise ModelError(
            "the model gives each document one label, and some documents have several, or none",
            hint="train it again on all documents, or give documents with one label each",
        )
    if approximate and is_too_small:
        known = earlier.fitted
        selection = known.task.transfer(counts.labels, known.hyperparameters)
        features = known.feature_settings
        fitted = fit_model(counts, features, known.model_settings, jobs=jobs, selection=selection)
        fitted = _keep_choice(fitted, known)
    else:
        fitted = fit_model(counts, *model.fitted.requested_settings, jobs=jobs)
    return _succeed(replace(fitted, approximate=tuple(approximate)), model.fitted, counts)


def _succeed(fitted: FittedModel, earlier: FittedModel, counts: CorpusCounts) -> TrainedModel:
    """Return the model of these counts with the label type, the input and the columns of the labels
    of an earlier one.

    Columns are added for new labels.

    raises  ModelError: a new label is not of the earlier type
    """
    for label in fitted.labels:
        if not are_labels_of(earlier.label_type, [label]):
            raise ModelError(
                f"the label {label!r} is not {earlier.label_type}, and the labels of the model are",
                hint="correct it, or train a new model with texts as labels",
            )
    n_columns = earlier.label_columns
    if n_columns is not None and not are_columns(fitted.labels, n_columns):
        is_wider = are_columns(fitted.labels, MAX_LABEL_COLUMNS)
        n_columns = max(map(int, fitted.labels)) + 1 if is_wider else None
    fitted = replace(
        fitted, label_type=earlier.label_type, input=earlier.input, label_columns=n_columns
    )
    return make_trained_model(fitted, counts)


def _keep_choice(fitted: FittedModel, earlier: FittedModel) -> FittedModel:
    """Return the model with the record that the event model of an earlier one was selected."""
    return replace(
        fitted,
        is_model_selected=earlier.is_model_selected,
        is_binary_selected=earlier.is_binary_selected,
    )


def align_sample(
    counts: CorpusCounts, labels: Sequence[str], vocabulary: Vocabulary | None, hint: str
) -> DocumentTable:
    """Return the retained documents over the features and labels of a model, without unknown
    features.

    hint    what to do about an unknown label
    raises  ModelError: the model lacks a label
    """
    places = {label: k for k, label in enumerate(labels)}
    if unknown := [label for label in counts.labels if label not in places]:
        names, known = (
            list_some((repr(label[:MAX_CHARACTERS_OF_EACH]) for label in group), MAX_LABELS_SHOWN)
            for group in (unknown, labels)
        )
        raise ModelError(f"the model has no label {names}; it has {known}", hint=hint)
    classes = np.array([places[label] for label in counts.labels], np.int32)
    sample = counts.sample_over(vocabulary)
    return replace(sample, classes=classes[sample.classes])

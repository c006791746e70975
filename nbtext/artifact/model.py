"""Save and load a trained model as a record of plain data.

The record has the task, the views, the fields of the fitted model, and the counts that it was
fitted to:

    nbtext    the version that wrote the file
    task      its name (`one`, `several`) and its fields: the labels, and what was fitted to
              leave-one-out scores
    views     a list, of one view if the settings name none. A view makes features of texts: the
              settings of all views, and its vocabulary and weighting
    …         the other fields of FittedModel: model_settings, scorer, hyperparameters, input, …
    counts    the fields of CorpusCounts that do not follow from the others; absent in linear models
              without a sample

A file with a task of another name is of a newer nbtext, and the error says so.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np

from nbtext import __version__
from nbtext.arrays import MAX_STORED_NUMBER
from nbtext.artifact import audit
from nbtext.artifact.audit import invalid_value, require
from nbtext.artifact.record import Reader, write
from nbtext.artifact.storage import (
    Record,
    StoredArray,
    assemble,
    load,
    name_errors,
    newer_error,
    open_entries,
    save,
)
from nbtext.bayes.diagnostics import LeaveOneOutEstimate
from nbtext.bayes.scorer import MAX_CODE, LinearScorer
from nbtext.bayes.settings import COMBINED, STACKED, VECTOR_WORDS, ModelSettings
from nbtext.documents.batch import MAX_LABEL_CHARACTERS
from nbtext.errors import MissingExtra, ModelError, SettingsError
from nbtext.features.analyzer import Analyzer
from nbtext.features.csr import running_sums
from nbtext.features.document_table import concatenate
from nbtext.features.settings import FeatureSettings
from nbtext.features.vocabulary import (
    Vocabulary,
    find_views,
    find_words,
    join_views,
    split_views,
)
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import (
    DocumentNumbers,
    FittedModel,
    TrainedModel,
    View,
    are_columns,
    are_labels_of,
    make_trained_model,
)
from nbtext.model.task import Task
from nbtext.model.tasks import TASKS
from nbtext.model.word_pieces import can_divide

OPENED = "the model file"  # in errors, where joblib has read it
HEADER_KEYS = ("checksum", "format", "version", "nbtext", "task", "views", "counts")
# fields of FittedModel
SEPARATE = ("task", "feature_settings", "vocabulary", "weighting", "columns")
# counts of features in labels that a file has of views that nobody asked for
MAX_UNASKED_COUNTS = 1 << 18
DERIVED_COUNTS = ("labels", "sample_size", "weighting", "stored", "chosen_task")


def save_model_file(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Write a model file, completely or not at all; equal models give equal bytes. A model in 8
    bits is compressed.

    The path "-" is standard output. ArtifactError if the model is too large for a model file,
    OutputError if the file cannot be written, TypeError if the model or the path has another type.
    """
    path = _check_path(path)
    if not isinstance(model, TrainedModel):
        raise TypeError(
            f"save_model takes a model, then a path; the first is {type(model).__name__}"
        )
    save(write_model(model), path, is_packed=model.fitted.full_features is not None)


def measure_model(model: TrainedModel) -> int:
    """Return the number of bytes of the file of a model."""
    is_packed = model.fitted.full_features is not None
    return sum(map(len, assemble(write_model(model), is_packed=is_packed)))


def write_model(model: TrainedModel) -> Record:
    """Return a model as plain data."""
    if has_unasked_counts(model):
        model = drop_counts(model)
    fitted = model.fitted
    settings = model.fitted.model_settings
    has_counts = model.load_counts is not None and not (
        settings.is_linear and settings.keep_sample is None
    )
    documents = fitted.documents
    hyperparameters = fitted.hyperparameters
    if not has_counts:
        documents = documents or DocumentNumbers.of(model.statistics)
        hyperparameters = replace(hyperparameters, corrections=None)
    # of the settings
    plain = replace(
        fitted,
        documents=documents,
        hyperparameters=hyperparameters,
        scorer=replace(fitted.scorer, derivation=None),
        # the table is not needed any more, and the name of a file may be private
        model_settings=replace(
            settings, vectors=None, vector_words=VECTOR_WORDS, more_words=(), names=()
        ),
    )
    record = {
        "nbtext": __version__,
        "task": {"name": fitted.task.name, **write(fitted.task)},
        "views": [write(replace(view, settings=fitted.feature_settings)) for view in fitted.views],
        **write(plain, without=SEPARATE),
    }
    if has_counts:
        counts = model.counts
        keep_sample = fitted.model_settings.keep_sample
        names = fitted.feature_settings.view
        # a model that selects its smoothing again needs the empty documents, unless its documents
        # have several labels
        empty = (
            counts.empty_documents
            if keep_sample is not None and fitted.kind.has_one_label
            else None
        )
        empty = None if empty is None else dict(sorted(empty.items()))
        kept = replace(
            counts, sample=counts.sample.smallest(keep_sample or 0), empty=empty
        ).drop_unused_sets()
        derived = (
            DERIVED_COUNTS if keep_sample is not None else (*DERIVED_COUNTS, "sample", "below")
        )
        plain_sample = replace(
            kept.sample, rows=None, groups=None, token_lengths=None, n_tokens=None
        )
        stored = write(replace(kept, sample=plain_sample), without=derived)
        if names and counts.vocabulary is not None:
            stored["vocabulary"] = list(map(write, split_views(counts.vocabulary, names)))
        record["counts"] = stored
    if fitted.scorer.scales is not None:
        record["scorer"]["deltas"] = fitted.scorer.codes
    return record


def has_unasked_counts(model: TrainedModel) -> bool:
    """Return whether the file of a model has no counts, because they are many, and of views that
    nobody asked for.
    """
    fitted = model.fitted
    is_selected = fitted.view_choice is not None and fitted.model_settings.keep_sample is None
    is_counted = is_selected and model.load_counts is not None
    return is_counted and len(model.counts.statistics.classes) > MAX_UNASKED_COUNTS


def drop_counts(model: TrainedModel) -> TrainedModel:
    """Return a combined model without counts, with weights in 8 bits, and without the features that
    one document has, except single words.

    Leave-one-out does not know these features either, so the estimate stays.
    """
    fitted = model.fitted
    statistics = model.counts.statistics
    assert fitted.vocabulary is not None  # of views
    is_kept = statistics.document_frequencies > 1
    is_kept[find_words(fitted.vocabulary, fitted.feature_settings)] = True
    columns = np.flatnonzero(is_kept)
    # what all classes have in common changes no probability
    small = replace(
        fitted,
        scorer=replace(fitted.scorer.restrict(columns).quantize(), base=None, base_scale=None),
        columns=None,
        weighting=fitted.weighting.restrict(columns),
        vocabulary=fitted.vocabulary.restrict(columns),
        documents=DocumentNumbers.of(statistics),
    )
    return make_trained_model(small, None)


def _join_views(views: list[View]) -> View:
    """Return the view of all features of a model, from the stored ones, which have the settings of
    the model.
    """
    settings = views[0].settings
    if len(views) != max(1, len(settings.view)) or any(view.settings != settings for view in views):
        raise invalid_value("views", "should be one for each view of the settings")
    for view in views:
        idf = view.weighting.idf
        vocabulary = view.vocabulary
        if (
            settings.view
            and idf is not None
            and vocabulary is not None
            and len(idf) != len(vocabulary)
        ):
            raise invalid_value("views.weighting.idf", "should have a number for each feature")
    if not settings.view:
        return views[0]
    vocabularies = [view.vocabulary for view in views if view.vocabulary is not None]
    require("views.vocabulary", len(vocabularies) == len(views), "is missing")
    bounds = running_sums(np.array(list(map(len, vocabularies)))).tolist()
    weighting = Weighting.join_views([view.weighting for view in views], bounds)
    return View(settings, join_views(settings.view, vocabularies), weighting)


def load_model_file(path: str | os.PathLike[str], *, is_file: bool = False) -> TrainedModel:
    """Return the model of a file, "-" for standard input; no code of the file is executed.

    Parameters
    ----------
    path
        The model file.
    is_file
        Whether anything but a regular file is refused at once, such as a FIFO, whose writer may
        never come.

    Raises
    ------
    ArtifactError
        The file cannot be read, is not a model, is damaged, or contains invalid numbers.
    TypeError
        The path has another type.
    """
    path = _check_path(path)
    return _read_model(load(path, is_file=is_file), path)


def restore_model(header: Any, data: Any) -> TrainedModel:
    """Return the trained model of the two entries of a model file, which joblib has read; see
    `load_model_file`.
    """
    with name_errors(OPENED):
        record = open_entries(header, data)
    return _read_model(record, OPENED)


def _read_model(record: Record, path: str) -> TrainedModel:
    """Return the trained model of a record; `path` names the file in errors."""
    with name_errors(path):
        fitted = _read_fitted_model(record)
        counts = record.get("counts")
        if "counts" in record and not isinstance(counts, dict):
            raise invalid_value("counts", "should be a section")
        if ("sample" in (counts or {})) != (fitted.model_settings.keep_sample is not None):
            raise invalid_value(
                "counts.sample", "should be stored if, and only if, the settings keep a sample"
            )
        if counts is None and fitted.documents is None:
            raise invalid_value("counts", "is missing, and so is the number of documents")
        stored = [view.get("vocabulary") for view in record["views"]]
        if counts is not None and counts.get("vocabulary") == (
            stored if fitted.feature_settings.view else stored[0]
        ):
            counts["vocabulary"] = fitted.vocabulary  # which was checked

    def load_counts() -> CorpusCounts:
        with name_errors(path):
            return _read_counts(counts or {}, fitted)

    return TrainedModel(fitted, None if counts is None else load_counts)


def _check_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"the path of a model file is a str or os.PathLike, not {type(path).__name__}"
        )
    return os.fsdecode(path)


def _read_fitted_model(record: Record) -> FittedModel:
    reader = Reader()
    for name, kind in (("nbtext", str), ("task", dict), ("views", list)):
        require(name, name in record, "is missing")
        require(name, isinstance(record[name], kind), "has another type")
    task = _read_task(reader, record["task"])
    require("views", bool(record["views"]), "is empty")
    view = _join_views([reader.read_record(View, each, "views") for each in record["views"]])
    rest = {name: value for name, value in record.items() if name not in HEADER_KEYS}
    # its weights are in 8 bits
    if isinstance(rest.get("scorer"), dict) and "scales" in rest["scorer"]:
        codes = rest["scorer"].get("deltas")
        codes = codes.read() if isinstance(codes, StoredArray) else codes
        if not isinstance(codes, np.ndarray) or codes.dtype != np.int8:
            raise invalid_value("scorer.deltas", "should be in 8 bits, because they have scales")
        audit.check_within("scorer.deltas", codes, -MAX_CODE, MAX_CODE)
        rest["scorer"] = rest["scorer"] | {"deltas": codes.astype(np.float64)}
    found = reader.read_fields(FittedModel, rest, "", without=SEPARATE)
    settings = found["model_settings"]
    scorer = found["scorer"]
    derive = None if settings.is_linear else settings.event_model.derivation
    derivation = derive and derive(settings.values)
    if derivation is not None and (scorer.rows is not None or scorer.scales is not None):
        raise invalid_value(
            "scorer.rows and scorer.scales", f"do not belong to {settings.model} models"
        )
    found["scorer"] = scorer = replace(scorer, derivation=derivation)
    try:
        Analyzer(view.settings)
    except MissingExtra:  # without the stemmer, the model can be inspected
        pass
    except SettingsError as error:
        raise invalid_value(
            f"views.settings.{error.where}", f"is not a setting: {error}"
        ) from error
    _check_task(task, view.settings, settings)
    n_scores = task.n_scores
    _check_scorer(scorer, view, n_scores * (derivation.height if derivation is not None else 1))
    if scorer.scales is not None:  # the codes are checked, and the classes
        found["scorer"] = replace(scorer, deltas=scorer.deltas * scorer.scales[scorer.classes])
    width = derivation.width if derivation is not None else 1
    _check_width("scorer", view, scorer.n_columns, width=width)
    idf = view.weighting.idf
    if idf is not None and len(idf) * width != scorer.n_columns:
        raise invalid_value(
            "views.weighting.idf", f"should have {scorer.n_columns // width:,} numbers"
        )
    fitted = FittedModel(
        task=task,
        feature_settings=view.settings,
        vocabulary=view.vocabulary,
        columns=None,
        weighting=view.weighting,
        **found,
    )
    _check_model(fitted)
    return fitted


def _read_task(reader: Reader, stored: Record) -> Task:
    """Return the task of a model."""
    name = str(stored.get("name"))
    if name not in TASKS:
        raise newer_error(f"this one does not know the task {name[:40]!r}")
    labels = reader.read(tuple[str, ...], stored.get("labels"), "task.labels")
    if not labels or any(one >= other for one, other in pairwise(labels)):
        raise invalid_value(
            "task.labels", "should hold at least one label, each once, in sorted order"
        )
    if (longest := max(map(len, labels))) > MAX_LABEL_CHARACTERS:
        raise invalid_value(
            "task.labels",
            f"should have at most {MAX_LABEL_CHARACTERS:,} characters each; one has {longest:,}",
        )
    reader.n_labels = len(labels)
    given = {name: value for name, value in stored.items() if name != "name"}
    return cast(
        "Task", reader.read_record(TASKS[name].load("task"), {**given, "labels": labels}, "task")
    )


def _check_task(task: Any, features: FeatureSettings, settings: ModelSettings) -> None:
    """Raise ArtifactError unless a task fits the settings of training."""
    try:
        task.check_settings(features, settings)
    except SettingsError as error:
        raise invalid_value("task", f"does not fit the settings: {error}") from error
    if "thresholds" in task.parts:
        audit.check_multilabel_fit(task.fit, len(task.labels))
    if not task.belongs_to(settings):
        raise invalid_value("task.fit", f"does not fit {settings.model} models")
    estimate = task.estimate
    if not {label for _, label, _ in settings.targets} <= set(task.labels):
        raise invalid_value("model_settings", "has a target for a label that it does not have")
    if isinstance(estimate, LeaveOneOutEstimate):
        if len(estimate.targets) != len(settings.targets):
            raise invalid_value(
                "task.estimate.targets", "should be one for each target of the settings"
            )
        if estimate.optimized is not None and settings.optimize is None:
            raise invalid_value(
                "task.estimate.optimized", "should be set only if a metric is optimized"
            )


def _check_scorer(scorer: LinearScorer, view: View, n_scores: int) -> None:
    if scorer.bounds is not None:
        vocabulary = view.vocabulary
        names = view.settings.view
        if vocabulary is None or scorer.bounds.tolist() != find_views(vocabulary, names).tolist():
            raise invalid_value("scorer.bounds", "should be those of the views")
    n_views = 1 if scorer.bounds is None else len(scorer.bounds) - 1
    audit.check_rows("scorer.classes", scorer.indptr, scorer.classes, n_columns=n_scores)
    if scorer.rows is not None:
        audit.check_within("scorer.rows", scorer.rows, 0, len(scorer.indptr) - 2)
    lengths = {"bias": n_scores, "default": n_views * n_scores, "deltas": len(scorer.classes)}
    if scorer.scales is not None:
        lengths["scales"] = n_scores
    if scorer.base is not None or scorer.base_scale is not None:
        lengths |= {"base": scorer.n_columns, "base_scale": n_scores}
    for name, n in lengths.items():
        values = getattr(scorer, name)
        if values is None or len(values) != n:
            raise invalid_value(f"scorer.{name}", f"should be {n:,} numbers")
    if scorer.base is not None and scorer.base_scale is not None:
        products = np.abs(scorer.base).max(initial=0) * scorer.base_scale
        audit.check_within("scorer.base_scale", products, -MAX_STORED_NUMBER, MAX_STORED_NUMBER)


def _check_width(key: str, view: View, n_columns: int, *, width: int = 1) -> None:
    """Raise ArtifactError unless there are `width` columns for each feature of the vocabulary, or
    of the hash table.
    """
    vocabulary = view.vocabulary
    hash_bits = view.settings.hash_bits
    expected = width * (len(vocabulary) if vocabulary is not None else 1 << (hash_bits or 0))
    if n_columns != expected or (vocabulary is None) != (hash_bits is not None):
        raise invalid_value(key, f"should have {expected:,} columns, and has {n_columns:,}")


def _check_model(model: FittedModel) -> None:
    """Raise ArtifactError unless the parts of a model fit together."""
    features = model.feature_settings
    settings = model.model_settings
    require(
        "label_type", are_labels_of(model.label_type, model.labels), "does not match the labels"
    )
    if (model.hyperparameters.C is None) == settings.is_linear:
        raise invalid_value("hyperparameters.C", f"does not fit {settings.model} models")
    n_matrix = model.input.matrix_columns
    names = () if model.vocabulary is None or n_matrix is None else model.vocabulary.terms
    if not all(re.fullmatch("[0-9]{1,10}", name) and int(name) < (n_matrix or 0) for name in names):
        raise invalid_value("input.matrix_columns", "does not match the features")
    is_combined = settings.model in (COMBINED, STACKED)
    parts = model.hyperparameters.parts
    if (numbers := model.documents) is not None:
        n_labeled = (sum if model.kind.has_one_label else max)((0, *numbers.of_labels))
        if len(numbers.of_labels) != len(model.labels) or n_labeled > numbers.total:
            raise invalid_value(
                "documents.of_labels", "should be one number for each label, and at most the total"
            )
    # of a stack in which no part tells labels apart, none is left
    has_right = bool(parts) == is_combined or settings.model == STACKED
    if not has_right or not {part.view for part in parts} <= set(features.view or ("",)):
        raise invalid_value(
            "hyperparameters.parts", f"do not fit {settings.model} models of these views"
        )
    n_bytes = -(-model.scorer.n_features // 8)
    if model.untrained is not None and len(model.untrained) != n_bytes:
        raise invalid_value("untrained", f"should have {n_bytes:,} bytes")
    if model.longest_piece is not None and not can_divide(model):
        raise invalid_value("longest_piece", "does not fit the features of the model")
    if model.piece_ranks is not None and len(model.piece_ranks) != model.scorer.n_features:
        raise invalid_value("piece_ranks", "should have a number for each feature")
    if model.trained is not None:
        audit.check_ascending("trained", model.trained)
    n_columns = model.label_columns
    is_matrix = not model.kind.has_one_label and model.label_type == "int"
    if n_columns is not None and not (is_matrix and are_columns(model.labels, n_columns)):
        raise invalid_value("label_columns", "does not match the labels")


def _read_counts(stored: Record, fitted: FittedModel) -> CorpusCounts:
    from nbtext.model.training import sample_size

    reader = Reader()
    settings = fitted.model_settings
    is_kept = settings.keep_sample is not None
    stored = stored if is_kept else {**stored, "sample": concatenate(())}
    if isinstance(parts := stored.get("vocabulary"), list):
        names = fitted.feature_settings.view
        vocabularies = [reader.read(Vocabulary, each, "counts") for each in parts]
        require("counts.vocabulary", len(names) == len(vocabularies), "should be one for each view")
        stored = {**stored, "vocabulary": join_views(names, vocabularies)}
    reader.n_labels = len(fitted.labels)
    found = reader.read_fields(CorpusCounts, stored, "counts", without=DERIVED_COUNTS)
    size = sample_size(fitted.feature_settings, settings) if is_kept else 0
    counts = CorpusCounts(
        labels=fitted.labels, sample_size=size, chosen_task=fitted.task.name, **found
    )
    statistics = counts.statistics
    require("counts.label_sets", counts.task == fitted.task.name, "does not fit the task")
    if (statistics.totals is None) != (counts.label_sets is None):
        raise invalid_value(
            "counts.statistics.totals", "should be stored if, and only if, there are label sets"
        )
    view = View(fitted.feature_settings, counts.vocabulary, fitted.weighting)
    _check_width("counts.statistics", view, statistics.n_features)
    sample = counts.sample
    sets = counts.label_sets
    if any(each is not None for each in (sample.groups, sample.token_lengths, sample.n_tokens)):
        raise newer_error("this one does not know all parts of its sample")
    if not len(sample.classes) == len(sample.hashes) == len(sample) or len(sample.counts) != len(
        sample.indices
    ):
        raise invalid_value("counts.sample", "should have arrays of equal lengths")
    audit.check_ascending("counts.sample.hashes", sample.hashes)
    audit.check_rows(
        "counts.sample.indices",
        sample.indptr,
        sample.indices,
        n_columns=counts.statistics.n_features,
    )
    n_classes = len(counts.sets)
    audit.check_within("counts.sample.classes", sample.classes, 0, n_classes - 1)
    if sets is not None:
        are_sorted = all(one < other for each in sets for one, other in pairwise(each))
        if not are_sorted or not set(counts.labels).issuperset(chain.from_iterable(sets)):
            raise invalid_value("counts.label_sets", "should hold labels of the model, sorted")
        if (
            any(one >= other for one, other in pairwise(sets))
            or len(np.unique(sample.classes)) < n_classes
        ):
            raise invalid_value("counts.label_sets", "should be those of the documents, sorted")
    try:
        if len(sample):
            counts.statistics - counts.count(sample)
    except ModelError:
        raise invalid_value(
            "counts.sample", "should hold documents that the statistics count"
        ) from None
    if counts.empty is not None:
        places = {labels: k for k, labels in enumerate(counts.sets)}
        for labels, n in counts.empty.items():
            if labels not in places or n > statistics.class_documents[places[labels]]:
                raise invalid_value("counts.empty", "should be at most the documents of the class")
    return counts

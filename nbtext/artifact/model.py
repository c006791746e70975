"""A trained model as plain data, and back: what the record of a model holds."""

from __future__ import annotations

import os
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from nbtext import __version__
from nbtext.artifact import audit
from nbtext.artifact.audit import MAX_NUMBER
from nbtext.artifact.record import (
    calibration_of,
    estimate_of,
    hyperparameters_of,
    narrowed,
    sample_of,
    sample_record,
    unlabeled_of,
    unlabeled_record,
)
from nbtext.artifact.storage import FORMAT, VERSION, load, name_errors, save
from nbtext.bayes.class_statistics import MOST_COUNTED, ClassStatistics, log_prior
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.unlabeled import Unlabeled
from nbtext.documents.batch import MAX_LABEL_CHARACTERS
from nbtext.documents.formats import INPUT_UNITS
from nbtext.errors import NbtextError, SettingsError
from nbtext.features.document_counts import concatenate
from nbtext.features.formulas import NORMS, TERM_FREQUENCIES
from nbtext.features.settings import FeatureSettings, find_invalid_field
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import LABEL_TYPES, FittedModel, TrainedModel, are_labels_of
from nbtext.model.fitting import sample_size

Record = dict[str, Any]
ROUNDING = 1 + 1e-9  # counts that have decayed are rounded
Settings = TypeVar("Settings", FeatureSettings, ModelSettings)
KEYS = (
    "format", "version", "nbtext", "features", "given", "model", "labels", "label_type", "class_documents",
    "vocabulary", "statistics", "selected", "weighting", "scorer",
    "hyperparameters", "calibration", "estimate", "approximate", "sample",
    "unlabeled", "input_unit",
)  # fmt: skip


def save_model(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Write a trained model to `path` ("-": standard output), whole or not at all; equal ones as equal bytes."""
    path = _check_path(path)
    if not isinstance(model, TrainedModel):
        raise TypeError(f"save_model takes a model, then a path; the first is {type(model).__name__}")
    tally, reading = model.counts, model.fitted
    statistics, scorer, weighting = tally.statistics, reading.scorer, reading.weighting
    save(
        {
            "format": FORMAT,
            "version": VERSION,
            "nbtext": __version__,
            "features": asdict(replace(model.fitted.feature_settings, vocabulary=None)),
            "given": _vocabulary_record(_given(model.fitted.feature_settings)),
            "model": asdict(model.fitted.model_settings),
            "labels": _vocabulary_record(Vocabulary.from_terms(tally.labels)),
            "label_type": reading.label_type,
            "class_documents": statistics.class_documents,
            "vocabulary": _vocabulary_record(tally.vocabulary),
            "statistics": {
                "indptr": narrowed(statistics.indptr),
                "classes": narrowed(statistics.classes),
                "documents": narrowed(statistics.documents),
                "occurrences": narrowed(statistics.occurrences),
            },
            "selected": None if reading.vocabulary == tally.vocabulary else _vocabulary_record(reading.vocabulary),
            "weighting": {
                "tf": weighting.tf,
                "norm": weighting.norm,
                "idf": weighting.idf,
                "parameters": dict(weighting.parameters),
            },
            "scorer": {
                "bias": scorer.bias,
                "default": scorer.default,
                "indptr": narrowed(scorer.indptr),
                "classes": narrowed(scorer.classes),
                "deltas": scorer.deltas,
                "base": scorer.base,
                "base_scale": scorer.base_scale,
            },
            "hyperparameters": asdict(reading.hyperparameters),
            "calibration": asdict(reading.calibration),
            "estimate": None if reading.estimate is None else asdict(reading.estimate),
            "approximate": reading.approximate,
            "sample": sample_record(tally, model.fitted.model_settings.keep_sample),
            "unlabeled": unlabeled_record(reading.unlabeled),
            "input_unit": reading.input_unit,
        },
        path,
    )


def load_model(path: str | os.PathLike[str]) -> TrainedModel:
    """The classifier that was saved at `path` ("-": standard input).

    raises  ArtifactError, which names the file: it is no model, is damaged, or cannot be right
    """
    path = _check_path(path)
    record = load(path)
    with name_errors(path):
        audit.section(record, "", KEYS)
        audit.require(record, "nbtext", str)
        given = _vocabulary(record, "given")
        features = _settings(record, "features", FeatureSettings)
        if given is not None:
            features = replace(features, vocabulary=tuple(given.terms))
        modelling = _settings(record, "model", ModelSettings)
        labels = _labels(record)
        if (audit.optional(record, "sample", dict) is None) != (modelling.keep_sample is None):
            raise audit.wrong("sample", "should be there where one is kept, and only there")
        reading = _reading(record, features, modelling, labels)

    def tally() -> CorpusCounts:
        with name_errors(path):
            known = reading.vocabulary if record["selected"] is None else None  # audited already
            return _with_sample(_corpus_counts(record, features, labels, known), record, features, modelling)

    return TrainedModel(reading, tally)


def _check_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"the path of a model file is a str or os.PathLike, not {type(path).__name__}")
    return os.fsdecode(path)


def _labels(record: Record) -> tuple[str, ...]:
    labels = _vocabulary(record, "labels")
    if labels is None or not len(labels):
        raise audit.wrong("labels", "should hold at least one label")
    if (longest := max(map(len, labels.terms))) > MAX_LABEL_CHARACTERS:
        raise audit.wrong(
            "labels", f"should have at most {MAX_LABEL_CHARACTERS:,} characters each; one has {longest:,}"
        )
    return tuple(labels.terms)


def _given(features: FeatureSettings) -> Vocabulary | None:
    """The vocabulary that the settings give, in the compact form."""
    return Vocabulary.from_terms(features.vocabulary) if features.vocabulary is not None else None


def _vocabulary_record(vocabulary: Vocabulary | None) -> Record | None:
    if vocabulary is None:
        return None
    return {"blob": vocabulary.blob, "offsets": narrowed(vocabulary.offsets)}


def _counts(record: Record, key: str) -> NDArray[Any]:
    """The counts at `key`, or sums of weights: whole numbers as int64, others as they are; none of them negative."""
    if audit.require(record, key, np.ndarray).dtype.kind != "f":
        return audit.whole_numbers(record, key)
    sums = audit.real_numbers(record, key)
    audit.check_within(key, sums, 0, 2**62)
    return sums


def _vocabulary(record: Record, key: str) -> Vocabulary | None:
    if audit.optional(record, key, dict) is None:
        return None
    audit.section(record, key, ("blob", "offsets"))
    blob = audit.array(record, f"{key}.blob", "uint8", shape=(None,))
    offsets = audit.whole_numbers(record, f"{key}.offsets")
    audit.check_terms(key, blob, offsets)
    return Vocabulary(blob, offsets)


def _entries(record: Record, key: str, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The bounds of each feature's entries, and the class of each."""
    indptr, classes = audit.whole_numbers(record, f"{key}.indptr"), audit.whole_numbers(record, f"{key}.classes")
    audit.check_rows(f"{key}.classes", indptr, classes, n_columns=n_classes)
    return indptr, classes.astype(np.int32)


def _check_width(
    key: str, vocabulary: Vocabulary | None, features: FeatureSettings, n_columns: int, *, width: int = 1
) -> None:
    """There are `width` columns for each feature that the vocabulary has, or that hashing makes."""
    expected = width * (len(vocabulary) if vocabulary is not None else 1 << (features.hash_bits or 0))
    if n_columns != expected or (vocabulary is None) != (features.hash_bits is not None):
        raise audit.wrong(key, f"should be of {expected:,} columns, and is of {n_columns:,}")


def _reading(
    record: Record, features: FeatureSettings, modelling: ModelSettings, labels: tuple[str, ...]
) -> FittedModel:
    n_classes = len(labels)
    selected = _vocabulary(record, "selected" if record["selected"] is not None else "vocabulary")
    audit.section(record, "scorer", ("bias", "default", "indptr", "classes", "deltas", "base", "base_scale"))
    derive = None if modelling.is_linear else modelling.event_model.derivation
    derivation = None if derive is None else derive(modelling.values)
    n_scores = n_classes * (derivation.height if derivation is not None else 1)
    indptr, classes = _entries(record, "scorer", n_scores)
    n_columns = len(indptr) - 1
    _check_width("scorer", selected, features, n_columns, width=derivation.width if derivation is not None else 1)
    has_base = audit.optional(record, "scorer.base", np.ndarray) is not None
    base = audit.real_numbers(record, "scorer.base", n_columns) if has_base else None
    base_scale = audit.real_numbers(record, "scorer.base_scale", n_scores) if has_base else None
    if base is not None and base_scale is not None:
        audit.check_within("scorer.base_scale", np.abs(base).max(initial=0) * base_scale, -MAX_NUMBER, MAX_NUMBER)
    scorer = LinearScorer(
        audit.real_numbers(record, "scorer.bias", n_scores),
        audit.real_numbers(record, "scorer.default", n_scores),
        indptr,
        classes,
        audit.real_numbers(record, "scorer.deltas", len(classes)),
        base,
        base_scale,
        derivation,
    )
    weighting, calibration = _weighting(record, scorer.n_features), calibration_of(record, n_classes)
    approximate = tuple(audit.texts(record, "approximate", distinct=True))
    unlabeled = unlabeled_of(record, n_classes)
    return FittedModel(
        labels, features, modelling, selected, None, weighting, scorer, _log_prior(record, modelling, unlabeled),
        hyperparameters_of(record), calibration, estimate_of(record, n_classes), unlabeled, approximate,
        _label_type(record, labels), _input_unit(record),
    )  # fmt: skip


def _log_prior(record: Record, modelling: ModelSettings, unlabeled: Unlabeled | None) -> NDArray[np.float64]:
    """Return the class priors that the settings and the documents of each class give."""
    if unlabeled is not None:
        return np.array(unlabeled.log_prior)
    try:
        return log_prior(_counts(record, "class_documents"), modelling.effective_prior)
    except NbtextError as error:
        raise audit.wrong("class_documents", f"and the settings do not fit together: {error}") from error


def _input_unit(record: Record) -> str | None:
    return audit.choice(record, "input_unit", INPUT_UNITS) if record["input_unit"] is not None else None


def _label_type(record: Record, labels: tuple[str, ...]) -> str:
    label_type = audit.choice(record, "label_type", tuple(LABEL_TYPES))
    if not are_labels_of(label_type, labels):
        raise audit.wrong("label_type", "is not the type of the labels")
    return label_type


def _weighting(record: Record, n_features: int) -> Weighting:
    audit.section(record, "weighting", ("tf", "norm", "idf", "parameters"))
    has_idf = audit.optional(record, "weighting.idf", np.ndarray) is not None
    tf = audit.choice(record, "weighting.tf", tuple(TERM_FREQUENCIES))
    names = TERM_FREQUENCIES[tf].parameters + ("mean_length",) * TERM_FREQUENCIES[tf].needs_mean_length
    audit.section(record, "weighting.parameters", names)
    return Weighting(
        tf,
        audit.choice(record, "weighting.norm", NORMS),
        audit.real_numbers(record, "weighting.idf", n_features) if has_idf else None,
        {name: audit.number(record, f"weighting.parameters.{name}", least=0, most=1e100) for name in names},
    )


def _corpus_counts(
    record: Record, features: FeatureSettings, labels: tuple[str, ...], known: Vocabulary | None = None
) -> CorpusCounts:
    vocabulary = known if known is not None else _vocabulary(record, "vocabulary")
    audit.section(record, "statistics", ("indptr", "classes", "documents", "occurrences"))
    indptr, classes = _entries(record, "statistics", len(labels))
    _check_width("statistics", vocabulary, features, len(indptr) - 1)
    class_documents, documents = _counts(record, "class_documents"), _counts(record, "statistics.documents")
    occurrences = _counts(record, "statistics.occurrences")
    for key, found, expected in (
        ("class_documents", class_documents, len(labels)),
        ("statistics.documents", documents, len(classes)),
        ("statistics.occurrences", occurrences, len(classes)),
    ):
        if len(found) != expected:
            raise audit.wrong(key, f"should be {expected:,} numbers, and is {len(found):,}")
        if found.sum(dtype=np.float64) > MOST_COUNTED:
            raise audit.wrong(key, f"should be {MOST_COUNTED:,} together at most")
    if (documents > class_documents[classes] * ROUNDING).any():
        raise audit.wrong("statistics.documents", "should be at most the documents of the class")
    if occurrences.dtype.kind == "i" and (occurrences < documents).any():
        raise audit.wrong("statistics.occurrences", "should be at least the documents")
    statistics = ClassStatistics(class_documents, indptr, classes, documents, occurrences)
    return CorpusCounts(labels, vocabulary, statistics, concatenate(()), 0)


def _with_sample(
    tally: CorpusCounts, record: Record, features: FeatureSettings, modelling: ModelSettings
) -> CorpusCounts:
    """The tally with the sample that the record keeps, if any."""
    if modelling.keep_sample is None:
        return tally
    sample, below = sample_of(record, tally.statistics)
    return replace(tally, sample=sample, sample_size=sample_size(features, modelling), below=below)


def _settings(record: Record, key: str, kind: type[Settings]) -> Settings:
    """The settings at `key`, each of them of its type and among its choices."""
    found = audit.section(record, key, tuple(field.name for field in fields(kind)))
    if (name := find_invalid_field(kind, found)) is not None:
        raise audit.wrong(f"{key}.{name}", "is no such setting")
    try:
        return kind(**found)
    except SettingsError as error:
        raise audit.wrong(key, f"makes no sense: {error}") from error

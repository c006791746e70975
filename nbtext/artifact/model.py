"""Save and load a trained model as a record of plain data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from nbtext import __version__
from nbtext.artifact import audit
from nbtext.artifact.audit import MAX_NUMBER
from nbtext.artifact.record import (
    narrow_integers,
    read_calibration,
    read_estimate,
    read_hyperparameters,
    read_input,
    read_unlabeled,
    write_calibration,
    write_fields,
    write_input,
    write_mean_posteriors,
    write_unlabeled,
)
from nbtext.artifact.sample import read_sample, write_sample
from nbtext.artifact.storage import FORMAT, VERSION, load, name_errors, save
from nbtext.bayes.calibration import Calibration
from nbtext.bayes.class_statistics import MAX_COUNTED, ClassStatistics, Totals, log_prior
from nbtext.bayes.diagnostics import LeaveOneOutEstimate, Unlabeled
from nbtext.bayes.scorer import LinearScorer
from nbtext.bayes.settings import SELECTABLE_MODELS, ModelSettings
from nbtext.documents.batch import MAX_LABEL_CHARACTERS
from nbtext.errors import NbtextError, SettingsError
from nbtext.features.document_counts import concatenate
from nbtext.features.formulas import NORMS, TERM_FREQUENCIES
from nbtext.features.settings import FeatureSettings, find_invalid_field
from nbtext.features.vocabulary import Vocabulary
from nbtext.features.weighting import Weighting
from nbtext.model.corpus_counts import CorpusCounts, LabelSet
from nbtext.model.fitted_model import (
    LABEL_TYPES,
    MAX_LABEL_COLUMNS,
    FittedModel,
    TrainedModel,
    are_columns,
    are_labels_of,
)
from nbtext.model.task import OneLabel, Task

if TYPE_CHECKING:
    from nbtext.bayes.label_selection import MultilabelFit
    from nbtext.model.several_labels import SeveralLabels

Record = dict[str, Any]
ROUNDING = 1 + 1e-9  # tolerance for the rounding of decayed counts
Settings = TypeVar("Settings", FeatureSettings, ModelSettings)
KEYS = (
    "format", "version", "nbtext", "features", "given", "model", "labels", "label_type", "class_documents",
    "vocabulary", "statistics", "selected", "weighting", "scorer",
    "hyperparameters", "calibration", "estimate", "approximate", "is_model_selected", "is_binary_selected",
    "sample", "unlabeled", "input",
)  # fmt: skip
OPTIONAL_KEYS = ("mean_posteriors", "multilabel", "totals", "label_columns", "empty")


def save_model(model: TrainedModel, path: str | os.PathLike[str]) -> None:
    """Write a model file, completely or not at all; equal models give equal bytes.

    The path "-" is standard output. ArtifactError if the model is too large for a model file, OutputError if the file
    cannot be written, TypeError if the model or the path has another type.
    """
    path = _check_path(path)
    if not isinstance(model, TrainedModel):
        raise TypeError(f"save_model takes a model, then a path; the first is {type(model).__name__}")
    counts, fitted = model.counts, model.fitted
    statistics, scorer, weighting = counts.statistics, fitted.scorer, fitted.weighting
    estimate, several = _write_task(fitted.task)
    save(
        {
            "format": FORMAT,
            "version": VERSION,
            "nbtext": __version__,
            "features": asdict(replace(model.fitted.feature_settings, vocabulary=None)),
            "given": _write_vocabulary(_given_vocabulary(model.fitted.feature_settings)),
            "model": write_fields(fitted.model_settings, "duplicates"),
            "labels": _write_vocabulary(Vocabulary.from_terms(fitted.labels)),
            "label_type": fitted.label_type,
            "class_documents": statistics.class_documents,
            "vocabulary": _write_vocabulary(counts.vocabulary),
            "statistics": {
                "indptr": narrow_integers(statistics.indptr),
                "classes": narrow_integers(statistics.classes),
                "documents": narrow_integers(statistics.documents),
                "occurrences": narrow_integers(statistics.occurrences),
            },
            "selected": None if fitted.vocabulary == counts.vocabulary else _write_vocabulary(fitted.vocabulary),
            "weighting": {
                "tf": weighting.tf,
                "norm": weighting.norm,
                "idf": weighting.idf,
                "parameters": dict(weighting.parameters),
            },
            "scorer": {
                "bias": scorer.bias,
                "default": scorer.default,
                "indptr": narrow_integers(scorer.indptr),
                "classes": narrow_integers(scorer.classes),
                "deltas": scorer.deltas,
                "base": scorer.base,
                "base_scale": scorer.base_scale,
            },
            "hyperparameters": asdict(fitted.hyperparameters),
            "calibration": write_calibration(fitted.calibration),
            "estimate": estimate,
            "approximate": fitted.approximate,
            "is_model_selected": fitted.is_model_selected,
            "is_binary_selected": fitted.is_binary_selected,
            "sample": write_sample(counts, model.fitted.model_settings.keep_sample),
            "unlabeled": write_unlabeled(fitted.unlabeled),
            "input": write_input(fitted.input),
            **_write_totals(statistics.totals),
            **_write_empty(counts, fitted.model_settings),
            **write_mean_posteriors(fitted.calibration.mean_posteriors),
            **several,
            **({} if fitted.label_columns is None else {"label_columns": fitted.label_columns}),
        },
        path,
    )


def load_model(path: str | os.PathLike[str]) -> TrainedModel:
    """Return the model of a file, "-" for standard input; no code of the file is executed.

    Raises
    ------
    ArtifactError
        The file cannot be read, is not a model, is damaged, or contains invalid numbers.
    TypeError
        The path has another type.
    """
    path = _check_path(path)
    record = load(path)
    with name_errors(path):
        audit.read_section(record, "", KEYS, optional=OPTIONAL_KEYS)
        audit.read_value(record, "nbtext", str)
        given = _read_vocabulary(record, "given")
        features = _read_settings(record, "features", FeatureSettings)
        if given is not None:
            features = replace(features, vocabulary=tuple(given.terms))
        model_settings = _read_settings(record, "model", ModelSettings)
        names = _read_vocabulary(record, "labels")
        if names is None or not len(names):
            raise audit.invalid_value("labels", "should hold at least one label")
        if (longest := max(map(len, names.terms))) > MAX_LABEL_CHARACTERS:
            raise audit.invalid_value(
                "labels", f"should have at most {MAX_LABEL_CHARACTERS:,} characters each; one has {longest:,}"
            )
        labels = tuple(names.terms)
        if (audit.read_optional(record, "sample", dict) is None) != (model_settings.keep_sample is None):
            raise audit.invalid_value("sample", "should be stored if, and only if, the settings keep a sample")
        fitted = _read_fitted_model(record, features, model_settings, labels)

    def load_counts() -> CorpusCounts:
        from nbtext.model.training import sample_size

        with name_errors(path):
            known = fitted.vocabulary if record["selected"] is None else None  # the statistics were already audited
            counts = _read_corpus_counts(record, features, labels, known)
            if model_settings.keep_sample is None:
                return counts
            counts = replace(read_sample(record, counts), empty=_read_empty(record, counts))
            return replace(counts, sample_size=sample_size(features, model_settings))

    return TrainedModel(fitted, load_counts)


def _check_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"the path of a model file is a str or os.PathLike, not {type(path).__name__}")
    return os.fsdecode(path)


def _given_vocabulary(features: FeatureSettings) -> Vocabulary | None:
    """Return the vocabulary of the settings, if they give one."""
    return Vocabulary.from_terms(features.vocabulary) if features.vocabulary is not None else None


def _write_vocabulary(vocabulary: Vocabulary | None) -> Record | None:
    if vocabulary is None:
        return None
    return {"blob": vocabulary.blob, "offsets": narrow_integers(vocabulary.offsets)}


def _read_counts(record: Record, key: str) -> NDArray[Any]:
    """Return the counts at `key` as int64, or sums of weights as float64; none is negative."""
    if audit.read_value(record, key, np.ndarray).dtype.kind != "f":
        return audit.read_integers(record, key)
    sums = audit.read_floats(record, key)
    audit.check_within(key, sums, 0, 2**62)
    return sums


def _read_vocabulary(record: Record, key: str) -> Vocabulary | None:
    if audit.read_optional(record, key, dict) is None:
        return None
    audit.read_section(record, key, ("blob", "offsets"))
    blob = audit.read_array(record, f"{key}.blob", "uint8", shape=(None,))
    offsets = audit.read_integers(record, f"{key}.offsets")
    audit.check_terms(key, blob, offsets)
    return Vocabulary(blob, offsets)


def _read_entries(record: Record, key: str, n_classes: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the bounds of each feature's entries, and the class of each entry."""
    indptr, classes = audit.read_integers(record, f"{key}.indptr"), audit.read_integers(record, f"{key}.classes")
    audit.check_rows(f"{key}.classes", indptr, classes, n_columns=n_classes)
    return indptr, classes.astype(np.int32)


def _check_width(
    key: str, vocabulary: Vocabulary | None, features: FeatureSettings, n_columns: int, *, width: int = 1
) -> None:
    """Raise ArtifactError unless there are `width` columns for each feature of the vocabulary, or of the hash table."""
    expected = width * (len(vocabulary) if vocabulary is not None else 1 << (features.hash_bits or 0))
    if n_columns != expected or (vocabulary is None) != (features.hash_bits is not None):
        raise audit.invalid_value(key, f"should have {expected:,} columns, and has {n_columns:,}")


def _read_fitted_model(
    record: Record, features: FeatureSettings, model_settings: ModelSettings, labels: tuple[str, ...]
) -> FittedModel:
    n_classes = len(labels)
    selected = _read_vocabulary(record, "selected" if record["selected"] is not None else "vocabulary")
    audit.read_section(record, "scorer", ("bias", "default", "indptr", "classes", "deltas", "base", "base_scale"))
    derive = None if model_settings.is_linear else model_settings.event_model.derivation
    derivation = None if derive is None else derive(model_settings.values)
    n_scores = n_classes * (derivation.height if derivation is not None else 1)
    several = _read_several(record, features, model_settings, labels) if "multilabel" in record else None
    if several is not None:
        n_scores = n_classes * len(several.combination.weights)
    indptr, classes = _read_entries(record, "scorer", n_scores)
    n_columns = len(indptr) - 1
    _check_width("scorer", selected, features, n_columns, width=derivation.width if derivation is not None else 1)
    has_base = audit.read_optional(record, "scorer.base", np.ndarray) is not None
    base = audit.read_floats(record, "scorer.base", n_columns) if has_base else None
    base_scale = audit.read_floats(record, "scorer.base_scale", n_scores) if has_base else None
    if base is not None and base_scale is not None:
        audit.check_within("scorer.base_scale", np.abs(base).max(initial=0) * base_scale, -MAX_NUMBER, MAX_NUMBER)
    scorer = LinearScorer(
        audit.read_floats(record, "scorer.bias", n_scores),
        audit.read_floats(record, "scorer.default", n_scores),
        indptr,
        classes,
        audit.read_floats(record, "scorer.deltas", len(classes)),
        base,
        base_scale,
        derivation,
    )
    weighting, calibration = _read_weighting(record, scorer.n_features), read_calibration(record, n_classes)
    approximate = tuple(audit.read_texts(record, "approximate", distinct=True))
    unlabeled = read_unlabeled(record, n_classes)
    label_type = audit.read_choice(record, "label_type", tuple(LABEL_TYPES))
    if not are_labels_of(label_type, labels):
        raise audit.invalid_value("label_type", "does not match the labels")
    hyperparameters = read_hyperparameters(record)
    if (hyperparameters.C is None) == model_settings.is_linear:
        raise audit.invalid_value("hyperparameters.C", f"does not fit {model_settings.model} models")
    has_likelihood = not model_settings.is_linear and model_settings.event_model.is_generative
    if not has_likelihood and (calibration.likelihoods is not None or calibration.outlier_threshold is not None):
        raise audit.invalid_value("calibration.likelihoods", f"do not belong to {model_settings.model} models")
    estimate, known = read_estimate(record, n_classes), read_input(record)
    if known.separate_fields and not features.fields:
        raise audit.invalid_value("input.separate_fields", "is true, and the features are of no separate fields")
    n_matrix = known.matrix_columns
    names = () if selected is None or n_matrix is None else selected.terms
    if not all(re.fullmatch("[0-9]{1,10}", name) and int(name) < (n_matrix or 0) for name in names):
        raise audit.invalid_value("input.matrix_columns", "does not match the features")
    if not {label for _, label, _ in model_settings.targets} <= set(labels):
        raise audit.invalid_value("model", "has a target for a label that it does not have")
    if estimate is not None and len(estimate.targets) != len(model_settings.targets):
        raise audit.invalid_value("estimate.targets", "should be one for each target of the settings")
    if estimate is not None and estimate.optimized is not None and model_settings.optimize is None:
        raise audit.invalid_value("estimate.optimized", "should be set only if a metric is optimized")
    class_documents = _read_class_documents(record, n_classes)
    if several is not None:
        task = _make_several_labels(
            labels, class_documents, _read_n_documents(record), scorer.bias[:n_classes], several
        )
    else:
        task = _make_one_label(labels, class_documents, model_settings, calibration, estimate, unlabeled)
    return FittedModel(
        task, features, model_settings, selected, None, weighting, scorer, hyperparameters, unlabeled, approximate,
        *_read_event_model_selection(record, features, model_settings), label_type, known,
        _read_label_columns(record, labels),
    )  # fmt: skip


def _read_label_columns(record: Record, labels: tuple[str, ...]) -> int | None:
    if "label_columns" not in record:
        return None
    n_columns = audit.read_integer(record, "label_columns", maximum=MAX_LABEL_COLUMNS)
    if "multilabel" not in record or record["label_type"] != "int" or not are_columns(labels, n_columns):
        raise audit.invalid_value("label_columns", "does not match the labels")
    return n_columns


def _write_empty(counts: CorpusCounts, settings: ModelSettings) -> Record:
    """Return the part of the record that tells how many documents of each label have no token, if some have none.

    A model that selects its smoothing again needs it, unless its documents have several labels.
    """
    empty = counts.empty_documents
    if settings.keep_sample is None or counts.label_sets is not None or not empty:
        return {}
    return {"empty": np.array([empty.get(each, 0) for each in counts.sets], dtype=np.int64)}


def _read_empty(record: Record, counts: CorpusCounts) -> Mapping[LabelSet, int] | None:
    if counts.label_sets is not None:
        return None
    if "empty" not in record:
        return {}
    numbers = audit.read_integers(record, "empty", len(counts.labels))
    if (numbers > counts.statistics.class_documents).any():
        raise audit.invalid_value("empty", "should be at most the documents of the class")
    return {each: n for each, n in zip(counts.sets, numbers.tolist(), strict=True) if n}


def _read_class_documents(record: Record, n_classes: int) -> NDArray[Any]:
    class_documents = _read_counts(record, "class_documents")
    _check_counts("class_documents", class_documents, n_classes)
    return class_documents


def _write_task(task: Task) -> tuple[Record | None, Record]:
    """Return the estimate of one label, and the part of the record that only several labels have."""
    if isinstance(task, OneLabel):
        return write_fields(task.estimate, "unanswered", "other"), {}
    from nbtext.artifact.multilabel import write_multilabel

    return None, {"multilabel": write_multilabel(cast("SeveralLabels", task).fit)}


def _read_several(
    record: Record, features: FeatureSettings, model_settings: ModelSettings, labels: tuple[str, ...]
) -> MultilabelFit:
    from nbtext.artifact.multilabel import read_multilabel
    from nbtext.model.multilabel import check_multilabel_settings

    try:
        check_multilabel_settings(features, model_settings)
    except SettingsError as error:
        raise audit.invalid_value("multilabel", f"does not fit the settings: {error}") from error
    return read_multilabel(record, len(labels), is_linear=model_settings.is_linear)


def _make_several_labels(
    labels: tuple[str, ...],
    class_documents: NDArray[Any],
    n_documents: int,
    priors: NDArray[np.float64],
    fit: MultilabelFit,
) -> Task:
    from nbtext.model.multilabel import log_shares
    from nbtext.model.several_labels import SeveralLabels

    return SeveralLabels(labels, log_shares(class_documents, n_documents), priors, fit)


def _make_one_label(
    labels: tuple[str, ...],
    class_documents: NDArray[Any],
    settings: ModelSettings,
    calibration: Calibration,
    estimate: LeaveOneOutEstimate | None,
    unlabeled: Unlabeled | None,
) -> Task:
    """Return the task with the class log priors, and the default class, of the documents of each class."""
    if unlabeled is not None:
        log_priors = np.array(unlabeled.log_prior)
        return OneLabel(labels, log_priors, calibration, estimate, settings.calibrate, int(np.argmax(log_priors)))
    try:
        log_priors = log_prior(class_documents, settings.prior_of(labels))
        return OneLabel.of(labels, log_priors, class_documents, settings, calibration, estimate)
    except NbtextError as error:
        raise audit.invalid_value("class_documents", f"and the settings do not fit together: {error}") from error


def _read_event_model_selection(
    record: Record, features: FeatureSettings, model_settings: ModelSettings
) -> tuple[bool, bool]:
    """Return whether leave-one-out selected the event model, and binary counts."""
    is_model = audit.read_value(record, "is_model_selected", bool)
    if is_model and model_settings.model not in SELECTABLE_MODELS:
        raise audit.invalid_value("is_model_selected", f"is true for {model_settings.model} models")
    is_binary = audit.read_value(record, "is_binary_selected", bool)
    if is_binary and not (is_model and features.tf == "binary"):
        raise audit.invalid_value("is_binary_selected", "is true, but no model was selected")
    return is_model, is_binary


def _read_weighting(record: Record, n_features: int) -> Weighting:
    audit.read_section(record, "weighting", ("tf", "norm", "idf", "parameters"))
    has_idf = audit.read_optional(record, "weighting.idf", np.ndarray) is not None
    tf = audit.read_choice(record, "weighting.tf", tuple(TERM_FREQUENCIES))
    names = TERM_FREQUENCIES[tf].parameters + ("mean_length",) * TERM_FREQUENCIES[tf].needs_mean_length
    audit.read_section(record, "weighting.parameters", names)
    return Weighting(
        tf,
        audit.read_choice(record, "weighting.norm", NORMS),
        audit.read_floats(record, "weighting.idf", n_features) if has_idf else None,
        {name: audit.read_number(record, f"weighting.parameters.{name}", minimum=0, maximum=1e100) for name in names},
    )


def _read_corpus_counts(
    record: Record, features: FeatureSettings, labels: tuple[str, ...], known: Vocabulary | None = None
) -> CorpusCounts:
    vocabulary = known if known is not None else _read_vocabulary(record, "vocabulary")
    audit.read_section(record, "statistics", ("indptr", "classes", "documents", "occurrences"))
    indptr, classes = _read_entries(record, "statistics", len(labels))
    _check_width("statistics", vocabulary, features, len(indptr) - 1)
    class_documents, documents = _read_counts(record, "class_documents"), _read_counts(record, "statistics.documents")
    occurrences = _read_counts(record, "statistics.occurrences")
    _check_counts("class_documents", class_documents, len(class_documents))  # its length is checked with the prior
    _check_counts("statistics.documents", documents, len(classes))
    _check_counts("statistics.occurrences", occurrences, len(classes))
    if (documents <= 0).any() and documents.any():  # all are 0 in models of scikit-learn's, which does not count them
        raise audit.invalid_value("statistics.documents", "should be more than 0")
    if (documents > class_documents[classes] * ROUNDING).any():
        raise audit.invalid_value("statistics.documents", "should be at most the documents of the class")
    if occurrences.dtype.kind == "i" and (occurrences < documents).any():
        raise audit.invalid_value("statistics.occurrences", "should be at least the documents")
    totals = _read_totals(record, len(indptr) - 1) if "multilabel" in record else None
    statistics = ClassStatistics(class_documents, indptr, classes, documents, occurrences, totals=totals)
    if totals is not None and not statistics.is_within_totals:
        raise audit.invalid_value("statistics", "should have at most the counts of all documents for each label")
    sets = None if totals is None else ()
    return CorpusCounts(labels, vocabulary, statistics, concatenate(()), 0, label_sets=sets)


def _write_totals(totals: Totals | None) -> Record:
    """Return the part of the record that tells the totals over all documents, if they are not sums over the classes."""
    if totals is None:
        return {}
    arrays = {name: narrow_integers(getattr(totals, name)) for name in ("documents", "occurrences")}
    return {"totals": {"n_documents": np.array([totals.n_documents]), **arrays}}


def _read_totals(record: Record, n_features: int) -> Totals:
    n_documents = _read_n_documents(record)
    documents, occurrences = (_read_counts(record, f"totals.{name}") for name in ("documents", "occurrences"))
    _check_counts("totals.documents", documents, n_features)
    _check_counts("totals.occurrences", occurrences, n_features)
    if (documents > n_documents * ROUNDING).any():
        raise audit.invalid_value("totals.documents", "should be at most the number of documents")
    if ((occurrences < documents).any() and occurrences.dtype.kind == "i") or (occurrences[documents == 0] > 0).any():
        raise audit.invalid_value("totals.occurrences", "does not fit the documents")
    return Totals(n_documents, documents, occurrences)


def _read_n_documents(record: Record) -> int:
    """Return the number of documents of several labels; a float if documents weigh less than one."""
    audit.read_section(record, "totals", ("n_documents", "documents", "occurrences"))
    found = _read_counts(record, "totals.n_documents")
    _check_counts("totals.n_documents", found, 1)
    number: int = found[0].item()
    return number


def _check_counts(key: str, found: NDArray[Any], n_expected: int) -> None:
    if len(found) != n_expected:
        raise audit.invalid_value(key, f"should be {n_expected:,} numbers, and is {len(found):,}")
    if found.sum(dtype=np.float64) > MAX_COUNTED:
        raise audit.invalid_value(key, f"should sum to at most {MAX_COUNTED:,}")


def _read_settings(record: Record, key: str, kind: type[Settings]) -> Settings:
    """Return the settings at `key`; each has its type and is among its choices."""
    found = audit.read_fields(record, key, kind)
    if (name := find_invalid_field(kind, found)) is not None:
        raise audit.invalid_value(f"{key}.{name}", "is not a setting")
    try:
        return kind(**found)
    except SettingsError as error:
        raise audit.invalid_value(key, f"is invalid: {error}") from error

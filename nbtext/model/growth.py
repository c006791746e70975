"""Models that learn more, join and forget: their corpora add up, and the sum is read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.leave_one_out import Run, one_by_one
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import LAPLACE, Choice
from nbtext.errors import InputError, ModelError
from nbtext.features.counting import merge_sorted
from nbtext.features.document_counts import DocumentCounts
from nbtext.model.corpus_counts import SAMPLE_SIZE, CorpusCounts
from nbtext.model.decay import WHOLE, check_fading, check_whole, faded
from nbtext.model.fitting import needs_all_documents, read, sample_size
from nbtext.model.folding import OnBatch, check_fields, tally_source, threads

if TYPE_CHECKING:
    from nbtext.documents.source import Source
    from nbtext.model.text_classifier import TextClassifier

ADDING = ("multinomial", "bernoulli", "complement", "categorical")  # their smoothing adds sightings, a prior is theirs
ENOUGH = 0.5  # the share of a sample that must be left for a choice to be made by it


def update_source(
    classifier: TextClassifier,
    source: Source,
    *,
    jobs: int = 1,
    on_batch: OnBatch | None = None,
    factor: float = WHOLE,
) -> TextClassifier:
    """Learn all documents of a source as well; new words and new labels too.

    factor  what each document learned before weighs from now on, as a share of what it did; see `faded`
    raises  InputError: a document cannot be read, or has no label; ModelError: the model cannot learn more
    """
    check_growth(classifier)
    tally = _counted(classifier, source, jobs=jobs, sample_size=more_sample_size(classifier), on_batch=on_batch)
    with threads(jobs) as run:
        return learn(classifier, tally, run=run, factor=factor)


def forget_source(
    classifier: TextClassifier, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> TextClassifier:
    """Take all documents of a source out again; words and labels that no other document has vanish.

    raises  InputError: a document cannot be read, or has no label; ModelError: one was never learned, as far as
            counts can show it, or the model cannot forget
    """
    check_growth(classifier)
    check_whole(classifier)
    size = None if classifier.counts_.sample_size != 0 else 0
    tally = _counted(classifier, source, jobs=jobs, sample_size=size, on_batch=on_batch)
    with threads(jobs) as run:
        return forget(classifier, tally, run=run)


def calibrate_source(
    classifier: TextClassifier, source: Source, *, jobs: int = 1, on_batch: OnBatch | None = None
) -> TextClassifier:
    """Choose smoothing and calibration afresh by the documents of a source, which the model may have learned or not.

    raises  InputError: a document cannot be read, or has no label; ModelError: the model does not know a label
    """
    tally = _counted(classifier, source, jobs=jobs, sample_size=SAMPLE_SIZE, on_batch=on_batch)
    with threads(jobs) as run:
        return calibrate(classifier, tally, run=run)


def learn(
    classifier: TextClassifier, tally: CorpusCounts, *, run: Run[Any] = one_by_one, factor: float = WHOLE
) -> TextClassifier:
    """Learn what was counted by the same settings as well; what was learned before weighs less by a factor."""
    check_growth(classifier)
    if factor != WHOLE:
        check_fading(classifier)
    return _become(classifier, faded(classifier.counts_, factor) + tally, classifier, run)


def forget(classifier: TextClassifier, tally: CorpusCounts, *, run: Run[Any] = one_by_one) -> TextClassifier:
    """Forget what was counted by the same settings; all its documents are in its sample if the model keeps one."""
    check_growth(classifier)
    check_whole(classifier)
    rest = classifier.counts_ - tally
    if rest.statistics.n_documents == 0:
        raise ModelError("no document is left to learn from", hint="delete the model instead")
    return _become(classifier, rest, classifier, run)


def merge(
    classifiers: Sequence[TextClassifier], *, names: Sequence[str] = (), run: Run[Any] = one_by_one
) -> TextClassifier:
    """The first of some classifiers, having learned what all of them learned.

    names   what errors call the classifiers, if anything
    raises  ModelError: they have unlike settings, or cannot learn more
    """
    first, *others = classifiers
    for number, other in enumerate(others, 1):
        with _located(" and ".join((names[0], names[number])) if names else ""):
            check_settings(first, other)
    for number, classifier in enumerate(classifiers):
        with _located(names[number] if names else ""):
            check_growth(classifier)
            check_whole(classifier)
    largest = max(classifiers, key=_weight)
    return _become(first, reduce(add, (each.counts_ for each in classifiers)), largest, run)


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Say of which models an error is."""
    try:
        yield
    except ModelError as error:
        raise ModelError(error.what, where=where, hint=error.hint) from None


def calibrate(classifier: TextClassifier, tally: CorpusCounts, *, run: Run[Any] = one_by_one) -> TextClassifier:
    """Choose smoothing and calibration by the sample of a tally.

    A document that the model's counts could hold is left out of them before it is asked about; one that they cannot
    hold was never learned, and is asked about as it is. So is each where documents weigh less with age: nobody knows
    what to leave out.
    """
    check_growth(classifier)
    if needs_all_documents(classifier.features, classifier.modelling):
        raise ModelError("only models of counts can be calibrated afterwards", hint="train it again")
    whole = classifier.counts_
    judged = replace(whole, sample=_known(tally, whole))
    is_new = ~whole.statistics.may_contain(judged.sample) | whole.statistics.is_decayed
    reading = read(judged, classifier.features, classifier.modelling, run=run, is_new=is_new)
    return classifier.restore(whole.labels, reading, lambda: whole)


def read_again(
    classifier: TextClassifier, settings: Mapping[str, Any], *, run: Run[Any] = one_by_one
) -> TextClassifier:
    """What the classifier has counted, read as another model, without any text.

    What it learned from unlabeled documents is left behind. Where it has kept no documents, leave-one-out has none to
    look at. Then all that was fitted is carried over if nothing that bears on it changes, and else the smoothing alone.

    settings  by the names of ModelSettings' fields; the others stay as they are, as far as they mean the same
    raises    ModelError: the model is learned from the documents themselves; SettingsError
    """
    is_semi_supervised = classifier.fitted_.unlabeled is not None
    tally = classifier.counts_.of_used_features() if is_semi_supervised else classifier.counts_
    features, before = classifier.features, classifier.modelling
    modelling = replace(_common(before, str(settings.get("model", before.model))), **settings)
    if needs_all_documents(features, modelling) and not tally.has_all_documents:
        hint = "train it on the texts"
        raise ModelError(f"{modelling.model} looks at whole documents here, and the model keeps counts only", hint=hint)
    another = type(classifier).of(features, modelling)
    if len(tally.sample):
        return another.fit_tally(tally, run=run)
    choice = _carried(classifier, tally.labels)
    smoothing = modelling.smoothing if modelling.smoothing is not None else choice.smoothing
    is_alike = replace(modelling, smoothing=None) == replace(before, smoothing=None) and not is_semi_supervised
    if not is_alike or smoothing != choice.smoothing:
        if modelling.optimize is not None:
            hint = "train with --keep-sample, or on the texts"
            raise ModelError("the model has kept no documents to optimize by", hint=hint)
        has_smoothing = (before.model in ADDING and modelling.model in ADDING) or modelling.smoothing is not None
        choice = Choice(smoothing if has_smoothing else LAPLACE)
    reading = read(tally, features, modelling, run=run, choice=choice)
    reading = replace(reading, choice=replace(choice, approximate=_chosen_by_documents(modelling)))
    return another.restore(tally.labels, reading, lambda: tally)


def _common(before: ModelSettings, model: str) -> ModelSettings:
    """The settings of a model, as far as they mean the same to another one."""
    if model == before.model:
        return before
    kept: dict[str, Any] = {
        "calibrate": before.calibrate,
        "optimize": before.optimize,
        "keep_sample": before.keep_sample,
    }
    if before.model in ADDING and model in ADDING:
        return ModelSettings(model=model, smoothing=before.smoothing, prior=before.prior, **kept)
    return ModelSettings(model=model, **kept)


def more_sample_size(classifier: TextClassifier) -> int | None:
    """How many documents a tally must keep to be added to what a classifier learned."""
    return sample_size(classifier.features, classifier.modelling) if classifier.counts_.sample_size != 0 else 0


def check_growth(classifier: TextClassifier) -> None:
    """Raise ModelError unless what the classifier learned can be added to, and taken from, exactly."""
    tally, again = classifier.counts_, "train it again on all documents"
    if classifier.fitted_.unlabeled is not None:
        hint = f"{again}, or first read its labelled ones alone: nbtext train MODEL -o ANOTHER"
        raise ModelError("the model has learned from unlabeled documents too, whose counts it has not kept", hint=hint)
    if classifier.modelling.is_linear:
        raise ModelError(f"what a {classifier.modelling.model} model learned does not add up", hint=again)
    if tally.statistics.occurrences.dtype.kind == "f" and not tally.statistics.is_decayed:
        raise ModelError("the model learned weights from a matrix, which do not add up exactly", hint=again)
    if needs_all_documents(classifier.features, classifier.modelling) and not tally.has_all_documents:
        raise ModelError(
            "what is made of whole documents (--norm, --tf relative or log, --model categorical or gaussian) does not "
            "add up, and the model has not kept all of its documents",
            hint=f"{again}, with --keep-sample as large as their number is to become",
        )


def check_settings(one: TextClassifier, other: TextClassifier) -> None:
    """Raise ModelError, which names the setting, unless both classifiers count and read in the same way."""
    for mine, theirs in ((one.features, other.features), (one.modelling, other.modelling)):
        for field in fields(mine):
            values = getattr(mine, field.name), getattr(theirs, field.name)
            if values[0] == values[1] and type(values[0]) is type(values[1]):
                continue
            option = "separate-fields" if field.name == "fields" else field.name.replace("_", "-")
            shown = " and ".join(_shown(value) for value in values)
            raise ModelError(
                f"the models have unlike settings: --{option} is {shown}", hint="train them with the same options"
            )


def _shown(value: object) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _weight(classifier: TextClassifier) -> tuple[float, ...]:
    """Whose smoothing is kept where none can be chosen: that of most documents; of equally many, the largest."""
    choice = classifier.fitted_.choice
    slope = (choice.calibration.a, choice.calibration.b) if choice.calibration is not None else (0.0, 0.0)
    return classifier.counts_.statistics.n_documents, choice.smoothing, *slope


def _counted(
    classifier: TextClassifier, source: Source, *, jobs: int, sample_size: int | None, on_batch: OnBatch | None
) -> CorpusCounts:
    """The documents of a source, counted as the classifier counts."""
    check_fields(classifier.features.fields, source.field_names)
    tally = tally_source(source, classifier.features, jobs=jobs, sample_size=sample_size, on_batch=on_batch)
    if not tally.labels:
        raise InputError("there is no document to learn from")
    return tally


def _become(classifier: TextClassifier, tally: CorpusCounts, earlier: TextClassifier, run: Run[Any]) -> TextClassifier:
    """Turn the classifier into what the tally says; where it has no sample, with the choice of an earlier one."""
    approximate = () if tally.has_own_sample else _chosen_by_documents(classifier.modelling)
    is_too_small = len(tally.sample) < ENOUGH * (tally.sample_size or 1)
    choice = _carried(earlier, tally.labels) if approximate and is_too_small else None
    reading = read(tally, classifier.features, classifier.modelling, run=run, choice=choice)
    reading = replace(reading, choice=replace(reading.choice, approximate=approximate))
    return classifier.restore(tally.labels, reading, lambda: tally)


def _chosen_by_documents(modelling: ModelSettings) -> tuple[str, ...]:
    """What of a choice depends on the documents that leave-one-out looked at."""
    smoothing = ("smoothing",) if modelling.smoothing is None else ()
    calibration = ("calibration",) if modelling.calibrate else ()
    shift = ("shift",) if modelling.optimize is not None else ()
    return (*smoothing, *calibration, *shift, "outlier_threshold", "nonconformity")


def _carried(earlier: TextClassifier, labels: tuple[str, ...]) -> Choice:
    """What an earlier classifier chose, for other labels; of a new one nothing is known."""
    choice = earlier.fitted_.choice
    places = {label: k for k, label in enumerate(earlier.labels)}

    def of_labels(values: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        if values is None:
            return None
        return np.array([values[places[label]] if label in places else 0.0 for label in labels])

    return replace(
        choice, expectation=None, prior_adjustment=of_labels(choice.prior_adjustment), shift=of_labels(choice.shift)
    )


def _known(tally: CorpusCounts, known: CorpusCounts) -> DocumentCounts:
    """The sample of a tally among the features and labels of another, features that it lacks left out."""
    places = {label: k for k, label in enumerate(known.labels)}
    if strangers := [label for label in tally.labels if label not in places]:
        raise ModelError(f"the model does not know the label {strangers[0]}", hint="learn it first, with nbtext update")
    classes = np.array([places[label] for label in tally.labels], dtype=np.int32)
    if tally.vocabulary is None or known.vocabulary is None:
        return replace(tally.sample, classes=classes[tally.sample.classes])
    _, offsets, theirs, mine = merge_sorted(
        tally.vocabulary.blob, tally.vocabulary.offsets, known.vocabulary.blob, known.vocabulary.offsets
    )
    columns = np.full(len(offsets) - 1, -1, dtype=np.int32)
    columns[mine] = np.arange(len(mine), dtype=np.int32)
    shared = np.flatnonzero(columns[theirs] >= 0)
    sample = tally.sample.restrict(shared, len(theirs))
    return sample.renumber(columns[theirs[shared]], classes)

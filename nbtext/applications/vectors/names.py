"""What labels mean: files for `--names`, and models of nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbtext.applications.vectors.table import read_vectors
from nbtext.arrays import Array
from nbtext.bayes.calibration import Calibration, TemperatureScaling
from nbtext.bayes.decision_offsets import Goals
from nbtext.bayes.settings import AUTO, STACKED, ModelSettings
from nbtext.documents.batch import Batch, check_label
from nbtext.documents.settings import ModelInput, read_small_file
from nbtext.errors import InputError, SettingsError, list_some, printable
from nbtext.features.settings import FeatureSettings
from nbtext.linear.data import TrainingData
from nbtext.linear.learning import learn
from nbtext.model.corpus_counts import CorpusCounter, CorpusCounts
from nbtext.model.fitted_model import (
    DocumentNumbers,
    FittedModel,
    TrainedModel,
    make_trained_model,
)
from nbtext.model.fitting import Fitting, Learned, fit_linear_model, prepare
from nbtext.model.source_counting import count_unlabeled
from nbtext.model.tasks import TASKS, find_task
from nbtext.model.training import Training, check_features
from nbtext.model.word_pieces import BLANK
from nbtext.model.word_vectors import split_name

NAMES_HINT = "write one label a line, or `label: a sentence that describes it`"
# of a table, and what is made of them where there are no texts
N_WORDS = 10_000
N_TEXTS = 1000


def read_names(path: str) -> tuple[tuple[str, str], ...]:
    """Return the labels of a file, sorted, each with a description, which may be empty.

    The descriptions of several lines of one label are joined.

    raises  InputError: the file cannot be read, a line is wrong, or there is only one label
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_small_file(path).splitlines(), 1):
        where = f"{path}:{number}"
        label, separator, text = (part.strip() for part in f"{line} ".partition(": "))
        if not label and not text:
            continue
        if not label or bool(separator) != bool(text):
            raise InputError("expected a label and its description", where=where, hint=NAMES_HINT)
        check_label(label, where=where)
        if label in found and not (text and found[label]):
            raise InputError(f"the label {label!r} is there twice", where=where, hint=NAMES_HINT)
        found[label] = f"{found.get(label, '')} {text}".strip()
    if len(found) < 2:
        what = f"two labels or more are needed; found {len(found)}"
        raise InputError(what, where=path, hint=NAMES_HINT)
    return tuple(sorted(found.items()))


def train_by_names(given: Training) -> TrainedModel:
    """Train on the names and descriptions of labels alone.

    The weights are those that a regression on word vectors has before it has seen a document. Texts
    are compared with the mean of the unlabeled documents; without these, with that of the names and
    the words of the table.

    raises  SettingsError: a setting needs labeled documents
    """
    settings = given.settings
    if settings.model not in (AUTO, STACKED) or given.way or given.step or settings.targets:
        what = "needs labeled documents (SOURCE) beside these options"
        hint = "give SOURCE, or leave out ‹model›, ‹em›, ‹min_recall› and ‹min_precision›"
        raise SettingsError(what, where="names", hint=hint)
    check_features(given.features, settings)
    features = given.features
    model_input = ModelInput()
    if given.unlabeled is None:
        counts = _count_names(settings, features)
    else:
        with given.unlabeled() as (source, on_batch):
            features = replace(features, fields=source.field_names)
            counts = count_unlabeled(source, features, jobs=given.jobs, on_batch=on_batch)
            model_input = source.model_input
    fitted = fit_names(counts, features, settings, jobs=given.jobs)
    given.say(
        "the accuracy is not estimated, because there are no labeled documents; nbtext evaluate measures it on some"
    )
    return make_trained_model(replace(fitted, input=model_input), None)


def fit_names(
    counts: CorpusCounts, features: FeatureSettings, settings: ModelSettings, *, jobs: int = 1
) -> FittedModel:
    """Return the model of the names and descriptions of labels alone.

    counts  of unlabeled documents, all of which are retained
    """
    labels = tuple(label for label, _ in settings.names)
    n_labels = len(labels)
    # all documents are of the first label, and none of them counts
    n_documents = np.append(counts.statistics.class_documents, np.zeros(n_labels - 1, np.int64))
    statistics = replace(counts.statistics, class_documents=n_documents)
    counts = replace(counts, labels=labels, statistics=statistics, empty=None)

    def learn_names(_: Fitting, data: TrainingData, n_known: Array) -> Learned:
        assert data.vectors is not None
        assert data.vectors.names is not None
        is_empty = ~data.vectors.names.any(axis=1)
        if is_empty.any():
            names = list_some(printable(labels[k]) for k in np.flatnonzero(is_empty).tolist())
            what = f"the table has no word that tells {names} from other labels"
            raise InputError(
                what, where=list_some(settings.vectors or ()), hint="describe these labels"
            )
        data = replace(data, class_weights=np.zeros(n_labels))
        plain = replace(settings, calibrate=False)  # because there are no folds
        scorer, selection = learn(data, n_known, plain, goals=Goals(), jobs=jobs)
        # the log-odds of a document do not depend on its length
        scale = TemperatureScaling(1 / max(1.0, float(data.table.lengths.mean())), 1.0)
        task = TASKS[find_task(has_one_label=True)].load("task")(
            labels, np.full(n_labels, -np.log(n_labels)), Calibration(scale)
        )
        return scorer, selection.hyperparameters, task

    fitted = fit_linear_model(prepare(counts, features, settings, jobs=jobs), learn_names)
    return replace(fitted, documents=DocumentNumbers(0, (0,) * n_labels))


def _count_names(settings: ModelSettings, features: FeatureSettings) -> CorpusCounts:
    """Return the counts of what stands for texts: words of a table, some at a time, and, about as
    often, the names of labels.
    """
    words = read_vectors(settings.vectors or (), [], N_WORDS).further
    words = [word for word in words if not word.startswith(BLANK)]
    texts = [" ".join(words[start::N_TEXTS]) for start in range(min(N_TEXTS, len(words)))]
    names = [text or split_name(label) for label, text in settings.names]
    texts += names * max(1, len(texts) // len(names))
    counter = CorpusCounter(features, sample_size=None)
    counter.add(Batch([""] * len(texts), (texts,), [""] * len(texts)))
    return counter.finish()

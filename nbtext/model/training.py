"""Training: from a source, or a corpus's counts, to a model.

The modules that fit models are imported when the documents have been counted, so that they can be
imported meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.bayes.settings import AUTO, BEST, COMBINED, ModelSettings
from nbtext.documents.settings import already_counted
from nbtext.documents.source import Source
from nbtext.errors import InputError, SettingsError
from nbtext.features.settings import MAX_HASH_BITS, FeatureSettings
from nbtext.features.stored_documents import Spill, scratch_folder
from nbtext.kernel import HAS_KERNEL
from nbtext.model.corpus_counts import SAMPLE_SIZE, SELECTION_SIZE, CorpusCounts
from nbtext.model.source_counting import (
    CountingTask,
    OnBatch,
    count_in_threads,
    source_features,
)
from nbtext.model.view_selection import WORD_VIEWS, count_for_model
from nbtext.records import frozen
from nbtext.registry import (
    Application,
    check_kind,
    has_application,
    import_place,
    left_out,
    list_applications,
    load_method,
)
from nbtext.settings import check_rules, list_options, make_record, refuse

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel

# counts a source
Executor = Callable[["Source", CountingTask, OnBatch | None], CorpusCounts]
MAX_DERIVED = 1 << 25  # columns that are derived from hashed features

# the applications of the options that use unlabeled documents
USES = {"em": "unlabeled", "keywords": "keywords", "vectors": "vectors"}
# Ways to fit of later layers, by the name of the model; each place is imported when it is used. The
# function gets what to train on, and how, the source, and the callback of what is read.
WAYS = {BEST: "nbtext.evaluation.search:train_best"}

# settings of features: words that these leave out or change would come back from a table
NOT_WITH_VECTORS = str.split(
    "stem strip_accents vocabulary hash_bits min_df max_df max_features select idf"
)


class Step(NamedTuple):
    """What the options of an application ask a command for; it is imported when it is called.

    names     of the options that are given
    settings  a record of them
    """

    names: list[str]
    application: Application
    place: str
    settings: Any

    def __call__(self, training: Training) -> TrainedModel:
        from nbtext.model.fitted_model import TrainedModel

        place = f"{self.application.package}.{self.place}"
        function = self.application.load(self.place)
        check_kind(function, Callable, place)
        trained: TrainedModel = function(self.settings, training)
        check_kind(trained, TrainedModel, f"{place}()")
        return trained


# opens documents to train on; the callback is called with each block that is read
Documents = Callable[[], AbstractContextManager[tuple["Source", OnBatch | None]]]


@frozen(kw_only=True, eq=False)
class Training:
    """What a model is trained on, and how.

    labeled    opens the labeled documents
    unlabeled  opens further documents, without their labels; None: there are none
    selects    whether features are selected if the settings leave them open
    way        the name of a way to fit, one of WAYS; None: the settings say all
    given      the names of the settings that were given, which a search keeps
    step       of an application: trains the model instead; None: no application does
    task       the name of the task; None: it follows from the label sets
    jobs       number of threads
    executor   counts the documents instead of threads; `nbtext.cluster` has one for Dask
    is_saved   whether the caller only saves the model, and does not update or refit it in memory.
               Then fewer documents are retained while it is trained
    folder     of temporary files, of documents that are too many for memory; None: that of the
               system
    say        is called with lines for people
    show       is called with the result of a search
    """

    labeled: Documents
    settings: ModelSettings
    features: FeatureSettings = FeatureSettings()
    unlabeled: Documents | None = None
    selects: bool = True
    way: str | None = None
    given: Collection[str] = ()
    step: Step | None = None
    task: str | None = None
    jobs: int = 1
    executor: Executor | None = None
    is_saved: bool = False
    folder: str | None = None
    say: Callable[..., None] = lambda *_: None
    show: Callable[[Any], None] = lambda _: None


def find_step(command: str, given: Mapping[str, Any]) -> Step | None:
    """Return the step of an application that given options ask for; one that includes the options
    of others.

    command  which has the options
    raises   SettingsError: given settings exclude or need each other
    """
    steps = []
    for application in list_applications():
        if command not in application.options:
            continue
        place, step = application.options[command]
        names: list[str] = []
        with left_out(application.package):
            record = application.load(place)
            names = [field.name for field, _ in list_options(record) if field.name in given]
        if names:
            check_rules(getattr(record, "RULES_OF_COMMAND", ()), given)
            steps.append(Step(names, application, step, make_record(record, given)))
    for found in steps:
        if all(hasattr(found.settings, name) for each in steps for name in each.names):
            return found  # its settings have the options of all
    if steps:
        raise SettingsError(
            f"cannot be combined with ‹{steps[0].names[0]}›, because each of them trains the model",
            where=steps[1].names[0],
            hint="leave out one of them",
        )
    return None


def train_model(given: Training) -> TrainedModel:
    """Train a model; the result does not depend on the number of threads."""
    if given.step is not None:
        return given.step(given)
    if given.unlabeled is not None:
        if not given.settings.vectors:
            needed = " or ".join(
                f"‹{name}›" for name, each in USES.items() if has_application(each)
            )
            raise SettingsError(f"needs {needed}", where="unlabeled", hint=f"add {needed}")
        given = load_method("add_unlabeled_words")(given, given.unlabeled)
    with given.labeled() as (source, on_batch):
        if given.way is None:
            return train_on_source(given, source, on_batch)
        model: TrainedModel = import_place(WAYS[given.way])(given, source, on_batch)
        return model


def train_on_source(given: Training, source: Source, on_batch: OnBatch | None) -> TrainedModel:
    """Train the model of the settings on all documents of a source."""
    model_settings = given.settings
    features = source_features(source, given.features)
    check_features(features, model_settings, source.first_matrix() is not None)
    if given.executor is not None and source.first_matrix() is not None:
        raise refuse("cluster", already_counted())
    size = sample_size(features, model_settings)
    is_selected = model_settings.model in (AUTO, COMBINED) and model_settings.keep_sample is None
    # the more documents, the less strict a threshold must be
    is_selected &= features.is_counting and not model_settings.targets
    if given.is_saved and is_selected and size is not None and source.has_single_labels:
        size = SELECTION_SIZE

    def say_stored(n_bytes: int | None, folder: str) -> None:
        needed = "" if n_bytes is None else f": about {n_bytes / 1e9:,.1f} GB"
        what = (
            "the counted documents are too many to be kept in memory, and go to temporary files in"
        )
        given.say(f"{what} {folder}{needed}")

    spill = Spill(given.folder or scratch_folder("-"), source.size, say_stored)
    n_retained = max(SAMPLE_SIZE, model_settings.keep_sample or 0)
    is_blocked = can_be_blocked(model_settings)

    def count(each: FeatureSettings, on_batch: OnBatch | None) -> CorpusCounts:
        task = CountingTask(each, size, spill=spill if is_blocked else None)
        if given.executor is not None:
            return given.executor(source, task, on_batch)
        return count_in_threads(source, task, given.jobs, on_batch)

    try:
        if source.first_matrix() is None and given.executor is None:
            features, model_settings, counts, fitted = count_for_model(
                count,
                source,
                features,
                model_settings,
                on_batch,
                jobs=given.jobs,
                may_select=given.selects,
            )
        else:
            fitted = None
            counts = count(features, on_batch)
            if model_settings.keep_sample is not None and (
                features.vocabulary is not None or counts.weighting is not None
            ):
                raise InputError(
                    "‹keep_sample› needs the counts of all features, and this matrix contains weights or selected ones",
                    hint="train on the texts, or on a matrix of the counts of all features",
                )
        if not counts.statistics.n_documents:
            raise InputError("SOURCE has no documents to train on")
        counts = replace(counts.retain(n_retained), chosen_task=given.task)
        if fitted is None:
            fitted = train_on_counts(counts, features, model_settings, jobs=given.jobs).fitted
    finally:
        spill.close()
    from nbtext.model.fitted_model import make_trained_model

    return make_trained_model(
        replace(fitted, input=source.model_input), replace(counts, stored=None)
    )


def train_on_counts(
    counts: CorpusCounts, features: FeatureSettings, model_settings: ModelSettings, *, jobs: int = 1
) -> TrainedModel:
    """Train on a counted corpus."""
    from nbtext.model.fitted_model import make_trained_model
    from nbtext.model.fitting import fit_model

    if model_settings.vectors:
        from nbtext.model.word_vectors import check_table

        check_table(counts, features, model_settings)
    return make_trained_model(fit_model(counts, features, model_settings, jobs=jobs), counts)


def sample_size(features: FeatureSettings, model_settings: ModelSettings) -> int | None:
    """Return how many documents the counts must retain for such a model to be fitted; None: all of
    them.
    """
    return (
        None
        if needs_all_documents(features, model_settings)
        else model_settings.keep_sample or SAMPLE_SIZE
    )


def can_be_blocked(model_settings: ModelSettings) -> bool:
    """Return whether the model can be fitted to documents in blocks, of which one is in memory."""
    is_known = model_settings.is_linear and model_settings.linear_model.is_one_vs_rest
    return HAS_KERNEL and is_known


def check_features(
    features: FeatureSettings, model_settings: ModelSettings, is_counted: bool = False
) -> None:
    """Raise SettingsError if a model of hashed features would need too much memory, word vectors do
    not apply to the features, or `combined` would be another model than that of the texts. Call it
    before counting.

    Some event models have several columns for each feature.

    is_counted  whether the documents are rows of a matrix
    """
    if is_counted and model_settings.model == COMBINED and features.is_of_single_words:
        raise SettingsError(
            "combined counts words and pairs of words, and this matrix has no views of texts",
            where="model",
            hint=f"give texts, or vectorize them with ‹view› {' and ‹view› '.join(WORD_VIEWS)}",
        )
    default = FeatureSettings()
    for name in NOT_WITH_VECTORS if model_settings.vectors else ():
        # max_df 1 is one document, and 1.0 all of them
        if repr(getattr(features, name)) != repr(getattr(default, name)):
            raise SettingsError(
                "cannot be combined with word vectors, which add the words of a table",
                where=name,
                hint="leave out one of them",
            )
    derive = None if model_settings.is_linear else model_settings.event_model.derivation
    width = derive(model_settings.values).width if derive is not None else 1
    features.check_hash_bits(min(MAX_HASH_BITS, (MAX_DERIVED // width).bit_length() - 1))


def needs_all_documents(features: FeatureSettings, model_settings: ModelSettings) -> bool:
    """Return whether the model needs the counts of each document, because class statistics are not
    sufficient.
    """
    if model_settings.is_linear:
        return True
    event_model = model_settings.event_model
    return event_model.sufficient_statistics is not None or not (
        features.is_linear or event_model.is_binary
    )

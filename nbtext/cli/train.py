"""`nbtext train`: train a model on labeled documents."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, BEST, COMBINED, ModelSettings
from nbtext.cli import options, running
from nbtext.cli.command import Step, command, refuse_settings
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import InputSettings, already_counted
from nbtext.errors import SettingsError, number_of
from nbtext.evaluation.settings import MAX_SIZES, SAMPLE_SIZES
from nbtext.features.settings import FeatureSettings
from nbtext.parallel import import_meanwhile
from nbtext.records import frozen
from nbtext.registry import has_application, offer
from nbtext.settings import Excludes, part, refuse, setting

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch, Block
    from nbtext.model.fitted_model import TrainedModel

SAMPLE_CHARACTERS = 20_000  # of texts whose script is looked at
# the applications of the options that use unlabeled documents
USES = {"--em": "unlabeled", "--keywords": "keywords", "--vectors": "vectors"}
NOT_ON_CLUSTERS = (BEST, COMBINED, *LINEAR_MODELS)
ON_ONE_MACHINE = "workers count for one Naive Bayes model, and this one is trained on one machine"


@frozen(kw_only=True)
class Train:
    """The settings of `nbtext train`."""

    sources: tuple[str, ...] = options.sources()
    output: str | None = options.new_model()
    input: InputSettings = part(InputSettings)
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = options.trained_model()
    max_model_bytes: int | None = options.max_model_bytes()
    unlabeled: tuple[str, ...] = setting(
        (),
        "Documents to train on without their labels; may be repeated."
        + offer("unlabeled", " With --em, the model learns from all of their words.")
        + offer("keywords", " With --keywords, SOURCE holds labeled documents.")
        + offer("vectors", " With --vectors, their words are added to the model."),
        file="source",
        is_repeated=True,
        title="Unlabeled documents",
        applications=tuple(USES.values()),
    )
    cluster: ClusterSettings = part(ClusterSettings)
    run: options.RunSettings = options.run()
    step: Step | None = None  # of an application

    @property
    def is_search(self) -> bool:
        """Whether the model is to be searched."""
        return self.model_settings.get("model") == BEST


@command(
    Train,
    common="-o --input-format --text-field --label-field --label-separator --ngrams --stop-words --weighting --model "
    "--smoothing",
    example="nbtext train letters/train -o letters.joblib",
    notes="Memory for Naive Bayes on counts depends on the number of features and labels, not on the number of "
    "documents. With TF-IDF weights, and for categorical, gaussian and linear models, it also grows with "
    "the number of documents; nbsvm and svm write temporary files instead where it would be about 1 GB.",
    rules=[
        Excludes("unlabeled", "cluster"),
        *(Excludes("cluster", f"model={name}", ON_ONE_MACHINE) for name in NOT_ON_CLUSTERS),
        Excludes("cluster", "vectors", ON_ONE_MACHINE),
        Excludes("max_model_bytes", "keep_sample", because="a smaller model holds no counts"),
    ],
)
def train(given: Train) -> None:
    """Train a model on labeled documents, and save it.

    SOURCE may also be a model file. Then a new model is fitted to the counts in that file, with its
    settings, except for the options of the group Model that you give. No text is read. Files of
    linear models hold counts only with --keep-sample, and those of a limited size hold none.
    """
    with running.model_output(given.output) as target:
        trained = _train(given)
        saved = trained
        reduction = None
        if given.max_model_bytes is not None:
            from nbtext.artifact.reduction import limit_size

            reduction = limit_size(trained, given.max_model_bytes, jobs=given.run.jobs)
            saved = reduction.model
        running.save_and_summarize(saved, target, quiet=given.run.quiet)
        if reduction is not None:
            from nbtext.report.training import format_reduction

            running.say(format_reduction(reduction), quiet=given.run.quiet)
        if not (
            given.run.quiet
            or running.is_model_alone(given.sources, given.input)
            or trained.counts.statistics.is_fractional  # the documents have no labels
        ):
            from nbtext.bayes.diagnostics import LeaveOneOutEstimate
            from nbtext.report.first_look import format_first_look, look_at

            estimate = saved.fitted.estimate
            settings = saved.fitted.model_settings
            accuracy = None
            is_for_accuracy = settings.optimize is None and not settings.has_targets
            if isinstance(estimate, LeaveOneOutEstimate) and is_for_accuracy:
                accuracy = (estimate.accuracy, estimate.documents)
            running.say(
                *format_first_look(
                    look_at(trained.counts, trained.fitted.feature_settings.view), accuracy
                )
            )


def _train(given: Train) -> TrainedModel:
    is_model = running.is_model_alone(given.sources, given.input)
    if is_model:
        refuse_settings(
            FeatureSettings,
            InputSettings,
            ClusterSettings,
            because=already_counted("a model"),
            but=("input_format",),
        )
        names = ["unlabeled"] if given.unlabeled else []
        for name in names + (given.step.names if given.step else []):
            raise refuse(name, "SOURCE holds only counts, and no documents")
    if given.step is not None:
        trained: TrainedModel = given.step(given)
        return trained
    if given.unlabeled:
        if not given.model_settings.get("vectors"):
            needed = " or ".join(flag for flag, name in USES.items() if has_application(name))
            raise SettingsError(f"needs {needed}", where="unlabeled", hint=f"add {needed}")
        words = list_unlabeled_words(given)
        given = replace(given, model_settings={**given.model_settings, "more_words": words})
    if is_model and given.is_search:
        what = "best needs texts, but SOURCE is a model, which holds only counts"
        hint = "name a model"
        raise SettingsError(what, where="model", hint=f"{hint}, or train on the documents")
    if is_model:
        from nbtext.artifact.model import load_model_file
        from nbtext.model.growth import refit

        return refit(load_model_file(given.sources[0]), given.model_settings)
    return _search(given) if given.is_search else _fit(given)


def _fit(given: Train) -> TrainedModel:
    """Fit a model to documents."""
    from nbtext.model.training import train_on_source

    model_settings = ModelSettings(**given.model_settings)
    jobs = given.run.jobs

    def say_stored(n_bytes: int | None, folder: str) -> None:
        needed = "" if n_bytes is None else f": about {n_bytes / 1e9:,.1f} GB"
        what = (
            "the counted documents are too many to be kept in memory, and go to temporary files in"
        )
        running.say(f"{what} {folder}{needed}", quiet=given.run.quiet)

    with (
        running.open_documents(given.sources, given.input, given.run) as (source, on_batch),
        running.open_workers(given.sources, given.cluster, given.run) as workers,
    ):
        if workers is not None and source.first_matrix() is not None:
            raise refuse("cluster", already_counted())
        # it imports NumPy: the documents are read first
        from nbtext.features.stored_documents import Spill, scratch_folder

        spill = Spill(scratch_folder(given.output or "-"), source.size, say_stored)
        if jobs > 1:
            import_meanwhile("nbtext.model.fitting", "nbtext.report.training")
        text = ""  # of the first documents

        def look_at(block: Block, batch: Batch) -> None:
            nonlocal text
            on_batch(block, batch)
            for each in chain.from_iterable(batch.columns):
                if len(text) >= SAMPLE_CHARACTERS:
                    break
                text += each[:SAMPLE_CHARACTERS]

        trained = train_on_source(
            source,
            given.features,
            model_settings,
            jobs=jobs,
            on_batch=look_at,
            executor=workers.count if workers else None,
            is_saved=True,
            spill=spill,
        )
    from nbtext.report.training import format_script_hint

    if hint := format_script_hint(trained, text):
        running.say(hint, quiet=given.run.quiet)
    return trained


def _search(given: Train) -> TrainedModel:
    """Return the most accurate model, and print a table of the candidates."""
    from nbtext.evaluation.search import search_source
    from nbtext.model.training import can_be_blocked
    from nbtext.report.terminal import format_screen
    from nbtext.report.training import search_parts

    model_settings = ModelSettings(**{**given.model_settings, "model": AUTO})
    share = 1.0
    if running.are_read_again(given.sources):
        with running.open_documents(given.sources, given.input, replace(given.run, quiet=True)) as (
            source,
            _,
        ):
            if (source.size or 0) > MAX_SIZES[source.unit]:
                share = SAMPLE_SIZES[source.unit] / (source.size or 1)
    read = given.input
    run = given.run
    is_sampled = share < 1
    if is_sampled:
        read = replace(read, sample_share=share)
        run = replace(run, quiet=True)
    with running.open_documents(given.sources, read, run) as (source, on_batch):
        candidates = running.list_searched(given.features, model_settings, source)
        if is_sampled:  # of so many that not all are in memory
            candidates = [
                each
                for each in candidates
                if not each.is_linear or can_be_blocked(each.model_settings)
            ]
        found = search_source(source, candidates, jobs=run.jobs, on_batch=on_batch)
    if not given.run.quiet:
        sys.stderr.write(format_screen(search_parts(found), running.screen()))
    if not is_sampled:
        return found.model
    what = f"searched on a sample of {number_of(found.n_documents, 'document')}, without models that need all documents in memory"
    running.say(f"{what}; training the best one on all documents", quiet=given.run.quiet)
    best = found.best.candidate
    settings = {
        each.name: getattr(best.model_settings, each.name) for each in fields(best.model_settings)
    }
    return _fit(replace(given, features=best.features, model_settings=settings))


def list_unlabeled_words(given: Train) -> tuple[str, ...]:
    """Return the words of the unlabeled documents, the most frequent ones first."""
    from nbtext.model.source_counting import CountingTask, count_in_threads, source_features
    from nbtext.model.word_vectors import remove_prefix

    check_texts(given, where="unlabeled")
    with running.open_documents(given.unlabeled, given.input, given.run) as (source, on_batch):
        features = source_features(source, given.features)
        features = replace(features, view=(), analyzer="word", ngrams=(1, 1))
        task = CountingTask(features, 0, is_labeled=False)
        counts = count_in_threads(source, task, given.run.jobs, on_batch)
    assert counts.vocabulary is not None
    order = (-counts.statistics.feature_occurrences).argsort(kind="stable")
    prefixes = [f"{field}:" for field in features.fields] or [""]
    terms = counts.vocabulary.terms
    return tuple(dict.fromkeys(remove_prefix(terms[column], prefixes) for column in order.tolist()))


def check_texts(given: Train, where: str) -> None:
    """Raise SettingsError if a source holds only counts; `where` is the setting that needs
    texts.
    """
    for path in (*given.sources, *given.unlabeled):
        if running.is_model_alone((path,), given.input):
            raise SettingsError(
                f"{path} holds no texts", where=where, hint="give texts, labeled and unlabeled"
            )

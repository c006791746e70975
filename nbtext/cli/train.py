"""`nbtext train`: train a model on labeled documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.event_models import LINEAR_MODELS
from nbtext.bayes.settings import AUTO, BEST, COMBINED, VECTORS, ModelSettings
from nbtext.cli import options, running
from nbtext.cli.command import command, refuse_settings, typed_settings
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import InputSettings, already_counted
from nbtext.errors import SettingsError
from nbtext.features.settings import FeatureSettings
from nbtext.parallel import import_meanwhile
from nbtext.records import Strings, frozen
from nbtext.registry import load_method, offer
from nbtext.settings import Excludes, part, refuse, setting

if TYPE_CHECKING:
    from nbtext.documents.batch import Batch, Block
    from nbtext.documents.source import Source
    from nbtext.evaluation.search import Search
    from nbtext.model.corpus_counts import CorpusCounts
    from nbtext.model.fitted_model import TrainedModel
    from nbtext.model.source_counting import CountingTask, OnBatch

SAMPLE_CHARACTERS = 20_000  # of texts whose script is looked at
NOT_ON_CLUSTERS = (BEST, COMBINED, *LINEAR_MODELS)
ON_ONE_MACHINE = "workers count for one Naive Bayes model, and this one is trained on one machine"


@frozen(kw_only=True)
class Train:
    """The settings of `nbtext train`."""

    sources: Strings = options.sources(is_required=False)
    output: str | None = options.new_model()
    input: InputSettings = part(InputSettings)
    features: FeatureSettings = part(FeatureSettings)
    model_settings: Mapping[str, Any] = options.trained_model()
    like: str | None = setting(
        None,
        "Model whose settings the new one gets, so that the two can be merged.",
        file="model",
        title="Model",
    )
    max_model_bytes: int | None = options.max_model_bytes()
    unlabeled: Strings = setting(
        (),
        "Documents to train on without their labels; may be repeated."
        + offer("unlabeled", " With --em, the model learns from all of their words.")
        + offer("keywords", " With --keywords, SOURCE holds labeled documents.")
        + offer("vectors", " With --vectors, their words are added to the model."),
        file="source",
        is_repeated=True,
        title="Unlabeled documents",
        applications=("unlabeled", "keywords", "vectors"),
    )
    cluster: ClusterSettings = part(ClusterSettings)
    run: options.RunSettings = options.run()
    step: Any = None  # of an application: a `Step` (`nbtext.model.training`)

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
    if not given.sources and "names" not in given.model_settings:
        raise click.UsageError("Missing argument 'SOURCE...'")
    with running.model_output(given.output) as target:
        # asked once, because a pipe has its beginning only once
        is_refit = running.is_model_alone(given.sources, given.input)
        trained = _train(given, is_refit)
        saved = trained
        reduction = None
        if given.max_model_bytes is not None:
            from nbtext.artifact.reduction import limit_size

            reduction = limit_size(trained, given.max_model_bytes, jobs=given.run.jobs)
            saved = reduction.model
        running.save_and_summarize(saved, target, given.run)
        if reduction is not None:
            from nbtext.report.training import format_reduction

            given.run.say(format_reduction(reduction))
        if not (
            given.run.quiet
            or is_refit
            or trained.load_counts is None
            or trained.counts.statistics.is_fractional  # the documents have no labels
        ):
            from nbtext.bayes.diagnostics import LeaveOneOutEstimate
            from nbtext.report.first_look import format_first_look, look_at

            estimate = saved.fitted.estimate
            settings = saved.fitted.model_settings
            accuracy = None
            is_for_accuracy = settings.optimize is None and not settings.targets
            if isinstance(estimate, LeaveOneOutEstimate) and is_for_accuracy:
                accuracy = (estimate.accuracy, estimate.interval)
            given.run.say(
                *format_first_look(
                    look_at(trained.counts, trained.fitted.feature_settings.view), accuracy
                )
            )


def _train(given: Train, is_refit: bool) -> TrainedModel:
    names = list(given.step.names) if given.step else []
    if is_refit:
        refuse_settings(
            FeatureSettings,
            InputSettings,
            ClusterSettings,
            because=already_counted("a model"),
            but=("input_format",),
        )
        for name in ["unlabeled"] * bool(given.unlabeled) + ["like"] * bool(given.like) + names:
            raise refuse(name, "SOURCE holds only counts, and no documents")
        if given.is_search:
            raise SettingsError(
                "best needs texts, but SOURCE is a model, which holds only counts",
                where="model",
                hint="name a model, or train on the documents",
            )
        from nbtext.artifact.model import load_model_file
        from nbtext.model.growth import refit

        return refit(load_model_file(given.sources[0]), given.model_settings)
    for path in (*given.sources, *given.unlabeled):
        if (given.unlabeled or names) and running.is_model_alone((path,), given.input):
            raise SettingsError(
                f"{path} holds no texts",
                where=next(iter(names), "unlabeled"),
                hint="give texts, labeled and unlabeled",
            )
    text: str = ""  # of the first documents

    @contextmanager
    def open_labeled() -> Iterator[tuple[Source, OnBatch]]:
        nonlocal text
        with running.open_documents(given.sources, given.input, given.run) as (source, on_batch):

            def look_at(block: Block, batch: Batch) -> None:
                nonlocal text
                on_batch(block, batch)
                for each in chain.from_iterable(batch.columns):
                    if len(text) >= SAMPLE_CHARACTERS:
                        break
                    text += each[:SAMPLE_CHARACTERS]

            yield source, look_at

    def show(search: Search) -> None:
        from nbtext.report.terminal import format_screen
        from nbtext.report.training import search_parts

        if not given.run.quiet:
            sys.stderr.write(format_screen(search_parts(search), running.screen()))

    def count(source: Source, task: CountingTask, on_batch: OnBatch | None) -> CorpusCounts:
        with running.open_workers(given.sources, given.cluster, given.run) as workers:
            assert workers is not None
            return workers.count(source, task, on_batch)

    from nbtext.features.stored_documents import scratch_folder
    from nbtext.model.training import Training, train_model

    if given.run.jobs > 1:
        import_meanwhile("nbtext.model.fitting", "nbtext.report.training")
    settings = given.model_settings
    features = given.features
    if given.like is not None:
        refuse_settings(FeatureSettings, ModelSettings, because="the settings are those of --like")
        from nbtext.artifact.model import load_model_file

        like = load_model_file(given.like).fitted
        if any(part.model == VECTORS for part in like.hyperparameters.parts):
            raise SettingsError(
                f"{given.like} has word vectors, and not their table",
                where="like",
                hint="give --vectors and its other options",
            )
        features, found = like.requested_settings
        settings = {field.name: getattr(found, field.name) for field in fields(found)}
    unlabeled = partial(running.open_documents, given.unlabeled, given.input, given.run)
    fit = train_model if given.sources else load_method("train_by_names")
    trained: TrainedModel = fit(
        Training(
            labeled=open_labeled,
            unlabeled=unlabeled if given.unlabeled else None,
            features=features,
            selects=given.like is None and not typed_settings(FeatureSettings),
            settings=ModelSettings(**{**settings, "model": AUTO} if given.is_search else settings),
            way=BEST if given.is_search else None,
            given=typed_settings(FeatureSettings, ModelSettings),
            step=given.step,
            jobs=given.run.jobs,
            executor=None if given.cluster.cluster is None else count,
            is_saved=True,
            folder=scratch_folder(given.output or "-"),
            say=given.run.say,
            show=show,
        )
    )
    from nbtext.report.training import format_script_hint

    if (
        given.sources
        and not (names or given.is_search)
        and (advice := format_script_hint(trained, text))
    ):
        given.run.say(advice)
    return trained

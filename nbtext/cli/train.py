"""`nbtext train`: texts in, a model out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nbtext.bayes.settings import ModelSettings
from nbtext.cli.clustering import workers_if_wanted
from nbtext.cli.files import MODEL_OUTPUT
from nbtext.cli.options import StagedCommand, collected, given, refuse_for_matrix, refuse_given
from nbtext.cli.running import is_matrix_alone, is_model_alone, jobs_or_all, model_output, reading, save
from nbtext.cli.searching import looked_for
from nbtext.cli.shared_options import (
    cluster_options,
    feature_options,
    reading_options,
    run_options,
    searching_options,
    sources,
    written_option,
)
from nbtext.cli.unlabeled import learned_from_both, unlabeled_options, wants_unlabeled
from nbtext.cluster.settings import ClusterSettings
from nbtext.documents.settings import ReadingSettings
from nbtext.errors import SettingsError
from nbtext.evaluation.settings import SEARCHES, SearchSettings
from nbtext.features.settings import FeatureSettings

if TYPE_CHECKING:
    from nbtext.model.fitted_model import TrainedModel


@click.command(
    cls=StagedCommand,
    epilog="Example: nbtext train corpora/letters/train -o letters.joblib\n\n"
    "Memory grows with the vocabulary and the labels, not with the corpus; with TF-IDF weights, and for categorical "
    "and gaussian models, with the corpus too. For --em it holds 20 bytes for each distinct word of an unlabeled "
    "document.",
)
@sources
@written_option(MODEL_OUTPUT)
@reading_options
@feature_options
@searching_options
@cluster_options
@unlabeled_options
@run_options
def train(
    sources: tuple[str, ...],
    output: str | None,
    jobs: int | None,
    quiet: bool,
    no_progress: bool,
    **options: Any,
) -> None:
    """Learn labels from texts, and save the model.

    SOURCE may also be a model, whose counts are read again without any text.
    """
    with model_output(output) as target:
        trained = _trained(sources, options | {"jobs": jobs, "quiet": quiet, "no_progress": no_progress})
        save(trained, target, quiet=quiet)


def _trained(sources: tuple[str, ...], options: dict[str, Any]) -> TrainedModel:
    from nbtext.artifact.model import load_model
    from nbtext.documents.matrix import load_matrix
    from nbtext.model.fitting import train_on_source
    from nbtext.model.growth import refit
    from nbtext.model.matrices import train_on_matrix

    jobs, quiet, no_progress = options["jobs"], options["quiet"], options["no_progress"]
    settings = collected(ReadingSettings, options)
    if options["model"] not in SEARCHES:
        refuse_given(SearchSettings, options=options, because="only --model auto and best look for one")
    if wants_unlabeled(options):
        return learned_from_both(sources, options)
    if is_model_alone(sources, settings):
        records = (FeatureSettings, ReadingSettings, ClusterSettings)
        refuse_given(*records, options=options, because="a model is no text, and has its features already")
        if options["model"] in SEARCHES:
            hint = "name a model, or train on the texts"
            raise SettingsError("the texts would be needed, and a model keeps none", where="--model", hint=hint)
        return refit(load_model(sources[0]), given(ModelSettings, options))
    if options["model"] in SEARCHES:
        features, modelling = looked_for(sources, jobs_or_all(jobs), options)
    else:
        features, modelling = collected(FeatureSettings, options), collected(ModelSettings, options)
    if is_matrix_alone(sources, settings):
        refuse_for_matrix(options)
        return train_on_matrix(load_matrix(sources[0]), modelling)
    with (
        reading(sources, settings, quiet=quiet, no_progress=no_progress) as (source, on_batch),
        workers_if_wanted(sources, options) as workers,
    ):
        return train_on_source(source, features, modelling, jobs=jobs_or_all(jobs), on_batch=on_batch, executor=workers)

"""The step of `nbtext train --em`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from nbtext.applications.unlabeled.own_labels import train_on_own_labels
from nbtext.applications.unlabeled.selection import check_semi_supervised, train_with_unlabeled
from nbtext.bayes.settings import ModelSettings, check_label_count
from nbtext.cli import running
from nbtext.cli.train import Train, check_texts, list_unlabeled_words
from nbtext.errors import InputError
from nbtext.model.source_counting import count_source, count_unlabeled, source_features
from nbtext.model.training import sample_size

if TYPE_CHECKING:
    from nbtext.applications.unlabeled.settings import UnlabeledSettings
    from nbtext.model.fitted_model import TrainedModel


def train_semi_supervised(settings: UnlabeledSettings, given: Train) -> TrainedModel:
    """Fit a model to labeled and unlabeled documents."""
    check_texts(given, where="unlabeled")
    say = partial(running.say, quiet=given.run.quiet)
    jobs = given.run.jobs
    model_settings = ModelSettings(**given.model_settings)
    has_vectors = model_settings.vectors is not None
    if has_vectors:
        model_settings = replace(model_settings, more_words=list_unlabeled_words(given))
    else:
        check_semi_supervised(given.features, model_settings)
    with running.open_documents(given.unlabeled, given.input, given.run) as (
        source,
        on_batch,
    ):
        others = count_unlabeled(source, given.features, jobs=jobs, on_batch=on_batch)
    with running.open_documents(given.sources, given.input, given.run) as (source, on_batch):
        features = source_features(source, given.features)
        size = sample_size(features, model_settings)
        labeled = count_source(source, features, jobs=jobs, sample_size=size, on_batch=on_batch)
        if not labeled.statistics.n_documents:
            raise InputError("SOURCE has no documents to train on")
        check_label_count(len(labeled.labels), "training on unlabeled documents", "unlabeled")
        if has_vectors:
            trained = train_on_own_labels(
                labeled, others, features, model_settings, say=say, jobs=jobs
            )
        else:
            trained = train_with_unlabeled(
                labeled, others, features, model_settings, settings.em or 0, say=say, jobs=jobs
            )
    if trained.fitted.unlabeled is None:
        rest = "with their words alone" if has_vectors else "without them"
        say(f"the unlabeled documents do not help: the model is trained {rest}")
    return replace(trained, fitted=replace(trained.fitted, input=source.model_input))

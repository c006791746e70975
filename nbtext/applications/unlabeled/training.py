"""The step of `nbtext train --em`."""

from __future__ import annotations

from dataclasses import replace

from nbtext.applications.unlabeled.own_labels import train_on_own_labels
from nbtext.applications.unlabeled.selection import check_semi_supervised, train_with_unlabeled
from nbtext.applications.unlabeled.settings import UnlabeledSettings
from nbtext.bayes.settings import check_label_count
from nbtext.errors import InputError
from nbtext.model.fitted_model import TrainedModel
from nbtext.model.source_counting import count_source, count_unlabeled, source_features
from nbtext.model.training import Training, sample_size
from nbtext.registry import load_method


def train_semi_supervised(settings: UnlabeledSettings, given: Training) -> TrainedModel:
    """Fit a model to labeled and unlabeled documents."""
    say = given.say
    jobs = given.jobs
    has_vectors = bool(given.settings.vectors)
    unlabeled = given.unlabeled
    assert unlabeled is not None  # the option needs them
    if has_vectors:
        given = load_method("add_unlabeled_words")(given, unlabeled)
    else:
        check_semi_supervised(given.features, given.settings)
    model_settings = given.settings
    with unlabeled() as (source, on_batch):
        others = count_unlabeled(source, given.features, jobs=jobs, on_batch=on_batch)
    with given.labeled() as (source, on_batch):
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

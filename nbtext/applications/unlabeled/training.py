"""The step of `nbtext train --em`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.applications.unlabeled.selection import (
    Listener,
    check_semi_supervised,
    train_with_unlabeled,
)
from nbtext.bayes.settings import ModelSettings
from nbtext.cli import running
from nbtext.cli.train import Train, check_texts, learn_keywords
from nbtext.model.keywords import count_unlabeled

if TYPE_CHECKING:
    from nbtext.applications.unlabeled.settings import UnlabeledSettings
    from nbtext.bayes.smoothing import Selection
    from nbtext.model.fitted_model import TrainedModel


def train(settings: UnlabeledSettings, given: Train) -> TrainedModel:
    """Fit a model to labeled and unlabeled documents, or to keywords and unlabeled documents."""
    steps = settings.em or 0
    if given.keywords is not None:
        return learn_keywords(given, given.keywords, steps=steps)
    check_texts(given, where="unlabeled")
    quiet = given.run.quiet
    jobs = given.run.jobs
    features = given.features
    model_settings = ModelSettings(**given.model_settings)
    check_semi_supervised(features, model_settings)
    listener = Listener(
        lambda name, choice: running.say(format_candidate(name, choice), quiet=quiet),
        lambda step, found: running.say(
            f"step {step}: penalized log-likelihood {found:,.1f}", quiet=quiet
        ),
    )
    with running.open_documents(given.unlabeled, replace(given.input, holdout=0.0), given.run) as (
        source,
        on_batch,
    ):
        others = count_unlabeled(source, features, jobs=jobs, on_batch=on_batch)
    with running.open_documents(given.sources, given.input, given.run) as (source, on_batch):
        trained = train_with_unlabeled(
            source,
            others,
            features,
            model_settings,
            steps,
            listener=listener,
            jobs=jobs,
            on_batch=on_batch,
        )
    if trained.fitted.unlabeled is None:
        running.say(
            "the unlabeled documents do not help: the model is trained without them", quiet=quiet
        )
    return trained


def format_candidate(name: str, selection: Selection) -> str:
    """Format the estimate for one way of using unlabeled documents."""
    named = f"{name}, smoothing {selection.hyperparameters.smoothing:.4g}"
    expected = selection.estimate
    if expected is None:
        return f"{named}: no estimate, because no label has two documents"
    return f"{named}: accuracy {expected.accuracy:.4f}, log-loss {expected.log_loss:.4f}"

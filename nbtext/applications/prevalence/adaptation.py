"""Predictions that are adapted to the shares of the labels among the documents: the step of
`nbtext predict --adapt-prior`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.applications.prevalence.estimation import estimate_prevalence
from nbtext.applications.prevalence.shares import shrink_shares
from nbtext.bayes.prevalence import Prevalence
from nbtext.bayes.scorer import log_posterior
from nbtext.cli import running
from nbtext.documents.streams import STANDARD_INPUT, is_regular
from nbtext.errors import SettingsError
from nbtext.model.fitted_model import FittedModel, TrainedModel

if TYPE_CHECKING:
    from nbtext.applications.prevalence.settings import AdaptSettings
    from nbtext.cli.predict import Predict

ONE_PASS = "it reads SOURCE twice, which standard input and a pipe do not allow"


def adapt(settings: AdaptSettings, given: Predict, trained: TrainedModel) -> TrainedModel:
    """Return the model with probabilities for the shares of labels among the documents."""
    paths = (path for path in given.sources if os.path.exists(path) and not os.path.isdir(path))
    if STANDARD_INPUT in given.sources or not all(map(is_regular, paths)):
        raise SettingsError(ONE_PASS, where="adapt_prior", hint="save the documents to a file")
    fitted = trained.fitted
    if not fitted.task.is_exclusive:
        what = "the model gives a document several labels, and the shares of some change the probability of others"
        raise SettingsError(
            what, where="adapt_prior", hint="leave out this option; nbtext prevalence works"
        )
    if fitted.model_settings.has_targets:
        what = "the model's --min-recall or --min-precision holds only for the shares of labels in training"
        raise SettingsError(
            what, where="adapt_prior", hint="leave out this option, or train without targets"
        )
    run = replace(given.run, quiet=True)
    with running.open_documents(given.sources, given.input, run, trained_on=fitted.input) as (
        source,
        _,
    ):
        found = estimate_prevalence(trained, source, jobs=run.jobs)[""]
    return replace(trained, fitted=adapt_prior(fitted, found))


def adapt_prior(model: FittedModel, prevalence: Prevalence) -> FittedModel:
    """Return the model, which has mean posteriors, with probabilities for documents whose labels
    have the estimated shares.

    The probability of each label is multiplied by the ratio of its new share and its share in
    training. An uncertain estimate changes them less; see `shrink_shares`.

    Source: Saerens, Latinne and Decaestecker, Adjusting the Outputs of a Classifier to New a Priori
    Probabilities, 2002, equation 2.4.
    """
    known = model.calibration.mean_posteriors
    earlier = model.calibration.prior_adjustment
    assert known is not None  # the prevalence is estimated by them
    shares = shrink_shares(prevalence.estimate, prevalence.n_documents, known.prior)
    ratios = np.log(shares) - np.log(known.prior)
    adjustment = ratios + (0.0 if earlier is None else earlier)
    calibration = replace(model.calibration, prior_adjustment=adjustment - adjustment.mean())
    # that of documents without a known word
    log_prior = log_posterior((model.log_prior + ratios)[None, :])[0]
    task: Any = model.task
    return replace(model, task=replace(task, calibration=calibration, log_prior=log_prior))

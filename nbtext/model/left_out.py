"""Leave-one-out probabilities of the documents that a model was fitted to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nbtext.bayes.leave_one_out import LeaveOneOut
from nbtext.bayes.scorer import Floats
from nbtext.errors import ModelError
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import FittedModel, TrainedModel
from nbtext.model.fitting import align_to_vocabulary, compute_sufficient_statistics, count_unseen, select_features


def make_left_out(
    fitted: FittedModel, counts: CorpusCounts, *, is_separate: bool = False, jobs: int = 1
) -> LeaveOneOut:
    """Return the retained documents of the counts of an event model, to be left out of it.

    counts  over all features
    is_separate  whether each document is left out alone
    """
    features, settings = fitted.feature_settings, fitted.model_settings
    counts, _ = select_features(align_to_vocabulary(counts, features), features)
    weighted = compute_sufficient_statistics(counts, fitted.weighting, settings)
    n_hapax, _ = count_unseen(counts, features)
    prior = settings.prior_of(counts.labels)
    return LeaveOneOut(*weighted, n_hapax, settings.event_model, prior, jobs, is_separate=is_separate)


def leave_one_out_probabilities(model: TrainedModel) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows of retained documents that can be left out, and their probabilities, (n_rows, n_classes).

    A document is scored by a model of all others; duplicates are left out as the settings say. The smoothing and the
    calibration are those of the model. A document that is the only one of its label cannot be left out.

    Raises
    ------
    ModelError : the model is not an event model
    """
    fitted, counts = model.fitted, model.counts
    fitted.one_label("give leave-one-out probabilities of one label")
    settings = fitted.model_settings
    if settings.is_linear or fitted.unlabeled is not None:
        hint = "use cross-validation"
        raise ModelError(
            f"leave-one-out needs a Naive Bayes model of labeled documents, not {settings.model}", hint=hint
        )
    rows = np.arange(len(counts.sample)).astype(object)
    counts = replace(counts, sample=replace(counts.sample, groups=rows))
    corpus = make_left_out(fitted, counts, is_separate=settings.is_separate)
    judged = corpus.complete().drop_single_documents()
    smoothing = fitted.hyperparameters.smoothing
    if not len(judged.documents):
        return np.zeros(0, dtype=np.int64), np.zeros((0, len(counts.labels)))
    (scores,) = judged.scores(smoothing)
    lengths = judged.n_known if judged.documents.has_lengths else None
    log_posterior = fitted.calibration.log_posterior(judged.ignore_hapaxes(scores, smoothing), lengths)
    unanswered = np.flatnonzero(~judged.is_known)
    if settings.calibrate:
        log_posterior[unanswered] = judged.take(unanswered).unanswered_log_posterior()
    groups = judged.documents.groups
    assert groups is not None  # set above
    return groups.astype(np.int64), np.exp(log_posterior)

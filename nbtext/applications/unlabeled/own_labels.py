"""Training with word vectors on unlabeled documents: a model of the labeled documents labels them,
and another one learns from those of which it is most certain.

This is one step of expectation-maximization with hard labels (Celeux, Govaert, A Classification EM
Algorithm for Clustering, 1992; self-training: Yarowsky 1995). A stack has no probability of a
document, which the other steps would need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nbtext.applications.unlabeled.selection import ALONE, is_improvement
from nbtext.bayes.calibration import Calibration, fit_scaled_temperature
from nbtext.bayes.class_statistics import count_classes
from nbtext.bayes.decision_offsets import find_goals
from nbtext.bayes.diagnostics import Hyperparameters, Unlabeled
from nbtext.bayes.judged_documents import JudgedDocuments
from nbtext.bayes.settings import ModelSettings
from nbtext.bayes.smoothing import judge
from nbtext.errors import number_of
from nbtext.features.counting import align_documents
from nbtext.features.document_table import DocumentTable
from nbtext.features.folds import NEVER_HELD_OUT, stratified_folds
from nbtext.features.settings import FeatureSettings
from nbtext.model.corpus_counts import CorpusCounts
from nbtext.model.fitted_model import (
    DocumentNumbers,
    Evidence,
    FittedModel,
    TrainedModel,
    make_trained_model,
)
from nbtext.model.fitting import fit_model
from nbtext.model.training import train_on_counts
from nbtext.report.training import format_estimate

OWN_LABELS = "own labels"
N_OWN_LABEL_FOLDS = 5
# Of the unlabeled documents, the share that is learned. With 5 and 20 documents of each of 20
# newsgroups and 2,000 unlabeled ones, the accuracy on test documents is 0.50 and 0.71 without
# them; with the most certain 0.3, 0.5, 0.75 and 1 of them it is 0.60 and 0.74, 0.58 and 0.76, 0.56
# and 0.77, and 0.54 and 0.76. Further steps change it by at most 0.01.
LEARNED_SHARE = 0.5
MAX_LEARNED = 2048  # unlabeled documents, because the time of training follows their number


def train_on_own_labels(
    labeled: CorpusCounts,
    unlabeled: CorpusCounts,
    features: FeatureSettings,
    settings: ModelSettings,
    *,
    say: Callable[[str], None],
    jobs: int = 1,
) -> TrainedModel:
    """Train on labeled documents, and on the unlabeled ones whose labels are most certain.

    Labeled documents that are held out, a fifth at a time, calibrate the model. If it does not
    lower their log-loss, or lowers the accuracy, the unlabeled documents are not used.

    unlabeled  the counts that `count_unlabeled` returns; the labels are ignored
    settings   with word vectors
    say        is called with the accuracy and the log-loss, in nats, without and with the others
    raises     InputError: the table has no word of the labeled documents; SettingsError: a target
               cannot be met
    """
    others = unlabeled.take(np.arange(min(MAX_LEARNED, len(unlabeled.sample))))
    n_learned = max(1, round(LEARNED_SHARE * len(others.sample)))

    def learn(alone: FittedModel, known: CorpusCounts, own: ModelSettings) -> FittedModel:
        """Fit a model to known documents, and to those of which a model of them is most certain."""
        # the noise of few documents would make all of one label the most certain ones
        task = alone.task.change_calibration(_drop_noise)
        log_p = task.log_probabilities(*_score(alone, others.sample, others))
        chosen = np.sort(np.argsort(-log_p.max(axis=1), kind="stable")[:n_learned])
        classes = log_p[chosen].argmax(axis=1).astype(np.int32)
        sample = replace(others.sample.take(chosen), classes=classes)
        statistics = count_classes(sample, others.statistics.n_features, len(known.labels))
        learned = CorpusCounts(known.labels, others.vocabulary, statistics, sample, None)
        known = replace(known, sample=replace(known.sample, rows=None))  # the others have none
        return fit_model(known + learned, features, own, jobs=jobs)

    trained = train_on_counts(labeled, features, settings, jobs=jobs)
    alone = trained.fitted
    before = alone.estimate
    if before is None:
        say(f"{ALONE}: no estimate, so that nothing tells whether the others help")
        return trained
    # labeled documents are held out, a fifth at a time
    plain = replace(settings, vector_words=0)
    sample = labeled.sample
    folds = stratified_folds(
        sample.classes,
        N_OWN_LABEL_FOLDS,
        seed=None,
        contents=sample.hashes,
        class_documents=labeled.statistics.class_documents,
    )
    parts = []
    for fold in np.unique(folds[folds != NEVER_HELD_OUT]).tolist():
        held_out = sample.take(np.flatnonzero(folds == fold))
        rest = labeled.without(folds == fold)
        fitted = learn(fit_model(rest, features, plain), rest, plain)
        parts.append(JudgedDocuments(*_score(fitted, held_out, labeled), held_out.classes))
    judged = JudgedDocuments.join(parts)
    found = judge(
        Hyperparameters(0.0),
        judged,
        fit_scaled_temperature(judged) if settings.calibrate else None,
        n_unjudged=int((folds == NEVER_HELD_OUT).sum()),
        goals=find_goals(settings, labeled.labels),
    )
    after = found.estimate
    assert after is not None
    for name, each in (
        (ALONE, before),
        (f"with {number_of(n_learned, 'unlabeled document')}", after),
    ):
        say(f"{name}: {format_estimate(each)}")
    if not is_improvement(after, before):
        return trained
    fitted = learn(alone, labeled, settings)
    log_prior = fitted.task.log_prior
    return make_trained_model(
        replace(
            fitted,
            task=fitted.task.with_selection(found),
            unlabeled=Unlabeled(OWN_LABELS, n_learned, 1.0, tuple(log_prior.tolist()), ()),
            documents=DocumentNumbers.of(labeled.statistics),
        ),
        labeled,
    )


def _score(model: FittedModel, documents: DocumentTable, counts: CorpusCounts) -> Evidence:
    """Return the scores of documents over the features of `counts`, and their lengths."""
    return model.evidence(align_documents(documents, counts.vocabulary, model.vocabulary))


def _drop_noise(calibration: Calibration) -> Calibration:
    temperature = calibration.temperature
    return replace(calibration, temperature=temperature and replace(temperature, noise=0.0))

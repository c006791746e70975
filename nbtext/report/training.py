"""What training found, in a few lines."""

from __future__ import annotations

from itertools import starmap

from nbtext.bayes.smoothing import Selection
from nbtext.bayes.unlabeled import Unlabeled
from nbtext.errors import number_of
from nbtext.model.fitted_model import TrainedModel

FITTED = ("calibration", "nonconformity", "decision_offsets")  # to documents, by any model that was asked to


def trained(model: TrainedModel) -> str:
    """What was learned, which smoothing was chosen, and what leave-one-out expects of new documents."""
    statistics, reading = model.counts.statistics, model.fitted
    n_features = reading.scorer.n_features
    counted = (statistics.n_documents, "document"), (len(model.fitted.labels), "label"), (n_features, "feature")
    found = f"{model.fitted.model_settings.model}: {', '.join(starmap(number_of, counted))}; "
    chosen = reading.hyperparameters
    found += f"smoothing {chosen.smoothing:.4g}" if chosen.C is None else f"C {chosen.C:.4g}"
    expected = reading.estimate
    if len(model.fitted.labels) == 1:
        return f"{found}; with one label, every text will be given it"
    if expected is None and chosen.C is not None and not model.fitted.model_settings.calibrate:
        return f"{found}; no estimate without calibration (nbtext evaluate --folds gives one)"
    if expected is None:
        return found
    is_left_out = chosen.C is None and reading.unlabeled is None
    judge = "leave-one-out" if is_left_out else f"{model.fitted.model_settings.folds} folds"
    if expected.documents < statistics.n_documents:
        judge += f" of {number_of(expected.documents, 'document')}"
    if expected.duplicates:
        judge += f", {number_of(expected.duplicates, 'duplicate')}"
    return f"{found}; expect accuracy {expected.accuracy:.4f}, log-loss {expected.log_loss:.4f} ({judge})"


def learned_from(unlabeled: Unlabeled) -> str:
    """How a model has learned from unlabeled documents."""
    found, documents = unlabeled.log_likelihoods, number_of(unlabeled.documents, "document")
    if unlabeled.method == "marginals":
        return f"{documents} by their feature marginals"
    return (
        f"{documents} by {number_of(len(found) - 1, 'step')} of EM, weighted {unlabeled.weight:g}; "
        f"log-likelihood from {found[0]:,.1f} to {found[-1]:,.1f}"
    )


def tried(name: str, selection: Selection) -> str:
    """What is expected of a way to learn."""
    named, expected = f"{name}, smoothing {selection.hyperparameters.smoothing:.4g}", selection.estimate
    if expected is None:
        return f"{named}: nothing to expect; a label needs two documents to be judged by"
    return f"{named}: accuracy {expected.accuracy:.4f}, log-loss {expected.log_loss:.4f}"


def approximated(model: TrainedModel) -> str | None:
    """What of the model was fitted to other documents than it has learned by now, and what to do; None: nothing."""
    approximate = model.fitted.approximate
    if not approximate:
        return None
    calibration = model.fitted.calibration
    offsets = calibration.decision_offsets
    found = {
        "smoothing": model.fitted.hyperparameters.smoothing,
        "calibration": calibration.temperature,
        "decision_offsets": offsets if calibration.prior_adjustment is None else calibration.prior_adjustment,
        "outlier_threshold": calibration.outlier_threshold,
        "nonconformity": calibration.nonconformity,
    }
    there = [name for name in approximate if found[name] is not None]
    missing = [name for name in approximate if found[name] is None and name in FITTED]
    seen = model.fitted.estimate
    whose = "as before" if seen is None else f"by {number_of(seen.documents, 'document')} that its sample still has"
    said = [f"approximate ({whose}): {', '.join(there)}"] if there else []
    said += [f"not fitted, for want of documents: {', '.join(missing)}"] if missing else []
    afresh = "; fit them afresh with nbtext calibrate, "
    if model.counts.statistics.is_decayed:
        afresh += "by texts that the model has not learned"
    else:
        afresh += "or train with --keep-sample N, which keeps what they are fitted to"
    return "; ".join(said).replace("_", " ") + afresh

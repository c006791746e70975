"""What training found, in a few lines."""

from __future__ import annotations

from nbtext.classifier.text_classifier import TextClassifier

FITTED = ("calibration", "strangeness", "shift")  # to documents, by any model that was asked to


def trained(classifier: TextClassifier) -> str:
    """What was learned, which smoothing was chosen, and what leave-one-out expects of new documents."""
    statistics, reading = classifier.tally_.statistics, classifier.reading_
    found = (
        f"{classifier.modelling.model}: {statistics.n_documents:,} documents, {len(classifier.labels):,} labels, "
        f"{reading.scorer.n_features:,} features; "
    )
    choice = reading.choice
    found += f"smoothing {choice.smoothing:.4g}" if choice.penalty is None else f"C {choice.penalty:.4g}"
    expected = reading.choice.expectation
    if expected is None:
        return found
    judge = "leave-one-out" if choice.penalty is None else f"{classifier.modelling.folds} folds"
    return f"{found}; expect accuracy {expected.accuracy:.4f}, log-loss {expected.log_loss:.4f} ({judge})"


def approximated(classifier: TextClassifier) -> str | None:
    """What of the model was fitted to other documents than it has learned by now, and what to do; None: nothing."""
    approximate = classifier.reading_.choice.approximate
    if not approximate:
        return None
    choice = classifier.reading_.choice
    found = {name: getattr(choice, name) for name in approximate}
    found["shift"] = choice.shift if choice.tilt is None else choice.tilt
    there = [name for name in approximate if found[name] is not None]
    missing = [name for name in approximate if found[name] is None and name in FITTED]
    seen = choice.expectation
    whose = "as before" if seen is None else f"by {seen.documents:,} documents that its sample still has"
    said = [f"approximate ({whose}): {', '.join(there)}"] if there else []
    said += [f"not fitted, for want of documents: {', '.join(missing)}"] if missing else []
    return "; ".join(said).replace("_", " ") + (
        "; fit them afresh with nbtext calibrate, or train with --keep-sample N, which keeps what they are fitted to"
    )
